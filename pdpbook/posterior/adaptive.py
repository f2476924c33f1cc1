"""One posterior sample whose sharpness follows released bounds on the data."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.domains import Ball
from pdpbook.guarantees import ApproximateDP, BudgetAccount
from pdpbook.linear import LinearRegressor
from pdpbook.noise.laws import PublicNoise
from pdpbook.participants import (
    Participants,
    Records,
    one_budget,
    read_budgets,
    read_records,
    records_for_audit,
    refuse_different_budgets,
)
from pdpbook.posterior.calibration import CALIBRATIONS, AdaptivePlan, check_kappa, check_norm
from pdpbook.posterior.certificates import Certificate, certificate_of_release
from pdpbook.posterior.laws import AdaptiveLaw
from pdpbook.posterior.single import refuse_account, refuse_more_rows
from pdpbook.release import all_or_nothing, check_account, generator_from, release
from pdpbook.sums import Sums, SumsOfRecords, sums_over_records


class AdaOPS(LinearRegressor):
    r"""One posterior sample with parameters chosen from privately released numbers.

    First a noisy lower bound :math:`\tilde\lambda` on :math:`\lambda_{\min}(X^\top X)`, then a
    penalty :math:`\lambda` and an inverse temperature :math:`\gamma` that follow from it, then

    .. math:: \tilde\theta \sim \mathcal N\bigl(\hat\theta_\lambda, (\gamma H)^{-1}\bigr),
              \qquad H = X^\top X+\lambda I .

    On benign data the penalty is 0 and the release efficient. With `release_norm` a noisy bound
    on :math:`\|\hat\theta_\lambda\|` is released in between: AdaOPS-L. Statements ``alg-adaops``,
    ``thm-adaops-joint`` and, for the simple calibration, ``prop-adaops-privacy``, chapter
    *per_instance/adaops*.

    Parameters
    ----------
    norm_guess : float, default 1.0
        Public guess of the norm of the coefficients on the domain, above 0. It steers the
        penalty; a wrong guess costs accuracy, never privacy.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody: a public number, chosen without looking at who is in the
        data. One each must be the same, or 0 for whoever takes no part.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units; they are mapped to [-1, 1].
    clip : bool, default False
        Clip data to the bounds instead of raising. The middle of its bounds stands for NaN. An
        error is seen by whoever runs the fit; where that is not the holder of the data, clip. For
        columns with missing values there is `PublicSchema`.
    delta : float, default 1e-6
        Failure probability of the budget, in (0, 1).
    bounds : array_like, shape (2,) or (d, 2), default (-1.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column. They are
        mapped to [-1, 1] and never read from the data.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one, after the map to [-1, 1]: it counts in d and
        in the norm of a row, is penalized and noised.
    row_norm : float, optional
        Public bound on the norm of a row between -1 and 1, the constant included; rows are divided
        by it. None is the square root of d, which always holds; ``bounds=(-1, 1), row_norm=1`` is
        the unit ball itself. Longer rows raise, or are scaled down with `clip`.
    n_max : int, default 100000
        Public bound on the number of rows: under add-remove neighbors the number itself is not
        public. More rows raise.
    release_norm : bool, default False
        AdaOPS-L.
    calibration : {"joint", "simple"}, default "joint"
        How the budget becomes noise: releases and draw composed as Gaussians, or by adding what
        each spends, which leaves the draw less.
    kappa : float, optional
        Largest acceptable condition number of :math:`X^\top X`, at least 1: the penalty is then
        :math:`\max\{0, N/(\kappa d)-\tilde\lambda\}`, as in the paper, with the public `n_max`
        for the number of rows, and `norm_guess` is idle. None minimizes a cost instead.

    Attributes
    ----------
    noise_ : PublicNoise
        Without numbers: the noise follows the data.
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    n_features_in_ : int
    guarantee_ : ApproximateDP
        What everybody was promised, under add-remove neighbors.
    theta_ : ndarray
        The draw on the domain.
    gamma_ : float
        Inverse temperature of the draw, whose covariance is :math:`(\gamma H)^{-1}`.
    h_ : float
        Bound from below on what the data and the penalty weigh in every direction.
    lam_ : float
        Penalty against the *sum* of squares that was chosen.
    release_ : ndarray
        All released numbers on the domain: the bound on the eigenvalue, with `release_norm` the
        bound on :math:`\log(1+\|\hat\theta\|)`, and the draw.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(1).uniform(-1, 1, (5000, 2))
    >>> AdaOPS(n_max=10_000, random_state=3).fit(X, X @ [0.4, -0.2]).lam_
    0.0
    """

    def __init__(
        self,
        norm_guess: float = 1.0,
        *,
        epsilon: ArrayLike = 1.0,
        random_state: int | np.random.Generator | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        delta: float = 1e-6,
        bounds: ArrayLike = (-1.0, 1.0),
        fit_intercept: bool = False,
        row_norm: float | None = None,
        n_max: int = 100_000,
        release_norm: bool = False,
        calibration: str = "joint",
        kappa: float | None = None,
    ) -> None:
        self.norm_guess = norm_guess
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.delta = delta
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.row_norm = row_norm
        self.n_max = n_max
        self.release_norm = release_norm
        self.calibration = calibration
        self.kappa = kappa

    def check_settings(self) -> None:
        check.settings(
            self,
            norm_guess=check_norm,
            y_bounds=check.bounds,
            clip=check.flag,
            delta=check.delta,
            bounds=check.pairs,
            fit_intercept=check.flag,
            row_norm=check.optional(check.scale),
            n_max=check.count,
            release_norm=check.flag,
            calibration=check.one_of(*CALIBRATIONS),
            kappa=check_kappa,
        )

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
            Budgets in nats: one public number for all, or that number and 0 for whoever takes no
            part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn. It must add up promises of (epsilon,
            delta): one of pure, Gaussian or concentrated promises refuses. Without account,
            `compose` adds `guarantee_` to other promises.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        refuse_different_budgets(epsilon)
        check_account(account)
        rng = generator_from(self.random_state)
        with all_or_nothing(self):
            records = read_records(self, X, y, epsilon_as_passed)
            budgets = records.budgets(epsilon)
            guarantee = self.guarantee(budgets)
            if account is not None:
                refuse_account(account, guarantee)

            law = self.law(self.participants(records, budgets))
            released = release(law, guarantee, account, rng, people=records)

            first = law.plan.released  # so many numbers before the draw
            theta = released[first:]
            domain = self.domain(records.columns)
            self.coef_, self.intercept_ = domain.to_user_units(theta)
            self.release_, self.theta_ = released, theta
            self.lam_, self.h_ = law.penalty_and_weight(released[0])  # functions of the release
            self.gamma_ = float(law.plan.gamma(self.h_, self.lam_, *released[1:first]))
            self.guarantee_, self.noise_ = guarantee, PublicNoise()
        return self

    def law(self, people: Participants) -> AdaptiveLaw:
        """Return the exact distribution of `release_`: the theorem.

        Its center is the mean of the first number.
        """
        gram, moment = people.total(self.statistic)
        return AdaptiveLaw(gram, moment, self.plan(one_budget(people.budgets), people.d))

    def guarantee(self, budgets: Floats) -> ApproximateDP:
        """Return the promise to everybody, of their one budget; `budgets` has shape (n,)."""
        return ApproximateDP(one_budget(budgets), self.delta, neighbors="add-remove")

    def plan(self, epsilon: float, d: int) -> AdaptivePlan:
        """Return how the released numbers become parameters of the draw."""
        return AdaptivePlan(
            epsilon,
            float(self.delta),
            d,
            self.n_max,
            norm_guess=self.norm_guess,
            release_norm=self.release_norm,
            calibration=self.calibration,
            kappa=self.kappa,
        )

    def domain(self, columns: int) -> Ball:
        """Return the domain that the public bounds of so many columns define."""
        return Ball(
            bounds=self.bounds,
            y_bounds=self.y_bounds,
            columns=columns,
            fit_intercept=self.fit_intercept,
            clip=self.clip,
            row_norm=self.row_norm,
        )

    def participants(self, records: Records | SumsOfRecords, budgets: Floats) -> Participants:
        """Return the records on the domain of all who take part."""
        refuse_more_rows(int(np.count_nonzero(budgets)), self.n_max)
        return records.participants(self.domain(records.columns), budgets)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> AdaptiveLaw:
        """Exact law of `release_`, from which `fit` draws. NOT private: for audits."""
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        refuse_different_budgets(epsilon)
        records = records_for_audit(self, X, y, epsilon_as_passed)
        budgets = records.budgets(epsilon)
        return self.law(self.participants(records, budgets))

    def certificate(self, X: ArrayLike, y: ArrayLike, *, failure: float = 1e-3) -> Certificate:
        """Upper bounds participants can compute on their own loss, from the release alone.

        Rows X, shape (m, d), are in your units and inside `bounds`; labels y have shape (m,). See
        `posterior_certificate`, also for `failure`; its delta is the one of the estimator.
        """
        return certificate_of_release(self, X, y, failure)

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
        epsilon = self.epsilon if epsilon is None else epsilon
        refuse_different_budgets(epsilon)
        return sums_over_records(self, X, y, epsilon)

    def statistic(self, X: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return what `sums` adds up: second moments of the rows, and with labels."""
        return X.T @ X, X.T @ y  # everybody weighs 1

    def weights_in_sums(self, budgets: Floats, d: int) -> Floats:
        """Return the weight with which each person is added up by `sums`: 1."""
        return np.ones(len(budgets))
