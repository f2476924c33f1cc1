"""Intervals around a release, against laws in closed form, exact identities and simulations."""

import copy

import numpy as np
import pytest
from mechanisms import SMALL
from numpy.testing import assert_allclose
from scipy import integrate, stats
from sklearn.exceptions import NotFittedError

from pdpbook import inference
from pdpbook.gwa import GWARegression
from pdpbook.inference import intervals, sum_quantile
from pdpbook.noise import PublicNoise
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.pac import PACRegression
from pdpbook.personalized import PDPRidge, PersonalizedMean, SampledRidge
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import SampleLimitedMean, WeightedMean, WeightedOutputPerturbation

LEVELS = (0.01, 0.5, 0.95, 0.999)
BOUNDS, Y_BOUNDS = [(-1.0, 3.0), (10.0, 12.0)], (-5.0, 15.0)
UNITS = dict(bounds=BOUNDS, y_bounds=Y_BOUNDS)
SUMS = [
    dict(noise=noise, centered=centered, fit_intercept=line)
    for noise in ("laplace", "gaussian")
    for centered in (False, True)
    for line in (False, True)
]


# --- the quantile ---------------------------------------------------------------------------------


@pytest.mark.parametrize("level", LEVELS)
def test_quantiles_in_closed_form(level):
    assert_allclose(sum_quantile(level, [2.0]), -2 * np.log1p(-level), rtol=1e-9)
    assert_allclose(sum_quantile(level, [], sd=3.0), 3 * stats.norm.ppf((1 + level) / 2))
    assert_allclose(sum_quantile(level, [0.0, 0.0], sd=3.0), sum_quantile(level, [], sd=3.0))
    q = sum_quantile(level, [1.0, -1.0])  # P(|L + L'| > q) = (1 + q / 2) exp(-q)
    assert abs(-np.expm1(-q + np.log1p(q / 2)) - level) < 1e-9  # as the docstring says
    near = sum_quantile(level, [2.0], sd=1e-9)  # the sum in place of the closed form
    assert abs(-np.expm1(-near / 2) - level) < 1e-9


def of_three(q):
    """P(|Z_1| <= q) for density exp(-|z|) in R^3: R of Gamma(3), and a cosine that is uniform."""
    return stats.gamma(3).cdf(q) + q / 2 * stats.gamma(2).sf(q)


def of_plane(q):
    """The same in R^2: P(|cos| <= q / R) is an arc sine."""
    share = integrate.quad(
        lambda r: 2 / np.pi * np.arcsin(min(1.0, q / r)) * r * np.exp(-r), q, 80, limit=200
    )[0]
    return stats.gamma(2).cdf(q) + share


@pytest.mark.parametrize("level", LEVELS)
@pytest.mark.parametrize(("exact", "d"), [(of_plane, 2), (of_three, 3)])
def test_one_entry_of_round_noise(exact, d, level):
    assert abs(exact(sum_quantile(level, [1.0], power=(d + 1) / 2)) - level) < 1e-9


@pytest.mark.parametrize("level", LEVELS)
def test_laplace_plus_normal(level):
    q = sum_quantile(level, [0.7], sd=0.4)

    def density(z):
        return stats.norm.pdf(z, scale=0.4) * np.diff(stats.laplace.cdf([-q - z, q - z], 0, 0.7))[0]

    total = integrate.quad(density, -4, 4, points=[-q, q], epsabs=1e-12, limit=200)[0]
    assert abs(total - level) < 2e-9  # 1e-9 each, of the sum and of the integral


@pytest.mark.parametrize("power", [1.0, 2.0, (3 + 2) / 2, 3 / 2])
def test_planted_powers_are_caught(power):
    """Laplace on each entry, d + 1, (d + 2) / 2 and d / 2 in place of (d + 1) / 2, for d = 3."""
    error = abs(of_three(sum_quantile(0.95, [1.0], power=power)) - 0.95)
    assert error < 1e-9 if power == 2 else error > 0.005


def test_many_scales_approach_a_normal_law():
    scales = np.full(2000, 1 / np.sqrt(4000))  # variance 1, excess kurtosis 3 / 2000
    assert_allclose(sum_quantile(0.95, scales), stats.norm.ppf(0.975), rtol=3 / 2000)


# --- noisy sums: exact identities, with what only a test may see ----------------------------------


def people(n, rng, sd=1.0):
    low, high = np.array(BOUNDS).T
    X = low + rng.beta(2, 2, (n, 2)) * (high - low)
    y = 2 + X @ [1.5, -0.5] + np.clip(rng.normal(0, sd, n), -3 * sd, 3 * sd)
    return X, np.clip(y, *Y_BOUNDS)


def noisy_sums(settings, seed=0, n=3000, budgets=None):
    rng = np.random.default_rng(seed)
    X, y = people(n, rng)
    if budgets is None:
        budgets = rng.choice([0.0, 0.2, 1.0, 4.0], n)
    delta = 1e-6 if settings["noise"] == "gaussian" else 0.0
    model = SufficientStatisticsRidge(0.01, delta=delta, random_state=rng, **UNITS, **settings)
    return model.fit(X, y, epsilon=budgets), X, y, budgets


@pytest.mark.parametrize("settings", SUMS, ids=str)
def test_scales_are_those_of_the_law(settings):
    model, X, y, budgets = noisy_sums(settings)
    law = model.output_law(X, y, epsilon=budgets)
    found = inference._scales_of_sums(model, len(model.gram_))
    assert_allclose(found, law.scale, rtol=1e-14)


def noise_alone_is_exact(model, X, y, budgets, equation=inference._noise_in_equation):
    """Whether S (theta - least squares) = m - N (least squares), to rounding."""
    law = model.output_law(X, y, epsilon=budgets)
    d = len(model.gram_)
    exact = inference.matrix_and_moment(model.insert_public_sums(law.center, d), d, model.centered)
    least_squares = np.linalg.solve(*exact)
    theta = np.linalg.solve(model.gram_, model.moment_)
    left = model.gram_ @ (theta - least_squares)
    right = equation(model, least_squares) @ (model.release_ - law.center)
    return bool(np.allclose(left, right, rtol=1e-9, atol=1e-12))


@pytest.mark.parametrize("settings", SUMS, ids=str)
def test_noise_in_the_equation_is_exact(settings):
    assert noise_alone_is_exact(*noisy_sums(settings))


def without_matrix(model, theta):
    return inference._noise_in_equation(model, 0 * theta)


def wrong_sign(model, theta):
    return inference._noise_in_equation(model, -theta)


@pytest.mark.parametrize("bug", [without_matrix, wrong_sign])
@pytest.mark.parametrize("settings", SUMS[:4], ids=str)
def test_planted_equations_are_caught(bug, settings):
    assert not noise_alone_is_exact(*noisy_sums(settings), equation=bug)


def test_without_a_penalty_and_in_your_units():
    model, X, y, budgets = noisy_sums(SUMS[3], budgets=np.full(3000, 1e6))
    found = intervals(model, residual_sd=1.0)
    w = budgets / budgets.sum()
    Z = np.column_stack([X, np.ones(len(X))])
    best = np.linalg.solve((Z.T * w) @ Z, Z.T @ (w * y))
    assert_allclose(found.estimate, best, rtol=1e-3)
    classical = np.sqrt(np.diag(np.linalg.inv(Z.T @ Z))) * stats.norm.ppf(0.975)
    assert_allclose((found.high - found.low) / 2, classical, rtol=1e-3)  # no noise to speak of
    assert found.names == ("coefficient 0", "coefficient 1", "intercept")


# --- coverage -------------------------------------------------------------------------------------

LEVEL, REPEATS = 0.8, 600
#: five standard errors of a share: one alarm in a million for each number
ALARM = 5 * np.sqrt(LEVEL * (1 - LEVEL) / REPEATS)
TRUTH = np.array([1.5, -0.5, 2.0])


def coverage(settings, change=lambda model: model, residual_sd=1.0, sd=1.0):
    """Share of intervals that cover the truth, over people, labels, budgets and noise."""
    covered = []
    rng = np.random.default_rng(5)
    for _ in range(REPEATS):
        X, y = people(1500, rng, sd)
        budgets = rng.choice([1.0, 4.0], 1500, p=[0.9, 0.1])
        delta = 1e-6 if settings["noise"] == "gaussian" else 0.0
        model = SufficientStatisticsRidge(
            0.01, delta=delta, random_state=rng, fit_intercept=True, **UNITS, **settings
        )
        found = intervals(
            change(model.fit(X, y, epsilon=budgets)), residual_sd=residual_sd, level=LEVEL
        )
        covered.append((found.low <= TRUTH) & (found.high >= TRUTH))
    return np.mean(covered, axis=0)


def near_level(share):
    return bool((np.abs(share - LEVEL) < ALARM).all())


@pytest.mark.parametrize("noise", ["laplace", "gaussian"])
def test_sums_cover_the_truth(noise):
    assert near_level(coverage(dict(noise=noise, centered=True)))


def noise_ignored(model):
    model = copy.copy(model)
    model.noise_ = PublicNoise(scale=1e-9 * model.noise_.scale)
    return model


def noise_halved(model):
    model = copy.copy(model)
    model.noise_ = PublicNoise(scale=model.noise_.scale / 2)
    return model


def noise_doubled(model):
    model = copy.copy(model)
    model.noise_ = PublicNoise(scale=model.noise_.scale * 2)
    return model


@pytest.mark.parametrize("bug", [noise_ignored, noise_halved, noise_doubled])
def test_planted_noise_is_caught(bug):
    assert not near_level(coverage(dict(noise="laplace", centered=True), bug))


def mean_coverage(change=lambda model: model, residual_sd=2.0):
    """Share of intervals of a weighted mean that cover the mean of all, over people and noise."""
    rng = np.random.default_rng(6)
    covered = []
    for _ in range(REPEATS):
        y = rng.normal(3.0, 2.0, 300).clip(-5, 11)  # four deviations both ways: the mean is 3
        budgets = rng.choice([0.04, 2.0], 300, p=[0.9, 0.1])
        model = PersonalizedMean(y_bounds=(-5.0, 11.0), random_state=rng)
        model.fit(np.zeros((300, 1)), y, epsilon=budgets)
        found = intervals(change(model), residual_sd=residual_sd, level=LEVEL)
        covered.append(found.low[0] <= 3 <= found.high[0])
    return np.mean(covered)


def equal_weights(model):
    model = copy.copy(model)
    model.guarantee_ = type(model.guarantee_)(np.ones(300), neighbors="replace-one")
    return model


def test_a_mean_covers_the_truth():
    assert near_level(mean_coverage())


@pytest.mark.parametrize("bug", [noise_ignored, equal_weights])
def test_planted_means_are_caught(bug):
    assert not near_level(mean_coverage(bug))


def test_a_mean_without_its_sample_does_not_cover_the_truth():
    assert not near_level(mean_coverage(residual_sd=None))


# --- noise alone: the law itself ------------------------------------------------------------------

ROUND = [
    PDPRidge(0.5, fit_intercept=True, **UNITS),
    PDPRidge(0.5, loss="huber", delta=1e-6, **UNITS),
    WeightedOutputPerturbation(radius=3.0, lam=0.1, fit_intercept=True, **UNITS),
    PersonalizedMean(y_bounds=Y_BOUNDS),
    WeightedMean(y_bounds=Y_BOUNDS),
    SampleLimitedMean(y_bounds=Y_BOUNDS),
    GWARegression(delta=1e-6, prior=1.0, fit_intercept=True, y_bounds=Y_BOUNDS),
]


def drawn_in_units(model, X, y, draws):
    """Draws from the law of a release less its center, in the user's units."""
    law = model.output_law(X, y)
    rng = np.random.default_rng(2)
    noise = np.atleast_2d(law.sample(draws, rng=rng)) - law.center
    if isinstance(model, (WeightedMean, SampleLimitedMean)):
        return noise
    domain = model.domain(X.shape[1])
    if isinstance(model, PersonalizedMean):
        half = (domain.to_user_units(1.0) - domain.to_user_units(-1.0)) / 2
        return half * noise
    zero = domain.to_user_units(np.zeros(noise.shape[1]))
    moved = [domain.to_user_units(z) for z in noise]
    coef = np.array([c - zero[0] for c, _ in moved])
    intercept = np.array([[b - zero[1]] for _, b in moved])
    return np.hstack([coef, intercept]) if model.fit_intercept else coef


@pytest.mark.parametrize("model", ROUND[:-1], ids=str)
def test_noise_alone_has_the_reach_of_its_law(model):
    X, y = people(60, np.random.default_rng(3))
    found = intervals(model.set_params(random_state=1).fit(X, y))
    noise = drawn_in_units(model, X, y, 20_000)
    share = np.mean(np.abs(noise) <= (found.high - found.low) / 2, axis=0)
    # five standard errors of each: one alarm in a million
    assert (np.abs(share - 0.95) < 5 * np.sqrt(0.95 * 0.05 / 20_000)).all()
    assert_allclose((found.low + found.high) / 2, found.estimate)


@pytest.mark.parametrize("model", [ROUND[-1], PACRegression(draws=500, random_state=1)], ids=str)
def test_normal_noise_has_the_reach_of_its_covariance(model):
    X, y = people(60, np.random.default_rng(3))
    model.set_params(random_state=1).fit(X, y)
    found = intervals(model, level=0.9)
    covariance = getattr(model, "covariance_", model.noise_.covariance)
    expected = stats.norm.ppf(0.95) * np.sqrt(np.diag(covariance))
    assert_allclose((found.high - found.low) / 2, expected)
    assert len(found.names) == 3


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("model", SMALL, ids=str)
def test_every_mechanism_has_intervals_or_a_refusal(model):
    rng = np.random.default_rng(8)
    X = rng.random((60, 3))
    model.fit(X, X @ [0.5, -0.2, 0.1])
    kinds = {type(one) for one in ROUND} | {PACRegression, SampledRidge, SufficientStatisticsRidge}
    has_no_intervals = getattr(model, "noise", "") == "grid"
    has_no_intervals |= isinstance(model, GWARegression) and model.delta == 0
    if isinstance(model, SufficientStatisticsRidge):
        model.gram_ = np.eye(3)  # with sixty people it may be negative
    if type(model) in kinds and not has_no_intervals:
        assert (intervals(model).low < intervals(model).high).all()
    else:
        is_grid = getattr(model, "noise", "") == "grid"
        which = "a fit with noise='laplace' has" if is_grid else "SufficientStatisticsRidge has"
        with pytest.raises(TypeError, match=which):
            intervals(model)


@pytest.mark.parametrize("model", [PDPRidge(0.5), WeightedMean(), PACRegression(draws=500)])
def test_a_sample_needs_second_moments(model):
    X, y = people(60, np.random.default_rng(3))
    model.set_params(**{k: v for k, v in UNITS.items() if k in model.get_params()}).fit(X, y)
    with pytest.raises(TypeError, match=r"^model must be a mechanism that releases second moments"):
        intervals(model, residual_sd=1.0)


@pytest.mark.parametrize("model", [AdaSSP(clip=True), ObjectivePerturbation(0.5, clip=True)])
def test_no_public_law_no_interval(model):
    X, y = people(60, np.random.default_rng(3))
    with pytest.raises(TypeError, match=r"^model must be a mechanism whose noise"):
        intervals(model.fit(X, y))


def test_bad_input():
    with pytest.raises(NotFittedError):
        intervals(PDPRidge())
    model, *_ = noisy_sums(SUMS[2])
    for sd in (0.0, -1.0, np.nan, np.inf):
        with pytest.raises(ValueError, match=r"^residual_sd must"):
            intervals(model, residual_sd=sd)
    for level in (0.0, 1.0, 1 - 1e-12, np.nan):
        with pytest.raises(ValueError, match=r"^level must"):
            intervals(model, level=level)
    with pytest.raises(ValueError, match=r"^power must be at least 1"):
        sum_quantile(0.95, [1.0], power=0.5)
    model.noise = "grid"
    with pytest.raises(TypeError, match="whole steps"):
        intervals(model)


def test_a_matrix_that_is_not_positive_definite():
    model, *_ = noisy_sums(SUMS[0])
    model.gram_ = np.diag([1.0, -0.1])  # as noise makes it where people are few
    with pytest.raises(ValueError, match=r"^model must have released a positive definite matrix"):
        intervals(model)


def test_it_prints_a_table_and_what_it_covers():
    model, *_ = noisy_sums(SUMS[3])
    shown = str(intervals(model, residual_sd=1.0, level=0.9))
    assert shown.splitlines()[0].split() == ["estimate", "low", "high"]
    assert shown.splitlines()[3].startswith("intercept")
    assert "0.9 of such intervals cover the noise of the release and the error" in shown
    assert "noise of the release alone" in str(intervals(model))
