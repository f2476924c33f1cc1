"""People who own one row each: their records and budgets, and who of them takes part.

A budget of 0 means weight 0. A solver that stops early is charged to the smallest budget: one so
tiny that it would cost all others far more than it brings gets weight 0, too, and is promised 0.
A mechanism with one promise under add-remove neighbors refuses budgets that differ: the smallest
would change with whoever is the most careful, and the noise would tell whether they are there.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats, check
from pdpbook._extras import of_pandas
from pdpbook.ridge import ridge_of_rows, ridge_of_sums, weighted_sums
from pdpbook.sums import Sums, SumsOfRecords, has_columns, note_columns
from pdpbook.tables import read_labels, read_rows_and_labels

__all__: list[str] = []  # for the estimators of the package

#: what a mechanism adds up: of rows X, labels y and weights w, arrays that are sums over people
Statistic = Callable[[Floats, Floats, Floats], tuple[Any, ...]]


@dataclass(frozen=True, eq=False)
class Participants:
    """Records on the domain of the people whose budget is above 0. Not private.

    X has shape (m, d), y and budgets have shape (m,); d counts a constant feature, too.
    """

    X: Floats
    y: Floats
    budgets: Floats

    @property
    def d(self) -> int:
        return int(self.X.shape[1])

    def total(self, statistic: Statistic) -> tuple[Any, ...]:
        """Return the sums over everybody, each with weight 1."""
        return statistic(self.X, self.y, np.ones(len(self.y)))

    def average(self, statistic: Statistic, weights: Floats) -> tuple[Any, ...]:
        """Return the sums with weights of sum 1 in proportion to `weights`, shape (m,)."""
        return statistic(self.X, self.y, shares(weights))

    def ridge(self, lam: float, weights: Floats) -> Floats:
        """Return the minimizer of the weighted mean of squares plus the penalty, shape (d,)."""
        weights = shares(weights)
        theta = ridge_of_sums(*weighted_sums(self.X, self.y, weights), lam)
        if theta is None:  # a nearly singular design
            return ridge_of_rows(self.X, self.y, lam, weights)
        return theta


@dataclass(frozen=True, eq=False)
class Records:
    """A table as it came, in the user's units, one row a person. Not private.

    X has shape (n, columns) and y shape (n,); `names` has those of the rows, if they have any.
    """

    X: Floats
    y: Floats
    names: Any = None

    named = False  # whether an account has to go by name
    unnamed = (
        "X does not: pass X as a DataFrame with that index, or open the account with an array, to "
        "go by position"
    )

    @property
    def n(self) -> int:
        return len(self.y)

    @property
    def columns(self) -> int:
        return int(self.X.shape[1])

    def budgets(self, epsilon: Any) -> Floats:
        """Return one budget a person, shape (n,), of one for all or one each."""
        return np.asarray(check.budgets(epsilon, self.n, "epsilon"))

    def leave_out(self, budgets: Floats, can_pay: NDArray[np.bool_]) -> Floats:
        """Return the budgets with 0 for whoever cannot pay."""
        return np.where(can_pay, budgets, 0.0)

    def participants(self, domain: Any, budgets: Floats) -> Participants:
        """Return those whose budget is above 0, on the domain."""
        X, y, takes_part = self.X, self.y, budgets > 0
        if not takes_part.all():  # no copy of what may be large
            X, y, budgets = X[takes_part], y[takes_part], budgets[takes_part]
        rows, labels = domain.to_domain(X, y)
        return Participants(rows, labels, budgets)


def read_records(model: Any, X: Any, y: Any, epsilon: Any) -> Records | SumsOfRecords:
    """Return what `fit` was given: a table, by scikit-learn's checks, or `Sums` in its place.

    The budgets `epsilon` are as the user passed them.
    """
    if isinstance(X, Sums):
        records = SumsOfRecords(model, X, y, epsilon)
        if has_columns(model):
            note_columns(model, X)
        return records
    rows, labels = read_rows_and_labels(model, X, y)
    return Records(rows, labels, check.index_of(X))


def read_label_records(model: Any, X: Any, y: Any, epsilon: Any) -> Records | SumsOfRecords:
    """Return what a mean of labels was given, or `Sums` in its place; X counts for its rows alone.

    The budgets `epsilon` are as the user passed them.
    """
    if isinstance(X, Sums):
        return SumsOfRecords(model, X, y, epsilon)
    labels = read_labels(X, y)
    return Records(np.zeros((len(labels), 1)), labels, check.index_of(X))


def records_for_audit(model: Any, X: Any, y: Any, epsilon: Any) -> Records | SumsOfRecords:
    """Return what `output_law` was given, like `read_records`; the model stays as it is."""
    if isinstance(X, Sums):
        return SumsOfRecords(model, X, y, epsilon)
    return Records(*check.design(X, y))


def read_budgets(epsilon: Any, X: Any, y: Any) -> Any:
    """Return budgets of people who own one row each, a number or one a row, before X is read."""
    if isinstance(epsilon, Mapping):
        raise TypeError(
            "epsilon must be a number or one value for each row of X: here every row is a person "
            f"of its own, and there are no users that a mapping could name; got {len(epsilon)} keys"
        )
    check.refuse_other_index(epsilon, "epsilon", X=X, y=y)
    check.refuse_other_index(y, "y", X=X)
    return check.epsilon(epsilon.to_numpy() if of_pandas(epsilon, "Series") else epsilon)


def for_everybody(values: Floats, budgets: Floats) -> Floats:
    """Return values of those who take part, and 0 for everybody else, shape (n,)."""
    if len(values) == len(budgets):  # no copy of what may be large
        return values
    everybody = np.zeros(len(budgets))
    everybody[budgets > 0] = values
    return everybody


def shares(weights: Floats) -> Floats:
    """Return weights over their sum; the sum of huge ones would overflow."""
    share = weights / weights.max()
    share /= share.sum()
    return np.asarray(share)


A_PERCENT, A_THOUSANDTH = 1.01, 1e-3
LEVELS = 64  # smallest budgets that are tried at a time


def one_budget(budgets: Any, name: str = "epsilon") -> float:
    """The one budget above 0 of all who take part; those that differ are refused."""
    own = np.atleast_1d(budgets)
    above = own[own > 0]
    if not above.size:
        raise ValueError(f"{name} must be above 0 for somebody; got 0 for all")
    low, high = float(above.min()), float(above.max())
    if low != high:
        raise ValueError(
            f"{name} must be one number for all who take part, as here everybody has the same "
            f"promise; got budgets from {low:.6g} to {high:.6g}. The least or any other function "
            "of them would tell who is in the data. Pass the public number t that all agreed on, "
            f"or np.where({name} >= t, t, 0), which leaves out whoever asks for less; or take a "
            "mechanism with a promise each, such as PDPRidge"
        )
    return low


def refuse_different_budgets(epsilon: Any) -> None:
    """Refuse budgets above 0 that differ, a number or one a person; here all may be 0."""
    budgets = check.some_epsilon(epsilon)
    if np.any(budgets):
        one_budget(budgets)


def smallest(budgets: Any) -> float:
    """The smallest budget above 0, where all budgets are public and so is who has them."""
    own = np.atleast_1d(budgets)
    return float(own[own > 0].min())


def without_negligible(budgets: Any) -> Any:
    """Budgets with 0 for the tiny ones that all together are next to nothing of the sum."""
    own = np.atleast_1d(budgets)
    levels, count = np.unique(own, return_counts=True)
    tiny = levels < A_THOUSANDTH * levels[-1]
    tiny &= np.cumsum(levels * count) <= A_THOUSANDTH * own.sum()
    return np.where(own > levels[tiny][-1], own, 0.0) if tiny.any() else budgets


def worth_taking(budgets: Floats, noise: Callable[[Floats], float], free: float) -> Floats:
    """Budgets with 0 for the tiny ones that would make the noise for all over a percent larger.

    `noise` is its size, public, with the solver charged to these budgets, `free` with nobody
    charged. As few as possible are left out, the smallest first, to within a percent of the least.
    """
    above = budgets[budgets > 0]
    if noise(above) <= A_PERCENT * free:
        return budgets
    ordered = np.unique(above)
    low, high, best = 0, len(ordered) - 1, np.inf
    while True:
        tried = np.unique(np.linspace(low, high, LEVELS).astype(int))
        sizes = np.array([noise(above[above >= ordered[k]]) for k in tried])
        best = min(best, float(sizes.min()))
        first = int(np.argmax(sizes <= A_PERCENT * best))
        if first == 0 or tried[first] == tried[first - 1] + 1:
            return np.where(budgets >= ordered[tried[first]], budgets, 0.0)
        low, high = tried[first - 1] + 1, tried[first]
