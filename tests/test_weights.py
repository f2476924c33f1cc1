"""Capped weights: the exact root, its certificate, and a solver that has never heard of caps.

Threshold weights: every threshold tried in exact arithmetic, and what a fit with them promises.
"""

from fractions import Fraction

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from mechanisms import PROMISING, ROWS
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize
from sklearn.base import clone

from pdpbook import audit, datasets
from pdpbook.personalized import (
    PDPRidge,
    capped_weights,
    pdp_weights,
    threshold_budgets,
)

SEED = 20261121
SHAPES = st.integers(1, 40), st.floats(0.05, 5), st.integers(0, 10_000)
RATIOS = st.one_of(st.just(0.0), st.floats(1e-6, 1e6))


def crowd(n, spread, seed):
    return np.exp(spread * np.random.default_rng(seed).standard_normal(n))


def value(weights, epsilon, ratio):
    """The objective over V, at the smallest unit u that these weights allow."""
    return ratio * (weights / epsilon).max() ** 2 + weights @ weights


def cap_of(weights, epsilon):
    """The cap m, read off the weights: whoever is not at their budget is at it."""
    unit = (weights / epsilon).max()
    return weights.max() / unit, unit


# ---------------------------------------------------------------- by hand, and limits


def test_caps_by_hand():
    # min(e, 2) = 1, 1, 2: the left side is 1 (2 - 1) + 1 (2 - 1) = 2
    assert_allclose(capped_weights([1.0, 1.0, 4.0], 2.0), [0.25, 0.25, 0.5], rtol=1e-15)
    assert_allclose(capped_weights([4.0, 1.0, 1.0], 2.0), [0.5, 0.25, 0.25], rtol=1e-15)
    # below the second budget: 1 (m - 1) = 0.5
    assert_allclose(capped_weights([1.0, 2.0, 4.0], 0.5), [1 / 4, 1.5 / 4, 1.5 / 4], rtol=1e-15)
    assert_array_equal(capped_weights([7.0], 3.0), [1.0])


def test_no_cap_from_the_threshold_on_and_equality_at_zero():
    epsilon = np.array([0.5, 1.0, 3.0])
    threshold = epsilon.max() * epsilon.sum() - epsilon @ epsilon  # no cap iff at least this
    assert_array_equal(capped_weights(epsilon, threshold * 1.001), pdp_weights(epsilon))
    assert capped_weights(epsilon, threshold * 0.999)[2] < pdp_weights(epsilon)[2]
    assert_allclose(capped_weights(epsilon, 0.0), [1 / 3] * 3, rtol=1e-15)
    assert_array_equal(capped_weights([2.0] * 5, 1e-9), pdp_weights([2.0] * 5))


def test_huge_and_tiny_budgets():
    assert_allclose(capped_weights([1e308] * 4, 1.0), [0.25] * 4, rtol=1e-15)
    assert_allclose(capped_weights([1e-200, 2e-200], 1.0), [1 / 3, 2 / 3], rtol=1e-15)
    assert_allclose(capped_weights([1.0, 1e6], 1e-3), [1 / 2.001, 1.001 / 2.001], rtol=1e-12)


# ---------------------------------------------------------------- identities


@given(*SHAPES, RATIOS, st.floats(1e-3, 1e3))
def test_identities_of_the_cap(n, spread, seed, ratio, factor):
    epsilon = crowd(n, spread, seed)
    weights = capped_weights(epsilon, ratio)
    assert_allclose(weights.sum(), 1, rtol=1e-13)
    order = np.random.default_rng(seed).permutation(n)
    assert_allclose(capped_weights(epsilon[order], ratio), weights[order], rtol=1e-10)
    assert_allclose(capped_weights(factor * epsilon, factor**2 * ratio), weights, rtol=1e-9)
    shape = weights / weights.min() * epsilon.min()  # min(epsilon, m) when somebody is uncapped
    assert np.all(shape <= epsilon * (1 + 1e-12))
    assert np.all(np.diff(weights[np.argsort(epsilon)]) >= -1e-15)


# ---------------------------------------------------------------- second routes


@given(*SHAPES, RATIOS)
def test_karush_kuhn_tucker_residuals_vanish(n, spread, seed, ratio):
    """With multipliers a_i >= 0 of w_i <= e_i u and b of the sum: 2 w_i + a_i = b for everybody,
    a_i (e_i u - w_i) = 0, and 2 ratio u = sum a_i e_i. The program is convex: that is optimal."""
    epsilon = crowd(n, spread, seed)
    weights = capped_weights(epsilon, ratio)
    cap, unit = cap_of(weights, epsilon)
    below = weights >= epsilon * unit * (1 - 1e-12)  # nobody has more than their budget allows
    assert np.all(weights <= epsilon * unit * (1 + 1e-15))
    if below.all():  # no cap: b is free upward, so only a sign is left
        assert 2 * ratio * unit >= 2 * (weights.max() - weights) @ epsilon * (1 - 1e-9)
        return
    b = 2 * cap * unit  # from those with a_i = 0
    a = np.maximum(b - 2 * weights, 0.0)
    capped = ~below
    assert_allclose(weights[capped], b / 2, rtol=1e-12)
    # the sum of n positive terms, each exact to the rounding of b - 2 w_i
    scale = b * epsilon[below].sum()
    assert abs(2 * ratio * unit - a[below] @ epsilon[below]) <= 1e-12 * n * scale


def lower_bound(a, b, epsilon, ratio):
    """Lagrangian dual at multipliers a >= 0 and b: no feasible point has a smaller value."""
    return b - np.sum(np.maximum(b - a, 0) ** 2) / 4 - (a @ epsilon) ** 2 / (4 * ratio)


@pytest.mark.parametrize("ratio", [0.05, 1.0, 20.0])
@pytest.mark.parametrize("seed", range(3))
def test_a_convex_solver_finds_the_same_value(ratio, seed):
    epsilon = crowd(25, 1.0, seed)
    w, u = cp.Variable(25), cp.Variable()
    limits = [w >= 0, w <= cp.multiply(epsilon, u), cp.sum(w) == 1]
    program = cp.Problem(cp.Minimize(ratio * cp.square(u) + cp.sum_squares(w)), limits)
    program.solve(solver=cp.CLARABEL, tol_gap_abs=1e-12, tol_gap_rel=1e-12, tol_feas=1e-12)
    assert program.status == cp.OPTIMAL
    theirs = np.maximum(w.value, 0) / np.maximum(w.value, 0).sum()  # feasible, with the best u
    floor = lower_bound(limits[1].dual_value, -limits[2].dual_value, epsilon, ratio)
    gap = value(theirs, epsilon, ratio) - floor
    assert 0 <= gap <= 1e-6
    ours = capped_weights(epsilon, ratio)
    assert floor <= value(ours, epsilon, ratio) * (1 + 1e-12) <= floor + gap + 1e-12
    # the value is strongly convex in w with constant 2: distance squared <= excess
    assert np.sum((theirs - ours) ** 2) <= gap


@pytest.mark.parametrize("seed", range(5))
def test_the_root_by_search_is_the_same_cap(seed):
    epsilon = crowd(30, 1.5, seed)
    most = epsilon.max() * epsilon.sum() - epsilon @ epsilon
    for ratio in most * np.array([1e-4, 0.1, 0.7]):
        m = optimize.brentq(
            lambda m, r=ratio: np.minimum(epsilon, m) @ (m - np.minimum(epsilon, m)) - r,
            epsilon.min(),
            epsilon.max(),
            xtol=1e-300,
            rtol=8.9e-16,
        )
        searched = np.minimum(epsilon, m) / np.minimum(epsilon, m).sum()
        assert_allclose(capped_weights(epsilon, ratio), searched, rtol=1e-11)


@given(*SHAPES, st.floats(1e-3, 1e3))
def test_no_other_cap_is_better(n, spread, seed, ratio):
    epsilon = crowd(n, spread, seed)
    best = value(capped_weights(epsilon, ratio), epsilon, ratio)
    for cap in np.geomspace(epsilon.min(), epsilon.max(), 40):
        other = np.minimum(epsilon, cap)
        assert best <= value(other / other.sum(), epsilon, ratio) * (1 + 1e-12)


# ---------------------------------------------------------------- planted bugs


def forgets_to_sort(epsilon, ratio):
    below = np.cumsum(epsilon)
    left = np.concatenate([[0.0], np.cumsum(np.diff(epsilon) * below[:-1])])
    k = int(np.searchsorted(left, ratio, side="right")) - 1
    cap = epsilon[k] + (ratio - left[k]) / below[k]
    shape = np.minimum(epsilon, cap)
    return shape / shape.sum()


def takes_the_root_of_the_ratio(epsilon, ratio):
    return capped_weights(epsilon, np.sqrt(ratio))


def inverts_the_ratio(epsilon, ratio):
    return capped_weights(epsilon, 1 / ratio)


def never_caps(epsilon, ratio):
    return pdp_weights(epsilon)


@pytest.mark.parametrize(
    "bug", [forgets_to_sort, takes_the_root_of_the_ratio, inverts_the_ratio, never_caps]
)
def test_planted_weights_are_worse(bug):
    epsilon, ratio = crowd(30, 1.0, 4), 6.0
    best = value(capped_weights(epsilon, ratio), epsilon, ratio)
    assert value(bug(epsilon, ratio), epsilon, ratio) > best * 1.001


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("epsilon", "ratio", "error", "match"),
    [
        (
            [1.0, np.nan],
            1.0,
            ValueError,
            r"epsilon must be finite and at least 0; got epsilon\[1\]",
        ),
        ([0.0, 0.0], 1.0, ValueError, r"epsilon must be above 0 for somebody; got 0 for all 2"),
        (1.0, 1.0, ValueError, r"epsilon must have shape \(n,\)"),
        ([], 1.0, ValueError, "epsilon must be a number or a one-dimensional array"),
        ([True, False], 1.0, TypeError, "epsilon must be a number"),
        ([1.0], np.nan, ValueError, "ratio must be finite and at least 0; got nan"),
        ([1.0], np.inf, ValueError, "ratio must be finite and at least 0; got inf"),
        ([1.0], -1.0, ValueError, "ratio must be finite and at least 0; got -1"),
        ([1.0], [1.0, 2.0], ValueError, "ratio must be a single number"),
        ([1.0], True, TypeError, "ratio must be a number"),
        ([1.0], "1", TypeError, "ratio must be a number"),
    ],
)
def test_bad_input_is_refused(epsilon, ratio, error, match):
    with pytest.raises(error, match=match):
        capped_weights(epsilon, ratio)


# ================================================================ the best threshold


def by_trying(epsilon):
    """Largest t m(t) over all thresholds, and the smallest t that has it, in exact arithmetic."""
    exact = [Fraction(float(e)) for e in epsilon]
    values = {t: t * sum(e >= t for e in exact) for t in exact}
    best = max(values.values())
    return best, min(t for t in values if values[t] == best)


def test_thresholds_by_hand():
    assert_array_equal(threshold_budgets([0.1, 0.2, 0.2, 0.5]), [0, 0.2, 0.2, 0.2])
    assert_array_equal(
        pdp_weights(threshold_budgets([0.1, 0.2, 0.2, 0.5])), [0, 1 / 3, 1 / 3, 1 / 3]
    )
    assert_array_equal(threshold_budgets([5.0, 1.0, 1.0]), [5, 0, 0])
    assert_array_equal(threshold_budgets([0.3] * 4), [0.3] * 4)
    assert_array_equal(threshold_budgets([7]), [7.0])


def test_of_tied_thresholds_the_one_that_leaves_out_the_fewest():
    assert_array_equal(threshold_budgets([1.0, 0.5, 0.25, 0.25]), [0.25] * 4)
    assert_array_equal(threshold_budgets([0.5, 1.0, 0.2]), [0.5, 0.5, 0])
    epsilon = 0.7 / np.arange(1, 50)  # k times the k-th budget is 0.7, up to rounding
    assert_array_equal(threshold_budgets(epsilon), np.full(49, epsilon[-1]))


def test_whoever_asks_for_perfect_privacy_has_no_weight():
    assert_array_equal(pdp_weights(threshold_budgets([0, 0.2, 0.3, 0])), [0, 0.5, 0.5, 0])
    assert_array_equal(threshold_budgets([0, 0.2, 0.3, 0]), [0, 0.2, 0.2, 0])


def test_huge_and_tiny_budgets_have_a_threshold():
    assert_array_equal(threshold_budgets([1e308] * 4), [1e308] * 4)
    assert_array_equal(threshold_budgets([1e-310, 3e-310]), [0, 3e-310])
    assert_array_equal(threshold_budgets([1e308, 1e-300]), [1e308, 0])


@given(*SHAPES, st.floats(1e-3, 1e3))
def test_the_threshold_is_the_best_of_all(n, spread, seed, factor):
    epsilon = crowd(n, spread, seed)
    best, _ = by_trying(epsilon)
    found = threshold_budgets(epsilon)
    assert np.all(found <= epsilon)
    assert_array_equal(found > 0, epsilon >= found.max())
    assert_allclose(found.sum(), float(best), rtol=1e-11)
    order = np.random.default_rng(seed).permutation(n)
    assert_array_equal(threshold_budgets(epsilon[order]), found[order])
    assert_array_equal(
        pdp_weights(threshold_budgets(factor * epsilon)), pdp_weights(threshold_budgets(epsilon))
    )


@given(*SHAPES)
def test_the_rate_is_within_the_harmonic_number(n, spread, seed):
    epsilon = crowd(n, spread, seed)
    ratio = epsilon.sum() / threshold_budgets(epsilon).sum()
    wide = 1 + np.log(epsilon.max() / epsilon.min())
    assert 1 - 1e-12 <= ratio <= min((1 / np.arange(1, n + 1)).sum(), wide) * (1 + 1e-12)


@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_the_harmonic_number_is_attained(n):
    k = np.arange(1, n + 1)
    ratio = (1 / k).sum() / threshold_budgets(1 / k).sum()
    assert_allclose(ratio, (1 / k).sum(), rtol=1e-12)


@pytest.mark.parametrize(
    "bug",
    [
        lambda e: np.full(len(e), e.min()),
        lambda e: np.where(e >= e.mean(), e.mean(), 0),
        lambda e: np.where(e > np.median(e), e.min(), 0),
    ],
    ids=["the minimum", "the mean", "a median, at the minimum"],
)
def test_planted_thresholds_have_smaller_rates(bug):
    epsilon = datasets.sample_budgets(100, rng=np.random.default_rng(3))
    assert bug(epsilon).sum() < 0.97 * threshold_budgets(epsilon).sum()


MIXED = np.array([0.02, 0.3, 0.5, 0.4, 0.9, 1.0, 0.1, 0.6])


PURE = [
    clone(m).set_params(**{"lam": 400.0} if hasattr(m, "lam") else {})
    for m in PROMISING
    if ROWS[type(m)].neighbors == "replace-one" and not getattr(m, "delta", 0)
]


@pytest.mark.parametrize("model", PURE, ids=lambda m: type(m).__name__ + getattr(m, "loss", ""))
def test_a_fit_at_the_threshold_promises_it_or_nothing(model):
    """Whoever is left out may say anything."""
    rng = np.random.default_rng(5)
    X, y = rng.random((8, 3)), rng.uniform(-1, 1, 8)
    given_ = threshold_budgets(MIXED)
    out = given_ == 0
    assert out.any()
    promised = []
    for X_, y_ in [(X, y), (np.where(out[:, None], 1 - X, X), np.where(out, -y, y))]:
        model.set_params(random_state=9).fit(X_, y_, epsilon=given_)
        promised.append((model.predict(X), model.guarantee_))
    assert_array_equal(promised[0][0], promised[1][0])
    assert_array_equal(promised[0][1].epsilon, given_)
    assert np.all(promised[0][1].epsilon <= MIXED)


def test_the_threshold_release_is_not_broken_by_a_search():
    class AtTheThreshold(PDPRidge):
        def output_law(self, X, y=None, *, epsilon=None):
            return super().output_law(X, y, epsilon=threshold_budgets(epsilon))

    class NobodyLeftOut(PDPRidge):
        """The rate of the threshold, for all people at equal weights."""

        def output_law(self, X, y=None, *, epsilon=None):
            return super().output_law(X, y, epsilon=threshold_budgets(epsilon).max())

    def worst(model):
        return audit.search_neighbors(
            model, 8, 4, epsilon=MIXED, trials=300, climbs=1, rng=np.random.default_rng(5)
        ).worst.ratio

    assert 0.9 <= worst(AtTheThreshold(400.0)) <= 1
    assert worst(NobodyLeftOut(400.0)) > 5


@pytest.mark.parametrize(
    ("epsilon", "error", "match"),
    [
        ([1.0, np.nan], ValueError, r"epsilon must be finite and at least 0; got epsilon\[1\]"),
        ([1.0, -1.0], ValueError, r"epsilon must be finite and at least 0; got epsilon\[1\]"),
        ([0.0, 0.0], ValueError, r"epsilon must be above 0 for somebody; got 0 for all 2"),
        (1.0, ValueError, r"epsilon must have shape \(n,\)"),
        ([[1.0, 2.0]], ValueError, "epsilon must be a number or a one-dimensional array"),
        ([True, False], TypeError, "epsilon must be a number"),
    ],
)
def test_bad_budgets_have_no_threshold(epsilon, error, match):
    with pytest.raises(error, match=match):
        threshold_budgets(epsilon)
