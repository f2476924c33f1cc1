"""Group privacy: what a promise to records is worth to a user."""

from itertools import pairwise

import numpy as np
from numpy.random import Generator
from scipy import integrate, optimize

from pdpbook.pages.exercises.properties import Answer, Demands
from pdpbook.pages.exercises.user_level import PROMISES, hidden


def _excess(epsilon: float, shift: float) -> float:
    """Delta of two normal laws `shift` apart: the integral of what the likelier has in excess."""
    start = max(-9.0, epsilon / shift - shift / 2)  # the first density is too small before
    v = np.linspace(start, max(start, 0.0) + 9, 4001)
    density = np.exp(-(v**2) / 2) / np.sqrt(2 * np.pi)
    return float(integrate.simpson(density * -np.expm1(epsilon - shift * v - shift**2 / 2), x=v))


def _record_shift(epsilon: float, delta: float) -> float:
    """How far one record may move the release, in standard deviations of the noise."""
    return float(optimize.brentq(lambda shift: _excess(epsilon, shift) - delta, 1e-3, 40))


@hidden("user_epsilon", weight=3, promise=True)
def the_excess_is_delta(answer: Answer, rng: Generator) -> Demands:
    """At the epsilon that is returned, the largest excess over all events is delta."""
    for epsilon, delta in PROMISES:
        rows = int(rng.integers(2, 30))
        found = float(answer(rows, epsilon, delta))
        reached = _excess(found, rows * _record_shift(epsilon, delta))
        yield bool(np.isclose(reached, delta, rtol=1e-3))


@hidden("user_epsilon")
def six_rows_are_twice_three(answer: Answer, rng: Generator) -> bool:
    """Two users of three rows, taken for two rows of one user, are a user of six rows."""
    three = float(answer(3, 0.8, 1e-5))
    return bool(np.isclose(answer(6, 0.8, 1e-5), answer(2, three, 1e-5), rtol=1e-5))


@hidden("user_epsilon")
def the_loss_grows_faster_than_the_rows(answer: Answer, rng: Generator) -> bool:
    """Twice the rows lose more than twice as much."""
    found = [float(answer(k, 1.0, 1e-5)) for k in (1, 2, 4, 8, 16)]
    return all(after > 2.0001 * before for before, after in pairwise(found))


@hidden("user_epsilon")
def a_thousand_rows_are_no_overflow(answer: Answer, rng: Generator) -> bool:
    """It is right for a thousand rows, too."""
    found = float(answer(1000, 1.0, 1e-5))
    return bool(np.isclose(_excess(found, 1000 * _record_shift(1.0, 1e-5)), 1e-5, rtol=1e-2))
