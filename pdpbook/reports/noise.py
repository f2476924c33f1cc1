"""The noise of a mechanism, and the people that it is for: functions of public things alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats
from pdpbook._users import Part, Users, part_of
from pdpbook.reports.frames import Frame


class Constant(NamedTuple):
    """What a private mean costs: its mean squared error is `labels` variances and `noise`."""

    labels: float
    noise: float

    def error(self, label_sd: float) -> float:
        """Root mean squared error as a prediction of a newcomer."""
        return float(np.sqrt(self.labels * label_sd**2 + self.noise))


class Crowd(NamedTuple):
    """What is public of the people."""

    d: int  #: columns of X
    epsilon: Any  #: a number, one budget a person or user, or a promise of another kind in words
    n: int | None = None  #: rows; None where their number is not public
    users: Users | None = None
    X: Any = None  #: the table, where it is public
    y: Any = None  #: the labels, where they are
    fitted: bool = False  #: whether the released attributes of the estimator are these people's
    plan: Any = None  #: what was planned for them, if it was, so that `_noise` need not do so anew
    loudness: Any = None  #: after a fit, what `loudness` of the estimator returned

    @property
    def above(self) -> Floats:
        """Budgets of the people who take part: whoever has 0 does not."""
        epsilon = np.atleast_1d(self.epsilon)
        return np.asarray(epsilon[epsilon > 0])

    @property
    def part(self) -> Part:
        return part_of(self.users, self.epsilon)  # type: ignore[arg-type]


@dataclass(frozen=True, eq=False, kw_only=True)
class Known:
    """What noise and its report both say; the meaning of each is in `Report`."""

    people: int | None
    users: int | None
    columns: int
    budget: str
    exact: bool = False
    width: float | None
    note: str = ""


@dataclass(frozen=True, eq=False, kw_only=True)
class Noise(Known):
    """The noise of a mechanism, a function of public things alone; ``report`` reads it.

    Attributes
    ----------
    people, users, columns, budget, exact, width, note
        As in `Report`; where `exact`, `most` is the same as `covariance`.
    """

    frame: Frame  #: rows and units
    #: shape (k, k), second moments on the domain, exact or for evenly spread rows
    covariance: Floats
    #: for all data, a matrix that `covariance` never exceeds, or a bound on its trace, if known
    most: Any
    constant: Constant | None  #: of a private mean, where there are labels to average
    #: of noise whose density falls as exp(-rate * length), one over a length on the domain
    rate: float | None = None
    #: of the noise as the theorem writes it, one over the rate, the scale of Laplace noise or the
    #: standard deviation of Gaussian noise on one number or gradient; None if it follows the data
    #: or there is more than one
    scale: float | None = None

    @classmethod
    def of(
        cls,
        crowd: Crowd,
        frame: Frame,
        covariance: ArrayLike,
        most: Any = None,
        *,
        exact: bool = False,
        rate: float | None = None,
        scale: float | None = None,
        **more: Any,
    ) -> Noise:
        """The noise for a crowd; a number for `covariance` is that times the identity."""
        matrix = np.asarray(covariance, dtype=float)
        if matrix.ndim == 0:
            matrix = matrix * np.eye(frame.order)
        if most is not None and not np.all(np.isfinite(most)):
            most = None
        return cls(
            people=crowd.n,
            users=None if crowd.users is None else len(crowd.users.labels),
            columns=len(frame.step),
            budget=_in_words(crowd.epsilon),
            exact=exact,
            width=frame.width,
            frame=frame,
            covariance=matrix,
            most=matrix if exact else most,
            constant=None if frame.width is None else private_constant(crowd, frame.width),
            rate=rate,
            scale=1 / rate if scale is None and rate is not None else scale,
            **more,
        )


def _in_words(epsilon: Any) -> str:
    if isinstance(epsilon, str):
        return epsilon
    low, high = np.min(epsilon), np.max(epsilon)
    return f"{low:g} nats" if low == high else f"{low:g} to {high:g} nats"


def private_constant(crowd: Crowd, width: float) -> Constant:
    r"""Error of a private mean with the budgets of a crowd, for labels in an interval.

    .. math:: \sigma^2\Bigl(1+\sum_i w_i^2\Bigr) + 2b^2

    with the weights and the noise scale b of `PersonalizedMean`, or where people have several rows
    of `WeightedMean`, for labels of variance :math:`\sigma^2` around a common mean. Where the
    number of people or a budget is not known, both sums are left out: no mean is better.
    """
    if crowd.n is None or isinstance(crowd.epsilon, str):
        return Constant(1.0, 0.0)
    if crowd.users is None:
        epsilon = np.atleast_1d(crowd.epsilon)
        each = crowd.n / len(epsilon)  # people behind one entry
        total = float(epsilon.sum() * each)
        squares = float(np.vdot(epsilon, epsilon) * each) / total**2
        scale = width / total
        return Constant(1 + squares, 2 * scale * scale)  # a power raises where this is inf
    epsilon, sizes = crowd.part.epsilon, crowd.part.users.sizes
    tau = epsilon / epsilon.max()
    price = epsilon.max() ** 2 / 24  # the variance of an even label over 2 (B / epsilon)^2
    order = np.argsort(tau / sizes)  # h is the largest root among those of the first k
    pull = 1 + price * (tau**2 / sizes)[order].cumsum()
    h = float(price * (tau[order].cumsum() / pull).max())
    share = np.minimum(sizes, h * tau)
    weights = share / share.sum()
    scale = width * np.max(weights / epsilon)
    return Constant(1 + float((weights**2 / sizes).sum()), float(2 * scale * scale))


def through(moments: Floats, gain: Callable[[Floats], Floats]) -> Floats:
    """The symmetric matrix with these eigenvectors and `gain` of the eigenvalues."""
    values, vectors = np.linalg.eigh(moments)
    return np.asarray((vectors * gain(np.maximum(values, 0.0))) @ vectors.T)


def powers(ratio: ArrayLike, count: int) -> Floats:
    """Sum of the first `count` powers of each ratio, from 1 on."""
    steps = np.arange(count)
    return np.asarray((np.asarray(ratio, dtype=float)[..., None] ** steps).sum(axis=-1))
