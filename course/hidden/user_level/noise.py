"""Noise for users: the least that keeps everybody's promise."""

from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import ROUNDING
from pdpbook.pages.exercises.properties import Answer, Demands
from pdpbook.pages.exercises.user_level import hidden, rows


def _losses(c: Any, users: Any, width: float, scale: float, m: int) -> Any:
    """Loss of each user when all of their labels go from one end to the other."""
    low = np.zeros(len(c))
    moves = [np.abs(c @ (np.where(users == user, width, low) - low)) for user in range(m)]
    return np.array(moves) / scale


def _shares_spent(answer: Answer, rng: Generator) -> Any:
    """Share of their budget that each user loses at the worst, a row a width of labels."""
    shares = []
    for width in (0.5, 1.0, 3.0, 10.0):
        c, users, epsilon = rows(rng)
        scale = answer(c, users, width, epsilon)
        shares.append(_losses(c, users, width, scale, len(epsilon)) / epsilon)
    return np.array(shares)


@hidden("noise_scale_for_users", weight=3, promise=True)
def no_user_loses_more_than_their_budget(answer: Answer, rng: Generator) -> Demands:
    """Whatever a user's labels become, they lose no more than their budget."""
    yield bool(np.all(_shares_spent(answer, rng) <= 1 + ROUNDING))
    c, users, _ = rows(rng)
    weight = np.bincount(users, 3 * c)  # they need not sum to 1
    for one in range(len(weight)):
        epsilon = weight / np.where(np.arange(len(weight)) == one, 2.0, 0.7)
        scale = answer(3 * c, users, 1.5, epsilon)
        losses = _losses(3 * c, users, 1.5, scale, len(weight))
        yield bool(np.all(losses <= epsilon * (1 + ROUNDING)))


@hidden("noise_scale_for_users")
def somebody_uses_up_their_budget(answer: Answer, rng: Generator) -> bool:
    """No less noise would do for everybody."""
    return bool(np.all(_shares_spent(answer, rng).max(axis=1) >= 1 - ROUNDING))


@hidden("noise_scale_for_users")
def a_row_may_be_cut_in_two(answer: Answer, rng: Generator) -> bool:
    """A row that is cut into two lighter rows of the same user changes nothing."""
    c, users, epsilon = rows(rng)
    cut = np.append(c, c / 3)
    cut[: len(c)] = 2 * c / 3
    one, two = answer(c, users, 2.0, epsilon), answer(cut, np.tile(users, 2), 2.0, epsilon)
    return bool(np.isclose(one, two))


@hidden("noise_scale_for_users")
def rows_may_be_shuffled(answer: Answer, rng: Generator) -> bool:
    """It does not depend on the order in which rows are listed."""
    c, users, epsilon = rows(rng)
    order = np.argsort(users)
    one, two = answer(c, users, 2.0, epsilon), answer(c[order], users[order], 2.0, epsilon)
    return bool(np.isclose(one, two))


@hidden("noise_scale_for_users")
def anybody_may_be_the_one_who_decides(answer: Answer, rng: Generator) -> Demands:
    """Whoever has most weight for their budget decides; weights need not sum to 1."""
    c, users, _ = rows(rng)
    weight = np.bincount(users, 3 * c)
    for one in range(len(weight)):
        asked = rng.uniform(0.5, 1, len(weight))  # how much noise each would need
        asked[one] = 2.0
        yield bool(np.isclose(answer(3 * c, users, 1.5, weight / asked), 3.0))
