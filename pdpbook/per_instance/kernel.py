"""Leverages and residuals of kernel ridge: all that posterior sampling of it reveals of a person.

Everything from the kernel matrix, so the features may have any dimension, or infinitely many.
What the two numbers mean is computed in `ops`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook.validation import check_finite, check_nonnegative, check_positive, check_single

__all__ = ["KernelLeaveOneOut", "kernel_leave_one_out", "kernel_outsider"]

Floats = NDArray[np.float64]

SYMMETRY = 1e-10  # of a kernel matrix, relative to its largest entry


@dataclass(frozen=True)
class KernelLeaveOneOut:
    """The numbers that decide what each person of a kernel ridge loses."""

    leverage: Floats  #: shape (n,), of each person against the fit without them
    leverage_in: Floats  #: shape (n,), as a participant, in [0, 1)
    residual: Floats  #: shape (n,), to the fit without that person
    residual_in: Floats  #: shape (n,), to the fit to everybody


def kernel_leave_one_out(K: ArrayLike, y: ArrayLike, lam: float) -> KernelLeaveOneOut:
    r"""Leverages and residuals of kernel ridge without each person, from one factorization.

    With :math:`M=(K+\lambda I)^{-1}`: :math:`h_i=1-\lambda M_{ii}`,
    :math:`r_i=(My)_i/M_{ii}`, and leverage :math:`h_i/(1-h_i)`.

    Parameters
    ----------
    K : array_like, shape (n, n)
        Kernel matrix, symmetric and positive semidefinite.
    y : array_like, shape (n,)
        Labels.
    lam : float
        Penalty, above 0, against the *sum* of squares.

    Returns
    -------
    KernelLeaveOneOut
        What the profile of posterior sampling takes, in infinite dimension too.

    Raises
    ------
    TypeError, ValueError
        If an argument is no number, not finite, of a wrong shape, or no kernel matrix.

    Notes
    -----
    Statement ``prop-kernel-ridge`` (ours), chapter *per_instance/smooth*. Eigenvalues keep both
    h and 1 - h free of cancellation.

    Examples
    --------
    >>> kernel_leave_one_out([[1.0, 1.0], [1.0, 1.0]], [0.0, 1.0], lam=1.0).residual
    array([-0.5,  1. ])
    """
    values, vectors, y, lam = _kernel_input(K, y, lam)
    square = vectors**2
    inside = square @ (values / (values + lam))
    outside = square @ (lam / (values + lam))
    residual_in = lam * (vectors @ ((vectors.T @ y) / (values + lam)))
    return KernelLeaveOneOut(inside / outside, inside, residual_in / outside, residual_in)


def kernel_outsider(
    K: ArrayLike, y: ArrayLike, lam: float, row: ArrayLike, own: ArrayLike, label: ArrayLike
) -> tuple[Floats, Floats]:
    r"""Leverage and residual of people who are not in the data of a kernel ridge.

    .. math:: \mu = \frac{k(x,x) - k_x^\top M k_x}{\lambda}, \qquad r = y - k_x^\top M\,y_{1:n}

    Parameters
    ----------
    K, y, lam
        As in `kernel_leave_one_out`.
    row : array_like, shape (n,) or (m, n)
        Kernel of each outsider with the n participants.
    own : array_like, shape () or (m,)
        Kernel of each outsider with themselves.
    label : array_like, shape () or (m,)
        Their labels.

    Returns
    -------
    leverage, residual : ndarray
        Against the fit without them.

    Raises
    ------
    TypeError, ValueError
        As `kernel_leave_one_out`, or if `own` is too small for a kernel.

    Notes
    -----
    Statement ``prop-kernel-ridge`` (ours), chapter *per_instance/smooth*.

    Examples
    --------
    >>> leverage, residual = kernel_outsider([[1.0]], [1.0], 1.0, row=[1.0], own=1.0, label=0.0)
    >>> float(leverage), float(residual)
    (0.5, -0.5)
    """
    values, vectors, y, lam = _kernel_input(K, y, lam)
    row = np.asarray(check_finite(row, "row"))
    own = np.asarray(check_nonnegative(own, "own"))
    target = np.asarray(check_finite(label, "label"))
    if row.shape[-1:] != y.shape or row.shape[:-1] != own.shape or own.shape != target.shape:
        raise ValueError(
            f"row must have {len(y)} entries for each value of own and label; got shapes "
            f"{row.shape}, {own.shape} and {target.shape}"
        )
    turned = row @ vectors
    left = own - (turned**2 / (values + lam)).sum(axis=-1)
    if not np.all(left >= -SYMMETRY * own):
        raise ValueError("own must be at least what the other entries imply: this is no kernel")
    residual = target - (turned / (values + lam)) @ (vectors.T @ y)
    return np.asarray(np.maximum(left, 0) / lam)[()], np.asarray(residual)[()]


def _kernel_input(K: ArrayLike, y: ArrayLike, lam: float) -> tuple[Floats, Floats, Floats, float]:
    K = np.asarray(check_finite(K, "K"))
    y = np.atleast_1d(check_finite(y, "y"))
    lam = check_single(check_positive(lam, "lam"), "lam")
    if y.ndim != 1 or y.size == 0 or K.shape != (y.size, y.size):
        raise ValueError(f"K must have shape (n, n) for y of shape (n,); got {K.shape}, {y.shape}")
    size = np.abs(K).max()
    if not np.abs(K - K.T).max() <= SYMMETRY * size:
        raise ValueError("K must be symmetric, as a kernel matrix is")
    values, vectors = np.linalg.eigh(K)
    if not values[0] >= -SYMMETRY * len(y) * size:
        raise ValueError(f"K must be positive semidefinite; got the eigenvalue {values[0]:g}")
    return np.maximum(values, 0), vectors, y, lam
