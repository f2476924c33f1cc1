r"""Gaussian noise for a ceiling on guessing membership: how much, and in which directions.

What person i does to the weights F of least squares, ridge or lasso, trained on a random half A,
is :math:`\Delta_i = F(A\cup i) - F(A\setminus i)`; by rank-one formulas one factorization serves
everybody. Noise needs :math:`C_i = \mathbb{E}\Delta_i\Delta_i^\top`; the allowed
:math:`\operatorname{tr}(\Sigma^{-1}C_i)` comes from `rates`, the optimum from `mixture`. Estimated
moments promise nothing: `certificate` measures fresh halves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pdpbook import Floats, check
from pdpbook.pac.mixture import JointNoise, joint_covariance, joint_variances, lagrange_variances
from pdpbook.pac.pool import Pool
from pdpbook.pac.rates import success_rate_to_snr

BASES = ("unit", "svd", "difference")  #: in which coordinates noise is independent
BLOCK = 1_000_000  # numbers in the largest temporary array
PILOT = 1000  # draws that choose a basis, and nothing else
FEWEST_DRAWS = 100  # before the standard errors of moments are believed
TIE = 1e-6  # relative: entries that solvers and rounding cannot tell apart


@dataclass(frozen=True, eq=False)
class DifferenceMoments:
    """Estimated second moments of the differences that people make to the weights of a half."""

    second: Floats  #: shape (n, p): mean squares of the coordinates of the differences in `basis`
    standard_error: Floats  #: shape (n, p)
    matrices: Floats  #: shape (n, p, p): mean outer products, in the coordinates of the weights
    basis: Floats  #: shape (p, p), orthonormal columns
    draws: int  #: number of halves behind the means
    converged: bool  #: whether the standard errors reached the tolerance
    sample_rate: float  #: chance of being in the half
    confidence: float  #: that of `upper`

    @property
    def upper(self) -> Floats:
        """Approximate one-sided bounds on all moments at once, Student's t and Bonferroni."""
        level = (1 - self.confidence) / self.second.size
        return np.asarray(self.second + stats.t.isf(level, self.draws - 1) * self.standard_error)


def difference_moments(
    pool: Pool,
    *,
    basis: str | ArrayLike = "unit",
    sample_rate: float = 0.5,
    rng: np.random.Generator,
    tol: float = 0.05,
    confidence: float = 0.99,
    max_draws: int = 20_000,
) -> DifferenceMoments:
    r"""Estimate what everybody does to the weights, until the estimate knows its own error.

    Halves A are drawn, each serves everybody, and :math:`v_{ik} = \mathbb{E}(V^\top\Delta_i)_k^2`
    is averaged until :math:`\mathrm{se}(v_{ik}) \le \mathrm{tol}\cdot\max_k v_{ik}` for all i, k. A
    stopping rule is no certificate: `certify_noise` is. Algorithm ``alg-pac-noise``, Yang (2024),
    Algorithm 2, as it must read; chapter *pac/noise*.

    Parameters
    ----------
    pool : Pool
        Scaled beforehand by numbers that do not depend on the half.
    basis : {"unit", "svd", "difference"} or array_like, shape (p, p), default "unit"
        Coordinates: of the weights; right singular vectors of the weights of 1000 halves, as in the
        paper; eigenvectors of the cheapest covariance for all, likewise; or orthonormal columns.
    sample_rate : float in (0, 1), default 0.5
    rng : Generator
    tol : float, default 0.05
        Standard error at which to stop, relative to a person's largest moment.
    confidence : float, default 0.99
        That of the one-sided bounds `upper`, for all people and coordinates at once.
    max_draws : int, default 20000
        When to stop anyway.
    """
    check.rng(rng)
    q, confidence = check.delta(sample_rate, "sample_rate"), check.delta(confidence, "confidence")
    tol = check.number(tol, "tol")
    max_draws = check.count(max_draws, "max_draws", minimum=2)
    V = basis_of(pool, basis, q, rng)
    n, p = len(pool.y), pool.p
    total, squares, outer = np.zeros((n, p)), np.zeros((n, p)), np.zeros((n, p, p))
    draws = 0
    converged = False
    for masks, _, differences in halves(pool, q, max_draws, rng):
        v = (differences @ V) ** 2
        total += v.sum(axis=0)
        squares += (v**2).sum(axis=0)
        outer += _outer(differences)
        draws += len(masks)
        second = total / draws
        variance = np.maximum(squares / draws - second**2, 0.0)
        error = np.sqrt(variance / max(draws - 1, 1))
        small = bool(np.all(error <= tol * second.max(axis=1, keepdims=True)))
        converged = draws >= FEWEST_DRAWS and small
        if converged:
            break
    return DifferenceMoments(second, error, outer / draws, V, draws, converged, q, confidence)


def halves(
    pool: Pool, q: float, draws: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.bool_], Floats, Floats]]:
    """Yield random subsets, some at a time: members, weights, and the differences of all people."""
    size = int(np.clip(BLOCK // (len(pool.y) * pool.p), 1, 500))
    for start in range(0, draws, size):
        masks = pool.sample(min(size, draws - start), q, rng)
        fits, differences = pool.differences(masks)
        yield masks, fits, differences


def _outer(differences: Floats) -> Floats:
    """Return the sum over subsets of outer products for each person, (T, n, p) to (n, p, p)."""
    people = differences.transpose(1, 2, 0)
    return np.asarray(people @ people.transpose(0, 2, 1))


def basis_of(pool: Pool, basis: Any, q: float, rng: np.random.Generator) -> Floats:
    """Return orthonormal columns, shape (p, p), by name or as passed; see `difference_moments`."""
    p = pool.p
    if not isinstance(basis, str):
        V = np.asarray(check.finite(basis, "basis"))
        if V.shape != (p, p) or not np.allclose(V.T @ V, np.eye(p), atol=1e-8):
            raise ValueError(
                f"basis must be a name or a matrix of shape ({p}, {p}) with orthonormal columns; "
                f"got shape {V.shape}"
            )
        return V
    check.choice(basis, "basis", BASES)
    if basis == "unit":
        return np.eye(p)
    pilot = PILOT if pool.model != "lasso" else 100
    if basis == "svd":
        vectors = np.linalg.svd(pool.fits(pool.sample(pilot, q, rng)), full_matrices=False)[2]
        return signed(vectors.T)
    total = np.zeros((1, p, p))
    for _, _, differences in halves(pool, q, pilot, rng):
        total = total + _outer(differences)
    cheapest = joint_covariance(total / pilot, 1.0, tol=1e-2).noise
    return signed(np.linalg.eigh(cheapest)[1][:, ::-1])


def signed(V: Floats) -> Floats:
    """Return columns with the first of their largest entries positive.

    A solver may return either sign. Entries that differ by rounding alone count as equally large:
    those of two correlated weights do.
    """
    if V.size == 0:
        return V
    size = np.abs(V)
    first_largest = (size >= size.max(axis=0) * (1 - TIE)).argmax(axis=0)
    signs = np.copysign(1.0, V[first_largest, np.arange(V.shape[1])])
    return np.asarray(V * signs)


COMBINE = ("minimax", "max")  #: one noise for everybody, the cheapest or the maximum
WITHOUT_NOISE = 1e-12  # eigenvalues of a correlation below it are 0: no noise in that direction
UNCORRELATED = 1e-13  # below it a correlation is rounding
UNREACHED = 1e-9  # of a squared difference: more than it in directions without noise is exposed


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
    tau_of_person = success_rate_to_snr(rate, calibration, prior)
    # one tau for all: constraint i is the same with tau and with moments times tau / tau_i
    tau = float(tau_of_person.min())
    second = (moments.upper if upper else moments.second) * (tau / tau_of_person)[:, None]
    if shape == "full":
        mean = moments.second.sum(axis=1)
        factor = second.sum(axis=1) / np.where(mean > 0, mean, 1.0)
        return joint_covariance(moments.matrices * factor[:, None, None], tau, task)
    V = moments.basis
    S = np.eye(len(V)) if task is None else np.asarray(task, dtype=float)
    price = np.einsum("pk,pq,qk->k", V, S, V)
    minimax = joint_variances(second, tau, price)
    variances = minimax.noise
    if combine == "max":
        variances = lagrange_variances(second, tau, price).max(axis=0)
    return replace(minimax, noise=(V * variances) @ V.T, value=float(price @ variances))


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
    in_units_of_noise = np.einsum("rp,...pq,rq->...", W, C, W)
    without_noise = np.eye(len(back)) - back @ W  # onto the directions that no noise reaches
    unreached = np.einsum("ap,...pq,aq->...", without_noise, C, without_noise)
    size = np.trace(C, axis1=-2, axis2=-1)
    return np.asarray(np.where(unreached > UNREACHED * size, np.inf, in_units_of_noise))


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
    noisy = values > WITHOUT_NOISE
    roots = np.sqrt(values[noisy])
    W = (vectors[:, noisy] / roots).T * inverse
    back = deviation[:, None] * vectors[:, noisy] * roots
    return W, back


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
