"""A public pool and a linear model of its subsets: weights, and what everybody does to them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import NoReturn, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.noise.laws import keep

Masks = NDArray[np.bool_]
MODELS = ("ridge", "ols", "lasso")  #: whose weights are released
LEVERAGE = 1 - 1e-6  # above it leaving is computed by a refit, and is refused without a penalty
RANK = 1e-5  # of columns of one length: rounding, over its square, is the error of a difference


def check_alpha(alpha: float, model: str) -> float:
    """Return a penalty, above 0 where the model has one."""
    rule = check.nonnegative if model == "ols" else check.positive
    return check.single(rule(alpha, "alpha"), "alpha")


@dataclass(frozen=True, eq=False)
class Pool:
    r"""A public pool and the model that is trained on subsets of it.

    The weights are those of scikit-learn's ``LinearRegression``, ``Ridge(alpha)`` and
    ``Lasso(alpha)``, coefficients first and the intercept, which is not penalized, last. The model
    of nobody is zero. Nothing here is private.

    Parameters
    ----------
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
    model : {"ridge", "ols", "lasso"}, default "ridge"
        For ``"ols"`` every half needs full column rank, without any one person too.
    alpha : float, default 1.0
        Penalty against the *sum* of squares for ridge, half the mean for lasso; none for ``"ols"``.
    fit_intercept : bool, default True
        Whether the weights end in an intercept.
    """

    X: Floats
    y: Floats
    model: str = "ridge"
    alpha: float = 1.0
    fit_intercept: bool = True

    def __post_init__(self) -> None:
        check.choice(self.model, "model", MODELS)
        check.flag(self.fit_intercept, "fit_intercept")
        alpha = check_alpha(self.alpha, self.model)
        X, y = check.design(self.X, self.y)
        keep(self, X=X, y=y, alpha=alpha)  # copies: what is cached must stay true
        constant = np.flatnonzero(np.ptp(X, axis=0) == 0)
        if self.fit_intercept and len(X) > 1 and len(constant):
            k = int(constant[0])
            raise ValueError(
                f"X must have no constant column beside the intercept; X[:, {k}] is {X[0, k]:g} "
                "for everybody. Drop it, or pass fit_intercept=False"
            )

    @property
    def p(self) -> int:
        """Number of weights."""
        return int(self.X.shape[1]) + int(self.fit_intercept)

    @property
    def _penalties(self) -> Floats:
        """Rows that add the penalty of ridge to squares of coefficients, shape (d, d)."""
        size = self.alpha if self.model == "ridge" else 0.0
        return np.diag(np.full(self.X.shape[1], np.sqrt(size)))

    @cached_property
    def _middle(self) -> tuple[Floats, float]:
        """Where columns and labels are measured from inside: their means, if there is a weight."""
        if not self.fit_intercept:
            return np.zeros(self.X.shape[1]), 0.0
        return self.X.mean(axis=0), float(self.y.mean())

    @cached_property
    def _table(self) -> Floats:
        """Rows (1, x, y) measured from the middle, over roots of the penalties; (n + p, p + 1)."""
        k, (x, y) = int(self.fit_intercept), self._middle
        rows = np.column_stack([np.ones((len(self.y), k)), self.X - x, self.y - y])
        extra = np.zeros((self.p, self.p + 1))
        extra[k:, k:-1] = self._penalties
        return np.vstack([rows, extra])

    def centered(self) -> Self:
        """The same people, measured from their means if there is an intercept."""
        x, y = self._middle
        return replace(self, X=self.X - x, y=self.y - y)

    @property
    def origin(self) -> tuple[Floats, Floats]:
        """Linear map, shape (p, p), and shift that turn weights of `centered` into those here."""
        turn, shift = np.eye(self.p), np.zeros(self.p)
        if self.fit_intercept:
            turn[-1, :-1], shift[-1] = -self._middle[0], self._middle[1]
        return turn, shift

    def sample(self, size: int, sample_rate: float, rng: np.random.Generator) -> Masks:
        """Draw Poisson samples of the pool: booleans of shape (size, n)."""
        return np.asarray(rng.random((size, len(self.y))) < sample_rate)

    def fits(self, members: ArrayLike) -> Floats:
        """Weights of subsets, (T, n) to (T, p); short of rank the shortest, as scikit-learn."""
        masks = self._masks(members)
        if self.model == "lasso":
            return np.array([self.refit(mask) for mask in masks])
        beta, _, short = self._solve(masks)
        weights = self._back(beta, fit=True)
        for t in np.flatnonzero(short):
            weights[t] = self.refit(masks[t])
        return weights

    def differences(self, members: ArrayLike) -> tuple[Floats, Floats]:
        r"""Weights of subsets, and what everybody does to them, whether in the subset A or not.

        Statement ``prop-rank-one`` (ours), chapter *pac/noise*. With :math:`z_i = (x_i, 1)`,
        :math:`G = Z_A^\top Z_A + \alpha\,\mathrm{diag}(1,\dots,1,0)`, :math:`u_i = G^{-1}z_i`,
        leverage :math:`h_i = z_i^\top u_i` and residual :math:`r_i`, a difference is
        :math:`\frac{r_i}{1+h_i}u_i` for i outside A and :math:`\frac{r_i}{1-h_i}u_i` for i in A.
        Lasso has no such formula and is refitted n + 1 times.

        Parameters
        ----------
        members : array_like of bool, shape (T, n)
            Who is in each subset A.

        Returns
        -------
        fits : ndarray, shape (T, p)
            F(A).
        differences : ndarray, shape (T, n, p)
            F(A with i) - F(A without i).

        Examples
        --------
        >>> pool = Pool([[0.0], [1.0], [2.0], [5.0]], [0.5, 1.2, 3.0, 4.1])
        >>> pool.differences([[True, True, True, False]])[1][0, 3].round(3)
        array([-0.16,  0.12])
        """
        masks = self._masks(members)
        if self.model == "lasso":
            fits, flipped = self.fits(masks), masks[:, None] ^ np.eye(len(self.y), dtype=bool)
            others = np.array([self.fits(each) for each in flipped])
            return fits, np.where(masks, 1, -1)[:, :, None] * (fits[:, None] - others)
        beta, inverse, short = self._solve(masks)
        few = masks.sum(axis=1) <= 1  # an unpenalized intercept needs somebody
        if np.any(short & ~few) or (self.model == "ols" and few.any()):
            self._refuse_rank()
        Z, y = self._table[: len(self.y), :-1], self._table[: len(self.y), -1]
        U = (Z @ inverse.transpose(1, 0, 2).reshape(self.p, -1)).reshape(len(Z), len(masks), self.p)
        U = U.transpose(1, 0, 2)  # R^-T z_i
        leverage = (U**2).sum(axis=2)
        U = U @ inverse.transpose(0, 2, 1)  # u_i = G^-1 z_i
        residual = y - beta @ Z.T
        with np.errstate(divide="ignore", invalid="ignore"):
            U = U * (residual / np.where(masks, 1 - leverage, 1 + leverage))[:, :, None]
        hard = (masks & ~(leverage < LEVERAGE)) | few[:, None]
        if hard.any():
            at, who = np.nonzero(hard)
            with_i, without, each = masks[at], masks[at], np.arange(len(who))
            with_i[each, who], without[each, who] = True, False
            U[at, who] = self._checked(with_i) - self._checked(without)
        return self._back(beta, fit=True), self._back(U)

    def refit(self, mask: Masks) -> Floats:
        """Weights of one subset by a road of its own: singular values, or coordinate descent."""
        X, y = self.X[mask], self.y[mask]
        if len(y) == 0:
            return np.zeros(self.p)
        if self.model == "lasso":
            from sklearn.linear_model import Lasso

            lasso = Lasso(self.alpha, fit_intercept=self.fit_intercept, tol=1e-8, max_iter=100_000)
            fit = lasso.fit(X, y)
            return np.asarray(np.r_[fit.coef_, [fit.intercept_] * int(self.fit_intercept)])
        k, d = int(self.fit_intercept), X.shape[1]
        x, middle = k * X.mean(axis=0), k * y.mean()
        left = np.vstack([X - x, self._penalties])
        coef = np.linalg.lstsq(left, np.r_[y - middle, np.zeros(d)], rcond=None)[0]
        return np.asarray(np.r_[coef, [middle - x @ coef] * k])

    def _solve(self, masks: Masks) -> tuple[Floats, Floats, Masks]:
        """Weights (intercept first, from the middle), inverse factors, and who is short of rank.

        Orthogonal factors of the rows themselves: the column of ones is taken out first, so a
        subset is centered once more, and no square of a condition number is inverted.
        """
        p = self.p
        held = np.ones((len(masks), len(self._table), 1))
        held[:, : len(self.y), 0] = masks
        R = np.asarray(np.linalg.qr(held * self._table, mode="r"))
        length = np.linalg.norm(R[:, :p, :p], axis=1)
        length[length == 0] = 1.0
        factor = R[:, :p, :p] / length[:, None, :]
        short = ~(np.abs(np.einsum("tkk->tk", factor)).min(axis=1) > RANK)
        factor[short] = np.eye(p)
        inverse = np.linalg.inv(factor)
        short |= ~(RANK * np.linalg.norm(inverse, axis=(1, 2)) < 1)
        inverse = inverse / length[:, :, None]
        beta = np.einsum("tpq,tq->tp", inverse, R[:, :p, p])
        nobody = ~masks.any(axis=1)  # whose weights are known: zero, from the pool's own origin
        beta[nobody], short[nobody] = 0.0, False
        if self.fit_intercept:
            beta[nobody, 0] = -self._middle[1]
        return beta, inverse, short

    def _checked(self, masks: Masks) -> Floats:
        """Weights as `_solve` counts them; refused where they are not known."""
        beta, _, short = self._solve(masks)
        if short.any():
            self._refuse_rank()
        return beta

    def _back(self, beta: Floats, *, fit: bool = False) -> Floats:
        """Coefficients first, intercept last and of the pool's own origin; or a difference."""
        if not self.fit_intercept:
            return beta.copy()
        x, y = self._middle
        intercept = beta[..., 0] + (y if fit else 0.0) - beta[..., 1:] @ x
        return np.concatenate([beta[..., 1:], intercept[..., None]], axis=-1)

    def _refuse_rank(self) -> NoReturn:
        size = float(((self.X - self._middle[0]) ** 2).sum(axis=0).mean())
        remedy = f"alpha={size / 200:.2g}, a hundredth of a feature's sum of squares in a half"
        if self.model == "ridge":
            raise ValueError(
                f"alpha must be larger for these columns of X, which in some half are collinear or "
                f"nearly so; got {self.alpha:g}, with which its weights are not known to six "
                f"digits. Drop a column that repeats others, or pass such as {remedy}"
            )
        raise ValueError(
            f"model='ols' needs at least {self.p} rows of full rank in every half-sample, also "
            f"without any one person; a half of these {len(self.y)} rows has less. Use "
            f"model='ridge' with a penalty, such as {remedy}"
        )

    def _masks(self, members: ArrayLike) -> Masks:
        masks = np.asarray(members)
        if masks.dtype != bool or masks.ndim != 2 or masks.shape[1] != len(self.y):
            raise ValueError(
                f"members must be booleans of shape (T, {len(self.y)}); got {masks.dtype} of shape "
                f"{masks.shape}"
            )
        return masks
