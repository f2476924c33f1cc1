"""Worst cases of Gaussian noise of one scale, and of the posterior as an exponential mechanism."""

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.per_instance.levels import maximum, spectrum, worst_fit


def isotropic_sensitivity(n: int, lam: float) -> float:
    r"""Global sensitivity of ridge coefficients in the Euclidean norm, exact.

    .. math:: \Delta_2 = \max_{0 \le S \le n}
              \frac{1 + \sqrt{nS} / (S + \lambda)}{S + \lambda + 1} .

    Parameters
    ----------
    n : int
        Number of rows without the target, or a public bound on it; at least 2.
    lam : float
        Penalty against the *sum* of squares, at least 1.

    Returns
    -------
    float
        The largest move of the coefficients when a row of the unit ball is added, rounded up by
        at most a share of 1e-6. Gaussian noise of standard deviation s costs
        ``gaussian_epsilon(delta, sensitivity / s)``.

    Notes
    -----
    Chapter *per_instance/guarantees* (ours), every dimension.

    Examples
    --------
    >>> round(isotropic_sensitivity(1000, lam=1.0), 3)
    6.38
    """
    n = check.count(n, "n", minimum=2)
    lam = check.number(lam, "lam")
    if not lam >= 1:
        raise ValueError(f"lam must be at least 1 for an exact sensitivity; got {lam:g}")

    def value(S: Floats) -> Floats:
        return (1 + worst_fit(S, n, lam)) / (S + lam + 1)

    def bound(low: Floats, high: Floats) -> Floats:
        return (1 + worst_fit(high, n, lam)) / (low + lam + 1)

    return maximum(value, bound, 0.0, min(float(n), lam))


def isotropic_for_all(X: ArrayLike, y: ArrayLike, lam: float) -> float:
    r"""Bound on the move of ridge coefficients by any one target, the data given.

    .. math:: \sup_{\|x\| \le 1,\ |y| \le 1} \|\hat\theta - \hat\theta'\| \le
              \frac{1 + \|\hat\theta\|}{1 + \lambda_{\min}(H)} .

    Parameters
    ----------
    X : array_like, shape (n, d)
        Rows of norm at most 1.
    y : array_like, shape (n,)
        Labels in [-1, 1].
    lam : float
        Penalty against the *sum* of squares, at least 0; the smallest eigenvalue of
        :math:`H = X^\top X + \lambda I` must be at least 1.

    Returns
    -------
    float
        The bound; attained when the coefficients point along the emptiest direction. It depends
        on the data.

    Notes
    -----
    Chapter *per_instance/guarantees* (ours).

    Examples
    --------
    >>> isotropic_for_all([[1.0]], [1.0], lam=1.0)  # theta = 1/2, H = 2
    0.5
    """
    lam = check.single(check.nonnegative(lam, "lam"), "lam")
    eigenvalues, coordinates = spectrum(X, y, lam)
    return float((1 + np.linalg.norm(coordinates)) / (1 + eigenvalues[0]))


def exponential_mechanism_level(n: int, lam: float, gamma: float) -> float:
    r"""Pure level of the posterior restricted to the ball in which the fit always lies.

    .. math:: \varepsilon = \frac\gamma2 R^2 , \qquad R = 1 + \frac{\sqrt n}{2\sqrt\lambda} .

    Parameters
    ----------
    n : int
        Number of rows, or a public bound on it.
    lam : float
        Penalty against the *sum* of squares, above 0.
    gamma : float
        Inverse temperature, above 0.

    Returns
    -------
    float
        The level, for a sampler that is exact on the ball. The unrestricted posterior keeps no
        pure promise at all.

    Notes
    -----
    Statement ``prop-exponential-mechanism``, chapter *per_instance/guarantees*; Wang (2019),
    section 4.1.

    Examples
    --------
    >>> exponential_mechanism_level(100, lam=25.0, gamma=2.0)
    4.0
    """
    n, lam = check.count(n, "n"), check.number(lam, "lam")
    gamma = check.number(gamma, "gamma")
    return float(gamma / 2 * (1 + np.sqrt(n / lam) / 2) ** 2)
