"""The hidden properties of the assignment on composition and accounting."""

from course.hidden.accounting import concentrated, exact, filters, sums

__all__ = ["concentrated", "exact", "filters", "sums"]
