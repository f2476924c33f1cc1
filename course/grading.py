"""The grader: marks of a notebook, property by property, from what its functions return.

The notebook runs in a process of its own (`submission`), as Jupyter would run it. The properties
and the marks stay here: a function is called with plain data and answers with plain data. Not a
sandbox.
"""

import json
import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from course.hidden import assignment
from course.submission import Lost, Submission
from pdpbook.pages.exercises.notebook import code_of
from pdpbook.pages.exercises.properties import (
    ARGUMENT_CHANGED,
    NOT_WRITTEN,
    Exercise,
    Property,
    seed_of,
)

__all__ = ["POINTS", "grade", "points", "shares"]

#: points for all visible properties of an exercise together, and for all hidden ones
POINTS = {"visible": 1, "hidden": 3}
HALF = 10 * sum(POINTS.values()) // 2  # tenths that a broken promise costs at least
WAITS = "waits for marks by hand"
HOLD = "all properties hold"
FIRST = "hidden properties count once all visible ones hold"
PROMISE = "the promise: "  # before the sentence of a property that is one
BROKEN = "a broken promise leaves half of the points at most"
REST = "not tried after a call without an answer"
ENDED = "not tried: two functions before it gave no answer"
SILENT = 2  # functions without an answer that end a notebook
SHOWN = 3  # calls that are shown of a property that fails
SHOWING = 5.0  # seconds in which they are looked for


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
        Limit for each cell, and for each call of a function; all calls of a property have five
        times as long.

    Returns
    -------
    DataFrame
        A row for each part of each exercise, and for each question by hand: ``exercise``,
        ``part``, ``points``, ``out_of``; ``message``, which names what was lost and is empty
        when all points were earned; and ``shown``, for each thing that it names the calls that
        fail, as `check` shows them. ``attrs["problem"]`` is why nothing can be graded: whoever
        handed that in has no score.

    Raises
    ------
    ValueError
        If there is no such assignment, or an argument is out of range. Nothing about the
        submission is an error: what is wrong with it stands in ``message``.
    """
    wanted = assignment(name)
    seed = seed_of(seed)
    if not 0 < seconds < math.inf:
        raise ValueError(f"seconds must be finite and above 0; got {seconds}")
    cells, problem = code_of(notebook)
    if not problem and not any(name in cell for cell in cells for name in wanted.exercises):
        problem = f"it holds none of the functions of {name}; is it another assignment?"
    rows: list[tuple[Any, ...]] = []
    with Submission(cells, list(wanted.exercises), seconds) as submission:
        for exercise in wanted.exercises.values():
            missing = ""
            if exercise.name not in submission.found:
                own = {k: v for k, v in submission.faults.items() if exercise.name in cells[k]}
                missing = problem or f"there is no function {exercise.name}"
                missing += f": {_raised(cells, own)}" if own and not problem else ""
            rows += _marks(exercise, submission, seed, missing)
    rows += [(one, "by hand", 0.0, worth, WAITS, "[]") for one, worth in wanted.by_hand.items()]
    columns = ["exercise", "part", "points", "out_of", "message", "shown"]
    table = pd.DataFrame(rows, columns=columns)
    table.attrs["problem"] = problem
    return table


def _raised(cells: list[str], faults: dict[int, str]) -> str:
    return "; ".join(f"code cell {k + 1} raised {fault}" for k, fault in list(faults.items())[:3])


def _marks(
    exercise: Exercise, submission: Submission, seed: int, missing: str
) -> Iterator[tuple[str, str, float, int, str, str]]:
    """A row for each part. A property without an answer is the last that is tried."""
    silent, calls = "", dict[str, str]()
    if not missing and submission.silent >= SILENT:
        missing = ENDED

    def fault(one: Property) -> str:
        nonlocal silent
        if missing or silent:
            return missing or silent
        try:
            words = one.fault(submission.function(exercise.name), seed)
        except Lost as lost:
            silent = REST
            submission.silent += 1
            return f"{one.sentence}; {lost}"
        if words and words != NOT_WRITTEN and words not in calls:
            calls[words] = _calls(one, submission, exercise.name, seed)
        return words

    for (part, worth), lost in zip(POINTS.items(), _lost(exercise, fault), strict=True):
        earned = (10 * worth - sum(lost.values())) / 10
        words = missing or _message(lost)
        shown = json.dumps([calls.get(one.removeprefix(PROMISE), "") for one in lost])
        # words of a student, too: perhaps no text of any encoding
        yield exercise.name, part, earned, worth, words.encode(errors="replace").decode(), shown


def _calls(one: Property, submission: Submission, name: str, seed: int) -> str:
    """The calls that a property fails by, as students' own `check` shows them, if it is quick."""
    try:
        function = submission.function(name, SHOWING)
        return one.fault(function, seed, name, SHOWN).partition("\n")[2]
    except Lost:
        return ""


def shares(worth: int, properties: list[Property]) -> list[int]:
    """Tenths of points of each property: by weight, rounded so that they add up to the whole."""
    ends = np.cumsum([0, *(one.weight for one in properties)])
    return [int(share) for share in np.diff(10 * worth * ends // ends[-1])]


def _lost(exercise: Exercise, fault: Callable[[Property], str]) -> Iterator[dict[str, int]]:
    """Tenths of points that are lost, by what is wrong: of the visible part, then of the hidden.

    Promises come first. Whoever breaks one keeps half of the points of all parts at most. Whoever
    changes what was given loses the least share of a part, once, and what is hidden still counts.
    """
    lost: dict[str, int] = {}
    for part, worth in POINTS.items():
        if lost.keys() - {ARGUMENT_CHANGED}:
            yield {FIRST: 10 * worth}
            return
        lost, properties, least = {}, getattr(exercise, part), 0
        tenths = shares(worth, properties)
        for one, share in zip(properties, tenths, strict=True):
            words = fault(one)
            if words == ARGUMENT_CHANGED:
                lost[ARGUMENT_CHANGED] = min(tenths)
            elif words:
                least = HALF if one.promise else least
                words = PROMISE * (one.promise and words.startswith(one.sentence)) + words
                lost[words] = lost.get(words, 0) + share
        lost = dict(sorted(lost.items(), key=lambda item: not item[0].startswith(PROMISE)))
        if (more := least - sum(lost.values())) > 0:
            lost[BROKEN] = more
        yield lost


def _message(lost: dict[str, int]) -> str:
    return "; ".join(f"-{tenths / 10:g}: {words}" for words, tenths in lost.items())


def points(exercise: str, answer: Callable[..., Any], seed: int | None = None) -> float:
    """Hold an answer against the hidden properties, here: say what is lost, return the points.

    For tests in a notebook, which nbgrader runs: the value of the cell is its points.

    Parameters
    ----------
    exercise : str
        Assignment and function, as for `check`.
    answer : callable
        The function.
    seed : int, optional
        As in `check`.
    """
    name, _, function = exercise.partition("/")
    one, seed = assignment(name).exercises[function], seed_of(seed)
    _, lost = _lost(one, lambda each: each.fault(answer, seed))
    held = f"{len(one.hidden)} hidden properties hold"
    print(f"{exercise}: {_message(lost) or held}")
    return (10 * POINTS["hidden"] - sum(lost.values())) / 10
