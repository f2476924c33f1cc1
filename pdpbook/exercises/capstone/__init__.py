"""Be the curator: bounds, an account, a plan, an interval, one person's exposure, an audit."""

from pdpbook.exercises.capstone.account import *
from pdpbook.exercises.capstone.assignment import *
from pdpbook.exercises.capstone.audit import *
from pdpbook.exercises.capstone.evidence import *
from pdpbook.exercises.capstone.interval import *
from pdpbook.exercises.capstone.plans import *
from pdpbook.exercises.capstone.units import *
