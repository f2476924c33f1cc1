"""Folded cells on the built pages: one sentence or link, one click, by keyboard, the log below.

The words are held against the committed outputs in `tests/test_folds.py`.
"""

import copy
import csv
import re

import nbformat
import notebooks
import pytest
from lint_site import content
from pdp_sentences import label
from support import ROOT

PAGES = [p for p in notebooks.sources() if p.parent.name not in {"exercises", "book"}]
CHECK = "div.cell.tag_check"
NAMES = "collapsed", "expanded"  # the two titles of a fold
with (ROOT / "book" / "statements.csv").open(encoding="utf-8", newline="") as file:
    LABELS = [re.escape(row["label"]) for row in csv.DictReader(file)]
LABEL = re.compile(rf"(?<![\w-])({'|'.join(LABELS)})(?![\w-])")
FOLDED = "details.hide > :not(summary), .code-drawer > :not(summary)"
SPOKEN = "see definition def-pac-privacy"  # what the package says in an error


def code_cells(path):
    return [c for c in nbformat.read(path, as_version=4).cells if c.cell_type == "code"]


def kinds_of_output(cell):
    return {output.output_type for output in cell.outputs}


@pytest.fixture(scope="module", params=PAGES, ids=lambda p: f"{p.parent.name}/{p.stem}")
def page(request, soups):
    """A notebook, and the article of its page."""
    built = request.param.relative_to(ROOT).with_suffix(".html").as_posix()
    return request.param, content(soups[built])


def test_every_check_is_under_a_sentence_and_keeps_its_log(page):
    path, article = page
    folds = article.select(f"{CHECK} > details.hide, div.cell.tag_breaks > details.hide")
    codes = [code.get_text() for fold in folds for code in fold.select("div.cell_input pre")]
    logs = "\n".join(log.get_text() for fold in folds for log in fold.select(".cell_output pre"))
    for cell in code_cells(path):
        if label(cell.source):
            assert any(cell.source.strip() in code for code in codes), cell.id
            for output in cell.outputs:
                assert output.get("text", "").strip() in logs, cell.id
    for fold in article.select(f"{CHECK} > details.hide"):
        shown, hidden = (fold.select_one(f"summary > p.{name}") for name in NAMES)
        assert shown.get_text() == hidden.get_text()
        assert re.match(r"Tested|With a deliberate mistake it fails:", shown.get_text())


def test_no_statement_is_shown_by_its_label(page):
    article = copy.copy(page[1])
    for folded in article.select(f"{FOLDED}, a.headerlink"):
        folded.decompose()
    text = " ".join(article.get_text(" ").split()).replace(SPOKEN, "")
    assert LABEL.findall(text) == []
    assert not re.search("[✗✘❌]", text)


def test_figures_stay_and_their_captions_lead_to_their_code(page):
    path, article = page
    drawn = [c.source.strip() for c in code_cells(path) if "display_data" in kinds_of_output(c)]
    for cell in article.select("div.cell:has(figure)"):
        assert not cell.select(":scope > .cell_input, :scope > .cell_output > .stream")
        if "explore" in str(cell):
            continue
        [link] = cell.select("figcaption a.code-link")
        title = article.select_one(f".code-drawer p{link['href']}")
        assert title.a["href"] == f"#{cell.figure['id']}"
        assert title.find_next_sibling("div").select_one("pre").get_text().strip() in drawn
    assert not article.select("details figure")


def test_all_code_of_a_page_is_on_it_once(page):
    path, article = page
    shown = "\n".join(code.get_text() for code in article.select("div.cell_input pre"))
    for cell in code_cells(path):
        if "remove-input" not in cell.metadata.get("tags", []):
            assert shown.count(cell.source.strip()) == 1, cell.id


def test_what_is_in_the_drawer_leads_back_to_its_place(page):
    article = page[1]
    assert not article.select(".code-drawer .tag_check, .code-drawer details")
    for link in article.select(".code-drawer > div > p > a"):
        [place] = article.select(f'[id="{link["href"][1:]}"]')
        assert not place.find_parent(class_="code-drawer")


def test_a_check_opens_by_click_and_by_keyboard(browser, address):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(address + "book/personalized/pdp_op.html")
        fold = tab.locator(f"{CHECK} > details").first
        log = fold.locator(".cell_output").first
        assert not log.is_visible()
        fold.locator("summary").click()
        assert log.is_visible()
        assert "lem-loss-ratio" in log.inner_text()
        fold.locator("summary").press("Enter")
        assert not log.is_visible()
        tab.keyboard.press("Space")
        assert log.is_visible()
        assert fold.locator("summary > p:visible").count() == 1


def test_a_link_in_a_caption_opens_the_drawer(browser, address):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(address + "book/personalized/pdp_op.html")
        code = tab.locator(".code-drawer .cell_input").nth(1)
        assert not code.is_visible()
        tab.locator("figcaption a.code-link").first.click()
        assert code.is_visible()
        assert "minimum_for_all" in code.inner_text()
        assert 0 <= code.bounding_box()["y"] < tab.viewport_size["height"]


def test_the_sidebar_shows_the_part_that_is_read(browser, address):
    with browser.new_context(viewport={"width": 1440, "height": 900}) as context:
        tab = context.new_page()
        tab.goto(address + "book/personalized/pdp_op.html")
        parts = tab.locator(".bd-links details.part")
        assert parts.count() > 5
        opened = tab.locator(".bd-links details.part[open]")
        assert opened.count() == 1
        assert opened.locator("a.current").is_visible()
        other = tab.locator(".bd-links details.part:not([open])").first
        assert not other.locator("a").first.is_visible()
        other.locator("summary").press("Enter")
        assert opened.count() == 2


def test_on_paper_the_sentence_stays(browser, address):
    with browser.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        tab.goto(address + "book/personalized/pdp_op.html")
        tab.emulate_media(media="print")
        assert tab.locator(f"{CHECK} summary > p.collapsed").first.is_visible()
        assert not tab.locator(".code-drawer").is_visible()
        assert not tab.locator("a.code-link").first.is_visible()
