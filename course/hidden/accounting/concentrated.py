"""Concentrated privacy: rhos add up, and one epsilon is said in the end."""

from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import leaves
from pdpbook.pages.exercises.accounting import NONE, hidden
from pdpbook.pages.exercises.properties import ROUNDING, Answer, Demands

A_LITTLE = 1.001  # how many times the smallest an answer may be, as the prompt says
A = np.geomspace(1e-6, 1e12, 200_001)  # orders, less 1


def proved(rho: float, delta: float) -> float:
    """The smallest epsilon that an order proves."""
    every = (A + 1) * rho - np.log1p(1 / A) - (np.log(delta) + np.log1p(A)) / A
    return max(0.0, float(every.min()))


def rho_of(epsilons: Any, multipliers: Any) -> float:
    return float(np.sum(epsilons * np.tanh(epsilons / 2)) + np.sum(0.5 / multipliers**2))


def normal(rho: float) -> Any:
    """The multiplier of normal noise that costs so much."""
    return np.array([1 / np.sqrt(2 * rho)])


def mixed(rng: Generator, releases: int = 10) -> tuple[Any, Any]:
    """Releases, some pure and some with normal noise; a few of them cost the same."""
    epsilons, multipliers = rng.uniform(0.05, 1, 7), rng.uniform(1, 20, 7)
    k = int(rng.integers(3, releases - 2))
    return rng.choice(epsilons, k), rng.choice(multipliers, releases - k)


EXTREME = [(rho, delta) for rho in (1e-6, 1e-3, 100.0) for delta in (1e-12, 1e-4, 0.4)]
USUAL = [(rho, delta) for rho in (0.01, 0.1, 1.0, 4.0) for delta in (1e-3, 1e-6, 1e-9)]


#: epsilons, multipliers, delta, and the smallest epsilon, which a test computes with fifty digits
CASES: list[tuple[list[float], list[float], float, float]] = [
    ([9.0], [], 1e-06, 30.0447779205),
    ([0.1] * 10, [], 1e-20, 2.93547542544),
    ([0.1] * 10, [], 1e-06, 1.47093416548),
    ([0.02] * 1000, [], 1e-06, 3.1309981138),
]


@hidden("epsilon_by_zcdp", weight=3, promise=True)
def no_order_proves_less(answer: Answer, rng: Generator) -> Demands:
    """No order proves a smaller epsilon than the one that is said."""
    for rho, delta in USUAL + EXTREME:
        yield bool(answer(NONE, normal(rho), delta) >= proved(rho, delta) * (1 - ROUNDING))


@hidden("epsilon_by_zcdp", weight=2)
def the_best_order_is_found(answer: Answer, rng: Generator) -> Demands:
    """It is at most 1.001 times what the best order proves."""
    for rho, delta in USUAL:
        yield bool(answer(NONE, normal(rho), delta) <= proved(rho, delta) * A_LITTLE)


@hidden("epsilon_by_zcdp", promise=True)
def all_releases_count_together(answer: Answer, rng: Generator) -> Demands:
    """Many releases, pure ones and normal ones, cost what the sum of their rhos costs."""
    for releases in (10, 10, 10, 40, 40):
        epsilons, multipliers = mixed(rng, releases)
        least = proved(rho_of(epsilons, multipliers), 1e-6)
        yield bool(answer(epsilons, multipliers, 1e-6) >= least * (1 - ROUNDING))


@hidden("epsilon_by_zcdp", promise=True)
def the_extremes(answer: Answer, rng: Generator) -> Demands:
    """A large epsilon, a tiny delta and a thousand small releases count, too."""
    for epsilons, multipliers, delta, least in CASES:
        yield bool(
            answer(np.array(epsilons), np.array(multipliers), delta) >= least * (1 - ROUNDING)
        )


@hidden("epsilon_by_zcdp")
def large_budgets_do_not_count_as_squares(answer: Answer, rng: Generator) -> Demands:
    """A pure release counts with the smaller rho, however large its epsilon is."""
    for epsilon in (1.0, 4.0, 9.0):
        found = answer(np.array([epsilon]), NONE, 1e-6)
        yield bool(found <= proved(epsilon * np.tanh(epsilon / 2), 1e-6) * A_LITTLE)


@hidden("epsilon_by_zcdp")
def quiet_and_loud_find_their_order(answer: Answer, rng: Generator) -> Demands:
    """It is as good for rhos from a millionth to a hundred and for all deltas below a half."""
    for rho, delta in EXTREME:
        yield bool(answer(NONE, normal(rho), delta) <= proved(rho, delta) * A_LITTLE)


@hidden("epsilon_by_zcdp")
def nothing_released_costs_nothing(answer: Answer, rng: Generator) -> bool:
    """Where there was no release the epsilon is 0."""
    return bool(abs(answer(NONE, NONE, 1e-6)) < 1e-6)


@hidden("epsilon_by_zcdp")
def what_was_handed_in_stays(answer: Answer, rng: Generator) -> bool:
    """Epsilons and multipliers are left as they were handed in."""
    return leaves(lambda epsilons, multipliers: answer(epsilons, multipliers, 1e-6), *mixed(rng))
