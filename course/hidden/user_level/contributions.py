"""Limits on rows: who keeps which of their own."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ALARM
from pdpbook.pages.exercises.properties import Answer, Demands
from pdpbook.pages.exercises.user_level import hidden, owners

CHOICES = (3, 5, 6, 9, 10, 12)  # two of four rows, as binary digits
CROWD = 1500


def _choices(answer: Answer, rng: Generator) -> Any:
    """Which of their four rows each of many users keeps when two are allowed."""
    users = rng.permutation(np.repeat(np.arange(CROWD), 4))
    kept = np.asarray(answer(users, 2, rng))
    return kept[np.argsort(users, kind="stable")].reshape(CROWD, 4) @ [1, 2, 4, 8]


def _likely(count: int, n: int, chance: float, alarm: float) -> bool:
    return bool(stats.binomtest(count, n, chance).pvalue > alarm)


@hidden("cap_contributions", promise=True)
def everybody_keeps_what_they_may(answer: Answer, rng: Generator) -> Demands:
    """Everybody keeps exactly as many rows as they may."""
    for m in (1, 3, 20, 100):
        users = 7 * owners(rng) + 3  # names have gaps
        found = np.bincount(users[np.asarray(answer(users, m, rng))], minlength=8)
        yield np.array_equal(found, np.minimum(np.bincount(users), m))


@hidden("cap_contributions")
def the_generator_alone_decides(answer: Answer, rng: Generator) -> bool:
    """The same state of the generator keeps the same rows, and another keeps others."""
    users, state = owners(rng), int(rng.integers(2**31))
    one, two = np.random.default_rng(state), np.random.default_rng(state)
    first = answer(users, 5, one)
    return bool(np.array_equal(first, answer(users, 5, two))) and not np.array_equal(
        first, answer(users, 5, one)
    )


@hidden("cap_contributions", draws=True, weight=3, promise=True)
def every_choice_is_equally_likely(answer: Answer, rng: Generator) -> bool:
    """Whichever rows a user could keep, each choice is equally likely."""
    found = _choices(answer, rng)
    return all(_likely(int(np.sum(found == one)), CROWD, 1 / 6, ALARM / 6) for one in CHOICES)


@hidden("cap_contributions", draws=True)
def no_place_in_the_table_is_better(answer: Answer, rng: Generator) -> bool:
    """Of many rows of one user, neither half of the table has the better chance."""
    kept = np.asarray(answer(np.zeros(8000, dtype=int), 3600, rng))
    early, law = int(kept[:4000].sum()), stats.hypergeom(8000, 4000, 3600)
    return bool(kept.sum() == 3600 and 2 * min(law.cdf(early), law.sf(early - 1)) > ALARM)


@hidden("cap_contributions", draws=True)
def users_choose_apart(answer: Answer, rng: Generator) -> bool:
    """What is kept of one user says nothing about another."""
    found = _choices(answer, rng)
    return _likely(int(np.sum(found[::2] == found[1::2])), CROWD // 2, 1 / 6, ALARM)


@hidden("cap_contributions")
def owners_may_have_any_number(answer: Answer, rng: Generator) -> bool:
    """Owners' numbers are names: they may be below 0, large, or leave gaps."""
    users = owners(rng)
    names = np.array([-1000, 7, -1, 50_000, 0, 40, -3, 5])[users]
    kept = np.asarray(answer(names, 3, rng))
    found = np.bincount(users[kept], minlength=8)
    return bool(np.array_equal(found, np.minimum(np.bincount(users), 3)))
