"""Ridge regression in which people have weights."""

from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import ROUNDING, leaves
from pdpbook.pages.exercises.foundations import hidden, people
from pdpbook.pages.exercises.properties import Answer


def _is_minimum(answer: Answer, X: Any, y: Any, weights: Any, lam: float) -> bool:
    theta = np.asarray(answer(X, y, weights, lam))
    curvature = X.T @ (weights[:, None] * X) + lam * np.eye(X.shape[1])
    away = np.linalg.solve(curvature, curvature @ theta - X.T @ (weights * y))  # from the minimum
    return bool(np.linalg.norm(away) <= ROUNDING * np.linalg.norm(theta))


@hidden("weighted_ridge", weight=3, promise=True)
def nothing_nearby_is_better(answer: Answer, rng: Generator) -> bool:
    """No coefficients have a smaller objective."""
    lam = float(rng.choice([0.01, 0.3, 2.0]))
    # first so few people that the feedback can show all of them
    return all(_is_minimum(answer, *people(rng, n=n), lam) for n in (6, 30))


@hidden("weighted_ridge")
def a_few_people_are_enough(answer: Answer, rng: Generator) -> bool:
    """It is right, too, for fewer people than features, and for one person."""
    return all(_is_minimum(answer, *people(rng, n=n), 0.3) for n in (1, 3))


@hidden("weighted_ridge")
def a_person_of_weight_zero_is_absent(answer: Answer, rng: Generator) -> bool:
    """Somebody of weight 0 changes nothing."""
    X, y, weights = people(rng)
    more = np.vstack([X, rng.uniform(-1, 1, 4)]), np.append(y, 1.0), np.append(weights, 0.0)
    return bool(np.allclose(answer(*more, 0.2), answer(X, y, weights, 0.2), atol=1e-6))


@hidden("weighted_ridge")
def twice_the_weight_is_two_people(answer: Answer, rng: Generator) -> bool:
    """Somebody of twice the weight counts like two people."""
    X, y, weights = people(rng, n=8)
    pick = [0, 0, *range(1, 8)]
    halves = weights[pick] * np.where(np.array(pick) == 0, 0.5, 1.0)
    one, two = answer(X, y, weights, 0.1), answer(X[pick], y[pick], halves, 0.1)
    return bool(np.allclose(one, two, atol=1e-6))


@hidden("weighted_ridge", promise=True)
def weights_and_penalty_share_a_unit(answer: Answer, rng: Generator) -> bool:
    """Weights and penalty that both double leave the coefficients as they were."""
    X, y, weights = people(rng)
    one, two = answer(X, y, weights, 0.3), answer(X, y, 2 * weights, 0.6)
    return bool(np.allclose(one, two, atol=1e-6))


@hidden("weighted_ridge", promise=True)
def weights_may_differ_and_features_agree(answer: Answer, rng: Generator) -> bool:
    """It is right, too, for weights from 0.1 to 100, and for two features that nearly agree."""
    X, y, _ = people(rng)
    X[:, 1] = X[:, 0] + 0.01 * X[:, 1]
    return _is_minimum(answer, X, y, 10 ** rng.uniform(-1, 2, 30), 0.01)


@hidden("weighted_ridge")
def the_data_are_left_alone(answer: Answer, rng: Generator) -> bool:
    """Rows, labels and weights are left as they were handed in."""
    X, y, weights = people(rng)
    return leaves(answer, X, y, 3 * weights, 0.3)
