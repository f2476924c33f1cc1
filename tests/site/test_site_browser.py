"""Every page in Chromium: quiet, self-contained, typeset, accessible, light, on a phone, too."""

import re

import nbformat
import pytest
from drive import drive
from form import converted
from reading import published
from support import FIRST, LATER, SHARED, serving, weight

CORE = {
    f"book/{name}.html"
    for name, path in published().items()
    if converted(nbformat.read(path, as_version=4))
}


def test_page(browser, address, folder, exceptions, page_name):
    files: set[str] = set()
    faults = exceptions.without(drive(browser, address, page_name, files))
    html = (folder / page_name).read_text(encoding="utf-8")
    drawn = page_name not in CORE or re.search("<figure.*?<svg", html, re.S)
    assert drawn, "a core chapter without letters to measure"
    assert not faults, "\n" + "\n".join(map(str, faults))
    assert page_name in files
    assert weight(folder, files) <= FIRST
    assert weight(folder, {name for name in files if not name.startswith(SHARED)}) <= LATER


def test_front_door_leads_to_the_first_page(browser, address):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(address)
        tab.wait_for_url("**/book/intro.html")


def test_search_finds_something(browser, address):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(address + "search.html?q=privacy")
        tab.wait_for_selector("#search-results li a")


def test_without_scripts_the_text_is_there(browser, address):
    with browser.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        tab.goto(address + "book/intro.html")
        assert tab.locator("h1").last.is_visible()
        assert tab.locator("html").get_attribute("data-theme") == "light"


PAGE = """<!DOCTYPE html><html lang="en"><head><meta charset="utf-8"><title>A page</title>
<link rel="icon" href="data:,"></head><body><main><h1>A page</h1><p>Text.</p>%s</main></body></html>
"""
PLANTED = {
    "console": "<script>console.error('planted')</script>",
    "page-error": "<script>undefinedFunction()</script>",
    "other-host": "<script>fetch('https://example.org/x').catch(() => 0)</script>",
    "missing-file": "<img alt='A picture that is not there' src='gone.png'>",
    "moved": "<script>addEventListener('load', () => requestAnimationFrame(() =>"
    " requestAnimationFrame(() => { document.body.style.paddingTop = '400px'; })))</script>",
    "overflow": "<pre style='width: 600px'>wide</pre>",
    "formula": r"<p>The bound is \(\varepsilon\).</p>",
    "drawn": "<style>mjx-c { display: inline-block } mjx-c::before { content: '\u2032\u2032';"
    " display: block; width: 0 }</style><p class='math' data-tex=\"''\"><mjx-container>"
    "<mjx-c></mjx-c><math><mo>\u2033</mo></math></mjx-container></p>",
    "cut": "<article><span class='math' style='display: inline-block; width: 90px'><mjx-container>"
    "<mjx-math><i style='display: inline-block; width: 95px'>x</i></mjx-math></mjx-container>"
    "</span></article>",
    "picture": "<article><svg class='inline-figure' role='img' aria-label='A' viewBox='0 0 99 50'>"
    "<text x='5' y='20'>one word</text><text x='15' y='24'>another</text></svg></article>",
    "letters": "<article><figure><svg class='inline-figure' role='img' aria-label='A'"
    " viewBox='0 0 99 50' width='99'><text y='20' font-size='9'>a</text></svg></figure></article>",
    "axe:image-alt": "<img src='data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA='>",
    "axe:link-name": "<pre><a href='#a'>A link</a> <a href='#b'>\n</a></pre>",
    "axe:color-contrast": "<p style='color: #bbb; background: #fff'>Too pale to read.</p>",
}


@pytest.fixture(scope="module")
def planted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("planted")
    for k, body in enumerate(["", *PLANTED.values()]):
        (folder / f"page{k}.html").write_text(PAGE % body, encoding="utf-8")
    with serving(folder) as address:
        yield address


@pytest.mark.parametrize("k", range(len(PLANTED) + 1))
def test_planted_faults_are_noticed(browser, planted, k):
    found = {fault.rule for fault in drive(browser, planted, f"page{k}.html")}
    if k == 0:
        assert not found
    else:
        assert [*PLANTED][k - 1] in found


def test_a_display_formula_that_scrolls_on_a_desktop_is_noticed(browser, tmp_path):
    math = "<mjx-math><i style='display: block; width: 1300px'>x</i></mjx-math>"
    box = "<mjx-container display='true' style='display: block; overflow-x: auto' tabindex='0'>"
    page = PAGE % f"<article><details><summary>s</summary>{box}{math}</details></article>"
    (tmp_path / "wide.html").write_text(page, encoding="utf-8")
    with serving(tmp_path) as address:
        faults = drive(browser, address, "wide.html")
    assert [fault.rule for fault in faults] == ["cut"]


def test_a_fault_of_the_dark_theme_only_is_noticed(browser, tmp_path):
    style = "<style>@media (prefers-color-scheme: dark) { p { color: #eee } }</style>"
    (tmp_path / "dark.html").write_text(PAGE % style, encoding="utf-8")
    with serving(tmp_path) as address:
        faults = drive(browser, address, "dark.html")
    assert {f.rule for f in faults} == {"axe:color-contrast"}
    assert all(f.what.startswith("(dark)") for f in faults)


def test_a_heavy_picture_is_noticed(browser, tmp_path):
    (tmp_path / "p.png").write_bytes(bytes(LATER))
    (tmp_path / "page.html").write_text("<img loading='lazy' src='p.png' alt='A picture'>")
    with serving(tmp_path) as address:
        files: set[str] = set()
        drive(browser, address, "page.html", files)
    assert {"page.html", "p.png"} <= files
    assert weight(tmp_path, files) > LATER
    assert weight(tmp_path, {"page.html", "gone.html"}) < 200
