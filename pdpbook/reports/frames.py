"""Rows of the user on the domain of a theorem, and what noise there does in the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook._domain import ball_radius
from pdpbook.validation import check_bounds

Floats = NDArray[np.float64]


class Sizes(NamedTuple):
    """How far noise moves things, root mean square, in the user's units.

    Attributes
    ----------
    coefficients : ndarray, shape (d,)
        Of each coefficient; empty for a mean.
    intercept, prediction : float
        Of the intercept, and of predictions.
    """

    coefficients: Floats
    intercept: float
    prediction: float


@dataclass(frozen=True, eq=False)
class Frame:
    """From rows in the user's units to the rows that noise is added along."""

    low: Floats  #: where `shift` is, in the user's units
    step: Floats  #: growth of each entry per unit of its column
    shift: float
    constant: float | None  #: the last entry, if there is a constant feature
    half: float  #: units of a prediction per unit on the domain
    even: Floats  #: second moments of rows spread evenly, or of the public rows
    rows: str  #: which ones these are
    kept: Floats  #: second moments of the same rows, shortened to the row norm: the data

    @property
    def order(self) -> int:
        """Number of parameters."""
        return len(self.even)

    def on_domain(self, X: Floats) -> Floats:
        """Rows of the user on the domain, nothing clipped; shape (m, k)."""
        rows = self.shift + (X[:, : len(self.step)] - self.low) * self.step
        if self.constant is None:
            return np.asarray(rows)
        return np.column_stack([rows, np.full(len(rows), self.constant)])

    def moments(self, at: Floats | None) -> Floats:
        """Second moments on the domain of the rows where predictions are made."""
        return self.even if at is None else _moments(self.on_domain(at))

    def sizes(self, law: Any, at: Floats | None) -> Sizes:
        """Root mean squares for second moments V, or for a bound on their trace."""
        k, d = self.order, len(self.step)
        axes = np.eye(k)[:d]
        coefficients = self.half * self.step * [_root(law, np.outer(e, e)) for e in axes]
        zero = self.on_domain(np.zeros((1, d)))
        moments = self.moments(at)
        return Sizes(
            np.asarray(coefficients, dtype=float),
            self.half * _root(law, _moments(zero)),
            self.half * _root(law, moments),
        )


def _moments(rows: Floats) -> Floats:
    return np.asarray(rows.T @ rows / len(rows))


def _root(law: Any, moments: Floats) -> float:
    """Root of tr(V Q), or of the most it can be where the trace of V is all that is known."""
    if np.ndim(law):
        return float(np.sqrt(max(np.vdot(law, moments), 0.0)))
    return float(np.sqrt(law * max(np.linalg.eigvalsh(moments)[-1], 0.0)))


def _evenly(mean: Floats, variance: Floats, constant: float | None) -> Floats:
    if constant is not None:
        mean, variance = np.append(mean, constant), np.append(variance, 0.0)
    return np.asarray(np.outer(mean, mean) + np.diag(variance))


EVEN = 4096  # of them stand for all where their moments have no closed form
EVENLY = "rows spread evenly within the bounds"


def cube_frame(model: Any, d: int, row_norm: float | None = None) -> Frame:
    """Rows in [0, 1]^d, labels in [-1, 1]."""
    low, high = check_bounds(model.bounds, "bounds", d)
    constant = 1.0 if model.fit_intercept else None
    even = _evenly(np.full(d, 1 / 2), np.full(d, 1 / 12), constant)
    half = width_of_labels(model) / 2
    kept = even
    if row_norm is not None and row_norm < np.sqrt(len(even)):
        kept = _moments(even_rows(EVEN, d, 0.0, constant, row_norm))
    return Frame(low, 1 / (high - low), 0.0, constant, half, even, EVENLY, kept)


def ball_frame(
    model: Any, d: int, row_norm: float | None = None, half: float | None = None
) -> Frame:
    """Rows in [-1, 1]^d over a public norm, labels in [-1, 1]."""
    low, high = check_bounds(model.bounds, "bounds", d)
    radius = ball_radius(d + bool(model.fit_intercept), row_norm)
    constant = 1 / radius if model.fit_intercept else None
    even = _evenly(np.zeros(d), np.full(d, 1 / (3 * radius**2)), constant)
    half = width_of_labels(model) / 2 if half is None else half
    kept = even
    if radius < np.sqrt(len(even)):
        kept = _moments(even_rows(EVEN, d, -1.0, constant, radius) / radius)
    return Frame(low, 2 / (radius * (high - low)), -1 / radius, constant, half, even, EVENLY, kept)


def even_rows(
    count: int, d: int, low: float, constant: float | None, row_norm: float | None, seed: int = 0
) -> Floats:
    """Rows spread evenly over [low, 1]^d, those that are longer than `row_norm` shortened."""
    rows = low + (1 - low) * np.random.default_rng(seed).random((count, d))
    if constant is not None:
        rows = np.column_stack([rows, np.ones(count)])
    if row_norm is not None:
        rows *= np.minimum(1.0, row_norm / np.linalg.norm(rows, axis=1))[:, None]
    return np.asarray(rows)


def table_frame(X: Floats, fit_intercept: bool, *, centered: bool = False) -> Frame:
    """Public rows, as they are or from their means."""
    d, constant = X.shape[1], 1.0 if fit_intercept else None
    low = X.mean(axis=0) if centered else np.zeros(d)
    rows = np.column_stack([X - low, np.ones(len(X))]) if fit_intercept else X - low
    even = _moments(rows)
    return Frame(low, np.ones(d), 0.0, constant, 1.0, even, "the public rows of X", even)


def mean_frame(half: float) -> Frame:
    """No rows at all: one number for everybody."""
    even = np.ones((1, 1))
    return Frame(np.empty(0), np.empty(0), 0.0, 1.0, half, even, "any rows", even)


def width_of_labels(model: Any) -> float:
    low, high = check_bounds(model.y_bounds, "y_bounds")
    return float(high - low)
