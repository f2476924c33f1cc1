"""Domains of the theorems, reached from the user's units by public bounds, and the way back."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook._domain import (
    ball_to_user_units,
    bound_rows,
    features_to_domain,
    inside,
    labels_to_domain,
    rows_to_ball,
    to_user_units,
)

__all__: list[str] = []  # for the estimators of the package


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
        return to_user_units(theta, self.columns, self.bounds, self.y_bounds)


@dataclass(frozen=True, kw_only=True)
class CenteredCube(Bounds):
    """Rows in [-1, 1]^d, labels in [-1, 1]."""

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return rows, shape (n, d), and labels, shape (n,), on the domain."""
        rows = features_to_domain(X, self.bounds, self.clip, self.fit_intercept)
        return 2 * rows - 1, labels_to_domain(y, self.y_bounds, self.clip)

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
        return (np.column_stack([X, np.ones(len(X))]) if self.fit_intercept else X), y

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
