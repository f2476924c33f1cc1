"""Tables of your own: public bounds and public categories, agreed on before the data are seen.

A schema never reads a bound or a category from a table; what does not fit is refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats, check
from pdpbook._pandas import pd


class EncodedTable(NamedTuple):
    """A design with its public bounds; see `PublicSchema.encode`."""

    X: pd.DataFrame  #: shape (n, d), numbers in their units, categories as 0 or 1
    bounds: Floats  #: shape (d, 2), public
    y: pd.Series | None  #: labels in their units, shape (n,); None without a label
    y_bounds: tuple[float, float] | None  #: public


@dataclass(frozen=True)
class PublicSchema:
    """What is public about a table: its columns, their bounds in their units, their categories.

    Chapter *synthesis/your_data*.

    Parameters
    ----------
    columns : mapping of str to (low, high) or list of str
        For a column of numbers the public bounds, as a pair of numbers in its units; for one of
        categories the public list, two or more, none twice. The order is that of the design.
    label : str, optional
        The column of numbers that is to be predicted; it is no part of the design.

    Examples
    --------
    >>> schema = PublicSchema({"age": (18, 100), "smoker": ["no", "yes"]})
    >>> X, bounds, *_ = schema.encode(pd.DataFrame({"smoker": ["yes", "no"], "age": [30, 41]}))
    >>> X
        age  smoker=yes
    0  30.0         1.0
    1  41.0         0.0
    >>> bounds.tolist()
    [[18.0, 100.0], [0.0, 1.0]]
    """

    columns: Mapping[str, Any]
    label: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.columns, Mapping) or any(
            not isinstance(c, str) for c in self.columns
        ):
            raise TypeError(f"columns must map names to public rules; got {self.columns!r}")
        columns = {name: _rule(name, rule) for name, rule in self.columns.items()}
        if self.label is not None:
            if self.label not in columns:
                raise ValueError(f"label must be one of the columns; got {self.label!r}")
            if not isinstance(columns[self.label], tuple):
                raise ValueError(f"label must be a column of numbers; got {self.label!r}")
        if not set(columns) - {self.label}:
            raise ValueError("columns must hold at least one column besides the label")
        object.__setattr__(self, "columns", columns)

    @property
    def names(self) -> list[str]:
        """Names of the columns of the design, ``region=south`` for a category."""
        return [name for name, *_ in self._design]

    @property
    def bounds(self) -> Floats:
        """Public bounds of the columns of the design, shape (d, 2)."""
        return np.array([pair for _, pair, *_ in self._design])

    def encode(self, frame: pd.DataFrame, *, clip: bool = False) -> EncodedTable:
        """Turn a table into a design with public bounds, or refuse it.

        Categories are one-hot without the first of their list. What is missing, not finite, outside
        its public bounds or an unseen category raises ValueError, which names the column, the row
        and the rule: it is for the holder of the data alone.

        Parameters
        ----------
        frame : pandas.DataFrame
            Exactly the columns of the schema, in any order; one row a person, at least one.
        clip : bool, default False
            Clip numbers to their public bounds instead of raising. Missing values and unseen
            categories raise all the same: replace them by a public rule, the same for everybody.
        """
        if not isinstance(frame, pd.DataFrame):
            raise TypeError(f"frame must be a pandas.DataFrame; got {type(frame).__name__}")
        check.flag(clip, "clip")
        self._check_columns(list(frame.columns))
        if len(frame) == 0:
            raise ValueError("frame must have at least one row; got none")
        values = {}
        for column, rule in self.columns.items():
            values[column] = _values(frame[column], column, rule, clip)
        design = {}
        for name, _, column, level in self._design:
            if level is None:
                design[name] = values[column]
            else:
                design[name] = (values[column] == level).astype(float)
        X = pd.DataFrame(design, index=frame.index)
        if self.label is None:
            return EncodedTable(X, self.bounds, None, None)
        y = pd.Series(values[self.label], index=frame.index, name=self.label)
        return EncodedTable(X, self.bounds, y, self.columns[self.label])

    @property
    def _design(self) -> list[tuple[str, tuple[float, float], str, str | None]]:
        """Name, bounds, column and category of everything in the design."""
        found: list[tuple[str, tuple[float, float], str, str | None]] = []
        for column, rule in self.columns.items():
            if not isinstance(rule, tuple):
                found += [(f"{column}={level}", (0.0, 1.0), column, level) for level in rule[1:]]
            elif column != self.label:
                found.append((column, rule, column, None))
        return found

    def _check_columns(self, found: list[Any]) -> None:
        faults = {
            "missing": [name for name in self.columns if name not in found],
            "extra": [name for name in found if name not in self.columns],
            "there twice": sorted({n for n in found if n in self.columns and found.count(n) > 1}),
        }
        wrong = "; ".join(f"{_listed(names)} {said}" for said, names in faults.items() if names)
        if wrong:
            whole = _listed(list(self.columns))
            raise ValueError(f"frame must have the columns {whole} and no others; {wrong}")


def _rule(name: str, rule: Any) -> Any:
    """Return the public rule of a column: a pair of floats, or a list of categories."""
    if isinstance(rule, (tuple, list)) and all(isinstance(level, str) for level in rule):
        if len(rule) < 2 or len(set(rule)) < len(rule):
            raise ValueError(
                f"columns[{name!r}] must list two or more categories once each; got {rule!r}"
            )
        return list(rule)
    if isinstance(rule, (tuple, list, np.ndarray)) and np.shape(rule) == (2,):
        return check.bounds(rule, f"columns[{name!r}]")
    raise TypeError(
        f"columns[{name!r}] must be a pair (low, high) of numbers or a list of categories; "
        f"got {rule!r}"
    )


def _values(column: pd.Series, name: str, rule: Any, clip: bool) -> NDArray[Any]:
    """Return the values of a column, or refuse those that break its rule."""
    way_out = "Fill it by a public rule; dropping the row would be a rule that reads the data"
    _refuse(column, name, column.isna().to_numpy(), "have no missing value", way_out)
    if not isinstance(rule, tuple):
        unseen = ~column.isin(rule).to_numpy()
        way_out = "Add it to the public list, or map it to one by a public rule"
        _refuse(column, name, unseen, f"hold one of {_listed(rule)}", way_out)
        return np.asarray(column.astype(str).to_numpy())
    kinds = pd.api.types
    if not (kinds.is_integer_dtype(column) or kinds.is_float_dtype(column)):
        raise TypeError(
            f"column {name!r} must hold numbers; got dtype {column.dtype}, "
            f"beginning with {column.iloc[0]!r}"
        )
    values = column.to_numpy(dtype=float)
    _refuse(column, name, ~np.isfinite(values), "hold finite numbers", "")
    low, high = rule
    values = np.clip(values, low, high) if clip else values
    outside = ~((values >= low) & (values <= high))
    if outside.any():
        ends = f"{check.shown(low)}, {check.shown(high)}"
        way_out = check.way_into(values[np.argmax(outside)], low, high, "bounds")
        _refuse(column, name, outside, f"lie in its public bounds [{ends}]", way_out)
    return np.asarray(values)


def _refuse(column: pd.Series, name: str, wrong: NDArray[Any], rule: str, way_out: str) -> None:
    if not wrong.any():
        return
    at = int(np.flatnonzero(wrong)[0])
    value = column.iloc[at]
    if isinstance(value, (float, np.floating)):
        shown = check.shown(value)
    elif isinstance(value, str):
        shown = repr(value)
    else:
        shown = str(value)
    end = f". {way_out}" if way_out else ""
    raise ValueError(
        f"column {name!r} must {rule}; got {shown} in row {column.index[at]!r} "
        f"({int(wrong.sum())} of {len(column)} are wrong){end}"
    )


def _listed(names: list[Any]) -> str:
    return ", ".join(repr(name) for name in names)
