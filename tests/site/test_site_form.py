"""Converted chapters as a reader sees them: how long, and how much of it code.

What the notebooks alone tell, words and pictures, is `tests/test_form.py`.
"""

import gzip

import nbformat
import pytest
from drive import LEAST, SMALL
from form import ON_SCREEN, mark, on_screen
from pdp_typeset import as_tex
from reading import published
from support import FOLDER, serving

MARKS = {name: mark(nbformat.read(path, as_version=4)) for name, path in published().items()}
MOST = {"core": 300, "core and depth": 680, "all": 730}  # screens of all these pages together


def test_the_book_and_its_core_chapters_keep_their_limits_on_screen(browser, address):
    screens, long = {"core": 0.0, "depth": 0.0, "appendix": 0.0}, {}
    with browser.new_page() as tab:
        for name, form in MARKS.items():
            if form:
                found = on_screen(tab, f"{address}book/{name}.html")
                screens[form] += found[0]
                above = found[0] > ON_SCREEN["screens"] or found[1] > ON_SCREEN["code"]
                long |= {name: found} if form == "core" and above else {}
    assert long == {}
    assert screens["core"] <= MOST["core"]
    assert screens["core"] + screens["depth"] <= MOST["core and depth"]
    assert sum(screens.values()) <= MOST["all"]


def test_no_page_is_heavier_than_300_kilobytes_or_90_packed():
    """A drawn formula is long, and packs well: of the first it is the TeX that counts."""
    pages = {path: path.read_bytes() for path in (FOLDER / "book").rglob("*.html")}
    packed = {path: len(gzip.compress(data, 6)) for path, data in pages.items()}
    bare = {path: len(as_tex(data.decode()).encode()) for path, data in pages.items()}
    assert len(pages) > 80
    assert {path: size for path, size in bare.items() if size > 300_000} == {}
    assert {path: size for path, size in packed.items() if size > 90_000} == {}


PAGE = """<!DOCTYPE html><title>t</title>
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
        assert [words.split()[0] for words in tab.evaluate(SMALL, LEAST)] == ["small:"]
