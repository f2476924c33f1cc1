"""Weights from the capped sensitivity: they spend every budget where the linear bound wastes some.

The rate that belongs to them is in `capped_plan`, which `PDPRidge` with ``weights="capped"`` runs.
"""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq

from pdpbook import Floats, check
from pdpbook.personalized.weights import pdp_weights
from pdpbook.reports.frames import EVEN, even_rows
from pdpbook.sensitivity import capped_sensitivity

LIGHT, STEPS = 1e-8, 301  # of a table of weights; below the first one the bound is linear
NEWTON = 6  # steps from the table to the root
FEW = 100_000  # people for whom a report compares weights; more would take it minutes
CROWDS = 400  # made-up crowds, of few people each, behind an expected error
WORTH_A_WORD = 0.99  # of the error with weights in proportion


def sensitivity_weights(
    epsilon: ArrayLike, lam: float, d: int, row_norm: float | None = None
) -> Floats:
    r"""Weights with the largest noise rate that the capped sensitivity allows.

    .. math:: \eta\,\Delta(w_i) = \varepsilon_i, \qquad \sum_i w_i = 1,

    with :math:`\Delta` from `capped_sensitivity`. Where the cap :math:`2B_\star` is reached, more
    weight costs nothing: if :math:`\eta = \max_i\varepsilon_i/(2B_\star)` leaves some of the total
    weight, those with the largest budget share it.

    Parameters
    ----------
    epsilon : array_like, shape (n,)
        Budgets in nats, finite and at least 0, above 0 for somebody.
    lam : float
        Ridge penalty, above 0, against the weighted mean of squares.
    d : int
        Number of features, a constant one included.
    row_norm : float, optional
        Public and enforced bound on the norm of a row of X, see `norm_bound`.

    Returns
    -------
    ndarray, shape (n,)
        The weights; they sum to 1. A rate of ``min(epsilon / capped_sensitivity(weights, lam, d))``
        keeps every budget, and spends it all up to rounding.

    Notes
    -----
    Statement ``prop-sensitivity-weights`` (ours), chapter *personalized/pdp_op_data*. For many
    people they are those of `pdp_weights`; `capped_weights` is something else, a cap on budgets
    that trades noise for label noise.

    Examples
    --------
    >>> sensitivity_weights([0.1, 0.1, 0.3], lam=1.0, d=12).round(3)
    array([0.036, 0.036, 0.928])
    """
    check.each(epsilon, None, "epsilon")
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


@lru_cache(maxsize=16)
def capped_plan(budgets: bytes, lam: float, d: int, row_norm: float | None) -> CappedPlan:
    """Weights, and the largest rate with which the bound of nobody exceeds their budget.

    The rate is read off the bound at the weights as they are, so that the promise does not depend
    on how well the equation was solved.
    """
    epsilon = np.frombuffer(budgets)
    weights = sensitivity_weights(epsilon, lam, d, row_norm)
    weights.flags.writeable = False
    moves = capped_sensitivity(weights, lam, d, row_norm)
    return CappedPlan(weights, float(np.min(epsilon / moves)))


@dataclass(frozen=True, eq=False)
class Rival:
    """The expected error of a prediction with weights in proportion, and with capped ones."""

    budgets: Floats
    eta: float
    lam: float
    row_norm: float | None
    d: int  #: columns of X
    constant: float | None  #: the constant feature, if there is one

    def __call__(self, moments: Floats, label_sd: float) -> str:
        r"""One sentence where the capped weights are better, or nothing.

        With Q the moments where predictions are made and :math:`A=\sum_iw_ix_ix_i^\top+\lambda I`
        the noise of privacy and that of the labels, of variance :math:`\sigma^2`, come to

        .. math:: \frac{d+1}{\eta^2}\operatorname{tr}Q + \sigma^2\,\mathbb E
                  \sum_iw_i^2\,x_i^\top A^{-1}QA^{-1}x_i ,

        where the mean over rows that are spread evenly is taken over made-up ones.
        """
        k, n = len(moments), len(self.budgets)
        plan = capped_plan(self.budgets.tobytes(), self.lam, k, self.row_norm)
        crowds = [
            even_rows(n, self.d, 0.0, self.constant, self.row_norm, seed)
            for seed in range(min(max(EVEN // n, 1), CROWDS))
        ]

        def error(weights: Floats, eta: float) -> float:
            labels = 0.0
            for X in crowds:
                weighted = X.T * weights
                spread = np.linalg.solve(weighted @ X + self.lam * np.eye(k), weighted)
                labels += float(np.vdot(moments @ spread, spread)) / len(crowds)
            noise = (k + 1) / eta**2 * float(np.trace(moments))
            return float(np.sqrt(noise + label_sd**2 * labels))

        ours, theirs = error(pdp_weights(self.budgets), self.eta), error(*plan)
        if not theirs <= WORTH_A_WORD * ours:
            return ""
        return (
            f"With weights='capped' noise and label noise would be {theirs / ours:.2g} times what "
            "they are, in root mean square."
        )
