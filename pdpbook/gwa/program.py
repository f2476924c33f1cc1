"""The convex program as the mathematics reads, for any solver that cvxpy knows."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from pdpbook.gwa.problem import Problem

Floats = NDArray[np.float64]

SETTINGS: dict[str, dict[str, Any]] = {
    "CLARABEL": {
        "tol_gap_abs": 1e-14,
        "tol_gap_rel": 1e-11,
        "tol_feas": 1e-11,
        "reduced_tol_gap_abs": 1e-10,
        "reduced_tol_gap_rel": 1e-9,
        "reduced_tol_feas": 1e-9,
    },
    "PIQP": {"eps_abs": 1e-10, "eps_rel": 1e-10},
}

# with cones it breaks down when asked for more than it can do
CONES = [{"tol_gap_abs": 1e-3 * tol, "tol_gap_rel": tol, "tol_feas": tol} for tol in (1e-9, 1e-8)]


def load_cvxpy() -> Any:
    """Import it when it is used."""
    import cvxpy

    return cvxpy


def solve_program(
    problem: Problem, solver: str = "CLARABEL", **settings: Any
) -> tuple[Floats, Floats, str]:
    """Return C, the multipliers M of C X = target and the solver's status.

    l1 norms are split, C = P - N with P, N >= 0: at the optimum no entry uses both. Lengths and
    prices are scaled to the order of 1, because solvers stop at absolute tolerances too.
    """
    cp = load_cvxpy()
    X, A = problem.X, problem.target
    (n, d), (k, m) = X.shape, (len(A), len(problem.tau))
    length = float(np.linalg.norm(A) / np.sqrt(k * n)) or 1.0  # columns of X are orthonormal
    price = max(problem.sigma2, problem.kappa)
    member = sparse.csr_matrix((np.ones(n), (np.arange(n), problem.codes)), shape=(n, m))
    t = cp.Variable(nonneg=True)
    quad: Any
    if problem.grouped:
        Z = cp.Variable((k, n))
        sizes = cp.norm(Z, 2, axis=0) @ member
        quad = cp.sum_squares(Z)
    else:
        P, N = cp.Variable((k, n), nonneg=True), cp.Variable((k, n), nonneg=True)
        Z = P - N
        sizes = cp.sum(P + N, axis=0) @ member
        quad = cp.sum_squares(P) + cp.sum_squares(N)
    objective = problem.kappa / price * cp.square(t)
    if problem.sigma2 > 0:
        objective = objective + problem.sigma2 / price * quad
    if np.isfinite(problem.prior):
        basis = np.eye(d) if problem.basis is None else problem.basis
        E = cp.Variable((k, len(basis)))
        equal = Z @ X + E @ basis == A / length
        objective = objective + problem.prior / price * cp.sum_squares(E)
    else:
        equal = Z @ X == A / length
    program = cp.Problem(cp.Minimize(objective), [equal, sizes <= problem.tau * t])
    ladder = CONES if problem.grouped and solver == "CLARABEL" and not settings else [settings]
    status = ""
    for options in ladder:
        status = run_program(program, solver, **options)
        if Z.value is not None:
            break
    if Z.value is None:
        return np.zeros((k, n)), np.zeros((k, d)), status
    M = -np.asarray(equal.dual_value) / 2 * price * length
    return np.asarray(Z.value) * length, M, status


def is_installed(solver: str) -> bool:
    """Whether cvxpy finds the solver."""
    return solver in load_cvxpy().installed_solvers()


def run_program(program: Any, solver: str, **settings: Any) -> str:
    """Solve with the settings above; a failure of the solver is a status too."""
    cp = load_cvxpy()
    try:
        with warnings.catch_warnings():  # the certificate judges an inaccurate solution
            warnings.simplefilter("ignore", UserWarning)
            program.solve(solver=solver, **{**SETTINGS.get(solver, {}), **settings})
    except cp.error.SolverError as error:
        return str(error)
    return str(program.status)


def solve_linear_program(problem: Problem) -> tuple[Floats, Floats, str]:
    """Return C, multipliers and status of sigma2 = 0: the smallest t, by the HiGHS simplex."""
    X, A = problem.X, problem.target
    (n, _), (k, m) = X.shape, (len(A), len(problem.tau))
    length = float(np.linalg.norm(A) / np.sqrt(k * n)) or 1.0
    member = sparse.csr_matrix((np.ones(n), (problem.codes, np.arange(n))), shape=(m, n))
    half = sparse.kron(sparse.eye(k), sparse.csr_matrix(X.T))  # C row by row
    none = sparse.csr_matrix((half.shape[0], 1))
    sums = sparse.hstack([member] * (2 * k))
    result = optimize.linprog(
        np.append(np.zeros(2 * k * n), 1.0),
        A_ub=sparse.hstack([sums, sparse.csr_matrix(-problem.tau[:, None])]).tocsr(),
        b_ub=np.zeros(m),
        A_eq=sparse.hstack([half, -half, none]).tocsr(),
        b_eq=A.ravel() / length,
        method="highs",
    )
    if result.x is None:
        return np.zeros((k, n)), np.zeros(A.shape), result.message
    P, N = result.x[:-1].reshape(2, k, n)
    # f = kappa t^2, so the multipliers of t count kappa t times
    M = np.reshape(result.eqlin.marginals, A.shape) * problem.kappa * result.x[-1] * length
    return (P - N) * length, M, result.message
