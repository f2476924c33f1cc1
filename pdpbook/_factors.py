"""How much more than a flipped label one person moves weighted ridge: two factors and their peaks.

Both are maxima over one number, and both multiply noise: what is returned is the upper end of a
bracket, never below the maximum, and above it by less than one part in 10^14.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import check

__all__ = ["joint_factor", "tight_factor"]

ULPS = 8 * np.finfo(float).eps  # more than the rounding of the few operations it multiplies
ONE_SIDED = 3 * math.sqrt(3) / 4 - 1  # what a difference of rank one adds in the proof


def tight_factor(kappa: ArrayLike) -> Any:
    r"""The factor of the tight constant, as a function of the ratio of dimension to penalty.

    .. math:: &K(\kappa) = \max_{0\le\tau\le1}\ \tau\bigl(1+\sqrt{\kappa\,\tau(1-\tau)}\bigr), \\
              &1\le K(\kappa)\le\min\Bigl\{1+\frac\kappa4,\ 1+\frac{3\sqrt3}{16}\sqrt\kappa\Bigr\} .

    The published factor is :math:`1+\min(\kappa,\sqrt\kappa)`. Statement ``thm-tight-sensitivity``
    (ours), chapter *personalized/constants*: with :math:`\tau=\cos^2\phi` the maximum is where
    :math:`\sqrt\kappa\cos3\phi=2\sin\phi`.

    Parameters
    ----------
    kappa : float or array_like, any shape
        :math:`R^2/\lambda`, at least 0; :math:`d/\lambda` on the whole domain.

    Returns
    -------
    float or ndarray, shape of `kappa`
        Never below the maximum, and above it by less than one part in :math:`10^{14}`.
    """
    clean = check.nonnegative(kappa, "kappa")
    k = np.asarray(clean)
    factor = np.where(k == 0, 1.0, largest_move(k, np.zeros_like(k)))
    return factor if np.ndim(clean) else float(factor)


def joint_factor(kappa: ArrayLike, ratio: float = 1.0) -> Any:
    r"""The factor of the joint constant: both records of a person are bounded together.

    .. math:: &K_2(\kappa,a) = \max_q\ p + \frac{\sqrt\kappa}2\Bigl(pq
              + \bigl(\tfrac{3\sqrt3}4-1\bigr)\frac{1-p^2-q^2}2\Bigr), \\
              &p^2 = \min\{1-q^2,\ a-3q^2\}, \qquad 0\le q\le\tfrac12\sqrt{\min\{a,2\}} .

    On the whole domain a is 1; a row norm R below :math:`\sqrt d` makes it :math:`d/R^2`, and the
    factor larger. From :math:`a=2` on the cube no longer helps, and the factor is
    :math:`\max_{\phi\le\pi/4}\cos\phi\,(1+\frac{\sqrt\kappa}2\sin\phi)`. Statements
    ``thm-joint-sensitivity`` and ``prop-row-norm`` (ours), chapter *personalized/constants*.

    Parameters
    ----------
    kappa : float or array_like, any shape
        :math:`R^2/\lambda`, at least 0.
    ratio : float, default 1.0
        :math:`a=d/R^2`, at least 1.

    Returns
    -------
    float or ndarray, shape of `kappa`
        Never below the maximum, and above it by less than one part in :math:`10^{14}`.

    Examples
    --------
    >>> joint_factor([0.0, 3.0, 12.0, 1000.0]).round(3), round(tight_factor(12.0), 3)
    (array([1.   , 1.114, 1.347, 6.079]), 1.911)
    """
    clean = check.nonnegative(kappa, "kappa")
    a = check.number(ratio, "ratio")
    if a < 1 - 1e-12:
        raise ValueError(
            f"ratio must be at least 1, as no row is longer than sqrt(d); got {check.shown(a)}"
        )
    k = np.asarray(clean)
    factor = np.where(k == 0, 1.0, largest_pair(k, max(a, 1.0)))
    return factor if np.ndim(clean) else float(factor)


def largest_move(kappa: NDArray[Any], omega: NDArray[Any]) -> NDArray[np.float64]:
    r"""Upper end of :math:`\max_\tau\tau(1+\sqrt{\kappa\tau(1-\tau)})/(1+\omega\tau^2)`.

    The maximand rises, then falls: its logarithmic derivative crosses zero once. So bisection
    brackets the peak, and bounding every factor on the bracket by its worse end bounds the peak.
    """
    root = np.sqrt(kappa)
    low, high = np.zeros_like(root), np.full_like(root, np.pi / 2)  # of phi, tau = cos(phi)^2
    for _ in range(64):
        phi = (low + high) / 2
        sine, cosine = np.sin(phi), np.cos(phi)
        loss = omega * cosine**4  # omega * tau^2
        falling = (1 + root * cosine * sine) * 2 * sine * (1 - loss) / (1 + loss)
        past = falling > root * cosine * np.cos(2 * phi)  # tau too small: phi is past the peak
        low, high = np.where(past, low, phi), np.where(past, phi, high)
    widest = np.clip(np.pi / 4, low, high)  # where sin(2 phi) is largest in the bracket
    top = np.cos(low) ** 2 * (1 + root * np.sin(2 * widest) / 2)
    return np.asarray((1 + ULPS) * top / (1 + omega * np.cos(high) ** 4))


def largest_pair(kappa: NDArray[Any], ratio: float) -> NDArray[np.float64]:
    """Upper end of the maximum of `joint_factor`.

    As a function of p the maximand is concave, so that its slope in q changes sign once; p falls
    with q, and the other factors rise, so the worse ends of the bracket bound the peak.
    """
    root = np.sqrt(kappa) / 2
    low = np.zeros_like(root)
    high = np.full_like(root, math.sqrt(min(ratio, 2)) / 2)
    for _ in range(64):
        q = (low + high) / 2
        in_cube = 2 * q**2 > ratio - 1
        p = _sum(q, ratio)
        slope = np.where(in_cube, -3, -1) * q / p
        rising = slope + root * (slope * q + p + np.where(in_cube, 2 * ONE_SIDED, 0) * q) > 0
        low, high = np.where(rising, q, low), np.where(rising, high, q)
    rest = np.maximum(1 - ratio + 2 * high**2, 0) / 2  # (1 - p^2 - q^2) / 2
    p = _sum(low, ratio)
    return np.asarray((1 + ULPS) * (p + root * (p * high + ONE_SIDED * rest)))


def _sum(q: NDArray[np.float64], ratio: float) -> NDArray[np.float64]:
    """Largest half-sum of two records whose half-difference is q, in row norms."""
    return np.asarray(np.sqrt(np.minimum(1 - q**2, ratio - 3 * q**2)))
