"""User-level privacy: noise, weights and limits for people who own many rows."""

from pdpbook.exercises.user_level.assignment import *
from pdpbook.exercises.user_level.contributions import *
from pdpbook.exercises.user_level.groups import *
from pdpbook.exercises.user_level.gwa import *
from pdpbook.exercises.user_level.median import *
from pdpbook.exercises.user_level.noise import *
from pdpbook.exercises.user_level.weights import *
