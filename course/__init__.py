"""Teaching with the book: hidden properties, graders, nbgrader and Gradescope, cards and syllabi.

``python -m course --help`` lists what can be done from a checkout; the package is no part of what
`pip` installs of `pdpbook`. What an autograder needs, `grading`, `results` and `hidden`, asks for
no more than `pdpbook` does; the rest reads the book with the tools of the checkout.
"""

from course.grading import grade
from course.hidden import assignment

__all__ = ["assignment", "grade"]
