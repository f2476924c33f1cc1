"""Plot style of the book: one size, one palette, legible on white and on dark pages.

Colors are those of Okabe and Ito that reach a contrast of 3:1 on both backgrounds; every series
also has a marker of its own. Nothing is computed here.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pdpbook import advice

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = [
    "BLUE",
    "GRAY",
    "GREEN",
    "PINK",
    "SERIES",
    "VERMILION",
    "Explorable",
    "reference_line",
    "use",
]

BLUE, VERMILION, GREEN, PINK, GRAY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6F6F6F"
SERIES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PINK, "D"), (GRAY, "v"))


def use() -> None:
    """Set the book's plot style; a notebook calls it once, in its set-up cell.

    Pages fit toys on purpose, so it also turns the package's advice off: ``advice.silence()``.
    """
    import matplotlib as mpl
    from cycler import cycler

    advice.silence()

    mpl.rcParams.update(
        {
            "figure.figsize": (6.4, 3.6),
            "figure.dpi": 144,
            "figure.facecolor": "white",
            "figure.constrained_layout.use": True,
            "axes.prop_cycle": cycler(color=[color for color, _ in SERIES]),
            "axes.spines.top": False,
            "axes.spines.right": False,
            "font.size": 10,
            "legend.frameon": False,
            "lines.linewidth": 2,
            "lines.markersize": 6,
        }
    )


def reference_line(ax: Axes, height: float, text: str, *, color: str = GRAY) -> Axes:
    """Draw a dashed level across `ax` with its name above the right end.

    Parameters
    ----------
    ax : matplotlib.axes.Axes
        Where to draw.
    height : float
        The level, in units of the vertical axis.
    text : str
        Its name.
    color : str, default gray
        Color of line and name.

    Returns
    -------
    matplotlib.axes.Axes
        `ax` itself.
    """
    from matplotlib.patheffects import withStroke

    ax.axhline(height, color=color, linestyle="--", linewidth=1.5)
    ax.annotate(
        text,
        (1, height),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        color=color,
        zorder=5,  # a curve may pass there: the name lies on it, in a white margin
        path_effects=[withStroke(linewidth=3, foreground="white")],
    )
    return ax


@dataclass(frozen=True)
class Explorable:
    """Sliders for a figure of the page, where a browser shows the page of the book.

    A cell displays it after the figure's own. The script ``_static/explore/<script>.js`` then
    takes the place of the still picture; elsewhere (JupyterLab, PDF, no JavaScript) the picture
    stays, and one sentence says where it moves.

    Attributes
    ----------
    script : str
        Name of the script: lower-case letters.
    figure : str
        Name of the figure, ``fig-...``.
    data : dict
        What the script computes from: numbers, strings, lists and arrays, all finite.
    root : str, default "../../"
        From the page to the root of the site: two folders up from a chapter, book/<part>/<chapter>.

    Raises
    ------
    ValueError
        If a name has another form, or a number is NaN or infinite.
    TypeError
        If `data` holds anything that JSON cannot.
    """

    script: str
    figure: str
    data: dict[str, Any]
    root: str = "../../"

    def __post_init__(self) -> None:
        if not re.fullmatch("[a-z]+", self.script):
            raise ValueError(f"script must be lower-case letters; got {self.script!r}")
        if not re.fullmatch("fig-[a-z0-9-]+", self.figure):
            raise ValueError(f"figure must be a name fig-...; got {self.figure!r}")
        self._json()

    def _json(self) -> str:
        text = json.dumps(self.data, allow_nan=False, default=_listed, separators=(",", ":"))
        return text.replace("<", "\\u003c")  # or the text could end the script that holds it

    def __repr__(self) -> str:
        return "On the web page of the book the figure above has sliders."

    def _repr_html_(self) -> str:
        folder = f"{self.root}_static/explore/"
        return "\n".join(
            [
                f'<div data-explore="{self.script}" data-figure="{self.figure}">',
                f"<p>{self!r}</p>",
                f'<script type="application/json">{self._json()}</script>',
                "</div>",
                f'<link rel="stylesheet" href="{folder}explore.css">',
                f'<script defer src="{folder}panel.js"></script>',
                f'<script defer src="{folder}{self.script}.js"></script>',
            ]
        )


def _listed(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"data must be numbers, strings, lists and arrays; got {type(value).__name__}")
