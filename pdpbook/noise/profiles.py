"""Exact privacy profiles of round and of Gaussian noise, with the searches that invert them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from pdpbook import Floats, check

CLOSE = 0.3  # normals that are less apart have nearly the same tails
NEARLY_ZERO = 1e-305  # below it floats lose digits

FEW = 64  # levels of budgets whose values are kept
gauss_legendre = lru_cache(maxsize=8)(np.polynomial.legendre.leggauss)


def l2_laplace_profile(epsilon: ArrayLike, d: int, eps0: ArrayLike) -> Floats:
    r"""Exact privacy profile of the l2-Laplace mechanism.

    Noise :math:`Z` with density proportional to :math:`e^{-\eta\|z\|}`, added to an output in `d`
    dimensions that moves by at most :math:`\Delta`, gives, with :math:`\varepsilon_0=\eta\Delta`,

    .. math:: \delta(\varepsilon) = \mathbb{E}\bigl(1 - e^{\varepsilon - \varepsilon_0\nu}\bigr)_+ ,
              \qquad \nu = (\|Z - \Delta e\| - \|Z\|)/\Delta .

    Statement ``thm-l2-laplace-profile`` (ours), chapter *foundations/profiles*. Absolute error
    below 1e-13 for `d` up to 300 and `eps0` up to 500 (measured against 30-digit arithmetic).

    Parameters
    ----------
    epsilon : array_like, in nats, at least 0
    d : int
    eps0 : array_like
        Largest privacy loss, above 0: `eta` times the sensitivity.

    Returns
    -------
    ndarray in [0, 1], common shape of `epsilon` and `eps0`
        Exactly 0 where ``epsilon >= eps0``.

    Examples
    --------
    >>> l2_laplace_profile([0.0, 1.0, 2.0], d=1, eps0=2.0).round(4)
    array([0.6321, 0.3935, 0.    ])
    """
    d = check.count(d, "d")
    epsilon, eps0 = check.nonnegative(epsilon, "epsilon"), check.positive(eps0, "eps0")
    epsilon, eps0 = check.together("epsilon and eps0", epsilon, eps0)
    if d == 1:  # the loss has an atom at eps0, so no density to integrate
        return np.asarray(0.0 - np.expm1(np.minimum(epsilon - eps0, 0.0) / 2))[()]
    delta = np.zeros(epsilon.shape)
    for at in places(epsilon < eps0, 1000):
        delta.flat[at] = _l2_profile(epsilon.flat[at], d, eps0.flat[at])
    return np.asarray(delta)[()]


def places(wanted: Any, most: int) -> Iterator[NDArray[np.intp]]:
    """Where `wanted` holds, in the flat array: at most so many places at a time."""
    where = np.flatnonzero(wanted)
    yield from (where[k : k + most] for k in range(0, len(where), most))


def _l2_profile(epsilon: Floats, d: int, eps0: Floats) -> Floats:
    """Hockey-stick integral over the angle psi, nu = cos(psi), divided by its own total mass."""
    # Density of psi up to a constant: sin^(d-2) (1 + q sin^2) exp(-eps0 sin^2(psi/2)).
    q = _bessel_ratio(d, eps0 / 2) * eps0 / (2 * (d - 1))
    lean = (d - 2) + np.hypot(d - 2, eps0)
    peak_cos = eps0 / lean
    peak = np.arctan2(np.sqrt(np.maximum(0, (1 - peak_cos) * (1 + peak_cos))), peak_cos)
    width = 20 / np.sqrt((lean + eps0 * peak_cos) / 2)  # beyond 20 deviations: nothing left

    def log_shape(psi: Floats) -> Floats:
        tilt = -eps0[:, None] * np.sin(psi / 2) ** 2
        return np.asarray(tilt + special.xlogy(d - 2, np.sin(psi)))

    top = log_shape(np.maximum(peak, 1e-300)[:, None])

    def integral(low: Floats, high: Floats, last: Floats | None) -> Floats:
        node, weight = gauss_legendre(256)
        psi = low[:, None] + (high - low)[:, None] * ((1 + node) / 2)
        value = np.exp(log_shape(psi) - top) * (1 + q[:, None] * np.sin(psi) ** 2)
        if last is not None:  # eps0 (cos psi - cos last): the loss above epsilon, as a product
            above = 2 * np.sin((last[:, None] + psi) / 2) * np.sin((last[:, None] - psi) / 2)
            value = value * -np.expm1(-eps0[:, None] * above)
        return np.asarray((high - low) * (value @ (weight / 2)))

    last = 2 * np.arcsin(np.sqrt((eps0 - epsilon) / (2 * eps0)))  # cos(last) = epsilon / eps0
    start = np.maximum(0, np.minimum(peak, last) - width)
    loss = integral(start, np.minimum(last, peak + width), last)
    mass = integral(np.maximum(0, peak - width), np.minimum(np.pi, peak + width), None)
    return np.minimum(loss / mass, 1.0)


def _bessel_ratio(d: int, s: Floats) -> Floats:
    """K_{d/2-1}(s) / K_{d/2}(s) by the recurrence of K: every term positive, no overflow."""
    ratio = np.ones_like(s) if d % 2 else special.k0e(s) / special.k1e(s)
    for order in range(3 + (d + 1) % 2, d + 1, 2):
        ratio = s / ((order - 2) + s * ratio)
    return ratio


def l2_laplace_eps0(epsilon: ArrayLike, delta: ArrayLike, d: int) -> Floats:
    r"""Largest loss `eps0` with which l2-Laplace noise is (epsilon, delta)-private.

    .. math:: \max\{\varepsilon_0 : \delta_d(\varepsilon; \varepsilon_0) \le \delta\}

    Statements ``thm-l2-laplace-profile`` and ``lem-largest-shift`` (ours), chapter
    *foundations/profiles*. Of the last bracket, the end whose computed delta is not above `delta`.
    The noise then needs the rate ``eps0 / sensitivity``. Elementwise, in the common shape of
    `epsilon` and `delta`, at least `epsilon`.

    Parameters
    ----------
    epsilon, delta : array_like, in nats, at least 0, and in (0, 1)
    d : int

    Examples
    --------
    >>> l2_laplace_eps0(1.0, 1e-6, d=30).round(3)
    np.float64(1.486)
    """
    d, (epsilon, delta) = check.count(d, "d"), _budgets(epsilon, delta)

    def keeps(eps0: Floats) -> Any:
        return l2_laplace_profile(epsilon, d, np.maximum(eps0, 1e-300)) <= delta

    return last_kept(keeps, epsilon, np.maximum(2 * epsilon, 1.0))


def gaussian_profile(epsilon: ArrayLike, mu: ArrayLike) -> Floats:
    r"""Exact privacy profile of Gaussian noise: unit normals that are `mu` apart.

    .. math:: \delta(\varepsilon) = \Phi(a) - e^\varepsilon\,\Phi(a-\mu),\ a=\mu/2-\varepsilon/\mu

    Statement ``lem-gaussian-mechanism``, Wang (2019), Lemma 4, and Balle and Wang (2018), Theorem
    8; chapter *foundations/noise*. Relative error below 1e-12, where the result is above 1e-305.
    Returns an array in [0, 1], common shape of `epsilon` and `mu`.

    Parameters
    ----------
    epsilon : array_like, in nats, at least 0
    mu : array_like
        Sensitivity over standard deviation, above 0.

    Examples
    --------
    >>> gaussian_profile([0.0, 1.0], mu=1.0).round(4)
    array([0.3829, 0.1269])
    """
    epsilon, mu = check.nonnegative(epsilon, "epsilon"), check.positive(mu, "mu")
    epsilon, mu = check.together("epsilon and mu", epsilon, mu)
    with np.errstate(over="ignore", invalid="ignore"):
        a, b = _threshold(epsilon, mu), -mu / 2 - epsilon / mu
        # e^epsilon phi(b) = phi(a): a common factor, so no e^epsilon and no overflow.
        common = np.exp(-(a**2) / 2) / 2
        right = special.erfcx(-b / np.sqrt(2))
        left = special.erfcx(np.maximum(-a, 0) / np.sqrt(2))
        delta = np.where(a < 0, common * (left - right), special.ndtr(a) - common * right)
    for at in places((mu < CLOSE) & (common > 0), 10_000):  # left and right are nearly the same
        delta.flat[at] = common.flat[at] * _erfcx_drop(-a.flat[at], mu.flat[at])
    return np.asarray(np.clip(delta, 0, 1))[()]


def _threshold(epsilon: Floats, mu: Floats) -> Floats:
    """mu / 2 - epsilon / mu: of large ones from the exact square, in two parts, as they cancel."""
    high = 134217729 * mu - (134217729 * mu - mu)  # the leading half of the digits
    low, square = mu - high, mu**2
    rest = ((high**2 - square) + 2 * high * low) + low**2
    exact = ((square / 2 - epsilon) + rest / 2) / mu
    return np.asarray(np.where((mu > 1) & (mu < 1e100), exact, mu / 2 - epsilon / mu))


def _erfcx_drop(x: Floats, step: Floats) -> Floats:
    r"""How much erfcx falls from x to x + step, both over sqrt(2), without a difference.

    .. math:: \frac2{\sqrt\pi} \int_0^\infty e^{-2xs-s^2}\,(1-e^{-2hs})\,ds
    """
    x, step = x / np.sqrt(2), step / np.sqrt(2)
    node, weight = gauss_legendre(32)
    end = 40 / (x + np.sqrt(x**2 + 40))  # where the exponent is -40
    s = end[:, None] * (1 + node) / 2
    falling = np.exp(-2 * x[:, None] * s - s**2)
    total = (falling * -np.expm1(-2 * step[:, None] * s)) @ weight
    return np.asarray(end * total / np.sqrt(np.pi))


def gaussian_epsilon(delta: ArrayLike, mu: ArrayLike) -> Floats:
    r"""Smallest epsilon with which Gaussian noise is (epsilon, delta)-private.

    .. math:: \min\{\varepsilon \ge 0 : \delta_\mu(\varepsilon) \le \delta\}

    Rounded up: its delta is not above `delta`, by more than the profile is uncertain; 0 where the
    total variation is at most that. Statement ``lem-gaussian-mechanism``, chapter
    *foundations/noise*. Returns an array, in nats, common shape of `delta` and `mu`.

    Parameters
    ----------
    delta, mu : array_like
        In (0, 1); and sensitivity over standard deviation, above 0.

    Examples
    --------
    >>> gaussian_epsilon(1e-6, mu=[0.3, 1.0]).round(5)
    array([1.29171, 4.88655])
    """
    delta, mu = check.probability(delta, "delta"), check.positive(mu, "mu")
    delta, mu = check.together("delta and mu", delta, mu)

    def keeps(epsilon: Floats) -> Any:
        return _at_most(gaussian_profile(epsilon, mu), delta)

    # The tail bound of lem-gaussian-tail: at this epsilon, delta is at most half of what is asked.
    safe = mu**2 / 2 + mu * np.sqrt(-2 * np.log(delta))
    found = bisect(keeps, kept=safe, broken=np.zeros_like(safe))
    return np.asarray(np.where(keeps(np.zeros_like(safe)), 0.0, found))[()]


def gaussian_mu(epsilon: ArrayLike, delta: ArrayLike) -> Floats:
    r"""Largest `mu` with which Gaussian noise is (epsilon, delta)-private.

    .. math:: \max\{\mu : \delta_\mu(\varepsilon) \le \delta\}

    Statement ``lem-gaussian-mechanism``, chapter *foundations/noise*. Rounded down: its delta is
    not above `delta`, by more than the profile is uncertain. The noise then needs the standard
    deviation ``sensitivity / mu``. Elementwise, in the common shape of `epsilon` and `delta`.

    Parameters
    ----------
    epsilon, delta : array_like, in nats, at least 0, and in (0, 1)

    Examples
    --------
    >>> gaussian_mu([0.1, 1.0], 1e-6).round(4)
    array([0.0275, 0.2367])
    """
    epsilon, delta = _budgets(epsilon, delta)
    tail = np.sqrt(-2 * np.log(delta))
    low = 2 * epsilon / (np.sqrt(tail**2 + 2 * epsilon) + tail)  # mu^2/2 + mu tail = epsilon
    at_zero = np.sqrt(8) * special.erfinv(delta)  # keeps delta at epsilon 0, and so everywhere
    low = np.maximum(low, at_zero * (1 - uncertainty(delta)))
    return last_kept(lambda mu: _at_most(gaussian_profile(epsilon, mu), delta), low, 2 * low)


def uncertainty(delta: Floats) -> Floats:
    """Return a bound of the relative error of `gaussian_profile` where it is about delta.

    The exponent of the tail is about log(delta), with a relative error of a few roundings.
    """
    return np.asarray(8 * np.finfo(float).eps * (3 - np.log(delta)))


def _at_most(profile: Floats, delta: Floats) -> Any:
    """Whether a profile of normals is surely at most delta, whatever rounding did to it."""
    return profile * (1 + uncertainty(delta)) + NEARLY_ZERO <= delta


def at_levels(function: Callable[..., Any], budgets: ArrayLike, *settings: float) -> Floats:
    """A function of everybody's budget and of settings, computed once for all who have the same."""
    levels, person = np.unique(budgets, return_inverse=True)
    if len(levels) <= FEW:
        return _of_few(function, tuple(levels.tolist()), *settings)[person]
    return np.asarray(function(levels, *settings)[person])


@lru_cache(maxsize=256)  # an audit asks for these thousands of times
def _of_few(function: Callable[..., Any], levels: tuple[float, ...], *settings: float) -> Floats:
    return np.atleast_1d(function(np.array(levels), *settings))


def last_kept(keeps: Callable[[Floats], Any], low: Any, high: Any) -> Floats:
    """Largest value that keeps an increasing profile below its target; `low` keeps it."""
    while np.any(inside := keeps(high)):
        low, high = np.where(inside, high, low), np.where(inside, 2 * high, high)
    return np.asarray(bisect(keeps, kept=low, broken=high))[()]


def bisect(keeps: Callable[[Floats], Any], *, kept: Any, broken: Any) -> Floats:
    """Halve [kept, broken] until no float lies between; the end that keeps the promise."""
    while True:
        middle = kept + (broken - kept) / 2
        if np.all((middle == kept) | (middle == broken)):
            return np.asarray(kept)
        good = keeps(middle)
        kept, broken = np.where(good, middle, kept), np.where(good, broken, middle)


def _budgets(epsilon: ArrayLike, delta: ArrayLike) -> list[Floats]:
    epsilon, delta = check.nonnegative(epsilon, "epsilon"), check.probability(delta, "delta")
    return check.together("epsilon and delta", epsilon, delta)
