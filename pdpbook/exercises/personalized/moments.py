"""Lists of moments: the two records that are furthest apart."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.exercises.personalized.assignment import hidden, visible
from pdpbook.exercises.personalized.domain import SHORT, in_domain
from pdpbook.exercises.properties import Answer


def _apart(pair: Any, scale: float) -> float:
    """Distance of the lists of two records, number by number."""
    (x, y), (z, v) = pair
    x, z = np.asarray(x, dtype=float), np.asarray(z, dtype=float)
    triangle = np.triu(np.abs(np.outer(x, x) - np.outer(z, z))).sum()
    return float(triangle + scale * np.abs(x * y - z * v).sum())


def _alike(c: Any, d: int, scale: float) -> Any:
    """Distance from a row of ones to a row of c, with opposite labels."""
    return d * (d + 1) / 2 * (1 - c**2) + scale * d * (1 + c)


@visible("worst_pair")
def two_records_come_back(answer: Answer, rng: Generator) -> bool:
    """The result is two records of the domain."""
    pair = answer(3, 1.0)
    return len(pair) == 2 and all(in_domain(record, 3) for record in pair)


@visible("worst_pair")
def the_lists_differ(answer: Answer, rng: Generator) -> bool:
    """The lists of the two records are apart."""
    return _apart(answer(2, 1.5), 1.5) > 0


@hidden("worst_pair")
def no_pair_of_a_grid_is_further(answer: Answer, rng: Generator) -> bool:
    """With one or two features, no two records of a grid have lists further apart."""
    fine = []
    for d, steps in ((1, 101), (2, 9)):
        rows = np.array(list(itertools.product(np.linspace(0, 1, steps), repeat=d)))
        j, k = np.triu_indices(d)
        squares = rows[:, j] * rows[:, k]
        triangle = np.abs(squares[:, None] - squares).sum(axis=2)
        for scale in (0.5, rng.uniform(1, 2.5), 5.0):
            moments = [np.abs(rows[:, None] - sign * rows).sum(axis=2) for sign in (1, -1)]
            best = max(np.max(triangle + scale * moment) for moment in moments)
            fine.append(_apart(answer(d, scale), scale) >= (1 - SHORT) * best)
    return all(fine)


@hidden("worst_pair")
def no_search_finds_a_further_pair(answer: Answer, rng: Generator) -> bool:
    """With many features, a search finds no two records whose lists are further apart."""
    fine, c = [], np.linspace(0, 1, 100_001)
    for d in (3, 8, 20):
        scale = rng.uniform(0.1, d + 1)
        fine.append(_apart(answer(d, scale), scale) >= (1 - SHORT) * _alike(c, d, scale).max())
    return all(fine)


@hidden("worst_pair")
def loud_moments_leave_the_domain_alone(answer: Answer, rng: Generator) -> bool:
    """Where moments count far more than products, both records are still in the domain."""
    return all(in_domain(record, 4) for scale in (6.0, 50.0) for record in answer(4, scale))


@hidden("worst_pair")
def loud_moments_are_used(answer: Answer, rng: Generator) -> bool:
    """Where moments count far more than products, no pair moves the moments further."""
    d, scale = 4, 1e7
    return bool(_apart(answer(d, scale), scale) >= (1 - SHORT) * 2 * scale * d)
