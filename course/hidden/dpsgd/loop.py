"""The loop: a step is drawn if it can be paid for, and everything that is drawn is a step."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import leaves
from pdpbook.pages.exercises.dpsgd import hidden
from pdpbook.pages.exercises.properties import ROUNDING, Answer, Demands, shaped

Total = Callable[[int], float]


class Training:
    """Hands out noisy averages, and keeps where they were asked for and what was given."""

    def __init__(self, size: float = 1.0, infinite: int = 0) -> None:
        self.size = size
        self.infinite = infinite  #: the draw that is infinite, if it is above 0
        self.at: list[Any] = []  #: the weights at each draw
        self.gave: list[Any] = []

    def average(self, theta: Any) -> Any:
        self.at.append(np.array(theta, dtype=float))
        wave = np.cos(np.arange(np.size(theta)) + 7.0 * len(self.at))
        size = np.inf if len(self.at) == self.infinite else self.size
        self.gave.append(size * (0.3 * np.ravel(theta) + wave))
        return self.gave[-1].copy()

    def path(
        self, answer: Answer, total: Total, budget: float, rate: float = 0.1, **more: Any
    ) -> Any:
        """The path of an answer; feedback shows the average as it could be written."""

        def noisy_average(theta: Any) -> Any:
            return self.average(theta)

        noisy_average.__name__ = f"lambda theta: {self.size} * np.cos(theta)"
        start, most = more.get("start", np.array([0.5, -0.2])), more.get("most", 50)
        return answer(noisy_average, total, budget, rate, start, most)


def root(k: int) -> float:
    return float(0.3 * np.sqrt(k))


def straight(k: int) -> float:
    return 0.25 * k


def late(k: int) -> float:
    """Little at first, and more with every step."""
    return 0.01 * k**2


def early(k: int) -> float:
    """The first step costs much, and those after it little."""
    return 2 + 0.01 * k if k else 0.0


def jump(k: int) -> float:
    """Nothing to speak of for three steps, and then everything at once."""
    return 0.1 * k if k < 4 else 50.0 + k


def fee(k: int) -> float:
    """Something is to be paid before the first step."""
    return 0.5 + 0.25 * k


def pairs(k: int) -> float:
    """Every second step is free."""
    return float((k + 1) // 2)


for function, text in (
    (root, "lambda k: 0.3 * k**0.5"),
    (straight, "lambda k: 0.25 * k"),
    (late, "lambda k: 0.01 * k**2"),
    (early, "lambda k: 2 + 0.01 * k if k else 0.0"),
    (jump, "lambda k: 0.1 * k if k < 4 else 50.0 + k"),
    (fee, "lambda k: 0.5 + 0.25 * k"),
    (pairs, "lambda k: (k + 1) // 2"),
):
    function.__name__ = text
TOTALS = root, straight, late, early, jump, fee, pairs


def affordable(total: Total, budget: float, most: int = 50) -> int:
    """How many steps the budget pays for."""
    return sum(total(k) <= budget for k in range(1, most + 1))


def drawn(answer: Answer, total: Total, budget: float, **more: Any) -> int:
    """How many noisy averages were drawn."""
    one = Training()
    one.path(answer, total, budget, **more)
    return len(one.at)


@hidden("train_within", weight=3, promise=True)
def what_is_drawn_is_within_the_budget(answer: Answer, rng: Generator) -> Demands:
    """What is drawn costs no more than the budget, whatever the price of each step is."""
    for total in TOTALS:
        for budget in (0.3, 0.9, 2.03, float(rng.uniform(0.5, 3))):
            yield drawn(answer, total, budget) <= affordable(total, budget)


@hidden("train_within", promise=True)
def a_little_too_much_is_too_much(answer: Answer, rng: Generator) -> Demands:
    """A step that exceeds the budget by a billionth or by a twentieth of it is not drawn."""
    for more in (1e-9, 1e-6, 0.01, 0.05):
        for total in (root, straight, late):
            for k in (1, 4, 9, 40):
                yield drawn(answer, total, total(k) / (1 + more)) < k


@hidden("train_within", promise=True)
def whatever_is_drawn_is_a_step(answer: Answer, rng: Generator) -> Demands:
    """Nothing is drawn and thrown away: each step draws once, and somebody has seen it."""
    for total, budget in ((root, 1.0), (straight, 1.0), (early, 0.5), (jump, 5.0)):
        one = Training()
        found = np.asarray(one.path(answer, total, budget))
        yield len(one.at) <= len(found) - 1
    for one, budget in ((Training(), 100.0), (Training(1e-9), 0.8)):  # as many as it may; tiny ones
        found = np.asarray(one.path(answer, straight, budget, most=5))
        yield len(one.at) <= len(found) - 1


@hidden("train_within", promise=True)
def the_next_training_has_its_own_budget(answer: Answer, rng: Generator) -> Demands:
    """Trainings one after the other, with other budgets and prices, keep to their own."""
    for total, budget in ((straight, 2.6), (straight, 0.6), (root, 0.6), (late, 0.6), (early, 1.0)):
        yield drawn(answer, total, budget) <= affordable(total, budget)


@hidden("train_within", promise=True)
def the_extremes(answer: Answer, rng: Generator) -> Demands:
    """Nothing is drawn for a budget of 0, nor too much in long runs, of large steps or of none."""
    for total in TOTALS:
        yield drawn(answer, total, 0.0) == 0
    yield drawn(answer, early, 1.99) == 0
    yield drawn(answer, root, 3.0, most=500) <= 100
    yield drawn(answer, straight, 100.1, most=1000) <= 400
    yield drawn(answer, straight, 375.1, most=3000) <= 1500
    for one in (Training(0.0), Training(1e12), Training(infinite=2)):
        one.path(answer, straight, 1.3)
        yield len(one.at) <= 5
    for start in (np.zeros(1), np.full(40, 1e3)):
        yield drawn(answer, straight, 1.3, start=start) <= 5


@hidden("train_within", weight=2)
def it_stops_no_earlier(answer: Answer, rng: Generator) -> Demands:
    """It makes each step that is within the budget, and so many as it may at most."""
    for total in TOTALS:
        for budget in (0.3, 0.9, 2.03, total(7)):
            for most in (3, 20):
                one = Training()
                found = np.asarray(one.path(answer, total, budget, most=most))
                yield len(found) - 1 == affordable(total, budget, most)


@hidden("train_within", weight=2)
def each_step_begins_where_the_last_ended(answer: Answer, rng: Generator) -> Demands:
    """Each step goes against the average that was drawn where the step before it ended."""
    for rate in (0.1, 0.7):
        one = Training()
        found = shaped(one.path(answer, straight, 1.6, rate), (7, 2))
        yield bool(np.allclose(found[:-1], one.at, atol=ROUNDING))
        yield bool(np.allclose(np.diff(found, axis=0), -rate * np.array(one.gave), atol=1e-5))


@hidden("train_within")
def the_start_stays(answer: Answer, rng: Generator) -> bool:
    """The start is left as it was handed in."""
    return leaves(
        lambda start: Training().path(answer, straight, 1.1, start=start), np.array([0.5, -0.2])
    )
