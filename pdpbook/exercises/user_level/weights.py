"""Weights of a mean: noise against the variance of labels."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.exercises.properties import Answer
from pdpbook.exercises.user_level.assignment import hidden, visible
from pdpbook.gwa.program import load_cvxpy

# --- best_user_weights ----------------------------------------------------------------------------


def _objective(w: Any, sizes: Any, A: float) -> float:
    """The objective; infinite where weights are negative or do not sum to 1."""
    w = np.asarray(w, dtype=float)
    if w.shape != np.shape(sizes) or not np.all(w >= -1e-7) or not abs(w.sum() - 1) < 1e-6:
        return np.inf
    return float(np.max(w) ** 2 + A * np.sum(w**2 / sizes))


def _least(sizes: Any, A: float) -> float:
    """The least objective, from a solver that knows no formula for it."""
    cp = load_cvxpy()
    w = cp.Variable(len(sizes), nonneg=True)
    cost = cp.square(cp.max(w)) + A * cp.sum_squares(cp.multiply(w, 1 / np.sqrt(sizes)))
    problem = cp.Problem(cp.Minimize(cost), [cp.sum(w) == 1])
    problem.solve(solver=cp.CLARABEL, tol_gap_rel=1e-10, tol_gap_abs=1e-12)
    return float(problem.value)


def _crowds(rng: Generator) -> Iterator[tuple[Any, float]]:
    """Sizes in no order and a price, from nearly pure noise to hardly any."""
    for A in (0.05, 1.0, 30.0):
        yield rng.permutation(np.array([1, 1, 2, 3, 5, 8, 30, 400])) + rng.integers(0, 3, 8), A


@visible("best_user_weights")
def weights_share_one(answer: Answer, rng: Generator) -> bool:
    """There is a weight for each user; none is below 0, and they sum to 1."""
    return all(np.isfinite(_objective(answer(s, A), s, A)) for s, A in _crowds(rng))


@visible("best_user_weights")
def equal_users_weigh_the_same(answer: Answer, rng: Generator) -> bool:
    """If all users own the same number of rows, all weigh the same."""
    s = np.full(7, int(rng.integers(1, 30)))
    return bool(np.allclose(answer(s, 2.0), 1 / 7, rtol=1e-2))


@visible("best_user_weights")
def more_rows_may_weigh_more(answer: Answer, rng: Generator) -> bool:
    """Where the variance of labels counts, a user of many rows weighs more than one of few."""
    w = answer(np.array([2, 50]), 10.0)
    return bool(w[1] > w[0] > 0)


@hidden("best_user_weights")
def no_weights_cost_less(answer: Answer, rng: Generator) -> bool:
    """No other weights have an objective that is smaller by more than a hundred-thousandth."""
    return all(_objective(answer(s, A), s, A) <= _least(s, A) * (1 + 1e-5) for s, A in _crowds(rng))


@hidden("best_user_weights")
def no_limit_on_rows_costs_less(answer: Answer, rng: Generator) -> bool:
    """They cost no more than equal users, equal rows, or rows counted up to any limit."""
    fine = []
    for s, A in _crowds(rng):
        kept = np.minimum(s, np.arange(1, s.max() + 1)[:, None])
        w = kept / kept.sum(axis=1, keepdims=True)
        rival = np.min(w.max(axis=1) ** 2 + A * np.sum(w**2 / s, axis=1))
        fine.append(_objective(answer(s, A), s, A) <= rival * (1 + 1e-5))
    return all(fine)


@hidden("best_user_weights")
def much_noise_makes_users_equal(answer: Answer, rng: Generator) -> bool:
    """Where only noise counts, users count alike."""
    s, A = np.array([9, 1, 4, 2, 16, 40]), 1e-4
    w = np.asarray(answer(s, A))
    return bool(np.isfinite(_objective(w, s, A)) and 6 * w.max() < 1.001)


@hidden("best_user_weights")
def little_noise_makes_rows_equal(answer: Answer, rng: Generator) -> bool:
    """Where noise hardly counts, rows count alike."""
    s, A = np.array([9, 1, 4, 2, 16, 40]), 1e4
    w = np.asarray(answer(s, A))
    return bool(np.isfinite(_objective(w, s, A)) and 72 * np.sum(w**2 / s) < 1.001)


@hidden("best_user_weights")
def users_may_be_shuffled(answer: Answer, rng: Generator) -> bool:
    """It does not depend on the order in which users are listed."""
    s, A = np.array([1, 2, 5, 9, 30, 60]), 2.0
    order = np.array([3, 0, 5, 1, 4, 2])
    here, there = np.asarray(answer(s, A)), np.asarray(answer(s[order], A))
    return bool(np.allclose(there, here[order], atol=1e-2))


# --- rows_that_count ------------------------------------------------------------------------------


def _counted(h: float, sizes: Any) -> float:
    return float(np.minimum(sizes, h).sum())


@visible("rows_that_count")
def h_is_a_number_of_rows(answer: Answer, rng: Generator) -> bool:
    """It is one number above 0 and below the largest size."""
    found = [(answer(s, A), s.max()) for s, A in _crowds(rng)]
    return all(bool(np.ndim(h) == 0 and 0 < h < top) for h, top in found)


@visible("rows_that_count")
def a_higher_price_counts_more_rows(answer: Answer, rng: Generator) -> bool:
    """The more the variance of labels costs beside noise, the larger it is."""
    s = np.array([1, 2, 3, 10, 50])
    return bool(np.all(np.diff([answer(s, A) for A in (0.1, 1.0, 10.0, 100.0)]) > 0))


@hidden("rows_that_count")
def the_rows_that_count_give_the_least_cost(answer: Answer, rng: Generator) -> bool:
    """The price over all rows that count is the least objective."""
    pairs = [(A / _counted(float(answer(s, A)), s), _least(s, A)) for s, A in _crowds(rng)]
    return all(bool(np.isclose(mine, least, rtol=1e-5)) for mine, least in pairs)


@hidden("rows_that_count")
def h_may_be_below_every_size(answer: Answer, rng: Generator) -> bool:
    """It is right, too, where it is below every size and all weigh the same."""
    s, A = rng.integers(50, 500, 6), 0.7
    h = float(answer(s, A))
    return bool(np.isclose(A / (6 * h), _objective(np.full(6, 1 / 6), s, A), rtol=1e-5))


@hidden("rows_that_count")
def rows_and_price_share_a_unit(answer: Answer, rng: Generator) -> bool:
    """Three times as many rows at three times the price: three times as many count."""
    pairs = [(float(answer(3 * s, 3 * A)), 3 * float(answer(s, A))) for s, A in _crowds(rng)]
    return all(bool(np.isclose(one, two, rtol=1e-5)) for one, two in pairs)


@hidden("rows_that_count")
def company_never_lowers_h(answer: Answer, rng: Generator) -> bool:
    """One more user never lowers it; a very large one raises it, a small one leaves it."""
    s, A = np.array([5, 2, 40, 9, 15, 60, 60]), 3.0
    h = float(answer(s, A))
    large, small = float(answer(np.append(s, 10**9), A)), float(answer(np.append(s, 1), A))
    return bool(large > h * 1.01 and np.isclose(small, h, rtol=1e-5))
