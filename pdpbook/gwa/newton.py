"""Semismooth Newton on the dual, in k d unknowns, for where data dominate.

There nearly all rows may carry weight. With a million rows of ten columns the interior point on all
of them took two minutes and 2.6 GB, this three steps, 7 seconds and 1 GB (`gwa_solvers.csv` in
`lab/benchmarks`). Where noise dominates, too few entries carry weight near least squares, and the
system has no full rank.
"""

from __future__ import annotations

import numpy as np

from pdpbook import Floats
from pdpbook.gwa.dual import best_levels
from pdpbook.gwa.problem import Problem

STEPS = 25


class NewtonSolver:
    """Steps with a line search, from least squares; for sigma2 > 0 and the norm l1."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.point = problem, DualPoint(problem, problem.target)

    def has_full_rank(self) -> bool:
        """Whether more entries than unknowns carry weight, beside one for each level above 0."""
        point = self.point
        carry = np.count_nonzero(np.abs(point.a) > point.nu[self.problem.codes][:, None])
        return bool(carry - np.count_nonzero(point.nu) > point.L.size)

    def run(self, tol: float) -> float:
        """Until the gradient is below `tol`, relative to the target, or there is no progress."""
        for self.steps in range(STEPS):
            point = self.point
            small = float(np.abs(point.gradient).max() / np.abs(self.problem.target).max())
            if small < tol:
                break
            H = point.hessian()
            shift = 1e-14 * np.trace(H) / len(H) + 1e-3 * min(small, 1.0) ** 2
            try:
                move = -np.linalg.solve(H + shift * np.eye(len(H)), point.gradient.ravel())
            except np.linalg.LinAlgError:
                break
            move, length = move.reshape(point.L.shape), 1.0
            slope = float(np.vdot(move, point.gradient))
            new = DualPoint(self.problem, point.L + move, point.nu)
            while new.value > point.value + 1e-4 * length * slope and length > 1e-6:
                length /= 2
                new = DualPoint(self.problem, point.L + length * move, point.nu)
            if not new.value < point.value:
                break  # rounding allows no more
            self.point = new
        self.C, self.M = self.point.soft().T, self.point.L * self.problem.sigma2
        self.status = f"newton: {self.steps} steps"
        return small


class DualPoint:
    """Value, gradient and generalized Hessian of G(L) - <L, target>, at Lambda = L.

    L is scaled to the best point of its ray. Where the gradient C X + L R - target is 0, R the
    ridge of a prior, C = soft(X L^T) is optimal: at L = target, least squares but for thresholds.
    """

    def __init__(self, problem: Problem, L: Floats, levels: Floats | None = None) -> None:
        self.problem = problem
        self.ratio = problem.kappa / problem.sigma2
        self.ridge = problem.ridge() * problem.sigma2
        a = problem.X @ L.T
        nu, squares = best_levels(problem, np.abs(a), levels)
        quadratic = squares + float(problem.tau @ nu) ** 2 / self.ratio
        quadratic += float(np.vdot(L, L @ self.ridge))
        pairing = float(np.vdot(L, problem.target))
        scale = pairing / quadratic
        self.L, self.a, self.nu = L * scale, a * scale, nu * abs(scale)
        self.value = -0.5 * pairing * scale
        self.gradient = self.soft().T @ problem.X + self.L @ self.ridge - problem.target

    def soft(self) -> Floats:
        """X L^T, soft-thresholded at the levels of the users, shape (n, k)."""
        nu = self.nu[self.problem.codes][:, None]
        return np.asarray(self.a - np.clip(self.a, -nu, nu))

    def hessian(self) -> Floats:
        """Matrix of shape (k d, k d); the levels that are above 0 are eliminated."""
        signs = np.sign(self.soft())
        rows = np.flatnonzero(signs.any(axis=1))
        signs, X, codes = signs[rows], self.problem.X[rows], self.problem.codes[rows]
        tight = self.nu[codes] > 0
        users, starts = np.unique(codes[tight], return_index=True)
        count = np.add.reduceat(np.abs(signs[tight]).sum(axis=1), starts) if len(users) else users
        (k, d), tau = self.L.shape, self.problem.tau[users]
        H, w = np.zeros((k, d, k, d)), np.zeros((len(users), k, d))
        for j in range(k):
            signed = signs[:, j, None] * X
            H[j, :, j, :] = signed.T @ signed + self.ridge
            if len(users):
                w[:, j] = np.add.reduceat(signed[tight], starts)
        flat = w.reshape(-1, k * d)
        scaled, v = flat / np.sqrt(count)[:, None], (tau / count) @ flat
        den = self.ratio + float((tau**2 / count).sum())
        return H.reshape(k * d, k * d) - scaled.T @ scaled + np.outer(v, v / den)
