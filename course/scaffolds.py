"""Scaffolds: an assignment whose functions are begun, with gaps `...` to fill.

    python -m course handout FOLDER foundations --scaffold

The solution stays the only source. `scaffolds.yml` names the pieces of it that become gaps, each
with a comment, and a call; what the call prints is computed from the solution and put beside it.
A piece that does not stand in its solution exactly once is refused. Names, numbers of cells that
are graded and the name of the file are those of the assignment, so that one `grade` takes both.
"""

import contextlib
import functools
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from nbformat import NotebookNode, v4

from course.checkout import Refused
from course.teaching import EXERCISE

MINUTES = 5  # for a gap that its comment nearly fills: an estimate; `minutes` says more
GAP = "..."
BODY = re.compile(r"^ *### BEGIN SOLUTION\n(.*?)^ *### END SOLUTION", re.M | re.S)
BEGUN = "raise NotImplementedError()  # delete this line when no ... is left"
TIME = re.compile(r"Time: \d+ minutes")
ABOUT = """\
## The functions are begun

Fill every `...`; the comment above it says what belongs there. What you put in
may be longer, and you may change everything below the docstring. Then delete
the line with `NotImplementedError`. Below each function stand a call and what
it prints if the function is right: compare each number before you go on. Most
first ideas print another one, even where the check below finds no fault. The
prompts, the checks and the points are those of the assignment without a
scaffold."""


@dataclass(frozen=True)
class Scaffold:
    """The pieces of a solution that become gaps, each with its comment, and a call to try."""

    gaps: dict[str, str]
    show: str
    minutes: int = 0  #: if gaps have to be derived


@functools.cache
def scaffolds() -> dict[str, Scaffold]:
    """The scaffold of each function."""
    return read(Path(__file__).with_name("scaffolds.yml"))


def read(path: Path) -> dict[str, Scaffold]:
    """The scaffolds of a file; one that is not complete is refused."""
    found = {}
    for name, given in yaml.safe_load(path.read_text(encoding="utf-8")).items():
        if set(given) - {"minutes"} != {"gaps", "show"} or not all(given.values()):
            raise Refused(f"{path.name}, {name}: needs gaps and show")
        if not all(given["gaps"].values()):
            raise Refused(f"{path.name}, {name}: every gap needs a comment")
        found[name] = Scaffold(given["gaps"], given["show"].strip(), given.get("minutes", 0))
    return found


def minutes(name: str, without: int) -> int:
    """How long a function takes with its scaffold; a question by hand takes as long as without."""
    one = scaffolds().get(name)
    return min(without, one.minutes or MINUTES * len(one.gaps)) if one else without


def begun(name: str, solution: str) -> str:
    """The cell of a solved function with its gaps."""
    if name not in scaffolds():
        raise Refused(f"course/scaffolds.yml has no scaffold of {name}")
    head, body, tail = BODY.split(solution)
    gaps = scaffolds()[name].gaps
    for piece in gaps:
        if body.count(piece) != 1:
            raise Refused(
                f"scaffolds.yml, {name}: {piece!r} stands {body.count(piece)} times in the solution"
            )
    lines: dict[int, list[str]] = {}  # where a line begins: its gaps, the last one first
    for piece in sorted(gaps, key=body.index, reverse=True):
        lines.setdefault(body.rfind("\n", 0, body.index(piece)) + 1, []).append(piece)
    for start, pieces in lines.items():
        comments = ""
        for piece in pieces:
            comments = f"{_indent(body[start:])}# {gaps[piece]}\n{comments}"
            body = body.replace(piece, GAP)
        body = body[:start] + comments + body[start:]
    return f"{head}{_indent(body)}{BEGUN}\n{body}{tail}".rstrip()


def _indent(lines: str) -> str:
    return lines[: len(lines) - len(lines.lstrip(" "))]


def scaffolded(student: NotebookNode, solved: NotebookNode) -> NotebookNode:
    """A student's notebook with functions that are begun, each followed by a call to try."""
    solutions = {
        cell.metadata.nbgrader.grade_id: cell.source
        for cell in solved.cells
        if cell.cell_type == "code" and cell.metadata.get("nbgrader", {}).get("solution")
    }
    space: dict[str, Any] = {}
    exec(next(cell for cell in solved.cells if cell.id == "set-up").source, space)
    cells = []
    for cell in student.cells:
        cells.append(cell)
        name = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if name in solutions:
            cell.source = begun(name, solutions[name])
            exec(solutions[name], space)
            cells.append(_tried(cell.id, scaffolds()[name].show, space))
        elif cell.cell_type == "markdown":
            cell.source = EXERCISE.sub(_with_minutes, cell.source)
    total = sum(int(match["minutes"]) for cell in cells for match in EXERCISE.finditer(cell.source))
    cells[0].source = TIME.sub(f"Time: {total} minutes", cells[0].source)
    student.cells = [cells[0], v4.new_markdown_cell(ABOUT, id="functions-are-begun"), *cells[1:]]
    return student


def _tried(place: str, show: str, space: dict[str, Any]) -> NotebookNode:
    """A call below the output that the solution gives."""
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(show, dict(space))
    lines = ["# With this scaffold it prints:"]
    lines += [f"#   {line}" for line in printed.getvalue().rstrip().split("\n")]
    return v4.new_code_cell("\n".join([*lines, show]), id=f"{place}-tried"[:64])


def _with_minutes(line: re.Match[str]) -> str:
    found = minutes(line["name"], int(line["minutes"]))
    return line[0].replace(f"· {line['minutes']} minutes", f"· {found} minutes", 1)
