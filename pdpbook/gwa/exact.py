"""Weights of smallest error when noise follows the exact sensitivity: cuts by sign vectors.

For small problems: every cut (user l, signs z) asks that the sum of |z c_i| over the rows of l be
at most tau_l t, and brings as many unknowns as l has rows.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import optimize, sparse

from pdpbook.gwa.dual import relative_gap, repair
from pdpbook.gwa.problem import Problem
from pdpbook.gwa.program import load_cvxpy, run_program
from pdpbook.gwa.rows import Solution
from pdpbook.gwa.sensitivity import sign_vectors

__all__: list[str] = []

Floats = NDArray[np.float64]
Signs = list[NDArray[np.intp]]  # for every user, numbers of sign vectors
ROUNDS, PER_USER, SPREAD, NEAR = 40, 6, 24, 1e-6


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


class Blocks:
    """The columns of every user, turned so that signs go on the shorter side.

    The largest |C_S delta|_1 over signs delta of the rows equals the largest sum of |z c_i| over
    signs z of the coordinates; the shorter of the two has fewer signs to try.
    """

    def __init__(self, problem: Problem) -> None:
        self.problem, self.k = problem, len(problem.target)
        self.ends = np.append(problem.starts, len(problem.X))
        self.sizes = np.diff(self.ends)
        self.short = np.minimum(self.sizes, self.k)

    def columns(self, user: int) -> slice:
        """Rows of the design that a user owns."""
        return slice(self.ends[user], self.ends[user + 1])

    def block(self, C: Floats, user: int) -> Floats:
        """Weights of a user, signs to the left."""
        own = C[:, self.columns(user)]
        return own if self.k <= own.shape[1] else own.T

    def signs(self, user: int) -> Floats:
        """All sign vectors of a user's shorter side that begin with +1."""
        return sign_vectors(self.short[user], 0, 1 << (self.short[user] - 1))

    def sums(self, C: Floats) -> list[Floats]:
        """For every user and sign vector, the sum that its cut limits, over tau."""
        found = []
        for user, tau in enumerate(self.problem.tau):
            block, Z = self.block(C, user), self.signs(user)
            step = max(1, (1 << 21) // block.shape[1])
            parts = [np.abs(Z[i : i + step] @ block).sum(axis=1) for i in range(0, len(Z), step)]
            found.append(np.concatenate(parts) / tau)
        return found


def solve_exact(problem: Problem, start: Solution, tol: float) -> Solution:
    """Cut generation from the weights of the entrywise problem."""
    blocks = Blocks(problem)
    rows = np.arange(len(problem.X))
    best = np.zeros((blocks.k, len(rows)))
    best[:, start.rows] = start.C
    C, M, best_sums = best, start.M, blocks.sums(best)
    lowest, status, turn = problem.objective(best, max(s.max() for s in best_sums)), "", 0
    cuts: Signs = [first_cuts(values) for values in best_sums]
    while turn < ROUNDS:
        turn += 1
        C, M, level, status = _solve_cuts(blocks, cuts)
        if not np.isfinite(C).all():
            break
        C = repair(problem, C)
        sums = blocks.sums(C)
        objective = problem.objective(C, max(s.max() for s in sums))
        if objective < lowest:
            best, lowest = C, objective
        if relative_gap(lowest, problem.objective(C, level)) < 0.5 * tol:
            break
        found = False
        middle = blocks.sums((best + C) / 2)  # cuts there are deeper
        for user, have in enumerate(cuts):
            new = [
                at
                for values in (sums[user], middle[user])
                for at in np.argsort(-values)[:PER_USER]
                if values[at] > level * (1 + 0.01 * tol)
            ]
            cuts[user] = np.union1d(have, np.array(new, dtype=np.intp))
            found |= len(cuts[user]) > len(have)
        if not found:
            break
    gap = relative_gap(lowest, exact_bound(problem, best, M))
    count = sum(len(c) for c in cuts)
    return Solution(rows, best, M, gap, f"cuts: {turn} rounds, {count} cuts, {status}")


def first_cuts(values: Floats) -> NDArray[np.intp]:
    """Few sign vectors: the largest, and others spread over all by a multiplicative sequence."""
    if len(values) <= SPREAD:
        return np.arange(len(values))
    spread = (np.arange(1, SPREAD + 1) * 2654435761) % len(values)
    return np.union1d(np.argsort(-values)[:PER_USER], spread)


def _solve_cuts(blocks: Blocks, cuts: Signs) -> tuple[Floats, Floats, float, str]:
    """Minimize under some of the cuts: weights, multipliers, level and status."""
    cp = load_cvxpy()
    problem = blocks.problem
    X, A = problem.X, problem.target
    n, k = len(X), len(A)
    index: Any = np.arange(k * n).reshape(k, n)
    parts, values, lengths, owner = [], [], [], []
    for user, chosen in enumerate(cuts):
        Z = blocks.signs(user)[chosen]
        place = blocks.block(index, user)  # (short, long): unknowns under the signs
        parts.append(np.broadcast_to(place.T, (len(Z), *place.T.shape)).reshape(-1, len(place)))
        values.append(np.repeat(Z, place.shape[1], axis=0))
        lengths += [place.shape[1]] * len(Z)
        owner += [user] * len(Z)
    cut = np.repeat(np.arange(len(owner)), lengths)  # one line for every sum under |.|
    line = np.arange(len(cut))
    widths = np.concatenate([np.full(len(p), p.shape[1]) for p in parts])
    E = sparse.csr_matrix(
        (
            np.concatenate([v.ravel() for v in values]),
            np.concatenate([p.ravel() for p in parts]),
            np.append(0, np.cumsum(widths)),
        ),
        shape=(len(line), k * n),
    )
    S = sparse.csr_matrix((np.ones(len(line)), (cut, line)), shape=(len(owner), len(line)))
    half = sparse.kron(sparse.eye(k), sparse.csr_matrix(X.T)).tocsr()
    length = float(np.linalg.norm(A) / np.sqrt(k * n)) or 1.0
    price = max(problem.sigma2, problem.kappa)
    c, t = cp.Variable(k * n), cp.Variable(nonneg=True)
    P, N = cp.Variable(len(line), nonneg=True), cp.Variable(len(line), nonneg=True)
    equal = half @ c == A.ravel() / length
    limits = [E @ c == P - N, S @ (P + N) <= problem.tau[owner] * t, equal]
    objective = problem.sigma2 / price * cp.sum_squares(c) + problem.kappa / price * cp.square(t)
    program = cp.Problem(cp.Minimize(objective), limits)
    status = run_program(program, "CLARABEL")
    if c.value is None:
        return np.full((k, n), np.nan), np.zeros(A.shape), np.nan, status
    M = -np.reshape(equal.dual_value, A.shape) / 2 * price * length
    return np.reshape(c.value, (k, n)) * length, M, float(t.value) * length, status


def exact_bound(problem: Problem, C: Floats, M: Floats) -> float:
    """Lower bound from C and multipliers, for the exact sensitivity; valid for any pair.

    With Lambda x_i = r_i + sum over z of w_iz z, the optimum is at least
    <Lambda, A>^2 / (sum |r_i|^2 / sigma2 + (sum tau_l max_i |w_iz|)^2 / kappa) in units of M.
    """
    blocks = Blocks(problem)
    sums = blocks.sums(C)
    t = max(float(s.max()) for s in sums)
    pairing = float(np.vdot(M, problem.target))
    if not (pairing > 0 and np.isfinite(M).all()):
        return 0.0
    M = M * (problem.objective(C, t) / pairing)
    left, paid = (problem.X @ M.T).T / problem.sigma2, 0.0
    for user, values in enumerate(sums):
        near = values > (1 - NEAR) * t
        if not near.any():
            continue
        use, own = blocks.signs(user)[near], blocks.columns(user)
        w = _decompose(blocks.block(left, user) - blocks.block(C, user), use)
        covered = use.T @ w
        left[:, own] -= covered if len(covered) == blocks.k <= blocks.sizes[user] else covered.T
        paid += problem.tau[user] * float(np.abs(w).max(axis=1).sum())
    price = problem.sigma2 * float(np.vdot(left, left))
    price += (problem.sigma2 * paid) ** 2 / problem.kappa
    return float(np.vdot(M, problem.target)) ** 2 / price


def _decompose(W: Floats, Z: Floats) -> Floats:
    """Weights w of shape (p, s), W close to Z^T w, with a small sum of max_i |w_zi|."""
    (p, k), s = Z.shape, W.shape[1]
    size = float(np.abs(W).max()) or 1.0
    eye = sparse.eye(s)
    match = sparse.kron(sparse.csr_matrix(Z.T), eye)  # w sign by sign
    slack = sparse.eye(k * s)
    top = sparse.kron(sparse.eye(p), sparse.csr_matrix(np.ones((s, 1))))
    none = sparse.csr_matrix((p * s, k * s))
    each = sparse.eye(p * s)
    result = optimize.linprog(
        np.concatenate([np.zeros(2 * p * s), np.full(2 * k * s, 100.0), np.ones(p)]),
        A_eq=sparse.hstack([match, -match, slack, -slack, sparse.csr_matrix((k * s, p))]).tocsr(),
        b_eq=W.ravel() / size,
        A_ub=sparse.hstack([each, each, none, none, -top]).tocsr(),
        b_ub=np.zeros(p * s),
        method="highs",
        options={"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10},
    )
    if result.x is None:
        return np.zeros((p, s))
    plus, minus = result.x[: 2 * p * s].reshape(2, p, s)
    return np.asarray(plus - minus) * size
