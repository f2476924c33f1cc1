"""A submission in a process of its own, as the grader calls it: `worker` is the other end.

Processes are forked from one that has imported what notebooks import and runs no submission, so
that only the first start is slow.
"""

import contextlib
import itertools
import math
import multiprocessing
import multiprocessing.forkserver
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from functools import partial
from multiprocessing.process import BaseProcess
from types import ModuleType
from typing import Any

import numpy as np

from course import orphans, worker
from course.plain import decode, hand, hear, raised

START = 60.0  # seconds that a process may take to import the package
GRACE = 1.0  # seconds that a cell may take to stop after its limit, or a process to go
RESTARTS = 20  # cells of a notebook that may end its process
CALLS = 5  # times the limit of a call that all calls of a property may take: machines are busy
SILENT = 2  # cells without an answer that end a notebook
NUMBERS = itertools.count()
LIBRARIES = ["course.worker", "matplotlib.pyplot", "pandas", "scipy.stats", "IPython"]


class Lost(BaseException):
    """A process gave no answer; no property catches this."""


class Late(Lost):
    """It gave none within its limit."""


class Submission:
    """The functions of a notebook by name; a process that hangs or dies is started anew.

    Parameters
    ----------
    cells : list of str
        The code of the notebook.
    names : list of str
        The functions that are wanted.
    seconds : float
        Limit for each cell, and for each call of a function.
    """

    def __init__(self, cells: list[str], names: list[str], seconds: float):
        self._cells, self._seconds = cells, seconds
        self._skip: list[int] = []
        self._names = names
        self._task = {"names": names, "seconds": seconds, "skip": self._skip}
        self._process: BaseProcess | None = None
        self._held: dict[int, tuple[int, np.random.Generator]] = {}
        self._left = seconds
        self.found: dict[str, int] = {}  #: cells of the functions that there are
        self.faults: dict[int, str] = {}  #: what cells raised
        self.silent = 0  #: functions that gave no answer

    def __enter__(self) -> "Submission":
        try:
            self._start()
        except BaseException:  # a request to end while cells run: nobody else ends the process then
            self._end()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._end()

    def function(self, name: str, seconds: float = math.inf) -> Callable[..., Any]:
        """A function of the notebook, with a new limit for its calls."""
        self._left, self._held = min(seconds, CALLS * self._seconds), {}

        return partial(self._call, name)  # no function of ours: its lines are nobody's answer

    # --- calls ------------------------------------------------------------------------------------

    def _call(self, name: str, *given: Any) -> Any:
        """What a function of the notebook returns; what it raises is raised."""
        if self._process is None:
            left = self._left
            self._start()
            self._left = left
        if name not in self.found:
            raise self._lost("the notebook gave it once, and not again")
        used = [one for one in given if isinstance(one, np.random.Generator)]
        kept = self._kept(given)
        plain = [None if place in kept else one for place, one in enumerate(given)]
        self._hand((name, plain, kept))
        while True:
            with self._no_nonsense():
                head, arrays = self._hear(self._seconds)
                if len(head) == 1:
                    _, number, arguments = head[0]
                    function, arguments = given[number], list(decode(arguments, arrays))
                else:
                    (kind, *value), changed, states = head
                    found = decode(value[0], arrays) if kind == "value" else raised(*value)
                    for k, one in changed:
                        _change(given[k], decode(one, arrays))
                    for rng, state in zip(used, states, strict=True):
                        rng.bit_generator.state = state
                    break
            self._reply(function, arguments)
        if isinstance(found, Exception) and kind == "raised":
            raise found
        return found

    def _kept(self, given: tuple[Any, ...]) -> dict[int, tuple[int, Any]]:
        """Arguments that stay here, by place: the number of each, and where a generator is now."""
        kept: dict[int, tuple[int, Any]] = {}
        for place, one in enumerate(given):
            if isinstance(one, np.random.Generator) and id(one) in self._held:
                kept[place] = self._held[id(one)][0], one.bit_generator.state
            elif isinstance(one, np.random.Generator):  # its seed, too: it may have children
                kept[place] = next(NUMBERS), one.bit_generator
                self._held[id(one)] = kept[place][0], one
            elif callable(one):
                kept[place] = place, None
        return kept

    def _reply(self, function: Callable[..., Any], arguments: list[Any]) -> None:
        """Call a function of a property for the submission."""
        try:
            value = function(*arguments)
        except Exception as error:  # it must be of a class that both sides know
            kind = type(error) if type(error).__module__ == "builtins" else ValueError
            value = kind(str(error))
        rngs = [one for one in arguments if isinstance(one, np.random.Generator)]
        self._hand((value, [one.bit_generator.state for one in rngs]))

    def _hand(self, value: Any) -> None:
        """Send something to the process."""
        self._line.settimeout(max(min(self._left, self._seconds), GRACE))
        try:
            hand(self._line, value)
        except OSError:
            raise self._lost(f"its process took no call, exit code {self._code()}") from None

    def _hear(self, most: float = math.inf) -> tuple[Any, list[bytes]]:
        """The next words of the process, waited for no longer than is left, nor than `most`."""
        start = time.monotonic()
        limit = min(self._left, most)
        try:
            return hear(partial(self._read, start + limit))
        except TimeoutError:
            self._end()
            whole = self._seconds if limit == most or most == math.inf else CALLS * self._seconds
            raise Late(f"no answer within {whole:g} seconds") from None
        except (EOFError, OSError):
            code = self._code()
            raise self._lost(f"its process ended without an answer, exit code {code}") from None
        finally:
            self._left -= time.monotonic() - start

    def _code(self) -> int | None:
        """The exit code of a process that says no more."""
        if self._process is None:
            return None
        self._process.join(GRACE)
        return self._process.exitcode

    def _read(self, end: float, size: int) -> bytes:
        while len(self._come) < size:
            self._line.settimeout(max(end - time.monotonic(), 1e-3))
            part = self._line.recv(2**20)
            if not part:
                raise EOFError
            self._come += part
        parts = bytes(self._come[:size])
        del self._come[:size]
        return parts

    @contextlib.contextmanager
    def _no_nonsense(self) -> Iterator[None]:
        """Whatever a submission sends, it is refused, or read as plain data."""
        try:
            yield
        except Exception:
            raise self._lost("what came back was not plain data") from None

    def _lost(self, words: str) -> Lost:
        self._end()
        return Lost(words)

    # --- the process ------------------------------------------------------------------------------

    def _start(self) -> None:
        """Run the notebook; a cell that ends its process or cannot be interrupted is left out."""
        late = 0
        while True:
            self._open()
            at, self._left = -1, START
            try:
                with self._no_nonsense():
                    while isinstance(head := self._hear()[0], int):
                        at, self._left = self._cell(head, at), self._seconds + GRACE
                    found, faults = head
                    if not found.keys() <= set(self._names):
                        raise ValueError("a name was not asked for")
                    self.found = {name: self._cell(cell) for name, cell in found.items()}
                    self.faults |= {self._cell(cell): str(fault)[:200] for cell, fault in faults}
                return
            except Lost as lost:
                late += isinstance(lost, Late)
                # not a cell's doing, or too many
                if at < 0 or late == SILENT or len(self._skip) == RESTARTS:
                    self.found, self.faults = {}, {max(at, 0): str(lost)}
                    return
                self._skip.append(at)
                self.faults[at] = str(lost)

    def _cell(self, number: Any, after: int = -1) -> int:
        """The number of a cell that was run after another; the process may say anything."""
        known = type(number) is int and after < number < len(self._cells)
        if not known or number in self._skip:
            raise ValueError(f"there was no cell {number!r}")
        return int(number)

    def _open(self) -> None:
        """A process with a folder of its own."""
        self._folder = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        self._line, there = socket.socketpair()
        self._come = bytearray()
        if sys.platform == "win32":
            context: Any = multiprocessing.get_context("spawn")
        else:
            context = multiprocessing.get_context("forkserver")
            context.set_forkserver_preload(LIBRARIES)
        given = there, self._folder.name, self._cells, self._task
        with there, _no_script():
            if sys.platform != "win32":
                multiprocessing.forkserver.ensure_running()
            self._spared = orphans.adopt()
            self._process = context.Process(target=worker.work, args=given)
            self._process.start()

    def _end(self) -> None:
        """End the process and all that it has started, whatever asks this one to end meanwhile."""
        with orphans.undisturbed():
            self._end_all()

    def _end_all(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        if sys.platform != "win32" and process.pid:
            with contextlib.suppress(ProcessLookupError):  # it leads a group from its first line on
                os.killpg(process.pid, signal.SIGKILL)
        process.kill()
        process.join()
        process.close()
        self._line.close()
        orphans.end(self._spared)
        self._folder.cleanup()


def _change(here: Any, there: Any) -> None:
    """Change an argument as the submission changed its own: a property gives copies away."""
    if isinstance(here, tuple):
        for one, new in zip(here, there, strict=True):
            _change(one, new)
    elif isinstance(here, np.ndarray):
        here.resize(there.shape, refcheck=False)
        here[...] = there
    elif isinstance(here, list):
        here[:] = there


@contextlib.contextmanager
def _no_script() -> Iterator[None]:
    """A process that starts runs the script of its parent once more; ours must not."""
    script = sys.modules["__main__"]
    sys.modules["__main__"] = ModuleType("__main__")
    try:
        yield
    finally:
        sys.modules["__main__"] = script
