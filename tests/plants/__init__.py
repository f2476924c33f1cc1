"""Planted bugs by name: real estimators, each with one defect, for testing auditors.

A good many of the bugs were found in public code and are written here anew. `tools/planted.py`
writes the table of them that chapter *foundations/audits* shows, and that of the sound mechanisms,
which are in `mechanisms.SOUND`.
"""

from plants.descent import DESCENT
from plants.personal import PERSONAL
from plants.plant import Pair, Plant, Trial
from plants.pools import POOLS
from plants.sums import SUMS
from plants.users import USERS

#: name of a bug -> Plant
PLANTS = {p.name: p for p in [*PERSONAL, *SUMS, *DESCENT, *USERS, *POOLS]}
