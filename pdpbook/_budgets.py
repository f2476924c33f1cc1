"""Who takes part: whoever has a budget above 0, and does not spoil the answer for all the others.

A budget of 0 means weight 0. A solver that stops early is charged to the smallest budget: one so
tiny that it would cost all others far more than it brings gets weight 0, too, and is promised 0.
A mechanism with one promise under add-remove neighbors refuses budgets that differ: the smallest
would change with whoever is the most careful, and the noise would tell whether they are there.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from pdpbook import Floats, check

__all__: list[str] = []  # for the estimators of the package

A_PERCENT, A_THOUSANDTH = 1.01, 1e-3
LEVELS = 64  # smallest budgets that are tried at a time


def one_budget(budgets: Any, name: str = "epsilon") -> float:
    """The one budget above 0 of all who take part; those that differ are refused."""
    own = np.atleast_1d(budgets)
    above = own[own > 0]
    if not above.size:
        raise ValueError(f"{name} must be above 0 for somebody; got 0 for all")
    low, high = float(above.min()), float(above.max())
    if low != high:
        raise ValueError(
            f"{name} must be one number for all who take part, as here everybody has the same "
            f"promise; got budgets from {low:.6g} to {high:.6g}. The least or any other function "
            "of them would tell who is in the data. Pass the public number t that all agreed on, "
            f"or np.where({name} >= t, t, 0), which leaves out whoever asks for less; or take a "
            "mechanism with a promise each, such as PDPRidge"
        )
    return low


def refuse_different_budgets(epsilon: Any) -> None:
    """Refuse budgets above 0 that differ, a number or one a person; here all may be 0."""
    budgets = check.some_epsilon(epsilon)
    if np.any(budgets):
        one_budget(budgets)


def smallest(budgets: Any) -> float:
    """The smallest budget above 0, where all budgets are public and so is who has them."""
    own = np.atleast_1d(budgets)
    return float(own[own > 0].min())


def without_negligible(budgets: Any) -> Any:
    """Budgets with 0 for the tiny ones that all together are next to nothing of the sum."""
    own = np.atleast_1d(budgets)
    levels, count = np.unique(own, return_counts=True)
    tiny = levels < A_THOUSANDTH * levels[-1]
    tiny &= np.cumsum(levels * count) <= A_THOUSANDTH * own.sum()
    return np.where(own > levels[tiny][-1], own, 0.0) if tiny.any() else budgets


def worth_taking(budgets: Floats, noise: Callable[[Floats], float], free: float) -> Floats:
    """Budgets with 0 for the tiny ones that would make the noise for all over a percent larger.

    `noise` is its size, public, with the solver charged to these budgets, `free` with nobody
    charged. As few as possible are left out, the smallest first, to within a percent of the least.
    """
    above = budgets[budgets > 0]
    if noise(above) <= A_PERCENT * free:
        return budgets
    ordered = np.unique(above)
    low, high, best = 0, len(ordered) - 1, np.inf
    while True:
        tried = np.unique(np.linspace(low, high, LEVELS).astype(int))
        sizes = np.array([noise(above[above >= ordered[k]]) for k in tried])
        best = min(best, float(sizes.min()))
        first = int(np.argmax(sizes <= A_PERCENT * best))
        if first == 0 or tried[first] == tried[first - 1] + 1:
            return np.where(budgets >= ordered[tried[first]], budgets, 0.0)
        low, high = tried[first - 1] + 1, tried[first]
