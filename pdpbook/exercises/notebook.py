"""A notebook run from its top as Jupyter runs it, and the functions that it then holds.

The grader runs submissions with `run`; `graded` shows students what it will find in theirs.
"""

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pdpbook import exercises

__all__ = ["code_of", "graded", "run"]

SECONDS = 20.0  #: limit for a cell
AGG = "agg", "agg"  # what draws pictures that nobody sees
Found = dict[str, tuple[Callable[..., Any], int]]  #: a function by its name, and its cell


def code_of(notebook: str | Path) -> tuple[list[str], str]:
    """The code cells of a notebook file, or why there are none."""
    try:
        cells = json.loads(Path(notebook).read_text(encoding="utf-8-sig"))["cells"]
        return ["".join(c["source"]) for c in cells if c["cell_type"] == "code"], ""
    except OSError as error:
        return [], f"the file cannot be read: {error.strerror}"
    except (ValueError, KeyError, TypeError, RecursionError):
        return [], "the file is not a Jupyter notebook"


def run(
    cells: list[str],
    names: Sequence[str],
    seconds: float = SECONDS,
    skip: Collection[int] = (),
    begin: Callable[[int], Any] | None = None,
) -> tuple[Found, dict[int, str]]:
    """Run the cells in their order: one that raises costs itself, one that hangs is interrupted.

    Commands for a shell are not run, `check` does nothing, and no picture is shown.

    Parameters
    ----------
    cells : list of str
        As `code_of` returns them; numbers of cells count from 0.
    names : sequence of str
        The functions that are wanted.
    seconds : float, default 20.0
        Limit for a cell; without effect on Windows.
    skip : collection of int, default ()
        Cells that are not run.
    begin : callable, optional
        Called with the number of each cell before it is run.

    Returns
    -------
    found : dict
        For each name the last callable that it stood for at the end of a cell, and that cell.
    faults : dict
        For each cell that raised, what it raised.
    """
    shell, found, faults = _shell(), Found(), dict[int, str]()
    vars(exercises).update(dict.fromkeys(("check", "graded"), lambda *args, **named: None))
    for cell in (k for k in range(len(cells)) if k not in skip):
        if begin:
            begin(cell)
        with _limit(seconds):
            done = shell.run_cell(cells[cell], silent=True)
        if error := done.error_before_exec or done.error_in_exec:
            words = "it reached its limit" if isinstance(error, KeyboardInterrupt) else error
            faults[cell] = f"{type(error).__name__}: {words}".partition("\n")[0][:200]
        for name in names:
            value = shell.user_ns.get(name)
            if callable(value) and value is not found.get(name, ("", 0))[0]:
                found[name] = value, cell
    return found, faults


def _shell() -> Any:
    """Jupyter's reader of cells, without screen, history, or a shell of the system."""
    from IPython.core.interactiveshell import InteractiveShell
    from IPython.utils.text import SList
    from traitlets.config import Config

    InteractiveShell.clear_instance()
    config = Config(HistoryManager={"enabled": False})
    shell = InteractiveShell.instance(config=config, ipython_dir=str(Path(".ipython").absolute()))
    for name in ("showtraceback", "showsyntaxerror", "system", "ask_exit"):
        setattr(shell, name, lambda *args, **named: None)
    vars(shell).update(getoutput=lambda *a, **k: SList(), enable_matplotlib=lambda gui=None: AGG)
    return shell


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    """Interrupt what runs after so many seconds, as Jupyter's button does."""
    if not hasattr(signal, "setitimer"):
        yield
        return
    signal.signal(signal.SIGALRM, signal.default_int_handler)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)


def graded(assignment: str, notebook: str | Path | None = None) -> None:
    """Print which functions of your saved notebook a grader finds, and in which cells.

    Parameters
    ----------
    assignment : str
        Its name, such as ``"foundations"``.
    notebook : path, optional
        The file; without it, the one that Jupyter has open, else the assignment's in this folder.
    """
    names = list(exercises.assignment(assignment).exercises)
    path = Path(notebook or os.environ.get("JPY_SESSION_NAME", ""))
    path = path if notebook or path.is_file() else Path(f"{assignment}.ipynb")
    cells, problem = code_of(path)
    if problem:
        print(f"{path}: {problem}; give it as graded({assignment!r}, 'FILE.ipynb')")
        return
    with tempfile.TemporaryDirectory() as folder:
        words = [sys.executable, "-m", __name__, str(path.resolve()), *names]
        settings = {**os.environ, "MPLBACKEND": "agg"}
        done = subprocess.run(words, cwd=folder, env=settings, capture_output=True)
    saved = time.strftime("%X", time.localtime(path.stat().st_mtime))
    print(f"{path.name}, as it was saved at {saved}:")
    if done.returncode:
        print(f"- a cell ended Python itself, exit code {done.returncode}")
        return
    found, faults = json.loads(done.stdout)
    first = [next(iter(cell.strip().splitlines()), "") for cell in cells]
    for name in names:
        cell = found.get(name)
        where = "not found" if cell is None else f"code cell {cell + 1}, {first[cell]!r}"
        print(f"- {name}: {where}")
    for at, fault in faults:
        print(f"- code cell {at + 1}, {first[at]!r}, raised {fault}")


def _main(notebook: str, *names: str) -> None:
    """What `graded` prints, as JSON; what the cells print goes nowhere."""
    with os.fdopen(os.dup(1), "w") as out:
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        found, faults = run(code_of(notebook)[0], names)
        cells = {name: cell for name, (_, cell) in found.items()}
        json.dump([cells, list(faults.items())], out)


if __name__ == "__main__":
    _main(*sys.argv[1:])
