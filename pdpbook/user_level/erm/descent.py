"""The law of all noisy gradients of a projected descent, clipped user by user. Not private."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.noise.laws import check_points
from pdpbook.user_level.erm.losses import LOSSES

BLOCK = 4_000_000  # numbers in the largest temporary array


@dataclass(frozen=True, eq=False)
class GradientTranscript:
    r"""Law of the noisy gradients of a projected descent, one after the other in one vector.

    .. math:: &z_k = \sum_l \mathrm{clip}_{b_l}\Bigl(\sum_{i\in S_l} c_i\nabla\ell_i(\theta_k)\Bigr)
              + N(0,\varsigma^2I),\\
              &\theta_{k+1} = \Pi_R(\theta_k - \eta z_k), \qquad \theta_0=0 .

    Iterates are functions of the gradients: who sees these sees all. Not private: it holds the
    data. Made by `WeightedGradientDescent.output_law`. Statement ``alg-weighted-erm``, chapter
    *user_level/erm*.
    """

    X: Floats  #: rows on the domain, shape (n, d); all rows of a user together
    y: Floats  #: labels on the domain, shape (n,)
    row_weights: Floats  #: :math:`c_i`, shape (n,); they sum to 1
    starts: NDArray[np.intp]  #: the first row of each user, shape (m,)
    clips: Floats  #: longest gradient of each user, :math:`b_l`, shape (m,)
    loss: str  #: "square" or "logistic"
    radius: float  #: R
    step_size: float  #: :math:`\eta`
    steps: int  #: number of noisy gradients
    sigma: float  #: :math:`\varsigma`, standard deviation of the noise on each coordinate

    @property
    def center(self) -> Floats:
        """The gradients without noise, shape (steps * d,)."""
        return np.asarray(self._run(np.zeros((self.steps, 1, self.X.shape[1])))[0])

    def gradient(self, theta: ArrayLike) -> Floats:
        """Return the sum of clipped gradients of users at each of `theta`, shape (..., d)."""
        points = np.asarray(check.finite(theta, "theta"))
        flat = points.reshape(-1, points.shape[-1])
        total, block = np.empty_like(flat), max(1, BLOCK // self.X.size)
        for k in range(0, len(flat), block):
            total[k : k + block] = self._sum_of_users(flat[k : k + block])
        return np.asarray(total.reshape(points.shape))

    def _sum_of_users(self, theta: Floats) -> Floats:
        """Sum of clipped gradients at each of `theta`, shape (k, d)."""
        if len(self.starts) < len(self.y):
            return np.asarray(self._clipped(self._pulls(theta)).sum(axis=1))
        # everybody owns one row, and a gradient is a multiple of it: no array (k, n, d) is needed
        slopes = self.row_weights * LOSSES[self.loss].slope(theta @ self.X.T, self.y)
        norms = np.abs(slopes) * self._row_norms
        return np.asarray((slopes * (self.clips / np.maximum(norms, self.clips))) @ self.X)

    @cached_property
    def _row_norms(self) -> Floats:
        return np.asarray(np.linalg.norm(self.X, axis=1))

    def _pulls(self, theta: Floats) -> Floats:
        """Weighted gradients of rows at each of `theta`, shape (k, n, d)."""
        slope = LOSSES[self.loss].slope(theta @ self.X.T, self.y)
        return np.asarray((self.row_weights * slope)[:, :, None] * self.X)

    def project(self, theta: Floats) -> Floats:
        """Return the nearest points of the ball."""
        norms = np.linalg.norm(theta, axis=-1, keepdims=True)
        return np.asarray(theta * (self.radius / np.maximum(norms, self.radius)))

    def release(self, transcripts: ArrayLike) -> Floats:
        """Return the average of start and iterates, shape (..., d), of transcripts."""
        return np.asarray(sum(self._iterates(self._shaped(transcripts))) / (self.steps + 1))

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density of transcripts, shape (..., steps * d); returns shape (...)."""
        z = self._shaped(points)
        exponent = np.zeros(z.shape[:-2])
        for k, theta in zip(range(self.steps), self._iterates(z), strict=False):
            noise = (z[..., k, :] - self.gradient(theta)) / self.sigma
            exponent = exponent + (noise**2).sum(axis=-1) / 2
        constant = self.steps * self.X.shape[1] * np.log(self.sigma * np.sqrt(2 * np.pi))
        return np.asarray(-exponent - constant)[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw transcripts: shape (steps * d,), or (size, steps * d)."""
        check.rng(rng)
        count = 1 if size is None else check.count(size, "size", minimum=0)
        noise = rng.standard_normal((self.steps, count, self.X.shape[1]))
        drawn = self._run(self.sigma * noise)
        return np.asarray(drawn[0] if size is None else drawn)

    def _run(self, noise: Floats) -> Floats:
        """Descend from zero; noise of shape (steps, size, d)."""
        theta, seen = np.zeros_like(noise[0]), np.empty_like(noise)
        for k in range(self.steps):
            seen[k] = self.gradient(theta) + noise[k]
            theta = self.project(theta - self.step_size * seen[k])
        return np.asarray(seen.swapaxes(0, 1).reshape(noise.shape[1], -1))

    def _clipped(self, rows: Floats) -> Floats:
        """Gradients of users, shape (k, m, d), of those of rows, shape (k, n, d)."""
        users = np.add.reduceat(rows, self.starts, axis=1)
        norms = np.linalg.norm(users, axis=2)
        return np.asarray(users * (self.clips / np.maximum(norms, self.clips))[:, :, None])

    def _iterates(self, z: Floats) -> Iterator[Floats]:
        """The start, and where each gradient of transcripts led."""
        theta = np.zeros_like(z[..., 0, :])
        yield theta
        for k in range(self.steps):
            theta = self.project(theta - self.step_size * z[..., k, :])
            yield theta

    def _shaped(self, points: ArrayLike) -> Floats:
        d = self.X.shape[1]
        z = check_points(points, self.steps * d, ", a transcript each")
        return z.reshape(*z.shape[:-1], self.steps, d)
