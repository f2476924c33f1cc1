"""Noisy gradient descent: the law of the path, what one person can show in it, and bad input."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats

from pdpbook.gradient import DescentLaw, GradientDescentRidge
from pdpbook.guarantees import GaussianDP, compose
from pdpbook.noise import gaussian_mu
from pdpbook.ridge import huber_ridge

SEED = 20261121
DELTA = 1e-5


def people(n=8, d=4, seed=SEED):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.uniform(-1, 1, n), rng.uniform(0.1, 2, n)


# ---------------------------------------------------------------- the path


def test_one_step_by_hand():
    # weights 1/2 each: pulls of 0.5 * 1 and -1 * 0.5 cancel, and with c = 0.4 they do not
    X, y = [[1.0], [0.5]], [0.5, -1.0]
    law = GradientDescentRidge(0.25, delta=DELTA, steps=1, step_size=0.1).output_law(X, y)
    assert_allclose(law.center, [0.1 * (0.5 - 0.5)], atol=1e-17)
    cut = GradientDescentRidge(0.25, delta=DELTA, steps=2, step_size=0.1, huber_threshold=0.4)
    first = 0.1 * (0.4 * 1 - 0.4 * 0.5)
    second = first - 0.1 * (2 * 0.25 * first - (0.4 * 1 - 0.4 * 0.5))
    assert_allclose(cut.output_law(X, y).center, [first, second], rtol=1e-14)


@given(st.integers(1, 20), st.integers(1, 4), st.floats(0.05, 5), st.floats(0.05, 2))
def test_without_noise_it_descends_to_the_huber_minimizer(n, d, lam, c):
    X, y, epsilon = people(n, d, seed=n)
    steps = int(20 * (2 * lam + d) / lam)
    model = GradientDescentRidge(lam, delta=DELTA, steps=steps, huber_threshold=c)
    law = model.output_law(X, y, epsilon=epsilon)
    least = huber_ridge(X, y, lam, law.weights, threshold=c).theta
    # a step contracts by 1 - 2 lam / (2 lam + d) at least, so e^-40 is left
    assert_allclose(law.center[-d:], least, atol=1e-9)


def autograd(theta, X, y, w, lam, clip_norm):
    """Gradients one person at a time, each clipped by its own length."""
    total = 2 * lam * theta
    for i in range(len(y)):
        g = -2 * (y[i] - X[i] @ theta) * X[i]
        total += w[i] * g * min(1, clip_norm / max(np.linalg.norm(g), 1e-300))
    return total


@pytest.mark.parametrize("clip_norm", [0.05, 1.0, None])
def test_clipped_square_gradients_are_huber_gradients_of_ones_own(clip_norm):
    X, y, epsilon = people()
    X[2] = 0
    model = GradientDescentRidge(
        0.3, delta=DELTA, steps=5, loss="square", clip_norm=clip_norm, step_size=0.2
    )
    law = model.output_law(X, y, epsilon=epsilon)
    theta = np.zeros(4)
    for k in range(5):
        bound = 2 * np.sqrt(4) if clip_norm is None else clip_norm
        theta = theta - 0.2 * autograd(theta, X, y, law.weights, 0.3, bound)
        assert_allclose(law.center[4 * k : 4 * k + 4], theta, rtol=1e-12, atol=1e-15)


def test_the_density_of_a_path_is_a_product_of_normals():
    X, y, epsilon = people(d=2)
    model = GradientDescentRidge(0.5, delta=DELTA, steps=3, huber_threshold=0.2)
    law = model.output_law(X, y, epsilon=epsilon)
    paths = law.sample(5, rng=np.random.default_rng(0))
    total = np.zeros(5)
    for p, path in enumerate(paths):
        before = np.zeros(2)
        for theta in path.reshape(3, 2):
            mean = law.next_mean(before)
            total[p] += stats.multivariate_normal(
                mean, (law.step_size * law.sigma) ** 2 * np.eye(2)
            ).logpdf(theta)
            before = theta
    assert_allclose(law.logpdf(paths), total, rtol=1e-12)
    assert np.ndim(law.logpdf(paths[0])) == 0
    with pytest.raises(ValueError, match=r"points must have shape \(\.\.\., 6\), a path each"):
        law.logpdf(np.zeros(2))


def test_no_draws_are_no_paths():
    X, y, epsilon = people()
    law = GradientDescentRidge(0.5, delta=DELTA, steps=3).output_law(X, y, epsilon=epsilon)
    assert law.sample(0, rng=np.random.default_rng(0)).shape == (0, 12)


def test_fit_releases_the_last_iterate_of_one_path():
    X, y, epsilon = people()
    model = GradientDescentRidge(0.5, delta=DELTA, steps=6, random_state=3)
    model.fit(X, y, epsilon=epsilon)
    law = model.output_law(X, y, epsilon=epsilon)
    path = law.sample(rng=np.random.default_rng(3))
    assert path.shape == (24,)
    assert_array_equal(model.coef_, path[-4:])
    assert model.noise_.scale == law.sigma
    assert np.all(np.abs(model.coef_ - law.center[-4:]) > 1e-9)


def test_units_come_and_go():
    X, y, epsilon = people()
    low, high = np.array([18.0, -3.0, 0.0, 1.0]), np.array([64.0, 5.0, 1e6, 2.0])
    settings = {"delta": DELTA, "fit_intercept": True, "random_state": 5}
    plain = GradientDescentRidge(2.0, **settings)
    units = GradientDescentRidge(
        2.0, **settings, bounds=np.column_stack([low, high]), y_bounds=(100.0, 500.0)
    )
    there = np.clip(low + X * (high - low), low, high)
    predicted = plain.fit(X, y, epsilon=epsilon).predict(X)
    got = units.fit(there, 300 + 200 * y, epsilon=epsilon).predict(there)
    assert_allclose(got, 300 + 200 * predicted, rtol=1e-9)


# ---------------------------------------------------------------- what is promised


@pytest.mark.parametrize(
    ("settings", "length"),
    [
        ({}, 4.0),
        ({"huber_threshold": 0.3}, 1.2),
        ({"huber_threshold": 0.3, "row_norm": 1.0, "clip": True}, 0.6),
        ({"loss": "square"}, 4.0),
        ({"loss": "square", "clip_norm": 0.7}, 0.7),
    ],
)
def test_what_the_steps_spend_is_what_is_promised(settings, length):
    """Each step is Gaussian private by its own sensitivity; the steps compose to the promise."""
    X, y, epsilon = people()
    model = GradientDescentRidge(0.5, delta=DELTA, steps=7, **settings)
    law = model.output_law(X, y, epsilon=epsilon)
    model.fit(X, y, epsilon=epsilon)
    assert_allclose(law.weights.sum(), 1, rtol=1e-14)
    # no single gradient is longer, wherever it is taken
    theta = 100 * np.random.default_rng(0).normal(size=(50, 4))
    for i in range(8):
        pull = law._clip(law.y - theta @ law.X.T)[:, i, None] * law.X[i]
        assert np.linalg.norm(2 * pull, axis=1).max() <= length * (1 + 1e-12)
    step = GaussianDP(2 * law.weights * length / model.noise_.scale, neighbors="replace-one")
    whole = compose(*[step] * 7)
    assert_allclose(whole.to_gaussian().mu, model.guarantee_.mu, rtol=1e-12)
    assert_array_equal(model.guarantee_.mu, gaussian_mu(epsilon, DELTA))
    assert_allclose(model.guarantee_.to_approximate(DELTA).epsilon, epsilon, rtol=1e-9)
    assert model.guarantee_.neighbors == "replace-one"


def loud(n=8, d=4):
    """A person who shouts among the silent, and shouts the other way in the neighbor."""
    X, y = np.zeros((n, d)), np.zeros(n)
    X[0], y[0] = 1, 1
    return (X, y), (X, -y)


def realized(model, epsilon, person=0, draws=20_000, pair=None):
    """Gaussian parameter of one pair: the log-likelihood ratio has variance mu^2, mean mu^2/2."""
    p, q = (model.output_law(*data, epsilon=epsilon) for data in pair or loud())
    path = p.sample(draws, rng=np.random.default_rng(SEED))
    ratio = p.logpdf(path) - q.logpdf(path)
    return ratio.std(), np.sqrt(max(2 * ratio.mean(), 0)), ratio


def test_one_step_shows_exactly_what_is_promised():
    """The law of one step is Gaussian: the shift over the deviation, without any sampling."""
    _, _, epsilon = people()
    model = GradientDescentRidge(1.0, delta=DELTA, steps=1)
    p, q = (model.output_law(*data, epsilon=epsilon) for data in loud())
    shift = np.linalg.norm(p.center - q.center) / (p.step_size * p.sigma)
    assert_allclose(shift, gaussian_mu(epsilon[0], DELTA), rtol=1e-12)


# A threshold far below every residual keeps the loud person's gradient at full length in all
# steps: then the path is a Gaussian shift, and what is realized is what is promised. Deviations
# are known to 1 / sqrt(2 draws) = 0.5 percent; five of those, and a percent for other residuals.
HONEST = {"steps": 9, "huber_threshold": 0.001, "delta": DELTA}


def test_many_steps_show_what_is_promised():
    _, _, epsilon = people()
    spread, mean, ratio = realized(GradientDescentRidge(1.0, **HONEST), epsilon)
    promised = gaussian_mu(epsilon[0], DELTA)
    assert 0.965 <= spread / promised <= 1.035
    assert abs(mean**2 / 2 - promised**2 / 2) <= 5 * ratio.std() / np.sqrt(len(ratio)) + 0.01
    gain = np.maximum(0, -np.expm1(np.minimum(epsilon[0] - ratio, 0)))
    assert gain.mean() - 5 * gain.std() / np.sqrt(len(gain)) <= DELTA


@pytest.mark.parametrize("loss", ["huber", "square"])
@pytest.mark.parametrize("lam", [0.1, 10.0])
def test_no_pair_shows_more_than_promised(loss, lam):
    """Random neighbors: each conditional shift is at most the promised one, along real paths."""
    rng = np.random.default_rng(SEED)
    for _ in range(20):
        X, y = np.round(rng.random((6, 3))), rng.choice([-1.0, 1.0], 6)
        epsilon, X2, y2 = rng.uniform(0.1, 2, 6), X.copy(), y.copy()
        person = rng.integers(6)
        X2[person], y2[person] = np.round(rng.random(3)), -y[person]
        model = GradientDescentRidge(lam, delta=DELTA, steps=5, loss=loss, huber_threshold=0.5)
        p, q = (model.output_law(*data, epsilon=epsilon) for data in ((X, y), (X2, y2)))
        before = p.sample(50, rng=rng).reshape(50, 5, 3)[:, :-1]
        before = np.concatenate([np.zeros((50, 1, 3)), before], axis=1)
        shift = np.linalg.norm(p.next_mean(before) - q.next_mean(before), axis=-1)
        total = np.sqrt(((shift / (p.step_size * p.sigma)) ** 2).sum(axis=1))
        assert total.max() <= gaussian_mu(epsilon[person], DELTA) * (1 + 1e-9)


class StepsForTheirRoot(GradientDescentRidge):
    """T in place of sqrt(T): safe and wasteful, so only a two-sided test sees it."""

    def noise_rate(self, parameters, d):
        return super().noise_rate(parameters, d) / np.sqrt(self.steps)


class OneStepCharged(GradientDescentRidge):
    def noise_rate(self, parameters, d):
        return super().noise_rate(parameters, d) * np.sqrt(self.steps)


class AddRemoveFactor(GradientDescentRidge):
    def noise_rate(self, parameters, d):
        return 2 * super().noise_rate(parameters, d)


class UniformWeights(GradientDescentRidge):
    def law(self, people):
        n = len(people.budgets)
        return replace(super().law(people), weights=np.full(n, 1 / n))


class Unclipped(GradientDescentRidge):
    def thresholds(self, X):
        return np.inf


@pytest.mark.parametrize(
    ("bug", "low", "high"),
    [
        (StepsForTheirRoot, 0.3, 0.37),
        (OneStepCharged, 2.8, 3.2),
        (AddRemoveFactor, 1.9, 2.1),
        (Unclipped, 50, np.inf),
        (UniformWeights, 1.2, np.inf),
    ],
    ids=lambda value: getattr(value, "__name__", ""),
)
def test_planted_bugs_are_caught(bug, low, high):
    epsilon = np.array([0.3, 2, 1, 1, 0.5, 1, 1, 1])
    spread, _, _ = realized(bug(1.0, **HONEST), epsilon)
    assert low <= spread / gaussian_mu(0.3, DELTA) <= high


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("settings", "error", "message"),
    [
        ({"delta": 0.0}, ValueError, "delta must be above 0 and below 1; got 0. Gaussian noise"),
        ({"delta": 1.0}, ValueError, "delta must be at least 0 and below 1; got 1"),
        ({"delta": -1e-6}, ValueError, "delta must be at least 0 and below 1"),
        ({"delta": np.nan}, ValueError, "delta must be at least 0 and below 1; got nan"),
        ({"delta": None}, TypeError, "delta must be a number"),
        ({"lam": 0.0}, ValueError, "lam must be finite and above 0; got 0"),
        ({"epsilon": -1.0}, ValueError, "epsilon must be finite and above 0; got -1"),
        ({"epsilon": np.ones(3)}, ValueError, r"epsilon must be a number or have shape \(8,\)"),
        ({"steps": 0}, ValueError, "steps must be at least 1; got 0"),
        ({"steps": 2.5}, TypeError, "steps must be a whole number; got 2.5"),
        ({"step_size": 0.0}, ValueError, "step_size must be finite and above 0; got 0"),
        ({"step_size": -0.1}, ValueError, "step_size must be finite and above 0; got -0.1"),
        ({"step_size": np.nan}, ValueError, "step_size must be finite and above 0; got nan"),
        ({"step_size": 0.5, "lam": 2.0}, ValueError, "step_size must be below 1 / lam = 0.5"),
        ({"loss": "absolute"}, ValueError, "loss must be one of 'huber', 'square'"),
        ({"huber_threshold": 0.0}, ValueError, "threshold must be finite and above 0; got 0"),
        ({"clip_norm": 0.0}, ValueError, "clip_norm must be finite and above 0; got 0"),
        ({"row_norm": np.inf}, ValueError, "row_norm must be finite and above 0; got inf"),
        ({"clip": 1}, TypeError, "clip must be True or False; got 1"),
        ({"bounds": (1, 1)}, ValueError, "bounds must have low < high"),
        ({"random_state": -1}, ValueError, "random_state must be None, a whole number"),
    ],
)
def test_bad_settings_are_refused(settings, error, message):
    X, y, _ = people()
    with pytest.raises(error, match=message):
        GradientDescentRidge(**{"lam": 1.0, "delta": DELTA} | settings).fit(X, y)


def test_data_outside_the_bounds_are_refused_or_clipped():
    X, y, epsilon = people()
    X[3, 1] = 7
    with pytest.raises(ValueError, match=r"X must lie in \[0, 1\]; got X\[3, 1\] = 7"):
        GradientDescentRidge(delta=DELTA).fit(X, y, epsilon=epsilon)
    with pytest.raises(ValueError, match="X must have rows of norm at most row_norm = 1 on the"):
        GradientDescentRidge(delta=DELTA, row_norm=1.0).fit(np.ones((8, 4)), y, epsilon=epsilon)
    law = GradientDescentRidge(delta=DELTA, clip=True).output_law(X, 5 * y, epsilon=epsilon)
    assert isinstance(law, DescentLaw)
    assert law.X.max() == np.abs(law.y).max() == 1
