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
        d = len(self.center)
        standard = (np.asarray(check.finite(points, "points")) - self.center) @ self._root
        square = d * np.log(2 * np.pi) + (standard**2).sum(-1)
        return np.asarray(np.log(np.diag(self._root)).sum() - square / 2)[()]

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw from the law: shape (d,), or (size, d)."""
        d = len(self.center)
        standard = check.rng(rng).normal(size=(*check_size(size), d))
        shift = solve_triangular(self._root, standard.reshape(-1, d).T, lower=True, trans=1)
        return np.asarray(self.center + shift.T.reshape(standard.shape))


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
        smallest = max(float(np.linalg.eigvalsh(np.asarray(self.gram))[0]), 0.0)
        return np.array([smallest - self.plan.margin])

    def penalty_and_weight(self, eigenvalue: float) -> tuple[float, float]:
        """Penalty and weight (lam, h) that follow from a released eigenvalue."""
        lam = self.plan.penalty(eigenvalue)
        return lam, max(float(eigenvalue), 0.0) + lam

    def weight(self, lam: float) -> Floats:
        r"""The matrix :math:`X^\top X+\lambda I`, with a tiny multiple of the identity added.

        The multiple is public and below every tolerance; without it the matrix is singular where
        the penalty is 0 and the rows leave out a direction.
        """
        tiny = 1e-9 + 1e-12 * self.plan.n_max
        return np.asarray(self.gram) + (lam + tiny) * np.eye(len(self.moment))

    def ridge(self, lam: float) -> Floats:
        """Ridge coefficients for the penalty `lam`, without noise."""
        return np.asarray(np.linalg.solve(self.weight(lam), self.moment))

    def posterior(self, lam: float, gamma: float) -> PosteriorLaw:
        """Law of the draw for this penalty and this inverse temperature."""
        return PosteriorLaw(self.ridge(lam), gamma * self.weight(lam))

    def norm_law(self, lam: float, h: float) -> tuple[float, float]:
        """Mean and standard deviation of the released bound on the log of 1 + norm."""
        sensitivity = self.plan.norm_sensitivity(h)
        log_norm = float(np.log1p(np.linalg.norm(self.ridge(lam))))
        return log_norm + sensitivity * self.plan.margin, sensitivity * self.plan.scale

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Draw releases: shape (m,), or (size, m)."""
        rng = check.rng(rng)
        shape = check_size(size)
        count = math.prod(shape)
        eigenvalues = self.center[0] + self.plan.scale * rng.normal(size=(count, 1))
        lam, h = self._penalties_and_weights(eigenvalues[:, 0])
        released = eigenvalues  # the numbers before the draw, shape (count, 1) or (count, 2)
        if self.plan.release_norm:
            mean, deviation = self._norm_laws(lam, h)
            log_norms = mean + deviation * rng.normal(size=count)
            released = np.column_stack([eigenvalues, log_norms])
        gammas = self.plan.gamma(h, lam, *released.T[1:])
        draws = np.empty((count, len(self.moment)))
        for k in range(count):
            draws[k] = self.posterior(lam[k], gammas[k]).sample(rng=rng)
        points = np.column_stack([released, draws])
        return points.reshape(*shape, points.shape[1])

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., m); returns shape (...)."""
        points = np.asarray(check.finite(points, "points"))
        flat = points.reshape(-1, points.shape[-1])
        lam, h = self._penalties_and_weights(flat[:, 0])
        total = _log_normal(flat[:, 0], float(self.center[0]), self.plan.scale)
        if self.plan.release_norm:
            mean, deviation = self._norm_laws(lam, h)
            total = total + _log_normal(flat[:, 1], mean, deviation)
        first = self.plan.released  # so many numbers stand before the draw
        gammas = self.plan.gamma(h, lam, *flat[:, 1:first].T)
        thetas = flat[:, first:]
        of_the_draw = np.empty(len(flat))
        for k in range(len(flat)):
            of_the_draw[k] = self.posterior(lam[k], gammas[k]).logpdf(thetas[k])
        return np.asarray(total + of_the_draw).reshape(points.shape[:-1])[()]

    def _penalties_and_weights(self, eigenvalues: Floats) -> tuple[Floats, Floats]:
        """Return `penalty_and_weight` of many released eigenvalues, two arrays of shape (k,)."""
        lam, h = np.empty(len(eigenvalues)), np.empty(len(eigenvalues))
        for k, eigenvalue in enumerate(eigenvalues):
            lam[k], h[k] = self.penalty_and_weight(eigenvalue)
        return lam, h

    def _norm_laws(self, lam: Floats, h: Floats) -> tuple[Floats, Floats]:
        """Return means and standard deviations of `norm_law`, two arrays of shape (k,)."""
        mean, deviation = np.empty(len(lam)), np.empty(len(lam))
        for k in range(len(lam)):
            mean[k], deviation[k] = self.norm_law(lam[k], h[k])
        return mean, deviation


def adaptive_profile(
    epsilon: ArrayLike, without: AdaptiveLaw, joined: AdaptiveLaw, x: ArrayLike, y: float
) -> tuple[Floats, Floats]:
    r"""Exact privacy profile of a whole run of AdaOPS for one person on one data set.

    Given the numbers z that are released before the draw, the eigenvalue and with `release_norm`
    the norm, the draw has the profile of one posterior sample. What remains is an integral over z:

    .. math:: \delta(\varepsilon) = \int f_P(z)\,
              \delta_{P\|Q}\bigl(\varepsilon-\log\tfrac{f_P(z)}{f_Q(z)};\mu_z,\rho_z\bigr)\,dz .

    Statement ``prop-adaops-privacy``, chapter *per_instance/adaops*. By Gauss-Legendre quadrature
    in every released number, over 9 standard deviations around both means. Returns the pair (add,
    remove) of deltas, both in the shape of `epsilon`.

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
        raise ValueError("without and joined must be laws of one plan; got two different plans")
    x = np.asarray(check.finite(x, "x"))
    plan = without.plan
    mean_p, mean_q = float(without.center[0]), float(joined.center[0])
    scales = np.full(2, plan.scale)
    kinks = [0.0, 1.0]  # released eigenvalues at which the penalty changes its formula
    eigenvalues, weight = _quadrature(np.array([mean_p, mean_q]), scales, kinks)
    log_p = _log_normal(eigenvalues, mean_p, plan.scale)
    log_q = _log_normal(eigenvalues, mean_q, plan.scale)
    lam, h = without._penalties_and_weights(eigenvalues)
    mu = np.array([x @ np.linalg.solve(without.weight(penalty), x) for penalty in lam])
    residual = np.array([y - x @ without.ridge(penalty) for penalty in lam])
    if plan.release_norm:  # one row for every eigenvalue, one column for every norm
        rows = [_norm_nodes(without, joined, lam[k], h[k]) for k in range(len(lam))]
        log_norm, norm_weight, norm_log_p, norm_log_q = (
            np.array(column) for column in zip(*rows, strict=True)
        )
        weight = weight[:, None] * norm_weight
        log_p = log_p[:, None] + norm_log_p
        log_q = log_q[:, None] + norm_log_q
        gamma = plan.gamma(h[:, None], lam[:, None], log_norm)
        mu, residual = mu[:, None], residual[:, None]
    else:
        gamma = plan.gamma(h, lam)
    rho = np.sqrt(gamma) * np.abs(residual)
    mu = np.broadcast_to(mu, weight.shape).ravel()
    rho = np.broadcast_to(rho, weight.shape).ravel()
    weight, log_p, log_q = weight.ravel(), log_p.ravel(), log_q.ravel()
    log_ratio = log_p - log_q
    at = epsilon[..., None]
    add = weight * np.exp(log_p) * _delta_of_draw(at - log_ratio, mu, rho, "add")
    remove = weight * np.exp(log_q) * _delta_of_draw(at + log_ratio, mu, rho, "remove")
    return add.sum(axis=-1), remove.sum(axis=-1)


def _norm_nodes(
    without: AdaptiveLaw, joined: AdaptiveLaw, lam: float, h: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Return nodes, weights and both log-densities of the released norm, given the eigenvalue."""
    mean_p, scale_p = without.norm_law(lam, h)
    mean_q, scale_q = joined.norm_law(lam, h)
    means, scales = np.array([mean_p, mean_q]), np.array([scale_p, scale_q])
    # gamma follows the released norm between 0 and the largest residual of anybody
    largest = float(np.log(residual_bound(h, lam, without.plan.n_max)))
    kinks = np.clip([0.0, largest], *_range(means, scales))
    nodes, weights = _quadrature(means, scales, kinks, count=30, panels=3)
    log_p = _log_normal(nodes, mean_p, scale_p)
    log_q = _log_normal(nodes, mean_q, scale_q)
    return nodes, weights, log_p, log_q


def _range(means: Floats, scales: Floats) -> tuple[float, float]:
    """Return the ends of an interval with 9 standard deviations on both sides of both means."""
    return float((means - 9 * scales).min()), float((means + 9 * scales).max())


def _quadrature(
    means: Floats, scales: Floats, kinks: ArrayLike, *, count: int = 60, panels: int = 0
) -> tuple[Floats, Floats]:
    """Return Gauss-Legendre nodes and weights over two normal laws.

    Their range is split at the kinks, and with `panels` every piece into so many equal ones, so
    that the number of nodes is the same whatever the kinks.
    """
    low, high = _range(means, scales)
    breaks = np.sort(np.clip([low, *np.asarray(kinks), high], low, high))
    if panels:
        fractions = np.linspace(0, 1, panels + 1)[:-1]
        starts = breaks[:-1, None] + np.diff(breaks)[:, None] * fractions
        breaks = np.append(starts.ravel(), high)
    nodes, weights = gauss_legendre(count)
    middle = (breaks[1:] + breaks[:-1]) / 2
    half = np.diff(breaks) / 2
    return (middle[:, None] + half[:, None] * nodes).ravel(), (half[:, None] * weights).ravel()


def _delta_of_draw(epsilon: Floats, mu: Floats, rho: Floats, direction: str) -> Floats:
    r"""Return the profile of a draw in one direction, also at negative epsilon.

    By duality :math:`\delta_{P\|Q}(\varepsilon) = 1-e^\varepsilon+e^\varepsilon
    \delta_{Q\|P}(-\varepsilon)`.
    """
    profile = ops_profile(np.abs(epsilon), mu, rho)
    delta, reverse = profile.add, profile.remove
    if direction == "remove":
        delta, reverse = reverse, delta
    factor = np.exp(np.minimum(epsilon, 0.0))
    return np.asarray(np.where(epsilon >= 0, delta, 1 - factor + factor * reverse))


def _log_normal(value: Any, mean: Any, scale: Any) -> Any:
    """Return the log-density of a normal law."""
    return -(((value - mean) / scale) ** 2) / 2 - np.log(scale) - np.log(2 * np.pi) / 2
