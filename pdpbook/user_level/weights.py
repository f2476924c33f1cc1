"""How much of a mean each user may be: weights that trade noise against what their rows tell.

Nothing here looks at labels: sizes, budgets and the trade-off are public.
"""

from __future__ import annotations

from bisect import bisect_left
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook.users import places

LARGEST = 2**53  # whole numbers above it are not all floats


@dataclass(frozen=True, eq=False)
class TradeoffWeights:
    """Optimal weights of users; see `tradeoff_weights`. Users keep the order they came in."""

    weights: Floats  #: shape (m,), one a user, summing to 1
    h: float  #: the root of the equation for h, also where it lies below every `size / budget`
    value: float  #: the objective at `weights`; A / n_h up to rounding
    row_weights: Floats  #: shape (m,): the weight of each single row of a user, `weights / sizes`


class SampleLimit(NamedTuple):
    """The best way to keep at most `threshold` rows of every user; see `sample_limit`."""

    threshold: float  #: rows kept of a user who has more; whole if asked for
    value: float  #: its objective, in the units of `TradeoffWeights.value`
    ratio: float  #: `value` over that of the optimal weights, at least 1


def tradeoff_weights(
    sizes: ArrayLike, tradeoff: float, budgets: ArrayLike | None = None
) -> TradeoffWeights:
    r"""Weights of users that cost least: noise for the largest, variance for the uneven.

    With :math:`A` for `tradeoff` and :math:`\tau` for `budgets`, the unique minimizer of

    .. math:: \Bigl(\max_l\frac{w_l}{\tau_l}\Bigr)^2 + A\sum_l\frac{w_l^2}{s_l}
              \quad\text{over}\quad w\ge0,\ \sum_lw_l=1 ,

    which is :math:`w_l=\min(s_l,h\tau_l)/n_h`, :math:`n_h=\sum_l\min(s_l,h\tau_l)`, with the only
    root :math:`h` of :math:`h=A\sum_l\tau_l(1-h\tau_l/s_l)_+`. Time O(m log m), no iteration,
    relative error near machine precision. Statements ``lem-wa-optimum``, ``prop-tradeoff-weights``
    and ``thm-personal-users``, chapter *user_level/mean*.

    Parameters
    ----------
    sizes : array_like of int, shape (m,), rows of each user, at least 1
    tradeoff : float
        :math:`A\ge0`: the price of variance in units of noise. For a mean it is the variance of a
        label over :math:`2(B/\varepsilon)^2`. 0 is the limit of pure noise: ``weights``
        proportional to `budgets` and ``h = 0``. ``inf`` is the plain mean over rows, with ``h`` the
        largest :math:`s_l/\tau_l` and ``value = inf``.
    budgets : float or array_like, shape (m,), optional
        :math:`\tau_l` above 0, how much each user may weigh beside others; None is 1 each.

    Examples
    --------
    >>> best = tradeoff_weights([1, 2, 10], tradeoff=1.0)
    >>> round(best.h, 6), best.weights.round(3)
    (1.25, array([0.286, 0.357, 0.357]))
    """
    s, A, tau = _check(sizes, tradeoff, budgets)
    ratio = s / tau
    order = np.argsort(-ratio)
    falling, pull = tau[order], (tau / ratio)[order]
    price = np.inf if A == 0 else 1 / A
    # h_k solves the equation with the k largest ratios alone; every h_k is at most the root
    k = int((falling.cumsum() / (price + pull.cumsum())).argmax()) + 1
    # the same fraction once more, its sums free of running errors
    h = float(falling[:k].sum() / (price + pull[:k].sum()))
    share = tau if h <= ratio[order[-1]] else np.minimum(s, h * tau)
    w = share / share.sum()
    return TradeoffWeights(w, h, _objective(w, s, A, tau), w / s)


def tradeoff_value(
    weights: ArrayLike, sizes: ArrayLike, tradeoff: float, budgets: ArrayLike | None = None
) -> float:
    r"""Objective of `tradeoff_weights` at any weights of users.

    .. math:: \Bigl(\max_l\frac{w_l}{\tau_l}\Bigr)^2 + A\sum_l\frac{w_l^2}{s_l}

    Times :math:`2(B/\varepsilon)^2` it is the variance of a private mean. Statement
    ``lem-wa-variance``, chapter *user_level/mean*.

    Parameters
    ----------
    weights : array_like, shape (m,)
    sizes, tradeoff, budgets
        As in `tradeoff_weights`.
    """
    check.refuse_other_index(weights, "weights", sizes=sizes)
    s, A, tau = _check(sizes, tradeoff, budgets)
    w = check.shape(check.finite(weights, "weights"), "weights", s.shape, "one a user")
    return _objective(w, s, A, tau)


def sample_limit_value(thresholds: ArrayLike, sizes: ArrayLike, tradeoff: float) -> Floats:
    r"""Objective of keeping at most h rows of every user and averaging what is kept.

    .. math:: \frac{\min(h,s_{\max})^2}{n_h^2} + \frac A{n_h}, \qquad n_h=\sum_l\min(s_l,h)

    It is in the units of `TradeoffWeights.value`, also for fractions of rows, which cannot be kept.
    O((m + k) log m) for k thresholds. Statement ``claim-sample-limit``, chapter
    *user_level/mean_limits*. Elementwise, in the shape of `thresholds`.

    Parameters
    ----------
    thresholds : array_like of any shape, above 0
    sizes, tradeoff
        As in `tradeoff_weights`.
    """
    s, A, _ = _check(sizes, tradeoff, None)
    h = np.asarray(check.positive(thresholds, "thresholds"))
    s = np.sort(s)
    at = np.searchsorted(s, h, side="right")
    kept = np.concatenate([[0.0], np.cumsum(s)])[at] + (len(s) - at) * h
    return np.asarray((np.minimum(h, s[-1]) / kept) ** 2 + A / kept)


def sample_limit(sizes: ArrayLike, tradeoff: float, *, integer: bool = True) -> SampleLimit:
    r"""Best threshold of sample limiting, the smaller of two, exactly, by the sign of a derivative.

    The objective of `sample_limit_value` falls, then rises; the sign of its slope is computed in
    whole numbers and fractions, so long plateaus mislead nobody. The ratio is at most 1.56493, and
    at most 25/16 for real thresholds. Time O(m log m). Statements ``claim-sample-limit`` and
    ``thm-gap-upper``, chapter *user_level/mean_limits*.

    Parameters
    ----------
    sizes, tradeoff
        As in `tradeoff_weights`; a trade-off of ``inf`` keeps everything.
    integer : bool, default True
        Whether the threshold must be whole, as it must when rows are kept or not; otherwise the
        minimum over all real thresholds between the smallest and the largest size.

    Examples
    --------
    >>> sample_limit([1, 2, 10], tradeoff=1.0).threshold
    2.0
    """
    s, A, _ = _check(sizes, tradeoff, None)
    best = tradeoff_weights(s, A).value
    if np.isinf(A):
        return SampleLimit(float(s.max()), np.inf, 1.0)
    whole = np.sort(s).astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(whole)])
    price = Fraction(A)

    def parts(h: int) -> tuple[int, int]:
        at = int(np.searchsorted(whole, h, side="right"))
        return int(sums[at]), len(whole) - at

    def rises(h: int) -> bool:
        p, r = parts(h)
        return 2 * h * p - price * r * (p + r * h) >= 0

    between = range(int(whole[0]), int(whole[-1]))  # at its end nobody loses a row
    low = between.start + bisect_left(between, True, key=rises)
    threshold: int | Fraction = low  # the first whole number at which the objective rises
    if low > whole[0]:
        p, r = parts(low - 1)  # the sign changes between low - 1 and low, where p and r stay
        if not integer and 2 * p > price * r**2:
            threshold = min(Fraction(low), price * r * p / (2 * p - price * r**2))
        elif integer:
            kept = {h: p + r * h for h in (low - 1, low)}
            threshold = min(kept, key=lambda h: Fraction(h, kept[h]) ** 2 + price / kept[h])
    value = float(sample_limit_value(float(threshold), s, A))
    # `best` is a lower bound; rounding alone goes under it
    return SampleLimit(float(threshold), value, max(value / best, 1.0))


def limit_rows(codes: ArrayLike, threshold: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Rows to keep, at random: of every user ``min(size, threshold)``, chosen without the labels.

    Statement ``claim-sample-limit``, chapter *user_level/mean_limits*. Returns bool, shape (n,).

    Parameters
    ----------
    codes : array_like of int, shape (n,), the user of each row
    threshold : int, at least 1
    rng : Generator, which needs no secrecy
    """
    users = np.asarray(codes)
    most = check.count(threshold, "threshold")
    return places(users, check.rng(rng).random(len(users))) < most


def _check(
    sizes: ArrayLike, tradeoff: float, budgets: ArrayLike | None
) -> tuple[Floats, float, Floats]:
    check.refuse_other_index(budgets, "budgets", sizes=sizes)
    s = check.vector(check.positive(sizes, "sizes"), "sizes", "m")
    whole = s == np.floor(s)
    if not (whole.all() and s.max() <= LARGEST):
        at = int(np.flatnonzero(~whole | (s > LARGEST))[0])
        raise ValueError(f"sizes must be whole numbers up to 2**53; got sizes[{at}] = {s[at]:g}")
    endless = isinstance(tradeoff, float) and tradeoff == np.inf
    A = np.inf if endless else check.single(check.nonnegative(tradeoff, "tradeoff"), "tradeoff")
    tau = check.positive(np.ones(len(s)) if budgets is None else budgets, "budgets")
    return s, A, check.budgets(tau, len(s), "budgets", unit="user")


def _objective(w: Floats, s: Floats, A: float, tau: Floats) -> float:
    return float((w / tau).max() ** 2 + A * (w @ (w / s)))
