"""Personalized budgets: weights, noise, promises, what one person can move, sampling."""

from pdpbook.exercises.personalized.assignment import *
from pdpbook.exercises.personalized.budgets import *
from pdpbook.exercises.personalized.moments import *
from pdpbook.exercises.personalized.moves import *
from pdpbook.exercises.personalized.reach import *
from pdpbook.exercises.personalized.sampling import *
