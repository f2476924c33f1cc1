"""Puts SVG pictures into the page itself, where they see its colors and its fonts, and slims it.

An SVG behind <img> knows neither the theme that the reader chose nor the color of the text around
it. In the page `currentColor` and CSS variables work. Runs after `pdp_html`, whose parser is slow
on thousands of paths.
"""

from __future__ import annotations

import re
from html import escape, unescape
from pathlib import Path

from pdpbook.pages.figures import THEME

COLORS = {**THEME, "#000000": "currentColor"}
IMAGE = re.compile(r'<img\b[^>]*?\bsrc="(?P<src>[^"]*_images/[^"]+\.svg)"[^>]*>')
ALT = re.compile(r'\balt="([^"]*)"')
ID = re.compile(r'(\bid="|\bhref="#|url\(#)([^")]+)')
TAG = re.compile(r"<[^>]+>")
USE = r'<use (?P<head>href="[^"]*") ([^>]*?) style="(?P<style>[^"]*)"/>'
SAME = re.compile(rf"{USE}(?:<use (?P=head) [^>]*? style=\"(?P=style)\"/>)+")  # points of a cloud
TO_PAGE = re.compile(
    r'<a class="reference internal" href="([^"]*)"><span class="doc">([^<]*)</span></a>'
)  # a long list has hundreds, and no style sheet asks for these classes
INNER = re.compile(r"<g>((?:(?!</?g[ >]).)*)</g>", re.S)  # a group that says nothing, and has none
#: code that stays in the color of the text
QUIET = re.compile(r'<span class="(?:n|nn|o|p|w)">([^<]*)</span>')


def inline(svg: str, alt: str, prefix: str) -> str:
    """The picture as part of a page: a name, ids of its own, no prolog."""
    svg = re.sub(r"<metadata>.*?</metadata>|<!--.*?-->", "", svg[svg.index("<svg") :], flags=re.S)
    if 'id="figure_1"' in svg:
        svg = undraw(svg)
    svg = ID.sub(rf"\1{prefix}\2", svg)
    head, rest = svg.split(">", 1)
    head = re.sub(r'\s(?:width|height|version|xmlns:xlink)="[^"]*"', "", head)
    if named := re.search(r'aria-labelledby="([^"]*)"', head):
        names = " ".join(prefix + name for name in named[1].split())
        head = head.replace(named[0], f'aria-labelledby="{names}" class="inline-figure diagram"')
    else:
        head += f' role="img" aria-label="{escape(unescape(alt))}" class="inline-figure"'
    return f"{head}>{rest}"


def undraw(svg: str) -> str:
    """A plot of matplotlib without its ground, its fonts and ids, in colors of the theme."""
    svg = re.sub(r"<defs>\s*<style.*?</style>\s*</defs>", "", svg, count=1, flags=re.S)
    svg = re.sub(r'<g id="patch_1">.*?</g>', "", svg, count=1, flags=re.S)
    svg = svg.replace("xlink:href", "href")
    used = dict.fromkeys(re.findall(r'(?:url\(|href=")#([^)"]+)', svg))
    short = {name: f"m{k}" for k, name in enumerate(used)}
    svg = re.sub(r'\sid="([^"]+)"', lambda m: m[0] if m[1] in short else "", svg)
    svg = ID.sub(lambda m: m[1] + short[m[2]], svg)

    def mend(tag: re.Match) -> str:
        text = re.sub(r"font-family: [^;\"]*;? ?|font: ([\d.]+px) [^;\"]*", _size, tag[0])
        text = re.sub(r"(\d\.\d\d)\d+", r"\1", text)  # of a point
        for color, name in COLORS.items():
            text = text.replace(color, name)
        text = re.sub(r'(?<=base64,)[^"]+', lambda data: "".join(data[0].split()), text)
        return re.sub(r"\s+", " ", text)

    svg, found = re.sub(r">\s+<", "><", TAG.sub(mend, svg)), 1
    while found:
        svg, found = INNER.subn(r"\1", svg)
    return SAME.sub(together, svg)


def together(run: re.Match) -> str:
    """Marks that look the same, with their style said once."""
    style = f' style="{run["style"]}"'
    return f"<g{style}>{run[0].replace(style, '')}</g>"


def _size(font: re.Match) -> str:
    return f"font-size: {font[1]}" if font[1] else ""


def finish(app, exception) -> None:
    """Replace the images of all pages; their files are then asked for by nobody."""
    if exception or app.builder.format != "html":
        return
    done: set[Path] = set()
    for page in Path(app.outdir).rglob("*.html"):
        text, count = page.read_text(encoding="utf-8"), 0

        def put(match: re.Match, page: Path = page) -> str:
            nonlocal count
            count += 1
            file = (page.parent / match["src"]).resolve()
            done.add(file)
            alt = ALT.search(match[0])
            return inline(file.read_text(encoding="utf-8"), alt[1] if alt else "", f"f{count}-")

        new = QUIET.sub(r"\1", TO_PAGE.sub(r'<a href="\1">\2</a>', IMAGE.sub(put, text)))
        if new != text:
            page.write_text(new, encoding="utf-8")
    for file in done:
        file.unlink(missing_ok=True)


def setup(app) -> dict[str, bool]:
    app.connect("build-finished", finish, priority=950)  # after pdp_html
    return {"parallel_read_safe": True, "parallel_write_safe": True}
