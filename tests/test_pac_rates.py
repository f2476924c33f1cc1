"""Ceilings on guessing membership: Table I, round trips, the safe side, second routes."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats

from lab import published
from pdpbook import pac
from pdpbook.noise import gaussian_profile
from pdpbook.pac.rates import GUARD, gain, tangent

RATES = np.array([0.52, 0.55, 0.65, 0.75, 0.85, 0.95, 0.98])
priors = st.floats(0.5, 0.99)
shares = st.floats(1e-6, 0.999)


def coin_divergence(p, r):
    """Straight from the definition."""
    return p * np.log(p / r) + (1 - p) * np.log((1 - p) / (1 - r))


# ---------------------------------------------------------------- Table I and hand-computed values


def printed(method, metric):
    return np.array([published.value("pac", "I", rate, method, metric) for rate in RATES])


def test_table_one_to_every_printed_digit_when_truncated():
    ours = pac.success_rate_to_epsilon(RATES, 1e-5), pac.success_rate_to_mi(RATES)
    theirs = printed("DP", "epsilon"), printed("PAC", "mutual_information")
    for computed, cells in zip(ours, theirs, strict=True):
        assert_array_equal(np.floor(1e6 * computed), np.round(1e6 * cells))
    rounded = sum(
        (np.round(1e6 * a) != np.round(1e6 * b)).sum() for a, b in zip(ours, theirs, strict=True)
    )
    assert rounded == 5
    assert not np.array_equal(
        np.floor(1e6 * pac.success_rate_to_epsilon(RATES, 1e-6)), np.round(1e6 * theirs[0])
    )


def test_values_by_hand():
    assert pac.success_rate_to_mi(0.75) == pytest.approx(0.75 * np.log(3) - np.log(2))
    assert pac.success_rate_to_epsilon(0.75, 0.0) == pytest.approx(np.log(3))
    assert pac.epsilon_to_success_rate(0.0, 0.0) == 0.5
    assert pac.mi_to_success_rate(0.0) == pytest.approx(0.5, abs=1e-12)
    assert pac.mi_to_success_rate(np.log(2)) == 1
    assert pac.gaussian_success_rate(2.0) == pytest.approx(stats.norm.cdf(1))
    assert pac.gaussian_mutual_information(0.0) == pytest.approx(0, abs=1e-14)
    assert pac.gaussian_mutual_information(30.0) == pytest.approx(np.log(2))


def test_total_variation_allows_between_three_and_seven_times_as_much():
    gain = pac.success_rate_to_snr(RATES, "tv") / pac.success_rate_to_snr(RATES, "mi")
    assert_allclose(gain, [3.14, 3.15, 3.25, 3.48, 3.97, 5.47, 7.09], atol=0.005)
    near = pac.success_rate_to_snr(0.5 + 1e-6, "tv") / pac.success_rate_to_snr(0.5 + 1e-6, "mi")
    assert near == pytest.approx(np.pi, rel=1e-9)


@pytest.mark.parametrize("prior", [0.5, 0.6])
def test_a_vector_of_ceilings_is_each_of_them(prior):
    rates = [0.61, 0.8, 0.999999]  # their brackets are of different widths
    together = pac.success_rate_to_snr(rates, "tv", prior)
    each = [pac.success_rate_to_snr(rate, "tv", prior) for rate in rates]
    assert_allclose(together, each, rtol=1e-12)


# ---------------------------------------------------------------- identities and the safe side


@given(priors, shares)
def test_information_is_the_divergence_of_two_coins(prior, share):
    rate = prior + share * (1 - prior)
    direct = coin_divergence(rate, prior)
    assert pac.success_rate_to_mi(rate, prior) == pytest.approx(direct, rel=1e-7, abs=1e-15)


def test_information_next_to_the_prior_does_not_cancel():
    t = np.array([1e-9, 1e-7, 1e-5])
    rate = 0.5 + t
    assert_allclose(pac.success_rate_to_mi(rate), 2 * (rate - 0.5) ** 2, rtol=1e-9)  # + O(t^4)


@given(priors, shares)
def test_the_returned_rate_is_a_valid_ceiling(prior, share):
    rate = prior + share * (1 - prior)
    found = pac.mi_to_success_rate(pac.success_rate_to_mi(rate, prior), prior)
    assert rate <= found <= rate + 1e-11


@given(priors, shares, st.floats(0, 0.9))
def test_epsilon_and_back(prior, share, part):
    rate = prior + share * (1 - prior)
    delta = part * (rate - prior) / (1 - prior)
    epsilon = pac.success_rate_to_epsilon(rate, delta, prior)
    assert pac.epsilon_to_success_rate(epsilon, delta, prior) == pytest.approx(rate, rel=1e-9)


@given(priors, shares, st.sampled_from(pac.CALIBRATIONS))
def test_distance_and_back(prior, share, calibration):
    rate = prior + share * (1 - prior)
    snr = pac.success_rate_to_snr(rate, calibration, prior)
    assert pac.snr_to_success_rate(snr, calibration, prior) == pytest.approx(rate, rel=1e-9)
    assert pac.success_rate_to_snr(rate, "tv", prior) > pac.success_rate_to_snr(rate, "mi", prior)


def test_shapes_and_types():
    grid = np.full((2, 3), 0.7)
    functions = [
        pac.success_rate_to_mi,
        lambda p: pac.success_rate_to_epsilon(p, 1e-5),
        lambda p: pac.success_rate_to_snr(p, "tv"),
        lambda p: pac.success_rate_to_snr(p, "tv", 0.6),
        pac.mi_to_success_rate,
        lambda p: pac.epsilon_to_success_rate(p, 0.1),
        lambda p: pac.snr_to_success_rate(p, "mi", 0.6),
        lambda p: pac.snr_to_success_rate(p, "tv", 0.6),
        pac.gaussian_success_rate,
        pac.gaussian_mutual_information,
    ]
    for function in functions:
        assert function(grid).shape == (2, 3)
        assert isinstance(function(0.7), float)
        assert_allclose(function(grid), function(0.7), rtol=1e-14)


# ---------------------------------------------------------------- second routes


@pytest.mark.parametrize("prior", [0.5, 0.8])
@pytest.mark.parametrize("distance", [0.3, 1.0, 4.0])
def test_gaussian_success_and_information_by_quadrature(distance, prior):
    def joint(x):
        return prior * stats.norm.pdf(x, distance), (1 - prior) * stats.norm.pdf(x)

    def surprise(x):
        one, two = joint(x)
        return one * np.log(one / (prior * (one + two))) + two * np.log(
            two / ((1 - prior) * (one + two))
        )

    best = integrate.quad(lambda x: max(joint(x)), -9, 13, limit=200)[0]
    assert pac.gaussian_success_rate(distance, prior) == pytest.approx(best, abs=1e-7)
    bits = integrate.quad(surprise, -9, 13, limit=200)[0]
    assert pac.gaussian_mutual_information(distance, prior) == pytest.approx(bits, abs=1e-9)
    assert pac.gaussian_mutual_information(distance, prior) <= prior * (1 - prior) * distance**2


@given(st.floats(0.01, 6))
def test_success_is_half_plus_half_the_total_variation(distance):
    assert pac.gaussian_success_rate(distance) == pytest.approx(
        0.5 + gaussian_profile(0.0, distance) / 2
    )


@given(priors, st.lists(st.floats(0, 8), min_size=2, max_size=6), st.randoms())
def test_ceilings_hold_for_random_distances(prior, distances, random):
    """The informed adversary, and the mutual information, against both ceilings."""
    weights = np.array([random.random() + 1e-3 for _ in distances])
    weights /= weights.sum()
    s = np.array(distances)
    reached = weights @ pac.gaussian_success_rate(s, prior)
    known = weights @ pac.gaussian_mutual_information(s, prior)
    snr = weights @ s**2
    assert reached <= pac.snr_to_success_rate(snr, "tv", prior) + 1e-12
    assert reached <= pac.mi_to_success_rate(known, prior) + 1e-12
    assert known <= prior * (1 - prior) * snr + 1e-12


@pytest.mark.parametrize("lean", [1e-12, 1e-10, 1e-8, 1e-6, 1e-3, 0.1, 0.4, 0.499])
def test_a_distance_now_and_then_is_within_the_ceiling(lean):
    """A distance s with probability u / s^2 has the mean square u; of these the best attains it."""
    prior = 0.5 + lean
    log_odds = np.log(prior / (1 - prior))
    s = log_odds * np.geomspace(0.3, 30, 4001)
    u = 0.3 * log_odds**2 * min(1.0, 1 / log_odds)  # below where the line ends
    gain = pac.gaussian_success_rate(s[s**2 >= u], prior) - prior
    best = (u / s[s**2 >= u] ** 2 * gain).max()
    ceiling = pac.snr_to_success_rate(u, "tv", prior) - prior
    assert best - 3e-16 <= ceiling <= best * (1 + 1e-5) + 3e-16  # rounding of numbers near 1/2


def test_ceilings_are_attained():
    # the same distance whoever else is in, prior 1/2: total variation is exact
    assert pac.snr_to_success_rate(1.44) == pac.mi_to_success_rate(0.36)
    assert pac.snr_to_success_rate(1.44, "tv") == pac.gaussian_success_rate(1.2)
    # another prior: a mixture of no move and the touching move reaches the straight part
    prior, snr = 0.8, 0.3
    grid = np.linspace(0.5, 30, 20_000)
    mixed = prior + snr / grid**2 * (pac.gaussian_success_rate(grid, prior) - prior)
    assert pac.snr_to_success_rate(snr, "tv", prior) == pytest.approx(mixed.max(), rel=1e-7)
    # randomized response with a leak: the (epsilon, delta) ceiling
    e, delta = 1.0, 0.1
    keep = (1 - delta) * np.array([np.e, 1]) / (1 + np.e)
    leak = 0.5 * (delta + delta) + 0.5 * 2 * keep[0]
    assert pac.epsilon_to_success_rate(e, delta) == pytest.approx(leak)


def test_a_fair_coin_halves_the_bound_on_information():
    s = np.geomspace(1e-3, 20, 40)
    assert np.all(pac.gaussian_mutual_information(s) <= s**2 / 8 * (1 + 1e-9))
    assert pac.gaussian_mutual_information(1e-2) == pytest.approx(1e-4 / 8, rel=1e-4)


@pytest.mark.parametrize("prior", [0.5 + 1e-16, 0.5 + 1e-13, 0.5 + 1e-8, 0.6, 0.999, 1 - 1e-12])
def test_extreme_priors(prior):
    rate = (1 + prior) / 2
    snr = pac.success_rate_to_snr(rate, "tv", prior)
    assert pac.snr_to_success_rate(snr, "tv", prior) == pytest.approx(rate, rel=1e-9)
    assert pac.success_rate_to_snr(rate, "mi", prior) < snr < np.inf


# ---------------------------------------------------------------- planted bugs


def in_bits(rate):
    return pac.success_rate_to_mi(rate) / np.log(2)


def target_for_prior(rate):
    """The slip p_o for p: both coins at the target."""
    return coin_divergence(rate, rate)


def halved(rate):
    return pac.success_rate_to_mi(rate) / 2


@pytest.mark.parametrize("bug", [in_bits, target_for_prior, halved])
def test_planted_conversions_miss_table_one(bug):
    cells = printed("PAC", "mutual_information")
    assert not np.array_equal(np.floor(1e6 * bug(RATES)), np.round(1e6 * cells))


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("rate", [0.5, 1.0, 0.3, 1.2, np.nan, [0.7, 0.5], [0.7, np.inf]])
@pytest.mark.parametrize(
    "function",
    [
        pac.success_rate_to_mi,
        pac.success_rate_to_snr,
        lambda p: pac.success_rate_to_epsilon(p, 1e-5),
    ],
)
def test_targets_outside_are_refused(function, rate):
    with pytest.raises(ValueError, match=r"^success_rate must be above"):
        function(rate)


@pytest.mark.parametrize(
    ("call", "error", "message"),
    [
        (lambda: pac.success_rate_to_mi("0.7"), TypeError, "success_rate must be a number"),
        (lambda: pac.success_rate_to_mi(True), TypeError, "success_rate must be a number"),
        (lambda: pac.success_rate_to_mi(0.7, 0.4), ValueError, "prior must be at least 0.5"),
        (lambda: pac.success_rate_to_mi(0.7, np.nan), ValueError, "prior must be above 0"),
        (lambda: pac.success_rate_to_mi(0.7, 0.7), ValueError, "success_rate must be above 0.7"),
        (lambda: pac.mi_to_success_rate(-1), ValueError, "mi must be finite and at least 0"),
        (lambda: pac.mi_to_success_rate(np.nan), ValueError, "mi must be finite and at least 0"),
        (lambda: pac.success_rate_to_epsilon(0.55, 0.2), ValueError, "delta must be at most 0.1"),
        (lambda: pac.success_rate_to_epsilon(0.55, 1.0), ValueError, "delta must be at least 0"),
        (lambda: pac.epsilon_to_success_rate(-1, 0), ValueError, "epsilon must be finite"),
        (lambda: pac.success_rate_to_snr(0.7, "kl"), ValueError, "calibration must be one of"),
        (lambda: pac.snr_to_success_rate(1.0, None), ValueError, "calibration must be one of"),
        (lambda: pac.snr_to_success_rate(-1.0), ValueError, "snr must be finite"),
        (lambda: pac.gaussian_success_rate(np.inf), ValueError, "distance must be finite"),
    ],
)
def test_bad_input(call, error, message):
    with pytest.raises(error, match=f"^{message}"):
        call()


@pytest.mark.parametrize("prior", [0.5001, 0.6, 0.75, 0.9, 0.99])
def test_the_line_is_rounded_away_from_the_curve(prior):
    """Rounded down it would promise less than the curve that it stands for."""
    touch, slope = tangent(prior)
    assert slope * touch > gain(np.sqrt(touch), prior) * (1 + GUARD / 2)
