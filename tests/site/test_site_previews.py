"""Previews by mouse, keyboard and touch; lasting addresses; numbers that stand once in the book."""

from collections import Counter

import pytest
from drive import DESKTOP, FONTS, PHONE, audit

PAGE = "book/personalized/pdp_op.html"
LINKS = {
    "statement": ("article a[data-preview*='s/thm-sensitivity']", "Sensitivity of weighted ridge"),
    "word": ("article a[data-preview*='#term-']", "The number"),
    "reference": ("article a[data-preview*='bibliography']", "Personalized differential privacy"),
}
OPENED = "#preview:popover-open"


@pytest.fixture
def tab(browser, address):
    with browser.new_context(viewport=DESKTOP, reduced_motion="reduce") as context:
        tab = context.new_page()
        tab.goto(address + PAGE, wait_until="load")
        tab.evaluate(FONTS)
        yield tab


def closed(tab) -> None:
    tab.wait_for_selector(OPENED, state="detached")


@pytest.mark.parametrize("kind", LINKS)
def test_the_mouse_opens_enters_and_leaves_a_preview(tab, address, kind):
    selector, says = LINKS[kind]
    link = tab.locator(selector).first
    link.hover()
    box = tab.wait_for_selector(OPENED)
    assert says in box.inner_text()
    box.hover()  # WCAG 1.4.13: the pointer can move onto it, and it stays
    tab.wait_for_timeout(600)
    assert tab.locator(OPENED).count() == 1
    tab.keyboard.press("Escape")
    closed(tab)
    tab.mouse.move(2, 2)
    link.hover()
    tab.wait_for_selector(OPENED)
    tab.mouse.move(2, 2)
    closed(tab)
    assert tab.url == address + PAGE


def test_formulas_of_a_preview_are_set(tab):
    tab.locator(LINKS["statement"][0]).first.hover()
    tab.wait_for_selector(f"{OPENED} mjx-container")
    assert tab.locator(f"{OPENED} .math").count() == tab.locator(f"{OPENED} mjx-container").count()


def test_the_keyboard_opens_enters_and_closes_a_preview(tab):
    tab.keyboard.press("Tab")  # from now on the focus is one of the keyboard
    link = tab.locator(LINKS["statement"][0]).first
    link.focus()
    tab.wait_for_selector(OPENED)
    assert link.get_attribute("aria-details") == "preview"
    tab.wait_for_timeout(600)
    assert tab.locator(OPENED).count() == 1  # it stays while the focus does
    tab.keyboard.press("Tab")
    assert tab.evaluate("document.activeElement.closest('#preview') !== null")
    tab.keyboard.press("Escape")
    closed(tab)
    assert link.evaluate("link => link === document.activeElement")
    tab.keyboard.press("Tab")
    tab.keyboard.press("Shift+Tab")
    tab.wait_for_selector(OPENED)


def test_a_finger_opens_a_preview_and_then_follows_the_link(browser, address):
    with browser.new_context(viewport=PHONE, has_touch=True, is_mobile=True) as context:
        tab = context.new_page()
        tab.goto(address + PAGE, wait_until="load")
        tab.evaluate(FONTS)
        link = tab.locator(LINKS["statement"][0]).first
        link.tap()
        box = tab.wait_for_selector(OPENED).bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= PHONE["width"]
        assert tab.url == address + PAGE
        tab.touchscreen.tap(5, 5)
        closed(tab)
        link.tap()
        tab.wait_for_selector(OPENED)
        link.tap()
        tab.wait_for_url("**/sensitivity.html#thm-sensitivity")


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("kind", LINKS)
def test_previews_are_accessible(tab, kind, scheme):
    tab.emulate_media(color_scheme=scheme)
    tab.wait_for_selector(f"html[data-theme={scheme}]")
    tab.locator(LINKS[kind][0]).first.hover()
    tab.wait_for_selector(OPENED)
    tab.wait_for_timeout(500)
    tab.evaluate("document.querySelectorAll('article').forEach(one => one.remove())")
    assert tab.locator(OPENED).count() == 1
    found = audit(tab, colors=False) + audit(tab, colors=True)
    assert [one for one in found if "#preview" in one[1] or "preview" in one[1]] == []


def test_a_preview_without_its_text_leaves_the_link_alone(tab):
    tab.route("**/s/*.html", lambda route: route.abort())
    link = tab.locator(LINKS["statement"][0]).first
    link.hover()
    tab.wait_for_timeout(800)
    assert tab.locator(OPENED).count() == 0
    link.click()
    tab.wait_for_url("**/sensitivity.html#thm-sensitivity")


def boxes(soups):
    """Every statement in its place: page, label, number."""
    for page, soup in soups.items():
        for box in soup.select("div.proof.admonition[id]") if page.startswith("book/") else ():
            yield page, box["id"], box.select_one(".caption-number")


def test_every_statement_has_its_page_and_its_number(folder, soups):
    found = list(boxes(soups))
    numbers = Counter(number.get_text(strip=True) for _, _, number in found)
    assert len(found) >= 150
    assert [number for number, count in numbers.items() if count > 1] == []
    assert {f"{label}.html" for _, label, _ in found} == {p.name for p in (folder / "s").iterdir()}
    for page, label, number in found:
        soup = soups[f"s/{label}.html"]
        assert soup.h1.get_text() == number.get_text(strip=True)
        assert soup.select_one(f"a[href='../{page}#{label}']")


def test_back_matter_leads_to_the_lasting_addresses(soups):
    """The page of statements with every link, the ledger with every label that it prints."""
    labels = {label for _, label, _ in boxes(soups)}

    def links(*pages):
        codes = {code.get_text() for page in pages for code in page.select("article code")}
        hrefs = {link["href"] for page in pages for link in page.select("article a[href]")}
        return codes & labels, {href.rpartition("../")[2] for href in hrefs}

    assert {f"s/{label}.html" for label in labels} <= links(soups["book/back/statements.html"])[1]
    printed, found = links(*(soups[name] for name in soups if name.startswith("book/back/ledger/")))
    assert len(printed) >= 140
    assert {f"s/{label}.html" for label in printed} <= found
