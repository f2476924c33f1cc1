"""The privacy profile of one posterior sample when one record takes the place of another."""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import solve_triangular
from scipy.special import ndtr

from pdpbook import Floats, check
from pdpbook.per_instance.people import ops_parameters
from pdpbook.ridge import factor, triangle, weighted_ridge

NODES, WEIGHTS = np.polynomial.legendre.leggauss(24)


class ReplaceOneProfile(NamedTuple):
    """Smallest delta when one record takes the place of another; see `replace_one_profile`."""

    forward: Any  #: the release with the first record against the release with the second
    backward: Any  #: the other way


def replace_one_profile(
    epsilon: ArrayLike,
    X: ArrayLike,
    y: ArrayLike,
    first: tuple[ArrayLike, float],
    second: tuple[ArrayLike, float],
    lam: float,
    gamma: float,
) -> ReplaceOneProfile:
    r"""Exact privacy profile of one posterior sample when one record replaces another.

    With :math:`\mu_j`, :math:`r_j` the leverages and residuals of the two records against the
    rest and :math:`v_j = \sqrt\gamma\,(y_j - x_j^\top\theta)`, the loss is

    .. math:: L = \tfrac12 \ln\frac{1+\mu_1}{1+\mu_2} + \tfrac12 (v_2^2 - v_1^2)
              + \tfrac\gamma2 \Bigl(\frac{r_1^2}{1+\mu_1} - \frac{r_2^2}{1+\mu_2}\Bigr) ,

    a quadratic form of two normal variables: its tail is one integral of normal tails.

    Parameters
    ----------
    epsilon : array_like
        Where to evaluate, at least 0.
    X, y : array_like, shapes (n, d) and (n,)
        The people who are in both data sets.
    first, second : (array_like of shape (d,), float)
        Row and label of the record that leaves, and of the one that comes.
    lam, gamma : float
        As in `per_instance_epsilon`; X'X + lam I must not be singular.

    Returns
    -------
    ReplaceOneProfile
        `forward` and `backward`, of the shape of `epsilon`.

    Notes
    -----
    Statement ``prop-replace-one`` (ours), page *per_instance/ops_curve*. Absolute error below 1e-10.

    Examples
    --------
    >>> same = ([1.0], 0.5)
    >>> float(replace_one_profile(0.1, [[1.0]], [0.0], same, same, lam=1.0, gamma=1.0).forward)
    0.0
    """
    eps = np.asarray(check.nonnegative(epsilon, "epsilon"))
    lam, gamma, _ = ops_parameters(lam, gamma, 0.5)
    X, y = check.design(X, y)
    rows = np.array([first[0], second[0]], dtype=float)
    two, labels = check.design(rows, [first[1], second[1]])
    if two.shape[1] != X.shape[1]:
        raise ValueError(f"records must have {X.shape[1]} entries, as X; got {two.shape[1]}")
    root, _, _ = triangle([factor(X, y)], lam)
    half = solve_triangular(root, two.T, trans="T", check_finite=False).T
    gram = half @ half.T  # x_i' H^{-1} x_j
    r = np.sqrt(gamma) * (labels - two @ weighted_ridge(X, y, lam, np.ones(len(y))))
    mu = np.diag(gram)
    constant = (np.log1p(mu[0]) - np.log1p(mu[1])) / 2
    constant += (r[0] ** 2 / (1 + mu[0]) - r[1] ** 2 / (1 + mu[1])) / 2
    laws = [
        (  # mean and covariance of (v_1, v_2) after record j has joined the rest
            r - gram[:, j] * r[j] / (1 + mu[j]),
            gram - np.outer(gram[:, j], gram[:, j]) / (1 + mu[j]),
        )
        for j in (0, 1)
    ]

    def delta(e: float, sign: int) -> float:
        p, q = (_tail(e - sign * constant, mean, cov, sign) for mean, cov in laws[::sign])
        return max(p - np.exp(e) * q, 0.0) if q > 0 else p

    deltas = (np.array([delta(e, sign) for e in eps.flat]) for sign in (1, -1))
    return ReplaceOneProfile(*(values.reshape(eps.shape)[()] for values in deltas))


def _tail(threshold: float, mean: Floats, cov: Floats, sign: int) -> float:
    """Probability that sign (v_2^2 - v_1^2) / 2 exceeds the threshold, v normal of rank <= 2."""
    values, basis = np.linalg.eigh(cov)
    root = basis * np.sqrt(np.maximum(values, 0.0))
    J = sign * np.array([-1.0, 1.0])
    curve, turn = np.linalg.eigh(root.T @ (J[:, None] * root))
    slope = turn.T @ (root.T @ (J * mean))
    t = threshold - mean @ (J * mean) / 2
    order = np.argsort(np.abs(slope) + np.abs(curve))  # the outer variable matters less
    (g, inner_g), (b, inner_b) = slope[order], curve[order]
    edges = np.linspace(-9.5, 9.5, 39)
    if inner_b != 0:  # kinks where the inner quadratic just reaches its threshold
        kinks = np.roots([-b * inner_b, -2 * g * inner_b, inner_g**2 + 2 * inner_b * t])
        kinks = np.real(kinks[np.abs(np.imag(kinks)) < 1e-9])
        edges = np.unique(np.append(edges, kinks[np.abs(kinks) < 9.5]))
    angle = np.pi * (NODES + 1) / 2  # z = a + (b - a)(1 - cos) / 2: removes root singularities
    width = np.diff(edges)[:, None]
    z = edges[:-1, None] + width * (1 - np.cos(angle)) / 2
    weight = width * np.sin(angle) / 2 * WEIGHTS * np.pi / 2 * np.exp(-(z**2) / 2)
    inner = _one_quadratic(t - g * z - b * z**2 / 2, inner_g, inner_b)
    return float((weight * inner).sum() / np.sqrt(2 * np.pi))


def _one_quadratic(t: Floats, g: float, b: float) -> Floats:
    """Probability that g z + b z^2 / 2 exceeds t, z standard normal."""
    if b < 0:
        return np.asarray(1 - _one_quadratic(-t, -g, -b))
    if g == 0 and b == 0:
        return np.asarray(np.where(t < 0, 1.0, 0.0))
    g = abs(g)
    square = g * g + 2 * b * t
    root = g + np.sqrt(np.maximum(square, 0.0))
    high = np.divide(2 * t, root, out=np.zeros_like(t), where=root > 0)
    low = -root / b if b > 0 else np.full_like(t, -np.inf)
    return np.asarray(np.where(square <= 0, 1.0 if b > 0 else 0.0, ndtr(low) + ndtr(-high)))
