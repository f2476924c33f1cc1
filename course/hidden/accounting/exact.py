"""The exact delta of several releases together, by all answers that there are."""

from collections.abc import Iterator
from itertools import product
from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.pages.exercises.accounting import NEAR, hidden
from pdpbook.pages.exercises.properties import ROUNDING, Answer, Demands


def listed(epsilon: float, delta: float, k: int, total: float) -> float:
    """The largest excess of an event, over all answers of k releases that leak the most."""
    truth = (1 - delta) / (1 + np.exp(-epsilon))
    lie = 1 - delta - truth
    laws = (delta, truth, lie, 0.0), (0.0, lie, truth, delta)
    here, there = (np.prod(list(product(law, repeat=k)), axis=1) for law in laws)
    return float(np.sum(np.maximum(here - np.exp(total) * there, 0)))


def added(epsilon: float, delta: float, k: int, total: float) -> float:
    """The same of any number of releases, from the law of their summed loss."""
    law: Any = np.ones(1)
    for _ in range(k):
        law = np.convolve(law, np.array([1, np.exp(-epsilon)]) / (1 + np.exp(-epsilon)))
    loss = epsilon * (k - 2 * np.arange(k + 1))
    excess = float(np.sum(law * -np.expm1(np.minimum(total - loss, 0))))
    return 1 - (1 - delta) ** k * (1 - excess)


def cases(rng: Generator) -> Iterator[tuple[tuple[float, float, int, float], float]]:
    """A few releases and many, and totals up to the sum of all."""
    for k in (1, 2, 3, 5, 20, 200):
        for delta in (0.0, 1e-5, 0.1):
            epsilon = float(rng.uniform(0.1, 1.5)) / max(1, k / 20)
            for share in (0.0, float(rng.uniform(0.2, 0.8)), 0.9):
                given = epsilon, delta, k, share * k * epsilon
                yield given, (listed if k <= 5 else added)(*given)
    for total in (2.136, 2.746, 3.356):  # a normal loss is too small here, by two percent
        given = 0.3, 0.0, 40, total
        yield given, added(*given)


#: what is given, and the exact delta, which a test computes with fifty digits
CASES = [
    ((10.0, 0.0, 100, 800.0), 1.0),
    ((0.1, 0.6, 2, 0.1), 0.844196337135),
    ((0.1, 0.0, 53, 3.0), 7.70424335943e-6),
    ((30.0, 0.0, 2, 45.0), 0.999999694097),
    ((0.1, 1e-13, 1000, 100.0), 9.9999999995e-11),
    ((0.1, 0.0, 1000, 12.0), 0.00704693168245),
]


@hidden("delta_in_all", weight=3, promise=True)
def no_event_exceeds_it(answer: Answer, rng: Generator) -> Demands:
    """No event exceeds the promise by more than delta, whatever keeps the promises of each."""
    for given, exact in cases(rng):
        yield bool(answer(*given) >= exact * (1 - ROUNDING) - NEAR)


@hidden("delta_in_all", weight=2)
def some_event_reaches_it(answer: Answer, rng: Generator) -> Demands:
    """Some releases keep the promises of each, and exceed it by exactly this delta."""
    for given, exact in cases(rng):
        yield bool(answer(*given) <= exact * (1 + ROUNDING) + NEAR)


@hidden("delta_in_all", promise=True)
def every_delta_counts(answer: Answer, rng: Generator) -> Demands:
    """At the sum of all epsilons the deltas are left, of every release."""
    for k, delta in ((10, 1e-3), (50, 1e-8), (4, 0.2)):
        left = 1 - (1 - delta) ** k
        yield bool(answer(0.3, delta, k, 0.3 * k + 1e-9) >= left * (1 - 1e-5))


@hidden("delta_in_all", promise=True)
def the_extremes(answer: Answer, rng: Generator) -> Demands:
    """Large epsilons, deltas and totals, and odd numbers of releases, are no exception."""
    for given, exact in CASES:
        yield bool(answer(*given) >= exact * (1 - ROUNDING) - NEAR)


@hidden("delta_in_all")
def pure_releases_leave_nothing_beyond_their_sum(answer: Answer, rng: Generator) -> Demands:
    """Without deltas there is none left at the sum of all epsilons, and beyond."""
    for k in (3, 7, 10):
        for more in (0.0, 0.5, 900.0):
            found = answer(0.1, 0.0, k, 0.1 * k + more)
            yield bool(abs(found) <= NEAR)


@hidden("delta_in_all")
def a_thousand_releases_are_no_trouble(answer: Answer, rng: Generator) -> Demands:
    """A thousand releases have a number, too, and the right one."""
    for epsilon, total in ((0.05, 3.0), (0.1, 12.0), (1.0, 500.0)):
        found = answer(epsilon, 0.0, 1000, total)
        yield bool(np.isclose(found, added(epsilon, 0.0, 1000, total), rtol=1e-5, atol=NEAR))
