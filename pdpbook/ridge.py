"""Minimizers under every private regression: weighted ridge with its moments, and Huber's.

Nothing here is private: these functions see the data and return exact values, or state how exact
they are. Mechanisms add the noise (`personalized` and kin); kernels live in `per_instance`.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.linalg import lapack, qr, solve_triangular

from pdpbook import Floats, check
from pdpbook.check import ULP

__all__ = [
    "HuberSolution",
    "LeaveOneOut",
    "LossMoments",
    "huber_ridge",
    "leave_one_out",
    "loss_moments",
    "weighted_ridge",
]

WELL_CONDITIONED = 1e-10  # reciprocal condition of the Gram matrix under which QR takes over
CACHED = 1 << 16  # numbers of X that are scaled at once
NEARLY_ONE = 1e-4  # 1 - leverage_in loses digits below this: those people are refitted


def weighted_ridge(
    X: ArrayLike, y: ArrayLike, lam: float, weights: ArrayLike | None = None
) -> Floats:
    r"""Minimizer of weighted squares with a penalty on the squared norm.

    .. math:: \hat\theta = \arg\min_\theta \sum_i w_i (y_i - x_i^\top\theta)^2 + \lambda\|\theta\|^2
              = \Bigl(\sum_i w_i x_i x_i^\top + \lambda I\Bigr)^{-1} \sum_i w_i x_i y_i .

    Chapter *foundations/ridge*. Cholesky of the Gram matrix; QR of the stacked design where that
    matrix is nearly singular and for ``lam=0``. Returns an array of shape (d,).

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row a person. No intercept is added: append a constant column if you want one.
    y : array_like, shape (n,)
    lam : float
        Penalty, at least 0, against the weighted *mean* of squares. With ``weights=None`` it is
        scikit-learn's ``alpha / n``; with weights it is ``alpha`` next to ``sample_weight``. At 0
        rows of positive weight must span all d directions, or ValueError: no unique minimizer.
    weights : array_like, shape (n,), optional
        At least 0, not all 0; used as given, never renormalized. None is 1/n each.

    Examples
    --------
    >>> weighted_ridge([[1.0], [1.0]], [0.0, 1.0], lam=1.0)
    array([0.25])
    """
    lam = _check_lam(lam)
    X, y = check.design(X, y, weights=weights)
    w = check.weights(weights, len(y))
    if lam > 0:
        gram, moment = weighted_sums(X, y, w)
        theta = ridge_of_sums(gram, moment, lam)
        if theta is not None:
            return theta
    return ridge_of_rows(X, y, lam, w)


@dataclass(frozen=True)
class LeaveOneOut:
    """How each person changes the fit; see `leave_one_out` for the formulas."""

    theta: Floats  #: shape (d,), the fit to everybody
    leverage: Floats  #: shape (n,), of each person against the fit without them, in [0, inf]
    leverage_in: Floats  #: shape (n,), as a participant, in [0, 1]
    residual: Floats  #: shape (n,), to the fit without that person
    residual_in: Floats  #: shape (n,), to the fit to everybody
    move: Floats  #: shape (n, d), theta less the fit without that person


def leave_one_out(
    X: ArrayLike, y: ArrayLike, lam: float, weights: ArrayLike | None = None
) -> LeaveOneOut:
    r"""Fit without each person in turn, for everybody from one factorization.

    With :math:`H = \sum_j w_j x_j x_j^\top + \lambda I` and :math:`A_i = H - w_i x_i x_i^\top`,

    .. math::
        \ell_i &= w_i x_i^\top A_i^{-1} x_i , \qquad
        h_i = w_i x_i^\top H^{-1} x_i = \ell_i / (1 + \ell_i) , \\
        r_i &= y_i - x_i^\top \hat\theta_{-i} = (y_i - x_i^\top \hat\theta) / (1 - h_i) , \qquad
        \hat\theta - \hat\theta_{-i} = w_i r_i H^{-1} x_i

    are `leverage`, `leverage_in`, `residual` and `move`. The others keep their weights: removing
    person i means :math:`w_i = 0`, not a new average. Where the fit without a person is not unique
    (only possible with ``lam=0``) their `leverage`, `residual` and `move` are infinite. Statement
    ``lem-leave-one-out`` (ours), chapter *foundations/ridge*. Cost O(n d^2). The few people (at
    most about d) whose `leverage_in` is within 1e-4 of 1 are refitted, because :math:`1 - h_i` has
    lost its digits there.

    Parameters
    ----------
    X, y, lam, weights
        As in `weighted_ridge`.

    Examples
    --------
    >>> fit = leave_one_out([[1.0], [1.0]], [0.0, 1.0], lam=1.0, weights=[1.0, 1.0])
    >>> fit.theta, fit.leverage_in, fit.residual
    (array([0.33333333]), array([0.33333333, 0.33333333]), array([-0.5,  1. ]))
    """
    X, y = check.design(X, y, weights=weights)
    lam, w = _check_lam(lam), check.weights(weights, len(y))
    rows, labels = _scale(X, y, w)
    Q, R, theta = _stacked_fit(rows, labels, lam)
    leverage_in = np.where(w > 0, np.clip(np.einsum("ij,ij->i", Q, Q), 0.0, 1.0), 0.0)
    residual_in = y - X @ theta
    rest = 1 - leverage_in
    close = np.flatnonzero(rest < NEARLY_ONE)
    rest[close] = 1.0  # replaced below
    leverage = leverage_in / rest
    residual = residual_in / rest
    scaled_move = solve_triangular(R, Q.T, check_finite=False).T  # sqrt(w_i) H^{-1} x_i
    move = (np.sqrt(w) * residual)[:, None] * scaled_move
    for i in close:
        try:
            others = np.delete(rows, i, axis=0)
            _, R_i, theta_i = _stacked_fit(others, np.delete(labels, i), lam)
        except ValueError:  # not unique without this person
            leverage[i], residual[i], move[i] = np.inf, np.inf, np.inf
            continue
        half = solve_triangular(R_i, rows[i], trans="T", check_finite=False)
        leverage[i] = half @ half
        residual[i] = y[i] - X[i] @ theta_i
        residual_in[i] = residual[i] / (1 + leverage[i])
        move[i] = np.sqrt(w[i]) * residual[i] * scaled_move[i]
    return LeaveOneOut(theta, leverage, leverage_in, residual, residual_in, move)


@dataclass(frozen=True)
class LossMoments:
    """Mean and variance of a loss over the noise of a release, the data fixed."""

    mean: float  #: expected loss
    variance: float  #: its variance; the square of a standard deviation


def loss_moments(
    X_test: ArrayLike, y_test: ArrayLike, theta: ArrayLike, eta: float, lam: float = 0.0
) -> LossMoments:
    r"""Exact mean and variance of the test loss of a release with l2-Laplace noise.

    The release is :math:`\theta + Z`, where :math:`Z` in d dimensions has density proportional to
    :math:`e^{-\eta\|z\|}`; its loss is
    :math:`L = \frac1N \sum_i (y_i - x_i^\top(\theta+Z))^2 + \lambda\|\theta+Z\|^2`. With
    :math:`S = X^\top X/N + \lambda I`, :math:`g = X^\top (y - X\theta)/N - \lambda\theta` and
    :math:`L_0` the loss at :math:`\theta`,

    .. math::
        \mathbb{E} L &= L_0 + \frac{d+1}{\eta^2} \operatorname{tr} S , \\
        \operatorname{Var} L &= \frac{2(d+1)\,[(d+3)\|S\|_F^2 + (\operatorname{tr} S)^2]}{\eta^4}
            + \frac{4(d+1)\|g\|^2}{\eta^2} .

    Statement ``thm-loss-moments`` (ours), chapter *personalized/accuracy_bounds*.

    Parameters
    ----------
    X_test : array_like, shape (N, d)
    y_test : array_like, shape (N,)
    theta : array_like, shape (d,)
        Center of the release.
    eta : float
        Rate of the noise radius, above 0 (numpy's Gamma takes ``scale=1/eta``).
    lam : float, default 0
        Penalty on the released parameters, against the test *mean*; 0 is plain squared error.

    Examples
    --------
    >>> loss_moments([[1.0]], [0.0], [0.0], eta=2.0)  # square of a Laplace variable of scale 1/2
    LossMoments(mean=0.5, variance=1.25)
    """
    eta = check.number(eta, "eta")
    lam = _check_lam(lam)
    X, y = check.design(X_test, y_test)
    n, d = X.shape
    center: Floats = check.shape(check.finite(theta, "theta"), "theta", (d,), "one for each column")
    residual = y - X @ center
    S = X.T @ X / n + lam * np.eye(d)
    g = X.T @ residual / n - lam * center
    trace, square = np.trace(S), np.sum(S * S)
    mean = residual @ residual / n + lam * center @ center + (d + 1) / eta**2 * trace
    variance = 2 * (d + 1) * ((d + 3) * square + trace**2) / eta**4
    variance += 4 * (d + 1) * (g @ g) / eta**2
    return LossMoments(float(mean), float(variance))


def ridge_of_sums(gram: Floats, moment: Floats, lam: float) -> Floats | None:
    """Minimizer by Cholesky of X'X + lam I, or None where that is too close to singular for it."""
    gram = gram + lam * np.eye(len(gram))
    root, failed = lapack.dpotrf(gram)
    if failed or not lapack.dpocon(root, np.linalg.norm(gram, 1))[0] > WELL_CONDITIONED:
        return None
    return np.asarray(lapack.dpotrs(root, moment)[0])


def ridge_of_rows(X: Floats, y: Floats, lam: float, weights: Floats) -> Floats:
    """Minimizer by QR of the rows, at any condition."""
    rows, labels = _scale(X, y, weights)
    _, _, theta = _stacked_fit(rows, labels, lam)
    return theta


def triangle(factors: Iterable[tuple[Floats, int]], lam: float) -> tuple[Floats, Floats, int]:
    """Return R with R'R = X'X + lam I, R^{-T} X'y, and n.

    `factors` are those of blocks, from `factor`. They are stacked one after the other and
    triangularized by QR, so no condition number is squared.
    """
    stacked: Floats | None = None
    n = 0
    for block, count in factors:
        if stacked is None:
            d = block.shape[1] - 1
            stacked = np.hstack([np.sqrt(lam) * np.eye(d), np.zeros((d, 1))])
        stacked = _triangular(np.vstack([stacked, block]))
        n += count
    if stacked is None:
        raise ValueError("blocks must hold at least one person; got none")
    d = stacked.shape[1] - 1
    root = stacked[:d, :d]
    _check_rank(root, max(n, d), lam)
    return root, stacked[:d, d], n


def factor(X: Floats, y: Floats) -> tuple[Floats, int]:
    """Return a block for `triangle`, [X y] or its triangle if that is shorter, and its rows."""
    block = np.column_stack([X, y])
    n, columns = block.shape
    if n > columns:
        return _triangular(block), n
    return block, n


def _triangular(rows: Floats) -> Floats:
    """Return the triangular factor of QR, shape (columns, columns)."""
    (R,) = qr(rows, mode="r", check_finite=False)
    return np.asarray(R[: rows.shape[1]])


def weighted_sums(X: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    """X' W X and X' W y, by pieces of X small enough to be scaled in the cache."""
    n, d = X.shape
    step = max(1, CACHED // d)
    piece = np.empty((min(n, step), d))
    gram = np.zeros((d, d))
    moment = np.zeros(d)
    for k in range(0, n, step):
        root = np.sqrt(weights[k : k + step])
        rows = np.multiply(X[k : k + step], root[:, None], out=piece[: len(root)])
        gram += rows.T @ rows
        moment += rows.T @ (y[k : k + step] * root)
    return gram, moment


def _scale(X: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
    root = np.sqrt(weights)
    return X * root[:, None], y * root


def _stacked_fit(rows: Floats, labels: Floats, lam: float) -> tuple[Floats, Floats, Floats]:
    """QR of the rows stacked on sqrt(lam) I: the data part of Q, R, and the minimizer."""
    n, d = rows.shape
    if lam > 0:
        rows = np.vstack([rows, np.sqrt(lam) * np.eye(d)])
    if len(rows) < d:
        raise ValueError(_not_unique(lam, len(rows), d))
    Q, R = qr(rows, mode="economic", check_finite=False)
    _check_rank(R, len(rows), lam)
    theta = solve_triangular(R, Q[:n].T @ labels, check_finite=False)
    return Q[:n], R, theta


def _check_rank(R: Floats, n: int, lam: float) -> None:
    """Refuse the triangle of n rows that has lost a direction in rounding."""
    d = len(R)
    rounding = n * np.finfo(float).eps
    reciprocal_condition, _ = lapack.dtrcon(R)  # an estimate, within a factor d of the 2-norm's
    if reciprocal_condition > 100 * d * rounding:
        return
    singular = np.linalg.svd(R, compute_uv=False)
    rank = int((singular > singular[0] * rounding).sum())
    if rank < d:
        raise ValueError(_not_unique(lam, rank, d))


def _not_unique(lam: float, rank: int, d: int) -> str:
    return (
        f"lam must be above 0, and not lost in rounding, when the design is rank deficient; "
        f"got lam = {lam:g} and rank {rank} of {d} columns: the minimizer is not unique"
    )


def _check_lam(lam: Any) -> float:
    return check.single(check.nonnegative(lam, "lam"), "lam")


NEWTON_STEPS = 500
SUFFICIENT_DECREASE = 1e-4  # of the objective in a line search, as a part of what its slope says
RESOLUTION = 1e-12  # relative: of the objective, below which its gradient decides


@dataclass(frozen=True)
class HuberSolution:
    """A minimizer and how well it is one; see `huber_ridge`."""

    theta: Floats  #: shape (d,)
    gradient_norm: float  #: of the objective at `theta`, as computed; at most the one asked for


def huber_ridge(
    X: ArrayLike,
    y: ArrayLike,
    lam: float,
    weights: ArrayLike | None = None,
    *,
    threshold: float = 1.0,
    gradient_norm: float = 1e-10,
    linear: ArrayLike | None = None,
) -> HuberSolution:
    r"""Minimizer of weighted Huber losses with a penalty on the squared norm, and how exact it is.

    .. math:: &J(\theta) = \sum_i w_i h_c(y_i-x_i^\top\theta) + \lambda\|\theta\|^2+b^\top\theta,\\
              &h_c(r) = r^2\ (|r|\le c), \quad 2c|r|-c^2\ (|r|>c) .

    Not private. Newton's method: where it runs, J is a quadratic, so it ends after a few steps.
    Statements ``thm-huber-sensitivity`` and ``prop-solver-tolerance`` (ours), chapter
    *personalized/constants*.

    Parameters
    ----------
    X, y, weights
        As in `pdpbook.ridge.weighted_ridge`; weights of None are 1/n each.
    lam : float
        Penalty, above 0, against the weighted *mean* of losses.
    threshold : float, default 1.0
        Where the loss turns linear, :math:`c`.
    gradient_norm : float, default 1e-10
        Stop where the gradient of J is no longer than this, within ``gradient_norm / (2 * lam)`` of
        the exact solution. Where that fails, RuntimeError: then nothing may be released.
    linear : array_like, shape (d,), optional
        Coefficients of a linear term, :math:`b`; None is 0. Objective perturbation draws them.

    Examples
    --------
    >>> huber_ridge([[1.0], [1.0]], [0.0, 100.0], lam=1.0).theta.round(12)
    array([0.33333333])
    """
    X, y = check.design(X, y, weights=weights)
    lam = check.number(lam, "lam")
    c = check.number(threshold, "threshold")
    goal = check.number(gradient_norm, "gradient_norm")
    w = check.weights(weights, len(y))
    d = X.shape[1]
    tilt = np.zeros(d)
    if linear is not None:
        tilt = check.shape(check.finite(linear, "linear"), "linear", (d,), "one for each feature")

    def objective(theta: Floats) -> float:
        r = np.abs(y - X @ theta)
        losses = w @ np.where(r <= c, r * r, c * (2 * r - c))
        return float(losses + lam * theta @ theta + tilt @ theta)

    def gradient(theta: Floats) -> Floats:
        pull = X.T @ (w * np.clip(y - X @ theta, -c, c))
        return np.asarray(2 * (lam * theta - pull) + tilt)

    theta = weighted_ridge(X, y, lam, w)  # the answer already when no residual exceeds c
    if tilt.any():
        theta = theta - np.linalg.solve((X.T * w) @ X + lam * np.eye(d), tilt / 2)
    for _ in range(NEWTON_STEPS):
        slope = gradient(theta)
        reached = float(np.linalg.norm(slope))
        if reached <= goal:
            return HuberSolution(theta, reached)
        quadratic = w * (np.abs(y - X @ theta) <= c)  # weights of losses that are quadratic here
        step = np.linalg.solve((X.T * quadratic) @ X + lam * np.eye(d), slope / 2)
        value = objective(theta)
        length = 1.0
        while length > ULP:
            there = theta - length * step
            change = objective(there) - value
            if change <= -SUFFICIENT_DECREASE * length * slope @ step:
                break
            unresolved = abs(change) <= RESOLUTION * abs(value)
            if unresolved and np.linalg.norm(gradient(there)) <= reached / 2:
                break  # rounding hides the descent of J, not that of its gradient
            length /= 2
        else:
            break  # rounding allows no better
        theta = there
    raise RuntimeError(
        f"huber_ridge must reach a gradient of norm {goal:g}; got {reached:g}. "
        "Nothing may be released from here"
    )
