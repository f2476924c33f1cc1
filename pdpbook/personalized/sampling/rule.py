"""The sampling rule: budgets and a threshold into chances of being kept."""

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from pdpbook import Floats, check


def keep_probabilities(
    epsilon: ArrayLike, threshold: float | str, rule: str = "jorgensen"
) -> Floats:
    r"""Chance of each person to be in the sample: the sampling rule, not the release.

    .. math:: \pi_i = \frac{e^{\varepsilon_i}-1}{e^t-1}\quad(\varepsilon_i<t), \qquad
              \pi_i = 1\quad(\varepsilon_i\ge t).

    The rule "exact" keeps people more often. It is for mechanisms whose loss is at most t when a
    record is replaced and at most :math:`t/2` when one comes or goes:

    .. math:: \pi_i = \frac{u\,(e^{\varepsilon_i}-1)}{(u-1)(u+e^{\varepsilon_i})},\qquad u=e^{t/2}.

    Parameters
    ----------
    epsilon : array_like, shape (n,)
        Budgets in nats, finite and at least 0, above 0 for somebody.
    threshold : float, "max" or "mean"
        The level t at which the sample is analyzed, or which number of the budgets it is.
    rule : {"jorgensen", "exact"}, default "jorgensen"
        Which of the two formulas.

    Returns
    -------
    ndarray, shape (n,)
        Probabilities in [0, 1]; they rise with the budget.

    Raises
    ------
    ValueError
        If a budget or the threshold is not finite and above 0, or a name is unknown.
    TypeError
        If budgets or threshold are not numbers.

    Notes
    -----
    Statements ``alg-jorgensen`` (Acharya et al. 2024, section 3.2, after Jorgensen, Yu and Cormode
    2015) and ``prop-sampling-replace`` (ours), chapter *personalized/sampling*. Any t above 0 is
    taken here; `SampledRidge` wants one within the range of the budgets.

    Examples
    --------
    >>> keep_probabilities([0.1, 0.5, 1.0], "max").round(4)
    array([0.0612, 0.3775, 1.    ])
    """
    budgets = np.atleast_1d(check.each(epsilon, None, "epsilon"))
    check.choice(rule, "rule", ("jorgensen", "exact"))
    t = level(budgets, threshold)
    small = np.minimum(budgets, t)
    if rule == "exact":
        share = expit(small - t / 2) * np.expm1(-small) / np.expm1(-t / 2)
    else:
        share = np.exp(small - t) * (np.expm1(-small) / np.expm1(-t))
    return np.where(budgets < t, np.minimum(share, 1.0), 1.0)


def level(budgets: Any, threshold: Any) -> float:
    """The threshold as a number."""
    if isinstance(threshold, str):
        if threshold not in ("max", "mean"):
            raise ValueError(
                f"threshold must be 'max', 'mean' or a number above 0; got {threshold!r}"
            )
        largest = float(np.max(budgets))
        return largest if threshold == "max" else largest * float(np.mean(budgets / largest))
    return check.number(threshold, "threshold")
