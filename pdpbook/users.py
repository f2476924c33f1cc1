"""Who owns which rows, and whose budget is which: budgets and users as people pass them.

One rule for every mechanism. A list, an array or a Series of length n is one value a row, by
position. A mapping, or a Series of another length whose index is exactly the set of users, is one
value a user. What can be read in two ways that differ is refused.
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
    """Users of n rows: `labels` in sorted order; `codes[i]` is the place of row i's user in it."""

    codes: NDArray[np.intp]
    labels: NDArray[Any]
    sizes: NDArray[np.intp]
    named: bool  #: False where every row is a user of its own, whom nobody named
    rows: dict[str, Any]  #: what came with an index of rows, by the name of its argument
    summed: bool = False  #: whether there is one row a user, the sum of all of theirs: `Sums`

    def spread(self, values: Floats) -> Floats:
        """Values of users for each of their rows."""
        return values[self.codes]

    def totals(self, values: Floats) -> Floats:
        """Sums of values of rows over all rows of each user, shape (m,)."""
        if self.summed:  # one row of each stands for all of theirs
            return values * self.sizes
        return np.bincount(self.codes, values, len(self.labels)).astype(float)

    def places(self, seed: int) -> NDArray[np.intp]:
        """Place 0, 1, ... of each row among the rows of its user, drawn at random.

        Random numbers are dealt user by user, to the rows of each in the order of the table, so
        that no label moves them. The order of a user's own rows must be public.
        """
        own = np.argsort(np.argsort(self.codes, kind="stable"))
        keys = np.random.default_rng(seed).random(len(own))
        return places(self.codes, keys[own])


def places(codes: NDArray[Any], keys: NDArray[Any]) -> NDArray[np.intp]:
    """Place of each row among those of its user, in the order of keys."""
    order, place = np.lexsort([keys, codes]), np.empty(len(codes), dtype=np.intp)
    place[order] = np.arange(len(codes)) - np.searchsorted(codes[order], codes[order])
    return place


def check_users(users: Any, n: int, **rows: Any) -> Users:
    """Users of `n` rows from one label a row; None makes every row a user of its own. A Series of
    labels must have the index of `rows`, such as X and y, where these have one."""
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
    """Which labels are none at all."""
    if column.dtype.kind == "O":
        return np.array([label is None for label in column], dtype=bool)
    return np.asarray(column != column)


def _sorted_labels(column: NDArray[Any]) -> tuple[NDArray[Any], Any]:
    """Return the labels that differ, in order, and the place of each row's."""
    if column.dtype.kind != "O":
        return np.unique(column, return_inverse=True)
    kinds = {_kind(type(label)) for label in column}
    one_kind = len(kinds) == 1 and not issubclass(next(iter(kinds)), (tuple, Set))
    try:
        if not one_kind:
            raise TypeError
        distinct, codes = np.unique(column, return_inverse=True)
    except (TypeError, ValueError):
        got = " and ".join(sorted(kind.__name__ for kind in kinds))
        raise TypeError(
            "users must be labels of one kind that has an order, such as numbers, text or times, "
            f"all of them with a zone or all without; got {got}"
        ) from None
    labels = np.array(distinct.tolist())  # numbers and text in a type of their own
    if not same_lists(python_objects(labels, "users"), distinct.tolist()):
        raise ValueError(
            "users must be labels that NumPy can tell apart: some that differ become one, such as "
            "whole numbers beyond 2**53 next to fractions. Pass strings"
        )
    return labels, codes


def _kind(label: type) -> type:
    """What a label is, for sorting: whole numbers and fractions are numbers, and True is none."""
    if issubclass(label, bool):
        return bool
    if issubclass(label, (int, float)):
        return float
    return datetime if issubclass(label, datetime) else label


class Part(NamedTuple):
    """The users whose budget is above 0: all others have weight 0."""

    who: NDArray[np.bool_]  #: shape (m,), which users
    rows: NDArray[np.bool_]  #: shape (n,), which rows are theirs
    users: Users
    epsilon: Floats  #: one a user of those above

    def everybody(self, values: Floats) -> Floats:
        """Values of all m users: 0 for those who take no part."""
        out = np.zeros(len(self.who))
        out[self.who] = values
        return out


def part_of(users: Users, epsilon: Floats) -> Part:
    """Who takes part, of users with these budgets."""
    who = epsilon > 0
    rows = who[users.codes]
    codes = (np.cumsum(who) - 1)[users.codes[rows]]
    those = users._replace(codes=codes, labels=users.labels[who], sizes=users.sizes[who])
    return Part(who, rows, those, epsilon[who])


def check_budgets_of_users(epsilon: Any, name: str = "epsilon") -> None:
    """Refuse a wrong budget before the data are touched, whoever it belongs to."""
    if isinstance(epsilon, Mapping):
        check.nonnegative(list(epsilon.values()), name)
    else:
        check.epsilon(epsilon, name=name)


def check_user_epsilon(
    epsilon: Any, users: Users, name: str = "epsilon", *, part: bool = False
) -> Floats:
    """Budgets of shape (m,), in the order of `users.labels`, above 0 for somebody, unless these
    users are a `part` of all: of a number for everybody, a mapping or a Series by label, or one
    value a row, the same on all rows of a user, as pipelines and cross-validation hand it on."""
    values = _each_epsilon(epsilon, users, name)
    rule = check.some_epsilon if part else check.epsilon
    return np.asarray(rule(values, len(users.labels), name))


def _each_epsilon(epsilon: Any, users: Users, name: str) -> Any:
    """Return one value a user, of which it is not yet known that they are budgets."""
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
    return one_each(values, users, name)


def one_each(values: Any, users: Users, name: str) -> Floats:
    """The value of each user, of one value a row, the same on all rows of a user."""
    n = len(users.codes)
    if values.shape != (n,):
        raise ValueError(
            f"{name} must be a number, a mapping from user to budget, or have shape ({n},), "
            f"one value for each row of X; got shape {values.shape}"
        )
    first = np.unique(users.codes, return_index=True)[1]  # row of each user
    differs = values != values[first][users.codes]
    if differs.any():
        at = int(np.flatnonzero(differs)[0])
        user, before = users.codes[at], values[first[users.codes[at]]]
        raise ValueError(
            f"{name} must be the same on all rows of a user; {name}[{at}] = "
            f"{check.shown(values[at])}, but user {_plain(users.labels[user])!r} has "
            f"{check.shown(before)} before"
        )
    return np.asarray(values[first])


def _by_label(epsilon: Mapping[Any, Any], users: Users, name: str) -> list[Any]:
    if not users.named:
        raise TypeError(
            f"{name} must be a number or one value for each row of X: a mapping is by user, and "
            "no users were given"
        )
    rule = f"{name} must have a budget for every user"
    places = NameTable(list(epsilon), name).find_all(python_objects(users.labels, "users"), rule)
    budgets = list(epsilon.values())
    return [budgets[k] for k in places]


def _places_by_user(epsilon: Any, users: Users, name: str) -> NDArray[np.intp] | None:
    """Return where in a Series the budget of each user is, or None where it has one a row."""
    n, m = len(users.codes), len(users.labels)
    labels = python_objects(users.labels, "users")
    places, why_not = _places_in_index(epsilon, users, labels, name)
    if len(epsilon) != n:
        if places is None or len(epsilon) != m:
            raise ValueError(
                f"{name} must be a Series of length {n}, one value for each row of X, or have an "
                f"index that is exactly the {m} users; got length {len(epsilon)} and another index"
                f"{why_not and f' ({why_not})'}. For budgets of more users, pass {name}.to_dict()"
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
    """Return where the index of a Series names each user, or None and the reason, if there is one.

    An index of rows names nobody, even where users are called 0, 1, 2, too.
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
    """Whether the index has all numbers of rows, or is that of the table."""
    whose = [v.index for v in users.rows.values() if of_pandas(v, "DataFrame", "Series")]
    if any(same_names(epsilon.index, index) for index in whose[:1]):
        return True
    numbers = NameTable(epsilon.index, "rows").find(list(range(len(users.codes))))
    return bool((numbers >= 0).all())


def _names_other_users(epsilon: Any, users: Users, labels: list[Any]) -> bool:
    """Whether the index names users, one a row, and not those of the rows."""
    if not users.named:
        return False
    try:
        names = read_names(epsilon.index, "epsilon")
    except (TypeError, ValueError):
        return False
    who = NameTable(labels, "users").find(names)
    return bool((who >= 0).all()) and not np.array_equal(who, users.codes)


def _plain(label: Any) -> Any:
    """A label as it was written, without numpy's name for its type."""
    return label.item() if isinstance(label, np.generic) else label
