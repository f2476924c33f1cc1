"""Who is who: names of people, and of their rows, compared as Python objects.

pandas turns both sides into one type before it looks a name up. So a whole number finds a float
that it only rounds to, text finds a date, and a number finds the interval around it: one person is
charged for another. Here names are the Python objects that they stand for, and a dict finds them.

Two names are one person if Python says that they are equal: 1, 1.0 and NumPy's 1 are one name, and
"1" is another. There are two exceptions. True is not 1, though Python says so. Times with a zone
are one name if they are the same instant, also in the hour that comes twice in autumn, of which
Python does not say so. A table in which two names are equal to Python alone is refused.
"""

import sys
from collections.abc import Mapping, Sequence, Set
from datetime import UTC, datetime
from typing import Any, NoReturn

import numpy as np
from numpy.typing import NDArray

__all__: list[str] = []  # for the package

COMPLETE = {int, str, bytes, bool}  # types without a missing value
#: types of names that are not looked up as they are, and of those that may hold such
SPECIAL = (bool, datetime, tuple, frozenset)
BOOLEAN = object()  # which no name can hold


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
    """Return names as Python objects, in their order; what is missing or unhashable is refused."""
    names = python_objects(values, argument)
    for place, name in enumerate(names):
        if type(name) in COMPLETE:
            continue
        try:
            hash(name)
        except TypeError:
            raise TypeError(
                f"{argument} must be names that a dict can hold, such as text, numbers, dates and "
                f"tuples of them; got {name!r}"
            ) from None
        if _is_missing(name):
            raise ValueError(f"{argument} must name everybody; {argument}[{place}] = {name!r}")
    return names


def python_objects(values: Any, argument: str) -> list[Any]:
    """Return the entries of a list, array, index or column as Python objects."""
    if isinstance(values, np.ma.MaskedArray):
        raise TypeError(f"{argument} must not be a masked array: its hidden entries would count")
    one_column = np.ndim(values) == 1 if hasattr(values, "ndim") else hasattr(values, "__iter__")
    if not one_column or isinstance(values, (str, bytes, Set, Mapping)):
        raise TypeError(
            f"{argument} must be a list, array or index of names; got {type(values).__name__}"
        )
    if isinstance(values, np.ndarray) and values.dtype.kind in "mM":
        values = list(values)  # as a list of NumPy's they would be whole numbers
    listed = values.tolist() if hasattr(values, "tolist") else list(values)
    return [_plain(name) if isinstance(name, np.generic) else name for name in listed]


def same_names(first: Any, second: Any) -> bool:
    """Return whether two pandas indexes name their rows alike; a gap is the same as a gap."""
    if first.dtype == second.dtype and first.dtype != object:
        return bool(first.equals(second))
    return same_lists(python_objects(first, "index"), python_objects(second, "index"))


def same_lists(some: list[Any], others: list[Any]) -> bool:
    """Return whether two lists of names are the same, one by one."""
    return len(some) == len(others) and all(map(same_name, some, others))


def same_name(one: Any, other: Any) -> bool:
    """Return whether two names are one; what is missing is the same as what is missing."""
    if one is other:
        return True
    if _is_missing(one) or _is_missing(other):
        return _is_missing(one) and _is_missing(other)
    return bool(_key(one) == _key(other))


def _plain(name: Any) -> Any:
    """A name of NumPy's as Python's or pandas' own."""
    pandas = sys.modules.get("pandas")
    if pandas is not None and isinstance(name, np.datetime64):
        return pandas.Timestamp(name)
    if pandas is not None and isinstance(name, np.timedelta64):
        return pandas.Timedelta(name)
    return name if isinstance(name, (np.datetime64, np.timedelta64)) else name.item()


def _is_missing(name: Any) -> bool:
    """Whether a name is none: not equal to itself, as NaN is, or without an answer, as pandas' NA;
    or a group that holds such a name."""
    if isinstance(name, (tuple, frozenset)):
        return any(_is_missing(part) for part in name)
    try:
        return name is None or not bool(name == name)
    except (TypeError, ValueError):
        return True


def _keys(names: Sequence[Any]) -> Sequence[Any]:
    """Names as they are looked up; most are looked up as they are."""
    special = any(issubclass(kind, SPECIAL) for kind in set(map(type, names)))
    return list(map(_key, names)) if special else names


def _key(name: Any) -> Any:
    """What is equal, and has one hash, exactly for names of one person."""
    if isinstance(name, np.generic):  # within a tuple
        name = _plain(name)
    if isinstance(name, bool):
        return BOOLEAN, name
    if isinstance(name, datetime):
        return name if name.tzinfo is None else name.astimezone(UTC)
    if isinstance(name, tuple):
        return tuple(map(_key, name))
    if isinstance(name, frozenset):
        return frozenset(map(_key, name))
    return name
