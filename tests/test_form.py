"""The form of a core chapter: the limits of `tools/form.py`, and that it measures what it says."""

import nbformat
import pytest
from form import LIMITS, converted, count, form, shown
from nbformat import v4
from reading import ROOT, published

PAGES = {name: nbformat.read(path, as_version=4) for name, path in published().items()}
CORE = [name for name, notebook in PAGES.items() if converted(notebook)]


@pytest.mark.parametrize("name", CORE)
def test_a_core_chapter_keeps_its_limits(name):
    assert form(PAGES[name]).faults() == []


def test_the_book_in_thirty_minutes_is_short():
    assert form(nbformat.read(ROOT / "book" / "start.ipynb", as_version=4)).words <= 1900


def test_what_is_folded_is_not_counted():
    source = """Four words are shown.
$$x = \\text{no words of a formula}$$

:::{prf:proof}
An open proof counts.
:::

:::{prf:proof}
:class: dropdown

A folded one does not.
:::

::::{exercise}
Nor does an exercise.
:::{dropdown} Hint
A hint.
:::
::::
"""
    assert count(shown(source)) == len(
        "Four words are shown prf proof An open proof counts".split()
    )


def page(*cells):
    return v4.new_notebook(
        cells=[nbformat.NotebookNode({**cell, "id": f"{k}"}) for k, cell in enumerate(cells)]
    )


FIGURE = v4.new_markdown_cell(":::{figure} ../_static/diagrams/one.*\nA picture.\n:::")
MOVES = v4.new_code_cell('figures.Explorable("mean", "fig-mean", {})')
THEOREM = v4.new_markdown_cell(":::{prf:theorem} Name\n:label: thm-x\n:::")
FORMULA = v4.new_markdown_cell("$$x$$")
CODE = v4.new_code_cell("x = 1\n" * 16)
HIDDEN = v4.new_code_cell("x = 1\n" * 16, metadata={"tags": ["hide-input"]})
TEXT = v4.new_markdown_cell("word " * (LIMITS["gap"] + 1))


def faults(*cells):
    return form(page(*cells)).faults()


def test_the_faults_are_found():
    text = v4.new_markdown_cell("word " * (LIMITS["words"] + 1))
    assert f"words {LIMITS['words'] + 1} > {LIMITS['words']}" in faults(text)
    gap = f"gap {LIMITS['gap'] + 5} > {LIMITS['gap']}"
    assert gap in faults(FIGURE, TEXT, MOVES)  # the directive counts
    assert not any("gap" in one for one in faults(TEXT, FIGURE, MOVES, TEXT))
    assert "longest 16 > 15" in faults(FIGURE, CODE)
    assert not any("longest" in one for one in faults(FIGURE, HIDDEN))
    assert "moves 0 < 1" in faults(FIGURE, THEOREM, MOVES)
    assert "moves 0 < 1" not in faults(FIGURE, MOVES, THEOREM)
    early = "a formula or code before the first picture"
    assert early in faults(FORMULA, FIGURE)
    assert early in faults(CODE, FIGURE)
    assert early not in faults(HIDDEN, FIGURE, FORMULA, CODE)
