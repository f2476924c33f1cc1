"""The frame of regressions on the unit cube, each person with a budget of their own."""

from __future__ import annotations

from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook._domain import bound_rows, features_to_domain, labels_to_domain, to_user_units
from pdpbook.frames.people import People
from pdpbook.frames.regressor import PrivateRegressor
from pdpbook.frames.settings import mechanism, setting
from pdpbook.guarantees.promises import Promise, PureDP


@mechanism
class CubeRegressor(PrivateRegressor):
    r"""Regression on :math:`x_i\in[0,1]^d`, :math:`y_i\in[-1,1]` that keeps everybody's budget.

    In all its mechanisms budgets buy strengths :math:`s_i`, everybody weighs :math:`w_i=s_i/\sum_j
    s_j`, one person moves the release by at most :math:`w_iC`, and noise of rate :math:`\sum_j
    s_j/C` hides that move to strength :math:`s_i`. The number of people and the budgets are public.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of losses, above 0; scikit-learn's ``alpha / n``. It is
        part of the promise: choosing it by looking at the data spends privacy of its own.
    bounds : array_like, shape (2,) or (d, 2), default (0.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column. They are
        mapped to [0, 1] and never read from the data.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, is penalized and noised.

    Attributes
    ----------
    guarantee_ : PureDP, ApproximateDP or GaussianDP
        What each person was promised, under replace-one neighbors.
    """

    lam: float = setting(default=1.0, kw_only=False)
    bounds: ArrayLike = setting(default=(0.0, 1.0), rule=check.pairs)
    fit_intercept: bool = setting(default=False, rule=check.flag)

    def promise(self, people: People) -> Promise:
        return PureDP(people.spent, neighbors="replace-one")

    def constant(self, d: int) -> float:
        """Return the largest move of the release by one person, per unit of weight: C."""
        raise NotImplementedError

    def rate(self, strength: Floats, d: int) -> float:
        """Return the rate of the noise, one over its scale: of public things alone."""
        return float(strength.sum() / self.constant(d))

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        X = features_to_domain(X, self.bounds, self.clip, self.fit_intercept)
        return self.bound_rows(X), labels_to_domain(y, self.y_bounds, self.clip)

    def bound_rows(self, X: Floats) -> Floats:
        """Return rows of norm at most `row_norm`, where the mechanism has such a setting."""
        return bound_rows(X, getattr(self, "row_norm", None), self.clip)

    def radius(self, d: int) -> float:
        """Return the bound on the norm of a row: the square root of d, or a smaller `row_norm`."""
        return check.radius(d, getattr(self, "row_norm", None))

    def to_units(self, theta: Floats) -> tuple[Floats, float]:
        return to_user_units(theta, self.n_features_in_, self.bounds, self.y_bounds)
