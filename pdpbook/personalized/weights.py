"""Weights that turn budgets into influence: in proportion, capped, or all that a bound allows.

Budgets `epsilon` are finite and at least 0, above 0 for somebody; weights sum to 1.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from pdpbook import Floats, check
from pdpbook.sensitivity import capped_sensitivity

ROUNDING = 1e-12  # thresholds whose rates differ by less are ties
LIGHT, STEPS = 1e-8, 301  # of a table of weights; below the first one the bound is linear
NEWTON = 6  # steps from the table to the root


def pdp_weights(epsilon: ArrayLike) -> Floats:
    r"""Weights that spend every budget exactly: proportional to the budgets.

    .. math:: w_i = \varepsilon_i \Big/ \sum_j \varepsilon_j .

    Statement ``thm-pdp-op`` (Acharya et al. 2024, Theorem 2.1), chapter *personalized/pdp_op*.
    Returns an array of shape (n,).

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats, at least 0
    """
    share = _shares(epsilon)
    share /= share.sum()
    return share


def capped_weights(epsilon: ArrayLike, ratio: float) -> Floats:
    r"""Weights with the best trade between the noise of privacy and the noise of the labels.

    Privacy asks only that nobody's weight exceeds their budget times a common unit u, the size of
    the noise. Capping the largest weights evens them out, at the price of a larger u:

    .. math:: &\min_{u,\,w}\ A u^2 + V\|w\|^2 \quad\text{subject to}\quad
              0 \le w_i \le \varepsilon_i u, \quad \sum_i w_i = 1 ,\\
              &\text{solved by}\quad w_i \propto \min(\varepsilon_i, m), \qquad
              \sum_{\varepsilon_i < m} \varepsilon_i\,(m - \varepsilon_i) = A/V = \text{ratio} .

    Noise calibrated to ``max(weights / epsilon)`` keeps every budget, those of capped people with
    something to spare. Statement ``prop-weight-cap`` (after Chaudhuri and Courtade 2023), chapter
    *personalized/steps*. Returns an array of shape (n,).

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats, at least 0
    ratio : float, at least 0, in squared nats
        Cost of privacy noise over that of label noise, from 0, equal weights, to `pdp_weights` for
        any large one. It must be public: read from the data, it voids the promise.

    Examples
    --------
    >>> capped_weights([1.0, 1.0, 4.0], ratio=2.0)  # m = 2
    array([0.25, 0.25, 0.5 ])
    """
    share = _shares(epsilon)
    largest = float(np.max(np.asarray(epsilon, dtype=float)))
    ratio = check.single(check.nonnegative(ratio, "ratio"), "ratio")
    target = ratio / largest / largest  # the equation for the shares; infinite: no cap
    ordered = np.sort(share)
    below = np.cumsum(ordered)  # slope of the left side beyond each budget
    left = np.concatenate([[0.0], np.cumsum(np.diff(ordered) * below[:-1])])
    k = int(np.searchsorted(left, target, side="right")) - 1
    cap = ordered[k] + (target - left[k]) / below[k] if k < len(left) - 1 else 1.0
    weights = np.minimum(share, cap)
    return np.asarray(weights / weights.sum())


def threshold_budgets(epsilon: ArrayLike) -> Floats:
    r"""Budgets of the best release that knows one privacy level only.

    Whoever asks for more privacy than a threshold is left out, and everybody else is given it:

    .. math:: \tau\,[\varepsilon_i\ge\tau], \qquad \tau\in\arg\max_t\,t\,\#\{j:\varepsilon_j\ge t\}.

    Their sum is the largest of one level for all, so output perturbation needs the least noise; of
    thresholds that tie, the smallest is taken. Nobody is above their own budget, so any mechanism
    with personal budgets keeps every promise with these. Statement ``prop-best-threshold`` (after
    Cyffers and Ziani 2026), chapter *personalized/pdp_op*. Returns an array of shape (n,).

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats, at least 0
        Public: where budgets are not, neither is the threshold. Under add-remove neighbors fix a
        threshold beforehand instead: this one moves with whoever comes or leaves.

    Examples
    --------
    >>> threshold_budgets([0.1, 0.2, 0.2, 0.5])
    array([0. , 0.2, 0.2, 0.2])

    One call releases the baseline, and whoever is left out is promised 0:

    >>> from pdpbook.personalized import PDPRidge
    >>> X, y, epsilon = [[0.1], [0.4], [0.2], [0.9]], [0, 1, 0, 1], [0.1, 0.2, 0.2, 0.5]
    >>> PDPRidge().fit(X, y, epsilon=threshold_budgets(epsilon)).guarantee_.epsilon
    array([0. , 0.2, 0.2, 0.2])
    """
    share = _shares(epsilon)
    budgets = np.array(epsilon, dtype=float)
    order = np.argsort(share)[::-1]
    total = share[order] * np.arange(1, len(share) + 1)
    last = np.flatnonzero(total >= total.max() * (1 - ROUNDING))[-1]
    threshold = budgets[order[last]]
    return np.where(budgets >= threshold, threshold, 0.0)


def _shares(epsilon: ArrayLike) -> Floats:
    """Budgets over the largest one: the sum of huge budgets would overflow."""
    budgets = check.privacy_parameters(epsilon, None, "epsilon")
    if np.ndim(budgets) != 1:
        raise ValueError("epsilon must have shape (n,), one budget a person; got a single number")
    return np.asarray(budgets / budgets.max())


def sensitivity_weights(
    epsilon: ArrayLike, lam: float, d: int, row_norm: float | None = None
) -> Floats:
    r"""Weights with the largest noise rate that the capped sensitivity allows.

    .. math:: \eta\,\Delta(w_i) = \varepsilon_i, \qquad \sum_i w_i = 1,

    with :math:`\Delta` from `capped_sensitivity`. Where the cap :math:`2B_\star` is reached, more
    weight costs nothing: if :math:`\eta = \max_i\varepsilon_i/(2B_\star)` leaves some of the total
    weight, those with the largest budget share it. A rate of
    ``min(epsilon / capped_sensitivity(weights, lam, d))`` keeps every budget, and spends it all up
    to rounding. For many people they are those of `pdp_weights`; `capped_weights` is something
    else, a cap on budgets that trades noise for label noise. Statement ``prop-sensitivity-weights``
    (ours), chapter *personalized/pdp_op_data*. Returns an array of shape (n,).

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats, at least 0
    lam, d, row_norm
        As in `capped_sensitivity`.

    Examples
    --------
    >>> sensitivity_weights([0.1, 0.1, 0.3], lam=1.0, d=12).round(3)
    array([0.036, 0.036, 0.928])
    """
    check.privacy_parameters(epsilon, None, "epsilon")
    share = pdp_weights(epsilon)
    share /= share.max()
    levels, person, count = np.unique(share, return_inverse=True, return_counts=True)
    part = levels > 0
    weights = np.zeros(len(levels))
    weights[part] = _solve(levels[part], count[part], _Bound(lam, d, row_norm))
    return weights[person]


class _Bound:
    """The capped sensitivity as a function of the weight, and its inverse from a table."""

    def __init__(self, lam: float, d: int, row_norm: float | None):
        self.settings = lam, d, row_norm
        light = LIGHT
        while self(light) >= self(1.0) / 2:  # a tiny penalty: the cap is reached before it
            light *= LIGHT
        table = np.geomspace(light, 1.0, STEPS)
        moves = np.maximum.accumulate(self(table))
        self.cap = float(moves[-1])
        last = int(np.argmax(moves >= self.cap))
        low, self.enough = table[last - 1], table[last]  # the least weight at the cap
        for _ in range(7):
            between = np.linspace(low, self.enough, 101)
            k = max(int(np.argmax(self(between) >= self.cap)), 1)
            low, self.enough = between[k - 1], between[k]
        self.log_moves = np.log(np.append(moves[:last], self.cap))
        self.log_weights = np.log(np.append(table[:last], self.enough))

    def __call__(self, weights: ArrayLike) -> Any:
        return capped_sensitivity(weights, *self.settings)

    def inverse(self, moves: Floats) -> Floats:
        """Weights that move the fit so far, from the table; at the cap the least of them."""
        log_moves = np.log(moves)
        found = np.interp(log_moves, self.log_moves, self.log_weights)
        linear = np.minimum(log_moves - self.log_moves[0], 0)  # below the table
        return np.asarray(np.exp(found + linear))

    def slope(self, weights: Floats) -> Floats:
        """Growth of the logarithm of the move per logarithm of the weight."""
        each = np.diff(self.log_moves) / np.diff(self.log_weights)
        return np.asarray(np.interp(np.log(weights), self.log_weights[1:], each))


def _solve(levels: Floats, count: NDArray[np.intp], bound: _Bound) -> Floats:
    """Weights of people with budgets at these levels, in rising order; the last one is 1."""

    def total(log_eta: float) -> float:
        return float(count @ bound.inverse(levels / np.exp(log_eta)))

    low = -np.log(bound.cap)  # the most generous are protected at any weight
    saturated = total(low) < 1
    if not saturated:
        high = low + 1.0
        while total(high) > 1:
            high += 1.0
        low = brentq(lambda log_eta: total(log_eta) - 1, low, high)
    weights = bound.inverse(levels / np.exp(low))
    for _ in range(NEWTON):  # on log weights, and on log eta unless the cap fixes it
        missing, slope = np.log(levels) - np.log(bound(weights)) - low, bound.slope(weights)
        surplus = count @ (weights * (1 + missing / slope)) - 1
        change = 0.0 if saturated else surplus / (count @ (weights / slope))
        weights = np.minimum(weights * np.exp((missing - change) / slope), bound.enough)
        low += change
    if saturated:
        weights[-1] = (1 - count[:-1] @ weights[:-1]) / count[-1]
    return np.asarray(weights / (count @ weights))


class CappedPlan(NamedTuple):
    """What `PDPRidge` does with ``weights="capped"``: public numbers alone."""

    weights: Floats
    eta: float


def capped_plan(epsilon: Floats, lam: float, d: int, row_norm: float | None) -> CappedPlan:
    """Weights, and the rate read off the bound at them, however well the equation was solved."""
    weights = sensitivity_weights(epsilon, lam, d, row_norm)
    moves = capped_sensitivity(weights, lam, d, row_norm)
    return CappedPlan(weights, float(np.min(epsilon / moves)))
