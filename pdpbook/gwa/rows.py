"""Row generation: solve on few rows, price all of them with the exact dual, add the worst.

A solution on some rows, with zeros elsewhere, is feasible; the dual looks at every row. So both
ends of the certified gap are exact, whatever the rows.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook.gwa.dual import evaluate, magnitudes, relative_gap, repair
from pdpbook.gwa.interior import InteriorPoint
from pdpbook.gwa.problem import Problem
from pdpbook.gwa.program import solve_program

__all__: list[str] = []

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]
STEPS = 200
PER_USER = 3  # rows that join at a time


class Solution(NamedTuple):
    """Weights of some rows, multipliers and what happened; all other weights are 0."""

    rows: Rows
    C: Floats  # (k, r)
    M: Floats
    gap: float
    status: str


def certified(problem: Problem, rows: Rows, C: Floats, M: Floats, status: str) -> Solution:
    """Repair the weights and find their exact gap."""
    part = restrict(problem, rows)
    if not (np.isfinite(C).all() and np.isfinite(M).all()):
        return Solution(rows, np.zeros_like(C), np.zeros_like(M), np.inf, status)
    C = repair(part, C)
    gap = relative_gap(part.objective(C), evaluate(problem, M).bound)
    return Solution(rows, C, M, gap, status)


def restrict(problem: Problem, rows: Rows) -> Problem:
    """Return the problem on the rows given, sorted, without the users who own none of them."""
    present, starts, codes = np.unique(problem.codes[rows], return_index=True, return_inverse=True)
    return replace(problem, X=problem.X[rows], starts=starts, codes=codes, tau=problem.tau[present])


def leading(score: Floats, codes: Rows, count: int) -> NDArray[np.intp]:
    """Positions of the `count` largest scores of every user."""
    place = np.lexsort((-score, codes))
    first = np.flatnonzero(np.diff(codes[place], prepend=-1))
    rank = np.arange(len(place)) - np.repeat(first, np.diff(np.append(first, len(place))))
    return np.asarray(place[rank < count])


def first_rows(problem: Problem) -> Rows:
    """Rows to start from: the longest of every user and of all; enough of them to span."""
    n, d = problem.X.shape
    score = np.abs(problem.X).max(axis=1)
    many = min(20 * d, n)
    return np.union1d(
        leading(score, problem.codes, PER_USER), np.argpartition(-score, many - 1)[:many]
    )


def violated(problem: Problem, rows: Rows, M: Floats, levels: Floats, slack: float) -> Rows:
    """Rows outside of `rows` whose multipliers exceed the level of their user, the worst few."""
    beyond = magnitudes(problem, M).max(axis=1) - levels[problem.codes]
    beyond[rows] = -np.inf
    found = np.flatnonzero(beyond > slack * levels.max())
    return found[leading(beyond[found], problem.codes[found], PER_USER)]


@np.errstate(all="ignore")  # an iterate that is not finite ends the run
def solve_rows(problem: Problem, tol: float, *, everything: bool = False) -> Solution:
    """Interior point steps; rows join whenever the gap has fallen to the next mark."""
    n = len(problem.X)
    rows = np.arange(n) if everything else first_rows(problem)
    if np.linalg.matrix_rank(problem.X[rows]) < problem.X.shape[1]:
        rows = np.arange(n)
    point = InteriorPoint(problem, rows)
    name = "interior point" if everything else "rows"
    mark, best, since = 0.5, np.inf, 0
    found = None
    for _ in range(STEPS):
        merit = point.measure()
        since, best = (0, merit) if merit < 0.9 * best else (since + 1, best)
        if not np.isfinite(merit) or since > 40:
            break
        if point.gap < mark and point.residual < mark:
            if merit < 3 * tol:
                status = f"{name}: {point.steps} steps on {len(point.rows)} of {n} rows"
                found = certified(problem, point.rows, point.C, point.M, status)
                if found.gap <= tol:
                    return found
            if len(point.rows) < n:
                slack = 1e-3 * max(point.gap, 1e-9)
                new = violated(problem, point.rows, point.M, point.levels, slack)
                if len(new):
                    point.add(new)
                    point.measure()
                    best, since = np.inf, 0
            while mark > max(0.3 * tol, 1e-13) and point.gap < mark:
                mark *= 0.4 if mark > 0.01 else 0.1
        try:
            point.step()
        except FloatingPointError:
            break
    status = f"{name}: stopped after {point.steps} steps on {len(point.rows)} of {n} rows"
    last = certified(problem, point.rows, point.C, point.M, status)
    return last if found is None or last.gap < found.gap else found


def solve_rows_by_program(problem: Problem, tol: float, solver: str) -> Solution:
    """Row generation around a general solver, for norms the interior point does not know."""
    n = len(problem.X)
    rows = first_rows(problem)
    if np.linalg.matrix_rank(problem.X[rows]) < problem.X.shape[1]:
        rows = np.arange(n)
    found = Solution(rows, np.zeros((0, 0)), np.zeros((0, 0)), np.inf, "not started")
    for _ in range(30):
        part = restrict(problem, rows)
        C, M, status = solve_program(part, solver)
        found = certified(
            problem, rows, C, M, f"{solver.lower()}, {len(rows)} of {n} rows: {status}"
        )
        if found.gap <= tol or len(rows) == n:
            break
        dual = evaluate(part, M)
        levels = np.zeros(len(problem.tau))
        levels[np.unique(problem.codes[rows])] = dual.levels
        new = violated(problem, rows, dual.multipliers, levels, 1e-12)
        if not len(new):
            break
        rows = np.union1d(rows, new)
    return found
