"""The Huber solver with a linear term; without one it is tested with `PDPRidge`."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

from pdpbook import personalized
from pdpbook.ridge import HuberSolution, huber_ridge


def people(n=20, d=3, seed=0):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.uniform(-1, 1, n), rng.dirichlet(np.ones(n)), rng


def objective(theta, X, y, w, lam, c, b):
    r = np.abs(y - X @ theta)
    return w @ np.where(r <= c, r**2, 2 * c * r - c**2) + lam * theta @ theta + b @ theta


def test_the_public_place_is_kept():
    assert personalized.huber_ridge is huber_ridge
    assert personalized.HuberSolution is HuberSolution


def test_a_linear_term_by_hand():
    # (0 - t)^2 + t^2 + 2 t: least at t = -1/2; beyond c = 0.1: 2 * 0.1 |t| + t^2 + 2 t at -0.9
    assert_allclose(huber_ridge([[1.0]], [0.0], 1.0, linear=[2.0]).theta, [-0.5], rtol=1e-14)
    far = huber_ridge([[1.0]], [0.0], 1.0, threshold=0.1, linear=[2.0])
    assert_allclose(far.theta, [-0.9], rtol=1e-14)


def test_no_linear_term_is_a_zero_one():
    X, y, w, _ = people()
    one = huber_ridge(X, y, 0.3, w, threshold=0.2)
    assert_array_equal(one.theta, huber_ridge(X, y, 0.3, w, threshold=0.2, linear=[0, 0, 0]).theta)


@given(st.integers(1, 25), st.integers(1, 5), st.floats(1e-3, 10), st.floats(0.01, 3))
def test_a_tilted_minimizer_is_one(n, d, lam, c):
    X, y, w, rng = people(n, d, seed=n + d)
    b = rng.normal(size=d) * 10 ** rng.uniform(-3, 3)
    goal = 1e-13 * (1 + d / lam) * (np.linalg.norm(b) + 2 * np.sqrt(d) * (1 + c))
    found = huber_ridge(X, y, lam, w, threshold=c, gradient_norm=goal, linear=b)
    slope = 2 * lam * found.theta - 2 * X.T @ (w * np.clip(y - X @ found.theta, -c, c)) + b
    assert np.linalg.norm(slope) <= goal
    args = (X, y, w, lam, c, b)
    other = optimize.minimize(objective, np.zeros(d), args=args, method="BFGS")
    here = objective(found.theta, *args)
    assert here <= other.fun + 1e-12 * (1 + abs(here))


@pytest.mark.parametrize(
    ("linear", "error", "message"),
    [
        ([1.0, 2.0], ValueError, r"linear must have shape \(3,\), one for each feature"),
        ([1.0, np.nan, 0.0], ValueError, "linear must be finite"),
        ("no", TypeError, "linear must be a number or an array"),
    ],
)
def test_bad_linear_terms(linear, error, message):
    X, y, w, _ = people()
    with pytest.raises(error, match=message):
        huber_ridge(X, y, 1.0, w, linear=linear)
