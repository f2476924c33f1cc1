"""An account of budgets: which releases are granted."""

import numpy as np
from numpy.random import Generator

from course.hidden import leaves
from pdpbook.pages.exercises.capstone import hidden, verdicts
from pdpbook.pages.exercises.properties import Answer, Demands


@hidden("granted_releases", promise=True)
def all_records_of_a_person_count(answer: Answer, rng: Generator) -> bool:
    """The budget of a person bounds the total loss of all the person's records."""
    owner = [1, 0, 1, 1]
    one = verdicts(answer, [1.0, 1.0], owner, [[0.5, 0.5, 0.5, 0.5]])
    two = verdicts(answer, [1.0, 1.0], owner, [[0.5, 1.0, 0.25, 0.25]])
    return one == [False] and two == [True]


@hidden("granted_releases", promise=True)
def one_person_is_enough_to_refuse(answer: Answer, rng: Generator) -> bool:
    """A release that overspends for one person is refused, however much the others have left."""
    budgets, requests = np.full(9, 100.0), np.full((2, 9), 1.0)
    who = int(rng.integers(9))
    budgets[who] = 1.5
    return verdicts(answer, budgets, range(9), requests) == [True, False]


@hidden("granted_releases")
def what_was_refused_costs_nothing(answer: Answer, rng: Generator) -> bool:
    """A refused release costs nobody anything, and later ones may still fit."""
    asked = [[0.5, 0.5], [0.75, 0.25], [0.5, 0.5], [0.25, 0.25]]
    return verdicts(answer, [1.0, 1.0], [0, 1], asked) == [True, False, True, False]


@hidden("granted_releases")
def decimals_fill_a_budget_exactly(answer: Answer, rng: Generator) -> Demands:
    """Amounts that add up to the budget as decimals are granted to the last one."""
    for budget, amounts in (
        (0.3, [0.1] * 3),
        (0.8, [0.1] * 8),
        (1.1, [0.7, 0.3, 0.1]),
        (1.001, [1, 0.001]),
    ):
        asked = [[amount] for amount in amounts]
        yield all(verdicts(answer, [budget], [0], asked))
        thirds = [[amount / 2] * 2 for amount in amounts]  # the same on two records
        yield all(verdicts(answer, [budget], [0, 0], thirds))


@hidden("granted_releases", promise=True)
def a_millionth_too_much_is_refused(answer: Answer, rng: Generator) -> bool:
    """A millionth of a nat above what is left is refused."""
    asked = [[0.1], [0.1], [0.100001], [0.1], [0.000001]]
    here = verdicts(answer, [0.3], [0], asked) == [True, True, False, True, False]
    much = verdicts(answer, [40.0], [0], [[39.9], [0.100001], [0.1], [0.000001]])
    return here and much == [True, False, True, False]


@hidden("granted_releases")
def people_may_own_nothing(answer: Answer, rng: Generator) -> bool:
    """People who own no record are asked for nothing, wherever they stand in the list."""
    asked = np.full((3, 3), 0.5)
    return verdicts(answer, [0.1, 2.0, 0.1, 1.0, 0.1], [3, 1, 1], asked) == [True, True, False]


@hidden("granted_releases")
def the_account_book_is_a_copy(answer: Answer, rng: Generator) -> bool:
    """Budgets and requests that were handed in are as they were."""
    return leaves(answer, np.array([1.0, 3.0]), np.array([1, 0, 1]), np.full((4, 3), 0.5))


@hidden("granted_releases", weight=3, promise=True)
def every_verdict_is_right(answer: Answer, rng: Generator) -> bool:
    """What was granted overspends for nobody, and what was refused would have for somebody."""
    owner = np.r_[np.arange(6), rng.integers(0, 6, 4)]
    budgets, asked = rng.integers(20, 90, 6), rng.integers(1, 12, (15, 10))  # in hundredths
    found = verdicts(answer, budgets / 100, owner, asked / 100)
    spent = np.zeros(6, dtype=int)
    for verdict, request in zip(found, asked, strict=True):
        after = spent + [request[owner == person].sum() for person in range(6)]
        if verdict is not bool(np.all(after <= budgets)):
            return False
        spent = after if verdict else spent
    return True
