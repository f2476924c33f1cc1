"""Personalized ridge regression: the estimator of output perturbation."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.check import ULP
from pdpbook.domains import Cube, Labels
from pdpbook.guarantees import ApproximateDP, BudgetAccount, PureDP
from pdpbook.label_mean import LabelMeanLaw, label_bounds
from pdpbook.linear import LinearRegressor
from pdpbook.noise import L2Laplace, l2_laplace_eps0
from pdpbook.noise.laws import round_noise
from pdpbook.noise.profiles import at_levels
from pdpbook.participants import (
    Participants,
    drop_budgets_costly_for_others,
    fill_in_zeros,
    read_budgets,
    read_records,
    records_for_audit,
    shares,
)
from pdpbook.personalized.weights import CappedPlan, capped_plan
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
)
from pdpbook.ridge import huber_ridge, weighted_sums
from pdpbook.sensitivity import PROOFS, huber_constant, ridge_constant, solver_excess
from pdpbook.sums import Sums, sums_over_records

SOLVER_SHARE = 1e-6  # the solver may cost the smallest budget this share of itself


class PDPRidge(LinearRegressor):
    r"""Ridge regression that keeps the budget of every person: PDP-OP.

    On the domain :math:`[0,1]^d\times[-1,1]` it releases :math:`\bar\theta+Z`, where

    .. math:: &\bar\theta = \arg\min_\theta \sum_i w_i\,h(y_i - x_i^\top\theta)
              + \lambda\|\theta\|^2, \quad w_i = \frac{\varepsilon_i}{\sum_j\varepsilon_j},\\
              &Z\sim\text{density}\propto e^{-\eta\|z\|}, \quad \eta=\frac{\sum_j\varepsilon_j}C,

    with the square or the Huber loss for :math:`h` and :math:`C` from `sensitivity`. Replacing the
    record of person i then changes the log-density of the release by at most
    :math:`\eta w_i C=\varepsilon_i`, whatever the other records are.

    With a `delta` above 0 the promise is :math:`(\varepsilon_i,\delta)`: every budget is traded for
    the larger :math:`\varepsilon_0(\varepsilon_i,\delta,d)` whose exact profile passes through that
    point, and which takes its place in weights and rate: the noise is smaller, and the pure promise
    of :math:`\varepsilon_0` holds as well. The Huber minimizer is iterative. It stops at a gradient
    norm g fixed by the public settings, which is charged:
    :math:`\eta=\min_i\varepsilon_i/(w_iC+g/\lambda)`, at most a millionth less unless a budget is
    tiny. A solver that does not get there raises and releases nothing. Statements ``thm-pdp-op``,
    ``thm-pdp-op-bounded`` (Acharya et al. 2024, Theorems 2.1, 2.3), ``thm-joint-sensitivity``,
    ``thm-huber-sensitivity``, ``prop-row-norm``, ``prop-solver-tolerance``, chapter
    *personalized/pdp_op*; ``prop-sensitivity-weights`` (ours), chapter *personalized/pdp_op_data*;
    ``thm-profile-calibration`` (ours) for `delta`, chapter *personalized/steps*.

    With a `label_mean_share` of s a private mean of the labels comes first, for
    :math:`s\varepsilon_i` of every budget, and the fit has :math:`(1-s)\varepsilon_i` and labels
    between bounds around that mean: together they spend :math:`\varepsilon_i`. If the fit fails
    after the mean was drawn, nothing is released and the budgets are spent, as the error says.
    Statement ``prop-centered-labels`` (ours), chapter *personalized/centered_labels*.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of losses, above 0; scikit-learn's ``alpha / n``. It is
        part of the promise: choosing it by looking at the data spends privacy of its own. For the
        square loss one so small that rounding may lose it is refused, whatever the data are.
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
    bounds : array_like, shape (2,) or (d, 2), default (0.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column. They are
        mapped to [0, 1] and never read from the data.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, is penalized and noised.
    delta : float, default 0.0
        Failure probability in [0, 1), the same for everybody; 0 is the pure promise.
    loss : {"square", "huber"}, default "square"
        Loss of a row. Huber's needs no bound on the minimizer: far less noise for small `lam`.
    proof : {"published", "exact-norm", "tight", "joint"}, default "joint"
        Which theorem sets :math:`C` for the square loss; all are valid, the last is the smallest.
    weights : {"proportional", "capped"}, default "proportional"
        "capped" takes `sensitivity_weights` and their larger rate: less noise, more weight on the
        generous. Square loss, joint constant, no `bound`.
    bound : float, optional
        A norm bound of the weighted least-squares solution on the domain, known without the data
        (Assumption 2.2); square loss only. Wrong, or read from the data, it voids the promise.
    row_norm : float, optional
        Public bound on the norm of a row on the domain, constant feature included; by default
        :math:`\sqrt d`. It is enforced: longer rows raise, or are scaled down with ``clip=True``.
    huber_threshold : float, default 1.0
        Where the Huber loss turns linear, in domain units of the label; unused by the square loss.
    label_mean_share : float, default 0.0
        Public share of every budget, in [0, 1), that pays for a private mean of the labels. Labels
        are then clipped to bounds around it, see `label_bounds`, and predictions are pulled
        towards it, not towards the middle of `y_bounds`. For labels far off the middle, where
        budgets or `lam` are such that the pull is what hurts; it cuts the longer tail.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.rate``, ``noise_.scale`` and ``noise_.covariance``, in units of the theorem.
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    n_features_in_ : int
    guarantee_ : PureDP or ApproximateDP
        What each person was promised, under replace-one neighbors: `PureDP` for ``delta=0``.
    pure_guarantee_ : PureDP
        The pure promise, which always holds too; for ``delta=0`` it is `guarantee_`.
    label_mean_ : float
        With a `label_mean_share`: the released mean of the labels, cut to `y_bounds`.
    label_bounds_ : pair of float
        With a `label_mean_share`: the bounds around it to which labels were clipped. Both are in
        your units.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y, epsilon = rng.random((500, 2)), rng.random(500), np.repeat([0.1, 1.0], [100, 400])
    >>> model = PDPRidge(lam=0.5).fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.noise_.rate, 1)
    ((2,), 63.3)
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        epsilon: ArrayLike = 1.0,
        random_state: int | np.random.Generator | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        bounds: ArrayLike = (0.0, 1.0),
        fit_intercept: bool = False,
        delta: float = 0.0,
        loss: str = "square",
        proof: str = "joint",
        weights: str = "proportional",
        bound: float | None = None,
        row_norm: float | None = None,
        huber_threshold: float = 1.0,
        label_mean_share: float = 0.0,
    ) -> None:
        self.lam = lam
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.delta = delta
        self.loss = loss
        self.proof = proof
        self.weights = weights
        self.bound = bound
        self.row_norm = row_norm
        self.huber_threshold = huber_threshold
        self.label_mean_share = label_mean_share

    def check_settings(self) -> None:
        check.settings(
            self,
            lam=check.penalty,
            y_bounds=check.bounds,
            clip=check.flag,
            bounds=check.pairs,
            fit_intercept=check.flag,
            delta=partial(check.delta, zero=True),
            loss=check.one_of("square", "huber"),
            proof=check.one_of(*PROOFS),
            weights=check.one_of("proportional", "capped"),
            bound=check.optional(check.scale),
            row_norm=check.optional(check.scale),
            huber_threshold=check.scale,
            label_mean_share=partial(check.delta, zero=True),
        )
        if self.loss == "huber" and self.bound is not None:
            raise ValueError(f"bound must be None with loss='huber'; got {self.bound!r}")
        if self.label_mean_share > 0 and self.bound is not None:
            raise ValueError(
                "bound must be None with a label_mean_share above 0: it is about labels whose "
                f"bounds are known before; got {self.bound!r}"
            )
        proved = (self.loss, self.proof, self.bound) == ("square", "joint", None)
        if self.weights == "capped" and not proved:
            needs = "loss='square', proof='joint' and bound=None; got 'capped'"
            raise ValueError(f"weights must be 'proportional' unless {needs}")

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
            Budgets in nats; whoever has 0 takes no part. None is the constructor's.
            ``epsilon.min()`` is the baseline in which all live on the smallest budget, and
            ``threshold_budgets(epsilon)`` the best one with a single privacy level.
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
            records = read_records(self, X, y, epsilon_as_passed)
            domain = self.domain(records.columns)
            budgets = affordable_budgets(
                account, records.budgets(epsilon), self.guarantee, people=records
            )
            budgets = self.drop_costly_budgets(budgets, domain.d)
            guarantee = self.guarantee(budgets)
            if isinstance(guarantee, PureDP):
                pure = guarantee
            else:
                pure = self.pure_guarantee(budgets, domain.d)

            self.refuse_lost_penalty(budgets, domain.d)
            people = records.participants(domain, budgets)
            if self.label_mean_share == 0:
                law = self.law(people)
                theta = release(law, guarantee, account, rng, people=records, pure=pure)
                eta = law.eta
            else:  # the mean of the labels first, then a fit to labels between bounds around it
                joint = self.law_around_mean(people)
                both = release(joint, guarantee, account, rng, people=records, pure=pure)
                labels = Labels(y_bounds=self.y_bounds, clip=self.clip)
                around = label_bounds(labels.to_user_units(both[0]), self.y_bounds)
                self.label_mean_, self.label_bounds_ = around.center, around.pair
                theta, domain = both[1:], replace(domain, y_bounds=around.pair)
                eta = self.noise_rate_of_fit(self.budgets_of_fit(people.budgets), domain.d)

            self.coef_, self.intercept_ = domain.to_user_units(theta)
            self.guarantee_, self.pure_guarantee_ = guarantee, pure
            self.noise_ = round_noise(eta, domain.d)
        return self

    def law(self, people: Participants) -> L2Laplace:
        """Return the exact distribution of the release on the domain: the theorem."""
        parameters, d = self.privacy_parameters(people.budgets, people.d), people.d
        if self.weights == "capped":
            plan = self.capped_plan(parameters, d)
            return L2Laplace(people.ridge(self.lam, plan.weights), plan.eta)
        weights = self.relative_weights(parameters, d)
        if self.loss == "huber":
            theta = self.huber_minimizer(people, parameters)
        else:
            theta = people.ridge(self.lam, weights)
        return L2Laplace(theta, self.noise_rate(parameters, d))

    def law_around_mean(self, people: Participants) -> LabelMeanLaw:
        """Return the exact distribution of a mean of the labels and of the fit around it."""
        of_fit = self.budgets_of_fit(people.budgets)
        check.rate(self.noise_rate_of_fit(of_fit, people.d))  # refused before an account is charged

        def law_of_fit(labels: Floats) -> L2Laplace:
            return self.law(Participants(people.X, labels, of_fit))

        return LabelMeanLaw(people.y, self.label_mean_share * people.budgets, law_of_fit)

    def budgets_of_fit(self, budgets: Floats) -> Floats:
        """Return what is for the fit, where a share of budgets is for the mean of the labels."""
        return np.asarray((1 - self.label_mean_share) * budgets)

    def guarantee(self, budgets: Floats) -> PureDP | ApproximateDP:
        """Return the promise to everybody, of their budgets, shape (n,)."""
        if self.delta > 0:
            return ApproximateDP.to_participants(budgets, self.delta, neighbors="replace-one")
        return PureDP(budgets, neighbors="replace-one")

    def pure_guarantee(self, budgets: Floats, d: int) -> PureDP:
        """Return the pure promise that holds as well as one with a delta."""
        positive = budgets[budgets > 0]
        of_fit = self.privacy_parameters(self.budgets_of_fit(positive), d)
        spent = self.label_mean_share * positive + of_fit
        return PureDP(fill_in_zeros(spent, budgets), neighbors="replace-one")

    def privacy_parameters(self, budgets: Floats, d: int) -> Floats:
        """Return the largest privacy loss of each person: with a delta, above their budget."""
        if self.delta == 0:
            return budgets
        return at_levels(l2_laplace_eps0, budgets, float(self.delta), d)

    def relative_weights(self, parameters: Floats, d: int) -> Floats:
        """Return the weights of the people but for a common factor, unless they are capped."""
        return parameters

    def noise_rate(self, parameters: Floats, d: int) -> float:
        """Return the rate eta of the noise, of public numbers alone, unless weights are capped."""
        if self.loss == "huber":  # the noise hides what the solver is off, too
            excess = solver_excess(self.gradient_norm(parameters, d), self.lam)
            w = shares(self.relative_weights(parameters, d))
            return float(np.min(parameters / (w * self.constant(d) + excess)))
        return float(parameters.sum() / self.constant(d))

    def noise_rate_of_fit(self, budgets: Floats, d: int) -> float:
        """Return the rate eta of the noise for budgets of the fit, all above 0."""
        parameters = self.privacy_parameters(budgets, d)
        if self.weights == "capped":
            return float(self.capped_plan(parameters, d).eta)
        return self.noise_rate(parameters, d)

    def constant(self, d: int) -> float:
        """Return C, the largest move of the minimizer by one person, per unit of weight."""
        if self.loss == "huber":
            return huber_constant(self.lam, d, self.huber_threshold, self.row_norm)
        return ridge_constant(self.lam, d, self.proof, self.bound, self.row_norm)

    def capped_plan(self, parameters: Floats, d: int) -> CappedPlan:
        """Return weights and rate of the capped sensitivity, which is no sum over people."""
        return capped_plan(parameters, self.lam, d, self.row_norm)

    def huber_minimizer(self, people: Participants, parameters: Floats) -> Floats:
        """Return the minimizer of the Huber losses, to the gradient norm that is charged."""
        goal = self.gradient_norm(parameters, people.d) / 2  # the other half: its own rounding
        fit = huber_ridge(
            people.X,
            people.y,
            self.lam,
            shares(self.relative_weights(parameters, people.d)),
            threshold=self.huber_threshold,
            gradient_norm=goal,
        )
        return fit.theta

    def gradient_norm(self, parameters: Floats, d: int) -> float:
        """Return the norm g of the true gradient that the Huber solver is charged for."""
        unit = self.lam * self.constant(d)  # no term of the gradient is longer
        radius = unit / (2 * self.huber_threshold)
        residual = 1 + radius / np.sqrt(self.lam)  # |y| + |x| |theta|, which is rounded
        rounding = 64 * ULP * (1 + residual / self.huber_threshold)
        least_weight = shares(self.relative_weights(parameters, d)).min()
        return float(unit * max(SOLVER_SHARE * least_weight, rounding))

    def drop_costly_budgets(self, budgets: Floats, d: int) -> Floats:
        """Return the budgets, with 0 for those so small that charging the solver to them would make
        the noise for all others over a percent larger."""
        if self.loss == "square":
            return budgets
        of_fit = self.budgets_of_fit(budgets)
        above = of_fit[of_fit > 0]
        parameters = self.privacy_parameters(above, d)

        def noise(included: Floats) -> float:
            return 1 / self.noise_rate(parameters[above >= included.min()], d)

        without_solver = self.constant(d) / parameters.sum()
        of_fit = drop_budgets_costly_for_others(of_fit, noise, without_solver)
        return np.where(of_fit > 0, budgets, 0.0)

    def refuse_lost_penalty(self, budgets: Floats, d: int) -> None:
        """Refuse a penalty so small that rounding may lose it beside so many people."""
        if self.loss == "square":
            n = int(np.count_nonzero(budgets))
            check.refuse_lost_penalty(self.lam, n, d, self.row_norm)

    def domain(self, columns: int) -> Cube:
        """Return the domain that the public bounds of so many columns define."""
        return Cube(
            bounds=self.bounds,
            y_bounds=self.y_bounds,
            columns=columns,
            fit_intercept=self.fit_intercept,
            clip=self.clip,
            row_norm=self.row_norm,
        )

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> L2Laplace | LabelMeanLaw:
        """Exact law of the release on the domain, from which `fit` draws. NOT private: for audits.

        An `L2Laplace`, whose center is what would be released without noise; with `fit_intercept`
        the constant feature comes last. With a `label_mean_share` above 0, a `LabelMeanLaw`.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        records = records_for_audit(self, X, y, epsilon_as_passed)
        domain = self.domain(records.columns)
        budgets = self.drop_costly_budgets(records.budgets(epsilon), domain.d)
        self.refuse_lost_penalty(budgets, domain.d)
        people = records.participants(domain, budgets)
        return self.law(people) if self.label_mean_share == 0 else self.law_around_mean(people)

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
        return sums_over_records(self, X, y, self.epsilon if epsilon is None else epsilon)

    def statistic(self, X: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return what `sums` adds up: weighted second moments of the rows, and with labels."""
        return weighted_sums(X, y, weights)

    def weights_in_sums(self, budgets: Floats, d: int) -> Floats:
        """Return the weight with which each person is added up by `sums`."""
        return self.relative_weights(self.privacy_parameters(budgets, d), d)
