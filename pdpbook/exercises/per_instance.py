"""Per-instance privacy."""

from __future__ import annotations

from pdpbook.exercises.properties import Assignment

PROPERTIES = Assignment("per_instance")
