"""Every sentence that a slide takes stands on its page: said before anything is built."""

import json
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parent.parent
PLANS = yaml.safe_load((ROOT / "book/slides.yml").read_text("utf-8"))
PLACE = re.compile(r"(?:move |table )?[a-z]+-[\w-]+|table [\w-]+")  # a figure, a statement, a table
NUMBERED = re.compile(r"(?:Lemma|Theorem|Proposition|Algorithm|Definition|Fig\.) [\d.]*\d")
CITED = re.compile(r"[A-Z]\w+(?: and \w+| et al\.)? \[\d{4}\]")
REFERENCE = "..."  # what the build writes in the place of a reference


def words_of(markdown):
    """Text as it is read: links by their words, references as dots, no marks, one space."""
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", markdown)
    text = re.sub(r"\{[\w:]+\}`[^`]*`", REFERENCE, text)
    return " ".join(re.sub(r"[*`]", "", text).replace("'", "’").split())


def page(name):
    """All text and captions of a page."""
    cells = json.loads((ROOT / f"book/{name}.ipynb").read_text("utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    figures = [cell["metadata"].get("mystnb", {}).get("figure", {}) for cell in cells]
    return words_of("\n\n".join([*texts, *(figure.get("caption", "") for figure in figures)]))


def sentences(plan):
    """How the sentences begin that these slides take."""
    for entry in plan:
        places = entry["because"] if "vote" in entry else next(iter(entry.values()))
        for place in [places] if isinstance(places, str) else places:
            if not PLACE.fullmatch(place):
                start = re.sub(r" \(\d+\)$", "", place).replace("'", "’")
                yield CITED.sub(REFERENCE, NUMBERED.sub(REFERENCE, start))


def absent(plan, text):
    return [start for start in sentences(plan) if start not in text]


@pytest.mark.parametrize("name", PLANS)
def test_the_sentences_of_slides_stand_on_their_page(name):
    assert absent(PLANS[name], page(name)) == []


def test_a_sentence_that_was_rewritten_is_found():
    plan = [{"One": ["A coin falls on *truth* (2)".replace("*", ""), "By Lemma 7.2 all", "fig-x"]}]
    text = words_of("A coin falls on *truth*. By {prf:ref}`lem-x` all [is well](a.md).")
    assert absent(plan, text) == []
    assert absent(plan, text.replace("falls", "lands")) == ["A coin falls on truth"]
