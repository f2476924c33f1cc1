"""The exercises as one document without solutions, and their answer key."""

import re
from collections.abc import Iterable

from course.hidden import assignment
from course.sheets import HINT, plain, released

MARK = re.compile(r"^ *### (?:BEGIN|END) SOLUTION\n?", re.M)


def handout(names: Iterable[str]) -> str:
    """Questions, hints and signatures in Markdown; no checks."""
    parts = []
    for name in names:
        for cell in released(plain(name)).cells[:-2]:  # the last two run the file
            role = cell.metadata.get("nbgrader", {})
            if cell.cell_type == "markdown":
                on_paper = cell.source.replace(HINT, "Hint")
                parts.append("" if role.get("solution") else on_paper)
            elif not role.get("locked"):
                parts.append(_python(cell.source))
    return _document(parts)


def key(names: Iterable[str]) -> str:
    """Reference functions with the properties that are graded, model answers with their rubrics."""
    parts = []
    for name in names:
        heading = ""
        for cell in plain(name).cells:
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
