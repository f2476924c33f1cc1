"""What the posterior estimators share: the map into the unit ball, prediction, refusals."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import one_budget, taking_part
from pdpbook._domain import (
    BallSums,
    ball_sums,
    ball_to_user_units,
    check_mapping,
    check_sizes,
    finite_part,
    generator_from,
    in_hand,
    labels_of,
    labels_to_domain,
    note_width,
    people_in_blocks,
    predictions,
    refuse_few,
    rows_to_ball,
    table_of,
)
from pdpbook.blocks import Rows
from pdpbook.guarantees import ApproximateDP, BudgetAccount
from pdpbook.posterior.certificates import Certificate, posterior_certificate
from pdpbook.reports.noise import Crowd
from pdpbook.reports.reported import Reported
from pdpbook.validation import check_count, check_delta, check_design, check_epsilon

__all__: list[str] = []

Floats = NDArray[np.float64]


class UnitBallRegressor(Reported, RegressorMixin, BaseEstimator):  # type: ignore[misc]
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

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release private coefficients.

        Parameters
        ----------
        X : array_like, shape (n, d), or Rows
            One row a person, inside `bounds`; n at most `n_max`. Memory maps, Dask arrays and
            `Rows` with columns X, y and perhaps epsilon are read block by block, in one pass.
        y : array_like, shape (n,)
            Labels, inside `y_bounds`; None with `Rows`.
        epsilon : float or array_like, shape (n,), optional
            The public budget in nats, or one each: the same for all, or 0 for whoever takes no
            part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        self
            The fitted estimator.
        """
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        check_account(account)
        rng = generator_from(self.random_state)
        if (people := people_in_blocks(X, y, epsilon, budgets)) is not None:
            sums = self._sums(people, budgets)
            refuse_few(sums.n)
            note_width(self, len(sums.moment) - bool(self.fit_intercept))
            law, level = self._law_of(sums.gram, sums.moment, sums.epsilon), sums.epsilon
        else:
            rows = table_of(self, X)
            part = finite_part(rows, labels_of(rows, y), budgets)
            design, labels, level = self._to_domain(*part)
            law = self._law(design, labels, level)
        promise = ApproximateDP(level, self.delta, neighbors="add-remove")
        charge(account, promise, X)
        self._release(law, level, rng)
        self.guarantee_ = promise
        self._keep_noise(Crowd(self.n_features_in_, level))  # the number of people is not public
        return self

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> Any:
        """Exact law of the release on the domain. NOT private: for audits and teaching.

        Parameters are as in `fit`, which draws once from exactly this law.
        """
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        if (people := people_in_blocks(X, y, epsilon, budgets)) is not None:
            sums = self._sums(people, budgets)
            return self._law_of(sums.gram, sums.moment, sums.epsilon)
        return self._law(*self._to_domain(*check_design(X, y), budgets))

    def predict(self, X: Any) -> Any:
        """Predict from the released coefficients; X may lie outside `bounds`."""
        return predictions(self, X)

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

    def _release(self, law: Any, epsilon: float, rng: np.random.Generator) -> None:
        raise NotImplementedError

    def _law_of(self, gram: Floats, moment: Floats, epsilon: float) -> Any:
        raise NotImplementedError

    def _law(self, X: Floats, y: Floats, epsilon: float) -> Any:
        return self._law_of(X.T @ X, X.T @ y, epsilon)

    def _sums(self, people: Rows, budgets: Any) -> BallSums:
        sums = ball_sums(people, budgets, self._map)
        self._check_number_of_rows(sums.n)
        return sums

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = check_epsilon(self.epsilon if epsilon is None else epsilon)
        one_budget(budgets)
        check_delta(self.delta)
        check_count(self.n_max, "n_max")
        check_sizes(self, "row_norm")
        check_mapping(self.bounds, self.y_bounds, self.clip, self.fit_intercept)
        return budgets

    def _map(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        rows = rows_to_ball(X, self.bounds, self.row_norm, self.clip, self.fit_intercept)
        return rows, labels_to_domain(y, self.y_bounds, self.clip)

    def _to_domain(self, X: Floats, y: Floats, budgets: Any) -> tuple[Floats, Floats, float]:
        X, y, budgets = taking_part(X, y, budgets)
        self._check_number_of_rows(len(X))
        return *self._map(X, y), one_budget(budgets)

    def _check_number_of_rows(self, n: int) -> None:
        if n > self.n_max:
            raise ValueError(
                f"X must have at most n_max = {self.n_max} rows; got {n}. Raise the public "
                "n_max, for a reason that does not come from these data"
            )

    def _back(self, theta: Floats) -> None:
        """Store released coefficients, on the domain and in the user's units."""
        self.theta_ = theta
        self.coef_, self.intercept_ = ball_to_user_units(
            theta, self.n_features_in_, self.bounds, self.y_bounds, self.row_norm
        )
