"""What is handed out, as notebooks and on paper, and apart from it the keys for tutors."""

import copy
import re

from nbformat import NotebookNode

from course.checkout import text
from course.cuts import LAST, sheets, source, split
from course.hidden import assignment
from course.scaffolds import scaffolded
from course.settings import Course
from course.sheets import HINT, released
from pdpbook.pages.exercises import ASSIGNMENTS

MARK = re.compile(r"^ *### (?:BEGIN|END) SOLUTION\n?", re.M)


def write(course: Course, names: list[str], *, scaffold: bool = False) -> None:
    """Write assignments, all unless some are named, with their sheets, into `handout` and `key`.

    With a scaffold the functions are begun, and what is handed out goes into `handout/scaffold`,
    under the same names: it comes back as the same assignment.
    """
    out = course.folder / "handout" / ("scaffold" if scaffold else "")
    for folder in (out, course.folder / "key"):
        folder.mkdir(parents=True, exist_ok=True)
    for name in names or ASSIGNMENTS:
        parts = [] if split(name)[1] else sheets(name, course.minutes)
        for one in (name, *(f"{name}-{k + 1}" for k in range(len(parts)))):
            solved = source(one, course)
            student = released(copy.deepcopy(solved))
            if scaffold:
                student = scaffolded(student, solved)
            for path, content in (
                (out / f"{one}.ipynb", text(student)),
                (out / f"{one}.md", handout(student)),
                (course.folder / "key" / f"{one}.md", key(solved, split(one)[0])),
            ):
                path.write_text(content, encoding="utf-8")
    print(f"hand out what is in {out}; for tutors: {course.folder / 'key'}")


def handout(student: NotebookNode) -> str:
    """Questions, hints and signatures in Markdown; no checks."""
    parts = []
    for cell in student.cells:
        role = cell.metadata.get("nbgrader", {})
        if cell.id in LAST:
            continue
        if cell.cell_type == "markdown":
            on_paper = cell.source.replace(HINT, "Hint")
            parts.append("" if role.get("solution") else on_paper)
        elif not role.get("locked"):
            parts.append(_python(cell.source))
    return _document(parts)


def key(solved: NotebookNode, name: str) -> str:
    """Reference functions with the properties that are graded, model answers with their rubrics."""
    parts, heading = [], ""
    for cell in solved.cells:
        role = cell.metadata.get("nbgrader", {})
        if cell.cell_type == "markdown" and not role:
            parts += re.findall(r"^# .+$", cell.source, re.M)
            heading = (re.findall(r"^#+ .+$", cell.source, re.M) or [heading])[-1]
        elif role.get("solution"):
            parts.append(f"{heading} ({role['grade_id']})")
            if cell.cell_type == "code":
                parts.append(_python(MARK.sub("", cell.source)))
                parts.append(_properties(name, role["grade_id"]))
            else:
                parts.append(re.sub(r"^:{3,}.*\n?", "", cell.source, flags=re.M))
    return _document(parts)


def _properties(name: str, function: str) -> str:
    """What the function is graded by."""
    exercise = assignment(name).exercises.get(function)
    if exercise is None:
        return ""
    lines = [f"- visible: {one.sentence}" for one in exercise.visible]
    return "\n".join(lines + [f"- hidden: {one.sentence}" for one in exercise.hidden])


def _python(source: str) -> str:
    return f"```python\n{source.strip()}\n```"


def _document(parts: list[str]) -> str:
    return "\n\n".join(part.strip() for part in parts if part.strip()) + "\n"
