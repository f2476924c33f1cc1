"""Write down which files of ours a process opens, and in which it calls a function.

Python imports this first where `tools/trace_keys.py` puts it on the path. What runs because a
module is imported does not count: a package imports all its modules, whichever of them is needed.
"""

import os
import sys
import threading
from types import FrameType

ROOT = os.environ["PDPBOOK_TRACED"] + os.sep
LOG = os.open(os.environ["PDPBOOK_TRACE"], os.O_WRONLY | os.O_APPEND | os.O_CREAT)
OURS = tuple(os.path.join(ROOT, name, "") for name in ("pdpbook", "lab", "course"))
seen = set()


def note(kind: str, file: str) -> None:
    """Write one line, at once: a process may end without a last word."""
    if (kind, file) not in seen:
        seen.add((kind, file))
        os.write(LOG, f"{kind} {file}\n".encode())


def on_event(event: str, arguments: tuple) -> None:
    """Note a file that is opened, but not to import it."""
    if event == "open" and isinstance(arguments[0], str):
        file = os.path.abspath(arguments[0])
        if not file.endswith((".py", ".pyc")):
            note("opened", file)


def while_importing(frame: FrameType | None) -> bool:
    """Return whether a module of ours is being imported."""
    while frame is not None:
        code = frame.f_code
        if code.co_name == "<module>" and code.co_filename.startswith(OURS):
            return True
        frame = frame.f_back
    return False


def on_call(frame: FrameType, event: str, argument: object) -> None:
    """Note the file of a function that is called."""
    code = frame.f_code
    if event != "call" or code in seen:
        return
    if code.co_filename.startswith(OURS):
        if while_importing(frame):
            return
        note("called", code.co_filename)
    seen.add(code)


sys.addaudithook(on_event)
threading.setprofile(on_call)
sys.setprofile(on_call)
