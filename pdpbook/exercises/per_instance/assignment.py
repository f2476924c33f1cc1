"""The exercises of the assignment, in its order."""

from __future__ import annotations

from pdpbook.exercises.properties import Assignment

PROPERTIES = Assignment(
    "per_instance",
    (
        "leverages",
        "fits_without_each",
        "loss_at_release",
        "delta_both_ways",
        "most_exposed_people",
        "private_eigenvalue_bound",
        "accuse",
    ),
)
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden
