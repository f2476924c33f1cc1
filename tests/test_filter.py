"""The bar above the long lists of a page, which the build makes and `sift.js` reads."""

from bs4 import BeautifulSoup
from pdp_html import add_filter, mend_head

ITEM = "<li><span class='facet'>%s</span> <span class='facet'>all</span>%s</li>"
TWICE = "<span class='facet'>a</span>"
FOLDED = "<details><summary>s</summary><p><span class='facet'>b</span></p></details>"
LIST = "<ul class='sift'>" + ITEM % ("b", "") + ITEM % ("a", TWICE) + ITEM % ("a", FOLDED) + "</ul>"


def mended(body: str) -> BeautifulSoup:
    soup = BeautifulSoup(f"<article>{body}</article>", "html.parser")
    add_filter(soup)
    return soup


def test_a_word_counts_once_an_item_and_the_frequent_come_first():
    bar = mended(f"<p>p</p>{LIST}").select_one("p + .sift-bar")
    assert [button.get_text() for button in bar.select("button")] == ["a 2", "b 1"]
    assert [button["value"] for button in bar.select("button")] == ["a", "b"]
    assert bar.select_one("output").get_text() == "All 3 shown"


def test_one_bar_stands_above_the_first_of_several_lists():
    section = f"<section><h2>t</h2><div>{LIST}</div></section>"
    soup = mended(f"<section><h1>h</h1>{section}{section}</section>")
    (bar,) = soup.select(".sift-bar")
    assert bar.find_previous_sibling().name == "h1"
    assert bar.find_next_sibling().name == "section"
    assert bar.select_one("output").get_text() == "All 6 shown"


def test_a_facet_of_a_heading_is_one_of_each_item_below_it():
    head = "<h2><span class='facet by-paper'>%s</span></h2>"
    parts = [f"<section>{head % name}{LIST}</section>" for name in ("c", "d")]
    bar = mended(f"<section><h1>h</h1>{''.join(parts)}</section>").select_one(".sift-bar")
    buttons = [(button.get_text(), button["data-kind"]) for button in bar.select("button")]
    assert buttons[:2] == [("c 3", "facet by-paper"), ("d 3", "facet by-paper")]
    assert buttons[2:] == [("a 4", "facet"), ("b 2", "facet")]


def test_a_page_without_lists_has_no_bar():
    assert not mended("<ul><li>x</li></ul>").select(".sift-bar")


def test_the_text_waits_for_style_sheets_alone():
    head = "<script src='a/documentation_options.js?v=1'></script><script src='a/b.js'></script>"
    head += "<link rel='preload' as='script' href='c.js'><script>let a = 1;</script>"
    soup = BeautifulSoup(f"<html><head>{head}</head></html>", "html.parser")
    mend_head(soup)
    found = [script.get("src") for script in soup("script") if not script.has_attr("defer")]
    assert found == ["a/documentation_options.js?v=1", None]
    assert not soup("link")
