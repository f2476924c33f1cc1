"""Planted bugs by name: real estimators, each with one defect, for testing auditors.

`SOUND` has every estimator without a defect, on neighbors that press it hard. Not imported by
`pdpbook.audit`, because it needs every mechanism of the package. A good many of the bugs were
found in public code and are written here anew.
"""

from pdpbook.audit.plants.descent import DESCENT
from pdpbook.audit.plants.personal import PERSONAL
from pdpbook.audit.plants.plant import Pair, Plant, Trial
from pdpbook.audit.plants.pools import POOLS
from pdpbook.audit.plants.sound import SOUND
from pdpbook.audit.plants.sums import SUMS
from pdpbook.audit.plants.users import USERS, Median

__all__ = ["PLANTS", "SOUND", "Median", "Pair", "Plant", "Trial"]

#: name of a bug -> Plant
PLANTS = {p.name: p for p in [*PERSONAL, *SUMS, *DESCENT, *USERS, *POOLS]}
