"""Optimal weights: closed forms, agreement of independent solvers, symmetries and refusals."""

import itertools
import threading

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import optimize

from pdpbook.gwa import (
    ConvergenceError,
    certify,
    exact_sensitivity,
    gwa_program,
    gwa_weights,
    interior,
    newton,
    program,
    sensitivity,
    solver,
)
from pdpbook.gwa.interior import InteriorPoint
from pdpbook.gwa.newton import NewtonSolver
from pdpbook.gwa.problem import build_problem, whitening
from pdpbook.noise import gaussian_mu

SETTING = {"sigma2": 1.0, "epsilon": 1.0, "width": 5.0}
TIGHT = {
    "CLARABEL": {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-11, "tol_feas": 1e-11},
    "PIQP": {"eps_abs": 1e-10, "eps_rel": 1e-10},
}


def instance(n=80, d=3, m=15, seed=0):
    rng = np.random.default_rng(seed)
    sizes = 1 / np.arange(1, m + 1)
    return rng.normal(size=(n, d)), rng.choice(m, n, p=sizes / sizes.sum())


def contributions(C, users):
    return np.array([np.abs(C[:, users == u]).sum() for u in np.unique(users)])


def assert_solved(found, X, users, tol=1e-8, **setting):
    """Everything the result says, again from its matrix."""
    again = certify(found.C, X, users, multipliers=found.multipliers, parts=found.parts, **setting)
    assert_allclose(again[:2], [found.objective, found.lower_bound], rtol=1e-11)
    assert -1e-12 < found.gap <= tol


def white_problem(X, users, setting):
    problem, _ = build_problem(X, users, **setting)
    return problem.change_basis(whitening(problem, default_target=True))


def by_cvxpy(X, users, setting, name, **options):
    """Certified objective of the program, by any of its solvers."""
    program = gwa_program(X, users, **setting)
    program.solve(solver=name, **(options or TIGHT[name]))
    C, M = program.var_dict["C"].value, -program.constraints[0].dual_value / 2
    C = C + (np.eye(X.shape[1]) - C @ X) @ np.linalg.pinv(X)
    objective, _, gap = certify(C, X, users, multipliers=M, **setting)
    assert -1e-12 < gap < 1e-8
    return objective


def by_simplex(X, users, tau):
    """Smallest b with the norms of every user at most tau b in sum: a linear program, by HiGHS."""
    (n, d), people = X.shape, np.unique(users)
    equal = np.kron(np.eye(d), np.hstack([X.T, -X.T]))
    each = np.tile(users == people[:, None], 2 * d)
    shares = np.array([tau[users == user][0] for user in people])
    found = optimize.linprog(
        np.append(np.zeros(2 * d * n), 1.0),
        A_ub=np.column_stack([each, -shares]),
        b_ub=np.zeros(len(people)),
        A_eq=np.column_stack([equal, np.zeros(d * d)]),
        b_eq=np.eye(d).ravel(),
    )
    return found.fun


# --- closed forms ---------------------------------------------------------------------------------


def mean_weights(sizes, ratio, tau):
    """Root h of ratio h = sum tau (1 - h tau / s)_+, then min(s, h tau) over their sum."""

    def excess(h):
        return ratio * h - (tau * np.maximum(1 - h * tau / sizes, 0)).sum()

    h = optimize.brentq(excess, 0, (sizes / tau).max(), xtol=1e-14, rtol=1e-14)
    level = np.minimum(sizes, h * tau)
    return level / level.sum(), 1 / level.sum()


@pytest.mark.parametrize("epsilon", [1e-3, 0.3, 10.0, 1e3])
@pytest.mark.parametrize("levels", [1.0, 4.0])
def test_a_column_of_ones_is_the_weighted_mean(epsilon, levels):
    sizes = np.array([1, 1, 2, 5, 13, 40])
    users = np.repeat(np.arange(6), sizes)
    share = np.where(np.arange(6) % 2, levels, 1.0)
    setting = {"sigma2": 0.7, "epsilon": (epsilon * share)[users], "width": 2.0}
    found = gwa_weights(np.ones((len(users), 1)), users, tol=1e-11, **setting)
    weights, value = mean_weights(sizes, 2 * (2.0 / epsilon) ** 2 / 0.7, share)
    assert_allclose(found.objective, 0.7 * value, rtol=1e-10)
    assert_allclose(np.bincount(users, found.C[0]), weights, rtol=1e-4)  # root of the gap
    assert_solved(found, np.ones((len(users), 1)), users, **setting)


@pytest.mark.parametrize("epsilon", [0.01, 1.0, 100.0])
def test_one_feature_is_a_soft_threshold(epsilon):
    X, users = instance(d=1)
    x = X[:, 0]
    ratio = 2 * (5.0 / epsilon) ** 2

    def threshold(values, h):
        if values.sum() <= h:
            return 0.0
        return optimize.brentq(
            lambda cut: np.maximum(values - cut, 0).sum() - h, 0, values.max(), xtol=1e-15
        )

    def cuts(h):
        return np.array([threshold(np.abs(x[users == u]), h) for u in np.unique(users)])

    high = max(np.abs(x[users == u]).sum() for u in np.unique(users))
    h = optimize.brentq(lambda h: ratio * h - cuts(h).sum(), 1e-12, high, xtol=1e-15)
    place = np.searchsorted(np.unique(users), users)
    soft = np.sign(x) * np.maximum(np.abs(x) - cuts(h)[place], 0)
    found = gwa_weights(X, users, sigma2=1.0, epsilon=epsilon, width=5.0, tol=1e-11)
    assert_allclose(found.objective, 1 / (x @ soft), rtol=1e-9)
    assert_allclose(found.C[0], soft / (x @ soft), atol=1e-4 * np.abs(found.C).max())


def paper_example(g):
    rows_ = [[g, 0.0]], [[1.0, 0.0]] * g**3, [[0.0, 1.0]] * g, [[0.0, 1.0]] * g**2
    sizes = [1] + [g] * (g**2) + [g] + [1] * g**2
    return np.vstack(rows_), np.repeat(np.arange(2 * g**2 + 2), sizes)


@pytest.mark.parametrize("g", range(2, 21))
def test_paper_example_has_its_value(g):
    X, users = paper_example(g)
    found = gwa_weights(X, users, sigma2=0.0, epsilon=2.0, width=1.0)  # kappa = 1
    assert_allclose(found.objective, 1 / (g**2 + 1) ** 2, rtol=1e-8)
    limited = min(max(1 / (g * (1 + h)), h / (h + g**2)) ** 2 for h in range(1, g + 1))
    assert limited / found.objective > g / 4


@pytest.mark.parametrize("g", [2, 4, 6, 10, 20])
def test_unit_norm_example_has_its_value(g):
    cos = np.sqrt(1 - 1 / g**2)
    side = [[cos, 1 / g, 0.0]] * (g**3 // 2) + [[-cos, 1 / g, 0.0]] * (g**3 // 2)
    X = np.vstack([[[0.0, 1.0, 0.0]], side, [[0.0, 0.0, 1.0]] * (2 * g)])
    sizes = [1] + [g] * g**2 + [g] + [1] * g
    users = np.repeat(np.arange(len(sizes)), sizes)
    found = gwa_weights(X, users, sigma2=0.0, epsilon=np.sqrt(6.0), width=1.0)
    assert_allclose(np.linalg.norm(X, axis=1), 1.0)
    assert_allclose(found.objective, ((1 + 1 / np.sqrt(g**2 - 1)) / (1 + g)) ** 2, rtol=1e-7)


# --- optimality -----------------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [1e-2, 3.0, 100.0])
def test_all_solvers_agree(epsilon):
    X, users = instance()
    setting = {**SETTING, "epsilon": epsilon}
    values = []
    for name in ("interior", "cvxpy"):
        found = gwa_weights(X, users, solver=name, **setting)
        assert_solved(found, X, users, **setting)
        values.append(found.objective)
    problem = white_problem(X, users, setting)
    begins = [InteriorPoint] + [NewtonSolver] * (epsilon > 10)
    some = [solver.on_all_rows(problem, begin(problem), 1e-8) for begin in begins]
    some.append(solver.solve_rows(problem, InteriorPoint, 1e-8))
    for found in some:
        assert found.gap <= 1e-8
        values.append(problem.on_rows(found.rows).objective(found.C))
    for name in ("PIQP", "CLARABEL"):
        values.append(by_cvxpy(X, users, setting, name))
    assert_allclose(values, values[0], rtol=2e-8)


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"norm": "l2", "delta": 1e-4},
        {"prior": 0.3},
        {"target": [[1.0, -1.0, 0.0]]},
        {"epsilon": {u: 1.0 + u for u in range(15)}},
    ],
)
def test_the_program_by_itself_has_the_optimum(changes):
    X, users = instance()
    setting = {**SETTING, **changes}
    found = gwa_weights(X, users, solver="cvxpy", **setting)
    written = gwa_program(X, users, **setting)
    assert_allclose(written.solve(solver="CLARABEL"), found.objective, rtol=1e-5)  # its tolerance
    assert_allclose(written.var_dict["b"].value, found.scale, rtol=1e-3)  # root of it
    proof = {"multipliers": -written.constraints[0].dual_value / 2}
    bound = certify(found.C, X, users, **proof, **setting)[1]
    assert_allclose(bound, found.objective, rtol=1e-5)
    written.param_dict["sigma2"].value = 3.0
    again = gwa_weights(X, users, **{**setting, "sigma2": 3.0})
    assert_allclose(written.solve(solver="CLARABEL"), again.objective, rtol=1e-5)


def test_linear_program_agrees_with_simplex():
    X, users = instance()
    setting = {**SETTING, "sigma2": 0.0}
    t = by_simplex(X, users, np.full(len(users), 1 / 5.0))
    for name in ("interior", "cvxpy"):
        found = gwa_weights(X, users, solver=name, **setting)
        assert_allclose(found.objective, 6 * t**2, rtol=2e-8)
        assert_solved(found, X, users, **setting)
        assert_allclose(np.trace(found.multipliers), found.lower_bound)


@given(st.integers(0, 500), st.floats(-3, 4), st.integers(1, 4), st.integers(1, 12))
@settings(max_examples=30)
def test_every_answer_carries_its_certificate(seed, log_epsilon, d, m):
    X, users = instance(n=30, d=d, m=m, seed=seed)
    table = 10**log_epsilon * np.random.default_rng(seed).uniform(0.5, 2, m)
    setting = {"sigma2": 2.0, "epsilon": dict(enumerate(table)), "width": 1.0}
    found = gwa_weights(X, users, **setting)
    assert_solved(found, X, users, **setting)
    assert_allclose(found.C @ X, np.eye(d), atol=1e-9 * np.abs(found.C).max() * np.abs(X).sum())
    sums = contributions(found.C, users)
    assert_allclose(found.contributions, sums)
    losses = sums / found.scale  # width 1
    assert_allclose(np.max(losses / table[np.unique(users)]), 1.0)
    assert_allclose(2.0 * np.trace(found.multipliers), found.lower_bound)


def test_users_soft_threshold_at_levels_of_their_own():
    X, users = instance()
    found = gwa_weights(X, users, tol=1e-12, epsilon=30.0, sigma2=1.0, width=5.0)
    a, C = (X @ found.multipliers.T).T, found.C
    for u in np.unique(users):
        own = users == u
        used = np.abs(C[:, own]) > 1e-7 * np.abs(C).max()
        gaps = (np.abs(a[:, own]) - np.abs(C[:, own]))[used]
        assert_allclose(gaps, gaps.mean(), atol=1e-5 * np.abs(C).max())
        assert (np.abs(a[:, own])[~used] <= gaps.mean() + 1e-5 * np.abs(C).max()).all()
        below = np.abs(C[:, own]).sum() < 0.99 * found.contributions.max()
        assert not below or abs(gaps.mean()) < 1e-5 * np.abs(C).max()


def test_least_squares_where_noise_is_free_and_a_program_where_it_is_all():
    X, users = instance()
    free = gwa_weights(X, users, sigma2=1.0, epsilon=1e9, width=1.0)
    assert_allclose(free.C, np.linalg.pinv(X), atol=1e-6)
    dear = gwa_weights(X, users, sigma2=1.0, epsilon=1e-7, width=1.0)
    program = gwa_weights(X, users, sigma2=0.0, epsilon=1e-7, width=1.0)
    assert_allclose(dear.objective, program.objective, rtol=1e-8)


# --- symmetries and special cases -----------------------------------------------------------------


def test_order_of_rows_and_names_of_users_do_not_matter():
    X, users = instance()
    base = gwa_weights(X, users, **SETTING)
    place = np.random.default_rng(5).permutation(len(X))
    names = np.array([f"u{99 - u}" for u in users])
    moved = gwa_weights(X[place], names[place], **SETTING)
    assert_allclose(moved.objective, base.objective, rtol=1e-8)
    assert_array_equal(moved.users, np.unique(names))
    assert_allclose(moved.contributions, contributions(moved.C, names[place]))
    assert_solved(moved, X[place], names[place], **SETTING)


def test_units_of_the_features_do_not_matter():
    X, users = instance()
    units = np.array([1e-20, 1.0, 1e20])
    base = gwa_weights(X, users, **SETTING)
    scaled = gwa_weights(X * units, users, target=np.diag(units), **SETTING)
    assert_allclose(scaled.objective, base.objective, rtol=1e-8)


@pytest.mark.parametrize("name", ["interior", "cvxpy"])
@pytest.mark.parametrize("size", [1e-12, 1e9])
def test_the_unit_of_the_target_does_not_matter(name, size):
    X, users = instance()
    setting = {**SETTING, "sigma2": 0.0, "solver": name}
    base, scaled = (gwa_weights(X, users, target=s * np.eye(3), **setting) for s in (1.0, size))
    assert_allclose(scaled.objective, size**2 * base.objective, rtol=2e-8)


def test_duplicated_rows_halve_the_variance():
    X, users = instance()
    twice = gwa_weights(np.vstack([X, X]), np.tile(users, 2), **SETTING)
    half = gwa_weights(X, users, **{**SETTING, "sigma2": 0.5})
    assert_allclose(twice.objective, half.objective, rtol=2e-8)


def test_one_user_and_all_single_rows_and_fewer_users_than_features():
    X, _ = instance(d=5)
    for users in (np.zeros(80), None, np.arange(80) % 3):
        assert_solved(gwa_weights(X, users, **SETTING), X, users, **SETTING)
    assert (
        gwa_weights(X, None, **SETTING).objective
        < gwa_weights(X, np.zeros(80), **SETTING).objective
    )


def test_equal_rows_of_one_user():
    found = gwa_weights(np.full((5, 1), 0.7), np.zeros(5), sigma2=100.0, epsilon=7857.0, width=1.0)
    assert_allclose(found.C, 1 / (5 * 0.7))


def test_as_many_rows_as_features_leave_no_choice():
    X = np.array([[2.0, 1.0], [1.0, 3.0]])
    found = gwa_weights(X, [0, 1], **SETTING)
    assert_allclose(found.C, np.linalg.inv(X), atol=1e-14)


def test_rows_of_zeros_get_nothing():
    X, users = instance()
    X[:5] = 0
    users[:5] = [70, 70, 71, 72, 73]  # users with nothing else
    found = gwa_weights(X, users, **SETTING)
    assert_solved(found, X, users, **SETTING)
    assert_allclose(found.C[:, :5], 0, atol=1e-6 * np.abs(found.C).max())


def test_budgets_of_their_own_bind_each_at_its_own():
    X, users = instance(n=300, m=10)
    table = {u: 0.5 if u % 2 else 2.0 for u in range(10)}
    found = gwa_weights(X, users, sigma2=1e-4, epsilon=table, width=5.0)
    losses = 5.0 * contributions(found.C, users) / found.scale
    assert_allclose(losses, [table[u] for u in np.unique(users)], rtol=1e-4)
    low = gwa_weights(X, users, sigma2=1e-4, epsilon=0.5, width=5.0)
    assert found.objective < low.objective / 3
    row_by_row = gwa_weights(X, users, sigma2=1e-4, epsilon=[table[u] for u in users], width=5.0)
    assert_allclose(row_by_row.objective, found.objective)


def test_a_target_of_one_contrast_costs_less():
    X, users = instance()
    contrast = np.array([[1.0, -1.0, 0.0]])
    found = gwa_weights(X, users, target=contrast, **SETTING)
    assert_solved(found, X, users, target=contrast, **SETTING)
    assert_allclose(found.C @ X, contrast, atol=1e-10)
    whole = gwa_weights(X, users, **SETTING)
    assert found.objective < whole.objective


def test_designs_without_full_rank():
    X, users = instance(d=3)
    low = X @ np.random.default_rng(2).normal(size=(3, 5))
    with pytest.raises(ValueError, match=r"X must have full column rank 5 .* its rank is 3"):
        gwa_weights(low, users, **SETTING)
    with pytest.raises(ValueError, match=r"target must be estimable, .* \(rank 3 of 5\); row 1"):
        gwa_weights(low, users, target=np.vstack([low[0], np.eye(5)[0]]), **SETTING)
    with pytest.raises(ValueError, match=r"target must be estimable, .*; row 1"):  # of any size
        gwa_weights(low, users, target=np.vstack([low[0], 1e-12 * np.eye(5)[0]]), **SETTING)
    V = np.linalg.svd(low)[2][:3]
    found = gwa_weights(low, users, target=V, **SETTING)
    assert_solved(found, low, users, target=V, **SETTING)
    assert_allclose(found.objective, gwa_weights(low @ V.T, users, **SETTING).objective, rtol=2e-8)
    with pytest.raises(ValueError, match="X must have full column rank"):
        gwa_weights(np.zeros((4, 2)), None, **SETTING)
    with pytest.raises(ValueError, match="X must have full column rank"):
        gwa_weights(np.ones((2, 3)), None, **SETTING)
    ridge = gwa_weights(low, users, prior=2.0, **SETTING)
    assert_solved(ridge, low, users, prior=2.0, **SETTING)


def test_a_feature_that_nobody_has_and_nobody_asks_for_is_left_out():
    X, users = instance(d=2)
    wide = np.column_stack([X, np.zeros(len(X))])
    plain = gwa_weights(X, users, target=[[1.0, -1.0]], **SETTING)
    found = gwa_weights(wide, users, target=[[1.0, -1.0, 0.0]], **SETTING)
    assert_allclose(found.objective, plain.objective, rtol=2e-8)


def test_a_prior_spans_from_nothing_to_unbiased():
    X, users = instance()
    unbiased = gwa_weights(X, users, **SETTING)
    values = []
    for prior in (1e-9, 1e-2, 1.0, 1e2, 1e12):
        found = gwa_weights(X, users, prior=prior, **SETTING)
        assert_solved(found, X, users, prior=prior, **SETTING)
        values.append(found.objective)
    assert values == sorted(values)
    assert_allclose(values[0], 3e-9, rtol=1e-6)
    assert_allclose(values[-1], unbiased.objective, rtol=1e-6)
    program = gwa_weights(X, users, prior=1.0, solver="cvxpy", **SETTING)
    assert_allclose(program.objective, values[2], rtol=2e-8)
    for target in (None, [[1.0, -1.0, 0.5]]):
        setting = {**SETTING, "prior": 0.7, "target": target}
        own, program = (gwa_weights(X, users, solver=s, **setting) for s in ("interior", "cvxpy"))
        assert_allclose(own.objective, program.objective, rtol=2e-8)
        white = build_problem(X, users, **setting)[0]
        white = white.change_basis(whitening(white, default_target=target is None))
        dual = solver.on_all_rows(white, NewtonSolver(white), 1e-8)
        assert dual.gap <= 1e-8
        assert_allclose(white.objective(dual.C), program.objective, rtol=2e-8)
    for s in (0.0, 1e-12):
        found = gwa_weights(X, users, prior=1.0, **{**SETTING, "sigma2": s})
        assert_solved(found, X, users, prior=1.0, **{**SETTING, "sigma2": s})


# --- Gaussian noise -------------------------------------------------------------------------------


def test_gaussian_version_pays_for_column_norms():
    X, users = instance()
    setting = {**SETTING, "norm": "l2", "delta": 1e-4}
    found = gwa_weights(X, users, **setting)
    assert_solved(found, X, users, **setting)
    norms = np.array([np.linalg.norm(found.C[:, users == u], axis=0).sum() for u in range(15)])
    assert_allclose(found.scale, 5.0 * norms.max() / gaussian_mu(1.0, 1e-4))
    assert_allclose(found.objective, (found.C**2).sum() + 3 * found.scale**2)
    whole = gwa_weights(X, users, solver="cvxpy", **setting)
    assert_allclose(whole.objective, found.objective, rtol=2e-8)


@pytest.mark.parametrize("epsilon", [3.0, 300.0])
def test_rows_join_until_a_program_on_some_is_optimal_for_all(monkeypatch, epsilon):
    X, users = instance(n=150, d=2, m=8)
    setting = {**SETTING, "epsilon": epsilon, "norm": "l2", "delta": 1e-6}
    whole = gwa_weights(X, users, solver="cvxpy", **setting)
    monkeypatch.setattr(solver, "QUICK_WEIGHTS", 0)
    monkeypatch.setattr(solver, "first_rows", lambda problem: np.arange(6))
    found = gwa_weights(X, users, **setting)
    assert_solved(found, X, users, **setting)
    assert_allclose(found.objective, whole.objective, rtol=2e-8)
    assert 6 < int(found.status.split()[2]) <= 150  # "clarabel: optimal, 72 rows"


def test_a_program_that_misses_its_gap_while_no_row_is_violated_says_so(monkeypatch):
    X, users = instance(n=150, d=2, m=8)
    setting = {**SETTING, "epsilon": 3.0, "norm": "l2", "delta": 1e-6}

    class MultipliersAlone(program.ProgramSolver):
        def run(self, tol):
            super().run(tol)
            self.C = np.zeros_like(self.C)  # which the repair makes least squares
            return 0.0

    monkeypatch.setattr(solver, "QUICK_WEIGHTS", 0)
    monkeypatch.setattr(solver, "ProgramSolver", MultipliersAlone)
    said = r"clarabel: .*, \d+ rows\) .*certified gap"
    with pytest.raises(ConvergenceError, match=said) as found:
        gwa_weights(X, users, **setting)
    assert ", 150 rows" not in str(found.value)


def test_with_one_coordinate_both_norms_are_one_problem():
    X, users = instance(d=1)
    gaussian = gwa_weights(X, users, sigma2=1.0, epsilon=1.0, width=5.0, norm="l2", delta=1e-3)
    epsilon = np.sqrt(2) * gaussian_mu(1.0, 1e-3)  # the price 2 / eps^2 of Laplace noise
    laplace = gwa_weights(X, users, sigma2=1.0, epsilon=epsilon, width=5.0)
    assert_allclose(gaussian.objective, laplace.objective, rtol=2e-8)


# --- exact sensitivity ----------------------------------------------------------------------------


@pytest.mark.parametrize("epsilon", [0.1, 30.0])
def test_exact_sensitivity_lowers_the_optimum(epsilon):
    X, users = instance(n=60, m=8)
    setting = {**SETTING, "epsilon": epsilon, "sensitivity": "exact"}
    found = gwa_weights(X, users, **setting)
    assert_solved(found, X, users, **setting)
    entrywise = gwa_weights(X, users, **{**setting, "sensitivity": "entrywise"})
    assert found.objective < 0.999 * entrywise.objective
    assert_allclose(found.contributions, exact_sensitivity(found.C, users))
    assert_allclose(found.scale, 5.0 / epsilon * found.contributions.max())
    assert_allclose(found.objective, (found.C**2).sum() + 6 * found.scale**2)


def test_cuts_join_until_all_of_them_hold(monkeypatch):
    X, users = instance(n=40, d=5, m=5)
    setting = {**SETTING, "sensitivity": "exact"}
    every = gwa_weights(X, users, **setting)  # at most 16 signs a user: all from the start
    monkeypatch.setattr(sensitivity, "FIRST_CUTS", 1)
    monkeypatch.setattr(sensitivity, "NEW_CUTS", 1)
    found = gwa_weights(X, users, **setting)
    assert_solved(found, X, users, **setting)
    assert_allclose(found.objective, every.objective, rtol=2e-8)
    few, all_of_them = (int(s.status.split()[4]) for s in (found, every))  # "..: 30 steps, 31 cuts"
    assert all_of_them == (2 ** (np.minimum(np.bincount(users), 5) - 1)).sum()
    assert 2 * 5 < few < all_of_them  # at most two a user at first: cuts joined, and not all


def exact_program(X, users, sigma2, kappa, tau):
    """The optimum with a constraint for every user and sign vector, by Clarabel."""
    cp = program.load_cvxpy()
    n, d = X.shape
    C, t = cp.Variable((d, n)), cp.Variable()
    limits = [C @ X == np.eye(d)]
    for user, share in zip(np.unique(users), tau, strict=True):
        for signs in itertools.product([1.0, -1.0], repeat=d):
            limits.append(cp.norm1(np.array(signs) @ C[:, users == user]) <= share * t)
    goal = cp.Minimize(sigma2 * cp.sum_squares(C) + kappa * cp.square(t))
    return cp.Problem(goal, limits).solve(solver="CLARABEL")


@pytest.mark.parametrize("ratio", [1e-3, 1.0, 1e3])
def test_exact_optimum_against_all_sign_vectors(ratio):
    X, users = instance(n=24, d=3, m=6)
    budgets = dict(zip(np.unique(users), np.random.default_rng(1).uniform(1, 4, 6), strict=False))
    setting = {"sigma2": ratio, "epsilon": budgets, "width": 2.0, "sensitivity": "exact"}
    found = gwa_weights(X, users, **setting)
    assert_solved(found, X, users, **setting)
    share = np.array(list(budgets.values()))
    best = exact_program(X, users, ratio, 6 * (2.0 / share.max()) ** 2, share / share.max())
    assert_allclose(found.objective, best, rtol=1e-6)


@pytest.mark.parametrize("sigma2", [1e-10, 1e-4, 1e-2])
def test_exact_optimum_where_noise_is_nearly_all(sigma2):
    X, users = instance(n=48, d=4, m=6)
    setting = {**SETTING, "sigma2": sigma2, "sensitivity": "exact"}
    found = gwa_weights(X, users, **setting)
    assert_solved(found, X, users, **setting)
    best = exact_program(X, users, sigma2, 8 * 5.0**2, np.ones(6))
    assert_allclose(found.objective, best, rtol=1e-6)


@pytest.mark.parametrize(
    "design", ["repeated rows", "one-hot", "rows of zeros", "a user a row", "columns of any size"]
)
def test_exact_optimum_where_much_is_degenerate(design):
    X, users = instance(n=48, d=4, m=6)
    if design == "repeated rows":
        X = np.repeat(X[:12], 4, axis=0)
    elif design == "one-hot":
        X = np.eye(4)[np.arange(48) % 4]
    elif design == "rows of zeros":
        X[users == 0] *= np.arange((users == 0).sum())[:, None] % 2
    elif design == "a user a row":
        users = None
    else:
        X = X * [1.0, 1e3, 1e-3, 1e5]
    setting = {**SETTING, "sensitivity": "exact"}
    found = gwa_weights(X, users, **setting)
    assert_solved(found, X, users, **setting)
    for size in (1.0, 1e-9):  # the scale does not matter
        M, parts = size * found.multipliers, [(Z, size * w) for Z, w in found.parts]
        again = certify(found.C, X, users, multipliers=M, parts=parts, **setting)
        assert_allclose(again[1], found.lower_bound, rtol=2e-8)


@pytest.mark.parametrize(("steps", "tol"), [(0, 1e-8), (3, 1e-8), (300, 1e-15)])
def test_an_exact_optimum_that_is_not_reached_is_refused(monkeypatch, steps, tol):
    X, users = instance(n=40, d=3, m=8)
    monkeypatch.setattr(sensitivity, "MAX_STEPS", steps)
    said = rf"interior point: {steps if steps < 300 else '[0-9]+'} steps, .* certified gap of"
    with pytest.raises(ConvergenceError, match=said):
        gwa_weights(X, users, **SETTING, tol=tol, sensitivity="exact")


def test_wrong_parts_prove_less():
    X, users = instance(n=40, d=3, m=8)
    setting = {**SETTING, "sensitivity": "exact"}
    found = gwa_weights(X, users, **setting)
    rng = np.random.default_rng(4)

    def bound(parts):
        return certify(found.C, X, users, multipliers=found.multipliers, parts=parts, **setting)[1]

    assert_allclose(bound(found.parts), found.lower_bound, rtol=1e-12)
    for size in (1e-3, 0.1, 10.0):
        moved = [(Z, w + size * np.abs(w).max() * rng.normal(size=w.shape)) for Z, w in found.parts]
        assert bound(moved) < found.lower_bound
    assert bound([(Z, 0 * w) for Z, w in found.parts]) < 0.5 * found.lower_bound
    assert_allclose(bound([(Z, 9 * w) for Z, w in found.parts]), found.lower_bound, rtol=1e-12)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda parts: parts[1:], "parts must hold a pair for each of 8 users; got 7"),
        (lambda parts: 3, "parts must hold a pair for each of 8 users; got int"),
        (lambda parts: [1] * 8, "parts of user 0 must be signs"),
        (lambda parts: [(1, 2, 3)] * 8, "parts of user 0 must be signs"),
        (lambda parts: [(Z[:0], w[:, :0]) for Z, w in parts], "parts of user 0 must be signs"),
        (lambda parts: [(Z / 2, w) for Z, w in parts], "parts of user 0 must be signs"),
        (lambda parts: [(Z, w[1:]) for Z, w in parts], "parts of user 0 must be signs"),
        (lambda parts: [(Z, w + np.nan) for Z, w in parts], "parts must"),
    ],
)
def test_parts_that_do_not_fit_are_refused(change, message):
    X, users = instance(n=40, d=3, m=8)
    setting = {**SETTING, "sensitivity": "exact"}
    found = gwa_weights(X, users, **setting)
    proof = {"multipliers": found.multipliers, "parts": change(found.parts)}
    with pytest.raises(ValueError, match=message):
        certify(found.C, X, users, **proof, **setting)
    with pytest.raises(ValueError, match="parts must be None unless sensitivity='exact'"):
        certify(found.C, X, users, **proof, **SETTING)


def test_exact_multipliers_of_the_wrong_sign_certify_nothing():
    X, users = instance(n=40, d=2, m=8)
    setting = {**SETTING, "sensitivity": "exact"}
    found = gwa_weights(X, users, **setting)
    M, parts = -found.multipliers, found.parts
    objective, bound, gap = certify(found.C, X, users, multipliers=M, parts=parts, **setting)
    assert_allclose(objective, found.objective, rtol=1e-11)
    assert (bound, gap) == (0.0, np.inf)
    with pytest.raises(
        ValueError, match="parts must hold a pair for each of 8 users; got NoneType"
    ):
        certify(found.C, X, users, multipliers=M, **setting)


def test_exact_and_entrywise_agree_where_users_have_one_row():
    X, _ = instance(n=20)
    a, b = (gwa_weights(X, **SETTING, sensitivity=s) for s in ("exact", "entrywise"))
    assert_allclose(a.objective, b.objective, rtol=2e-8)


def test_exact_takes_fifteen_rows_of_a_target():
    X, _ = instance(n=20)
    target = np.random.default_rng(0).normal(size=(16, 3))
    setting = {**SETTING, "sensitivity": "exact"}
    found = gwa_weights(X, target=target[:15], **setting)
    assert_solved(found, X, None, target=target[:15], **setting)
    with pytest.raises(ValueError, match=r"^target must have at most 15 rows with .*; got 16$"):
        gwa_weights(X, target=target, **setting)


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"width": 0.0}, "width must be finite and above 0"),
        ({"width": -1.0}, "width must be finite and above 0"),
        ({"sigma2": -1.0}, "sigma2 must be finite and at least 0"),
        ({"sigma2": np.nan}, "sigma2 must be finite and at least 0"),
        ({"epsilon": 0.0}, "epsilon must be finite and above 0"),
        ({"epsilon": {0: 1.0}}, "epsilon must have a budget for every user; it has no budget for"),
        ({"tol": 0.0}, "tol must be finite and above 0"),
        ({"solver": "simplex"}, "solver must be one of 'auto'"),
        (
            {"solver": "interior", "norm": "l2", "delta": 0.1},
            "solver must be 'auto' or 'cvxpy' with",
        ),
        ({"norm": "l3"}, "norm must be one of 'l1', 'l2'"),
        ({"norm": "l2"}, "delta must be given with norm='l2'"),
        ({"delta": 1e-5}, "delta must be None with norm='l1'"),
        ({"norm": "l2", "delta": 1.0}, "delta must be above 0 and below 1"),
        ({"prior": 0.0}, "prior must be finite and above 0"),
        ({"target": np.eye(2)}, r"target must have shape \(k, 3\)"),
        ({"sensitivity": "both"}, "sensitivity must be one of"),
        ({"target": [[0.0, 0.0, 0.0]]}, "target must not be all zeros"),
        ({"sensitivity": "exact", "prior": 1.0}, "prior must be None with sensitivity='exact'"),
        ({"sensitivity": "exact", "sigma2": 0.0}, "sigma2 must be above 0 with sensitivity"),
        (
            {"sensitivity": "exact", "norm": "l2", "delta": 0.1},
            "norm must be 'l1' .* Laplace noise",
        ),
    ],
)
def test_bad_arguments_are_refused(changes, message):
    X, users = instance()
    with pytest.raises(ValueError, match=f"^{message}"):
        gwa_weights(X, users, **{**SETTING, **changes})


def test_bad_designs_and_users_are_refused():
    X, users = instance()
    with pytest.raises(ValueError, match=r"users must have shape \(80,\)"):
        gwa_weights(X, users[1:], **SETTING)
    with pytest.raises(ValueError, match=r"X must have shape \(n, d\)"):
        gwa_weights(X[:, 0], users, **SETTING)
    broken = X.copy()
    broken[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"X must be finite; got X\[3, 1\]"):
        gwa_weights(broken, users, **SETTING)


def test_a_solver_that_falls_short_raises_with_its_status(monkeypatch):
    X, users = instance()
    monkeypatch.setattr(interior, "MAX_STEPS", 3)
    with pytest.raises(
        ConvergenceError, match=r"interior point: 3 steps .* certified gap of .*tol"
    ):
        gwa_weights(X, users, solver="interior", **SETTING)
    found = gwa_weights(X, users, **SETTING)
    assert found.status.startswith("clarabel: optimal")
    problem = white_problem(X, users, {**SETTING, "epsilon": 1e-3})
    assert solver.on_all_rows(problem, NewtonSolver(problem), 1e-8).gap > 1e-8


def test_auto_goes_on_where_a_program_is_not_exact_enough(monkeypatch):
    X, users = instance()
    monkeypatch.setattr(program, "EXACT", {"max_iter": 5})
    with pytest.raises(ConvergenceError, match=r"clarabel: .*certified gap"):
        gwa_weights(X, users, solver="cvxpy", **SETTING)
    found = gwa_weights(X, users, **SETTING)
    assert_solved(found, X, users, **SETTING)
    assert "interior point" in found.status


@pytest.mark.parametrize("begin", [InteriorPoint, NewtonSolver])
def test_the_interior_takes_all_rows_where_few_or_newton_do_not_do(monkeypatch, begin):
    X, users = instance(n=300)
    setting = {**SETTING, "epsilon": 300.0 if begin is NewtonSolver else 0.3}
    if begin is NewtonSolver:
        monkeypatch.setattr(newton, "MAX_STEPS", 1)
    else:
        assert not NewtonSolver(white_problem(X, users, setting)).has_full_rank()
    monkeypatch.setattr(solver, "MAX_ROUNDS", 1)
    found = gwa_weights(X, users, solver="interior", **setting)
    assert_solved(found, X, users, **setting)
    assert found.status.endswith("steps on 300 rows")


def test_a_growing_set_of_rows_that_runs_out_of_rounds_is_refused(monkeypatch):
    """The last rows that joined have no weights yet: what is judged are those before them."""
    X, users = instance(n=300)
    monkeypatch.setattr(solver, "MAX_ROUNDS", 2)
    monkeypatch.setattr(solver, "MAX_SIZE_INTERIOR", 0)
    with pytest.raises(ConvergenceError, match="certified gap of"):
        gwa_weights(X, users, solver="interior", **{**SETTING, "epsilon": 0.3})


def test_a_solver_that_breaks_down_raises_with_its_words(monkeypatch):
    X, users = instance()
    assert gwa_weights(X, users, solver="cvxpy", **SETTING).gap < 1e-8
    cp = program.load_cvxpy()

    def solve(self, **options):
        raise cp.error.SolverError("out of order")

    monkeypatch.setattr(cp.Problem, "solve", solve)
    with pytest.raises(ConvergenceError, match=r"ended \(clarabel: out of order, 80 rows\) with"):
        gwa_weights(X, users, solver="cvxpy", **SETTING)


def test_a_sweep_compiles_once_and_does_not_depend_on_what_came_before(monkeypatch):
    X, users = instance()
    written = []

    def counted(problem):
        written.append(problem)
        return write(problem)

    write = program.write_program
    monkeypatch.setattr(program, "write_program", counted)
    monkeypatch.setattr(program, "_last", threading.local())

    def sweep(epsilons):
        return [
            gwa_weights(X, users, solver="cvxpy", **{**SETTING, "epsilon": epsilon}).C
            for epsilon in epsilons
        ]

    there, back = sweep([0.1, 1.0, 100.0]), sweep([100.0, 1.0, 0.1])
    assert len(written) == 1
    assert_array_equal(there, back[::-1])
    gwa_weights(2 * X[::-1], users, **SETTING)
    gwa_weights(X, users[::-1], **SETTING)
    gwa_weights(X, users[::-1], target=np.ones((1, 3)), **SETTING)
    gwa_weights(X, users[::-1], target=np.ones((1, 3)), prior=1.0, **SETTING)
    assert len(written) == 5


def test_weights_that_are_not_finite_are_no_solution(monkeypatch):
    X, users = instance()

    class Broken(program.ProgramSolver):
        def run(self, tol):
            super().run(tol)
            self.C = self.C * np.nan
            return 0.0

    monkeypatch.setattr(solver, "ProgramSolver", Broken)
    with pytest.raises(ConvergenceError, match=r"clarabel: optimal.* C X = target off by 1 of"):
        gwa_weights(X, users, solver="cvxpy", **SETTING)
    problem = white_problem(X, users, SETTING)
    found = solver.on_all_rows(problem, Broken(problem), 1e-8)
    assert_array_equal(found.rows, np.arange(80))
    assert_array_equal(found.C, np.zeros((3, 80)))
    assert (found.gap, found.status) == (np.inf, "clarabel: optimal, 80 rows")


def test_a_row_at_the_level_of_its_user_stays_out():
    X = [[1.0, 0.0], [0.0, 0.0], [0.0, 2.0]]
    problem, _ = build_problem(X, [0, 0, 1], **SETTING)
    nobody, first = np.zeros(0, dtype=np.intp), np.zeros(1, dtype=np.intp)
    largest = np.abs(problem.X).max(axis=1)
    for levels, rows, expected in (
        ([0.0, 0.0], nobody, [0, 2]),
        ([1.0, 1.5], nobody, [2]),
        ([0.0, 0.0], first, [2]),
    ):
        found = solver.missing_rows(problem, largest, np.array(levels), rows, 0.0)
        assert_array_equal(found, expected)


def test_a_solver_that_lies_is_noticed(monkeypatch):
    X, users = instance()
    honest = solver.on_all_rows

    def liar(problem, begun, tol):
        found = honest(problem, begun, tol)
        return found._replace(C=found.C * 0.9, gap=0.0)

    monkeypatch.setattr(solver, "on_all_rows", liar)
    with pytest.raises(ConvergenceError, match="C X = target"):
        gwa_weights(X, users, solver="cvxpy", **SETTING)
