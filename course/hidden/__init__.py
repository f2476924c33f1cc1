"""Hidden properties: what is run when an answer is graded, and not while it is written."""

import importlib

from pdpbook import exercises

__all__ = ["ALARM", "ROUNDING", "assignment"]

ALARM = 1e-6  # a right answer may fail a property that draws this often
ROUNDING = 1e-9  # relative; larger than what a few hundred operations lose


def assignment(name: str) -> exercises.Assignment:
    """An assignment with its hidden properties, by name; see `pdpbook.exercises.assignment`."""
    found = exercises.assignment(name)
    importlib.import_module(f"course.hidden.{name}")
    return found
