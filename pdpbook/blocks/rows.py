"""What a function was given, blocks or all in memory; and columns of the same people, in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from pdpbook import check
from pdpbook._extras import extra
from pdpbook.blocks.sources import Chunks, Pieces, Views, is_dask
from pdpbook.blocks.tables import Tables, of_dask


class Rows:
    """Columns of the same people, in blocks.

    Statement ``prop-one-pass``, chapter *synthesis/at_scale*, says which sums PDP-OP needs. Results
    are added in the order of the blocks, whoever computed them and however often a worker was lost.
    They agree to rounding, not to the last bit: other blocks, or BLAS on an array that lies
    elsewhere in memory, round differently. The columns are called `names`.

    Parameters
    ----------
    X : array, memory map, or Dask array, shape (n, d)
        Arrays and maps are cut into views of at most 65,536 rows; Dask arrays keep their chunks.
    y : likewise, shape (n,), optional
    columns : likewise, n rows each
        By name, what else each person has: ``epsilon``, ``users``, ``weights``. If one column is a
        Dask array, all become one, cut as X is.

    Examples
    --------
    >>> rows = Rows(np.arange(6.0).reshape(3, 2), np.ones(3))
    >>> rows.sum(lambda X, y: (X.T @ y, len(y)))
    (array([6., 9.]), 3)
    >>> pieces = Rows.from_blocks([([[1.0]], [2.0]), ([[3.0]], [4.0])])
    >>> [part.tolist() for part in pieces.map(lambda X, y: y - X[:, 0])]
    [[1.0], [1.0]]
    """

    def __init__(self, X: Any, y: Any = None, **columns: Any):
        given = {k: v for k, v in {"X": X, "y": y, **columns}.items() if v is not None}
        for name, column in given.items():
            check.refuse_masked(column, name)
            lazy = is_dask(column) and isinstance(getattr(column, "chunks", None), tuple)
            if not (lazy or isinstance(column, np.ndarray)) or column.ndim == 0:
                raise TypeError(
                    f"{name} must be a NumPy array, a memory map or a Dask array, a row a person; "
                    f"got {type(column).__name__}. For blocks there is Rows.from_blocks, for "
                    "tables Rows.from_table; a frame of Dask has to_dask_array"
                )
        lengths = {name: column.shape[0] for name, column in given.items()}
        if len({n for n in lengths.values() if n == n}) > 1:  # unknown ones are NaN
            raise ValueError(f"columns must have one length; got {lengths}")
        chunked = any(is_dask(column) for column in given.values())
        self._hold((Chunks if chunked else Views)(given))

    def _hold(self, source: Views) -> Rows:
        self.names, self._source = tuple(source.columns), source
        return self

    @classmethod
    def from_blocks(
        cls, blocks: Iterable[Any] | Callable[[], Iterable[Any]], names: Sequence[str] = ("X", "y")
    ) -> Rows:
        """Rows from an iterable of blocks, such as pieces of a file.

        Parameters
        ----------
        blocks : iterable of tuples of arrays, or function of no argument that returns one
            Each block has one array for each name, or a data frame, a column of one, or an Arrow
            table, with numbers of any type: NumPy's, nullable, or Arrow's. All blocks have one
            width and one dtype a column, and tables their columns in one order; an empty block is
            skipped. An iterator can be read once, and what needs two passes refuses it: pass a
            list, or a function that begins anew. Every pass must give the same people in the same
            order: other sizes, first or last rows of a block are refused.
        names : tuple of str, default ("X", "y")
            What the arrays of a block are, in their order.

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
        if isinstance(names, str) or len(set(names)) < len(names):
            raise ValueError(f"names must be a tuple of different strings; got {names!r}")
        return cls.__new__(cls)._hold(Pieces(blocks, tuple(names)))

    @classmethod
    def from_table(cls, table: Any, X: Sequence[str] | None = None, **columns: str) -> Rows:
        """Rows of a table whose columns are named: X, y, users, epsilon, as far as they are.

        A name must be in the table, and used, once. Words in a feature are refused as it is read.

        Parameters
        ----------
        table : Arrow table, or frame of Polars, pandas or Dask
            Whatever ``pyarrow.table`` takes, such as what has ``__arrow_c_stream__``; or a data
            frame of Dask, which stays where its partitions are: a pass counts its rows.
        X : list of str, optional
            Names of the features, in order: columns of numbers or booleans.
        columns : str
            By what it is, the name of one column each: ``y``, ``users``, ``epsilon``.

        Examples
        --------
        >>> visits = {"week": [1, 2, 1], "came": [3, 2, 5], "who": ["a", "a", "b"]}
        >>> Rows.from_table(visits, X=["week"], y="came", users="who")
        Rows(X, y, users: a table)
        """
        if is_dask(table):
            return cls(**{"X": None, **of_dask(table, {"X": X, **columns})})
        return cls.__new__(cls)._hold(Tables(extra("pyarrow").table(table), {"X": X, **columns}))

    @classmethod
    def from_parquet(cls, paths: Any, X: Sequence[str] | None = None, **columns: str) -> Rows:
        """Rows of Parquet files whose columns are named; a pass reads those it asks for.

        A str or a list of them, `paths` are files, read in this order, or a folder, whose files are
        read in the order of their names, in batches; this takes ``pyarrow``. Columns and errors are
        those of `from_table`, and errors name the file and the row of it with which a batch begins;
        a file that is not there raises FileNotFoundError, and one that is named twice is refused.
        """
        return cls.__new__(cls)._hold(Tables(paths, {"X": X, **columns}))

    @property
    def passes(self) -> int:
        """How often the rows were read so far, all of them or some of their columns."""
        return self._source.passes.count

    def width(self, name: str) -> int:
        """Return how many numbers of a column each row has."""
        column = self._source.columns[name]
        shape = getattr(column, "shape", None) or next(self._source.blocks())[name].shape
        return int(np.prod(shape[1:]))

    @property
    def whole(self) -> bool:
        """Whether single columns can be read alone at no cost, as of arrays and Dask arrays."""
        return not isinstance(self._source, Pieces)

    def select(self, *names: str) -> Rows:
        """Return the same rows with these columns alone."""
        for name in names:
            if name not in self.names:
                raise ValueError(f"rows must have a column {name!r}; got {', '.join(self.names)}")
        return Rows.__new__(Rows)._hold(self._source.select(names))

    def joined(self, **columns: Any) -> Rows:
        """Return the same rows with more columns; not for blocks, which have all of theirs."""
        if isinstance(self._source, Pieces):
            raise TypeError(
                f"{', '.join(columns)} must be among the arrays of each block, and named in "
                f"Rows.from_blocks; got {', '.join(self.names)}"
            )
        rows = Rows(**{**self._source.columns, **columns})
        rows._source.passes = self._source.passes
        return rows

    def twice(self, reader: str) -> Rows:
        """Return self; TypeError if blocks can be read only once: `reader` needs two passes."""
        if isinstance(self._source, Pieces) and self._source.once:
            raise TypeError(
                f"{reader} reads blocks twice, and an iterator can be read once: pass a list, or "
                "a function that returns a new iterator"
            )
        return self

    def each(self, function: Callable[..., Any], *, numbered: bool = False) -> Iterator[Any]:
        """Yield what a function returns for each block that is not empty, in their order.

        The function is called with one keyword argument a column, an array, and with the first row
        of the block as ``start`` if `numbered`. What it returns should be small: with Dask it
        travels, and all of it is held at once. Its TypeError or ValueError is raised with the block
        and its first row; so is one if blocks differ in width or dtype, are not those of an earlier
        pass, or cannot be read again. A cluster that is gone raises ConnectionError.
        """
        self._source.passes.count += 1
        return self._source.each(function, numbered)

    def sum(self, function: Callable[..., tuple[Any, ...]]) -> tuple[Any, ...]:
        """Add up, in the order of the blocks, the tuples that a function returns for each.

        As in `each`; the function returns a tuple of numbers or arrays, of the same shapes every
        time, or lists, which are joined. Blocks without anybody raise ValueError.
        """
        parts = self.each(function)
        total = next(parts, None)
        if total is None:
            raise ValueError("blocks must hold at least one person; got none")
        for part in parts:
            total = tuple(a + b for a, b in zip(total, part, strict=True))
        return tuple(total)

    def map(self, function: Callable[..., Any]) -> Any:
        """One number for each row, in the kind of the data.

        As in `each`; the function returns an array of one float a row. Arrays give an ndarray, Dask
        arrays one of theirs (nothing is computed yet), blocks an iterator of ndarrays.
        """
        self._source.passes.count += 1
        return self._source.map(function)

    def __repr__(self) -> str:
        return f"Rows({', '.join(self.names)}: {self._source.kind})"


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
    """`Rows` with these columns, of what came or of what `Rows.from_blocks` takes; no iterators."""
    rows = blocks if isinstance(blocks, Rows) else Rows.from_blocks(blocks, names)
    return rows.twice(reader).select(*names)
