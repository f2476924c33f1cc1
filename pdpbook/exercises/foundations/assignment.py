"""The exercises of the assignment, in its order."""

from __future__ import annotations

from pdpbook.exercises.properties import Assignment

PROPERTIES = Assignment(
    "foundations",
    (
        "truth_probability",
        "sample_l2_laplace",
        "squared_error_of_noise",
        "weighted_ridge",
        "privacy_profile",
        "worst_event",
        "epsilon_lower_bound",
    ),
)
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden
