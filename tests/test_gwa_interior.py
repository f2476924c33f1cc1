"""Interior points: where they begin, that a step solves its equations, what measures notice."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from pdpbook.gwa import interior, sensitivity
from pdpbook.gwa.dual import best_levels
from pdpbook.gwa.interior import InteriorPoint
from pdpbook.gwa.newton import DualPoint
from pdpbook.gwa.problem import build_problem, whitening
from pdpbook.gwa.sensitivity import ExactInteriorPoint

SETTING = {"sigma2": 2.0, "width": 3.0, "norm": "l1", "delta": None}
RESIDUALS = ("r1", "r2", "r3")  # of a user


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
    for block in point.blocks:
        assert_allclose(block.g * block.lam, point.mean_product)
        assert_allclose(block.s * block.nu, point.mean_product)
        assert_allclose(block.r2, 0, atol=1e-15 * block.nu.max() * 4)  # rounding of a sum of 3
    assert_allclose(point.kappa * point.t, sum(s.tau * s.nu.sum() for s in point.blocks))


@pytest.mark.parametrize("d", [2, 5])
def test_an_exact_step_solves_its_linear_equations(monkeypatch, d):
    point = exact_point(white_problem(d))
    for _ in range(3):
        point.measure()
        point.step()
    point.measure()
    point.add_cuts(1e-9)
    point.measure()
    monkeypatch.setattr(sensitivity, "step_length", half)
    before = [[getattr(block, name) for name in RESIDUALS] for block in point.blocks]
    r4, r5 = point.r4, point.r5
    point.step()
    point.measure()
    left = 1 - 0.99 * half()
    rounding = 1e-11 * max(np.abs(w).max() for share in before for w in share)
    for block, wrong in zip(point.blocks, before, strict=True):
        for name, old in zip(RESIDUALS, wrong, strict=True):
            assert_allclose(getattr(block, name), left * old, rtol=1e-9, atol=rounding)
    assert_allclose(point.r5, left * r5, rtol=1e-9, atol=rounding)
    assert_allclose(point.r4, left * r4, rtol=1e-9, atol=rounding)


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
    assert point.gap > point.multiplier_error
    objective = problem.objective(point.C, point.t * point.length)
    assert_allclose(point.gap * unit / found, objective, rtol=1e-12)


def test_parts_add_up_to_the_multipliers():
    problem = white_problem()
    point = exact_point(problem)
    for _ in range(3):
        point.measure()
        point.step()
    for rows, block, (Z, w) in zip(problem.rows_of_users, point.blocks, point.parts(), strict=True):
        of_cuts = (w @ Z).T if block.transposed else w @ Z
        whole = problem.sigma2 * point.C[:, rows] + of_cuts
        assert_allclose(whole, point.M @ problem.X[rows].T, atol=1e-13 * np.abs(point.M).max())


def test_the_first_signs_have_the_largest_sums_and_as_many_others():
    sums = np.random.default_rng(0).random(1 << 14)
    first = sensitivity.first_cuts(sums)
    assert set(np.argsort(sums)[-20:]) < set(first)
    assert 20 < len(first) <= 40


@pytest.mark.parametrize("small", [1e-3, 1e-7, 1e-11])
def test_inverse_roots_keep_what_rounding_would_take_from_the_squares(small):
    """Known by hand where the signs are orthogonal: G has eigenvalues q + k c, in any order."""
    Z, q, c = np.array([[1.0, 1.0], [1.0, -1.0]]), small**2, np.array([[1.0, small**2]])
    R = sensitivity.root_of_inverse(Z, c, q)[0]
    assert R[1, 0] == 0
    inverse = Z.T / 2 @ np.diag(1 / (q + 2 * c[0])) @ Z
    assert_allclose(R @ R.T, inverse, rtol=1e-3)


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
