"""Audits from samples: `audit_samples`, and lower bounds on the deltas between two known laws."""

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

Score = Callable[[Floats], Floats]  # from releases, shape (draws, m), to one number for each

PLACES = np.concatenate([np.linspace(0, 4, 17), np.linspace(5, 12, 8)])  # epsilons tried
THRESHOLDS = 64  # quantiles of a score tried as thresholds
CAUTION = 3.0  # standard errors by which the chosen event must look good
NO_DIVISION_BY_ZERO = 1e-300  # least variance, length or square of a length
ROUNDING = 1e-12  # eigenvalues this much below the largest may be nothing but rounding
BISECTIONS = 60  # halvings of [0, 1]: more than a float has digits


def pair_deltas(
    p: Any, q: Any, places: Floats, draws: int, rng: np.random.Generator, alarm: float
) -> tuple[str, Floats]:
    """Return how the deltas between two laws were found, and lower bounds on them.

    There is one bound for each of `places`, which are epsilons; it is below the larger delta of
    both directions. Where only draws help, some bound is wrong with probability at most `alarm`.
    """
    closed_form = _closed_form(p, q, places)
    if closed_form is not None:
        return closed_form
    directions = ((p, q), (q, p))
    is_one_dimensional = rows_of(p.sample(2, rng=rng)).shape[1] == 1
    if is_one_dimensional:
        deltas = [_quadrature(one, other, places, rng) for one, other in directions]
        return "quadrature", np.max(deltas, axis=0)
    gains = []
    for one, other in directions:
        gain, _ = _gains(one, other, places, one.sample(draws, rng=rng))
        gains.append(gain)
    alarm_of_one = alarm / (2 * len(places))
    deltas = [delta_lower_bound(gain, alarm_of_one) for gain in gains]
    return "draws", np.max(deltas, axis=0)


def promised_deltas(promise: Promise, places: Floats, person: int) -> tuple[Floats, Floats]:
    """Return epsilons, and the deltas that a person is promised at them.

    The epsilons are `places`, and the one that the promise to this person names, if it names one.
    """
    column = 0 if promise.n is None else person
    named = np.ravel(getattr(promise, "epsilon", []))  # one for all, or one for each person
    if len(named) > 1:
        named = named[[column]]
    places = np.union1d(places, named)
    deltas = np.asarray(promise.profile(places[:, None])).reshape(len(places), -1)
    return places, deltas[:, column]


def rows_of(releases: Any) -> Floats:
    """Return releases as an array of shape (draws, m)."""
    rows = np.asarray(releases, dtype=float)
    return rows[:, None] if rows.ndim == 1 else rows


def delta_lower_bound(gains: ArrayLike, false_alarm: float) -> Floats:
    r"""Lower confidence bound, at least 0, on the mean of draws in [0, 1], the larger of two.

    Hoeffding's bound uses the divergence of two coins. With :math:`\hat m` the mean of n draws, it
    is the solution m of

    .. math:: \hat m\ln\frac{\hat m}{m} + (1-\hat m)\ln\frac{1-\hat m}{1-m} =
              \frac{\ln(2/\alpha)}{n}, \qquad m < \hat m ,

    and is good for small means. The empirical Bernstein bound of Maurer and Pontil, :math:`\hat m -
    \sqrt{2\hat v\ln(4/\alpha)/n} - 7\ln(4/\alpha)/(3(n-1))`, is good for small variances. Each is
    wrong with probability at most :math:`\alpha/2`. Statement ``lem-certificate-of-mean``
    (Hoeffding, 1963), chapter *foundations/bugs*. Returns an array of shape (...).

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
    hoeffding = _hoeffding_bound(mean, np.log(2 / alarm) / n)
    log = np.log(4 / alarm)
    spread = np.sqrt(2 * gains.var(axis=-1, ddof=1) * log / n)
    bernstein = mean - spread - 7 * log / (3 * (n - 1))
    return np.asarray(np.maximum(hoeffding, bernstein))


def _hoeffding_bound(mean: Floats, most: float) -> Floats:
    """Return the smallest m, rounded down, whose divergence from the mean is at most `most`."""
    low = np.zeros_like(mean)
    high = mean.copy()
    for _ in range(BISECTIONS):
        middle = (low + high) / 2
        divergence = rel_entr(mean, middle) + rel_entr(1 - mean, 1 - middle)
        is_below = divergence > most
        low = np.where(is_below, middle, low)
        high = np.where(is_below, high, middle)
    return low


def _closed_form(p: Any, q: Any, places: Floats) -> tuple[str, Floats] | None:
    """Return how, and the deltas, where a formula has them for these two laws; else None.

    There is one for two laws of one kind with equal noise, and for two runs of AdaOPS.
    """
    if isinstance(p, L2Laplace) and isinstance(q, L2Laplace) and p.eta == q.eta:
        eps0 = float(p.eta * np.linalg.norm(p.center - q.center))
        if eps0 == 0:
            return "closed form", 0 * places
        return "closed form", l2_laplace_profile(places, len(p.center), eps0)
    if isinstance(p, ProductLaw) and isinstance(q, ProductLaw):
        are_gaussian = p.noise == "gaussian" and q.noise == "gaussian"
        if are_gaussian and np.array_equal(p.scale, q.scale):
            mu = float(np.linalg.norm((p.center - q.center) / p.scale))
            if mu == 0:
                return "closed form", 0 * places
            return "closed form", gaussian_profile(places, mu)
    if isinstance(p, AdaptiveLaw) and isinstance(q, AdaptiveLaw) and p.plan == q.plan:
        return "quadrature", _adaptive_deltas(p, q, places)
    return None


def _adaptive_deltas(p: AdaptiveLaw, q: AdaptiveLaw, places: Floats) -> Floats:
    """Return the larger delta of both directions between runs of AdaOPS with and without a record.

    The record (x, label) is recovered from sums: their second moments differ by x x^T, and their
    moments by label * x.
    """
    if np.trace(p.gram) <= np.trace(q.gram):
        without, joined = p, q
    else:
        without, joined = q, p
    values, vectors = np.linalg.eigh(np.asarray(joined.gram) - np.asarray(without.gram))
    x = np.sqrt(max(values[-1], 0.0)) * vectors[:, -1]
    moved = np.asarray(joined.moment) - np.asarray(without.moment)
    label = float(moved @ x / max(x @ x, NO_DIVISION_BY_ZERO))
    return np.asarray(np.max(adaptive_profile(places, without, joined, x, label), axis=0))


def _gains(p: Any, q: Any, places: Floats, points: Any) -> tuple[Floats, Floats]:
    """Return (1 - e^(place - loss))_+, shape (places, points), and the density of p, (points,).

    The loss is log p - log q. The mean of a row over draws from p is the delta at that place.
    """
    log_p = np.asarray(p.logpdf(points), dtype=float)
    log_q = np.asarray(q.logpdf(points), dtype=float)
    with np.errstate(invalid="ignore", over="ignore"):
        # Where both densities are 0 the difference is NaN, and the gain is 0.
        loss = np.where(np.isneginf(log_p), -np.inf, log_p - log_q)
        gains = np.maximum(-np.expm1(places[:, None] - loss), 0.0)
        return gains, np.exp(log_p)


def _quadrature(p: Any, q: Any, places: Floats, rng: np.random.Generator) -> Floats:
    """Return lower bounds on the deltas of two laws of one number, by an integral.

    The integral is over a finite range, and less its error, so both only make it smaller.
    """
    seen = np.concatenate([rows_of(law.sample(500, rng=rng)) for law in (p, q)])
    low = float(seen.min())
    high = float(seen.max())
    reach = (high - low) / 2

    def integrand(point: float) -> Floats:
        gains, density = _gains(p, q, places, np.array([[point]]))
        return (gains * density)[:, 0]

    breaks = np.ravel(seen[::50])  # where the integral begins to refine
    deltas, error = quad_vec(integrand, low - reach, high + reach, points=breaks)
    return np.asarray(deltas - error)


@dataclass(frozen=True)
class SampleAudit:
    """What releases from two neighbors say about a promise; see `audit_samples`."""

    delta: float  #: certified from below, P(S) - e^epsilon Q(S) for one event S
    epsilon: float  #: the epsilon of `delta`
    promised: float  #: the delta that was promised at this epsilon
    epsilon_lower: float  #: certified from below, the least pure epsilon that explains S, or 0
    draws: int  #: releases from each data set, both halves together
    false_alarm: float  #: chance at most that a true promise is called refuted
    person: int  #: who differs between the two data sets

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

    Half of the releases serve to choose an event S, an :math:`\varepsilon` and a direction. On the
    other half S is counted, which needs no correction for the choice. With
    Clopper-Pearson bounds, each wrong with half the chance of a false alarm,

    .. math:: \underline\delta = \underline{P}(S) - e^{\varepsilon}\,\overline{Q}(S)

    is below the true :math:`\delta(\varepsilon)`. If it is more than was promised, the promise is
    refuted.
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
        Chance at most that a true promise is refuted.

    Raises
    ------
    TypeError
        If `promise` is no promise, or one of PAC privacy, which neighbors cannot refute.
    ValueError
        If shapes differ, the promise has no such `person`, or draws are too few to refute anything.

    Examples
    --------
    >>> from pdpbook.guarantees import PureDP
    >>> rng = np.random.default_rng(0)
    >>> one, two = rng.laplace(0, 1, 20_000), rng.laplace(1, 1, 20_000)
    >>> audit_samples(one, two, PureDP(1.0, neighbors="replace-one")).passed
    True
    >>> audit_samples(one, two, PureDP(0.5, neighbors="replace-one")).passed
    False
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
    train = [rows[0::2] for rows in releases]
    test = [rows[1::2] for rows in releases]
    n = len(test[0])
    _check_enough(n, places, promised, alarm)
    event = _choose(_scores(*train), train, places, promised)
    likely, rare = test if event.first_is_likely else test[::-1]
    hits = event.count(likely)
    false_hits = event.count(rare)
    low, high = _clopper_pearson(hits, false_hits, n, alarm)
    return SampleAudit(
        delta=low - float(np.exp(places[event.place])) * high,
        epsilon=float(places[event.place]),
        promised=float(promised[event.place]),
        epsilon_lower=max(float(np.log(low / high)), 0.0) if low > 0 else 0.0,
        draws=len(releases[0]),
        false_alarm=alarm,
        person=who,
    )


def _clopper_pearson(hits: int, false_hits: int, n: int, alarm: float) -> tuple[float, float]:
    """Return a lower bound on the rate of `hits`, and an upper one on that of `false_hits`.

    Both are counts among n; each bound is wrong with probability at most ``alarm / 2``.
    """
    low, high = 0.0, 1.0
    if hits > 0:
        low = float(stats.beta.ppf(alarm / 2, hits, n - hits + 1))
    if false_hits < n:
        high = float(stats.beta.ppf(1 - alarm / 2, false_hits + 1, n - false_hits))
    return low, high


class _Event(NamedTuple):
    """An event of a release: its score is above a threshold, or it is not."""

    score: Score
    threshold: float
    above: bool
    first_is_likely: bool  # whether it is likelier under the first data set
    place: int  # index of the epsilon at which it is counted

    def count(self, releases: Floats) -> int:
        is_above = self.score(releases) > self.threshold
        return int((is_above == self.above).sum())


def _check_enough(n: int, places: Floats, promised: Floats, alarm: float) -> None:
    """Refuse samples too small to refute the promise by any event, however often it is seen."""
    # Bounds of Clopper and Pearson for an event seen n times of n, and 0 times of n.
    low = (alarm / 2) ** (1 / n)
    high = 1 - low
    if not np.any(low - np.exp(places) * high > promised):
        raise ValueError(
            f"{2 * n} releases are too few to say anything: even an event that is certain under "
            f"one data set and impossible under the other would not refute this promise at "
            f"false_alarm = {alarm:g}"
        )


def _line(center: Floats, vector: Floats) -> Score:
    """Return the score that is the coordinate along a vector, from a center."""
    return lambda releases: np.asarray((releases - center) @ vector)


def _distance(center: Floats, weight: Floats) -> Score:
    """Return the score that is half of a weighted square of the distance from a center."""
    return lambda releases: np.asarray((releases - center) ** 2 @ weight / 2)


def _scores(one: Floats, two: Floats) -> list[Score]:
    """Return the scores that `audit_samples` lists, with means and variances of two samples."""
    m = one.shape[1]
    mean_one = one.mean(axis=0)
    mean_two = two.mean(axis=0)
    variance_one = np.maximum(one.var(axis=0), NO_DIVISION_BY_ZERO)
    variance_two = np.maximum(two.var(axis=0), NO_DIVISION_BY_ZERO)
    pooled = (variance_one + variance_two) / 2
    scores = [_line(np.zeros(m), axis) for axis in np.eye(m)]
    direction = (mean_two - mean_one) / np.sqrt(pooled) / np.sqrt(pooled)
    if np.any(direction) and m > 1:
        scores.append(_line(mean_one, direction / np.linalg.norm(direction)))
        scores.append(_line(mean_one, _discriminant(one, two)))
    distance_one = _distance(mean_one, 1 / variance_one)
    distance_two = _distance(mean_two, 1 / variance_two)

    def log_ratio(releases: Floats) -> Floats:  # of two normal laws, up to sign and a constant
        return distance_one(releases) - distance_two(releases)

    return [*scores, distance_one, log_ratio]


def _discriminant(one: Floats, two: Floats) -> Floats:
    """Return Fisher's direction between two samples, of length 1.

    It accounts for noise that the coordinates share, and which cancels along this direction.
    """
    move = two.mean(axis=0) - one.mean(axis=0)
    scale = (one.std(axis=0) + two.std(axis=0)) / 2
    scale = np.where(scale > 0, scale, np.maximum(np.abs(move), NO_DIVISION_BY_ZERO))
    centered = [(sample - sample.mean(axis=0)) / scale for sample in (one, two)]
    within = np.concatenate(centered)
    values, vectors = np.linalg.eigh(within.T @ within / len(within))
    largest = max(float(values.max()), NO_DIVISION_BY_ZERO)
    values = np.maximum(values, ROUNDING * largest)
    direction = (vectors @ ((vectors.T @ (move / scale)) / values)) / scale
    length = max(float(np.linalg.norm(direction)), NO_DIVISION_BY_ZERO)
    return np.asarray(direction / length)


def _choose(scores: list[Score], train: list[Floats], places: Floats, promised: Floats) -> _Event:
    """Return the event that looks most like a violation on the training half."""
    largest = -np.inf
    chosen = _Event(scores[0], 0.0, True, True, 0)
    for score in scores:
        values = [np.sort(score(sample)) for sample in train]
        cuts = _thresholds(np.sort(np.concatenate(values)))
        n = len(values[0])
        below = [np.searchsorted(value, cuts, side="right") / len(value) for value in values]
        for above, first_is_likely in product((False, True), (True, False)):
            shares = [1 - share for share in below] if above else below
            likely, rare = shares if first_is_likely else shares[::-1]
            low = _cautious(likely, -1, n)
            high = _cautious(rare, 1, n)
            excess = low - np.exp(places)[:, None] * high - promised[:, None]
            place, cut = np.unravel_index(np.argmax(excess), excess.shape)
            if excess[place, cut] > largest:
                largest = float(excess[place, cut])
                chosen = _Event(score, float(cuts[cut]), above, first_is_likely, int(place))
    return chosen


def _thresholds(values: Floats) -> Floats:
    """Return quantiles of sorted values, and the three smallest and the three largest of them."""
    quantiles = values[np.linspace(0, len(values) - 1, THRESHOLDS).astype(int)]
    return np.union1d(quantiles, values[[0, 1, 2, -3, -2, -1]])


def _cautious(share: Floats, sign: int, n: int) -> Floats:
    """Return a share of n draws, moved up or down by `CAUTION` standard errors.

    One hit and one miss are added for the standard error, so that it is never 0.
    """
    padded = (share * n + 1) / (n + 2)
    return np.asarray(share + sign * CAUTION * np.sqrt(padded * (1 - padded) / n))
