"""The kit of a course: settings, sheets, marks without nbgrader, tables for platforms, the bank.

What Canvas and Moodle ask of a file is written here as a function each, from what they document,
and every export has to satisfy it.
"""

import csv
import io
import itertools
import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from xml.etree import ElementTree

import nbformat
import pandas as pd
import pytest
from nbformat import v4
from pdp_publish import TO_CLONE
from reading import ROOT, Refused

from course import bank, cuts, settings
from course.__main__ import main
from course.coursework import INSTRUCTOR
from course.cuts import cut, questions, sheets, source
from course.grading import POINTS
from course.handout import MARK
from course.preflight import defined
from course.settings import Course
from course.sheets import plain
from course.teaching import EXERCISE, Exercise
from pdpbook.pages.exercises import ASSIGNMENTS

NAME = "foundations"
needs_nbgrader = pytest.mark.skipif(
    not (INSTRUCTOR / "nbgrader").is_file(), reason="nbgrader is not here: make instructor"
)
PARTS = [f"{name}-{k + 1}" for name in ASSIGNMENTS for k in range(len(sheets(name, 60)))]


def course(*words):
    assert main([str(word) for word in words]) == 0


# --- sheets --------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_sheets_hold_every_exercise_once_and_take_about_an_hour(name):
    parts = sheets(name, 60)
    assert [one for part in parts for one in part] == questions(name, Course())
    lengths = [sum(one.minutes for one in part) for part in parts]
    assert max(lengths) <= 65
    assert len(parts) <= -(-sum(lengths) // 60) + 1
    by_sheet = [questions(f"{name}-{k + 1}", Course()) for k in range(len(parts))]
    assert by_sheet == parts


@pytest.mark.parametrize("name", PARTS)
def test_a_sheet_names_no_function_that_it_does_not_have(name):
    own = {one.name for one in questions(name, Course())}
    others = {one.name for one in questions(cuts.split(name)[0], Course())} - own
    text = "\n".join(cell.source for cell in source(name, Course()).cells)
    assert not {other for other in others if re.search(rf"\b{other}\b", text)}
    assert not re.search(r"figure above|previous exercise", text)
    first = text.partition("## ")[2].partition("def ")[0]
    assert not re.search(r"exercise before|last exercise", first)
    headings = re.findall(r"^## .+$", text, re.M)
    assert len(headings) == len(set(headings))


@pytest.mark.parametrize("name", PARTS)
def test_a_sheet_says_what_its_page_says_and_asks_for_its_own_functions(name):
    cells = {cell.id: cell.source for cell in source(name, Course()).cells}
    page = {cell.id: cell.source for cell in plain(cuts.split(name)[0]).cells}
    said = " ".join(cells["how-this-works"].split())
    assert cells["how-this-works"] == page["how-this-works"]
    assert "hidden properties count once all visible ones hold" in said
    assert "leaves the arrays that it is given as they are" in said
    for stem, word in (("pac", "*half*"), ("user_level", "all rows of one user"),
                       ("personalized", "which is replaced by another"),
                       ("personalized", "*nats*")):  # fmt: skip
        assert word in said or not name.startswith(stem)
    asked = re.findall(r'^    "(.+)",$', cells["graded"], re.M)
    assert asked == [f"{name}.ipynb", *(one.name for one in questions(name, Course()) if one.kind)]


def test_what_a_page_says_of_shares_is_what_the_grader_gives():
    assert POINTS == {"visible": 1, "hidden": 3}
    for name in ASSIGNMENTS:
        said = " ".join(cell.source for cell in plain(name).cells if cell.id == "how-this-works")
        assert "share a quarter of its points, the hidden ones three" in " ".join(said.split())


@pytest.mark.slow
@pytest.mark.parametrize("name", PARTS)
def test_a_solved_sheet_runs_from_top_to_bottom(name):
    """With the visible and the hidden checks, in a space of its own."""
    space = {}
    for cell in source(name, Course()).cells:
        if cell.cell_type == "code":
            exec(cell.source, space)
    assert {one.name for one in questions(name, Course()) if one.kind} <= set(space)


def piece(name, minutes):
    return Exercise(NAME, "", name, 4, minutes, "core", ())


def test_cutting_keeps_together_what_names_each_other():
    pieces = [piece("a", 30), piece("b", 30), piece("c", 20), piece("d", 20)]
    alone = dict.fromkeys("abcd", "")
    assert cut(pieces, alone, 60) == [pieces[:2], pieces[2:]]
    assert cut(pieces, alone | {"c": "as in b"}, 60) == [pieces[:1], pieces[1:3], pieces[3:]]
    assert cut(pieces, alone, 100) == [pieces]
    with pytest.raises(Refused, match="sheets of 20 minutes are too short"):
        cut(pieces, alone, 20)


@pytest.mark.parametrize(
    ("name", "words"),
    [("foundation", "there is no assignment"), ("foundations-4", "foundations has 3 sheets")],
)
def test_a_sheet_that_does_not_exist_is_refused(name, words):
    with pytest.raises(Refused, match=words):
        questions(name, Course())


def test_what_is_handed_out_has_no_solution(tmp_path):
    course("create", tmp_path)
    course("handout", tmp_path, NAME)
    handed = {path.name for path in (tmp_path / "handout").iterdir()}
    stems = (NAME, *(f"{NAME}-{k}" for k in (1, 2, 3)))
    assert handed == {f"{stem}.{kind}" for stem in stems for kind in ("ipynb", "md")}
    whole, beside = (
        re.sub(r"\[([^][]*)\]\([^)]*\)|[*]", r"\1", path.read_text())  # links lead elsewhere
        for path in (
            tmp_path / "handout" / f"{NAME}.ipynb",
            ROOT / f"book/exercises/release/{NAME}.ipynb",
        )
    )
    assert whole == beside
    keys = "\n".join(path.read_text() for path in (tmp_path / "key").iterdir())
    for cell in plain(NAME).cells:
        if cell.metadata.get("nbgrader", {}).get("solution") and cell.cell_type == "code":
            body = cell.source.split("### BEGIN SOLUTION\n")[1].split("### END SOLUTION")[0]
            assert body.strip() in keys
            for path in (tmp_path / "handout").iterdir():
                assert json.dumps(body)[1:-1] not in path.read_text()
                assert body not in path.read_text()


# --- settings ------------------------------------------------------------------------------------


def test_a_course_draws_its_own_seed_and_keeps_it(tmp_path):
    seeds = {settings.create(tmp_path / str(k), None).seed for k in range(4)}
    assert len(seeds) == 4
    first = settings.create(tmp_path / "0", None)
    assert settings.create(tmp_path / "0", first.seed) == first
    with pytest.raises(Refused, match="has the seed"):
        settings.create(tmp_path / "0", first.seed + 1)


@pytest.mark.parametrize(
    ("written", "words"),
    [
        ("sed = 1", "takes seed, minutes, arguments, points, due; got sed = 1"),
        ("seed = true", "takes seed"),
        ("seed = -1", "seed must be at least 0"),
        ("minutes = 0", "minutes above 0"),
        ("[points]\nx = nan", "points of x must be at least 0"),
        ("[points]\nx = true", "points of x must be at least 0"),
        ("[points]\nweighted_rige = 2", "weighted_rige"),
        ("[due]\nfoundation = 'May'", "foundation"),
        ("[due]\nfoundations = 3", "due of foundations must be text"),
        ("seed =", "course.toml: "),
    ],
)
def test_settings_that_mean_nothing_are_refused(tmp_path, written, words):
    (tmp_path / "course.toml").write_text(written)
    with pytest.raises(Refused, match=words):
        settings.load(tmp_path)


def test_a_prompt_for_no_exercise_is_refused(tmp_path):
    settings.create(tmp_path, 0)
    (tmp_path / "prompts" / "wieghted_ridge.md").write_text("Words.")
    with pytest.raises(Refused, match="wieghted_ridge"):
        settings.load(tmp_path)


def test_own_prompts_points_and_dates_are_handed_out(tmp_path):
    settings.create(tmp_path, 0)
    (tmp_path / "course.toml").write_text(
        "seed = 0\n[points]\nweighted_ridge = 2.5\n[due]\nfoundations-2 = 'noon'\n"
    )
    (tmp_path / "prompts" / "weighted_ridge.md").write_text("Words of my own.\n")
    own = settings.load(tmp_path)
    for name in (NAME, f"{NAME}-2"):
        text = "\n\n".join(cell.source for cell in source(name, own).cells)
        prompt = text.partition("**weighted_ridge**")[2].partition("def ")[0]
        assert prompt.startswith(" · 2.5 points · 20 minutes")
        assert "\n\nWords of my own.\n\n<details><summary>▸ Hint" in prompt
        assert ("**Due:** noon" in text) is (name != NAME)
    before = plain(NAME).cells
    changed = [a.id for a, b in zip(before, source(NAME, own).cells, strict=True) if a != b]
    assert changed == ["everybody-s-weight"]


# --- a private fork ------------------------------------------------------------------------------


def git(folder, *words):
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    done = subprocess.run(["git", *identity, *words], cwd=folder, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def published(folder):
    """A repository with the book as it is here, for others to clone."""
    public = folder / "public"
    copied = shutil.ignore_patterns(".*", "_build", "_lab", "__pycache__", "mine", "_static")
    shutil.copytree(ROOT, public, ignore=copied)
    shutil.copy(ROOT / ".gitignore", public)
    git(public, "init", "-q", "-b", "main")
    git(public, "add", "-A")
    git(public, "commit", "-q", "-m", "The book")
    return public


def test_a_fork_takes_an_update_without_a_conflict_and_keeps_what_is_its_own(tmp_path):
    """Upstream changes prompts, sheets and settings; the fork has its own of each."""
    public, fork = published(tmp_path), tmp_path / "fork"
    git(tmp_path, "clone", "-q", "public", "fork")

    own = fork / "mine"
    run = [sys.executable, "-m", "course"]
    environment = {**os.environ, "PYTHONPATH": str(fork)}
    here = {"cwd": fork, "env": environment, "check": True}
    subprocess.run([*run, "create", "mine", "--seed", "5"], **here)
    toml = own / "course.toml"
    toml.write_text(toml.read_text().replace("# truth_probability = 2", "truth_probability = 2"))
    (own / "prompts" / "weighted_ridge.md").write_text("Words of my own.\n")
    (own / "collected" / NAME).mkdir(parents=True)
    (own / "collected" / NAME / "ann.ipynb").write_text("what a student wrote")
    git(fork, "add", "-A")
    git(fork, "commit", "-q", "-m", "Our course")
    tracked = git(fork, "ls-files", "mine").split()
    assert tracked == ["mine/.gitignore", "mine/course.toml",
                       "mine/prompts/README.txt", "mine/prompts/weighted_ridge.md"]  # fmt: skip

    page = public / "book" / "exercises" / f"{NAME}.ipynb"
    notebook = nbformat.read(page, as_version=4)
    for cell in notebook.cells:
        for name in ("weighted_ridge", "privacy_profile"):
            if (match := EXERCISE.search(cell.source)) and match["name"] == name:
                cell.source = cell.source[: match.end()] + "\n\nNew words from the public.\n"
    nbformat.write(notebook, page)
    (public / "course" / "settings.py").write_text(
        (ROOT / "course" / "settings.py").read_text().replace("minutes = 60  #", "minutes = 50  #")
    )
    git(public, "commit", "-q", "-a", "-m", "An update")
    git(fork, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    assert git(fork, "status", "--porcelain") == ""
    subprocess.run([*run, "handout", "mine", NAME], **here)
    text = (own / "handout" / f"{NAME}.md").read_text()
    ours, theirs = (
        text.partition(f"**{n}**")[2][:300] for n in ("weighted_ridge", "privacy_profile")
    )
    assert "Words of my own." in ours
    assert "New words" not in ours
    assert "New words from the public." in theirs
    assert "**truth_probability** · 2 points" in text
    assert "seed = 5" in toml.read_text()
    assert git(fork, "status", "--porcelain") == ""


# --- marks without nbgrader ----------------------------------------------------------------------


def solved(name, change=lambda cells: None):
    """What a student hands in who solved everything."""
    notebook = source(name, Course())
    for cell in notebook.cells:
        cell.source = MARK.sub("", cell.source)
    change({f: cell for cell in notebook.cells for f in defined(cell.source)})
    return notebook


def wrong(cells):
    cell = cells["truth_probability"]
    cell.source = cell.source.replace("np.exp(-np.", "np.exp(-2 * np.")


def hangs(cells):
    cell = cells["squared_error_of_noise"]
    cell.source = cell.source.partition("\n")[0] + "\n    while True: pass"


SHEET = f"{NAME}-1"  # three functions
HANDED_IN = {
    "doejane_101_9101_a.ipynb": solved(SHEET),
    "doejohn_LATE_102_9102_My work (2).ipynb": solved(SHEET, wrong),
    "roeann_103_9103_a.ipynb": solved(SHEET, hangs),
}


@pytest.fixture(scope="module")
def marked(tmp_path_factory):
    """A course in which one sheet was graded; a question by hand is in `foundations-3`."""
    folder = tmp_path_factory.mktemp("kit")
    course("create", folder / "c", "--seed", 5)
    toml = folder / "c" / "course.toml"
    toml.write_text(toml.read_text().replace("# truth_probability = 2", "truth_probability = 2"))
    with zipfile.ZipFile(folder / "all.zip", "w") as archive:
        for name, notebook in HANDED_IN.items():
            archive.writestr(name, nbformat.writes(notebook))
        archive.writestr("roebob_104_9104_essay.pdf", b"%PDF-1.4 \xff")
    course("grade", folder / "c", SHEET, folder / "all.zip", "--from", "canvas", "--seconds", 4)
    return folder / "c"


def table(path):
    return pd.read_csv(path, dtype=str, keep_default_na=False)


def test_a_sheet_is_graded_by_its_own_exercises_and_points(marked):
    marks = table(marked / "marks" / f"{SHEET}.csv").set_index("student")
    assert set(marks.max_score) == {"10"}
    assert marks.score.to_dict() == {"101": "10", "102": "9", "103": "6", "104": ""}
    assert marks.feedback["101"] == ""
    assert "truth_probability, hidden: -0.75: the promise: " in marks.feedback["102"]  # of 1.5
    assert "within 4 seconds" in marks.feedback["103"]
    assert marks.feedback["104"] == ""
    assert "not a Jupyter notebook" in marks.remarks["104"]
    assert marks.by_hand.to_dict() == {"101": "0", "102": "0", "103": "0", "104": ""}


def test_everybody_has_a_page_of_feedback_with_calls_and_no_answer(marked):
    for student in ("101", "102", "103"):
        page = (marked / "feedback" / student / SHEET / f"{SHEET}.html").read_text()
        assert f"<h1>{SHEET}: {student}</h1>" in page
        assert "def " not in page
        assert ("<pre>" in page) is (student == "102")
    page = (marked / f"feedback/102/{SHEET}/{SHEET}.html").read_text()
    assert "9 of 10 points" in page
    assert "<pre>truth_probability(" in page
    assert "# it gave" in page


def test_only_what_is_new_is_graded(marked, monkeypatch, tmp_path):
    seen = []

    def counted(file, *rest, **settings):
        seen.append(file.parent.name)
        found = pd.DataFrame(columns=["exercise", "part", "points", "out_of", "message", "shown"])
        found.attrs["problem"] = "no notebook" if seen[-1] == "104" else ""
        return found

    monkeypatch.setattr("course.marking.grade", counted)
    shutil.copytree(marked, tmp_path / "c")
    words = ["grade", tmp_path / "c", SHEET, marked.parent / "all.zip", "--from", "canvas"]
    course(*words)
    assert seen == ["104"]  # who has no score yet
    seen.clear()
    toml = tmp_path / "c" / "course.toml"
    toml.write_text(toml.read_text().replace("seed = 5", "seed = 6"))
    course(*words)
    assert seen == ["101", "102", "103", "104"]


def test_what_cannot_be_graded_is_named_and_stops_nobody(marked, monkeypatch, tmp_path, capsys):
    from course.grading import grade

    def broken(file, *rest, **settings):
        if file.parent.name == "102":
            raise RuntimeError("no such luck \ud800")
        return grade(file, *rest, **settings)

    monkeypatch.setattr("course.marking.grade", broken)
    shutil.copytree(marked, tmp_path / "c")
    words = ["grade", tmp_path / "c", SHEET, marked.parent / "all.zip", "--from", "canvas"]
    course(*words, "--again", "--seconds", 4)
    marks = table(tmp_path / "c" / "marks" / f"{SHEET}.csv").set_index("student")
    assert marks.score.to_dict() == {"101": "10", "102": "", "103": "6", "104": ""}
    assert marks.remarks["102"] == "not graded: RuntimeError: no such luck ?"
    assert "102: not graded: RuntimeError" in capsys.readouterr().out
    assert not (tmp_path / "c" / "feedback" / "102" / SHEET / f"{SHEET}.html").exists()
    monkeypatch.undo()
    course(*words, "--seconds", 4)
    marks = table(tmp_path / "c" / "marks" / f"{SHEET}.csv").set_index("student")
    assert (marks.score["102"], marks.remarks["102"]) == ("9", "")


def test_two_names_that_become_one_are_refused(tmp_path, capsys):
    course("create", tmp_path / "c")
    (tmp_path / "in").mkdir()
    for name in ("a b.ipynb", "a_b.ipynb"):
        nbformat.write(v4.new_notebook(cells=[]), tmp_path / "in" / name)
    assert main(["grade", str(tmp_path / "c"), SHEET, str(tmp_path / "in")]) == 1
    assert "a b and a_b would both be a_b here" in capsys.readouterr().err
    assert not (tmp_path / "c" / "collected" / SHEET).exists()


def test_points_by_hand_are_kept_counted_and_checked(tmp_path, capsys):
    course("create", tmp_path / "c")
    (tmp_path / "in" / "ann").mkdir(parents=True)
    name, place = f"{NAME}-3", tmp_path / "in" / "ann" / "x.ipynb"
    words = v4.new_markdown_cell("An audit."), v4.new_code_cell("# no epsilon_lower_bound yet")
    nbformat.write(v4.new_notebook(cells=words), place)
    course("grade", tmp_path / "c", name, tmp_path / "in")
    assert table(tmp_path / "c/marks" / f"{name}.csv").by_hand.tolist() == ["4"]
    by_hand = tmp_path / "c" / "marks" / f"{name}-by-hand.csv"
    empty = by_hand.read_text()
    assert "ann,what_an_audit_says,,4" in empty
    by_hand.write_text(empty.replace(",,4", ",3,4"))
    course("grade", tmp_path / "c", name, tmp_path / "in")
    [row] = table(tmp_path / "c/marks" / f"{name}.csv").to_dict("records")
    assert (row["score"], row["max_score"], row["by_hand"]) == ("3", "8", "0")
    for wrong_points in ("5", "-1", "nan", "three"):
        by_hand.write_text(empty.replace(",,4", f",{wrong_points},4"))
        assert main(["export", str(tmp_path / "c"), name]) == 1
        assert "ann, what_an_audit_says: points must be" in capsys.readouterr().err


# --- Canvas and Moodle ---------------------------------------------------------------------------


def canvas_faults(path):
    """What Canvas would not take.

    Ohio State's guide to importing a CSV file of grades into Canvas: a name or an id, SIS Login ID,
    Section and the assignment's name are required. The importer in the public source of Canvas
    (`gradebook_importer.rb`): the first cell contains Student and the second ID; SIS User ID and
    SIS Login ID, in this order, come third; the last column before the assignments is Section; the
    first cell of the row of maxima contains Points Possible; a student is found by ID, a number.
    """
    head, *lines = list(csv.reader(io.StringIO(path.read_text())))
    wrong = [f"line of {len(one)} cells" for one in lines if len(one) != len(head)]
    if len(head) <= 3 or "Student" not in head[0] or "ID" not in head[1]:
        return [*wrong, "Invalid header row"]
    last = 2
    if head[2] == "SIS Login ID":
        last = 3
    elif head[2:4] == ["SIS User ID", "SIS Login ID"]:
        last = 4 + (head[4] == "Integration ID")
        last += head[last] == "Root Account"
    if head[last] != "Section":
        wrong.append("Section is not last before the assignments")
    if len(head) != last + 2:
        wrong.append("not one assignment")
    possible = [one for one in lines if "Points Possible" in one[0]]
    if len(possible) != 1 or possible[0] is not lines[0] or not float(possible[0][-1]) > 0:
        wrong.append("no row of maxima")
    for one in lines[1:]:
        if not one[1].isdigit():
            wrong.append(f"{one[0]} has no number")
        if one[-1] and not 0 <= float(one[-1]) <= float(lines[0][-1]):
            wrong.append(f"{one[0]} has {one[-1]}")
    return wrong


def moodle_faults(path):
    """What Moodle would not take, or would leave out.

    The importer of grading worksheets in the public source of Moodle (`importgradeslib.php` and
    `locallib.php` of `assignfeedback_offline`): without Identifier, Grade and Last modified (grade)
    the file is refused; a number at the end of the identifier is the participant; a grade below 0
    or above the maximum is skipped. Moodle's page on the import of grades: people are known by
    Email address or ID number; with feedback the grades must be in the same file.
    """
    rows = list(csv.DictReader(io.StringIO(path.read_text())))
    head = set(rows[0])
    if {"Identifier", "Grade", "Last modified (grade)"} <= head:
        wrong = [
            r["Identifier"] for r in rows if not re.fullmatch(r"Participant \d+", r["Identifier"])
        ]
        return wrong + [
            f"{r['Identifier']} has {r['Grade']}" for r in rows
            if r["Grade"] and not 0 <= float(r["Grade"]) <= float(r.get("Maximum Grade", "inf"))
        ]  # fmt: skip
    wrong = [] if head & {"Email address", "ID number", "Username"} else ["nobody can be known"]
    grades = head - {"Email address", "ID number", "Username", "Feedback comments"}
    return wrong + ["no grades beside the feedback"] * ("Feedback comments" in head and not grades)


GRADEBOOK = """\
Student,ID,SIS User ID,SIS Login ID,Section,Essay (7),{title},Current Score,Final Score
    Points Possible,,,,,5,{most},(read only),(read only)
"Doe, Jane",101,u101,jane@u.edu,Monday,4,,80,80
"Doe, John",102,u102,john@u.edu,Monday,4,3,80,80
"Roe, Ann",103,u103,ann@u.edu,Tuesday,,,0,0
"Roe, Cem",105,u105,cem@u.edu,Tuesday,3,7,0,0
"Student, Test",999,,abc,Monday,,,0,0
"""
WORKSHEET = """\
Identifier,Full name,Email address,Status,Grade,Maximum Grade,Grade can be changed,\
Last modified (submission),Last modified (grade),Feedback comments
Participant 101,Jane Doe,jane@u.edu,Submitted,,{most},Yes,-,-,
Participant 102,John Doe,john@u.edu,Submitted,,{most},Yes,-,"Monday, 3 May 2027",
Participant 103,Ann Roe,ann@u.edu,Submitted,,{most},Yes,-,-,
Participant 105,Cem Roe,cem@u.edu,No submission,,{most},Yes,-,-,
"""
PEOPLE = "First name,Last name,Email address\nJane,Doe,101\nJohn,Doe,102\nAnn,Roe,103\n"


def exported(marked, tmp_path, system, roster, *more):
    (tmp_path / "roster.csv").write_text(roster, encoding="utf-8-sig")
    words = ["export", marked, SHEET, "--for", system, "--roster", tmp_path / "roster.csv", *more]
    course(*words)
    return marked / "marks" / f"{SHEET}-{system}.csv"


@pytest.mark.parametrize("separator", [",", ";"])
def test_canvas_takes_the_table(marked, tmp_path, separator):
    roster = GRADEBOOK.format(title=f"{SHEET.title()} (8)", most="10")
    if separator == ";":
        roster = roster.replace(", ", "\0").replace(",", ";").replace("\0", ", ")
    place = exported(marked, tmp_path, "canvas", roster)
    assert canvas_faults(place) == []
    marks = table(place).set_index("ID")[f"{SHEET.title()} (8)"].to_dict()
    assert marks == {"": "10", "101": "10", "102": "9", "103": "6", "105": "7", "999": ""}
    assert "Essay (7)" not in place.read_text()


def test_a_new_assignment_in_canvas_gets_its_maximum(marked, tmp_path, capsys):
    roster = "\n".join(line.rsplit(",", 4)[0] for line in GRADEBOOK.splitlines())
    place = exported(marked, tmp_path, "canvas", roster, "--column", "Week 1")
    assert canvas_faults(place) == []
    assert table(place)["Week 1"].tolist()[:3] == ["10", "10", "9"]
    said = capsys.readouterr().out
    assert "there is no column Week 1 yet" in said
    assert "104: not in the table" in said


@pytest.mark.parametrize("roster", [WORKSHEET.format(most="10.00"), PEOPLE])
def test_moodle_takes_the_table(marked, tmp_path, roster):
    place = exported(marked, tmp_path, "moodle", roster)
    assert moodle_faults(place) == []
    rows = table(place)
    column = "Grade" if "Grade" in rows else SHEET
    assert rows[column].tolist()[:3] == ["10", "9", "6"]
    assert "truth_probability, hidden" in rows["Feedback comments"][1]
    if "Grade" in rows:
        assert rows["Last modified (grade)"][1] == "Monday, 3 May 2027"
        assert rows.Grade[3] == ""


def test_what_the_rules_are_for_is_noticed(tmp_path):
    """The columns of the first edition, and others that the platforms refuse."""
    place = tmp_path / "x.csv"
    for text, says in (
        (f"Student,ID,{NAME}\n,7,25\n", "Invalid header row"),
        ("Student,ID,Section,A\nPoints Possible,,,4\nAnn,u1,M,3\n", "Ann has no number"),
        ("Student,ID,Section,A\nAnn,1,M,3\n", "no row of maxima"),
        ("Student,ID,SIS User ID,Section,A\nPoints Possible,,,,4\n", "Section is not last"),
        ("Student,ID,Section,A\nPoints Possible,,,4\nAnn,1,M,5\n", "Ann has 5"),
    ):
        place.write_text(text)
        assert any(one.startswith(says) for one in canvas_faults(place)), text
    for text, says in (
        ("Identifier,Grade\nParticipant 7,25\n", "nobody can be known"),
        ("Identifier,Grade,Last modified (grade)\n7,25\n", "7"),
        ("Identifier,Grade,Maximum Grade,Last modified (grade)\nParticipant 7,25,10,-\n",
         "Participant 7 has 25"),
        ("Email address,Feedback comments\na,b\n", "no grades beside"),
    ):  # fmt: skip
        place.write_text(text)
        assert any(one.startswith(says) for one in moodle_faults(place)), text


@pytest.mark.parametrize(
    ("system", "roster", "more", "words"),
    [
        ("canvas", WORKSHEET.format(most="10"), [], "is no gradebook of Canvas"),
        ("moodle", "Name,Mark\nA,1\n", [], "is no table of Moodle"),
        ("moodle", WORKSHEET.format(most="5"), [], "above its maximum: 5, and 10 here"),
        ("canvas", GRADEBOOK.format(title="Essay (8)", most="5"), ["--column", "Essay"],
         "are all called Essay"),
        ("canvas", GRADEBOOK.format(title=SHEET, most="10"), ["--by", "Name"], "--by takes one of"),
        ("canvas", GRADEBOOK.format(title=SHEET, most="10").replace("u105", "102")
         .replace("u101", "103").replace("u102", "101").replace("u103", "x"),
         [], "choose: --by"),
    ],
)  # fmt: skip
def test_a_table_that_cannot_be_right_is_refused(
    marked, tmp_path, capsys, system, roster, more, words
):
    (tmp_path / "r.csv").write_text(roster)
    given = ["export", str(marked), SHEET, "--for", system, "--roster", str(tmp_path / "r.csv")]
    assert main([*given, *more]) == 1
    assert words in capsys.readouterr().err


def test_a_platform_needs_its_own_list_of_students(marked, capsys):
    assert main(["export", str(marked), SHEET, "--for", "canvas"]) == 1
    assert "--for canvas needs --roster FILE" in capsys.readouterr().err


def moodle_participant(path):
    """The number that Moodle reads off a path in a zip of feedback (`importziplib.php`)."""
    for part in path.split("/"):
        pieces = part.split("_", 4)
        if len(pieces) >= 4 and pieces[1].isdigit() and pieces[2:4] == ["assignsubmission", "file"]:
            return pieces[1]
    return None


def test_feedback_goes_back_under_the_names_that_platforms_know(marked, tmp_path):
    exported(marked, tmp_path, "canvas", GRADEBOOK.format(title=SHEET, most="10"))
    with zipfile.ZipFile(marked / "marks" / f"{SHEET}-canvas-feedback.zip") as archive:
        names = archive.namelist()
        assert b"9 of 10 points" in archive.read("doejohn_LATE_102_9102_feedback.html")
    # Canvas: its name, the user's and the attachment's number, as in the download
    assert [re.search(r"_(\d+)_(\d+)_feedback\.html$", name)[1] for name in names] == [
        "101", "102", "103"]  # fmt: skip
    course("create", tmp_path / "m")
    for place in ("Jane Doe_77_assignsubmission_file", "John Doe_78_assignsubmission_file_"):
        (tmp_path / "in" / place).mkdir(parents=True)
        nbformat.write(solved(SHEET), tmp_path / "in" / place / "a b.ipynb")
    course("grade", tmp_path / "m", SHEET, tmp_path / "in", "--from", "moodle")
    roster = WORKSHEET.format(most="12").replace("101", "77").replace("102", "78")
    exported(tmp_path / "m", tmp_path, "moodle", roster)
    with zipfile.ZipFile(tmp_path / "m" / "marks" / f"{SHEET}-moodle-feedback.zip") as archive:
        assert [moodle_participant(name) for name in archive.namelist()] == ["77", "78"]


# --- the bank of questions -----------------------------------------------------------------------

BANK = bank.questions()


def test_the_bank_has_every_exercise_of_the_chapters_once():
    boxes = [
        label
        for path in (ROOT / "book").glob("*/*.ipynb")
        for cell in nbformat.read(path, as_version=4).cells
        if cell.cell_type == "markdown"
        for label in re.findall(r"\{exercise\}.*\n:label: (\S+)", cell.source)
    ]
    assert sorted(one.label for one in BANK) == sorted(boxes)
    for _, topic in itertools.groupby(BANK, lambda one: (one.part, one.page)):
        hard = [one.difficulty for one in topic]
        assert hard == sorted(hard)
    assert {one.difficulty for one in BANK} == {1, 2, 3}


def test_questions_and_solutions_are_apart_and_need_no_book(tmp_path):
    course("bank", tmp_path)
    asked, solved_ = ((tmp_path / f"{n}.md").read_text() for n in ("questions", "solutions"))
    for k, one in enumerate(BANK, start=1):
        assert one.text in asked
        assert one.solution not in asked
        assert one.solution in solved_
        assert f"### {k}. {one.title}\n" in asked
        assert f"### {k}. {one.title}\n" in solved_
    for text in (asked, solved_):
        assert not re.search(r"\{[a-z:]+\}`|^:::|\]\(\.\.?/", text, re.M)


def test_moodle_reads_the_bank(tmp_path):
    """Moodle's page on its XML format: what it demands of the file and of a question."""
    course("bank", tmp_path)
    raw = (tmp_path / "moodle.xml").read_bytes()
    assert raw.startswith(b"<?xml ")  # in its first line, encoded in UTF-8
    quiz = ElementTree.fromstring(raw.decode("utf-8").encode())
    assert quiz.tag == "quiz"
    first, *_ = kinds = [one.get("type") for one in quiz]
    assert first == "category"
    assert set(kinds) == {"category", "essay"}
    for one in quiz:
        if one.get("type") == "category":
            assert one.findtext("category/text").startswith("$course$/top/")
            assert (
                one.findtext("category/text").count("/")
                - 2 * one.findtext("category/text").count("//")
                == 3
            )
            continue
        assert one.findtext("name/text").strip()
        for field in ("questiontext", "generalfeedback", "graderinfo"):
            assert one.find(field).get("format") == "html"
            text = one.findtext(f"{field}/text")
            assert text.strip()
            assert "$" not in text
            ElementTree.fromstring(f"<div>{text.replace('&nbsp;', ' ')}</div>")  # closed tags
    essays = [one for one in quiz if one.get("type") == "essay"]
    assert [one.findtext("idnumber") for one in essays] == [one.label for one in BANK]


def test_the_little_markdown_of_exercises_becomes_html():
    made = bank.as_html(
        "a *b* **c** `x<y`, $a<b_1*c_2*d$\n\n- one\n- two\n\n$$x\n&y$$\n\n[l](http://x)"
    )
    assert made == (
        "<p>a <em>b</em> <strong>c</strong> <code>x&lt;y</code>, \\(a&lt;b_1*c_2*d\\)</p>\n"
        "<ul><li>one</li><li>two</li></ul>\n<p>\\[x\n&amp;y\\]</p>\n"
        '<p><a href="http://x">l</a></p>'
    )


# --- the page for instructors --------------------------------------------------------------------


@pytest.mark.slow
@needs_nbgrader
def test_the_commands_of_the_page_run_as_they_stand(tmp_path):
    """From a fresh copy on, installation included; addresses of repositories are folders here.

    The environment of nbgrader alone is the one at hand, so that `make` finds it ready.
    """
    public, book = published(tmp_path), tmp_path / "course-book"
    git(tmp_path, "init", "-q", "--bare", "server")
    here = {"https://your.server/course-book.git": tmp_path / "server"}
    environment = {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "VIRTUAL_ENV")}
    environment |= {"GIT_CONFIG_COUNT": str(len(here))}
    for k, (address, place) in enumerate(here.items()):
        environment[f"GIT_CONFIG_KEY_{k}"] = f"url.{place}.insteadOf"
        environment[f"GIT_CONFIG_VALUE_{k}"] = address
    for who in ("AUTHOR", "COMMITTER"):
        environment |= {f"GIT_{who}_NAME": "A", f"GIT_{who}_EMAIL": "a@example.org"}
    page = (ROOT / "book" / "teaching.md").read_text(encoding="utf-8")
    assert TO_CLONE in page
    page = page.replace(TO_CLONE, str(public))  # as in the book, where it has a repository
    blocks = re.findall(r"^```bash\n(.*?)^```", page, re.M | re.S)
    for block in blocks:
        if block.startswith("git clone"):
            done = subprocess.run(["bash", "-euc", block], cwd=tmp_path, env=environment)
            assert done.returncode == 0
            given_by_platforms(book)
            (book / ".venv-instructor").mkdir()
            for part in ("bin", "lib", "pyvenv.cfg"):
                (book / ".venv-instructor" / part).symlink_to(INSTRUCTOR.parent / part)
            (book / ".venv-instructor" / ".ready").touch()
            continue
        if block.startswith("git pull"):
            (public / "LICENSE").write_text("An update.")
            git(public, "commit", "-q", "-a", "-m", "An update")
        done = subprocess.run(
            ["bash", "-euc", block], cwd=book, env=environment, capture_output=True, text=True
        )
        assert done.returncode == 0, block + done.stdout + done.stderr
    assert (book / "LICENSE").read_text() == "An update."
    marks = book / "mine" / "marks"
    assert canvas_faults(marks / f"{SHEET}-canvas.csv") == []
    assert moodle_faults(marks / f"{SHEET}-moodle.csv") == []
    assert table(marks / f"{SHEET}.csv").score.tolist() == ["12", "10", "8", ""]
    for name in ("handout/foundations-2.ipynb", "key/foundations.md", "bank/moodle.xml",
                 "release/foundations-1/foundations-1.ipynb"):  # fmt: skip
        assert (book / "mine" / name).is_file()
    with zipfile.ZipFile(book / "autograder.zip") as archive:
        assert "run_autograder" in archive.namelist()
    tracked = git(tmp_path / "server", "ls-tree", "-r", "--name-only", "main", "mine").split()
    assert tracked == ["mine/.gitignore", "mine/course.toml", "mine/prompts/README.txt"]


def given_by_platforms(folder):
    """What the page says that an instructor has."""
    with zipfile.ZipFile(folder / "downloads.zip", "w") as archive:
        for name, notebook in HANDED_IN.items():
            archive.writestr(name, nbformat.writes(notebook))
        archive.writestr("roebob_104_9104_essay.pdf", b"%PDF-1.4 \xff")
    (folder / "gradebook.csv").write_text(GRADEBOOK.format(title=f"{SHEET} (8)", most="12"))
    (folder / "worksheet.csv").write_text(WORKSHEET.format(most="12"))
