"""An audit: when releases refute a promise."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ALARM
from pdpbook.exercises.capstone import PAIR, hidden, sound
from pdpbook.exercises.properties import Answer


def _half_the_noise(X: Any, y: Any, rng: Generator) -> Any:
    return np.array([np.mean(y) + rng.laplace(0, 1 / len(y))])


def _bare_number(X: Any, y: Any, rng: Generator) -> Any:
    return np.append(sound(X, y, rng), np.mean(y))


def _noise_of_the_data(X: Any, y: Any, rng: Generator) -> Any:
    return rng.laplace(0, 1 + 4 * max(0.0, float(y[0])), 1)


def _old_seed(X: Any, y: Any, rng: Generator) -> Any:
    return sound(X, y, np.random.default_rng(3))


def _alarms(answer: Answer, mechanism: Any, epsilon: float, rng: Generator) -> bool:
    """Whether 30 audits of a kept promise, at an alarm of one in twenty, are wrong no oftener."""
    wrong = sum(bool(answer(mechanism, *PAIR, epsilon, 120, 0.05, rng)) for _ in range(30))
    return bool(stats.binom.sf(wrong - 1, 30, 0.05) > ALARM)


@hidden("is_refuted", draws=True)
def a_kept_promise_is_rarely_refuted(answer: Answer, rng: Generator) -> bool:
    """A promise that is kept, and used up, is refuted no more often than the alarm allows."""
    return _alarms(answer, sound, 1.0, rng)


@hidden("is_refuted", draws=True)
def choosing_is_not_counting(answer: Answer, rng: Generator) -> bool:
    """Where nothing is revealed in forty numbers, none of them raises the alarm too often."""

    def nothing(X: Any, y: Any, rng: Generator) -> Any:
        return rng.normal(size=40)

    return _alarms(answer, nothing, 0.01, rng)


@hidden("is_refuted", draws=True)
def half_the_noise_is_noticed(answer: Answer, rng: Generator) -> bool:
    """A mechanism with half of the noise that its promise needs is refuted."""
    return bool(answer(_half_the_noise, *PAIR, 1.0, 4000, 0.01, rng))


@hidden("is_refuted", draws=True)
def both_tables_are_suspects(answer: Answer, rng: Generator) -> bool:
    """A leak that shows in one of the two tables is found whichever of them is named first."""
    orders = PAIR, PAIR[::-1]
    return all(bool(answer(_noise_of_the_data, *pair, 1.0, 4000, 0.01, rng)) for pair in orders)


@hidden("is_refuted")
def every_number_is_a_suspect(answer: Answer, rng: Generator) -> bool:
    """A release of two numbers, the second without noise, is refuted, on one side or the other."""
    orders = PAIR, PAIR[::-1]
    return all(bool(answer(_bare_number, *pair, 1.0, 400, 0.01, rng)) for pair in orders)


@hidden("is_refuted")
def noise_that_repeats_is_no_noise(answer: Answer, rng: Generator) -> bool:
    """A mechanism that draws the same noise every time is refuted."""
    orders = PAIR, PAIR[::-1]
    return all(bool(answer(_old_seed, *pair, 1.0, 400, 0.01, rng)) for pair in orders)
