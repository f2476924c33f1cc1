"""Optimal weights of a private linear estimate, with a certificate of their optimality.

Many rows are solved by row generation: solve on few rows, price all of them with the exact dual,
add the worst. A solution on some rows, with zeros elsewhere, is feasible, and the dual looks at
every row: both ends of the certified gap are exact, statement ``thm-gwa-dual``, part 3. It ends
where noise dominates; where data dominate, too many rows carry weight.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.gwa.certificate import check_exact, judge
from pdpbook.gwa.dual import DualValue, evaluate, relative_gap, repair
from pdpbook.gwa.exact_sensitivity import ExactInteriorPoint, Parts, descend
from pdpbook.gwa.interior import InteriorPoint
from pdpbook.gwa.newton import NewtonSolver
from pdpbook.gwa.problem import FEASIBLE, Problem, build_problem, whitening
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
        new = missing(rows, dual.largest, levels, chosen.places, 1e-3 * max(aim, 1e-9))
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


NEXT_TO_NOTHING = 1e-10  # a share of the objective far below every tolerance
QUICK = 3_000  # entries of C up to which the program in cvxpy takes a fraction of a second
MOST = 20_000_000  # n k d up to which the interior point takes all rows


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
    problem, owned = build_problem(X, users, sigma2, epsilon, width, target, prior, norm, delta)
    if exact:
        check_exact(problem)
    elif problem.sigma2 * float(problem.tau.sum()) ** 2 < NEXT_TO_NOTHING * problem.kappa:
        problem = replace(problem, sigma2=0.0)  # only rounding would feel the labels
    T = whitening(problem, default_target=target is None)
    white = problem.change_basis(T)
    found, parts = solve_exact(white, tol) if exact else (solve(white, solver, tol), None)
    C = np.zeros((len(problem.target), len(problem.X)))
    C[:, found.rows] = found.C
    ended = f"the solver ended ({found.status}) with"
    if not (missing := problem.infeasibility(C)) <= FEASIBLE:
        raise ConvergenceError(f"{ended} C X = target off by {missing:.2g} of its size")
    # both ends of the gap once more, in the caller's units
    value, bound, sizes, M, parts = judge(problem, C, found.M @ T.T, parts)
    gap = relative_gap(value, bound)
    if not -tol <= gap <= tol:  # below 0 there is nothing to certify but rounding
        raise ConvergenceError(f"{ended} a certified gap of {gap:.2g}, above tol = {tol:g}")
    C[:] = 0.0
    C[:, problem.order[found.rows]] = found.C
    scale, Lam = float(np.max(sizes / problem.tau)) / problem.unit, M / (problem.sigma2 or 1.0)
    return GWAWeights(C, value, bound, gap, scale, Lam, sizes, owned.labels, found.status, parts)


def solve(problem: Problem, solver: str, tol: float) -> Solution:
    """Run the solver asked for; "auto" is cvxpy where it is quick, and then what is missing."""
    if problem.grouped and solver == "interior":
        raise ValueError("solver must not be 'interior' with norm='l2', which it does not know")
    small = len(problem.X) * len(problem.target) <= QUICK
    if solver == "cvxpy" or (solver == "auto" and small):
        found = on_all_rows(problem, ProgramSolver(problem), tol)
        if solver == "cvxpy" or found.gap <= tol:
            return found
    return solve_large(problem, tol)


def solve_large(problem: Problem, tol: float) -> Solution:
    """Newton where data dominate, else a growing set of rows, and all of them if that fails."""
    newton = None if problem.grouped or problem.sigma2 == 0 else NewtonSolver(problem)
    if newton and newton.has_full_rank():
        found = on_all_rows(problem, newton, tol)
        if found.gap <= tol:
            return found
    begin, most = (ProgramSolver, MOST // 10) if problem.grouped else (InteriorPoint, MOST)
    found = solve_rows(problem, begin, tol)
    if found.gap > tol and len(problem.X) * problem.target.size <= most:
        found = min(found, on_all_rows(problem, begin(problem), tol), key=lambda one: one.gap)
    return found


def on_all_rows(problem: Problem, solver: Solver | NewtonSolver, tol: float) -> Solution:
    solver.run(0.1 * tol)
    rows, C, M = np.arange(len(problem.X)), solver.C, solver.M
    if not (np.isfinite(C).all() and np.isfinite(M).all()):
        return Solution(rows, np.zeros_like(C), np.zeros_like(M), np.inf, solver.status)
    C = repair(problem, C)
    gap = relative_gap(*judge(problem, C, M, None)[:2])
    return Solution(rows, C, M, gap, solver.status)


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
    gap = relative_gap(*judge(problem, C, M, parts)[:2])
    cuts = sum(len(block.cuts) for block in point.blocks)
    status = f"interior point: {point.steps} steps, {cuts} cuts"
    return Solution(np.arange(len(problem.X)), C, M, gap, status), parts
