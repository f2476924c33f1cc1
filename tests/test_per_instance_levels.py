"""Worst cases of one posterior sample: over targets, and over data sets."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar

from lab import chapters as ch
from pdpbook.per_instance import levels
from pdpbook.per_instance.ops import ops_epsilon, ops_profile

SEED = 20240301


def unit_ball(n, d, rng, *, spread=1.0):
    """Rows in the ball, columns of unequal size, and labels in [-1, 1] that fit them closely."""
    X = rng.normal(size=(n, d)) * np.geomspace(1, spread, d)
    X /= np.linalg.norm(X, axis=1).max()
    theta = rng.normal(size=d)
    return X, np.clip(2 * X @ theta + 0.1 * rng.normal(size=n), -1, 1)


def leverage_and_residual(X, y, lam, x, label):
    """Of an outsider, by a linear solve."""
    H = X.T @ X + lam * np.eye(X.shape[1])
    theta = np.linalg.solve(H, X.T @ y)
    return np.einsum("ij,ij->i", x, np.linalg.solve(H, x.T).T), np.abs(label - x @ theta)


def one_dimensional(S, n, lam):
    """The data set and the target that attain the level."""
    X, y = np.full((n, 1), np.sqrt(S / n)), np.ones(n)
    return leverage_and_residual(X, y, lam, np.ones((1, 1)), np.array([-1.0]))


# ------------------------------------------------------------------ ops_dp_level


@pytest.mark.parametrize(("lam", "level"), [(1, "119"), (10, "8.31"), (100, "0.923")])
def test_reference_levels(lam, level):
    assert f"{levels.ops_dp_level(1000, lam, 1.0, 1e-6):.3g}" == level


@pytest.mark.parametrize(("n", "lam"), [(1000, 1.0), (1000, 30.0), (50, 0.2), (5, 40.0), (1, 0.5)])
@pytest.mark.parametrize(("gamma", "delta"), [(1.0, 1e-6), (0.01, 1e-3), (50.0, 1e-2)])
def test_level_is_the_maximum_of_the_one_dimensional_family(n, lam, gamma, delta):
    def loss(S):
        return ops_epsilon(delta, 1 / (S + lam), np.sqrt(gamma) * (1 + np.sqrt(n * S) / (S + lam)))

    grid = np.unique(np.append(np.linspace(0, n, 400), np.linspace(0, min(n, 2 * lam), 400)))
    losses = loss(grid)
    k = int(losses.argmax())
    around = (grid[max(k - 1, 0)], grid[min(k + 1, len(grid) - 1)])
    finer = minimize_scalar(lambda S: -loss(S), bounds=around, method="bounded")
    expected = max(losses[k], -finer.fun)
    level = levels.ops_dp_level(n, lam, gamma, delta)
    assert expected <= level * (1 + 1e-9)
    assert_allclose(level, expected, rtol=1e-5)  # 1e-6 of the level, and scipy's stopping rule


def test_the_family_exists_and_attains_the_level():
    n, lam, gamma, delta = 200, 4.0, 2.0, 1e-5
    level = levels.ops_dp_level(n, lam, gamma, delta)
    losses = []
    for S in np.linspace(0.5, 4, 201):
        leverage, residual = one_dimensional(S, n, lam)
        assert_allclose(leverage, 1 / (S + lam), rtol=1e-12)
        losses.append(ops_epsilon(delta, leverage, np.sqrt(gamma) * residual)[0])
    assert_allclose(max(losses), level, rtol=1e-4)  # a grid of 201 points
    assert max(losses) <= level


@given(
    st.integers(1, 30),
    st.integers(1, 4),
    st.floats(0.3, 50),
    st.floats(0.01, 30),
    st.floats(0.02, 1),
    st.integers(0, 10_000),
)
def test_no_data_set_and_no_target_exceed_the_level(n, d, lam, gamma, spread, seed):
    rng = np.random.default_rng(seed)
    X, y = unit_ball(n, d, rng, spread=spread)
    x = rng.normal(size=(50, d))
    x *= (rng.uniform(size=50) ** 0.3 / np.linalg.norm(x, axis=1))[:, None]
    leverage, residual = leverage_and_residual(X, y, lam, x, -np.sign(rng.normal(size=50)))
    loss = ops_epsilon(1e-5, leverage, np.sqrt(gamma) * residual)
    assert loss.max() <= levels.ops_dp_level(n, lam, gamma, 1e-5) * (1 + 1e-9)


@pytest.mark.parametrize("lam", [0.3, 1.0, 20.0])
def test_both_directions_keep_delta_at_the_level(lam):
    n, gamma, delta = 500, 1.0, 1e-6
    level = levels.ops_dp_level(n, lam, gamma, delta)
    S = np.linspace(0, n, 20_001)
    profile = ops_profile(level, 1 / (S + lam), np.sqrt(gamma) * (1 + np.sqrt(n * S) / (S + lam)))
    assert max(profile.add.max(), profile.remove.max()) <= delta * (1 + 1e-6)
    assert profile.add.max() > delta / 2  # nearly attained on the grid


@pytest.mark.parametrize("share", [0.0, 1.0])  # the worst leverage, the worst residual
def test_planted_levels_are_exceeded_by_a_data_set(share):
    n, lam, gamma, delta = 500, 10.0, 1.0, 1e-6
    S = share * lam
    planted = ops_epsilon(delta, 1 / (S + lam), np.sqrt(gamma) * (1 + np.sqrt(n * S) / (S + lam)))
    leverage, residual = one_dimensional(0.4 * lam, n, lam)
    assert ops_epsilon(delta, leverage, np.sqrt(gamma) * residual)[0] > 1.1 * planted


def test_level_rises_with_people_and_temperature_and_falls_with_the_penalty():
    base = levels.ops_dp_level(100, 5.0, 1.0, 1e-6)
    assert levels.ops_dp_level(200, 5.0, 1.0, 1e-6) > base
    assert levels.ops_dp_level(100, 5.0, 2.0, 1e-6) > base
    assert levels.ops_dp_level(100, 6.0, 1.0, 1e-6) < base
    assert levels.ops_dp_level(100, 5.0, 1.0, 1e-5) < base


# ------------------------------------------------------------------ ops_for_all


@pytest.mark.parametrize("d", [1, 2, 3, 6])
@pytest.mark.parametrize(("spread", "gamma"), [(1.0, 1.0), (0.05, 20.0)])
def test_for_all_against_random_targets(d, spread, gamma):
    rng = np.random.default_rng(SEED)
    X, y = unit_ball(60, d, rng, spread=spread)
    H = X.T @ X + np.eye(d)
    theta = np.linalg.solve(H, X.T @ y)
    frontier = [
        np.linalg.solve(H - shift * np.eye(d), theta)  # a few clever targets
        for shift in np.linalg.eigvalsh(H)[0] - np.geomspace(1e-6, 1e6, 200)
    ]
    x = np.vstack([rng.normal(size=(4000, d)), frontier, theta, np.linalg.eigh(H)[1].T])
    x /= np.linalg.norm(x, axis=1)[:, None]
    leverage, residual = leverage_and_residual(X, y, 1.0, x, -np.sign(x @ theta))
    found = ops_epsilon(1e-4, leverage, np.sqrt(gamma) * residual).max()
    level = levels.ops_for_all(X, y, 1.0, gamma, 1e-4)
    assert found <= level * (1 + 1e-9)
    assert found > 0.95 * level
    assert level <= levels.ops_dp_level(60, 1.0, gamma, 1e-4) * (1 + 1e-9)
    if d == 1:
        assert_allclose(level, found, rtol=2e-6)


def test_for_all_is_a_circle_in_two_dimensions():
    rng = np.random.default_rng(SEED)
    X, y = unit_ball(40, 2, rng, spread=0.2)
    angle = np.linspace(0, np.pi, 20_001)
    x = np.column_stack([np.cos(angle), np.sin(angle)])
    H = X.T @ X + np.eye(2)
    label = -np.sign(x @ np.linalg.solve(H, X.T @ y))
    leverage, residual = leverage_and_residual(X, y, 1.0, x, label)
    found = ops_epsilon(1e-6, leverage, residual).max()
    assert_allclose(levels.ops_for_all(X, y, 1.0, 1.0, 1e-6), found, rtol=2e-6)


def test_for_all_where_the_fit_is_orthogonal_to_the_emptiest_direction():
    X, y = np.diag([1.0, 0.5, 0.5]), np.array([1.0, 0.0, 0.0])  # theta along the first axis
    t = np.linspace(0, np.pi / 2, 20_001)
    leverage = np.cos(t) ** 2 / 2.0 + np.sin(t) ** 2 / 1.25
    found = ops_epsilon(1e-2, leverage, 3 * (1 + np.cos(t) / 2)).max()
    assert_allclose(levels.ops_for_all(X, y, 1.0, 9.0, 1e-2), found, rtol=2e-6)


def test_for_all_of_nobody_who_says_anything():
    X = np.eye(3)
    expected = ops_epsilon(1e-6, 0.5, 2.0)
    assert_allclose(levels.ops_for_all(X, np.zeros(3), 1.0, 4.0, 1e-6), expected, rtol=2e-6)


# ------------------------------------------------------------------ isotropic noise


def move(X, y, lam, x, label):
    H = X.T @ X + lam * np.eye(X.shape[1])
    theta = np.linalg.solve(H, X.T @ y)
    after = np.linalg.solve(H + np.outer(x, x), X.T @ y + x * label)
    return float(np.linalg.norm(after - theta))


def test_isotropic_sensitivity_is_attained_in_one_dimension():
    n, lam = 1000, 1.0
    moves = [
        move(np.full((n, 1), np.sqrt(S / n)), np.ones(n), lam, np.ones(1), -1.0)
        for S in np.linspace(0, 1, 101)
    ]
    sensitivity = ch.isotropic_sensitivity(n, lam)
    assert max(moves) <= sensitivity
    assert_allclose(max(moves), sensitivity, rtol=1e-3)  # a grid of 101 points
    assert f"{sensitivity:.4g}" == "6.38"


@given(
    st.integers(2, 30),
    st.integers(1, 4),
    st.floats(1, 50),
    st.floats(0.02, 1),
    st.integers(0, 10_000),
)
def test_no_target_moves_the_fit_further(n, d, lam, spread, seed):
    rng = np.random.default_rng(seed)
    X, y = unit_ball(n, d, rng, spread=spread)
    reach, everywhere = (
        ch.isotropic_for_all(X, y, lam),
        ch.isotropic_sensitivity(n, lam),
    )
    for x in rng.normal(size=(20, d)):
        x *= rng.uniform() ** 0.2 / np.linalg.norm(x)
        moved = move(X, y, lam, x, float(rng.choice([-1, 1])))
        assert moved <= min(reach, everywhere) * (1 + 1e-9)


@pytest.mark.parametrize(("n", "lam"), [(2, 1.0), (10, 1.0), (7, 40.0)])
def test_a_short_target_moves_no_more_than_the_proof_says(n, lam):
    """Below q = 1 / (n + lam) the bound is attained by the loudest crowd, and rises with q."""
    crowd = np.ones((n, 1)), np.ones(n)
    length = np.linspace(0.01, 1, 100)
    moves = [move(*crowd, lam, np.full(1, c), -1.0) for c in length]
    q = length / (n + lam)
    assert_allclose(moves, q * (1 + n * q) / (1 + (n + lam) * q**2), rtol=1e-9)
    assert np.all(np.diff(moves) > 0)
    assert moves[-1] <= ch.isotropic_sensitivity(n, lam)


# ------------------------------------------------------------------ exponential mechanism


def test_exponential_mechanism_on_a_grid_of_parameters():
    # one dimension: the posterior on [-r, r], tabulated, with and without the worst target
    n, lam, gamma = 20, 5.0, 0.7
    theta = np.linspace(-1, 1, 2001) * np.sqrt(n / lam) / 2
    level = ch.exponential_mechanism_level(n, lam, gamma)
    for S in np.linspace(0.1, n, 40):
        x = np.sqrt(S / n)
        score = -gamma / 2 * (n * (1 - x * theta) ** 2 + lam * theta**2)
        more = score - gamma / 2 * (-1 - theta) ** 2
        loss = (score - np.log(np.exp(score).sum())) - (more - np.log(np.exp(more).sum()))
        assert np.abs(loss).max() <= level


# ------------------------------------------------------------------ bad input


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"n": 0}, "n must be at least 1"),
        ({"lam": 0.0}, "lam must be finite and above 0"),
        ({"gamma": 0.0}, "gamma must be finite and above 0"),
        ({"gamma": -1.0}, "gamma must be finite and above 0"),
        ({"delta": 1.0}, "delta must be above 0 and below 1"),
        ({"delta": float("nan")}, "delta must be above 0 and below 1; got nan"),
        ({"lam": [1.0, 2.0]}, "lam must be a single number"),
    ],
)
def test_level_refuses(change, message):
    good = {"n": 10, "lam": 1.0, "gamma": 1.0, "delta": 1e-6}
    with pytest.raises(ValueError, match=message):
        levels.ops_dp_level(**{**good, **change})


def test_kinds():
    with pytest.raises(TypeError, match="n must be a whole number"):
        levels.ops_dp_level(10.0, 1.0, 1.0, 1e-6)
    with pytest.raises(TypeError, match="gamma must be a number"):
        ch.exponential_mechanism_level(10, 1.0, True)
    with pytest.raises(TypeError, match=r"^n must be a whole number"):
        ch.exponential_mechanism_level(10.0, 1.0, 1.0)
    with pytest.raises(ValueError, match=r"^lam must be a single number"):
        ch.isotropic_for_all([[1.0, 0.0]], [0.0], [1.0, 2.0])


@pytest.mark.parametrize(
    ("X", "y", "lam", "message"),
    [
        ([[1.2, 0.0]], [0.0], 1.0, r"X must have rows of norm at most 1; got X\[0\] of norm 1.2"),
        ([[1.0, 0.0]], [-2.0], 1.0, r"y must lie in \[-1, 1\]; got y\[0\] of size 2"),
        ([[1.0, 0.0]], [0.0], 0.5, "the smallest eigenvalue of X'X"),
        ([[1.0, float("nan")]], [0.0], 1.0, "X must be finite"),
        ([[1.0, 0.0]], [0.0, 1.0], 1.0, "y must have shape"),
    ],
)
def test_data_outside_the_domain(X, y, lam, message):
    with pytest.raises(ValueError, match=message):
        levels.ops_for_all(X, y, lam, 1.0, 1e-6)
    with pytest.raises(ValueError, match=message):
        ch.isotropic_for_all(X, y, lam)


def test_isotropic_sensitivity_refuses():
    with pytest.raises(ValueError, match="lam must be at least 1"):
        ch.isotropic_sensitivity(10, 0.5)
    with pytest.raises(ValueError, match="n must be at least 2"):
        ch.isotropic_sensitivity(1, 1.0)
