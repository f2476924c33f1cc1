"""Primal-dual interior point for the exact sensitivity: a block a user, signs join while it runs.

In units of `length` for C and `price` for the objective: minimize q/2 |C|^2 + kappa/2 t^2 where
C X = A and sum_a |z v_a| <= tau_l t for every user l and signs z, with v_a the columns or the rows
of the user's block of C, whichever are shorter. A cut z has bounds u_a above |z v_a| with slacks
g = u -+ z v and multipliers lam, and the slack s of the sum of u_a below tau_l t with the
multiplier nu = lam[0] + lam[1]. L is the multiplier of C X = A.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray
from scipy import linalg

from pdpbook import Floats
from pdpbook.gwa.interior import cholesky, step_length
from pdpbook.gwa.problem import Problem
from pdpbook.gwa.sensitivity import sign_vectors

Numbers = NDArray[np.intp]
Parts = tuple[tuple[Floats, Floats], ...]  # for every user, signs (p, q) and w (a, p)
FIRST, MORE = 20, 10  # signs of a user at first, and signs that join at a time
LIFT, NEW, GUARD = 1.5, 0.3, 0.01  # start of t, multipliers of new cuts, centering; by trial
STEPS, EVERY = 300, 3  # steps at most, and between new cuts
CHUNK = 1 << 21  # products held at a time


class Share:
    """One user's variables, and their part of a step."""

    def __init__(self, X: Floats, tau: float, C: Floats, every: Floats) -> None:
        self.X, self.tau, self.every = X, tau, every  # every: all sign vectors, (2^(q-1), q)
        self.k, self.flat = len(C), len(X) < len(C)
        self.v = (C if self.flat else C.T).copy()  # (a, q)
        self.have = np.zeros(0, dtype=np.intp)  # which of the sign vectors are cuts
        self.Z = every[self.have]  # (p, q)
        self.g = self.lam = np.zeros((2, len(self.v), 0))
        self.s = self.nu = np.zeros(0)

    @property
    def C(self) -> Floats:
        """The user's block of weights, shape (k, rows)."""
        return self.v if self.flat else self.v.T

    @property
    def w(self) -> Floats:
        """Multipliers of z v_a, shape (a, p), at most nu in size."""
        return np.asarray(self.lam[0] - self.lam[1])

    def image(self, L: Floats) -> Floats:
        """L X^T in the shape of v."""
        return np.asarray(L @ self.X.T if self.flat else self.X @ L.T)

    def total(self, v: Floats) -> Floats:
        """The part of C X that comes from v, shape (k, d)."""
        return np.asarray((v if self.flat else v.T) @ self.X)

    def images(self, root: Floats) -> Floats:
        """The matrix that takes L to root_a image(L)_a for all a, shape (a q, k d)."""
        size, q = root.shape[:2]
        if not self.flat:
            return np.asarray((root[..., None] * self.X[:, None, None]).reshape(size * q, -1))
        found = np.zeros((size, q, self.k, self.X.shape[1]))
        found[np.arange(size), :, np.arange(size)] = root @ self.X
        return found.reshape(size * q, -1)

    def sums(self) -> Floats:
        """The sums that cuts limit, for all sign vectors."""
        step = max(1, CHUNK // len(self.v))
        parts = [self.every[i : i + step] @ self.v.T for i in range(0, len(self.every), step)]
        return np.concatenate([np.abs(part).sum(axis=1) for part in parts])

    def join(self, new: Numbers, mu: float, nu: float) -> None:
        """Let cuts join with multipliers nu and products mu; their sums may exceed tau t."""
        Z, h = self.every[new], mu / nu
        x = self.v @ Z.T
        g = h + np.hypot(h, x) + np.stack([-x, x])
        self.have, self.Z = np.append(self.have, new), np.vstack([self.Z, Z])
        self.g = np.concatenate([self.g, g], axis=2)
        self.lam = np.concatenate([self.lam, mu / g], axis=2)
        self.s = np.append(self.s, np.full(len(new), h))
        self.nu = np.append(self.nu, np.full(len(new), nu))

    def products(self) -> float:
        """Slacks times multipliers, summed."""
        return float(np.vdot(self.g, self.lam) + self.s @ self.nu)

    def measure(self, q: float, L: Floats, t: float) -> None:
        """Residuals of the equations of v, u and s."""
        self.r_v = self.image(L) - q * self.v - self.w @ self.Z
        self.r_u = self.nu - self.lam[0] - self.lam[1]
        self.r_s = self.tau * t - self.g.sum(axis=(0, 1)) / 2 - self.s

    def factor(self, q: float) -> None:
        """Eliminate u, then v by the Hessian G it is left with: a system K for nu remains."""
        self.ratio = D = self.lam / self.g
        self.D = D[0] + D[1]
        self.rho = (D[0] - D[1]) / self.D
        p = len(self.Z)
        root = _inverse_root(self.Z, 4 * D[0] / self.D * D[1], q)
        self.R = root.transpose(0, 2, 1)  # R R^T = G^-1
        self.Y = ((root @ self.Z.T) * self.rho[:, None]).reshape(-1, p)
        K = self.Y.T @ self.Y
        K[np.diag_indices(p)] += (1 / self.D).sum(axis=0) + self.s / self.nu
        self.K = cholesky(K)
        self.K1 = linalg.cho_solve(self.K, np.ones(p), check_finite=False)

    def tie(self) -> Floats:
        """Tie nu to L; returns the user's part of the system for L."""
        T = self.images(self.R.transpose(0, 2, 1))
        self.B = self.Y.T @ T
        self.KB = linalg.cho_solve(self.K, self.B, check_finite=False)
        return np.asarray(T.T @ T - self.B.T @ self.KB)

    def begin(self, e: Floats, e_s: Floats) -> Floats:
        """Set out to change products by e g and e_s nu; returns the part of C X this makes."""
        self.e, self.e_s, self.e_u = e, e_s, e[0] + e[1] - self.r_u
        self.h = self.r_v - (e[0] - e[1] - self.rho * self.e_u) @ self.Z
        half = np.einsum("aij,ai->aj", self.R, self.h)
        self.b = (self.e_u / self.D).sum(axis=0) + e_s - self.r_s + half.ravel() @ self.Y
        return self.total(np.einsum("aij,aj->ai", self.R, half))

    def finish(self, dL: Floats, dt: float) -> None:
        right = self.b + self.B @ dL.ravel()
        dnu = linalg.cho_solve(self.K, right, check_finite=False) - self.tau * dt * self.K1
        pull = self.h + self.image(dL) - (self.rho * dnu) @ self.Z
        self.dv = np.einsum("aij,aj->ai", self.R, np.einsum("aij,ai->aj", self.R, pull))
        dx = self.dv @ self.Z.T
        du = (self.e_u - dnu) / self.D + self.rho * dx
        self.dg, self.dnu = np.stack([du - dx, du + dx]), dnu
        self.ds, self.dlam = self.e_s - self.s / self.nu * dnu, self.e - self.ratio * self.dg

    def centered(self, center: float) -> tuple[Floats, Floats]:
        """What the corrector sets out for, after a predictor: products of `center`."""
        e = (center - self.dg * self.dlam) / self.g - self.lam
        return e, (center - self.ds * self.dnu) / self.nu - self.s

    def move(self, ap: float, ad: float) -> None:
        self.v, self.g, self.s = self.v + ap * self.dv, self.g + ap * self.dg, self.s + ap * self.ds
        self.lam, self.nu = self.lam + ad * self.dlam, self.nu + ad * self.dnu


class ExactInteriorPoint:
    """Iterates from weights C."""

    def __init__(self, problem: Problem, C: Floats) -> None:
        self.length = float(np.abs(C).mean())
        self.price = max(problem.sigma2 * C.size, problem.kappa)
        self.q, self.kappa = problem.sigma2 / self.price, problem.kappa / self.price
        self.unit = self.price * self.length  # of multipliers
        self.A = problem.target / self.length
        self.L, self.steps = np.zeros(self.A.shape), 0
        rows = problem.rows_of_users
        short = [min(own.stop - own.start, len(C)) for own in rows]
        every = {q: sign_vectors(q, 0, 1 << (q - 1)) for q in set(short)}
        self.shares = [
            Share(problem.X[own], tau, C[:, own] / self.length, every[q])
            for own, tau, q in zip(rows, problem.tau, short, strict=True)
        ]
        first = [_first(share.sums()) for share in self.shares]
        self.t = LIFT * max(float(share.sums().max() / share.tau) for share in self.shares)
        nu = self.kappa * self.t / float(problem.tau @ [len(new) for new in first])
        bounds = 2 * sum(len(share.v) for share in self.shares) + len(self.shares)
        for share, new in zip(self.shares, first, strict=True):
            share.join(new, nu * self.t * float(problem.tau.sum()) / bounds, nu)

    @property
    def C(self) -> Floats:
        return np.hstack([share.C for share in self.shares]) * self.length

    @property
    def M(self) -> Floats:
        """Multipliers of C X = target."""
        return self.L * self.unit

    def parts(self) -> Parts:
        """Signs and multipliers of every user's cuts, with L X^T = q v + w Z in the units of L."""
        found = []
        for share in self.shares:
            off = share.image(self.L) - self.q * share.v - share.w @ share.Z
            found.append((share.Z, (share.w + off @ np.linalg.pinv(share.Z)) * self.unit))
        return tuple(found)

    def measure(self) -> float:
        """How far from the optimum: complementarity or residuals, relative to the objective."""
        self.r_equal, self.r_t = self.A.copy(), -self.kappa * self.t
        value, wrong, count = self.kappa * self.t**2, 0.0, 0
        for share in self.shares:
            share.measure(self.q, self.L, self.t)
            self.r_equal -= share.total(share.v)
            self.r_t += share.tau * float(share.nu.sum())
            value += self.q * float(np.vdot(share.v, share.v))
            wrong += share.tau * float(np.abs(share.r_v).mean())
            count += share.g.size + len(share.s)
        self.products = sum(share.products() for share in self.shares)
        self.mu = self.products / count
        self.wrong = (wrong + abs(self.r_t)) / (self.kappa * self.t) * value
        return max(self.products, self.wrong) / value

    def join(self, margin: float) -> bool:
        """Add the cuts of every user that are violated most, by a share of `margin` at least."""
        joined = False
        for share in self.shares:
            found = share.sums()
            found[share.have] = 0.0
            new = np.argsort(-found)[:MORE]
            new = new[found[new] > share.tau * self.t * (1 + margin)]
            if len(new):
                share.join(new, self.mu, NEW * float(share.nu.mean()))
                joined = True
        return joined

    def step(self) -> None:
        size = self.A.size
        H, tie, den = np.zeros((size, size)), np.zeros(size), self.kappa
        for share in self.shares:
            share.factor(self.q)
            H += share.tie()
            tie += share.tau * (share.B.T @ share.K1)
            den += share.tau**2 * float(share.K1.sum())
        factor = cholesky(H + np.outer(tie, tie / den))

        def direct(aims: list[tuple[Floats, Floats]]) -> tuple[Floats, float]:
            push, pull = self.r_equal.ravel(), self.r_t
            for share, aim in zip(self.shares, aims, strict=True):
                moved = share.begin(*aim)
                push = push + share.KB.T @ share.b - moved.ravel()
                pull += share.tau * float(share.K1 @ share.b)
            found = linalg.cho_solve(factor, push - tie * (pull / den), check_finite=False)
            dL = np.reshape(found, self.A.shape)
            dt = (pull + float(tie @ dL.ravel())) / den
            for share in self.shares:
                share.finish(dL, dt)
            return dL, dt

        def lengths() -> tuple[float, float]:
            weights = [pair for s in self.shares for pair in ((s.g, s.dg), (s.s, s.ds))]
            multipliers = [pair for s in self.shares for pair in ((s.lam, s.dlam), (s.nu, s.dnu))]
            return step_length(*weights), step_length(*multipliers)

        direct([(-s.lam, -s.s) for s in self.shares])
        ap, ad = lengths()
        after = 0.0
        for s in self.shares:
            after += float(np.vdot(s.g + ap * s.dg, s.lam + ad * s.dlam))
            after += float((s.s + ap * s.ds) @ (s.nu + ad * s.dnu))
        # products that shrink before the equations hold leave no room for the steps to come
        left = max((after / self.products) ** 3, GUARD * self.wrong / self.products)
        center = self.mu * min(1.0, left)
        dL, dt = direct([s.centered(center) for s in self.shares])
        ap, ad = (0.99 * length for length in lengths())
        for share in self.shares:
            share.move(ap, ad)
        self.t, self.L = self.t + ap * dt, self.L + ad * dL
        self.steps += 1


def descend(point: ExactInteriorPoint, margin: float) -> Iterator[float]:
    """Steps and new cuts in turn; yields how far the optimum is."""
    while point.steps < STEPS:
        error = point.measure()
        if point.steps % EVERY == 0 and point.join(margin):
            error = point.measure()
        yield error
        try:
            point.step()
        except np.linalg.LinAlgError:
            break


def _inverse_root(Z: Floats, c: Floats, q: float) -> Floats:
    """Inverses of lower triangular factors of G = q + Z^T c_a Z for every a, shape (a, k, k)."""
    k = Z.shape[1]
    # beside squares as large q is lost to rounding, beside their roots its root is not
    own = np.broadcast_to(np.sqrt(q) * np.eye(k), (len(c), k, k))
    tall = np.concatenate([np.sqrt(c)[:, :, None] * Z, own], axis=1)
    return np.asarray(np.linalg.inv(np.linalg.qr(tall, mode="r")).transpose(0, 2, 1))


def _first(found: Floats) -> Numbers:
    """Signs of the largest sums, and others spread over all by a multiplicative sequence."""
    spread = (np.arange(1, FIRST + 1) * 2654435761) % len(found)
    return np.union1d(np.argsort(-found)[:FIRST], spread)
