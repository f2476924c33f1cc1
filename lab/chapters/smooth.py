"""What one person moves in a smooth fit, and what Gaussian noise of a fixed shape then reveals.

Stationary points, and intervals from a release; fits without a person are in `refits`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from lab.chapters.tilted import objective_perturbation_epsilon
from pdpbook import Floats, check
from pdpbook.noise import gaussian_epsilon
from pdpbook.ridge import leave_one_out


def stationary_shift(
    hessian: Callable[[Floats], Floats],
    score: ArrayLike,
    start: ArrayLike,
    end: ArrayLike,
    nodes: int = 64,
) -> Floats:
    r"""Distance between two stationary points, from the Hessian averaged over their segment.

    .. math:: \hat\theta - \hat\theta' = \Bigl[\int_0^1 \nabla^2 J\bigl(t\hat\theta
              + (1-t)\hat\theta'\bigr)dt\Bigr]^{-1}\nabla\ell(\cdot, z)

    With J of the data *with* the person and the score at :math:`\hat\theta`, the fit without, or
    with J *without* the person and the score at :math:`\hat\theta'`, the fit with them.

    Parameters
    ----------
    hessian : callable
        Takes a point of shape (d,), returns the Hessian of the objective, shape (d, d).
    score : array_like, shape (d,)
        Gradient of the person's loss at the fit whose objective is not used.
    start, end : array_like, shape (d,)
        The two ends of the segment; their order does not matter.
    nodes : int, default 64
        Gauss-Legendre nodes on the segment.

    Returns
    -------
    ndarray, shape (d,)
        The fit without the person less the fit with them.

    Notes
    -----
    Statement ``lem-stationary-identity``, Wang (2019), Lemma 13; chapter *per_instance/smooth*.
    In general no single point of the segment has the Hessian that is needed.
    Where there is no Hessian, as at a corner of the Huber loss, any matrix will do that maps the
    segment to the derivative of the gradient along it.

    Examples
    --------
    >>> stationary_shift(lambda theta: np.diag([2.0, 4.0]), [1.0, 1.0], [0, 0], [1, 1])
    array([0.5 , 0.25])
    """
    score = np.atleast_1d(check.finite(score, "score"))
    start = np.atleast_1d(check.finite(start, "start"))
    end = np.atleast_1d(check.finite(end, "end"))
    if not score.shape == start.shape == end.shape or score.ndim != 1:
        got = f"{score.shape}, {start.shape} and {end.shape}"
        raise ValueError(f"score, start and end must have one shape (d,); got {got}")
    node, weight = np.polynomial.legendre.leggauss(check.count(nodes, "nodes"))
    share = (1 + node) / 2
    average: Any = sum(
        w / 2 * hessian(t * start + (1 - t) * end) for t, w in zip(share, weight, strict=True)
    )
    average = np.asarray(check.finite(average, "hessian"))
    try:
        return np.asarray(np.linalg.solve(average, score))
    except np.linalg.LinAlgError:
        raise ValueError("hessian must have an invertible average over the segment") from None


@dataclass(frozen=True)
class OutputLosses:
    """Everybody's loss under fixed Gaussian noise; depends on the data, and is no promise."""

    mu: Floats  #: shape (n,), length of the move in units of the noise, a Gaussian-DP parameter
    epsilon: Floats  #: shape (n,), at the given delta, the same in both directions


def output_perturbation_losses(
    move: ArrayLike,
    gamma: float,
    delta: float,
    metric: ArrayLike | None = None,
    error: ArrayLike = 0.0,
) -> OutputLosses:
    r"""Every participant's loss when the fit is released with Gaussian noise of a fixed covariance.

    The release is :math:`\hat\theta(Z)+\mathcal N(0,(\gamma A)^{-1})`, with A and gamma the same
    on all data sets. A person who moves the fit by v loses exactly what two unit normals at the
    distance :math:`\sqrt{\gamma\,v^\top A v}` reveal.

    Parameters
    ----------
    move : array_like, shape (n, d)
        The fit to everybody less the fit without each person, as `ridge.leave_one_out` or
        `logistic_leave_one_out` return it. Infinite rows (a fit that is not unique) lose
        everything.
    gamma : float
        Inverse temperature, above 0.
    delta : float
        Failure probability in (0, 1).
    metric : array_like, shape (d, d), optional
        Positive definite A, from public knowledge; None is the identity. The Hessian of the data
        at hand is *not* allowed here: its own change would leak.
    error : array_like, default 0
        Bounds on the Euclidean error of each move; they are added, so the loss is an upper bound.

    Returns
    -------
    OutputLosses
        A report about these data, not a promise.

    Notes
    -----
    Statement ``prop-output-perturbation``, Wang (2019), equations (2) to (4); chapter
    *per_instance/smooth*.

    Examples
    --------
    >>> output_perturbation_losses([[0.3, 0.0], [0.0, 1.0]], gamma=1.0, delta=1e-6).epsilon.round(5)
    array([1.29171, 4.88655])
    """
    rows = np.asarray(move, dtype=float)
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"move must have shape (n, d), one row a person; got {rows.shape}")
    if np.isnan(rows).any():
        raise ValueError(f"move must not be NaN; got it in row {np.isnan(rows).any(1).argmax()}")
    n, d = rows.shape
    gamma, delta = check.number(gamma, "gamma"), check.delta(delta)
    A = np.eye(d) if metric is None else np.asarray(check.finite(metric, "metric"))
    if A.shape != (d, d) or not np.allclose(A, A.T, rtol=1e-10, atol=0):
        raise ValueError(f"metric must be symmetric of shape ({d}, {d}); got shape {A.shape}")
    values, vectors = np.linalg.eigh(A)
    if not values[0] > 0:
        raise ValueError(f"metric must be positive definite; got the eigenvalue {values[0]:g}")
    slack = np.asarray(error, dtype=float)
    if slack.shape not in ((), (n,)) or not np.all(slack >= 0):
        raise ValueError(f"error must be at least 0, a number or of shape ({n},); got {error!r}")
    lost = np.isinf(rows).any(axis=1)
    turned = np.where(lost[:, None], 0.0, rows) @ vectors
    length = np.linalg.norm(turned * np.sqrt(values), axis=1)
    mu = np.where(lost, np.inf, np.sqrt(gamma) * (length + np.sqrt(values[-1]) * slack))
    epsilon = np.where(np.isinf(mu), np.inf, 0.0)
    some = (mu > 0) & np.isfinite(mu)
    epsilon[some] = gaussian_epsilon(delta, mu[some])
    return OutputLosses(mu, epsilon)


def release_intervals(
    release: ArrayLike,
    gram: ArrayLike,
    gamma: float,
    variance: float,
    level: float = 0.95,
    degrees: float | None = None,
) -> Floats:
    r"""Confidence intervals for the parameters, from one posterior sample of least squares.

    .. math:: \tilde\theta_j \pm q\,\sqrt{(\sigma^2+1/\gamma)\,(G^{-1})_{jj}}

    Parameters
    ----------
    release : array_like, shape (d,)
        The released parameters, drawn with ``lam = 0``.
    gram : array_like, shape (d, d)
        :math:`G=X^\top X`, public or privately released; nonsingular.
    gamma : float
        Inverse temperature of the release.
    variance : float
        Of the labels around the model, known or estimated from other data.
    level : float, default 0.95
        Coverage, in (0, 1).
    degrees : float, optional
        Degrees of freedom of an estimated variance, independent of the release: Student's
        quantile, which covers with at least `level`. None is the normal quantile, exact for a
        known variance.

    Returns
    -------
    ndarray, shape (d, 2)
        Lower and upper ends.

    Notes
    -----
    Statement ``prop-fisher-inference``, Wang (2019), section 4; chapter *per_instance/smooth*.
    A penalty, or clipped labels, shift the center and are not corrected.

    Examples
    --------
    >>> release_intervals([1.0], [[4.0]], gamma=1.0, variance=3.0).round(2)
    array([[-0.96,  2.96]])
    """
    release = np.atleast_1d(check.finite(release, "release"))
    G = np.asarray(check.finite(gram, "gram"))
    gamma, variance = check.number(gamma, "gamma"), check.number(variance, "variance")
    level = check.delta(level, "level")
    if release.ndim != 1 or G.shape != (release.size, release.size):
        raise ValueError(f"gram must have shape (d, d) for a release of shape (d,); got {G.shape}")
    if not np.linalg.eigvalsh(G)[0] > 0:
        raise ValueError("gram must be positive definite: some direction was never observed")
    law = stats.norm if degrees is None else stats.t(check.number(degrees, "degrees"))
    quantile = law.ppf((1 + level) / 2)
    reach = quantile * np.sqrt((variance + 1 / gamma) * np.diag(np.linalg.inv(G)))
    return np.stack([release - reach, release + reach], axis=1)


@dataclass(frozen=True)
class ObjectiveLosses:
    """Everybody's loss under objective perturbation; depends on the data, and is no promise."""

    leverage: Floats  #: shape (n,), against the fit without the person
    scaled_residual: Floats  #: shape (n,), norm of x times the residual, in noise units
    spread: Floats  #: shape (n,), norm of x times the norm of its image under the inverse Hessian
    epsilon: Floats  #: shape (n,), at the given delta, the worse direction


def objective_perturbation_losses(
    X: ArrayLike, y: ArrayLike, lam: float, sigma: float, delta: float
) -> ObjectiveLosses:
    r"""Every participant's per-instance loss under objective perturbation, from one factorization.

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row a person.
    y : array_like, shape (n,)
        Labels.
    lam : float
        Penalty, above 0, against the *sum* of squares.
    sigma : float
        Standard deviation of the tilt, :math:`\varsigma`.
    delta : float
        Failure probability in (0, 1).

    Returns
    -------
    ObjectiveLosses
        A report about these data, not a promise.

    Notes
    -----
    Statement ``thm-objpert-profile`` (ours), chapter *per_instance/smooth*. A row of zeros
    changes nothing, and loses nothing.

    Examples
    --------
    >>> X, y = [[1.0], [0.5], [-1.0]], [1.0, 0.0, 0.5]
    >>> objective_perturbation_losses(X, y, lam=1.0, sigma=2.0, delta=1e-3).epsilon.round(2)
    array([7.  , 0.56, 6.32])
    """
    X, y = check.design(X, y)
    lam, sigma, delta = check.number(lam, "lam"), check.number(sigma, "sigma"), check.delta(delta)
    fit = leave_one_out(X, y, lam, np.ones(len(y)))
    inverse = np.linalg.solve(X.T @ X + lam * np.eye(X.shape[1]), X.T).T
    length = np.linalg.norm(X, axis=1)
    spread = length * np.linalg.norm(inverse, axis=1) * (1 + fit.leverage)
    rho = length * np.abs(fit.residual) / sigma
    present = length > 0
    epsilon = np.zeros(len(y))
    epsilon[present] = objective_perturbation_epsilon(
        delta, fit.leverage[present], rho[present], spread[present]
    )
    return ObjectiveLosses(fit.leverage, rho, spread, epsilon)
