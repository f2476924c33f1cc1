"""Advice to whoever calls `fit`, as warnings, and the switch that silences them.

Advice changes nothing: not the release, not its promise, not the fitted object. What a
`CuratorWarning` says may depend on the data without noise, so it is for the curator, who holds
them anyway, and it is outside the promise: do not pass it on, and do not publish a log that has it.
The same holds for every error that shows a value or its place.
"""

import os
import re
import sys
import warnings
from typing import Any

__all__ = ["Advice", "CuratorWarning", "PublicNumbersWarning", "advise", "silence"]

PACKAGE = os.path.join(os.path.dirname(__file__), "")  # files below it are not the caller's
SAID: set[tuple[type, str, str, int]] = set()  # what was said at which line
OTHERS = ("sklearn", "joblib")  # nor are those that fit for the caller


class Advice(UserWarning):
    """What the package would tell a colleague who is about to publish."""


class PublicNumbersWarning(Advice):
    """Advice from public numbers alone: it says nothing about the data."""


class CuratorWarning(Advice):
    """Advice that looked at the data: for the curator alone, outside the promise."""


def silence() -> None:
    """Show no advice from here on; inside ``warnings.catch_warnings()``, until its end."""
    warnings.filterwarnings("ignore", category=Advice)


def _not_the_caller(frame: Any) -> bool:
    module = frame.f_globals.get("__name__", "").partition(".")[0]
    return frame.f_code.co_filename.startswith(PACKAGE) or module in OTHERS


def advise(message: str, category: type[Advice]) -> None:
    """Warn at the line that called the package, however deep inside of it this is.

    Once a line, and of messages that differ in numbers alone the first: scikit-learn sets and
    resets filters, and Python would then say it again.

    Parameters
    ----------
    message : str
    category : type
        `PublicNumbersWarning` or `CuratorWarning`.
    """
    level, frame = 2, sys._getframe(1)
    while frame.f_back is not None and _not_the_caller(frame):
        level, frame = level + 1, frame.f_back
    said = re.sub(r"[\d.e+-]+", "", message)
    place = (category, said, frame.f_code.co_filename, frame.f_lineno)
    if place not in SAID:
        warnings.warn(message, category, stacklevel=level)
        SAID.add(place)
