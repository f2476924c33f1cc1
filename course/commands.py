"""Assign, collect and grade the exercises with nbgrader, in a course folder; hand out sheets.

    python -m course create FOLDER
    python -m course all FOLDER ASSIGNMENT SUBMISSIONS --from canvas --for canvas

`all` is `collect`, `preflight`, `grade`, `feedback` and `export` in turn. nbgrader runs in an
environment and a process of its own (`make instructor`, `coursework.NbGrader`), one student at a
time: its dependencies stay out of the book's, and what one submission breaks costs nobody else.
It is not a sandbox: code of students runs with your rights.
"""

from __future__ import annotations

import argparse
import sys
import zipfile
from pathlib import Path
from typing import Any

from course import sheets
from course.autograder import autograder
from course.checkout import Refused
from course.collect import PATTERNS, collect
from course.coursework import NbGrader, report
from course.export import LAYOUTS, export
from course.handout import handout, key
from course.steps import create, feedback, grade, preflight
from pdpbook.exercises import ASSIGNMENTS


def add(commands: Any) -> None:
    """Add every command that needs the checkout."""
    options = _options()

    def command(name: str, about: str, *parts: str) -> argparse.ArgumentParser:
        parents = [options[part] for part in parts]
        made: argparse.ArgumentParser = commands.add_parser(
            name, help=about, description=about, parents=parents
        )
        made.set_defaults(run=run)
        return made

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
    command("sheets", "make the student versions of the book's exercises").add_argument(
        "--check", action="store_true", help="write nothing; fail when one is out of date"
    )


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


def run(given: argparse.Namespace) -> int:
    """Do what was asked for; returns the exit code."""
    try:
        return _run(given)
    except (Refused, OSError, zipfile.BadZipFile) as problem:
        print(f"course: {problem}", file=sys.stderr)
        return 1


def _run(given: argparse.Namespace) -> int:
    command, name = given.command, getattr(given, "name", "")
    folder = getattr(given, "folder", Path()).resolve()
    names = [name] if command == "gradescope" else getattr(given, "names", []) or [*ASSIGNMENTS]
    if unknown := set(names) - set(ASSIGNMENTS):
        known = ", ".join(ASSIGNMENTS)
        raise Refused(f"there is no assignment {min(unknown)!r}; there are {known}")
    if command == "sheets":
        return sheets.write(check=given.check)
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
    return 0


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
