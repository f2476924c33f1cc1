"""Two Gaussian laws of one covariance: how often they are told apart, and how much they tell."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import optimize, special

from pdpbook import Floats, check

GUARD = 1e-13  # relative; above the rounding error of what is bisected or bounded
NODES = np.linspace(-13.0, 13.0, 1601)  # trapezoids: exact to rounding for what decays like this
WEIGHTS = np.exp(-(NODES**2) / 2) * (NODES[1] - NODES[0]) / np.sqrt(2 * np.pi)


def gaussian_success_rate(distance: ArrayLike, prior: float = 0.5) -> Any:
    r"""Success rate of the best guess between two Gaussian laws of one covariance.

    .. math:: p\,\Phi\Bigl(\frac s2 + \frac Ls\Bigr) + (1 - p)\,\Phi\Bigl(\frac s2 - \frac Ls\Bigr),
              \qquad L = \ln\frac{p}{1 - p} ;

    for prior 1/2 that is :math:`\Phi(s/2)`. Its mean over the others in the data is the rate of an
    adversary who knows them. Statement ``prop-tv-calibration``, chapter *pac/membership*.
    Elementwise, in the shape of `distance`.

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
    s, prior = np.asarray(check.nonnegative(distance, "distance")), check_prior(prior)
    return plain(bayes(s, prior))


def gaussian_mutual_information(distance: ArrayLike, prior: float = 0.5) -> Any:
    r"""Mutual information, in nats, between a coin and unit Gaussian noise around 0 or `distance`.

    .. math:: &-q\,\mathbb{E}\ln(q + (1 - q)e^{-\ell_1})
              - (1 - q)\,\mathbb{E}\ln(1 - q + q e^{-\ell_0}),\\
              &\ell_1, \ell_0 \sim N(s^2/2, s^2)

    with q the prior; the same for 1 - q. It is below :math:`q(1 - q)s^2` and the entropy of the
    coin, and for prior 1/2 below :math:`s^2/8`. By trapezoids, to an absolute error of about 1e-15.
    What ``lem-mutual-information`` bounds, chapter *pac/membership*. Elementwise.

    Parameters
    ----------
    distance : array_like
        s, in standard deviations of the noise, at least 0.
    prior : float in [0.5, 1), default 0.5
        Probability of the likelier side of the coin.
    """
    s, q = np.asarray(check.nonnegative(distance, "distance")), check_prior(prior)
    loss = s[..., None] ** 2 / 2 + s[..., None] * NODES
    given_in = -np.logaddexp(np.log(q), np.log1p(-q) - loss) @ WEIGHTS
    given_out = -np.logaddexp(np.log1p(-q), np.log(q) - loss) @ WEIGHTS
    return plain(np.maximum(q * given_in + (1 - q) * given_out, 0.0))


def check_prior(prior: Any) -> float:
    """Return the success rate of a blind guess, in [0.5, 1)."""
    clean = check.delta(prior, "prior")
    if not clean >= 0.5:
        raise ValueError(f"prior must be at least 0.5, that of a coin; got {check.shown(clean)}")
    return clean


def bayes(s: Floats, prior: float) -> Floats:
    """`gaussian_success_rate` without checks."""
    return prior + gain(s, prior)


def gain(s: Floats, prior: float) -> Floats:
    """What the best guess has over a blind one, without subtracting the prior."""
    lean = np.log(prior) - np.log1p(-prior)
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        ratio = np.where(s > 0, lean / s, np.inf if lean else 0.0)
    right, wrong = special.ndtr(s / 2 - ratio), special.ndtr(-s / 2 - ratio)
    return np.asarray((1 - prior) * right - prior * wrong)


@lru_cache(maxsize=64)
def tangent(prior: float) -> tuple[float, float]:
    """Where the line from (0, prior) touches the curve of u = s^2, which is first convex."""
    lean = float(np.log(prior) - np.log1p(-prior))
    turn = 2 * lean**2 / (1 + np.sqrt(1 + lean**2))  # the one inflection

    def slope(u: float) -> float:
        s = float(np.sqrt(u))
        density = np.exp(-((s / 2 + lean / s) ** 2) / 2) / np.sqrt(2 * np.pi)
        return float(prior * density / (2 * s))

    def short(u: float) -> float:
        return float(gain(np.sqrt(u), prior)) - u * slope(u)

    high = 2 * turn
    while short(high) < 0:
        high *= 2
    touch = float(optimize.brentq(short, turn, high, xtol=1e-14 * turn, rtol=1e-14))
    # the best chord, so that rounding cannot put the line below the curve
    return touch, float(gain(np.sqrt(touch), prior)) / touch * (1 + GUARD)


def plain(value: Any) -> Any:
    """Return a float for a single number, else an array."""
    return float(value) if np.ndim(value) == 0 else np.asarray(value)
