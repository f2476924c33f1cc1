"""Sums of products in whole numbers: records rounded to a public grid before they are added up.

The sums of `SufficientStatisticsRidge` with ``noise="grid"``: what a person adds is a whole number,
and how far a record can move them is computed in whole numbers and fractions. Whole weights and
noise live in `noise.whole_numbers`.
"""

from __future__ import annotations

from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pdpbook import check
from pdpbook.noise.whole_numbers import (
    WholeNumbers,
    check_grid,
    exact_budget,
    rounded_to_steps,
    whole_weights,
)
from pdpbook.participants import Participants

Integers = NDArray[np.int64]


def farthest_records(
    d: int, grid: int, *, centered: bool = False, scale: Fraction = Fraction(1)
) -> Fraction:
    r"""How far apart the scaled sums of two records on the grid can be, exactly.

    The records have features in :math:`\{0, 1/G, \dots, 1\}` and labels in
    :math:`\{-1, -1 + 1/G, \dots, 1\}`; the statistic of one is that of `statistics_constant` for
    Laplace noise, with :math:`s` for `scale`, and distances are in the 1-norm. With
    :math:`V = qd + \rho`, :math:`0 \le \rho < d`, and :math:`0 \le V \le dG`

    .. math:: &\frac{d(d+1)}2 + sd + \max_V \Bigl( \frac{sV}G
              - \frac{V^2 + (d-\rho)q^2 + \rho(q+1)^2}{2G^2} \Bigr), \\
              &\frac{\lfloor d^2G^2/4\rfloor + d\lfloor G^2/4\rfloor}{2G^2} + 2sd
              \quad\text{(centered)},

    both attained, and at most the constant :math:`D_1` of `statistics_constant`. Statement
    ``thm-grid-sums`` (ours), chapter *synthesis/whole_numbers*.

    Parameters
    ----------
    d, grid : int
    centered : bool, default False
    scale : Fraction, default 1
        :math:`s`, above 0.

    Examples
    --------
    >>> farthest_records(2, 4), farthest_records(2, 4, centered=True)
    (Fraction(85, 16), Fraction(19, 4))
    """
    d, G = check.count(d, "d"), check_grid(grid)
    check.flag(centered, "centered")
    if not isinstance(scale, Fraction) or not scale > 0:
        raise ValueError(f"scale must be a fraction above 0; got {scale!r}")
    if centered:
        return Fraction(d * d * G * G // 4 + d * (G * G // 4), 2 * G * G) + 2 * scale * d
    # a record of ones, and one whose entries add up to V and differ by at most a step
    top = min(int(scale * d * G / (d + 1)), d * G)  # without whole numbers the best V
    best = Fraction(0)
    for V in range(max(0, top - d), min(d * G, top + d) + 1):
        q, rho = divmod(V, d)
        squares = V * V + (d - rho) * q * q + rho * (q + 1) ** 2
        best = max(best, scale * V / G - Fraction(squares, 2 * G * G))
    return Fraction(d * (d + 1), 2) + scale * d + best


def grid_law(people: Participants, grid: int, *, centered: bool, scale: Fraction) -> WholeNumbers:
    """Return the exact distribution of the whole sums of `thm-grid-sums`.

    Parameters
    ----------
    people : Participants
        On the cube, with budgets above 0.
    grid : int
    centered : bool
    scale : Fraction
        Of the label, as in `farthest_records`.
    """
    weights = whole_weights(people.budgets, grid)
    rows = rounded_to_steps(people.X, grid, 0)
    labels = rounded_to_steps(people.y, grid, -1)
    largest = exact_budget(people.budgets.max())

    center = whole_sums(rows, labels, weights, grid, centered)
    farthest = farthest_records(people.d, grid, centered=centered, scale=scale)
    unit_rate = largest / (grid * farthest)  # for a move of the scaled sums by 1, a unit of weight
    steps = steps_of_sums(people.d, grid, centered)
    factors = factors_of_sums(people.d, centered, scale)
    rates = [unit_rate * f * step for f, step in zip(factors, steps, strict=True)]
    total = int(weights.sum())
    return WholeNumbers(tuple(center), tuple(rates), tuple(step / total for step in steps))


def whole_sums(
    rows: Integers, labels: Integers, weights: Integers, grid: int, centered: bool
) -> list[int]:
    """Return the sums over everybody in whole steps, m of them, in the order of `release_`.

    Parameters
    ----------
    rows : ndarray of int64, shape (n, d)
        Features in steps, from 0 to `grid`.
    labels : ndarray of int64, shape (n,)
        In steps, from ``-grid`` to `grid`.
    weights : ndarray of int64, shape (n,)
        From 0 to `grid`.
    grid : int
    centered : bool
        Count features in half steps from the middle of the bounds.
    """
    d = rows.shape[1]
    triangle = np.triu_indices(d)
    at_once = 2**62 // grid**3  # so many products add up to less than 2**62
    sums = np.zeros(len(triangle[0]) + (2 * d + 1 if centered else d), dtype=object)
    for start in range(0, len(labels), at_once):
        block = slice(start, start + at_once)
        X, y, a = rows[block], labels[block], weights[block]
        X = 2 * X - grid if centered else X
        weighted = X.T * a
        added = [(weighted @ X)[triangle]]
        if centered:
            added.append(weighted.sum(axis=1))
        added.append(weighted @ y)
        if centered:
            added.append(np.array([a @ y]))
        sums += np.concatenate(added).astype(object)
    return [int(one) for one in sums]


def steps_of_sums(d: int, grid: int, centered: bool) -> list[Fraction]:
    """Return what one whole number of each sum stands for in a weighted sum on the domain."""
    step = Fraction(1, grid)
    triangle = d * (d + 1) // 2
    if not centered:
        return [step * step] * (triangle + d)
    half = step / 2  # features are counted in half steps
    return [half * half] * triangle + [half] * d + [half * step] * d + [step]


def factors_of_sums(d: int, centered: bool, scale: Fraction) -> list[Fraction]:
    """Return the factor of every sum in the scaled sums, as in `statistics_constant`."""
    triangle = [Fraction(1)] * (d * (d + 1) // 2)
    if not centered:
        return triangle + [scale] * d
    return triangle + [scale] * (2 * d) + [scale * d / 2]
