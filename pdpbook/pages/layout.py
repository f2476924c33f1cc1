"""Layout of the book's figures. matplotlib calls `arrange` by its name, in the book's plot style.

It is apart from `figures`, which is imported without matplotlib.
"""

import textwrap
from typing import Any

from matplotlib import _mathtext
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

__all__: list[str] = []  # for matplotlib, by name

MOST_MARKS = 1000  # more of them are drawn as a picture, which is then smaller than their list
PANEL_HEIGHT = 2.0  # inches, where several panels stand above each other
LEGEND_LETTERS = 44  # in a line of a legend
EXPONENT_SIZE = 0.87  # relative to the letters before: 10 px on a phone of 390 px
WIDTH_FOR_LEGEND = 0.98  # of the figure
SPACE_BELOW_LEGEND = 0.08  # inches


def arrange(fig: Figure) -> None:
    """Give a new figure the layout of the book."""
    _mathtext.SHRINK_FACTOR = EXPONENT_SIZE  # matplotlib has no public setting for it
    fig.set_layout_engine(_Roomy())


class _Roomy(ConstrainedLayoutEngine):
    """Constrained layout with the rules of the book.

    Legends stand above the plot, and the figure grows by them and by each further row of panels.
    The names of axes break into lines where they are too long. Many marks become a picture.
    """

    _done = False

    def execute(self, fig: Figure) -> None:
        if self._done:  # drawn once more, for another format
            return
        self._done = True
        for ax in fig.axes:
            grid = ax.get_gridspec()
            if grid and grid.nrows > 1:
                fig.set_figheight(PANEL_HEIGHT * grid.nrows, forward=False)
            for marks in (*ax.collections, *ax.lines):
                marks.set_rasterized(_count(marks) > MOST_MARKS)
        self._lift_legends(fig)
        super().execute(fig)
        top = fig.bbox.height * self.get()["rect"][3]
        broken = [_break_names(fig, ax, top) for ax in fig.axes]
        if any(broken):
            super().execute(fig)

    def _lift_legends(self, fig: Figure) -> None:
        """Join all legends to one, in as many columns as fit; the figure grows by its height."""
        legends = list(fig.legends)
        for ax in fig.axes:
            legend_of_axes = ax.get_legend()
            if legend_of_axes is not None:
                legends.append(legend_of_axes)
        handles: dict[str, Any] = {}
        for legend in legends:
            for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
                handles.setdefault(_wrapped(text.get_text(), LEGEND_LETTERS), handle)
            legend.remove()
        if not handles:
            return
        width, height = fig.get_size_inches()
        for columns in (4, 3, 2, 1):
            legend = fig.legend(handles.values(), handles, ncols=columns)
            box = legend.get_window_extent()
            if box.width <= WIDTH_FOR_LEGEND * width * fig.dpi or columns == 1:
                break
            legend.remove()
        legend.set_in_layout(False)
        with_legend = height + (box.height / fig.dpi + SPACE_BELOW_LEGEND)
        fig.set_size_inches(width, with_legend, forward=False)
        self.set(rect=(0, 0, 1, height / with_legend))


def _break_names(fig: Figure, ax: Axes, top: float) -> bool:
    """Break the names of axes that leave the figure or reach its legend; return whether any did."""
    broken = False
    frame = ax.get_window_extent()
    for name, middle, end, is_upright in (
        (ax.xaxis.label, (frame.x0 + frame.x1) / 2, fig.bbox.width, False),
        (ax.yaxis.label, (frame.y0 + frame.y1) / 2, top, True),
    ):
        box = name.get_window_extent()
        words = name.get_text()
        length = box.height if is_upright else box.width
        room = 2 * min(middle, end - middle)
        if length > room:
            name.set_text(_wrapped(words, int(len(words) * room / length)))
            broken = True
    return broken


def _wrapped(words: str, width: int) -> str:
    """Return words in lines of about equal length, of at most `width` letters.

    Words with a formula or a break in them are returned as they are.
    """
    if "$" in words or "\n" in words or len(words) <= width:
        return words
    fewest = len(textwrap.wrap(words, width))
    for narrower in range(width // 2, width):
        lines = textwrap.wrap(words, narrower)
        if len(lines) == fewest:
            return "\n".join(lines)
    return "\n".join(textwrap.wrap(words, width))


def _count(marks: Any) -> int:
    """Return how many marks an artist draws; a line without marks draws none."""
    if hasattr(marks, "get_offsets"):
        return len(marks.get_offsets())
    if marks.get_marker() in {"None", "", " "}:
        return 0
    return len(marks.get_xdata())
