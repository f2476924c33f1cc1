"""The hidden properties of personalized budgets."""

from course.hidden.personalized import budgets, moments, moves, reach, sampling

__all__ = ["budgets", "moments", "moves", "reach", "sampling"]
