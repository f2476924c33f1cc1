"""Plans of slides fit the book, and slides are made of what stands on a page, or refused.

How they look, and that every place of every plan is on its built page, is in tests/site.
"""

from pathlib import Path

import pytest
import slides
import yaml

from course.teaching import load

ROOT = Path(__file__).resolve().parent.parent
PLANS = yaml.safe_load((ROOT / "book" / "slides.yml").read_text(encoding="utf-8"))
CHAPTERS = load()[1]
PAGE = r"""<article class="bd-article"><section id="top">
<h1>7. Noise<a class="headerlink">#</a></h1>
<p>Ask 1.5 people. They say <em>no.</em> Then <a href="x.html">ask</a> again, with</p>
<div class="math">\[ t \]</div>
<p>Ask others. Let <span class="math">\(x_i\)</span> be 2.</p>
<div class="proof theorem" id="thm-a"><p class="admonition-title">
<span class="caption-number">Theorem 7.1 </span>(A)</p>
<section id="in"><p>All is well.</p></section></div>
<figure id="fig-a"><svg viewbox="0 0 300 100" class="inline-figure" role="img"></svg><figcaption><p>
<span class="caption-number">Fig. 7.1 </span><span class="caption-text">A curve.</span></p>
</figcaption></figure>
<div><div data-figure="fig-a"><script type="application/json">{}</script></div>
<script src="../../_static/explore/a.js"></script></div>
<table id="t"><tr><td>3</td></tr></table></section>
<section id="summary"><h2>Summary</h2><p>It is so. Next: more.</p></section></article>"""


@pytest.mark.parametrize("name", PLANS)
def test_a_plan_is_a_lecture(name):
    plan = PLANS[name]
    votes = [entry for entry in plan if "vote" in entry]
    assert [set(vote) for vote in votes] == [{"vote", "options", "right", "because"}] * 2
    assert all(vote["right"] in range(1, len(vote["options"]) + 1) for vote in votes)
    assert len(plan) + len(votes) + 2 in range(15, 23)
    assert sum(str(entry).count("move fig-") for entry in plan) == 1
    assert name in CHAPTERS


def test_places_are_taken_as_they_stand():
    chapter = slides.Chapter(PAGE)
    assert chapter.take("Ask 1.5") == "<p>Ask 1.5 people.</p>"
    assert chapter.take("They say (2)").startswith("<p>They say <em>no.</em> Then ask again, with")
    assert r"\[ t \]" in chapter.take("Then ask")
    assert chapter.take("Let $x_i") == r'<p>Let <span class="math">\(x_i\)</span> be 2.</p>'
    assert slides.plain(chapter.take("thm-a")) == "Theorem 7.1 (A) All is well."
    assert 'id="' not in chapter.take("thm-a")
    assert "A curve." in chapter.take("fig-a")
    assert "Fig. 7.1" not in chapter.take("fig-a")
    assert "<td>3</td>" in chapter.take("table top")
    assert chapter.summary() == "<p>It is so. </p>"
    assert 'class="moving"' in chapter.take("move fig-a")
    assert list(chapter.scripts) == ['<script src="../../_static/explore/a.js"></script>']


@pytest.mark.parametrize(
    "place", ["Ask", "Ask nobody", "Ask others (3)", "fig-b", "thm-b", "move thm-a", "table in"]
)
def test_what_is_not_there_or_twice_is_refused(place):
    with pytest.raises(slides.Refused):
        slides.Chapter(PAGE).take(place)


def test_the_answer_comes_after_the_vote():
    asked = {"vote": "Is $x$?", "options": ["no", "yes"], "right": 2, "because": ["Ask 1.5"]}
    (ask, _, first), (told, head, second) = slides.vote(slides.Chapter(PAGE), **asked)
    assert (ask, told) == ("vote ask", "vote told")
    assert r"Is <span class=" in head
    assert "Ask 1.5" in second
    assert "Right" not in first
    assert "Ask" not in first
    assert 'class="right"><strong class="mark">Right:</strong> yes' in second
