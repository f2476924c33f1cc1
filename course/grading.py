"""The grader: the functions of a submitted notebook, in a process of their own with time limits.

Of the notebook only those statements are run that bind what an answer uses, so that deleted or
edited tests, stray cells and wrong metadata do not matter. Marks count only with a secret of the
run: what an answer writes to the socket of the marks gives nothing. Not a sandbox. `worker` is the
other end. Its processes are forked from one that has imported what judges and runs no submission,
so that only the first start is slow.
"""

import ast
import contextlib
import json
import math
import multiprocessing
import os
import queue
import re
import secrets
import signal
import socket
import symtable
import sys
import threading
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import ModuleType
from typing import Any

import pandas as pd

from course import worker
from course.hidden import assignment
from pdpbook.exercises import ASSIGNMENTS
from pdpbook.exercises.properties import seed_of

__all__ = ["grade"]

#: points for all visible properties of an exercise together, and for all hidden ones
POINTS = {"visible": 1, "hidden": 3}
START = 60.0  # seconds more that a process may take to import the package
LINE = 2**20  # characters of one line of an answer, at most
#: lines that Jupyter reads and Python does not: magics, commands of a shell, questions
MAGIC = re.compile(r"\s*(\w[\w, ]*=\s*)?[%!?]|.*\?\s*$")

Part = tuple[str, str]  # of an exercise: its name, and visible or hidden


def grade(
    notebook: str | Path, name: str, *, seed: int | None = None, seconds: float = 20.0
) -> pd.DataFrame:
    """Marks of one submitted notebook.

    Parameters
    ----------
    notebook : path
        The submission; its name does not matter.
    name : str
        The assignment, one of `ASSIGNMENTS`.
    seed : int, optional
        As in `check`.
    seconds : float, default 20
        Time limit for each part of an exercise.

    Returns
    -------
    DataFrame
        A row for each part of each exercise: ``exercise``, ``part``, ``points``, ``out_of`` and
        ``message``, which is empty when the points were earned.

    Raises
    ------
    ValueError
        If there is no such assignment, or an argument is out of range. Nothing about the
        submission is an error: what is wrong with it stands in ``message``.
    """
    exercises = assignment(name).exercises
    seed = seed_of(seed)
    if not 0 < seconds < math.inf:
        raise ValueError(f"seconds must be finite and above 0; got {seconds}")
    statements, problem = definitions(Path(notebook))
    bound = {name for statement in statements for name in statement.binds}
    parts = [(exercise, part) for exercise in exercises if exercise in bound for part in POINTS]
    if not problem and not parts:
        problem = f"it holds none of the functions of {name}; is it another assignment?"
    answered = dict(_answers(name, parts, statements, seed, seconds))
    rows = []
    for exercise in exercises:
        missing = problem or f"there is no function {exercise} that Python can read"
        for part, points in POINTS.items():
            message = answered.get((exercise, part), missing)
            earned = 0 if message else points
            rows.append((exercise, part, earned, points, message))
    return pd.DataFrame(rows, columns=["exercise", "part", "points", "out_of", "message"])


@dataclass(frozen=True)
class Statement:
    """A statement of a notebook, outside of functions."""

    source: str
    binds: set[str]  #: names that it defines, imports or assigns to
    reads: set[str]  #: names of the notebook that it uses, now or in its functions


def definitions(notebook: Path) -> tuple[list[Statement], str]:
    """The statements of a notebook, or why there are none; a broken cell costs only itself."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    except OSError as error:
        return [], f"the file cannot be read: {error.strerror}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return [], "the file is not a Jupyter notebook"
    statements: list[Statement] = []
    for source in sources:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            statements += [_statement(one) for one in _parsed(source).body]
    return statements, ""


def needed(statements: list[Statement], names: Collection[str]) -> list[str]:
    """Sources of the statements that bind these names, and what those use in turn."""
    wanted: set[str] = set()
    more = {*names, "*"}
    while more:
        wanted |= more
        more = {name for one in statements if one.binds & wanted for name in one.reads} - wanted
    return [one.source for one in statements if one.binds & wanted]


def _parsed(source: str) -> ast.Module:
    """A cell as Python reads it, without the lines that only Jupyter does."""
    lines = source.split("\n")
    while True:
        try:
            return ast.parse("\n".join(lines))
        except SyntaxError as error:
            at = min(error.lineno or 1, len(lines)) - 1
            if not MAGIC.match(lines[at]):
                raise
            lines[at] = lines[at][: -len(lines[at].lstrip())] + "pass"


def _statement(statement: ast.stmt) -> Statement:
    """What a statement binds and reads; it may also put something into what exists."""
    source = ast.unparse(statement)  # fails where expressions nest too deep to be sent on
    tables = [symtable.symtable(source, "<submission>", "exec")]
    top = tables[0].get_symbols()
    binds = {s.get_name() for s in top if s.is_assigned() or s.is_imported()}
    reads = {s.get_name() for s in top if s.is_referenced()}
    while tables:
        inner = tables.pop().get_children()
        reads |= {s.get_name() for table in inner for s in table.get_symbols() if s.is_global()}
        tables += inner
    for node in ast.walk(statement):
        match node:
            case ast.Subscript(ctx=ast.Store()) | ast.Attribute(ctx=ast.Store()):
                binds |= {n.id for n in ast.walk(node) if isinstance(n, ast.Name)} & reads
            case ast.Expr(ast.Call(ast.Attribute(ast.Name(name)))):  # table.append(...)
                binds |= {name} & reads
            case ast.ImportFrom(names=[ast.alias("*")]):
                binds.add("*")
    return Statement(source, set() if isinstance(statement, ast.Delete) else binds, reads)


def _answers(
    name: str, parts: list[Part], statements: list[Statement], seed: int, seconds: float
) -> Iterator[tuple[Part, str]]:
    """Message of each part; a part that hangs or kills its process costs itself alone."""
    while parts:
        todo = [*dict.fromkeys(exercise for exercise, _ in parts)]
        secret = secrets.token_hex()
        task = {"name": name, "seed": seed, "parts": parts, "secret": secret}
        task["sources"] = needed(statements, todo)
        process, lines = _started(task)
        ready, late = False, f"no answer within {seconds:g} seconds"
        try:
            line = lines.get(timeout=START + seconds)
            ready = _message(line, secret, ("", "")) is not None
            while ready and parts:
                line = lines.get(timeout=seconds)
                message = _message(line, secret, parts[0])
                if message is None:
                    break
                yield parts[0], message
                parts = parts[1:]
            fault = "something else than the grader wrote its marks"
            if line is None:
                process.join(seconds)
                code = process.exitcode
                fault = f"its process ended without an answer, exit code {code}"
                fault = late if code is None else fault
        except queue.Empty:
            fault = late
        finally:
            _end(process)
        if ready and parts:
            yield parts[0], fault
            parts = parts[1:]
        elif not ready and len(todo) > 1:  # who needs the definition that hangs or dies?
            for one in todo:
                own = [part for part in parts if part[0] == one]
                yield from _answers(name, own, statements, seed, seconds)
            return
        elif not ready:
            yield from ((part, f"its definitions: {fault}") for part in parts)
            return


def _message(line: bytes | None, secret: str, part: Part) -> str | None:
    """What a line says of a part; None unless it has the secret of the run and names the part."""
    with contextlib.suppress(ValueError, RecursionError):
        match json.loads(line or b""):
            case [str(key), str(exercise), str(which), str(message)]:
                return message if (key, exercise, which) == (secret, *part) else None
    return None


def _started(task: dict[str, Any]) -> tuple[BaseProcess, queue.Queue[bytes | None]]:
    """A process with a task; the lines of its answer as they come, and None at the end."""
    here, there = socket.socketpair()
    lines: queue.Queue[bytes | None] = queue.Queue()

    def listen() -> None:
        with here, here.makefile("rb") as back, contextlib.suppress(OSError):
            while line := back.readline(LINE):
                lines.put(line)
        lines.put(None)

    if sys.platform == "win32":
        context = multiprocessing.get_context("spawn")
    else:
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload([f"course.hidden.{name}" for name in ASSIGNMENTS])
    with there, _no_script():
        process = context.Process(target=worker.work, args=(there, task))
        process.start()
    threading.Thread(target=listen, daemon=True).start()
    return process, lines


@contextlib.contextmanager
def _no_script() -> Iterator[None]:
    """A process that starts runs the script of its parent once more; ours must not."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script


def _end(process: BaseProcess) -> None:
    """End a process with all that it has started."""
    if sys.platform != "win32" and process.pid:
        with contextlib.suppress(ProcessLookupError):  # it leads a group from its first line on
            os.killpg(process.pid, signal.SIGKILL)
    process.kill()
    process.join()
    process.close()
