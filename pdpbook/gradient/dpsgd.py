"""DP-SGD for linear regression: one promise for everybody, and what it costs each person."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import special
from scipy.special import logsumexp
from scipy.stats import binom

from pdpbook import Floats, check
from pdpbook.domains import CenteredCube
from pdpbook.gradient import accounting
from pdpbook.gradient.accounting import dpsgd_epsilon
from pdpbook.gradient.descent import DescentLaw
from pdpbook.guarantees import ApproximateDP, BudgetAccount, RenyiDP
from pdpbook.linear import LinearRegressor
from pdpbook.noise import gaussian_epsilon
from pdpbook.noise.laws import PublicNoise, check_points, check_size, starts
from pdpbook.participants import (
    Participants,
    Records,
    one_budget,
    read_budgets,
    read_records,
    records_for_audit,
    refuse_different_budgets,
)
from pdpbook.release import all_or_nothing, check_account, generator_from, release
from pdpbook.sums import SumsOfRecords, refuse_mechanism

MOST_ROWS = 12  # of a density: with more, the 2^n batches of one step are too many
BLOCK = 4_000_000  # numbers in the largest temporary array


@dataclass(frozen=True, eq=False)
class DPSGDLaw:
    r"""Law of all iterates of `DPSGDRegression`, one after the other in one vector.

    Given the iterate before, each is a mixture of one Gaussian a batch: :math:`2^n` of them, so
    there is a density for a handful of people only. Not private: it holds the data. Made by
    `DPSGDRegression.output_law`. Statement ``alg-dpsgd``, chapter *pac/dpsgd*.
    """

    X: Floats  #: rows on the domain, shape (n, d)
    y: Floats  #: labels on the domain, shape (n,)
    sample_rate: float  #: probability q with which a person is in a batch
    batch_size: int  #: public divisor b of the noisy sum
    clip_norm: float  #: C, the longest gradient
    learning_rate: float  #: :math:`\gamma`
    steps: int  #: number of steps T
    noise_multiplier: float  #: :math:`\sigma`; noise on a sum deviates by :math:`\sigma C`

    @property
    def center(self) -> Floats:
        """The path without noise whose every batch is everybody, with weight q; (steps * d,)."""
        theta, path = np.zeros(self.X.shape[1]), np.empty((self.steps, self.X.shape[1]))
        for k in range(self.steps):
            pull = self._slopes(theta, self.X, self.y) @ self.X
            theta = theta - self.learning_rate * self.sample_rate * pull / self.batch_size
            path[k] = theta
        return path.ravel()

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density of paths, shape (..., steps * d); returns shape (...). At most 12 people."""
        n, d = self.X.shape
        if n > MOST_ROWS:
            raise ValueError(
                f"X must have at most {MOST_ROWS} rows for a density of 2^n parts; got {n}"
            )
        points = check_points(points, self.steps * d, ", a path each")
        path = points.reshape(-1, self.steps, d)
        before = np.concatenate([np.zeros_like(path[:, :1]), path[:, :-1]], axis=1).reshape(-1, d)
        after = path.reshape(-1, d)
        total, block = np.empty(len(after)), max(1, BLOCK // (2**n * d))
        for k in range(0, len(after), block):
            total[k : k + block] = self._step_logpdf(after[k : k + block], before[k : k + block])
        return np.asarray(total.reshape(*points.shape[:-1], self.steps).sum(axis=-1))[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw paths: shape (steps * d,), or (size, steps * d)."""
        rng, shape = check.rng(rng), check_size(size)
        paths = [self._path(rng) for _ in range(math.prod(shape))]
        return np.reshape(paths, (*shape, self.steps * self.X.shape[1])).astype(float)

    def _path(self, rng: np.random.Generator) -> Floats:
        n, d = self.X.shape
        theta, path = np.zeros(d), np.empty((self.steps, d))
        for k in range(self.steps):
            # a binomial number of people, and then any set of that size: as if by one coin a person
            count = int(rng.binomial(n, self.sample_rate))
            batch = rng.choice(n, count, replace=False, shuffle=False)
            theta = self.step(theta, self.X.take(batch, axis=0), self.y.take(batch), rng=rng)
            path[k] = theta
        return path.ravel()

    def step(self, theta: Floats, X: Floats, y: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw the iterate after `theta`, shape (d,), with the noise of one step.

        X and y, shapes (b, d) and (b,), are the batch on the domain; each gradient is clipped here.
        """
        check.rng(rng)
        pull = self._slopes(theta, X, y) @ X
        noise = self._deviation(len(y)) * rng.standard_normal(X.shape[1])
        return np.asarray(theta - self.learning_rate * (pull / self._divisor(len(y)) + noise))

    def shifts(self, path: ArrayLike) -> Floats:
        """Lengths of clipped gradients in deviations of the noise on their sum, shape (steps, n).

        Those of each person where each step starts; `path` is that of one run, shape (steps * d,).
        """
        start = starts(path, self.steps, self.X.shape[1])
        length = np.abs(self._slopes(start, self.X, self.y)) * np.linalg.norm(self.X, axis=1)
        return np.asarray(length / (self.noise_multiplier * self.clip_norm))

    def _step_logpdf(self, after: Floats, before: Floats) -> Floats:
        """Log-density of each row of `after`, given the same row of `before`."""
        n, d = self.X.shape
        member = (np.arange(2**n)[:, None] >> np.arange(n)) & 1
        count, q = member.sum(axis=1), self.sample_rate
        rate = special.xlogy(count, q) + special.xlog1py(n - count, -q)
        divisor = np.array([self._divisor(int(c)) for c in count])
        scale = self.learning_rate * np.array([self._deviation(int(c)) for c in count])
        slopes = self._slopes(before, self.X, self.y)
        pull = (slopes[:, None, :] * member) @ self.X / divisor[:, None]
        moved = (after - before)[:, None, :] + self.learning_rate * pull
        terms = rate - (moved**2).sum(axis=2) / (2 * scale**2)
        terms = terms - d * np.log(scale * np.sqrt(2 * np.pi))
        return np.asarray(np.logaddexp.reduce(terms, axis=1))

    def _slopes(self, theta: Floats, X: Floats, y: Floats) -> Floats:
        """Factor s of each clipped gradient s * x, at each of `theta`; shape (..., n)."""
        slopes = 2 * (theta @ X.T - y)
        norms = np.sqrt(X**2 @ np.ones(X.shape[1]))  # faster than a sum along short rows
        length = np.abs(slopes) * norms
        return np.asarray(slopes * (self.clip_norm / np.maximum(length, self.clip_norm)))

    def _divisor(self, count: int) -> float:
        """What the sum over a batch of `count` people is divided by: public, whatever the batch."""
        return self.batch_size

    def _deviation(self, count: int) -> float:
        """Standard deviation of the noise on the average, which is in the sum before dividing."""
        return self.noise_multiplier * self.clip_norm / self.batch_size


class DPSGDRegression(LinearRegressor):
    r"""Linear least squares by noisy gradients of random batches, one promise for everybody.

    On the domain :math:`x_i\in[-1,1]^d`, :math:`|y_i|\le1` from :math:`\theta_0=0` it takes T steps

    .. math:: &\theta_{k+1} = \theta_k - \frac{\gamma}{b}\Bigl[\sum_{i\in S_k} g_i(\theta_k)
              \min\Bigl(1, \frac{C}{\|g_i(\theta_k)\|}\Bigr) + N(0, \sigma^2C^2 I)\Bigr],
              \\ &g_i(\theta) = 2(x_i^\top\theta - y_i)\,x_i ,

    on batches in which each person is with probability :math:`q=b/n`, independently, and releases
    the last iterate. The noise is inside the average and b is the expected size of a batch: the
    realized size depends on who is in the data. Statements ``alg-dpsgd``, ``prop-dpsgd`` (Yang
    2024, Algorithm 1), chapter *pac/dpsgd*.

    Parameters
    ----------
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
    delta : float, default 1e-5
        Failure probability in (0, 1).
    bounds : array_like, shape (2,) or (d, 2), default (-1.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column. They are
        mapped to [-1, 1] and never read from the data.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, is clipped and noised.
    success_rate : float, optional
        Ceiling on how often one guesses right which of two neighbors (see `n_public`) was used, at
        even odds and independent records, in (0.5, 1); in place of `epsilon` and `delta`.
    learning_rate : float, default 0.1
        :math:`\gamma`, above 0. On the domain ``1 / d`` is safe whatever the data.
    batch_size : int, default 16
        Expected size b of a batch, at most the number of people.
    epochs : int, default 10
        The number of steps is ``epochs * ceil(n / b)``; nobody is seen exactly once an epoch.
    clip_norm : float, default 1.0
        Length to which the gradient of each person is clipped, alone: C.
    noise_multiplier : float, optional
        :math:`\sigma`, above 0. By default the smallest that keeps the budget; if given,
        `guarantee_` says which epsilon it keeps with `delta`.
    accountant : {"pld", "rdp"}, default "pld"
        As in `calibrate_noise_multiplier`. A `success_rate` always goes through "pld".
    n_public : int, optional
        Number n that sets q and T, chosen without looking at who is in the data: the promise is
        about adding or removing a person. By default the number of those who take part, which q and
        T tell: the promise is only that of a gradient 0 in place of a person's.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.scale`` is :math:`\sigma C`, the standard deviation of the noise on each
        coordinate of a sum of gradients.
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    n_features_in_ : int
    guarantee_ : ApproximateDP
        What everybody was promised for all iterates together, add-remove if `n_public` is given,
        else "zero-out"; with `success_rate` at epsilon 0, where delta bounds the total variation.
    noise_multiplier_, sample_rate_ : float
        :math:`\sigma` and q, data-independent but for the number of people. Accountants read this
        :math:`\sigma`, whatever C is.
    steps_ : int
        T, likewise.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.uniform(-1, 1, (500, 2)), rng.uniform(-1, 1, 500)
    >>> model = DPSGDRegression(epsilon=2.0, batch_size=50).fit(X, y)
    >>> model.coef_.shape, model.steps_, round(model.noise_multiplier_, 2)
    ((2,), 100, 2.25)
    """

    def __init__(
        self,
        *,
        epsilon: ArrayLike = 1.0,
        random_state: int | np.random.Generator | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        delta: float = 1e-5,
        bounds: ArrayLike = (-1.0, 1.0),
        fit_intercept: bool = False,
        success_rate: float | None = None,
        learning_rate: float = 0.1,
        batch_size: int = 16,
        epochs: int = 10,
        clip_norm: float = 1.0,
        noise_multiplier: float | None = None,
        accountant: str = "pld",
        n_public: int | None = None,
    ) -> None:
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.delta = delta
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.success_rate = success_rate
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.clip_norm = clip_norm
        self.noise_multiplier = noise_multiplier
        self.accountant = accountant
        self.n_public = n_public

    def check_settings(self) -> None:
        check.settings(
            self,
            y_bounds=check.bounds,
            clip=check.flag,
            delta=check.delta,
            bounds=check.pairs,
            fit_intercept=check.flag,
            success_rate=check.optional(check.number),
            learning_rate=check.scale,
            batch_size=check.count,
            epochs=check.count,
            clip_norm=check.scale,
            noise_multiplier=check.optional(check.scale),
            accountant=check.one_of(*accounting.ACCOUNTANTS),
            n_public=check.optional(check.count),
        )
        if self.success_rate is not None:
            if self.noise_multiplier is not None:
                raise ValueError("success_rate and noise_multiplier must not both be given")
            accounting.calibrate_to_success_rate(self.success_rate, 1.0, 1)  # refuses bad values

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
            Budgets in nats: one public number for all, or that number and 0 for whoever takes no
            part. None is the constructor's. Refused with `success_rate` or `noise_multiplier`.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn. It must add up promises of (epsilon,
            delta), or Renyi curves, in which many runs cost less: one of pure, Gaussian or
            concentrated promises refuses.
        """
        self.refuse_second_budget(epsilon)
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

            law = self.law(self.participants(records, budgets))
            run = law.noise_multiplier, law.sample_rate, law.steps
            renyi = partial(self.renyi_guarantee, *run)
            path = release(law, guarantee, account, rng, people=records, renyi=renyi)

            domain = self.domain(records.columns)
            self.coef_, self.intercept_ = domain.to_user_units(path[-domain.d :])
            self.guarantee_ = guarantee
            self.noise_multiplier_, self.sample_rate_ = law.noise_multiplier, law.sample_rate
            self.steps_ = law.steps
            self.noise_ = PublicNoise(scale=law.noise_multiplier * float(self.clip_norm))
        return self

    def renyi_guarantee(
        self, noise_multiplier: float, sample_rate: float, steps: int, orders: Floats
    ) -> RenyiDP:
        """Return the Renyi curve that everybody is promised as well, at public orders."""
        curve = accounting.dpsgd_renyi(noise_multiplier, sample_rate, steps, orders)
        return RenyiDP(orders, curve, neighbors=self.neighbors)

    @property
    def neighbors(self) -> str:
        """Which data sets the promise compares; without `n_public`, q and T tell the number."""
        return "zero-out" if self.n_public is None else "add-remove"

    def law(self, people: Participants) -> DPSGDLaw:
        """Return the exact distribution of all iterates; `fit` releases the last d entries."""
        sample_rate, steps = self.schedule(len(people.y))
        return DPSGDLaw(
            people.X,
            people.y,
            sample_rate,
            self.batch_size,
            float(self.clip_norm),
            float(self.learning_rate),
            steps,
            self.calibrated_multiplier(one_budget(people.budgets), sample_rate, steps),
        )

    def guarantee(self, budgets: Floats) -> ApproximateDP:
        """Return the promise to everybody, of their one budget; `budgets` has shape (n,)."""
        if self.success_rate is not None:
            return ApproximateDP(0.0, 2 * self.success_rate - 1, neighbors=self.neighbors)
        epsilon = one_budget(budgets)
        if self.noise_multiplier is not None:
            run = float(self.noise_multiplier), *self.schedule(int(np.count_nonzero(budgets)))
            epsilon = accounting.dpsgd_epsilon(*run, self.delta, accountant=self.accountant)
        return ApproximateDP(epsilon, self.delta, neighbors=self.neighbors)

    def schedule(self, n: int) -> tuple[float, int]:
        """Return the sample rate q and the number of steps T for n participants."""
        size, name = (n, "n_samples") if self.n_public is None else (self.n_public, "n_public")
        if self.batch_size > size:
            raise ValueError(
                f"batch_size must be at most the number of people, {name} = {size}; "
                f"got {self.batch_size}"
            )
        steps_of_an_epoch = -(-size // self.batch_size)  # rounded up
        return self.batch_size / size, self.epochs * steps_of_an_epoch

    def calibrated_multiplier(self, epsilon: float, sample_rate: float, steps: int) -> float:
        """Return the noise multiplier that is set, or the smallest that keeps the promise."""
        if self.noise_multiplier is not None:
            return float(self.noise_multiplier)
        if self.success_rate is not None:
            return accounting.calibrate_to_success_rate(self.success_rate, sample_rate, steps)
        return accounting.calibrate_noise_multiplier(
            epsilon, self.delta, sample_rate, steps, accountant=self.accountant
        )

    def refuse_second_budget(self, epsilon: Any) -> None:
        """Refuse budgets that `fit` is given where a setting fixes the noise."""
        for name in ("success_rate", "noise_multiplier"):
            if epsilon is not None and getattr(self, name) is not None:
                raise ValueError(f"epsilon must not be given with {name}, which fixes the noise")

    def domain(self, columns: int) -> CenteredCube:
        """Return the domain that the public bounds of so many columns define."""
        return CenteredCube(
            bounds=self.bounds,
            y_bounds=self.y_bounds,
            columns=columns,
            fit_intercept=self.fit_intercept,
            clip=self.clip,
        )

    def participants(self, records: Records | SumsOfRecords, budgets: Floats) -> Participants:
        """Return the records on the domain of all who take part."""
        self.schedule(int(np.count_nonzero(budgets)))  # refuses too few
        return records.participants(self.domain(records.columns), budgets)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> DPSGDLaw:
        """Exact law of all iterates on the domain, from which `fit` draws. NOT private: for audits.

        With `fit_intercept` the constant feature comes last.
        """
        self.refuse_second_budget(epsilon)
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        refuse_different_budgets(epsilon)
        records = records_for_audit(self, X, y, epsilon_as_passed)
        return self.law(self.participants(records, records.budgets(epsilon)))

    def sums(self, X: Any, y: Any, *, epsilon: Any = None) -> None:
        """Refuse: every step needs a clipped gradient of every record.

        Parameters
        ----------
        X, y : object
        epsilon : object, optional
        """
        refuse_mechanism(self)


ORDERS = 2 ** np.arange(1, 9)  # of the divergences: each has an equal share of delta
LEVELS = 4096  # to which a shift is rounded up, between 0 and the largest


def individual_epsilon(law: DPSGDLaw | DescentLaw, path: ArrayLike, delta: float) -> Floats:
    r"""Account of every person, in nats, after a run of noisy gradients, along the path drawn.

    With :math:`m_k` the length of the person's clipped gradient at the iterate before step k, in
    standard deviations of its noise, everybody in every batch pays :math:`\varepsilon(\delta; \mu)`
    of Gaussian noise with :math:`\mu^2=\sum_k m_k^2`. In a batch with probability q they pay the
    least, over the orders :math:`\alpha=2, 4, \dots, 256`, of

    .. math:: \sum_k R_\alpha(m_k) + \ln\frac{\alpha-1}\alpha
              - \frac{\ln(\delta\alpha/8)}{\alpha-1} , \qquad
              R_\alpha(m) = \frac1{\alpha-1}\ln\sum_{j=0}^\alpha \binom\alpha j
              (1-q)^{\alpha-j}q^j e^{j(j-1)m^2/2} ,

    and never more than the worst case, `dpsgd_epsilon`; nothing if all :math:`m_k` are 0. Shifts
    are rounded up to a 4096th of the largest possible one. For every level e and set of paths on
    which a person's account is at most e, (e, `delta`) holds against the data with a gradient of 0
    in place of theirs. It is a report and no promise: it differs from path to path, and tells the
    record. It reads the person's record and the path alone, so whoever sees the path can compute
    their own. Statement ``thm-path-account``, chapter *pac/dpsgd_people*. Returns shape (n,).

    Parameters
    ----------
    law : DPSGDLaw or DescentLaw
        ``model.output_law(X, y)`` of an estimator: it holds the data.
    path : array_like, shape (steps * d,)
        All iterates of one run, on the domain, as ``law.sample`` draws them.
    delta : float in (0, 1)

    Examples
    --------
    >>> law = DPSGDLaw(np.array([[1.0], [0.1]]), np.ones(2), 0.5, 1, 1.0, 0.1, 3, 4.0)
    >>> individual_epsilon(law, [0.1, 0.2, 0.3], delta=1e-5).round(3)
    array([0.905, 0.189])
    """
    if not isinstance(law, DPSGDLaw | DescentLaw):
        raise TypeError(f"law must be a DPSGDLaw or a DescentLaw; got {type(law).__name__}")
    delta = check.delta(delta)
    shifts = law.shifts(path)
    if isinstance(law, DescentLaw) or law.sample_rate == 1:
        mu = np.sqrt((shifts**2).sum(axis=0))
        return gaussian_epsilon(delta, np.maximum(mu, 1e-150))
    q, sigma = law.sample_rate, law.noise_multiplier
    levels = np.linspace(0, 1 / sigma, LEVELS + 1)
    at = np.minimum(np.searchsorted(levels, shifts), LEVELS)
    divergences = [_divergences(int(order), levels, q)[at].sum(axis=0) for order in ORDERS]
    tail = np.log1p(-1 / ORDERS) - np.log(delta * ORDERS / len(ORDERS)) / (ORDERS - 1)
    smallest = np.min(divergences + tail[:, None], axis=0)
    epsilon = np.where(shifts.any(axis=0), smallest, 0.0)
    return np.asarray(np.clip(epsilon, 0.0, dpsgd_epsilon(sigma, q, law.steps, delta)))


def _divergences(order: int, shifts: Floats, q: float) -> Floats:
    """Renyi divergence of one step from the same without the person, at each shift."""
    j = np.arange(order + 1)
    terms = binom.logpmf(j, order, q) + j * (j - 1) * shifts[:, None] ** 2 / 2
    return np.asarray(np.maximum(logsumexp(terms, axis=1), 0.0) / (order - 1))
