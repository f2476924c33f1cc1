"""Domains of the theorems, reached from the user's units by public bounds, and the way back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.advice import CuratorWarning, advise

__all__: list[str] = []  # for the estimators of the package

ENOUGH_TO_ADVISE = 10  # rows; the extremes of fewer say nothing about where bounds came from
NOT_FINITE = "NaN and inf have no place between public bounds"


@dataclass(frozen=True, kw_only=True)
class Bounds:
    """Public bounds of features and labels, and what happens to records outside of them."""

    bounds: ArrayLike  #: of the features, one pair or shape (columns, 2)
    y_bounds: ArrayLike  #: of the labels, a pair
    columns: int  #: of X
    fit_intercept: bool  #: whether a constant feature 1 is appended
    clip: bool  #: whether records outside the bounds are clipped; else they are refused

    @property
    def d(self) -> int:
        """Number of features, a constant one included."""
        return self.columns + bool(self.fit_intercept)


@dataclass(frozen=True, kw_only=True)
class Cube(Bounds):
    """Rows in [0, 1]^d of norm at most `row_norm`, labels in [-1, 1]."""

    row_norm: float | None = None

    @property
    def radius(self) -> float:
        """Bound on the norm of a row: the square root of d, or a smaller `row_norm`."""
        return check.radius(self.d, self.row_norm)

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return rows, shape (n, d), and labels, shape (n,), on the domain."""
        rows = features_to_domain(X, self.bounds, self.clip, self.fit_intercept)
        rows = bound_rows(rows, self.row_norm, self.clip)
        return rows, labels_to_domain(y, self.y_bounds, self.clip)

    def to_user_units(self, theta: Floats) -> tuple[Floats, float]:
        """Return coefficients, shape (columns,), and intercept for the data as they came."""
        low, high = check.bounds(self.bounds, "bounds", self.columns)
        return _to_units(theta, low, high - low, self.y_bounds)


@dataclass(frozen=True, kw_only=True)
class CenteredCube(Bounds):
    """Rows in [-1, 1]^d of norm at most `row_norm`, labels in [-1, 1]."""

    row_norm: float | None = None

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return rows, shape (n, d), and labels, shape (n,), on the domain."""
        rows = 2 * features_to_domain(X, self.bounds, self.clip, self.fit_intercept) - 1
        rows = bound_rows(rows, self.row_norm, self.clip)
        return rows, labels_to_domain(y, self.y_bounds, self.clip)

    def to_user_units(self, theta: Floats) -> tuple[Floats, float]:
        """Return coefficients, shape (columns,), and intercept for the data as they came."""
        return ball_to_user_units(theta, self.columns, self.bounds, self.y_bounds, 1.0)


@dataclass(frozen=True, kw_only=True)
class Ball(Bounds):
    """Rows in the unit ball, after those in [-1, 1]^d are divided by `row_norm`; labels in [-1, 1].

    A longer row is refused, or scaled down with `clip`. None is the square root of d.
    """

    row_norm: float | None = None

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return rows, shape (n, d), and labels, shape (n,), on the domain."""
        rows = rows_to_ball(X, self.bounds, self.row_norm, self.clip, self.fit_intercept)
        return rows, labels_to_domain(y, self.y_bounds, self.clip)

    def to_user_units(self, theta: Floats) -> tuple[Floats, float]:
        """Return coefficients, shape (columns,), and intercept for the data as they came."""
        return ball_to_user_units(theta, self.columns, self.bounds, self.y_bounds, self.row_norm)


@dataclass(frozen=True, kw_only=True)
class Labels:
    """Labels in [-1, 1], of mechanisms that do not look at X."""

    y_bounds: ArrayLike  #: a pair
    clip: bool

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return X as it is and labels, shape (n,), on the domain."""
        return X, labels_to_domain(y, self.y_bounds, self.clip)

    def to_user_units(self, mean: float) -> float:
        """Return a mean on the domain in the units of the labels."""
        low, high = check.bounds(self.y_bounds, "y_bounds")
        return float((low + high) / 2 + (high - low) / 2 * mean)


@dataclass(frozen=True, kw_only=True)
class LabelInterval:
    """Labels in the user's units between public bounds; rows are anything."""

    y_bounds: ArrayLike  #: a pair
    clip: bool
    origin: float = 0.0  #: from where labels are measured: far from 0, the lower bound saves digits

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return X as it is and labels, shape (n,), measured from the origin."""
        low, high = check.bounds(self.y_bounds, "y_bounds")
        return X, inside(y, low, high, "y", "y_bounds", self.clip) - self.origin


@dataclass(frozen=True, kw_only=True)
class PublicRows(LabelInterval):
    """Rows that are public, in the user's units; labels as in `LabelInterval`."""

    columns: int  #: of X
    fit_intercept: bool  #: whether a constant feature 1 is appended

    @property
    def d(self) -> int:
        """Number of features, a constant one included."""
        return self.columns + bool(self.fit_intercept)

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return rows, shape (n, d), and labels, shape (n,)."""
        X, y = super().to_domain(X, y)
        if self.fit_intercept:
            X = np.column_stack([X, np.ones(len(X))])
        return X, y

    def to_user_units(self, theta: Floats) -> tuple[Floats, float]:
        """Return coefficients, shape (columns,), and the intercept, 0 without a constant."""
        intercept = float(theta[self.columns]) if self.fit_intercept else 0.0
        return theta[: self.columns], intercept


def label_width(y_bounds: ArrayLike) -> float:
    """Return the width of the public interval of the labels."""
    low, high = check.bounds(y_bounds, "y_bounds")
    return float(high - low)


def label_variance(guess: float | None, y_bounds: ArrayLike) -> float:
    """Return the guess at the variance of a label; None is that of a uniform one in the bounds."""
    return label_width(y_bounds) ** 2 / 12 if guess is None else float(guess)


def inside(values: Any, low: Any, high: Any, name: str, bounds_name: str, clip: bool) -> Floats:
    """Values between public bounds: others raise, or with `clip` are clipped, NaN to the middle."""
    if check.is_plain(values) and values.size:  # two fast passes settle nearly every call
        smallest, largest = values.min(), values.max()
        if smallest >= np.max(low) and largest <= np.min(high):
            if smallest == np.max(low) and largest == np.min(high):
                _advise_on_bounds(values, low, high, bounds_name)
            return np.asarray(values)
    check.flag(clip, "clip")
    if clip:
        numbers = np.asarray(check.real(values, name))
        clipped = check.inside(numbers, low, high, name, bounds_name, clip=True)
        _advise_on_clipping(numbers, clipped, name, bounds_name)
        return clipped
    try:
        finite = np.asarray(check.finite(values, name))
    except ValueError as error:
        raise ValueError(f"{error}. {NOT_FINITE}") from None
    check.inside(finite, low, high, name, bounds_name, clip=False)
    _advise_on_bounds(finite, low, high, bounds_name)
    return finite


def _advise_on_clipping(values: Floats, clipped: Floats, name: str, bounds_name: str) -> None:
    """Warn if more than half of the people have values that were clipped."""
    moved = (values != clipped).any(axis=tuple(range(1, values.ndim)))
    if 2 * moved.sum() > len(values):
        advise(
            f"clip=True moved {name} of {int(moved.sum())} of {len(values)} people into "
            f"{bounds_name}: what is released speaks of the bounds. {bounds_name} must be public, "
            "in the units of your data, and wide enough for most",
            CuratorWarning,
        )


def _advise_on_bounds(values: Floats, low: Any, high: Any, bounds_name: str) -> None:
    """Warn if bounds end exactly at the smallest and the largest value, as if read off the data."""
    if len(values) < ENOUGH_TO_ADVISE:
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


def labels_to_domain(y: Any, y_bounds: ArrayLike, clip: bool) -> Floats:
    """Return labels in [-1, 1]."""
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
    if fit_intercept:
        return np.column_stack([X, np.ones(len(X))])
    return X


def bound_rows(X: Floats, row_norm: float | None, clip: bool) -> Floats:
    """Rows on the domain of norm at most `row_norm`: longer ones raise, or are scaled down."""
    if row_norm is None:
        return X
    norms = np.linalg.norm(X, axis=1)
    longer = norms > row_norm * (1 + 8 * check.ULP)
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


def _to_units(theta: Floats, origin: Floats, step: Floats, y_bounds: Any) -> tuple[Floats, float]:
    """Coefficients and intercept in the user's units; an entry after the features is a constant's.

    A feature of the domain is 0 at `origin` and 1 a `step` from there, both in the user's units.
    """
    y_low, y_high = check.bounds(y_bounds, "y_bounds")
    half_width = (y_high - y_low) / 2
    middle = (y_low + y_high) / 2
    d = len(step)
    coef = half_width * theta[:d] / step
    constant = half_width * theta[d] if len(theta) > d else 0.0
    return coef, float(middle + constant - coef @ origin)
