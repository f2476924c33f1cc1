"""Rows, labels and budgets of users who own several rows each, and of those who take part."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats, check
from pdpbook.advice import PublicNumbersWarning, advise
from pdpbook.users import Users, check_user_epsilon, check_users, participating_users

__all__: list[str] = []  # for the estimators of the package


@dataclass(frozen=True, eq=False)
class Plan:
    """Weights and noise that public numbers alone fix, before a label is looked at."""

    weights: Any  #: as the law reads them: shape (n,), one a row, or a matrix (k, n)
    scale: float  #: of the noise
    exposure: Floats  #: shape (m,), the largest loss of each user, in the unit of the promise


@dataclass(frozen=True, eq=False)
class UserParticipants:
    """Rows and labels on the domain of the users whose budget is above 0. Not private.

    n counts the rows, m the users. Averages are over users, each with the mean of their rows.
    """

    X: Floats  #: shape (n, columns)
    y: Floats  #: shape (n,)
    original_labels: NDArray[Any]  #: shape (n,), as they came
    users: Users  #: who owns each of these rows
    budgets: Floats  #: shape (m,)

    @property
    def d(self) -> int:
        return int(self.X.shape[1])

    def row_weights(self, weights: Floats) -> Floats:
        """Return weights of rows, shape (n,): an equal part of the weight of their user."""
        return self.users.spread(weights / self.users.sizes)

    def total(self, statistic: Any) -> tuple[Any, ...]:
        """Return the sums over users, each with weight 1."""
        return tuple(statistic(self.X, self.y, self.row_weights(np.ones(len(self.budgets)))))

    def average(self, statistic: Any, weights: Floats) -> tuple[Any, ...]:
        """Return the sums with weights of sum 1 in proportion to those of users, shape (m,)."""
        shares = weights / weights.max()  # the sum of huge ones would overflow
        return tuple(statistic(self.X, self.y, self.row_weights(shares / shares.sum())))


@dataclass(frozen=True, eq=False)
class UserRecords:
    """A table as it came, in the user's units, with the owner of every row. Not private.

    `n` counts the users, as an account does.
    """

    X: Floats  #: shape (rows, columns)
    y: NDArray[Any]  #: shape (rows,)
    users: Users
    names: Any  #: of the users, or of the rows if `users` was not passed; None if they have none

    neighbors = "user"
    unnamed = (
        "X does not: pass X as a DataFrame with that index, or open the account with an array, to "
        "go by position"
    )

    @property
    def named(self) -> bool:
        """Whether an account finds its people by name, and not by position."""
        return self.users.named

    @property
    def n(self) -> int:
        return int(self.users.labels.size)

    @property
    def columns(self) -> int:
        return int(self.X.shape[1])

    def budgets(self, epsilon: Any) -> Floats:
        """Return one budget a user, shape (m,), in the order of the labels of users."""
        return check_user_epsilon(epsilon, self.users)

    def leave_out(self, budgets: Floats, can_pay: NDArray[np.bool_]) -> Floats:
        """Return the budgets with 0 for whoever cannot pay."""
        return np.where(can_pay, budgets, 0.0)

    def participants(self, domain: Any, budgets: Floats) -> UserParticipants:
        """Return the users whose budget is above 0, with their rows on the domain."""
        selected = participating_users(self.users, budgets)
        labels = self.y[selected.rows]
        X, y = domain.to_domain(self.X[selected.rows], labels)
        return UserParticipants(X, y, labels, selected.users, selected.epsilon)


def user_records(rows: Floats, labels: NDArray[Any], users: Any, X: Any, y: Any) -> UserRecords:
    """Return the records: rows and labels as they were read from X and y, and who owns each row.

    None for `users` makes every row a user of its own.
    """
    owners = check_users(users, len(labels), X=X, y=y)
    names = owners.labels if owners.named else check.index_of(X)
    return UserRecords(rows, labels, owners, names)


def note_users(model: Any, are_named: bool) -> None:
    """Note in the `fit` of a mechanism for users whether it was told who owns the rows.

    Whatever is said of the release depends on it, and so does this advice, which looks at no row.
    """
    model._users_are_named = are_named
    if not are_named:
        advise(
            f"users was not passed to {type(model).__name__}, so each row is taken to be another "
            "user: whoever owns several rows is promised less. Pass users=, one name a row; "
            "users=range(n) says that n rows are n users",
            PublicNumbersWarning,
        )


def note_drawn_rows(model: Any) -> None:
    """Note on a fitted model that its rows are one of each user, drawn at random.

    What is said of this release depends on it; a later fit has another promise.
    """
    model._promise_of_drawn_rows = model.guarantee_


def has_drawn_rows(model: Any) -> bool:
    """Return whether the release of a model is of one row of each user, drawn at random."""
    return getattr(model, "_promise_of_drawn_rows", None) is getattr(model, "guarantee_", model)
