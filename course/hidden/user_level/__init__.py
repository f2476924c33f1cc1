"""The hidden properties of user-level privacy."""

from course.hidden.user_level import contributions, groups, gwa, median, noise, weights

__all__ = ["contributions", "groups", "gwa", "median", "noise", "weights"]
