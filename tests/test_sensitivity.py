"""Bounds on the move of a weighted ridge fit: by hand, by identity, and by brute force."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize

from pdpbook.sensitivity import (
    PROOFS,
    capped_sensitivity,
    huber_constant,
    joint_factor,
    label_sensitivity,
    norm_bound,
    ridge_constant,
    solver_excess,
    tight_factor,
)

SEED = 20240607
LAMBDAS = st.floats(1e-6, 1e6)
DIMENSIONS = st.integers(1, 60)
RATIOS = st.floats(1, 20)  # of d to the square of a row norm
RANK_ONE = 3 * math.sqrt(3) / 4 - 1


def fits(X, y, w, lam):
    """Weighted ridge minimizers of a stack: X (m, n, d), y (m, n), w (n,) or (m, n)."""
    weighted = X * np.broadcast_to(w, y.shape)[..., None]
    gram = np.swapaxes(X, 1, 2) @ weighted + lam * np.eye(X.shape[2])
    return np.linalg.solve(gram, np.einsum("mnd,mn->md", weighted, y)[..., None])[..., 0]


def neighbors(m, n, d, rng):
    """Pairs that differ in the first record: cube corners, sparse and dense rows, label signs."""
    X = rng.random((2, m, n, d)) ** rng.choice([0.2, 1, 5], (2, m, 1, 1))
    X = np.where(rng.random((2, m, 1, 1)) < 0.6, np.round(X), X)
    y = np.where(rng.random((2, m, 1)) < 0.7, rng.choice([-1, 1], (2, m, n)), 0)
    y = np.where(rng.random((2, m, 1)) < 0.2, rng.uniform(-1, 1, (2, m, n)), y)
    X[1, :, 1:], y[1, :, 1:] = X[0, :, 1:], y[0, :, 1:]
    return X, y


def shares(m, n, rng):
    """Weights that sum to one, the first of any size."""
    first = 10 ** rng.uniform(-4, 0, (m, 1))
    rest = rng.dirichlet(np.full(n - 1, 0.5), m) if n > 1 else np.empty((m, 0))
    return np.concatenate([first if n > 1 else np.ones((m, 1)), (1 - first) * rest], axis=1)


def leave_one_out_worst(kappa, w, d=12):
    """The move of the hardest fit the proof of the tight constant knows, per w R / lam."""
    lam = d / kappa
    tau = np.linspace(0.5, 1, 20_001)
    tau = tau[np.argmax(tau * (1 + np.sqrt(kappa * tau * (1 - tau))))]
    c = min(1, math.sqrt((1 / tau - 1) / kappa))
    present = fits(
        np.array([[np.ones(d), np.full(d, c)]]), np.array([[-1.0, 1.0]]), [w, 1 - w], lam
    )
    absent = fits(
        np.array([[np.zeros(d), np.full(d, c)]]), np.array([[-1.0, 1.0]]), [w, 1 - w], lam
    )
    return np.linalg.norm(present - absent) * lam / (w * math.sqrt(d))


# ------------------------------------------------------------------------------ by hand


def test_one_person_moves_twice_the_norm():
    # n = 1, d = 12, lam = 1: the fit of (x, y) is y x / (lam + |x|^2), largest 1/2 at |x| = 1
    assert norm_bound(1.0, 12) == 0.5
    assert capped_sensitivity(1.0, 1.0, 12) == 1.0
    assert label_sensitivity(1.0, 1.0, 12) == 1.0
    assert ridge_constant(1.0, 12) > 9  # true, and nine times too large


def test_large_penalty_leaves_only_the_label():
    # kappa -> 0: residuals are the labels, and flipping one moves the fit by 2 w sqrt(d) / lam
    for proof in PROOFS:
        assert_allclose(ridge_constant(1e9, 4, proof), 4e-9, rtol=1e-8)
    assert_allclose(tight_factor(0.0), 1.0, rtol=0)
    assert_allclose(tight_factor(1e-12), 1 + 2.5e-13, rtol=1e-14)  # the documented error


def test_tight_factor_of_the_theory():
    expected = [1.063, 1.377, 1.911, 4.011, 11.02]
    assert_allclose(tight_factor([0.3, 3, 12, 100, 1000]), expected, rtol=5e-4)  # four digits


def test_tight_factor_grows_like_the_root():
    # tau^(3/2) (1 - tau)^(1/2) peaks at tau = 3/4
    assert_allclose(tight_factor(1e14) / 1e7, 3 * math.sqrt(3) / 16, rtol=1e-6)


@pytest.mark.parametrize(
    ("lam", "d", "gain", "unit"),
    [(0.01, 12, 8.8, 0.05), (1, 12, 5.45, 0.005), (10, 30, 3.9, 0.05), (100, 30, 1.49, 0.005)],
)
def test_energy_gained_by_the_tight_proof(lam, d, gain, unit):
    ratio = ridge_constant(lam, d, "published") / ridge_constant(lam, d, "tight")
    assert_allclose(ratio**2, gain, rtol=0, atol=unit)


@pytest.mark.parametrize(
    ("lam", "d", "gain", "unit"),
    [(0.01, 12, 1270, 5), (0.1, 12, 143, 0.5), (1, 12, 19.9, 0.05), (1, 30, 42, 0.5)],
)
def test_energy_gained_by_the_huber_loss(lam, d, gain, unit):
    ratio = ridge_constant(lam, d, "published") / huber_constant(lam, d)
    assert_allclose(ratio**2, gain, rtol=0, atol=unit)


def test_energy_gained_by_a_row_norm():
    # medical cost: three scaled features, three one-hot groups, the constant; units of the digits
    seven = math.sqrt(7)
    for constant, gain, unit in [
        (lambda r: ridge_constant(1.0, 12, "published", row_norm=r), 2.57, 0.005),
        (lambda r: ridge_constant(1.0, 12, "tight", row_norm=r), 2.29, 0.005),
        (lambda r: huber_constant(1.0, 12, row_norm=r), 1.71, 0.005),
    ]:
        assert_allclose((constant(None) / constant(seven)) ** 2, gain, rtol=0, atol=unit)


def test_a_row_norm_enters_every_bound():
    # R = 1.2 and lam = 2 > R^2 = 1.44: B = R / (lam + R^2) = 1.2 / 3.44
    assert_allclose(norm_bound(2.0, 12, row_norm=1.2), 1.2 / 3.44, rtol=1e-15)
    by_hand = 2 * 1.2 / 2 * (1 + 1.2 * 1.2 / 3.44)
    assert_allclose(ridge_constant(2.0, 12, "exact-norm", row_norm=1.2), by_hand, rtol=1e-15)
    # w R^2 = 0.5 <= lam: 2 w R / (lam + w R^2) = 1 / 1.5
    assert_allclose(label_sensitivity(0.5, 1.0, 4, row_norm=1.0), 2 / 3, rtol=1e-15)
    # lam = 1.2 > R^2 = 1: the cap 2 R / (lam + R^2) = 2 / 2.2 is below 1 / sqrt(lam) = 0.913
    assert_allclose(capped_sensitivity(0.95, 1.2, 4, row_norm=1.0), 1 / 1.1, rtol=1e-15)


def test_label_sensitivity_changes_its_form_at_the_square_of_the_radius():
    # w R^2 = 0.8 <= lam = 1 < w R^3 = 1.6: still 2 w R / (lam + w R^2) = 0.8 / 1.8
    assert_allclose(label_sensitivity(0.2, 1.0, 4), 4 / 9, rtol=1e-15)


def test_joint_factor_of_both_ends():
    # kappa -> 0: p sqrt(1 - p^2) beside 1 - phi^2 / 2 gives kappa / 8; in the cube phi^2 is 3 q^2
    assert_allclose(joint_factor(0.0, 2.0), 1.0, rtol=0)
    assert_allclose((joint_factor(1e-6, 2.0) - 1) / 1e-6, 1 / 8, rtol=1e-3)
    assert_allclose((joint_factor(1e-6) - 1) / 1e-6, 1 / 24, rtol=1e-3)
    # kappa -> infinity: rows at a right angle, and in the cube b of the whole factor
    assert_allclose(joint_factor(1e14, 2.0) / 1e7, 1 / 4, rtol=1e-6)
    b = np.linspace(0, 1 / 4, 1_000_001)
    cube = np.max(np.sqrt(b * (1 - 3 * b)) + RANK_ONE * b) / 2
    assert_allclose(joint_factor(1e14) / 1e7, cube, rtol=1e-6)


@pytest.mark.parametrize(("lam", "least"), [(1, 1.9), (5, 1.4)])
def test_energy_gained_by_the_joint_proof(lam, least):
    assert (ridge_constant(lam, 12, "tight") / ridge_constant(lam, 12)) ** 2 >= least


def test_cap_of_the_theory():
    light = 2 * 0.01 * math.sqrt(12) * joint_factor(0.99 * 12)  # the joint constant, w = 0.01
    expected = [light, 0.768, 1.0, 1.0]
    assert_allclose(capped_sensitivity([0.01, 0.1, 0.5, 1.0], 1.0, 12), expected, atol=5e-4)


def test_inexact_minimizers_cost_the_gradient_over_lam():
    assert solver_excess(0.0, 2.0) == 0.0
    assert solver_excess(3.0, 2.0) == 1.5


# --------------------------------------------------------------------------- identities


@given(LAMBDAS, DIMENSIONS)
def test_each_proof_improves_on_the_one_before(lam, d):
    published, exact, tight, joint = (ridge_constant(lam, d, proof) for proof in PROOFS)
    slack = 1 + 1e-14  # the documented excess of tight_factor and joint_factor
    assert published * slack >= exact
    assert exact * slack >= tight
    assert tight * slack >= joint >= huber_constant(lam, d)


@given(LAMBDAS, DIMENSIONS, st.floats(0.01, 8), st.floats(1, 3))
def test_longer_rows_never_move_less(lam, d, R, factor):
    for proof in PROOFS:
        short, long = (ridge_constant(lam, d, proof, row_norm=R * f) for f in (1, factor))
        assert short <= long * (1 + 1e-14)
        assert proof != "joint" or short <= ridge_constant(lam, d, "tight", row_norm=R) * (
            1 + 1e-14
        )


def half_sum(q, ratio):
    return np.sqrt(np.maximum(np.minimum(1 - q**2, ratio - 3 * q**2), 0))


def of_a_pair(kappa, ratio, share):
    """The maximand of the joint factor, at a share of the largest half-difference."""
    q = share * math.sqrt(min(ratio, 2)) / 2
    p = half_sum(q, ratio)
    return p + np.sqrt(kappa) / 2 * (p * q + RANK_ONE * (1 - p**2 - q**2) / 2)


@given(st.floats(0, 1e8), RATIOS, st.floats(0, 1))
def test_joint_factor_is_never_below_its_maximand(kappa, ratio, share):
    assert joint_factor(kappa, ratio) >= of_a_pair(kappa, ratio, share) * (1 - 1e-15)


@pytest.mark.parametrize("ratio", [1.0, 1.2, 12 / 7, 2.0, 5.0])
@pytest.mark.parametrize("kappa", [1e-4, 0.3, 12.0, 1e4])
def test_joint_factor_by_dense_search(kappa, ratio):
    near = float(joint_factor(kappa, ratio))
    share = np.linspace(0, 1, 2_000_001)
    assert_allclose(near, of_a_pair(kappa, ratio, share).max(), rtol=2e-6)  # a step of the grid


@given(st.floats(0, 1e8))
def test_tight_factor_lies_between_its_bounds(kappa):
    upper = min(1 + kappa / 4, 1 + 3 * math.sqrt(3) / 16 * math.sqrt(kappa))
    assert 1 <= tight_factor(kappa) <= upper * (1 + 1e-14)


@given(st.floats(0, 1e6), st.floats(0, 1))
def test_tight_factor_is_never_below_its_maximand(kappa, tau):
    assert tight_factor(kappa) >= tau * (1 + math.sqrt(kappa * tau * (1 - tau))) * (1 - 1e-15)


@given(st.floats(1e-9, 1), LAMBDAS, DIMENSIONS, st.floats(0, 1))
def test_refinement_is_never_below_its_maximand(w, lam, d, tau):
    kappa = d / lam
    share = 1 - tau  # any number in [0, 1] will do
    top = tau * (1 + math.sqrt((1 - w) * kappa * tau * (1 - tau))) / (1 + w * kappa * tau**2)
    top = min(top, of_a_pair((1 - w) * kappa, 1.0, share))
    bound = min(2 * w * math.sqrt(d) / lam * top, 2 * norm_bound(lam, d))
    assert capped_sensitivity(w, lam, d) >= bound * (1 - 1e-14)  # rounding of both sides


@pytest.mark.parametrize("kappa", [1e-4, 0.3, 12.0, 1e3, 1e7])
def test_peak_agrees_with_a_grid(kappa):
    phi = np.linspace(0, np.pi / 6, 400_001)  # the peak is quadratic: a step of 1.3e-6 squared
    height = np.cos(phi) ** 2 * (1 + np.sqrt(kappa) * np.sin(2 * phi) / 2)
    assert_allclose(tight_factor(kappa), height.max(), rtol=1e-11)


@pytest.mark.parametrize("kappa", [1e-4, 0.3, 3.0])
def test_refined_peak_agrees_with_a_grid(kappa):
    w, phi = 0.3, np.linspace(0, np.pi / 2, 400_001)
    tau = np.cos(phi) ** 2
    height = tau * (1 + np.sqrt((1 - w) * kappa) * np.sin(2 * phi) / 2) / (1 + w * kappa * tau**2)
    cap = 2 * norm_bound(1 / kappa, 1)  # with d = 1, R / lam is kappa
    refined = 2 * w * kappa * height.max()
    assert refined < cap
    assert_allclose(capped_sensitivity(w, 1 / kappa, 1), refined, rtol=1e-10)


@given(st.floats(0, 1), LAMBDAS, DIMENSIONS)
def test_sensitivities_per_person_are_ordered(w, lam, d):
    slack = 1 + 1e-13
    capped = capped_sensitivity(w, lam, d)
    assert label_sensitivity(w, lam, d) <= capped * slack
    assert capped <= min(w * ridge_constant(lam, d), 2 * norm_bound(lam, d)) * slack


@given(LAMBDAS, DIMENSIONS, st.floats(0.01, 100))
def test_row_norm_beyond_the_cube_changes_nothing(lam, d, excess):
    wide = math.sqrt(d) * (1 + excess)
    for proof in PROOFS:
        assert ridge_constant(lam, d, proof, row_norm=wide) == ridge_constant(lam, d, proof)
        assert norm_bound(lam, d, proof, row_norm=wide) == norm_bound(lam, d, proof)
    assert huber_constant(lam, d, row_norm=wide) == huber_constant(lam, d)
    assert label_sensitivity(0.1, lam, d, row_norm=wide) == label_sensitivity(0.1, lam, d)
    assert capped_sensitivity(0.1, lam, d, row_norm=wide) == capped_sensitivity(0.1, lam, d)


@given(LAMBDAS, DIMENSIONS, st.floats(1e-6, 1e6))
def test_known_bound_never_hurts(lam, d, bound):
    for proof in PROOFS:
        constant = ridge_constant(lam, d, proof, bound=bound)
        by_hand = 2 * math.sqrt(d) / lam * (1 + math.sqrt(d) * bound)
        assert constant == min(ridge_constant(lam, d, proof), by_hand)


def test_shapes_are_kept():
    for single in (
        tight_factor(3),
        joint_factor(3),
        label_sensitivity(0.1, 1, 2),
        capped_sensitivity(0.1, 1, 2),
    ):
        assert type(single) is float
    grid = np.full((2, 3), 0.1)
    for move in (
        tight_factor(grid),
        joint_factor(grid),
        label_sensitivity(grid, 1, 2),
        capped_sensitivity(grid, 1, 2),
    ):
        assert move.shape == (2, 3)
        assert move.dtype == np.float64


# ------------------------------------------------------- brute force: refits, no formula


@pytest.mark.parametrize(("n", "d"), [(1, 2), (2, 3), (3, 5), (4, 12)])
@pytest.mark.parametrize("lam", [0.01, 0.3, 3.0, 100.0])
def test_no_neighbor_beats_the_bounds(n, d, lam):
    rng = np.random.default_rng([SEED, n, d, int(100 * lam)])
    X, y = neighbors(2000, n, d, rng)
    w = shares(2000, n, rng)
    before, after = fits(X[0], y[0], w, lam), fits(X[1], y[1], w, lam)
    move = np.linalg.norm(before - after, axis=1)
    assert (move <= capped_sensitivity(w[:, 0], lam, d) * (1 + 1e-9)).all()
    assert (move <= w[:, 0] * ridge_constant(lam, d) * (1 + 1e-9)).all()
    assert (np.linalg.norm(before, axis=1) <= norm_bound(lam, d) * (1 + 1e-9)).all()
    relabeled = fits(X[0], np.column_stack([-y[0, :, :1], y[0, :, 1:]]), w, lam)
    move = np.linalg.norm(before - relabeled, axis=1)
    assert (move <= label_sensitivity(w[:, 0], lam, d) * (1 + 1e-9)).all()


@pytest.mark.parametrize("lam", [0.1, 1.0, 30.0])
def test_no_neighbor_beats_the_bounds_of_its_rows(lam):
    rng = np.random.default_rng([SEED, int(10 * lam)])
    X, y = neighbors(2000, 3, 6, rng)
    R = 1.2
    X *= np.minimum(1, R / np.maximum(np.linalg.norm(X, axis=-1, keepdims=True), 1e-9))
    w = shares(2000, 3, rng)
    before, after = fits(X[0], y[0], w, lam), fits(X[1], y[1], w, lam)
    move = np.linalg.norm(before - after, axis=1)
    assert (move <= capped_sensitivity(w[:, 0], lam, 6, row_norm=R) * (1 + 1e-9)).all()
    assert (move <= w[:, 0] * ridge_constant(lam, 6, row_norm=R) * (1 + 1e-9)).all()
    assert (np.linalg.norm(before, axis=1) <= norm_bound(lam, 6, row_norm=R) * (1 + 1e-9)).all()


@pytest.mark.parametrize("lam", [0.05, 1.0, 8.0])
def test_all_corners_of_a_tiny_problem(lam):
    corners = np.array(list(itertools.product([0, 1], repeat=2)), dtype=float)
    records = [(x, y) for x in corners for y in (-1.0, 1.0)]
    for w in (0.02, 0.3, 0.5):
        data = [(a, b, c) for a in records for b in records for c in records]
        X = np.array([[r[0] for r in rows] for rows in data])
        y = np.array([[r[1] for r in rows] for rows in data])
        theta = fits(X, y, np.array([w, 0.6 * (1 - w), 0.4 * (1 - w)]), lam)
        theta = theta.reshape(len(records), -1, 2)  # first record, others, fit
        move = np.linalg.norm(theta[:, None] - theta[None], axis=-1).max()
        assert move <= capped_sensitivity(w, lam, 2)


@pytest.mark.parametrize(("lam", "d"), [(0.01, 3), (1.0, 12), (50.0, 12)])
def test_norm_is_attained(lam, d):
    x = np.full((1, 1, d), min(1.0, math.sqrt(lam / d)))
    assert_allclose(np.linalg.norm(fits(x, np.ones((1, 1)), [1.0], lam)), norm_bound(lam, d))


@pytest.mark.parametrize("w", [1e-3, 0.1, 1.0])
@pytest.mark.parametrize(("lam", "d"), [(0.01, 3), (1.0, 12), (50.0, 12)])
def test_label_sensitivity_is_attained(w, lam, d):
    x = np.full(d, min(1.0, math.sqrt(lam / (w * d))))
    X = np.array([[x, np.zeros(d)]] * 2)
    up, down = fits(X, np.array([[1.0, 0.0], [-1.0, 0.0]]), [w, 1 - w], lam)
    assert_allclose(np.linalg.norm(up - down), label_sensitivity(w, lam, d), rtol=1e-9)


def huber_fit(X, y, w, lam, c=1.0):
    """Minimizer by the damped Newton method, checked by its gradient."""
    theta = np.zeros(X.shape[1])
    for _ in range(2000):
        psi = np.clip(y - X @ theta, -c, c)
        gradient = 2 * (lam * theta - X.T @ (w * psi))
        if np.linalg.norm(gradient) < 1e-13:
            return theta
        theta = theta - np.linalg.solve(
            X.T @ (w[:, None] * X) + lam * np.eye(len(theta)), gradient / 2
        )
    raise AssertionError("the Huber fit did not converge")


@pytest.mark.parametrize("c", [0.3, 1.0])
def test_huber_constant_is_attained_where_residuals_saturate(c):
    # others = (c' 1, label 1) push the fit up; the person's row is all ones, labels +1 or -1
    lam, d, w = 2.0, 4, 1e-4
    X = np.array([np.ones(d), np.zeros(d)])
    weights = np.array([w, 1 - w])
    up, down = (huber_fit(X, np.array([s, 0.0]), weights, lam, c) for s in (1.0, -1.0))
    ratio = np.linalg.norm(up - down) / (w * huber_constant(lam, d, c))
    assert 0.999 <= ratio <= 1 + 1e-9


def test_no_neighbor_beats_the_huber_constant():
    rng = np.random.default_rng(SEED)
    X, y = neighbors(300, 3, 4, rng)
    w = shares(300, 3, rng)
    worst = 0.0
    for k in range(300):
        lam = 10 ** rng.uniform(-1, 1)
        a, b = (huber_fit(X[s, k], y[s, k], w[k], lam) for s in (0, 1))
        worst = max(worst, np.linalg.norm(a - b) / (w[k, 0] * huber_constant(lam, 4)))
    assert 0.5 < worst <= 1 + 1e-9


@pytest.mark.parametrize("kappa", [0.3, 3.0, 12.0, 100.0, 1000.0])
def test_one_sided_form_is_attained_as_the_weight_vanishes(kappa):
    ratios = [leave_one_out_worst(kappa, w) / tight_factor(kappa) for w in (1e-2, 1e-4, 1e-6)]
    assert ratios[0] < ratios[1] < ratios[2] <= 1 + 1e-9
    assert ratios[2] >= 1 - 2e-6 * (1 + kappa)  # the denominator 1 + w kappa tau^2


# -------------------------------------------------- an attacker free to choose everything


def free_attack(d, R, lam, w, others=2, starts=12):
    """Best move per weight that L-BFGS finds over records, labels and weights of the others."""
    rng = np.random.default_rng([SEED, d, int(1000 * lam)])
    rows, size = others + 2, (others + 2) * (d + 1) + others

    def data(p):
        X = (1 - np.cos(p[:, : rows * d])).reshape(-1, rows, d) / 2
        X = X * np.minimum(1, R / np.maximum(np.linalg.norm(X, axis=-1, keepdims=True), 1e-300))
        y = np.sin(p[:, rows * d : rows * (d + 1)])
        rest = 1 + np.sin(p[:, rows * (d + 1) :])
        rest *= (1 - w) / np.maximum(rest.sum(axis=1, keepdims=True), 1e-300)
        return X, y, np.hstack([np.full((len(p), 1), w), rest])

    def move(p):
        X, y, weights = data(p)
        one, two = (
            fits(np.delete(X, k, axis=1), np.delete(y, k, axis=1), weights, lam) for k in (0, 1)
        )
        return np.linalg.norm(one - two, axis=1) / w

    def value_and_slope(p, h=1e-5):
        found = move(p + h * np.vstack([np.zeros(size), np.eye(size), -np.eye(size)]))
        return -found[0], (found[size + 1 :] - found[1 : size + 1]) / (2 * h)

    return max(
        -minimize(value_and_slope, 1.5 * rng.normal(size=size), jac=True, method="L-BFGS-B").fun
        for _ in range(starts)
    )


@pytest.mark.parametrize(
    ("d", "R", "lam", "least"),
    [
        (4, 2.0, 0.01, 0.85),
        (4, 2.0, 1.0, 0.95),
        (4, 2.0, 40.0, 0.99),
        (4, 1.2, 0.02, 0.98),
        (6, 2.0, 0.05, 0.85),  # d / R^2 is 1.5: the cube helps in part
        (6, 1.0, 0.3, 0.95),
    ],
)
def test_a_free_attack_nearly_attains_the_joint_constant(d, R, lam, least):
    found = free_attack(d, R, lam, 1e-5) / ridge_constant(lam, d, row_norm=R)
    assert least <= found <= 1


@pytest.mark.parametrize("w", [0.02, 0.1, 0.4, 0.9])
@pytest.mark.parametrize("R", [1.0, 2.0])
def test_a_free_attack_stays_below_the_capped_sensitivity(R, w):
    found = w * free_attack(4, R, 0.3, w, starts=3)
    assert 0.4 < found / capped_sensitivity(w, 0.3, 4, row_norm=R) <= 1


def cube_factor_with_a_row_norm(lam, d, R):
    return 2 * R / lam * joint_factor(R**2 / lam)


@pytest.mark.parametrize(("d", "R", "lam"), [(4, 1.2, 0.02), (6, 2.0, 0.05)])
def test_the_factor_of_the_cube_is_exceeded_by_rows_of_a_norm(d, R, lam):
    found = free_attack(d, R, lam, 1e-5)
    assert found <= ridge_constant(lam, d, row_norm=R)
    assert found > 1.05 * cube_factor_with_a_row_norm(lam, d, R)


def test_half_of_the_joint_constant_is_not_enough_for_somebody_who_leaves():
    for lam in (0.1, 1.0):
        leaves = leave_one_out_worst(12 / lam, 1e-5) * math.sqrt(12) / lam
        assert ridge_constant(lam, 12) / 2 < leaves <= ridge_constant(lam, 12, "tight") / 2


# ------------------------------------------------------------------------ planted bugs


def add_remove_constant(lam, d):
    """Half: what removing a record costs, promised to somebody who may replace theirs."""
    return ridge_constant(lam, d) / 2


def forgotten_root(lam, d):
    return ridge_constant(lam, d) / math.sqrt(d)


def doubled_mean_penalty(lam, d):
    """The penalty of somebody else, whose loss has no factor one half."""
    return ridge_constant(2 * lam, d)


def flipped_label(lam, d, w):
    X = np.array([[np.ones(d), np.zeros(d)]] * 2)
    up, down = fits(X, np.array([[1.0, 0.0], [-1.0, 0.0]]), [w, 1 - w], lam)
    return np.linalg.norm(up - down) / w


@pytest.mark.parametrize("bug", [add_remove_constant, forgotten_root, doubled_mean_penalty])
def test_planted_constants_are_exceeded_by_one_flip(bug):
    move = flipped_label(100.0, 4, 1e-4)  # kappa = 0.04: every constant is nearly attained
    assert all(move <= ridge_constant(100.0, 4, proof) for proof in PROOFS)
    assert move > bug(100.0, 4)


def test_norm_bound_of_the_wrong_regime_is_exceeded():
    lam, d = 0.1, 12
    x = np.full((1, 1, d), math.sqrt(lam / d))
    norm = np.linalg.norm(fits(x, np.ones((1, 1)), [1.0], lam))
    R = math.sqrt(d)
    assert norm <= norm_bound(lam, d) * (1 + 1e-12)
    assert norm > 2 * R / (lam + R * R)


def test_removing_is_half_of_replacing():
    # the one-sided form keeps half the constant: the falsifier above needs replacement
    for lam in (0.1, 1.0, 100.0):
        assert leave_one_out_worst(12 / lam, 1e-5) * math.sqrt(12) / lam < ridge_constant(lam, 12)


# --------------------------------------------------------------------------- bad input


@pytest.mark.parametrize("lam", [0, -1.0, -math.inf])
def test_no_regularization_is_refused_with_a_reason(lam):
    for function in (norm_bound, ridge_constant, huber_constant):
        with pytest.raises(ValueError, match=r"lam must be finite and above 0; got .*guarantee"):
            function(lam, 3)
    with pytest.raises(ValueError, match="lam must be"):
        label_sensitivity(0.1, lam, 3)
    with pytest.raises(ValueError, match="lam must be"):
        capped_sensitivity(0.1, lam, 3)
    with pytest.raises(ValueError, match="lam must be"):
        solver_excess(0.1, lam)


@given(st.sampled_from([math.nan, math.inf, -math.inf, 0.0, -1.0, -1e-300]))
def test_every_scalar_is_checked(value):
    for call, name in [
        (lambda: ridge_constant(value, 3), "lam"),
        (lambda: ridge_constant(1.0, 3, bound=value), "bound"),
        (lambda: ridge_constant(1.0, 3, row_norm=value), "row_norm"),
        (lambda: norm_bound(1.0, 3, row_norm=value), "row_norm"),
        (lambda: huber_constant(1.0, 3, threshold=value), "threshold"),
        (lambda: huber_constant(1.0, 3, row_norm=value), "row_norm"),
    ]:
        with pytest.raises(ValueError, match=f"^{name} must be finite and above 0"):
            call()


@given(st.sampled_from([math.nan, math.inf, -1.0, -1e-300]))
def test_weights_and_ratios_are_checked(value):
    for call, name in [
        (lambda: tight_factor([0.0, value]), "kappa"),
        (lambda: joint_factor([0.0, value]), "kappa"),
        (lambda: label_sensitivity([0.1, value], 1.0, 3), "weights"),
        (lambda: capped_sensitivity([0.1, value], 1.0, 3), "weights"),
    ]:
        with pytest.raises(ValueError, match=rf"^{name} must be .* got {name}\[1\]"):
            call()
    with pytest.raises(ValueError, match="gradient_norm must be"):
        solver_excess(value, 1.0)
    with pytest.raises(ValueError, match="ratio must be"):
        joint_factor(1.0, value)


def test_no_row_is_longer_than_the_diagonal():
    with pytest.raises(ValueError, match="ratio must be at least 1"):
        joint_factor(1.0, 0.99)


@pytest.mark.parametrize("value", [True, "1", None, 1j, [True, 1.0]])
def test_kinds_are_checked(value):
    for call in (
        lambda: ridge_constant(value, 3),
        lambda: huber_constant(1.0, 3, threshold=value),
        lambda: label_sensitivity(value, 1.0, 3),
        lambda: capped_sensitivity(value, 1.0, 3),
        lambda: tight_factor(value),
    ):
        with pytest.raises(TypeError):
            call()


@pytest.mark.parametrize("d", [0, -3])
def test_dimension_is_at_least_one(d):
    with pytest.raises(ValueError, match="d must be at least 1"):
        ridge_constant(1.0, d)


@pytest.mark.parametrize("d", [True, 2.0, "3", None])
def test_dimension_is_a_count(d):
    with pytest.raises(TypeError, match="d must be a whole number"):
        norm_bound(1.0, d)


@pytest.mark.parametrize("proof", ["best", "Tight", None, 1])
def test_unknown_proof(proof):
    for function in (norm_bound, ridge_constant):
        with pytest.raises(ValueError, match="proof must be one of 'published', 'exact-norm'"):
            function(1.0, 3, proof)


def test_arrays_are_not_scalars():
    for call, name in [
        (lambda: ridge_constant([1.0, 2.0], 3), "lam"),
        (lambda: huber_constant(1.0, 3, [1.0]), "threshold"),
        (lambda: solver_excess([0.1, 0.2], 1.0), "gradient_norm"),
    ]:
        with pytest.raises(ValueError, match=f"^{name} must be a single number"):
            call()


def test_weights_are_shares():
    with pytest.raises(ValueError, match=r"weights must be shares of a total of 1; got 1\.1"):
        capped_sensitivity([0.5, 1.1], 1.0, 3)
    with pytest.raises(ValueError, match=r"weights must be shares of a total of 1; got 0$"):
        capped_sensitivity([], 1.0, 3)


@pytest.mark.parametrize(
    "call",
    [
        lambda: ridge_constant(1e-320, 3),
        lambda: ridge_constant(1e-320, 3, "published"),
        lambda: huber_constant(1e-320, 3),
        lambda: solver_excess(1.0, 1e-320),
        lambda: capped_sensitivity(0.1, 1e-320, 3),
        lambda: capped_sensitivity(0.1, 1e-304, 10**6),
    ],
)
def test_overflow_is_an_error_and_not_silence(call):
    with pytest.raises(
        ValueError,
        match=r"^lam must lie in \[1e-100, 1e\+100\], or the noise cannot be computed; got",
    ):
        call()
