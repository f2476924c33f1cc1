"""Assign, collect and grade the exercises with nbgrader, in a course folder.

    python tools/course.py create FOLDER
    python tools/course.py all FOLDER ASSIGNMENT SUBMISSIONS --from canvas --for canvas

`all` is `collect`, `preflight`, `grade`, `feedback` and `export` in turn. nbgrader runs in an
environment and a process of its own (`make instructor`, `coursework.NbGrader`), one student at a
time: its dependencies stay out of the book's, and what one submission breaks costs nobody else.
It is not a sandbox: code of students runs with your rights.
"""

from __future__ import annotations

import argparse
import shutil
import sys
import zipfile
from collections.abc import Iterable
from pathlib import Path

import nbformat
from autograder import autograder
from collect import PATTERNS, collect
from coursework import NbGrader, handed_in, is_graded, path_of, report
from exercises import STUB, plain
from handout import handout, key
from marks import LAYOUTS, export, gradebook, second_opinion
from notebooks import text
from preflight import Unusable, mend
from reading import Refused
from tqdm import tqdm

from pdpbook.exercises import ASSIGNMENTS

CONFIG = """\
# nbgrader's settings for this course; its documentation explains each name.
import os

os.environ.setdefault("PDPBOOK_EXERCISE_SEED", "{seed}")  # what the hidden properties draw
os.environ.update(OPENBLAS_NUM_THREADS="1", OMP_NUM_THREADS="1")

c = get_config()
c.CourseDirectory.root = os.path.dirname(os.path.abspath(__file__))
c.ClearSolutions.enforce_metadata = True
c.ClearSolutions.code_stub = {{"python": {stub!r}}}
c.Execute.timeout = {seconds}  # seconds for one cell
c.Execute.iopub_timeout = 20  # seconds that it may take to stop after that
"""


def progress(students: Iterable[str], step: str) -> tqdm[str]:
    return tqdm(students, desc=step, disable=not sys.stderr.isatty())


def create(
    nbgrader: NbGrader, folder: Path, names: list[str], seed: int, seconds: int, fresh: bool
) -> None:
    """Make the course, or add assignments to it, and release them."""
    if seed < 0 or seconds <= 0:
        raise Refused(f"seed must be at least 0, seconds above 0; got {seed} and {seconds}")
    folder.mkdir(parents=True, exist_ok=True)
    settings = folder / "nbgrader_config.py"
    if not settings.exists():
        stub = "\n".join(STUB)
        settings.write_text(CONFIG.format(seed=seed, seconds=seconds, stub=stub), encoding="utf-8")
    for name in progress(names, "create"):
        source = folder / "source" / name / f"{name}.ipynb"
        if fresh or not source.exists():
            source.parent.mkdir(parents=True, exist_ok=True)
            source.write_text(text(plain(name)), encoding="utf-8")
        if problem := nbgrader.ask("generate_assignment", name)["problem"]:
            raise Refused(f"nbgrader cannot release {name}: {problem}")
        print(f"hand out {folder / 'release' / name / f'{name}.ipynb'}")


def preflight(folder: Path, name: str) -> None:
    """Repair what was collected into what nbgrader grades; the originals stay as they are."""
    release = folder / "release" / name / f"{name}.ipynb"
    if not release.is_file():
        raise Refused(f"{name} is not released in {folder}; run create first")
    if not handed_in(folder, name):
        raise Refused(f"nothing is collected for {name}; run collect first")
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
        raise Refused(f"no submission of {name} is ready; run collect and preflight first")
    return found


def grade(nbgrader: NbGrader, folder: Path, name: str, again: bool) -> None:
    """Grade what is new, or everything, one student at a time; a failure stops nobody else.

    The grader of the book then gives a second opinion; nbgrader's marks stand.
    """
    todo = [s for s in usable(folder, name) if again or not is_graded(folder, s, name)]
    remarks: dict[str, list[str]] = {student: [] for student in todo}
    for student in progress(todo, "grade"):
        if problem := nbgrader.ask("autograde", name, student)["problem"]:
            place = path_of(folder, "autograded", student, name).parent
            shutil.rmtree(place, ignore_errors=True)
            remarks[student].append(f"not graded: {problem}")
    if name in ASSIGNMENTS and todo:
        cells, seed = gradebook(nbgrader, name)
        for student in progress(todo, "compare"):
            mine = cells[(cells.student == student) & is_graded(folder, student, name)]
            points = dict(zip(mine.cell, mine.points, strict=True))
            submission = path_of(folder, "submitted", student, name)
            remarks[student] += second_opinion(submission, name, points, seed)
    report(folder, name, "grade", remarks)


def feedback(nbgrader: NbGrader, folder: Path, name: str) -> None:
    """Write the page that each graded student may read."""
    todo = [s for s in usable(folder, name) if is_graded(folder, s, name)]
    remarks: dict[str, list[str]] = {student: [] for student in todo}
    for student in progress(todo, "feedback"):
        if problem := nbgrader.ask("generate_feedback", name, student)["problem"]:
            remarks[student].append(f"no feedback: {problem}")
    report(folder, name, "feedback", remarks)
    print(f"feedback in {folder / 'feedback'}")


# --- the command line ----------------------------------------------------------------------------


def arguments(words: list[str]) -> argparse.Namespace:
    """What was asked for."""
    parser = argparse.ArgumentParser(prog="tools/course.py", description=__doc__.partition("\n")[0])
    commands = parser.add_subparsers(dest="command", required=True)
    options = _options()

    def command(name: str, about: str, *parts: str) -> argparse.ArgumentParser:
        parents = [options[part] for part in parts]
        return commands.add_parser(name, help=about, description=about, parents=parents)

    made = command("create", "make a course folder, or add assignments to one", "folder", "seed")
    made.add_argument("names", nargs="*", metavar="ASSIGNMENT", help="all, if none is named")
    made.add_argument("--seconds", type=int, default=60, help="limit for one cell")
    made.add_argument("--fresh", action="store_true", help="give up changes to the sources")
    command("collect", "sort downloaded submissions by student", "folder", "name", "from")
    command("preflight", "repair what breaks nbgrader's batch", "folder", "name")
    command("grade", "grade what is new, student by student", "folder", "name", "grade")
    command("feedback", "write a page for each student", "folder", "name")
    command("export", "write the marks", "folder", "name", "for")
    steps = "collect, preflight, grade, feedback, export"
    command("all", f"{steps} in turn", "folder", "name", "from", "grade", "for")
    for name, about in (
        ("handout", "write the exercises without solutions as one document"),
        ("key", "write model answers, rubrics and reference functions as one document"),
    ):
        written = command(name, about)
        written.add_argument("out", type=Path, metavar="OUT.md")
        written.add_argument("names", nargs="*", metavar="ASSIGNMENT", help="all, if none is named")
    command("gradescope", "pack an autograder for Gradescope", "name", "seed").add_argument(
        "out", type=Path, metavar="OUT.zip"
    )
    return parser.parse_args(words)


def _options() -> dict[str, argparse.ArgumentParser]:
    """Options that several commands take."""
    parts = ("folder", "name", "seed", "from", "grade", "for")
    options = {part: argparse.ArgumentParser(add_help=False) for part in parts}
    options["folder"].add_argument("folder", type=Path, metavar="FOLDER")
    options["name"].add_argument("name", metavar="ASSIGNMENT")
    options["seed"].add_argument(
        "--seed", type=int, default=0, help="changes what the properties draw"
    )
    options["from"].add_argument(
        "submissions", type=Path, metavar="SUBMISSIONS", help="a folder or a zip"
    )
    options["from"].add_argument(
        "--from",
        dest="pattern",
        default="plain",
        metavar="PATTERN",
        help=f"how file names tell the student: {', '.join(PATTERNS)}, or a regular expression "
        "with a group (?P<student>...). The names that Canvas and Moodle give are unchecked: look "
        "at one download first",
    )
    options["grade"].add_argument(
        "--again", action="store_true", help="also what is graded already"
    )
    options["grade"].add_argument(
        "--minutes", type=float, default=10.0, help="limit for one submission"
    )
    options["for"].add_argument(
        "--for",
        dest="system",
        default="plain",
        choices=LAYOUTS,
        help="columns of the table. Those of Canvas and Moodle are unchecked: compare them with "
        "an export of your own course, and use --rename",
    )
    options["for"].add_argument(
        "--rename",
        action="append",
        default=[],
        metavar="OLD=NEW",
        help='rename a column, such as "foundations=Foundations (12345)"; may be repeated',
    )
    return options


def run(given: argparse.Namespace) -> None:
    """Do what was asked for."""
    command, name = given.command, getattr(given, "name", "")
    folder = getattr(given, "folder", Path()).resolve()
    names = [name] if command == "gradescope" else getattr(given, "names", []) or [*ASSIGNMENTS]
    if unknown := set(names) - set(ASSIGNMENTS):
        known = ", ".join(ASSIGNMENTS)
        raise Refused(f"there is no assignment {min(unknown)!r}; there are {known}")
    if command in {"handout", "key"}:
        write = handout if command == "handout" else key
        given.out.write_text(write(names), encoding="utf-8")
    elif command == "gradescope":
        autograder(name, given.out, given.seed)
    elif command != "create" and not (folder / "nbgrader_config.py").is_file():
        raise Refused(f"{folder} is no course; make it with: create {given.folder}")
    else:
        with NbGrader(folder, getattr(given, "minutes", 10.0)) as nbgrader:
            _work(nbgrader, folder, given, names)


def _work(nbgrader: NbGrader, folder: Path, given: argparse.Namespace, names: list[str]) -> None:
    """The commands of a course folder; `all` is most of them in turn."""
    command, name = given.command, getattr(given, "name", "")
    if command == "create":
        create(nbgrader, folder, names, given.seed, given.seconds, given.fresh)
    if command in {"collect", "all"}:
        remarks = collect(given.submissions, folder / "collected" / name, given.pattern)
        report(folder, name, "collect", remarks)
    if command in {"preflight", "all"}:
        preflight(folder, name)
    if command in {"grade", "all"}:
        grade(nbgrader, folder, name, given.again)
    if command in {"feedback", "all"}:
        feedback(nbgrader, folder, name)
    if command in {"export", "all"}:
        export(nbgrader, folder, name, given.system, given.rename)


def main(words: list[str]) -> int:
    """Run the command line; returns the exit code."""
    try:
        run(arguments(words))
    except (Refused, OSError, zipfile.BadZipFile) as problem:
        print(f"course.py: {problem}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
