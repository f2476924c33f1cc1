"""Distance from the truth of a minimizer whose objective was tilted: noise in the objective."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from pdpbook import Floats, check
from pdpbook.noise import l2_laplace_radius
from pdpbook.personalized.accuracy import ErrorTerms, Fit

NODES = 128  # of the quadrature over the random variance of round noise


@dataclass(frozen=True)
class ObjectiveError:
    """How far a minimizer is from the truth; see `objective_error`."""

    mean_square: ErrorTerms  #: squared lengths, exact where no residual is clipped
    clipping: float  #: how far clipping can move the root mean square, either way
    distance: ErrorTerms  #: lengths, whose sum holds with probability 1 - delta - clipped
    clipped: float  #: probability, at most, that some residual is clipped

    @property
    def root_mean_square(self) -> tuple[float, float]:
        """Lower and upper bound on the root of the mean square distance."""
        root = math.sqrt(self.mean_square.total)
        return max(0.0, root - self.clipping), root + self.clipping


def objective_error(
    X: ArrayLike,
    lam: float,
    weights: ArrayLike | None,
    beta: float,
    *,
    theta: ArrayLike,
    sigma: float,
    delta: float,
    threshold: float = 1.0,
) -> ObjectiveError:
    r"""Distance of the minimizer of a tilted Huber objective from the true coefficients.

    For :math:`y_i = x_i^\top\theta^* + \xi_i` and a tilt of rate :math:`\beta`, with
    :math:`H = \sum_i w_i x_i x_i^\top + \lambda I` and :math:`M = H^{-1}X^\top W`,

    .. math::
        \Bigl|\sqrt{\mathbb{E}\|\hat\theta-\theta^*\|^2} - \sqrt{E_0}\Bigr| \le
        \frac1\lambda\sum_i w_i\|x_i\|\rho_i, \qquad
        E_0 = \lambda^2\|H^{-1}\theta^*\|^2 + \frac{(d+1)\|H^{-1}\|_F^2}{4\beta^2}
              + \sigma^2\|M\|_F^2 ,

    where :math:`\rho_i` is the root mean square by which the residual of person i under the
    square loss exceeds the threshold. With probability :math:`1-\delta`, less the probability
    that a residual exceeds it,

    .. math::
        \|\hat\theta-\theta^*\| \le \lambda\|H^{-1}\theta^*\| + \frac{q_{1-\delta/2}\|H^{-1}\|}
        {2\beta} + \sigma\Bigl(\|M\|_F + \|M\|\sqrt{2\ln(2/\delta)}\Bigr) .

    Parameters
    ----------
    X : array_like, shape (n, d)
        The design on the domain.
    lam : float
        Penalty, above 0, against the weighted mean of losses.
    weights : array_like, shape (n,), or None
        Weights of the fit; None is 1/n each.
    beta : float
        Rate of the tilt, such as ``noise_.rate`` of `ObjectivePerturbation`.
    theta : array_like, shape (d,)
        The true coefficients.
    sigma : float
        Standard deviation of the Gaussian label noise, at least 0.
    delta : float
        Probability in (0, 1) with which the bound on the distance may fail.
    threshold : float, default 1.0
        Where the Huber loss turns linear, in domain units of the label.

    Returns
    -------
    ObjectiveError
        Both bounds, each with its three terms and what clipping adds.

    Notes
    -----
    Statement ``thm-objective-accuracy`` (ours), page *personalized/accuracy_bounds*. NOT private.

    Examples
    --------
    >>> found = objective_error([[1.0]], 1.0, None, 2.0, theta=[1.0], sigma=0.0, delta=0.1)
    >>> found.mean_square.bias, found.mean_square.privacy_noise
    (0.25, 0.03125)
    """
    fit, beta = Fit(X, lam, weights, sigma), check.number(beta, "beta")
    X, w, lam, M, d = fit.X, fit.weights, fit.lam, fit.label_map, fit.d
    truth = check.shape(check.finite(theta, "theta"), "theta", (d,), "one coefficient a column")
    delta, c = check.delta(delta), check.number(threshold, "threshold")

    gain = 1 / (fit.spectrum + lam)
    inverse = (fit.axes.T * gain) @ fit.axes
    bias = lam * inverse @ truth
    mean_square = ErrorTerms(
        float(bias @ bias),
        float((d + 1) / (2 * beta) ** 2 * np.sum(gain**2)),
        float(fit.sigma**2 * np.sum(M**2)),
    )
    distance = ErrorTerms(
        float(np.linalg.norm(bias)),
        float(l2_laplace_radius(d, 2 * beta).isf(delta / 2) * gain.max()),
        fit.label_reach(delta),
    )
    own = 1 - 2 * np.sum(X * M.T, axis=1) + np.sum((X @ (M @ M.T)) * X, axis=1)
    spread = fit.sigma**2 * np.maximum(own, 0.0)
    tilt = np.sum((X @ inverse) ** 2, axis=1) / (2 * beta) ** 2
    beyond, excess = _beyond(X @ bias, spread, tilt, d, c)
    clipping = float(w * np.linalg.norm(X, axis=1) @ np.sqrt(excess) / lam)
    return ObjectiveError(mean_square, clipping, distance, min(1.0, float(beyond.sum())))


def _beyond(mean: Floats, spread: Floats, tilt: Floats, d: int, c: float) -> tuple[Floats, Floats]:
    """Probability and mean square with which residuals exceed c in size, each of shape (n,).

    Round noise is Gaussian of variance 2 T, with T from Gamma((d + 1) / 2).
    """
    shape = (d + 1) / 2
    low, high = special.gammaincinv(shape, 1e-20), special.gammainccinv(shape, 1e-20)
    node, share = np.polynomial.legendre.leggauss(NODES)
    half = (np.sqrt(high) - np.sqrt(low)) / 2
    root = np.sqrt(low) + half * (1 + node)  # of T: the integrand is smooth in it
    share = share * np.exp(special.xlogy(2 * shape - 1, root) - root**2 - special.gammaln(shape))
    deviation = np.sqrt(spread[:, None] + 2 * tilt[:, None] * root**2)
    deviation = np.maximum(deviation, 1e-150)  # a row of zeros, and labels without noise
    beyond, excess = np.zeros_like(mean), np.zeros_like(mean)
    for side in (mean, -mean):
        over = (side - c)[:, None]
        z = over / deviation
        beyond += special.ndtr(z) @ share
        density = np.exp(-(z**2) / 2) / math.sqrt(2 * math.pi)
        square = (over**2 + deviation**2) * special.ndtr(z) + over * deviation * density
        excess += np.maximum(square, 0.0) @ share
    return beyond / share.sum(), excess / share.sum()
