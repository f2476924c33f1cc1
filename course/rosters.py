"""The table that a platform takes, made from the list of students that it gave.

Canvas: the export of the gradebook. Its guide to imports, and the importer in its public source,
ask for `Student` and `ID` first, then `SIS User ID` and `SIS Login ID` if there are any, and
`Section` last before the assignments; a row `Points Possible` says what an assignment has. A column
is known by its title or by "title (number)"; any other title makes a new assignment.

Moodle: the grading worksheet of the assignment, whose importer asks for `Identifier`, `Grade` and
`Last modified (grade)`, and skips a grade above the maximum without a word; or any table with
`Email address`, `ID number` or `Username`, by which its import of grades knows people.
"""

import re
from pathlib import Path

import pandas as pd

from course.checkout import Refused
from course.collect import plain_name

CANVAS = ("Student", "ID", "SIS User ID", "SIS Login ID", "Integration ID", "Root Account")
WORKSHEET = ("Identifier", "Grade", "Last modified (grade)")
PEOPLE = ("Email address", "ID number", "Username")
COMMENTS = "Feedback comments"
SYSTEMS = ("canvas", "moodle")


def read(path: Path) -> pd.DataFrame:
    """A table as platforms write it: commas or semicolons, perhaps with a mark of its encoding."""
    head = path.read_text(encoding="utf-8-sig").partition("\n")[0]
    sep = ";" if head.count(";") > head.count(",") else ","
    table = pd.read_csv(path, sep=sep, dtype=str, keep_default_na=False, encoding="utf-8-sig")
    return table.rename(columns=str.strip)


def filled(
    roster: pd.DataFrame, marks: pd.DataFrame, system: str, title: str, by: str
) -> pd.DataFrame:
    """The roster with the marks of an assignment in the columns that the system wants.

    Only what identifies a student and the column of the assignment are kept; students of the
    roster without marks keep what stands there.
    """
    if system == "canvas":
        table, column = _canvas(roster, title)
        students = ~table.Student.str.contains("Points Possible", regex=False)
        table.loc[~students & (table[column] == ""), column] = marks.max_score.iloc[0]
        largest = table.loc[~students, column]
        identity = [name for name in CANVAS if name in table]
    else:
        table, column = _moodle(roster, title)
        students = pd.Series(True, index=table.index)
        largest = table.get("Maximum Grade", pd.Series(dtype=str))
        identity = [name for name in table if name not in (column, COMMENTS, "Maximum Grade")]
    places = _places(table[students], marks.student, identity, by)
    for row in marks.to_dict("records"):
        if row["student"] not in places or row["score"] == "":
            print(f"  {row['student']}: not in the table" + ", not graded" * (row["score"] == ""))
            continue
        table.loc[places[row["student"]], column] = row["score"]
        if system == "moodle":
            table.loc[places[row["student"]], COMMENTS] = row["feedback"]
    most = float(marks.max_score.iloc[0])
    said = pd.to_numeric(largest.str.replace(",", "."), errors="coerce").dropna()
    if system == "moodle" and (pd.to_numeric(marks.score) > said.min()).any():
        raise Refused(f"Moodle skips grades above its maximum: {said.min():g}, and {most:g} here")
    if (said != most).any():
        print(f"  {column} has {said.iloc[0]:g} points there and {most:g} here")
    return table


def _canvas(roster: pd.DataFrame, title: str) -> tuple[pd.DataFrame, str]:
    head = list(roster)
    if head[:2] != ["Student", "ID"] or "Section" not in head:
        raise Refused(
            "--roster is no gradebook of Canvas: it begins with Student, ID, ..., Section"
        )
    column = _column(head, title)
    kept = [name for name in CANVAS if name in head] + ["Section"]
    table = roster.reindex(columns=[*kept, column], fill_value="")
    is_pp = table.Student.str.contains("Points Possible", regex=False)
    people = is_pp | (table.ID != "") | (table.Student != "")
    table = table[people & ~table.Student.str.fullmatch(r"\s*(Muted|Manual Posting.*)?\s*")]
    if not is_pp.any():
        first = pd.DataFrame([dict.fromkeys(table, "") | {"Student": "Points Possible"}])
        table = pd.concat([first, table])
    return table.reset_index(drop=True), column


def _moodle(roster: pd.DataFrame, title: str) -> tuple[pd.DataFrame, str]:
    head = list(roster)
    if set(WORKSHEET) <= set(head):
        return roster.assign(**{COMMENTS: roster.get(COMMENTS, "")}), "Grade"
    if known := [name for name in PEOPLE if name in head]:
        names = [n for n in ("First name", "Last name", "Surname") if n in head]
        column = _column(head, title)
        return roster.reindex(columns=[*names, *known, column, COMMENTS], fill_value=""), column
    raise Refused(
        f"--roster is no table of Moodle: it has neither {', '.join(WORKSHEET)} nor one of "
        f"{', '.join(PEOPLE)}"
    )


def _column(head: list[str], title: str) -> str:
    """The column of an assignment, with the number or unit that platforms add to its title."""
    found = [n for n in head if re.sub(r" \([^()]*\)$", "", n).casefold() == title.casefold()]
    found = [title] if title in head else found
    if len(found) > 1:
        raise Refused(f"--column: {', '.join(found)} are all called {title}; name one in full")
    if not found:
        print(f"  there is no column {title} yet; the platform makes one, or name yours: --column")
    return (found or [title])[0]


def _places(
    table: pd.DataFrame, students: "pd.Series[str]", identity: list[str], by: str
) -> dict[str, int]:
    """The row of each student, by the one column that knows most of them."""
    if by and by not in identity:
        raise Refused(f"--by takes one of {', '.join(identity)}; got {by!r}")
    found: dict[str, dict[str, int]] = {}
    twice = set[str]()
    for name in [by] if by else identity:
        keys = table[name].str.removeprefix("Participant ").map(plain_name).str.casefold()
        places = {key: at for at, key in keys[~keys.duplicated(keep=False)].items()}
        found[name] = {s: places[s.casefold()] for s in students if s.casefold() in places}
        twice |= {s for s in students if s.casefold() in set(keys[keys.duplicated()])}
    best = max(found.values(), key=len)
    if doubtful := sorted(twice - best.keys()):
        raise Refused(
            f"{' and '.join(doubtful)} stands twice in the list of the platform; choose a column "
            "that tells them apart: --by"
        )
    rivals = [n for n, one in found.items() if len(one) == len(best) and one != best]
    if best and rivals:
        first = next(n for n, one in found.items() if one is best)
        raise Refused(f"students are known by {first} and, otherwise, by {rivals[0]}; choose: --by")
    return best
