"""Questions by hand, and arguments beside code: marked by a rubric, in every export."""

import html
import json
import math
import re
import subprocess
from shutil import which

import nbformat
import numpy as np
import pandas as pd
import pytest
from nbformat import v4
from reading import ROOT, Refused

from course import arguments, assignment, byhand, cuts, marking, settings, teaching
from course.__main__ import main
from course.handout import key
from course.results import write_results
from course.settings import Course
from course.sheets import plain, released
from pdpbook.gradient import dpsgd_epsilon
from pdpbook.pages.exercises import ASSIGNMENTS
from pdpbook.per_instance import ops_epsilon

EXERCISES = teaching.load()[2]
ON = Course(arguments=True)
SHEET = "foundations-2"


@pytest.mark.parametrize("name", ASSIGNMENTS)
def test_every_core_function_is_followed_by_a_question_about_it(name):
    plain, asked = (cuts.questions(name, one) for one in (Course(), ON))
    core = [one.name for one in plain if one.kind == "core"]
    assert [one.name for one in asked if one.name.startswith("why_")] == [f"why_{n}" for n in core]
    assert [one for one in asked if not one.name.startswith("why_")] == plain
    cells = [
        cell.metadata.get("nbgrader", {}).get("grade_id") for cell in cuts.source(name, ON).cells
    ]
    for function in core:
        assert cells.index(f"why_{function}") == cells.index(f"{function}-hidden") + 2


def test_there_is_one_for_each_core_function_and_for_no_other():
    assert set(arguments.arguments()) == {one.name for one in EXERCISES if one.kind == "core"}
    for name, one in arguments.arguments().items():
        assert len(set(one.rubric)) == 3, name
        assert one.right != one.wrong
        assert one.ask.rstrip().endswith("?")
        assert max(text.count(". ") for text in (one.right, one.wrong)) <= 3


def test_students_get_the_question_and_tutors_both_answers():
    solved = cuts.source(SHEET, ON)
    for_tutors = key(solved, "foundations")
    student = "\n".join(cell.source for cell in released(solved).cells)
    for name in ("weighted_ridge", "privacy_profile"):
        one = arguments.arguments()[name]
        assert one.ask in student
        assert f"**why_{name}** · 3 points, graded by hand · 5 minutes" in student
        for secret in (one.right, one.wrong, *one.rubric):
            assert secret in for_tutors
            assert secret not in student


@pytest.mark.parametrize("gone", ["ask", "right", "wrong", "rubric"])
def test_a_question_that_is_not_complete_is_refused(tmp_path, gone):
    text = {"ask": "Why?", "right": "a", "wrong": "b", "rubric": ["1", "2", "3"]}
    (tmp_path / "x.yml").write_text(json.dumps({"f": text}))
    assert list(arguments.read(tmp_path / "x.yml")) == ["f"]
    changed = text | ({gone: ["1", "2"]} if gone == "rubric" else {gone: ""})
    (tmp_path / "x.yml").write_text(json.dumps({"f": changed}))
    with pytest.raises(Refused, match=r"x\.yml, f: needs ask, right, rubric, wrong, 3 lines"):
        arguments.read(tmp_path / "x.yml")


# --- questions at the end of a sheet --------------------------------------------------------------

BY_HAND = [(name, question) for name in ASSIGNMENTS for question in assignment(name).by_hand]


def words(text):
    return " ".join(text.split())


@pytest.mark.parametrize(("name", "question"), BY_HAND)
def test_every_question_by_hand_has_two_answers_and_a_line_a_point(name, question):
    one = arguments.rubrics(name)[question]
    assert len(one.rubric) == len(set(one.rubric)) == assignment(name).by_hand[question] >= 3
    assert len(one.right.split()) > 60
    assert len(one.wrong.split()) > 60
    assert one.right != one.wrong
    lines, _, why = one.misses.partition(". ")
    missed = [int(number) for number in re.findall(r"\d", lines)]
    assert re.fullmatch(r"lines? \d((, \d)* and \d)?", lines)
    assert 1 <= min(missed) <= max(missed) <= len(one.rubric)
    assert len(missed) < len(one.rubric), "nobody writes an answer that misses everything"
    assert why.endswith(".")
    assert why.count(". ") == 0, "one sentence says why it fails"
    assert f"**{question}**" not in one.ask
    assert one.ask in "\n".join(cell.source for cell in plain(name).cells)


@pytest.mark.parametrize(("name", "question"), BY_HAND)
def test_tutors_get_both_answers_and_students_none(name, question):
    one, solved = arguments.rubrics(name)[question], cuts.source(name, Course())
    for_tutors = words(key(solved, name))
    student = words("\n".join(cell.source for cell in released(solved).cells))
    assert words(one.ask) in student
    for secret in (one.right, one.wrong, one.misses, *one.rubric):
        assert words(secret) in for_tutors
        assert words(secret) not in student


@pytest.mark.parametrize("gone", ["Right:", "Wrong:", "What it misses:", "Rubric, a point each:"])
def test_a_question_by_hand_that_lacks_a_part_is_refused(monkeypatch, gone):
    notebook = plain("pac")
    for cell in notebook.cells:
        cell.source = re.sub(rf"^{gone}.*?\n\n", "", cell.source, flags=re.M | re.S)
    monkeypatch.setattr("course.arguments.plain", lambda name: notebook)
    with pytest.raises(Refused, match="pac, what_each_promises: needs two answers and a rubric"):
        arguments.rubrics.__wrapped__("pac")


def test_numbers_of_wrong_answers_are_those_that_are_computed():
    """What a wrong answer misses is said with numbers; each is computed once more."""
    misses = {question: arguments.rubrics(name)[question].misses for name, question in BY_HAND}
    said = {question: re.findall(r"\d+(?:\.\d+)?", text) for question, text in misses.items()}
    assert f"{1 + math.exp(0.999):.1f}" in said["which_number_to_print"]
    even, likely = 1 / (1 + math.exp(-0.1)), 1 / (1 + math.exp(-0.1) / 9)
    assert even < 0.53
    assert {"53", f"{100 * likely:.0f}"} <= {*said["notice_for_participants"]}
    assert math.ceil(59 * 0.1) == 6
    assert 5 < dpsgd_epsilon(2.0, 1.0, 6, 1e-5) < 6
    assert "more than 5 nats" in misses["what_was_promised"]
    assert dpsgd_epsilon(2.0, 0.1, 59, 1e-5) < 2
    assert round(1e7 * (1 - 0.05**1e-7)) == 3
    assert "three in ten million" in misses["what_an_audit_says"]
    assert 0.9 * 0.5 + 0.1 * 1 == pytest.approx(0.55)
    assert "nine tenths of 50 and one tenth of 100, which is 55" in misses["what_each_promises"]
    budgets = np.array([1.0, 0.6, 0.4])
    for asked in (1.0, 0.1):  # what the second loses: the constant, their weight and the rate
        budgets[0] = asked
        rate = budgets.sum() / 4.0
        assert 4.0 * (budgets / budgets.sum())[1] * rate == pytest.approx(0.6)
    shares = [min(3, cap) / min(150, cap) for cap in (2.5, 150)]
    assert shares == [1, 1 / 50]
    assert "all of" in misses["half_of_all_records"]
    assert "a fiftieth" in misses["half_of_all_records"]


def test_a_printed_loss_gives_a_label_away_but_for_two_values():
    """What the wrong answer of *may_losses_be_published* overlooks."""
    rng = np.random.default_rng(3)
    X, y, lam, gamma, delta = rng.uniform(-0.5, 0.5, (30, 2)), rng.uniform(-1, 1, 30), 1, 2, 1e-6
    A, b = X[1:], y[1:]
    H = A.T @ A + lam * np.eye(2)
    leverage, predicted = X[0] @ np.linalg.solve(H, X[0]), X[0] @ np.linalg.solve(H, A.T @ b)
    sizes = np.linspace(0, 3, 30_001)
    losses = ops_epsilon(delta, leverage, math.sqrt(gamma) * sizes)
    assert (np.diff(losses) > 0).all()
    printed = ops_epsilon(delta, leverage, math.sqrt(gamma) * abs(y[0] - predicted))
    found = np.interp(printed, losses, sizes)
    assert min(abs(predicted - found - y[0]), abs(predicted + found - y[0])) < 1e-4  # the grid


def test_noise_adds_to_the_error_on_the_pool():
    """What the wrong answer of *whose_error* overlooks: the trace, on average."""
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(24, 3)), rng.normal(size=24)
    half = np.linalg.lstsq(X[:12], y[:12])[0]
    noise = 0.2 * rng.normal(size=(20_000, 3))
    added = ((y - (half + noise) @ X.T) ** 2).mean(axis=1) - ((y - X @ half) ** 2).mean()
    wanted = 0.2**2 * np.trace(X.T @ X) / 24
    assert abs(added.mean() - wanted) < 5 * added.std() / math.sqrt(len(added))


# --- marking -------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course in which two answered; Ann's is marked up to her."""
    folder = tmp_path_factory.mktemp("arguments")
    assert main(["create", str(folder / "c"), "--seed", "5"]) == 0
    toml = folder / "c" / "course.toml"
    toml.write_text(toml.read_text().replace("# arguments = true", "arguments = true"))
    notebook = released(cuts.source(SHEET, settings.load(folder / "c")))
    for cell in notebook.cells:
        if cell.metadata.get("nbgrader", {}).get("grade_id") == "why_weighted_ridge":
            cell.source = "Since <b>noise</b> is missing.\n</script>"
    (folder / "in").mkdir()
    nbformat.write(notebook, folder / "in" / "ann.ipynb")
    notebook.cells = [c for c in notebook.cells if not c.id.startswith("why_")]
    nbformat.write(notebook, folder / "in" / "bob.ipynb")
    assert main(["grade", str(folder / "c"), SHEET, str(folder / "in")]) == 0
    return settings.load(folder / "c")


def fill(course, points):
    path = course.folder / "marks" / f"{SHEET}-by-hand.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    assert set(table.exercise) == {"why_weighted_ridge", "why_privacy_profile"}
    mine = (table.student == "ann") & (table.exercise == "why_weighted_ridge")
    table.loc[mine, "points"] = points
    table.to_csv(path, index=False)


def test_a_filled_rubric_counts_and_says_what_is_lacking(course):
    fill(course, "1 0 1")
    assert main(["export", str(course.folder), SHEET]) == 0
    marks = pd.read_csv(course.folder / "marks" / f"{SHEET}.csv").set_index("student")
    assert marks.score["ann"] == 2
    assert (marks.by_hand["ann"], marks.by_hand["bob"]) == (3, 6)
    assert (marks.max_score == 12 + 6).all()
    lacking = arguments.arguments()["weighted_ridge"].rubric[1]
    assert f"why_weighted_ridge, by hand: -1: {lacking}" in marks.feedback["ann"]
    page = course.folder / "feedback" / "ann" / SHEET / f"{SHEET}.html"
    assert f"<li>-1: {lacking}" in page.read_text()


@pytest.mark.parametrize("points", ["1 0", "3", "1 1 1 1", "1 0 2", "101", "1 0 x"])
def test_a_rubric_that_is_not_filled_in_is_refused(course, capsys, points):
    fill(course, points)
    assert main(["export", str(course.folder), SHEET]) == 1
    said = capsys.readouterr().err
    assert "ann, why_weighted_ridge: the rubric has 3 lines; write 1 or 0 for each" in said
    assert repr(points) in said
    fill(course, "")


def test_gradescope_shows_that_arguments_wait(tmp_path):
    (tmp_path / "submission").mkdir()
    (tmp_path / "source").mkdir()
    cells = [v4.new_code_cell("# weighted_ridge")]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "submission" / "x.ipynb")
    worth = {one.name: one.points for one in cuts.questions("foundations", ON)}
    (tmp_path / "source" / "points.json").write_text(json.dumps(worth))
    write_results(tmp_path, "foundations")
    tests = json.loads((tmp_path / "results" / "results.json").read_text())["tests"]
    found = {one["name"]: one for one in tests}["why_weighted_ridge, by hand"]
    assert (found["score"], found["max_score"]) == (0, 3)
    assert found["output"] == "waits for marks by hand"


# --- the page for marking ------------------------------------------------------------------------


def test_the_page_has_every_answer_beside_its_rubric(course):
    fill(course, "1 0 1")
    table = marking._by_hand(course, SHEET)
    byhand.write(course.folder, SHEET, table)
    page = (course.folder / "marks" / f"{SHEET}-by-hand.html").read_text()
    assert "Since &lt;b&gt;noise&lt;/b&gt; is missing.\n&lt;/script&gt;" in page
    assert page.count("<blockquote>nothing</blockquote>") == 2  # Bob deleted both cells
    assert page.count("<select") == 3 * len(table)
    assert page.count("<option selected>1</option>") == 2
    for line in arguments.arguments()["weighted_ridge"].rubric:
        assert line in page


def test_a_question_of_a_sheet_is_marked_by_its_lines_or_by_points(course, capsys):
    """With its two answers on the page; points that somebody wrote count as ever."""
    sheet = "foundations-3"
    folder = course.folder.parent / "third"
    folder.mkdir()
    notebook = released(cuts.source(sheet, course))
    nbformat.write(notebook, folder / "ann.ipynb")
    assert main(["grade", str(course.folder), sheet, str(folder)]) == 0
    page = (course.folder / "marks" / f"{sheet}-by-hand.html").read_text()
    one = arguments.rubrics("foundations")["what_an_audit_says"]
    for told in (one.ask, one.right, one.wrong, one.misses, *one.rubric):
        assert html.escape(told) in page
    path = course.folder / "marks" / f"{sheet}-by-hand.csv"
    table = pd.read_csv(path, dtype=str, keep_default_na=False)
    mine = table.exercise == "what_an_audit_says"
    for written, points, lacking in (("1 0 1 1", 3, one.rubric[1]), ("2.5", 2.5, "")):
        table.loc[mine, "points"] = written
        table.to_csv(path, index=False)
        assert main(["export", str(course.folder), sheet]) == 0
        marks = pd.read_csv(course.folder / "marks" / f"{sheet}.csv", dtype=str)
        assert float(marks.score[0]) == points
        assert (f"-1: {one.rubric[1]}" in str(marks.feedback[0])) is bool(lacking)
    table.loc[mine, "points"] = "1 0 1"
    table.to_csv(path, index=False)
    assert main(["export", str(course.folder), sheet]) == 1
    assert (
        "the rubric has 4 lines; write 1 or 0 for each, such as 1 0 1 0" in capsys.readouterr().err
    )


CHROME = which("chromium") or which("chromium-browser")


@pytest.mark.skipif(not CHROME, reason="no Chromium")
@pytest.mark.parametrize(
    ("choices", "said"),
    [(("1", "0", "1"), "saved; put it into marks"), (("1", "", "1"), "not filled in: ann, why_")],
)
def test_the_page_saves_what_is_filled_in_and_names_what_is_not(course, tmp_path, choices, said):
    fill(course, "")
    byhand.write(course.folder, SHEET, marking._by_hand(course, SHEET))
    page = (course.folder / "marks" / f"{SHEET}-by-hand.html").read_text()
    act = f"""<script>
    const found = document.querySelectorAll('select[data-row="0"]');
    {json.dumps(choices)}.forEach((one, k) => found[k].value = one);
    document.getElementById("save").click();</script></html>"""
    (tmp_path / "x.html").write_text(page.replace("</html>", act))
    words = [CHROME, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom"]
    words += [f"--user-data-dir={tmp_path / 'chrome'}", f"file://{tmp_path / 'x.html'}"]
    done = subprocess.run(words, capture_output=True, text=True, timeout=120, cwd=ROOT)
    assert f'<output id="said">{said}' in done.stdout
