"""How a budget is split between a random tilt of the objective and the change of volume."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import interpolate, optimize

from pdpbook import Floats, check
from pdpbook.noise import l2_laplace_profile
from pdpbook.noise.profiles import bisect, last_kept
from pdpbook.participants import shares


@dataclass(frozen=True)
class BudgetSplit:
    """What each person's budget buys; see `split_budget`."""

    weights: Floats  #: shape (n,), they sum to 1
    tilt: Floats  #: shape (n,), largest loss through the tilt, ``rate * weights``
    volume: Floats  #: shape (n,), largest loss through the change of volume
    rate: float  #: largest loss through the tilt per unit weight, 4 beta c R


def split_budget(
    epsilon: ArrayLike, curvature: float, *, delta: float = 0.0, d: int | None = None
) -> BudgetSplit:
    r"""Weights and noise rate with which objective perturbation spends every budget.

    With `curvature` :math:`\kappa=R^2/\lambda`, ``d / lam`` on the cube, and a rate a, they solve

    .. math:: a\,w_i + \ln(1 + \kappa w_i) = \varepsilon_i, \qquad \sum_i w_i = 1 .

    With a `delta` the tilt may lose more than what the volume leaves,
    :math:`e_i=\varepsilon_i-\ln(1+\kappa w_i)`, as long as its exact profile allows it:

    .. math:: \tfrac32\,\delta_d(e_i;\,a w_i) \le \delta \quad (a w_i \le 2e_i), \qquad
              2\,\delta_d(e_i;\,a w_i) + 2\,\delta_d(e_i;\,a w_i/2) \le \delta \quad (a w_i > 2e_i).

    The equations have a solution down to :math:`\sum_j(e^{\varepsilon_j}-1)>\kappa`; we refuse sums
    of budgets up to :math:`\kappa`, where hardly anything would be left for the tilt. The rate
    keeps every promise despite rounding. Statement ``thm-objective-perturbation``
    (ours), chapter *personalized/objective*.

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats
    curvature : float, above 0
    delta : float, in [0, 1), default 0.0
    d : int, optional
        Dimension of the tilt; needed with a `delta` above 0.

    Examples
    --------
    >>> split = split_budget([1.0, 1.0, 2.0, 4.0], 2.0)
    >>> split.tilt + split.volume, round(split.rate, 3)
    (array([1., 1., 2., 4.]), 6.461)
    """
    budgets = check.positive(epsilon, "epsilon")
    if np.ndim(budgets) != 1:
        raise ValueError("epsilon must have shape (n,), one budget a person; got a single number")
    kappa = check.number(curvature, "curvature")
    delta = check.delta(delta, zero=True)
    total = float(budgets.sum())
    if not total > kappa:
        raise ValueError(f"epsilon must sum to more than the curvature {kappa:.3g}; got {total:g}")
    if delta == 0:
        weights = _weights(budgets, kappa, lambda left: left)
        volume = np.log1p(kappa * weights)
        rate = float(np.min((budgets - volume) / weights))
        return BudgetSplit(weights, rate * weights, volume, rate)
    if d is None:
        raise ValueError("d must be given with a delta above 0; got None")
    return _with_delta(budgets, kappa, delta, check.count(d, "d"))


def _weights(budgets: Floats, kappa: float, largest: Callable[[Floats], Any]) -> Floats:
    """Weights with ``rate * w = largest(budget - log1p(kappa * w))`` for one rate, summing to 1.

    Whoever calls this takes the rate that the weights allow, so no rounding here is a leak.
    """
    with np.errstate(over="ignore"):
        ceiling = np.expm1(budgets) / kappa  # where the volume takes all
    whole = largest(budgets)

    def solve(rate: float) -> Floats:
        def fits(w: Floats) -> Any:
            return rate * w <= largest(budgets - np.log1p(kappa * w))

        high = np.minimum(whole / rate, ceiling)
        return bisect(fits, kept=np.zeros_like(budgets), broken=high)

    def excess(rate: float) -> float:
        return float(solve(rate).sum() - 1)

    # shares of the budgets fit under the lower rate; under the upper nothing sums to more than 1
    low, high = float(budgets.sum()) - kappa, float(np.sum(whole))
    if excess(low) <= 0 or low >= high:
        return shares(budgets)
    rate = high if excess(high) >= 0 else optimize.brentq(excess, low, high, rtol=1e-15)
    weights = solve(float(rate))
    return np.asarray(weights / weights.sum())


def _with_delta(budgets: Floats, kappa: float, delta: float, d: int) -> BudgetSplit:
    curve = _largest_tilts(float(budgets.max()), delta, d)
    weights = _weights(budgets, kappa, lambda left: curve(np.maximum(left, 0.0)))
    volume = np.log1p(kappa * weights)
    left = np.maximum(budgets - volume, 0.0)
    rate, step = float(np.min(curve(left) / weights)), 1e-8
    # the curve is interpolated, the promise is not
    while np.any(_tilt_delta(left, rate * weights, d) > delta):
        rate, step = rate * (1 - step), 8 * step
    return BudgetSplit(weights, rate * weights, volume, rate)


@lru_cache(maxsize=64)  # an audit asks for these thousands of times
def _largest_tilts(most: float, delta: float, d: int) -> Any:
    """The largest loss through the tilt that delta allows beside a budget of at most `most`."""
    nodes = most * np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 150)])
    start = np.maximum(2 * nodes, 1.0)
    tilts = last_kept(lambda tilt: _tilt_delta(nodes, tilt, d) <= delta, nodes, start)
    return interpolate.PchipInterpolator(nodes, tilts)


def _tilt_delta(left: Floats, tilt: Floats, d: int) -> Floats:
    """The delta that covers a loss of up to `tilt` through the tilt, beside a budget of `left`."""
    tilt = np.maximum(tilt, 1e-300)
    far = tilt > 2 * left
    bound = np.where(far, 2.0, 1.5) * l2_laplace_profile(left, d, tilt)
    bound[far] += 2 * l2_laplace_profile(left[far], d, tilt[far] / 2)
    return np.asarray(bound)
