"""The privacy profile of several posterior samples, for the same person in all of them."""

from __future__ import annotations

from functools import reduce
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from pdpbook import check
from pdpbook._extras import extra
from pdpbook.per_instance.ops import Profile


def composed_profile(
    epsilon: ArrayLike,
    leverage: ArrayLike,
    scaled_residual: ArrayLike,
    *,
    copies: int = 1,
    grid: float = 1e-4,
) -> Profile:
    r"""Privacy profile of several posterior samples together, for one person.

    The loss of each release is put on a grid, rounded *up*; the sum of the losses is a
    convolution. The result is an upper bound that is exact as the grid shrinks.

    Parameters
    ----------
    epsilon : array_like
        Where to evaluate, at least 0.
    leverage, scaled_residual : array_like
        One number a release, shape (k,); as in `ops_profile`, no leverage 0.
    copies : int, default 1
        How often the whole list is released.
    grid : float, default 1e-4
        Width of the grid of losses.

    Returns
    -------
    Profile
        `add` and `remove`, both rounded up.

    Notes
    -----
    Statement ``prop-ops-composition`` (ours), page *per_instance/ops_curve*; the convolution is by
    dp-accounting. Mass of at most 1e-13 in all is moved to infinite loss.

    Examples
    --------
    >>> both = composed_profile(1.0, [0.02], [0.8], copies=10)
    >>> round(float(both.add), 5)
    0.00084
    """
    eps = np.asarray(check.nonnegative(epsilon, "epsilon"))
    mu = check.positive(leverage, "leverage")
    rho = np.atleast_1d(check.nonnegative(scaled_residual, "scaled_residual"))
    mu, rho = check.together("leverage and scaled_residual", mu, rho)
    if mu.ndim > 1:
        both = "leverage and scaled_residual"
        raise ValueError(f"{both} must have one entry a release; got shape {mu.shape}")
    copies = check.count(copies, "copies")
    grid = check.number(grid, "grid")
    deltas = []
    for sign in (1, -1):  # to add, to remove
        pmfs = (_loss_pmf(m, r, grid, sign) for m, r in zip(mu, rho, strict=True))
        total = reduce(lambda one, other: one.compose(other, 1e-15), pmfs)
        total = total.self_compose(copies, 1e-15) if copies > 1 else total
        found = np.array([total.get_delta_for_epsilon(float(e)) for e in eps.flat])
        deltas.append(found.reshape(eps.shape)[()])
    return Profile(*deltas)


def posterior_losses(leverage: float, scaled_residual: float, *, grid: float = 1e-4) -> Any:
    r"""Privacy-loss distribution of one posterior sample for one person, to compose with others.

    The losses in both directions are on a grid, rounded *up*, as in `composed_profile`. Returns a
    ``PrivacyLossDistribution`` of dp-accounting: its `compose`, `self_compose` and
    `get_epsilon_for_delta` take and give those of other mechanisms, of the same grid.

    Parameters
    ----------
    leverage, scaled_residual : float
        As in `ops_profile`, no leverage 0.
    grid : float, default 1e-4
        Width of the grid of losses.

    Notes
    -----
    Statement ``prop-ops-composition`` (ours), page *per_instance/ops_curve*.

    Examples
    --------
    >>> ten = posterior_losses(0.02, 0.8).self_compose(10)
    >>> round(float(ten.get_delta_for_epsilon(1.0)), 5)
    0.00084
    """
    mu, grid = check.number(leverage, "leverage"), check.number(grid, "grid")
    rho = check.single(check.nonnegative(scaled_residual, "scaled_residual"), "scaled_residual")
    distribution = extra("dp_accounting.pld.privacy_loss_distribution").PrivacyLossDistribution
    # theirs is first the release with the person against that without
    return distribution(*(_loss_pmf(mu, rho, grid, sign) for sign in (-1, 1)))


def _loss_pmf(mu: float, rho: float, grid: float, sign: int) -> Any:
    """Loss of one release on the grid, every part of its mass moved up to the next point."""
    DensePLDPmf = extra("dp_accounting.pld.pld_pmf").DensePLDPmf
    # the loss is sign (v^2 - K) / 2, v normal
    K, shrink = np.log1p(mu) + rho**2 / (1 + mu), 1.0 if sign > 0 else 1 + mu
    center, root = rho / shrink, np.sqrt(mu / shrink)
    low, high = sorted((-sign * K / 2, sign * ((center + 8.3 * root) ** 2 - K) / 2))
    start, stop = int(np.floor(low / grid)), int(np.ceil(high / grid))
    if stop - start > 50_000_000:
        raise ValueError(f"grid must be coarser for losses up to {high:g}; got {grid:g}")
    ends = np.arange(start, stop + 1) * grid  # the loss lies below each of them or above
    w = np.sqrt(np.maximum(K + sign * 2 * ends, 0.0))
    inside = ndtr((w - center) / root) - ndtr((-w - center) / root)
    outside = ndtr((center - w) / root) + ndtr((-w - center) / root)
    below, above = (inside, outside)[::sign]
    mass = np.where(below[1:] < 0.5, np.diff(below), -np.diff(above))  # the accurate of the two
    mass[0] += below[0]
    return DensePLDPmf(grid, start + 1, np.maximum(mass, 0.0), float(above[-1]), True)
