"""The personalized mean: the line that a private regression has to beat."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.domains import Labels
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.linear import MeanRegressor
from pdpbook.noise import L2Laplace
from pdpbook.noise.laws import PublicNoise
from pdpbook.participants import Participants, read_budgets, read_label_records
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
)
from pdpbook.sums import Sums, sums_over_records
from pdpbook.tables import refuse_small_table


class PersonalizedMean(MeanRegressor):
    r"""A mean that keeps the budget of every person, as a regressor that ignores X.

    It is the line that a private regression has to beat. On labels in [-1, 1] it releases

    .. math:: \sum_i w_i y_i + \text{Laplace}\Bigl(\frac2{\sum_j\varepsilon_j}\Bigr), \qquad
              w_i = \frac{\varepsilon_i}{\sum_j\varepsilon_j} :

    person i moves the weighted mean by at most :math:`2w_i`. Statement ``thm-pdp-op`` with the mean
    for the minimizer; chapter *personalized/pdp_op*.

    Parameters
    ----------
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody or one each; `fit` can be given others. Public.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units; they are mapped to [-1, 1].
    clip : bool, default False
        Clip data to the bounds instead of raising. The middle of its bounds stands for NaN. An
        error is seen by whoever runs the fit; where that is not the holder of the data, clip. For
        columns with missing values there is `PublicSchema`.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.rate``, ``noise_.scale`` and ``noise_.covariance``, in units of the theorem.
    mean_ : float, in your units
    guarantee_ : PureDP
        What each person was promised, under replace-one neighbors.

    Examples
    --------
    >>> y = np.linspace(0, 1, 1001)
    >>> model = PersonalizedMean(y_bounds=(0, 1), random_state=0).fit(y[:, None], y)
    >>> round(model.mean_, 2), model.noise_.rate
    (0.5, 500.5)
    """

    def __init__(
        self,
        *,
        epsilon: ArrayLike = 1.0,
        random_state: int | np.random.Generator | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
    ) -> None:
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip

    def check_settings(self) -> None:
        check.settings(self, y_bounds=check.bounds, clip=check.flag)

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release a private mean, and return the estimator.

        Parameters
        ----------
        X : array_like, n rows, or Sums
            One row a person, of whatever kind: only their number counts. Or what `sums` of this
            model has made of X and y, in place of both, with one budget a person.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Budgets in nats; whoever has 0 takes no part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend, or leaves out, as if their budget were 0, whoever would.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        check_account(account)
        rng = generator_from(self.random_state)
        with all_or_nothing(self):
            records = read_label_records(self, X, y, epsilon_as_passed)
            refuse_small_table(records.n)
            budgets = affordable_budgets(
                account, records.budgets(epsilon), self.guarantee, people=records
            )
            guarantee = self.guarantee(budgets)

            domain = self.domain(records.columns)
            law = self.law(records.participants(domain, budgets))
            mean = release(law, guarantee, account, rng, people=records)

            self.mean_ = domain.to_user_units(mean[0])
            self.guarantee_ = guarantee
            eta = float(law.eta)
            variance = np.array([[2 / eta**2]])
            self.noise_ = PublicNoise(rate=eta, scale=1 / eta, covariance=variance)
        return self

    def law(self, people: Participants) -> L2Laplace:
        """Return the exact distribution of the release on [-1, 1]: the theorem."""
        (mean,) = people.average(self.statistic, people.budgets)
        return L2Laplace(mean, self.noise_rate(people.budgets))

    def guarantee(self, budgets: Floats) -> PureDP:
        """Return the promise to everybody, of their budgets, shape (n,)."""
        return PureDP(budgets, neighbors="replace-one")

    def noise_rate(self, budgets: Floats) -> float:
        """Return the rate of the noise: a function of public numbers alone."""
        return float(budgets.sum() / 2)

    def domain(self, columns: int) -> Labels:
        """Return the domain of the labels, whatever the columns are."""
        return Labels(y_bounds=self.y_bounds, clip=self.clip)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> L2Laplace:
        """Exact law of the release on the domain, from which `fit` draws. NOT private: for audits.

        Its center is what would be released without noise.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        records = read_label_records(self, X, y, epsilon_as_passed)
        domain = self.domain(records.columns)
        return self.law(records.participants(domain, records.budgets(epsilon)))

    def sums(self, X: Any, y: Any, *, epsilon: Any = None) -> Sums:
        """Return `Sums` of some of the people, which `fit` takes when all are added. NOT private.

        Parameters
        ----------
        X : array_like, n rows
            One row a person, of whatever kind; one row will do.
        y : array_like, shape (n,)
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Their budgets, as in `fit`; here all may be 0. None is the constructor's.
        """
        return sums_over_records(self, X, y, self.epsilon if epsilon is None else epsilon)

    def statistic(self, X: Floats, y: Floats, weights: Floats) -> tuple[Floats]:
        """Return what `sums` adds up: the weighted sum of the labels."""
        return (np.array([weights @ y]),)

    def weights_in_sums(self, budgets: Floats, d: int) -> Floats:
        """Return the weight with which each person is added up by `sums`: their budget."""
        return budgets
