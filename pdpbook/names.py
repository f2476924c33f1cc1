"""Who is who: names of people, and of their rows, compared as Python objects.

pandas turns both sides into one type before it looks a name up. So a whole number finds a float
that it only rounds to, text finds a date, and a number finds the interval around it: one person is
charged for another. Here names are the Python objects that they stand for, and a dict finds them.

What may be a name is a closed list: types of Python and pandas whose objects are equal exactly if
they stand for the same, and NumPy's, which are turned into these. All else is refused: nobody knows
how it compares, or whether it keeps all its digits.

Two names are one person if Python says that they are equal: 1, 1.0 and NumPy's 1 are one name, and
"1" is another. There are two exceptions. True is not 1, though Python says so, and a table in which
two names are equal to Python alone is refused. A time with a zone is the instant, in UTC: one name
in all zones, and two in the hour that comes twice in autumn, of which Python does not say so.
"""

import math
import sys
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from fractions import Fraction
from typing import Any, NoReturn
from uuid import UUID

import numpy as np
from numpy.typing import NDArray

__all__: list[str] = []  # for the package

#: types of names that are taken as they are. A type is looked up itself: what is derived from it
#: may compare in another way
PLAIN = {int, str, bytes, bool, Fraction, UUID, date, timedelta}
#: NumPy's types that are Python's with fewer digits. `longdouble` has more
EXACT = {np.dtype(code).type for code in "?bhilqpBHILQPefdUS"}
#: units of NumPy's times that pandas' have, too, and those of times alone
UNITS, CALENDAR = {"W", "D", "h", "m", "s", "ms", "us", "ns"}, {"Y", "M"}
#: types of names that are a boolean, or may have one in them
NESTED = {bool, tuple, frozenset}


class NameTable:
    """People by name, each of them once: `names` in their order, as Python objects.

    Parameters
    ----------
    names : list, array or index
    argument : str
        What the names came with, for errors.
    """

    def __init__(self, names: Any, argument: str):
        self.names = tuple(read_names(names, argument))
        self._places: dict[Any, int] = {}
        keys = _keys(self.names)
        for place, key in enumerate(keys):
            if self._places.setdefault(key, place) != place:
                self._refuse_two(self.names[place], argument)
        seen: dict[Any, Any] = {}
        for name in self.names if keys is not self.names else ():
            if name in seen:
                self._refuse_two(name, argument, f": {seen[name]!r} is equal to it for Python")
            seen[name] = name

    def _refuse_two(self, name: Any, argument: str, why: str = "") -> NoReturn:
        raise ValueError(f"{argument} must have one budget for each person; two for {name!r}{why}")

    def find(self, names: list[Any]) -> NDArray[np.intp]:
        """Return the place of each of these names, as `read_names` returns them; -1 for nobody."""
        return np.array([self._places.get(key, -1) for key in _keys(names)], dtype=np.intp)

    def find_all(
        self, names: list[Any], rule: str, needed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.intp]:
        """Return the place of each name, or raise unless everybody is here, and nobody twice.

        Whoever is not `needed` may be missing, at place -1, or named again. `rule` begins the
        error, which names one person.
        """
        places = self.find(names)
        who = np.arange(len(places)) if needed is None else np.flatnonzero(needed)
        if (missing := who[places[who] < 0]).size:
            raise ValueError(f"{rule}; it has no budget for {names[missing[0]]!r}")
        _, first = np.unique(places[who], return_index=True)
        if len(first) < len(who):
            again = np.delete(who, first)[0]
            raise ValueError(f"{rule}; the data name {names[again]!r} twice")
        return places


def read_names(values: Any, argument: str) -> list[Any]:
    """Return names as Python objects, in their order; what is missing or no name is refused."""
    names = python_objects(values, argument)
    for place, name in enumerate(names):
        if _is_missing(name):
            raise ValueError(f"{argument} must name everybody; {argument}[{place}] = {name!r}")
    return names


def python_objects(values: Any, argument: str) -> list[Any]:
    """Return the entries of a list, array, index or column as Python objects, the missing as None.

    What is on no list of types above is a TypeError, and a time out of range a ValueError.
    """
    listed = _listed(values, argument)
    if PLAIN.issuperset(map(type, listed)):
        return listed
    return [_python(name, argument) for name in listed]


def as_labels(users: Any) -> NDArray[Any]:
    """Return labels as an array that keeps what they are: where NumPy would round numbers, drop a
    zone or make text of numbers, as the objects that `python_objects` returns."""
    if isinstance(users, np.ndarray) and users.dtype.kind != "O":
        return users
    is_table = hasattr(users, "columns") or getattr(users, "ndim", 1) != 1
    if is_table or not hasattr(users, "__iter__"):
        return np.asarray(users)  # of a shape that is refused
    if hasattr(users, "dtype") or hasattr(users, "type"):  # one type for all
        column = np.asarray(users)
        if column.dtype.kind in "biuf":
            return column
    labels = python_objects(users, "users")
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects


def same_names(first: Any, second: Any) -> bool:
    """Return whether two pandas indexes name their rows alike; a gap is the same as a gap."""
    if first.is_(second):  # whatever it holds
        return True
    if first.dtype == second.dtype and first.dtype.kind != "O":
        return bool(first.equals(second))
    return same_lists(python_objects(first, "index"), python_objects(second, "index"))


def same_lists(some: list[Any], others: list[Any]) -> bool:
    """Return whether two lists of names, as `python_objects` returns them, are the same."""
    return len(some) == len(others) and list(_keys(some)) == list(_keys(others))


def _listed(values: Any, argument: str) -> list[Any]:
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{argument} must not be a masked array: its hidden entries would count")
    one_column = np.ndim(values) == 1 if hasattr(values, "ndim") else hasattr(values, "__iter__")
    if not one_column or isinstance(values, (str, bytes, bytearray, Set, Mapping)):
        raise TypeError(
            f"{argument} must be a list, array or index of names; got {type(values).__name__}"
        )
    if isinstance(values, np.ndarray) and values.dtype.kind in "mMV":
        return list(values)  # NumPy's own list would have whole numbers for times
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _python(name: Any, argument: str) -> Any:
    """A name as an object of Python's or pandas' own, None if it is missing."""
    if isinstance(name, np.generic):
        name = _of_numpy(name, argument)
    kind = type(name)
    if kind in PLAIN:
        return name
    if kind is float:
        return None if math.isnan(name) else name
    if kind is Decimal:
        return None if name.is_nan() else name
    if kind in (tuple, frozenset):
        return kind([_python(part, argument) for part in name])
    if kind is datetime or _is("Timestamp", kind) or _is("Timedelta", kind):
        return _in_range(name, argument)
    if _is("Period", kind):
        return name
    if _is("Interval", kind):
        ends = [_python(end, argument) for end in (name.left, name.right)]
        if not ends[0] <= ends[1]:  # for NumPy, whose numbers round where they are compared
            _refuse(name, argument)
        return kind(*ends, closed=name.closed)
    if name is None or _is("NaT", name) or _is("NA", name):
        return None
    _refuse(name, argument)


def _of_numpy(name: Any, argument: str) -> Any:
    """A scalar of NumPy's as Python's or pandas' own, if it loses nothing."""
    if type(name) in EXACT:
        return name.item()
    if not isinstance(name, (np.datetime64, np.timedelta64)):
        _refuse(name, argument)
    if np.isnat(name):
        return None
    is_time, (unit, times) = isinstance(name, np.datetime64), np.datetime_data(name.dtype)
    if unit not in (UNITS | CALENDAR if is_time else UNITS) or times != 1:
        _refuse(name, argument)
    try:
        import pandas

        return pandas.Timestamp(name) if is_time else pandas.Timedelta(name)
    except ImportError:  # only pandas' times are as fine as NumPy's
        _refuse(name, argument)
    except (ValueError, OverflowError):
        _refuse_range(name, argument)


def _in_range(name: Any, argument: str) -> Any:
    """A time, with a zone in UTC, or a span. Beyond the range of Python's own, pandas' may be equal
    and a dict does not find them."""
    try:
        if _is("Timedelta", type(name)):
            name.to_pytimedelta()
            return name
        if name.tzinfo is not None:
            if name.utcoffset() is None:  # Python takes it for a time without a zone
                _refuse(name, argument)
            name = name.astimezone(UTC)
        date(name.year, name.month, name.day)
    except (ValueError, OverflowError):
        _refuse_range(name, argument)
    return name


def _refuse(name: Any, argument: str) -> NoReturn:
    kind = type(name)
    raise TypeError(
        f"{argument} must be names that compare exactly: text, numbers, booleans, dates, times "
        "(no finer than nanoseconds), spans of time, periods, intervals, UUIDs, or tuples and "
        f"frozensets of these; got {name!r}, of type {kind.__module__}.{kind.__qualname__}. Pass "
        "text or a number that stands for it"
    )


def _refuse_range(name: Any, argument: str) -> NoReturn:
    raise ValueError(
        f"{argument} must be times of the years 1 to 9999, in UTC if they have a zone, and spans "
        f"that datetime.timedelta can hold; got {name!s}"
    )


def _is(word: str, value: Any) -> bool:
    """Whether this is pandas' object of that name; where pandas is not imported, nothing is."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and value is getattr(pandas, word)


def _is_missing(name: Any) -> bool:
    """Whether a name is none, or a group that holds none."""
    return name is None or (type(name) in (tuple, frozenset) and any(map(_is_missing, name)))


def _keys(names: Sequence[Any]) -> Sequence[Any]:
    """Names as they are looked up; most are looked up as they are."""
    return names if NESTED.isdisjoint(map(type, names)) else list(map(_key, names))


def _key(name: Any) -> Any:
    """What is equal, and has one hash, exactly for names of one person. No name holds a type."""
    kind = type(name)
    if kind is bool:
        return bool, name
    return kind(map(_key, name)) if kind in NESTED else name
