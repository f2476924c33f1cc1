"""nbgrader at work in a course folder: a task on standard input, a line of JSON an answer.

`coursework` starts this with the instructor's Python, which alone has nbgrader. One process serves
many students, because importing nbgrader takes longer than grading with it. `Marks` stands in the
settings of a course where nbgrader would run a submission with its tests in one kernel.
"""

import json
import os
import sys
import traceback
from pathlib import Path
from typing import Any

from nbformat.v4 import new_output
from nbgrader.preprocessors import NbGraderPreprocessor

from course import orphans
from course.grading import HOLD, grade
from course.results import told
from pdpbook.pages.exercises import ASSIGNMENTS

SECONDS = "PDPBOOK_EXERCISE_SECONDS"  # set in the settings of a course


class Marks(NbGraderPreprocessor):  # type: ignore[misc]
    """Gives test cells the marks of the book's grader as their values: partial credit by nbgrader.

    What is graded is what the student handed in, not what `preflight` made of it.
    """

    def preprocess(self, notebook: Any, resources: Any) -> tuple[Any, Any]:
        name, student = (resources["nbgrader"][key] for key in ("assignment", "student"))
        files = [*Path("collected", name, student).glob("[!.]*")]
        files.append(Path("submitted", student, name, f"{name}.ipynb"))
        whole = next(one for one in ASSIGNMENTS if f"{name}-".startswith(f"{one}-"))
        table = grade(files[0], whole, seconds=float(os.environ.get(SECONDS, 20)))
        rows = {f"{row.exercise}-{row.part}": row for row in table.itertuples()}
        for cell in notebook.cells:
            role = cell.metadata.get("nbgrader", {})
            if row := rows.get(role.get("grade_id")):
                said = told(row.message, row.shown) or HOLD
                points = f"{row.points * role['points'] / row.out_of:g}"
                value = new_output("execute_result", {"text/plain": points})
                cell.outputs = [new_output("stream", text=f"{said}\n"), value]
        return notebook, resources


def main() -> None:
    """Answer task after task; what nbgrader and kernels print goes to standard error."""
    orphans.follow()
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    os.dup2(2, 1)
    from nbgrader.apps import NbGraderAPI
    from traitlets.config.loader import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", os.getcwd()).load_config()
    for line in sys.stdin:
        task = json.loads(line)
        try:
            answer = _do(NbGraderAPI(config=config), **task)
        except Exception:  # the next task may work
            answer = {"problem": traceback.format_exc()}
        out.write(json.dumps(answer) + "\n")


def _do(api: Any, command: str, assignment: str, student: str = "") -> dict[str, Any]:
    if command == "marks":
        return {"problem": "", "rows": _marks(api, assignment)}
    if command == "generate_assignment":
        done = api.generate_assignment(assignment, force=True, create=True)
    else:
        done = getattr(api, command)(assignment, student, force=True)
    print(done["log"], file=sys.stderr)
    return {"problem": "" if done["success"] else f"{done['log']}\n{done['error']}"}


def _marks(api: Any, assignment: str) -> list[dict[str, Any]]:
    """A row for each graded cell of each student."""
    with api.gradebook as gradebook:
        return [
            {
                "student": submission.student.id,
                "cell": grade.name,
                "points": grade.score,
                "out_of": grade.max_score,
                "by_hand": bool(grade.needs_manual_grade or _unseen(grade)),
            }
            for submission in gradebook.assignment_submissions(assignment)
            for notebook in submission.notebooks
            for grade in notebook.grades
        ]


def _unseen(grade: Any) -> bool:
    """Whether nobody gave points to a question by hand; nbgrader gives 0 to an untouched one."""
    return "-" not in grade.name and grade.manual_score is None


if __name__ == "__main__":
    main()
