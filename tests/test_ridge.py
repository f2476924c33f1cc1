"""Weighted ridge, its leave-one-out fits, and the moments of its noisy loss."""

from dataclasses import FrozenInstanceError

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from sklearn.linear_model import LinearRegression, Ridge

from pdpbook import datasets, ridge

SEED = 20240101


def crowd(n=40, d=6, seed=SEED):
    rng = np.random.default_rng(seed)
    X = rng.uniform(-1, 1, (n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n), rng.uniform(0.1, 3, n)


def without(X, y, lam, weights, i):
    """Brute force: the same weights, and nobody in row i."""
    keep = np.arange(len(y)) != i
    return ridge.weighted_ridge(X[keep], y[keep], lam, weights[keep])


# ------------------------------------------------------------------ weighted_ridge


def test_one_feature_by_hand():
    # (0 * 1 + 3 * 2) / (1 + 4 + lam) with weights 1 and 1
    assert_allclose(ridge.weighted_ridge([[1], [2]], [0, 3], 1.0, [1, 1]), [1.0])


def test_gradient_vanishes_at_the_minimizer():
    X, y, w = crowd()
    theta = ridge.weighted_ridge(X, y, 0.3, w)
    gradient = -2 * X.T @ (w * (y - X @ theta)) + 0.6 * theta
    # d sums of n terms of size about w |x| |r| < 15 each, in double precision
    assert np.abs(gradient).max() < 40 * 15 * 1e-15 * 10


@given(st.integers(1, 30), st.integers(1, 8), st.floats(1e-3, 1e3), st.integers(0, 1000))
def test_convention_of_lam_against_scikit_learn(n, d, lam, seed):
    X, y, w = crowd(n, d, seed)
    plain = Ridge(alpha=n * lam, fit_intercept=False, solver="svd").fit(X, y)
    weighted = Ridge(alpha=lam, fit_intercept=False, solver="svd").fit(X, y, sample_weight=w)
    scale = np.abs(plain.coef_).max() + 1e-12
    assert_allclose(ridge.weighted_ridge(X, y, lam), plain.coef_, atol=1e-9 * scale, rtol=1e-9)
    assert_allclose(ridge.weighted_ridge(X, y, lam, w), weighted.coef_, atol=1e-9, rtol=1e-9)


def test_lam_is_not_the_alpha_of_the_sum():
    X, y, _ = crowd()
    wrong = Ridge(alpha=0.3, fit_intercept=False).fit(X, y).coef_
    assert np.abs(ridge.weighted_ridge(X, y, 0.3) - wrong).max() > 0.01


def test_lam_zero_is_least_squares():
    X, y, w = crowd()
    fit = LinearRegression(fit_intercept=False).fit(X, y, sample_weight=w)
    assert_allclose(ridge.weighted_ridge(X, y, 0, w), fit.coef_, rtol=1e-12)


def test_weights_are_not_renormalized():
    X, y, w = crowd()
    assert_allclose(
        ridge.weighted_ridge(X, y, 0.5, w), ridge.weighted_ridge(X, y, 5.0, 10 * w), rtol=1e-12
    )
    assert (
        np.abs(
            ridge.weighted_ridge(X, y, 0.5, w / w.sum()) - ridge.weighted_ridge(X, y, 0.5, w)
        ).max()
        > 0.01
    )


def test_ill_conditioned_design_keeps_its_digits():
    # Two columns 1e-7 apart: the Gram matrix has condition 1e14, the design 1e7.
    rng = np.random.default_rng(SEED)
    base = rng.uniform(size=50)
    X = np.column_stack([base, base + 1e-7 * rng.uniform(size=50)])
    theta = np.array([1.0, 2.0])
    found = ridge.weighted_ridge(X, X @ theta, 0.0)
    assert_allclose(found, theta, atol=1e-7)  # condition times precision, 1e7 * 1e-16, and room
    tiny = ridge.weighted_ridge(X, X @ theta, 1e-24)
    assert_allclose(tiny, theta, atol=1e-6)  # the penalty moves it by lam / s_min^2 < 1e-9


def test_rank_deficient_design_without_penalty_says_so():
    X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0]])
    with pytest.raises(ValueError, match=r"lam must be above 0.*rank 1 of 2 columns"):
        ridge.weighted_ridge(X, [1, 2, 3], 0)
    with pytest.raises(ValueError, match="rank 1 of 2 columns"):
        ridge.weighted_ridge([[1.0, 2.0]], [1.0], 0)
    with pytest.raises(ValueError, match="rank 1 of 2 columns"):  # the second row does not count
        ridge.weighted_ridge(np.eye(2), [1.0, 1.0], 0, [1.0, 0.0])
    assert np.isfinite(ridge.weighted_ridge(X, [1, 2, 3], 1e-3)).all()


def test_medical_cost_anchors_to_all_printed_digits():
    """Non-private entries of Acharya et al. (2024), Tables 2 and 12, before rounding."""
    from sklearn.model_selection import train_test_split

    X, y = datasets.medical_cost_design(datasets.load("medical-cost"))
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.2, random_state=21)
    assert (len(y), len(y_test)) == (1070, 268)
    # Full one-hot and a constant are rank deficient: any least-squares solution predicts the same.
    plain = np.linalg.lstsq(X.to_numpy(), y.to_numpy(), rcond=None)[0]
    assert f"{np.mean((y_test - X_test @ plain) ** 2):.7f}" == "0.0094338"
    theta = ridge.weighted_ridge(X, y, 1.0)
    assert f"{np.mean((y_test - X_test @ theta) ** 2) + theta @ theta:.7f}" == "0.0430417"
    nearly = ridge.weighted_ridge(X, y, 1e-12)
    assert f"{np.mean((y_test - X_test @ nearly) ** 2):.7f}" == "0.0094338"


# ------------------------------------------------------------------ leave_one_out


def test_leave_one_out_by_hand():
    # One feature, rows 1 and 1, labels 0 and 1, unit weights, lam 1. Alone: 0/2 and 1/2.
    fit = ridge.leave_one_out([[1.0], [1.0]], [0.0, 1.0], 1.0, [1, 1])
    assert_allclose(fit.theta, [1 / 3])
    assert_allclose(fit.leverage_in, [1 / 3, 1 / 3])
    assert_allclose(fit.leverage, [1 / 2, 1 / 2])
    assert_allclose(fit.residual_in, [-1 / 3, 2 / 3])
    assert_allclose(fit.residual, [-1 / 2, 1])
    assert_allclose(fit.move, [[1 / 3 - 1 / 2], [1 / 3 - 0]])


@given(
    st.integers(2, 30), st.integers(1, 8), st.floats(1e-2, 1e2), st.booleans(), st.integers(0, 999)
)
def test_leave_one_out_is_brute_force(n, d, lam, weighted, seed):
    X, y, w = crowd(n, d, seed)
    if not weighted:
        w = np.full(n, 1 / n)
    fit = ridge.leave_one_out(X, y, lam, w if weighted else None)
    refits = np.array([without(X, y, lam, w, i) for i in range(n)])
    scale = np.abs(refits).max() + np.abs(y).max()
    H = X.T @ (w[:, None] * X) + lam * np.eye(d)
    A = [H - w[i] * np.outer(X[i], X[i]) for i in range(n)]
    assert_allclose(fit.theta - fit.move, refits, rtol=1e-12, atol=1e-12 * scale)
    assert_allclose(fit.residual, y - (X * refits).sum(1), rtol=1e-12, atol=1e-12 * scale)
    outside = [w[i] * X[i] @ np.linalg.solve(A[i], X[i]) for i in range(n)]
    assert_allclose(fit.leverage, outside, rtol=1e-11)
    assert_allclose(fit.leverage_in, fit.leverage / (1 + fit.leverage), rtol=1e-12)
    # The effective degrees of freedom: the leverages add up to the trace of the hat matrix.
    trace = np.trace(np.linalg.solve(H, H - lam * np.eye(d)))
    assert_allclose(fit.leverage_in.sum(), trace, rtol=1e-12)


def test_planted_shortcuts_are_caught():
    X, y, w = crowd()
    fit = ridge.leave_one_out(X, y, 0.1, w)
    H = X.T @ (w[:, None] * X) + 0.1 * np.eye(6)
    refit = without(X, y, 0.1, w, 0)
    right = fit.theta - fit.move[0]
    no_denominator = fit.theta - w[0] * fit.residual_in[0] * np.linalg.solve(H, X[0])
    no_weight = X[0] @ np.linalg.solve(H, X[0])
    renormalized = ridge.weighted_ridge(X[1:], y[1:], 0.1, w[1:] * w.sum() / w[1:].sum())
    assert np.abs(right - refit).max() < 1e-12
    assert np.abs(no_denominator - refit).max() > 1e-4
    assert abs(no_weight - fit.leverage_in[0]) > 1e-2
    assert np.abs(renormalized - refit).max() > 1e-6


@pytest.mark.parametrize("lam", [1e-2, 1e-6, 1e-12, 1e-15])
def test_leverage_near_one_keeps_its_digits(lam):
    # Person 0 alone speaks about the last feature: leverage is exactly w x^2 / lam.
    rng = np.random.default_rng(SEED)
    X = np.column_stack([rng.uniform(size=20), np.zeros(20)])
    X[0] = [0.0, 2.0]
    y, w = rng.normal(size=20), np.full(20, 0.5)
    fit = ridge.leave_one_out(X, y, lam, w)
    assert_allclose(fit.leverage[0], 2.0 / lam, rtol=1e-9)
    assert_allclose(fit.residual[0], y[0], rtol=1e-12)
    assert_allclose(fit.residual_in[0], y[0] * lam / (2 + lam), rtol=1e-9)
    assert_allclose(fit.move[0], [0, y[0] / (2 + lam)], rtol=1e-9, atol=1e-12)


def test_without_penalty_the_indispensable_are_infinite():
    X = np.array([[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]])
    fit = ridge.leave_one_out(X, [1.0, 2.0, 3.0], 0.0)
    assert_allclose(fit.theta, [1.5, 3.0])
    assert fit.leverage[2] == np.inf
    assert fit.residual[2] == np.inf
    assert np.all(fit.move[2] == np.inf)
    assert_allclose(fit.leverage[:2], [1, 1])
    assert_allclose(fit.move[:2], [[-0.5, 0], [0.5, 0]], atol=1e-15)


def test_weight_zero_moves_nothing():
    X, y, w = crowd()
    w[3] = 0
    fit = ridge.leave_one_out(X, y, 0.2, w)
    assert fit.leverage[3] == fit.leverage_in[3] == 0
    assert np.all(fit.move[3] == 0)
    assert_allclose(fit.residual[3], y[3] - X[3] @ fit.theta)


def test_one_person_alone():
    fit = ridge.leave_one_out([[2.0]], [3.0], 1.0)
    assert_allclose([fit.theta[0], fit.residual[0], fit.move[0, 0]], [6 / 5, 3.0, 6 / 5])


def test_results_are_frozen():
    fit = ridge.leave_one_out([[1.0]], [1.0], 1.0)
    with pytest.raises(FrozenInstanceError):
        fit.theta = np.zeros(1)


# ------------------------------------------------------------------ loss_moments


def test_moments_in_one_dimension_by_hand():
    # Z is Laplace with scale b: E Z^2 = 2 b^2, Var Z^2 = 24 b^4 - 4 b^4.
    found = ridge.loss_moments([[1.0]], [0.0], [0.0], eta=1 / 3)
    assert_allclose([found.mean, found.variance], [2 * 9, 20 * 81])
    shifted = ridge.loss_moments([[1.0]], [5.0], [0.0], eta=1 / 3)  # plus 4 * 25 * 18
    assert_allclose([shifted.mean, shifted.variance], [25 + 18, 20 * 81 + 100 * 18])


def simulated(eta, lam, claim=1.0, draws=200_000):
    """Mean and variance of the loss by simulation, each in standard errors from the formula."""
    rng = np.random.default_rng(SEED)
    X, y, _ = crowd(25, 4)
    theta = rng.normal(size=4)
    z = rng.normal(size=(draws, 4))
    z *= (rng.gamma(4, 1 / eta, draws) / np.linalg.norm(z, axis=1))[:, None]
    loss = np.mean((y - (theta + z) @ X.T) ** 2, axis=1) + lam * np.sum((theta + z) ** 2, axis=1)
    found = ridge.loss_moments(X, y, theta, eta * claim, lam)
    square = (loss - loss.mean()) ** 2
    return np.array(
        [
            (loss.mean() - found.mean) / (loss.std() / np.sqrt(draws)),
            (loss.var() - found.variance) / (square.std() / np.sqrt(draws)),
        ]
    )


@pytest.mark.parametrize("lam", [0.0, 0.7])
def test_moments_agree_with_simulation(lam):
    # 4 standard errors, 4 comparisons: a false alarm once in about 4000 seeds.
    assert np.abs(simulated(2.0, lam)).max() < 4


@pytest.mark.parametrize("claim", [0.9, 1.1])
def test_simulation_sees_a_wrong_rate(claim):
    assert np.abs(simulated(2.0, 0.0, claim)).min() > 4


def test_no_noise_is_the_plain_loss():
    X, y, _ = crowd()
    theta = np.ones(6)
    found = ridge.loss_moments(X, y, theta, eta=1e9, lam=0.5)
    assert_allclose(found.mean, np.mean((y - X @ theta) ** 2) + 0.5 * 6, rtol=1e-12)


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize("call", [ridge.weighted_ridge, ridge.leave_one_out])
@pytest.mark.parametrize(
    ("arguments", "error", "says"),
    [
        (([[1.0]], [1.0], -1.0), ValueError, "lam must be finite and at least 0; got -1"),
        (([[1.0]], [1.0], np.nan), ValueError, "lam must be finite"),
        (([[1.0]], [1.0], np.inf), ValueError, "lam must be finite"),
        (([[1.0]], [1.0], [1.0, 1.0]), ValueError, "lam must be a single number"),
        (([[1.0]], [1.0], True), TypeError, "lam must be a number"),
        (([[1.0]], [1.0], None), TypeError, "lam must be a number"),
        (([[np.nan]], [1.0], 1.0), ValueError, r"X must be finite; got X\[0, 0\] = nan"),
        (([["a"]], [1.0], 1.0), TypeError, "X must be a number"),
        (([[1.0]], [1.0, 2.0], 1.0), ValueError, r"y must have shape \(1,\)"),
        (([1.0], [1.0], 1.0), ValueError, r"X must have shape \(n, d\)"),
        ((np.zeros((0, 2)), [], 1.0), ValueError, r"X must have shape \(n, d\)"),
        (([[1.0]], [1.0], 1.0, [-1.0]), ValueError, r"weights must be finite and at least 0"),
        (([[1.0]], [1.0], 1.0, [0.0]), ValueError, "weights must not all be 0"),
        (([[1.0]], [1.0], 1.0, [1.0, 1.0]), ValueError, r"weights must have shape \(1,\)"),
    ],
)
def test_bad_input(call, arguments, error, says):
    with pytest.raises(error, match=says):
        call(*arguments)


@pytest.mark.parametrize(
    ("theta", "eta", "error", "says"),
    [
        ([1.0], 0.0, ValueError, "eta must be finite and above 0"),
        ([1.0], [1.0], ValueError, "eta must be a single number"),
        ([1.0, 2.0], 1.0, ValueError, r"theta must have shape \(1,\)"),
        ([np.inf], 1.0, ValueError, r"theta must be finite; got theta\[0\] = inf"),
        ("a", 1.0, TypeError, "theta must be a number"),
    ],
)
def test_bad_moments(theta, eta, error, says):
    with pytest.raises(error, match=says):
        ridge.loss_moments([[1.0]], [1.0], theta, eta)


@given(st.floats(allow_nan=True, allow_infinity=True))
def test_any_float_is_a_penalty_or_an_error(lam):
    if 0 < lam < 1e300:
        fit = ridge.leave_one_out([[1.0], [2.0]], [1.0, 1.0], lam)
        assert np.isfinite(fit.theta).all()
        assert np.all((fit.leverage_in >= 0) & (fit.leverage_in <= 1))
    elif not 0 <= lam < np.inf:
        with pytest.raises(ValueError, match="lam must be finite and at least 0"):
            ridge.leave_one_out([[1.0], [2.0]], [1.0, 1.0], lam)


def test_sums_in_pieces_are_the_weighted_normal_equations():
    n, d = 2 * ridge.CACHED // 5 + 3, 5  # the last piece is a short one
    X, y, w = crowd(n, d)
    before = X.copy(), y.copy(), w.copy()
    root = np.sqrt(w)
    rows = np.vstack([X * root[:, None], np.eye(d)])
    expected = np.linalg.lstsq(rows, np.append(y * root, np.zeros(d)), rcond=None)[0]
    assert_allclose(ridge.weighted_ridge(X, y, 1.0, w), expected, rtol=1e-11)
    for given_, kept in zip((X, y, w), before, strict=True):
        assert np.array_equal(given_, kept)
