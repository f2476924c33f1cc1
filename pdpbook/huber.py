"""A solver for ridge with the Huber loss that states how exact its answer is. Not private."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.check import ULP
from pdpbook.ridge import weighted_ridge

__all__ = ["HuberSolution", "huber_ridge"]

NEWTON_STEPS = 500


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
    lam, c = check.number(lam, "lam"), check.number(threshold, "threshold")
    goal, w = check.number(gradient_norm, "gradient_norm"), check.weights(weights, len(y))
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
        inside = w * (np.abs(y - X @ theta) <= c)
        step = np.linalg.solve((X.T * inside) @ X + lam * np.eye(d), slope / 2)
        length, value = 1.0, objective(theta)
        while length > ULP:
            there = theta - length * step
            change = objective(there) - value
            if change <= -1e-4 * length * slope @ step:
                break
            if abs(change) <= 1e-12 * abs(value) and np.linalg.norm(gradient(there)) <= reached / 2:
                break  # J no longer resolves the descent, its gradient does
            length /= 2
        else:
            break  # rounding allows no better
        theta = there
    raise RuntimeError(
        f"huber_ridge must reach a gradient of norm {goal:g}; got {reached:g}. "
        "Nothing may be released from here"
    )
