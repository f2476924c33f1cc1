"""A coin with a promise."""

import numpy as np
from numpy.random import Generator

from pdpbook.exercises.foundations import hidden
from pdpbook.exercises.properties import Answer


@hidden("truth_probability")
def the_promise_is_kept_exactly(answer: Answer, rng: Generator) -> bool:
    """What a report can reveal is the budget, no more and no less."""
    epsilon = rng.uniform(0.05, 6, 50)
    chance = np.asarray(answer(epsilon))
    return bool(np.allclose(np.log(chance / (1 - chance)), epsilon, rtol=1e-9))


@hidden("truth_probability")
def a_large_budget_is_no_overflow(answer: Answer, rng: Generator) -> bool:
    """A budget of a thousand gives a chance of one."""
    return bool(np.isclose(answer(1000.0), 1.0))


@hidden("truth_probability")
def chances_have_the_shape_of_budgets(answer: Answer, rng: Generator) -> bool:
    """One budget gives one number, and a table of budgets a table of chances, each at its place."""
    budgets = rng.uniform(0.1, 3, (2, 3))
    one, table = answer(float(budgets[1, 0])), np.asarray(answer(budgets))
    return np.shape(one) == () and table.shape == (2, 3) and bool(np.isclose(table[1, 0], one))
