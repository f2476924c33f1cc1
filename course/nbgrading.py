"""nbgrader at work in a course folder: a task on standard input, a line of JSON an answer.

`coursework` starts this file with the instructor's Python, which alone has nbgrader. One process
serves many students, because importing nbgrader takes longer than grading with it.
"""

import json
import os
import sys
import traceback
from typing import Any


def main() -> None:
    """Answer task after task; what nbgrader and kernels print goes to standard error."""
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
        seed = os.environ.get("PDPBOOK_EXERCISE_SEED", "0")  # from the settings of the course
        return {"problem": "", "rows": _marks(api, assignment), "seed": int(seed)}
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
                "by_hand": bool(grade.needs_manual_grade),
            }
            for submission in gradebook.assignment_submissions(assignment)
            for notebook in submission.notebooks
            for grade in notebook.grades
        ]


if __name__ == "__main__":
    main()
