r"""DP-SGD for linear regression: random batches, one person's gradient clipped, one public divisor.

One promise for everybody, kept by what a person can add to a sum of gradients. Budgets of one's
own live in `descent`; how much noise a promise takes, in `accounting`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import one_budget, taking_part
from pdpbook._domain import (
    ball_to_user_units,
    check_mapping,
    check_sizes,
    data_of,
    features_to_domain,
    generator_from,
    in_hand,
    labels_to_domain,
    predictions,
)
from pdpbook.blocks import in_memory
from pdpbook.gradient.accounting import (
    ACCOUNTANTS,
    calibrate_noise_multiplier,
    calibrate_to_success_rate,
    dpsgd_epsilon,
)
from pdpbook.gradient.law import DPSGDLaw
from pdpbook.guarantees import ApproximateDP, BudgetAccount
from pdpbook.reports.frames import ball_frame
from pdpbook.reports.noise import Crowd, Noise, powers, through
from pdpbook.reports.reported import Reported
from pdpbook.validation import (
    check_choice,
    check_count,
    check_delta,
    check_design,
    check_epsilon,
    check_positive,
    check_scale,
    check_single,
)

__all__ = ["DPSGDRegression"]

Floats = NDArray[np.float64]


class DPSGDRegression(Reported, RegressorMixin, BaseEstimator):  # type: ignore[misc]
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
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody: a public number, chosen without looking at who is in the
        data. One each must be the same, or 0 for whoever takes no part.
    delta : float, default 1e-5
        Failure probability in (0, 1).
    success_rate : float, optional
        In place of `epsilon` and `delta`: ceiling above 0.5 and below 1 on how often one guesses
        right which of two neighbors (see `n_public`) was used, at even odds and independent
        records, through the total variation.
    learning_rate : float, default 0.1
        :math:`\gamma`, above 0. On the domain ``1 / d`` is safe whatever the data.
    batch_size : int, default 16
        Expected size b of a batch, at most the number of people.
    epochs : int, default 10
        The number of steps is ``epochs * ceil(n / b)``; nobody is seen exactly once an epoch.
    clip_norm : float, default 1.0
        Length C to which each person's gradient is clipped, alone.
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
    bounds : array_like, shape (2,) or (d, 2), default (-1.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units.
    clip : bool, default False
        Clip data to the bounds instead of raising.
    random_state : None, int or Generator, default None
        None for every real release: an integer repeats the noise on the next data set, and the
        difference of two such releases is the exact shift.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Released coefficients in your units, of the last iterate.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    guarantee_ : ApproximateDP
        What everybody was promised, under add-remove neighbors if `n_public` is given and else
        under "zero-out"; with `success_rate` at epsilon 0, where delta bounds the total variation.
        It covers all iterates together.
    noise_multiplier_, sample_rate_ : float
        :math:`\sigma` and q, data-independent but for the number of people.
    steps_ : int
        T, likewise.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Statements ``alg-dpsgd``, ``prop-dpsgd`` (Yang 2024, Algorithm 1), chapter *pac/dpsgd*. Nothing
    without noise stays on the fitted object. Rounding of floats is not covered by the promise.

    Examples
    --------
    >>> import numpy as np
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
        delta: float = 1e-5,
        success_rate: float | None = None,
        learning_rate: float = 0.1,
        batch_size: int = 16,
        epochs: int = 10,
        clip_norm: float = 1.0,
        noise_multiplier: float | None = None,
        accountant: str = "pld",
        n_public: int | None = None,
        fit_intercept: bool = False,
        bounds: ArrayLike = (-1.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.success_rate = success_rate
        self.learning_rate = learning_rate
        self.batch_size = batch_size
        self.epochs = epochs
        self.clip_norm = clip_norm
        self.noise_multiplier = noise_multiplier
        self.accountant = accountant
        self.n_public = n_public
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.clip = clip
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release private coefficients.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person, inside `bounds`.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            The public budget in nats, or one each: the same for all, or 0 for whoever takes no
            part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        DPSGDRegression
            The fitted estimator.
        """
        in_memory(f"{type(self).__name__}.fit", X, y, epsilon)
        self._refuse_budgets(epsilon)
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        check_account(account)
        rng = generator_from(self.random_state)
        rows, labels = data_of(self, X, y)
        law = self._law(rows, labels, budgets)
        promise = self._promise(law, budgets)
        charge(account, promise, X)
        theta = law.sample(rng=rng)[-law.X.shape[1] :]
        self.coef_, self.intercept_ = ball_to_user_units(
            theta, rows.shape[1], self.bounds, self.y_bounds, 1.0
        )
        self.noise_multiplier_, self.sample_rate_ = law.noise_multiplier, law.sample_rate
        self.steps_ = law.steps
        self.guarantee_ = promise
        if self.n_public is None:
            crowd = Crowd(rows.shape[1], check_epsilon(budgets, len(rows)), len(rows))
        else:  # how many there are is not public
            crowd = Crowd(rows.shape[1], one_budget(budgets), self.n_public)
        self._keep_noise(crowd)
        return self

    def predict(self, X: Any) -> Any:
        """Predict from the released coefficients, in your units; X may lie outside `bounds`."""
        return predictions(self, X)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> DPSGDLaw:
        """Exact law of all iterates on the domain. NOT private: for audits and teaching.

        Parameters are as in `fit`, which draws one path and releases its last d entries.
        """
        in_memory(f"{type(self).__name__}.output_law", X, y, epsilon)
        self._refuse_budgets(epsilon)
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        return self._law(*check_design(X, y), budgets)

    def _refuse_budgets(self, epsilon: Any) -> None:
        for name in ("success_rate", "noise_multiplier"):
            if epsilon is not None and getattr(self, name) is not None:
                raise ValueError(f"epsilon must not be given with {name}, which fixes the noise")

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = check_epsilon(self.epsilon if epsilon is None else epsilon)
        one_budget(budgets)
        check_delta(self.delta)
        check_scale(self.learning_rate, "learning_rate")
        check_scale(self.clip_norm, "clip_norm")
        check_sizes(self, "noise_multiplier")
        for name in ("batch_size", "epochs"):
            check_count(getattr(self, name), name)
        if self.n_public is not None:
            check_count(self.n_public, "n_public")
        check_choice(self.accountant, "accountant", ACCOUNTANTS)
        fixed = [n for n in ("success_rate", "noise_multiplier") if getattr(self, n) is not None]
        for name in fixed:
            check_single(check_positive(getattr(self, name), name), name)
        if len(fixed) == 2:
            raise ValueError("success_rate and noise_multiplier must not both be given")
        if self.success_rate is not None:
            calibrate_to_success_rate(self.success_rate, 1.0, 1)  # refuses bad values
        check_mapping(self.bounds, self.y_bounds, self.clip, self.fit_intercept)
        return budgets

    def _law(self, X: Floats, y: Floats, budgets: Any) -> DPSGDLaw:
        X, y, budgets = taking_part(X, y, budgets)
        rate, steps = self._schedule(len(y))
        sigma = self._multiplier(one_budget(budgets), rate, steps)
        X = 2 * features_to_domain(X, self.bounds, self.clip) - 1
        if self.fit_intercept:
            X = np.column_stack([X, np.ones(len(X))])
        return self._make_law(
            X,
            labels_to_domain(y, self.y_bounds, self.clip),
            rate,
            self.batch_size,
            float(self.clip_norm),
            float(self.learning_rate),
            steps,
            sigma,
        )

    _make_law = DPSGDLaw

    def _schedule(self, n: int) -> tuple[float, int]:
        """Rate q and number of steps T, functions of public things alone."""
        size, name = (n, "n_samples") if self.n_public is None else (self.n_public, "n_public")
        if self.batch_size > size:
            raise ValueError(
                f"batch_size must be at most the number of people, {name} = {size}; "
                f"got {self.batch_size}"
            )
        return self.batch_size / size, self.epochs * -(-size // self.batch_size)

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
            q, T = self._schedule(len(crowd.above))
            sigma = self._multiplier(one_budget(crowd.epsilon), q, T)
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

        return Noise.of(crowd, frame, through(frame.even, gain), bound, width=2 * frame.half)

    def _multiplier(self, epsilon: float, rate: float, steps: int) -> float:
        if self.noise_multiplier is not None:
            return float(self.noise_multiplier)
        if self.success_rate is not None:
            return calibrate_to_success_rate(self.success_rate, rate, steps)
        return calibrate_noise_multiplier(
            epsilon, self.delta, rate, steps, accountant=self.accountant
        )

    def _promise(self, law: DPSGDLaw, budgets: Any) -> ApproximateDP:
        neighbors = "zero-out" if self.n_public is None else "add-remove"  # q and T tell n
        if self.success_rate is not None:
            return ApproximateDP(0.0, 2 * self.success_rate - 1, neighbors=neighbors)
        epsilon = one_budget(budgets)
        if self.noise_multiplier is not None:
            run = law.noise_multiplier, law.sample_rate, law.steps
            epsilon = dpsgd_epsilon(*run, self.delta, accountant=self.accountant)
        return ApproximateDP(epsilon, self.delta, neighbors=neighbors)
