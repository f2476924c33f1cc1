"""A board of tiles: the printed results of a paper, each in the color of what was found.

Pages of the papers show one near their top. What is on it is theirs; here it is drawn.
"""

from collections.abc import Sequence
from typing import Any

import matplotlib.pyplot as plt

from pdpbook.pages import figures

__all__ = ["HOLDS", "MORE", "NOT", "OPEN", "PART", "Board"]

HOLDS, MORE, PART = figures.BLUE, figures.GREEN, figures.PINK
NOT, OPEN = figures.VERMILION, figures.GRAY
WIDTH = 300  # units of a board, about a point each
LOW, HIGH = 19, 32  # a tile with one line, with two

Tile = tuple[str, str]  #: words and color


class Board:
    """An empty board on a new figure; `y` grows downwards.

    Parameters
    ----------
    height : float
        Of the board, in its units; it is 300 wide.
    """

    def __init__(self, height: float) -> None:
        self.fig, self.ax = plt.subplots()
        self.fig.set_size_inches(4.2, 4.2 * height / WIDTH)
        self.ax.set(xlim=(0, WIDTH), ylim=(height, 0))
        self.ax.axis("off")

    def say(self, x: float, y: float, words: str, color: str = figures.INK, **more: Any) -> None:
        """Write words whose first line stands on `y`; from 200 on they end at `x`."""
        side = "right" if x > 200 else "left"
        self.ax.text(x, y, words, **{"color": color, "ha": side, "size": 10, **more})

    def tile(
        self, x: float, y: float, width: float, words: str, color: str, height: float = LOW
    ) -> None:
        """Draw one result: a pale ground in the color of its verdict, and its words."""
        right, low = x + width - 2, y + height - 2
        self.ax.fill_between([x, right], y, low, fc=color, ec=color, alpha=0.25)
        middle = (x + right) / 2, (y + low) / 2
        size = 9.5 if width > 40 else 9.2
        self.ax.text(*middle, words, ha="center", va="center", size=size)

    def row(
        self, y: float, tiles: Sequence[Tile], *, left: float = 0, right: float = WIDTH
    ) -> None:
        """Draw results side by side, of one width, as high as their words need."""
        width = (right - left) / len(tiles)
        high = HIGH if any("\n" in words for words, _ in tiles) else LOW
        for k, (words, color) in enumerate(tiles):
            self.tile(left + k * width, y, width, words, color, high)
