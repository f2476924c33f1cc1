"""Public bounds: from the user's units to the domain and back."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.exercises.capstone.assignment import hidden, visible
from pdpbook.exercises.properties import Answer

# --- rows_on_domain -------------------------------------------------------------------------------

BOUNDS = np.array([[18.0, 100.0], [-40.0, 60.0], [1e3, 5e3]])


def _table(rng: Generator, n: int = 20) -> Any:
    return rng.uniform(BOUNDS[:, 0] + 1, BOUNDS[:, 1] - 1, (n, 3))


def _refused(answer: Answer, *arguments: Any) -> bool:
    try:
        answer(*arguments)
    except ValueError:
        return True
    return False


@visible("rows_on_domain")
def rows_keep_their_shape(answer: Answer, rng: Generator) -> bool:
    """The result has the shape of the table, and every entry lies from 0 to 1."""
    found = np.asarray(answer(_table(rng), BOUNDS))
    return found.shape == (20, 3) and bool(np.all((found >= 0) & (found <= 1)))


@visible("rows_on_domain")
def bounds_are_the_ends(answer: Answer, rng: Generator) -> bool:
    """Every column's lowest bound becomes 0 and its highest 1, and neither is refused."""
    return bool(np.allclose(answer(BOUNDS.T.copy(), BOUNDS), [[0, 0, 0], [1, 1, 1]]))


@hidden("rows_on_domain")
def a_row_does_not_know_the_others(answer: Answer, rng: Generator) -> bool:
    """A row is mapped alike alone and in any company."""
    X = _table(rng)
    found, alone = np.asarray(answer(X, BOUNDS)), [answer(row[None], BOUNDS) for row in X]
    return bool(np.allclose(found, np.vstack(alone), atol=1e-12))


@hidden("rows_on_domain")
def steps_stay_even(answer: Answer, rng: Generator) -> bool:
    """Halfway between two rows stays halfway, and the middle of the bounds is one half."""
    X = _table(rng, 2)
    middle, center = answer(X.mean(axis=0)[None], BOUNDS), answer(BOUNDS.mean(axis=1)[None], BOUNDS)
    ends = np.mean(answer(X, BOUNDS), axis=0)
    return bool(np.allclose(middle[0], ends) and np.allclose(center, 0.5))


@hidden("rows_on_domain")
def what_is_outside_is_refused(answer: Answer, rng: Generator) -> bool:
    """One entry outside of its own column's bounds, on either side, is a ValueError."""
    fine = []
    for column, value in ((0, 17.9), (0, 101.0), (1, -41.0), (1, 100.0), (2, 999.0), (2, np.inf)):
        X = _table(rng)
        X[rng.integers(20), column] = value
        fine.append(_refused(answer, X, BOUNDS))
    return all(fine)


@hidden("rows_on_domain")
def what_is_no_number_is_refused(answer: Answer, rng: Generator) -> bool:
    """One entry that is not a number is a ValueError."""
    X = _table(rng)
    X[rng.integers(20), rng.integers(3)] = np.nan
    return _refused(answer, X, BOUNDS)


@hidden("rows_on_domain")
def the_table_is_left_alone(answer: Answer, rng: Generator) -> bool:
    """The table that was handed in is as it was."""
    X = _table(rng)
    before = X.copy()
    answer(X, BOUNDS)
    return bool(np.array_equal(X, before))


# --- coefficients_in_units ------------------------------------------------------------------------

Y_BOUNDS = (20.0, 340.0)


def _predicted(found: Any, X: Any) -> Any:
    coef, intercept = found
    return np.asarray(X) @ np.asarray(coef) + intercept


@visible("coefficients_in_units")
def a_slope_a_column_and_an_intercept(answer: Answer, rng: Generator) -> bool:
    """The result is a slope for each column, and one number."""
    coef, intercept = answer(rng.normal(size=3), BOUNDS, Y_BOUNDS)
    return np.shape(coef) == (3,) and np.ndim(intercept) == 0


@visible("coefficients_in_units")
def slopes_keep_their_signs(answer: Answer, rng: Generator) -> bool:
    """No slope changes its sign."""
    theta = rng.normal(size=3)
    return bool(np.array_equal(np.sign(answer(theta, BOUNDS, Y_BOUNDS)[0]), np.sign(theta)))


@hidden("coefficients_in_units")
def both_worlds_predict_alike(answer: Answer, rng: Generator) -> bool:
    """A person is predicted alike in the user's units and on the domain."""
    theta, u = rng.normal(size=3), rng.random((10, 3))
    X = BOUNDS[:, 0] + u * (BOUNDS[:, 1] - BOUNDS[:, 0])
    wanted = 180 + 160 * (u @ theta)  # -1 stands for a label of 20, and 1 for one of 340
    return bool(np.allclose(_predicted(answer(theta, BOUNDS, Y_BOUNDS), X), wanted))


@hidden("coefficients_in_units")
def nothing_known_predicts_the_middle(answer: Answer, rng: Generator) -> bool:
    """Coefficients of 0 predict the middle of the labels' bounds for everybody."""
    found = answer(np.zeros(3), BOUNDS, Y_BOUNDS)
    return bool(np.allclose(_predicted(found, _table(rng)), 180.0))


@hidden("coefficients_in_units")
def a_change_of_units_changes_no_prediction(answer: Answer, rng: Generator) -> bool:
    """Columns counted in other units, bounds and all, predict the same."""
    theta, scale, shift = rng.normal(size=3), rng.uniform(0.1, 9, 3), rng.normal(size=3)
    X = _table(rng)
    one = _predicted(answer(theta, BOUNDS, Y_BOUNDS), X)
    other = answer(theta, BOUNDS * scale[:, None] + shift[:, None], Y_BOUNDS)
    return bool(np.allclose(one, _predicted(other, X * scale + shift)))


@hidden("coefficients_in_units")
def nobody_at_the_low_ends_owes_a_slope(answer: Answer, rng: Generator) -> bool:
    """Somebody at all the lowest bounds is predicted alike whatever the coefficients are."""
    low = BOUNDS[:, 0][None]
    founds = [answer(rng.normal(size=3), BOUNDS, Y_BOUNDS) for _ in range(3)]
    return bool(np.ptp([_predicted(found, low)[0] for found in founds]) < 1e-8)
