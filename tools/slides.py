"""Slides of a chapter, made of what stands on its built page, so that the two cannot drift apart.

    python tools/slides.py [--pdf] [CHAPTER ...]

Reads `book/slides.yml` and `_build/html`, and writes `_build/html/slides/CHAPTER.html`, with
`--pdf` also two PDFs beside it (by Chromium): the slides, and `CHAPTER-notes.pdf` for the speaker,
with what to say below each slide and its minutes beside it. A plan is a list. An entry `MESSAGE:
places`, `minutes` and `say` is a slide under that heading. A place is

    fig-NAME, thm-NAME ...    a figure or a statement, as it stands on the page
    move fig-NAME             the figure that reacts
    table SECTION             the first table of the section with this id
    Words of the page (2)     two sentences; the first begins so, and no other one of the page does

An entry with `vote`, `options`, `right` (which, from 1) and `because` (places) is two slides; what
it says and its minutes belong to the answer. The first slide is the title with the first sentence
of the page, the last one its summary. In what a plan says itself, mathematics stands between
dollars.
"""

import re
import shutil
import sys
from copy import copy
from functools import partial
from html import escape
from itertools import pairwise
from pathlib import Path

import yaml
from bs4 import BeautifulSoup, Tag
from checkout import ROOT, come_first

come_first()
sys.path.append(str(ROOT / "book" / "_ext"))
from pdp_home import place  # noqa: E402
from pdp_typeset import WrongFormula, as_tex, typeset  # noqa: E402

from pdpbook.pages.figures import NAMED  # noqa: E402

HTML = ROOT / "_build" / "html"
END = re.compile(r"(?<=[.?!])(?:</\w+>|[”’)])*\s+(?=[“(]?(?:<(?!/)[^>]*>)*[A-Z\\])")
WIDE = 2.2  # width by height of a picture from which on its caption is below
NOT_SHOWN = "a.headerlink, details.above-input, figcaption .caption-number"
ONWARD = ("Next", "Below this page")
SHORT = 100  # letters: the title takes another sentence
SIZE = {"width": 1280, "height": 720}
PAGE = (ROOT / "book" / "_ext" / "slides.html").read_text(encoding="utf-8")
SLIDE = """<section class="slide {kind}" tabindex="-1" aria-label="{k} of {count}">
<header>{head}</header>
<div class="body">{body}</div>
<footer><a href="../../book/{name}.html">{title}</a> <span>{k} / {count}</span></footer>
<aside class="notes" hidden>{note}</aside>
</section>"""
NOTE = """<p class="clock"><b>{k} / {count}</b> <b>{minutes}</b>
<span>{since} of {whole} minutes are over</span></p><p class="say">{say}</p>"""
# What is said on slides that are in every deck.
ON_TITLE = (1, "Read the claim aloud. Ask who believes it, and who could say what it means.")
ON_VOTE = (2, "Everybody votes by hand, before anybody explains. Count aloud and write it down.")
AT_HOME = (1, "Ask for the sentence that was least clear, and say it in other words.")
# Below each slide, made smaller, what is said: a page for the speaker.
SHEETS = """() => document.querySelectorAll(".slide").forEach((slide) => {
  const sheet = document.createElement("div"), note = slide.querySelector(".notes");
  sheet.className = "sheet";
  slide.before(sheet);
  note.hidden = false;
  sheet.append(slide, note);
})"""


class Refused(Exception):
    """A plan that names what is not on the page, or more than one place."""


def said(text: str) -> str:
    """What a plan says, as HTML."""
    return re.sub(r"\$([^$]+)\$", r'<span class="math">\\(\1\\)</span>', escape(text, quote=False))


def plain(text: str) -> str:
    """Without tags, with formulas between dollars, and with one space wherever there is some."""
    words = BeautifulSoup(text, "html.parser").get_text()
    return " ".join(re.sub(r"\\[()]", "$", words).split())


class Chapter:
    """A built page: its statements, figures and sentences."""

    def __init__(self, html: str) -> None:
        soup = BeautifulSoup(html, "html.parser")
        self.article = soup.select_one("article.bd-article")
        for gone in self.article.select(
            "a.headerlink, details.above-input, figcaption .caption-number"
        ):
            gone.decompose()
        for link in self.article.select("a:not(svg a)"):
            link.unwrap()
        self.title = self.article.h1.get_text()
        self.sentences = []  # (paragraph, its sentences)
        for block in self.article.select("p, li"):
            inner = block.decode_contents()
            if not block.find(["p", "ul", "ol"]) and not block.find_parent(["svg", "summary"]):
                ends = [0, *(match.end() for match in END.finditer(inner)), len(inner)]
                parts = [inner[a:b] for a, b in pairwise(ends)]
                self.sentences.append((block, parts))
        self.scripts: dict[str, None] = {}

    def take(self, place: str) -> str:
        """The HTML of a place, see above."""
        kind, _, name = place.rpartition(" ")
        if kind in {"", "move"} and re.fullmatch(r"[a-z]+-[\w-]+", name):
            found = self.article.find(id=name)
            if found and kind:
                return self._moving(found)
            if found and (found.name == "figure" or "proof" in found["class"]):
                return still(found) if found.name == "figure" else bare(found)
        elif kind == "table" and (found := self.article.find(id=name)) and found.table:
            return bare(found.table)
        else:
            start, count = re.fullmatch(r"(.*?)(?: \((\d+)\))?", place).groups()
            return f"<p>{self._text(start, int(count or 1))}</p>"
        raise Refused(f"{place}: no such figure, statement or table")

    def _text(self, start: str, count: int) -> str:
        found = [
            (block, parts[k : k + count])
            for block, parts in self.sentences
            for k in range(len(parts))
            if plain(parts[k]).startswith(start)
        ]
        if len(found) != 1:
            raise Refused(f"{start}: {len(found)} sentences begin so")
        [(block, parts)] = found
        if len(parts) < count:
            raise Refused(f"{start}: {len(parts)} sentences, not {count}")
        text, after = "".join(parts).strip(), block.find_next_sibling()
        if plain(text)[-1] not in ".?!" and after and "math" in after.get("class", []):
            text += str(after)  # it ends with a formula
        return text

    def _moving(self, figure: Tag) -> str:
        data = self.article.select_one(f'[data-figure="{figure["id"]}"]')
        if not data:
            raise Refused(f"move {figure['id']}: it does not react")
        self.scripts |= dict.fromkeys(str(one) for one in data.parent.select("script[src]"))
        caption = figure.find("figcaption").extract()
        return f'<div class="moving">{figure}{data}</div>' if caption else ""

    def summary(self) -> str:
        """The sentences of the summary, without where one goes next."""
        said = next(parts for block, parts in self.sentences if block.find_parent(id="summary"))
        return "".join(f"<p>{one}</p>" for one in said if not plain(one).startswith(ONWARD))


def bare(found: Tag) -> str:
    """A part of the page without the ids in it."""
    found = copy(found)
    for part in [found, *found.select("[id]:not(svg *)")]:
        part.attrs.pop("id", None)
    return str(found)


def still(figure: Tag) -> str:
    """A picture, with its caption at its side, or below a wide one."""
    caption = figure.select_one(".caption-text").decode_contents()
    picture = figure.find(["svg", "img"])
    _, _, wide, high = map(float, picture.get("viewbox", "0 0 1 1").split())
    shape = "wide" if wide > WIDE * high else "beside"
    return f'<figure class="{shape}">{picture}<figcaption>{caption}</figcaption></figure>'


def slides(chapter: Chapter, plan: list[dict]) -> list[tuple[str, str, str, tuple[float, str]]]:
    """Kind, head and body of every slide, and how long it takes and what is said."""
    first, *more = chapter.sentences[0][1]
    while len(plain(first)) < SHORT and more:
        first += more.pop(0)
    made = [("title", f"<h1>{chapter.title}</h1>", f"<p>{first}</p>", ON_TITLE)]
    for entry in plan:
        if not (entry.get("say") and entry.get("minutes")):
            raise Refused(f"{next(iter(entry.values()))}: needs say and minutes")
        if "vote" in entry:
            made += vote(chapter, **entry)
            continue
        message, places = next(iter(entry.items()))
        body = "".join(map(chapter.take, [places] if isinstance(places, str) else places))
        note = entry["minutes"], entry["say"]
        made.append(("plain", f"<h2>{said(message)}</h2>", body, note))
    return [*made, ("plain", "<h2>To take home</h2>", chapter.summary(), AT_HOME)]


def vote(
    chapter: Chapter, vote: str, options: list, right: int, because: list, minutes: int, say: str
):
    """The question, and the same with its answer."""
    rows = [f"<li>{said(str(option))}</li>" for option in options]
    mark = '<li class="right"><strong class="mark">Right:</strong> '
    answered = [row.replace("<li>", mark) if k == right else row for k, row in enumerate(rows, 1)]
    told = "".join(map(chapter.take, because))
    for kind, word, items, more, note in [
        ("ask", "Vote", rows, "", ON_VOTE),
        ("told", "Answer", answered, told, (minutes, say)),
    ]:
        head = f'<p class="eyebrow">{word}</p><h2>{said(vote)}</h2>'
        yield f"vote {kind}", head, f'<ol type="A">{"".join(items)}</ol>{more}', note


def noted(notes: list[tuple[float, str]]) -> list[str]:
    """The note of every slide: its number and minutes, when it begins, and what is said."""
    length = [minutes for minutes, _ in notes]
    return [
        NOTE.format(
            k=k + 1,
            count=len(notes),
            minutes=f"{minutes:g} minute{'s' * (minutes != 1)}",
            since=f"{sum(length[:k]):g}",
            whole=f"{sum(length):g}",
            say=said(say),
        )
        for k, (minutes, say) in enumerate(notes)
    ]


def page(name: str, plan: list[dict], html: str, home: str) -> str:
    """The slides of a chapter, as one page."""
    chapter = Chapter(html)
    made = slides(chapter, plan)
    slide = partial(SLIDE.format, name=name, count=len(made), title=chapter.title)
    parts = [
        slide(k=k, kind=kind, head=head, body=body, note=note)
        for k, ((kind, head, body, _), note) in enumerate(
            zip(made, noted([one[3] for one in made]), strict=True), start=1
        )
    ]
    return PAGE.format(
        name=name,
        title=chapter.title,
        home=home,
        scripts="\n".join(chapter.scripts),
        slides="\n".join(parts),
        colors="; ".join(f"--fig-{key}: {color}" for key, color in NAMED.items()),
    )


def print_pdf(chromium, names: list[str], site: Path, out: Path) -> None:
    """Two PDFs of every page of slides, a page a slide: without notes, and with them."""
    for name in names:
        tab = chromium.new_page(viewport=SIZE)
        tab.goto((site / "slides" / f"{name}.html").as_uri())
        tab.wait_for_selector("html.fitted", state="attached")
        print_page(tab, out / f"{name}.pdf")
        tab.evaluate(SHEETS)
        print_page(tab, out / f"{name}-notes.pdf")
        tab.close()


def print_page(tab, file: Path) -> None:
    file.parent.mkdir(parents=True, exist_ok=True)
    tab.pdf(path=file, print_background=True, prefer_css_page_size=True)
    print(f"{file}: made")


def main(arguments: list[str]) -> int:
    plans = yaml.safe_load((ROOT / "book" / "slides.yml").read_text(encoding="utf-8"))
    names = [one for one in arguments if one != "--pdf"] or list(plans)
    home = place().home
    for name in names:
        html = as_tex((HTML / "book" / f"{name}.html").read_text(encoding="utf-8"))
        file = HTML / "slides" / f"{name}.html"
        file.parent.mkdir(parents=True, exist_ok=True)
        try:
            file.write_text(page(name, plans[name], html, home), "utf-8")
        except Refused as refusal:
            print(f"book/slides.yml: {name}: {refusal}")
            return 1
    config = yaml.safe_load((ROOT / "_config.yml").read_text(encoding="utf-8"))
    try:
        typeset(HTML, config["sphinx"]["config"]["formulas_at_build"])
    except WrongFormula as wrong:
        print(wrong)
        return 1
    if "--pdf" in arguments:
        from playwright.sync_api import sync_playwright

        with sync_playwright() as driver:
            switches = ["--no-sandbox", "--disable-gpu"]
            program = shutil.which("chromium") or shutil.which("chromium-browser")
            chromium = driver.chromium.launch(executable_path=program, args=switches)
            print_pdf(chromium, names, HTML, HTML / "slides")
            chromium.close()
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
