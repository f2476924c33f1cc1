"""The bound of *user_level/quantiles* on the error of a release; no mechanism needs it."""

import math
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import check
from pdpbook.user_level.quantiles import (
    check_share,
    quantile_rate,
    row_weights,
    weighted_dkw,
)
from pdpbook.users import check_user_epsilon, check_users


def quantile_error_bound(
    weights: ArrayLike,
    level: float,
    *,
    users: Any = None,
    epsilon: Any,
    share: float,
    gamma: float,
    slack: float = 0.0,
) -> float:
    r"""Accuracy of `private_quantile`, in steps of the true distribution function.

    .. math:: |F(\tilde z)-p|\le\alpha_0+\frac1\lambda\ln\frac1{\rho\gamma}
              +\|c\|_2\Bigl(2+\sqrt{\tfrac12\ln\tfrac1\gamma}\Bigr)

    with probability at least :math:`1-2\gamma`, for independent rows with distribution F and the
    rate :math:`\lambda` of `quantile_rate`.

    Parameters
    ----------
    weights : array_like, shape (n,)
        Row weights, at least 0, divided by their sum.
    level, users, epsilon
        As in `quantile_law`.
    share : float
        :math:`\rho` in (0, 1]: the share of the range, or of the grid, on which
        :math:`|\hat F-p|\le\alpha_0`.
    gamma : float
        Half of the failure probability, in (0, 1).
    slack : float, default 0
        :math:`\alpha_0`, at least 0.

    Returns
    -------
    float
        The bound.

    Notes
    -----
    Statement ``thm-quantile-accuracy``, chapter *user_level/quantiles*.

    Examples
    --------
    >>> c = np.ones(1000)
    >>> round(quantile_error_bound(c, 0.5, epsilon=1.0, share=0.01, gamma=0.05), 3)
    0.117
    """
    c = row_weights(weights)
    owners = check_users(users, len(c))
    budgets = check_user_epsilon(epsilon, owners)
    rate = quantile_rate(np.bincount(owners.codes, c), level, budgets)
    slack = check.single(check.nonnegative(slack, "slack"), "slack")
    rho, gamma = check_share(share), check.delta(gamma, "gamma")
    return slack - math.log(rho * gamma) / rate + weighted_dkw(c, gamma)
