"""Long lists are filtered and sorted in the page, by keyboard and finger; whole without."""

import re

import pytest
from drive import DESKTOP, PHONE, audit

PAGES = ["ledger", "ledger/pac", "statements", "published", "errata", "papers"]
ITEMS = "article ul.sift > li, article table.sift > tbody > tr"
SEEN = (
    "item => item.getBoundingClientRect().height > 0 "
    "&& getComputedStyle(item).visibility === 'visible'"
)
HEAVY = 300_000  # bytes of HTML

pages = pytest.mark.parametrize("name", PAGES)


@pytest.fixture
def visit(browser, address):
    """Opens a page of the back matter."""
    contexts = []

    def visited(name, **options):
        contexts.append(browser.new_context(viewport=DESKTOP, reduced_motion="reduce", **options))
        tab = contexts[-1].new_page()
        tab.goto(f"{address}book/back/{name}.html", wait_until="load")
        return tab

    yield visited
    for context in contexts:
        context.close()


def headed(item):
    """The text of an item with the heading above it."""
    said = "one => one.closest('section').querySelector(':scope > h2')?.textContent ?? ''"
    return f"{item.evaluate(said)} {item.text_content()}"


def shown(tab):
    items = tab.locator(ITEMS)
    places = items.evaluate_all(f"all => all.flatMap((item, k) => ({SEEN})(item) ? [k] : [])")
    return [items.nth(k) for k in places]


def facets_of_shown(tab):
    """What the filter can choose each item by, of those that are shown, in one question."""
    said = (
        "item => [...item.closest('section').querySelectorAll(':scope > h2 .facet'), "
        "...item.querySelectorAll('.facet')].map(one => one.textContent)"
    )
    return tab.locator(ITEMS).evaluate_all(f"all => all.filter({SEEN}).map({said})")


def count(tab):
    """What the page says of how many items it shows, and of how many there are."""
    said = tab.locator(".sift-status").inner_text()
    few, all_ = re.fullmatch(r"(All|\d+ of) (\d+) shown", said).groups()
    return int(all_ if few == "All" else few.split()[0]), int(all_)


@pages
def test_all_is_shown_first_and_words_choose(visit, name):
    tab = visit(name)
    everything = tab.locator(ITEMS).count()
    assert count(tab) == (everything, everything)
    tab.get_by_label("Filter").fill("yang xyzzy")
    assert count(tab) == (0, everything)
    assert shown(tab) == []
    tab.get_by_label("Filter").fill("YANG 2024" if name != "published" else "Yang")
    few, _ = count(tab)
    assert 0 < few < everything
    assert len(shown(tab)) == few
    assert all("yang" in headed(item).lower() for item in shown(tab))


@pages
def test_a_button_chooses_and_lets_go(visit, name):
    tab = visit(name)
    buttons = tab.locator(".sift-bar button")
    everything = count(tab)
    for k in range(buttons.count()):
        button = buttons.nth(k)
        button.focus()
        tab.keyboard.press("Enter")
        assert button.get_attribute("aria-pressed") == "true"
        facet, _, said = button.inner_text().rpartition(" ")
        assert count(tab)[0] == int(said) == len(shown(tab))
        assert all(facet in found for found in facets_of_shown(tab))
        tab.keyboard.press("Enter")
        assert count(tab) == everything
        assert tab.locator(".sift-bar [aria-pressed=true]").count() == 0


def test_a_paper_and_a_verdict_choose_together(visit):
    tab = visit("papers")
    buttons, pressed = tab.locator(".sift-bar button"), tab.locator(".sift-bar [aria-pressed=true]")
    buttons.filter(has_text="Yang").click()
    of_one = count(tab)[0]
    buttons.filter(has_text="not in the book").click()
    both = [headed(item) for item in shown(tab)]
    assert 0 < len(both) < of_one
    assert all("Yang (2024)" in text and "not in the book" in text for text in both)
    buttons.filter(has_text="Wang").click()  # another paper takes the place of the first
    assert [button.get_attribute("value") for button in pressed.all()] == [
        "Wang (2019)",
        "not in the book",
    ]
    assert all("Wang (2019)" in headed(item) for item in shown(tab))


@pytest.mark.parametrize("name", ["statements", "errata"])
def test_a_button_takes_the_place_of_another(visit, name):
    tab = visit(name)
    for k in range(2):
        tab.locator(".sift-bar button").nth(k).click()
    assert tab.locator(".sift-bar [aria-pressed=true]").count() == 1


def test_a_heading_without_items_goes_with_them(visit):
    tab = visit("errata")
    tab.locator(".sift-bar button", has_text="caution").click()
    heads = [head.inner_text() for head in tab.locator("article h2").all() if head.is_visible()]
    assert [head.rstrip("#") for head in heads] == ["Cautions"]
    assert tab.get_by_label("Filter").is_visible()


@pytest.mark.parametrize("name", ["ledger", "statements"])
def test_a_head_sorts_up_down_and_back(visit, name):
    tab = visit(name)
    first = tab.locator("table.sift tbody tr > td:first-child")
    before = first.all_inner_texts()
    button = tab.locator("table.sift th button").first
    orders = []
    for way in ("ascending", "descending", "none"):
        button.focus()
        tab.keyboard.press("Space")
        assert tab.locator("table.sift th").first.get_attribute("aria-sort") == way
        orders.append(first.all_inner_texts())
    up, down, back = orders
    key = [(text.split()[0], [int(n) for n in re.findall(r"\d+", text)]) for text in up]
    assert key == sorted(key)
    assert sorted(up) == sorted(before)
    assert [text.split()[0] for text in down] == [text.split()[0] for text in up[::-1]]
    assert back == before != up


def test_what_breaks_a_theorem_is_found_from_the_ledger(visit):
    tab = visit("ledger")
    tab.get_by_label("Filter").fill("acharya thm. 2.1")
    [row] = shown(tab)
    row.locator("a[href*='#ledger-']").click()
    tab.wait_for_url("**/ledger/personalized.html#ledger-*")
    entry = tab.locator("li", has=tab.locator("p:target"))
    assert re.search(r"With a deliberate mistake it fails:.*\d", entry.inner_text())


def test_a_link_to_what_is_hidden_shows_it(visit):
    tab = visit("published")
    tab.get_by_label("Filter").fill("epasto")
    tab.evaluate("location.hash = 'printed-a-table-14'")
    tab.wait_for_function("!document.querySelector('#printed-a-table-14').closest('[hidden]')")
    assert tab.get_by_label("Filter").input_value() == ""


def test_without_scripts_the_lists_are_whole(visit):
    for name in PAGES:
        tab = visit(name, java_script_enabled=False)
        assert len(shown(tab)) == tab.locator(ITEMS).count() > 10
        assert not tab.locator(".sift-bar").is_visible()


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("name", ["ledger", "errata"])
def test_a_filtered_page_is_accessible(browser, address, name, scheme):
    with browser.new_context(viewport=PHONE, color_scheme=scheme, has_touch=True) as context:
        tab = context.new_page()
        tab.goto(f"{address}book/back/{name}.html")
        tab.locator(".sift-bar button").first.tap()
        assert count(tab)[0] < count(tab)[1]
        assert audit(tab, colors=False) == []
        assert audit(tab, colors=True) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= PHONE["width"]


def test_no_page_is_heavy_and_the_log_is_there(folder, visit):
    heavy = [p for p in (folder / "book").rglob("*.html") if p.stat().st_size > HEAVY]
    assert not [p.name for p in heavy if p.parent.name in ("back", "ledger")]
    tab = visit("ledger")
    with tab.expect_download() as download:
        tab.get_by_text("the full log").click()
    said = re.search(r"\((\d+) lines, CSV\)", tab.locator("article").inner_text())[1]
    assert len(download.value.path().read_text("utf-8").splitlines()) == int(said) + 1
