"""A pilot first, then the residuals: two-stage regression with labels private per user."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook._users import Users
from pdpbook.frames.settings import mechanism, setting, single
from pdpbook.frames.users import PeopleWithRows, Plan
from pdpbook.gwa._release import LabelPrivateRegression
from pdpbook.gwa.regression import GWARegression
from pdpbook.noise import ProductLaw
from pdpbook.noise.public import PublicNoise


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
        first = self.pilot.weights @ self.y
        return np.concatenate([first, self._second(first)])

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., 2k); returns shape (...)."""
        points = np.asarray(check.finite(points, "points"))
        first, second = np.split(points, 2, axis=-1)
        tails = np.abs(first - self.pilot.weights @ self.y).sum(axis=-1) / self.pilot.scale
        tails = tails + np.abs(second - self._second(first)).sum(axis=-1) / self.final.scale
        k = first.shape[-1]
        return np.asarray(-tails - k * np.log(4 * self.pilot.scale * self.final.scale))[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw both: shape (2k,), or (size, 2k)."""
        mean = self.pilot.weights @ self.y
        law = ProductLaw(mean, np.full(len(mean), self.pilot.scale))
        first = law.sample(size, rng=rng)
        second = self._second(first) + rng.laplace(0.0, self.final.scale, first.shape)
        return np.concatenate([first, second], axis=-1)

    def _second(self, first: Floats) -> Floats:
        residuals = np.clip(self.y - first @ self.X.T, -self.reach, self.reach)
        return np.asarray(first + residuals @ self.final.weights.T)


@mechanism
class TwoStageGWARegression(LabelPrivateRegression):
    r"""Regression on clipped residuals after a pilot, where public numbers say that it pays.

    X IS PUBLIC: only labels are protected, those of a user all at once. A `GWARegression` with
    the share f of every budget gives a pilot :math:`\beta_0`. The second release is

    .. math:: \beta_0 + C\,\mathrm{clip}_{[-\tau,\tau]}(y - X\beta_0) + \mathrm{Lap}(t)^d , \qquad
              \tau = z\,\Bigl(\sigma^2 + \frac1n\sum_i x_i^\top S x_i\Bigr)^{1/2} ,

    with C and t of GWA for an interval of width :math:`2\tau` and the rest of the budgets, and S
    the public covariance of the pilot. There are two stages if :math:`2\tau < (1-f)B`, which is
    when their predicted variance is smaller, and one otherwise. Both are charged to the same users,
    by sequential composition, and `guarantee_` counts both. Statement ``prop-two-stage`` (ours),
    chapter *user_level/gwa_variants*.

    Parameters
    ----------
    share : float, default 0.25
        Share f of the budgets for the pilot, above 0 and below 1.
    reach : float, default 3.5
        The z: clip residuals beyond so many standard deviations.
    sigma2 : float, optional
        Guess at the variance of the labels, as in `GWARegression`. It also sets where residuals are
        clipped; too small a value biases, and still costs no privacy.

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
    gap_ : float
        Certified relative gap of the weights, of the last stage; public.

    Examples
    --------
    >>> X, y = np.ones((2000, 1)), np.full(2000, 0.3)
    >>> TwoStageGWARegression(sigma2=1e-4, random_state=0).fit(X, y).stages_
    2
    """

    share: float = setting(default=0.25, rule=single(check.probability))
    reach: float = setting(default=3.5, rule=single(check.positive))
    solver: str = setting(default="auto")
    tol: float = setting(default=1e-8, rule=single(check.positive))

    def law(self, people: PeopleWithRows) -> ProductLaw | TwoStageLaw:
        final = people.plan
        if final.pilot is None:
            return super().law(people)  # type: ignore[no-any-return]
        rows, tau = self.with_constant(people.X) @ final.back, final.public["clip_"]
        return TwoStageLaw(final.pilot, final, rows, people.y, tau)

    def plan(self, X: Floats, users: Users, epsilon: Floats) -> Plan:
        *pilot, last = self.stages(X, users, epsilon)
        return replace(last, pilot=pilot[0]) if pilot else last

    def stages(self, X: Floats, users: Users, epsilon: Floats) -> tuple[Plan, ...]:
        """Return one plan, or the plans of pilot and final release: from public numbers alone."""
        sigma2, B, f = self.label_variance(), self.width(), self.share
        gwa = GWARegression(sigma2=sigma2, solver=self.solver, tol=self.tol)
        rows = self.with_constant(X)
        whole, variance = gwa.weigh(rows, users, epsilon, B)
        pilot, _ = gwa.weigh(rows, users, f * epsilon, B)
        tau = self.reach * float(np.sqrt(sigma2 + _spread(rows, pilot, sigma2)))
        final, two = gwa.weigh(rows, users, (1 - f) * epsilon, 2 * tau)
        known = {"predicted_": np.array([variance, two]), "clip_": tau}
        if 2 * tau < (1 - f) * B:
            known = {**final.public, **known, "stages_": 2}
            return pilot, replace(final, exposure=pilot.exposure + final.exposure, public=known)
        return (replace(whole, public={**whole.public, **known, "stages_": 1}),)

    def release(self, draw: Floats, law: Any, people: PeopleWithRows) -> None:
        super().release(draw, law, people)
        self.pilot_ = draw[: -len(self.release_)]

    def public_noise(self, plan: Plan) -> PublicNoise:
        """Return the noise of the last stage: where two are, that of the pilot follows the data."""
        if plan.pilot is None:
            return super().public_noise(plan)
        return PublicNoise(scale=plan.scale)


def _spread(X: Floats, pilot: Plan, sigma2: float) -> float:
    C = pilot.weights
    covariance = sigma2 * C @ C.T + 2 * pilot.scale**2 * np.eye(len(C))
    rows = X @ pilot.back
    return float(np.vdot(covariance, rows.T @ rows) / len(X))
