"""The delta of two laws at given epsilons: exactly, by quadrature, or certified from draws."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.integrate import quad_vec
from scipy.special import rel_entr

from pdpbook import Floats, check
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
