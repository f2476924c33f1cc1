"""What the posterior estimators share: the map into the unit ball, prediction, refusals."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pdpbook._domain import (
    ball_to_user_units,
    check_mapping,
    check_number,
    finite_data,
    generator_from,
    labels_of,
    labels_to_domain,
    rows_to_ball,
)
from pdpbook.posterior.certificates import Certificate, posterior_certificate
from pdpbook.validation import check_count, check_delta, check_design, check_epsilon

__all__: list[str] = []

Floats = NDArray[np.float64]


class UnitBallRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Map the data into the unit ball, release there, and come back."""

    epsilon: ArrayLike
    delta: float
    n_max: int
    fit_intercept: bool
    bounds: ArrayLike
    y_bounds: ArrayLike
    row_norm: float | None
    clip: bool
    random_state: int | np.random.Generator | None

    def fit(self, X: ArrayLike, y: ArrayLike, *, epsilon: ArrayLike | None = None) -> Self:
        """Release private coefficients.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person, inside `bounds`; n at most `n_max`.
        y : array_like, shape (n,)
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Budgets in nats; everybody is kept the smallest. None is the constructor's.

        Returns
        -------
        self
            The fitted estimator.
        """
        budgets = self._check_settings(epsilon)
        rng = generator_from(self.random_state)
        rows = validate_data(self, X, dtype=float, ensure_all_finite=False)
        X, y = finite_data(rows, labels_of(rows, y))
        self._release(*self._to_domain(X, y, budgets), rng)
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Predict from the released coefficients; X may lie outside `bounds`."""
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=float, reset=False)
        return np.asarray(rows @ self.coef_ + self.intercept_)

    def certificate(self, X: ArrayLike, y: ArrayLike, *, failure: float = 1e-3) -> Certificate:
        """Upper bounds participants can compute on their own loss, from the release alone.

        Parameters
        ----------
        X : array_like, shape (m, d)
            Rows of participants, in your units, inside `bounds`.
        y : array_like, shape (m,)
            Their labels.
        failure : float, default 1e-3
            Probability that the certificate of one person is wrong, in (0, 1).

        Returns
        -------
        Certificate
            See `posterior_certificate`; its delta is the one of the estimator.
        """
        check_is_fitted(self)
        rows, labels = self._map(*check_design(X, y))
        return posterior_certificate(
            rows,
            labels,
            self.theta_,
            gamma=self.gamma_,
            h=self.h_,
            delta=self.delta,
            failure=failure,
        )

    def _release(self, X: Floats, y: Floats, epsilon: float, rng: np.random.Generator) -> None:
        raise NotImplementedError

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = check_epsilon(self.epsilon if epsilon is None else epsilon)
        check_delta(self.delta)
        check_count(self.n_max, "n_max")
        if self.row_norm is not None:
            check_number(self.row_norm, "row_norm")
        check_mapping(self.bounds, self.y_bounds, self.clip, self.fit_intercept)
        return budgets

    def _map(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        rows = rows_to_ball(X, self.bounds, self.row_norm, self.clip, self.fit_intercept)
        return rows, labels_to_domain(y, self.y_bounds, self.clip)

    def _to_domain(self, X: Floats, y: Floats, budgets: Any) -> tuple[Floats, Floats, float]:
        if len(X) > self.n_max:
            raise ValueError(
                f"X must have at most n_max = {self.n_max} rows; got {len(X)}. Raise the public "
                "n_max, for a reason that does not come from these data"
            )
        epsilon = float(np.min(check_epsilon(budgets, len(y))))
        return *self._map(X, y), epsilon

    def _back(self, theta: Floats) -> None:
        """Store released coefficients, on the domain and in the user's units."""
        self.theta_ = theta
        self.coef_, self.intercept_ = ball_to_user_units(
            theta, self.n_features_in_, self.bounds, self.y_bounds, self.row_norm
        )
