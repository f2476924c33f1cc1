"""The frame of users who own rows: a budget each, and a plan that is public before a label is."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Any, NamedTuple, Self

from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin

from pdpbook import Floats, check
from pdpbook._domain import inside
from pdpbook._users import (
    Part,
    Users,
    check_budgets_of_users,
    check_user_epsilon,
    check_users,
    part_of,
)
from pdpbook.frames.regressor import PrivateEstimator
from pdpbook.frames.settings import check_settings, mechanism, optional, setting
from pdpbook.guarantees import BudgetAccount
from pdpbook.sums import Sums, people_of_sums, reader, sums_of_users


@dataclass(frozen=True, eq=False)
class Plan:
    """What public things alone fix, before a label is looked at."""

    weights: Any  #: as the law reads them: of rows, of users and their rows, or a matrix (k, n)
    scale: float  #: of the noise
    exposure: Floats  #: shape (m,), the largest loss of each user, in the unit of the promise
    each: dict[str, Floats] = field(default_factory=dict)  #: other attributes, one number a user
    public: dict[str, Any] = field(default_factory=dict)  #: attributes of another kind
    back: Any = None  #: shape (p, k), from the release to the coefficients, where they differ
    pilot: Plan | None = None  #: of an earlier release


class PublicUsers(NamedTuple):
    """What is public of the users, from which everything is planned."""

    columns: int  #: of X
    epsilon: Floats  #: shape (m,), one budget a user, 0 for whoever takes no part
    users: Users
    X: Any  #: the table, where it is public

    @property
    def part(self) -> Part:
        return part_of(self.users, self.epsilon)


class PeopleWithRows:
    """What a mechanism may look at: users who take part, and their rows. Not private.

    Rows `X` and labels `y` of those who take part are on the domain, labels measured from `origin`;
    `given` has these labels as they were, such as two classes. `users` are everybody, `promised`
    their budgets, shape (m,), 0 for whoever takes no part; ``part.users`` are those who do, with
    their rows, ``part.epsilon`` their budgets. X has so many `columns`. The `plan` was fixed before
    a label was looked at.

    Parameters
    ----------
    rules : UserEstimator
    X, y, users, budgets : object
        As in `fit`; a budget is above 0 or 0.
    fitting : bool
        Whether scikit-learn is to note names and number of columns.
    """

    def __init__(
        self, rules: UserEstimator, X: Any, y: Any, users: Any, budgets: Any, *, fitting: bool
    ):
        rows, labels = rules.read(X, y) if fitting else rules.design(X, y)
        self.users = check_users(users, len(labels), X=X, y=y)
        epsilon = check_user_epsilon(budgets, self.users)
        self.columns = rows.shape[1]
        self.promised = rules.heard(epsilon, self.users, self.columns)
        table = rows if rules.table_is_public else None
        public = PublicUsers(self.columns, self.promised, self.users, table)
        self.part = public.part
        self.given = labels[self.part.rows]
        self.X, y = rules.to_domain(rows[self.part.rows], self.given)
        self.origin = rules.origin() if fitting else 0.0
        self.y = y - self.origin
        self.plan = rules.planned(public)


@mechanism
class UserEstimator(PrivateEstimator):
    """A release that protects a user with all of their rows, each with a budget of their own.

    A mechanism also says its `plan`, weights and noise as a function of public things alone, and
    whose budgets are `heard`. Sizes and ownership of rows are public. Rounding of floats is not
    covered.

    Parameters
    ----------
    epsilon : float, mapping or array_like, default 1.0
        Budget in nats, for everybody or one a user as in `fit`, which can be given others. Public.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units.
    clip : bool, default False
        Clip data to the bounds instead of raising. An error is seen by whoever runs the fit; where
        that is not the holder of the data, clip.

    Attributes
    ----------
    guarantee_ : PureDP
        What each user was promised, in the order of `users_`.
    users_ : ndarray, shape (m,)
        Labels of the users, sorted.
    exposure_ : ndarray, shape (m,)
        Largest privacy loss that each user can suffer, in the unit of the promise: at most that,
        and less for whoever is not at the limit. Public.
    """

    epsilon: Any = setting(default=1.0)
    y_bounds: ArrayLike = setting(default=(-1.0, 1.0), rule=check.bounds)
    clip: bool = setting(default=False, rule=check.flag)
    table_is_public = False  # whether X may be planned with

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        users: Any = None,
        epsilon: Any = None,
        account: BudgetAccount | None = None,
    ) -> Self:
        """Draw once from the law of the mechanism, keep what is released, and return the estimator.

        Parameters
        ----------
        X : array_like, shape (n, d), or Sums
            Rows, inside `bounds` where there are such; PUBLIC in label-private regressions, which
            protect y alone; in means they count for their number alone. Or what `sums` of this
            model has made of X, y and users, in place of the three.
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
        budgets = self._check_settings(epsilon)
        if isinstance(X, Sums):
            _refuse_users(users)
            return self._fit(reader(self, X, y, budgets, budgets, account), budgets, account)

        def read(left: Any) -> PeopleWithRows:
            spent = budgets if left is None else left
            return PeopleWithRows(self, X, y, users, spent, fitting=True)

        return self._fit(read, X, account)

    def output_law(self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None) -> Any:
        """Exact law of the release that `fit` draws from. NOT private: for audits and teaching."""
        budgets = self._check_settings(epsilon)
        if isinstance(X, Sums):
            _refuse_users(users)
            return self.law(people_of_sums(self, X, y, budgets, fitting=False))
        return self.law(PeopleWithRows(self, X, y, users, budgets, fitting=False))

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
        return sums_of_users(self, X, y, users, self.epsilon if epsilon is None else epsilon)

    def read(self, X: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
        """Return rows and labels that `fit` was given, of matching lengths."""
        raise NotImplementedError

    def design(self, X: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
        """Return rows and labels that `output_law` was given."""
        return check.design(X, y)

    def to_domain(self, X: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return rows and labels of those who take part on the domain, or raise."""
        raise NotImplementedError

    def origin(self) -> float:
        """Return from where `fit` measures labels, so that far away no digits are lost."""
        return 0.0

    def heard(self, epsilon: Floats, users: Users, d: int) -> Floats:
        """Return the budgets, 0 for those that are not worth their price for all the others."""
        return epsilon

    def planned(self, public: PublicUsers) -> Plan:
        """Return the plan: `plan` of what the mechanism needs of public users."""
        raise NotImplementedError

    def width(self) -> float:
        low, high = check.bounds(self.y_bounds, "y_bounds")
        return float(high - low)

    def release(self, draw: Any, law: Any, people: PeopleWithRows) -> None:
        self.users_ = people.users.labels
        for name, values in {"exposure_": people.plan.exposure, **people.plan.each}.items():
            setattr(self, name, people.part.everybody(values))
        for name, value in people.plan.public.items():
            setattr(self, name, value)

    def _check_settings(self, epsilon: Any = None) -> Any:
        budgets = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(budgets)
        check_settings(self)
        self.check()
        return budgets


@mechanism
class UserRegressor(RegressorMixin, UserEstimator):  # type: ignore[misc]
    """A release that is linear in the labels: a public plan weighs them, and noise is added.

    Parameters
    ----------
    sigma2 : float, optional
        Guess at the variance of the labels around the mean or the line, in squared units of y, at
        least 0. It steers the weights, never the privacy, and must not be read from private labels.
        None is that of a uniform label, a twelfth of the squared width.
    """

    sigma2: float | None = setting(default=None, rule=optional(partial(check.scale, zero=True)))

    def to_domain(self, X: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
        low, high = check.bounds(self.y_bounds, "y_bounds")
        return X, inside(y, low, high, "y", "y_bounds", self.clip)

    def label_variance(self) -> float:
        """Return the variance that steers the weights; it carries no privacy."""
        return self.width() ** 2 / 12 if self.sigma2 is None else float(self.sigma2)


def _refuse_users(users: Any) -> None:
    if users is not None:
        raise ValueError("users must be None where X is Sums, which have the users in them")


def limit_on_rows(value: Any, name: str) -> None:
    """Refuse what is no limit on the rows of a user: "best", "max" or a whole number."""
    if isinstance(value, str):
        check.choice(value, name, ("best", "max"))
    else:
        check.count(value, name)
