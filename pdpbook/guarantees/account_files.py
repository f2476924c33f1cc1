"""The file of a budget account: what it says, who may write it now, and how names are written.

The file is text, JSON with a checksum. The checksum finds damage, and no forgery: whoever may write
the file may write anything. To read and write it, a process holds a lock of the operating system,
for that moment alone; the lock ends with its process. New content goes to a second file beside the
first, and replaces it when it is whole and on the disk: a process that is killed leaves the old
file or the new one. Every account has a random id, which is in the file and in the name of the
second file: so an account knows its file from that of another with the same people and budgets.
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

WHAT = "pdpbook budget account"  # the first field of every file
FORM = 1  # version of what files look like
#: a file ends with the checksum of all that is before
END = ',\n"sha256": "{}"\n}}\n'
WAIT = 60.0  # seconds to wait for a lock that another process holds
WRITABLE = (
    "text, numbers, True and False, dates, times, spans of time, periods, intervals, and tuples "
    "of these"
)


def new_id() -> str:
    """Return an id that no other account has."""
    return secrets.token_hex(16)


def head(fields: dict[str, Any]) -> str:
    """Return the beginning of a file: the fields that never change."""
    return "{\n" + _lines({"what": WHAT, "form": FORM, "version": __version__, **fields})


def content_of(head: str, spent: Iterable[tuple[Any, ...]], private: bool) -> bytes:
    """Return the whole file, with what was spent and whether that depends on records."""
    changing = _lines({"private": private, "spent": amounts_to_json(spent)})
    body = f"{head},\n{changing}"
    checksum = hashlib.sha256(body.encode()).hexdigest()
    return (body + END.format(checksum)).encode()


def head_of(content: bytes) -> str:
    """Return the beginning of this file: all before its field `private`.

    No text in a field can look like it: in JSON a line break within text is an escape.
    """
    return content.partition(b',\n"private": ')[0].decode()


def _lines(fields: dict[str, Any]) -> str:
    """Return fields as lines of JSON, without the braces around them."""
    return ",\n".join(f"{json.dumps(name)}: {json.dumps(value)}" for name, value in fields.items())


def fields_of(content: bytes, path: str) -> dict[str, Any]:
    """Return the fields of an account file, or raise if it is none, of a later form, or changed."""
    try:
        fields = json.loads(content)
    except ValueError:  # also of bytes that are no text
        fields = None
    is_account = isinstance(fields, dict) and fields.get("what") == WHAT
    begins_like_one = content.startswith(b'{\n"what": ' + json.dumps(WHAT).encode())
    if not is_account and not begins_like_one:
        raise ValueError(f"path must be a file that BudgetAccount.save wrote; {path} is none")
    form = fields.get("form") if is_account else None
    if isinstance(form, int) and form > FORM:
        raise ValueError(
            f"path must be a file of form {FORM} or before; {path} has form {form}, of pdpbook "
            f"{fields.get('version')}: open it with that version or a later one"
        )
    before_checksum, _ = END.split("{}")
    body = content.rpartition(before_checksum.encode())[0]
    as_written = body + END.format(hashlib.sha256(body).hexdigest()).encode()
    has_id = is_account and re.fullmatch("[0-9a-f]{32}", str(fields.get("id"))) is not None
    if not has_id or content != as_written:
        raise ValueError(
            f"path must be a file as BudgetAccount.save wrote it; {path} was cut or changed. Its "
            "account cannot be used: what was spent from it is not known"
        )
    return dict(fields)


# --- amounts --------------------------------------------------------------------------------------


def numbers_to_json(parameters: dict[str, Any]) -> Any:
    """Return the JSON of the parameters of a promise; of a single one, without its name."""
    lists = {name: _without_infinity(np.asarray(value)) for name, value in parameters.items()}
    if len(lists) == 1:
        return next(iter(lists.values()))
    return lists


def numbers_from_json(found: Any) -> list[Any]:
    """Return the parameters of a promise, in their order, from their JSON."""
    values = found.values() if isinstance(found, dict) else [found]
    return [np.asarray(value, dtype=object).astype(float)[()] for value in values]


def _without_infinity(values: Any) -> Any:
    """Return numbers as lists, with text for infinity, which JSON does not have."""
    return np.where(np.isinf(values), "inf", values.astype(object)).tolist()


def amounts_to_json(amounts: Iterable[tuple[Any, ...]]) -> list[Any]:
    """Return the JSON of the amounts of each person: one fraction as text, or a list of them."""
    people = [[str(one) for one in person] for person in amounts]
    return [person[0] if len(person) == 1 else person for person in people]


def amounts_from_json(found: list[Any]) -> list[tuple[Any, ...]]:
    """Return the amounts of each person, from their JSON."""
    amounts = []
    for person in found:
        texts = person if isinstance(person, list) else [person]
        amounts.append(tuple(_amount(text) for text in texts))
    return amounts


def _amount(text: str) -> Fraction | float:
    return math.inf if text == "inf" else Fraction(text)


# --- who may write ----------------------------------------------------------------------------


def create(path: str, content: bytes, account_id: str) -> None:
    """Write a new file, all of it or nothing; it is on the disk when this returns."""
    _locks()  # raises on a system without locks
    with _written_beside(path, content, account_id) as beside, ExitStack() as undo:
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
    """Hold the lock of a file, so that nobody else reads or replaces it, and yield its content."""
    locks = _locks()
    deadline = time.monotonic() + WAIT
    handle = _try_to_lock(path)
    while handle is None:
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"account must not be in use by another process; {path} was, for {WAIT:g} "
                "seconds. Nothing was recorded"
            )
        time.sleep(0.001)
        handle = _try_to_lock(path)
    try:
        with open(handle, "rb", closefd=False) as file:
            content = file.read()
        yield content
    finally:
        locks.flock(handle, locks.LOCK_UN)  # a fork may have the handle as well
        os.close(handle)


def replace(path: str, content: bytes, account_id: str) -> None:
    """Replace the content of a file whose lock is held, all of it or nothing."""
    with _written_beside(path, content, account_id) as beside:
        os.chmod(beside, stat.S_IMODE(os.stat(path).st_mode))
        os.replace(beside, path)
    _sync_folder(path)


@contextmanager
def _written_beside(path: str, content: bytes, account_id: str) -> Iterator[str]:
    """Write a second file to the disk and yield its path, to be moved into the place of the first.

    It is removed if anything fails before it was moved. After that nothing of its name is removed:
    the next process that holds the lock may be writing a file of the same name.
    """
    # Nobody else writes a file of this name: that takes the account, or the lock.
    beside = f"{path}.{account_id}.new"
    _remove(beside)  # what a process left that was killed while it wrote
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
    """Return Python's module for locks on files, or raise where the system has none."""
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
    locks = _locks()
    handle = os.open(path, os.O_RDONLY)
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
    """Return whether a path still leads to the file that was opened."""
    try:
        return os.path.samestat(os.stat(path), os.fstat(handle))
    except FileNotFoundError:
        return False


def _refuse_other_than_files(path: str) -> None:
    """Refuse a path that is no file, or a file with other names, by hard links.

    The file is replaced, so its other names would lead to what was spent before.
    """
    try:
        status = os.lstat(path)
    except FileNotFoundError:
        raise FileNotFoundError(f"path must be an account file; {path} does not exist") from None
    if not stat.S_ISREG(status.st_mode):
        raise ValueError(f"path must be a file of one name; {path} is none")
    if status.st_nlink > 1:
        raise ValueError(f"path must be a file of one name; {path} has hard links")


def _write(handle: int, content: bytes) -> None:
    """Write content to an open file, to the disk, and close it."""
    with open(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())


def _sync_folder(path: str) -> None:
    """Write the folder of a file to the disk, which has the name of the file."""
    folder = os.open(os.path.dirname(path), os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


# --- names --------------------------------------------------------------------------------------


def name_to_json(name: Any) -> Any:
    """Return the JSON of a name: text, numbers and booleans as they are, all else as an object."""
    try:
        encoded = _encoded(name)
        decoded = name_from_json(json.loads(json.dumps(encoded)))
        if same_lists([decoded], [name]):
            return encoded
    except (TypeError, ValueError):
        pass
    raise TypeError(
        f"account must have names that can be written to a file: {WRITABLE}; got {name!r}, of "
        f"type {type(name).__name__}"
    )


def _encoded(name: Any) -> Any:
    """Return the JSON of a name, or raise TypeError if its type has none."""
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
        return {"tuple": [_encoded(entry) for entry in name]}
    if of_pandas(name, "Period"):
        return {"period": name.ordinal, "every": name.freqstr}
    if of_pandas(name, "Interval"):
        ends = [_encoded(name.left), _encoded(name.right)]
        return {"interval": ends, "closed": name.closed}
    raise TypeError


def name_from_json(found: Any) -> Any:
    """Return a name from its JSON."""
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
        lower_end, upper_end = map(name_from_json, value)
        return pandas.Interval(lower_end, upper_end, closed=found["closed"])
    raise ValueError(kind)
