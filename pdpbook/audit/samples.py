"""Audits by sampling, and deltas of two laws: exactly, by quadrature, or certified from draws."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from scipy.integrate import quad_vec
from scipy.special import rel_entr

from pdpbook import Floats, check
from pdpbook.guarantees import PACPrivacy
from pdpbook.guarantees.promises import Promise
from pdpbook.noise import L2Laplace, ProductLaw, gaussian_profile, l2_laplace_profile
from pdpbook.posterior import AdaptiveLaw, adaptive_profile


def pair_deltas(
    p: Any, q: Any, places: Floats, draws: int, rng: np.random.Generator, alarm: float
) -> tuple[str, Floats]:
    """How they were found, and lower bounds on the larger delta of both directions."""
    how, deltas = _closed_form(p, q, places)
    if how:
        return how, deltas
    both = (p, q), (q, p)
    if rows_of(p.sample(2, rng=rng)).shape[1] == 1:
        return "quadrature", np.max([_quadrature(*pair, places, rng) for pair in both], axis=0)
    gains = [_gains(*pair, places, pair[0].sample(draws, rng=rng))[0] for pair in both]
    found = [delta_lower_bound(gain, alarm / (2 * len(places))) for gain in gains]
    return "draws", np.max(found, axis=0)


def promised_deltas(promise: Promise, places: Floats, person: int) -> tuple[Floats, Floats]:
    """Places, with the person's own epsilon, and what they were promised at each of them."""
    who = 0 if promise.n is None else person
    own = np.ravel(getattr(promise, "epsilon", []))  # one entry, or one for each person
    places = np.union1d(places, own[[who]] if len(own) > 1 else own)
    deltas = np.asarray(promise.profile(places[:, None])).reshape(len(places), -1)
    return places, deltas[:, who]


def rows_of(releases: Any) -> Floats:
    """Releases as an array of shape (draws, m)."""
    rows = np.asarray(releases, dtype=float)
    return rows[:, None] if rows.ndim == 1 else rows


def delta_lower_bound(gains: ArrayLike, false_alarm: float) -> Floats:
    r"""Lower confidence bound, at least 0, on the mean of draws in [0, 1]: the larger one of two.

    Hoeffding's bound by the divergence of two coins, with :math:`\hat m` the mean of n draws,

    .. math:: \hat m\ln\frac{\hat m}{m} + (1-\hat m)\ln\frac{1-\hat m}{1-m} =
              \frac{\ln(2/\alpha)}{n}, \qquad m < \hat m ,

    is good for small means; the empirical Bernstein bound of Maurer and Pontil, :math:`\hat m -
    \sqrt{2\hat v\ln(4/\alpha)/n} - 7\ln(4/\alpha)/(3(n-1))`, for small variances. Each gets half of
    the false alarms. Statement ``lem-certificate-of-mean`` (Hoeffding, 1963), chapter
    *foundations/bugs*. Returns an array of shape (...).

    Parameters
    ----------
    gains : array_like, shape (..., n)
        Independent draws in [0, 1], n at least 2.
    false_alarm : float
        Chance :math:`\alpha` at most that the bound is above the mean.

    Examples
    --------
    >>> delta_lower_bound(np.ones((2, 100)), 0.05).round(3)
    array([0.964, 0.964])
    """
    gains = np.asarray(gains, dtype=float)
    alarm = check.delta(false_alarm, "false_alarm")
    n = gains.shape[-1] if gains.ndim else 0
    if n < 2 or not np.all((gains >= 0) & (gains <= 1)):
        raise ValueError(f"gains must hold at least 2 draws between 0 and 1; got {n} draws")
    mean = gains.mean(axis=-1)
    most = np.log(2 / alarm) / n
    low, high = np.zeros_like(mean), mean.copy()
    for _ in range(60):
        middle = (low + high) / 2
        far = rel_entr(mean, middle) + rel_entr(1 - mean, 1 - middle) > most
        low, high = np.where(far, middle, low), np.where(far, high, middle)
    log = np.log(4 / alarm)
    spread = np.sqrt(2 * gains.var(axis=-1, ddof=1) * log / n)
    return np.asarray(np.maximum(low, mean - spread - 7 * log / (3 * (n - 1))))


def _closed_form(p: Any, q: Any, places: Floats) -> tuple[str, Floats]:
    """Profile of two laws of one kind and equal noise, or of two runs of AdaOPS; either way."""
    if isinstance(p, L2Laplace) and isinstance(q, L2Laplace) and p.eta == q.eta:
        shift = float(p.eta * np.linalg.norm(p.center - q.center))
        found = l2_laplace_profile(places, len(p.center), shift) if shift > 0 else 0 * places
        return "closed form", found
    if isinstance(p, ProductLaw) and isinstance(q, ProductLaw):
        alike = p.noise == q.noise == "gaussian" and np.array_equal(p.scale, q.scale)
        if alike:
            mu = float(np.linalg.norm((p.center - q.center) / p.scale))
            return "closed form", gaussian_profile(places, mu) if mu > 0 else 0 * places
    if isinstance(p, AdaptiveLaw) and isinstance(q, AdaptiveLaw) and p.plan == q.plan:
        without, joined = (p, q) if np.trace(p.gram) <= np.trace(q.gram) else (q, p)
        values, vectors = np.linalg.eigh(np.asarray(joined.gram) - np.asarray(without.gram))
        x = np.sqrt(max(values[-1], 0.0)) * vectors[:, -1]
        moved = np.asarray(joined.moment) - np.asarray(without.moment)
        label = float(moved @ x / max(x @ x, 1e-300))
        return "quadrature", np.max(adaptive_profile(places, without, joined, x, label), axis=0)
    return "", places


def _gains(p: Any, q: Any, places: Floats, points: Any) -> tuple[Floats, Floats]:
    """(1 - e^(place - loss))_+ at every place and point, and the first density."""
    own, other = (np.asarray(law.logpdf(points), dtype=float) for law in (p, q))
    with np.errstate(invalid="ignore", over="ignore"):
        loss = np.where(np.isneginf(own), -np.inf, own - other)
        return np.maximum(-np.expm1(places[:, None] - loss), 0.0), np.exp(own)


def _quadrature(p: Any, q: Any, places: Floats, rng: np.random.Generator) -> Floats:
    """From a finite range, and less the error of the integral: a lower bound."""
    seen = np.concatenate([rows_of(law.sample(500, rng=rng)) for law in (p, q)])
    low, high = float(seen.min()), float(seen.max())
    reach = (high - low) / 2

    def gain(point: float) -> Floats:
        gains, density = _gains(p, q, places, np.array([[point]]))
        return (gains * density)[:, 0]

    found, error = quad_vec(gain, low - reach, high + reach, points=np.ravel(seen[::50]))
    return np.asarray(found - error)


Score = Callable[[Floats], Floats]  # a number of every release

PLACES = np.concatenate([np.linspace(0, 4, 17), np.linspace(5, 12, 8)])  # epsilons tried
THRESHOLDS = 64  # quantiles of a score tried as thresholds
CAUTION = 3.0  # standard errors by which the chosen event must look good


@dataclass(frozen=True)
class SampleAudit:
    """What releases from two neighbors say about a promise; see `audit_samples`."""

    delta: float  #: certified from below, P(S) - e^epsilon Q(S) for one event S
    epsilon: float  #: where
    promised: float  #: the delta promised there
    epsilon_lower: float  #: certified from below, the least pure epsilon that explains S, or 0
    draws: int  #: releases from each data set, both halves together
    false_alarm: float  #: chance that a promise that is kept is called refuted
    person: int  #: who differs

    @property
    def passed(self) -> bool:
        """Whether these releases do not refute the promise."""
        return bool(self.delta <= self.promised)

    def __str__(self) -> str:
        verdict = "not refuted, which proves nothing" if self.passed else "REFUTED"
        return (
            f"Promise {verdict}: for person {self.person}, delta at {self.epsilon:.3g} nats is at "
            f"least {max(self.delta, 0.0):.3g} and {self.promised:.3g} was promised ({self.draws} "
            f"releases from each data set, false alarms at most {self.false_alarm:.0e})."
        )


def audit_samples(
    first: ArrayLike,
    second: ArrayLike,
    promise: Promise,
    *,
    person: int = 0,
    false_alarm: float = 1e-6,
) -> SampleAudit:
    r"""Try to refute a promise from independent releases on two neighboring data sets.

    Half of the releases choose an event S, a place :math:`\varepsilon` and a direction; the other
    half count S, which needs no correction for the choice. With Clopper-Pearson bounds, each wrong
    with half the chance of a false alarm,

    .. math:: \underline\delta = \underline{P}(S) - e^{\varepsilon}\,\overline{Q}(S)

    is below the true :math:`\delta(\varepsilon)`, and more than was promised refutes the promise.
    Events are half-lines of each coordinate, of the direction between the means and of Fisher's
    discriminant, of the distance from the first mean, and of the log-likelihood ratio of two normal
    laws. An audit can refute a promise, never prove it; chapter *foundations/audits*.

    Parameters
    ----------
    first, second : array_like, shape (draws, m) or (draws,)
        Releases from the two data sets; a row each, in whatever units.
    promise : Promise
        Pure, approximate, concentrated or Gaussian, for one or for every person.
    person : int, default 0
        Who differs between the data sets; see `differing_person`.
    false_alarm : float, default 1e-6
        Chance at most that a promise that is kept is refuted.

    Raises
    ------
    TypeError
        If the promise is of a kind that neighbors cannot refute, or none at all.
    ValueError
        If shapes differ, the promise has no such `person`, or draws are too few to refute anything.

    Examples
    --------
    >>> from pdpbook.guarantees import PureDP
    >>> rng = np.random.default_rng(0)
    >>> one, two = rng.laplace(0, 1, 20_000), rng.laplace(1, 1, 20_000)
    >>> kept, broken = (PureDP(epsilon, neighbors="replace-one") for epsilon in (1.0, 0.5))
    >>> audit_samples(one, two, kept).passed, audit_samples(one, two, broken).passed
    (True, False)
    """
    if isinstance(promise, PACPrivacy):
        raise TypeError("a success rate is an average over data sets: use membership_attack")
    if not isinstance(promise, Promise):
        raise TypeError(f"promise must be a promise of pdpbook.guarantees; got {promise!r}")
    alarm = check.delta(false_alarm, "false_alarm")
    releases = [rows_of(check.finite(first, "first")), rows_of(check.finite(second, "second"))]
    if releases[0].ndim != 2 or releases[0].shape != releases[1].shape:
        raise ValueError(
            "first and second must have one shape, (draws, m) or (draws,); "
            f"got {np.shape(first)} and {np.shape(second)}"
        )
    who = check.count(person, "person", minimum=0)
    if promise.n is not None and who >= promise.n:
        raise ValueError(f"person must be below {promise.n}, the people of the promise; got {who}")
    places, promised = promised_deltas(promise, PLACES, who)
    draws = len(releases[0])
    train, test = ([part[half::2] for part in releases] for half in (0, 1))
    _check_enough(len(test[0]), places, promised, alarm)
    event = _choose(_scores(*train), train, places, promised)
    hits, others = (event.count(part) for part in (test if event.forth else test[::-1]))
    n = len(test[0])  # bounds of Clopper and Pearson
    low = float(stats.beta.ppf(alarm / 2, hits, n - hits + 1)) if hits else 0.0
    high = float(stats.beta.ppf(1 - alarm / 2, others + 1, n - others)) if others < n else 1.0
    return SampleAudit(
        delta=low - float(np.exp(places[event.place])) * high,
        epsilon=float(places[event.place]),
        promised=float(promised[event.place]),
        epsilon_lower=max(float(np.log(low / high)), 0.0) if low > 0 else 0.0,
        draws=draws,
        false_alarm=alarm,
        person=who,
    )


class _Event(NamedTuple):
    """A score of a release beyond a threshold, likelier under the first data set if `forth`."""

    score: Score
    threshold: float
    above: bool
    forth: bool
    place: int

    def count(self, releases: Floats) -> int:
        beyond = self.score(releases) > self.threshold
        return int((beyond == self.above).sum())


def _check_enough(n: int, places: Floats, promised: Floats, alarm: float) -> None:
    """Refuse samples on which even a certain giveaway would not refute the promise."""
    lowest = (alarm / 2) ** (1 / n)
    if not np.any(lowest - np.exp(places) * (1 - lowest) > promised):
        raise ValueError(
            f"{2 * n} releases are too few to say anything: even an event that is certain under "
            f"one data set and impossible under the other would not refute this promise at "
            f"false_alarm = {alarm:g}"
        )


def _line(center: Floats, vector: Floats) -> Score:
    return lambda releases: np.asarray((releases - center) @ vector)


def _distance(center: Floats, weight: Floats) -> Score:
    return lambda releases: np.asarray((releases - center) ** 2 @ weight / 2)


def _scores(one: Floats, two: Floats) -> list[Score]:
    """Coordinates, two directions, a distance, and the log-ratio of two normal laws."""
    m = one.shape[1]
    means = one.mean(axis=0), two.mean(axis=0)
    spread = [np.maximum(part.var(axis=0), 1e-300) for part in (one, two)]
    pooled = (spread[0] + spread[1]) / 2
    scores = [_line(np.zeros(m), axis) for axis in np.eye(m)]
    direction = (means[1] - means[0]) / np.sqrt(pooled) / np.sqrt(pooled)
    if np.any(direction) and m > 1:
        scores.append(_line(means[0], direction / np.linalg.norm(direction)))
        scores.append(_line(means[0], _discriminant(one, two)))
    own, other = (_distance(mean, 1 / part) for mean, part in zip(means, spread, strict=True))
    return [*scores, own, lambda releases: own(releases) - other(releases)]


def _discriminant(one: Floats, two: Floats) -> Floats:
    """Fisher's direction: it sees noise that is shared by the coordinates, and cancels there."""
    move, scale = two.mean(axis=0) - one.mean(axis=0), (one.std(axis=0) + two.std(axis=0)) / 2
    scale = np.where(scale > 0, scale, np.maximum(np.abs(move), 1e-300))
    within = np.concatenate([(part - part.mean(axis=0)) / scale for part in (one, two)])
    values, vectors = np.linalg.eigh(within.T @ within / len(within))
    values = np.maximum(values, 1e-12 * max(float(values.max()), 1e-300))
    found = (vectors @ ((vectors.T @ (move / scale)) / values)) / scale
    return np.asarray(found / max(float(np.linalg.norm(found)), 1e-300))


def _choose(scores: list[Score], train: list[Floats], places: Floats, promised: Floats) -> _Event:
    """The event, place and direction that look most like a violation on the training half."""
    best, chosen = -np.inf, _Event(scores[0], 0.0, True, True, 0)
    for score in scores:
        values = [np.sort(score(part)) for part in train]
        both = np.sort(np.concatenate(values))
        cuts = both[np.linspace(0, len(both) - 1, THRESHOLDS).astype(int)]
        cuts = np.union1d(cuts, both[[0, 1, 2, -3, -2, -1]])
        below = [np.searchsorted(part, cuts, side="right") / len(part) for part in values]
        for above, forth in product((False, True), (True, False)):
            shares = [1 - share if above else share for share in below]
            likely, rare = shares if forth else shares[::-1]
            least, most = _cautious(likely, -1, len(values[0])), _cautious(rare, 1, len(values[0]))
            excess = least - np.exp(places)[:, None] * most - promised[:, None]
            place, cut = np.unravel_index(np.argmax(excess), excess.shape)
            if excess[place, cut] > best:
                best = float(excess[place, cut])
                chosen = _Event(score, float(cuts[cut]), above, forth, int(place))
    return chosen


def _cautious(share: Floats, sign: int, n: int) -> Floats:
    """A share moved by a few standard errors of a count that is never quite zero."""
    padded = (share * n + 1) / (n + 2)
    return np.asarray(share + sign * CAUTION * np.sqrt(padded * (1 - padded) / n))
