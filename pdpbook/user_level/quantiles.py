"""Private quantiles of users' rows: the exact law of the release, and a bound on its error."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from pdpbook import Floats, check
from pdpbook.noise.laws import check_size, keep
from pdpbook.user_level.weights import tradeoff_weights
from pdpbook.users import check_user_epsilon, check_users, participating_users


@dataclass(frozen=True, eq=False)
class QuantileLaw:
    r"""Law with a density constant between neighboring `edges`, shape (k + 1,): data, not private.

    .. math:: f(z)=f_k\quad\text{for}\ e_k\le z<e_{k+1}

    For audits and planning. Statement ``prop-quantile-privacy``, chapter *user_level/quantiles*.

    Examples
    --------
    >>> law = QuantileLaw([0.0, 1.0, 3.0], [0.0, 0.0])
    >>> round(law.probability(0.0, 1.5), 6), round(law.expected_error(0.0), 6)
    (0.5, 1.5)
    """

    edges: Floats  #: shape (k + 1,), strictly increasing; the last piece includes its right end
    log_density: Floats  #: shape (k,), up to a common constant; the law always has mass 1

    def __post_init__(self) -> None:
        edges = check_grid(self.edges, "edges")
        log_density = np.array(check.finite(self.log_density, "log_density"))
        if len(edges) < 2 or log_density.shape != (len(edges) - 1,):
            raise ValueError(
                "edges must have shape (k + 1,) and log_density shape (k,), k at least 1; "
                f"got {edges.shape} and {log_density.shape}"
            )
        log_density -= logsumexp(log_density + np.log(np.diff(edges)))
        keep(self, edges=edges, log_density=log_density)

    @property
    def masses(self) -> Floats:
        """Probability of every piece, shape (k,)."""
        return np.asarray(np.exp(self.log_density + np.log(np.diff(self.edges))))

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points`, of their shape; minus infinity outside the edges."""
        z = np.asarray(check.finite(points, "points"))
        piece = np.searchsorted(self.edges[1:-1], z, side="right")
        inside = (z >= self.edges[0]) & (z <= self.edges[-1])
        return np.asarray(np.where(inside, self.log_density[piece], -np.inf))[()]

    def cdf(self, points: ArrayLike) -> Floats:
        """Probability of a release at most `points`, of their shape."""
        z = np.asarray(check.finite(points, "points"))
        mass_below = np.concatenate([[0.0], np.cumsum(self.masses)])
        return np.asarray(np.interp(z, self.edges, mass_below / mass_below[-1]))[()]

    def probability(self, low: float, high: float) -> float:
        """Probability of a release in [low, high], also when it is tiny."""
        edges_inside = np.clip(self.edges, low, max(low, high))
        return float(np.sum(np.exp(self.log_density) * np.diff(edges_inside)))

    def expected_error(self, point: float) -> float:
        """Mean distance of a release from `point`."""
        offset = self.edges - check.single(check.finite(point, "point"), "point")
        integral_of_distance = np.diff(offset * np.abs(offset) / 2)
        return float(np.sum(np.exp(self.log_density) * integral_of_distance))

    def largest_loss(self, other: QuantileLaw) -> float:
        """Largest absolute log-ratio of the two densities: the pure privacy loss of the pair."""
        if self.edges[0] != other.edges[0] or self.edges[-1] != other.edges[-1]:
            raise ValueError("other must live between the same bounds")
        edges = np.union1d(self.edges, other.edges)[:-1]
        return float(np.abs(self.logpdf(edges) - other.logpdf(edges)).max())

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Any:
        """Draw a float, or an array of shape (size,)."""
        shape = check_size(size) or None
        piece = check.rng(rng).choice(len(self.edges) - 1, shape, p=self.masses)
        lower, upper = self.edges[piece], self.edges[piece + 1]
        draws = lower + (upper - lower) * rng.random(shape)
        return draws if shape else float(draws)


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Law on public `points`, shape (k,), increasing; `log_probability` likewise. Not private.

    Statement ``prop-quantile-privacy``, chapter *user_level/quantiles*.
    """

    points: Floats  #: shape (k,), strictly increasing
    log_probability: Floats  #: shape (k,), up to a common constant, which is subtracted

    def __post_init__(self) -> None:
        points = check_grid(self.points, "points")
        log_p = check.finite(self.log_probability, "log_probability")
        log_p = check.shape(log_p, "log_probability", points.shape, "one for each of points")
        keep(self, points=points, log_probability=log_p - logsumexp(log_p))

    def probability(self, low: float, high: float) -> float:
        """Probability of a release in [low, high]."""
        inside = (self.points >= low) & (self.points <= high)
        return float(np.exp(self.log_probability[inside]).sum())

    def expected_error(self, point: float) -> float:
        """Mean distance of a release from `point`."""
        return float(np.exp(self.log_probability) @ np.abs(self.points - point))

    def largest_loss(self, other: GridLaw) -> float:
        """Largest absolute log-ratio of the two laws: the pure privacy loss of the pair."""
        if not np.array_equal(self.points, other.points):
            raise ValueError("other must live on the same points")
        return float(np.abs(self.log_probability - other.log_probability).max())

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Any:
        """Draw a float, or an array of shape (size,)."""
        shape = check_size(size) or None
        p = np.exp(self.log_probability)
        draws = self.points[check.rng(rng).choice(len(p), shape, p=p / p.sum())]
        return draws if shape else float(draws)


def check_grid(grid: ArrayLike, name: str) -> Floats:
    """Return a vector of numbers; refuse what does not increase."""
    points = check.vector(check.finite(grid, name), name, "k")
    if not np.all(np.diff(points) > 0):
        at = int(np.flatnonzero(~(np.diff(points) > 0))[0])
        raise ValueError(
            f"{name} must increase; got {name}[{at}] = {check.shown(points[at])}, "
            f"then {check.shown(points[at + 1])}"
        )
    return points


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
        Move values outside the bounds to the nearest end, and NaN to the middle, instead of
        raising.

    Returns
    -------
    QuantileLaw, or GridLaw with `grid`

    Examples
    --------
    >>> quantile_law([1.0, 2.0, 3.0], 0.5, epsilon=6.0, bounds=(0.0, 4.0)).masses.round(3)
    array([0.024, 0.476, 0.476, 0.024])
    """
    p = check_level(level)
    low, high = check.bounds(bounds, "bounds")
    points = None if grid is None else check_grid(grid, "grid")
    if points is not None:
        check.inside(points, low, high, "grid", "bounds", clip=False)
    data = check_data(y, users, epsilon, bounds, weights, clip)
    rate = quantile_rate(data.user_weights, p, data.epsilon)
    if points is None:
        edges = np.unique(np.concatenate([[low, high], data.y]))
        u = np.abs(data.cdf(edges[:-1]) - p)
        return QuantileLaw(edges, -rate * u)
    F = data.cdf(points)
    F_before = data.cdf(points, before=True)
    u = np.maximum(0, np.maximum(p - F, F_before - p))
    return GridLaw(points, -rate * u)


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
    law = quantile_law(
        y,
        level,
        users=users,
        epsilon=epsilon,
        bounds=bounds,
        weights=weights,
        grid=grid,
        clip=clip,
    )
    return float(law.sample(rng=rng))


def check_level(level: Any) -> float:
    """Return the level p, in (0, 1)."""
    return check.single(check.probability(level, "level"), "level")


class Data(NamedTuple):
    """Values of the users who take part, with their weights. Not private."""

    y: Floats  #: sorted, shape (n,)
    cumulative: Floats  #: shape (n + 1,), 0, then the weight of the first k values
    user_weights: Floats  #: shape (m,), summing to 1
    epsilon: Floats  #: shape (m,), budgets

    def cdf(self, z: Floats, *, before: bool = False) -> Floats:
        """Return the weight of values at most z, or below z."""
        count = np.searchsorted(self.y, z, side="left" if before else "right")
        return np.asarray(self.cumulative[count])


def check_data(y: Any, users: Any, epsilon: Any, bounds: Any, weights: Any, clip: bool) -> Data:
    """Check the arguments of `quantile_law`, and return the data of users who take part."""
    check.refuse_other_index(weights, "weights", y=y, users=users)
    low, high = check.bounds(bounds, "bounds")
    check.flag(clip, "clip")
    numbers = check.real(y, "y") if clip else check.finite(y, "y")
    values = check.vector(numbers, "y", "n")
    values = check.inside(values, low, high, "y", "bounds", clip=clip)
    owners = check_users(users, len(values), y=y)
    participants = participating_users(owners, check_user_epsilon(epsilon, owners))
    codes = participants.users.codes
    budgets = participants.epsilon
    if weights is None:
        best = tradeoff_weights(participants.users.sizes, quantile_tradeoff(), budgets)
        c = best.row_weights[codes]
    else:
        c = check.weights(weights, len(values))[participants.rows]
        c = check.weights(c, len(codes))  # somebody who takes part has to have weight
    c = c / c.sum()
    values = values[participants.rows]
    order = np.argsort(values, kind="stable")
    return Data(
        y=values[order],
        cumulative=np.concatenate([[0.0], np.cumsum(c[order])]),
        user_weights=np.asarray(np.bincount(codes, c), float),
        epsilon=budgets,
    )


def quantile_rate(user_weights: ArrayLike, level: float, epsilon: ArrayLike) -> float:
    r"""Rate of the exponential mechanism for a quantile, per unit of the weighted distribution.

    .. math:: \lambda=\min_l\frac{\varepsilon_l}{\min(w_l,p)+\min(w_l,1-p)}

    is in nats, and the largest rate that keeps every budget for all data and all weights of rows
    that sum to those of the users; for :math:`w_l\le\min(p,1-p)` it is
    :math:`\min_l\varepsilon_l/(2w_l)`. Users of weight 0 do not count. Statement
    ``prop-quantile-privacy``, chapter *user_level/quantiles*.

    Parameters
    ----------
    user_weights : array_like, shape (m,), at least 0, summing to 1
    level : float, p in (0, 1)
    epsilon : float or array_like, shape (m,), in nats, above 0
    """
    check.refuse_other_index(epsilon, "epsilon", user_weights=user_weights)
    w = row_weights(user_weights)
    p = check.single(check.probability(level, "level"), "level")
    budgets = check.budgets(check.positive(epsilon, "epsilon"), len(w), "epsilon", unit="user")
    largest_move = np.minimum(w, p) + np.minimum(w, 1 - p)  # of u, by each user
    return float(1 / np.max(largest_move / budgets))


def weighted_dkw(weights: ArrayLike, gamma: float) -> float:
    r"""Bound on the distance of a weighted empirical distribution from the true one.

    .. math:: \sup_z|\hat F(z)-F(z)|\le\|c\|_2\Bigl(2+\sqrt{\tfrac12\ln\tfrac1\gamma}\Bigr)

    with probability at least :math:`1-\gamma`, for independent rows with one distribution F. A
    bound above 1 says nothing. Part of statement ``thm-quantile-accuracy``, chapter
    *user_level/quantiles*.

    Parameters
    ----------
    weights : array_like, shape (n,), at least 0, divided by their sum
    gamma : float, in (0, 1)
    """
    c = row_weights(weights)
    log_term = -math.log(check.delta(gamma, "gamma"))  # ln(1 / gamma)
    return float(np.linalg.norm(c) * (2 + math.sqrt(log_term / 2)))


def quantile_tradeoff(share: float = 1e-3, gamma: float = 0.05) -> float:
    r"""Price of uneven weights for `tradeoff_weights`, from the accuracy bound.

    .. math:: A=\frac{\bigl(2+\sqrt{\frac12\ln\frac1\gamma}\bigr)^2}{4\ln^2\frac1{\rho\gamma}}

    is in units where every budget is 1. With budgets passed to `tradeoff_weights`, its objective
    times :math:`8\ln^2\frac1{\rho\gamma}` is at least the square of the bound. Remark after
    ``thm-quantile-accuracy``, chapter *user_level/quantiles*.

    Parameters
    ----------
    share : float, default 0.001
        :math:`\rho`: a *public* guess of the share of the range that is good enough.
    gamma : float, half of the failure probability of the bound, in (0, 1), default 0.05
    """
    gamma = check.delta(gamma, "gamma")
    sampling_error = weighted_dkw(np.ones(1), gamma)  # per unit of the norm of the weights
    noise = 2 * math.log(check_share(share) * gamma)
    return (sampling_error / noise) ** 2


def row_weights(weights: ArrayLike) -> Floats:
    """Return weights of rows divided by their sum."""
    c = check.vector(check.nonnegative(weights, "weights"), "weights", "n")
    return np.asarray(check.weights(c, len(c)) / c.sum())


def check_share(share: float) -> float:
    """Return a share above 0 and at most 1."""
    value = check.number(share, "share")
    if value > 1:
        raise ValueError(f"share must be at most 1; got {check.shown(value)}")
    return value
