"""What one person can move: bounds, and the record that comes near them."""

import itertools
from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import ROUNDING, leaves
from pdpbook.pages.exercises.personalized import (
    SHORT,
    distance,
    fits,
    hidden,
    in_domain,
    random_records,
)
from pdpbook.pages.exercises.properties import Answer, Demands
from pdpbook.sensitivity import ridge_constant

# --- furthest_move --------------------------------------------------------------------------------


def _crowds(d: int) -> tuple[Any, Any, Any, Any]:
    """Somebody who disagrees with a crowd on some features, then avoids these features."""
    some, level = np.meshgrid(np.arange(d + 1), np.geomspace(1e-5, 1, 60))
    inside = (np.arange(d) < some.reshape(-1, 1)).astype(float)
    crowd = inside * level.reshape(-1, 1)
    before = np.stack([np.ones_like(crowd), crowd], axis=1)
    after = np.stack([1 - inside, crowd], axis=1)
    label = np.ones(before.shape[:2])
    return before, label * [-1, 1], after, label


@hidden("furthest_move", promise=True)
def nobody_alone_moves_further(answer: Answer, rng: Generator) -> Demands:
    """Nobody moves the fit further by another label, on features that they alone have."""
    weights = 10 ** rng.uniform(-5, 0, 5)
    weights /= weights.sum()
    for lam, d in ((0.01, 3), (1.0, 12), (400.0, 4)):
        bound = np.asarray(answer(weights, lam, d))
        for i in range(5):
            X, y = np.zeros((2, 5, d)), np.zeros((2, 5))
            X[:, i], y[:, i] = 1.0, [-1.0, 1.0]
            one, two = fits(X, y, weights, lam)
            yield bound[i] * (1 + ROUNDING) >= np.linalg.norm(one - two)


@hidden("furthest_move", weight=3, promise=True)
def nobody_in_a_crowd_moves_further(answer: Answer, rng: Generator) -> Demands:
    """Nobody moves the fit further in a crowd that agrees, however small the penalty is."""
    before, y, after, z = _crowds(d := 6)
    for lam in (1e-6, 1e-2, 1.0, 50.0):
        light = 1e-3 * min(lam, 1) * rng.uniform(0.5, 1)
        weights = np.array([light, 1 - light])
        move = fits(before, y, weights, lam) - fits(after, z, weights, lam)
        crowd = np.append(light, np.full(40, (1 - light) / 40))  # who agree are one, or forty
        bounds = [answer(w, lam, d)[0] * (1 + ROUNDING) for w in (weights, crowd)]
        yield min(bounds) >= np.linalg.norm(move, axis=1).max()


def _fit_of_two(X: Any, y: Any, weights: Any, lam: float) -> Any:
    """The fit to two people, whose equations are two, however many features there are."""
    return X.T @ np.linalg.solve(X @ X.T + lam * np.diag(1 / weights), y)


@hidden("furthest_move", promise=True)
def many_features_move_no_further(answer: Answer, rng: Generator) -> Demands:
    """Nobody moves the fit further where there are hundreds or thousands of features."""
    for d, some, lam in ((400, 200, 1e-2), (10_000, 1000, 1000.0)):
        crowd = np.where(np.arange(d) < some, min(1, np.sqrt(lam / some)), 0)
        away = (np.arange(d) >= some).astype(float)
        weights = np.array([1e-6, 1 - 1e-6])
        before = _fit_of_two(np.array([np.ones(d), crowd]), np.array([-1, 1]), weights, lam)
        after = _fit_of_two(np.array([away, crowd]), np.array([1, 1]), weights, lam)
        move = np.linalg.norm(before - after)
        yield answer(weights, lam, d)[0] * (1 + 1e-6) >= move


@hidden("furthest_move")
def weights_are_left_alone(answer: Answer, rng: Generator) -> bool:
    """The weights are left as they were handed in."""
    weights = rng.dirichlet(np.ones(5))
    return leaves(lambda given: answer(given, 0.5, 3), weights)


@hidden("furthest_move")
def no_looser_than_the_theorem(answer: Answer, rng: Generator) -> Demands:
    """No bound is larger than that of the theorem, for a heavy, a light or a weightless person."""
    weights = np.append(10 ** rng.uniform(-6, 0, 7), 0.0)
    weights /= weights.sum()
    for lam, d in ((1e-4, 2), (0.3, 12), (5.0, 5), (12.0, 12), (1e3, 30)):
        limit = weights * ridge_constant(lam, d, proof="published")
        yield bool(np.all(answer(weights, lam, d) <= limit * (1 + ROUNDING)))


# --- worst_neighbor -------------------------------------------------------------------------------


def _corner_distances(X: Any, y: Any, weights: Any, i: int, lam: float) -> Any:
    """How far each corner moves the fit: an axis of two ends for each feature and the label."""
    d = X.shape[1]
    ends = np.array(list(itertools.product([0.0, 1.0], repeat=d + 1)))
    new, label = np.repeat(X[None], len(ends), axis=0), np.repeat(y[None], len(ends), axis=0)
    new[:, i], label[:, i] = ends[:, :d], 2 * ends[:, d] - 1
    moves = fits(new, label, weights, lam) - fits(X, y, weights, lam)
    return np.linalg.norm(moves, axis=1).reshape((2,) * (d + 1))


def _best_corner(X: Any, y: Any, weights: Any, i: int, lam: float) -> float:
    return float(_corner_distances(X, y, weights, i, lam).max())


def _summits(distances: Any) -> int:
    """How many corners are better than all that differ from them in one place."""
    flipped = [np.flip(distances, axis) for axis in range(distances.ndim)]
    return int(np.sum(np.all(distances > np.array(flipped), axis=0)))


@hidden("worst_neighbor", weight=3, promise=True)
def no_corner_reaches_further(answer: Answer, rng: Generator) -> Demands:
    """No corner of the cube moves the fit further, for anybody, with either label."""
    for lam, d in ((0.02, 3), (0.5, 4), (3.0, 2), (0.1, 1)):
        X, y, weights = data = random_records(rng, 7, d)
        for i in np.flatnonzero(weights > 1e-3)[-3:]:
            record = answer(*(part.copy() for part in data), int(i), lam)
            reached = distance(X, y, weights, i, lam, record)
            yield reached >= (1 - SHORT) * _best_corner(X, y, weights, i, lam)


@hidden("worst_neighbor", promise=True)
def the_best_corner_may_stand_alone(answer: Answer, rng: Generator) -> Demands:
    """In crowds where many a corner is better than those next to it, the best one is not missed."""
    lam, crowds = 0.01, [random_records(rng, 5, 6) for _ in range(400)]
    heaviest = [int(np.argmax(weights)) for _, _, weights in crowds]
    maps = [_corner_distances(*c, i, lam) for c, i in zip(crowds, heaviest, strict=True)]
    for k in np.argsort([-_summits(distances) for distances in maps])[:20]:
        X, y, weights = crowds[k]
        record = answer(X.copy(), y.copy(), weights.copy(), heaviest[k], lam)
        reached = distance(X, y, weights, heaviest[k], lam, record)
        yield reached >= (1 - SHORT) * maps[k].max()


@hidden("worst_neighbor", promise=True)
def the_attack_stays_in_the_domain(answer: Answer, rng: Generator) -> Demands:
    """The new record is in the domain, whatever the weights and the penalty."""
    for lam in (1e-3, 0.1, 100.0):
        X, y, weights = random_records(rng, 5, 4)
        yield in_domain(answer(X, y, weights, int(rng.integers(5)), lam), 4)


@hidden("worst_neighbor")
def a_crowd_that_agrees_is_used(answer: Answer, rng: Generator) -> bool:
    """In a crowd that agrees it moves the fit further than any new label of a loner could."""
    lam, weights, d = 0.01, np.array([1e-5, 0.4, 0.6 - 1e-5]), 4
    crowd = 0.1 * np.array([1.0, 1.0, 0.0, 0.0])
    X, y = np.array([np.ones(d), crowd, crowd]), np.array([-1.0, 1.0, 1.0])
    reached = distance(X, y, weights, 0, lam, answer(X.copy(), y.copy(), weights, 0, lam))
    return bool(reached > 2 * weights[0] * np.sqrt(d) / lam)


@hidden("worst_neighbor")
def the_weights_of_the_crowd_are_heeded(answer: Answer, rng: Generator) -> bool:
    """It heeds what the others say by their weight, not by their number."""
    X, y = np.array([np.zeros(3), *np.ones((6, 3))]), np.array([0.0, -1, 1, 1, 1, 1, 1])
    weights = np.array([0.2, 0.7, *np.full(5, 0.02)])
    record = answer(X.copy(), y.copy(), weights.copy(), 0, 0.1)
    reached = distance(X, y, weights, 0, 0.1, record)
    return reached >= (1 - SHORT) * _best_corner(X, y, weights, 0, 0.1)


@hidden("worst_neighbor")
def the_data_stay_as_they_were(answer: Answer, rng: Generator) -> bool:
    """The data that were handed in are not changed by the search."""
    return leaves(lambda *data: answer(*data, 1, 0.3), *random_records(rng, 5, 3))
