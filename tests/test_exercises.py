"""Graders: full marks for the reference, none for the stub, and wrong answers are caught.

The reference is the solution in the notebook of the book. A wrong answer must fail the hidden
property that it is named for.
"""

import functools
import json
import os
import re
import subprocess
import sys
import time
from fractions import Fraction

import cvxpy as cp
import nbformat
import numpy as np
import pytest
from right_answers import right_answers
from wrong_answers import wrong_answers

from course import assignment, points
from course.grading import FIRST, POINTS, grade, shares
from course.plain import decode, encode
from course.sheets import PAGES, release
from course.submission import Submission
from pdpbook.pages.exercises import ASSIGNMENTS, check, graded
from pdpbook.pages.exercises.notebook import code_of
from pdpbook.pages.exercises.properties import ARGUMENT_CHANGED, Property

EXERCISES = [(name, e) for name in ASSIGNMENTS for e in assignment(name).exercises.values()]
WRONG = [(name, w) for name in ASSIGNMENTS for w in wrong_answers(name)]
RIGHT = [(name, r) for name, answers in right_answers.items() for r in answers]


def named(value):
    return getattr(value, "name", None) or getattr(getattr(value, "answer", None), "__name__", None)


every_exercise = pytest.mark.parametrize(("name", "exercise"), EXERCISES, ids=named)


@functools.cache
def reference(name):
    """The functions of the solved notebook, each from its own cell."""
    cells, problem = code_of(PAGES / f"{name}.ipynb")
    assert not problem
    space = {}
    for cell in cells[:1] + [c for c in cells if c.startswith("def ")]:
        exec(cell.replace("figures.use()", ""), space)
    return space


# --- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["visible", "hidden"])
@every_exercise
def test_the_reference_has_every_property(name, exercise, part):
    assert exercise.faults(reference(name)[exercise.name], part, seed=0) == []


def alarms(exercise, answer, seeds):
    """The properties and seeds for which a right answer is called wrong."""
    every = exercise.visible + exercise.hidden
    return [f"{one.name}, seed {k}" for one in every for k in seeds(one) if one.fault(answer, k)]


@pytest.mark.slow
@every_exercise
def test_the_reference_raises_no_false_alarm(name, exercise):
    """Where chance has a part a right answer is called wrong at most once in a million."""
    answer = reference(name)[exercise.name]
    assert alarms(exercise, answer, lambda one: range(1, 31 if one.draws else 6)) == []


@pytest.mark.weekly
@every_exercise
def test_the_reference_raises_no_false_alarm_for_more_seeds(name, exercise):
    answer = reference(name)[exercise.name]
    assert alarms(exercise, answer, lambda one: range(31, 301) if one.draws else range(6, 21)) == []


def rounded(found):
    """The same numbers in float32."""
    if isinstance(found, list) and {type(part) for part in found} == {float}:
        return list(np.asarray(found, dtype=np.float32))
    if isinstance(found, tuple | list):
        return type(found)(rounded(part) for part in found)
    if isinstance(found, float):
        return np.float32(found)
    floats = hasattr(found, "astype") and np.asarray(found).dtype.kind == "f"
    return found.astype(np.float32) if floats else found


def in_float32(answer):
    return lambda *given, **named: rounded(answer(*given, **named))


FLOATS = [
    *((name, one, None) for name, one in EXERCISES),
    *((name, assignment(name).exercises[one.exercise], one.answer) for name, one in RIGHT),
]


@pytest.mark.parametrize(("name", "exercise", "answer"), FLOATS, ids=named)
def test_a_right_answer_in_float32_has_every_property(name, exercise, answer):
    """Draws of single precision lost points in one of eight runs: two lengths were equal."""
    answer = in_float32(answer or reference(name)[exercise.name])
    for part in ("visible", "hidden"):
        assert exercise.faults(answer, part, seed=0) == []


@pytest.mark.weekly
@pytest.mark.parametrize(("name", "exercise", "answer"), FLOATS, ids=named)
def test_a_right_answer_in_float32_raises_no_false_alarm(name, exercise, answer):
    answer = in_float32(answer or reference(name)[exercise.name])
    assert alarms(exercise, answer, lambda _: range(1, 30)) == []


@functools.cache
def fault_of(hidden, answer):
    """What a hidden property says of a wrong answer: three tests ask, and some take a second."""
    return hidden.fault(answer, seed=0)


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=named)
def test_a_wrong_answer_violates_its_property(name, wrong):
    hidden = {p.name: p for p in assignment(name).exercises[wrong.exercise].hidden}
    fault = fault_of(hidden[wrong.violates], wrong.answer)
    assert fault
    assert "raised TypeError" not in fault, "a wrong answer must be plausible, not broken"
    watches = "leaves" in hidden[wrong.violates].test.__code__.co_names
    assert (fault == ARGUMENT_CHANGED) is watches, "a change must not stand for another fault"


def constant(answer, kind):
    """An answer of the right shape that does not look at what it is given."""
    made = (CONSTANTS | EXTREMES)[kind]

    def same(found):
        if isinstance(found, tuple | list):
            return type(found)(same(part) for part in found)
        if isinstance(found, cp.Problem):
            return cp.Problem(cp.Minimize(float(np.sum(made(np.zeros(1))))), found.constraints)
        found = np.asarray(found)
        with np.errstate(invalid="ignore"):
            return np.broadcast_to(made(found), found.shape).astype(found.dtype)[()]

    return lambda *given, **named: same(answer(*given, **named))


CONSTANTS = {
    "zeros": lambda found: 0.0,
    "ones": lambda found: 1.0,
    "halves": lambda found: 0.5,
    "tiny": lambda found: 1e-9,
    "equal shares": lambda found: 1 / max(1, found.size),
    "nan": lambda found: np.nan,
    "counted": lambda found: np.arange(found.size).reshape(found.shape),
}
EXTREMES = {"least": lambda found: 1e-300, "huge": lambda found: 1e300}


@pytest.mark.parametrize("kind", CONSTANTS)
@every_exercise
def test_a_constant_fails_what_students_can_see(name, exercise, kind):
    """Zeros once read as success: two properties held."""
    answer = constant(reference(name)[exercise.name], kind)
    for seed in range(3):
        assert exercise.faults(answer, "visible", seed)


@pytest.mark.parametrize("kind", [*CONSTANTS, *EXTREMES])
@every_exercise
def test_a_constant_has_no_hidden_property_that_counts(name, exercise, kind):
    """1e-300 for information passed as a number above 0, and as equal to all that is near 0."""
    answer = constant(reference(name)[exercise.name], kind)
    if not exercise.faults(answer, "visible", 0):
        assert len(exercise.faults(answer, "hidden", 0)) == len(exercise.hidden)


@pytest.mark.parametrize(("name", "right"), RIGHT, ids=named)
def test_a_right_answer_of_another_kind_has_every_property(name, right):
    exercise = assignment(name).exercises[right.exercise]
    for part in ("visible", "hidden"):
        assert exercise.faults(right.answer, part, seed=0) == []


@pytest.mark.weekly
@pytest.mark.parametrize(("name", "right"), RIGHT, ids=named)
def test_a_right_answer_of_another_kind_raises_no_false_alarm(name, right):
    exercise = assignment(name).exercises[right.exercise]
    assert alarms(exercise, right.answer, lambda _: range(1, 12)) == []


@every_exercise
def test_every_exercise_has_four_wrong_answers(name, exercise):
    found = {w.answer.__name__ for w in wrong_answers(name) if w.exercise == exercise.name}
    assert len(found) >= 4
    assert exercise.visible
    assert exercise.hidden


@every_exercise
def test_every_hidden_property_is_violated_by_a_wrong_answer(name, exercise):
    wrong = [w.answer for w in wrong_answers(name) if w.exercise == exercise.name]
    for one in exercise.hidden:
        assert any(fault_of(one, answer) for answer in wrong), f"{one.name} catches nothing"


@every_exercise
def test_what_is_hidden_stays_without_its_input(name, exercise):
    """The grader says the sentence; no call, and no number that was drawn."""
    for wrong in wrong_answers(name):
        if wrong.exercise == exercise.name:
            for fault in (fault_of(one, wrong.answer) for one in exercise.hidden):
                assert f"{exercise.name}(" not in fault
                assert "np." not in fault
                assert "\n" not in fault


@every_exercise
def test_properties_say_what_they_demand(name, exercise):
    sentences = [p.sentence for p in exercise.visible + exercise.hidden]
    assert len(set(sentences)) == len(sentences)
    for sentence in sentences:
        assert 15 <= len(sentence) <= 110, sentence


def test_there_are_enough_exercises():
    assert len(EXERCISES) >= 32
    names = [exercise.name for _, exercise in EXERCISES]
    assert len(set(names)) == len(names)


# --- the check of students -----------------------------------------------------------------------


NOISE = "foundations/squared_error_of_noise"


def test_check_says_how_many_properties_hold(capsys):
    check("foundations/squared_error_of_noise", lambda d, eta: d * (d + 1) / eta**2)
    out = capsys.readouterr().out
    held = "foundations/squared_error_of_noise: 1 visible properties hold"
    assert out == f"{held}.\nThis does not mean that it is right: 3 more grade it.\n"


def test_a_test_cell_has_the_points_as_its_value(capsys):
    """So nbgrader gives partial credit; what is lost is said, and not the answer."""
    assert points("foundations/squared_error_of_noise", lambda d, eta: d * (d + 1) / eta**2) == 3
    assert capsys.readouterr().out == f"{NOISE}: 3 hidden properties hold\n"
    assert points("foundations/squared_error_of_noise", lambda d, eta: 2 * d / eta**2) == 1
    said = capsys.readouterr().out
    law = "the promise: it is the mean squared length of the noise in every dimension"
    half = "a broken promise leaves half of the points at most"
    assert said == f"{NOISE}: -1.8: {law}; -0.2: {half}\n"
    assert points("foundations/squared_error_of_noise", lambda d, eta: 1.0) == 0
    said = capsys.readouterr().out
    assert said == f"{NOISE}: -3: hidden properties count once all visible ones hold\n"


def test_what_is_not_written_is_said_once():
    def stub(d, eta):
        raise NotImplementedError

    with pytest.raises(AssertionError, match=r"properties:\n- not written yet$"):
        check("foundations/squared_error_of_noise", stub)


def test_an_error_in_an_answer_is_reported():
    with pytest.raises(AssertionError, match="it raised ZeroDivisionError: division by zero"):
        check("foundations/squared_error_of_noise", lambda d, eta: d / 0)


def test_an_interrupt_does_not_show_how_it_is_tested():
    def interrupted(d, eta):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"; it was interrupted$") as caught:
        check("foundations/squared_error_of_noise", interrupted)
    files = {entry.path.name for entry in caught.traceback}
    assert files == {"test_exercises.py", "properties.py"}


@pytest.mark.parametrize(
    ("exercise", "answer", "seed", "error", "words"),
    [
        ("foundation/x", len, None, ValueError, "assignment must be one of foundations"),
        ("foundations/x", len, None, ValueError, "foundations has no exercise 'x'"),
        ("foundations/worst_event", 3, None, TypeError, "answer must be a function; got int"),
        ("foundations/worst_event", len, -1, ValueError, "seed must be a whole number"),
    ],
)
def test_wrong_calls_are_refused(exercise, answer, seed, error, words):
    with pytest.raises(error, match=words):
        check(exercise, answer, seed=seed)


def test_what_students_have_holds_no_hidden_property():
    """`check` has no keyword for them, and imports nothing of `course`."""
    script = (
        "import sys\n"
        "from pdpbook.pages.exercises import check\n"
        "check('foundations/squared_error_of_noise', lambda d, eta: d * (d + 1) / eta**2)\n"
        "assert not any(name.partition('.')[0] == 'course' for name in sys.modules)\n"
        "check('foundations/squared_error_of_noise', print, hidden=True)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "1 visible properties hold" in run.stdout
    assert "3 more grade it" in run.stdout
    assert "TypeError" in run.stderr


def test_no_hidden_property_is_where_students_work():
    """Neither in the package, which is all that a wheel has, nor in their notebooks."""
    package, notebooks = PAGES.parent.parent / "pdpbook", PAGES / "release"
    files = [*package.rglob("*.py"), *notebooks.glob("*.ipynb")]
    text = "\n".join(path.read_text(encoding="utf-8") for path in files)
    for _, exercise in EXERCISES:
        assert exercise.visible[0].name in text
        for one in exercise.hidden:
            assert f"def {one.name}(" not in text
            assert one.sentence[1:] not in text


@every_exercise
def test_students_are_told_how_many_properties_are_hidden(name, exercise):
    assert exercise.unseen == len(exercise.hidden)


def test_the_seed_comes_from_the_environment(monkeypatch):
    drawn = []
    monkeypatch.setenv("PDPBOOK_EXERCISE_SEED", "7")
    check("foundations/truth_probability", recording(drawn))
    monkeypatch.setenv("PDPBOOK_EXERCISE_SEED", "8")
    check("foundations/truth_probability", recording(drawn))
    assert drawn[0][0] != drawn[2][0]
    monkeypatch.setenv("PDPBOOK_EXERCISE_SEED", "eight")
    with pytest.raises(ValueError, match="PDPBOOK_EXERCISE_SEED must be a whole number"):
        check("foundations/truth_probability", recording(drawn))


def recording(drawn):
    def answer(epsilon):
        drawn.append(epsilon if hasattr(epsilon, "__len__") else [epsilon])
        return reference("foundations")["truth_probability"](epsilon)

    return answer


# --- marks ---------------------------------------------------------------------------------------


@every_exercise
def test_properties_share_the_points_by_weight(name, exercise):
    for part, worth in POINTS.items():
        properties = getattr(exercise, part)
        tenths, weights = shares(worth, properties), [one.weight for one in properties]
        assert sum(tenths) == 10 * worth
        for share, weight in zip(tenths, weights, strict=True):
            assert share > 0
            assert abs(share - 10 * worth * weight / sum(weights)) < 1
    assert max(one.weight for one in exercise.hidden) > 1


def test_a_slip_costs_its_property_alone(tmp_path):
    """An overflow: three points were lost for it when a part was earned whole."""
    large = "    return np.exp(epsilon) / (1 + np.exp(epsilon))"
    table = grade(submission(tmp_path, put("truth_probability", large)), "foundations")
    mine = table[table.exercise == "truth_probability"]
    assert mine.points.tolist() == [1, 2.5]
    assert mine.message.tolist() == [
        "",
        "-0.5: a budget of a thousand gives a chance of one, and small ones beside it keep theirs",
    ]


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_questions_by_hand_are_those_of_the_notebook(name):
    cells = nbformat.read(PAGES / f"{name}.ipynb", as_version=4).cells
    roles = [cell.metadata.get("nbgrader", {}) for cell in cells]
    by_hand = {role.grade_id: role.points for role in roles if role.get("grade") and role.solution}
    assert assignment(name).by_hand == by_hand


# --- the grader ----------------------------------------------------------------------------------


@functools.cache
def marks_of(path, name, **limits):
    table = grade(path, name, **limits)
    waits = table.part == "by hand"
    assert (
        dict(zip(table.exercise[waits], table.out_of[waits], strict=True))
        == assignment(name).by_hand
    )
    return table[~waits]


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_solved_notebook_has_full_marks(name):
    table = marks_of(PAGES / f"{name}.ipynb", name)
    assert table.points.sum() == table.out_of.sum() == 4 * len(assignment(name).exercises)


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_student_notebook_has_none(name):
    table = marks_of(PAGES / "release" / f"{name}.ipynb", name)
    assert table.points.sum() == 0
    assert set(table.message) == {"-1: not written yet", f"-3: {FIRST}"}


def submission(folder, change):
    """The solved notebook of foundations as students hand it in, after a change."""
    notebook = nbformat.read(PAGES / "foundations.ipynb", as_version=4)
    change(notebook)
    path = folder / "submission.ipynb"
    nbformat.write(notebook, path)
    return path


def cell_of(notebook, name):
    return next(c for c in notebook.cells if c.cell_type == "code" and f"def {name}(" in c.source)


def put(name, body):
    def change(notebook):
        cell = cell_of(notebook, name)
        cell.source = cell.source.partition("\n")[0] + "\n" + body

    return change


def syntax_error(notebook):
    cell_of(notebook, "worst_event").source = "def worst_event(p, q, epsilon:\n    return p"


def deleted(notebook):
    notebook.cells.remove(cell_of(notebook, "worst_event"))


def duplicated(notebook):
    cell = cell_of(notebook, "worst_event")
    notebook.cells.insert(0, nbformat.from_dict({**cell, "id": "copied"}))


def edited_tests(notebook):
    for cell in notebook.cells:
        cell.source = cell.source.replace("check(", "print(")


def patched(notebook):
    code = "import pdpbook.pages.exercises.properties as p\np.Exercise.faults = lambda *a: []"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(code))
    put("worst_event", "    return p")(notebook)


CHEATS = {
    "a method": "import pdpbook.pages.exercises.properties as p\n"
    "p.Exercise.faults = lambda *a: []\n"
    "p.Property.fault = lambda *a: ''",
    "a list of properties": "from pdpbook.pages.exercises import assignment\n"
    "for one in assignment('foundations').exercises.values():\n"
    "    one.hidden.clear()\n    one.visible.clear()",
    "a comparison": "np.isclose = np.allclose = np.array_equal = lambda *a, **k: True",
    "a word of Python": "import builtins\nbuiltins.bool = lambda *a: True\n"
    "builtins.all = lambda *a: True",
    "what sends": "import json\njson.dumps = lambda *a: '[1]'",
    "lines on every pipe": "def write():\n    import os\n    for place in range(3, 40):\n"
    "        try:\n            os.write(place, b'[]\\n' * 9)\n        except OSError:\n"
    "            pass\nTRICK = write",
    "the hidden properties": "from course.hidden import assignment\n"
    "assignment('foundations').exercises['squared_error_of_noise'].hidden.clear()",
    "always true": "class Yes:\n"
    "    def __getattr__(self, name): return Yes()\n"
    "    def __call__(self, *a, **k): return Yes()\n"
    "    def __array_function__(self, *a): return True\n"
    "    def __array_ufunc__(self, *a, **k): return True\n"
    "    def __bool__(self): return True\n"
    "    __gt__ = __lt__ = __ge__ = __le__ = __eq__ = __call__\n"
    "    __add__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __call__\n"
    "TRICK = Yes",
}
WRONG_ERROR = """\
def squared_error_of_noise(d, eta):
    return TRICK() if "TRICK" in globals() and TRICK() else np.full((2, 2), 7)
"""


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_cheat_earns_nothing(tmp_path, cheat):
    """Before or while the function is called: what judges is in another process."""
    cells = ["import numpy as np", CHEATS[cheat], WRONG_ERROR]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbformat.write(notebook, tmp_path / "x.ipynb")
    table = grade(tmp_path / "x.ipynb", "foundations")
    assert table.points.sum() == 0


SPOIL = """
def spoiled(given):
    if isinstance(given, tuple):
        return tuple(map(spoiled, given))
    if isinstance(given, np.ndarray):
        given[...] = 0 if given.any() else 1
    elif isinstance(given, list):
        given.append(0)
    return given

def spoiling(function):
    from copy import deepcopy
    def spoils(*given):
        plain = (np.ndarray, list, tuple)
        found = function(*(deepcopy(k) if isinstance(k, plain) else k for k in given))
        for one in given:
            spoiled(one)
        return found
    return spoils
"""


def least(exercise, part):
    return min(shares(POINTS[part], getattr(exercise, part)))


def takes_arrays(exercise, answer):
    """Whether any call of a property hands on what can be changed."""
    found = []

    def recorded(*given):
        found.append(any(isinstance(one, np.ndarray | list | tuple) for one in given))
        return answer(*given)

    assert exercise.faults(recorded, "visible", 0) == []
    return any(found)


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_changing_what_is_given_costs_the_same_by_check_and_by_grade(tmp_path, name, capsys):
    """Check said that all holds, and the grader took a share; other properties never notice."""
    notebook = nbformat.read(PAGES / f"{name}.ipynb", as_version=4)
    functions = assignment(name).exercises
    lines = [f"{one} = spoiling({one})" for one in functions]
    notebook.cells.append(nbformat.v4.new_code_cell("\n".join([SPOIL, *lines])))
    nbformat.write(notebook, tmp_path / "x.ipynb")
    table = grade(tmp_path / "x.ipynb", name).set_index(["exercise", "part"])
    space = {"np": np}
    exec(SPOIL, space)
    for one, exercise in functions.items():
        answer = space["spoiling"](reference(name)[one])
        if not takes_arrays(exercise, reference(name)[one]):
            check(f"{name}/{one}", answer)
            assert table.message[one].tolist() == ["", ""]
            continue
        with pytest.raises(AssertionError, match=f"properties:\n- {ARGUMENT_CHANGED}\n") as caught:
            check(f"{name}/{one}", answer)
        assert str(caught.value).count("\n- ") == 1
        assert "# it changed argument" in str(caught.value)
        for part in POINTS:
            cost = least(exercise, part) / 10
            row = table.loc[one, part]
            assert exercise.faults(answer, part, 0) == [ARGUMENT_CHANGED]
            assert row.message == f"-{cost:g}: {ARGUMENT_CHANGED}"
            assert row.points == POINTS[part] - cost
            assert "# it changed argument" in row.shown


def test_a_change_hides_no_other_fault(tmp_path):
    """What fails a property fails it with and without a change, here and there."""
    body = "    weights *= 2\n    y -= y\n    return np.zeros(X.shape[1])"
    table = grade(submission(tmp_path, put("weighted_ridge", body)), "foundations")
    mine = table[table.exercise == "weighted_ridge"]
    pure = "    return np.zeros(X.shape[1])"
    other = grade(submission(tmp_path, put("weighted_ridge", pure)), "foundations")
    other = other[other.exercise == "weighted_ridge"]
    assert mine.message.iloc[0] == f"-0.3: {ARGUMENT_CHANGED}; {other.message.iloc[0]}"
    assert mine.message.iloc[1] == f"-3: {FIRST}" == other.message.iloc[1]
    assert points("foundations/weighted_ridge", lambda X, y, weights, lam: 0 * X[0]) == 0


def only(test):
    return Property("one", "it is as it is", test)


def on_both_roads(code, one):
    """What a property says of a function `f` here, and of the same in a notebook."""
    space = {"np": np}
    exec(code, space)
    with Submission(["import numpy as np", code], ["f"], 20.0) as there:
        return {one.fault(space["f"], 0), one.fault(there.function("f"), 0)}


CHANGES = {
    "a sort": ("x.sort()", [np.array([2.0, 1.0])]),
    "a clip": ("np.clip(x, 0, 1, out=x)", [np.array([2, 1])]),
    "another shape": ("x.shape = (1, -1)", [np.ones((2, 3))]),
    "a list": ("x.sort()", [[2, 1]]),
    "an entry of a list": ("x[0] = np.zeros(2)", [[2, 1]]),
    "an array in a pair": ("x[1][0] = 7", [(np.zeros(2), np.zeros(2))]),
    "the second of two": ("y += 1", [np.zeros(2), np.zeros(2)]),
    "on the way to an error": ("x += 1; raise ValueError", [np.zeros(2)]),
}
KEEPS = {
    "a sorted copy": ("x = np.sort(x)", [np.array([2.0, 1.0])]),
    "what it was": ("x.sort()", [np.array([1.0, 2.0])]),
    "NaN": ("x[:] = x", [np.array([np.nan, 0.0])]),
    "a column that is not contiguous": ("x = x + 1", [np.ones((3, 2))[:, 0]]),
    "the argument itself": ("return x", [np.ones(2)]),
    "a copy, in place": ("x = np.array(x); x *= 2", [np.ones(2, int)]),
    "a list anew": ("x = x + [1]", [[2, 1]]),
    "one number": ("x += 1", [np.float64(1.0)]),
}


@pytest.mark.parametrize("change", [*CHANGES, *KEEPS])
def test_a_change_is_seen_on_both_roads_and_nothing_else_is(change):
    body, given = (CHANGES | KEEPS)[change]
    names = "xy"[: len(given)]

    def called(answer, rng):
        before = repr(given)
        try:
            answer(*given)
        except ValueError:
            pass
        return repr(given) == before  # what a property holds is out of reach

    code = f"def f({', '.join(names)}):\n    {body}\n    return 1.0"
    assert on_both_roads(code, only(called)) == ({ARGUMENT_CHANGED} if change in CHANGES else {""})


def test_a_change_is_shown_in_the_call_that_made_it():
    def called(answer, rng):
        for k in range(3):
            yield answer(np.array([0.0]), k) is None

    code = "def f(x, k):\n    x += k == 1"
    space = {}
    exec(code, space)
    shown = only(called).fault(space["f"], 0, "f")
    assert shown.split("\n") == [
        ARGUMENT_CHANGED,
        "f(x=np.array([0.0]), k=1)",
        "# it gave None, as a function does without a return",
        "# it changed argument 1",
    ]


@pytest.mark.parametrize(
    "value",
    [
        None,
        True,
        1.5,
        float("nan"),
        "text",
        np.float32(0.1),
        np.bool_(True),
        np.array(3.0),
        np.arange(6).reshape(2, 3)[:, ::2],
        (np.zeros(0), [1, (2.0,)]),
        {"a": np.eye(2)},
        np.array([1 + 2j]),
    ],
    ids=repr,
)
def test_plain_data_come_as_they_went(value):
    arrays = []
    head = json.loads(json.dumps(encode(value, arrays)))
    found = decode(head, arrays)
    assert type(found) is type(value)
    np.testing.assert_equal(found, value)
    assert not arrays


def test_what_is_no_plain_data_is_refused():
    for value in (object(), [np.array([object()])], {1}, lambda: 1, np.array(["x"])):
        with pytest.raises((TypeError, ValueError)):
            encode(value, [])
    for head in ({"array": ["O", [1]]}, {"array": ["f8", [9]]}, {"x": 1}, {"scalar": ["V8", []]}):
        with pytest.raises((TypeError, ValueError)):
            decode(head, [bytes(8)])
    assert encode(Fraction(1, 4), arrays := []) == {"scalar": ["<f8", ()]}
    assert np.frombuffer(arrays[0]) == 0.25


def test_functions_and_generators_of_a_property_stay_with_it():
    """A submission calls them; a generator goes on where it left off, children included."""
    cells = [
        "def f(g, rng, k):\n    return g(rng, k), rng.random(), rng.spawn(1)[0].random()",
        "def bad(g):\n    try: g()\n    except ZeroDivisionError: return 'caught'",
    ]
    ours, theirs = np.random.default_rng(3), np.random.default_rng(3)
    with Submission(cells, ["f", "bad"], 20.0) as one:
        f = one.function("f")
        for k in (1, 2):
            wanted = ours.normal(size=k), ours.random(), ours.spawn(1)[0].random()
            found = f(lambda rng, k: rng.normal(size=k), theirs, k)
            np.testing.assert_equal(found, wanted)
            assert ours.bit_generator.state == theirs.bit_generator.state
        assert one.function("bad")(lambda: 1 / 0) == "caught"


def test_an_error_comes_with_the_line_that_raised_it(tmp_path):
    path = submission(tmp_path, put("worst_event", "    half = 0\n    return p / half[0]"))
    table = grade(path, "foundations")
    said = table.message[table.exercise == "worst_event"]
    assert said.str.contains("hidden properties count once").tolist() == [False, True]
    said = said[:1]
    assert said.str.contains("it raised TypeError: 'int' object is not subscriptable").all()
    assert said.str.contains("(in: return p / half[0])", regex=False).all()
    (shown,) = table.shown[said.index]
    assert "it raised TypeError" in shown
    assert "_call" not in shown  # a line of the grader's is no help


def bare(notebook):
    for cell in notebook.cells:
        cell.metadata.clear()
    notebook.metadata.kernelspec = {"name": "unknown", "display_name": "?"}


DAMAGED = {
    "a syntax error": (syntax_error, "raised SyntaxError"),
    "a deleted cell": (deleted, "there is no function worst_event"),
    "an infinite loop": (put("worst_event", "    while True: pass"), "no answer within 2 seconds"),
    "an exit": (put("worst_event", "    import os; os._exit(3)"), "exit code 3"),
    "a greedy function": (put("worst_event", "    return [0] * 10**11"), "MemoryError"),
    "a patched grader": (patched, "event"),
    "a duplicated cell": (duplicated, ""),
    "edited tests": (edited_tests, ""),
    "no metadata": (bare, ""),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_submission_costs_only_what_is_damaged(tmp_path, damage):
    change, message = DAMAGED[damage]
    table = marks_of(submission(tmp_path, change), "foundations", seconds=2)
    here = table.exercise == "worst_event"
    assert (table.points[~here] == table.out_of[~here]).all()
    assert (table.points[here] == (0 if message else table.out_of[here])).all()
    if message:
        assert table.message[here].str.contains(message, regex=False).any()


@pytest.mark.slow
def test_who_ends_the_parent_process_costs_nobody_else(tmp_path):
    """The parent forks what grades everybody; it is started anew, and nothing is left running."""
    kill = "    import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)\n    "
    path = submission(tmp_path, put("worst_event", kill + "while True: pass"))
    table = marks_of(path, "foundations", seconds=2)
    here = table.exercise == "worst_event"
    assert (table.points == (table.out_of * ~here)).all()
    assert grade(PAGES / "foundations.ipynb", "foundations").points.sum() == table.out_of.sum()


@pytest.mark.slow
def test_a_script_without_a_guard_can_grade(tmp_path):
    """Starting a process runs the script of its parent anew, unless that is prevented."""
    script = tmp_path / "script.py"
    path = PAGES / "foundations.ipynb"
    script.write_text(
        f"import course\nprint(course.grade({str(path)!r}, 'foundations').points.sum())"
    )
    where = {**os.environ, "PYTHONPATH": str(PAGES.parent.parent)}
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, env=where)
    assert run.stdout == "28.0\n"


def graded_parts(folder, *cells, seconds=2):
    """Parts of privacy_profile and worst_event in a notebook of a few cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbformat.write(notebook, folder / "x.ipynb")
    table = grade(folder / "x.ipynb", "foundations", seconds=seconds)
    return table[table.exercise.isin(["privacy_profile", "worst_event"])]


FORGE = """\
import json, os, stat, struct
def forge(head):
    text = json.dumps([head, []]).encode()
    for place in range(3, 99):
        try:
            if stat.S_ISSOCK(os.fstat(place).st_mode):
                os.write(place, struct.pack(">Q", len(text)) + text)
        except OSError:
            pass
"""
FORGED = {
    "a cell that is not there": "forge(1000000)\nos._exit(1)",
    "a cell below 0": "forge(-5)\nos._exit(1)",
    "the same cell for ever": "while True: forge(1)",
    "a fault of no cell": "forge([{'worst_event': 1}, [[99, 'x']]])",
    "a function of no cell": "forge([{'worst_event': 77}, []])",
    "a name that nobody asked for": "forge([{'zzz': 0}, []])",
    "a call with nothing": "def worst_event(*given): forge([['call', 0, 5]])",
    "a change of nothing": "def worst_event(*given): forge([['value', 1], [[99, 1]], []])",
    "half a character": "def worst_event(*given): raise ValueError('\\ud800')",
}


@pytest.mark.parametrize("forged", FORGED)
def test_what_is_forged_on_the_line_stops_nothing(tmp_path, forged):
    """Five of them once ended the grader with an error, or kept it for ever."""
    table = graded_parts(tmp_path, FORGE, FORGED[forged])
    assert table.points.tolist() == [0, 0, 0, 0]
    table.message.str.encode("utf-8")


def test_a_notebook_may_end_its_process_so_often(tmp_path, monkeypatch):
    monkeypatch.setattr("course.submission.RESTARTS", 2)
    for often, earned in ((2, 4), (4, 0)):
        cells = ["import os; os._exit(1)"] * often + ["import numpy as np\nLIMIT = np.exp", WORST]
        assert graded_parts(tmp_path, *cells).points.sum() == earned


ESCAPES = """\
import os, time
PLACE = {!r}
if not os.fork():
    os.setsid()
    for _ in range(1000):  # not for ever, should the grader miss it
        if os.fork():
            os._exit(0)
        with open(PLACE, "a") as file:
            file.write("x")
        time.sleep(0.01)
    os._exit(0)
while not os.path.exists(PLACE):
    time.sleep(0.01)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process gets orphans")
def test_no_process_of_a_submission_outlives_its_marks(tmp_path):
    """One that left its group once wrote the marks after the grader had."""
    place = tmp_path / "written"
    graded_parts(tmp_path, ESCAPES.format(str(place)))
    before = place.stat().st_size
    time.sleep(0.3)
    assert place.stat().st_size == before


WORST = "def worst_event(p, q, epsilon):\n    return np.asarray(p) > LIMIT(epsilon) * np.asarray(q)"


@pytest.mark.parametrize(
    "constants",
    ["LIMIT = np.exp", "LIMIT = np.vectorize(np.exp)", "LIMIT = lambda x: np.exp(x)"],
)
def test_constants_of_a_notebook_are_kept(tmp_path, constants):
    table = graded_parts(tmp_path, "import numpy as np", constants, WORST)
    assert table.points.tolist() == [1, 3, 0, 0]


def test_a_function_may_be_a_lambda(tmp_path):
    code = "worst_event = lambda p, q, epsilon: np.asarray(p) > np.exp(epsilon) * np.asarray(q)"
    assert graded_parts(tmp_path, "import numpy as np", code).points.sum() == 4


TRUTH = """\
def truth_probability(epsilon):
    return {}
"""
SETUPS = "import numpy as np\nfrom scipy import special, stats"
RIGHT_WAYS = {
    "an alias": ["truth_probability = special.expit"],
    "an import": ["from scipy.special import expit as truth_probability"],
    "a pair of constants": [
        "HALF, ONE = 0.5, 1.0",
        TRUTH.format("HALF * (ONE + np.tanh(HALF * np.asarray(epsilon)))"),
    ],
    "an annotated constant": [
        "ONE: float = 1.0",
        TRUTH.format("ONE / (ONE + np.exp(-np.asarray(epsilon)))"),
    ],
    "a constant by a helper": [
        "def one():\n    return 1.0\n\n\nONE = one()",
        TRUTH.format("ONE / (ONE + np.exp(-np.asarray(epsilon)))"),
    ],
    "an import that may fail": [
        "try:\n    from scipy.special import expit\nexcept ImportError:\n    expit = None",
        TRUTH.format("expit(epsilon)"),
    ],
    "a question to Jupyter": [
        "np.exp?\n" + TRUTH.format("1 / (1 + np.exp(-np.asarray(epsilon)))"),
    ],
    "other lines for Jupyter": [
        "%matplotlib inline",
        "%%time\n!ls\nwhere = !pwd\n%timeit 1\n?np\nnp??\n"
        + TRUTH.format("1 / (1 + np.exp(-(np.asarray(epsilon)\n    % np.inf)))"),
    ],
    "a table that is filled": [
        "TABLE = {}\nfor k in range(2):\n    TABLE[k] = special.expit",
        TRUTH.format("TABLE[1](epsilon)"),
    ],
    "a list that grows": [
        "LIST = []\nfor _ in range(2):\n    LIST.append(special.expit)",
        TRUTH.format("LIST[1](epsilon)"),
    ],
    "a table that is updated": [
        "T = {}",
        "T.update(f=special.expit)",
        TRUTH.format("T['f'](epsilon)"),
    ],
    "a wrapped function": [
        TRUTH.format("1 / (1 + np.exp(-epsilon))"),
        "truth_probability = np.vectorize(truth_probability)",
    ],
    "a function in a branch": [
        "if hasattr(special, 'expit'):\n    "
        + TRUTH.format("special.expit(epsilon)").replace("\n", "\n    "),
    ],
    "a module with all its names": ["from scipy.special import *", TRUTH.format("expit(epsilon)")],
    "a call at the top of a cell": [
        "TABLE = {}\ndef fill(table):\n    table['f'] = special.expit",
        "fill(TABLE)",
        TRUTH.format("TABLE['f'](epsilon)"),
    ],
    "a module that a cell writes": [
        "%%writefile mine.py\nfrom scipy.special import expit",
        "import mine",
        TRUTH.format("mine.expit(epsilon)"),
    ],
    "another answer": [
        "from pdpbook.pages.exercises import check",
        TRUTH.format("special.expit(epsilon)"),
        "other = truth_probability(1.0)",
        TRUTH.format("other / other * special.expit(epsilon)"),
    ],
    "an object that can be called": [
        "class Truth:\n    def __call__(self, epsilon):\n        return special.expit(epsilon)",
        "truth_probability = Truth()",
    ],
    "a fraction, where one number is asked for": [
        "from fractions import Fraction",
        TRUTH.format(
            "special.expit(epsilon) if np.ndim(epsilon) else "
            "Fraction(float(special.expit(epsilon)))"
        ),
    ],
    "a table of pandas": [
        "import pandas as pd",
        TRUTH.format(
            "pd.Series(special.expit(epsilon)) if np.ndim(epsilon) == 1 else special.expit(epsilon)"
        ),
    ],
    "a cell that raises after it": [TRUTH.format("special.expit(epsilon)") + "\n1 / 0"],
    "a name that is used again": [
        TRUTH.format("special.expit(epsilon)"),
        "truth_probability = truth_probability(0.3)",
    ],
}


@pytest.mark.parametrize("way", RIGHT_WAYS)
def test_a_right_answer_has_full_marks_in_any_form(tmp_path, way):
    """In Jupyter each of them gives the function; the first seven once had no points."""
    cells = [nbformat.v4.new_code_cell(c) for c in (SETUPS, *RIGHT_WAYS[way])]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "x.ipynb")
    table = grade(tmp_path / "x.ipynb", "foundations")
    mine = table[table.exercise == "truth_probability"]
    assert mine.points.tolist() == [1, 3], mine.message.tolist()


def test_what_is_no_function_is_said(tmp_path):
    cells = [nbformat.v4.new_code_cell("truth_probability = 0.7")]
    nbformat.write(nbformat.v4.new_notebook(cells=cells), tmp_path / "x.ipynb")
    table = grade(tmp_path / "x.ipynb", "foundations")
    mine = table.message[table.exercise == "truth_probability"]
    assert (mine == "there is no function truth_probability").all()


LOOP = "def loop():\n    while True: pass\n"


@pytest.mark.parametrize(
    ("cell", "fault"),
    [
        ("while True: pass", "KeyboardInterrupt: it reached its limit"),
        (LOOP + "x = loop()", "KeyboardInterrupt: it reached its limit"),
        ("import time\ntime.sleep(60)", "KeyboardInterrupt: it reached its limit"),
        ("import time\nwhile True:\n    try: time.sleep(60)\n    except BaseException: pass",
         "no answer within 2 seconds"),
        ("import os; os._exit(3)", "its process ended without an answer, exit code 3"),
        ("import sys; sys.exit(5)", "SystemExit: 5"),
        ("exit()", ""),
        ("input()", "EOFError: EOF when reading a line"),
        ("1 / 0", "ZeroDivisionError: division by zero"),
    ],
)  # fmt: skip
def test_a_cell_that_hangs_ends_or_raises_costs_itself(tmp_path, monkeypatch, cell, fault):
    """What it had bound by then stays, as in Jupyter, unless it ended its process."""
    monkeypatch.setattr("course.submission.GRACE", 1.0)
    uses = "def privacy_profile(p, q, epsilon):\n    return Own"
    cells = ["import numpy as np\nLIMIT = np.exp", WORST, f"{cell}\nOwn = 3", uses]
    assert graded_parts(tmp_path, *cells).points.tolist() == [1, 3, 0, 0]
    with Submission(cells, ["worst_event"], 2.0) as one:
        assert one.found == {"worst_event": 1}
        assert [fault[:60] for fault in one.faults.values()] == ([fault] if fault else [])


def test_the_last_of_two_functions_counts(tmp_path):
    wrong = "def worst_event(p, q, epsilon): return p > q"
    for cells in ([WORST, wrong], [wrong, WORST]):
        table = graded_parts(tmp_path, "import numpy as np\nLIMIT = np.exp", *cells)
        assert bool(table.points.sum() == 4) is (cells[-1] is WORST)


def test_checks_in_a_notebook_are_not_run(tmp_path):
    """They would cost their time twice, and what they say is for students."""
    slow = "import time\ndef worst_event(p, q, epsilon): time.sleep(60)\n"
    call = (
        "from pdpbook.pages.exercises import check\ncheck('foundations/worst_event', worst_event)"
    )
    cells = ["import numpy as np\nLIMIT = np.exp", slow + call + "\n" + WORST]
    assert graded_parts(tmp_path, *cells).points.tolist() == [1, 3, 0, 0]


def test_an_expression_too_deep_costs_its_cell_alone(tmp_path):
    deep = "x = " + "+".join(["1"] * 5000)
    table = graded_parts(tmp_path, "import numpy as np\nLIMIT = np.exp", WORST, deep)
    assert table.points.sum() == 4


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "the file is not a Jupyter notebook"),
        ("{}", "the file is not a Jupyter notebook"),
        ('{"cells": []}', "it holds none of the functions of foundations"),
        (None, "the file cannot be read: No such file or directory"),
    ],
)
def test_what_is_no_submission_gets_a_message(tmp_path, content, message):
    path = tmp_path / "x.ipynb"
    if content is not None:
        path.write_text(content)
    table = marks_of(path, "foundations")
    assert table.points.sum() == 0
    assert table.message.str.startswith(message).all()


# --- what students see of it ---------------------------------------------------------------------


def told_of(folder, capsys, functions, *cells):
    """What `graded` says of functions of a notebook, line by line, and what the grader finds."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbformat.write(notebook, folder / "mine.ipynb")
    graded(folder / "mine.ipynb", *functions)
    with Submission(list(cells), functions, 20.0) as same:
        return capsys.readouterr().out.splitlines(), same


def test_what_will_be_graded_is_what_the_grader_finds(tmp_path, capsys):
    """The same run of the same file: names, cells, and what was raised."""
    code = {
        "truth_probability": "from scipy.special import expit as truth_probability",
        "worst_event": f"# mine\n{WORST}",
        "": "print('noise')\n1 / 0",
        "privacy_profile": "def privacy_profile(p, q, epsilon:\n    return p",
        "leave": "from pdpbook.pages.exercises import graded\ngraded('foundations.ipynb')",
    }
    names = ["privacy_profile", "worst_event", "truth_probability"]
    said, same = told_of(tmp_path, capsys, names, *code.values())
    assert said[0].startswith("mine.ipynb, as it was saved at ")
    assert said[1:4] == [
        "- privacy_profile: not found",
        "- worst_event: 'def worst_event(p, q, epsilon):'",
        "- truth_probability: " + repr(code["truth_probability"]),
    ]
    assert said[4] == "- the cell \"print('noise')\": ZeroDivisionError: division by zero"
    assert said[5].startswith("- the cell 'def privacy_profile(p, q, epsilon:': SyntaxError: ")
    assert len(said) == 6
    assert same.found == {"truth_probability": 0, "worst_event": 1}
    assert sorted(same.faults) == [2, 3]


def test_a_notebook_that_cannot_be_read_is_said(tmp_path, capsys, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    graded("nowhere.ipynb", "worst_event")
    assert "nowhere.ipynb: the file cannot be read" in capsys.readouterr().out
    (tmp_path / "no.ipynb").write_text("{}")
    graded(tmp_path / "no.ipynb", "worst_event")
    assert "no.ipynb: the file is not a Jupyter notebook; put the name" in capsys.readouterr().out


def test_the_notebook_that_jupyter_has_open_is_the_one_that_is_told(tmp_path, capsys, monkeypatch):
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell("f = len")])
    nbformat.write(notebook, tmp_path / "renamed.ipynb")
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "renamed.ipynb"))
    graded("handed-out.ipynb", "f")
    said = capsys.readouterr().out.splitlines()
    assert said[0].startswith("renamed.ipynb, as it was saved at ")
    assert said[1:] == ["- f: 'f = len'"]


@pytest.mark.parametrize("code", [0, 3])
def test_a_cell_that_ends_python_is_left_out_by_both(tmp_path, capsys, code):
    cells = [f"print(1)\nimport os; os._exit({code})", "f = len", f"import os; os._exit({code})"]
    said, same = told_of(tmp_path, capsys, ["f"], *cells)
    left_out = "it ended Python; the grader leaves it out, too"
    assert said[1:] == [
        "- f: 'f = len'",
        f"- the cell 'print(1)': {left_out}",
        f"- the cell {cells[2]!r}: {left_out}",
    ]
    assert same.found == {"f": 1}
    assert sorted(same.faults) == [0, 2]


@pytest.mark.parametrize(
    ("cells", "said"),
    [
        (["def f(x):\n    return 1", "#\n\ndef f(x):\n    return 2"],
         "'def f(x):'; 2 cells define it, and number 2 counts"),
        (["def f(x):\n    return 1", "1 / 0\ndef f(x):\n    return 2"],
         "'def f(x):'; 2 cells define it, and number 1 counts"),
        (["def f(x):\n    return 1", "def g(x):\n    return f(x)", "f(2)"], "'def f(x):'"),
        (["def f(x):\n    raise NotImplementedError()"],
         "'def f(x):'; it still raises NotImplementedError"),
        (["async def f(x):\n    return 1"],
         "'async def f(x):'; with async or yield it returns no value"),
        (["def f(x):\n    yield 1"], "'def f(x):'; with async or yield it returns no value"),
        (["class f:\n    pass"], "'class f:'; a class is no answer"),
        (["globals().update(f=len)"], "'globals().update(f=len)'"),
    ],
)  # fmt: skip
def test_what_is_odd_about_a_function_is_said(tmp_path, capsys, cells, said):
    lines, same = told_of(tmp_path, capsys, ["f"], *cells)
    assert lines[1] == f"- f: {said}"
    assert "f" in same.found


@pytest.mark.parametrize("line", ["%%bash", "%%sh", "%%script bash", "%%!", "%%sx", "!"])
def test_no_command_for_a_shell_is_run(tmp_path, capsys, line):
    place = tmp_path / "ran"
    cell = f"{line}\ntouch {place}" if line != "!" else f"!touch {place}"
    told_of(tmp_path, capsys, ["f"], cell, "f = len")
    assert not place.exists()


# --- the student version -------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_student_notebook_is_the_one_that_is_committed(name):
    committed = (PAGES / "release" / f"{name}.ipynb").read_text(encoding="utf-8")
    assert committed == release(name), "run python -m course sheets"


def test_no_student_notebook_is_stale():
    found = {path.stem for path in (PAGES / "release").iterdir()}
    assert found == set(ASSIGNMENTS)


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_student_notebook_gives_nothing_away(name):
    notebook = nbformat.reads(release(name), as_version=4)
    text = "\n".join(cell.source for cell in notebook.cells)
    for mark in (
        "SOLUTION",
        "HIDDEN TESTS",
        "import points",
        "model answer",
        ":::",
        "{doc}",
        "{prf",
    ):
        assert mark not in text, mark
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        assert set(cell.metadata) <= {"nbgrader", "deletable", "editable"}
    asked = text.rpartition("graded(")[2]
    assert re.findall(r'^    "(.+)",$', asked, re.M) == [
        f"{name}.ipynb",
        *assignment(name).exercises,
    ]
    assert "course" not in " ".join(c.source for c in notebook.cells if c.cell_type == "code")
    for exercise in assignment(name).exercises:
        assert f"def {exercise}(" in text
        assert f'check("{name}/{exercise}", {exercise})' in text


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_every_hint_says_that_it_opens(name):
    text = "\n".join(cell.source for cell in nbformat.reads(release(name), as_version=4).cells)
    hints = re.findall("<summary>(.*)</summary>", text)
    assert set(hints) == {"▸ Hint (click to open)"}
    assert len(hints) >= len(assignment(name).exercises)
    inside = re.findall("</summary>(.*?)</details>", text, re.S)
    assert not re.search(r"[`*$]", "".join(inside))  # within tags no Markdown is read
