"""Make a course, hand out, grade, export: a command each.

    python -m course create FOLDER
    python -m course handout FOLDER foundations
    python -m course grade FOLDER foundations SUBMISSIONS --from canvas
    python -m course export FOLDER foundations --for canvas --roster GRADEBOOK.csv

The folder holds the settings of the course and what students handed in. An assignment is one of
the book, such as `foundations`, or a sheet of it, such as `foundations-2`. Without nbgrader the
grader of the book gives the marks. With it (`create --nbgrader`) nbgrader does, in an environment
and a process of its own, one student at a time: what one submission breaks costs nobody else.
It is not a sandbox: code of students runs with your rights.
"""

from __future__ import annotations

import argparse
import contextlib
import sys
import zipfile
from pathlib import Path
from typing import Any

from course import bank, handout, marking, orphans, rosters, sealed, settings, sheets, steps
from course.autograder import autograder
from course.checkout import Refused
from course.collect import PATTERNS, collect
from course.coursework import NbGrader, report
from course.cuts import questions, split
from course.export import export, worths
from pdpbook.pages.exercises import ASSIGNMENTS


def add(commands: Any) -> None:
    """Add every command that needs the checkout."""

    def command(name: str, about: str, *places: str) -> argparse.ArgumentParser:
        made: argparse.ArgumentParser = commands.add_parser(name, help=about, description=about)
        made.set_defaults(run=run)
        for place in places:
            kind = str if place.startswith("assignment") else Path
            many = "*" if place == "assignments" else None
            made.add_argument(place, type=kind, nargs=many, metavar=place.upper())
        return made

    made = command("create", "make a course folder", "folder", "assignments")
    made.add_argument("--seed", type=int, help="changes what the properties draw; else drawn")
    made.add_argument("--nbgrader", action="store_true", help="prepare it for nbgrader, too")
    made.add_argument("--seconds", type=int, default=60, help="nbgrader's limit for one cell")
    made.add_argument("--fresh", action="store_true", help="give up changes to nbgrader's sources")
    made = command("handout", "write notebooks, sheets, paper and keys", "folder", "assignments")
    made.add_argument("--scaffold", action="store_true", help="begin each function, with gaps")
    made = command(
        "grade", "collect and grade, with feedback", "folder", "assignment", "submissions"
    )
    known = ", ".join(PATTERNS)
    made.add_argument("--from", dest="pattern", default="plain", metavar="PATTERN",
                      help=f"who wrote a file: {known}, or a regular expression with a group "
                      "(?P<student>...)")  # fmt: skip
    made.add_argument("--again", action="store_true", help="also what is graded already")
    made.add_argument("--seconds", type=float, default=20.0, help="limit for a call, and a cell")
    made.add_argument("--minutes", type=float, default=10.0, help="nbgrader's for a submission")
    made = command(
        "sealed", "print how to grade without a network", "folder", "assignment", "submissions"
    )
    made.add_argument("--from", dest="pattern", default="plain", metavar="PATTERN")
    made = command("export", "write the marks for a platform", "folder", "assignment")
    made.add_argument("--for", dest="system", default="plain", choices=("plain", *rosters.SYSTEMS))
    made.add_argument("--roster", type=Path, metavar="CSV", help="the platform's own export")
    made.add_argument("--column", default="", help="the assignment's title there")
    made.add_argument("--by", default="", help="the column that knows the students")
    command("gradescope", "pack an autograder for Gradescope", "folder", "assignment", "out")
    command("bank", "write the exercises of the chapters, and apart their solutions", "folder")
    made = command("exam", "draw an exam from that bank, and apart its solutions", "folder")
    made.add_argument("--minutes", type=int, default=90)
    made.add_argument("--from", dest="parts", nargs="*", default=[], metavar="PART",
                      help="parts or pages, such as foundations or pac/noise")  # fmt: skip
    made.add_argument("--seed", type=int, default=0, help="draws other questions")
    command("sheets", "make the student versions of the book's exercises").add_argument(
        "--check", action="store_true", help="write nothing; fail when one is out of date"
    )


def run(given: argparse.Namespace) -> int:
    """Do what was asked for; returns the exit code."""
    orphans.leave_when_asked()
    try:
        return _run(given)
    except (Refused, OSError, zipfile.BadZipFile) as problem:
        print(f"course: {problem}", file=sys.stderr)
        return 1


def _run(given: argparse.Namespace) -> int:
    command = given.command
    if command == "sheets":
        return sheets.write(check=given.check)
    if command == "bank":
        return bank.write(given.folder)
    if command == "exam":
        return bank.exam(given.folder, given.minutes, given.parts, given.seed)
    name, folder = getattr(given, "assignment", ""), given.folder.resolve()
    if command == "sealed":
        split(name)
        print(sealed.ways(folder, name, given.submissions.resolve(), given.pattern))
        return 0
    names = getattr(given, "assignments", [name])
    for one in names:
        split(one)
    made = command == "create"
    course = settings.create(folder, given.seed) if made else settings.load(folder)
    for one in names:
        questions(one, course)
    if command == "handout":
        handout.write(course, names, scaffold=given.scaffold)
    elif command == "gradescope":
        if split(name)[1]:
            raise Refused(f"Gradescope gets whole assignments, and {name} is a sheet")
        autograder(name, given.out, course.seed, worths(course, name))
    else:
        _work(course, name, names, given)
    return 0


def _work(course: settings.Course, name: str, names: list[str], given: argparse.Namespace) -> None:
    """What nbgrader does if the course was made for it, and otherwise the grader of the book."""
    folder, minutes = course.folder, getattr(given, "minutes", 10.0)
    wanted = getattr(given, "nbgrader", False) or (folder / "nbgrader_config.py").is_file()
    with NbGrader(folder, minutes) if wanted else contextlib.nullcontext() as nbgrader:
        if given.command == "create":
            if nbgrader:
                steps.create(nbgrader, course, names or [*ASSIGNMENTS], given.seconds, given.fresh)
            elif names:
                raise Refused("without --nbgrader a course has all assignments; name none")
            print(f"the course is in {folder}; its settings: {folder / settings.FILE}")
            return
        system, roster, title, by = "plain", None, "", ""
        if given.command == "export":
            system, roster, title, by = given.system, given.roster, given.column, given.by
        else:
            remarks = collect(given.submissions, folder / "collected" / name, given.pattern)
            report(folder, name, "collect", remarks)
            if nbgrader:
                steps.preflight(folder, name)
                steps.grade(nbgrader, course, name, given.again)
                steps.feedback(nbgrader, folder, name)
            else:
                marking.mark(course, name, given.seconds, given.again)
        export(course, nbgrader, name, system, roster, title, by)
