"""The promise is a gate: whoever breaks it keeps half of the points of a function at most."""

import json

import nbformat
import numpy as np
import pytest
from nbformat import v4
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
