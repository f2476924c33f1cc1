"""People who own one row each: their records and budgets, and who of them takes part.

A budget of 0 means weight 0. What an inexact solver costs is charged to the smallest budget: one so
small that this would make the noise for all others larger is replaced by 0, and promised 0. A
mechanism with one promise under add-remove neighbors refuses budgets that differ: the smallest
would change with the person who has it, and the noise would tell whether they are there.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats, check
from pdpbook._extras import of_pandas
from pdpbook.advice import CuratorWarning, advise
from pdpbook.ridge import ridge_of_rows, ridge_of_sums, weighted_sums
from pdpbook.sums import Sums, SumsOfRecords, has_columns, note_columns
from pdpbook.tables import read_labels, read_rows_and_labels
from pdpbook.user_records import UserRecords, user_records
from pdpbook.users import check_budgets_of_users

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

    def row_weights(self, weights: Floats) -> Floats:
        """Return the weights of rows, of those of people: everybody has one row."""
        return weights

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

    X has shape (n, columns) and y shape (n,); `names` are those of the rows, if they have any.
    """

    X: Floats
    y: Floats
    names: Any = None

    named = False  # whether an account has to go by name
    neighbors = "replace-one"
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
        """Return one budget a person, shape (n,); `epsilon` is one for all or one each."""
        return np.asarray(check.budgets(epsilon, self.n, "epsilon"))

    def leave_out(self, budgets: Floats, can_pay: NDArray[np.bool_]) -> Floats:
        """Return the budgets with 0 for whoever cannot pay."""
        return np.where(can_pay, budgets, 0.0)

    def participants(self, domain: Any, budgets: Floats) -> Participants:
        """Return those whose budget is above 0, on the domain."""
        X, y = self.X, self.y
        positive = budgets > 0
        if not positive.all():  # no copy of what may be large
            X, y, budgets = X[positive], y[positive], budgets[positive]
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
    names = check.index_of(X)
    advise_on_repeated_names(model, names)
    return Records(rows, labels, names)


def read_label_records(model: Any, X: Any, y: Any, epsilon: Any) -> Records | SumsOfRecords:
    """Return what a mean of labels was given, or `Sums` in its place; of X only the length counts.

    The budgets `epsilon` are as the user passed them.
    """
    if isinstance(X, Sums):
        return SumsOfRecords(model, X, y, epsilon)
    labels = read_labels(X, y)
    names = check.index_of(X)
    advise_on_repeated_names(model, names)
    return Records(np.zeros((len(labels), 1)), labels, names)


def records_for_audit(model: Any, X: Any, y: Any, epsilon: Any) -> Records | SumsOfRecords:
    """Return what `output_law` was given, like `read_records`; the model stays as it is."""
    if isinstance(X, Sums):
        return SumsOfRecords(model, X, y, epsilon)
    return Records(*check.design(X, y, clip=model.clip))


def read_user_records(
    model: Any, X: Any, y: Any, epsilon: Any, users: Any
) -> Records | SumsOfRecords | UserRecords:
    """Return what `fit` was given, with the owners of its rows; None makes each row a person."""
    if users is None:
        return read_records(model, X, y, epsilon)
    if isinstance(X, Sums):
        refuse_users_of_sums(users)
    rows, labels = read_rows_and_labels(model, X, y)
    records = user_records(rows, labels, users, X, y)
    if records.n < 2:
        raise ValueError(
            f"users must be at least 2; got {records.n} for {len(labels)} rows: noise that hides "
            "one person alone leaves nothing"
        )
    return records


def user_records_for_audit(
    model: Any, X: Any, y: Any, epsilon: Any, users: Any
) -> Records | SumsOfRecords | UserRecords:
    """Return what `output_law` was given, like `read_user_records`; the model stays as it is."""
    if users is None:
        return records_for_audit(model, X, y, epsilon)
    if isinstance(X, Sums):
        refuse_users_of_sums(users)
    rows, labels = check.design(X, y, clip=model.clip)
    return user_records(rows, labels, users, X, y)


def refuse_users_of_sums(users: Any) -> None:
    """Refuse owners of rows with `Sums`: these are of people with one row each."""
    if users is not None:
        raise ValueError(
            "users must be None with Sums, in which every row is a person of its own: the mean "
            "over the rows of a user needs all of them at once. Fit to the rows themselves"
        )


def advise_on_repeated_names(model: Any, names: Any) -> None:
    """Warn where rows of one name are taken for several people."""
    if names is None or names.is_unique:
        return
    if "users" in inspect.signature(model.fit).parameters:
        remedy = "pass users=X.index"
    else:
        remedy = "take one whose fit has users=, such as ObjectivePerturbation or WeightedMean"
    advise(
        f"the index of X has {names.nunique()} names for {len(names)} rows, and each row is "
        "promised its budget as if it were a person: whoever has several rows is promised less. "
        f"If a name is a person, {remedy}; if it is none, X.reset_index(drop=True) says so",
        CuratorWarning,
    )


def read_budgets(epsilon: Any, X: Any, y: Any, users: Any = None) -> Any:
    """Return budgets before X is read: of people who own one row each, a number or one a row.

    With `users`, the owners of rows, they are checked here, and read when the owners are known.
    """
    if users is not None:
        check_budgets_of_users(epsilon)
        return epsilon
    if isinstance(epsilon, Mapping):
        raise TypeError(
            "epsilon must be a number or one value for each row of X: here every row is a person "
            f"of its own, and there are no users that a mapping could name; got {len(epsilon)} keys"
        )
    check.refuse_other_index(epsilon, "epsilon", X=X, y=y)
    check.refuse_other_index(y, "y", X=X)
    return check.epsilon(epsilon.to_numpy() if of_pandas(epsilon, "Series") else epsilon)


def fill_in_zeros(values: Floats, budgets: Floats) -> Floats:
    """Return values of those who take part, and 0 for everybody else, shape (n,)."""
    if len(values) == len(budgets):  # no copy of what may be large
        return values
    filled = np.zeros(len(budgets))
    filled[budgets > 0] = values
    return filled


def shares(weights: Floats) -> Floats:
    """Return weights over their sum; as huge ones would overflow, over the largest first."""
    share = weights / weights.max()
    share /= share.sum()
    return np.asarray(share)


def one_budget(budgets: Any, name: str = "epsilon") -> float:
    """Return the one budget above 0 of all who take part; those that differ are refused."""
    positive = _positive(budgets)
    if not positive.size:
        raise ValueError(f"{name} must be above 0 for somebody; got 0 for all")
    low, high = float(positive.min()), float(positive.max())
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
    """Return the smallest budget above 0, where all budgets are public and so is who has them."""
    return float(_positive(budgets).min())


def _positive(budgets: Any) -> Floats:
    """Return the budgets above 0, of one number or one a person."""
    all_budgets = np.atleast_1d(budgets)
    return np.asarray(all_budgets[all_budgets > 0])


NEGLIGIBLE_IN_SUM = 1e-3  # of the largest budget, and of the sum of all
LARGEST_INCREASE = 1.01  # of the noise for all, that small budgets may cost
THRESHOLDS_AT_ONCE = 64  # that are tried in each round of a search


def drop_budgets_negligible_in_sum(budgets: Any) -> Any:
    """Return the budgets, with 0 for tiny ones that together are next to nothing of the sum.

    Tiny is below a thousandth of the largest; of those, from the smallest on, as many as sum to at
    most a thousandth of all.
    """
    all_budgets = np.atleast_1d(budgets)
    levels, counts = np.unique(all_budgets, return_counts=True)
    negligible = levels < NEGLIGIBLE_IN_SUM * levels[-1]
    negligible &= np.cumsum(levels * counts) <= NEGLIGIBLE_IN_SUM * all_budgets.sum()
    if not negligible.any():
        return budgets
    largest_negligible = levels[negligible][-1]
    return np.where(all_budgets > largest_negligible, all_budgets, 0.0)


def drop_budgets_costly_for_others(
    budgets: Floats, noise: Callable[[Floats], float], noise_without_solver: float
) -> Floats:
    """Return the budgets, with 0 for small ones that would make the noise over a percent larger.

    `noise` is the public size of the noise for budgets above 0, with the solver charged to the
    smallest of them; `noise_without_solver` that with nobody charged. As few as possible are
    dropped, the smallest first, so that the noise is within a percent of the least.
    """
    positive = budgets[budgets > 0]
    if noise(positive) <= LARGEST_INCREASE * noise_without_solver:
        return budgets
    thresholds = np.unique(positive)
    low, high = 0, len(thresholds) - 1
    least = np.inf
    while True:
        tried = np.unique(np.linspace(low, high, THRESHOLDS_AT_ONCE).astype(int))
        sizes = np.array([noise(positive[positive >= thresholds[k]]) for k in tried])
        least = min(least, float(sizes.min()))
        first = int(np.argmax(sizes <= LARGEST_INCREASE * least))
        if first == 0 or tried[first] == tried[first - 1] + 1:  # no threshold between
            return np.where(budgets >= thresholds[tried[first]], budgets, 0.0)
        low, high = tried[first - 1] + 1, tried[first]
