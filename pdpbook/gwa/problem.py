"""One weighting problem in the form every solver takes, and its objective at a given matrix.

minimize  sigma2 |C|_F^2 + kappa t^2 + prior |C X - target|_F^2  where, for every user l, the norms
of the columns of C sum to at most tau_l t, under C X = target when there is no prior.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.check import ULP
from pdpbook.noise import gaussian_mu
from pdpbook.users import Users, check_user_epsilon, check_users

FAR = 1e30  # budgets beyond it, in units of the labels, leave nothing to compute with
FEASIBLE = 1e-9  # relative error of C X = target, or of a target, that counts as rounding


@dataclass(frozen=True)
class Problem:
    """A weighting problem; `C` here has its columns in the order of the sorted rows."""

    X: Floats  # (n, d), sorted by user
    starts: NDArray[np.intp]  # (m,), first row of every user
    codes: NDArray[np.intp]  # (n,), user of every row
    order: NDArray[np.intp]  # (n,), place of every sorted row in the caller's X
    target: Floats  # (k, d)
    sigma2: float
    kappa: float  # price of t^2
    tau: Floats  # (m,), at most 1: share of t that every user may use
    unit: float  # scale of the noise = t / unit
    prior: float  # price of the bias; infinity for an unbiased estimate
    grouped: bool  # l2 norms of columns, Gaussian noise
    basis: Floats | None = None  # (d, r), T, if X and target stand in the basis X T

    def on_rows(self, rows: NDArray[np.intp]) -> Problem:
        """Return the problem on some rows, sorted by user, without the users who own none."""
        present, starts, codes = np.unique(self.codes[rows], return_index=True, return_inverse=True)
        return replace(self, X=self.X[rows], starts=starts, codes=codes, tau=self.tau[present])

    @property
    def rows_of_users(self) -> list[slice]:
        """Where the rows of each user are."""
        boundaries = np.append(self.starts, len(self.X))
        return [slice(start, end) for start, end in pairwise(boundaries)]

    def change_basis(self, T: Floats) -> Problem:
        """Return the same problem in the design X T: multipliers come back as M T^T."""
        return replace(self, X=self.X @ T, target=self.target @ T, basis=T)

    def prior_matrix(self) -> Floats:
        """Return R of the price <M, M R> that the prior puts on multipliers M; 0 without one."""
        T = np.eye(self.X.shape[1]) if self.basis is None else self.basis
        return np.asarray(T.T @ T / self.prior)

    def infeasibility(self, C: Floats) -> float:
        """Return the largest |C X - target| relative to the sums it is rounded from.

        0 with a prior, which has no such constraint.
        """
        if np.isfinite(self.prior):
            return 0.0
        size = (np.abs(C) @ np.abs(self.X) + np.abs(self.target)).max(axis=0)
        missing = np.abs(C @ self.X - self.target).max(axis=0)
        return float(np.max(missing / np.where(size > 0, size, 1.0)))

    def sizes_of(self, C: Floats) -> Floats:
        """Return the norms of the columns, summed within every user, shape (m,)."""
        if self.grouped:
            norms = np.sqrt((C * C).sum(axis=0))
        else:
            norms = np.abs(C).sum(axis=0)
        return np.asarray(np.add.reduceat(norms, self.starts))

    def objective(self, C: Floats, t: float | None = None) -> float:
        """Return the value at C, feasible or not; without a t, at the smallest that C allows."""
        if t is None:
            t = float(np.max(self.sizes_of(C) / self.tau))
        value = self.sigma2 * float(np.vdot(C, C)) + self.kappa * t**2
        if np.isfinite(self.prior):
            bias = C @ self.X - self.target
            if self.basis is not None:  # in the caller's basis
                bias = np.asarray(np.linalg.solve(self.basis.T, bias.T).T, dtype=float)
            value += self.prior * float((bias**2).sum())
        return value


def build_problem(
    X: ArrayLike,
    users: Any,
    sigma2: Any,
    epsilon: Any,
    width: Any,
    target: ArrayLike | None = None,
    prior: Any = None,
    norm: Any = "l1",
    delta: Any = None,
) -> tuple[Problem, Users]:
    """Check every argument of `gwa_weights` and sort the rows by user."""
    rows = check.matrix(X, "X")
    n, d = rows.shape
    owners = check_users(users, n, X=X)
    sigma2 = check.single(check.nonnegative(sigma2, "sigma2"), "sigma2")
    width = check.number(width, "width")
    budgets = check_user_epsilon(epsilon, owners)
    if not budgets.all():
        raise ValueError(
            "epsilon must be above 0 here: leave the rows of users with budget 0 out of X; "
            f"{int((budgets == 0).sum())} of {len(budgets)} users have none"
        )
    grouped = check.choice(norm, "norm", ("l1", "l2")) == "l2"
    if grouped and delta is None:
        raise ValueError("delta must be given with norm='l2': Gaussian noise has no pure promise")
    if not grouped and delta is not None:
        raise ValueError(f"delta must be None with norm='l1', Laplace noise; got {delta!r}")
    prior = np.inf if prior is None else check.number(prior, "prior")
    if target is None:
        A = np.eye(d)
    else:
        A = check.matrix(target, "target", "k", d, ", a column for each of X")
    if not A.any():
        raise ValueError("target must not be all zeros: then there is nothing to estimate")
    if grouped:
        budgets = np.asarray(gaussian_mu(budgets, check.delta(delta)), dtype=float)
    limits = budgets / width  # of the sums of norms, per unit of the scale of the noise
    unit = float(limits.max())
    if not 1 / FAR < unit < FAR:
        raise ValueError(
            f"epsilon must be between {1 / FAR:g} and {FAR:g} times the width of the labels, "
            f"{width:g}; the largest is {unit * width:g}"
        )
    by_user = np.argsort(owners.codes, kind="stable")
    problem = Problem(
        X=rows[by_user],
        starts=np.cumsum(owners.sizes) - owners.sizes,
        codes=owners.codes[by_user],
        order=by_user,
        target=A,
        sigma2=sigma2,
        kappa=(1 if grouped else 2) * len(A) / unit**2,
        tau=limits / unit,
        unit=unit,
        prior=prior,
        grouped=grouped,
    )
    return problem, owners


def whitening(problem: Problem, *, default_target: bool) -> Floats:
    """Return T of shape (d, r) such that X T has orthonormal columns and the same column space.

    With a prior, rows for it are added to X. A target that is not estimable is refused.
    """
    n, d = problem.X.shape
    X = problem.X
    if np.isfinite(problem.prior):  # a prior makes every direction estimable
        ridge = np.sqrt((problem.sigma2 + problem.kappa / n) / problem.prior)
        X = np.vstack([X, ridge * np.eye(d)])
    lengths = np.linalg.norm(X, axis=0)
    unit = np.where(lengths > 0, lengths, 1.0)
    R = np.linalg.qr(X / unit, mode="r")
    _, s, Vt = np.linalg.svd(R, full_matrices=True)  # X / unit = U diag(s) V^T
    s = np.concatenate([s, np.zeros(d - len(s))])
    if np.isfinite(problem.prior):
        return np.asarray((Vt.T / s) / unit[:, None])
    rank = int((s > s[0] * max(n, d) * ULP).sum())
    V = Vt[:rank].T
    scaled = problem.target / unit
    outside_row_space = np.abs(scaled - (scaled @ V) @ V.T).max(axis=1)
    if rank < d and default_target:
        raise ValueError(
            f"X must have full column rank {d} to estimate every coefficient; its rank is {rank}. "
            "Pass a target with rows in the row space of X, or a prior"
        )
    not_estimable = outside_row_space > FEASIBLE * np.abs(scaled).max(axis=1)
    if not_estimable.any():
        at = int(np.flatnonzero(not_estimable)[0])
        raise ValueError(
            f"target must be estimable, its rows in the row space of X (rank {rank} of {d}); row "
            f"{at} is not. Pass other rows, or a prior"
        )
    return np.asarray((V / s[:rank]) / unit[:, None])
