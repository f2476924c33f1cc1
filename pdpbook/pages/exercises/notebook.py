"""A notebook run from its top as Jupyter runs it, and the functions that it then holds: for the
grader by `run`, for students by `graded`; a failed demand as students read it."""

import inspect
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from collections import deque
from collections.abc import Callable, Collection, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

from pdpbook.pages import exercises

LONG, WIDE = 40, 60  #: entries of an array, and characters of a line, that are written out


class Calls:
    """An answer that notes its calls, each as it can be pasted, and what came back."""

    def __init__(self, name: str, answer: Callable[..., Any], most: int | None = None):
        self.name, self.answer, self.notes = name, answer, deque[str](maxlen=most)
        self.rng: Any = None  #: the generator of the last call

    def __call__(self, *args: Any) -> Any:
        call = self._call(args)  # before the answer can change its arguments
        try:
            found = self.answer(*args)
        except Exception as error:
            self._note(call, f"it raised {account(error, self.answer)}")
            raise
        self._note(call, f"it gave {_short(found)}{_odd(found)}")
        return found

    def _note(self, call: str, result: str) -> None:
        self.notes.append("\n# ".join([call, *result.split("\n")]))

    def _call(self, args: tuple[Any, ...]) -> str:
        names, line = [""] * len(args), ""
        if isinstance(self.answer, FunctionType) and self.answer.__code__.co_argcount >= len(args):
            names = [f"{name}=" for name in self.answer.__code__.co_varnames]
        for rng in args:
            if isinstance(rng, np.random.Generator) and rng is not self.rng:
                self.rng = rng
                seed = rng.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
                line = f"rng = np.random.default_rng({seed})\n"
        parts = [name + written(one) for name, one in zip(names, args, strict=False)]
        between = ", " if sum(map(len, parts)) < WIDE else ",\n    "
        return f"{line}{self.name}({between.join(parts)})"


def written(value: Any) -> str:
    """A value as it can be pasted, unless it is long."""
    if isinstance(value, np.ndarray) and value.size <= LONG:
        return f"np.array({value.tolist()})" if value.size else f"np.zeros({value.shape})"
    if isinstance(value, tuple):
        return f"({', '.join(map(written, value))})"
    short = "rng" if isinstance(value, np.random.Generator) else _short(value)
    return str(getattr(value, "__name__", short))


def _short(value: Any) -> str:
    with np.printoptions(threshold=LONG, edgeitems=2, linewidth=WIDE):
        return (repr if isinstance(value, np.ndarray) else str)(value)[:500]


def _odd(value: Any) -> str:
    """What to say of a value that is neither numbers nor an array of them."""
    if value is None:
        return ", as a function does without a return"
    loose = hasattr(value, "__iter__") and not hasattr(value, "__getitem__")
    if loose or hasattr(value, "toarray") or isinstance(value, np.matrix):
        return f"\na {type(value).__name__}, where a number, list or plain array is wanted"
    return ""


def as_written(text: str) -> Callable[..., Any]:
    """A function that is shown as it is written."""
    function: Callable[..., Any] = eval(text, {"np": np})
    function.__name__ = text
    return function


def account(error: Exception, answer: Callable[..., Any] | None = None) -> str:
    """An error in a line, and below it the last line of an answer's notebook on its way."""
    line = f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0][:200]}".rstrip(": ")
    code = getattr(answer, "__code__", None)
    for frame in reversed(traceback.extract_tb(error.__traceback__)):
        if code and Path(frame.filename).parent == Path(code.co_filename).parent:  # any cell
            return f"{line}\nin {frame.name}, line {frame.lineno}: {frame.line}"
    return line


SECONDS = 20.0  #: limit for a cell
LATE = 2  #: cells that reach their limit before the rest is not run
NOT_RUN = "not run: two cells before it reached their limit"
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

    Commands for a shell and cells such as `%%bash` are not run, `check` does nothing, and pictures
    are not shown. Cells, as `code_of` returns them, count from 0; those of `skip` are not run. The
    limit of `seconds` for a cell is without effect on Windows; after two that reach it the rest is
    not run. `begin` is called with the number of each before it is run. Returns, for each of
    `names`, the last callable that it stood for at the end of a cell, with that cell; and, for each
    cell that raised, what it raised.
    """
    shell, found, faults, late = _shell(), Found(), dict[int, str](), 0
    vars(exercises).update(dict.fromkeys(("check", "graded"), lambda *args, **named: None))
    for cell in (k for k in range(len(cells)) if k not in skip):
        if late == LATE:
            faults[cell] = NOT_RUN
            continue
        if begin:
            begin(cell)
        with _limit(seconds):
            done = shell.run_cell(cells[cell], silent=True)
        if error := done.error_before_exec or done.error_in_exec:
            late += isinstance(error, KeyboardInterrupt)
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
    from IPython.core.magics.script import ScriptMagics
    from IPython.utils.text import SList
    from traitlets.config import Config

    ScriptMagics.shebang = lambda self, line, cell: None  # type: ignore[method-assign]
    InteractiveShell.clear_instance()
    config = Config(HistoryManager={"enabled": False})
    shell = InteractiveShell.instance(config=config, ipython_dir=str(Path(".ipython").absolute()))
    for name in ("showtraceback", "showsyntaxerror", "system", "ask_exit"):
        setattr(shell, name, lambda *args, **named: None)
    vars(shell).update(
        getoutput=lambda *a, **k: SList(), enable_matplotlib=lambda gui=None: ("agg", "agg")
    )
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


def graded(notebook: str | Path, *functions: str) -> None:
    """Print what a grader finds of your functions when it runs your saved notebook.

    Parameters
    ----------
    notebook : path
        The file, unless Jupyter says which one it has open.
    functions : str
        The names of the functions that are graded.
    """
    path = Path(os.environ.get("JPY_SESSION_NAME", ""))
    path = path if path.is_file() else Path(notebook)
    if problem := code_of(path)[1]:
        print(f"{path}: {problem}; put the name of your file into graded('FILE.ipynb', ...)")
        return
    ended = list[int]()
    while True:
        with tempfile.TemporaryDirectory() as folder:
            words = [sys.executable, "-m", __name__, str(path.resolve()), str(ended), *functions]
            done = subprocess.run(words, cwd=folder, capture_output=True, text=True)
        if done.stdout:
            print(done.stdout, end="")
            return
        ended.append(int(done.stderr.split()[-1]))  # the last cell that began


def _main(notebook: str, ended: str, *names: str) -> None:
    """Print what `graded` tells, and the cells that begin apart; what cells print goes nowhere."""
    cells, skip = code_of(notebook)[0], json.loads(ended)
    os.environ["MPLBACKEND"] = "agg"
    with os.fdopen(os.dup(1), "w") as out, os.fdopen(os.dup(2), "w") as err:
        for place in (1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), place)
        found, faults = run(cells, names, skip=skip, begin=partial(print, file=err, flush=True))
        saved = time.strftime("%X", time.localtime(Path(notebook).stat().st_mtime))
        print(f"{Path(notebook).name}, as it was saved at {saved}:", file=out)
        for name in names:
            told = _told(cells, name, *found[name]) if name in found else "not found"
            print(f"- {name}: {told}", file=out)
        faults |= dict.fromkeys(skip, "it ended Python; the grader leaves it out, too")
        for at, fault in sorted(faults.items()):
            print(f"- the cell {cells[at].strip().splitlines()[0]!r}: {fault}", file=out)


def _told(cells: list[str], name: str, answer: Any, at: int) -> str:
    """The line that defines a function, how many cells do, and why it is no answer."""
    define = rf"(?m)^.*\b(?:def|class|import)\b.*\b{name}\b.*|^{name} *=.*"
    where = {k: m[0].strip() for k, cell in enumerate(cells) if (m := re.search(define, cell))}
    line = repr(where.setdefault(at, cells[at].strip().splitlines()[0]))
    number = f"{len(where)} cells define it, and number {sorted(where).index(at) + 1} counts"
    no_value = inspect.iscoroutinefunction(answer) or inspect.isgeneratorfunction(answer)
    used = getattr(getattr(answer, "__code__", None), "co_names", ())
    odd = {
        number: len(where) > 1,
        "a class is no answer": isinstance(answer, type),
        "with async or yield it returns no value": no_value,
        "it still raises NotImplementedError": "NotImplementedError" in used,
    }
    return "; ".join([line, *(words for words, so in odd.items() if so)])


if __name__ == "__main__":
    _main(*sys.argv[1:])
