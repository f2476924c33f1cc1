"""What weighted fits read: rows mapped into a ball, and labels that are numbers or two classes."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import check_consistent_length

from pdpbook import Floats, check
from pdpbook.domains import Ball, ball_to_user_units, labels_to_domain, rows_to_ball
from pdpbook.sums import Sums, refuse_mechanism
from pdpbook.tables import read_labels, read_table
from pdpbook.user_level.erm.losses import two_classes
from pdpbook.user_records import UserRecords, user_records

__all__: list[str] = []  # for the estimators of the package


@dataclass(frozen=True, kw_only=True)
class BallWithLabels(Ball):
    """Rows in the unit ball, and labels in [-1, 1], or two classes as -1 and 1."""

    loss: str  #: "square" for numbers, "logistic" for classes
    classes: ArrayLike | None  #: the two, the positive one last; None takes those that occur

    def to_domain(self, X: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return rows, shape (n, d), and labels, shape (n,), on the domain."""
        if self.loss == "logistic":
            _, labels = two_classes(y, self.classes)
        else:
            labels = labels_to_domain(y, self.y_bounds, self.clip)
        return rows_to_ball(X, self.bounds, self.row_norm, self.clip, self.fit_intercept), labels

    def to_user_units(self, theta: Floats) -> tuple[Floats, float]:
        """Return coefficients, shape (columns,), and intercept: of the labels, or of log-odds."""
        y_bounds = (-1.0, 1.0) if self.loss == "logistic" else self.y_bounds
        return ball_to_user_units(theta, self.columns, self.bounds, y_bounds, self.row_norm)


def read_records(model: Any, X: Any, y: Any, users: Any) -> UserRecords:
    """Return what `fit` was given, by scikit-learn's checks of tables; `Sums` are refused."""
    if isinstance(X, Sums):
        refuse_mechanism(model)
    rows = read_table(model, X)
    return user_records(rows, _read_labels(model, rows, y), users, X, y)


def records_for_audit(model: Any, X: Any, y: Any, users: Any) -> UserRecords:
    """Return what `output_law` was given, like `read_records`; the model stays as it is."""
    if isinstance(X, Sums):
        refuse_mechanism(model)
    rows = check.matrix(X, "X")
    return user_records(rows, _read_labels(model, rows, y), users, X, y)


def _read_labels(model: Any, rows: Floats, y: Any) -> NDArray[Any]:
    """Return one label a row, shape (n,): numbers, or names of classes as they came."""
    if y is None or model.loss != "logistic":
        return read_labels(rows, y)
    check.refuse_hidden(y, "y")
    check_consistent_length(rows, y)
    return np.asarray(y)
