"""Tables whose columns are named: Parquet files, Arrow tables, frames of Polars, pandas or Dask."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Self

from pdpbook._extras import extra
from pdpbook.blocks.sources import NUMBERS, ROWS, Pieces, Views, as_array

Wanted = dict[str, Any]  # what it is, and the names of its columns: a list for X, else one


class Tables(Pieces):
    """A dataset of Arrow, a table or files: a pass reads the columns that it asks for."""

    once = False

    def __init__(self, given: Any, wanted: Wanted):
        dataset = extra("pyarrow.dataset").dataset(given)
        Views.__init__(self, check_names(wanted, dataset.schema.names))
        self.names, self.at = tuple(self.columns), ["", 0]  # where a pass is
        self.fragments = list(dataset.get_fragments())
        paths = [fragment.path for fragment in self.fragments if hasattr(fragment, "path")]
        self.kind = "Parquet" if paths else "a table"
        if len(set(paths)) < len(paths):
            raise ValueError(f"paths must be different files; got {paths}")

    def select(self, names: tuple[str, ...]) -> Self:
        chosen = super().select(names)
        chosen.names = names
        return chosen

    def place(self, k: int) -> str:
        return f"{k}, from row {self.at[1]} of {self.at[0]}" if self.at[0] else str(k)

    def given(self) -> Iterator[Any]:
        flat = _flat(self.columns)
        step = max(1, min(ROWS, NUMBERS // len(flat)))
        for fragment in self.fragments:
            row = 0
            for batch in fragment.to_batches(columns=flat, batch_size=step):
                self.at[:], row = [getattr(fragment, "path", ""), row], row + len(batch)
                yield tuple(
                    batch.column(given) if isinstance(given, str) else batch.select(given)
                    for given in self.columns.values()
                )


def of_dask(table: Any, wanted: Wanted) -> Wanted:
    """Dask arrays of a data frame of Dask, cut where its partitions are."""
    import dask.array as da
    from dask import compute, delayed

    wanted, found = check_names(wanted, list(table.columns)), {}
    parts = table[_flat(wanted)].to_delayed()
    sizes = compute(*map(delayed(len), parts))
    for what, given in wanted.items():
        width = (len(given),) if what == "X" else ()
        chunks = [delayed(as_array)(part[given], what, k) for k, part in enumerate(parts)]
        cut = [da.from_delayed(c, (n, *width), float) for c, n in zip(chunks, sizes, strict=True)]
        found[what] = da.concatenate(cut)
    return found


def check_names(wanted: Wanted, names: list[str]) -> Wanted:
    """Refuse names that are no columns of a table, or that can be read in two ways."""
    wanted = {what: given for what, given in wanted.items() if given is not None}
    flat = _flat(wanted)
    for what, given in wanted.items():
        if (what == "X") is isinstance(given, str):
            kind = "a list of names" if what == "X" else "one name"
            raise TypeError(f"{what} must be {kind} of columns; got {given!r}")
    for name in flat:
        if not names.count(name) == flat.count(name) == 1:
            raise ValueError(
                f"columns must be in the table once, and named once; {name!r} is named "
                f"{flat.count(name)} times, and {names.count(name)} times among {names}"
            )
    return wanted


def _flat(wanted: Wanted) -> list[str]:
    return [name for one in wanted.values() for name in ([one] if isinstance(one, str) else one)]
