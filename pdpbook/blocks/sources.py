"""Where blocks come from, with methods as of `Rows`: arrays, chunks of Dask arrays, pieces."""

from __future__ import annotations

import asyncio
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import CancelledError
from copy import copy
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from pdpbook import check
from pdpbook._names import as_labels

ROWS = 1 << 16  # of a block cut from an array
NUMBERS = 1 << 22  # at most so many in X of such a block, or one row
PATIENCE = 5.0  # seconds between two looks at the connection to a scheduler

Block = dict[str, NDArray[Any]]


def is_dask(value: Any) -> bool:
    """Whether this is of Dask, an array above all, found out without importing Dask."""
    return type(value).__module__.partition(".")[0] == "dask" and hasattr(value, "to_delayed")


class Views:
    """Arrays and memory maps, in views."""

    kind = "arrays"

    def __init__(self, columns: dict[str, Any]):
        self.columns, self.passes = columns, Passes()

    def select(self, names: tuple[str, ...]) -> Self:
        chosen = copy(self)
        chosen.columns = {name: self.columns[name] for name in names}
        return chosen

    def blocks(self) -> Iterator[Block]:
        columns = self.columns.values()
        width = max(max(1, int(np.prod(column.shape[1:]))) for column in columns)
        step = max(1, min(ROWS, NUMBERS // width))
        for start in range(0, len(next(iter(columns))), step):
            yield {name: column[start : start + step] for name, column in self.columns.items()}

    def each(self, function: Callable[..., Any], numbered: bool = False) -> Iterator[Any]:
        start = 0
        for k, block in enumerate(self.blocks()):
            if n := len(next(iter(block.values()))):
                yield _apply(function, self.place(k), start, block, numbered)
            start += n

    def place(self, k: int) -> str:
        """Which block this is, in words of errors."""
        return str(k)

    def map(self, function: Callable[..., Any]) -> Any:
        return np.concatenate([np.zeros(0), *self.each(partial(_floats, function))])


class Chunks(Views):
    """Dask arrays, all cut at the same rows and not across."""

    kind = "Dask arrays"

    def __init__(self, columns: dict[str, Any]):
        import dask.array as da

        super().__init__(dict(columns))
        cuts = next(column.chunks[0] for column in columns.values() if is_dask(column))
        for name, column in columns.items():
            if not is_dask(column):
                if any(size != size for size in cuts):
                    raise TypeError(
                        f"{name} must be a Dask array, too, where chunks have unknown sizes"
                    )
                column = da.from_array(column, chunks=(cuts, *column.shape[1:]))
            across = dict.fromkeys(range(1, column.ndim), -1)
            self.columns[name] = column.rechunk({0: cuts, **across})
        self.sizes = cuts

    def tasks(self, function: Callable[..., Any], numbered: bool = False) -> list[Any]:
        from dask import delayed

        parts = [column.to_delayed().ravel() for column in self.columns.values()]
        starts = np.concatenate([[0.0], np.cumsum(self.sizes)])
        run, found = delayed(_apply, pure=False), []
        # what it holds travels once, and as a task: what a dead worker held is computed again
        once = delayed(copy, pure=False)(function)
        for k, (size, *part) in enumerate(zip(self.sizes, *parts, strict=True)):
            if size != 0:
                block = dict(zip(self.columns, part, strict=True))
                found.append(run(once, k, starts[k], block, numbered, size))
        return found

    def each(self, function: Callable[..., Any], numbered: bool = False) -> Iterator[Any]:
        found = results(self.tasks(partial(_unless_empty, function), numbered))
        return iter([result for result in found if result is not None])

    def map(self, function: Callable[..., Any]) -> Any:
        import dask.array as da

        sizes = [size for size in self.sizes if size != 0]
        tasks = zip(self.tasks(partial(_floats, function)), sizes, strict=True)
        parts = [da.from_delayed(task, (size,), dtype=float) for task, size in tasks]
        return da.concatenate(parts) if parts else da.zeros(0)


class Kind(NamedTuple):
    shape: tuple[int, ...]  # of one row
    dtype: np.dtype[Any]
    labels: list[Any] | None  # of the columns of a table


class Pieces(Views):
    """Blocks from an iterable, or from a function that returns a new one."""

    kind = "blocks"

    def __init__(self, blocks: Any, names: tuple[str, ...]):
        super().__init__(dict.fromkeys(names))
        self.given, self.names = blocks, names
        self.once = not callable(blocks) and iter(blocks) is blocks

    def blocks(self) -> Iterator[Block]:
        if self.once and self.passes.begun:
            raise TypeError(
                "blocks were read, and an iterator can be read once: pass a list, or a function "
                "that returns a new iterator"
            )
        self.passes.begun = True
        blocks = self.given() if callable(self.given) else self.given
        if not isinstance(blocks, Iterable):
            raise TypeError(
                "blocks must be a function that returns an iterable of tuples of arrays; it "
                f"returned {type(blocks).__name__}"
            )
        kinds: dict[str, Kind] = {}
        number = 0
        for number, given in enumerate(blocks, start=1):
            block = self._named(given, self.place(number - 1), kinds)
            self.passes.check(number - 1, block)
            yield {name: block[name] for name in self.columns}
        self.passes.end(number, self.names)

    def _named(self, given: Any, k: Any, kinds: dict[str, Kind]) -> Block:
        parts = given if isinstance(given, tuple | list) else (given,)
        if len(parts) != len(self.names):
            raise ValueError(
                f"blocks must have {len(self.names)} arrays, {', '.join(self.names)}; got "
                f"{len(parts)} in block {k}"
            )
        named = dict(zip(self.names, parts, strict=True))
        for n, part in named.items():
            check.refuse_other_index(part, n, **named)
        block = {n: as_array(part, n, k) for n, part in named.items()}
        if block.get("X", np.zeros(0)).dtype == bool:  # alone, such columns have no numbers beside
            block["X"] = block["X"].astype(float)
        shapes = {name: column.shape for name, column in block.items()}
        if len(lengths := {shape[:1] for shape in shapes.values()}) > 1 or () in lengths:
            raise ValueError(
                f"blocks must have one row a person in every array; got {shapes} in block {k}"
            )
        if all(len(column) for column in block.values()):  # an empty list has no width
            for (name, column), part in zip(block.items(), parts, strict=True):
                kind = Kind(column.shape[1:], column.dtype, _labels(part))
                _check_alike(kind, kinds.setdefault(name, kind), name, k)
        return block

    def map(self, function: Callable[..., Any]) -> Iterator[Any]:
        return self.each(partial(_floats, function))


class Passes:
    """What passes over the same pieces, and selections of them, must find again, not drawn anew."""

    count = 0
    begun = False

    def __init__(self) -> None:
        self.marks: dict[tuple[str, ...], list[int]] = {}  # of the columns that a pass reads
        self.number: dict[tuple[str, ...], int] = {}  # of blocks, known after a first pass

    def check(self, k: int, block: Block) -> None:
        """Compare sizes, first and last rows: to compare every row would take as long as to sum."""
        ends = [(len(c), c[:1].tolist(), c[-1:].tolist()) for c in block.values()]
        mark, names = hash(repr(ends)), tuple(block)
        marks = self.marks.setdefault(names, [])
        if k == len(marks) and names not in self.number:
            marks.append(mark)
        elif marks[k : k + 1] != [mark]:
            self._refuse(f"block {k} has others than before")

    def end(self, number: int, names: tuple[str, ...]) -> None:
        if number < (before := len(self.marks.get(names, ()))):
            self._refuse(f"{number} blocks came, {before} before")
        self.number[names] = number

    def _refuse(self, what: str) -> None:
        raise ValueError(
            f"blocks must hold the same people in the same order at every pass; {what}. Read them "
            "in one order, and nothing drawn anew"
        )


def as_array(part: Any, name: str, k: int) -> NDArray[Any]:
    """What came as an array; a frame of several types, or of types of its own, column by column."""
    check.refuse_masked(part, name)
    arrow, frame = hasattr(part, "column_names"), hasattr(part, "iloc") and part.ndim == 2
    if name == "users" and not (arrow or frame):
        return as_labels(part)
    dtypes = list(part.schema.types if arrow else part.dtypes if frame else [])
    if len(set(dtypes)) < 2 and all(isinstance(dtype, np.dtype) for dtype in dtypes):
        return np.asarray(part)
    every = part.columns if arrow else [part.iloc[:, j] for j in range(part.shape[1])]
    columns = [np.asarray(column) for column in every]
    for label, dtype, column in zip(_labels(part) or (), dtypes, columns, strict=True):
        if column.dtype.kind not in "biuf":
            raise TypeError(
                f"{name} must have numbers in every column, or booleans of which none is missing; "
                f"got {dtype} in column {label!r} of block {k}"
            )
    return np.column_stack(columns)


def _labels(part: Any) -> list[Any] | None:
    """Names of the columns of a table: those of Arrow have them apart from their columns."""
    labels = getattr(part, "column_names", getattr(part, "columns", None))
    return None if labels is None else list(labels)


def _check_alike(kind: Kind, first: Kind, name: str, k: int) -> None:
    if kind.shape != first.shape:
        raise ValueError(
            f"blocks must have one width; got {_width(first)} of {name} first, {_width(kind)} in "
            f"block {k}"
        )
    text = kind.dtype.kind in "SUO"  # strings differ in length
    if kind.dtype.kind != first.dtype.kind or (not text and kind.dtype != first.dtype):
        mixed = {first.dtype.kind, kind.dtype.kind} in ({"i", "f"}, {"u", "f"})
        raise TypeError(
            f"blocks must have one dtype; got {first.dtype} for {name} first, {kind.dtype} in "
            f"block {k}" + ". Whole numbers become floats where one is missing" * mixed
        )
    if kind.labels != first.labels and None not in (kind.labels, first.labels):
        raise ValueError(
            f"blocks must have the same columns in one order; got {first.labels} of {name} first, "
            f"{kind.labels} in block {k}"
        )


def _width(kind: Kind) -> str:
    if len(kind.shape) == 1:
        return f"{kind.shape[0]} columns"
    return f"rows of shape {kind.shape}" if kind.shape else "a single column"


def _apply(
    function: Callable[..., Any], k: Any, start: float, block: Block, numbered: bool, size: Any = ()
) -> Any:
    """Run on one block; an error says which, because rows are counted from 0 in each."""
    try:
        if size != ():
            _announced(size, block)
        if numbered and start != start:
            raise ValueError("chunks must have known sizes here: call compute_chunk_sizes() first")
        return function(**block, **({"start": int(start)} if numbered else {}))
    except (TypeError, ValueError) as error:
        known = f", which begins at row {int(start)}" if start == start else ""
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(f"in block {k}{known}: {error}") from error


def _announced(size: float, block: Block) -> None:
    lengths = {name: len(column) for name, column in block.items()}
    if len({*lengths.values(), *([size] if size == size else [])}) > 1:
        told = f"{size} rows as announced" if size == size else "one row a person in every array"
        raise ValueError(f"chunks must have {told}; got {lengths}")


def _unless_empty(function: Callable[..., Any], **block: NDArray[Any]) -> Any:
    """None for a chunk that turned out empty: its size may have been unknown."""
    return function(**block) if len(next(iter(block.values()))) else None


def _floats(function: Callable[..., Any], **block: NDArray[Any]) -> NDArray[np.float64]:
    part = _unless_empty(function, **block)
    return np.zeros(0) if part is None else np.asarray(part, dtype=float)


# --- clusters of Dask, and one error for one that is gone


def results(tasks: list[Any]) -> list[Any]:
    """What tasks return, in their order, from wherever Dask runs them."""
    from dask import compute

    client = _client()
    try:
        if client is None:
            return list(compute(*tasks))
        return list(client.sync(_watched, client, client.compute(tasks)))
    except _of_cluster() as error:
        kept = str(error).startswith("Missing dependency")  # chunks that were persisted there
        if isinstance(error, ValueError) and not kept:
            raise
        raise ConnectionError(
            "the cluster that held the blocks is gone, or lost the work on them: start a new "
            f"one and call again, nothing was released ({type(error).__name__}: {error})"
        ) from error


def _client() -> Any:
    """The client that Dask would take; None inside a task, where Dask makes room as it waits."""
    from dask.base import get_scheduler

    distributed: Any = sys.modules.get("distributed")
    client = getattr(get_scheduler(), "__self__", None)
    if distributed is None or not isinstance(client, distributed.Client):
        return None
    try:
        distributed.get_worker()
    except ValueError:
        return client
    return None


async def _watched(client: Any, futures: list[Any]) -> Any:
    """Gather as long as there is a scheduler.

    A connection that breaks cancels what was under way; what is submitted to a client that tries to
    connect again waits until that gives up, perhaps for hours. For workers Dask waits without end,
    since a cluster may begin with none: we say so, and wait.
    """
    told = False
    gathering = asyncio.ensure_future(client.gather(futures, asynchronous=True))
    gathering.add_done_callback(lambda task: task.cancelled() or task.exception())  # if left alone
    while not (await asyncio.wait([gathering], timeout=PATIENCE))[0]:
        if client.status != "running":
            raise CancelledError(f"no scheduler answers, the client is {client.status}")
        if not told and await _no_workers(client):
            warnings.warn("the cluster has no workers: waiting for one", stacklevel=2)
            told = True
    return gathering.result()


async def _no_workers(client: Any) -> bool:
    """Whether the scheduler says that it has none; one that says nothing may be busy or dead."""
    try:
        cluster = await asyncio.wait_for(client.scheduler.identity(n_workers=0), PATIENCE)
    except OSError:  # no answer, or none in time
        return False
    return bool(cluster["n_workers"] == 0)


def _of_cluster() -> tuple[type[Exception], ...]:
    """Errors by which a lost cluster shows: none of reading a chunk, such as a missing file."""
    client: Any = sys.modules.get("distributed.client")
    known = vars(client).values() if client else ()
    errors = [kind for kind in known if isinstance(kind, type) and issubclass(kind, Exception)]
    own = (kind for kind in errors if kind.__module__.startswith("distributed."))
    return ValueError, CancelledError, *own
