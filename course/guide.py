"""The guide for instructors, in three pages, and the last cell of every chapter: its exercises.

    python tools/pages.py [--check]

writes both. The prose is `book/teaching.md`, where a line `% insert: NAME` stands for a part made
here from what `teaching` read. With a fault in that nothing is written.
"""

import re
import textwrap
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode, v4

from course import bank, scaffolds
from course.checkout import ROOT, Refused, read, table, text, words
from course.teaching import Chapter, Exercise, Teaching, checked, objectives
from pdpbook.pages.exercises import ASSIGNMENTS

HEAD = "% Written by tools/pages.py; edit book/teaching.md, book/teaching.yml or the notebooks.\n\n"
LAST = "graded-exercises"  # id of the cell; `coins` has another one called exercises

# --- the page -------------------------------------------------------------------------------------


def instructors(pages: Mapping[str, object], name: str = "instructors") -> str:
    """A page of the guide: the prose of `book/teaching.md` with the generated parts put in.

    There a line `% page: NAME` begins each page but the first.
    """
    teaching, chapters, exercises = checked()
    makers: dict[str, Callable[[], str]] = {
        "syllabi": lambda: _syllabi(teaching, chapters, exercises),
        "exercises": lambda: _table(teaching, chapters, exercises),
        "versions": _versions,
        "bank": bank.listing,
        "term": lambda: _term(teaching, chapters, exercises),
        "cards": lambda: _cards(teaching, chapters, exercises),
        "slides": lambda: "".join(f"- {_slides(n, chapters[n].title)}\n" for n in _planned()),
    }

    def insert(match: re.Match[str]) -> str:
        return makers.pop(match[1])().rstrip("\n")

    prose = (ROOT / "book" / "teaching.md").read_text(encoding="utf-8")
    whole = re.sub(r"^% insert: (\w+)$", insert, prose, flags=re.M)
    if makers:
        raise Refused(f"book/teaching.md inserts no {', '.join(makers)}")
    _, *parts = re.split(r"^% page: (\w+)\n", f"% page: instructors\n{whole}", flags=re.M)
    return HEAD + dict(zip(parts[::2], parts[1::2], strict=True))[name].strip("\n") + "\n"


def _syllabi(teaching: Teaching, chapters: dict[str, Chapter], exercises: list[Exercise]) -> str:
    minutes = {one.name: one.minutes for one in exercises}
    named = {one.name: one for one in exercises}
    parts = []
    for syllabus in teaching["syllabi"]:
        parts.append(f"## {syllabus['name']}\n\n{syllabus['for'].strip()}\n")
        if syllabus["room"]:
            parts.append(f"In the room, unless it says otherwise: {_room(syllabus['room'])}.\n")
        if many := len(syllabus["meetings"]) > 1:
            parts.append("::::{dropdown} The meetings\n")
        for k, meeting in enumerate(syllabus["meetings"], start=1):
            number = f"{k}. " if many else ""
            topic = meeting["topic"] + ("" if meeting["topic"].endswith("?") else ".")
            parts.append(f"**{number}{topic}** *{meeting['question']}*\n")
            lines = []
            if meeting["read"]:
                reading = sum(chapters[n].minutes for n in meeting["read"])
                pages = ", ".join(_doc(n) for n in meeting["read"])
                lines.append(f"Read ({reading} minutes): {pages}.")
            if "room" in meeting:
                lines.append(f"In the room: {_room(meeting['room'])}.")
            if meeting["exercises"]:
                work = sum(minutes[n] for n in meeting["exercises"])
                links = ", ".join(_link(named[n]) for n in meeting["exercises"])
                lines.append(f"Exercises ({work} minutes): {links}.")
            parts.append("".join(f"- {line}\n" for line in lines))
        if many:
            parts.append("::::\n")
    return "\n".join(parts)


def _term(teaching: Teaching, chapters: dict[str, Chapter], exercises: list[Exercise]) -> str:
    """A week a row: what to read, assign and ask, and which notes go on."""
    named = {one.name: one for one in exercises}
    rows = []
    for number, week in enumerate(teaching["term"], start=1):
        minutes = sum(chapters[name].minutes for name in week["read"])
        minutes += sum(named[name].minutes for name in week["assign"])
        rows.append(
            [
                f"{number}. {week['topic']}",
                ", ".join(_doc(name) for name in week["read"]),
                ", ".join(_link(named[name]) for name in week["assign"]) or "-",
                str(minutes),
                teaching["cards"][week["read"][-1]]["discuss"][0],
                week["stops"],
            ]
        )
    head = ["week", "read", "assign", "minutes", "ask", "where it stops, who goes on"]
    return str(table(head, rows))


def _room(parts: list[dict[str, Any]]) -> str:
    return "; ".join(f"{part['what']} ({part['minutes']} minutes)" for part in parts)


def _table(teaching: Teaching, chapters: dict[str, Chapter], exercises: list[Exercise]) -> str:
    functions = [one for one in exercises if one.kind]
    questions = [one for one in exercises if not one.kind]
    parts = [
        f"{len(functions)} functions are graded by the machine and {len(questions)} questions by "
        "hand.\n"
    ]
    for name in dict.fromkeys(one.assignment for one in exercises):
        mine = [one for one in exercises if one.assignment == name]
        points, minutes = sum(one.points for one in mine), sum(one.minutes for one in mine)
        begun = [scaffolds.minutes(one.name, one.minutes) for one in mine]
        rows = [
            [
                _link(one),
                str(one.points),
                str(one.minutes),
                str(within),
                one.kind or "by hand",
                ", ".join(_doc(n) for n in one.chapters) or "the whole part",
            ]
            for one, within in zip(mine, begun, strict=True)
        ]
        head = ["exercise", "points", "minutes", "with scaffold", "kind", "trains"]
        listed = table(head, rows)
        parts.append(
            f"**{_doc(f'exercises/{name}')}**: {points} points, {minutes} minutes, "
            f"{sum(begun)} with the scaffold.\n"
        )
        parts.append(f":::{{dropdown}} {len(rows)} exercises\n{listed}:::\n")
    return "\n".join(parts)


def _versions() -> str:
    """The versions of what a course meets, as they are locked."""
    locked: dict[str, str] = {}
    for name in ("requirements.txt", "requirements-instructor.txt"):
        for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
            package, _, version = line.partition("==")
            locked.setdefault(package.lower(), version)
    packages = ("jupyter-book", "nbgrader", "jupyterlab", "numpy", "scipy", "scikit-learn")
    return ", ".join(f"{package} {locked[package]}" for package in packages) + "."


def _cards(teaching: Teaching, chapters: dict[str, Chapter], exercises: list[Exercise]) -> str:
    parts, last = [], ""
    for name, page in chapters.items():
        card, part = teaching["cards"][name], name.partition("/")[0]
        if part != last:
            parts.append(f"## {words(part)}\n")
        last = part
        mine = [one for one in exercises if name in one.chapters]
        work = f"{sum(one.minutes for one in mine)} minutes of exercises" if mine else "no exercise"
        after = ", ".join(_doc(n) for n in card["after"])
        links = ", ".join(_link(one) for one in mine)
        parts.append(
            f"### {page.title}\n\n{_doc(name)}: {page.minutes} minutes to read and run, {work}, "
            f"difficulty {card['difficulty']} of 3."
            + f" Before it: {after}." * bool(after)
            + f" Exercises: {links}." * bool(links)
            + (f" {_slides(name, 'Slides')} are made from it.\n" if name in _planned() else "\n")
        )
        able = "; ".join(_small(one).rstrip(".") for one in page.objectives)
        wrong = "".join(f"- *{one['said']}* {one['but']}\n" for one in card["misconceptions"])
        asked = "".join(f"- {question}\n" for question in card["discuss"])
        parts.append(
            ":::{dropdown} Objectives, what students get wrong, what to discuss\n"
            f"Students can afterwards {able}.\n\n{wrong}\nTo discuss:\n\n{asked}:::\n"
        )
    return "\n".join(parts)


def _planned() -> list[str]:
    """The chapters that have slides (`tools/slides.py`)."""
    return list(yaml.safe_load((ROOT / "book" / "slides.yml").read_text(encoding="utf-8")))


def _slides(name: str, words: str) -> str:
    return f'<a href="../../slides/{name}.html">{words}</a>'


# --- the last cell of a chapter -------------------------------------------------------------------


def last_cell(page: Chapter, teaching: Teaching, exercises: list[Exercise]) -> str:
    """Links to the exercises that train a chapter, each with the objective it trains.

    A core chapter has exercises of its own, and folds this list.
    """
    lines = []
    for one in exercises:
        if page.name in one.chapters:
            [objective] = objectives(teaching["trains"][one.name], page)
            line = f"{one.points} points, {one.minutes} minutes, trains: {_small(objective)}"
            lines.append(f"- {_link(one)},\n{_wrapped(line, '  ')}")
    if not lines:
        part = page.name.partition("/")[0]
        assignment = part if part in ASSIGNMENTS else "capstone"
        solved = nbformat.read(ROOT / "book" / "exercises" / f"{assignment}.ipynb", as_version=4)
        title = read(assignment, solved).title
        question = teaching["cards"][page.name]["discuss"][0]
        lines.append(
            _wrapped(
                f"No exercise is about this page alone. Those of its part are "
                f"[{title}](../exercises/{assignment}.ipynb). To discuss instead: *{question}*"
            )
        )
    if page.core:
        return ":::{dropdown} Graded exercises\n" + "\n".join(lines) + "\n:::"
    return "## Graded exercises\n\n" + "\n".join(lines)


def with_last_cell(notebook: NotebookNode, source: str) -> NotebookNode:
    """The notebook with this cell at its end, in the place of the one it had."""
    notebook.cells = [cell for cell in notebook.cells if cell.id != LAST]
    notebook.cells.append(v4.new_markdown_cell(source, id=LAST))
    return notebook


def write_last_cells(pages: Iterable[str], *, check: bool) -> int:
    """Write the last cells of these chapters, or compare them; returns the exit code."""
    try:
        teaching, chapters, exercises = checked()
    except Refused:  # `instructors` is refused for the same reason, and says it
        return 1
    code = 0
    for name in pages:
        if name not in chapters:
            continue
        path = ROOT / "book" / f"{name}.ipynb"
        before = path.read_text(encoding="utf-8")
        source = last_cell(chapters[name], teaching, exercises)
        notebook = with_last_cell(nbformat.reads(before, as_version=4), source)
        after = text(notebook)
        if after == before:
            continue
        print(f"book/{name}.ipynb: its last cell {'is out of date' if check else 'written'}")
        if check:
            code = 1
        else:
            path.write_text(after, encoding="utf-8")
    return code


# --- MyST -----------------------------------------------------------------------------------------


def _doc(name: str) -> str:
    return f"{{doc}}`/book/{name}`"


def _link(one: Exercise) -> str:
    """A link to the heading of an exercise; JupyterLab opens the notebook, too."""
    slug = re.sub(r"[^\w\- ]", "", one.heading.lower()).replace(" ", "-")
    return f"[**{one.name}**](../exercises/{one.assignment}.ipynb#{slug})"


def _small(text: str) -> str:
    """With a small first letter, unless the word is a name in capitals."""
    return text if text[1:2].isupper() else text[:1].lower() + text[1:]


def _wrapped(text: str, indent: str = "") -> str:
    return textwrap.fill(
        text,
        75,
        initial_indent=indent,
        subsequent_indent=indent,
        break_long_words=False,
        break_on_hyphens=False,
    )
