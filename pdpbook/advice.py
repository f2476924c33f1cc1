"""Advice to whoever calls `fit`, as warnings, and the switch that silences them.

Advice changes nothing: not the release, not its promise, not the fitted object. What a
`CuratorWarning` says may depend on the data without noise, so it is for the curator, who has them
anyway, and no promise covers it: do not pass it on, and do not publish a log that contains it. The
same holds for every error that shows a value or its place.
"""

import os
import re
import sys
import warnings
from typing import Any

__all__ = ["Advice", "CuratorWarning", "PublicNumbersWarning", "advise", "silence"]

PACKAGE = os.path.join(os.path.dirname(__file__), "")  # files below it are not the caller's
FITTING_PACKAGES = ("sklearn", "joblib")  # nor are those of packages that fit for the caller
SAID: set[tuple[type, str, str, int]] = set()  # category, message, file and line of each warning


class Advice(UserWarning):
    """What the package would tell a colleague who is about to publish."""


class PublicNumbersWarning(Advice):
    """Advice from public numbers alone: it says nothing about the data."""


class CuratorWarning(Advice):
    """Advice that looked at the data: for the curator alone, outside the promise."""


def silence() -> None:
    """Show no advice from now on; inside ``warnings.catch_warnings()``, only until its end."""
    warnings.filterwarnings("ignore", category=Advice)


def _not_the_caller(frame: Any) -> bool:
    """Return whether a frame is of this package, or of one that fits for the caller."""
    module = frame.f_globals.get("__name__", "").partition(".")[0]
    return frame.f_code.co_filename.startswith(PACKAGE) or module in FITTING_PACKAGES


def advise(message: str, category: type[Advice]) -> None:
    """Warn, with the line of the caller's code that called the package.

    A line gets a message once, also if it comes again with other numbers. Python's own filters do
    not do that here, since scikit-learn changes them, and Python then forgets what it said.

    Parameters
    ----------
    message : str
    category : type
        `PublicNumbersWarning` or `CuratorWarning`.
    """
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and _not_the_caller(frame):
        level += 1
        frame = frame.f_back
    without_numbers = re.sub(r"[\d.e+-]+", "", message)
    warning = (category, without_numbers, frame.f_code.co_filename, frame.f_lineno)
    if warning not in SAID:
        warnings.warn(message, category, stacklevel=level)
        SAID.add(warning)
