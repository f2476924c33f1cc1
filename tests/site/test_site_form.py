"""Converted chapters as a reader sees them: how long, how much of it code; letters on a phone.

What the notebooks alone tell, words and pictures, is `tests/test_form.py`.
"""

import nbformat
import pytest
from drive import PHONE, TYPESET
from form import ON_SCREEN, mark, on_screen
from reading import published
from support import FOLDER, serving

MARKS = {name: mark(nbformat.read(path, as_version=4)) for name, path in published().items()}
CORE = [name for name, form in MARKS.items() if form == "core"]
MOST = {"core": 295, "core and depth": 605, "all": 655}  # screens of all these pages together
LEAST = 10  # px, the smallest letters of a picture on a phone, exponents among them
SMALL = """least => [...document.querySelectorAll("article figure svg :is(text, tspan)")]
  .filter(words => !words.children.length && words.textContent.trim())
  .map(words => {
    const { a, b, c, d } = words.getScreenCTM(), drawn = Math.sqrt(Math.abs(a * d - b * c));
    return [words.textContent.trim(), parseFloat(getComputedStyle(words).fontSize) * drawn];
  })
  .filter(([, size]) => size < least)"""


@pytest.mark.parametrize("name", CORE)
def test_a_core_chapter_keeps_its_limits_on_screen(browser, address, name):
    with browser.new_page() as tab:
        screens, code = on_screen(tab, f"{address}book/{name}.html")
    assert screens <= ON_SCREEN["screens"]
    assert code <= ON_SCREEN["code"]


def test_the_book_keeps_its_limits_on_screen(browser, address):
    screens = {"core": 0.0, "depth": 0.0, "appendix": 0.0, "": 0.0}
    with browser.new_page() as tab:
        for name, form in MARKS.items():
            screens[form] += on_screen(tab, f"{address}book/{name}.html")[0] if form else 0
    assert screens["core"] <= MOST["core"]
    assert screens["core"] + screens["depth"] <= MOST["core and depth"]
    assert sum(screens.values()) <= MOST["all"]


def test_no_page_is_heavier_than_300_kilobytes():
    pages = {path: path.stat().st_size for path in (FOLDER / "book").rglob("*.html")}
    assert len(pages) > 80
    assert {path: size for path, size in pages.items() if size > 300_000} == {}


@pytest.mark.parametrize("name", CORE)
def test_letters_of_pictures_can_be_read_on_a_phone(browser, address, name):
    with browser.new_page(viewport=PHONE) as tab:
        tab.goto(f"{address}book/{name}.html")
        tab.evaluate(TYPESET)
        assert tab.locator("article figure svg").count() > 0
        assert tab.evaluate(SMALL, LEAST) == []


PAGE = """<!DOCTYPE html><title>t</title>
<script>window.MathJax = { startup: { promise: Promise.resolve() } };</script>
<style>* { margin: 0; } article > * { display: block; }</style>
<article>
<div style="height: 900px"></div>
<div class="cell_input" style="height: 450px"></div>
<div class="cell_output"><div class="output" style="height: 225px"></div></div>
<div class="cell_output"><div class="output" style="height: 225px"><figure>
<svg viewBox="0 0 100 50" width="200" height="100"><text y="9" font-size="6">large</text>
<text y="30" font-size="4">small</text></svg></figure></div></div>
<details><summary style="height: 0; overflow: hidden"></summary>
<div class="cell_input" style="height: 450px"></div></details>
</article>"""


def test_the_measure(browser, tmp_path):
    (tmp_path / "page.html").write_text(PAGE, "utf-8")
    with serving(tmp_path) as address, browser.new_page() as tab:
        screens, code = on_screen(tab, address + "page.html")
        assert screens == pytest.approx(2, abs=0.01)  # what is folded takes no room
        assert code == pytest.approx((450 + 225) / 1800, abs=0.01)  # nor is a picture a log
        assert [words for words, _ in tab.evaluate(SMALL, LEAST)] == ["small"]
