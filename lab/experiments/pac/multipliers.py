"""Noise multipliers of DP-SGD for many promises at once, from a dozen calls of the accountant.

`pdpbook.gradient` calibrates one promise by bisection, and never below the noise that it needs.
Here a curve through a few accounted multipliers is read off, which is enough for a grid.
"""

from functools import cache

import numpy as np
from scipy.interpolate import PchipInterpolator
from scipy.special import ndtri

from pdpbook import Floats
from pdpbook.gradient import dpsgd_profile
from pdpbook.noise import gaussian_mu

Promise = tuple[float, float]  #: epsilon and delta; a ceiling p by total variation is (0, 2p - 1)
FLOOR = 0.2  # below it the accountant of the package does not count the sampling
STEP = 0.25  # between logarithms of accounted multipliers
SURE, RARE = 1 - 1e-6, 1e-9  # deltas between which a profile tells one multiplier from another


@cache
def multipliers(sample_rate: float, steps: int, promises: tuple[Promise, ...]) -> Floats:
    r"""Noise multipliers with which DP-SGD keeps each promise, at least 0.2.

    A profile through :math:`(\varepsilon,\delta)` is that of a Gaussian mechanism of some
    :math:`\mu`. Over the multiplier, on logarithmic axes, this :math:`\mu` is nearly a straight
    line, so a few accounted points give it to a tenth of a percent.

    Parameters
    ----------
    sample_rate : float
        Probability with which a person is in a batch.
    steps : int
        Number of steps.
    promises : tuple of (float, float)
        Pairs of epsilon and delta.

    Returns
    -------
    ndarray, shape (len(promises),)
    """
    wanted = np.array([_mu(*promise) for promise in promises])
    if sample_rate == 1:
        return np.asarray(np.maximum(np.sqrt(steps) / wanted, FLOOR))
    # in the limit of many steps mu = q sqrt(T (exp(1 / sigma^2) - 1))
    guess = 1 / np.sqrt(np.log1p((wanted / sample_rate) ** 2 / steps))
    high = max(2 * guess.max(), 4 * FLOOR)
    sigmas = np.geomspace(FLOOR, high, int(np.log(high / FLOOR) / STEP) + 2)
    epsilons = np.unique([epsilon for epsilon, _ in promises])
    deltas = np.array([dpsgd_profile(epsilons, s, sample_rate, steps) for s in sigmas])
    found = []
    for (epsilon, _), mu in zip(promises, wanted, strict=True):
        column = deltas[:, np.flatnonzero(epsilons == epsilon)[0]]
        use = (column > RARE) & (column < SURE)
        curve = [_mu(epsilon, delta) for delta in column[use]]
        found.append(_read_off(np.log(sigmas[use]), np.log(curve), float(np.log(mu))))
    return np.asarray(np.maximum(np.exp(found), FLOOR))


def _read_off(log_sigma: Floats, log_mu: Floats, wanted: float) -> float:
    """Log-multiplier at a log-mu; the least one that was accounted where all keep the promise."""
    if wanted >= log_mu[0]:
        return float(log_sigma[0])
    falling = np.minimum.accumulate(log_mu)
    first = np.flatnonzero(np.r_[True, np.diff(falling) < 0])
    if wanted < falling[first[-1]]:
        raise ValueError("the promise needs more noise than was accounted")
    curve = PchipInterpolator(falling[first][::-1], log_sigma[first][::-1])
    return float(curve(wanted))


def _mu(epsilon: float, delta: float) -> float:
    """Mu of the Gaussian mechanism whose profile passes through a promise."""
    return float(2 * ndtri((1 + delta) / 2) if epsilon == 0 else gaussian_mu(epsilon, delta))
