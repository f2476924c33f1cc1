"""Privacy loss of the people of a data set under one posterior sample, all at once.

People are read twice: first for one triangular factor of the design, by QR of the factors of its
blocks, then for everybody's leverage and residual, hence their loss, by `ops`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import solve_triangular

from pdpbook import Floats, check
from pdpbook.per_instance.ops import ops_epsilon
from pdpbook.ridge import NEARLY_ONE, factor, leave_one_out, triangle

Counts = NDArray[np.int64]
ROWS_FACTORED = 1 << 16  # at once: a factorization copies its rows
ROWS_IN_CACHE = 1 << 14  # whose leverages are computed at once
ALONE = 1e-8  # 1 - leverage_in below which the design without the person counts as singular
EDGES = np.geomspace(1e-12, 1e14, 26 * 200 + 1)  # of the histogram: steps of 1.2%


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
        lost = f"\ninfinite for {alone}: each is alone in some direction of the design"
        return (
            f"privacy loss of {len(self.epsilon)} people at delta {self.delta:g}: "
            f"median {np.median(self.epsilon):.3g}, largest {self.epsilon.max():.3g}\n"
            "it depends on the data: a report for the curator, not a promise to publish"
            f"{lost if alone else ''}"
        )


def per_instance_epsilon(
    X: ArrayLike, y: ArrayLike, lam: float, gamma: float, delta: float
) -> PerInstanceReport:
    r"""Exact loss of every participant under one posterior sample, from one factorization.

    With :math:`h_i = x_i^\top H^{-1} x_i` and :math:`e_i = y_i - x_i^\top\hat\theta` of all data,

    .. math:: \mu_i = \frac{h_i}{1 - h_i} , \qquad \rho_i = \sqrt\gamma\,\frac{|e_i|}{1 - h_i} .

    Statement ``prop-one-factorization`` (ours), chapter *per_instance/ops*. Cost O(n d^2). A person
    without whom the design is singular has an infinite `epsilon`.

    Parameters
    ----------
    X, y : array_like, shapes (n, d) and (n,)
    lam, gamma, delta : float
        Penalty against the *sum* of squares, at least 0, and with 0 columns must be independent;
        inverse temperature, above 0 (1 / variance of the labels gives the genuine posterior);
        failure probability, in (0, 1).

    Examples
    --------
    >>> report = per_instance_epsilon([[1.0], [1.0]], [0.0, 0.0], lam=1.0, gamma=1.0, delta=0.01)
    >>> report.leverage, report.scaled_residual
    (array([0.5, 0.5]), array([0., 0.]))
    """
    lam, gamma, delta = ops_parameters(lam, gamma, delta)
    X, y = check.design(X, y)
    blocks = [slice(k, k + ROWS_FACTORED) for k in range(0, len(y), ROWS_FACTORED)]
    fit = _fit((factor(X[block], y[block]) for block in blocks), lam)
    leverage, residual = fit.numbers(X, y)
    if leverage.max() > 1 / NEARLY_ONE - 1:  # those people must be refitted
        exact = leave_one_out(X, y, lam, weights=np.ones(len(y)))
        leverage, residual = exact.leverage, exact.residual
    scaled = np.sqrt(gamma) * np.abs(residual)
    epsilon = _losses(delta, leverage, scaled)
    return PerInstanceReport(epsilon, leverage, residual, scaled, fit.theta, delta)


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
        times = np.exp(min(self.epsilon, 700.0))
        return (
            "When this record joins or leaves, the chance of any event changes by at most\n"
            f"a factor {times:.3g} (epsilon {self.epsilon:.3g}) plus {self.delta:g}.\n"
            f"Its row: leverage {self.leverage:.3g}, {ratio:.3g} times the median here.\n"
            f"Its label: {self.scaled_residual:.3g} / sqrt(gamma) from the others' prediction.\n"
            f"With that label instead, epsilon would be {self.floor:.3g}.\n"
            "This depends on the data: it is not a promise, and not for publication."
        )


def explain(
    record: int, X: ArrayLike, y: ArrayLike, lam: float, gamma: float, delta: float
) -> Explanation:
    """Explain what one posterior sample would reveal about one record.

    The ``str`` of the result is a paragraph. Chapter *per_instance/ops*.

    Parameters
    ----------
    record : int
        A row number of X.
    X, y, lam, gamma, delta
        As in `per_instance_epsilon`.
    """
    report = per_instance_epsilon(X, y, lam, gamma, delta)
    at = check.count(record, "record", minimum=0)
    n = len(report.epsilon)
    if not at < n:
        raise ValueError(f"record must be a row number below {n}; got {at}")
    leverage = float(report.leverage[at])
    return Explanation(
        epsilon=float(report.epsilon[at]),
        leverage=leverage,
        scaled_residual=float(report.scaled_residual[at]),
        floor=float(ops_epsilon(delta, leverage, 0.0)) if np.isfinite(leverage) else np.inf,
        typical=float(np.median(report.leverage)),
        delta=report.delta,
    )


@dataclass(frozen=True)
class StreamReport:
    """Losses of people who never were in memory together. Not a promise: it depends on the data."""

    n: int  #: number of people
    theta: Floats  #: shape (d,), the fit to everybody, not private
    mean: float  #: mean epsilon; infinite if anybody's is
    largest: Floats  #: the largest losses, falling
    rows: Counts  #: whose they are, counted from 0 through the blocks
    delta: float  #: the failure probability asked for
    counts: Counts  #: shape (k + 1,), people up to the first of k edges, between two, above them
    edges: Floats  #: shape (k,), edges of the histogram in nats, in steps of 1.2 percent

    def quantile(self, share: float) -> float:
        """Return a loss that at least this share of the people, above 0 and below 1, do not exceed.

        An edge of the histogram: for losses from 1e-12 to 1e14 at most 1.2 percent too large.
        """
        share = check.delta(share, "share")
        at = int(np.searchsorted(np.cumsum(self.counts), share * self.n))
        return float(np.append(self.edges, np.inf)[at])


def stream_per_instance(
    blocks: Any,
    lam: float,
    gamma: float,
    delta: float,
    *,
    top: int = 10,
    on_block: Callable[[int, Floats], Any] | None = None,
) -> StreamReport:
    """Exact loss of everybody in data that come in blocks, with the memory of one block.

    Statement ``prop-one-factorization`` (ours), chapter *per_instance/ops*. The few people of
    leverage near 1 lose digits here: above 1 - 1e-8 their loss counts as infinite.

    Parameters
    ----------
    blocks : sequence of (X, y), or function of no argument that returns an iterator of them
        Read twice; both times the same people.
    lam, gamma, delta : float
        As in `per_instance_epsilon`.
    top : int, default 10
        How many of the largest losses to keep.
    on_block : callable, optional
        Called as ``on_block(start, epsilon)`` for every block, here and in their order: the number
        of its first row, and the losses in it.

    Examples
    --------
    >>> blocks = [([[1.0]], [0.0]), ([[1.0], [1.0]], [1.0, 0.0])]
    >>> stream_per_instance(blocks, lam=1.0, gamma=1.0, delta=0.01).rows
    array([1, 0, 2])
    """
    lam, gamma, delta = ops_parameters(lam, gamma, delta)
    top = check.count(top, "top")
    if not callable(blocks) and iter(blocks) is blocks:
        raise TypeError(
            "stream_per_instance reads blocks twice, and an iterator can be read once: pass a "
            "list, or a function that returns a new iterator"
        )
    fit = _fit((factor(X, y) for X, y in _designs(blocks)), lam)
    n = 0
    total = 0.0
    counts = np.zeros(len(EDGES) + 1, dtype=np.int64)
    largest = np.zeros(0)
    rows = np.zeros(0, dtype=np.int64)
    for X, y in _designs(blocks):
        leverage, residual = fit.numbers(X, y)
        epsilon = _losses(delta, leverage, np.sqrt(gamma) * np.abs(residual))
        if on_block is not None:
            on_block(n, epsilon)
        total += epsilon.sum()
        counts += np.bincount(np.searchsorted(EDGES, epsilon), minlength=len(counts))
        largest = np.append(largest, epsilon)
        rows = np.append(rows, n + np.arange(len(epsilon)))
        falling = np.argsort(-largest, kind="stable")[:top]
        largest, rows = largest[falling], rows[falling]
        n += len(epsilon)
    if n != fit.n:
        got = f"{fit.n} first, {n} the second time"
        raise ValueError(f"blocks must hold the same people both times; got {got}")
    return StreamReport(n, fit.theta, float(total / n), largest, rows, delta, counts, EDGES)


def _designs(blocks: Any) -> Iterator[tuple[Floats, Floats]]:
    """Yield rows and labels of each block, all of one width."""
    width = 0
    for number, block in enumerate(blocks() if callable(blocks) else blocks):
        X, y = check.design(*block)
        width = width or X.shape[1]
        if X.shape[1] != width:
            raise ValueError(
                f"blocks must have one width; got {width} columns of X first, {X.shape[1]} in "
                f"block {number}"
            )
        yield X, y


class _Fit(NamedTuple):
    """The fit to everybody, from the first pass over the data."""

    root: Floats  #: R with R'R = X'X + lam I, shape (d, d)
    theta: Floats  #: shape (d,)
    n: int  #: number of people

    def numbers(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        """Return leverages against the others and residuals to the fit of the others.

        A participant without whom the design is singular has infinite leverage.
        """
        starts = range(0, len(X), ROWS_IN_CACHE)
        leverage_in = np.concatenate([self._leverage_in(X[k : k + ROWS_IN_CACHE]) for k in starts])
        alone = 1 - leverage_in < ALONE
        rest = np.where(alone, 1.0, 1 - leverage_in)
        leverage = np.where(alone, np.inf, leverage_in / rest)
        return leverage, (y - X @ self.theta) / rest

    def _leverage_in(self, X: Floats) -> Any:
        """Return leverages against everybody, themselves included, at most 1."""
        half = solve_triangular(self.root, X.T, trans="T", check_finite=False)
        return np.minimum(np.einsum("ij,ij->j", half, half), 1.0)


def _fit(factors: Iterable[tuple[Floats, int]], lam: float) -> _Fit:
    root, labels, n = triangle(factors, lam)
    return _Fit(root, np.asarray(solve_triangular(root, labels, check_finite=False)), n)


def _losses(delta: float, leverage: Floats, scaled: Floats) -> Floats:
    """Return the epsilon of each person at `delta`, infinite where the leverage is."""
    epsilon = np.full(len(scaled), np.inf)
    finite = np.isfinite(leverage)
    epsilon[finite] = ops_epsilon(delta, leverage[finite], scaled[finite])
    return epsilon


def ops_parameters(lam: Any, gamma: Any, delta: Any) -> tuple[float, float, float]:
    lam = check.single(check.nonnegative(lam, "lam"), "lam")
    return lam, check.number(gamma, "gamma"), check.delta(delta)
