"""What the label-private regressions share: reading public rows, and a public plan."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from pdpbook import Floats, check
from pdpbook.noise.public import PublicNoise
from pdpbook.sums import Sums, refuse_mechanism
from pdpbook.tables import read_labels, read_table
from pdpbook.user_records import Plan, UserRecords, user_records

__all__: list[str] = []  # for the estimators of the package

NEGLIGIBLE = 1e-7  # a budget below this share of the largest counts as 0, and is promised 0


@dataclass(frozen=True, eq=False)
class MatrixPlan(Plan):
    """A public matrix for the labels, shape (k, n), and the noise on each of the k numbers."""

    to_coefficients: Floats  #: shape (d, k), from what is released
    rank: int  #: of the rows, a constant feature included


def read_public_rows(model: Any, X: Any, y: Any, users: Any) -> UserRecords:
    """Return the rows that `fit` was given, and who owns each; `Sums` are refused."""
    if isinstance(X, Sums):
        refuse_mechanism(model)
    rows = read_table(model, X, ensure_all_finite=True)
    return user_records(rows, read_labels(rows, y), users, X, y)


def public_rows_for_audit(model: Any, X: Any, y: Any, users: Any) -> UserRecords:
    """Return what `output_law` was given, like `read_public_rows`; the model stays as it is."""
    if isinstance(X, Sums):
        refuse_mechanism(model)
    rows, labels = check.design(X, y)
    return user_records(rows, labels, users, X, y)


def drop_negligible_budgets(budgets: Floats) -> Floats:
    """Return the budgets with 0 for those next to which no solver can tell the others apart."""
    return np.where(budgets > NEGLIGIBLE * budgets.max(), budgets, 0.0)


def scale_and_exposure(moves: Floats, parameters: Floats, width: float) -> tuple[float, Floats]:
    """Return the scale of the noise, and the largest loss of each user under it.

    `moves` is how far each user can move what is released, per unit of a label; `parameters` is
    what each may lose, epsilon or mu.
    """
    scale = float(width * np.max(moves / parameters))
    return scale, width * moves / scale


def noise_of_coefficients(plan: MatrixPlan, variance: float) -> PublicNoise:
    """Return the noise of the coefficients, of this variance on every number that is released."""
    covariance = variance * plan.to_coefficients @ plan.to_coefficients.T
    return PublicNoise(scale=plan.scale, covariance=covariance)
