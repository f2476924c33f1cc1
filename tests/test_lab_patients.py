"""One crowd under every promise: exact moments against fits, ceilings, everybody's risk."""

from dataclasses import replace

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.special import ndtr

from lab.comparison import (
    ENTRIES,
    RISKS,
    Release,
    actual_success,
    compare_patients,
    exact,
    patients,
)
from lab.comparison.penalties import PATHS, by_penalty
from pdpbook.gradient import DPSGDRegression, GradientDescentRidge
from pdpbook.guarantees import half_budget
from pdpbook.gwa import GWARegression
from pdpbook.noise import gaussian_epsilon, gaussian_mu, l2_laplace_profile
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean, SampledRidge
from pdpbook.posterior import AdaOPS, OnePosteriorSample, PosteriorLaw
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import WeightedMean

CROWD = patients()
DELTA = 1e-6


def at(name, epsilon=3.0, draws=40, **options):
    table, releases = compare_patients(CROWD, [epsilon], [name], draws=draws, **options)
    return table.iloc[0], releases[name, epsilon]


# ---------------------------------------------------------------- the crowd


def test_the_patients_lie_in_every_domain():
    for X, y in (CROWD.cube, CROWD.ball):
        assert X.shape == (442, 5)
        assert np.abs(y).max() <= 1
    assert CROWD.cube[0].min() >= 0
    assert CROWD.cube[0].max() <= 1
    assert np.linalg.norm(CROWD.ball[0], axis=1).max() <= 1
    assert np.bincount(CROWD.users).sum() == 442
    assert (CROWD.groups.nunique() == [3, 2, 3]).all()


@pytest.mark.parametrize("domain", ["cube", "ball"])
def test_parameters_of_a_domain_predict_the_same_in_clinical_units(domain):
    X, _ = getattr(CROWD, domain)
    theta = np.random.default_rng(1).normal(size=5)
    A, offset = CROWD.map_from(domain)
    low, high = CROWD.y_bounds
    units = (X @ theta + 1) / 2 * (high - low) + low
    assert_allclose(CROWD.rows @ (A @ theta + offset), units, rtol=1e-9)


def test_errors_are_means_of_squares_of_some_or_all():
    v = np.random.default_rng(2).normal(size=(3, 5))
    some = (CROWD.groups["age"] == "low").to_numpy()
    for where in (None, some):
        rows, y = (CROWD.rows, CROWD.y) if where is None else (CROWD.rows[where], CROWD.y[where])
        assert_allclose(CROWD.error(v, where), np.mean((rows @ v.T - y[:, None]) ** 2, axis=0))
    lines = CROWD.lines()
    assert_allclose(lines["mean"], CROWD.y.var())
    assert lines["least squares"] < lines["mean"] < lines["middle of the bounds"]


def test_a_release_averages_over_its_noise():
    rng = np.random.default_rng(3)
    half = rng.normal(size=(5, 5)) / 100
    release = Release(rng.normal(size=5), half @ half.T, np.array(0.6))
    draws = release.mean + rng.normal(size=(100_000, 5)) @ half.T
    found = CROWD.error(draws)
    assert abs(found.mean() - release.error(CROWD)) < 5 * found.std() / np.sqrt(100_000)
    assert release.standard_error(CROWD) == 0


# ---------------------------------------------------------------- promises on one scale


def test_noise_that_keeps_half_budgets_keeps_the_whole_for_a_replaced_record():
    mu = float(gaussian_mu(2.0, DELTA))
    half = float(gaussian_epsilon(DELTA, mu / 2))
    assert float(gaussian_mu(half, DELTA)) <= mu / 2 * (1 + 1e-9)
    chained = float(gaussian_mu(*half_budget(2.0, DELTA)))
    assert chained < mu / 2  # a chain of pairs would cost more noise


# ---------------------------------------------------------------- moments against fits


def fits(model, count=100, X=None, **given):
    X = CROWD.X if X is None else X
    found = [
        np.mean((model.fit(X, CROWD.y, **given).predict(X) - CROWD.y) ** 2) for _ in range(count)
    ]
    return np.mean(found), np.std(found) / np.sqrt(count)


def agree(release, fitted):
    mean, error = fitted
    spread = np.hypot(error, release.standard_error(CROWD))
    # 5 standard errors; a heavy tail makes the estimate of the error itself uncertain
    return abs(release.error(CROWD) - mean) < 5 * spread


def seeded(cls, *args, units=True, **options):
    known = CROWD.units if units else {"y_bounds": CROWD.y_bounds}
    return cls(*args, random_state=np.random.default_rng(8), **options, **known)


def test_closed_forms_against_fits_through_the_public_interface():
    row, release = at("private mean", 0.1)
    assert agree(release, fits(seeded(PersonalizedMean, units=False, epsilon=0.1)))
    row, release = at("PDPRidge, Huber")
    model = seeded(PDPRidge, row.lam, loss="huber", epsilon=3.0)
    assert agree(release, fits(model))
    thrice = replace(release, covariance=9 * release.covariance)  # deviations three times as large
    assert not agree(thrice, fits(model))
    row, release = at("OPS")
    half, delta = half_budget(3.0, DELTA)
    model = seeded(OnePosteriorSample, row.lam, epsilon=half, delta=delta, n_max=500)
    assert agree(release, fits(model))
    row, release = at("clinics, mean", 0.3)
    model = seeded(WeightedMean, units=False, epsilon=0.3)
    assert agree(release, fits(model, users=CROWD.users))


@pytest.mark.parametrize(("name", "delta"), [("GWA, Laplace", 0.0), ("GWA, Gaussian", DELTA)])
def test_label_private_moments_against_fits(name, delta):
    _, release = at(name, 0.5)
    model = seeded(
        GWARegression,
        units=False,
        epsilon=0.5,
        delta=delta,
        fit_intercept=True,
        objective="prediction",
    )
    assert agree(release, fits(model, 12, CROWD.cube[0][:, :-1]))


@pytest.mark.parametrize("name", ["objective", "gradient descent", "AdaSSP", "AdaOPS", "DP-SGD"])
def test_drawn_moments_against_fits_through_the_public_interface(name):
    row, release = at(name, draws=150)
    half, delta = half_budget(3.0, DELTA)
    gauss = gaussian_epsilon(DELTA, gaussian_mu(3.0, DELTA) / 2)
    model = {
        "objective": lambda: seeded(ObjectivePerturbation, row.lam, epsilon=3.0),
        "gradient descent": lambda: seeded(
            GradientDescentRidge, row.lam, epsilon=3.0, delta=DELTA, steps=40
        ),
        "AdaSSP": lambda: seeded(AdaSSP, epsilon=float(gauss), delta=DELTA),
        "AdaOPS": lambda: seeded(AdaOPS, epsilon=half, delta=delta, n_max=500),
        "DP-SGD": lambda: seeded(
            DPSGDRegression, epsilon=half, delta=delta, batch_size=64, clip_norm=0.5
        ),
    }[name]()
    assert agree(release, fits(model, 30))


def test_sampling_with_one_budget_is_output_perturbation():
    _, sampled = at("SampledRidge, Huber")
    _, output = at("PDPRidge, Huber")
    assert_allclose(sampled.mean, output.mean)
    assert_allclose(sampled.covariance, output.covariance)
    eta = [
        cls(1.0, loss="huber", random_state=0, **CROWD.units).fit(CROWD.X, CROWD.y).noise_.rate
        for cls in (SampledRidge, PDPRidge)
    ]
    assert_allclose(*eta)


# ---------------------------------------------------------------- the table


@pytest.mark.parametrize("name", list(ENTRIES))
def test_nobody_is_below_least_squares_and_every_ceiling_is_one(name):
    row, release = at(name, 1.0, draws=8)
    assert release.error(CROWD) > CROWD.lines()["least squares"]
    assert 0.5 < row.ceiling <= np.e / (1 + np.e) + 1e-5  # what (1, DELTA) would allow
    assert (row.noise_error > 0) == (release.draws is not None)


def test_a_row_does_not_depend_on_what_else_is_asked_for():
    both = compare_patients(CROWD, [1.0, 3.0], ["OPS", "AdaSSP"], draws=5)[0]
    alone = compare_patients(CROWD, [3.0], ["AdaSSP"], draws=5)[0]
    assert_allclose(both.iloc[-1].error, alone.error.iloc[0])


def test_one_promise_for_all_serves_the_most_careful():
    share = np.where(np.arange(442) % 3 == 0, 0.1, 1.0)
    for name in ("OPS", "AdaSSP", "DP-SGD"):
        careful, _ = at(name, 0.3, draws=5)
        mixed, _ = at(name, 3.0, draws=5, relative=share)
        assert mixed.ceiling == pytest.approx(careful.ceiling)
    mixed, release = at("PDPRidge, joint", 3.0, relative=share)
    assert mixed.error < at("PDPRidge, joint", 0.3)[0].error
    assert set(np.round(release.ceiling, 6)) == set(
        np.round((1 + l2_laplace_profile(0.0, 5, [0.3, 3.0])) / 2, 6)
    )


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"epsilons": [0.0]}, "epsilons must be finite and above 0"),
        ({"names": ["magic"]}, "names must be one of 'private mean'"),
        ({"relative": [1.0, 2.0]}, "epsilon must be a number or have shape"),
        ({"draws": 1}, "draws must be at least 2"),
        ({"seed": -1}, "seed must be at least 0"),
    ],
)
def test_bad_input_is_refused(change, match):
    with pytest.raises(ValueError, match=match):
        compare_patients(**{"crowd": CROWD, "epsilons": [1.0], "names": ["OPS"]} | change)


# ---------------------------------------------------------------- everybody's risk


@pytest.mark.parametrize("name", list(RISKS))
@pytest.mark.parametrize("mixed", [False, True])
def test_nobody_risks_more_than_was_promised(name, mixed):
    share = np.where(np.arange(442) % 3 == 0, 0.1, 1.0) if mixed else np.ones(442)
    row, release = at(name, 3.0, draws=5, relative=share)
    lam = 1.0 if np.isnan(row.lam) else row.lam
    risk = actual_success(CROWD, name, 3.0 * share, lam)
    assert risk.shape == (442,)
    assert (risk >= 0.5).all()
    assert (risk <= release.ceiling + 1e-9).all()
    assert risk.max() > 0.5001


def null(i):
    X, y = (part.copy() for part in CROWD.cube)
    X[i], y[i] = 0.0, 0.0
    return X, y


@pytest.mark.parametrize("i", [0, 57, 400])
def test_risks_by_refitting_without_the_record(i):
    plain = CROWD.cube
    for name, model in {
        "PDPRidge, joint": PDPRidge(0.3, epsilon=3.0),
        "PDPRidge, Huber": PDPRidge(0.3, epsilon=3.0, loss="huber"),
    }.items():
        one, two = (model.output_law(*data) for data in (plain, null(i)))
        loss = one.eta * np.linalg.norm(one.center - two.center)
        risk = (1 + l2_laplace_profile(0.0, 5, loss)) / 2
        assert_allclose(actual_success(CROWD, name, 3.0, 0.3)[i], risk, atol=1e-6)
    model = SufficientStatisticsRidge(noise="gaussian", delta=DELTA, epsilon=3.0)
    one, two = (model.output_law(*data) for data in (plain, null(i)))
    mu = np.linalg.norm((one.center - two.center) / one.scale)
    assert_allclose(actual_success(CROWD, "statistics, Gaussian", 3.0)[i], ndtr(mu / 2))


@pytest.mark.parametrize(("i", "bug"), [(0, 1.0), (57, 1.0), (57, 1.5)])
def test_the_risk_of_a_posterior_sample_by_simulation(i, bug):
    X, y = CROWD.ball
    half, delta = half_budget(3.0, DELTA)
    model = OnePosteriorSample(
        30.0, epsilon=half, delta=delta, n_max=500, bounds=(-1, 1), row_norm=1.0
    )
    law = model.output_law(X, y)
    kept = np.arange(442) != i
    gamma = law.precision[0, 0] / (X[:, 0] @ X[:, 0] + 30.0)
    H = X[kept].T @ X[kept] + 30.0 * np.eye(5)
    other = PosteriorLaw(np.linalg.solve(H, X[kept].T @ y[kept]), gamma * H)
    points = law.sample(100_000, rng=np.random.default_rng(4))
    excess = np.maximum(0, 1 - np.exp(other.logpdf(points) - law.logpdf(points)))
    said = bug * (2 * actual_success(CROWD, "OPS", 3.0, 30.0)[i] - 1)
    near = abs(excess.mean() - said) < 5 * excess.std() / np.sqrt(100_000)
    assert near is np.bool_(bug == 1.0)


@pytest.mark.parametrize("i", [3, 200])
def test_the_risk_under_noisy_sums_by_removal(i):
    X, y = CROWD.ball
    half = float(gaussian_epsilon(DELTA, gaussian_mu(3.0, DELTA) / 2))
    model = AdaSSP(epsilon=half, delta=DELTA, bounds=(-1, 1), row_norm=1.0)
    kept = np.arange(442) != i
    one, two = model.output_law(X, y), model.output_law(X[kept], y[kept])
    mu = np.linalg.norm((one.center - two.center) / one.scale)
    assert_allclose(actual_success(CROWD, "AdaSSP", 3.0)[i], ndtr(mu / 2), rtol=1e-9)


def test_the_risk_under_a_private_mean_is_that_of_two_laplace_laws():
    y = CROWD.cube[1]
    shift = np.abs(y) * 3.0 / 2  # eta w_i = (sum / 2) (eps / sum)
    t = np.linspace(-60, 60, 240_001)
    for i in (0, 7):
        tv = np.trapezoid(np.abs(np.exp(-np.abs(t)) - np.exp(-np.abs(t - shift[i]))) / 4, t)
        assert_allclose(actual_success(CROWD, "private mean", 3.0)[i], (1 + tv) / 2, atol=1e-6)
    assert_allclose(exact.laplace_rate([0.0, 1e9]), [0.5, 1.0])


@pytest.mark.parametrize(
    ("change", "match"),
    [
        ({"name": "DP-SGD"}, "name must be one of 'private mean'"),
        ({"budgets": -1.0}, "epsilon must be finite and above 0"),
        ({"lam": 0.0}, "lam must be finite and above 0"),
    ],
)
def test_bad_questions_are_refused(change, match):
    with pytest.raises(ValueError, match=match):
        actual_success(**{"crowd": CROWD, "name": "OPS", "budgets": 1.0} | change)


# ---------------------------------------------------------------- floor, bias and noise


@pytest.mark.parametrize("name", PATHS)
def test_parts_over_penalties_add_up_to_the_error_of_the_table(name):
    row, release = at(name, 3.0, draws=100)
    lam = row.lam / (len(CROWD.y) if name == "OPS" else 1)
    split, found = by_penalty(CROWD, name, 3.0, [lam, 1.0])
    floor = CROWD.lines()["least squares"]
    errors = [one.error(CROWD) for one in found]
    assert_allclose(floor + split.sum(axis=1), errors, rtol=1e-9)
    apart = np.hypot(release.standard_error(CROWD), found[0].standard_error(CROWD))
    assert_allclose(errors[0], row.error, atol=4 * apart, rtol=1e-9)


def test_a_penalty_that_keeps_no_promise_has_no_parts():
    split, found = by_penalty(CROWD, "objective", 0.3, [0.01, 1.0])
    assert np.isnan(split).all(axis=1).tolist() == [True, False]
    assert len(found) == 1


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "DP-SGD"}, "name"),
        ({"epsilon": 0}, "epsilon"),
        ({"penalties": [0.1, -1]}, "penal"),
    ],
)
def test_parts_refuse_what_has_no_penalty(change, words):
    with pytest.raises(ValueError, match=words):
        by_penalty(**{"crowd": CROWD, "name": "OPS", "epsilon": 1.0, "penalties": [0.3]} | change)
