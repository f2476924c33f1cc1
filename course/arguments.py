"""Arguments: two sentences by hand after each core function, with a rubric of three lines.

A course has them if its settings say `arguments = true`. The question about a function `f` is
called `why_f`; each line of the rubric is a point. `arguments.yml` has them all, with two model
answers for tutors, of which one is wrong.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import yaml
from nbformat import NotebookNode, v4

from course.checkout import Refused
from course.teaching import Exercise

PREFIX = "why_"
MINUTES = 5
LINES = 3  # of a rubric, a point each
FILLED = re.compile(r"[01]( [01]){2}")  # a rubric that somebody went through
PROMPT = """\
### Why?

**{name}** · {points} points, graded by hand · {minutes} minutes

{ask} Answer in two sentences."""
SOLUTION = """\
:::{{dropdown}} Two answers and the rubric
Right: {right}

Wrong: {wrong}

Rubric, a point each:

{rubric}
:::"""


@dataclass(frozen=True)
class Argument:
    """What is asked about a function, and how it is marked."""

    ask: str
    rubric: tuple[str, ...]
    right: str
    wrong: str


@functools.cache
def arguments() -> dict[str, Argument]:
    """The question about each function."""
    return read(Path(__file__).with_name("arguments.yml"))


def read(path: Path) -> dict[str, Argument]:
    """The questions of a file; one that is not complete is refused."""
    found = {}
    for name, given in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        fields = {"ask", "rubric", "right", "wrong"}
        if set(given) != fields or not all(given.values()) or len(given["rubric"]) != LINES:
            raise Refused(f"{path.name}, {name}: needs {', '.join(sorted(fields))}, {LINES} lines")
        found[name] = Argument(given["ask"], tuple(given["rubric"]), given["right"], given["wrong"])
    return found


def argued(exercises: list[Exercise]) -> list[Exercise]:
    """The exercises, each core function followed by the question about it."""
    known, found = arguments(), []
    for one in exercises:
        found.append(one)
        if one.kind == "core" and one.name in known:
            name = PREFIX + one.name
            found.append(Exercise(one.assignment, one.heading, name, LINES, MINUTES, "", ()))
    return found


def with_arguments(notebook: NotebookNode, asked: list[Exercise]) -> NotebookNode:
    """The notebook with these questions, each after the hidden properties of its function."""
    cells = []
    wanted = {one.name.removeprefix(PREFIX): one for one in asked if one.name.startswith(PREFIX)}
    for cell in notebook.cells:
        cells.append(cell)
        function, _, part = cell.metadata.get("nbgrader", {}).get("grade_id", "").partition("-")
        if part == "hidden" and function in wanted:
            cells += _cells(wanted[function], arguments()[function])
    notebook.cells = cells
    return notebook


def _cells(one: Exercise, argument: Argument) -> list[NotebookNode]:
    rubric = "\n".join(f"- {line}" for line in argument.rubric)
    prompt = PROMPT.format(name=one.name, points=one.points, minutes=one.minutes, ask=argument.ask)
    answer = SOLUTION.format(right=argument.right, wrong=argument.wrong, rubric=rubric)
    role = {
        "grade": True,
        "grade_id": one.name,
        "locked": False,
        "points": one.points,
        "schema_version": 3,
        "solution": True,
        "task": False,
    }
    return [
        v4.new_markdown_cell(prompt, id=f"asked-{one.name}"[:64]),
        v4.new_markdown_cell(answer, id=one.name[:64], metadata={"nbgrader": role}),
    ]


def marked(student: str, name: str, written: str) -> tuple[float, str]:
    """Points of an argument, and what it lacks, from a rubric such as `1 0 1`."""
    if not FILLED.fullmatch(written.strip()):
        raise Refused(
            f"{student}, {name}: the rubric has {LINES} lines; write 1 or 0 for each, such as "
            f"1 0 1; got {written!r}"
        )
    kept = [mark == "1" for mark in written.split()]
    lines = arguments()[name.removeprefix(PREFIX)].rubric
    lacking = [f"-1: {line}" for line, held in zip(lines, kept, strict=True) if not held]
    return float(sum(kept)), "; ".join(lacking)
