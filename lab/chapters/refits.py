"""Fits without each person, from the fit to everybody: kernel ridge exactly, logistic by Newton.

Kernel ridge works from the kernel matrix, so the features may have any dimension, or infinitely
many. `lam` is against the *sum* of losses.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import special

from pdpbook import Floats, check

SYMMETRY = 1e-10  # of a kernel matrix, relative to its largest entry
STEPS = 100
ULPS = 8 * np.finfo(float).eps  # more than the rounding of the few operations it multiplies


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

    Notes
    -----
    Statement ``prop-kernel-ridge`` (ours), chapter *per_instance/smooth*. Eigenvalues keep both
    h and 1 - h free of cancellation.

    Examples
    --------
    >>> kernel_leave_one_out([[1.0, 1.0], [1.0, 1.0]], [0.0, 1.0], lam=1.0).residual
    array([-0.5,  1. ])
    """
    K = np.asarray(check.finite(K, "K"))
    y = np.atleast_1d(check.finite(y, "y"))
    lam = check.number(lam, "lam")
    if y.ndim != 1 or y.size == 0 or K.shape != (y.size, y.size):
        raise ValueError(f"K must have shape (n, n) for y of shape (n,); got {K.shape}, {y.shape}")
    size = np.abs(K).max()
    if not np.abs(K - K.T).max() <= SYMMETRY * size:
        raise ValueError("K must be symmetric, as a kernel matrix is")
    values, vectors = np.linalg.eigh(K)
    if not values[0] >= -SYMMETRY * len(y) * size:
        raise ValueError(f"K must be positive semidefinite; got the eigenvalue {values[0]:g}")
    values, square = np.maximum(values, 0), vectors**2
    inside = square @ (values / (values + lam))
    outside = square @ (lam / (values + lam))
    residual_in = lam * (vectors @ ((vectors.T @ y) / (values + lam)))
    return KernelLeaveOneOut(inside / outside, inside, residual_in / outside, residual_in)


def logistic_ridge(X: ArrayLike, y: ArrayLike, lam: float) -> Floats:
    r"""Minimizer of the logistic loss, summed, with a penalty on the squared norm.

    .. math:: \sum_i \bigl[\ln(1+e^{x_i^\top\theta}) - y_i x_i^\top\theta\bigr]
              + \frac\lambda2\|\theta\|^2

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row a person.
    y : array_like, shape (n,)
        Labels in [0, 1].
    lam : float
        Penalty, above 0, against the *sum* of losses.

    Returns
    -------
    ndarray, shape (d,)
        Newton's method with halved steps, until the gradient is below its own rounding.

    Notes
    -----
    Chapter *per_instance/smooth*. scikit-learn's ``C`` is 1 / lam.

    Examples
    --------
    >>> logistic_ridge([[1.0], [1.0]], [1.0, 1.0], lam=1.0).round(4)
    array([0.6748])
    """
    X, y, lam = _input(X, y, lam)
    theta = np.zeros(X.shape[1])
    for _ in range(STEPS):
        gradient = _gradient(X, y, lam, theta)
        if np.linalg.norm(gradient) <= _rounding(X, y, lam, theta):
            return theta
        try:
            step = np.linalg.solve(_hessian(X, lam, theta), gradient)
        except np.linalg.LinAlgError:
            break
        size, here = 1.0, _value(X, y, lam, theta) * (1 + 1e-12)  # not halved by rounding
        while size > 1e-4 and _value(X, y, lam, theta - size * step) > here:
            size /= 2
        theta = theta - size * step
    raise ValueError(
        f"lam must be large enough for Newton's method; got {lam:g}, and a gradient of norm "
        f"{np.linalg.norm(_gradient(X, y, lam, theta)):g} where it stops"
    )


@dataclass(frozen=True)
class NewtonLeaveOneOut:
    """Approximate moves of everybody, each with a bound on its error."""

    theta: Floats  #: shape (d,), the fit to everybody
    leverage_in: Floats  #: shape (n,), curvature times the quadratic form, in [0, 1)
    move: Floats  #: shape (n, d), theta less the fit without that person, approximately
    error: Floats  #: shape (n,), bound on the distance of move from the truth; may be infinite


def logistic_leave_one_out(X: ArrayLike, y: ArrayLike, lam: float) -> NewtonLeaveOneOut:
    r"""Logistic ridge without each person in turn, by one Newton step each.

    With :math:`H'` the Hessian of the whole fit, :math:`p_i` the fitted chance of person i and
    :math:`h_i = p_i(1-p_i)\,x_i^\top H'^{-1}x_i`,

    .. math:: \hat\theta' - \hat\theta_{-i} \approx \frac{y_i-p_i}{1-h_i} H'^{-1} x_i .

    The bound on the error is a certificate computed at the candidate :math:`c_i`, not an order of
    magnitude. With :math:`g, H` gradient and Hessian there of the objective without the person,
    :math:`\nu=\|g\|_{H^{-1}}` and :math:`S=\max_{j\ne i}\|x_j\|_{H^{-1}}`,

    .. math:: \|c_i-\hat\theta_{-i}\| \le \frac{-\ln(1-S\nu)}{S\sqrt{\lambda_{\min}(H)}} ,
              \qquad S\nu<1 .

    Parameters
    ----------
    X, y, lam
        As in `logistic_ridge`.

    Returns
    -------
    NewtonLeaveOneOut
        `error` is infinite for a person where the bound does not apply.

    Notes
    -----
    Statement ``prop-output-perturbation``, chapter *per_instance/smooth*. The moves cost
    O(n d^2), their certificates O(n^2 d^2).

    Examples
    --------
    >>> fit = logistic_leave_one_out([[1.0], [-1.0], [0.5]], [1.0, 0.0, 0.0], lam=1.0)
    >>> fit.move.ravel().round(3)
    array([ 0.294,  0.294, -0.19 ])
    """
    X, y, lam = _input(X, y, lam)
    n = len(y)
    theta = logistic_ridge(X, y, lam)
    score = X @ theta
    image = np.linalg.solve(_hessian(X, lam, theta), X.T).T
    leverage = _curvature(score) * np.einsum("ij,ij->i", X, image)
    move = -(_slope(score, y) / (1 - leverage))[:, None] * image
    error = np.empty(n)
    for i in range(n):
        keep = np.arange(n) != i
        candidate = theta - move[i]
        g = _gradient(X[keep], y[keep], lam, candidate)
        values, vectors = np.linalg.eigh(_hessian(X[keep], lam, candidate))
        half = vectors / np.sqrt(values)
        longest = np.linalg.norm(X[keep] @ half, axis=1).max(initial=0.0)
        small = np.linalg.norm(g @ half)
        if not longest * small < 1:
            error[i] = np.inf
            continue
        inside = -np.log1p(-longest * small) / longest if longest > 0 else small
        error[i] = inside / np.sqrt(values[0])
    # the fit to everybody is itself only close to its minimum, and both gradients are rounded
    error += (np.linalg.norm(_gradient(X, y, lam, theta)) + 2 * _rounding(X, y, lam, theta)) / lam
    return NewtonLeaveOneOut(theta, leverage, move, error)


def _input(X: ArrayLike, y: ArrayLike, lam: float) -> tuple[Floats, Floats, float]:
    X, y = check.design(X, y)
    if not np.all(inside := (y >= 0) & (y <= 1)):
        at = int(np.argmax(~inside))
        raise ValueError(f"y must lie in [0, 1]; got y[{at}] = {y[at]:g}")
    return X, y, check.number(lam, "lam")


def _value(X: Floats, y: Floats, lam: float, theta: Floats) -> float:
    score = X @ theta
    loss = (1 - y) * np.logaddexp(0, score) + y * np.logaddexp(0, -score)
    return float(np.sum(loss) + lam / 2 * theta @ theta)


def _slope(score: Floats, y: Floats) -> Floats:
    """Chance less label; next to a label of 1 their difference itself would be lost."""
    return np.asarray((1 - y) * special.expit(score) - y * special.expit(-score))


def _curvature(score: Floats) -> Floats:
    return np.asarray(special.expit(score) * special.expit(-score))


def _gradient(X: Floats, y: Floats, lam: float, theta: Floats) -> Floats:
    return np.asarray(_slope(X @ theta, y) @ X + lam * theta)


def _hessian(X: Floats, lam: float, theta: Floats) -> Floats:
    return np.asarray((X.T * _curvature(X @ theta)) @ X + lam * np.eye(X.shape[1]))


def _rounding(X: Floats, y: Floats, lam: float, theta: Floats) -> float:
    """How far rounding may move the gradient, to first order: by the scores, and by the sum."""
    score, length, size = X @ theta, np.linalg.norm(X, axis=1), np.linalg.norm(theta)
    moved = length @ (np.abs(_slope(score, y)) + _curvature(score) * length * size)
    return float(ULPS * (moved + lam * size))
