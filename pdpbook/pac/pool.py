"""A public pool and a linear model of its subsets: its weights, and how people change them."""

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
LARGEST_LEVERAGE = 1 - 1e-6  # of a member: above it the fit without them is computed anew
SMALLEST_PIVOT = 1e-5  # of columns of length 1; rounding over its square is the relative error


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
        """Origin of columns and labels in `_table`: their means, or 0 without an intercept."""
        if not self.fit_intercept:
            return np.zeros(self.X.shape[1]), 0.0
        return self.X.mean(axis=0), float(self.y.mean())

    @cached_property
    def _table(self) -> Floats:
        """Rows (1, x, y) measured from the middle, above those of the penalty; (n + p, p + 1)."""
        k = int(self.fit_intercept)
        x, y = self._middle
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
        linear, shift = np.eye(self.p), np.zeros(self.p)
        if self.fit_intercept:
            x, y = self._middle
            linear[-1, :-1] = -x
            shift[-1] = y
        return linear, shift

    def sample(self, size: int, sample_rate: float, rng: np.random.Generator) -> Masks:
        """Draw Poisson samples of the pool: booleans of shape (size, n)."""
        return np.asarray(rng.random((size, len(self.y))) < sample_rate)

    def fits(self, members: ArrayLike) -> Floats:
        """Weights of subsets, (T, n) to (T, p); without full rank the shortest, as scikit-learn."""
        masks = self._masks(members)
        if self.model == "lasso":
            return np.array([self.refit(mask) for mask in masks])
        beta, _, singular = self._solve(masks)
        weights = self._from_middle(beta, fit=True)
        for t in np.flatnonzero(singular):
            weights[t] = self.refit(masks[t])
        return weights

    def differences(self, members: ArrayLike) -> tuple[Floats, Floats]:
        r"""Weights of subsets A, and the difference that each person makes, in A or not.

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
            return self._differences_by_refits(masks)
        beta, inverse, singular = self._solve(masks)
        at_most_one = masks.sum(axis=1) <= 1  # an intercept without penalty needs somebody
        if np.any(singular & ~at_most_one) or (self.model == "ols" and at_most_one.any()):
            self._refuse_rank()
        n, T, p = len(self.y), len(masks), self.p
        Z, y = self._table[:n, :-1], self._table[:n, -1]
        half = (Z @ inverse.transpose(1, 0, 2).reshape(p, -1)).reshape(n, T, p)
        half = half.transpose(1, 0, 2)  # R^-T z_i
        leverage = (half**2).sum(axis=2)
        U = half @ inverse.transpose(0, 2, 1)  # u_i = G^-1 z_i
        residual = y - beta @ Z.T
        with np.errstate(divide="ignore", invalid="ignore"):
            factor = residual / np.where(masks, 1 - leverage, 1 + leverage)
            differences = U * factor[:, :, None]
        inexact = (masks & ~(leverage < LARGEST_LEVERAGE)) | at_most_one[:, None]
        if inexact.any():
            subset, person = np.nonzero(inexact)
            pairs = np.arange(len(person))
            with_person, without_person = masks[subset], masks[subset]
            with_person[pairs, person] = True
            without_person[pairs, person] = False
            exact = self._solve_or_refuse(with_person) - self._solve_or_refuse(without_person)
            differences[subset, person] = exact
        return self._from_middle(beta, fit=True), self._from_middle(differences)

    def _differences_by_refits(self, masks: Masks) -> tuple[Floats, Floats]:
        """Return `differences` by n + 1 fits for each subset."""
        fits = self.fits(masks)
        flipped = masks[:, None] ^ np.eye(len(self.y), dtype=bool)  # one person joins or leaves
        others = np.array([self.fits(subsets) for subsets in flipped])
        signs = np.where(masks, 1, -1)[:, :, None]
        return fits, signs * (fits[:, None] - others)

    def refit(self, mask: Masks) -> Floats:
        """Weights of one subset, computed anew: by singular values, or coordinate descent."""
        X, y = self.X[mask], self.y[mask]
        if len(y) == 0:
            return np.zeros(self.p)
        if self.model == "lasso":
            from sklearn.linear_model import Lasso

            lasso = Lasso(self.alpha, fit_intercept=self.fit_intercept, tol=1e-8, max_iter=100_000)
            fit = lasso.fit(X, y)
            return np.asarray(np.r_[fit.coef_, [fit.intercept_] * int(self.fit_intercept)])
        k, d = int(self.fit_intercept), X.shape[1]
        x_mean, y_mean = k * X.mean(axis=0), k * y.mean()
        rows = np.vstack([X - x_mean, self._penalties])
        coef = np.linalg.lstsq(rows, np.r_[y - y_mean, np.zeros(d)], rcond=None)[0]
        return np.asarray(np.r_[coef, [y_mean - x_mean @ coef] * k])

    def _solve(self, masks: Masks) -> tuple[Floats, Floats, Masks]:
        """Return weights of subsets, inverse triangular factors, and which lack full rank.

        The intercept comes first, and all is measured from the middle. By QR of the rows, whose
        first column is of ones: so a subset is centered once more, and no condition number is
        squared. Shapes (T, p), (T, p, p) and (T,).
        """
        p = self.p
        included = np.ones((len(masks), len(self._table), 1))
        included[:, : len(self.y), 0] = masks
        R = np.asarray(np.linalg.qr(included * self._table, mode="r"))
        length = np.linalg.norm(R[:, :p, :p], axis=1)
        length[length == 0] = 1.0
        factor = R[:, :p, :p] / length[:, None, :]
        pivots = np.abs(np.einsum("tkk->tk", factor))
        singular = ~(pivots.min(axis=1) > SMALLEST_PIVOT)
        factor[singular] = np.eye(p)
        inverse = np.linalg.inv(factor)
        singular |= ~(SMALLEST_PIVOT * np.linalg.norm(inverse, axis=(1, 2)) < 1)
        inverse = inverse / length[:, :, None]
        beta = np.einsum("tpq,tq->tp", inverse, R[:, :p, p])
        nobody = ~masks.any(axis=1)  # the weights of nobody are zero, in the units of the pool
        beta[nobody] = 0.0
        singular[nobody] = False
        if self.fit_intercept:
            beta[nobody, 0] = -self._middle[1]
        return beta, inverse, singular

    def _solve_or_refuse(self, masks: Masks) -> Floats:
        """Return the weights of `_solve`; refuse subsets without full rank."""
        beta, _, singular = self._solve(masks)
        if singular.any():
            self._refuse_rank()
        return beta

    def _from_middle(self, beta: Floats, *, fit: bool = False) -> Floats:
        """Return weights of `_solve` with the intercept last, in the units of the pool.

        With `fit` these are weights, else differences of weights.
        """
        if not self.fit_intercept:
            return beta.copy()
        x, y = self._middle
        intercept = beta[..., 0] + (y if fit else 0.0) - beta[..., 1:] @ x
        return np.concatenate([beta[..., 1:], intercept[..., None]], axis=-1)

    def _refuse_rank(self) -> NoReturn:
        """Refuse a pool with a half that has no full rank, and say what would help."""
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
        """Return subsets as booleans of shape (T, n), or refuse what is not."""
        masks = np.asarray(members)
        if masks.dtype != bool or masks.ndim != 2 or masks.shape[1] != len(self.y):
            raise ValueError(
                f"members must be booleans of shape (T, {len(self.y)}); got {masks.dtype} of shape "
                f"{masks.shape}"
            )
        return masks
