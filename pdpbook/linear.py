"""What predicts from a release: a line, two classes beside a line, or one number."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.validation import check_is_fitted, validate_data

from pdpbook import Floats
from pdpbook.tables import row_count

__all__: list[str] = []  # for the estimators of the package


class LinearRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A released line: `coef_`, shape (d,), and `intercept_`."""

    def predict(self, X: Any) -> Any:
        """Predict from the released coefficients, in your units; X may lie outside the bounds."""
        return linear_predictions(self, X)


class LinearClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Released log-odds of the second class: `coef_`, shape (d,), and `intercept_`.

    The two classes are in `classes_`, the smaller first.
    """

    classes_: Any

    def decision_function(self, X: Any) -> Floats:
        """Return the released log-odds of ``classes_[1]``, shape (n,)."""
        return linear_predictions(self, X)

    def predict(self, X: Any) -> Any:
        """Predict the likelier class, ``classes_[1]`` above log-odds of 0, shape (n,)."""
        is_second = self.decision_function(X) > 0
        return self.classes_[is_second.astype(int)]

    def predict_proba(self, X: Any) -> Floats:
        """Return what the released log-odds say of each class, shape (n, 2).

        Not calibrated: the penalty draws these toward one half, and noise away from it.
        """
        return probabilities_of_classes(self.decision_function(X))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags


def probabilities_of_classes(log_odds: Floats) -> Floats:
    """Return what the log-odds of the second class, shape (n,), say of both, shape (n, 2)."""
    return np.column_stack([special.expit(-log_odds), special.expit(log_odds)])


class MeanRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A released number, `mean_`, which is predicted for every row."""

    mean_: float

    def predict(self, X: ArrayLike) -> Floats:
        """Return the released mean once for each row of X."""
        check_is_fitted(self)
        return np.full(row_count(X), self.mean_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = tags.input_tags.sparse = True  # X is not looked at
        tags.regressor_tags.poor_score = True  # a mean explains no variance
        return tags


def linear_predictions(model: Any, X: Any) -> Floats:
    """Return the predictions of a fitted estimator for rows X, shape (n,)."""
    check_is_fitted(model)
    rows = validate_data(model, X, dtype=float, reset=False)
    return np.asarray(rows @ model.coef_ + model.intercept_)
