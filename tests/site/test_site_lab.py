"""JupyterLab as Binder opens it, under a base URL of its own: each kind of link is clicked.

The environment is `.venv-binder` (`make .venv-binder/.ready`), the settings are those of
`binder/start`, the notebooks a copy prepared by `tools/links.py`. Links to the site are answered
from the built pages.
"""

import re
import shutil
from urllib.parse import urlsplit

import links
import nbformat
import pdp_home
import pytest
from playwright.sync_api import expect
from support import FOLDER, ROOT, missing

import binder

HOME = pdp_home.place().home
BASE = "/user/reader/"
LINK = re.compile(r"\[([\w “”.,()-]+)\]\(([^()\s]+)\)")  # with words that are shown as they stand
PANEL = ".jp-NotebookPanel:not(.lm-mod-hidden)"
STATE = """panel => {
  const outer = panel.querySelector(".jp-WindowedPanel-outer");
  const area = outer?.getBoundingClientRect();
  const texts = [...panel.querySelectorAll(".jp-MarkdownCell")].filter(cell => {
    const box = cell.getBoundingClientRect();
    return box.bottom > area.top && box.top < area.bottom;
  });
  const links = [...panel.querySelectorAll(".jp-MarkdownCell a.link")];
  const raw = texts.filter(cell => !cell.querySelector(".myst > *"));
  const dead = links.filter(link => link.getAttribute("href").startsWith("."));
  if (!area || raw.length || dead.length) return "";
  return [panel.id, outer.scrollHeight, outer.scrollTop, texts.length, links.length].join();
}"""
PATIENCE = 60_000  # ms, for a busy machine
KINDS = {"chapter", "box", "citation", "card", "figure", "back matter", "contents", "page"}
NOTEBOOKS = ["intro", "pac/noise"]  # between them they have every kind of link
IN_VIEW = """links => links.some(link => {
  const box = link.getBoundingClientRect();
  const panel = link.closest(".jp-WindowedPanel-outer")?.getBoundingClientRect();
  return panel && box.height && box.top >= panel.top && box.bottom < panel.bottom - 40;
})"""


@pytest.fixture(scope="module")
def server(tmp_path_factory, folder):
    """The address of a server of prepared notebooks, and their folder."""
    if not (ROOT / ".venv-binder" / ".ready").is_file():
        missing("no environment of Binder: run `make .venv-binder/.ready` first")
    there = tmp_path_factory.mktemp("lab")
    (there / "environment").symlink_to(ROOT / ".venv-binder")
    shutil.copytree(ROOT / "binder", there / "clone" / "binder")
    links.main(there / "clone")
    with binder.server(there, f"--ServerApp.base_url={BASE}") as url:
        yield url, there / "clone" / "book"


@pytest.fixture
def context(browser, server):
    """A browser that sees the server, and the site at its address."""
    context = browser.new_context(
        viewport={"width": 1280, "height": 1600},
        extra_http_headers={"Authorization": f"token {binder.TOKEN}"},
    )
    context.set_default_timeout(PATIENCE)
    root = urlsplit(HOME).path
    context.route(
        f"{HOME}**",
        lambda route: route.fulfill(
            path=FOLDER / urlsplit(route.request.url).path.removeprefix(root)
        ),
    )
    yield context
    context.close()


def kind(name, target):
    """What a link of a prepared notebook leads to."""
    path, _, cell = target.partition("#")
    if target == f"{HOME}book/{name}.html":
        return "page"
    if target.startswith(f"{HOME}book/back/"):
        return "back matter"
    if path.endswith("contents.ipynb"):
        return "contents"
    if cell == f"cell-id={links.CITED}":
        return "citation"
    if cell:
        return "box" if path else "figure"
    return "chapter"


def chosen(folder, name):
    """The first link of each kind that a notebook has: its words and its target."""
    found = {}
    for cell in nbformat.read(folder / f"{name}.ipynb", as_version=4).cells:
        if cell.cell_type == "markdown":
            source = re.sub(r"^:::\{dropdown\}.*?^:::", "", cell.source, flags=re.M | re.S)
            for card in re.findall(r"^:::\{grid-item-card\} (\[.*)", source, re.M):
                found.setdefault("card", LINK.findall(card)[0])
            for words, target in LINK.findall(re.sub(r"^:::.*", "", source, flags=re.M)):
                if target.startswith(f"{HOME}book/") or ".ipynb" in target or target[0] == "#":
                    found.setdefault(kind(name, target), (words, target))
    return found


def opened(context, url, name):
    """A tab with this notebook in JupyterLab, drawn."""
    tab = context.new_page()
    tab.goto(f"{url}lab/tree/book/{name}.ipynb?reset")
    drawn(tab)
    return tab


def drawn(tab):
    """Wait for the heading of the notebook in front, as long as a busy machine needs."""
    expect(tab.locator(f"{PANEL} .jp-MarkdownCell h1").first).to_be_visible(timeout=PATIENCE)


def settled(tab):
    """Wait until all text in view is drawn and at rest: a click would miss a link that moves."""
    seen = []
    while len(seen) < 4 or not seen[-1] or len(set(seen[-4:])) > 1:
        assert len(seen) < 400, "the notebook does not come to rest"
        seen.append(tab.locator(PANEL).last.evaluate(STATE))
        tab.wait_for_timeout(150)


def found(tab, words):
    """The link with these words, scrolled to: only what is near is drawn."""
    link = tab.locator(f"{PANEL} .jp-MarkdownCell a:visible", has_text=words).first
    panel = tab.locator(f"{PANEL} .jp-WindowedPanel-outer")
    end = "panel => panel.scrollTop + panel.clientHeight >= panel.scrollHeight - 1"
    for _ in range(3):  # a cell that is drawn anew has no link for a moment
        place, at_end = 0, False
        while not at_end:
            panel.evaluate("(panel, to) => panel.scrollTop = to", place)
            settled(tab)
            if link.evaluate_all(IN_VIEW):
                return link
            place, at_end = place + 1200, panel.evaluate(end)
    raise AssertionError(f"no link {words!r}")


def follow_to_site(tab, link, target):
    """The site opens in a tab of its own, and JupyterLab stays."""
    with tab.expect_popup() as popup:
        link.click()
    page = popup.value
    page.wait_for_url(target)
    expect(page.locator("article h1")).to_be_visible(timeout=PATIENCE)
    page.close()


def follow_in_lab(tab, link, folder, name, target):
    """The notebook opens in the same JupyterLab, at the cell that is meant."""
    path, _, cell = target.partition("#cell-id=")
    goal = folder / f"{name}.ipynb"
    if path:
        goal = (goal.parent / path).resolve()
    link.click()
    current = tab.locator("#jp-main-dock-panel .lm-TabBar-tab.lm-mod-current")
    where = goal.relative_to(folder.parent).as_posix()
    there = re.compile(rf"^Path: {where}$", re.M)
    expect(current).to_have_attribute("title", there, timeout=PATIENCE)
    assert urlsplit(tab.url).path.startswith(f"{BASE}lab/")
    if cell:
        cells = nbformat.read(goal, as_version=4).cells
        at = next(k for k, one in enumerate(cells) if one.id == cell)
        place = tab.locator(f"{PANEL} .jp-Cell[data-windowed-list-index='{at}']")
        settled(tab)
        expect(place).to_be_in_viewport(timeout=PATIENCE)
        expect(place).to_have_text(re.compile(r"\w"), timeout=PATIENCE)
    else:
        drawn(tab)


def test_every_kind_of_link_is_clicked(server):
    found = [set(chosen(server[1], name)) for name in NOTEBOOKS]
    assert set().union(*found) == KINDS
    assert all(kinds >= {"contents", "page", "citation"} for kinds in found)


@pytest.mark.parametrize("name", NOTEBOOKS)
def test_links_lead_where_they_say(context, server, name):
    url, folder = server
    tab = opened(context, url, name)
    for words, target in chosen(folder, name).values():
        link = found(tab, words)
        if target.startswith(HOME):
            follow_to_site(tab, link, target)
        else:
            follow_in_lab(tab, link, folder, name, target)
        tab.locator("#jp-main-dock-panel .lm-TabBar-tab").first.click()
    expect(tab.locator("[title$='Not Found']")).to_have_count(0)  # of a citation, a reference
    expect(tab.get_by_text("Jupyter news")).to_have_count(0)


def test_a_hint_looks_folded_and_opens(context, server):
    tab = opened(context, server[0], "exercises/release/foundations")
    settled(tab)
    hint = tab.locator("summary:visible", has_text="Hint").first
    expect(hint).to_have_css("list-style-type", "disclosure-closed")
    expect(hint).to_have_css("cursor", "pointer")
    hint.click()
    expect(hint).to_have_css("list-style-type", "disclosure-open")
    expect(hint.locator("xpath=..")).to_have_attribute("open", "")
