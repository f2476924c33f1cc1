r"""What each person of a public pool does to a model trained on a random half of it.

:math:`\Delta_i = F(A\cup i) - F(A\setminus i)` for the weights F of least squares, ridge or lasso,
A a Poisson sample of the pool: by rank-one formulas one factorization serves everybody.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pdpbook import Floats, check
from pdpbook.pac.mixture import joint_covariance
from pdpbook.pac.pool import Pool

BASES = ("unit", "svd", "difference")  #: in which coordinates noise is independent
BLOCK = 1_000_000  # numbers in the largest temporary array
PILOT = 1000  # draws that choose a basis, and nothing else
ALIKE = 1e-6  # relative: what solvers and rounding leave of a tie


@dataclass(frozen=True, eq=False)
class DifferenceMoments:
    """Estimated second moments of what everybody does to the weights of a random half."""

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
    draws, done = 0, False
    for masks, _, D in halves(pool, q, max_draws, rng):
        w = (D @ V) ** 2
        total += w.sum(axis=0)
        squares += (w**2).sum(axis=0)
        outer += _outer(D)
        draws += len(masks)
        second = total / draws
        error = np.sqrt(np.maximum(squares / draws - second**2, 0.0) / max(draws - 1, 1))
        done = draws >= 100 and bool(np.all(error <= tol * second.max(axis=1, keepdims=True)))
        if done:
            break
    return DifferenceMoments(second, error, outer / draws, V, draws, done, q, confidence)


def halves(
    pool: Pool, q: float, draws: int, rng: np.random.Generator
) -> Iterator[tuple[NDArray[np.bool_], Floats, Floats]]:
    """Random subsets, some at a time: who is in, the weights, and everybody's differences."""
    size = int(np.clip(BLOCK // (len(pool.y) * pool.p), 1, 500))
    for start in range(0, draws, size):
        masks = pool.sample(min(size, draws - start), q, rng)
        yield (masks, *pool.differences(masks))


def _outer(D: Floats) -> Floats:
    """Sums of everybody's outer products over subsets, (T, n, p) to (n, p, p)."""
    people = D.transpose(1, 2, 0)
    return np.asarray(people @ people.transpose(0, 2, 1))


def basis_of(pool: Pool, basis: Any, q: float, rng: np.random.Generator) -> Floats:
    """Orthonormal columns by name or as given."""
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
    total = sum((_outer(D) for _, _, D in halves(pool, q, pilot, rng)), np.zeros((1, p, p)))
    cheapest = joint_covariance(total / pilot, 1.0, tol=1e-2).noise
    return signed(np.linalg.eigh(cheapest)[1][:, ::-1])


def signed(V: Floats) -> Floats:
    """Columns with the first of their largest entries positive: a solver may return either sign.

    Entries that differ by rounding alone are equally large: those of two correlated weights are.
    """
    if V.size == 0:
        return V
    size = np.abs(V)
    first = (size >= size.max(axis=0) * (1 - ALIKE)).argmax(axis=0)
    return np.asarray(V * np.copysign(1.0, V[first, np.arange(V.shape[1])]))
