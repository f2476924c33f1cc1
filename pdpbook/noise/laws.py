"""What laws of vectors share: they are checked once, read-only, and asked about points."""

from __future__ import annotations

import math
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpbook.validation import check_count, check_finite, check_positive, check_single

Floats = NDArray[np.float64]


def keep(law: Any, **checked: Any) -> None:
    """Store what was checked on a frozen object, arrays read-only."""
    for name, value in checked.items():
        if isinstance(value, np.ndarray):
            value = value.copy()
            value.flags.writeable = False
        object.__setattr__(law, name, value)


def check_center(center: Any) -> Floats:
    """The center of a law, shape (d,)."""
    center = np.asarray(center)
    if center.ndim != 1 or center.size == 0:
        raise ValueError(f"center must have shape (d,), d at least 1; got shape {center.shape}")
    return np.asarray(center)


def check_points(points: Any, d: int, what: str = "") -> Floats:
    """Points of shape (..., d)."""
    found: Floats = np.asarray(check_finite(points, "points"))
    if found.ndim == 0 or found.shape[-1] != d:
        raise ValueError(f"points must have shape (..., {d}){what}; got shape {found.shape}")
    return found


def check_size(size: Any) -> tuple[int, ...]:
    """How many draws, as the axes in front of one: none for None."""
    entries = () if size is None else size if isinstance(size, tuple) else (size,)
    return tuple(check_count(entry, "size", minimum=0) for entry in entries)


def check_step(step: Any) -> Fraction:
    """The width of a grid, a power of two."""
    value = check_single(check_positive(step, "step"), "step")
    if math.frexp(value)[0] != 0.5:
        raise ValueError(f"step must be a power of two, such as 2**-20; got {value:g}")
    return Fraction(value)
