"""Weights of users: the equation for h, a convex solver, and every threshold tried."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pdpbook.user_level import (
    limit_rows,
    sample_limit,
    sample_limit_value,
    tradeoff_value,
    tradeoff_weights,
)

SEED = 20261121
SIZES = st.lists(st.integers(1, 300), min_size=1, max_size=40)
PRICES = st.floats(1e-6, 1e6)


def tau_of(sizes, seed):
    return np.exp(np.random.default_rng(seed).standard_normal(len(sizes)))


def residual(best, sizes, tradeoff, tau):
    """Of the equation for h, over its right side at h = 0."""
    right = np.sum(tau * np.maximum(0, 1 - best.h * tau / sizes))
    return abs(best.h / tradeoff - right) / tau.sum()


# ---------------------------------------------------------------- by hand, and limits


def test_weights_by_hand():
    # h = A (1 - h/2 + 1 - h/10) with A = 1: h (1 + 0.6) = 2
    best = tradeoff_weights([1, 2, 10], 1.0)
    assert_allclose(best.h, 1.25, rtol=1e-15)
    assert_allclose(best.weights, np.array([1, 1.25, 1.25]) / 3.5, rtol=1e-15)
    assert_allclose(best.value, 1 / 3.5, rtol=1e-15)
    assert_allclose(best.row_weights, best.weights / [1, 2, 10], rtol=0)


def test_the_root_below_the_smallest_size_is_reported():
    best = tradeoff_weights([4, 4], 0.5)  # h (1 + 0.25) = 1
    assert_allclose(best.h, 0.8, rtol=1e-15)
    assert_array_equal(best.weights, [0.5, 0.5])
    assert_allclose(best.value, 0.5 / 1.6, rtol=1e-15)  # with the true root, not with 4


def test_nothing_but_noise_and_no_noise_at_all():
    still = tradeoff_weights([1, 5, 9], 0.0, budgets=[1.0, 2.0, 1.0])
    assert (still.h, still.value) == (0.0, 1 / 16)
    assert_array_equal(still.weights, [0.25, 0.5, 0.25])
    plain = tradeoff_weights([1, 5, 9], np.inf, budgets=[1.0, 2.0, 1.0])
    assert (plain.h, plain.value) == (9.0, np.inf)
    assert_allclose(plain.weights, np.array([1, 5, 9]) / 15, rtol=1e-15)
    for A, limit in ((1e-9, still), (1e-320, still), (1e12, plain), (1e300, plain)):
        near = tradeoff_weights([1, 5, 9], A, budgets=[1.0, 2.0, 1.0])
        assert_allclose(near.weights, limit.weights, rtol=1e-8)


def test_one_user_and_users_of_one_row():
    assert_array_equal(tradeoff_weights([7], 3.0).weights, [1.0])
    assert_array_equal(tradeoff_weights([1] * 5, 3.0).weights, [0.2] * 5)
    assert sample_limit([7], 3.0).threshold == 7
    # falls as far as 3 and rises from there, without a minimum between 2 and 3
    assert sample_limit([1, 3, 5, 7], 1.19, integer=False).threshold == 3
    assert_allclose(sample_limit([1] * 5, 3.0)[::2], [1, 1], rtol=1e-15)


# ---------------------------------------------------------------- identities


@given(SIZES, PRICES, st.integers(0, 10_000))
def test_the_equation_for_h_and_the_value(sizes, tradeoff, seed):
    s, tau = np.array(sizes), tau_of(sizes, seed)
    best = tradeoff_weights(s, tradeoff, tau)
    assert residual(best, s, tradeoff, tau) < 1e-12
    assert_allclose(best.value, tradeoff / np.minimum(s, best.h * tau).sum(), rtol=1e-12)
    assert_allclose(best.weights.sum(), 1, rtol=1e-13)
    assert_allclose(best.value, tradeoff_value(best.weights, s, tradeoff, tau), rtol=0)
    order = np.random.default_rng(seed).permutation(len(s))
    again = tradeoff_weights(s[order], tradeoff, tau[order])
    assert_allclose(again.weights, best.weights[order], rtol=1e-12)
    scaled = tradeoff_weights(s, tradeoff / 9, 3 * tau)  # the unit of budgets is free
    assert_allclose(scaled.weights, best.weights, rtol=1e-9)


@given(SIZES, PRICES)
def test_shape_of_the_weights(sizes, tradeoff):
    s = np.array(sizes)
    best = tradeoff_weights(s, tradeoff)
    shape = np.minimum(s, best.h) if best.h > 0 else np.ones(len(s))
    assert_allclose(best.weights, shape / shape.sum(), rtol=1e-12)


def test_a_million_users_and_ties():
    s = np.minimum(np.random.default_rng(SEED).zipf(1.5, 1_000_000), 10**6)
    for A in (1e-3, 1.0, 1e3):
        assert residual(tradeoff_weights(s, A), s, A, np.ones(len(s))) < 1e-12
    # A chosen so that h = 3 is a size itself: 3 = A (1 - 3/4) twice
    assert_allclose(tradeoff_weights([1, 3, 4, 4], 6.0).h, 3.0, rtol=1e-15)


# ---------------------------------------------------------------- second routes


@pytest.mark.parametrize("A", [0.01, 1.0, 40.0])
@pytest.mark.parametrize("personal", [False, True])
def test_a_convex_solver_agrees(A, personal):
    rng = np.random.default_rng(SEED)
    s = np.minimum(rng.zipf(1.5, 30), 200)
    tau = rng.uniform(0.3, 3, 30) if personal else np.ones(30)
    w, t = cp.Variable(30, nonneg=True), cp.Variable()
    cost = cp.square(t) + A * cp.sum_squares(cp.multiply(w, 1 / np.sqrt(s)))
    problem = cp.Problem(cp.Minimize(cost), [cp.sum(w) == 1, w <= tau * t])
    problem.solve(solver=cp.CLARABEL, tol_gap_abs=1e-13, tol_gap_rel=1e-13, tol_feas=1e-13)
    assert problem.status == cp.OPTIMAL
    best = tradeoff_weights(s, A, tau)
    assert_allclose(best.value, problem.value, rtol=1e-7)
    assert_allclose(best.weights, w.value, atol=1e-6)


@given(SIZES, PRICES, st.integers(0, 10_000))
def test_no_other_weights_are_better(sizes, tradeoff, seed):
    rng = np.random.default_rng(seed)
    best = tradeoff_weights(sizes, tradeoff)
    for step in (1e-3, 0.1, 1.0):
        other = np.abs(best.weights * np.exp(step * rng.standard_normal(len(sizes))))
        value = tradeoff_value(other / other.sum(), sizes, tradeoff)
        assert value >= best.value * (1 - 1e-13)


@given(SIZES, PRICES)
def test_every_whole_threshold_tried(sizes, tradeoff):
    limit = sample_limit(sizes, tradeoff)
    tried = sample_limit_value(np.arange(min(sizes), max(sizes) + 1), sizes, tradeoff)
    assert_allclose(limit.value, tried.min(), rtol=1e-13)
    assert_allclose(tried[int(limit.threshold) - min(sizes)], limit.value, rtol=0)


@given(SIZES, PRICES)
def test_every_real_threshold_tried(sizes, tradeoff):
    limit = sample_limit(sizes, tradeoff, integer=False)
    grid = np.linspace(min(sizes), max(sizes), 2001)
    tried = sample_limit_value(grid, sizes, tradeoff)
    assert limit.value <= tried.min() * (1 + 1e-13)
    near = np.clip(limit.threshold * (1 + np.array([-1e-4, 1e-4])), min(sizes), max(sizes))
    assert np.all(sample_limit_value(near, sizes, tradeoff) >= limit.value * (1 - 1e-13))
    assert limit.ratio <= sample_limit(sizes, tradeoff).ratio * (1 + 1e-13)


@pytest.mark.parametrize("h", [0.4, 1.0, 2.5, 7.0])
def test_the_value_of_a_threshold_from_its_definition(h):
    s = np.array([1, 2, 2, 9])
    kept = np.minimum(s, h)
    w = kept / kept.sum()  # every kept row weighs the same
    expected = w.max() ** 2 + 3.0 * np.sum(kept) / kept.sum() ** 2
    assert_allclose(sample_limit_value(h, s, 3.0), expected, rtol=1e-15)


# ---------------------------------------------------------------- the gap


@given(SIZES, PRICES)
def test_ratios_stay_below_their_bounds(sizes, tradeoff):
    limit = sample_limit(sizes, tradeoff)
    assert limit.value >= (1 - 1e-12) * tradeoff_weights(sizes, tradeoff).value
    assert 1 <= limit.ratio <= 1.564929
    assert sample_limit(sizes, tradeoff, integer=False).ratio <= 25 / 16 + 1e-12


@pytest.mark.parametrize("tradeoff", [7.137400285949698, 141.11093111960128])
def test_rounding_takes_no_ratio_below_one(tradeoff):
    """A single user has all the weight either way; the quotient misses 1 by a rounding."""
    limit = sample_limit([5], tradeoff)
    assert 1 - 1e-15 < limit.value / tradeoff_weights([5], tradeoff).value < 1
    assert limit.ratio == 1


@pytest.mark.parametrize("k", [4, 50, 1000])
def test_the_extreme_family(k):
    sizes = [1] * (2 * k) + [10**12]  # h = 3 k, twice of which is the best threshold
    assert_allclose(tradeoff_weights(sizes, 3 * k).h, 3 * k, rtol=1e-8)
    limit = sample_limit(sizes, 3 * k)
    assert_allclose(limit.ratio, 25 / 16, rtol=1e-7)
    assert limit.threshold == 6 * k


def test_the_instance_of_the_paper():
    ratios = [sample_limit([1] * g + [g * g + 1], g).ratio for g in (1, 10, 100, 1000)]
    assert np.all(np.diff(ratios) > 0)
    assert 1.498 < ratios[-1] < 1.5


def test_whole_thresholds_can_lose_more():
    sizes = [1] * 839 + [10**9] * 1000
    A = 1.24657 / 1000
    assert_allclose(sample_limit(sizes, A).ratio, 1.564919, atol=5e-7)
    assert sample_limit(sizes, A, integer=False).ratio <= 25 / 16


def test_plateaus_mislead_nobody():
    sizes = [1] * 3 + [10**12] * 2  # 6 h = 2 A (3 + 2 h) where the value turns
    A = 1.4999999
    real = sample_limit(sizes, A, integer=False).threshold
    assert_allclose(real, 6 * A / (6 - 4 * A), rtol=1e-8)  # about 2e7; A itself is rounded
    whole = sample_limit(sizes, A).threshold
    assert whole in (np.floor(real), np.ceil(real))
    around = sample_limit_value(whole + np.arange(-1000, 1001), sizes, A)
    assert np.ptp(around) < 1e-15  # nothing to compare here
    assert sample_limit(sizes, 1000.0).threshold == 10**12
    assert sample_limit(sizes, np.inf) == (10**12, np.inf, 1.0)


# ---------------------------------------------------------------- which rows are kept


@given(SIZES, st.integers(1, 50), st.integers(0, 10_000))
def test_kept_rows_are_counted_right(sizes, threshold, seed):
    rng = np.random.default_rng(seed)
    codes = rng.permutation(np.repeat(np.arange(len(sizes)), sizes))
    kept = limit_rows(codes, threshold, rng=rng)
    counts = np.bincount(codes[kept], minlength=len(sizes))
    assert_array_equal(counts, np.minimum(sizes, threshold))


def test_every_row_is_kept_equally_often():
    rng = np.random.default_rng(SEED)
    codes = np.array([0, 1, 0, 0, 1, 0])
    often = sum(limit_rows(codes, 1, rng=rng).astype(int) for _ in range(8000))
    chance = np.where(codes == 0, 1 / 4, 1 / 2)
    sd = np.sqrt(8000 * chance * (1 - chance))
    assert np.all(np.abs(often - 8000 * chance) < 5 * sd)  # false alarm about 3e-6


# ---------------------------------------------------------------- planted bugs


def integer_h(sizes, tradeoff, tau):
    return np.ceil(tradeoff_weights(sizes, tradeoff, tau).h)


def h_without_budgets(sizes, tradeoff, tau):
    return tradeoff_weights(sizes, tradeoff).h


@pytest.mark.parametrize("bug", [integer_h, h_without_budgets])
def test_planted_roots_are_caught(bug):
    s, tau = np.array([1, 3, 10, 40]), np.array([0.5, 1.0, 2.0, 0.3])
    h = bug(s, 2.0, tau)
    w = np.minimum(s, h * tau)
    assert tradeoff_value(w / w.sum(), s, 2.0, tau) > tradeoff_weights(s, 2.0, tau).value * 1.001


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("sizes", "message"),
    [
        ([], "sizes must have shape"),
        ([[1, 2]], "sizes must have shape"),
        ([1, 0], r"sizes must be finite and above 0; got sizes\[1\] = 0"),
        ([1, 2.5], r"sizes must be whole numbers up to 2\*\*53; got sizes\[1\] = 2.5"),
        ([1, 2.0**60], r"sizes must be whole numbers up to 2\*\*53; got sizes\[1\] = 1.15292e\+18"),
        ([1, np.nan], "sizes must be finite"),
    ],
)
@pytest.mark.parametrize("function", [tradeoff_weights, sample_limit])
def test_bad_sizes(function, sizes, message):
    with pytest.raises(ValueError, match=message):
        function(sizes, 1.0)


def test_the_largest_size_is_served():
    best = tradeoff_weights([1, 2.0**53], np.inf)
    assert_allclose(best.weights, [2.0**-53, 1], rtol=1e-15)
    assert sample_limit([2.0**53], 0.0).value == 1


@pytest.mark.parametrize("tradeoff", [-1.0, np.nan, -np.inf, [1.0, 2.0]])
def test_bad_tradeoffs(tradeoff):
    with pytest.raises(ValueError, match="tradeoff must be"):
        tradeoff_weights([1, 2], tradeoff)
    with pytest.raises(ValueError, match="tradeoff must be"):
        sample_limit([1, 2], tradeoff)


@pytest.mark.parametrize("wrong", ["1", None, True])
def test_wrong_kinds(wrong):
    with pytest.raises(TypeError, match="tradeoff must be a number"):
        tradeoff_weights([1, 2], wrong)
    with pytest.raises(TypeError, match="sizes must be a number"):
        tradeoff_weights([1, wrong], 1.0)


def test_bad_budgets_thresholds_and_weights():
    with pytest.raises(ValueError, match=r"budgets must be finite and above 0; got budgets\[0\]"):
        tradeoff_weights([1, 2], 1.0, [0.0, 1.0])
    with pytest.raises(ValueError, match=r"budgets must be a number or have shape \(2,\)"):
        tradeoff_weights([1, 2], 1.0, [1.0])
    with pytest.raises(ValueError, match="thresholds must be finite and above 0"):
        sample_limit_value([0.0], [1, 2], 1.0)
    with pytest.raises(ValueError, match=r"weights must have shape \(2,\)"):
        tradeoff_value([1.0], [1, 2], 1.0)
    with pytest.raises(TypeError, match="threshold must be a whole number"):
        limit_rows([0, 1], 1.5, rng=np.random.default_rng(0))
    with pytest.raises(TypeError, match="rng must be a numpy"):
        limit_rows([0, 1], 1, rng=0)
