"""The grader as a command: ``python -m pdpbook.exercises --help``."""

from __future__ import annotations

import argparse
import re
import sys
from pathlib import Path

import pandas as pd
from tqdm import tqdm

from pdpbook.exercises.gradescope import write_results
from pdpbook.exercises.grading import grade
from pdpbook.exercises.properties import ASSIGNMENTS


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m pdpbook.exercises", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    marks = commands.add_parser("grade", help="grade notebooks, or folders of them, into a CSV")
    marks.add_argument("assignment", choices=ASSIGNMENTS)
    marks.add_argument("submissions", nargs="+", type=Path)
    marks.add_argument("--csv", type=Path, default=Path("marks.csv"), help="totals by student")
    marks.add_argument("--details", type=Path, help="also write every part with its message")
    marks.add_argument("--student", default="", metavar="REGEX", help="its group is the student")
    marks.add_argument("--seed", type=int, help="changes what the properties draw")
    marks.add_argument("--seconds", type=float, default=20.0, help="limit for a part")
    scope = commands.add_parser("gradescope", help="write the results file of Gradescope")
    scope.add_argument("assignment", choices=ASSIGNMENTS)
    scope.add_argument("--root", type=Path, default=Path("/autograder"))
    given = parser.parse_args(arguments)
    if given.command == "gradescope":
        write_results(given.root, given.assignment)
        return 0
    files = notebooks(given.submissions)
    if not files:
        parser.error("no notebooks there")
    tables = []
    for file in tqdm(files, desc=given.assignment, disable=not sys.stderr.isatty()):
        table = grade(file, given.assignment, seed=given.seed, seconds=given.seconds)
        table.insert(0, "student", student(file, given.assignment, given.student))
        tables.append(table.assign(file=str(file)))
    details = pd.concat(tables)
    if given.details:
        details.to_csv(given.details, index=False)
    totals = details.groupby(["student", "file"], sort=False)[["points", "out_of"]].sum()
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


if __name__ == "__main__":
    sys.exit(main())
