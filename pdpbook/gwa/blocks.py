"""Row generation where the rows of a public table come in blocks: which of them get a weight."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pdpbook import Floats
from pdpbook.frames.owners import Records, UsersInBlocks, gathered
from pdpbook.gwa.dual import DualValue, evaluate, lowest_levels
from pdpbook.gwa.interior import InteriorPoint
from pdpbook.gwa.problem import build_problem
from pdpbook.gwa.rows import Chosen, ConvergenceError, grow, longest


def rows_that_count(people: UsersInBlocks, even: Floats, sigma2: float, tol: float) -> Records:
    """Rows, some of every user, of which the best weights are the best of all, up to `tol`.

    Two passes for the first rows and the last, and two for each evaluation of the dual: one for
    the largest multiplier of every user, which bounds their level from below, and one for the rows
    above that bound. `even` has the second moments of all rows.
    """
    values, vectors = np.linalg.eigh(even)
    if not values[0] > 1e-12 * values[-1]:
        raise ValueError("X must have full column rank with blocks")
    T = vectors / np.sqrt(values)
    each = partial(people.each, numbered=True)
    first = Chosen(*gathered(each(partial(_longest, people.rules, T)), _longest_of))
    first = first.at(np.lexsort([first.places, first.codes]))
    epsilon, width = people.part.epsilon[first.codes], people.rules.width()
    problem, _ = build_problem(first.X, first.codes, sigma2, epsilon, width, T)

    def price(M: Floats) -> tuple[DualValue, Chosen]:
        highest = np.zeros(len(problem.tau))
        for who, most in each(partial(_highest, people.rules, T, M)):
            highest[who] = np.maximum(highest[who], most)
        floor = lowest_levels(problem, highest)
        parts = each(partial(_above, people.rules, T, M, floor))
        near = Chosen(*map(np.concatenate, zip(*parts, strict=True)))
        near = near.at(np.argsort(near.codes, kind="stable"))
        return evaluate(problem.part(near.X, near.codes), M), near

    found, _ = grow(problem, first, price, InteriorPoint, tol)
    if not found.gap <= tol:
        raise ConvergenceError(f"row generation ended with a gap of {found.gap:.2g}, above {tol:g}")
    columns: Any = zip(*each(partial(_at, found.rows)), strict=True)
    return Records(*map(np.concatenate, columns))


def _chosen(rules: Any, T: Floats, records: Records) -> Chosen:
    return Chosen(rules.with_constant(records.X) @ T, records.codes, records.numbers)


def _longest_of(*columns: Any) -> Chosen:
    return longest(Chosen(*columns))


def _longest(rules: Any, T: Floats, records: Records) -> Chosen:
    return longest(_chosen(rules, T, records))


def _highest(rules: Any, T: Floats, M: Floats, records: Records) -> tuple[Any, Floats]:
    rows = _chosen(rules, T, records)
    who, starts = np.unique(rows.codes, return_index=True)
    return who, np.maximum.reduceat(np.abs(rows.X @ M.T).max(axis=1), starts)


def _above(rules: Any, T: Floats, M: Floats, floor: Floats, records: Records) -> Chosen:
    rows = _chosen(rules, T, records)
    return rows.at(np.flatnonzero(np.abs(rows.X @ M.T).max(axis=1) >= floor[rows.codes]))


def _at(rows: Any, records: Records) -> tuple[Any, ...]:
    at = np.isin(records.numbers, rows)
    return tuple(column[at] for column in records)
