"""Formulas come with the page: no script draws them, and nothing moves when they are there."""

import re

import pytest
from drive import DESKTOP, FONTS, MOST_MOVED, MOVED, NOT_AS_WRITTEN, WATCHED

MANY = 250  # formulas of a page
MOVING = ("book/foundations/coins.html", "book/back/statements.html", "book/back/ledger/pac.html")


def test_no_page_loads_a_script_of_formulas(folder):
    pages = {path: path.read_text(encoding="utf-8") for path in folder.rglob("*.html")}
    assert sum("data-tex" in text for text in pages.values()) > 200
    assert [
        path.name for path, text in pages.items() if re.search(r"MathJax =|/mathjax/", text)
    ] == []
    assert not (folder / "_static" / "mathjax").exists()


@pytest.fixture(scope="module")
def full(folder):
    """The pages with most formulas, and pages on which other things could move."""
    pages = {
        path.relative_to(folder).as_posix(): path.read_text(encoding="utf-8").count("data-tex")
        for path in (folder / "book").rglob("*.html")
    }
    found = [name for name, count in pages.items() if count >= MANY]
    assert len(found) >= 8
    return [*found, *MOVING]


def test_nothing_moves_on_a_desktop(browser, address, full):
    moved = {}
    for name in full:
        with browser.new_context(viewport=DESKTOP) as context:
            tab = context.new_page()
            tab.add_init_script(f"({WATCHED})()")
            tab.goto(address + name, wait_until="load")
            tab.evaluate(FONTS)
            moved[name] = tab.evaluate(MOVED)
    assert {name: share for name, share in moved.items() if share > MOST_MOVED} == {}


def test_formulas_are_there_without_scripts(browser, address):
    with browser.new_context(java_script_enabled=False, viewport=DESKTOP) as context:
        tab = context.new_page()
        tab.goto(address + "book/foundations/coins.html")
        first = tab.locator("article .math").first
        assert first.locator("mjx-c").count()
        assert first.bounding_box()["width"] > 5
        assert "\\" not in first.inner_text()


def test_a_sign_that_the_style_sheet_lost_is_noticed(browser, address):
    with browser.new_context(viewport=DESKTOP) as context:
        tab = context.new_page()
        tab.goto(address + "book/foundations/coins.html", wait_until="load")
        assert tab.evaluate(NOT_AS_WRITTEN) == []
        tab.add_style_tag(content="mjx-c.mjx-c3D::before { content: none !important }")
        found = tab.evaluate(NOT_AS_WRITTEN)
        assert found
        assert all("=" in text.partition(" is drawn of ")[2] for text in found)


def test_the_menu_does_not_wait_for_the_logo(browser, address):
    """What is below a picture without a size moves when the picture comes."""
    logo, held = ".sidebar-primary-item img.only-light", []
    with browser.new_context(viewport=DESKTOP) as context:
        tab = context.new_page()
        tab.route("**/logo.svg", lambda route: held.append(route))
        tab.goto(address + "book/foundations/coins.html", wait_until="domcontentloaded")
        before = tab.locator(logo).bounding_box()
        assert held
        for route in held:
            route.continue_()
        tab.wait_for_function("image => document.querySelector(image).naturalWidth", arg=logo)
        assert tab.locator(logo).bounding_box() == pytest.approx(before, abs=1)
        assert before["height"] > 20
