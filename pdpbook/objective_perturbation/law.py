"""The exact law of a minimizer whose objective was tilted at random. Not private."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats
from pdpbook.huber import huber_ridge
from pdpbook.noise import L2Laplace, sample_l2_laplace
from pdpbook.noise.laws import Size, check_points
from pdpbook.noise.profiles import places

BLOCK = 4_000_000  # numbers in the largest temporary array
NEWTON_STEPS = 12  # for all tilts together; what is left is solved one by one


@dataclass(frozen=True, eq=False)
class ObjectiveLaw:
    r"""Law of the minimizer of Huber losses, a penalty and a random linear term.

    .. math:: \hat\theta = \arg\min_\theta\ \sum_i w_i h_c(y_i-x_i^\top\theta) + \lambda\|\theta\|^2
              + b^\top\theta, \qquad b\sim\text{density}\propto e^{-\beta\|b\|}.

    One tilt leads to one minimizer and back,
    :math:`b(\theta)=2\sum_i w_i\psi_c(r_i)x_i-2\lambda\theta`, so almost everywhere

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
            relative = hessian / (2 * self.lam)  # the identity, and what data add
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
        how: Any = {"threshold": self.threshold, "gradient_norm": self.gradient_norm}
        for i in np.flatnonzero(~(error <= self.gradient_norm)):  # by a line search, or an error
            exact = huber_ridge(self.X, self.y, self.lam, self.weights, linear=flat[i], **how)
            theta[i] = exact.theta
        return theta.reshape(b.shape)

    def _newton(self, tilt: Floats) -> Floats:
        """Full Newton steps for many tilts at once; the objective is quadratic piece by piece."""
        theta, at = np.zeros_like(tilt), np.arange(len(tilt))
        curved = np.ones((len(tilt), len(self.y)), dtype=bool)  # first as if it were one piece
        pull = np.broadcast_to(2 * self.X.T @ (self.weights * self.y), tilt.shape)
        for _ in range(NEWTON_STEPS):
            slope = tilt[at] - pull
            theta[at] -= np.linalg.solve(self._hessian(curved), slope[:, :, None])[:, :, 0]
            pull = self.tilt_at(theta[at])
            open_ = np.linalg.norm(pull - tilt[at], axis=-1) > self.gradient_norm
            at, pull = at[open_], pull[open_]
            if not len(at):
                break
            curved = self._curved(theta[at])
        return theta

    def _hessian(self, curved: NDArray[np.bool_]) -> Floats:
        place: dict[bytes, int] = {}  # many points share one set of curved losses
        at = [place.setdefault(row.tobytes(), len(place)) for row in np.packbits(curved, axis=1)]
        patterns = curved[np.unique(at, return_index=True)[1]]
        scaled = (self.weights * patterns)[:, :, None] * self.X
        each = 2 * (self.X.T @ scaled + self.lam * np.eye(self.X.shape[1]))
        return np.asarray(each[at])

    def _blocks(self, points: Any) -> Iterator[NDArray[np.intp]]:
        return places(np.ones(np.shape(points)), max(1, BLOCK // self.X.size))

    def _influence(self, residuals: Floats) -> Floats:
        return np.clip(residuals, -self.threshold, self.threshold)

    def _curvature(self, residuals: Floats) -> NDArray[np.bool_]:
        return np.asarray(np.abs(residuals) <= self.threshold)

    def _curved(self, theta: Floats) -> NDArray[np.bool_]:
        return self._curvature(self.y - theta @ self.X.T)
