r"""Gaussian noise for a ceiling on guessing membership: how much, and in which directions.

Everybody's :math:`C_i = \mathbb{E}\Delta_i\Delta_i^\top` comes from `differences`, the allowed
:math:`\operatorname{tr}(\Sigma^{-1}C_i)` from `rates`, the optimum from `mixture`. Estimated
moments promise nothing: `certificate` measures fresh halves.
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.pac.differences import DifferenceMoments, signed
from pdpbook.pac.mixture import JointNoise, joint_covariance, joint_variances, lagrange_variances
from pdpbook.pac.rates import success_rate_to_snr

COMBINE = ("minimax", "max")  #: one noise for everybody, the cheapest or the maximum
NULL = 1e-12  # relative; below it a direction of the covariance has no noise
UNCORRELATED = 1e-13  # below it a correlation is rounding


def allocate_noise(
    moments: DifferenceMoments,
    success_rate: ArrayLike,
    *,
    calibration: str = "mi",
    combine: str = "minimax",
    shape: str = "diagonal",
    task: ArrayLike | None = None,
    upper: bool = True,
) -> JointNoise:
    r"""Cheapest noise that keeps a ceiling for everybody, by estimated moments.

    .. math:: \min_\Sigma \operatorname{tr}(S\Sigma) \quad\text{subject to}\quad
              \operatorname{tr}(\Sigma^{-1} C_i) \le \tau_i \text{ for every person } i,

    with :math:`\tau_i` the allowed mean square of `success_rate_to_snr`. Diagonal noise is
    independent in the basis V of the moments and rotated back: :math:`\Sigma = V e V^\top`; the
    result's `noise` is this covariance, shape (p, p), of what to add to the weights. Statements
    ``prop-anisotropic``, Yang (2024), Algorithm 2, ``prop-back-projection``,
    ``prop-all-individuals``, ``prop-own-ceilings`` and ``prop-task-noise`` (ours), chapters
    *pac/noise*, *pac/beyond_half* and *pac/printed*.

    Parameters
    ----------
    moments : DifferenceMoments
    success_rate : float or array_like, shape (n,)
        Ceiling on how often anybody guesses right, above that of a blind guess and below 1.
    calibration : {"mi", "tv"}, default "mi"
        By mutual information, or by total variation, which needs less noise.
    combine : {"minimax", "max"}, default "minimax"
        The cheapest noise for all, by cvxpy; or the maximum over people of the optimum for each.
    shape : {"diagonal", "full"}, default "diagonal"
        Independent in the basis of the moments, or any covariance, which is always minimax.
    task : array_like, shape (p, p), optional
        Price S of noise on the weights, such as `loss_task`; by default the identity.
    upper : bool, default True
        Use the one-sided bounds of the moments instead of the means.
    """
    check.choice(combine, "combine", COMBINE)
    check.choice(shape, "shape", ("diagonal", "full"))
    rate = check.budgets(success_rate, len(moments.second), "success_rate", "person of the pool")
    prior = max(moments.sample_rate, 1 - moments.sample_rate)
    own = success_rate_to_snr(rate, calibration, prior)
    tau = float(own.min())
    second = (moments.upper if upper else moments.second) * (tau / own)[:, None]
    if shape == "full":
        plain = moments.second.sum(axis=1)
        widen = second.sum(axis=1) / np.where(plain > 0, plain, 1.0)
        return joint_covariance(moments.matrices * widen[:, None, None], tau, task)
    V = moments.basis
    S = np.eye(len(V)) if task is None else np.asarray(task, dtype=float)
    price = np.einsum("pk,pq,qk->k", V, S, V)
    best = joint_variances(second, tau, price)
    variances = best.noise
    if combine == "max":
        variances = lagrange_variances(second, tau, price).max(axis=0)
    return replace(best, noise=(V * variances) @ V.T, value=float(price @ variances))


def exposure(covariance: ArrayLike, matrices: ArrayLike) -> Floats:
    r"""Mean squared difference of each person in units of the noise.

    .. math:: \operatorname{tr}(\Sigma^{-1} C_i), \qquad
              \text{mutual information} \le q(1-q)\operatorname{tr}(\Sigma^{-1} C_i) .

    Infinite where somebody moves a direction without noise. Statement ``prop-back-projection``,
    chapter *pac/printed*. Returns an array of shape (n,) or ().

    Parameters
    ----------
    covariance : array_like, shape (p, p)
        Of the noise; it may leave directions without noise.
    matrices : array_like, shape (n, p, p) or (p, p)
        Second moments :math:`C_i` of the differences.

    Examples
    --------
    >>> exposure([[2.0, 0.0], [0.0, 0.0]], [[[4.0, 0.0], [0.0, 0.0]], [[0.0, 0.0], [0.0, 1.0]]])
    array([ 2., inf])
    """
    C = np.asarray(matrices, dtype=float)
    W, back = whitener(covariance)
    inside = np.einsum("rp,...pq,rq->...", W, C, W)
    rest = np.eye(len(back)) - back @ W  # what the noise does not reach
    left = np.einsum("ap,...pq,aq->...", rest, C, rest)
    size = np.trace(C, axis1=-2, axis2=-1)
    return np.asarray(np.where(left > 1e-9 * size, np.inf, inside))


def whitener(covariance: ArrayLike) -> tuple[Floats, Floats]:
    r"""Maps to and from coordinates in which noise is standard.

    Parameters
    ----------
    covariance : array_like, shape (p, p)
        Positive semidefinite.

    Returns
    -------
    W : ndarray, shape (r, p)
        :math:`\|W v\| = \|v\|_{\Sigma^{-1}}` for v in the range of the covariance, of rank r.
    back : ndarray, shape (p, r)
        Columns whose outer products add up to the covariance; ``W @ back`` is the identity.
    """
    cov = np.asarray(covariance, dtype=float)
    if cov.ndim != 2 or cov.shape[0] != cov.shape[1] or not np.isfinite(cov).all():
        raise ValueError(f"covariance must be a finite square matrix; got shape {cov.shape}")
    variances = np.diag(cov)
    if not np.all(variances >= 0):
        raise ValueError("covariance must be positive semidefinite; its diagonal is negative")
    if np.any((cov + cov.T)[variances == 0]):
        raise ValueError(
            "covariance must be positive semidefinite; it is 0 on the diagonal of a row that is not"
        )
    deviation = np.sqrt(variances)
    inverse = np.divide(1, deviation, out=np.zeros_like(deviation), where=deviation > 0)
    correlation = inverse[:, None] * (cov + cov.T) / 2 * inverse
    correlation[np.abs(correlation) < UNCORRELATED] = 0.0  # so that rounding turns no axes
    np.fill_diagonal(correlation, deviation > 0)
    values, vectors = np.linalg.eigh(correlation)
    if len(values) and values[0] < -1e-8:
        raise ValueError(f"covariance must be positive semidefinite; eigenvalue {values[0]:.3g}")
    vectors = signed(vectors)  # so that a seed repeats its noise on another machine
    keep = values > NULL
    roots = np.sqrt(values[keep])
    return (vectors[:, keep] / roots).T * inverse, deviation[:, None] * vectors[:, keep] * roots


def loss_task(X: ArrayLike, *, fit_intercept: bool = True) -> Floats:
    r"""Price of noise in squared error of predictions, :math:`S = \frac1n\sum_i z_i z_i^\top`.

    Noise of covariance :math:`\Sigma` raises the expected mean squared error on these rows by
    :math:`\operatorname{tr}(S\Sigma)`. Statement ``prop-task-noise`` (ours), chapter *pac/printed*.
    Returns an array of shape (p, p).

    Parameters
    ----------
    X : array_like, shape (n, d)
        Rows to be predicted; the public pool, or other public rows of its kind.
    fit_intercept : bool, default True
        Whether the weights end in an intercept.
    """
    rows = check.matrix(X, "X")
    Z = np.column_stack([rows, np.ones((len(rows), int(fit_intercept)))])
    return np.asarray(Z.T @ Z / len(Z))
