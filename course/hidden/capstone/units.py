"""Public bounds: from the user's units to the domain and back."""

from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import ROUNDING, leaves
from pdpbook.pages.exercises.capstone import BOUNDS, Y_BOUNDS, hidden, table
from pdpbook.pages.exercises.properties import Answer, Demands

# --- rows_on_domain -------------------------------------------------------------------------------


def _refused(answer: Answer, *arguments: Any) -> bool:
    try:
        answer(*arguments)
    except ValueError:
        return True
    return False


@hidden("rows_on_domain", weight=3, promise=True)
def a_row_does_not_know_the_others(answer: Answer, rng: Generator) -> bool:
    """A row is mapped alike alone and in any company."""
    X = table(rng)
    found, alone = np.asarray(answer(X, BOUNDS)), [answer(row[None], BOUNDS) for row in X]
    return bool(np.allclose(found, np.vstack(alone), atol=ROUNDING))


@hidden("rows_on_domain")
def steps_stay_even(answer: Answer, rng: Generator) -> bool:
    """Halfway between two rows stays halfway, and the middle of the bounds is one half."""
    X, center = table(rng, 20), answer(BOUNDS.mean(axis=1)[None], BOUNDS)
    middles, found = answer((X[::2] + X[1::2]) / 2, BOUNDS), np.asarray(answer(X, BOUNDS))
    between = np.allclose(middles, (found[::2] + found[1::2]) / 2)
    return bool(between and np.allclose(center, 0.5))


@hidden("rows_on_domain", promise=True)
def what_is_outside_is_refused(answer: Answer, rng: Generator) -> Demands:
    """One entry outside of its own column's bounds, on either side, is a ValueError."""
    just = BOUNDS + np.array([-1, 1]) * 1e-10 * np.ptp(BOUNDS, axis=1)[:, None]
    cases = [(0, 17.9), (0, 101.0), (1, -41.0), (1, 100.0), (2, 999.0), (2, np.inf), (2, -np.inf)]
    cases += [(column, value) for column in range(3) for value in just[column]]
    for column, value in cases:
        X = table(rng)
        X[rng.integers(20), column] = value
        yield _refused(answer, X, BOUNDS)


@hidden("rows_on_domain", promise=True)
def what_is_no_number_is_refused(answer: Answer, rng: Generator) -> bool:
    """One entry that is not a number is a ValueError."""
    X = table(rng)
    X[rng.integers(20), rng.integers(3)] = np.nan
    return _refused(answer, X, BOUNDS)


@hidden("rows_on_domain")
def the_table_is_left_alone(answer: Answer, rng: Generator) -> bool:
    """The table that was handed in is as it was."""
    return leaves(lambda X: answer(X, BOUNDS), table(rng))


# --- coefficients_in_units ------------------------------------------------------------------------


def _predicted(found: Any, X: Any) -> tuple[Any, Any]:
    """What coefficients and an intercept predict, and how much of it may be rounding."""
    coef, intercept = found
    terms = np.abs(X) @ np.abs(coef) + abs(intercept)
    return X @ np.asarray(coef) + intercept, ROUNDING * terms


@hidden("coefficients_in_units", weight=3, promise=True)
def both_worlds_predict_alike(answer: Answer, rng: Generator) -> bool:
    """A person is predicted alike in the user's units and on the domain."""
    theta, u = rng.normal(size=3), rng.random((10, 3))
    X = BOUNDS[:, 0] + u * (BOUNDS[:, 1] - BOUNDS[:, 0])
    wanted = 180 + 160 * (u @ theta)  # -1 stands for a label of 20, and 1 for one of 340
    found, rounding = _predicted(answer(theta, BOUNDS, Y_BOUNDS), X)
    return bool(np.all(np.abs(found - wanted) <= rounding))


@hidden("coefficients_in_units")
def nothing_known_predicts_the_middle(answer: Answer, rng: Generator) -> bool:
    """Coefficients of 0 predict the middle of the labels' bounds for everybody."""
    found = answer(np.zeros(3), BOUNDS, Y_BOUNDS)
    return bool(np.allclose(_predicted(found, table(rng))[0], 180.0))


@hidden("coefficients_in_units")
def a_change_of_units_changes_no_prediction(answer: Answer, rng: Generator) -> bool:
    """Columns counted in other units, bounds and all, predict the same."""
    theta, scale, shift = rng.normal(size=3), rng.uniform(0.1, 9, 3), rng.normal(size=3)
    X = table(rng)
    one, rounding = _predicted(answer(theta, BOUNDS, Y_BOUNDS), X)
    scaled = answer(theta, BOUNDS * scale[:, None] + shift[:, None], Y_BOUNDS)
    other, more = _predicted(scaled, X * scale + shift)
    return bool(np.all(np.abs(one - other) <= rounding + more))


@hidden("coefficients_in_units")
def nobody_at_the_low_ends_owes_a_slope(answer: Answer, rng: Generator) -> bool:
    """Somebody at all the lowest bounds is predicted alike whatever the coefficients are."""
    low = BOUNDS[:, 0]
    founds = [answer(rng.normal(size=3), BOUNDS, Y_BOUNDS) for _ in range(3)]
    predicted, rounding = np.transpose([_predicted(found, low) for found in founds])
    return bool(np.ptp(predicted) <= 2 * rounding.max())


@hidden("coefficients_in_units")
def what_was_handed_in_stays(answer: Answer, rng: Generator) -> bool:
    """Coefficients and bounds that were handed in are as they were."""
    return leaves(lambda *given: answer(*given, Y_BOUNDS), rng.normal(size=3), BOUNDS.copy())
