"""One posterior sample that keeps a budget on every data set of a public size."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook._budgets import one_budget
from pdpbook.posterior._settings import UnitBallRegressor
from pdpbook.posterior.calibration import check_penalty, worst_case_gamma
from pdpbook.posterior.laws import PosteriorLaw
from pdpbook.reports.frames import ball_frame
from pdpbook.reports.noise import Crowd, Noise, through

__all__ = ["OnePosteriorSample"]

Floats = NDArray[np.float64]

_gamma = lru_cache(maxsize=64)(worst_case_gamma)


class OnePosteriorSample(UnitBallRegressor):
    r"""One draw from the posterior of ridge regression, calibrated for the worst data set: OPS.

    On the domain :math:`\|x\|\le1`, :math:`|y|\le1` the release is one draw

    .. math:: \tilde\theta \sim \mathcal N\bigl(\hat\theta, (\gamma H)^{-1}\bigr), \qquad
              H = X^\top X+\lambda I,\quad \hat\theta = H^{-1}X^\top y,

    with :math:`\gamma` of `worst_case_gamma`.

    Parameters
    ----------
    lam : float, default 100.0
        Penalty against the *sum* of squares on the domain, at least 1; scikit-learn's ``alpha``.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody: a public number, chosen without looking at who is in the
        data. One each must be the same, or 0 for whoever takes no part.
    delta : float, default 1e-6
        Failure probability of the budget, in (0, 1).
    n_max : int, default 100000
        Public bound on the number of rows: under add-remove neighbors the number itself is not
        public. More rows raise.
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
    guarantee_ : ApproximateDP
        What everybody was promised, under add-remove neighbors.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Statements ``thm-ops-dp-level`` and ``alg-adaops``, chapters *per_instance/guarantees* and
    *per_instance/adaops*. Nothing without noise stays on the fitted object. Rounding of floats is
    not covered by the promise.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(-1, 1, (500, 2))
    >>> y = X @ [0.4, -0.2]
    >>> model = OnePosteriorSample(50.0, n_max=1000, random_state=3).fit(X, y)
    >>> round(model.gamma_, 3), model.guarantee_.neighbors
    (0.332, 'add-remove')
    """

    def __init__(
        self,
        lam: float = 100.0,
        *,
        epsilon: ArrayLike = 1.0,
        delta: float = 1e-6,
        n_max: int = 100_000,
        fit_intercept: bool = False,
        bounds: ArrayLike = (-1.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        row_norm: float | None = None,
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.lam = lam
        self.epsilon = epsilon
        self.delta = delta
        self.n_max = n_max
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.row_norm = row_norm
        self.clip = clip
        self.random_state = random_state

    def _release(self, law: PosteriorLaw, epsilon: float, rng: np.random.Generator) -> None:
        self._back(law.sample(rng=rng))
        self.gamma_ = _gamma(float(self.lam), epsilon, float(self.delta), int(self.n_max))
        self.h_ = float(self.lam)

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        check_penalty(self.lam)
        return super()._check_settings(epsilon)

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        r"""An estimate, :math:`(\gamma(X^\top X+\lambda I))^{-1}`, and a bound.

        No such covariance exceeds :math:`I/(\gamma\lambda)`, which is all that is public after a
        fit: the number of people is not.
        """
        frame, lam = ball_frame(self, crowd.d, self.row_norm), float(self.lam)
        epsilon = one_budget(crowd.epsilon)
        gamma = _gamma(lam, epsilon, float(self.delta), int(self.n_max))
        n = 0 if crowd.n is None else crowd.n
        spread = through(frame.kept, lambda values: 1 / (gamma * (n * values + lam)))
        most = np.eye(frame.order) / (gamma * lam)
        return Noise.of(crowd, frame, spread, most, width=2 * frame.half)

    def _law_of(self, gram: Floats, moment: Floats, epsilon: float) -> PosteriorLaw:
        gamma = _gamma(float(self.lam), epsilon, float(self.delta), int(self.n_max))
        H = gram + self.lam * np.eye(len(gram))
        center = np.linalg.solve(H, moment)
        return PosteriorLaw(np.asarray(center, dtype=float), gamma * H)
