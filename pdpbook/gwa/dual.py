"""The dual of the weighting problem, evaluated exactly, and the repair of its constraint."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats
from pdpbook.gwa.problem import Problem

MOST_PASSES = 200


class DualValue(NamedTuple):
    """A lower bound of the optimum from multipliers M = sigma2 Lambda, scaled to their best."""

    bound: float
    multipliers: Floats  # (k, d), M, so that bound = <M, target>
    levels: Floats  # (m,), the soft threshold of every user, for M as scaled
    top: Floats  # (n,), the largest |M x_i| of every row, for M as scaled


def evaluate(problem: Problem, M: Floats) -> DualValue:
    """Best lower bound on the ray through M, exact: user levels and scale are optimized."""
    if not (float(np.vdot(M, problem.target)) > 0 and np.isfinite(M).all()):
        nothing = np.zeros(len(problem.tau)), np.zeros(len(problem.X))
        return DualValue(0.0, np.zeros_like(M), *nothing)
    M = M / np.abs(M).max()
    pairing = float(np.vdot(M, problem.target))
    size = magnitudes(problem, M)
    levels, squares = best_levels(problem, size)
    price = float(problem.tau @ levels) ** 2 / problem.kappa
    price += squares / (problem.sigma2 or 1.0) + float(np.vdot(M, M @ problem.ridge()))
    scale = pairing / price
    return DualValue(pairing * scale, M * scale, levels * scale, size.max(axis=1) * scale)


def magnitudes(problem: Problem, M: Floats) -> Floats:
    """What the levels of the users cut: |M x_i| entry by entry, or its norm; (n, k) or (n, 1)."""
    a = problem.X @ M.T
    return np.linalg.norm(a, axis=1)[:, None] if problem.grouped else np.abs(a, out=a)


def best_levels(
    problem: Problem, size: Floats, start: Floats | None = None
) -> tuple[Floats, float]:
    """Levels nu that minimize sum (|a| - nu)_+^2 / sigma2 + (tau nu)^2 / kappa, and the sum.

    There the sum of (|a| - nu)_+ within a user is tau_l t where nu_l > 0, with t of `water`. By
    Newton's method on convex sums: tangents stay below, so t and the levels come from below,
    and only the first tangent depends on `start`.
    """
    tau = problem.tau
    top = size.max(axis=1)
    highest = np.maximum.reduceat(top, problem.starts)
    if problem.sigma2 == 0:
        return highest, 0.0
    ratio, floor = problem.kappa / problem.sigma2, lowest_levels(problem, highest)
    rows = np.flatnonzero(top >= floor[problem.codes])
    codes = problem.codes[rows]
    if len(rows) < len(size):
        size = size[rows]
    starts = np.searchsorted(codes, np.arange(len(tau)))
    levels = np.minimum(floor if start is None else start, highest)
    count = np.zeros(len(tau), dtype=np.intp)
    for _ in range(MOST_PASSES):
        above = size >= levels[codes][:, None]
        last, count = count, np.add.reduceat(above.sum(axis=1), starts)
        if np.array_equal(count, last):
            break
        total = np.add.reduceat(np.where(above, size, 0.0).sum(axis=1), starts)
        levels = np.minimum(water(total, count, tau, ratio), highest)  # rounding may exceed it
    over = np.maximum(size - levels[codes][:, None], 0.0)
    return levels, float(np.vdot(over, over))


def lowest_levels(problem: Problem, highest: Floats) -> Floats:
    """Bounds of the levels from below, given the largest entry of every user.

    No level exceeds it, so t <= tau highest sigma2 / kappa; no entry exceeds its level by more than
    tau t, which is all that a user's entries may exceed it by together.
    """
    most = problem.tau * float(problem.tau @ highest) * problem.sigma2 / problem.kappa
    return np.maximum(highest - most, 0.0)


def water(total: Floats, count: NDArray[np.intp], tau: Floats, ratio: float) -> Floats:
    """Levels nu = (total - tau t)_+ / count at the root t of tau nu = ratio t."""
    t, levels = 0.0, total / count
    for _ in range(MOST_PASSES):  # Newton from the left, on a convex falling function
        on = levels > 0
        slope = ratio + float((tau[on] ** 2 / count[on]).sum())
        step = (float(tau @ levels) - ratio * t) / slope
        if not step > 4e-16 * t:
            break
        t += step
        levels = np.maximum(total - tau * t, 0.0) / count
    return levels


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
