"""Labels that are centered on a private mean, for which everybody pays with one public share."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.noise import L2Laplace
from pdpbook.noise.laws import Size, check_points, check_size

__all__ = ["LabelBounds", "LabelMeanLaw", "label_bounds"]

BEYOND_NEARER_END = 1.5  # half-width of the bounds over the distance from mean to nearer end
LEAST_HALF_WIDTH = 0.05  # of the range: a mean at an end must not leave bounds of width 0


class LabelBounds(NamedTuple):
    """Bounds of labels, symmetric around a released mean; see `label_bounds`."""

    center: float  #: the released mean, cut to the public bounds
    half_width: float  #: from the center to either bound, above 0

    @property
    def pair(self) -> tuple[float, float]:
        """Return the lower and the upper bound."""
        return self.center - self.half_width, self.center + self.half_width

    def to_domain(self, labels: Floats) -> Floats:
        """Return labels with the bounds mapped to [-1, 1], clipped there."""
        return np.clip((labels - self.center) / self.half_width, -1.0, 1.0)


def label_bounds(mean: float, y_bounds: ArrayLike = (-1.0, 1.0)) -> LabelBounds:
    r"""Return the bounds of labels around a released mean.

    With public bounds :math:`l<u` of the labels, and the mean m, the center is
    :math:`c=\max(l,\min(u,m))` and the half-width

    .. math:: h = \min\Bigl\{\frac{u-l}2,\ \max\Bigl(\tfrac32\min(c-l,\ u-c),\
              \frac{u-l}{20}\Bigr)\Bigr\} :

    half as much again as the distance to the nearer end, but never wider than the public bounds,
    nor narrower than a tenth of them.

    Parameters
    ----------
    mean : float
        A released number, in the units of `y_bounds`. It may lie outside of them.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels.

    Notes
    -----
    Statement ``prop-centered-labels`` (ours), chapter *personalized/centered_labels*.

    Examples
    --------
    >>> label_bounds(8.0, (0.0, 60.0)).pair, label_bounds(-1.0, (0.0, 60.0)).pair
    ((-4.0, 20.0), (-3.0, 3.0))
    """
    low, high = check.bounds(y_bounds, "y_bounds")
    center = min(max(check.single(check.finite(mean, "mean"), "mean"), low), high)
    wanted = max(
        BEYOND_NEARER_END * min(center - low, high - center), LEAST_HALF_WIDTH * (high - low)
    )
    return LabelBounds(float(center), float(min(wanted, (high - low) / 2)))


class _LawOfFit(Protocol):
    """What `LabelMeanLaw` asks of the distribution of a fit."""

    @property
    def center(self) -> Floats:
        """The fit without noise, shape (d,)."""

    def logpdf(self, points: ArrayLike) -> Floats:
        """Return the log-density at `points` of shape (..., d), shape (...)."""

    def sample(self, size: Size = None, *, rng: np.random.Generator) -> Any:
        """Draw from the law."""


@dataclass(frozen=True, eq=False)
class LabelMeanLaw:
    r"""Joint law of a private mean of the labels and of a fit between bounds around it.

    On labels in [-1, 1], where person i spends :math:`s_i` on the mean, the release is

    .. math:: m = \sum_i\frac{s_i}{\sum_js_j}\,y_i + \text{Laplace}\Bigl(\frac2{\sum_js_j}\Bigr),
              \qquad \hat\theta \sim p(\,\cdot\mid y^m), \qquad
              y^m_i = \max\Bigl(-1, \min\Bigl(1, \frac{y_i-c}h\Bigr)\Bigr),

    with c and h from `label_bounds` of m, and p the law of a fit to labels in [-1, 1]. The density
    of :math:`(m,\hat\theta)` is a product: that of m, and that of the fit given m. Its points have
    the mean as their first entry, not cut to the bounds. Not private: it holds the labels.
    Statement ``prop-centered-labels`` (ours), chapter *personalized/centered_labels*.
    """

    y: Floats  #: labels on [-1, 1], shape (m,)
    budgets: Floats  #: what each person spends on the mean, shape (m,)
    law_of_fit: Callable[[Floats], _LawOfFit]  #: of labels on [-1, 1], shape (m,)

    def __post_init__(self) -> None:
        try:
            check.rate(float(self.budgets.sum()) / 2)  # refused here, before an account is charged
        except ValueError as error:
            raise ValueError(
                f"label_mean_share is too small for a mean of the labels: {error}"
            ) from None

    @cached_property
    def mean(self) -> L2Laplace:
        """Law of the mean: a person moves the weighted one by at most twice their weight."""
        total = float(self.budgets.sum())
        return L2Laplace(np.array([self.budgets @ self.y / total]), total / 2)

    def fit_around(self, mean: float) -> _LawOfFit:
        """Return the law of the fit once this mean has been released."""
        return self.law_of_fit(label_bounds(mean).to_domain(self.y))

    @property
    def center(self) -> Floats:
        """The mean without noise, and the fit without noise if that mean were released.

        Shape (1 + d,); audits set out from here.
        """
        mean = self.mean.center
        return np.concatenate([mean, self.fit_around(float(mean[0])).center])

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., 1 + d), the mean first; returns shape (...)."""
        z = check_points(points, len(self.center), ", the mean first")
        of_mean = self.mean.logpdf(z[..., :1])
        of_fit = np.empty(z.shape[:-1])
        for at in np.ndindex(of_fit.shape):
            of_fit[at] = self.fit_around(float(z[at][0])).logpdf(z[at][1:])
        return np.asarray(of_mean + of_fit)[()]

    def sample(self, size: Size = None, *, rng: np.random.Generator) -> Floats:
        """Draw the mean, then the fit: shape (1 + d,), or one more axis or several in front.

        Raises RuntimeError if the fit cannot be computed. The mean was drawn before, and whether
        there is an error depends on it: the budgets are spent.
        """
        rng = check.rng(rng)
        shape = check_size(size)
        if not shape:
            return self._draw(rng)
        points = np.empty((*shape, len(self.center)))
        for at in np.ndindex(shape):
            points[at] = self._draw(rng)
        return points

    def _draw(self, rng: np.random.Generator) -> Floats:
        mean = self.mean.sample(rng=rng)
        try:
            fit = self.fit_around(float(mean[0])).sample(rng=rng)
        except (RuntimeError, ValueError, ArithmeticError) as error:
            raise RuntimeError(
                f"the fit failed after the mean of the labels was drawn, so the budgets are spent, "
                f"although nothing is released: {error}"
            ) from error
        return np.concatenate([mean, fit])
