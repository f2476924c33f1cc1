"""No process of a submission outlives its marks, however it was started.

On Linux a process can ask for all orphans among its descendants: whatever loses its parent becomes
its child, in a session of its own or not. So whoever grades ends its new children until there are
none. Elsewhere only the process group of a submission is ended; what left that group goes on.
"""

import contextlib
import ctypes
import os
import signal
import sys
import time
from collections.abc import Iterator
from pathlib import Path

SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER
FOLLOW = 1  # PR_SET_PDEATHSIG
PATIENCE = 10.0  # seconds that ended processes may take to go
Children = set[tuple[int, str]]


def adopt() -> Children:
    """Ask for orphans; returns the children that there are before a submission starts."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    return _children()


def follow() -> None:
    """Let this process be ended when the one that started it ends, however that comes about."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(FOLLOW, signal.SIGKILL, 0, 0, 0)


def leave_when_asked() -> None:
    """Let a request to end, of a terminal that closes, too, end what was started on the way out."""

    def leave(number: int, frame: object) -> None:
        raise SystemExit(128 + number)

    for name in ("SIGTERM", "SIGHUP"):
        if number := getattr(signal, name, None):
            signal.signal(number, leave)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """Let requests to end wait until what is being ended has ended."""
    if sys.platform == "win32":
        yield
        return
    requests = {signal.SIGTERM, signal.SIGHUP, signal.SIGINT}
    before = signal.pthread_sigmask(signal.SIG_BLOCK, requests)
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def end(spared: Children) -> None:
    """End all children but these, and their orphans; `SystemExit` if one cannot be ended.

    A child that has ended is listed until it is waited for here. So of a chain of processes that
    start one another a link is seen, and an empty list means that nobody is left.
    """
    limit = time.monotonic() + PATIENCE
    while left := _children() - spared:
        if time.monotonic() > limit:
            numbers = ", ".join(str(number) for number, _ in sorted(left))
            raise SystemExit(f"course: processes of a submission cannot be ended: {numbers}")
        for number, _ in left:
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(number, signal.SIGKILL)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(number, os.WNOHANG)
        time.sleep(0.002)


def _children() -> Children:
    """Number and start of each child of this process, ended ones too."""
    found, own = set(), str(os.getpid())
    for place in Path("/proc").glob("[0-9]*/stat") if sys.platform == "linux" else ():
        with contextlib.suppress(OSError):  # gone meanwhile
            words = place.read_text(errors="replace").rpartition(")")[2].split()
            if words[1] == own:
                found.add((int(place.parent.name), words[19]))
    return found
