"""Laws of a released number, known exactly: what audits compare and plans are made with."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp

from pdpbook import Floats, check
from pdpbook.noise.laws import check_size, keep


@dataclass(frozen=True, eq=False)
class QuantileLaw:
    r"""Law with a density constant between neighboring `edges`, shape (k + 1,): data, not private.

    .. math:: f(z)=f_k\quad\text{for}\ e_k\le z<e_{k+1}

    For audits and planning. Statement ``prop-quantile-privacy``, chapter *user_level/quantiles*.

    Examples
    --------
    >>> law = QuantileLaw([0.0, 1.0, 3.0], [0.0, 0.0])
    >>> round(law.probability(0.0, 1.5), 6), round(law.expected_error(0.0), 6)
    (0.5, 1.5)
    """

    edges: Floats  #: shape (k + 1,), strictly increasing; the last piece includes its right end
    log_density: Floats  #: shape (k,), up to a common constant; the law always has mass 1

    def __post_init__(self) -> None:
        edges = check_grid(self.edges, "edges")
        density = np.array(check.finite(self.log_density, "log_density"))
        if len(edges) < 2 or density.shape != (len(edges) - 1,):
            raise ValueError(
                "edges must have shape (k + 1,) and log_density shape (k,), k at least 1; "
                f"got {edges.shape} and {density.shape}"
            )
        density -= logsumexp(density + np.log(np.diff(edges)))
        keep(self, edges=edges, log_density=density)

    @property
    def masses(self) -> Floats:
        """Probability of every piece, shape (k,)."""
        return np.asarray(np.exp(self.log_density + np.log(np.diff(self.edges))))

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points`, of their shape; minus infinity outside the edges."""
        z = np.asarray(check.finite(points, "points"))
        at = np.searchsorted(self.edges[1:-1], z, side="right")
        inside = (z >= self.edges[0]) & (z <= self.edges[-1])
        return np.asarray(np.where(inside, self.log_density[at], -np.inf))[()]

    def cdf(self, points: ArrayLike) -> Floats:
        """Probability of a release at most `points`, of their shape."""
        z = np.asarray(check.finite(points, "points"))
        total = np.concatenate([[0.0], np.cumsum(self.masses)])
        return np.asarray(np.interp(z, self.edges, total / total[-1]))[()]

    def probability(self, low: float, high: float) -> float:
        """Probability of a release in [low, high], also when it is tiny."""
        ends = np.clip(self.edges, low, max(low, high))
        return float(np.sum(np.exp(self.log_density) * np.diff(ends)))

    def expected_error(self, point: float) -> float:
        """Mean distance of a release from `point`."""
        gap = self.edges - check.single(check.finite(point, "point"), "point")
        return float(np.sum(np.exp(self.log_density) * np.diff(gap * np.abs(gap) / 2)))

    def largest_loss(self, other: QuantileLaw) -> float:
        """Largest absolute log-ratio of the two densities: the pure privacy loss of the pair."""
        if self.edges[0] != other.edges[0] or self.edges[-1] != other.edges[-1]:
            raise ValueError("other must live between the same bounds")
        edges = np.union1d(self.edges, other.edges)[:-1]
        return float(np.abs(self.logpdf(edges) - other.logpdf(edges)).max())

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Any:
        """Draw a float, or an array of shape (size,)."""
        many = check_size(size) or None
        at = check.rng(rng).choice(len(self.edges) - 1, many, p=self.masses)
        left, right = self.edges[at], self.edges[at + 1]
        draws = left + (right - left) * rng.random(many)
        return draws if many else float(draws)


@dataclass(frozen=True, eq=False)
class GridLaw:
    """Law on public `points`, shape (k,), increasing; `log_probability` likewise. Not private.

    Statement ``prop-quantile-privacy``, chapter *user_level/quantiles*.
    """

    points: Floats  #: shape (k,), strictly increasing
    log_probability: Floats  #: shape (k,), up to a common constant, which is subtracted

    def __post_init__(self) -> None:
        points = check_grid(self.points, "points")
        log_p = check.finite(self.log_probability, "log_probability")
        log_p = check.shape(log_p, "log_probability", points.shape, "one for each of points")
        log_p = log_p - logsumexp(log_p)
        keep(self, points=points, log_probability=log_p)

    def probability(self, low: float, high: float) -> float:
        """Probability of a release in [low, high]."""
        inside = (self.points >= low) & (self.points <= high)
        return float(np.exp(self.log_probability[inside]).sum())

    def expected_error(self, point: float) -> float:
        """Mean distance of a release from `point`."""
        return float(np.exp(self.log_probability) @ np.abs(self.points - point))

    def largest_loss(self, other: GridLaw) -> float:
        """Largest absolute log-ratio of the two laws: the pure privacy loss of the pair."""
        if not np.array_equal(self.points, other.points):
            raise ValueError("other must live on the same points")
        return float(np.abs(self.log_probability - other.log_probability).max())

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Any:
        """Draw a float, or an array of shape (size,)."""
        many, p = check_size(size) or None, np.exp(self.log_probability)
        draws = self.points[check.rng(rng).choice(len(p), many, p=p / p.sum())]
        return draws if many else float(draws)


def check_grid(grid: ArrayLike, name: str) -> Floats:
    points = check.vector(check.finite(grid, name), name, "k")
    if not np.all(np.diff(points) > 0):
        at = int(np.flatnonzero(~(np.diff(points) > 0))[0])
        raise ValueError(
            f"{name} must increase; got {name}[{at}] = {check.shown(points[at])}, "
            f"then {check.shown(points[at + 1])}"
        )
    return points
