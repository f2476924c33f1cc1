"""The search finds what is asked for, and loads its index when it is asked."""

import json
import re
from pathlib import Path
from urllib.parse import quote_plus

import pytest
import yaml
from bs4 import BeautifulSoup
from drive import DESKTOP, PHONE, audit
from pdp_search import OTHER_WORDS, QUESTIONS, prose, questions, record, signs
from sphinx.errors import ExtensionError

SEARCHES = yaml.safe_load(Path(__file__).with_name("searches.yml").read_text("utf-8"))
STRANGERS = yaml.safe_load(Path(__file__).with_name("strangers.yml").read_text("utf-8"))
ANSWERED = yaml.safe_load(Path(__file__).with_name("strangers_answered.yml").read_text("utf-8"))
PLACES = yaml.safe_load(OTHER_WORDS.read_text("utf-8"))["places"]
ASKED = {  # each question, and the place that answers it
    question: f"book/{page}.html" + "".join(f"#{anchor}" for anchor in place if anchor != "top")
    for page, rows in yaml.safe_load(QUESTIONS.read_text("utf-8")).items()
    for question, place in rows.items()
}


def ask(tab, address: str, query: str) -> list[str]:
    """The addresses of the results, first to last."""
    tab.goto(f"{address}search.html?q={quote_plus(query)}")
    tab.wait_for_selector("#search-results [role=status]")
    found = tab.locator("#search-results li > h2 > a").evaluate_all("all => all.map(a => a.href)")
    return [one.removeprefix(address) for one in found]


def marked(tab) -> set[str]:
    """The words in the excerpts of the results that are marked."""
    marks = tab.locator("#search-results mark").all_inner_texts()
    return {re.sub(r"\W", "", mark).lower() for mark in marks}


@pytest.fixture(scope="module")
def index(folder):
    script = (folder / "search_index.js").read_text("utf-8")
    return json.loads(script.removeprefix("window.searchIndex = ").removesuffix(";"))["records"]


@pytest.fixture(scope="module")
def tab(browser):
    with browser.new_context(viewport=DESKTOP) as context:
        yield context.new_page()


@pytest.mark.parametrize("query", SEARCHES)
def test_what_is_asked_for_is_among_the_first_three(tab, address, folder, query):
    first = ask(tab, address, query)[:3]
    assert set(SEARCHES[query]) <= set(first), first


def test_a_place_is_found_by_its_other_names(tab, address):
    lost = [(place, names[0]) for place, names in list(PLACES.items())[::4]
            if place not in ask(tab, address, names[0])[:3]]  # fmt: skip
    assert not lost


def test_a_word_of_the_glossary_leads_to_what_is_called_so(tab, address, index):
    words = [names[0] for kind, names, *_ in index if kind == "word"]
    assert len(words) > 60
    for word in words[::6]:
        ask(tab, address, word)
        first = tab.locator("#search-results li h2").first.inner_text()
        assert first.lower().endswith(word.lower())


def test_the_rarest_word_decides(tab, address, index):
    said = {record[2]: " ".join([*record[1], *record[3:]]).lower() for record in index}
    for query, word in [("Rényi DP", "r[eé]nyi"), ("shuffled data", "shuffl")]:
        first = ask(tab, address, query)[:3]
        assert not [one for one in first if not re.search(word, said[one])]


def test_a_title_that_many_places_have_stands_once_before_all_others(tab, address):
    ask(tab, address, "in your own words")
    titles = tab.locator("#search-results li h2").all_inner_texts()
    assert titles[0] == "In your own words"
    assert titles.count("In your own words") > 1
    once = list(dict.fromkeys(titles))
    assert titles[: len(once)] == once


def test_the_list_ends_where_little_is_found_of_what_is_asked(tab, address):
    for query in ("install pdpbook", "normalize my data"):
        assert 5 <= len(ask(tab, address, query)) < 12
    # every chapter in the new form has exercises with solutions
    assert 5 <= len(ask(tab, address, "homework solutions")) < 30
    assert len(ask(tab, address, "private noise")) == 30


def test_words_match_whole_and_the_last_one_as_a_beginning(tab, address):
    ask(tab, address, "pip")
    assert "Pitfalls" not in " ".join(tab.locator("#search-results h2").all_inner_texts())
    ask(tab, address, "binder")
    assert marked(tab)
    assert all("binder" in mark for mark in marked(tab))  # not binds
    assert ask(tab, address, "calibra")
    assert marked(tab)
    assert all(mark.startswith("calibra") for mark in marked(tab))
    assert ask(tab, address, "calibra budget")
    assert "budget" in marked(tab)
    assert not [mark for mark in marked(tab) if mark.startswith("calibra")]


def test_a_spelling_or_another_word_finds_the_same(tab, address):
    for one, other in [
        ("regularised", "regularized"),
        ("neighbour", "neighbor"),
        ("data set", "dataset"),
        ("how do I add-remove", "add/remove"),
        ("normalizing", "normalization"),
        ("normalized", "normalise"),
    ]:
        assert ask(tab, address, one) == ask(tab, address, other) != []
    ask(tab, address, "normalize")
    assert marked(tab)
    assert not marked(tab) & {"norm", "norms", "normal"}
    ask(tab, address, "homework")
    assert marked(tab) & {"exercises", "assignments"}


def test_excerpts_are_sentences_without_tex(index):
    shown = [text for kind, *_, text, _ in index if kind not in ("code", "work")]
    assert len(shown) > 1000
    tex = re.compile(r"[\\$\ufffc]|[_^][{\\]|\b(?:t?frac|mathbb|lVert|operatorname)\b")
    assert not [text for text in shown if tex.search(text)]
    assert not [names for _, names, *_ in index if tex.search(" ".join(names))]


def test_a_sentence_with_a_formula_that_text_cannot_show_is_left_out():
    box = r"""<div><p>The budget is <span class="math">\(\varepsilon_i \ge 0\)</span>. Then</p>
      <div class="math">\[\frac{a}{b}.\]</div><p>With <span class="math">\(\frac12 x\)</span> it is
      less. The variance is <span class="math">\(\sigma^2\)</span>.</p><pre>code</pre></div>"""
    whole, rest = prose(BeautifulSoup(box, "html.parser"))
    assert whole == "The budget is εᵢ ≥ 0. … The variance is σ²."
    assert rest == "Then .With it is less."
    assert signs(r"\(\{0,1\}^n\)") == "{0,1}ⁿ"


def test_results_are_a_list_of_headings_that_say_what_they_are(tab, address):
    ask(tab, address, "be the auditor")
    results = tab.locator("#search-results")
    items, headings = results.get_by_role("listitem"), results.get_by_role("heading", level=2)
    assert results.get_by_role("list").count() == 1
    assert items.count() == headings.count() >= 5
    exercise = items.filter(has=tab.locator("a[href*='exercises/foundations.html#be-the-auditor']"))
    assert exercise.locator(".search-kind").inner_text().startswith("Exercise, ")


def test_names_in_code_come_last(tab, address):
    for query in ("sensitivity", "epsilon", "weights", "noise"):
        found = ask(tab, address, query)
        assert len(found) >= 10
        assert not [one for one in found[:10] if "/api/" in one]
    assert "book/back/api/gwa.html#pdpbook.gwa.GWARegression" in ask(tab, address, "GWARegression")


def test_nothing_is_said_when_nothing_is_found(tab, address):
    assert ask(tab, address, "xylophone") == []
    said = tab.locator("#search-results [role=status]")
    assert "“xylophone” is not in this book" in said.inner_text()
    ways = said.locator("a").evaluate_all("all => all.map(a => a.href)")
    assert ways == [address + "book/glossary.html", address + "book/back/statements.html"]


def test_a_question_is_found_as_a_title_and_leads_to_its_answer(tab, address):
    for question in list(ASKED)[::9]:
        assert ASKED[question] in ask(tab, address, question)[:3], question
        titles = tab.locator("#search-results h2").all_inner_texts()[:3]
        assert question in titles or "privacy budget" in question


def test_what_strangers_were_answered_stays_answered(tab, address):
    asked = {query: answer for rows in STRANGERS.values() for query, answer in rows.items()}
    assert ANSWERED.keys() <= asked.keys()
    lost = [query for query, place in ANSWERED.items() if place not in ask(tab, address, query)[:3]]
    assert not lost
    said = []
    for query in (query for query, answer in asked.items() if answer == "absent"):
        ask(tab, address, query)
        said.append("not in this book" in tab.locator("#search-results [role=status]").inner_text())
    assert len(said) == sum(said) == 5


def test_every_question_leads_to_a_place_of_the_site(soups):
    for place in ASKED.values():
        page, _, anchor = place.partition("#")
        assert not anchor or soups[page].find(id=anchor), place


def test_a_question_that_leads_nowhere_stops_the_build():
    page = record("chapter", "A page", "book/page.html", ("The club adds noise. It does.", ""))
    (found,) = questions([page], {"page": {"What is added?": {"top": "adds noise"}}})
    assert (found["address"], found["text"]) == ("book/page.html", "The club adds noise.")
    for place in ({"top": "adds nothing"}, {"gone": "adds noise"}):
        with pytest.raises(ExtensionError, match="does not say"):
            list(questions([page], {"page": {"What is added?": place}}))


def test_a_place_stands_in_the_list_once(tab, address):
    found = ask(tab, address, "How many people do I need for a useful private regression?")
    assert len(found) == len(set(found))


@pytest.mark.parametrize(
    ("query", "said"),
    [
        ("what is the fine for a GDPR violation", "“GDPR” is not in this book. What is near: "),
        ("homomorphic encryption beside noise", "“homomorphic” and “encryption” are not in this"),
        ("a noisy xylophone", "“xylophone” is not in this book. What is near: "),
        ("what is a zero knowledge proof", "“zero knowledge” is not in this book. What is near: "),
    ],
)
def test_what_stands_nowhere_is_said_beside_what_is_near(tab, address, query, said):
    assert ask(tab, address, query)
    assert said in tab.locator("#search-results [role=status]").inner_text()


def test_what_the_book_has_is_not_said_to_be_missing(tab, address, folder):
    index = (folder / "search_index.js").read_text("utf-8")
    hidden = json.loads(index.removeprefix("window.searchIndex = ").removesuffix(";"))["elsewhere"]
    assert 100 < len(hidden) < 3000
    for query in (*list(SEARCHES)[::9], *list(ASKED)[::40], f"{hidden[50]} noise"):
        ask(tab, address, query)
        assert "not in this book" not in tab.locator("#search-results [role=status]").inner_text()


def test_the_index_is_loaded_when_somebody_searches(browser, address):
    with browser.new_context(viewport=DESKTOP) as context:
        tab, asked = context.new_page(), []
        tab.on("request", lambda request: asked.append(request.url))
        for page in ("book/intro.html", "search.html"):
            tab.goto(address + page, wait_until="networkidle")
        assert not [url for url in asked if "search_index" in url or "searchindex" in url]
        tab.goto(address + "book/intro.html")
        tab.keyboard.press("Control+k")
        tab.keyboard.type("leverage")
        tab.keyboard.press("Enter")
        tab.wait_for_selector("#search-results li > h2 > a")
        assert [url for url in asked if url == address + "search_index.js"]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [DESKTOP, PHONE], ids=["desktop", "phone"])
def test_results_are_accessible(browser, address, size, scheme):
    with browser.new_context(viewport=size, color_scheme=scheme) as context:
        tab = context.new_page()
        ask(tab, address, "privacy budget")
        assert audit(tab, colors=False) == []
        assert audit(tab, colors=True) == []
        assert tab.evaluate("document.documentElement.scrollWidth") <= size["width"]
