"""Weights of smallest error when noise follows the exact sensitivity, and bounds that prove it."""

from collections.abc import Iterator

import numpy as np

from pdpbook import Floats
from pdpbook.gwa.dual import relative_gap, repair
from pdpbook.gwa.exact_interior import ExactInteriorPoint, Parts
from pdpbook.gwa.problem import Problem
from pdpbook.gwa.rows import Solution
from pdpbook.gwa.sensitivity import exact_sensitivity

STEPS, EVERY = 300, 3  # steps at most, and between new cuts


def check_exact(problem: Problem) -> None:
    """Refuse what the exact sensitivity is not made for."""
    if problem.grouped:
        raise ValueError("norm must be 'l1' with sensitivity='exact', which is about Laplace noise")
    if not problem.sigma2 > 0:
        raise ValueError("sigma2 must be above 0 with sensitivity='exact'; got 0")
    if np.isfinite(problem.prior):
        raise ValueError(f"prior must be None with sensitivity='exact'; got {problem.prior:g}")
    if len(problem.target) > 15:
        raise ValueError(
            f"target must have at most 15 rows with sensitivity='exact'; got {len(problem.target)}"
        )


def solve_exact(problem: Problem, tol: float) -> tuple[Solution, Parts]:
    """Interior point from least squares, until weights and multipliers prove each other."""
    point = ExactInteriorPoint(problem, problem.target @ np.linalg.pinv(problem.X))
    best = _certified(problem, point)
    for error in descend(point, 0.1 * tol):
        if error < tol:
            best = min(best, _certified(problem, point), key=lambda found: found[0].gap)
            if best[0].gap < 0.5 * tol:
                break
    else:  # the end of its steps, or of what rounding allows
        best = min(best, _certified(problem, point), key=lambda found: found[0].gap)
    return best


def _certified(problem: Problem, point: ExactInteriorPoint) -> tuple[Solution, Parts]:
    """Feasible weights from where the search stands, and the gap that its parts prove."""
    C, M, parts = repair(problem, point.C), point.M, point.parts()
    bound, _ = bound_of_parts(problem, M, parts)
    gap = relative_gap(exact_objective(problem, C), bound)
    cuts = sum(len(share.Z) for share in point.shares)
    status = f"interior point: {point.steps} steps, {cuts} cuts"
    return Solution(np.arange(len(problem.X)), C, M, gap, status), parts


def descend(point: ExactInteriorPoint, margin: float) -> Iterator[float]:
    """Steps and new cuts in turn; yields how far the optimum is."""
    while point.steps < STEPS:
        error = point.measure()
        if point.steps % EVERY == 0 and point.join(margin):
            error = point.measure()
        yield error
        try:
            point.step()
        except (FloatingPointError, np.linalg.LinAlgError):
            break


def exact_objective(problem: Problem, C: Floats) -> float:
    """Objective at C with the exact sensitivity."""
    return problem.objective(C, float(np.max(exact_sensitivity(C, problem.codes) / problem.tau)))


def bound_of_parts(problem: Problem, M: Floats, parts: Parts) -> tuple[float, float]:
    """Lower bound on the optimum from any multipliers M and any parts w of M X^T, and its scale.

    With M x_i = r_i + sum over z of w_iz z, the optimum is at least
    <M, A>^2 / (sum |r_i|^2 / sigma2 + (sum tau_l max_i |w_iz|)^2 / kappa), whatever the scale of M.
    The parts are taken times the scale that suits M best.
    """
    pairing = float(np.vdot(M, problem.target))
    if not (pairing > 0 and np.isfinite(M).all()):
        return 0.0, 0.0
    image, whole, paid = problem.X @ M.T, np.empty((len(problem.X), len(M))), 0.0
    for own, tau, (Z, w) in zip(problem.rows_of_users, problem.tau, parts, strict=True):
        whole[own] = (w @ Z).T if own.stop - own.start < len(M) else w @ Z
        paid += tau * float(np.abs(w).max(axis=0).sum())
    size = float(np.vdot(whole, whole)) / problem.sigma2 + paid**2 / problem.kappa
    scale = float(np.vdot(image, whole)) / problem.sigma2 / size if size > 0 else 0.0
    rest = image - scale * whole
    price = float(np.vdot(rest, rest)) / problem.sigma2 + (scale * paid) ** 2 / problem.kappa
    return pairing**2 / price, scale


def search_bound(problem: Problem, C: Floats, M: Floats) -> float:
    """The best bound that multipliers M prove, searched for from weights C."""
    pairing = float(np.vdot(M, problem.target))
    if not (pairing > 0 and np.isfinite(M).all()):
        return 0.0
    point = ExactInteriorPoint(problem, C, M * (exact_objective(problem, C) / pairing))
    best = 0.0
    for error in descend(point, 1e-9):
        if error < 1e-5:
            best = max(best, bound_of_parts(problem, point.M, point.parts())[0])
        if error < 1e-10:
            break
    return best
