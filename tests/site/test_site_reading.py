"""What is drawn and folded, where one goes next, and what is left of a page without scripts."""

import itertools

import pytest
import yaml
from drive import FONTS
from support import ROOT, serving


def test_every_icon_is_drawn(browser, address):
    """By the style sheet: the script that draws them, too, was taken out."""
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(address + "book/foundations/coins.html")
        icons = tab.locator("i[class*='fa-'], span[class*='fa-']")
        drawn = "all => all.map(icon => getComputedStyle(icon, '::before').content)"
        found = icons.evaluate_all(drawn)
        assert len(found) > 5
        assert "none" not in found


# --- without scripts -----------------------------------------------------------------------------

# Of the two titles of a folded cell, one shows at a time.
UNSEEN = """() => {
  for (const folded of document.querySelectorAll("article details")) folded.open = true;
  document.getAnimations().forEach(animation => animation.finish());
  const text = "p:not(.collapsed), li, pre, td, th, h1, h2, h3, figcaption, summary, dt, dd, " +
    "img, svg.inline-figure";
  return [...document.querySelectorAll("article :is(" + text + ")")]
    .filter(element => element.innerText?.trim() !== "" || element.matches("img"))
    .filter(element => !element.checkVisibility({visibilityProperty: true, opacityProperty: true}))
    .map(element => element.outerHTML.slice(0, 90));
}"""


@pytest.fixture(scope="module")
def plain(browser):
    """A tab for all pages: without scripts none leaves anything behind."""
    with browser.new_context(java_script_enabled=False) as context:
        yield context.new_page()


def test_without_scripts_everything_can_be_read(plain, address, folder, page_name):
    plain.goto(address + page_name)
    folded = plain.locator("article details:not([open]) > summary")
    if count := folded.count():
        folded.first.click()  # opens without a script
        assert folded.count() < count
    assert plain.evaluate(UNSEEN) == []


def test_hidden_text_is_noticed(plain, tmp_path):
    hidden = "<p style='display: none'>a</p><div style='opacity: 0'><p>b</p></div>"
    text = f"<article><h1>A</h1><details><summary>B</summary><p>C</p></details>{hidden}</article>"
    (tmp_path / "page.html").write_text(text)
    with serving(tmp_path) as address:
        plain.goto(address + "page.html")
        assert len(plain.evaluate(UNSEEN)) == 2


# --- what is folded ------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def long_proof(folder):
    """A page with a proof that is folded."""
    for path in sorted(folder.rglob("*.html")):
        if 'class="rest-of-proof"' in path.read_text(encoding="utf-8"):
            return path.relative_to(folder).as_posix()
    pytest.fail("no proof of the book is folded")


def test_a_link_into_a_folded_proof_opens_it(browser, address, long_proof):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(address + long_proof)
        proof = tab.locator("details.rest-of-proof").first
        assert proof.get_attribute("open") is None
        assert tab.locator(".proof-body", has=proof).locator("p").first.is_visible()
        target = proof.locator("p").last
        assert not target.is_visible()
        target.evaluate("p => { p.id = 'inside'; location.hash = 'inside'; }")
        target.wait_for(state="visible")


def test_formulas_of_a_folded_proof_have_their_size(browser, address, long_proof):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(address + long_proof)
        tab.evaluate(FONTS)
        tab.locator("details.rest-of-proof").first.evaluate("d => { d.open = true; }")
        sizes = "all => [...new Set(all.map(math => getComputedStyle(math).fontSize))]"
        inside = tab.locator("details.rest-of-proof mjx-container").evaluate_all(sizes)
        outside = tab.locator(".proof-body > p mjx-container").evaluate_all(sizes)
        assert inside == outside


def test_on_paper_folded_proofs_are_open(browser, address, long_proof):
    with browser.new_context(java_script_enabled=False) as context:
        tab = context.new_page()
        tab.goto(address + long_proof)
        tab.emulate_media(media="print")
        assert tab.locator("details.rest-of-proof").first.locator("p").last.is_visible()


def test_words_of_the_glossary_are_linked(browser, address):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(address + "book/foundations/audits.html")
        links = tab.locator("article a[href*='glossary.html#term-']")
        assert links.count() >= 3
        targets = links.evaluate_all("all => all.map(link => link.getAttribute('href'))")
        assert len(set(targets)) == len(targets)


def test_search_finds_a_function_and_its_statement(browser, address):
    with browser.new_context() as context:
        tab = context.new_page()
        tab.goto(address + "search.html?q=l2_laplace_profile")
        tab.wait_for_selector("#search-results li a[href$='profiles.html#thm-l2-laplace-profile']")
        tab.wait_for_selector("#search-results li a[href$='#pdpbook.noise.l2_laplace_profile']")


# --- from page to page ---------------------------------------------------------------------------


def test_previous_and_next_lead_from_chapter_to_chapter(folder, soups):
    """A page below a chapter leads back to it, and on to what comes after it."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text("utf-8"))
    chapters = [one for part in toc["parts"] for one in part["chapters"]]

    def ways(page):
        sides = ("left-prev", "right-next")
        found = [soups[f"{page}.html"].select_one(f".prev-next-area a.{side}") for side in sides]
        return [(folder / page).parent.joinpath(a["href"]).resolve() if a else None for a in found]

    pages = {one["file"]: (folder / f"{one['file']}.html").resolve() for one in chapters}
    for one, two in itertools.pairwise(chapters):
        assert ways(one["file"])[1] == pages[two["file"]]
        assert ways(two["file"])[0] == pages[one["file"]]
        below = [page["file"] for page in one.get("sections", ())]
        after = [*((folder / f"{page}.html").resolve() for page in below), pages[two["file"]]][1:]
        assert [ways(page) for page in below] == [[pages[one["file"]], page] for page in after]
