"""Every page in Chromium: quiet, self-contained, typeset, accessible, light, on a phone, too."""

import re

import nbformat
import pytest
from drive import Audited, drive
from form import converted
from reading import published
from support import FIRST, LATER, SHARED, TEMPLATES, one_of_many, page_names, serving, weight

CORE = {
    f"book/{name}.html"
    for name, path in published().items()
    if converted(nbformat.read(path, as_version=4))
}


@pytest.fixture(scope="module")
def audited():
    return Audited()


def test_page(browser, address, folder, exceptions, audited, page_name):
    files: set[str] = set()
    many = one_of_many(page_name)
    faults = exceptions.without(drive(browser, address, page_name, files, audited, many))
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


def colors_of(browser, folder, audited, *pages):
    """The rules of faults of pages, driven one after the other."""
    for name, page in enumerate(pages):
        (folder / f"{name}.html").write_text(page, encoding="utf-8")
    with serving(folder) as address:
        drives = [drive(browser, address, f"{k}.html", None, audited) for k in range(len(pages))]
    return [{fault.rule for fault in faults} for faults in drives]


def test_of_every_template_one_page_is_audited_on_a_phone(folder):
    whole = [name for name in page_names() if not one_of_many(name)]
    for prefix in TEMPLATES:
        assert sum(name.startswith(prefix) for name in page_names()) > 5
        assert sum(name.startswith(prefix) for name in whole) == 1
    assert {"book/back/api.html", "book/back/ledger.html", "book/intro.html"} <= {*whole}


def test_a_fault_on_a_phone_is_noticed_on_a_page_without_a_template(browser, tmp_path):
    style = "<style>@media (min-width: 600px) { .small { display: none } }</style>"
    body = f"{style}<a class='small' href='#a'><img alt='' src='data:,'></a>"
    (tmp_path / "page.html").write_text(PAGE % body, encoding="utf-8")
    with serving(tmp_path) as address:
        faults = drive(browser, address, "page.html")
        assert drive(browser, address, "page.html", one_of_many=True) == []
    assert {fault.rule for fault in faults} == {"axe:link-name"}
    assert all(fault.what.startswith("(phone)") for fault in faults)


PALE = "<p class='pale' style='color: #bbb; background: #fff'>Too pale to read.</p>"
DARK = "<style>@media (prefers-color-scheme: dark) { p { color: #eee } }</style>"


@pytest.mark.parametrize(
    ("earlier", "later", "rules"),
    [
        ("", PALE, [set(), {"axe:color-contrast"}]),  # another kind of element
        (PALE, PALE, [{"axe:color-contrast"}, {"axe:color-contrast"}]),  # a fault is nothing known
        ("", DARK, [set(), {"axe:color-contrast"}]),  # other style sheets
        ("<div class='explore'><p>Words.</p></div>",
         "<div class='explore'><p style='color: #bbb; background: #fff'>Words.</p></div>",
         [set(), {"axe:color-contrast"}]),  # a figure is audited on each page
        ("<p>a</p>", f"<section>{PALE}</section>", [set(), {"axe:color-contrast"}]),
    ],
    ids=["kind", "fault", "sheets", "figure", "inside"],
)  # fmt: skip
def test_colors_are_audited_again_of_what_is_new(browser, tmp_path, earlier, later, rules):
    pages = [PAGE % earlier, PAGE % later]
    assert colors_of(browser, tmp_path, Audited(), *pages) == rules


def test_colors_of_what_was_right_on_an_earlier_page_are_audited_once(
    browser, tmp_path, monkeypatch
):
    asked = []
    monkeypatch.setattr("drive.audit", lambda tab, colors: asked.append(colors) or [])
    page = PAGE % "<ul><li>a</li><li>b</li></ul>"
    colors_of(browser, tmp_path, Audited(), page, page, page.replace("<li>b", "<li class='x'>b"))
    # of each page on a phone and on a desktop, and colors in light and in dark where they are new
    assert asked == [False, False, True, True, False, False, False, False, True, True]


def test_a_heavy_picture_is_noticed(browser, tmp_path):
    (tmp_path / "p.png").write_bytes(bytes(LATER))
    (tmp_path / "page.html").write_text("<img loading='lazy' src='p.png' alt='A picture'>")
    with serving(tmp_path) as address:
        files: set[str] = set()
        drive(browser, address, "page.html", files)
    assert {"page.html", "p.png"} <= files
    assert weight(tmp_path, files) > LATER
    assert weight(tmp_path, {"page.html", "gone.html"}) < 200
