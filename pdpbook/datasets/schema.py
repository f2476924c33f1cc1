"""Tables of your own: public bounds and public categories, agreed on before the data are seen.

A schema never reads a bound, a category or a fill from a table. What does not fit is refused, or
with `clip` replaced by a public value.
"""

from __future__ import annotations

import datetime
import math
import re
import reprlib
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from numbers import Real
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, TransformerMixin

from pdpbook import Floats, check
from pdpbook._pandas import pd
from pdpbook.advice import CuratorWarning, advise

__all__ = ["Dates", "EncodedTable", "Numbers", "PublicSchema", "Words"]

SECONDS = {"days": 86_400, "hours": 3_600, "weeks": 604_800, "years": 31_557_600}  # in a unit
NOTHING = {  # texts that pandas reads as missing, but not beside numbers that are too large for it
    *("", "#N/A", "#N/A N/A", "#NA", "-1.#IND", "-1.#QNAN", "-NaN", "-nan", "1.#IND", "1.#QNAN"),
    *("<NA>", "N/A", "NA", "NULL", "NaN", "None", "n/a", "nan", "null"),
}
DATE = re.compile(r"\d{4}-\d\d-\d\d([T ].*)?")
# What a cell may be beside a value that its column takes, in the order in which errors list it.
FINE, MISSING, OTHER_KIND, NOT_LISTED, INFINITE, OUTSIDE = range(6)
OTHER_WORD = 6  # on no list, in a column whose rule has a level for such words

Whole = NDArray[np.int64]


class EncodedTable(NamedTuple):
    """A design with its public bounds; see `PublicSchema.encode`."""

    X: pd.DataFrame  #: shape (n, d), numbers in their units, categories as 0 or 1
    bounds: Floats  #: shape (d, 2), public
    y: pd.Series | None  #: labels in their units, shape (n,); None without a label
    y_bounds: tuple[float, float] | None  #: public


@dataclass(frozen=True)
class Numbers:
    """A column of numbers in a `PublicSchema`.

    Parameters
    ----------
    low, high : float
        Public bounds, in units of the column.
    fill : float, optional
        Public number within the bounds that stands where one is missing; another column of the
        design is 1 there and else 0. None says that no number may be missing.
    """

    low: float
    high: float
    fill: float | None = None

    def __post_init__(self) -> None:
        low, high = check.bounds((self.low, self.high), "(low, high)")
        object.__setattr__(self, "low", low)
        object.__setattr__(self, "high", high)
        if self.fill is None:
            return
        fill = check.single(check.finite(self.fill, "fill"), "fill")
        if not low <= fill <= high:
            ends = f"{check.shown(low)}, {check.shown(high)}"
            raise ValueError(f"fill must lie in the bounds [{ends}]; got {check.shown(fill)}")
        object.__setattr__(self, "fill", fill)


@dataclass(frozen=True)
class Words:
    """A column of categories in a `PublicSchema`.

    Parameters
    ----------
    levels : list of str
        The public list, two or more, none twice.
    fill : str, optional
        The level of whoever has none, such as a level "missing" of the list. None says that nothing
        may be missing.
    other : str, optional
        The level of whoever has a word that is not on the list. None says that there is none. With
        it a list that is spelled otherwise than the table is not refused: everybody gets this
        level. To see that without the data, transform a row that you make up, spelled as in the
        file. A `CuratorWarning` comes if more than half of a column is not on the list.
    """

    levels: Sequence[str]
    fill: str | None = None
    other: str | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "levels", _levels(self.levels, "levels"))
        for name, level in [("fill", self.fill), ("other", self.other)]:
            if level is not None and level not in self.levels:
                raise ValueError(f"{name} must be one of {_listed(self.levels)}; got {level!r}")


@dataclass(frozen=True)
class Dates:
    """A column of dates in a `PublicSchema`: the number of units since a public origin.

    Dates are those of Python, NumPy and pandas, or text like ``"2024-12-31"`` and ``"2024-12-31
    23:59"``; to the second, and without a time zone. Read dates that are written otherwise as text,
    and convert each by a rule of its own: where one cell of a column is no date,
    ``read_csv(parse_dates=...)`` leaves all of them as text, so that one person decides how the
    others are read. The same holds for its ``thousands`` and ``decimal``.

    Parameters
    ----------
    first, last : str or date
        Public bounds. Each is a moment: ``last="2025-01-01"`` has all of 2024 before it.
    origin : str or date, optional
        Where the number is 0; by default at `first`.
    unit : str, default "days"
        "hours", "days", "weeks" or "years"; a year has 365.25 days.
    fill : str or date, optional
        Public date within the bounds that stands where one is missing; another column of the design
        is 1 there and else 0. None says that no date may be missing.
    """

    first: Any
    last: Any
    origin: Any = None
    unit: str = "days"
    fill: Any = None

    def __post_init__(self) -> None:
        if self.unit not in SECONDS:
            raise ValueError(f"unit must be one of {_listed(SECONDS)}; got {self.unit!r}")
        for name in ("first", "last", "origin", "fill"):
            date = getattr(self, name)
            is_absent = date is None and name in ("origin", "fill")
            if not is_absent and _read_date(date)[1] != FINE:
                raise ValueError(f"{name} must be a date such as '2024-12-31'; got {date!r}")
        if not self.number(self.first) < self.number(self.last):
            raise ValueError(f"first must be before last; got {self.first} and {self.last}")
        if self.fill is not None:
            if not self.number(self.first) <= self.number(self.fill) <= self.number(self.last):
                ends = f"{self.first} to {self.last}"
                raise ValueError(f"fill must lie in the bounds {ends}; got {self.fill}")

    def number(self, date: Any) -> float:
        """Return the number of units from the origin to a date."""
        return float(self.since_origin(_read_date(date)[0]))

    def since_origin(self, seconds: Any) -> Any:
        """Return the number of units from the origin, of seconds since 1970."""
        origin = _read_date(self.first if self.origin is None else self.origin)[0]
        return (seconds - origin) / SECONDS[self.unit]


class PublicSchema(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    r"""What is public about a table: its columns, their bounds in their units, their categories.

    Turns a table into a design for a mechanism. For public bounds l < h, a public fill f, and a
    list of words :math:`w_0,\dots,w_k`, a cell c becomes

    .. math:: c \mapsto \begin{cases} c \\ f \end{cases}, \qquad
              c \mapsto 1[c\text{ is missing}], \qquad
              c \mapsto \bigl(1[c=w_1],\dots,1[c=w_k]\bigr) ;

    the second only for numbers and dates that may be missing. So a row of the design depends on its
    own cells alone, and its columns and bounds on the schema alone: whatever is private for rows of
    the design is so for rows of the table. As a transformer of scikit-learn it has nothing to fit.
    Chapter *synthesis/your_data*.

    A cell counts for itself, however the rest of its column is typed: 75, 75.0 and "75" are one
    number and one word, and "NA" is missing unless it is on the list. Otherwise a single "unknown"
    in a file, which makes pandas read the whole column as text, would change the rows of everybody.

    Parameters
    ----------
    columns : mapping of str to (low, high), list of str, Numbers, Words or Dates
        For a column of numbers the public bounds, as a pair of numbers in its units; for one of
        categories the public list, two or more, none twice. `Numbers`, `Words` and `Dates` say
        more: what may be missing, and what then stands in its place. The order is that of the
        design.
    label : str, optional
        The column of numbers that is to be predicted; it is no part of the design.
    clip : bool, default False
        Replace what does not fit instead of raising: what is out of bounds by the nearest bound; a
        word that is not on the list, a missing value or a value of another kind by the fill, and
        where there is none, by the middle of the bounds or the first word of the list. Then no
        cell of a table can raise. An error is seen by whoever runs the fit; where that is not the
        holder of the data, clip, here and in the estimator.

    Examples
    --------
    >>> schema = PublicSchema({
    ...     "age": (18, 100), "smoker": ["no", "yes"], "sodium": Numbers(10, 600, fill=150)})
    >>> table = pd.DataFrame({"smoker": ["yes", "no"], "age": [30, 41], "sodium": [99, None]})
    >>> schema.transform(table)
        age  smoker=yes  sodium  sodium=missing
    0  30.0         1.0    99.0             0.0
    1  41.0         0.0   150.0             1.0
    >>> schema.bounds.tolist()
    [[18.0, 100.0], [0.0, 1.0], [10.0, 600.0], [0.0, 1.0]]
    """

    def __init__(
        self, columns: Mapping[str, Any], label: str | None = None, *, clip: bool = False
    ) -> None:
        if not isinstance(columns, Mapping) or any(not isinstance(c, str) for c in columns):
            raise TypeError(f"columns must map names to public rules; got {columns!r}")
        self.columns = {name: _plain(_rule(name, rule)) for name, rule in columns.items()}
        self.label = label
        check.flag(clip, "clip")
        self.clip = clip
        if label is not None:
            if label not in columns:
                raise ValueError(f"label must be one of the columns; got {label!r}")
            if not isinstance(self.all_columns[label], Numbers):
                raise ValueError(f"label must be a column of numbers; got {label!r}")
        if not self.features:
            raise ValueError("columns must hold at least one column besides the label")
        twice = sorted({name for name in self.names if self.names.count(name) > 1})
        if twice:
            raise ValueError(
                f"columns must have different names in the design; got {twice[0]!r} twice"
            )

    @property
    def all_columns(self) -> dict[str, Any]:
        """`Numbers`, `Words` or `Dates` for each column, the label included."""
        return {name: _rule(name, rule) for name, rule in self.columns.items()}

    @property
    def features(self) -> dict[str, Any]:
        """The same without the label."""
        return {name: rule for name, rule in self.all_columns.items() if name != self.label}

    @property
    def names(self) -> list[str]:
        """Names of the columns of the design, ``region=south`` for a category."""
        return [name for column, rule in self.features.items() for name in _names(column, rule)]

    @property
    def bounds(self) -> Floats:
        """Public bounds of the columns of the design, shape (d, 2)."""
        pairs = []
        for column, rule in self.features.items():
            for name in _names(column, rule):
                pairs.append(_interval(rule) if name == column else (0.0, 1.0))
        return np.array(pairs)

    @property
    def y_bounds(self) -> tuple[float, float] | None:
        """Public bounds of the label; None without a label."""
        return None if self.label is None else _interval(self.all_columns[self.label])

    def columns_in_words(self) -> dict[str, str]:
        """Return for each column, the label included, what is public about it, as one sentence."""
        words = {name: _in_words(rule, self.clip) for name, rule in self.all_columns.items()}
        if self.label is not None:
            words[self.label] = f"the label; {words[self.label]}"
        return words

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Return the schema itself: it learns nothing, and does not look at X or y.

        All that it needs is public and was known before. This is for pipelines, which call it.
        """
        return self

    def transform(self, X: pd.DataFrame) -> pd.DataFrame:
        """Return the design, shape (n, d), with the index of the table.

        Parameters
        ----------
        X : pandas.DataFrame
            Exactly the columns of the schema but the label, in any order; one row a person, at
            least one.

        Raises
        ------
        ValueError
            For columns that are missing or extra, and, without `clip`, for cells that do not fit;
            TypeError if all faults are of kind. All faults stand in one message, with the first
            place of each and what is there: it is for the holder of the data alone.
        """
        return self._design(self._read(X, "X", self.features), X.index)

    def encode(self, frame: pd.DataFrame) -> EncodedTable:
        """Return the design, its public bounds, the labels and theirs, of a whole table.

        The design is that of `transform`. Here the label is a column, too, and by the same rules:
        it is refused, clipped and filled as a column of numbers.

        Parameters
        ----------
        frame : pandas.DataFrame
            Exactly the columns of the schema, in any order; one row a person, at least one.

        Raises
        ------
        ValueError, TypeError
            As `transform`.
        """
        table = self._read(frame, "frame", self.all_columns)
        X = self._design(table, frame.index)
        if self.label is None:
            return EncodedTable(X, self.bounds, None, None)
        y = pd.Series(table[self.label].values, index=frame.index, name=self.label)
        return EncodedTable(X, self.bounds, y, self.y_bounds)

    def get_feature_names_out(self, input_features: Any = None) -> NDArray[Any]:
        """Return `names` as an array.

        Parameters
        ----------
        input_features : array_like of str, optional
            The columns of a table, in any order; others than those of the schema raise ValueError.
        """
        if input_features is not None:
            name = "input_features"
            _raise(self._faults_of_columns(list(input_features), name, self.features), name)
        return np.array(self.names, dtype=object)

    def set_params(self, **params: Any) -> Self:
        """Change settings, as in the constructor; all are checked before one is changed."""
        changed = type(self)(**(self.get_params(deep=False) | params))
        self.columns, self.label, self.clip = changed.columns, changed.label, changed.clip
        return self

    @property
    def n_features_in_(self) -> int:
        """Number of columns that `transform` expects, public like the next."""
        return len(self.features)

    @property
    def feature_names_in_(self) -> NDArray[Any]:
        """Names of the columns that `transform` expects."""
        return np.array(list(self.features), dtype=object)

    def __sklearn_clone__(self) -> Self:
        return deepcopy(self)  # nothing is ever learned

    def __sklearn_is_fitted__(self) -> bool:
        return True

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.requires_fit = False
        tags.input_tags.two_d_array = False  # a table, whose columns have names
        tags.input_tags.string = tags.input_tags.categorical = tags.input_tags.allow_nan = True
        return tags

    def _read(self, frame: Any, name: str, expected: Mapping[str, Any]) -> dict[str, _Column]:
        """Return the columns of a table, or refuse it with all its faults."""
        if not isinstance(frame, pd.DataFrame):
            raise TypeError(f"{name} must be a pandas.DataFrame; got {type(frame).__name__}")
        labels = list(frame.columns)
        faults = self._faults_of_columns(labels, name, expected)
        if len(frame) == 0:
            faults.append(_Fault(f"{name} must have at least one row; got none"))
        columns = {}
        for column, rule in expected.items():
            if labels.count(column) != 1:
                continue
            values, what = _read(frame[column], rule)
            _advise_on_other_words(column, rule, what)
            if self.clip:
                _advise(column, rule, what)
            else:
                faults += _faults_of_cells(frame[column], rule, values, what)
            columns[column] = _settle(rule, values, what)
        _raise(faults, name)
        return columns

    def _design(self, table: Mapping[str, _Column], index: pd.Index) -> pd.DataFrame:
        design: dict[str, Floats] = {}
        for column, rule in self.features.items():
            values = table[column].values
            if isinstance(rule, Words):
                for code, level in enumerate(rule.levels[1:], start=1):
                    design[_name(column, level)] = (values == code).astype(float)
                continue
            design[column] = values
            if rule.fill is not None:
                design[_name(column, MARK)] = table[column].is_filled.astype(float)
        return pd.DataFrame(design, index=index)

    def _faults_of_columns(
        self, found: list[Any], name: str, expected: Mapping[str, Any]
    ) -> list[_Fault]:
        """Return what is wrong with the names of the columns, at most one fault."""
        wrong = {
            "missing": [column for column in expected if column not in found],
            "extra": [column for column in found if column not in expected],
            "there twice": sorted({c for c in found if c in expected and found.count(c) > 1}),
        }
        said = "; ".join(f"{_listed(names)} {what}" for what, names in wrong.items() if names)
        if not said:
            return []
        if self.label is not None and self.label in wrong["extra"]:
            said += f". {self.label!r} is the label: pass it as y, or the whole table to `encode`"
        whole = _listed(expected)
        return [_Fault(f"{name} must have the columns {whole} and no others; {said}")]


MARK = "missing"  # of the column that says where a number or a date is missing


class _Column(NamedTuple):
    """What a column becomes: numbers in its units, or places in the list of words."""

    values: Floats  #: shape (n,), between the bounds
    is_filled: NDArray[np.bool_]  #: where there was no value that the column takes


class _Fault(NamedTuple):
    sentence: str
    is_of_kind: bool = False  #: so that alone it is a TypeError


def _rule(name: str, described: Any) -> Any:
    """Return what is public about a column; a pair of numbers and a list of words are short."""
    if isinstance(described, (Numbers, Words, Dates)):
        return described
    if isinstance(described, (tuple, list)) and all(isinstance(level, str) for level in described):
        return Words(_levels(described, f"columns[{name!r}]"))
    entries = list(described) if isinstance(described, (tuple, list, np.ndarray)) else []
    are_truth_values = [isinstance(entry, (bool, np.bool_)) for entry in entries]
    is_pair_of_numbers = all(isinstance(entry, Real) for entry in entries) and len(entries) == 2
    if is_pair_of_numbers and not any(are_truth_values):
        return Numbers(*check.bounds(described, f"columns[{name!r}]"))
    way_out = ". For truth values list the words ['false', 'true']"
    raise TypeError(
        f"columns[{name!r}] must be a pair (low, high) of numbers, a list of words, or Numbers, "
        f"Words or Dates; got {described!r}{way_out if any(are_truth_values) else ''}"
    )


def _plain(rule: Any) -> Any:
    """Return the short form of a rule, if it has one: a pair of floats or a list of words."""
    if isinstance(rule, Numbers) and rule.fill is None:
        return (rule.low, rule.high)
    if isinstance(rule, Words) and rule.fill is rule.other is None:
        return list(rule.levels)
    return rule


def _levels(levels: Any, name: str) -> tuple[str, ...]:
    """Return a public list of words, two or more, each there once."""
    if not isinstance(levels, (tuple, list)) or not all(isinstance(word, str) for word in levels):
        raise TypeError(f"{name} must be a list of words; got {levels!r}")
    if len(levels) < 2 or len(set(levels)) < len(levels):
        raise ValueError(f"{name} must list two or more categories once each; got {levels!r}")
    if len({_read_word(level) for level in levels}) < len(levels):
        raise ValueError(f"{name} must list each number and truth value once; got {levels!r}")
    return tuple(levels)


def _name(column: str, level: str) -> str:
    return f"{column}={level}"


def _names(column: str, rule: Any) -> list[str]:
    """Return the names of what a column becomes in the design."""
    if isinstance(rule, Words):
        return [_name(column, level) for level in rule.levels[1:]]
    return [column] if rule.fill is None else [column, _name(column, MARK)]


def _interval(rule: Any) -> tuple[float, float]:
    """Return the public bounds of what is read: numbers, units of time, or places in the list."""
    if isinstance(rule, Numbers):
        return rule.low, rule.high
    if isinstance(rule, Dates):
        return rule.number(rule.first), rule.number(rule.last)
    return 0.0, len(rule.levels) - 1.0


def _public_value(rule: Any) -> float:
    """Return what stands where there is no value: the fill, or the middle, or the first word."""
    low, high = _interval(rule)
    if isinstance(rule, Words):
        return 0.0 if rule.fill is None else float(rule.levels.index(rule.fill))
    if rule.fill is None:
        return low / 2 + high / 2
    return float(rule.fill if isinstance(rule, Numbers) else rule.number(rule.fill))


def _in_words(rule: Any, clip: bool) -> str:
    """Return what is public about a column, without its name."""
    if isinstance(rule, Words):
        parts = [f"one of {_listed(rule.levels)}"]
        middle = repr(rule.levels[0])
        fill = repr(rule.fill)
        if rule.other is not None:
            parts.append(f"{rule.other!r} stands for other words")
    elif isinstance(rule, Dates):
        origin = rule.first if rule.origin is None else rule.origin
        parts = [f"dates from {rule.first} to {rule.last}, in {rule.unit} since {origin}"]
        middle = "the middle"
        fill = str(rule.fill)
    else:
        parts = [f"numbers from {check.shown(rule.low)} to {check.shown(rule.high)}"]
        middle = "the middle"
        fill = "" if rule.fill is None else check.shown(rule.fill)
    if rule.fill is not None:
        parts.append(f"{fill} stands where it is missing")
    elif clip:
        parts.append(f"{middle} stands where it is missing")
    return "; ".join(parts)


# ---- what is in a cell, whatever is in the others


def _read(cells: pd.Series, rule: Any) -> tuple[Floats, Whole]:
    """Return the numbers of a column, NaN where there is none, and what else is in its cells."""
    kinds = pd.api.types
    if isinstance(rule, Numbers):
        if kinds.is_integer_dtype(cells) or kinds.is_float_dtype(cells):
            values = cells.to_numpy(dtype=float, na_value=np.nan)  # as below, but fast
            what = np.where(np.isnan(values), MISSING, FINE)
        else:
            values, what = _read_cells(cells, _read_number)
    elif isinstance(rule, Dates):
        if isinstance(cells.dtype, np.dtype) and cells.dtype.kind == "M":
            moments = cells.to_numpy()  # as below, but fast
            what = np.where(np.isnat(moments), MISSING, FINE)
            seconds = moments.astype("datetime64[s]").astype(np.int64).astype(float)
        else:
            seconds, what = _read_cells(cells, _read_date)
        values = rule.since_origin(np.where(what == FINE, seconds, np.nan))
    else:
        place = {_read_word(level): float(k) for k, level in enumerate(rule.levels)}
        other = (math.nan, NOT_LISTED)
        if rule.other is not None:
            other = (float(rule.levels.index(rule.other)), OTHER_WORD)

        def read(cell: Any) -> tuple[float, int]:
            word = _read_word(cell)
            if word in place:
                return place[word], FINE
            return (math.nan, MISSING) if _is_missing(cell) else other

        values, what = _read_cells(cells, read)
    low, high = _interval(rule)
    what = np.where((what == FINE) & ~((values >= low) & (values <= high)), OUTSIDE, what)
    what = np.where((what == OUTSIDE) & np.isinf(values), INFINITE, what)
    return values, what


def _read_cells(cells: pd.Series, read: Any) -> tuple[Floats, Whole]:
    """Return what `read` makes of each cell; of a text once, since texts come again and again."""
    texts: dict[str, tuple[float, int]] = {}
    pairs = []
    for cell in cells.astype(object).to_numpy():
        if type(cell) is not str:
            pairs.append(read(cell))
            continue
        if cell not in texts:
            texts[cell] = read(cell)
        pairs.append(texts[cell])
    values, what = np.array(pairs, dtype=float).reshape(-1, 2).T
    return values, what.astype(np.int64)


def _is_missing(cell: Any) -> bool:
    if isinstance(cell, (np.datetime64, np.timedelta64)):
        return bool(np.isnat(cell))
    if isinstance(cell, Decimal):
        return cell.is_nan()
    if isinstance(cell, str):
        return cell in NOTHING
    is_nan = isinstance(cell, (float, np.floating)) and math.isnan(cell)
    return cell is None or cell is pd.NA or cell is pd.NaT or is_nan


def _read_number(cell: Any) -> tuple[float, int]:
    """Return a number, and what is in the cell; text that is a number is that number."""
    if _is_missing(cell):
        return math.nan, MISSING
    kinds = (int, float, np.integer, np.floating, Decimal, Fraction)
    is_number = isinstance(cell, kinds) and not isinstance(cell, (bool, np.timedelta64))
    is_text = isinstance(cell, str) and "_" not in cell  # Python reads 1_000, no file means it
    if not (is_number or is_text):
        return math.nan, OTHER_KIND
    try:
        value = float(cell)
    except OverflowError:
        return (math.inf if cell > 0 else -math.inf), FINE
    except ValueError:
        return math.nan, OTHER_KIND
    return value, (MISSING if math.isnan(value) else FINE)


def _read_word(cell: Any) -> str | float | None:
    """Return a word as it is compared: without its spelling, if a file may be read as numbers.

    That is so if all of a column are numbers, or all are true or false; one cell must not decide
    how the others are compared.
    """
    if isinstance(cell, (bool, np.bool_)):
        return str(cell).lower()
    number, what = _read_number(cell)
    if what == FINE:
        return number
    if not isinstance(cell, str):
        return None  # on no list
    return cell.lower() if cell.lower() in ("true", "false") else str(cell)


def _read_date(cell: Any) -> tuple[float, int]:
    """Return the seconds since 1970, rounded down, and what is in the cell."""
    if _is_missing(cell):
        return math.nan, MISSING
    if isinstance(cell, str) and DATE.fullmatch(cell):
        try:
            cell = datetime.datetime.fromisoformat(cell)
        except ValueError:
            return math.nan, OTHER_KIND
    if isinstance(cell, (datetime.date, np.datetime64)) and getattr(cell, "tzinfo", None) is None:
        moment = cell.to_datetime64() if isinstance(cell, pd.Timestamp) else np.datetime64(cell)
        return _seconds_since_1970(moment)
    return math.nan, OTHER_KIND


def _seconds_since_1970(moment: np.datetime64) -> tuple[float, int]:
    """Return the seconds, rounded down, and what is in the cell; NumPy's own may overflow."""
    unit, _ = np.datetime_data(moment.dtype)
    if unit in ("ps", "fs", "as"):  # within days of 1970: no file has these
        return math.nan, OTHER_KIND
    count = moment.item() if unit in ("Y", "M", "W", "D", "h", "m") else None
    if isinstance(count, int):  # beyond the calendar of Python
        return (math.inf if count > 0 else -math.inf), FINE
    return float(moment.astype("datetime64[s]").astype(np.int64)), FINE


def _settle(rule: Any, values: Floats, what: Whole) -> _Column:
    """Return a column in which a public value stands for whatever does not fit."""
    low, high = _interval(rule)
    is_filled = np.isin(what, [MISSING, OTHER_KIND, NOT_LISTED])
    settled = np.clip(np.where(is_filled, _public_value(rule), values), low, high)
    return _Column(settled, is_filled)


# ---- what is said about it


def _faults_of_cells(cells: pd.Series, rule: Any, values: Floats, what: Whole) -> list[_Fault]:
    """Return a sentence for each kind of cell that does not fit."""
    faults = []
    for kind in (MISSING, OTHER_KIND, NOT_LISTED, INFINITE, OUTSIDE):
        wrong = what == kind
        if not wrong.any() or (kind == MISSING and rule.fill is not None):
            continue
        at = int(np.argmax(wrong))
        must, way_out = _what_it_must(kind, rule, float(values[at]))
        label = cells.index[at]
        row = label.item() if isinstance(label, np.generic) else label
        sentence = (
            f"column {cells.name!r} must {must}; got {_shown(cells.iloc[at])} in row {row!r} "
            f"({int(wrong.sum())} of {len(cells)} are wrong){way_out and '. ' + way_out}"
        )
        faults.append(_Fault(sentence, kind == OTHER_KIND))
    return faults


def _what_it_must(kind: int, rule: Any, value: float) -> tuple[str, str]:
    """Return what cells of a column must do, and the way out where one of them does not."""
    if kind == MISSING:
        return "have no missing value", (
            "Give the column a public fill; dropping the row would be a rule that reads the data"
        )
    if kind == NOT_LISTED:
        return f"hold one of {_listed(rule.levels)}", (
            "Add it to the public list, or map it to one by a public rule"
        )
    if isinstance(rule, Dates):
        ends = f"[{rule.first}, {rule.last}]"
        if kind == OTHER_KIND:
            return "hold dates such as '2024-12-31', without a time zone", ""
        return f"lie in its public bounds {ends}", "Widen the public bounds, or pass clip=True"
    if kind == OTHER_KIND:
        return "hold numbers", ""
    if kind == INFINITE:
        return "hold finite numbers", ""
    ends = f"[{check.shown(rule.low)}, {check.shown(rule.high)}]"
    return f"lie in its public bounds {ends}", check.way_into(value, rule.low, rule.high, "bounds")


def _shown(cell: Any) -> str:
    """Return what is in a cell as text, not too long."""
    if isinstance(cell, (float, np.floating)):
        return check.shown(cell)
    if isinstance(cell, (datetime.date, np.generic)) or cell is pd.NA or cell is pd.NaT:
        return str(cell)
    return reprlib.repr(cell)


def _raise(faults: Sequence[_Fault], name: str) -> None:
    """Raise all faults of a table in one message."""
    if not faults:
        return
    said = [fault.sentence for fault in faults]
    message = said[0] if len(said) == 1 else "\n- ".join([f"{name} has {len(said)} faults:", *said])
    raise (TypeError if all(fault.is_of_kind for fault in faults) else ValueError)(message)


def _advise(name: str, rule: Any, what: Whole) -> None:
    """Warn if more than half of a column were replaced: then it may be the schema that is wrong."""
    fits = np.isin(what, [FINE, OTHER_WORD]) | ((what == MISSING) & (rule.fill is not None))
    replaced = int(len(what) - fits.sum())
    if 2 * replaced > len(what):
        advise(
            f"clip=True replaced {replaced} of {len(what)} values of column {name!r}: what is "
            "released speaks of the schema. Its rule must be public, in the units of the column, "
            "and fit most",
            CuratorWarning,
        )


def _advise_on_other_words(name: str, rule: Any, what: Whole) -> None:
    """Warn if more than half of a column are on no list: then the list may be spelled otherwise."""
    count = int(np.count_nonzero(what == OTHER_WORD))
    if 2 * count > len(what):
        advise(
            f"{count} of {len(what)} values of column {name!r} are on no list and became "
            f"{rule.other!r}: what is released speaks of the schema. Its levels must be public, "
            "spelled as in the table, and fit most",
            CuratorWarning,
        )


def _listed(names: Any) -> str:
    return ", ".join(repr(name) for name in names)
