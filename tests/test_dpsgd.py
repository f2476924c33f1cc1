"""DP-SGD: the law of its path, exact densities of neighbors, planted bugs, and bad input."""

import tracemalloc

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from pdpbook.gradient import (
    DPSGDLaw,
    DPSGDRegression,
    dpsgd_epsilon,
    dpsgd_total_variation,
    subsampled_gaussian_profile,
)
from pdpbook.guarantees import ApproximateDP

SEED = 20261121
DELTA = 1e-5


def people(n=8, d=4, seed=SEED):
    rng = np.random.default_rng(seed)
    return rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, n)


# ---------------------------------------------------------------- the path


def test_one_step_by_hand():
    # gradients -2 y x: -1 * 1, clipped to -0.4, and -2 * -1 * 0.1 = 0.2, which stays
    X, y = [[1.0], [0.1]], [0.5, -1.0]
    model = DPSGDRegression(
        epochs=1, batch_size=2, clip_norm=0.4, learning_rate=0.5, noise_multiplier=1.0
    )
    law = model.output_law(X, y)
    assert (law.sample_rate, law.steps) == (1.0, 1)
    assert_allclose(law.center, [-0.5 * (-0.4 + 0.2) / 2])
    # one Gaussian: the noise 1.0 * 0.4 is inside the average
    exact = stats.norm(0.05, 0.5 * 0.4 / 2)
    assert_allclose(law.logpdf([[0.0], [0.3]]), exact.logpdf([0.0, 0.3]), rtol=1e-12)


def loop(law, coins, noise):
    """The textbook: a gradient at a time, each clipped by its own length."""
    theta, path = np.zeros(law.X.shape[1]), []
    for member, z in zip(coins, noise, strict=True):
        total = law.noise_multiplier * law.clip_norm * z
        for i in np.flatnonzero(member):
            g = 2 * (law.X[i] @ theta - law.y[i]) * law.X[i]
            total = total + g * min(1, law.clip_norm / max(np.linalg.norm(g), 1e-300))
        theta = theta - law.learning_rate * total / law.batch_size
        path.append(theta)
    return np.concatenate(path)


@pytest.mark.parametrize("clip_norm", [0.05, 0.5, 100.0])
def test_everybody_in_every_batch_is_the_plain_loop(clip_norm):
    X, y = people()
    X[2] = 0
    model = DPSGDRegression(batch_size=8, epochs=5, clip_norm=clip_norm, noise_multiplier=1e-9)
    law = model.output_law(X, y)
    plain = loop(law, np.ones((5, 8), bool), np.zeros((5, 4)))
    assert_allclose(law.center, plain, rtol=1e-12)
    assert_allclose(law.sample(rng=np.random.default_rng(0)), plain, atol=1e-6)


def test_a_path_with_random_batches_is_the_plain_loop_on_them():
    X, y = people(n=30, d=3)
    law = DPSGDRegression(batch_size=6, epochs=4, noise_multiplier=0.7).output_law(X, y)
    path = law.sample(rng=np.random.default_rng(5))
    rng, coins, noise = np.random.default_rng(5), np.zeros((20, 30), bool), np.zeros((20, 3))
    for k in range(20):
        coins[k, rng.choice(30, rng.binomial(30, 0.2), replace=False, shuffle=False)] = True
        noise[k] = rng.standard_normal(3)
    assert_allclose(path, loop(law, coins, noise), rtol=1e-10)


def test_everybody_joins_by_a_coin_of_their_own():
    """Rows that write down who was in the batch: 2^5 sets of people, chi-square at 1e-6."""
    X = np.diag(2.0 ** -np.arange(5))
    law = DPSGDLaw(X, np.ones(5), 0.3, 1, 100.0, 0.5, 1, 1e-12)
    member = law.sample(20_000, rng=np.random.default_rng(SEED)) * 2.0 ** np.arange(5)
    coins = np.round(member).astype(int)
    assert_allclose(member, coins, atol=1e-6)
    observed = np.bincount(coins @ 2 ** np.arange(5), minlength=32)
    size = np.array([bin(k).count("1") for k in range(32)])
    expected = 20_000 * 0.3**size * 0.7 ** (5 - size)
    assert stats.chisquare(observed, expected).pvalue > 1e-6


def test_the_density_is_that_of_the_draws():
    X, y = people(n=4, d=1)
    law = DPSGDLaw(X, y, 0.4, 2, 0.5, 0.8, 1, 0.3)
    grid = np.linspace(-3, 3, 60_001)
    density = np.exp(law.logpdf(grid[:, None]))
    mass = np.cumsum(density) * (grid[1] - grid[0])
    assert_allclose(mass[-1], 1, rtol=1e-9)
    draws = law.sample(5000, rng=np.random.default_rng(SEED)).ravel()
    assert stats.kstest(draws, lambda x: np.interp(x, grid, mass)).pvalue > 1e-6


def test_the_density_of_a_path_is_a_product_of_steps():
    X, y = people(n=5, d=2)
    law = DPSGDLaw(X, y, 0.5, 2, 0.5, 0.8, 3, 0.6)
    paths = law.sample(4, rng=np.random.default_rng(0))
    assert paths.shape == (4, 6)
    total = np.zeros(4)
    for p, path in enumerate(paths):
        before = np.zeros(2)
        for theta in path.reshape(3, 2):
            density = 0.0
            for k in range(32):
                member = np.array([k >> i & 1 for i in range(5)], bool)
                pull = np.zeros(2)
                for i in np.flatnonzero(member):
                    g = 2 * (X[i] @ before - y[i]) * X[i]
                    pull += g * min(1, 0.5 / np.linalg.norm(g))
                mean = before - 0.8 * pull / 2
                density += 0.5**5 * stats.multivariate_normal(mean, (0.8 * 0.15) ** 2).pdf(theta)
            total[p] += np.log(density)
            before = theta
    assert_allclose(law.logpdf(paths), total, rtol=1e-10)
    assert np.ndim(law.logpdf(paths[0])) == 0
    with pytest.raises(ValueError, match=r"points must have shape \(\.\.\., 6\), a path each"):
        law.logpdf(np.zeros(2))
    crowd = DPSGDLaw(np.ones((13, 1)), np.ones(13), 0.5, 2, 1.0, 0.1, 1, 1.0)
    with pytest.raises(ValueError, match="X must have at most 12 rows for a density"):
        crowd.logpdf([0.0])


def test_a_path_of_batches_that_hold_everybody_is_its_steps():
    X, y = people(n=5, d=2)
    law = DPSGDLaw(X, y, 1.0, 5, 0.5, 0.8, 3, 0.6)
    rng, theta, path = np.random.default_rng(2), np.zeros(2), []
    for _ in range(3):
        rng.binomial(5, 1.0), rng.choice(5, 5, replace=False, shuffle=False)  # the batch
        theta = law.step(theta, X, y, rng=rng)
        path.append(theta)
    assert_allclose(law.sample(rng=np.random.default_rng(2)), np.ravel(path), rtol=1e-12)


def test_no_draws_are_no_paths():
    X, y = people()
    law = DPSGDRegression(batch_size=2, epochs=1, noise_multiplier=1.0).output_law(X, y)
    assert law.sample(0, rng=np.random.default_rng(0)).shape == (0, 16)


def test_the_noise_on_a_sum_of_gradients_is_the_multiplier_times_the_clip_norm():
    model = DPSGDRegression(batch_size=5, clip_norm=500.0, noise_multiplier=0.002)
    assert model.fit(np.ones((10, 2)), np.zeros(10)).noise_.scale == 0.002 * 500.0


def test_fit_releases_the_last_iterate_of_one_path():
    X, y = people(n=40)
    model = DPSGDRegression(batch_size=10, epochs=3, random_state=3).fit(X, y)
    law = model.output_law(X, y)
    path = law.sample(rng=np.random.default_rng(3))
    assert path.shape == (48,)
    assert_allclose(model.coef_, path[-4:], rtol=1e-12)
    assert model.noise_multiplier_ == law.noise_multiplier
    assert (model.sample_rate_, model.steps_) == (0.25, 12)
    assert np.all(np.abs(model.coef_ - law.center[-4:]) > 1e-9)


def test_units_come_and_go():
    X, y = people(n=30)
    low, high = np.array([18.0, -3.0, 0.0, 1.0]), np.array([64.0, 5.0, 1e6, 2.0])
    settings = {"fit_intercept": True, "random_state": 5, "noise_multiplier": 1.0}
    units = DPSGDRegression(**settings, bounds=np.column_stack([low, high]), y_bounds=(100, 500))
    there = np.clip(low + (X + 1) / 2 * (high - low), low, high)
    predicted = DPSGDRegression(**settings).fit(X, y).predict(X)
    got = units.fit(there, 300 + 200 * y).predict(there)
    assert_allclose(got, 300 + 200 * predicted, rtol=1e-9)


def test_without_noise_it_fits():
    rng = np.random.default_rng(SEED)
    X = rng.uniform(-1, 1, (200, 2))
    y = X @ [0.5, -0.3] + 0.1
    model = DPSGDRegression(
        noise_multiplier=1e-9, fit_intercept=True, epochs=200, batch_size=50, clip_norm=5.0
    ).fit(X, y)
    assert_allclose([*model.coef_, model.intercept_], [0.5, -0.3, 0.1], atol=1e-4)


def test_memory_is_that_of_one_batch():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (200_000, 10)), rng.uniform(-1, 1, 200_000)
    law = DPSGDLaw(X, y, 1e-3, 200, 1.0, 0.1, 5, 1.0)
    tracemalloc.start()
    law.sample(rng=rng)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < X.nbytes / 50  # a batch is a thousandth of the data


# ---------------------------------------------------------------- what is promised


def test_three_ways_to_say_how_much():
    X, y = people(n=40)
    model = DPSGDRegression(epsilon=0.7, batch_size=8).fit(X, y)
    assert model.guarantee_ == ApproximateDP(0.7, DELTA, neighbors="zero-out")
    run = model.noise_multiplier_, model.sample_rate_, model.steps_
    assert dpsgd_epsilon(*run, DELTA) <= 0.7
    several = DPSGDRegression(batch_size=8).fit(X, y, epsilon=np.full(40, 0.7))
    assert several.guarantee_ == model.guarantee_
    ceiling = DPSGDRegression(success_rate=0.7, batch_size=8).fit(X, y)
    assert ceiling.guarantee_.epsilon == 0
    assert_allclose(ceiling.guarantee_.profile(0.0), 0.4)
    run = ceiling.noise_multiplier_, ceiling.sample_rate_, ceiling.steps_
    assert dpsgd_total_variation(*run) <= 0.4
    given = DPSGDRegression(noise_multiplier=3.0, batch_size=8, accountant="rdp").fit(X, y)
    assert given.noise_multiplier_ == 3.0
    assert given.guarantee_.epsilon == dpsgd_epsilon(3.0, 0.2, 50, DELTA, accountant="rdp")
    assert ceiling.guarantee_.neighbors == given.guarantee_.neighbors == "zero-out"


def test_a_public_number_fixes_rate_and_steps():
    X, y = people(n=40)
    laws = [
        DPSGDRegression(n_public=50, batch_size=8, noise_multiplier=1.0).output_law(X[:n], y[:n])
        for n in (40, 39)
    ]
    assert {(law.sample_rate, law.steps) for law in laws} == {(0.16, 70)}


WAYS = {"budget": {}, "ceiling": {"success_rate": 0.7}, "noise": {"noise_multiplier": 3.0}}


@pytest.mark.parametrize("settings", WAYS.values(), ids=WAYS)
def test_only_a_public_number_makes_it_a_promise_about_adding_and_removing(settings):
    X, y = people(n=40)
    said = "adding or removing their record"
    known = DPSGDRegression(n_public=50, batch_size=8, **settings).fit(X, y).guarantee_
    assert known.neighbors == "add-remove"
    assert said in str(known)
    rows = DPSGDRegression(batch_size=8, **settings).fit(X, y).guarantee_
    assert rows.neighbors == "zero-out"
    assert said not in str(rows)
    assert "what their record adds to every step, with the number of people public" in str(rows)


def by_length(there, gone, epsilon):
    """Delta, exact, between two paths of noise alone: their lengths decide, and those are chi."""
    dim = there.steps * there.X.shape[1]
    b, a = sorted(law.noise_multiplier for law in (there, gone))
    if a == b:
        return 0.0
    edge = 2 * (epsilon + dim * np.log(a / b)) / (b**-2 - a**-2)  # longer ones show the louder
    return stats.chi2.sf(edge / a**2, dim) - np.exp(epsilon) * stats.chi2.sf(edge / b**2, dim)


def test_the_number_of_rows_tells_that_somebody_left():
    """The hole of the default, in closed form: whose record adds nothing is seen by the noise."""
    X, y = np.zeros((8, 2)), np.zeros(8)
    settings = {"epsilon": 0.1, "delta": 1e-6, "batch_size": 4}
    there, gone = (DPSGDRegression(**settings).output_law(X[k:], y[k:]) for k in (0, 1))
    assert (there.sample_rate, gone.sample_rate, there.steps, gone.steps) == (1 / 2, 4 / 7, 20, 20)
    assert by_length(there, gone, 0.1) > 0.15 > 1e5 * settings["delta"]
    promise = DPSGDRegression(**settings).fit(X, y).guarantee_
    assert (promise.neighbors, promise.delta) == ("zero-out", 1e-6)
    known = [DPSGDRegression(n_public=8, **settings).output_law(X[k:], y[k:]) for k in (0, 1)]
    assert by_length(*known, 0.1) == 0


def test_a_public_number_of_rows_is_the_law_of_zero_out():
    """A row of gradient 0 and no row at all, at the same q and T: one law, point by point."""
    X, y = people(n=5, d=2)
    X[0], y[0] = 0.0, 1.0
    zeroed = DPSGDRegression(batch_size=2, epochs=1).output_law(X, y)
    gone = DPSGDRegression(batch_size=2, epochs=1, n_public=5).output_law(X[1:], y[1:])
    points = zeroed.sample(50, rng=np.random.default_rng(SEED))
    assert_allclose(zeroed.logpdf(points), gone.logpdf(points), rtol=1e-10)


def line(law, other, epsilon):
    """Hockey-stick divergence of two laws of one step in one dimension, on a fine grid."""
    reach = law.learning_rate * law.clip_norm * (14 * law.noise_multiplier + 2 * len(law.y))
    grid = np.linspace(-reach, reach, 20_001)[:, None]  # the noise deviates by 100 points or more
    p, q = np.exp(law.logpdf(grid)), np.exp(other.logpdf(grid))
    return float(np.maximum(p - np.exp(epsilon) * q, 0).sum() * (grid[1, 0] - grid[0, 0]))


LOUD = {"sample_rate": 0.7, "batch_size": 3, "clip_norm": 0.5, "learning_rate": 0.7, "steps": 1}


def pair(kind=DPSGDLaw, y=(-1.0, 1.0, 1.0, 1.0), sigma=1.3):
    """With a person whose label goes against all others', and without."""
    y, X = np.array(y), np.ones((len(y), 1))
    return [kind(X[k:], y[k:], noise_multiplier=sigma, **LOUD) for k in (0, 1)]


def ratio(kind, epsilon=0.2, **settings):
    """Realized delta of one pair, in the direction that shows more, over the exact promise."""
    law, other = pair(kind, **settings)
    shown = max(line(law, other, epsilon), line(other, law, epsilon))
    sigma = law.noise_multiplier
    return shown / float(subsampled_gaussian_profile(epsilon, sigma, law.sample_rate))


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 1.0])
def test_one_loud_person_among_the_silent_shows_exactly_the_promise(epsilon):
    # labels 0 have gradient 0 at the start; the kink costs a step of the grid, squared
    assert_allclose(ratio(DPSGDLaw, epsilon, y=(1.0, 0.0, 0.0)), 1, rtol=1e-4)


def test_no_pair_shows_more_than_promised():
    rng = np.random.default_rng(SEED)
    for _ in range(10):
        y = rng.choice([-1.0, -0.2, 0.1, 1.0], 4)
        sigma = rng.uniform(0.3, 3)
        for epsilon in (0.0, 0.3, 1.0):
            assert ratio(DPSGDLaw, epsilon, y=tuple(y), sigma=sigma) <= 1 + 1e-4


class NoiseAfterTheAverage(DPSGDLaw):
    """As printed: b times more noise than is accounted for. Safe, so only a lower bound sees it."""

    def _deviation(self, count):
        return super()._deviation(count) * self.batch_size


class NoiseDividedTwice(DPSGDLaw):
    def _deviation(self, count):
        return super()._deviation(count) / self.batch_size


class RealizedBatch(DPSGDLaw):
    """The sum and its noise divided by how many people happened to be in the batch."""

    def _divisor(self, count):
        return max(count, 1)

    def _deviation(self, count):
        return self.noise_multiplier * self.clip_norm / max(count, 1)


class Unclipped(DPSGDLaw):
    def _slopes(self, theta, X, y):
        return 2 * (theta @ X.T - y)


class LearningRateTwice(DPSGDLaw):
    def _deviation(self, count):
        return super()._deviation(count) * self.learning_rate


@pytest.mark.parametrize(
    ("bug", "low", "high"),
    [
        (DPSGDLaw, 0.999, 1.0001),
        (NoiseAfterTheAverage, 0, 0.5),
        (NoiseDividedTwice, 1.5, np.inf),
        (Unclipped, 1.5, np.inf),
        (LearningRateTwice, 1.2, np.inf),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_planted_bugs_are_caught(bug, low, high):
    assert low <= ratio(bug, y=(1.0, 0.0, 0.0)) <= high


def test_dividing_by_the_realized_batch_is_caught():
    many = (-1.0, 1.0, 1.0, 1.0)
    assert ratio(DPSGDLaw, 0.5, y=many) <= 1.0001
    assert ratio(RealizedBatch, 0.5, y=many) > 2


def test_many_steps_show_what_is_promised():
    """The exact likelihood ratio attains the ceiling on a person whose gradient stays clipped."""
    X, y = np.array([[1.0], [0.0]]), np.array([1.0, 0.0])
    settings = (0.3, 1, 0.01, 0.1, 6, 0.8)
    law, other = DPSGDLaw(X, y, *settings), DPSGDLaw(X[1:], y[1:], *settings)
    rng = np.random.default_rng(SEED)
    right = []
    for truth, run in ((True, law), (False, other)):
        paths = run.sample(4000, rng=rng)
        right.append((law.logpdf(paths) > other.logpdf(paths)) == truth)
    ceiling = (1 + dpsgd_total_variation(0.8, 0.3, 6)) / 2
    assert abs(np.mean(right) - ceiling) <= 5 * 0.5 / np.sqrt(8000)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"batch_size": 9}, ValueError, "batch_size must be at most the number of people, n_sampl"),
        (
            {"batch_size": 9, "n_public": 5},
            ValueError,
            "batch_size must be at most .* n_public = 5",
        ),
        ({"batch_size": 0}, ValueError, "batch_size must be at least 1; got 0"),
        ({"batch_size": 2.0}, TypeError, "batch_size must be a whole number; got 2.0"),
        ({"epochs": 0}, ValueError, "epochs must be at least 1; got 0"),
        ({"epochs": True}, TypeError, "epochs must be a whole number; got True"),
        ({"n_public": 0}, ValueError, "n_public must be at least 1; got 0"),
        ({"epsilon": -1.0}, ValueError, "epsilon must be finite and above 0; got -1"),
        ({"epsilon": np.ones(3)}, ValueError, r"epsilon must be a number or have shape \(8,\)"),
        ({"delta": 0.0}, ValueError, "delta must be above 0 and below 1; got 0"),
        ({"delta": np.nan}, ValueError, "delta must be above 0 and below 1; got nan"),
        ({"clip_norm": 0.0}, ValueError, "clip_norm must be finite and above 0; got 0"),
        ({"clip_norm": np.inf}, ValueError, "clip_norm must be finite and above 0; got inf"),
        ({"learning_rate": np.nan}, ValueError, "learning_rate must be finite and above 0; got n"),
        ({"learning_rate": "0.1"}, TypeError, "learning_rate must be a number"),
        ({"noise_multiplier": 0.0}, ValueError, "noise_multiplier must be finite and above 0"),
        ({"success_rate": 0.5}, ValueError, "success_rate must be above 0.5 and below 1; got 0.5"),
        ({"success_rate": 0.7, "noise_multiplier": 1.0}, ValueError, "success_rate and noise_mult"),
        ({"accountant": "prv"}, ValueError, "accountant must be one of 'pld', 'rdp'; got 'prv'"),
        ({"clip": 1}, TypeError, "clip must be True or False; got 1"),
        ({"bounds": (1, 1)}, ValueError, "bounds must have low < high"),
        ({"random_state": -1}, ValueError, "random_state must be None, a whole number"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    X, y = people()
    with pytest.raises(error, match=message):
        DPSGDRegression(**{"batch_size": 4} | settings).fit(X, y)


def test_budgets_are_refused_where_the_noise_is_fixed():
    X, y = people()
    for name, value in (("success_rate", 0.7), ("noise_multiplier", 1.0)):
        with pytest.raises(ValueError, match=f"epsilon must not be given with {name}"):
            DPSGDRegression(batch_size=4, **{name: value}).fit(X, y, epsilon=1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_data_are_refused_or_clipped(bad):
    X, y = people()
    X[3, 1] = 7
    with pytest.raises(ValueError, match=r"X must lie in \[-1, 1\]; got X\[3, 1\] = 7"):
        DPSGDRegression(batch_size=4).fit(X, y)
    law = DPSGDRegression(batch_size=4, clip=True).output_law(X, 5 * y)
    assert_array_equal(law.X[3, 1], 1)
    assert np.abs(law.y).max() == 1
    X[3, 1] = bad
    with pytest.raises(ValueError, match=r"X must be finite; got X\[3, 1\]"):
        DPSGDRegression(batch_size=4).fit(X, y)
    model = DPSGDRegression(batch_size=4, clip=True, random_state=1)
    clipped = model.fit(X, y).coef_
    X[3, 1] = 0 if np.isnan(bad) else 1  # the middle, or the bound
    assert_array_equal(model.fit(X, y).coef_, clipped)
