"""Bugs in filters: accounts that let somebody past their budget, or tell what is left of it."""

from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pdpbook import Floats
from pdpbook.guarantees import BudgetAccount
from pdpbook.guarantees.accounts import Amounts


class Filter(BudgetAccount):
    """The filter, as the runs of `test_filters` use it."""

    def part(self, x: Floats, sigma: float, noise: float) -> NDArray[np.bool_]:
        """Return who adds their number to this answer; `noise` is drawn, and not looked at."""
        return self.admit(abs(x) / sigma)  # what each record can move a sum

    def told(self) -> tuple[Any, ...]:
        """Return what is published beside the answers."""
        return ()


class LooksAtTheAnswer(Filter):
    """The loss of the answer that was just drawn decides whether a person is in it."""

    def part(self, x: Floats, sigma: float, noise: float) -> NDArray[np.bool_]:
        move = x / sigma
        lost = move * noise + move**2 / 2
        return np.asarray(lost <= np.asarray(self.budget.mu) ** 2 / 2)


class RoundsDown(Filter):
    """What is spent is kept to one decimal, rounded to the nearest."""

    def _within(self, asked: list[Amounts]) -> list[bool]:
        return super()._within([(Fraction(round(float(a), 1)),) for (a,) in asked])


class AddsFloats(Filter):
    """Sums of floats pass with a tolerance of one in a million."""

    def _within(self, asked: list[Amounts]) -> list[bool]:
        each = zip(self._spent, asked, self._limit, strict=True)
        return [float(s) + float(a) <= float(b) * (1 + 1e-6) for (s,), (a,), (b,) in each]


class AddsMus(Filter):
    """A person's part in the first answers is forgotten: only the largest cost is kept."""

    def _within(self, asked: list[Amounts]) -> list[bool]:
        return [a <= limit for a, limit in zip(asked, self._limit, strict=True)]


class TellsTheBalance(Filter):
    """What each person has spent, which depends on their record, is published."""

    def told(self) -> tuple[Any, ...]:
        return tuple(self.spent)


class PaysAfterwards(Filter):
    """Whoever has anything left takes part, and pays then: the last release overdraws."""

    def _within(self, asked: list[Amounts]) -> list[bool]:
        return [spent < limit for spent, limit in zip(self._spent, self._limit, strict=True)]


#: name of a bug -> the filter that has it
FILTERS = {
    "looks at the current answer": LooksAtTheAnswer,
    "rounds to the nearest": RoundsDown,
    "tolerance of floats": AddsFloats,
    "largest cost instead of the sum": AddsMus,
    "published balance": TellsTheBalance,
    "pays after taking part": PaysAfterwards,
}
