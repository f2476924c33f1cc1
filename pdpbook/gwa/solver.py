"""Optimal weights of a private linear estimate, with a certificate of their optimality.

Problems with many rows are solved by row generation: solve the problem on a few of the rows,
evaluate the dual on all of them, and add the rows that violate its constraints most. A solution on
some rows, with zeros elsewhere, is feasible, and the dual looks at every row, so both ends of the
certified gap are exact: statement ``thm-gwa-dual``, part 3. This takes few rows where noise
dominates; where data dominate, too many rows carry weight, and Newton's method takes all of them.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.gwa.certificate import certificate_of, check_exact
from pdpbook.gwa.dual import DualValue, evaluate, relative_gap, repair
from pdpbook.gwa.interior import InteriorPoint
from pdpbook.gwa.newton import NewtonSolver
from pdpbook.gwa.problem import FEASIBLE, Problem, build_problem, whitening
from pdpbook.gwa.program import ProgramSolver
from pdpbook.gwa.sensitivity import ExactInteriorPoint, Parts, descend

Places = NDArray[np.intp]
Solver = InteriorPoint | ProgramSolver  # of C and M, on rows that may become more

MAX_ROUNDS = 60  # of adding rows
ROWS_PER_USER = 3  # that join at a time, at most
FIRST_ROWS = 20  # of all users, for each column of X
FIRST_TOLERANCE = 0.5  # a rough solution shows well enough which rows are missing
NEGLIGIBLE = 1e-10  # share of the objective far below every tolerance
QUICK_WEIGHTS = 3_000  # entries of C for which the program in cvxpy takes a fraction of a second
MAX_SIZE_INTERIOR = 20_000_000  # n k d up to which the interior point may take all rows
MAX_SIZE_CONES = 2_000_000  # n k d up to which the program with l2 norms may


class ConvergenceError(RuntimeError):
    """A solver ended before its solution was certified to the tolerance asked for."""


class Solution(NamedTuple):
    """Weights of some rows, multipliers and what happened; all other weights are 0."""

    rows: Places
    C: Floats  # (k, r), the columns of these rows
    M: Floats
    gap: float
    status: str
    parts: Parts | None = None  # of the exact sensitivity


def first_rows(problem: Problem) -> Places:
    """Return rows to start from: the longest of every user and of all users together.

    If they have less rank than X, all rows are returned.
    """
    size = np.abs(problem.X).max(axis=1)
    count = min(FIRST_ROWS * problem.X.shape[1], len(size))
    of_all = np.argpartition(-size, count - 1)[:count]
    rows = np.union1d(leading(size, problem.codes, ROWS_PER_USER), of_all)
    if np.linalg.matrix_rank(problem.X[rows]) < problem.X.shape[1]:
        return np.arange(len(problem.X))
    return rows


def leading(score: Floats, codes: Places, count: int) -> Places:
    """Return the positions of the `count` largest scores of every user."""
    order = np.lexsort((-score, codes))
    rank_within_user = np.arange(len(order)) - np.searchsorted(codes[order], codes[order])
    return np.asarray(order[rank_within_user < count])


def missing_rows(
    problem: Problem, largest: Floats, levels: Floats, rows: Places, slack: float
) -> Places:
    """Return rows other than `rows` that violate the dual most, a few of each user.

    They are those whose largest |M x_i| exceeds the level of their user by more than a share of
    `slack` of the largest level. `largest` and `levels` are those of a `DualValue`.
    """
    excess = largest - levels[problem.codes]
    excess[rows] = -np.inf
    violated = np.flatnonzero(excess > slack * levels.max())
    worst = leading(excess[violated], problem.codes[violated], ROWS_PER_USER)
    return violated[worst]


def join_rows(problem: Problem, rows: Places, new: Places) -> tuple[Places, Places]:
    """Return both sets of rows, sorted by user, and the places of `rows` among them."""
    both = np.concatenate([rows, new])
    order = np.argsort(problem.codes[both], kind="stable")
    return both[order], np.argsort(order)[: len(rows)]


def solve_rows(problem: Problem, begin: Callable[[Problem], Solver], tol: float) -> Solution:
    """Let rows join until the certified gap is at most `tol`, or no row is missing."""
    rows = first_rows(problem)
    subproblem = problem.on_rows(rows)
    solver = begin(subproblem)
    tolerance = FIRST_TOLERANCE  # of the solver, which falls from round to round
    for round_number in range(1, MAX_ROUNDS + 1):
        error = solver.run(tolerance)
        dual = evaluate(problem, solver.M)
        levels = levels_of_subproblem(problem, subproblem, rows, solver.M, dual)
        slack = 1e-3 * max(tolerance, 1e-9)  # far below what an inexact solver leaves open
        new = missing_rows(problem, dual.largest, levels, rows, slack)

        solver_failed = error > tolerance
        nothing_to_gain = error < 0.1 * tol and not len(new)
        is_last = solver_failed or round_number == MAX_ROUNDS
        if error < 10 * tol or is_last:  # before, the gap is not worth computing
            C = repair(subproblem, np.nan_to_num(solver.C))
            gap = relative_gap(subproblem.objective(C), dual.bound)
            solution = Solution(rows, C, dual.multipliers, gap, solver.status)
            if gap <= tol or is_last or nothing_to_gain:
                break
        if len(new):
            rows, old = join_rows(problem, rows, new)
            subproblem = problem.on_rows(rows)
            solver.extend(subproblem, old)
        else:
            tolerance = min(tolerance, error)  # a larger one would be no step
        factor = 0.4 if tolerance > 0.01 else 0.1
        tolerance = max(tolerance * factor, 0.1 * tol)
    return solution


def levels_of_subproblem(
    problem: Problem, subproblem: Problem, rows: Places, M: Floats, dual: DualValue
) -> Floats:
    """Return the best levels if there were no other rows, shape (m,), at the scale of `dual`.

    They are 0 for users without any of `rows`. The best levels for all rows are higher for users
    who lack rows, and would hide these.
    """
    alone = evaluate(subproblem, M)
    scale = dual.bound / alone.bound if alone.bound else 0.0
    levels = np.zeros(len(problem.tau))
    levels[np.unique(problem.codes[rows])] = alone.levels * scale
    return levels


@dataclass(frozen=True)
class GWAWeights:
    """Weights of a private linear estimate C y + noise, and what certifies them."""

    C: Floats  #: weights, shape (k, n); C X = target unless there is a prior
    objective: float  #: summed error variance at `C`, evaluated exactly
    lower_bound: float  #: no feasible matrix has a smaller objective than this
    gap: float  #: (objective - lower_bound) / lower_bound
    scale: float  #: Laplace scale, or Gaussian standard deviation, that `C` itself needs
    #: Lambda, shape (k, d); lower_bound = sigma2 <Lambda, target>, without sigma2 where that is 0
    multipliers: Floats
    contributions: Floats  #: (m,) summed column norms of every user, or exact sensitivities
    users: NDArray[Any]  #: labels of the users, sorted, shape (m,)
    status: str  #: which solver ran and how it ended
    #: what proves the bound of the exact sensitivity, else None; sign vectors of shape (p, q) and
    #: multipliers (a, p) for every user, a the user's rows, or the coordinates where those are more
    parts: tuple[tuple[Floats, Floats], ...] | None = None


def gwa_weights(
    X: ArrayLike,
    users: ArrayLike | None = None,
    *,
    sigma2: float,
    epsilon: Any,
    width: float,
    solver: str = "auto",
    tol: float = 1e-8,
    target: ArrayLike | None = None,
    prior: float | None = None,
    norm: str = "l1",
    delta: float | None = None,
    sensitivity: str = "entrywise",
) -> GWAWeights:
    r"""Weights of smallest error among all unbiased linear estimates with Laplace noise.

    .. math:: \min_C\ \sigma^2\|C\|_F^2+2k\,b^2\quad\text{where}\quad CX=A,\qquad
              b=\max_l\ \frac{B}{\varepsilon_l}\sum_{i\in S_l}\|c_i\|_1 .

    Statements ``alg-gwa``, ``thm-gwa``, chapter *user_level/gwa*; Epasto et al. (2020), Theorem 6.
    A certified gap above `tol` raises ConvergenceError, with the status and the gap; a target that
    is not estimable ValueError.

    Parameters
    ----------
    X : array_like, shape (n, d)
    users : array_like, shape (n,), optional
    sigma2 : float
        Variance of the labels around their mean, at least 0. Public.
    epsilon : float, mapping, or array_like of shape (n,)
        Budget of every user: one number, a mapping from label to budget, or one value a row.
    width : float
        Width B of the public interval of the labels.
    solver : {"auto", "cvxpy", "interior"}, default "auto"
        "cvxpy" is `gwa_program`, solved by Clarabel. "interior" is our interior point on a set of
        rows that grows, then Newton's method on the dual where nearly all rows carry weight. "auto"
        is the first up to 3,000 weights, and the second for more or where the first is not exact
        enough. With ``sensitivity="exact"`` there is one algorithm.
    tol : float, default 1e-8
        Largest certified relative gap that is returned.
    target : array_like, shape (k, d), optional
        Linear functions A of the coefficients to estimate; the identity by default.
    prior : float, optional
        Prior variance of every coefficient: adds ``prior * |C X - target|_F^2`` to the objective
        and drops the constraint.
    norm : {"l1", "l2"}, default "l1"
        Laplace noise, or Gaussian noise with failure probability `delta`.
    delta : float, optional
    sensitivity : {"entrywise", "exact"}, default "entrywise"
        Whether a user counts with the sum of the norms of their columns or `exact_sensitivity`,
        which takes longer (sigma2 > 0, Laplace noise, no prior, at most 15 rows of `target`).
    """
    check.choice(solver, "solver", ("auto", "cvxpy", "interior"))
    exact = check.choice(sensitivity, "sensitivity", ("entrywise", "exact")) == "exact"
    tol = check.number(tol, "tol")
    problem, owners = build_problem(X, users, sigma2, epsilon, width, target, prior, norm, delta)
    if exact:
        check_exact(problem)
    elif problem.sigma2 * float(problem.tau.sum()) ** 2 < NEGLIGIBLE * problem.kappa:
        problem = replace(problem, sigma2=0.0)  # its term is lost in that of the noise

    T = whitening(problem, default_target=target is None)
    white = problem.change_basis(T)
    found = solve_exact(white, tol) if exact else solve(white, solver, tol)
    C = np.zeros((len(problem.target), len(problem.X)))
    C[:, found.rows] = found.C

    # the certificate once more, in the caller's units
    ended = f"the solver ended ({found.status}) with"
    missing = problem.infeasibility(C)
    if not missing <= FEASIBLE:
        raise ConvergenceError(f"{ended} C X = target off by {missing:.2g} of its size")
    certificate = certificate_of(problem, C, found.M @ T.T, found.parts)
    gap = certificate.gap
    if not -tol <= gap <= tol:  # below 0 there is nothing to certify but rounding
        raise ConvergenceError(f"{ended} a certified gap of {gap:.2g}, above tol = {tol:g}")

    C[:] = 0.0
    C[:, problem.order[found.rows]] = found.C
    t = float(np.max(certificate.contributions / problem.tau))
    return GWAWeights(
        C=C,
        objective=certificate.objective,
        lower_bound=certificate.bound,
        gap=gap,
        scale=t / problem.unit,
        multipliers=certificate.multipliers / (problem.sigma2 or 1.0),
        contributions=certificate.contributions,
        users=owners.labels,
        status=found.status,
        parts=certificate.parts,
    )


def solve(problem: Problem, solver: str, tol: float) -> Solution:
    """Return what the solver that is asked for finds.

    "auto" is the program in cvxpy where that is quick; for the rest, and for what the program does
    not solve to the tolerance, it is `solve_large`.
    """
    if problem.grouped and solver == "interior":
        raise ValueError("solver must be 'auto' or 'cvxpy' with norm='l2'; got 'interior'")
    quick = len(problem.X) * len(problem.target) <= QUICK_WEIGHTS
    if solver == "cvxpy" or (solver == "auto" and quick):
        found = on_all_rows(problem, ProgramSolver(problem), tol)
        if solver == "cvxpy" or found.gap <= tol:
            return found
    return solve_large(problem, tol)


def solve_large(problem: Problem, tol: float) -> Solution:
    """Newton where data dominate, else a growing set of rows, and all of them if that fails."""
    if not problem.grouped and problem.sigma2 > 0:
        newton = NewtonSolver(problem)
        if newton.has_full_rank():
            found = on_all_rows(problem, newton, tol)
            if found.gap <= tol:
                return found

    begin: Callable[[Problem], Solver]
    if problem.grouped:
        begin, max_size = ProgramSolver, MAX_SIZE_CONES
    else:
        begin, max_size = InteriorPoint, MAX_SIZE_INTERIOR
    found = solve_rows(problem, begin, tol)
    if found.gap > tol and len(problem.X) * problem.target.size <= max_size:
        again = on_all_rows(problem, begin(problem), tol)
        found = min(found, again, key=gap_of)
    return found


def gap_of(solution: Solution) -> float:
    return solution.gap


def on_all_rows(problem: Problem, solver: Solver | NewtonSolver, tol: float) -> Solution:
    """Return what a solver finds on all rows, repaired and certified; zeros if it breaks down."""
    solver.run(0.1 * tol)
    rows = np.arange(len(problem.X))
    C, M = solver.C, solver.M
    if not (np.isfinite(C).all() and np.isfinite(M).all()):
        return Solution(rows, np.zeros_like(C), np.zeros_like(M), np.inf, solver.status)
    C = repair(problem, C)
    gap = certificate_of(problem, C, M, None).gap
    return Solution(rows, C, M, gap, solver.status)


def solve_exact(problem: Problem, tol: float) -> Solution:
    """Interior point from least squares, until weights and multipliers prove each other."""
    least_squares = problem.target @ np.linalg.pinv(problem.X)
    point = ExactInteriorPoint(problem, least_squares)
    best = certified(problem, point)
    for error in descend(point, 0.1 * tol):
        if error < tol:
            best = min(best, certified(problem, point), key=gap_of)
            if best.gap < 0.5 * tol:
                return best
    return min(best, certified(problem, point), key=gap_of)


def certified(problem: Problem, point: ExactInteriorPoint) -> Solution:
    """Return feasible weights from where the search stands, and the gap that its parts prove."""
    C = repair(problem, point.C)
    M = point.M
    parts = point.parts()
    gap = certificate_of(problem, C, M, parts).gap
    cuts = sum(len(block.cuts) for block in point.blocks)
    status = f"interior point: {point.steps} steps, {cuts} cuts"
    return Solution(np.arange(len(problem.X)), C, M, gap, status, parts)
