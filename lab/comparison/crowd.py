"""People with public bounds in clinical units, and the error a private predictor makes on them.

An affine predictor is a vector of coefficients with the intercept last, in units of the table. Its
squared error is quadratic, so mean and covariance of the released vector say all about its mean.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.datasets import diabetes_design, load, sample_zipf_users
from pdpbook.domains import (
    Cube,
    ball_to_user_units,
    features_to_domain,
    labels_to_domain,
    rows_to_ball,
)

FEATURES = ("age", "sex", "bmi", "bp")  #: what a practice knows without a laboratory
CLINICS = 5  #: seed of the invented clinics
ZIPF = 1.5  #: exponent of their sizes


@dataclass(frozen=True, eq=False)
class Crowd:
    """People, their public bounds, and whose they are."""

    X: Floats  #: shape (n, d), in clinical units
    y: Floats  #: shape (n,)
    bounds: Floats  #: shape (d, 2), public
    y_bounds: tuple[float, float]  #: public
    users: NDArray[np.int64]  #: shape (n,), owner of each row, invented and public
    groups: pd.DataFrame  #: shape (n, k), categories of everybody, read from private data

    @property
    def units(self) -> dict[str, Any]:
        """Public settings that every mechanism on features is given."""
        return {"bounds": self.bounds, "y_bounds": self.y_bounds, "fit_intercept": True}

    @cached_property
    def rows(self) -> Floats:
        """Rows with a constant last, in clinical units, shape (n, d + 1)."""
        return np.column_stack([self.X, np.ones(len(self.y))])

    @cached_property
    def cube(self) -> tuple[Floats, Floats]:
        """Rows in the unit cube with a constant last, and labels between -1 and 1."""
        X = features_to_domain(self.X, self.bounds, False, True)
        return X, labels_to_domain(self.y, self.y_bounds, False)

    @cached_property
    def ball(self) -> tuple[Floats, Floats]:
        """Rows in the unit ball with a constant last, and labels between -1 and 1."""
        X = rows_to_ball(self.X, self.bounds, None, False, True)
        return X, labels_to_domain(self.y, self.y_bounds, False)

    def map_from(self, domain: str) -> tuple[Floats, Floats]:
        """Matrix and offset that take parameters on "cube" or "ball" to clinical units."""
        check.choice(domain, "domain", ("cube", "ball"))
        d = self.X.shape[1]
        cube = Cube(
            bounds=self.bounds, y_bounds=self.y_bounds, columns=d, fit_intercept=True, clip=False
        )

        def back(theta: Floats) -> Floats:
            if domain == "cube":
                return np.append(*cube.to_user_units(theta))
            return np.append(*ball_to_user_units(theta, d, self.bounds, self.y_bounds, None))

        offset = back(np.zeros(d + 1))
        return np.array([back(e) - offset for e in np.eye(d + 1)]).T, offset

    def error(self, coefficients: ArrayLike, where: NDArray[np.bool_] | None = None) -> Floats:
        """Mean squared error of predictors of shape (..., d + 1), of all people or some."""
        rows, y = self._some(where)
        S, b, c = rows.T @ rows / len(y), rows.T @ y / len(y), y @ y / len(y)
        v = np.asarray(coefficients, dtype=float)
        return np.asarray(np.sum((v @ S) * v, axis=-1) - 2 * v @ b + c)

    def lines(self, where: NDArray[np.bool_] | None = None) -> dict[str, float]:
        """Errors without privacy: of the middle of the bounds, of the mean, of the best fit."""
        constant = np.zeros((2, self.rows.shape[1]))
        constant[:, -1] = np.mean(self.y_bounds), self.y.mean()
        fit = np.linalg.lstsq(self.rows, self.y, rcond=None)[0]
        names = ("middle of the bounds", "mean", "least squares")
        found = self.error(np.vstack([constant, fit]), where)
        return dict(zip(names, map(float, found), strict=True))

    def _some(self, where: NDArray[np.bool_] | None) -> tuple[Floats, Floats]:
        return (self.rows, self.y) if where is None else (self.rows[where], self.y[where])


@dataclass(frozen=True, eq=False)
class Release:
    """Mean and covariance of a released predictor, and the ceiling its promise puts on guesses."""

    mean: Floats  #: shape (d + 1,), intercept last, in clinical units
    covariance: Floats  #: shape (d + 1, d + 1)
    ceiling: Floats  #: largest success rate of a guess, for everybody or one a unit of protection
    draws: Floats | None = None  #: shape (k, d + 1) where the moments are those of draws
    lam: float = np.nan  #: penalty of the mechanism, where it has one

    def error(self, crowd: Crowd, where: NDArray[np.bool_] | None = None) -> float:
        """Mean squared error, averaged over the noise: exact, or over the draws."""
        rows, _ = crowd._some(where)
        noise = np.einsum("ij,jk,ik->", rows, self.covariance, rows) / len(rows)
        return float(crowd.error(self.mean, where) + noise)

    def standard_error(self, crowd: Crowd) -> float:
        """Of `error`; 0 where the moments are exact."""
        if self.draws is None:
            return 0.0
        return float(crowd.error(self.draws).std(ddof=1) / np.sqrt(len(self.draws)))


def patients(features: Sequence[str] = FEATURES) -> Crowd:
    """The 442 patients of the diabetes study, with invented clinics.

    Parameters
    ----------
    features : sequence of str, default FEATURES
        Columns of the table, chosen without a look at the labels.

    Returns
    -------
    Crowd
        With public clinical bounds. Groups are thirds by age and by progression, and sex. Clinics
        are consecutive rows with sizes from Zipf's law: a teaching device, no fact about patients.
    """
    table, label, bounds, y_bounds = diabetes_design(load("diabetes"))
    for name in features:
        check.choice(name, "features", tuple(table.columns))
    at = [table.columns.get_loc(name) for name in features]
    thirds = ["low", "middle", "high"]
    groups = pd.DataFrame(
        {
            "age": pd.qcut(table["age"], 3, labels=thirds).astype(str),
            "sex": table["sex"].map({1.0: "coded 1", 2.0: "coded 2"}),
            "progression": pd.qcut(label, 3, labels=thirds).astype(str),
        }
    )
    users = sample_zipf_users(len(table), ZIPF, rng=np.random.default_rng(CLINICS))
    X = table[list(features)].to_numpy(dtype=float)
    return Crowd(X, label.to_numpy(dtype=float), bounds[at], y_bounds, users, groups)
