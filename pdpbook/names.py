"""Names of people, and of the owners of rows, compared as Python objects.

pandas turns both sides into one type before it looks a name up. So a whole number finds a float
that rounds to the same number, text finds a date, and a number finds the interval around it: one
person is charged for another. Here names are turned into Python objects, and a dict finds them.

What may be a name is a closed list: types of Python and pandas whose objects are equal exactly if
they stand for the same thing, and types of NumPy, which are turned into these. All other types are
refused, since it is not known how they compare, or whether all of their digits count.

Two names are one person if Python says that they are equal: 1, 1.0 and NumPy's 1 are one name, and
"1" is another. There are two exceptions. True and 1 are two names, though Python says that they are
equal; a table with two names of which only Python says so is refused. A time with a zone is the
instant, in UTC: it is one name in all zones, and the hour that comes twice in autumn has two, which
Python would take for one.
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

#: types of names that are taken as they are; not types derived from them, which may compare in
#: another way
PLAIN = {int, str, bytes, bool, Fraction, UUID, date, timedelta}
#: types of NumPy that Python's hold exactly; `longdouble` has more digits
EXACT = {np.dtype(code).type for code in "?bhilqpBHILQPefdUS"}
#: units of NumPy's times and spans that pandas has, too
UNITS = {"W", "D", "h", "m", "s", "ms", "us", "ns"}
#: and those of times alone
CALENDAR = {"Y", "M"}
#: types of names that are a boolean, or may contain one
NESTED = {bool, tuple, frozenset}


class NameTable:
    """A table that finds the place of a name among different names.

    Its attribute `names` has them in their order, as Python objects.

    Parameters
    ----------
    names : list, array or index
    argument : str
        The argument that errors are about.
    """

    def __init__(self, names: Any, argument: str):
        self.names = tuple(read_names(names, argument))
        self._places: dict[Any, int] = {}
        keys = _keys(self.names)
        for place, key in enumerate(keys):
            if self._places.setdefault(key, place) != place:
                self._refuse_two(self.names[place], argument)
        if keys is self.names:  # no booleans: Python's equality is that of the keys
            return
        seen: dict[Any, Any] = {}
        for name in self.names:
            if name in seen:
                self._refuse_two(name, argument, f": {seen[name]!r} is equal to it for Python")
            seen[name] = name

    def _refuse_two(self, name: Any, argument: str, why: str = "") -> NoReturn:
        raise ValueError(f"{argument} must have one budget for each person; two for {name!r}{why}")

    def find(self, names: list[Any]) -> NDArray[np.intp]:
        """Return the places of names that `read_names` returned; -1 for one that is not here."""
        return np.array([self._places.get(key, -1) for key in _keys(names)], dtype=np.intp)

    def find_all(
        self, names: list[Any], rule: str, needed: NDArray[np.bool_] | None = None
    ) -> NDArray[np.intp]:
        """Return the place of each name, or raise if a name is not here, or comes twice.

        Names that are not `needed` may be missing, with place -1, or come again. `rule` begins the
        error, which names one person.
        """
        places = self.find(names)
        who = np.arange(len(places)) if needed is None else np.flatnonzero(needed)
        missing = who[places[who] < 0]
        if missing.size:
            raise ValueError(f"{rule}; it has no budget for {names[missing[0]]!r}")
        _, first_times = np.unique(places[who], return_index=True)
        if len(first_times) < len(who):
            again = np.delete(who, first_times)[0]
            raise ValueError(f"{rule}; the data name {names[again]!r} twice")
        return places


def read_names(values: Any, argument: str) -> list[Any]:
    """Return names as Python objects, in their order; raise if one is missing or is no name."""
    names = python_objects(values, argument)
    for place, name in enumerate(names):
        if _is_missing(name):
            raise ValueError(f"{argument} must name everybody; {argument}[{place}] = {name!r}")
    return names


def python_objects(values: Any, argument: str) -> list[Any]:
    """Return the entries of a list, array, index or column as Python objects, the missing as None.

    An entry of a type that is on no list above raises TypeError, a time out of range ValueError.
    """
    listed = _listed(values, argument)
    if PLAIN.issuperset(map(type, listed)):
        return listed
    return [_python(name, argument) for name in listed]


def as_labels(users: Any) -> NDArray[Any]:
    """Return labels of users as an array, in which none is changed.

    NumPy would round some numbers, drop the zones of times or turn numbers into text; such labels
    become an array of the objects that `python_objects` returns.
    """
    if isinstance(users, np.ndarray) and users.dtype.kind != "O":
        return users
    is_table = hasattr(users, "columns") or getattr(users, "ndim", 1) != 1
    if is_table or not hasattr(users, "__iter__"):
        return np.asarray(users)  # its shape will be refused
    has_one_type = hasattr(users, "dtype") or hasattr(users, "type")
    if has_one_type:
        column = np.asarray(users)
        if column.dtype.kind in "biuf":
            return column
    labels = python_objects(users, "users")
    objects = np.empty(len(labels), dtype=object)
    objects[:] = labels
    return objects


def same_names(first: Any, second: Any) -> bool:
    """Return whether two pandas indexes have the same names; a missing one equals a missing one."""
    if first.is_(second):  # the same object
        return True
    if first.dtype == second.dtype and first.dtype.kind != "O":
        return bool(first.equals(second))
    return same_lists(python_objects(first, "index"), python_objects(second, "index"))


def same_lists(some: list[Any], others: list[Any]) -> bool:
    """Return whether two lists of names, as `python_objects` returns them, are the same."""
    return len(some) == len(others) and list(_keys(some)) == list(_keys(others))


def _listed(values: Any, argument: str) -> list[Any]:
    """Return the entries of a list, array, index or column as a list, or raise TypeError."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{argument} must not be a masked array: its hidden entries would count")
    if hasattr(values, "ndim"):
        is_list = np.ndim(values) == 1
    else:
        is_list = hasattr(values, "__iter__")
    if not is_list or isinstance(values, (str, bytes, bytearray, Set, Mapping)):
        raise TypeError(
            f"{argument} must be a list, array or index of names; got {type(values).__name__}"
        )
    if isinstance(values, np.ndarray) and values.dtype.kind in "mMV":
        return list(values)  # `tolist` of NumPy would return whole numbers for some times
    return values.tolist() if hasattr(values, "tolist") else list(values)


def _python(name: Any, argument: str) -> Any:
    """Return a name as an object of a type of Python or pandas, None if it is missing."""
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
        return kind([_python(entry, argument) for entry in name])
    if kind is datetime or _is("Timestamp", kind) or _is("Timedelta", kind):
        return _in_range(name, argument)
    if _is("Period", kind):
        return name
    if _is("Interval", kind):
        lower_end = _python(name.left, argument)
        upper_end = _python(name.right, argument)
        if not lower_end <= upper_end:  # NumPy rounds where it compares, and may have let it pass
            _refuse(name, argument)
        return kind(lower_end, upper_end, closed=name.closed)
    if name is None or _is("NaT", name) or _is("NA", name):
        return None
    _refuse(name, argument)


def _of_numpy(name: Any, argument: str) -> Any:
    """Return a scalar of NumPy as an object of Python or pandas, or raise if that changes it."""
    if type(name) in EXACT:
        return name.item()
    if not isinstance(name, (np.datetime64, np.timedelta64)):
        _refuse(name, argument)
    if np.isnat(name):
        return None
    is_time = isinstance(name, np.datetime64)
    unit, units_per_step = np.datetime_data(name.dtype)
    allowed = UNITS | CALENDAR if is_time else UNITS
    if unit not in allowed or units_per_step != 1:
        _refuse(name, argument)
    try:
        import pandas

        return pandas.Timestamp(name) if is_time else pandas.Timedelta(name)
    except ImportError:  # Python has no times of nanoseconds
        _refuse(name, argument)
    except (ValueError, OverflowError):
        _refuse_range(name, argument)


def _in_range(name: Any, argument: str) -> Any:
    """Return a time, in UTC if it has a zone, or a span; raise if Python's range does not have it.

    Beyond that range two equal objects of pandas may have two hashes, so a dict does not find them.
    """
    try:
        if _is("Timedelta", type(name)):
            name.to_pytimedelta()  # raises beyond the range
            return name
        if name.tzinfo is not None:
            if name.utcoffset() is None:  # Python takes it for a time without a zone
                _refuse(name, argument)
            name = name.astimezone(UTC)
        date(name.year, name.month, name.day)  # raises beyond the range
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
    """Return whether `value` is the object of this name in pandas, if pandas was imported."""
    pandas = sys.modules.get("pandas")
    return pandas is not None and value is getattr(pandas, word)


def _is_missing(name: Any) -> bool:
    """Return whether a name is None, or a tuple or frozenset that contains None."""
    if type(name) in (tuple, frozenset):
        return any(_is_missing(entry) for entry in name)
    return name is None


def _keys(names: Sequence[Any]) -> Sequence[Any]:
    """Return the keys by which a dict finds names: the names themselves, if no booleans are in."""
    if NESTED.isdisjoint(map(type, names)):
        return names
    return [_key(name) for name in names]


def _key(name: Any) -> Any:
    """Return an object that is equal, with an equal hash, exactly for names of one person.

    A boolean becomes a pair with its type, so True is not 1. No name contains a type.
    """
    kind = type(name)
    if kind is bool:
        return bool, name
    if kind in NESTED:
        return kind(_key(entry) for entry in name)
    return name
