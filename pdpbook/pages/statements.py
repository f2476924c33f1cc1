"""`check` and `falsify`: what a page claims is measured on the page, and asserted.

The ledger of the book is made from the lines that they print.
"""

import contextlib
import io
import math
from collections.abc import Callable

__all__ = ["CheckFailed", "check", "falsify"]

WIDTH = 77  # a printed line fits an output cell, and a phone scrolls it only a little


class CheckFailed(AssertionError):
    """A measured value contradicts a labelled statement."""

    def __init__(self, label: str, what: str, value: float, relation: str):
        self.label = label
        self.value = value
        self.relation = relation
        super().__init__(_line(label, what, _shown(value), f"not {relation}"))


def check(
    label: str,
    what: str,
    value: float,
    *,
    at_most: float | None = None,
    at_least: float | None = None,
    equals: float | None = None,
    rtol: float = 1e-9,
) -> None:
    """Print a relation of a measured value and a bound if it holds; else raise `CheckFailed`.

    Values are printed with at most three significant digits, and as ``<`` a thousandth of an upper
    bound when they are below it, so that the line is the same on another machine.

    Parameters
    ----------
    label : str
        Label of the statement in ``statements.csv``, such as ``"thm-pdp-op"``.
    what : str
        What was measured, in a few words: a line of more than 77 characters is refused.
    value : float
        NaN satisfies no relation.
    at_most, at_least, equals : float, optional
        The bound, finite; exactly one of the three.
    rtol : float, default 1e-9
        Slack, relative to the bound. Anything larger is printed.
    """
    bounds = {"<=": at_most, ">=": at_least, "=": equals}
    chosen = [(sign, bound) for sign, bound in bounds.items() if bound is not None]
    if len(chosen) != 1:
        raise TypeError("give exactly one of at_most, at_least, equals")
    sign, bound = chosen[0]
    value = float(value) + 0.0  # so that -0.0 prints as 0
    bound = float(bound) + 0.0
    if math.isinf(bound):
        raise ValueError(f"{label}: an infinite bound checks nothing; got {sign} {bound}")
    slack = rtol * abs(bound)
    if sign == "<=":
        holds = value <= bound + slack
    elif sign == ">=":
        holds = value >= bound - slack
    else:
        holds = abs(value - bound) <= slack
    relation = f"{sign} {bound:.6g}"
    if rtol > 1e-9:
        relation += f" (rtol {rtol:g})"
    if not holds:
        raise CheckFailed(label, what, value, relation)
    is_far_below = sign == "<=" and bound > 0 and abs(value) < bound / 1000
    shown = f"<{bound / 1000:.3g}" if is_far_below else _shown(value)
    _print(_line(label, what, shown, relation))


def falsify(label: str, what: str, attempt: Callable[[], object]) -> None:
    """Run `attempt`, in which a check of `label` must fail, and print the value with which it did.

    Raises AssertionError if no check fails. A crash is a bug of the page and no evidence, so other
    exceptions are passed on, and so is a failed check of another label, or of a value that is NaN.

    Parameters
    ----------
    label : str
        Label of the statement whose check must notice.
    what : str
        The assumption that was dropped, or the name of the planted bug.
    attempt : callable
        Takes no argument and calls `check`.
    """
    try:
        with contextlib.redirect_stdout(io.StringIO()):
            attempt()
    except CheckFailed as failure:
        if failure.label != label or math.isnan(failure.value):
            raise
        _print(_line(label, what, _shown(failure.value), f"not {failure.relation}"))
        return
    raise AssertionError(f"{label}: {what}: nothing broke")


def _shown(value: float) -> str:
    """Return three digits of a value, or a bound where it may be rounding of this machine."""
    return "<1e-12" if 0 < abs(value) < 1e-12 else f"{value:.3g}"


def _line(label: str, what: str, shown: str, relation: str) -> str:
    """Return the printed line, with the value in column 56 where the relation leaves room."""
    head = f"{label}  {what}"
    tail = f" {shown:>7}  {relation}"
    return head.ljust(min(56, WIDTH - len(tail))) + tail


def _print(line: str) -> None:
    """Print a line, or raise if it is too long."""
    if len(line) > WIDTH:
        raise ValueError(f"this line has {len(line)} characters, more than {WIDTH}: {line}")
    print(line)
