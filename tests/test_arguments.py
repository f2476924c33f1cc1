"""Arguments beside code: asked after core functions, marked by a rubric, in every export."""

import json
import subprocess
from shutil import which

import nbformat
import pandas as pd
import pytest
from nbformat import v4
from reading import ROOT, Refused

from course import arguments, byhand, cuts, marking, settings, teaching
from course.__main__ import main
from course.handout import key
from course.results import write_results
from course.settings import Course
from course.sheets import released
from pdpbook.pages.exercises import ASSIGNMENTS

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
