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
        r^2\min\bigl\{(1+2\tau)^2\varphi_\lambda(s),\, s\bigr\}
        + (d+1)\frac{R^2C^2}{(\sum_j\varepsilon_j)^2} + \frac{\sigma^2\tau}4 ,\\
        &\varphi_\lambda(s) = \max_{t\le s}\frac{t\lambda^2}{(t+\lambda)^2} .

    The three terms are in squared label units. Statement ``prop-public-prediction-error`` (ours),
    page *personalized/penalty*.

    Parameters
    ----------
    lam : float, above 0, against the weighted mean of squares
    epsilon : array_like, shape (n,), in nats
    d : int, a constant feature included
    theta_norm : float
        Bound :math:`r` on the norm of the true coefficients; with ``prior="isotropic"`` on the root
        of its mean square.
    sigma : float, default 0
        Bound on the standard deviation of the label noise, of any law with mean 0.
    prior : {"worst-case", "isotropic"}, default "worst-case"
        What is assumed of the coefficients: nothing but their norm, :math:`s = R^2`; or that no
        direction is favored, :math:`\mathbb{E}\theta\theta^\top = (r^2/d)I` and :math:`s = R^2/d`.
    proof, row_norm
        As in `ridge_constant`, which gives :math:`C`. Without `row_norm`, :math:`R = \sqrt d`.
    """
    lam = check.number(lam, "lam")
    heaviest, total = float(pdp_weights(epsilon).max()), float(np.sum(check.epsilon(epsilon)))
    d = check.count(d, "d")
    r = check.single(check.nonnegative(theta_norm, "theta_norm"), "theta_norm")
    sigma = check.single(check.nonnegative(sigma, "sigma"), "sigma")
    s = _reach(d, prior, row_norm)
    constant, R = ridge_constant(lam, d, proof, row_norm=row_norm), check.radius(d, row_norm)
    tau, t = heaviest * R**2 / lam, min(s, lam)
    bias = r**2 * min((1 + 2 * tau) ** 2 * t / (1 + t / lam) ** 2, s)
    return ErrorTerms(bias, (d + 1) * (R * constant / total) ** 2, sigma**2 * tau / 4)


def _reach(d: int, prior: str, row_norm: float | None) -> float:
    """s: where the spectrum of S can put the true coefficients."""
    check.choice(prior, "prior", PRIORS)
    return check.radius(d, row_norm) ** 2 / (d if prior == "isotropic" else 1)


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

    The choice costs no budget: it is a function of public numbers. Where the bound only falls as
    the penalty grows, `lam` is infinite and `bound` its limit, that of predicting 0. Statement
    ``prop-public-prediction-error`` (ours), page *personalized/penalty*.

    Parameters
    ----------
    epsilon, d, theta_norm, sigma, prior, proof, row_norm
        As in that bound, but isotropic by default: the worst direction is rarely the true one.

    Examples
    --------
    >>> choice = public_penalty([1.0] * 1000, 2, theta_norm=1.0)
    >>> round(choice.lam, 2), round(choice.bound, 2)
    (0.1, 0.04)
    """

    def total(log_lam: float) -> float:
        public: Any = {"theta_norm": theta_norm, "sigma": sigma, "prior": prior, "proof": proof}
        lam = math.exp(log_lam)
        return prediction_error_bound(lam, epsilon, d, row_norm=row_norm, **public).total

    total(0.0)  # refuses bad values
    penalties = np.log(check.radius(d, row_norm) ** 2 * SEARCH)
    k = int(np.argmin([total(log_lam) for log_lam in penalties]))
    edges = penalties[[max(k - 1, 0), min(k + 1, len(penalties) - 1)]]
    found = minimize_scalar(total, bounds=edges, method="bounded", options={"xatol": 1e-4})
    bound, limit = total(found.x), float(theta_norm) ** 2 * _reach(d, prior, row_norm)
    return PublicPenalty(math.exp(found.x) if bound < limit else math.inf, min(limit, bound))
