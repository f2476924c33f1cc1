"""Personalized budgets."""

from __future__ import annotations

from pdpbook.exercises.properties import Assignment

PROPERTIES = Assignment("personalized")
