"""The exercises of the assignment, in its order."""

from __future__ import annotations

from pdpbook.exercises.properties import Assignment

PROPERTIES = Assignment(
    "pac",
    (
        "half_covariance",
        "gaussian_information",
        "cheapest_noise",
        "success_bound",
        "best_guess_rate",
        "guess_members",
        "clipped_step",
    ),
)
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden
