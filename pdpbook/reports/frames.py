"""Rows of the user on the domain of a theorem, and what noise there does in the user's units."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from pdpbook import Floats, check


class Sizes(NamedTuple):
    """How far noise moves things, root mean square, in the user's units."""

    coefficients: Floats  #: shape (d,); empty for a mean
    intercept: float  #: of the intercept
    prediction: float  #: of predictions


@dataclass(frozen=True, eq=False)
class Frame:
    """From rows in the user's units to the rows that noise is added along."""

    low: Floats  #: where `shift` is, in the user's units
    step: Floats  #: growth of each entry per unit of its column
    shift: float
    constant: float | None  #: the last entry, if there is a constant feature
    half: float  #: units of a prediction per unit on the domain
    width: float | None  #: range of the labels, in the user's units; None for log-odds
    even: Floats  #: second moments of rows spread evenly, or of the public rows
    rows: str  #: which ones these are
    kept: Floats  #: second moments of the same rows, shortened to the row norm: the data

    @property
    def order(self) -> int:
        return len(self.even)

    def sizes(self, law: Any) -> Sizes:
        """Root mean squares for second moments V, or for a bound on their trace."""
        axes = [_root(law, np.outer(e, e)) for e in np.eye(self.order)[: len(self.step)]]
        origin = _joined((self.shift - self.low * self.step)[None], self.constant)
        intercept = self.half * _root(law, _moments(origin))
        moved = np.asarray(self.half * self.step * axes, dtype=float)
        return Sizes(moved, intercept, self.prediction(law))

    def prediction(self, law: Any) -> float:
        return self.half * _root(law, self.even)


def _joined(rows: Floats, constant: float | None) -> Floats:
    return rows if constant is None else np.column_stack([rows, np.full(len(rows), constant)])


def _moments(rows: Floats) -> Floats:
    return np.asarray(rows.T @ rows / len(rows))


def _root(law: Any, moments: Floats) -> float:
    """Root of tr(V Q), or of the most it can be where the trace of V is all that is known."""
    most = np.vdot(law, moments) if np.ndim(law) else law * np.linalg.eigvalsh(moments)[-1]
    return float(np.sqrt(max(most, 0.0)))


EVEN = 4096  # of them stand for all where their moments have no closed form
EVENLY = "rows spread evenly within the bounds"


def cube_frame(model: Any, d: int, row_norm: float | None = None) -> Frame:
    """Rows in [0, 1]^d, labels in [-1, 1]."""
    return _box_frame(model, d, 0.0, 1.0, row_norm)


def ball_frame(
    model: Any, d: int, row_norm: float | None = None, *, log_odds: bool = False
) -> Frame:
    """Rows in [-1, 1]^d over a public norm, labels in [-1, 1], or classes."""
    radius = check.radius(d + bool(model.fit_intercept), row_norm)
    return _box_frame(model, d, -1.0, radius, radius, log_odds)


def _box_frame(
    model: Any, d: int, start: float, radius: float, longest: Any, log_odds: bool = False
) -> Frame:
    """Rows in [start, 1]^d, over `radius`; those longer than `longest` are shortened."""
    low, high = check.bounds(model.bounds, "bounds", d)
    constant = 1 / radius if model.fit_intercept else None
    wide, middle = (1 - start) / radius, (1 + start) / (2 * radius)
    mean = _joined(np.full((1, d), middle), constant)
    even = _moments(mean) + np.diag(_joined(np.full((1, d), wide**2 / 12), constant and 0.0)[0])
    kept = even
    if longest is not None and longest < np.sqrt(len(even)):
        rows = start + (1 - start) * np.random.default_rng(0).random((EVEN, d))
        rows = _joined(rows, constant and 1.0)
        rows *= np.minimum(1.0, longest / np.linalg.norm(rows, axis=1))[:, None]
        kept = _moments(rows / radius)
    width = None if log_odds else width_of_labels(model)
    units = 1.0 if width is None else width / 2, width
    return Frame(low, wide / (high - low), start / radius, constant, *units, even, EVENLY, kept)


def table_frame(X: Floats, fit_intercept: bool, width: float, *, centered: bool = False) -> Frame:
    """Public rows, as they are or from their means."""
    low, constant = X.mean(axis=0) * centered, 1.0 if fit_intercept else None
    even = _moments(_joined(X - low, constant))
    step, rows = np.ones(X.shape[1]), "the public rows of X"
    return Frame(low, step, 0.0, constant, 1.0, width, even, rows, even)


def mean_frame(half: float, width: float) -> Frame:
    """No rows at all: one number for everybody."""
    none, even = np.empty(0), np.ones((1, 1))
    return Frame(none, none, 0.0, 1.0, half, width, even, "any rows", even)


def width_of_labels(model: Any) -> float:
    low, high = check.bounds(model.y_bounds, "y_bounds")
    return float(high - low)
