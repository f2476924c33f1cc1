"""Questions by hand: what is asked, a rubric, a point a line, and two answers, one of them wrong.

Those at the end of an assignment stand in its solved notebook. A course whose settings say
`arguments = true` also asks for two sentences after each core function: the question about a
function `f` is called `why_f`, and `arguments.yml` has them all.
"""

import functools
import re
from dataclasses import dataclass
from pathlib import Path

import yaml
from nbformat import NotebookNode, v4

from course.checkout import Refused
from course.sheets import plain
from course.teaching import EXERCISE, Exercise

PREFIX = "why_"
MINUTES = 5
LINES = 3  # of a rubric, a point each
FILLED = re.compile(r"[01]( [01])*")  # a rubric that somebody went through
MODEL = re.compile(
    r"^Right:\n\n(?P<right>.+?)\n\nWrong:\n\n(?P<wrong>.+?)\n\nWhat it misses: (?P<misses>.+?)\n\n"
    r"Rubric, a point each:\n\n(?P<rubric>.+?)\n:::$",
    re.M | re.S,
)
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
    """What is asked, and how it is marked."""

    ask: str
    rubric: tuple[str, ...]
    right: str
    wrong: str
    misses: str = ""  #: which lines the wrong answer misses, and why it fails


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


@functools.cache
def rubrics(assignment: str) -> dict[str, Argument]:
    """The questions by hand of an assignment, and those about its functions."""
    found, ask = dict[str, Argument](), ""
    for cell in plain(assignment).cells:
        role = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and role.get("grade"):
            model = MODEL.search(cell.source)
            if model is None:
                raise Refused(f"{assignment}, {role.grade_id}: needs two answers and a rubric")
            lines = re.split(r"^\d\. ", model["rubric"], flags=re.M)[1:]
            rubric = tuple(" ".join(line.split()) for line in lines)
            answers = model["right"], model["wrong"], " ".join(model["misses"].split())
            found[role.grade_id] = Argument(ask, rubric, *answers)
        ask = EXERCISE.split(cell.source)[-1].strip()
    return found | {PREFIX + name: one for name, one in arguments().items()}


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


def marked(student: str, name: str, written: str, rubric: tuple[str, ...]) -> tuple[float, str]:
    """Points of an answer, and what it lacks, from a rubric such as `1 0 1`."""
    kept = [mark == "1" for mark in written.split()]
    if not FILLED.fullmatch(written.strip()) or len(kept) != len(rubric):
        example = " ".join("10"[k % 2] for k in range(len(rubric)))
        raise Refused(
            f"{student}, {name}: the rubric has {len(rubric)} lines; write 1 or 0 for each, such "
            f"as {example}; got {written!r}"
        )
    lacking = [f"-1: {line}" for line, held in zip(rubric, kept, strict=True) if not held]
    return float(sum(kept)), "; ".join(lacking)
