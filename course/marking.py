"""Marks by the grader of the book, without nbgrader: a table, questions by hand, feedback."""

import hashlib
import html
import json
from itertools import zip_longest
from pathlib import Path
from typing import Any

import pandas as pd

from course import byhand
from course.arguments import PREFIX, marked, rubrics
from course.checkout import Refused
from course.coursework import handed_in, path_of, progress, report
from course.cuts import questions, split
from course.grading import grade
from course.results import lost
from course.settings import Course

DETAILS = ["student", "exercise", "part", "points", "out_of", "message", "shown", "digest"]
RULES = "promises, what is given is left"  # marks by other rules are given anew
BY_HAND = ["student", "exercise", "points", "out_of"]
PAGE = """\
<!doctype html>
<html lang="en"><meta charset="utf-8"><title>{title}</title>
<meta name="viewport" content="width=device-width">
<style>body {{ font: 1rem/1.5 sans-serif; max-width: 50rem; margin: 2rem auto; padding: 0 1rem }}
ul {{ margin: 0; padding-left: 1rem }}
pre {{ overflow-x: auto; max-width: 40rem; background: #f4f4f4; padding: .25rem .5rem }}
td, th {{ text-align: left; vertical-align: top; padding: .25rem .75rem .25rem 0 }}</style>
<h1>{title}</h1>
<p>{total}</p>
<table><tr><th>exercise</th><th>part</th><th>points</th><th>what does not hold</th></tr>
{rows}
</table></html>
"""


def mark(course: Course, name: str, seconds: float, again: bool) -> None:
    """Grade what is new, or everything, and write the tables and a page for each student."""
    folder, tested = course.folder, {one.name for one in questions(name, course) if one.kind}
    path = folder / "marks" / f"{name}-details.csv"
    old = _read(path, DETAILS)
    students, by_hand = handed_in(folder, name), _by_hand(course, name)  # before their code runs
    remarks: dict[str, list[str]] = {student: [] for student in students}
    for student in progress(students, "grade"):
        try:
            (file,) = (folder / "collected" / name / student).glob("[!.]*")
            known = file.read_bytes() + f"{course.seed} {RULES}".encode()
            digest = hashlib.sha256(known).hexdigest()[:16]
            if not again and set(old.digest[old.student == student]) == {digest}:
                continue
            old = old[old.student != student]
            table = grade(file, split(name)[0], seed=course.seed, seconds=seconds)
            if problem := table.attrs["problem"]:
                raise Refused(problem)
        except Exception as error:  # it costs nobody else
            kind = "" if isinstance(error, Refused) else f"{type(error).__name__}: "
            words = f"not graded: {kind}{error}"[:300]
            remarks[student].append(words.encode(errors="replace").decode())
            continue
        table = table[table.exercise.isin(tested)].assign(student=student, digest=digest)
        old = pd.concat([old, table[DETAILS].astype(str)])
        _write(old, path)
    _write(old[old.student.isin(students)], path)
    _write(by_hand, path.with_name(f"{name}-by-hand.csv"))
    byhand.write(folder, name, by_hand)
    report(folder, name, "grade", remarks)


def graded(course: Course, name: str) -> list[str]:
    """Students who were graded; all of them if nothing is graded but by hand."""
    if not any(one.kind for one in questions(name, course)):
        return handed_in(course.folder, name)
    details = _read(course.folder / "marks" / f"{name}-details.csv", DETAILS)
    return sorted({*details.student})


def rows(course: Course, name: str) -> pd.DataFrame:
    """A row for each part of each student; `waiting` is what nobody has graded by hand yet."""
    details = _read(course.folder / "marks" / f"{name}-details.csv", DETAILS)
    hand = _by_hand(course, name).assign(part="by hand", message="", shown="[]")
    known = rubrics(split(name)[0])
    for at, row in hand.iterrows():
        written = str(row.points).strip()
        if written and (row.exercise.startswith(PREFIX) or " " in written):  # else plain points
            rubric = known[row.exercise].rubric
            points, lacking = marked(row.student, row.exercise, row.points, rubric)
            hand.loc[at, ["points", "message"]] = f"{points:g}", lacking
    table = pd.concat([details, hand])
    table["waiting"] = table.points == ""
    for column in ("points", "out_of"):
        table[column] = pd.to_numeric(table[column].replace("", "0"), errors="coerce")
    for row in table[~table.points.between(0, table.out_of)].itertuples():
        raise Refused(f"{row.student}, {row.exercise}: points must be from 0 to {row.out_of:g}")
    return table.drop(columns="digest").sort_values("student", kind="stable")


def feedback(course: Course, name: str, table: pd.DataFrame, totals: pd.DataFrame) -> None:
    """The page that each student may read: what was earned, and by which calls what was lost."""
    for row in totals.to_dict("records"):
        if row["score"] == "":  # who could not be graded
            path_of(course.folder, "feedback", row["student"], name, "html").unlink(missing_ok=True)
            continue
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
    parts = zip_longest(lost(one.message), json.loads(one.shown), fillvalue="")
    message = "".join(
        f"<li>{html.escape(part)}{f'<pre>{html.escape(calls)}</pre>' * bool(calls)}</li>"
        for part, calls in parts
    )
    cells = (
        one.exercise.replace("_", "_<wbr>"),
        one.part,
        points,
        f"<ul>{message}</ul>" * bool(message),
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
