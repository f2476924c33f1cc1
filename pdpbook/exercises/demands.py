"""What visible properties draw, which can be little, and what several of them demand."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

Demands = Iterator[bool]
ROUNDING = 1e-6  #: relative: numbers may come in float32, which rounds each of them by 6e-8
LEAST, MOST = np.finfo(float).tiny, np.finfo(float).max  #: the least and the largest number above 0


class Unmet(AssertionError):
    """Demands are not met; in a notebook the message is all that is shown."""

    def _render_traceback_(self) -> list[str]:
        return str(self).split("\n")


class Draws(np.random.Generator):
    """A generator that can be made to draw little: at most `most` of a kind, and in tenths."""

    def __init__(self, seed: list[int], most: int = 0):
        super().__init__(np.random.PCG64(seed))
        self.most = most

    def few(self, n: int) -> int:
        """So many people, or dimensions, unless fewer are wanted."""
        return min(n, self.most or n)

    def fresh(self) -> np.random.Generator:
        """A generator to hand on, of a seed that can be written down."""
        return np.random.default_rng(int(self.integers(1000)))

    def uniform(self, low: Any = 0.0, high: Any = 1.0, size: Any = None) -> Any:
        return self._tenths(super().uniform(low, high, size))

    def normal(self, loc: Any = 0.0, scale: Any = 1.0, size: Any = None) -> Any:
        return self._tenths(super().normal(loc, scale, size))

    def dirichlet(self, alpha: Any, size: Any = None) -> Any:
        found, total = super().dirichlet(alpha, size), 10 if len(alpha) < 6 else 100
        return (1 + self.multinomial(total - len(alpha), found)) / total if self.most else found

    def _tenths(self, found: Any) -> Any:
        return np.ceil(10 * found) / 10 + 0.0 if self.most else found


def each(found: Any, shape: tuple[int, ...], low: float = -MOST, high: float = MOST) -> bool:
    """Whether there are numbers of a shape, all of them from `low` to `high`."""
    found = shaped(found, shape).astype(float)
    return bool(np.all((low <= found) & (found <= high)))


def in_double(found: Any) -> Any:
    """What an answer gave, in double precision: a property that computes with it loses no digit."""
    if isinstance(found, tuple | list):
        if {type(part) for part in found} <= {float, np.float32}:  # long lists, at once
            return np.asarray(found, dtype=float).tolist()
        return [in_double(part) for part in found]
    narrow = hasattr(found, "astype") and np.asarray(found).dtype == np.float32
    return found.astype(float) if narrow else found


def shaped(found: Any, shape: tuple[int, ...]) -> Any:
    """An array, of this shape."""
    if np.shape(found) != shape:
        got, wanted = (f"shape {one}" * bool(one) for one in (np.shape(found), shape))
        raise Unmet(f"it gave {got or 'no array'}, not {wanted or 'one number'}")
    return np.asarray(found)


def truths(found: Any, n: int) -> bool:
    """Whether there are so many truth values."""
    return bool(shaped(found, (n,)).dtype == bool)


def repeats(draw: Callable[[np.random.Generator], Any], rng: np.random.Generator) -> Demands:
    """Whether the same state of a generator gives the same, and the next call gives another."""
    state = int(rng.integers(1000))
    one, two, own, new = (np.random.default_rng(state) for _ in range(4))
    yield np.array_equal(draw(one), draw(two))
    alike = np.allclose(draw(own), draw(own))
    if alike and own.bit_generator.state == new.bit_generator.state:
        raise Unmet("nothing was drawn from rng")
    yield not alike


def rises(numbers: Callable[[Any], Any], places: Iterable[Any]) -> Demands:
    """Whether there is a number above 0 at each place, and a larger one at the next."""
    for pair in itertools.pairwise(places):
        low, high = (numbers(place) for place in pair)
        yield bool(0 < shaped(low, ()) < shaped(high, ()))
