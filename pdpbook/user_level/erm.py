"""Losses, constants, records and predictions for the weighted fits of users with several rows."""

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
from pdpbook.linear import linear_predictions, probabilities_of_classes
from pdpbook.sums import Sums, refuse_mechanism
from pdpbook.tables import read_labels, read_table
from pdpbook.user_level.weights import tradeoff_weights
from pdpbook.user_records import UserRecords, note_users, user_records

NEWTON_STEPS = 200
SUFFICIENT_DECREASE = 1e-4  # Armijo's share of the decrease that the slope predicts
SHORTEST_STEP = 1e-10  # of the line search


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
    occurring = np.unique(labels)
    if classes is None:
        if len(occurring) > 2:
            raise ValueError(
                "Only binary classification is supported. The type of the target is "
                f"{type_of_target(labels)}: y must have two classes; got {len(occurring)}"
            )
        if len(occurring) < 2:
            raise ValueError("y must have two classes; got one class. Pass both as classes")
        pair = occurring
    else:
        pair = np.asarray(classes)
        if pair.shape != (2,) or pair[0] == pair[1]:
            raise ValueError(f"classes must be a pair of different labels; got {classes!r}")
        unknown = occurring[~np.isin(occurring, pair)]
        if len(unknown):
            raise ValueError(
                f"y must hold the classes {pair[0]!r} and {pair[1]!r}; got {unknown[0]!r}"
            )
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

    with :math:`\ell=\frac12(s-y)^2` or :math:`\ln(1+e^{-ys})`, by Newton's method. Where that ends
    outside of the ball, the answer is on the sphere, and it minimizes J with a larger penalty
    :math:`\lambda+\mu`; the multiplier :math:`\mu` is found by a search. Statement
    ``prop-logistic``, chapter *user_level/erm_bounds*. Returns an array of shape (d,).

    Parameters
    ----------
    X : array_like, shape (n, d)
    y : array_like, shape (n,), of -1 and 1 for the logistic loss
    lam : float, above 0
    weights : array_like, shape (n,), at least 0, optional
        Not divided by their sum; None is 1/n each.
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
    lam = check.number(lam, "lam")
    R = check.number(radius, "radius")
    c = check.weights(weights, len(y))
    goal = check.number(gradient_norm, "gradient_norm")
    kind = LOSSES[check.choice(loss, "loss", tuple(LOSSES))]
    theta = _newton(kind, X, y, c, lam, np.zeros(X.shape[1]), goal / 4)
    if np.linalg.norm(theta) > R:
        start = theta

        def minimizer(multiplier: float) -> Floats:
            return _newton(kind, X, y, c, lam + multiplier, start, goal / 4)

        def distance_to_sphere(multiplier: float) -> float:
            return float(np.linalg.norm(minimizer(multiplier)) - R)

        # at the answer (lam + multiplier) R is the norm of the gradient of the losses, which is
        # no more than this
        largest_gradient = float(c @ (np.linalg.norm(X, axis=1) * (np.abs(y) + R)))
        upper = 2 * largest_gradient / R
        multiplier = brentq(distance_to_sphere, 0.0, upper, xtol=1e-300, rtol=4 * ULP)
        theta = minimizer(multiplier)
        theta = theta * (R / np.linalg.norm(theta))
    gradient = X.T @ (c * kind.slope(X @ theta, y)) + lam * theta
    if np.linalg.norm(theta) >= R * (1 - 1e-12):  # on the sphere
        gradient = gradient - min(0.0, float(gradient @ theta) / R**2) * theta
    reached = float(np.linalg.norm(gradient))
    if not reached <= goal:
        raise RuntimeError(
            f"ball_minimizer must reach a gradient of norm {goal:g}; got {reached:g}. "
            "Nothing may be released from here"
        )
    return np.asarray(theta)


def _newton(
    kind: Loss, X: Floats, y: Floats, c: Floats, lam: float, theta: Floats, goal: float
) -> Floats:
    """Take damped Newton steps from `theta` until the gradient is no longer than `goal`.

    They are on the whole space, without the ball, and may end before: whoever calls checks.
    """

    def J(theta: Floats) -> float:
        return float(c @ kind.value(X @ theta, y) + lam / 2 * theta @ theta)

    for _ in range(NEWTON_STEPS):
        score = X @ theta
        gradient = X.T @ (c * kind.slope(score, y)) + lam * theta
        if np.linalg.norm(gradient) <= goal:
            break
        hessian = (X.T * (c * kind.curvature(score, y))) @ X + lam * np.eye(len(theta))
        step = np.linalg.solve(hessian, gradient)
        decrease = float(gradient @ step)  # per unit of length, to first order
        length = 1.0
        value = J(theta)
        if decrease > 1e-12 * abs(value):  # else rounding hides it, and full steps are right
            while (
                length > SHORTEST_STEP
                and J(theta - length * step) > value - SUFFICIENT_DECREASE * length * decrease
            ):
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
    n = check.count(n, "n")
    d = check.count(d, "d")
    gamma = 1.0 if gamma is None else check.delta(gamma, "gamma")
    return float(2 + np.sqrt(2 * d * np.log1p(2 * np.sqrt(n)) + 2 * np.log(2 / gamma)))


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
    log_term = -np.log(check.delta(delta))  # ln(1 / delta)
    # the difference of roots, without cancellation
    root_rho = budgets / (np.sqrt(budgets + log_term) + np.sqrt(log_term))
    rho = root_rho * root_rho
    return rho if np.ndim(budgets) else float(rho)


def output_tradeoff(
    budgets: Floats, sizes: NDArray[np.intp], d: int, L: float, R: float, lam: float, beta: float
) -> float:
    """Return the A whose weights make the bound on the error of a noisy minimizer stationary.

    With the noise b of scale 2 L t / lam in d dimensions and the largest curvature beta it is

        L R K |c| + (beta + lam)/2 E|b|^2 = slope |c| + growth t^2,

    as E|b|^2 = d (d + 1) (2 L t / lam)^2. Weights of least t^2 + A |c|^2 make it stationary if
    A = slope / (2 growth |c|).
    """
    n = int(sizes.sum())
    slope = L * R * convergence_constant(n, d)
    growth = (beta + lam) / 2 * d * (d + 1) * (2 * L / lam) ** 2

    def excess(log_A: float) -> float:
        best = tradeoff_weights(sizes, float(np.exp(log_A)), budgets)
        norm = np.sqrt(best.weights @ best.row_weights)  # |c|
        return float(log_A + np.log(2 * growth / slope * norm))

    smallest = np.log(slope / (2 * growth))  # and at most this + ln(n) / 2, as 1/n <= |c|^2 <= 1
    log_A = brentq(excess, smallest - 1e-9, smallest + np.log(n) / 2 + 1e-9)
    return float(np.exp(log_A))


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
    """Return the records for `fit`, after scikit-learn's checks of tables; `Sums` are refused."""
    if isinstance(X, Sums):
        refuse_mechanism(model)
    note_users(model, users is not None)
    rows = read_table(model, X)
    return user_records(rows, _read_labels(model, rows, y), users, X, y)


def records_for_audit(model: Any, X: Any, y: Any, users: Any) -> UserRecords:
    """Return the records for `output_law`, like `read_records`; the model stays as it is."""
    if isinstance(X, Sums):
        refuse_mechanism(model)
    rows = check.matrix(X, "X", clip=model.clip)
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
        return probabilities_of_classes(linear_predictions(self, X))

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
