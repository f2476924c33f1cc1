"""Certificates: the bound is below the optimum for every multiplier, and exact at the best one."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

from pdpbook.gwa import certify, exact_sensitivity, gwa_weights, sensitivity
from pdpbook.gwa.dual import best_levels, evaluate, magnitudes, repair
from pdpbook.gwa.problem import build_problem
from pdpbook.gwa.sensitivity import MAX_PRODUCTS

SETTING = {"sigma2": 2.0, "epsilon": 0.5, "width": 3.0}


def instance(n=60, d=3, m=12, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(n, d)), rng.integers(0, m, n)


def problem_of(X, users, **changes):
    arguments = {"target": None, "prior": None, "norm": "l1", "delta": None, **SETTING, **changes}
    return build_problem(X, users, **arguments)[0]


# --- the bound ------------------------------------------------------------------------------------


def by_minimization(problem, M):
    """2 G(M) with its user levels found by a general bounded minimizer."""
    size = magnitudes(problem, M)

    def value(nu):
        beyond = np.maximum(size - nu[problem.codes][:, None], 0)
        price = problem.tau @ nu
        total = (beyond**2).sum() / problem.sigma2 + price**2 / problem.kappa
        down = -2 * np.bincount(problem.codes, beyond.sum(axis=1)) / problem.sigma2
        return total, down + 2 * price * problem.tau / problem.kappa

    start = np.full(len(problem.tau), size.mean())
    found = optimize.minimize(
        value,
        start,
        jac=True,
        bounds=[(0, None)] * len(start),
        options={"ftol": 1e-15, "gtol": 1e-12},
    )
    return found.fun


@pytest.mark.parametrize("epsilon", [0.01, 0.5, 20.0])
@pytest.mark.parametrize("norm", ["l1", "l2"])
def test_levels_and_scale_are_the_best(norm, epsilon):
    delta = None if norm == "l1" else 1e-4
    problem = problem_of(*instance(), norm=norm, delta=delta, epsilon=epsilon)
    M = np.random.default_rng(1).normal(size=(3, 3)) + 2 * np.eye(3)
    direct = np.trace(M) ** 2 / by_minimization(problem, M)
    assert_allclose(evaluate(problem, M).bound, direct, rtol=1e-9)  # the minimizer's tolerance


@given(st.integers(0, 1000), st.floats(-3, 3), st.floats(-2, 2))
def test_levels_solve_their_equation(seed, log_ratio, log_epsilon):
    """The sum above a positive level is tau t; below, the level is 0 and the sum smaller."""
    X, users = instance(seed=seed)
    rng = np.random.default_rng(seed)
    table = dict(enumerate(10**log_epsilon * rng.uniform(1, 4, 12)))
    problem = problem_of(X, users, sigma2=10**log_ratio, epsilon=table)
    size = magnitudes(problem, rng.normal(size=(3, 3)))
    nu, squares = best_levels(problem, size)
    beyond = np.maximum(size - nu[problem.codes][:, None], 0)
    t = problem.sigma2 / problem.kappa * (problem.tau @ nu)
    sums = np.bincount(problem.codes, beyond.sum(axis=1))
    assert_allclose(squares, (beyond**2).sum())
    rounding = 1e-11 * size.sum()
    assert (sums <= problem.tau * t + rounding).all()
    assert_allclose(sums[nu > 0], (problem.tau * t)[nu > 0], rtol=1e-9, atol=rounding)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"sigma2": 0.0},
        {"prior": 0.3},
        {"norm": "l2", "delta": 1e-3},
        {"sensitivity": "exact"},
        {"epsilon": 30.0},
        {"target": [[1.0, -1.0, 0.0]]},
    ],
)
def test_corrupted_multipliers_lower_the_bound(changes):
    X, users = instance()
    setting = {**SETTING, **changes}
    best = gwa_weights(X, users, **setting)
    proof = {"multipliers": best.multipliers, "parts": best.parts}
    objective, bound, gap = certify(best.C, X, users, **proof, **setting)
    assert_allclose([objective, bound], [best.objective, best.lower_bound], rtol=1e-12)
    assert abs(gap - best.gap) < 1e-12
    rng = np.random.default_rng(3)
    for size in (1e-3, 1e-1, 1.0):
        noise = rng.normal(size=best.multipliers.shape) * np.abs(best.multipliers).max()
        proof["multipliers"] = best.multipliers + size * noise
        _, lower, wider = certify(best.C, X, users, **proof, **setting)
        assert lower < bound
        assert wider > gap
    proof["multipliers"] = 7 * best.multipliers
    assert_allclose(certify(best.C, X, users, **proof, **setting)[1], bound, rtol=1e-9)


@given(st.integers(0, 10_000))
def test_no_multiplier_bounds_above_the_optimum(seed):
    X, users = instance(n=25, d=2, m=5)
    best = gwa_weights(X, users, **SETTING)
    M = np.random.default_rng(seed).normal(size=(2, 2))
    bound = certify(best.C, X, users, multipliers=M, **SETTING)[1]
    assert bound <= best.objective * (1 + 1e-12)


@pytest.mark.parametrize("M", [np.zeros((3, 3)), -np.eye(3)])
def test_useless_multipliers_certify_nothing(M):
    X, users = instance()
    C = np.linalg.pinv(X)
    assert certify(C, X, users, multipliers=M, **SETTING)[1:] == (0.0, np.inf)


def test_least_squares_is_feasible_but_not_optimal():
    X, users = instance()
    best = gwa_weights(X, users, **SETTING)
    C = np.linalg.pinv(X)
    objective, bound, gap = certify(C, X, users, multipliers=best.multipliers, **SETTING)
    t = max(np.abs(C[:, users == u]).sum() for u in np.unique(users))
    assert_allclose(objective, 2.0 * (C**2).sum() + 2 * 3 * (3.0 / 0.5 * t) ** 2, rtol=1e-12)
    assert gap > 0.1
    assert bound <= best.objective


def test_a_matrix_that_misses_the_constraint_is_refused():
    X, users = instance()
    best = gwa_weights(X, users, **SETTING)
    with pytest.raises(ValueError, match="C must satisfy C X = target"):
        certify(0.99 * best.C, X, users, multipliers=best.multipliers, **SETTING)
    for C, M in ((best.C[:, 1:], best.multipliers), (best.C, best.multipliers[1:])):
        with pytest.raises(ValueError, match="must have shape"):
            certify(C, X, users, multipliers=M, **SETTING)
    with pytest.raises(ValueError, match=r"multipliers must be finite"):
        certify(best.C, X, users, multipliers=best.multipliers * np.nan, **SETTING)


@pytest.mark.parametrize("size", [1e-12, 1.0, 1e12])
def test_a_matrix_that_misses_half_of_its_target_is_refused_in_any_unit(size):
    X, users = instance()
    setting = {**SETTING, "target": size * np.array([[1.0, -1.0, 0.0]])}
    best = gwa_weights(X, users, **setting)
    proof = {"multipliers": best.multipliers}
    assert_allclose(certify(best.C, X, users, **proof, **setting)[0], best.objective)
    with pytest.raises(ValueError, match=r"C must satisfy C X = target; of its size it misses 0\."):
        certify(best.C / 2, X, users, **proof, **setting)


def test_a_repair_moves_rows_in_use_and_no_others():
    problem = problem_of(*instance())
    C = np.linalg.pinv(problem.X[:40])
    fixed = repair(problem, np.hstack([1.01 * C, np.zeros((3, 20))]))
    assert_allclose(fixed[:, :40], C, atol=1e-14)  # the least change
    assert not fixed[:, 40:].any()
    few = repair(problem, np.eye(3, 60))  # as many rows as features: they determine all
    assert_allclose(few[:, :3], np.linalg.inv(problem.X[:3]), rtol=1e-10)
    assert not few[:, 3:].any()
    assert_allclose(repair(problem, np.eye(2, 60)[[0, 1, 1]]) @ problem.X, np.eye(3), atol=1e-13)


def test_what_no_weights_repair_is_refused():
    problem = problem_of(np.ones((4, 2)), None)
    with pytest.raises(ValueError, match=r"^X must have full column rank in this basis$"):
        repair(problem, np.eye(2, 4))


# --- exact sensitivity ----------------------------------------------------------------------------


def by_corners(C):
    """Largest |C delta|_1 over the corners of the cube: signs on the rows instead."""
    n = C.shape[1]
    corners = 1 - 2.0 * ((np.arange(1 << n)[:, None] >> np.arange(n)) & 1)
    return np.abs(corners @ C.T).sum(axis=1).max()


@given(st.integers(1, 6), st.integers(0, 1000))
def test_exact_sensitivity_against_corners(k, seed):
    rng = np.random.default_rng(seed)
    C, users = rng.normal(size=(k, 15)), rng.integers(0, 3, 15)
    found = exact_sensitivity(C, users, width=2.0)
    labels = np.unique(users)
    assert_allclose(found, [2 * by_corners(C[:, users == u]) for u in labels], rtol=1e-12)
    entrywise = np.array([2 * np.abs(C[:, users == u]).sum() for u in labels])
    assert (found <= entrywise * (1 + 1e-12)).all()
    assert (entrywise <= np.sqrt(2 * k) * found * (1 + 1e-12)).all()  # Khintchine


def test_exact_sensitivity_of_one_row_is_its_norm():
    C = np.random.default_rng(0).normal(size=(4, 6))
    assert_allclose(exact_sensitivity(C, None), np.abs(C).sum(axis=0))
    C[:, 2] = 0
    assert exact_sensitivity(C, None)[2] == 0


def overshoot(C):
    """Entrywise over exact sensitivity of a single user."""
    return np.abs(C).sum() / exact_sensitivity(C, np.zeros(C.shape[1], dtype=int))[0]


@given(st.integers(1, 8), st.integers(1, 20), st.integers(0, 10**6))
def test_entrywise_overshoots_by_a_factor_that_all_signs_attain(k, n, seed):
    factor = 2 ** (k - 1) / math.comb(k - 1, (k - 1) // 2)
    assert overshoot(np.random.default_rng(seed).standard_t(1, (k, n))) <= factor * (1 + 1e-12)
    signs = np.array(list(itertools.product([-1.0, 1.0], repeat=k))).T
    assert_allclose(overshoot(signs), factor, rtol=1e-12)


def test_exact_sensitivity_in_chunks(monkeypatch):
    rng = np.random.default_rng(0)
    C, users = rng.normal(size=(9, 40)), rng.integers(0, 7, 40)
    whole = exact_sensitivity(C, users)
    monkeypatch.setattr(sensitivity, "MAX_PRODUCTS", 300)
    assert_allclose(exact_sensitivity(C, users), whole)


@pytest.mark.parametrize("k", [2, 9, 13, 14])
def test_every_sign_vector_is_tried_whatever_the_chunk(k):
    """A user for each of them, whose one row it is: no other reaches all k entries of that row."""
    signs = np.array([*itertools.product([1.0, -1.0], repeat=k - 1)])
    rows = np.column_stack([np.ones(len(signs)), signs])
    assert (
        k < 13 or len(rows) ** 2 > 2 * MAX_PRODUCTS
    )  # so many products that there are several chunks
    assert_array_equal(exact_sensitivity(rows.T), np.full(len(rows), k))


def test_signs_all_equal_miss_the_worst_case():
    C = np.array([[1.0, 1.0], [-1.0, 1.0]])
    assert_allclose(np.abs(np.ones(2) @ C).sum(), 2.0)
    assert_allclose(exact_sensitivity(3 * C, [0, 0]), [6.0])
    C = np.array([[1.0, 1.0], [-1.0, -1.0]])  # all signs equal see nothing
    assert_allclose(np.abs(np.ones(2) @ C).sum(), 0.0)
    assert_allclose(exact_sensitivity(C, [0, 0]), [4.0])


@pytest.mark.parametrize(
    ("C", "message"),
    [
        (np.ones(3), r"C must have shape \(k, n\)"),
        (np.ones((21, 2)), "C must have at most 20 rows"),
        ([[np.nan, 1.0]], "C must be finite"),
    ],
)
def test_bad_matrices_are_refused(C, message):
    with pytest.raises(ValueError, match=message):
        exact_sensitivity(C)
