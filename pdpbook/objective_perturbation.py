"""Regression with a privacy budget for every person, by noise inside the objective.

A random linear term tilts the objective before it is minimized, so the noise is smaller in
directions in which the data curve the objective. `personalized` has noise on the minimizer itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import interpolate, optimize

from pdpbook import Floats, check
from pdpbook.check import ULP
from pdpbook.domains import Cube, Labels
from pdpbook.guarantees import ApproximateDP, BudgetAccount, PureDP
from pdpbook.label_mean import LabelMeanLaw, label_bounds
from pdpbook.linear import LinearRegressor
from pdpbook.noise import L2Laplace, l2_laplace_profile, sample_l2_laplace
from pdpbook.noise.laws import PublicNoise, Size, check_points
from pdpbook.noise.profiles import bisect, largest_true, places
from pdpbook.participants import (
    Participants,
    drop_budgets_costly_for_others,
    fill_in_zeros,
    read_budgets,
    read_user_records,
    shares,
    smallest,
    user_records_for_audit,
)
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
)
from pdpbook.ridge import huber_ridge
from pdpbook.sensitivity import SOLVER_SHARE, solver_noise_rate
from pdpbook.sums import refuse_mechanism
from pdpbook.user_records import UserParticipants

__all__ = ["BudgetSplit", "ObjectiveLaw", "ObjectivePerturbation", "split_budget"]


@dataclass(frozen=True)
class BudgetSplit:
    """Weight of each person, and the two losses that spend their budget; see `split_budget`."""

    weights: Floats  #: shape (n,), they sum to 1
    tilt: Floats  #: shape (n,), largest loss through the tilt, ``rate * weights``
    volume: Floats  #: shape (n,), largest loss through the change of volume
    rate: float  #: largest loss through the tilt per unit weight, 4 beta c R


def split_budget(
    epsilon: ArrayLike,
    curvature: float,
    *,
    delta: float = 0.0,
    d: int | None = None,
    rank: int = 1,
) -> BudgetSplit:
    r"""Weights and noise rate with which objective perturbation spends every budget.

    With `curvature` :math:`\kappa=R^2/\lambda`, ``d / lam`` on the cube, and a rate a, they solve

    .. math:: a\,w_i + \ln(1 + \kappa w_i) = \varepsilon_i, \qquad \sum_i w_i = 1 .

    With a `delta` the loss through the tilt may exceed what the volume leaves of the budget,
    :math:`e_i=\varepsilon_i-\ln(1+\kappa w_i)`, as far as its exact profile allows:

    .. math:: \tfrac32\,\delta_d(e_i;\,a w_i) \le \delta \quad (a w_i \le 2e_i), \qquad
              2\,\delta_d(e_i;\,a w_i) + 2\,\delta_d(e_i;\,a w_i/2) \le \delta \quad (a w_i > 2e_i).

    The equations have a solution if :math:`\sum_j(e^{\varepsilon_j}-1)>\kappa`; we refuse sums of
    budgets up to :math:`\kappa`, where the tilt would get next to nothing. The rate keeps every
    promise despite rounding. Statement ``thm-objective-perturbation``
    (ours), chapter *personalized/objective*.

    One row curves the objective in one direction. Whoever counts with the mean of several rows
    curves it in up to `rank` directions r, and pays :math:`r\ln(1+\kappa w_i/r)` for the volume in
    place of :math:`\ln(1+\kappa w_i)`: statement ``thm-objective-users`` (ours), chapter
    *user_level/means_of_rows*.

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats
    curvature : float, above 0
    delta : float, in [0, 1), default 0.0
    d : int, optional
        Dimension of the tilt; needed with a `delta` above 0.
    rank : int, default 1
        Directions in which one person curves the objective; above 1 with a `delta` of 0 alone.

    Examples
    --------
    >>> split = split_budget([1.0, 1.0, 2.0, 4.0], 2.0)
    >>> split.tilt + split.volume, round(split.rate, 3)
    (array([1., 1., 2., 4.]), 6.461)
    """
    budgets = check.positive(epsilon, "epsilon")
    if np.ndim(budgets) != 1:
        raise ValueError("epsilon must have shape (n,), one budget a person; got a single number")
    kappa = check.number(curvature, "curvature")
    delta = check.delta(delta, zero=True)
    rank = check.count(rank, "rank")
    if rank > 1 and delta > 0:
        raise ValueError(
            f"delta must be 0 with a rank above 1: no profile is proved there; got {delta:g}"
        )
    total = float(budgets.sum())
    if not total > kappa:
        raise ValueError(f"epsilon must sum to more than the curvature {kappa:.3g}; got {total:g}")
    if delta == 0:
        weights = _weights(budgets, kappa, lambda remaining: remaining, rank)
        volume = _largest_volume(weights, kappa, rank)
        rate = float(np.min((budgets - volume) / weights))
        return BudgetSplit(weights, rate * weights, volume, rate)
    if d is None:
        raise ValueError("d must be given with a delta above 0; got None")
    return _with_delta(budgets, kappa, delta, check.count(d, "d"))


def _largest_volume(weights: Floats, kappa: float, rank: int) -> Floats:
    """Return the largest loss through the change of volume, for weights of people."""
    return np.asarray(rank * np.log1p(kappa * weights / rank))


def _weights(
    budgets: Floats, kappa: float, largest_tilt: Callable[[Floats], Any], rank: int = 1
) -> Floats:
    """Solve ``rate * w = largest_tilt(budgets - largest volume)`` for weights w of sum 1.

    `largest_tilt` is the loss through the tilt that a budget beside the volume allows. Returns the
    weights alone: callers take the rate that these allow, so rounding here breaks no promise.
    """
    with np.errstate(over="ignore"):
        # the volume takes the whole budget
        weights_without_tilt = rank * np.expm1(budgets / rank) / kappa
    tilts_without_volume = largest_tilt(budgets)

    def solve(rate: float) -> Floats:
        def is_affordable(w: Floats) -> Any:
            return rate * w <= largest_tilt(budgets - _largest_volume(w, kappa, rank))

        too_large = np.minimum(tilts_without_volume / rate, weights_without_tilt)
        return bisect(is_affordable, true_at=np.zeros_like(budgets), false_at=too_large)

    def excess(rate: float) -> float:
        return float(solve(rate).sum() - 1)

    # at the lower rate shares of the budgets are affordable, so the weights sum to at least 1; at
    # the upper one they sum to at most 1
    low, high = float(budgets.sum()) - kappa, float(np.sum(tilts_without_volume))
    if excess(low) <= 0 or low >= high:  # rounding
        return shares(budgets)
    rate = high if excess(high) >= 0 else optimize.brentq(excess, low, high, rtol=1e-15)
    weights = solve(float(rate))
    return np.asarray(weights / weights.sum())


def _with_delta(budgets: Floats, kappa: float, delta: float, d: int) -> BudgetSplit:
    """Return the split with a delta above 0; arguments as in `split_budget`, checked."""
    largest_tilt = _largest_tilts(float(budgets.max()), delta, d)
    weights = _weights(budgets, kappa, lambda e: largest_tilt(np.maximum(e, 0.0)))
    volume = np.log1p(kappa * weights)
    e = np.maximum(budgets - volume, 0.0)
    rate = float(np.min(largest_tilt(e) / weights))
    # `largest_tilt` is interpolated: lower the rate until the exact profile keeps delta
    step = 1e-8
    while np.any(_tilt_delta(e, rate * weights, d) > delta):
        rate = rate * (1 - step)
        step = 8 * step
    return BudgetSplit(weights, rate * weights, volume, rate)


@lru_cache(maxsize=64)  # an audit asks for these thousands of times
def _largest_tilts(largest_budget: float, delta: float, d: int) -> Any:
    """Return the largest loss through the tilt that delta allows, as a function of the budget.

    The budget is what the volume leaves, between 0 and `largest_budget`; the function interpolates.
    """
    nodes = largest_budget * np.concatenate([[0.0], np.geomspace(1e-4, 1.0, 150)])
    start = np.maximum(2 * nodes, 1.0)
    tilts = largest_true(lambda tilt: _tilt_delta(nodes, tilt, d) <= delta, nodes, start)
    return interpolate.PchipInterpolator(nodes, tilts)


def _tilt_delta(e: Floats, tilt: Floats, d: int) -> Floats:
    """Return the delta of a loss `tilt` through the tilt beside a budget `e`, by `split_budget`."""
    tilt = np.maximum(tilt, 1e-300)
    is_far = tilt > 2 * e
    delta = np.where(is_far, 2.0, 1.5) * l2_laplace_profile(e, d, tilt)
    delta[is_far] += 2 * l2_laplace_profile(e[is_far], d, tilt[is_far] / 2)
    return np.asarray(delta)


BLOCK = 4_000_000  # numbers in the largest temporary array
NEWTON_STEPS = 12  # for all tilts together; those that need more are solved one by one


@dataclass(frozen=True, eq=False)
class ObjectiveLaw:
    r"""Law of the minimizer of Huber losses, a penalty and a random linear term.

    .. math:: \hat\theta = \arg\min_\theta\ \sum_i w_i h_c(y_i-x_i^\top\theta) + \lambda\|\theta\|^2
              + b^\top\theta, \qquad b\sim\text{density}\propto e^{-\beta\|b\|}.

    Every point is the minimizer of exactly one tilt,
    :math:`b(\theta)=2\sum_i w_i\psi_c(r_i)x_i-2\lambda\theta`,
    :math:`\psi_c(r)=\max(-c,\min(r,c))`, so almost everywhere

    .. math:: p(\theta) = \nu_\beta(b(\theta))\ \det\Bigl(2\lambda I
              + 2\sum_i w_i 1[|r_i|\le c]\,x_ix_i^\top\Bigr).

    Not private: it holds the data. Made by `ObjectivePerturbation.output_law`. Statement
    ``thm-objective-perturbation`` (ours), chapter *personalized/objective*.
    """

    X: Floats  #: rows on the domain, shape (n, d)
    y: Floats  #: labels on the domain, shape (n,)
    weights: Floats  #: shape (n,), they sum to 1
    lam: float  #: penalty, above 0, against the weighted mean of losses
    threshold: float  #: where the loss turns linear, :math:`c`
    beta: float  #: rate of the tilt
    gradient_norm: float  #: what the solver must reach when it samples

    @cached_property
    def center(self) -> Floats:
        """The minimizer without the random term, shape (d,)."""
        return self.solve(np.zeros(self.X.shape[1]))

    def tilt_at(self, points: ArrayLike) -> Floats:
        """Return the tilt b that has its minimizer at each of `points`, shape (..., d)."""
        theta = check_points(points, self.X.shape[1])
        pull = (self.weights * self._influence(self.y - theta @ self.X.T)) @ self.X
        return np.asarray(2 * (pull - self.lam * theta))

    def log_volume(self, points: ArrayLike) -> Floats:
        """Log-determinant of the tilt's Jacobian at `points` of shape (..., d), shape (...)."""
        d = self.X.shape[1]
        theta = check_points(points, d)
        value = np.empty(theta.shape[:-1])
        for at in self._blocks(value):
            hessian = self._hessian(self._curved(theta.reshape(-1, d)[at]))
            relative = hessian / (2 * self.lam)  # the identity, and the term of the data
            value.flat[at] = np.linalg.slogdet(relative)[1]
        return np.asarray(d * np.log(2 * self.lam) + value)[()]

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., d); returns shape (...)."""
        noise = L2Laplace(np.zeros(self.X.shape[1]), self.beta)
        return np.asarray(noise.logpdf(self.tilt_at(points)) + self.log_volume(points))[()]

    def sample(self, size: Size = None, *, rng: np.random.Generator) -> Floats:
        """Draw tilts and solve; shapes as in `noise.sample_l2_laplace`."""
        return self.solve(sample_l2_laplace(self.X.shape[1], self.beta, size, rng=rng))

    def solve(self, tilt: ArrayLike) -> Floats:
        """Return the minimizer for each linear term in `tilt`, shape (..., d)."""
        b = check_points(tilt, self.X.shape[1])
        flat = b.reshape(-1, b.shape[-1])
        theta = np.empty_like(flat)
        for at in self._blocks(theta[:, 0]):
            theta[at] = self._newton(flat[at])
        error = np.linalg.norm(self.tilt_at(theta) - flat, axis=-1)
        for i in np.flatnonzero(~(error <= self.gradient_norm)):
            fit = huber_ridge(  # by a line search; it raises where that fails, too
                self.X,
                self.y,
                self.lam,
                self.weights,
                linear=flat[i],
                threshold=self.threshold,
                gradient_norm=self.gradient_norm,
            )
            theta[i] = fit.theta
        return theta.reshape(b.shape)

    def _newton(self, tilt: Floats) -> Floats:
        """Full Newton steps for many tilts at once; the objective is quadratic piece by piece."""
        theta = np.zeros_like(tilt)
        unsolved = np.arange(len(tilt))
        curved = np.ones((len(tilt), len(self.y)), dtype=bool)  # first as if it were one piece
        tilt_there = np.broadcast_to(2 * self.X.T @ (self.weights * self.y), tilt.shape)
        for _ in range(NEWTON_STEPS):
            gradient = tilt[unsolved] - tilt_there
            step = np.linalg.solve(self._hessian(curved), gradient[:, :, None])[:, :, 0]
            theta[unsolved] -= step
            tilt_there = self.tilt_at(theta[unsolved])
            error = np.linalg.norm(tilt_there - tilt[unsolved], axis=-1)
            not_yet = error > self.gradient_norm
            unsolved, tilt_there = unsolved[not_yet], tilt_there[not_yet]
            if not len(unsolved):
                break
            curved = self._curved(theta[unsolved])
        return theta

    def _hessian(self, curved: NDArray[np.bool_]) -> Floats:
        """Return the Hessian for each row of `curved`, which losses are quadratic: shape (k, d, d).

        Many rows are the same set of losses, and each set is computed once.
        """
        number_of_set: dict[bytes, int] = {}
        set_of_row = []
        for row in np.packbits(curved, axis=1):
            set_of_row.append(number_of_set.setdefault(row.tobytes(), len(number_of_set)))
        _, first_row_of_set = np.unique(set_of_row, return_index=True)
        scaled = (self.weights * curved[first_row_of_set])[:, :, None] * self.X
        hessians = 2 * (self.X.T @ scaled + self.lam * np.eye(self.X.shape[1]))
        return np.asarray(hessians[set_of_row])

    def _blocks(self, points: Any) -> Iterator[NDArray[np.intp]]:
        """Yield the numbers of points that are handled at once."""
        return places(np.ones(np.shape(points)), max(1, BLOCK // self.X.size))

    def _influence(self, residuals: Floats) -> Floats:
        """Return psi_c of residuals, half of the derivative of the loss."""
        return np.clip(residuals, -self.threshold, self.threshold)

    def _curvature(self, residuals: Floats) -> NDArray[np.bool_]:
        """Return half of the second derivative of the loss, 1 or 0."""
        return np.asarray(np.abs(residuals) <= self.threshold)

    def _curved(self, theta: Floats) -> NDArray[np.bool_]:
        """Return which losses are quadratic at points of shape (k, d): shape (k, n)."""
        return self._curvature(self.y - theta @ self.X.T)


class ObjectivePerturbation(LinearRegressor):
    r"""Ridge regression that keeps the budget of every person by noise inside the objective.

    On the domain :math:`x_i\in[0,1]^d`, :math:`\|x_i\|\le R`, :math:`y_i\in[-1,1]` it releases

    .. math:: \hat\theta = \arg\min_\theta\ \sum_i w_i h_c(y_i-x_i^\top\theta) + \lambda\|\theta\|^2
              + b^\top\theta, \qquad b\sim\text{density}\propto e^{-\beta\|b\|},

    with the Huber loss :math:`h_c(r)=r^2` for :math:`|r|\le c` and :math:`2c|r|-c^2` beyond, and
    :math:`\beta` in ``noise_.rate``. Replacing record i changes the tilt b that leads to an output
    by at most :math:`4w_icR`, and the volume around it by a factor of at most
    :math:`1+w_iR^2/\lambda`. So

    .. math:: 4\beta cR\,w_i + \ln(1+w_iR^2/\lambda) = \varepsilon_i, \qquad \sum_i w_i = 1

    keeps and spends every budget. Compared with noise on the minimizer, the noise is smaller in
    directions in which the data curve the objective; the price is that the budgets must sum to more
    than :math:`R^2/\lambda`. Statement ``thm-objective-perturbation`` (ours), chapter
    *personalized/objective*. Kifer, Smith and Thakurta (2012) perturb objectives for one budget;
    the square loss needs a bound on the norm there, because its gradient has none. The distance to
    the true coefficients under a linear model is on page *personalized/accuracy_bounds*.

    How far an inexact minimizer is off depends on the data, so a thousandth of the smallest budget
    is set aside: the solver stops at a gradient norm g that the public settings fix, and noise of
    rate :math:`\eta=\lambda\,10^{-3}\min_i\varepsilon_i/g` is added to the output
    (``prop-solver-tolerance``). A solver that does not get there raises and releases nothing.

    With `users` in `fit` a person is a user, who counts with the mean of the losses of their rows,
    however many these are, and the promise is about all of them. Then the volume may change in all
    d directions, which costs :math:`d\ln(1+w_iR^2/(d\lambda))` in place of the logarithm above.
    Statement ``thm-objective-users`` (ours), chapter *user_level/means_of_rows*, which also says
    when one row of each is as good.

    With a `label_mean_share` of s a private mean of the labels comes first, for
    :math:`s\varepsilon_i` of every budget, and the fit has :math:`(1-s)\varepsilon_i` and labels
    between bounds around that mean: together they spend :math:`\varepsilon_i`. If the fit fails
    after the mean was drawn, nothing is released and the budgets are spent, as the error says.
    Statement ``prop-centered-labels`` (ours), chapter *personalized/centered_labels*.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of losses, above 0; scikit-learn's ``alpha / n``. It is
        part of the promise: choosing it by looking at the data spends privacy of its own.
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
    huber_threshold : float, default 1.0
        Where the Huber loss turns linear, :math:`c`, in domain units of the label.
    row_norm : float, optional
        Public bound on the norm of a row on the domain, R, constant feature included; by default
        :math:`\sqrt d`. It is enforced: longer rows raise, or are scaled down with ``clip=True``.
    label_mean_share : float, default 0.0
        Public share of every budget, in [0, 1), that pays for a private mean of the labels. Labels
        are then clipped to bounds around it, see `label_bounds`, and predictions are pulled
        towards it, not towards the middle of `y_bounds`. For labels far off the middle, where
        budgets or `lam` are such that the pull is what hurts; it cuts the longer tail.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.rate`` is :math:`\beta`, ``noise_.scale`` one over it, in units of the theorem.
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    n_features_in_ : int
    guarantee_ : PureDP or ApproximateDP
        What each person was promised, under replace-one neighbors: `PureDP` for ``delta=0``. With
        users, what each was promised when all of their rows are replaced, by sorted labels.
    pure_guarantee_ : PureDP
        The pure promise, which always holds too; for ``delta=0`` it is `guarantee_`.
    label_mean_ : float
        With a `label_mean_share`: the released mean of the labels, cut to `y_bounds`.
    label_bounds_ : pair of float
        With a `label_mean_share`: the bounds around it to which labels were clipped. Both are in
        your units.
    eta_ : float
        Rate :math:`\eta` of the small second noise, on the output; it does not depend on the data.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y, epsilon = rng.random((500, 2)), rng.random(500), np.repeat([0.1, 1.0], [100, 400])
    >>> model = ObjectivePerturbation(lam=0.5).fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.noise_.rate, 1)
    ((2,), 71.8)
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
        huber_threshold: float = 1.0,
        row_norm: float | None = None,
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
        self.huber_threshold = huber_threshold
        self.row_norm = row_norm
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
            huber_threshold=check.scale,
            row_norm=check.optional(check.scale),
            label_mean_share=partial(check.delta, zero=True),
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
            One row a person, inside the bounds; with `users` any number of rows of each.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        users : array_like, shape (n,), optional
            Who owns each row; None makes every row a person of its own. Refused with a `delta`.
        epsilon : float, array_like, shape (n,), or mapping, optional
            Budgets in nats; whoever has 0 takes no part. None is the constructor's.
            ``epsilon.min()`` is the baseline in which all live on the smallest budget, and
            ``threshold_budgets(epsilon)`` the best one with a single privacy level. With `users`
            the same on all rows of a user, or by user: a mapping, or a Series with that index.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend, or leaves out, as if their budget were 0, whoever would.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y, users)
        self.check_settings()
        self.refuse_settings_of(users)
        check_account(account)
        rng = generator_from(self.random_state)
        with all_or_nothing(self):
            records = read_user_records(self, X, y, epsilon_as_passed, users)
            domain = self.domain(records.columns)
            promise = partial(self.guarantee, neighbors=records.neighbors)
            budgets = affordable_budgets(account, records.budgets(epsilon), promise, people=records)
            budgets = self.drop_costly_budgets(budgets, domain.d)
            of_fit = self.budgets_of_fit(budgets[budgets > 0])
            split = self.split_budgets(of_fit, domain.d, _rank(users, domain.d))
            guarantee = promise(budgets)
            pure = self.pure_guarantee(budgets, split, neighbors=records.neighbors)

            people = records.participants(domain, budgets)
            if self.label_mean_share == 0:
                law = self.law(people, split)
                minimizer = release(law, guarantee, account, rng, people=records, pure=pure)
            else:  # the mean of the labels first, then a fit to labels between bounds around it
                joint = self.law_around_mean(people, split)
                both = release(joint, guarantee, account, rng, people=records, pure=pure)
                labels = Labels(y_bounds=self.y_bounds, clip=self.clip)
                around = label_bounds(labels.to_user_units(both[0]), self.y_bounds)
                self.label_mean_, self.label_bounds_ = around.center, around.pair
                minimizer, domain = both[1:], replace(domain, y_bounds=around.pair)
            # no solver is exact: the small noise hides by how much this one was off
            beta = self.noise_rate(split, domain.d)
            eta = self.output_noise_rate(smallest(of_fit), self.gradient_norm(beta, domain.d))
            theta = minimizer + sample_l2_laplace(domain.d, eta, rng=rng)

            self.coef_, self.intercept_ = domain.to_user_units(theta)
            self.guarantee_, self.pure_guarantee_ = guarantee, pure
            self.noise_ = PublicNoise(rate=beta, scale=1 / beta)
            self.eta_ = eta
        return self

    def law(self, people: Participants | UserParticipants, split: BudgetSplit) -> ObjectiveLaw:
        """Return the exact distribution of the minimizer on the domain: the theorem."""
        beta = self.noise_rate(split, people.d)
        return ObjectiveLaw(
            X=people.X,
            y=people.y,
            weights=people.row_weights(split.weights),
            lam=self.lam,
            threshold=self.huber_threshold,
            beta=beta,
            gradient_norm=self.gradient_norm(beta, people.d),
        )

    def refuse_settings_of(self, users: Any) -> None:
        """Refuse with users what is proved for one row a person alone."""
        if users is not None and self.label_mean_share > 0:
            raise ValueError(
                "label_mean_share must be 0 with users: the mean is of one label a person; got "
                f"{self.label_mean_share:g}"
            )
        if users is not None and self.delta > 0:
            raise ValueError(
                "delta must be 0 with users: how often the loss of several rows is large is not "
                f"proved, only how large it is; got {self.delta:g}"
            )

    def law_around_mean(
        self, people: Participants | UserParticipants, split: BudgetSplit
    ) -> LabelMeanLaw:
        """Return the exact distribution of a mean of the labels and of the minimizer around it.

        Everybody has one row: `refuse_settings_of` lets no users get here.
        """
        of_fit = self.budgets_of_fit(people.budgets)
        check.rate(self.noise_rate(split, people.d))  # refused before an account is charged

        def law_of_fit(labels: Floats) -> ObjectiveLaw:
            return self.law(Participants(people.X, labels, of_fit), split)

        return LabelMeanLaw(people.y, self.label_mean_share * people.budgets, law_of_fit)

    def budgets_of_fit(self, budgets: Floats) -> Floats:
        """Return what is for the fit, where a share of budgets is for the mean of the labels."""
        return np.asarray((1 - self.label_mean_share) * budgets)

    def guarantee(self, budgets: Floats, neighbors: str = "replace-one") -> PureDP | ApproximateDP:
        """Return the promise to everybody, of their budgets, shape (n,)."""
        if self.delta > 0:
            return ApproximateDP.to_participants(budgets, self.delta, neighbors=neighbors)
        return PureDP(budgets, neighbors=neighbors)

    def pure_guarantee(
        self, budgets: Floats, split: BudgetSplit, neighbors: str = "replace-one"
    ) -> PureDP:
        """Return the pure promise that holds as well; `split` is that of the budgets of the fit."""
        if self.delta == 0:
            return PureDP(budgets, neighbors=neighbors)
        positive = budgets[budgets > 0]
        of_solver = SOLVER_SHARE * self.budgets_of_fit(positive).min()
        spent = split.tilt + split.volume + of_solver + self.label_mean_share * positive
        return PureDP(fill_in_zeros(spent, budgets), neighbors=neighbors)

    def split_budgets(self, budgets: Floats, d: int, rank: int = 1) -> BudgetSplit:
        """Return the `BudgetSplit` of budgets above 0, shape (m,).

        `rank` bounds the directions in which one person curves the objective: 1 for one row.
        """
        available = self.minimizer_budgets(budgets)
        curvature = self.radius(d) ** 2 / self.lam
        total = float(available.sum())
        if not total > curvature:
            large_enough = 1.01 * self.lam * curvature / total
            bound = "d / lam" if self.row_norm is None else "row_norm**2 / lam"
            share = self.label_mean_share
            beside = f" beside label_mean_share = {share}" if share > 0 else ""
            raise ValueError(
                f"epsilon must sum to more than {bound} = {curvature:.4g}{beside}; got a sum of "
                f"{budgets.sum():.4g} for {len(budgets)} people. lam = {large_enough:.3g} would do"
            )
        delta = self.minimizer_delta(budgets)
        return split_budget(available, curvature, delta=delta, d=d, rank=rank)

    def minimizer_budgets(self, budgets: Floats) -> Floats:
        """Return the budgets of the minimizer: without what is set aside for an inexact solver."""
        return np.asarray(budgets - SOLVER_SHARE * budgets.min())

    def minimizer_delta(self, budgets: Floats) -> float:
        """Return the delta of the minimizer: an inexact solver costs a factor, half of its loss."""
        return float(self.delta * np.exp(-SOLVER_SHARE * budgets.min() / 2))

    def noise_rate(self, split: BudgetSplit, d: int) -> float:
        """Return the rate beta of the tilt: a function of public numbers alone."""
        return check.number(split.rate / (4 * self.huber_threshold * self.radius(d)), "eta")

    def radius(self, d: int) -> float:
        """Return the bound R on the norm of a row on the domain."""
        return check.radius(d, self.row_norm)

    def gradient_norm(self, beta: float, d: int) -> float:
        """Return the norm of the computed gradient that a solver can reach despite rounding."""
        radius = self.radius(d)
        longest_tilt = (d + 8 * np.sqrt(d) + 40) / beta  # but for one in 10^17
        scale = longest_tilt + 2 * radius * (1 + self.huber_threshold)
        return float(32 * ULP * (1 + radius**2 / self.lam) * scale)

    def output_noise_rate(self, smallest_budget: float, gradient_norm: float) -> float:
        """Return the rate eta of the small noise that hides how far the solver is off."""
        return solver_noise_rate(smallest_budget, gradient_norm, self.lam)

    def drop_costly_budgets(self, budgets: Floats, d: int) -> Floats:
        """Return the budgets, with 0 for those so small that charging the solver to them would make
        the noise for all others over a percent larger."""

        def noise(budgets: Floats) -> float:
            of_tilt, of_output = self.prediction_noise(budgets, d)
            return float(np.hypot(of_tilt, of_output))

        of_fit = self.budgets_of_fit(budgets)
        noise_of_tilt, _ = self.prediction_noise(of_fit[of_fit > 0], d)
        of_fit = drop_budgets_costly_for_others(of_fit, noise, noise_of_tilt)
        return np.where(of_fit > 0, budgets, 0.0)

    def prediction_noise(self, budgets: Floats, d: int) -> tuple[float, float]:
        """Return the sizes of the tilt's and of the output's noise in a prediction.

        Both but for one common factor, and for rows spread uniformly over the domain; infinity
        where there is no noise rate.
        """
        radius = self.radius(d)
        # second moments of rows uniform on the cube: 1/12 on the diagonal and 1/4 everywhere,
        # so d - 1 eigenvalues are 1/12 and that of the mean direction is 1/12 + d/4
        eigenvalues = np.append(np.full(d - 1, 1 / 12), 1 / 12 + d / 4)
        # the mean of |x|^2 is d/3, and at most radius^2
        moments = eigenvalues * min(1, 3 * radius**2 / d)
        rate = float(self.minimizer_budgets(budgets).sum()) - radius**2 / self.lam
        if not rate > 0:
            return np.inf, np.inf
        beta = rate / (4 * self.huber_threshold * radius)
        eta = self.output_noise_rate(smallest(budgets), self.gradient_norm(beta, d))
        if not eta > 0:
            return np.inf, np.inf
        tilt = np.sqrt(np.sum(moments / (moments + self.lam) ** 2)) / (2 * beta)
        return float(tilt), float(np.sqrt(np.sum(moments)) / eta)

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

    def output_law(
        self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None
    ) -> ObjectiveLaw | LabelMeanLaw:
        """Exact law of the minimizer on the domain, from which `fit` draws, before the small noise
        is added. NOT private: for audits.

        An `ObjectiveLaw`, whose center is the minimizer without the tilt; with `fit_intercept` the
        constant feature comes last. With a `label_mean_share` above 0, a `LabelMeanLaw`.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y, users)
        self.check_settings()
        self.refuse_settings_of(users)
        records = user_records_for_audit(self, X, y, epsilon_as_passed, users)
        domain = self.domain(records.columns)
        budgets = self.drop_costly_budgets(records.budgets(epsilon), domain.d)
        people = records.participants(domain, budgets)
        of_fit = self.budgets_of_fit(people.budgets)
        split = self.split_budgets(of_fit, domain.d, _rank(users, domain.d))
        if self.label_mean_share == 0:
            return self.law(people, split)
        return self.law_around_mean(people, split)

    def sums(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> None:
        """Refuse: sums do not suffice for this mechanism."""
        refuse_mechanism(self)


def _rank(users: Any, d: int) -> int:
    """Return in how many directions a person may curve the objective.

    It is d for users, whatever the number of their rows, as a neighbor may have more of them.
    """
    return 1 if users is None else d
