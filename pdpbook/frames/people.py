"""What a mechanism may look at: records on the domain, what budgets buy, and weighted sums."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from pdpbook import Floats, check
from pdpbook.ridge import ridge_of_rows, ridge_of_sums

if TYPE_CHECKING:
    from pdpbook.frames.regressor import PrivateRegressor as Rules


class People:
    """Everybody who takes part, on the domain. Not private.

    Records `X`, `y` on the domain, `epsilon`, all above 0, `strength`, what they buy, and
    `weights`, which sum to 1 in mechanisms of averages and are 1 else, have one entry for each of
    the m people who take part. Of all n people, `promised` has the budgets, 0 for whoever takes no
    part. X has so many `columns`, and `d` counts a constant feature, too.

    Parameters
    ----------
    rules : object
        The mechanism, for what it says of one person at a time.
    X, y, budgets : ndarray, shapes (n, d), (n,) and () or (n,)
        Records in the user's units, and budgets that were checked.
    """

    users = None

    def __init__(self, rules: Rules, X: Floats, y: Floats, budgets: Any):
        self._rules = rules
        self.n, self.columns = X.shape
        self.d = self.columns + bool(rules.fit_intercept)
        everybody = np.asarray(check.budgets(budgets, self.n, "epsilon"))
        self.promised = rules.heard(everybody, self.d)
        X, y, self.epsilon = _taking_part(X, y, self.promised)
        rules.refuse_crowd(len(y), self.d)
        self.X, self.y = rules.to_domain(X, y)
        self.strength = rules.strength(self.epsilon, self.d)

    @property
    def weights(self) -> Floats:
        relative = self._rules.relative_weights(self.strength, self.d)
        return shares(relative) if self._rules.averages else relative

    @property
    def spent(self) -> Floats:
        """What everybody's budget buys, 0 for whoever takes no part."""
        return self.everybody(self.strength)

    @cached_property
    def split(self) -> Any:
        """How their budgets are spent, where the mechanism works that out for all at once."""
        return self._rules.share_out(self.epsilon, self.d)

    def everybody(self, values: Floats) -> Floats:
        """Return values of those who take part, and 0 for all others, shape (n,)."""
        if len(values) == self.n:  # no copy of what may be large
            return values
        everybody = np.zeros(self.n)
        everybody[self.promised > 0] = values
        return everybody

    @property
    def statistics(self) -> tuple[Any, ...]:
        """The sums over everybody that the mechanism asks for."""
        return self._rules.statistics(self.X, self.y, self.weights)

    def ridge(self, lam: float, weights: Floats | None = None) -> Floats:
        """Return the minimizer of the weighted squares and the penalty, shape (d,)."""
        weights = self.weights if weights is None else weights
        gram, moment = self._rules.statistics(self.X, self.y, weights)
        theta = ridge_of_sums(gram, moment, lam)
        if theta is None:  # a nearly singular design
            return ridge_of_rows(self.X, self.y, lam, weights)
        return theta


def _taking_part(X: Floats, y: Floats, budgets: Floats) -> tuple[Floats, Floats, Floats]:
    """Rows, labels and budgets of the people whose budget is above 0."""
    part = budgets > 0
    return (X, y, budgets) if part.all() else (X[part], y[part], budgets[part])


def shares(weights: Floats) -> Floats:
    """Weights over their sum; the sum of huge ones would overflow."""
    share = weights / weights.max()
    share /= share.sum()
    return np.asarray(share)
