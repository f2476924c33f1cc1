"""An account in a file: what is written there, who may write now, and how a name is written.

The file is text, JSON with a checksum, which finds damage and no forgery: who may write the file
may write anything. A lock of the operating system belongs to whoever reads and writes, for that
moment alone, and ends with its owner. What is written goes to a second file beside it, which takes
the place of the first when it is whole and on the disk: a process that is killed leaves the old
file or the new one. Every account has a random id, by which it knows its file from that of another
account with the same people and budgets, and which the second file has in its name.
"""

from __future__ import annotations

import hashlib
import json
import math
import os
import re
import secrets
import stat
import time
from collections.abc import Iterable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Any

import numpy as np

from pdpbook import __version__
from pdpbook._extras import extra, of_pandas
from pdpbook.names import same_lists

WHAT, FORM = "pdpbook budget account", 1
#: a file ends with its checksum, of all that is before
END = ',\n"sha256": "{}"\n}}\n'
WAIT = 60.0  # seconds for another process to finish
WRITABLE = (
    "text, numbers, True and False, dates, times, spans of time, periods, intervals, and tuples "
    "of these"
)


def new_id() -> str:
    """Return an id that no other account has."""
    return secrets.token_hex(16)


def head(fields: dict[str, Any]) -> str:
    """Return how a file begins, with what never changes."""
    return "{\n" + _lines({"what": WHAT, "form": FORM, "version": __version__, **fields})


def content_of(head: str, spent: Iterable[tuple[Any, ...]], private: bool) -> bytes:
    """Return the whole file, with what was spent and whether that depends on records."""
    body = f"{head},\n{_lines({'private': private, 'spent': amounts_to_json(spent)})}"
    return (body + END.format(hashlib.sha256(body.encode()).hexdigest())).encode()


def head_of(content: bytes) -> str:
    """Return how this file begins; a line break in the text of JSON is an escape."""
    return content.partition(b',\n"private": ')[0].decode()


def _lines(fields: dict[str, Any]) -> str:
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items())


def fields_of(content: bytes, path: str) -> dict[str, Any]:
    """Return the fields of an account file; what is none, later, cut or changed is refused."""
    try:
        fields = json.loads(content)
    except ValueError:  # of bytes that are no text, too
        fields = None
    known = isinstance(fields, dict) and fields.get("what") == WHAT
    if not known and not content.startswith(b'{\n"what": ' + json.dumps(WHAT).encode()):
        raise ValueError(f"path must be a file that BudgetAccount.save wrote; {path} is none")
    form = fields.get("form") if known else None
    if isinstance(form, int) and form > FORM:
        raise ValueError(
            f"path must be a file of form {FORM} or before; {path} has form {form}, of pdpbook "
            f"{fields.get('version')}: open it with that version or a later one"
        )
    body = content.rpartition(END.partition("{}")[0].encode())[0]
    known = known and re.fullmatch("[0-9a-f]{32}", str(fields.get("id"))) is not None
    if not known or content != body + END.format(hashlib.sha256(body).hexdigest()).encode():
        raise ValueError(
            f"path must be a file as BudgetAccount.save wrote it; {path} was cut or changed. Its "
            "account cannot be used: what was spent from it is not known"
        )
    return dict(fields)


# --- amounts --------------------------------------------------------------------------------------


def numbers_to_json(parameters: dict[str, Any]) -> Any:
    """Return what stands for the numbers of a promise: of one parameter the numbers themselves."""
    found = {name: _without_infinity(np.asarray(value)) for name, value in parameters.items()}
    return next(iter(found.values())) if len(found) == 1 else found


def numbers_from_json(found: Any) -> list[Any]:
    """Return the parameters of a promise, in their order."""
    values = found.values() if isinstance(found, dict) else [found]
    return [np.asarray(value, dtype=object).astype(float)[()] for value in values]


def _without_infinity(values: Any) -> Any:
    """Return numbers as lists, with text for infinity, which JSON does not have."""
    return np.where(np.isinf(values), "inf", values.astype(object)).tolist()


def amounts_to_json(amounts: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return what stands for the amounts of each person: of one a fraction, of more a list."""
    people = [[str(one) for one in person] for person in amounts]
    return [person[0] if len(person) == 1 else person for person in people]


def amounts_from_json(found: list[Any]) -> list[tuple[Any, ...]]:
    """Return the amounts of each person."""
    people = [person if isinstance(person, list) else [person] for person in found]
    return [
        tuple(math.inf if one == "inf" else Fraction(one) for one in person) for person in people
    ]


# --- who may write ----------------------------------------------------------------------------


def create(path: str, content: bytes, own_id: str) -> None:
    """Write a new file, all of it or nothing, on the disk when this returns."""
    _locks()
    with _written_beside(path, content, own_id) as beside, ExitStack() as undo:
        try:
            os.link(beside, path)
        except FileExistsError:
            raise FileExistsError(
                f"path must be new; {path} exists. BudgetAccount.open goes on with an account"
            ) from None
        undo.callback(os.unlink, path)
        os.unlink(beside)
        _sync_folder(path)
        undo.pop_all()


@contextmanager
def locked(path: str) -> Iterator[bytes]:
    """Hold the lock of a file, which nobody else then reads or replaces, and yield what it says."""
    locks, deadline = _locks(), time.monotonic() + WAIT
    while (handle := _try_to_lock(path)) is None:
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"account must not be in use by another process; {path} was, for {WAIT:g} "
                "seconds. Nothing was recorded"
            )
        time.sleep(0.001)
    try:
        with open(handle, "rb", closefd=False) as file:
            content = file.read()
        yield content
    finally:
        locks.flock(handle, locks.LOCK_UN)  # a fork may have the handle as well
        os.close(handle)


def replace(path: str, content: bytes, own_id: str) -> None:
    """Put new content in the place of a file whose lock is held, all of it or nothing."""
    with _written_beside(path, content, own_id) as beside:
        os.chmod(beside, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(beside, path)
    _sync_folder(path)


@contextmanager
def _written_beside(path: str, content: bytes, own_id: str) -> Iterator[str]:
    """Yield a second file that is on the disk, to be moved into the place of the first.

    What failed is removed. What was moved is not looked for: once it is in its place, the next who
    has the lock may be writing a file of the same name.
    """
    beside = f"{path}.{own_id}.new"  # nobody else's: who writes there has the account, or the lock
    _remove(beside)  # of one that was killed while it wrote
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with ExitStack() as undo:
        undo.callback(_remove, beside)
        _write(handle, content)
        yield beside
        undo.pop_all()


def _remove(path: str) -> None:
    """Remove a file if it is there."""
    with suppress(FileNotFoundError):
        os.unlink(path)


def _locks() -> Any:
    try:
        import fcntl
    except ImportError:
        raise OSError(
            "an account in a file needs the locks of Linux or macOS; this system has none, and "
            "two processes could spend the same budget. Keep the account in one process"
        ) from None
    return fcntl


def _try_to_lock(path: str) -> int | None:
    """Return the file, opened and locked, or None if another process holds it."""
    _refuse_other_than_files(path)
    locks, handle = _locks(), os.open(path, os.O_RDONLY)
    with ExitStack() as undo:
        undo.callback(os.close, handle)
        try:
            locks.flock(handle, locks.LOCK_EX | locks.LOCK_NB)
        except BlockingIOError:
            return None
        if not _is_still(path, handle):  # replaced before the lock was ours
            return None
        undo.pop_all()
    return handle


def _is_still(path: str, handle: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def _refuse_other_than_files(path: str) -> None:
    """Refuse what is not one file of one name: the others would keep what was spent before."""
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"path must be an account file; {path} does not exist") from None
    if not stat.S_ISREG(found.st_mode) or found.st_nlink > 1:
        kind = "has hard links" if stat.S_ISREG(found.st_mode) else "is none"
        raise ValueError(f"path must be a file of one name; {path} {kind}")


def _write(handle: int, content: bytes) -> None:
    with open(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: str) -> None:
    """Bring the name of a file to the disk as well."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


# --- names --------------------------------------------------------------------------------------


def name_to_json(name: Any) -> Any:
    """Return what stands for a name in the file: of text, numbers and booleans the name itself."""
    try:
        found = _encoded(name)
        if same_lists([name_from_json(json.loads(json.dumps(found)))], [name]):
            return found
    except (TypeError, ValueError):
        pass
    raise TypeError(
        f"account must have names that can be written to a file: {WRITABLE}; got {name!r}, of "
        f"type {type(name).__name__}"
    )


def _encoded(name: Any) -> Any:
    if isinstance(name, (bool, int, str)):
        return name
    if isinstance(name, float):
        return name if math.isfinite(name) else {"float": repr(name)}
    if isinstance(name, datetime):  # one of pandas, too
        return {"time": name.isoformat()}
    if isinstance(name, date):
        return {"date": name.isoformat()}
    if isinstance(name, timedelta):
        return {"span": extra("pandas").Timedelta(name).isoformat()}
    if isinstance(name, tuple):
        return {"tuple": [_encoded(part) for part in name]}
    if of_pandas(name, "Period"):
        return {"period": name.ordinal, "every": name.freqstr}
    if of_pandas(name, "Interval"):
        return {"interval": [_encoded(name.left), _encoded(name.right)], "closed": name.closed}
    raise TypeError


def name_from_json(found: Any) -> Any:
    """Return the name that an entry stands for."""
    if not isinstance(found, dict):
        return found
    kind, value = next(iter(found.items()))
    if kind == "float":
        return float(value)
    if kind == "date":
        return date.fromisoformat(value)
    if kind == "tuple":
        return tuple(map(name_from_json, value))
    pandas = extra("pandas")
    if kind == "time":
        return pandas.Timestamp(value)
    if kind == "span":
        return pandas.Timedelta(value)
    if kind == "period":
        return pandas.Period(ordinal=value, freq=found["every"])
    if kind == "interval":
        left, right = map(name_from_json, value)
        return pandas.Interval(left, right, closed=found["closed"])
    raise ValueError(kind)
