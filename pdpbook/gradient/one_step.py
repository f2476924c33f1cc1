"""Exact privacy of one step of DP-SGD: a Gaussian that shows a person only now and then.

Many steps are composed in `accounting`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook.noise import gaussian_profile
from pdpbook.validation import check_nonnegative, check_positive, check_single

Floats = NDArray[np.float64]


def subsampled_gaussian_profile(
    epsilon: ArrayLike, noise_multiplier: float, sample_rate: float
) -> Floats:
    r"""Exact privacy profile of one step of DP-SGD, under add-remove neighbors.

    Without the person the step shows :math:`N(0,\sigma^2)`, with them the mixture
    :math:`(1-q)N(0,\sigma^2)+qN(1,\sigma^2)`. With :math:`\delta_\mu` the profile of unit normals
    a distance :math:`\mu=1/\sigma` apart,

    .. math:: &\delta(\varepsilon) = \max\bigl\{q\,\delta_\mu(\varepsilon_+),\
              (1-e^{\varepsilon}(1-q))_+\,\delta_\mu(\varepsilon_-)\bigr\},
              \\ &e^{\varepsilon_+} = 1+\frac{e^\varepsilon-1}{q},
              \quad e^{\varepsilon_-} = \frac{q\,e^\varepsilon}{1-e^\varepsilon(1-q)} ,

    the first for the person who leaves, the second for the one who joins.

    Parameters
    ----------
    epsilon : array_like
        Where to evaluate, in nats; any shape, every entry at least 0.
    noise_multiplier : float
        Standard deviation of the noise over the clipping norm, :math:`\sigma`, above 0.
    sample_rate : float
        Probability q with which a person is in the batch, above 0 and at most 1.

    Returns
    -------
    ndarray, shape of `epsilon`
        The smallest delta in [0, 1].

    Notes
    -----
    Statement ``prop-dpsgd``, chapter *pac/dpsgd*.

    Examples
    --------
    >>> subsampled_gaussian_profile([0.0, 0.1, 1.0], 1.0, 0.1).round(4)
    array([0.0383, 0.0185, 0.0002])
    """
    epsilon = np.asarray(check_nonnegative(epsilon, "epsilon"))
    mu = 1 / check_single(check_positive(noise_multiplier, "noise_multiplier"), "noise_multiplier")
    q = check_rate(sample_rate)
    larger = epsilon + np.log1p(-np.expm1(-epsilon) * (1 - q) / q)  # log(1 + (e^epsilon - 1) / q)
    leave = q * gaussian_profile(larger, mu)
    rest = -np.expm1(np.minimum(epsilon + np.log1p(-q), 0.0)) if q < 1 else np.ones_like(epsilon)
    joins = rest > 0
    shifted = np.log(q) + epsilon - np.log(np.where(joins, rest, 1.0))
    join = rest * gaussian_profile(np.where(joins, np.maximum(shifted, 0.0), 0.0), mu)
    return np.asarray(np.where(joins, np.maximum(leave, join), leave))[()]


def check_rate(sample_rate: float) -> float:
    """Return the probability of being in a batch as a float, above 0 and at most 1."""
    rate = check_single(check_positive(sample_rate, "sample_rate"), "sample_rate")
    if not rate <= 1:
        raise ValueError(f"sample_rate must be above 0 and at most 1; got {rate:g}")
    return rate
