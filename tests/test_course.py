"""The tools of a course: collecting, repairing, grading with nbgrader, packing for Gradescope.

The slow tests run nbgrader itself; they need its environment (`make instructor`).
"""

import json
import os
import re
import subprocess
import sys
import time
import tomllib
import zipfile

import nbformat
import pandas as pd
import pytest
from bs4 import BeautifulSoup
from nbformat import v4
from reading import ROOT, Refused

from course import assignment, settings
from course.__main__ import main
from course.autograder import autograder
from course.collect import collect, names_of
from course.coursework import INSTRUCTOR, NbGrader, report
from course.export import counted, worths
from course.handout import MARK, handout, key
from course.marking import rows
from course.preflight import Unusable, mend
from course.results import write_results
from course.sheets import PAGES, plain, released
from course.steps import preflight
from pdpbook.pages.exercises import ASSIGNMENTS

WRITTEN = [name for name in ASSIGNMENTS if (PAGES / f"{name}.ipynb").is_file()]
NAME = "foundations"
FUNCTIONS = list(assignment(NAME).exercises)
FULL = 4 * len(FUNCTIONS)


# --- submissions ---------------------------------------------------------------------------------


def solved():
    """What a student hands in who solved everything."""
    notebook = released(plain(NAME))
    answers = {cell.id: MARK.sub("", cell.source) for cell in plain(NAME).cells}
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("solution"):
            cell.source = answers[cell.id]
    return notebook


def cell_of(notebook, grade_id):
    return next(
        c for c in notebook.cells if c.metadata.get("nbgrader", {}).get("grade_id") == grade_id
    )


def put(notebook, function, body):
    """Give a function of a notebook another body."""
    cell = cell_of(notebook, function)
    cell.source = cell.source.partition("\n")[0] + "\n" + body


def half_the_exponent(notebook):
    put(notebook, "truth_probability", "    return 1 / (1 + np.exp(-np.asarray(epsilon) / 2))")


def two_wrong_functions(notebook):
    put(notebook, "squared_error_of_noise", "    return 2 * d / eta**2")
    put(notebook, "worst_event", "    return np.asarray(p) > np.asarray(q)")


def syntax_error(notebook):
    cell_of(notebook, "worst_event").source = "def worst_event(p, q, epsilon:\n    return p"


def infinite_loop(notebook):
    put(notebook, "worst_event", "    while True: pass")


def deleted(notebook):
    notebook.cells.remove(cell_of(notebook, "worst_event"))
    notebook.cells.remove(cell_of(notebook, "privacy_profile-hidden"))
    notebook.metadata["kernelspec"] = {"name": "conda-env-of-mine", "display_name": "Mine"}


def cheat(notebook):
    put(notebook, "worst_event", "    return p")
    for part in ("visible", "hidden"):
        cell = cell_of(notebook, f"worst_event-{part}")
        cell.source = "assert True"
        cell.metadata.nbgrader.points = 50


def duplicated(notebook):
    first = notebook.cells.index(cell_of(notebook, "worst_event"))
    for cell in (notebook.cells[first], notebook.cells[first + 1]):
        notebook.cells.append(nbformat.from_dict(cell))
    output = v4.new_output("stream", name="stdout", text="far too much " * 200_000)
    notebook.cells[first - 2].outputs = [output]


def stripped(notebook):
    notebook.metadata.clear()
    for k, cell in enumerate(notebook.cells):
        cell.metadata.clear()
        cell.id = f"new-{k}"


def patched(notebook):
    """What judged answers in a kernel, replaced; three points by nbgrader until it had no part."""
    code = "import pdpbook.pages.exercises.properties as p\np.Exercise.faults = lambda *a: []\n"
    code += "import course\ncourse.points = lambda *a: 3"
    notebook.cells.insert(0, v4.new_code_cell(code))
    put(notebook, "worst_event", "    return np.full((2, 2), 7)")


def kernel_ended(notebook):
    put(notebook, "worst_event", "    import os; os._exit(3)")


def other_forms(notebook):
    """Right answers that are not one function alone; most once had no points by the short way."""
    cell_of(
        notebook, "truth_probability"
    ).source = "from scipy import special\ntruth_probability = special.expit"
    put(notebook, "squared_error_of_noise", "    return d * (d + ONE) / eta**TWO")
    cell = cell_of(notebook, "squared_error_of_noise")
    cell.source = f"ONE, TWO = 1.0, 2.0\n{cell.source}"
    put(notebook, "worst_event", "    return p > exp(epsilon) * q")
    cell = cell_of(notebook, "worst_event")
    load = "try:\n    from numpy import exp\nexcept ImportError:\n    from math import exp"
    cell.source = f"np.exp?\n{load}\n\n\n{cell.source}"
    cell = cell_of(notebook, "privacy_profile")
    cell.source = "def zero():\n    return 0\n\n\nZERO = zero()\n\n\n" + cell.source.replace(
        ", 0)", ", ZERO)"
    )
    cell = cell_of(notebook, "epsilon_lower_bound")
    cell.source = "HALF: float = 0.5\n\n\n" + cell.source.replace("alarm / 2", "HALF * alarm")


def imported(notebook):
    cell = cell_of(notebook, "truth_probability")
    cell.source = "from scipy.special import expit as truth_probability"


TRUTH = "def truth_probability(epsilon):\n    return {}\n"
#: right answers, most of which once had no points on one road or another
REVIEW = {
    "cy": "from scipy import special\ntruth_probability = special.expit",
    "dan": "from scipy.special import expit as truth_probability",
    "fay": "HALF, ONE = 0.5, 1.0\n" + TRUTH.format("HALF * (ONE + np.tanh(epsilon * HALF))"),
    "gil": "ONE: float = 1.0\n" + TRUTH.format("ONE / (ONE + np.exp(-np.asarray(epsilon)))"),
    "hal": "def one():\n    return 1.0\nONE = one()\n"
    + TRUTH.format("ONE / (ONE + np.exp(-np.asarray(epsilon)))"),
    "ivy": "try:\n    from scipy.special import expit\nexcept ImportError:\n    expit = None\n"
    + TRUTH.format("expit(epsilon)"),
    "jon": "np.exp?\n" + TRUTH.format("1 / (1 + np.exp(-np.asarray(epsilon)))"),
    "kim": "T = {}\ndef fill(t):\n    t[1] = np.exp\nfill(T)\n"
    + TRUTH.format("1 / (1 + T[1](-np.asarray(epsilon)))"),
    "lea": "%%time\n" + TRUTH.format("1 / (1 + np.exp(-np.asarray(epsilon)))") + "1 / 0",
}
#: answers that lose points, with how many they keep of 4
PARTLY = {
    "max": (TRUTH.format("np.exp(epsilon) / (1 + np.exp(epsilon))"), 3.5),
    "noa": (TRUTH.format("1 / (1 + np.exp(-np.asarray(epsilon) / 2))"), 2),
    "ole": (TRUTH.format("[] + epsilon"), 0),
    "pia": ("", 0),
    "ray": (TRUTH.format("np.full(np.shape(epsilon), 0.75)"), 0.3),
}


def answering(code):
    """The solved notebook with other code in the place of truth_probability."""

    def change(notebook):
        cell_of(notebook, "truth_probability").source = code

    return change


def as_it_is(notebook):
    pass


def damaged(change):
    notebook = solved()
    change(notebook)
    return notebook


# --- the repairs ---------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def release():
    return released(plain(NAME))


def mended(change, release):
    """The cells of nbgrader in a repaired submission, what was said, and the whole."""
    notebook = json.dumps(damaged(change))
    repaired, notes = mend(notebook, release, NAME)
    cells = {c.metadata.nbgrader.grade_id: c for c in repaired.cells if "nbgrader" in c.metadata}
    return cells, notes, repaired


def answers(cells):
    return {name: cell.source for name, cell in cells.items() if cell.metadata.nbgrader.solution}


REFERENCE = {
    cell.metadata.nbgrader.grade_id: MARK.sub("", cell.source)
    for cell in plain(NAME).cells
    if cell.metadata.get("nbgrader", {}).get("solution")
}


def test_a_sound_submission_is_left_alone(release):
    cells, notes, repaired = mended(as_it_is, release)
    assert notes == []
    assert [c.source for c in repaired.cells] == [c.source for c in solved().cells]
    assert answers(cells) == REFERENCE


def same_id_twice(notebook):
    notebook.cells.append(nbformat.from_dict(cell_of(notebook, "worst_event")))


def stub_after_the_answer(notebook):
    stub = cell_of(released(plain(NAME)), "worst_event")
    notebook.cells.insert(notebook.cells.index(cell_of(notebook, "worst_event")) + 1, stub)


def other_ids(notebook):
    for k, cell in enumerate(notebook.cells):
        cell.id = f"new-{k}"


def roles_lost(notebook):
    for cell in notebook.cells:
        cell.metadata.pop("nbgrader", None)


def kinds_changed(notebook):
    cell_of(notebook, "worst_event").cell_type = "markdown"
    cell_of(notebook, "what_an_audit_says").cell_type = "raw"


def answers_in_one_cell(notebook):
    first = cell_of(notebook, "worst_event")
    second = cell_of(notebook, "privacy_profile")
    first.source += "\n\n\n" + second.source
    notebook.cells.remove(second)


def imports_deleted(notebook):
    notebook.cells = [c for c in notebook.cells if "import matplotlib" not in c.source]


def foreign_role(notebook):
    notebook.cells[2].metadata["nbgrader"] = {"grade_id": "homework-1", "grade": True}


REPAIRS = {
    same_id_twice: ["of copied cells the last one counts: worst_event"],
    stub_after_the_answer: ["of copied cells the last one counts: worst_event"],
    duplicated: [
        "of copied cells the last one counts: worst_event, worst_event-visible",
        "3 million characters of output were dropped",
    ],
    other_ids: [],
    roles_lost: [f"metadata were put back: {', '.join(roles)}" for roles in [
        [c.metadata.nbgrader.grade_id for c in plain(NAME).cells if "nbgrader" in c.metadata]
    ]],
    kinds_changed: ["cells got their kind back: worst_event, what_an_audit_says"],
    answers_in_one_cell: [],
    imports_deleted: ["the cell of imports was put back"],
    foreign_role: ["cells that are not of this assignment lost their role: homework-1"],
    cheat: ["edited tests were put back: worst_event-visible, worst_event-hidden"],
    deleted: [
        "deleted cells were put back: worst_event, privacy_profile-hidden",
        "the kernel was conda-env-of-mine, now python3",
    ],
}  # fmt: skip


@pytest.mark.parametrize("change", REPAIRS, ids=lambda change: change.__name__)
def test_a_repair_is_reported_and_puts_back_every_test(release, change):
    cells, notes, repaired = mended(change, release)
    assert notes == REPAIRS[change]
    assert len({cell.id for cell in repaired.cells}) == len(repaired.cells)
    for given in release.cells:
        role = given.metadata.get("nbgrader", {})
        if role.get("locked"):
            assert cells[role.grade_id].source == given.source
            assert cells[role.grade_id].metadata == given.metadata
    if change not in (cheat, deleted, answers_in_one_cell):
        assert answers(cells) == answers(mended(as_it_is, release)[0])


@pytest.mark.parametrize("change", REPAIRS, ids=lambda change: change.__name__)
def test_a_repaired_notebook_needs_no_repair(release, change):
    _, _, repaired = mended(change, release)
    again, notes = mend(json.dumps(repaired), release, NAME)
    assert notes == []
    assert [(c.id, c.source) for c in again.cells] == [(c.id, c.source) for c in repaired.cells]


def test_tests_stand_after_what_they_test(release):
    for change in (stripped, deleted, answers_in_one_cell, cheat):
        _, _, repaired = mended(change, release)
        place = {c.metadata.get("nbgrader", {}).get("grade_id"): k
                 for k, c in enumerate(repaired.cells)}  # fmt: skip
        for function in FUNCTIONS:
            written = [k for k, c in enumerate(repaired.cells) if f"def {function}(" in c.source]
            assert max(written) < place[f"{function}-visible"] < place[f"{function}-hidden"]


def test_a_bare_notebook_is_recognized_by_its_functions(release):
    cells, notes, _ = mended(stripped, release)
    assert answers(cells) == answers(mended(as_it_is, release)[0])
    assert [line.partition(":")[0] for line in notes] == [
        "metadata were put back",
        "deleted cells were put back",
        "the kernel was not named, now python3",
    ]


@pytest.mark.parametrize(
    ("content", "words"),
    [
        ("", "it is not a Jupyter notebook"),
        ("%PDF-1.4", "it is not a Jupyter notebook"),
        ("[]", "it is not a Jupyter notebook"),
        ('{"cells": [{}]}', "it is not a Jupyter notebook"),
        ('{"cells": [{"cell_type": "code", "source": 3}]}', "it is not a Jupyter notebook"),
        ("[" * 100_000, "it is not a Jupyter notebook"),
        ('{"cells": []}', "it holds no cell and no function of foundations"),
        ('{"cells": [{"cell_type": "code", "source": "1"}]}', "it holds no cell and no function"),
    ],
)
def test_what_is_no_submission_is_set_aside(release, content, words):
    with pytest.raises(Unusable, match=words):
        mend(content, release, NAME)


# --- who handed in what --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("path", "pattern", "names"),
    [
        ("doejane_123_456_foundations.ipynb", "canvas", ("123", "foundations.ipynb")),
        ("doejane_LATE_123_456_My_work.ipynb", "canvas", ("123", "My_work.ipynb")),
        ("batch/doejane_123_456_foundations-1.ipynb", "canvas", ("123", "foundations-1.ipynb")),
        ("Jane Doe_77_assignsubmission_file_/a.ipynb", "moodle", ("77", "a.ipynb")),
        ("Jane Doe_77_assignsubmission_file_a.ipynb", "moodle", ("77", "a.ipynb")),
        ("jane/foundations.ipynb", "plain", ("jane", "foundations.ipynb")),
        ("jane/foundations/my work.ipynb", "plain", ("jane", "my work.ipynb")),
        ("jane.doe@uni.edu.ipynb", "plain", ("jane.doe@uni.edu", "jane.doe@uni.edu.ipynb")),
        ("Jané Doe+1/a.ipynb", "plain", ("Jané_Doe_1", "a.ipynb")),
        ("hw-jane-1.ipynb", r"hw-(?P<student>\w+)-\d", ("jane", "hw-jane-1.ipynb")),
        ("foundations.ipynb", "canvas", ("", "")),
    ],
)
def test_students_are_read_from_file_names(path, pattern, names):
    assert names_of(path, pattern) == names


def test_a_zip_is_sorted_by_student_and_the_newest_notebook_counts(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for name, year in (("ann/a.ipynb", 2024), ("ann/b.ipynb", 2023), ("ben/essay.pdf", 2024)):
            archive.writestr(zipfile.ZipInfo(name, (year, 1, 1, 0, 0, 0)), name)
        archive.writestr("__MACOSX/ann/._a.ipynb", "")
        archive.writestr("readme", "")
    remarks = collect(tmp_path / "all.zip", tmp_path / "out", "plain")
    files = {p.relative_to(tmp_path / "out").as_posix() for p in (tmp_path / "out").rglob("*.*")}
    assert files == {"ann/a.ipynb", "ben/essay.pdf"}
    assert remarks == {
        "": ["readme: the pattern finds no student in this name"],
        "ann": ["other files were left out: b.ipynb"],
        "ben": [],
    }


def test_a_folder_is_collected_like_a_zip(tmp_path):
    (tmp_path / "in" / "ann").mkdir(parents=True)
    (tmp_path / "in" / "ann" / "x.ipynb").write_text("{}")
    assert collect(tmp_path / "in", tmp_path / "out", "plain") == {"ann": []}
    assert (tmp_path / "out" / "ann" / "x.ipynb").read_text() == "{}"


@pytest.mark.parametrize(
    ("pattern", "words"),
    [
        ("canvas", "no submissions in"),
        (r"(\d+)", "the pattern needs a group"),
        (r"(?P<student>", "is no regular expression"),
    ],
)
def test_patterns_that_cannot_work_are_refused(tmp_path, pattern, words):
    (tmp_path / "x.ipynb").write_text("")
    with pytest.raises(Refused, match=words):
        collect(tmp_path, tmp_path / "out", pattern)


def test_what_is_neither_folder_nor_zip_is_refused(tmp_path):
    (tmp_path / "x.rar").write_text("")
    with pytest.raises(Refused, match="neither a folder nor a zip"):
        collect(tmp_path / "x.rar", tmp_path / "out", "plain")


# --- marks, documents, commands ------------------------------------------------------------------


@pytest.mark.parametrize("name", WRITTEN)
def test_the_handout_has_every_question_and_no_answer(name):
    text = handout(released(plain(name)))
    for cell in plain(name).cells:
        role = cell.metadata.get("nbgrader", {})
        if role.get("solution") and cell.cell_type == "markdown":
            assert cell.source.split("\n")[1] not in text
        elif role.get("solution"):
            solution = cell.source.split("### BEGIN SOLUTION\n")[1]
            assert solution.split("### END SOLUTION")[0] not in text
            assert cell.source.split("\n")[0] in text
    assert "check(" not in text
    assert "click" not in text


@pytest.mark.parametrize("name", WRITTEN)
def test_the_key_has_every_answer_and_every_property(name):
    text = key(plain(name), name)
    for exercise in assignment(name).exercises.values():
        assert f"({exercise.name})" in text
        for one in exercise.visible + exercise.hidden:
            assert one.sentence in text
    assert "SOLUTION" not in text
    assert ":::" not in text
    assert "ubric" in text


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["grade", "FOLDER", NAME, "."], "is no course; make it with: create"),
        (["create", "FOLDER", "--seed", "-1"], "seed must be at least 0"),
        (["create", "FOLDER", "foundation"], "there is no assignment 'foundation'"),
        (["gradescope", "FOLDER", "foundation", "x.zip"], "there is no assignment 'foundation'"),
        (["gradescope", "FOLDER", NAME, "x.zip"], "is no course; make it with: create"),
        (["create", "FOLDER", NAME], "without --nbgrader a course has all assignments"),
        (["handout", "FOLDER", "foundations-9"], "is no course; make it with: create"),
    ],
)
def test_wrong_commands_are_refused_in_a_line(tmp_path, capsys, words, message):
    words = [str(tmp_path) if word == "FOLDER" else word for word in words]
    assert main(words) == 1
    assert message in capsys.readouterr().err


def test_gradescope_gets_no_sheet(tmp_path, capsys):
    settings.create(tmp_path, 0)
    assert main(["gradescope", str(tmp_path), "foundations-1", str(tmp_path / "x.zip")]) == 1
    assert "Gradescope gets whole assignments" in capsys.readouterr().err


STAND_IN = """\
import json, sys, time
for line in sys.stdin:
    student = json.loads(line)["student"]
    if student == "hangs":
        time.sleep(60)
    if student == "dies":
        sys.exit(3)
    log = "ERROR\\nValueError: cell 3\\nNbGraderException: see above" if student == "fails" else ""
    print(json.dumps({"problem": log}), flush=True)
"""


@pytest.mark.slow
def test_nbgrader_is_started_anew_after_it_hung_or_died(tmp_path, monkeypatch):
    (tmp_path / "stand_in.py").write_text(STAND_IN)
    (tmp_path / "nbgrader").touch()
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path / "stand_in.py"}"\n')
    python.chmod(0o755)
    monkeypatch.setattr("course.coursework.INSTRUCTOR", tmp_path)
    with NbGrader(tmp_path, minutes=0.1) as nbgrader:
        students = ("ann", "hangs", "ben", "dies", "cem", "fails", "dan")
        said = {s: nbgrader.ask("autograde", NAME, s)["problem"] for s in students}
    assert said == {
        "ann": "",
        "hangs": "nbgrader had not finished after 0.1 minutes",
        "ben": "",
        "dies": "nbgrader ended without an answer, exit code 3",
        "cem": "",
        "fails": "ValueError: cell 3",
        "dan": "",
    }


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere no process gets orphans")
def test_what_nbgrader_leaves_behind_is_ended(tmp_path, monkeypatch):
    """A process that left its group while nbgrader was ended by it."""
    place = tmp_path / "written"
    code = f"""\
import os, sys, time
sys.stdin.readline()
if not os.fork():
    os.setsid()
    for _ in range(1000):  # not for ever, should it be missed
        open({str(place)!r}, "a").write("x")
        time.sleep(0.01)
    os._exit(0)
while not os.path.exists({str(place)!r}):
    time.sleep(0.01)
os._exit(9)
"""
    (tmp_path / "nbgrader").touch()
    (tmp_path / "leaves.py").write_text(code)
    python = tmp_path / "python"
    python.write_text(f'#!/bin/sh\nexec "{sys.executable}" "{tmp_path / "leaves.py"}" 2>&1\n')
    python.chmod(0o755)
    monkeypatch.setattr("course.coursework.INSTRUCTOR", tmp_path)
    with NbGrader(tmp_path, minutes=0.05) as nbgrader:
        nbgrader.ask("autograde", NAME, "ann")
        before = place.stat().st_size
        time.sleep(0.3)
        assert place.stat().st_size == before


def test_without_nbgrader_the_way_to_get_it_is_said(tmp_path, monkeypatch):
    monkeypatch.setattr("course.coursework.INSTRUCTOR", tmp_path)
    with NbGrader(tmp_path) as nbgrader:
        with pytest.raises(Refused, match="run `make instructor` first"):
            nbgrader.ask("autograde", NAME, "ann")


@pytest.fixture
def bare_course(tmp_path):
    """The folder of a course, as far as it can be made without nbgrader."""
    settings.create(tmp_path, 0)
    (tmp_path / "nbgrader_config.py").write_text("c = get_config()")
    (tmp_path / "release" / NAME).mkdir(parents=True)
    nbformat.write(released(plain(NAME)), tmp_path / "release" / NAME / f"{NAME}.ipynb")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["grade", "IN"], "no submission of foundations can be graded"),
        (["grade", "IN", "--minutes", "nan"], "minutes must be finite and above 0"),
        (["grade", "nowhere"], "nowhere is neither a folder nor a zip"),
        (["create", "--nbgrader", "--seconds", "0"], "seconds must be above 0"),
    ],
)
def test_what_nbgrader_cannot_do_is_refused(bare_course, capsys, words, message):
    handed_in = bare_course / "in"
    (handed_in / "ann").mkdir(parents=True)
    (handed_in / "ann" / "essay.pdf").write_text("%PDF")
    step, *more = [str(handed_in) if word == "IN" else word for word in words]
    assert main([step, str(bare_course), NAME, *more]) == 1
    assert message in capsys.readouterr().err


def test_preflight_keeps_originals_and_forgets_what_is_replaced(bare_course):
    handed_in = bare_course.parent / "in"
    for content, exists in ((json.dumps(damaged(duplicated)), True), ("%PDF", False)):
        (handed_in / "ann").mkdir(parents=True, exist_ok=True)
        (handed_in / "ann" / "mine.ipynb").write_text(content)
        report(bare_course, NAME, "collect", collect(
            handed_in, bare_course / "collected" / NAME, "plain"))  # fmt: skip
        preflight(bare_course, NAME)
        original = bare_course / "collected" / NAME / "ann" / "mine.ipynb"
        assert original.read_text() == content
        submitted = bare_course / "submitted" / "ann" / NAME / f"{NAME}.ipynb"
        assert submitted.is_file() is exists
    said = pd.read_csv(bare_course / "reports" / f"{NAME}.csv").remark.tolist()
    assert said == [f"set aside, it is not a Jupyter notebook: collected/{NAME}/ann/mine.ipynb"]


def test_half_a_character_stops_no_preflight(bare_course):
    """Nor does it stop those who come after; it once could not be written."""
    for student, words in (("ann", "\ud800"), ("ben", "whole")):
        notebook = json.loads(json.dumps(damaged(duplicated)))
        notebook["cells"][0]["source"] = words
        place = bare_course / "collected" / NAME / student / "x.ipynb"
        place.parent.mkdir(parents=True)
        place.write_text(json.dumps(notebook))
    preflight(bare_course, NAME)
    for student in ("ann", "ben"):
        assert (bare_course / "submitted" / student / NAME / f"{NAME}.ipynb").is_file()


# --- nbgrader itself -----------------------------------------------------------------------------

needs_nbgrader = pytest.mark.skipif(
    not (INSTRUCTOR / "nbgrader").is_file(), reason="nbgrader is not here: make instructor"
)
HANDED_IN = {
    "100": as_it_is,
    "101": half_the_exponent,
    "102": two_wrong_functions,
    "103": syntax_error,
    "104": infinite_loop,
    "105": deleted,
    "106": cheat,
    "107": duplicated,
    "108": stripped,
    "109": patched,
    "112": kernel_ended,
    "113": other_forms,
    "114": imported,
}
HANDED_IN |= {str(k): answering(code) for k, code in enumerate(REVIEW.values(), 200)}
HANDED_IN |= {str(k): answering(code) for k, (code, _) in enumerate(PARTLY.values(), 300)}
LOST = {"113": 0, "114": 0, "100": 0, "103": 4, "104": 4, "105": 4, "106": 4, "107": 0, "108": 0}
LOST |= {"109": 4, "112": 4} | {str(k): 0 for k, _ in enumerate(REVIEW, 200)}
LOST |= {str(k): 4 - kept for k, (_, kept) in enumerate(PARTLY.values(), 300)}


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """A course after one command, with submissions as Canvas names them."""
    folder = tmp_path_factory.mktemp("course")
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for student, change in HANDED_IN.items():
            name = "My work (2).ipynb" if student == "103" else f"{NAME}.ipynb"
            text = json.dumps(damaged(change))
            archive.writestr(f"doejane_{student}_9{student}_{name}", text)
        archive.writestr("doejohn_110_9110_x.ipynb", json.dumps(released(plain(NAME))))
        archive.writestr("doejohn_111_9111_essay.pdf", b"%PDF-1.4 \xff")
    options = ["--nbgrader", "--seed", "5", "--seconds", "20"]
    assert main(["create", str(folder / "c"), *WRITTEN, *options]) == 0
    words = ["grade", str(folder / "c"), NAME, str(folder / "all.zip"), "--from", "canvas"]
    assert main(words) == 0
    return folder / "c"


@pytest.fixture(scope="module")
def totals(graded):
    table = pd.read_csv(graded / "marks" / f"{NAME}.csv", dtype={"student": str})
    return table.set_index("student")


@pytest.mark.slow
@needs_nbgrader
def test_every_submission_has_the_marks_it_deserves(totals):
    for student, lost in LOST.items():
        assert totals.score[student] == pytest.approx(FULL - lost), student
        assert totals.max_score[student] == FULL + totals.by_hand[student]
    assert totals.score["110"] == 0
    assert (totals.by_hand.dropna() == 4).all()  # untouched in 110: nobody has seen it
    law = "-1.8: the promise: it is the mean squared length of the noise"
    assert totals.feedback["102"].count(law) == 1
    assert pd.isna(totals.score["111"])
    assert totals.remarks["111"].startswith("set aside, it is not a Jupyter notebook")


@pytest.mark.slow
@needs_nbgrader
def test_the_same_notebook_has_the_same_marks_on_all_roads(graded, scope, tmp_path):
    """Without nbgrader, with it and on Gradescope, property by property."""
    folder, short, keys = graded / "collected" / NAME, tmp_path / "short", ["exercise", "part"]
    assert main(["create", str(short), "--seed", "5"]) == 0
    assert main(["grade", str(short), NAME, str(folder)]) == 0
    tables = [
        pd.read_csv(course / "marks" / f"{NAME}-details.csv", dtype={"student": str}).fillna("")
        for course in (short, graded)
    ]
    files = {s: file for s in HANDED_IN for (file,) in [[*(folder / s).glob("*.ipynb")]]}
    by_gradescope = results(scope, files)
    for student in HANDED_IN:
        ours, theirs = (one[one.student == student].set_index(keys) for one in tables)
        by_hand = theirs.xs("by hand", level="part")
        assert by_hand.waiting.all()
        assert by_hand.out_of.sum() == 4
        theirs = theirs.loc[ours.index]
        assert (theirs.points == ours.points).all(), student
        assert (theirs.out_of == ours.out_of).all()
        assert (theirs.message == ours.message).all(), student
        expected = {", ".join(key): points for key, points in ours.points.items()}
        expected |= {f"{question}, by hand": 0 for question in by_hand.index}
        assert by_gradescope[student] == expected
    totals = pd.read_csv(short / "marks" / f"{NAME}.csv", dtype={"student": str})
    assert (totals.by_hand.dropna() == 4).all()
    assert (totals.max_score == FULL + 4).all()


@pytest.mark.slow
@needs_nbgrader
def test_feedback_gives_nothing_away(graded, totals):
    """Neither reference functions, nor model answers, nor how hidden properties are tested."""
    pages = {
        path.parent.parent.name: path.read_text(encoding="utf-8")
        for path in (graded / "feedback").rglob("*.html")
    }
    assert set(pages) == {*HANDED_IN, "110"}
    files = (ROOT / "course" / "hidden" / NAME).glob("*.py")
    source = "\n".join(path.read_text(encoding="utf-8") for path in files)
    bodies = {line.strip() for line in source.split("\n") if "rng" in line or "return" in line}
    secrets = {line for line in bodies if len(line) > 25 and "def " not in line}
    assert len(secrets) > 20
    reference = "\n".join(REFERENCE.values())
    secret_answers = {line.strip() for line in reference.split("\n") if len(line.strip()) > 25}
    for student, page in pages.items():
        text = plain_text(page)
        assert not {line for line in secrets if line in text}, student
    empty = plain_text(pages["110"])
    stubs = "\n".join(cell.source for cell in released(plain(NAME)).cells)
    assert not {line for line in secret_answers if line not in stubs and line in empty}
    law = "-1.8: the promise: it is the mean squared length of the noise"
    assert law in plain_text(pages["102"])


def plain_text(page):
    return BeautifulSoup(page, "html.parser").get_text()


@pytest.mark.slow
@needs_nbgrader
@pytest.mark.parametrize("name", WRITTEN)
def test_our_release_is_the_one_of_nbgrader(graded, name):
    """Cell by cell: kind, text, id, and metadata but for the checksums that nbgrader adds."""
    theirs = nbformat.read(graded / "release" / name / f"{name}.ipynb", as_version=4)
    ours = released(plain(name))
    for cell in theirs.cells:
        for added in ("checksum", "cell_type"):
            cell.metadata.get("nbgrader", {}).pop(added, None)
    assert theirs.metadata == ours.metadata
    assert theirs.cells == ours.cells


@pytest.mark.slow
@needs_nbgrader
def test_a_second_run_grades_what_is_new_alone(graded, capsys, totals):
    def when():
        return {p: p.stat().st_mtime_ns for p in (graded / "autograded").rglob("*.ipynb")}

    before = when()
    late = graded.parent / "late"
    (late / "110").mkdir(parents=True)
    nbformat.write(damaged(half_the_exponent), late / "110" / "better.ipynb")
    assert main(["grade", str(graded), NAME, str(late)]) == 0
    after = when()
    changed = {path.parent.parent.name for path in after if before.get(path) != after[path]}
    assert changed == {"110"}
    table = pd.read_csv(graded / "marks" / f"{NAME}.csv", dtype={"student": str})
    table = table.set_index("student")
    assert table.score["110"] == FULL - 2
    assert table.remarks["110"] == "the file was called better.ipynb"
    assert table.remarks.drop("110").equals(totals.remarks.drop("110"))


# --- Gradescope ----------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def scope(tmp_path_factory):
    """Gradescope's folder, set up by the zip's own script."""
    root = tmp_path_factory.mktemp("autograder")
    autograder(NAME, root / "x.zip", seed=5, worth=worths(settings.Course(), NAME))
    with zipfile.ZipFile(root / "x.zip") as archive:
        archive.extractall(root / "source")
    subprocess.run(["bash", root / "source" / "setup.sh"], check=True)
    runner = root / "run_autograder"
    runner.write_bytes((root / "source" / "run_autograder").read_bytes())
    runner.chmod(0o755)
    (root / "submission").mkdir()
    return root


def run(root, script, *words):
    environment = {k: v for k, v in os.environ.items() if k != "PDPBOOK_EXERCISE_SEED"}
    subprocess.run([root / script, *words], check=True, env=environment, cwd="/")


def points(root):
    found = json.loads((root / "results" / "results.json").read_text())
    return {test["name"]: test["score"] for test in found["tests"]}


EACH = """import sys
from pathlib import Path
from course.results import write_results
for root in sys.argv[2:]:
    write_results(Path(root), sys.argv[1])
"""


def results(root, files):
    """Points by part, as Gradescope gets them, of the notebook of each student.

    One is graded by the script of the zip; the others by what it runs, in one process for all.
    """
    (root / "submission" / "any name.ipynb").write_bytes(files["100"].read_bytes())
    run(root, "run_autograder")
    found, roots = {"100": points(root)}, []
    for student in files.keys() - found.keys():
        roots.append(root / "others" / student)
        (roots[-1] / "submission").mkdir(parents=True)
        (roots[-1] / "submission" / "any name.ipynb").write_bytes(files[student].read_bytes())
        (roots[-1] / "source").symlink_to(root / "source")
    script, one = (root / "run_autograder").read_text(), f'-m course results {NAME} --root "$PWD"'
    assert one in script
    (root / "run_each").write_text(script.replace(one, '-c "$@"'))
    (root / "run_each").chmod(0o755)
    run(root, "run_each", EACH, NAME, *roots)
    return found | {other.name: points(other) for other in roots}


def test_an_editable_install_finds_the_course():
    """Solved exercises and nbgrader need it; setuptools puts the checkout on the path for this."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    settings = settings["tool"]["setuptools"]
    assert settings["package-dir"] == {"": "."}
    assert settings["packages"]["find"]["include"] == ["pdpbook*"]


def test_the_zip_for_gradescope_holds_all_it_needs(tmp_path, monkeypatch):
    wheel = tmp_path / "pdpbook-0-py3-none-any.whl"
    wheel.write_bytes(b"")
    monkeypatch.setattr("course.autograder._wheel", lambda folder: wheel)
    autograder(NAME, tmp_path / "x.zip", seed=7, worth={"worst_event": 7.5})
    with zipfile.ZipFile(tmp_path / "x.zip") as archive:
        entries = {entry.filename: entry for entry in archive.infolist()}
        runner = archive.read("run_autograder").decode()
        constraints = archive.read("constraints.txt")
        assert json.loads(archive.read("points.json")) == {"worst_event": 7.5}
    ours = {path.relative_to(ROOT).as_posix() for path in (ROOT / "course").rglob("*.py")}
    assert {"course/grading.py", f"course/hidden/{NAME}/noise.py"} < ours
    assert set(entries) == {
        *(wheel.name, "constraints.txt", "points.json", "setup.sh", "run_autograder"),
        *ours,
    }
    for script in ("setup.sh", "run_autograder"):
        assert entries[script].external_attr >> 16 & 0o111
    assert "PDPBOOK_EXERCISE_SEED=7" in runner
    assert f"-m course results {NAME} " in runner
    assert constraints == (ROOT / "requirements.txt").read_bytes()


def test_gradescope_counts_as_the_course_does(tmp_path):
    """It once gave each exercise the points of the book."""
    given = "seed = 0\n[points]\nworst_event = 7.5\nwhat_an_audit_says = 2\n"
    settings.create(tmp_path / "c", 0)
    (tmp_path / "c" / "course.toml").write_text(given)
    notebook = solved()
    two_wrong_functions(notebook)
    for place in (tmp_path / "in" / "ann", tmp_path / "submission"):
        place.mkdir(parents=True)
        nbformat.write(notebook, place / "x.ipynb")
    assert main(["grade", str(tmp_path / "c"), NAME, str(tmp_path / "in")]) == 0
    course = settings.load(tmp_path / "c")
    ours, worth = counted(course, NAME, rows(course, NAME)), worths(course, NAME)
    (tmp_path / "source").mkdir()
    (tmp_path / "source" / "points.json").write_text(json.dumps(worth))
    write_results(tmp_path, NAME)
    found = json.loads((tmp_path / "results" / "results.json").read_text())["tests"]
    tests = {one["name"]: one for one in found}
    assert sum(one["max_score"] for one in found) == pytest.approx(FULL + 3.5 + 2)
    for row in ours.itertuples():
        test = tests[f"{row.exercise}, {row.part}"]
        assert (test["score"], test["max_score"]) == pytest.approx((row.points, row.out_of))
        lost = [float(number) for number in re.findall(r"(?:^|; )-([\d.]+): ", row.message)]
        if row.part != "by hand":
            said = re.sub(r"\n    .*", "", test["output"]).replace("\n-", "; -")  # without calls
            assert said in (row.message, "all properties hold")
            assert sum(lost) == pytest.approx(row.out_of - row.points, rel=1e-4)


@pytest.mark.parametrize(("files", "words"), [(0, "there are 0"), (2, "there are 2")])
def test_gradescope_says_when_there_is_not_one_notebook(tmp_path, files, words):
    (tmp_path / "submission").mkdir()
    for k in range(files):
        (tmp_path / "submission" / f"{k}.ipynb").write_text("{}")
    write_results(tmp_path, NAME)
    found = json.loads((tmp_path / "results" / "results.json").read_text())
    assert list(found) == ["tests"]  # no score: nobody read anything
    assert words in found["tests"][0]["output"]
