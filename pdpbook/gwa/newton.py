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
SUFFICIENT_DECREASE = 1e-4  # Armijo's share of the decrease that the slope predicts
SHORTEST_STEP = 1e-6  # of the line search
SHIFT = 1e-14  # multiple of the identity that covers rounding of H, of its mean diagonal
DAMPING = 1e-3  # another multiple, times the squared error, so that the rate stays quadratic


class NewtonSolver:
    """Newton's method with a line search, from least squares; for sigma2 > 0 and the norm l1."""

    def __init__(self, problem: Problem) -> None:
        self.problem = problem
        self.point = DualPoint(problem, problem.target)

    def has_full_rank(self) -> bool:
        """Whether enough weights are not 0 for H of (3) to have full rank.

        That takes more than its unknowns, and another one for each level above 0, which costs a
        rank.
        """
        point = self.point
        levels_of_rows = point.nu[self.problem.codes][:, None]
        nonzero_weights = np.count_nonzero(np.abs(point.image) > levels_of_rows)
        positive_levels = np.count_nonzero(point.nu)
        return bool(nonzero_weights - positive_levels > point.L.size)

    def run(self, tol: float) -> float:
        """Take steps until the gradient (2) is below `tol`, relative to A, and return its size."""
        for self.steps in range(MAX_STEPS):
            error = float(np.abs(self.point.gradient).max() / np.abs(self.problem.target).max())
            if error < tol:
                break
            try:
                step = self.newton_step(error)
            except np.linalg.LinAlgError:
                break
            new = self.line_search(step)
            if not new.value < self.point.value:
                break  # rounding allows no more
            self.point = new
        self.C = self.point.weights().T
        self.M = self.point.L * self.problem.sigma2
        self.status = f"newton: {self.steps} steps"
        return error

    def newton_step(self, error: float) -> Floats:
        """Return the step -H^-1 (gradient), H plus a small multiple of the identity."""
        H = self.point.hessian()
        shift = SHIFT * np.trace(H) / len(H) + DAMPING * min(error, 1.0) ** 2
        step = -np.linalg.solve(H + shift * np.eye(len(H)), self.point.gradient.ravel())
        return np.reshape(step, self.point.L.shape)

    def line_search(self, step: Floats) -> DualPoint:
        """Halve the step until (1) falls by enough."""
        point = self.point
        slope = float(np.vdot(step, point.gradient))
        length = 1.0
        new = DualPoint(self.problem, point.L + step, point.nu)
        while (
            new.value > point.value + SUFFICIENT_DECREASE * length * slope
            and length > SHORTEST_STEP
        ):
            length /= 2
            new = DualPoint(self.problem, point.L + length * step, point.nu)
        return new


class DualPoint:
    """F, its gradient and Hessian at L, scaled to the smallest F of all its multiples."""

    def __init__(self, problem: Problem, L: Floats, levels: Floats | None = None) -> None:
        self.problem = problem
        self.ratio = problem.kappa / problem.sigma2
        self.R = problem.prior_matrix() * problem.sigma2
        image = problem.X @ L.T
        nu, S = best_levels(problem, np.abs(image), levels)

        # F of the multiples x L is x^2 quadratic / 2 - x pairing
        quadratic = S + float(problem.tau @ nu) ** 2 / self.ratio
        quadratic += float(np.vdot(L, L @ self.R))
        pairing = float(np.vdot(L, problem.target))
        scale = pairing / quadratic
        self.L = L * scale
        self.image = image * scale
        self.nu = nu * abs(scale)
        self.value = -0.5 * pairing * scale  # (1)
        self.gradient = self.weights().T @ problem.X + self.L @ self.R - problem.target  # (2)

    def weights(self) -> Floats:
        """Return C^T, shape (n, k): L X^T, soft-thresholded at the levels of the users."""
        nu = self.nu[self.problem.codes][:, None]
        return np.asarray(self.image - np.clip(self.image, -nu, nu))

    def hessian(self) -> Floats:
        """Return H of (3), shape (k d, k d)."""
        k, d = self.L.shape
        signs = np.sign(self.weights())
        rows = np.flatnonzero(signs.any(axis=1))
        signs = signs[rows]
        X = self.problem.X[rows]
        codes = self.problem.codes[rows]
        has_level = self.nu[codes] > 0
        users, starts = np.unique(codes[has_level], return_index=True)

        B = np.zeros((k, d, k, d))
        products = np.zeros((len(users), k, d))
        for j in range(k):
            signed_X = signs[:, j, None] * X
            B[j, :, j, :] = signed_X.T @ signed_X + self.R
            if len(users):
                products[:, j] = np.add.reduceat(signed_X[has_level], starts)
        H = B.reshape(k * d, k * d)
        if not len(users):
            return H
        W = products.reshape(-1, k * d)
        tau = self.problem.tau[users]
        count = np.add.reduceat(np.abs(signs[has_level]).sum(axis=1), starts)
        scaled_W = W / np.sqrt(count)[:, None]
        v = (tau / count) @ W
        D = self.ratio + float((tau**2 / count).sum())
        return H - scaled_W.T @ scaled_W + np.outer(v, v / D)
