"""Law of the path of DP-SGD: draws for everybody, exact densities for a handful of people.

Which noise it takes is decided in `accounting`; the estimator lives in `dpsgd`.
"""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from pdpbook import Floats, check
from pdpbook.noise.laws import check_points, check_size

FEW = 12  # people: with more, the 2^n batches of one step are too many for a density
BLOCK = 4_000_000  # numbers in the largest temporary array


@dataclass(frozen=True, eq=False)
class DPSGDLaw:
    r"""Law of all iterates of DP-SGD, one after the other in one vector.

    .. math:: &\theta_{k+1} = \theta_k - \frac{\gamma}{b}\Bigl[\sum_{i\in S_k} g_i(\theta_k)
              \min\Bigl(1, \frac{C}{\|g_i(\theta_k)\|}\Bigr) + N(0, \sigma^2C^2 I)\Bigr],
              \\ &g_i(\theta) = 2(x_i^\top\theta - y_i)\,x_i, \quad \theta_0 = 0 ,

    where each person is in :math:`S_k` with probability q, whoever else is. Given the iterate
    before, each is a mixture of one Gaussian a batch: :math:`2^n` of them, so there is a density
    for a handful of people only. Not private: it holds the data.

    Parameters
    ----------
    X : ndarray, shape (n, d)
        Rows on the domain.
    y : ndarray, shape (n,)
        Labels on the domain.
    sample_rate : float
        Probability q with which a person is in a batch.
    batch_size : int
        Public divisor b of the noisy sum.
    clip_norm, learning_rate : float
        C and :math:`\gamma`.
    steps : int
        Number of steps T.
    noise_multiplier : float
        :math:`\sigma`: the noise on a sum of gradients deviates by :math:`\sigma C`.

    Notes
    -----
    Statement ``alg-dpsgd``, chapter *pac/dpsgd*. Made by `DPSGDRegression.output_law`.
    """

    X: Floats
    y: Floats
    sample_rate: float
    batch_size: int
    clip_norm: float
    learning_rate: float
    steps: int
    noise_multiplier: float

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
        if n > FEW:
            raise ValueError(
                f"X must have at most {FEW} rows for a density, a mixture of 2^n Gaussians; got {n}"
            )
        points = check_points(points, self.steps * d, ", a path each")
        path = points.reshape(-1, self.steps, d)
        before = np.concatenate([np.zeros_like(path[:, :1]), path[:, :-1]], axis=1)
        pairs = [part.reshape(points.size // d, d) for part in (path, before)]
        block = max(1, BLOCK // (2**n * d))
        cuts = range(0, len(pairs[0]), block)
        steps = [self._step_logpdf(*(part[k : k + block] for part in pairs)) for k in cuts]
        total = np.concatenate(steps).reshape(-1, self.steps).sum(axis=1)
        return np.asarray(total.reshape(points.shape[:-1]))[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw paths: shape (steps * d,), or (size, steps * d)."""
        rng, shape = check.rng(rng), check_size(size)
        paths = [self._path(rng) for _ in range(math.prod(shape))]
        return np.reshape(paths, (*shape, self.steps * self.X.shape[1])).astype(float)

    def _path(self, rng: np.random.Generator) -> Floats:
        n, d = self.X.shape
        theta, path = np.zeros(d), np.empty((self.steps, d))
        for k in range(self.steps):
            # a binomial number of people, all sets of that size alike: each on their own coin
            count = int(rng.binomial(n, self.sample_rate))
            batch = rng.choice(n, count, replace=False, shuffle=False)
            theta = self.step(theta, self.X.take(batch, axis=0), self.y.take(batch), rng=rng)
            path[k] = theta
        return path.ravel()

    def step(self, theta: Floats, X: Floats, y: Floats, *, rng: np.random.Generator) -> Floats:
        """Draw the iterate after `theta`, given its batch.

        Parameters
        ----------
        theta : ndarray, shape (d,)
            Where the step begins.
        X, y : ndarray, shapes (b, d) and (b,)
            Rows and labels of the batch on the domain; each gradient is clipped here.
        rng : Generator

        Returns
        -------
        ndarray, shape (d,)
            The next iterate, with the noise of one step.
        """
        check.rng(rng)
        pull = self._slopes(theta, X, y) @ X
        noise = self._deviation(len(y)) * rng.standard_normal(X.shape[1])
        return np.asarray(theta - self.learning_rate * (pull / self._divisor(len(y)) + noise))

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
