"""Errors of printed standard deviations: what 10,000 repeats leave open about a spread.

The fourth moment of a loss over the noise has a closed form, like its mean and its variance; the
subsets of the sampling baseline are drawn. Not private.
"""

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lab.experiments.losses import ridge_paths
from lab.experiments.splits import DATA, Split
from lab.experiments.sweeps import DEFAULT, GRIDS, LEVELS, sweep_draws
from pdpbook import Floats, check
from pdpbook.datasets import sample_budgets
from pdpbook.personalized import keep_probabilities, pdp_weights
from pdpbook.sensitivity import ridge_constant

SPREADS = ("unregularized_test_loss_std_std", "regularized_test_loss_std_std")
PRINTED = ("PDP-OP", "jorgensen-max", "jorgensen-mean")  # whose spread a table prints


def central_moments(
    values: ArrayLike, pull: ArrayLike, scale: ArrayLike
) -> tuple[Floats, Floats, Floats, Floats]:
    r"""Excess of the mean, and central moments 2 to 4, of a test loss over l2-Laplace noise.

    With :math:`L = L_0 - 2g^\top Z + Z^\top SZ` as in `ridge.loss_moments`,
    :math:`t_k = \operatorname{tr} S^k`, :math:`g_k = g^\top S^k g` and
    :math:`c_k = (d+1)(d+3)\cdots(d+2k-1)/\eta^{2k}`, write

    .. math::
        a_1 &= c_1 t_1 , \quad a_2 = c_2(t_1^2 + 2t_2) , \quad
        a_3 = c_3(t_1^3 + 6t_1t_2 + 8t_3) , \\
        a_4 &= c_4(t_1^4 + 12t_1^2t_2 + 12t_2^2 + 32t_1t_3 + 48t_4) , \\
        b_1 &= c_1 g_0 , \quad b_2 = c_2(t_1g_0 + 2g_1) , \quad
        b_3 = c_3((t_1^2 + 2t_2)g_0 + 4t_1g_1 + 8g_2) .

    The mean is :math:`L_0 + a_1`, and the central moments are

    .. math::
        \mu_2 &= a_2 - a_1^2 + 4b_1 , \qquad
        \mu_3 = a_3 - 3a_1a_2 + 2a_1^3 + 12(b_2 - a_1b_1) , \\
        \mu_4 &= a_4 - 4a_1a_3 + 6a_1^2a_2 - 3a_1^4
                + 24(b_3 - 2a_1b_2 + a_1^2b_1) + 48c_2g_0^2 .

    Parameters
    ----------
    values : array_like, shape (..., d)
        Eigenvalues of S.
    pull : array_like, shape (..., d)
        Squared coordinates of g along the eigenvectors.
    scale : array_like, shape (...)
        One over the squared rate of the noise.

    Returns
    -------
    (ndarray, ndarray, ndarray, ndarray)
        :math:`a_1`, :math:`\mu_2`, :math:`\mu_3`, :math:`\mu_4`.

    Notes
    -----
    Statement ``prop-spread-error`` (ours), chapter *papers/personalized*.

    Examples
    --------
    >>> [float(m) for m in central_moments([1.0], [0.0], 0.25)]  # a Laplace square, scale 1/2
    [0.5, 1.25, 9.25, 137.0625]
    """
    s, p, u = (np.asarray(part, dtype=float) for part in (values, pull, scale))
    d = s.shape[-1]
    c1, c2, c3, c4 = (c * u**k for k, c in enumerate(np.cumprod(d + np.arange(1.0, 8, 2)), 1))
    t1, t2, t3, t4 = (np.sum(s**k, axis=-1) for k in range(1, 5))
    g0, g1, g2 = (np.sum(p * s**k, axis=-1) for k in range(3))
    a1, a2 = c1 * t1, c2 * (t1**2 + 2 * t2)
    a3 = c3 * (t1**3 + 6 * t1 * t2 + 8 * t3)
    a4 = c4 * (t1**4 + 12 * t1**2 * t2 + 12 * t2**2 + 32 * t1 * t3 + 48 * t4)
    b1, b2 = c1 * g0, c2 * (t1 * g0 + 2 * g1)
    b3 = c3 * ((t1**2 + 2 * t2) * g0 + 4 * t1 * g1 + 8 * g2)
    second = a2 - a1**2 + 4 * b1
    third = a3 - 3 * a1 * a2 + 2 * a1**3 + 12 * (b2 - a1 * b1)
    fourth = a4 - 4 * a1 * a3 + 6 * a1**2 * a2 - 3 * a1**4
    fourth = fourth + 24 * (b3 - 2 * a1 * b2 + a1**2 * b1) + 48 * c2 * g0**2
    return a1, second, third, fourth


def spread_errors(
    split: Split, epsilon: Floats, lams: Floats, *, masks: int, rng: np.random.Generator
) -> Floats:
    r"""Standard error of a standard deviation, times the root of the number of repeats.

    A spread of N repeats has the standard error :math:`\sqrt{(\mu_4-\mu_2^2)/(4\mu_2N)}`, as N
    grows. Moments of the sampling baseline mix those of its subsets.

    Parameters
    ----------
    split, epsilon, lams, masks, rng
        As in `losses.test_losses`.

    Returns
    -------
    ndarray, shape (3, 2, L)
        By method (PDP-OP, then sampling at the largest and at the mean budget), plain or
        penalized loss, and penalty.
    """
    n, d = split.X.shape
    constant = np.array([ridge_constant(lam, d, "published") for lam in lams])
    levels = epsilon.max(), epsilon.mean()
    kept = [rng.random((masks, n)) < keep_probabilities(epsilon, t) for t in levels]
    sizes = np.concatenate([part.sum(axis=1) for part in kept]).astype(float)
    weights = np.vstack([pdp_weights(epsilon), np.concatenate(kept) / sizes[:, None]])
    rates = np.concatenate([[epsilon.sum()], np.repeat(levels, masks) * sizes])
    theta = ridge_paths(weights @ split.products, lams, d)
    S, b, c = split.test_gram
    values, vectors = np.linalg.eigh(S)
    theta, b = theta @ vectors, b @ vectors
    scale = (constant / rates[:, None]) ** 2
    out = np.empty((3, 2, len(lams)))
    for p, penalty in enumerate((np.zeros((len(lams), 1)), lams[:, None])):
        shifted = values + penalty
        fit = c - 2 * theta @ b + np.sum(theta**2 * shifted, axis=-1)
        excess, *moments = central_moments(shifted, (b - theta * shifted) ** 2, scale)
        for k, part in enumerate(np.split(np.arange(len(rates)), [1, 1 + masks])):
            second, fourth = _mixed(fit[part] + excess[part], *(m[part] for m in moments))
            out[k, p] = np.sqrt((fourth - second**2) / (4 * second))
    return out


def _mixed(mean: Floats, second: Floats, third: Floats, fourth: Floats) -> tuple[Floats, Floats]:
    """Central moments 2 and 4 of an even mixture, from those of its parts along the first axis."""
    off = mean - mean.mean(axis=0)
    mixed = fourth + 4 * third * off + 6 * second * off**2 + off**4
    return (second + off**2).mean(axis=0), mixed.mean(axis=0)


def sweep_spread(
    data: str,
    values: ArrayLike | None = None,
    *,
    fractions: ArrayLike = DEFAULT,
    levels: ArrayLike = LEVELS,
    draws: int = 200,
    masks: int = 64,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Errors of the standard deviations that `sweep_lambda` gives, for Tables 13 and 14.

    Parameters
    ----------
    data, values, fractions, levels, draws, masks, rng, progress
        As in `sweep_lambda`; the same `rng` draws the same data and budgets.

    Returns
    -------
    pandas.DataFrame
        As from `sweep_lambda`; to each `metric` of a standard deviation one that ends in
        ``_std_std``: its standard error over a number of repeats, times the root of that number.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    check.choice(data, "data", DATA)
    found = GRIDS["lambda"][data] if values is None else values
    grid = np.atleast_1d(np.asarray(check.positive(found, "values"), dtype=float))
    masks = check.count(masks, "masks")

    def errors(split: Split, draw: np.random.Generator) -> dict[tuple[str, str], Floats]:
        epsilon = sample_budgets(len(split.y), fractions=fractions, levels=levels, rng=draw)
        table = spread_errors(split, epsilon, grid, masks=masks, rng=draw)
        return {
            (method, metric): table[i, j]
            for i, method in enumerate(PRINTED)
            for j, metric in enumerate(SPREADS)
        }

    return sweep_draws("lambda", data, grid, grid, errors, draws, rng, progress)
