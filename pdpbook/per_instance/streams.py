"""Privacy loss of people who never are in memory together: two passes over blocks of them.

The first pass makes one triangular factor of the design, by QR of the factors of its blocks; the
second has every person's leverage and residual, hence their loss, as in `people`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import solve_triangular

from pdpbook.blocks import Rows, several_passes
from pdpbook.per_instance.ops import ops_epsilon
from pdpbook.per_instance.people import leverages, ops_parameters
from pdpbook.ridge import factor, triangle
from pdpbook.validation import check_count, check_design, check_probability, check_single

__all__ = ["StreamReport", "per_instance_losses", "stream_per_instance"]

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]

ALONE = 1e-8  # 1 - leverage_in below which the design without the person counts as singular
EDGES = np.geomspace(1e-12, 1e14, 26 * 200 + 1)  # of the histogram: steps of 1.2%


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
        """Return a loss that at least this share of the people do not exceed.

        Parameters
        ----------
        share : float
            Above 0 and below 1; 0.5 is the median.

        Returns
        -------
        float
            An edge of the histogram: never below the quantile and at most 1.2 percent above it,
            for losses from 1e-12 to 1e14.
        """
        share = check_single(check_probability(share, "share"), "share")
        at = int(np.searchsorted(np.cumsum(self.counts), share * self.n))
        return float(np.append(self.edges, np.inf)[at])


def stream_per_instance(
    blocks: Any,
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
    blocks : Rows, sequence of (X, y), or function of no argument that returns an iterator of them
        Read twice; both times it must give the same people.
    lam, gamma, delta : float
        As in `per_instance_epsilon`.
    top : int, default 10
        How many of the largest losses to keep.
    each : callable, optional
        Called as ``each(start, epsilon)`` for every block, here and in their order: the number of
        its first row, and the losses in it.

    Returns
    -------
    StreamReport
        Mean, histogram, quantiles and largest losses, with row numbers.

    Raises
    ------
    TypeError, ValueError
        If `blocks` can be read only once, gives blocks of different widths or different people
        the second time; or as `per_instance_epsilon`.

    Notes
    -----
    Statement ``prop-one-factorization`` (ours), chapter *per_instance/ops*. The factor comes from
    QR of each block, so its error does not grow with the square of the condition number. The few
    people of leverage near 1 lose digits here: above 1 - 1e-8 their loss counts as infinite.

    Examples
    --------
    >>> blocks = [([[1.0]], [0.0]), ([[1.0], [1.0]], [1.0, 0.0])]
    >>> report = stream_per_instance(blocks, lam=1.0, gamma=1.0, delta=0.01)
    >>> report.n, report.rows
    (3, array([1, 0, 2]))
    """
    lam, gamma, delta = ops_parameters(lam, gamma, delta)
    top = check_count(top, "top")
    people, fit = _fit(blocks, lam, "stream_per_instance")
    reduce = partial(_reduced, fit, gamma, delta, top, each is not None)
    n, total = 0, 0.0
    largest, rows = np.zeros(0), np.zeros(0, dtype=np.int64)
    counts = np.zeros(len(EDGES) + 1, dtype=np.int64)
    for part in people.each(reduce):
        if each is not None:
            each(n, part.epsilon)
        total += part.total
        counts += part.counts
        largest, rows = np.append(largest, part.largest), np.append(rows, n + part.places)
        order = np.argsort(-largest, kind="stable")[:top]
        largest, rows, n = largest[order], rows[order], n + part.n
    if n != fit.n:
        raise ValueError(
            f"blocks must hold the same people both times; got {fit.n} first, {n} the second time"
        )
    return StreamReport(n, fit.theta, total / n, largest, rows, delta, counts, EDGES)


def per_instance_losses(blocks: Any, lam: float, gamma: float, delta: float) -> Any:
    """Exact loss of everybody in data that come in blocks, one number a row.

    Parameters
    ----------
    blocks, lam, gamma, delta
        As in `stream_per_instance`.

    Returns
    -------
    ndarray, Dask array or iterator of ndarray
        Losses in the kind of the data; a Dask array is computed when it is asked for, and so are
        the arrays of blocks.

    Raises
    ------
    TypeError, ValueError
        As `stream_per_instance`.

    Notes
    -----
    Statement ``prop-one-factorization`` (ours), chapter *per_instance/ops*.

    Examples
    --------
    >>> rows = Rows(np.ones((2, 1)), np.zeros(2))
    >>> [round(float(e), 3) for e in per_instance_losses(rows, lam=1.0, gamma=1.0, delta=0.01)]
    [0.936, 0.936]
    """
    lam, gamma, delta = ops_parameters(lam, gamma, delta)
    people, fit = _fit(blocks, lam, "per_instance_losses")
    return people.map(partial(_losses, fit, gamma, delta))


class _Fit(NamedTuple):
    """What the first pass leaves: R, the fit to everybody, and how many they are."""

    root: Floats
    theta: Floats
    n: int


class _Part(NamedTuple):
    """What the second pass keeps of one block."""

    n: int
    total: float
    largest: Floats
    places: Counts
    counts: Counts
    epsilon: Floats  # of everybody, or empty where nobody asks for them


def _fit(blocks: Any, lam: float, reader: str) -> tuple[Rows, _Fit]:
    people = several_passes(blocks, reader, "X", "y")
    n = 0

    def counted() -> Any:
        nonlocal n
        for part in people.each(_factor):
            n += part[1]
            yield part

    root, labels = triangle(counted(), lam)
    theta = np.asarray(solve_triangular(root, labels, check_finite=False))
    return people, _Fit(root, theta, n)


def _factor(X: Any, y: Any) -> tuple[Floats, int]:
    return factor(*check_design(X, y))


def _losses(fit: _Fit, gamma: float, delta: float, X: Any, y: Any) -> Floats:
    X, y = check_design(X, y)
    inside = np.minimum(leverages(fit.root, X), 1.0)
    alone = 1 - inside < ALONE
    rest = np.where(alone, 1.0, 1 - inside)
    scaled = np.sqrt(gamma) * np.abs(y - X @ fit.theta) / rest
    epsilon = np.asarray(ops_epsilon(delta, np.where(alone, 0.0, inside / rest), scaled))
    epsilon[alone] = np.inf
    return epsilon


def _reduced(fit: _Fit, gamma: float, delta: float, top: int, keep: bool, X: Any, y: Any) -> _Part:
    epsilon = _losses(fit, gamma, delta, X, y)
    places = np.argsort(-epsilon, kind="stable")[:top]
    counts = np.bincount(np.searchsorted(EDGES, epsilon), minlength=len(EDGES) + 1)
    kept = epsilon if keep else np.zeros(0)
    return _Part(len(epsilon), float(epsilon.sum()), epsilon[places], places, counts, kept)
