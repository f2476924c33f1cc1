"""User-level privacy: noise, weights and limits for people who own many rows."""

from collections.abc import Iterator
from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.pages.exercises.properties import (
    LEAST,
    Answer,
    Assignment,
    Demands,
    Draws,
    numbers_between,
    rises,
    truths,
)

PROPERTIES = Assignment("user_level", by_hand={"half_of_all_records": 4})
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden
PROMISES = ((1.0, 1e-5), (0.3, 1e-6), (3.0, 1e-4))


def rows(rng: Generator, m: int = 6) -> tuple[Any, Any, Any]:
    """Weights of rows, their users in no order, and the budgets of users."""
    users = rng.permutation(np.repeat(np.arange(m), rng.integers(1, 9, m)))
    c = rng.uniform(0.1, 1, len(users))
    return c / c.sum(), users, rng.uniform(0.2, 3, m)


@visible("noise_scale_for_users", unseen=5)
def the_scale_is_one_positive_number(answer: Answer, rng: Draws) -> bool:
    """The scale is one number above 0."""
    c, users, epsilon = rows(rng, rng.size(6))
    return numbers_between(answer(c, users, 1.0, epsilon), (), LEAST)


@visible("noise_scale_for_users")
def the_scale_follows_the_width(answer: Answer, rng: Draws) -> Demands:
    """Labels in an interval twice as wide need twice the noise, and so do halved budgets."""
    c, users, epsilon = rows(rng, rng.size(6))
    for other in ((6.0, epsilon), (3.0, epsilon / 2)):
        once, twice = answer(c, users, 3.0, epsilon), answer(c, users, *other)
        yield bool(np.isclose(twice, 2 * once, atol=0))


@visible("noise_scale_for_users")
def who_has_all_the_weight_decides(answer: Answer, rng: Draws) -> bool:
    """Where one user has all the weight, the scale is the width over that user's budget."""
    c, users = np.array([0.4, 0.0, 0.6]), np.array([0, 1, 0])
    return bool(np.isclose(answer(c, users, 3.0, np.array([0.5, 0.1])), 6))


def objective(w: Any, sizes: Any, A: float) -> float:
    """The objective; infinite where weights are negative or do not sum to 1."""
    w = np.asarray(w, dtype=float)
    if w.shape != np.shape(sizes) or not np.all(w >= -1e-7) or not abs(w.sum() - 1) < 1e-6:
        return np.inf
    return float(np.max(w) ** 2 + A * np.sum(w**2 / sizes))


def users_of_many_sizes(rng: Generator) -> Iterator[tuple[Any, float]]:
    """Sizes in no order and a price, from nearly pure noise to hardly any."""
    for A in (0.05, 1.0, 30.0):
        yield rng.permutation(np.array([1, 1, 2, 3, 5, 8, 30, 400])) + rng.integers(0, 3, 8), A


@visible("best_user_weights", unseen=6)
def weights_share_one(answer: Answer, rng: Draws) -> Demands:
    """There is a weight for each user; none is below 0, and they sum to 1."""
    for sizes, A in users_of_many_sizes(rng):
        first = sizes[: rng.size(8)]
        yield np.isfinite(objective(answer(first, A), first, A))


@visible("best_user_weights")
def equal_users_weigh_the_same(answer: Answer, rng: Draws) -> bool:
    """If all users own the same number of rows, all weigh the same."""
    s = np.full(m := rng.size(7), int(rng.integers(1, 30)))
    return bool(np.allclose(answer(s, 2.0), 1 / m, rtol=1e-2))


@visible("best_user_weights")
def more_rows_may_weigh_more(answer: Answer, rng: Draws) -> bool:
    """Where the variance of labels counts, a user of many rows weighs more than one of few."""
    w = answer(np.array([2, 50]), 10.0)
    return bool(w[1] > w[0] > 0)


@visible("rows_that_count", unseen=5)
def h_is_a_number_of_rows(answer: Answer, rng: Draws) -> Demands:
    """It is one number above 0 and below the largest size."""
    for sizes, A in users_of_many_sizes(rng):
        first = sizes[: rng.size(8)]
        h = answer(first, A)
        yield bool(np.ndim(h) == 0 and 0 < h < first.max())


@visible("rows_that_count")
def a_higher_price_counts_more_rows(answer: Answer, rng: Draws) -> Demands:
    """It grows with what the variance of labels costs beside noise, and with everybody's rows."""
    yield from rises(lambda A: answer(np.array([1, 2, 3, 10, 50]), A), (0.1, 1.0, 10.0, 100.0))
    yield from rises(lambda more: answer(np.array([1, 5, 50]) * more, 2.0), (1, 2, 6))


def design(rng: Generator, m: int = 5) -> tuple[Any, Any, Any]:
    """Rows of five users, twelve in all, and budgets over the width of labels."""
    users = rng.permutation(np.repeat(np.arange(m), [1, 1, 2, 3, 5][:m]))
    return rng.normal(size=(len(users), 2)), users, rng.uniform(0.5, 3, m)


@visible("gwa_problem", unseen=6)
def it_is_a_convex_program_in_c(answer: Answer, rng: Draws) -> bool:
    """It is a problem that cvxpy takes for convex, with a variable of the right name and shape."""
    X, users, tau = design(rng, 2 + rng.size(3))
    problem = answer(X, users, 0.5, tau)
    return bool(problem.is_dcp() and problem.var_dict["C"].shape == (2, len(users)))


def solve(problem: Any) -> tuple[Any, float]:
    """The matrix and the optimal value of a program."""
    problem.solve(solver="CLARABEL")
    return np.asarray(problem.var_dict["C"].value), float(problem.value)


@visible("gwa_problem")
def its_solution_is_unbiased(answer: Answer, rng: Draws) -> bool:
    """Without any noise the solution returns the coefficients of the labels."""
    X, users, tau = design(rng, 2 + rng.size(3))
    C, _ = solve(answer(X, users, 0.5, tau))
    return bool(np.allclose(C @ (X @ [3.0, -2.0]), [3.0, -2.0], atol=1e-5))


@visible("gwa_problem")
def louder_labels_cost_more(answer: Answer, rng: Draws) -> bool:
    """The optimal value is above 0, and larger where labels vary more."""
    X, users, tau = design(rng, 2 + rng.size(3))
    (_, quiet), (_, loud) = (solve(answer(X, users, sigma2, tau)) for sigma2 in (0.1, 1.0))
    return loud > 1.01 * quiet > 0


def owners(rng: Generator, m: int = 8) -> Any:
    return rng.permutation(np.repeat(np.arange(m), [1, 1, 2, 3, 4, 7, 20, 50][:m]))


@visible("cap_contributions", unseen=6)
def nobody_keeps_too_much(answer: Answer, rng: Draws) -> bool:
    """There is a truth value for each row, and nobody keeps more rows than allowed."""
    users = owners(rng, rng.size(8))
    included = np.asarray(answer(users, 3, rng.fresh()))
    return truths(included, len(users)) and bool(np.all(np.bincount(users[included]) <= 3))


@visible("cap_contributions")
def small_users_stay_whole(answer: Answer, rng: Draws) -> bool:
    """Whoever owns no more rows than allowed keeps them all."""
    users = owners(rng, rng.size(8))
    included = np.asarray(answer(users, 4, rng.fresh()))
    return bool(np.all(included[users <= 4]))


def values(rng: Generator, m: int = 5) -> tuple[Any, Any, Any]:
    """Values of five users with ties, and a grid around them."""
    users = rng.permutation(np.repeat(np.arange(m), [1, 2, 3, 6, 12][:m]))
    return rng.integers(0, 9, len(users)).astype(float), users, np.arange(-2.0, 11.0)


@visible("median_law", unseen=9)
def the_law_is_a_law(answer: Answer, rng: Draws) -> bool:
    """There is a probability for each point of the grid, and they sum to 1."""
    y, users, grid = values(rng, rng.size(5))
    p = np.asarray(answer(y, users, grid, 1.0))
    return bool(p.shape == (13,) and np.all(p >= 0) and np.isclose(p.sum(), 1))


@visible("median_law")
def agreement_is_most_likely(answer: Answer, rng: Draws) -> bool:
    """Where all values are equal, their value is most likely."""
    _, users, grid = values(rng, rng.size(5))
    return bool(np.argmax(answer(np.full(len(users), 4.0), users, grid, 1.0)) == 6)


@visible("user_epsilon", unseen=4)
def one_row_has_what_was_promised(answer: Answer, rng: Draws) -> Demands:
    """A user of one row has what was promised to records."""
    return (bool(np.isclose(answer(1, *promise), promise[0], rtol=1e-5)) for promise in PROMISES)


@visible("user_epsilon")
def more_rows_lose_more(answer: Answer, rng: Draws) -> Demands:
    """The more rows a user owns, the more they can lose."""
    return rises(lambda k: answer(k, 1.0, 1e-5), (1, 2, 3, 10))
