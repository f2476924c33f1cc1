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

TIE = 1e-12  # relative: thresholds whose sums of budgets differ by less are equally good
SMALLEST_WEIGHT = 1e-8  # of the table of weights; below it the sensitivity is linear
TABLE_SIZE = 301
CAP_REFINEMENTS, CAP_GRID = 7, 101  # each cuts the interval around the cap into 100
NEWTON_STEPS = 6  # from the table to the root
LAST_STEP = 1e-12  # relative: a step that changes weights by less leaves nothing to gain


def pdp_weights(epsilon: ArrayLike) -> Floats:
    r"""Weights that spend every budget exactly: proportional to the budgets.

    .. math:: w_i = \varepsilon_i \Big/ \sum_j \varepsilon_j .

    Statement ``thm-pdp-op`` (Acharya et al. 2024, Theorem 2.1), chapter *personalized/pdp_op*.
    Returns an array of shape (n,).

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats, at least 0
    """
    relative = _over_largest(epsilon)
    return np.asarray(relative / relative.sum())


def capped_weights(epsilon: ArrayLike, ratio: float) -> Floats:
    r"""Weights with the best trade between the noise of privacy and the noise of the labels.

    Privacy asks only that nobody's weight exceeds their budget times a common unit u, the size of
    the noise. A cap on the largest weights makes them more even, at the price of a larger u:

    .. math:: &\min_{u,\,w}\ A u^2 + V\|w\|^2 \quad\text{subject to}\quad
              0 \le w_i \le \varepsilon_i u, \quad \sum_i w_i = 1 ,\\
              &\text{solved by}\quad w_i \propto \min(\varepsilon_i, m), \qquad
              \sum_{\varepsilon_i < m} \varepsilon_i\,(m - \varepsilon_i) = A/V = \text{ratio} .

    Noise calibrated to ``max(weights / epsilon)`` keeps every budget; capped people do not spend
    all of theirs. Statement ``prop-weight-cap`` (after Chaudhuri and Courtade 2023), chapter
    *personalized/steps*. Returns an array of shape (n,).

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats, at least 0
    ratio : float, at least 0, in squared nats
        Cost of privacy noise over that of label noise: 0 gives equal weights, any large one those
        of `pdp_weights`. It must be public: read from the data, it voids the promise.

    Examples
    --------
    >>> capped_weights([1.0, 1.0, 4.0], ratio=2.0)  # m = 2
    array([0.25, 0.25, 0.5 ])
    """
    relative = _over_largest(epsilon)
    largest = float(np.max(np.asarray(epsilon, dtype=float)))
    ratio = check.single(check.nonnegative(ratio, "ratio"), "ratio")
    target = ratio / largest / largest  # A/V for budgets over the largest; infinite: no cap
    ordered = np.sort(relative)
    # the sum over e_i < m of e_i (m - e_i) is piecewise linear in m: its slope beyond each budget
    # is the sum of budgets up to it, and these are its values at the budgets
    slopes = np.cumsum(ordered)
    values = np.concatenate([[0.0], np.cumsum(np.diff(ordered) * slopes[:-1])])
    k = int(np.searchsorted(values, target, side="right")) - 1
    if k < len(values) - 1:
        cap = ordered[k] + (target - values[k]) / slopes[k]
    else:
        cap = 1.0
    weights = np.minimum(relative, cap)
    return np.asarray(weights / weights.sum())


def threshold_budgets(epsilon: ArrayLike) -> Floats:
    r"""Budgets of the best release that knows one privacy level only.

    Whoever asks for more privacy than a threshold is left out; everybody else has it as budget:

    .. math:: \tau\,[\varepsilon_i\ge\tau], \qquad \tau\in\arg\max_t\,t\,\#\{j:\varepsilon_j\ge t\}.

    No other single level has a larger sum, so output perturbation needs the least noise; of
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
    relative = _over_largest(epsilon)
    budgets = np.array(epsilon, dtype=float)
    falling = np.argsort(relative)[::-1]
    sums = relative[falling] * np.arange(1, len(relative) + 1)  # t times how many budgets reach t
    smallest_best = np.flatnonzero(sums >= sums.max() * (1 - TIE))[-1]
    threshold = budgets[falling[smallest_best]]
    return np.where(budgets >= threshold, threshold, 0.0)


def _over_largest(epsilon: ArrayLike) -> Floats:
    """Return budgets over the largest one, shape (n,): the sum of huge budgets would overflow."""
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
    weight costs nothing: if the weights for :math:`\eta = \max_i\varepsilon_i/(2B_\star)` sum to
    less than 1, the rest is shared by those with the largest budget. A rate of
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
    relative = pdp_weights(epsilon)
    relative /= relative.max()
    levels, level_of_person, counts = np.unique(relative, return_inverse=True, return_counts=True)
    positive = levels > 0
    weights = np.zeros(len(levels))
    sensitivity = _CappedSensitivity(lam, d, row_norm)
    weights[positive] = _weights_of_levels(levels[positive], counts[positive], sensitivity)
    return weights[level_of_person]


class _CappedSensitivity:
    """The capped sensitivity as a function of the weight, and its inverse from a table."""

    def __init__(self, lam: float, d: int, row_norm: float | None):
        self.settings = lam, d, row_norm
        smallest = SMALLEST_WEIGHT
        while self(smallest) >= self(1.0) / 2:  # a tiny penalty: the cap is reached before it
            smallest *= SMALLEST_WEIGHT
        table = np.geomspace(smallest, 1.0, TABLE_SIZE)
        moves = np.maximum.accumulate(self(table))
        self.cap = float(moves[-1])
        first = int(np.argmax(moves >= self.cap))
        self.weight_at_cap = self._smallest_weight_at_cap(table[first - 1], table[first])
        self.log_moves = np.log(np.append(moves[:first], self.cap))
        self.log_weights = np.log(np.append(table[:first], self.weight_at_cap))

    def __call__(self, weights: ArrayLike) -> Any:
        return capped_sensitivity(weights, *self.settings)

    def _smallest_weight_at_cap(self, low: float, high: float) -> float:
        """Return the smallest weight at which the cap is reached, which `high` does; rounded up."""
        for _ in range(CAP_REFINEMENTS):
            grid = np.linspace(low, high, CAP_GRID)
            k = max(int(np.argmax(self(grid) >= self.cap)), 1)
            low, high = grid[k - 1], grid[k]
        return high

    def inverse(self, moves: Floats) -> Floats:
        """Return weights that move the fit so far, from the table; at the cap the smallest."""
        log_moves = np.log(moves)
        in_table = np.interp(log_moves, self.log_moves, self.log_weights)
        below_table = np.minimum(log_moves - self.log_moves[0], 0)  # there the bound is linear
        return np.asarray(np.exp(in_table + below_table))

    def slope(self, weights: Floats) -> Floats:
        """Return the growth of the logarithm of the move per logarithm of the weight."""
        slopes = np.diff(self.log_moves) / np.diff(self.log_weights)
        return np.asarray(np.interp(np.log(weights), self.log_weights[1:], slopes))


def _weights_of_levels(
    levels: Floats, counts: NDArray[np.intp], sensitivity: _CappedSensitivity
) -> Floats:
    """Solve the equations of `sensitivity_weights`: one weight for each level, shape (k,).

    `levels` are budgets over the largest, in rising order, so that the last one is 1; `counts` says
    how many people have each.
    """

    def total_weight(log_eta: float) -> float:
        return float(counts @ sensitivity.inverse(levels / np.exp(log_eta)))

    # at this rate those with the largest budget are protected at any weight
    log_eta = -np.log(sensitivity.cap)
    saturated = total_weight(log_eta) < 1
    if not saturated:
        high = log_eta + 1.0
        while total_weight(high) > 1:
            high += 1.0
        log_eta = brentq(lambda at: total_weight(at) - 1, log_eta, high)
    weights = sensitivity.inverse(levels / np.exp(log_eta))
    for _ in range(NEWTON_STEPS):  # on log weights, and on log eta unless the cap fixes it
        missing = np.log(levels) - np.log(sensitivity(weights)) - log_eta
        slope = sensitivity.slope(weights)
        if saturated:
            change = 0.0
        else:
            surplus = counts @ (weights * (1 + missing / slope)) - 1
            change = surplus / (counts @ (weights / slope))
        step = (missing - change) / slope
        weights = np.minimum(weights * np.exp(step), sensitivity.weight_at_cap)
        log_eta += change
        if np.abs(step).max() < LAST_STEP:
            break
    if saturated:
        weights[-1] = (1 - counts[:-1] @ weights[:-1]) / counts[-1]
    return np.asarray(weights / (counts @ weights))


class CappedPlan(NamedTuple):
    """Weights and noise rate of `PDPRidge` with ``weights="capped"``: public numbers alone."""

    weights: Floats
    eta: float


def capped_plan(epsilon: Floats, lam: float, d: int, row_norm: float | None) -> CappedPlan:
    """Return `sensitivity_weights`, and the largest noise rate that keeps every budget with them.

    The rate is valid however well the equations for the weights were solved.
    """
    weights = sensitivity_weights(epsilon, lam, d, row_norm)
    moves = capped_sensitivity(weights, lam, d, row_norm)
    return CappedPlan(weights, float(np.min(epsilon / moves)))
