"""Runs a reader's cell, then what measures it, and says in whose line an error is.

`worker.js` runs this after `arrays.py` and `package.py`, whose names a cell may use.
"""

import io
import json
import sys

MOST = 20000  # characters that a cell may print
CELL = "your cell"


class TooLong(Exception):
    pass


class Printer:
    """`print`, until it was enough."""

    def __init__(self):
        self.left = MOST

    def __call__(self, *words, sep=" ", end="\n"):
        text = sep.join([str(word) for word in words]) + end
        self.left -= len(text)
        if self.left < 0:
            message = "it printed more than {} characters; the rest is cut off"
            raise TooLong(message.format(MOST))
        print(text, end="")


HINTS = (
    ("__lt__", "write the array first: x > 0.5, not 0.5 < x"),
    ("__gt__", "write the array first: x < 0.5, not 0.5 > x"),
    (
        "no module named",
        "in the page there are np and math; the others run in JupyterLab, see `make lab`",
    ),
    ("memory allocation failed", "use fewer or smaller arrays"),
)


def report(error):
    """The last line of the reader's cell that an error went through, and what it says."""
    trace = io.StringIO()
    sys.print_exception(error, trace)
    lines = trace.getvalue().strip().split("\n")
    place = 'File "{}", line '.format(CELL)
    numbers = [line.split(place)[1].split(",")[0] for line in lines if place in line]
    message = lines[-1]
    for sign, hint in HINTS:
        if sign in message and ("ndarray" in message or "__" not in sign):
            message += ". Hint: " + hint
    return {"line": int(numbers[-1]) if numbers else 0, "message": message}


def run(context, cell, trial):
    """None if all went well, else a report as JSON."""
    sys.modules["numpy"] = np
    names = dict(globals())
    names["print"] = Printer()
    try:
        exec(compile(context, "earlier cells", "exec"), names)
        exec(compile(cell, CELL, "exec"), names)
        exec(compile(trial, "after your cell", "exec"), names)
    except BaseException as error:
        return json.dumps(report(error))
