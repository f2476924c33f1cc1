"""What the label-private regressions share: public data, a public plan, one noisy release."""

from __future__ import annotations

from typing import Any

import numpy as np

from pdpbook import Floats, check
from pdpbook._budgets import where_above_zero
from pdpbook._domain import labels_of, predictions, table_of
from pdpbook._users import Users
from pdpbook.frames.settings import mechanism, setting
from pdpbook.frames.users import PeopleWithRows, Plan, PublicUsers, UserRegressor
from pdpbook.guarantees import GaussianDP, PureDP
from pdpbook.noise import ProductLaw, gaussian_mu
from pdpbook.noise.public import PublicNoise

NEGLIGIBLE = 1e-7  # a budget below this share of the largest counts as 0, and is promised 0


@mechanism
class LabelPrivateRegression(UserRegressor):
    """A public matrix times the labels, plus noise; subclasses say which matrix.

    X IS PUBLIC: only labels are protected, those of a user all at once.

    Parameters
    ----------
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one; its coefficient counts in k and gets noise.
    sensitivity : {"entrywise", "exact"}, default "entrywise"
        How contributions are measured: "exact" is by the largest l1 move of the release instead of
        the sum of column norms: less noise, at a cost of :math:`2^{k-1}`; for Laplace noise.
    solver : str, default "auto"
        As in `gwa_weights`.
    tol : float, default 1e-8
        Certified relative gap of the weights, as in `gwa_weights`; where it is not reached
        ConvergenceError is raised and nothing released.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Released coefficients, in your units.
    intercept_ : float
        Released intercept; 0.0 without `fit_intercept`.
    release_ : ndarray, shape (k,)
        What was released; `coef_` is computed from it.
    noise_ : PublicNoise
        ``noise_.scale`` is that of the noise on every entry of `release_` (of the last stage, where
        there are two), a standard deviation where it is Gaussian; ``noise_.covariance`` is that of
        the coefficients, None with two stages.
    rank_ : int
        Rank of X, with the constant. If X lacks rank and there is no prior, a UserWarning says that
        `coef_` is the minimum-norm solution.
    n_features_in_ : int
    """

    fit_intercept: bool = setting(default=False, rule=check.flag)
    delta = 0.0  # a setting where noise may be Gaussian
    table_is_public = True

    def law(self, people: PeopleWithRows) -> Any:
        C, scale = people.plan.weights, people.plan.scale
        return ProductLaw(C @ people.y, np.full(len(C), scale), self.noise)

    @property
    def noise(self) -> str:
        return "gaussian" if self.delta > 0 else "laplace"

    def variance(self, plan: Plan) -> float:
        """Return the variance of the noise on every entry of a release."""
        return plan.scale**2 * (2 if self.noise == "laplace" else 1)

    def promise(self, people: PeopleWithRows) -> PureDP | GaussianDP:
        if self.delta == 0:
            return PureDP(people.promised, neighbors="user-labels")
        mu = where_above_zero(lambda own: gaussian_mu(own, self.delta), people.promised)
        return GaussianDP(mu, neighbors="user-labels")

    def plan(self, X: Floats, users: Users, epsilon: Floats) -> Plan:
        """Choose the matrix and its noise: a function of public things alone."""
        raise NotImplementedError

    def planned(self, public: PublicUsers) -> Plan:
        part = public.part
        return self.plan(public.X[part.rows], part.users, part.epsilon)

    def heard(self, epsilon: Floats, users: Users, d: int) -> Floats:
        """Return the budgets, 0 for those next to which no solver can tell the others apart."""
        if self.delta > 0:
            return epsilon
        return np.where(epsilon > NEGLIGIBLE * epsilon.max(), epsilon, 0.0)

    def read(self, X: Any, y: Any) -> tuple[Floats, Floats]:
        rows = table_of(self, X, ensure_all_finite=True)
        return rows, labels_of(rows, y)

    def with_constant(self, X: Floats) -> Floats:
        """Return rows of the regression, with a last column of ones on request."""
        return np.column_stack([X, np.ones(len(X))]) if self.fit_intercept else X

    def release(self, draw: Floats, law: Any, people: PeopleWithRows) -> None:
        super().release(draw, law, people)
        plan, d = people.plan, people.columns
        self.release_ = draw[-len(plan.weights) :]
        theta = plan.back @ self.release_
        self.coef_, self.intercept_ = theta[:d], float(theta[d]) if len(theta) > d else 0.0
        self.noise_ = self.public_noise(plan)

    def public_noise(self, plan: Plan) -> PublicNoise:
        """Return independent noise on every entry of the release, through a public matrix."""
        spread = self.variance(plan) * plan.back @ plan.back.T
        return PublicNoise(scale=plan.scale, covariance=spread)

    def predict(self, X: Any) -> Any:
        """Predict from the released coefficients, in your units."""
        return predictions(self, X)
