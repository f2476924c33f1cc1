"""Per-instance privacy: leverages, refits, the loss of one release, exposure, an accusation."""

from pdpbook.exercises.per_instance.accusation import *
from pdpbook.exercises.per_instance.assignment import *
from pdpbook.exercises.per_instance.eigenvalue import *
from pdpbook.exercises.per_instance.exposure import *
from pdpbook.exercises.per_instance.leverage import *
from pdpbook.exercises.per_instance.loss import *
