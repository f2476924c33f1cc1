"""One posterior sample whose sharpness follows released bounds on the data."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook._budgets import one_budget
from pdpbook._domain import check_flag
from pdpbook.posterior._settings import UnitBallRegressor
from pdpbook.posterior.calibration import CALIBRATIONS, AdaptivePlan, check_kappa, check_norm
from pdpbook.posterior.laws import AdaptiveLaw
from pdpbook.reports.frames import ball_frame
from pdpbook.reports.noise import Crowd, Noise, through
from pdpbook.validation import check_choice

__all__ = ["AdaOPS"]

Floats = NDArray[np.float64]


class AdaOPS(UnitBallRegressor):
    r"""One posterior sample with parameters chosen from privately released numbers.

    First a noisy lower bound :math:`\tilde\lambda` on :math:`\lambda_{\min}(X^\top X)`, then a
    penalty :math:`\lambda` and an inverse temperature :math:`\gamma` that follow from it, then

    .. math:: \tilde\theta \sim \mathcal N\bigl(\hat\theta_\lambda, (\gamma H)^{-1}\bigr),
              \qquad H = X^\top X+\lambda I .

    On benign data the penalty is 0 and the release efficient. With `release_norm` a noisy bound
    on :math:`\|\hat\theta_\lambda\|` is released in between: AdaOPS-L.

    Parameters
    ----------
    norm_guess : float, default 1.0
        Public guess of the norm of the coefficients on the domain, above 0. It steers the
        penalty; a wrong guess costs accuracy, never privacy.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody: a public number, chosen without looking at who is in the
        data. One each must be the same, or 0 for whoever takes no part.
    delta : float, default 1e-6
        Failure probability of the budget, in (0, 1).
    n_max : int, default 100000
        Public bound on the number of rows: under add-remove neighbors the number itself is not
        public. More rows raise.
    release_norm : bool, default False
        AdaOPS-L.
    calibration : {"joint", "simple"}, default "joint"
        How the budgets of releases and draw are composed: as Gaussians, or by adding them, which
        leaves the draw less.
    kappa : float, optional
        Largest acceptable condition number of :math:`X^\top X`, at least 1: the penalty is then
        :math:`\max\{0, N/(\kappa d)-\tilde\lambda\}`, as in the paper, with the public `n_max`
        for the number of rows, and `norm_guess` is idle. None minimizes a cost instead.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one, after the map to [-1, 1]: it counts in d
        and in the norm of a row, is penalized and noised.
    bounds : array_like, shape (2,) or (d, 2), default (-1.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column; never
        read from the data. They are mapped to [-1, 1], and rows are divided by `row_norm`.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units; they are mapped to [-1, 1].
    row_norm : float, optional
        Public bound on the norm of a row between -1 and 1, the constant included. None is the
        square root of d, which always holds; ``bounds=(-1, 1), row_norm=1`` is the unit ball
        itself. Longer rows raise, or are scaled down with `clip`.
    clip : bool, default False
        Clip data to the bounds instead of raising.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Intercept in your units. Without `fit_intercept` it only undoes the bounds.
    theta_ : ndarray
        The same draw on the domain.
    gamma_ : float
        Inverse temperature of the draw.
    h_ : float
        Bound from below on what the data and the penalty weigh in every direction.
    lam_ : float
        Penalty against the sum of squares that was chosen.
    release_ : ndarray
        All released numbers on the domain: the bound on the eigenvalue, with `release_norm` the
        bound on :math:`\log(1+\|\hat\theta\|)`, and the draw.
    guarantee_ : ApproximateDP
        What everybody was promised, under add-remove neighbors.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Statements ``alg-adaops``, ``thm-adaops-joint`` and, for the simple calibration,
    ``prop-adaops-privacy``, chapter *per_instance/adaops*. Nothing without noise stays on the
    fitted object. Rounding of floats is not covered by the promise.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> model = AdaOPS(n_max=10_000, random_state=3).fit(X, X @ [0.4, -0.2])
    >>> model.lam_, model.release_.shape, model.guarantee_.neighbors
    (0.0, (3,), 'add-remove')
    """

    def __init__(
        self,
        norm_guess: float = 1.0,
        *,
        epsilon: ArrayLike = 1.0,
        delta: float = 1e-6,
        n_max: int = 100_000,
        release_norm: bool = False,
        calibration: str = "joint",
        kappa: float | None = None,
        fit_intercept: bool = False,
        bounds: ArrayLike = (-1.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        row_norm: float | None = None,
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.norm_guess = norm_guess
        self.epsilon = epsilon
        self.delta = delta
        self.n_max = n_max
        self.release_norm = release_norm
        self.calibration = calibration
        self.kappa = kappa
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.row_norm = row_norm
        self.clip = clip
        self.random_state = random_state

    def _release(self, law: AdaptiveLaw, epsilon: float, rng: np.random.Generator) -> None:
        self.release_ = law.sample(rng=rng)
        self.lam_, self.h_ = law.given(self.release_[0])  # a function of the release
        head = 1 + bool(self.release_norm)
        self.gamma_ = float(law.plan.gamma(self.h_, self.lam_, *self.release_[1:head]))
        self._back(self.release_[head:])

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        check_norm(self.norm_guess)
        check_flag(self.release_norm, "release_norm")
        check_choice(self.calibration, "calibration", CALIBRATIONS)
        check_kappa(self.kappa)
        return super()._check_settings(epsilon)

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        r"""Of the draw around the ridge solution of its own penalty.

        After a fit a bound: its covariance is at most :math:`I/(\gamma h)` where the released h
        holds, which fails with a chance below delta. Before it an estimate: what evenly spread
        rows and labels around the middle lead to if the first releases fall on their means.
        """
        frame = ball_frame(self, crowd.d, self.row_norm)
        width = 2 * frame.half
        if crowd.fitted:
            spread = np.eye(frame.order) / (self.gamma_ * self.h_)
            note = f"The bound fails with a chance below delta = {self.delta:g}."
            return Noise.of(crowd, frame, spread, spread, width=width, note=note)
        n = self.n_max if crowd.n is None else crowd.n
        epsilon = one_budget(crowd.epsilon)
        law = self._law_of(n * frame.kept, np.zeros(frame.order), epsilon)
        lam, h = law.given(float(law.center[0]))
        head = [law.norm_law(lam, h)[0]] if self.release_norm else []
        gamma = float(law.plan.gamma(h, lam, *head))
        spread = through(law.gram, lambda values: 1 / (gamma * (values + lam)))
        note = "No bound is known before the fit: the noise follows what is released first."
        return Noise.of(crowd, frame, spread, width=width, note=note)

    def _law_of(self, gram: Floats, moment: Floats, epsilon: float) -> AdaptiveLaw:
        plan = AdaptivePlan(
            epsilon,
            float(self.delta),
            len(moment),
            int(self.n_max),
            float(self.norm_guess),
            bool(self.release_norm),
            self.calibration,
            check_kappa(self.kappa),
        )
        return AdaptiveLaw(gram, moment, plan)
