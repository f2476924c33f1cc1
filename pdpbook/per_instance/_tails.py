"""Logarithms of the two probabilities of one posterior sample, without cancellation.

Both are differences of masses that may be nearly equal, or below the smallest float. The arguments
are flat arrays of one length, the leverages above 0; who calls sets `np.errstate`.
"""

from __future__ import annotations

import numpy as np
from scipy.special import erfcx, log_ndtr

from pdpbook import Floats

CANCELLED = 1e-4  # below this share of the tail mass the closed form has lost four digits
NODES, WEIGHTS = np.polynomial.legendre.leggauss(40)
SURE = -37.0  # a normal variable lies above this but for 6e-300
ROOT_2, ROOT_2PI = np.sqrt(2), np.sqrt(2 * np.pi)


def log_add(eps: Floats, mu: Floats, rho: Floats) -> Floats:
    """Logarithm of delta in the direction `add`.

    At +-w the densities under P and Q differ by the factor e^epsilon. So both probabilities are
    Mills ratios times one density of the normal law at a, and nothing large is ever subtracted.
    """
    root, log, grow = np.sqrt(mu), np.log1p(mu), np.sqrt(1 + mu)
    rest = rho / (1 + mu)
    w = np.sqrt(log + rho * rest + 2 * eps)
    gap = 2 * eps + log  # never w - rho itself: both may be large and equal
    a = np.maximum((gap - rho * rest * mu) / ((w + rho) * root), SURE)
    b = (w + rho) / root
    a_in = (gap + rest * rest * mu) * grow / ((w + rest) * root)
    b_in = (w + rest) * grow / root
    far = np.exp(-2 * w * (rho / mu))  # the density at -w over that at w
    p = erfcx(a / ROOT_2) + far * erfcx(b / ROOT_2)
    q = (erfcx(a_in / ROOT_2) + far * erfcx(b_in / ROOT_2)) / grow
    delta = p - q
    lost = delta < CANCELLED * p
    if lost.any():
        scale = w[lost] * root[lost]
        tail = _log_tail(a[lost], scale, mu[lost])
        both = b[lost] < np.abs(a[lost]) + 40  # else the other tail is below rounding
        other = _log_tail(b[lost][both], scale[both], mu[lost][both])
        tail[both] = np.logaddexp(tail[both], other)
        delta[lost] = np.exp(tail + a[lost] ** 2 / 2 + np.log(2))
    return np.asarray(np.log(delta) - a * a / 2 - np.log(2))


def _log_tail(a: Floats, scale: Floats, mu: Floats) -> Floats:
    """Log of the integral over s > 0 of phi(a + s) (1 - exp(-scale s - mu s^2 / 2)).

    Only asked for where the exponent is small on the bulk: three terms of its series then give
    12 digits. Far out the moments cancel, and quadrature takes over.
    """
    near = (a > -3) & (a < 10)
    result = np.empty(a.shape)
    result[near] = _log_series(a[near], scale[near], mu[near])
    result[~near] = _log_quadrature(a[~near], scale[~near], mu[~near])
    return result


def _log_series(a: Floats, scale: Floats, mu: Floats) -> Floats:
    moments = [ROOT_2PI / 2 * erfcx(a / np.sqrt(2)), np.ones(a.shape)]
    moments[1] = 1 - a * moments[0]
    for k in range(2, 7):  # by parts
        moments.append((k - 1) * moments[k - 2] - a * moments[k - 1])
    half = mu / 2
    total = scale * moments[1] + half * moments[2]
    total -= (scale**2 * moments[2] + half * (2 * scale * moments[3] + half * moments[4])) / 2
    total += scale**2 * (scale * moments[3] + 3 * half * moments[4]) / 6
    total += half**2 * (3 * scale * moments[5] + half * moments[6]) / 6
    return np.asarray(np.log(np.maximum(total, 1e-300)) - a * a / 2 - np.log(ROOT_2PI))


def _log_quadrature(a: Floats, scale: Floats, mu: Floats) -> Floats:
    above = np.maximum(a, 0.0)
    length = 84 / (np.sqrt(above**2 + 84) + above) + np.maximum(-a, 0.0)
    s = (NODES + 1) / 2 * length[:, None]
    weight = np.exp(-s * (a[:, None] + s / 2))
    gain = -np.expm1(-s * (scale[:, None] + mu[:, None] * s / 2))
    total = (weight * gain) @ WEIGHTS * length / 2
    return np.asarray(np.log(np.maximum(total, 1e-300)) - a * a / 2 - np.log(ROOT_2PI))


def log_remove(eps: Floats, mu: Floats, rho: Floats) -> Floats:
    """Logarithm of delta in the direction `remove`, minus infinity where it is pure."""
    log_delta = np.full(eps.shape, -np.inf)
    square = np.log1p(mu) + rho * (rho / (1 + mu)) - 2 * eps
    some = square > 0
    eps, mu, rho, w = eps[some], mu[some], rho[some], np.sqrt(square[some])
    root, log = np.sqrt(mu), np.log1p(mu)
    inside, rest = mu / (1 + mu), rho / (1 + mu)
    root_in = np.sqrt(inside)
    gap = log - 2 * eps
    c = (gap - rho * rest * mu) / ((w + rho) * root)
    c_in = (gap + rest * rest * mu) / ((w + rest) * root_in)
    log_q = _log_between(c_in, 2 * w / root_in)
    log_p = eps + _log_between(c, 2 * w / root)
    kept = -np.expm1(np.minimum(log_p - log_q, 0.0))
    narrow = w < 1e-3 * root_in  # then the difference of two normal cdfs has lost digits
    lost = (kept < CANCELLED) | narrow
    result = log_q + np.log(np.where(lost, 1.0, kept))
    if lost.any():
        result[lost] = _log_middle(c_in[lost], w[lost], root_in[lost])
    log_delta[some] = result
    return log_delta


def _log_between(high: Floats, width: Floats) -> Floats:
    """Logarithm of the normal mass between high - width (at most 0) and high."""
    low = high - width
    below = log_ndtr(high) + np.log(-np.expm1(np.minimum(log_ndtr(low) - log_ndtr(high), -1e-300)))
    upper = np.maximum(high, 0.0)
    outside = np.exp(log_ndtr(-upper)) + np.exp(log_ndtr(np.minimum(low, -1e-300)))
    around = np.log1p(-np.minimum(outside, 1 - 1e-16))  # used where high is above 0
    return np.asarray(np.where(high > 0, around, below))


def _log_middle(c: Floats, w: Floats, root: Floats) -> Floats:
    """Log of the integral over 0 < s < 2 w / root of phi(c - s) (1 - exp(-(w^2 - v^2) / 2)).

    The place is v = w - root s, so that w^2 - v^2 = root s (2 w - root s).
    """
    below = np.maximum(-c, 0.0)
    start = np.maximum(c - 9.2, 0.0)
    end = np.minimum(84 / (np.sqrt(below**2 + 84) + below) + np.maximum(c, 0.0), 2 * w / root)
    s = start[:, None] + (NODES + 1) / 2 * (end - start)[:, None]
    shift = np.maximum(c, 0.0)  # the peak of phi(c - s), taken out
    weight = np.exp(s * (c[:, None] - s / 2) - (shift * (c - shift / 2))[:, None])
    moved = root[:, None] * s
    gain = -np.expm1(-moved * (2 * w[:, None] - moved) / 2)
    total = (weight * gain) @ WEIGHTS * (end - start) / 2
    peak = shift * (c - shift / 2) - c * c / 2 - np.log(ROOT_2PI)
    return np.asarray(np.log(np.maximum(total, 1e-300)) + peak)
