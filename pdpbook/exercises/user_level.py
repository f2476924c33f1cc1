"""User-level privacy: noise, weights and limits for people who own many rows."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import integrate, optimize, stats

from pdpbook.exercises.properties import Answer, Assignment
from pdpbook.gwa.program import load_cvxpy

PROPERTIES = Assignment("user_level")
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden

ALARM = 1e-6  # a right answer may fail a property that draws this often


# --- noise_scale_for_users ------------------------------------------------------------------------


def _rows(rng: Generator, m: int = 6) -> tuple[Any, Any, Any]:
    """Weights of rows, their users in no order, and the budgets of users."""
    users = rng.permutation(np.repeat(np.arange(m), rng.integers(1, 9, m)))
    c = rng.uniform(0.1, 1, len(users))
    return c / c.sum(), users, rng.uniform(0.2, 3, m)


def _losses(c: Any, users: Any, width: float, scale: float, m: int) -> Any:
    """Loss of each user when all of their labels go from one end to the other."""
    low = np.zeros(len(c))
    moves = [np.abs(c @ (np.where(users == user, width, low) - low)) for user in range(m)]
    return np.array(moves) / scale


@visible("noise_scale_for_users")
def the_scale_is_one_positive_number(answer: Answer, rng: Generator) -> bool:
    """The scale is one number above 0."""
    c, users, epsilon = _rows(rng)
    scale = answer(c, users, 1.0, epsilon)
    return bool(np.ndim(scale) == 0 and np.isfinite(scale) and scale > 0)


@visible("noise_scale_for_users")
def the_scale_follows_the_width(answer: Answer, rng: Generator) -> bool:
    """Labels in an interval twice as wide need twice the noise."""
    c, users, epsilon = _rows(rng)
    return bool(np.isclose(answer(c, users, 6.0, epsilon), 2 * answer(c, users, 3.0, epsilon)))


@hidden("noise_scale_for_users")
def no_user_loses_more_than_their_budget(answer: Answer, rng: Generator) -> bool:
    """Whatever a user's labels become, they lose no more than their budget."""
    fine = []
    for width in (0.5, 1.0, 3.0, 10.0):
        c, users, epsilon = _rows(rng)
        losses = _losses(c, users, width, answer(c, users, width, epsilon), len(epsilon))
        fine.append(bool(np.all(losses <= epsilon * (1 + 1e-9))))
    return all(fine)


@hidden("noise_scale_for_users")
def somebody_uses_up_their_budget(answer: Answer, rng: Generator) -> bool:
    """No less noise would do for everybody."""
    fine = []
    for width in (0.5, 1.0, 3.0, 10.0):
        c, users, epsilon = _rows(rng)
        losses = _losses(c, users, width, answer(c, users, width, epsilon), len(epsilon))
        fine.append(bool(np.max(losses / epsilon) >= 1 - 1e-9))
    return all(fine)


@hidden("noise_scale_for_users")
def a_row_may_be_cut_in_two(answer: Answer, rng: Generator) -> bool:
    """A row that is cut into two lighter rows of the same user changes nothing."""
    c, users, epsilon = _rows(rng)
    cut = np.append(c, c / 3)
    cut[: len(c)] = 2 * c / 3
    one, two = answer(c, users, 2.0, epsilon), answer(cut, np.tile(users, 2), 2.0, epsilon)
    return bool(np.isclose(one, two))


@hidden("noise_scale_for_users")
def rows_may_be_shuffled(answer: Answer, rng: Generator) -> bool:
    """It does not depend on the order in which rows are listed."""
    c, users, epsilon = _rows(rng)
    order = np.argsort(users)
    one, two = answer(c, users, 2.0, epsilon), answer(c[order], users[order], 2.0, epsilon)
    return bool(np.isclose(one, two))


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


# --- gwa_problem ----------------------------------------------------------------------------------


def _design(rng: Generator) -> tuple[Any, Any, Any]:
    """Twelve rows of five users, and budgets over the width of labels."""
    users = rng.permutation(np.repeat(np.arange(5), [1, 1, 2, 3, 5]))
    return rng.normal(size=(12, 2)), users, rng.uniform(0.5, 3, 5)


def _solve(problem: Any) -> tuple[Any, float]:
    """The matrix and the optimal value of a program."""
    cp = load_cvxpy()
    problem.solve(solver=cp.CLARABEL)
    return np.asarray(problem.var_dict["C"].value), float(problem.value)


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


@visible("gwa_problem")
def it_is_a_convex_program_in_c(answer: Answer, rng: Generator) -> bool:
    """It is a problem that cvxpy takes for convex, with a variable of the right name and shape."""
    X, users, tau = _design(rng)
    problem = answer(X, users, 0.5, tau)
    return bool(problem.is_dcp() and problem.var_dict["C"].shape == (2, 12))


@visible("gwa_problem")
def its_solution_is_unbiased(answer: Answer, rng: Generator) -> bool:
    """Without any noise the solution returns the coefficients of the labels."""
    X, users, tau = _design(rng)
    C, _ = _solve(answer(X, users, 0.5, tau))
    return bool(np.allclose(C @ (X @ [3.0, -2.0]), [3.0, -2.0], atol=1e-5))


@hidden("gwa_problem")
def its_value_is_the_variance(answer: Answer, rng: Generator) -> bool:
    """The optimal value is the total variance of the release with the optimal matrix."""
    X, users, tau = _design(rng)
    C, value = _solve(answer(X, users, 0.2, tau))
    return bool(np.isclose(value, _variance(C, users, 0.2, tau), rtol=1e-5))


@hidden("gwa_problem")
def no_unbiased_matrix_is_better(answer: Answer, rng: Generator) -> bool:
    """No unbiased matrix has a variance that is smaller by more than a hundred-thousandth."""
    X, users, tau = _design(rng)
    C, _ = _solve(answer(X, users, 0.3, tau))
    unbiased = np.allclose(C @ X, np.eye(2), atol=1e-5)
    least = _lower_bound(X, users, 0.3, tau)
    return bool(unbiased and _variance(C, users, 0.3, tau) <= least * (1 + 1e-5))


@hidden("gwa_problem")
def budgets_without_end_give_least_squares(answer: Answer, rng: Generator) -> bool:
    """With enormous budgets it is least squares."""
    X, users, tau = _design(rng)
    C, value = _solve(answer(X, users, 1.0, 1e5 * tau))
    best = np.linalg.pinv(X)
    return bool(np.isclose(value, np.sum(best**2), rtol=1e-5) and np.allclose(C, best, atol=1e-3))


@hidden("gwa_problem")
def two_users_are_dearer_as_one(answer: Answer, rng: Generator) -> bool:
    """To hide two large users as if they were one costs more."""
    X, users, _ = _design(rng)
    together = np.where(users == 4, 3, users)
    _, apart = _solve(answer(X, users, 0.1, np.ones(5)))
    _, merged = _solve(answer(X, together, 0.1, np.ones(4)))
    return bool(merged > apart * (1 + 1e-4))


@hidden("gwa_problem")
def twice_the_budgets_are_a_quarter_of_the_noise(answer: Answer, rng: Generator) -> bool:
    """With labels on a line, twice the budgets leave a quarter of the variance."""
    X, users, tau = _design(rng)
    (_, one), (_, two) = (_solve(answer(X, users, 0.0, k * tau)) for k in (1, 2))
    return bool(np.isclose(one, 4 * two, rtol=1e-5))


# --- cap_contributions ----------------------------------------------------------------------------


def _owners(rng: Generator) -> Any:
    return rng.permutation(np.repeat(np.arange(8), [1, 1, 2, 3, 4, 7, 20, 50]))


CHOICES = (3, 5, 6, 9, 10, 12)  # two of four rows, as binary digits


def _choices(answer: Answer, rng: Generator) -> Any:
    """Which of their four rows each of 600 users keeps when two are allowed."""
    users = rng.permutation(np.repeat(np.arange(600), 4))
    kept = np.asarray(answer(users, 2, rng))
    return kept[np.argsort(users, kind="stable")].reshape(600, 4) @ [1, 2, 4, 8]


def _likely(count: int, n: int, chance: float, alarm: float) -> bool:
    return bool(stats.binomtest(count, n, chance).pvalue > alarm)


@visible("cap_contributions")
def nobody_keeps_too_much(answer: Answer, rng: Generator) -> bool:
    """There is a truth value for each row, and nobody keeps more rows than allowed."""
    users = _owners(rng)
    kept = np.asarray(answer(users, 3, rng))
    return bool(kept.shape == (88,) and kept.dtype == bool) and np.bincount(users[kept]).max() <= 3


@visible("cap_contributions")
def small_users_stay_whole(answer: Answer, rng: Generator) -> bool:
    """Whoever owns no more rows than allowed keeps them all."""
    users = _owners(rng)
    kept = np.asarray(answer(users, 4, rng))
    return bool(np.all(kept[users <= 4]))


@hidden("cap_contributions")
def everybody_keeps_what_they_may(answer: Answer, rng: Generator) -> bool:
    """Everybody keeps exactly as many rows as they may."""
    fine = []
    for m in (1, 3, 20, 100):
        users = _owners(rng)
        found = np.bincount(users[np.asarray(answer(users, m, rng))], minlength=8)
        fine.append(np.array_equal(found, np.minimum(np.bincount(users), m)))
    return all(fine)


@hidden("cap_contributions")
def the_generator_alone_decides(answer: Answer, rng: Generator) -> bool:
    """The same state of the generator keeps the same rows, and another keeps others."""
    users, state = _owners(rng), int(rng.integers(2**31))
    one, two = np.random.default_rng(state), np.random.default_rng(state)
    first = answer(users, 5, one)
    return bool(np.array_equal(first, answer(users, 5, two))) and not np.array_equal(
        first, answer(users, 5, one)
    )


@hidden("cap_contributions", draws=True)
def every_choice_is_equally_likely(answer: Answer, rng: Generator) -> bool:
    """Whichever rows a user could keep, each choice is equally likely."""
    found = _choices(answer, rng)
    return all(_likely(int(np.sum(found == one)), 600, 1 / 6, ALARM / 6) for one in CHOICES)


@hidden("cap_contributions", draws=True)
def users_choose_apart(answer: Answer, rng: Generator) -> bool:
    """What is kept of one user says nothing about another."""
    found = _choices(answer, rng)
    return _likely(int(np.sum(found[::2] == found[1::2])), 300, 1 / 6, ALARM)


# --- median_law -----------------------------------------------------------------------------------


def _values(rng: Generator) -> tuple[Any, Any, Any]:
    """Values of five users with ties, and a grid around them."""
    users = rng.permutation(np.repeat(np.arange(5), [1, 2, 3, 6, 12]))
    return rng.integers(0, 9, 24).astype(float), users, np.arange(-2.0, 11.0)


def _loss(p: Any, q: Any) -> float:
    return float(np.max(np.abs(np.log(np.asarray(p)) - np.log(np.asarray(q)))))


def _bad_pair(answer: Answer, epsilon: float) -> tuple[Any, Any]:
    """One user goes from the left end to the right, all others are between the first two points."""
    grid = np.append(-1.0, np.arange(1.0, 3001.0))
    users = np.arange(5)
    left, right = np.array([-1.0, 0, 0, 0, 0]), np.array([9999.0, 0, 0, 0, 0])
    return answer(left, users, grid, epsilon), answer(right, users, grid, epsilon)


@visible("median_law")
def the_law_is_a_law(answer: Answer, rng: Generator) -> bool:
    """There is a probability for each point of the grid, and they sum to 1."""
    y, users, grid = _values(rng)
    p = np.asarray(answer(y, users, grid, 1.0))
    return bool(p.shape == (13,) and np.all(p >= 0) and np.isclose(p.sum(), 1))


@visible("median_law")
def agreement_is_most_likely(answer: Answer, rng: Generator) -> bool:
    """Where all values are equal, their value is most likely."""
    _, users, grid = _values(rng)
    return bool(np.argmax(answer(np.full(24, 4.0), users, grid, 1.0)) == 6)


@hidden("median_law")
def no_user_loses_more_than_epsilon(answer: Answer, rng: Generator) -> bool:
    """Whatever a user's values become, no probability changes by more than the promise allows."""
    losses = [_loss(*_bad_pair(answer, 1.0))]
    for user in range(5):
        y, users, grid = _values(rng)
        other = np.where(users == user, rng.choice([-5.0, 20.0]), y)
        losses.append(_loss(answer(y, users, grid, 1.0), answer(other, users, grid, 1.0)))
    return max(losses) <= 1 + 1e-9


@hidden("median_law")
def the_promise_is_used_up(answer: Answer, rng: Generator) -> bool:
    """On some neighbors and a fine grid hardly anything is left of the promise."""
    return all(_loss(*_bad_pair(answer, epsilon)) >= 0.99 * epsilon for epsilon in (0.5, 1.0))


@hidden("median_law")
def more_rows_are_no_more_say(answer: Answer, rng: Generator) -> bool:
    """A user who sends all of their rows three times has no more say."""
    y, users, grid = _values(rng)
    again = users == 4
    more = np.concatenate([y, y[again], y[again]]), np.append(users, np.full(2 * again.sum(), 4))
    return bool(np.allclose(answer(*more, grid, 2.0), answer(y, users, grid, 2.0), rtol=1e-8))


@hidden("median_law")
def half_of_the_rows_are_half_of_the_say(answer: Answer, rng: Generator) -> bool:
    """Of a user's weight, half of their rows carry half."""
    users, grid = np.array([0, 0, 1]), np.array([-1.0, 5.0, 20.0])
    whole = answer(np.array([0.0, 0.0, 10.0]), users, grid, 1.0)
    half = answer(np.array([0.0, 10.0, 10.0]), users, grid, 1.0)
    return bool(np.isclose(np.log(whole[1] / whole[0]), 2 * np.log(half[1] / half[0])))


@hidden("median_law")
def a_tie_at_the_median_is_no_flaw(answer: Answer, rng: Generator) -> bool:
    """Where three say 0 and seven say 1, the answer 1 is the likelier one."""
    p = answer(np.repeat([0.0, 1.0], [3, 7]), np.arange(10), np.array([0.0, 1.0]), 1.0)
    return bool(p[1] > p[0])


@hidden("median_law")
def left_and_right_are_alike(answer: Answer, rng: Generator) -> bool:
    """Values and grid seen in a mirror give the law in a mirror."""
    y, users, grid = _values(rng)
    mirrored = answer(-y, users, -grid[::-1], 1.0)
    return bool(np.allclose(mirrored, np.asarray(answer(y, users, grid, 1.0))[::-1], rtol=1e-8))


@hidden("median_law")
def other_candidates_do_not_matter(answer: Answer, rng: Generator) -> bool:
    """The odds of two points do not depend on what else is on the grid."""
    y, users, grid = _values(rng)
    p, few = np.asarray(answer(y, users, grid, 1.0)), np.array([1, 4, 5, 10])
    q = np.asarray(answer(y, users, grid[few], 1.0))
    return bool(np.allclose(p[few] / p[4], q / q[1], rtol=1e-8))


@hidden("median_law")
def a_large_budget_is_no_underflow(answer: Answer, rng: Generator) -> bool:
    """A budget of a million gives probabilities, even where no point is a good one."""
    p = np.asarray(answer(np.full(4, 0.5), np.arange(4), np.array([-1.0, 0, 1, 2]), 1e6))
    return bool(np.all(np.isfinite(p)) and np.isclose(p.sum(), 1))


# --- user_epsilon ---------------------------------------------------------------------------------


def _excess(epsilon: float, shift: float) -> float:
    """Delta of two normal laws `shift` apart: the integral of what the likelier has in excess."""
    start = max(-9.0, epsilon / shift - shift / 2)  # the first density is too small before
    v = np.linspace(start, max(start, 0.0) + 9, 4001)
    density = np.exp(-(v**2) / 2) / np.sqrt(2 * np.pi)
    return float(integrate.simpson(density * -np.expm1(epsilon - shift * v - shift**2 / 2), x=v))


def _record_shift(epsilon: float, delta: float) -> float:
    """How far one record may move the release, in standard deviations of the noise."""
    return float(optimize.brentq(lambda shift: _excess(epsilon, shift) - delta, 1e-3, 40))


PROMISES = ((1.0, 1e-5), (0.3, 1e-6), (3.0, 1e-4))


@visible("user_epsilon")
def one_row_has_what_was_promised(answer: Answer, rng: Generator) -> bool:
    """A user of one row has what was promised to records."""
    return all(bool(np.isclose(answer(1, *promise), promise[0], rtol=1e-5)) for promise in PROMISES)


@visible("user_epsilon")
def more_rows_lose_more(answer: Answer, rng: Generator) -> bool:
    """The more rows a user owns, the more they can lose."""
    return bool(np.all(np.diff([answer(k, 1.0, 1e-5) for k in (1, 2, 3, 10)]) > 0))


@hidden("user_epsilon")
def the_excess_is_delta(answer: Answer, rng: Generator) -> bool:
    """At the epsilon that is returned, the largest excess over all events is delta."""
    fine = []
    for epsilon, delta in PROMISES:
        rows = int(rng.integers(2, 30))
        found = float(answer(rows, epsilon, delta))
        reached = _excess(found, rows * _record_shift(epsilon, delta))
        fine.append(bool(np.isclose(reached, delta, rtol=1e-3)))
    return all(fine)


@hidden("user_epsilon")
def six_rows_are_twice_three(answer: Answer, rng: Generator) -> bool:
    """Two users of three rows, taken for two rows of one user, are a user of six rows."""
    three = float(answer(3, 0.8, 1e-5))
    return bool(np.isclose(answer(6, 0.8, 1e-5), answer(2, three, 1e-5), rtol=1e-5))


@hidden("user_epsilon")
def the_loss_grows_faster_than_the_rows(answer: Answer, rng: Generator) -> bool:
    """Twice the rows lose more than twice as much."""
    found = [float(answer(k, 1.0, 1e-5)) for k in (1, 2, 4, 8, 16)]
    return all(after > 2.0001 * before for before, after in pairwise(found))


@hidden("user_epsilon")
def a_thousand_rows_are_no_overflow(answer: Answer, rng: Generator) -> bool:
    """It is right for a thousand rows, too."""
    found = float(answer(1000, 1.0, 1e-5))
    return bool(np.isclose(_excess(found, 1000 * _record_shift(1.0, 1e-5)), 1e-5, rtol=1e-2))
