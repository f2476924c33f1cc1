"""A pilot first, then the residuals: two-stage regression with labels private per user."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.domains import PublicRows, label_variance, label_width
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.gwa.regression import (
    GWAPlan,
    GWARegression,
    drop_budgets_negligible_for_solver,
    noise_of_coefficients,
    public_rows_for_audit,
    read_public_rows,
)
from pdpbook.linear import LinearRegressor
from pdpbook.noise import ProductLaw
from pdpbook.noise.laws import PublicNoise
from pdpbook.participants import fill_in_zeros
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
)
from pdpbook.sums import refuse_mechanism
from pdpbook.user_records import Plan, UserParticipants
from pdpbook.users import Users, check_budgets_of_users


@dataclass(frozen=True, eq=False)
class TwoStagePlan:
    """One stage or two, fixed by public numbers alone, before a label is looked at."""

    last: GWAPlan  #: of the release that has the coefficients
    pilot: GWAPlan | None  #: of the release before it, if there are two
    exposure: Floats  #: shape (m,), the largest loss of each user in both together
    reach: float  #: residuals are clipped to [-reach, reach]
    predicted: Floats  #: shape (2,), variance with one stage and with two


@dataclass(frozen=True, eq=False)
class TwoStageLaw:
    """Law of a pilot and of the final release, side by side, in 2k numbers. Not private."""

    pilot: Plan
    final: Plan
    X: Floats
    y: Floats
    reach: float  #: residuals are clipped to [-reach, reach]

    @property
    def center(self) -> Floats:
        """Both releases without their noise: where an audit looks first."""
        pilot = self.pilot.weights @ self.y
        return np.concatenate([pilot, self._mean_of_final(pilot)])

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., 2k); returns shape (...)."""
        points = np.asarray(check.finite(points, "points"))
        pilot, final = np.split(points, 2, axis=-1)
        noise_of_pilot = pilot - self.pilot.weights @ self.y
        noise_of_final = final - self._mean_of_final(pilot)
        exponent = np.abs(noise_of_pilot).sum(axis=-1) / self.pilot.scale
        exponent = exponent + np.abs(noise_of_final).sum(axis=-1) / self.final.scale
        k = pilot.shape[-1]
        return np.asarray(-exponent - k * np.log(4 * self.pilot.scale * self.final.scale))[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw both: shape (2k,), or (size, 2k)."""
        mean = self.pilot.weights @ self.y
        law = ProductLaw(mean, np.full(len(mean), self.pilot.scale))
        pilot = law.sample(size, rng=rng)
        final = self._mean_of_final(pilot) + rng.laplace(0.0, self.final.scale, pilot.shape)
        return np.concatenate([pilot, final], axis=-1)

    def _mean_of_final(self, pilot: Floats) -> Floats:
        """Return the mean of the final release after a pilot."""
        residuals = np.clip(self.y - pilot @ self.X.T, -self.reach, self.reach)
        return np.asarray(pilot + residuals @ self.final.weights.T)


class TwoStageGWARegression(LinearRegressor):
    r"""Regression on clipped residuals after a pilot, where public numbers say that it pays.

    X IS PUBLIC: only labels are protected, those of a user all at once. A `GWARegression` with
    the share f of every budget gives a pilot :math:`\beta_0`. The second release is

    .. math:: \beta_0 + C\,\mathrm{clip}_{[-\tau,\tau]}(y - X\beta_0) + \mathrm{Lap}(t)^d , \qquad
              \tau = z\,\Bigl(\sigma^2 + \frac1n\sum_i x_i^\top S x_i\Bigr)^{1/2} ,

    with C and t of GWA for an interval of width :math:`2\tau` and the rest of the budgets, and S
    the public covariance of the pilot. There are two stages if :math:`2\tau < (1-f)B`, which is
    when their predicted variance is smaller, and one otherwise. Both are charged to the same users,
    by sequential composition, and `guarantee_` counts both. Statement ``prop-two-stage`` (ours),
    chapter *user_level/gwa_variants*.

    Parameters
    ----------
    epsilon : float, mapping or array_like, default 1.0
        Budget in nats, for everybody or one a user as in `fit`, which can be given others. Public.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units.
    clip : bool, default False
        Clip data to the bounds instead of raising. The middle of its bounds stands for NaN. An
        error is seen by whoever runs the fit; where that is not the holder of the data, clip. For
        columns with missing values there is `PublicSchema`.
    sigma2 : float, optional
        Guess at the variance of the labels, as in `GWARegression`. It also sets where residuals are
        clipped; too small a value biases, and still costs no privacy.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one; its coefficient counts in k and gets noise.
    share : float, default 0.25
        Share f of the budgets for the pilot, above 0 and below 1.
    reach : float, default 3.5
        The z: clip residuals beyond so many standard deviations.
    solver : str, default "auto"
        As in `gwa_weights`.
    tol : float, default 1e-8
        Certified relative gap of the weights, as in `gwa_weights`; where it is not reached
        ConvergenceError is raised and nothing released.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.scale`` is that of the Laplace noise on every entry of `release_`, which is the
        last stage where there are two; ``noise_.covariance`` is that of the coefficients, None with
        two stages.
    guarantee_ : PureDP
        What each user was promised, in the order of `users_`, when all their labels are replaced.
    users_ : ndarray, shape (m,)
        Labels of the users, sorted.
    exposure_ : ndarray, shape (m,)
        Largest privacy loss that each user can suffer, in the unit of the promise: at most that,
        and less for whoever is not at the limit. Public.
    coef_ : ndarray, shape (d,)
        Released coefficients, in your units.
    intercept_ : float
        Released intercept; 0.0 without `fit_intercept`.
    release_ : ndarray, shape (k,)
        What was released; `coef_` is computed from it.
    rank_ : int
        Rank of X, with the constant. If X lacks rank, a UserWarning says that `coef_` is the
        minimum-norm solution.
    n_features_in_ : int
    stages_ : int
        1 or 2, decided by public numbers alone.
    pilot_ : ndarray, shape (k,)
        The pilot, released too; empty with one stage.
    clip_ : float
        The tau, in units of y.
    predicted_ : ndarray, shape (2,)
        Predicted sum of variances with one stage and with two, without the bias of clipping.
    gap_ : float
        Certified relative gap of the weights, of the last stage; public.

    Examples
    --------
    >>> X, y = np.ones((2000, 1)), np.full(2000, 0.3)
    >>> TwoStageGWARegression(sigma2=1e-4, random_state=0).fit(X, y).stages_
    2
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        random_state: int | np.random.Generator | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        sigma2: float | None = None,
        fit_intercept: bool = False,
        share: float = 0.25,
        reach: float = 3.5,
        solver: str = "auto",
        tol: float = 1e-8,
    ) -> None:
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.sigma2 = sigma2
        self.fit_intercept = fit_intercept
        self.share = share
        self.reach = reach
        self.solver = solver
        self.tol = tol

    def check_settings(self) -> None:
        check.settings(
            self,
            y_bounds=check.bounds,
            clip=check.flag,
            sigma2=check.optional(partial(check.scale, zero=True)),
            fit_intercept=check.flag,
            share=check.one_number(check.probability),
            reach=check.one_number(check.positive),
            tol=check.one_number(check.positive),
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        users: Any = None,
        epsilon: Any = None,
        account: BudgetAccount | None = None,
    ) -> Self:
        """Release private coefficients, and return the estimator.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows, PUBLIC: labels alone are protected.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        users : array_like, shape (n,), optional
            Who owns each row, public; None makes every row a user of its own.
        epsilon : float, mapping or array_like, optional
            Budgets in nats: a number; shape (n,), one value a row by position, the same on all rows
            of a user; or by user: a mapping, or a Series of another length whose index is exactly
            the users. Whoever has 0 takes no part, nor does whoever has less than a ten-millionth
            of the largest. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend, or leaves out, as if their budget were 0, whoever would.
        """
        epsilon = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(epsilon)
        self.check_settings()
        check_account(account)
        rng = generator_from(self.random_state)
        with all_or_nothing(self):
            records = read_public_rows(self, X, y, users)
            domain = self.domain(records.columns)
            budgets = affordable_budgets(
                account, records.budgets(epsilon), self.guarantee, people=records
            )
            budgets = drop_budgets_negligible_for_solver(budgets)
            guarantee = self.guarantee(budgets)

            people = records.participants(domain, budgets)
            plan = self.plan(people.X, people.users, people.budgets)
            drawn = release(self.law(people, plan), guarantee, account, rng, people=records)

            last = plan.last
            k = len(last.weights)
            self.pilot_ = drawn[:-k]
            self.release_ = drawn[-k:]
            theta = last.to_coefficients @ self.release_
            self.coef_, self.intercept_ = domain.to_user_units(theta)
            self.stages_ = 1 if plan.pilot is None else 2
            self.clip_ = plan.reach
            self.predicted_ = plan.predicted
            self.guarantee_ = guarantee
            self.users_ = records.users.labels
            self.exposure_ = fill_in_zeros(plan.exposure, budgets)
            self.gap_ = last.gap
            self.rank_ = last.rank
            self.noise_ = self.public_noise(plan)
        return self

    def law(self, people: UserParticipants, plan: TwoStagePlan) -> ProductLaw | TwoStageLaw:
        """Return the exact distribution of all that is released: the theorem."""
        last = plan.last
        if plan.pilot is None:
            C = last.weights
            return ProductLaw(C @ people.y, np.full(len(C), last.scale))
        rows = people.X @ last.to_coefficients
        return TwoStageLaw(plan.pilot, last, rows, people.y, plan.reach)

    def guarantee(self, budgets: Floats) -> PureDP:
        """Return the promise to all users, of their budgets, in both stages together."""
        return PureDP(budgets, neighbors="user-labels")

    def plan(self, X: Floats, users: Users, budgets: Floats) -> TwoStagePlan:
        """Choose one stage or two, with matrices and noise: a function of public things alone."""
        sigma2 = label_variance(self.sigma2, self.y_bounds)
        width = label_width(self.y_bounds)
        gwa = GWARegression(sigma2=sigma2, solver=self.solver, tol=self.tol)
        whole = gwa.plan(X, users, budgets, width)
        pilot = gwa.plan(X, users, self.share * budgets, width)
        reach = self.reach * float(np.sqrt(sigma2 + variance_of_predictions(X, pilot, sigma2)))
        final = gwa.plan(X, users, (1 - self.share) * budgets, 2 * reach)
        predicted = np.array([whole.variance, final.variance])
        if not 2 * reach < (1 - self.share) * width:
            return TwoStagePlan(whole, None, whole.exposure, reach, predicted)
        exposure = pilot.exposure + final.exposure
        return TwoStagePlan(final, pilot, exposure, reach, predicted)

    def public_noise(self, plan: TwoStagePlan) -> PublicNoise:
        """Return the noise of the last stage; after a pilot the covariance follows the data."""
        if plan.pilot is None:
            return noise_of_coefficients(plan.last, 2 * plan.last.scale**2)
        return PublicNoise(scale=plan.last.scale)

    def domain(self, columns: int) -> PublicRows:
        """Return the public interval of the labels, and rows as they are."""
        return PublicRows(
            y_bounds=self.y_bounds,
            clip=self.clip,
            columns=columns,
            fit_intercept=self.fit_intercept,
        )

    def output_law(
        self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None
    ) -> ProductLaw | TwoStageLaw:
        """Exact law of the release that `fit` draws from. NOT private: for audits and teaching."""
        epsilon = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(epsilon)
        self.check_settings()
        records = public_rows_for_audit(self, X, y, users)
        budgets = drop_budgets_negligible_for_solver(records.budgets(epsilon))
        people = records.participants(self.domain(records.columns), budgets)
        return self.law(people, self.plan(people.X, people.users, people.budgets))

    def sums(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> None:
        """Refuse: the weights follow all rows, which sums no longer have."""
        refuse_mechanism(self)


def variance_of_predictions(X: Floats, pilot: GWAPlan, sigma2: float) -> float:
    """Return the variance of the pilot's predictions, averaged over the rows of X."""
    C = pilot.weights
    covariance = sigma2 * C @ C.T + 2 * pilot.scale**2 * np.eye(len(C))
    rows = X @ pilot.to_coefficients
    return float(np.vdot(covariance, rows.T @ rows) / len(X))
