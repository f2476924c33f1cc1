"""A private quantile of users' rows, by one draw; budgets of several quantiles add up."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook._users import check_user_epsilon, check_users, part_of
from pdpbook.user_level.quantiles.accuracy import quantile_rate, quantile_tradeoff
from pdpbook.user_level.quantiles.laws import GridLaw, QuantileLaw, check_grid
from pdpbook.user_level.weights import tradeoff_weights


def quantile_law(
    y: Any,
    level: float,
    *,
    users: Any = None,
    epsilon: Any,
    bounds: ArrayLike,
    weights: ArrayLike | None = None,
    grid: ArrayLike | None = None,
    clip: bool = False,
) -> Any:
    r"""Exact law of one release of `private_quantile`; not private.

    For row weights :math:`c_i`, those of users :math:`w_l=\sum_{i\in S_l}c_i`,
    :math:`\hat F(z)=\sum_ic_i1[y_i\le z]`,

    .. math:: f(z)\propto e^{-\lambda u(z)},\qquad u(z)=\max(0,\ p-\hat F(z),\ \hat F(z-)-p),

    with the rate :math:`\lambda` of `quantile_rate`. Between two rows :math:`u=|\hat F-p|`. The
    largest privacy loss of user l is at most
    :math:`\lambda(\min(w_l,p)+\min(w_l,1-p))\le\varepsilon_l`. O(n log n). Statement
    ``prop-quantile-privacy``, chapter *user_level/quantiles*.

    Parameters
    ----------
    y : array_like, shape (n,)
    level : float, p in (0, 1)
    users : array_like, shape (n,), optional
        The user of each row, public; None makes every row a user of its own.
    epsilon : float, mapping from user, or array_like of shape (n,)
        Budgets in nats, 0 for whoever takes no part; one value a row must be the same on all rows
        of a user.
    bounds : pair of float, public ends of the range of y in its units, never read from the data
    weights : array_like, shape (n,), optional
        Public, at least 0, divided by their sum; None takes the optimal `tradeoff_weights`.
    grid : array_like, shape (k,), optional
        Public candidates, increasing, between the bounds, for values with ties; None allows all.
    clip : bool, default False
        Move values outside the bounds to the nearest end instead of raising.

    Returns
    -------
    QuantileLaw, or GridLaw with `grid`

    Examples
    --------
    >>> quantile_law([1.0, 2.0, 3.0], 0.5, epsilon=6.0, bounds=(0.0, 4.0)).masses.round(3)
    array([0.024, 0.476, 0.476, 0.024])
    """
    p, (low, high) = check_level(level), check.bounds(bounds, "bounds")
    points = None if grid is None else check_grid(grid, "grid")
    if points is not None:
        check.inside(points, low, high, "grid", "bounds", clip=False)
    data = check_data(y, users, epsilon, bounds, weights, clip)
    rate = quantile_rate(data.spent, p, data.epsilon)
    if points is None:
        edges = np.unique(np.concatenate([[low, high], data.y]))
        return QuantileLaw(edges, -rate * np.abs(data.cdf(edges[:-1]) - p))
    below, upto = data.cdf(points, before=True), data.cdf(points)
    return GridLaw(points, -rate * np.maximum(0, np.maximum(p - upto, below - p)))


def private_quantile(
    y: Any,
    level: float,
    *,
    users: Any = None,
    epsilon: Any,
    bounds: ArrayLike,
    weights: ArrayLike | None = None,
    grid: ArrayLike | None = None,
    clip: bool = False,
    rng: np.random.Generator,
) -> float:
    r"""Private quantile of rows that belong to users, in the units of the rows.

    One draw by the weighted exponential mechanism, from the density proportional to
    :math:`e^{-\lambda|\hat F(z)-p|}` between the bounds; see `quantile_law` for the symbols. It
    keeps :math:`\varepsilon_l` for every user l when all rows of the user are replaced; a further
    quantile costs its epsilon again. Statements ``prop-quantile-privacy`` and
    ``thm-quantile-accuracy``, chapter *user_level/quantiles*; after Epasto et al. (2020).

    Parameters
    ----------
    y, level, users, epsilon, bounds, weights, grid, clip
        As in `quantile_law`.
    rng : Generator

    Examples
    --------
    >>> y, rng = np.arange(1000.0), np.random.default_rng(0)
    >>> bool(abs(private_quantile(y, 0.5, epsilon=1.0, bounds=(0, 1000), rng=rng) - 500) < 30)
    True
    """
    check.rng(rng)
    given = {"users": users, "epsilon": epsilon, "bounds": bounds, "weights": weights}
    return float(quantile_law(y, level, **given, grid=grid, clip=clip).sample(rng=rng))


def check_level(level: Any) -> float:
    return check.single(check.probability(level, "level"), "level")


class Data(NamedTuple):
    y: Floats  # sorted
    cumulative: Floats  # 0, then the weight of the first k values
    spent: Floats  # weight of each user
    epsilon: Floats  # budget of each user

    def cdf(self, z: Floats, *, before: bool = False) -> Floats:
        at = np.searchsorted(self.y, z, side="left" if before else "right")
        return np.asarray(self.cumulative[at])


def check_data(y: Any, users: Any, epsilon: Any, bounds: Any, weights: Any, clip: bool) -> Data:
    check.refuse_other_index(weights, "weights", y=y, users=users)
    low, high = check.bounds(bounds, "bounds")
    values = check.vector(check.finite(y, "y"), "y", "n")
    values = check.inside(values, low, high, "y", "bounds", clip=clip)
    owners = check_users(users, len(values), y=y)
    part = part_of(owners, check_user_epsilon(epsilon, owners))
    codes, sizes, epsilon = part.users.codes, part.users.sizes, part.epsilon
    if weights is None:
        c = tradeoff_weights(sizes, quantile_tradeoff(), epsilon).row_weights[codes]
    else:  # and somebody who takes part has some
        c = check.weights(check.weights(weights, len(values))[part.rows], len(codes))
    c, values = c / c.sum(), values[part.rows]
    order = np.argsort(values, kind="stable")
    cumulative = np.concatenate([[0.0], np.cumsum(c[order])])
    return Data(values[order], cumulative, np.asarray(np.bincount(codes, c), float), epsilon)
