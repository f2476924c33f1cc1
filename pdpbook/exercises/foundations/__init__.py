"""Foundations: a coin, noise, ridge regression, privacy profiles, an audit."""

from pdpbook.exercises.foundations.assignment import *
from pdpbook.exercises.foundations.audit import *
from pdpbook.exercises.foundations.coin import *
from pdpbook.exercises.foundations.events import *
from pdpbook.exercises.foundations.noise import *
from pdpbook.exercises.foundations.regression import *
