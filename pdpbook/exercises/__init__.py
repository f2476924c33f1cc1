"""Graded exercises: properties that an answer must have, a check for students, a grader.

An exercise is a function to write. It is graded by *properties*: small tests of shape, sign,
invariance, limits, dominance, tightness, each of which says in one sentence what it demands and
never what the answer is. Some are visible, and students run them in their notebook; the others are
hidden from the notebook, not from the world: this package is public. `grade` takes a submitted
notebook, runs every property in processes of their own, and cannot be stopped by a bad submission.
It keeps mistakes apart, but it is not a sandbox: a function that wants to harm the machine can.
"""

from pdpbook.exercises.grading import grade
from pdpbook.exercises.properties import (
    ASSIGNMENTS,
    Assignment,
    Exercise,
    Property,
    assignment,
    check,
)

__all__ = [
    "ASSIGNMENTS",
    "Assignment",
    "Exercise",
    "Property",
    "assignment",
    "check",
    "grade",
]
