"""The table of marks of an assignment, in the columns of the system that takes it."""

import json
import zipfile
from pathlib import Path

import pandas as pd

from course import marking, results, rosters
from course.checkout import Refused
from course.collect import paths
from course.coursework import NbGrader, handed_in, is_graded, path_of
from course.cuts import questions
from course.grading import HOLD
from course.settings import Course


def gradebook(nbgrader: NbGrader, name: str) -> pd.DataFrame:
    """A row for each graded cell of each student."""
    answer = nbgrader.ask("marks", name)
    if answer["problem"]:
        raise Refused(f"the gradebook cannot be read: {answer['problem']}")
    cells = pd.DataFrame(answer["rows"], columns=["student", "cell", "points", "out_of", "by_hand"])
    parts = cells.cell.str.partition("-")
    said = {one: _said(nbgrader.folder, one, name) for one in cells.student.unique()}
    return pd.DataFrame(
        {
            "student": cells.student,
            "exercise": parts[0],
            "part": parts[2].where(parts[2] != "", "by hand"),
            "points": cells.points,
            "out_of": cells.out_of,
            "message": [
                said[student].get(cell, "")
                for student, cell in zip(cells.student, cells.cell, strict=True)
            ],
            "waiting": cells.by_hand.astype(bool),
        }
    )


def _said(folder: Path, student: str, name: str) -> dict[str, str]:
    """What the grader wrote below each test of a graded notebook."""
    path, said = path_of(folder, "autograded", student, name), {}
    if path.is_file():
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            words = "".join("".join(one.get("text", "")) for one in cell.get("outputs", [])).strip()
            role = cell["metadata"].get("nbgrader", {})
            lines = [line for line in words.split("\n") if not line.startswith("    ")]  # no calls
            said[role.get("grade_id")] = "" if words == HOLD else "; ".join(lines)
    return said


def counted(course: Course, name: str, rows: pd.DataFrame) -> pd.DataFrame:
    """The rows with the points that the settings of the course give to an exercise."""
    return results.counted(rows, worths(course, name), ["student", "exercise"])


def worths(course: Course, name: str) -> dict[str, float]:
    """The points of each exercise and question."""
    return {one.name: course.points.get(one.name, one.points) for one in questions(name, course)}


def totals(course: Course, name: str, rows: pd.DataFrame, graded: list[str]) -> pd.DataFrame:
    """A row for each student; who could not be graded has no score, and a remark."""
    if not (students := handed_in(course.folder, name)):
        raise Refused(f"nothing is handed in for {name}; run grade first")
    path = course.folder / "reports" / f"{name}.csv"
    said = pd.read_csv(path, dtype=str, keep_default_na=False).groupby("student").remark
    remarks = said.agg("; ".join).to_dict()
    most = sum(worths(course, name).values())
    table = []
    for student in students:
        mine = rows[rows.student == student]
        failed = mine[mine.message != ""]
        lines = [f"{one.exercise}, {one.part}: {one.message}" for one in failed.itertuples()]
        table.append(
            {
                "student": student,
                "assignment": name,
                "score": f"{mine.points.sum():g}" if student in graded else "",
                "max_score": f"{most:g}",
                "by_hand": f"{mine.out_of[mine.waiting].sum():g}" if student in graded else "",
                "remarks": remarks.get(student, ""),
                "feedback": "; ".join(lines),
            }
        )
    return pd.DataFrame(table)


def export(
    course: Course, nbgrader: NbGrader | None, name: str, system: str, roster: Path | None,
    title: str = "", by: str = "",
) -> None:  # fmt: skip
    """Write the marks: a table for a system with its zip of feedback, and one with every part."""
    folder, marks = course.folder, course.folder / "marks"
    marks.mkdir(exist_ok=True)
    if nbgrader:
        rows = gradebook(nbgrader, name)
        rows = counted(course, name, rows[rows.student.isin(handed_in(folder, name))])
        rows.to_csv(marks / f"{name}-details.csv", index=False)
        graded = [s for s in handed_in(folder, name) if is_graded(folder, s, name)]
        table = totals(course, name, rows, graded)
    else:
        rows = counted(course, name, marking.rows(course, name))
        table = totals(course, name, rows, marking.graded(course, name))
        marking.feedback(course, name, rows, table)
    table.to_csv(marks / f"{name}.csv", index=False)
    print(table.iloc[:, :5].to_string(index=False))
    print(f"marks in {marks / f'{name}.csv'}, feedback in {folder / 'feedback'}")
    if system == "plain":
        return
    if roster is None:
        raise Refused(f"--for {system} needs --roster FILE, the table of students that it exports")
    place = marks / f"{name}-{system}.csv"
    filled = rosters.filled(rosters.read(roster), table, system, title or name, by)
    filled.to_csv(place, index=False)
    count = _zip(course, name, place.with_name(f"{name}-{system}-feedback.zip"))
    print(f"for {system}: {place}, and {count} pages of feedback in a zip beside it")


def _zip(course: Course, name: str, place: Path) -> int:
    """Pages of feedback under the names that a platform gave to what was handed in.

    Where those names do not tell students apart, each page begins with the student's. Both know
    a student by the first part of the path: Canvas by name_number_number_ of the file, Moodle by
    name_number_assignsubmission_file of the folder.
    """
    pages = [
        (page, student, path, file)
        for student, path, file in paths(course.folder / "collected" / name)
        if (page := path_of(course.folder, "feedback", student, name, "html")).is_file()
    ]
    folders = [path.removesuffix(file) for _, _, path, file in pages]
    named = len(set(folders)) == len(folders) and all(folders)  # what stands before tells students
    with zipfile.ZipFile(place, "w", zipfile.ZIP_DEFLATED) as archive:
        for (page, student, _, _), folder in zip(pages, folders, strict=True):
            archive.write(page, f"{folder}{'' if named else f'{student}_'}feedback.html")
    return len(pages)
