"""Noise made of whole numbers alone: exact draws, and sums of whole numbers with such noise.

No float takes part in a draw: coins compare whole numbers, and a rate is a fraction. A finished
answer, which is a float, is rounded and released in `noise.grid`; here the people's contributions
are whole numbers before they are added up.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.noise.laws import check_points, check_size

Randomness = np.random.Generator | random.SystemRandom

#: the finest grid: products of three whole numbers up to it, of 16,384 people, are below 2**62
FINEST_GRID = 2**16


def draw_discrete_laplace(rate: Fraction, rng: Randomness) -> int:
    r"""Return one whole number whose probability falls by the factor :math:`e^{-r}` a step from 0.

    .. math:: P(k) = \tanh(r/2)\, e^{-r|k|}, \qquad k \in \mathbb{Z}

    A size is drawn, then a sign; with a sign of its own, 0 would count twice (Canonne, Kamath and
    Steinke, 2020, algorithm 2). Page *synthesis/grid*. There is no largest number.

    Parameters
    ----------
    rate : Fraction
        :math:`r`, above 0.
    rng : numpy.random.Generator or random.SystemRandom
    """
    s = rate.numerator
    t = rate.denominator
    while True:
        u = uniform_below(t, rng)
        if not coin(u, t, rng):
            continue
        v = 0
        while coin(1, 1, rng):
            v += 1
        size = (u + t * v) // s  # u + t v is geometric with factor e^(-1/t)
        is_negative = uniform_below(2, rng) == 1
        if size == 0 and is_negative:
            continue  # 0 was already counted, with the other sign
        return -size if is_negative else size


def coin(u: int, t: int, rng: Randomness) -> bool:
    """Return True with probability exp(-u / t), for u <= t.

    Trial k = 1, 2, ... succeeds with probability g / k, where g = u / t. The first k trials all
    succeed with probability g^k / k!, so the first failure is at an odd k with probability
    1 - g + g^2 / 2! - g^3 / 3! + ... = exp(-g) (Canonne, Kamath and Steinke, 2020, algorithm 1).
    """
    k = 1
    while uniform_below(k * t, rng) < u:
        k += 1
    return k % 2 == 1


def uniform_below(m: int, rng: Randomness) -> int:
    """Return one of 0, ..., m - 1, each with the same probability."""
    if isinstance(rng, random.SystemRandom):
        return rng.randrange(m)
    if m <= 2**62:
        return int(rng.integers(m))
    bits = m.bit_length()
    whole_bytes = (bits + 7) // 8
    spare_bits = -bits % 8
    while True:  # the chance of `m` or more is below a half
        candidate = int.from_bytes(rng.bytes(whole_bytes), "big") >> spare_bits
        if candidate < m:
            return candidate


def check_source(rng: Any) -> None:
    """Raise unless `rng` is a numpy Generator or takes its bits from the operating system."""
    if not isinstance(rng, random.SystemRandom):
        check.rng(rng)


def check_grid(grid: Any, name: str = "grid") -> int:
    """Return a number of whole steps in a unit of the domain, from 1 to `FINEST_GRID`."""
    try:
        steps = check.count(grid, name)
    except ValueError as error:
        raise ValueError(
            f"{error}. It is the number of whole steps in a unit of the domain: fewer than one "
            "would be coarser than the bounds"
        ) from None
    if steps > FINEST_GRID:
        raise ValueError(f"{name} must be at most {FINEST_GRID}; got {steps}")
    return steps


def check_grid_of(noise: str, grid: Any, default: int) -> None:
    """Raise unless `grid` is a number of steps, and the default where no grid is used."""
    steps = check_grid(grid)
    if noise != "grid" and steps != default:
        raise ValueError(
            f"grid must be {default}, its default, with noise={noise!r}, which has no grid; "
            f"got {steps}. Pass noise='grid'"
        )


def exact_budget(epsilon: float) -> Fraction:
    """Return a budget as the decimal that it prints as, as accounts read it."""
    return Fraction(repr(float(epsilon)))


def whole_weights(epsilon: ArrayLike, grid: int) -> NDArray[np.int64]:
    r"""Whole weights in proportion to the budgets, rounded down: the largest budget has `grid`.

    .. math:: a_i = \lfloor G\,\varepsilon_i / \max_j \varepsilon_j \rfloor

    So :math:`a_i \max_j\varepsilon_j/G \le \varepsilon_i`, exactly. Somebody with less than a
    `grid`-th of the largest budget has weight 0. Statement ``thm-grid-sums`` (ours), chapter
    *synthesis/whole_numbers*. Returns whole numbers, shape (n,).

    Parameters
    ----------
    epsilon : array_like, shape (n,)
        Budgets in nats, at least 0 and somebody's above; read as the decimals that they print as.
    grid : int
        :math:`G`.

    Examples
    --------
    >>> whole_weights([0.1, 0.3, 1.0], 10)
    array([ 1,  3, 10])
    """
    budgets = check.vector(check.epsilon(epsilon), "epsilon", "n")
    steps = check_grid(grid)
    levels, places = np.unique(budgets, return_inverse=True)
    largest = exact_budget(levels[-1])
    quotients = steps * (levels / levels[-1])
    weights = np.floor(quotients).astype(np.int64)
    # floats are off by less than a trillionth, so near a whole number alone fractions must decide
    unsure = np.abs(quotients - np.round(quotients)) <= 1e-12 * steps
    for k in np.flatnonzero(unsure):
        weights[k] = steps * exact_budget(levels[k]) // largest
    return np.asarray(weights[places])


def drop_budgets_below_a_step(budgets: Floats, grid: int) -> Floats:
    """Return the budgets, with 0 for whoever has the whole weight 0."""
    return np.where(whole_weights(budgets, grid) > 0, budgets, 0.0)


def rounded_to_steps(values: Floats, grid: int, low: int) -> NDArray[np.int64]:
    """Return values of the domain from `low` to 1 in whole steps, the nearest, ties upward.

    Whatever rounding does to `values * grid`, a value alone decides where it goes.
    """
    steps = np.floor(values * grid + 0.5).astype(np.int64)
    return np.clip(steps, low * grid, grid)


@dataclass(frozen=True, eq=False)
class WholeNumbers:
    r"""Law of whole numbers: a ``center`` plus independent discrete Laplace noise.

    .. math:: P(k) = \prod_j \tanh(r_j/2)\,e^{-r_j|k_j-c_j|}, \qquad k\in\mathbb{Z}^m

    Whole numbers have no limit here, and fractions are exact. Statement ``thm-grid-sums`` (ours),
    chapter *synthesis/whole_numbers*. Not private: it holds the center.

    Examples
    --------
    >>> law = WholeNumbers((3,), (Fraction(1, 2),), (Fraction(1, 8),))
    >>> law.to_domain((5,)), law.largest_loss(WholeNumbers((7,), law.rates, law.steps))
    (array([0.625]), Fraction(2, 1))
    """

    center: tuple[int, ...]  #: m numbers, the most probable ones
    rates: tuple[Fraction, ...]  #: of the noise a whole number, m of them
    steps: tuple[Fraction, ...]  #: what a whole number stands for on the domain, m of them

    def __post_init__(self) -> None:
        for value in self.center:
            if not isinstance(value, int):
                raise TypeError(f"center must be made of whole numbers; got {value!r}")
        for name in ("rates", "steps"):
            for fraction in getattr(self, name):
                if not isinstance(fraction, Fraction):
                    raise TypeError(f"{name} must be made of fractions; got {fraction!r}")
                if not fraction > 0:
                    raise ValueError(f"{name} must be above 0; got {fraction}")
        lengths = len(self.center), len(self.rates), len(self.steps)
        if not lengths[0] == lengths[1] == lengths[2] > 0:
            raise ValueError(
                f"center, rates and steps must have one length, at least 1; got {lengths}"
            )

    @property
    def scale(self) -> Floats:
        """One over the rate on the domain, shape (m,): the scale of Laplace noise of that rate."""
        pairs = zip(self.rates, self.steps, strict=True)
        return np.array([float(step / rate) for rate, step in pairs])

    @property
    def variance(self) -> Floats:
        """Variance of the noise on the domain, shape (m,)."""
        pairs = zip(self.rates, self.steps, strict=True)
        return np.array([float(step) ** 2 * discrete_variance(rate) for rate, step in pairs])

    def logpmf(self, points: ArrayLike) -> Floats:
        """Log-probability of whole numbers of shape (..., m); minus infinity between them."""
        k = check_points(points, len(self.center))
        rates = np.array([float(rate) for rate in self.rates])
        distances = np.abs(k - np.array(self.center, dtype=float))
        logs = np.log(np.tanh(rates / 2)).sum() - (rates * distances).sum(axis=-1)
        return np.asarray(np.where((k == np.floor(k)).all(axis=-1), logs, -np.inf))[()]

    def loss(self, other: WholeNumbers, k: tuple[int, ...]) -> Fraction:
        """Return the exact log of the probability of `k` over that under a law of equal noise."""
        if self.rates != other.rates:
            raise ValueError("other must have the same rates: the noise is public")
        entries = zip(self.rates, self.center, other.center, k, strict=True)
        losses = [rate * (abs(at - two) - abs(at - one)) for rate, one, two, at in entries]
        return sum(losses, Fraction(0))

    def largest_loss(self, other: WholeNumbers) -> Fraction:
        """Return the largest loss against a law of equal noise, which its center attains."""
        return self.loss(other, self.center)

    def to_domain(self, k: Any) -> Floats:
        """Return what whole numbers, m of them, stand for on the domain, shape (m,)."""
        return np.array([float(int(one) * step) for one, step in zip(k, self.steps, strict=True)])

    def sample(self, size: int | None = None, *, rng: Randomness) -> NDArray[Any]:
        """Draw from the law: Python's whole numbers, shape (m,), or (size, m)."""
        check_source(rng)
        shape = (*check_size(size), len(self.center))
        drawn = np.empty(shape, dtype=object)
        for place in np.ndindex(shape):
            j = place[-1]
            drawn[place] = self.center[j] + draw_discrete_laplace(self.rates[j], rng)
        return drawn


def discrete_variance(rate: Fraction) -> float:
    r"""Variance of discrete Laplace noise: :math:`1/(2\sinh^2(r/2))`, below :math:`2/r^2`.

    Statement ``prop-grid-cost`` (ours), chapter *synthesis/whole_numbers*.

    Parameters
    ----------
    rate : Fraction
        :math:`r`, above 0.
    """
    r = float(rate)
    with np.errstate(over="ignore"):
        return float(1 / (2 * math.sinh(r / 2) ** 2)) if r < 700 else 0.0
