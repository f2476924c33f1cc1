"""Plot style of the book: pictures that are text and lines, in colors that follow the page's theme.

A figure is drawn once, as SVG, in the named colors below. `book/_ext/pdp_svg.py` puts it into the
page and writes the variables of THEME in their place, so that the button for the theme switches it.
Elsewhere (JupyterLab, a file, the PDF) it shows these colors on white, on which each reaches 4.5:1,
so that it can color words, too. Nothing is computed here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdpbook import advice
from pdpbook._extras import extra

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.text import Text

INK = "#1f2328"  # words and axes
PAPER = "#ffffff"  # the background
BLUE, VERMILION, GREEN, PINK, GRAY = "#0072b2", "#b84a00", "#00795a", "#a6437f", "#6b737d"
# What a figure about one person compares. These three have one color each in every figure of the
# book, and a line besides: with the person (in most figures "you") solid, without them dashed.
# "Without" is also the other answer that they might have given.
WITH, WITHOUT, PUBLISHED = VERMILION, GRAY, BLUE
SERIES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PINK, "D"), (GRAY, "v"))
NAMED = {
    "paper": PAPER,
    "blue": BLUE,
    "warm": VERMILION,
    "green": GREEN,
    "pink": PINK,
    "soft": GRAY,
}
THEME = {INK: "currentColor"} | {color: f"var(--fig-{name})" for name, color in NAMED.items()}
WIDTH = 4.2  # inches; 11 points are 12 px where it is as wide as a phone of 390 px


def use() -> None:
    """Set the book's plot style, and silence advice: pages fit toy data on purpose.

    Every notebook calls it once.
    """
    advice.silence()
    extra("matplotlib.style").use("pdpbook.pages.book")
    # SVG for pages and JupyterLab, PDF for LaTeX: MyST-NB takes the best that a builder can show.
    inline = extra("matplotlib_inline.backend_inline")
    inline.set_matplotlib_formats("svg", "pdf", bbox_inches=None)


def label(ax: Axes, x: float, y: float, words: str, color: str = INK, **more: Any) -> Text:
    """Name a curve on the curve itself, in its color: no legend, nothing to look up.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    x, y : float
        Where the words begin, and the middle of their height, in units of the axes.
    words : str
    color : str, default INK
        One of the colors of this module.
    more : dict
        Other properties of the text: ``ha="right"`` ends it there.
    """
    return ax.text(x, y, words, **{"color": color, "ha": "left", "va": "center", **more})


def reference_line(ax: Axes, height: float, text: str, *, color: str = GRAY) -> Axes:
    """Draw a dashed level across `ax` with its name above the right end; `ax` comes back.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
    height : float
        The level, in units of the vertical axis.
    text : str
        Its name.
    color : str, default GRAY
        Color of line and name.
    """
    ax.axhline(height, color=color, linestyle="--", linewidth=1.5)
    ax.annotate(
        text,
        (1, height),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        color=color,
        zorder=5,  # above a curve that passes there, on a pale ground
        bbox={"facecolor": PAPER, "edgecolor": "none", "alpha": 0.7, "pad": 0},
    )
    return ax


@dataclass(frozen=True)
class Explorable:
    """Sliders for a figure, which appear where a browser shows the page of the book.

    It is displayed by a cell after that of the figure. There the script
    ``_static/explore/<script>.js`` replaces the still picture. Elsewhere (JupyterLab, PDF, no
    JavaScript) the picture stays, and one sentence says where it has sliders.
    """

    script: str  #: name of the script, lower-case letters
    figure: str  #: name of the figure, ``fig-...``
    data: dict[str, Any]  #: strings, lists, arrays, and numbers of which seven digits count
    root: str = "../../"  #: from the page to the root of the site; from a chapter two folders up

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z]+", self.script):
            raise ValueError(f"script must be lower-case letters; got {self.script!r}")
        if not re.fullmatch("fig-[a-z0-9-]+", self.figure):
            raise ValueError(f"figure must be a name fig-...; got {self.figure!r}")
        self._json()  # raises for data that are no JSON

    def _json(self) -> str:
        """Return the data as JSON that can stand in a page."""
        text = json.dumps(_rounded(self.data), allow_nan=False, separators=(",", ":"))
        return text.replace("<", "\\u003c")  # or the text could end the script that holds it

    def __repr__(self) -> str:
        return "On the web page of the book the figure above has sliders."

    def _repr_html_(self) -> str:
        folder = f"{self.root}_static/explore/"
        return f"""<div data-explore="{self.script}" data-figure="{self.figure}">
<p>{self!r}</p>
<script type="application/json">{self._json()}</script>
</div>
<link rel="stylesheet" href="{folder}explore.css">
<script defer src="{folder}panel.js"></script>
<script defer src="{folder}{self.script}.js"></script>"""


def _rounded(value: Any) -> Any:
    """Return data for JSON, with floats of seven digits, in which all processors agree."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist()
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, list | tuple):
        return [_rounded(one) for one in value]
    if isinstance(value, float):
        return float(f"{value:.7g}")
    if value is None or isinstance(value, str | int):
        return value
    raise TypeError(f"data must be numbers, strings, lists and arrays; got {type(value).__name__}")
