"""Distance of a release from the true coefficients; a penalty chosen before any record is seen.

NOT private, but for `public_penalty` and `prediction_error_bound`, which take public numbers: the
others look at the design without noise. The moments of a test loss are `ridge.loss_moments`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import minimize_scalar

from pdpbook import Floats, check
from pdpbook.noise import l2_laplace_radius
from pdpbook.personalized.weights import pdp_weights
from pdpbook.sensitivity import ridge_constant

PROOFS = ("published", "eigenvalue", "sharp")


@dataclass(frozen=True)
class ErrorTerms:
    """The three terms of an error, in the unit of the function that returns it."""

    bias: float  #: what the penalty costs; no budget buys it back
    privacy_noise: float  #: what the promises cost
    label_noise: float  #: what noisy labels cost

    @property
    def total(self) -> float:
        """Sum of the three."""
        return self.bias + self.privacy_noise + self.label_noise


def error_bound(
    X: ArrayLike,
    lam: float,
    weights: ArrayLike | None,
    eta: float,
    *,
    theta: ArrayLike,
    sigma: float,
    delta: float,
    proof: str = "published",
) -> ErrorTerms:
    r"""Bound on the distance of a release from the true coefficients, with probability 1 - delta.

    For :math:`y_i = x_i^\top\theta^* + \xi_i` with label noise of standard deviation sigma, a ridge
    fit with weights :math:`w_i` and the penalty lam against the weighted mean of squares, and
    l2-Laplace noise of rate eta, with :math:`S = \sum_i w_i x_i x_i^\top`,
    :math:`H = S + \lambda I`, :math:`M = H^{-1}X^\top W` and :math:`q` the quantile of Gamma(d, 1),

    .. math::
        \text{published:} \quad & \frac{\|\theta^*\|}{1+\lambda_{\min}(S)/\lambda}
          + \frac1\eta\Bigl(d+\sqrt{2d/\delta}\Bigr)
          + \frac\sigma\lambda\sqrt{2d/\delta}\,\|w\| , \\
        \text{sharp:} \quad & \lambda\|H^{-1}\theta^*\| + \frac{q_{1-\delta/2}}\eta
          + \sigma\Bigl(\|M\|_F + \|M\|\sqrt{2\ln(2/\delta)}\Bigr) .

    The first two proofs hold for any uncorrelated label noise of mean 0 and variance at most sigma
    squared, the last for Gaussian noise. The `total` of the terms is the bound. NOT private.
    Statements ``thm-accuracy`` (Acharya et al. 2024, Theorem 2.5) and ``thm-sharp-accuracy``
    (ours), chapter *personalized/accuracy*.

    Parameters
    ----------
    X : array_like, shape (n, d), on the domain: every entry in [0, 1]
    weights : array_like, shape (n,), or None for 1/n each
    lam, eta, sigma, delta : float, above 0; sigma may be 0, and delta is in (0, 1)
    theta : float or array_like, shape (d,)
        The true coefficients, or a bound on their norm: then every bias is the published one.
    proof : {"published", "eigenvalue", "sharp"}, default "published"
        ``"eigenvalue"`` is the published bound with :math:`1/(\lambda+\lambda_{\min})` for
        :math:`1/\lambda` in its last term. For `delta` up to 0.2 no term of a later proof is larger
        than that of an earlier one.
    """
    check.choice(proof, "proof", PROOFS)
    delta = check.delta(delta)
    fit = Fit(X, lam, weights, sigma)
    eta = check.number(eta, "eta")
    truth, d = _truth(theta, fit.d), fit.d
    smallest = fit.spectrum[-1]  # 0 where the rows do not span every direction
    bias = float(np.linalg.norm(truth) / (1 + smallest / fit.lam))
    if proof == "sharp":
        if truth.ndim:
            bias = min(bias, math.sqrt(fit.squared_bias(truth)))
        radius = l2_laplace_radius(d, eta).isf(delta / 2)
        return ErrorTerms(bias, float(radius), fit.label_reach(delta))
    chebyshev = (d + math.sqrt(2 * d / delta)) / eta
    denominator = fit.lam + (smallest if proof == "eigenvalue" else 0.0)
    markov = fit.sigma / denominator * math.sqrt(2 * d / delta) * np.linalg.norm(fit.weights)
    return ErrorTerms(bias, float(chebyshev), float(markov))


def mean_square_error(
    X: ArrayLike,
    lam: float,
    weights: ArrayLike | None,
    eta: float,
    *,
    theta: ArrayLike,
    sigma: float = 0.0,
) -> ErrorTerms:
    r"""Exact mean of the squared distance of a release from the true coefficients, in three terms.

    .. math:: \mathbb{E}\|\hat\theta-\theta^*\|^2 = \lambda^2\|H^{-1}\theta^*\|^2
              + \frac{d(d+1)}{\eta^2} + \sigma^2\|M\|_F^2 ,

    with :math:`H` and :math:`M` as in `error_bound`, over privacy noise and any uncorrelated label
    noise of mean 0 and standard deviation sigma. NOT private. Statement ``thm-sharp-accuracy``
    (ours), chapter *personalized/accuracy*.

    Parameters
    ----------
    X, lam, weights, eta
        As in `error_bound`.
    theta : array_like, shape (d,), the coefficients themselves
    sigma : float, default 0

    Examples
    --------
    >>> mean_square_error([[1.0]], 1.0, None, 2.0, theta=[1.0], sigma=0.5)
    ErrorTerms(bias=0.25, privacy_noise=0.5, label_noise=0.0625)
    """
    fit, eta = Fit(X, lam, weights, sigma), check.number(eta, "eta")
    truth, d = _truth(theta, fit.d), fit.d
    if not truth.ndim:
        raise ValueError(f"theta must have shape ({d},): an exact mean needs the coefficients")
    label_noise = fit.sigma**2 * np.sum(fit.label_map**2)
    return ErrorTerms(fit.squared_bias(truth), d * (d + 1) / eta**2, float(label_noise))


class Fit:
    """Weighted rows, factored once: S has eigenvalues `spectrum` along the rows of `axes`."""

    def __init__(self, X: Any, lam: Any, weights: Any, sigma: Any) -> None:
        check.refuse_other_index(weights, "weights", X=X)
        X = self.X = check.matrix(X, "X")
        self.lam = check.number(lam, "lam")
        self.sigma = check.single(check.nonnegative(sigma, "sigma"), "sigma")
        self.weights = check.weights(weights, len(X))
        root = np.sqrt(self.weights)
        Q, R = np.linalg.qr(X * root[:, None])
        U, singular, self.axes = np.linalg.svd(R, full_matrices=True)
        self.d, rank = len(self.axes), len(singular)
        gain = (self.axes[:rank].T * (singular / (singular**2 + self.lam))) @ U.T
        self.spectrum = np.append(singular**2, np.zeros(self.d - rank))
        self.label_map = gain @ (Q.T * root)  # M, shape (d, n): what label noise does to the fit

    def label_reach(self, delta: float) -> float:
        """How far label noise moves the fit, but for a chance of delta / 2."""
        M = self.label_map
        reach = np.linalg.norm(M) + np.linalg.norm(M, 2) * math.sqrt(2 * math.log(2 / delta))
        return float(self.sigma * reach)

    def squared_bias(self, theta: Floats) -> float:
        """Squared length of lam H^{-1} theta."""
        shrink = self.lam / (self.lam + self.spectrum)
        return float(np.sum((shrink * (self.axes @ theta)) ** 2))


def _truth(theta: Any, d: int) -> Any:
    """Return the true coefficients, shape (d,), or a bound on their norm, shape ()."""
    if not np.ndim(theta):
        return np.asarray(check.nonnegative(theta, "theta"))
    truth = np.asarray(check.finite(theta, "theta"))
    if truth.shape != (d,):
        raise ValueError(
            f"theta must be a bound on a norm or have shape ({d},), one coefficient for each "
            f"column of X; got shape {truth.shape}"
        )
    return truth


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
    largest_weight = float(pdp_weights(epsilon).max())
    total = float(np.sum(check.epsilon(epsilon)))
    d = check.count(d, "d")
    r = check.single(check.nonnegative(theta_norm, "theta_norm"), "theta_norm")
    sigma = check.single(check.nonnegative(sigma, "sigma"), "sigma")
    s = _reach(d, prior, row_norm)
    constant = ridge_constant(lam, d, proof, row_norm=row_norm)
    R = check.radius(d, row_norm)
    tau = largest_weight * R**2 / lam
    t = min(s, lam)  # where the maximum phi is attained
    bias = r**2 * min((1 + 2 * tau) ** 2 * t / (1 + t / lam) ** 2, s)
    return ErrorTerms(bias, (d + 1) * (R * constant / total) ** 2, sigma**2 * tau / 4)


def _reach(d: int, prior: str, row_norm: float | None) -> float:
    """Return s of `prediction_error_bound`, by what is assumed of the true coefficients."""
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
    bound = total(found.x)
    limit = float(theta_norm) ** 2 * _reach(d, prior, row_norm)  # of predicting 0
    if bound < limit:
        return PublicPenalty(math.exp(found.x), bound)
    return PublicPenalty(math.inf, limit)
