"""A filter: what is granted, what is refused, and what is never made."""

from itertools import cycle
from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import leaves
from pdpbook.pages.exercises.accounting import hidden
from pdpbook.pages.exercises.properties import Answer, Demands


class Analyst:
    """Asks in rounds, with moves for each, and keeps what it was told and what it made."""

    def __init__(self, moves: Any) -> None:
        self.moves = np.asarray(moves, dtype=float)
        self.heard: list[list[Any]] = []  #: the past at each question
        self.made: list[list[Any]] = []  #: the past at each release

    def said(self, answer: Answer, budgets: Any) -> list[Any]:
        """What an answer says in all rounds."""
        found = self.rounds(answer, np.array(budgets, dtype=float))
        return [None if one is None else float(one) for one in found]

    def rounds(self, answer: Answer, budgets: Any) -> Any:
        """What an answer gives; feedback shows both functions as they could be written."""

        def ask(past: Any) -> Any:
            self.heard.append(list(past))
            return self.moves[len(past)].copy()

        def release(past: Any) -> float:
            self.made.append(list(past))
            return 100.0 + len(past)

        ask.__name__ = f"lambda past: np.array({self.moves.tolist()})[len(past)]"
        release.__name__ = "lambda past: 100.0 + len(past)"
        return answer(ask, release, budgets, len(self.moves))


def granted(answer: Answer, budgets: Any, moves: Any) -> list[bool]:
    """Which rounds have an answer."""
    return [one is not None for one in Analyst(moves).said(answer, budgets)]


def alone(answer: Answer, budget: float, moves: list[float]) -> list[bool]:
    """The same for one person."""
    return granted(answer, [budget], [[move] for move in moves])


def hundredths(rng: Generator, people: int = 6) -> tuple[Any, Any]:
    """Budgets and moves, in hundredths; some have the same budget, some rounds are quiet."""
    moves = rng.integers(0, 30, (20, people)) // rng.choice([1, 3, 8], (20, 1))
    return rng.choice([20, 35, 60, 150], people), moves


def thousandths(decimals: Any) -> Any:
    """How many thousandths there are in each number."""
    return np.rint(np.multiply(decimals, 1000)).astype(np.int64)


def spent_in_turn(answer: Answer, budgets: Any, moves: Any, says: float, rounds: int) -> Any:
    """What the releases that were made cost, in squares of thousandths.

    The analyst remembers how often it was called, and asks with the next moves at each call. A
    round costs what was asked first in it.
    """
    turns, asked, made = cycle(np.array(moves)), dict[int, Any](), list[int]()

    def ask(past: Any) -> Any:
        found = next(turns)
        asked.setdefault(len(past), found)
        return found.copy()

    def release(past: Any) -> float:
        made.append(len(past))
        return says

    turn = "(turns.append(turns[0]), np.array(turns.pop(0)))[1]"
    ask.__name__ = f"lambda past, turns={moves}: {turn}"
    release.__name__ = f"lambda past: {says}"
    answer(ask, release, budgets, rounds)
    return sum(thousandths(asked.get(t, 0)) ** 2 for t in made)


@hidden("answers_within", weight=3, promise=True)
def nobody_is_overspent(answer: Answer, rng: Generator) -> Demands:
    """What was released costs nobody more than their budget, whatever is asked."""
    for _ in range(4):
        budgets, moves = hundredths(rng)
        analyst = Analyst(moves / 100)
        analyst.said(answer, budgets / 100)
        spent = sum(moves[len(past)] ** 2 for past in analyst.made)
        yield bool(np.all(spent <= budgets**2))


@hidden("answers_within", weight=2)
def only_what_overspends_is_refused(answer: Answer, rng: Generator) -> Demands:
    """What was refused would have cost somebody more than was left."""
    for _ in range(4):
        budgets, moves = hundredths(rng)
        spent = np.zeros_like(budgets)
        for verdict, move in zip(granted(answer, budgets / 100, moves / 100), moves, strict=True):
            if not verdict:
                yield bool(np.any(spent + move**2 > budgets**2))
            spent = spent + move**2 * verdict


@hidden("answers_within", promise=True)
def a_refused_release_is_not_made(answer: Answer, rng: Generator) -> Demands:
    """A release is made once where it is granted, and never where it is refused."""
    analyst = Analyst([[0.3], [0.3], [0.1], [0.9], [0.2]])
    found = analyst.said(answer, [0.4])
    rounds = [len(past) for past in analyst.made]
    yield rounds == [k for k, one in enumerate(found) if one is not None]
    yield all(found[k] == 100 + k for k in rounds)


@hidden("answers_within", promise=True)
def one_person_is_enough_to_refuse(answer: Answer, rng: Generator) -> Demands:
    """One person with too little left is enough to refuse, wherever they stand in the list."""
    for who in (0, 8, int(rng.integers(1, 8))):
        budgets = np.full(9, 50.0)
        budgets[who] = 0.5
        yield not any(granted(answer, budgets, np.full((3, 9), 0.4))[1:])


@hidden("answers_within", promise=True)
def a_thousandth_too_much_is_refused(answer: Answer, rng: Generator) -> Demands:
    """A move of a thousandth above what is left is refused, for large budgets and for small."""
    for budget, moves, too_much in (
        (0.2, [0.1, 0.1, 0.1, 0.101], 3),
        (0.2, [0.1, 0.1, 0.1, 0.1, 0.001], 4),
        (0.002, [0.002, 0.001], 1),
        (0.1, [0.09, 0.04, 0.018], 2),
        (0.26, [0.086, 0.173, 0.174], 2),  # by a millionth, in squares
        (40.0, [39.999, 0.283], 1),
    ):
        yield not alone(answer, budget, moves)[too_much]


CASES: list[tuple[list[float], list[list[float]], float, int]] = [
    # budgets, moves that are asked in turn, what each release says, rounds
    ([0.3], [[0.1]], 0.0, 12),
    ([0.3], [[0.1]], -1.0, 12),
    ([0.1, 1.0], [[0.1, 0.1]], 1.0, 5),  # after the first round one person has exactly nothing left
    ([0.3], [[0.3], [0.0]], 1.0, 6),  # who asks again in the same round hears of other moves
    ([0.0, 1.0], [[0.1, 0.1]], 1.0, 3),
    ([40.0], [[60.0]], 1.0, 2),  # squares of thousandths that 32 bits do not hold
    ([0.3], [[0.05]], 1.0, 60),
]


@hidden("answers_within", promise=True)
def the_extremes(answer: Answer, rng: Generator) -> Demands:
    """Nobody is overspent by answers below 0, budgets of 0, large moves, or after many rounds."""
    for budgets, moves, says, rounds in CASES:
        spent = spent_in_turn(answer, np.array(budgets), moves, says, rounds)
        yield bool(np.all(spent <= thousandths(budgets) ** 2))


@hidden("answers_within")
def decimals_fill_a_budget_exactly(answer: Answer, rng: Generator) -> Demands:
    """Moves whose squares add up to that of the budget as decimals are all granted."""
    for budget, moves in (
        (0.3, [0.1] * 9),
        (1.3, [0.5, 1.2]),
        (0.7, [0.2, 0.3, 0.6]),
        (1.1, [0.6, 0.7, 0.6]),
        (0.013, [0.005, 0.012]),
    ):
        yield all(alone(answer, budget, moves))


@hidden("answers_within")
def what_was_said_is_told(answer: Answer, rng: Generator) -> Demands:
    """The analyst hears before each question what was said in all rounds, refusals as None."""
    analyst = Analyst([[0.3], [0.3], [0.1], [0.9], [0.2]])
    found = analyst.said(answer, [0.4])
    yield all(found[: len(past)] == past for past in [*analyst.heard, *analyst.made])
    yield {len(past) for past in analyst.heard} == set(range(5))


@hidden("answers_within")
def budgets_are_left_alone(answer: Answer, rng: Generator) -> bool:
    """The budgets are left as they were handed in."""
    analyst = Analyst(np.full((4, 2), 0.1))
    return leaves(lambda budgets: analyst.rounds(answer, budgets), np.array([0.2, 1.0]))
