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
PIECES = 64  # into which a range is cut before the search
GOLDEN = (np.sqrt(5) - 1) / 2
GOLDEN_STEPS = 71  # shrink a bracket of length 75 to 1e-13


def ops_dp_level(n: int, lam: float, gamma: float, delta: float) -> float:
    r"""Differential privacy of one posterior sample, exact in every dimension.

    The release is that of `ops_profile`. Over all data sets of n rows and all targets in the unit
    ball the smallest epsilon is

    .. math:: \varepsilon_{DP}(\delta) = \max_{0 \le S \le n} \varepsilon\Bigl(\delta;\
              \mu = \frac1{S + \lambda},\
              \rho = \sqrt\gamma\,\Bigl(1 + \frac{\sqrt{nS}}{S + \lambda}\Bigr)\Bigr) .

    Statement ``thm-ops-dp-level`` (ours), chapter *per_instance/guarantees*. By branch and bound;
    the result is rounded up by at most a share of 1e-6.

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
        # the profile rises with mu at a fixed shift a = rho sqrt(mu) / (1 + mu), and with a: on a
        # piece all three, mu, rho and sqrt(mu) / (1 + mu), are largest at an end or at a peak,
        # rho at S = lam and the last at S + lam = 1
        largest_leverage = 1 / (low + lam)
        largest_residual = residual(np.clip(lam, low, high))
        at = np.clip(1 - lam, low, high) + lam  # one over the leverage
        shift = largest_residual * np.sqrt(at) / (1 + at)
        scaled_residual = shift * (1 + largest_leverage) / np.sqrt(largest_leverage)
        return np.asarray(ops_epsilon(delta, largest_leverage, scaled_residual))

    # from S = max(lam, 1) on all three fall
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
    if norm > 0:
        direction = coordinates / norm
    else:  # any direction will do: this is that of the largest leverage
        direction = np.eye(len(leverages))[0]

    def bound(low: Floats, high: Floats) -> Floats:
        # for |x'u| between low and high, u the direction of the coefficients
        leverage = _largest_leverage(low, leverages, direction)
        return np.asarray(ops_epsilon(delta, leverage, np.sqrt(gamma) * (1 + norm * high)))

    def value(cosine: Floats) -> Floats:
        return bound(cosine, cosine)

    return maximum(value, bound, 0.0, 1.0)


def worst_fit(S: Floats, n: int, lam: float) -> Floats:
    """Return the largest absolute fitted value of a unit row of leverage 1 / (S + lam).

    It is sqrt(n S) / (S + lam), which rises up to S = lam and then falls.
    """
    return np.asarray(np.sqrt(n * S) / (S + lam))


def _largest_leverage(cosine: Floats, leverages: Floats, direction: Floats) -> Floats:
    """Largest x'H^{-1}x over unit x with |x'u| at least `cosine`, u a unit vector; by its dual.

    In the eigenbasis of H that is the minimum over w >= 0 of L - w cosine^2, where L is the top
    eigenvalue of diag(leverages) + w u u'. The secular equation gives w for every L above the
    largest leverage, and the dual value of every such L is an upper bound: a golden-section search
    that stops early returns too much, never too little.
    """
    top = leverages.max()
    gap = top - leverages
    mass = direction**2
    sine_squared = 1 - cosine**2  # what |x|^2 can have outside u

    def dual(log_excess: Floats) -> Floats:
        excess = top * np.exp(log_excess)[:, None]  # L - top
        shrunk_mass = mass * excess / (excess + gap)
        numerator = sine_squared * excess[:, 0] - (shrunk_mass * gap).sum(axis=1)
        return np.asarray(top + numerator / shrunk_mass.sum(axis=1))

    low = np.full(len(cosine), -45.0)
    high = np.full(len(cosine), 30.0)
    for _ in range(GOLDEN_STEPS):
        inner_low = high - GOLDEN * (high - low)
        inner_high = low + GOLDEN * (high - low)
        at_low, at_high = dual(inner_low), dual(inner_high)
        falls_later = at_low < at_high  # the minimum is below inner_high
        low = np.where(falls_later, low, inner_low)
        high = np.where(falls_later, inner_high, high)
    return np.asarray(np.clip(np.minimum(at_low, at_high), leverages.min(), top))


def maximum(
    value: Callable[[Floats], Floats],
    bound: Callable[[Floats, Floats], Floats],
    low: float,
    high: float,
) -> float:
    """Return an upper bound on the maximum of `value` on [low, high], by branch and bound.

    `bound` of the ends of pieces is at least the maximum of `value` on them. Pieces whose bound
    exceeds the best value by more than the tolerance are halved; the bounds of all others count.
    """
    edges = np.linspace(low, high, PIECES + 1)
    best = float(value(edges).max())
    ceiling = 0.0  # the largest bound of a piece that is settled
    starts, ends = edges[:-1], edges[1:]
    for _ in range(100):
        upper = bound(starts, ends)
        open_ = upper > best * (1 + TOLERANCE)
        ceiling = max(ceiling, float(upper.max(initial=0.0, where=~open_)))
        if not open_.any():
            return max(best, ceiling)
        starts, ends = starts[open_], ends[open_]
        middles = (starts + ends) / 2
        best = max(best, float(value(middles).max()))
        starts, ends = np.append(starts, middles), np.append(middles, ends)
    return max(ceiling, float(bound(starts, ends).max()))  # pieces of the width of rounding


def spectrum(X: ArrayLike, y: ArrayLike, lam: float) -> tuple[Floats, Floats]:
    """Return the eigenvalues of H, rising and at least 1, and the ridge fit in its eigenbasis."""
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
    """Refuse rows or labels whose `sizes` exceed 1; the error says `rule`, and `what` sizes are."""
    outside = ~(sizes <= 1 + 8 * ULP)
    if outside.any():
        at = int(np.flatnonzero(outside)[0])
        raise ValueError(
            f"{name} must {rule}; got {name}[{at}]{what} {check.shown(sizes[at])} "
            f"({int(outside.sum())} of {len(sizes)} are outside). Rescale with public bounds"
        )
