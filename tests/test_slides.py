"""Every sentence that a slide takes stands on its page: said before anything is built."""

import functools
import json
import re
from pathlib import Path

import pytest
import slides
import yaml

ROOT = Path(__file__).resolve().parent.parent
PLANS = yaml.safe_load((ROOT / "book/slides.yml").read_text("utf-8"))
PLACE = re.compile(r"(?:move |table )?[a-z]+-[\w-]+|table [\w-]+")  # a figure, a statement, a table
NUMBERED = re.compile(r"(?:Lemma|Theorem|Proposition|Algorithm|Definition|Fig\.) [\d.]*\d")
CITED = re.compile(r"[A-Z]\w+(?: and \w+| et al\.)? \[\d{4}\]")
DIRECTIVE = re.compile(r"^:.*$", re.M)  # opens a box, gives it an option, or ends it
BLOCK = re.compile(r"\n\s*\n|\n\s*(?=[-*] |\d+\. )")
MARKER = re.compile(r"^\s*(?:[-*]|\d+\.)\s+")  # of an entry of a list
SHOWN = re.compile(r"slides (\d+) (?:to|and) (\d+) of \*(\w+)\*")
MOST = 190  # letters of a note: three lines below its slide
END = re.compile(r"(?<=[.?!])[”’)*_]*\s+(?=[“(*_]*[A-Z$\[{`])")  # of a sentence
REFERENCE = "..."  # what the build writes in the place of a reference


def words_of(markdown):
    """Text as it is read: links by their words, references as dots, no marks, one space."""
    text = re.sub(r"\[([^\]]+)\]\([^)]*\)", r"\1", markdown)
    text = re.sub(r"\{[\w:]+\}`[^`]*`", REFERENCE, text)
    return " ".join(re.sub(r"[*`]", "", text).replace("'", "’").split())


def beginning(text):
    """The sentences of a text, as they are read, each from its first word on."""
    for block in BLOCK.split(DIRECTIVE.sub("", text)):
        yield from map(words_of, END.split(MARKER.sub("", block)))


def page(name):
    """All sentences of a page, those of captions, too."""
    cells = json.loads((ROOT / f"book/{name}.ipynb").read_text("utf-8"))["cells"]
    texts = ["".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown"]
    figures = [cell["metadata"].get("mystnb", {}).get("figure", {}) for cell in cells]
    texts += [figure.get("caption", "") for figure in figures]
    return [sentence for text in texts for sentence in beginning(text)]


def sentences(plan):
    """How the sentences begin that these slides take."""
    for entry in plan:
        places = entry["because"] if "vote" in entry else next(iter(entry.values()))
        for place in [places] if isinstance(places, str) else places:
            if not PLACE.fullmatch(place):
                start = re.sub(r" \(\d+\)$", "", place).replace("'", "’")
                yield CITED.sub(REFERENCE, NUMBERED.sub(REFERENCE, start))


def unclear(plan, found):
    """The beginnings that no sentence of a page has, or more than one, with their number."""
    counts = {
        start: sum(sentence.startswith(start) for sentence in found) for start in sentences(plan)
    }
    return {start: count for start, count in counts.items() if count != 1}


@pytest.mark.parametrize("name", PLANS)
def test_each_sentence_of_slides_stands_once_on_its_page(name):
    assert unclear(PLANS[name], page(name)) == {}


def test_a_sentence_that_was_rewritten_or_stands_twice_is_found():
    plan = [{"One": ["A coin falls on truth (2)", "By Lemma 7.2 all", "fig-x"]}]
    text = "We ask. A coin falls on *truth*. By {prf:ref}`lem-x` all [is well](a.md)."
    assert unclear(plan, [*beginning(text)]) == {}
    assert unclear(plan, [*beginning(text.replace("falls", "lands"))]) == {
        "A coin falls on truth": 0
    }
    again = text + "\n\n- **A coin falls on truth.** It does."
    assert unclear(plan, [*beginning(again)]) == {"A coin falls on truth": 2}


# --- what the speaker says -----------------------------------------------------------------------


@functools.cache
def minutes(name):
    """How long each slide of a deck takes."""
    return [note[0] for *_, note in slides.slides(Anything(), PLANS[name])]


class Anything:
    """A page on which every place stands."""

    title = "A title"
    sentences = ((None, ["A sentence."]),)

    def take(self, place):
        return place

    def summary(self):
        return ""


@pytest.mark.parametrize("name", PLANS)
def test_every_slide_has_something_to_say_and_its_minutes(name):
    said = [entry["say"] for entry in PLANS[name]]
    assert len(set(said)) == len(said)
    for text in said:
        assert 20 < len(text) <= MOST
        assert text[-1] in ".?"
        assert not re.search(r"\d\.\d", text), "a number of the page belongs on the slide"
    assert all(one in {1, 2, 3, 4, 5} for one in minutes(name))
    assert sum(minutes(name)) <= 55


@pytest.mark.parametrize("gone", ["say", "minutes"])
def test_a_slide_without_notes_is_refused(gone):
    entry = {"A message": "fig-x", "say": "Look at it.", "minutes": 2}
    slides.slides(Anything(), [entry])
    del entry[gone]
    with pytest.raises(slides.Refused, match="needs say and minutes"):
        slides.slides(Anything(), [entry])


def test_the_hour_has_time_for_its_slides():
    """The plan of one hour names slides by their numbers: they exist, and fit into their part."""
    teaching = yaml.safe_load((ROOT / "book/teaching.yml").read_text("utf-8"))
    [hour] = [one for one in teaching["syllabi"] if one["name"] == "I have one hour"]
    [meeting] = hour["meetings"]
    decks = {name.partition("/")[2]: name for name in meeting["read"]}
    shown = []
    for part in meeting["room"]:
        for first, last, deck in re.findall(
            r"slides (\d+) (?:to|and) (\d+) of \*(\w+)\*", part["what"]
        ):
            length = minutes(decks[deck])
            assert 1 <= int(first) < int(last) <= len(length)
            assert sum(length[int(first) - 1 : int(last)]) <= part["minutes"]
            shown.append(deck)
    assert shown == ["coins", "coins", "coins", "pdp_op"]
