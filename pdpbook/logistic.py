"""Two classes with a privacy budget for every person, by noise inside the logistic objective.

A random linear term tilts the logistic loss before it is minimized. Lines are in
`objective_perturbation`; two classes of users with several rows in `user_level`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import optimize, special

from pdpbook import Floats, check
from pdpbook.check import ULP
from pdpbook.domains import CenteredCube
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.linear import LinearClassifier
from pdpbook.noise import L2Laplace, sample_l2_laplace
from pdpbook.noise.laws import PublicNoise, Size, check_points
from pdpbook.noise.profiles import bisect, places
from pdpbook.participants import (
    Participants,
    drop_budgets_costly_for_others,
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
from pdpbook.sensitivity import SOLVER_SHARE, solver_noise_rate
from pdpbook.sums import refuse_mechanism
from pdpbook.tables import signs_of_labels

__all__ = [
    "LogisticLaw",
    "LogisticObjectivePerturbation",
    "LogisticSplit",
    "logistic_loss_bound",
    "split_logistic_budget",
]


def logistic_loss_bound(weights: ArrayLike, rate: float, curvature: float) -> Any:
    r"""Largest privacy loss of a person in a tilted logistic fit, over all data.

    With w a weight, a the `rate` and :math:`\kappa` the `curvature` it is

    .. math:: \max_{0\le p\le 1}\ \tfrac{a w}{2}(1+p) + \ln\bigl(1+\kappa w\,p(1-p)\bigr) ,

    where p is the slope of the loss of the person's record: 1 where a fit is sure of the wrong
    class. The first term is the tilt, the second the volume. From :math:`a\ge2\kappa` on it is
    :math:`aw`: what the volume adds at a smaller p is less than what the tilt lacks there.
    Statement ``thm-logistic-objective`` (ours), page *personalized/two_classes*.

    Parameters
    ----------
    weights : array_like, any shape
        At least 0.
    rate : float
        :math:`a=2\beta R`, twice the rate of the tilt times the bound on the norm of a row.
    curvature : float
        :math:`\kappa=R^2/(2\lambda)`.

    Returns
    -------
    float or ndarray, shape of `weights`
        In nats.

    Examples
    --------
    >>> logistic_loss_bound([0.5, 0.5], 2.0, 1.0), logistic_loss_bound([0.5], 1.0, 1.0).round(4)
    (array([1., 1.]), array([0.5273]))
    """
    w = np.asarray(check.nonnegative(weights, "weights"))
    a = check.number(rate, "rate")
    kappa = check.number(curvature, "curvature")
    # the derivative in p vanishes where u p^2 + (2u/c - u) p = 1 + u/c, c = aw/2 and u = kappa w
    c = a * w / 2
    p = np.minimum(_steepest_slope(c, a / (2 * kappa)), 1.0)
    return np.asarray(c * (1 + p) + np.log1p(kappa * w * p * (1 - p)))[()]


def _steepest_slope(c: Floats, r: float) -> Floats:
    """Return the root p of ``c p^2 + (2 - c) p = 1 + r``, above 0."""
    root = np.sqrt((2 - c) ** 2 + 4 * c * (1 + r))
    with np.errstate(divide="ignore", invalid="ignore"):
        from_above = (c - 2 + root) / (2 * c)  # where c is large this form loses no digits
    from_below = 2 * (1 + r) / (2 - np.minimum(c, 2.0) + root)
    return np.where(c > 2, from_above, from_below)


@dataclass(frozen=True)
class LogisticSplit:
    """Weight of each person, and their largest privacy loss; see `split_logistic_budget`."""

    weights: Floats  #: shape (n,), they sum to 1
    loss: Floats  #: shape (n,), `logistic_loss_bound` at these weights and this rate
    rate: float  #: :math:`2\\beta R`, the loss through the tilt per unit weight


def split_logistic_budget(epsilon: ArrayLike, curvature: float) -> LogisticSplit:
    r"""Weights and noise rate with which a tilted logistic fit spends every budget.

    With `curvature` :math:`\kappa=R^2/(2\lambda)` they solve, with the bound B of
    `logistic_loss_bound`,

    .. math:: B(w_i;\ a) = \varepsilon_i, \qquad \sum_i w_i = 1 .

    Where the budgets sum to :math:`2\kappa=R^2/\lambda` or more, weights are in proportion to the
    budgets, and the rate is their sum: the change of volume costs nothing. We refuse sums up to
    :math:`\kappa/4`, where the tilt would get next to nothing. The rate keeps every promise despite
    rounding. Statement ``thm-logistic-objective`` (ours), page *personalized/two_classes*.

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats
    curvature : float, above 0

    Examples
    --------
    >>> split = split_logistic_budget([1.0, 1.0, 2.0, 4.0], 4.0)
    >>> split.weights, split.rate
    (array([0.125, 0.125, 0.25 , 0.5  ]), 8.0)
    >>> round(split_logistic_budget([1.0, 1.0, 2.0, 4.0], 8.0).rate, 2)
    7.69
    """
    budgets = check.positive(epsilon, "epsilon")
    if np.ndim(budgets) != 1:
        raise ValueError("epsilon must have shape (n,), one budget a person; got a single number")
    kappa = check.number(curvature, "curvature")
    total = float(budgets.sum())
    if not total > kappa / 4:
        raise ValueError(
            f"epsilon must sum to more than a fourth of the curvature, {kappa / 4:.3g}; "
            f"got {total:g}"
        )
    weights = shares(budgets) if total >= 2 * kappa else _weights(budgets, kappa)

    def is_affordable(rate: Any) -> bool:
        return bool(np.all(logistic_loss_bound(weights, rate, kappa) <= budgets))

    # the weights were rounded: the rate is the largest that these allow
    largest = float(np.min(budgets / weights))
    rate = float(bisect(is_affordable, true_at=_least_rate(total, kappa) / 2, false_at=2 * largest))
    return LogisticSplit(weights, logistic_loss_bound(weights, rate, kappa), rate)


def _least_rate(total: float, kappa: float) -> float:
    """Return a rate that weights in proportion to budgets of this sum can afford.

    With ln(1 + z) <= z the bound is at most w (3a/4 + kappa/4 + a^2/(16 kappa)) for a below
    2 kappa, and this is where the bracket equals the sum.
    """
    if total >= 2 * kappa:
        return total
    # 4 sqrt(kappa (2 kappa + total)) - 6 kappa, without a difference of near numbers
    root = 4 * np.sqrt(kappa * (2 * kappa + total))
    return float(16 * kappa * (total - kappa / 4) / (root + 6 * kappa))


def _weights(budgets: Floats, kappa: float) -> Floats:
    """Return weights of sum 1 at which one rate spends every budget, where the volume costs."""

    def solve(rate: float) -> Floats:
        def is_affordable(w: Floats) -> Any:
            return logistic_loss_bound(w, rate, kappa) <= budgets

        without_volume = budgets / rate
        return bisect(is_affordable, true_at=np.zeros_like(budgets), false_at=2 * without_volume)

    def excess(rate: float) -> float:
        return float(solve(rate).sum() - 1)

    # at the lower rate shares of the budgets are affordable, so the weights sum to at least 1; at
    # the upper one the tilt alone makes them sum to at most 1
    total = float(budgets.sum())
    low, high = _least_rate(total, kappa), total
    if excess(low) <= 0 or low >= high:  # rounding
        return shares(budgets)
    rate = high if excess(high) >= 0 else optimize.brentq(excess, low, high, rtol=1e-15)
    return shares(solve(float(rate)))


BLOCK = 4_000_000  # numbers in the largest temporary array
NEWTON_STEPS = 200  # that a solver may take before it gives up
HALVINGS = 40  # of the interval in which a step ends


@dataclass(frozen=True, eq=False)
class LogisticLaw:
    r"""Law of the minimizer of logistic losses, a penalty and a random linear term.

    .. math:: \hat\theta = \arg\min_\theta\ \sum_i w_i\ln(1+e^{-y_ix_i^\top\theta})
              + \lambda\|\theta\|^2 + b^\top\theta,
              \qquad b\sim\text{density}\propto e^{-\beta\|b\|}.

    Every point is the minimizer of exactly one tilt,
    :math:`b(\theta)=\sum_i w_ip_iy_ix_i-2\lambda\theta` with
    :math:`p_i=1/(1+e^{y_ix_i^\top\theta})`, so

    .. math:: p(\theta) = \nu_\beta(b(\theta))\ \det\Bigl(2\lambda I
              + \sum_i w_ip_i(1-p_i)\,x_ix_i^\top\Bigr).

    Not private: it holds the data. Made by `LogisticObjectivePerturbation.output_law`. Statement
    ``thm-logistic-objective`` (ours), page *personalized/two_classes*.
    """

    X: Floats  #: rows on the domain, shape (n, d)
    y: Floats  #: 1 for the second class and -1 for the first, shape (n,)
    weights: Floats  #: shape (n,), they sum to 1
    lam: float  #: penalty, above 0, against the weighted mean of losses
    beta: float  #: rate of the tilt
    gradient_norm: float  #: what the solver must reach when it samples

    @cached_property
    def center(self) -> Floats:
        """The minimizer without the random term, shape (d,)."""
        return self.solve(np.zeros(self.X.shape[1]))

    def tilt_at(self, points: ArrayLike) -> Floats:
        """Return the tilt b that has its minimizer at each of `points`, shape (..., d)."""
        theta = check_points(points, self.X.shape[1])
        pull = (self.weights * self.y * self._slope(theta)) @ self.X
        return np.asarray(pull - 2 * self.lam * theta)

    def log_volume(self, points: ArrayLike) -> Floats:
        """Log-determinant of the tilt's Jacobian at `points` of shape (..., d), shape (...)."""
        d = self.X.shape[1]
        theta = check_points(points, d)
        value = np.empty(theta.shape[:-1])
        for at in self._blocks(value):
            hessian = self._hessian(theta.reshape(-1, d)[at])
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
        """Return the minimizer for each linear term in `tilt`, shape (..., d).

        The gradient there is no longer than `gradient_norm`, or RuntimeError: then nothing may be
        released.
        """
        b = check_points(tilt, self.X.shape[1])
        flat = b.reshape(-1, b.shape[-1])
        theta = np.empty_like(flat)
        for at in self._blocks(theta[:, 0]):
            theta[at] = self._newton(flat[at])
        return theta.reshape(b.shape)

    def _newton(self, tilt: Floats) -> Floats:
        """Newton steps for many tilts at once, of a length that lowers each objective."""
        theta = np.zeros_like(tilt)
        unsolved = np.arange(len(tilt))
        for _ in range(NEWTON_STEPS):
            gradient = tilt[unsolved] - self.tilt_at(theta[unsolved])
            # NaN counts as not yet
            not_yet = ~(np.linalg.norm(gradient, axis=1) <= self.gradient_norm)
            unsolved, gradient = unsolved[not_yet], gradient[not_yet]
            if not len(unsolved):
                return theta
            hessian = self._hessian(theta[unsolved])
            step = -np.linalg.solve(hessian, gradient[:, :, None])[:, :, 0]
            length = self._lengths(theta[unsolved], step, tilt[unsolved], gradient)
            theta[unsolved] += length[:, None] * step
        raise RuntimeError(
            f"the minimizer was not found to a gradient norm of {self.gradient_norm:.3g}; nothing "
            "was released"
        )

    def _lengths(self, theta: Floats, step: Floats, tilt: Floats, gradient: Floats) -> Floats:
        """Return how far to go along each step: 1 where that surely lowers, else to the lowest.

        Along a step the third derivative of the objective is at most c times the second, c the
        largest ``|x_i.step|``. So a whole Newton step of decrement D lowers the objective by
        ``D^2 (1 - (e^c - 1 - c) / c^2)`` or more, which is above 0 for c up to 1.
        """
        length = np.ones(len(step))
        margins = self.y * (theta @ self.X.T)
        changes = self.y * (step @ self.X.T)
        long = np.abs(changes).max(axis=1) > 0.25
        if not long.any():
            return length
        m, change = margins[long], changes[long]
        s, bend = step[long], 2 * self.lam * np.sum(step[long] ** 2, axis=1)
        linear = np.sum(s * (tilt[long] + 2 * self.lam * theta[long]), axis=1)

        def is_falling(t: Floats) -> Any:
            pull = special.expit(-m - t[:, None] * change) * change
            return linear + bend * t - pull @ self.weights <= 0

        # the slope rises from the start by the penalty's bend or faster
        low, high = np.zeros(len(s)), -np.sum(s * gradient[long], axis=1) / bend
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            falls = is_falling(middle)
            low, high = np.where(falls, middle, low), np.where(falls, high, middle)
        length[long] = low
        return length

    def _slope(self, theta: Floats) -> Floats:
        """Return p_i at points of shape (..., d): shape (..., n)."""
        return np.asarray(special.expit(-self.y * (theta @ self.X.T)))

    def _hessian(self, theta: Floats) -> Floats:
        """Return the Hessian of the objective at points of shape (k, d): shape (k, d, d)."""
        p = self._slope(theta)
        curvature = self.weights * p * special.expit(self.y * (theta @ self.X.T))
        scaled = curvature[:, :, None] * self.X
        return np.asarray(self.X.T @ scaled + 2 * self.lam * np.eye(self.X.shape[1]))

    def _blocks(self, points: Any) -> Iterator[NDArray[np.intp]]:
        """Yield the numbers of points that are handled at once."""
        return places(np.ones(np.shape(points)), max(1, BLOCK // self.X.size))


class LogisticObjectivePerturbation(LinearClassifier):
    r"""Logistic regression that keeps the budget of every person by noise inside the objective.

    On the domain :math:`x_i\in[-1,1]^d`, :math:`\|x_i\|\le R`, with :math:`y_i=1` for the second of
    two public classes and :math:`-1` for the first, it releases

    .. math:: \hat\theta = \arg\min_\theta\ \sum_i w_i\ln(1+e^{-y_ix_i^\top\theta})
              + \lambda\|\theta\|^2 + b^\top\theta,
              \qquad b\sim\text{density}\propto e^{-\beta\|b\|},

    with :math:`\beta` in ``noise_.rate``. Replacing record i changes the tilt b that leads to an
    output by at most :math:`w_iR(p+p')`, where p and p' are the slopes of both losses, and the
    volume around it by at most :math:`1+w_ip(1-p)R^2/(2\lambda)`. So

    .. math:: w_i=\varepsilon_i/\textstyle\sum_j\varepsilon_j, \qquad
              \beta=\textstyle\sum_j\varepsilon_j/(2R)

    keeps and spends every budget if the budgets sum to :math:`R^2/\lambda` or more, without a word
    about the volume: where it changes, the loss is not at its steepest. Smaller sums, down to
    :math:`R^2/(8\lambda)`, pay for it (`split_logistic_budget`). Statement
    ``thm-logistic-objective`` (ours), page *personalized/two_classes*.

    How far an inexact minimizer is off depends on the data, so a thousandth of the smallest budget
    is set aside: the solver stops at a gradient norm g that the public settings fix, and noise of
    rate :math:`\eta=\lambda\,10^{-3}\min_i\varepsilon_i/g` is added to the output
    (``prop-solver-tolerance``). A solver that does not get there raises and releases nothing.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of losses, above 0; scikit-learn's ``1 / (2 n C)``. It
        is part of the promise: choosing it by looking at the data spends privacy of its own.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody or one each; `fit` can be given others. Public.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.
    classes : pair of labels, default None
        The two public labels of the logistic loss, in any order: numbers, words or booleans. They
        are never read from the data, so None is refused. Data may hold one of them alone.
    clip : bool, default False
        Clip data to the bounds instead of raising. The middle of its bounds stands for NaN. An
        error is seen by whoever runs the fit; where that is not the holder of the data, clip. For
        columns with missing values there is `PublicSchema`. A label outside of `classes` raises all
        the same.
    bounds : array_like, shape (2,) or (d, 2), default (0.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column. They are
        mapped to [-1, 1] and never read from the data.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, is penalized and noised.
    row_norm : float, optional
        Public bound on the norm of a row on the domain, R, constant feature included; by default
        :math:`\sqrt d`. It is enforced: longer rows raise, or are scaled down with ``clip=True``.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.rate`` is :math:`\beta`, ``noise_.scale`` one over it, in units of the theorem.
    coef_ : ndarray, shape (d,)
        Released coefficients of the log-odds of ``classes_[1]``, in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    classes_ : ndarray, shape (2,)
        The two classes, the smaller first, as scikit-learn has them.
    n_features_in_ : int
    guarantee_ : PureDP
        What each person was promised, under replace-one neighbors.
    eta_ : float
        Rate :math:`\eta` of the small second noise, on the output; it does not depend on the data.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, epsilon = rng.random((500, 2)), np.repeat([0.1, 1.0], [100, 400])
    >>> y = np.where(X[:, 0] > X[:, 1], "yes", "no")
    >>> model = LogisticObjectivePerturbation(lam=0.01, classes=("no", "yes"))
    >>> model = model.fit(X, y, epsilon=epsilon)
    >>> model.predict([[0.9, 0.1]]), round(model.noise_.rate, 1)
    (array(['yes'], dtype='<U3'), 144.9)
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        epsilon: ArrayLike = 1.0,
        random_state: int | np.random.Generator | None = None,
        classes: Any = None,
        clip: bool = False,
        bounds: ArrayLike = (0.0, 1.0),
        fit_intercept: bool = False,
        row_norm: float | None = None,
    ) -> None:
        self.lam = lam
        self.epsilon = epsilon
        self.random_state = random_state
        self.classes = classes
        self.clip = clip
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.row_norm = row_norm

    def check_settings(self) -> None:
        check.settings(
            self,
            lam=check.penalty,
            clip=check.flag,
            bounds=check.pairs,
            fit_intercept=check.flag,
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
            Labels, each one of the two `classes`.
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
        classes = check.classes(self.classes, "classes")
        with all_or_nothing(self):
            records = read_records(self, X, signs_of_labels(y, classes), epsilon_as_passed)
            domain = self.domain(records.columns)
            budgets = affordable_budgets(
                account, records.budgets(epsilon), self.guarantee, people=records
            )
            budgets = self.drop_costly_budgets(budgets, domain.d)
            split = self.split_budgets(budgets[budgets > 0], domain.d)
            guarantee = self.guarantee(budgets)

            law = self.law(records.participants(domain, budgets), split)
            eta = self.output_noise_rate(smallest(budgets), law.gradient_norm)
            minimizer = release(law, guarantee, account, rng, people=records)
            # no solver is exact: the small noise hides by how much this one was off
            theta = minimizer + sample_l2_laplace(domain.d, eta, rng=rng)

            self.coef_, self.intercept_ = domain.to_user_units(theta)
            self.classes_ = np.array(classes)
            self.guarantee_ = guarantee
            self.noise_ = PublicNoise(rate=float(law.beta), scale=1 / float(law.beta))
            self.eta_ = eta
        return self

    def law(self, people: Participants, split: LogisticSplit) -> LogisticLaw:
        """Return the exact distribution of the minimizer on the domain: the theorem."""
        beta = self.noise_rate(split, people.d)
        return LogisticLaw(
            X=people.X,
            y=people.y,
            weights=split.weights,
            lam=self.lam,
            beta=beta,
            gradient_norm=self.gradient_norm(beta, people.d),
        )

    def guarantee(self, budgets: Floats) -> PureDP:
        """Return the promise to everybody, of their budgets, shape (n,)."""
        return PureDP(budgets, neighbors="replace-one")

    def split_budgets(self, budgets: Floats, d: int) -> LogisticSplit:
        """Return the `LogisticSplit` of budgets above 0, shape (m,)."""
        available = self.minimizer_budgets(budgets)
        curvature = self.curvature(d)
        total = float(available.sum())
        if not total > curvature / 4:
            large_enough = 1.01 * self.lam * curvature / 4 / total
            bound = "d / (8 lam)" if self.row_norm is None else "row_norm**2 / (8 lam)"
            raise ValueError(
                f"epsilon must sum to more than {bound} = {curvature / 4:.4g}; got a sum of "
                f"{budgets.sum():.4g} for {len(budgets)} people. lam = {large_enough:.3g} would do"
            )
        return split_logistic_budget(available, curvature)

    def minimizer_budgets(self, budgets: Floats) -> Floats:
        """Return the budgets of the minimizer: without what is set aside for an inexact solver."""
        return np.asarray(budgets - SOLVER_SHARE * budgets.min())

    def noise_rate(self, split: LogisticSplit, d: int) -> float:
        """Return the rate beta of the tilt: a function of public numbers alone."""
        return check.number(split.rate / (2 * self.radius(d)), "eta")

    def curvature(self, d: int) -> float:
        """Return kappa, the largest of a row's squared norm over twice the penalty."""
        return self.radius(d) ** 2 / (2 * self.lam)

    def radius(self, d: int) -> float:
        """Return the bound R on the norm of a row on the domain."""
        return check.radius(d, self.row_norm)

    def gradient_norm(self, beta: float, d: int) -> float:
        """Return the norm of the computed gradient that a solver can reach despite rounding."""
        radius = self.radius(d)
        longest_tilt = (d + 8 * np.sqrt(d) + 40) / beta  # but for one in 10^17
        return float(32 * ULP * (1 + radius**2 / self.lam) * (longest_tilt + 2 * radius))

    def output_noise_rate(self, smallest_budget: float, gradient_norm: float) -> float:
        """Return the rate eta of the small noise that hides how far the solver is off."""
        return solver_noise_rate(smallest_budget, gradient_norm, self.lam)

    def drop_costly_budgets(self, budgets: Floats, d: int) -> Floats:
        """Return the budgets, with 0 for those so small that charging the solver to them would make
        the noise for all others over a percent larger."""

        def noise(budgets: Floats) -> float:
            of_tilt, of_output = self.prediction_noise(budgets, d)
            return float(np.hypot(of_tilt, of_output))

        noise_of_tilt, _ = self.prediction_noise(budgets[budgets > 0], d)
        return drop_budgets_costly_for_others(budgets, noise, noise_of_tilt)

    def prediction_noise(self, budgets: Floats, d: int) -> tuple[float, float]:
        """Return the sizes of the tilt's and of the output's noise in the log-odds.

        Both but for one common factor, and for rows spread uniformly over the domain at log-odds of
        0; infinity where there is no noise rate.
        """
        kappa, radius = self.curvature(d), self.radius(d)
        total = float(self.minimizer_budgets(budgets).sum())
        if not total > kappa / 4:
            return np.inf, np.inf
        beta = _least_rate(total, kappa) / (2 * radius)
        eta = self.output_noise_rate(smallest(budgets), self.gradient_norm(beta, d))
        if not eta > 0:
            return np.inf, np.inf
        moment = min(1 / 3, radius**2 / d)  # of each of d features, uniform on [-1, 1]
        tilt = np.sqrt(d * moment) / (moment / 4 + 2 * self.lam) / beta
        return float(tilt), float(np.sqrt(d * moment) / eta)

    def domain(self, columns: int) -> CenteredCube:
        """Return the domain that the public bounds of so many columns define."""
        return CenteredCube(
            bounds=self.bounds,
            y_bounds=(-1.0, 1.0),
            columns=columns,
            fit_intercept=self.fit_intercept,
            clip=self.clip,
            row_norm=self.row_norm,
        )

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> LogisticLaw:
        """Exact law of the minimizer on the domain, from which `fit` draws, before the small noise
        is added. NOT private: for audits.

        Its center is the minimizer without the tilt; with `fit_intercept` the constant feature
        comes last.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        signs = signs_of_labels(y, check.classes(self.classes, "classes"))
        records = records_for_audit(self, X, signs, epsilon_as_passed)
        domain = self.domain(records.columns)
        budgets = self.drop_costly_budgets(records.budgets(epsilon), domain.d)
        split = self.split_budgets(budgets[budgets > 0], domain.d)
        return self.law(records.participants(domain, budgets), split)

    def sums(self, X: Any, y: Any, *, epsilon: Any = None) -> None:
        """Refuse: sums do not suffice for this mechanism."""
        refuse_mechanism(self)
