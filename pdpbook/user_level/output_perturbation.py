"""Regression and logistic regression by noise on the minimizer, for users with several rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.noise import L2Laplace
from pdpbook.noise.laws import PublicNoise
from pdpbook.participants import drop_budgets_costly_for_others, fill_in_zeros
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
)
from pdpbook.sums import refuse_mechanism
from pdpbook.user_level.erm import (
    LOSSES,
    BallWithLabels,
    LinearPredictor,
    ball_minimizer,
    output_tradeoff,
    read_records,
    records_for_audit,
    two_classes,
)
from pdpbook.user_level.weights import TradeoffWeights, tradeoff_weights
from pdpbook.user_records import UserParticipants
from pdpbook.users import Users, check_budgets_of_users

SOLVER_ACCURACY = 1e-11  # gradient norm of a minimizer, over the Lipschitz constant of J


@dataclass(frozen=True, eq=False)
class OutputPlan:
    """What public numbers alone fix of noise on a minimizer, before a label is looked at."""

    user_weights: Floats  #: shape (m,), summing to 1
    row_weights: Floats  #: shape (m,), of each row of a user
    scale: float  #: beta, of the noise
    exposure: Floats  #: shape (m,), the largest privacy loss of each user


class WeightedOutputPerturbation(LinearPredictor):
    r"""Weighted fit plus noise that keeps one pure budget for all the rows of a user together.

    On the domain :math:`\|x_i\|\le1`, :math:`|y_i|\le1`, it releases the least of

    .. math:: J(\theta) = \sum_l w_l\,\frac1{s_l}\sum_{i\in S_l}\ell(x_i^\top\theta, y_i)
              + \frac\lambda2\|\theta\|^2,
              \qquad \|\theta\|\le R, \qquad w_l = \frac{\min(s_l, h\varepsilon_l)}{n_h},

    with the loss :math:`\frac12(x^\top\theta-y)^2`, :math:`L=1+R`, or
    :math:`\ln(1+e^{-yx^\top\theta})`, :math:`L=1`, plus noise :math:`b` of density proportional to

    .. math:: e^{-\|b\|/\beta}, \qquad
              \beta = \frac{2L}\lambda\,\max_l\frac{w_l}{\varepsilon_l} .

    The minimizer is iterative. It stops at a gradient norm g fixed by the public settings, which is
    charged, with as much again for its rounding: :math:`Lw_l+2g` takes the place of :math:`Lw_l`.
    A solver that does not get there raises and releases nothing. Sizes and ownership of rows are
    public. Other rounding of floats is not covered. Statement ``prop-logistic``, chapter
    *user_level/erm_bounds*.

    Parameters
    ----------
    loss : {"square", "logistic"}, default "square"
        Loss of a row: that of a regressor, or of a classifier for two classes.
    epsilon : float, mapping or array_like, default 1.0
        Budget in nats, for everybody or one a user as in `fit`, which can be given others. Public.
    radius : float, default 1.0
        R: public bound on the norm of the parameters on the domain.
    lam : float, default 0.1
        Penalty against the weighted *mean* of losses: :math:`\lambda`.
    tradeoff : float, optional
        A of `tradeoff_weights`; by default that of the lowest bound. 0 weighs users by their
        budgets, inf weighs all rows alike.
    classes : pair, optional
        The two public labels of the logistic loss, the second one positive. None takes those that
        occur in y: then *which two* occur counts as public.
    row_norm : float, optional
        Public bound on the norm of a row scaled to [-1, 1], constant feature included; by default
        the square root of its length. It is enforced, and rows are divided by it.
    fit_intercept : bool, default False
        Append a constant feature, as the last one; it shares the ball and the noise.
    bounds : array_like, shape (2,) or (d, 2), default (-1.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units; of the squared loss only.
    clip : bool, default False
        Clip data to the bounds instead of raising. The middle of its bounds stands for NaN. An
        error is seen by whoever runs the fit; where that is not the holder of the data, clip. For
        columns with missing values there is `PublicSchema`.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.

    Attributes
    ----------
    coef_ : ndarray, shape (d,), in your units: of the prediction, or of the log-odds
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    classes_ : ndarray, shape (2,), of the logistic loss only
    guarantee_ : PureDP
        What each user was promised, in the order of `users_`, against replacing all their rows.
    users_ : ndarray, shape (m,)
        Labels of the users, sorted.
    exposure_ : ndarray, shape (m,)
        Largest privacy loss that each user can suffer: less than `guarantee_` where a weight stays
        below its cap. Public.
    weights_ : ndarray, shape (m,), of the users: public
    noise_ : PublicNoise
        ``noise_.scale`` is :math:`\beta`, ``noise_.rate`` one over it; ``noise_.covariance`` is
        that of the coefficients on the domain.
    n_features_in_ : int, number of columns of X

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, users = rng.uniform(-1, 1, (500, 2)), rng.integers(0, 60, 500)
    >>> model = WeightedOutputPerturbation("logistic", epsilon=4.0, classes=("no", "yes"))
    >>> model = model.fit(X, np.where(X[:, 0] > 0, "yes", "no"), users=users)
    >>> model.coef_.shape, round(model.noise_.scale, 3), model.guarantee_.neighbors
    ((2,), 0.103, 'user')
    """

    def __init__(
        self,
        loss: str = "square",
        *,
        epsilon: Any = 1.0,
        radius: float = 1.0,
        lam: float = 0.1,
        tradeoff: float | None = None,
        classes: ArrayLike | None = None,
        row_norm: float | None = None,
        fit_intercept: bool = False,
        bounds: ArrayLike = (-1.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.loss = loss
        self.epsilon = epsilon
        self.radius = radius
        self.lam = lam
        self.tradeoff = tradeoff
        self.classes = classes
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.clip = clip
        self.random_state = random_state

    def check_settings(self) -> None:
        check.settings(
            self,
            loss=check.one_of(*LOSSES),
            radius=check.scale,
            lam=check.scale,
            tradeoff=check.optional(check.one_number(check.extended)),
            row_norm=check.optional(check.scale),
            fit_intercept=check.flag,
            bounds=check.pairs,
            y_bounds=check.bounds,
            clip=check.flag,
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
            Rows, inside `bounds`.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`; or two classes.
        users : array_like, shape (n,), optional
            Who owns each row, public; None makes every row a user of its own.
        epsilon : float, mapping or array_like, optional
            Budgets in nats: a number; shape (n,), one value a row by position, the same on all rows
            of a user; or by user: a mapping, or a Series of another length whose index is exactly
            the users. Whoever has 0 takes no part. None is the constructor's.
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
            records = read_records(self, X, y, users)
            domain = self.domain(records.columns)
            budgets = affordable_budgets(
                account, records.budgets(epsilon), self.guarantee, people=records
            )
            budgets = self.drop_costly_budgets(budgets, records.users.sizes, domain.d)
            guarantee = self.guarantee(budgets)

            people = records.participants(domain, budgets)
            plan = self.plan(people.users, people.budgets, domain.d)
            theta = release(self.law(people, plan), guarantee, account, rng, people=records)

            self.coef_, self.intercept_ = domain.to_user_units(theta)
            if self.loss == "logistic":
                self.classes_, _ = two_classes(people.original_labels, self.classes)
            self.guarantee_ = guarantee
            self.users_ = records.users.labels
            self.exposure_ = fill_in_zeros(plan.exposure, budgets)
            self.weights_ = fill_in_zeros(plan.user_weights, budgets)
            self.noise_ = _public_noise(plan.scale, domain.d)
        return self

    def law(self, people: UserParticipants, plan: OutputPlan) -> L2Laplace:
        """Return the exact distribution of the release on the domain: the theorem."""
        theta = ball_minimizer(
            people.X,
            people.y,
            self.lam,
            plan.row_weights[people.users.codes],
            loss=self.loss,
            radius=float(self.radius),
            gradient_norm=self.gradient_norm(),
        )
        return L2Laplace(theta, 1 / plan.scale)

    def guarantee(self, budgets: Floats) -> PureDP:
        """Return the promise to all users, of their budgets, shape (m,)."""
        return PureDP(budgets, neighbors="user")

    def plan(self, users: Users, budgets: Floats, d: int) -> OutputPlan:
        """Return weights and noise: functions of public numbers alone."""
        best = self.best_weights(budgets, users.sizes, d)
        sensitivities = self.sensitivities(best.weights, self.charged_norm())
        scale = float(np.max(sensitivities / budgets))
        exposure = np.minimum(sensitivities / scale, budgets)
        return OutputPlan(best.weights, best.row_weights, scale, exposure)

    def best_weights(self, budgets: Floats, sizes: NDArray[np.intp], d: int) -> TradeoffWeights:
        """Return weights of users with these budgets and sizes, by default of the least bound."""
        A = self.tradeoff
        if A is None:
            A = output_tradeoff(
                budgets,
                sizes,
                d,
                L=self.lipschitz(),
                R=float(self.radius),
                lam=float(self.lam),
                beta=LOSSES[self.loss].smoothness,
            )
        return tradeoff_weights(sizes, float(A), budgets)

    def sensitivities(self, weights: Floats, gradient_norm: float) -> Floats:
        """Return how far each user can move a minimizer, shape (m,).

        The gradient at the minimizer, as computed, is at most as long as `gradient_norm`.
        """
        return 2 * (self.lipschitz() * weights + gradient_norm) / float(self.lam)

    def lipschitz(self) -> float:
        """Return L, the longest gradient of the loss of a row."""
        return float(LOSSES[self.loss].lipschitz(float(self.radius)))

    def gradient_norm(self) -> float:
        """Return the norm of the gradient at which the solver of a minimizer stops."""
        return SOLVER_ACCURACY * (self.lipschitz() + float(self.lam) * float(self.radius))

    def charged_norm(self) -> float:
        """Return the norm that noise hides: that of the solver, and as much again for rounding."""
        return 2 * self.gradient_norm()

    def drop_costly_budgets(self, budgets: Floats, sizes: NDArray[np.intp], d: int) -> Floats:
        """Return the budgets, 0 for those that cost all others too much.

        To hide the inexact solver from a tiny budget would make the noise over a percent larger.
        """

        def noise_scale(included: Floats, gradient_norm: float) -> float:
            sizes_included = sizes[budgets >= included.min()]
            weights = self.best_weights(included, sizes_included, d).weights
            return float(np.max(self.sensitivities(weights, gradient_norm) / included))

        def noise_scale_as_solved(included: Floats) -> float:
            return noise_scale(included, self.charged_norm())

        of_exact_solver = noise_scale(budgets[budgets > 0], 0.0)
        return drop_budgets_costly_for_others(budgets, noise_scale_as_solved, of_exact_solver)

    def domain(self, columns: int) -> BallWithLabels:
        """Return the domain that the public bounds of so many columns define."""
        return BallWithLabels(
            bounds=self.bounds,
            y_bounds=self.y_bounds,
            columns=columns,
            fit_intercept=self.fit_intercept,
            clip=self.clip,
            row_norm=self.row_norm,
            loss=self.loss,
            classes=self.classes,
        )

    def output_law(
        self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None
    ) -> L2Laplace:
        """Exact law of the release on the domain, from which `fit` draws. NOT private: for audits.

        Its center is what would be released without noise; with `fit_intercept` the constant
        feature comes last.
        """
        epsilon = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(epsilon)
        self.check_settings()
        records = records_for_audit(self, X, y, users)
        domain = self.domain(records.columns)
        sizes = records.users.sizes
        budgets = self.drop_costly_budgets(records.budgets(epsilon), sizes, domain.d)
        people = records.participants(domain, budgets)
        return self.law(people, self.plan(people.users, people.budgets, domain.d))

    def sums(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> None:
        """Refuse: the solver needs all rows at every step, which sums no longer have."""
        refuse_mechanism(self)


def _public_noise(scale: float, d: int) -> PublicNoise:
    """Return what is public of noise of density proportional to exp(-length / scale)."""
    covariance = (d + 1) * scale**2 * np.eye(d)
    return PublicNoise(rate=1 / scale, scale=scale, covariance=covariance)
