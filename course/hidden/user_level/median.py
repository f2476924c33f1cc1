"""A median of users: the law of its release."""

from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import ROUNDING
from pdpbook.pages.exercises.properties import Answer, Demands
from pdpbook.pages.exercises.user_level import hidden, values


def _loss(p: Any, q: Any) -> float:
    return float(np.max(np.abs(np.log(np.asarray(p)) - np.log(np.asarray(q)))))


def _bad_pair(answer: Answer, epsilon: float) -> tuple[Any, Any]:
    """One user goes from the left end to the right, all others are between the first two points."""
    grid = np.append(-1.0, np.arange(1.0, 401.0))
    users = np.arange(5)
    left, right = np.array([-1.0, 0, 0, 0, 0]), np.array([9999.0, 0, 0, 0, 0])
    return answer(left, users, grid, epsilon), answer(right, users, grid, epsilon)


@hidden("median_law", weight=3, promise=True)
def no_user_loses_more_than_epsilon(answer: Answer, rng: Generator) -> bool:
    """Whatever a user's values become, no probability changes by more than the promise allows."""
    losses = [_loss(*_bad_pair(answer, 1.0))]
    for user in range(5):
        y, users, grid = values(rng)
        other = np.where(users == user, rng.choice([-5.0, 20.0]), y)
        losses.append(_loss(answer(y, users, grid, 1.0), answer(other, users, grid, 1.0)))
    return max(losses) <= 1 + ROUNDING


@hidden("median_law")
def the_promise_is_used_up(answer: Answer, rng: Generator) -> bool:
    """On some neighbors and a fine grid hardly anything is left of the promise."""
    return all(_loss(*_bad_pair(answer, epsilon)) >= 0.99 * epsilon for epsilon in (0.5, 1.0))


def _score(y: Any, users: Any, point: float) -> float:
    """Distance of one half from what is below a point and what is up to it."""
    own = [y[users == user] for user in range(np.max(users) + 1)]
    below, upto = (np.mean([f(v, point).mean() for v in own]) for f in (np.less, np.less_equal))
    return float(max(0.0, below - 0.5, 0.5 - upto))


@hidden("median_law")
def odds_are_as_the_scores_are(answer: Answer, rng: Generator) -> Demands:
    """The odds of points are as their scores, also where values lie between or beyond the grid."""
    y, users, _ = values(rng)
    grids = [0.5, 2, 3.5, 4, 6.5], [-1.0, 3, 4, 5, 30], [6.5, 9, 12], [-9.0, -4, 1.5]
    for grid in map(np.array, grids):
        for values_now in (y, np.where(users < 3, 4.0, y)):
            scores = np.array([_score(values_now, users, z) for z in grid])
            found = np.log(answer(values_now, users, grid, 30.0))
            yield bool(np.allclose(found - found[0], -75.0 * (scores - scores[0]), atol=ROUNDING))


@hidden("median_law")
def more_rows_are_no_more_say(answer: Answer, rng: Generator) -> bool:
    """A user who sends all of their rows three times has no more say."""
    y, users, grid = values(rng)
    again = users == 4
    more = np.concatenate([y, y[again], y[again]]), np.append(users, np.full(2 * again.sum(), 4))
    return bool(np.allclose(answer(*more, grid, 2.0), answer(y, users, grid, 2.0), rtol=ROUNDING))


@hidden("median_law")
def half_of_the_rows_are_half_of_the_say(answer: Answer, rng: Generator) -> bool:
    """Of a user's weight, half of their rows carry half."""
    users, grid = np.array([0, 0, 1]), np.array([-1.0, 5.0, 20.0])
    whole = answer(np.array([0.0, 0.0, 10.0]), users, grid, 1.0)
    half = answer(np.array([0.0, 10.0, 10.0]), users, grid, 1.0)
    return bool(np.isclose(np.log(whole[1] / whole[0]), 2 * np.log(half[1] / half[0])))


@hidden("median_law")
def a_tie_at_the_median_is_no_flaw(answer: Answer, rng: Generator) -> bool:
    """Where three say 0 and seven say 1, the answer 1 is the likelier one."""
    p = answer(np.repeat([0.0, 1.0], [3, 7]), np.arange(10), np.array([0.0, 1.0]), 1.0)
    return bool(p[1] > p[0])


@hidden("median_law")
def left_and_right_are_alike(answer: Answer, rng: Generator) -> bool:
    """Values and grid seen in a mirror give the law in a mirror."""
    y, users, grid = values(rng)
    mirrored = answer(-y, users, -grid[::-1], 1.0)
    return bool(np.allclose(mirrored, np.asarray(answer(y, users, grid, 1.0))[::-1], rtol=ROUNDING))


@hidden("median_law")
def other_candidates_do_not_matter(answer: Answer, rng: Generator) -> bool:
    """The odds of two points do not depend on what else is on the grid."""
    y, users, grid = values(rng)
    p, few = np.asarray(answer(y, users, grid, 1.0)), np.array([1, 4, 5, 10])
    q = np.asarray(answer(y, users, grid[few], 1.0))
    return bool(np.allclose(p[few] / p[4], q / q[1], rtol=ROUNDING))


@hidden("median_law")
def a_large_budget_is_no_underflow(answer: Answer, rng: Generator) -> bool:
    """A budget of a million gives probabilities, even where no point is a good one."""
    p = np.asarray(answer(np.full(4, 0.5), np.arange(4), np.array([-1.0, 0, 1, 2]), 1e6))
    return bool(np.all(np.isfinite(p)) and np.isclose(p.sum(), 1))
