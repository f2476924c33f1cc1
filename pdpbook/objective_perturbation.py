"""Regression with a privacy budget for every person, by noise inside the objective.

A random linear term tilts the objective before it is minimized, so the noise is smaller in
directions in which the data curve the objective. `personalized` has noise on the minimizer itself.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property, lru_cache, partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import interpolate, optimize

from pdpbook import Floats, check
from pdpbook.check import ULP
from pdpbook.domains import Cube
from pdpbook.guarantees import ApproximateDP, BudgetAccount, PureDP
from pdpbook.linear import LinearRegressor
from pdpbook.noise import L2Laplace, l2_laplace_profile, sample_l2_laplace
from pdpbook.noise.laws import PublicNoise, Size, check_points
from pdpbook.noise.profiles import bisect, largest_true, places
from pdpbook.participants import (
    Participants,
    drop_budgets_costly_for_others,
    fill_in_zeros,
    read_budgets,
    read_records,
    records_for_audit,
    shares,
    smallest,
)
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
)
from pdpbook.ridge import huber_ridge
from pdpbook.sensitivity import solver_excess
from pdpbook.sums import refuse_mechanism

__all__ = ["BudgetSplit", "ObjectiveLaw", "ObjectivePerturbation", "split_budget"]


@dataclass(frozen=True)
class BudgetSplit:
    """Weight of each person, and the two losses that spend their budget; see `split_budget`."""

    weights: Floats  #: shape (n,), they sum to 1
    tilt: Floats  #: shape (n,), largest loss through the tilt, ``rate * weights``
    volume: Floats  #: shape (n,), largest loss through the change of volume
    rate: float  #: largest loss through the tilt per unit weight, 4 beta c R


def split_budget(
    epsilon: ArrayLike, curvature: float, *, delta: float = 0.0, d: int | None = None
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

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats
    curvature : float, above 0
    delta : float, in [0, 1), default 0.0
    d : int, optional
        Dimension of the tilt; needed with a `delta` above 0.

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
    total = float(budgets.sum())
    if not total > kappa:
        raise ValueError(f"epsilon must sum to more than the curvature {kappa:.3g}; got {total:g}")
    if delta == 0:
        weights = _weights(budgets, kappa, lambda remaining: remaining)
        volume = np.log1p(kappa * weights)
        rate = float(np.min((budgets - volume) / weights))
        return BudgetSplit(weights, rate * weights, volume, rate)
    if d is None:
        raise ValueError("d must be given with a delta above 0; got None")
    return _with_delta(budgets, kappa, delta, check.count(d, "d"))


def _weights(budgets: Floats, kappa: float, largest_tilt: Callable[[Floats], Any]) -> Floats:
    """Solve ``rate * w = largest_tilt(budgets - log1p(kappa * w))`` for weights w of sum 1.

    `largest_tilt` is the loss through the tilt that a budget beside the volume allows. Returns the
    weights alone: callers take the rate that these allow, so rounding here breaks no promise.
    """
    with np.errstate(over="ignore"):
        weights_without_tilt = np.expm1(budgets) / kappa  # the volume takes the whole budget
    tilts_without_volume = largest_tilt(budgets)

    def solve(rate: float) -> Floats:
        def is_affordable(w: Floats) -> Any:
            return rate * w <= largest_tilt(budgets - np.log1p(kappa * w))

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


SOLVER_SHARE = 1e-3  # of the smallest budget, for a minimizer that is not exact


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
        What each person was promised, under replace-one neighbors: `PureDP` for ``delta=0``.
    pure_guarantee_ : PureDP
        The pure promise, which always holds too; for ``delta=0`` it is `guarantee_`.
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
        )

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release private coefficients, and return the estimator.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person, inside the bounds.
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
            split = self.split_budgets(budgets[budgets > 0], domain.d)
            guarantee, pure = self.guarantee(budgets), self.pure_guarantee(budgets, split)

            law = self.law(records.participants(domain, budgets), split)
            eta = self.output_noise_rate(smallest(budgets), law.gradient_norm)
            minimizer = release(law, guarantee, account, rng, people=records, pure=pure)
            # no solver is exact: the small noise hides by how much this one was off
            theta = minimizer + sample_l2_laplace(domain.d, eta, rng=rng)

            self.coef_, self.intercept_ = domain.to_user_units(theta)
            self.guarantee_, self.pure_guarantee_ = guarantee, pure
            self.noise_ = PublicNoise(rate=float(law.beta), scale=1 / float(law.beta))
            self.eta_ = eta
        return self

    def law(self, people: Participants, split: BudgetSplit) -> ObjectiveLaw:
        """Return the exact distribution of the minimizer on the domain: the theorem."""
        beta = self.noise_rate(split, people.d)
        return ObjectiveLaw(
            X=people.X,
            y=people.y,
            weights=split.weights,
            lam=self.lam,
            threshold=self.huber_threshold,
            beta=beta,
            gradient_norm=self.gradient_norm(beta, people.d),
        )

    def guarantee(self, budgets: Floats) -> PureDP | ApproximateDP:
        """Return the promise to everybody, of their budgets, shape (n,)."""
        if self.delta > 0:
            return ApproximateDP.to_participants(budgets, self.delta, neighbors="replace-one")
        return PureDP(budgets, neighbors="replace-one")

    def pure_guarantee(self, budgets: Floats, split: BudgetSplit) -> PureDP:
        """Return the pure promise that holds as well, for budgets that are split so."""
        if self.delta == 0:
            return PureDP(budgets, neighbors="replace-one")
        spent = split.tilt + split.volume + SOLVER_SHARE * smallest(budgets)
        return PureDP(fill_in_zeros(spent, budgets), neighbors="replace-one")

    def split_budgets(self, budgets: Floats, d: int) -> BudgetSplit:
        """Return the `BudgetSplit` of budgets above 0, shape (m,)."""
        available = self.minimizer_budgets(budgets)
        curvature = self.radius(d) ** 2 / self.lam
        total = float(available.sum())
        if not total > curvature:
            large_enough = 1.01 * self.lam * curvature / total
            bound = "d / lam" if self.row_norm is None else "row_norm**2 / lam"
            raise ValueError(
                f"epsilon must sum to more than {bound} = {curvature:.4g}; got a sum of "
                f"{budgets.sum():.4g} for {len(budgets)} people. lam = {large_enough:.3g} would do"
            )
        return split_budget(available, curvature, delta=self.minimizer_delta(budgets), d=d)

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
        true_norm = 2 * gradient_norm  # as much again for the rounding of the gradient itself
        return SOLVER_SHARE * smallest_budget / solver_excess(true_norm, self.lam)

    def drop_costly_budgets(self, budgets: Floats, d: int) -> Floats:
        """Return the budgets, with 0 for those so small that charging the solver to them would make
        the noise for all others over a percent larger."""

        def noise(budgets: Floats) -> float:
            of_tilt, of_output = self.prediction_noise(budgets, d)
            return float(np.hypot(of_tilt, of_output))

        noise_of_tilt, _ = self.prediction_noise(budgets[budgets > 0], d)
        return drop_budgets_costly_for_others(budgets, noise, noise_of_tilt)

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

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> ObjectiveLaw:
        """Exact law of the minimizer on the domain, from which `fit` draws, before the small noise
        is added. NOT private: for audits.

        Its center is the minimizer without the tilt; with `fit_intercept` the constant feature
        comes last.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        records = records_for_audit(self, X, y, epsilon_as_passed)
        domain = self.domain(records.columns)
        budgets = self.drop_costly_budgets(records.budgets(epsilon), domain.d)
        split = self.split_budgets(budgets[budgets > 0], domain.d)
        return self.law(records.participants(domain, budgets), split)

    def sums(self, X: Any, y: Any, *, epsilon: Any = None) -> None:
        """Refuse: sums do not suffice for this mechanism."""
        refuse_mechanism(self)
