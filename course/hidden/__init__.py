"""Hidden properties: what is run when an answer is graded, and not while it is written."""

import importlib
from collections.abc import Callable
from typing import Any

from pdpbook.pages import exercises
from pdpbook.pages.exercises.properties import ROUNDING

__all__ = ["ALARM", "ROUNDING", "assignment", "leaves"]

ALARM = 1e-6  # a right answer may fail a property that draws this often


def leaves(answer: Callable[..., Any], *given: Any) -> bool:
    """Call an answer with arrays in which a change would show: every call is watched for one."""
    answer(*given)
    return True


def assignment(name: str) -> exercises.Assignment:
    """An assignment with its hidden properties, by name; see `exercises.assignment`."""
    found = exercises.assignment(name)
    importlib.import_module(f"course.hidden.{name}")
    return found
