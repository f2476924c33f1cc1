"""Plain data between the grader and a submission: numbers, text, arrays, and what is made of them.

What comes from a submission is read by `decode` alone: no object of a student's gets into the
process that judges. What goes there is pickled.
"""

import builtins
import json
import math
import pickle
import socket
import struct
import sys
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np

LARGEST = 2**29  # bytes of an answer
DEEPEST = 20  # lists in lists


# --- values --------------------------------------------------------------------------------------


def encode(value: Any, arrays: list[bytes], depth: int = 0) -> Any:
    """A value as JSON takes it, the bytes of its arrays apart."""
    if depth > DEEPEST:
        raise TypeError("it goes too deep")
    if value is None or type(value) in (bool, int, float, str):
        return value
    if isinstance(value, list | tuple):
        parts = [encode(part, arrays, depth + 1) for part in value]
        return {"tuple" if isinstance(value, tuple) else "list": parts}
    if isinstance(value, np.random.Generator):
        return {"generator": value.bit_generator.state}
    if type(value) is dict:
        return {"dict": encode(list(value.items()), arrays, depth + 1)}
    cvxpy = sys.modules.get("cvxpy")
    if cvxpy and isinstance(value, cvxpy.Problem):
        convex = bool(value.is_dcp())
        if convex:
            value.solve(solver="CLARABEL")
        found = {name: (one.shape, one.value) for name, one in value.var_dict.items()}
        return {"program": encode([convex, value.value, found], arrays, depth + 1)}
    array = np.asarray(value)
    if array.dtype.kind == "O":
        array = array.astype(float)  # fractions and the like; fails for what is no number
    if array.dtype.kind not in "biufc":
        raise TypeError("it is neither numbers nor arrays of them")
    arrays.append(array.tobytes())
    scalar = array.ndim == 0 and not isinstance(value, np.ndarray)
    return {"scalar" if scalar else "array": [array.dtype.str, array.shape]}


def decode(value: Any, arrays: list[bytes]) -> Any:
    """What `encode` was given, with plain arrays; arrays are used up in their order."""
    match value:
        case None | bool() | int() | float() | str():
            return value
        case {"list": list(parts)}:
            return [decode(part, arrays) for part in parts]
        case {"tuple": list(parts)}:
            return tuple(decode(part, arrays) for part in parts)
        case {"dict": parts}:
            return dict(decode(parts, arrays))
        case {"generator": state}:
            bits = np.random.PCG64(0)
            bits.state = state  # of any other kind it is refused here
            return np.random.Generator(bits)
        case {"program": parts}:
            return Program(*decode(parts, arrays))
        case {"array": [str(kind), list(shape)]} | {"scalar": [str(kind), list(shape)]}:
            found = np.frombuffer(arrays.pop(0), kind).reshape(shape).copy()
            if found.dtype.kind not in "biufc":
                raise ValueError(f"{kind} is no kind of number")
            return found[()] if "scalar" in value else found
    raise ValueError("what came is not plain")


class Program:
    """A convex program of cvxpy, which was solved where it was written."""

    def __init__(self, convex: bool, value: float | None, variables: dict[str, Any]):
        self._convex, self.value = convex, math.nan if value is None else value
        self.var_dict = {
            name: SimpleNamespace(shape=shape, value=math.nan if found is None else found)
            for name, (shape, found) in variables.items()
        }

    def is_dcp(self) -> bool:
        return self._convex

    def solve(self, **options: Any) -> None: ...


def raised(kind: str, words: str) -> Exception:
    """An error of the other side, by its name."""
    found = getattr(builtins, kind, None)
    if not (isinstance(found, type) and issubclass(found, Exception)):
        found = type(kind, (Exception,), {})
    try:
        error: Exception = found(words)
    except TypeError:  # one that wants more than words
        error = type(kind, (Exception,), {})(words)
    return error


# --- the line ------------------------------------------------------------------------------------


def say(line: socket.socket, head: Any, arrays: list[bytes]) -> None:
    """Send a head that JSON takes, and the bytes of arrays."""
    text = json.dumps([head, [len(array) for array in arrays]]).encode()
    line.sendall(struct.pack(">Q", len(text)) + b"".join([text, *arrays]))


def hear(read: Callable[[int], bytes]) -> tuple[Any, list[bytes]]:
    """What `say` sent."""
    (size,) = struct.unpack(">Q", read(8))
    if size > LARGEST:
        raise ValueError("an answer is too large")
    head, sizes = json.loads(read(size))
    if sum(sizes) > LARGEST or min(sizes, default=0) < 0:
        raise ValueError("an answer is too large")
    return head, [read(size) for size in sizes]


def hand(line: socket.socket, value: Any) -> None:
    """Send anything to a submission."""
    data = pickle.dumps(value)
    line.sendall(struct.pack(">Q", len(data)) + data)


def take(read: Callable[[int], bytes]) -> Any:
    """What `hand` sent; for a submission alone."""
    (size,) = struct.unpack(">Q", read(8))
    return pickle.loads(read(size))
