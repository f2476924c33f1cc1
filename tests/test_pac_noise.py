"""Noise for PAC privacy of membership: differences, moments, allocation, certificates, release."""

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone
from sklearn.linear_model import Lasso, LinearRegression, Ridge

from lab import chapters
from pdpbook import pac
from pdpbook.pac import (
    PACRegression,
    Pool,
    allocate_noise,
    certify_noise,
    difference_moments,
    exposure,
    joint_covariance,
    joint_variances,
    lagrange_variances,
)
from pdpbook.pac.allocation import signed

SEED = 20240101


def pool_of(n=40, d=3, seed=SEED):
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d))
    y = X @ np.linspace(1, -1, d) + 0.5 * rng.standard_normal(n)
    X[0], y[0] = 2.5, -4.0  # somebody exposed
    return X, y


def psd(rng, n, p):
    A = rng.standard_normal((n, p, p))
    return A @ A.swapaxes(1, 2)


# ------------------------------------------------------------------ differences


def scikit_learn(model, alpha, intercept):
    return {
        "ridge": Ridge(alpha=alpha, fit_intercept=intercept, tol=1e-12),
        "ols": LinearRegression(fit_intercept=intercept),
        "lasso": Lasso(alpha=alpha, fit_intercept=intercept, tol=1e-8, max_iter=100_000),
    }[model]


def by_refits(X, y, mask, model, alpha, intercept):
    out = []
    for i in range(len(y)):
        pair = []
        for inside in (True, False):
            half = mask.copy()
            half[i] = inside
            fit = scikit_learn(model, alpha, intercept).fit(X[half], y[half])
            pair.append(np.r_[fit.coef_, [fit.intercept_] * intercept])
        out.append(pair[0] - pair[1])
    return np.array(out)


@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize(
    ("model", "alpha"), [("ridge", 1e-3), ("ridge", 1.0), ("ridge", 100.0), ("ols", 0.0)]
)
def test_rank_one_differences_equal_refits(model, alpha, intercept):
    X, y = pool_of()
    for mask in np.random.default_rng(1).random((3, len(y))) < 0.5:
        mine = Pool(X, y, model, alpha, intercept).differences(mask[None])[1][0]
        assert_allclose(mine, by_refits(X, y, mask, model, alpha, intercept), rtol=0, atol=1e-10)


def test_lasso_differences_are_refits():
    X, y = pool_of(15)
    mask = np.arange(15) % 2 == 0
    mine = Pool(X, y, "lasso", 0.1).differences(mask[None])[1][0]
    assert_allclose(mine, by_refits(X, y, mask, "lasso", 0.1, True), atol=1e-10)
    assert np.abs(mine).max() > 0.01


@given(st.integers(0, 2**12 - 1), st.sampled_from([1e-4, 1.0, 30.0]), st.booleans())
def test_every_subset_also_of_nobody_and_of_one(code, alpha, intercept):
    X, y = pool_of(12)
    mask = (code >> np.arange(12)) % 2 == 1
    pool = Pool(X, y, "ridge", alpha, intercept)
    fits, moved = pool.differences(mask[None])
    assert_allclose(fits[0], pool.refit(mask), atol=1e-8)
    for i in range(12):
        with_i, without = mask.copy(), mask.copy()
        with_i[i], without[i] = True, False
        assert_allclose(moved[0, i], pool.refit(with_i) - pool.refit(without), atol=1e-7)


def test_a_pool_keeps_its_own_people():
    X, y = pool_of()
    everybody = np.ones((1, len(y)), dtype=bool)
    before = Pool(*pool_of(), "ridge", 1.0).fits(everybody)
    code = Pool(X, y, "ridge", 1.0)
    X[:], y[:] = 0.0, 7.0
    assert_array_equal(code.fits(everybody), before)


def test_a_pool_of_one_has_columns_of_one_value_and_is_served():
    assert Pool(np.array([[1.0, 2.0]]), np.array([1.0])).p == 3  # two features and the intercept


def test_the_model_of_nobody_is_zero():
    X, y = pool_of(5)
    pool = Pool(X, y)
    nobody = np.zeros((1, 5), bool)
    assert_array_equal(pool.fits(nobody), np.zeros((1, 4)))
    assert_allclose(pool.differences(nobody)[1][0, :, 3], y)  # one person: their label


@pytest.mark.parametrize("bug", ["plus", "twice", "unsigned"])
def test_planted_downdates_are_caught(bug):
    X, y = pool_of()
    mask = np.arange(len(y)) % 2 == 0
    Z = np.column_stack([X, np.ones(len(y))])
    G = Z[mask].T @ Z[mask] + np.diag([1.0, 1, 1, 0])
    U = np.linalg.solve(G, Z.T).T
    h = (U * Z).sum(axis=1)
    r = y - Z @ np.linalg.solve(G, Z[mask].T @ y[mask])
    scale = {
        "plus": r / (1 + h),
        "twice": r / np.where(mask, 1 - h, 1 + h) ** 2,
        "unsigned": np.abs(r) / np.where(mask, 1 - h, 1 + h),
    }[bug]
    good = Pool(X, y).differences(mask[None])[1][0]
    assert_allclose((r / np.where(mask, 1 - h, 1 + h))[:, None] * U, good, atol=1e-12)
    assert np.abs(scale[:, None] * U - good).max() > 1e-3


# ------------------------------------------------------------------ moments


def test_moments_of_a_pool_of_six_are_those_of_all_its_subsets():
    X, y = pool_of(6, 1)
    codes = (np.arange(64)[:, None] >> np.arange(6)) % 2 == 1
    moved = Pool(X, y, "ridge", 0.5).differences(codes)[1]
    exact = (moved**2).mean(axis=0)
    got = difference_moments(Pool(X, y, alpha=0.5), rng=np.random.default_rng(2), tol=0.05)
    assert got.converged
    assert np.all(np.abs(got.second - exact) <= 5 * got.standard_error + 1e-15)
    assert_allclose(np.einsum("nkk->nk", got.matrices), got.second, rtol=1e-9)
    assert np.all(got.upper >= exact)


def test_moments_in_a_basis_are_those_of_the_matrices():
    X, y = pool_of()
    for basis in (*pac.BASES, np.linalg.qr(np.random.default_rng(3).random((4, 4)))[0]):
        m = difference_moments(Pool(X, y), basis=basis, rng=np.random.default_rng(4), tol=0.3)
        assert_allclose(m.basis.T @ m.basis, np.eye(4), atol=1e-12)
        rotated = np.einsum("pk,npq,qk->nk", m.basis, m.matrices, m.basis)
        assert_allclose(m.second, rotated, rtol=1e-9)


def test_the_rule_stops_at_its_tolerance_or_says_that_it_did_not():
    X, y = pool_of()
    rough = difference_moments(Pool(X, y), rng=np.random.default_rng(5), tol=0.2)
    fine = difference_moments(Pool(X, y), rng=np.random.default_rng(5), tol=0.05)
    short = difference_moments(Pool(X, y), rng=np.random.default_rng(5), tol=0.05, max_draws=200)
    assert rough.draws < fine.draws
    assert (rough.converged, fine.converged, short.converged) == (True, True, False)
    for m, tol in ((rough, 0.2), (fine, 0.05)):
        assert np.all(m.standard_error <= tol * m.second.max(axis=1, keepdims=True))
    assert short.draws == 200


@pytest.mark.parametrize("draws", [2, 3])
def test_the_error_of_two_or_three_draws_is_that_of_their_mean(draws):
    X, y = pool_of(8, 1)
    m = difference_moments(Pool(X, y), rng=np.random.default_rng(5), max_draws=draws)
    masks = Pool(X, y).sample(draws, 0.5, np.random.default_rng(5))  # the unit basis draws nothing
    seen = Pool(X, y).differences(masks)[1] ** 2
    assert_allclose(m.second, seen.mean(axis=0), rtol=1e-9)
    error = seen.std(axis=0, ddof=1) / np.sqrt(draws)  # of two: half their distance
    assert_allclose(m.standard_error, error, rtol=1e-6, atol=1e-12)


def test_people_may_come_in_any_order():
    X, y = pool_of(8, 2)
    codes = (np.arange(256)[:, None] >> np.arange(8)) % 2 == 1
    order = np.random.default_rng(6).permutation(8)
    one = Pool(X, y).differences(codes)[1]
    two = Pool(X[order], y[order]).differences(codes[:, order])[1]
    assert_allclose(two, one[:, order], atol=1e-12)


# ------------------------------------------------------------------ allocation


def test_every_person_is_given_their_own_variances():
    v = np.array([[4.0, 1.0], [0.09, 0.01], [1.0, 0.0]])
    together = lagrange_variances(v, 2.0)
    assert_allclose(together, [[3, 1.5], [0.06, 0.02], [0.5, 0]])  # sqrt(v) times its sum, over 2
    assert_allclose(together, [lagrange_variances(row, 2.0) for row in v])


def test_nobody_exposed_needs_no_noise():
    for joint in (joint_variances(np.zeros((3, 2)), 1.0), joint_covariance(np.zeros((3, 2, 2)), 1)):
        assert not np.any(joint.noise)
        assert (joint.value, joint.lower_bound, joint.gap) == (0.0, 0.0, 0.0)
        assert_allclose(joint.mixture, [1 / 3] * 3)


def test_two_coordinates_by_hand():
    assert_allclose(lagrange_variances([4.0, 1.0], 0.5), [12, 6])  # (2 + 1) (2, 1) / 0.5
    assert_allclose(lagrange_variances([4.0, 1.0], 1.0, [1, 4]), [8, 2])  # 4 (2, 1/2)
    assert_array_equal(lagrange_variances([0.0, 1.0], 1.0), [0, 1])


@given(st.integers(0, 10_000))
def test_lagrange_is_feasible_and_beats_others(seed):
    rng = np.random.default_rng(seed)
    v, s, tau = rng.random(5) + 0.01, rng.random(5) + 0.1, rng.uniform(0.1, 3)
    e = lagrange_variances(v, tau, s)
    assert_allclose((v / e).sum(), tau)
    other = e * rng.uniform(0.3, 3, 5)
    other *= (v / other).sum() / tau
    assert s @ other >= s @ e * (1 - 1e-12)


@given(st.integers(0, 10_000), st.integers(1, 12), st.integers(1, 6))
def test_joint_variances_are_certified(seed, n, p):
    rng = np.random.default_rng(seed)
    v, s, tau = rng.exponential(size=(n, p)) ** 2, rng.random(p) + 0.1, 0.7
    best = joint_variances(v, tau, s)
    assert (v / best.noise).sum(axis=1).max() <= tau * (1 + 1e-9)
    assert -1e-12 <= best.gap <= 1e-6  # nothing is cheaper than the lower bound
    assert best.lower_bound <= best.value * (1 + 1e-12)
    assert best.value <= s @ lagrange_variances(v, tau, s).max(axis=0) * (1 + 1e-6)


def test_of_one_person_the_joint_noise_is_theirs():
    v = np.array([[4.0, 1.0, 0.0]])
    assert_allclose(joint_variances(v, 0.5).noise, lagrange_variances(v[0], 0.5), rtol=1e-3)


def test_two_people_exposed_in_different_directions():
    v = np.array([[1.0, 0.1], [0.1, 1.0]])
    tau = 4 * pac.success_rate_to_mi(0.75)
    largest = lagrange_variances(v, tau).max(axis=0).sum()
    best = joint_variances(v, tau)
    assert_allclose(best.noise, 1.1 / tau * np.ones(2), rtol=1e-6)  # by symmetry
    assert best.value < largest
    alone = joint_variances([[9.0, 9.0], [0.1, 0.2]], tau)
    assert_allclose(alone.value, 36 / tau, rtol=1e-6)  # one outlier: nothing to gain


@given(st.integers(0, 10_000), st.integers(1, 8))
def test_joint_covariance_is_certified(seed, n):
    rng = np.random.default_rng(seed)
    C, S = psd(rng, n, 3), psd(rng, 1, 3)[0] + 0.1 * np.eye(3)
    best = joint_covariance(C, 0.5, S)
    assert exposure(best.noise, C).max() <= 0.5 * (1 + 1e-9)
    assert -1e-12 <= best.gap <= 1.01e-3
    assert_allclose(best.value, np.trace(S @ best.noise), rtol=1e-9)


def test_joint_covariance_agrees_with_cvxpy():
    import cvxpy as cp

    C = psd(np.random.default_rng(7), 3, 3)
    noise = cp.Variable((3, 3), PSD=True)
    limits = [cp.matrix_frac(np.linalg.cholesky(c), noise) <= 0.5 for c in C]
    problem = cp.Problem(cp.Minimize(cp.trace(noise)), limits)
    problem.solve(solver=cp.CLARABEL)
    best = joint_covariance(C, 0.5, tol=1e-5)
    assert best.lower_bound <= problem.value * (1 + 1e-5)
    assert_allclose(best.value, problem.value, rtol=1e-4)


def test_one_person_matrix_form():
    rng = np.random.default_rng(8)
    C, S = psd(rng, 1, 4)[0], psd(rng, 1, 4)[0] + np.eye(4)
    w, U = np.linalg.eigh(S)
    half = (U * np.sqrt(w)) @ U.T
    R = np.sqrt(np.linalg.eigvalsh(half @ C @ half)).sum()
    best = joint_covariance(C, 2.0, S)
    assert_allclose(best.value, R**2 / 2, rtol=1e-9)
    assert_allclose(exposure(best.noise, C), 2.0, rtol=1e-9)
    diagonal = np.diag(lagrange_variances(np.diag(C), 2.0, np.diag(S)))
    assert np.trace(S @ diagonal) > best.value


@pytest.mark.parametrize("calibration", ["mi", "tv"])
@pytest.mark.parametrize("combine", pac.COMBINE)
@pytest.mark.parametrize("shape", ["diagonal", "full"])
def test_allocations_keep_everybody_within_the_target(calibration, combine, shape):
    X, y = pool_of()
    m = difference_moments(Pool(X, y), basis="svd", rng=np.random.default_rng(9), tol=0.1)
    noise = allocate_noise(m, 0.75, calibration=calibration, combine=combine, shape=shape)
    seen = exposure(noise.noise, m.matrices)
    assert seen.max() <= pac.success_rate_to_snr(0.75, calibration)
    assert noise.value >= noise.lower_bound * (1 - 1e-12)
    assert_allclose(noise.lower_bound * (1 + noise.gap), noise.value, rtol=1e-12)
    if shape == "diagonal":
        variances = np.diag(m.basis.T @ noise.noise @ m.basis)
        assert_allclose((m.basis * variances) @ m.basis.T, noise.noise, rtol=1e-9)
    if shape == "full":
        plain = allocate_noise(m, 0.75, calibration=calibration)
        assert noise.value < plain.value


def test_every_liberty_saves_noise():
    X, y = pool_of()
    m = difference_moments(Pool(X, y), basis="unit", rng=np.random.default_rng(10), tol=0.1)
    S = pac.loss_task(X)

    def cost(task=S, **options):
        noise = allocate_noise(m, 0.75, upper=False, task=task, **options)
        return np.trace(S @ noise.noise)

    unaware, largest, aware = cost(None), cost(combine="max"), cost()
    full = cost(shape="full")
    assert full <= aware * (1 + 1e-3)
    assert aware <= largest * (1 + 1e-6)
    assert aware < unaware
    assert cost(calibration="tv") < aware / 3


def test_exposure_sees_directions_without_noise():
    C = np.array([np.diag([4.0, 0.0]), np.diag([4.0, 1e-3])])
    assert_allclose(exposure(np.diag([2.0, 0.0]), C), [2, np.inf])
    assert_allclose(exposure(np.diag([1e-20, 1e10]), np.diag([1e-20, 1e10])), 2)  # scales differ
    with pytest.raises(ValueError, match="positive semidefinite"):
        exposure([[1.0, 2.0], [2.0, 1.0]], C)


# ------------------------------------------------------------------ certificates


def test_clipping_never_adds_to_a_difference():
    rng = np.random.default_rng(11)
    cov = psd(rng, 1, 3)[0]
    region = pac.PublicEllipsoid(rng.standard_normal(3), cov, 1.5)
    a, b = 3 * rng.standard_normal((2, 1000, 3))
    W = pac.whitener(cov)[0]

    def far(u):
        return np.linalg.norm(u @ W.T, axis=1)

    before, after = far(a - b), far(region.clip(a) - region.clip(b))
    assert np.all(after <= before * (1 + 1e-9))
    assert after.max() <= 3 * (1 + 1e-12)
    inside = far(a - region.center) <= 1.5
    assert inside.any()
    assert_allclose(region.clip(a)[inside], a[inside])


def test_the_certificate_covers_what_all_subsets_give():
    X, y = pool_of(10, 1)
    codes = (np.arange(1024)[:, None] >> np.arange(10)) % 2 == 1
    pool = Pool(X, y)
    cov = np.diag([0.3, 0.2])
    region = pac.public_ellipsoid(pool, cov, rng=np.random.default_rng(12), draws=100)
    fits, moved = pool.differences(codes)
    other = fits[:, None] + np.where(codes, -1, 1)[..., None] * moved
    gaps = region.whiten(other) - region.whiten(fits)[:, None]
    exact = (gaps**2).sum(axis=2).mean(axis=0)
    got = certify_noise(
        Pool(X, y), cov, 0.75, region=region, draws=4000, rng=np.random.default_rng(13)
    )
    assert np.all(np.abs(got.mean - exact) < 5 * got.standard_error)
    spread = (gaps**2).sum(axis=2).std(axis=0) / np.sqrt(4000)
    assert_allclose(got.standard_error, spread, rtol=0.25)  # heavy tails: five deviations of it
    assert np.all(got.bound > exact)
    assert np.all(got.bound > got.student)
    assert_allclose(got.largest, 4 * region.radius**2)
    half = got.scaled(2.0)
    for name in ("mean", "standard_error", "bound", "student", "largest"):
        assert_allclose(getattr(half, name), getattr(got, name) / 2)
    assert "confidence 0.99 (one-sided, 10 people at once" in str(got)


def test_without_an_ellipsoid_there_is_only_the_approximation():
    X, y = pool_of(10, 1)
    got = certify_noise(Pool(X, y), np.eye(2), 0.75, draws=100, rng=np.random.default_rng(14))
    assert np.isinf(got.bound).all()
    assert np.isfinite(got.student).all()
    assert not got.holds


@pytest.mark.parametrize("unit", [1e-12, 1e-6, 1.0, 1e6])
def test_a_move_where_there_is_no_noise_is_seen_in_any_unit(unit):
    X, y = pool_of(10, 1)

    def mean(covariance):
        rng = np.random.default_rng(14)
        return certify_noise(Pool(X, unit * y), covariance, 0.75, draws=50, rng=rng).mean

    assert np.isinf(mean(np.diag([1.0, 0.0]))).all()
    assert np.isfinite(mean(np.array([[1.0, 0.5], [0.5, 1.0]]))).all()


def test_the_largest_difference_is_in_units_of_the_noise_and_not_of_the_ellipsoid():
    X, y = pool_of(10, 1)
    region = pac.PublicEllipsoid(np.zeros(2), np.diag([4.0, 9.0]), 3.0)
    got = certify_noise(
        Pool(X, y), np.eye(2), 0.75, region=region, draws=50, rng=np.random.default_rng(15)
    )
    assert_allclose(got.largest, (2 * 3 * 3) ** 2)  # the longer axis is 3 radii long


def test_an_ellipsoid_wide_where_there_is_no_noise_bounds_nothing():
    X, y = pool_of(10, 1)
    region = pac.PublicEllipsoid(np.zeros(2), np.eye(2), 3.0)
    got = certify_noise(
        Pool(X, y), np.diag([1.0, 0]), 0.75, region=region, draws=50, rng=np.random.default_rng(15)
    )
    assert np.isinf(got.bound).all()


def test_empirical_bernstein_covers_and_student_does_not():
    """Rare large values: with failure 0.05, 400 runs; a bound that covers misses under 40."""
    rng, missed = np.random.default_rng(SEED), [0, 0]
    for _ in range(400):
        q = np.where(rng.random(100) < 0.01, 1.0, 0.0)
        mean, var = q.mean(), q.var(ddof=1)
        missed[0] += pac.empirical_bernstein(mean, var, 100, 1.0, 0.05) < 0.01
        missed[1] += mean + stats.t.isf(0.05, 99) * np.sqrt(var / 100) < 0.01
    assert missed[0] == 0
    assert missed[1] > 100


# ------------------------------------------------------------------ the estimator


FAST = {"draws": 1000, "tol": 0.3, "random_state": 0}


def test_two_stage_clone_keeps_every_parameter():
    model = PACRegression("ols", success_rate=0.6, basis="svd")
    assert clone(model).get_params() == model.get_params()
    assert set(vars(model)) == set(model.get_params())


@pytest.mark.parametrize("basis", pac.BASES)
@pytest.mark.parametrize(("model", "alpha"), [("ridge", 2.0), ("ols", 0.0)])
def test_what_stays_and_what_is_promised(model, alpha, basis):
    X, y = pool_of(80)
    fitted = PACRegression(model, alpha=alpha, basis=basis, **FAST).fit(X, y)
    stays = set(vars(fitted)) - set(fitted.get_params())
    want = "coef_ intercept_ covariance_ certificate_ guarantee_ noise_ n_features_in_"
    want += " _settings_of_fit"
    assert stays == set(want.split())
    assert fitted.guarantee_.success_rate == 0.75
    assert fitted.certificate_.holds
    assert_allclose(fitted.certificate_.bound.max(), fitted.certificate_.target)
    assert_allclose(fitted.predict(X), X @ fitted.coef_ + fitted.intercept_)


def test_a_lasso_is_released_too():
    X, y = pool_of(12, 2)
    fitted = PACRegression("lasso", alpha=0.1, draws=30, tol=0.5, random_state=0).fit(X, y)
    assert fitted.certificate_.holds
    assert fitted.coef_.shape == (2,)


def test_without_an_intercept():
    X, y = pool_of(60)
    fitted = PACRegression(fit_intercept=False, **FAST).fit(X, y)
    assert fitted.intercept_ == 0.0
    assert fitted.covariance_.shape == (3, 3)


def test_the_covariance_knows_the_pool_and_not_the_half():
    """The same generator for the simulation, whatever comes after it."""
    X, y = pool_of(60)
    law = PACRegression(**FAST).output_law(X, y, np.arange(60) < 30)
    other = PACRegression(**FAST).output_law(X, y, np.arange(60) >= 30)
    fitted = PACRegression(**FAST).fit(X, y)
    assert_allclose(law.cov_object.covariance, fitted.covariance_)
    assert_allclose(other.cov_object.covariance, fitted.covariance_)
    assert np.abs(law.mean - other.mean).max() > 0.01


def whitened_noise(monkeypatch):
    """Squared distances of 500 releases from the clipped weights of their own halves."""
    X, y = pool_of(50, 1)
    model = PACRegression(**FAST)
    X, y = X - X.mean(axis=0), y - y.mean()
    known = model.calibrate(Pool(X, y), np.random.default_rng(16))
    monkeypatch.setattr(PACRegression, "calibrate", lambda *_: known)
    squares = []
    for seed in range(500):
        fitted = model.set_params(random_state=seed).fit(X, y)
        secret = np.random.default_rng(seed).spawn(2)[1]
        half = Pool(X, y).sample(1, 0.5, secret)[0]
        noise = np.r_[fitted.coef_, fitted.intercept_] - known.center(half)
        squares.append(noise @ np.linalg.solve(known.covariance, noise))
    return np.array(squares)


def test_the_noise_on_a_random_half_has_the_stated_covariance(monkeypatch):
    squares = whitened_noise(monkeypatch)
    for scale, ok in [(0.7, False), (1.0, True), (1.4, False)]:
        standard = stats.kstest(squares / scale, stats.chi2(2).cdf).pvalue > 1e-6
        assert bool(standard) is ok


def attack(X, y, model, person, halves=4000, seed=17):
    """Share of right guesses of who knows everybody else, by the likelihood ratio."""
    law = model.output_law(X, y, np.ones(len(y), bool))
    cov, rng = law.cov_object.covariance, np.random.default_rng(seed)
    pool = Pool(X, y, model.model, model.alpha, model.fit_intercept)
    masks = pool.sample(halves, 0.5, rng)
    fits, moved = pool.differences(masks)
    inside = masks[:, person]
    others = np.where(inside[:, None], fits - moved[:, person], fits)
    W = np.linalg.inv(np.linalg.cholesky(cov))
    noisy = (fits - others) @ W.T + rng.standard_normal(fits.shape)
    shift = moved[:, person] @ W.T
    guess = (noisy * shift).sum(axis=1) > (shift**2).sum(axis=1) / 2
    return (guess == inside).mean(), 3.3 * np.sqrt(0.25 / halves)


@pytest.mark.parametrize("calibration", ["mi", "tv"])
def test_no_attack_exceeds_the_ceiling(calibration):
    """99.9 percent interval; the exposed person of the pool is attacked by whoever knows all."""
    X, y = pool_of(60)
    model = PACRegression(calibration=calibration, draws=5000, random_state=0)
    rate, error = attack(X, y, model, 0)
    assert rate <= 0.75 + error
    assert rate > 0.55


def quarter_of_the_noise(noise):
    return noise / 4


def variance_for_deviation(noise):
    return noise**2


def only_the_diagonal(noise):
    return np.diag(np.diag(noise))


def keeps_the_target(change):
    X, y = pool_of(60)
    X[:, 1] = X[:, 0] + 0.1 * X[:, 1]
    m = difference_moments(Pool(X, y), basis="difference", rng=np.random.default_rng(18), tol=0.1)
    cov = change(allocate_noise(m, 0.75).noise)
    got = certify_noise(Pool(X, y), cov, 0.75, draws=3000, rng=np.random.default_rng(19))
    return bool(got.student.max() <= got.target)


def test_the_allocation_keeps_the_target_and_planted_ones_do_not():
    assert keeps_the_target(lambda noise: noise)
    for bug in (quarter_of_the_noise, variance_for_deviation, only_the_diagonal):
        assert not keeps_the_target(bug), bug.__name__


def test_an_ellipsoid_narrower_than_one_is_kept():
    X, y = pool_of(10, 1)
    pool, rng = Pool(X, y), np.random.default_rng
    wide = pac.public_ellipsoid(pool, np.eye(2), rng=rng(12), draws=100)
    narrow = pac.public_ellipsoid(pool, 1e8 * np.eye(2), rng=rng(12), draws=100)
    assert_allclose(narrow.radius, wide.radius / 1e4, rtol=1e-9)
    assert narrow.radius < 1


def test_the_chance_of_being_in_reaches_the_certificate():
    """The ceiling of 0.9 leaves room above the prior of 0.8 only where the prior is known."""
    X, y = pool_of(30, 1)
    release = pac.calibrate_release(
        pac.Pool(X, y), 0.9, sample_rate=0.8, draws=500, rng=np.random.default_rng(21)
    )
    inner = pac.conditional_success_rate(0.9, 0.99, 0.8)
    assert release.certificate.target == pac.success_rate_to_snr(inner, "mi", 0.8)


@pytest.mark.parametrize("sample_rate", [0.2, 0.5, 0.9])
def test_so_many_are_in_the_secret_half_as_the_promise_says(sample_rate):
    """Its prior, and the noise, are of this chance. Here weights tell how many were in."""
    n = 30
    rng = np.random.default_rng(21)
    pool = pac.Pool(np.ones((n, 1)), np.ones(n), alpha=float(n), fit_intercept=False)
    settings = {"sample_rate": sample_rate, "success_rate": 0.95, "draws": 500}
    release = pac.calibrate_release(pool, rng=rng, **settings)
    bare = dataclasses.replace(release, covariance=1e-24 * release.covariance)
    weights = bare.sample(400, rng=rng)[:, 0]  # k / (k + n) of k members
    shares = weights / (1 - weights)
    error = np.sqrt(sample_rate * (1 - sample_rate) / (400 * n))
    assert abs(shares.mean() - sample_rate) < 5 * error
    assert release.sample_rate == sample_rate


def test_a_fit_draws_its_half_as_its_guarantee_says(monkeypatch):
    X, y = pool_of(30, 1)
    rates = []

    def noted(self, size, sample_rate, rng, sample=pac.Pool.sample):
        rates.append(sample_rate)
        return sample(self, size, sample_rate, rng)

    monkeypatch.setattr(pac.Pool, "sample", noted)
    model = pac.PACRegression(success_rate=0.95, sample_rate=0.8, draws=500, random_state=3)
    model.fit(X, y)
    assert set(rates) == {0.8}  # simulated and secret halves alike
    assert model.guarantee_.sample_rate == 0.8


def test_many_draws_of_one_calibration():
    X, y = pool_of(50, 1)
    release = pac.calibrate_release(pac.Pool(X, y), 0.8, draws=1000, rng=np.random.default_rng(21))
    one = release.sample(rng=np.random.default_rng(22))
    many = release.sample(400, rng=np.random.default_rng(23))
    assert one.shape == (2,)
    assert release.sample(0, rng=np.random.default_rng(24)).shape == (0, 2)
    centers = np.array(
        [release.center(h) for h in release.pool.sample(400, 0.5, np.random.default_rng(25))]
    )
    whole = release.covariance + np.cov(centers.T)
    assert_allclose(np.cov(many.T), whole, atol=5 * np.sqrt(2 / 400) * whole.max())
    with pytest.raises(ValueError, match="members must be booleans"):
        release.center(np.ones(50))


# ------------------------------------------------------------------ as printed


def test_the_printed_loop_draws_nothing_after_the_first_person():
    X, y = pool_of()
    got = chapters.printed_moments(pac.Pool(X, y, "ols", 0.0), rng=np.random.default_rng(20))
    assert got.draws[0] >= 2
    assert_array_equal(got.draws[1:], 0)
    assert_array_equal(got.second, np.tile(got.second[0], (len(y), 1)))
    fixed = chapters.printed_moments(
        pac.Pool(X, y, "ols", 0.0),
        rng=np.random.default_rng(20),
        reset=True,
        absolute=True,
        every=10,
    )
    assert np.all(fixed.draws >= 20)


def test_the_printed_loop_with_its_repairs_draws_everybodys_differences():
    X, y = pool_of(6, 1)
    codes = (np.arange(64)[:, None] >> np.arange(6)) % 2 == 1
    squares = Pool(X, y, "ridge", 0.5).differences(codes)[1] ** 2  # the same, in the half or not
    got = chapters.printed_moments(
        pac.Pool(X, y, "ridge", 0.5),
        basis="unit",
        eta=1e-15,
        reset=True,
        absolute=True,
        max_draws=200,
        rng=np.random.default_rng(21),
    )
    assert_array_equal(got.draws, 200)
    error = squares.std(axis=0) / np.sqrt(200)
    assert np.all(np.abs(got.second - squares.mean(axis=0)) <= 5 * error)


def test_the_printed_loop_has_no_penalty_of_its_own():
    X, y = pool_of()
    with pytest.raises(ValueError, match="alpha must be finite and above 0; got 0"):
        chapters.printed_moments(pac.Pool(X, y, "ridge", 0.0), rng=np.random.default_rng(20))


def test_the_printed_back_projection_leaves_weights_bare():
    angle = 2.0  # cosine below 0
    V = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    v = np.array([[1.0, 0.2]])
    got = chapters.printed_noise(v, V, 0.75)
    assert got.bare.all()
    C = (V * v[0]) @ V.T
    assert np.isinf(exposure(got.covariance, C))
    right = chapters.printed_noise(v, V, 0.75, back="rotated")
    target = 4 * pac.success_rate_to_mi(0.75)
    assert_allclose(exposure(right.covariance, C), target)
    diagonal = chapters.printed_noise(v, V, 0.75, back="diagonal")
    assert exposure(diagonal.covariance, C) > target
    each = lagrange_variances(v, target)[0]  # its diagonal, once the basis is turned back
    by_hand = np.diag((V * each) @ V.T)
    assert_allclose(np.diag(diagonal.covariance), by_hand)
    flipped = chapters.printed_noise(v, -V, 0.75)  # the same basis
    assert not flipped.bare.any()


@pytest.mark.parametrize("back", ["printed", "diagonal", "rotated"])
def test_everybody_gets_the_largest_noise_that_anybody_asks_for(back):
    rng = np.random.default_rng(23)
    V, v = np.linalg.qr(rng.standard_normal((3, 3)))[0], rng.random((5, 3))
    alone = [chapters.printed_noise(row, V, 0.75, back=back).scale for row in v]
    assert_allclose(chapters.printed_noise(v, V, 0.75, back=back).scale, np.max(alone, axis=0))


def test_a_variance_read_as_a_deviation():
    v, V = np.array([[1e-4, 1e-4]]), np.eye(2)
    right = chapters.printed_noise(v, V, 0.75)
    wrong = chapters.printed_noise(v, V, 0.75, read_as="deviation")
    assert_allclose(np.diag(wrong.covariance), np.diag(right.covariance) ** 2)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"success_rate": 0.5}, "success_rate must be above 0.5"),
        ({"success_rate": 1.0}, "success_rate must be above 0 and below 1"),
        ({"success_rate": np.nan}, "success_rate must be"),
        ({"model": "huber"}, "model must be one of 'ridge', 'ols', 'lasso'"),
        ({"calibration": "dp"}, "calibration must be one of"),
        ({"basis": "pca"}, "basis must be one of"),
        ({"basis": np.ones((4, 4))}, "basis must be a name or a matrix of shape"),
        ({"combine": "sum"}, "combine must be one of"),
        ({"task": "train"}, "task must be one of"),
        ({"alpha": 0.0}, "alpha must be finite and above 0"),
        ({"alpha": np.inf}, "alpha must be finite and above 0"),
        ({"tol": -1.0}, "tol must be"),
        ({"confidence": 1.0}, "confidence must be"),
        ({"draws": 1}, "draws must be at least 2"),
        ({"success_rate": [0.75]}, r"^success_rate must be a number or have shape \(40,\)"),
        ({"success_rate": np.full(40, 0.5)}, "success_rate must be above 0.5"),
        ({"success_rate": np.full(40, 0.8), "sample_rate": 0.9}, "success_rate must be above 0.9"),
        ({"sample_rate": 1.0}, "sample_rate must be"),
        ({"alpha": [1.0]}, r"^alpha must be a single number"),
    ],
)
def test_bad_settings(change, message):
    X, y = pool_of()
    with pytest.raises(ValueError, match=message):
        PACRegression(**FAST | change).fit(X, y)


def test_bad_data():
    X, y = pool_of()
    bad = X.copy()
    bad[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"X must be finite; got X\[3, 1\] = nan"):
        PACRegression(**FAST).fit(bad, y)
    with pytest.raises(ValueError, match="y must be finite"):
        PACRegression(**FAST).fit(X, np.where(np.arange(len(y)) == 2, np.inf, y))
    with pytest.raises(ValueError, match=r"no constant column beside the intercept; X\[:, 2\]"):
        PACRegression(**FAST).fit(np.column_stack([X[:, :2], np.full(len(y), 7.0)]), y)
    with pytest.raises(TypeError, match="rng must be"):
        difference_moments(Pool(X, y), rng=3)
    with pytest.raises(ValueError, match="members must be booleans of shape"):
        Pool(X, y).differences(np.ones((1, 3), bool))


def test_least_squares_without_enough_rows_names_a_penalty():
    X, y = pool_of(7)
    with pytest.raises(ValueError, match=r"needs at least 4 rows of full rank.*such as alpha="):
        PACRegression("ols", **FAST).fit(X, y)
    twin = np.column_stack([*pool_of(40)[0].T, pool_of(40)[0][:, 0]])
    with pytest.raises(ValueError, match="full rank in every half-sample"):
        difference_moments(Pool(twin, pool_of(40)[1], "ols"), rng=np.random.default_rng(0))


def test_the_penalty_that_is_named_is_a_hundredth_of_a_feature_in_a_half():
    X, y = pool_of(40)
    X = X * [1.0, 2.0, 5.0] + [10.0, 0.0, -20.0]  # squares are from the means
    with pytest.raises(ValueError, match="such as alpha=") as refused:
        Pool(np.column_stack([X, X[:, 0]]), y, "ols", 0.0).differences(np.ones((1, 40), bool))
    named = float(str(refused.value).split("alpha=")[1].split(",")[0])
    columns = np.column_stack([X, X[:, 0]])
    half = [sum((value - np.mean(column)) ** 2 for value in column) / 2 for column in columns.T]
    assert_allclose(named, np.mean(half) / 100, rtol=0.05)  # two digits of it
    assert Pool(columns, y, "ridge", named).differences(np.ones((1, 40), bool))


def test_a_task_must_be_positive_definite():
    with pytest.raises(ValueError, match="task must be positive definite"):
        joint_covariance(np.eye(2), 1.0, np.diag([1.0, 0.0]))
    for X in (np.ones(3), np.ones((0, 2)), [[1.0, np.nan]]):
        with pytest.raises(ValueError, match=r"X must (be finite|have shape \(n, d\))"):
            pac.loss_task(X, fit_intercept=True)


def test_arguments_of_the_certificate_are_named():
    X, y = pool_of(10, 1)
    with pytest.raises(ValueError, match=r"^draws must be at least 2"):
        certify_noise(Pool(X, y), np.eye(2), 0.75, draws=1, rng=np.random.default_rng(1))
    for covariance, words in [
        (np.diag([1.0, -1.0]), "its diagonal is negative"),
        ([[1.0, 2.0], [2.0, 1.0]], "eigenvalue -1"),
        ([[0.0, 1.0], [1.0, 0.0]], "it is 0 on the diagonal of a row that is not"),
        ([[0.0, 1e-9], [1e-9, 1.0]], "it is 0 on the diagonal of a row that is not"),
    ]:
        with pytest.raises(ValueError, match=f"^covariance must be positive semidef.* {words}"):
            certify_noise(Pool(X, y), covariance, 0.75, rng=np.random.default_rng(1))
    with pytest.raises(ValueError, match=r"^tol must be finite and above 0"):
        difference_moments(Pool(X, y), tol=-1.0, rng=np.random.default_rng(1))
    for second, snr, words in [
        ([-1.0], 1.0, "second must be finite"),
        ([1.0], 0.0, "snr must be finite"),
        ([1.0], [1.0], "snr must be a single"),
    ]:
        with pytest.raises(ValueError, match=f"^{words}"):
            lagrange_variances(second, snr)
    with pytest.raises(ValueError, match=r"^distance must be finite and at least 0"):
        pac.gaussian_mutual_information(-1.0)
    with pytest.raises(ValueError, match=r"^failure must be above 0 and below 1"):
        pac.empirical_bernstein(0.5, 0.1, 100, 1.0, 0.0)


# ------------------------------------------------------------------ a seed on another machine
@pytest.mark.parametrize("rho", [0.8, -0.3, 0.0])
@pytest.mark.parametrize("eps", [3e-16, -3e-16])
def test_rounding_decides_no_sign_of_the_noise(rho, eps):
    """Two weights have axes (1, 1) and (1, -1): which entry is larger is a matter of rounding."""
    cov = np.array([[4.0, 6 * rho], [6 * rho, 9.0]])
    rounded = cov * (1 + eps * np.array([[1, 0], [0, -1]])) + [[0, eps], [eps, 0]]
    assert_allclose(pac.whitener(rounded)[1], pac.whitener(cov)[1], atol=1e-12)


@pytest.mark.parametrize("eps", [1e-16, -1e-16, 1e-12, -1e-12])
def test_entries_that_tie_have_one_sign(eps):
    V = np.array([[1.0, 1.0], [1.0, -1.0]]) / np.sqrt(2)
    moved = V * [[1.0], [1.0 + eps]]
    for sign in (1, -1):
        assert_allclose(signed(sign * moved), V, atol=1e-9)


def test_the_largest_entry_of_each_column_gets_its_sign():
    """By columns, and the largest one: rows, or the smallest entry, would give other signs."""
    assert_array_equal(signed(np.array([[1.0, -0.5], [-3.0, 2.0]])), [[-1.0, -0.5], [3.0, 2.0]])
