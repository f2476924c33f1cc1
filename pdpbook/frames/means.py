"""What estimators have in common that release a mean of labels: X counts for its rows alone."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pdpbook import Floats
from pdpbook._domain import labels_of, refuse_few, row_count


class MeanOfLabels:
    """Reading, predicting and tags; before the frame among the bases of a mechanism."""

    mean_: float

    def read(self, X: Any, y: Any) -> tuple[Floats, Floats]:
        rows, labels = self.design(X, y)
        refuse_few(len(labels))
        return rows, labels

    def design(self, X: Any, y: Any) -> tuple[Floats, Floats]:
        labels = labels_of(X, y)
        return np.zeros((len(labels), 1)), labels

    def predict(self, X: ArrayLike) -> Floats:
        """Return the released mean once for each row of X."""
        check_is_fitted(self)
        return np.full(row_count(X), self.mean_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()  # type: ignore[misc]
        tags.no_validation = tags.input_tags.sparse = True  # X is not looked at
        tags.regressor_tags.poor_score = True  # a mean explains no variance
        return tags
