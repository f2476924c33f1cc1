"""What one posterior sample would reveal about one record, in the data or not, and why."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import check
from pdpbook.blocks import in_memory
from pdpbook.per_instance.ops import ops_epsilon
from pdpbook.per_instance.people import (
    PerInstanceReport,
    leverages,
    ops_parameters,
    per_instance_epsilon,
    report_of,
)
from pdpbook.ridge import factor, triangle, weighted_ridge


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

    Examples
    --------
    >>> report = outsider_epsilon([[1.0]], [0.5], [[0.0]], [1.0], lam=1.0, gamma=1.0, delta=0.01)
    >>> report.epsilon  # an empty row changes nothing
    array([0.])
    """
    lam, gamma, delta = ops_parameters(lam, gamma, delta)
    in_memory("outsider_epsilon", X, y, X_new, y_new)
    X, y = check.design(X, y)
    X_new, y_new = check.design(X_new, y_new)
    if X_new.shape[1] != X.shape[1]:
        raise ValueError(f"X_new must have {X.shape[1]} columns, as X; got {X_new.shape[1]}")
    theta = weighted_ridge(X, y, lam, np.ones(len(y)))
    leverage = leverages(triangle([factor(X, y)], lam)[0], X_new)
    return report_of(leverage, y_new - X_new @ theta, theta, gamma, delta)


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
        Its ``str`` is a paragraph.

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
        report, at = everybody, check.count(record, "record", minimum=0)
        if not at < (n := len(everybody.epsilon)):
            raise ValueError(f"record must be a row number below {n}; got {at}")
    leverage = float(report.leverage[at])
    floor = float(ops_epsilon(delta, leverage, 0.0)) if np.isfinite(leverage) else np.inf
    epsilon, scaled = float(report.epsilon[at]), float(report.scaled_residual[at])
    return Explanation(epsilon, leverage, scaled, floor, typical, report.delta)
