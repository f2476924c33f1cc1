"""The grader: marks of a notebook, property by property, from what its functions return.

The notebook runs in a process of its own (`submission`), as Jupyter would run it. The properties
and the marks stay here: a function is called with plain data and answers with plain data. Not a
sandbox.
"""

import math
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from course.hidden import assignment
from course.submission import Lost, Submission
from pdpbook.pages.exercises.notebook import code_of
from pdpbook.pages.exercises.properties import Exercise, Property, seed_of

__all__ = ["POINTS", "grade", "points", "shares"]

#: points for all visible properties of an exercise together, and for all hidden ones
POINTS = {"visible": 1, "hidden": 3}
WAITS = "waits for marks by hand"
HOLD = "all properties hold"
FIRST = "hidden properties count once all visible ones hold"


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
        Limit for each cell, and for the calls of each property.

    Returns
    -------
    DataFrame
        A row for each part of each exercise, and for each question by hand: ``exercise``,
        ``part``, ``points``, ``out_of`` and ``message``, which names what was lost and is empty
        when all points were earned.

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
    rows: list[tuple[Any, ...]] = []
    with Submission(cells, list(wanted.exercises), seconds) as submission:
        if not problem and not submission.found:
            problem = f"it holds none of the functions of {name}; is it another assignment?"
            if submission.faults:
                problem += f" {_raised(cells, submission.faults)}"
        for exercise in wanted.exercises.values():
            missing = ""
            if exercise.name not in submission.found:
                own = {k: v for k, v in submission.faults.items() if exercise.name in cells[k]}
                missing = problem or f"there is no function {exercise.name}"
                missing += f": {_raised(cells, own)}" if own and not problem else ""
            rows += _marks(exercise, submission, seed, missing)
    rows += [(question, "by hand", 0.0, worth, WAITS) for question, worth in wanted.by_hand.items()]
    return pd.DataFrame(rows, columns=["exercise", "part", "points", "out_of", "message"])


def _raised(cells: list[str], faults: dict[int, str]) -> str:
    return "; ".join(f"code cell {k + 1} raised {fault}" for k, fault in list(faults.items())[:3])


def _marks(
    exercise: Exercise, submission: Submission, seed: int, missing: str
) -> Iterator[tuple[str, str, float, int, str]]:
    """A row for each part. A second property that gets no answer is the last that is tried."""
    silent = 0

    def fault(one: Property) -> str:
        nonlocal silent
        if missing or silent > 1:
            return missing or f"{one.sentence}; not tried after two without an answer"
        try:
            return one.fault(submission.function(exercise.name), seed)
        except Lost as lost:
            silent += 1
            return f"{one.sentence}; {lost}"

    for (part, worth), lost in zip(POINTS.items(), _lost(exercise, fault), strict=True):
        earned = (10 * worth - sum(lost.values())) / 10
        words = missing or _message(lost)  # of a student, too: perhaps no text of any encoding
        yield exercise.name, part, earned, worth, words.encode(errors="replace").decode()


def shares(worth: int, properties: list[Property]) -> list[int]:
    """Tenths of points of each property: by weight, rounded so that they add up to the whole."""
    ends = np.cumsum([0, *(one.weight for one in properties)])
    return [int(share) for share in np.diff(10 * worth * ends // ends[-1])]


def _lost(exercise: Exercise, fault: Callable[[Property], str]) -> Iterator[dict[str, int]]:
    """Tenths of points that are lost, by what is wrong: of the visible part, then of the hidden."""
    lost: dict[str, int] = {}
    for part, worth in POINTS.items():
        if lost:
            yield {FIRST: 10 * worth}
            return
        lost, properties = {}, getattr(exercise, part)
        for one, share in zip(properties, shares(worth, properties), strict=True):
            if words := fault(one):
                lost[words] = lost.get(words, 0) + share
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
