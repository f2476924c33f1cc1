"""The exercises of the assignment, in its order."""

from __future__ import annotations

from pdpbook.exercises.properties import Assignment

PROPERTIES = Assignment(
    "personalized",
    (
        "budget_shares",
        "rate_that_spends_all",
        "promise_to_each",
        "furthest_move",
        "worst_neighbor",
        "chance_to_be_kept",
        "noise_reach",
        "worst_pair",
    ),
)
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden
