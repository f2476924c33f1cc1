"""The people whom a release exposes most."""

from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import leaves
from course.hidden.per_instance.laws import densities, excess, outsider
from pdpbook.pages.exercises.per_instance import hessian, hidden, people
from pdpbook.pages.exercises.properties import Answer, Demands


def _losses(X: Any, y: Any, lam: float, gamma: float, delta: float) -> Any:
    """Everybody's epsilon at delta: a refit a person, and halving on an integral."""
    numbers = [
        outsider(np.delete(X, i, axis=0), np.delete(y, i), X[i], y[i], lam, gamma)
        for i in range(len(y))
    ]
    leverage, residual = np.array(numbers).T
    _, p, q = densities(leverage, residual, points=1001, reach=7)
    low, high = np.zeros(len(y)), np.full(len(y), 1000.0)
    for _ in range(23):
        middle = (low + high) / 2
        at = middle[:, None]
        over = np.maximum(excess(p, q, at), excess(q, p, at)) > delta
        low, high = np.where(over, middle, low), np.where(over, high, middle)
    return high


def _ranked(loss: Any, found: Any, k: int) -> bool:
    """Whether these are the k largest losses, from the largest down, up to the integral's error."""
    found = np.asarray(found)
    if found.shape != (k,) or len(set(found.tolist())) != k:
        return False
    return bool(np.all(loss[found] >= np.sort(loss)[::-1][:k] * (1 - 2e-3) - 1e-3))


@hidden("most_exposed_people", weight=3, promise=True)
def nobody_else_loses_more(answer: Answer, rng: Generator) -> Demands:
    """Those who are named come in the order of their losses, and nobody else loses more."""
    for gamma, n, k in ((0.1, 15, 12), (1.0, 15, 15), (10.0, 15, 15)):
        X, y = people(rng, n=n)
        loss = _losses(X, y, 0.5, gamma, 1e-2)
        yield _ranked(loss, answer(X.copy(), y.copy(), 0.5, gamma, 1e-2, k), k)


@hidden("most_exposed_people", promise=True)
def what_they_would_do_to_the_fit_is_no_guess(answer: Answer, rng: Generator) -> bool:
    """Somebody alone on an axis stands in the list where their loss, by a refit, puts them."""
    X, y = np.zeros((14, 2)), rng.normal(size=14) / 5
    X[0], y[0] = [np.sqrt(0.5), 0.0], 0.7  # their leverage is 1/2: they are fifth or so
    X[1:, 1], y[1:] = 1.0, y[1:] + np.linspace(0, 9, 13)
    loss = _losses(X, y, 0.5, 2.0, 1e-2)
    return _ranked(loss, answer(X, y, 0.5, 2.0, 1e-2, 14), 14)


@hidden("most_exposed_people")
def the_data_are_left_alone(answer: Answer, rng: Generator) -> bool:
    """Rows and labels are left as they were handed in."""
    return leaves(lambda X, y: answer(X, y, 0.5, 1.0, 1e-2, 3), *people(rng))


@hidden("most_exposed_people")
def a_row_near_zero_hides_any_answer(answer: Answer, rng: Generator) -> bool:
    """Somebody whose row is nearly 0 is not exposed, however odd their label."""
    X, y = people(rng)
    X[11], y[11] = X[11] * 1e-6 / np.linalg.norm(X[11]), 30.0
    return 11 not in set(np.asarray(answer(X, y, 1.0, 0.5, 1e-3, 12)).tolist())


@hidden("most_exposed_people")
def an_odd_answer_may_tell_more_than_a_far_row(answer: Answer, rng: Generator) -> bool:
    """Somebody far out who answers as predicted may be less exposed than one who does not."""
    X, y = people(rng, n=60)
    X[:, :] /= np.linalg.norm(X, axis=1, keepdims=True)
    y[:] = X @ np.ones(3) + rng.normal(size=60) / 10
    X[7] *= 2
    y[7], y[19] = X[7] @ np.ones(3), y[19] + 6
    top = np.asarray(answer(X, y, 1.0, 5.0, 1e-3, 1)).tolist()
    return bool(top == [19])


@hidden("most_exposed_people")
def rows_alone_tell_where_labels_drown(answer: Answer, rng: Generator) -> bool:
    """Where the noise drowns all labels, only the rows expose people."""
    X, y = people(rng)
    h = np.array([x @ np.linalg.inv(hessian(X, 20.0)) @ x for x in X])
    top = np.asarray(answer(X, y, 20.0, 1e-10, 1e-4, 4))
    return bool(top.shape == (4,) and np.all(h[top] >= np.sort(h)[::-1][:4] * (1 - 1e-3)))
