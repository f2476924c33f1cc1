"""Promises on one scale: the success of a guess with even odds, and what half a budget keeps."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from pdpbook.guarantees.promises import PACPrivacy, Promise
from pdpbook.validation import check_delta, check_positive


def half_budget(epsilon: ArrayLike, delta: float = 0.0) -> tuple[Any, Any]:
    r"""Budgets under add-remove neighbors that keep (epsilon, delta) when a record is replaced.

    .. math:: \Bigl(\frac\varepsilon2,\ \frac{\delta}{1 + e^{\varepsilon/2}}\Bigr)

    Parameters
    ----------
    epsilon : array_like
        Budgets against replacing a record, in nats; any shape.
    delta : float, default 0.0
        Failure probability, in [0, 1).

    Returns
    -------
    epsilon, delta : floats or ndarrays
        For a mechanism whose promise is about adding or removing a record, or zeroing it out: a
        replaced record is one that leaves and one that comes (``fact-group``, chapter
        *per_instance/definitions*).

    Notes
    -----
    Statement ``prop-even-odds``, part 2, chapter *synthesis/one_dataset*.

    Examples
    --------
    >>> epsilon, delta = half_budget(2.0)
    >>> float(epsilon), float(delta)
    (1.0, 0.0)
    """
    half = np.asarray(check_positive(epsilon, "epsilon")) / 2
    return half[()], (check_delta(delta, zero=True) / (1 + np.exp(half)))[()]


def success_rate(promise: Promise) -> Any:
    r"""Ceiling that a promise puts on guesses between two neighbors, with even odds.

    .. math:: \tfrac12(1 + \delta(0))

    Parameters
    ----------
    promise : Promise
        Of any kind. That of PAC privacy is its own ceiling, an average over halves of a pool.

    Returns
    -------
    float or ndarray
        One number, or one a person.

    Notes
    -----
    Statement ``prop-even-odds``, part 1, chapter *synthesis/one_dataset*.

    Examples
    --------
    >>> from pdpbook.guarantees import PureDP
    >>> round(success_rate(PureDP(1.0, neighbors="replace-one")), 3)
    0.731
    """
    if isinstance(promise, PACPrivacy):
        return promise.success_rate
    return (1 + promise.profile(0.0)) / 2
