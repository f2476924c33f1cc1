"""What a function was given: blocks, or all of the data in memory."""

from __future__ import annotations

from typing import Any

import numpy as np

from pdpbook.blocks.rows import Rows
from pdpbook.blocks.sources import is_dask


def _lazy(value: Any) -> bool:
    return isinstance(value, Rows) or is_dask(value)


def in_blocks(*values: Any) -> bool:
    """Whether one of these comes in blocks: a `Rows` or a Dask array; or the first is a map."""
    return isinstance(values[0], np.memmap) or any(map(_lazy, values))


def in_memory(reader: str, *values: Any) -> None:
    """Refuse blocks where a function needs everything at once, rather than load them all."""
    for value in filter(_lazy, values):
        raise TypeError(
            f"{reader} takes arrays in memory, not {type(value).__name__}, whose blocks it "
            "would have to load all at once: pass NumPy arrays"
        )


def rows_of(X: Any, y: Any = None, **columns: Any) -> Rows:
    """The `Rows` of what a function was given, when `in_blocks` says that it comes in blocks."""
    given = {name: column for name, column in columns.items() if column is not None}
    if isinstance(X, Rows):
        if y is not None:
            raise TypeError("y must be None with Rows, which have their labels; got y as well")
        for name in filter(X.names.__contains__, given):
            raise TypeError(f"{name} must be None with Rows that have it; got it as well")
        rows = X.joined(**given) if given else X
    else:
        given = {"X": X} | ({} if y is None else {"y": y}) | given
        rows = Rows(**{k: v if is_dask(v) else np.asanyarray(v) for k, v in given.items()})
    if "y" not in rows.names:
        raise ValueError(f"y must be one of the columns; got {', '.join(rows.names)}")
    return rows


def several_passes(blocks: Any, reader: str, *names: str) -> Rows:
    """`Rows` with these columns, of what came or of what `Rows.from_blocks` takes.

    Blocks that can be read only once are refused, because `reader` passes over them again.
    """
    rows = blocks if isinstance(blocks, Rows) else Rows.from_blocks(blocks, names)
    return rows.twice(reader).select(*names)
