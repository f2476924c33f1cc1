"""What visible properties draw, which can be little, and what several of them demand."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

Demands = Iterator[bool]
LEAST, MOST = np.finfo(float).tiny, np.finfo(float).max  #: the least and the largest number above 0


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
    found = np.asarray(found, dtype=float)
    return found.shape == shape and bool(np.all((low <= found) & (found <= high)))


def truths(found: Any, n: int) -> bool:
    """Whether there are so many truth values."""
    return np.shape(found) == (n,) and np.asarray(found).dtype == bool


def repeats(draw: Callable[[np.random.Generator], Any], rng: np.random.Generator) -> Demands:
    """Whether the same state of a generator gives the same, and the next call gives another."""
    state = int(rng.integers(1000))
    one, two = np.random.default_rng(state), np.random.default_rng(state)
    first = draw(one)
    yield np.array_equal(first, draw(two))
    one = np.random.default_rng(state)
    yield not np.allclose(draw(one), draw(one))


def rises(numbers: Callable[[Any], Any], places: Iterable[Any]) -> Demands:
    """Whether there is a number above 0 at each place, and a larger one at the next."""
    for pair in itertools.pairwise(places):
        low, high = (numbers(place) for place in pair)
        yield bool(np.ndim(low) == 0 and 0 < low < high)
