r"""DP-SGD for linear regression: random batches, one person's gradient clipped, one public divisor.

One promise for everybody, kept by what a person can add to a sum of gradients. Budgets of one's
own live in `descent`; how much noise a promise takes, in `accounting`.
"""

from typing import Any

import numpy as np
from scipy import stats

from pdpbook import Floats, check
from pdpbook._budgets import one_budget
from pdpbook._domain import ball_to_user_units, features_to_domain, labels_to_domain
from pdpbook.frames.ball import OnePromise
from pdpbook.frames.people import People
from pdpbook.frames.settings import mechanism, one_of, optional, setting
from pdpbook.gradient.accounting import (
    ACCOUNTANTS,
    calibrate_noise_multiplier,
    calibrate_to_success_rate,
    dpsgd_epsilon,
)
from pdpbook.gradient.law import DPSGDLaw
from pdpbook.guarantees import ApproximateDP
from pdpbook.reports.frames import ball_frame
from pdpbook.reports.noise import Crowd, Noise, powers, through


@mechanism
class DPSGDRegression(OnePromise):
    r"""Linear least squares by noisy gradients of random batches, one promise for everybody.

    On the domain :math:`x_i\in[-1,1]^d`, :math:`y_i\in[-1,1]`, from :math:`\theta_0=0`, it takes
    T steps

    .. math:: &\theta_{k+1} = \theta_k - \frac{\gamma}{b}\Bigl[\sum_{i\in S_k} g_i(\theta_k)
              \min\Bigl(1, \frac{C}{\|g_i(\theta_k)\|}\Bigr) + N(0, \sigma^2C^2 I)\Bigr],
              \\ &g_i(\theta) = 2(x_i^\top\theta - y_i)\,x_i ,

    on batches in which each person is with probability :math:`q=b/n`, independently, and releases
    the last iterate. The noise is inside the average and b is the expected size of a batch: the
    realized size depends on who is in the data.

    Parameters
    ----------
    delta : float, default 1e-5
        Failure probability in (0, 1).
    success_rate : float, optional
        Ceiling on how often one guesses right which of two neighbors (see `n_public`) was used, at
        even odds and independent records, above 0.5 and below 1; through the total variation, and
        in place of `epsilon` and `delta`.
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
        about adding or removing a person. By default the number of rows of those who take part,
        which q and T then tell: the promise is only that of a row whose gradient is 0 in place of
        a person's.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, is clipped and noised.

    Attributes
    ----------
    guarantee_ : ApproximateDP
        What everybody was promised, under add-remove neighbors if `n_public` is given and else
        under "zero-out"; with `success_rate` at epsilon 0, where delta bounds the total variation.
        It covers all iterates together.
    noise_multiplier_, sample_rate_ : float
        :math:`\sigma` and q, data-independent but for the number of people. Accountants read this
        ratio, whatever C is; ``noise_.scale`` is :math:`\sigma C`, the standard deviation of the
        noise on each coordinate of a sum of gradients.
    steps_ : int
        T, likewise.

    Notes
    -----
    Statements ``alg-dpsgd``, ``prop-dpsgd`` (Yang 2024, Algorithm 1), chapter *pac/dpsgd*.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.uniform(-1, 1, (500, 2)), rng.uniform(-1, 1, 500)
    >>> model = DPSGDRegression(epsilon=2.0, batch_size=50).fit(X, y)
    >>> model.coef_.shape, model.steps_, round(model.noise_multiplier_, 2)
    ((2,), 100, 2.25)
    """

    delta: float = setting(default=1e-5, rule=check.delta)
    success_rate: float | None = setting(default=None, rule=optional(check.number))
    learning_rate: float = setting(default=0.1, rule=check.scale)
    batch_size: int = setting(default=16, rule=check.count)
    epochs: int = setting(default=10, rule=check.count)
    clip_norm: float = setting(default=1.0, rule=check.scale)
    noise_multiplier: float | None = setting(default=None, rule=optional(check.scale))
    accountant: str = setting(default="pld", rule=one_of(*ACCOUNTANTS))
    n_public: int | None = setting(default=None, rule=optional(check.count))

    make_law = DPSGDLaw

    def law(self, people: People) -> DPSGDLaw:
        """Return the law of all iterates; the last d entries of a draw are released."""
        rate, steps = self.schedule(len(people.y))
        return self.make_law(
            people.X,
            people.y,
            rate,
            self.batch_size,
            float(self.clip_norm),
            float(self.learning_rate),
            steps,
            self.multiplier(self.level(people), rate, steps),
        )

    def promise(self, people: People) -> ApproximateDP:
        neighbors = "zero-out" if self.n_public is None else "add-remove"  # q and T tell n
        if self.success_rate is not None:
            return ApproximateDP(0.0, 2 * self.success_rate - 1, neighbors=neighbors)
        epsilon = self.level(people)
        if self.noise_multiplier is not None:
            run = float(self.noise_multiplier), *self.schedule(len(people.y))
            epsilon = dpsgd_epsilon(*run, self.delta, accountant=self.accountant)
        return ApproximateDP(epsilon, self.delta, neighbors=neighbors)

    def schedule(self, n: int) -> tuple[float, int]:
        """Return rate q and number of steps T: of public things alone."""
        size, name = (n, "n_samples") if self.n_public is None else (self.n_public, "n_public")
        if self.batch_size > size:
            raise ValueError(
                f"batch_size must be at most the number of people, {name} = {size}; "
                f"got {self.batch_size}"
            )
        return self.batch_size / size, self.epochs * -(-size // self.batch_size)

    def multiplier(self, epsilon: float, rate: float, steps: int) -> float:
        """Return how loud the noise is, per gradient of length C."""
        if self.noise_multiplier is not None:
            return float(self.noise_multiplier)
        if self.success_rate is not None:
            return calibrate_to_success_rate(self.success_rate, rate, steps)
        return calibrate_noise_multiplier(
            epsilon, self.delta, rate, steps, accountant=self.accountant
        )

    def check(self) -> None:
        if self.success_rate is not None and self.noise_multiplier is not None:
            raise ValueError("success_rate and noise_multiplier must not both be given")
        if self.success_rate is not None:
            calibrate_to_success_rate(self.success_rate, 1.0, 1)  # refuses bad values

    def refuse_given(self, epsilon: Any) -> None:
        for name in ("success_rate", "noise_multiplier"):
            if getattr(self, name) is not None:
                raise ValueError(f"epsilon must not be given with {name}, which fixes the noise")

    def refuse_crowd(self, n: int, d: int) -> None:
        self.schedule(n)  # refuses too few

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        X = 2 * features_to_domain(X, self.bounds, self.clip) - 1
        if self.fit_intercept:
            X = np.column_stack([X, np.ones(len(X))])
        return X, labels_to_domain(y, self.y_bounds, self.clip)

    def to_units(self, theta: Floats) -> tuple[Floats, float]:
        return ball_to_user_units(theta, self.n_features_in_, self.bounds, self.y_bounds, 1.0)

    def release(self, draw: Floats, law: DPSGDLaw, people: People) -> None:
        super().release(draw[-people.d :], law, people)
        self.noise_multiplier_, self.sample_rate_ = law.noise_multiplier, law.sample_rate
        self.steps_ = law.steps

    def crowd(self, people: People) -> Crowd:
        if self.n_public is None:
            return Crowd(people.columns, people.promised, people.n)
        return super().crowd(people)._replace(n=self.n_public)  # how many there are is not public

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        r"""An estimate, and a bound on the mean square length, against a run on the same batches.

        A step on a batch of s people stretches distances by at most
        :math:`\max\{1, 2\gamma ks/b-1\}`, with k the largest squared norm of a row, and adds noise
        of mean 0. The number s is binomial. The estimate has batches of b people and counts
        those whose gradient is not clipped: at the start a share of
        :math:`\min\{1, C/(2\|x\|)\}`.
        """
        frame = ball_frame(self, crowd.d, 1.0)
        k, rate, C = frame.order, float(self.learning_rate), float(self.clip_norm)
        if crowd.fitted:
            q, T, sigma = self.sample_rate_, self.steps_, self.noise_multiplier_
        else:
            q, T = self.schedule(len(crowd.above))
            sigma = self.multiplier(one_budget(crowd.epsilon), q, T)
        b = self.batch_size
        added = (rate * sigma * C / b) ** 2
        batch = stats.binom(round(b / q), q)
        sizes = np.arange(int(batch.isf(1e-18)) + 1)
        stretch = np.maximum(1.0, (2 * rate * k * sizes / b - 1) ** 2)
        growth = float(batch.pmf(sizes) @ stretch)
        with np.errstate(over="ignore"):
            bound = k * added * float(powers(growth, T))
        slope = 2 * rate * min(1.0, C / (2 * np.sqrt(np.trace(frame.even))))

        def gain(values: Floats) -> Floats:
            return added * powers((1 - slope * values) ** 2, T)

        spread, width = through(frame.even, gain), 2 * frame.half
        return Noise.of(crowd, frame, spread, bound, width=width, scale=sigma * C)
