r"""How much a noise protects, measured on fresh halves: one-sided bounds for everybody at once.

Moments are estimated, so the bound holds with a stated confidence over the simulation;
`conditional_success_rate` is the ceiling to aim at so that the promised one counts failures. No
bound on a mean exists without a bound on the values: a public ellipsoid into which the weights are
clipped before noise gives one, for every model, and clipping never adds to a difference.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from pdpbook import Floats, check
from pdpbook.pac.allocation import PILOT, UNREACHED, halves, whitener
from pdpbook.pac.pool import Pool
from pdpbook.pac.rates import check_rate, plain, success_rate_to_snr


@dataclass(frozen=True, eq=False)
class PublicEllipsoid:
    r"""Where the weights may be: within `radius` of `center`, in units of the noise.

    Clipping is the projection in the norm of :math:`\Sigma^{-1}`: it never lengthens a difference,
    and none exceeds twice the radius. A direction without noise is set to the center. All three
    fields come from the public pool and from draws, never from the secret half.
    """

    center: Floats  #: shape (p,)
    covariance: Floats  #: shape (p, p), that of the noise up to a factor
    radius: float  #: above 0

    @cached_property
    def _maps(self) -> tuple[Floats, Floats]:
        return whitener(self.covariance)

    def whiten(self, weights: ArrayLike) -> Floats:
        """Clipped weights, in coordinates where noise is standard: (..., p) to (..., r)."""
        w = (np.asarray(weights) - self.center) @ self._maps[0].T
        length = np.linalg.norm(w, axis=-1, keepdims=True)
        return np.asarray(w * (self.radius / np.maximum(length, self.radius)))

    def clip(self, weights: ArrayLike) -> Floats:
        """Weights, shape (..., p), projected into the ellipsoid."""
        return np.asarray(self.center + self.whiten(weights) @ self._maps[1].T)


def public_ellipsoid(
    pool: Pool,
    covariance: ArrayLike,
    *,
    sample_rate: float = 0.5,
    draws: int = PILOT,
    rng: np.random.Generator,
) -> PublicEllipsoid:
    """Center and radius from halves drawn for the purpose: the smallest that would clip none.

    Parameters
    ----------
    pool : Pool
    covariance : array_like, shape (p, p)
        Of the noise.
    sample_rate : float, default 0.5
    draws : int, default 1000
        Number of halves.
    rng : Generator
    """
    check.rng(rng)
    fits = pool.fits(pool.sample(check.count(draws, "draws", minimum=2), sample_rate, rng))
    center = fits.mean(axis=0)
    cov = np.asarray(covariance, dtype=float)
    radius = float(np.linalg.norm((fits - center) @ whitener(cov)[0].T, axis=1).max())
    return PublicEllipsoid(center, cov, radius if radius > 0 else 1.0)


def empirical_bernstein(
    mean: ArrayLike, variance: ArrayLike, draws: int, largest: float, failure: float
) -> Any:
    r"""Rigorous upper bound on the mean of values in [0, Q] from T independent ones.

    .. math:: \bar q + \sqrt{\frac{2\hat V\ln(2/\beta)}{T}} + \frac{7 Q \ln(2/\beta)}{3(T-1)}

    Maurer and Pontil (2009), Theorem 4. Used in ``alg-pac-noise``, chapter *pac/noise*.
    Elementwise; arguments broadcast.

    Parameters
    ----------
    mean, variance : array_like
        Of the values; the variance with divisor T - 1.
    draws : int, T, at least 2
    largest : float
        Q; every possible value lies in [0, Q], not only those seen.
    failure : float in (0, 1)
        :math:`\beta`, the chance that the bound is below the mean.
    """
    T = check.count(draws, "draws", minimum=2)
    log = np.log(2 / check.delta(failure, "failure"))
    Q = check.number(largest, "largest")
    spread = np.sqrt(2 * np.asarray(variance) * log / T)
    return np.asarray(mean) + spread + 7 * Q * log / (3 * (T - 1))


def conditional_success_rate(success_rate: ArrayLike, confidence: float, prior: float = 0.5) -> Any:
    r"""Ceiling to aim at in a simulation, so that the promise counts the chance that it fails.

    With chance at most :math:`\beta`, one minus the confidence, the bounds of a simulation are
    wrong, and then nobody may be hidden. Averaged over the simulation everybody's ceiling is

    .. math:: (1 - \beta)\,p' + \beta \le p_o, \qquad p' = \frac{p_o - \beta}{1 - \beta} .

    Statement ``prop-pac-ceiling`` (ours), chapter *pac/printed*. For calibration by mutual
    information it asks for less noise than to count failures in the information.

    Parameters
    ----------
    success_rate : array_like
        Ceilings :math:`p_o` to be promised, below 1, above :math:`p + (1 - p)\beta`, p the prior.
    confidence : float
        That all bounds of the simulation hold, in (0, 1).
    prior : float in [0.5, 1), default 0.5

    Returns
    -------
    float or ndarray, shape of `success_rate`
        :math:`p'`, above `prior`, rounded down.

    Examples
    --------
    >>> round(conditional_success_rate(0.75, 0.99), 6)
    0.747475
    """
    rate, prior = check_rate(success_rate, prior)
    confidence = check.delta(confidence, "confidence")
    beta = 1 - confidence
    rounding = 4 * np.finfo(float).eps
    with np.errstate(over="ignore"):
        inner = (np.asarray(rate) - beta - rounding) / confidence
    if not np.all(inner > prior):
        low = np.min(rate)
        raise ValueError(
            f"success_rate must be above {prior + (1 - prior) * beta:.12g} with a confidence of "
            f"{confidence!r}: with chance {beta:.3g} the simulation may fail and hide nobody; got "
            f"{low!s}. Raise it, or pass a confidence above {1 - (low - prior) / (1 - prior):.12g}"
        )
    return plain(inner)


@dataclass(frozen=True, eq=False)
class NoiseCertificate:
    """One-sided bounds on everybody's mean squared difference in units of the noise."""

    mean: Floats  #: shape (n,): mean over the fresh halves
    standard_error: Floats  #: shape (n,)
    bound: Floats  #: shape (n,): rigorous, all people at once; infinite without an ellipsoid
    student: Floats  #: shape (n,): by Student's t, approximate, since heavy tails undercover
    target: Any  #: what the ceilings allow, failures counted; a number, or shape (n,)
    confidence: float  #: that all bounds hold, over the simulation
    draws: int  #: fresh halves
    largest: float  #: most that any half can give; infinite without an ellipsoid

    @property
    def ratio(self) -> float:
        """Largest rigorous bound over its target; noise variance times this keeps the ceilings."""
        return float((self.bound / self.target).max())

    @property
    def holds(self) -> bool:
        """Whether every person's rigorous bound is within the target."""
        return self.ratio <= 1 + 1e-12

    def scaled(self, factor: float) -> Self:
        """The certificate of the covariance times `factor`, for the same draws and ellipsoid."""
        c = check.number(factor, "factor")
        in_units = ("mean", "standard_error", "bound", "student", "largest")
        return replace(self, **{name: getattr(self, name) / c for name in in_units})

    def __str__(self) -> str:
        return (
            f"with confidence {self.confidence:g} (one-sided, {len(self.mean)} people at once, "
            f"{self.draws} fresh halves) everybody's mean squared difference is at most "
            f"{self.bound.max():.3g} in units of the noise (by Student's t, approximately, "
            f"{self.student.max():.3g}); the target is {np.min(self.target):.3g}"
            + (f" to {np.max(self.target):.3g}" if np.ndim(self.target) else "")
        )


def certify_noise(
    pool: Pool,
    covariance: ArrayLike,
    success_rate: ArrayLike,
    *,
    calibration: str = "mi",
    sample_rate: float = 0.5,
    region: PublicEllipsoid | None = None,
    confidence: float = 0.99,
    draws: int = 10_000,
    rng: np.random.Generator,
) -> NoiseCertificate:
    r"""Measure what a covariance keeps, on fresh halves: bounds for every person.

    For each half and person :math:`q_i = \|\Delta_i\|^2_{\Sigma^{-1}}`, of the clipped weights if
    there is a region; then `empirical_bernstein` at :math:`\beta/n` for each person. Above the
    target, multiply the covariance by `NoiseCertificate.ratio`. Algorithm ``alg-pac-noise`` and
    statement ``prop-pac-ceiling`` (ours), chapters *pac/noise* and *pac/printed*.

    Parameters
    ----------
    pool : Pool
    covariance : array_like, shape (p, p)
        Of the noise, chosen before these draws.
    success_rate, calibration, sample_rate
        As in `PACRegression`; the ceiling holds on average over these draws too.
    region : PublicEllipsoid, optional
        Clips weights before noise; without it only Student's approximation, `student`, is left.
    confidence : float, default 0.99
        That all bounds hold; the rest is charged to the ceiling, see `conditional_success_rate`.
    draws : int, default 10000
        Fresh halves.
    rng : Generator
        With draws not used before.
    """
    check.rng(rng)
    q = check.delta(sample_rate, "sample_rate")
    rate = check.probability(success_rate, "success_rate")
    check.budgets(rate, len(pool.y), "success_rate", "person of the pool")
    prior = max(q, 1 - q)
    inner = conditional_success_rate(rate, confidence, prior)
    target = success_rate_to_snr(inner, calibration, prior)
    beta = 1 - float(confidence)
    T = check.count(draws, "draws", minimum=2)
    W, back = whitener(covariance)
    without_noise = np.eye(pool.p) - back @ W  # onto the directions that no noise reaches
    largest = np.inf if region is None else _largest(region, W)
    n = len(pool.y)
    total, squares = np.zeros(n), np.zeros(n)
    for masks, fits, differences in halves(pool, q, T, rng):
        if region is not None:
            # the person leaves, or joins: then both models are clipped
            changed_fits = fits[:, None, :] + np.where(masks, -1.0, 1.0)[:, :, None] * differences
            differences = region.clip(changed_fits) - region.clip(fits)[:, None, :]
        values = ((differences @ W.T) ** 2).sum(axis=2)
        if region is None:
            unreached = ((differences @ without_noise.T) ** 2).sum(axis=2)
            values[unreached > UNREACHED * (differences**2).sum(axis=2)] = np.inf
        total += values.sum(axis=0)
        squares += (values**2).sum(axis=0)
    mean = total / T
    with np.errstate(invalid="ignore"):
        variance = np.maximum(squares / T - mean**2, 0.0) * T / (T - 1)
        error = np.sqrt(variance / T)
        student = mean + stats.t.isf(beta / n, T - 1) * error
    bound = np.full(n, np.inf)
    if np.isfinite(largest):
        bound = empirical_bernstein(mean, variance, T, largest, beta / n)
    return NoiseCertificate(mean, error, bound, student, target, 1 - beta, T, largest)


def _largest(region: PublicEllipsoid, W: Floats) -> float:
    """Return the largest squared distance in the ellipsoid, in units of the noise."""
    _, back = whitener(region.covariance)
    unreached = back - np.linalg.pinv(W) @ (W @ back)
    if np.linalg.norm(unreached) > 1e-6 * np.linalg.norm(back):
        return float("inf")  # the ellipsoid is wide where there is no noise
    return float((2 * region.radius * np.linalg.norm(W @ back, 2)) ** 2)
