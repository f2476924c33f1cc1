"""Records and weights to try an answer on, and how exactly it has to be met."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.random import Generator

ROUNDING = 1e-9  # relative; larger than what a few hundred operations lose
SHORT = 1e-5  # relative; how far a maximizer may stay below a maximum


def random_weights(rng: Generator, n: int = 6) -> Any:
    return rng.dirichlet(np.ones(n))


def in_domain(record: Any, d: int) -> bool:
    """Whether a record is in the domain, up to the rounding of an optimizer."""
    x, y = np.asarray(record[0], dtype=float), np.asarray(record[1], dtype=float)
    if x.shape != (d,) or y.shape != ():
        return False
    return bool(np.all((x >= -1e-12) & (x <= 1 + 1e-12)) and abs(y) <= 1 + 1e-12)
