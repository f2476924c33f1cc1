"""The contract: every statement of statements.csv has its box, proof, check and falsifier.

Each rule is a function that returns what is wrong with a page; the tests run them on the chapters
and on small notebooks with one planted fault each.
"""

import csv
import importlib
import re
from collections import Counter
from pathlib import Path

import evidence
import functions
import nbformat
import pages
import pytest
import reading
import yaml
from nbformat import v4
from pdp_docstrings import exported

ROOT = Path(__file__).resolve().parent.parent

ROWS = pages.statements()
CHAPTERS = pages.published()
PROVED = {"prf:theorem", "prf:lemma", "prf:proposition", "prf:corollary"}
FREE = ("fig-", "eq-", "ex-", "tab-")  # what may be named without a row, unless it is a box

chapters = pytest.mark.parametrize("name", CHAPTERS)


@pytest.fixture
def page(name):
    return pages.read(name, nbformat.read(CHAPTERS[name], as_version=4))


def rows_of(name):
    return [row for row in ROWS if row["chapter"] == name]


# --- the rules -----------------------------------------------------------------------------------


def misplaced(page, rows):
    """Rows that are not on their page, or under another directive."""
    wrong = []
    for row in rows:
        box = page.boxes.get(row["label"])
        want = {"table": ("table", "list-table")}.get(
            row["directive"], (f"prf:{row['directive']}",)
        )
        if box is None:
            wrong.append(f"{row['label']} ({row['directive']}) is not on the page")
        elif box.directive not in want:
            wrong.append(f"{row['label']} is a {{{box.directive}}}, and must be a {{{want[0]}}}")
    return wrong


def unproved(page, rows):
    """Statements without a proof after them: each proof closes the last statement still open."""
    cited = {row["label"] for row in rows if row["kind"] == "cited"}
    open_, wrong = [], []
    for box in page.directives:
        if box.directive in PROVED and box.label not in cited:
            open_.append(box)
        elif box.directive == "prf:proof" and open_:
            statement = open_.pop()
            if statement.at == box.at:
                wrong.append(f"{statement.label}: statement and proof stand in one cell")
    return wrong + [f"{box.label or box.title} has no proof after it" for box in open_]


def unmeasured(page, rows):
    """Statements without a printed check after them, or without a falsifier or a waiver."""
    wrong = []
    for row in rows:
        label = row["label"]
        if row["kind"] not in pages.CHECKED or label not in page.boxes:
            continue
        at = page.boxes[label].at
        if not any(line.at > at for line in page.measured.get(label, [])):
            wrong.append(f"{label} has no check cell after it that printed a line of its label")
        if not page.falsified.get(label) and label not in page.waived:
            wrong.append(f"{label} has no falsifier, and no line 'Waiver, {label}: reason'")
    return wrong


def unknown(page, rows=ROWS):
    """Boxes and labels that statements.csv does not have, or has in another chapter."""
    chapter = {row["label"]: row["chapter"] for row in rows}
    wrong = []
    for label, box in page.boxes.items():
        if label in chapter and chapter[label] != page.name:
            wrong.append(f"{label} belongs in {chapter[label]}")
        elif label not in chapter and (box.directive[:4] == "prf:" or not label.startswith(FREE)):
            wrong.append(f"{label} is not in statements.csv")
    for label in [*page.measured, *page.falsified, *page.waived]:
        if label not in chapter:
            wrong.append(f"a cell speaks of {label}, which is not in statements.csv")
    # the builder numbers boxes without one, and two pages then claim the same number
    wrong += [
        f"the box {box.title!r} has no label; give it one, with a row in statements.csv"
        for box in page.directives
        if box.directive.startswith("prf:") and box.directive != "prf:proof" and not box.label
    ]
    return wrong


def late_markers(notebook):
    """Check and falsify comments that do not begin their cell, where nothing reads them."""
    wrong = []
    for cell in notebook.cells:
        if cell.cell_type == "code":
            found = re.findall(r"^# *(?:check|falsify): *[\w-]+", cell.source, re.M)
            if len(found) != len(pages.markers(cell.source)):
                wrong.append(f"cell {cell.get('id')}: {found[-1]!r} must be its first line")
    return wrong


# --- the chapters --------------------------------------------------------------------------------


def test_labels_of_the_contract_are_unique_and_its_kinds_known():
    labels = [row["label"] for row in ROWS]
    assert len(set(labels)) == len(labels) > 100
    for row in ROWS:
        assert row["chapter"].partition("/")[0] in (row["part"], "papers")
        if row["kind"] in pages.CHECKED:
            assert f"prf:{row['directive']}" in PROVED


@chapters
def test_every_statement_of_the_chapter_is_on_its_page(name, page):
    assert misplaced(page, rows_of(name)) == []


@chapters
def test_every_statement_is_proved(name, page):
    assert unproved(page, rows_of(name)) == []


@chapters
def test_every_statement_is_checked_and_falsified(name, page):
    assert unmeasured(page, rows_of(name)) == []


@chapters
def test_no_label_is_made_up(name, page):
    assert unknown(page) == []


@chapters
def test_every_page_can_enter_the_ledger(name, page):
    assert page.faults == []


@chapters
def test_markers_begin_their_cell(name):
    assert late_markers(nbformat.read(CHAPTERS[name], as_version=4)) == []


@pytest.mark.parametrize(
    "path",
    [p for p in sorted((ROOT / "book").rglob("*.md")) if p.stem not in pages.PAGES],
    ids=lambda p: str(p.relative_to(ROOT)),
)
def test_no_statement_stands_outside_a_chapter(path):
    source = path.read_text(encoding="utf-8")
    page = pages.read(path.stem, v4.new_notebook(cells=[v4.new_markdown_cell(source)]))
    assert unknown(page) == []


@pytest.fixture(scope="module")
def loaded():
    return pages.load()


@pytest.mark.parametrize("name", pages.PAGES)
def test_generated_pages_are_up_to_date(name, loaded):
    path = ROOT / "book" / pages.place(name)
    made = pages.PAGES[name](loaded)
    assert path.read_text(encoding="utf-8") == made, f"run tools/pages.py to renew {path.name}"


def test_every_statement_names_who_had_it_first():
    known = reading.works((ROOT / "book" / "references.bib").read_text(encoding="utf-8"))
    for row in reading.statements():
        assert row["source"] == "ours" or set(row["source"].split()) <= known.keys(), row["label"]
        assert row["source"] != "ours" or not row["paper"], row["label"]
        assert set(row["paper"]) <= set("ABCD"), row["label"]


def test_every_box_says_so_in_its_title():
    known = reading.works((ROOT / "book" / "references.bib").read_text(encoding="utf-8"))
    rows = {row["label"]: row for row in reading.statements()}
    wrong = [
        (label, box.title)
        for page in reading.load().values()
        for label, box in page.boxes.items()
        if label in rows
        and box.title.rpartition("; ")[2] != reading.attribution(rows[label], known)
    ]
    assert wrong == []


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ({"source": "ours", "paper": "", "number": "-"}, "ours"),
        ({"source": "warner1965randomized", "paper": "", "number": "-"}, "after Warner 1965"),
        (
            {"source": "acharya2024personalized", "paper": "A", "number": "Thm.2.1, Alg.1"},
            "Acharya et al. 2024, Theorem 2.1, Algorithm 1",
        ),
        (
            {"source": "dwork2006calibrating", "paper": "D", "number": "Thm.1"},
            "after Dwork et al. 2006",
        ),
    ],
)
def test_the_attribution_in_words(row, words):
    known = reading.works((ROOT / "book" / "references.bib").read_text(encoding="utf-8"))
    assert reading.attribution(row, known) == words


# --- a page with one planted fault each ----------------------------------------------------------

ROW = {"label": "thm-x", "kind": "theorem", "directive": "theorem", "part": "p", "paper": "A"}
ROW |= {"chapter": "p/c", "number": "Thm.1.2", "number_published": "Thm.2.3", "statement": "a_b"}
ROW |= {"source": "acharya2024personalized"}
BOX = ":::{prf:theorem} Noise suffices; A Thm 1.2\n:label: thm-x\n\nLet $x$.\n:::"
PROOF = ":::{prf:proof}\n*One sentence.* Done.\n:::"
CHECK = '# check: thm-x\ncheck("thm-x", "largest loss", 0.5, at_most=1)'
CHECKED = "thm-x  largest loss       0.5  <= 1\n"
FALSIFY = '# falsify: thm-x\nfalsify("thm-x", "half the noise", half)'
FALSIFIED = "thm-x  half the noise       2  not <= 1\n"
SUMMARY = "## Summary\n\n| statement | function |\n| --- | --- |\n| {prf:ref}`thm-x` | `f` |"


def cell(source, printed=None):
    """A markdown cell, or a code cell with what it printed."""
    if printed is None:
        return v4.new_markdown_cell(source)
    outputs = [v4.new_output("stream", name="stdout", text=printed)] if printed else []
    return v4.new_code_cell(source, outputs=outputs)


def good():
    return [
        cell("# Title\n\nA claim."),
        cell(BOX),
        cell(PROOF),
        cell(CHECK, CHECKED),
        cell(FALSIFY, FALSIFIED),
        cell(SUMMARY),
    ]


def faults(cells, row=ROW, *others):
    """Everything the rules find on a page made of these cells, for these rows."""
    rows = [row, *others]
    notebook = v4.new_notebook(cells=cells)
    page = pages.read("p/c", notebook)
    return [
        *page.faults,
        *misplaced(page, rows),
        *unproved(page, rows),
        *unmeasured(page, rows),
        *unknown(page, rows),
        *late_markers(notebook),
    ]


def replaced(at, *cells):
    page = good()
    page[at : at + 1] = cells
    return page


def test_a_good_page_passes():
    assert faults(good()) == []


PLANTED = {
    "no box": (replaced(1), "thm-x (theorem) is not on the page"),
    "wrong directive": (replaced(1, cell(BOX.replace("theorem}", "lemma}"))), "must be a {prf:th"),
    "no proof": (replaced(2), "thm-x has no proof after it"),
    "proof before": ([*good()[:1], cell(PROOF), *replaced(2)[1:]], "thm-x has no proof after it"),
    "proof in the box's cell": (replaced(1, cell(BOX + "\n\n" + PROOF)), "stand in one cell"),
    "one proof for two": (
        replaced(1, cell(BOX), cell(":::{prf:lemma} L\n:label: ex-lemma\n\ny\n:::")),
        "thm-x has no proof after it",
    ),
    "no check": (replaced(3), "thm-x has no check cell"),
    "check that printed nothing": (replaced(3, cell(CHECK, "")), "printed no line of thm-x"),
    "check of another label": (
        replaced(3, cell(CHECK, CHECKED.replace("thm-x", "thm-y"))),
        "printed no line of thm-x",
    ),
    "check that only falsified": (replaced(3, cell(CHECK, FALSIFIED)), "printed no line of thm-x"),
    "check before the box": ([good()[3], *replaced(3)], "thm-x has no check cell after it"),
    "no falsifier": (replaced(4), "thm-x has no falsifier, and no line 'Waiver"),
    "falsifier that held": (replaced(4, cell(FALSIFY, CHECKED)), "printed no line of thm-x"),
    "marker below the first line": (
        replaced(3, cell("x = 1\n" + CHECK, CHECKED), good()[3]),
        "must be its first line",
    ),
    "made-up label": ([*good(), cell(BOX.replace("thm-x", "thm-z"))], "thm-z is not in statem"),
    "no label": (
        [*good(), cell(":::{prf:remark} Nameless\n\ny\n:::")],
        "the box 'Nameless' has no label",
    ),
    "label without a row": (
        [*good(), cell(":::{prf:remark} R\n:label: own-c-r\n\ny\n:::")],
        "own-c-r is not in statements.csv",
    ),
    "box named like an exercise": (
        [*good(), cell(":::{prf:remark} R\n:label: ex-r\n\ny\n:::")],
        "ex-r is not in statements.csv",
    ),
    "made-up check": (
        [*good(), cell(CHECK.replace("thm-x", "thm-z"), CHECKED.replace("thm-x", "thm-z"))],
        "a cell speaks of thm-z",
    ),
    "label twice": ([*good(), cell(BOX), cell(PROOF)], "thm-x stands on the page twice"),
}


@pytest.mark.parametrize(("cells", "message"), PLANTED.values(), ids=PLANTED)
def test_planted_faults_are_noticed(cells, message):
    found = faults(cells)
    assert any(message in fault for fault in found), found


def test_a_statement_of_another_chapter_is_noticed():
    assert "thm-x belongs in p/other" in faults(good(), ROW | {"chapter": "p/other"})


def test_a_waiver_stands_for_a_falsifier_and_a_citation_for_a_proof():
    waiver = cell("Waiver, thm-x: nothing can be\ndropped here.\n\nOther words.")
    assert faults(replaced(4, waiver)) == []
    page = pages.read("p/c", v4.new_notebook(cells=[waiver]))
    assert page.waived == {"thm-x": "nothing can be dropped here."}
    assert faults(good()[:2], ROW | {"kind": "cited"}) == []


def test_a_lemma_may_stand_between_a_theorem_and_its_proof():
    lemma = [cell(":::{prf:lemma} L\n:label: lem-l\n\ny\n:::"), cell(PROOF)]
    row = ROW | {"label": "lem-l", "kind": "remark", "directive": "lemma"}  # no check is due
    assert faults([*good()[:2], *lemma, *good()[2:]], ROW, row) == []


def test_what_is_read_off_a_page():
    page = pages.read("p/c", v4.new_notebook(cells=good()))
    assert page.title == "Title"
    assert page.functions == {"thm-x": "`f`"}
    [held] = page.measured["thm-x"]
    assert (held.what, held.value, held.relation, held.broken) == (
        "largest loss",
        "0.5",
        "<= 1",
        False,
    )
    [fell] = page.falsified["thm-x"]
    assert (fell.what, fell.value, fell.relation, fell.broken) == (
        "half the noise",
        "2",
        "<= 1",
        True,
    )


def test_the_lines_of_check_and_falsify_are_read_back(capsys):
    """The reader knows the form that `pdpbook.pages.statements` prints, tight columns included."""
    from pdpbook.pages.statements import check, falsify

    check("thm-x", "a  value: 1 = 1, <= 2", 1e-20, at_most=1e-9)
    check("thm-x", "w" * 40, 0.98, equals=1, rtol=0.05)
    check("thm-x", "w" * 40, -3, at_least=-1e6)
    falsify("thm-x", "w" * 43, lambda: check("thm-x", "a value", 1, at_most=1e-9))
    lines = capsys.readouterr().out.splitlines()
    read = [pages.LINE.fullmatch(line).groups() for line in lines]
    assert read == [
        ("thm-x", "a  value: 1 = 1, <= 2", "<1e-12", None, "<= 1e-09"),
        ("thm-x", "w" * 40, "0.98", None, "= 1 (rtol 0.05)"),
        ("thm-x", "w" * 40, "-3", None, ">= -1e+06"),
        ("thm-x", "w" * 43, "1", "not ", "<= 1e-09"),
    ]


# --- the generated pages -------------------------------------------------------------------------


@pytest.fixture
def small_book(monkeypatch):
    """A book of two statements, one of them in this release."""
    later = ROW | {"label": "thm-later", "chapter": "p/next", "statement": "costs $5 | more"}
    monkeypatch.setattr(pages, "statements", lambda: [ROW, later])
    return {"p/c": pages.read("p/c", v4.new_notebook(cells=good()))}


def test_the_ledger_says_what_was_tested_and_what_breaks_it(small_book):
    overview, part = pages.ledger(small_book), pages.ledger_part("p", small_book)
    for piece in [
        "{doc}`P <ledger/p>` | 1 | 1 | 1 | 1 |",
        "| {prf:ref}`thm-x` | [Noise suffices](#ledger-thm-x) | ",
        "| half the noise (2) |",
        "(2 lines, CSV)",
    ]:
        assert piece in overview
    for piece in [
        "## Title\n\n{.sift}\n- (ledger-thm-x)=\n  {prf:ref}`thm-x`, **Noise suffices**. ",
        "[{cite:t}`acharya2024personalized`]{.facet} Thm. 1.2, published as Thm. 2.3\n",
        "  *Tested*: largest loss: 0.5 (at most 1).\n",
        "  *With a deliberate mistake it fails:* half the noise (2).\n",
        "  Label `thm-x`; in code: `f`\n",
    ]:
        assert piece in part
    assert "thm-later" not in overview + part
    assert pages.log(small_book).splitlines() == [
        "label,chapter,outcome,measured,value,claimed",
        "thm-x,p/c,held,largest loss,0.5,<= 1",
        "thm-x,p/c,broken on purpose,half the noise,2,<= 1",
    ]


def entries(text):
    """The items of a generated page by their anchor."""
    return dict(re.findall(r"^- \(([\w-]+)\)=\n((?:  .*\n|\n(?=  ))+)", text, re.M))


def silent(row, found):
    """What an entry of the ledger does not say of a statement that is proved."""
    entry = found.get(f"ledger-{row['label']}", "")
    held = re.search(r"\*Tested\*: .*\d", entry)
    found = r"\*With a deliberate mistake it fails:\*.* \((?:\S*\d\S*|no limit)\)"
    fell = re.search(found + r"|No fault is planted: .", entry)
    return [word for word, there in [("test", held), ("fault", fell)] if not there]


def test_every_proved_statement_has_an_entry_with_its_test_and_its_fault():
    here, found = pages.load(), {}
    for part in pages.PARTS:
        found |= entries(pages.ledger_part(part, here))
    overview = pages.ledger(here)
    proved = [row for row in ROWS if row["kind"] in pages.CHECKED]
    assert len(proved) >= 140
    for row in proved:
        assert silent(row, found) == [], row["label"]
        assert f"(#ledger-{row['label']})" in overview
    row = proved[0]
    assert silent(row, {}) == ["test", "fault"]
    whole = found[f"ledger-{row['label']}"]
    assert silent(row, {f"ledger-{row['label']}": whole.split("*With a deliberate")[0]}) == [
        "fault"
    ]


def test_the_log_has_every_line_that_a_check_printed():
    here = pages.load()
    lines = [
        line
        for page in here.values()
        for kind in (page.measured, page.falsified)
        for found in kind.values()
        for line in found
    ]
    rows = list(csv.DictReader(pages.log(here).splitlines()))
    assert len(rows) == len(lines) > 1100
    assert {(r["label"], r["measured"], r["value"]) for r in rows} == {
        (line.label, line.what, line.value) for line in lines
    }


@pytest.mark.parametrize(
    ("cells", "message"),
    [
        (replaced(3, cell(CHECK, "")), "printed no line of thm-x"),
        (replaced(3), "thm-x is stated, and no cell checks it"),
    ],
)
def test_the_ledger_refuses_and_names_the_notebook(small_book, cells, message):
    small_book["p/c"] = pages.read("p/c", v4.new_notebook(cells=cells))
    with pytest.raises(pages.Refused, match=rf"^book/p/c\.ipynb: .*{message}"):
        pages.ledger(small_book)


def test_a_refused_ledger_is_not_written(small_book, monkeypatch, tmp_path, capsys):
    (tmp_path / "book" / "back").mkdir(parents=True)
    monkeypatch.setattr(pages, "ROOT", tmp_path)
    monkeypatch.setattr(pages, "load", lambda: small_book)
    few = {name: pages.PAGES[name] for name in ("ledger", "statements")}
    monkeypatch.setattr(pages, "PAGES", few)
    ledger = tmp_path / "book" / "back" / "ledger.md"
    assert pages.main(["--check"]) == 1
    assert "ledger.md: out of date" in capsys.readouterr().out
    assert pages.main([]) == 0
    assert pages.main(["--check"]) == 0
    ledger.write_text(ledger.read_text().replace("half the noise (2)", "half the noise (3)"))
    assert pages.main(["--check"]) == 1
    small_book["p/c"].faults.append("the check cell x printed no line of thm-x")
    assert pages.main([]) == 1
    assert "book/p/c.ipynb: the check cell x printed no line of thm-x" in capsys.readouterr().out
    assert "half the noise (3)" in ledger.read_text()


def test_the_index_links_what_is_here_and_names_what_is_to_come(small_book):
    index = pages.index(small_book)
    who = "[{cite:t}`acharya2024personalized`]{.facet} Thm. 1.2, published as Thm. 2.3"
    assert f"| {{prf:ref}}`thm-x` | a\\_b | {who} | {{doc}}`../p/c` |" in index
    assert "thm-later" not in index
    assert f"| later | costs \\$5 \\| more | {who} | Next |" in index


def test_a_chapter_of_the_contents_without_statements_is_in_the_release(monkeypatch, tmp_path):
    monkeypatch.setattr(reading, "ROOT", tmp_path)
    monkeypatch.setattr(reading, "statements", lambda: [ROW, ROW | {"chapter": "p/next"}])
    contents = {"root": "book/intro", "chapters": [{"file": f"book/{n}"} for n in ("p/e", "p/c")]}
    (tmp_path / "_toc.yml").write_text(yaml.safe_dump(contents))
    (tmp_path / "book" / "p").mkdir(parents=True)
    for name in ("intro", "p/c", "p/e", "p/next"):
        nbformat.write(v4.new_notebook(), tmp_path / "book" / f"{name}.ipynb")
    assert list(pages.published()) == ["p/e", "p/c"]
    (tmp_path / "_toc.yml").unlink()
    assert list(pages.published()) == ["p/c", "p/next"]


def test_the_package_page_lists_every_public_module():
    def found(folder):
        rooms = [p for p in folder.iterdir() if p.suffix == ".py" or (p / "__init__.py").exists()]
        return {p.stem for p in rooms if not p.name.startswith("_")}

    names = found(ROOT / "pdpbook") - {"pages"}
    names |= {f"pages.{name}" for name in found(ROOT / "pdpbook" / "pages")}
    names = sorted(f"pdpbook.{name}" for name in names)
    inside = {f"pdpbook.{name}" for name in functions.INSIDE}
    assert inside < set(names)
    assert not any(exported(importlib.import_module(name)) for name in inside)
    names = [name for name in names if name not in inside]
    assert pages.modules() == names
    page = pages.api(pages.load())
    for name in names:
        assert f"## {name.removeprefix('pdpbook.')}\n" in page
        assert f".. automodule:: {name}\n" in pages.reference(name, {})


# --- errata, and printed against ours ------------------------------------------------------------


def roman(numbers):
    return [f"Table {number}" for number in numbers.split()]


def counted(kind, last):
    return [f"{kind} {number}" for number in range(1, last + 1)]


OWED = {
    "A": [*counted("Table", 14), *counted("Figure", 19)],
    "B": [*roman("I II III IV V VI"), *counted("Figure", 2)],
    "C": [*counted("Table", 1), *counted("Figure", 2)],
    "D": [*counted("Table", 1), *counted("Figure", 2)],
}


@pytest.fixture(scope="module")
def made():
    here = pages.load()
    return {name: pages.PAGES[name](here) for name in ("errata", "published")}


@pytest.mark.parametrize("key", OWED)
def test_every_table_and_figure_of_the_papers_has_a_row(made, key):
    rows = evidence._source("published")["published"]
    mine = {row["item"]: row["verdict"] for row in rows if row["paper"] == key}
    assert list(mine) == OWED[key]
    found = entries(made["published"])
    for item, verdict in mine.items():
        entry = found[f"printed-{key}-{item}".lower().replace(" ", "-")]
        assert f"*{verdict.capitalize()}:* " in entry or "*Pending:*" in entry
        assert "*Pending:*" in entry or "```text" in entry or "| --- |" in entry


def test_all_printed_results_have_a_verdict_and_what_holds_stands_first(made):
    text = made["published"]
    found = [name for name in entries(text) if name.startswith("printed-")]
    assert len(found) == sum(map(len, OWED.values())) == 47
    heads = re.findall(r"^## (.+) \((\d+)\)$", text, re.M)
    used = {row["verdict"] for row in evidence._source("published")["published"]}
    assert [name.lower() for name, _ in heads] == [v for v in evidence.VERDICTS if v in used]
    assert sum(int(count) for _, count in heads) == 47
    assert heads[0][0] == "Reproduced"


@pytest.mark.parametrize(
    ("item", "head"),
    [
        ("Table 3", "Table 3, published as Table 5."),
        ("Table 1", "Table 1."),
        ("Figure 10", "Figure 10, published as Figure 1."),
        ("Figure 1", "Figure 1, not in the published version."),
    ],
)
def test_numbers_of_both_versions_stand_in_the_head(made, item, head):
    entry = entries(made["published"])[f"printed-a-{item}".lower().replace(" ", "-")]
    assert f"**[Acharya et al.]{{.facet}}, {head}**" in entry


def test_a_table_of_the_paper_with_two_versions_needs_both_numbers(tmp_path, monkeypatch):
    rows = evidence._source("published")["published"][:1]
    del rows[0]["number_published"]
    (tmp_path / "book").mkdir()
    text = yaml.safe_dump({"published": rows})
    (tmp_path / "book" / "published.yml").write_text(text, encoding="utf-8")
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    with pytest.raises(pages.Refused, match=r"A Table 1: must have .*'number_published'"):
        evidence._source("published")


def test_every_erratum_has_its_quotation_and_its_measured_line(made):
    source, found = evidence._source("errata"), entries(made["errata"])
    assert {row["paper"] for row in source["corrections"]} == set("ABCD")
    assert len(found) == sum(map(len, source.values())) >= 80
    shown = [name for name in found if not name.startswith("noted-")]
    for name in shown:
        entry = found[name]
        measured = re.search(r"\*Measured\* for .*\d", entry)
        assert measured or "Pending: " in entry or "```text" in entry or "| --- |" in entry, name
    for name in [name for name in found if not name.startswith("caution-")]:
        assert re.search(r'\*Printed:\* ".{3,}"\.', found[name]), name
    errors = [entry for entry in found.values() if "([error]{.facet})" in entry]
    assert len(errors) == sum(row["kind"] == "error" for row in source["corrections"])


def test_kinds_are_counted_apart(made):
    source = evidence._source("errata")
    count = Counter(row["kind"] for row in source["corrections"])
    count["remark"] += len(source["noted"])
    assert set(count) <= set(evidence.KINDS)
    head = made["errata"].partition("\n## ")[0]
    assert (
        f"{count['error']} errors, {count['condition']} missing conditions, {count['sharper']} "
        f"results that can be sharpened, and {count['remark']} remarks, {len(source['noted'])} of"
    ) in head
    kinds = list(evidence.KINDS)
    assert f"| paper | {' | '.join(kinds)} |" in head
    assert f"| all | {' | '.join(str(count[kind]) for kind in kinds)} |" in head
    assert f"At the end stand {len(source['cautions'])} *cautions*, which correct nobody" in head
    assert made["errata"].count('*Printed:* "') == count.total()


def test_formulas_of_a_paper_that_cannot_be_read_are_not_quoted(made):
    for row in evidence._source("errata")["cautions"]:
        assert re.match(r"One (?!is|are)", row["version"]), row["place"]
    mine = made["errata"].partition("\n## Cautions")[2].partition("\n## ")[0]
    assert mine.count("A version that would fail") > 10
    assert "Printed:" not in mine


UNAVAILABLE = re.compile(
    r"\bnot (\w+ ){0,2}at hand|\b(not|never) be had|\btext (at hand|we have)|\bnumbers we hold"
)
BY_HAND = (
    "errata.yml",
    "published.yml",
    "teaching.yml",
    "glossary.md",
    "notation.md",
    "intro.ipynb",
)
WRITTEN = [*CHAPTERS.values(), *(ROOT / "book" / name for name in BY_HAND)]


@pytest.mark.parametrize("path", WRITTEN, ids=lambda path: path.stem)
def test_no_page_says_that_something_public_is_not_at_hand(path):
    if path.suffix == ".ipynb":
        cells = nbformat.read(path, as_version=4).cells
        text = " ".join(cell.source for cell in cells if cell.cell_type == "markdown")
    else:
        text = path.read_text(encoding="utf-8")
    assert not UNAVAILABLE.search(" ".join(text.split()))


@pytest.mark.parametrize(
    "words",
    [
        "Its caption is not at hand in full.",
        "The file could not be had.",
        "This is not among the numbers we hold.",
        "not legible in the text at hand",
    ],
)
def test_words_for_what_is_not_at_hand_are_found(words):
    assert UNAVAILABLE.search(words)
    assert not UNAVAILABLE.search("The Hessian of the data at hand. It is not to be had for less.")


def test_what_waits_for_a_chapter_is_named(made):
    waiting = evidence.pending(pages.load())
    for row in waiting:
        chapter = row.rpartition(": ")[2]
        assert chapter not in CHAPTERS
        assert f"`{chapter}` is a later chapter" in "".join(made.values()), row
    for text in made.values():
        assert all(name in "".join(waiting) for name in re.findall(r"`(\S+)` is a later", text))


SAID = {"paper": "A", "place": "Theorem 1", "kind": "error", "quote": "$a$", "instead": "$b$."}
UNREAD = {"paper": "C", "place": "Lemma 2", "version": "One with $a$.", "instead": "$b$."}
WORDING = {"paper": "D", "place": "Claim 3", "quote": "the the", "instead": "The."}
CELLS = "   n  low\n 1.0  0.5\n 2.0  0.7\ntwice\ntwice\n"
BY_LINE = {"line": "thm-x | half the noise"}
BY_TEXT = {"page": "p/c", "text": "2.0", "under": "n low"}
BY_FILE = {"page": "p/c", "csv": "p/r.csv", "where": {"n": [1, 2]}, "columns": {"from": "low"}}


@pytest.fixture
def corrected(small_book, monkeypatch, tmp_path):
    """The errata page of the small book, made from one correction, one caution, one remark."""
    small_book["p/c"] = pages.read(
        "p/c", v4.new_notebook(cells=[*good(), cell("show(table)", CELLS)])
    )
    (tmp_path / "book" / "p").mkdir(parents=True)
    (tmp_path / "book" / "p" / "r.csv").write_text("# seed 1\nn,low\n1,0.51\n2,0.7\n3,0.9\n")
    monkeypatch.setattr(evidence, "ROOT", tmp_path)
    monkeypatch.setattr(evidence, "statements", pages.statements)

    def make(row, here=small_book):
        caution = UNREAD | {"evidence": [BY_LINE]}
        text = yaml.safe_dump({"corrections": [row], "cautions": [caution], "noted": [WORDING]})
        (tmp_path / "book" / "errata.yml").write_text(text)
        return evidence.errata(here)

    return make


def test_evidence_is_shown_as_it_was_printed(corrected):
    page = corrected(SAID | {"evidence": [BY_LINE, BY_TEXT, BY_FILE]})
    assert "## Acharya et al. (2024)\n\n{.sift}\n- (erratum-a1)=\n" in page
    assert "1 errors, 0 missing conditions, 0 results" in page
    found = entries(page)
    for piece in [
        "**1. Theorem 1** ([error]{.facet})",
        '*Printed:* "$a$".\n\n  *Instead:* $b$.',
        "*Measured* for {prf:ref}`thm-x`: half the noise: 2 (above 1).",
        "{doc}`../p/c` prints:\n\n  ```text\n     n  low\n   2.0  0.7\n  ```",
        "From `p/r.csv`:\n\n  | from |\n  | --- |\n  | 0.51 |\n  | 0.7 |\n",
    ]:
        assert piece in found["erratum-a1"]
    assert "**Wang (2019), Lemma 2**" in found["caution-1"]
    assert "*A version that would fail:* One with $a$.\n\n  *Instead:* $b$." in found["caution-1"]
    assert '*Printed:* "the the". The.' in found["noted-1"]


def test_a_long_block_of_printed_lines_folds(corrected, small_book):
    longer = cell("show(more)", "".join(f"row {k}\n" for k in range(5)))
    notebook = v4.new_notebook(cells=[*good(), longer])
    found = {"page": "p/c", "text": "row 0", "lines": 5}
    here = {"p/c": pages.read("p/c", notebook)}
    page = corrected(SAID | {"evidence": [found]}, here)
    assert "  :::{dropdown} The numbers\n  {doc}`../p/c` prints:\n\n  ```text\n  row 0\n" in page


def test_evidence_of_a_later_chapter_is_pending(corrected):
    later = {"line": "thm-later | half the noise"}
    page = corrected(SAID | {"evidence": [BY_LINE, later]})
    assert "half the noise: 2 (above 1)" in page
    assert "Pending: `p/next` is a later chapter." in page


MISSING = {
    "line": ({"evidence": [{"line": "thm-x | no noise"}]}, "prints the line 'thm-x | no noise'"),
    "label": ({"evidence": [{"line": "thm-y | no noise"}]}, "label thm-y is not in statements.csv"),
    "chapter": ({"evidence": [BY_TEXT | {"page": "p/d"}]}, "there is no chapter p/d"),
    "text": ({"evidence": [BY_TEXT | {"text": "3.0"}]}, "p/c prints 0 lines that begin '3.0'"),
    "heading": ({"evidence": [BY_TEXT | {"under": "m low"}]}, "p/c prints 0 lines"),
    "one text": ({"evidence": [{"page": "p/c", "text": "twice"}]}, "p/c prints 2 lines"),
    "file": ({"evidence": [BY_FILE | {"csv": "p/s.csv"}]}, "there is no file book/p/s.csv"),
    "row": ({"evidence": [BY_FILE | {"where": {"n": [1, 4]}}]}, r"no row with n = \[1, 4\]"),
    "column": ({"evidence": [BY_FILE | {"columns": ["high"]}]}, r"no column \['high'\]"),
    "any evidence": ({"evidence": []}, "A Theorem 1: no evidence"),
    "a known kind": ({"evidence": [BY_LINE], "kind": "typo"}, "the kind must be one of"),
    "a known paper": ({"evidence": [BY_LINE], "paper": "E"}, "no such paper"),
    "a quotation": ({"evidence": [BY_LINE], "quote": " "}, "A Theorem 1: no quotation"),
    "a field": ({"evidence": [BY_LINE], "note": "x"}, r"must have .*; got \['evidence'"),
    "a number": ({"evidence": [BY_LINE], "instead": "2.5 times."}, "the words say 2.5"),
}


@pytest.mark.parametrize(("change", "message"), MISSING.values(), ids=MISSING)
def test_evidence_that_is_not_there_is_noticed(corrected, change, message):
    with pytest.raises(pages.Refused, match=message):
        corrected(SAID | change)
