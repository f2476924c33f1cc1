"""The exercises of the assignment, in its order."""

from __future__ import annotations

from pdpbook.exercises.properties import Assignment

PROPERTIES = Assignment(
    "user_level",
    (
        "noise_scale_for_users",
        "best_user_weights",
        "rows_that_count",
        "gwa_problem",
        "cap_contributions",
        "median_law",
        "user_epsilon",
    ),
)
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden
