"""Ridge regression by gradient descent that is noisy at every step, with a budget for everyone.

What a person adds to a gradient is bounded, wherever a step starts: no minimizer has to be reached.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.frames.cube import CubeRegressor
from pdpbook.frames.people import People
from pdpbook.frames.settings import mechanism, one_of, optional, setting
from pdpbook.guarantees import GaussianDP
from pdpbook.noise import gaussian_mu
from pdpbook.noise.laws import check_points, check_size, starts
from pdpbook.noise.profiles import at_levels
from pdpbook.noise.public import PublicNoise
from pdpbook.sensitivity import huber_constant

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


@mechanism
class GradientDescentRidge(CubeRegressor):
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
    guarantee_ : GaussianDP
        What each person was promised, under replace-one neighbors;
        ``guarantee_.to_approximate(delta)`` is the promise that was asked for.
    noise_ : PublicNoise
        ``noise_.scale`` is the standard deviation on each
        coordinate of a gradient on the domain.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y, epsilon = rng.random((500, 2)), rng.random(500), np.repeat([0.1, 1.0], [100, 400])
    >>> model = GradientDescentRidge(lam=0.5, delta=1e-6).fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.noise_.scale, 3)
    ((2,), 0.184)
    """

    delta: float = setting(default=1e-6, rule=partial(check.delta, zero=True))
    steps: int = setting(default=10, rule=check.count)
    step_size: float | None = setting(default=None, rule=optional(check.number))
    loss: str = setting(default="huber", rule=one_of("huber", "square"))
    huber_threshold: float = setting(default=1.0, rule=check.scale)
    clip_norm: float | None = setting(default=None, rule=optional(check.scale))
    row_norm: float | None = setting(default=None)

    def law(self, people: People) -> DescentLaw:
        X, y, d = people.X, people.y, people.d
        clips, step = self.thresholds(X), self.step(d)
        sigma = 1 / self.rate(people.strength, d)
        return DescentLaw(X, y, people.weights, self.lam, clips, step, self.steps, sigma)

    def promise(self, people: People) -> GaussianDP:
        return GaussianDP(people.spent, neighbors="replace-one")

    def strength(self, epsilon: Floats, d: int) -> Floats:
        """Return the mu of Gaussian privacy whose profile passes through each budget."""
        return at_levels(gaussian_mu, epsilon, float(self.delta))

    def constant(self, d: int) -> float:
        """Return C: T steps, each moved by at most 2G per unit of weight, cost as their root."""
        return float(2 * self.gradient_bound(d) * np.sqrt(self.steps))

    def gradient_bound(self, d: int) -> float:
        """Return the length G of the gradient of one person's loss."""
        if self.loss == "huber":
            return 2 * self.huber_threshold * self.radius(d)
        return 2 * self.radius(d) if self.clip_norm is None else float(self.clip_norm)

    def thresholds(self, X: Floats) -> Any:
        """Return the residuals beyond which a loss turns linear, so that no gradient exceeds G."""
        if self.loss == "huber":
            return self.huber_threshold
        norms = np.linalg.norm(X, axis=1)
        return self.gradient_bound(X.shape[1]) / (2 * np.maximum(norms, 1e-300))

    def step(self, d: int) -> float:
        """Return the step size."""
        default = 1 / (2 * self.lam + self.radius(d) ** 2)
        return float(default if self.step_size is None else self.step_size)

    def check(self) -> None:
        if self.delta == 0:
            raise ValueError(
                "delta must be above 0 and below 1; got 0. Gaussian noise keeps no pure promise: "
                "pass a delta well below 1 / n"
            )
        huber_constant(self.lam, 1, self.huber_threshold, self.row_norm)  # refuses bad values
        if self.step_size is not None and not self.step_size < 1 / self.lam:
            raise ValueError(
                f"step_size must be below 1 / lam = {1 / self.lam:.3g}, or the penalty alone "
                f"makes the iterates diverge; got {self.step_size:g}"
            )

    def release(self, draw: Floats, law: DescentLaw, people: People) -> None:
        super().release(draw[-people.d :], law, people)
        self.noise_ = PublicNoise(scale=float(law.sigma))
