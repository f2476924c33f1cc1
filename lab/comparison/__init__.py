"""Many private mechanisms on the same people: a table of losses, a crowd under every promise.

`compare` runs the ridge regressions of the personalized part over fresh people and penalties;
``python -m lab mechanisms`` writes that table. `compare_patients` puts one real crowd under the
mechanisms of all parts at comparable promises, and `actual_success` says what each person really
risks there. Not private.
"""

from lab.comparison.crowd import Crowd, Release, patients
from lab.comparison.everyone import ENTRIES, Entry, compare_patients
from lab.comparison.risks import RISKS, actual_success
from lab.comparison.sweep import (
    DELTA,
    GRIDS,
    MECHANISMS,
    SETTINGS,
    compare,
    main,
    read,
    write,
)
