"""What a fitted estimator says of its noise: a function of public things alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pdpbook import Floats


@dataclass(frozen=True, eq=False, kw_only=True)
class PublicNoise:
    """The law of the noise of a release, as far as it is public, on the domain of the theorem.

    Attributes
    ----------
    rate : float or None
        Of noise whose density falls as exp(-rate * length), one over a length.
    scale : float or None
        As the theorem writes it: one over the rate, the scale of Laplace noise, or the standard
        deviation of Gaussian noise on one number or gradient. None where there is more than one, or
        where the noise follows the data.
    covariance : ndarray of shape (k, k), or None
        Of the released coefficients, a constant feature's last; of the mean, in its domain. None
        where it depends on the data.
    """

    rate: float | None = None
    scale: float | None = None
    covariance: Floats | None = None


def round_noise(rate: float, order: int) -> PublicNoise:
    """Return noise of density proportional to exp(-rate * length) on so many coefficients."""
    covariance = (order + 1) / rate**2 * np.eye(order)
    return PublicNoise(rate=rate, scale=1 / rate, covariance=covariance)
