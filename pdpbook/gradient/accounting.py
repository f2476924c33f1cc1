r"""Accounting of DP-SGD: what noisy steps on random batches promise, or the noise for a promise.

Every step takes each person with probability q, the `sample_rate`, bounds what they add by a norm
C, and adds Gaussian noise of standard deviation :math:`\sigma C`; :math:`\sigma` is the
`noise_multiplier`. All `steps` may be seen, neighbors are add-remove, epsilon is in nats. Steps are
composed by dp-accounting, through privacy-loss distributions or Renyi divergences. One step has a
closed form, `subsampled_gaussian_profile`; the training itself lives in `dpsgd`.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.optimize import brentq
from scipy.special import logsumexp, ndtri
from scipy.stats import binom

from pdpbook import Floats, check
from pdpbook._extras import extra
from pdpbook.guarantees.promises import RENYI_ORDERS, check_orders, rounded_up
from pdpbook.noise import gaussian_epsilon, gaussian_mu, gaussian_profile

ACCOUNTANTS = ("pld", "rdp")
SMALLEST_SAMPLED = 0.2  # below this noise multiplier sampling hardly helps, and is not counted
SMALLEST_EPSILON = 1e-12  # no accountant tells smaller ones from 0
CALIBRATION_ERROR = 1e-5  # a calibrated multiplier exceeds the smallest one by at most this part


def dpsgd_profile(
    epsilon: ArrayLike, noise_multiplier: float, sample_rate: float, steps: int
) -> Floats:
    """Upper bound on the privacy profile of DP-SGD, by privacy-loss distributions: delta in [0, 1].

    Under add-remove neighbors. The distribution of losses is rounded up onto a grid, so the value
    is never below the exact one; the excess is below 0.1 percent where the loss of one step
    deviates by at least 0.003. Statement ``prop-dpsgd``, chapter *pac/dpsgd*. Elementwise, in the
    shape of `epsilon`.

    Parameters
    ----------
    epsilon : array_like, in nats, at least 0
    noise_multiplier : float
        Standard deviation of the noise over the clipping norm, above 0. Below 0.2 the bound is that
        of all people in every batch, or the chance of ever being in one.
    sample_rate : float in (0, 1]
        Probability with which a person is in a batch.
    steps : int
        All of which may be seen.

    Examples
    --------
    >>> dpsgd_profile([0.0, 1.0], 2.0, 0.1, steps=100).round(3)
    array([0.206, 0.011])
    """
    epsilon = np.asarray(check.nonnegative(epsilon, "epsilon"))
    sigma, q, steps = _check_run(noise_multiplier, sample_rate, steps)
    if sigma < SMALLEST_SAMPLED:
        ever = -np.expm1(steps * np.log1p(-q)) if q < 1 else 1.0
        return np.asarray(np.minimum(gaussian_profile(epsilon, np.sqrt(steps) / sigma), ever))[()]
    accountant = _accountant(sigma, q, steps, "pld")
    found = [accountant.get_delta(float(e)) for e in epsilon.ravel()]
    return np.clip(np.reshape(found, epsilon.shape), 0.0, 1.0)[()]


def dpsgd_total_variation(noise_multiplier: float, sample_rate: float, steps: int) -> float:
    r"""Upper bound on the total variation that one person causes: the profile at epsilon 0.

    Whoever must tell from all iterates whether a person took part, with even odds and the others
    independent of them, is right with probability at most :math:`(1+\mathrm{TV})/2`. Statement
    ``prop-fair-conversion`` (ours), chapter *pac/dpsgd*.

    Parameters
    ----------
    noise_multiplier, sample_rate, steps
        As in `dpsgd_profile`.

    Examples
    --------
    >>> round(dpsgd_total_variation(1.0, 1.0, 1), 4)  # 2 Phi(1/2) - 1
    0.3829
    """
    return float(dpsgd_profile(0.0, noise_multiplier, sample_rate, steps))


def dpsgd_epsilon(
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    delta: float,
    *,
    accountant: str = "pld",
) -> float:
    r"""Epsilon, in nats, at which DP-SGD is (epsilon, delta)-private under add-remove neighbors.

    Never below the exact one. Statement ``prop-dpsgd``, chapter *pac/dpsgd*.

    Parameters
    ----------
    noise_multiplier, sample_rate, steps
        As in `dpsgd_profile`; a multiplier below 0.2 counts all people in every batch.
    delta : float in (0, 1)
    accountant : {"pld", "rdp"}, default "pld"
        Privacy-loss distributions, tight but for a grid, or Renyi divergences, a few percent above.

    Examples
    --------
    >>> round(dpsgd_epsilon(2.0, 0.1, 100, 1e-5), 2)
    2.34
    """
    sigma, q, steps = _check_run(noise_multiplier, sample_rate, steps)
    delta, accountant = check.delta(delta), check.choice(accountant, "accountant", ACCOUNTANTS)
    if sigma < SMALLEST_SAMPLED:
        return float(gaussian_epsilon(delta, np.sqrt(steps) / sigma))
    with _quiet():
        return float(_accountant(sigma, q, steps, accountant).get_epsilon(delta))


def dpsgd_renyi(
    noise_multiplier: float,
    sample_rate: float,
    steps: int,
    orders: ArrayLike = RENYI_ORDERS,
) -> Floats:
    r"""Renyi curve of DP-SGD, in both directions, under add-remove neighbors: divergences in nats.

    .. math:: T\cdot\frac1{\alpha-1}\ln\sum_{j=0}^\alpha \binom\alpha j (1-q)^{\alpha-j}q^j
              e^{j(j-1)/(2\sigma^2)}

    for T steps at a whole order (Mironov, Talwar and Zhang, 2019). Between two whole orders
    :math:`\alpha-1` times the divergence is convex, and the chord is above it: exact at whole
    orders, an upper bound elsewhere. Rounded up. Statement ``thm-path-account``, chapter
    *pac/dpsgd_people*. Returns shape (k,).

    Parameters
    ----------
    noise_multiplier, sample_rate, steps
        As in `dpsgd_profile`; no multiplier is too small.
    orders : array_like, shape (k,), default RENYI_ORDERS
        The public grid of an account of `guarantees.RenyiDP`.

    Examples
    --------
    >>> dpsgd_renyi(2.0, 0.1, 100, [2, 8, 32]).round(3)
    array([  0.284,   1.373, 162.72 ])
    """
    sigma, q, steps = _check_run(noise_multiplier, sample_rate, steps)
    grid = check_orders(orders)
    if q == 1:
        return np.asarray(rounded_up(steps * grid / (2 * sigma**2), True))
    lower = np.floor(grid)
    moments = np.array([_log_moment(int(order), sigma, q) for order in lower])
    above = np.array([_log_moment(int(order) + 1, sigma, q) for order in lower])
    chord = moments + (grid - lower) * (above - moments)
    return np.asarray(rounded_up(steps * chord / (grid - 1), True, 1e-11))


def _log_moment(order: int, sigma: float, q: float) -> float:
    """Return (alpha - 1) times the Renyi divergence of one step at a whole order alpha."""
    if order == 1:
        return 0.0
    j = np.arange(2, order + 1)
    growth = j * (j - 1) / (2 * sigma**2)
    log_growth = growth + np.log(-np.expm1(-growth))  # of e^growth - 1: nothing cancels
    return float(np.logaddexp(0.0, logsumexp(binom.logpmf(j, order, q) + log_growth)))


def calibrate_noise_multiplier(
    epsilon: float, delta: float, sample_rate: float, steps: int, *, accountant: str = "pld"
) -> float:
    r"""Smallest noise multiplier with which DP-SGD is (epsilon, delta)-private.

    .. math:: \min\{\sigma : \varepsilon_\sigma(\delta) \le \varepsilon\}

    Standard deviation of the noise over the clipping norm. `dpsgd_epsilon` at it is at most
    `epsilon`; 0.001 percent less noise is either refused by the same accountant or below 0.2, where
    sampling is not counted. Statement ``prop-dpsgd``, chapter *pac/dpsgd*.

    Parameters
    ----------
    epsilon : float, in nats, above 0
    delta, sample_rate, steps, accountant
        As in `dpsgd_epsilon`.

    Examples
    --------
    >>> round(calibrate_noise_multiplier(1.0, 1e-5, 0.1, 100), 2)  # 4.28 by "rdp"
    3.94
    """
    epsilon = check.number(epsilon, "epsilon")
    if epsilon < SMALLEST_EPSILON:
        raise ValueError(
            f"epsilon must be at least {SMALLEST_EPSILON:g} here; got {check.shown(epsilon)}"
        )
    delta, accountant = check.delta(delta), check.choice(accountant, "accountant", ACCOUNTANTS)
    q, steps = check_rate(sample_rate), check.count(steps, "steps")
    return _calibrated(epsilon, delta, q, steps, accountant)


@lru_cache(maxsize=512)
def _calibrated(epsilon: float, delta: float, q: float, steps: int, accountant: str) -> float:
    def excess(sigma: float) -> float:
        spent = dpsgd_epsilon(sigma, q, steps, delta, accountant=accountant)
        return float(np.log(np.clip(spent, SMALLEST_EPSILON, 1e12) / epsilon))

    return _smallest(excess, float(np.sqrt(steps) / gaussian_mu(epsilon, delta)))


def calibrate_to_success_rate(success_rate: float, sample_rate: float, steps: int) -> float:
    r"""Smallest noise multiplier that caps how often membership is guessed, through delta(0).

    .. math:: \min\bigl\{\sigma : \tfrac12(1+\delta_\sigma(0)) \le p\bigr\}

    Standard deviation of the noise over the clipping norm, at least 0.2 unless less would do with
    everybody in every batch. Where a person is hardly ever sampled, a ceiling can be kept by chance
    alone: see the chapter first. Statement ``prop-fair-conversion`` (ours), chapter *pac/dpsgd*.

    Parameters
    ----------
    success_rate : float in (0.5, 1)
        Ceiling p on the probability of a right guess, for a person who is in the data with
        probability 1/2, independently of the others.
    sample_rate, steps
        As in `dpsgd_profile`.

    Examples
    --------
    >>> round(calibrate_to_success_rate(0.75, 0.1, 100), 3)
    0.888
    """
    rate = check.number(success_rate, "success_rate")
    if not 0.5 < rate < 1:
        raise ValueError(f"success_rate must be above 0.5 and below 1; got {check.shown(rate)}")
    return _calibrated_to_rate(rate, check_rate(sample_rate), check.count(steps, "steps"))


@lru_cache(maxsize=512)
def _calibrated_to_rate(rate: float, q: float, steps: int) -> float:
    def excess(sigma: float) -> float:
        found = max(dpsgd_total_variation(sigma, q, steps), 1e-300)
        return float(np.log(found / (2 * rate - 1)))

    return _smallest(excess, float(np.sqrt(steps) / (2 * ndtri(rate))))


def _smallest(excess: Callable[[float], float], without_sampling: float) -> float:
    """Return the smallest noise multiplier that was seen to keep a promise.

    A multiplier keeps it where `excess`, a decreasing function, is at most 0; `without_sampling` is
    about the one that would do with everybody in every batch.
    """
    smallest = without_sampling
    while excess(smallest) > 0:
        # where sampling is not counted, only rounding is missing
        smallest *= 2 if smallest >= SMALLEST_SAMPLED else 1 + 1e-12
    while smallest > SMALLEST_SAMPLED:
        too_small = max(smallest / 2, SMALLEST_SAMPLED)
        if excess(too_small) > 0:
            break
        smallest = too_small
    if smallest <= SMALLEST_SAMPLED:
        return smallest

    def noted_excess(log_sigma: float) -> float:
        nonlocal smallest
        sigma = float(np.exp(log_sigma))
        value = excess(sigma)
        if value <= 0:
            smallest = min(smallest, sigma)
        return value

    brentq(noted_excess, np.log(too_small), np.log(smallest), xtol=CALIBRATION_ERROR / 2)
    return smallest


def _accountant(sigma: float, q: float, steps: int, accountant: str) -> Any:
    """The composed accountant of dp-accounting, for add-remove neighbors."""
    dp_event, pld, rdp = (extra(f"dp_accounting.{name}") for name in ("dp_event", "pld", "rdp"))
    gauss = dp_event.GaussianDpEvent(sigma)
    step = gauss if q == 1 else dp_event.PoissonSampledDpEvent(q, gauss)
    if accountant == "rdp":
        composed = rdp.RdpAccountant()
    else:
        deviation = q * np.sqrt(np.expm1(min(1 / sigma**2, 50)))  # of the loss of one step
        grid = float(np.clip(deviation / 30, 1e-4, 1e-3))
        composed = pld.PLDAccountant(value_discretization_interval=grid)
    with _quiet():
        return composed.compose(dp_event.SelfComposedDpEvent(step, steps))


@contextmanager
def _quiet() -> Iterator[None]:
    """Silence the warnings of dp-accounting on Renyi orders that it leaves out: harmless."""
    logger = logging.getLogger("absl")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        yield
    finally:
        logger.setLevel(level)


def _check_run(noise_multiplier: float, sample_rate: float, steps: int) -> tuple[float, float, int]:
    sigma = check.number(noise_multiplier, "noise_multiplier")
    return sigma, check_rate(sample_rate), check.count(steps, "steps")


def subsampled_gaussian_profile(
    epsilon: ArrayLike, noise_multiplier: float, sample_rate: float
) -> Floats:
    r"""Exact privacy profile of one step of DP-SGD, under add-remove neighbors: delta in [0, 1].

    Without the person the step shows :math:`N(0,\sigma^2)`, with them the mixture
    :math:`(1-q)N(0,\sigma^2)+qN(1,\sigma^2)`. With :math:`\delta_\mu` that of unit normals
    :math:`\mu=1/\sigma` apart,

    .. math:: &\delta(\varepsilon) = \max\bigl\{q\,\delta_\mu(\varepsilon_+),\
              (1-e^{\varepsilon}(1-q))_+\,\delta_\mu(\varepsilon_-)\bigr\},
              \\ &e^{\varepsilon_+} = 1+\frac{e^\varepsilon-1}{q},
              \quad e^{\varepsilon_-} = \frac{q\,e^\varepsilon}{1-e^\varepsilon(1-q)} ,

    the first for who leaves, the second for who joins. Statement ``prop-dpsgd``, chapter
    *pac/dpsgd*. Elementwise, in the shape of `epsilon`.

    Parameters
    ----------
    epsilon, noise_multiplier, sample_rate
        As in `dpsgd_profile`; the multiplier is :math:`\sigma`, the rate q, and none is too small.

    Examples
    --------
    >>> subsampled_gaussian_profile([0.0, 0.1, 1.0], 1.0, 0.1).round(4)
    array([0.0383, 0.0185, 0.0002])
    """
    epsilon = np.asarray(check.nonnegative(epsilon, "epsilon"))
    mu, q = 1 / check.number(noise_multiplier, "noise_multiplier"), check_rate(sample_rate)
    larger = epsilon + np.log1p(-np.expm1(-epsilon) * (1 - q) / q)  # log(1 + (e^epsilon - 1) / q)
    leave = q * gaussian_profile(larger, mu)
    rest = -np.expm1(np.minimum(epsilon + np.log1p(-q), 0.0)) if q < 1 else np.ones_like(epsilon)
    joins = rest > 0
    shifted = np.log(q) + epsilon - np.log(np.where(joins, rest, 1.0))
    join = rest * gaussian_profile(np.where(joins, np.maximum(shifted, 0.0), 0.0), mu)
    return np.asarray(np.where(joins, np.maximum(leave, join), leave))[()]


def check_rate(sample_rate: float) -> float:
    """Return the probability of being in a batch as a float, above 0 and at most 1."""
    rate = check.number(sample_rate, "sample_rate")
    if not rate <= 1:
        raise ValueError(f"sample_rate must be above 0 and at most 1; got {check.shown(rate)}")
    return rate
