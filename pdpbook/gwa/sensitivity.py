r"""The exact l1 sensitivity of linear estimates, and optimal weights for it by an interior point.

`exact_sensitivity` is a maximum over sign vectors. With it in place of the summed norms, the
weighting problem has one constraint for every user and sign vector, which this method calls a cut.
It solves the problem with some of the cuts, and adds those that are violated while it runs.

User l owns the rows X_l and the block C_l of the weights. Since the exact sensitivity of the block
and of its transpose are the same, v is whichever of the two has the shorter rows, and the image
L X_l^T of a matrix L is transposed in the same way. Let v_a be the rows of v, and z_p the sign
vectors of the user's cuts, which are the rows of Z. Bounds u_ap of |z_p v_a| make all constraints
linear. In units that turn C and the objective into numbers near 1:

    minimize    q/2 |C|^2 + kappa/2 t^2
    subject to  C X = A
                g[0]_ap = u_ap - z_p v_a >= 0,   g[1]_ap = u_ap + z_p v_a >= 0
                (sum over a of u_ap) + s_p = tau_l t,   s_p >= 0.

With the multipliers L of the first constraint, lam of g >= 0 and nu of the last, a solution is
optimal if and only if, for every user in (1) to (3) and (6),

    (1)  L X_l^T - q v - (lam[0] - lam[1]) Z = 0
    (2)  nu_p - lam[0]_ap - lam[1]_ap = 0
    (3)  tau_l t - (sum over a of u_ap) - s_p = 0,   u = (g[0] + g[1]) / 2
    (4)  A - C X = 0
    (5)  (sum over users l and their cuts of tau_l nu_p) - kappa t = 0
    (6)  lam g = 0 and nu s = 0, entry by entry, with g, s, lam, nu >= 0.

One step solves the linear equations of (1) to (5), and of (6) with given values e_g and e_s: the
products lam g and nu s are to change by g e_g and nu e_s. Let r1 to r5 be the left sides of (1) to
(5). Eliminating one unknown of a user after the other, with dx = dv Z^T,

    (7)   dlam = e_g - ratio dg,   ratio = lam / g,   ds = e_s - (s / nu) dnu
    (8)   dg[0] = du - dx,   dg[1] = du + dx,   du = (e_u - dnu) / D + rho dx,
          D = ratio[0] + ratio[1],   rho = (ratio[0] - ratio[1]) / D,   e_u = e_g[0] + e_g[1] - r2
    (9)   G_a dv_a = h_a + (dL X_l^T)_a - (rho_a dnu) Z,   h = r1 - (e_g[0] - e_g[1] - rho e_u) Z,
          G_a = q I + Z^T diag(4 ratio[0]_a ratio[1]_a / D_a) Z

is left with equations for dnu. The inverse of G_a is R_a R_a^T, with R_a triangular. Let Y hold the
blocks R_a^T Z^T diag(rho_a) of all a one below the other, and T the matrices that take dL to
R_a^T (dL X_l^T)_a. Then

    (10)  K dnu = b + B dL - tau_l dt 1,   B = Y^T T,
          K = Y^T Y + diag(sum over a of 1 / D_a) + diag(s / nu),
          b = (sum over a of e_u / D) + e_s - r3 + Y^T (R_a^T h_a for all a).

What is left are dt and dL, of all users together:

    (11)  dt = (f + w dL) / E,   w = sum over l of tau_l B^T K^-1 1,
          E = kappa + sum over l of tau_l^2 1^T K^-1 1,   f = r5 + sum over l of tau_l 1^T K^-1 b
    (12)  H dL = r4 + sum over l of (B^T K^-1 b - (C X of the weights R_a R_a^T h_a)) - w f / E,
          H = w w^T / E + sum over l of (T^T T - B^T K^-1 B),

where H, of shape (k d, k d), is the Schur complement. The choice of e_g and e_s is that of Mehrotra
(1992), as in `interior`: a predictor that aims at products of 0, then a corrector.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import linalg

from pdpbook import Floats, check
from pdpbook.gwa.interior import cholesky, step_length
from pdpbook.gwa.problem import Problem
from pdpbook.users import check_users

Numbers = NDArray[np.intp]
Parts = tuple[tuple[Floats, Floats], ...]  # for every user, Z and lam[0] - lam[1]

MAX_PRODUCTS = 1 << 21  # products of signs and weights held at a time, 16 MB
MAX_STEPS = 300
STEPS_BETWEEN_CUTS = 3  # so that new cuts take effect before others are looked for; by trial
FIRST_CUTS = 20  # cuts of a user to begin with, and as many again that are spread over all
NEW_CUTS = 10  # cuts of a user that join at a time, at most
SPREAD = 2654435761  # odd, near 2^32 / golden ratio: its multiples modulo 2^j lie far apart
START_T = 1.5  # first t relative to the smallest that the first C allows; by trial
NEW_MULTIPLIER = 0.3  # nu of new cuts relative to the mean of the user's others; by trial
SMALLEST_CENTER = 0.01  # least gap to aim at, relative to the error of (1) and (5); by trial
CENTERING = 3  # Mehrotra's power of the predictor's progress
TO_THE_BOUNDARY = 0.99  # share of the way to the boundary that a step goes


# --- the sensitivity ------------------------------------------------------------------------------


def exact_sensitivity(C: ArrayLike, users: Any = None, *, width: float = 1.0) -> Floats:
    r"""How far one user's labels can move C y in the l1 norm, for every user.

    Labels lie in an interval of width B. For user l, who owns the rows :math:`S_l`,

    .. math:: \max_{y_{S_l},\,y'_{S_l}}\|C(y-y')\|_1
        = B\max_{z\in\{\pm1\}^k}\ \sum_{i\in S_l}|z^\top c_i|\ \le\ B\sum_{i\in S_l}\|c_i\|_1 .

    The right side is at most :math:`2^{k-1}/\binom{k-1}{\lfloor(k-1)/2\rfloor}` times the left,
    with equality for a user whose columns :math:`c_i` are all the sign vectors. Statement
    ``prop-exact-sensitivity`` (ours), chapter *user_level/gwa_dual*.

    Parameters
    ----------
    C : array_like, shape (k, n)
        Weights; k at most 20, because :math:`2^{k-1}` sign vectors are tried.
    users : array_like, shape (n,), optional
    width : float, default 1.0

    Returns
    -------
    ndarray, shape (m,)
        In the order of the sorted labels. The maximum calibrates the noise; divided by a common
        Laplace scale they are the users' own losses.

    Examples
    --------
    >>> exact_sensitivity([[1.0, 1.0], [1.0, -1.0]], ["a", "a"])
    array([2.])
    """
    weights = check.matrix(C, "C", "k", "n")
    k, n = weights.shape
    if k > 20:
        raise ValueError(f"C must have at most 20 rows, 2^19 sign vectors; got {k}")
    width = check.number(width, "width")
    owners = check_users(users, n)

    by_user = np.argsort(owners.codes, kind="stable")
    has_weight = np.abs(weights[:, by_user]).max(axis=0) > 0
    rows = by_user[has_weight]
    weights = weights[:, rows]
    users_with_weight, starts = np.unique(owners.codes[rows], return_index=True)

    largest = np.zeros(len(owners.labels))
    count = 1 << (k - 1)
    step = max(1, MAX_PRODUCTS // max(1, len(rows)))
    for first in range(0, count, step):
        signs = sign_vectors(k, first, min(first + step, count))
        sums = np.add.reduceat(np.abs(signs @ weights), starts, axis=1)
        largest[users_with_weight] = np.maximum(largest[users_with_weight], sums.max(axis=0))
    return width * largest


def sign_vectors(k: int, first: int, last: int) -> Floats:
    """Rows `first` to `last` of the 2^(k-1) sign vectors that begin with +1."""
    bits = np.arange(first, last)[:, None] >> np.arange(k - 1)
    return np.hstack([np.ones((last - first, 1)), 1.0 - 2.0 * (bits & 1)])


# --- the interior point ---------------------------------------------------------------------------


class Direction(NamedTuple):
    """Changes of one user's variables in a step of length 1."""

    v: Floats
    g: Floats
    s: Floats
    lam: Floats
    nu: Floats


class Aim(NamedTuple):
    """Changes that a step aims at: of the products lam g by g e_g, and of nu s by nu e_s."""

    e_g: Floats
    e_s: Floats


class UserBlock:
    """Weights of one user, their cuts, and the slacks and multipliers of these."""

    def __init__(self, X: Floats, tau: float, C: Floats, all_signs: Floats) -> None:
        self.X = X
        self.tau = tau
        self.all_signs = all_signs  # the sign vectors of all cuts that may join
        self.transposed = len(X) >= len(C)  # whether v is C^T
        self.v = (C.T if self.transposed else C).copy()
        self.cuts = np.zeros(0, dtype=np.intp)  # the sign vectors that have joined, by number
        self.Z = all_signs[self.cuts]  # (cuts, entries of a row of v)
        self.g = self.lam = np.zeros((2, len(self.v), 0))
        self.s = self.nu = np.zeros(0)

    @property
    def C(self) -> Floats:
        """The user's block of weights, shape (k, rows)."""
        return self.v.T if self.transposed else self.v

    @property
    def w(self) -> Floats:
        """Multipliers lam[0] - lam[1] of z_p v_a, shape (rows of v, cuts)."""
        return np.asarray(self.lam[0] - self.lam[1])

    def image(self, L: Floats) -> Floats:
        """Return L X^T in the shape of v."""
        return np.asarray(self.X @ L.T if self.transposed else L @ self.X.T)

    def estimate(self, v: Floats) -> Floats:
        """Return the user's summand of C X for the weights v, shape (k, d)."""
        return np.asarray((v.T if self.transposed else v) @ self.X)

    def sums(self) -> Floats:
        """Return what the cuts limit, the sum over a of |z v_a|, for all sign vectors z."""
        step = max(1, MAX_PRODUCTS // len(self.v))
        sums = []
        for first in range(0, len(self.all_signs), step):
            products = self.all_signs[first : first + step] @ self.v.T
            sums.append(np.abs(products).sum(axis=1))
        return np.concatenate(sums)

    def violated_cuts(self, t: float, margin: float) -> Numbers:
        """Return the cuts whose sums exceed tau t by most, and by a share of `margin` at least."""
        sums = self.sums()
        sums[self.cuts] = 0.0
        largest = np.argsort(-sums)[:NEW_CUTS]
        return np.asarray(largest[sums[largest] > self.tau * t * (1 + margin)])

    def add_cuts(self, new: Numbers, product: float, nu: float) -> None:
        """Let cuts join with multipliers nu, so that lam g and nu s are `product` everywhere.

        Then (2) holds if u = s + (s^2 + x^2)^(1/2) with x = z v. (3) need not hold, since the sums
        of new cuts may exceed tau t.
        """
        Z = self.all_signs[new]
        s = product / nu
        x = self.v @ Z.T
        g = s + np.hypot(s, x) + np.stack([-x, x])
        self.cuts = np.append(self.cuts, new)
        self.Z = np.vstack([self.Z, Z])
        self.g = np.concatenate([self.g, g], axis=2)
        self.lam = np.concatenate([self.lam, product / g], axis=2)
        self.s = np.append(self.s, np.full(len(new), s))
        self.nu = np.append(self.nu, np.full(len(new), nu))

    def complementarity(self) -> float:
        """Return the sum of the products of (6)."""
        return float(np.vdot(self.g, self.lam) + self.s @ self.nu)

    def set_residuals(self, q: float, L: Floats, t: float) -> None:
        self.r1 = self.image(L) - q * self.v - self.w @ self.Z  # (1)
        self.r2 = self.nu - self.lam[0] - self.lam[1]  # (2)
        self.r3 = self.tau * t - self.g.sum(axis=(0, 1)) / 2 - self.s  # (3)

    def predictor(self) -> Aim:
        """Return the aim at products of 0."""
        return Aim(-self.lam, -self.s)

    def corrector(self, center: float, predicted: Direction) -> Aim:
        """Return the aim at products `center`, with the second-order terms of the predictor."""
        e_g = (center - predicted.g * predicted.lam) / self.g - self.lam
        e_s = (center - predicted.s * predicted.nu) / self.nu - self.s
        return Aim(e_g, e_s)

    def move(self, change: Direction, primal: float, dual: float) -> None:
        """Go along the changes, so far as the two step lengths say."""
        self.v = self.v + primal * change.v
        self.g = self.g + primal * change.g
        self.s = self.s + primal * change.s
        self.lam = self.lam + dual * change.lam
        self.nu = self.nu + dual * change.nu


class UserSystem:
    """The linear equations of a step for one user, solved but for dL and dt."""

    def __init__(self, at: UserBlock, q: float) -> None:
        self.at = at
        cuts = len(at.Z)
        self.ratio = at.lam / at.g  # (7)
        self.D = self.ratio[0] + self.ratio[1]  # (8)
        self.rho = (self.ratio[0] - self.ratio[1]) / self.D  # (8)
        self.R = root_of_inverse(at.Z, 4 * self.ratio[0] / self.D * self.ratio[1], q)  # (9)
        RT = self.R.transpose(0, 2, 1)

        # (10)
        self.Y = ((RT @ at.Z.T) * self.rho[:, None]).reshape(-1, cuts)
        K = self.Y.T @ self.Y
        K[np.diag_indices(cuts)] += (1 / self.D).sum(axis=0) + at.s / at.nu
        self.K = cholesky(K)
        self.K_one = self.solve_K(np.ones(cuts))
        T = self.image_matrix(RT)
        self.B = self.Y.T @ T
        self.K_B = self.solve_K(self.B)
        self.schur_complement = T.T @ T - self.B.T @ self.K_B  # the user's summand of H in (12)

    def solve_K(self, right: Floats) -> Floats:
        """Return the solution of K x = right."""
        return np.asarray(linalg.cho_solve(self.K, right, check_finite=False))

    def image_matrix(self, RT: Floats) -> Floats:
        """Return T of (10), shape (entries of v, k d), by the transposes of R."""
        count, entries = RT.shape[:2]
        X = self.at.X
        if self.at.transposed:  # the image of row a is L x_a
            products = RT[..., None] * X[:, None, None]
            return np.asarray(products.reshape(count * entries, -1))
        T = np.zeros((count, entries, count, X.shape[1]))  # that of row a is X L_a: count is k
        a = np.arange(count)
        T[a, :, a] = RT @ X
        return T.reshape(count * entries, -1)

    def set_right_sides(self, aim: Aim) -> None:
        """Compute e_u, h and b, and the user's summand of C X for the weights R_a R_a^T h_a."""
        at = self.at
        e_g, e_s = aim
        self.aim = aim
        self.e_u = e_g[0] + e_g[1] - at.r2  # (8)
        self.h = at.r1 - (e_g[0] - e_g[1] - self.rho * self.e_u) @ at.Z  # (9)
        RT_h = np.einsum("aij,ai->aj", self.R, self.h)
        self.b = (self.e_u / self.D).sum(axis=0) + e_s - at.r3 + RT_h.ravel() @ self.Y  # (10)
        self.estimate_h = at.estimate(np.einsum("aij,aj->ai", self.R, RT_h))  # (12)

    def direction(self, dL: Floats, dt: float) -> Direction:
        """Return the changes of the user's variables for those of L and t."""
        at, rho = self.at, self.rho
        dnu = self.solve_K(self.b + self.B @ dL.ravel()) - at.tau * dt * self.K_one  # (10)
        right = self.h + at.image(dL) - (rho * dnu) @ at.Z  # (9)
        RT_right = np.einsum("aij,ai->aj", self.R, right)
        dv = np.einsum("aij,aj->ai", self.R, RT_right)  # (9)
        dx = dv @ at.Z.T
        du = (self.e_u - dnu) / self.D + rho * dx  # (8)
        dg = np.stack([du - dx, du + dx])  # (8)
        dlam = self.aim.e_g - self.ratio * dg  # (7)
        ds = self.aim.e_s - at.s / at.nu * dnu  # (7)
        return Direction(dv, dg, ds, dlam, dnu)


class NewtonSystem:
    """The linear equations of a step at an iterate, with the Schur complement factored."""

    def __init__(self, at: ExactInteriorPoint) -> None:
        self.at = at
        self.users = []
        H = np.zeros((at.A.size, at.A.size))
        self.w = np.zeros(at.A.size)
        self.E = at.kappa
        for block in at.blocks:
            user = UserSystem(block, at.q)
            self.users.append(user)
            H += user.schur_complement  # (12)
            self.w += block.tau * (user.B.T @ user.K_one)  # (11)
            self.E += block.tau**2 * float(user.K_one.sum())  # (11)
        self.factor = cholesky(H + np.outer(self.w, self.w / self.E))  # (12)

    def directions(self, aims: list[Aim]) -> tuple[list[Direction], Floats, float]:
        """Return the changes of all users' variables, of L and of t."""
        right = self.at.r4.ravel()
        f = self.at.r5
        for user, aim in zip(self.users, aims, strict=True):
            user.set_right_sides(aim)
            right = right + user.K_B.T @ user.b - user.estimate_h.ravel()  # (12)
            f += user.at.tau * float(user.K_one @ user.b)  # (11)
        right = right - self.w * (f / self.E)  # (12)
        dL = linalg.cho_solve(self.factor, right, check_finite=False).reshape(self.at.A.shape)
        dt = (f + float(self.w @ dL.ravel())) / self.E  # (11)
        return [user.direction(dL, dt) for user in self.users], dL, dt


class ExactInteriorPoint:
    """Iterates for the exact sensitivity, from feasible weights C."""

    def __init__(self, problem: Problem, C: Floats) -> None:
        self.length = float(np.abs(C).mean())  # unit of C
        self.price = max(problem.sigma2 * C.size, problem.kappa)  # of the objective
        self.q = problem.sigma2 / self.price
        self.kappa = problem.kappa / self.price
        self.A = problem.target / self.length
        self.L = np.zeros(self.A.shape)
        self.steps = 0

        signs_of_length: dict[int, Floats] = {}
        self.blocks = []
        for rows, tau in zip(problem.rows_of_users, problem.tau, strict=True):
            entries = min(rows.stop - rows.start, len(C))
            if entries not in signs_of_length:
                signs_of_length[entries] = sign_vectors(entries, 0, 1 << (entries - 1))
            signs = signs_of_length[entries]
            block = UserBlock(problem.X[rows], tau, C[:, rows] / self.length, signs)
            self.blocks.append(block)
        self._start(problem.tau)

    def _start(self, tau: Floats) -> None:
        """Let the first cuts join, with one nu for all that solves (5), and equal products."""
        cuts_of_users = [first_cuts(block.sums()) for block in self.blocks]
        self.t = START_T * max(float(block.sums().max() / block.tau) for block in self.blocks)
        nu = self.kappa * self.t / float(tau @ [len(cuts) for cuts in cuts_of_users])  # (5)
        # by (2) and (3) the products of one cut sum to nu tau_l t, but for terms with z v
        products = 2 * sum(len(block.v) for block in self.blocks) + len(self.blocks)
        product = nu * self.t * float(tau.sum()) / products
        for block, cuts in zip(self.blocks, cuts_of_users, strict=True):
            block.add_cuts(cuts, product, nu)

    @property
    def C(self) -> Floats:
        return np.hstack([block.C for block in self.blocks]) * self.length

    @property
    def multiplier_unit(self) -> float:
        return self.price * self.length

    @property
    def M(self) -> Floats:
        """Multipliers of C X = target."""
        return self.L * self.multiplier_unit

    def parts(self) -> Parts:
        """Return signs Z and multipliers w of every user's cuts that solve (1), in units of M.

        What is missing in (1) is added to the multipliers lam[0] - lam[1] by least squares.
        """
        parts = []
        for block in self.blocks:
            missing = block.image(self.L) - self.q * block.v - block.w @ block.Z  # (1)
            w = block.w + missing @ np.linalg.pinv(block.Z)
            parts.append((block.Z, w * self.multiplier_unit))
        return tuple(parts)

    def set_residuals(self) -> None:
        """Compute what is missing in (1) to (5)."""
        self.r4 = self.A.copy()  # (4)
        self.r5 = -self.kappa * self.t  # (5)
        for block in self.blocks:
            block.set_residuals(self.q, self.L, self.t)
            self.r4 -= block.estimate(block.v)
            self.r5 += block.tau * float(block.nu.sum())

    def objective(self) -> float:
        """Return q |C|^2 + kappa t^2, twice the objective."""
        value = self.kappa * self.t**2
        for block in self.blocks:
            value += self.q * float(np.vdot(block.v, block.v))
        return value

    def measure(self) -> float:
        """Compute the residuals, and return how far the iterate is from an optimum.

        That is the larger of the duality gap, which is the sum of the products of (6) where (1) to
        (5) hold, and the error of the multipliers in (1) and (5), relative to the objective. What
        is missing in (2) to (4) does not matter for the certificate: weights are repaired before,
        and t and nu computed anew.
        """
        self.set_residuals()
        objective = self.objective()
        error = 0.0
        count = 0
        for block in self.blocks:
            error += block.tau * float(np.abs(block.r1).mean())
            count += block.g.size + len(block.s)
        self.gap = sum(block.complementarity() for block in self.blocks)
        self.mean_product = self.gap / count
        # kappa t is by (5) the sum of all tau nu: the size of the terms of (1), times tau, and (5)
        self.multiplier_error = (error + abs(self.r5)) / (self.kappa * self.t) * objective
        return max(self.gap, self.multiplier_error) / objective

    def add_cuts(self, margin: float) -> bool:
        """Add the cuts of every user that are violated most; return whether there are any."""
        added = False
        for block in self.blocks:
            new = block.violated_cuts(self.t, margin)
            if len(new):
                block.add_cuts(new, self.mean_product, NEW_MULTIPLIER * float(block.nu.mean()))
                added = True
        return added

    def step(self) -> None:
        """Take one step of Mehrotra's predictor-corrector method; `measure` comes before it."""
        system = NewtonSystem(self)

        # predictor: products of 0
        predicted, *_ = system.directions([block.predictor() for block in self.blocks])
        gap = self.gap_after(predicted, *self.step_lengths(predicted))

        # corrector: equal products
        center = self.centering(gap)
        aims = []
        for block, change in zip(self.blocks, predicted, strict=True):
            aims.append(block.corrector(center, change))
        changes, dL, dt = system.directions(aims)
        primal, dual = self.step_lengths(changes)
        self.move(changes, dL, dt, TO_THE_BOUNDARY * primal, TO_THE_BOUNDARY * dual)

    def step_lengths(self, changes: list[Direction]) -> tuple[float, float]:
        """Return the longest primal and dual steps, at most 1, on which (6) keeps its signs."""
        primal, dual = [], []
        for block, change in zip(self.blocks, changes, strict=True):
            primal += [(block.g, change.g), (block.s, change.s)]
            dual += [(block.lam, change.lam), (block.nu, change.nu)]
        return step_length(*primal), step_length(*dual)

    def gap_after(self, changes: list[Direction], primal: float, dual: float) -> float:
        """Return the sum of the products of (6) after a step."""
        gap = 0.0
        for block, change in zip(self.blocks, changes, strict=True):
            g, lam = block.g + primal * change.g, block.lam + dual * change.lam
            s, nu = block.s + primal * change.s, block.nu + dual * change.nu
            gap += float(np.vdot(g, lam))
            gap += float(s @ nu)
        return gap

    def centering(self, predicted_gap: float) -> float:
        """Return the product that the corrector aims at.

        Products that shrink before the equations hold leave no room for the steps to come, so it
        does not fall below a share of what is missing in these.
        """
        progress = (predicted_gap / self.gap) ** CENTERING
        smallest = SMALLEST_CENTER * self.multiplier_error / self.gap
        return self.mean_product * min(1.0, max(progress, smallest))

    def move(
        self, changes: list[Direction], dL: Floats, dt: float, primal: float, dual: float
    ) -> None:
        for block, change in zip(self.blocks, changes, strict=True):
            block.move(change, primal, dual)
        self.t = self.t + primal * dt
        self.L = self.L + dual * dL
        self.steps += 1


def first_cuts(sums: Floats) -> Numbers:
    """Return the cuts to begin with: those of the largest sums, and others spread over all."""
    spread = (np.arange(1, FIRST_CUTS + 1) * SPREAD) % len(sums)
    return np.union1d(np.argsort(-sums)[:FIRST_CUTS], spread)


def descend(point: ExactInteriorPoint, margin: float) -> Iterator[float]:
    """Take steps and add cuts in turn, and yield before each step how far the optimum is.

    Cuts join that are violated by a share of `margin` at least.
    """
    while point.steps < MAX_STEPS:
        error = point.measure()
        if point.steps % STEPS_BETWEEN_CUTS == 0 and point.add_cuts(margin):
            error = point.measure()
        yield error
        try:
            point.step()
        except np.linalg.LinAlgError:
            break


def root_of_inverse(Z: Floats, c: Floats, q: float) -> Floats:
    """Return upper triangular R_a with R_a R_a^T = (q I + Z^T diag(c_a) Z)^-1, for every a.

    They come from a QR decomposition of the square roots of both terms. Beside a large term the
    small q would be lost to rounding, and beside its square root the square root of q is not.
    """
    size = Z.shape[1]
    root_q = np.broadcast_to(np.sqrt(q) * np.eye(size), (len(c), size, size))
    roots = np.concatenate([np.sqrt(c)[:, :, None] * Z, root_q], axis=1)
    return np.asarray(np.linalg.inv(np.linalg.qr(roots, mode="r")))
