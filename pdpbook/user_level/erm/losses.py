"""The two losses of weighted fits, and a minimizer on a ball that states how exact it is."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from pdpbook import Floats, check
from pdpbook.check import ULP

NEWTON_STEPS = 200


class Loss(NamedTuple):
    """A loss of the score x'theta and the label, convex in the score."""

    value: Callable[[Floats, Floats], Floats]
    slope: Callable[[Floats, Floats], Floats]  #: derivative in the score
    curvature: Callable[[Floats, Floats], Floats]
    smoothness: float  #: largest curvature
    lipschitz: Callable[[float], float]  #: largest slope for |score| up to a radius, |y| <= 1


LOSSES = {
    "square": Loss(
        lambda score, y: (score - y) ** 2 / 2,
        lambda score, y: score - y,
        lambda score, y: np.ones(np.broadcast(score, y).shape),
        1.0,
        lambda radius: 1.0 + radius,
    ),
    "logistic": Loss(
        lambda score, y: np.logaddexp(0.0, -y * score),
        lambda score, y: -y * expit(-y * score),
        lambda score, y: expit(score) * expit(-score),
        0.25,
        lambda radius: 1.0,
    ),
}


def two_classes(y: Any, classes: ArrayLike | None) -> tuple[NDArray[Any], Floats]:
    """Return the two classes, and labels of -1 and 1; without a pair, those that occur."""
    labels = column_or_1d(y, warn=True)
    if labels.dtype.kind == "f":
        check.finite(labels, "y")
    check_classification_targets(labels)
    found = np.unique(labels)
    if classes is None:
        if len(found) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}: y must have two classes; got {len(found)}"
            )
        if len(found) < 2:
            raise ValueError("y must have two classes; got one class. Pass both as classes")
        return found, np.where(labels == found[1], 1.0, -1.0)
    pair = np.asarray(classes)
    if pair.shape != (2,) or pair[0] == pair[1]:
        raise ValueError(f"classes must be a pair of different labels; got {classes!r}")
    if not np.isin(found, pair).all():
        odd = found[~np.isin(found, pair)][0]
        raise ValueError(f"y must hold the classes {pair[0]!r} and {pair[1]!r}; got {odd!r}")
    return pair, np.where(labels == pair[1], 1.0, -1.0)


def ball_minimizer(
    X: ArrayLike,
    y: ArrayLike,
    lam: float,
    weights: ArrayLike | None = None,
    *,
    loss: str = "square",
    radius: float = 1.0,
    gradient_norm: float = 1e-10,
) -> Floats:
    r"""Minimizer of a weighted sum of losses and a penalty on a ball. Not private.

    .. math:: J(\theta) = \sum_i c_i\,\ell(x_i^\top\theta, y_i) + \frac\lambda2\|\theta\|^2,
              \qquad \|\theta\|\le R

    with :math:`\ell=\frac12(s-y)^2` or :math:`\ln(1+e^{-ys})`, by Newton's method. Statement
    ``prop-logistic``, chapter *user_level/erm_bounds*. Returns an array of shape (d,).

    Parameters
    ----------
    X : array_like, shape (n, d)
    y : array_like, shape (n,), of -1 and 1 for the logistic loss
    lam : float, above 0
    weights : array_like, shape (n,), at least 0, optional
        Used as given; None is 1/n each.
    loss : {"square", "logistic"}, default "square"
    radius : float, default 1.0
    gradient_norm : float, default 1e-10
        The gradient of J, plus a multiple of theta on the sphere, is no longer than this at the
        answer, which is then within ``gradient_norm / lam`` of the exact minimizer.

    Raises
    ------
    RuntimeError
        If the gradient norm is not reached: then nothing may be released.

    Examples
    --------
    >>> [ball_minimizer([[1.0]], [1.0], 0.25, radius=R).round(12) for R in (1.0, 0.5)]
    [array([0.8]), array([0.5])]
    """
    X, y = check.design(X, y, weights=weights)
    lam, R = check.number(lam, "lam"), check.number(radius, "radius")
    c, goal = check.weights(weights, len(y)), check.number(gradient_norm, "gradient_norm")
    kind = LOSSES[check.choice(loss, "loss", tuple(LOSSES))]
    theta = _newton(kind, X, y, c, lam, np.zeros(X.shape[1]), goal / 4)
    if np.linalg.norm(theta) > R:
        at = theta

        def penalized(multiplier: float) -> Floats:
            return _newton(kind, X, y, c, lam + multiplier, at, goal / 4)

        def outside(multiplier: float) -> float:
            return float(np.linalg.norm(penalized(multiplier)) - R)

        # at the minimizer (lam + multiplier) R is the pull of the data: no more than this
        pull = float(c @ (np.linalg.norm(X, axis=1) * (np.abs(y) + R)))
        theta = penalized(brentq(outside, 0.0, 2 * pull / R, xtol=1e-300, rtol=4 * ULP))
        theta = theta * (R / np.linalg.norm(theta))
    slope = X.T @ (c * kind.slope(X @ theta, y)) + lam * theta
    if np.linalg.norm(theta) >= R * (1 - 1e-12):
        slope = slope - min(0.0, float(slope @ theta) / R**2) * theta
    reached = float(np.linalg.norm(slope))
    if not reached <= goal:
        raise RuntimeError(
            f"ball_minimizer must reach a gradient of norm {goal:g}; got {reached:g}. "
            "Nothing may be released from here"
        )
    return np.asarray(theta)


def _newton(
    kind: Loss, X: Floats, y: Floats, c: Floats, lam: float, theta: Floats, goal: float
) -> Floats:
    """Damped Newton steps on the whole space; who calls checks how far it got."""

    def value(at: Floats) -> float:
        return float(c @ kind.value(X @ at, y) + lam / 2 * at @ at)

    for _ in range(NEWTON_STEPS):
        score = X @ theta
        slope = X.T @ (c * kind.slope(score, y)) + lam * theta
        if np.linalg.norm(slope) <= goal:
            break
        hessian = (X.T * (c * kind.curvature(score, y))) @ X + lam * np.eye(len(theta))
        step, length, here = np.linalg.solve(hessian, slope), 1.0, value(theta)
        gain = float(slope @ step)
        if gain > 1e-12 * abs(here):  # else rounding hides the descent, and full steps are right
            while length > 1e-10 and value(theta - length * step) > here - 1e-4 * length * gain:
                length /= 2
        theta = theta - length * step
    return np.asarray(theta)
