"""Quotations of Yang (2024) on the pages of PAC privacy stand in the text of the paper.

The text lies beside the repository where the book is written, and is not part of it.
"""

import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parent.parent
PAPER = ROOT.parent / "shared" / "papers" / "B.txt"
POINTS = list("abcdefghijk")

needs_paper = pytest.mark.skipif(not PAPER.is_file(), reason="the text of the paper is not here")


def plain(text):
    """Letters and signs alone: no white space, hyphens, dollars or breaks of lines in TeX."""
    return re.sub(r"[\s\-$%]|\\!", "", text)


def source(page, cell):
    notebook = nbformat.read(ROOT / "book" / f"{page}.ipynb", as_version=4)
    return next(c.source for c in notebook.cells if c.id == cell)


def points():
    """The quotation of each of the eleven points, from lines ``- (a) place: "words"``."""
    found = re.findall(
        r'^- \((\w)\) ([^:"]+):\s+"([^"]+)"', source("pac/printed", "eleven-points"), flags=re.M
    )
    return {name: (place, words) for name, place, words in found}


def findings():
    """The quotation of each finding, from rows ``| 1. "words" (sec. 5.4) | verdict |``."""
    found = re.findall(
        r'^\| (\d)\. "([^"]+)" \((sec\. [\d.]+)\) \|', source("papers/pac", "tab-pac-claims"), re.M
    )
    return {name: (place, words) for name, words, place in found}


def stands_in(words, paper):
    """Whether the parts between ellipses follow each other in the paper, close together."""
    parts = [plain(part) for part in words.split("...")]
    pattern = ".{1,300}?".join(re.escape(part) for part in parts)
    return all(len(part) > 2 for part in parts) and bool(re.search(pattern, plain(paper)))


def test_every_point_and_every_finding_is_quoted():
    assert sorted(points()) == POINTS
    assert sorted(findings()) == list("12345")


@needs_paper
@pytest.mark.parametrize("name", POINTS)
def test_points_are_quoted_exactly(name):
    assert stands_in(points()[name][1], PAPER.read_text(encoding="utf-8"))


@needs_paper
@pytest.mark.parametrize("name", list("12345"))
def test_findings_are_quoted_exactly_from_their_section(name):
    place, words = findings()[name]
    paper = PAPER.read_text(encoding="utf-8")
    number = place.removeprefix("sec. ")
    begin = re.search(rf"^{re.escape(number)} [A-Z]", paper, flags=re.M)
    rest = paper[begin.end() :]
    end = re.search(r"^\d(\.\d)? [A-Z]", rest, flags=re.M)
    assert stands_in(words, rest[: end.start()])


@needs_paper
@pytest.mark.parametrize(
    "planted",
    ["PAC-LR always outperforms DPSGD-LR", "DPSGD-LR outperforms PAC-LR", r"$B=A\cup\{x\}$"],
)
def test_words_that_the_paper_does_not_say_are_noticed(planted):
    assert not stands_in(planted, PAPER.read_text(encoding="utf-8"))


@needs_paper
def test_hyphens_and_line_breaks_do_not_matter():
    paper = PAPER.read_text(encoding="utf-8")
    assert stands_in("posterior\nsuccess  rate", paper)
    assert stands_in("privacy-preserv-\ning linear regression", paper)
