"""Marks by the grader of the book, without nbgrader: a table, questions by hand, feedback."""

import hashlib
import html
import re
from pathlib import Path
from typing import Any

import pandas as pd

from course.checkout import Refused
from course.coursework import handed_in, path_of, progress
from course.cuts import questions, split
from course.grading import grade
from course.settings import Course

DETAILS = ["student", "exercise", "part", "points", "out_of", "message", "digest"]
BY_HAND = ["student", "exercise", "points", "out_of"]
PAGE = """\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>body {{ font: 1rem/1.5 sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }}
ul {{ margin: 0; padding-left: 1rem }}
td, th {{ text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0 }}</style>
<h1>{title}</h1>
<p>{total}</p>
<table><tr><th>exercise</th><th>part</th><th>points</th><th>what does not hold</th></tr>
{rows}
</table></html>
"""


def mark(course: Course, name: str, seconds: float, again: bool) -> None:
    """Grade what is new, or everything, and write the tables and a page for each student."""
    folder, graded = course.folder, {one.name for one in questions(name, course) if one.kind}
    path = folder / "marks" / f"{name}-details.csv"
    old = _read(path, DETAILS)
    students = handed_in(folder, name)
    for student in progress(students, "grade"):
        (file,) = (folder / "collected" / name / student).glob("[!.]*")
        digest = hashlib.sha256(file.read_bytes() + f"{course.seed}".encode()).hexdigest()[:16]
        if again or set(old.digest[old.student == student]) != {digest}:
            table = grade(file, split(name)[0], seed=course.seed, seconds=seconds)
            table = table[table.exercise.isin(graded)].assign(student=student, digest=digest)
            old = pd.concat([old[old.student != student], table[DETAILS].astype(str)])
            _write(old, path)
    _write(old[old.student.isin(students)], path)
    _write(_by_hand(course, name), path.with_name(f"{name}-by-hand.csv"))


def rows(course: Course, name: str) -> pd.DataFrame:
    """A row for each part of each student; `waiting` is what nobody has graded by hand yet."""
    details = _read(course.folder / "marks" / f"{name}-details.csv", DETAILS)
    hand = _by_hand(course, name).assign(part="by hand", message="")
    table = pd.concat([details, hand])
    table["waiting"] = table.points == ""
    for column in ("points", "out_of"):
        table[column] = pd.to_numeric(table[column].replace("", "0"), errors="coerce")
    for row in table[~table.points.between(0, table.out_of)].itertuples():
        raise Refused(f"{row.student}, {row.exercise}: points must be from 0 to {row.out_of:g}")
    return table.drop(columns="digest").sort_values("student", kind="stable")


def feedback(course: Course, name: str, table: pd.DataFrame, totals: pd.DataFrame) -> None:
    """The page that each student may read: what was earned, and which property does not hold."""
    for row in totals.to_dict("records"):
        mine = table[table.student == row["student"]]
        lines = "\n".join(_line(one) for one in mine.itertuples())
        page = path_of(course.folder, "feedback", row["student"], name, "html")
        page.parent.mkdir(parents=True, exist_ok=True)
        waiting = f", {row['by_hand']} more by hand" * (row["by_hand"] != "0")
        content = PAGE.format(
            title=html.escape(f"{name}: {row['student']}"),
            total=f"{row['score']} of {row['max_score']} points{waiting}",
            rows=lines,
        )
        page.write_text(content, encoding="utf-8")


def _line(one: Any) -> str:
    """A row of a page of feedback, with a property that does not hold in each line."""
    points = "waiting" if one.waiting else f"{one.points:g} of {one.out_of:g}"
    lost = re.split(r"; (?=-[\d.]+: )", one.message) if one.message else []
    message = "".join(f"<li>{html.escape(part)}</li>" for part in lost)
    cells = (
        one.exercise.replace("_", "_<wbr>"),
        one.part,
        points,
        f"<ul>{message}</ul>" * bool(lost),
    )
    return f"<tr>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"


def _by_hand(course: Course, name: str) -> pd.DataFrame:
    """The questions by hand of everybody, with the points that somebody wrote there."""
    given = _read(course.folder / "marks" / f"{name}-by-hand.csv", BY_HAND)
    points = dict(zip(zip(given.student, given.exercise, strict=True), given.points, strict=True))
    asked = [one for one in questions(name, course) if not one.kind]
    table = [
        (student, one.name, points.get((student, one.name), ""), str(one.points))
        for student in handed_in(course.folder, name)
        for one in asked
    ]
    return pd.DataFrame(table, columns=BY_HAND)


def _read(path: Path, columns: list[str]) -> pd.DataFrame:
    if not path.is_file():
        return pd.DataFrame(columns=columns, dtype=str)
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def _write(table: pd.DataFrame, path: Path) -> None:
    path.parent.mkdir(exist_ok=True)
    table.to_csv(path, index=False)
