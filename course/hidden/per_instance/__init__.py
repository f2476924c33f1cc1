"""The hidden properties of per-instance privacy."""

from course.hidden.per_instance import accusation, eigenvalue, exposure, laws, leverage, loss

__all__ = ["accusation", "eigenvalue", "exposure", "laws", "leverage", "loss"]
