"""Ridge regression in which people have weights."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.exercises.foundations.assignment import hidden, visible
from pdpbook.exercises.properties import Answer


def _people(rng: Generator, n: int = 30, d: int = 4) -> tuple[Any, Any, Any]:
    X, y = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, n)
    weights = rng.uniform(0.2, 2, n)
    return X, y, weights / weights.sum()


@visible("weighted_ridge")
def ridge_has_a_coefficient_a_feature(answer: Answer, rng: Generator) -> bool:
    """There is one coefficient for each feature."""
    return bool(np.shape(answer(*_people(rng), 0.1)) == (4,))


@visible("weighted_ridge")
def a_huge_penalty_leaves_nothing(answer: Answer, rng: Generator) -> bool:
    """Under a huge penalty all coefficients are nearly 0."""
    return bool(np.max(np.abs(answer(*_people(rng), 1e9))) < 1e-6)


@visible("weighted_ridge")
def a_line_without_scatter_is_found(answer: Answer, rng: Generator) -> bool:
    """Where labels follow a line exactly and the penalty is tiny, the line is found."""
    X, _, weights = _people(rng)
    line = rng.uniform(-1, 1, 4)
    return bool(np.allclose(answer(X, X @ line, weights, 1e-9), line, atol=1e-6))


def _is_minimum(answer: Answer, X: Any, y: Any, weights: Any, lam: float) -> bool:
    theta = np.asarray(answer(X, y, weights, lam))
    gradient = X.T @ (weights * (X @ theta - y)) + lam * theta  # convex: 0 only at the minimum
    return bool(np.linalg.norm(gradient) < 1e-9)


@hidden("weighted_ridge")
def nothing_nearby_is_better(answer: Answer, rng: Generator) -> bool:
    """No coefficients have a smaller objective."""
    return _is_minimum(answer, *_people(rng), float(rng.choice([0.01, 0.3, 2.0])))


@hidden("weighted_ridge")
def a_few_people_are_enough(answer: Answer, rng: Generator) -> bool:
    """It is right, too, for fewer people than features, and for one person."""
    return all(_is_minimum(answer, *_people(rng, n=n), 0.3) for n in (1, 3))


@hidden("weighted_ridge")
def a_person_of_weight_zero_is_absent(answer: Answer, rng: Generator) -> bool:
    """Somebody of weight 0 changes nothing."""
    X, y, weights = _people(rng)
    more = np.vstack([X, rng.uniform(-1, 1, 4)]), np.append(y, 1.0), np.append(weights, 0.0)
    return bool(np.allclose(answer(*more, 0.2), answer(X, y, weights, 0.2), atol=1e-9))


@hidden("weighted_ridge")
def twice_the_weight_is_two_people(answer: Answer, rng: Generator) -> bool:
    """Somebody of twice the weight counts like two people."""
    X, y, weights = _people(rng, n=8)
    pick = [0, 0, *range(1, 8)]
    halves = weights[pick] * np.where(np.array(pick) == 0, 0.5, 1.0)
    one, two = answer(X, y, weights, 0.1), answer(X[pick], y[pick], halves, 0.1)
    return bool(np.allclose(one, two, atol=1e-9))


@hidden("weighted_ridge")
def weights_and_penalty_share_a_unit(answer: Answer, rng: Generator) -> bool:
    """Weights and penalty that both double leave the coefficients as they were."""
    X, y, weights = _people(rng)
    one, two = answer(X, y, weights, 0.3), answer(X, y, 2 * weights, 0.6)
    return bool(np.allclose(one, two, atol=1e-9))
