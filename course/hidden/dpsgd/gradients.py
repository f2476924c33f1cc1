"""Gradients of each person, cut to a public length."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import leaves
from pdpbook.pages.exercises.dpsgd import hidden
from pdpbook.pages.exercises.properties import ROUNDING, Answer, Demands, shaped


def people(rng: Generator, n: int = 9, d: int = 4) -> tuple[Any, Any, Any]:
    """A slope that is not 0, rows, and labels."""
    return rng.normal(size=d), rng.normal(size=(n, d)), rng.normal(size=n)


def slopes(theta: Any, X: Any, y: Any) -> Any:
    """Gradients that are not cut."""
    return (2 * (X @ theta - y))[:, None] * X


def lengths(found: Any) -> Any:
    return np.linalg.norm(found, axis=1)


def of_length(rng: Generator, length: Any, d: int = 3) -> tuple[Any, Any, Any]:
    """People whose gradients are so long, in random directions."""
    length = np.asarray(length, dtype=float)
    X = rng.normal(size=(len(length), d))
    X /= lengths(X)[:, None]
    theta = rng.normal(size=d)
    return theta, X, X @ theta - rng.choice([-0.5, 0.5], len(length)) * length


@hidden("clipped_gradients", weight=3, promise=True)
def nobody_is_longer_than_the_norm(answer: Answer, rng: Generator) -> Demands:
    """No gradient is longer than the clipping norm, whatever the record."""
    for clip_norm in (0.05, 0.7, 3.0):
        some = clip_norm * np.array([0.5, 1.003, 1.02, 1.1, 1.3, 1.7, 2.5, 9.0, 400.0])
        found = shaped(answer(*of_length(rng, some), clip_norm), (9, 3))
        yield bool(np.all(lengths(found) <= clip_norm * (1 + ROUNDING)))


def extremes(rng: Generator) -> Iterator[tuple[Any, Any, Any, float]]:
    """Records that are huge, a norm that is small, one weight, many, and as many as people."""
    for n, d in ((1, 1), (1, 30), (5, 5), (1300, 2), (2, 60)):
        yield *people(rng, n, d), 0.1
    yield *of_length(rng, [10.0] + 30 * [0.05]), 0.5  # long alone
    for size in (1e3, 1e20, 1e50):
        theta, X, y = people(rng)
        yield theta, size * X, y, 1.0
        yield theta, X, size * y, 1.0
    for clip_norm in (1e-9, 1e-4, 1e4):
        yield *of_length(rng, clip_norm * np.array([0.0, 0.3, 1.2, 2.0, 50.0])), clip_norm
    theta, X, y = people(rng)
    yield np.zeros(4), X, y, 0.2
    yield theta, np.abs(X), -10 * np.abs(y), 0.2
    yield theta, -np.abs(X), 10 * np.abs(y), 0.2


@hidden("clipped_gradients", promise=True)
def huge_records_and_small_norms(answer: Answer, rng: Generator) -> Demands:
    """This holds for huge records and tiny norms, for one person, one weight, and for many."""
    for theta, X, y, clip_norm in extremes(rng):
        found = shaped(answer(theta, X, y, clip_norm), X.shape)
        yield bool(np.all(lengths(found) <= clip_norm * (1 + ROUNDING)))


@hidden("clipped_gradients", promise=True)
def a_row_is_about_one_person(answer: Answer, rng: Generator) -> Demands:
    """What somebody brings or says changes their own row, and no other."""
    theta, X, y = people(rng)
    alone = np.vstack([answer(theta, X[k : k + 1], y[k : k + 1], 0.8) for k in range(9)])
    yield bool(np.allclose(answer(theta, X, y, 0.8), alone, atol=ROUNDING))
    for size in (0.0, 30.0, -1e4):
        X[2], y[2] = size * X[2], size
        found = np.asarray(answer(theta, X, y, 0.8))
        yield bool(np.allclose(np.delete(found, 2, 0), np.delete(alone, 2, 0), atol=ROUNDING))
    theta, X, y = of_length(rng, rng.uniform(0.1, 0.9, 40))  # all are short
    alone = np.vstack([answer(theta, X[k : k + 1], y[k : k + 1], 1.0) for k in range(40)])
    yield bool(np.allclose(answer(theta, X, y, 1.0), alone, atol=ROUNDING))


@hidden("clipped_gradients", weight=2)
def long_ones_keep_their_direction(answer: Answer, rng: Generator) -> Demands:
    """A gradient that is too long is as long as the norm afterwards, in its own direction."""
    for clip_norm in (0.05, 0.7):
        given = of_length(rng, clip_norm * rng.uniform(1.0005, 5, 8))
        wanted = slopes(*given)
        wanted *= clip_norm / lengths(wanted)[:, None]
        yield bool(np.allclose(answer(*given, clip_norm), wanted, rtol=1e-5, atol=ROUNDING))


@hidden("clipped_gradients")
def short_ones_are_the_gradient(answer: Answer, rng: Generator) -> Demands:
    """A gradient that is not too long is that of the squared error, to the last digit."""
    for clip_norm in (0.7, 1e3):
        given = of_length(rng, clip_norm * rng.uniform(0, 0.9995, 8))
        found = answer(*given, clip_norm)
        yield bool(np.allclose(found, slopes(*given), rtol=1e-5, atol=ROUNDING * clip_norm))


@hidden("clipped_gradients")
def who_is_met_exactly_has_none(answer: Answer, rng: Generator) -> bool:
    """Whose label is met exactly, and who brings zeros only, has a gradient of zeros."""
    X, y = np.array([[1.0, 2.0], [0.0, 0.0], [1.0, 0.0]]), np.array([5.0, 4.0, 3.0])
    found = np.asarray(answer(np.array([1.0, 2.0]), X, y, 1.0))
    return bool(np.array_equal(found[:2], np.zeros((2, 2))) and found[2, 0] < 0)


@hidden("clipped_gradients")
def the_records_stay_as_they_were(answer: Answer, rng: Generator) -> bool:
    """Slopes, rows and labels are left as they were handed in."""
    return leaves(lambda theta, X, y: answer(theta, X, y, 0.5), *people(rng))
