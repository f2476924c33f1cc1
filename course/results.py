"""The results file of Gradescope, from the grader of the book."""

import json
from pathlib import Path

import pandas as pd

from course.grading import grade

__all__ = ["write_results"]


def write_results(root: Path, name: str) -> None:
    """Grade the submission in Gradescope's folder layout.

    Parameters
    ----------
    root : path
        Holds ``submission/`` with one notebook; ``results/results.json`` is written.
    name : str
        The assignment.
    """
    found = sorted((root / "submission").rglob("*.ipynb"))
    found = [p for p in found if ".ipynb_checkpoints" not in p.parts]
    if len(found) == 1:
        results = _results(grade(found[0], name))
    else:
        results = {"score": 0, "output": f"Hand in one notebook; there are {len(found)}."}
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
            "output": "\n-".join(row.message.split("; -")) or "all properties hold",
        }
        for row in table.itertuples()
    ]
    return {"tests": tests}
