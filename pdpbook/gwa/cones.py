"""Interior point for norms of columns: second-order cones in Nesterov-Todd scaling.

The system of a step has the form of the l1 problem, with k x k blocks in place of signs.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from pdpbook.gwa.interior import JOIN, LIFT, InteriorPoint, positive_factor
from pdpbook.gwa.problem import Problem

__all__: list[str] = []

Floats = NDArray[np.float64]
Rows = NDArray[np.intp]


def _det(p: Floats) -> Floats:
    length = np.sqrt((p[:, 1:] ** 2).sum(axis=1))
    return np.asarray((p[:, 0] - length) * (p[:, 0] + length))


def _product(a: Floats, b: Floats) -> Floats:
    """Jordan product of the cone, row by row."""
    first = (a * b).sum(axis=1, keepdims=True)
    return np.hstack([first, a[:, :1] * b[:, 1:] + b[:, :1] * a[:, 1:]])


def _quotient(a: Floats, b: Floats) -> Floats:
    """Solve a o x = b, row by row."""
    inner = (a[:, 1:] * b[:, 1:]).sum(axis=1)
    first = (a[:, 0] * b[:, 0] - inner) / _det(a)
    return np.hstack([first[:, None], (b[:, 1:] - first[:, None] * a[:, 1:]) / a[:, :1]])


def _room(p: Floats, dp: Floats) -> float:
    """Longest step that keeps every row of p in the cone."""
    square = dp[:, 0] ** 2 - (dp[:, 1:] ** 2).sum(axis=1)
    cross = p[:, 0] * dp[:, 0] - (p[:, 1:] * dp[:, 1:]).sum(axis=1)
    end = _det(p)
    root = cross**2 - square * end
    down = np.where(root >= 0, -cross + np.sqrt(np.maximum(root, 0)), 0.0)
    return float(np.min(np.where(down > 0, end / np.where(down > 0, down, 1.0), np.inf)))


class ConePoint(InteriorPoint):
    """As `InteriorPoint`, with V of shape (r, k + 1): the bound of a norm, then the column."""

    def _start(self, Z: Floats) -> None:
        column = np.sqrt((Z**2).sum(axis=0))
        self.V = np.vstack([column + LIFT * column.mean(), Z]).T
        self.t = 1.1 * float((self._within(self.V) / self.tau).max())
        self.s = self.tau * self.t - self._within(self.V)
        self.nu = np.full(len(self.tau), self.kappa * self.t / self.tau.sum())
        level = self.nu[self.codes] + self.q * column.mean()
        self.z = np.hstack([level[:, None], np.zeros(Z.T.shape)])

    def _within(self, V: Floats) -> Floats:
        return np.asarray(np.add.reduceat(V[:, 0], self.starts))

    @property
    def C(self) -> Floats:
        """Weights of the rows, shape (k, r)."""
        return self.V[:, 1:].T * self.length

    def add(self, new: Rows) -> None:
        """Let further rows join, with small bounds and no weight."""
        place = np.argsort(np.concatenate([self.rows, new]), kind="stable")
        mu = self._complementarity() / (len(self.V) + len(self.s))
        a = self.problem.X[new] @ self.L.T
        size = np.sqrt((a**2).sum(axis=1))
        z0 = np.maximum(self.nu[self.problem.codes[new]], size + JOIN * self.nu.mean())
        V = np.zeros((len(new), self.k + 1))
        V[:, 0] = mu / z0
        self._take(np.concatenate([self.rows, new])[place])
        self.V = np.vstack([self.V, V])[place]
        self.z = np.vstack([self.z, np.hstack([z0[:, None], -a])])[place]

    def measure(self) -> float:
        """Complementarity relative to the objective, once the constraints hold."""
        C, nu, t = self.V[:, 1:], self.nu, self.t
        a = self.X @ self.L.T
        self.r_dual = np.hstack([nu[self.codes][:, None], self.q * C - a]) - self.z
        self.r_equal = self.A - C.T @ self.X
        return self._measured(self.q * float(np.vdot(C, C)) + self.kappa * t * t)

    def step(self) -> None:
        """One predictor and corrector step from the residuals last measured."""
        V, z, s, nu, tau = self.V, self.z, self.s, self.nu, self.tau
        k, d, m, r = self.k, self.d, len(tau), len(V)
        flip = np.append(1.0, -np.ones(k))
        dV, dz = np.sqrt(_det(V)), np.sqrt(_det(z))
        p, y = V / dV[:, None], z / dz[:, None]
        gamma = np.sqrt((1 + (p * y).sum(axis=1)) / 2)[:, None]
        v = (p + flip * y) / (2 * gamma)
        v[:, 0] += 1
        v /= np.sqrt(2 * v[:, :1])
        beta = np.sqrt(dV / dz)[:, None]

        def scale(x: Floats) -> Floats:
            return beta * (2 * v * (v * x).sum(axis=1, keepdims=True) - flip * x)

        def unscale(x: Floats) -> Floats:
            w = flip * v
            return (2 * w * (w * x).sum(axis=1, keepdims=True) - flip * x) / beta

        middle = scale(z)
        w = flip * v
        inverse = 2 * w[:, :, None] * w[:, None, :] - np.diag(flip)
        inverse = inverse / beta[:, :, None]
        system = inverse @ inverse
        system[:, np.arange(1, k + 1), np.arange(1, k + 1)] += self.q
        T = np.linalg.inv(system)
        K = np.add.reduceat(T[:, 0, 0], self.starts) + s / nu
        pull0 = T[:, 0, 1:]
        W = np.add.reduceat(pull0[:, :, None] * self.X[:, None, :], self.starts, axis=0)
        W = W.reshape(m, k * d)
        u = (tau / K) @ W
        den = self.kappa + float((tau**2 / K).sum())
        scaled = W / np.sqrt(K)[:, None]
        pairs = (self.X[:, :, None] * self.X[:, None, :]).reshape(r, d * d)
        blocks = (T[:, 1:, 1:].reshape(r, k * k).T @ pairs).reshape(k, k, d, d)
        H = blocks.transpose(0, 2, 1, 3).reshape(k * d, k * d)
        H = H - scaled.T @ scaled + np.outer(u, u / den)
        if self.ridge is not None:
            H = H + np.kron(np.eye(k), self.ridge)
        factor = positive_factor(H)

        def direction(target: Floats, cs: Floats) -> tuple[Any, ...]:
            rho = unscale(_quotient(middle, target))
            pull = -(T @ (rho - self.r_dual)[:, :, None])[:, :, 0]
            e = cs / nu - self.r_user + self._within(pull)
            fixed = (-self.r_t - float((tau / K) @ e)) / den
            right = (self.r_equal + pull[:, 1:].T @ self.X).ravel() - (e / K) @ W - u * fixed
            dL = linalg.cho_solve(factor, right, check_finite=False)
            dt = fixed + float(u @ dL) / den
            dnu = (W @ dL - tau * dt - e) / K
            dL = dL.reshape(k, d)
            drive = np.hstack([-dnu[self.codes][:, None], self.X @ dL.T])
            dV = (T @ drive[:, :, None])[:, :, 0] - pull
            dz = rho - unscale(unscale(dV))
            return dV, (-cs - s * dnu) / nu, dt, dL, dnu, dz

        def longest(p: Floats, dp: Floats, x: Floats, dx: Floats) -> float:
            return min(1.0, _room(p, dp), 1 / max(1.0, float((-dx / x).max())))

        total = self._complementarity()
        mu = total / (r + m)
        square = _product(middle, middle)
        cs = s * nu
        dV, ds, dt, dL, dnu, dz = direction(-square, cs)
        ap, ad = longest(V, dV, s, ds), longest(z, dz, nu, dnu)
        after = np.vdot(V + ap * dV, z + ad * dz) + (s + ap * ds) @ (nu + ad * dnu)
        center = mu * min(1.0, max(float(after) / total, 0.0)) ** 3
        target = -square - _product(unscale(dV), scale(dz))
        target[:, 0] += center
        dV, ds, dt, dL, dnu, dz = direction(target, cs + ds * dnu - center)
        ap, ad = longest(V, dV, s, ds), longest(z, dz, nu, dnu)
        back = max(0.98, 1 - self.gap)
        ap, ad = back * ap, back * ad
        self.V, self.s, self.t = V + ap * dV, s + ap * ds, self.t + ap * dt
        self.z, self.nu, self.L = z + ad * dz, nu + ad * dnu, self.L + ad * dL
        self.steps += 1


def start_point(problem: Problem, rows: Rows) -> InteriorPoint:
    """Interior point of the kind that the norm of the problem asks for."""
    return (ConePoint if problem.grouped else InteriorPoint)(problem, rows)
