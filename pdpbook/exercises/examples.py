"""A failed demand as students read it: a small call to paste, what came back, their own line."""

import traceback
from collections.abc import Callable
from pathlib import Path
from types import FunctionType
from typing import Any

import numpy as np

LONG, WIDE = 40, 60  #: entries of an array, and characters of a line, that are written out


class Calls:
    """An answer that notes its calls, each as it can be pasted, and what came back."""

    def __init__(self, name: str, answer: Callable[..., Any]):
        self.name, self.answer, self.notes = name, answer, list[str]()
        self.rng: Any = None  #: the generator of the last call

    def __call__(self, *given: Any) -> Any:
        call = self._call(given)  # before the answer can change what it is given
        try:
            found = self.answer(*given)
        except Exception as error:
            self._note(call, f"it raised {account(error, self.answer)}")
            raise
        self._note(call, f"it gave {_short(found)}")
        return found

    def _note(self, call: str, result: str) -> None:
        self.notes.append("\n# ".join([call, *result.split("\n")]))

    def _call(self, given: tuple[Any, ...]) -> str:
        names, line = [""] * len(given), ""
        if isinstance(self.answer, FunctionType) and self.answer.__code__.co_argcount >= len(given):
            names = [f"{name}=" for name in self.answer.__code__.co_varnames]
        for rng in given:
            if isinstance(rng, np.random.Generator) and rng is not self.rng:
                self.rng = rng
                seed = rng.bit_generator.seed_seq.entropy  # type: ignore[attr-defined]
                line = f"rng = np.random.default_rng({seed})\n"
        parts = [name + written(one) for name, one in zip(names, given, strict=False)]
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
