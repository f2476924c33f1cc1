"""What is new here, and how a statement gets in: every result has its row, every bug its words."""

import csv
import re

import method
import nbformat
import pytest
from pages import PAGES, Refused
from reading import CHECKED, ROOT, load, published, statements, works

NEW = nbformat.read(published()["papers/new"], as_version=4)
TEXT = "\n\n".join(cell.source for cell in NEW.cells if cell.cell_type == "markdown")
ROWS = re.findall(r"^\* - (\*\*.*?)\n  - (.*?)\n  - (.*?)$", TEXT, re.M | re.S)
BOXES = {row["label"]: row for row in statements()}
# published statements that stand here with a better constant, or derived anew
SHARPENED = {
    "thm-gap-lower",
    "thm-gap-upper",
    "thm-quantile-accuracy",
    "thm-weighted-erm",
    "thm-uniform-convergence",
    "claim-unit-norm-gap",
}


def named(text):
    return re.findall(r"\{prf:ref\}`([\w-]+)`", text)


@pytest.fixture(scope="module")
def pages():
    return load()


# ---------------------------------------------------------------- what is new here


def test_every_result_of_ours_has_one_row():
    ours = {k for k, row in BOXES.items() if row["source"] == "ours" and row["kind"] in CHECKED}
    rows = [label for first, _, _ in ROWS for label in named(first)]
    assert sorted(rows) == sorted(ours | SHARPENED)


def test_what_is_sharpened_has_an_owner():
    assert all(BOXES[label]["source"] != "ours" for label in SHARPENED)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: re.search(r"\*\*(.+)\*\*", row[0])[1])
def test_a_row_says_who_had_what_and_what_is_new(row):
    first, before, now = row
    assert re.match(r"\*\*[A-Z][^*]+\*\*\n", first)
    assert len(before) > 25
    assert len(now) > 40


def test_every_work_that_is_cited_is_known():
    known = works((ROOT / "book" / "references.bib").read_text(encoding="utf-8"))
    cited = {
        key for keys in re.findall(r"\{cite:[tp]\}`([\w,]+)`", TEXT) for key in keys.split(",")
    }
    assert len(cited) > 25
    assert cited <= {*known}


def test_weighted_averaging_is_credited_where_one_looks_for_it():
    [row] = [row for row in ROWS if "Weighted averaging" in row[0]]
    assert "Weighted averaging is due to {cite:t}`epasto2020smoothly`" in row[1]
    assert BOXES["alg-wa"]["source"] == "epasto2020smoothly"


# ---------------------------------------------------------------- the method


def test_the_example_is_the_theorem_that_the_page_names(pages):
    page = PAGES["method"](pages)
    assert BOXES[method.EXAMPLE]["number"] == "Thm.2.1, Alg.1"
    assert "Acharya et al. 2024, Theorem 2.1" in page
    assert page.count("| {doc}`") == len(method.BROKEN)


def test_what_the_page_says_in_words_is_in_the_cells():
    """Eight people with four features; the fifth bug, with budgets of 0.001."""
    cells = {c.id: c.source for c in nbformat.read(published()[method.HOME], 4).cells}
    assert "mechanism, 8, 4," in cells["check-thm-pdp-op"]
    assert cells["check-thm-pdp-op"].count("PDPRidge(") == 2
    assert len(re.findall(r'\("[\w-]+", \d+\)', cells["check-thm-pdp-op"])) + 1 == 5
    assert [*method.BROKEN][4].startswith("ScaleForRate")
    below = nbformat.read(published()[f"{method.HOME}_data"], 4).cells
    assert any("ScaleForRate(400.0), " in c.source and "1e-3" in c.source for c in below)


def test_the_numbers_are_those_of_the_records(pages):
    page = PAGES["method"](pages)
    with (ROOT / "lab/benchmarks/mutants.csv").open(encoding="utf-8", newline="") as file:
        [row] = [row for row in csv.DictReader(file) if row["module"] == "personalized"]
    assert f"Of {row['mutants']} such" in page
    assert f"{row['killed']} are killed" in " ".join(page.split())
    assert f"{row['killed_at_first']} before we wrote new tests" in " ".join(page.split())
    assert f"{row['killed']} of {row['mutants']} killed" in PAGES["_static/diagrams/method.svg"](
        pages
    )


def test_a_bug_without_a_description_is_refused(pages, monkeypatch):
    monkeypatch.delitem(method.BROKEN, "EqualWeights")
    with pytest.raises(Refused, match="descriptions differ"):
        method.method(pages)
