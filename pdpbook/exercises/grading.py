"""The grader: the functions of a submitted notebook, in a process of their own with time limits.

Only imports, functions, classes and constants of the notebook are used, so that deleted or edited
tests, stray cells and wrong metadata do not matter. A constant is what is assigned to a name and
needs no function of the notebook. Not a sandbox. `worker` is the other end.
"""

from __future__ import annotations

import ast
import contextlib
import json
import math
import os
import queue
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import IO

import pandas as pd

from pdpbook.exercises.properties import POINTS, assignment, seed_of

__all__ = ["grade"]

START = 60.0  # seconds more that a process may take to import the package


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
    names = {name for statement in statements for name in _given(statement)}
    todo = [exercise for exercise in exercises if exercise in names]
    if not problem and not todo:
        problem = f"it holds none of the functions of {name}; is it another assignment?"
    sources = [ast.unparse(statement) for statement in statements]
    answered = dict(_answers(name, todo, sources, seed, seconds)) if todo else {}
    rows = []
    for exercise in exercises:
        missing = problem or f"there is no function {exercise} that Python can read"
        for part, points in POINTS.items():
            message = answered.get((exercise, part), missing)
            earned = 0 if message else points
            rows.append((exercise, part, earned, points, message))
    return pd.DataFrame(rows, columns=["exercise", "part", "points", "out_of", "message"])


def definitions(notebook: Path) -> tuple[list[ast.stmt], str]:
    """The definitions of a notebook, and why there are none; a broken cell costs only itself."""
    try:
        cells = json.loads(notebook.read_text(encoding="utf-8"))["cells"]
        sources = ["".join(c["source"]) for c in cells if c["cell_type"] == "code"]
    except OSError as error:
        return [], f"the file cannot be read: {error.strerror}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return [], "the file is not a Jupyter notebook"
    statements: list[ast.stmt] = []
    for source in sources:
        with contextlib.suppress(SyntaxError, ValueError, RecursionError, MemoryError):
            cell = ast.parse(re.sub(r"^[ \t]*[%!].*$", "", source, flags=re.M))
            ast.unparse(cell)  # fails where statements nest too deep to be sent on
            statements += cell.body
    unknown = {name for statement in statements for name in _given(statement)}
    kept = []
    for statement in statements:
        if _is_definition(statement, unknown):
            kept.append(statement)
        else:
            names = (n for n in ast.walk(statement) if isinstance(n, ast.Name))
            unknown |= {name.id for name in names if isinstance(name.ctx, ast.Store)}
    return kept, ""


def _given(statement: ast.stmt) -> set[str]:
    """Names that a statement defines as functions or classes."""
    if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
        return {statement.name}
    if isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Lambda):
        return {target.id for target in statement.targets if isinstance(target, ast.Name)}
    return set()


def _is_definition(statement: ast.stmt, unknown: set[str]) -> bool:
    """Whether a statement is kept; a constant must not run, or need, what is not known here."""
    if isinstance(statement, ast.Assign):
        lazy = isinstance(statement.value, ast.Lambda)
        used = {n.id for n in ast.walk(statement.value) if isinstance(n, ast.Name)}
        named = all(isinstance(target, ast.Name) for target in statement.targets)
        return named and (lazy or not used & unknown)
    kinds = (ast.Import, ast.ImportFrom, ast.FunctionDef, ast.ClassDef)
    return isinstance(statement, kinds)


def _answers(
    name: str, todo: list[str], sources: list[str], seed: int, seconds: float
) -> Iterator[tuple[tuple[str, str], str]]:
    """Message of each part; a part that hangs or kills its process costs itself alone."""
    parts = [(exercise, part) for exercise in todo for part in POINTS]
    while parts:
        task = {"name": name, "sources": sources, "seed": seed, "parts": parts}
        process = subprocess.Popen(
            [sys.executable, "-m", "pdpbook.exercises.worker"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        lines = _lines(process, json.dumps(task).encode())
        ready = False
        try:
            ready = lines.get(timeout=START + seconds) is not None
            message = lines.get(timeout=seconds) if ready else None
            while message is not None:
                yield parts.pop(0), json.loads(message)
                message = lines.get(timeout=seconds) if parts else None
            fault = f"its process ended without an answer, exit code {process.wait(seconds)}"
        except (queue.Empty, subprocess.TimeoutExpired):
            fault = f"no answer within {seconds:g} seconds"
        finally:
            _end(process)
        if not ready:  # what stands outside of functions hangs or dies, and would again
            yield from ((part, f"its definitions: {fault}") for part in parts)
            return
        if parts:
            yield parts.pop(0), fault


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with all that it has started."""
    if sys.platform == "win32":
        process.kill()
    else:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def _lines(process: subprocess.Popen[bytes], task: bytes) -> queue.Queue[bytes | None]:
    """Send a task; the lines of the answer as they come, and None at the end."""
    lines: queue.Queue[bytes | None] = queue.Queue()

    def talk(there: IO[bytes], back: IO[bytes]) -> None:
        with contextlib.suppress(OSError):  # a process that died reads nothing
            there.write(task)
            there.close()
        with back:
            for line in back:
                lines.put(line)
        lines.put(None)

    threading.Thread(target=talk, args=(process.stdin, process.stdout), daemon=True).start()
    return lines
