r"""What each person of a pool does to the weights, for a pool that never is in memory at once.

Where the pool is, and then the Gram matrices of its subsets around that, are sums over blocks; then
every block has its own differences.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpbook.blocks import several_passes
from pdpbook.pac.pool import LEVERAGE, RANK
from pdpbook.validation import (
    check_choice,
    check_design,
    check_positive,
    check_single,
)

__all__ = ["stream_differences"]

Floats = NDArray[np.float64]


def stream_differences(
    blocks: Any, *, model: str = "ridge", alpha: float = 1.0, fit_intercept: bool = True
) -> Iterator[Floats]:
    """Differences of `membership_differences`, block by block, in three passes.

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
        If an argument is of a wrong kind or out of range, the blocks can be read only once, or a
        subset is too small: without full rank for ``"ols"``, or with a person of leverage near 1,
        who would need a refit.

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
    total, count = people.sum(partial(_total, fit_intercept))
    middle = np.asarray(total) / count * bool(fit_intercept)
    middle[: int(fit_intercept)] = 0.0  # the ones stay
    gram, size = people.sum(partial(_sums, fit_intercept, middle))
    k, p = int(fit_intercept), gram.shape[1] - 1
    gram[:, range(k, p), range(k, p)] += penalty
    length = np.sqrt(np.einsum("tkk->tk", gram[:, :p, :p]))
    length[length == 0] = 1.0
    scaled = gram[:, :p, :p] / length[:, :, None] / length[:, None, :]
    values = np.linalg.eigvalsh(scaled)
    if size.min() < 2 or not np.all(values[:, 0] > RANK**2 * values[:, -1]):
        raise ValueError(
            "every subset must have at least two members and full column rank with its penalty; "
            f"got {int(size.min())} members in the smallest"
        )
    inverse = np.linalg.inv(np.linalg.cholesky(scaled)) / length[:, None, :]  # of the factor
    beta = np.einsum("tqp,tqr,tr->tp", inverse, inverse, gram[:, :p, p])
    return people.each(partial(_differences, fit_intercept, middle, beta, inverse))


def _block(fit_intercept: bool, X: Any, y: Any, members: Any) -> tuple[Floats, NDArray[np.bool_]]:
    """Rows (1, x, y), shape (b, p + 1), and who is in."""
    X, y = check_design(X, y)
    masks = np.asarray(members)
    if masks.dtype != bool or masks.ndim not in (1, 2):
        raise TypeError(
            f"members must be booleans of shape (n,) or (n, T); got {masks.dtype} of shape "
            f"{masks.shape}"
        )
    return np.column_stack([np.ones((len(y), int(fit_intercept))), X, y]), masks


def _total(fit_intercept: bool, X: Any, y: Any, members: Any) -> tuple[Floats, int]:
    rows, _ = _block(fit_intercept, X, y, members)
    return rows.sum(axis=0), len(rows)


def _sums(
    fit_intercept: bool, middle: Floats, X: Any, y: Any, members: Any
) -> tuple[Floats, Floats]:
    rows, masks = _block(fit_intercept, X, y, members)
    chosen = [(rows - middle)[mask] for mask in np.atleast_2d(masks.T)]
    return (
        np.array([part.T @ part for part in chosen]),
        np.array([float(len(part)) for part in chosen]),
    )


def _differences(
    fit_intercept: bool, middle: Floats, beta: Floats, inverse: Floats, X: Any, y: Any, members: Any
) -> Floats:
    rows, masks = _block(fit_intercept, X, y, members)
    Z, y = (rows - middle)[:, :-1], (rows - middle)[:, -1]
    inside = np.atleast_2d(masks.T)
    U = Z @ inverse.transpose(0, 2, 1)  # (T, b, p)
    leverage = (U**2).sum(axis=2)
    if np.any(inside & ~(leverage < LEVERAGE)):
        at = int(np.flatnonzero((inside & ~(leverage < LEVERAGE)).any(axis=0))[0])
        raise ValueError(
            f"nobody may have leverage 1 in a subset; row {at} has, and the fit without them needs "
            "the whole pool: take membership_differences"
        )
    residual = y - beta @ Z.T
    U = U @ inverse  # u_i = G^-1 z_i
    found = U * (residual / np.where(inside, 1 - leverage, 1 + leverage))[:, :, None]
    if fit_intercept:  # last, and of the pool's own origin
        intercept = found[:, :, 0] - found[:, :, 1:] @ middle[1:-1]
        found = np.concatenate([found[:, :, 1:], intercept[:, :, None]], axis=2)
    return np.asarray(found[0] if masks.ndim == 1 else found)
