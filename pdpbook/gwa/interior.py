"""Primal-dual interior point for the l1 problem: every step is one system in k d unknowns."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from pdpbook import Floats
from pdpbook.gwa.problem import Problem

Places = NDArray[np.intp]
SIGNS = np.array([1.0, -1.0])[:, None, None]
LIFT, JOIN = 0.3, 0.03  # start of the weights and of the prices of new rows; found by trial
STEPS, PATIENCE = 200, 40  # steps at most, and without progress


class InteriorPoint:
    """Iterates for a problem whose design, or what it is a part of, has orthonormal columns.

    In units of `length` for C and `price` for the objective: minimize q/2 |V|^2 + kappa/2 t^2 +
    |E|^2 / (2 ridge) where (V[0] - V[1]) X + E = A, with V >= 0 of shape (2, k, r) and, for every
    user, the sum of V plus a slack s equal to tau t. Multipliers are L for the first constraint, nu
    for the second and z for V >= 0.
    """

    def __init__(self, problem: Problem) -> None:
        self._take(problem)
        self.k, self.d = problem.target.shape
        least = problem.target @ np.linalg.pinv(self.X)
        self.length = float(np.abs(least).mean()) or 1.0
        self.price = max(problem.sigma2 * least.size, problem.kappa)
        self.q, self.kappa = problem.sigma2 / self.price, problem.kappa / self.price
        self.A = problem.target / self.length
        self.ridge = problem.ridge() * self.price
        Z = least / self.length
        lift = float(np.abs(Z).mean()) * LIFT
        self.V = np.maximum(SIGNS * Z, 0.0) + lift
        self.t = 1.1 * float((self._within(self.V) / self.tau).max())
        self.s = self.tau * self.t - self._within(self.V)
        self.nu = np.full(len(self.tau), self.kappa * self.t / self.tau.sum())
        self.L = np.zeros((self.k, self.d))
        self.z = np.maximum(self.q * self.V + self.nu[self.codes], 0.0)
        self.steps = 0

    def _take(self, problem: Problem) -> None:
        self.tau, self.codes, self.starts = problem.tau, problem.codes, problem.starts
        self.X, self.XT = problem.X, np.ascontiguousarray(problem.X.T)

    def extend(self, problem: Problem, kept: Places) -> None:
        """Let rows join, with small weights of both signs; those at `kept` were here before."""
        self._take(problem)
        new = np.setdiff1d(np.arange(len(self.X)), kept)
        mu = self._complementarity() / (self.V.size + len(self.s))
        a = SIGNS * (self.L @ self.X[new].T)
        z = np.maximum(self.nu[self.codes[new]] - a, JOIN * self.nu.mean())
        V_old, z_old = self.V, self.z
        self.V, self.z = np.empty((2, 2, self.k, len(self.X)))
        self.V[:, :, kept], self.z[:, :, kept] = V_old, z_old
        self.V[:, :, new], self.z[:, :, new] = mu / z, z

    @np.errstate(all="ignore")  # an iterate that is not finite ends the run
    def run(self, tol: float) -> float:
        """Take steps until the measure is below `tol`, or there is no progress; returns it."""
        best, since, at = np.inf, self.steps, (self.V, self.L)
        while (merit := self.measure()) >= tol:
            if merit < 0.9 * best:
                best, since, at = merit, self.steps, (self.V, self.L)
            if self.steps >= min(STEPS, since + PATIENCE):
                break
            try:
                self.step()
            except FloatingPointError:
                break
        if not merit < tol:
            self.V, self.L = at
        self.C = (self.V[0] - self.V[1]) * self.length
        self.M = self.L * (self.price * self.length)
        self.status = f"interior point: {self.steps} steps on {len(self.X)} rows"
        return merit if merit < tol else float("inf")

    def _within(self, V: Floats) -> Floats:
        return np.asarray(np.add.reduceat(V.sum(axis=(0, 1)), self.starts))

    def _complementarity(self) -> float:
        return float(np.vdot(self.V, self.z) + self.s @ self.nu)

    def measure(self) -> float:
        """Complementarity relative to the objective, once the constraints hold."""
        V, z, nu, t = self.V, self.z, self.nu, self.t
        self.r_dual = self.q * V - SIGNS * (self.L @ self.XT) + nu[self.codes] - z
        self.r_equal = self.A - (V[0] - V[1]) @ self.X - self.L @ self.ridge
        self.r_user = self._within(V) + self.s - self.tau * t
        self.r_t = self.kappa * t - float(self.tau @ nu)
        value = self.q * float(np.vdot(V, V)) + self.kappa * t * t
        value += float(np.vdot(self.L @ self.ridge, self.L))
        self.gap = self._complementarity() / value
        off = [float(np.abs(r).max()) for r in (self.r_equal, self.r_dual, self.r_user)]
        return float(max(self.gap, off[0] / np.abs(self.A).max(), off[1] / nu.max(), off[2] / t))

    def step(self) -> None:
        V, z, s, nu, tau = self.V, self.z, self.s, self.nu, self.tau
        k, d, m = self.k, self.d, len(tau)
        theta = V / (self.q * V + z)
        plus, minus = theta[0] + theta[1], theta[0] - theta[1]
        K = np.add.reduceat(plus.sum(axis=0), self.starts) + s / nu
        w = np.add.reduceat(minus.T[:, :, None] * self.X[:, None, :], self.starts, axis=0)
        w = w.reshape(m, k * d)
        v = (tau / K) @ w
        den = self.kappa + float((tau**2 / K).sum())
        scaled = w / np.sqrt(K)[:, None]
        H = np.outer(v, v / den) - scaled.T @ scaled
        blocks = (self.XT * plus[:, None, :]) @ self.X + self.ridge
        H.reshape(k, d, k, d)[np.arange(k), :, np.arange(k), :] += blocks
        factor = cholesky(H)
        r_dual, r_user, r_t, r_equal = self.r_dual, self.r_user, self.r_t, self.r_equal

        def direction(cV: Floats, cs: Floats) -> tuple[Any, ...]:
            pull = theta * (r_dual + cV / V)
            e = cs / nu - r_user + self._within(pull)
            fixed = (-r_t - float((tau / K) @ e)) / den
            right = (r_equal + (pull[0] - pull[1]) @ self.X).ravel() - (e / K) @ w - v * fixed
            dL = linalg.cho_solve(factor, right, check_finite=False)
            dt = fixed + float(v @ dL) / den
            dnu = (w @ dL - tau * dt - e) / K
            dL = dL.reshape(k, d)
            dV = theta * (SIGNS * (dL @ self.XT) - dnu[self.codes]) - pull
            return dV, (-cs - s * dnu) / nu, dt, dL, dnu, (-cV - z * dV) / V

        cV, cs = V * z, s * nu
        total = float(cV.sum() + cs.sum())
        if not total > 0:
            raise FloatingPointError("an interior point step begins on the boundary")
        mu = total / (V.size + m)
        dV, ds, dt, dL, dnu, dz = direction(cV, cs)
        ap, ad = longest((V, dV), (s, ds)), longest((z, dz), (nu, dnu))
        after = np.vdot(V + ap * dV, z + ad * dz) + (s + ap * ds) @ (nu + ad * dnu)
        center = mu * min(1.0, float(after) / total) ** 3
        dV, ds, dt, dL, dnu, dz = direction(cV + dV * dz - center, cs + ds * dnu - center)
        ap, ad = longest((V, dV), (s, ds)), longest((z, dz), (nu, dnu))
        back = max(0.99, 1 - self.gap)
        ap, ad = back * ap, back * ad
        self.V, self.s, self.t = V + ap * dV, s + ap * ds, self.t + ap * dt
        self.z, self.nu, self.L = z + ad * dz, nu + ad * dnu, self.L + ad * dL
        self.steps += 1


def longest(*pairs: tuple[Floats, Floats]) -> float:
    """Longest step, at most 1, that keeps every value at least 0."""
    return 1 / max(1.0, *(float((-change / value).max()) for value, change in pairs))


def cholesky(H: Floats) -> Any:
    """Cholesky factor, with as much of the identity added as rounding asks for."""
    shift, size = 0.0, float(np.trace(H)) / len(H)
    for _ in range(20):
        try:
            shifted = H + shift * np.eye(len(H)) if shift else H
            return linalg.cho_factor(shifted, check_finite=False)
        except linalg.LinAlgError:
            shift = max(10 * shift, 1e-15 * size)
    raise FloatingPointError("the system of an interior point step is not positive definite")
