"""Releases on a public grid: a finished answer rounded to it, with discrete Laplace noise."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.noise.laws import check_points, check_size, check_step, keep
from pdpbook.noise.whole_numbers import Randomness, check_source, draw_discrete_laplace

Integers = NDArray[np.int64]

#: whole numbers up to here are floats, and so are their products with a power of two
LARGEST_INTEGER = 2**53
SMALLEST_RATE = Fraction(1, 2**40)  #: a step


def sample_discrete_laplace(
    rate: float | Fraction, size: int | None = None, *, rng: Randomness
) -> Any:
    r"""Draw whole numbers whose probability falls by the factor :math:`e^{-r}` a step from 0.

    .. math:: P(k) = \tanh(r/2)\, e^{-r|k|}, \qquad k \in \mathbb{Z}

    Every draw is made of uniform choices among whole numbers and of comparisons of whole numbers:
    no probability is ever rounded (Canonne, Kamath and Steinke, 2020, algorithms 1 and 2). Page
    *synthesis/grid*. Draws are cut off at :math:`\pm 2^{53}`. Returns int or int64, shape (size,).

    Parameters
    ----------
    rate : float or Fraction
        :math:`r`, at least :math:`2^{-40}`. A float is read as the decimal that it prints as.
    size : int, optional
    rng : numpy.random.Generator or random.SystemRandom
        A ``SystemRandom`` takes every bit from the operating system.
    """
    exact_rate = _rate(rate, "rate")
    check_source(rng)
    if size is None:
        return _limited(draw_discrete_laplace(exact_rate, rng))
    draws = check.count(size, "size", minimum=0)
    drawn = [_limited(draw_discrete_laplace(exact_rate, rng)) for _ in range(draws)]
    return np.array(drawn, dtype=np.int64)


def _limited(steps: int) -> int:
    """Return a number of steps, cut off at `LARGEST_INTEGER`."""
    return max(-LARGEST_INTEGER, min(LARGEST_INTEGER, steps))


def grid_steps(sensitivity: ArrayLike, step: float, d: int = 1, *, error: float = 0.0) -> Any:
    r"""Number of steps by which a record can move a rounded value: the sensitivity, rounded up.

    .. math:: K_i = \lceil (S_i + 2de) / g \rceil + d - 1

    Rounding is to the nearest multiple, ties upward: to even would move :math:`\tfrac12` and
    :math:`\tfrac32` two steps for one. Statement ``prop-grid-noise``, chapter
    *synthesis/in_practice*. Returns an integer or array of int64, shape (n,), at least 1.

    Parameters
    ----------
    sensitivity : array_like, a number or shape (n,)
        :math:`S_i`, at least 0: how far person i can move the exact value in the 1-norm.
    step : float
        :math:`g`, width of the grid, a power of two.
    d : int, default 1
    error : float, default 0.0
        :math:`e`, public bound on the error with which one of d coordinates is computed.

    Examples
    --------
    >>> grid_steps([0.1, 0.5], 0.25), grid_steps(0.1, 0.25, d=3)
    (array([1, 2]), 3)
    """
    moves = check.budgets(check.nonnegative(sensitivity, "sensitivity"), None, "sensitivity")
    grid = check_step(step)
    d = check.count(d, "d")
    error = check.single(check.nonnegative(error, "error"), "error")
    slack = 2 * d * Fraction(error)
    steps = []
    for move in np.atleast_1d(moves):
        exact = (Fraction(float(move)) + slack) / grid
        steps.append(max(1, math.ceil(exact) + d - 1))
    if max(steps) > LARGEST_INTEGER:
        raise ValueError(f"step must not be finer than 2**-53 of a sensitivity; got {step:g}")
    return steps[0] if np.ndim(moves) == 0 else np.array(steps, dtype=np.int64)


def grid_rate(
    epsilon: ArrayLike, sensitivity: ArrayLike, step: float, d: int = 1, *, error: float = 0.0
) -> Fraction:
    r"""Largest rate a step that keeps everybody's budget, as an exact fraction.

    .. math:: r = \min_i \varepsilon_i / K_i

    with :math:`K_i` from `grid_steps`; person i spends :math:`r K_i \le \varepsilon_i`. Statement
    ``prop-grid-noise``, chapter *synthesis/in_practice*.

    Parameters
    ----------
    epsilon : array_like, a number or shape (n,)
        In nats, above 0, read as the decimals that they print as, as in `guarantees.BudgetAccount`.
    sensitivity, step, d, error
        As in `grid_steps`.

    Examples
    --------
    >>> grid_rate(0.1, 3.0, 0.25)
    Fraction(1, 120)
    """
    check.refuse_other_index(epsilon, "epsilon", sensitivity=sensitivity)
    steps = np.atleast_1d(grid_steps(sensitivity, step, d, error=error))
    budgets = np.atleast_1d(check.positive(epsilon, "epsilon"))
    if len(steps) > 1 and len(budgets) > 1 and len(steps) != len(budgets):
        got = f"{len(budgets)} and {len(steps)} people"
        raise ValueError(f"epsilon and sensitivity must have one length; got {got}")
    epsilons, steps = np.broadcast_arrays(budgets, steps)
    different = set(zip(epsilons, steps, strict=True))
    rate = min(Fraction(repr(float(one))) / int(k) for one, k in different)
    return _rate(rate, "epsilon over the steps of a record")


def grid_laplace(
    values: ArrayLike,
    *,
    step: float,
    epsilon: ArrayLike,
    sensitivity: ArrayLike,
    error: float = 0.0,
) -> GridLaplace:
    r"""Law of a release on the grid: values rounded, then discrete Laplace noise in steps.

    The release, one draw with ``sample(rng=...)``, keeps :math:`\varepsilon_i` for everybody,
    exactly: statement ``prop-grid-noise``, chapter *synthesis/in_practice*.

    Parameters
    ----------
    values : array_like, shape (d,)
        What is to be released, without noise; a number is a vector of one.
    step, epsilon, sensitivity, error
        As in `grid_rate`: the rate follows from these public numbers alone.

    Examples
    --------
    >>> law = grid_laplace(20.3, step=0.25, epsilon=0.5, sensitivity=1.0)
    >>> law.center, law.rate, law.sample(rng=np.random.default_rng(1)) % 0.25
    (array([81]), Fraction(1, 8), array([0.]))
    """
    exact = check.vector(np.atleast_1d(check.finite(values, "values")), "values", "d")
    rate = grid_rate(epsilon, sensitivity, step, len(exact), error=error)
    grid = check_step(step)
    center = []
    for value in exact:
        nearest = math.floor(Fraction(float(value)) / grid + Fraction(1, 2))
        center.append(_limited(nearest))
    return GridLaplace(np.array(center), step, rate)


@dataclass(frozen=True, eq=False)
class GridLaplace:
    r"""Law of ``step`` times (``center`` plus independent discrete Laplace noise).

    .. math:: P(gk) = \prod_j \tanh(r/2)\,e^{-r|k_j-c_j|}, \qquad k\in\mathbb{Z}^d

    The `center` has shape (d,), whole numbers of steps; it is copied, and read-only. A step
    :math:`g` is a power of two. The `rate` :math:`r`, a fraction, is that of one step. Page
    *synthesis/grid*. Not private: it holds the center. Draws are cut off at :math:`2^{53}` steps.

    Examples
    --------
    >>> np.exp(GridLaplace([0], 0.5, rate=1).logpmf([[0.0], [0.5], [0.6]])).round(4)
    array([0.4621, 0.17  , 0.    ])
    """

    center: Integers  #: shape (d,), most probable value, in steps
    step: float  #: width of the grid
    rate: Fraction  #: of the noise, a step

    def __post_init__(self) -> None:
        raw = np.asarray(self.center)
        if raw.dtype.kind not in "iu":
            raise TypeError(f"center must be made of whole numbers; got {self.center!r}")
        center = check.vector(raw, "center", "d").astype(np.int64)
        step = float(check_step(self.step))
        rate = _rate(self.rate, "rate")
        keep(self, center=center, step=step, rate=rate)

    def logpmf(self, points: ArrayLike) -> Floats:
        """Log-probability of `points` of shape (..., d); minus infinity off the grid."""
        d = len(self.center)
        rate = float(self.rate)
        k = check_points(points, d) / self.step
        distance = np.abs(k - self.center).sum(axis=-1)
        log_probability = d * np.log(np.tanh(rate / 2)) - rate * distance
        on_grid = np.all(k == np.floor(k), axis=-1)
        return np.asarray(np.where(on_grid, log_probability, -np.inf))[()]

    def sample(self, size: int | None = None, *, rng: Randomness) -> Floats:
        """Draw from the law: shape (d,), or (size, d), exact multiples of the step."""
        shape = (*check_size(size), len(self.center))
        noise = sample_discrete_laplace(self.rate, math.prod(shape), rng=rng).reshape(shape)
        steps = np.clip(self.center + noise, -LARGEST_INTEGER, LARGEST_INTEGER)
        return np.asarray(steps * self.step)


def _rate(rate: Any, name: str) -> Fraction:
    """Return a rate as an exact fraction, a float as the decimal that it prints as."""
    if isinstance(rate, Fraction):
        exact = rate
    else:
        exact = Fraction(repr(check.number(rate, name)))
    if not exact >= SMALLEST_RATE:
        raise ValueError(
            f"{name} must be at least 2**-40; got {float(exact):g}. Take a coarser step"
        )
    return exact
