"""Personalized regression: identities, the law of what is really released, and bad input."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize, stats
from sklearn.linear_model import Ridge
from sklearn.utils import get_tags

from pdpbook.guarantees import ApproximateDP, PureDP
from pdpbook.noise import L2Laplace, gaussian_mu, l2_laplace_eps0, l2_laplace_profile
from pdpbook.personalized import PDPRidge, PersonalizedMean, huber_ridge, pdp_weights
from pdpbook.ridge import HuberSolution, weighted_ridge
from pdpbook.sensitivity import huber_constant, ridge_constant

SEED = 20261121
# KS at 1e-6: one false alarm in a million a test. A scale off by 30% moves the distribution
# function by 0.09 in one dimension (p below 1e-13 at 2,000 fits), by 0.13 in two (at 800).
FITS = {1: 2000, 2: 800, 3: 2000}
ALARM = 1e-6


def people(n=8, d=3, seed=SEED):
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, d)), rng.uniform(-1, 1, n)
    return X, y, rng.uniform(0.05, 2, n)


def budgets_of(n):
    return st.lists(st.floats(1e-6, 1e6), min_size=n, max_size=n).map(np.array)


# ---------------------------------------------------------------- weights


def test_weights_by_hand():
    assert_allclose(pdp_weights([1, 1, 2]), [0.25, 0.25, 0.5], rtol=1e-15)
    assert_array_equal(pdp_weights([7.0]), [1.0])
    assert_allclose(pdp_weights([1e308] * 4), [0.25] * 4, rtol=1e-15)  # the sum would overflow


@given(st.integers(1, 30).flatmap(budgets_of), st.floats(1e-3, 1e3))
def test_weights_are_shares(epsilon, factor):
    weights = pdp_weights(epsilon)
    assert_allclose(weights, epsilon / epsilon.sum(), rtol=1e-13)
    assert_allclose(weights.sum(), 1, rtol=1e-13)
    assert_allclose(pdp_weights(factor * epsilon), weights, rtol=1e-13)


# ---------------------------------------------------------------- the law of the release


@pytest.mark.parametrize("proof", ["published", "exact-norm", "tight"])
@pytest.mark.parametrize("lam", [0.05, 3.0, 100.0])
def test_the_law_is_weighted_ridge_with_rate_sum_over_constant(lam, proof):
    X, y, epsilon = people()
    law = PDPRidge(lam, proof=proof).output_law(X, y, epsilon=epsilon)
    weights = epsilon / epsilon.sum()
    sklearn = Ridge(alpha=lam, fit_intercept=False).fit(X, y, sample_weight=weights)
    assert_allclose(law.center, sklearn.coef_, rtol=1e-9, atol=1e-12)
    constant = ridge_constant(lam, 3, proof)
    assert_allclose(law.eta, epsilon.sum() / constant, rtol=1e-14)
    assert_allclose(law.eta * weights * constant, epsilon, rtol=1e-13)  # every budget is spent


def test_the_published_rate_by_hand():
    X, y, _ = people(n=10, d=4)
    law = PDPRidge(1.0, epsilon=0.5, proof="published").output_law(X, y)
    assert_allclose(law.eta, 1.0 / (2 * 2 * (1 + 2 * 1)) * 5, rtol=1e-14)  # B = 1
    known = PDPRidge(1.0, epsilon=0.5, proof="published", bound=0.25).output_law(X, y)
    assert_allclose(known.eta, 1.0 / (2 * 2 * (1 + 2 * 0.25)) * 5, rtol=1e-14)
    longest = np.linalg.norm(X, axis=1).max()
    short = PDPRidge(1.0, epsilon=0.5, proof="published", row_norm=longest).output_law(X, y)
    assert_allclose(short.eta, 5 / (2 * longest * (1 + longest)), rtol=1e-14)


@given(st.integers(1, 12), st.integers(1, 5), st.floats(1e-3, 1e3), st.floats(0.01, 100))
def test_identities_of_the_law(n, d, lam, factor):
    X, y, epsilon = people(n, d, seed=n)
    model = PDPRidge(lam)
    law = model.output_law(X, y, epsilon=epsilon)
    order = np.random.default_rng(d).permutation(n)
    permuted = model.output_law(X[order], y[order], epsilon=epsilon[order])
    assert_allclose(permuted.center, law.center, rtol=1e-7, atol=1e-9)
    assert_allclose(permuted.eta, law.eta, rtol=1e-13)
    scaled = model.output_law(X, y, epsilon=factor * epsilon)
    assert_allclose(scaled.center, law.center, rtol=1e-7, atol=1e-9)
    assert_allclose(scaled.eta, factor * law.eta, rtol=1e-12)
    baseline = model.output_law(X, y, epsilon=epsilon.min())
    assert_allclose(law.eta / baseline.eta, epsilon.sum() / (n * epsilon.min()), rtol=1e-12)
    assert_allclose(baseline.center, weighted_ridge(X, y, lam), rtol=1e-7, atol=1e-9)


def test_the_constructor_serves_everybody_and_fit_overrides_it():
    X, y, epsilon = people()
    by_constructor = PDPRidge(epsilon=epsilon).output_law(X, y)
    by_call = PDPRidge(epsilon=9.0).output_law(X, y, epsilon=epsilon)
    assert by_constructor.eta == by_call.eta
    assert (
        PDPRidge(epsilon=0.3).output_law(X, y).eta == PDPRidge().output_law(X, y, epsilon=0.3).eta
    )


def test_the_intercept_is_a_last_penalized_feature():
    X, y, epsilon = people()
    law = PDPRidge(2.0, fit_intercept=True).output_law(X, y, epsilon=epsilon)
    appended = np.column_stack([X, np.ones(len(X))])
    same = PDPRidge(2.0).output_law(appended, y, epsilon=epsilon)
    assert_allclose(law.center, same.center, rtol=1e-12)
    assert law.eta == same.eta
    model = PDPRidge(2.0, fit_intercept=True, random_state=5).fit(X, y, epsilon=epsilon)
    twin = PDPRidge(2.0, random_state=5).fit(appended, y, epsilon=epsilon)
    assert_allclose([*model.coef_, model.intercept_], twin.coef_, rtol=1e-12)
    assert model.n_features_in_ == 3


@pytest.mark.parametrize("fit_intercept", [False, True])
def test_units_come_and_go(fit_intercept):
    """The same people in other units: the same release, hence the same predictions, in units."""
    X, y, epsilon = people()
    low, high = np.array([18.0, -3.0, 0.0]), np.array([64.0, 5.0, 1e6])
    plain = PDPRidge(2.0, fit_intercept=fit_intercept, random_state=5)
    units = PDPRidge(
        2.0,
        fit_intercept=fit_intercept,
        random_state=5,
        bounds=np.column_stack([low, high]),
        y_bounds=(100.0, 500.0),
    )
    there = np.clip(low + X * (high - low), low, high)
    predicted = plain.fit(X, y, epsilon=epsilon).predict(X)
    got = units.fit(there, 300 + 200 * y, epsilon=epsilon).predict(there)
    assert_allclose(got, 300 + 200 * predicted, rtol=1e-9)
    assert_allclose(units.coef_ @ there[0] + units.intercept_, got[0], rtol=1e-12)
    assert plain.intercept_ == 0 or fit_intercept


# ---------------------------------------------------------------- what is really released


def drawn(model, X, y, epsilon, fits):
    """Radius of the noise in `fits` separate fits, and its directions, in units of the domain."""
    law = model.output_law(X, y, epsilon=epsilon)
    released = []
    for seed in range(fits):
        fitted = model.set_params(random_state=seed).fit(X, y, epsilon=epsilon)
        if isinstance(model, PersonalizedMean):
            released.append([fitted.mean_])
        else:
            extra = [fitted.intercept_] if model.fit_intercept else []
            released.append([*fitted.coef_, *extra])
    noise = np.array(released) - law.center
    return noise, law


def radius_fits(noise, eta):
    law = stats.gamma(noise.shape[1], scale=1 / eta)
    return stats.kstest(np.linalg.norm(noise, axis=1), law.cdf).pvalue > ALARM


@pytest.mark.parametrize(
    ("model", "d", "rate"),
    [
        (PDPRidge(2.0), 3, lambda s: s / ridge_constant(2.0, 3)),
        (PDPRidge(2.0, proof="published"), 1, lambda s: s / ridge_constant(2.0, 1, "published")),
        (PDPRidge(2.0, fit_intercept=True), 2, lambda s: s / ridge_constant(2.0, 3)),
        (PDPRidge(2.0, loss="huber"), 2, lambda s: s / huber_constant(2.0, 2)),
        (PersonalizedMean(), 1, lambda s: s / 2),
    ],
    ids=["tight", "published", "intercept", "huber", "mean"],
)
def test_released_noise_is_calibrated_both_ways(model, d, rate):
    X, y, epsilon = people(n=5, d=d)
    fits = FITS[d]
    noise, _ = drawn(model, X, y, epsilon, fits)
    eta = rate(epsilon.sum())
    assert radius_fits(noise, eta)
    assert not radius_fits(noise, eta / 0.7)  # claimed scale 0.7 of the true one
    assert not radius_fits(noise, eta / 1.3)
    assert not radius_fits(noise, 1 / eta)  # scale for rate
    assert len(np.unique(noise, axis=0)) == fits
    direction = noise / np.linalg.norm(noise, axis=1, keepdims=True)
    # each coordinate of a uniform direction has variance 1/d: 5 standard errors
    assert np.all(np.abs(direction.mean(axis=0)) < 5 / np.sqrt(noise.shape[1] * fits))
    # neighbors in the sequence of fits are uncorrelated: 5 standard errors
    assert np.all(np.abs((direction[1:] * direction[:-1]).mean(axis=0)) < 5 / np.sqrt(fits))


def test_a_scale_for_a_rate_is_caught_by_the_released_noise():
    class ScaleForRate(PDPRidge):
        def noise_rate(self, parameters, d):
            return 1 / super().noise_rate(parameters, d)

    X, y, epsilon = people(n=5)
    noise, _ = drawn(ScaleForRate(2.0), X, y, epsilon, fits=500)
    assert not radius_fits(noise, epsilon.sum() / ridge_constant(2.0, 3))


def test_fit_draws_once_from_the_stated_law():
    X, y, epsilon = people()
    for model in (PDPRidge(2.0, random_state=9), PDPRidge(2.0, loss="huber", random_state=9)):
        law = model.output_law(X, y, epsilon=epsilon)
        assert isinstance(law, L2Laplace)
        fitted = model.fit(X, y, epsilon=epsilon)
        assert_allclose(fitted.coef_, law.sample(rng=np.random.default_rng(9)), rtol=1e-14)
        assert fitted.noise_.rate == law.eta


def test_the_rate_depends_on_public_things_alone():
    X, y, epsilon = people()
    for model in (PDPRidge(2.0), PDPRidge(2.0, loss="huber"), PersonalizedMean()):
        rates = {
            model.fit(data, labels, epsilon=epsilon).noise_.rate
            for data, labels in [(X, y), (1 - X, -y), (0 * X, 0 * y)]
        }
        assert len(rates) == 1


def test_one_seed_on_two_data_sets_tells_the_exact_shift():
    """Why random_state is None for every real release."""
    X, y, epsilon = people()
    moved = y.copy()
    moved[2] = -moved[2]
    for model in (PDPRidge(2.0, random_state=3), PDPRidge(2.0, loss="huber", random_state=3)):
        first = model.fit(X, y, epsilon=epsilon).coef_
        second = model.fit(X, moved, epsilon=epsilon).coef_
        laws = [model.output_law(X, labels, epsilon=epsilon) for labels in (y, moved)]
        # noise of size about 1 cancels: what is left is rounding
        assert_allclose(second - first, laws[1].center - laws[0].center, rtol=0, atol=1e-13)


def test_a_generator_moves_on_from_fit_to_fit():
    X, y, _ = people()
    model = PDPRidge(random_state=np.random.default_rng(2))
    assert not np.allclose(model.fit(X, y).coef_, model.fit(X, y).coef_, rtol=1e-9, atol=0)


def test_the_promise_names_every_budget():
    X, y, epsilon = people()
    for model in (PDPRidge(), PersonalizedMean()):
        promise = model.fit(X, y, epsilon=epsilon).guarantee_
        assert isinstance(promise, PureDP)
        assert promise.neighbors == "replace-one"
        assert_array_equal(promise.epsilon, epsilon)
        assert_array_equal(
            model.fit(X, y, epsilon=epsilon.min()).guarantee_.epsilon, [epsilon.min()] * 8
        )
        assert model.guarantee_.epsilon.shape == (8,)  # a budget a person, not one for all


# ---------------------------------------------------------------- the mean


def test_the_mean_by_hand():
    law = PersonalizedMean(y_bounds=(0, 10)).output_law(None, [0, 10, 5], epsilon=[1, 2, 1])
    assert_allclose(law.center, [0.25], rtol=1e-15)  # weights 1/4, 1/2, 1/4 on -1, 1, 0
    assert law.eta == 2.0
    model = PersonalizedMean(y_bounds=(0, 10), epsilon=1e12, random_state=1)
    assert_allclose(model.fit(["any", "rows", "do"], [0, 10, 5]).mean_, 5, atol=1e-9)
    assert_array_equal(model.predict(np.empty((4, 0))), [model.mean_] * 4)


def test_the_mean_tells_scikit_learn_that_rows_are_not_looked_at():
    tags = get_tags(PersonalizedMean())
    assert tags.no_validation is tags.input_tags.sparse is True
    assert tags.regressor_tags.poor_score is True


# ---------------------------------------------------------------- Huber


def objective(theta, X, y, lam, w, c):
    r = np.abs(y - X @ theta)
    return w @ np.where(r <= c, r**2, 2 * c * r - c**2) + lam * theta @ theta


@given(st.integers(1, 25), st.integers(1, 6), st.floats(1e-4, 100), st.floats(0.01, 3))
def test_huber_ridge_is_a_minimizer(n, d, lam, c):
    X, y, epsilon = people(n, d, seed=n + d)
    w = pdp_weights(epsilon)
    solution = huber_ridge(X, y, lam, w, threshold=c, gradient_norm=1e-11)
    slope = 2 * lam * solution.theta - 2 * X.T @ (w * np.clip(y - X @ solution.theta, -c, c))
    assert np.linalg.norm(slope) <= 1e-11
    assert solution.gradient_norm <= 1e-11
    value = objective(solution.theta, X, y, lam, w, c)
    other = optimize.minimize(objective, np.zeros(d), args=(X, y, lam, w, c), method="BFGS")
    assert value <= other.fun + 1e-14


def test_huber_ridge_with_a_large_threshold_is_ridge():
    X, y, epsilon = people()
    theta = huber_ridge(X, y, 0.1, pdp_weights(epsilon), threshold=100.0).theta
    assert_array_equal(theta, weighted_ridge(X, y, 0.1, pdp_weights(epsilon)))


def test_huber_ridge_by_hand():
    # one person, x = 1, y = 100, c = 1: theta = c / lam until the residual is below c
    assert_allclose(huber_ridge([[1.0]], [100.0], 0.5).theta, [2.0], rtol=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_the_solver_reaches_what_is_charged(seed):
    rng = np.random.default_rng(seed)
    n, d, lam, c = 200, 20, 10 ** rng.uniform(-6, 2), 10 ** rng.uniform(-2, 0.5)
    X, y = np.round(rng.random((n, d))), rng.choice([-1, 1], n)
    model = PDPRidge(lam, loss="huber", huber_threshold=c)
    epsilon = rng.gamma(0.3, size=n) + 1e-5
    law = model.output_law(X, y, epsilon=epsilon)
    w = pdp_weights(epsilon)
    slope = 2 * lam * law.center - 2 * X.T @ (w * np.clip(y - X @ law.center, -c, c))
    g = model.gradient_norm(epsilon, d)
    assert np.linalg.norm(slope) <= g
    spent = law.eta * (w * huber_constant(lam, d, c) + g / lam)
    assert np.all(spent <= epsilon * (1 + 1e-12))
    assert_allclose((spent / epsilon).max(), 1, rtol=1e-12)
    exact = epsilon.sum() / huber_constant(lam, d, c)
    assert_allclose(law.eta, exact / (1 + g / (2 * np.sqrt(d) * c * w.min())), rtol=1e-12)


def test_rounding_is_charged_where_a_weight_is_next_to_nothing():
    # d = 1, lam = 1e-4, c = 1: no term of the gradient exceeds 2, and |theta| <= R / sqrt(lam)
    g = PDPRidge(1e-4, loss="huber").gradient_norm(np.array([1e-30, 1.0]), 1)
    residual = 1 + 1 / 0.01
    assert_allclose(g, 2 * 64 * 2.0**-52 * (1 + residual), rtol=1e-12)


def test_the_solver_costs_a_millionth_of_the_noise():
    X, y, epsilon = people(n=200, d=12)
    eta = PDPRidge(1.0, loss="huber").output_law(X, y, epsilon=epsilon).eta
    exact = epsilon.sum() / huber_constant(1.0, 12)
    assert exact * (1 - 1.01e-6) <= eta < exact


def test_a_solver_that_does_not_get_there_releases_nothing():
    X, y, _ = people(n=30)
    with pytest.raises(RuntimeError, match="huber_ridge must reach a gradient of norm"):
        huber_ridge(X, y, 1e-4, threshold=0.05, gradient_norm=1e-300)

    class Hurried(PDPRidge):
        def gradient_norm(self, budgets, d):
            return 1e-300

    model = Hurried(1e-4, loss="huber", huber_threshold=0.05)
    with pytest.raises(RuntimeError, match="Nothing may be released"):
        model.fit(X, y)
    assert not hasattr(model, "coef_")


# ---------------------------------------------------------------- a budget with a delta


FLAT = 1e4  # d / lam = 3e-4: one flipped label among null records realizes the whole constant
DELTA = 0.02


def flipped_label(model, epsilon, person):
    """Budget-shares of the worst neighbors at a large penalty: null others, one label flips."""
    X, y = np.zeros((len(epsilon), 3)), np.zeros(len(epsilon))
    X[person], y[person] = 1.0, 1.0
    return [model.output_law(X, sign * y, epsilon=epsilon) for sign in (1, -1)]


def realized_loss(model, epsilon, person):
    law, other = flipped_label(model, epsilon, person)
    assert law.eta == other.eta
    return law.eta * np.linalg.norm(law.center - other.center)


def shares_of_delta(model, epsilon, delta=DELTA):
    """What each person loses at their own epsilon, by the exact profile, over delta."""
    losses = [realized_loss(model, epsilon, person) for person in range(len(epsilon))]
    return l2_laplace_profile(epsilon, 3, losses) / delta


@pytest.mark.parametrize("loss", ["square", "huber"])
def test_no_delta_is_the_pure_mechanism_to_the_last_bit(loss):
    X, y, epsilon = people()
    one = PDPRidge(2.0, loss=loss, random_state=1).fit(X, y, epsilon=epsilon)
    two = PDPRidge(2.0, loss=loss, random_state=1, delta=0).fit(X, y, epsilon=epsilon)
    assert_array_equal(one.coef_, two.coef_)
    weights = pdp_weights(epsilon)
    if loss == "square":
        law = one.output_law(X, y, epsilon=epsilon)
        assert_array_equal(law.center, weighted_ridge(X, y, 2.0, weights))
        assert law.eta == epsilon.sum() / ridge_constant(2.0, 3)
    assert one.guarantee_ == two.guarantee_ == one.pure_guarantee_
    assert_array_equal(one.guarantee_.epsilon, epsilon)


def test_one_dimension_by_hand():
    # 1 - exp((e - e0) / 2) = delta, so e0 = e - 2 log(1 - delta)
    X, y, epsilon = people(d=1)
    law = PDPRidge(2.0, delta=0.1).output_law(X, y, epsilon=epsilon)
    losses = epsilon - 2 * np.log(0.9)
    assert_allclose(law.eta, losses.sum() / ridge_constant(2.0, 1), rtol=1e-12)
    assert_allclose(law.center, weighted_ridge(X, y, 2.0, losses / losses.sum()), rtol=1e-12)


def test_weights_and_rate_come_from_the_profile():
    X, y, epsilon = people()
    for fit_intercept, d in [(False, 3), (True, 4)]:
        model = PDPRidge(2.0, delta=1e-6, fit_intercept=fit_intercept, random_state=4)
        losses = l2_laplace_eps0(epsilon, 1e-6, d)
        law = model.output_law(X, y, epsilon=epsilon)
        assert_allclose(law.eta, losses.sum() / ridge_constant(2.0, d), rtol=1e-14)
        same = PDPRidge(2.0, fit_intercept=fit_intercept).output_law(X, y, epsilon=losses)
        assert_array_equal(law.center, same.center)
        fitted = model.fit(X, y, epsilon=epsilon)
        assert_array_equal(fitted.pure_guarantee_.epsilon, losses)
        assert fitted.guarantee_ == ApproximateDP(epsilon, 1e-6, neighbors="replace-one")
        assert np.all(losses > epsilon)
        model.set_params(delta=0.0).fit(X, y, epsilon=epsilon)
        assert model.guarantee_ == model.pure_guarantee_ == PureDP(epsilon, neighbors="replace-one")


@pytest.mark.parametrize(
    "model", [PDPRidge(FLAT, delta=DELTA, loss=h) for h in ("square", "huber")]
)
def test_both_promises_are_kept_and_spent(model):
    epsilon = np.array([0.05, 0.3, 0.3, 1.0, 2.0])
    shares = shares_of_delta(model, epsilon)
    # the flip realizes 1 / (1 + w d / lam) of the constant, and K - 1 < kappa / 4 of it is slack
    assert np.all(shares <= 1 + 1e-9)
    assert np.all(shares >= 0.99)
    losses = l2_laplace_eps0(epsilon, DELTA, 3)
    realized = np.array([realized_loss(model, epsilon, person) for person in range(5)])
    assert np.all(realized <= losses * (1 + 1e-9))
    assert np.all(realized >= 0.999 * losses)


def test_the_hockey_stick_by_simulation_agrees():
    """Another road than the profile: log-densities at 200,000 draws, 5 standard errors."""
    epsilon = np.array([0.05, 0.3, 0.3, 1.0, 2.0])
    for person in (0, 3):
        law, other = flipped_label(PDPRidge(FLAT, delta=DELTA), epsilon, person)
        draws = law.sample(200_000, rng=np.random.default_rng(SEED))
        loss = law.logpdf(draws) - other.logpdf(draws)
        gain = np.maximum(0, -np.expm1(epsilon[person] - loss))
        error = gain.std() / np.sqrt(len(gain))
        assert 5 * error < 0.1 * DELTA
        assert abs(gain.mean() - DELTA) <= 5 * error + 0.01 * DELTA


class BudgetsAsWeights(PDPRidge):
    """The rate of the larger losses, the weights of the budgets."""

    def law(self, people):
        law, weights = super().law(people), pdp_weights(people.budgets)
        return L2Laplace(weighted_ridge(people.X, people.y, self.lam, weights), law.eta)


class GaussianMu(PDPRidge):
    def privacy_parameters(self, budgets, d):
        return gaussian_mu(budgets, self.delta)


class GaussianLimit(PDPRidge):
    def privacy_parameters(self, budgets, d):
        return np.sqrt(d) * gaussian_mu(budgets, self.delta)


class OtherDimension(PDPRidge):
    extra = 1

    def privacy_parameters(self, budgets, d):
        return l2_laplace_eps0(budgets, self.delta, d + self.extra)


class ForgetsTheConstantFeature(OtherDimension):
    extra = -1


class NoDelta(PDPRidge):
    def privacy_parameters(self, budgets, d):
        return budgets


class Shared(PDPRidge):
    """One delta for all together in place of one each."""

    def privacy_parameters(self, budgets, d):
        return l2_laplace_eps0(budgets, self.delta / len(budgets), d)


@pytest.mark.parametrize(
    ("bug", "spends"),
    [
        (BudgetsAsWeights, "more"),
        (OtherDimension, "more"),
        (GaussianMu, "less"),
        (GaussianLimit, "more"),  # of the smallest budgets; less of the largest
        (ForgetsTheConstantFeature, "less"),
        (NoDelta, "less"),
        (Shared, "less"),
    ],
)
def test_planted_calibrations_are_caught_on_one_side(bug, spends):
    shares = shares_of_delta(bug(FLAT, delta=DELTA), np.array([0.05, 0.3, 0.3, 1.0, 2.0]))
    if spends == "more":
        assert shares.max() > 1.01
    else:
        assert shares.max() <= 1 + 1e-9
        assert shares.min() < 0.95


def test_the_solver_is_charged_with_a_delta_too():
    X, y, epsilon = people(n=60, d=5)
    model = PDPRidge(0.01, loss="huber", huber_threshold=0.1, delta=1e-5)
    law = model.output_law(X, y, epsilon=epsilon)
    losses = l2_laplace_eps0(epsilon, 1e-5, 5)
    w, constant = pdp_weights(losses), huber_constant(0.01, 5, 0.1)
    slope = 2 * 0.01 * law.center - 2 * X.T @ (w * np.clip(y - X @ law.center, -0.1, 0.1))
    spent = law.eta * (w * constant + np.linalg.norm(slope) / 0.01)
    assert np.all(spent <= losses * (1 + 1e-12))


# ---------------------------------------------------------------- what one person can show


def as_lazy_as_allowed(X, y, lam, weights, *, gradient_norm, **settings):
    """A minimizer off by all that is charged: the gradient as computed, and its rounding."""
    solution = huber_ridge(X, y, lam, weights, gradient_norm=gradient_norm, **settings)
    away = solution.theta / np.linalg.norm(solution.theta)
    return HuberSolution(solution.theta + away * 2 * gradient_norm / (2 * lam), gradient_norm)


SETTINGS = [  # and what a flipped label may leave: curvature, or residuals below the threshold
    ({"huber_threshold": 0.05}, 1e-5),
    ({"huber_threshold": 0.9}, 1e-5),
    ({"huber_threshold": 1.7}, 0.5),
    ({"huber_threshold": 0.3, "row_norm": 0.8, "clip": True}, 1e-5),
    ({"huber_threshold": 0.3, "row_norm": 1.2, "clip": True, "fit_intercept": True}, 1e-3),
    ({"huber_threshold": 0.3, "delta": DELTA}, 1e-5),
    ({"loss": "square", "row_norm": 0.8, "clip": True}, 1e-3),
    ({"loss": "square", "fit_intercept": True, "delta": DELTA}, 1e-3),
]


@pytest.mark.parametrize(("settings", "left"), SETTINGS, ids=str)
def test_a_fit_keeps_every_promise_whatever_the_settings(settings, left, monkeypatch):
    """One label flips among silent people, as in `flipped_label`, with the laziest solver."""
    monkeypatch.setattr("pdpbook.personalized.ridge.huber_ridge", as_lazy_as_allowed)
    model = PDPRidge(FLAT, **({"loss": "huber", "random_state": SEED} | settings))
    epsilon = np.array([0.05, 0.3, 0.3, 1.0, 2.0])
    for person, budget in enumerate(epsilon):
        X, y = np.zeros((5, 3)), np.zeros(5)
        X[person], y[person] = 9.0 if model.clip else 1.0, 1.0
        laws = [model.output_law(X, sign * y, epsilon=epsilon) for sign in (1, -1)]
        model.fit(X, y, epsilon=epsilon)
        drawn = laws[0].sample(rng=np.random.default_rng(SEED))
        assert_array_equal([*model.coef_, model.intercept_], [*drawn, 0.0][:4])
        centers = np.array([law.center for law in laws])
        lost = np.ptp([law.logpdf(centers[0]) for law in laws])
        pure = model.pure_guarantee_.epsilon[person]
        assert pure * (1 - left) <= lost <= pure * (1 + 1e-9)
        assert model.guarantee_.epsilon[person] == budget
        if model.delta > 0:
            shown = l2_laplace_profile(budget, centers.shape[1], lost)
            assert 0.98 * DELTA <= shown <= DELTA * (1 + 1e-6)
        else:
            assert pure == budget


@pytest.mark.parametrize("y_bounds", [(-1.0, 1.0), (3.0, 11.0)])
def test_the_mean_keeps_every_budget_and_spends_it(y_bounds):
    """By fits with one seed, which differ by the exact shift, and draws with the noise they had."""
    epsilon, (low, high) = np.array([0.05, 0.3, 1.0, 2.0]), y_bounds
    model = PersonalizedMean(y_bounds=y_bounds, clip=True, random_state=SEED)
    for person, budget in enumerate(epsilon):
        y = np.full(4, (low + high) / 2)
        means = []
        for end in (-1e3, 1e3):
            y[person] = end
            means.append(model.fit(y[:, None], y, epsilon=epsilon).mean_)
            law = model.output_law(y[:, None], y, epsilon=epsilon)
            drawn = law.sample(rng=np.random.default_rng(SEED))[0]
            assert_allclose(means[-1], (low + high) / 2 + (high - low) / 2 * drawn, rtol=1e-14)
        falls = law.logpdf(law.center) - law.logpdf(law.center + 1)  # of the density, for a unit
        assert_allclose(falls * (means[1] - means[0]) / ((high - low) / 2), budget, rtol=1e-9)
        assert model.guarantee_.epsilon[person] == budget


# ---------------------------------------------------------------- bounds and row norms


def test_data_outside_raise_or_are_clipped():
    X, y, _ = people()
    X[3, 1], y[2] = 7.0, -2.0
    with pytest.raises(ValueError, match=r"X must lie in \[0, 1\]; got X\[3, 1\] = 7"):
        PDPRidge().fit(X, np.clip(y, -1, 1))
    with pytest.raises(ValueError, match=r"y must lie in \[-1, 1\]; got y\[2\] = -2"):
        PDPRidge().fit(np.clip(X, 0, 1), y)
    with pytest.raises(ValueError, match=r"y must lie in \[-1, 1\]; got y\[2\] = -2"):
        PersonalizedMean().fit(X, y)
    clipped = PDPRidge(clip=True).output_law(X, y)
    inside = PDPRidge().output_law(np.clip(X, 0, 1), np.clip(y, -1, 1))
    assert_array_equal(clipped.center, inside.center)


@given(st.floats(-1e300, 1e300), st.floats(-1e300, 1e300), st.booleans())
def test_one_huge_record_moves_a_clipped_fit_no_further_than_promised(x, label, huber):
    X, y, epsilon = people()
    model = PDPRidge(2.0, loss="huber" if huber else "square", clip=True, fit_intercept=True)
    laws = []
    for record, value in [(X[0, 0], y[0]), (x, label)]:
        X[0, 0], y[0] = record, value
        laws.append(model.output_law(X, y, epsilon=epsilon))
    moved = np.linalg.norm(laws[1].center - laws[0].center)
    assert laws[0].eta * moved <= epsilon[0] * (1 + 1e-9)


def test_rows_longer_than_row_norm_raise_or_are_scaled():
    X, y, _ = people()
    X[:] = X / 4
    X[5] = [1, 1, 0]
    with pytest.raises(ValueError, match=r"norm at most row_norm = 1.2 .* got X\[5\] of norm 1.41"):
        PDPRidge(row_norm=1.2).fit(X, y)
    scaled = X.copy()
    scaled[5] *= 1.2 / np.sqrt(2)
    law = PDPRidge(row_norm=1.2, clip=True).output_law(X, y)
    assert_allclose(law.center, PDPRidge(row_norm=1.2).output_law(scaled, y).center, rtol=1e-12)
    assert PDPRidge(row_norm=np.sqrt(2)).output_law(X, y).eta > PDPRidge().output_law(X, y).eta
    with pytest.raises(ValueError, match=r"row_norm = 1\.4"):  # the constant feature counts
        PDPRidge(row_norm=1.4143, fit_intercept=True).fit(X, y)


def test_the_smallest_data_are_served():
    for X, y in [([[0.5]] * 2, [0.5, 0.5]), ([[0.5, 1.0]] * 2, [-1, 1]), ([[0], [1]], [0, 1])]:
        for model in (PDPRidge(), PDPRidge(loss="huber", fit_intercept=True), PersonalizedMean()):
            assert np.isfinite(model.fit(X, y).predict(X)).all()


# ---------------------------------------------------------------- bad input


BAD_BUDGETS = [
    (np.nan, ValueError, "epsilon must be finite and above 0; got nan"),
    (np.inf, ValueError, "epsilon must be finite and above 0; got inf"),
    (0, ValueError, "epsilon must be finite and above 0; got 0"),
    (-1.0, ValueError, "epsilon must be finite and above 0; got -1"),
    (True, TypeError, "epsilon must be a number"),
    ("1", TypeError, "epsilon must be a number"),
    ([1.0, True, 1, 1, 1, 1, 1, 1], TypeError, "epsilon must be a number"),
    ([1, 1, np.nan, 1, 1, 1, 1, -1], ValueError, r"got epsilon\[2\] = nan \(2 of 8 are wrong\)"),
    ([0.0] * 8, ValueError, "epsilon must be above 0 for somebody; got 0 for all 8"),
    ([1.0] * 7, ValueError, r"epsilon must be a number or have shape \(8,\).* got shape \(7,\)"),
    (np.ones((8, 1)), ValueError, r"epsilon must be a number or a one-dimensional array"),
    ([], ValueError, r"epsilon must be a number or a one-dimensional array"),
]


@pytest.mark.parametrize(("epsilon", "error", "match"), BAD_BUDGETS)
@pytest.mark.parametrize("model", [PDPRidge, PersonalizedMean])
def test_bad_budgets_are_refused(model, epsilon, error, match):
    X, y, _ = people()
    for call in (
        lambda: model().fit(X, y, epsilon=epsilon),
        lambda: model(epsilon=epsilon).fit(X, y),
        lambda: model().output_law(X, y, epsilon=epsilon),
    ):
        with pytest.raises(error, match=match):
            call()


@given(
    st.lists(st.floats(0.1, 1), min_size=2, max_size=9),
    st.sampled_from([np.nan, np.inf, -np.inf, -1e-300, -3.0]),
    st.data(),
)
def test_one_bad_budget_anywhere_is_named(epsilon, bad, data):
    at = data.draw(st.integers(0, len(epsilon) - 1))
    epsilon[at] = bad
    with pytest.raises(
        ValueError, match=rf"epsilon must be finite and at least 0; got epsilon\[{at}\]"
    ):
        pdp_weights(epsilon)


def test_weights_want_one_budget_a_person():
    with pytest.raises(ValueError, match=r"epsilon must have shape \(n,\)"):
        pdp_weights(1.0)


class Untouchable:
    """Data that must not be looked at."""

    def __array__(self, *args, **kwargs):
        raise AssertionError("the data were touched")

    def __len__(self):
        raise AssertionError("the data were touched")


BAD_SETTINGS = [
    ({"epsilon": np.nan}, ValueError, "epsilon must be finite"),
    ({"lam": 0.0}, ValueError, "lam must be finite and above 0; got 0"),
    ({"lam": -1.0}, ValueError, "lam must be finite and above 0; got -1"),
    ({"lam": np.nan}, ValueError, "lam must be finite and above 0; got nan"),
    ({"lam": "1"}, TypeError, "lam must be a number"),
    ({"lam": True}, TypeError, "lam must be a number"),
    ({"lam": [1.0, 2.0]}, ValueError, "lam must be a single number"),
    ({"loss": "absolute"}, ValueError, "loss must be one of 'square', 'huber'; got 'absolute'"),
    ({"proof": "paper"}, ValueError, "proof must be one of 'published', .*; got 'paper'"),
    ({"bound": 0.0}, ValueError, "bound must be finite and above 0; got 0"),
    ({"bound": np.inf}, ValueError, "bound must be finite and above 0; got inf"),
    ({"bound": 1.0, "loss": "huber"}, ValueError, "bound must be None with loss='huber'"),
    ({"row_norm": 0.0}, ValueError, "row_norm must be finite and above 0; got 0"),
    ({"row_norm": np.nan}, ValueError, "row_norm must be finite and above 0; got nan"),
    ({"huber_threshold": 0.0}, ValueError, "huber_threshold must be finite and above 0; got 0"),
    (
        {"huber_threshold": -1, "loss": "huber"},
        ValueError,
        "huber_threshold must be finite and above 0",
    ),
    ({"clip": "yes"}, TypeError, "clip must be True or False; got 'yes'"),
    ({"fit_intercept": 1}, TypeError, "fit_intercept must be True or False; got 1"),
    ({"y_bounds": (1, -1)}, ValueError, r"y_bounds must have low < high; got \(1, -1\)"),
    ({"y_bounds": (0, np.inf)}, ValueError, r"y_bounds must be finite; got y_bounds\[1\] = inf"),
    ({"bounds": (1, 0)}, ValueError, r"bounds must have low < high; got \(1, 0\)"),
    ({"bounds": (0, np.inf)}, ValueError, r"bounds must be finite; got bounds\[1\] = inf"),
    ({"bounds": (0, 0)}, ValueError, r"bounds must have low < high; got \(0, 0\)"),
    ({"bounds": "unit"}, TypeError, "bounds must be a number or an array of numbers"),
    ({"random_state": True}, ValueError, "random_state must be None, .* got True"),
    ({"random_state": "0"}, ValueError, "random_state must be None, .* got '0'"),
    ({"random_state": -1}, ValueError, "random_state must be None, .* got -1"),
]


@pytest.mark.parametrize(("settings", "error", "match"), BAD_SETTINGS, ids=str)
def test_bad_settings_are_refused_before_data_are_touched(settings, error, match):
    with pytest.raises(error, match=match):
        PDPRidge(**settings).fit(Untouchable(), Untouchable())
    shared = {"epsilon", "clip", "y_bounds", "random_state"}
    if set(settings) <= shared:
        with pytest.raises(error, match=match):
            PersonalizedMean(**settings).fit(Untouchable(), Untouchable())


@pytest.mark.parametrize(
    ("delta", "error", "match"),
    [
        (1.0, ValueError, "delta must be at least 0 and below 1; got 1"),
        (-1e-9, ValueError, "delta must be at least 0 and below 1; got -1e-09"),
        (np.nan, ValueError, "delta must be at least 0 and below 1; got nan"),
        (np.inf, ValueError, "delta must be at least 0 and below 1; got inf"),
        ([0.1, 0.1], ValueError, "delta must be a single number"),
        (None, TypeError, "delta must be a number"),
        (True, TypeError, "delta must be a number"),
        ("1e-6", TypeError, "delta must be a number"),
    ],
)
def test_bad_deltas_are_refused_before_data_are_touched(delta, error, match):
    with pytest.raises(error, match=match):
        PDPRidge(delta=delta).fit(Untouchable(), Untouchable())


@pytest.mark.parametrize(
    ("bounds", "match"),
    [
        ([(0, 1), (0, 1)], r"bounds must be a pair \(low, high\), or shape \(3, 2\)"),
        ([(0, 1), (1, 0), (0, 1)], r"bounds must have low < high; got \(1, 0\) in column 1"),
        ((-1e308, 1e308), r"bounds must have a finite width"),
    ],
)
def test_bounds_that_do_not_fit_the_columns_are_refused(bounds, match):
    X, y, _ = people()
    with pytest.raises(ValueError, match=match):
        PDPRidge(bounds=bounds).fit(X, y)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda X, y: (X * [1, np.nan, 1], y), r"X must be finite; got X\[0, 1\] = nan \(8 of 24"),
        (lambda X, y: (X, np.append(y[:7], np.inf)), r"y must be finite; got y\[7\] = inf"),
    ],
)
def test_what_is_not_finite_is_refused_or_clipped(spoil, match):
    X, y, epsilon = people()
    spoiled = spoil(X, y)
    with pytest.raises(ValueError, match=match):
        PDPRidge().fit(*spoiled, epsilon=epsilon)
    mended = (np.nan_to_num(spoiled[0], nan=0.5), np.minimum(spoiled[1], 1.0))
    clipped, known = (
        PDPRidge(clip=True, random_state=1).fit(*data, epsilon=epsilon)
        for data in (spoiled, mended)
    )
    assert_array_equal(clipped.coef_, known.coef_)


@pytest.mark.parametrize(
    ("spoil", "match"),
    [
        (lambda X, y: (X[:0], y[:0]), r"0 sample"),
        (lambda X, y: (X[:, :0], y), r"0 feature"),
        (lambda X, y: (X, y[:5]), r"inconsistent numbers of samples: \[8, 5\]"),
        (lambda X, y: (X[0], y), r"Expected 2D array"),
        (lambda X, y: (X, None), r"requires y to be passed"),
    ],
)
@pytest.mark.parametrize("clip", [False, True])
def test_bad_data_are_refused_clipped_or_not(clip, spoil, match):
    X, y, epsilon = people()
    with pytest.raises(ValueError, match=match):
        PDPRidge(clip=clip).fit(*spoil(X, y), epsilon=epsilon)


def test_arrays_tables_and_lists_of_the_same_people_give_the_same_fit():
    X, y, epsilon = people()
    model = PDPRidge(random_state=0)
    table = pd.DataFrame(X, columns=["a", "b", "c"])
    first = model.fit(table, pd.Series(y), epsilon=epsilon).coef_
    assert model.feature_names_in_.tolist() == ["a", "b", "c"]
    assert_array_equal(model.fit(X, y, epsilon=epsilon).coef_, first)
    assert not hasattr(model, "feature_names_in_")
    assert model.n_features_in_ == 3
    for other in (X.tolist(), np.asfortranarray(X), X.astype(">f8")):
        assert_allclose(model.fit(other, y.tolist(), epsilon=epsilon).coef_, first, rtol=1e-13)
    with pytest.raises(TypeError, match="y must be a number or an array of numbers"):
        PersonalizedMean().fit(X, y > 0)


@pytest.mark.parametrize("model", [PDPRidge, PersonalizedMean])
def test_a_rate_beyond_floats_is_refused(model):
    with pytest.raises(ValueError, match=r"^epsilon must be at most 1e\+100; got 1e\+308"):
        model(epsilon=1e308).fit(np.ones((3, 2)), np.zeros(3))


def test_the_mean_refuses_bad_labels():
    for y, match in [
        ([0.0, np.nan], r"y must be finite; got y\[1\] = nan"),
        ([], "X must have at least 2 rows; got 0 samples"),
    ]:
        with pytest.raises(ValueError, match=match):
            PersonalizedMean().fit(np.zeros((len(y), 1)), y)
    model = PersonalizedMean(clip=True, y_bounds=(0, 4), random_state=1)
    clipped, known = (model.fit(np.zeros((2, 1)), [4.0, other]).mean_ for other in (np.nan, 2.0))
    assert clipped == known


def flat(n, d):
    """Tables in which a small penalty has much, some and nothing to do, and one in between."""
    rng = np.random.default_rng(11)
    spread = rng.random((n, d))
    nearly = np.clip(np.repeat(spread[:, :1], d, axis=1) + 1e-9 * spread, 0, 1)
    return [spread, nearly, np.ones((n, d)), np.zeros((n, d))]


@pytest.mark.parametrize("row_norm", [None, 0.5])
@pytest.mark.parametrize(("n", "d"), [(1, 1), (2, 3), (60, 4)])
def test_a_penalty_that_rounding_may_lose_is_refused_whatever_the_data_are(n, d, row_norm):
    """An error that came with some tables and not with others would tell about them."""
    least = (6 * (n + d) * np.finfo(float).eps * (row_norm or np.sqrt(d))) ** 2
    y, epsilon = np.linspace(-1, 1, n), np.geomspace(1, 1e-9, n)
    for X in flat(n, d):
        at = {"row_norm": row_norm, "clip": True, "random_state": 0}
        kept = PDPRidge(1.01 * least, **at)
        lost = PDPRidge(0.99 * least, **at)
        assert np.isfinite(kept.output_law(X, y, epsilon=epsilon).center).all()
        said = rf"^lam must be above .* with {n} people, {d} columns .* got {float(lost.lam)!r}"
        for refused in (lambda lost=lost, X=X: lost.output_law(X, y, epsilon=epsilon),):
            with pytest.raises(ValueError, match=said):
                refused()


def test_without_that_rule_the_error_depends_on_the_data(monkeypatch):
    monkeypatch.setattr("pdpbook.check.refuse_lost_penalty", lambda *given: None)
    spread = flat(60, 4)[0]
    y = np.linspace(-1, 1, 60)
    PDPRidge(1e-31).output_law(spread, y)
    spread[:, 0] = 0.0
    with pytest.raises(ValueError, match="the minimizer is not unique"):
        PDPRidge(1e-31).output_law(spread, y)


def test_whoever_takes_no_part_is_promised_0_with_a_delta_too():
    X, y, epsilon = np.full((3, 1), 0.5), np.zeros(3), np.array([0.0, 0.5, 1.0])
    model = PDPRidge(1.0, delta=0.01, random_state=0).fit(X, y, epsilon=epsilon)
    larger = l2_laplace_eps0(epsilon[1:], 0.01, 1)
    assert_array_equal(model.pure_guarantee_.epsilon, [0.0, *larger])


@pytest.mark.parametrize("share", [0.0, 0.25])
def test_a_budget_that_the_solver_would_use_up_is_dropped(share):
    """The rate is the least eps / (w C + g / lam): rounding of 1e-13 in g uses up a tiny budget."""
    model = PDPRidge(0.5, loss="huber", label_mean_share=share)
    epsilon = 100 * np.array([1e-15, 1e-9, 0.1, 1.0, 1.0, 2.0])
    rates = [model.noise_rate(epsilon[k:], 2) for k in range(len(epsilon))]
    assert rates[0] < 0.1 * rates[1]
    assert rates[1] > 0.999 * max(rates)  # one is costly, and no other
    assert_array_equal(model.drop_costly_budgets(epsilon, 2), [0.0, *epsilon[1:]])
