"""How far one record moves the weighted sums of products, all of them together."""

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats, check

NOISES = ("laplace", "gaussian")


def statistics_constant(
    d: int, *, noise: str = "laplace", centered: bool = False, scale: float | None = None
) -> float:
    r"""Sensitivity of the scaled sums per unit weight: person i moves them by `w[i]` times it.

    For records in :math:`[0,1]^d\times[-1,1]` the statistic of one person is
    :math:`t=(xx^\top, s\,xy)`, the matrix by its upper triangle. In the l1 norm, for Laplace noise,

    .. math:: D_1 = \frac{d(d+1+s)^2}{2(d+1)}\ (s\le d+1), \qquad D_1 = 2sd\ (s\ge d+1),

    and in the l2 norm, for Gaussian noise, where entries off the diagonal count
    :math:`\sqrt2` times,

    .. math:: D_2^2 = d^2+s^2d+\tfrac94 s^4\ (s^2\le\tfrac23 d), \qquad
              D_2^2 = 4s^2d\ (s^2\ge\tfrac23 d).

    `centered` means rows :math:`\tilde x=x-\frac12\mathbf 1` and the statistic
    :math:`(\tilde x\tilde x^\top, s\tilde x, s\tilde xy, gy)`, with :math:`g=\frac12sd` and
    :math:`g=\frac12 s\sqrt d`:

    .. math:: D_1 = \tfrac18 d(d+1)+2sd, \qquad D_2^2 = \tfrac18 d^2 + 2s^2d .

    Parameters
    ----------
    d : int
        Number of features, a constant one included.
    noise : {"laplace", "gaussian"}, default "laplace"
        Which norm: l1 or l2.
    centered : bool, default False
        Which statistic.
    scale : float, optional
        :math:`s`, above 0. None is ``max(1, d / 4)`` and ``sqrt(d / 3)``, centered
        ``max(1/2, d / 8)`` and ``sqrt(d / 8)``.

    Returns
    -------
    float
        :math:`D_1` or :math:`D_2`.

    Raises
    ------
    TypeError, ValueError
        If an argument is of a wrong kind or out of range.

    Notes
    -----
    Statements ``thm-pssp-laplace`` and ``thm-pssp-gaussian`` (ours), chapter *personalized/beyond*.
    Both :math:`D_1` are attained. :math:`D_2^2` is attained where :math:`\frac32s^2` is a whole
    number or at least d (centered: for even d), and is at most 1/4 (1/8) too large elsewhere.

    Examples
    --------
    >>> statistics_constant(12), statistics_constant(12, noise="gaussian")
    (118.15384615384616, 15.0996688705415)
    """
    d, s = check.count(d, "d"), label_scale(d, noise, centered, scale)
    if noise == "laplace":
        if centered:
            return d * (d + 1) / 8 + 2 * s * d
        return d * (d + 1 + s) ** 2 / (2 * (d + 1)) if s <= d + 1 else 2 * s * d
    if centered:
        return float(np.hypot(d / np.sqrt(8), s * np.sqrt(2 * d)))
    if s > np.sqrt(2 * d / 3):
        return float(2 * s * np.sqrt(d))
    return float(np.sqrt(d**2 + s**2 * d + 2.25 * s**4))


def label_scale(d: int, noise: str, centered: bool, scale: float | None) -> float:
    """The s of the formulas: the user's, or the default."""
    check.choice(noise, "noise", NOISES)
    check.flag(centered, "centered")
    if scale is not None:
        return check.number(scale, "scale")
    if noise == "laplace":
        return max(0.5, d / 8) if centered else max(1.0, d / 4)
    return float(np.sqrt(d / 8 if centered else d / 3))


def factors(d: int, noise: str, centered: bool, scale: float | None) -> Floats:
    """What each released sum is multiplied by in the statistic, in the order of `sums`."""
    s = label_scale(d, noise, centered, scale)
    rows, columns = np.triu_indices(d)
    off_diagonal = np.sqrt(2) if noise == "gaussian" else 1.0  # entries that stand for two
    triangle = np.where(rows == columns, 1.0, off_diagonal)
    if not centered:
        return np.concatenate([triangle, np.full(d, s)])
    label = s * (np.sqrt(d) if noise == "gaussian" else d) / 2
    return np.concatenate([triangle, np.full(2 * d, s), [label]])


def sums(X: Floats, y: Floats, weights: Floats, centered: bool) -> Floats:
    """The weighted sums themselves: the upper triangle row by row, then the other blocks."""
    X = X - 0.5 if centered else X
    gram = (X.T * weights) @ X
    blocks = [gram[np.triu_indices(X.shape[1])], X.T @ (weights * y)]
    if centered:
        blocks[1:1] = [X.T @ weights]
        blocks.append(np.array([weights @ y]))
    return np.concatenate(blocks)


def public_sums(d: int, centered: bool) -> tuple[NDArray[np.intp], Floats]:
    """Where sums over a last feature of ones are public, and what they are: weights sum to 1."""
    corner = d * (d + 1) // 2 - 1
    if centered:  # the ones are halves
        return np.array([corner, corner + d]), np.array([0.25, 0.5])
    return np.array([corner]), np.array([1.0])


def matrix_and_moment(release: Floats, d: int, centered: bool) -> tuple[Floats, Floats]:
    """The Gram matrix and the moment of the domain that released sums stand for."""
    gram = np.zeros((d, d))
    rows, columns = np.triu_indices(d)
    gram[rows, columns] = gram[columns, rows] = release[: len(rows)]
    blocks = release[len(rows) :]
    if not centered:
        return gram, blocks
    mean, moment, label = blocks[:d], blocks[d : 2 * d], blocks[2 * d]
    gram += np.add.outer(mean, mean) / 2 + 0.25  # the weights sum to 1, publicly
    return gram, moment + label / 2
