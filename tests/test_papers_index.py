"""Everything that the four papers contain has its row in `book/papers.csv`.

The texts of the papers are not part of this project: where their folder is missing, only the rows
themselves are tested.
"""

import random
import re
from pathlib import Path

import papers_drawn as drawn
import papers_index as index
import papers_read as read
import pytest
import reading
import yaml

ROOT = Path(__file__).resolve().parent.parent
TEXTS = drawn.TEXTS
FILES = {"A": "A-anonymous.txt", "B": "B.txt", "C": "C.txt", "D": "D.txt"}
ROWS = index.read()
needs_texts = pytest.mark.skipif(not TEXTS.is_dir(), reason="the texts of the papers are not here")


@pytest.fixture(scope="module")
def pages():
    return reading.load()


@pytest.fixture(scope="module")
def text(pages):
    return index.papers_index(pages)


def test_rows_name_pages_and_statements_that_are_there(pages):
    assert index.faults(ROWS, pages) == []
    assert {row["paper"] for row in ROWS} == set(FILES)
    assert len(ROWS) >= 300


# what is changed in one row, and what is then said
PLANTED = {
    "a page that is not there": ({"page": "personalized/pdpop"}, "there is no page personalized"),
    "a label that is not there": ({"label": "thm-none"}, "the label thm-none is not in"),
    "the page of another statement": ({"label": "thm-gwa"}, "thm-gwa stands on user_level/gwa"),
    "another verdict": ({"verdict": "fine"}, "the verdict must begin with one of"),
    "no reason": ({"verdict": "differs"}, "'differs' needs a reason"),
    "an empty reason": ({"verdict": "holds: "}, "'holds' needs a reason"),
    "a page for what is missing": ({"verdict": "not in the book"}, "a page stands exactly where"),
    "no page for what holds": ({"page": "", "label": ""}, "a page stands exactly where"),
    "another kind": ({"kind": "theorem"}, "the kind must be one of"),
    "another paper": ({"paper": "E"}, "no such paper"),
    "another section": ({"section": "chapter 2"}, "no such section"),
    "two sentences": ({"what": "It holds. It is used."}, "must be one sentence"),
    "a number": ({"what": "It gains 20 percent."}, "must be one sentence without numbers"),
    "no sentence": ({"what": "budgets"}, "must be one sentence"),
}


@pytest.mark.parametrize(("change", "said"), PLANTED.values(), ids=PLANTED)
def test_a_planted_fault_is_named(pages, change, said):
    at = next(k for k, row in enumerate(ROWS) if row["label"] == "thm-pdp-op")
    assert any(
        said in fault for fault in index.faults([*ROWS[:at], ROWS[at] | change, *ROWS[at:]], pages)
    )


def test_a_row_that_says_what_another_says_is_named(pages):
    again = {**ROWS[10], "what": ROWS[10]["what"].upper().capitalize()}
    [fault] = index.faults([*ROWS[:11], again, *ROWS[11:]], pages)
    assert fault.startswith("2 rows say")


def test_a_statement_without_its_row_is_named(pages):
    owed = [(row["label"], key) for row in reading.statements() for key in row["paper"]]
    assert len(owed) > 90
    for label, key in owed:
        others = [row for row in ROWS if (row["label"], row["paper"]) != (label, key)]
        assert f"{label} comes from {key} and has no row" in index.faults(others, pages)


def test_every_source_among_the_papers_is_owed():
    for row in reading.statements():
        papers = {key for key, cited in reading.PAPERS.items() if cited in row["source"].split()}
        assert papers <= set(row["paper"]), row["label"]


def test_rows_stand_in_the_order_of_the_text(pages):
    places = {(row["paper"], row["section"].partition(",")[0]) for row in ROWS}
    assert len(places) > 50
    rng = random.Random(1)
    for _ in range(50):
        one, other = sorted(rng.sample(range(len(ROWS)), 2))
        moved = ROWS.copy()
        moved[one], moved[other] = moved[other], moved[one]
        if index._key(ROWS[one]) != index._key(ROWS[other]):
            assert any("must stand before" in fault for fault in index.faults(moved, pages))


def test_numbers_of_a_section_rise(pages):
    at = {row["section"]: k for k, row in enumerate(ROWS) if row["paper"] == "B"}
    one, other = at["sec. 4.3, Algorithm 2"], at["sec. 4.3, Algorithm 3"]
    moved = ROWS.copy()
    moved[one], moved[other] = moved[other], moved[one]
    assert any("out of order" in fault for fault in index.faults(moved, pages))


def test_a_file_with_another_column_is_refused(pages, tmp_path):
    (tmp_path / "papers.csv").write_text("paper,section,what\nA,abstract,One.\n")
    [fault] = index.faults(index.read(tmp_path / "papers.csv"), pages)
    assert f"every row must have {index.FIELDS}; got" in fault


# --- what other pages say of the same things -----------------------------------------------------

#: a verdict of published.yml -> what the index may say of the same table or figure
SAME = {
    "reproduced": {"run again, agrees"},
    "claim holds": {"run again, agrees"},
    "in part": {"run again, agrees in part"},
    "side by side": {"run again, no verdict", "differs"},
    "redrawn": {"run again, no verdict"},
    "not reproducible": {"left out", "not in the book"},
}
PUBLISHED = yaml.safe_load((ROOT / "book" / "published.yml").read_text("utf-8"))["published"]


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: f"{row['paper']} {row['item']}")
def test_every_table_and_figure_has_the_verdict_of_its_numbers(row):
    found = [
        one
        for one in ROWS
        if one["paper"] == row["paper"]
        and one["kind"] in ("table", "figure")
        and row["item"] in (" ".join(item) for item in index.items(one))
    ]
    assert [index.verdict(one) in SAME[row["verdict"]] for one in found] == [True]
    assert found[0]["page"] == row["chapter"]


def test_the_page_has_an_entry_for_every_row(text):
    assert text.count("{.facet .by-verdict}") == len(ROWS)
    assert text.count("{.facet .by-paper}") == len(FILES)
    for word, meaning in index.VERDICTS.items():
        assert f"- *{word}*: {meaning}\n" in text
        total = sum(index.verdict(row) == word for row in ROWS)
        assert re.search(rf"^\| {word} \|.* {total} \|$", text, re.M)
        assert text.count(f"[{word}]{{.facet .by-verdict}}") == total
    numbers = (ROOT / "book" / "back" / "published.md").read_text("utf-8")
    linked = re.findall(r"\(#(printed-[\w-]+)\)", text)
    assert len(linked) == len(PUBLISHED)
    assert all(f"({anchor})=" in numbers for anchor in linked)
    heads = re.findall(r"^## \[(.+)\]\{.facet .by-paper\}$", text, re.M)
    assert heads == [reading.called(key) for key in FILES]


def test_a_row_of_the_page_by_hand(text):
    assert (
        "- **Sec. 4.2, Algorithm 1** (statement). All steps together keep the promise by "
        "composition, and losses of privacy add up. [holds with a correction]{.facet "
        ".by-verdict}: accountants count steps and not epochs, and assume a coin for each person "
        "in each step. {doc}`DP-SGD <../pac/dpsgd>`, {prf:ref}`prop-dpsgd`.\n"
    ) in text


def test_a_fault_is_refused(pages, monkeypatch):
    monkeypatch.setattr(index, "read", lambda: [*ROWS, ROWS[-1] | {"page": "p/q"}])
    with pytest.raises(reading.Refused, match="there is no page p/q"):
        index.papers_index(pages)


# --- the texts -----------------------------------------------------------------------------------

HEADED = {  # how a text prints the numbered things that it contains
    "A": r"(?:^|\. ?)(Definition|Assumption|Theorem|Lemma|Remark|Table|Figure|Algorithm) "
    r"(\.?[A-D]?\.?\d+(?:\.\d+)?)(?= Pers| \(|\.|:)",
    "B": r"^ *(Definition|TABLE|Figure) (\d|[IVX]+)(?= |:)",
    "C": r"^(Definition|Lemma|Fact|Proposition|Corollary|Theorem|Remark) (\d+)(?= \(|\.)",
    "D": r"^(?:\*\*|#* ?)(Definition|Theorem|Lemma|Claim|Example|Algorithm|Figure|Table) "
    r"(\d+)(?=\.?\*\*|:? )",
}


def numbered(key):
    """The theorems, tables and so on that a text heads."""
    text = (TEXTS / FILES[key]).read_text(encoding="utf-8")
    found = re.findall(HEADED[key], text, re.M)
    return {(name.capitalize(), number) for name, number in found}


@needs_texts
@pytest.mark.parametrize("key", FILES)
def test_everything_that_has_a_number_has_its_row(key):
    here = {item for row in ROWS if row["paper"] == key for item in index.items(row)}
    headed = numbered(key)
    assert len(headed) >= {"A": 40, "B": 10, "C": 24, "D": 17}[key]
    assert headed - here == set()
    assert all(headed - (here - {item}) == {item} for item in headed)


@needs_texts
@pytest.mark.parametrize("key", FILES)
def test_no_row_has_a_number_that_is_not_printed(key):
    text = " ".join((TEXTS / FILES[key]).read_text(encoding="utf-8").casefold().split())
    here = [item for row in ROWS if row["paper"] == key for item in index.items(row)]
    for name, number in here:
        assert f"{name} {number}".casefold() in text, (name, number)


@needs_texts
@pytest.mark.parametrize("path", sorted(TEXTS.glob("*.txt")), ids=lambda path: path.stem)
def test_the_same_lines_are_drawn_for_everybody(path):
    text = path.read_text(encoding="utf-8")
    found = drawn.drawn(text)
    assert found == drawn.drawn(text)
    assert len({number for number, _, _ in found}) == drawn.LINES
    lines = text.splitlines()
    assert all(lines[number - 1].strip() == line for number, _, line in found)


@needs_texts
def test_the_command_prints_the_lines_of_every_text(capsys):
    assert drawn.main([]) == 0
    said = capsys.readouterr().out
    assert said.count(".txt, line ") == drawn.LINES * len(list(TEXTS.glob("*.txt")))


def test_the_command_needs_texts(tmp_path, capsys):
    assert drawn.main([str(tmp_path)]) == 1
    assert f"{tmp_path} has no texts" in capsys.readouterr().out
    assert drawn.main(["one", "two"]) == 2


def test_headings_and_bibliographies_are_not_drawn():
    said = "Here are ten words or more that make up one whole line of text."
    text = f"{said}\n2.1 A heading with many words that no one should ever draw at all\n{said}\n"
    text += f"References\n- {said}\nAppendix A Proofs\n{said}\n1 2 3 4 5 6 7 8 9 10 11 12\n"
    found = list(drawn.candidates(text))
    assert [number for number, _, _ in found] == [1, 3, 7]
    assert [heading for _, heading, _ in found] == [
        "",
        "2.1 A heading with many words that no one should ever draw at all",
        "Appendix A Proofs",
    ]


# --- every sentence of the texts -----------------------------------------------------------------

LINE = "Here are ten words or more. They make up one whole line of text, in two sentences."


def entry(number, place, sentence, **change):
    """The entry of one sentence that the row abc123 answers."""
    named = {"line": str(number), "sentence": str(place), "mark": read.mark_of(sentence, 8)}
    return named | {"rows": "abc123", "nothing": ""} | change


def entries(**change):
    """Entries of LINE, the second of them changed."""
    one, other = (sentence for _, _, sentence in read.sentences(LINE))
    return [entry(1, 1, one), entry(1, 2, other, **change)]


def test_entries_of_every_sentence_have_no_fault():
    assert read.faults(LINE, entries(), {"abc123"}) == []
    assert read.faults(LINE, entries(rows="", nothing="repeat 1"), {"abc123"}) == []


FAULTS = {
    "a row that is not there": ({"rows": "abc123 def456"}, "no rows ['def456']"),
    "neither rows nor a reason": ({"rows": ""}, "must have rows, or why"),
    "rows and a reason": ({"nothing": "step"}, "must have rows, or why"),
    "another reason": ({"rows": "", "nothing": "dull"}, "'dull' is none of"),
    "a repeat of nothing": ({"rows": "", "nothing": "repeat"}, "a repeat names the line"),
    "a step of a line": ({"rows": "", "nothing": "step 3"}, "a repeat names the line"),
}


@pytest.mark.parametrize(("change", "said"), FAULTS.values(), ids=FAULTS)
def test_a_fault_of_an_entry_is_named(change, said):
    [fault] = read.faults(LINE, entries(**change), {"abc123"})
    assert fault.startswith("line 1, sentence 2: ")
    assert said in fault


def test_another_text_needs_another_reading():
    [missing, gone] = read.faults(LINE.replace("whole", "entire"), entries(), {"abc123"})
    assert missing.startswith("no entry: 1 2 ")
    assert "They make up one entire line" in missing
    assert gone == f"no such sentence: 1 2 {entries()[1]['mark']}"


@needs_texts
@pytest.mark.parametrize("path", sorted(TEXTS.glob("*.txt")), ids=lambda path: path.stem)
def test_every_sentence_that_may_be_drawn_has_its_rows(path):
    marks = {read.mark_of(row["what"], 6) for row in ROWS if path.stem.startswith(row["paper"])}
    text = path.read_text(encoding="utf-8")
    found = read.read(read.FOLDER / f"{path.stem}.csv")
    assert len(found) > 200
    assert read.faults(text, found, marks) == []


def test_the_rows_of_entries_are_there():
    marks = {read.mark_of(row["what"], 6) for row in ROWS}
    assert len(marks) == len(ROWS)
    for file in read.FOLDER.glob("*.csv"):
        assert {mark for one in read.read(file) for mark in one["rows"].split()} <= marks
