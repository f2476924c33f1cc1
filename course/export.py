"""The table of marks of an assignment, in the columns of the system that takes it."""

from pathlib import Path

import nbformat
import pandas as pd

from course.checkout import Refused
from course.coursework import NbGrader, handed_in, is_graded

LAYOUTS = {
    "plain": {
        "student": "{student}",
        "assignment": "{assignment}",
        "score": "{score}",
        "max_score": "{max_score}",
        "by_hand": "{by_hand}",
        "remarks": "{remarks}",
    },
    "canvas": {"Student": "", "ID": "{student}", "{assignment}": "{score}"},
    "moodle": {
        "Identifier": "Participant {student}",
        "Grade": "{score}",
        "Feedback comments": "{remarks}",
    },
}


def gradebook(nbgrader: NbGrader, name: str) -> pd.DataFrame:
    """A row for each graded cell of each student."""
    answer = nbgrader.ask("marks", name)
    if answer["problem"]:
        raise Refused(f"the gradebook cannot be read: {answer['problem']}")
    columns = ["student", "cell", "points", "out_of", "by_hand"]
    return pd.DataFrame(answer["rows"], columns=columns)


def totals(folder: Path, name: str, cells: pd.DataFrame) -> pd.DataFrame:
    """A row for each student; who could not be graded has no score, and a remark."""
    if not (students := handed_in(folder, name)):
        raise Refused(f"nothing is collected for {name}; run collect first")
    path = folder / "reports" / f"{name}.csv"
    said = pd.read_csv(path, dtype=str, keep_default_na=False).groupby("student").remark
    remarks = said.agg("; ".join).to_dict()
    released = nbformat.read(folder / "release" / name / f"{name}.ipynb", as_version=4)
    out_of = sum(c.metadata.get("nbgrader", {}).get("points", 0) for c in released.cells)
    rows = []
    for student in students:
        mine = cells[cells.student == student]
        graded = is_graded(folder, student, name)
        rows.append(
            {
                "student": student,
                "assignment": name,
                "score": f"{mine.points.sum():g}" if graded else "",
                "max_score": f"{out_of:g}",
                "by_hand": f"{mine.out_of[mine.by_hand].sum():g}" if graded else "",
                "remarks": remarks.get(student, ""),
            }
        )
    return pd.DataFrame(rows)


def layout(table: pd.DataFrame, system: str, renamed: list[str]) -> pd.DataFrame:
    """The table of marks in the columns that a system wants."""
    rows = [
        {column.format(**row): value.format(**row) for column, value in LAYOUTS[system].items()}
        for row in table.to_dict("records")
    ]
    done = pd.DataFrame(rows)
    for pair in renamed:
        old, equals, new = pair.partition("=")
        if not equals or old not in done.columns:
            raise Refused(f"--rename takes OLD=NEW, OLD one of {', '.join(done)}; got {pair!r}")
        done = done.rename(columns={old: new})
    return done


def export(nbgrader: NbGrader, folder: Path, name: str, system: str, renamed: list[str]) -> None:
    """Write the marks: a table for a system, and one with every cell."""
    cells = gradebook(nbgrader, name)
    table = layout(totals(folder, name, cells), system, renamed)
    marks = folder / "marks"
    marks.mkdir(exist_ok=True)
    table.to_csv(marks / f"{name}-{system}.csv", index=False)
    cells[cells.student.isin(handed_in(folder, name))].to_csv(
        marks / f"{name}-cells.csv", index=False
    )
    print(table.iloc[:, :5].to_string(index=False))
    print(f"marks in {marks / f'{name}-{system}.csv'}")
