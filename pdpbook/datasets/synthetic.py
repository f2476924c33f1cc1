"""Generated data: regressions without label noise, budgets in three groups, Zipf users."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check


def make_ridge_data(n: int, d: int, *, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    r"""Synthetic regression of n people without label noise, inside the domain of the theorems.

    Rows are uniform on :math:`[0,1]^d` and :math:`y = X\theta` exactly, where :math:`\theta` is
    uniform on the sphere of radius :math:`1/\sqrt d`, so that :math:`|y_i| \le 1`. Synthetic data
    of Acharya et al. (2024): their unit vector is sqrt(d) times our theta.

    Parameters
    ----------
    n, d : int
    rng : numpy.random.Generator
        Draws X first, then theta.

    Returns
    -------
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
    theta : ndarray, shape (d,)
    """
    n, d, rng = check.count(n, "n"), check.count(d, "d"), check.rng(rng)
    X = rng.uniform(size=(n, d))
    direction = rng.normal(size=d)
    theta = direction / (np.linalg.norm(direction) * np.sqrt(d))
    return X, X @ theta, theta


def sample_budgets(
    n: int,
    *,
    fractions: ArrayLike = (0.34, 0.43, 0.23),
    levels: ArrayLike = (0.01, 0.2, 1.0),
    rng: np.random.Generator,
) -> Floats:
    """Budgets, in nats, of a mixed crowd: conservative, medium and liberal people, in this order.

    The first floor(f_c n) people draw uniformly between the first two levels, the next floor(f_m n)
    between the last two, and all others have the last level exactly. Protocol of Acharya et al.
    (2024). A product within 1e-9 of the next whole number counts as that: 0.29 of 100 people is 29.
    Shuffle the people, not the budgets, if their order means anything. Returns shape (n,).

    Parameters
    ----------
    n : int
    fractions : array_like, shape (3,), default (0.34, 0.43, 0.23)
        Shares of the three groups, at least 0, summing to 1.
    levels : array_like, shape (3,), default (0.01, 0.2, 1.0)
        In nats, above 0, not decreasing.
    rng : numpy.random.Generator
    """
    n, rng = check.count(n, "n"), check.rng(rng)
    shares, edges = check.nonnegative(fractions, "fractions"), check.positive(levels, "levels")
    shares = check.shape(shares, "fractions", (3,), "one a group")
    low, middle, high = check.shape(edges, "levels", (3,), "the ends of the groups")
    if not abs(shares.sum() - 1) <= 1e-9:
        raise ValueError(f"fractions must sum to 1; got {shares.sum():g}")
    if not low <= middle <= high:
        raise ValueError(f"levels must not decrease; got {', '.join(f'{e:g}' for e in edges)}")
    conservative, medium = (int(np.floor(f * n + 1e-9)) for f in shares[:2])
    drawn = rng.uniform(low, middle, conservative), rng.uniform(middle, high, medium)
    return np.concatenate([*drawn, np.full(n - conservative - medium, high)])


def sample_zipf_users(
    n: int, alpha: float, *, largest: int | None = None, rng: np.random.Generator
) -> NDArray[np.int64]:
    """User of each of n rows, with numbers of rows a user drawn from Zipf's law.

    Sizes are drawn one after the other until they sum to n; the last is truncated. A lower exponent
    is more uneven. Synthetic users of Epasto et al. (2020), read as i.i.d. sizes.

    Parameters
    ----------
    n : int
    alpha : float
        Exponent, above 1.
    largest : int, optional
        Cap on the size of a user; by default n // 5, at least 1, as one draw can exceed n.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (n,)
        Users 0, 1, ..., in contiguous blocks.
    """
    n, rng = check.count(n, "n"), check.rng(rng)
    alpha = check.number(alpha, "alpha")
    if not alpha > 1:
        raise ValueError(f"alpha must be above 1; got {check.shown(alpha)}")
    cap = max(1, n // 5) if largest is None else check.count(largest, "largest")
    sizes: list[int] = []
    rest = n
    while rest > 0:
        sizes.append(min(int(rng.zipf(alpha)), cap, rest))
        rest -= sizes[-1]
    return np.repeat(np.arange(len(sizes)), sizes)
