"""Planted bugs by name: real estimators, each with one defect, for testing auditors.

`SOUND` has every estimator without a defect, on neighbors that press it hard. A good many of the
bugs were found in public code and are written here anew. `tools/planted.py` writes the tables of
both that chapter *foundations/audits* shows.
"""

from plants.descent import DESCENT
from plants.personal import PERSONAL
from plants.plant import Pair, Plant, Trial
from plants.pools import POOLS
from plants.sound import SOUND
from plants.sums import SUMS
from plants.users import USERS, Median

#: name of a bug -> Plant
PLANTS = {p.name: p for p in [*PERSONAL, *SUMS, *DESCENT, *USERS, *POOLS]}
