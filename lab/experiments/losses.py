"""Expected losses of the private fits that the tables of PDP-OP compare, many at once.

Every fit is a weight vector and a noise rate, so all fits of one data set share one pass: a matrix
product for all Gram matrices, one factorization each for all penalties, and the loss from its Gram
form. Nothing is simulated but the subsets of the sampling baseline. The best threshold is in none
of the tables; it stands beside them. Not private.
"""

from functools import reduce

import numpy as np

from lab.experiments.splits import Split
from pdpbook import Floats
from pdpbook.personalized import keep_probabilities, pdp_weights, threshold_budgets
from pdpbook.sensitivity import ridge_constant

METHODS = ("PDP-OP", "non-personalized", "threshold", "jorgensen-max", "jorgensen-mean")
METRICS = (
    "unregularized_test_loss",
    "regularized_test_loss",
    "unregularized_test_loss_std",
    "regularized_test_loss_std",
)


def test_losses(
    split: Split, epsilon: Floats, lams: Floats, *, masks: int, rng: np.random.Generator
) -> Floats:
    r"""Mean and standard deviation of the test loss, exact over the noise.

    The sampling baseline is the printed one: person i is kept with probability
    :math:`\pi_i`, the m people kept weigh 1/m each and the rate is :math:`\eta_m = tm/C`. Its
    moments follow from those given the subset by the law of total variance; the terms that depend
    on m alone are summed over the law of m, the others averaged over `masks` subsets.

    Parameters
    ----------
    split : Split
        The data.
    epsilon : ndarray, shape (n,)
        Budgets of the people to train on.
    lams : ndarray, shape (L,)
        Penalties, above 0.
    masks : int
        Subsets drawn for each threshold of the sampling baseline.
    rng : numpy.random.Generator
        Source of the subsets.

    Returns
    -------
    ndarray, shape (5, 4, L)
        By `METHODS`, `METRICS` and penalty.
    """
    n, d = split.X.shape
    constant = np.array([ridge_constant(lam, d, "published") for lam in lams])
    levels = epsilon.max(), epsilon.mean()
    keep = [keep_probabilities(epsilon, t) for t in levels]
    inverse_sizes = [sampled_size_moments(pi) for pi in keep]
    kept = np.concatenate([rng.random((masks, n)) < pi for pi in keep]).astype(float)
    size = kept.sum(axis=1, keepdims=True)
    shared = [epsilon, np.full(n, epsilon.min()), threshold_budgets(epsilon)]
    weights = np.vstack([*map(pdp_weights, shared), kept / size])
    theta = ridge_paths(weights @ split.products, lams, d)
    out = np.empty((len(METHODS), len(METRICS), len(lams)))
    for p, penalty in enumerate((np.zeros_like(lams), lams)):
        fit, slope, trace, square = _loss_parts(split, theta, penalty)
        first = (d + 1) * trace
        second = 2 * (d + 1) * ((d + 3) * square + trace**2)
        for k, budgets in enumerate(shared):
            scale = (constant / budgets.sum()) ** 2
            out[k, p] = fit[k] + first * scale
            out[k, p + 2] = np.sqrt(second * scale**2 + 4 * (d + 1) * slope[k] * scale)
        for k, t in enumerate(levels):
            part = slice(3 + k * masks, 3 + (k + 1) * masks)
            scale = (constant / t) ** 2
            u = size[k * masks : (k + 1) * masks] ** -2.0
            mean_u, square_u = inverse_sizes[k]
            given = fit[part] + 0 * u
            out[3 + k, p] = given.mean(axis=0) + first * scale * mean_u
            covariance = ((given - given.mean(axis=0)) * (u - u.mean())).mean(axis=0)
            variance = (
                second * scale**2 * square_u
                + 4 * (d + 1) * scale * (slope[part] * u).mean(axis=0)
                + (first * scale) ** 2 * (square_u - mean_u**2)
                + 2 * first * scale * covariance
                + given.var(axis=0)
            )
            out[3 + k, p + 2] = np.sqrt(variance)
    return out


def sampled_size_moments(keep: Floats) -> tuple[float, float]:
    r"""Means of :math:`m^{-2}` and :math:`m^{-4}`, where m people are kept independently.

    Parameters
    ----------
    keep : ndarray, shape (n,)
        Probability of each person; 1 for at least one, so that the sample is never empty.

    Returns
    -------
    (float, float)
        From the exact law of m, built up person by person, then row by row.
    """
    rows = -(-len(keep) // 32)
    crowd = np.append(keep, np.zeros(32 * rows - len(keep))).reshape(rows, 32)
    laws = np.zeros((rows, 33))
    laws[:, 0] = 1.0
    for p in crowd.T[:, :, None]:  # one person of every row
        laws[:, 1:] = (1 - p) * laws[:, 1:] + p * laws[:, :-1]
        laws[:, :1] *= 1 - p
    law = reduce(np.convolve, laws)[: len(keep) + 1]
    law, sizes = law[1:], np.arange(1.0, len(keep) + 1)
    return float(law @ sizes**-2), float(law @ sizes**-4)


def ridge_paths(moments: Floats, lams: Floats, d: int) -> Floats:
    """Minimizers for every row of weighted moments and every penalty, shape (B, L, d)."""
    pairs = d * (d + 1) // 2
    k, m = np.triu_indices(d)
    gram = np.empty((len(moments), d, d))
    gram[:, k, m] = gram[:, m, k] = moments[:, :pairs]
    target = moments[:, pairs:]
    if len(lams) == 1:
        theta = np.linalg.solve(gram + lams[0] * np.eye(d), target[:, :, None])
        return np.asarray(theta.transpose(0, 2, 1))
    values, vectors = np.linalg.eigh(gram)
    turned = np.matmul(target[:, None, :], vectors)
    shrunk = turned / (values[:, None, :] + lams[:, None])
    return np.asarray(np.matmul(shrunk, vectors.transpose(0, 2, 1)))


def _loss_parts(
    split: Split, theta: Floats, penalty: Floats
) -> tuple[Floats, Floats, Floats, Floats]:
    """Loss at theta, squared half-gradient there, trace and squared norm of the curvature."""
    S, b, c = split.test_gram
    d = len(b)
    pull = theta @ S
    norm = np.einsum("...d,...d", theta, theta)
    fit = c - 2 * theta @ b + np.einsum("...d,...d", pull, theta) + penalty * norm
    half = b - pull - penalty[:, None] * theta
    trace = np.trace(S) + penalty * d
    square = np.sum(S * S) + 2 * penalty * np.trace(S) + penalty**2 * d
    return fit, np.einsum("...d,...d", half, half), trace, square
