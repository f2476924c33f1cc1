"""The promise is a gate: whoever breaks it keeps half of the points of a function at most."""

import json
from fractions import Fraction

import nbformat
import numpy as np
import pytest
from nbformat import v4
from scipy import linalg, optimize, special, stats
from wrong_answers import wrong_answers

from course import assignment
from course.grading import BROKEN, POINTS, PROMISE, _lost, grade
from course.results import counted, lost, told
from pdpbook.pages.exercises import ASSIGNMENTS
from pdpbook.pages.exercises.properties import Exercise, Property

EXERCISES = [(name, e) for name in ASSIGNMENTS for e in assignment(name).exercises.values()]
FULL = sum(POINTS.values())


def named(value):
    return getattr(value, "name", value)


@pytest.mark.parametrize(("name", "exercise"), EXERCISES, ids=named)
def test_every_function_has_a_promise_that_a_wrong_answer_breaks(name, exercise):
    promises = {one.name for one in exercise.hidden if one.promise}
    assert promises
    assert not any(one.promise for one in exercise.visible)  # these are a gate already
    assert any(w.violates in promises for w in wrong_answers(name) if w.exercise == exercise.name)


# --- the arithmetic ------------------------------------------------------------------------------


def properties(*promises):
    """Hidden properties of one function, and the visible one that all answers have."""
    hidden = [Property(f"p{k}", f"sentence {k}", bool, promise=p) for k, p in enumerate(promises)]
    return Exercise("f", [Property("v", "visible", bool)], hidden)


def earned(exercise, *failing):
    """Points of an answer that fails these properties, and what is said."""
    parts = [*_lost(exercise, lambda one: one.sentence * (one.name in failing))]
    return FULL - sum(sum(part.values()) for part in parts) / 10, parts[1]


@pytest.mark.parametrize(
    ("failing", "points"),
    [
        ((), 4),
        (("p0",), 3.3),  # no promise: its share alone
        (("p1",), 2),
        (("p0", "p1"), 2),
        (("p1", "p2"), 2),
        (("p0", "p1", "p2"), 1.8),  # three shares are more than half already
        (("p0", "p1", "p2", "p3"), 1),
        (("v",), 0),  # the only visible one
    ],
)
def test_a_broken_promise_leaves_half_at_most(failing, points):
    exercise = properties(False, True, True, False)
    assert earned(exercise, *failing)[0] == pytest.approx(points)


def test_promises_are_said_first_and_the_rest_of_the_half_has_a_line_of_its_own():
    _, said = earned(properties(False, True, False, False, False), "p0", "p1")
    assert list(said) == [f"{PROMISE}sentence 1", "sentence 0", BROKEN]
    assert sum(said.values()) == 20
    _, said = earned(properties(False, True), "p0")
    assert list(said) == ["sentence 0"]


# --- what is said of it --------------------------------------------------------------------------

DOUBLED = "def truth_probability(epsilon):\n    return 1 / (1 + np.exp(-2 * np.asarray(epsilon)))"
LIMITED = "def squared_error_of_noise(d, eta):\n    return np.float64(d * (d + 1) / eta**2)"


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    cells = [v4.new_code_cell(one) for one in ("import numpy as np", DOUBLED, LIMITED)]
    path = tmp_path_factory.mktemp("gate") / "x.ipynb"
    nbformat.write(v4.new_notebook(cells=cells), path)
    return grade(path, "foundations", seed=3).set_index(["exercise", "part"])


def test_the_call_that_fails_is_shown_as_check_shows_it(table):
    row = table.loc["truth_probability", "hidden"]
    first, half = lost(row.message)
    assert first.startswith(f"-1.5: {PROMISE}what a report can reveal is the budget")
    assert half == f"-0.5: {BROKEN}"
    calls = json.loads(row.shown)
    assert len(calls) == 2
    call, gave = calls[0].splitlines()
    assert call.startswith("truth_probability(")
    assert gave.startswith("# it gave 0.")
    budget = float(call.removeprefix("truth_probability(").rstrip(")"))
    assert np.isclose(float(gave.split()[-1]), 1 / (1 + np.exp(-2 * budget)), rtol=1e-3)
    assert told(row.message, row.shown).splitlines() == [
        first, f"    {call}", f"    {gave}", half]  # fmt: skip


def test_a_right_answer_has_nothing_to_show(table):
    row = table.loc["squared_error_of_noise", "hidden"]
    assert (row.points, row.message, row.shown) == (3, "", "[]")


def test_own_points_of_a_course_keep_the_half(table):
    worth = dict.fromkeys(assignment("foundations").exercises, 10.0)
    rows = table.reset_index()
    rows = counted(rows[rows.part != "by hand"], worth, ["exercise"])
    mine = rows[rows.exercise == "truth_probability"]
    assert mine.points.sum() == 5
    assert f"-1.25: {BROKEN}" in mine.message.iloc[1]


# --- answers that nobody fitted to the properties ------------------------------------------------

BROKEN_BY = {}  # answers that break a promise by a factor, from 1.05 to 2
OTHERWISE = {}  # right answers of another form than the reference


def answer(of, exercise):
    """Decorate an answer to an exercise, named by its assignment and function."""

    def add(function):
        of[function.__name__] = (*exercise.split("/"), function)
        return function

    return add


@answer(BROKEN_BY, "user_level/noise_scale_for_users")
def noise_a_quarter_short_for_owners_of_many_rows(c, users, width, epsilon):
    weight, count = np.bincount(users, c), np.bincount(users)
    return width * np.max(weight / epsilon / np.where(count > 3, 1.25, 1))


@answer(BROKEN_BY, "pac/clipped_step")
def clipped_six_percent_late(gradients, clip_norm, batch_size):
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    shrink = np.where(length > clip_norm, np.minimum(1, 1.06 * clip_norm / length), 1)
    return (gradients * shrink).sum(axis=0) / batch_size


@answer(BROKEN_BY, "pac/cheapest_noise")
def a_tenth_of_the_noise_saved(S, v):
    variances, axes = np.linalg.eigh(S)
    sizes = np.sqrt(np.maximum(variances, 0))
    return (axes * (sizes * sizes.sum() / (2.2 * v))) @ axes.T


@answer(BROKEN_BY, "user_level/median_law")
def a_fifth_more_than_the_promise(y, users, grid, epsilon):
    return law_of_median(y, users, grid, 1.2 * epsilon)


@answer(BROKEN_BY, "per_instance/private_eigenvalue_bound")
def eight_percent_overspent(X, epsilon, beta, rng):
    spent = 1.08 * epsilon
    noise = rng.laplace(0, 1 / spent) - np.log(1 / (2 * beta)) / spent
    return max(0.0, np.linalg.eigvalsh(X.T @ X)[0] + noise)


@answer(BROKEN_BY, "personalized/chance_to_be_kept")
def kept_a_tenth_more_often(epsilon, t):
    spent = np.minimum(epsilon, t)
    return np.minimum(1, 1.1 * np.exp(spent - t) * np.expm1(-spent) / np.expm1(-t))


@answer(BROKEN_BY, "personalized/furthest_move")
def four_fifths_of_the_bound(weights, lam, d):
    norm = min(1 / np.sqrt(lam), np.sqrt(d) / lam)
    return np.asarray(weights) * 2 * np.sqrt(d) * (1 + np.sqrt(d) * norm) / lam / 1.25


@answer(BROKEN_BY, "personalized/rate_that_spends_all")
def a_twentieth_too_fast(epsilon, constant):
    return 1.05 * np.sum(epsilon) / constant


@answer(BROKEN_BY, "capstone/granted_releases")
def five_percent_is_let_pass(budgets, owner, requests):
    spent, granted = np.zeros(len(budgets)), []
    for request in requests:
        after = spent + np.bincount(owner, request, minlength=len(budgets))
        granted.append(bool(np.all(after <= 1.05 * np.asarray(budgets))))
        spent = after if granted[-1] else spent
    return np.array(granted)


@answer(BROKEN_BY, "foundations/sample_l2_laplace")
def five_percent_too_short(d, eta, size, rng):
    direction = rng.normal(size=(size, d))
    direction /= np.linalg.norm(direction, axis=1, keepdims=True)
    return rng.gamma(d, 1 / (1.05 * eta), size)[:, None] * direction


@answer(BROKEN_BY, "pac/gaussian_information")
def a_twentieth_untold(S, B):
    return np.linalg.slogdet(np.eye(len(S)) + np.linalg.solve(B, S))[1] / 2.1


@answer(BROKEN_BY, "user_level/cap_contributions")
def one_row_more_for_whoever_has_many(users, m, rng):
    kept = np.zeros(len(users), dtype=bool)
    for user in np.unique(users):
        own = rng.permutation(np.flatnonzero(users == user))
        kept[own[: m + (len(own) > 2 * m)]] = True
    return kept


@answer(BROKEN_BY, "per_instance/accuse")
def half_as_many_false_alarms_again(theta, X, y, x, label, lam, gamma, alarm):
    H = X.T @ X + lam * np.eye(len(x))
    leverage = x @ np.linalg.solve(H, x)
    square = gamma * (label - x @ np.linalg.solve(H, X.T @ y)) ** 2
    limit = leverage * stats.ncx2.ppf(min(1.5 * alarm, 0.99), 1, square / leverage)
    return gamma * (label - theta @ x) ** 2 < limit


@answer(BROKEN_BY, "foundations/epsilon_lower_bound")
def a_third_more_alarms(hits_p, draws_p, hits_q, draws_q, alarm):
    share = 1.33 * alarm  # of one end alone; half of the alarm for each would keep the promise
    low = stats.beta.ppf(share, hits_p, draws_p - hits_p + 1) if hits_p else 0.0
    high = 1.0
    if hits_q < draws_q:
        high = stats.beta.isf(share, hits_q + 1, draws_q - hits_q)
    return float(max(0.0, np.log(low / high))) if low else 0.0


@answer(BROKEN_BY, "capstone/noise_half_width")
def five_percent_narrower(x, eta, level):
    return half_width(x, eta, level) / 1.05


# --- right ones ----------------------------------------------------------------------------------


@answer(OTHERWISE, "user_level/noise_scale_for_users")
def user_by_user(c, users, width, epsilon):
    weight = [sum(c[k] for k in np.flatnonzero(users == user)) for user in range(len(epsilon))]
    return max(width * one / budget for one, budget in zip(weight, epsilon, strict=True))


@answer(OTHERWISE, "pac/clipped_step")
def person_by_person(gradients, clip_norm, batch_size):
    step = np.zeros(gradients.shape[1])
    for one in gradients:
        length = np.sqrt(np.sum(one**2))
        step += one if length <= clip_norm else one / length * clip_norm
    return step / batch_size


@answer(OTHERWISE, "pac/cheapest_noise")
def by_singular_values(S, v):
    U, variances, _ = np.linalg.svd((S + S.T) / 2)
    sizes = np.sqrt(variances * (variances > 1e-12 * variances.max()))
    return U @ np.diag(sizes) @ U.T * sizes.sum() / (2 * v)


@answer(OTHERWISE, "user_level/median_law")
def law_of_median(y, users, grid, epsilon):
    m, logs = int(np.max(users)) + 1, []
    for point in grid:
        shares = [
            (np.mean(y[users == user] < point), np.mean(y[users == user] <= point))
            for user in range(m)
        ]
        below, upto = np.mean(shares, axis=0)
        logs.append(-epsilon * m / 2 * max(0.0, below - 0.5, 0.5 - upto))
    return special.softmax(logs)


@answer(OTHERWISE, "per_instance/private_eigenvalue_bound")
def noise_of_two_exponentials(X, epsilon, beta, rng):
    n, d = X.shape
    smallest = np.linalg.svd(X, compute_uv=False)[-1] ** 2 if n >= d else 0.0
    noise = (rng.exponential() - rng.exponential()) / epsilon
    return max(0.0, smallest + noise + np.log(2 * beta) / epsilon)


@answer(OTHERWISE, "personalized/chance_to_be_kept")
def in_logarithms(epsilon, t):
    spent = np.minimum(epsilon, t)
    odds = np.log(-np.expm1(-spent)) - np.log(-np.expm1(-t))
    return np.exp(odds + spent - t)


@answer(OTHERWISE, "personalized/rate_that_spends_all")
def the_strictest_of_all(epsilon, constant):
    weights = np.asarray(epsilon) / np.sum(epsilon)
    return np.min(epsilon / (constant * weights))


@answer(OTHERWISE, "capstone/granted_releases")
def in_fractions(budgets, owner, requests):
    left = [Fraction(str(one)) for one in np.asarray(budgets, dtype=float).tolist()]
    granted = []
    for request in np.asarray(requests, dtype=float).tolist():
        after = list(left)
        for person, amount in zip(owner, request, strict=True):
            after[person] -= Fraction(str(amount))
        granted.append(min(after) >= 0)
        left = after if granted[-1] else left
    return np.array(granted)


@answer(OTHERWISE, "foundations/sample_l2_laplace")
def lengths_of_many_exponentials(d, eta, size, rng):
    radius = rng.exponential(1 / eta, (size, d)).sum(axis=1)
    z = rng.standard_normal((size, d))
    return z * (radius / np.sqrt((z**2).sum(axis=1)))[:, None]


@answer(OTHERWISE, "pac/gaussian_information")
def by_joint_eigenvalues(S, B):
    return np.log1p(np.maximum(linalg.eigh(S, B, eigvals_only=True), 0)).sum() / 2


@answer(OTHERWISE, "user_level/cap_contributions")
def the_first_of_a_shuffled_table(users, m, rng):
    kept, seen = np.zeros(len(users), dtype=bool), {}
    for row in rng.permutation(len(users)):
        seen[users[row]] = seen.get(users[row], 0) + 1
        kept[row] = seen[users[row]] <= m
    return kept


@answer(OTHERWISE, "capstone/noise_half_width")
def half_width(x, eta, level):
    d = len(x)
    mixed = np.sqrt(2 * stats.gamma.ppf((np.arange(20_000) + 0.5) / 20_000, (d + 1) / 2))

    def missing(width):
        return np.mean(2 * stats.norm.cdf(width / mixed) - 1) - level

    return np.linalg.norm(x) / eta * optimize.brentq(missing, 0, 200)


def points_of(name, function, found, seed=0):
    exercise = assignment(name).exercises[function]
    parts = [*_lost(exercise, lambda one: one.fault(found, seed))]
    return FULL - sum(sum(part.values()) for part in parts) / 10, parts


@pytest.mark.parametrize("wrong", BROKEN_BY)
def test_a_promise_broken_by_a_small_factor_keeps_half_at_most(wrong):
    points, said = points_of(*BROKEN_BY[wrong])
    assert points <= FULL / 2, said


@pytest.mark.parametrize("right", OTHERWISE)
def test_a_right_answer_of_another_form_has_full_marks(right):
    points, said = points_of(*OTHERWISE[right])
    assert points == FULL, said
