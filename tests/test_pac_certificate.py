"""The unconditional ceiling, everybody's bound, and the clipping that the bound is about."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone

from pdpbook.audit import audit_members
from pdpbook.pac import (
    CALIBRATIONS,
    PACRegression,
    Pool,
    PublicEllipsoid,
    allocate_noise,
    calibrate_release,
    certify_noise,
    conditional_success_rate,
    difference_moments,
    exposure,
    mi_to_success_rate,
    snr_to_success_rate,
    success_rate_to_mi,
    success_rate_to_snr,
)

SEED = 20240101


def pool_of(n=40, d=1, seed=SEED):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ np.linspace(1, -1, d) + 0.5 * rng.standard_normal(n)
    X[0], y[0] = 2.5, -4.0  # somebody exposed
    return X, y


def rng_of(seed):
    return np.random.default_rng(seed)


# ------------------------------------------------------------------ the ceiling without conditions


@given(
    st.floats(0.5, 1, exclude_max=True),
    st.floats(0, 1, exclude_min=True, exclude_max=True),
    st.sampled_from([0.5, 0.7, 0.99]),
)
def test_the_average_over_the_simulation_is_within_the_ceiling(rate, confidence, prior):
    """In exact arithmetic, whether kept or refused; what is given away is rounding."""
    p, kept, blind = Fraction(rate), Fraction(confidence), Fraction(prior)
    best = (p - (1 - kept)) / kept
    try:
        inner = Fraction(conditional_success_rate(rate, confidence, prior))
    except ValueError:
        assert best - blind <= Fraction(1, 10**15) / kept
        return
    assert inner > blind
    assert kept * inner + (1 - kept) <= p
    assert kept * (best - inner) <= Fraction(1, 10**14)


def test_ceilings_by_hand():
    assert_allclose(conditional_success_rate(0.75, 0.99), 74 / 99, rtol=1e-14)
    assert_allclose(conditional_success_rate([0.7, 0.9], 0.8), [0.625, 0.875], rtol=1e-14)
    assert conditional_success_rate(0.9, 0.5, 0.7) < 0.8 < conditional_success_rate(0.91, 0.5, 0.7)


def test_counting_failures_in_guesses_asks_for_less_noise_than_in_information():
    """Success is concave in information, so a mixture of successes is below that of its mean."""
    for rate in (0.55, 0.75, 0.95):
        for confidence in (0.95, 0.99, 0.999):
            spent = (1 - confidence) * np.log(2)
            left = max(success_rate_to_mi(rate) - spent, 0.0) / confidence
            assert mi_to_success_rate(left) < conditional_success_rate(rate, confidence)


@pytest.mark.parametrize("sample_rate", [0.5, 0.7, 0.2])
@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_every_kind_of_ceiling_counts_failures(calibration, sample_rate):
    """What a certificate allows, back to a ceiling, with failures that hide nobody: the promise."""
    X, y, prior = *pool_of(12), max(sample_rate, 1 - sample_rate)
    setting = {"calibration": calibration, "sample_rate": sample_rate, "confidence": 0.97}
    got = certify_noise(Pool(X, y), np.eye(2), 0.9, draws=5, rng=rng_of(1), **setting)
    release = calibrate_release(Pool(X, y), 0.9, draws=50, rng=rng_of(1), **setting)
    assert got.target == release.certificate.target
    inner = snr_to_success_rate(got.target, calibration, prior)
    assert_allclose(0.97 * inner + 0.03, 0.9, rtol=1e-10)
    assert got.target < 0.99 * success_rate_to_snr(0.9, calibration, prior)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_the_promise_of_fit_is_unconditional(calibration):
    X, y = pool_of()
    model = PACRegression(calibration=calibration, draws=100, random_state=0).fit(X, y)
    assert model.guarantee_.success_rate == 0.75
    inner = snr_to_success_rate(model.certificate_.target, calibration)
    assert_allclose(0.99 * inner + 0.01, 0.75, rtol=1e-10)
    assert model.certificate_.holds


@pytest.mark.parametrize(
    ("rate", "confidence", "least", "needed"),
    [
        (0.75, 1e-6, "0.9999995", "0.5"),
        (0.5000001, 0.99, "0.505", "0.9999998"),
        (0.505, 0.99, "0.505", "0.99"),
        (0.75, 0.5, "0.75", "0.5"),
    ],
)
def test_a_ceiling_below_the_failures_is_refused_with_the_way_out(rate, confidence, least, needed):
    X, y = pool_of()
    message = (
        rf"^success_rate must be above {least} with a confidence of {confidence}: with chance .* "
        rf"got {rate}\. Raise it, or pass a confidence above {needed}$"
    )
    with pytest.raises(ValueError, match=message):
        PACRegression(success_rate=rate, confidence=confidence, draws=2).fit([[np.nan]], [1.0])
    for keep in (certify_noise, calibrate_release):
        given = {"covariance": np.eye(2)} if keep is certify_noise else {}
        with pytest.raises(ValueError, match=message):
            keep(
                Pool(X, y),
                success_rate=rate,
                confidence=confidence,
                draws=2,
                rng=rng_of(0),
                **given,
            )


def test_a_ceiling_next_to_one_half_is_printed_as_it_is():
    X, y = pool_of()
    model = PACRegression(
        success_rate=0.5000001, confidence=1 - 1e-9, draws=100, random_state=0
    ).fit(X, y)
    assert "at most 0.5000001 compared with 0.5 for a blind guess" in str(model.guarantee_)
    assert model.certificate_.target < success_rate_to_snr(0.5000001)


@pytest.mark.parametrize("bad", [0.0, 1.0, np.nan, -0.1, [0.9]])
def test_a_confidence_is_one_number_below_one(bad):
    with pytest.raises(ValueError, match=r"^confidence must be"):
        conditional_success_rate(0.75, bad)


# ------------------------------------------------------------------ everybody's bound


def every_half(X, y, covariance, region):
    """Means and fourth moments over all halves of what each person does, clipped by hand."""
    n = len(y)
    codes = (np.arange(2**n)[:, None] >> np.arange(n)) % 2 == 1
    pool, root = Pool(X, y), np.linalg.inv(np.linalg.cholesky(covariance))
    fits = (np.array([pool.refit(mask) for mask in codes]) - region.center) @ root.T
    fits *= np.minimum(1, region.radius / np.maximum(np.linalg.norm(fits, axis=1), 1e-300))[:, None]
    flipped = np.arange(2**n)[:, None] ^ (1 << np.arange(n))
    q = ((fits[:, None] - fits[flipped]) ** 2).sum(axis=2)
    return q.mean(axis=0)


REGION = PublicEllipsoid(np.array([0.5, -0.2]), np.diag([0.4, 0.3]), 1.2)


def test_bounds_are_those_of_the_theorem_for_all_people_at_once():
    """From the mean and the standard error alone, with the share of one person in beta."""
    X, y = pool_of(9)
    for n in (1, 3, 9):
        got = certify_noise(
            Pool(X[:n], y[:n]),
            REGION.covariance,
            0.75,
            region=REGION,
            confidence=0.9,
            draws=700,
            rng=rng_of(3),
        )
        variance, share, Q = 700 * got.standard_error**2, 0.1 / n, 4 * 1.2**2
        log = np.log(2 / share)
        want = got.mean + np.sqrt(2 * variance * log / 700) + 7 * Q * log / (3 * 699)
        assert_allclose(got.bound, want, rtol=1e-9)
        assert_allclose(got.largest, Q)
        assert_allclose(
            got.student, got.mean + stats.t.isf(share, 699) * got.standard_error, rtol=1e-9
        )


def test_student_fails_as_often_as_it_says_where_it_is_tight():
    """Four people, each may be missed with chance rho = 0.1; 1500 certificates of 400 halves.

    Over the four, which share their halves, the error is at most 0.0078. Without the union the
    share is 0.4, with a halved tail 0.2.
    """
    X, y = pool_of(4)
    exact = every_half(X, y, REGION.covariance, REGION)
    missed = np.zeros(4)
    for seed in range(1500):
        got = certify_noise(
            Pool(X, y),
            REGION.covariance,
            0.75,
            region=REGION,
            confidence=0.6,
            draws=400,
            rng=rng_of([7, seed]),
        )
        missed += got.student < exact
    rates = missed / 1500
    assert 0.05 < rates.mean() < 0.12
    assert np.all((rates > 0.05) & (rates < 0.12 + 4 * 0.0078))


# ------------------------------------------------------------------ the release is clipped


def narrow(release, radius):
    """The same release with a small ellipsoid, and next to no noise around it."""
    region = replace(release.region, radius=radius)
    return replace(release, region=region, covariance=1e-12 * np.asarray(release.covariance))


def projected(pool, region, half):
    """The nearest point of the ellipsoid, from a model of scikit-learn's."""
    from sklearn.linear_model import Ridge

    fit = Ridge(pool.alpha, tol=1e-12).fit(pool.X[half], pool.y[half])
    off = np.r_[fit.coef_, fit.intercept_] - region.center
    length = np.sqrt(off @ np.linalg.solve(region.covariance, off))
    return region.center + off * min(1.0, region.radius / length), length


@pytest.mark.parametrize("share", [0.2, 0.6])
def test_a_release_is_clipped_into_its_ellipsoid(share, monkeypatch):
    """Through `sample` and through `fit`, for halves within and without; only the noise is left."""
    X, y = pool_of(50, 2)
    pool = Pool(X, y)
    release = calibrate_release(pool, draws=300, rng=rng_of(2))
    known = narrow(release, share * release.region.radius)
    outside = 0
    for seed in range(40):
        half = rng_of(seed).random((1, 50))[0] < 0.5
        want, length = projected(pool, known.region, half)
        outside += length > known.region.radius
        assert_allclose(known.sample(rng=rng_of(seed)), want, atol=2e-5)
        assert_allclose(known.center(half), want, atol=1e-9)
    assert 0 < outside
    centered = pool.centered()
    calibrated = calibrate_release(centered, draws=300, rng=rng_of(2))
    known = narrow(calibrated, share * calibrated.region.radius)
    monkeypatch.setattr(PACRegression, "calibrate", lambda *_: known)
    for seed in range(10):
        fitted = PACRegression(random_state=seed).fit(X, y)
        half = rng_of(seed).spawn(2)[1].random((1, 50))[0] < 0.5
        want, _ = projected(centered, known.region, half)
        value = fitted.intercept_ + X.mean(axis=0) @ fitted.coef_ - y.mean()
        assert_allclose([*fitted.coef_, value], want, atol=2e-5)
        law = PACRegression(random_state=seed).output_law(X, y, half)
        turn, shift = pool.origin
        assert_allclose(law.mean, turn @ want + shift, atol=1e-9)


@pytest.mark.parametrize("calibration", CALIBRATIONS)
def test_the_certificate_of_a_release_is_that_of_its_own_noise(calibration):
    """Means over all halves in units of the noise that is drawn: certified, and within."""
    X, y = pool_of(9)
    made = calibrate_release(Pool(X, y), calibration=calibration, draws=3000, rng=rng_of(4))
    exact = every_half(X, y, made.covariance, replace(made.region, radius=own_radius(made)))
    assert np.all(np.abs(made.certificate.mean - exact) <= 5 * made.certificate.standard_error)
    assert exact.max() <= made.certificate.target
    assert exact.max() > made.certificate.target / 3


def own_radius(made):
    """That of the ellipsoid in units of the noise, of which it is a multiple."""
    shape, noise = made.region.covariance, np.asarray(made.covariance)
    assert_allclose(shape / shape[0, 0], noise / noise[0, 0], rtol=1e-9)
    return made.region.radius * np.sqrt(shape[0, 0] / noise[0, 0])


def test_what_is_certified_is_clipped_as_what_is_released():
    """A small ellipsoid: every half, and the exact mean over all of them."""
    X, y = pool_of(8)
    exact = every_half(X, y, REGION.covariance, replace(REGION, radius=0.3))
    got = certify_noise(
        Pool(X, y),
        REGION.covariance,
        0.75,
        region=replace(REGION, radius=0.3),
        draws=4000,
        rng=rng_of(5),
    )
    assert np.all(np.abs(got.mean - exact) <= 5 * got.standard_error)
    plain = every_half(X, y, REGION.covariance, replace(REGION, radius=1e9))
    assert np.all(exact < plain)
    assert np.any(np.abs(got.mean - plain) > 5 * got.standard_error)


# ------------------------------------------------------------------ ceilings of their own


@pytest.mark.parametrize("calibration", CALIBRATIONS)
@pytest.mark.parametrize("combine", ["minimax", "max"])
def test_ceilings_of_their_own_are_kept_and_save_noise(calibration, combine):
    """Exact means over all halves; ceilings meant for others are caught."""
    X, y = pool_of(9)
    rates = np.linspace(0.95, 0.6, 9)  # whoever moves most allows most
    kind = {"calibration": calibration, "combine": combine, "draws": 3000}
    made = calibrate_release(Pool(X, y), rates, rng=rng_of(4), **kind)
    exact = every_half(X, y, made.covariance, replace(made.region, radius=own_radius(made)))
    assert np.all(exact <= made.certificate.target)
    assert (exact / made.certificate.target).max() > 1 / 3
    strict = calibrate_release(Pool(X, y), 0.6, rng=rng_of(4), **kind)
    assert np.trace(made.covariance) < 0.7 * np.trace(strict.covariance)
    lax = calibrate_release(Pool(X, y), 0.95, rng=rng_of(4), **kind)
    wrong = every_half(X, y, lax.covariance, replace(lax.region, radius=own_radius(lax)))
    assert np.any(wrong > made.certificate.target)


@pytest.mark.parametrize("shape", ["diagonal", "full"])
def test_ceilings_of_their_own_scale_what_everybody_does(shape):
    X, y = pool_of(12)
    rates = np.linspace(0.95, 0.6, 12)
    moments = difference_moments(Pool(X, y), rng=rng_of(2), max_draws=200)
    own = allocate_noise(moments, rates, shape=shape, upper=False)
    tau = success_rate_to_snr(rates)
    seen = exposure(own.noise, moments.matrices) / tau
    assert 0.99 < seen.max() <= 1 + 1e-9
    assert own.gap < 2e-3
    same = allocate_noise(moments, np.full(12, 0.6), shape=shape, upper=False)
    one = allocate_noise(moments, 0.6, shape=shape, upper=False)
    assert_allclose(same.noise, one.noise, rtol=1e-12)
    assert own.value < one.value


def test_a_fit_promises_everybody_their_own_ceiling():
    X, y = pool_of(40)
    rates = np.where(np.arange(40) < 20, 0.85, 0.95)
    model = PACRegression(success_rate=rates, sample_rate=0.8, draws=200, random_state=0)
    fitted = clone(model).fit(X, y)
    assert_array_equal(fitted.guarantee_.success_rate, rates)
    assert fitted.guarantee_.prior == 0.8
    assert fitted.certificate_.holds
    assert_array_equal(fitted.certificate_.bound <= fitted.certificate_.target * (1 + 1e-9), True)
    assert fitted.certificate_.target.shape == (40,)
    table = pd.DataFrame(X, index=np.arange(40)[::-1])
    named = pd.Series(rates)
    with pytest.raises(ValueError, match=r"^success_rate must have the index of X"):
        model.set_params(success_rate=named).fit(table, y)


def test_an_audit_holds_the_ceiling_of_the_person_attacked():
    X, y = pool_of(30)
    rates = np.full(30, 0.95)
    rates[3] = 0.6
    model = PACRegression(success_rate=rates, draws=100, random_state=0)
    game = {"rng": rng_of(1), "draws": 100, "false_alarm": 0.05}
    assert audit_members(model, X, y, target=3, **game).promised == 0.6
    assert audit_members(model, X, y, target=4, **game).promised == 0.95
    with pytest.raises(ValueError, match=r"^target must be in the pool"):
        audit_members(model, X, y, target=30, **game)
