"""Sheets: an assignment cut into parts of about an hour; and a course's own prompts and dates.

`foundations-2` is the second sheet of `foundations`. Exercises keep their order, those that name
each other stay together; there are as few sheets as possible, of lengths as equal as possible.
What stands between the first cell and the first exercise is on every sheet. Figures that need
several answers stay in the whole assignment.
"""

import itertools
import re

from nbformat import NotebookNode, v4

from course.arguments import PREFIX, argued, with_arguments
from course.checkout import Refused
from course.settings import Course
from course.sheets import finds, plain
from course.teaching import EXERCISE, Exercise, exercises_of
from pdpbook.pages.exercises import ASSIGNMENTS

LAST = ("what-will-be-graded", "graded")  # cells that run the file as the grader does
SLACK = 5  # minutes that a sheet may be longer than asked for
TOP = """\
# {title}, sheet {number} of {count}

{points:g} points. Time: {minutes} minutes. Needed: the chapters to which the lines below the
headings link.
"""


def split(name: str) -> tuple[str, int]:
    """The assignment of a name, and the number of the sheet: 0 is all of it."""
    stem, _, number = name.rpartition("-")
    found = (stem, int(number)) if number.isdecimal() else (name, 0)
    if found[0] not in ASSIGNMENTS:
        raise Refused(f"there is no assignment {found[0]!r}; there are {', '.join(ASSIGNMENTS)}")
    return found


def cut(exercises: list[Exercise], texts: dict[str, str], minutes: int) -> list[list[Exercise]]:
    """The exercises of each sheet; `texts` is what stands in the cells of each."""
    free = [
        k
        for k, (before, one) in enumerate(itertools.pairwise(exercises), start=1)
        if not re.search(rf"\b{before.name}\b|exercise before|last exercise", texts[one.name])
    ]
    for count in range(len(free) + 1):
        found = []
        for at in itertools.combinations(free, count):
            parts = [exercises[a:b] for a, b in itertools.pairwise([0, *at, len(exercises)])]
            lengths = [sum(one.minutes for one in part) for part in parts]
            if max(lengths) <= minutes + SLACK:
                found.append((sum(length**2 for length in lengths), at))
        if found:
            ends = [0, *min(found)[1], len(exercises)]
            return [exercises[a:b] for a, b in itertools.pairwise(ends)]
    raise Refused(f"sheets of {minutes} minutes are too short for what belongs together")


def sheets(name: str, minutes: int) -> list[list[Exercise]]:
    """The exercises of every sheet of an assignment."""
    notebook = plain(name)
    found = exercises_of(name, notebook)
    cells = {one.name: _cells(notebook, one) for one in found}
    texts = {key: "\n".join(cell.source for cell in own) for key, own in cells.items()}
    return cut(found, texts, minutes)


def questions(name: str, course: Course) -> list[Exercise]:
    """The exercises of an assignment, or of a sheet of it."""
    stem, number = split(name)
    parts = sheets(stem, course.minutes) if number else [exercises_of(stem, plain(stem))]
    if number > len(parts):
        raise Refused(f"{stem} has {len(parts)} sheets; got {name}")
    wanted = parts[max(number - 1, 0)]
    return argued(wanted) if course.arguments else wanted


def source(name: str, course: Course) -> NotebookNode:
    """The solved notebook of an assignment or a sheet, with the prompts and dates of a course."""
    (stem, number), notebook = split(name), plain(split(name)[0])
    wanted = questions(name, course)
    own = [one for one in wanted if not one.name.startswith(PREFIX)]
    if number:
        title = notebook.cells[0].source.partition("\n")[0].lstrip("# ")
        top = TOP.format(
            title=title,
            number=number,
            count=len(sheets(stem, course.minutes)),
            points=sum(course.points.get(one.name, one.points) for one in wanted),
            minutes=sum(one.minutes for one in wanted),
        )
        first = next(k for k, cell in enumerate(notebook.cells) if EXERCISE.search(cell.source))
        given = [v4.new_markdown_cell(top, id=notebook.cells[0].id), *notebook.cells[1:first]]
        tail = [cell for cell in notebook.cells if cell.id in LAST]
        notebook.cells = given + [cell for one in own for cell in _cells(notebook, one)] + tail
        notebook = finds(notebook, name, [one.name for one in wanted if one.kind])
    notebook = with_arguments(notebook, wanted)
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            cell.source = _own_prompt(cell.source, course)
            cell.source = EXERCISE.sub(lambda line: _own_points(line, course), cell.source)
    if due := course.due.get(name):
        head, _, rest = notebook.cells[0].source.partition("\n")
        notebook.cells[0].source = f"{head}\n\n**Due:** {due}\n{rest}"
    return notebook


def _cells(notebook: NotebookNode, one: Exercise) -> list[NotebookNode]:
    """The prompt of an exercise, without what stands before its heading, and what is graded."""
    found = []
    for cell in notebook.cells:
        role = cell.metadata.get("nbgrader", {}).get("grade_id", "")
        if role.partition("-")[0] == one.name:
            found.append(cell)
        for match in EXERCISE.finditer(cell.source):
            if match["name"] == one.name:
                own = cell.source[: match.start()].rfind("## ")
                start = match.start() if own < 0 else own
                found.append(v4.new_markdown_cell(cell.source[start:], id=cell.id))
    return found


def _own_points(line: re.Match[str], course: Course) -> str:
    """The line in bold with what the exercise counts in the course."""
    points = course.points.get(line["name"], int(line["points"]))
    return line[0].replace(f"· {line['points']} points", f"· {points:g} points", 1)


def _own_prompt(text: str, course: Course) -> str:
    """A prompt of the course in the place of the one of the book."""
    match = EXERCISE.search(text)
    if match is None or match["name"] not in course.prompts:
        return text
    head, hint = text[: match.end()].rstrip(), re.search(r"^<details>", text, re.M)
    tail = f"\n\n{text[hint.start() :]}" if hint else ""
    return f"{head}\n\n{course.prompts[match['name']].strip()}{tail}"
