"""Conversions between a ceiling on guessing membership and what noise is calibrated by.

A ceiling :math:`p_o` is a success rate: how often the best adversary guesses right whether one
person is in the data. It is below 1 and above the `prior` p, that of a blind guess: the larger of
q and 1 - q, at least 0.5, where each is in the data with probability q. Information is in nats.
Numbers become floats and arrays keep their shape.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from pdpbook import Floats, check
from pdpbook.noise.profiles import bisect, largest_true

GUARD = 1e-13  # relative; above the rounding error of what is bisected or bounded
NODES = np.linspace(-13.0, 13.0, 1601)  # of the trapezoid rule, exact to rounding for Gaussians
WEIGHTS = np.exp(-(NODES**2) / 2) * (NODES[1] - NODES[0]) / np.sqrt(2 * np.pi)


def gaussian_success_rate(distance: ArrayLike, prior: float = 0.5) -> Any:
    r"""Success rate of the best guess between two Gaussian laws of one covariance.

    .. math:: p\,\Phi\Bigl(\frac s2 + \frac Ls\Bigr) + (1 - p)\,\Phi\Bigl(\frac s2 - \frac Ls\Bigr),
              \qquad L = \ln\frac{p}{1 - p} ;

    for prior 1/2 that is :math:`\Phi(s/2)`. Averaged over who else is in the data, it is the
    success rate of an adversary who knows them. Statement ``prop-tv-calibration``, chapter
    *pac/membership*. Elementwise, in the shape of `distance`.

    Parameters
    ----------
    distance : array_like
        :math:`s = \|\Delta\|_{\Sigma^{-1}}`, at least 0.
    prior : float in [0.5, 1), default 0.5
        Probability p of the likelier law.

    Examples
    --------
    >>> gaussian_success_rate([0.0, 1.0, 2.0]).round(4)
    array([0.5   , 0.6915, 0.8413])
    """
    s = np.asarray(check.nonnegative(distance, "distance"))
    return plain(bayes(s, check_prior(prior)))


def gaussian_mutual_information(distance: ArrayLike, prior: float = 0.5) -> Any:
    r"""Mutual information, in nats, between a coin and unit Gaussian noise around 0 or `distance`.

    .. math:: &-q\,\mathbb{E}\ln(q + (1 - q)e^{-\ell_1})
              - (1 - q)\,\mathbb{E}\ln(1 - q + q e^{-\ell_0}),\\
              &\ell_1, \ell_0 \sim N(s^2/2, s^2)

    with q the prior; the same for 1 - q. It is below :math:`q(1 - q)s^2` and the entropy of the
    coin, and for prior 1/2 below :math:`s^2/8`. By the trapezoid rule, to an absolute error of
    about 1e-15. Bounded in ``lem-mutual-information``, chapter *pac/membership*. Elementwise.

    Parameters
    ----------
    distance : array_like
        s, in standard deviations of the noise, at least 0.
    prior : float in [0.5, 1), default 0.5
        Probability of the likelier side of the coin.
    """
    s = np.asarray(check.nonnegative(distance, "distance"))
    q = check_prior(prior)
    loss = s[..., None] ** 2 / 2 + s[..., None] * NODES
    log_q, log_not_q = np.log(q), np.log1p(-q)
    information_if_in = -np.logaddexp(log_q, log_not_q - loss) @ WEIGHTS
    information_if_out = -np.logaddexp(log_not_q, log_q - loss) @ WEIGHTS
    return plain(np.maximum(q * information_if_in + (1 - q) * information_if_out, 0.0))


def check_prior(prior: Any) -> float:
    """Return the success rate of a blind guess, in [0.5, 1)."""
    clean = check.delta(prior, "prior")
    if not clean >= 0.5:
        raise ValueError(f"prior must be at least 0.5, that of a coin; got {check.shown(clean)}")
    return clean


def bayes(s: Floats, prior: float) -> Floats:
    """Return `gaussian_success_rate` of arguments that are checked."""
    return prior + gain(s, prior)


def gain(s: Floats, prior: float) -> Floats:
    r"""Return by how much the best guess is right more often than a blind one.

    With :math:`L = \ln(p/(1-p))` it is :math:`(1-p)\,\Phi(s/2-L/s) - p\,\Phi(-s/2-L/s)`: the prior
    is never subtracted, so small gains keep their digits.
    """
    log_odds = np.log(prior) - np.log1p(-prior)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(s > 0, log_odds / s, np.inf if log_odds else 0.0)
    right = special.ndtr(s / 2 - ratio)
    wrong = special.ndtr(-s / 2 - ratio)
    return np.asarray((1 - prior) * right - prior * wrong)


@lru_cache(maxsize=64)
def tangent(prior: float) -> tuple[float, float]:
    r"""Return where a line from the blind guess touches the curve of success rates, and its slope.

    As a function of :math:`u = s^2` the success rate is first convex, then concave. The line from
    (0, prior) to the point of contact, then the curve, is the least concave function above it.
    """
    log_odds = float(np.log(prior) - np.log1p(-prior))
    inflection = 2 * log_odds**2 / (1 + np.sqrt(1 + log_odds**2))

    def slope(u: float) -> float:
        s = float(np.sqrt(u))
        density = np.exp(-((s / 2 + log_odds / s) ** 2) / 2) / np.sqrt(2 * np.pi)
        return float(prior * density / (2 * s))

    def gain_above_tangent(u: float) -> float:
        # the gain less that of a line through 0 with the slope of the curve: 0 where they touch
        return float(gain(np.sqrt(u), prior)) - u * slope(u)

    high = 2 * inflection
    while gain_above_tangent(high) < 0:
        high *= 2
    tolerance = 1e-14 * inflection
    root = optimize.brentq(gain_above_tangent, inflection, high, xtol=tolerance, rtol=1e-14)
    touch = float(root)
    # the slope of the chord, rounded up: rounding cannot put the line below the curve
    return touch, float(gain(np.sqrt(touch), prior)) / touch * (1 + GUARD)


def plain(value: Any) -> Any:
    """Return a float for a single number, else an array."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value)


CALIBRATIONS = ("mi", "tv")  #: by mutual information, by total variation


def success_rate_to_mi(success_rate: ArrayLike, prior: float = 0.5) -> Any:
    r"""Mutual information, in nats, that leaves every adversary at most this success rate.

    .. math:: p_o \ln\frac{p_o}{p} + (1 - p_o) \ln\frac{1 - p_o}{1 - p}

    with :math:`p_o` the ceiling, p the prior. Statement ``prop-success-rate``, Yang (2024), section
    3.2, chapter *pac/membership*. Relative error below 1e-13, also next to the prior. Elementwise,
    in the shape of `success_rate`.

    Parameters
    ----------
    success_rate : array_like in (prior, 1)
    prior : float in [0.5, 1), default 0.5

    Examples
    --------
    >>> success_rate_to_mi([0.52, 0.75, 0.98]).round(6)
    array([0.0008  , 0.130812, 0.595108])
    """
    rate, prior = check_rate(success_rate, prior)
    return plain(_divergence(np.asarray(rate), prior))


def mi_to_success_rate(mi: ArrayLike, prior: float = 0.5) -> Any:
    r"""Ceiling on the success rate of every adversary, from mutual information.

    .. math:: \max\Bigl\{p_o : p_o \ln\frac{p_o}{p} + (1 - p_o) \ln\frac{1 - p_o}{1 - p}
              \le \text{mi}\Bigr\}

    Never below the root; 1 where the information reaches :math:`-\ln p`. Statement
    ``prop-success-rate``, chapter *pac/membership*. Elementwise, in the shape of `mi`.

    Parameters
    ----------
    mi : array_like, in nats, at least 0
    prior : float in [0.5, 1), default 0.5
    """
    prior = check_prior(prior)
    target = np.asarray(check.nonnegative(mi, "mi")) * (1 + GUARD)
    low = np.full(target.shape, prior)
    high = np.ones(target.shape)
    rate = bisect(lambda p: _divergence(p, prior) >= target, true_at=high, false_at=low)
    return plain(np.where(target >= -np.log(prior), 1.0, rate))


def success_rate_to_epsilon(success_rate: ArrayLike, delta: float, prior: float = 0.5) -> Any:
    r"""Largest epsilon, in nats, with which (epsilon, delta)-privacy keeps a ceiling.

    .. math:: \varepsilon = \ln\Bigl(\frac{1 - \delta}{1 - p_o} - 1\Bigr)

    Add-remove neighbors, and each person in the data *independently* of all others: with records
    that come together the ceiling does not hold. Statement ``prop-success-rate``, Yang (2024),
    section 3.2, chapter *pac/membership*. Elementwise, in the shape of `success_rate`.

    Parameters
    ----------
    success_rate : array_like in (prior, 1)
    delta : float
        From 0 to (success_rate - prior) / (1 - prior): with chance delta everything may be shown.
    prior : float in [0.5, 1), default 0.5

    Examples
    --------
    >>> round(success_rate_to_epsilon(0.75, 1e-5), 6)
    1.098599
    """
    rate, prior = check_rate(success_rate, prior)
    delta = check.delta(delta, zero=True)
    largest_delta = (np.min(rate) - prior) / (1 - prior)
    if not delta <= largest_delta:
        raise ValueError(
            f"delta must be at most {largest_delta:.3g} for a success_rate of {np.min(rate):g}: "
            f"with a larger one guesses are right more often even at epsilon = 0; got {delta:g}"
        )
    # (1 - delta) / (1 - p) - 1 = (p - delta) / (1 - p)
    return plain(np.maximum(np.log((rate - delta) / (1 - np.asarray(rate))), 0.0))


def epsilon_to_success_rate(epsilon: ArrayLike, delta: float, prior: float = 0.5) -> Any:
    r"""Ceiling on the success rate of every adversary, from (epsilon, delta)-privacy.

    .. math:: p_o \le \max\Bigl(1 - \frac{1 - \delta}{1 + e^\varepsilon},\ p + (1 - p)\delta\Bigr)

    Under add-remove neighbors, each person in the data *independently* of all others; attained.
    Statement ``prop-success-rate``, chapter *pac/membership*. Elementwise.

    Parameters
    ----------
    epsilon : array_like, in nats, at least 0
    delta : float in [0, 1)
    prior : float in [0.5, 1), default 0.5
    """
    prior = check_prior(prior)
    delta = check.delta(delta, zero=True)
    pure = special.expit(np.asarray(check.nonnegative(epsilon, "epsilon")))  # the rate at delta 0
    return plain(np.maximum(pure + delta * (1 - pure), prior + (1 - prior) * delta))


def success_rate_to_snr(
    success_rate: ArrayLike, calibration: str = "mi", prior: float = 0.5
) -> Any:
    r"""Largest mean squared distance, in units of Gaussian noise, that keeps a ceiling.

    What one person does to the output is :math:`\Delta`, random with who else is in the data; the
    noise is :math:`N(0, \Sigma)`. The ceiling :math:`p_o` holds for every adversary if

    .. math:: \mathbb{E}\,\|\Delta\|^2_{\Sigma^{-1}} = \operatorname{tr}(\Sigma^{-1} C) \le
              \begin{cases} \mathrm{MI}(p_o) / (p (1 - p)) & \text{by mutual information} \\
              4\,\Phi^{-1}(p_o)^2 & \text{by total variation, } p = 1/2. \end{cases}

    For another prior total variation gives the inverse of the least concave function above :math:`u
    \mapsto` `gaussian_success_rate` :math:`(\sqrt u)`. Statements ``lem-mutual-information``, Yang
    (2024), section 3.2, and ``prop-tv-calibration`` (ours), chapter *pac/membership*. Elementwise,
    in the shape of `success_rate`.

    Parameters
    ----------
    success_rate : array_like in (prior, 1)
    calibration : {"mi", "tv"}, default "mi"
        By mutual information, or by total variation, which allows more.
    prior : float in [0.5, 1), default 0.5

    Examples
    --------
    >>> round(success_rate_to_snr(0.75, "mi"), 4), round(success_rate_to_snr(0.75, "tv"), 4)
    (0.5232, 1.8197)
    """
    check.choice(calibration, "calibration", CALIBRATIONS)
    rate, prior = check_rate(success_rate, prior)
    if calibration == "mi":
        return plain(_divergence(np.asarray(rate), prior) / (prior * (1 - prior)))
    if prior == 0.5:
        return plain(4 * special.ndtri(np.asarray(rate)) ** 2)
    # the least concave function: a line up to `touch`, then the curve
    touch, slope = tangent(prior)
    rate = np.asarray(rate)
    low = np.full(rate.shape, touch)
    on_curve = largest_true(
        lambda u: bayes(np.sqrt(u), prior) <= rate, low, np.maximum(2 * low, 1.0)
    )
    on_line = (rate - prior) / slope
    rate_at_touch = prior + slope * touch
    return plain(np.where(rate <= rate_at_touch, on_line, on_curve))


def snr_to_success_rate(snr: ArrayLike, calibration: str = "mi", prior: float = 0.5) -> Any:
    r"""Valid ceiling on the success rate, from the mean squared distance in noise units.

    Inverse of `success_rate_to_snr`: with :math:`u = \operatorname{tr}(\Sigma^{-1} C)`, by total
    variation and for prior 1/2 it is :math:`\Phi(\sqrt u / 2)`. Statements ``prop-success-rate``
    and ``prop-tv-calibration``, chapter *pac/membership*. Elementwise, in the shape of `snr`.

    Parameters
    ----------
    snr : array_like
        Mean of the squared distance :math:`\|\Delta\|^2_{\Sigma^{-1}}`, at least 0.
    calibration, prior
        As in `success_rate_to_snr`; by total variation the ceiling is lower.
    """
    check.choice(calibration, "calibration", CALIBRATIONS)
    u = np.asarray(check.nonnegative(snr, "snr"))
    prior = check_prior(prior)
    if calibration == "mi":
        return mi_to_success_rate(prior * (1 - prior) * u, prior)
    if prior == 0.5:
        return plain(special.ndtr(np.sqrt(u) / 2))
    touch, slope = tangent(prior)
    return plain(np.where(u <= touch, prior + slope * u, bayes(np.sqrt(u), prior)))


def check_rate(success_rate: ArrayLike, prior: float) -> tuple[Any, float]:
    """Return ceilings above the prior, and the prior."""
    prior = check_prior(prior)
    rate = check.probability(success_rate, "success_rate")
    if not np.all(rate > prior):
        raise ValueError(
            f"success_rate must be above {check.shown(prior)}, that of a blind guess, and below 1; "
            f"got {check.shown(np.min(rate))}"
        )
    return rate, prior


def _divergence(rate: Floats, prior: float) -> Floats:
    r"""Return the Kullback-Leibler divergence of a coin of this rate from one of the prior.

    With :math:`t = p_o - p` and :math:`g(u) = u - \ln(1+u)` it is :math:`p_o\,g(-t/p_o) +
    (1-p_o)\,g(t/(1-p_o))`, a sum of two terms at least 0: nothing cancels.
    """
    t = rate - prior
    with np.errstate(divide="ignore", invalid="ignore"):
        if_wrong = (1 - rate) * _minus_log1p(t / (1 - rate))
    return np.asarray(rate * _minus_log1p(-t / rate) + np.where(rate < 1, if_wrong, t))


def _minus_log1p(u: Floats) -> Floats:
    """Return u - log(1 + u), by its power series where the difference would cancel."""
    is_small = np.abs(u) < 0.05
    small = np.where(is_small, u, 0.0)
    coefficients = [(-1) ** k / (k + 2) for k in range(11, -1, -1)]  # of u^2, u^3, ..., reversed
    series = small**2 * np.polyval(coefficients, small)
    return np.asarray(np.where(is_small, series, u - np.log1p(u)))
