"""Input checks, one sentence an error: the argument, the rule, what came, and where.

Every privacy parameter passes here before data are touched. Conditions are written so that NaN
fails them, booleans are never numbers, and nothing is clipped unless the caller asks.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats

__all__ = [
    "bounds",
    "budgets",
    "choice",
    "count",
    "delta",
    "design",
    "epsilon",
    "finite",
    "inside",
    "nonnegative",
    "positive",
    "rng",
    "scale",
    "single",
    "weights",
]

LEAST, MOST = 1e-100, 1e100  # of what noise grows with, or falls: beyond, its square is no float


def positive(value: ArrayLike, name: str) -> Any:
    """Return `value` as a float, or an array of floats, finite and above 0."""
    return _numbers(value, name, lambda v: (v > 0) & (v < np.inf), "finite and above 0")


def nonnegative(value: ArrayLike, name: str) -> Any:
    """Return `value` as a float, or an array of floats, finite and at least 0."""
    return _numbers(value, name, lambda v: (v >= 0) & (v < np.inf), "finite and at least 0")


def finite(value: ArrayLike, name: str) -> Any:
    """Return `value` as a float, or an array of floats, without NaN and infinity."""
    return _numbers(value, name, np.isfinite, "finite")


def single(value: Any, name: str) -> float:
    """Return a number that a check above let through, refusing an array."""
    if np.ndim(value):
        raise ValueError(f"{name} must be a single number; got shape {np.shape(value)}")
    return float(value)


def scale(value: Any, name: str, *, zero: bool = False) -> float:
    """Return a single number that noise may be proportional to: from `LEAST` to `MOST`, or 0."""
    clean = single((nonnegative if zero else positive)(value, name), name)
    if not (LEAST <= clean <= MOST or (zero and clean == 0)):
        raise ValueError(
            f"{name} must lie in [{LEAST:g}, {MOST:g}], or the noise is no number; got {clean:g}"
        )
    return clean


def probability(value: ArrayLike, name: str) -> Any:
    """Return `value` as a float, or an array of floats, above 0 and below 1."""
    return _numbers(value, name, lambda v: (v > 0) & (v < 1), "above 0 and below 1")


def count(value: Any, name: str, *, minimum: int = 1) -> int:
    """Return `value` as an int of at least `minimum`; a float is not a count."""
    if isinstance(value, (bool, np.bool_)) or not isinstance(value, (int, np.integer)):
        raise TypeError(f"{name} must be a whole number; got {value!r}")
    if value < minimum:
        raise ValueError(f"{name} must be at least {minimum}; got {value}")
    return int(value)


def delta(value: ArrayLike, name: str = "delta", *, zero: bool = False) -> float:
    """Return a failure probability as a float in (0, 1), or in [0, 1) when `zero` is allowed."""
    rule = "at least 0 and below 1" if zero else "above 0 and below 1"
    clean = _numbers(value, name, lambda v: ((v >= 0) if zero else (v > 0)) & (v < 1), rule)
    return single(clean, name)


def epsilon(values: ArrayLike, n: int | None = None, name: str = "epsilon") -> Any:
    """Return budgets: a number above 0, or one a person, at least 0 and above 0 for somebody.

    With `n`, as a new array of shape (n,), one a row.
    """
    clean = each(values, n, name)
    if np.max(clean) < LEAST:
        raise ValueError(f"{name} must be at least {LEAST:g} for somebody; got {np.max(clean):g}")
    if np.max(clean) > MOST:
        raise ValueError(f"{name} must be at most {MOST:g}; got {np.max(clean):g}")
    return clean


def each(values: ArrayLike, n: int | None, name: str) -> Any:
    """Return a number above 0, or one a person, at least 0 and above 0 for somebody."""
    clean = some_epsilon(values, n, name)
    if np.ndim(clean) and not clean.max() > 0:
        raise ValueError(f"{name} must be above 0 for somebody; got 0 for all {len(clean)}")
    return clean


def some_epsilon(values: ArrayLike, n: int | None = None, name: str = "epsilon") -> Any:
    """Return budgets of some of the people, such as a block of them: all may be 0."""
    clean = _floats(values, name)
    rule = nonnegative if clean.ndim else positive
    shown = budgets(rule(clean, name), n, name)
    return shown if n is None else np.array(shown)


def budgets(values: Any, n: int | None, name: str, each: str = "row of X") -> Any:
    """Show every one of `n` people their value, in a view; a number serves everybody."""
    shape = np.shape(values)
    if n is None:
        if len(shape) > 1 or (len(shape) == 1 and shape[0] == 0):
            raise ValueError(
                f"{name} must be a number or a one-dimensional array; got shape {shape}"
            )
        return values
    if shape not in ((), (n,)):
        raise ValueError(
            f"{name} must be a number or have shape ({n},), one value for each {each}; "
            f"got shape {shape}"
        )
    return np.broadcast_to(values, (n,))


def choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}")
    return value


def number(value: Any, name: str) -> float:
    """Return a single number, finite and above 0."""
    return single(positive(value, name), name)


def flag(value: Any, name: str) -> None:
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r}")


def pairs(value: ArrayLike, name: str) -> None:
    """What can be refused of bounds before the number of columns is known."""
    bounds(value, name, np.shape(value)[0] if np.ndim(value) == 2 else None)


def rng(value: Any) -> np.random.Generator:
    """Return `value` if it is a numpy Generator: randomness is never implicit."""
    if not isinstance(value, np.random.Generator):
        raise TypeError(
            f"rng must be a numpy.random.Generator; got {value!r}. Pass numpy.random.default_rng()"
        )
    return value


def design(X: ArrayLike, y: ArrayLike) -> tuple[Floats, Floats]:
    """Return X of shape (n, d) and y of shape (n,), finite floats, n and d at least 1."""
    rows = np.asarray(_numbers(X, "X", np.isfinite, "finite"))
    labels = np.asarray(_numbers(y, "y", np.isfinite, "finite"))
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"X must have shape (n, d), n and d at least 1; got {rows.shape}")
    if labels.shape != (len(rows),):
        raise ValueError(
            f"y must have shape ({len(rows)},), one label for each row of X; got {labels.shape}"
        )
    return rows, labels


def matrix(
    value: ArrayLike, name: str, rows: int | str = "n", columns: int | str = "d", why: str = ""
) -> Floats:
    """Return finite floats with two axes; a letter stands for any length of at least 1."""
    clean, asked = np.asarray(finite(value, name)), (rows, columns)
    pairs = zip(asked, clean.shape, strict=False)
    if clean.ndim != 2 or not all(have == k if isinstance(k, int) else have for k, have in pairs):
        letters = " and ".join(k for k in asked if isinstance(k, str))
        why = why or (letters and f", {letters} at least 1")
        raise ValueError(f"{name} must have shape ({rows}, {columns}){why}; got {clean.shape}")
    return clean


def shaped(value: ArrayLike, name: str, shape: tuple[int, ...], why: str = "") -> Floats:
    """Return finite floats of exactly this shape; `why` is a part of the error."""
    clean = np.asarray(finite(value, name))
    if clean.shape != shape:
        raise ValueError(f"{name} must have shape {shape}{why}; got shape {clean.shape}")
    return clean


def together(names: str, *values: Any) -> list[Floats]:
    """Return what checks above let through as arrays of floats of one shape."""
    try:
        return [np.asarray(array, dtype=float) for array in np.broadcast_arrays(*values)]
    except ValueError:
        shapes = ", ".join(str(np.shape(value)) for value in values)
        raise ValueError(f"{names} must broadcast to one shape; got {shapes}") from None


def weights(values: ArrayLike | None, n: int) -> Floats:
    """Return `n` weights, at least 0 with a positive sum; None is 1/n each."""
    if values is None:
        return np.full(n, 1 / n)
    clean = nonnegative(values, "weights")
    if np.shape(clean) != (n,):
        raise ValueError(
            f"weights must have shape ({n},), one for each row of X; got {np.shape(clean)}"
        )
    if not clean.sum() > 0:
        raise ValueError("weights must not all be 0")
    return np.asarray(clean)


def bounds(value: ArrayLike, name: str, d: int | None = None) -> tuple[Any, Any]:
    """Return (low, high), finite with low < high: floats, or arrays of shape (d,) with `d`.

    `value` is one pair for everything or, with `d`, a pair for each of d columns.
    """
    if isinstance(value, tuple) and [type(edge) for edge in value] == [float, float]:
        low, high = value
        if LEAST <= high - low <= MOST:  # a shortcut: every fit asks six times
            return (low, high) if d is None else (np.full(d, low), np.full(d, high))
    clean = np.asarray(_numbers(value, name, np.isfinite, "finite"))
    allowed = ((2,),) if d is None else ((2,), (d, 2))
    if clean.shape not in allowed:
        one_each = "" if d is None else f", or shape ({d}, 2), one pair for each column"
        raise ValueError(f"{name} must be a pair (low, high){one_each}; got shape {clean.shape}")
    low, high = clean[..., 0], clean[..., 1]
    if not (low < high).all():
        where = "" if clean.ndim == 1 else f" in column {int(np.flatnonzero(~(low < high))[0])}"
        pair = clean if clean.ndim == 1 else clean[~(low < high)][0]
        raise ValueError(f"{name} must have low < high; got ({pair[0]:g}, {pair[1]:g}){where}")
    with np.errstate(over="ignore"):
        width = high - low
    if not (np.min(width) >= LEAST and np.max(width) <= MOST):
        raise ValueError(
            f"{name} must have a finite width, from {LEAST:g} to {MOST:g}; "
            f"got ({np.min(low):g}, {np.max(high):g})"
        )
    if d is None:
        return float(low), float(high)
    return np.full(d, low), np.full(d, high)


def inside(
    values: Floats, low: Any, high: Any, name: str, bounds_name: str, *, clip: bool
) -> Floats:
    """Return `values` if they lie in [low, high]; outside they raise, or are clipped on request."""
    if lies_inside(values, low, high):
        return values
    if clip:
        values = np.clip(values, low, high)
    outside = ~((values >= low) & (values <= high))
    if outside.any():  # after clipping, a NaN
        at = tuple(int(k) for k in np.argwhere(outside)[0])
        a, b = (np.broadcast_to(edge, values.shape)[at] for edge in (low, high))
        way_out = "" if clip else f". Widen the public {bounds_name}, or pass clip=True"
        raise ValueError(
            f"{name} must lie in [{a:g}, {b:g}]; got {_entry(name, at)} = {values[at]:g} "
            f"({int(outside.sum())} of {values.size} are outside){way_out}"
        )
    return values


def lies_inside(values: Floats, low: Any, high: Any) -> bool:
    """Whether all values lie in all of the intervals: two fast passes, which NaN fails."""
    return bool(values.size and values.min() >= np.max(low) and values.max() <= np.min(high))


def is_plain(value: Any) -> bool:
    """Whether `value` is a NumPy array of floats, and nothing has to be converted."""
    return type(value) is np.ndarray and value.dtype == np.float64


def refuse_masked(value: Any, name: str) -> None:
    """Refuse an array with hidden entries: NumPy would hand them on like all others."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(
            f"{name} must not be a masked array: its hidden entries would be used; leave them out"
        )


def _numbers(value: Any, name: str, holds: Callable[[Any], Any], rule: str) -> Any:
    """Convert to floats and test every entry: the one place where numbers are let in.

    An array of floats comes back as it is: whoever keeps it or writes to it makes a copy. Every
    rule is an interval, so the smallest and the largest entry, which a NaN is both, stand for all.
    """
    if isinstance(value, float) and holds(value):
        return float(value)
    clean = _floats(value, name)
    if clean.size and not (holds(clean.min()) and holds(clean.max())):
        if clean.ndim == 0:
            raise ValueError(f"{name} must be {rule}; got {clean:g}")
        wrong = ~np.asarray(holds(clean), dtype=bool)
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise ValueError(
            f"{name} must be {rule}; got {_entry(name, at)} = {clean[at]:g} "
            f"({int(wrong.sum())} of {clean.size} are wrong)"
        )
    return float(clean) if clean.ndim == 0 else clean


def _floats(value: Any, name: str) -> Floats:
    """An array of floats from numbers of any real type, booleans refused."""
    if is_plain(value):
        return np.asarray(value)
    refuse_masked(value, name)
    if hasattr(value, "dask"):
        raise TypeError(
            f"{name} must be in memory here, a NumPy array; got a Dask array, all of which would "
            "be loaded. What takes blocks is listed in pdpbook.blocks"
        )
    try:
        raw = np.asarray(value)
        entries = () if isinstance(value, np.ndarray) else np.asarray(value, object).ravel()
        if raw.dtype.kind not in "iuf" or any(isinstance(v, (bool, np.bool_)) for v in entries):
            raise TypeError
        return raw.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be a number or an array of numbers; got {_described(value)}"
        ) from None


def _described(value: Any) -> str:
    """One value as it is; of many, which may be those of people, what they are and how many."""
    many = hasattr(value, "__len__") and not isinstance(value, (str, bytes))
    if not many or getattr(value, "ndim", 1) == 0:
        return repr(value)
    dtype = f" of dtype {value.dtype}" if hasattr(value, "dtype") else ""
    return f"{type(value).__name__} of length {len(value)}{dtype}"


def _entry(name: str, at: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, at))}]"
