"""The group-weighted average as a convex program."""

from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.gwa.program import load_cvxpy
from pdpbook.pages.exercises.properties import Answer, Demands
from pdpbook.pages.exercises.user_level import design, hidden, solve


def _variance(C: Any, users: Any, sigma2: float, tau: Any) -> float:
    """Total variance of the release with a matrix, from the matrix alone."""
    moves = np.zeros(len(tau))
    np.add.at(moves, users, np.abs(C).sum(axis=0))
    return float(sigma2 * np.sum(C**2) + 2 * len(C) * np.max(moves / tau) ** 2)


def _lower_bound(X: Any, users: Any, sigma2: float, tau: Any) -> float:
    """A bound that no unbiased matrix is under: the dual program, evaluated where it ends."""
    cp = load_cvxpy()
    n, d = X.shape
    multipliers = cp.Variable((d, d))
    nu = cp.Variable(len(tau), nonneg=True)
    floor = np.ones((d, 1)) @ cp.reshape(nu[users], (1, n), order="C")
    rest = cp.sum_squares(cp.pos(cp.abs(multipliers @ X.T) - floor)) / 2
    price = sigma2 * cp.square(tau @ nu) / (4 * d)
    cp.Problem(cp.Maximize(cp.trace(multipliers) - rest - price)).solve(solver=cp.CLARABEL)
    at, kept = multipliers.value, np.maximum(nu.value, 0)  # any point gives a valid bound
    soft = np.maximum(np.abs(at @ X.T) - kept[users], 0)
    value = np.trace(at) - np.sum(soft**2) / 2 - sigma2 * (tau @ kept) ** 2 / (4 * d)
    return float(2 * sigma2 * value)


@hidden("gwa_problem", promise=True)
def its_value_is_the_variance(answer: Answer, rng: Generator) -> bool:
    """The optimal value is the total variance of the release with the optimal matrix."""
    X, users, tau = design(rng)
    C, value = solve(answer(X, users, 0.2, tau))
    return bool(np.isclose(value, _variance(C, users, 0.2, tau), rtol=1e-5))


@hidden("gwa_problem", weight=3, promise=True)
def no_unbiased_matrix_is_better(answer: Answer, rng: Generator) -> bool:
    """No unbiased matrix has a variance that is smaller by more than a hundred-thousandth."""
    X, users, tau = design(rng)
    C, _ = solve(answer(X, users, 0.3, tau))
    unbiased = np.allclose(C @ X, np.eye(2), atol=1e-5)
    least = _lower_bound(X, users, 0.3, tau)
    return bool(unbiased and _variance(C, users, 0.3, tau) <= least * (1 + 1e-5))


@hidden("gwa_problem")
def budgets_without_end_give_least_squares(answer: Answer, rng: Generator) -> bool:
    """With enormous budgets it is least squares."""
    X, users, tau = design(rng)
    C, value = solve(answer(X, users, 1.0, 1e5 * tau))
    best = np.linalg.pinv(X)
    return bool(np.isclose(value, np.sum(best**2), rtol=1e-5) and np.allclose(C, best, atol=1e-3))


@hidden("gwa_problem")
def two_users_are_dearer_as_one(answer: Answer, rng: Generator) -> bool:
    """To hide two large users as if they were one costs more."""
    X, users, _ = design(rng)
    together = np.where(users == 4, 3, users)
    _, apart = solve(answer(X, users, 0.1, np.ones(5)))
    _, merged = solve(answer(X, together, 0.1, np.ones(4)))
    return bool(merged > apart * (1 + 1e-4))


@hidden("gwa_problem")
def twice_the_budgets_are_a_quarter_of_the_noise(answer: Answer, rng: Generator) -> bool:
    """With labels on a line, twice the budgets leave a quarter of the variance."""
    X, users, tau = design(rng)
    (_, one), (_, two) = (solve(answer(X, users, 0.0, k * tau)) for k in (1, 2))
    return bool(np.isclose(one, 4 * two, rtol=1e-5))


@hidden("gwa_problem", promise=True)
def so_it_is_in_other_dimensions(answer: Answer, rng: Generator) -> Demands:
    """One coefficient or three, rows in small units, and any user may be the one who limits it."""
    for d, careful in ((1, 0), (3, 4)):
        X, users, tau = design(rng)
        X = 0.05 * np.column_stack([X, rng.normal(size=12)])[:, :d]
        tau[careful] /= 30
        C, value = solve(answer(X, users, 0.2, tau))
        least = _lower_bound(X, users, 0.2, tau)
        same = np.isclose(value, _variance(C, users, 0.2, tau), rtol=1e-5)
        yield bool(same and value <= least * (1 + 1e-5))
