"""A clipped step: nobody moves it further than allowed."""

from typing import Any

import numpy as np
from numpy.random import Generator

from course.hidden import ROUNDING, leaves
from pdpbook.pages.exercises.pac import hidden
from pdpbook.pages.exercises.properties import Answer, Demands


def _moved(answer: Answer, rest: Any, person: Any) -> Any:
    """How far somebody who joins moves the step."""
    here, there = answer(np.vstack([rest, person[None]]), 0.7, 5), answer(rest, 0.7, 5)
    return np.asarray(here) - np.asarray(there)


@hidden("clipped_step", weight=3, promise=True)
def nobody_moves_it_further_than_allowed(answer: Answer, rng: Generator) -> Demands:
    """Whoever joins or leaves moves the step by at most the clipping norm over the batch size."""
    rest, other = rng.normal(size=(6, 4)), rng.normal(size=4)
    edge = 0.7 * other / np.linalg.norm(other)
    some = [length * edge for length in (1.003, 1.02, 1.2, 1.7)]  # a little above the norm
    for person in (other / 100, other, *some, 1e4 * other, -1e4 * rest.sum(axis=0)):
        move = _moved(answer, rest, person)
        yield bool(np.linalg.norm(move) <= 0.7 / 5 + ROUNDING)


@hidden("clipped_step")
def a_loud_person_is_heard_as_far_as_allowed(answer: Answer, rng: Generator) -> bool:
    """Somebody with a huge gradient moves the step just as far as allowed, in their direction."""
    rest, person = rng.normal(size=(6, 4)), 1e3 * rng.normal(size=4)
    move = _moved(answer, rest, person)
    return bool(np.allclose(move, 0.7 / 5 * person / np.linalg.norm(person), atol=ROUNDING))


@hidden("clipped_step")
def at_the_norm_there_is_an_edge(answer: Answer, rng: Generator) -> bool:
    """A gradient a little too long is cut to the norm, and one a little shorter is not cut."""
    way = rng.normal(size=(1, 3))
    way /= np.linalg.norm(way)
    found = [np.linalg.norm(answer(length * way, 0.7, 1)) for length in (0.6995, 0.7005)]
    return bool(np.allclose(found, [0.6995, 0.7], rtol=1e-5))


@hidden("clipped_step")
def the_gradients_stay_as_they_were(answer: Answer, rng: Generator) -> bool:
    """The gradients that were handed in are not changed."""
    return leaves(lambda gradients: answer(gradients, 1.0, 4), 3 * rng.normal(size=(5, 3)))


@hidden("clipped_step")
def below_the_norm_nothing_is_changed(answer: Answer, rng: Generator) -> Demands:
    """Where no gradient is too long, it is their sum over the batch size."""
    gradients = rng.normal(size=(6, 4))
    longest = float(np.linalg.norm(gradients, axis=1).max())
    for batch in (0.5, 2.5, 3, 6, 50):
        wanted = gradients.sum(axis=0) / batch
        yield bool(np.allclose(answer(gradients, 1.01 * longest, batch), wanted))


@hidden("clipped_step")
def a_gradient_of_zero_is_absent(answer: Answer, rng: Generator) -> bool:
    """Somebody whose gradient is 0 might as well have stayed away."""
    gradients = 2 * rng.normal(size=(5, 3))
    more = np.vstack([gradients, np.zeros((2, 3))])
    return bool(np.allclose(answer(more, 1.0, 4), answer(gradients, 1.0, 4)))


@hidden("clipped_step")
def two_alike_are_two(answer: Answer, rng: Generator) -> bool:
    """Twice the same people move the step twice as far, to the last one."""
    gradients = 2 * rng.normal(size=(4, 3))
    once, twice = answer(gradients, 1.0, 3), answer(np.repeat(gradients, 2, axis=0), 1.0, 3)
    return bool(np.allclose(twice, 2 * np.asarray(once)))
