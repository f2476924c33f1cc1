"""Weights that turn budgets into influence."""

from functools import lru_cache

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import check
from pdpbook.noise import l2_laplace_eps0

ROUNDING = 1e-12  # thresholds whose rates differ by less are ties


def pdp_weights(epsilon: ArrayLike) -> NDArray[np.float64]:
    r"""Weights that spend every budget exactly: proportional to the budgets.

    .. math:: w_i = \varepsilon_i \Big/ \sum_j \varepsilon_j .

    Parameters
    ----------
    epsilon : array_like, shape (n,)
        Budgets in nats, finite and at least 0, above 0 for somebody.

    Returns
    -------
    ndarray, shape (n,)
        The weights; they sum to 1.

    Notes
    -----
    Statement ``thm-pdp-op`` (Acharya et al. 2024, Theorem 2.1), chapter *personalized/pdp_op*.

    Examples
    --------
    >>> pdp_weights([0.1, 0.1, 0.3])
    array([0.2, 0.2, 0.6])
    """
    share = _shares(epsilon)
    share /= share.sum()
    return share


def capped_weights(epsilon: ArrayLike, ratio: float) -> NDArray[np.float64]:
    r"""Weights with the best trade between the noise of privacy and the noise of the labels.

    Privacy asks only that nobody's weight exceeds their budget times a common unit u, the size of
    the noise. Capping the largest weights evens them out, at the price of a larger u:

    .. math:: \min_{u,\,w}\ A u^2 + V\|w\|^2 \quad\text{subject to}\quad
              0 \le w_i \le \varepsilon_i u, \quad \sum_i w_i = 1 .

    With :math:`\text{ratio} = A/V` the solution is :math:`w_i \propto \min(\varepsilon_i, m)`,
    where m is the root of

    .. math:: \sum_{\varepsilon_i < m} \varepsilon_i\,(m - \varepsilon_i) = \text{ratio} .

    Parameters
    ----------
    epsilon : array_like, shape (n,)
        Budgets in nats, finite and at least 0, above 0 for somebody.
    ratio : float
        Cost of the privacy noise over that of the label noise, A / V, at least 0, in squared nats.
        0 gives equal weights; everything from the root at the largest budget on gives
        `pdp_weights`. It must be public: read from the data, it voids the promise.

    Returns
    -------
    ndarray, shape (n,)
        The weights; they sum to 1. Noise calibrated to ``max(weights / epsilon)`` keeps every
        budget, those of capped people with something to spare.

    Notes
    -----
    Statement ``prop-weight-cap`` (after Chaudhuri and Courtade 2023), chapter
    *personalized/beyond*. Between two budgets the left side is linear in m: sorting and cumulative
    sums of positive terms give the root exactly.

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


def threshold_budgets(epsilon: ArrayLike) -> NDArray[np.float64]:
    r"""Budgets of the best release that knows one privacy level only.

    Whoever asks for more privacy than a threshold allows is left out, and everybody else is given
    the threshold as their budget:

    .. math:: \tau\,[\varepsilon_i \ge \tau], \qquad
              \tau \in \arg\max_t\, t\,\#\{j : \varepsilon_j \ge t\} .

    Parameters
    ----------
    epsilon : array_like, shape (n,)
        Budgets in nats, finite and at least 0, above 0 for somebody. Public: where they are not,
        neither is the threshold. Under add-remove neighbors fix a threshold beforehand instead:
        this one moves with whoever comes or leaves.

    Returns
    -------
    ndarray, shape (n,)
        The threshold, for everybody whose budget reaches it, and 0 for the others. Given to any
        mechanism with personal budgets, they keep every promise: nobody is above their own.

    Notes
    -----
    Statement ``prop-best-threshold`` (after Cyffers and Ziani 2026), chapter
    *personalized/pdp_op*. Their sum is the largest that one level for all allows, so output
    perturbation needs the least noise; of thresholds that tie, the smallest is taken, which
    leaves out the fewest people.

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


def threshold_weights(epsilon: ArrayLike) -> NDArray[np.float64]:
    r"""Weights of the best release that knows one privacy level only: equal, or 0.

    .. math:: w_i = \frac{[\varepsilon_i \ge \tau]}{m(\tau)}, \qquad
              m(t) = \#\{j : \varepsilon_j \ge t\}, \quad \tau \in \arg\max_t\, t\,m(t) .

    Parameters
    ----------
    epsilon : array_like, shape (n,)
        Budgets in nats, finite and at least 0, above 0 for somebody.

    Returns
    -------
    ndarray, shape (n,)
        The weights; they sum to 1. They are those of `pdp_weights` for `threshold_budgets`, which
        is what an estimator's `fit` takes.

    Notes
    -----
    Statement ``prop-best-threshold`` (after Cyffers and Ziani 2026), chapter
    *personalized/pdp_op*.

    Examples
    --------
    >>> threshold_weights([0.1, 0.2, 0.5, 0.5])
    array([0. , 0. , 0.5, 0.5])
    """
    return pdp_weights(threshold_budgets(epsilon))


@lru_cache(maxsize=16)
def largest_losses(budgets: bytes, delta: float, d: int) -> NDArray[np.float64]:
    """The pure budgets that stand in for each (budget, delta), with round noise in d dimensions."""
    levels, person = np.unique(np.frombuffer(budgets), return_inverse=True)
    losses = np.atleast_1d(l2_laplace_eps0(levels, delta, d))[person]
    losses.flags.writeable = False
    return np.asarray(losses)


def _shares(epsilon: ArrayLike) -> NDArray[np.float64]:
    """Budgets over the largest one: the sum of huge budgets would overflow."""
    budgets = check.each(epsilon, None, "epsilon")
    if np.ndim(budgets) != 1:
        raise ValueError("epsilon must have shape (n,), one budget a person; got a single number")
    return np.asarray(budgets / budgets.max())
