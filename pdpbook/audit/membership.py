"""Attacks on membership: how often two adversaries guess whether one person is in the data.

The best adversary guesses at least as well as these two, so an attack can refute a ceiling of
`pdpbook.pac`, and never prove it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pdpbook import Floats, check
from pdpbook._pandas import pd

Members = NDArray[np.bool_]
Release = Callable[[Members, np.random.Generator], ArrayLike]
# A direction without noise counts as noise with this share of the largest standard deviation,
# so that densities exist. It is added to variances in `_log_ratio`, for the same reason.
LEAST_NOISE = 1e-9
ASYMMETRY = 1e-10  # of a matrix, relative to its largest entry: what rounding may do
ROUNDING = 1e-12  # eigenvalues this much below the largest are rounding, and count as 0


@dataclass(frozen=True)
class AttackScore:
    """How often one attacker guessed right."""

    attacker: str  #: ``"shadow"`` or ``"informed"``
    successes: int  #: right guesses
    trials: int  #: releases attacked
    confidence: float  #: of `interval`

    @property
    def success_rate(self) -> float:
        """Share of right guesses."""
        return self.successes / self.trials

    @property
    def interval(self) -> tuple[float, float]:
        """Two-sided interval of Clopper and Pearson (1934) for the attacker's true rate."""
        counts = stats.binomtest(self.successes, self.trials)
        low, high = counts.proportion_ci(self.confidence, method="exact")
        return float(low), float(high)


@dataclass(frozen=True)
class MembershipAttack:
    """The outcome of `membership_attack`."""

    target: int  #: index in the pool of the person attacked
    prior: float  #: success rate of a blind guess
    shadow: AttackScore  #: of the attacker who knows the pool and the mechanism
    informed: AttackScore | None  #: of the one who also knows all others; None without a density

    def refutes(self, ceiling: float) -> bool:
        """Return whether the whole interval of either attacker lies above a claimed ceiling.

        A ceiling that holds is refuted with probability at most ``1 - confidence``. The ceilings
        of `pdpbook.pac` are proved against the informed attacker, too.
        """
        bound = check.delta(ceiling, "ceiling")
        return any(score.interval[0] > bound for score in self._scores())

    @property
    def table(self) -> pd.DataFrame:
        """One row an attacker with success rate, both ends of the interval and counts."""
        rows = []
        for score in self._scores():
            low, high = score.interval
            counts = (score.successes, score.trials)
            rows.append((score.attacker, score.success_rate, low, high, *counts))
        names = ["attacker", "success_rate", "low", "high", "successes", "trials"]
        return pd.DataFrame(rows, columns=names)

    def _scores(self) -> list[AttackScore]:
        """Return the scores of both attackers, or of the only one."""
        if self.informed is None:
            return [self.shadow]
        return [self.shadow, self.informed]


class GaussianRelease:
    """Release of a statistic of those who are in, plus Gaussian noise, with its log-density.

    Parameters
    ----------
    statistic : callable
        From a boolean array of shape (n,), who is in, to d numbers; not random.
    covariance : array_like, shape (d, d), (d,) or ()
        Covariance of the noise: a symmetric matrix without negative eigenvalues; variances; or one
        variance. Directions without noise are allowed, so that they can be attacked.

    Examples
    --------
    >>> release = GaussianRelease(lambda members: [members.sum()], 1.0)
    >>> release.log_density([0.0], np.array([True, True, False]))
    -2.0
    """

    def __init__(self, statistic: Callable[[Members], ArrayLike], covariance: ArrayLike):
        self.statistic = statistic
        self.covariance = np.asarray(check.finite(covariance, "covariance"))
        # The noise is independent along the columns of this basis, or along the axes if it is None.
        self._basis: Floats | None = None
        if self.covariance.ndim == 2:
            self._refuse_asymmetry()
            variances, self._basis = np.linalg.eigh(self.covariance)
            is_rounding = np.abs(variances) <= ROUNDING * np.abs(variances).max()
            variances = np.where(is_rounding, 0.0, variances)
        else:
            variances = np.atleast_1d(self.covariance)
        if not np.all(variances >= 0):
            raise ValueError(f"covariance must not be negative; got a variance {variances.min():g}")
        self._deviation = np.sqrt(variances)
        largest = float(self._deviation.max()) or 1.0
        self._divisor = np.maximum(self._deviation, LEAST_NOISE * largest)

    def _refuse_asymmetry(self) -> None:
        rows, columns = self.covariance.shape
        size = np.abs(self.covariance).max(initial=0.0)
        if rows == columns:
            difference = np.abs(self.covariance - self.covariance.T)
            if np.all(difference <= ASYMMETRY * size):
                return
        raise ValueError("covariance must be symmetric")

    def __call__(self, members: Members, rng: np.random.Generator) -> Floats:
        """Draw one release."""
        center = self._center(members)
        noise = self._deviation * rng.standard_normal(len(center))
        if self._basis is not None:
            noise = self._basis @ noise
        return np.asarray(center + noise)

    def log_density(self, output: ArrayLike, members: Members) -> float:
        """Log-density of an output, shape (d,), given who is in, shape (n,), up to a constant.

        A direction without noise counts as one with 1e-9 of the largest deviation.
        """
        offset = np.asarray(output, dtype=float) - self._center(members)
        if self._basis is not None:
            offset = self._basis.T @ offset
        return float(-0.5 * np.sum((offset / self._divisor) ** 2))

    def _center(self, members: Members) -> Floats:
        return np.atleast_1d(np.asarray(self.statistic(members), dtype=float))


def membership_attack(
    release: Release,
    n: int,
    target: int,
    *,
    rng: np.random.Generator,
    sample_rate: float = 0.5,
    shadows: int = 2000,
    trials: int = 2000,
    confidence: float = 0.999,
) -> MembershipAttack:
    r"""Play the membership game against one person, with two adversaries.

    Each of n people of a public pool is in the data with probability q, independently. The shadow
    attacker draws more data sets from the pool, fits Gaussian laws to the releases with the target
    and without, and decides by

    .. math:: q\,\hat p_1(o) > (1 - q)\,\hat p_0(o) .

    The informed attacker knows who else is in, and decides by the true densities; with Gaussian
    noise the rate is :math:`\mathbb{E}\,\Phi(\|\Delta\|_{\Sigma^{-1}}/2)` for q = 1/2. Statements
    ``prop-success-rate`` and ``prop-tv-calibration``, chapter *pac/membership*.

    Parameters
    ----------
    release : callable ``(members, rng) -> array_like, shape (d,)``
        The mechanism: from a boolean array of shape (n,), who is in, to what is published, finite
        and of one length. A method ``log_density(output, members)`` adds an informed attacker.
    n : int
        Size of the pool.
    target : int
        Index of the person attacked, from 0 to n - 1.
    rng : Generator
    sample_rate : float, default 0.5
        Probability q to be in the data.
    shadows : int, default 2000
        Releases to learn from, at least 10; half of them with the target.
    trials : int, default 2000
        Releases to attack.
    confidence : float, default 0.999
        Probability with which one interval holds the true success rate.

    Examples
    --------
    >>> release = GaussianRelease(lambda members: [members[0] + 0.1 * members.sum()], 0.25)
    >>> attack = membership_attack(release, 10, 0, rng=np.random.default_rng(0))
    >>> attack.refutes(0.5), attack.refutes(0.95)
    (True, False)
    """
    check.rng(rng)
    n = check.count(n, "n")
    q = check.delta(sample_rate, "sample_rate")
    check_target(target, n)
    shadows = check.count(shadows, "shadows", minimum=10)
    trials = check.count(trials, "trials")
    confidence = check.delta(confidence, "confidence")
    log_density = getattr(release, "log_density", None)

    is_in = np.arange(shadows) % 2 == 0  # every second shadow data set has the target
    _, seen = _play(release, n, target, is_in, q, rng)
    inside = seen[is_in]
    outside = seen[~is_in]

    truth = rng.random(trials) < q
    halves, outputs = _play(release, n, target, truth, q, rng)
    prior_log_odds = np.log(q) - np.log1p(-q)

    def score(attacker: str, log_ratio: Floats) -> AttackScore:
        guess = log_ratio + prior_log_odds > 0
        return AttackScore(attacker, int(np.sum(guess == truth)), trials, confidence)

    informed = None
    if log_density is not None:
        with_target = halves.copy()
        with_target[:, target] = True
        without_target = halves.copy()
        without_target[:, target] = False
        ratios = [
            log_density(output, joined) - log_density(output, absent)
            for output, joined, absent in zip(outputs, with_target, without_target, strict=True)
        ]
        informed = score("informed", np.asarray(ratios))
    shadow = score("shadow", _log_ratio(outputs, inside, outside))
    return MembershipAttack(int(target), max(q, 1 - q), shadow, informed)


def check_target(target: int, n: int) -> int:
    """Return `target` if it is the index of somebody in a pool of n; else raise."""
    if not check.count(target, "target", minimum=0) < n:
        raise ValueError(f"target must be in the pool, 0 to {n - 1}; got {target}")
    return int(target)


def _play(
    release: Release, n: int, target: int, truth: Members, q: float, rng: np.random.Generator
) -> tuple[Members, Floats]:
    """Return random halves of the pool, shape (trials, n), and their releases, (trials, d).

    The target is in those where `truth`, shape (trials,), says so.
    """
    halves = rng.random((len(truth), n)) < q
    halves[:, target] = truth
    outputs = [np.asarray(release(members.copy(), rng), dtype=float) for members in halves]
    shapes = {output.shape for output in outputs}
    are_vectors = len(shapes) == 1 and outputs[0].ndim == 1
    if not are_vectors or not all(np.isfinite(output).all() for output in outputs):
        raise ValueError(f"release must return a finite vector of one length; got shapes {shapes}")
    return halves, np.array(outputs)


def _log_ratio(outputs: Floats, inside: Floats, outside: Floats) -> Floats:
    """Return log p_1 - log p_0 at each output, for Gaussian laws fitted to two samples."""
    pooled = np.concatenate([inside, outside])
    center = pooled.mean(axis=0)
    scale = pooled.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    points = (outputs - center) / scale
    log_inside = _fitted_gaussian((inside - center) / scale).logpdf(points)
    log_outside = _fitted_gaussian((outside - center) / scale).logpdf(points)
    return np.asarray(log_inside - log_outside)


def _fitted_gaussian(sample: Floats) -> Any:
    """Return the Gaussian law with the mean and, but for `LEAST_NOISE`, covariance of a sample."""
    covariance = np.atleast_2d(np.cov(sample, rowvar=False)) + LEAST_NOISE * np.eye(sample.shape[1])
    root = stats.Covariance.from_cholesky(np.linalg.cholesky(covariance))
    return stats.multivariate_normal(sample.mean(axis=0), root)
