"""From the user's units to the domain of the theorems and back: shapes, public bounds, settings."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import check_consistent_length, column_or_1d
from sklearn.utils.validation import check_is_fitted, validate_data

from pdpbook import Floats, check
from pdpbook.advice import CuratorWarning, advise

__all__: list[str] = []  # for the estimators of the package

ULP = float(np.finfo(float).eps)
FEW = 10  # people of whom the extremes say nothing about where bounds came from
NOT_FINITE = "NaN and inf have no place between public bounds"


def labels_of(X: Any, y: Any) -> Floats:
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


def table_of(estimator: Any, X: Any, **checks: Any) -> Floats:
    """Rows that `fit` was given, by scikit-learn's checks of tables."""
    check.refuse_hidden(X, "X")
    refuse_few(row_count(X))
    checks = {"ensure_all_finite": False} | checks
    return np.asarray(validate_data(estimator, X, dtype=float, **checks))


def data_of(estimator: Any, X: Any, y: Any) -> tuple[Floats, Floats]:
    """Rows and labels that `fit` was given, of matching shapes; not yet looked at."""
    plain = check.is_plain(X) and check.is_plain(y)
    if plain and X.ndim == 2 and X.size and y.shape == X.shape[:1]:
        refuse_few(len(X))
        note_width(estimator, X.shape[1])
        return X, y
    rows = table_of(estimator, X)
    return rows, labels_of(rows, y)


def refuse_few(n: int) -> None:
    """Refuse an empty table, and a release about a single person."""
    if n < 2:
        raise ValueError(
            f"X must have at least 2 rows; got {n} sample{'' if n else 's'}"
            + (": noise that hides one person alone leaves nothing" if n else "")
        )


def labels_to_domain(y: Any, y_bounds: ArrayLike, clip: bool) -> Floats:
    low, high = check.bounds(y_bounds, "y_bounds")
    labels = inside(y, low, high, "y", "y_bounds", clip)
    if (low, high) == (-1, 1):
        return labels
    return np.asarray(2 * ((labels - low) / (high - low)) - 1)


def features_to_domain(
    X: Floats, bounds: ArrayLike, clip: bool, fit_intercept: bool = False
) -> Floats:
    """Rows in [0, 1]^d, with a last column of ones on request."""
    low, high = check.bounds(bounds, "bounds", X.shape[1])
    X = inside(X, low, high, "X", "bounds", clip)
    if low.any() or (high != 1).any():
        X = X - low
        X /= high - low
    return np.column_stack([X, np.ones(len(X))]) if fit_intercept else X


def inside(values: Any, low: Any, high: Any, name: str, bounds_name: str, clip: bool) -> Floats:
    """Values between public bounds; what is not finite raises, even where others are clipped."""
    if check.is_plain(values) and values.size:  # two fast passes settle nearly every call
        least, most = values.min(), values.max()
        if least >= np.max(low) and most <= np.min(high):
            if least == np.max(low) and most == np.min(high):
                _advise_on_bounds(values, low, high, bounds_name)
            return np.asarray(values)
    try:
        given = np.asarray(check.finite(values, name))
    except ValueError as error:
        raise ValueError(f"{error}. {NOT_FINITE}") from None
    values = check.inside(given, low, high, name, bounds_name, clip=clip)
    if values is given:
        _advise_on_bounds(values, low, high, bounds_name)
    else:
        _advise_on_clipping(given, values, name, bounds_name)
    return np.asarray(values)


def _advise_on_clipping(given: Floats, clipped: Floats, name: str, bounds_name: str) -> None:
    moved = (given != clipped).any(axis=tuple(range(1, given.ndim)))
    if 2 * moved.sum() > len(given):
        advise(
            f"clip=True moved {name} of {int(moved.sum())} of {len(given)} people into "
            f"{bounds_name}: what is released speaks of the bounds. {bounds_name} must be public, "
            "in the units of your data, and wide enough for most",
            CuratorWarning,
        )


def _advise_on_bounds(values: Floats, low: Any, high: Any, bounds_name: str) -> None:
    """Say where bounds end at the least and the largest value, one row each, as if read there."""
    if len(values) < FEW:
        return
    columns = values.reshape(len(values), -1)
    ends = ((columns == low).sum(axis=0) == 1) & ((columns == high).sum(axis=0) == 1)
    ends &= (columns != np.round(columns)).any(axis=0)
    if ends.any():
        which = f" in column {int(np.flatnonzero(ends)[0])}" if values.ndim > 1 else ""
        advise(
            f"{bounds_name}{which} end exactly at the least and the largest value. Bounds that "
            "were read from the data, by a scaler say, break the promise: they must be public. "
            "If they are, all is well",
            CuratorWarning,
        )


def bound_rows(X: Floats, row_norm: float | None, clip: bool) -> Floats:
    """Rows on the domain of norm at most `row_norm`: longer ones raise, or are scaled down."""
    if row_norm is None:
        return X
    norms = np.linalg.norm(X, axis=1)
    longer = norms > row_norm * (1 + 8 * ULP)
    if longer.any() and not clip:
        at = int(np.flatnonzero(longer)[0])
        raise ValueError(
            f"X must have rows of norm at most row_norm = {check.shown(row_norm)} on the domain; "
            f"got X[{at}] of norm {check.shown(norms[at])} ({int(longer.sum())} of {len(X)} are "
            "longer). Widen the public row_norm, or pass clip=True"
        )
    if 2 * longer.sum() > len(X):
        advise(
            f"clip=True shortened {int(longer.sum())} of {len(X)} rows to row_norm = "
            f"{row_norm:g}: what is released speaks of the bound. row_norm must be public, on the "
            "scale of the domain, and long enough for most rows",
            CuratorWarning,
        )
    scale = row_norm / np.maximum(norms, row_norm)
    return np.asarray(X * scale[:, None])


def rows_to_ball(
    X: Floats, bounds: ArrayLike, row_norm: float | None, clip: bool, fit_intercept: bool
) -> Floats:
    """Rows in the unit ball: bounds to [-1, 1]^d, a last column of ones on request, / row_norm."""
    X = 2 * features_to_domain(X, bounds, clip, fit_intercept) - 1
    radius = check.radius(X.shape[1], row_norm)
    X = bound_rows(X, radius, clip) / radius
    return np.asarray(X / np.maximum(1.0, np.linalg.norm(X, axis=1))[:, None])  # rounding


def ball_to_user_units(
    theta: Floats, d: int, bounds: ArrayLike, y_bounds: ArrayLike, row_norm: float | None
) -> tuple[Floats, float]:
    """Coefficients and intercept in the user's units, of coefficients on the unit ball."""
    low, high = check.bounds(bounds, "bounds", d)
    scaled = np.asarray(theta) / check.radius(len(theta), row_norm)
    return _to_units(scaled, (low + high) / 2, (high - low) / 2, y_bounds)


def to_user_units(
    theta: Floats, d: int, bounds: ArrayLike, y_bounds: ArrayLike
) -> tuple[Floats, float]:
    """Coefficients and intercept in the user's units; an entry after the d-th is a constant's."""
    low, high = check.bounds(bounds, "bounds", d)
    return _to_units(theta, low, high - low, y_bounds)


def _to_units(theta: Floats, origin: Floats, step: Floats, y_bounds: Any) -> tuple[Floats, float]:
    """The same, of coefficients of rows that are 0 at `origin` and 1 a `step` from there."""
    y_low, y_high = check.bounds(y_bounds, "y_bounds")
    half, d = (y_high - y_low) / 2, len(step)
    coef = half * theta[:d] / step
    constant = half * theta[d] if len(theta) > d else 0.0
    return coef, float((y_low + y_high) / 2 + constant - coef @ origin)


def finite_data(X: Floats, y: Floats) -> tuple[Floats, Floats]:
    try:
        return check.design(X, y)
    except ValueError as error:
        if "must be finite" not in str(error):  # but of another shape
            raise
        raise ValueError(f"{error}. {NOT_FINITE}") from None


def note_width(estimator: Any, width: int) -> None:
    """Say how wide an array X was that scikit-learn did not see: its columns have no names."""
    estimator.n_features_in_ = width
    if hasattr(estimator, "feature_names_in_"):
        del estimator.feature_names_in_


def predictions(estimator: Any, X: Any) -> Floats:
    """Linear predictions from the released coefficients."""
    check_is_fitted(estimator)
    rows = validate_data(estimator, X, dtype=float, reset=False)
    return np.asarray(rows @ estimator.coef_ + estimator.intercept_)


def row_count(X: Any) -> int:
    if hasattr(X, "shape"):
        return int(X.shape[0])
    return len(np.asarray(X, dtype=object))


def generator_from(random_state: Any) -> np.random.Generator:
    """A generator from None (fresh entropy), a whole number, or a Generator."""
    whole = isinstance(random_state, (int, np.integer)) and not isinstance(random_state, bool)
    drawn = random_state is None or isinstance(random_state, np.random.Generator)
    if not (drawn or (whole and random_state >= 0)):
        raise ValueError(
            "random_state must be None, a whole number of at least 0 or a numpy Generator; "
            f"got {random_state!r}"
        )
    return np.random.default_rng(random_state)
