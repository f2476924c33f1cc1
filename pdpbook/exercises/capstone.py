"""Be the curator: bounds, an account, a plan, an interval, one person's exposure, an audit."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats
from sklearn.linear_model import Ridge

from pdpbook.exercises.properties import Answer, Assignment
from pdpbook.noise import L2Laplace
from pdpbook.sensitivity import ridge_constant

PROPERTIES = Assignment("capstone")
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden

ALARM = 1e-6  # a right answer may fail a property that draws this often


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


# --- granted_releases -----------------------------------------------------------------------------


def _verdicts(answer: Answer, budgets: Any, owner: Any, requests: Any) -> list[bool]:
    found = answer(np.array(budgets), np.array(owner), np.array(requests))
    return [bool(one) for one in np.asarray(found)]


@visible("granted_releases")
def a_verdict_a_request(answer: Answer, rng: Generator) -> bool:
    """There is one truth value for each request."""
    found = _verdicts(answer, [1.0, 2.0], [0, 1, 1], np.full((5, 3), 0.125))
    return len(found) == 5


@visible("granted_releases")
def the_first_that_overspends_is_refused(answer: Answer, rng: Generator) -> bool:
    """Half a budget is granted twice, and not a third time."""
    halves = np.tile([0.5, 1.0], (3, 1))
    return _verdicts(answer, [1.0, 2.0], [0, 1], halves) == [True, True, False]


@hidden("granted_releases")
def all_records_of_a_person_count(answer: Answer, rng: Generator) -> bool:
    """The budget of a person bounds the total loss of all the person's records."""
    owner = [1, 0, 1, 1]
    one = _verdicts(answer, [1.0, 1.0], owner, [[0.5, 0.5, 0.5, 0.5]])
    two = _verdicts(answer, [1.0, 1.0], owner, [[0.5, 1.0, 0.25, 0.25]])
    return one == [False] and two == [True]


@hidden("granted_releases")
def one_person_is_enough_to_refuse(answer: Answer, rng: Generator) -> bool:
    """A release that overspends for one person is refused, however much the others have left."""
    budgets, requests = np.full(9, 100.0), np.full((2, 9), 1.0)
    who = int(rng.integers(9))
    budgets[who] = 1.5
    return _verdicts(answer, budgets, range(9), requests) == [True, False]


@hidden("granted_releases")
def what_was_refused_costs_nothing(answer: Answer, rng: Generator) -> bool:
    """A refused release costs nobody anything, and later ones may still fit."""
    asked = [[0.5, 0.5], [0.75, 0.25], [0.5, 0.5], [0.25, 0.25]]
    return _verdicts(answer, [1.0, 1.0], [0, 1], asked) == [True, False, True, False]


@hidden("granted_releases")
def decimals_fill_a_budget_exactly(answer: Answer, rng: Generator) -> bool:
    """Amounts that add up to the budget as decimals are granted to the last one."""
    fine = []
    for budget, amounts in ((0.3, [0.1] * 3), (0.8, [0.1] * 8), (1.1, [0.7, 0.3, 0.1])):
        asked = [[amount] for amount in amounts]
        fine.append(all(_verdicts(answer, [budget], [0], asked)))
        thirds = [[amount / 2] * 2 for amount in amounts]  # the same on two records
        fine.append(all(_verdicts(answer, [budget], [0, 0], thirds)))
    return all(fine)


@hidden("granted_releases")
def a_millionth_too_much_is_refused(answer: Answer, rng: Generator) -> bool:
    """A millionth of a nat above what is left is refused."""
    asked = [[0.1], [0.1], [0.100001], [0.1], [0.000001]]
    return _verdicts(answer, [0.3], [0], asked) == [True, True, False, True, False]


@hidden("granted_releases")
def every_verdict_is_right(answer: Answer, rng: Generator) -> bool:
    """What was granted overspends for nobody, and what was refused would have for somebody."""
    owner = np.r_[np.arange(6), rng.integers(0, 6, 4)]
    budgets, asked = rng.integers(20, 90, 6), rng.integers(1, 12, (15, 10))  # in hundredths
    found = _verdicts(answer, budgets / 100, owner, asked / 100)
    spent = np.zeros(6, dtype=int)
    for verdict, request in zip(found, asked, strict=True):
        after = spent + [request[owner == person].sum() for person in range(6)]
        if verdict is not bool(np.all(after <= budgets)):
            return False
        spent = after if verdict else spent
    return True


# --- errors_of_plans ------------------------------------------------------------------------------


@functools.cache
def _squared_length(d: int) -> float:
    return float(stats.gamma(d).moment(2))


def _error(budgets: Any, weights: Any, d: int, constant: float, spread: float) -> float:
    """Of any weights: the largest rate that keeps every promise, and the law of the radius."""
    asked = weights > 0
    eta = np.min(budgets[asked] / (weights[asked] * constant))
    return float(_squared_length(d) / eta**2 + spread**2 * np.sum(weights**2))


def _subsets(n: int) -> Any:
    return ((np.arange(1, 2**n)[:, None] >> np.arange(n)) & 1).astype(bool)


@visible("errors_of_plans")
def a_positive_error_a_plan(answer: Answer, rng: Generator) -> bool:
    """There are three errors, all above 0."""
    found = np.asarray(answer(rng.uniform(0.1, 5, 30), 2, 9.0, 0.5))
    return found.shape == (3,) and bool(np.all(found > 0))


@visible("errors_of_plans")
def leaving_nobody_out_is_a_choice(answer: Answer, rng: Generator) -> bool:
    """The best threshold is never worse than the smallest budget for all."""
    found = [answer(rng.uniform(0.1, 5, 12), 2, 9.0, spread) for spread in (0.0, 1.0, 30.0)]
    return all(bool(second <= first * (1 + 1e-12)) for first, second, _ in found)


@hidden("errors_of_plans")
def equal_budgets_leave_no_choice(answer: Answer, rng: Generator) -> bool:
    """Where all budgets are equal, all plans are."""
    found = np.asarray(answer(np.full(25, 0.7), 3, 12.0, 2.0))
    return bool(np.allclose(found, found[0], rtol=1e-10))


@hidden("errors_of_plans")
def every_plan_keeps_its_promise_exactly(answer: Answer, rng: Generator) -> bool:
    """The first and the third are the errors of the least noise that keeps every promise."""
    fine = []
    for d in (1, 2, 6):
        budgets, constant, spread = rng.uniform(0.1, 5, 40), rng.uniform(1, 60), rng.uniform(0, 3)
        first, _, third = answer(budgets, d, constant, spread)
        alike, own = np.full(40, 1 / 40), budgets / budgets.sum()
        fine.append(bool(np.isclose(first, _error(budgets, alike, d, constant, spread))))
        fine.append(bool(np.isclose(third, _error(budgets, own, d, constant, spread))))
    return all(fine)


@hidden("errors_of_plans")
def no_choice_of_people_does_better(answer: Answer, rng: Generator) -> bool:
    """No group of people with equal weights has a smaller error, and one has this error."""
    fine = []
    for spread in (0.0, 3.0, 60.0):
        budgets = rng.choice([0.1, 0.5, 1.0, 2.0, 5.0], 8)
        errors = [_error(budgets, w / w.sum(), 2, 9.0, spread) for w in _subsets(8)]
        fine.append(bool(np.isclose(answer(budgets, 2, 9.0, spread)[1], min(errors))))
    return all(fine)


@hidden("errors_of_plans")
def without_scatter_own_budgets_are_best(answer: Answer, rng: Generator) -> bool:
    """Where labels do not scatter, no weights have a smaller error than the personalized ones."""
    budgets = rng.choice([0.1, 1.0, 5.0], 10) * rng.uniform(0.9, 1.1, 10)
    third = answer(budgets, 2, 9.0, 0.0)[2]
    some = rng.dirichlet(np.ones(10), 50) * budgets
    others = [_error(budgets, w / w.sum(), 2, 9.0, 0.0) for w in some]
    return bool(third <= min(others) * (1 + 1e-12) and third <= answer(budgets, 2, 9.0, 0.0)[1])


@hidden("errors_of_plans")
def without_noise_everybody_is_wanted(answer: Answer, rng: Generator) -> bool:
    """Where hardly any noise is needed, equal weights for all are best."""
    budgets = rng.uniform(0.1, 5, 30)
    first, second, third = answer(budgets, 2, 1e-9, 3.0)
    return bool(np.isclose(first, second) and np.isclose(first, 9 / 30) and first < third)


# --- noise_half_width -----------------------------------------------------------------------------


def _coverage(d: int, width: float) -> float:
    """Chance that one coordinate of noise of rate 1 is within a width, by another road.

    The characteristic function of the noise is (1 + |s|^2)^(-(d + 1)/2), that of a normal vector
    whose variance is twice a Gamma variable of shape (d + 1)/2.
    """
    share = (np.arange(5000) + 0.5) / 5000
    mixed = np.sqrt(2 * stats.gamma.ppf(share, (d + 1) / 2))
    return float(np.mean(2 * stats.norm.cdf(width / mixed) - 1))


@visible("noise_half_width")
def more_certainty_is_wider(answer: Answer, rng: Generator) -> bool:
    """The width is above 0 and grows with the level."""
    widths = [answer(np.array([0.5, 1.0, 0.2]), 3.0, level) for level in (0.5, 0.8, 0.95)]
    return bool(0 < widths[0] < widths[1] < widths[2])


@hidden("noise_half_width")
def the_interval_covers_as_often_as_it_says(answer: Answer, rng: Generator) -> bool:
    """In every dimension the noise is within the width with the probability asked for."""
    fine = []
    for d, level in ((1, 0.9), (2, 0.5), (2, 0.95), (3, 0.99), (7, 0.9)):
        x, eta = rng.uniform(0.1, 2, d), rng.uniform(0.5, 20)
        width = answer(x, eta, level) * eta / np.linalg.norm(x)
        fine.append(abs(_coverage(d, float(width)) - level) < 1e-3)
    return all(fine)


@hidden("noise_half_width")
def only_the_length_of_a_row_counts(answer: Answer, rng: Generator) -> bool:
    """Two rows of the same length and number of features have the same width."""
    x = rng.uniform(0.1, 1, 4)
    along = np.array([np.linalg.norm(x), 0, 0, 0])
    return bool(np.isclose(answer(x, 2.0, 0.9), answer(along, 2.0, 0.9), rtol=1e-2))


@hidden("noise_half_width")
def twice_the_rate_is_half_the_width(answer: Answer, rng: Generator) -> bool:
    """Twice the rate halves the width, and twice the row doubles it."""
    x, eta = rng.uniform(0.1, 1, 3), rng.uniform(1, 9)
    width = answer(x, eta, 0.9)
    half, double = answer(x, 2 * eta, 0.9), answer(2 * x, eta, 0.9)
    return bool(np.isclose(2 * half, width, rtol=1e-2) and np.isclose(double, 2 * width, rtol=1e-2))


@hidden("noise_half_width")
def a_feature_that_is_0_still_counts(answer: Answer, rng: Generator) -> bool:
    """More released coefficients mean a wider interval for the same one of them."""
    widths = [answer(np.eye(d)[0], 1.0, 0.9) for d in (1, 2, 4, 8)]
    return bool(np.all(np.diff(widths) > 0.1))


@hidden("noise_half_width")
def one_number_is_nearer_than_all(answer: Answer, rng: Generator) -> bool:
    """One number needs a narrower interval than the length of all the noise."""
    fine = []
    for d in (2, 5, 20):
        length = stats.gamma(d).ppf(0.9)
        fine.append(bool(answer(np.eye(d)[0], 1.0, 0.9) < 0.9 * length))
    return all(fine)


# --- evidence_of_release --------------------------------------------------------------------------


def _town(rng: Generator, n: int = 12, d: int = 2) -> tuple[Any, Any, Any]:
    budgets = rng.choice([0.1, 1.0, 5.0], n)
    return rng.random((n, d)), rng.uniform(-1, 1, n), budgets


def _fit(X: Any, y: Any, weights: Any, lam: float) -> Any:
    return Ridge(lam, fit_intercept=False).fit(X, y, sample_weight=weights).coef_


def _two_fits(X: Any, y: Any, weights: Any, lam: float, rows: list[int]) -> tuple[Any, Any]:
    without = np.array(weights)
    without[rows] = 0
    return _fit(X, y, weights, lam), _fit(X, y, without, lam)


@visible("evidence_of_release")
def evidence_is_a_number(answer: Answer, rng: Generator) -> bool:
    """The result is one finite number."""
    X, y, budgets = _town(rng)
    found = answer(np.zeros(2), X, y, budgets / budgets.sum(), 0.3, 2.0, [0, 3])
    return np.ndim(found) == 0 and bool(np.isfinite(found))


@hidden("evidence_of_release")
def a_null_record_leaves_no_evidence(answer: Answer, rng: Generator) -> bool:
    """Somebody whose records are null from the start leaves no evidence."""
    X, y, budgets = _town(rng)
    X[[2, 5]], y[[2, 5]] = 0, 0
    found = answer(rng.normal(size=2), X, y, budgets / budgets.sum(), 0.3, 40.0, [2, 5])
    return bool(abs(found) < 1e-9)


@hidden("evidence_of_release")
def it_compares_the_laws_of_the_release(answer: Answer, rng: Generator) -> bool:
    """It is the logarithm of the ratio of the two densities, at every release."""
    fine = []
    for rows in ([0], [3, 4, 7]):
        X, y, budgets = _town(rng)
        weights, lam, eta = budgets / budgets.sum(), 0.3, rng.uniform(2, 60)
        here, there = _two_fits(X, y, weights, lam, rows)
        for theta in here + rng.normal(size=(4, 2)) * rng.choice([0.03, 3.0]):
            laws = [L2Laplace(center, eta).logpdf(theta) for center in (here, there)]
            wanted = float(laws[0] - laws[1])
            found = answer(theta, X, y, weights, lam, eta, rows)
            fine.append(bool(np.isclose(found, wanted, rtol=1e-5, atol=1e-8)))
    return all(fine)


@hidden("evidence_of_release")
def it_speaks_for_the_truth_near_the_truth(answer: Answer, rng: Generator) -> bool:
    """It is positive at the fit with the records, and as far below 0 at the fit without."""
    X, y, budgets = _town(rng)
    weights = budgets / budgets.sum()
    here, there = _two_fits(X, y, weights, 0.3, [1])
    found, other = (answer(c, X, y, weights, 0.3, 30.0, [1]) for c in (here, there))
    return bool(found > 0 and np.isclose(found, -other, rtol=1e-6))


@hidden("evidence_of_release")
def nobody_loses_more_than_promised(answer: Answer, rng: Generator) -> bool:
    """At no release does it exceed what the person's records were promised together."""
    fine = []
    for lam in (0.05, 1.0, 20.0):
        X, y, budgets = _town(rng)
        eta = budgets.sum() / ridge_constant(lam, 2)
        for theta in 10.0 ** rng.uniform(-3, 6, (5, 1)) * rng.normal(size=(5, 2)):
            rows = [int(rng.integers(6)), 6 + int(rng.integers(6))]
            found = answer(theta, X, y, budgets / budgets.sum(), lam, eta, rows)
            fine.append(bool(abs(found) <= budgets[rows].sum() * (1 + 1e-9) + 1e-6))
    return all(fine)


@hidden("evidence_of_release")
def the_records_are_left_alone(answer: Answer, rng: Generator) -> bool:
    """The tables that were handed in are as they were."""
    X, y, budgets = _town(rng)
    weights = budgets / budgets.sum()
    before = X.copy(), y.copy(), weights.copy()
    answer(np.ones(2), X, y, weights, 0.3, 2.0, [0, 3])
    return all(map(np.array_equal, before, (X, y, weights)))


# --- is_refuted -----------------------------------------------------------------------------------

PEOPLE = 10
_rows = np.zeros((PEOPLE, 1))
_ones = np.r_[1.0, np.zeros(PEOPLE - 1)]
#: two tables in which one label is replaced, by the other end of its range
PAIR = (_rows, _ones), (_rows, -_ones)


def _sound(X: Any, y: Any, rng: Generator) -> Any:
    """The mean of labels from -1 to 1 at 1 nat; half-lines attain the promise."""
    return np.array([np.mean(y) + rng.laplace(0, 2 / len(y))])


def _half_the_noise(X: Any, y: Any, rng: Generator) -> Any:
    return np.array([np.mean(y) + rng.laplace(0, 1 / len(y))])


def _bare_number(X: Any, y: Any, rng: Generator) -> Any:
    return np.append(_sound(X, y, rng), np.mean(y))


def _noise_of_the_data(X: Any, y: Any, rng: Generator) -> Any:
    return rng.laplace(0, 1 + 4 * max(0.0, float(y[0])), 1)


def _old_seed(X: Any, y: Any, rng: Generator) -> Any:
    return _sound(X, y, np.random.default_rng(3))


@visible("is_refuted")
def the_verdict_is_a_truth_value(answer: Answer, rng: Generator) -> bool:
    """The result is True or False."""
    return isinstance(answer(_sound, *PAIR, 1.0, 400, 0.01, rng), bool | np.bool_)


@visible("is_refuted")
def no_more_releases_than_paid_for(answer: Answer, rng: Generator) -> bool:
    """The mechanism is run on both tables, and no more often in all than was paid for."""
    seen = []

    def counted(X: Any, y: Any, rng: Generator) -> Any:
        seen.append(float(y[0]))
        return _sound(X, y, rng)

    answer(counted, *PAIR, 1.0, 403, 0.01, rng)
    return len(seen) <= 403 and set(seen) == {-1.0, 1.0}


def _alarms(answer: Answer, mechanism: Any, epsilon: float, rng: Generator) -> bool:
    """Whether 30 audits of a kept promise, at an alarm of one in twenty, are wrong no oftener."""
    wrong = sum(bool(answer(mechanism, *PAIR, epsilon, 120, 0.05, rng)) for _ in range(30))
    return bool(stats.binom.sf(wrong - 1, 30, 0.05) > ALARM)


@hidden("is_refuted", draws=True)
def a_kept_promise_is_rarely_refuted(answer: Answer, rng: Generator) -> bool:
    """A promise that is kept, and used up, is refuted no more often than the alarm allows."""
    return _alarms(answer, _sound, 1.0, rng)


@hidden("is_refuted", draws=True)
def choosing_is_not_counting(answer: Answer, rng: Generator) -> bool:
    """Where nothing is revealed in forty numbers, none of them raises the alarm too often."""

    def nothing(X: Any, y: Any, rng: Generator) -> Any:
        return rng.normal(size=40)

    return _alarms(answer, nothing, 0.01, rng)


@hidden("is_refuted", draws=True)
def half_the_noise_is_noticed(answer: Answer, rng: Generator) -> bool:
    """A mechanism with half of the noise that its promise needs is refuted."""
    return bool(answer(_half_the_noise, *PAIR, 1.0, 4000, 0.01, rng))


@hidden("is_refuted", draws=True)
def both_tables_are_suspects(answer: Answer, rng: Generator) -> bool:
    """A leak that shows in one of the two tables is found whichever of them is named first."""
    orders = PAIR, PAIR[::-1]
    return all(bool(answer(_noise_of_the_data, *pair, 1.0, 4000, 0.01, rng)) for pair in orders)


@hidden("is_refuted")
def every_number_is_a_suspect(answer: Answer, rng: Generator) -> bool:
    """A release of two numbers, the second without noise, is refuted, on one side or the other."""
    orders = PAIR, PAIR[::-1]
    return all(bool(answer(_bare_number, *pair, 1.0, 400, 0.01, rng)) for pair in orders)


@hidden("is_refuted")
def noise_that_repeats_is_no_noise(answer: Answer, rng: Generator) -> bool:
    """A mechanism that draws the same noise every time is refuted."""
    orders = PAIR, PAIR[::-1]
    return all(bool(answer(_old_seed, *pair, 1.0, 400, 0.01, rng)) for pair in orders)
