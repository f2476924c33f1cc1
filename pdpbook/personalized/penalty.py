"""A ridge penalty chosen before any record is seen, and what it guarantees."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from pdpbook import check
from pdpbook.personalized.accuracy import ErrorTerms
from pdpbook.personalized.weights import pdp_weights
from pdpbook.sensitivity import ridge_constant

PRIORS = ("worst-case", "isotropic")
SEARCH = np.geomspace(1e-8, 1e8, 97)  # penalties tried, in units of the squared row norm


def prediction_error_bound(
    lam: float,
    epsilon: ArrayLike,
    d: int,
    *,
    theta_norm: float,
    sigma: float = 0.0,
    prior: str = "worst-case",
    proof: str = "joint",
    row_norm: float | None = None,
) -> ErrorTerms:
    r"""Bound on the mean squared error of a PDP-OP prediction, from public quantities alone.

    The rows are drawn independently from one distribution, any, with norm at most :math:`R`; so is
    the row :math:`x_0` of a newcomer. With :math:`\tau = \max_i w_i\,R^2/\lambda`,

    .. math::
        &\mathbb{E}\bigl(x_0^\top(\hat\theta-\theta^*)\bigr)^2 \le
        r^2\min\bigl\{(1+2\tau)^2\varphi_\lambda(s),\, s\bigr\}\\
        &\quad + (d+1)\frac{R^2C^2}{(\sum_j\varepsilon_j)^2} + \frac{\sigma^2\tau}4 ,\\
        &\varphi_\lambda(s) = \max_{t\le s}\frac{t\lambda^2}{(t+\lambda)^2} .

    Parameters
    ----------
    lam : float
        Penalty, above 0, against the weighted mean of squares.
    epsilon : array_like, shape (n,)
        Budgets in nats, one a person.
    d : int
        Number of features, a constant one included.
    theta_norm : float
        Bound :math:`r` on the norm of the true coefficients; with ``prior="isotropic"`` on the
        root of its mean square.
    sigma : float, default 0
        Bound on the standard deviation of the label noise, of any law with mean 0.
    prior : {"worst-case", "isotropic"}, default "worst-case"
        What is assumed of the coefficients: nothing but their norm, :math:`s = R^2`; or that no
        direction is favored, :math:`\mathbb{E}\theta\theta^\top = (r^2/d)I`, and
        :math:`s = R^2/d`.
    proof, row_norm
        As in `ridge_constant`, which gives :math:`C`. Without `row_norm`, :math:`R = \sqrt d`.

    Returns
    -------
    ErrorTerms
        Three terms of a squared label unit; their `total` is the bound.

    Notes
    -----
    Statement ``prop-public-prediction-error`` (ours), page *personalized/penalty*. No record
    enters.

    Examples
    --------
    >>> prediction_error_bound(1.0, [1.0] * 1000, 2, theta_norm=1.0).total < 0.3
    True
    """
    lam = check.number(lam, "lam")
    return _Public(epsilon, d, theta_norm, sigma, prior, proof, row_norm).terms(lam)


@dataclass(frozen=True)
class PublicPenalty:
    """A penalty that no record influenced, and what it guarantees."""

    lam: float  #: the penalty, infinite where nothing beats predicting 0 and spending nothing
    bound: float  #: `prediction_error_bound` there, in squared label units


def public_penalty(
    epsilon: ArrayLike,
    d: int,
    *,
    theta_norm: float,
    sigma: float = 0.0,
    prior: str = "isotropic",
    proof: str = "joint",
    row_norm: float | None = None,
) -> PublicPenalty:
    """Penalty that minimizes `prediction_error_bound`: chosen without looking at a record.

    Parameters
    ----------
    epsilon, d, theta_norm, sigma, prior, proof, row_norm
        As in `prediction_error_bound`; here the isotropic prior is the default, because the worst
        direction is rarely the true one.

    Returns
    -------
    PublicPenalty
        `lam` and the `bound` it guarantees. Where the bound only falls as the penalty grows, `lam`
        is infinite and `bound` its limit, that of predicting 0.

    Notes
    -----
    Statement ``prop-public-prediction-error`` (ours), page *personalized/penalty*. The choice
    costs no budget: it is a function of public numbers.

    Examples
    --------
    >>> choice = public_penalty([1.0] * 1000, 2, theta_norm=1.0)
    >>> round(choice.lam, 2), round(choice.bound, 2)
    (0.1, 0.04)
    """
    known = _Public(epsilon, d, theta_norm, sigma, prior, proof, row_norm)
    penalties = known.radius**2 * SEARCH
    k = int(np.argmin([known.terms(lam).total for lam in penalties]))
    edges = np.log(penalties[[max(k - 1, 0), min(k + 1, len(penalties) - 1)]])

    def total(log_lam: float) -> float:
        return known.terms(math.exp(log_lam)).total

    found = minimize_scalar(total, bounds=edges, method="bounded", options={"xatol": 1e-4})
    lam = math.exp(found.x)
    bound = known.terms(lam).total
    limit = known.theta_norm**2 * known.scale
    return PublicPenalty(lam, bound) if bound < limit else PublicPenalty(math.inf, limit)


class _Public:
    """What is known before any record is: see `prediction_error_bound`."""

    def __init__(self, epsilon: Any, d: int, r: Any, sigma: Any, prior: str, proof: str, R: Any):
        pdp_weights(epsilon)  # refuses bad budgets
        budgets = np.asarray(check.epsilon(epsilon), dtype=float)
        self.epsilon = budgets[budgets > 0]
        self.d, self.proof = check.count(d, "d"), proof
        self.theta_norm = check.single(check.nonnegative(r, "theta_norm"), "theta_norm")
        self.sigma = check.single(check.nonnegative(sigma, "sigma"), "sigma")
        check.choice(prior, "prior", PRIORS)
        ridge_constant(1.0, self.d, proof, row_norm=R)  # refuses bad values
        self.radius = check.radius(self.d, R)
        # s: where the spectrum of S can put the true coefficients
        self.scale = self.radius**2 / (self.d if prior == "isotropic" else 1)

    def terms(self, lam: float) -> ErrorTerms:
        constant = ridge_constant(lam, self.d, self.proof, row_norm=self.radius)
        total = float(np.sum(self.epsilon))
        eta = total / constant
        tau = float(self.epsilon.max() / total) * self.radius**2 / lam
        t = min(self.scale, lam)
        phi = t / (1 + t / lam) ** 2
        bias = self.theta_norm**2 * min((1 + 2 * tau) ** 2 * phi, self.scale)
        noise = (self.d + 1) * (self.radius / eta) ** 2
        return ErrorTerms(bias, noise, self.sigma**2 * tau / 4)
