"""The LaTeX source of the PDF says what the site shows unfolded; its lint finds each planted fault.

TeX is not needed: `make site-test` writes the source, from the same cache as the pages. What only
TeX can find, a missing glyph or a line that is too wide, `make pdf` looks for in its log.
"""

import csv
import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from bs4 import Tag
from lint_site import content
from support import FOLDER, ROOT, missing

SOURCE = FOLDER.parent / "latex" / "privacy-personally.tex"
BOX = re.compile(
    r"\\begin\{pdpstatement\}(?:\[\w+=\w+\])?\{%\n(.+?)[ \n](?:\(.*?)?\}"
    r"\\phantomsection\\label\{\\detokenize\{([^}]*)\}\}\\nobreak%\n", re.S
)  # fmt: skip
CODE = re.compile(r"\\begin\{sphinxVerbatim\}.*?\\end\{sphinxVerbatim\}", re.S)
INLINE = re.compile(r"\\sphinxcode\{\\sphinxupquote\{.*?\}\}|\\\(.*?\\\)", re.S)
DISPLAY = re.compile(r"\\begin\{(equation\*?|align\*?|split)\}.*?\\end\{\1\}", re.S)
STRAY = {
    "a colon fence": r":::",
    "a role": r"\\\{[a-z:]+\\\}(?:`|\\sphinxcode)",
    "raw HTML": r"</?(?:details|div|span|summary|p)\b",
    "a stray dollar": r"\\\$",
    "raw Markdown": r"\]\(|(?:^|\s)\*\*\w",
    "a missing citation": r"\{\[\}\?\{\]\}|\?\?",
    "a promise to fold": r"\bon this page are closed",
    "a figure to move": r"(?<!emphasis\{)On the web page of the book",
    "a figure that was not drawn": r"<Figure size|\\textless\{\}Figure size",
}


def plain(code: str) -> str:
    """A listing without its colors."""
    code = re.sub(r"\\PYG\{[^}]*\}\{((?:[^{}]|\{[^{}]*\})*)\}", r"\1", code)
    return code.replace(r"\PYGZus{}", "_").replace(r"\PYGZsh{}", "#")


def listings(tex: str) -> str:
    return plain("\n".join(found[0] for found in CODE.finditer(tex)))


def prose(tex: str) -> str:
    body = tex[tex.find(r"\begin{document}") :]
    return INLINE.sub("", DISPLAY.sub("", CODE.sub("", body)))


def stray(tex: str) -> Iterator[str]:
    """Markup that was meant for another machine."""
    text = prose(tex)
    for what, pattern in STRAY.items():
        for found in re.finditer(pattern, text, re.M):
            around = text[max(0, found.start() - 40) : found.end() + 40]
            yield f"{what}: {' '.join(around.split())}"


def references(tex: str) -> Iterator[str]:
    """References that lead nowhere, and names that two places have."""
    name = r"\{(?:\\detokenize\{)?([^{}]+)\}"
    labels = Counter(re.findall(r"\\label" + name, tex))
    yield from (f"two places are called {label}" for label, count in labels.items() if count > 1)
    asked = re.findall(r"\\(?:ref|eqref|pageref)" + name, tex)
    asked += re.findall(r"\\hyperref\[(?:\\detokenize\{)?([^\]{}]+)", tex)
    yield from (f"no place is called {label}" for label in sorted({*asked} - labels.keys()))
    cited = set(re.findall(r"\\hyperlink\{cite\.([^}]+)\}", tex))
    known = set(re.findall(r"\\bibitem\[[^\n]*\]\{([^}]+)\}", tex))
    yield from (f"not in the bibliography: {key}" for key in sorted(cited - known))


def images(tex: str, folder: Path) -> Iterator[str]:
    """Images that are not in the folder."""
    for parts in re.findall(r"\\sphinxincludegraphics(?:\[[^\]]*\])?\{\{([^}]+)\}(\.\w+)\}", tex):
        if not (folder / "".join(parts)).is_file():
            yield f"no image {''.join(parts)}"


def secrets(tex: str) -> Iterator[str]:
    """Tests that are hidden from students, and solutions ahead of their chapter."""
    early, _, late = tex.partition(r"\part{Solutions}")
    for word in ("HIDDEN TESTS", "hidden=True", "BEGIN SOLUTION", "END SOLUTION"):
        if word in listings(tex):
            yield f"{word} is shown"
    asked = re.findall(r"def (\w+)\((?:(?!\ndef ).)*?# YOUR CODE HERE", listings(early), re.S)
    for name in asked:
        if not re.search(rf"def {name}\b", listings(late)):
            yield f"no solution of {name}"
    if not asked or "YOUR CODE HERE" in listings(late):
        yield "exercises and solutions are not apart"


def gaps(tex: str) -> Iterator[str]:
    """Empty paragraphs in tables, which make their row higher."""
    for found in re.finditer(r"\\sphinxAtStartPar\s+(?:&|\\\\\n)", tex):
        yield f"an empty cell after {tex[: found.start()][-40:]!r}"


def faults(tex: str, folder: Path) -> list[str]:
    return [*stray(tex), *gaps(tex), *references(tex), *images(tex, folder), *secrets(tex)]


@pytest.fixture(scope="module")
def tex(folder) -> str:
    if not SOURCE.is_file():
        missing("no LaTeX source of the book: run `make latex` first")
    return SOURCE.read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def articles(soups) -> dict[str, Tag]:
    """What the pages of the site say, by name."""
    pages = sorted(name for name in soups if name.startswith("book/"))
    return {name.removesuffix(".html"): content(soups[name]) for name in pages}


def statements(tex: str) -> dict[str, str]:
    return {label: " ".join(name.split()) for name, label in BOX.findall(tex)}


def test_the_source(tex):
    assert faults(tex, SOURCE.parent) == []


def test_every_page_in_the_order_of_the_contents(tex):
    """Chapters and exercises, depth pages, pages of the papers, back matter, solutions."""
    toc = yaml.safe_load((ROOT / "_toc.yml").read_text(encoding="utf-8"))
    parts = {part["caption"]: part["chapters"] for part in toc["parts"]}
    papers, back = parts.pop("The papers"), parts.pop("Back matter")
    below = [
        page["file"]
        for part in toc["parts"]
        if part.get("numbered")
        for chapter in part["chapters"]
        for page in chapter.get("sections", [])
    ]
    chapters = [chapter["file"] for part in parts.values() for chapter in part]
    last = [chapter["file"] for chapter in [*papers, *back]]
    found = re.findall(r"\\label\{\\detokenize\{([^}]+)::doc\}\}", tex)
    wanted = [toc["root"], *chapters, *below, *last]
    assert [name for name in found if name in wanted] == wanted
    named = re.findall(r"\\part\{(.+)\}$", tex, re.M)
    after = ["Appendix: depth pages", "Appendix: the papers", "Back matter", "Solutions"]
    assert [one.replace(r"\sphinxhyphen{}", "-") for one in named] == [*parts, *after]
    for name in [*chapters, *below, *last]:  # each begins on a page of its own
        assert re.search(rf"\\chapter\{{[^\n]+\}}\n[^\n]*\{{{name}::doc\}}", tex), name


def test_every_statement_with_the_number_of_the_site(tex, articles):
    with (ROOT / "book" / "statements.csv").open(encoding="utf-8") as file:
        labels = {row["label"] for row in csv.DictReader(file)}
    boxes = statements(tex)
    named = {label.rpartition(":")[2] for label in boxes}
    tables = set(re.findall(r"\\label\{\\detokenize\{[^}:]+:(tab-[^}]+)\}\}", tex))
    assert labels
    assert labels <= named | tables
    shown = {
        f"{page}:{box['id']}": " ".join(box.select_one(".caption-number").get_text().split())
        for page, article in articles.items()
        for box in article.select("div.proof[id]")
    }
    assert boxes == shown


def test_every_check_with_its_sentence(tex, articles):
    checks = sum(len(page.select("div.cell.tag_check")) for page in articles.values())
    found = re.findall(r"\\texttt\{✓\}~\s*(?:Tested|With a deliberate mistake it fails:)", tex)
    assert len(found) == checks > 200


def test_every_figure_and_proof_of_the_site(tex, articles):
    shown = {
        f"{page}:{tag['id']}": tag.select_one(".caption-number").get_text().split()[-1]
        for page, article in articles.items()
        for tag in article.select("figure[id^=fig-]")
    }
    assert shown
    assert numbers(tex) == shown
    proofs = sum(len(page.select(".proof-body")) for page in articles.values())
    assert proofs
    assert tex.count(r"\begin{pdpproof}") == proofs


def numbers(tex: str) -> dict[str, str]:
    """The number that LaTeX gives each figure, by its label: counters as they are set and step."""
    at, found = {"chapter": 0, "figure": 0, "secnumdepth": 0}, {}
    step = r"\\setcounter\{(\w+)\}\{(-?\d+)\}|(\\chapter)\{|\\begin\{figure\}(.*?)\\end\{figure\}"
    for name, value, chapter, figure in re.findall(step, tex, re.S):
        if name:
            at[name] = int(value)
        elif chapter and at["secnumdepth"] >= 0:
            at["chapter"] += 1
            at["figure"] = 0
        elif figure and r"\caption" in figure:
            at["figure"] += 1
            label = re.search(r"\\label\{\\detokenize\{([^}]+:fig-[^}]+)\}\}", figure)
            before = f"{at['chapter']}." if at["chapter"] else ""
            if label and r"\sphinxincludegraphics" in figure:
                found[label[1]] = f"{before}{at['figure']}"
    return found


def test_a_picture_stands_for_every_figure_to_move(tex, articles):
    moving = [
        f"{page}:{tag['data-figure']}"
        for page, article in articles.items()
        for tag in article.select("[data-explore]")
    ]
    assert len(moving) > 20
    assert set(moving) <= numbers(tex).keys()
    assert len(re.findall(r"\{On the web page of the book", tex)) == len(moving)


def test_every_diagram_is_drawn(tex):
    drawn = {path.stem for path in (ROOT / "book/_static/diagrams").glob("*.pdf")}
    used = set(re.findall(r"\\sphinxincludegraphics(?:\[[^\]]*\])?\{\{([^}]+)\}\.pdf\}", tex))
    assert len(drawn) > 20
    assert drawn <= used


def test_solutions_stand_at_the_end_and_can_be_found(tex, articles):
    early, _, late = tex.partition(r"\part{Solutions}")
    titles = [
        title.get_text(strip=True)
        for article in articles.values()
        for title in article.select("div.exercise details summary")
    ]
    asked = re.findall(r"\\pageref\*\{\\detokenize\{(solution:[^}]+)\}\}", early)
    assert len(asked) == titles.count("Solution") > 100
    assert re.findall(r"\\label\{\\detokenize\{(solution:[^}]+)\}\}", late) == sorted(
        asked, key=late.index
    )
    assert not re.search(r"\\begin\{pdpaside\}(\[\w+=\w+\])?\{%\nSolution\n", tex)


def test_code_that_the_site_folds_is_left_out(tex):
    chapters = tex[: tex.index(r"\part{Exercises}")]
    appendix = tex[tex.index(r"\part{Appendix: depth") : tex.index(r"\part{Back matter}")]
    for code in map(listings, (chapters, appendix)):
        assert "print(" in code
        assert not re.search(r"plt\.show\(|figures\.use\(|# (?:check|falsify): ", code)


GOOD = r"""\begin{document}
\label{\detokenize{a:x}}See \hyperref[\detokenize{a:x}]{X},
\(5\,\$\) and \sphinxcode{\sphinxupquote{:::}}.
\begin{sphinxVerbatim}[commandchars=\\\{\}]
\PYG{k}{def}\PYG{+w}{ }\PYG{n+nf}{area}\PYG{p}{(}\PYG{n}{x}\PYG{p}{)}\PYG{p}{:}
    \PYG{c+c1}{\PYGZsh{} YOUR CODE HERE}
\end{sphinxVerbatim}
\part{Solutions}
\begin{sphinxVerbatim}[commandchars=\\\{\}]
\PYG{k}{def}\PYG{+w}{ }\PYG{n+nf}{area}\PYG{p}{(}\PYG{n}{x}\PYG{p}{)}\PYG{p}{:}
    \PYG{k}{return} \PYG{n}{x}
\end{sphinxVerbatim}
"""
PLANTED = {
    "a colon fence": ("See", ":::\\{prf:theorem\\} See"),
    "a role": ("See", r"\{numref\}\sphinxcode{x} See"),
    "raw HTML": ("See", "<details>See"),
    "a stray dollar": ("See", r"\$x\$ See"),
    "raw Markdown": ("See", "a **bold word"),
    "a missing citation": ("See", "??"),
    "a promise to fold": ("See", "Solutions on this page are closed"),
    "an empty cell": ("See", "x\n&\n\\sphinxAtStartPar\n\n\\\\\nSee"),
    "a figure to move": ("See", "On the web page of the book"),
    "not drawn": ("See", "<Figure size 640x480>"),
    "two places": ("See", r"\label{a:x}See"),
    "no place is called a:y": ("[\\detokenize{a:x}]", "[\\detokenize{a:y}]"),
    "not in the bibliography": ("See", r"\hyperlink{cite.b:id1}{2020}"),
    "no image": ("See", r"\sphinxincludegraphics[width=9pt]{{gone}.png}"),
    "HIDDEN TESTS": (r"\PYGZsh{} YOUR", r"\PYGZsh{} HIDDEN TESTS YOUR"),
    "hidden=True": (r"\PYG{k}{return}", r"\PYG{n}{hidden}\PYG{o}{=}\PYG{k+kc}{True}"),
    "no solution of area": (
        "{area}\\PYG{p}{(}\\PYG{n}{x}\\PYG{p}{)}\\PYG{p}{:}\n    \\PYG{k}",
        "{room}",
    ),
    "not apart": (r"\PYG{k}{return} \PYG{n}{x}", r"\PYG{c+c1}{\PYGZsh{} YOUR CODE HERE}"),
}


def test_a_clean_source_has_no_fault(tmp_path):
    assert faults(GOOD, tmp_path) == []


@pytest.mark.parametrize("fault", PLANTED)
def test_planted_faults_are_found(fault, tmp_path):
    old, new = PLANTED[fault]
    assert old in GOOD
    assert any(fault in found for found in faults(GOOD.replace(old, new), tmp_path))
