"""Draw what needs what: one line a chapter, an arc to each chapter that it builds on.

`tools/pages.py` writes `book/_static/diagrams/map.svg` with it, from the table of contents and
from what `book/teaching.yml` says that each chapter comes `after`. An arc is left out where
another way leads there. On the page, pointing at a line shows its arcs.
"""

import html
import textwrap

import yaml
from reading import ROOT, Page

WIDTH, STEP, TOP = 381, 22, 8  # units of the drawing; a part begins with a line of its own
TEXT, ARCS = 16, 300  # where the names begin, and where the arcs do
LETTERS, MORE = 38, 0.7  # of a name in one line; what each further line of it takes
HEAD = """\
<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="group" \
aria-labelledby="map-t map-d" fill="currentColor">
<title id="map-t">Which chapter builds on which</title>
<desc id="map-d">{words}</desc>
<style>
.map-arc{{fill:none;stroke:var(--fig-soft,#6b737d);stroke-width:1.25;stroke-opacity:.6}}
.map-dot{{fill:var(--fig-soft,#6b737d)}}
.map-link:hover~.map-arc,.map-link:focus~.map-arc{{stroke:var(--fig-warm,#b84a00);stroke-width:2.5;stroke-opacity:1}}
.map-link:hover text,.map-link:focus text{{fill:var(--fig-warm,#b84a00);text-decoration:underline}}
</style>
"""


def needs(after: dict[str, list[str]]) -> dict[str, list[str]]:
    """What each chapter builds on, without what its other needs build on already."""

    def all_of(name: str) -> set[str]:
        return {name}.union(*(all_of(one) for one in after[name]))

    return {
        name: [one for one in known if not any(one in all_of(x) for x in known if x != one)]
        for name, known in after.items()
    }


def chapter_map(pages: dict[str, Page]) -> str:
    """The drawing, with a link on each name."""
    contents = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    cards = yaml.safe_load((ROOT / "book" / "teaching.yml").read_text(encoding="utf-8"))["cards"]
    parts = {
        part["caption"]: [one["file"].removeprefix("book/") for one in part["chapters"]]
        for part in contents["parts"]
    }
    parts = {
        caption: [one for one in names if one in pages]
        for caption, names in parts.items()
        if any(one in pages for one in names)
    }
    listed = [name for names in parts.values() for name in names]
    known = needs({n: [one for one in cards[n]["after"] if one in listed] for n in listed})
    title = {name: pages[name].title.partition(":")[0] for name in listed}

    line, place = 0, {}
    drawn = []
    for caption, names in parts.items():
        drawn.append(
            _text(0, TOP + (line + 0.5) * STEP, caption, 'font-size="14" font-weight="600"')
        )
        line += 1
        for name in names:
            place[name] = TOP + (line + 0.5) * STEP
            line += 1 + MORE * (len(textwrap.wrap(title[name], LETTERS)) - 1)
        line += 0.4
    for name in listed:
        at = place[name]
        label = "".join(
            _text(TEXT, at + k * MORE * STEP, words, 'font-size="13.2"')
            for k, words in enumerate(textwrap.wrap(title[name], LETTERS))
        )
        arcs = "".join(_arc(at, place[one]) for one in known[name])
        dot = f'<circle class="map-dot" cx="{ARCS}" cy="{at - 4.5:g}" r="2.5"/>'
        drawn.append(f'<g><a class="map-link" href="{name}.html">{label}</a>{arcs}{dot}</g>')
    words = " ".join(
        f"{title[name]} builds on {' and '.join(title[one] for one in known[name])}."
        for name in listed
        if known[name]
    )
    height = TOP + line * STEP
    head = HEAD.format(width=WIDTH, height=f"{height:g}", words=html.escape(words))
    return head + "\n".join(drawn) + "\n</svg>\n"


def _text(x: float, y: float, words: str, style: str) -> str:
    return f'<text x="{x:g}" y="{y:g}" {style}>{html.escape(words)}</text>'


def _arc(low: float, high: float) -> str:
    """Half an ellipse from one line up to another, as wide as it is long up to the margin."""
    wide = min(WIDTH - ARCS - 4, 8 + 0.12 * abs(low - high))
    return (
        f'<path class="map-arc" d="M{ARCS},{high - 4.5:g}'
        f'A{wide:.4g},{abs(low - high) / 2:.4g} 0 0 1 {ARCS},{low - 4.5:g}"/>'
    )
