"""The covariance of an output over random halves of a pool."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ALARM, ROUNDING
from pdpbook.pages.exercises.pac import hidden, shrunken_mean
from pdpbook.pages.exercises.properties import Answer


def _all_halves(n: int) -> Any:
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)


@hidden("half_covariance", draws=True, promise=True)
def everybody_comes_by_a_coin_of_their_own(answer: Answer, rng: Generator) -> bool:
    """Everybody is in half of the subsets, independently of all others and of the subset before."""
    seen: list[Any] = []

    def output(members: Any) -> Any:
        seen.append(np.array(members, dtype=bool))
        return np.array([float(len(seen))])

    n, draws = 6, 1000
    answer(output, n, draws, rng)
    masks = np.array(seen)
    if masks.shape[1:] != (n,) or len(masks) < draws:
        return False
    first, second = np.triu_indices(n, 1)
    coins = [
        *masks.T,
        *(masks[:, first] ^ masks[:, second]).T,
        *(masks[1:] ^ masks[:-1]).T,
    ]  # each is a row of fair and independent coins
    level = ALARM / len(coins)
    return all(stats.binomtest(int(c.sum()), len(c)).pvalue > level for c in coins)


@hidden("half_covariance", draws=True, weight=3, promise=True)
def it_agrees_with_all_halves_of_a_small_pool(answer: Answer, rng: Generator) -> bool:
    """It comes near the covariance that a list of all halves of a small pool gives."""
    X = rng.choice([-1.0, 1.0], (3, 2)) + np.array([0.2, -0.2])
    output, draws = shrunken_mean(X), 3000
    found = np.asarray(answer(output, 3, draws, rng))
    ways = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    listed = np.array([output(half) for half in _all_halves(3)]) @ ways.T
    mine = np.einsum("kp,pq,kq->k", ways, found, ways)
    # Hoeffding for the mean of (a - b)^2 / 2 over pairs of draws, two sides of three ways
    reach = np.ptp(listed, axis=0) ** 2 / 2 * np.sqrt(np.log(6 / ALARM) / (2 * (draws // 2)))
    reach += ROUNDING * np.abs(ways) @ np.abs(found) @ np.ones(2)  # of terms that may cancel
    return bool(np.all(np.abs(mine - listed.var(axis=0)) <= reach))


@hidden("half_covariance", draws=True, promise=True)
def it_is_right_on_average_for_two_draws(answer: Answer, rng: Generator) -> bool:
    """On average it is neither too small nor too large, even from two draws or three."""
    games = 250
    two, three = (
        [np.sum(answer(lambda half: half[:1].astype(float), 1, k, rng)) for _ in range(games)]
        for k in (2, 3)
    )  # the variance of a fair coin is 1/4: one half if two draws differ, else nothing
    differ = 2 * float(np.sum(two))
    whole = abs(differ - round(differ)) < 1e-6 and 0 <= round(differ) <= games
    near = abs(np.mean(three) - 0.25) < 0.1  # Hoeffding: but for 4 in 10^9 games, at most
    return bool(near and whole and stats.binomtest(round(differ), games).pvalue > ALARM)


@hidden("half_covariance")
def outputs_may_be_moved_and_mixed(answer: Answer, rng: Generator) -> bool:
    """An output in other coordinates and from another origin has the covariance that fits them."""
    output, state = shrunken_mean(rng.normal(size=(8, 3))), int(rng.integers(2**31))
    mix, origin = rng.normal(size=(2, 3)), rng.normal(size=2)
    one, two = np.random.default_rng(state), np.random.default_rng(state)
    straight = np.asarray(answer(output, 8, 50, one))
    moved = np.asarray(answer(lambda members: mix @ output(members) + origin, 8, 50, two))
    wanted, size = mix @ straight @ mix.T, np.abs(mix) @ np.abs(straight) @ np.abs(mix).T
    return bool(moved.shape == (2, 2) and np.all(np.abs(moved - wanted) <= ROUNDING * size))
