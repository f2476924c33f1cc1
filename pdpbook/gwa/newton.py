"""Semismooth Newton method on the dual, in k d unknowns, for where data dominate.

There nearly all rows carry weight. With a million rows of ten columns the interior point on all of
them took two minutes and 2.6 GB, and on a growing set of rows it does not end; this takes three
steps, 7 seconds and 1 GB (`gwa_solvers.csv` in `lab/benchmarks`). Where noise dominates it fails:
too few entries carry weight near least squares, and the Hessian has no full rank.

The dual of (1) and (2) in `dual`, at Lambda = L = M / sigma2, is to minimize

    (1)  F(L) = 1/2 (S + (sum_l tau_l nu_l)^2 / ratio + <L, L R>) - <L, A>,
         S = sum over users l, their rows i and k entries j of (|(L x_i)_j| - nu_l)_+^2,

at the best levels nu of L, with ratio = kappa / sigma2 and R = 0 without a prior. With C the soft
threshold of L X^T at the levels, its gradient is

    (2)  C X + L R - A.

So where it is 0, C is optimal. Let sign_ij be the sign of c_ij, 0 where c_ij = 0, and count_l the
number of weights of user l other than 0. The levels above 0 follow L by (3) and (4) of
`dual`, and between kinks the Hessian is

    (3)  H dL = B dL + dL R - W^T W / count dL + v v^T dL / D,
         B dL = sum over rows i of (sign_ij^2 (dL x_i)_j) x_i^T,
         (W dL)_l = sum over user l of sign_ij (dL x_i)_j,
         v = W^T (tau / count),   D = ratio + sum_l tau_l^2 / count_l,

with W, v and D over users whose level is above 0: the Schur complement (10) of `interior` at
weights that are 0 or not.
"""

from __future__ import annotations

import numpy as np

from pdpbook import Floats
from pdpbook.gwa.dual import best_levels
from pdpbook.gwa.problem import Problem

MAX_STEPS = 25
SUFFICIENT = 1e-4  # Armijo's share of the decrease that the slope predicts
SHORTEST = 1e-6  # step of the line search
SHIFT = 1e-14  # multiple of the identity that covers rounding of H, of its mean diagonal
DAMPING = 1e-3  # another, times the squared error, which leaves Newton's rate as it is


class NewtonSolver:
    """Newton's method with a line search, from least squares; for sigma2 > 0 and the norm l1."""

    def __init__(self, problem: Problem) -> None:
        self.problem, self.point = problem, DualPoint(problem, problem.target)

    def has_full_rank(self) -> bool:
        """Whether more weights are not 0 than H has unknowns, beside one for each level above 0."""
        point = self.point
        levels = point.nu[self.problem.codes][:, None]
        weights = np.count_nonzero(np.abs(point.image) > levels)
        return bool(weights - np.count_nonzero(point.nu) > point.L.size)

    def run(self, tol: float) -> float:
        """Take steps until the gradient (2) is below `tol`, relative to A, and return its size."""
        for self.steps in range(MAX_STEPS):
            error = float(np.abs(self.point.gradient).max() / np.abs(self.problem.target).max())
            if error < tol:
                break
            try:
                move = self.newton_step(error)
            except np.linalg.LinAlgError:
                break
            new = self.line_search(move)
            if not new.value < self.point.value:
                break  # rounding allows no more
            self.point = new
        self.C, self.M = self.point.weights().T, self.point.L * self.problem.sigma2
        self.status = f"newton: {self.steps} steps"
        return error

    def newton_step(self, error: float) -> Floats:
        point, H = self.point, self.point.hessian()
        shift = SHIFT * np.trace(H) / len(H) + DAMPING * min(error, 1.0) ** 2
        move = -np.linalg.solve(H + shift * np.eye(len(H)), point.gradient.ravel())
        return np.reshape(move, point.L.shape)

    def line_search(self, move: Floats) -> DualPoint:
        """Halve the step until (1) falls by enough."""
        point, length = self.point, 1.0
        slope = float(np.vdot(move, point.gradient))
        new = DualPoint(self.problem, point.L + move, point.nu)
        while new.value > point.value + SUFFICIENT * length * slope and length > SHORTEST:
            length /= 2
            new = DualPoint(self.problem, point.L + length * move, point.nu)
        return new


class DualPoint:
    """F, its gradient and Hessian at L, scaled to the smallest F of all its multiples."""

    def __init__(self, problem: Problem, L: Floats, levels: Floats | None = None) -> None:
        self.problem = problem
        self.ratio = problem.kappa / problem.sigma2
        self.R = problem.prior_matrix() * problem.sigma2
        image = problem.X @ L.T
        nu, S = best_levels(problem, np.abs(image), levels)
        quadratic = S + float(problem.tau @ nu) ** 2 / self.ratio
        quadratic += float(np.vdot(L, L @ self.R))
        pairing = float(np.vdot(L, problem.target))
        scale = pairing / quadratic
        self.L, self.image, self.nu = L * scale, image * scale, nu * abs(scale)
        self.value = -0.5 * pairing * scale  # (1)
        self.gradient = self.weights().T @ problem.X + self.L @ self.R - problem.target  # (2)

    def weights(self) -> Floats:
        """Return C^T, shape (n, k): L X^T, soft-thresholded at the levels of the users."""
        nu = self.nu[self.problem.codes][:, None]
        return np.asarray(self.image - np.clip(self.image, -nu, nu))

    def hessian(self) -> Floats:
        """Return H of (3), shape (k d, k d)."""
        signs = np.sign(self.weights())
        rows = np.flatnonzero(signs.any(axis=1))
        signs, X, codes = signs[rows], self.problem.X[rows], self.problem.codes[rows]
        limited = self.nu[codes] > 0
        users, starts = np.unique(codes[limited], return_index=True)
        (k, d), tau = self.L.shape, self.problem.tau[users]
        blocks, products = np.zeros((k, d, k, d)), np.zeros((len(users), k, d))
        for j in range(k):
            signed = signs[:, j, None] * X
            blocks[j, :, j, :] = signed.T @ signed + self.R
            if len(users):
                products[:, j] = np.add.reduceat(signed[limited], starts)
        H, W = blocks.reshape(k * d, k * d), products.reshape(-1, k * d)
        if not len(users):
            return H
        count = np.add.reduceat(np.abs(signs[limited]).sum(axis=1), starts)
        scaled_W, v = W / np.sqrt(count)[:, None], (tau / count) @ W
        D = self.ratio + float((tau**2 / count).sum())
        return H - scaled_W.T @ scaled_W + np.outer(v, v / D)
