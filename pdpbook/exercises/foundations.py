"""Foundations: a coin, noise, ridge regression, privacy profiles, an audit."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from pdpbook.exercises.properties import ALARM, Answer, Assignment

PROPERTIES = Assignment(
    "foundations",
    (
        "truth_probability",
        "sample_l2_laplace",
        "squared_error_of_noise",
        "weighted_ridge",
        "privacy_profile",
        "worst_event",
        "epsilon_lower_bound",
    ),
)
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden


# --- truth_probability ----------------------------------------------------------------------------


@visible("truth_probability")
def truth_is_a_probability(answer: Answer, rng: Generator) -> bool:
    """Every budget gets a chance from one half to one."""
    chance = answer(rng.uniform(0.1, 5, 20))
    return np.shape(chance) == (20,) and bool(np.all((chance >= 0.5) & (chance <= 1)))


@visible("truth_probability")
def no_budget_no_news(answer: Answer, rng: Generator) -> bool:
    """With no budget at all a report says nothing."""
    return bool(np.isclose(answer(0.0), 0.5))


@visible("truth_probability")
def a_larger_budget_tells_more(answer: Answer, rng: Generator) -> bool:
    """The larger the budget, the likelier the truth."""
    return bool(np.all(np.diff(answer(np.sort(rng.uniform(0.1, 5, 20)))) > 0))


@hidden("truth_probability")
def the_promise_is_kept_exactly(answer: Answer, rng: Generator) -> bool:
    """What a report can reveal is the budget, no more and no less."""
    epsilon = rng.uniform(0.05, 6, 50)
    chance = np.asarray(answer(epsilon))
    return bool(np.allclose(np.log(chance / (1 - chance)), epsilon, rtol=1e-9))


@hidden("truth_probability")
def a_large_budget_is_no_overflow(answer: Answer, rng: Generator) -> bool:
    """A budget of a thousand gives a chance of one."""
    return bool(np.isclose(answer(1000.0), 1.0))


@hidden("truth_probability")
def chances_have_the_shape_of_budgets(answer: Answer, rng: Generator) -> bool:
    """One budget gives one number, and a table of budgets a table of chances, each at its place."""
    budgets = rng.uniform(0.1, 3, (2, 3))
    one, table = answer(float(budgets[1, 0])), np.asarray(answer(budgets))
    return np.shape(one) == () and table.shape == (2, 3) and bool(np.isclose(table[1, 0], one))


# --- sample_l2_laplace ----------------------------------------------------------------------------


@visible("sample_l2_laplace")
def noise_has_a_row_a_draw(answer: Answer, rng: Generator) -> bool:
    """The result has a row for each draw and a column for each dimension."""
    return bool(np.shape(answer(3, 2.0, 7, rng)) == (7, 3))


@visible("sample_l2_laplace")
def noise_repeats_with_its_generator(answer: Answer, rng: Generator) -> bool:
    """The same state of the generator gives the same noise, and the next call gives other noise."""
    state = int(rng.integers(2**31))
    one, two = np.random.default_rng(state), np.random.default_rng(state)
    first = answer(2, 1.0, 5, one)
    return bool(np.array_equal(first, answer(2, 1.0, 5, two))) and not np.array_equal(
        first, answer(2, 1.0, 5, one)
    )


@hidden("sample_l2_laplace", draws=True)
def the_radius_has_its_law(answer: Answer, rng: Generator) -> bool:
    """The lengths of the noise follow the radial law of its density."""
    fine = []
    for d, eta in ((1, 0.5), (2, 3.0), (6, 0.4)):
        radius = np.linalg.norm(answer(d, eta, 4000, rng), axis=1)
        law = stats.gamma(d, scale=1 / eta)
        fine.append(stats.kstest(radius, law.cdf).pvalue > ALARM / 3)
    return all(fine)


@hidden("sample_l2_laplace", draws=True)
def lengths_are_right_in_many_dimensions(answer: Answer, rng: Generator) -> bool:
    """In twenty dimensions, too, lengths follow their law, and are not a percent off on average."""
    d, eta, size = 20, 1.5, 20_000
    radius = np.linalg.norm(answer(d, eta, size, rng), axis=1)
    law, total = stats.gamma(d, scale=1 / eta), stats.gamma(d * size, scale=1 / eta)
    mean = 2 * min(total.cdf(radius.sum()), total.sf(radius.sum()))
    return bool(min(mean, stats.kstest(radius, law.cdf).pvalue) > ALARM / 2)


def _directions(z: Any) -> Any:
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def _law_of_cosines(d: int) -> Any:
    """Of (1 + u.v)/2 for a uniform direction u and any other v that does not depend on it."""
    return stats.beta((d - 1) / 2, (d - 1) / 2)


@hidden("sample_l2_laplace", draws=True)
def every_direction_is_alike(answer: Answer, rng: Generator) -> bool:
    """No direction is more likely than another: not an axis, not a diagonal, not a half-space."""
    d = 5
    u = _directions(answer(d, 1.0, 4000, rng))
    law = _law_of_cosines(d)
    places = [np.eye(d)[0], np.ones(d) / np.sqrt(d), rng.normal(size=d)]
    ways = [v / np.linalg.norm(v) for v in places]
    return all(stats.kstest((1 + u @ v) / 2, law.cdf).pvalue > ALARM / 3 for v in ways)


@hidden("sample_l2_laplace", draws=True)
def rows_are_drawn_anew(answer: Answer, rng: Generator) -> bool:
    """Each row has a length of its own, which does not depend on the row before."""
    radius = np.linalg.norm(answer(3, 1.0, 2000, rng), axis=1)
    if len(np.unique(radius)) < 2000:
        return False
    return bool(stats.spearmanr(radius[:-1], radius[1:]).pvalue > ALARM)


@hidden("sample_l2_laplace", draws=True)
def directions_are_drawn_anew(answer: Answer, rng: Generator) -> bool:
    """Each row of each call has a direction of its own, of which the row before says nothing."""
    d, size = 3, 4000
    u = _directions(np.vstack([answer(d, 1.0, size // 2, rng) for _ in range(2)]))
    if len(np.unique(np.abs(u[:, 0]).round(12))) < size - 1:  # two ties: a chance of 3e-11
        return False
    cosines = np.sum(u[:-1] * u[1:], axis=1)
    return bool(stats.kstest((1 + cosines) / 2, _law_of_cosines(d).cdf).pvalue > ALARM)


@hidden("sample_l2_laplace", draws=True)
def length_and_direction_are_strangers(answer: Answer, rng: Generator) -> bool:
    """Noise is no longer in one direction than in another."""
    z = answer(3, 1.0, 4000, rng)
    radius, u = np.linalg.norm(z, axis=1), _directions(z)
    sides = [*u.T, *np.abs(u).T]
    return all(stats.spearmanr(radius, side).pvalue > ALARM / len(sides) for side in sides)


# --- squared_error_of_noise -----------------------------------------------------------------------


@visible("squared_error_of_noise")
def error_is_positive_and_grows(answer: Answer, rng: Generator) -> bool:
    """The error is above 0 and grows with the dimension."""
    errors = [answer(d, 1.0) for d in (1, 2, 3, 10)]
    return bool(errors[0] > 0 and np.all(np.diff(errors) > 0))


@hidden("squared_error_of_noise")
def half_the_rate_is_four_times_the_error(answer: Answer, rng: Generator) -> bool:
    """Noise that is twice as long has four times the squared error."""
    eta = rng.uniform(0.1, 3)
    return bool(np.isclose(answer(4, eta / 2), 4 * answer(4, eta)))


@hidden("squared_error_of_noise")
def one_dimension_is_laplace(answer: Answer, rng: Generator) -> bool:
    """In one dimension it is the variance of the Laplace law."""
    return bool(np.isclose(answer(1, 2.0), stats.laplace(scale=0.5).var()))


@hidden("squared_error_of_noise")
def error_is_a_moment_of_the_radius(answer: Answer, rng: Generator) -> bool:
    """It is the mean squared length of the noise in every dimension."""
    fine = []
    for d in (2, 5, 17):
        moment = stats.gamma(d, scale=1 / 0.7).moment(2)
        fine.append(bool(np.isclose(answer(d, 0.7), moment, rtol=1e-8)))
    return all(fine)


# --- weighted_ridge -------------------------------------------------------------------------------


def _people(rng: Generator, n: int = 30, d: int = 4) -> tuple[Any, Any, Any]:
    X, y = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, n)
    weights = rng.uniform(0.2, 2, n)
    return X, y, weights / weights.sum()


@visible("weighted_ridge")
def ridge_has_a_coefficient_a_feature(answer: Answer, rng: Generator) -> bool:
    """There is one coefficient for each feature."""
    return bool(np.shape(answer(*_people(rng), 0.1)) == (4,))


@visible("weighted_ridge")
def a_huge_penalty_leaves_nothing(answer: Answer, rng: Generator) -> bool:
    """Under a huge penalty all coefficients are nearly 0."""
    return bool(np.max(np.abs(answer(*_people(rng), 1e9))) < 1e-6)


@visible("weighted_ridge")
def a_line_without_scatter_is_found(answer: Answer, rng: Generator) -> bool:
    """Where labels follow a line exactly and the penalty is tiny, the line is found."""
    X, _, weights = _people(rng)
    line = rng.uniform(-1, 1, 4)
    return bool(np.allclose(answer(X, X @ line, weights, 1e-9), line, atol=1e-6))


def _is_minimum(answer: Answer, X: Any, y: Any, weights: Any, lam: float) -> bool:
    theta = np.asarray(answer(X, y, weights, lam))
    gradient = X.T @ (weights * (X @ theta - y)) + lam * theta  # convex: 0 only at the minimum
    return bool(np.linalg.norm(gradient) < 1e-9)


@hidden("weighted_ridge")
def nothing_nearby_is_better(answer: Answer, rng: Generator) -> bool:
    """No coefficients have a smaller objective."""
    return _is_minimum(answer, *_people(rng), float(rng.choice([0.01, 0.3, 2.0])))


@hidden("weighted_ridge")
def a_few_people_are_enough(answer: Answer, rng: Generator) -> bool:
    """It is right, too, for fewer people than features, and for one person."""
    return all(_is_minimum(answer, *_people(rng, n=n), 0.3) for n in (1, 3))


@hidden("weighted_ridge")
def a_person_of_weight_zero_is_absent(answer: Answer, rng: Generator) -> bool:
    """Somebody of weight 0 changes nothing."""
    X, y, weights = _people(rng)
    more = np.vstack([X, rng.uniform(-1, 1, 4)]), np.append(y, 1.0), np.append(weights, 0.0)
    return bool(np.allclose(answer(*more, 0.2), answer(X, y, weights, 0.2), atol=1e-9))


@hidden("weighted_ridge")
def twice_the_weight_is_two_people(answer: Answer, rng: Generator) -> bool:
    """Somebody of twice the weight counts like two people."""
    X, y, weights = _people(rng, n=8)
    pick = [0, 0, *range(1, 8)]
    halves = weights[pick] * np.where(np.array(pick) == 0, 0.5, 1.0)
    one, two = answer(X, y, weights, 0.1), answer(X[pick], y[pick], halves, 0.1)
    return bool(np.allclose(one, two, atol=1e-9))


@hidden("weighted_ridge")
def weights_and_penalty_share_a_unit(answer: Answer, rng: Generator) -> bool:
    """Weights and penalty that both double leave the coefficients as they were."""
    X, y, weights = _people(rng)
    one, two = answer(X, y, weights, 0.3), answer(X, y, 2 * weights, 0.6)
    return bool(np.allclose(one, two, atol=1e-9))


# --- privacy_profile ------------------------------------------------------------------------------


def _laws(rng: Generator, m: int = 6) -> tuple[Any, Any]:
    return rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(m))


@visible("privacy_profile")
def delta_is_a_probability(answer: Answer, rng: Generator) -> bool:
    """Every delta is between 0 and 1, and equal laws have none."""
    p, q = _laws(rng)
    found = answer(p, q, 0.3)
    return bool(0 <= found <= 1 and abs(answer(p, p, 0.0)) < 1e-12)


@visible("privacy_profile")
def delta_falls_as_epsilon_grows(answer: Answer, rng: Generator) -> bool:
    """Different laws have a delta above 0 at epsilon 0, and a smaller one at a larger epsilon."""
    p, q = _laws(rng)
    return bool(answer(p, q, 0.0) > answer(p, q, 1.0) + 1e-12)


@hidden("privacy_profile")
def at_zero_it_is_total_variation(answer: Answer, rng: Generator) -> bool:
    """At epsilon 0 it is the total variation distance."""
    p, q = _laws(rng)
    return bool(np.isclose(answer(p, q, 0.0), np.abs(p - q).sum() / 2))


@hidden("privacy_profile")
def both_directions_count(answer: Answer, rng: Generator) -> bool:
    """It does not matter which law is named first."""
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.25, 0.25, 0.5])
    more = _laws(rng)
    pairs = ((p, q), more)
    return all(bool(np.isclose(answer(a, b, 0.5), answer(b, a, 0.5))) for a, b in pairs)


@hidden("privacy_profile")
def no_event_does_better(answer: Answer, rng: Generator) -> bool:
    """No event exceeds the promise by more than delta, and some event by exactly that much."""
    p, q = _laws(rng, m=7)
    events = (np.arange(128)[:, None] >> np.arange(7)) & 1
    epsilon = rng.uniform(0.1, 1.0)
    forth, back = events @ (p - np.exp(epsilon) * q), events @ (q - np.exp(epsilon) * p)
    return bool(np.isclose(answer(p, q, epsilon), max(forth.max(), back.max())))


@hidden("privacy_profile")
def an_output_of_one_law_alone_counts(answer: Answer, rng: Generator) -> bool:
    """An output that only one of the two laws can give counts, whatever epsilon is."""
    p, q = np.array([0.5, 0.5, 0.0]), np.array([0.5, 0.0, 0.5])
    return all(bool(np.isclose(answer(p, q, epsilon), 0.5)) for epsilon in (0.0, 0.4, 3.0))


@hidden("privacy_profile")
def merging_outputs_reveals_no_more(answer: Answer, rng: Generator) -> bool:
    """Outputs that are merged reveal no more than before."""
    p, q = _laws(rng, m=8)
    merged = [law.reshape(4, 2).sum(axis=1) for law in (p, q)]
    return bool(answer(*merged, 0.2) <= answer(p, q, 0.2) + 1e-12)


# --- worst_event ----------------------------------------------------------------------------------


@visible("worst_event")
def an_event_is_a_choice_of_outputs(answer: Answer, rng: Generator) -> bool:
    """There is one truth value for each output."""
    found = np.asarray(answer(*_laws(rng), 0.1))
    return found.shape == (6,) and found.dtype == bool


@visible("worst_event")
def the_event_speaks_for_the_first_law(answer: Answer, rng: Generator) -> bool:
    """At epsilon 0 the event is likelier under the first law than under the second."""
    p, q = _laws(rng)
    event = np.asarray(answer(p, q, 0.0))
    return bool(p[event].sum() > q[event].sum() + 1e-12)


@hidden("worst_event")
def no_other_event_exceeds_more(answer: Answer, rng: Generator) -> bool:
    """No other event has a larger excess over the promise."""
    fine = []
    for epsilon in (0.0, 0.3, 1.0):
        p, q = _laws(rng, m=7)
        events = (np.arange(128)[:, None] >> np.arange(7)) & 1
        excess = events @ (p - np.exp(epsilon) * q)
        event = np.asarray(answer(p, q, epsilon))
        mine = np.sum((p - np.exp(epsilon) * q)[event])
        fine.append(bool(np.isclose(mine, excess.max(), atol=1e-12)))
    return all(fine)


@hidden("worst_event")
def it_may_hold_many_outputs_or_none(answer: Answer, rng: Generator) -> bool:
    """The event may hold several outputs, and holds none where none pays."""
    p, q = np.array([0.4, 0.4, 0.2]), np.array([0.2, 0.2, 0.6])
    return bool(np.sum(answer(p, q, 0.1)) == 2 and np.sum(answer(p, p, 0.5)) == 0)


@hidden("worst_event")
def what_one_law_never_gives_is_judged(answer: Answer, rng: Generator) -> bool:
    """An output that the second law never gives is in the event; one that neither gives is not."""
    p, q = np.array([0.5, 0.5, 0.0, 0.0]), np.array([0.5, 0.0, 0.5, 0.0])
    wanted = [False, True, False, False]
    return all(np.array_equal(answer(p, q, epsilon), wanted) for epsilon in (0.0, 0.3))


@hidden("worst_event")
def outputs_may_be_renamed(answer: Answer, rng: Generator) -> bool:
    """It does not depend on the order in which outputs are listed."""
    p, q = _laws(rng, m=9)
    order = rng.permutation(9)
    straight = np.asarray(answer(p, q, 0.2))
    return bool(np.array_equal(np.asarray(answer(p[order], q[order], 0.2)), straight[order]))


# --- epsilon_lower_bound --------------------------------------------------------------------------


@visible("epsilon_lower_bound")
def equal_counts_prove_nothing(answer: Answer, rng: Generator) -> bool:
    """Equal counts prove nothing: the bound is 0."""
    return bool(answer(500, 1000, 500, 1000, 0.01) == 0)


@visible("epsilon_lower_bound")
def a_clear_difference_proves_something(answer: Answer, rng: Generator) -> bool:
    """Counts far apart give a bound above 0, and below the logarithm of their ratio."""
    return bool(0 < answer(900, 1000, 100, 1000, 0.01) < np.log(9))


@hidden("epsilon_lower_bound")
def more_releases_prove_more(answer: Answer, rng: Generator) -> bool:
    """Ten times as many releases with the same shares give a larger bound."""
    few, many = answer(80, 100, 20, 100, 1e-3), answer(800, 1000, 200, 1000, 1e-3)
    return bool(0 < few < many < np.log(4))


@hidden("epsilon_lower_bound")
def more_caution_proves_less(answer: Answer, rng: Generator) -> bool:
    """Fewer false alarms allowed give a smaller bound."""
    bounds = [answer(800, 1000, 200, 1000, alarm) for alarm in (1e-1, 1e-3, 1e-6)]
    return bool(bounds[0] > bounds[1] > bounds[2] > 0)


@hidden("epsilon_lower_bound")
def an_empty_count_is_no_proof_of_infinity(answer: Answer, rng: Generator) -> bool:
    """An event that was never seen from one side still gives a finite bound."""
    bound = answer(50, 100, 0, 100, 1e-2)
    return bool(np.isfinite(bound) and bound > 0 and answer(0, 100, 0, 100, 1e-2) == 0)


@hidden("epsilon_lower_bound", draws=True)
def false_alarms_are_as_rare_as_asked(answer: Answer, rng: Generator) -> bool:
    """Where the promise is kept exactly, the bound exceeds it no more often than asked."""
    games, n, alarm, p, q = 3000, 200, 0.05, 0.6, 0.3
    first, second = rng.binomial(n, p, games), rng.binomial(n, q, games)
    seen: dict[tuple[int, int], float] = {}
    for pair in {*zip(first.tolist(), second.tolist(), strict=True)}:
        seen[pair] = float(answer(pair[0], n, pair[1], n, alarm))
    wrong = sum(
        seen[pair] > np.log(p / q) for pair in zip(first.tolist(), second.tolist(), strict=True)
    )
    return bool(stats.binom.sf(wrong - 1, games, alarm) > ALARM)


@hidden("epsilon_lower_bound")
def rare_events_raise_no_more_alarms(answer: Answer, rng: Generator) -> bool:
    """False alarms are no more frequent where the event is rare, or the releases are few."""
    fine = []
    for draws_p, draws_q, chance, alarm, most in (
        (1000, 10**6, 1e-5, 1e-4, range(21)),
        (1, 400, 0.16, 0.1, range(42, 87)),
    ):
        false = 0.0  # the chance of a bound above 0, which is the truth; other counts are let pass
        for a, b in itertools.product(range(1, min(draws_p, 3) + 1), most):
            if answer(a, draws_p, b, draws_q, alarm) > 0:
                false += stats.binom.pmf(a, draws_p, chance) * stats.binom.pmf(b, draws_q, chance)
        fine.append(bool(false <= alarm))
    return all(fine)


@hidden("epsilon_lower_bound")
def the_bound_wastes_little(answer: Answer, rng: Generator) -> bool:
    """With a million releases little is left between the bound and the truth."""
    bound = answer(600_000, 1_000_000, 300_000, 1_000_000, 1e-6)
    return bool(bound > np.log(2) - 0.02)
