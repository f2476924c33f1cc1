"""What a mechanism may look at: records on the domain, what budgets buy, and weighted sums."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from pdpbook import Floats, check
from pdpbook._domain import finite_data
from pdpbook.blocks import Rows
from pdpbook.ridge import ridge_of_factors, ridge_of_rows, ridge_of_sums, weighted_factor

if TYPE_CHECKING:
    from pdpbook.frames.regressor import PrivateRegressor as Rules


class People:
    """Everybody who takes part, on the domain. Not private.

    Records `X`, `y` on the domain, `epsilon`, all above 0, `strength`, what they buy, and
    `weights`, which sum to 1 in mechanisms of averages and are 1 else, have one entry for each of
    the m people who take part; in blocks there are no records and weights. Of all n people,
    `promised` has the budgets, 0 for whoever takes no part, or in blocks perhaps one number. X has
    so many `columns`, and `d` counts a constant feature, too.

    Parameters
    ----------
    rules : object
        The mechanism, for what it says of one person at a time.
    X, y, budgets : ndarray, shapes (n, d), (n,) and () or (n,)
        Records in the user's units, and budgets that were checked.
    """

    users = None
    X: Floats
    y: Floats

    def __init__(self, rules: Rules, X: Floats, y: Floats, budgets: Any):
        self._rules = rules
        self.n, self.columns = X.shape
        self.d = self.columns + bool(rules.fit_intercept)
        everybody = np.asarray(check.budgets(budgets, self.n, "epsilon"))
        self.promised: Any = rules.heard(everybody, self.d)
        X, y, self.epsilon = _taking_part(X, y, self.promised)
        rules.refuse_crowd(len(y), self.d)
        self.X, self.y = rules.to_domain(X, y)
        self.strength = rules.strength(self.epsilon, self.d)

    @property
    def weights(self) -> Floats:
        relative = self._rules.relative_weights(self.strength, self.d)
        return shares(relative) if self._rules.averages else relative

    @property
    def spent(self) -> Any:
        """What everybody's budget buys, 0 for whoever takes no part."""
        if np.ndim(self.promised) == 0:  # in blocks
            return self.strength[0]
        if len(self.strength) == len(self.promised):  # no copy of what may be large
            return self.strength
        bought = np.zeros(self.promised.shape)
        bought[self.promised > 0] = self.strength
        return bought

    @property
    def statistics(self) -> tuple[Any, ...]:
        """The sums over everybody that the mechanism asks for."""
        return self._rules.statistics(self.X, self.y, self.weights)

    def ridge(self, lam: float) -> Floats:
        """Return the minimizer of the weighted squares and the penalty, shape (d,)."""
        gram, moment = self.statistics
        theta = ridge_of_sums(gram, moment, lam)
        return self._ridge_again(lam) if theta is None else theta

    def _ridge_again(self, lam: float) -> Floats:
        """The same of a nearly singular design, from the rows."""
        return ridge_of_rows(self.X, self.y, lam, self.weights)


class PeopleInBlocks(People):
    """The same from blocks that are read once, with sums and no rows.

    Parameters
    ----------
    rules, rows, budgets : object, Rows, and float or ndarray of shape (n,)
        The mechanism; columns X, y and perhaps epsilon; and else budgets that were checked.
    """

    def __init__(self, rules: Rules, rows: Rows, budgets: Any):
        self._rules, self._rows, self._budgets = rules, rows, budgets
        if rows.whole and "epsilon" in rows.names:
            rules.refuse_column(rows.select("epsilon"))
        *sums, total, self.n, count, (self.d, *_), kept = rows.sum(partial(_sums, rules, budgets))
        if not count:
            raise ValueError("epsilon must be above 0 for somebody; got 0 in all blocks")
        self._total = float(total) if rules.averages else 1.0
        self._statistics = tuple(each / self._total for each in sums)
        self.columns = self.d - bool(rules.fit_intercept)
        self.promised = rules.refuse_budgets(np.concatenate(kept)) if kept else budgets
        each = np.atleast_1d(self.promised)
        above = each if each.min() > 0 else each[each > 0]
        everybody = above.shape if kept else (self.n,)
        self.epsilon = np.broadcast_to(above, everybody)
        self.strength = np.broadcast_to(rules.strength(above, self.d), everybody)
        rules.refuse_crowd(int(count), self.d)

    @property
    def statistics(self) -> tuple[Any, ...]:
        return self._statistics

    def _ridge_again(self, lam: float) -> Floats:
        again = self._rows.twice(f"{type(self._rules).__name__}.fit")
        factors = again.each(partial(_factor, self._rules, self._budgets))
        return ridge_of_factors(factors, lam * self._total)


def _part(rules: Rules, budgets: Any, X: Any, y: Any, epsilon: Any) -> tuple[Any, ...]:
    """Records and weights of a block's people who take part, and budgets to keep."""
    own = np.asarray(check.some_epsilon(budgets if epsilon is None else epsilon, len(y)))
    kept = [] if epsilon is None else [rules.kept(own)]
    X, y, own = _taking_part(np.zeros((len(y), 1)) if X is None else X, y, own)
    if len(y):  # else nobody in this block takes part
        X, y = finite_data(X, y)
    X, y = rules.to_domain(X, y)
    return X, y, rules.relative_weights(rules.strength(own, X.shape[1]), X.shape[1]), kept


def _taking_part(X: Floats, y: Floats, budgets: Floats) -> tuple[Floats, Floats, Floats]:
    """Rows, labels and budgets of the people whose budget is above 0."""
    part = budgets > 0
    return (X, y, budgets) if part.all() else (X[part], y[part], budgets[part])


def _sums(rules: Rules, budgets: Any, y: Any, X: Any = None, epsilon: Any = None) -> Any:
    people = len(y)
    X, y, weights, kept = _part(rules, budgets, X, y, epsilon)
    sums = rules.statistics(X, y, weights)
    return *sums, float(weights.sum()), people, len(y), [X.shape[1]], kept


def _factor(rules: Rules, budgets: Any, X: Any, y: Any, epsilon: Any = None) -> tuple[Floats, int]:
    return weighted_factor(*_part(rules, budgets, X, y, epsilon)[:3])


def shares(weights: Floats) -> Floats:
    """Weights over their sum; the sum of huge ones would overflow."""
    share = weights / weights.max()
    share /= share.sum()
    return np.asarray(share)
