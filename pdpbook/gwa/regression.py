"""Linear regression whose labels are private per user: optimal weights, or a limit on rows."""

from __future__ import annotations

import warnings
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.check import ULP
from pdpbook.domains import PublicRows, label_variance, label_width
from pdpbook.guarantees import BudgetAccount, GaussianDP, PureDP
from pdpbook.gwa.sensitivity import exact_sensitivity
from pdpbook.gwa.solver import gwa_weights
from pdpbook.linear import LinearRegressor
from pdpbook.noise import ProductLaw, gaussian_mu
from pdpbook.noise.laws import PublicNoise
from pdpbook.participants import fill_in_zeros
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
)
from pdpbook.sums import Sums, refuse_mechanism
from pdpbook.tables import read_labels, read_table
from pdpbook.user_records import Plan, UserParticipants, UserRecords, note_users, user_records
from pdpbook.users import Users, check_budgets_of_users

NEGLIGIBLE = 1e-7  # a budget below this share of the largest counts as 0, and is promised 0


@dataclass(frozen=True, eq=False)
class MatrixPlan(Plan):
    """A public matrix for the labels, shape (k, n), and the noise on each of the k numbers."""

    to_coefficients: Floats  #: shape (d, k), from what is released
    rank: int  #: of the rows, a constant feature included


def read_public_rows(model: Any, X: Any, y: Any, users: Any) -> UserRecords:
    """Return the records for `fit`: rows, labels, and who owns each row; `Sums` are refused."""
    if isinstance(X, Sums):
        refuse_mechanism(model)
    note_users(model, users is not None)
    rows = read_table(model, X, ensure_all_finite=True)
    return user_records(rows, read_labels(rows, y), users, X, y)


def public_rows_for_audit(model: Any, X: Any, y: Any, users: Any) -> UserRecords:
    """Return the records for `output_law`, like `read_public_rows`; the model stays as it is."""
    if isinstance(X, Sums):
        refuse_mechanism(model)
    rows = check.matrix(X, "X")
    return user_records(rows, read_labels(rows, y), users, X, y)


def drop_budgets_negligible_for_solver(budgets: Floats) -> Floats:
    """Return the budgets with 0 for those next to which no solver can tell the others apart."""
    return np.where(budgets > NEGLIGIBLE * budgets.max(), budgets, 0.0)


def scale_and_exposure(
    sensitivities: Floats, parameters: Floats, width: float
) -> tuple[float, Floats]:
    """Return the scale of the noise, and the largest loss of each user under it.

    `sensitivities` says how far each user can move what is released, per unit of a label;
    `parameters` is what each may lose, epsilon or mu.
    """
    scale = float(width * np.max(sensitivities / parameters))
    return scale, width * sensitivities / scale


def noise_of_coefficients(plan: MatrixPlan, variance: float) -> PublicNoise:
    """Return the noise of the coefficients if that of every released number has this variance."""
    covariance = variance * plan.to_coefficients @ plan.to_coefficients.T
    return PublicNoise(scale=plan.scale, covariance=covariance)


MAX_LIMITS = 500  # that "best" tries: if there are more, so many in a geometric grid


@dataclass(frozen=True, eq=False)
class GWAPlan(MatrixPlan):
    """The matrix of generalized weighted averaging, with its certificate."""

    gap: float  #: certified, relative
    variance: float  #: predicted, summed over what is released; with a prior the Bayes risk


@dataclass(frozen=True, eq=False)
class LimitedPlan(MatrixPlan):
    """The matrix of least squares on at most so many rows of each user."""

    max_rows: int


class GWARegression(LinearRegressor):
    r"""Generalized weighted averaging: the linear unbiased release of least variance.

    X IS PUBLIC: only labels are protected, those of a user all at once. The release is :math:`Cy`
    plus :math:`\mathrm{Lap}(t)` on every entry, and :math:`C` solves

    .. math:: \min_{CX=A}\ \sigma^2\|C\|_F^2 + 2kt^2 , \qquad
              t = \max_l \frac{B}{\varepsilon_l}\sum_{i\in S_l}\|c_i\|_1 ,

    with :math:`c_i` the columns of C, :math:`S_l` the rows of user l, B the width of `y_bounds` and
    A of shape (k, d) the target. Labels are not shifted. Rounding of floats is not covered by the
    promise. Statements ``alg-gwa`` and ``thm-gwa`` (Epasto et al. 2020, Theorem 6), chapter
    *user_level/gwa*, and ``prop-gaussian-gwa``, ``prop-prediction-gwa``, ``prop-ridge-gwa``
    (ours), chapter *user_level/gwa_variants*.

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
        Guess at the variance of the labels around the mean or the line, in squared units of y, at
        least 0. It steers the weights, never the privacy, and must not be read from private labels.
        None is that of a uniform label, a twelfth of the squared width.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one; its coefficient counts in k and gets noise.
    delta : float, default 0.0
        Failure probability in [0, 1). 0 is Laplace noise; above 0 it is Gaussian noise, l2 norms of
        the columns instead, and ``guarantee_`` gives each user the mu of (epsilon, delta).
    objective : {"parameters", "prediction"}, default "parameters"
        Whose squared error is least: of the coefficients, or of predictions averaged over the
        rows of X (A is `prediction_root`, mapped back after the release).
    prior : float, optional
        Variance of the coefficients under a prior with mean 0. The release is biased and
        minimizes the Bayes risk; X may lack rank. None is unbiased.
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
    noise_ : PublicNoise
        ``noise_.scale`` is that of the noise on every entry of `release_`, a standard deviation
        where it is Gaussian; ``noise_.covariance`` is that of the coefficients.
    guarantee_ : PureDP or GaussianDP
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
        Rank of X, with the constant. If X lacks rank and there is no prior, a UserWarning says that
        `coef_` is the minimum-norm solution.
    n_features_in_ : int
    gap_ : float
        Certified relative gap of the weights, public.

    Examples
    --------
    >>> X, users = [[1.0], [2.0], [1.0]], ["a", "a", "b"]
    >>> GWARegression(random_state=0).fit(X, [0.5, 1.0, 0.4], users=users).exposure_.round(3)
    array([1., 1.])
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
        delta: float = 0.0,
        objective: str = "parameters",
        prior: float | None = None,
        sensitivity: str = "entrywise",
        solver: str = "auto",
        tol: float = 1e-8,
    ) -> None:
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.sigma2 = sigma2
        self.fit_intercept = fit_intercept
        self.delta = delta
        self.objective = objective
        self.prior = prior
        self.sensitivity = sensitivity
        self.solver = solver
        self.tol = tol

    def check_settings(self) -> None:
        check.settings(
            self,
            y_bounds=check.bounds,
            clip=check.flag,
            sigma2=check.optional(partial(check.scale, zero=True)),
            fit_intercept=check.flag,
            delta=partial(check.delta, zero=True),
            objective=check.one_of("parameters", "prediction"),
            prior=check.optional(check.scale),
            sensitivity=check.one_of("entrywise", "exact"),
            tol=check.one_number(check.positive),
        )
        if self.sensitivity == "exact" and self.delta != 0:
            raise ValueError("sensitivity must be 'entrywise' with delta above 0, Gaussian noise")

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
            the users. Whoever has 0 takes no part, nor, unless `delta` is above 0, whoever has less
            than a ten-millionth of the largest. None is the constructor's.
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
            budgets = self.drop_costly_budgets(budgets)
            guarantee = self.guarantee(budgets)

            people = records.participants(domain, budgets)
            plan = self.plan(people.X, people.users, people.budgets)
            drawn = release(self.law(people, plan), guarantee, account, rng, people=records)

            self.release_ = drawn
            self.coef_, self.intercept_ = domain.to_user_units(plan.to_coefficients @ drawn)
            self.guarantee_ = guarantee
            self.users_ = records.users.labels
            self.exposure_ = fill_in_zeros(plan.exposure, budgets)
            self.gap_ = plan.gap
            self.rank_ = plan.rank
            variance = plan.scale**2 * (1 if self.delta > 0 else 2)
            self.noise_ = noise_of_coefficients(plan, variance)
        return self

    def law(self, people: UserParticipants, plan: MatrixPlan) -> ProductLaw:
        """Return the exact distribution of the release, C y plus noise: the theorem."""
        C = plan.weights
        noise = "gaussian" if self.delta > 0 else "laplace"
        return ProductLaw(C @ people.y, np.full(len(C), plan.scale), noise)

    def guarantee(self, budgets: Floats) -> PureDP | GaussianDP:
        """Return the promise to all users, of their budgets, shape (m,)."""
        if self.delta == 0:
            return PureDP(budgets, neighbors="user-labels")
        mu = self.privacy_parameters(budgets[budgets > 0])
        return GaussianDP(fill_in_zeros(mu, budgets), neighbors="user-labels")

    def privacy_parameters(self, budgets: Floats) -> Floats:
        """Return what each user may lose: epsilon, or with a delta the mu of both."""
        return np.asarray(gaussian_mu(budgets, self.delta)) if self.delta > 0 else budgets

    def drop_costly_budgets(self, budgets: Floats) -> Floats:
        """Return the budgets with 0 for those that are negligible; with a delta none is."""
        return budgets if self.delta > 0 else drop_budgets_negligible_for_solver(budgets)

    def plan(self, X: Floats, users: Users, budgets: Floats, width: float | None = None) -> GWAPlan:
        """Choose the matrix and its noise: a function of public things alone.

        Labels lie in an interval of this width; None is that of `y_bounds`.
        """
        if width is None:
            width = label_width(self.y_bounds)
        basis, rank = estimable(X, biased=self.prior is not None)
        design = X @ basis
        target = None
        to_coefficients = basis
        if self.objective == "prediction":
            target = prediction_root(design)
            to_coefficients = basis @ np.linalg.pinv(target)
        gaussian = self.delta > 0
        best = gwa_weights(
            design,
            users.codes,
            sigma2=label_variance(self.sigma2, self.y_bounds),
            epsilon=budgets[users.codes],
            width=width,
            solver=self.solver,
            tol=self.tol,
            target=target,
            prior=self.prior,
            norm="l2" if gaussian else "l1",
            delta=self.delta if gaussian else None,
            sensitivity=self.sensitivity,
        )
        parameters = self.privacy_parameters(budgets)
        scale, exposure = scale_and_exposure(best.contributions, parameters, width)
        return GWAPlan(
            weights=best.C,
            scale=scale,
            exposure=exposure,
            to_coefficients=to_coefficients,
            rank=rank,
            gap=float(best.gap),
            variance=float(best.objective),
        )

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
    ) -> ProductLaw:
        """Exact law of the release that `fit` draws from. NOT private: for audits and teaching."""
        epsilon = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(epsilon)
        self.check_settings()
        records = public_rows_for_audit(self, X, y, users)
        budgets = self.drop_costly_budgets(records.budgets(epsilon))
        people = records.participants(self.domain(records.columns), budgets)
        return self.law(people, self.plan(people.X, people.users, people.budgets))

    def sums(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> None:
        """Refuse: the weights follow all rows, which sums no longer have."""
        refuse_mechanism(self)


def estimable(X: Floats, *, biased: bool = False) -> tuple[Floats, int]:
    """Return a basis of what is estimable from X, shape (d, r), and the rank of X.

    The basis is the identity at full rank, and where estimates may be biased.
    """
    d = X.shape[1]
    _, values, Vt = np.linalg.svd(X, full_matrices=False)
    rank = rank_of_values(values, X)
    if rank == 0:
        raise ValueError("X must have an entry other than 0; nothing is estimable from it")
    if rank == d or biased:  # the l1 norm depends on coordinates: those of X stay
        return np.eye(d), rank
    warnings.warn(
        f"X has rank {rank}, less than its {d} columns: only the row space is estimable, and "
        "coef_ is the minimum-norm solution",
        UserWarning,
        stacklevel=4,
    )
    return np.asarray(Vt[:rank].T), rank


def rank_of_values(values: Floats, X: Floats) -> int:
    """Return how many singular values, in falling order, are more than rounding of X."""
    return int((values > values[0] * max(X.shape) * ULP).sum())


def prediction_root(X: ArrayLike) -> Floats:
    r"""Symmetric root of the second moments of X: the target that makes prediction error least.

    .. math:: A = (X^\top X/n)^{1/2}, \qquad \frac1n\|X v\|^2 = \|A v\|^2

    Statement ``prop-prediction-gwa`` (ours), chapter *user_level/gwa_variants*. Returns an array of
    shape (d, d).

    Parameters
    ----------
    X : array_like, shape (n, d)
    """
    rows = np.asarray(X, dtype=float)
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


class SampleLimitedRegression(LinearRegressor):
    r"""Least squares on at most h rows a user, plus noise: the baseline of GWA.

    X IS PUBLIC: only labels are protected, those of a user all at once. With U the kept rows the
    release is :math:`(U^\top U)^{-1}U^\top` times the kept labels plus
    :math:`\mathrm{Lap}(t)` on every entry, t as in `GWARegression`. Statement
    ``prop-sample-limit-regression`` (Epasto et al. 2020, section 5.2), chapter *user_level/gwa*,
    and ``prop-exact-sensitivity`` (ours), chapter *user_level/gwa_dual*.

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
        Guess at the variance of the labels around the mean or the line, in squared units of y, at
        least 0. It steers the weights, never the privacy, and must not be read from private labels.
        None is that of a uniform label, a twelfth of the squared width.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one; its coefficient counts in k and gets noise.
    max_rows : "best", "max" or int, default "best"
        Most rows h that one user keeps. "max" keeps all; "best" has the least
        :math:`\sigma^2\operatorname{tr}(U^\top U)^{-1} + 2dt^2`, the variance, a function of public
        things alone. Of more than 500 thresholds it looks at 500. If a number keeps rows of less
        rank than X, no estimate is unbiased: ValueError. "best" passes over such thresholds.
    sensitivity : {"entrywise", "exact"}, default "entrywise"
        How contributions are measured: "exact" is by the largest l1 move of the release instead of
        the sum of column norms: less noise, at a cost of :math:`2^{k-1}`.
    selection_seed : int, default 0
        Says which rows are kept, by their order within a user: public, so not sorted by labels.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.scale`` is that of the Laplace noise on every entry of `release_`;
        ``noise_.covariance`` is that of the coefficients.
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
    max_rows_ : int
        The limit in use, public.

    Examples
    --------
    >>> model = SampleLimitedRegression(random_state=0)
    >>> model = model.fit([[1.0]] * 4, [0.1, 0.2, 0.0, 0.3], users=["a", "a", "a", "b"])
    >>> model.max_rows_, round(model.noise_.scale, 6)
    (1, 1.0)
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
        max_rows: str | int = "best",
        sensitivity: str = "entrywise",
        selection_seed: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.sigma2 = sigma2
        self.fit_intercept = fit_intercept
        self.max_rows = max_rows
        self.sensitivity = sensitivity
        self.selection_seed = selection_seed

    def check_settings(self) -> None:
        check.settings(
            self,
            y_bounds=check.bounds,
            clip=check.flag,
            sigma2=check.optional(partial(check.scale, zero=True)),
            fit_intercept=check.flag,
            max_rows=check.limit_on_rows,
            sensitivity=check.one_of("entrywise", "exact"),
            selection_seed=partial(check.count, minimum=0),
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

            self.release_ = drawn
            self.coef_, self.intercept_ = domain.to_user_units(plan.to_coefficients @ drawn)
            self.guarantee_ = guarantee
            self.users_ = records.users.labels
            self.exposure_ = fill_in_zeros(plan.exposure, budgets)
            self.max_rows_ = plan.max_rows
            self.rank_ = plan.rank
            self.noise_ = noise_of_coefficients(plan, 2 * plan.scale**2)
        return self

    def law(self, people: UserParticipants, plan: MatrixPlan) -> ProductLaw:
        """Return the exact distribution of the release, C y plus noise: the theorem."""
        C = plan.weights
        return ProductLaw(C @ people.y, np.full(len(C), plan.scale))

    def guarantee(self, budgets: Floats) -> PureDP:
        """Return the promise to all users, of their budgets, shape (m,)."""
        return PureDP(budgets, neighbors="user-labels")

    def plan(self, X: Floats, users: Users, budgets: Floats) -> LimitedPlan:
        """Choose the limit on rows, and the noise: a function of public things alone."""
        basis, rank = estimable(X)
        rows = X @ basis
        places = users.places(self.selection_seed)

        def plan_for(h: int) -> LimitedPlan:
            C = limited_least_squares(rows, places, h)
            if self.sensitivity == "exact":
                sensitivities = exact_sensitivity(C, users.codes)
            else:
                sensitivities = users.totals(np.abs(C).sum(axis=0))
            width = label_width(self.y_bounds)
            scale, exposure = scale_and_exposure(sensitivities, budgets, width)
            return LimitedPlan(
                weights=C,
                scale=scale,
                exposure=exposure,
                to_coefficients=basis,
                rank=rank,
                max_rows=int(h),
            )

        largest = int(users.sizes.max())
        if self.max_rows == "max":
            return plan_for(largest)
        if self.max_rows != "best":
            return plan_for(min(largest, int(self.max_rows)))
        best = plan_for(largest)
        for h in limits_to_try(largest)[:-1]:
            with suppress(RankLost):  # no unbiased estimate from so few rows
                best = min(best, plan_for(h), key=self.total_variance)
        return best

    def total_variance(self, plan: MatrixPlan) -> float:
        """Return the sum of variances of a release, for the guessed variance of labels."""
        C = plan.weights
        variance = label_variance(self.sigma2, self.y_bounds)
        return float(variance * (C**2).sum() + 2 * len(C) * plan.scale**2)

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
    ) -> ProductLaw:
        """Exact law of the release that `fit` draws from. NOT private: for audits and teaching."""
        epsilon = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(epsilon)
        self.check_settings()
        records = public_rows_for_audit(self, X, y, users)
        budgets = drop_budgets_negligible_for_solver(records.budgets(epsilon))
        people = records.participants(self.domain(records.columns), budgets)
        return self.law(people, self.plan(people.X, people.users, people.budgets))

    def sums(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> None:
        """Refuse: it needs a choice of each user's records, which sums no longer have."""
        refuse_mechanism(self)


def limited_least_squares(X: Floats, places: NDArray[np.intp], h: int) -> Floats:
    """Return the matrix of least squares on h rows of each user, shape (d, n), 0 for all others.

    They are the rows whose place within their user is below h. RankLost says that they have less
    rank than X.
    """
    included = places < h
    U, values, Vt = np.linalg.svd(X[included], full_matrices=False)
    d = X.shape[1]
    rank = rank_of_values(values, X)
    if rank < d:
        raise RankLost(
            f"max_rows must keep rows of rank {d}, the rank of X; at most {h} of each user "
            f"have rank {rank}"
        )
    C = np.zeros((d, len(X)))
    C[:, included] = (Vt.T / values) @ U.T
    return C


class RankLost(ValueError):
    """The rows within the limit have less rank than X."""


def limits_to_try(largest: int) -> NDArray[np.intp]:
    """Return limits on the rows of a user from 1 to the largest number of rows, in order."""
    if largest <= MAX_LIMITS:
        return np.arange(1, largest + 1)
    grid = np.geomspace(1, largest, MAX_LIMITS)
    return np.unique(grid.round().astype(np.intp))
