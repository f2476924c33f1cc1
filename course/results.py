"""The results file of Gradescope, from the grader of the book."""

import json
import re
from itertools import zip_longest
from pathlib import Path

import pandas as pd

from course.grading import HOLD, WAITS, grade

__all__ = ["counted", "lost", "told", "write_results"]

LOST = re.compile(r"(?:(?<=; )|^)-([\d.]+)(?=: )")  # what was lost, in a message
WORTH = "points.json"  # beside the grader: what the course gives for each exercise


def counted(rows: pd.DataFrame, worth: dict[str, float], each: list[str]) -> pd.DataFrame:
    """Rows with the points that a course gives to an exercise, in what they say, too.

    `each` are the columns of which the rows of one exercise, of one student, have the same.
    """
    share = rows.exercise.map(worth) / rows.groupby(each).out_of.transform("sum")
    said = [
        LOST.sub(lambda lost, by=by: f"-{float(lost[1]) * by:g}", words)  # type: ignore[misc]
        for words, by in zip(rows.message, share, strict=True)
    ]
    return rows.assign(points=rows.points * share, out_of=rows.out_of * share, message=said)


def told(message: str, shown: str) -> str:
    """What a part lost, a line each, and below it the calls that failed."""
    parts = zip_longest(lost(message), json.loads(shown), fillvalue="")
    return "\n".join("\n    ".join([part, *calls.splitlines()]) for part, calls in parts)


def lost(message: str) -> list[str]:
    """What a message names, one by one."""
    return re.split(r"; (?=-[\d.]+: )", message) if message else []


def write_results(root: Path, name: str) -> None:
    """Grade the submission in Gradescope's folder layout.

    Parameters
    ----------
    root : path
        Holds ``submission/`` with one notebook, and ``source/points.json``, what the course gives
        for each exercise; ``results/results.json`` is written.
    name : str
        The assignment.
    """
    found = sorted((root / "submission").rglob("*.ipynb"))
    found = [p for p in found if ".ipynb_checkpoints" not in p.parts]
    if len(found) == 1:
        worth = json.loads((root / "source" / WORTH).read_text(encoding="utf-8"))
        table = grade(found[0], name)
        problem = table.attrs["problem"]
        more = [one for one in worth if one not in set(table.exercise)]  # arguments of the course
        waiting = [(one, "by hand", 0.0, worth[one], WAITS, "[]") for one in more]
        table = pd.concat([table, pd.DataFrame(waiting, columns=[*table])]) if more else table
        results = _results(counted(table, worth, ["exercise"]))
    else:
        problem = f"there are {len(found)} notebooks; hand in one"
    if problem:  # no score: a 0 would say that somebody read it
        results = {"tests": [{"name": "not graded", "status": "failed", "output": problem}]}
    folder = root / "results"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "results.json").write_text(json.dumps(results, indent=1), encoding="utf-8")


def _results(table: pd.DataFrame) -> dict[str, object]:
    tests = [
        {
            "name": f"{row.exercise}, {row.part}",
            "score": float(row.points),
            "max_score": float(row.out_of),
            "visibility": "after_published" if row.part == "hidden" else "visible",
            "output": told(row.message, row.shown) or HOLD,
        }
        for row in table.itertuples()
    ]
    return {"tests": tests}
