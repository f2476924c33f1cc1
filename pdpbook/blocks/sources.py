"""Where blocks come from: views of arrays, chunks of Dask arrays, pieces of an iterable.

Each has `select`, `each` and `map`, which `Rows` documents.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

ROWS = 1 << 16  # of a block cut from an array
NUMBERS = 1 << 22  # at most so many in X of such a block, or one row

Block = dict[str, NDArray[Any]]


def is_dask(value: Any) -> bool:
    """Whether this is a Dask array, found out without importing Dask."""
    return type(value).__module__.partition(".")[0] == "dask" and hasattr(value, "to_delayed")


class Views:
    """Arrays and memory maps, in views."""

    def __init__(self, columns: Block):
        self.columns = columns

    def select(self, names: tuple[str, ...]) -> Views:
        return Views({name: self.columns[name] for name in names})

    def blocks(self) -> Iterator[Block]:
        columns = self.columns.values()
        width = max(max(1, int(np.prod(column.shape[1:]))) for column in columns)
        step = max(1, min(ROWS, NUMBERS // width))
        for start in range(0, len(next(iter(columns))), step):
            yield {name: column[start : start + step] for name, column in self.columns.items()}

    def each(self, function: Callable[..., Any]) -> Iterator[Any]:
        return _in_turn(function, self.blocks())

    def map(self, function: Callable[..., Any]) -> Any:
        return np.concatenate([np.zeros(0), *self.each(partial(_floats, function))])


class Chunks:
    """Dask arrays, all cut at the same rows and not across."""

    def __init__(self, columns: dict[str, Any]):
        import dask.array as da

        self.columns = dict(columns)
        lead = next(column for column in columns.values() if is_dask(column))
        cuts = lead.chunks[0]
        for name, column in columns.items():
            if not is_dask(column):
                if any(size != size for size in cuts):
                    raise TypeError(
                        f"{name} must be a Dask array, too, where chunks have unknown sizes"
                    )
                column = da.from_array(column, chunks=(cuts, *column.shape[1:]))
            if column.ndim > 1:
                column = column.rechunk({k: -1 for k in range(1, column.ndim)})
            if len(column.chunks[0]) != len(cuts) or not all(
                a == b or (a != a and b != b) for a, b in zip(column.chunks[0], cuts, strict=True)
            ):
                column = column.rechunk({0: cuts})
            self.columns[name] = column
        self.sizes = cuts

    def select(self, names: tuple[str, ...]) -> Chunks:
        return Chunks({name: self.columns[name] for name in names})

    def tasks(self, function: Callable[..., Any]) -> list[Any]:
        from dask import delayed

        parts = {name: column.to_delayed().ravel() for name, column in self.columns.items()}
        starts = np.concatenate([[0.0], np.cumsum(self.sizes)])
        run = delayed(_apply, pure=False)
        return [
            run(function, k, starts[k], {name: part[k] for name, part in parts.items()})
            for k in range(len(self.sizes))
            if self.sizes[k] != 0
        ]

    def each(self, function: Callable[..., Any]) -> Iterator[Any]:
        from concurrent.futures import CancelledError

        from dask import compute

        try:
            results = compute(*self.tasks(partial(_unless_empty, function)))
        except (OSError, CancelledError) as error:
            raise ConnectionError(
                "the cluster that held the blocks is gone, or lost the work on them: start a new "
                f"one and call again, nothing was released ({type(error).__name__}: {error})"
            ) from error
        return iter([result for result in results if result is not None])

    def map(self, function: Callable[..., Any]) -> Any:
        import dask.array as da

        sizes = [size for size in self.sizes if size != 0]
        if not sizes:
            return da.zeros(0)
        return da.concatenate(
            [
                da.from_delayed(task, shape=(size,), dtype=float)
                for task, size in zip(self.tasks(partial(_floats, function)), sizes, strict=True)
            ]
        )


class Pieces:
    """Blocks from an iterable, or from a function that returns a new one."""

    def __init__(self, blocks: Any, names: tuple[str, ...]):
        self.given, self.names = blocks, names
        self.kept = names
        self.once = not callable(blocks) and iter(blocks) is blocks
        self.state = {"read": False}  # of an iterator, shared with every selection

    def select(self, names: tuple[str, ...]) -> Pieces:
        chosen = Pieces(self.given, self.names)
        chosen.kept, chosen.state = names, self.state
        return chosen

    def blocks(self) -> Iterator[Block]:
        if self.once and self.state["read"]:
            raise TypeError(
                "blocks were read, and an iterator can be read once: pass a list, or a function "
                "that returns a new iterator"
            )
        self.state["read"] = True
        first: Block | None = None
        for k, given in enumerate(self.given() if callable(self.given) else self.given):
            block = self._named(given, k)
            first = block if first is None else first
            for name, column in block.items():
                _check_alike(column, first[name], name, k)
            yield {name: block[name] for name in self.kept}

    def _named(self, given: Any, k: int) -> Block:
        parts = tuple(given) if isinstance(given, tuple | list) else (given,)
        if len(parts) != len(self.names):
            raise ValueError(
                f"blocks must have {len(self.names)} arrays, {', '.join(self.names)}; got "
                f"{len(parts)} in block {k}"
            )
        block = {name: np.asarray(part) for name, part in zip(self.names, parts, strict=True)}
        lengths = {name: np.shape(column)[:1] for name, column in block.items()}
        if len(set(lengths.values())) > 1 or () in lengths.values():
            shown = {name: np.shape(column) for name, column in block.items()}
            raise ValueError(
                f"blocks must have one row a person in every array; got {shown} in block {k}"
            )
        return block

    def each(self, function: Callable[..., Any]) -> Iterator[Any]:
        return _in_turn(function, self.blocks())

    def map(self, function: Callable[..., Any]) -> Iterator[Any]:
        return self.each(partial(_floats, function))


def _check_alike(column: NDArray[Any], first: NDArray[Any], name: str, k: int) -> None:
    if column.shape[1:] != first.shape[1:]:
        raise ValueError(
            f"blocks must have one width; got {_width(first)} of {name} first, "
            f"{_width(column)} in block {k}"
        )
    text = column.dtype.kind in "SUO"  # strings differ in length
    if column.dtype.kind != first.dtype.kind or (not text and column.dtype != first.dtype):
        raise TypeError(
            f"blocks must have one dtype; got {first.dtype} for {name} first, {column.dtype} in "
            f"block {k}"
        )


def _width(column: NDArray[Any]) -> str:
    if column.ndim == 2:
        return f"{column.shape[1]} columns"
    return "a single column" if column.ndim == 1 else f"shape (rows, {column.shape[1:]})"


def _in_turn(function: Callable[..., Any], blocks: Iterator[Block]) -> Iterator[Any]:
    start = 0
    for k, block in enumerate(blocks):
        n = len(next(iter(block.values())))
        if n:
            yield _apply(function, k, start, block)
        start += n


def _apply(function: Callable[..., Any], k: int, start: float, block: Block) -> Any:
    """Run on one block; an error says which, because rows are counted from 0 in each."""
    try:
        return function(**block)
    except (TypeError, ValueError) as error:
        known = f", which begins at row {int(start)}" if start == start else ""
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"in block {k}{known}: {error}") from error


def _unless_empty(function: Callable[..., Any], **block: NDArray[Any]) -> Any:
    """None for a chunk that turned out empty: its size may have been unknown."""
    return function(**block) if len(next(iter(block.values()))) else None


def _floats(function: Callable[..., Any], **block: NDArray[Any]) -> NDArray[np.float64]:
    part = _unless_empty(function, **block)
    return np.zeros(0) if part is None else np.asarray(part, dtype=float)
