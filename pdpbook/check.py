"""Input checks, one sentence an error: the argument, the rule, what came, and where.

Every privacy parameter is checked here before data are touched. Conditions are written so that NaN
fails them, booleans are never numbers, and nothing is clipped unless the caller asks.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats
from pdpbook.names import same_names

ULP = float(np.finfo(float).eps)
# Bounds of what noise is proportional to, or inversely so: beyond, its square is no float.
LEAST, MOST = 1e-100, 1e100
# Bounds of noise rates: beyond, the square of a length of the noise is no float.
RATES = (1e-150, 1e150)


def positive(value: ArrayLike, name: str) -> Any:
    """Return `value` as a float, or an array of floats, finite and above 0."""
    return _numbers(value, name, lambda v: (v > 0) & (v < np.inf), "finite and above 0")


def nonnegative(value: ArrayLike, name: str) -> Any:
    """Return `value` as a float, or an array of floats, finite and at least 0."""
    return _numbers(value, name, lambda v: (v >= 0) & (v < np.inf), "finite and at least 0")


def extended(value: ArrayLike, name: str) -> Any:
    """Return `value` as a float, or an array of floats, at least 0; infinity is one of them."""
    return _numbers(value, name, lambda v: v >= 0, "at least 0")


def finite(value: ArrayLike, name: str) -> Any:
    """Return `value` as a float, or an array of floats, without NaN and infinity."""
    return _numbers(value, name, np.isfinite, "finite")


def real(value: ArrayLike, name: str) -> Any:
    """Return `value` as a float, or an array of floats; NaN and infinity may be among them."""
    return _numbers(value, name, np.isreal, "a number")


def single(value: Any, name: str) -> float:
    """Return a checked value as a float, or raise if it is an array."""
    if np.ndim(value):
        raise ValueError(f"{name} must be a single number; got shape {np.shape(value)}")
    return float(value)


def number(value: Any, name: str) -> float:
    """Return a single number, finite and above 0."""
    return single(positive(value, name), name)


def scale(value: Any, name: str, *, zero: bool = False) -> float:
    """Return a single number that noise may be proportional to: from `LEAST` to `MOST`.

    With `zero`, 0 is allowed, too.
    """
    rule = nonnegative if zero else positive
    clean = single(rule(value, name), name)
    if not (LEAST <= clean <= MOST or (zero and clean == 0)):
        raise ValueError(
            f"{name} must lie in [{LEAST:g}, {MOST:g}], or the noise cannot be computed; got "
            f"{shown(clean)}"
        )
    return clean


def penalty(value: Any, name: str = "lam") -> float:
    """Return the penalty of a fit that is to be perturbed: a single number above 0."""
    try:
        return scale(value, name)
    except ValueError as error:
        if np.ndim(value) or not value <= 0:
            raise
        raise ValueError(
            f"{error}. Output perturbation without regularization has no guarantee: "
            "one person could move the fit without limit"
        ) from None


def refuse_lost_penalty(lam: float, n: int, d: int, row_norm: float | None) -> None:
    """Refuse a penalty so small that rounding may lose it, judged from public numbers alone.

    The matrix of the weighted rows, of norm at most R and weights that sum to 1, above sqrt(lam) I
    has its singular values in [sqrt(lam), sqrt(R^2 + lam)]. While the smallest is above the
    rounding error of the largest, the solver of `ridge` finds them all.
    """
    longest = radius(d, row_norm)
    least = (6 * (n + d) * np.finfo(float).eps * longest) ** 2
    if not lam > least:
        raise ValueError(
            f"lam must be above {least:.3g} with {n} people, {d} columns and rows of norm up to "
            f"{longest:.3g}, or rounding may lose it; got {shown(lam)}"
        )


def radius(d: int, row_norm: float | None) -> float:
    """Return the bound on the norm of a row: the square root of d, or a smaller `row_norm`."""
    diagonal = math.sqrt(count(d, "d"))
    return diagonal if row_norm is None else min(diagonal, scale(row_norm, "row_norm"))


def rate(value: Any) -> float:
    """Return the rate eta of noise, a single number within `RATES`."""
    clean = number(value, "eta")
    low, high = RATES
    if not low <= clean <= high:
        raise ValueError(
            f"eta must lie in [{low:g}, {high:g}], or the noise cannot be computed; got "
            f"{shown(clean)}, which follows from epsilon, lam and the domain"
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
    if not zero:
        return single(probability(value, name), name)
    clean = _numbers(value, name, lambda v: (v >= 0) & (v < 1), "at least 0 and below 1")
    return single(clean, name)


def epsilon(values: ArrayLike, n: int | None = None, name: str = "epsilon") -> Any:
    """Return budgets: a number above 0, or one a person, at least 0 and above 0 for somebody.

    The largest must lie in [`LEAST`, `MOST`]. With `n`, a new array of shape (n,) is returned.
    """
    clean = privacy_parameters(values, n, name)
    largest = np.max(clean)
    if not LEAST <= largest <= MOST:
        edge = f"least {LEAST:g} for somebody" if largest < LEAST else f"most {MOST:g}"
        raise ValueError(f"{name} must be at {edge}; got {shown(largest)}")
    return clean


def privacy_parameters(values: ArrayLike, n: int | None, name: str) -> Any:
    """Return a number above 0, or one a person, at least 0 and above 0 for somebody.

    With `n`, a new array of shape (n,) is returned.
    """
    clean = some_epsilon(values, n, name)
    if np.ndim(clean) and not clean.max() > 0:
        raise ValueError(f"{name} must be above 0 for somebody; got 0 for all {len(clean)}")
    return clean


def some_epsilon(values: ArrayLike, n: int | None = None, name: str = "epsilon") -> Any:
    """Return budgets of a block of the people: a number above 0, or one a person; all may be 0.

    With `n`, a new array of shape (n,) is returned.
    """
    clean = _floats(values, name)
    rule = nonnegative if np.ndim(clean) else positive
    checked = budgets(rule(clean, name), n, name)
    return checked if n is None else np.array(checked)


def budgets(values: Any, n: int | None, name: str, unit: str = "row of X") -> Any:
    """Return one value for each of `n` people, as a view: a number is repeated.

    Without `n`, the values are returned as they are, a number or of shape (n,). In an error, `unit`
    says what has a value.
    """
    shape = np.shape(values)
    if n is None:
        if len(shape) > 1 or shape == (0,):
            raise ValueError(
                f"{name} must be a number or a one-dimensional array; got shape {shape}"
            )
        return values
    if shape not in ((), (n,)):
        raise ValueError(
            f"{name} must be a number or have shape ({n},), one value for each {unit}; "
            f"got shape {shape}"
        )
    return np.broadcast_to(values, (n,))


def shape(value: Any, name: str, wanted: tuple[int, ...], what: str) -> Floats:
    """Return an array of the shape `wanted`; in an error, `what` says which numbers it holds."""
    if np.shape(value) != wanted:
        raise ValueError(f"{name} must have shape {wanted}, {what}; got {np.shape(value)}")
    return np.asarray(value)


def vector(value: Any, name: str, k: str) -> Floats:
    """Return an array of shape (k,), k at least 1."""
    array = np.asarray(value)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must have shape ({k},), {k} at least 1; got shape {array.shape}")
    return array


def choice(value: Any, name: str, choices: Sequence[str]) -> str:
    """Return `value` if it is one of `choices`."""
    if not isinstance(value, str) or value not in choices:
        listed = ", ".join(repr(choice) for choice in choices)
        raise ValueError(f"{name} must be one of {listed}; got {value!r}")
    return value


def classes(value: Any, name: str) -> tuple[Any, Any]:
    """Return two different labels of one kind, numbers, words or booleans, the smaller first."""
    refuse_hidden(value, name)
    if isinstance(value, str) or np.shape(value) != (2,):
        raise ValueError(
            f"{name} must name both classes in public, such as (0, 1): they are never read from "
            f"the data; got {value!r}"
        )
    pair = np.asarray(value).tolist()
    kinds = {bool if isinstance(one, (bool, np.bool_)) else type(one) for one in value}
    numbers = all(np.issubdtype(kind, np.number) for kind in kinds)
    words = all(issubclass(kind, str) for kind in kinds)
    if not (numbers or words or kinds == {bool}):
        raise TypeError(f"{name} must be two numbers, two words or two booleans; got {value!r}")
    low, high = sorted(pair)
    if not low < high or (numbers and not np.isfinite(pair).all()):
        raise ValueError(f"{name} must be two different, finite labels; got {value!r}")
    return low, high


def settings(estimator: Any, **checks: Callable[[Any, str], Any]) -> None:
    """Check settings of an estimator, each by a function of its value and name that may raise.

    An estimator computes with its settings as they are. With a number of fewer than 64 bits NumPy
    would do so in that precision, and a promise be broken by rounding: such numbers are refused.
    """
    for name, check_value in checks.items():
        value = getattr(estimator, name)
        if isinstance(value, np.number) and value.dtype.itemsize < 8:
            raise TypeError(
                f"{name} must be a number of 64 bits, such as {value.item()!r}; got "
                f"{type(value).__name__}, with which everything would be computed in its precision"
            )
        check_value(value, name)


def optional(rule: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Return a check for `settings` that accepts None, and else does what `rule` does."""
    return lambda value, name: None if value is None else rule(value, name)


def one_of(*choices: str) -> Callable[[Any, str], Any]:
    """Return a check for `settings` that accepts one of these words."""
    return lambda value, name: choice(value, name, choices)


def one_number(rule: Callable[[Any, str], Any]) -> Callable[[Any, str], Any]:
    """Return a check for `settings` that does what `rule` does, and refuses arrays."""
    return lambda value, name: single(rule(value, name), name)


def limit_on_rows(value: Any, name: str) -> None:
    """Raise unless `value` is a limit on the rows of a user: "best", "max" or a whole number."""
    if isinstance(value, str):
        choice(value, name, ("best", "max"))
    else:
        count(value, name)


def flag(value: Any, name: str) -> None:
    """Raise unless `value` is True or False."""
    if not isinstance(value, (bool, np.bool_)):
        raise TypeError(f"{name} must be True or False; got {value!r}")


def pairs(value: ArrayLike, name: str) -> None:
    """Raise unless `value` can be bounds, before the number of columns is known."""
    columns = np.shape(value)[0] if np.ndim(value) == 2 else None
    bounds(value, name, columns)


def rng(value: Any) -> np.random.Generator:
    """Return `value` if it is a numpy Generator: randomness is never implicit."""
    if not isinstance(value, np.random.Generator):
        raise TypeError(f"rng must be a numpy.random.Generator; got {value!r}. Pass default_rng()")
    return value


def design(
    X: ArrayLike, y: ArrayLike, *, clip: bool = False, **others: Any
) -> tuple[Floats, Floats]:
    """Return X, shape (n, d), and y, shape (n,), n and d at least 1, all of one index.

    Numbers are finite; with `clip`, which gives each its place in the bounds, they need not be.
    """
    for name, values in {"y": y, **others}.items():
        refuse_other_index(values, name, X=X, y=y)
    read = real if clip else finite
    rows, labels = np.asarray(read(X, "X")), np.asarray(read(y, "y"))
    if rows.ndim != 2 or rows.size == 0:
        raise ValueError(f"X must have shape (n, d), n and d at least 1; got {rows.shape}")
    return rows, shape(labels, "y", rows.shape[:1], "one label for each row of X")


def matrix(
    value: ArrayLike,
    name: str,
    rows: int | str = "n",
    columns: int | str = "d",
    why: str = "",
    *,
    clip: bool = False,
) -> Floats:
    """Return floats with two axes: finite, or with `clip`, which gives each its place, any.

    `rows` and `columns` are the lengths of the axes; a letter stands for any length of at least 1.
    In an error, `why` follows the shape.
    """
    read = real if clip else finite
    clean = np.asarray(read(value, name))
    fits = clean.ndim == 2
    if fits:
        for wanted, length in ((rows, clean.shape[0]), (columns, clean.shape[1])):
            fits = fits and (length == wanted if isinstance(wanted, int) else length > 0)
    if not fits:
        letters = " and ".join(k for k in (rows, columns) if isinstance(k, str))
        if letters and not why:
            why = f", {letters} at least 1"
        raise ValueError(f"{name} must have shape ({rows}, {columns}){why}; got {clean.shape}")
    return clean


def together(names: str, *values: Any) -> list[Floats]:
    """Return checked values as arrays of floats, broadcast to one shape."""
    try:
        return [np.asarray(array, dtype=float) for array in np.broadcast_arrays(*values)]
    except ValueError:
        shapes = ", ".join(str(np.shape(value)) for value in values)
        raise ValueError(f"{names} must broadcast to one shape; got {shapes}") from None


def weights(values: ArrayLike | None, n: int) -> Floats:
    """Return `n` weights, at least 0 with a positive sum; None stands for weights of 1/n."""
    if values is None:
        return np.full(n, 1 / n)
    clean = shape(nonnegative(values, "weights"), "weights", (n,), "one for each row of X")
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
            if d is None:
                return low, high
            return np.full(d, low), np.full(d, high)
    clean = np.asarray(_numbers(value, name, np.isfinite, "finite"))
    allowed = ((2,),) if d is None else ((2,), (d, 2))
    if clean.shape not in allowed:
        or_pairs = "" if d is None else f", or shape ({d}, 2), one pair for each column"
        raise ValueError(f"{name} must be a pair (low, high){or_pairs}; got shape {clean.shape}")
    low = clean[..., 0]
    high = clean[..., 1]
    if not (low < high).all():
        pair, where = clean, ""
        if clean.ndim == 2:
            column = int(np.flatnonzero(~(low < high))[0])
            pair, where = clean[column], f" in column {column}"
        raise ValueError(
            f"{name} must have low < high; got ({shown(pair[0])}, {shown(pair[1])}){where}"
        )
    with np.errstate(over="ignore"):
        width = high - low
    if not (np.min(width) >= LEAST and np.max(width) <= MOST):
        raise ValueError(
            f"{name} must have a finite width, from {LEAST:g} to {MOST:g}; "
            f"got ({shown(np.min(low))}, {shown(np.max(high))})"
        )
    if d is None:
        return float(low), float(high)
    return np.full(d, low), np.full(d, high)


def inside(values: Floats, low: Any, high: Any, name: str, interval: str, *, clip: bool) -> Floats:
    """Return `values` if all lie in [low, high]; else raise, or with `clip` return them clipped.

    Then no value raises: the middle of the interval stands for NaN, which is on no side of it.
    """
    flag(clip, "clip")
    if clip:
        is_nan = np.isnan(values)
        if is_nan.any():
            values = np.where(is_nan, np.asarray(low) / 2 + np.asarray(high) / 2, values)
        return np.asarray(np.clip(values, low, high))
    outside = ~((values >= low) & (values <= high))
    if outside.any():
        at = tuple(int(k) for k in np.argwhere(outside)[0])
        low_there = np.broadcast_to(low, values.shape)[at]
        high_there = np.broadcast_to(high, values.shape)[at]
        way_out = way_into(values[at], low_there, high_there, interval)
        raise ValueError(
            f"{name} must lie in [{shown(low_there)}, {shown(high_there)}]; got "
            f"{_entry(name, at)} = {shown(values[at])} "
            f"({int(outside.sum())} of {values.size} are outside). {way_out}"
        )
    return values


def way_into(value: float, low: float, high: float, interval: str) -> str:
    """Return the advice of an error about a value outside of [low, high].

    The value may be the bound, rounded to float32: then the advice says so.
    """
    edge = float(high if value > high else low)
    with np.errstate(over="ignore"):
        rounded = np.float32(edge)
        is_rounding = np.isfinite(rounded) and abs(value - edge) <= np.spacing(abs(rounded))
    if not is_rounding:
        return f"Widen the public {interval}, or pass clip=True"
    is_inside_rounded = value <= rounded if value > edge else value >= rounded
    or_bound = ""
    if is_inside_rounded:
        or_bound = f", or the bound as the data have it, np.float32({edge!r})"
    return f"That is the bound but for rounding, as of float32: pass clip=True{or_bound}"


def shown(value: Any) -> str:
    """Return a number as text: in six digits if it has no more, else in full.

    So what an error says of a number is true of the number that one reads.
    """
    number = float(value)
    six_digits = f"{number:g}"
    return six_digits if float(six_digits) == number else repr(number)


def is_plain(value: Any) -> bool:
    """Return whether `value` is a NumPy array of floats, which needs no conversion."""
    return type(value) is np.ndarray and value.dtype == np.float64


def refuse_hidden(value: Any, name: str) -> None:
    """Raise for a masked array, whose hidden entries would count, and for anything of Dask, all of
    which NumPy would load."""
    if isinstance(value, np.ma.MaskedArray):
        raise TypeError(f"{name} must not be a masked array: its hidden entries would count")
    if type(value).__module__.partition(".")[0] == "dask":
        raise TypeError(
            f"{name} must be in memory; got {type(value).__name__} of Dask, all of which would be "
            "loaded. Where sums are enough, as for PDPRidge, sufficient statistics, means, AdaSSP "
            "and posterior samples, those of blocks add up: fit takes `Sums` in place of X and y"
        )


def refuse_other_index(values: Any, name: str, **rows: Any) -> None:
    """Raise if `values`, of pandas, have another index than the rows that they belong to.

    `rows` are arguments with one row for each of the values, by their names; those without an index
    are skipped.
    """
    index = index_of(values)
    if index is None:
        return
    for other, like in rows.items():
        other_index = index_of(like)
        if other_index is None or len(index) != len(other_index):
            continue
        if not same_names(index, other_index):
            raise ValueError(
                f"{name} must have the index of {other}, row by row: it is read by position, and "
                f"its index names the rows in another way. Pass {name}.loc[{other}.index] to go by "
                f"the index, {name}.to_numpy() to go by position"
            )


def refuse_index(values: Any, name: str, why: str) -> None:
    """Raise for a Series or a frame where only the order of rows counts; `why` says why."""
    if index_of(values) is not None:
        raise TypeError(
            f"{name} must be an array: {why}; got a {type(values).__name__}. Pass "
            f"{name}.to_numpy() to go by position"
        )


def index_of(values: Any) -> Any:
    """Return the index of a Series or a frame of pandas, or None of anything else."""
    pandas = sys.modules.get("pandas")  # where it was not imported, nothing is of pandas
    if pandas is not None and isinstance(values, pandas.Series | pandas.DataFrame):
        return values.index
    return None


def _numbers(value: Any, name: str, holds: Callable[[Any], Any], rule: str) -> Any:
    """Return numbers as floats, or raise if one of them breaks a rule: all numbers pass here.

    `holds` tests the rule, which is an interval. So it is enough to test the smallest and the
    largest entry; if there is a NaN, it is both. An array of floats is returned itself, not a copy.
    """
    if isinstance(value, float) and holds(value):
        return float(value)
    clean = _floats(value, name)
    if clean.size and not (holds(clean.min()) and holds(clean.max())):
        if clean.ndim == 0:
            raise ValueError(f"{name} must be {rule}; got {shown(clean)}")
        wrong = ~np.asarray(holds(clean), dtype=bool)
        at = tuple(int(k) for k in np.argwhere(wrong)[0])
        raise ValueError(
            f"{name} must be {rule}; got {_entry(name, at)} = {shown(clean[at])} "
            f"({int(wrong.sum())} of {clean.size} are wrong)"
        )
    return float(clean) if clean.ndim == 0 else clean


def _floats(value: Any, name: str) -> Floats:
    """Return an array of floats, from numbers of any real type; booleans are refused."""
    if is_plain(value):
        return np.asarray(value)
    refuse_hidden(value, name)
    try:
        raw = np.asarray(value)
        # NumPy turns booleans in a list of numbers into numbers: look at the entries themselves.
        entries = () if isinstance(value, np.ndarray) else np.asarray(value, object).ravel()
        has_booleans = any(isinstance(entry, (bool, np.bool_)) for entry in entries)
        if raw.dtype.kind not in "iuf" or has_booleans:
            raise TypeError
        return raw.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise TypeError(
            f"{name} must be a number or an array of numbers; got {_described(value)}"
        ) from None


def _described(value: Any) -> str:
    """Return one value as text; of many, which may be those of people, only type and length."""
    has_length = hasattr(value, "__len__") and not isinstance(value, (str, bytes))
    if not has_length or getattr(value, "ndim", 1) == 0:
        return repr(value)
    dtype = f" of dtype {value.dtype}" if hasattr(value, "dtype") else ""
    return f"{type(value).__name__} of length {len(value)}{dtype}"


def _entry(name: str, at: tuple[int, ...]) -> str:
    return f"{name}[{', '.join(map(str, at))}]"
