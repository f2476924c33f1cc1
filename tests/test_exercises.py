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

import cvxpy as cp
import nbformat
import numpy as np
import pytest
from right_answers import right_answers
from wrong_answers import wrong_answers

from course import assignment
from course.grading import _message, definitions, grade, needed
from course.sheets import PAGES, release
from course.worker import functions_of
from pdpbook.exercises import ASSIGNMENTS, check

EXERCISES = [(name, e) for name in ASSIGNMENTS for e in assignment(name).exercises.values()]
WRONG = [(name, w) for name in ASSIGNMENTS for w in wrong_answers(name)]
RIGHT = [(name, r) for name, answers in right_answers.items() for r in answers]


def named(value):
    return getattr(value, "name", None) or getattr(getattr(value, "answer", None), "__name__", None)


every_exercise = pytest.mark.parametrize(("name", "exercise"), EXERCISES, ids=named)


@functools.cache
def reference(name):
    statements, problem = definitions(PAGES / f"{name}.ipynb")
    space, failed = functions_of(needed(statements, assignment(name).exercises))
    assert not problem
    assert not failed
    return space


# --- answers -------------------------------------------------------------------------------------


@pytest.mark.parametrize("part", ["visible", "hidden"])
@every_exercise
def test_the_reference_has_every_property(name, exercise, part):
    assert exercise.faults(reference(name)[exercise.name], part, seed=0) == []


@pytest.mark.slow
@every_exercise
def test_the_reference_raises_no_false_alarm(name, exercise):
    """300 seeds for what chance has a part in, each wrong at most once in a million; 20 for all."""
    answer = reference(name)[exercise.name]
    for one in exercise.visible + exercise.hidden:
        for seed in range(1, 301 if one.draws else 21):
            assert one.fault(answer, seed) == "", f"{one.name}, seed {seed}"


@pytest.mark.parametrize(("name", "wrong"), WRONG, ids=named)
def test_a_wrong_answer_violates_its_property(name, wrong):
    hidden = {p.name: p for p in assignment(name).exercises[wrong.exercise].hidden}
    fault = hidden[wrong.violates].fault(wrong.answer, seed=0)
    assert fault
    assert "raised TypeError" not in fault, "a wrong answer must be plausible, not broken"


def constant(answer, kind):
    """An answer of the right shape that does not look at what it is given."""

    def same(found):
        if isinstance(found, tuple | list):
            return type(found)(same(part) for part in found)
        if isinstance(found, cp.Problem):
            return cp.Problem(
                cp.Minimize(float(np.sum(CONSTANTS[kind](np.zeros(1))))), found.constraints
            )
        found = np.asarray(found)
        with np.errstate(invalid="ignore"):
            return np.broadcast_to(CONSTANTS[kind](found), found.shape).astype(found.dtype)[()]

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


@pytest.mark.parametrize("kind", CONSTANTS)
@every_exercise
def test_a_constant_fails_what_students_can_see(name, exercise, kind):
    """Zeros once read as success: two properties held."""
    answer = constant(reference(name)[exercise.name], kind)
    for seed in range(3):
        assert exercise.faults(answer, "visible", seed)


@pytest.mark.parametrize(("name", "right"), RIGHT, ids=named)
def test_a_right_answer_of_another_kind_has_every_property(name, right):
    exercise = assignment(name).exercises[right.exercise]
    for part in ("visible", "hidden"):
        assert exercise.faults(right.answer, part, seed=0) == []


@pytest.mark.slow
@pytest.mark.parametrize(("name", "right"), RIGHT, ids=named)
def test_a_right_answer_of_another_kind_raises_no_false_alarm(name, right):
    exercise = assignment(name).exercises[right.exercise]
    for seed in range(1, 6):
        for part in ("visible", "hidden"):
            assert exercise.faults(right.answer, part, seed) == [], seed


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
        assert any(one.fault(answer, seed=0) for answer in wrong), f"{one.name} catches nothing"


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


def test_check_says_how_many_properties_hold(capsys):
    check("foundations/squared_error_of_noise", lambda d, eta: d * (d + 1) / eta**2)
    out = capsys.readouterr().out
    held = "foundations/squared_error_of_noise: 1 visible properties hold"
    assert out == f"{held}.\nThis does not mean that it is right: 3 more grade it.\n"
    check("foundations/squared_error_of_noise", lambda d, eta: d * (d + 1) / eta**2, hidden=True)
    out = capsys.readouterr().out
    assert out == "foundations/squared_error_of_noise: 3 hidden properties hold\n"


def test_check_names_the_property_and_not_the_answer():
    with pytest.raises(AssertionError, match="mean squared length") as caught:
        check("foundations/squared_error_of_noise", lambda d, eta: 2 * d / eta**2, hidden=True)
    assert "d + 1" not in str(caught.value)


def test_what_is_not_written_is_said_once():
    def stub(d, eta):
        raise NotImplementedError

    with pytest.raises(AssertionError, match=r"properties:\n- not written yet$"):
        check("foundations/squared_error_of_noise", stub, hidden=True)


def test_an_error_in_an_answer_is_reported():
    with pytest.raises(AssertionError, match="it raised ZeroDivisionError: division by zero"):
        check("foundations/squared_error_of_noise", lambda d, eta: d / 0)


def test_an_interrupt_does_not_show_how_it_is_tested():
    def interrupted(d, eta):
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt, match=r"; it was interrupted$") as caught:
        check("foundations/squared_error_of_noise", interrupted, hidden=True)
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


def test_without_a_checkout_hidden_properties_are_not_there():
    """In a process that finds the installed package alone; the visible ones are all it needs."""
    script = (
        "import sys, importlib.util as u\n"
        "find = u.find_spec\n"
        "u.find_spec = lambda name, *a: None if name == 'course' else find(name, *a)\n"
        "from pdpbook.exercises import check\n"
        "right = lambda d, eta: d * (d + 1) / eta**2\n"
        "check('foundations/squared_error_of_noise', right)\n"
        "assert not any(name.partition('.')[0] == 'course' for name in sys.modules)\n"
        "check('foundations/squared_error_of_noise', right, hidden=True)\n"
    )
    run = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=False
    )
    assert "1 visible properties hold" in run.stdout
    assert "3 more grade it" in run.stdout
    assert "hidden properties of foundations stand in `course`" in run.stderr


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


# --- the grader ----------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_solved_notebook_has_full_marks(name):
    table = grade(PAGES / f"{name}.ipynb", name)
    assert table.points.sum() == table.out_of.sum() == 4 * len(assignment(name).exercises)


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_the_student_notebook_has_none(name):
    table = grade(PAGES / "release" / f"{name}.ipynb", name)
    assert table.points.sum() == 0
    assert set(table.message) == {"not written yet"}


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
    code = "import pdpbook.exercises.properties as p\np.Exercise.faults = lambda *a: []"
    notebook.cells.insert(0, nbformat.v4.new_code_cell(code))
    put("worst_event", "    return p")(notebook)


SETUP = "import numpy as np\nimport pdpbook.exercises.properties as p"
WRONG_ERROR = """\
def squared_error_of_noise(d, eta):
    if d < 0:
        return np, f, x, Fine, Yes  # so that they are run
    return 2 * d / eta**2
"""
CHEATS = {
    "a method": "x = setattr(p.Exercise, 'faults', lambda *a: [])",
    "a method of a property": "x = setattr(p.Property, 'fault', lambda *a: '')",
    "a method, in a class": "class Fine:\n    p.Exercise.faults = lambda *a: []",
    "a method, in a default": "def f(x=setattr(p.Exercise, 'faults', lambda *a: [])): ...",
    "a list of properties": "x = p.assignment('foundations').exercises"
    "['squared_error_of_noise'].hidden.clear()",
    "a comparison": "x = setattr(np, 'isclose', lambda *a, **k: True)",
    "a comparison, by name": "np.isclose = lambda *a, **k: True",
    "a comparison, in a loop": "for x in [1]: np.isclose = lambda *a, **k: True",
    "a helper that is called": "def f(): p.Exercise.faults = lambda *a: []\nx = f()",
    "a word of Python": "import builtins\nYes = type('Yes', (), {'__new__': lambda *a: True})\n"
    "x = setattr(builtins, 'bool', Yes)",
    "a word of the properties": "import course.hidden.foundations.noise as f\n"
    "x = setattr(f, 'bool', lambda found: True)",
    "what sends": "import json, socket\ndef f(s, line): s.send(json.dumps([*json.loads(line)[:3], "
    "'']).encode() + b'\\n')\nx = setattr(socket.socket, 'sendall', f)",
    "the message": "import json\nx = setattr(json, 'dumps', lambda message: '\"\"')",
}


@pytest.mark.parametrize("cheat", CHEATS)
def test_a_definition_cannot_change_what_judges(tmp_path, cheat):
    """Each earned the three points until what judges was put back after the definitions."""
    notebook = nbformat.v4.new_notebook(
        cells=[nbformat.v4.new_code_cell(SETUP), nbformat.v4.new_code_cell(CHEATS[cheat])]
    )
    notebook.cells.append(nbformat.v4.new_code_cell(WRONG_ERROR))
    nbformat.write(notebook, tmp_path / "x.ipynb")
    run = needed(definitions(tmp_path / "x.ipynb")[0], ["squared_error_of_noise"])
    assert len(run) > 2, "the cheat is not even tried"
    table = grade(tmp_path / "x.ipynb", "foundations")
    mine = table[table.exercise == "squared_error_of_noise"]
    assert mine.points.tolist() == [1, 0]
    assert "the mean squared length of the noise" in mine.message.iloc[1]


FORGED = """\
def squared_error_of_noise(d, eta):
    import json, os
    for line in {lines}:
        for place in range(3, 40):
            try:
                os.write(place, line.encode() + b"\\n")
            except OSError:
                pass
    return 2 * d / eta**2
"""
FORGERIES = {
    "empty messages": "['\"\"'] * 3",
    "messages without the secret": "[json.dumps(['', 'squared_error_of_noise', part, '']) "
    "for part in ('visible', 'hidden')]",
    "noise": "['no json', '[' * 100_000, '[1, 2, 3, 4]', 'null']",
    "half a line": "['[\"']",
}


@pytest.mark.parametrize("forgery", FORGERIES)
def test_a_line_without_the_secret_gives_nothing(tmp_path, forgery):
    """Two lines of code earned full marks in the notebook while any line counted."""
    right = "def worst_event(p, q, epsilon): return p > np.exp(epsilon) * q"
    cells = [SETUP, FORGED.format(lines=FORGERIES[forgery]), right]
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbformat.write(notebook, tmp_path / "x.ipynb")
    table = grade(tmp_path / "x.ipynb", "foundations")
    mine = table[table.exercise == "squared_error_of_noise"]
    assert mine.points.tolist() == [0, 0]
    assert set(mine.message) == {"something else than the grader wrote its marks"}
    assert table[table.exercise == "worst_event"].points.tolist() == [1, 3]


@pytest.mark.parametrize("change", ["the secret", "the name", "the part"])
def test_marks_count_with_secret_name_and_part_alone(change):
    line = {"the secret": "s", "the name": "worst_event", "the part": "hidden", "message": ""}
    said = json.dumps([*line.values()]).encode()
    assert _message(said, "s", ("worst_event", "hidden")) == ""
    other = json.dumps([*(line | {change: "visible"}).values()]).encode()
    assert _message(other, "s", ("worst_event", "hidden")) is None


def bare(notebook):
    for cell in notebook.cells:
        cell.metadata.clear()
    notebook.metadata.kernelspec = {"name": "unknown", "display_name": "?"}


DAMAGED = {
    "a syntax error": (syntax_error, "there is no function worst_event"),
    "a deleted cell": (deleted, "there is no function worst_event"),
    "an infinite loop": (put("worst_event", "    while True: pass"), "no answer within 2 seconds"),
    "an exit": (put("worst_event", "    import os; os._exit(3)"), "exit code 3"),
    "a greedy function": (put("worst_event", "    return [0] * 10**11"), "MemoryError"),
    "a patched grader": (patched, "worst_event"),
    "a duplicated cell": (duplicated, ""),
    "edited tests": (edited_tests, ""),
    "no metadata": (bare, ""),
}


@pytest.mark.parametrize("damage", DAMAGED)
def test_a_damaged_submission_costs_only_what_is_damaged(tmp_path, damage):
    change, message = DAMAGED[damage]
    table = grade(submission(tmp_path, change), "foundations", seconds=2)
    here = table.exercise == "worst_event"
    assert (table.points[~here] == table.out_of[~here]).all()
    assert (table.points[here] == (0 if message else table.out_of[here])).all()
    if message and message != "worst_event":
        assert table.message[here].str.contains(message, regex=False).any()


def test_who_ends_the_parent_process_costs_nobody_else(tmp_path):
    """The parent forks what grades everybody; it is started anew, and nothing is left running."""
    kill = "    import os, signal\n    os.kill(os.getppid(), signal.SIGKILL)\n    "
    path = submission(tmp_path, put("worst_event", kill + "while True: pass"))
    table = grade(path, "foundations", seconds=2)
    here = table.exercise == "worst_event"
    assert (table.points == (table.out_of * ~here)).all()
    assert grade(PAGES / "foundations.ipynb", "foundations").points.sum() == table.out_of.sum()


def test_a_script_without_a_guard_can_grade(tmp_path):
    """Starting a process runs the script of its parent anew, unless that is prevented."""
    script = tmp_path / "script.py"
    path = PAGES / "foundations.ipynb"
    script.write_text(
        f"import course\nprint(course.grade({str(path)!r}, 'foundations').points.sum())"
    )
    where = {**os.environ, "PYTHONPATH": str(PAGES.parent.parent)}
    run = subprocess.run([sys.executable, script], capture_output=True, text=True, env=where)
    assert run.stdout == "28\n"


def graded(folder, *cells, seconds=2):
    """Parts of privacy_profile and worst_event in a notebook of a few cells."""
    notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(c) for c in cells])
    nbformat.write(notebook, folder / "x.ipynb")
    table = grade(folder / "x.ipynb", "foundations", seconds=seconds)
    return table[table.exercise.isin(["privacy_profile", "worst_event"])]


WORST = "def worst_event(p, q, epsilon):\n    return np.asarray(p) > LIMIT(epsilon) * np.asarray(q)"


@pytest.mark.parametrize(
    "constants",
    ["LIMIT = np.exp", "LIMIT = np.vectorize(np.exp)", "LIMIT = lambda x: np.exp(x)"],
)
def test_constants_of_a_notebook_are_kept(tmp_path, constants):
    table = graded(tmp_path, "import numpy as np", constants, WORST)
    assert table.points.tolist() == [0, 0, 1, 3]


def test_a_function_may_be_a_lambda(tmp_path):
    code = "worst_event = lambda p, q, epsilon: np.asarray(p) > np.exp(epsilon) * np.asarray(q)"
    assert graded(tmp_path, "import numpy as np", code).points.sum() == 4


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
    assert set(table.message[table.exercise == "truth_probability"]) == {"it is not a function"}


def test_what_calls_own_functions_is_not_run(tmp_path):
    loop = "def loop():\n    while True: pass\nx = loop()\ny = x + 1"
    table = graded(tmp_path, "import numpy as np\nLIMIT = np.exp", WORST, loop)
    assert table.points.tolist() == [0, 0, 1, 3]
    broken = WORST.replace(">", "<")
    table = graded(tmp_path, "import numpy as np\nLIMIT = np.exp", broken, loop)
    assert not table.message.str.contains("NameError|not defined").any()


@pytest.mark.parametrize(
    ("cell", "message"),
    [
        ("class Own:\n    while True: pass", "its definitions: no answer within"),
        ("class Own:\n    import os; os._exit(3)", "its definitions: its process ended"),
        ("def loop():\n    while True: pass\nOwn = loop()", "its definitions: no answer within"),
    ],
)
def test_a_cell_that_hangs_or_ends_outside_of_functions(tmp_path, monkeypatch, cell, message):
    """It costs the answers that use it; others have their points."""
    graded(tmp_path, "import numpy as np\nLIMIT = np.exp", WORST)  # the slow first start
    monkeypatch.setattr("course.grading.START", 3.0)
    uses = "def privacy_profile(p, q, epsilon):\n    return Own"
    table = graded(tmp_path, "import numpy as np\nLIMIT = np.exp", WORST, cell, uses)
    assert table.points.tolist() == [0, 0, 1, 3]
    assert table.message[table.exercise == "privacy_profile"].str.startswith(message).all()


def test_an_expression_too_deep_costs_its_cell_alone(tmp_path):
    deep = "x = " + "+".join(["1"] * 5000)
    table = graded(tmp_path, "import numpy as np\nLIMIT = np.exp", WORST, deep)
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
    table = grade(path, "foundations")
    assert table.points.sum() == 0
    assert table.message.str.startswith(message).all()


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
    for mark in ("SOLUTION", "HIDDEN TESTS", "hidden=True", "model answer", ":::", "{doc}", "{prf"):
        assert mark not in text, mark
    for cell in notebook.cells:
        assert not cell.get("outputs")
        assert cell.get("execution_count") is None
        assert set(cell.metadata) <= {"nbgrader", "deletable", "editable"}
    for exercise in assignment(name).exercises:
        assert f"def {exercise}(" in text
        assert f'check("{name}/{exercise}", {exercise})' in text


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_every_hint_says_that_it_opens(name):
    text = "\n".join(cell.source for cell in nbformat.reads(release(name), as_version=4).cells)
    hints = re.findall("<summary>(.*)</summary>", text)
    assert set(hints) == {"▸ Hint (click to open)"}
    assert len(hints) >= len(assignment(name).exercises)
