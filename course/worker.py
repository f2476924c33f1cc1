"""The process of a submission: it runs the notebook, then answers calls of its functions.

It never holds the properties nor the marks: what it can say is what a function returned. No
sandbox: what runs here has the rights of whoever grades.
"""

import linecache
import os
import socket
import sys
import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from course import orphans
from course.plain import encode, say, take
from pdpbook.pages.exercises.notebook import run
from pdpbook.pages.exercises.properties import copied, same

MEMORY = 8 * 2**30  # bytes that a student's function may take

Read = Callable[[int], bytes]


def work(line: socket.socket, folder: str, cells: list[str], task: dict[str, Any]) -> None:
    """Run the cells, say what was found, and answer calls until the line ends."""
    if sys.platform != "win32":
        os.setsid()
        orphans.follow()  # the server of forks, which ends with the command
    _close_the_door(line.fileno())
    os.chdir(folder)
    sys.path.insert(0, folder)
    sys.modules["course"] = None  # type: ignore[assignment]
    os.environ["MPLBACKEND"] = "agg"
    found, faults = run(cells, begin=lambda cell: say(line, cell, []), **task)
    where = {name: cell for name, (_, cell) in found.items()}
    say(line, [where, list(faults.items())], [])
    read, held = line.makefile("rb").read, dict[int, np.random.Generator]()
    while True:
        name, given, kept = take(read)
        rngs = []
        for place, (number, state) in kept.items():
            if state is None:
                given[place] = partial(_call_back, line, read, number)
                continue
            if number not in held:
                held[number] = np.random.Generator(state)
            else:
                held[number].bit_generator.state = state
            given[place] = held[number]
            rngs.append(given[place])
        said, arrays = _answer(found[name][0], given)
        say(line, [*said, [rng.bit_generator.state for rng in rngs]], arrays)


def _close_the_door(kept: int) -> None:
    """What students print goes nowhere, from C code, too; nor do they reach other processes."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    if sys.platform == "win32":
        places = [0, 1, 2]
    else:
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        places = [int(place) for place in os.listdir("/dev/fd")]  # pipes of the fork server, too
    for place in places:
        if place != kept:
            os.dup2(nowhere, place)


def _answer(function: Callable[..., Any], given: list[Any]) -> tuple[list[Any], list[bytes]]:
    """What a call gave, and which of its arguments it changed."""
    before = copied(given)
    arrays: list[bytes] = []
    try:
        value = ["value", encode(function(*given), arrays)]
    except BaseException as error:
        value = ["raised", type(error).__name__, f"{str(error)[:500]}{_own_line(error)}"]
        arrays = []
    changed = [
        [k, encode(one, arrays)]
        for k, (one, was) in enumerate(zip(given, before, strict=True))
        if not same(one, was)
    ]
    return [value, changed], arrays


def _own_line(error: BaseException) -> str:
    """The last line of the notebook that an error went through."""
    own = ""
    for frame, number in traceback.walk_tb(error.__traceback__):
        if frame.f_globals.get("__name__") == "__main__":
            own = linecache.getline(frame.f_code.co_filename, number).strip()
    return f" (in: {own})" if own else ""


def _call_back(line: socket.socket, read: Read, number: int, *given: Any) -> Any:
    """Call a function of the grader; generators go there and come back."""
    arrays: list[bytes] = []
    say(line, [["call", number, encode(given, arrays)]], arrays)
    value, states = take(read)
    own = [one for one in given if isinstance(one, np.random.Generator)]
    for rng, state in zip(own, states, strict=True):
        rng.bit_generator.state = state
    if isinstance(value, Exception):
        raise value
    return value
