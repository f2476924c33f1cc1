"""Regression and logistic regression by noisy gradients, clipped for each user."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.guarantees import BudgetAccount, GaussianDP, ZeroConcentratedDP
from pdpbook.noise import gaussian_mu
from pdpbook.noise.laws import PublicNoise, check_points
from pdpbook.noise.profiles import at_levels
from pdpbook.participants import fill_in_zeros
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
    calibrate_rho,
    erm_tradeoff,
    read_records,
    records_for_audit,
    two_classes,
)
from pdpbook.user_level.weights import tradeoff_weights
from pdpbook.user_records import UserParticipants
from pdpbook.users import Users, check_budgets_of_users

MAX_NUMBERS = 4_000_000  # in the largest temporary array, 32 MB


@dataclass(frozen=True, eq=False)
class GradientTranscript:
    r"""Law of the noisy gradients of a projected descent, one after the other in one vector.

    .. math:: &z_k = \sum_l \mathrm{clip}_{b_l}\Bigl(\sum_{i\in S_l} c_i\nabla\ell_i(\theta_k)\Bigr)
              + N(0,\varsigma^2I),\\
              &\theta_{k+1} = \Pi_R(\theta_k - \eta z_k), \qquad \theta_0=0 .

    Iterates are functions of the gradients: who sees these sees all. Not private: it holds the
    data. Made by `WeightedGradientDescent.output_law`. Statement ``alg-weighted-erm``, chapter
    *user_level/erm*.
    """

    X: Floats  #: rows on the domain, shape (n, d); all rows of a user together
    y: Floats  #: labels on the domain, shape (n,)
    row_weights: Floats  #: :math:`c_i`, shape (n,); they sum to 1
    starts: NDArray[np.intp]  #: the first row of each user, shape (m,)
    clips: Floats  #: longest gradient of each user, :math:`b_l`, shape (m,)
    loss: str  #: "square" or "logistic"
    radius: float  #: R
    step_size: float  #: :math:`\eta`
    steps: int  #: number of noisy gradients
    sigma: float  #: :math:`\varsigma`, standard deviation of the noise on each coordinate

    @property
    def center(self) -> Floats:
        """The gradients without noise, shape (steps * d,)."""
        return np.asarray(self._run(np.zeros((self.steps, 1, self.X.shape[1])))[0])

    def gradient(self, theta: ArrayLike) -> Floats:
        """Return the sum of clipped gradients of users at each of `theta`, shape (..., d)."""
        points = np.asarray(check.finite(theta, "theta"))
        flat = points.reshape(-1, points.shape[-1])
        gradients = np.empty_like(flat)
        count = max(1, MAX_NUMBERS // self.X.size)  # of points at a time
        for first in range(0, len(flat), count):
            chunk = slice(first, first + count)
            gradients[chunk] = self._sum_of_users(flat[chunk])
        return np.asarray(gradients.reshape(points.shape))

    def _sum_of_users(self, theta: Floats) -> Floats:
        """Return the sum of clipped gradients at each of `theta`, shape (k, d)."""
        if len(self.starts) < len(self.y):
            return np.asarray(self._clipped(self._gradients_of_rows(theta)).sum(axis=1))
        # with one row a user a gradient is a multiple of it: no array (k, n, d) is needed
        slopes = self.row_weights * LOSSES[self.loss].slope(theta @ self.X.T, self.y)
        norms = np.abs(slopes) * self._row_norms
        clipped_slopes = slopes * (self.clips / np.maximum(norms, self.clips))
        return np.asarray(clipped_slopes @ self.X)

    @cached_property
    def _row_norms(self) -> Floats:
        return np.asarray(np.linalg.norm(self.X, axis=1))

    def _gradients_of_rows(self, theta: Floats) -> Floats:
        """Return the weighted gradients of rows at each of `theta`, shape (k, n, d)."""
        slope = LOSSES[self.loss].slope(theta @ self.X.T, self.y)
        return np.asarray((self.row_weights * slope)[:, :, None] * self.X)

    def project(self, theta: Floats) -> Floats:
        """Return the nearest points of the ball."""
        norms = np.linalg.norm(theta, axis=-1, keepdims=True)
        return np.asarray(theta * (self.radius / np.maximum(norms, self.radius)))

    def release(self, transcripts: ArrayLike) -> Floats:
        """Return the average of start and iterates, shape (..., d), of transcripts."""
        sum_of_iterates = sum(self._iterates(self._by_step(transcripts)))
        return np.asarray(sum_of_iterates / (self.steps + 1))

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density of transcripts, shape (..., steps * d); returns shape (...)."""
        z = self._by_step(points)
        exponent = np.zeros(z.shape[:-2])
        for k, theta in zip(range(self.steps), self._iterates(z), strict=False):
            noise = (z[..., k, :] - self.gradient(theta)) / self.sigma
            exponent = exponent + (noise**2).sum(axis=-1) / 2
        constant = self.steps * self.X.shape[1] * np.log(self.sigma * np.sqrt(2 * np.pi))
        return np.asarray(-exponent - constant)[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw transcripts: shape (steps * d,), or (size, steps * d)."""
        check.rng(rng)
        count = 1 if size is None else check.count(size, "size", minimum=0)
        noise = rng.standard_normal((self.steps, count, self.X.shape[1]))
        drawn = self._run(self.sigma * noise)
        return np.asarray(drawn[0] if size is None else drawn)

    def _run(self, noise: Floats) -> Floats:
        """Descend from zero with noise of shape (steps, size, d); return the transcripts."""
        theta = np.zeros_like(noise[0])
        z = np.empty_like(noise)
        for k in range(self.steps):
            z[k] = self.gradient(theta) + noise[k]
            theta = self.project(theta - self.step_size * z[k])
        return np.asarray(z.swapaxes(0, 1).reshape(noise.shape[1], -1))

    def _clipped(self, rows: Floats) -> Floats:
        """Return clipped gradients of users, shape (k, m, d), from those of rows, (k, n, d)."""
        users = np.add.reduceat(rows, self.starts, axis=1)
        norms = np.linalg.norm(users, axis=2)
        factors = self.clips / np.maximum(norms, self.clips)
        return np.asarray(users * factors[:, :, None])

    def _iterates(self, z: Floats) -> Iterator[Floats]:
        """Yield the start, and the iterate after each gradient of transcripts (..., steps, d)."""
        theta = np.zeros_like(z[..., 0, :])
        yield theta
        for k in range(self.steps):
            theta = self.project(theta - self.step_size * z[..., k, :])
            yield theta

    def _by_step(self, points: ArrayLike) -> Floats:
        """Return transcripts as an array of shape (..., steps, d)."""
        d = self.X.shape[1]
        z = check_points(points, self.steps * d, ", a transcript each")
        return z.reshape(*z.shape[:-1], self.steps, d)


SMALLEST_BUDGET = 1e-150  # the rho of a smaller one, about its square, underflows
MAX_DEFAULT_STEPS = 1000


@dataclass(frozen=True, eq=False)
class DescentPlan:
    """What public numbers alone fix of a noisy descent, before a label is looked at."""

    user_weights: Floats  #: shape (m,), summing to 1
    row_weights: Floats  #: shape (m,), of each row of a user
    steps: int  #: number of noisy gradients
    sigma: float  #: standard deviation of the noise on each of their coordinates
    step_size: float
    exposure: Floats  #: shape (m,), the largest loss of each user, in the unit of the promise


class WeightedGradientDescent(LinearPredictor):
    r"""Noisy gradient descent that keeps one budget for all the rows of a user together.

    On the domain :math:`\|x_i\|\le1`, :math:`|y_i|\le1`, it looks for the least of

    .. math:: \hat L(\theta) = \sum_l w_l\,\frac1{s_l}\sum_{i\in S_l}\ell(x_i^\top\theta, y_i),
              \qquad \|\theta\|\le R, \qquad w_l = \frac{\min(s_l, h\tau_l)}{n_h},

    with the loss :math:`\frac12(x^\top\theta-y)^2`, :math:`L=1+R`, or
    :math:`\ln(1+e^{-yx^\top\theta})`, :math:`L=1`. In each of T steps of projected descent from 0
    the gradient of user l is clipped to :math:`Lw_l` and noise :math:`N(0,\varsigma^2I)` is added
    to the sum of all; the average of start and iterates is released. With
    :math:`\tau_l=\sqrt{\rho_l}`

    .. math:: \varsigma = Lt\sqrt{2T}, \qquad t=\max_l\frac{w_l}{\tau_l}, \qquad
              \eta = \frac R{\sqrt{(T+1)(L^2+d\varsigma^2)}} .

    Sizes and ownership of rows are public. Rounding of floats is not covered. A pure promise is
    kept by `WeightedOutputPerturbation`. Statements ``alg-weighted-erm``, ``thm-weighted-erm``,
    chapter *user_level/erm*; Epasto et al. (2020), Algorithm 2. For the logistic loss statement
    ``prop-logistic``, chapter *user_level/erm_bounds*.

    It is the wrong choice for a line with the squared loss: on 250,000 rows of 21,572 users with a
    budget of 0.5 its defaults explain 0.1 of the variance of new labels, where
    `ObjectivePerturbation` explains 0.26 with `users`, or with one row of each. Its steps are too
    short to arrive, its noise hides gradients of length 1 + R that never occur, and its weights
    favor large users; see chapter *user_level/means_of_rows*.

    Parameters
    ----------
    loss : {"square", "logistic"}, default "square"
        Loss of a row: that of a regressor, or of a classifier for two classes.
    epsilon : float, mapping or array_like, default 1.0
        Budget in nats, for everybody or one a user as in `fit`, which can be given others. Public.
    delta : float, default 1e-6
        Failure probability of the budget, in (0, 1).
    accounting : {"zcdp", "gaussian"}, default "zcdp"
        How (epsilon, delta) is turned into noise: through zero-concentrated privacy
        (`calibrate_rho`), or exactly, :math:`\rho=\mu^2/2` of Gaussian privacy: less noise.
    radius : float, default 1.0
        R: public bound on the norm of the parameters on the domain.
    steps : int, optional
        Number of steps T; by default :math:`\lceil1/(2dt^2)\rceil`, at most 1000.
    step_size : float, optional
        Length of a step, :math:`\eta`; by default that of the theorem.
    clip_norm : float, optional
        Length to which the gradient of a user is clipped, per unit weight and in place of L. Below
        L the noise falls, and the bound of the theorem no longer holds. Above L it changes nothing.
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
    guarantee_ : ZeroConcentratedDP or GaussianDP
        What each user was promised, in the order of `users_`, against replacing all their rows;
        ``guarantee_.to_approximate(delta)`` is within the promise that was asked for.
    users_ : ndarray, shape (m,)
        Labels of the users, sorted.
    exposure_ : ndarray, shape (m,)
        What each user spends, in the unit of the promise (rho or mu): less than `guarantee_` where
        a weight stays below its cap. Public.
    weights_ : ndarray, shape (m,), of the users: public
    noise_ : PublicNoise
        ``noise_.scale`` is :math:`\varsigma`.
    steps_ : int, number of noisy gradients
    n_features_in_ : int, number of columns of X

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, users = rng.uniform(-1, 1, (500, 2)), rng.integers(0, 60, 500)
    >>> model = WeightedGradientDescent(epsilon=4.0, steps=10).fit(X, X[:, 0], users=users)
    >>> model.coef_.shape, round(model.noise_.scale, 3), model.guarantee_.neighbors
    ((2,), 0.341, 'user')
    """

    def __init__(
        self,
        loss: str = "square",
        *,
        epsilon: Any = 1.0,
        delta: float = 1e-6,
        accounting: str = "zcdp",
        radius: float = 1.0,
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
    ) -> None:
        self.loss = loss
        self.epsilon = epsilon
        self.delta = delta
        self.accounting = accounting
        self.radius = radius
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

    def check_settings(self) -> None:
        check.settings(
            self,
            loss=check.one_of(*LOSSES),
            delta=_check_delta,
            accounting=check.one_of("zcdp", "gaussian"),
            radius=check.scale,
            steps=check.optional(check.count),
            step_size=check.optional(check.scale),
            clip_norm=check.optional(check.scale),
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
            budgets = self.drop_costly_budgets(budgets)
            guarantee = self.guarantee(budgets)

            people = records.participants(domain, budgets)
            plan = self.plan(people.users, people.budgets, domain.d)
            law = self.law(people, plan)
            gradients = release(law, guarantee, account, rng, people=records)

            self.coef_, self.intercept_ = domain.to_user_units(law.release(gradients))
            if self.loss == "logistic":
                self.classes_, _ = two_classes(people.original_labels, self.classes)
            self.guarantee_ = guarantee
            self.users_ = records.users.labels
            self.exposure_ = fill_in_zeros(plan.exposure, budgets)
            self.weights_ = fill_in_zeros(plan.user_weights, budgets)
            self.steps_ = plan.steps
            self.noise_ = PublicNoise(scale=plan.sigma)
        return self

    def law(self, people: UserParticipants, plan: DescentPlan) -> GradientTranscript:
        """Return the exact distribution of all noisy gradients: the theorem."""
        sizes = people.users.sizes
        rows = np.argsort(people.users.codes, kind="stable")  # all rows of a user together
        return GradientTranscript(
            X=people.X[rows],
            y=people.y[rows],
            row_weights=np.repeat(plan.row_weights, sizes),
            starts=np.cumsum(sizes) - sizes,
            clips=self.lipschitz() * plan.user_weights,
            loss=self.loss,
            radius=float(self.radius),
            step_size=plan.step_size,
            steps=plan.steps,
            sigma=plan.sigma,
        )

    def guarantee(self, budgets: Floats) -> ZeroConcentratedDP | GaussianDP:
        """Return the promise to all users, of their budgets, shape (m,)."""
        parameters = self.privacy_parameters(budgets[budgets > 0])
        if self.accounting == "zcdp":
            return ZeroConcentratedDP(fill_in_zeros(parameters, budgets), neighbors="user")
        return GaussianDP(fill_in_zeros(parameters, budgets), neighbors="user")

    def privacy_parameters(self, budgets: Floats) -> Floats:
        """Return the rho, or the mu, that each budget buys at the failure probability delta."""
        if self.accounting == "zcdp":
            return np.asarray(calibrate_rho(budgets, self.delta))
        return at_levels(gaussian_mu, budgets, float(self.delta))

    def plan(self, users: Users, budgets: Floats, d: int) -> DescentPlan:
        """Return weights, steps and noise: what each user may weigh is the root of their rho."""
        is_zcdp = self.accounting == "zcdp"
        parameters = self.privacy_parameters(budgets)
        tau = np.sqrt(parameters) if is_zcdp else parameters / np.sqrt(2)
        if self.tradeoff is None:
            A = erm_tradeoff(int(users.sizes.sum()), d)
        else:
            A = float(self.tradeoff)
        best = tradeoff_weights(users.sizes, A, tau)
        t = float(np.max(best.weights / tau))
        T = self.number_of_steps(t, d)
        sigma = float(self.lipschitz() * t * np.sqrt(2 * T))
        shares = np.minimum(best.weights / (t * tau), 1.0)  # of the largest weight under a budget
        return DescentPlan(
            user_weights=best.weights,
            row_weights=best.row_weights,
            steps=T,
            sigma=sigma,
            step_size=self.length_of_step(sigma, T, d),
            exposure=parameters * (shares**2 if is_zcdp else shares),
        )

    def number_of_steps(self, t: float, d: int) -> int:
        """Return T: by default so many that more would not lower the bound of the theorem."""
        if self.steps is not None:
            return int(self.steps)
        return int(np.ceil(min(1 / (2 * d * t**2), MAX_DEFAULT_STEPS)))

    def length_of_step(self, sigma: float, steps: int, d: int) -> float:
        """Return eta: by default that with the lowest bound."""
        if self.step_size is not None:
            return float(self.step_size)
        squares = self.lipschitz() ** 2 + d * sigma**2
        return float(self.radius / np.sqrt((steps + 1) * squares))

    def lipschitz(self) -> float:
        """Return the longest gradient per unit weight: of the loss, or what it is clipped to."""
        longest = float(LOSSES[self.loss].lipschitz(float(self.radius)))
        if self.clip_norm is None:
            return longest
        # every iterate is projected to the ball, where no gradient is longer than L: a larger
        # clip_norm clips nothing, and needs no more noise
        return min(float(self.clip_norm), longest)

    def drop_costly_budgets(self, budgets: Floats) -> Floats:
        """Return the budgets, 0 for those so small that the noise for them would overflow."""
        return np.where(budgets > SMALLEST_BUDGET, budgets, 0.0)

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
    ) -> GradientTranscript:
        """Exact law of the release that `fit` draws from. NOT private: for audits and teaching."""
        epsilon = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(epsilon)
        self.check_settings()
        records = records_for_audit(self, X, y, users)
        domain = self.domain(records.columns)
        budgets = self.drop_costly_budgets(records.budgets(epsilon))
        people = records.participants(domain, budgets)
        return self.law(people, self.plan(people.users, people.budgets, domain.d))

    def sums(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> None:
        """Refuse: every step needs gradients of all rows, which sums no longer have."""
        refuse_mechanism(self)


def _check_delta(value: Any, name: str) -> None:
    """Refuse what is no probability in (0, 1); of 0, say which fit keeps a pure promise."""
    try:
        check.delta(value, name)
    except ValueError as error:
        if np.ndim(value) or value != 0:
            raise
        raise ValueError(
            f"{error}. Gaussian noise keeps no pure promise: pass a {name} well below one over the "
            "number of users, or take WeightedOutputPerturbation"
        ) from None
