"""Distance of a release from the true coefficients, for noise on them: to plan and to check.

NOT private: these functions look at the design without noise. What is known before any record is
seen is in `penalty`; the moments of a test loss are `ridge.loss_moments`.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.noise import l2_laplace_radius

PROOFS = ("published", "eigenvalue", "sharp")


@dataclass(frozen=True)
class ErrorTerms:
    """Where an error comes from; in the unit of the function that returns it."""

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
    fit, eta = Fit(X, lam, weights, sigma), check.number(eta, "eta")
    truth, d = _truth(theta, fit.d), fit.d
    smallest = fit.spectrum[-1]  # 0 where the rows do not span every direction
    bias = float(np.linalg.norm(truth) / (1 + smallest / fit.lam))
    if proof == "sharp":
        if truth.ndim:
            bias = min(bias, math.sqrt(fit.squared_bias(truth)))
        radius = l2_laplace_radius(d, eta).isf(delta / 2)
        return ErrorTerms(bias, float(radius), fit.label_reach(delta))
    chebyshev = (d + math.sqrt(2 * d / delta)) / eta
    pull = fit.lam + (smallest if proof == "eigenvalue" else 0.0)
    markov = fit.sigma / pull * math.sqrt(2 * d / delta) * np.linalg.norm(fit.weights)
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
    """Weighted rows taken apart once: S has eigenvalues `spectrum` along the rows of `axes`."""

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
        shrink = self.lam / (self.lam + self.spectrum)
        return float(np.sum((shrink * (self.axes @ theta)) ** 2))


def _truth(theta: Any, d: int) -> Any:
    if not np.ndim(theta):
        return np.asarray(check.nonnegative(theta, "theta"))
    truth = np.asarray(check.finite(theta, "theta"))
    if truth.shape != (d,):
        raise ValueError(
            f"theta must be a bound on a norm or have shape ({d},), one coefficient for each "
            f"column of X; got shape {truth.shape}"
        )
    return truth
