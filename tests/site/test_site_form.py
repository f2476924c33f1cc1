"""Converted chapters as a reader sees them: how long, and how much of it code.

What the notebooks alone tell, words and pictures, is `tests/test_form.py`.
"""

import nbformat
import pytest
from form import ON_SCREEN, mark, on_screen
from reading import published
from support import FOLDER

MARKS = {name: mark(nbformat.read(path, as_version=4)) for name, path in published().items()}
MOST = {"core": 285, "depth": 320, "appendix": 50}  # screens of all these pages together


@pytest.mark.parametrize("form", MOST)
def test_pages_keep_their_limits_on_screen(browser, address, form):
    found = {}
    with browser.new_page() as tab:
        for name in [name for name, own in MARKS.items() if own == form]:
            found[name] = on_screen(tab, f"{address}book/{name}.html")
    assert found
    if form == "core":
        assert not {k: v for k, v in found.items() if v[0] > ON_SCREEN["screens"]}
        assert not {k: v for k, v in found.items() if v[1] > ON_SCREEN["code"]}
    assert sum(screens for screens, _ in found.values()) <= MOST[form]


def test_no_page_is_heavier_than_300_kilobytes():
    pages = {path: path.stat().st_size for path in (FOLDER / "book").rglob("*.html")}
    assert len(pages) > 80
    assert {path: size for path, size in pages.items() if size > 300_000} == {}
