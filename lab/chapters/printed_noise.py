r"""The printed noise procedure, as printed: for falsifiers and comparisons, never for a release.

Algorithm 2 of Yang (2024) and its public code, written anew with its defects as arguments.
What it must read is in `pdpbook.pac`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.pac.allocation import basis_of, signed
from pdpbook.pac.mixture import lagrange_variances
from pdpbook.pac.pool import Pool
from pdpbook.pac.rates import success_rate_to_mi

BACK = ("printed", "diagonal", "rotated")


@dataclass(frozen=True, eq=False)
class PrintedMoments:
    """What the printed loop has collected when it stops."""

    second: Floats  #: shape (n, p): mean squared differences in the basis
    basis: Floats  #: shape (p, p)
    draws: NDArray[np.int64]  #: shape (n,): pairs drawn for each person


@dataclass(frozen=True, eq=False)
class PrintedNoise:
    """What the printed procedure adds to the weights."""

    covariance: Floats  #: shape (p, p)
    scale: Floats  #: shape (p,): the printed e; for a rotated back-projection, in the basis
    bare: NDArray[np.bool_]  #: shape (p,): weights that are released without noise


def printed_moments(
    pool: Pool,
    *,
    basis: str | ArrayLike = "svd",
    eta: float = 1e-3,
    every: int = 1,
    reset: bool = False,
    absolute: bool = False,
    max_draws: int = 1000,
    rng: np.random.Generator,
) -> PrintedMoments:
    """Estimate squared differences by the printed loop and its stopping rule.

    For each person in turn pairs of models are refitted, on a half without them and on the same
    half with them, until the running mean changes by less than `eta` in every coordinate.

    Parameters
    ----------
    pool : Pool
        Public pool and model. Halves without full rank get the shortest least squares solution,
        as in scikit-learn.
    basis : {"svd", "unit"} or array_like, default "svd"
        Right singular vectors of the weights of 1000 halves, or orthonormal columns.
    eta : float, default 1e-3
        Change at which the loop stops.
    every : int, default 1
        Pairs between two looks at the mean: 1 as printed, 10 in the public code.
    reset : bool, default False
        Whether the flag and the list start anew for each person, as in the public code. As
        printed they do not: from the second person on nothing is drawn.
    absolute : bool, default False
        Whether the change is taken without its sign, as in the public code.
    max_draws : int, default 1000
        Pairs per person at most.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    PrintedMoments

    Notes
    -----
    Algorithm ``alg-pac-noise``, Yang (2024), Algorithm 2, as printed; chapter *pac/printed*.
    """
    check.rng(rng)
    eta, every = check.number(eta, "eta"), check.count(every, "every")
    max_draws = check.count(max_draws, "max_draws", minimum=2)
    V = _shortest_basis(pool, basis, rng)
    n = len(pool.y)
    second, draws = np.zeros((n, pool.p)), np.zeros(n, dtype=np.int64)
    seen: list[Floats] = []
    converged = False
    for i in range(n):
        if reset:
            seen, converged = [], False
        while not converged and draws[i] < max_draws:
            for _ in range(every):
                mask = pool.sample(1, 0.5, rng)[0]
                mask[i] = False
                without = pool.refit(mask)
                mask[i] = True
                seen.append(((pool.refit(mask) - without) @ V) ** 2)
            draws[i] += every
            if len(seen) > every:
                step = np.mean(seen, axis=0) - np.mean(seen[:-every], axis=0)
                converged = bool(np.all((np.abs(step) if absolute else step) < eta))
        second[i] = np.mean(seen, axis=0)
    return PrintedMoments(second, V, draws)


def printed_noise(
    second: ArrayLike,
    basis: ArrayLike,
    success_rate: float,
    *,
    back: str = "printed",
    read_as: str = "variance",
) -> PrintedNoise:
    r"""Noise by the printed allocation and back-projection.

    The optimum :math:`e'^{(i)}` for each person in the basis is printed correctly; it is then
    "projected back" as :math:`e_k = \max(0, \max_i (V^\top \operatorname{diag} e'^{(i)})_{kk})
    = \max(0, \max_i V_{kk} e'^{(i)}_k)`. Diagonal entries of a rotation may be negative: such
    weights are left bare.

    Parameters
    ----------
    second : array_like, shape (n, p)
        Mean squared differences in the basis.
    basis : array_like, shape (p, p)
        Orthonormal columns V. Their signs are arbitrary, and the printed rule depends on them.
    success_rate : float
        Ceiling, in (0.5, 1).
    back : {"printed", "diagonal", "rotated"}, default "printed"
        As printed; the diagonal of :math:`V e' V^\top` alone; or all of it, which is right.
    read_as : {"variance", "deviation"}, default "variance"
        What N(0, e) means: the paper's formula is a variance, and the public code passes it as a
        standard deviation.

    Returns
    -------
    PrintedNoise

    Notes
    -----
    Statement ``prop-back-projection``, Yang (2024), Algorithms 2 and 3, as printed; chapter
    *pac/printed*.
    """
    check.choice(back, "back", BACK)
    check.choice(read_as, "read_as", ("variance", "deviation"))
    v = np.atleast_2d(check.nonnegative(second, "second"))
    V = np.asarray(basis, dtype=float)
    if V.shape != (v.shape[1], v.shape[1]):
        raise ValueError(f"basis must have shape {(v.shape[1],) * 2}; got {V.shape}")
    rate = check.delta(success_rate, "success_rate")
    each = lagrange_variances(v, 4 * float(success_rate_to_mi(rate)))
    power = 1 if read_as == "variance" else 2
    if back == "rotated":
        scale = each.max(axis=0)
        covariance = (V * scale**power) @ V.T
    else:
        spread = each * np.diag(V) if back == "printed" else each @ (V**2).T
        scale = np.maximum(spread, 0).max(axis=0)
        covariance = np.diag(scale**power)
    return PrintedNoise(covariance, scale, np.diag(covariance) == 0)


def _shortest_basis(pool: Pool, basis: str | ArrayLike, rng: np.random.Generator) -> Floats:
    """The basis of the paper also where a half has no full rank."""
    if isinstance(basis, str) and check.choice(basis, "basis", ("svd", "unit")) == "svd":
        weights = np.array([pool.refit(mask) for mask in pool.sample(1000, 0.5, rng)])
        basis = signed(np.linalg.svd(weights, full_matrices=False)[2].T)
    return basis_of(pool, basis, 0.5, rng)
