"""Accounting of DP-SGD: closed forms, integrals and simulations beside dp-accounting; bad input."""

import logging

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats

from pdpbook.gradient import (
    calibrate_noise_multiplier,
    calibrate_to_success_rate,
    dpsgd_epsilon,
    dpsgd_profile,
    dpsgd_total_variation,
    subsampled_gaussian_profile,
)
from pdpbook.noise import gaussian_epsilon, gaussian_mu, gaussian_profile

SEED = 20261121
DELTA = 1e-5


def densities(sigma, q, reach=0.0):
    """A fine grid, its step, and the densities with the person and without, for one step."""
    x = np.linspace(-12 * sigma, 1 + reach + 12 * sigma, 400_001)
    without = stats.norm(0, sigma).pdf(x)
    return x[1] - x[0], (1 - q) * without + q * stats.norm(1, sigma).pdf(x), without


def integral(epsilon, sigma, q, *, leave=True):
    """Hockey-stick divergence of one step on a grid: the kink costs a step squared."""
    step, *pair = densities(sigma, q)
    first, second = pair if leave else pair[::-1]
    return step * np.maximum(first - np.exp(epsilon) * second, 0.0).sum()


# ---------------------------------------------------------------- one step, full batch


def test_one_step_by_hand():
    # total variation of N(0, 1) against N(1, 1), of which a tenth is seen
    assert_allclose(subsampled_gaussian_profile(0.0, 1.0, 0.1), 0.1 * 0.38292492254802624)
    assert subsampled_gaussian_profile(800.0, 1.0, 0.1) == 0  # no overflow on the way
    epsilon = np.array([0.0, 0.5, 3.0])
    assert_array_equal(
        subsampled_gaussian_profile(epsilon, 0.7, 1.0), gaussian_profile(epsilon, 1 / 0.7)
    )


@pytest.mark.parametrize(("sigma", "q"), [(0.5, 0.3), (1.0, 0.1), (1.0, 0.9), (3.0, 0.5)])
def test_one_step_is_the_integral_of_its_densities(sigma, q):
    for epsilon in (0.0, 0.05, 0.3, 1.0):
        largest = max(integral(epsilon, sigma, q), integral(epsilon, sigma, q, leave=False))
        assert_allclose(
            subsampled_gaussian_profile(epsilon, sigma, q), largest, rtol=1e-7, atol=1e-9
        )


@pytest.mark.parametrize(("sigma", "q"), [(0.5, 0.3), (1.0, 0.1), (1.0, 0.9), (3.0, 0.5)])
def test_composed_loss_distributions_agree_on_one_step(sigma, q):
    epsilon = np.array([0.0, 0.05, 0.3, 1.0])
    exact = subsampled_gaussian_profile(epsilon, sigma, q)
    found = dpsgd_profile(epsilon, sigma, q, steps=1)
    assert np.all(found >= exact - 1e-12)
    assert_allclose(found, exact, rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize("sigma", [0.7, 2.0, 20.0])
@pytest.mark.parametrize("steps", [1, 50])
def test_everybody_in_every_batch_is_one_gaussian(sigma, steps):
    mu = np.sqrt(steps) / sigma
    exact = float(gaussian_epsilon(DELTA, mu))
    tight = dpsgd_epsilon(sigma, 1.0, steps, DELTA)
    assert exact - 1e-9 <= tight <= exact * (1 + 1e-3)
    assert_allclose(dpsgd_total_variation(sigma, 1.0, steps), gaussian_profile(0.0, mu), rtol=1e-4)
    # Renyi divergences of a Gaussian: alpha mu^2 / 2, converted at the best order
    best = optimize.minimize_scalar(
        lambda t: converted(1 + np.exp(t), (1 + np.exp(t)) * mu**2 / 2), bounds=(-5, 6)
    ).fun
    loose = dpsgd_epsilon(sigma, 1.0, steps, DELTA, accountant="rdp")
    assert best - 1e-9 <= loose <= best * 1.03  # the accountant's orders are a grid
    assert loose > exact


def converted(alpha, divergence):
    """Epsilon of one Renyi divergence, with the constants of Canonne, Kamath and Steinke."""
    return divergence + np.log1p(-1 / alpha) - np.log(DELTA * alpha) / (alpha - 1)


@pytest.mark.parametrize(("sigma", "q", "steps"), [(2.0, 0.1, 100), (1.0, 0.02, 400)])
def test_the_renyi_accountant_is_an_integral_converted(sigma, q, steps):
    def epsilon(alpha):
        step, with_, without = densities(sigma, q, reach=alpha)
        ratio = np.log(with_, where=with_ > 0, out=np.full_like(with_, -np.inf))
        inside = without > 0
        term = alpha * ratio[inside] + (1 - alpha) * np.log(without[inside])
        return converted(alpha, steps * np.log(step * np.exp(term).sum()) / (alpha - 1))

    best = min(epsilon(alpha) for alpha in np.arange(2, 16))
    found = dpsgd_epsilon(sigma, q, steps, DELTA, accountant="rdp")
    assert_allclose(found, best, rtol=0.01)  # two grids of orders


# ---------------------------------------------------------------- many steps


@pytest.mark.parametrize(("sigma", "q", "steps"), [(1.0, 0.3, 10), (2.0, 0.1, 60), (0.5, 0.05, 20)])
@pytest.mark.parametrize("epsilon", [0.0, 0.5])
def test_many_steps_agree_with_a_simulation(sigma, q, steps, epsilon):
    """Draws from the run with the person; the mean gain is delta, five standard errors wide."""
    rng = np.random.default_rng(SEED)
    x = sigma * rng.standard_normal((40_000, steps)) + (rng.random((40_000, steps)) < q)
    loss = np.log1p(q * np.expm1((2 * x - 1) / (2 * sigma**2))).sum(axis=1)
    gain = np.maximum(0, -np.expm1(epsilon - loss))
    exact = dpsgd_profile(epsilon, sigma, q, steps)
    assert abs(gain.mean() - exact) <= 5 * gain.std() / np.sqrt(len(gain))


@pytest.mark.parametrize(
    ("sigma", "q", "steps"), [(0.5, 0.01, 9), (1.0, 0.5, 30), (20.0, 0.9, 100)]
)
def test_no_more_than_with_everybody_in_every_batch(sigma, q, steps):
    spent = dpsgd_total_variation(sigma, q, steps)
    whole = float(gaussian_profile(0.0, np.sqrt(steps) / sigma))
    assert 0 < spent <= min(whole, steps * q) * (1 + 1e-2)
    assert spent >= subsampled_gaussian_profile(0.0, sigma, q) * (1 - 1e-9)


def test_a_sum_of_many_chances_that_are_rounded_up_is_still_a_chance():
    found = dpsgd_profile([0.0, 0.1], 0.5, 0.5, 300)
    assert np.all((found > 1 - 1e-6) & (found <= 1))


def test_renyi_costs_more():
    for sigma, q, steps in [(5.0, 0.155, 70), (1.0, 0.01, 500), (0.6, 0.5, 20)]:
        tight = dpsgd_epsilon(sigma, q, steps, DELTA)
        assert tight < dpsgd_epsilon(sigma, q, steps, DELTA, accountant="rdp") < 1.6 * tight


def test_below_the_floor_sampling_is_not_counted():
    assert dpsgd_epsilon(0.1, 0.3, 5, DELTA) == gaussian_epsilon(DELTA, np.sqrt(5) / 0.1)
    assert_allclose(dpsgd_total_variation(0.01, 0.1, 3), 1 - 0.9**3)
    assert dpsgd_total_variation(0.01, 1.0, 3) == 1
    assert dpsgd_total_variation(0.21, 0.1, 3) <= 1 - 0.9**3


# ---------------------------------------------------------------- calibration


@pytest.mark.parametrize("accountant", ["pld", "rdp"])
@pytest.mark.parametrize(
    ("epsilon", "q", "steps"), [(0.08, 0.155, 70), (1.0, 1.0, 20), (2.0, 0.3, 1)]
)
def test_the_multiplier_keeps_the_budget_and_a_hair_less_does_not(epsilon, q, steps, accountant):
    sigma = calibrate_noise_multiplier(epsilon, DELTA, q, steps, accountant=accountant)
    assert dpsgd_epsilon(sigma, q, steps, DELTA, accountant=accountant) <= epsilon
    assert dpsgd_epsilon(sigma * (1 - 1e-4), q, steps, DELTA, accountant=accountant) > epsilon


@pytest.mark.parametrize("epsilon", [1e3, 1e9])
def test_a_huge_budget_still_gets_a_multiplier_that_keeps_it(epsilon):
    sigma = calibrate_noise_multiplier(epsilon, DELTA, 0.1, 20)
    assert 0 < sigma <= 0.2
    assert dpsgd_epsilon(sigma, 0.1, 20, DELTA) <= epsilon
    assert_allclose(sigma, np.sqrt(20) / gaussian_mu(epsilon, DELTA), rtol=1e-9)


def test_below_the_floor_calibration_is_that_of_one_gaussian():
    """In closed form, and kept in floating point too: a rounding error of the inverse is paid."""
    for epsilon in np.logspace(2, 9, 40):
        for steps in (1, 7, 20):
            exact = np.sqrt(steps) / gaussian_mu(epsilon, DELTA)
            if exact < 0.19:
                sigma = calibrate_noise_multiplier(epsilon, DELTA, 0.1, steps)
                assert dpsgd_epsilon(sigma, 0.1, steps, DELTA) <= epsilon
                assert_allclose(sigma, exact, rtol=1e-9)
    for chance in np.logspace(-9, -3, 13):  # of a wrong guess; with steps 1, sigma < 0.17
        sigma = calibrate_to_success_rate(1 - chance, 1.0, 1)
        assert_allclose(sigma, 1 / (2 * stats.norm.isf(chance)), rtol=1e-6)


def test_the_smallest_budget_gets_a_multiplier_that_keeps_it():
    sigma = calibrate_noise_multiplier(1e-12, DELTA, 0.1, 1)
    assert dpsgd_epsilon(sigma, 0.1, 1, DELTA) <= 1e-12
    # an accountant that rounds losses up says epsilon 0 where delta(0) is at most delta
    assert subsampled_gaussian_profile(0.0, sigma, 0.1) <= DELTA


@pytest.mark.parametrize(
    ("rate", "q", "steps"), [(0.52, 0.155, 70), (0.75, 0.155, 70), (0.9, 1.0, 9)]
)
def test_the_ceiling_is_kept_and_a_hair_less_noise_breaks_it(rate, q, steps):
    sigma = calibrate_to_success_rate(rate, q, steps)
    assert dpsgd_total_variation(sigma, q, steps) <= 2 * rate - 1
    assert dpsgd_total_variation(sigma * (1 - 1e-4), q, steps) > 2 * rate - 1
    if q == 1:
        assert_allclose(sigma, 3 / (2 * stats.norm.ppf(rate)), rtol=1e-4)


def test_where_chance_alone_keeps_the_ceiling_the_floor_is_returned():
    assert calibrate_to_success_rate(0.55, 0.01, 10) == 0.2  # in a batch at all: under 10 percent


@pytest.mark.parametrize(
    ("epsilon", "delta", "q", "steps", "printed"),
    [
        # noise multipliers of the Renyi analysis of Opacus 1.6.0, run once on its own
        (1.098598, 1e-5, 16 / 103, 70, 5.0651),
        (0.200652, 1e-5, 16 / 103, 70, 23.5087),
        (3.891810, 1e-5, 16 / 24, 20, 3.6928),
        (1.0, 1e-6, 0.01, 1000, 1.6595),
    ],
)
def test_the_multipliers_of_opacus(epsilon, delta, q, steps, printed):
    found = calibrate_noise_multiplier(epsilon, delta, q, steps, accountant="rdp")
    assert_allclose(found, printed, rtol=0.01)
    assert calibrate_noise_multiplier(epsilon, delta, q, steps) < found


# ---------------------------------------------------------------- planted accounting bugs


def forgets_sampling(epsilon, sigma, q):
    return gaussian_profile(epsilon, 1 / sigma)


def scales_delta_only(epsilon, sigma, q):
    return q * gaussian_profile(epsilon, 1 / sigma)


def shrinks_epsilon_too_far(epsilon, sigma, q):
    return q * gaussian_profile(epsilon / q, 1 / sigma)


@pytest.mark.parametrize("bug", [forgets_sampling, scales_delta_only, shrinks_epsilon_too_far])
def test_planted_profiles_are_caught(bug):
    exact = [integral(epsilon, 1.0, 0.1) for epsilon in (0.0, 0.2, 1.0)]
    claimed = [bug(epsilon, 1.0, 0.1) for epsilon in (0.0, 0.2, 1.0)]
    assert not np.allclose(claimed, exact, rtol=1e-3)
    honest = [subsampled_gaussian_profile(epsilon, 1.0, 0.1) for epsilon in (0.0, 0.2, 1.0)]
    assert np.allclose(honest, exact, rtol=1e-6)


# ---------------------------------------------------------------- quiet, and bad input


def test_orders_that_do_not_converge_are_not_announced(caplog):
    logger = logging.getLogger("absl")
    level = logger.level
    dpsgd_epsilon(55.4, 16 / 103, 70, DELTA, accountant="rdp")
    calibrate_noise_multiplier(0.08, DELTA, 0.66, 20, accountant="rdp")
    assert not caplog.records
    assert logger.level == level


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"epsilon": 0.0}, ValueError, "epsilon must be finite and above 0; got 0"),
        ({"epsilon": np.nan}, ValueError, "epsilon must be finite and above 0; got nan"),
        ({"epsilon": np.inf}, ValueError, "epsilon must be finite and above 0; got inf"),
        ({"epsilon": [1.0, 2.0]}, ValueError, r"epsilon must be a single number; got shape \(2,\)"),
        ({"epsilon": "1"}, TypeError, "epsilon must be a number"),
        ({"delta": 0.0}, ValueError, "delta must be above 0 and below 1; got 0"),
        ({"delta": 1.0}, ValueError, "delta must be above 0 and below 1; got 1"),
        ({"sample_rate": 0.0}, ValueError, "sample_rate must be finite and above 0; got 0"),
        ({"sample_rate": 1.5}, ValueError, "sample_rate must be above 0 and at most 1; got 1.5"),
        ({"sample_rate": np.nan}, ValueError, "sample_rate must be finite and above 0; got nan"),
        ({"sample_rate": True}, TypeError, "sample_rate must be a number"),
        ({"steps": 0}, ValueError, "steps must be at least 1; got 0"),
        ({"steps": 2.5}, TypeError, "steps must be a whole number; got 2.5"),
        ({"accountant": "prv"}, ValueError, "accountant must be one of 'pld', 'rdp'; got 'prv'"),
        ({"accountant": None}, ValueError, "accountant must be one of 'pld', 'rdp'; got None"),
    ],
)
def test_bad_targets_are_refused(change, error, message):
    good = {"epsilon": 1.0, "delta": DELTA, "sample_rate": 0.1, "steps": 10}
    with pytest.raises(error, match=message):
        calibrate_noise_multiplier(**good | change)


@pytest.mark.parametrize("sigma", [0.0, -1.0, np.nan, np.inf])
@pytest.mark.parametrize(
    "call",
    [
        lambda s: dpsgd_epsilon(s, 0.1, 10, DELTA),
        lambda s: dpsgd_profile(0.5, s, 0.1, 10),
        lambda s: dpsgd_total_variation(s, 0.1, 10),
        lambda s: subsampled_gaussian_profile(0.5, s, 0.1),
    ],
)
def test_bad_multipliers_are_refused(call, sigma):
    with pytest.raises(ValueError, match="noise_multiplier must be finite and above 0"):
        call(sigma)


@pytest.mark.parametrize("rate", [0.5, 1.0, 0.3, 2.0])
def test_bad_ceilings_are_refused(rate):
    with pytest.raises(ValueError, match=r"success_rate must be above 0\.5 and below 1"):
        calibrate_to_success_rate(rate, 0.1, 10)
    with pytest.raises(ValueError, match="success_rate must be finite and above 0; got nan"):
        calibrate_to_success_rate(np.nan, 0.1, 10)
    with pytest.raises(ValueError, match="epsilon must be finite and at least 0; got -1"):
        dpsgd_profile(-1.0, 1.0, 0.1, 10)
