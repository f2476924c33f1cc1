"""Plans for people who disagree: the error of each."""

import functools
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ROUNDING, leaves
from pdpbook.pages.exercises.capstone import hidden
from pdpbook.pages.exercises.properties import Answer, Demands


@functools.cache
def _squared_length(d: int) -> float:
    return float(stats.gamma(d).moment(2))


def _error(budgets: Any, weights: Any, d: int, constant: float, spread: float) -> float:
    """Of any weights: the largest rate that keeps every promise, and the law of the radius."""
    asked = weights > 0
    eta = np.min(budgets[asked] / (weights[asked] * constant))
    return float(_squared_length(d) / eta**2 + spread**2 * np.sum(weights**2))


def _subsets(n: int) -> Any:
    return ((np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1).astype(bool)


@hidden("errors_of_plans")
def equal_budgets_leave_no_choice(answer: Answer, rng: Generator) -> bool:
    """Where all budgets are equal, all plans are."""
    found = np.asarray(answer(np.full(25, 0.7), 3, 12.0, 2.0))
    return bool(np.allclose(found, found[0], rtol=ROUNDING))


@hidden("errors_of_plans", promise=True)
def every_plan_keeps_its_promise_exactly(answer: Answer, rng: Generator) -> Demands:
    """The first and the third are the errors of the least noise that keeps every promise."""
    for d in (1, 2, 6):
        budgets, constant, spread = rng.uniform(0.1, 5, 40), rng.uniform(1, 60), rng.uniform(0, 3)
        first, _, third = answer(budgets, d, constant, spread)
        alike, own = np.full(40, 1 / 40), budgets / budgets.sum()
        yield bool(np.isclose(first, _error(budgets, alike, d, constant, spread)))
        yield bool(np.isclose(third, _error(budgets, own, d, constant, spread)))


@hidden("errors_of_plans", weight=3, promise=True)
def no_choice_of_people_does_better(answer: Answer, rng: Generator) -> Demands:
    """No group of people with equal weights has a smaller error, and one has this error."""
    few = rng.permutation(np.array([0.1, 0.1, 0.1, 0.1, 0.2, 0.2, 5.0, 6.0]))
    some = [rng.choice([0.1, 0.5, 1.0, 2.0, 5.0], 8) for _ in range(3)]
    some += [rng.uniform(0.1, 5, 8) for _ in range(3)]
    for budgets, spread in zip([few, *some], (0.0, 0.0, 3.0, 60.0) * 2, strict=False):
        errors = [_error(budgets, w / w.sum(), 2, 9.0, spread) for w in _subsets(8)]
        yield bool(np.isclose(answer(budgets, 2, 9.0, spread)[1], min(errors)))


@hidden("errors_of_plans")
def budgets_keep_their_order(answer: Answer, rng: Generator) -> bool:
    """The budgets that were handed in are as they were, each at its place."""
    return leaves(lambda budgets: answer(budgets, 2, 9.0, 0.5), rng.uniform(0.1, 5, 9))


@hidden("errors_of_plans")
def without_scatter_own_budgets_are_best(answer: Answer, rng: Generator) -> bool:
    """Where labels do not scatter, no weights have a smaller error than the personalized ones."""
    budgets = rng.choice([0.1, 1.0, 5.0], 10) * rng.uniform(0.9, 1.1, 10)
    third = answer(budgets, 2, 9.0, 0.0)[2]
    some = rng.dirichlet(np.ones(10), 50) * budgets
    others = [_error(budgets, w / w.sum(), 2, 9.0, 0.0) for w in some]
    return bool(third <= (1 + ROUNDING) * min(*others, answer(budgets, 2, 9.0, 0.0)[1]))


@hidden("errors_of_plans")
def without_noise_everybody_is_wanted(answer: Answer, rng: Generator) -> bool:
    """Where hardly any noise is needed, equal weights for all are best."""
    budgets = rng.uniform(0.1, 5, 30)
    first, second, third = answer(budgets, 2, 1e-9, 3.0)
    return bool(np.isclose(first, second) and np.isclose(first, 9 / 30) and first < third)
