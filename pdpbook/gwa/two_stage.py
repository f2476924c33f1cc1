"""A pilot first, then the residuals: two-stage regression with labels private per user."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook._users import Users
from pdpbook.gwa._release import LabelPrivateRegression, Plan, variance_of
from pdpbook.gwa.regression import GWARegression
from pdpbook.noise import ProductLaw
from pdpbook.reports.frames import table_frame
from pdpbook.reports.noise import Crowd, Noise
from pdpbook.validation import check_finite, check_positive, check_probability, check_single

__all__ = ["TwoStageGWARegression"]

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class TwoStageLaw:
    """Law of a pilot and of the final release, side by side, in 2k numbers. Not private."""

    pilot: Plan
    final: Plan
    X: Floats
    y: Floats
    reach: float  #: residuals are clipped to [-reach, reach]

    @property
    def center(self) -> Floats:
        """Both releases if no noise fell: where an audit looks first."""
        first = self.pilot.C @ self.y
        return np.concatenate([first, self._second(first)])

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., 2k); returns shape (...)."""
        points = np.asarray(check_finite(points, "points"))
        first, second = np.split(points, 2, axis=-1)
        tails = np.abs(first - self.pilot.C @ self.y).sum(axis=-1) / self.pilot.scale
        tails = tails + np.abs(second - self._second(first)).sum(axis=-1) / self.final.scale
        k = first.shape[-1]
        return np.asarray(-tails - k * np.log(4 * self.pilot.scale * self.final.scale))[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw both: shape (2k,), or (size, 2k)."""
        k = len(self.pilot.C)
        first = ProductLaw(self.pilot.C @ self.y, np.full(k, self.pilot.scale)).sample(
            size, rng=rng
        )
        second = self._second(first) + rng.laplace(0.0, self.final.scale, first.shape)
        return np.concatenate([first, second], axis=-1)

    def _second(self, first: Floats) -> Floats:
        residuals = np.clip(self.y - first @ self.X.T, -self.reach, self.reach)
        return np.asarray(first + residuals @ self.final.C.T)


class TwoStageGWARegression(LabelPrivateRegression):
    r"""Regression on clipped residuals after a pilot, where public numbers say that it pays.

    X IS PUBLIC: only labels are protected, those of a user all at once. A `GWARegression` with
    the share f of every budget gives a pilot :math:`\beta_0`. The second release is

    .. math:: \beta_0 + C\,\mathrm{clip}_{[-\tau,\tau]}(y - X\beta_0) + \mathrm{Lap}(t)^d ,

    with C and t of GWA for an interval of width :math:`2\tau` and the rest of the budgets. With
    S the covariance of the pilot, public,
    :math:`\tau = z\,(\sigma^2 + \frac1n\sum_i x_i^\top S x_i)^{1/2}`. There are two stages
    if :math:`2\tau < (1-f)B`, which is when their predicted variance is smaller, and one otherwise.

    Parameters
    ----------
    share : float, default 0.25
        Share f of the budgets for the pilot, above 0 and below 1.
    reach : float, default 3.5
        The z: clip residuals beyond so many standard deviations.
    epsilon, sigma2, y_bounds, fit_intercept, clip, solver, tol, random_state
        As in `GWARegression`. Here `sigma2` also sets where residuals are clipped; too small a
        value biases, and still costs no privacy.

    Attributes
    ----------
    stages_ : int
        1 or 2, decided by public numbers alone.
    pilot_ : ndarray, shape (k,)
        The pilot, released too; empty with one stage.
    clip_ : float
        The tau, in units of y.
    predicted_ : ndarray, shape (2,)
        Predicted sum of variances with one stage and with two, without the bias of clipping.
    coef_, intercept_, release_, scale_, gap_, rank_, guarantee_, users_, n_features_in_
        As in `GWARegression`; `scale_` and `gap_` of the last stage.
    exposure_ : ndarray, shape (m,)
        As in `GWARegression`, over both stages.

    Notes
    -----
    Statement ``prop-two-stage`` (ours), chapter *user_level/gwa*. Both stages are charged to the
    same users, by sequential composition.

    Examples
    --------
    >>> import numpy as np
    >>> X, y = np.ones((2000, 1)), np.full(2000, 0.3)
    >>> model = TwoStageGWARegression(sigma2=1e-4, random_state=0).fit(X, y)
    >>> model.stages_, bool(model.predicted_[1] < model.predicted_[0])
    (2, True)
    """

    def __init__(
        self,
        *,
        share: float = 0.25,
        reach: float = 3.5,
        epsilon: Any = 1.0,
        sigma2: float | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        fit_intercept: bool = False,
        clip: bool = False,
        solver: str = "auto",
        tol: float = 1e-8,
        random_state: int | np.random.Generator | None = None,
    ):
        self.share = share
        self.reach = reach
        self.epsilon = epsilon
        self.sigma2 = sigma2
        self.y_bounds = y_bounds
        self.fit_intercept = fit_intercept
        self.clip = clip
        self.solver = solver
        self.tol = tol
        self.random_state = random_state

    def _check_settings(self, epsilon: Any) -> Any:
        check_single(check_probability(self.share, "share"), "share")
        check_single(check_positive(self.reach, "reach"), "reach")
        check_single(check_positive(self.tol, "tol"), "tol")
        return super()._check_settings(epsilon)

    def _plan(self, X: Floats, users: Users, epsilon: Floats) -> Plan:
        return self._stages(X, users, epsilon)[-1]

    def _stages(self, X: Floats, users: Users, epsilon: Floats) -> tuple[Plan, ...]:
        """One plan, or the plans of pilot and final release: from public numbers alone."""
        single = GWARegression(
            sigma2=self._sigma2(),
            y_bounds=self.y_bounds,
            solver=self.solver,
            tol=self.tol,
        )
        rows, width, rest = self._rows(X), self._width(), 1 - self.share
        whole, variance = single._weights(rows, users, epsilon, width)
        pilot, _ = single._weights(rows, users, self.share * epsilon, width)
        tau = self.reach * float(np.sqrt(self._sigma2() + _spread(rows, pilot, self._sigma2())))
        final, two = single._weights(rows, users, rest * epsilon, 2 * tau)
        known = {"predicted_": np.array([variance, two]), "clip_": tau}
        if 2 * tau < rest * width:
            report = {**final.report, **known, "stages_": 2}
            exposure = pilot.exposure + final.exposure
            return pilot, Plan(final.C, final.back, final.scale, final.noise, exposure, report)
        report = {**whole.report, **known, "stages_": 1, "pilot_": np.empty(0)}
        return (Plan(whole.C, whole.back, whole.scale, whole.noise, whole.exposure, report),)

    def _joint(self, X: Floats, y: Floats, stages: tuple[Plan, ...]) -> Any:
        if len(stages) == 1:
            return self._law_of(stages[0], y)
        pilot, final = stages
        return TwoStageLaw(pilot, final, self._rows(X) @ final.back, y, final.report["clip_"])

    def _keep(self, drawn: Floats, stages: tuple[Plan, ...]) -> None:
        self.release_ = drawn
        if len(stages) == 2:
            self.pilot_, self.release_ = np.split(drawn, 2)

    def _noise(self, crowd: Crowd, *plan: Plan) -> Noise:
        r"""With one stage exact. With two an estimate, the noise of the second, and a bound.

        As :math:`CX=I`, the noise Z of the pilot cancels but for residuals that are clipped: it
        moves the answer by :math:`CDXZ`, with D diagonal between 0 and 1 and dependent on Z, and
        :math:`\mathbb E(a^\top CDXZ)^2\le a^\top CC^\top a\;\mathbb E\|XZ\|^2`. The estimate has
        labels within reach of the line.
        """
        stages = plan or self._plans(crowd)
        if len(stages) == 1:
            return super()._noise(crowd, *stages)
        pilot, final = stages
        spread = variance_of(final) * final.back @ final.back.T
        frame = table_frame(crowd.X, self.fit_intercept)
        moved = (
            variance_of(pilot) * ((self._rows(crowd.X[crowd.part.rows]) @ pilot.back) ** 2).sum()
        )
        through = final.back @ final.C
        return Noise.of(
            crowd, frame, spread, spread + moved * through @ through.T, width=self._width()
        )


def _spread(X: Floats, pilot: Plan, sigma2: float) -> float:
    """Mean over rows of the variance of the prediction of a pilot."""
    covariance = sigma2 * pilot.C @ pilot.C.T + 2 * pilot.scale**2 * np.eye(len(pilot.C))
    rows = X @ pilot.back
    return float(np.vdot(covariance, rows.T @ rows) / len(X))
