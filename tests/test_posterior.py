"""Posterior samples that keep a promise: calibration, laws, the whole mechanism, certificates."""

from dataclasses import replace
from itertools import product

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats
from scipy.special import ndtr, ndtri
from sklearn.base import clone

from pdpbook.guarantees import BudgetAccount, GaussianDP, PureDP, ZeroConcentratedDP
from pdpbook.noise import gaussian_mu, gaussian_profile
from pdpbook.per_instance import ops_epsilon, ops_profile
from pdpbook.posterior import (
    AdaOPS,
    AdaptiveLaw,
    AdaptivePlan,
    OnePosteriorSample,
    PosteriorLaw,
    adaptive_profile,
    calibration,
    largest_scaled_residual,
    posterior_certificate,
    residual_bound,
    worst_case_gamma,
)

SEED = 20


@pytest.mark.parametrize(("lam", "n_max"), [(0.3, 50), (7.0, 1000), (20.0, 3)])
def test_the_cells_of_a_search_cover_everybody(lam, n_max):
    """A person at S has leverage 1 / (S + lam) and residual at most 1 + sqrt(n S) / (S + lam)."""
    leverage, residual = calibration._worst_people(lam, n_max)
    for S in np.append(np.geomspace(1e-6 * lam, n_max, 500), min(lam, n_max)):
        fitted = np.sqrt(n_max * S) / (S + lam)
        cell = np.flatnonzero(leverage >= (1 - 1e-12) / (S + lam))[-1]
        assert residual[cell] >= (1 + fitted) * (1 - 1e-12)


def sphere(n, d, rng):
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1)[:, None]


@pytest.fixture
def people():
    rng = np.random.default_rng(SEED)
    X = sphere(400, 3, rng)
    return X, np.clip(X @ [0.5, -0.3, 0.2] + 0.1 * rng.uniform(-1, 1, 400), -1, 1)


# --- calibration ---------------------------------------------------------------------------------


@pytest.mark.parametrize("leverage", [1e-6, 1e-3, 0.05])
def test_the_largest_residual_keeps_the_budget_and_no_larger_one_does(leverage):
    rho = float(largest_scaled_residual(1.0, 1e-5, leverage))
    assert max(ops_profile(1.0, leverage, rho)) <= 1e-5
    assert max(ops_profile(1.0, leverage, rho * (1 + 1e-6))) > 1e-5


@pytest.mark.parametrize("mu", [1e-10, 1e-200])
def test_the_largest_residual_is_gaussian_in_the_limit(mu):
    rho = float(largest_scaled_residual(0.7, 1e-6, mu))
    assert_allclose(rho * np.sqrt(mu), gaussian_mu(0.7, 1e-6), rtol=1e-3)


def test_no_residual_where_the_covariance_alone_spends_the_budget():
    assert np.isnan(largest_scaled_residual(0.1, 1e-6, 0.5))


def test_the_residual_bound_is_attained_and_holds_on_random_data():
    S, lam, n = 30.0, 10.0, 200  # n equal rows in one dimension: theta = sqrt(nS) / (S + lam)
    assert_allclose(residual_bound(S + lam, lam, n), 1 + np.sqrt(n * S) / (S + lam))
    rng = np.random.default_rng(SEED)
    for _ in range(200):
        X = sphere(30, 2, rng) * rng.uniform(0, 1, (30, 1))
        y, lam = rng.uniform(-1, 1, 30), rng.uniform(0.1, 10)
        H = X.T @ X + lam * np.eye(2)
        theta = np.linalg.solve(H, X.T @ y)
        h = np.linalg.eigvalsh(H)[0]
        assert 1 + np.linalg.norm(theta) <= 1 + np.sqrt(30 / h) + 1e-12
        assert 1 + np.abs(sphere(50, 2, rng) @ theta).max() <= residual_bound(h, lam, 30) + 1e-12


@pytest.mark.parametrize("lam", [1.0, 10.0, 300.0])
@pytest.mark.parametrize("least", [0.0, 0.3, 2.0])
def test_the_residual_bound_is_the_largest_over_all_data_of_that_weight(lam, least):
    """Equal rows of weight S = `least` penalties or more: what they fit peaks at S = lam."""
    n, S = 10**5, lam * np.append(least, np.geomspace(max(least, 1e-3), 1e3, 100_001))
    assert_allclose(
        residual_bound((1 + least) * lam, lam, n), 1 + np.max(np.sqrt(n * S) / (S + lam)), rtol=1e-7
    )


@pytest.mark.parametrize("lam", [20.0, 100.0, 5000.0])
def test_worst_case_gamma_keeps_the_budget_on_a_finer_search(lam):
    n = 1000
    gamma = worst_case_gamma(lam, 1.0, 1e-4, n)
    S = np.append(0, np.geomspace(1e-3, n, 3000))
    residual = 1 + np.sqrt(n * S) / (S + lam)

    def level(gamma):
        return max(p.max() for p in ops_profile(1.0, 1 / (S + lam), np.sqrt(gamma) * residual))

    assert level(gamma) <= 1e-4
    assert level(1.03 * gamma) > 1e-4  # the cells cost less than 3 %


def test_worst_case_gamma_refuses_a_penalty_that_is_too_small():
    with pytest.raises(ValueError, match="lam must be larger"):
        worst_case_gamma(1.0, 0.1, 1e-6, 1000)
    with pytest.raises(ValueError, match="lam must be at least 1"):
        worst_case_gamma(0.5, 1.0, 1e-6, 1000)


# --- laws ----------------------------------------------------------------------------------------


def test_posterior_law_is_the_gaussian_of_scipy():
    precision = np.array([[4.0, 1.0], [1.0, 3.0]])
    law = PosteriorLaw([1.0, -2.0], precision)
    frozen = stats.multivariate_normal([1.0, -2.0], np.linalg.inv(precision))
    points = np.random.default_rng(SEED).normal(size=(5, 2))
    assert_allclose(law.logpdf(points), frozen.logpdf(points), rtol=1e-12)
    draws = law.sample(40_000, rng=np.random.default_rng(SEED))
    # 5 standard errors of a mean and of a covariance: false alarm below 1e-5
    assert_allclose(draws.mean(axis=0), law.center, atol=5 * 0.6 / 200)
    assert_allclose(np.cov(draws.T), frozen.cov, atol=5 * 0.6 / 200)


@pytest.mark.parametrize("release_norm", [False, True])
def test_adaptive_law_samples_from_its_density(people, release_norm):
    X, y = people
    law = AdaOPS(n_max=500, epsilon=5.0, delta=0.1, release_norm=release_norm).output_law(X, y)
    draws = law.sample(1000, rng=np.random.default_rng(SEED))
    other = AdaptiveLaw(law.gram + np.eye(3), law.moment * 0.95, law.plan)
    ratio = np.exp(other.logpdf(draws) - law.logpdf(draws))  # mean 1 when both are densities
    assert abs(ratio.mean() - 1) < 5 * ratio.std() / np.sqrt(1000)
    assert law.sample(0, rng=np.random.default_rng(SEED)).shape == (0, draws.shape[1])


SETTINGS = [{}, {"kappa": 5.0}, {"calibration": "simple"}]


@pytest.mark.parametrize("release_norm", [False, True])
@pytest.mark.parametrize("strength", [0.0, 3.0, 40.0, 400.0])
@pytest.mark.parametrize("settings", SETTINGS)
def test_the_whole_mechanism_keeps_its_budget_on_worst_pairs(strength, release_norm, settings):
    n = 1000  # with the newcomer: `fit` refuses more
    model = AdaOPS(delta=1e-2, n_max=n, release_norm=release_norm, **settings)
    X, y = np.full((n - 1, 1), np.sqrt(strength / (n - 1))), np.ones(n - 1)
    more = np.append(X, [[1.0]], axis=0), np.append(y, -1.0)
    laws = model.output_law(X, y), model.output_law(*more)
    add, remove = adaptive_profile(1.0, *laws, [1.0], -1.0)
    assert 0 <= min(add, remove) <= max(add, remove) <= model.delta


class Greedy(AdaptivePlan):
    """Planted: the draw is as sharp as if the residual were at most 1 / 10."""

    def gamma(self, h, lam, log_norm=np.inf):
        return super().gamma(h, lam, np.log(np.ones(np.shape(h)))) * 100


@pytest.mark.parametrize("release_norm", [False, True])
def test_a_greedy_draw_is_caught(release_norm):
    plan = Greedy(1.0, 1e-2, 1, 1000, release_norm=release_norm)
    without = AdaptiveLaw([[40.0]], [200.0], plan)
    joined = AdaptiveLaw([[41.0]], [199.0], plan)
    assert max(adaptive_profile(1.0, without, joined, [1.0], -1.0)) > plan.delta


@pytest.mark.parametrize("release_norm", [False, True])
def test_the_joint_profile_agrees_with_simulation(release_norm):
    plan = AdaptivePlan(2.0, 0.2, 1, 50, release_norm=release_norm)
    without, joined = (AdaptiveLaw([[g]], [m], plan) for g, m in [(20.0, 15.0), (21.0, 14.0)])
    exact = adaptive_profile([0.0, 0.3], without, joined, [1.0], -1.0)[0]
    draws = without.sample(1500, rng=np.random.default_rng(SEED))
    loss = without.logpdf(draws) - joined.logpdf(draws)
    for epsilon, delta in zip([0.0, 0.3], exact, strict=True):
        gain = np.maximum(0, 1 - np.exp(epsilon - loss))
        assert abs(gain.mean() - delta) < 5 * gain.std() / np.sqrt(1500)  # false alarm 1e-6


@pytest.mark.parametrize("release_norm", [False, True])
@pytest.mark.parametrize("weight", [0.5, 2.0, 8.0])
def test_both_directions_are_the_total_variation_at_epsilon_0(weight, release_norm):
    plan = AdaptivePlan(2.0, 0.2, 1, 50, release_norm=release_norm)
    without, joined = (AdaptiveLaw([[weight + k]], [weight - k], plan) for k in (0, 1))
    add, remove = adaptive_profile(0.0, without, joined, [1.0], -1.0)
    assert_allclose(add, remove, rtol=1e-6)  # quadrature
    assert 0.05 < add < 0.95


class WithoutTheUnit(AdaptivePlan):
    """Planted: the released eigenvalue is not lowered by what one person adds to it."""

    @property
    def margin(self):
        return super().margin - 1


@pytest.mark.parametrize("calibration", ["joint", "simple"])
def test_a_bound_for_the_larger_data_set_alone_is_caught(calibration):
    # at small budgets the slack of composition hides it
    worst = dict.fromkeys((AdaptivePlan, WithoutTheUnit), 0.0)
    for kind, weight in product(worst, (0.5, 1.5, 3.0)):
        plan = kind(200.0, 0.3, 1, 1000, calibration=calibration)
        moment = np.sqrt(999 * weight)
        without, joined = (AdaptiveLaw([[weight + k]], [moment - k], plan) for k in (0, 1))
        found = adaptive_profile(200.0, without, joined, [1.0], -1.0)
        worst[kind] = max(worst[kind], *found)
    assert worst[AdaptivePlan] <= 0.3 < worst[WithoutTheUnit]


# --- the joint calibration, seen on what fit releases --------------------------------------------


class TenthMore(AdaptivePlan):
    """Planted: the draw is given a tenth more than the noises leave."""

    @property
    def draw(self):
        epsilon, delta = super().draw
        return 1.1 * epsilon, delta


class HalfForTheNoises(AdaptivePlan):
    """Planted: each released number takes half of epsilon, and the draw knows of a smaller part."""

    @property
    def scale(self):
        return HALF[self.released]


HALF = {k: 1 / float(gaussian_mu(0.5, 1e-6 / (k + 3))) for k in (1, 2)}  # at one nat


class OtherMargin(AdaptivePlan):
    """Planted: the margin is for a quarter more or less than its part of delta."""

    part = 1.25

    @property
    def margin(self):
        return 1 - self.scale * float(ndtri(self.part * self.share[1]))


class SmallMargin(OtherMargin):
    part = 0.75


class Planted(AdaOPS):
    """AdaOPS by another plan."""

    kind = AdaptivePlan

    def law(self, people):
        law = super().law(people)
        return replace(law, plan=self.kind(**vars(law.plan)))


HEAVY = np.ones((100_000, 1)), np.ones(100_000)  # all that is published is attained, nearly


def spent(kind, release_norm, calibration="joint"):
    """Parts of delta that a run on HEAVY spends, from the laws that `fit` draws from."""
    model = Planted(release_norm=release_norm, calibration=calibration, n_max=100_001)
    model.kind = kind
    promise = model.fit(*HEAVY).guarantee_
    without = model.output_law(*HEAVY)
    joined = model.output_law(np.append(HEAVY[0], [[1.0]], 0), np.append(HEAVY[1], -1.0))
    profile = max(adaptive_profile(promise.epsilon, without, joined, [1.0], -1.0))
    above = [(1e5 - without.center[0] - 1) / without.plan.scale]
    if release_norm:
        lam, h = without.penalty_and_weight(without.center[0])
        mean, sd = without.norm_law(lam, h)
        log_norm = np.log1p(np.linalg.norm(without.ridge(lam)))
        above.append((mean - log_norm - without.plan.norm_sensitivity(h)) / sd)
    return profile / promise.delta, ndtr(-np.array(above)).sum() / promise.delta


@pytest.mark.parametrize("release_norm", [False, True])
def test_the_joint_calibration_spends_its_delta_and_no_more(release_norm):
    profile, failures = spent(AdaptivePlan, release_norm)
    assert 0.5 < profile < 1
    assert 0.98 < profile + failures + 1 / 20 < 1  # a twentieth for the tail of the draw
    assert spent(AdaptivePlan, release_norm, "simple")[0] < 0.01  # adding budgets: far below


@pytest.mark.parametrize("release_norm", [False, True])
@pytest.mark.parametrize("kind", [TenthMore, HalfForTheNoises])
def test_a_part_that_is_too_large_breaks_the_whole(kind, release_norm):
    assert spent(kind, release_norm)[0] > 2


@pytest.mark.parametrize("release_norm", [False, True])
def test_a_margin_of_another_part_of_delta_is_seen(release_norm):
    assert sum(spent(OtherMargin, release_norm)) + 1 / 20 > 1.03
    assert sum(spent(SmallMargin, release_norm)) + 1 / 20 < 0.96


@pytest.mark.parametrize("release_norm", [False, True])
@pytest.mark.parametrize("settings", [{}, {"kappa": 3.0}])
def test_no_random_pair_spends_more_than_the_promise(release_norm, settings):
    rng, worst = np.random.default_rng(SEED), 0.0
    for _ in range(12):
        n = int(10 ** rng.uniform(1, 6))
        epsilon, delta = 10 ** rng.uniform(-0.5, 0.7), 10 ** rng.uniform(-8, -1)
        plan = AdaptivePlan(epsilon, delta, 1, n, release_norm=release_norm, **settings)
        weight = (n - 1) * rng.uniform(0, 1) ** 3
        moment = rng.uniform(0, 1) * np.sqrt((n - 1) * weight)
        x, y = rng.uniform(0, 1), rng.uniform(-1, 1)
        without = AdaptiveLaw([[weight]], [moment], plan)
        joined = AdaptiveLaw([[weight + x**2]], [moment + x * y], plan)
        worst = max(worst, max(adaptive_profile(epsilon, without, joined, [x], y)) / delta)
    assert 0 < worst <= 1


@pytest.mark.parametrize("released", [1, 2])
@pytest.mark.parametrize("budget", [(0.1, 1e-8), (1.0, 1e-6), (1.0, 1e-2), (8.0, 0.3)])
def test_the_draw_is_below_the_gaussian_that_the_noises_leave_up_to_its_tail(budget, released):
    epsilon, delta = budget
    plan = AdaptivePlan(epsilon, delta, 1, 10**6, release_norm=released == 2)
    at, tail = plan.draw
    shift = float(gaussian_mu(at, tail))
    whole = np.sqrt(shift**2 + released / plan.scale**2)
    assert_allclose(
        float(gaussian_profile(epsilon, whole)) + tail + released * plan.share[1], delta, rtol=1e-9
    )
    places = np.append(np.linspace(0, at, 200), at * np.geomspace(1, 4, 50))
    gaussian = gaussian_profile(places, shift)
    for h in (3e3, 1e4, 1e6, 1e9):
        rho = np.sqrt(plan.gamma(h, 0.0)) * residual_bound(h, 0.0, plan.n_max)
        draw = ops_profile(places, 1 / h, rho).add
        # the last bisection of rho and that of the shift each leave some 1e-9 of a profile
        assert np.all(draw[:200] <= gaussian[:200] * (1 + 1e-7))
        assert np.all(draw[200:] <= tail * (1 + 1e-7))
        assert draw[-1] > gaussian[-1]  # so the tail is not for nothing


# --- the parameters of AdaOPS --------------------------------------------------------------------


@pytest.mark.parametrize("release_norm", [False, True])
def test_shares_of_the_simple_budget_add_up(release_norm):
    plan = AdaptivePlan(1.2, 1e-4, 2, 100, release_norm=release_norm, calibration="simple")
    share, part, released = (4, 5, 2) if release_norm else (3, 4, 1)
    noise = 1 / plan.scale, ndtr((1 - plan.margin) / plan.scale)  # what is spent, not what is said
    assert_allclose(noise[0], gaussian_mu(1.2 / share, 1e-4 / part), rtol=1e-12)
    assert_allclose(noise[1], 1e-4 / part, rtol=1e-9)
    assert_allclose(released * 1.2 / share + plan.draw[0], 1.2)
    assert_allclose(2 * released * 1e-4 / part + plan.draw[1], 1e-4)
    joint = replace(plan, calibration="joint")
    assert (joint.scale, joint.margin) == (plan.scale, plan.margin)
    assert np.all(joint.gamma([1e3, 1e6], 0.0) > 1.7 * plan.gamma([1e3, 1e6], 0.0))


def test_a_released_norm_counts_between_zero_and_the_bound_without_it():
    plan = AdaptivePlan(1.0, 1e-6, 4, 10_000, release_norm=True)
    free = plan.gamma(500.0, 0.0)
    largest = np.log(residual_bound(500.0, 0.0, 10_000))
    assert_allclose(
        plan.gamma(500.0, 0.0, [-3.0, 0.0, 9.0]) / free, np.exp(2 * largest * np.array([1, 1, 0]))
    )
    assert plan.gamma(500.0, 0.0, largest / 2) > free


@pytest.mark.parametrize(("least", "released"), [(0.25, 0.25), (-1e-18, 0.0)])
def test_the_least_eigenvalue_is_released_down_to_0(least, released):
    plan = AdaptivePlan(1.0, 1e-6, 2, 100)
    law = AdaptiveLaw(np.diag([least, 3.0]), np.zeros(2), plan)
    assert_allclose(law.center + plan.margin, [released], atol=1e-12)


def test_kappa_is_the_penalty_of_the_paper():
    plan = AdaptivePlan(1.0, 1e-6, 4, 10_000, kappa=5.0)
    assert_allclose([plan.penalty(z) for z in (-7.0, 0.0, 120.0)], [500.0, 500.0, 380.0])
    assert plan.penalty(500.0) == plan.penalty(9000.0) == 0
    flat = AdaptivePlan(1.0, 1e-6, 1, 100, kappa=1e6)  # a floor of 1e-4 cannot keep any budget
    h = flat.penalty(0.0)
    assert max(ops_profile(flat.draw[0], 1 / h, 1e-6)) <= flat.draw[1]
    assert max(ops_profile(flat.draw[0], 2 / h, 1e-6)) > flat.draw[1]  # half of it does not
    people = np.random.default_rng(SEED).uniform(-1, 1, (400, 3))
    model = AdaOPS(kappa=2.0, n_max=600, random_state=3).fit(people, people[:, 0])
    assert_allclose(model.lam_ + max(model.release_[0], 0.0), 100.0)


@pytest.mark.parametrize("n_max", [1000, 10**6])
@pytest.mark.parametrize("norm_guess", [0.01, 1.0, 30.0])
@pytest.mark.parametrize("bound", [100.0, 1000.0])  # no penalty is needed for the budget
def test_the_penalty_costs_hardly_more_than_the_best_one(n_max, norm_guess, bound):
    """Half a squared length of the draw's noise and half the penalty's pull, as expected."""
    plan = AdaptivePlan(1.0, 1e-6, 4, n_max, norm_guess=norm_guess)

    def cost(lam):
        mu, residual = gaussian_mu(*plan.draw), residual_bound(bound + lam, lam, n_max)
        return 4 * (residual / mu) ** 2 / (2 * (bound + lam)) + lam * norm_guess**2 / 2

    best = min(cost(np.append(0.0, np.geomspace(1e-9, 1e12, 20_001))))
    assert cost(plan.penalty(bound)) < 1.02 * best


def test_no_penalty_on_benign_data_and_at_least_weight_one_on_flat_ones():
    plan = AdaptivePlan(1.0, 1e-6, 5, 100_000)
    assert plan.penalty(20_000.0) == 0
    for bound in [-30.0, 0.0, 0.3, 5.0]:
        lam = plan.penalty(bound)
        h = max(bound, 0) + lam
        gamma = float(plan.gamma(h, lam))
        assert h >= 1
        assert gamma > 0
        rho = np.sqrt(gamma) * float(residual_bound(h, lam, plan.n_max))
        assert max(ops_profile(plan.draw[0], 1 / h, rho)) <= plan.draw[1] * (1 + 1e-9)


def test_the_log_norm_moves_by_at_most_its_sensitivity():
    rng, plan = np.random.default_rng(SEED), AdaptivePlan(1.0, 1e-6, 2, 100)
    for _ in range(300):
        X, lam = sphere(8, 2, rng), rng.uniform(0.5, 3)
        y, x, target = rng.choice([-1, 1], 8), sphere(1, 2, rng)[0], rng.choice([-1, 1])
        H = X.T @ X + lam * np.eye(2)
        one = np.linalg.norm(np.linalg.solve(H, X.T @ y))
        two = np.linalg.norm(np.linalg.solve(H + np.outer(x, x), X.T @ y + target * x))
        h = np.linalg.eigvalsh(H)[0]
        assert abs(np.log1p(one) - np.log1p(two)) <= plan.norm_sensitivity(h) + 1e-12


def test_efficiency_approaches_least_squares():
    excess = []
    for n in [10**6, 10**7, 10**8, 10**9]:
        plan = AdaptivePlan(1.0, 1e-6, 10, n)
        bound = n / 10 - plan.margin
        assert plan.penalty(bound) == 0
        excess.append(n / (float(plan.gamma(bound, 0.0)) * 0.01))
    assert_allclose(excess, excess[-1], rtol=0.01)


# --- certificates --------------------------------------------------------------------------------


def test_certificates_cover_the_true_losses(people):
    X, y = people
    model = OnePosteriorSample(50.0, n_max=500, epsilon=2.0, row_norm=1.0)
    law = model.output_law(X, y)
    gamma = worst_case_gamma(50.0, 2.0, 1e-6, 500)
    H = X.T @ X + 50 * np.eye(3)
    leverage_in = np.einsum("ij,ij->i", X @ np.linalg.inv(H), X)
    leverage = leverage_in / (1 - leverage_in)
    rho = np.sqrt(gamma) * np.abs(y - X @ law.center) / (1 - leverage_in)
    true = ops_epsilon(1e-6, leverage, rho)
    wrong = []
    for theta in law.sample(50, rng=np.random.default_rng(SEED)):
        got = posterior_certificate(X, y, theta, gamma=gamma, h=50.0, failure=0.01)
        loss = ((np.sqrt(gamma) * (y - X @ theta)) ** 2 - rho**2 / (1 + leverage)) / 2
        loss = np.abs(loss - np.log1p(leverage) / 2)
        wrong.append(((got.ex_ante < true) | (got.ex_post < loss)).mean())
    assert np.mean(wrong) <= 0.01


def test_a_certificate_fails_as_often_as_it_says_where_it_is_tight():
    """A large residual, a tiny leverage: one tail is wrong ex ante, the other ex post.

    Both together are rho; with one-sided quantiles they would be 2 rho. 4000 draws: 6 errors.
    """
    m, gamma, failure, n = 1e-6, 4.0, 0.2, 4000
    noise = np.random.default_rng(SEED).standard_normal(n)
    seen = 1 + np.sqrt(m / (1 + m)) * noise  # scaled residual at the released point; truly 1
    got = posterior_certificate(
        np.ones((n, 1)), seen / 2, [0.0], gamma=gamma, h=1 / m, failure=failure
    )
    true = ops_epsilon(1e-6, m, 1 + m)
    loss = np.abs((seen**2 - (1 + m)) / 2 - np.log1p(m) / 2)
    wrong = (got.ex_ante < true) | (got.ex_post < loss)
    assert failure / 2 < wrong.mean() < 1.2 * failure
    assert abs((got.ex_ante < true).mean() - failure / 2) < 6 * np.sqrt(0.09 / n)


@pytest.mark.parametrize("m", [1e-6, 0.1, 1.0])
@pytest.mark.parametrize("residual", [1.0, 3.0])
def test_a_certificate_is_exact_at_the_edge_of_what_it_covers(m, residual):
    """Where the draw lies as far on one side as it may, both losses are the certificate's."""
    t = -ndtri(0.1)
    seen = residual - t * np.sqrt(m / (1 + m))  # scaled residuals of a row of length 1
    got = posterior_certificate([[1.0]], [seen], [0.0], gamma=1.0, h=1 / m, failure=0.2)
    loss = (seen**2 - (1 + m) * residual**2 - np.log1p(m)) / 2  # of the two densities there
    assert_allclose(got.ex_post[0], -loss, rtol=1e-9)
    assert_allclose(got.ex_ante[0], ops_epsilon(1e-6, m, (1 + m) * residual), rtol=1e-9)


def test_certificate_of_a_fitted_estimator(people):
    X, y = people
    model = AdaOPS(n_max=500, random_state=1).fit(X, y)
    rows = X / np.sqrt(3)
    direct = posterior_certificate(
        rows, y, model.theta_, gamma=model.gamma_, h=model.h_, delta=model.delta
    )
    assert_allclose(model.certificate(X, y).ex_ante, direct.ex_ante, rtol=1e-9)


# --- estimators: units, promises, bad input ------------------------------------------------------


@pytest.mark.parametrize("model", [OnePosteriorSample(500.0, n_max=500), AdaOPS(n_max=500)])
def test_other_units_are_other_words(model, people):
    X, y = people
    model.set_params(random_state=4, row_norm=1.5)
    plain = model.fit(X, y).predict(X)
    shift, scale = np.array([3.0, 0.0, -2.0]), np.array([2.0, 0.5, 10.0])
    bounds = np.column_stack([shift - scale, shift + scale])
    model.set_params(bounds=bounds, y_bounds=(10, 30))
    assert_allclose(
        model.fit(X * scale + shift, 20 + 10 * y).predict(X * scale + shift),
        20 + 10 * plain,
        rtol=1e-9,
    )


def test_lam_is_against_the_sum_of_squares(people):
    from sklearn.linear_model import Ridge

    X, y = people
    law = OnePosteriorSample(50.0, n_max=500, row_norm=1.0).output_law(X, y)
    ridge = Ridge(alpha=50.0, fit_intercept=False).fit(X, y)
    assert_allclose(law.center, ridge.coef_, rtol=1e-10)


def test_everybody_is_kept_the_public_budget(people):
    X, y = people
    for epsilon in (0.5, np.full(len(y), 0.5), np.where(np.arange(len(y)) < 9, 0.0, 0.5)):
        assert AdaOPS(n_max=500).fit(X, y, epsilon=epsilon).guarantee_.epsilon == 0.5


@pytest.mark.parametrize("kind", [PureDP, GaussianDP, ZeroConcentratedDP])
@pytest.mark.parametrize("model", [OnePosteriorSample(500.0, n_max=500), AdaOPS(n_max=500)])
def test_an_account_says_why_it_cannot_be_charged(model, kind, people):
    account, rng = BudgetAccount(9.0, neighbors="add-remove", kind=kind), np.random.default_rng(0)
    before = rng.bit_generator.state
    refusal = f"into {kind.__name__}: no theorem does, as the covariance of a posterior sample"
    with pytest.raises(TypeError, match=refusal):
        clone(model).set_params(random_state=rng).fit(*people, account=account)
    assert rng.bit_generator.state == before
    assert account.spent == 0


@pytest.mark.parametrize(("order", "finite"), [(1.5, True), (3.0, False)])
def test_the_covariance_of_a_draw_allows_no_concentrated_promise(order, finite):
    """At leverage m the Renyi divergence of two draws is infinite from order 1 + 1 / m on."""
    without, joined = PosteriorLaw([0.0], [[1.0]]), PosteriorLaw([0.0], [[2.0]])  # m = 1
    integrals = []
    for reach in (8.0, 16.0, 24.0):
        z = np.linspace(-reach, reach, 20_001)
        log_p, log_q = without.logpdf(z[:, None]), joined.logpdf(z[:, None])
        integrals.append(np.trapezoid(np.exp(order * log_p + (1 - order) * log_q), z))
    settled = integrals[2] < 1.01 * integrals[1] and integrals[1] < 1.01 * integrals[0]
    assert settled == finite


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"n_max": 399}, "X must have at most n_max = 399 rows; got 400"),
        ({"row_norm": 0.9}, "X must have rows of norm at most row_norm = 0.9"),
        ({"delta": 1.0}, "delta must be"),
        ({"delta": 0.0}, "delta must be"),
        ({"epsilon": float("nan")}, "epsilon must be"),
        ({"bounds": (0, 1)}, "X must lie in"),
        ({"y_bounds": (-0.1, 0.1)}, "y must lie in"),
        ({"row_norm": -1.0}, "row_norm must be"),
    ],
)
@pytest.mark.parametrize("model", [OnePosteriorSample, AdaOPS])
def test_bad_settings_are_refused(model, bad, message, people):
    with pytest.raises(ValueError, match=message):
        model(**bad).fit(*people)


def test_bad_values_are_refused(people):
    X, y = people
    with pytest.raises(ValueError, match="X must be finite"):
        AdaOPS().fit(np.where(X == X[3, 1], np.nan, X), y)
    with pytest.raises(ValueError, match="calibration must be"):
        AdaOPS(calibration="exact").fit(X, y)
    with pytest.raises(ValueError, match="kappa must be at least 1"):
        AdaOPS(kappa=0.5).fit(X, y)
    with pytest.raises(ValueError, match="kappa must be finite"):
        AdaOPS(kappa=float("nan")).fit(X, y)
    with pytest.raises(ValueError, match="norm_guess must be"):
        AdaOPS(0.0).fit(X, y)
    with pytest.raises(ValueError, match=r"norm_guess must be at most 1e\+150.* got 1e\+300"):
        AdaOPS(norm_guess=1e300, n_max=500).fit(X, y)
    with pytest.raises(ValueError, match="h must be at least 1"):
        posterior_certificate(X, y, np.zeros(3), gamma=1.0, h=0.5)
    with pytest.raises(ValueError, match="X must have rows in the unit ball"):
        posterior_certificate(2 * X, y, np.zeros(3), gamma=1.0, h=5.0)
    with pytest.raises(ValueError, match="precision must be positive definite"):
        PosteriorLaw([0.0], [[0.0]])
    law = AdaptiveLaw(np.eye(1), [0.0], AdaptivePlan(1.0, 1e-6, 1, 10))
    other = AdaptiveLaw(np.eye(1), [0.0], AdaptivePlan(2.0, 1e-6, 1, 10))
    with pytest.raises(ValueError, match="without and joined must be laws of one plan"):
        adaptive_profile(1.0, law, other, [1.0], 0.0)
