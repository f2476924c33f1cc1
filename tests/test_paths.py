"""The path of a practitioner: from the landing page to a decision about a table of one's own."""

import re

import nbformat
import pytest
from mdit_py_plugins.anchors.index import slugify
from reading import ROOT

BOOK = ROOT / "book"
LINK = re.compile(r"\[([^]]+)\]\(([\w./-]+)\.ipynb(?:#([\w-]+))?\)")
TABLE = "synthesis/your_data"
PATH = {
    "what error to expect": (TABLE, ""),
    "which epsilon to choose": ("synthesis/in_practice", "which-epsilon-is-safe"),
    "what to check before you publish": ("synthesis/in_practice", "before-you-publish"),
}


def cells(page):
    """The markdown cells of a page."""
    notebook = nbformat.read(BOOK / f"{page}.ipynb", as_version=4)
    return [cell.source for cell in notebook.cells if cell.cell_type == "markdown"]


def links(page, source):
    """Words, page and heading of each link to a page of the book."""
    for words, target, heading in LINK.findall(source):
        path = (BOOK / page).parent.joinpath(f"{target}.ipynb").resolve()
        if path.is_file():
            name = path.relative_to(BOOK.resolve()).with_suffix("").as_posix()
            yield " ".join(words.split()), name, heading


def clicks(first, last):
    """How many links one follows from a page to another."""
    reached, found = 0, {first}
    while last not in found:
        reached += 1
        found |= {name for page in found for _, name, _ in links(page, "\n".join(cells(page)))}
    return reached


@pytest.mark.parametrize("page", sorted({page for page, _ in PATH.values()}))
def test_a_practitioner_is_there_in_three_clicks(page):
    assert clicks("intro", page) <= 3


@pytest.mark.parametrize(("words", "goal"), PATH.items())
def test_the_doors_of_the_landing_page_say_where_they_lead(words, goal):
    """Above its first heading, which is what one sees first."""
    above = "\n".join(cells("intro")).partition("\n## ")[0]
    assert (words, *goal) in list(links("intro", above))
    page, heading = goal
    headings = re.findall(r"^## (.*)$", "\n".join(cells(page)), re.M)
    assert not heading or heading in map(slugify, headings)
