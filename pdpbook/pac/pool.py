r"""A public pool and a linear model of its subsets: the weights, and what everybody does to them.

One factorization of a subset serves everybody in the pool, inside it or outside. Averages over
random subsets are in `differences`.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook.validation import (
    check_choice,
    check_design,
    check_nonnegative,
    check_positive,
    check_single,
)

__all__ = ["MODELS", "Pool"]

Floats = NDArray[np.float64]
Masks = NDArray[np.bool_]

MODELS = ("ridge", "ols", "lasso")  #: whose weights are released
LEVERAGE = 1 - 1e-6  # above it leaving is computed by a refit, and is refused without a penalty
RANK = 1e-10  # relative to the largest eigenvalue, columns scaled to one length


@dataclass(frozen=True, eq=False)
class Pool:
    r"""A public pool and the model that is trained on subsets of it.

    The weights are those of scikit-learn's ``LinearRegression``, ``Ridge(alpha)`` and
    ``Lasso(alpha)``, coefficients first and the intercept, which is not penalized, last. The
    model of nobody is zero. Checks its arguments; nothing here is private.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Features of everybody in the pool.
    y : ndarray, shape (n,)
        Labels.
    model : {"ridge", "ols", "lasso"}, default "ridge"
        For ``"ols"`` every half needs full column rank, without any one person too.
    alpha : float, default 1.0
        Penalty in the convention of scikit-learn: against the *sum* of squares for ridge, against
        half the mean for lasso. Not used for ``"ols"``.
    fit_intercept : bool, default True
        Whether the weights end in an intercept.
    """

    X: Floats
    y: Floats
    model: str = "ridge"
    alpha: float = 1.0
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        check_choice(self.model, "model", MODELS)
        if not isinstance(self.fit_intercept, (bool, np.bool_)):
            raise TypeError(f"fit_intercept must be a boolean; got {self.fit_intercept!r}")
        rule = check_nonnegative if self.model == "ols" else check_positive
        object.__setattr__(self, "alpha", check_single(rule(self.alpha, "alpha"), "alpha"))
        X, y = check_design(self.X, self.y)
        object.__setattr__(self, "X", X.copy())  # what is cached must stay true
        object.__setattr__(self, "y", y.copy())
        constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
        if self.fit_intercept and len(X) > 1 and len(constant):
            k = int(constant[0])
            raise ValueError(
                f"X must have no constant column beside the intercept; X[:, {k}] is {X[0, k]:g} "
                "for everybody. Drop it, or pass fit_intercept=False"
            )

    @cached_property
    def rows(self) -> Floats:
        """Features and, with an intercept, a last column of ones; shape (n, p)."""
        ones = np.ones((len(self.X), int(self.fit_intercept)))
        return np.column_stack([self.X, ones])

    @property
    def p(self) -> int:
        """Number of weights."""
        return int(self.rows.shape[1])

    @cached_property
    def penalty(self) -> Floats:
        """Penalty of each weight in the Gram matrix, shape (p,)."""
        size = self.alpha if self.model == "ridge" else 0.0
        return np.asarray(np.r_[np.full(self.X.shape[1], size), np.zeros(int(self.fit_intercept))])

    @cached_property
    def _products(self) -> tuple[Floats, Floats]:
        Z = self.rows
        return (Z[:, :, None] * Z[:, None, :]).reshape(len(Z), -1), Z * self.y[:, None]

    def sample(self, size: int, sample_rate: float, rng: np.random.Generator) -> Masks:
        """Draw Poisson samples of the pool: booleans of shape (size, n)."""
        return np.asarray(rng.random((size, len(self.y))) < sample_rate)

    def fits(self, members: ArrayLike) -> Floats:
        """Weights of the models of subsets, shape (T, n) to (T, p)."""
        masks = self._masks(members)
        if self.model == "lasso":
            return np.array([self.refit(mask) for mask in masks])
        return self._solve(masks)[0]

    def differences(self, members: ArrayLike) -> tuple[Floats, Floats]:
        r"""Weights of subsets, and what everybody does to them.

        Parameters
        ----------
        members : array_like of bool, shape (T, n)
            Who is in each subset A.

        Returns
        -------
        fits : ndarray, shape (T, p)
            F(A).
        differences : ndarray, shape (T, n, p)
            F(A with i) - F(A without i), whether i is in A or not.
        """
        masks = self._masks(members)
        if self.model == "lasso":
            return self._by_refits(masks)
        beta, inverse = self._solve(masks)
        Z, T = self.rows, len(masks)
        U = (Z @ inverse.transpose(1, 0, 2).reshape(self.p, -1)).reshape(len(Z), T, self.p)
        U = U.transpose(1, 0, 2)  # u_i = G^-1 z_i
        leverage = np.einsum("tnp,np->tn", U, Z)
        residual = self.y - beta @ Z.T
        with np.errstate(divide="ignore", invalid="ignore"):
            U = U * (residual / np.where(masks, 1 - leverage, 1 + leverage))[:, :, None]
        hard = masks & ~(leverage < LEVERAGE)
        hard[masks.sum(axis=1) <= 1] = True  # an unpenalized intercept needs somebody
        if hard.any():
            if self.model == "ols":
                self._refuse_rank()
            for t, i in np.argwhere(hard):
                with_i, without = masks[t].copy(), masks[t].copy()
                with_i[i], without[i] = True, False
                U[t, i] = self.refit(with_i) - self.refit(without)
        return beta, U

    def refit(self, mask: Masks) -> Floats:
        """Weights of one subset by a road of its own: orthogonal factors, or coordinate descent."""
        X, y = self.X[mask], self.y[mask]
        if len(y) == 0:
            return np.zeros(self.p)
        if self.model == "lasso":
            from sklearn.linear_model import Lasso

            fit = Lasso(
                alpha=self.alpha, fit_intercept=bool(self.fit_intercept), tol=1e-8, max_iter=100_000
            ).fit(X, y)
            return np.asarray(np.r_[fit.coef_, [fit.intercept_] * int(self.fit_intercept)])
        extra = np.diag(np.sqrt(self.penalty))
        left = np.vstack([self.rows[mask], extra])
        return np.asarray(np.linalg.lstsq(left, np.r_[y, np.zeros(self.p)], rcond=None)[0])

    def _solve(self, masks: Masks) -> tuple[Floats, Floats]:
        products, moments = self._products
        weight = masks.astype(float)
        G = (weight @ products).reshape(-1, self.p, self.p) + np.diag(self.penalty)
        empty = masks.sum(axis=1) == 0
        G[empty] += np.eye(self.p)  # their moment is zero, and so are their weights
        if self.model == "ols":
            length = np.sqrt(np.einsum("tkk->tk", G))
            if np.any(length == 0):
                self._refuse_rank()
            scaled = np.linalg.eigvalsh(G / length[:, :, None] / length[:, None, :])
            if empty.any() or not np.all(scaled[:, 0] > RANK * scaled[:, -1]):
                self._refuse_rank()
        inverse = np.asarray(np.linalg.inv(G), dtype=float)
        return np.einsum("tpq,tq->tp", inverse, weight @ moments), inverse

    def _by_refits(self, masks: Masks) -> tuple[Floats, Floats]:
        fits = np.array([self.refit(mask) for mask in masks])
        out = np.empty((*masks.shape, self.p))
        for t, mask in enumerate(masks):
            for i in range(len(mask)):
                other = mask.copy()
                other[i] = not mask[i]
                out[t, i] = (fits[t] - self.refit(other)) * (1 if mask[i] else -1)
        return fits, out

    def _refuse_rank(self) -> None:
        size = float((self.X**2).sum(axis=0).mean()) / 200
        raise ValueError(
            f"model='ols' needs at least {self.p} rows of full rank in every half-sample, also "
            f"without any one person; a half of these {len(self.y)} rows has less. Use "
            f"model='ridge' with a penalty, such as alpha={size:.2g}, a hundredth of a feature's "
            "sum of squares in a half"
        )

    def _masks(self, members: ArrayLike) -> Masks:
        masks = np.asarray(members)
        if masks.dtype != bool or masks.ndim != 2 or masks.shape[1] != len(self.y):
            raise ValueError(
                f"members must be booleans of shape (T, {len(self.y)}); got {masks.dtype} of shape "
                f"{masks.shape}"
            )
        return masks
