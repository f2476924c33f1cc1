"""Prediction from what a weighted fit has released: a number, or the likelier of two classes."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags
from sklearn.utils.metaestimators import available_if

from pdpbook import Floats
from pdpbook.linear import linear_predictions

__all__: list[str] = []  # for the estimators of the package


def _is_logistic(model: Any) -> bool:
    return bool(model.loss == "logistic")


class LinearPredictor(BaseEstimator):  # type: ignore[misc]
    """Released coefficients: a regressor with ``loss="square"``, a classifier with "logistic"."""

    loss: str
    classes_: NDArray[Any]  #: of the logistic loss only

    def predict(self, X: ArrayLike) -> Any:
        """Predict labels, or the likelier class; X may lie outside `bounds`."""
        scores = linear_predictions(self, X)
        if not _is_logistic(self):
            return scores
        return self.classes_[(scores > 0).astype(int)]

    @available_if(_is_logistic)  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the log-odds of the second class, shape (n,)."""
        return linear_predictions(self, X)

    @available_if(_is_logistic)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities of the two classes, shape (n, 2)."""
        log_odds = linear_predictions(self, X)
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination, or the accuracy. Not private."""
        measure = accuracy_score if _is_logistic(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if _is_logistic(self):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags
