r"""What each person of a public pool does to a model trained on a random half of it.

:math:`\Delta_i = F(A\cup i) - F(A\setminus i)` for the weights F of least squares, ridge or lasso,
A a Poisson sample of the pool: by rank-one formulas one factorization serves everybody. Noise that
hides the differences is `allocation`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pdpbook.blocks import several_passes
from pdpbook.pac.mixture import joint_covariance
from pdpbook.pac.pool import Pool, back, moves, weights_of
from pdpbook.validation import (
    check_choice,
    check_count,
    check_delta,
    check_design,
    check_positive,
    check_rng,
    check_single,
)

Floats = NDArray[np.float64]

BASES = ("unit", "svd", "difference")  #: in which coordinates noise is independent
BLOCK = 1_000_000  # numbers in the largest temporary array
PILOT = 1000  # draws that choose a basis, and nothing else


def membership_differences(
    X: ArrayLike,
    y: ArrayLike,
    members: ArrayLike,
    *,
    model: str = "ridge",
    alpha: float = 1.0,
    fit_intercept: bool = True,
) -> Floats:
    r"""What each person does to the weights of one subset, from one factorization.

    With :math:`z_i = (x_i, 1)`, :math:`G = Z_A^\top Z_A + \alpha\,\mathrm{diag}(1,\dots,1,0)`,
    :math:`u_i = G^{-1}z_i`, leverage :math:`h_i = z_i^\top u_i` and residual :math:`r_i`,

    .. math:: F(A\cup i) - F(A\setminus i) = \frac{r_i}{1+h_i}\,u_i \quad (i\notin A),
              \qquad \frac{r_i}{1-h_i}\,u_i \quad (i\in A).

    Parameters
    ----------
    X : array_like, shape (n, d)
        Features of the pool.
    y : array_like, shape (n,)
        Labels.
    members : array_like of bool, shape (n,) or (T, n)
        Who is in the subset A, or in each of T subsets.
    model : {"ridge", "ols", "lasso"}, default "ridge"
        Lasso has no such formula and is refitted n + 1 times.
    alpha : float, default 1.0
        Penalty, as scikit-learn's.
    fit_intercept : bool, default True
        Whether the weights end in an intercept, which is not penalized.

    Returns
    -------
    ndarray, shape (n, p) or (T, n, p)
        Coefficients first, the intercept last.

    Notes
    -----
    Statement ``prop-rank-one`` (ours), chapter *pac/noise*.

    Examples
    --------
    >>> X, y = [[0.0], [1.0], [2.0], [5.0]], [0.5, 1.2, 3.0, 4.1]
    >>> membership_differences(X, y, [True, True, True, False], alpha=1.0).round(3)
    array([[ 0.233, -0.467],
           [-0.   , -0.183],
           [ 0.6  ,  0.   ],
           [-0.16 ,  0.12 ]])
    """
    X, y = check_design(X, y)
    pool = Pool(X, y, model, alpha, fit_intercept)
    masks = np.asarray(members)
    if masks.ndim == 1:
        return np.asarray(pool.differences(masks[None])[1][0])
    return np.asarray(pool.differences(masks)[1])


def stream_differences(
    blocks: Any, *, model: str = "ridge", alpha: float = 1.0, fit_intercept: bool = True
) -> Iterator[Floats]:
    """Differences of `membership_differences`, block by block, in three passes.

    Where the pool is, then the triangle of every subset from there, are sums over blocks.

    Parameters
    ----------
    blocks : Rows with columns X, y and members, or what `Rows.from_blocks` takes
        The pool. ``members`` are booleans, one a row or, for T subsets, T a row.
    model : {"ridge", "ols"}, default "ridge"
        Lasso has no formula in sums.
    alpha : float, default 1.0
        Penalty, as scikit-learn's; not used for ``"ols"``.
    fit_intercept : bool, default True
        Whether the weights end in an intercept, which is not penalized.

    Returns
    -------
    iterator of ndarray
        For each block that is not empty its part of `membership_differences`, shape (b, p) or
        (T, b, p).

    Raises
    ------
    TypeError, ValueError
        Also if the blocks can be read only once, or a subset is too small: without full rank, or
        with a person of leverage near 1, who would need a refit.

    Notes
    -----
    Statement ``prop-rank-one`` (ours), chapter *pac/noise*.

    Examples
    --------
    >>> X, y = np.array([[0.0], [1.0], [2.0], [5.0]]), np.array([0.5, 1.2, 3.0, 4.1])
    >>> members = np.array([True, True, True, False])
    >>> next(stream_differences([(X, y, members)])).round(3)[0]
    array([ 0.233, -0.467])
    """
    check_choice(model, "model", ("ridge", "ols"))
    penalty = check_single(check_positive(alpha, "alpha"), "alpha") if model == "ridge" else 0.0
    if not isinstance(fit_intercept, (bool, np.bool_)):
        raise TypeError(f"fit_intercept must be a boolean; got {fit_intercept!r}")
    people = several_passes(blocks, "stream_differences", "X", "y", "members")
    k = int(fit_intercept)
    total, count = people.sum(partial(_total, k))
    middle = total / count * k
    middle[:k] = 0.0  # the ones stay
    below = np.diag(np.sqrt(np.r_[np.zeros(k), np.full(len(middle) - k - 1, penalty), 0.0]))[:-1]
    R, size = below[None], np.zeros(1)
    for part, members in people.each(partial(_triangles, k, middle)):
        under = np.broadcast_to(R, (len(part), *R.shape[1:]))
        R = np.asarray(np.linalg.qr(np.concatenate([part, under], axis=1), mode="r"))
        size = size + members
    beta, inverse, short = weights_of(R)
    if size.min() < 2 or short.any():
        raise ValueError(
            "every subset must have at least two members and full column rank with its penalty; "
            f"got {int(size.min())} members in the smallest"
        )
    return people.each(partial(_block_differences, k, middle, beta, inverse))


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
    X: ArrayLike,
    y: ArrayLike,
    *,
    model: str = "ridge",
    alpha: float = 1.0,
    fit_intercept: bool = True,
    basis: str | ArrayLike = "unit",
    sample_rate: float = 0.5,
    rng: np.random.Generator,
    tol: float = 0.05,
    confidence: float = 0.99,
    max_draws: int = 20_000,
) -> DifferenceMoments:
    r"""Estimate what everybody does to the weights, until the estimate knows its own error.

    Halves A are drawn, each serves everybody, and :math:`v_{ik} = \mathbb{E}(V^\top\Delta_i)_k^2`
    is averaged until :math:`\mathrm{se}(v_{ik}) \le \mathrm{tol}\cdot\max_k v_{ik}` for all i, k.
    A stopping rule is no certificate: `certify_noise` is.

    Parameters
    ----------
    X : array_like, shape (n, d)
        Features of the pool, scaled beforehand by numbers that do not depend on the half.
    y : array_like, shape (n,)
        Labels.
    model : {"ridge", "ols", "lasso"}, default "ridge"
        Whose weights.
    alpha : float, default 1.0
        Penalty, as scikit-learn's.
    fit_intercept : bool, default True
        Whether the weights end in an intercept.
    basis : {"unit", "svd", "difference"} or array_like, shape (p, p), default "unit"
        Coordinates: of the weights; the right singular vectors of the weights of 1000 halves, as
        in the paper; the eigenvectors of the cheapest covariance for everybody, from 1000 halves;
        or orthonormal columns.
    sample_rate : float, default 0.5
        Chance of being in A, in (0, 1).
    rng : numpy.random.Generator
        Source of randomness.
    tol : float, default 0.05
        Standard error at which to stop, relative to a person's largest moment.
    confidence : float, default 0.99
        That of the one-sided bounds `upper`, for all people and coordinates at once.
    max_draws : int, default 20000
        When to stop anyway.

    Returns
    -------
    DifferenceMoments
        Moments, standard errors, full matrices, the basis, the number of draws.

    Notes
    -----
    Algorithm ``alg-pac-noise``, Yang (2024), Algorithm 2, as it must read; chapter *pac/noise*.
    """
    check_rng(rng)
    X, y = check_design(X, y)
    pool = Pool(X, y, model, alpha, fit_intercept)
    q = check_delta(sample_rate, "sample_rate")
    tol = check_single(check_positive(tol, "tol"), "tol")
    confidence = check_delta(confidence, "confidence")
    max_draws = check_count(max_draws, "max_draws", minimum=2)
    V = basis_of(pool, basis, q, rng)
    n, p = len(y), pool.p
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
        V = np.asarray(basis, dtype=float)
        if V.shape != (p, p) or not np.allclose(V.T @ V, np.eye(p), atol=1e-8):
            raise ValueError(
                f"basis must be a name or a matrix of shape ({p}, {p}) with orthonormal columns; "
                f"got shape {V.shape}"
            )
        return V
    check_choice(basis, "basis", BASES)
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
    """Columns with their largest entry positive: a solver may return either sign."""
    if V.size == 0:
        return V
    largest = V[np.abs(V).argmax(axis=0), np.arange(V.shape[1])]
    return np.asarray(V * np.copysign(1.0, largest))


def _rows(k: int, X: Any, y: Any, members: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Rows (1, x, y) of a block, shape (b, p + 1), and who is in."""
    X, y = check_design(X, y)
    masks = np.asarray(members)
    if masks.dtype != bool or masks.ndim not in (1, 2):
        raise TypeError(
            f"members must be booleans of shape (n,) or (n, T); got {masks.dtype} of shape "
            f"{masks.shape}"
        )
    return np.column_stack([np.ones((len(y), k)), X, y]), masks


def _total(k: int, X: Any, y: Any, members: Any) -> tuple[Floats, int]:
    rows, _ = _rows(k, X, y, members)
    return rows.sum(axis=0), len(rows)


def _triangles(k: int, middle: Floats, X: Any, y: Any, members: Any) -> tuple[Floats, Floats]:
    rows, masks = _rows(k, X, y, members)
    held = np.atleast_2d(masks.T)
    R = np.linalg.qr(held[:, :, None] * (rows - middle), mode="r")
    return np.asarray(R), held.sum(axis=1, dtype=float)


def _block_differences(
    k: int, middle: Floats, beta: Floats, inverse: Floats, X: Any, y: Any, members: Any
) -> Floats:
    rows, masks = _rows(k, X, y, members)
    found, alone = moves(rows - middle, np.atleast_2d(masks.T), beta, inverse)
    if alone.any():
        at = int(np.flatnonzero(alone.any(axis=0))[0])
        raise ValueError(
            f"nobody may have leverage 1 in a subset; row {at} has, and the fit without them needs "
            "the whole pool: take membership_differences"
        )
    found = back(found, middle[1:-1], 0.0) if k else found
    return np.asarray(found[0] if masks.ndim == 1 else found)
