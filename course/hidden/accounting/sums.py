"""Pure promises, added up for each person."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import leaves
from pdpbook.pages.exercises.accounting import hidden, reads
from pdpbook.pages.exercises.properties import ROUNDING, Answer, Demands, shaped

LOW = 1 - ROUNDING


def lists(rng: Generator) -> Iterator[tuple[Any, Any, list[float]]]:
    """Costs, who is read, and the totals; nobody reads the last person."""
    for k, n in ((10, 6), (3, 9), (40, 2)):
        costs, who = rng.uniform(0.05, 2, k), reads(rng, k, n)
        who[:, -1] = False
        yield costs, who, [sum(costs[t] for t in range(k) if who[t, i]) for i in range(n)]


@hidden("epsilon_in_all", weight=3, promise=True)
def every_release_that_reads_a_person_counts(answer: Answer, rng: Generator) -> Demands:
    """No total is below the sum over the releases that read a person."""
    for costs, who, total in lists(rng):
        yield bool(np.all(shaped(answer(costs, who), np.shape(total)) >= np.array(total) * LOW))


@hidden("epsilon_in_all", weight=2)
def what_reads_others_costs_nothing(answer: Answer, rng: Generator) -> Demands:
    """A release costs nothing to people whom it does not read, and nobody more than it says."""
    for costs, who, total in lists(rng):
        yield bool(np.allclose(np.maximum(answer(costs, who), total), total))


@hidden("epsilon_in_all", promise=True)
def the_same_cost_counts_again(answer: Answer, rng: Generator) -> bool:
    """Releases that cost the same count one by one."""
    costs = np.array([0.25, 0.5, 0.25, 0.25])
    return bool(np.all(np.asarray(answer(costs, np.ones((4, 2), dtype=bool))) >= 1.25 * LOW))


@hidden("epsilon_in_all", promise=True)
def small_costs_count(answer: Answer, rng: Generator) -> bool:
    """A cost of a millionth of a nat counts, alone and beside a large one."""
    costs = np.array([1e-6, 1e-6, 3.0])
    who = np.array([[True, True], [True, False], [False, True]])
    least = np.array([2e-6 * LOW, 3 + 5e-7])  # float32 rounds 3.000001 by 1e-7
    return bool(np.all(np.asarray(answer(costs, who)) >= least))


CASES: Any = [  # costs, who is read, and the totals, by hand
    ([0.01] * 200, [[True]] * 200, [2.0]),  # advanced composition says 0.76, with a delta
    ([15.0, 15.0], [[True]] * 2, [30.0]),
    ([1.0, 2.0], [[True, True], [False, False]], [1.0, 1.0]),  # as many people as releases
]


@hidden("epsilon_in_all", promise=True)
def the_extremes(answer: Answer, rng: Generator) -> Demands:
    """Two hundred small releases count, and two large ones, and as many as there are people."""
    for costs, who, total in CASES:
        found = shaped(answer(np.array(costs), np.array(who)), np.shape(total))
        yield bool(np.all(found >= np.array(total) * LOW))


@hidden("epsilon_in_all")
def costs_and_lists_of_people_stay(answer: Answer, rng: Generator) -> bool:
    """The costs, and who is read, are left as they were handed in."""
    return leaves(answer, rng.uniform(0.1, 1, 4), reads(rng, 4, 3))
