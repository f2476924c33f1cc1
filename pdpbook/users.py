"""Owners of rows and budgets of users, in all the forms in which people pass them.

One rule holds for every mechanism. A list, an array or a Series of length n has one value for each
row, by position. A mapping, or a Series of another length whose index is exactly the set of users,
has one value for each user. What can be read in two ways that differ is refused.
"""

from collections.abc import Mapping, Set
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats, check
from pdpbook._extras import of_pandas
from pdpbook.names import (
    NameTable,
    as_labels,
    python_objects,
    read_names,
    same_lists,
    same_names,
)

__all__: list[str] = []  # for the estimators of the package


class Users(NamedTuple):
    """The m users of n rows."""

    codes: NDArray[np.intp]  #: shape (n,): the index of the row's user in `labels`
    labels: NDArray[Any]  #: shape (m,), sorted
    sizes: NDArray[np.intp]  #: shape (m,): how many rows each user has
    named: bool  #: False where no users were passed, and every row is one user
    rows: dict[str, Any]  #: arguments with one row for each code, by name, such as X and y
    summed: bool = False  #: whether the one row of each user is the sum of all of theirs: `Sums`

    def spread(self, values: Floats) -> Floats:
        """Return values of users, shape (m,), for all of their rows, shape (n,)."""
        return values[self.codes]

    def totals(self, values: Floats) -> Floats:
        """Return sums of values of rows over the rows of each user, shape (m,)."""
        if self.summed:  # one row of each stands for all of theirs
            return values * self.sizes
        return np.bincount(self.codes, values, len(self.labels)).astype(float)

    def places(self, seed: int) -> NDArray[np.intp]:
        """Return the place 0, 1, ... of each row among the rows of its user, drawn at random.

        The random numbers go to the users in turn, and to the rows of one user in the order of the
        table, so they do not depend on labels. The order of one user's rows must be public.
        """
        position_by_user = np.argsort(np.argsort(self.codes, kind="stable"))
        keys = np.random.default_rng(seed).random(len(position_by_user))
        return places(self.codes, keys[position_by_user])


def places(codes: NDArray[Any], keys: NDArray[Any]) -> NDArray[np.intp]:
    """Return the place 0, 1, ... of each row among those of its user, in the order of keys."""
    order = np.lexsort([keys, codes])
    sorted_codes = codes[order]
    first_of_user = np.searchsorted(sorted_codes, sorted_codes)
    place = np.empty(len(codes), dtype=np.intp)
    place[order] = np.arange(len(codes)) - first_of_user
    return place


def check_users(users: Any, n: int, **rows: Any) -> Users:
    """Return the users of `n` rows, from one label a row; without labels every row is one user.

    A Series of labels must have the index of `rows`, such as X and y, where these have one.
    """
    check.refuse_other_index(rows.get("y"), "y", X=rows.get("X"))
    if users is None:
        return Users(np.arange(n), np.arange(n), np.ones(n, dtype=np.intp), False, rows)
    check.refuse_hidden(users, "users")
    check.refuse_other_index(users, "users", **rows)
    column = check.shape(as_labels(users), "users", (n,), "one label for each row of X")
    missing = _missing(column)
    if missing.any():
        at = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"users must have no missing label; users[{at}] = {np.asarray(users, object)[at]!r} "
            f"({int(missing.sum())} of {n} are missing)"
        )
    labels, codes = _sorted_labels(column)
    sizes = np.bincount(codes, minlength=len(labels))
    return Users(codes, labels, sizes, True, rows | {"users": users})


def _missing(column: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which labels are missing, shape (n,)."""
    if column.dtype.kind == "O":
        return np.array([label is None for label in column], dtype=bool)
    return np.asarray(column != column)  # NaN, and times that are none


def _sorted_labels(column: NDArray[Any]) -> tuple[NDArray[Any], Any]:
    """Return the different labels, sorted, and the index among them of each row's label."""
    if column.dtype.kind != "O":
        return np.unique(column, return_inverse=True)
    kinds = {_kind(type(label)) for label in column}
    can_be_sorted = len(kinds) == 1 and not issubclass(next(iter(kinds)), (tuple, Set))
    try:
        if not can_be_sorted:
            raise TypeError
        distinct, codes = np.unique(column, return_inverse=True)
    except (TypeError, ValueError):
        got = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            "users must be labels of one kind that has an order, such as numbers, text or times, "
            f"all of them with a zone or all without; got {got}"
        ) from None
    labels = np.array(distinct.tolist())  # numbers and text in a type of NumPy's, if it has one
    if not same_lists(python_objects(labels, "users"), distinct.tolist()):
        raise ValueError(
            "users must be labels that NumPy can tell apart: some that differ become one, such as "
            "whole numbers beyond 2**53 next to fractions. Pass strings"
        )
    return labels, codes


def _kind(label: type) -> type:
    """Return a type such that labels of one type can be sorted.

    Whole numbers and floats are of one type; booleans are not among them.
    """
    if issubclass(label, bool):
        return bool
    if issubclass(label, (int, float)):
        return float
    return datetime if issubclass(label, datetime) else label


class ParticipatingUsers(NamedTuple):
    """The users whose budget is above 0; all others have weight 0."""

    who: NDArray[np.bool_]  #: shape (m,), which users
    rows: NDArray[np.bool_]  #: shape (n,), which rows are theirs
    users: Users
    epsilon: Floats  #: the budgets of these users

    def for_all_users(self, values: Floats) -> Floats:
        """Return values for all m users: 0 for those who take no part."""
        out = np.zeros(len(self.who))
        out[self.who] = values
        return out


def participating_users(users: Users, epsilon: Floats) -> ParticipatingUsers:
    """Return the users whose budget in `epsilon`, shape (m,), is above 0."""
    who = epsilon > 0
    rows = who[users.codes]
    index_among_participants = np.cumsum(who) - 1
    participants = users._replace(
        codes=index_among_participants[users.codes[rows]],
        labels=users.labels[who],
        sizes=users.sizes[who],
    )
    return ParticipatingUsers(who, rows, participants, epsilon[who])


def check_budgets_of_users(epsilon: Any, name: str = "epsilon") -> None:
    """Raise if a budget is no number, negative or the like, before the data are touched."""
    if isinstance(epsilon, Mapping):
        check.nonnegative(list(epsilon.values()), name)
    else:
        check.epsilon(epsilon, name=name)


def check_user_epsilon(
    epsilon: Any, users: Users, name: str = "epsilon", *, is_block: bool = False
) -> Floats:
    """Return the budgets of users, shape (m,), in the order of `users.labels`.

    `epsilon` is a number for all, a mapping or a Series by label, or one value a row, the same on
    all rows of a user, which is what pipelines and cross-validation pass. Some budget must be above
    0, unless the users are only a block of all (`is_block`).
    """
    values = _values_of_users(epsilon, users, name)
    rule = check.some_epsilon if is_block else check.epsilon
    return np.asarray(rule(values, len(users.labels), name))


def _values_of_users(epsilon: Any, users: Users, name: str) -> Any:
    """Return one value a user, not yet checked to be a budget."""
    if of_pandas(epsilon, "Series"):
        places = _places_by_user(epsilon, users, name)
        if places is not None:
            return np.asarray(epsilon.to_numpy()[places])
        epsilon = epsilon.to_numpy()
    if isinstance(epsilon, Mapping):
        return _by_label(epsilon, users, name)
    values = np.asarray(check.some_epsilon(epsilon, name=name))
    if values.shape == ():
        return np.full(len(users.labels), float(values))
    return _values_from_rows(values, users, name)


def _values_from_rows(values: Any, users: Users, name: str) -> Floats:
    """Return one value a user, from one value a row, which must be the same on all their rows."""
    n = len(users.codes)
    if values.shape != (n,):
        raise ValueError(
            f"{name} must be a number, a mapping from user to budget, or have shape ({n},), "
            f"one value for each row of X; got shape {values.shape}"
        )
    _, first_rows = np.unique(users.codes, return_index=True)
    values_of_users = values[first_rows]
    differs = values != values_of_users[users.codes]
    if differs.any():
        at = int(np.flatnonzero(differs)[0])
        user = users.codes[at]
        raise ValueError(
            f"{name} must be the same on all rows of a user; {name}[{at}] = "
            f"{check.shown(values[at])}, but user {_plain(users.labels[user])!r} has "
            f"{check.shown(values_of_users[user])} before"
        )
    return np.asarray(values_of_users)


def _by_label(epsilon: Mapping[Any, Any], users: Users, name: str) -> list[Any]:
    """Return the value of each user in a mapping, which may name other users, too."""
    if not users.named:
        raise TypeError(
            f"{name} must be a number or one value for each row of X: a mapping is by user, and "
            "no users were given"
        )
    rule = f"{name} must have a budget for every user"
    labels = python_objects(users.labels, "users")
    places = NameTable(list(epsilon), name).find_all(labels, rule)
    budgets = list(epsilon.values())
    return [budgets[k] for k in places]


def _places_by_user(epsilon: Any, users: Users, name: str) -> NDArray[np.intp] | None:
    """Return where in a Series the budget of each user is, or None if it has one value a row."""
    n = len(users.codes)
    m = len(users.labels)
    labels = python_objects(users.labels, "users")
    places, why_not = _places_in_index(epsilon, users, labels, name)
    if len(epsilon) != n:
        if places is None or len(epsilon) != m:
            reason = f" ({why_not})" if why_not else ""
            # of a name that is there twice a dict would keep the last budget, without a word
            other = f". For budgets of more users, pass {name}.to_dict()"
            raise ValueError(
                f"{name} must be a Series of length {n}, one value for each row of X, or have an "
                f"index that is exactly the {m} users; got length {len(epsilon)} and another index"
                f"{reason}" + (other if epsilon.index.is_unique else "")
            )
        return places
    # As many values as rows: one a row, unless the index says otherwise.
    if places is not None:
        values = epsilon.to_numpy()
        if not np.array_equal(values, values[places][users.codes]):
            raise ValueError(
                f"{name} can be read in two ways that differ: one value a row, by position, and "
                f"one value a user, by its index. Pass {name}.to_numpy() for the first and "
                f"{name}.to_dict() for the second"
            )
    elif _names_other_users(epsilon, users, labels):
        raise ValueError(f"{name} must be in the order of users; {name}.to_numpy() has no index")
    else:
        check.refuse_other_index(epsilon, name, **users.rows)
    return None


def _places_in_index(
    epsilon: Any, users: Users, labels: list[Any], name: str
) -> tuple[NDArray[np.intp] | None, str]:
    """Return where the index of a Series names each user, or None and the reason, or "".

    An index that numbers the rows names no users, even if these are called 0, 1, 2, too.
    """
    try:
        table = NameTable(epsilon.index, name)
        if not users.named:
            raise ValueError("no users were given")
        places = table.find_all(labels, f"{name} by user")
    except (TypeError, ValueError) as error:
        return None, str(error)
    if len(epsilon) > len(users.labels) and _numbers_rows(epsilon, users):
        return None, ""
    return places, ""


def _numbers_rows(epsilon: Any, users: Users) -> bool:
    """Return whether the index has all numbers 0 to n - 1, or is that of the table."""
    tables = [rows for rows in users.rows.values() if of_pandas(rows, "DataFrame", "Series")]
    if tables and same_names(epsilon.index, tables[0].index):
        return True
    places = NameTable(epsilon.index, "rows").find(list(range(len(users.codes))))
    return bool((places >= 0).all())


def _names_other_users(epsilon: Any, users: Users, labels: list[Any]) -> bool:
    """Return whether the index names a user for each row, but not always the row's owner."""
    if not users.named:
        return False
    try:
        names = read_names(epsilon.index, "epsilon")
    except (TypeError, ValueError):
        return False
    who = NameTable(labels, "users").find(names)
    return bool((who >= 0).all()) and not np.array_equal(who, users.codes)


def _plain(label: Any) -> Any:
    """Return a label as it was written, without NumPy's name for its type."""
    return label.item() if isinstance(label, np.generic) else label
