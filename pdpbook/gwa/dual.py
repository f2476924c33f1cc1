"""The dual of the weighting problem, evaluated exactly, and the repair of its constraint.

By weak duality any multipliers M of C X = A with <M, A> > 0 bound the optimum from below,

    (1)  optimum >= <M, A>^2 / Q(M),
    (2)  Q(M) = min over nu >= 0 of  S(nu) / sigma2 + (sum_l tau_l nu_l)^2 / kappa + <M, M R>,
         S(nu) = sum over users l, their rows i and k entries j of (|(M x_i)_j| - nu_l)_+^2,

where nu_l is the level of user l and R = 0 without a prior: statement ``thm-gwa-dual``. At the
best levels there is a number t with

    (3)  sum over the entries of user l of (|(M x_i)_j| - nu_l)_+ = tau_l t   where nu_l > 0,
    (4)  sum_l tau_l nu_l = t kappa / sigma2.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats
from pdpbook.gwa.problem import Problem

MAX_PASSES = 200
SMALLEST_DIAGONAL = 1e-10  # of R in X = Q R, relative to the largest: below it rows do not suffice


class DualValue(NamedTuple):
    """A lower bound of the optimum from multipliers M = sigma2 Lambda, scaled to their best."""

    bound: float
    multipliers: Floats  # (k, d), M, so that bound = <M, target>
    levels: Floats  # (m,), the soft threshold of every user, for M as scaled
    largest: Floats  # (n,), the largest |M x_i| of every row, for M as scaled


def evaluate(problem: Problem, M: Floats) -> DualValue:
    """Return the best lower bound (1) of all multiples of M; levels and scale are optimal."""
    if not (float(np.vdot(M, problem.target)) > 0 and np.isfinite(M).all()):
        no_levels = np.zeros(len(problem.tau))
        return DualValue(0.0, np.zeros_like(M), no_levels, np.zeros(len(problem.X)))
    M = M / np.abs(M).max()
    sizes = magnitudes(problem, M)
    levels, S = best_levels(problem, sizes)
    Q = float(problem.tau @ levels) ** 2 / problem.kappa
    Q += S / (problem.sigma2 or 1.0) + float(np.vdot(M, M @ problem.prior_matrix()))  # (2)
    pairing = float(np.vdot(M, problem.target))
    scale = pairing / Q
    bound = pairing * scale  # (1)
    return DualValue(bound, M * scale, levels * scale, sizes.max(axis=1) * scale)


def magnitudes(problem: Problem, M: Floats) -> Floats:
    """Return |(M x_i)_j| of (2), shape (n, k); with l2 norms that of M x_i, shape (n, 1)."""
    image = M @ problem.X.T  # (k, n): a maximum over entries is quick where rows lie side by side
    if problem.grouped:
        return np.asarray(np.linalg.norm(image, axis=0)[:, None])
    return np.abs(image, out=image).T


def best_levels(
    problem: Problem, sizes: Floats, start: Floats | None = None
) -> tuple[Floats, float]:
    """Return the levels that minimize (2), and S there.

    They come from below: for the entries above the levels so far (3) and (4) are solved as if the
    others did not count, which is Newton's method on a convex function, until no entry changes
    sides. `start` are levels to begin with.
    """
    tau = problem.tau
    largest = sizes.max(axis=1)
    largest_of_user = np.maximum.reduceat(largest, problem.starts)
    if problem.sigma2 == 0:
        return largest_of_user, 0.0
    ratio = problem.kappa / problem.sigma2
    floor = lowest_levels(problem, largest_of_user)

    # rows below the floor are below the best levels, too: they do not count
    rows = np.flatnonzero(largest >= floor[problem.codes])
    codes = problem.codes[rows]
    if len(rows) < len(sizes):
        sizes = sizes[rows]
    starts = np.searchsorted(codes, np.arange(len(tau)))

    levels = np.minimum(floor if start is None else start, largest_of_user)
    count = np.zeros(len(tau), dtype=np.intp)
    for _ in range(MAX_PASSES):
        above = sizes >= levels[codes][:, None]
        last_count = count
        count = np.add.reduceat(above.sum(axis=1), starts)
        if np.array_equal(count, last_count):
            break
        total = np.add.reduceat(np.where(above, sizes, 0.0).sum(axis=1), starts)
        levels = levels_of_sums(total, count, tau, ratio)
        levels = np.minimum(levels, largest_of_user)  # which rounding may exceed
    excess = np.maximum(sizes - levels[codes][:, None], 0.0)
    return levels, float(np.vdot(excess, excess))


def lowest_levels(problem: Problem, largest_of_user: Floats) -> Floats:
    """Return bounds of the best levels from below.

    A level is at most the user's largest entry, so (4) bounds t; by (3) no entry exceeds its level
    by more than tau_l t.
    """
    t = float(problem.tau @ largest_of_user) * problem.sigma2 / problem.kappa
    return np.maximum(largest_of_user - problem.tau * t, 0.0)


def levels_of_sums(total: Floats, count: NDArray[np.intp], tau: Floats, ratio: float) -> Floats:
    """Solve (3) and (4) given the number of entries above each level, and their sum.

    By (3) levels are (total - tau t)_+ / count; (4) is one falling convex equation in t, which
    Newton's method solves from the left.
    """
    t = 0.0
    levels = total / count
    for _ in range(MAX_PASSES):
        positive = levels > 0
        slope = ratio + float((tau[positive] ** 2 / count[positive]).sum())
        step = (float(tau @ levels) - ratio * t) / slope
        if not step > 4e-16 * t:  # two units in the last place
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
        if diagonal.min() < SMALLEST_DIAGONAL * diagonal.max():
            continue
        fixed = C.copy()
        for _ in range(2):  # the second time for what rounding of the first missed
            missing = problem.target - fixed[:, rows] @ X
            fixed[:, rows] += np.linalg.solve(R.T, missing.T).T @ Q.T
        return fixed
    raise ValueError("X must have full column rank in this basis")


def relative_gap(objective: float, bound: float) -> float:
    """Return (objective - bound) / bound, infinite without a bound."""
    return (objective - bound) / bound if bound > 0 else float("inf")
