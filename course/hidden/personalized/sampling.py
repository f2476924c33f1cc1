"""Sampling: how often somebody is kept."""

import numpy as np
from numpy.random import Generator

from course.hidden import ROUNDING, leaves
from pdpbook.pages.exercises.personalized import hidden
from pdpbook.pages.exercises.properties import Answer, Demands


@hidden("chance_to_be_kept", weight=3, promise=True)
def a_coin_reveals_the_budget(answer: Answer, rng: Generator) -> Demands:
    """The worst mechanism that the threshold allows reveals each budget, or the threshold."""
    for t in (0.1, 1.0, 6.0, 30.0):
        epsilon = t * np.append(rng.uniform(0.01, 1, 8), [0.05, 1.0, 1.3])
        kept = np.asarray(answer(epsilon, t))
        present, absent = np.exp(t) / (1 + np.exp(t)), 1 / (1 + np.exp(t))  # of one output
        ratio = (kept * present + (1 - kept) * absent) / absent
        yield np.allclose(np.log(ratio), np.minimum(epsilon, t), rtol=ROUNDING)


@hidden("chance_to_be_kept")
def sampling_twice_is_sampling_once(answer: Answer, rng: Generator) -> bool:
    """Sampling for a middle threshold, and of those kept for a higher one, is sampling once."""
    low, middle, high = np.sort(rng.uniform(0.1, 5, 3))
    pairs = ((low, middle), (middle, high), (low, high))
    first, second, both = (float(answer(np.array([budget]), t)[0]) for budget, t in pairs)
    return bool(np.isclose(first * second, both, rtol=ROUNDING))


@hidden("chance_to_be_kept")
def whoever_allows_enough_is_certain(answer: Answer, rng: Generator) -> bool:
    """Whoever allows the threshold or more is kept for sure."""
    t = rng.uniform(0.5, 2)
    return bool(np.allclose(answer(np.array([t, 1.01 * t, 50 * t]), t), 1, rtol=ROUNDING))


@hidden("chance_to_be_kept")
def a_huge_threshold_is_no_overflow(answer: Answer, rng: Generator) -> bool:
    """A threshold of two thousand nats still gives the right chances."""
    found = np.log(answer(np.array([1920.0, 1990.0, 1999.0, 2000.0, 3000.0]), 2000.0))
    right = [-80, -10, -1, 0, 0]  # the ratio of expm1, up to e^-2000
    return bool(np.allclose(found, right, rtol=ROUNDING))


@hidden("chance_to_be_kept")
def budgets_are_left_alone(answer: Answer, rng: Generator) -> bool:
    """The budgets are left as they were handed in, also those above the threshold."""
    return leaves(lambda epsilon: answer(epsilon, 1.0), rng.uniform(0.5, 1.5, 20))


@hidden("chance_to_be_kept")
def a_tiny_threshold_loses_no_digits(answer: Answer, rng: Generator) -> bool:
    """Budgets of a trillionth of a nat still give the right chances."""
    t, share = 1e-12, rng.uniform(0.1, 0.9, 5)
    return bool(np.allclose(answer(share * t, t), share, rtol=ROUNDING))  # a straight line: t/2 off
