"""The hidden properties of the curator's assignment."""

from course.hidden.capstone import account, audit, evidence, interval, plans, units

__all__ = ["account", "audit", "evidence", "interval", "plans", "units"]
