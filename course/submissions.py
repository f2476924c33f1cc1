"""Marks of a folder of submissions by the grader of the book, in one table.

    python -m course marks foundations submissions

Needs no nbgrader. `results` is the same for one submission, in the folders of Gradescope.
"""

import argparse
import re
import sys
from pathlib import Path
from typing import Any

import pandas as pd
from tqdm import tqdm

from course.grading import grade
from course.results import write_results
from pdpbook.exercises import ASSIGNMENTS

__all__ = ["add", "marks", "notebooks", "student"]


def add(commands: Any) -> None:
    """Add `marks` and `results` to the commands."""
    about = "grade notebooks, or folders of them, into a CSV"
    table = commands.add_parser("marks", help=about, description=about)
    table.add_argument("assignment", choices=ASSIGNMENTS)
    table.add_argument("submissions", nargs="+", type=Path)
    table.add_argument("--csv", type=Path, default=Path("marks.csv"), help="totals by student")
    table.add_argument("--details", type=Path, help="also write every part with its message")
    table.add_argument("--student", default="", metavar="REGEX", help="its group is the student")
    table.add_argument("--seed", type=int, help="changes what the properties draw")
    table.add_argument("--seconds", type=float, default=20.0, help="limit for a part")
    table.set_defaults(run=marks)
    about = "write the results file of Gradescope; its autograder runs this"
    scope = commands.add_parser("results", help=about, description=about)
    scope.add_argument("assignment", choices=ASSIGNMENTS)
    scope.add_argument("--root", type=Path, default=Path("/autograder"))
    scope.set_defaults(run=lambda given: write_results(given.root, given.assignment))


def marks(given: argparse.Namespace) -> int:
    """Grade every notebook, print the totals and write the tables; returns the exit code."""
    files, tables = notebooks(given.submissions), []
    if not files:
        print("course: no notebooks there", file=sys.stderr)
        return 1
    for file in tqdm(files, desc=given.assignment, disable=not sys.stderr.isatty()):
        table = grade(file, given.assignment, seed=given.seed, seconds=given.seconds)
        table.insert(0, "student", student(file, given.assignment, given.student))
        tables.append(table.assign(file=str(file)))
    details = pd.concat(tables)
    if given.details:
        details.to_csv(given.details, index=False)
    details["by_hand"] = details.out_of.where(details.part == "by hand", 0)  # points that wait
    columns = ["points", "out_of", "by_hand"]
    totals = details.groupby(["student", "file"], sort=False)[columns].sum().round(1)
    totals.reset_index().to_csv(given.csv, index=False)
    print(totals.to_string())
    return 0


def notebooks(paths: list[Path]) -> list[Path]:
    """The files given, and every notebook in the folders given."""
    found: list[Path] = []
    for path in paths:
        inside = sorted(path.rglob("*.ipynb")) if path.is_dir() else [path]
        found += [p for p in inside if ".ipynb_checkpoints" not in p.parts]
    return found


def student(file: Path, name: str, pattern: str) -> str:
    """Who wrote a submission: by a pattern, else the last part of its path that is not a name."""
    if pattern:
        match = re.search(pattern, str(file))
        return (match[1] if match.groups() else match[0]) if match else str(file)
    parts = [file.stem, *(folder.name for folder in file.resolve().parents)]
    return next((part for part in parts if part and part != name), str(file))
