"""Regression and logistic regression in which every user spends one budget, whatever they own."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags, check_consistent_length
from sklearn.utils.metaestimators import available_if

from pdpbook import Floats, check
from pdpbook._budgets import worth_taking
from pdpbook._domain import (
    ball_to_user_units,
    finite_data,
    labels_of,
    labels_to_domain,
    predictions,
    rows_to_ball,
    table_of,
)
from pdpbook._users import Users
from pdpbook.frames.settings import mechanism, one_of, optional, setting, single
from pdpbook.frames.users import PeopleWithRows, Plan, PublicUsers, UserEstimator
from pdpbook.guarantees import GaussianDP, PureDP, ZeroConcentratedDP
from pdpbook.noise import L2Laplace, gaussian_mu
from pdpbook.noise.profiles import at_levels
from pdpbook.noise.public import PublicNoise
from pdpbook.user_level.erm.bounds import calibrate_rho, erm_tradeoff, output_price
from pdpbook.user_level.erm.descent import GradientTranscript
from pdpbook.user_level.erm.losses import LOSSES, ball_minimizer, two_classes
from pdpbook.user_level.weights import TradeoffWeights, tradeoff_weights

UNDERFLOW = 1e-150  # the rho of a smaller budget is no float
DELTA = 1e-6  # of noisy gradients, where none is given
MOST_STEPS = 1000  # of a descent whose number of steps is not given
SOLVER = 1e-11  # gradient norm of a minimizer, in units of the Lipschitz constant of J


def _logistic(model: Any) -> bool:
    return bool(model.loss == "logistic")


def _plan(weights: TradeoffWeights, scale: float, spent: Floats, steps: int) -> Plan:
    return Plan(weights, scale, spent, {"weights_": weights.weights}, {"steps_": steps})


def _price(value: Any, name: str) -> None:
    if value is not None and value != np.inf:
        single(check.nonnegative)(value, name)


@mechanism
class WeightedERM(UserEstimator):
    r"""Weighted fit on a ball that keeps one budget for all the rows of a user together.

    On the domain :math:`\|x_i\|\le1`, :math:`|y_i|\le1`, it looks for the least of

    .. math:: \hat L(\theta) = \sum_l w_l\,\frac1{s_l}\sum_{i\in S_l}\ell(x_i^\top\theta, y_i),
              \qquad \|\theta\|\le R, \qquad w_l = \frac{\min(s_l, h\tau_l)}{n_h},

    with the loss :math:`\frac12(x^\top\theta-y)^2`, :math:`L=1+R`, or
    :math:`\ln(1+e^{-yx^\top\theta})`, :math:`L=1`. *Gradient*: T steps of projected descent from 0,
    the gradient of user l clipped to :math:`Lw_l`; the average of start and iterates is released.
    With :math:`\tau_l=\sqrt{\rho_l}`

    .. math:: \varsigma = Lt\sqrt{2T}, \qquad t=\max_l\frac{w_l}{\tau_l}, \qquad
              \eta = \frac R{\sqrt{(T+1)(L^2+d\varsigma^2)}} .

    *Output*: the minimizer of :math:`\hat L+\frac\lambda2\|\theta\|^2` on the ball, plus noise of
    density proportional to :math:`e^{-\|b\|/\beta}`, :math:`\beta=2Lt/\lambda` and
    :math:`\tau_l=\varepsilon_l`. Sizes and ownership of rows are public. Statements
    ``alg-weighted-erm``, ``thm-weighted-erm``, ``prop-logistic``, chapter *user_level/erm*.

    Parameters
    ----------
    loss : {"square", "logistic"}, default "square"
        Loss of a row: that of a regressor, or of a classifier for two classes.
    delta : float, optional
        Failure probability: of descent in (0, 1), None is 1e-6; of output perturbation None or 0.
    optimizer : {"gradient", "output"}, default "gradient"
        Noise on every gradient, or once on the minimizer.
    accounting : {"zcdp", "gaussian"}, default "zcdp"
        How descent turns (epsilon, delta) into noise: through zero-concentrated privacy
        (`calibrate_rho`), or exactly, :math:`\rho=\mu^2/2` of Gaussian privacy: less noise.
    radius : float, default 1.0
        R: public bound on the norm of the parameters on the domain.
    lam : float, default 0.1
        Penalty against the weighted *mean* of losses: :math:`\lambda` of output perturbation.
    steps : int, optional
        Number of steps T; by default :math:`\lceil1/(2dt^2)\rceil`, at most 1000.
    step_size : float, optional
        Length of a step, :math:`\eta`; by default that of the theorem.
    clip_norm : float, optional
        Length to which the gradient of a user is clipped, per unit weight and in place of L; of
        descent. Below L the noise falls, and the bound of the theorem no longer holds. Above L it
        changes nothing.
    tradeoff : float, optional
        A of `tradeoff_weights`; by default that of the theorem. 0 weighs users by their budgets,
        inf weighs all rows alike.
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

    Attributes
    ----------
    coef_ : ndarray, shape (d,), in your units: of the prediction, or of the log-odds
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    classes_ : ndarray, shape (2,), of the logistic loss only
    guarantee_ : ZeroConcentratedDP, GaussianDP or PureDP
        What each user was promised, in the order of `users_`, against replacing all their rows;
        ``guarantee_.to_approximate(delta)`` is within the promise that was asked for.
    exposure_ : ndarray, shape (m,)
        What each user spends, in the unit of the promise (rho, mu or epsilon): less than
        `guarantee_` where a weight stays below its cap. Public.
    weights_ : ndarray, shape (m,), of the users: public
    noise_ : PublicNoise
        ``noise_.scale`` is :math:`\varsigma`, or :math:`\beta` of
        the noise on the minimizer, whose rate is ``noise_.rate``.
    steps_ : int, number of noisy gradients; 0 for output perturbation
    n_features_in_ : int, number of columns of X

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, users = rng.uniform(-1, 1, (500, 2)), rng.integers(0, 60, 500)
    >>> model = WeightedERM("logistic", optimizer="output", epsilon=4.0, classes=("no", "yes"))
    >>> model = model.fit(X, np.where(X[:, 0] > 0, "yes", "no"), users=users)
    >>> model.coef_.shape, round(model.noise_.scale, 3), model.guarantee_.neighbors
    ((2,), 0.103, 'user')
    """

    loss: str = setting(default="square", rule=one_of(*LOSSES), kw_only=False)
    delta: float | None = setting(default=None, rule=optional(partial(check.delta, zero=True)))
    optimizer: str = setting(default="gradient", rule=one_of("gradient", "output"))
    accounting: str = setting(default="zcdp", rule=one_of("zcdp", "gaussian"))
    radius: float = setting(default=1.0, rule=check.scale)
    lam: float = setting(default=0.1, rule=check.scale)
    steps: int | None = setting(default=None, rule=optional(check.count))
    step_size: float | None = setting(default=None, rule=optional(check.scale))
    clip_norm: float | None = setting(default=None, rule=optional(check.scale))
    tradeoff: float | None = setting(default=None, rule=_price)
    classes: ArrayLike | None = setting(default=None)
    row_norm: float | None = setting(default=None, rule=optional(check.scale))
    fit_intercept: bool = setting(default=False, rule=check.flag)
    bounds: ArrayLike = setting(default=(-1.0, 1.0), rule=check.pairs)

    def law(self, people: PeopleWithRows) -> GradientTranscript | L2Laplace:
        plan, owners, R = people.plan, people.part.users, float(self.radius)
        c, clips = plan.weights.row_weights, self.lipschitz() * plan.weights.weights
        T, d = plan.public["steps_"], people.columns + bool(self.fit_intercept)
        steps: Any = clips, self.loss, R, self.step(plan, d), T, plan.scale
        X, y, c = people.X, people.y, c[owners.codes]
        if self.optimizer == "output":
            goal = self.gradient_norm()
            theta = ball_minimizer(X, y, self.lam, c, loss=self.loss, radius=R, gradient_norm=goal)
            return L2Laplace(theta, 1 / plan.scale)
        rows = np.argsort(owners.codes, kind="stable")  # all rows of a user together
        starts = np.cumsum(owners.sizes) - owners.sizes
        return GradientTranscript(X[rows], y[rows], c[rows], starts, *steps)

    def promise(self, people: PeopleWithRows) -> ZeroConcentratedDP | GaussianDP | PureDP:
        parameter = people.part.everybody(self.promised(people.part.epsilon))
        if self.optimizer == "output":
            return PureDP(parameter, neighbors="user")
        kind = ZeroConcentratedDP if self.accounting == "zcdp" else GaussianDP
        return kind(parameter, neighbors="user")

    def plan(self, budgets: Floats, sizes: NDArray[np.intp], d: int) -> Plan:
        """Choose weights and noise: what each user may weigh is the square root of their rho."""
        if self.optimizer == "output":  # as computed, and as much again for rounding
            return self.plan_output(budgets, sizes, d, 2 * self.gradient_norm())
        zcdp, promised = self.accounting == "zcdp", self.promised(budgets)
        tau = np.sqrt(promised) if zcdp else promised / np.sqrt(2)
        A = erm_tradeoff(int(sizes.sum()), d) if self.tradeoff is None else float(self.tradeoff)
        weights = tradeoff_weights(sizes, A, tau)
        t = float(np.max(weights.weights / tau))
        few = int(np.ceil(min(1 / (2 * d * t**2), MOST_STEPS)))
        T = few if self.steps is None else int(self.steps)
        share = np.minimum(weights.weights / (t * tau), 1.0)
        spent = promised * (share**2 if zcdp else share)
        return _plan(weights, float(self.lipschitz() * t * np.sqrt(2 * T)), spent, T)

    def promised(self, budgets: Floats) -> Any:
        """Return the parameter of the promise that budgets are turned into: rho, mu or epsilon."""
        if self.optimizer == "output":
            return budgets
        if self.accounting == "zcdp":
            return calibrate_rho(budgets, self._delta())
        return at_levels(gaussian_mu, budgets, float(self._delta()))

    def plan_output(
        self, budgets: Floats, sizes: NDArray[np.intp], d: int, gradient_norm: float
    ) -> Plan:
        """Choose noise for a minimizer whose true gradient norm is at most this one."""
        L, lam, A = self.lipschitz(), float(self.lam), self.tradeoff
        if A is None:
            smoothness = LOSSES[self.loss].smoothness
            A = output_price(budgets, sizes, d, L, float(self.radius), lam, smoothness)
        weights = tradeoff_weights(sizes, float(A), budgets)
        moves = 2 * (L * weights.weights + gradient_norm) / lam
        scale = float(np.max(moves / budgets))
        return _plan(weights, scale, np.minimum(moves / scale, budgets), 0)

    def lipschitz(self) -> float:
        """Return the longest gradient per unit weight: of the loss, or what it is clipped to."""
        longest = float(LOSSES[self.loss].lipschitz(float(self.radius)))
        # every iterate is projected to the ball, where no gradient is longer than L: a larger
        # clip_norm clips nothing, and needs no more noise
        return longest if self.clip_norm is None else min(float(self.clip_norm), longest)

    def gradient_norm(self) -> float:
        """Return the norm of the gradient at which the solver of a minimizer stops."""
        return SOLVER * (self.lipschitz() + float(self.lam) * float(self.radius))

    def step(self, plan: Plan, d: int) -> float:
        """Return eta, the length of a step of descent."""
        if self.step_size is not None:
            return float(self.step_size)
        squares = self.lipschitz() ** 2 + d * plan.scale**2
        return float(self.radius / np.sqrt((plan.public["steps_"] + 1) * squares))

    def heard(self, epsilon: Floats, users: Users, d: int) -> Floats:
        """Return the budgets, 0 for those whose charge for the solver costs the others most."""
        if self.optimizer == "gradient":  # nobody is charged for a solver
            if not (top := epsilon.max()) > UNDERFLOW:
                raise ValueError(
                    f"epsilon must be above {UNDERFLOW:g} for somebody; got {check.shown(top)}"
                )
            return np.where(epsilon > UNDERFLOW, epsilon, 0.0)

        def noise(part: Floats, charge: float) -> float:
            those = users.sizes[epsilon >= part.min()]
            return self.plan_output(part, those, d + bool(self.fit_intercept), charge).scale

        charged = 2 * self.gradient_norm()
        free = noise(epsilon[epsilon > 0], 0.0)
        return worth_taking(epsilon, lambda part: noise(part, charged), free)

    def check(self) -> None:
        delta = self._delta()
        if delta == 0 and self.optimizer == "gradient":
            raise ValueError(
                "delta must be above 0 and below 1; got 0. Gaussian noise keeps no pure promise: "
                "pass a delta well below one over the number of users, or optimizer='output'"
            )
        if delta > 0 and self.optimizer == "output":
            raise ValueError(f"delta must be 0 with optimizer='output'; got {delta:g}")
        if self.clip_norm is not None and self.optimizer == "output":
            raise ValueError("clip_norm must be None with optimizer='output': nothing is clipped")

    def planned(self, public: PublicUsers) -> Plan:
        part, k = public.part, public.columns + bool(self.fit_intercept)
        return self.plan(part.epsilon, part.users.sizes, k)

    def read(self, X: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
        return self.design(table_of(self, X), y)

    def design(self, X: Any, y: Any) -> tuple[Floats, NDArray[Any]]:
        rows = np.asarray(X, dtype=float)
        if y is None or not _logistic(self):
            return rows, labels_of(rows, y)
        check.refuse_hidden(y, "y")
        check_consistent_length(rows, y)
        return rows, np.asarray(y)

    def to_domain(self, X: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
        X, y = finite_data(X, two_classes(y, self.classes)[1] if _logistic(self) else y)
        if not _logistic(self):
            y = labels_to_domain(y, self.y_bounds, self.clip)
        return rows_to_ball(X, self.bounds, self.row_norm, self.clip, self.fit_intercept), y

    def release(self, draw: Floats, law: Any, people: PeopleWithRows) -> None:
        super().release(draw, law, people)
        theta = law.release(draw) if self.optimizer == "gradient" else draw
        y_bounds: ArrayLike = self.y_bounds
        if _logistic(self):
            y_bounds, self.classes_ = (-1.0, 1.0), two_classes(people.given, self.classes)[0]
        self.coef_, self.intercept_ = ball_to_user_units(
            theta, people.columns, self.bounds, y_bounds, self.row_norm
        )
        scale = people.plan.scale
        if self.optimizer == "output":
            covariance = (len(theta) + 1) * scale**2 * np.eye(len(theta))
            self.noise_ = PublicNoise(rate=1 / scale, scale=scale, covariance=covariance)
        else:
            self.noise_ = PublicNoise(scale=scale)

    def predict(self, X: ArrayLike) -> Any:
        """Predict labels, or the likelier class; X may lie outside `bounds`."""
        score = self._score(X)
        return self.classes_[(score > 0).astype(int)] if _logistic(self) else score

    @available_if(_logistic)  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the log-odds of the second class, shape (n,)."""
        return self._score(X)

    @available_if(_logistic)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities of the two classes, shape (n, 2)."""
        score = self._score(X)
        return np.column_stack([expit(-score), expit(score)])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination, or the accuracy. Not private."""
        measure = accuracy_score if _logistic(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        tags.estimator_type = "classifier" if _logistic(self) else "regressor"
        tags.classifier_tags = ClassifierTags(multi_class=False) if _logistic(self) else None
        tags.regressor_tags = None if _logistic(self) else RegressorTags()
        return tags

    def _delta(self) -> float:
        if self.delta is None:
            return 0.0 if self.optimizer == "output" else DELTA
        return self.delta

    def _score(self, X: ArrayLike) -> Floats:
        return np.asarray(predictions(self, X))
