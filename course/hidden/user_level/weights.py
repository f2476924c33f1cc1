"""Weights of a mean: noise against the variance of labels."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import optimize

from pdpbook.gwa.program import load_cvxpy
from pdpbook.pages.exercises.properties import Answer, Demands
from pdpbook.pages.exercises.user_level import hidden, objective, users_of_many_sizes


def _counted(h: float, sizes: Any) -> float:
    return float(np.minimum(sizes, h).sum())


def _excess(h: float, sizes: Any, A: float) -> float:
    """What a limit costs beyond its value A / n_h, in units of h / n_h^2; it rises with h."""
    return float(h - A * np.maximum(0, 1 - h / sizes).sum())


def _root(sizes: Any, A: float) -> float:
    return float(optimize.brentq(_excess, 0, np.max(sizes), args=(sizes, A), xtol=1e-14))


# --- best_user_weights ----------------------------------------------------------------------------


def _least(sizes: Any, A: float) -> float:
    """The least objective, from a solver that knows no formula for it."""
    cp = load_cvxpy()
    w = cp.Variable(len(sizes), nonneg=True)
    cost = cp.square(cp.max(w)) + A * cp.sum_squares(cp.multiply(w, 1 / np.sqrt(sizes)))
    problem = cp.Problem(cp.Minimize(cost), [cp.sum(w) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-12)
    return float(problem.value)


@hidden("best_user_weights", weight=3, promise=True)
def no_weights_cost_less(answer: Answer, rng: Generator) -> bool:
    """No other weights have an objective that is smaller by more than a hundred-thousandth."""
    return all(
        objective(answer(s, A), s, A) <= _least(s, A) * (1 + 1e-5)
        for s, A in users_of_many_sizes(rng)
    )


@hidden("best_user_weights")
def no_limit_on_rows_costs_less(answer: Answer, rng: Generator) -> Demands:
    """They cost no more than equal users, equal rows, or rows counted up to any limit."""
    for s, A in users_of_many_sizes(rng):
        kept = np.minimum(s, np.arange(1, s.max() + 1)[:, None])
        w = kept / kept.sum(axis=1, keepdims=True)
        rival = np.min(w.max(axis=1) ** 2 + A * np.sum(w**2 / s, axis=1))
        yield objective(answer(s, A), s, A) <= rival * (1 + 1e-5)


@hidden("best_user_weights")
def much_noise_makes_users_equal(answer: Answer, rng: Generator) -> bool:
    """Where only noise counts, users count alike."""
    s, A = np.array([9, 1, 4, 2, 16, 40]), 1e-4
    w = np.asarray(answer(s, A))
    return bool(np.isfinite(objective(w, s, A)) and 6 * w.max() < 1.001)


@hidden("best_user_weights")
def little_noise_makes_rows_equal(answer: Answer, rng: Generator) -> bool:
    """Where noise hardly counts, rows count alike."""
    s, A = np.array([9, 1, 4, 2, 16, 40]), 1e4
    w = np.asarray(answer(s, A))
    return bool(np.isfinite(objective(w, s, A)) and 72 * np.sum(w**2 / s) < 1.001)


@hidden("best_user_weights")
def users_may_be_shuffled(answer: Answer, rng: Generator) -> bool:
    """It does not depend on the order in which users are listed."""
    s, A = np.array([1, 2, 5, 9, 30, 60]), 2.0
    order = np.array([3, 0, 5, 1, 4, 2])
    here, there = np.asarray(answer(s, A)), np.asarray(answer(s[order], A))
    return bool(np.allclose(there, here[order], atol=1e-2))


@hidden("best_user_weights")
def large_users_alike_are_several(answer: Answer, rng: Generator) -> Demands:
    """Several users of the same size are several, and the limit need not be a whole number."""
    for s in (np.array([9, 60, 1, 60, 60, 4, 1, 60, 9]), np.array([3, 3, 1, 40, 3, 2])):
        A = float(rng.uniform(0.5, 0.6) * (8 if len(s) == 9 else 1))
        least = A / _counted(_root(s, A), s)
        yield objective(answer(s, A), s, A) <= least * (1 + 1e-5)


# --- rows_that_count ------------------------------------------------------------------------------


@hidden("rows_that_count", weight=3, promise=True)
def the_rows_that_count_give_the_least_cost(answer: Answer, rng: Generator) -> bool:
    """The price over all rows that count is the least objective."""
    pairs = [
        (A / _counted(float(answer(s, A)), s), _least(s, A)) for s, A in users_of_many_sizes(rng)
    ]
    return all(bool(np.isclose(mine, least, rtol=1e-5)) for mine, least in pairs)


@hidden("rows_that_count")
def h_may_be_below_every_size(answer: Answer, rng: Generator) -> bool:
    """It is right, too, where it is below every size and all weigh the same."""
    s, A = rng.integers(50, 500, 6), 0.7
    h = float(answer(s, A))
    return bool(np.isclose(A / (6 * h), objective(np.full(6, 1 / 6), s, A), rtol=1e-5))


@hidden("rows_that_count")
def rows_and_price_share_a_unit(answer: Answer, rng: Generator) -> bool:
    """Three times as many rows at three times the price: three times as many count."""
    pairs = [
        (float(answer(3 * s, 3 * A)), 3 * float(answer(s, A))) for s, A in users_of_many_sizes(rng)
    ]
    return all(bool(np.isclose(one, two, rtol=1e-5)) for one, two in pairs)


@hidden("rows_that_count")
def company_never_lowers_h(answer: Answer, rng: Generator) -> bool:
    """One more user never lowers it; a very large one raises it, a small one leaves it."""
    s, A = np.array([5, 2, 40, 9, 15, 60, 60]), 3.0
    h = float(answer(s, A))
    large, small = float(answer(np.append(s, 10**9), A)), float(answer(np.append(s, 1), A))
    return bool(large > h * 1.01 and np.isclose(small, h, rtol=1e-5))


@hidden("rows_that_count")
def six_digits_are_right_at_every_price(answer: Answer, rng: Generator) -> Demands:
    """It is right to six digits at any price, from very low to very high, and with equal users."""
    for s in (np.array([3, 7, 7, 7, 2, 40, 40]), np.full(20, 30), 10 * np.arange(1, 300)):
        for A in 10.0 ** rng.uniform(-4, 4, 4):
            h = float(answer(s, A))
            yield _excess(h * (1 - 2e-6), s, A) < 0 < _excess(h * (1 + 2e-6), s, A)
