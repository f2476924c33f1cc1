"""Regression and logistic regression in which every user spends one budget, whatever they own."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags, check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import worth_taking
from pdpbook._domain import (
    ball_to_user_units,
    check_mapping,
    check_sizes,
    finite_data,
    generator_from,
    labels_of,
    labels_to_domain,
    rows_to_ball,
    table_of,
)
from pdpbook._users import (
    Part,
    Users,
    check_budgets_of_users,
    check_user_epsilon,
    check_users,
    part_of,
)
from pdpbook.blocks import in_memory
from pdpbook.guarantees import BudgetAccount, GaussianDP, PureDP, ZeroConcentratedDP
from pdpbook.noise import L2Laplace
from pdpbook.reports.frames import ball_frame
from pdpbook.reports.noise import Crowd, Noise, through
from pdpbook.reports.reported import ReportedOfUsers
from pdpbook.user_level.erm.descent import GradientTranscript
from pdpbook.user_level.erm.losses import LOSSES, ball_minimizer, two_classes
from pdpbook.user_level.erm.plan import Plan, plan_descent, plan_output
from pdpbook.validation import (
    check_choice,
    check_count,
    check_delta,
    check_nonnegative,
    check_scale,
    check_single,
    refuse_masked,
)

__all__ = ["WeightedERM"]

Floats = NDArray[np.float64]

UNDERFLOW = 1e-150  # the rho of a smaller budget is no float
DELTA = 1e-6  # of noisy gradients, where none is given
SOLVER = 1e-11  # gradient norm of a minimizer, in units of the Lipschitz constant of J


def _logistic(model: Any) -> bool:
    return bool(model.loss == "logistic")


class WeightedERM(ReportedOfUsers, BaseEstimator):  # type: ignore[misc]
    r"""Weighted fit on a ball that keeps one budget for all the rows of a user together.

    On the domain :math:`\|x_i\|\le1`, :math:`|y_i|\le1`, it looks for the least of

    .. math:: \hat L(\theta) = \sum_l w_l\,\frac1{s_l}\sum_{i\in S_l}\ell(x_i^\top\theta, y_i),
              \qquad \|\theta\|\le R, \qquad w_l = \frac{\min(s_l, h\tau_l)}{n_h},

    with the loss :math:`\frac12(x^\top\theta-y)^2`, :math:`L=1+R`, or
    :math:`\ln(1+e^{-yx^\top\theta})`, :math:`L=1`.

    *Gradient*: T steps of projected descent from 0, the gradient of user l clipped to
    :math:`Lw_l`; the average of start and iterates is released. With :math:`\tau_l=\sqrt{\rho_l}`

    .. math:: \varsigma = Lt\sqrt{2T}, \qquad t=\max_l\frac{w_l}{\tau_l}, \qquad
              \eta = \frac R{\sqrt{(T+1)(L^2+d\varsigma^2)}} .

    *Output*: the minimizer of :math:`\hat L+\frac\lambda2\|\theta\|^2` on the ball, plus noise of
    density proportional to :math:`e^{-\|b\|/\beta}`, :math:`\beta=2Lt/\lambda` and
    :math:`\tau_l=\varepsilon_l`.

    Parameters
    ----------
    loss : {"squared", "logistic"}, default "squared"
        The squared loss makes a regressor, the logistic loss a classifier for two classes.
    epsilon : float, mapping or array_like, default 1.0
        Budget in nats of every user, or one each by label or by row; `fit` can be given others.
    delta : float, optional
        Failure probability. Descent needs one in (0, 1), and None is 1e-6; output perturbation is
        pure, and None is 0.
    optimizer : {"gradient", "output"}, default "gradient"
        Noise on every gradient, or once on the minimizer.
    accounting : {"zcdp", "gaussian"}, default "zcdp"
        How descent turns (epsilon, delta) into noise: through zero-concentrated privacy
        (`calibrate_rho`), or exactly, :math:`\rho=\mu^2/2` of Gaussian privacy: less noise.
    radius : float, default 1.0
        R: public bound on the norm of the parameters on the domain.
    lam : float, default 0.1
        :math:`\lambda` of output perturbation, against the weighted *mean* of losses.
    steps : int, optional
        T; by default :math:`\lceil1/(2dt^2)\rceil`, at most 1000.
    step_size : float, optional
        :math:`\eta`; by default that of the theorem.
    clip_norm : float, optional
        Of descent: length per unit weight to which the gradient of a user is clipped, in place of
        L. Below L the noise falls, and the bound of the theorem no longer holds.
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
    clip : bool, default False
        Clip data to the bounds instead of raising.
    random_state : None, int or Generator, default None
        None for every real release: an integer repeats the noise on the next data set.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Released coefficients in your units: of the prediction, or of the log-odds.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    classes_ : ndarray, shape (2,)
        Of the logistic loss only.
    guarantee_ : ZeroConcentratedDP, GaussianDP or PureDP
        What each user was promised, in the order of `users_`, against replacing all their rows;
        ``guarantee_.to_approximate(delta)`` is within the promise that was asked for.
    exposure_ : ndarray, shape (m,)
        What each user spends, in the unit of the promise (rho, mu or epsilon): less than
        `guarantee_` where a weight stays below its cap. Public.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    users_, weights_ : ndarray, shape (m,)
        Labels of users, sorted, and their weights: public.
    noise_scale_ : float
        :math:`\varsigma`, or :math:`\beta` of the noise on the minimizer: public.
    steps_ : int
        Number of noisy gradients; 0 for output perturbation.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Statements ``alg-weighted-erm``, ``thm-weighted-erm``, ``prop-logistic``, chapter
    *user_level/erm*. Sizes and ownership of rows are public. Nothing without noise stays on the
    fitted object.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, users = rng.uniform(-1, 1, (500, 2)), rng.integers(0, 60, 500)
    >>> model = WeightedERM("logistic", optimizer="output", epsilon=4.0, classes=("no", "yes"))
    >>> model = model.fit(X, np.where(X[:, 0] > 0, "yes", "no"), users=users)
    >>> model.coef_.shape, round(model.noise_scale_, 3), model.guarantee_.neighbors
    ((2,), 0.103, 'user')
    """

    def __init__(
        self,
        loss: str = "squared",
        *,
        epsilon: Any = 1.0,
        delta: float | None = None,
        optimizer: str = "gradient",
        accounting: str = "zcdp",
        radius: float = 1.0,
        lam: float = 0.1,
        steps: int | None = None,
        step_size: float | None = None,
        clip_norm: float | None = None,
        tradeoff: float | None = None,
        classes: ArrayLike | None = None,
        row_norm: float | None = None,
        fit_intercept: bool = False,
        bounds: ArrayLike = (-1.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.optimizer = optimizer
        self.accounting = accounting
        self.radius = radius
        self.lam = lam
        self.steps = steps
        self.step_size = step_size
        self.clip_norm = clip_norm
        self.tradeoff = tradeoff
        self.classes = classes
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.clip = clip
        self.random_state = random_state

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        users: Any = None,
        epsilon: Any = None,
        account: BudgetAccount | None = None,
    ) -> Self:
        """Release private coefficients.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Rows, inside `bounds`.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`; or two classes.
        users : array_like, shape (n,), optional
            Who owns each row; None makes every row a user of its own.
        epsilon : float, mapping or array_like, optional
            Budgets in nats, one a row or one a user, as in `WeightedMean`; None is the
            constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        WeightedERM
            The fitted estimator.
        """
        in_memory(f"{type(self).__name__}.fit", X, y, users, epsilon)
        self._check_settings(epsilon)
        check_account(account)
        rng = generator_from(self.random_state)
        rows = table_of(self, X)
        owners = check_users(users, len(rows), X=X, y=y)
        part = self._part(owners, epsilon, rows.shape[1])
        clean, labels, classes = self._data(rows, y, part)
        law, plan = self._law(clean, labels, part)
        promise = self._promise(part.everybody(plan.promised))
        charge(account, promise, X, owners)
        drawn = law.sample(rng=rng)
        theta = law.release(drawn) if isinstance(law, GradientTranscript) else drawn
        y_bounds = (-1.0, 1.0) if _logistic(self) else self.y_bounds
        self.coef_, self.intercept_ = ball_to_user_units(
            theta, rows.shape[1], self.bounds, y_bounds, self.row_norm
        )
        self.users_, self.weights_ = owners.labels, part.everybody(plan.weights.weights)
        self.noise_scale_, self.steps_ = plan.scale, plan.steps
        if classes is not None:
            self.classes_ = classes
        self.guarantee_ = promise
        self.exposure_ = part.everybody(plan.spent)
        budgets = check_user_epsilon(self.epsilon if epsilon is None else epsilon, owners)
        self._keep_noise(Crowd(rows.shape[1], budgets, len(rows), owners))
        return self

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

    def output_law(
        self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None
    ) -> GradientTranscript | L2Laplace:
        """Exact law of all noisy gradients, or of the noisy minimizer. NOT private: for audits.

        Parameters are as in `fit`, which draws once from this law. ``law.release`` maps noisy
        gradients to the released parameters on the domain.
        """
        in_memory(f"{type(self).__name__}.output_law", X, y, users, epsilon)
        self._check_settings(epsilon)
        rows = np.asarray(X, dtype=float)
        part = self._part(check_users(users, len(rows), X=X, y=y), epsilon, rows.shape[1])
        clean, labels, _ = self._data(rows, y, part)
        return self._law(clean, labels, part)[0]

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if _logistic(self):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags

    def _check_settings(self, epsilon: Any) -> None:
        """Everything that can be refused before the data are touched."""
        check_budgets_of_users(self.epsilon if epsilon is None else epsilon)
        check_choice(self.loss, "loss", tuple(LOSSES))
        check_choice(self.optimizer, "optimizer", ("gradient", "output"))
        check_choice(self.accounting, "accounting", ("zcdp", "gaussian"))
        delta = check_delta(self._delta(), zero=True)
        if delta == 0 and self.optimizer == "gradient":
            raise ValueError(
                "delta must be above 0 and below 1; got 0. Gaussian noise keeps no pure promise: "
                "pass a delta well below one over the number of users, or optimizer='output'"
            )
        if delta > 0 and self.optimizer == "output":
            raise ValueError(f"delta must be 0 with optimizer='output'; got {delta:g}")
        check_scale(self.radius, "radius")
        check_scale(self.lam, "lam")
        check_sizes(self, "step_size", "clip_norm", "row_norm")
        if self.clip_norm is not None and self.optimizer == "output":
            raise ValueError("clip_norm must be None with optimizer='output': nothing is clipped")
        if self.steps is not None:
            check_count(self.steps, "steps")
        if self.tradeoff is not None and self.tradeoff != np.inf:
            check_single(check_nonnegative(self.tradeoff, "tradeoff"), "tradeoff")
        check_mapping(self.bounds, self.y_bounds, self.clip, self.fit_intercept)

    def _part(self, owners: Users, epsilon: Any, d: int) -> Part:
        """Who takes part."""
        budgets = check_user_epsilon(self.epsilon if epsilon is None else epsilon, owners)
        return part_of(owners, self._promised(budgets, owners.sizes, d + bool(self.fit_intercept)))

    def _data(self, rows: Floats, y: Any, part: Part) -> tuple[Floats, Floats, NDArray[Any] | None]:
        """Rows and labels of the part on the domain, and the two classes of the logistic loss."""
        classes = None
        if y is not None:
            refuse_masked(y, "y")
            check_consistent_length(rows, y)
            y = np.asarray(y)[part.rows]
        rows = rows[part.rows]
        if _logistic(self):
            classes, labels = two_classes(y, self.classes)
            rows, labels = finite_data(rows, labels)
        else:
            rows, labels = finite_data(rows, labels_of(rows, y))
            labels = labels_to_domain(labels, self.y_bounds, self.clip)
        ball = rows_to_ball(rows, self.bounds, self.row_norm, self.clip, self.fit_intercept)
        return ball, labels, classes

    def _law(self, X: Floats, y: Floats, part: Part) -> tuple[GradientTranscript | L2Laplace, Plan]:
        owners = part.users
        plan = self._plan(part.epsilon, owners.sizes, X.shape[1])
        c = plan.weights.row_weights[owners.codes]
        if self.optimizer == "output":
            theta = ball_minimizer(
                X, y, self.lam, c, loss=self.loss, radius=self.radius, gradient_norm=self._goal()
            )
            return L2Laplace(theta, 1 / plan.scale), plan
        order = np.argsort(owners.codes, kind="stable")
        G, R, d, T = self._lipschitz(), float(self.radius), X.shape[1], plan.steps
        law = GradientTranscript(
            X[order],
            y[order],
            c[order],
            np.concatenate([[0], np.cumsum(owners.sizes)[:-1]]).astype(np.intp),
            G * plan.weights.weights,
            self.loss,
            R,
            self._step(T, plan.scale, d),
            T,
            plan.scale,
        )
        return law, plan

    def _promised(self, budgets: Floats, sizes: NDArray[np.intp], d: int) -> Floats:
        """Budgets of all users, 0 for those whose charge for the solver costs the others most."""
        if self.optimizer == "gradient":  # nobody is charged for a solver
            if not budgets.max() > UNDERFLOW:
                raise ValueError(
                    f"epsilon must be above {UNDERFLOW:g} for somebody; got {budgets.max():g}"
                )
            return np.where(budgets > UNDERFLOW, budgets, 0.0)

        def noise(part: Floats, goal: float) -> float:
            return self._plan_output(part, sizes[budgets >= part.min()], d, goal).scale

        charged = 2 * self._goal()  # as computed, and as much again for rounding
        return worth_taking(
            budgets, lambda part: noise(part, charged), noise(budgets[budgets > 0], 0.0)
        )

    def _step(self, T: int, sigma: float, d: int) -> float:
        if self.step_size is not None:
            return float(self.step_size)
        return float(self.radius / np.sqrt((T + 1) * (self._lipschitz() ** 2 + d * sigma**2)))

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        r"""On the minimizer exact; of descent an estimate, and a bound on the mean square length.

        Two iterates are never further apart than the ball is wide, and a step of at most two over
        the smoothness of the loss does not stretch their distance but for its own noise:
        :math:`\min\{k\eta^2\varsigma^2d, 4R^2\}` after k steps. The average of all iterates is
        moved by at most the mean of that. With a `clip_norm` only the ball counts.
        """
        half = 1.0 if _logistic(self) else None
        frame = ball_frame(self, crowd.d, self.row_norm, half)
        width = None if _logistic(self) else 2 * frame.half
        d = frame.order
        if crowd.fitted:
            scale, T = self.noise_scale_, self.steps_
        else:
            sizes = crowd.users.sizes  # type: ignore[union-attr]
            budgets = self._promised(crowd.epsilon, sizes, d)
            known = self._plan(budgets[budgets > 0], sizes[budgets > 0], d)
            scale, T = known.scale, known.steps
        if self.optimizer == "output":
            return Noise.of(crowd, frame, (d + 1) * scale**2, exact=True, width=width)
        step, smoothness = self._step(T, scale, d), LOSSES[self.loss].smoothness
        added, wide = (step * scale) ** 2, 4 * float(self.radius) ** 2
        near = self.clip_norm is None and step * smoothness <= 2
        steps = np.arange(1, T + 1)
        most = float(np.sum(np.minimum(steps * added * d, wide) if near else 0 * steps + wide))
        most /= T + 1

        def gain(values: Floats) -> Floats:
            left = (1 - step * smoothness * values[:, None]) ** (steps - 1)
            return added * np.asarray((left.cumsum(axis=1) ** 2).sum(axis=1)) / (T + 1) ** 2

        spread = through(frame.kept, gain)
        spread *= min(1.0, most / np.trace(spread))
        return Noise.of(crowd, frame, spread, most, width=width)

    def _plan(self, budgets: Floats, sizes: NDArray[np.intp], d: int) -> Plan:
        tradeoff = None if self.tradeoff is None else float(self.tradeoff)
        if self.optimizer == "gradient":
            return plan_descent(
                budgets,
                float(self._delta()),
                sizes,
                d,
                lipschitz=self._lipschitz(),
                accounting=self.accounting,
                tradeoff=tradeoff,
                steps=None if self.steps is None else int(self.steps),
            )
        return self._plan_output(budgets, sizes, d, 2 * self._goal())

    def _plan_output(
        self, budgets: Floats, sizes: NDArray[np.intp], d: int, gradient_norm: float
    ) -> Plan:
        return plan_output(
            budgets,
            sizes,
            d,
            lipschitz=self._lipschitz(),
            radius=float(self.radius),
            lam=float(self.lam),
            smoothness=LOSSES[self.loss].smoothness,
            tradeoff=None if self.tradeoff is None else float(self.tradeoff),
            gradient_norm=gradient_norm,
        )

    def _promise(self, parameter: Floats) -> ZeroConcentratedDP | GaussianDP | PureDP:
        if self.optimizer == "output":
            return PureDP(parameter, neighbors="user")
        if self.accounting == "zcdp":
            return ZeroConcentratedDP(parameter, neighbors="user")
        return GaussianDP(parameter, neighbors="user")

    def _delta(self) -> float:
        if self.delta is None:
            return 0.0 if self.optimizer == "output" else DELTA
        return self.delta

    def _lipschitz(self) -> float:
        """Length of a gradient per unit weight: of the loss, or what it is clipped to."""
        if self.clip_norm is not None:
            return float(self.clip_norm)
        return float(LOSSES[self.loss].lipschitz(float(self.radius)))

    def _goal(self) -> float:
        return SOLVER * (self._lipschitz() + float(self.lam) * float(self.radius))

    def _score(self, X: ArrayLike) -> Floats:
        in_memory(f"{type(self).__name__}.predict", X)
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=float, reset=False)
        return np.asarray(rows @ self.coef_ + self.intercept_)
