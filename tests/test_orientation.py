"""A reader who opens any chapter first: what it needs, and what its words mean."""

import importlib
import importlib.util
import re
from pathlib import Path

import form
import nbformat
import pages
import pytest
import yaml
from docutils import nodes
from pdp_docstrings import exported
from sklearn.base import BaseEstimator, TransformerMixin
from sphinx import addnodes

ROOT = Path(__file__).resolve().parent.parent
CHAPTERS = pages.published()
EXERCISES = sorted((ROOT / "book" / "exercises").glob("*.ipynb"))


def needed(opening):
    """The links of the sentence that says what a chapter needs."""
    said = re.search(r"\bTime: \d+ minutes\. Needed:\s+(.*?)(?:\n\n|\Z)", opening, re.S)
    link = r"\{prf:ref\}`[^`]+`|\[[^]]+\]\([\w./]+\.ipynb[^)]*\)"
    return re.findall(link, said[1]) if said else []


@pytest.mark.parametrize("name", CHAPTERS)
def test_what_a_chapter_needs_is_linked_at_its_top(name):
    """A core chapter says what it needs where it needs it; others lead to theirs."""
    notebook = nbformat.read(CHAPTERS[name], as_version=4)
    first, kind = notebook.cells[0].source, form.mark(notebook)
    if kind == "depth":
        assert f"]({above(f'book/{name}').rpartition('/')[2]}.ipynb)" in first
    elif kind == "appendix":
        assert re.search(r"\]\(\.\./\w+/\w+\.ipynb\)", first)
    elif kind != "core":
        assert needed(first)


def test_which_one_names_every_estimator_in_a_few_lines():
    named = " ".join(names for names, _ in pages.CHOICE.values()).split()
    every = [
        name
        for module in map(importlib.import_module, pages.modules())
        for name in exported(module)
        if isinstance(thing := getattr(module, name), type) and issubclass(thing, BaseEstimator)
        if not issubclass(thing, TransformerMixin)  # a schema is no mechanism
    ]
    assert set(every) - set(named) == set()
    for names, _ in pages.CHOICE.values():
        assert len(names.split()) == len(set(names.split()))
    assert pages.choice().count("\n") <= 19
    assert {chapter for _, chapter in pages.CHOICE.values()} <= CHAPTERS.keys()


def test_which_one_refuses_a_name_that_is_gone(monkeypatch):
    monkeypatch.setitem(pages.CHOICE, "a wish", ("PDPRige", "pac/noise"))
    with pytest.raises(pages.Refused, match="which one: PDPRige is in no module"):
        pages.choice()


def test_a_line_without_a_penalty_says_what_is_there_instead(monkeypatch):
    (mean,) = [line for line in pages.penalties().splitlines() if "`PersonalizedMean <" in line]
    assert mean.endswith("| nothing: a mean has none |")
    monkeypatch.delitem(pages.WITHOUT_PENALTY, "AdaSSP")
    with pytest.raises(pages.Refused, match=r"which one needs a penalty: AdaSSP$"):
        pages.penalties()


def above(page):
    """The chapter under which the table of contents has this page."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    [found] = [
        chapter["file"]
        for part in contents["parts"]
        for chapter in part["chapters"]
        if page in [section["file"] for section in chapter.get("sections", [])]
    ]
    return found


@pytest.mark.parametrize("path", EXERCISES, ids=lambda path: path.stem)
def test_what_exercises_need_is_linked_at_their_top(path):
    assert needed(nbformat.read(path, as_version=4).cells[0].source)


def test_needs_without_a_link_are_noticed():
    assert needed("# T\n\nTime: 5 minutes. Needed: the chapter on noise.") == []
    opening = "Time: 5 minutes. Needed: [noise](noise.ipynb).\n\nSee [x](x.ipynb)."
    assert needed(opening) == ["[noise](noise.ipynb)"]


# --- words of the glossary -----------------------------------------------------------------------

SPEC = importlib.util.spec_from_file_location("pdp_terms", ROOT / "book/_ext/pdp_terms.py")
terms = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(terms)
GLOSSARY = (ROOT / "book" / "glossary.md").read_text(encoding="utf-8")


def linked(text, *words):
    """What links to the glossary, as shown and as looked up; and the text that comes out."""
    pieces = list(terms.linked(text, {word.lower(): word for word in words}, "book/p"))
    links = [p for p in pieces if isinstance(p, addnodes.pending_xref)]
    assert "".join(p.astext() for p in pieces) == text
    return [(link.astext(), link["reftarget"]) for link in links]


def test_the_terms_of_the_glossary_are_read():
    found = terms.terms(GLOSSARY)
    assert {"DP-SGD", "Rényi divergence", "l2-Laplace noise", "zCDP"} <= set(found)
    assert len(found) == GLOSSARY.count("\n  ") - GLOSSARY.count("\n  \n") > 60
    assert set(found) >= terms.PLAIN


@pytest.mark.parametrize(
    ("text", "links"),
    [
        ("A mechanism, and a mechanism.", [("mechanism", "mechanism")]),
        ("Two mechanisms.", [("mechanisms", "mechanism")]),
        ("Mechanism design", [("Mechanism", "mechanism")]),
        ("its privacy\nloss", [("privacy\nloss", "privacy loss")]),
        ("differential privacy", []),
        ("mechanistic, a non-mechanism, mechanism-like", []),
    ],
)
def test_first_uses_are_linked_once_and_whole(text, links):
    assert linked(text, "mechanism", "privacy loss") == links


def test_the_longest_term_wins():
    text = "pure differential privacy and differential privacy"
    found = linked(text, "differential privacy", "pure differential privacy")
    assert [target for _, target in found] == ["pure differential privacy", "differential privacy"]


@pytest.mark.parametrize("kind", [nodes.title, nodes.reference, nodes.literal, nodes.math])
def test_titles_links_code_and_formulas_are_left_alone(kind):
    inside, outside = kind("", "a mechanism"), nodes.paragraph("", "a mechanism")
    assert terms.LinkTerms.skipped(inside.children[0])
    assert not terms.LinkTerms.skipped(outside.children[0])
