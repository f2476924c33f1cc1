"""Privacy loss of the people of a data set under one posterior sample: all at once, or streamed.

The loss of one person is a function of two numbers, in `ops`; here are the two numbers of
everybody, and a record explained. Every result depends on the data. It is a report for the
curator, not a promise. Replacing a person, and several releases, are in `pairs`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import qr, solve_triangular

from pdpbook.per_instance.ops import ops_epsilon
from pdpbook.ridge import leave_one_out, weighted_ridge
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
    "StreamReport",
    "explain",
    "outsider_epsilon",
    "per_instance_epsilon",
    "stream_per_instance",
]

Floats = NDArray[np.float64]
Blocks = Iterable[tuple[Any, Any]] | Callable[[], Iterable[tuple[Any, Any]]]

ALONE = 1e-8  # 1 - leverage_in below which the design without the person counts as singular


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
    fit = leave_one_out(X, y, lam, weights=np.ones(len(np.atleast_1d(np.asarray(y)))))
    scaled = np.sqrt(gamma) * np.abs(fit.residual)
    epsilon = np.full(len(scaled), np.inf)
    known = np.isfinite(fit.leverage)
    epsilon[known] = ops_epsilon(delta, fit.leverage[known], scaled[known])
    return PerInstanceReport(epsilon, fit.leverage, fit.residual, scaled, fit.theta, delta)


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
    X, y = check_design(X, y)
    X_new, y_new = check_design(X_new, y_new)
    if X_new.shape[1] != X.shape[1]:
        raise ValueError(f"X_new must have {X.shape[1]} columns, as X; got {X_new.shape[1]}")
    theta = weighted_ridge(X, y, lam, np.ones(len(y)))
    root, _ = triangle([(X, y)], lam)
    leverage = _leverages(root, X_new)
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


@dataclass(frozen=True)
class StreamReport:
    """Losses of people who never were in memory together."""

    n: int  #: number of people
    theta: Floats  #: shape (d,), the fit to everybody, not private
    mean: float  #: mean epsilon; infinite if anybody's is
    largest: Floats  #: the largest losses, falling
    rows: NDArray[np.int64]  #: whose they are, counted from 0 through the blocks
    delta: float  #: the failure probability asked for


def stream_per_instance(
    blocks: Blocks,
    lam: float,
    gamma: float,
    delta: float,
    *,
    top: int = 10,
    each: Callable[[int, Floats], Any] | None = None,
) -> StreamReport:
    """Exact loss of everybody in data that come in blocks, with the memory of one block.

    Two passes: the first updates one triangular factor, the second has leverages and residuals.

    Parameters
    ----------
    blocks : sequence of (X, y), or function of no argument that returns an iterator of them
        Asked for twice; both times it must give the same people.
    lam, gamma, delta : float
        As in `per_instance_epsilon`.
    top : int, default 10
        How many of the largest losses to keep.
    each : callable, optional
        Called as ``each(start, epsilon)`` for every block: the number of its first row, and the
        losses in it.

    Returns
    -------
    StreamReport
        Mean and largest losses, with row numbers.

    Raises
    ------
    TypeError, ValueError
        If `blocks` can be read only once, gives blocks of different widths or different people
        the second time; or as `per_instance_epsilon`.

    Notes
    -----
    Statement ``prop-one-factorization`` (ours), chapter *per_instance/ops*. The factor comes from
    QR of each block under the last factor, so its error does not grow with the square of the
    condition number. The few people of leverage near 1 lose digits here: above 1 - 1e-8 their
    loss counts as infinite.

    Examples
    --------
    >>> blocks = [([[1.0]], [0.0]), ([[1.0], [1.0]], [1.0, 0.0])]
    >>> report = stream_per_instance(blocks, lam=1.0, gamma=1.0, delta=0.01)
    >>> report.n, report.rows
    (3, array([1, 0, 2]))
    """
    lam, gamma, delta = ops_parameters(lam, gamma, delta)
    top = check_count(top, "top")
    if not callable(blocks) and iter(blocks) is blocks:
        raise TypeError(
            "blocks is read twice: pass a list, or a function that returns a new iterator; "
            f"got {type(blocks).__name__}"
        )
    root, labels = triangle(_checked(blocks), lam)
    theta = np.asarray(solve_triangular(root, labels, check_finite=False))
    n, total = 0, 0.0
    largest, rows = np.zeros(0), np.zeros(0, dtype=np.int64)
    for X, y in _checked(blocks):
        inside = np.minimum(_leverages(root, X), 1.0)
        alone = 1 - inside < ALONE
        rest = np.where(alone, 1.0, 1 - inside)
        scaled = np.sqrt(gamma) * np.abs(y - X @ theta) / rest
        epsilon = np.asarray(ops_epsilon(delta, np.where(alone, 0.0, inside / rest), scaled))
        epsilon[alone] = np.inf
        if each is not None:
            each(n, epsilon)
        total += float(epsilon.sum())
        largest = np.concatenate([largest, epsilon])
        rows = np.concatenate([rows, np.arange(n, n + len(epsilon))])
        order = np.argsort(-largest, kind="stable")[:top]
        largest, rows, n = largest[order], rows[order], n + len(epsilon)
    return StreamReport(n, theta, total / n, largest, rows, delta)


def triangle(blocks: Iterable[tuple[Floats, Floats]], lam: float) -> tuple[Floats, Floats]:
    """R with R'R = X'X + lam I, and R^{-T} X'y, by QR of each block under the last factor."""
    factor: Floats | None = None
    rows = 0
    for X, y in blocks:
        d = X.shape[1]
        if factor is None:
            factor = np.zeros((d, d + 1))
            factor[:, :d] = np.sqrt(lam) * np.eye(d)
        rows += len(y)
        stacked = np.vstack([factor, np.column_stack([X, y])])
        factor = qr(stacked, mode="r", check_finite=False)[0][:d]
    if factor is None:
        raise ValueError("blocks must hold at least one person; got none")
    root, d = factor[:, :-1], len(factor)
    singular = np.linalg.svd(root, compute_uv=False)
    if not singular[-1] > singular[0] * max(rows, d) * np.finfo(float).eps:
        raise ValueError(
            f"lam must be above 0 when the design is rank deficient; got lam = {lam:g}: the "
            "posterior is not proper"
        )
    return root, factor[:, -1]


def _leverages(root: Floats, X: Floats) -> Floats:
    half = solve_triangular(root, X.T, trans="T", check_finite=False)
    return np.asarray(np.einsum("ij,ij->j", half, half))


def _checked(blocks: Blocks) -> Iterator[tuple[Floats, Floats]]:
    """The blocks, each checked, all of one width."""
    width = None
    for k, (X, y) in enumerate(blocks() if callable(blocks) else blocks):
        X, y = check_design(X, y)
        width = X.shape[1] if width is None else width
        if X.shape[1] != width:
            raise ValueError(
                f"blocks must have one width; got {width} columns first, {X.shape[1]} in block {k}"
            )
        yield X, y


def ops_parameters(lam: Any, gamma: Any, delta: Any) -> tuple[float, float, float]:
    return (
        check_single(check_nonnegative(lam, "lam"), "lam"),
        check_single(check_positive(gamma, "gamma"), "gamma"),
        check_delta(delta),
    )
