"""Worst cases of one posterior sample: over all targets for given data, and over all data sets."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.check import ULP
from pdpbook.per_instance.ops import ops_epsilon
from pdpbook.per_instance.people import ops_parameters

TOLERANCE = 1e-6  # a returned level exceeds the supremum by at most this share of it


def ops_dp_level(n: int, lam: float, gamma: float, delta: float) -> float:
    r"""Differential privacy of one posterior sample, exact in every dimension.

    The release is that of `ops_profile`. Over all data sets of n rows and all targets in the unit
    ball the smallest epsilon is

    .. math:: \varepsilon_{DP}(\delta) = \max_{0 \le S \le n} \varepsilon\Bigl(\delta;\
              \mu = \frac1{S + \lambda},\
              \rho = \sqrt\gamma\,\Bigl(1 + \frac{\sqrt{nS}}{S + \lambda}\Bigr)\Bigr) .

    Statement ``thm-ops-dp-level`` (ours), chapter *per_instance/guarantees*. Bisection keeps an
    upper bound on every piece; the result is rounded up by at most a share of 1e-6.

    Parameters
    ----------
    n : int
        Number of rows without the target, or a public bound on it: the level grows with n.
    lam, gamma, delta : float
        Penalty against the *sum* of squares and inverse temperature, both above 0; failure
        probability, in (0, 1).

    Examples
    --------
    >>> [round(ops_dp_level(1000, lam, gamma=1.0, delta=1e-6), 2) for lam in (10, 100)]
    [8.31, 0.92]
    """
    n, lam = check.count(n, "n"), check.number(lam, "lam")
    lam, gamma, delta = ops_parameters(lam, gamma, delta)

    def residual(S: Floats) -> Floats:
        return np.asarray(np.sqrt(gamma) * (1 + worst_fit(S, n, lam)))

    def value(S: Floats) -> Floats:
        return np.asarray(ops_epsilon(delta, 1 / (S + lam), residual(S)))

    def bound(low: Floats, high: Floats) -> Floats:
        # the profile rises with the leverage at a fixed shift a = rho sqrt(mu) / (1 + mu), and
        # with a; each of the three factors has its maximum on a piece at an end or at its peak
        leverage = 1 / (low + lam)
        at = np.clip(1 - lam, low, high) + lam
        shift = residual(np.clip(lam, low, high)) * np.sqrt(at) / (1 + at)
        return np.asarray(ops_epsilon(delta, leverage, shift * (1 + leverage) / np.sqrt(leverage)))

    return maximum(value, bound, 0.0, min(float(n), max(lam, 1.0)))


def ops_for_all(X: ArrayLike, y: ArrayLike, lam: float, gamma: float, delta: float) -> float:
    r"""Loss of one posterior sample for every target in the unit ball, the data given.

    .. math:: \sup_{\|x\| \le 1,\ |y| \le 1} \varepsilon(\delta; \mu, \rho) , \qquad
              \mu = x^\top H^{-1} x , \quad \rho = \sqrt\gamma\,(1 + |x^\top\hat\theta|) ,

    rounded up by at most a share of 1e-6. It depends on the data: a report of the curator, not a
    promise that may be published. The pairs :math:`(x^\top H^{-1} x, (x^\top\hat\theta)^2)` have a
    concave frontier, and the loss rises with both: the largest leverage at a given
    :math:`(x^\top\hat\theta)^2` comes from its dual, and the rest is a search on [0, 1].
    Chapters *per_instance/definitions* and *per_instance/guarantees*.

    Parameters
    ----------
    X, y : array_like, shapes (n, d) and (n,)
        Rows of norm at most 1 and labels in [-1, 1].
    lam, gamma, delta : float
        Penalty against the *sum* of squares, at least 0, with which the smallest eigenvalue of
        :math:`H = X^\top X + \lambda I` must be at least 1; inverse temperature, above 0; failure
        probability, in (0, 1).

    Examples
    --------
    >>> level = ops_for_all([[0.6, 0.8], [1.0, 0.0]], [0.5, 0.0], lam=10.0, gamma=1.0, delta=1e-6)
    >>> bool(0 < level < ops_dp_level(2, lam=10.0, gamma=1.0, delta=1e-6))
    True
    """
    lam, gamma, delta = ops_parameters(lam, gamma, delta)
    eigenvalues, coordinates = spectrum(X, y, lam)
    leverages = 1 / eigenvalues
    norm = float(np.linalg.norm(coordinates))
    direction = coordinates / norm if norm > 0 else np.eye(len(leverages))[0]  # the emptiest

    def loss(leverage: Floats, share: Floats) -> Floats:
        return np.asarray(ops_epsilon(delta, leverage, np.sqrt(gamma) * (1 + norm * share)))

    def bound(low: Floats, high: Floats) -> Floats:
        return loss(_largest_leverage(low, leverages, direction), high)

    return maximum(lambda share: bound(share, share), bound, 0.0, 1.0)


def worst_fit(S: Floats, n: int, lam: float) -> Floats:
    """Largest |x'theta| of a unit x of leverage 1 / (S + lam): rises up to S = lam, then falls."""
    return np.asarray(np.sqrt(n * S) / (S + lam))


def _largest_leverage(share: Floats, leverages: Floats, direction: Floats) -> Floats:
    """Largest x'H^{-1}x over unit x with |x'u| at least `share`, u a unit vector; by its dual.

    In the eigenbasis of H that is the least L - w share^2 over w >= 0, L the top eigenvalue of
    diag(leverages) + w u u'; the secular equation gives w for every L above the largest leverage,
    and every such L is an upper bound, so a coarse search errs upwards.
    """
    top = leverages.max()
    gap, mass = top - leverages, direction**2
    rest = 1 - share**2  # the share of |x|^2 left for the other directions

    def dual(log_x: Floats) -> Floats:
        x = top * np.exp(log_x)[:, None]  # L - top
        falling = mass * x / (x + gap)
        value = top + (rest * x[:, 0] - (falling * gap).sum(axis=1)) / falling.sum(axis=1)
        return np.asarray(value)

    low, high = np.full(len(share), -45.0), np.full(len(share), 30.0)
    golden = (np.sqrt(5) - 1) / 2
    for _ in range(71):  # shrinks 75 to 1e-13
        left, right = high - golden * (high - low), low + golden * (high - low)
        at_left, at_right = dual(left), dual(right)
        lower = at_left < at_right
        low, high = np.where(lower, low, left), np.where(lower, right, high)
    return np.asarray(np.clip(np.minimum(at_left, at_right), leverages.min(), top))


def maximum(
    value: Callable[[Floats], Floats],
    bound: Callable[[Floats, Floats], Floats],
    low: float,
    high: float,
) -> float:
    """Upper end of a bracket of the maximum on [low, high]: branch and bound.

    `bound` is at least the maximum of `value` on a piece; pieces that may beat the best are halved.
    """
    edges = np.linspace(low, high, 65)
    best, ceiling = float(value(edges).max()), 0.0
    left, right = edges[:-1], edges[1:]
    for _ in range(100):
        upper = bound(left, right)
        open_ = upper > best * (1 + TOLERANCE)
        ceiling = max(ceiling, float(upper.max(initial=0.0, where=~open_)))
        if not open_.any():
            return max(best, ceiling)
        left, right = left[open_], right[open_]
        middle = (left + right) / 2
        best = max(best, float(value(middle).max()))
        left, right = np.append(left, middle), np.append(middle, right)
    return max(ceiling, float(bound(left, right).max()))  # pieces of the width of rounding


def spectrum(X: ArrayLike, y: ArrayLike, lam: float) -> tuple[Floats, Floats]:
    """Eigenvalues of H, rising and at least 1, and the coefficients in its eigenbasis."""
    X, y = check.design(X, y)
    in_unit_ball(np.linalg.norm(X, axis=1), "X", "have rows of norm at most 1", " of norm")
    in_unit_ball(np.abs(y), "y", "lie in [-1, 1]", " of size")
    eigenvalues, basis = np.linalg.eigh(X.T @ X)
    eigenvalues = np.maximum(eigenvalues, 0.0) + lam
    if not eigenvalues[0] >= 1:
        raise ValueError(
            "the smallest eigenvalue of X'X + lam I must be at least 1, since the loss may fall "
            f"with a leverage above 1; got {check.shown(eigenvalues[0])}. Raise lam"
        )
    return eigenvalues, basis.T @ (X.T @ y) / eigenvalues


def in_unit_ball(sizes: Floats, name: str, rule: str, what: str) -> None:
    """Refuse rows or labels longer than 1, `what` they are shown as."""
    outside = ~(sizes <= 1 + 8 * ULP)
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"{name} must {rule}; got {name}[{at}]{what} {check.shown(sizes[at])} "
            f"({int(outside.sum())} of {len(sizes)} are outside). Rescale with public bounds"
        )
