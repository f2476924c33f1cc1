"""Lists of moments: the two records that are furthest apart."""

import itertools
from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.pages.exercises.personalized import SHORT, apart, hidden, in_domain
from pdpbook.pages.exercises.properties import Answer, Demands


def _alike(c: Any, d: int, scale: float) -> Any:
    """Distance from a row of ones to a row of c, with opposite labels."""
    return d * (d + 1) / 2 * (1 - c**2) + scale * d * (1 + c)


@hidden("worst_pair", weight=3, promise=True)
def no_pair_of_a_grid_is_further(answer: Answer, rng: Generator) -> Demands:
    """With one or two features, no two records of a grid have lists further apart."""
    for d, steps in ((1, 101), (2, 9)):
        rows = np.array(list(itertools.product(np.linspace(0, 1, steps), repeat=d)))
        j, k = np.triu_indices(d)
        squares = rows[:, j] * rows[:, k]
        triangle = np.abs(squares[:, None] - squares).sum(axis=2)
        for scale in (0.5, rng.uniform(1, 2.5), 5.0):
            moments = [np.abs(rows[:, None] - sign * rows).sum(axis=2) for sign in (1, -1)]
            best = max(np.max(triangle + scale * moment) for moment in moments)
            yield apart(answer(d, scale), scale) >= (1 - SHORT) * best


@hidden("worst_pair", promise=True)
def no_search_finds_a_further_pair(answer: Answer, rng: Generator) -> bool:
    """With many features, a search finds no two records whose lists are further apart."""
    fine, c = [], np.linspace(0, 1, 100_001)
    for d in (3, 8, 20):
        scale = rng.uniform(0.1, d + 1)
        fine.append(apart(answer(d, scale), scale) >= (1 - SHORT) * _alike(c, d, scale).max())
    return all(fine)


@hidden("worst_pair", promise=True)
def loud_moments_leave_the_domain_alone(answer: Answer, rng: Generator) -> bool:
    """Where moments count far more than products, both records are still in the domain."""
    return all(in_domain(record, 4) for scale in (6.0, 50.0) for record in answer(4, scale))


@hidden("worst_pair")
def loud_moments_are_used(answer: Answer, rng: Generator) -> bool:
    """Where moments count far more than products, no pair moves the moments further."""
    d, scale = 4, 1e7
    return bool(apart(answer(d, scale), scale) >= (1 - SHORT) * 2 * scale * d)
