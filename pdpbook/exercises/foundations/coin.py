"""A coin with a promise."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator

from pdpbook.exercises.foundations.assignment import hidden, visible
from pdpbook.exercises.properties import Answer


@visible("truth_probability")
def truth_is_a_probability(answer: Answer, rng: Generator) -> bool:
    """Every budget gets a chance from one half to one."""
    chance = answer(rng.uniform(0.1, 5, 20))
    return np.shape(chance) == (20,) and bool(np.all((chance >= 0.5) & (chance <= 1)))


@visible("truth_probability")
def no_budget_no_news(answer: Answer, rng: Generator) -> bool:
    """With no budget at all a report says nothing."""
    return bool(np.isclose(answer(0.0), 0.5))


@visible("truth_probability")
def a_larger_budget_tells_more(answer: Answer, rng: Generator) -> bool:
    """The larger the budget, the likelier the truth."""
    return bool(np.all(np.diff(answer(np.sort(rng.uniform(0.1, 5, 20)))) > 0))


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
