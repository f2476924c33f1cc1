"""Foundations: a coin, noise, ridge regression, privacy profiles, an audit."""

from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.pages.exercises.properties import (
    Answer,
    Assignment,
    Demands,
    Draws,
    numbers_between,
    repeats,
    rises,
    truths,
)

PROPERTIES = Assignment("foundations", by_hand={"what_an_audit_says": 4})
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden


@visible("truth_probability", unseen=4)
def truth_is_a_probability(answer: Answer, rng: Draws) -> bool:
    """Every budget gets a chance from one half to one."""
    return numbers_between(
        answer(budgets := rng.uniform(0.1, 5, rng.size(20))), budgets.shape, 0.5, 1
    )


@visible("truth_probability")
def no_budget_no_news(answer: Answer, rng: Draws) -> bool:
    """With no budget at all a report says nothing."""
    return bool(np.isclose(answer(0.0), 0.5))


@visible("truth_probability")
def a_larger_budget_tells_more(answer: Answer, rng: Draws) -> bool:
    """The larger the budget, the likelier the truth."""
    return bool(np.all(np.diff(answer(np.linspace(0, 5, 1 + rng.size(19)))) > 0))


@visible("sample_l2_laplace", unseen=7)
def noise_has_a_row_a_draw(answer: Answer, rng: Draws) -> bool:
    """The result has a row for each draw and a column for each dimension."""
    return numbers_between(answer(3, 2.0, 7, rng.fresh()), (7, 3))


@visible("sample_l2_laplace")
def noise_repeats_with_its_generator(answer: Answer, rng: Draws) -> Demands:
    """The same state of the generator gives the same noise, and the next call gives other noise."""
    return repeats(lambda generator: answer(2, 1.0, rng.size(5), generator), rng)


@visible("sample_l2_laplace")
def a_higher_rate_is_shorter_noise(answer: Answer, rng: Draws) -> bool:
    """Noise of a hundred times the rate is far shorter."""
    long, short = (np.linalg.norm(answer(2, eta, 50, rng.fresh())) for eta in (0.1, 10.0))
    return bool(10 * short < long)


@visible("squared_error_of_noise", unseen=3)
def error_is_positive_and_grows(answer: Answer, rng: Draws) -> Demands:
    """The error is a number above 0 that grows with the dimension and falls with the rate."""
    yield from rises(lambda d: answer(d, 1.0), (1, 2, 3, 10))
    yield from rises(lambda eta: answer(3, eta), (2.0, 0.5))


def people(rng: Generator, n: int = 30, d: int = 4) -> tuple[Any, Any, Any]:
    X, y = rng.uniform(-1, 1, (n, d)), rng.uniform(-1, 1, n)
    weights = rng.uniform(0.2, 2, n)
    return X, y, weights / weights.sum()


@visible("weighted_ridge", unseen=7)
def ridge_has_a_coefficient_a_feature(answer: Answer, rng: Draws) -> bool:
    """There is one coefficient for each feature."""
    return numbers_between(answer(*people(rng, rng.size(30), d := rng.size(4)), 0.1), (d,))


@visible("weighted_ridge")
def two_people_share_a_number(answer: Answer, rng: Draws) -> bool:
    """It is right for two people whose one feature is 1, a case that is soon solved by hand."""
    found = answer(np.ones((2, 1)), np.array([1.0, 0.0]), np.array([0.75, 0.25]), 0.5)
    return bool(np.isclose(found, 0.5))


@visible("weighted_ridge")
def a_line_without_scatter_is_found(answer: Answer, rng: Draws) -> bool:
    """Where labels follow a line exactly and the penalty is tiny, the line is found."""
    X, _, weights = people(rng, (d := rng.size(4)) + rng.size(26), d)
    X[:d] = np.eye(d)
    line = rng.uniform(-1, 1, d)
    return bool(np.allclose(answer(X, X @ line, weights, 1e-9), line, atol=1e-6))


def laws(rng: Generator, m: int = 6) -> tuple[Any, Any]:
    return rng.dirichlet(np.ones(m)), rng.dirichlet(np.ones(m))


@visible("worst_event", unseen=5)
def an_event_is_a_choice_of_outputs(answer: Answer, rng: Draws) -> bool:
    """There is one truth value for each output."""
    return truths(answer(*laws(rng, m := rng.size(6)), 0.1), m)


@visible("worst_event")
def the_event_speaks_for_the_first_law(answer: Answer, rng: Draws) -> Demands:
    """At epsilon 0 the event is likelier under the first law, and empty if the laws are equal."""
    p, q = laws(rng, rng.size(6))
    event = np.asarray(answer(p, q, 0.0))
    yield np.array_equal(p, q) or bool(p[event].sum() > q[event].sum() + 1e-12)
    yield not np.any(answer(p, p, 0.0))


@visible("privacy_profile", unseen=5)
def delta_is_a_probability(answer: Answer, rng: Draws) -> Demands:
    """Every delta is between 0 and 1, and equal laws have none."""
    p, q = laws(rng, rng.size(6))
    yield numbers_between(answer(p, q, 0.3), (), 0, 1)
    yield bool(abs(answer(p, p, 0.0)) < 1e-12)


@visible("privacy_profile")
def delta_falls_as_epsilon_grows(answer: Answer, rng: Draws) -> bool:
    """Different laws have a delta above 0 at epsilon 0, and a smaller one at a larger epsilon."""
    p, q = laws(rng, rng.size(6))
    return np.array_equal(p, q) or bool(answer(p, q, 0.0) > answer(p, q, 1.0) + 1e-12)


@visible("epsilon_lower_bound", unseen=8)
def equal_counts_prove_nothing(answer: Answer, rng: Draws) -> bool:
    """Equal counts prove nothing: the bound is 0."""
    return bool(answer(500, 1000, 500, 1000, 0.01) == 0)


@visible("epsilon_lower_bound")
def a_clear_difference_proves_something(answer: Answer, rng: Draws) -> bool:
    """Counts far apart give a bound above 0, and below the logarithm of their ratio."""
    return bool(0 < answer(900, 1000, 100, 1000, 0.01) < np.log(9))
