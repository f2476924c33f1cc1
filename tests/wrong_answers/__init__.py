"""Wrong answers by name: plausible mistakes, each with the hidden property that it violates."""

import importlib
from collections.abc import Callable
from dataclasses import dataclass


@dataclass(frozen=True)
class Wrong:
    exercise: str
    violates: str
    answer: Callable


class Answers(list):
    def __call__(self, exercise, violates):
        """Decorate a wrong answer to an exercise that must fail the hidden property `violates`."""

        def add(answer):
            self.append(Wrong(exercise, violates, answer))
            return answer

        return add


def wrong_answers(assignment):
    return importlib.import_module(f"wrong_answers.{assignment}").wrong
