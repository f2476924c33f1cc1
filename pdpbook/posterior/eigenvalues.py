"""The largest eigenvalue of symmetric Gaussian noise: a bound that fails as rarely as it says."""

from __future__ import annotations

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.special import erfcx

from pdpbook import Floats, check
from pdpbook.noise.profiles import bisect, gauss_legendre

RELATIVE_ERROR = 1e-9  # more than that of `eigenvalues_above`, whose tests say how much
BEYOND = 12.0  # so far above the edge of the spectrum no eigenvalue counts
LARGE = 1e50  # where scaled functions are scaled again


def largest_eigenvalue_bound(d: int, failure: float) -> float:
    r"""Number that the largest eigenvalue of Gaussian noise exceeds with a small probability.

    Of :math:`Z=\frac12(A+A^\top)`, A a d by d matrix of independent standard normal numbers:

    .. math:: t_d(\varrho) = \min\{t : \mathbb E\,\#\{\text{eigenvalues of } Z \text{ above } t\}
              \le \varrho\} .

    One of them is above t at most as often as there are some on average. Rounded up. Statement
    ``prop-published-losses``, chapter *per_instance/published_losses*.

    Parameters
    ----------
    d : int
        Number of rows and columns.
    failure : float
        :math:`\varrho`, in (0, 1).

    Examples
    --------
    >>> [round(largest_eigenvalue_bound(d, 0.01), 3) for d in (1, 2, 10)]
    [2.326, 2.918, 5.301]
    """
    return _bound(check.count(d, "d"), check.delta(failure, "failure"))


@lru_cache(maxsize=256)
def _bound(d: int, failure: float) -> float:
    def keeps(t: float) -> bool:
        return eigenvalues_above(t, d) * (1 + RELATIVE_ERROR) <= failure

    low = np.sqrt(2 * d)  # the edge of the spectrum
    while keeps(low):
        low -= 1
    high = low + 1
    while not keeps(high):
        high += 1
    return float(bisect(lambda t: keeps(float(t)), true_at=high, false_at=low))


def eigenvalues_above(t: float, d: int) -> float:
    r"""Return how many eigenvalues of the symmetric noise are above t, on average.

    The integral of their density, with the Hermite functions :math:`\phi_j`, orthonormal, and
    :math:`J_j(x)=\int_x^\infty\phi_j`,

    .. math:: \sum_{j=0}^{d-2}\phi_j(x)^2 + \phi_{d-1}(x)\Bigl(c_d -
              \sqrt{\tfrac{d-1}2}\,J_{d-2}(x)\Bigr), \qquad c_d = \begin{cases}
              1/\int\phi_{d-1} & d \text{ odd} \\
              \sqrt{\tfrac{d-1}2}\,\tfrac12\int\phi_{d-2} & d \text{ even.} \end{cases}

    The density of the Gaussian orthogonal ensemble is classical; see Mehta's *Random Matrices*,
    chapter 7. It is quoted, not proved: tests hold it against quadrature of the joint density of
    two and of three eigenvalues, and against simulated matrices.
    """
    edge = np.sqrt(2 * d)
    end = max(t, edge) + BEYOND
    waves = edge * max(0.0, edge - t) / np.pi  # of squares of the functions, within the spectrum
    node, weight = gauss_legendre(200 * int(1 + waves / 25))
    x = t + (end - t) * (1 + node) / 2
    return float((end - t) / 2 * (_density(x, d) @ weight))


def _density(x: Floats, d: int) -> Floats:
    """Density of eigenvalues; functions are held over e^log_scale, so that none over- or underflows
    where x is large."""
    log_scale = -(x**2) / 2 - np.log(np.pi) / 4
    before, phi = np.zeros_like(x), np.ones_like(x)
    # J_{-1} counts for nothing, and J_0 is a normal tail
    tail_before, tail = np.zeros_like(x), np.sqrt(np.pi / 2) * erfcx(x / np.sqrt(2))
    squares, last_tail = np.zeros_like(x), np.zeros_like(x)
    for j in range(d - 1):
        squares = squares + phi**2
        last_tail = tail
        next_phi = np.sqrt(2 / (j + 1)) * x * phi - np.sqrt(j / (j + 1)) * before
        next_tail = np.sqrt(2 / (j + 1)) * phi + np.sqrt(j / (j + 1)) * tail_before
        before, phi, tail_before, tail = phi, next_phi, tail, next_tail
        scale = np.where(np.abs(phi) > LARGE, LARGE, 1.0)
        before, phi, tail_before, tail, last_tail = (
            values / scale for values in (before, phi, tail_before, tail, last_tail)
        )
        squares, log_scale = squares / scale**2, log_scale + np.log(scale)
    pairs = squares - phi * np.sqrt((d - 1) / 2) * last_tail
    return np.asarray(np.exp(2 * log_scale) * pairs + np.exp(log_scale) * phi * _share(d))


def _share(d: int) -> float:
    """c_d, from integrals of Hermite functions: each is the one before the last, times a ratio."""
    order = d - 1 if d % 2 else d - 2
    ratios: NDArray[np.float64] = np.arange(1, order, 2) / np.arange(2, order + 1, 2)
    integral = float(np.pi**-0.25 * np.sqrt(2 * np.pi) * np.prod(np.sqrt(ratios)))
    return 1 / integral if d % 2 else float(np.sqrt((d - 1) / 2) * integral / 2)
