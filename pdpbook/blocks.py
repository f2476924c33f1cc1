"""Data in blocks: more people than memory holds, on one machine or on many.

What passes over people is a sum over blocks of them. `Rows` holds columns of the same people, such
as X, y and epsilon, as memory maps, as Dask arrays, or as an iterable of blocks, and computes with
one block at a time.

What takes it: `ridge.weighted_ridge`; the estimators `PDPRidge` (square loss),
`SufficientStatisticsRidge`, `AdaSSP`, `OnePosteriorSample`, `AdaOPS` and `PersonalizedMean`;
`per_instance.stream_per_instance` and `per_instance_losses`; `gwa.gwa_rows` and
`stream_gwa_bound`; `pac.stream_differences`. Everything else refuses Dask arrays and `Rows`, and
reads a memory map whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Rows"]

ROWS = 1 << 16  # of a block cut from an array
NUMBERS = 1 << 22  # at most so many in X of such a block, or one row

Block = dict[str, NDArray[Any]]


class Rows:
    r"""Columns of the same people, in blocks.

    Parameters
    ----------
    X : array, memory map, or Dask array, shape (n, d)
        One row a person. Arrays and maps are cut into views of at most 65,536 rows, Dask arrays
        where they are cut already.
    y : likewise, shape (n,), optional
        Labels.
    **columns : likewise, n rows each
        What else each person has: ``epsilon``, ``users``, ``weights``. If one column is a Dask
        array, all become one, cut as X is.

    Attributes
    ----------
    names : tuple of str
        Names of the columns.

    Raises
    ------
    TypeError, ValueError
        If a column is neither array nor Dask array, or the columns have different lengths.

    Notes
    -----
    Results are added in the order of the blocks, whoever computed them and however often a worker
    was lost. They agree to rounding, not to the last bit: other blocks, or BLAS on an array that
    lies elsewhere in memory, round differently.

    Examples
    --------
    >>> rows = Rows(np.arange(6.0).reshape(3, 2), np.ones(3))
    >>> gram, moment = rows.sum(lambda X, y: (X.T @ X, X.T @ y))
    >>> moment
    array([6., 9.])
    >>> pieces = Rows.from_blocks([([[1.0]], [2.0]), ([[3.0]], [4.0])])
    >>> [part.tolist() for part in pieces.map(lambda X, y: y - X[:, 0])]
    [[1.0], [1.0]]
    """

    def __init__(self, X: Any, y: Any = None, **columns: Any):
        given = {"X": X, "y": y, **columns}
        given = {name: column for name, column in given.items() if column is not None}
        for name, column in given.items():
            if not (is_dask(column) or isinstance(column, np.ndarray)) or column.ndim == 0:
                raise TypeError(
                    f"{name} must be a NumPy array, a memory map or a Dask array, a row a person; "
                    f"got {type(column).__name__}. For blocks there is Rows.from_blocks"
                )
        self.names = tuple(given)
        lengths = {name: column.shape[0] for name, column in given.items()}
        if len({n for n in lengths.values() if n == n}) > 1:  # unknown ones are NaN
            raise ValueError(f"columns must have one length; got {lengths}")
        chunked = any(is_dask(column) for column in given.values())
        self._source: _Views | _Chunks | _Pieces = (_Chunks if chunked else _Views)(given)

    @classmethod
    def from_blocks(
        cls,
        blocks: Iterable[Any] | Callable[[], Iterable[Any]],
        names: tuple[str, ...] = ("X", "y"),
    ) -> Rows:
        """Rows from an iterable of blocks, such as pieces of a file.

        Parameters
        ----------
        blocks : iterable of tuples of arrays, or function of no argument that returns one
            Each block has one array for each name. All blocks have one width and one dtype a
            column; an empty block is skipped. An iterator can be read once, and what needs two
            passes refuses it: pass a function that begins anew, or a list.
        names : tuple of str, default ("X", "y")
            What the arrays of a block are, in their order.

        Returns
        -------
        Rows
            The same people, block by block.

        Examples
        --------
        >>> def pieces():  # with pandas: for frame in pd.read_csv(path, chunksize=100_000)
        ...     for k in range(3):
        ...         yield np.full((2, 1), float(k)), np.ones(2), np.full(2, 0.5)
        >>> rows = Rows.from_blocks(pieces, ("X", "y", "epsilon"))
        >>> rows.sum(lambda X, y, epsilon: (epsilon @ X[:, 0], len(y)))
        (np.float64(3.0), 6)
        """
        if not (callable(blocks) or isinstance(blocks, Iterable)):
            raise TypeError(
                "blocks must be an iterable of tuples of arrays, or a function that returns one; "
                f"got {type(blocks).__name__}"
            )
        rows = cls.__new__(cls)
        rows.names = tuple(names)
        rows._source = _Pieces(blocks, rows.names)
        return rows

    @property
    def whole(self) -> bool:
        """Whether single columns can be read alone at no cost, as of arrays and Dask arrays."""
        return not isinstance(self._source, _Pieces)

    def select(self, *names: str) -> Rows:
        """Return the same rows with these columns alone."""
        for name in names:
            if name not in self.names:
                raise ValueError(f"rows must have a column {name!r}; got {', '.join(self.names)}")
        rows = Rows.__new__(Rows)
        rows.names = names
        rows._source = self._source.select(names)
        return rows

    def joined(self, **columns: Any) -> Rows:
        """Return the same rows with more columns; not for blocks, which have all of theirs."""
        if isinstance(self._source, _Pieces):
            raise TypeError(
                f"{', '.join(columns)} must be among the arrays of each block, and named in "
                f"Rows.from_blocks; got {', '.join(self.names)}"
            )
        return Rows(**{**self._source.columns, **columns})

    def twice(self, reader: str) -> Rows:
        """Return self, refusing blocks that can be read only once: `reader` passes over them twice.

        Parameters
        ----------
        reader : str
            Who needs two passes, for the error.

        Returns
        -------
        Rows
            The same.

        Raises
        ------
        TypeError
            If the blocks come from an iterator.
        """
        if isinstance(self._source, _Pieces) and self._source.once:
            raise TypeError(
                f"{reader} reads blocks twice, and an iterator can be read once: pass a list, or "
                "a function that returns a new iterator"
            )
        return self

    def each(self, function: Callable[..., Any]) -> Iterator[Any]:
        """Yield what a function returns for each block, in their order.

        Parameters
        ----------
        function : callable
            Called for every block with one keyword argument a column, an array. What it returns
            should be small: with Dask it travels, and all of it is held at once.

        Returns
        -------
        iterator
            One result a block that is not empty.

        Raises
        ------
        TypeError, ValueError
            What the function raises, with the block and its first row; or if blocks differ in
            width or dtype, or have been read before and cannot be again.
        ConnectionError
            If the blocks were on a cluster that is gone.
        """
        return self._source.each(function)

    def sum(self, function: Callable[..., tuple[Any, ...]]) -> tuple[Any, ...]:
        """Add up, in the order of the blocks, the tuples that a function returns for each.

        Parameters
        ----------
        function : callable
            As in `each`; it returns a tuple of numbers or arrays, of the same shapes every time,
            or lists, which are joined.

        Returns
        -------
        tuple
            The sums.

        Raises
        ------
        TypeError, ValueError, ConnectionError
            As `each`, or if there is nobody in any block.
        """
        total: tuple[Any, ...] | None = None
        for part in self.each(function):
            if total is None:
                total = tuple(part)
            else:
                total = tuple(a + b for a, b in zip(total, part, strict=True))
        if total is None:
            raise ValueError("blocks must hold at least one person; got none")
        return total

    def map(self, function: Callable[..., Any]) -> Any:
        """One number for each row, in the kind of the data.

        Parameters
        ----------
        function : callable
            As in `each`; it returns an array of one float a row.

        Returns
        -------
        ndarray, Dask array or iterator of ndarray
            For arrays, Dask arrays (nothing is computed yet) and blocks.

        Raises
        ------
        TypeError, ValueError, ConnectionError
            As `each`.
        """
        return self._source.map(function)

    def __repr__(self) -> str:
        kind = {_Views: "arrays", _Chunks: "Dask arrays", _Pieces: "blocks"}[type(self._source)]
        return f"Rows({', '.join(self.names)}: {kind})"


class _Views:
    """Arrays and memory maps, in views."""

    def __init__(self, columns: Block):
        self.columns = columns

    def select(self, names: tuple[str, ...]) -> _Views:
        return _Views({name: self.columns[name] for name in names})

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


class _Chunks:
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

    def select(self, names: tuple[str, ...]) -> _Chunks:
        return _Chunks({name: self.columns[name] for name in names})

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


class _Pieces:
    """Blocks from an iterable, or from a function that returns a new one."""

    def __init__(self, blocks: Any, names: tuple[str, ...]):
        self.given, self.names = blocks, names
        self.kept = names
        self.once = not callable(blocks) and iter(blocks) is blocks
        self.state = {"read": False}  # of an iterator, shared with every selection

    def select(self, names: tuple[str, ...]) -> _Pieces:
        chosen = _Pieces(self.given, self.names)
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


def is_dask(value: Any) -> bool:
    """Whether this is a Dask array, found out without importing Dask."""
    return type(value).__module__.partition(".")[0] == "dask" and hasattr(value, "to_delayed")


def in_blocks(*values: Any) -> bool:
    """Whether one of these comes in blocks: a `Rows` or a Dask array; or the first is a map."""
    return isinstance(values[0], np.memmap) or any(
        isinstance(value, Rows) or is_dask(value) for value in values
    )


def in_memory(reader: str, *values: Any) -> None:
    """Refuse blocks where a function needs everything at once, rather than load them all."""
    for value in values:
        if isinstance(value, Rows) or is_dask(value):
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
        twice = [name for name in given if name in X.names]
        if twice:
            raise TypeError(f"{twice[0]} must be None with Rows that have it; got it as well")
        rows = X.joined(**given) if given else X
    else:
        rows = Rows(*(_array(v) for v in (X, y)), **{k: _array(v) for k, v in given.items()})
    if "y" not in rows.names:
        raise ValueError(f"y must be one of the columns; got {', '.join(rows.names)}")
    return rows


def _array(value: Any) -> Any:
    return (
        value
        if value is None or is_dask(value) or isinstance(value, np.ndarray)
        else np.asarray(value)
    )
