"""The hidden properties of PAC privacy."""

from course.hidden.pac import clipping, halves, information, membership, success

__all__ = ["clipping", "halves", "information", "membership", "success"]
