"""An audit: when releases refute a promise."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ALARM
from pdpbook.pages.exercises.capstone import PAIR, hidden, sound
from pdpbook.pages.exercises.properties import Answer, Demands, repeats


def _half_the_noise(X: Any, y: Any, rng: Generator) -> Any:
    return np.array([np.mean(y) + rng.laplace(0, 1 / len(y))])


def _bare_number(X: Any, y: Any, rng: Generator) -> Any:
    return np.append(sound(X, y, rng), np.mean(y))


def _noise_of_the_data(X: Any, y: Any, rng: Generator) -> Any:
    return rng.laplace(0, 1 + 4 * max(0.0, float(y[0])), 1)


def _old_seed(X: Any, y: Any, rng: Generator) -> Any:
    return sound(X, y, np.random.default_rng(3))


def _seldom_low(X: Any, y: Any, rng: Generator) -> Any:
    """Two releases of five are far below all others, from one of two tables."""
    return rng.normal(size=1) - 20 * (y[0] > 0 and rng.random() < 0.4)


def _bare_label(X: Any, y: Any, rng: Generator) -> Any:
    return y[:1].copy()


def _alarms(answer: Answer, mechanism: Any, epsilon: float, rng: Generator, alarm: float) -> bool:
    """Whether 30 audits of a kept promise are wrong no oftener than they may."""
    wrong = sum(bool(answer(mechanism, *PAIR, epsilon, 120, alarm, rng)) for _ in range(30))
    return bool(stats.binom.sf(wrong - 1, 30, alarm) > ALARM)


def _nothing(X: Any, y: Any, rng: Generator) -> Any:
    return rng.normal(size=40)


@hidden("is_refuted", draws=True, weight=3, promise=True)
def a_kept_promise_is_rarely_refuted(answer: Answer, rng: Generator) -> bool:
    """A promise that is kept, and used up, is refuted no more often than the alarm allows."""
    return _alarms(answer, sound, 1.0, rng, 0.05)


def _noticed(answer: Answer, mechanism: Any, releases: int, rng: Generator) -> bool:
    """It is refuted, whichever of the two tables is named first."""
    orders = PAIR, PAIR[::-1]
    return all(bool(answer(mechanism, *pair, 1.0, releases, 0.01, rng)) for pair in orders)


@hidden("is_refuted", draws=True, promise=True)
def choosing_is_not_counting(answer: Answer, rng: Generator) -> bool:
    """Where nothing is revealed in forty numbers, none of them raises the alarm too often."""
    return _alarms(answer, _nothing, 0.01, rng, 0.05)


@hidden("is_refuted", draws=True)
def half_the_noise_is_noticed(answer: Answer, rng: Generator) -> bool:
    """A mechanism with half of the noise that its promise needs is refuted."""
    return bool(answer(_half_the_noise, *PAIR, 1.0, 4000, 0.01, rng))


@hidden("is_refuted", draws=True)
def both_tables_are_suspects(answer: Answer, rng: Generator) -> bool:
    """A leak that shows in one of the two tables is found whichever of them is named first."""
    return _noticed(answer, _noise_of_the_data, 4000, rng)


@hidden("is_refuted")
def every_number_is_a_suspect(answer: Answer, rng: Generator) -> bool:
    """A release of two numbers, the second without noise, is refuted, on one side or the other."""
    return _noticed(answer, _bare_number, 400, rng)


@hidden("is_refuted")
def noise_that_repeats_is_no_noise(answer: Answer, rng: Generator) -> bool:
    """A mechanism that draws the same noise every time is refuted."""
    return _noticed(answer, _old_seed, 400, rng)


@hidden("is_refuted", draws=True, promise=True)
def forty_numbers_share_one_alarm(answer: Answer, rng: Generator) -> bool:
    """An alarm of one half is not exceeded either, where forty numbers reveal nothing."""
    return _alarms(answer, _nothing, 0.01, rng, 0.5)


@hidden("is_refuted", draws=True)
def low_values_are_suspects(answer: Answer, rng: Generator) -> bool:
    """Low values that one table alone gives, in two releases of five, are noticed."""
    return _noticed(answer, _seldom_low, 4000, rng)


@hidden("is_refuted", promise=True)
def what_a_kept_promise_may_give_refutes_nothing(answer: Answer, rng: Generator) -> Demands:
    """Releases that a kept promise gives more often than the alarm allows do not refute it."""
    for epsilon, releases, alarm in ((1.0, 60, 1e-12), (1.0, 12, 1e-4), (6.0, 400, 0.01)):
        # a label that is told, or else turned around, at odds of exp(epsilon), is never turned
        assert (1 + np.exp(-epsilon)) ** -releases > alarm
        yield not answer(_bare_label, *PAIR, epsilon, releases, alarm, rng)


@hidden("is_refuted")
def releases_come_from_the_generator(answer: Answer, rng: Generator) -> Iterator[bool]:
    """The same state of the generator gives the same releases, and the next audit gives others."""

    def released(rng: Generator) -> Any:
        seen = []

        def recorded(X: Any, y: Any, rng: Generator) -> Any:
            seen.append(sound(X, y, rng))
            return seen[-1]

        answer(recorded, *PAIR, 1.0, 40, 0.05, rng)
        return np.array(seen)

    return repeats(released, rng)
