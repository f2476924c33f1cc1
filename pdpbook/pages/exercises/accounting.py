"""Composition and accounting: what ten releases cost together, and a filter that refuses one."""

from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.pages.exercises.notebook import as_written
from pdpbook.pages.exercises.properties import (
    LEAST,
    ROUNDING,
    Answer,
    Assignment,
    Demands,
    Draws,
    numbers_between,
    rises,
    shaped,
)

PROPERTIES = Assignment("accounting", by_hand={"which_number_to_print": 4})
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden
NONE = np.zeros(0)
#: absolute: how far a delta may be off; in floats 1 - (1 - delta)**1000 is off by up to 6e-14
NEAR = 1e-13


def reads(rng: Generator, k: int, n: int) -> Any:
    """Who is read by which release: about half of the people by each."""
    return rng.integers(0, 2, (k, n)).astype(bool)


@visible("epsilon_in_all", unseen=6)
def totals_are_numbers(answer: Answer, rng: Draws) -> bool:
    """There is one number for each person, and none is below 0."""
    k, n = rng.size(10), rng.size(6)
    return numbers_between(answer(rng.uniform(0.1, 1, k), reads(rng, k, n)), (n,), 0)


@visible("epsilon_in_all")
def one_release_costs_what_it_says(answer: Answer, rng: Draws) -> bool:
    """A single release costs those whom it reads its own nats, and the others nothing."""
    found = answer(np.array([0.3]), np.array([[True, False, True, False]]))
    return bool(np.allclose(shaped(found, (4,)), [0.3, 0, 0.3, 0]))


@visible("delta_in_all", unseen=6)
def one_release_alone_is_as_promised(answer: Answer, rng: Draws) -> Demands:
    """At its own epsilon a single release has its own delta, and so it has beyond."""
    for delta in (0.0, 1e-6, 0.25):
        epsilon = float(rng.uniform(0.1, 2))
        for total in (epsilon, 2 * epsilon):
            found = answer(epsilon, delta, 1, total)
            yield bool(np.isclose(shaped(found, ()), delta, rtol=ROUNDING, atol=NEAR))


@visible("delta_in_all")
def two_coins_are_done_by_hand(answer: Answer, rng: Draws) -> Demands:
    """It is right for two releases of log 3 nats, whose laws are soon written down."""
    for total, delta in ((0.0, 1 / 2), (np.log(3), 3 / 8), (np.log(9), 0.0)):
        yield bool(np.isclose(answer(np.log(3), 0.0, 2, total), delta, rtol=ROUNDING, atol=NEAR))


@visible("delta_in_all")
def more_releases_cost_more(answer: Answer, rng: Draws) -> Demands:
    """At the same total more releases have a larger delta, and at a larger total all a smaller."""
    yield from rises(lambda k: answer(0.5, 1e-4, k, 0.7), (2, 3, 10))
    yield from rises(lambda total: answer(0.5, 1e-4, 10, total), (3.0, 2.0, 1.0))


@visible("epsilon_by_zcdp", unseen=8)
def louder_noise_costs_less(answer: Answer, rng: Draws) -> Demands:
    """It is above 0, falls where noise is louder and grows where delta is smaller."""
    yield from rises(lambda multiplier: answer(NONE, np.array([multiplier]), 1e-6), (9.0, 3.0, 1.0))
    yield from rises(lambda delta: answer(NONE, np.array([2.0]), delta), (1e-2, 1e-4, 1e-8))


@visible("epsilon_by_zcdp")
def only_the_rhos_count(answer: Answer, rng: Draws) -> bool:
    """A pure release and a normal one with the same rho cost the same."""
    epsilon = float(rng.uniform(0.5, 3))
    multiplier = 1 / np.sqrt(2 * epsilon * np.tanh(epsilon / 2))
    pure = answer(np.array([epsilon]), NONE, 1e-5)
    normal = answer(NONE, np.array([multiplier]), 1e-5)
    return bool(LEAST < shaped(pure, ()) and np.isclose(pure, normal, rtol=ROUNDING))


#: moves both people by 0.1
same = as_written("lambda past: np.array([0.1, 0.1])")
#: answers 1, 2, 3, ...
counts = as_written("lambda past: len(past) + 1.0")


@visible("answers_within", unseen=9)
def rounds_have_an_answer_or_none(answer: Answer, rng: Draws) -> bool:
    """There is a list with an answer or None for each round, and a first one that fits is given."""
    found = answer(same, counts, np.array([0.2, 1.0]), 5)
    kinds = [one is None or np.ndim(one) == 0 for one in found]
    return len(kinds) == 5 and all(kinds) and found[0] == 1


@visible("answers_within")
def squares_fill_a_budget(answer: Answer, rng: Draws) -> bool:
    """Four moves of 0.1 fill a budget of 0.2, and a fifth is refused."""
    return list(answer(same, counts, np.array([0.2, 1.0]), 5)) == [1, 2, 3, 4, None]
