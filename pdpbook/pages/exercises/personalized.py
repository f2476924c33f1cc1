"""Personalized budgets: weights, noise, promises, what one person can move, sampling."""

import itertools
from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.pages.exercises.properties import (
    LEAST,
    Answer,
    Assignment,
    Demands,
    Draws,
    numbers_between,
    rises,
)

PROPERTIES = Assignment("personalized", by_hand={"who_pays": 4})
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden
SHORT = 1e-5  # relative; how far a maximizer may stay below a maximum


@visible("budget_shares", unseen=5)
def shares_add_up_to_one(answer: Answer, rng: Draws) -> bool:
    """There is a positive weight for each person, and the weights sum to 1."""
    found = answer(budgets := rng.uniform(0.01, 1, rng.size(12)))
    return numbers_between(found, budgets.shape, LEAST) and bool(np.isclose(np.sum(found), 1))


@visible("budget_shares")
def who_allows_more_weighs_more(answer: Answer, rng: Draws) -> bool:
    """Whoever has a larger budget has more weight."""
    return bool(np.all(np.diff(answer(np.linspace(0.2, 1, 1 + rng.size(11)))) > 0))


@visible("rate_that_spends_all", unseen=4)
def a_larger_constant_needs_longer_noise(answer: Answer, rng: Draws) -> Demands:
    """The rate is a number above 0, smaller where people can move the fit further."""
    epsilon = rng.uniform(0.01, 1, 1 + rng.size(7))
    return rises(lambda constant: answer(epsilon, constant), (30.0, 2.0, 0.5))


@visible("rate_that_spends_all")
def twice_the_people_double_it(answer: Answer, rng: Draws) -> bool:
    """Where as many people with the same budgets come in addition, the rate doubles."""
    once, twice = (answer(np.array([0.3, 0.6] * times), 3.0) for times in (1, 2))
    return bool(np.isclose(twice, 2 * once))


def random_weights(rng: Generator, n: int = 6) -> Any:
    return rng.dirichlet(np.ones(n))


@visible("promise_to_each", unseen=4)
def there_is_a_promise_a_person(answer: Answer, rng: Draws) -> bool:
    """There is one promise for each person, and none is negative."""
    return numbers_between(answer(w := random_weights(rng, rng.size(6)), 0.5, 3.0), w.shape, 0)


@visible("promise_to_each")
def shorter_noise_promises_less(answer: Answer, rng: Draws) -> bool:
    """A higher rate means a larger epsilon for all, and twice the weight means twice the loss."""
    weights = random_weights(rng, rng.size(6))
    low, high = (np.asarray(answer(weights, eta, 3.0)) for eta in (0.5, 0.8))
    return bool(np.all(low < high) and np.allclose(low / weights, low[0] / weights[0]))


@visible("furthest_move", unseen=5)
def there_is_a_bound_a_person(answer: Answer, rng: Draws) -> bool:
    """There is one bound for each person, above 0."""
    return numbers_between(answer(w := random_weights(rng, rng.size(6)), 0.5, 3), w.shape, LEAST)


@visible("furthest_move")
def a_penalty_holds_the_fit(answer: Answer, rng: Draws) -> Demands:
    """A larger penalty makes no bound larger, and a huge one makes all of them smaller."""
    weights = random_weights(rng, rng.size(6))
    for lams in itertools.pairwise((0.01, 0.3, 2.0, 5.0, 90.0)):
        loose, tight = (np.asarray(answer(weights, lam, 5)) for lam in lams)
        yield bool(np.all(tight <= loose))
    yield bool(np.all(np.asarray(answer(weights, 90.0, 5)) < answer(weights, 0.01, 5)))


@visible("furthest_move")
def who_weighs_more_can_move_more(answer: Answer, rng: Draws) -> bool:
    """Of two people of little weight, the one who has more has a larger bound."""
    light, more = np.sort(rng.choice(range(1, 10), 2, replace=False)) / 10_000
    found = answer(np.array([light, more, 1 - light - more]), 0.5, 3)
    return bool(found[0] < found[1])


@visible("furthest_move")
def two_known_moves_stay_below(answer: Answer, rng: Draws) -> Demands:
    """In two known cases of two people, the first moves the fit no further than the bound."""
    w, new = np.array([0.01, 0.99]), np.array([0.0, 0.0, 1.0, 1.0])
    for lam, row, other in ((5.0, np.ones(4), 0 * new), (0.5, new, (1 - new) / 2)):
        ends = ((np.ones(4), -1.0), (row, 1.0))
        one, two = (fits(np.array([x, other]), np.array([y, 1.0]), w, lam) for x, y in ends)
        yield bool(answer(w, lam, 4)[0] * (1 + SHORT) >= np.linalg.norm(one - two))


def in_domain(record: Any, d: int) -> bool:
    """Whether a record is in the domain, up to the rounding of an optimizer."""
    x, y = np.asarray(record[0], dtype=float), np.asarray(record[1], dtype=float)
    if x.shape != (d,) or y.shape != ():
        return False
    return bool(np.all((x >= -1e-12) & (x <= 1 + 1e-12)) and abs(y) <= 1 + 1e-12)


def random_records(rng: Generator, n: int, d: int) -> tuple[Any, Any, Any]:
    return rng.uniform(size=(n, d)), rng.uniform(-1, 1, n), rng.dirichlet(np.full(n, 0.7))


@visible("worst_neighbor", unseen=6)
def a_record_comes_back(answer: Answer, rng: Draws) -> bool:
    """The result is a row and a label that another person could send."""
    X, y, weights = random_records(rng, n := rng.size(6), d := rng.size(3))
    return in_domain(answer(X, y, weights, n // 2, 0.5), d)


def fits(X: Any, y: Any, weights: Any, lam: float) -> Any:
    """Minimizers of a stack of problems: X (..., n, d), y (..., n), weights (n,)."""
    weighted = X * weights[:, None]
    gram = np.swapaxes(X, -1, -2) @ weighted + lam * np.eye(X.shape[-1])
    return np.linalg.solve(gram, (np.swapaxes(weighted, -1, -2) @ y[..., None]))[..., 0]


def distance(X: Any, y: Any, weights: Any, i: int, lam: float, record: Any) -> float:
    new, label = X.copy(), y.copy()
    new[i], label[i] = record
    move = fits(new, label, weights, lam) - fits(X, y, weights, lam)
    return float(np.linalg.norm(move))


@visible("worst_neighbor")
def it_beats_rows_of_zeros_and_ones(answer: Answer, rng: Draws) -> Demands:
    """No row of zeros, and no row of ones, moves the fit further with either label."""
    for _ in range(4):
        X, labels, weights = random_records(rng, n := rng.size(6), d := rng.size(3))
        record = answer(X.copy(), labels.copy(), weights.copy(), n // 2, 0.5)
        rivals = itertools.product((np.zeros(d), np.ones(d)), (-1.0, 1.0))
        best = max(distance(X, labels, weights, n // 2, 0.5, rival) for rival in rivals)
        yield distance(X, labels, weights, n // 2, 0.5, record) >= (1 - SHORT) * best


@visible("chance_to_be_kept", unseen=6)
def chances_are_probabilities(answer: Answer, rng: Draws) -> bool:
    """There is a chance above 0 and at most 1 for each person."""
    budgets = rng.uniform(0.01, 3, rng.size(15))
    return numbers_between(answer(budgets, 1.5), budgets.shape, LEAST, 1 + 1e-12)


@visible("chance_to_be_kept")
def who_allows_less_is_sampled_less_often(answer: Answer, rng: Draws) -> bool:
    """Below the threshold, whoever allows less is kept less often."""
    return bool(np.all(np.diff(answer(np.linspace(0.2, 1.4, 1 + rng.size(11)), 1.5)) > 0))


@visible("noise_reach", unseen=5)
def rarer_is_farther(answer: Answer, rng: Draws) -> Demands:
    """The radius is a number above 0, larger where it may be exceeded less often."""
    return rises(lambda chance: answer(0.4, 3, chance), (0.5, 0.1, 0.01))


@visible("noise_reach")
def more_dimensions_reach_farther(answer: Answer, rng: Draws) -> Demands:
    """It is farther in more dimensions; in one, noise of rate 2 exceeds 3 with a chance of e^-6."""
    yield from rises(lambda d: answer(0.4, d, 0.1), (1, 2, 5))
    yield bool(np.isclose(answer(2.0, 1, np.exp(-6)), 3))


@visible("worst_pair", unseen=4)
def two_records_come_back(answer: Answer, rng: Draws) -> bool:
    """The result is two records of the domain."""
    pair = answer(3, 1.0)
    return len(pair) == 2 and all(in_domain(record, 3) for record in pair)


def apart(pair: Any, scale: float) -> float:
    """Distance of the lists of two records, number by number."""
    (x, y), (z, v) = pair
    x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
    triangle = np.triu(np.abs(np.outer(x, x) - np.outer(z, z))).sum()
    return float(triangle + scale * np.abs(x * y - z * v).sum())


@visible("worst_pair")
def the_lists_differ(answer: Answer, rng: Draws) -> bool:
    """The lists of the two records are apart."""
    return apart(answer(2, 1.5), 1.5) > 0
