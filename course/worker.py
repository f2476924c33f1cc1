"""The process in which a submission runs: it gets a task, and answers with a line of JSON a part.

Each line holds the secret that came with the task, exercise, part and message. An answer that goes
through the memory of this process finds the secret, too: this is no sandbox.

Definitions run code: a constant, a default, the body of a class. What judges answers is therefore
put back after them. What an answer does while it is judged, nothing undoes.
"""

import contextlib
import copy
import json
import os
import socket
import sys
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

from course.hidden import assignment
from pdpbook.exercises.properties import Exercise, Property

MEMORY = 8 * 2**30  # bytes that a student's function may take
JUDGES = (Exercise, Property)  # classes whose methods give the marks
OURS = ("pdpbook.exercises.", "course.")  # modules of which everything is put back


def work(grader: socket.socket, task: dict[str, Any]) -> None:
    """Close the door behind the task, and answer part after part."""
    if sys.platform != "win32":
        os.setsid()
    exercises = copy.deepcopy(assignment(task["name"]).exercises)  # out of a submission's reach
    send = grader.sendall  # as it is now: a definition may put something else into its class
    _close_the_door(grader.fileno())
    with _judges_kept():
        functions, failed = functions_of(task["sources"])
    _say(send, task["secret"], "", "", "")  # ready
    for name, part in task["parts"]:
        faults = ["it is not a function"]
        if name in functions:
            faults = exercises[name].faults(functions[name], part, task["seed"])
        _say(send, task["secret"], name, part, "; ".join([*faults, *failed]) if faults else "")


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


@contextlib.contextmanager
def _judges_kept() -> Iterator[None]:
    """Afterwards functions of all modules are what they were, and whatever is in ours."""
    held = []
    for name, module in sys.modules.items():
        if isinstance(module, ModuleType):
            ours = name.startswith(OURS)
            names = vars(module)
            held.append((names, {k: v for k, v in names.items() if ours or callable(v)}, ours))
    methods = [(one, k, v) for one in JUDGES for k, v in vars(one).items() if callable(v)]
    yield
    for names, before, ours in held:  # builtins, too: no function is called until they are back
        if ours:
            names.clear()
        names.update(before)
    for one, name, method in methods:
        setattr(one, name, method)


def _say(send: Callable[[bytes], None], *words: str) -> None:
    send(json.dumps(words).encode() + b"\n")


def functions_of(sources: list[str]) -> tuple[dict[str, Any], list[str]]:
    """Run definitions one by one; a package that is missing costs what needs it.

    A name that is used again for something else still stands for the last function that it was.
    """
    space: dict[str, Any] = {"__name__": "submission"}
    functions: dict[str, Any] = {}
    failed = []
    for source in sources:
        try:
            exec(compile(source, "<submission>", "exec"), space)
        except Exception as error:  # whatever it is, the other definitions may work
            failed.append(f"{source[:60]!r} raised {str(error)[:200]}")
        functions |= {name: value for name, value in space.items() if callable(value)}
    return functions, failed
