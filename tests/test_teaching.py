"""The instructor's guide fits the notebooks: cards, points, minutes, links, commands.

The rules are functions in course/teaching.py that return what is wrong; they are run on the book
and on small examples with one planted fault each.
"""

import copy
import re
import shlex
from pathlib import Path

import nbformat
import notebooks
import pytest
import yaml
from mdit_py_plugins.anchors.index import slugify
from nbformat import v4

from course import __main__ as command
from course import guide, teaching
from course.scaffolds import minutes
from pdpbook.pages.exercises import ASSIGNMENTS, assignment

ROOT = Path(__file__).resolve().parent.parent
COMMANDS = {"create", "handout", "grade", "sealed", "export", "gradescope", "bank", "exam"}
COMMANDS |= {"sheets", "results"}
TEACHING, CHAPTERS, EXERCISES = teaching.load()
BY_NAME = {one.name: one for one in EXERCISES}

# --- the book -------------------------------------------------------------------------------------


def test_everything_fits_together():
    assert teaching.faults(TEACHING, CHAPTERS, EXERCISES) == []


def test_every_chapter_of_the_contents_has_a_card():
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    listed = [
        page["file"].removeprefix("book/")
        for part in contents["parts"]
        if part.get("numbered")
        for page in part["chapters"]
    ]
    assert list(TEACHING["cards"]) == listed


def test_the_contents_name_all_assignments_and_the_guide():
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = {
        part["caption"]: [page["file"] for page in part["chapters"]] for part in contents["parts"]
    }
    assert parts["Exercises"] == [f"book/exercises/{name}" for name in ASSIGNMENTS]
    assert "book/back/instructors" in parts["Back matter"]


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_points_are_those_of_the_cells(name):
    notebook = nbformat.read(ROOT / "book" / "exercises" / f"{name}.ipynb", as_version=4)
    points = {}
    for cell in notebook.cells:
        role = cell.metadata.get("nbgrader", {})
        if role.get("grade"):
            exercise = re.sub(r"-(visible|hidden)$", "", role["grade_id"])
            points[exercise] = points.get(exercise, 0) + role["points"]
    said = {one.name: one.points for one in EXERCISES if one.assignment == name}
    assert said == points
    functions = {one.name for one in EXERCISES if one.assignment == name and one.kind}
    assert functions == set(assignment(name).exercises)


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_every_exercise_is_in_the_table(name):
    page = (ROOT / "book" / "back" / "instructors.md").read_text(encoding="utf-8")
    for exercise in assignment(name).exercises:
        one = BY_NAME[exercise]
        row = f"#{slugify(one.heading)}) | {one.points} | {one.minutes} |"
        row += f" {minutes(exercise, one.minutes)} | {one.kind} |"
        assert f"| [**{exercise}**](../exercises/{name}.ipynb{row}" in page


def test_the_seminar_reads_every_page_and_gives_every_exercise():
    seminar = next(one for one in TEACHING["syllabi"] if one["name"] == "I have a semester")
    assert len(seminar["meetings"]) in range(12, 15)
    read = [name for meeting in seminar["meetings"] for name in meeting["read"]]
    given = [name for meeting in seminar["meetings"] for name in meeting["exercises"]]
    assert sorted(read) == sorted(CHAPTERS)
    assert sorted(given) == sorted(one.name for one in EXERCISES if one.kind)


@pytest.mark.parametrize("name", CHAPTERS)
def test_every_chapter_ends_with_its_exercises(name):
    notebook = nbformat.read(ROOT / "book" / f"{name}.ipynb", as_version=4)
    last = notebook.cells[-1]
    assert last.id == guide.LAST
    assert last.source == guide.last_cell(CHAPTERS[name], TEACHING, EXERCISES)
    trained = [one.name for one in EXERCISES if name in one.chapters]
    assert re.findall(r"\*\*(\w+)\*\*", last.source) == trained


def test_the_commands_of_the_guide_are_understood():
    """What stands in blocks of commands is parsed by the programs themselves."""
    text = (ROOT / "book" / "teaching.md").read_text(encoding="utf-8")
    blocks = re.findall(r"^```bash\n(.*?)^```", text, re.M | re.S)
    lines = re.sub(r"\\\n\s*", "", "".join(blocks)).splitlines()
    calls = [shlex.split(line, comments=True) for line in lines]
    ours = [call[call.index("course") + 1 :] for call in calls if "-m course" in " ".join(call)]
    for call in ours:
        command.arguments(call)
    assert {call[0] for call in ours} == COMMANDS - {"sheets", "results"}
    named = {word for call in ours for word in call if word.startswith("foundations")}
    assert named == {"foundations", "foundations-1"}
    for call in ours:  # each is one line of the page, without a path of somebody's machine
        assert not any(word.startswith(("/", "~")) for word in call)


def test_the_paths_of_the_guide_exist():
    text = (ROOT / "book" / "teaching.md").read_text(encoding="utf-8")
    text = re.sub(r"\{doc\}`[^`]*`", "", text).replace("NAME", "foundations")
    paths = re.findall(r"(?<![\w/])(?:book|tools|tests|pdpbook|course|binder)/[\w/.-]+\w", text)
    assert len(paths) > 4
    assert [path for path in paths if not (ROOT / path).exists()] == []


# --- planted faults -------------------------------------------------------------------------------

TOP = """# One: title

It is so, by {prf:ref}`lem-x`,
and more.

## What you will be able to do

- Compute 0.123 of it,
  exactly.
- Explain it.

Time: 40 minutes. Needed: the chapter on coins, and sums. Not more: 7.

## One picture
"""
ASKED = """Words before.

## A person's part

**part_of** · 4 points · 10 minutes · warm-up · trains
[one](../foundations/ridge.ipynb) and
[two](../foundations/coins.ipynb)

Prompt.
"""
BY_HAND = "## Say it\n\n**said** · 4 points, graded by hand · 15 minutes\n\nPrompt."


def cells(*sources):
    return v4.new_notebook(cells=[v4.new_markdown_cell(source) for source in sources])


def book():
    """Two chapters, their cards, two exercises and a syllabus, without a fault."""
    pages = {
        "foundations/coins": teaching.chapter(
            "foundations/coins", cells(TOP.replace("coins", "x"))
        ),
        "foundations/ridge": teaching.chapter("foundations/ridge", cells(TOP)),
    }
    wrong = [{"said": "Half.", "but": "No, 0.123."}] * 2
    card = {"difficulty": 1, "after": [], "misconceptions": wrong, "discuss": ["Why?", "So?"]}
    cards = {
        "foundations/coins": card,
        "foundations/ridge": card | {"after": ["foundations/coins"]},
    }
    meeting = {
        "topic": "It",
        "question": "What?",
        "read": ["foundations/coins", "foundations/ridge"],
        "exercises": ["part_of"],
        "room": [{"what": "talk", "minutes": 60}, {"what": "vote", "minutes": 30}],
    }
    syllabus = {
        "name": "S",
        "for": "All.",
        "minutes": 90,
        "home": 90,
        "room": [],
        "meetings": [meeting],
    }
    found = teaching.exercises_of("foundations", cells(ASKED, BY_HAND))
    source = {"cards": cards, "trains": {"part_of": ["Explain"] * 2}, "syllabi": [syllabus]}
    return copy.deepcopy(source), pages, found


def test_what_is_read_off_the_notebooks():
    source, pages, found = book()
    page = pages["foundations/ridge"]
    assert page.title == "One: title"
    assert page.claim == "It is so, by {prf:ref}`lem-x`, and more."
    assert page.objectives == ["Compute 0.123 of it, exactly.", "Explain it."]
    assert (page.minutes, page.needed) == (40, "the chapter on coins, and sums.")
    one, hand = found
    assert (one.name, one.points, one.minutes, one.kind) == ("part_of", 4, 10, "warm-up")
    assert one.chapters == ("foundations/ridge", "foundations/coins")
    assert (hand.name, hand.points, hand.minutes, hand.kind) == ("said", 4, 15, "")
    assert teaching.faults(source, pages, found) == []


@pytest.mark.parametrize(
    "gone", ["## What you", "Time: ", "\nIt is so, by {prf:ref}`lem-x`,\nand more.\n"]
)
def test_a_chapter_without_its_top_is_refused(gone):
    with pytest.raises(teaching.Refused, match=r"book/p/c\.ipynb does not begin with"):
        teaching.chapter("p/c", cells(TOP.replace(gone, "")))


def card(**fields):
    return lambda source: source["cards"]["foundations/ridge"].update(fields)


def meeting(**fields):
    return lambda source: source["syllabi"][0]["meetings"][0].update(fields)


LONG = [{"what": "talk", "minutes": 91}]
NUMBER = [{"said": "Half.", "but": "No, 0.124."}] * 2
PLANTED = {
    "no card": (lambda s: s["cards"].pop("foundations/coins"), "foundations/coins has no card"),
    "card of no chapter": (
        lambda s: s["cards"].update({"foundations/x": {}}),
        "the card foundations/x belongs to no chapter",
    ),
    "unknown field": (card(minutes=3), "must have difficulty, after"),
    "difficulty": (card(difficulty=4), "difficulty must be 1, 2 or 3"),
    "one question": (card(discuss=["Why?"]), "two questions to discuss"),
    "one misconception": (card(misconceptions=NUMBER[:1]), "two or three misconceptions"),
    "unknown prerequisite": (card(after=["a/coins"]), "comes after a/coins, which is no chapter"),
    "itself": (
        card(after=["foundations/coins", "foundations/ridge"]),
        "comes after foundations/ridge, which the book has later",
    ),
    "cycle": (
        lambda s: s["cards"]["foundations/coins"].update(after=["foundations/ridge"]),
        "card foundations/coins: comes after foundations/ridge, which the book has later",
    ),
    "forgotten prerequisite": (card(after=[]), "the page needs 'coins', and the card does not"),
    "made-up number": (card(misconceptions=NUMBER), "0.124 does not stand on the page"),
    "no objective": (lambda s: s["trains"].clear(), "part_of: trains 2 chapters, and 0 objectives"),
    "unknown objective": (
        lambda s: s["trains"].update(part_of=["Explain", "Sing"][1:] * 2),
        "part_of: 0 objectives of foundations/ridge begin as it says",
    ),
    "any objective": (
        lambda s: s["trains"].update(part_of=["Explain", "Compute"]),
        "part_of: 2 objectives of foundations/ridge begin as it says",
    ),
    "unknown exercise": (
        lambda s: s["trains"].update(other=["Explain"]),
        "trains: there is no exercise other",
    ),
    "long meeting": (meeting(room=LONG), "S: It: 91 minutes in a meeting of 90"),
    "empty meeting": (meeting(room=[]), "S: It: 0 minutes in a meeting of 90"),
    "a comma too many": (meeting(room=[*LONG, {"vote": None}]), "other fields than what and min"),
    "much at home": (
        lambda s: s["syllabi"][0].update(home=89),
        "S: It: 90 minutes at home, more than 89",
    ),
    "unknown page": (meeting(read=["a/b"]), "S: It: there is no a/b"),
    "unknown exercise given": (meeting(exercises=["other"]), "S: It: there is no other"),
    "wrong order": (
        meeting(read=["foundations/ridge", "foundations/coins"]),
        "foundations/ridge is read before foundations/coins",
    ),
    "given too early": (
        meeting(read=["foundations/coins"]),
        "part_of is given before foundations/ridge is read",
    ),
    "read twice": (meeting(read=["foundations/coins"] * 2), "foundations/coins is read twice"),
    "given twice": (meeting(exercises=["part_of"] * 2), "part_of is given twice"),
}


@pytest.mark.parametrize(("change", "message"), PLANTED.values(), ids=PLANTED)
def test_planted_faults_are_noticed(change, message):
    source, pages, found = book()
    change(source)
    wrong = teaching.faults(source, pages, found)
    assert any(message in line for line in wrong), wrong


@pytest.mark.parametrize(
    "role",
    [
        "{prf:ref}`thm-laplace`",
        "[x](../foundations/noise.ipynb)",
    ],
)
def test_roles_that_a_page_needs_are_followed(role):
    source, pages, found = book()
    needs = TOP.replace("the chapter on coins", role)
    pages["foundations/ridge"] = teaching.chapter("foundations/ridge", cells(needs))
    [line] = teaching.faults(source, pages, found)
    assert line.startswith("card foundations/ridge: the page needs foundations/noise")


# --- the last cell --------------------------------------------------------------------------------


def test_the_last_cell_names_the_objective():
    source, pages, found = book()
    text = guide.last_cell(pages["foundations/ridge"], source, found)
    link = "[**part_of**](../exercises/foundations.ipynb#a-persons-part)"
    assert text.startswith(f"## Graded exercises\n\n- {link}")
    assert "4 points, 10 minutes, trains: explain it." in " ".join(text.split())
    assert max(map(len, text.splitlines())) <= 76


def test_a_chapter_without_exercises_names_its_assignment_and_a_question():
    source, pages, _ = book()
    text = " ".join(guide.last_cell(pages["foundations/ridge"], source, []).split())
    assert "(../exercises/foundations.ipynb)" in text
    assert text.endswith("*Why?*")


def test_the_last_cell_is_written_once():
    notebook = notebooks.canonical(cells(TOP))
    once = copy.deepcopy(guide.with_last_cell(notebook, "## Graded exercises\n\n- old"))
    again = guide.with_last_cell(copy.deepcopy(once), "## Graded exercises\n\n- old")
    assert again == once == notebooks.canonical(copy.deepcopy(once))
    renewed = guide.with_last_cell(once, "## Graded exercises\n\n- new")
    assert [cell.source[-3:] for cell in renewed.cells[1:]] == ["new"]


def test_last_cells_are_compared_and_written(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(guide, "ROOT", tmp_path)
    monkeypatch.setattr(guide, "checked", book)
    (tmp_path / "book" / "foundations").mkdir(parents=True)
    names = ["foundations/coins", "foundations/ridge"]
    for name in names:
        nbformat.write(notebooks.canonical(cells(TOP)), tmp_path / "book" / f"{name}.ipynb")
    assert guide.write_last_cells(names, check=True) == 1
    assert guide.write_last_cells([*names, "p/c"], check=False) == 0
    assert guide.write_last_cells(names, check=True) == 0
    assert capsys.readouterr().out.count("ridge.ipynb: its last cell") == 2


def test_a_fault_refuses_the_page(monkeypatch):
    source, pages, found = book()
    source["cards"].clear()
    monkeypatch.setattr(teaching, "load", lambda: (source, pages, found))
    with pytest.raises(teaching.Refused, match="foundations/coins has no card"):
        guide.instructors({})
    assert guide.write_last_cells(["foundations/coins"], check=False) == 1
