"""A private quantile by noisy binary search: the line that `private_quantile` has to beat.

The page writes its law in a dozen lines, without checks; a test holds them against these.
"""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.user_level import QuantileLaw
from pdpbook.user_level.quantiles import check_data, check_level

MOST_STEPS = 16  # the law of a bisection has 2**steps pieces


def bisection_law(
    y: ArrayLike,
    level: float,
    *,
    users: Any = None,
    epsilon: Any,
    bounds: ArrayLike,
    weights: ArrayLike | None = None,
    steps: int = 10,
    clip: bool = False,
) -> QuantileLaw:
    r"""Exact law of `quantile_by_bisection`; not private.

    The probability of a leaf of the search tree is a product of tails of Laplace noise of scale
    :math:`K\max_lw_l/\varepsilon_l`, one for each of the K answers on its path.

    Parameters
    ----------
    y, level, users, epsilon, bounds, weights, clip
        As in `quantile_law`.
    steps : int, default 10
        K, from 1 to 16: the range is cut into 2**K equal pieces.

    Returns
    -------
    QuantileLaw
        Constant on each piece.

    Notes
    -----
    Statement ``prop-bisection-privacy``, chapter *user_level/quantiles*. O((n + 2**K) log n).

    Examples
    --------
    >>> law = bisection_law([1.0, 2.0, 3.0], 0.5, epsilon=6.0, bounds=(0.0, 4.0), steps=1)
    >>> law.masses.round(3)
    array([0.975, 0.025])
    """
    steps = check.count(steps, "steps")
    if steps > MOST_STEPS:
        raise ValueError(f"steps must be at most {MOST_STEPS}; got {steps}")
    p, data = check_level(level), check_data(y, users, epsilon, bounds, weights, clip)
    scale = steps * float(np.max(data.user_weights / data.epsilon))
    edges = np.linspace(*check.bounds(bounds, "bounds"), 2**steps + 1)
    log_p = np.zeros(1)
    for k in range(steps):
        stride = 2 ** (steps - k)
        gap = (data.cdf(edges[stride // 2 :: stride]) - p) / scale
        log_p = (log_p[:, None] + np.column_stack([_log_tail(gap), _log_tail(-gap)])).ravel()
    return QuantileLaw(edges, log_p)


def quantile_by_bisection(
    y: ArrayLike,
    level: float,
    *,
    users: Any = None,
    epsilon: Any,
    bounds: ArrayLike,
    weights: ArrayLike | None = None,
    steps: int = 10,
    clip: bool = False,
    rng: np.random.Generator,
) -> float:
    r"""Private quantile by noisy binary search, for comparison with `private_quantile`.

    K times, cut the interval in half at z and keep the left half if
    :math:`\hat F(z)+\mathrm{Lap}(Kt)\ge p`, with :math:`t=\max_lw_l/\varepsilon_l`; then draw a
    uniform point of what is left.

    Parameters
    ----------
    y, level, users, epsilon, bounds, weights, clip
        As in `quantile_law`.
    steps : int, default 10
        K, from 1 to 16.
    rng : Generator
        Source of randomness.

    Returns
    -------
    float
        In the units of `y`.

    Notes
    -----
    Statement ``prop-bisection-privacy``, chapter *user_level/quantiles*: user l loses at most
    :math:`w_l/t\le\varepsilon_l`, a K-th of it by each answer.

    Examples
    --------
    >>> y, rng = np.arange(1000.0), np.random.default_rng(0)
    >>> z = quantile_by_bisection(y, 0.5, epsilon=5.0, bounds=(0, 1000), rng=rng)
    >>> bool(abs(z - 500) < 30)
    True
    """
    check.rng(rng)
    given = {"users": users, "epsilon": epsilon, "bounds": bounds, "weights": weights}
    return float(bisection_law(y, level, **given, steps=steps, clip=clip).sample(rng=rng))


def _log_tail(gap: Floats) -> Floats:
    """Log-probability that a unit Laplace variable is at least -gap."""
    far = np.log(0.5) - np.abs(gap)
    return np.asarray(np.where(gap >= 0, np.log1p(-np.exp(far)), far))
