"""Personalized budgets: weights, noise, promises, what one person can move, sampling."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from pdpbook.exercises.properties import Answer, Assignment
from pdpbook.sensitivity import ridge_constant

PROPERTIES = Assignment("personalized")
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden

ALARM = 1e-6  # a right answer may fail a property that draws this often
ROUNDING = 1e-9  # relative; larger than what a few hundred operations lose
SHORT = 1e-5  # relative; how far a maximizer may stay below a maximum


# --- budget_shares --------------------------------------------------------------------------------


@visible("budget_shares")
def shares_add_up_to_one(answer: Answer, rng: Generator) -> bool:
    """There is a positive weight for each person, and the weights sum to 1."""
    found = np.asarray(answer(rng.uniform(0.01, 1, 12)))
    return found.shape == (12,) and bool(np.all(found > 0) and np.isclose(found.sum(), 1))


@hidden("budget_shares")
def twice_the_budget_twice_the_weight(answer: Answer, rng: Generator) -> bool:
    """Somebody with twice another's budget has twice their weight."""
    found = answer(np.array([0.2, 0.4, 0.05, *rng.uniform(0.01, 1, 5)]))
    return bool(np.isclose(found[1], 2 * found[0]) and np.isclose(found[1], 8 * found[2]))


@hidden("budget_shares")
def shares_have_no_unit(answer: Answer, rng: Generator) -> bool:
    """Weights are the same when all budgets are written in another unit."""
    epsilon = rng.uniform(0.01, 1, 9)
    return bool(np.allclose(answer(epsilon), answer(epsilon / np.log(2)), rtol=ROUNDING))


@hidden("budget_shares")
def shares_follow_their_people(answer: Answer, rng: Generator) -> bool:
    """People who are listed in another order keep their weights."""
    epsilon, order = rng.uniform(0.01, 1, 9), rng.permutation(9)
    straight = np.asarray(answer(epsilon))
    return bool(np.allclose(answer(epsilon[order]), straight[order], rtol=ROUNDING))


@hidden("budget_shares")
def two_accounts_weigh_what_one_did(answer: Answer, rng: Generator) -> bool:
    """Somebody who divides a budget between two accounts gains and loses no weight."""
    epsilon = rng.uniform(0.1, 1, 6)
    parts = answer(np.array([0.3 * epsilon[0], *epsilon[1:], 0.7 * epsilon[0]]))
    return bool(np.isclose(parts[0] + parts[-1], answer(epsilon)[0], rtol=ROUNDING))


# --- rate_that_spends_all -------------------------------------------------------------------------


def _loss_of_mean(weight: float, eta: float) -> float:
    """Largest privacy loss of a weighted mean of labels in [-1, 1] plus noise of rate eta."""
    outputs = np.linspace(-9, 9, 2001)  # the two centers are -weight and +weight, inside
    near, far = (stats.laplace.logpdf(outputs, s * weight, 1 / eta) for s in (1, -1))
    return float(np.max(np.abs(near - far)))


@visible("rate_that_spends_all")
def a_larger_constant_needs_longer_noise(answer: Answer, rng: Generator) -> bool:
    """The rate is a number above 0, smaller where people can move the fit further."""
    epsilon = rng.uniform(0.01, 1, 8)
    rates = [answer(epsilon, constant) for constant in (0.5, 2.0, 30.0)]
    return bool(np.ndim(rates[0]) == 0 and rates[0] > rates[1] > rates[2] > 0)


@hidden("rate_that_spends_all")
def densities_spend_every_budget(answer: Answer, rng: Generator) -> bool:
    """For a mean of labels, the densities of neighbors differ by each person's budget."""
    epsilon = rng.uniform(0.05, 1, 6)
    eta = float(answer(epsilon, 2.0))  # a label goes from -1 to 1: by 2 per unit weight
    weights = epsilon / epsilon.sum()
    losses = [_loss_of_mean(weight, eta) for weight in weights]
    return bool(np.allclose(losses, epsilon, rtol=1e-8))


@hidden("rate_that_spends_all")
def one_more_person_helps(answer: Answer, rng: Generator) -> bool:
    """One more person makes the noise shorter, however small their budget is."""
    epsilon = rng.uniform(0.1, 1, 7)
    more = [answer(np.append(epsilon, extra), 3.0) for extra in (1e-3, 0.5, 4.0)]
    return bool(answer(epsilon, 3.0) < more[0] < more[1] < more[2])


@hidden("rate_that_spends_all")
def two_accounts_make_no_difference(answer: Answer, rng: Generator) -> bool:
    """Somebody who divides a budget between two accounts does not change the rate."""
    epsilon = rng.uniform(0.1, 1, 5)
    parts = np.array([0.2 * epsilon[0], *epsilon[1:], 0.8 * epsilon[0]])
    return bool(np.isclose(answer(parts, 1.5), answer(epsilon, 1.5), rtol=ROUNDING))


@hidden("rate_that_spends_all")
def budgets_and_constant_cancel(answer: Answer, rng: Generator) -> bool:
    """Budgets and constant that both double leave the noise as it was."""
    epsilon = rng.uniform(0.1, 1, 5)
    return bool(np.isclose(answer(2 * epsilon, 3.0), answer(epsilon, 1.5), rtol=ROUNDING))


# --- promise_to_each ------------------------------------------------------------------------------


def _weights(rng: Generator, n: int = 6) -> Any:
    return rng.dirichlet(np.ones(n))


@visible("promise_to_each")
def there_is_a_promise_a_person(answer: Answer, rng: Generator) -> bool:
    """There is one promise for each person, and none is negative."""
    found = np.asarray(answer(_weights(rng), 0.5, 3.0))
    return found.shape == (6,) and bool(np.all(found >= 0))


@hidden("promise_to_each")
def promises_are_what_densities_say(answer: Answer, rng: Generator) -> bool:
    """For a mean of labels, each promise is how much the densities of neighbors differ."""
    weights, eta = _weights(rng), rng.uniform(0.5, 5)
    losses = [_loss_of_mean(weight, eta) for weight in weights]
    return bool(np.allclose(answer(weights, eta, 2.0), losses, rtol=1e-8, atol=1e-12))


@hidden("promise_to_each")
def proportional_weights_return_the_budgets(answer: Answer, rng: Generator) -> bool:
    """Weights and noise that were made from budgets give these budgets back."""
    epsilon, constant = rng.uniform(0.01, 1, 9), rng.uniform(1, 40)
    total = epsilon.sum()
    return bool(np.allclose(answer(epsilon / total, total / constant, constant), epsilon))


@hidden("promise_to_each")
def no_weight_no_loss(answer: Answer, rng: Generator) -> bool:
    """Somebody of weight 0 loses nothing, and the others lose what they lost before."""
    weights = _weights(rng)
    found = np.asarray(answer(np.append(weights, 0.0), 0.8, 4.0))
    return bool(found[-1] == 0 and np.allclose(found[:-1], answer(weights, 0.8, 4.0)))


@hidden("promise_to_each")
def the_weights_of_others_do_not_count(answer: Answer, rng: Generator) -> bool:
    """A promise does not change when others get other weights, or less weight in all."""
    weights = _weights(rng)
    other = np.append(weights[:1], (1 - weights[0]) * _weights(rng, n=5))
    less = np.append(weights[:1], 0.1 * weights[1:])
    found = [answer(w, 0.7, 5.0)[0] for w in (weights, other, less)]
    return bool(np.allclose(found, found[0], rtol=ROUNDING))


# --- furthest_move --------------------------------------------------------------------------------


def _fits(X: Any, y: Any, weights: Any, lam: float) -> Any:
    """Minimizers of a stack of problems: X (..., n, d), y (..., n), weights (n,)."""
    weighted = X * weights[:, None]
    gram = np.swapaxes(X, -1, -2) @ weighted + lam * np.eye(X.shape[-1])
    return np.linalg.solve(gram, (np.swapaxes(weighted, -1, -2) @ y[..., None]))[..., 0]


def _crowds(d: int) -> tuple[Any, Any, Any, Any]:
    """Somebody who disagrees with a crowd on some features, then avoids these features."""
    some, level = np.meshgrid(np.arange(d + 1), np.geomspace(1e-5, 1, 60))
    inside = (np.arange(d) < some.reshape(-1, 1)).astype(float)
    crowd = inside * level.reshape(-1, 1)
    before = np.stack([np.ones_like(crowd), crowd], axis=1)
    after = np.stack([1 - inside, crowd], axis=1)
    label = np.ones(before.shape[:2])
    return before, label * [-1, 1], after, label


@visible("furthest_move")
def there_is_a_bound_a_person(answer: Answer, rng: Generator) -> bool:
    """There is one bound for each person, above 0."""
    found = np.asarray(answer(_weights(rng), 0.5, 3))
    return found.shape == (6,) and bool(np.all(found > 0))


@visible("furthest_move")
def a_penalty_holds_the_fit(answer: Answer, rng: Generator) -> bool:
    """A larger penalty does not make any bound larger."""
    weights = _weights(rng)
    found = np.array([answer(weights, lam, 5) for lam in (0.01, 0.3, 2.0, 5.0, 90.0)])
    return bool(np.all(np.diff(found, axis=0) <= 0))


@hidden("furthest_move")
def nobody_alone_moves_further(answer: Answer, rng: Generator) -> bool:
    """Nobody moves the fit further by another label, on features that they alone have."""
    weights = 10 ** rng.uniform(-5, 0, 5)
    weights /= weights.sum()
    fine = []
    for lam, d in ((0.01, 3), (1.0, 12), (400.0, 4)):
        bound = np.asarray(answer(weights, lam, d))
        for i in range(5):
            X, y = np.zeros((2, 5, d)), np.zeros((2, 5))
            X[:, i], y[:, i] = 1.0, [-1.0, 1.0]
            one, two = _fits(X, y, weights, lam)
            fine.append(bound[i] * (1 + ROUNDING) >= np.linalg.norm(one - two))
    return all(fine)


@hidden("furthest_move")
def nobody_in_a_crowd_moves_further(answer: Answer, rng: Generator) -> bool:
    """Nobody moves the fit further in a crowd that agrees, however small the penalty is."""
    before, y, after, z = _crowds(d := 6)
    fine = []
    for lam in (1e-6, 1e-2, 1.0, 50.0):
        light = 1e-3 * min(lam, 1) * rng.uniform(0.5, 1)
        weights = np.array([light, 1 - light])
        move = _fits(before, y, weights, lam) - _fits(after, z, weights, lam)
        bound = answer(weights, lam, d)[0]
        fine.append(bound * (1 + ROUNDING) >= np.linalg.norm(move, axis=1).max())
    return all(fine)


@hidden("furthest_move")
def no_looser_than_the_theorem(answer: Answer, rng: Generator) -> bool:
    """No bound is larger than that of the theorem, for a heavy or for a light person."""
    weights = 10 ** rng.uniform(-6, 0, 7)
    weights /= weights.sum()
    fine = []
    for lam, d in ((1e-4, 2), (0.3, 12), (5.0, 5), (12.0, 12), (1e3, 30)):
        limit = weights * ridge_constant(lam, d, proof="published")
        fine.append(np.all(answer(weights, lam, d) <= limit * (1 + ROUNDING)))
    return all(fine)


# --- worst_neighbor -------------------------------------------------------------------------------


def _crowd_of(rng: Generator, n: int, d: int) -> tuple[Any, Any, Any]:
    return rng.random((n, d)), rng.uniform(-1, 1, n), rng.dirichlet(np.full(n, 0.7))


def _distance(X: Any, y: Any, weights: Any, i: int, lam: float, record: Any) -> float:
    new, label = X.copy(), y.copy()
    new[i], label[i] = record
    move = _fits(new, label, weights, lam) - _fits(X, y, weights, lam)
    return float(np.linalg.norm(move))


def _best_corner(X: Any, y: Any, weights: Any, i: int, lam: float) -> float:
    records = itertools.product(itertools.product([0.0, 1.0], repeat=X.shape[1]), [-1.0, 1.0])
    return max(_distance(X, y, weights, i, lam, record) for record in records)


def _inside(record: Any, d: int) -> bool:
    """Whether a record is in the domain, up to the rounding of an optimizer."""
    x, y = np.asarray(record[0], dtype=float), np.asarray(record[1], dtype=float)
    if x.shape != (d,) or y.shape != ():
        return False
    return bool(np.all((x >= -1e-12) & (x <= 1 + 1e-12)) and abs(y) <= 1 + 1e-12)


@visible("worst_neighbor")
def a_record_comes_back(answer: Answer, rng: Generator) -> bool:
    """The result is a row and a label that another person could send."""
    X, y, weights = _crowd_of(rng, 6, 3)
    return _inside(answer(X, y, weights, 2, 0.5), 3)


@visible("worst_neighbor")
def the_attack_moves_the_fit(answer: Answer, rng: Generator) -> bool:
    """The new record moves the fit."""
    X, y, weights = _crowd_of(rng, 6, 3)
    record = answer(X.copy(), y.copy(), weights.copy(), 2, 0.5)
    return _distance(X, y, weights, 2, 0.5, record) > 0


@hidden("worst_neighbor")
def no_corner_reaches_further(answer: Answer, rng: Generator) -> bool:
    """No corner of the cube moves the fit further, for anybody, with either label."""
    fine = []
    for lam, d in ((0.02, 3), (0.5, 4), (3.0, 2), (0.1, 1)):
        X, y, weights = data = _crowd_of(rng, 7, d)
        for i in np.flatnonzero(weights > 1e-3)[-3:]:
            record = answer(*(part.copy() for part in data), int(i), lam)
            reached = _distance(X, y, weights, i, lam, record)
            fine.append(reached >= (1 - SHORT) * _best_corner(X, y, weights, i, lam))
    return all(fine)


@hidden("worst_neighbor")
def the_attack_stays_in_the_domain(answer: Answer, rng: Generator) -> bool:
    """The new record is in the domain, whatever the weights and the penalty."""
    fine = []
    for lam in (1e-3, 0.1, 100.0):
        X, y, weights = _crowd_of(rng, 5, 4)
        fine.append(_inside(answer(X, y, weights, int(rng.integers(5)), lam), 4))
    return all(fine)


@hidden("worst_neighbor")
def a_crowd_that_agrees_is_used(answer: Answer, rng: Generator) -> bool:
    """In a crowd that agrees it moves the fit further than any new label of a loner could."""
    lam, weights, d = 0.01, np.array([1e-5, 0.4, 0.6 - 1e-5]), 4
    crowd = 0.1 * np.array([1.0, 1.0, 0.0, 0.0])
    X, y = np.array([np.ones(d), crowd, crowd]), np.array([-1.0, 1.0, 1.0])
    reached = _distance(X, y, weights, 0, lam, answer(X.copy(), y.copy(), weights, 0, lam))
    return bool(reached > 2 * weights[0] * np.sqrt(d) / lam)


@hidden("worst_neighbor")
def the_weights_of_the_crowd_are_heeded(answer: Answer, rng: Generator) -> bool:
    """It heeds what the others say by their weight, not by their number."""
    X, y = np.array([np.zeros(3), *np.ones((6, 3))]), np.array([0.0, -1, 1, 1, 1, 1, 1])
    weights = np.array([0.2, 0.7, *np.full(5, 0.02)])
    record = answer(X.copy(), y.copy(), weights.copy(), 0, 0.1)
    reached = _distance(X, y, weights, 0, 0.1, record)
    return reached >= (1 - SHORT) * _best_corner(X, y, weights, 0, 0.1)


@hidden("worst_neighbor")
def the_data_stay_as_they_were(answer: Answer, rng: Generator) -> bool:
    """The data that were handed in are not changed by the search."""
    data = _crowd_of(rng, 5, 3)
    before = [part.copy() for part in data]
    answer(*data, 1, 0.3)
    return all(np.array_equal(a, b) for a, b in zip(before, data, strict=True))


# --- chance_to_be_kept ----------------------------------------------------------------------------


@visible("chance_to_be_kept")
def chances_are_probabilities(answer: Answer, rng: Generator) -> bool:
    """There is a chance above 0 and at most 1 for each person."""
    found = np.asarray(answer(rng.uniform(0.01, 3, 15), 1.5))
    return found.shape == (15,) and bool(np.all((found > 0) & (found <= 1 + 1e-12)))


@hidden("chance_to_be_kept")
def a_coin_reveals_the_budget(answer: Answer, rng: Generator) -> bool:
    """The worst mechanism that the threshold allows reveals each budget, or the threshold."""
    fine = []
    for t in (0.1, 1.0, 6.0):
        epsilon = t * np.append(rng.uniform(0.01, 1, 8), [1.0, 1.3])
        kept = np.asarray(answer(epsilon, t))
        present, absent = np.exp(t) / (1 + np.exp(t)), 1 / (1 + np.exp(t))  # of one output
        ratio = (kept * present + (1 - kept) * absent) / absent
        fine.append(np.allclose(np.log(ratio), np.minimum(epsilon, t), rtol=1e-8))
    return all(fine)


@hidden("chance_to_be_kept")
def sampling_twice_is_sampling_once(answer: Answer, rng: Generator) -> bool:
    """Sampling for a middle threshold, and of those kept for a higher one, is sampling once."""
    low, middle, high = np.sort(rng.uniform(0.1, 5, 3))
    pairs = ((low, middle), (middle, high), (low, high))
    first, second, both = (float(answer(np.array([budget]), t)[0]) for budget, t in pairs)
    return bool(np.isclose(first * second, both, rtol=1e-8))


@hidden("chance_to_be_kept")
def whoever_allows_enough_is_certain(answer: Answer, rng: Generator) -> bool:
    """Whoever allows the threshold or more is kept for sure."""
    t = rng.uniform(0.5, 2)
    return bool(np.allclose(answer(np.array([t, 1.01 * t, 50 * t]), t), 1, rtol=1e-12))


@hidden("chance_to_be_kept")
def a_huge_threshold_is_no_overflow(answer: Answer, rng: Generator) -> bool:
    """A threshold of two thousand nats still gives the right chances."""
    found = np.log(answer(np.array([1990.0, 1999.0, 2000.0, 3000.0]), 2000.0))
    return bool(np.allclose(found, [-10, -1, 0, 0], rtol=1e-9))  # ratio of expm1: e^-2000 off


@hidden("chance_to_be_kept")
def a_tiny_threshold_loses_no_digits(answer: Answer, rng: Generator) -> bool:
    """Budgets of a trillionth of a nat still give the right chances."""
    t, share = 1e-12, rng.uniform(0.1, 0.9, 5)
    return bool(np.allclose(answer(share * t, t), share, rtol=1e-9))  # a straight line: t/2 off


# --- noise_reach ----------------------------------------------------------------------------------


@visible("noise_reach")
def rarer_is_farther(answer: Answer, rng: Generator) -> bool:
    """The radius is a number above 0, larger where it may be exceeded less often."""
    found = [answer(0.4, 3, chance) for chance in (0.5, 0.1, 0.01)]
    return bool(np.ndim(found[0]) == 0 and 0 < found[0] < found[1] < found[2])


@hidden("noise_reach")
def the_tail_counts_events(answer: Answer, rng: Generator) -> bool:
    """Beyond the radius lies the given chance, in any dimension."""
    fine = []
    for d in (1, 2, 7, 30):
        eta, chance = rng.uniform(0.05, 4), rng.uniform(0.001, 0.6)
        # the radius exceeds r when fewer than d events of a Poisson process happen before r
        found = stats.poisson.cdf(d - 1, eta * answer(eta, d, chance))
        fine.append(np.isclose(found, chance, rtol=1e-7))
    return all(fine)


@hidden("noise_reach")
def one_dimension_is_two_tails(answer: Answer, rng: Generator) -> bool:
    """In one dimension it leaves the given chance in both tails of the Laplace law together."""
    eta, chance = rng.uniform(0.1, 3), rng.uniform(0.01, 0.5)
    tails = 2 * stats.laplace.sf(answer(eta, 1, chance), scale=1 / eta)
    return bool(np.isclose(tails, chance, rtol=1e-8))


@hidden("noise_reach")
def half_the_rate_reaches_twice_as_far(answer: Answer, rng: Generator) -> bool:
    """Noise of half the rate reaches twice as far."""
    eta = rng.uniform(0.1, 3)
    return bool(np.isclose(answer(eta / 2, 5, 0.1), 2 * answer(eta, 5, 0.1), rtol=1e-8))


@hidden("noise_reach")
def a_tiny_chance_is_still_a_chance(answer: Answer, rng: Generator) -> bool:
    """A chance of 1e-20 gives a finite radius, farther out than one of 1e-15."""
    near, far = answer(1.0, 1, 1e-15), answer(1.0, 1, 1e-20)
    return bool(np.isclose(far - near, 5 * np.log(10), rtol=1e-8))


@hidden("noise_reach", draws=True)
def releases_exceed_it_as_often_as_asked(answer: Answer, rng: Generator) -> bool:
    """Noise exceeds the radius as often as asked, neither more nor less."""
    fine, draws = [], 20_000
    for d, chance in ((1, 0.3), (4, 0.1), (12, 0.02)):
        radius = rng.exponential(1 / 0.6, (draws, d)).sum(axis=1)
        beyond = int(np.sum(radius > answer(0.6, d, chance)))
        law = stats.binom(draws, chance)
        fine.append(2 * min(law.cdf(beyond), law.sf(beyond - 1)) > ALARM / 3)
    return all(fine)


# --- worst_pair -----------------------------------------------------------------------------------


def _apart(pair: Any, scale: float) -> float:
    """Distance of the lists of two records, number by number."""
    (x, y), (z, v) = pair
    x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
    triangle = np.triu(np.abs(np.outer(x, x) - np.outer(z, z))).sum()
    return float(triangle + scale * np.abs(x * y - z * v).sum())


def _alike(c: Any, d: int, scale: float) -> Any:
    """Distance from a row of ones to a row of c, with opposite labels."""
    return d * (d + 1) / 2 * (1 - c**2) + scale * d * (1 + c)


@visible("worst_pair")
def two_records_come_back(answer: Answer, rng: Generator) -> bool:
    """The result is two records of the domain."""
    pair = answer(3, 1.0)
    return len(pair) == 2 and all(_inside(record, 3) for record in pair)


@visible("worst_pair")
def the_lists_differ(answer: Answer, rng: Generator) -> bool:
    """The lists of the two records are apart."""
    return _apart(answer(2, 1.5), 1.5) > 0


@hidden("worst_pair")
def no_pair_of_a_grid_is_further(answer: Answer, rng: Generator) -> bool:
    """With one or two features, no two records of a grid have lists further apart."""
    fine = []
    for d, steps in ((1, 101), (2, 9)):
        rows = np.array(list(itertools.product(np.linspace(0, 1, steps), repeat=d)))
        j, k = np.triu_indices(d)
        squares = rows[:, j] * rows[:, k]
        triangle = np.abs(squares[:, None] - squares).sum(axis=2)
        for scale in (0.5, rng.uniform(1, 2.5), 5.0):
            moments = [np.abs(rows[:, None] - sign * rows).sum(axis=2) for sign in (1, -1)]
            best = max(np.max(triangle + scale * moment) for moment in moments)
            fine.append(_apart(answer(d, scale), scale) >= (1 - SHORT) * best)
    return all(fine)


@hidden("worst_pair")
def no_search_finds_a_further_pair(answer: Answer, rng: Generator) -> bool:
    """With many features, a search finds no two records whose lists are further apart."""
    fine, c = [], np.linspace(0, 1, 100_001)
    for d in (3, 8, 20):
        scale = rng.uniform(0.1, d + 1)
        fine.append(_apart(answer(d, scale), scale) >= (1 - SHORT) * _alike(c, d, scale).max())
    return all(fine)


@hidden("worst_pair")
def loud_moments_leave_the_domain_alone(answer: Answer, rng: Generator) -> bool:
    """Where moments count far more than products, both records are still in the domain."""
    return all(_inside(record, 4) for scale in (6.0, 50.0) for record in answer(4, scale))


@hidden("worst_pair")
def loud_moments_are_used(answer: Answer, rng: Generator) -> bool:
    """Where moments count far more than products, no pair moves the moments further."""
    d, scale = 4, 1e7
    return bool(_apart(answer(d, scale), scale) >= (1 - SHORT) * 2 * scale * d)
