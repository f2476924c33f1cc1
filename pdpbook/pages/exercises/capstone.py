"""Be the curator: bounds, an account, a plan, an interval, one person's exposure, an audit."""

from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.pages.exercises.notebook import as_written
from pdpbook.pages.exercises.properties import (
    LEAST,
    ROUNDING,
    Answer,
    Assignment,
    Demands,
    Draws,
    numbers_between,
    rises,
)

PROPERTIES = Assignment("capstone", by_hand={"notice_for_participants": 4, "when_to_refuse": 4})
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden
BOUNDS = np.array([[18.0, 100.0], [-40.0, 60.0], [1e3, 5e3]])
Y_BOUNDS = (20.0, 340.0)
PEOPLE = 10
rows = np.zeros((PEOPLE, 1))
ones = np.r_[1.0, np.zeros(PEOPLE - 1)]
#: two tables in which one label is replaced, by the other end of its range
PAIR = (rows, ones), (rows, -ones)
#: the mean of labels from -1 to 1 at 1 nat; half-lines attain the promise
sound = as_written("lambda X, y, rng: np.array([np.mean(y) + rng.laplace(0, 2 / len(y))])")
bare, silent = map(as_written, ("lambda X, y, rng: y[:1].copy()", "lambda X, y, rng: np.zeros(1)"))


def table(rng: Generator, n: int = 20) -> Any:
    return rng.uniform(BOUNDS[:, 0] + 1, BOUNDS[:, 1] - 1, (n, 3))


@visible("rows_on_domain", unseen=5)
def rows_keep_their_shape(answer: Answer, rng: Draws) -> bool:
    """The result has the shape of the table, and every entry lies from 0 to 1."""
    return numbers_between(answer(rows := table(rng, rng.size(20)), BOUNDS), rows.shape, 0, 1)


@visible("rows_on_domain")
def bounds_are_the_ends(answer: Answer, rng: Draws) -> bool:
    """Every column's lowest bound becomes 0 and its highest 1, and neither is refused."""
    return bool(np.allclose(answer(BOUNDS.T.copy(), BOUNDS), [[0, 0, 0], [1, 1, 1]]))


@visible("coefficients_in_units", unseen=5)
def a_slope_a_column_and_an_intercept(answer: Answer, rng: Draws) -> bool:
    """The result is a slope for each column, and one number."""
    coef, intercept = answer(rng.normal(size=3), BOUNDS, Y_BOUNDS)
    return np.shape(coef) == (3,) and np.ndim(intercept) == 0


@visible("coefficients_in_units")
def slopes_keep_their_signs(answer: Answer, rng: Draws) -> bool:
    """No slope changes its sign."""
    theta = rng.normal(size=3)
    return bool(np.array_equal(np.sign(answer(theta, BOUNDS, Y_BOUNDS)[0]), np.sign(theta)))


def verdicts(answer: Answer, budgets: Any, owner: Any, requests: Any) -> list[bool]:
    found = answer(np.array(budgets), np.array(owner), np.array(requests))
    return [bool(one) for one in np.asarray(found)]


@visible("granted_releases", unseen=8)
def a_verdict_a_request(answer: Answer, rng: Draws) -> bool:
    """There is one truth value for each request."""
    return len(verdicts(answer, [1.0, 2.0], [0, 1, 1], np.full((5, 3), 0.125))) == 5


@visible("granted_releases")
def the_first_that_overspends_is_refused(answer: Answer, rng: Draws) -> bool:
    """Half a budget is granted twice, and not a third time."""
    halves = np.tile([0.5, 1.0], (3, 1))
    return verdicts(answer, [1.0, 2.0], [0, 1], halves) == [True, True, False]


@visible("errors_of_plans", unseen=6)
def a_positive_error_a_plan(answer: Answer, rng: Draws) -> bool:
    """There are three errors, all above 0."""
    return numbers_between(answer(rng.uniform(0.1, 5, rng.size(30)), 2, 9.0, 0.5), (3,), LEAST)


@visible("errors_of_plans")
def leaving_nobody_out_is_a_choice(answer: Answer, rng: Draws) -> Demands:
    """The best threshold is never worse than the smallest budget for all."""
    for spread in (0.0, 1.0, 30.0):
        first, second, _ = answer(rng.uniform(0.1, 5, rng.size(12)), 2, 9.0, spread)
        yield bool(second <= first * (1 + ROUNDING))


@visible("errors_of_plans")
def whoever_moves_it_further_costs_more(answer: Answer, rng: Draws) -> bool:
    """Where people can move the fit further, every plan has a larger error."""
    budgets = rng.uniform(0.1, 5, rng.size(30))
    near, far = (np.asarray(answer(budgets, 2, constant, 0.5)) for constant in (9.0, 18.0))
    return bool(np.all(near < far))


@visible("noise_half_width", unseen=6)
def more_certainty_is_wider(answer: Answer, rng: Draws) -> Demands:
    """The width is above 0, grows with the level and falls with the rate of the noise."""
    yield from rises(lambda level: answer(np.array([0.5, 1.0, 0.2]), 3.0, level), (0.5, 0.8, 0.95))
    yield from rises(lambda eta: answer(np.array([0.5, 1.0, 0.2]), eta, 0.8), (9.0, 3.0, 1.0))


def town(rng: Generator, n: int = 12, d: int = 2) -> tuple[Any, Any, Any]:
    budgets = rng.choice([0.1, 1.0, 5.0], n)
    return rng.uniform(size=(n, d)), rng.uniform(-1, 1, n), budgets


@visible("evidence_of_release", unseen=5)
def evidence_is_a_number(answer: Answer, rng: Draws) -> bool:
    """The result is one finite number."""
    X, y, budgets = town(rng, 4 + rng.size(8))
    return numbers_between(answer(np.zeros(2), X, y, budgets / budgets.sum(), 0.3, 2.0, [0, 3]), ())


@visible("evidence_of_release")
def quieter_noise_shows_more(answer: Answer, rng: Draws) -> Demands:
    """Noise of twice the rate says twice as much, and another release says something else."""
    X, y, budgets = town(rng, 4 + rng.size(8))
    case = X, y, budgets / budgets.sum(), 0.3
    here, there = np.array([0.4, -0.3]), np.array([-0.2, 0.1])
    once, twice = (answer(here, *case, eta, [0, 3]) for eta in (2.0, 4.0))
    yield bool(once != 0 and np.isclose(twice, 2 * once, atol=0))
    yield bool(answer(here, *case, 2.0, [0, 3]) != answer(there, *case, 2.0, [0, 3]))


@visible("is_refuted", unseen=10)
def the_verdict_is_a_truth_value(answer: Answer, rng: Draws) -> bool:
    """The result is True or False."""
    return isinstance(answer(sound, *PAIR, 1.0, 400, 0.01, rng.fresh()), bool | np.bool_)


@visible("is_refuted")
def no_more_releases_than_paid_for(answer: Answer, rng: Draws) -> bool:
    """The mechanism is run on both tables, and no more often in all than was paid for."""
    seen = []

    def counted(X: Any, y: Any, rng: Generator) -> Any:
        seen.append(float(y[0]))
        return sound(X, y, rng)

    counted.__name__ = sound.__name__
    answer(counted, *PAIR, 1.0, 403, 0.01, rng.fresh())
    return len(seen) <= 403 and set(seen) == {-1.0, 1.0}


@visible("is_refuted")
def what_is_plain_to_see_is_seen(answer: Answer, rng: Draws) -> Demands:
    """A label that is published as it is refutes a promise, and a release of zeros does not."""
    yield bool(answer(bare, *PAIR, 1.0, 400, 0.01, rng.fresh()))
    yield not answer(silent, *PAIR, 1.0, 400, 0.01, rng.fresh())
