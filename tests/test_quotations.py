"""What `book/errata.yml` quotes is printed in the papers, word for word.

The texts of the papers are not part of this project: where their folder is missing, only the
presence of a quotation is tested.
"""

import json
import re
import unicodedata
from pathlib import Path

import pytest
import yaml

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
