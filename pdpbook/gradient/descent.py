"""Ridge regression by gradient descent that is noisy at every step, with a budget for everyone.

What a person adds to a gradient is bounded, wherever a step starts: no minimizer has to be reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.domains import Cube
from pdpbook.guarantees import BudgetAccount, GaussianDP
from pdpbook.linear import LinearRegressor
from pdpbook.noise import gaussian_mu
from pdpbook.noise.laws import PublicNoise, check_points, check_size, starts
from pdpbook.noise.profiles import at_levels
from pdpbook.participants import (
    Participants,
    fill_in_zeros,
    read_budgets,
    read_records,
    records_for_audit,
    shares,
)
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
)
from pdpbook.sums import refuse_mechanism

BLOCK = 4_000_000  # numbers in the largest temporary array


@dataclass(frozen=True, eq=False)
class DescentLaw:
    r"""Law of all iterates of `GradientDescentRidge`, one after the other in one vector.

    .. math:: &\theta_{k+1} = \theta_k - \gamma\Bigl[2\lambda\theta_k
              - 2\sum_i w_i\,\mathrm{clip}(y_i - x_i^\top\theta_k, \pm c_i)\,x_i
              + N(0, \sigma^2 I)\Bigr],\\ &\theta_0 = 0 .

    Given the iterate before, each is Gaussian, so the density of the path is a product. Clipping
    the gradient of a square loss to a length G is a Huber loss with the threshold
    :math:`c_i=G/(2\|x_i\|)`, so both are covered. Not private: it holds the data. Statement
    ``prop-gradient-descent`` (ours), chapter *personalized/steps*.
    """

    X: Floats  #: rows on the domain, shape (n, d)
    y: Floats  #: labels on the domain, shape (n,)
    weights: Floats  #: shape (n,), with the sum 1
    lam: float  #: penalty, above 0, against the weighted mean of losses
    thresholds: Any  #: where residuals are clipped, :math:`c_i`; a number, or shape (n,)
    step_size: float  #: :math:`\gamma`
    steps: int  #: number of steps T
    sigma: float  #: standard deviation of the noise on each coordinate of a gradient

    @property
    def center(self) -> Floats:
        """The path without noise, shape (steps * d,)."""
        return np.asarray(self._run(np.zeros((self.steps, 1, self.X.shape[1])))[0])

    def next_mean(self, theta: ArrayLike) -> Floats:
        """Return the mean of the iterate after each of `theta`, shape (..., d)."""
        start = np.asarray(check.finite(theta, "theta"))
        flat = start.reshape(-1, start.shape[-1])
        pull, block = np.empty_like(flat), max(1, BLOCK // len(self.y))
        for k in range(0, len(flat), block):
            residual = self.y - flat[k : k + block] @ self.X.T
            pull[k : k + block] = (self.weights * self._clip(residual)) @ self.X
        moved = flat - 2 * self.step_size * (self.lam * flat - pull)
        return np.asarray(moved.reshape(start.shape))

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density of paths, shape (..., steps * d); returns shape (...)."""
        d = self.X.shape[1]
        points = check_points(points, self.steps * d, ", a path each")
        path = points.reshape(*points.shape[:-1], self.steps, d)
        before = np.concatenate([np.zeros_like(path[..., :1, :]), path[..., :-1, :]], axis=-2)
        scale = self.step_size * self.sigma
        noise = (path - self.next_mean(before)) / scale
        constant = self.steps * d * np.log(scale * np.sqrt(2 * np.pi))
        return np.asarray(-(noise**2).sum(axis=(-1, -2)) / 2 - constant)[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw paths: shape (steps * d,), or (size, steps * d)."""
        rng, shape = check.rng(rng), check_size(size)
        noise = rng.standard_normal((self.steps, math.prod(shape), self.X.shape[1]))
        paths = self._run(-self.step_size * self.sigma * noise)
        return np.reshape(paths, (*shape, paths.shape[1]))

    def shifts(self, path: ArrayLike) -> Floats:
        """Lengths of weighted clipped gradients in deviations of the noise, shape (steps, n).

        Those of each person where each step starts; `path` is that of one run, shape (steps * d,).
        """
        start = starts(path, self.steps, self.X.shape[1])
        slopes = 2 * np.abs(self._clip(self.y - start @ self.X.T))
        return np.asarray(self.weights * slopes * np.linalg.norm(self.X, axis=1) / self.sigma)

    def _clip(self, residuals: Floats) -> Floats:
        return np.asarray(np.clip(residuals, -self.thresholds, self.thresholds))

    def _run(self, noise: Floats) -> Floats:
        """Descend from zero; noise of shape (steps, size, d)."""
        theta, path = np.zeros_like(noise[0]), np.empty_like(noise)
        for k in range(self.steps):
            theta = self.next_mean(theta) + noise[k]
            path[k] = theta
        return np.asarray(path.swapaxes(0, 1).reshape(noise.shape[1], self.steps * noise.shape[2]))


class GradientDescentRidge(LinearRegressor):
    r"""Ridge regression that keeps the budget of every person by noise on every gradient.

    On the domain :math:`x_i\in[0,1]^d`, :math:`\|x_i\|\le R`, :math:`y_i\in[-1,1]`, from
    :math:`\theta_0=0`, it takes T steps

    .. math:: \theta_{k+1} = \theta_k - \gamma\Bigl[\sum_i w_i g_i(\theta_k) + 2\lambda\theta_k
              + N(0,\sigma^2 I)\Bigr], \qquad \|g_i\|\le G,

    and releases the last iterate. A replaced record moves each gradient by at most :math:`2w_iG`,
    so T steps are :math:`\mu_i`-Gaussian private for person i when

    .. math:: w_i = \frac{\mu_i}{\sum_j\mu_j}, \qquad
              \sigma = \frac{2G\sqrt T}{\sum_j\mu_j}, \qquad
              \mu_i = \mu(\varepsilon_i,\delta) .

    The promise covers all iterates together: stopping earlier makes it no stronger. Nothing without
    noise stays on the object. Statement ``prop-gradient-descent`` (ours), chapter
    *personalized/steps*.

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
    delta : float, default 1e-6
        Failure probability in (0, 1), the same for everybody; Gaussian noise keeps no pure promise.
    steps : int, default 10
        Number of steps T. More get closer to the minimum, with more noise: a few are often best.
    step_size : float, optional
        Length of a step, :math:`\gamma`, below ``1 / lam``; by default :math:`1/(2\lambda+R^2)`,
        with which every step contracts whatever the data.
    loss : {"huber", "square"}, default "huber"
        Loss of a row. The Huber loss has gradients of length :math:`G=2cR` at most; those of the
        square loss are clipped to `clip_norm`, each person's alone.
    huber_threshold : float, default 1.0
        Where the Huber loss turns linear, :math:`c`, in domain units of the label.
    clip_norm : float, optional
        Length to which the gradient of each person's square loss is clipped, G; by default 2R, that
        of a Huber gradient at ``huber_threshold=1``.
    row_norm : float, optional
        Public bound on the norm of a row on the domain, R, constant feature included; by default
        :math:`\sqrt d`. It is enforced: longer rows raise, or are scaled down with ``clip=True``.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.scale`` is the standard deviation on each coordinate of a gradient on the domain.
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    n_features_in_ : int
    guarantee_ : GaussianDP
        What each person was promised, under replace-one neighbors;
        ``guarantee_.to_approximate(delta)`` is the promise that was asked for.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y, epsilon = rng.random((500, 2)), rng.random(500), np.repeat([0.1, 1.0], [100, 400])
    >>> model = GradientDescentRidge(lam=0.5, delta=1e-6).fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.noise_.scale, 3)
    ((2,), 0.184)
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
        delta: float = 1e-06,
        steps: int = 10,
        step_size: float | None = None,
        loss: str = "huber",
        huber_threshold: float = 1.0,
        clip_norm: float | None = None,
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
        self.steps = steps
        self.step_size = step_size
        self.loss = loss
        self.huber_threshold = huber_threshold
        self.clip_norm = clip_norm
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
            steps=check.count,
            step_size=check.optional(check.number),
            loss=check.one_of("huber", "square"),
            huber_threshold=check.scale,
            clip_norm=check.optional(check.scale),
            row_norm=check.optional(check.scale),
        )
        if self.delta == 0:
            raise ValueError(
                "delta must be above 0 and below 1; got 0. Gaussian noise keeps no pure promise: "
                "pass a delta well below 1 / n"
            )
        if self.step_size is not None and not self.step_size < 1 / self.lam:
            raise ValueError(
                f"step_size must be below 1 / lam = {1 / self.lam:.3g}, or the penalty alone "
                f"makes the iterates diverge; got {self.step_size:g}"
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
            budgets = affordable_budgets(
                account, records.budgets(epsilon), self.guarantee, people=records
            )
            guarantee = self.guarantee(budgets)

            domain = self.domain(records.columns)
            law = self.law(records.participants(domain, budgets))
            path = release(law, guarantee, account, rng, people=records)

            last_iterate = path[-domain.d :]
            self.coef_, self.intercept_ = domain.to_user_units(last_iterate)
            self.guarantee_ = guarantee
            self.noise_ = PublicNoise(scale=float(law.sigma))
        return self

    def law(self, people: Participants) -> DescentLaw:
        """Return the exact distribution of all iterates on the domain: the theorem."""
        parameters, d = self.privacy_parameters(people.budgets), people.d
        return DescentLaw(
            X=people.X,
            y=people.y,
            weights=shares(parameters),
            lam=self.lam,
            thresholds=self.thresholds(people.X),
            step_size=self.step_length(d),
            steps=self.steps,
            sigma=1 / self.noise_rate(parameters, d),
        )

    def guarantee(self, budgets: Floats) -> GaussianDP:
        """Return the promise to everybody, of their budgets, shape (n,)."""
        parameters = self.privacy_parameters(budgets[budgets > 0])
        return GaussianDP(fill_in_zeros(parameters, budgets), neighbors="replace-one")

    def privacy_parameters(self, budgets: Floats) -> Floats:
        """Return the mu of Gaussian privacy whose profile passes through each budget."""
        return at_levels(gaussian_mu, budgets, float(self.delta))

    def noise_rate(self, parameters: Floats, d: int) -> float:
        """Return one over the deviation of the noise: a function of public numbers alone."""
        return float(parameters.sum() / self.constant(d))

    def constant(self, d: int) -> float:
        """Return C: T steps, each moved by at most 2G per unit of weight, cost as their root."""
        return float(2 * self.gradient_bound(d) * np.sqrt(self.steps))

    def gradient_bound(self, d: int) -> float:
        """Return the bound G on the length of the gradient of one person's loss."""
        radius = check.radius(d, self.row_norm)
        if self.loss == "huber":
            return 2 * self.huber_threshold * radius
        return 2 * radius if self.clip_norm is None else float(self.clip_norm)

    def thresholds(self, X: Floats) -> Any:
        """Return the residuals beyond which a loss turns linear, so that no gradient exceeds G."""
        if self.loss == "huber":
            return self.huber_threshold
        norms = np.linalg.norm(X, axis=1)
        return self.gradient_bound(X.shape[1]) / (2 * np.maximum(norms, 1e-300))

    def step_length(self, d: int) -> float:
        """Return `step_size`, or its default for d features."""
        if self.step_size is not None:
            return float(self.step_size)
        return float(1 / (2 * self.lam + check.radius(d, self.row_norm) ** 2))

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

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> DescentLaw:
        """Exact law of all iterates on the domain, from which `fit` draws. NOT private: for audits.

        Its center is the path without noise; with `fit_intercept` the constant feature comes last.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        records = records_for_audit(self, X, y, epsilon_as_passed)
        domain = self.domain(records.columns)
        return self.law(records.participants(domain, records.budgets(epsilon)))

    def sums(self, X: Any, y: Any, *, epsilon: Any = None) -> None:
        """Refuse: sums do not suffice for this mechanism."""
        refuse_mechanism(self)
