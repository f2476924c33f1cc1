"""Weighted fits: constants, solver, the law of the gradients, what one user can show, bad input."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats
from scipy.special import expit
from sklearn.base import is_classifier, is_regressor
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

from lab.chapters import descent_bound, user_volume
from pdpbook.guarantees import GaussianDP, PureDP, ZeroConcentratedDP
from pdpbook.noise import gaussian_mu
from pdpbook.user_level import (
    GradientTranscript,
    WeightedGradientDescent,
    WeightedOutputPerturbation,
    ball_minimizer,
    calibrate_rho,
    convergence_constant,
    erm_tradeoff,
    limit_rows,
    tradeoff_weights,
)
from pdpbook.user_level import gradient_descent as descent

SEED = 20261121
DELTA = 1e-5
SIZES = np.array([1, 1, 2, 3, 9])


def rows_of(sizes=SIZES, d=3, seed=SEED):
    """Rows in the unit ball, labels of two classes, owners in mixed order."""
    rng = np.random.default_rng(seed)
    users = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    X = rng.normal(size=(len(users), d))
    X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    return X, np.where(rng.random(len(users)) < 0.5, -1.0, 1.0), users


def descent_of(loss="logistic", **settings):
    settings = {"row_norm": 1.0, "radius": 3.0, "delta": DELTA} | settings
    return WeightedGradientDescent(loss, **settings)


def output_of(loss="logistic", **settings):
    settings = {"row_norm": 1.0, "radius": 3.0} | settings
    return WeightedOutputPerturbation(loss, **settings)


# ---------------------------------------------------------------- constants


def test_constants_by_hand():
    K = 2 + np.sqrt(2 * np.log(21) + 2 * np.log(2))
    assert_allclose(convergence_constant(100, 1), K, rtol=1e-14)
    assert_allclose(convergence_constant(100, 1, 1.0 - 1e-16), K, rtol=1e-14)
    assert_allclose(erm_tradeoff(100, 1, rho=0.5), K**2 / 8, rtol=1e-14)
    assert_allclose(descent_bound(2, 0.5, 3, lipschitz=2, radius=3), 6 * 1.0, rtol=1e-14)
    assert_allclose(descent_bound(2, 0.5, 3), 1.0, rtol=1e-14)
    assert_allclose(user_volume(0.4, 0.1, 1), np.log(5), rtol=1e-14)


@given(st.integers(1, 30), st.floats(1e-3, 1), st.floats(0.1, 5))
def test_enough_steps_reach_the_bound_without_steps(d, t, scale):
    steps = int(np.ceil(1 / (2 * d * t**2)))
    bound = descent_bound(d, t, steps, lipschitz=scale)
    assert bound <= 2 * scale * t * np.sqrt(d) * (1 + 1e-12)
    assert bound >= scale * t * np.sqrt(2 * d) * np.sqrt(steps / (steps + 1))


@given(st.floats(1e-3, 50), st.floats(1e-9, 0.5))
def test_rho_is_the_root_of_its_conversion_and_keeps_it(epsilon, delta):
    rho = calibrate_rho(epsilon, delta)
    assert_allclose(rho + 2 * np.sqrt(rho * -np.log(delta)), epsilon, rtol=1e-12)
    assert ZeroConcentratedDP(rho, neighbors="user").profile(epsilon) <= delta
    # and exact Gaussian accounting allows at least as much
    assert gaussian_mu(epsilon, delta) >= np.sqrt(2 * rho)


@given(st.integers(1, 6), st.integers(1, 6), st.floats(0.01, 3))
def test_user_volume_bounds_every_hessian_and_is_attained(d, rank, lam):
    rng = np.random.default_rng(d * 10 + rank)
    B = rng.normal(size=(d, min(rank, d)))
    A = B @ B.T / np.trace(B @ B.T)
    H = rng.normal(size=(d, d))
    H = lam * np.eye(d) + H @ H.T
    gain = np.linalg.slogdet(H + A)[1] - np.linalg.slogdet(H)[1]
    r = min(rank, d)
    assert gain <= user_volume(1.0, lam, r) <= 1 / lam
    even = np.diag(np.r_[np.full(r, 1 / r), np.zeros(d - r)])
    found = np.linalg.slogdet(np.eye(d) + even / lam)[1]
    assert_allclose(found, user_volume(1.0, lam, r), rtol=1e-10)


def test_the_tradeoff_makes_the_bound_that_of_so_many_rows():
    rho, d, n = 0.02, 4, int(SIZES.sum())
    A, K = erm_tradeoff(n, d, rho), convergence_constant(n, d)
    best = tradeoff_weights(SIZES, A)
    t, c = best.weights.max(), np.sqrt(best.weights @ best.row_weights)
    squares = 2 * ((2 * t) ** 2 * d / rho + K**2 * c**2)
    assert_allclose(squares, 2 * K**2 / np.minimum(SIZES, best.h).sum(), rtol=1e-12)
    # where all budgets agree, they may stand in A or in the weights
    same = tradeoff_weights(SIZES, erm_tradeoff(n, d), np.full(5, np.sqrt(rho)))
    assert_allclose(same.weights, best.weights, rtol=1e-12)


# ---------------------------------------------------------------- the solver


def test_unconstrained_logistic_fit_is_scikit_learns():
    X, y, _ = rows_of(np.full(20, 3))
    theirs = LogisticRegression(C=1 / (60 * 0.05), fit_intercept=False, tol=1e-12, max_iter=1000)
    theirs.fit(X, y)
    ours = ball_minimizer(X, y, 0.05, loss="logistic", radius=100.0)
    assert_allclose(ours, theirs.coef_[0], atol=1e-6)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@given(st.integers(1, 4), st.floats(0.05, 3), st.floats(1e-4, 1), st.integers(0, 20))
def test_the_minimizer_beats_its_neighborhood_on_the_ball(loss, d, radius, lam, seed):
    X, y, _ = rows_of(np.full(8, 2), d, seed)
    theta = ball_minimizer(X, y, lam, loss=loss, radius=radius, gradient_norm=1e-11)
    assert np.linalg.norm(theta) <= radius * (1 + 1e-14)

    def J(at):
        s = at @ X.T
        each = (s - y) ** 2 / 2 if loss == "square" else np.logaddexp(0, -y * s)
        return each.mean(axis=-1) + lam / 2 * (at**2).sum(axis=-1)

    rng = np.random.default_rng(seed)
    near = theta + rng.normal(size=(200, d)) * rng.choice([1e-3, 1e-1, 1], (200, 1)) * radius
    near *= np.minimum(1, radius / np.linalg.norm(near, axis=1))[:, None]
    # strong convexity: J grows by lam/2 of the squared distance, less what J rounds
    assert np.all(J(near) >= J(theta) + lam / 2 * ((near - theta) ** 2).sum(1) - 1e-10)


def test_the_ball_binds_where_it_should_and_the_second_road_agrees():
    X, _, _ = rows_of(np.full(10, 3), 2)
    y = np.where(X @ [1.0, -2.0] > 0, 1.0, -1.0)
    for loss in ("square", "logistic"):
        theta = ball_minimizer(X, y, 0.01, loss=loss, radius=0.1)
        assert_allclose(np.linalg.norm(theta), 0.1, rtol=1e-12)

        def J(angle, loss=loss):
            s = 0.1 * X @ [np.cos(angle), np.sin(angle)]
            return np.mean((s - y) ** 2 / 2 if loss == "square" else np.logaddexp(0, -y * s))

        grid = np.linspace(0, 2 * np.pi, 4001)
        best = grid[np.argmin([J(a) for a in grid])]
        best = optimize.minimize_scalar(J, (best - 2e-3, best, best + 2e-3), tol=1e-12).x
        assert_allclose(theta, 0.1 * np.r_[np.cos(best), np.sin(best)], atol=1e-6)


def test_a_goal_out_of_reach_releases_nothing():
    X, y, _ = rows_of()
    with pytest.raises(RuntimeError, match="must reach a gradient of norm 1e-30"):
        ball_minimizer(X, y, 0.1, loss="logistic", gradient_norm=1e-30)


# ---------------------------------------------------------------- the descent


def test_one_step_by_hand():
    # two users, weights 1/2 each; at zero the slopes of the logistic loss are -y/2
    X, y, users = [[1.0], [1.0], [0.5]], [1, 1, -1], [7, 7, 9]
    model = descent_of(steps=1, step_size=0.5, tradeoff=0.0, classes=(-1, 1))
    law = model.output_law(X, y, users=users)
    assert_allclose(law.center, [0.5 * -0.5 + 0.5 * 0.25], rtol=1e-14)
    assert_allclose(law.release(law.center), [0.5 * 0.125 / 2], rtol=1e-14)
    rho = calibrate_rho(1.0, DELTA)
    assert_allclose(law.sigma, 0.5 * np.sqrt(2 / rho), rtol=1e-14)


def test_the_noise_is_for_the_largest_slope():
    X, y, users = rows_of()
    score, labels = np.linspace(-3, 3, 601), np.linspace(-1, 1, 201)[:, None]
    model = descent_of("square", steps=4, epsilon=2.0).fit(X, y, users=users)
    cap = max(model.weights_) / np.sqrt(calibrate_rho(2.0, DELTA))
    assert_allclose(
        model.noise_.scale, np.abs(score - labels).max() * cap * np.sqrt(2 * 4), rtol=1e-12
    )


def test_the_number_of_steps_is_the_least_that_reaches_the_bound():
    # so many that steps do not matter any more: (1 + 2 d T t^2) / (T + 1) is at most 4 d t^2
    X, y, users = rows_of(np.full(30, 2))
    for epsilon, most in ((0.5, 1), (2.0, 30), (5.0, 200), (200.0, 1000)):
        model = descent_of(epsilon=epsilon).fit(X, y, users=users)
        cap = max(model.weights_) / np.sqrt(calibrate_rho(epsilon, DELTA))
        enough = [T for T in range(1, 1001) if 1 <= 2 * 3 * T * cap**2]
        assert model.steps_ == min([*enough, 1000])
        assert model.steps_ <= most
    assert model.steps_ == 1000


@pytest.mark.parametrize("most", [1, 100, 10**7])
def test_memory_is_spared_without_a_change(most, monkeypatch):
    X, y, users = rows_of()
    law = descent_of(steps=2).output_law(X, y, users=users)
    points = np.random.default_rng(SEED).normal(size=(50, 3))
    single = [law.gradient(point) for point in points]
    monkeypatch.setattr(descent, "MAX_NUMBERS", most)
    assert_allclose(law.gradient(points), single, rtol=1e-12)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_the_gradient_is_a_sum_over_users_clipped_one_by_one(loss):
    X, y, users = rows_of()
    law = descent_of(loss, clip_norm=0.2).output_law(X, y, users=users)
    theta, total = np.array([0.5, -1.0, 0.3]), np.zeros(3)
    for user, w in zip(np.unique(users), law.clips / 0.2, strict=True):
        mine = users == user
        s = X[mine] @ theta
        slope = s - y[mine] if loss == "square" else -y[mine] * expit(-y[mine] * s)
        g = w * (slope @ X[mine]) / mine.sum()
        total += g * min(1, 0.2 * w / np.linalg.norm(g))
    assert_allclose(law.gradient(theta), total, rtol=1e-13)
    assert_allclose(law.gradient(np.tile(theta, (2, 4, 1))), np.tile(total, (2, 4, 1)), rtol=1e-13)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_the_gradient_of_users_with_one_row_is_the_sum_of_their_own(loss):
    X, y, _ = rows_of()
    law = descent_of(loss, clip_norm=0.2).output_law(X, y, users=np.arange(len(y)))
    points = np.random.default_rng(SEED).normal(size=(5, 3))
    general = law._clipped(law._gradients_of_rows(points)).sum(axis=1)
    assert_allclose(law.gradient(points), general, rtol=1e-13, atol=1e-16)
    norms = np.linalg.norm(law._gradients_of_rows(points), axis=2)
    assert (norms > law.clips).any()  # some are clipped


def test_the_density_is_that_of_the_draws():
    X, y, users = rows_of()
    law = descent_of(steps=3).output_law(X, y, users=users)
    z = law.sample(4000, rng=np.random.default_rng(SEED))
    # -2 logpdf less its constant is chi-squared with one degree for every number
    q = -2 * (law.logpdf(z) + 9 * np.log(law.sigma * np.sqrt(2 * np.pi)))
    assert stats.kstest(q, stats.chi2(9).cdf).pvalue > 1e-6
    assert_allclose(law.logpdf(z[:2].reshape(2, 1, 9)), law.logpdf(z[:2])[:, None], rtol=1e-14)


def test_iterates_stay_in_the_ball_and_fit_releases_their_average():
    X, y, users = rows_of()
    model = descent_of(steps=5, step_size=50.0, radius=0.7, random_state=3)
    law = model.output_law(X, y, users=users)
    drawn = law.sample(rng=np.random.default_rng(3))
    theta = law.release(drawn)
    assert np.linalg.norm(theta) <= 0.7
    assert_allclose(model.fit(X, y, users=users).coef_, theta, rtol=1e-12)


@pytest.mark.parametrize("loss", ["square", "logistic"])
def test_descent_stays_below_its_bound(loss):
    # 400 runs: the standard error is a few percent of a bound with a slack of a factor
    sizes = np.r_[np.ones(60, int), np.full(20, 8)]
    X, y, users = rows_of(sizes)
    model = descent_of(loss, epsilon=4.0, radius=2.0)
    law = model.output_law(X, y, users=users)
    L = 3.0 if loss == "square" else 1.0
    theta = law.release(law.sample(400, rng=np.random.default_rng(1)))
    c = law.row_weights

    def risk(at):
        s = at @ law.X.T
        return ((s - law.y) ** 2 / 2 if loss == "square" else np.logaddexp(0, -law.y * s)) @ c

    least = ball_minimizer(law.X, law.y, 1e-9, c, loss=loss, radius=2.0)
    excess = risk(theta).mean() - risk(least)
    t = law.clips.max() / L / np.sqrt(calibrate_rho(4.0, DELTA))
    assert 0 < excess < descent_bound(3, t, law.steps, lipschitz=L, radius=2.0)


# ---------------------------------------------------------------- what one user can show


def opposed(sizes, d=2, swing=1.0, seed=0):
    """A pair of data sets in which user 0 alone differs, as far as gradients can."""
    X, y, users = rows_of(sizes, d, seed)
    mine = users == 0
    X[mine], y[mine] = swing * np.eye(d)[0], 1.0
    other = y.copy()
    other[mine] = -1.0
    return (X, y, users), (X, other, users)


def transcript_loss(model, pair, draws=4000, seed=SEED):
    """Mean and variance of the exact loss over draws of the first law: rho and 2 rho at most."""
    p, q = (model.output_law(X, y, users=users) for X, y, users in pair)
    z = p.sample(draws, rng=np.random.default_rng(seed))
    loss = p.logpdf(z) - q.logpdf(z)
    return loss, p, q


def drift(law, other, draws=200):
    """Largest sum over steps of squared distances of gradients, in noise: 2 rho at most."""
    z = law.sample(draws, rng=np.random.default_rng(5))
    d, theta, total = law.X.shape[1], np.zeros((draws, law.X.shape[1])), 0.0
    for k in range(law.steps):
        total = total + ((law.gradient(theta) - other.gradient(theta)) ** 2).sum(1)
        theta = law.project(theta - law.step_size * z[:, k * d : (k + 1) * d])
    return float(np.max(total)) / law.sigma**2


@pytest.mark.parametrize("accounting", ["zcdp", "gaussian"])
@pytest.mark.parametrize("clip_norm", [None, 0.3])
def test_a_user_spends_their_budget_and_no_more(accounting, clip_norm):
    pair = opposed([6, 1, 2, 3])
    model = descent_of(
        accounting=accounting, clip_norm=clip_norm, steps=4, epsilon=2.0, tradeoff=np.inf
    )
    p, q = (model.output_law(X, y, users=users) for X, y, users in pair)
    rho = calibrate_rho(2.0, DELTA) if accounting == "zcdp" else gaussian_mu(2.0, DELTA) ** 2 / 2
    assert drift(p, q) <= 2 * rho * (1 + 1e-9)
    if clip_norm:  # every clipped gradient of this user has its full length, in both data sets
        assert_allclose(drift(p, q), 2 * rho, rtol=1e-9)


def test_the_profile_of_the_transcript_is_within_the_promise():
    pair = opposed([6, 1, 2, 3])
    model = descent_of(clip_norm=0.02, steps=4, epsilon=2.0, tradeoff=np.inf)
    loss, *_ = transcript_loss(model, pair, 100_000)
    gain = np.maximum(0, -np.expm1(1.0 - loss))
    promise = ZeroConcentratedDP(calibrate_rho(2.0, DELTA), neighbors="user")
    exact = GaussianDP(np.sqrt(2 * promise.rho), neighbors="user").profile(1.0)
    assert abs(gain.mean() - exact) < 5 * gain.std() / np.sqrt(len(gain))
    assert exact < promise.profile(1.0)


@pytest.mark.parametrize("loss", ["square", "logistic"])
@pytest.mark.parametrize("accounting", ["zcdp", "gaussian"])
def test_a_clip_norm_that_clips_nothing_costs_nothing(loss, accounting):
    """At 20, with gradients of length 2 at most, the noise was ten times as large."""
    X, y, users = rows_of()
    settings = {"accounting": accounting, "steps": 5, "random_state": 7}
    plain, L = descent_of(loss, **settings), 4.0 if loss == "square" else 1.0
    released = plain.fit(X, y, users=users).coef_
    for clip_norm in (L, 20.0):
        model = descent_of(loss, clip_norm=clip_norm, **settings)
        assert_array_equal(model.fit(X, y, users=users).coef_, released)
        assert model.noise_.scale == plain.noise_.scale
        assert model.guarantee_ == plain.guarantee_
    edge = 3 * np.eye(3)  # on the sphere: the longest gradients of all iterates
    law = model.output_law(X, y, users=users)
    assert (np.linalg.norm(law._gradients_of_rows(edge), axis=2) <= law.row_weights * L).all()
    less = descent_of(loss, clip_norm=L / 2, **settings).fit(X, y, users=users)
    assert_allclose(less.noise_.scale, plain.noise_.scale / 2, rtol=1e-12)


def clipped_by_row(law):
    """Each row clipped at its owner's length, so that a user adds up to s_l of them."""
    owner = np.repeat(np.arange(len(law.starts)), np.diff(np.r_[law.starts, len(law.y)]))

    class ByRow(GradientTranscript):
        def _clipped(self, rows):
            norms = np.linalg.norm(rows * len(owner), axis=2)  # weights of rows are 1/n here
            cut = np.minimum(1, 0.3 / np.maximum(norms, 1e-300))
            return rows * cut[:, :, None] * np.bincount(owner)[owner][None, :, None]

    return ByRow(**vars(law))


def half_sensitivity(law):
    return dataclasses.replace(law, sigma=law.sigma / 2)


def one_step(law):
    return dataclasses.replace(law, sigma=law.sigma / np.sqrt(law.steps))


@pytest.mark.parametrize("bug", [clipped_by_row, half_sensitivity, one_step])
def test_planted_leaks_of_descent_are_caught(bug):
    pair = opposed([6, 1, 2, 3])
    model = descent_of(clip_norm=0.3, steps=4, epsilon=2.0, tradeoff=np.inf)
    p, q = (bug(model.output_law(X, y, users=users)) for X, y, users in pair)
    assert drift(p, q) > 2 * calibrate_rho(2.0, DELTA) * 1.5


def far_pair(m=2000, phi=1.1, lam=1e-3):
    """Others push the fit far along one axis; user 0 turns both their rows across it."""
    X = np.tile([1.0, 0.0], (m + 1, 1))
    X[-2:] = -np.cos(phi), -np.sin(phi)
    Z = X.copy()
    Z[-2:, 1] *= -1
    users, y = np.r_[np.arange(1, m), 0, 0], np.ones(m + 1)
    model = output_of(lam=lam, radius=50.0, epsilon=0.7, tradeoff=0.0, classes=(-1, 1))
    return model, (X, y, users), (Z, y, users)


def output_loss(model, one, two):
    p, q = (model.output_law(X, y, users=users) for X, y, users in (one, two))
    line = np.linspace(-3, 4, 50)[:, None] * (q.center - p.center) + p.center
    points = np.vstack([line, p.sample(200, rng=np.random.default_rng(2))])
    return np.abs(p.logpdf(points) - q.logpdf(points)).max()


def test_output_perturbation_keeps_its_promise_and_nearly_spends_it():
    model, one, two = far_pair()
    loss = output_loss(model, one, two)
    assert 0.75 * 0.7 < loss <= 0.7  # it takes many more users to come closer


@given(st.integers(0, 30), st.sampled_from(["square", "logistic"]), st.floats(0.01, 1))
def test_output_perturbation_on_random_users(seed, loss, lam):
    rng = np.random.default_rng(seed)
    X, y, users = rows_of(seed=seed)
    Z, z = X.copy(), y.copy()
    who = rng.integers(5)
    mine = users == who
    Z[mine], z[mine] = rows_of(seed=seed + 99)[0][mine], -y[mine]
    model = output_of(
        loss,
        lam=lam,
        radius=2.0,
        epsilon={0: 0.3, 1: 1.0, 2: 2.0, 3: 0.5, 4: 1.0},
    )
    if loss == "logistic":
        model.set_params(classes=(-1, 1))
    promise = [0.3, 1.0, 2.0, 0.5, 1.0][who]
    assert output_loss(model, (X, y, users), (Z, z, users)) <= promise * (1 + 1e-9)


def test_a_planted_record_level_scale_is_caught():
    model, one, two = far_pair()

    class ByRow(WeightedOutputPerturbation):  # noise for the weight of one row, not of a user
        def plan(self, users, budgets, d):
            plan = super().plan(users, budgets, d)
            own = plan.row_weights[0] / plan.user_weights[0]  # one of two rows
            return dataclasses.replace(plan, scale=plan.scale * own)

    bug = ByRow(**model.get_params())
    assert output_loss(bug, one, two) > 0.7 * 1.4


def test_what_users_spend_is_in_proportion_to_their_weights():
    X, y, users = rows_of()
    epsilon = {0: 0.3, 1: 1.0, 2: 2.0, 3: 0.5, 4: 1.0}
    for model, power in (
        (descent_of(), 2),
        (descent_of(accounting="gaussian"), 1),
        (output_of(), 1),
    ):
        model.fit(X, y, users=users, epsilon=epsilon)
        got = model.exposure_
        asked = next(iter(vars(model.guarantee_).values()))
        assert np.all(got <= asked)
        assert_allclose((got / asked).max(), 1, rtol=1e-9)
        ratio = got / model.weights_**power
        assert_allclose(ratio, ratio[0], rtol=1e-6)  # a solver's share is the same for all


@pytest.mark.parametrize("accounting", ["zcdp", "gaussian"])
def test_a_clipped_user_spends_what_the_exposure_says(accounting):
    # gradients of full length on both sides: the loss is Gaussian, of variance 2 rho = mu^2
    sizes = [6, 1, 2, 3]
    settings = {"accounting": accounting, "clip_norm": 0.02, "tradeoff": np.inf, "steps": 4}
    model = descent_of(**settings, epsilon=2.0)
    X, y, users = rows_of(sizes, 2)
    exposure = model.fit(X, y, users=users).exposure_
    for user in range(4):
        laws = []
        for end in (-1.0, 1.0):
            Z, z = X.copy(), y.copy()
            Z[users == user], z[users == user] = [1.0, 0.0], end
            laws.append(model.output_law(Z, z, users=users))
        rho = drift(*laws) / 2
        spent = rho if accounting == "zcdp" else np.sqrt(2 * rho)
        assert_allclose(spent, exposure[user], rtol=1e-9)


# ---------------------------------------------------------------- the estimator


@pytest.mark.parametrize("lam", [1.0, 1e3, 1e7])
def test_output_perturbation_is_weighted_ridge_whatever_the_penalty(lam):
    X, y, users = rows_of()
    model = output_of("square", lam=lam)
    law = model.output_law(X, y, users=users)
    w = model.fit(X, y, users=users).weights_
    c = (w / SIZES)[users]
    ridge = np.linalg.solve(X.T @ (c[:, None] * X) + lam * np.eye(3), X.T @ (c * y))
    assert_allclose(law.center, ridge, rtol=1e-3)
    assert_allclose(model.noise_.scale, 2 * 4 * max(w) / lam, rtol=1e-3)  # the solver costs little


def test_promises():
    X, y, users = rows_of()
    model = descent_of().fit(X, y, users=users)
    assert isinstance(model.guarantee_, ZeroConcentratedDP)
    assert model.guarantee_.to_approximate(DELTA).epsilon.max() < 1
    pure = output_of().fit(X, y, users=users)
    assert pure.guarantee_ == PureDP(np.ones(5), neighbors="user")
    exact = descent_of(accounting="gaussian").fit(X, y, users=users)
    assert_allclose(exact.guarantee_.to_approximate(DELTA).epsilon, 1, rtol=1e-9)
    assert exact.noise_.scale < model.noise_.scale


def test_it_is_a_classifier_or_a_regressor():
    for kind in (WeightedGradientDescent, WeightedOutputPerturbation):
        assert is_classifier(kind("logistic"))
        assert not is_regressor(kind("logistic"))
        assert is_regressor(kind("square"))
        assert not is_classifier(kind("square"))
        assert hasattr(kind("logistic"), "predict_proba")
        assert not hasattr(kind(), "predict_proba")


def test_classes_probabilities_and_scores():
    X, _, users = rows_of(np.full(100, 3))
    y = np.where(X[:, 0] > 0, "dear", "cheap")
    model = output_of(epsilon=1e6, radius=30.0, lam=1e-3)
    model.fit(X, y, users=users)
    assert_array_equal(model.classes_, ["cheap", "dear"])
    assert model.score(X, y) > 0.9
    p = model.predict_proba(X)
    assert_allclose(p.sum(axis=1), 1, rtol=1e-14)
    assert_array_equal(model.predict(X), model.classes_[p.argmax(axis=1)])
    assert_allclose(np.log(p[:, 1] / p[:, 0]), model.decision_function(X), atol=1e-9)
    assert cross_val_score(model, X, y, cv=3).mean() > 0.8
    turned = model.set_params(classes=("dear", "cheap")).fit(X, y, users=users)
    assert_allclose(turned.predict_proba(X), p[:, ::-1], atol=1e-3)


def test_public_classes_serve_data_with_one_of_them():
    X, _, users = rows_of()
    model = output_of(classes=(-1, 1)).fit(X, np.ones(16), users=users)
    assert_array_equal(model.classes_, [-1, 1])
    with pytest.raises(ValueError, match="two classes; got one class"):
        output_of().fit(X, np.ones(16), users=users)


def test_order_of_rows_and_names_of_users_do_not_matter():
    X, y, users = rows_of()
    order = np.random.default_rng(1).permutation(len(y))
    for model_of in (descent_of, output_of):
        a = model_of(random_state=1).fit(X, y, users=users)
        names = np.array(["a", "b", "c", "d", "e"])[users]
        b = model_of(random_state=1).fit(X[order], y[order], users=names[order])
        assert_allclose(a.coef_, b.coef_, rtol=1e-8)


def test_units_intercept_and_personal_budgets():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.uniform(10, 30, 400), rng.uniform(-2, 0, 400)])
    y = 5 + 0.1 * X[:, 0] - X[:, 1]
    model = WeightedOutputPerturbation(
        epsilon=1e12,
        bounds=[(10, 30), (-2, 0)],
        y_bounds=(0, 20),
        fit_intercept=True,
        radius=10.0,
        lam=1e-6,
    ).fit(X, y, users=np.arange(400) // 4)
    assert_allclose(model.coef_, [0.1, -1], atol=1e-4)
    assert_allclose(model.intercept_, 5, atol=1e-3)


def test_weights_follow_budgets_and_limits():
    X, y, users = rows_of()
    plain = descent_of(tradeoff=np.inf).fit(X, y, users=users)
    assert_allclose(plain.weights_, SIZES / 16, rtol=1e-14)
    epsilon = np.array([0.5, 1, 1, 2, 4.0])
    model = output_of(tradeoff=0.0)
    model.fit(X, y, users=users, epsilon=epsilon[users])
    assert_allclose(model.weights_, epsilon / 8.5, rtol=1e-14)
    assert_array_equal(model.guarantee_.epsilon, epsilon)


def test_the_price_of_output_perturbation_minimizes_its_bound():
    sizes = np.r_[np.ones(40, int), np.full(10, 12)]
    d, lam, R = 3, 0.2, 2.0
    X, y, users = rows_of(sizes)
    model = output_of(lam=lam, radius=R, classes=(-1, 1))
    best = model.fit(X, y, users=users).weights_
    growth = (0.25 + lam) / 2 * d * (d + 1) * (2 / lam) ** 2

    def bound(w):
        return (
            R * convergence_constant(160, d) * np.sqrt(w**2 @ (1 / sizes)) + growth * w.max() ** 2
        )

    others = [tradeoff_weights(sizes, A).weights for A in np.geomspace(1e-4, 1e4, 400)]
    assert bound(best) <= min(map(bound, others)) * (1 + 1e-9)


def test_sample_limiting_is_the_fit_on_kept_rows():
    X, y, users = rows_of()
    kept = limit_rows(users, 2, rng=np.random.default_rng(0))
    model = descent_of(tradeoff=np.inf).fit(X[kept], y[kept], users=users[kept])
    assert model.weights_.max() == 2 / kept.sum()


BAD_DESCENT = [
    ({"delta": 0.0}, "delta must be above 0 and below 1; got 0. Gaussian noise"),
    ({"delta": 1.0}, "delta must be above 0 and below 1; got 1"),
    ({"delta": np.nan}, "delta must be above 0 and below 1; got nan"),
    ({"accounting": "rdp"}, "accounting must be one of"),
    ({"steps": 0}, "steps must be at least 1"),
    ({"step_size": -1.0}, "step_size must be finite and above 0"),
    ({"clip_norm": 0.0}, "clip_norm must be finite and above 0"),
]
BAD_OUTPUT = [({"lam": np.nan}, "lam must be finite and above 0")]
BAD = [
    ({"loss": "hinge"}, "loss must be one of"),
    ({"radius": 0.0}, "radius must be finite and above 0"),
    ({"tradeoff": -1.0}, "tradeoff must be at least 0"),
    ({"tradeoff": np.nan}, "tradeoff must be at least 0"),
    ({"classes": (1, 1)}, "classes must be a pair of different labels"),
    ({"classes": (0, 1)}, "y must hold the classes"),
    ({"epsilon": 0.0}, "epsilon must be finite and above 0"),
    ({"epsilon": {0: 1.0}}, "epsilon must have a budget for every user; it has no budget for"),
]


@pytest.mark.parametrize(
    ("model_of", "settings", "message"),
    [(descent_of, *bad) for bad in BAD_DESCENT + BAD]
    + [(output_of, *bad) for bad in BAD_OUTPUT + BAD],
)
def test_bad_settings(model_of, settings, message):
    X, y, users = rows_of()
    with pytest.raises(ValueError, match=message):
        model_of(**settings).fit(X, y, users=users)


def test_bad_data():
    X, y, users = rows_of()
    with pytest.raises(ValueError, match="users must have shape"):
        descent_of().fit(X, y, users=users[:-1])
    with pytest.raises(ValueError, match="X must have rows of norm at most row_norm"):
        descent_of().fit(np.full((16, 3), 0.9), y, users=users)
    with pytest.raises(ValueError, match="y must lie in"):
        descent_of("square").fit(X, 2 * y, users=users)
    with pytest.raises(ValueError, match="Only binary classification is supported"):
        descent_of().fit(X, np.arange(16) % 3, users=users)
    with pytest.raises(ValueError, match="points must have shape"):
        descent_of(steps=2).output_law(X, y, users=users).logpdf(np.zeros(5))
