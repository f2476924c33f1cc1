"""Optimal weights of a private linear estimate, with a certificate of their optimality."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook.gwa.dual import evaluate, relative_gap
from pdpbook.gwa.exact import bound_of_parts, check_exact, solve_exact
from pdpbook.gwa.exact_interior import Parts
from pdpbook.gwa.newton import solve_newton
from pdpbook.gwa.problem import FEASIBLE, Problem, build_problem, whitening
from pdpbook.gwa.program import is_installed, solve_linear_program, solve_program
from pdpbook.gwa.rows import Solution, certified, restrict, solve_rows, solve_rows_by_program
from pdpbook.gwa.sensitivity import exact_sensitivity
from pdpbook.validation import check_choice, check_positive, check_single

__all__ = ["ConvergenceError", "GWAWeights", "gwa_weights"]

Floats = NDArray[np.float64]

NEXT_TO_NOTHING = 1e-10  # a share of the objective far below every tolerance
SOLVERS = ("auto", "rows", "interior", "newton", "clarabel", "piqp", "highs")
LARGEST = {"interior": 20_000_000, "clarabel": 2_000_000}  # n k d above which auto skips them


class ConvergenceError(RuntimeError):
    """A solver ended before its solution was certified to the tolerance asked for."""


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

    Parameters
    ----------
    X : array_like, shape (n, d)
        Public design.
    users : array_like, shape (n,), optional
        Owner of every row; None makes every row a user.
    sigma2 : float
        Variance of the labels around their mean, at least 0. Public.
    epsilon : float, mapping, or array_like of shape (n,)
        Budget of every user: one number, a mapping from label to budget, or one value a row.
    width : float
        Width B of the public interval of the labels.
    solver : {"auto", "rows", "interior", "newton", "clarabel", "piqp", "highs"}, default "auto"
        Which algorithm: row generation around our interior point, that interior point on all rows,
        semismooth Newton on the dual, or the program in cvxpy (Clarabel, PIQP). "highs" solves the
        linear program of ``sigma2 = 0``. With ``sensitivity="exact"`` there is one algorithm.
    tol : float, default 1e-8
        Largest certified relative gap that is returned.
    target : array_like, shape (k, d), optional
        Linear functions of the coefficients to estimate; the identity by default.
    prior : float, optional
        Prior variance of every coefficient: adds ``prior * |C X - target|_F^2`` to the objective
        and drops the constraint.
    norm : {"l1", "l2"}, default "l1"
        Laplace noise, or Gaussian noise with `delta`.
    delta : float, optional
        Failure probability of the Gaussian version.
    sensitivity : {"entrywise", "exact"}, default "entrywise"
        Whether a user counts with the sum of the norms of their columns or with the exact
        sensitivity over sign vectors, which takes longer (sigma2 > 0, Laplace noise, no prior, at
        most 15 rows of `target`).

    Returns
    -------
    GWAWeights
        The matrix, its objective and certificate, and the noise it needs.

    Raises
    ------
    ConvergenceError
        If the certified gap ends above `tol`; the message has the status and the gap.
    TypeError, ValueError
        If an argument is of a wrong kind, shape or value, or the target is not estimable.

    Notes
    -----
    Statement ``thm-gwa``, chapter *user_level/gwa*; Epasto et al. (2020), Theorem 6.
    """
    check_choice(solver, "solver", SOLVERS)
    check_choice(sensitivity, "sensitivity", ("entrywise", "exact"))
    tol = check_single(check_positive(tol, "tol"), "tol")
    problem, owned = build_problem(
        X,
        users,
        sigma2=sigma2,
        epsilon=epsilon,
        width=width,
        target=target,
        prior=prior,
        norm=norm,
        delta=delta,
    )
    if sensitivity == "exact":
        check_exact(problem)
    elif problem.sigma2 * float(problem.tau.sum()) ** 2 < NEXT_TO_NOTHING * problem.kappa:
        problem = replace(problem, sigma2=0.0)  # only rounding would feel the labels
    T = whitening(problem, default_target=target is None)
    white = problem.change_basis(T)
    parts = None
    if sensitivity == "exact":
        found, parts = solve_exact(white, tol)
    else:
        found = solve(white, solver, tol)
    return _finish(problem, found, T, tol, owned.labels, parts)


def solve(problem: Problem, solver: str, tol: float) -> Solution:
    """Run the solver asked for; "auto" takes what suits and falls back on what is slower."""
    if solver != "auto":
        return RUN[solver](problem, tol)
    entries = problem.X.shape[0] * problem.target.size
    if problem.grouped:
        queue = ["rows", "clarabel"]
    elif problem.sigma2 > 0 and problem.kappa < 300 * problem.sigma2:
        queue = ["interior", "newton"] if entries < 50_000 else ["newton", "interior"]
        queue += ["rows", "clarabel"]
    else:
        queue = ["rows", "interior", "newton", "clarabel"]
    best: Solution | None = None
    for name in queue:
        if (name == "newton" and not problem.sigma2 > 0) or (
            name in LARGEST and entries > LARGEST[name]
        ):
            continue
        found = RUN[name](problem, tol)
        if found.gap <= tol:
            return found
        best = found if best is None or found.gap < best.gap else best
    if best is None:
        raise ConvergenceError("no solver suits a problem of this size")
    return best


def _rows(problem: Problem, tol: float) -> Solution:
    if problem.grouped:
        return solve_rows_by_program(problem, tol, "CLARABEL")
    return solve_rows(problem, tol)


def _interior(problem: Problem, tol: float) -> Solution:
    return solve_rows(problem, tol, everything=True)


def _newton(problem: Problem, tol: float) -> Solution:
    if problem.grouped or not problem.sigma2 > 0:
        raise ValueError("solver must not be 'newton' with norm='l2' or sigma2 = 0")
    return solve_newton(problem, tol)


def program_of(solver: str) -> Callable[[Problem, float], Solution]:
    """Run the program in cvxpy; Clarabel stands in for a solver that is not installed."""

    def run(problem: Problem, tol: float) -> Solution:
        name = solver if is_installed(solver) else "CLARABEL"
        C, M, status = solve_program(problem, name)
        return certified(problem, np.arange(len(problem.X)), C, M, f"{name.lower()}: {status}")

    return run


def _highs(problem: Problem, tol: float) -> Solution:
    if problem.sigma2 > 0 or problem.grouped or np.isfinite(problem.prior):
        raise ValueError("solver='highs' is for the linear program: sigma2 = 0, l1, no prior")
    C, M, status = solve_linear_program(problem)
    return certified(problem, np.arange(len(problem.X)), C, M, f"highs: {status}")


RUN: dict[str, Callable[[Problem, float], Solution]] = {
    "rows": _rows,
    "interior": _interior,
    "newton": _newton,
    "clarabel": program_of("CLARABEL"),
    "piqp": program_of("PIQP"),
    "highs": _highs,
}


def _finish(
    problem: Problem,
    found: Solution,
    T: Floats,
    tol: float,
    labels: NDArray[Any],
    parts: Parts | None,
) -> GWAWeights:
    """Evaluate both ends of the gap once more, in the caller's units and from C alone."""
    missing = restrict(problem, found.rows).infeasibility(found.C)
    if not missing <= FEASIBLE:
        raise ConvergenceError(
            f"the solver ended ({found.status}) with C X = target off by {missing:.2g} of its size"
        )
    C = np.zeros((len(problem.target), len(problem.X)))
    C[:, found.rows] = found.C
    M = found.M @ T.T
    sizes = problem.sizes_of(C) if parts is None else exact_sensitivity(C, problem.codes)
    t = float(np.max(sizes / problem.tau))
    objective = problem.objective(C, t)
    if parts is not None:
        bound, scale = bound_of_parts(problem, M, parts)
        if bound > 0:  # else there is no certificate, which is said below
            unit = bound / float(np.vdot(M, problem.target))
            M, scale = M * unit, scale * unit / problem.sigma2
            parts = tuple((Z, w * scale) for Z, w in parts)
    else:
        bound, M, _ = evaluate(problem, M)
    gap = relative_gap(objective, bound)
    if not -tol <= gap <= tol:  # below 0 there is nothing to certify but rounding
        raise ConvergenceError(
            f"the solver ended ({found.status}) with a certified gap of {gap:.2g}, "
            f"above tol = {tol:g}"
        )
    C[:] = 0.0
    C[:, problem.order[found.rows]] = found.C
    return GWAWeights(
        C=C,
        objective=objective,
        lower_bound=bound,
        gap=gap,
        scale=t / problem.unit,
        multipliers=M / (problem.sigma2 or 1.0),
        contributions=sizes,
        users=labels,
        status=found.status,
        parts=parts,
    )
