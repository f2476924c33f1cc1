"""Row generation: solve on few rows, price all of them with the exact dual, add the worst.

A solution on some rows, with zeros elsewhere, is feasible, and the dual looks at every row: both
ends of the certified gap are exact, statement ``thm-gwa-dual``, part 3. It ends where noise
dominates; where data dominate, too many rows carry weight.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats
from pdpbook.gwa.dual import DualValue, evaluate, relative_gap, repair
from pdpbook.gwa.interior import InteriorPoint
from pdpbook.gwa.problem import Problem
from pdpbook.gwa.program import ProgramSolver

Places = NDArray[np.intp]
Solver = InteriorPoint | ProgramSolver  # of C and M, on rows that may become more
ROUNDS = 60
PER_USER = 3  # rows that join at a time


class ConvergenceError(RuntimeError):
    """A solver ended before its solution was certified to the tolerance asked for."""


class Chosen(NamedTuple):
    """Some of all rows."""

    X: Floats
    codes: Places  # their users
    places: Places

    def at(self, index: Places) -> Chosen:
        return Chosen(self.X[index], self.codes[index], self.places[index])

    def join(self, other: Chosen) -> tuple[Chosen, Places]:
        """Return these and others, sorted by user, and where these are among them."""
        both = Chosen(*(np.concatenate(pair) for pair in zip(self, other, strict=True)))
        order = np.argsort(both.codes, kind="stable")
        return both.at(order), np.argsort(order)[: len(self.places)]


class Solution(NamedTuple):
    """Weights of some rows, multipliers and what happened; all other weights are 0."""

    rows: Places
    C: Floats  # (k, r)
    M: Floats
    gap: float
    status: str


def longest(some: Chosen) -> Chosen:
    """Rows to start from: the longest of every user and of all; enough of them to span."""
    score = np.abs(some.X).max(axis=1)
    many = min(20 * some.X.shape[1], len(score))
    first = np.argpartition(-score, many - 1)[:many]
    return some.at(np.union1d(leading(score, some.codes, PER_USER), first))


def leading(score: Floats, codes: Places, count: int) -> Places:
    """Positions of the `count` largest scores of every user."""
    place = np.lexsort((-score, codes))
    rank = np.arange(len(place)) - np.searchsorted(codes[place], codes[place])
    return np.asarray(place[rank < count])


def missing(rows: Chosen, top: Floats, levels: Floats, have: Places, slack: float) -> Chosen:
    """Rows whose largest multiplier exceeds the level of their user, the worst few of each."""
    beyond = top - levels[rows.codes]
    beyond[np.isin(rows.places, have)] = -np.inf
    found = np.flatnonzero(beyond > slack * levels.max())
    return rows.at(found[leading(beyond[found], rows.codes[found], PER_USER)])


def grow(
    problem: Problem,
    chosen: Chosen,
    price: Callable[[Floats], tuple[DualValue, Chosen]],
    begin: Callable[[Problem], Solver],
    tol: float,
) -> tuple[Solution, Problem]:
    """Let rows join `chosen` until the certified gap is at most `tol`, or no row is missing.

    `price` evaluates the dual of all rows at multipliers, and returns the rows its `top` is of:
    all, or those that may exceed the level of their user. Returns the part with the rows, too.
    """
    part, aim = problem.part(chosen.X, chosen.codes), 0.5
    solver = begin(part)
    for _ in range(ROUNDS):
        error = solver.run(aim)
        C, (dual, rows) = repair(part, np.nan_to_num(solver.C)), price(solver.M)
        gap = relative_gap(part.objective(C), dual.bound)
        own = evaluate(part, solver.M)  # levels of all rows would hide those that are missing
        levels = np.zeros(len(problem.tau))
        levels[np.unique(chosen.codes)] = own.levels * (own.bound and dual.bound / own.bound)
        new = missing(rows, dual.top, levels, chosen.places, 1e-3 * max(aim, 1e-9))
        if gap <= tol or error > aim or (error < 0.1 * tol and not len(new.places)):
            break
        if len(new.places):
            chosen, kept = chosen.join(new)
            part = problem.part(chosen.X, chosen.codes)
            solver.extend(part, kept)
        aim = max(aim * (0.4 if aim > 0.01 else 0.1), 0.1 * tol)
    return Solution(chosen.places, C, dual.multipliers, gap, solver.status), part


def solve_rows(problem: Problem, begin: Callable[[Problem], Solver], tol: float) -> Solution:
    every = Chosen(problem.X, problem.codes, np.arange(len(problem.X)))
    first = longest(every)
    if np.linalg.matrix_rank(first.X) < problem.X.shape[1]:
        first = every
    return grow(problem, first, lambda M: (evaluate(problem, M), every), begin, tol)[0]
