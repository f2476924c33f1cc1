"""The frame of all mechanisms: settings, data, one law, one promise, one draw."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, RegressorMixin

from pdpbook import Floats, check
from pdpbook._accounts import all_or_nothing, charge, check_account, left_out
from pdpbook._domain import data_of, generator_from, predictions
from pdpbook._extras import of_pandas
from pdpbook.frames.people import People
from pdpbook.frames.settings import check_settings, mechanism, setting
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.guarantees.promises import Promise
from pdpbook.ridge import weighted_sums
from pdpbook.sums import Sums, people_of_sums, reader, sums_of_records


@mechanism
class PrivateEstimator(BaseEstimator):  # type: ignore[misc]
    """A release from one law, drawn once, with a promise to everybody.

    A mechanism says its `law`, which is the theorem, its `promise`, what it does to `release` a
    draw, with the `noise_` that is public, and where these here do not do, `pure_promise`, `check`
    and `refuse_budgets`. Nothing without noise stays on the fitted object.

    Parameters
    ----------
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody or one each; `fit` can be given others. Public.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.rate``, ``noise_.scale`` and ``noise_.covariance``, in units of the theorem.
    """

    epsilon: ArrayLike = setting(default=1.0)
    random_state: int | np.random.Generator | None = setting(default=None)

    def law(self, people: Any) -> Any:
        """Return the exact law of the release: the theorem."""
        raise NotImplementedError

    def promise(self, people: Any) -> Promise:
        """Return what everybody is promised."""
        raise NotImplementedError

    def pure_promise(self, people: Any) -> PureDP | None:
        """Return a pure promise that holds as well, if there is one."""
        return None

    def check(self) -> None:
        """Refuse settings that do not go together."""

    def refuse_budgets(self, budgets: Any) -> Any:
        """Return the budgets, or refuse those that the mechanism cannot keep."""
        return budgets

    def draw(self, law: Any, people: Any, rng: np.random.Generator) -> Any:
        return law.sample(rng=rng)

    def release(self, draw: Any, law: Any, people: Any) -> None:
        """Store what is released of a draw, and the public law of its noise."""
        raise NotImplementedError

    def _check_settings(self, epsilon: Any = None) -> Any:
        """Everything that can be refused before the data are touched; returns the budgets."""
        budgets = check.epsilon(self.epsilon if epsilon is None else epsilon)
        check_settings(self)
        self.check()
        return self.refuse_budgets(budgets)

    def _fit(self, people: Callable[[Any], Any], X: Any, account: BudgetAccount | None) -> Self:
        """Promise, pay, draw, keep; whoever cannot pay leaves, until all can pay the promise."""
        check_account(account)
        rng = generator_from(self.random_state)
        with all_or_nothing(self):
            read = people(None)
            promise = self.promise(read)
            while (left := left_out(account, promise, X, read)) is not None:
                read = people(left)
                promise = self.promise(read)
            law = self.law(read)
            pure = promise if isinstance(promise, PureDP) else self.pure_promise(read)
            charge(account, promise, X, read.users, pure=pure)
            drawn = self.draw(law, read, rng)
            self.release(drawn, law, read)
            self.guarantee_ = promise
            if type(self).pure_promise is not PrivateEstimator.pure_promise:
                self.pure_guarantee_ = pure
        return self


@mechanism
class PrivateRegressor(RegressorMixin, PrivateEstimator):  # type: ignore[misc]
    """Linear regression of people who own one row each.

    The frame maps records to the domain of the theorems by public bounds, draws once from the law
    of a mechanism, and maps back. `CubeRegressor` and `BallRegressor` are its domains. A mechanism
    also says `strength` and `relative_weights`, whose budgets are `heard`, when to `refuse_crowd`,
    and perhaps `statistics` of its law. Rounding of floats is not covered by the promise.

    Parameters
    ----------
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units; they are mapped to [-1, 1].
    clip : bool, default False
        Clip data to the bounds instead of raising. An error is seen by whoever runs the fit; where
        that is not the holder of the data, clip.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    n_features_in_ : int
    """

    y_bounds: ArrayLike = setting(default=(-1.0, 1.0), rule=check.bounds)
    clip: bool = setting(default=False, rule=check.flag)
    fit_intercept = False  # a setting, where there are features
    averages = True  # weights sum to 1, else everybody weighs 1

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release private coefficients, and return the estimator.

        Parameters
        ----------
        X : array_like, shape (n, d), or Sums
            One row a person, inside the bounds; or what `sums` of this model has made of them, in
            place of X and y, with one budget a person.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Budgets in nats; whoever has 0 takes no part. None is the constructor's. With one
            promise for all they must be one public number, or it and 0. With a promise each
            ``epsilon.min()`` is the baseline in which all live on the smallest budget, and
            ``threshold_budgets(epsilon)`` the best one with a single privacy level.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend, or leaves out, as if their budget were 0, whoever would.
        """
        budgets = self._refuse(X, y, epsilon)
        if isinstance(X, Sums):
            named = self.epsilon if epsilon is None else epsilon
            return self._fit(reader(self, X, y, named, budgets, account), named, account)

        def read(left: Any) -> People:
            return People(self, *self.read(X, y), budgets if left is None else left)

        return self._fit(read, X, account)

    def sums(self, X: Any, y: Any, *, epsilon: Any = None) -> Sums:
        """Return `Sums` of some of the people, which `fit` takes when all are added. NOT private.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person, inside the bounds; one row will do.
        y : array_like, shape (n,)
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Their budgets, as in `fit`; here all may be 0. None is the constructor's.
        """
        budgets = by_position(self.epsilon if epsilon is None else epsilon, X, y)
        return sums_of_records(self, X, y, budgets)

    def predict(self, X: Any) -> Any:
        """Predict from the released coefficients, in your units; X may lie outside the bounds."""
        return predictions(self, X)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> Any:
        """Exact law of the release on the domain, from which `fit` draws. NOT private: for audits.

        Of a release in one piece its center is what would be released without noise; with
        `fit_intercept` the constant feature comes last.
        """
        budgets = self._refuse(X, y, epsilon)
        if isinstance(X, Sums):
            return self.law(people_of_sums(self, X, y, budgets))
        return self.law(People(self, *self.design(X, y), budgets))

    def strength(self, epsilon: Floats, d: int) -> Floats:
        """Return what budgets above 0 buy, one number a person."""
        return epsilon

    def relative_weights(self, strength: Floats, d: int) -> Floats:
        """Return how much whoever bought these counts, up to a common factor."""
        return strength

    def heard(self, epsilon: Floats, d: int) -> Floats:
        """Return the budgets, 0 for those that are not worth their price for all the others."""
        return epsilon

    def share_out(self, budgets: Floats, d: int) -> Any:
        """Return how budgets above 0 are spent, where that is worked out for all at once."""
        raise NotImplementedError

    def refuse_given(self, epsilon: Any) -> None:
        """Refuse budgets beside those of the constructor, where these do not count."""

    def refuse_crowd(self, n: int, d: int) -> None:
        """Refuse numbers of people who take part, and of features, that settings do not bear."""

    def statistics(self, X: Floats, y: Floats, weights: Floats) -> tuple[Any, ...]:
        """Return sums over people on the domain."""
        return weighted_sums(X, y, weights)

    def read(self, X: Any, y: Any) -> tuple[Floats, Floats]:
        """Return rows and labels that `fit` was given."""
        return data_of(self, X, y)

    def design(self, X: Any, y: Any) -> tuple[Floats, Floats]:
        """Return rows and labels that `output_law` was given."""
        return check.design(X, y)

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Map records to the domain by the public bounds; outside they raise, or are clipped."""
        raise NotImplementedError

    def to_units(self, theta: Floats) -> tuple[Floats, float]:
        """Return coefficients and intercept in your units, of coefficients on the domain."""
        raise NotImplementedError

    def release(self, draw: Floats, law: Any, people: People) -> None:
        self.coef_, self.intercept_ = self.to_units(draw)

    def _refuse(self, X: Any, y: Any, epsilon: Any) -> Any:
        """Refuse what can be refused before the data are touched, and return the budgets."""
        if epsilon is not None:
            self.refuse_given(epsilon)
        return self._check_settings(by_position(self.epsilon if epsilon is None else epsilon, X, y))


def by_position(epsilon: Any, X: Any, y: Any) -> Any:
    """Budgets of people who are rows, ready to be read by position; values are not looked at."""
    if isinstance(epsilon, Mapping):
        raise TypeError(
            "epsilon must be a number or one value for each row of X: here every row is a person "
            f"of its own, and there are no users that a mapping could name; got {len(epsilon)} keys"
        )
    check.refuse_other_index(epsilon, "epsilon", X=X, y=y)
    check.refuse_other_index(y, "y", X=X)
    return epsilon.to_numpy() if of_pandas(epsilon, "Series") else epsilon
