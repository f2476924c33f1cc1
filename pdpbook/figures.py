"""Plot style of the book: one size, one palette, legible on white and on dark pages.

Colors are those of Okabe and Ito that reach a contrast of 3:1 on both backgrounds; every series
also has a marker of its own. Nothing is computed here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["BLUE", "GRAY", "GREEN", "PINK", "SERIES", "VERMILION", "reference_line", "use"]

BLUE, VERMILION, GREEN, PINK, GRAY = "#0072B2", "#D55E00", "#009E73", "#CC79A7", "#6F6F6F"
SERIES = ((BLUE, "o"), (VERMILION, "s"), (GREEN, "^"), (PINK, "D"), (GRAY, "v"))


def use() -> None:
    """Set the book's plot style; a notebook calls it once, in its set-up cell."""
    import matplotlib as mpl
    from cycler import cycler

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
    ax.axhline(height, color=color, linestyle="--", linewidth=1.5)
    ax.annotate(
        text,
        (1, height),
        xycoords=("axes fraction", "data"),
        xytext=(-2, 3),
        textcoords="offset points",
        ha="right",
        color=color,
    )
    return ax
