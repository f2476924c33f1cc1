"""Exact l1 sensitivity of linear estimates to the labels of one user, by sign vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.users import check_users

CHUNK = 1 << 21  # products held at a time


def exact_sensitivity(C: ArrayLike, users: Any = None, *, width: float = 1.0) -> Floats:
    r"""How far one user's labels can move C y in the l1 norm, for every user.

    Labels lie in an interval of width B. For user l, who owns the rows :math:`S_l`,

    .. math:: \max_{y_{S_l},\,y'_{S_l}}\|C(y-y')\|_1
        = B\max_{z\in\{\pm1\}^k}\ \sum_{i\in S_l}|z^\top c_i|\ \le\ B\sum_{i\in S_l}\|c_i\|_1 .

    The right side is at most :math:`2^{k-1}/\binom{k-1}{\lfloor(k-1)/2\rfloor}` times the left,
    with equality for a user whose columns :math:`c_i` are all the sign vectors. Statement
    ``prop-exact-sensitivity`` (ours), chapter *user_level/gwa_dual*.

    Parameters
    ----------
    C : array_like, shape (k, n)
        Weights; k at most 20, because :math:`2^{k-1}` sign vectors are tried.
    users : array_like, shape (n,), optional
    width : float, default 1.0

    Returns
    -------
    ndarray, shape (m,)
        In the order of the sorted labels. The maximum calibrates the noise; divided by a common
        Laplace scale they are the users' own losses.

    Examples
    --------
    >>> exact_sensitivity([[1.0, 1.0], [1.0, -1.0]], ["a", "a"])
    array([2.])
    """
    weights = check.matrix(C, "C", "k", "n")
    k, n = weights.shape
    if k > 20:
        raise ValueError(f"C must have at most 20 rows, 2^19 sign vectors; got {k}")
    width = check.number(width, "width")
    owned = check_users(users, n)
    order = np.argsort(owned.codes, kind="stable")
    order = order[np.abs(weights[:, order]).max(axis=0) > 0]
    present, starts = np.unique(owned.codes[order], return_index=True)
    worst, used = np.zeros(len(owned.labels)), weights[:, order]
    step, every = max(1, CHUNK // max(1, len(order))), 1 << (k - 1)
    for first in range(0, every, step):
        sums = np.abs(sign_vectors(k, first, min(first + step, every)) @ used)
        most = np.add.reduceat(sums, starts, axis=1).max(axis=0)
        worst[present] = np.maximum(worst[present], most)
    return width * worst


def sign_vectors(k: int, first: int, last: int) -> Floats:
    """Rows `first` to `last` of the 2^(k-1) sign vectors that begin with +1."""
    bits = np.arange(first, last)[:, None] >> np.arange(k - 1)
    return np.hstack([np.ones((last - first, 1)), 1.0 - 2.0 * (bits & 1)])
