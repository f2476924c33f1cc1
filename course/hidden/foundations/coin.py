"""A coin with a promise."""

import numpy as np
from numpy.random import Generator

from course.hidden import ROUNDING
from pdpbook.pages.exercises.foundations import hidden
from pdpbook.pages.exercises.properties import Answer, Demands


@hidden("truth_probability", weight=3, promise=True)
def the_promise_is_kept_exactly(answer: Answer, rng: Generator) -> Demands:
    """What a report can reveal is the budget, no more and no less."""
    for one in rng.uniform(0.05, 6, 2):
        yield bool(np.isclose(answer(one), np.exp(one) / (1 + np.exp(one)), rtol=ROUNDING))
    epsilon = np.array([*rng.uniform(0.05, 6, 50), 12.0])
    odds = np.exp(epsilon)  # of a report that is true
    beside = np.append(epsilon, 800.0)  # somebody who allows everything changes nothing for others
    for chance in (answer(epsilon), np.asarray(answer(beside))[:-1]):
        yield bool(np.allclose(chance, odds / (1 + odds), rtol=ROUNDING, atol=0))


@hidden("truth_probability")
def a_large_budget_is_no_overflow(answer: Answer, rng: Generator) -> bool:
    """A budget of a thousand gives a chance of one, and small ones beside it keep theirs."""
    both = np.asarray(answer(np.array([1000.0, 0.7])))
    return bool(np.isclose(answer(1000.0), 1.0) and np.allclose(both, [1, answer(0.7)]))


@hidden("truth_probability", promise=True)
def whole_budgets_are_budgets_too(answer: Answer, rng: Generator) -> bool:
    """Budgets that are whole numbers, of an array of integers, get the same chances."""
    budgets = rng.integers(1, 6, 4)
    return bool(np.allclose(answer(budgets), answer(budgets.astype(float))))


@hidden("truth_probability")
def chances_have_the_shape_of_budgets(answer: Answer, rng: Generator) -> bool:
    """One budget gives one number, and a table of budgets a table of chances, each at its place."""
    budgets = rng.uniform(0.1, 3, (2, 3))
    one, table = answer(float(budgets[1, 0])), np.asarray(answer(budgets))
    return np.shape(one) == () and table.shape == (2, 3) and bool(np.isclose(table[1, 0], one))
