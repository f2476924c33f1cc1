"""Leverages, and the fits without each person."""

import numpy as np
from numpy.random import Generator

from course.hidden import ROUNDING, leaves
from pdpbook.pages.exercises.per_instance import hessian, hidden, people
from pdpbook.pages.exercises.properties import Answer, Demands

# --- leverages ------------------------------------------------------------------------------------


@hidden("leverages", weight=3, promise=True)
def who_leaves_takes_volume_along(answer: Answer, rng: Generator) -> bool:
    """When a person leaves, the determinant of H falls by their share."""
    X = people(rng)[0]
    whole = np.linalg.det(hessian(X, 0.7))
    left = [np.linalg.det(hessian(np.delete(X, i, axis=0), 0.7)) for i in range(25)]
    return bool(np.allclose(answer(X, 0.7), 1 - np.array(left) / whole, rtol=ROUNDING))


@hidden("leverages")
def together_they_count_directions(answer: Answer, rng: Generator) -> bool:
    """All leverages together are the degrees of freedom that the penalty leaves."""
    X, lam = people(rng)[0], float(rng.uniform(5, 50))
    values = np.linalg.svd(X, compute_uv=False) ** 2
    return bool(np.isclose(np.sum(answer(X, lam)), np.sum(values / (values + lam))))


@hidden("leverages")
def axes_may_be_turned(answer: Answer, rng: Generator) -> bool:
    """Turning the axes of the features changes no leverage."""
    X = people(rng)[0]
    turn = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    return bool(np.allclose(answer(X @ turn, 0.7), answer(X, 0.7), rtol=ROUNDING))


@hidden("leverages")
def two_copies_share(answer: Answer, rng: Generator) -> bool:
    """Two copies of everybody and twice the penalty leave each copy half of the leverage."""
    X = people(rng)[0]
    twice = np.asarray(answer(np.vstack([X, X]), 3.0))
    return bool(np.allclose(twice[:25], np.asarray(answer(X, 1.5)) / 2, rtol=ROUNDING))


@hidden("leverages")
def rows_are_left_alone(answer: Answer, rng: Generator) -> bool:
    """The rows are left as they were handed in."""
    return leaves(lambda X: answer(X, 1.5), people(rng)[0])


# --- fits_without_each ----------------------------------------------------------------------------


@hidden("fits_without_each", weight=3, promise=True)
def each_row_is_the_minimum_for_the_others(answer: Answer, rng: Generator) -> Demands:
    """Each row minimizes the objective of the others."""
    X, y = people(rng)
    fits = np.asarray(answer(X, y, 0.7))
    for i, theta in enumerate(fits):
        A, b = np.delete(X, i, axis=0), np.delete(y, i)
        gradient = A.T @ (A @ theta - b) + 0.7 * theta
        away = np.linalg.solve(hessian(A, 0.7), gradient)  # from the minimum
        yield np.linalg.norm(away) <= ROUNDING * np.linalg.norm(theta)


@hidden("fits_without_each", promise=True)
def who_is_out_has_no_say(answer: Answer, rng: Generator) -> bool:
    """Whatever a person answers, the fit without them stays the same."""
    X, y = people(rng)
    other = y.copy()
    other[7] += 3
    one, two = (np.asarray(answer(X, labels, 0.7))[7] for labels in (y, other))
    return bool(np.allclose(one, two, atol=1e-8))


@hidden("fits_without_each")
def who_agrees_is_not_missed(answer: Answer, rng: Generator) -> bool:
    """Somebody who answers just what the others predict for them moves nothing."""
    X, y = people(rng)
    A, b = np.delete(X, 3, axis=0), np.delete(y, 3)
    others = np.linalg.solve(hessian(A, 0.7), A.T @ b)
    y[3] = X[3] @ others
    whole = np.linalg.solve(hessian(X, 0.7), X.T @ y)
    return bool(np.allclose(np.asarray(answer(X, y, 0.7))[3], whole, atol=1e-8))


@hidden("fits_without_each")
def everybody_else_is_always_there(answer: Answer, rng: Generator) -> bool:
    """It does not depend on the order in which people are listed."""
    X, y = people(rng)
    order = rng.permutation(25)
    straight = np.asarray(answer(X, y, 0.7))
    return bool(np.allclose(answer(X[order], y[order], 0.7), straight[order], atol=1e-8))
