"""Tables as `fit` was given them: rows and labels by scikit-learn's checks, not yet looked at."""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import numpy as np
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import validate_data

from pdpbook import Floats, check
from pdpbook.domains import NOT_FINITE

__all__: list[str] = []  # for the estimators of the package

MOST_LISTED = 4  # columns that an error names


def read_rows_and_labels(estimator: Any, X: Any, y: Any) -> tuple[Floats, Floats]:
    """Rows and labels that `fit` was given, of matching shapes; not yet looked at."""
    plain = check.is_plain(X) and check.is_plain(y)
    if plain and X.ndim == 2 and X.size and y.shape == X.shape[:1]:
        refuse_small_table(len(X))
        note_width(estimator, X.shape[1])
        return X, y
    rows = read_table(estimator, X)
    return rows, read_labels(rows, y)


def read_table(estimator: Any, X: Any, **checks: Any) -> Floats:
    """Rows that `fit` was given, by scikit-learn's checks of tables."""
    check.refuse_hidden(X, "X")
    refuse_small_table(row_count(X))
    checks = {"ensure_all_finite": False} | checks
    try:
        return np.asarray(validate_data(estimator, X, dtype=float, **checks))
    except (TypeError, ValueError) as error:
        _refuse_what_is_no_number(X, error)
        raise


def _refuse_what_is_no_number(X: Any, error: Exception) -> None:
    """Raise for a table that could not be converted since not all of its entries are numbers.

    The columns of a data frame are named, but no value of one. Other tables are not refused here.
    """
    if hasattr(X, "columns") and hasattr(X, "dtypes"):
        columns = zip(X.columns, X.dtypes, strict=True)
        wrong = [f"{name!r} of {dtype}" for name, dtype in columns if not _is_numeric(X[name])]
        listed = ", ".join(wrong[:MOST_LISTED])
        got = f"columns of another kind: {listed}" if wrong else ""
        if len(wrong) > MOST_LISTED:
            got += f", ... ({len(wrong)} columns)"
    else:
        got = "text" if "could not convert string to float" in str(error) else ""
    if got:
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(
            f"X must be a table of numbers; got {got}. `PublicSchema`, in pdpbook.datasets, turns "
            "words and dates into numbers, by public lists and bounds"
        ) from None


def _is_numeric(column: Any) -> bool:
    """Return whether a column of a data frame can be read as numbers."""
    column = np.asarray(column)
    if column.dtype.kind in "mM":  # NumPy would count dates in a unit of its own
        return False
    try:
        column.astype(float)
    except (TypeError, ValueError):
        return False
    return True


def read_labels(X: Any, y: Any) -> Floats:
    """Labels as an array of shape (n,), one a row of X: a column is flattened with a warning."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    check.refuse_hidden(X, "X")
    check.refuse_hidden(y, "y")
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "O":
        labels = labels.astype(float)
    check_consistent_length(X, labels)
    return np.asarray(labels)


def signs_of_labels(y: Any, classes: Any) -> Any:
    """Return 1 for labels of the second class and -1 for those of the first, shape (n,).

    `classes` are two public labels, from `check.classes`. Any other label is refused, a missing
    one, too; None is returned as it is, for `read_labels` to refuse.
    """
    if y is None:
        return None
    check.refuse_hidden(y, "y")
    labels = column_or_1d(y, warn=True)
    first, second = classes
    is_first, is_second = (_equals(labels, label) for label in classes)
    other = np.flatnonzero(~(is_first | is_second))
    if len(other):
        at = int(other[0])
        raise ValueError(
            f"y must hold the classes {first!r} and {second!r} alone; got y[{at}] = "
            f"{labels[at : at + 1].tolist()[0]!r} ({len(other)} of {len(labels)} are others). Name "
            "both in classes: they are public, and never read from the data"
        )
    return np.where(is_second, 1.0, -1.0)


def _equals(labels: Any, label: Any) -> Any:
    """Return which labels equal this one; a missing label equals nothing."""
    if labels.dtype.kind != "O":
        return np.broadcast_to(np.asarray(labels == label, dtype=bool), labels.shape)
    found = np.zeros(len(labels), dtype=bool)
    for k, one in enumerate(labels):
        with suppress(TypeError):  # of pandas.NA, which equals nothing and differs from nothing
            found[k] = bool(one == label)
    return found


def finite_data(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    try:
        return check.design(X, y)
    except ValueError as error:
        if "must be finite" not in str(error):  # but of another shape
            raise
        raise ValueError(f"{error}. {NOT_FINITE}") from None


def refuse_small_table(n: int) -> None:
    """Refuse an empty table, and a release about a single person."""
    if n < 2:
        raise ValueError(
            f"X must have at least 2 rows; got {n} sample{'' if n else 's'}"
            + (": noise that hides one person alone leaves nothing" if n else "")
        )


def row_count(X: Any) -> int:
    if hasattr(X, "shape"):
        return int(X.shape[0])
    return len(np.asarray(X, dtype=object))


def note_width(estimator: Any, width: int) -> None:
    """Say how wide an array X was that scikit-learn did not see: its columns have no names."""
    estimator.n_features_in_ = width
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_
