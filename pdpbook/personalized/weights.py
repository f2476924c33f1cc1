"""Weights that turn budgets into influence."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook.validation import check_epsilon

__all__ = ["pdp_weights"]


def pdp_weights(epsilon: ArrayLike) -> NDArray[np.float64]:
    r"""Weights that spend every budget exactly: proportional to the budgets.

    .. math:: w_i = \varepsilon_i \Big/ \sum_j \varepsilon_j .

    Parameters
    ----------
    epsilon : array_like, shape (n,)
        Budgets in nats, each finite and above 0.

    Returns
    -------
    ndarray, shape (n,)
        The weights; they sum to 1.

    Raises
    ------
    ValueError
        If a budget is not finite and above 0, or the shape is not (n,).
    TypeError
        If the budgets are not numbers.

    Notes
    -----
    Statement ``thm-pdp-op`` (Acharya et al. 2024, Theorem 2.1), chapter *personalized/pdp_op*.

    Examples
    --------
    >>> pdp_weights([0.1, 0.1, 0.3])
    array([0.2, 0.2, 0.6])
    """
    budgets = check_epsilon(epsilon)
    if np.ndim(budgets) != 1:
        raise ValueError("epsilon must have shape (n,), one budget a person; got a single number")
    share = budgets / budgets.max()  # the sum of huge budgets would overflow
    return np.asarray(share / share.sum())
