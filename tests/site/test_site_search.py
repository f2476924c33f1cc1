"""The search finds what is asked for, and loads its index when it is asked."""

from __future__ import annotations

from pathlib import Path
from urllib.parse import quote_plus

import pytest
import yaml
from drive import DESKTOP, PHONE, audit

SEARCHES = yaml.safe_load(Path(__file__).with_name("searches.yml").read_text("utf-8"))


def ask(tab, address: str, query: str) -> list[str]:
    """The addresses of the results, first to last."""
    tab.goto(f"{address}search.html?q={quote_plus(query)}")
    tab.wait_for_selector("#search-results [role=status]")
    found = tab.locator("#search-results li > h2 > a").evaluate_all("all => all.map(a => a.href)")
    return [one.removeprefix(address) for one in found]


@pytest.fixture(scope="module")
def tab(browser):
    with browser.new_context(viewport=DESKTOP) as context:
        yield context.new_page()


@pytest.mark.parametrize("query", SEARCHES)
def test_what_is_asked_for_is_among_the_first_three(tab, address, folder, query):
    first = ask(tab, address, query)[:3]
    assert set(SEARCHES[query]) <= set(first), first


def test_names_in_code_come_last(tab, address):
    for query in ("sensitivity", "epsilon", "weights", "noise"):
        found = ask(tab, address, query)
        assert len(found) >= 10
        assert not [one for one in found[:10] if "/api/" in one]
    assert "book/back/api/gwa.html#pdpbook.gwa.GWARegression" in ask(tab, address, "GWARegression")


def test_nothing_is_said_when_nothing_is_found(tab, address):
    assert ask(tab, address, "xylophone") == []
    assert "Nothing is found" in tab.locator("#search-results").inner_text()


def test_the_index_is_loaded_when_somebody_searches(browser, address):
    with browser.new_context(viewport=DESKTOP) as context:
        tab, asked = context.new_page(), []
        tab.on("request", lambda request: asked.append(request.url))
        for page in ("book/intro.html", "search.html"):
            tab.goto(address + page, wait_until="networkidle")
        assert not [url for url in asked if "search.json" in url or "searchindex" in url]
        tab.goto(address + "book/intro.html")
        tab.keyboard.press("Control+k")
        tab.keyboard.type("leverage")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("#search-results li > h2 > a")
        assert [url for url in asked if url == address + "search.json"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_results_are_accessible(browser, address, size, scheme):
    with browser.new_context(viewport=size, color_scheme=scheme) as context:
        tab = context.new_page()
        ask(tab, address, "privacy budget")
        assert audit(tab, colors=False) == []
        assert audit(tab, colors=True) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= size["width"]
