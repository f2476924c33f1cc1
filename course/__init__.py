"""Teaching with the book: hidden properties, graders, nbgrader and Gradescope, cards and syllabi.

``python -m course --help`` lists what can be done from a checkout; the package is no part of what
`pip` installs of `pdpbook`. What an autograder needs, `grading`, `results` and `hidden`, asks for
no more than `pdpbook` and IPython do; the rest reads the book with the tools of the checkout.
"""

from typing import Any

__all__ = ["assignment", "grade", "points"]


def __getattr__(name: str) -> Any:
    """The three names, when they are asked for: a submission's process needs none of them."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from course import grading, hidden

    return getattr(hidden if name == "assignment" else grading, name)
