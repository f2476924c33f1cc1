"""The fonts of icons, with the icons that the pages show: 3 of 275 kB.

The theme draws a dozen icons and sends two fonts of two thousand with every first visit. Each build
cuts them anew from the theme's, so that an icon that a page begins to use is there.
"""

from __future__ import annotations

import logging
import re
from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

import pydata_sphinx_theme
from fontTools import subset

FONTS = Path("vendor", "fontawesome", "webfonts")
THEME = Path(pydata_sphinx_theme.__file__).parent / "theme" / "pydata_sphinx_theme" / "static"
RULE = re.compile(r'([^{}]*)\{[^{}]*?content:\s*"\\([0-9a-f]{2,5}) ?"')
logging.getLogger("fontTools").setLevel(logging.WARNING)  # else it tells of every table it cuts
NAME = re.compile(r"\bfa-([a-z0-9-]+)")


def used(styles: Iterable[str], pages: Iterable[str]) -> set[int]:
    """The signs of the icons that a page names, or that a style sheet draws itself."""
    named = {name for page in pages for name in NAME.findall(page)}
    signs = set()
    for style in styles:
        for selector, sign in RULE.findall(style):
            icons = NAME.findall(selector)
            if not icons or not named.isdisjoint(icons):
                signs.add(int(sign, 16))
    return signs


def cut(font: Path, signs: set[int], to: Path | BytesIO) -> None:
    """Write a font with these signs only."""
    options = subset.Options(flavor="woff2")
    options.drop_tables += ["FFTM"]  # times of FontForge
    cutter = subset.Subsetter(options)
    cutter.populate(unicodes=signs)
    with subset.load_font(font, options) as loaded:
        cutter.subset(loaded)
        subset.save_font(loaded, to, options)


def cut_fonts(static: Path, pages: Iterable[str]) -> None:
    """Leave in the fonts what is used; `pages` are the texts of the pages and scripts."""
    sheets = (file for file in static.rglob("*.css") if file.name != "formulas.css")
    styles = [file.read_text(encoding="utf-8") for file in sheets]
    signs = used(styles, pages)
    for file in (static / FONTS).glob("*.woff2"):
        cut(THEME / FONTS / file.name, signs, file)
    for file in (static / FONTS).glob("*.ttf"):
        file.unlink()  # for browsers that cannot read the others: none is left
