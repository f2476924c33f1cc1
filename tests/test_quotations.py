"""What `book/errata.yml` quotes is printed in the papers, word for word.

The texts of the papers are not part of this project: where their folder is missing, only the
presence of a quotation is tested.
"""

import json
import re
import unicodedata
from pathlib import Path

import nbformat
import pytest
import yaml

from lab import published

ROOT = Path(__file__).resolve().parent.parent
TEXTS = ROOT.parent / "shared" / "papers"
FILES = {"A": "A-anonymous.txt", "B": "B.txt", "C": "C.txt", "D": "D.txt"}
REACH = 1000  # characters between two pieces of one quotation, most of them lost formulas

SOURCE = yaml.safe_load((ROOT / "book" / "errata.yml").read_text(encoding="utf-8"))
QUOTED = [*SOURCE["corrections"], *SOURCE["noted"]]
needs_texts = pytest.mark.skipif(not TEXTS.is_dir(), reason="the texts of the papers are not here")


def plain(text):
    """One kind of white space, hyphen and quotation mark; no ligatures, no marks of formulas."""
    text = unicodedata.normalize("NFKC", text.replace("…", "\0").replace("$", ""))
    text = re.sub(r"\s*[-\u2010-\u2015\u2212]\s*", "-", text)
    text = re.sub("[\u2018\u2019]", "'", re.sub("[\u201c\u201d]", '"', text))
    text = re.sub(r"%\s", "", text)  # with which one text breaks its lines of LaTeX
    return " ".join(text.split())


def is_printed(quote, text):
    """Whether all pieces of a quotation stand in a plain text, in order and close together."""
    pieces = [re.escape(piece.strip()) for piece in plain(quote).split("\0")]
    return re.search(rf".{{0,{REACH}}}?".join(pieces), text) is not None


@pytest.fixture(scope="module")
def texts():
    return {key: plain((TEXTS / name).read_text(encoding="utf-8")) for key, name in FILES.items()}


def test_every_entry_but_a_caution_quotes_the_paper():
    for row in QUOTED:
        assert 3 < len(row["quote"].strip()) <= 250, row["place"]
    assert not any("quote" in row for row in SOURCE["cautions"])
    assert sum(row["kind"] == "error" for row in SOURCE["corrections"]) >= 10


@needs_texts
@pytest.mark.parametrize("row", QUOTED, ids=lambda row: f"{row['paper']} {row['place']}")
def test_quotations_are_printed_in_the_paper(texts, row):
    assert is_printed(row["quote"], texts[row["paper"]])
    others = [key for key in FILES if key != row["paper"]]
    assert not any(is_printed(row["quote"], texts[key]) for key in others)


@needs_texts
@pytest.mark.parametrize(("page", "key"), [("users", "D"), ("pac", "B")])
def test_the_page_of_a_paper_quotes_it_word_for_word(texts, page, key):
    notebook = nbformat.read(ROOT / "book" / "papers" / f"{page}.ipynb", as_version=4)
    words = "\n\n".join(c.source for c in notebook.cells if c.cell_type == "markdown")
    quotes = re.findall(r'(?<!\w)"([^"]{3,})"(?!\w)', words.replace("...", "…"))
    assert len(quotes) >= 10
    assert [quote for quote in quotes if not is_printed(quote, texts[key])] == []


@needs_texts
def test_a_changed_word_is_caught(texts):
    for row in QUOTED:
        words = row["quote"].split()
        for k in range(len(words)):
            if words[k] != "…":
                changed = [*words[:k], words[k] + "x", *words[k + 1 :]]
                assert not is_printed(" ".join(changed), texts[row["paper"]]), (row["place"], k)
        if len(words) > 1 and words[0] != words[-1]:
            assert not is_printed(" ".join(reversed(words)), texts[row["paper"]])


@pytest.mark.parametrize(
    ("quote", "found"),
    [
        ("a ﬁne well-known   noise", True),  # ligature, hyphen, white space
        ("for any $x$", True),
        ("fine … any", True),
        ("any … fine", False),
        ("a fine noise", False),
        ("a coarse well-known noise", False),
    ],
)
def test_only_the_writing_is_normalized(quote, found):
    text = plain("It is a fine well\u2010known\nnoise, for any  $x$ .")
    assert is_printed(quote, text) is found


def test_pieces_of_a_quotation_stand_close_together():
    far = "first" + " word" * 300 + " last"
    assert not is_printed("first … last", far)
    assert is_printed("first … last", far.replace(" word" * 250, ""))


def judged():
    """The sentences that the page on paper A judges, as pieces of text."""
    page = json.loads((ROOT / "book" / "papers" / "personalized.ipynb").read_text(encoding="utf-8"))
    box = next("".join(c["source"]) for c in page["cells"] if c["id"] == "tab-sweep-claims")
    quotes = re.findall(r'^\| \d\. "\*(.+?)\*" \(', box, re.M)
    return [q.replace(r"\varepsilon", "ε").replace(r"\lambda", "λ") for q in quotes]


def test_eight_sentences_are_judged():
    assert len(judged()) == 8


@needs_texts
@pytest.mark.parametrize("quote", judged())
def test_judged_sentences_are_printed_in_the_paper(texts, quote):
    assert is_printed(quote, texts["A"])
    assert not is_printed(quote.replace("a", "e"), texts["A"])


# --- the two versions of Acharya et al. -----------------------------------------------------------

PUBLISHED = yaml.safe_load((ROOT / "book" / "published.yml").read_text(encoding="utf-8"))
NUMBERS = {
    row["item"]: row["number_published"] for row in PUBLISHED["published"] if row["paper"] == "A"
}


def versions():
    """The texts of the anonymous and of the named version."""
    return [
        (TEXTS / f"A-{name}.txt").read_text(encoding="utf-8") for name in ("anonymous", "named")
    ]


def named_together(text):
    """Pairs of tables or figures that the running text names in one breath, in order."""
    pairs = re.findall(r"\b(Table|Figure)s? (\d+) and (?:Figure )?(\d+)\b", text)
    return [(f"{kind} {number}", kind) for kind, *both in pairs for number in both]


def rows_of_tables(text):
    """Label and surviving numbers of each row, table by table, of the text without formulas."""
    found = []
    for line in text.splitlines():
        cells = [cell.strip() for cell in line.split("|")]
        if re.fullmatch(r"\d+(\.\d+)?", cells[0]) and len(cells) > 1:
            if not found or float(cells[0]) <= float(found[-1][-1][0]):
                found.append([])
            found[-1].append((cells[0], [cell for cell in cells[1:] if cell]))
    return found


def disagreeing(numbers, named):
    """Tables whose rows or surviving numbers are not in the anonymous table of that number."""
    printed = published.table("pdpop")
    anonymous = {other: item for item, other in numbers.items()}
    wrong = []
    for k, rows in enumerate(rows_of_tables(named), start=1):
        table = printed[printed["table"] == anonymous[f"Table {k}"].removeprefix("Table ")]
        values = table.groupby(table["row_value"].astype(float))["value"].agg(set)
        same = [float(label) for label, _ in rows] == list(values.index)
        if not same or not all({*map(float, kept)} <= values[float(at)] for at, kept in rows):
            wrong.append(f"Table {k}")
    return wrong


def test_each_number_of_the_published_version_is_given_once():
    given = [number for number in NUMBERS.values() if number != "none"]
    wanted = [f"Table {k}" for k in range(1, 15)] + [f"Figure {k}" for k in range(1, 19)]
    assert sorted(given) == sorted(wanted)
    assert NUMBERS["Figure 1"] == "none"
    for item, number in NUMBERS.items():
        assert number == "none" or number.split()[0] == item.split()[0]


@needs_texts
def test_both_versions_name_the_same_tables_and_figures_in_the_same_order():
    anonymous, named = map(named_together, versions())
    assert len(anonymous) == 26
    assert [(NUMBERS[item], kind) for item, kind in anonymous] == named


@needs_texts
def test_tables_of_the_published_version_have_the_rows_and_numbers_that_survive():
    _, named = versions()
    tables = rows_of_tables(named)
    assert len(tables) == 14
    assert sum(len(kept) for rows in tables for _, kept in rows) == 83
    assert disagreeing(NUMBERS, named) == []


@needs_texts
@pytest.mark.parametrize("pair", [("Table 3", "Table 5"), ("Table 2", "Table 12")])
def test_two_numbers_that_changed_places_are_noticed(pair):
    one, two = pair
    swapped = NUMBERS | {one: NUMBERS[two], two: NUMBERS[one]}
    assert disagreeing(swapped, versions()[1]) == sorted([NUMBERS[one], NUMBERS[two]])
