r"""Conversions between a ceiling on guessing membership and what noise is calibrated by.

A ceiling :math:`p_o` is a success rate: how often the best adversary guesses right whether one
person is in the data. It is below 1 and above the `prior` p, that of a blind guess: the larger of
q and 1 - q, at least 0.5, where each is in the data with probability q. Information is in nats.
Numbers become floats and arrays keep their shape.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from pdpbook import Floats, check
from pdpbook.noise.profiles import bisect, last_kept
from pdpbook.pac.gaussian import GUARD, bayes, check_prior, plain, tangent

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
    low, high = np.full(target.shape, prior), np.ones(target.shape)
    rate = bisect(lambda p: _divergence(p, prior) >= target, kept=high, broken=low)
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
        From 0 to (success_rate - prior) / (1 - prior), since with chance delta all may be shown.
    prior : float in [0.5, 1), default 0.5

    Examples
    --------
    >>> round(success_rate_to_epsilon(0.75, 1e-5), 6)
    1.098599
    """
    rate, prior = check_rate(success_rate, prior)
    delta = check.delta(delta, zero=True)
    most = (np.min(rate) - prior) / (1 - prior)
    if not delta <= most:
        raise ValueError(
            f"delta must be at most {most:.3g} for a success_rate of {np.min(rate):g}: that much "
            f"is lost before epsilon is spent; got {delta:g}"
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
    prior, delta = check_prior(prior), check.delta(delta, zero=True)
    shown = special.expit(np.asarray(check.nonnegative(epsilon, "epsilon")))
    return plain(np.maximum(shown + delta * (1 - shown), prior + (1 - prior) * delta))


def success_rate_to_snr(
    success_rate: ArrayLike, calibration: str = "mi", prior: float = 0.5
) -> Any:
    r"""Largest mean squared distance in noise units that keeps a ceiling, Gaussian noise.

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
    touch, slope = tangent(prior)
    rate = np.asarray(rate)
    low = np.full(rate.shape, touch)
    curve = last_kept(lambda u: bayes(np.sqrt(u), prior) <= rate, low, np.maximum(2 * low, 1.0))
    at_touch = prior + slope * touch
    return plain(np.where(rate <= at_touch, (rate - prior) / slope, curve))


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
    u, prior = np.asarray(check.nonnegative(snr, "snr")), check_prior(prior)
    if calibration == "mi":
        return mi_to_success_rate(prior * (1 - prior) * u, prior)
    if prior == 0.5:
        return plain(special.ndtr(np.sqrt(u) / 2))
    touch, slope = tangent(prior)
    return plain(np.where(u <= touch, prior + slope * u, bayes(np.sqrt(u), prior)))


def check_rate(success_rate: ArrayLike, prior: float) -> tuple[Any, float]:
    """Return ceilings above the prior, and the prior."""
    prior, rate = check_prior(prior), check.probability(success_rate, "success_rate")
    if not np.all(rate > prior):
        raise ValueError(
            f"success_rate must be above {check.shown(prior)}, that of a blind guess, and below 1; "
            f"got {check.shown(np.min(rate))}"
        )
    return rate, prior


def _divergence(rate: Floats, prior: float) -> Floats:
    """KL of two coins as a sum of two terms, neither below 0: nothing cancels."""
    t = rate - prior
    with np.errstate(divide="ignore", invalid="ignore"):
        tails = (1 - rate) * _excess(t / (1 - rate))
    return np.asarray(rate * _excess(-t / rate) + np.where(rate < 1, tails, t))


def _excess(u: Floats) -> Floats:
    """u - log(1 + u), by its series where the difference would cancel."""
    small = np.where(np.abs(u) < 0.05, u, 0.0)
    series = small**2 * np.polyval([(-1) ** k / (k + 2) for k in range(11, -1, -1)], small)
    return np.asarray(np.where(np.abs(u) < 0.05, series, u - np.log1p(u)))
