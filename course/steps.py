"""The steps of a course with nbgrader: create, preflight, grade, feedback."""

from __future__ import annotations

import shutil
from pathlib import Path

import nbformat

from course.checkout import Refused, text
from course.coursework import NbGrader, handed_in, is_graded, path_of, progress, report
from course.cuts import source
from course.preflight import Unusable, mend
from course.settings import Course
from course.sheets import STUB

CONFIG = """\
# nbgrader's settings for this course; its documentation explains each name.
import os
import tomllib

with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "course.toml"), "rb") as given:
    seed = tomllib.load(given)["seed"]  # what the hidden properties draw
os.environ["PDPBOOK_EXERCISE_SEED"] = str(seed)
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

c = get_config()
c.CourseDirectory.root = os.path.dirname(os.path.abspath(__file__))
c.ClearSolutions.enforce_metadata = True
c.ClearSolutions.code_stub = {{"python": {stub!r}}}
# The book's grader gives each test cell its value, in the place of a kernel that runs all cells.
os.environ["PDPBOOK_EXERCISE_SECONDS"] = "{seconds}"  # limit for a cell, and for a property
c.Autograde.autograde_preprocessors = [
    "course.nbgrading.Marks",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
"""


def create(nbgrader: NbGrader, course: Course, names: list[str], seconds: int, fresh: bool) -> None:
    """Prepare the course for nbgrader, or add assignments and sheets to it, and release them."""
    if seconds <= 0:
        raise Refused(f"seconds must be above 0; got {seconds}")
    settings = course.folder / "nbgrader_config.py"
    if not settings.exists():
        stub = "\n".join(STUB)
        settings.write_text(CONFIG.format(seconds=seconds, stub=stub), encoding="utf-8")
    for name in progress(names, "create"):
        place = course.folder / "source" / name / f"{name}.ipynb"
        if fresh or not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text(source(name, course)), encoding="utf-8")
        if problem := nbgrader.ask("generate_assignment", name)["problem"]:
            raise Refused(f"nbgrader cannot release {name}: {problem}")


def preflight(folder: Path, name: str) -> None:
    """Repair what was collected into what nbgrader grades; the originals stay as they are."""
    release = folder / "release" / name / f"{name}.ipynb"
    if not release.is_file():
        raise Refused(f"{name} is not released in {folder}; run create --nbgrader first")
    released = nbformat.read(release, as_version=4)
    remarks = {}
    for student in progress(handed_in(folder, name), "preflight"):
        (original,) = (folder / "collected" / name / student).glob("[!.]*")
        place = path_of(folder, "submitted", student, name)
        try:
            notebook, done = mend(original.read_bytes().decode(errors="replace"), released, name)
        except Unusable as problem:
            shutil.rmtree(place.parent, ignore_errors=True)
            done = [f"set aside, {problem}: {original.relative_to(folder)}"]
        else:
            if original.name != place.name:
                done.insert(0, f"the file was called {original.name}")
            mended = text(notebook)
            if not place.is_file() or place.read_text(encoding="utf-8") != mended:
                place.parent.mkdir(parents=True, exist_ok=True)
                place.write_text(mended, encoding="utf-8")
        remarks[student] = done
    report(folder, name, "preflight", remarks)


def usable(folder: Path, name: str) -> list[str]:
    """Students whose submission can be graded."""
    found = [s for s in handed_in(folder, name) if path_of(folder, "submitted", s, name).is_file()]
    if not found:
        raise Refused(f"no submission of {name} can be graded")
    return found


def grade(nbgrader: NbGrader, course: Course, name: str, again: bool) -> None:
    """Grade what is new, or everything, one student at a time; a failure stops nobody else."""
    folder = course.folder
    todo = [s for s in usable(folder, name) if again or not is_graded(folder, s, name)]
    remarks: dict[str, list[str]] = {student: [] for student in todo}
    for student in progress(todo, "grade"):
        if problem := nbgrader.ask("autograde", name, student)["problem"]:
            place = path_of(folder, "autograded", student, name).parent
            shutil.rmtree(place, ignore_errors=True)
            remarks[student].append(f"not graded: {problem}")
    report(folder, name, "grade", remarks)


def feedback(nbgrader: NbGrader, folder: Path, name: str) -> None:
    """Write the page that each graded student may read."""
    todo = [s for s in usable(folder, name) if is_graded(folder, s, name)]
    remarks: dict[str, list[str]] = {student: [] for student in todo}
    for student in progress(todo, "feedback"):
        if problem := nbgrader.ask("generate_feedback", name, student)["problem"]:
            remarks[student].append(f"no feedback: {problem}")
    report(folder, name, "feedback", remarks)
