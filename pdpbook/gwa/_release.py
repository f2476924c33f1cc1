"""What the label-private regressions share: public data, a public plan, one noisy release."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import where_above_zero
from pdpbook._domain import (
    ULP,
    check_flag,
    generator_from,
    inside,
    labels_of,
    predictions,
    table_of,
)
from pdpbook._users import (
    Users,
    check_budgets_of_users,
    check_user_epsilon,
    check_users,
    part_of,
)
from pdpbook.blocks import in_memory
from pdpbook.guarantees import BudgetAccount, GaussianDP, PureDP
from pdpbook.gwa.sensitivity import exact_sensitivity
from pdpbook.noise import ProductLaw, gaussian_mu
from pdpbook.reports.frames import table_frame
from pdpbook.reports.noise import Crowd, Noise
from pdpbook.reports.reported import ReportedOfTable
from pdpbook.validation import (
    check_bounds,
    check_delta,
    check_design,
    check_finite,
    check_scale,
)

__all__: list[str] = []  # for the estimators of this folder

Floats = NDArray[np.float64]

NEGLIGIBLE = 1e-7  # a budget below this share of the largest counts as 0, and is promised 0


@dataclass(frozen=True, eq=False)
class Plan:
    """A linear release fixed by public things alone: `C` of shape (k, n) and its noise."""

    C: Floats
    back: Floats  #: shape (p, k), from the release to the coefficients
    scale: float  #: of the noise on every entry: Laplace scale or standard deviation
    noise: str
    exposure: Floats  #: (m,), the largest loss of each user: nats, or mu for Gaussian noise
    report: dict[str, Any]  #: public attributes of the fitted estimator


def plan_release(
    C: Floats, back: Floats, moves: Floats, tau: Floats, width: float, **report: Any
) -> Plan:
    """Noise from the returned matrix: scale = width * max_l moves_l / tau_l."""
    noise = report.pop("noise", "laplace")
    scale = float(width * np.max(moves / tau))
    return Plan(C, back, scale, noise, width * moves / scale, report)


def contributions(C: Floats, users: Users, noise: str, sensitivity: str = "entrywise") -> Floats:
    """How far labels of width 1 of each user move C y, or a bound on it, shape (m,)."""
    if sensitivity == "exact":
        return exact_sensitivity(C, users.codes)
    norms = np.abs(C).sum(axis=0) if noise == "laplace" else np.sqrt((C**2).sum(axis=0))
    return np.asarray(np.bincount(users.codes, norms, len(users.labels)), dtype=float)


def estimable(X: Floats, *, biased: bool = False) -> tuple[Floats, int]:
    """Basis of what is estimable from X, shape (d, r), and the rank; the identity at full rank."""
    d = X.shape[1]
    _, values, rows = np.linalg.svd(X, full_matrices=False)
    rank = int((values > values[0] * max(X.shape) * ULP).sum())
    if rank == 0:
        raise ValueError("X must have an entry other than 0; nothing is estimable from it")
    if rank == d or biased:  # the l1 norm depends on coordinates: keep those of X
        return np.eye(d), rank
    warnings.warn(
        f"X has rank {rank}, less than its {d} columns: only the row space is estimable, and "
        "coef_ is the minimum-norm solution",
        UserWarning,
        stacklevel=5,
    )
    return np.asarray(rows[:rank].T), rank


def variance_of(plan: Plan) -> float:
    """Of the noise on every entry of a release."""
    return plan.scale**2 * (2 if plan.noise == "laplace" else 1)


class LabelPrivateRegression(ReportedOfTable, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A public matrix times the labels, plus noise; subclasses say which matrix."""

    epsilon: Any
    sigma2: Any
    y_bounds: Any
    fit_intercept: bool
    clip: bool
    random_state: Any
    release_: Floats
    exposure_: Floats

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        users: Any = None,
        epsilon: Any = None,
        account: BudgetAccount | None = None,
    ) -> Self:
        """Release private coefficients.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows, PUBLIC: not protected, without bounds, used without noise.
        y : array_like, shape (n,)
            Labels, inside `y_bounds`: what is protected.
        users : array_like, shape (n,), optional
            Who owns each row, public; None makes every row a user of its own.
        epsilon : float, mapping or array_like, optional
            Budgets in nats: a number; shape (n,), one value a row by position, the same on all
            rows of a user; or by user: a mapping, or a Series of another length whose index is
            exactly the users. Whoever has 0 takes no part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        object
            The fitted estimator.
        """
        in_memory(f"{type(self).__name__}.fit", X, y, users, epsilon)
        budgets = self._check_settings(epsilon)
        check_account(account)
        rng = generator_from(self.random_state)
        rows = table_of(self, X, ensure_all_finite=True)
        labels = labels_of(rows, y)
        owners = check_users(users, len(rows), X=X, y=y)
        tau = self._heard(check_user_epsilon(budgets, owners))
        part = part_of(owners, tau)
        promise = self._promise(tau)
        pay = partial(charge, account, promise, X, owners)
        plans = self._release(
            rows[part.rows], labels[part.rows], part.users, part.epsilon, rng, pay
        )
        self.exposure_ = part.everybody(self.exposure_)
        self.guarantee_ = promise
        self.users_ = owners.labels
        self._keep_noise(Crowd(rows.shape[1], tau, len(rows), owners, rows), *plans)
        return self

    def predict(self, X: Any) -> Any:
        """Predict from the released coefficients, in your units."""
        return predictions(self, X)

    def output_law(self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None) -> Any:
        """Exact law of the release. NOT private: for audits and teaching.

        Parameters are as in `fit`, which draws once from exactly this law.
        """
        in_memory(f"{type(self).__name__}.output_law", X, y, users, epsilon)
        budgets = self._check_settings(epsilon)
        rows, labels = check_design(X, y)
        owners = check_users(users, len(rows), X=X, y=y)
        part = part_of(owners, self._heard(check_user_epsilon(budgets, owners)))
        return self._law(rows[part.rows], labels[part.rows], part.users, part.epsilon)

    def _release(
        self,
        X: Floats,
        y: Floats,
        users: Users,
        epsilon: Floats,
        rng: np.random.Generator,
        pay: Callable[[], None],
    ) -> tuple[Plan, ...]:
        """Plan, pay, draw and store; returns the plans, which are public."""
        y = self._labels(y)
        stages = self._stages(X, users, epsilon)
        law = self._joint(X, y, stages)
        pay()
        self._keep(law.sample(rng=rng), stages)
        self._store(stages[-1].back @ self.release_, X.shape[1], stages[-1])
        return stages

    def _joint(self, X: Floats, y: Floats, stages: tuple[Plan, ...]) -> Any:
        """Law of all that is released."""
        return self._law_of(stages[-1], y)

    def _keep(self, drawn: Floats, stages: tuple[Plan, ...]) -> None:
        self.release_ = drawn

    def _plans(self, crowd: Crowd) -> tuple[Plan, ...]:
        """The plans for public people, from those who take part."""
        part = crowd.part
        return self._stages(crowd.X[part.rows], part.users, part.epsilon)

    def _stages(self, X: Floats, users: Users, epsilon: Floats) -> tuple[Plan, ...]:
        return (self._plan(X, users, epsilon),)

    def _noise(self, crowd: Crowd, *plan: Plan) -> Noise:
        """Exact: independent noise on every entry of the release, through a public matrix."""
        last = (plan or self._plans(crowd))[-1]
        return Noise.of(
            crowd,
            table_frame(crowd.X, self.fit_intercept),
            variance_of(last) * last.back @ last.back.T,
            exact=True,
            width=self._width(),
        )

    def _law(self, X: Floats, y: Floats, users: Users, epsilon: Floats) -> Any:
        return self._joint(X, self._labels(y), self._stages(X, users, epsilon))

    def _law_of(self, plan: Plan, y: Floats) -> ProductLaw:
        return ProductLaw(plan.C @ y, np.full(len(plan.C), plan.scale), plan.noise)

    @abstractmethod
    def _plan(self, X: Floats, users: Users, epsilon: Floats) -> Plan:
        """Choose the matrix and its noise: a function of public things alone."""

    def _store(self, theta: Floats, d: int, plan: Plan) -> None:
        self.coef_ = theta[:d]
        self.intercept_ = float(theta[d]) if len(theta) > d else 0.0
        self.scale_ = plan.scale
        self.exposure_ = plan.exposure
        for name, value in plan.report.items():
            setattr(self, name, value)

    def _heard(self, epsilon: Floats) -> Floats:
        """Budgets, 0 for those next to which no solver can tell the others apart."""
        if getattr(self, "delta", 0.0) > 0:
            return epsilon
        return np.where(epsilon > NEGLIGIBLE * epsilon.max(), epsilon, 0.0)

    def _promise(self, epsilon: Floats) -> PureDP | GaussianDP:
        delta = getattr(self, "delta", 0.0)
        if delta == 0:
            return PureDP(epsilon, neighbors="user-labels")
        mu = where_above_zero(lambda own: gaussian_mu(own, delta), epsilon)
        return GaussianDP(mu, neighbors="user-labels")

    def _tau(self, epsilon: Floats) -> tuple[Floats, str]:
        """What bounds the contribution of each user, and under which noise."""
        delta = check_delta(getattr(self, "delta", 0.0), zero=True)
        if delta == 0:
            return epsilon, "laplace"
        return np.asarray(gaussian_mu(epsilon, delta)), "gaussian"

    def _check_settings(self, epsilon: Any) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(budgets)
        check_delta(getattr(self, "delta", 0.0), zero=True)
        check_flag(self.clip, "clip")
        check_flag(self.fit_intercept, "fit_intercept")
        self._width()
        self._sigma2()
        return budgets

    def _width(self) -> float:
        low, high = check_bounds(self.y_bounds, "y_bounds")
        return float(high - low)

    def _sigma2(self) -> float:
        """Variance of the labels around the line: steers the weights, carries no privacy."""
        if self.sigma2 is None:
            return self._width() ** 2 / 12
        return check_scale(self.sigma2, "sigma2", zero=True)

    def _rows(self, X: Floats) -> Floats:
        return np.column_stack([X, np.ones(len(X))]) if self.fit_intercept else X

    def _labels(self, y: Floats) -> Floats:
        low, high = check_bounds(self.y_bounds, "y_bounds")
        y = np.asarray(check_finite(y, "y"))
        return inside(y, low, high, "y", "y_bounds", self.clip)
