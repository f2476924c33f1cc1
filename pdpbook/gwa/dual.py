"""The dual of the weighting problem, evaluated exactly, and the repair of its constraint.

`certificate` puts both ends together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook.gwa.problem import Problem

__all__: list[str] = []

Floats = NDArray[np.float64]


class DualValue(NamedTuple):
    """A lower bound of the optimum from multipliers M = sigma2 Lambda, scaled to their best."""

    bound: float
    multipliers: Floats  # (k, d), M, so that bound = <M, target>
    levels: Floats  # (m,), the soft threshold of every user, for M as scaled


def evaluate(problem: Problem, M: Floats) -> DualValue:
    """Best lower bound on the ray through M, exact: user levels and scale are optimized."""
    pairing = float(np.vdot(M, problem.target))
    if not (pairing > 0 and np.isfinite(M).all()):
        return DualValue(0.0, np.zeros_like(M), np.zeros(len(problem.tau)))
    M = M / np.abs(M).max()
    pairing = float(np.vdot(M, problem.target))
    levels, squares = best_levels(problem, magnitudes(problem, M))
    price = float(problem.tau @ levels) ** 2 / problem.kappa
    if problem.sigma2 > 0:
        price += squares / problem.sigma2
    if np.isfinite(problem.prior):
        price += float((problem.pull_back(M) ** 2).sum()) / problem.prior
    scale = pairing / price
    return DualValue(pairing * scale, M * scale, levels * scale)


def magnitudes(problem: Problem, M: Floats) -> Floats:
    """What the levels of the users cut: |M x_i| entry by entry, or its norm; (n, k) or (n, 1)."""
    a = problem.X @ M.T
    return np.linalg.norm(a, axis=1)[:, None] if problem.grouped else np.abs(a, out=a)


def best_levels(problem: Problem, size: Floats) -> tuple[Floats, float]:
    """Levels nu that minimize sum (|a| - nu)_+^2 / sigma2 + (tau nu)^2 / kappa, and the sum."""
    tau = problem.tau
    top = size.max(axis=1)
    highest = np.maximum.reduceat(top, problem.starts)
    if problem.sigma2 == 0:
        return highest, 0.0
    ratio = problem.kappa / problem.sigma2
    # at the root t <= tau highest / ratio, and a user's level is above highest - tau t
    floor = np.maximum(highest - tau * float(tau @ highest) / ratio, 0.0)
    rows = np.flatnonzero(top >= floor[problem.codes])
    size = size[rows]
    codes = np.broadcast_to(problem.codes[rows][:, None], size.shape)
    keep = size >= floor[codes]
    value, code = size[keep], codes[keep]
    place = np.lexsort((-value, code))
    value, code = value[place], code[place]
    count = np.bincount(code, minlength=len(tau))
    first = np.cumsum(count) - count
    total = np.cumsum(value)
    total = total - (total[first[code]] - value[first[code]])
    rank = np.arange(len(value)) - first[code] + 1
    excess = total - rank * value  # what the entries above this one exceed it by, in sum
    used = count > 0
    last = np.maximum(np.cumsum(count) - 1, 0)

    def at(t: float) -> tuple[Floats, NDArray[np.intp]]:
        active = np.bincount(code[excess < tau[code] * t], minlength=len(tau))
        active = np.where(used, np.maximum(active, 1), 1)
        here = np.minimum(first + active - 1, last)
        level = np.where(used, (total[here] - tau * t) / active, 0.0)
        return np.maximum(level, 0.0), np.where(level > 0, active, 0)

    t = 0.0
    for _ in range(200):  # Newton from the left, on a convex falling piecewise linear function
        levels, active = at(t)
        slope = ratio + float((tau[active > 0] ** 2 / active[active > 0]).sum())
        step = (float(tau @ levels) - ratio * t) / slope
        if not step > 4e-16 * t:
            break
        t += step
    beyond = np.maximum(value - levels[code], 0.0)
    return levels, float(beyond @ beyond)


def repair(problem: Problem, C: Floats) -> Floats:
    """Make C X = target exact by the least change, on the rows that C uses if they suffice."""
    if np.isfinite(problem.prior):
        return C
    used = np.flatnonzero(np.abs(C).max(axis=0) > 0)
    for rows in (used, np.arange(C.shape[1])):
        X = problem.X[rows]
        if len(rows) < X.shape[1]:
            continue
        Q, R = np.linalg.qr(X)
        diagonal = np.abs(np.diag(R))
        if diagonal.min() < 1e-10 * diagonal.max():
            continue
        fixed = C.copy()
        for _ in range(2):
            missing = problem.target - fixed[:, rows] @ X
            fixed[:, rows] += np.linalg.solve(R.T, missing.T).T @ Q.T
        return fixed
    raise ValueError("X must have full column rank in this basis")


def relative_gap(objective: float, bound: float) -> float:
    """Return (objective - bound) / bound, infinite without a bound."""
    return (objective - bound) / bound if bound > 0 else float("inf")
