"""Graded exercises: properties that an answer must have, and a check for students.

An exercise is a function to write, graded by *properties*: small tests of shape, sign, invariance,
limits, dominance, tightness, each of which says in one sentence what it demands and never what the
answer is. Students run the visible ones, which are here, in their notebook. The others, and the
grader, are in the package `course` of a checkout: hidden from the notebook, not from the world.
"""

from pdpbook.pages.exercises.notebook import graded
from pdpbook.pages.exercises.properties import (
    ASSIGNMENTS,
    Assignment,
    Exercise,
    Property,
    assignment,
    check,
)
