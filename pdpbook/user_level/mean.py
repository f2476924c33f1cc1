"""Private means when a person may own many rows: weighted users, or a limit on rows.

Both protect all rows of a person at once, with a budget each; who owns which row is public.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.domains import LabelInterval, label_variance, label_width
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.linear import MeanRegressor
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
from pdpbook.sums import Sums, SumsOfUsers, refuse_mechanism, sums_over_users
from pdpbook.tables import read_labels, refuse_small_table
from pdpbook.user_level.weights import sample_limit, tradeoff_weights
from pdpbook.user_records import Plan, UserParticipants, UserRecords, note_users, user_records
from pdpbook.users import Users, check_budgets_of_users


@dataclass(frozen=True, eq=False)
class WeightedPlan(Plan):
    """Weights of rows and noise of `WeightedMean`, with the weights of users."""

    user_weights: Floats  #: shape (m,), summing to 1
    h: float  #: rows that count in full at the largest budget


@dataclass(frozen=True, eq=False)
class LimitedPlan(Plan):
    """Weights of rows and noise of `SampleLimitedMean`."""

    max_rows: int  #: that count of one user


class WeightedMean(MeanRegressor):
    r"""A mean in which large users weigh more, up to a smooth limit, and each keeps a budget.

    On labels in an interval of width :math:`B` it releases

    .. math:: \sum_l w_l\bar y_l + \text{Laplace}\Bigl(B\max_l\frac{w_l}{\varepsilon_l}\Bigr),
              \qquad w_l = \frac{\min(s_l, h\tau_l)}{n_h},\quad
              \tau_l=\frac{\varepsilon_l}{\max_k\varepsilon_k} ,

    with :math:`\bar y_l` the mean of the :math:`s_l` labels of user l, and the h of least variance,
    for labels of variance `sigma2` around a common mean. Statements ``alg-wa``, ``lem-wa-optimum``
    and ``thm-personal-users``, chapter *user_level/mean*; Epasto et al. (2020), Algorithm 1.

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
        Guess at the variance of the labels around the mean, in squared units of y, at least 0. It
        steers the weights, never the privacy, and must not be read from private labels. None is
        that of a uniform label, a twelfth of the squared width.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.scale`` is that of Laplace noise, in your units.
    guarantee_ : PureDP
        What each user was promised, in the order of `users_`, when all of their rows are replaced.
    users_ : ndarray, shape (m,)
        Labels of the users, sorted.
    exposure_ : ndarray, shape (m,)
        Largest privacy loss that each user can suffer, in the unit of the promise: at most that,
        and less for whoever is not at the limit. Public.
    mean_ : float
        In your units; unbiased, so it may lie outside `y_bounds`.
    h_ : float
        Rows that count in full at the largest budget.
    weights_ : ndarray, shape (m,)
        Of the users, summing to 1; public.

    Examples
    --------
    >>> users, y = np.repeat(["ann", "bo", "cy"], [1, 3, 996]), np.linspace(0, 1, 1000)
    >>> model = WeightedMean(epsilon=5.0, y_bounds=(0, 1), random_state=0).fit(y, y, users=users)
    >>> round(model.h_, 2), model.weights_.round(3), model.exposure_.round(2)
    (1.55, array([0.244, 0.378, 0.378]), array([3.24, 5.  , 5.  ]))
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        random_state: int | np.random.Generator | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        sigma2: float | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.sigma2 = sigma2

    def check_settings(self) -> None:
        check.settings(
            self,
            y_bounds=check.bounds,
            clip=check.flag,
            sigma2=check.optional(partial(check.scale, zero=True)),
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
        """Release a private mean, and return the estimator.

        Parameters
        ----------
        X : array_like, shape (n, ...), or Sums
            Rows, of which the number alone counts; or what `sums` of this model has made of X, y
            and users, in place of the three.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
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
            records = read_user_labels(self, X, y, users)
            budgets = affordable_budgets(
                account, records.budgets(epsilon), self.guarantee, people=records
            )
            guarantee = self.guarantee(budgets)

            low, _ = check.bounds(self.y_bounds, "y_bounds")  # from there no digits are lost
            people = records.participants(self.domain(origin=low), budgets)
            plan = self.plan(people.users, people.budgets)
            (above_low,) = release(self.law(people, plan), guarantee, account, rng, people=records)

            self.mean_ = float(low + above_low)
            self.guarantee_ = guarantee
            self.users_ = records.users.labels
            self.exposure_ = fill_in_zeros(plan.exposure, budgets)
            self.weights_ = fill_in_zeros(plan.user_weights, budgets)
            self.h_ = plan.h
            self.noise_ = laplace_noise(plan.scale)
        return self

    def law(self, people: UserParticipants, plan: Plan) -> ProductLaw:
        """Return the exact distribution of the release, in the units of the labels: the theorem."""
        mean = plan.weights @ people.y
        return ProductLaw(np.array([mean]), np.array([plan.scale]))

    def guarantee(self, budgets: Floats) -> PureDP:
        """Return the promise to all users, of their budgets, shape (m,)."""
        return PureDP(budgets, neighbors="user")

    def plan(self, users: Users, budgets: Floats) -> WeightedPlan:
        """Choose the weights of least variance: a function of public sizes and budgets alone."""
        largest = float(budgets.max())
        width = label_width(self.y_bounds)
        A = tradeoff(label_variance(self.sigma2, self.y_bounds), width, largest)
        best = tradeoff_weights(users.sizes, A, budgets / largest)
        row_weights = users.spread(best.row_weights)
        scale = self.noise_scale(row_weights, users, budgets)
        exposure = width * self.contributions(row_weights, users) / scale
        return WeightedPlan(row_weights, scale, exposure, best.weights, best.h)

    def contributions(self, row_weights: Floats, users: Users) -> Floats:
        """Return how far each user can move the mean, over the width of a label; shape (m,)."""
        return users.totals(row_weights)

    def noise_scale(self, row_weights: Floats, users: Users, budgets: Floats) -> float:
        """Return the scale of the Laplace noise, from the weights that are used."""
        largest = np.max(self.contributions(row_weights, users) / budgets)
        return float(check.positive(label_width(self.y_bounds) * largest, "noise_scale"))

    def domain(self, columns: int = 1, *, origin: float = 0.0) -> LabelInterval:
        """Return the public interval of the labels, measured from `origin`; X may be anything."""
        return LabelInterval(y_bounds=self.y_bounds, clip=self.clip, origin=origin)

    def output_law(
        self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None
    ) -> ProductLaw:
        """Exact law of the release that `fit` draws from. NOT private: for audits and teaching."""
        epsilon = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(epsilon)
        self.check_settings()
        records = read_user_labels(self, X, y, users, audit=True)
        people = records.participants(self.domain(), records.budgets(epsilon))
        return self.law(people, self.plan(people.users, people.budgets))

    def sums(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> Sums:
        """Return `Sums` of some users, which `fit` takes when all are added. NOT private.

        Parameters
        ----------
        X, y : array_like, shapes (n, d) and (n,)
            All rows of these users, as in `fit`.
        users : array_like, shape (n,), optional
            Who owns each row. A budget is found by name, so None is refused.
        epsilon : float, mapping or array_like, optional
            Their budgets, as in `fit`; here all may be 0, and a mapping may have others as well.
            None is the constructor's.
        """
        return sums_over_users(self, X, y, users, self.epsilon if epsilon is None else epsilon)


class SampleLimitedMean(MeanRegressor):
    r"""The plain mean of at most h rows of every user: the line that `WeightedMean` has to beat.

    On labels in an interval of width :math:`B` it keeps :math:`k_l=\min(s_l,h)` rows of user l,
    :math:`n_h` in all, and releases

    .. math:: \frac1{n_h}\sum_{\text{kept}}y_i
              + \text{Laplace}\Bigl(\frac B{n_h}\max_l\frac{k_l}{\varepsilon_l}\Bigr) .

    Statements ``claim-sample-limit`` and ``thm-personal-users``, chapters *user_level/mean_limits*,
    *user_level/mean*.

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
        Guess at the variance of the labels around the mean, in squared units of y, at least 0. It
        steers "best", never the privacy, and must not be read from private labels. None is that of
        a uniform label, a twelfth of the squared width.
    max_rows : "best", "max" or int, default "best"
        Most rows h that one user keeps: that of smallest variance, as if everybody had the smallest
        budget; the largest size, which keeps all; or a number of at least 1. Labels play no part.
    selection_seed : int, default 0
        Says which rows are kept, by their order within a user: public, so not sorted by labels.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.scale`` is that of Laplace noise, in your units.
    guarantee_ : PureDP
        What each user was promised, in the order of `users_`, when all of their rows are replaced.
    users_ : ndarray, shape (m,)
        Labels of the users, sorted.
    exposure_ : ndarray, shape (m,)
        Largest privacy loss that each user can suffer, in the unit of the promise: at most that,
        and less for whoever is not at the limit. Public.
    mean_ : float
        In your units; unbiased, so it may lie outside `y_bounds`.
    max_rows_ : int
        Most rows that are kept of one user; public.

    Examples
    --------
    >>> users, y = np.repeat(["ann", "bo", "cy"], [1, 3, 996]), np.linspace(0, 1, 1000)
    >>> model = SampleLimitedMean(epsilon=5.0, y_bounds=(0, 1), random_state=0)
    >>> model.fit(y, y, users=users).max_rows_
    3
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        random_state: int | np.random.Generator | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        sigma2: float | None = None,
        max_rows: Any = "best",
        selection_seed: int = 0,
    ) -> None:
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.sigma2 = sigma2
        self.max_rows = max_rows
        self.selection_seed = selection_seed

    def check_settings(self) -> None:
        check.settings(
            self,
            y_bounds=check.bounds,
            clip=check.flag,
            sigma2=check.optional(partial(check.scale, zero=True)),
            max_rows=check.limit_on_rows,
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
        """Release a private mean, and return the estimator.

        Parameters
        ----------
        X : array_like, shape (n, ...)
            Rows, of which the number alone counts.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
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
            records = read_user_labels(self, X, y, users)
            budgets = affordable_budgets(
                account, records.budgets(epsilon), self.guarantee, people=records
            )
            guarantee = self.guarantee(budgets)

            low, _ = check.bounds(self.y_bounds, "y_bounds")  # from there no digits are lost
            people = records.participants(self.domain(origin=low), budgets)
            plan = self.plan(people.users, people.budgets)
            (above_low,) = release(self.law(people, plan), guarantee, account, rng, people=records)

            self.mean_ = float(low + above_low)
            self.guarantee_ = guarantee
            self.users_ = records.users.labels
            self.exposure_ = fill_in_zeros(plan.exposure, budgets)
            self.max_rows_ = plan.max_rows
            self.noise_ = laplace_noise(plan.scale)
        return self

    def law(self, people: UserParticipants, plan: Plan) -> ProductLaw:
        """Return the exact distribution of the release, in the units of the labels: the theorem."""
        mean = plan.weights @ people.y
        return ProductLaw(np.array([mean]), np.array([plan.scale]))

    def guarantee(self, budgets: Floats) -> PureDP:
        """Return the promise to all users, of their budgets, shape (m,)."""
        return PureDP(budgets, neighbors="user")

    def plan(self, users: Users, budgets: Floats) -> LimitedPlan:
        """Choose the rows that count: a function of public sizes and budgets alone."""
        limit = self.row_limit(users, budgets)
        included = users.places(self.selection_seed) < limit
        row_weights = included / included.sum()
        scale = self.noise_scale(row_weights, users, budgets)
        exposure = label_width(self.y_bounds) * self.contributions(row_weights, users) / scale
        return LimitedPlan(row_weights, scale, exposure, limit)

    def row_limit(self, users: Users, budgets: Floats) -> int:
        """Return how many rows of a user count at most."""
        largest = int(users.sizes.max())
        if self.max_rows == "best":
            variance = label_variance(self.sigma2, self.y_bounds)
            A = tradeoff(variance, label_width(self.y_bounds), float(budgets.min()))
            return int(sample_limit(users.sizes, A).threshold)
        if self.max_rows == "max":
            return largest
        return min(largest, int(self.max_rows))

    def contributions(self, row_weights: Floats, users: Users) -> Floats:
        """Return how far each user can move the mean, over the width of a label; shape (m,)."""
        return users.totals(row_weights)

    def noise_scale(self, row_weights: Floats, users: Users, budgets: Floats) -> float:
        """Return the scale of the Laplace noise, from the weights that are used."""
        largest = np.max(self.contributions(row_weights, users) / budgets)
        return float(check.positive(label_width(self.y_bounds) * largest, "noise_scale"))

    def domain(self, columns: int = 1, *, origin: float = 0.0) -> LabelInterval:
        """Return the public interval of the labels, measured from `origin`; X may be anything."""
        return LabelInterval(y_bounds=self.y_bounds, clip=self.clip, origin=origin)

    def output_law(
        self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None
    ) -> ProductLaw:
        """Exact law of the release that `fit` draws from. NOT private: for audits and teaching."""
        epsilon = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(epsilon)
        self.check_settings()
        records = read_user_labels(self, X, y, users, audit=True)
        people = records.participants(self.domain(), records.budgets(epsilon))
        return self.law(people, self.plan(people.users, people.budgets))

    def sums(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> None:
        """Refuse: it needs a choice of each user's records, which sums no longer have."""
        refuse_mechanism(self)


def read_user_labels(
    model: Any, X: Any, y: Any, users: Any, *, audit: bool = False
) -> UserRecords | SumsOfUsers:
    """Return labels and who owns each, or the `Sums` that are passed in their place.

    Of X the number of rows counts alone. An audit may have a single row, a fit may not.
    """
    if not audit:
        note_users(model, users is not None or isinstance(X, Sums))  # sums have their users' names
    if isinstance(X, Sums):
        return SumsOfUsers(model, X, y, users)
    labels = read_labels(X, y)
    if not audit:
        refuse_small_table(len(labels))
    return user_records(np.zeros((len(labels), 1)), labels, users, X, y)


def tradeoff(variance: float, width: float, epsilon: float) -> float:
    """Return the variance of a label over that of the noise at weight 1: A of the weights."""
    scale = width / epsilon
    with np.errstate(over="ignore"):
        return float(np.float64(variance) / scale / scale / 2)


def laplace_noise(scale: float) -> PublicNoise:
    """Return what is public of Laplace noise on one number."""
    return PublicNoise(scale=scale, covariance=np.array([[2 * scale * scale]]))
