"""Laws of posterior releases: densities, samples, and the exact profile of a whole AdaOPS run."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular

from pdpbook import Floats, check
from pdpbook.noise.laws import check_size, keep
from pdpbook.noise.profiles import gauss_legendre
from pdpbook.per_instance import ops_profile
from pdpbook.posterior.calibration import AdaptivePlan, residual_bound


@dataclass(frozen=True, eq=False)
class PosteriorLaw:
    r"""Gaussian law :math:`\mathcal N(\hat\theta,(\gamma H)^{-1})`.

    Statement ``alg-adaops``, chapter *per_instance/adaops*. Not private: it holds the center.

    Parameters
    ----------
    center : array_like, shape (d,)
    precision : array_like, shape (d, d), positive definite
    """

    center: Floats
    precision: Floats
    _root: Floats = field(init=False, repr=False)

    def __post_init__(self) -> None:
        center = check.vector(check.finite(self.center, "center"), "center", "d")
        precision = check.matrix(self.precision, "precision", len(center), len(center))
        try:
            root = np.linalg.cholesky(precision)
        except np.linalg.LinAlgError:
            raise ValueError("precision must be positive definite") from None
        keep(self, center=center, precision=precision, _root=root)

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., d); returns shape (...)."""
        z = (np.asarray(check.finite(points, "points")) - self.center) @ self._root
        d = len(self.center)
        return np.asarray(
            np.log(np.diag(self._root)).sum() - (d * np.log(2 * np.pi) + (z**2).sum(-1)) / 2
        )[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw from the law: shape (d,), or (size, d)."""
        z = check.rng(rng).normal(size=(*check_size(size), len(self.center)))
        shift = solve_triangular(self._root, z.reshape(-1, z.shape[-1]).T, lower=True, trans=1)
        return np.asarray(self.center + shift.T.reshape(z.shape))


@dataclass(frozen=True, eq=False)
class AdaptiveLaw:
    r"""Joint law of everything AdaOPS releases, for one data set.

    A point is ``(eigenvalue, theta)``, with `release_norm` ``(eigenvalue, log_norm, theta)``.
    Statement ``prop-adaops-privacy``, chapter *per_instance/adaops*. Not private: for audits.

    Parameters
    ----------
    gram, moment : array_like, shapes (d, d) and (d,)
        :math:`X^\top X` and :math:`X^\top y` on the domain.
    plan : AdaptivePlan
    """

    gram: Floats
    moment: Floats
    plan: AdaptivePlan

    @property
    def center(self) -> Floats:
        """Mean of the first released number, an array of one entry."""
        least = max(float(np.linalg.eigvalsh(np.asarray(self.gram))[0]), 0.0)
        return np.array([least - self.plan.margin])

    def given(self, eigenvalue: float) -> tuple[float, float]:
        """Penalty and weight (lam, h) that follow from a released eigenvalue."""
        lam = self.plan.penalty(eigenvalue)
        return lam, max(float(eigenvalue), 0.0) + lam

    def weight(self, lam: float) -> Floats:
        r"""The matrix :math:`X^\top X+\lambda I`, with a trace more of the identity.

        Public and below every tolerance, the trace keeps it regular where the data are flat.
        """
        trace = 1e-9 + 1e-12 * self.plan.n_max
        return np.asarray(self.gram) + (lam + trace) * np.eye(len(self.moment))

    def ridge(self, lam: float) -> Floats:
        """Ridge coefficients for the penalty `lam`, without noise."""
        return np.asarray(np.linalg.solve(self.weight(lam), self.moment))

    def posterior(self, lam: float, gamma: float) -> PosteriorLaw:
        """Law of the draw for these parameters."""
        return PosteriorLaw(self.ridge(lam), gamma * self.weight(lam))

    def norm_law(self, lam: float, h: float) -> tuple[float, float]:
        """Mean and standard deviation of the released bound on the log of 1 + norm."""
        step = self.plan.norm_sensitivity(h)
        log_norm = float(np.log1p(np.linalg.norm(self.ridge(lam))))
        return log_norm + step * self.plan.margin, step * self.plan.scale

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw releases: shape (m,), or (size, m)."""
        rng, shape = check.rng(rng), check_size(size)
        count = math.prod(shape)
        head = self.center[0] + self.plan.scale * rng.normal(size=(count, 1))
        lam, h = self._given(head[:, 0])
        if self.plan.release_norm:
            mean, deviation = self._norm_laws(lam, h)
            head = np.column_stack([head, mean + deviation * rng.normal(size=count)])
        laws = map(self.posterior, lam, self.plan.gamma(h, lam, *head.T[1:]))
        draws = np.reshape([law.sample(rng=rng) for law in laws], (count, len(self.moment)))
        return np.column_stack([head, draws]).reshape(*shape, -1)

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., m); returns shape (...)."""
        points = np.asarray(check.finite(points, "points"))
        flat = points.reshape(-1, points.shape[-1])
        lam, h = self._given(flat[:, 0])
        total, head = _log_normal(flat[:, 0], float(self.center[0]), self.plan.scale), 1
        if self.plan.release_norm:
            total, head = total + _log_normal(flat[:, 1], *self._norm_laws(lam, h)), 2
        laws = map(self.posterior, lam, self.plan.gamma(h, lam, *flat[:, 1:head].T))
        last = [law.logpdf(theta) for law, theta in zip(laws, flat[:, head:], strict=True)]
        return np.asarray(total + last).reshape(points.shape[:-1])[()]

    def _given(self, eigenvalues: Floats) -> Floats:
        return np.array([self.given(z) for z in eigenvalues]).reshape(-1, 2).T

    def _norm_laws(self, lam: Floats, h: Floats) -> Floats:
        pairs = zip(lam, h, strict=True)
        return np.array([self.norm_law(*pair) for pair in pairs]).reshape(-1, 2).T


def adaptive_profile(
    epsilon: ArrayLike, without: AdaptiveLaw, joined: AdaptiveLaw, x: ArrayLike, y: float
) -> tuple[Floats, Floats]:
    r"""Exact privacy profile of a whole run of AdaOPS for one person on one data set.

    Given the numbers that are released first, the draw has the profile of one posterior sample.
    One integral over them remains, with the released eigenvalue alone or the norm as well in z:

    .. math:: \delta(\varepsilon) = \int f_P(z)\,
              \delta_{P\|Q}\bigl(\varepsilon-\log\tfrac{f_P(z)}{f_Q(z)};\mu_z,\rho_z\bigr)\,dz .

    Statement ``prop-adaops-privacy``, chapter *per_instance/adaops*. Gauss-Legendre quadrature in
    each released number, over 9 standard deviations around both means. Returns the pair (add,
    remove) of deltas, each in the shape of `epsilon`.

    Parameters
    ----------
    epsilon : array_like, shape () or (m,), in nats
    without, joined : AdaptiveLaw
        Laws for the data without and with the person, of one plan; else ValueError.
    x, y : array_like of shape (d,), and float
        The person's row and label on the domain.

    Examples
    --------
    >>> plan = AdaptivePlan(1.0, 1e-2, 1, 1000)
    >>> one, two = (AdaptiveLaw([[g]], [m], plan) for g, m in [(50.0, 40.0), (51.0, 39.0)])
    >>> bool(max(adaptive_profile(1.0, one, two, [1.0], -1.0)) <= plan.delta)
    True
    """
    epsilon = np.asarray(check.nonnegative(epsilon, "epsilon"))
    if without.plan != joined.plan:
        raise ValueError("without and joined must share one plan")
    x, plan = np.asarray(check.finite(x, "x")), without.plan
    means = np.array([float(without.center[0]), float(joined.center[0])])
    z, step = _quadrature(means, np.full(2, plan.scale), [0.0, 1.0])  # kinks of the parameters
    lam, h = without._given(z)
    mu = np.array([x @ np.linalg.solve(without.weight(value), x) for value in lam])
    residual = np.array([y - x @ without.ridge(value) for value in lam])
    log_p, log_q = (_log_normal(z, mean, plan.scale) for mean in means)
    log_norm: Any = np.inf
    if plan.release_norm:
        inner = [_norms(without, joined, *pair) for pair in zip(lam, h, strict=True)]
        log_norm, weight, more_p, more_q = (np.array(each) for each in zip(*inner, strict=True))
        apart = (value[:, None] for value in (step, log_p, log_q, lam, h, mu, residual))
        step, log_p, log_q, lam, h, mu, residual = apart
        step, log_p, log_q = step * weight, log_p + more_p, log_q + more_q
    rho = np.sqrt(plan.gamma(h, lam, log_norm)) * np.abs(residual)
    mu, rho = (np.broadcast_to(value, step.shape).ravel() for value in (mu, rho))
    step, log_p, log_q = step.ravel(), log_p.ravel(), log_q.ravel()
    gain, at = log_p - log_q, epsilon[..., None]
    add = (step * np.exp(log_p) * _one_way(at - gain, mu, rho, 0)).sum(axis=-1)
    remove = (step * np.exp(log_q) * _one_way(at + gain, mu, rho, 1)).sum(axis=-1)
    return add, remove


def _norms(
    without: AdaptiveLaw, joined: AdaptiveLaw, lam: float, h: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Nodes, weights and both log-densities of the released norm, given the first release."""
    laws = [law.norm_law(lam, h) for law in (without, joined)]
    means, scales = np.array(laws).T
    largest = np.log(residual_bound(h, lam, without.plan.n_max))  # above it nothing changes
    kinks = np.clip([0.0, float(largest)], *_range(means, scales))
    nodes, weights = _quadrature(means, scales, kinks, count=30, panels=3)
    log_p, log_q = (_log_normal(nodes, *law) for law in laws)
    return nodes, weights, log_p, log_q


def _range(means: Floats, scales: Floats) -> tuple[float, float]:
    return float((means - 9 * scales).min()), float((means + 9 * scales).max())


def _quadrature(
    means: Floats, scales: Floats, kinks: ArrayLike, *, count: int = 60, panels: int = 0
) -> tuple[Floats, Floats]:
    """Gauss-Legendre nodes and weights over two normal laws, split at kinks.

    With `panels` the number of pieces is the same whatever the kinks: equal pieces between them.
    """
    low, high = _range(means, scales)
    breaks = np.sort(np.clip([low, *np.asarray(kinks), high], low, high))
    if panels:
        parts = np.linspace(0, 1, panels + 1)[:-1]
        inside = breaks[:-1, None] + np.diff(breaks)[:, None] * parts
        breaks = np.append(inside.ravel(), high)
    nodes, weights = gauss_legendre(count)
    middle, half = (breaks[1:] + breaks[:-1]) / 2, np.diff(breaks) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


def _one_way(epsilon: Floats, mu: Floats, rho: Floats, way: int) -> Floats:
    """Profile of a draw in one direction, at negative epsilon by duality."""
    both = ops_profile(np.abs(epsilon), mu, rho)
    factor = np.exp(np.minimum(epsilon, 0.0))
    return np.asarray(np.where(epsilon >= 0, both[way], 1 - factor + factor * both[1 - way]))


def _log_normal(value: Any, mean: Any, scale: Any) -> Any:
    return -(((value - mean) / scale) ** 2) / 2 - np.log(scale) - np.log(2 * np.pi) / 2
