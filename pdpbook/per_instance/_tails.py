"""Logarithms of the two probabilities of one posterior sample, without cancellation.

Both are differences of masses that may be nearly equal, or below the smallest float. The arguments
are flat arrays of one length, the leverages above 0; who calls sets `np.errstate`.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import erfcx, log_ndtr

from pdpbook import Floats

CANCELLED = 1e-4  # below this share of the tail mass the closed form has lost four digits
RULES = [np.polynomial.legendre.leggauss(nodes) for nodes in (22, 40)]  # above the peak, across it
SURE = -37.0  # a normal variable lies above this but for 6e-300
ROOT_2, ROOT_2PI = np.sqrt(2), np.sqrt(2 * np.pi)


def log_add(eps: Floats, mu: Floats, rho: Floats) -> tuple[Floats, Floats, Floats]:
    """Logarithm of delta in the direction `add`, minus its derivative in epsilon, and its second.

    At +-w the densities under P and Q differ by the factor e^epsilon, so both probabilities are
    Mills ratios times one normal density at a, and nothing large is ever subtracted.
    """
    root, log, grow, rest = np.sqrt(mu), np.log1p(mu), np.sqrt(1 + mu), rho / (1 + mu)
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
        tail = _log_integral(a[lost], scale, mu[lost])
        both = b[lost] < np.abs(a[lost]) + 40  # else the other tail is below rounding
        other = _log_integral(b[lost][both], scale[both], mu[lost][both])
        tail[both] = np.logaddexp(tail[both], other)
        delta[lost] = np.exp(tail + a[lost] ** 2 / 2 + np.log(2))
    slope = q / delta
    bend = ((1 + far) / (w * root) * (2 / ROOT_2PI) - q) / delta - slope**2
    return np.log(delta) - a * a / 2 - np.log(2), slope, bend


def _log_integral(a: Floats, scale: Floats, mu: Floats, end: Any = np.inf) -> Floats:
    """Log of the integral over 0 < s < end of phi(a + s) (1 - exp(-scale s - mu s^2 / 2))."""
    above, below = np.maximum(a, 0.0), np.maximum(-a, 0.0)  # phi has its peak at s = below
    start = np.maximum(below - 9.2, 0.0)
    length = np.minimum(84 / (np.sqrt(above**2 + 84) + above) + below, end) - start
    total = np.empty(len(a))
    for (nodes, weights), at in zip(RULES, (a >= 0, a < 0), strict=True):
        s = start[at, None] + (nodes + 1) / 2 * length[at, None]
        weight = np.exp(s * (-a[at, None] - s / 2) - below[at, None] ** 2 / 2)
        loss = np.expm1(s * (-scale[at, None] - mu[at, None] / 2 * s))
        total[at] = (weight * loss) @ weights * length[at] / -2
    return np.asarray(np.log(np.maximum(total, 1e-300)) - above**2 / 2 - np.log(ROOT_2PI))


def log_remove(eps: Floats, mu: Floats, rho: Floats) -> Floats:
    """Logarithm of delta in the direction `remove`, minus infinity where it is pure."""
    log_delta = np.full(eps.shape, -np.inf)
    square = np.log1p(mu) + rho * (rho / (1 + mu)) - 2 * eps
    some = square > 0
    eps, mu, rho, w = eps[some], mu[some], rho[some], np.sqrt(square[some])
    root, log = np.sqrt(mu), np.log1p(mu)
    inside, rest = mu / (1 + mu), rho / (1 + mu)
    root_in, gap = np.sqrt(inside), log - 2 * eps
    c = (gap - rho * rest * mu) / ((w + rho) * root)
    c_in = (gap + rest * rest * mu) / ((w + rest) * root_in)
    log_q = _log_between(c_in, 2 * w / root_in)
    log_p = eps + _log_between(c, 2 * w / root)
    kept = -np.expm1(np.minimum(log_p - log_q, 0.0))
    narrow = w < 1e-3 * root_in  # then the difference of two normal cdfs has lost digits
    lost = (kept < CANCELLED) | narrow
    result = log_q + np.log(np.where(lost, 1.0, kept))
    if lost.any():
        w, root = w[lost], root_in[lost]
        result[lost] = _log_integral(-c_in[lost], w * root, -(root**2), 2 * w / root)
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
