"""The exercises of the assignment, in its order."""

from __future__ import annotations

from pdpbook.exercises.properties import Assignment

PROPERTIES = Assignment(
    "capstone",
    (
        "rows_on_domain",
        "coefficients_in_units",
        "granted_releases",
        "errors_of_plans",
        "noise_half_width",
        "evidence_of_release",
        "is_refuted",
    ),
)
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden
