"""Who owns which rows: user labels as codes, and a budget for every user. Both are public."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from pdpbook.validation import check_positive

__all__: list[str] = []  # for the estimators of the package

Floats = NDArray[np.float64]


class Users(NamedTuple):
    """Users of n rows: `labels` in sorted order; `codes[i]` is the place of row i's user in it."""

    codes: NDArray[np.intp]
    labels: NDArray[Any]
    sizes: NDArray[np.intp]


def check_users(users: Any, n: int) -> Users:
    """Users of `n` rows from one label a row; None makes every row a user of its own."""
    if users is None:
        return Users(np.arange(n), np.arange(n), np.ones(n, dtype=np.intp))
    column = np.asarray(users)
    if column.shape != (n,):
        raise ValueError(
            f"users must have shape ({n},), one label for each row of X; got shape {column.shape}"
        )
    missing = np.asarray(pd.isna(column))
    if missing.any():
        at = int(np.flatnonzero(missing)[0])
        raise ValueError(
            f"users must have no missing label; users[{at}] = {column[at]!r} "
            f"({int(missing.sum())} of {n} are missing)"
        )
    try:
        labels, codes = np.unique(column, return_inverse=True)
    except TypeError:
        raise TypeError("users must be labels of one kind, all numbers or all strings") from None
    return Users(codes, labels, np.bincount(codes, minlength=len(labels)))


def check_user_epsilon(epsilon: Any, users: Users, name: str = "epsilon") -> Floats:
    """Budgets of shape (m,), in the order of `users.labels`.

    `epsilon` is a number for everybody; a mapping or Series from label to budget; or one value a
    row, the same on all rows of a user, as pipelines and cross-validation hand it on.
    """
    n, m = len(users.codes), len(users.labels)
    if isinstance(epsilon, (Mapping, pd.Series)):
        table = dict(epsilon.items())
        for label in users.labels:
            if label not in table:
                raise ValueError(
                    f"{name} must have a budget for every user; none for {_plain(label)!r}"
                )
        values = np.asarray(check_positive([table[label] for label in users.labels], name))
        return values.astype(float)
    values = np.asarray(check_positive(epsilon, name))
    if values.shape == ():
        return np.full(m, float(values))
    if values.shape != (n,):
        raise ValueError(
            f"{name} must be a number, a mapping from user to budget, or have shape ({n},), one "
            f"value for each row of X; got shape {values.shape}"
        )
    first = np.full(m, n)
    np.minimum.at(first, users.codes, np.arange(n))
    differs = values != values[first][users.codes]
    if differs.any():
        at = int(np.flatnonzero(differs)[0])
        user, before = users.codes[at], values[first[users.codes[at]]]
        raise ValueError(
            f"{name} must be the same on all rows of a user; {name}[{at}] = {values[at]:g}, but "
            f"user {_plain(users.labels[user])!r} has {before:g} before"
        )
    return np.asarray(values[first], dtype=float)


def _plain(label: Any) -> Any:
    """A label as it was written, without numpy's name for its type."""
    return label.item() if isinstance(label, np.generic) else label
