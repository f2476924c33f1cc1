"""Hidden properties: what is run when an answer is graded, and not while it is written."""

import importlib
from collections.abc import Callable
from typing import Any

import numpy as np

from pdpbook.pages import exercises
from pdpbook.pages.exercises.properties import ROUNDING

__all__ = ["ALARM", "ROUNDING", "WATCHED", "assignment", "leaves"]

ALARM = 1e-6  # a right answer may fail a property that draws this often
#: arrays in which the grader shows what a submission did to its copies of them
WATCHED: list[Any] = []


def leaves(answer: Callable[..., Any], *given: Any) -> bool:
    """Whether an answer leaves the arrays that it is given as they were."""
    before = [np.copy(one) for one in given]
    WATCHED[:] = given
    answer(*given)
    WATCHED.clear()
    return all(np.array_equal(a, b) for a, b in zip(before, given, strict=True))


def assignment(name: str) -> exercises.Assignment:
    """An assignment with its hidden properties, by name; see `exercises.assignment`."""
    found = exercises.assignment(name)
    importlib.import_module(f"course.hidden.{name}")
    return found
