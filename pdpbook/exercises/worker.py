"""The process in which a submission runs: a task on standard input, a line of JSON a part.

Each line holds the secret that came with the task, exercise, part and message. An answer that goes
through the memory of this process finds the secret, too: this is no sandbox.

Definitions run code: a constant, a default, the body of a class. What judges answers is therefore
put back after them. What an answer does while it is judged, nothing undoes.
"""

from __future__ import annotations

import contextlib
import copy
import json
import os
import sys
from collections.abc import Iterator
from types import ModuleType
from typing import IO, Any

from pdpbook.exercises.properties import Exercise, Property, assignment

MEMORY = 8 * 2**30  # bytes that a student's function may take
JUDGES = (Exercise, Property)  # classes whose methods give the marks


def main() -> None:
    """Read the task, close the door behind it, and answer part after part."""
    task = json.load(sys.stdin)
    exercises = copy.deepcopy(assignment(task["name"]).exercises)  # out of a submission's reach
    out = os.fdopen(os.dup(1), "w", encoding="utf-8", buffering=1)
    nowhere = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):  # what students print goes nowhere, from C code, too
        os.dup2(nowhere, stream)
    if sys.platform != "win32":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    with _judges_kept():
        functions, failed = functions_of(task["sources"])
    _say(out, task["secret"], "", "", "")  # ready
    for name, part in task["parts"]:
        faults = ["it is not a function"]
        if name in functions:
            faults = exercises[name].faults(functions[name], part, task["seed"])
        _say(out, task["secret"], name, part, "; ".join([*faults, *failed]) if faults else "")


@contextlib.contextmanager
def _judges_kept() -> Iterator[None]:
    """Afterwards functions of all modules are what they were, and whatever is in ours."""
    held = []
    for name, module in sys.modules.items():
        if isinstance(module, ModuleType):
            ours = name.startswith("pdpbook.exercises.")
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


def _say(out: IO[str], *words: str) -> None:
    out.write(json.dumps(words) + "\n")


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


if __name__ == "__main__":
    main()
