"""How far a private quantile can be from the true one, and what that asks of the weights."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check


def quantile_rate(user_weights: ArrayLike, level: float, epsilon: ArrayLike) -> float:
    r"""Rate of the exponential mechanism for a quantile, per unit of the weighted distribution.

    .. math:: \lambda=\min_l\frac{\varepsilon_l}{\min(w_l,p)+\min(w_l,1-p)}

    is in nats, and the largest rate that keeps every budget for all data, if rows of a user can
    weigh anything; for :math:`w_l\le\min(p,1-p)` it is :math:`\min_l\varepsilon_l/(2w_l)`. Users of
    weight 0 do not count. Statement ``prop-quantile-privacy``, chapter *user_level/quantiles*.

    Parameters
    ----------
    user_weights : array_like, shape (m,), at least 0, summing to 1
    level : float, p in (0, 1)
    epsilon : float or array_like, shape (m,), in nats, above 0
    """
    check.refuse_other_index(epsilon, "epsilon", user_weights=user_weights)
    w = row_weights(user_weights)
    p = check.single(check.probability(level, "level"), "level")
    budgets = check.budgets(check.positive(epsilon, "epsilon"), len(w), "epsilon", each="user")
    return float(1 / np.max((np.minimum(w, p) + np.minimum(w, 1 - p)) / budgets))


def weighted_dkw(weights: ArrayLike, gamma: float) -> float:
    r"""Bound on the distance of a weighted empirical distribution from the true one.

    .. math:: \sup_z|\hat F(z)-F(z)|\le\|c\|_2\Bigl(2+\sqrt{\tfrac12\ln\tfrac1\gamma}\Bigr)

    with probability at least :math:`1-\gamma`, for independent rows with one distribution F; above
    1 it says nothing. Part of statement ``thm-quantile-accuracy``, chapter *user_level/quantiles*.

    Parameters
    ----------
    weights : array_like, shape (n,), at least 0, divided by their sum
    gamma : float, in (0, 1)
    """
    c = row_weights(weights)
    return float(np.linalg.norm(c) * (2 + math.sqrt(-math.log(check.delta(gamma, "gamma")) / 2)))


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
    ratio = weighted_dkw(np.ones(1), gamma) / (2 * math.log(check_share(share) * gamma))
    return ratio**2


def row_weights(weights: ArrayLike) -> Floats:
    c = check.vector(check.nonnegative(weights, "weights"), "weights", "n")
    return np.asarray(check.weights(c, len(c)) / c.sum())


def check_share(share: float) -> float:
    value = check.number(share, "share")
    if value > 1:
        raise ValueError(f"share must be at most 1; got {check.shown(value)}")
    return value
