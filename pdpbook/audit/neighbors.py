"""Which person two data sets differ in, under the relation of a promise."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import check
from pdpbook._users import check_users

RELATIONS = ("replace-one", "add-remove", "labels", "user", "user-labels")


def differing_person(
    data: tuple[ArrayLike, ArrayLike],
    neighbor: tuple[ArrayLike, ArrayLike],
    relation: str,
    *,
    users: Any = None,
) -> int:
    """Find the one person in whom two data sets differ, and refuse what are no neighbors.

    Parameters
    ----------
    data, neighbor : pair of array_like
        ``(X, y)`` with X of shape (n, d) and y of shape (n,). Under add-remove neighbors one of
        them has a row less, and its other rows stand in the same order.
    relation : {"replace-one", "add-remove", "labels", "user", "user-labels"}
        As in `guarantees`; "zero-out" compares runs, not data sets.
    users : array_like, shape (n,), optional
        Owner of each row, for the last two relations; by default everybody owns one row.

    Returns
    -------
    int
        The row that differs, of the longer data set under add-remove neighbors; for users, the
        place of the user among the sorted labels. The first one if the data sets are equal.

    Raises
    ------
    ValueError
        If the two are no neighbors: shapes that do not fit, more than one person who differs, or
        features that differ where labels alone may.

    Examples
    --------
    >>> X = [[0.0], [1.0]]
    >>> differing_person((X, [0, 1]), (X, [0, 2]), "replace-one")
    1
    >>> differing_person((X, [0, 1]), (X[:1], [0]), "add-remove")
    1
    """
    check.choice(relation, "relation", RELATIONS)
    pairs = [(np.asarray(X), np.asarray(y)) for X, y in (data, neighbor)]
    for X, y in pairs:
        if X.ndim != 2 or y.shape != X.shape[:1]:
            raise ValueError(
                "data and neighbor must be pairs of X with shape (n, d) and y with shape (n,); "
                f"got {X.shape} and {y.shape}"
            )
    if relation == "add-remove":
        return _removed_row(pairs)
    (X, y), (other_X, other_y) = pairs
    if X.shape != other_X.shape:
        raise ValueError(
            f"{relation} neighbors have equally many rows and columns; "
            f"got shapes {X.shape} and {other_X.shape}"
        )
    features = np.flatnonzero((X != other_X).any(axis=1))
    if relation in ("labels", "user-labels") and features.size:
        raise ValueError(
            f"{relation} neighbors differ in labels alone; X differs in row {features[0]}"
        )
    rows = np.union1d(features, np.flatnonzero(y != other_y))
    owners = check_users(users if relation.startswith("user") else None, len(y)).codes
    who = np.unique(owners[rows])
    if len(who) > 1:
        raise ValueError(
            f"{relation} neighbors differ in one person; data and neighbor differ in {len(who)} "
            f"(rows {', '.join(map(str, rows[:10]))}{', ...' if len(rows) > 10 else ''})"
        )
    return int(who[0]) if len(who) else 0


def _removed_row(pairs: list[tuple[NDArray[Any], NDArray[Any]]]) -> int:
    more, fewer = sorted((np.column_stack(pair) for pair in pairs), key=len, reverse=True)
    if len(more) != len(fewer) + 1 or more.shape[1] != fewer.shape[1]:
        raise ValueError(
            "add-remove neighbors differ by one row; "
            f"got shapes {pairs[0][0].shape} and {pairs[1][0].shape}"
        )
    differs = (more[:-1] != fewer).any(axis=1)
    row = int(np.argmax(differs)) if differs.any() else len(fewer)
    if not np.array_equal(np.delete(more, row, axis=0), fewer):
        raise ValueError(
            "add-remove neighbors are equal but for one row that is missing; "
            f"more differs here, from row {row} on"
        )
    return row
