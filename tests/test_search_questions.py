"""Questions that people ask: each leads to a section that is there and says the answer."""

from collections import Counter
from pathlib import Path

import nbformat
import pages
import pytest
import questions
import yaml
from reading import Refused

ROOT = Path(__file__).resolve().parent.parent
ASKED = questions.asked()
STRANGERS = yaml.safe_load((ROOT / "tests" / "site" / "strangers.yml").read_text("utf-8"))
PAGE = """# A page

The club adds *noise*. It publishes the sum.

Nobody else is asked.

## Whose is it?

:::{prf:theorem} A theorem
:label: thm-a
No budget is exceeded.
:::

Why this is true: the rate is $\\eta$, as
in [a chapter](x.ipynb). See Fig. 1 of it. The half is $\\frac{a}{b}$.
"""


def cores():
    found = {name: nbformat.read(path, as_version=4) for name, path in pages.published().items()}
    return [
        n for n, book in found.items() if book.metadata.get("pdpbook", {}).get("form") == "core"
    ]


@pytest.mark.parametrize("name", cores())
def test_a_core_chapter_lists_five_to_ten_questions(name):
    assert 5 <= len(ASKED[name]) <= 10


@pytest.mark.parametrize("name", ASKED)
def test_a_question_leads_to_a_sentence_of_its_section(name):
    text = questions.source(name)
    for question, place in ASKED[name].items():
        assert question.endswith("?")
        ((anchor, piece),) = place.items()
        assert len(questions.sentence(text, anchor, piece, question)) > 15


def test_no_question_is_asked_twice():
    times = Counter(question.lower() for rows in ASKED.values() for question in rows)
    assert times.most_common(1)[0][1] == 1


@pytest.mark.parametrize(
    ("anchor", "piece", "said"),
    [
        ("top", "adds noise", "The club adds noise."),
        ("thm-a", "No budget", "No budget is exceeded."),
        ("whose-is-it", "the rate is η", "The rate is $\\eta$, as in a chapter."),
        ("whose-is-it", "of it", "See Fig. 1 of it."),
    ],
)
def test_a_sentence_is_taken_whole_and_without_emphasis(anchor, piece, said):
    assert questions.sentence(PAGE, anchor, piece, "a page") == said


@pytest.mark.parametrize(
    ("anchor", "piece", "why"),
    [
        ("whose-was-it", "the rate", "there is no section whose-was-it"),
        ("whose-is-it", "the noise is", "0 sentences of whose-is-it say 'the noise is'"),
        ("top", "s", "2 sentences of top say 's'"),
        ("top", "Nobody else", "0 sentences of top say 'Nobody else'"),  # the search has it not
        ("whose-is-it", "The half", "the search cannot show a formula of: The half"),
    ],
)
def test_a_question_that_leads_nowhere_is_refused(anchor, piece, why):
    with pytest.raises(Refused, match=why):
        questions.sentence(PAGE, anchor, piece, "a page")


def test_a_question_that_leads_nowhere_stops_the_page(monkeypatch):
    wrong = {"start": {"Is this answered?": {"nowhere": "It is"}}}
    monkeypatch.setattr(questions, "asked", lambda: wrong)
    with pytest.raises(Refused, match="start, 'Is this answered\\?': there is no section nowhere"):
        questions.questions({})


def test_the_questions_of_strangers_are_not_among_ours():
    ours = {q.lower().rstrip("?") for rows in ASKED.values() for q in rows}
    theirs = {q.lower().rstrip("?") for rows in STRANGERS.values() for q in rows}
    assert len(theirs) == 30
    assert not ours & theirs
