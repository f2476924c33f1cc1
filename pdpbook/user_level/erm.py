"""What both weighted fits of users share: losses, public constants, records and predictions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.metrics import accuracy_score, r2_score
from sklearn.utils import ClassifierTags, RegressorTags, Tags, check_consistent_length
from sklearn.utils.metaestimators import available_if
from sklearn.utils.multiclass import check_classification_targets, type_of_target
from sklearn.utils.validation import column_or_1d

from pdpbook import Floats, check
from pdpbook.check import ULP
from pdpbook.domains import Ball, ball_to_user_units, labels_to_domain, rows_to_ball
from pdpbook.linear import linear_predictions
from pdpbook.sums import Sums, refuse_mechanism
from pdpbook.tables import read_labels, read_table
from pdpbook.user_level.weights import tradeoff_weights
from pdpbook.user_records import UserRecords, user_records

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


def convergence_constant(n: int, d: int, gamma: float | None = None) -> float:
    r"""Constant K of weighted uniform convergence, for n rows and d parameters.

    With weights c of independent rows, a loss that is L-Lipschitz in its parameters on a set of
    radius R, and :math:`\Phi` the centered difference of empirical and true risk,

    .. math:: \mathbb E\sup_\theta|\Phi(\theta)| \le LR\,\|c\|_2\,K, \qquad
              K = 2 + \sqrt{2d\ln(1+2\sqrt n) + 2\ln 2},

    and with probability :math:`1-\gamma` the supremum itself is at most that with
    :math:`\ln(2/\gamma)` in place of :math:`\ln 2`. Statement ``thm-uniform-convergence``, chapter
    *user_level/erm_bounds*; Epasto et al. (2020), Theorem 5 multiplies logarithms, no constant.

    Parameters
    ----------
    n, d : int
    gamma : float in (0, 1), or None for the expectation, optional
    """
    rows, d = check.count(n, "n"), check.count(d, "d")
    fails = 1.0 if gamma is None else check.delta(gamma, "gamma")
    return float(2 + np.sqrt(2 * d * np.log1p(2 * np.sqrt(rows)) + 2 * np.log(2 / fails)))


def erm_tradeoff(n: int, d: int, rho: float = 1.0) -> float:
    r"""Price A of variance in units of noise, for `tradeoff_weights`.

    With K the `convergence_constant` of n rows and d parameters,

    .. math:: A = \frac{K^2\rho}{4d} .

    At the optimal weights the fit is as good as one of :math:`n_h=\sum_l\min(s_l,h)` rows.
    Statement ``thm-weighted-erm``, chapter *user_level/erm*.

    Parameters
    ----------
    n, d : int
    rho : float, default 1.0
        Budget of every user for zero-concentrated privacy. Where budgets differ, leave it at 1 and
        pass :math:`\sqrt{\rho_l}` to `tradeoff_weights` as `budgets`.
    """
    rho = check.number(rho, "rho")
    return convergence_constant(n, d) ** 2 * rho / (4 * check.count(d, "d"))


def calibrate_rho(epsilon: ArrayLike, delta: float) -> Any:
    r"""Zero-concentrated budget whose conversion is within (epsilon, delta).

    .. math:: \sqrt\rho = \sqrt{\varepsilon+\ln(1/\delta)} - \sqrt{\ln(1/\delta)}

    is the root of :math:`\rho+2\sqrt{\rho\ln(1/\delta)}=\varepsilon`. Statement
    ``alg-weighted-erm``, chapter *user_level/erm*; Bun and Steinke (2016).
    `ZeroConcentratedDP.to_approximate` converts back with a sharper theorem, to a smaller epsilon.
    Elementwise, in the shape of `epsilon`.

    Parameters
    ----------
    epsilon : float or array_like of any shape, in nats, above 0
    delta : float, in (0, 1)
    """
    budgets = check.positive(epsilon, "epsilon")
    tail = -np.log(check.delta(delta))
    root = budgets / (np.sqrt(budgets + tail) + np.sqrt(tail))
    return root * root if np.ndim(budgets) else float(root * root)


def output_price(
    budgets: Floats, sizes: NDArray[np.intp], d: int, L: float, R: float, lam: float, beta: float
) -> float:
    """A at which the weights make LRK |c| + (beta + lam)/2 E|b|^2 stationary."""
    n = int(sizes.sum())
    slope = L * R * convergence_constant(n, d)
    growth = (beta + lam) / 2 * d * (d + 1) * (2 * L / lam) ** 2

    def excess(log_price: float) -> float:
        c = tradeoff_weights(sizes, float(np.exp(log_price)), budgets)
        norm = np.sqrt(c.weights @ c.row_weights)
        return float(log_price + np.log(2 * growth / slope * norm))

    low = np.log(slope / (2 * growth))  # as 1/n <= |c|^2 <= 1
    return float(np.exp(brentq(excess, low - 1e-9, low + np.log(n) / 2 + 1e-9)))


@dataclass(frozen=True, kw_only=True)
class BallWithLabels(Ball):
    """Rows in the unit ball, and labels in [-1, 1], or two classes as -1 and 1."""

    loss: str  #: "square" for numbers, "logistic" for classes
    classes: ArrayLike | None  #: the two, the positive one last; None takes those that occur

    def to_domain(self, X: Floats, y: NDArray[Any]) -> tuple[Floats, Floats]:
        """Return rows, shape (n, d), and labels, shape (n,), on the domain."""
        if self.loss == "logistic":
            _, labels = two_classes(y, self.classes)
        else:
            labels = labels_to_domain(y, self.y_bounds, self.clip)
        return rows_to_ball(X, self.bounds, self.row_norm, self.clip, self.fit_intercept), labels

    def to_user_units(self, theta: Floats) -> tuple[Floats, float]:
        """Return coefficients, shape (columns,), and intercept: of the labels, or of log-odds."""
        y_bounds = (-1.0, 1.0) if self.loss == "logistic" else self.y_bounds
        return ball_to_user_units(theta, self.columns, self.bounds, y_bounds, self.row_norm)


def read_records(model: Any, X: Any, y: Any, users: Any) -> UserRecords:
    """Return what `fit` was given, by scikit-learn's checks of tables; `Sums` are refused."""
    if isinstance(X, Sums):
        refuse_mechanism(model)
    rows = read_table(model, X)
    return user_records(rows, _read_labels(model, rows, y), users, X, y)


def records_for_audit(model: Any, X: Any, y: Any, users: Any) -> UserRecords:
    """Return what `output_law` was given, like `read_records`; the model stays as it is."""
    if isinstance(X, Sums):
        refuse_mechanism(model)
    rows = check.matrix(X, "X")
    return user_records(rows, _read_labels(model, rows, y), users, X, y)


def _read_labels(model: Any, rows: Floats, y: Any) -> NDArray[Any]:
    """Return one label a row, shape (n,): numbers, or names of classes as they came."""
    if y is None or model.loss != "logistic":
        return read_labels(rows, y)
    check.refuse_hidden(y, "y")
    check_consistent_length(rows, y)
    return np.asarray(y)


def _is_logistic(model: Any) -> bool:
    return bool(model.loss == "logistic")


class LinearPredictor(BaseEstimator):  # type: ignore[misc]
    """Released coefficients: a regressor with ``loss="square"``, a classifier with "logistic"."""

    loss: str
    classes_: NDArray[Any]  #: of the logistic loss only

    def predict(self, X: ArrayLike) -> Any:
        """Predict labels, or the likelier class; X may lie outside `bounds`."""
        scores = linear_predictions(self, X)
        if not _is_logistic(self):
            return scores
        return self.classes_[(scores > 0).astype(int)]

    @available_if(_is_logistic)  # type: ignore[untyped-decorator]
    def decision_function(self, X: ArrayLike) -> Floats:
        """Return the log-odds of the second class, shape (n,)."""
        return linear_predictions(self, X)

    @available_if(_is_logistic)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: ArrayLike) -> Floats:
        """Return the probabilities of the two classes, shape (n, 2)."""
        log_odds = linear_predictions(self, X)
        return np.column_stack([expit(-log_odds), expit(log_odds)])

    def score(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> float:
        """Return the coefficient of determination, or the accuracy. Not private."""
        measure = accuracy_score if _is_logistic(self) else r2_score
        return float(measure(y, self.predict(X), sample_weight=sample_weight))

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        if _is_logistic(self):
            tags.estimator_type = "classifier"
            tags.classifier_tags = ClassifierTags(multi_class=False)
        else:
            tags.estimator_type = "regressor"
            tags.regressor_tags = RegressorTags()
        return tags
