"""Weights of users in a mean: large ones need noise, uneven ones raise the variance.

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

LARGEST_SIZE = 2**53  # whole numbers above it are not all floats


@dataclass(frozen=True, eq=False)
class TradeoffWeights:
    """Optimal weights of users; see `tradeoff_weights`. Users keep the order they came in."""

    weights: Floats  #: shape (m,), one a user, summing to 1
    h: float  #: the root of the equation for h, also where it lies below every `size / budget`
    value: float  #: the objective at `weights`; A / n_h up to rounding
    row_weights: Floats  #: shape (m,): the weight of each single row of a user, `weights / sizes`


class SampleLimit(NamedTuple):
    """The best limit on the rows of every user; see `sample_limit`."""

    threshold: float  #: rows that count of a user who has more; a whole number if asked for
    value: float  #: its objective, in the units of `TradeoffWeights.value`
    ratio: float  #: `value` over that of the optimal weights, at least 1


def tradeoff_weights(
    sizes: ArrayLike, tradeoff: float, budgets: ArrayLike | None = None
) -> TradeoffWeights:
    r"""Weights of users for which noise and variance of a mean add up to the least.

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
    tau_sorted = tau[order]
    tau_over_ratio = (tau / ratio)[order]
    inverse_A = np.inf if A == 0 else 1 / A

    # With the users of the k largest ratios alone the root of the equation for h is
    # h_k = (sum of tau) / (1/A + sum of tau / ratio). Every h_k is at most the root of all.
    h_k = tau_sorted.cumsum() / (inverse_A + tau_over_ratio.cumsum())
    k = int(h_k.argmax()) + 1
    # the same fraction once more, as sums are more exact than cumulative sums
    h = float(tau_sorted[:k].sum() / (inverse_A + tau_over_ratio[:k].sum()))
    smallest_ratio = ratio[order[-1]]
    relative_weights = tau if h <= smallest_ratio else np.minimum(s, h * tau)
    w = relative_weights / relative_weights.sum()
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
    r"""Objective of the plain mean over at most h rows of every user.

    .. math:: \frac{\min(h,s_{\max})^2}{n_h^2} + \frac A{n_h}, \qquad n_h=\sum_l\min(s_l,h)

    It is in the units of `TradeoffWeights.value`, also at fractions of rows, which only the formula
    knows. O((m + k) log m) for k thresholds. Statement ``claim-sample-limit``, chapter
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
    users_within = np.searchsorted(s, h, side="right")
    rows_of_users_within = np.concatenate([[0.0], np.cumsum(s)])[users_within]
    n_h = rows_of_users_within + (len(s) - users_within) * h
    return np.asarray((np.minimum(h, s[-1]) / n_h) ** 2 + A / n_h)


def sample_limit(sizes: ArrayLike, tradeoff: float, *, integer: bool = True) -> SampleLimit:
    r"""Best limit on the rows of every user: the threshold at the minimum of `sample_limit_value`.

    The objective falls, then rises. Where it begins to rise is found by the sign of its derivative,
    in whole numbers and fractions, so that rounding cannot end the search on a flat stretch. With
    p the rows of users within the limit h, and r the number of the others, :math:`n_h=p+rh`, and
    the derivative is at least 0 if

    .. math:: 2hp \ge A\,r\,(p+rh) .

    The ratio is at most 1.56493, and at most 25/16 for real thresholds. Time O(m log m). Statements
    ``claim-sample-limit`` and ``thm-gap-upper``, chapter *user_level/mean_limits*.

    Parameters
    ----------
    sizes, tradeoff
        As in `tradeoff_weights`; a trade-off of ``inf`` keeps everything.
    integer : bool, default True
        Whether the threshold must be a whole number, as it must to choose rows; otherwise the
        minimum is over all real numbers between the smallest and the largest size.

    Examples
    --------
    >>> sample_limit([1, 2, 10], tradeoff=1.0).threshold
    2.0
    """
    s, A, _ = _check(sizes, tradeoff, None)
    optimal_value = tradeoff_weights(s, A).value
    if np.isinf(A):
        return SampleLimit(float(s.max()), np.inf, 1.0)
    sorted_sizes = np.sort(s).astype(np.int64)
    sums = np.concatenate([[0], np.cumsum(sorted_sizes)])
    A_exact = Fraction(A)

    def p_and_r(h: int) -> tuple[int, int]:
        users_within = int(np.searchsorted(sorted_sizes, h, side="right"))
        return int(sums[users_within]), len(sorted_sizes) - users_within

    def rises(h: int) -> bool:
        p, r = p_and_r(h)
        return 2 * h * p - A_exact * r * (p + r * h) >= 0

    def objective(h: int, p: int, r: int) -> Fraction:
        n_h = p + r * h
        return Fraction(h, n_h) ** 2 + A_exact / n_h

    smallest, largest = int(sorted_sizes[0]), int(sorted_sizes[-1])
    first_rising = smallest + bisect_left(range(smallest, largest), True, key=rises)
    threshold: int | Fraction = first_rising
    if first_rising > smallest:  # the minimum is from the number before on, where p and r stay
        before = first_rising - 1
        p, r = p_and_r(before)
        if integer:
            threshold = min(before, first_rising, key=lambda h: objective(h, p, r))
        elif 2 * p > A_exact * r**2:
            root = A_exact * r * p / (2 * p - A_exact * r**2)
            threshold = min(Fraction(first_rising), root)
    value = float(sample_limit_value(float(threshold), s, A))
    # the optimal value is a lower bound, and rounding alone goes below it
    return SampleLimit(float(threshold), value, max(value / optimal_value, 1.0))


def limit_rows(codes: ArrayLike, threshold: int, *, rng: np.random.Generator) -> NDArray[np.bool_]:
    """Choose ``min(size, threshold)`` rows of every user, at random and without the labels.

    Statement ``claim-sample-limit``, chapter *user_level/mean_limits*. Returns bool, shape
    (n,): whether a row is chosen.

    Parameters
    ----------
    codes : array_like of int, shape (n,), the user of each row
    threshold : int, at least 1
    rng : Generator, which needs no secrecy
    """
    users = np.asarray(codes)
    limit = check.count(threshold, "threshold")
    random_order = check.rng(rng).random(len(users))
    return places(users, random_order) < limit


def _check(
    sizes: ArrayLike, tradeoff: float, budgets: ArrayLike | None
) -> tuple[Floats, float, Floats]:
    check.refuse_other_index(budgets, "budgets", sizes=sizes)
    s = check.vector(check.positive(sizes, "sizes"), "sizes", "m")
    is_whole = s == np.floor(s)
    if not (is_whole.all() and s.max() <= LARGEST_SIZE):
        at = int(np.flatnonzero(~is_whole | (s > LARGEST_SIZE))[0])
        raise ValueError(f"sizes must be whole numbers up to 2**53; got sizes[{at}] = {s[at]:g}")
    if isinstance(tradeoff, float) and tradeoff == np.inf:
        A = np.inf
    else:
        A = check.single(check.nonnegative(tradeoff, "tradeoff"), "tradeoff")
    tau = check.positive(np.ones(len(s)) if budgets is None else budgets, "budgets")
    return s, A, check.budgets(tau, len(s), "budgets", unit="user")


def _objective(w: Floats, s: Floats, A: float, tau: Floats) -> float:
    """Return the objective of `tradeoff_weights`."""
    return float((w / tau).max() ** 2 + A * (w @ (w / s)))
