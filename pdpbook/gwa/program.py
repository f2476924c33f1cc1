"""The convex program as the chapter writes it, for any solver that cvxpy knows."""

from __future__ import annotations

import threading
import warnings
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from pdpbook import Floats
from pdpbook._extras import extra
from pdpbook.gwa.problem import Problem, build_problem

Places = NDArray[np.intp]
# tolerances of Clarabel; those called reduced are of a solution that it calls inaccurate
EXACT = {
    "tol_gap_abs": 1e-14,
    "tol_gap_rel": 1e-11,
    "tol_feas": 1e-11,
    "reduced_tol_gap_abs": 1e-10,
    "reduced_tol_gap_rel": 1e-9,
    "reduced_tol_feas": 1e-9,
}
# with l2 norms it breaks down when asked for more than it can do: then the second are tried
CONES = [
    {"tol_gap_abs": 1e-12, "tol_gap_rel": 1e-9, "tol_feas": 1e-9},
    {"tol_gap_abs": 1e-11, "tol_gap_rel": 1e-8, "tol_feas": 1e-8},
]
_last = threading.local()  # the program compiled last, and for which design


def load_cvxpy() -> Any:
    """Return the module cvxpy, or say how to install it."""
    return extra("cvxpy")


def gwa_program(
    X: ArrayLike,
    users: ArrayLike | None = None,
    *,
    sigma2: float,
    epsilon: Any,
    width: float,
    target: ArrayLike | None = None,
    prior: float | None = None,
    norm: str = "l1",
    delta: float | None = None,
) -> Any:
    r"""Convex program of the best weights, for cvxpy.

    .. math:: \min_{C,\,b}\ \sigma^2\|C\|_F^2+2k\,b^2\quad\text{where}\quad CX=A,\qquad
        \sum_{i\in S_l}\|c_i\|_1\le\tau_l b\ \text{ for every user, }\ \tau_l=\varepsilon_l/B .

    Solve it with any solver of cvxpy, or add constraints before:
    ``cvxpy.Problem(program.objective, program.constraints + more)``. Then
    ``program.var_dict["C"].value`` are the weights, and minus half of the dual value of the first
    constraint are multipliers for `certify`. Statement ``thm-gwa``, chapter *user_level/gwa*;
    Epasto et al. (2020), Theorem 6.

    Parameters
    ----------
    X, users, sigma2, epsilon, width, target, prior, norm, delta
        As for `gwa_weights`, but the target is not checked: there is no solution where it is not
        estimable. With norm="l2" the norms are Euclidean, tau is mu / B and the price of b^2
        is k; with a prior, C X + E = A and ``prior * |E|^2`` is part of the objective.

    Returns
    -------
    cvxpy.Problem
        With variables ``C`` (k, n) and ``b``, the scale of the noise, and parameters ``sigma2``,
        ``tau`` (m,) in the order of the sorted users and ``price``, that of b^2: with other values
        it is solved again without being compiled again.

    Examples
    --------
    >>> program = gwa_program([[1.0], [1.0]], ["a", "b"], sigma2=1.0, epsilon=1.0, width=1.0)
    >>> value = program.solve(solver="CLARABEL")
    >>> program.var_dict["C"].value.round(3)
    array([[0.5, 0.5]])
    """
    problem, _ = build_problem(X, users, sigma2, epsilon, width, target, prior, norm, delta)
    original_order = np.argsort(problem.order)  # so that columns of C are the caller's rows
    problem = replace(problem, X=problem.X[original_order], codes=problem.codes[original_order])
    program = write_program(problem)
    fill_in(program, problem, problem.kappa * problem.unit**2, problem.tau * problem.unit)
    return program


def write_program(problem: Problem) -> Any:
    """Write the program with parameters for all numbers but design, target and who owns what."""
    cp = load_cvxpy()
    X, A = problem.X, problem.target
    n = len(X)
    k, d = A.shape
    C = cp.Variable((k, n), name="C")
    b = cp.Variable(name="b")
    sigma2 = cp.Parameter(nonneg=True, name="sigma2")
    price = cp.Parameter(nonneg=True, name="price")
    tau = cp.Parameter(len(problem.tau), nonneg=True, name="tau")

    objective = sigma2 * cp.sum_squares(C) + price * cp.square(b)
    estimate = C @ X
    if np.isfinite(problem.prior):
        basis = np.eye(d) if problem.basis is None else problem.basis
        E = cp.Variable((k, len(basis)), name="E")
        prior = cp.Parameter(nonneg=True, name="prior")
        objective = objective + prior * cp.sum_squares(E)
        estimate = estimate + E @ basis

    owner = sparse.csr_matrix((np.ones(n), (np.arange(n), problem.codes)))  # 1 at (row, user)
    sums_of_norms = cp.norm(C, 2 if problem.grouped else 1, axis=0) @ owner
    return cp.Problem(cp.Minimize(objective), [estimate == A, sums_of_norms <= tau * b])


def fill_in(program: Any, problem: Problem, price: float, tau: Floats, unit: float = 1.0) -> None:
    """Set the parameters of a program, with the objective in this unit."""
    values = {"sigma2": problem.sigma2 / unit, "price": price / unit, "tau": tau}
    if np.isfinite(problem.prior):
        values["prior"] = problem.prior / unit
    for name, value in values.items():
        program.param_dict[name].value = value


class ProgramSolver:
    """Clarabel on the program, scaled to the order of 1: it stops at absolute tolerances too."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem

    def extend(self, problem: Problem, old: Places) -> None:
        """Take a problem with more rows; nothing of the one before is used again."""
        self.problem = problem

    def run(self, tol: float) -> float:
        """Solve it, and return 0; where Clarabel fails C and M are zeros, and it is infinity."""
        problem = self.problem
        A = problem.target
        n = len(problem.X)
        # root mean square of the weights of least squares, as columns of X are orthonormal
        length = float(np.linalg.norm(A) / np.sqrt(len(A) * n)) or 1.0
        unit = max(problem.sigma2, problem.kappa)
        scaled = replace(problem, target=A / length)
        program = compiled(scaled)
        fill_in(program, scaled, problem.kappa, problem.tau, unit)
        for options in CONES if problem.grouped else [EXACT]:
            self.status = f"clarabel: {run_program(program, **options)}, {n} rows"
            C = program.var_dict["C"].value
            if C is not None:
                self.C = C * length
                self.M = -program.constraints[0].dual_value / 2 * unit * length
                return 0.0
        self.C = np.zeros((len(A), n))
        self.M = np.zeros(A.shape)
        return float("inf")


def compiled(problem: Problem) -> Any:
    """Return the program; the last one of this thread again if only parameters changed."""
    design = []
    for array in (problem.X, problem.codes, problem.target, problem.basis):
        design.append(None if array is None else (array.shape, array.tobytes()))
    key = (design, problem.grouped, np.isfinite(problem.prior))
    if getattr(_last, "key", None) != key:
        _last.key, _last.program = key, write_program(problem)
    return _last.program


def run_program(program: Any, **options: Any) -> str:
    """Solve it by Clarabel, and return the status, or what the failure says."""
    cp = load_cvxpy()
    try:
        with warnings.catch_warnings():  # the certificate judges an inaccurate solution
            warnings.simplefilter("ignore", UserWarning)
            program.solve(solver="CLARABEL", warm_start=False, **options)
    except cp.error.SolverError as error:
        for variable in program.variables():
            variable.value = None  # else the solution of the run before stays
        return str(error)
    return str(program.status)
