"""What noisy gradients cost each person: by hand, by exact densities; planted bugs; bad input."""

import dataclasses
import functools

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from pdpbook.gradient import (
    DescentLaw,
    DPSGDLaw,
    DPSGDRegression,
    GradientDescentRidge,
    dpsgd_epsilon,
    individual_epsilon,
)
from pdpbook.gradient.dpsgd import ORDERS
from pdpbook.noise import gaussian_epsilon

DELTA = 1e-3


def dpsgd(q, steps=2, rate=0.1, sigma=2.0):
    """Somebody who can be short or long, a loud one, and a silent one."""
    X, y = np.array([[0.5], [1.0], [0.0]]), np.array([0.4, 1.0, 0.0])
    return DPSGDLaw(X, y, q, 1, 1.0, rate, steps, sigma)


def descent(steps=2):
    X, y = np.array([[0.5], [1.0], [0.0]]), np.array([0.4, 1.0, 0.0])
    return DescentLaw(X, y, np.full(3, 1 / 3), 0.1, 0.5, 0.4, steps, 0.5)


DESCENT = descent()

# ---------------------------------------------------------------- the account


def test_three_steps_by_hand():
    law = DPSGDLaw(np.array([[0.5]]), np.array([0.3]), 1.0, 1, 1.0, 0.1, 3, 2.0)
    # the gradient is 0.5 theta - 0.3, and where the path ends does not count
    path = [0.1, -0.2, 9.0]
    assert_allclose(law.shifts(path)[:, 0], [0.15, 0.125, 0.2])
    mu = np.sqrt(0.15**2 + 0.125**2 + 0.2**2)
    assert_allclose(individual_epsilon(law, path, DELTA), gaussian_epsilon(DELTA, mu))


def test_a_step_of_weighted_descent_by_hand():
    # weight 1/3, twice the residual 0.4 - 0.5 * 0.2, times the row; the other is cut at 0.5
    shifts = descent().shifts([0.2, 0.0])
    assert_allclose(shifts[1], [2 * 0.3 * 0.5 / 3 / 0.5, 2 * 0.5 / 3 / 0.5, 0])
    assert_allclose(shifts[0], [2 * 0.4 * 0.5 / 3 / 0.5, 2 * 0.5 / 3 / 0.5, 0])


def test_with_coins_it_is_an_integral_converted():
    law, path = dpsgd(0.3, steps=3, sigma=1.2), [0.3, -0.1, 0.0]
    z = np.linspace(-12, 30, 200_001)
    found = []
    for order in ORDERS[:5]:
        total = 0.0
        for shift in law.shifts(path)[:, 0]:
            ratio = 1 - 0.3 + 0.3 * np.exp(shift * z - shift**2 / 2)
            mean = (ratio**order * stats.norm.pdf(z)).sum() * (z[1] - z[0])
            total += np.log(mean) / (order - 1)
        share = DELTA / len(ORDERS)
        tail = np.log(1 / order) + (order - 1) * np.log(1 - 1 / order) - np.log(share)
        found.append(total + tail / (order - 1))
    own = individual_epsilon(law, path, DELTA)[0]
    assert min(found) <= own * (1 + 1e-12)  # shifts are rounded up
    assert_allclose(own, min(found), rtol=1e-3)


@pytest.mark.parametrize("q", [0.2, 1.0])
def test_nobody_pays_more_than_the_worst_case(q):
    rng = np.random.default_rng(1)
    X, y = rng.uniform(-1, 1, (40, 3)), rng.uniform(-1, 1, 40)
    model = DPSGDRegression(
        noise_multiplier=3.0, batch_size=round(40 * q), clip_norm=1.0, n_public=40, epochs=4
    )
    law = model.output_law(X, y)
    own = individual_epsilon(law, law.sample(rng=rng), 1e-5)
    worst = dpsgd_epsilon(3.0, q, law.steps, 1e-5)
    assert own.shape == (40,)
    assert own.min() < 0.9 * worst
    assert own.max() <= worst * (1 + 1e-9)


def test_descent_pays_at_most_half_of_the_shift_that_is_promised():
    rng = np.random.default_rng(2)
    X, y, asked = rng.random((30, 2)), rng.uniform(-1, 1, 30), rng.uniform(0.2, 2, 30)
    model = GradientDescentRidge(0.5, delta=1e-5, huber_threshold=0.3)
    law = model.output_law(X, y, epsilon=asked)
    path = law.sample(rng=rng)
    assert np.all(individual_epsilon(law, path, 1e-5) < asked)
    mu = np.sqrt((law.shifts(path) ** 2).sum(axis=0))
    promised = np.asarray(model.fit(X, y, epsilon=asked).guarantee_.mu)
    assert np.all(mu <= promised / 2 * (1 + 1e-12))


@pytest.mark.parametrize("law", [dpsgd(0.4), dpsgd(1.0), descent()])
def test_ones_own_account_needs_ones_own_record(law):
    path = [0.2, 0.1]
    everybody = individual_epsilon(law, path, DELTA)
    for i in range(3):
        weight = {"weights": law.weights[[i]]} if isinstance(law, DescentLaw) else {}
        alone = dataclasses.replace(law, X=law.X[[i]], y=law.y[[i]], **weight)
        assert_array_equal(individual_epsilon(alone, path, DELTA)[0], everybody[i])


@pytest.mark.parametrize("law", [dpsgd(0.4), dpsgd(1.0), descent()])
def test_the_silent_pay_nothing(law):
    assert individual_epsilon(law, [0.1, 0.1], DELTA)[2] == 0
    assert_array_equal(law.logpdf([0.1, 0.1]), without(law, 2).logpdf([0.1, 0.1]))


def test_who_is_silent_at_first_pays_for_the_step_after_and_for_the_conversion():
    law = dataclasses.replace(dpsgd(0.4), y=np.zeros(3))
    assert_array_equal(law.shifts([0.0, 0.5])[:, 1], 0)
    assert individual_epsilon(law, [0.0, 0.5], DELTA)[1] == 0  # silent at both starts
    assert law.shifts([1e-9, 0.0])[1, 1] > 0
    tail = np.log1p(-1 / ORDERS) - np.log(DELTA * ORDERS / len(ORDERS)) / (ORDERS - 1)
    own = individual_epsilon(law, [1e-9, 0.0], DELTA)[1]
    assert tail.min() <= own <= tail.min() * 1.001


@pytest.mark.parametrize(
    ("path", "delta", "message"),
    [
        ([0.1], DELTA, r"path must have shape \(2,\), all iterates; got \(1,\)"),
        ([0.1, np.nan], DELTA, "path must be finite"),
        ([0.1, 0.2], 0.0, "delta must"),
        ([0.1, 0.2], 1.0, "delta must"),
    ],
)
@pytest.mark.parametrize("law", [dpsgd(0.4), descent()])
def test_bad_input(law, path, delta, message):
    with pytest.raises(ValueError, match=message):
        individual_epsilon(law, path, delta)


def test_other_laws_are_refused():
    with pytest.raises(TypeError, match="law must be a DPSGDLaw or a DescentLaw; got float"):
        individual_epsilon(1.0, [0.1], DELTA)


# ---------------------------------------------------------------- against the exact density


def without(law, i):
    """The same with a gradient of 0 in place of a person's."""
    X = law.X.copy()
    X[i] = 0
    return dataclasses.replace(law, X=X)


def shown(law, i, account, points=91):
    """What is shown over delta, at most, on the paths up to any account; `account` of slopes."""
    one_step = law.step_size if isinstance(law, DescentLaw) else law.learning_rate
    noise = law.sigma if isinstance(law, DescentLaw) else law.noise_multiplier
    grid = np.linspace(-8, 10, points) * one_step * noise
    pairs = np.stack(np.meshgrid(grid, grid, indexing="ij"), axis=-1)
    cell = (grid[1] - grid[0]) ** 2
    P, Q = (np.exp(one.logpdf(pairs)) * cell for one in (law, without(law, i)))
    assert_allclose([P.sum(), Q.sum()], 1, atol=1e-6)
    own, worst = np.broadcast_to(account(law, grid), points)[:, None], 0.0
    for level in np.unique(np.append(np.quantile(own, np.linspace(0.1, 1, 19)), own.max())):
        keep = own <= level
        for first, second in ((P, Q), (Q, P)):
            gain = np.maximum(first - np.exp(level) * second, 0)
            worst = max(worst, (gain * keep).sum() / DELTA)
    return worst


@functools.cache
def everybody(law, slope):
    return individual_epsilon(law, [slope, 0.0], DELTA)


def of_package(i):
    return lambda law, slopes: [everybody(law, slope)[i] for slope in slopes]


def of_package_with(other):
    return lambda _, slopes: [everybody(other, slope)[1] for slope in slopes]


@pytest.fixture(autouse=True)
def _worst_cases_once(monkeypatch):
    once = functools.lru_cache(dpsgd_epsilon)
    monkeypatch.setattr("pdpbook.gradient.dpsgd.dpsgd_epsilon", once)


@pytest.fixture
def _coarse(monkeypatch):
    """Shifts rounded up further: still an account, and sooner known."""
    monkeypatch.setattr("pdpbook.gradient.dpsgd.LEVELS", 256)


@pytest.mark.usefixtures("_coarse")
@pytest.mark.parametrize("i", [0, 1])
@pytest.mark.parametrize("law", [dpsgd(0.4), dpsgd(1.0), dpsgd(1.0, rate=0.3), DESCENT])
def test_up_to_an_account_little_is_shown(law, i):
    points = 55 if isinstance(law, DPSGDLaw) and law.sample_rate < 1 else 91
    # a grid of 0.2 deviations: the kink costs up to half a percent
    assert shown(law, i, of_package(i), points) <= 1.01


@pytest.mark.parametrize("law", [dpsgd(1.0, rate=0.05), DESCENT])
def test_nothing_is_wasted_on_the_loud_one(law):
    assert shown(law, 1, of_package(1)) >= 0.97


def charged_late(law, slopes):
    """Of the iterates after the steps: the second step is not charged yet."""
    return gaussian_epsilon(DELTA, [law.shifts([slope, 0.0])[0, 0] for slope in slopes])


def on_the_path_without_noise(law, _slopes):
    return individual_epsilon(law, law.center, DELTA)[0]


def on_the_path_of_the_neighbor(law, _slopes):
    return individual_epsilon(law, without(law, 0).center, DELTA)[0]


def lengths_added_in_squares_of_the_mean(law, slopes):
    return gaussian_epsilon(DELTA, [law.shifts([slope, 0.0])[:, 0].mean() for slope in slopes])


@pytest.mark.parametrize(
    "bug",
    [
        charged_late,
        on_the_path_without_noise,
        on_the_path_of_the_neighbor,
        lengths_added_in_squares_of_the_mean,
    ],
)
@pytest.mark.parametrize("rate", [0.1, 0.2])
def test_planted_accounts_are_caught(bug, rate):
    assert shown(dpsgd(1.0, rate=rate), 0, bug) > 1.1


def test_lengths_before_clipping_charge_more_than_the_worst_case():
    law = dataclasses.replace(dpsgd(1.0), clip_norm=1e6, noise_multiplier=2e-6)  # the same noise
    mu = np.sqrt((law.shifts([0.0, 0.0]) ** 2).sum(axis=0))
    assert gaussian_epsilon(DELTA, mu[1]) > 1.5 * dpsgd_epsilon(2.0, 1.0, 2, DELTA)


@pytest.mark.usefixtures("_coarse")
def test_without_coins_counting_as_if_nobody_saw_them_is_caught():
    """Whoever sees the coins needs the account of everybody in every batch."""
    law = dpsgd(1.0, sigma=1.0)
    coins = dataclasses.replace(law, sample_rate=0.4)
    assert shown(law, 1, of_package_with(coins), 55) > 1.1
