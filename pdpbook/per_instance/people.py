"""Privacy loss of the people of a data set under one posterior sample, all at once.

The loss of one person is a function of two numbers, in `ops`; here are the two numbers of
everybody, and a record explained. Every result depends on the data. It is a report for the
curator, not a promise. Replacing a person, and several releases, are in `pairs`; people in blocks
in `streams`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from pdpbook.blocks import in_memory
from pdpbook.per_instance.ops import ops_epsilon
from pdpbook.ridge import NEARLY_ONE, factor, leave_one_out, triangle, weighted_ridge
from pdpbook.validation import (
    check_count,
    check_delta,
    check_design,
    check_nonnegative,
    check_positive,
    check_single,
)

__all__ = [
    "Explanation",
    "PerInstanceReport",
    "explain",
    "outsider_epsilon",
    "per_instance_epsilon",
]

Floats = NDArray[np.float64]

PIECE = 1 << 12  # people handled at once, so that the work stays in the cache


@dataclass(frozen=True)
class PerInstanceReport:
    """Loss of every person at one delta, and the numbers it comes from."""

    epsilon: Floats  #: shape (n,), smallest epsilon of each person at `delta`; may be infinite
    leverage: Floats  #: shape (n,), against the others
    residual: Floats  #: shape (n,), to the fit of the others
    scaled_residual: Floats  #: shape (n,), sqrt(gamma) times its size
    theta: Floats  #: shape (d,), the fit to everybody, not private
    delta: float  #: the failure probability asked for

    def __str__(self) -> str:
        alone = int(np.isinf(self.epsilon).sum())
        lines = [
            f"privacy loss of {len(self.epsilon)} people at delta {self.delta:g}: "
            f"median {np.median(self.epsilon):.3g}, largest {self.epsilon.max():.3g}",
            "it depends on the data: a report for the curator, not a promise to publish",
        ]
        if alone:
            lines.append(f"infinite for {alone}: each is alone in some direction of the design")
        return "\n".join(lines)


def per_instance_epsilon(
    X: ArrayLike, y: ArrayLike, lam: float, gamma: float, delta: float
) -> PerInstanceReport:
    r"""Exact loss of every participant under one posterior sample, from one factorization.

    With :math:`h_i = x_i^\top H^{-1} x_i` and :math:`e_i = y_i - x_i^\top\hat\theta` of the full
    data,

    .. math:: \mu_i = \frac{h_i}{1 - h_i} , \qquad
              \rho_i = \sqrt\gamma\,\frac{|e_i|}{1 - h_i} .

    Parameters
    ----------
    X : array_like, shape (n, d)
        One row a person.
    y : array_like, shape (n,)
        Labels.
    lam : float
        Penalty against the *sum* of squares, at least 0.
    gamma : float
        Inverse temperature, above 0; 1 / variance of the labels gives the genuine posterior.
    delta : float
        Failure probability, in (0, 1).

    Returns
    -------
    PerInstanceReport
        `epsilon`, `leverage`, `residual`, `scaled_residual` and `theta`. A person without whom
        the design is singular has an infinite `epsilon`.

    Raises
    ------
    ValueError
        If an argument is not finite or out of range, or `lam` is 0 and X is rank deficient.

    Notes
    -----
    Statement ``prop-one-factorization`` (ours), chapter *per_instance/ops*. Cost O(n d^2).

    Examples
    --------
    >>> report = per_instance_epsilon([[1.0], [1.0]], [0.0, 0.0], lam=1.0, gamma=1.0, delta=0.01)
    >>> report.leverage, report.scaled_residual
    (array([0.5, 0.5]), array([0., 0.]))
    """
    lam, gamma, delta = ops_parameters(lam, gamma, delta)
    in_memory("per_instance_epsilon", X, y)  # blocks: stream_per_instance, per_instance_losses
    X, y = check_design(X, y)
    pieces = [slice(k, k + PIECE) for k in range(0, len(y), PIECE)]
    root, labels = triangle((factor(X[piece], y[piece]) for piece in pieces), lam)
    theta = np.asarray(solve_triangular(root, labels, check_finite=False))
    inside = np.concatenate([leverages(root, X[piece]) for piece in pieces])
    if inside.max() > 1 - NEARLY_ONE:  # those people must be refitted
        fit = leave_one_out(X, y, lam, weights=np.ones(len(y)))
        leverage, residual = fit.leverage, fit.residual
    else:
        leverage, residual = inside / (1 - inside), (y - X @ theta) / (1 - inside)
    scaled = np.sqrt(gamma) * np.abs(residual)
    epsilon = np.full(len(scaled), np.inf)
    known = np.isfinite(leverage)
    epsilon[known] = ops_epsilon(delta, leverage[known], scaled[known])
    return PerInstanceReport(epsilon, leverage, residual, scaled, theta, delta)


def outsider_epsilon(
    X: ArrayLike,
    y: ArrayLike,
    X_new: ArrayLike,
    y_new: ArrayLike,
    lam: float,
    gamma: float,
    delta: float,
) -> PerInstanceReport:
    r"""Exact loss that people outside the data would have if each of them alone joined.

    Parameters
    ----------
    X, y, lam, gamma, delta
        As in `per_instance_epsilon`.
    X_new, y_new : array_like, shapes (m, d) and (m,)
        The outsiders.

    Returns
    -------
    PerInstanceReport
        One entry an outsider; `theta` is the fit to the data.

    Raises
    ------
    ValueError
        As `per_instance_epsilon`, or if the widths differ.

    Examples
    --------
    >>> report = outsider_epsilon([[1.0]], [0.5], [[0.0]], [1.0], lam=1.0, gamma=1.0, delta=0.01)
    >>> report.epsilon  # an empty row changes nothing
    array([0.])
    """
    lam, gamma, delta = ops_parameters(lam, gamma, delta)
    in_memory("outsider_epsilon", X, y, X_new, y_new)
    X, y = check_design(X, y)
    X_new, y_new = check_design(X_new, y_new)
    if X_new.shape[1] != X.shape[1]:
        raise ValueError(f"X_new must have {X.shape[1]} columns, as X; got {X_new.shape[1]}")
    theta = weighted_ridge(X, y, lam, np.ones(len(y)))
    root, _ = triangle([factor(X, y)], lam)
    leverage = leverages(root, X_new)
    residual = y_new - X_new @ theta
    scaled = np.sqrt(gamma) * np.abs(residual)
    epsilon = ops_epsilon(delta, leverage, scaled)
    return PerInstanceReport(epsilon, leverage, residual, scaled, theta, delta)


@dataclass(frozen=True)
class Explanation:
    """One record, in words and in the two laws that a release lets one compare."""

    epsilon: float  #: smallest epsilon at `delta`
    leverage: float  #: against the data without the record
    scaled_residual: float  #: to the fit without the record
    floor: float  #: epsilon if the label were exactly what the others predict
    typical: float  #: median leverage of the people in the data
    delta: float  #: the failure probability asked for

    def __str__(self) -> str:
        if np.isinf(self.epsilon):
            return (
                "This record is alone in some direction of the design: without it there is no "
                "fit, and a release shows that it is there. Its loss is infinite; raise lam."
            )
        ratio = self.leverage / self.typical if self.typical > 0 else np.inf
        factor = np.exp(min(self.epsilon, 700.0))
        return "\n".join(
            [
                "When this record joins or leaves, the chance of any event changes by at most",
                f"a factor {factor:.3g} (epsilon {self.epsilon:.3g}) plus {self.delta:g}.",
                f"Its row: leverage {self.leverage:.3g}, {ratio:.3g} times the median here.",
                f"Its label: {self.scaled_residual:.3g} / sqrt(gamma) from the others' prediction.",
                f"With that label instead, epsilon would be {self.floor:.3g}.",
                "This depends on the data: it is not a promise, and not for publication.",
            ]
        )

    def draw(self, ax: Any) -> Any:
        """Draw the law of the record's scaled residual under a release without and with it."""
        if np.isinf(self.epsilon):
            raise ValueError("a record of infinite loss has no law without it to draw")
        mu, rho = self.leverage, self.scaled_residual
        laws = [("without the record", rho, mu), ("with it", rho / (1 + mu), mu / (1 + mu))]
        half = 4 * np.sqrt(mu)
        v = np.linspace(rho / (1 + mu) - half, rho + half, 301)
        for (label, center, variance), style in zip(laws, ("-", "--"), strict=True):
            density = np.exp(-((v - center) ** 2) / (2 * variance)) / np.sqrt(2 * np.pi * variance)
            ax.plot(v, density, style, label=label)
        ax.set(xlabel="scaled residual of the record at the release", ylabel="density")
        ax.legend()
        return ax


def explain(
    record: Any, X: ArrayLike, y: ArrayLike, lam: float, gamma: float, delta: float
) -> Explanation:
    """Say what one posterior sample would reveal about one record, and why.

    Parameters
    ----------
    record : int or (array_like of shape (d,), float)
        A row number of X, for a participant; or the row and label of an outsider.
    X, y, lam, gamma, delta
        As in `per_instance_epsilon`.

    Returns
    -------
    Explanation
        Its ``str`` is a paragraph; ``draw(ax)`` is the picture.

    Raises
    ------
    TypeError, ValueError
        As `per_instance_epsilon`, or if `record` is neither a row number nor a row with a label.

    Notes
    -----
    Chapter *per_instance/ops*.

    Examples
    --------
    >>> about = explain(0, [[1.0], [1.0]], [0.0, 1.0], lam=1.0, gamma=1.0, delta=0.01)
    >>> round(about.leverage, 9), round(about.scaled_residual, 9), about.epsilon > about.floor
    (0.5, 0.5, True)
    """
    everybody = per_instance_epsilon(X, y, lam, gamma, delta)
    typical = float(np.median(everybody.leverage))
    if isinstance(record, tuple | list) and len(record) == 2:
        row, label = record
        report, at = outsider_epsilon(X, y, np.array([row]), [label], lam, gamma, delta), 0
    else:
        report, at = everybody, check_count(record, "record", minimum=0)
        if not at < len(everybody.epsilon):
            raise ValueError(
                f"record must be a row number below {len(everybody.epsilon)}; got {at}"
            )
    leverage = float(report.leverage[at])
    floor = float(ops_epsilon(delta, leverage, 0.0)) if np.isfinite(leverage) else np.inf
    return Explanation(
        epsilon=float(report.epsilon[at]),
        leverage=leverage,
        scaled_residual=float(report.scaled_residual[at]),
        floor=floor,
        typical=typical,
        delta=report.delta,
    )


def leverages(root: Floats, X: Floats) -> Floats:
    half = solve_triangular(root, X.T, trans="T", check_finite=False)
    return np.asarray(np.einsum("ij,ij->j", half, half))


def ops_parameters(lam: Any, gamma: Any, delta: Any) -> tuple[float, float, float]:
    return (
        check_single(check_nonnegative(lam, "lam"), "lam"),
        check_single(check_positive(gamma, "gamma"), "gamma"),
        check_delta(delta),
    )
