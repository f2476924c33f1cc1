"""Attacks on membership: how often two adversaries guess whether one person is in the data.

The best adversary does no worse: an attack can refute a ceiling of `pdpbook.pac`, never prove it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import stats

from pdpbook import Floats, check
from pdpbook._pandas import pd

Members = NDArray[np.bool_]
Release = Callable[[Members, np.random.Generator], ArrayLike]
FLOOR = 1e-9  # a direction without noise counts as noise this much below the widest, in deviations


@dataclass(frozen=True)
class AttackScore:
    """How one attacker fared."""

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
        found = stats.binomtest(self.successes, self.trials)
        low, high = found.proportion_ci(self.confidence, method="exact")
        return float(low), float(high)


@dataclass(frozen=True)
class MembershipAttack:
    """The outcome of `membership_attack`."""

    target: int  #: index in the pool of the person attacked
    prior: float  #: success rate of a blind guess
    shadow: AttackScore  #: who knows the pool and the mechanism
    informed: AttackScore | None  #: who also knows everybody else; None without a density

    def refutes(self, ceiling: float) -> bool:
        """Return whether the whole interval of either attacker lies above a claimed ceiling.

        True for a ceiling that holds with probability at most ``1 - confidence``. Ceilings of
        `pdpbook.pac` are proved against the informed attacker, too.
        """
        bound = check.delta(ceiling, "ceiling")
        return any(score.interval[0] > bound for score in self._scores())

    @property
    def table(self) -> pd.DataFrame:
        """One row an attacker with success rate, both ends of the interval and counts."""
        found = self._scores()
        rows = [(s.attacker, s.success_rate, *s.interval, s.successes, s.trials) for s in found]
        names = ["attacker", "success_rate", "low", "high", "successes", "trials"]
        return pd.DataFrame(rows, columns=names)

    def _scores(self) -> list[AttackScore]:
        return [self.shadow] + ([] if self.informed is None else [self.informed])


class GaussianRelease:
    """A statistic of those who are in, plus Gaussian noise: a release with its log-density.

    Parameters
    ----------
    statistic : callable
        From a boolean array of shape (n,), who is in, to d numbers; not random.
    covariance : array_like, shape (d, d), (d,) or ()
        Of the noise: a matrix, symmetric and without negative eigenvalues; variances; or one
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
        self._basis: Floats | None = None
        if self.covariance.ndim == 2:
            size = np.abs(self.covariance).max(initial=0.0)
            square = self.covariance.shape[0] == self.covariance.shape[1]
            if not (square and np.all(np.abs(self.covariance - self.covariance.T) <= 1e-10 * size)):
                raise ValueError("covariance must be symmetric")
            values, self._basis = np.linalg.eigh(self.covariance)
            values = np.where(np.abs(values) > 1e-12 * np.abs(values).max(), values, 0.0)
        else:
            values = np.atleast_1d(self.covariance)
        if not np.all(values >= 0):
            raise ValueError(f"covariance must not be negative; got a variance {values.min():g}")
        self._deviation = np.sqrt(values)
        least = FLOOR * (float(self._deviation.max()) or 1.0)
        self._divisor = np.maximum(self._deviation, least)

    def __call__(self, members: Members, rng: np.random.Generator) -> Floats:
        """Draw one release."""
        center = self._center(members)
        noise = self._deviation * rng.standard_normal(len(center))
        return np.asarray(center + (noise if self._basis is None else self._basis @ noise))

    def log_density(self, output: ArrayLike, members: Members) -> float:
        """Log-density of an output, shape (d,), given who is in, shape (n,), up to a constant.

        A direction without noise counts as one with 1e-9 of the largest deviation.
        """
        move = np.asarray(output, dtype=float) - self._center(members)
        along = move if self._basis is None else self._basis.T @ move
        return float(-0.5 * np.sum((along / self._divisor) ** 2))

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
    attacker draws data sets of their own, fits Gaussian laws to the releases with the target and
    without, and decides by

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
        Probability q.
    shadows : int, default 2000
        Releases to learn from, at least 10; half of them with the target.
    trials : int, default 2000
        Releases to attack.
    confidence : float, default 0.999
        Of the intervals.

    Examples
    --------
    >>> release = GaussianRelease(lambda members: [members[0] + 0.1 * members.sum()], 0.25)
    >>> attack = membership_attack(release, 10, 0, rng=np.random.default_rng(0))
    >>> attack.refutes(0.5), attack.refutes(0.95)
    (True, False)
    """
    check.rng(rng)
    n, q = check.count(n, "n"), check.delta(sample_rate, "sample_rate")
    check_target(target, n)
    shadows, trials = check.count(shadows, "shadows", minimum=10), check.count(trials, "trials")
    confidence = check.delta(confidence, "confidence")
    log_density = getattr(release, "log_density", None)
    truth = np.arange(shadows) % 2 == 0
    _, seen = _play(release, n, target, truth, q, rng)
    inside, outside = seen[truth], seen[~truth]
    truth = rng.random(trials) < q
    halves, outputs = _play(release, n, target, truth, q, rng)
    lean = np.log(q) - np.log1p(-q)

    def score(attacker: str, log_ratio: Floats) -> AttackScore:
        right = int(np.sum((log_ratio + lean > 0) == truth))
        return AttackScore(attacker, right, trials, confidence)

    informed = None
    if log_density is not None:
        joined, left = halves.copy(), halves.copy()
        joined[:, target], left[:, target] = True, False
        found = zip(outputs, joined, left, strict=True)
        ratio = [log_density(z, one) - log_density(z, other) for z, one, other in found]
        informed = score("informed", np.asarray(ratio))
    shadow = score("shadow", _log_ratio(outputs, inside, outside))
    return MembershipAttack(int(target), max(q, 1 - q), shadow, informed)


def check_target(target: int, n: int) -> int:
    """Return the index of somebody in a pool of n."""
    if not check.count(target, "target", minimum=0) < n:
        raise ValueError(f"target must be in the pool, 0 to {n - 1}; got {target}")
    return int(target)


def _play(
    release: Release, n: int, target: int, truth: Members, q: float, rng: np.random.Generator
) -> tuple[Members, Floats]:
    """Random data sets in which the target is as `truth` says, and their releases."""
    halves = rng.random((len(truth), n)) < q
    halves[:, target] = truth
    outputs = [np.asarray(release(members.copy(), rng), dtype=float) for members in halves]
    shapes = {output.shape for output in outputs}
    if len(shapes) > 1 or outputs[0].ndim != 1 or not all(np.isfinite(o).all() for o in outputs):
        raise ValueError(f"release must return a finite vector of one length; got shapes {shapes}")
    return halves, np.array(outputs)


def _log_ratio(outputs: Floats, inside: Floats, outside: Floats) -> Floats:
    """Of two Gaussian laws fitted to releases, in units of the pooled deviation."""
    pooled = np.concatenate([inside, outside])
    center, scale = pooled.mean(axis=0), pooled.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    found = []
    for sample in ((inside - center) / scale, (outside - center) / scale):
        cov = np.atleast_2d(np.cov(sample, rowvar=False)) + FLOOR * np.eye(sample.shape[1])
        root = stats.Covariance.from_cholesky(np.linalg.cholesky(cov))
        law = stats.multivariate_normal(sample.mean(axis=0), root)
        found.append(law.logpdf((outputs - center) / scale))
    return np.asarray(found[0] - found[1])
