"""How a plot of `figures`, imported without matplotlib, is laid out: its hook is `arrange`."""

import textwrap
from typing import Any

from matplotlib import _mathtext
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.layout_engine import ConstrainedLayoutEngine

__all__: list[str] = []  # for matplotlib, by name

MANY = 1000  # marks, from which their picture is smaller than their list
PANEL = 2.0  # inches, the height of one of several panels on each other
LINE = 44  # letters of a legend beside its mark
EXPONENT = 0.87  # of the letters they belong to: 10 px on a phone of 390 px


def arrange(fig: Figure) -> None:
    """Give a new figure the layout of the book."""
    _mathtext.SHRINK_FACTOR = EXPONENT  # of matplotlib's own settings, none says it
    fig.set_layout_engine(_Roomy())


class _Roomy(ConstrainedLayoutEngine):
    """Legends stand above the plot, which keeps its size; rows of panels add to it. Long names of
    axes break. A cloud of points becomes a picture."""

    _done = False

    def execute(self, fig: Figure) -> None:
        if self._done:  # drawn once more, for another format
            return
        self._done = True
        for ax in fig.axes:
            grid = ax.get_gridspec()
            if grid and grid.nrows > 1:
                fig.set_figheight(PANEL * grid.nrows, forward=False)
            for marks in (*ax.collections, *ax.lines):
                marks.set_rasterized(_count(marks) > MANY)
        self._lift_legends(fig)
        super().execute(fig)
        top = fig.bbox.height * self.get()["rect"][3]
        if any([_break_names(fig, ax, top) for ax in fig.axes]):
            super().execute(fig)

    def _lift_legends(self, fig: Figure) -> None:
        """All legends as one, in as many columns as fit; the figure grows by its height."""
        entries: dict[str, Any] = {}
        for legend in [*fig.legends, *filter(None, (ax.get_legend() for ax in fig.axes))]:
            for handle, text in zip(legend.legend_handles, legend.get_texts(), strict=True):
                entries.setdefault(_wrapped(text.get_text(), LINE), handle)
            legend.remove()
        if not entries:
            return
        wide, high = fig.get_size_inches()
        for columns in (4, 3, 2, 1):
            legend = fig.legend(entries.values(), entries, ncols=columns)
            box = legend.get_window_extent()
            if box.width <= 0.98 * wide * fig.dpi or columns == 1:
                break
            legend.remove()
        legend.set_in_layout(False)
        taken = box.height / fig.dpi + 0.08
        fig.set_size_inches(wide, high + taken, forward=False)
        self.set(rect=(0, 0, 1, high / (high + taken)))


def _break_names(fig: Figure, ax: Axes, top: float) -> bool:
    """Break the name of an axis that leaves the figure, or climbs into its legend."""
    broken = False
    frame = ax.get_window_extent()
    for name, middle, end, is_upright in (
        (ax.xaxis.label, (frame.x0 + frame.x1) / 2, fig.bbox.width, False),
        (ax.yaxis.label, (frame.y0 + frame.y1) / 2, top, True),
    ):
        box, words = name.get_window_extent(), name.get_text()
        length = box.height if is_upright else box.width
        room = 2 * min(middle, end - middle)
        if length > room:
            name.set_text(_wrapped(words, int(len(words) * room / length)))
            broken = True
    return broken


def _wrapped(words: str, width: int) -> str:
    """Long words in lines of about equal length; as they are with a formula or breaks in them."""
    if "$" in words or "\n" in words or len(words) <= width:
        return words
    lines = len(textwrap.wrap(words, width))
    narrow = (textwrap.wrap(words, k) for k in range(width // 2, width + 1))
    return "\n".join(next(found for found in narrow if len(found) == lines))


def _count(marks: Any) -> int:
    """The marks that an artist draws one by one."""
    if hasattr(marks, "get_offsets"):
        return len(marks.get_offsets())
    return len(marks.get_xdata()) if marks.get_marker() not in {"None", "", " "} else 0
