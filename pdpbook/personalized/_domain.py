"""From the user's units to the domain of the theorems: shapes, public bounds, settings."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length, column_or_1d

from pdpbook.validation import (
    check_bounds,
    check_design,
    check_finite,
    check_inside,
    check_positive,
)

__all__: list[str] = []  # for the estimators next door

Floats = NDArray[np.float64]


def labels_of(X: Any, y: Any) -> Floats:
    """Labels as an array of shape (n,), one a row of X: a column is flattened with a warning."""
    if y is None:
        raise ValueError("fit requires y to be passed, but the target y is None")
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "O":
        labels = labels.astype(float)
    check_consistent_length(X, labels)
    return np.asarray(labels)


def labels_to_domain(y: Floats, y_bounds: ArrayLike, clip: bool) -> Floats:
    low, high = check_bounds(y_bounds, "y_bounds")
    y = check_inside(np.asarray(check_finite(y, "y")), low, high, "y", "y_bounds", clip=clip)
    return np.asarray(2 * ((y - low) / width_of(low, high, "y_bounds")) - 1)


def width_of(low: Any, high: Any, name: str) -> Any:
    with np.errstate(over="ignore"):
        width = high - low
    if not np.all(width < np.inf):
        raise ValueError(
            f"{name} must have a finite width; got ({np.min(low):g}, {np.max(high):g})"
        )
    return width


def finite_data(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    try:
        return check_design(X, y)
    except ValueError as error:
        raise ValueError(f"{error}. NaN and inf have no place between public bounds") from None


def row_count(X: Any) -> int:
    return int(X.shape[0]) if hasattr(X, "shape") else len(np.asarray(X, dtype=object))


def check_number(value: Any, name: str) -> float:
    clean = check_positive(value, name)
    if np.ndim(clean):
        raise ValueError(f"{name} must be a single number; got shape {np.shape(clean)}")
    return float(clean)


def check_flag(value: Any, name: str) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r}")


def generator_from(random_state: Any) -> np.random.Generator:
    """A generator from None (fresh entropy), a whole number, or a Generator."""
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    known = random_state is None or isinstance(random_state, np.random.Generator)
    if not (known or (whole and random_state >= 0)):
        raise ValueError(
            "random_state must be None, a whole number of at least 0 or a numpy Generator; "
            f"got {random_state!r}"
        )
    return np.random.default_rng(random_state)
