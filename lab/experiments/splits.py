"""The two data sets of the sweeps, split as printed into people to train on and to test on."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache

import numpy as np
from numpy.typing import NDArray
from sklearn.model_selection import train_test_split

from pdpbook import Floats
from pdpbook.datasets import load, make_ridge_data, medical_cost_design

DATA = ("synthetic", "medical-cost")
PEOPLE, FEATURES, TESTED, SPLIT_SEED = 100, 30, 0.2, 21


@dataclass(frozen=True)
class Split:
    """People to train on and people to test on, with what every fit needs of them."""

    X: Floats  #: shape (n, d), in [0, 1]
    y: Floats  #: shape (n,), in [-1, 1]
    X_test: Floats  #: shape (N, d)
    y_test: Floats  #: shape (N,)

    @cached_property
    def products(self) -> Floats:
        """Upper triangle of x x' beside x y, a row a person."""
        k, m = np.triu_indices(self.X.shape[1])
        return np.hstack([self.X[:, k] * self.X[:, m], self.X * self.y[:, None]])

    @cached_property
    def test_gram(self) -> tuple[Floats, Floats, float]:
        """Second moments of the test data, of x with x, x with y, and y with y."""
        X, y = self.X_test, self.y_test
        return X.T @ X / len(y), X.T @ y / len(y), float(y @ y / len(y))

    def head(self, rows: NDArray[np.int_]) -> Split:
        """Train on some of the people only; the test data stay."""
        return Split(self.X[rows], self.y[rows], self.X_test, self.y_test)


def split_of(data: str, rng: np.random.Generator) -> Split:
    """Data of one draw: fresh synthetic ones, or the insurance records in their printed split."""
    if data == "medical-cost":
        return _medical_split()
    X, y, _ = make_ridge_data(PEOPLE, FEATURES, rng=rng)
    n = PEOPLE - round(TESTED * PEOPLE)
    return Split(X[:n], y[:n], X[n:], y[n:])


@lru_cache(maxsize=1)
def _medical_split() -> Split:
    X, y = medical_cost_design(load("medical-cost"))
    parts = train_test_split(X.to_numpy(), y.to_numpy(), test_size=TESTED, random_state=SPLIT_SEED)
    return Split(parts[0], parts[2], parts[1], parts[3])


def share_of(split: Split, data: str, fraction: float) -> Split:
    """The part of the training people that a fraction keeps: medical records as printed."""
    if not fraction <= 1:
        raise ValueError(f"train_fraction must be at most 1; got {fraction:g}")
    if fraction == 1:
        return split
    rows = np.arange(len(split.y))
    if data == "medical-cost":
        rows, _ = train_test_split(rows, train_size=float(fraction), random_state=SPLIT_SEED)
    return split.head(rows[: int(np.floor(fraction * len(split.y) + 1e-9))])
