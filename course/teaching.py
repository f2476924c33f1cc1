"""What instructors need to know about the chapters and the exercises, and whether it fits together.

Claims, objectives, minutes, points and kinds are read off the notebooks. Cards, syllabi and the
objective that each exercise trains are `book/teaching.yml`; the card of a core chapter, or of a
page of the appendix, has its objectives and minutes, too. A depth page belongs to its chapter and
has no card. `guide` writes about them.
"""

import re
from dataclasses import dataclass
from typing import Any

import nbformat
import yaml
from nbformat import NotebookNode

from course.checkout import REFERENCE, ROOT, Refused, files, mark, published, statements, words
from pdpbook.pages.exercises import ASSIGNMENTS

HEADING = re.compile(r"^## +(.+?) *$", re.M)
EXERCISE = re.compile(
    r"^\*\*(?P<name>\w+)\*\* · (?P<points>\d+) points"
    r"(?:, graded by hand)? · (?P<minutes>\d+) minutes"
    r"(?: · (?P<kind>warm-up|core|attack) · trains\s(?P<trains>(?:.+\n?)+))?",
    re.M,
)
CARD = ("difficulty", "after", "misconceptions", "discuss")
OF_CORE = ("minutes", "objectives")  # which other chapters say at their top
DECIMAL = re.compile(r"\d+\.\d+")
Teaching = dict[str, Any]


@dataclass(frozen=True)
class Chapter:
    """What the top of a chapter, or the card of a core chapter, says about it."""

    name: str
    title: str
    claim: str
    objectives: list[str]
    minutes: int
    needed: str
    text: str
    core: bool = False


@dataclass(frozen=True)
class Exercise:
    """What the line in bold of an exercise says, and the heading above; by hand it has no kind."""

    assignment: str
    heading: str
    name: str
    points: int
    minutes: int
    kind: str
    chapters: tuple[str, ...]


# --- what the notebooks say -----------------------------------------------------------------------


def chapter(name: str, notebook: NotebookNode, card: dict[str, Any] | None = None) -> Chapter:
    """Title, claim, objectives, minutes and needs of a chapter."""
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    top = re.match(r"# +(.+)\n\s*((?:[^#\n].*\n)+)", text)
    if mark(notebook) in ("core", "appendix"):
        if not (top and card and card.keys() >= set(OF_CORE)):
            raise Refused(f"book/{name}.ipynb or its card has no claim, objectives or minutes")
        return Chapter(
            name, top[1], flat(top[2]), card["objectives"], card["minutes"], "", text, core=True
        )
    able = re.search(r"^## What you will be able to do\n(.*?)^Time: ", text, re.M | re.S)
    time = re.search(r"^Time: (\d+) minutes\. Needed: (.+?)(?=\n\n|\Z)", text, re.M | re.S)
    if not (top and able and time):
        raise Refused(f"book/{name}.ipynb does not begin with claim, objectives, time and needs")
    objectives = [flat(one) for one in re.split(r"^- ", able[1], flags=re.M)[1:]]
    needed = re.split(r"\. (?=[A-Z])", flat(time[2]))[0].rstrip(".") + "."
    return Chapter(name, top[1], flat(top[2]), objectives, int(time[1]), needed, text)


def exercises_of(assignment: str, notebook: NotebookNode) -> list[Exercise]:
    """The exercises of an assignment, in its order."""
    text = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    found = []
    for match in EXERCISE.finditer(text):
        heading = HEADING.findall(text[: match.start()])[-1]
        trains = re.findall(r"\]\(\.\./([\w/]+)\.ipynb\)", match["trains"] or "")
        numbers = int(match["points"]), int(match["minutes"])
        kind = match["kind"] or ""
        found.append(Exercise(assignment, heading, match["name"], *numbers, kind, tuple(trains)))
    return found


def load() -> tuple[Teaching, dict[str, Chapter], list[Exercise]]:
    """The YAML file, the chapters in the order of the contents, and all exercises."""
    teaching = yaml.safe_load((ROOT / "book" / "teaching.yml").read_text(encoding="utf-8"))
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = list(files(contents))
    ordered = sorted(published().items(), key=lambda item: listed.index(f"book/{item[0]}"))
    read = {name: nbformat.read(path, as_version=4) for name, path in ordered}
    chapters = {
        name: chapter(name, notebook, teaching["cards"].get(name))
        for name, notebook in read.items()
        if mark(notebook) != "depth"
    }
    paths = {name: ROOT / "book" / "exercises" / f"{name}.ipynb" for name in ASSIGNMENTS}
    found = [
        one
        for name, path in paths.items()
        if path.is_file()
        for one in exercises_of(name, nbformat.read(path, as_version=4))
    ]
    return teaching, chapters, found


# --- what must fit together -----------------------------------------------------------------------


def faults(
    teaching: Teaching, chapters: dict[str, Chapter], exercises: list[Exercise]
) -> list[str]:
    """Everything that does not fit together, a line each."""
    names = list(chapters)
    wrong = [f"{name} has no card" for name in names if name not in teaching["cards"]]
    for name, card in teaching["cards"].items():
        if name not in chapters:
            wrong.append(f"the card {name} belongs to no chapter")
            continue
        wrong += [f"card {name}: {line}" for line in _card_faults(card, chapters[name], names)]
    wrong += _exercise_faults(teaching["trains"], chapters, exercises)
    for syllabus in teaching["syllabi"]:
        lines = _syllabus_faults(syllabus, teaching["cards"], chapters, exercises)
        wrong += [f"{syllabus['name']}: {line}" for line in lines]
    return wrong + [f"term: {line}" for line in _term_faults(teaching, chapters, exercises)]


def _term_faults(
    teaching: Teaching, chapters: dict[str, Chapter], exercises: list[Exercise]
) -> list[str]:
    """Weeks that name what there is not, give an exercise too early, or anything twice."""
    wrong: list[str] = []
    trained = {one.name: one.chapters for one in exercises}
    read: list[str] = []
    given: list[str] = []
    for week in teaching.get("term", []):
        if set(week) != {"topic", "read", "assign", "stops"} or not week["read"]:
            wrong.append(f"{week.get('topic')}: must have topic, read, assign, stops")
            continue
        read += week["read"]
        given += week["assign"]
        wrong += [f"there is no page {name}" for name in week["read"] if name not in chapters]
        for name in week["assign"]:
            if name not in trained:
                wrong.append(f"there is no exercise {name}")
            elif missing := set(trained[name]) - set(read):
                wrong.append(f"{name} is given before {', '.join(sorted(missing))} is read")
    twice = [name for names in (read, given) for name in names if names.count(name) > 1]
    return wrong + [f"{name} stands twice" for name in dict.fromkeys(twice)]


def _card_faults(card: dict[str, Any], page: Chapter, names: list[str]) -> list[str]:
    wrong = []
    fields = CARD + (OF_CORE if page.core else ())
    if set(card) != set(fields):
        return [f"must have {', '.join(fields)}; got {', '.join(card)}"]
    if card["difficulty"] not in (1, 2, 3):
        wrong.append("difficulty must be 1, 2 or 3")
    if len(card["misconceptions"]) not in (2, 3) or len(card["discuss"]) != 2:
        wrong.append("needs two or three misconceptions and two questions to discuss")
    for other in card["after"]:
        if other not in names:
            wrong.append(f"comes after {other}, which is no chapter")
        elif names.index(other) >= names.index(page.name):
            wrong.append(f"comes after {other}, which the book has later")
    home = {row["label"]: row["chapter"] for row in statements()}
    wanted = {home[label] for label in REFERENCE.findall(page.needed) if label in home}
    wanted |= set(re.findall(r"\]\(\.\./([\w/]+)\.ipynb\)", page.needed))
    prose = re.sub(r"\{[\w:]+\}`[^`]*`|\[[^]]*\]\([^)]*\)", "", page.needed)
    wrong += [
        f"the page needs {other}, and the card does not say so"
        for other in sorted(wanted)
        if other not in card["after"]
    ]
    for stem in {n.partition("/")[2] for n in names} - {page.name.partition("/")[2]}:
        said = re.search(rf"\b{re.escape(words(stem))}\b", prose, re.I)
        if said and not any(other.endswith(f"/{stem}") for other in card["after"]):
            wrong.append(f"the page needs {said[0]!r}, and the card does not say so")
    said_here = yaml.safe_dump([card["misconceptions"], card["discuss"]])
    wrong += [
        f"{number} does not stand on the page"
        for number in DECIMAL.findall(said_here)
        if number not in page.text
    ]
    return wrong


def _exercise_faults(
    trains: dict[str, list[str]], chapters: dict[str, Chapter], exercises: list[Exercise]
) -> list[str]:
    known = {one.name for one in exercises if one.kind}
    wrong = [f"trains: there is no exercise {name}" for name in trains if name not in known]
    for one in exercises:
        if not one.kind:
            continue
        starts = trains.get(one.name, [])
        if not one.chapters or len(starts) != len(one.chapters):
            wrong.append(
                f"{one.name}: trains {len(one.chapters)} chapters, and {len(starts)} objectives"
            )
        for name in one.chapters:
            if name not in chapters:
                wrong.append(f"{one.name} trains {name}, which is no chapter")
            elif len(found := objectives(starts, chapters[name])) != 1:
                wrong.append(f"{one.name}: {len(found)} objectives of {name} begin as it says")
    return wrong


def objectives(starts: list[str], page: Chapter) -> list[str]:
    """The objectives of a chapter that begin in one of these ways."""
    return [objective for objective in page.objectives if objective.startswith(tuple(starts))]


def _syllabus_faults(
    syllabus: dict[str, Any],
    cards: Teaching,
    chapters: dict[str, Chapter],
    exercises: list[Exercise],
) -> list[str]:
    wrong: list[str] = []
    read: list[str] = []
    minutes = {one.name: one.minutes for one in exercises}
    everything = [name for meeting in syllabus["meetings"] for name in meeting["read"]]
    given = [name for meeting in syllabus["meetings"] for name in meeting["exercises"]]
    for meeting in syllabus["meetings"]:
        topic = meeting["topic"]
        unknown = [n for n in meeting["read"] if n not in chapters or n not in cards]
        unknown += [n for n in meeting["exercises"] if n not in minutes]
        if unknown:
            wrong.append(f"{topic}: there is no {', '.join(unknown)}")
            continue
        parts = meeting.get("room", syllabus["room"])
        if any(set(part) != {"what", "minutes"} for part in parts):
            wrong.append(f"{topic}: a part of it has other fields than what and minutes")
            continue
        room = sum(part["minutes"] for part in parts)
        if room != syllabus["minutes"]:
            wrong.append(f"{topic}: {room} minutes in a meeting of {syllabus['minutes']}")
        home = sum(chapters[n].minutes for n in meeting["read"])
        home += sum(minutes[n] for n in meeting["exercises"])
        if home > syllabus["home"]:
            wrong.append(f"{topic}: {home} minutes at home, more than {syllabus['home']}")
        for name in meeting["read"]:
            read.append(name)
            missing = [n for n in cards[name]["after"] if n in everything and n not in read]
            if missing:
                wrong.append(f"{topic}: {name} is read before {', '.join(missing)}")
        late = {
            f"{one.name} is given before {name} is read"
            for one in exercises
            for name in one.chapters
            if one.name in meeting["exercises"] and name not in read
        }
        wrong += [f"{topic}: {line}" for line in sorted(late)]
    for kind, names in (("read", everything), ("given", given)):
        wrong += [f"{n} is {kind} twice" for n in dict.fromkeys(names) if names.count(n) > 1]
    return wrong


def flat(text: str) -> str:
    """On one line."""
    return " ".join(text.split())


def checked() -> tuple[Teaching, dict[str, Chapter], list[Exercise]]:
    """What `load` returns, if it fits together."""
    found = load()
    if wrong := faults(*found):
        raise Refused("\n".join(f"book/teaching.yml: {line}" for line in wrong))
    return found
