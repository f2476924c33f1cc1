"""The frames of one promise for all: in general, and of regressions in the unit ball."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook._budgets import one_budget
from pdpbook._domain import ball_to_user_units, labels_to_domain, rows_to_ball
from pdpbook.frames.people import People
from pdpbook.frames.regressor import PrivateRegressor
from pdpbook.frames.settings import mechanism, optional, setting
from pdpbook.guarantees import ApproximateDP
from pdpbook.guarantees.promises import Promise


@mechanism
class OnePromise(PrivateRegressor):
    """Regression that promises everybody the same, whoever else is in the data.

    All who take part have the one public budget and weigh 1: what follows their budgets or their
    number, which is not public, would tell who is there.

    Parameters
    ----------
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody: a public number, chosen without looking at who is in the
        data. One each must be the same, or 0 for whoever takes no part.
    delta : float, default 1e-6
        Failure probability of the budget, in (0, 1).
    bounds : array_like, shape (2,) or (d, 2), default (-1.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column. They are
        mapped to [-1, 1] and never read from the data.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, and is noised.

    Attributes
    ----------
    guarantee_ : ApproximateDP
        What everybody was promised, under add-remove neighbors.
    """

    delta: float = setting(default=1e-6, rule=check.delta)
    bounds: ArrayLike = setting(default=(-1.0, 1.0), rule=check.pairs)
    fit_intercept: bool = setting(default=False, rule=check.flag)
    averages = False

    def level(self, people: People) -> float:
        return one_budget(people.promised)

    def promise(self, people: People) -> Promise:
        return ApproximateDP(self.level(people), self.delta, neighbors="add-remove")

    def relative_weights(self, strength: Floats, d: int) -> Floats:
        return np.ones(len(strength))

    def refuse_budgets(self, budgets: Any) -> Any:
        one_budget(budgets)
        return budgets


@mechanism
class BallRegressor(OnePromise):
    r"""Regression on :math:`\|x\|\le1`, :math:`|y|\le1` from sums over people.

    One person adds at most 1 to any direction of :math:`X^\top X` and of :math:`X^\top y`.

    Parameters
    ----------
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one, after the map to [-1, 1]: it counts in d and
        in the norm of a row, is penalized and noised.
    row_norm : float, optional
        Public bound on the norm of a row between -1 and 1, the constant included; rows are divided
        by it. None is the square root of d, which always holds; ``bounds=(-1, 1), row_norm=1`` is
        the unit ball itself. Longer rows raise, or are scaled down with `clip`.
    """

    row_norm: float | None = setting(default=None, rule=optional(check.scale))

    def statistics(self, X: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
        return X.T @ X, X.T @ y

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        rows = rows_to_ball(X, self.bounds, self.row_norm, self.clip, self.fit_intercept)
        return rows, labels_to_domain(y, self.y_bounds, self.clip)

    def to_units(self, theta: Floats) -> tuple[Floats, float]:
        d, width = self.n_features_in_, self.row_norm
        return ball_to_user_units(theta, d, self.bounds, self.y_bounds, width)
