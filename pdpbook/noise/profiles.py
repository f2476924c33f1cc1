"""Exact privacy profiles of round and of Gaussian noise, with the searches that invert them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import special

from pdpbook import Floats, check

CLOSE = 0.3  # tails of normals that are less apart are so alike that their difference loses digits
NEARLY_ZERO = 1e-305  # below it floats lose digits
SMALLEST_SHIFT = 1e-300  # stands for 0 where a formula divides by it
CACHED_LEVELS = 64  # at most so many different budgets are the key of a cache
L2_PLACES = 1000  # evaluated at once by 256 nodes each: 2 MB an array
ERFCX_PLACES = 10_000  # by 32 nodes each: 2.6 MB an array
SPLITTER = 134217729  # 2^27 + 1: splits the 53 binary digits of a float into two halves

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
    epsilon = check.nonnegative(epsilon, "epsilon")
    eps0 = check.positive(eps0, "eps0")
    epsilon, eps0 = check.together("epsilon and eps0", epsilon, eps0)
    if d == 1:  # the loss has an atom at eps0, so no density to integrate
        exponent = np.minimum(epsilon - eps0, 0.0) / 2
        return np.asarray(0.0 - np.expm1(exponent))[()]
    delta = np.zeros(epsilon.shape)
    for at in places(epsilon < eps0, L2_PLACES):
        delta.flat[at] = _l2_profile(epsilon.flat[at], d, eps0.flat[at])
    return np.asarray(delta)[()]


def places(wanted: Any, most: int) -> Iterator[NDArray[np.intp]]:
    """Yield the flat indices where `wanted` holds, at most `most` of them at a time."""
    where = np.flatnonzero(wanted)
    for start in range(0, len(where), most):
        yield where[start : start + most]


def _l2_profile(epsilon: Floats, d: int, eps0: Floats) -> Floats:
    r"""Return the l2-Laplace profile in d > 1 dimensions, by quadrature over an angle.

    Put :math:`\nu=\cos\psi`. The angle :math:`\psi` in :math:`[0, \pi]` has a density
    proportional to

    .. math:: f(\psi) = \sin^{d-2}\psi\;(1 + q\sin^2\psi)\,e^{-\varepsilon_0\sin^2(\psi/2)} ,
              \qquad q = \frac{K_{d/2-1}(\varepsilon_0/2)}{K_{d/2}(\varepsilon_0/2)}
                        \cdot\frac{\varepsilon_0}{2(d-1)} ,

    and with :math:`\cos\psi_0 = \varepsilon/\varepsilon_0`, up to which the loss is above epsilon,

    .. math:: \delta = \int_0^{\psi_0} \bigl(1 - e^{-\varepsilon_0(\cos\psi-\cos\psi_0)}\bigr)
                       f(\psi)\,d\psi \Bigm/ \int_0^\pi f(\psi)\,d\psi .

    `epsilon` and `eps0` have shape (k,), epsilon below eps0. Both integrals leave out what is more
    than 20 standard deviations from the peak of the density.
    """
    q = _bessel_ratio(d, eps0 / 2) * eps0 / (2 * (d - 1))

    def log_shape(psi: Floats) -> Floats:
        tilt = -eps0[:, None] * np.sin(psi / 2) ** 2
        return np.asarray(tilt + special.xlogy(d - 2, np.sin(psi)))

    # The peak of the shape solves (d - 2) cos(psi) = (eps0 / 2) sin^2(psi).
    denominator = (d - 2) + np.hypot(d - 2, eps0)
    peak_cos = eps0 / denominator
    peak_sin = np.sqrt(np.maximum(0, (1 - peak_cos) * (1 + peak_cos)))
    peak = np.arctan2(peak_sin, peak_cos)
    curvature = (denominator + eps0 * peak_cos) / 2  # of minus the log of the shape, at the peak
    width = 20 / np.sqrt(curvature)
    log_peak = log_shape(np.maximum(peak, SMALLEST_SHIFT)[:, None])

    def density(psi: Floats) -> Floats:  # f, divided by its shape at the peak
        return np.asarray(np.exp(log_shape(psi) - log_peak) * (1 + q[:, None] * np.sin(psi) ** 2))

    psi_0 = 2 * np.arcsin(np.sqrt((eps0 - epsilon) / (2 * eps0)))

    def excess(psi: Floats) -> Floats:
        # cos(psi) - cos(psi_0) as a product, in which nothing cancels
        drop = 2 * np.sin((psi_0[:, None] + psi) / 2) * np.sin((psi_0[:, None] - psi) / 2)
        return np.asarray(density(psi) * -np.expm1(-eps0[:, None] * drop))

    start = np.maximum(0, np.minimum(peak, psi_0) - width)
    numerator = _integral(excess, start, np.minimum(psi_0, peak + width))
    mass = _integral(density, np.maximum(0, peak - width), np.minimum(np.pi, peak + width))
    return np.minimum(numerator / mass, 1.0)


def _integral(function: Callable[[Floats], Floats], low: Floats, high: Floats) -> Floats:
    """Return integrals of a function from `low` to `high`, both of shape (k,)."""
    nodes, weights = gauss_legendre(256)
    points = low[:, None] + (high - low)[:, None] * ((1 + nodes) / 2)
    return np.asarray((high - low) * (function(points) @ (weights / 2)))


def _bessel_ratio(d: int, s: Floats) -> Floats:
    """Return K_{d/2-1}(s) / K_{d/2}(s), by the recurrence of Bessel functions over d.

    All of its terms are positive, so nothing cancels, and the ratios do not overflow.
    """
    if d % 2 == 1:
        dimension = 1
        ratio = np.ones_like(s)
    else:
        dimension = 2
        ratio = special.k0e(s) / special.k1e(s)
    while dimension < d:
        ratio = s / (dimension + s * ratio)
        dimension += 2
    return ratio


def l2_laplace_eps0(epsilon: ArrayLike, delta: ArrayLike, d: int) -> Floats:
    r"""Largest loss `eps0` with which l2-Laplace noise is (epsilon, delta)-private.

    .. math:: \max\{\varepsilon_0 : \delta_d(\varepsilon; \varepsilon_0) \le \delta\}

    Statements ``thm-l2-laplace-profile`` and ``lem-largest-shift`` (ours), chapter
    *foundations/profiles*. Rounded down: the delta computed for the result is not above `delta`.
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
    d = check.count(d, "d")
    epsilon, delta = _checked_budgets(epsilon, delta)

    def is_private(eps0: Floats) -> Any:
        return l2_laplace_profile(epsilon, d, np.maximum(eps0, SMALLEST_SHIFT)) <= delta

    return largest_true(is_private, epsilon, np.maximum(2 * epsilon, 1.0))


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
    epsilon = check.nonnegative(epsilon, "epsilon")
    mu = check.positive(mu, "mu")
    epsilon, mu = check.together("epsilon and mu", epsilon, mu)
    with np.errstate(over="ignore", invalid="ignore"):
        a = _threshold(epsilon, mu)
        b = -mu / 2 - epsilon / mu  # a - mu
        # Phi(x) = exp(-x^2 / 2) erfcx(-x / sqrt(2)) / 2, and e^epsilon exp(-b^2 / 2) =
        # exp(-a^2 / 2): both terms of the profile have one factor, and nothing overflows.
        factor = np.exp(-(a**2) / 2) / 2
        tail_a = special.erfcx(np.maximum(-a, 0) / np.sqrt(2))
        tail_b = special.erfcx(-b / np.sqrt(2))
        below = factor * (tail_a - tail_b)
        above = special.ndtr(a) - factor * tail_b  # for a >= 0, where erfcx(-a) may overflow
        delta = np.where(a < 0, below, above)
    for at in places((mu < CLOSE) & (factor > 0), ERFCX_PLACES):
        delta.flat[at] = factor.flat[at] * _erfcx_drop(-a.flat[at], mu.flat[at])
    return np.asarray(np.clip(delta, 0, 1))[()]


def _threshold(epsilon: Floats, mu: Floats) -> Floats:
    """Return mu / 2 - epsilon / mu, without the error of rounding mu^2 where both terms are large.

    The terms nearly cancel where epsilon is about mu^2 / 2. There mu^2 is computed as `square`,
    its float, plus `rest`, the exact error of that float (Dekker, 1971).
    """
    high = SPLITTER * mu - (SPLITTER * mu - mu)  # the leading half of the digits of mu
    low = mu - high
    square = mu**2
    rest = ((high**2 - square) + 2 * high * low) + low**2
    exact = ((square / 2 - epsilon) + rest / 2) / mu
    needs_exact = (mu > 1) & (mu < 1e100)  # beyond, squares of floats overflow
    return np.asarray(np.where(needs_exact, exact, mu / 2 - epsilon / mu))


def _erfcx_drop(x: Floats, step: Floats) -> Floats:
    r"""Return erfcx(x / sqrt(2)) - erfcx((x + step) / sqrt(2)), as an integral: nothing cancels.

    With both numbers divided by the square root of 2, x and h,

    .. math:: \frac2{\sqrt\pi} \int_0^\infty e^{-2xs-s^2}\,(1-e^{-2hs})\,ds .
    """
    x = x / np.sqrt(2)
    h = step / np.sqrt(2)
    nodes, weights = gauss_legendre(32)
    end = 40 / (x + np.sqrt(x**2 + 40))  # where the exponent 2 x s + s^2 is 40
    s = end[:, None] * (1 + nodes) / 2
    decay = np.exp(-2 * x[:, None] * s - s**2)
    total = (decay * -np.expm1(-2 * h[:, None] * s)) @ weights
    return np.asarray(end * total / np.sqrt(np.pi))


def gaussian_epsilon(delta: ArrayLike, mu: ArrayLike) -> Floats:
    r"""Smallest epsilon with which Gaussian noise is (epsilon, delta)-private.

    .. math:: \min\{\varepsilon \ge 0 : \delta_\mu(\varepsilon) \le \delta\}

    Rounded up, so that its delta is at most `delta` whatever rounding did to the profile; 0 where
    the total variation is at most that. Statement ``lem-gaussian-mechanism``, chapter
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
    delta = check.probability(delta, "delta")
    mu = check.positive(mu, "mu")
    delta, mu = check.together("delta and mu", delta, mu)

    def is_private(epsilon: Floats) -> Any:
        return _surely_at_most(gaussian_profile(epsilon, mu), delta)

    # The tail bound of lem-gaussian-tail: at this epsilon, delta is at most half of what is asked.
    high = mu**2 / 2 + mu * np.sqrt(-2 * np.log(delta))
    zero = np.zeros_like(high)
    smallest = bisect(is_private, true_at=high, false_at=zero)
    return np.asarray(np.where(is_private(zero), 0.0, smallest))[()]


def gaussian_mu(epsilon: ArrayLike, delta: ArrayLike) -> Floats:
    r"""Largest `mu` with which Gaussian noise is (epsilon, delta)-private.

    .. math:: \max\{\mu : \delta_\mu(\varepsilon) \le \delta\}

    Statement ``lem-gaussian-mechanism``, chapter *foundations/noise*. Rounded down, so that
    its delta is at most `delta` whatever rounding did to the profile. The noise then needs the
    standard deviation ``sensitivity / mu``. Elementwise, in the common shape of `epsilon` and
    `delta`.

    Parameters
    ----------
    epsilon, delta : array_like, in nats, at least 0, and in (0, 1)

    Examples
    --------
    >>> gaussian_mu([0.1, 1.0], 1e-6).round(4)
    array([0.0275, 0.2367])
    """
    epsilon, delta = _checked_budgets(epsilon, delta)

    def is_private(mu: Floats) -> Any:
        return _surely_at_most(gaussian_profile(epsilon, mu), delta)

    # Two lower bounds: by lem-gaussian-tail, the mu with mu^2 / 2 + mu tail = epsilon; and the mu
    # whose profile at epsilon 0 is delta, since a profile falls from there.
    tail = np.sqrt(-2 * np.log(delta))
    by_tail = 2 * epsilon / (np.sqrt(tail**2 + 2 * epsilon) + tail)
    at_zero = np.sqrt(8) * special.erfinv(delta)
    low = np.maximum(by_tail, at_zero * (1 - uncertainty(delta)))
    return largest_true(is_private, low, 2 * low)


def uncertainty(delta: Floats) -> Floats:
    """Return a bound on the relative error of `gaussian_profile` where it is about delta.

    The exponent of the tail is about log(delta), with a relative error of a few roundings.
    """
    return np.asarray(8 * np.finfo(float).eps * (3 - np.log(delta)))


def _surely_at_most(profile: Floats, delta: Floats) -> Any:
    """Return whether a Gaussian profile is at most delta, whatever rounding did to it."""
    return profile * (1 + uncertainty(delta)) + NEARLY_ZERO <= delta


def at_levels(function: Callable[..., Any], budgets: ArrayLike, *settings: float) -> Floats:
    """Return ``function(budgets, *settings)``, called with each different budget only once."""
    levels, level_of_person = np.unique(budgets, return_inverse=True)
    if len(levels) <= CACHED_LEVELS:
        values = _cached(function, tuple(levels.tolist()), *settings)
    else:
        values = np.asarray(function(levels, *settings))
    return values[level_of_person]


@lru_cache(maxsize=256)  # an audit asks for these thousands of times
def _cached(function: Callable[..., Any], levels: tuple[float, ...], *settings: float) -> Floats:
    """Return a function of an array of levels, computed once."""
    return np.atleast_1d(function(np.array(levels), *settings))


def largest_true(condition: Callable[[Floats], Any], low: Any, high: Any) -> Floats:
    """Return the largest value at which a condition holds, elementwise.

    The condition holds at `low`, and up to some point only; `high` is where to look first.
    """
    holds = condition(high)
    while np.any(holds):
        low = np.where(holds, high, low)
        high = np.where(holds, 2 * high, high)
        holds = condition(high)
    return np.asarray(bisect(condition, true_at=low, false_at=high))[()]


def bisect(condition: Callable[[Floats], Any], *, true_at: Any, false_at: Any) -> Floats:
    """Return where a condition ends to hold between `true_at` and `false_at`: a float on the true
    side, with none between it and the false side. Elementwise."""
    while True:
        middle = true_at + (false_at - true_at) / 2
        if np.all((middle == true_at) | (middle == false_at)):
            return np.asarray(true_at)
        holds = condition(middle)
        true_at = np.where(holds, middle, true_at)
        false_at = np.where(holds, false_at, middle)


def _checked_budgets(epsilon: ArrayLike, delta: ArrayLike) -> list[Floats]:
    """Return epsilon and delta as arrays of one shape."""
    epsilon = check.nonnegative(epsilon, "epsilon")
    delta = check.probability(delta, "delta")
    return check.together("epsilon and delta", epsilon, delta)
