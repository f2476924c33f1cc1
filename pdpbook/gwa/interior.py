"""Primal-dual interior point for the weighting problem with l1 norms.

Weights are C = V[0] - V[1] with V >= 0, and `units` turn C and the objective into numbers near 1:

    minimize    q/2 |V|^2 + kappa/2 t^2 + 1/2 <L R, L>
    subject to  (V[0] - V[1]) X + L R = A
                sum of V over the rows and entries of user l, plus s_l, is tau_l t
                V >= 0, s >= 0.

L R is the bias that a prior allows for; without a prior R = 0. With the multipliers L of the first
constraint, nu of the second and Z of V >= 0, a solution is optimal if and only if

    (1)  q V[0] - L X^T + nu_l - Z[0] = 0,   q V[1] + L X^T + nu_l - Z[1] = 0
    (2)  (V[0] - V[1]) X + L R = A
    (3)  (sum of V over user l) + s_l = tau_l t
    (4)  kappa t = sum_l tau_l nu_l
    (5)  V Z = 0 and s nu = 0, entry by entry, with V, Z, s, nu >= 0.

One step solves the linear equations of (1) to (4), and of (5) with given values c_V and c_s by
which the products V Z and s nu are to fall. Let r1 to r4 be what is missing in (1) to (4): left
side minus right side, in (2) the reverse. Eliminating one unknown after the other leaves a system
for dL:

    (6)   dZ = -(c_V + Z dV) / V,   ds = -(c_s + s dnu) / nu
    (7)   dV = theta (+-dL X^T - dnu_l) - p,   theta = V / (q V + Z),   p = theta (r1 + c_V / V)
    (8)   dnu = (W dL - tau dt - e) / K,   K_l = (sum of theta over user l) + s_l / nu_l,
          e_l = c_s / nu_l - r3 + (sum of p over user l),
          (W dL)_l = sum over user l of (theta[0] - theta[1])_ji (dL x_i)_j
    (9)   dt = a + v dL / D,   v = W^T (tau / K),   D = kappa + sum_l tau_l^2 / K_l,
          a = -(r4 + sum_l tau_l e_l / K_l) / D
    (10)  H dL = r2 + (p[0] - p[1]) X - W^T (e / K) - v a,
          H = B + R - W^T W / K + v v^T / D,
          B dL = sum over rows i of ((theta[0] + theta[1])_ji (dL x_i)_j) x_i^T,

where H, of shape (k d, k d), is the Schur complement. The choice of c_V and c_s is that of Mehrotra
(1992): a predictor that aims at products of 0, then a corrector that aims at equal products, as
small as the predictor lets hope for, and makes up for the second-order terms that it left out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import linalg, sparse

from pdpbook import Floats
from pdpbook.gwa.problem import Problem

Places = NDArray[np.intp]
SIGNS = np.array([1.0, -1.0])[:, None, None]  # of V[0] and V[1] in C
MAX_STEPS = 200
START_V = 0.3  # least entry of the first V, relative to the mean size of least squares; by trial
START_T = 1.1  # first t relative to the smallest that the first V allows, so that s > 0
NEW_MULTIPLIER = 0.03  # least Z of new rows relative to the mean of nu; by trial
TO_THE_BOUNDARY = 0.99  # share of the way to the boundary that a step goes; 1 - gap near the end
CENTERING = 3  # Mehrotra's power of the predictor's progress
SHIFT = 1e-15  # first multiple of the identity that mends a Cholesky factor, of its mean diagonal
MAX_SHIFTS = 20  # tries with ten times the multiple, up to far beyond the diagonal


class Direction(NamedTuple):
    """Changes of the variables in a step of length 1."""

    V: Floats
    s: Floats
    t: float
    L: Floats
    nu: Floats
    Z: Floats


class InteriorPoint:
    """Iterates for a problem whose design, or what it is a part of, has orthonormal columns."""

    def __init__(self, problem: Problem) -> None:
        self._take_rows(problem)
        least_squares = problem.target @ np.linalg.pinv(self.X)
        self.length = float(np.abs(least_squares).mean()) or 1.0  # unit of C
        self.price = max(problem.sigma2 * least_squares.size, problem.kappa)  # of the objective
        self.q = problem.sigma2 / self.price
        self.kappa = problem.kappa / self.price
        self.A = problem.target / self.length
        self.R = problem.prior_matrix() * self.price

        C = least_squares / self.length
        self.V = np.maximum(SIGNS * C, 0.0) + START_V * float(np.abs(C).mean())
        self.t = START_T * float((self.sums_of_users(self.V) / self.tau).max())
        self.s = self.tau * self.t - self.sums_of_users(self.V)
        self.nu = np.full(len(self.tau), self.kappa * self.t / self.tau.sum())
        self.L = np.zeros(self.A.shape)
        self.Z = np.maximum(self.q * self.V + self.nu[self.codes], 0.0)
        self.steps = 0

    def _take_rows(self, problem: Problem) -> None:
        self.tau = problem.tau
        self.codes = problem.codes
        self.starts = problem.starts
        self.X = problem.X
        self.XT = np.ascontiguousarray(problem.X.T)
        self.X_of_users = rows_side_by_side(problem)

    def extend(self, problem: Problem, old: Places) -> None:
        """Take a problem with more rows, among which those so far are at `old`.

        New multipliers Z solve (1) for V = 0, or are a little above 0 where that is not; new V
        give the same products V Z as the others have on average.
        """
        mean_product = self.complementarity() / (self.V.size + len(self.s))
        self._take_rows(problem)
        is_new = np.ones(len(self.X), dtype=bool)
        is_new[old] = False
        new = np.flatnonzero(is_new)
        image = SIGNS * (self.L @ self.X[new].T)
        Z = np.maximum(self.nu[self.codes[new]] - image, NEW_MULTIPLIER * self.nu.mean())
        self.V = self._with_new_rows(self.V, old, mean_product / Z, new)
        self.Z = self._with_new_rows(self.Z, old, Z, new)

    def _with_new_rows(
        self, old_values: Floats, old: Places, new_values: Floats, new: Places
    ) -> Floats:
        values = np.empty((2, len(self.A), len(self.X)))
        values[:, :, old] = old_values
        values[:, :, new] = new_values
        return values

    @np.errstate(all="ignore")  # an iterate that is not finite ends the run
    def run(self, tol: float) -> float:
        """Take steps until the error is below `tol` and return it; infinity if that fails.

        C and M are then of the iterate of the smallest error.
        """
        smallest_error = np.inf
        best = self.V, self.L
        error = self.error()
        while error >= tol:
            if error < smallest_error:
                smallest_error = error
                best = self.V, self.L
            if self.steps >= MAX_STEPS:
                break
            try:
                self.step()
            except linalg.LinAlgError:
                break
            error = self.error()
        if not error < tol:
            self.V, self.L = best
        self.C = (self.V[0] - self.V[1]) * self.length
        self.M = self.L * (self.price * self.length)
        self.status = f"interior point: {self.steps} steps on {len(self.X)} rows"
        return error if error < tol else float("inf")

    def sums_of_users(self, V: Floats) -> Floats:
        return np.asarray(np.add.reduceat(V.sum(axis=(0, 1)), self.starts))

    def complementarity(self) -> float:
        """Return the sum of the products of (5)."""
        return float(np.vdot(self.V, self.Z) + self.s @ self.nu)

    def set_residuals(self) -> None:
        """Compute what is missing in (1) to (4)."""
        V, Z, L, nu, t = self.V, self.Z, self.L, self.nu, self.t
        self.r1 = self.q * V - SIGNS * (L @ self.XT) + nu[self.codes] - Z  # (1)
        self.r2 = self.A - (V[0] - V[1]) @ self.X - L @ self.R  # (2)
        self.r3 = self.sums_of_users(V) + self.s - self.tau * t  # (3)
        self.r4 = self.kappa * t - float(self.tau @ nu)  # (4)

    def objective(self) -> float:
        """Return q |V|^2 + kappa t^2 + <L R, L>, twice the objective."""
        value = self.q * float(np.vdot(self.V, self.V)) + self.kappa * self.t * self.t
        return value + float(np.vdot(self.L @ self.R, self.L))

    def error(self) -> float:
        """Compute residuals and gap; return the largest of the gap and those of (1) to (3)."""
        self.set_residuals()
        self.gap = self.complementarity() / self.objective()
        r1, r2, r3 = (float(np.abs(r).max()) for r in (self.r1, self.r2, self.r3))
        return float(max(self.gap, r2 / np.abs(self.A).max(), r1 / self.nu.max(), r3 / self.t))

    def step(self) -> None:
        """Take one step of Mehrotra's predictor-corrector method; `error` comes before it."""
        system = NewtonSystem(self)
        products_V = self.V * self.Z
        products_s = self.s * self.nu
        total = float(products_V.sum() + products_s.sum())
        mean_product = total / (self.V.size + len(self.s))

        # predictor: products of 0
        d = system.direction(products_V, products_s)
        primal, dual = self.step_lengths(d)
        predicted = self.complementarity_after(d, primal, dual)

        # corrector: equal products
        center = mean_product * min(1.0, predicted / total) ** CENTERING
        d = system.direction(products_V + d.V * d.Z - center, products_s + d.s * d.nu - center)
        primal, dual = self.step_lengths(d)
        share = max(TO_THE_BOUNDARY, 1 - self.gap)
        self.move(d, share * primal, share * dual)

    def step_lengths(self, d: Direction) -> tuple[float, float]:
        """Return the longest primal and dual steps, at most 1, on which (5) keeps its signs."""
        primal = step_length((self.V, d.V), (self.s, d.s))
        dual = step_length((self.Z, d.Z), (self.nu, d.nu))
        return primal, dual

    def complementarity_after(self, d: Direction, primal: float, dual: float) -> float:
        """Return the sum of the products of (5) after a step."""
        products_V = np.vdot(self.V + primal * d.V, self.Z + dual * d.Z)
        products_s = (self.s + primal * d.s) @ (self.nu + dual * d.nu)
        return float(products_V + products_s)

    def move(self, d: Direction, primal: float, dual: float) -> None:
        """Go along the changes, so far as the two step lengths say."""
        self.V = self.V + primal * d.V
        self.s = self.s + primal * d.s
        self.t = self.t + primal * d.t
        self.Z = self.Z + dual * d.Z
        self.nu = self.nu + dual * d.nu
        self.L = self.L + dual * d.L
        self.steps += 1


class NewtonSystem:
    """The linear equations of a step at an iterate, with the Schur complement factored."""

    def __init__(self, at: InteriorPoint) -> None:
        self.at = at
        k, d = at.A.shape
        self.theta = at.V / (at.q * at.V + at.Z)  # (7)
        plus = self.theta[0] + self.theta[1]
        minus = self.theta[0] - self.theta[1]
        self.K = np.add.reduceat(plus.sum(axis=0), at.starts) + at.s / at.nu  # (8)
        W = (at.X_of_users @ minus.T).reshape(-1, d, k)
        self.W = W.transpose(0, 2, 1).reshape(-1, k * d)  # (8)
        self.v = (at.tau / self.K) @ self.W  # (9)
        self.D = at.kappa + float((at.tau**2 / self.K).sum())  # (9)

        # (10)
        scaled_W = self.W / np.sqrt(self.K)[:, None]
        H = np.outer(self.v, self.v / self.D) - scaled_W.T @ scaled_W
        blocks = (at.XT * plus[:, None, :]) @ at.X + at.R
        H.reshape(k, d, k, d)[np.arange(k), :, np.arange(k), :] += blocks
        self.factor = cholesky(H)

    def direction(self, c_V: Floats, c_s: Floats) -> Direction:
        """Return the step that lowers products V Z by c_V and s nu by c_s."""
        at, theta, K, W, v, D = self.at, self.theta, self.K, self.W, self.v, self.D
        p = theta * (at.r1 + c_V / at.V)  # (7)
        e = c_s / at.nu - at.r3 + at.sums_of_users(p)  # (8)
        a = (-at.r4 - float((at.tau / K) @ e)) / D  # (9)
        right = (at.r2 + (p[0] - p[1]) @ at.X).ravel() - (e / K) @ W - v * a  # (10)
        dL = linalg.cho_solve(self.factor, right, check_finite=False)
        dt = a + float(v @ dL) / D  # (9)
        dnu = (W @ dL - at.tau * dt - e) / K  # (8)
        dL = dL.reshape(at.A.shape)
        dV = theta * (SIGNS * (dL @ at.XT) - dnu[at.codes]) - p  # (7)
        ds = (-c_s - at.s * dnu) / at.nu  # (6)
        dZ = (-c_V - at.Z * dV) / at.V  # (6)
        return Direction(dV, ds, dt, dL, dnu, dZ)


def rows_side_by_side(problem: Problem) -> sparse.csc_array:
    """Return the matrix, shape (m d, n), that sums c_i x_i over the rows of each user.

    Column i holds x_i where its user is; times n numbers c it is m vectors of length d.
    """
    n, d = problem.X.shape
    places = (problem.codes[:, None] * d + np.arange(d)).ravel()
    ends = np.arange(0, n * d + 1, d)
    shape = (len(problem.tau) * d, n)
    return sparse.csc_array((problem.X.ravel(), places, ends), shape=shape)


def step_length(*pairs: tuple[Floats, Floats]) -> float:
    """Return the longest step, at most 1, along changes that leaves all values at least 0."""
    fastest_decreases = [-float((change / value).min()) for value, change in pairs]
    return 1 / max(1.0, *fastest_decreases)


def cholesky(H: Floats) -> Any:
    """Factor H plus as much of the identity as rounding asks for; LinAlgError if none helps."""
    shift = 0.0
    mean_diagonal = float(np.trace(H)) / len(H)
    for _ in range(MAX_SHIFTS):
        try:
            shifted = H + shift * np.eye(len(H)) if shift else H
            return linalg.cho_factor(shifted, check_finite=False)
        except linalg.LinAlgError:
            shift = max(10 * shift, SHIFT * mean_diagonal)
    raise linalg.LinAlgError("the Schur complement is not positive definite")
