"""The hidden properties of foundations."""

from course.hidden.foundations import audit, coin, events, noise, regression

__all__ = ["audit", "coin", "events", "noise", "regression"]
