"""Interior points: where they begin, that a step solves its equations, what measures notice."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pdpbook.gwa import exact_interior, interior
from pdpbook.gwa.dual import best_levels
from pdpbook.gwa.exact_interior import ExactInteriorPoint
from pdpbook.gwa.interior import InteriorPoint
from pdpbook.gwa.newton import DualPoint
from pdpbook.gwa.problem import build_problem, whitening

SETTING = {"sigma2": 2.0, "width": 3.0, "norm": "l1", "delta": None}
WRONG = ("r_v", "r_u", "r_s")  # of a user


def white_problem(d=3, prior=None, seed=0):
    """Users with 1 to 8 rows, fewer and more than d, and budgets of their own."""
    rng = np.random.default_rng(seed)
    sizes = np.arange(1, 9)
    users, X = np.repeat(sizes, sizes), rng.normal(size=(sizes.sum(), d))
    budgets = dict(zip(sizes, rng.uniform(1, 4, len(sizes)), strict=True))
    problem, _ = build_problem(X, users, epsilon=budgets, target=None, prior=prior, **SETTING)
    return problem.change_basis(whitening(problem, default_target=True))


def exact_point(problem):
    return ExactInteriorPoint(problem, problem.target @ np.linalg.pinv(problem.X))


def half(*pairs):
    """A step length for all, so that every linear residual shrinks by the same factor."""
    return 0.5


# --- the exact sensitivity ------------------------------------------------------------------------


def test_the_exact_search_begins_centered():
    point = exact_point(white_problem())
    point.measure()
    for share in point.shares:
        assert_allclose(share.g * share.lam, point.mu)
        assert_allclose(share.s * share.nu, point.mu)
        assert_allclose(share.r_u, 0, atol=1e-15 * share.nu.max() * 4)  # rounding of a sum of 3
    assert_allclose(point.kappa * point.t, sum(s.tau * s.nu.sum() for s in point.shares))


@pytest.mark.parametrize("d", [2, 5])
def test_an_exact_step_solves_its_linear_equations(monkeypatch, d):
    point = exact_point(white_problem(d))
    for _ in range(3):
        point.measure()
        point.step()
    point.measure()
    point.join(1e-9)
    point.measure()
    monkeypatch.setattr(exact_interior, "step_length", half)
    before = [[getattr(share, name) for name in WRONG] for share in point.shares]
    equal, price = point.r_equal, point.r_t
    point.step()
    point.measure()
    left = 1 - 0.99 * half()
    rounding = 1e-11 * max(np.abs(w).max() for share in before for w in share)
    for share, wrong in zip(point.shares, before, strict=True):
        for name, old in zip(WRONG, wrong, strict=True):
            assert_allclose(getattr(share, name), left * old, rtol=1e-9, atol=rounding)
    assert_allclose(point.r_t, left * price, rtol=1e-9, atol=rounding)
    assert_allclose(point.r_equal, left * equal, rtol=1e-9, atol=rounding)


def test_the_exact_measure_notices_multipliers_that_are_off():
    point = exact_point(white_problem())
    while point.measure() > 1e-9:
        point.step()
    point.L = 1.1 * point.L
    assert point.measure() > 1e-2


def test_the_exact_measure_is_relative_to_the_objective():
    problem = white_problem()
    point = exact_point(problem)
    found = point.measure()
    unit = point.price * point.length**2
    assert point.products > point.wrong
    objective = problem.objective(point.C, point.t * point.length)
    assert_allclose(point.products * unit / found, objective, rtol=1e-12)


def test_parts_add_up_to_the_multipliers():
    problem = white_problem()
    point = exact_point(problem)
    for _ in range(3):
        point.measure()
        point.step()
    for own, share, (Z, w) in zip(problem.rows_of_users, point.shares, point.parts(), strict=True):
        whole = problem.sigma2 * point.C[:, own] + (w @ Z if share.flat else (w @ Z).T)
        assert_allclose(whole, point.M @ problem.X[own].T, atol=1e-13 * np.abs(point.M).max())


def test_the_first_signs_have_the_largest_sums_and_as_many_others():
    sums = np.random.default_rng(0).random(1 << 14)
    first = exact_interior._first(sums)
    assert set(np.argsort(sums)[-20:]) < set(first)
    assert 20 < len(first) <= 40


@pytest.mark.parametrize("small", [1e-3, 1e-7, 1e-11])
def test_inverse_roots_keep_what_rounding_would_take_from_the_squares(small):
    """Known by hand where the signs are orthogonal: G has eigenvalues q + k c, in any order."""
    Z, q, c = np.array([[1.0, 1.0], [1.0, -1.0]]), small**2, np.array([[1.0, small**2]])
    root = exact_interior._inverse_root(Z, c, q)[0]
    assert root[0, 1] == 0
    inverse = Z.T / 2 @ np.diag(1 / (q + 2 * c[0])) @ Z
    assert_allclose(root.T @ root, inverse, rtol=1e-3)


# --- summed norms ---------------------------------------------------------------------------------


def test_the_error_notices_multipliers_that_are_off():
    point = InteriorPoint(white_problem())
    assert point.run(1e-9) <= 1e-9
    point.L = 1.1 * point.L
    found = point.error()
    assert found == np.abs(point.r1).max() / point.nu.max() > 1e-3


@pytest.mark.parametrize("prior", [None, 0.5])
def test_a_step_solves_its_linear_equations(monkeypatch, prior):
    problem = white_problem(prior=prior)
    point = InteriorPoint(problem)
    for _ in range(3):
        point.error()
        point.step()
    point.error()
    monkeypatch.setattr(interior, "step_length", half)
    names = ("r1", "r2", "r3", "r4")
    before = [getattr(point, name) for name in names]
    left = 1 - max(0.99, 1 - point.gap) * half()
    point.step()
    point.error()
    rounding = 1e-11 * max(np.abs(old).max() for old in before)
    for name, old in zip(names, before, strict=True):
        assert_allclose(getattr(point, name), left * old, rtol=1e-9, atol=rounding)


@pytest.mark.parametrize("prior", [None, 0.5])
def test_the_hessian_of_newton_is_that_of_its_gradient(prior):
    """The dual is quadratic between kinks, so central differences are exact but for rounding."""
    problem = white_problem(prior=prior)
    point = DualPoint(problem, problem.target)
    T = problem.basis

    def gradient(L):
        a = problem.X @ L.T
        nu, _ = best_levels(problem, np.abs(a))
        C = np.sign(a) * np.maximum(np.abs(a) - nu[problem.codes][:, None], 0)
        ridge = 0 if prior is None else L @ (T.T @ T) * problem.sigma2 / prior
        return C.T @ problem.X - problem.target + ridge

    assert_allclose(gradient(point.L), point.gradient, rtol=1e-10, atol=1e-12)
    assert (point.nu > 0).sum() > 3
    h = 1e-6 * np.abs(point.L).max()
    moves = h * np.eye(point.L.size).reshape(-1, *point.L.shape)
    by_hand = [((gradient(point.L + e) - gradient(point.L - e)) / (2 * h)).ravel() for e in moves]
    assert_allclose(point.hessian(), by_hand, atol=1e-7)  # 1e-13 / h, of entries near 1
