"""Semismooth Newton on the dual in k d unknowns: fast where noise is not nearly everything."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from pdpbook.gwa.dual import best_levels
from pdpbook.gwa.problem import Problem
from pdpbook.gwa.rows import Solution, certified

__all__: list[str] = []

Floats = NDArray[np.float64]


class _Point:
    """Value, gradient and generalized Hessian of G(L) - <L, target>, at Lambda = L."""

    def __init__(self, problem: Problem, L: Floats) -> None:
        self.problem = problem
        self.ratio = problem.kappa / problem.sigma2
        self.a = problem.X @ L.T
        size = np.abs(self.a)
        self.nu, squares = best_levels(problem, size)
        quadratic = squares + float(problem.tau @ self.nu) ** 2 / self.ratio
        if np.isfinite(problem.prior):
            quadratic += problem.sigma2 / problem.prior * float((problem.pull_back(L) ** 2).sum())
        pairing = float(np.vdot(L, problem.target))
        scale = pairing / quadratic  # to the best point of the ray
        self.L, self.a, self.nu = L * scale, self.a * scale, self.nu * scale
        self.value = -0.5 * pairing * scale
        excess = size * abs(scale) - self.nu[problem.codes][:, None]
        self.active = excess > 0
        self.C = np.sign(self.a) * np.maximum(excess, 0.0)

    def ridge(self) -> Floats | None:
        problem = self.problem
        if not np.isfinite(problem.prior):
            return None
        T = np.eye(problem.X.shape[1]) if problem.basis is None else problem.basis
        return (T.T @ T) * (problem.sigma2 / problem.prior)

    def gradient(self) -> Floats:
        gradient = self.C.T @ self.problem.X - self.problem.target
        ridge = self.ridge()
        return gradient if ridge is None else gradient + self.L @ ridge

    def hessian(self) -> Floats:
        problem = self.problem
        (k, d), m = problem.target.shape, len(problem.tau)
        count = np.add.reduceat(self.active.sum(axis=1), problem.starts)
        saturated = np.flatnonzero((self.nu > 0) & (count > 0))
        w = np.empty((m, k, d))
        H = np.zeros((k, d, k, d))
        ridge = self.ridge()
        for j in range(k):
            chosen = problem.X[self.active[:, j]]
            H[j, :, j, :] = chosen.T @ chosen
            if ridge is not None:
                H[j, :, j, :] += ridge
            signed = (np.sign(self.a[:, j]) * self.active[:, j])[:, None] * problem.X
            w[:, j, :] = np.add.reduceat(signed, problem.starts, axis=0)
        flat = H.reshape(k * d, k * d)
        if len(saturated):
            w_s = w[saturated].reshape(-1, k * d)
            n_s, tau = count[saturated].astype(float), problem.tau[saturated]
            scaled = w_s / np.sqrt(n_s)[:, None]
            v = (tau / n_s) @ w_s
            flat -= scaled.T @ scaled - np.outer(v, v) / (self.ratio + float((tau**2 / n_s).sum()))
        return flat


def solve_newton(problem: Problem, tol: float, steps: int = 25) -> Solution:
    """Newton with ray scaling and a line search; the caller certifies that sigma2 > 0, norm l1."""
    n = len(problem.X)
    rows = np.arange(n)
    point = _Point(problem, problem.target)  # least squares, since X has orthonormal columns
    found = None
    step = 0
    for step in range(steps):
        gradient = point.gradient()
        small = float(np.abs(gradient).max() / np.abs(problem.target).max())
        if small < np.sqrt(tol):
            status = f"newton: {step} steps"
            found = certified(problem, rows, point.C.T, point.L * problem.sigma2, status)
            if found.gap <= tol:
                return found
        H = point.hessian()
        H[np.diag_indices_from(H)] += 1e-14 * np.trace(H) / len(H) + 1e-3 * min(small, 1.0) ** 2
        try:
            move = -np.linalg.solve(H, gradient.ravel()).reshape(gradient.shape)
        except np.linalg.LinAlgError:
            break
        slope = float(np.vdot(move, gradient))
        length, new = 1.0, point
        while length > 1e-6:
            new = _Point(problem, point.L + length * move)
            if new.value <= point.value + 1e-4 * length * slope:
                break
            length /= 2
        else:
            break
        point = new
    status = f"newton: stopped after {step} steps"
    return found or certified(problem, rows, point.C.T, point.L * problem.sigma2, status)
