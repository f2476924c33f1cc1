"""Tests of the discrete Laplace law, its exact draws, and the promise of a release on a grid."""

import itertools
import math
import random
from fractions import Fraction
from functools import lru_cache

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import stats

from pdpbook import noise
from pdpbook.guarantees import BudgetAccount, PureDP

SEED = 20_261_121
POWERS = st.integers(-30, 10).map(lambda k: 2.0**k)


# ---- the law


def pmf(k, rate):
    return math.tanh(rate / 2) * np.exp(-rate * np.abs(k))


@pytest.mark.parametrize("rate", [0.01, Fraction(1, 3), 0.5, 1, Fraction(7, 3), 20.0])
def test_probabilities_add_up_to_one_and_have_the_known_variance(rate):
    k = np.arange(-6000, 6001)
    law = noise.GridLaplace([0], 0.25, rate)
    p = np.exp(law.logpmf(0.25 * k[:, None]))
    r = float(rate)
    assert_allclose(p.sum(), 1, rtol=1e-12)
    assert_allclose((p * k**2).sum(), 1 / (2 * math.sinh(r / 2) ** 2), rtol=1e-9)


def test_law_of_a_vector_is_a_product_and_off_the_grid_is_impossible():
    law = noise.GridLaplace([3, -2], 0.5, 0.3)
    expected = math.log(pmf(1, 0.3)) + math.log(pmf(4, 0.3))
    assert_allclose(law.logpmf([2.0, 1.0]), expected, rtol=1e-12)
    assert law.logpmf([[2.0, 1.01], [2.25, 1.0]]).tolist() == [-np.inf, -np.inf]
    mixed = law.logpmf([[2.25, 1.0], [2.0, 1.0]])  # one stray point does not spoil the others
    assert_allclose(mixed, [-np.inf, expected], rtol=1e-12)


# ---- draws: calibrated in both directions, chi-square over cells of at least 50 expected draws


@lru_cache
def drawn_by(sampler, rate, size):
    return np.asarray(sampler(rate, size, rng=np.random.default_rng(SEED)))


def has_discrete_law(sampler, rate, claim=1.0, size=20_000):
    """A test whose false alarms are one in a million."""
    drawn = drawn_by(sampler, rate, size)
    claimed = float(rate) * claim
    edge = int(max(1, np.log(size / 200) / claimed))
    every = max(1, edge // 12)
    cuts = np.arange(-edge, edge + 1, every)
    tail = np.exp(-claimed * np.abs(cuts)) / (1 + np.exp(-claimed))  # P(K >= c) for c >= 1
    below = np.where(cuts >= 1, 1 - tail, tail * np.exp(-claimed))  # P(K < c)
    expected = size * np.diff(np.concatenate([[0.0], below, [1.0]]))
    found = np.bincount(np.searchsorted(cuts, drawn, side="right"), minlength=len(cuts) + 1)
    assert expected.min() > 20
    return bool(stats.chisquare(found, expected * size / expected.sum()).pvalue > 1e-6)


RATES = [Fraction(1, 3000), 0.123456789012345, 1, Fraction(7, 3)]


@pytest.mark.parametrize("rate", RATES, ids=str)
@pytest.mark.parametrize(("claim", "ok"), [(0.7, False), (1.0, True), (1.3, False)])
def test_sampler_is_calibrated_both_ways(rate, claim, ok):
    assert has_discrete_law(noise.sample_discrete_laplace, rate, claim) is ok


def test_one_draw_is_the_first_of_many():
    one = noise.sample_discrete_laplace(Fraction(1, 50), rng=np.random.default_rng(SEED))
    many = noise.sample_discrete_laplace(Fraction(1, 50), 3, rng=np.random.default_rng(SEED))
    assert type(one) is int
    assert one == many[0] != many[1]


def test_bytes_of_a_generator_serve_fractions_of_many_digits():
    rate = Fraction(10**30 + 1, 3 * 10**30)
    assert has_discrete_law(noise.sample_discrete_laplace, rate, size=3000)
    assert has_discrete_law(noise.sample_discrete_laplace, rate, 1.3, size=3000) is False


def zero_counted_twice(rate, size, *, rng):
    """A geometric size with a sign: 0 comes up twice as often as it may."""
    p = -math.expm1(-float(rate))
    return rng.choice([-1, 1], size) * (rng.geometric(p, size) - 1)


def rounded_laplace(rate, size, *, rng):
    return np.round(rng.laplace(scale=1 / float(rate), size=size))


def one_sided(rate, size, *, rng):
    return np.abs(noise.sample_discrete_laplace(rate, size, rng=rng))


def scale_for_rate(rate, size, *, rng):
    return noise.sample_discrete_laplace(1 / Fraction(rate), size, rng=rng)


@pytest.mark.parametrize("bug", [zero_counted_twice, rounded_laplace, one_sided, scale_for_rate])
def test_planted_samplers_are_caught(bug):
    assert has_discrete_law(bug, Fraction(2, 3)) is False


def test_the_coin_is_exact_by_its_series():
    """The probabilities of the first miss, in fractions, against exp: remainder below 1e-18."""
    for g in (Fraction(1), Fraction(1, 3), Fraction(5, 7)):
        past = [g**k / math.factorial(k) for k in range(30)]  # not yet missed after k
        heads = sum(past[k - 1] - past[k] for k in range(1, 30, 2))
        assert_allclose(float(heads), math.exp(-g), rtol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_neighboring_coordinates_are_independent(seed):
    drawn = noise.GridLaplace([0, 0], 1.0, 0.5).sample(5000, rng=np.random.default_rng(seed))
    assert abs(np.corrcoef(drawn.T)[0, 1]) < 5 / np.sqrt(5000)


def test_a_system_source_serves_and_repeats_nothing():
    law = noise.GridLaplace(np.zeros(40, int), 2.0**-10, Fraction(1, 1000))
    source = random.SystemRandom()
    one, two = law.sample(rng=source), law.sample(rng=source)
    assert np.all(one * 2**10 == np.floor(one * 2**10))
    assert not np.array_equal(one, two)  # equal once in more than 1e100


# ---- steps: the sensitivity, rounded up


def rounded(value, step):
    return math.floor(Fraction(value) / Fraction(step) + Fraction(1, 2))


@given(
    st.floats(-1e3, 1e3),
    st.floats(-10, 10),
    POWERS,
)
def test_rounding_moves_no_value_by_more_steps_than_promised(value, move, step):
    other = value + move
    moved = abs(Fraction(value) - Fraction(other))
    steps = max(1, math.ceil(moved / Fraction(step)))
    assert abs(rounded(value, step) - rounded(other, step)) <= steps
    bound = float(moved)  # a float that is at least the move
    bound = bound if Fraction(bound) >= moved else math.nextafter(bound, math.inf)
    assert noise.grid_steps(bound, step) in (steps, steps + 1)


@given(st.lists(st.tuples(st.floats(-5, 5), st.floats(-1, 1)), min_size=1, max_size=6))
def test_vectors_move_by_no_more_in_the_one_norm(pairs):
    values, moves = np.array(pairs).T
    others = values + moves
    exact = sum(abs(Fraction(a) - Fraction(b)) for a, b in zip(values, others, strict=True))
    promised = noise.grid_steps(np.nextafter(float(exact), np.inf), 0.25, len(pairs))
    law = noise.GridLaplace([0], 0.25, 1)
    centers = [noise.grid_laplace(v, step=0.25, epsilon=1, sensitivity=1) for v in (values, others)]
    assert law.step == centers[0].step
    assert np.abs(centers[0].center - centers[1].center).sum() <= promised


def test_steps_are_attained_in_every_dimension():
    for d, sensitivity in itertools.product((1, 2, 5), (0.3, 1.0, 1.7)):
        step = 0.25
        each = np.full(d, 0.125)  # a tie: rounds up
        tiny = np.full(d, 2.0**-40)
        down = each - tiny
        down[0] -= sensitivity - 2.0**-20  # d - 1 steps for almost nothing, the rest at once
        moved = sum(
            abs(rounded(a, step) - rounded(b, step)) for a, b in zip(each, down, strict=True)
        )
        promised = noise.grid_steps(sensitivity, step, d)
        assert promised - 1 <= moved <= promised


def test_ties_to_even_would_break_the_bound():
    one, two = (noise.round_to_grid(v, 1.0) for v in (0.5, 1.5))
    assert two - one == 2 > noise.grid_steps(1.0, 1.0) == 1
    laws = [noise.grid_laplace(v, step=1.0, epsilon=1, sensitivity=1) for v in (0.5, 1.5)]
    assert laws[1].center - laws[0].center == 1


def test_the_center_is_the_nearest_whole_number_of_steps():
    law = noise.grid_laplace([0.6, 0.4, -0.4, -0.6], step=1.0, epsilon=1, sensitivity=1)
    assert law.center.tolist() == [1, 0, 0, -1]


def test_errors_of_arithmetic_are_charged():
    assert noise.grid_steps(1.0, 0.25) == 4
    assert noise.grid_steps(1.0, 0.25, error=1e-12) == 5
    assert noise.grid_steps([0.0, 0.25], 0.25).tolist() == [1, 1]
    assert noise.grid_steps(0.25, 0.25, d=3) == 3
    # K = ceil((S + 2 d e) / g) + d - 1 = ceil(1 + 6 / 4) + 2 = 5 in three dimensions
    settings = {"step": 1.0, "epsilon": 1.0, "sensitivity": 1.0, "error": 0.25}
    assert noise.grid_rate(d=3, **settings) == Fraction(1, 5)
    assert noise.grid_laplace(np.zeros(3), **settings).rate == Fraction(1, 5)


# ---- the promise, in exact fractions


@given(
    st.lists(st.floats(0.01, 5), min_size=1, max_size=5),
    st.lists(st.floats(0.001, 3), min_size=5, max_size=5),
    POWERS.filter(lambda g: 2**-20 <= g <= 1),
)
def test_nobody_spends_more_than_their_budget_and_somebody_all_of_it(epsilon, sensitivity, step):
    sensitivity = sensitivity[: len(epsilon)]
    rate = noise.grid_rate(epsilon, sensitivity, step)
    steps = noise.grid_steps(sensitivity, step)
    spent = [rate * int(k) for k in steps]
    budgets = [Fraction(repr(e)) for e in epsilon]
    assert all(s <= b for s, b in zip(spent, budgets, strict=True))
    assert any(s == b for s, b in zip(spent, budgets, strict=True))


def test_exact_loss_at_every_output_between_all_neighbors():
    """A counting release on a universe that can be listed: all data, all neighbors, all outputs."""
    step, epsilon = 0.25, np.array([0.3, 0.7, 1.1])
    records, weights = (0.0, 0.4, 1.0), np.array([0.2, 0.3, 0.5])
    laws = {
        data: noise.grid_laplace(
            weights @ np.array(data), step=step, epsilon=epsilon, sensitivity=weights, error=1e-15
        )
        for data in itertools.product(records, repeat=3)
    }
    points = step * np.arange(-40, 40)[:, None]
    worst = np.zeros(3)
    for (one, law), (two, other) in itertools.permutations(laws.items(), 2):
        differ = [i for i in range(3) if one[i] != two[i]]
        if len(differ) == 1:
            loss = np.abs(law.logpmf(points) - other.logpmf(points)).max()
            exact = law.rate * int(np.abs(law.center - other.center)[0])
            assert_allclose(loss, float(exact), atol=1e-12)
            assert exact <= Fraction(repr(float(epsilon[differ[0]])))
            worst[differ[0]] = max(worst[differ[0]], loss)
    assert_allclose(worst[0], 0.3, rtol=1e-12)  # attained by the person who binds


@pytest.mark.parametrize("bug", ["rounded down", "steps forgotten", "largest budget"])
def test_planted_rates_are_caught(bug):
    epsilon, sensitivity, step = np.array([0.5, 1.0]), 0.3, 0.25
    steps = noise.grid_steps(sensitivity, step)
    rate = {
        "rounded down": Fraction(1, 2) / math.floor(sensitivity / step),
        "steps forgotten": Fraction(1, 2) / Fraction(3, 10) * Fraction(1, 4),
        "largest budget": Fraction(1) / steps,
    }[bug]
    assert rate * (rounded(0.424, step) - rounded(0.124, step)) > Fraction(1, 2)
    assert noise.grid_rate(epsilon, sensitivity, step) * 2 == Fraction(1, 2)


def test_the_account_reads_budgets_as_the_rate_does():
    account = BudgetAccount(0.3, neighbors="replace-one")
    for _ in range(3):
        rate = noise.grid_rate(0.1, 1.0, 1.0)
        assert rate == Fraction(1, 10)
        account.spend(PureDP(float(rate), neighbors="replace-one"))
    assert account.remaining == 0


# ---- no impossible outputs


def test_floats_give_the_answer_away_and_the_grid_does_not():
    rng = np.random.default_rng(SEED)

    def impossible(answer, other, release):
        """Share of releases of `answer` that no noise can make of `other`."""
        out = release(answer, rng)
        z = out - other
        near = [z, np.nextafter(z, -np.inf), np.nextafter(z, np.inf)]
        return 1 - np.any([other + noise_ == out for noise_ in near], axis=0).mean()

    floats = impossible(0.0, 1 / 3, lambda v, rng: v + rng.laplace(size=20_000))
    assert 0.2 < floats < 0.32

    laws = [noise.grid_laplace(v, step=2.0**-20, epsilon=1, sensitivity=1) for v in (0.0, 1 / 3)]
    drawn = laws[0].sample(2000, rng=rng)
    gap = laws[0].logpmf(drawn) - laws[1].logpmf(drawn)
    assert np.all(np.isfinite(gap))
    assert np.abs(gap).max() <= 1
    assert np.all(drawn * 2**20 == np.floor(drawn * 2**20))


@given(st.floats(-1e6, 1e6), st.integers(-40, 0).map(lambda k: 2.0**k))
@settings(max_examples=50)
def test_releases_are_multiples_of_the_step(value, step):
    law = noise.grid_laplace(value, step=step, epsilon=1.0, sensitivity=1000 * step)
    drawn = law.sample(rng=np.random.default_rng(1))
    assert np.all(np.floor(drawn / step) * step == drawn)


def test_values_beyond_the_grid_are_cut_off():
    law = noise.grid_laplace([1e300, -1e300], step=1.0, epsilon=1.0, sensitivity=1.0)
    assert law.center.tolist() == [2**53, -(2**53)]
    drawn = law.sample(5, rng=np.random.default_rng(1))
    assert np.abs(drawn).max() <= 2.0**53


# ---- bad input

RNG = np.random.default_rng(0)


@pytest.mark.parametrize(
    ("call", "kind", "words"),
    [
        (lambda: noise.sample_discrete_laplace(0.0, rng=RNG), ValueError, "rate must be"),
        (lambda: noise.sample_discrete_laplace(np.nan, rng=RNG), ValueError, "rate must be finite"),
        (lambda: noise.sample_discrete_laplace(True, rng=RNG), TypeError, "rate must be a number"),
        (lambda: noise.sample_discrete_laplace([1.0], rng=RNG), ValueError, "^rate must be a si"),
        (lambda: noise.sample_discrete_laplace(1e-15, rng=RNG), ValueError, "at least 2\\*\\*-40"),
        (
            lambda: noise.sample_discrete_laplace(Fraction(-1, 2), rng=RNG),
            ValueError,
            "rate must be at least",
        ),
        (lambda: noise.sample_discrete_laplace(1.0, -1, rng=RNG), ValueError, "size must be at"),
        (lambda: noise.sample_discrete_laplace(1.0, 2.0, rng=RNG), TypeError, "size must be a"),
        (lambda: noise.sample_discrete_laplace(1.0, rng=None), TypeError, "rng must be a numpy"),
        (
            lambda: noise.sample_discrete_laplace(1.0, rng=random.Random(1)),
            TypeError,
            "rng must be a numpy",
        ),
        (lambda: noise.grid_steps(-1.0, 0.5), ValueError, "sensitivity must be"),
        (lambda: noise.grid_steps([[1.0]], 0.5), ValueError, "sensitivity must be"),
        (lambda: noise.grid_steps(1.0, 0.1), ValueError, "step must be a power of two"),
        (lambda: noise.grid_steps(1.0, 0.5, 0), ValueError, "d must be at least 1"),
        (lambda: noise.grid_steps(1.0, 0.5, error=-1.0), ValueError, "error must be"),
        (lambda: noise.grid_steps(1.0, 0.5, error=[0.0]), ValueError, "error must be a single"),
        (lambda: noise.grid_steps(1e10, 2.0**-40), ValueError, "step must not be finer"),
        (lambda: noise.grid_rate(0.0, 1.0, 0.5), ValueError, "epsilon must be"),
        (lambda: noise.grid_rate([1.0, 2.0], [1.0] * 3, 0.5), ValueError, "must have one length"),
        (lambda: noise.grid_rate(1e-9, 1.0, 2.0**-20), ValueError, "Take a coarser step"),
        (
            lambda: noise.grid_laplace([], step=0.5, epsilon=1.0, sensitivity=1.0),
            ValueError,
            "values must have shape",
        ),
        (
            lambda: noise.grid_laplace(np.inf, step=0.5, epsilon=1.0, sensitivity=1.0),
            ValueError,
            "values must be finite",
        ),
        (lambda: noise.GridLaplace([0.5], 0.5, 1.0), TypeError, "center must be made of whole"),
        (lambda: noise.GridLaplace(0, 0.5, 1.0), ValueError, "center must have shape"),
        (lambda: noise.GridLaplace([0], 0.3, 1.0), ValueError, "step must be a power of two"),
        (lambda: noise.GridLaplace([0], 0.5, 1.0).logpmf(0.5), ValueError, "points must have"),
        (lambda: noise.GridLaplace([0], 0.5, 1.0).logpmf([np.nan]), ValueError, "points must be"),
        (lambda: noise.GridLaplace([0], 0.5, 1.0).sample(1.5, rng=RNG), TypeError, "size must be"),
    ],
)
def test_bad_input_is_refused(call, kind, words):
    with pytest.raises(kind, match=words):
        call()


def test_the_center_is_copied_and_read_only():
    center = np.array([1, 2])
    law = noise.GridLaplace(center, 0.5, 1.0)
    center[0] = 9
    assert law.center.tolist() == [1, 2]
    with pytest.raises(ValueError, match="read-only"):
        law.center[0] = 3


def test_budgets_and_sensitivities_of_other_people_are_refused():
    epsilon = pd.Series({"ann": 0.1, "bo": 1.0})
    sensitivity = pd.Series({"bo": 1.0, "ann": 10.0})
    with pytest.raises(ValueError, match="epsilon must have the index of sensitivity"):
        noise.grid_laplace(0.0, step=0.25, epsilon=epsilon, sensitivity=sensitivity)
    assert noise.grid_rate(epsilon, sensitivity.loc[epsilon.index], 0.25) == Fraction(1, 400)
