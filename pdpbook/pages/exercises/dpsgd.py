"""DP-SGD: gradients that are cut, a noisy average of a random batch, an accountant, and a loop."""

from collections.abc import Callable
from typing import Any

import numpy as np

from pdpbook.pages.exercises.notebook import as_written
from pdpbook.pages.exercises.properties import (
    ROUNDING,
    Answer,
    Assignment,
    Demands,
    Draws,
    numbers_between,
    repeats,
    rises,
    shaped,
)

PROPERTIES = Assignment("dpsgd", by_hand={"what_was_promised": 4})
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden


@visible("clipped_gradients", unseen=7)
def people_have_rows_of_numbers(answer: Answer, rng: Draws) -> Demands:
    """There is a row for each person and a number for each weight, also when nobody came."""
    n, d = rng.size(6), rng.size(3)
    theta, X, y = rng.normal(size=d), rng.normal(size=(n, d)), rng.normal(size=n)
    yield numbers_between(answer(theta, X, y, 1.0), (n, d))
    yield shaped(answer(theta, X[:0], y[:0], 1.0), (0, d)).size == 0


@visible("clipped_gradients")
def two_people_are_done_by_hand(answer: Answer, rng: Draws) -> bool:
    """The two people of the example have the gradients that it says."""
    found = answer(np.zeros(2), np.array([[0.6, 0.8], [0.3, 0.0]]), np.array([1.0, -0.5]), 0.5)
    return bool(np.allclose(shaped(found, (2, 2)), [[-0.3, -0.4], [0.3, 0.0]], atol=ROUNDING))


@visible("noisy_average", unseen=9)
def an_average_has_as_many_numbers_as_weights(answer: Answer, rng: Draws) -> Demands:
    """There is one number for each weight, also when nobody is in the data."""
    gradients = rng.uniform(-0.5, 0.5, (rng.size(5), d := rng.size(3)))
    yield numbers_between(answer(gradients, 0.5, 2.0, 1.0, 1.0, rng.fresh()), (d,))
    yield numbers_between(answer(gradients[:0], 0.5, 2.0, 1.0, 1.0, rng.fresh()), (d,))


@visible("noisy_average")
def averages_repeat_with_their_generator(answer: Answer, rng: Draws) -> Demands:
    """The same state of the generator gives the same average, and the next call another."""
    gradients = rng.uniform(-0.5, 0.5, (rng.size(8), 2))
    return repeats(lambda generator: answer(gradients, 0.5, 4.0, 1.0, 1.0, generator), rng)


@visible("noisy_average")
def with_hardly_any_noise_it_is_a_sum_over_the_size(answer: Answer, rng: Draws) -> bool:
    """With everybody in the batch and hardly any noise it is their sum over the public size."""
    gradients = rng.uniform(-0.5, 0.5, (rng.size(6), 2))
    found = shaped(answer(gradients, 1.0, 4.0, 1.0, 1e-9, rng.fresh()), (2,))
    return bool(np.allclose(4 * found, gradients.sum(axis=0), atol=1e-5))


@visible("epsilon_of_steps", unseen=5)
def more_is_learned_for_more(answer: Answer, rng: Draws) -> Demands:
    """It grows with the steps and with the rate, where noise is quieter and where delta is less."""
    yield from rises(lambda steps: answer(0.1, 2.0, steps, 1e-5), (10, 40, 200))
    yield from rises(lambda rate: answer(rate, 2.0, 50, 1e-5), (0.02, 0.1, 0.5))
    yield from rises(lambda sigma: answer(0.1, sigma, 50, 1e-5), (4.0, 2.0, 1.0))
    yield from rises(lambda delta: answer(0.1, 2.0, 50, delta), (1e-3, 1e-5, 1e-7))


@visible("epsilon_of_steps")
def it_is_no_more_than_the_order_two_proves(answer: Answer, rng: Draws) -> Demands:
    """It is at most what the order 2 proves in the example, and above a tenth of that."""
    yield numbers_between(answer(0.1, 1.0, 10, 1e-5), (), 1.03, 10.2973)


Step = Callable[[Any], Any]
#: pulls each number towards 1, without noise
pull = as_written("lambda theta: theta - 1.0")
#: half a nat a step
halves = as_written("lambda k: 0.5 * k")


@visible("train_within", unseen=8)
def a_path_begins_at_its_start(answer: Answer, rng: Draws) -> bool:
    """There is a row for the start and one after each step."""
    start = rng.uniform(0.1, 0.5, d := rng.size(3))
    found = shaped(answer(pull, halves, 1.2, 0.5, start, 9), (3, d))
    return bool(np.allclose(found[0], start, rtol=ROUNDING))


@visible("train_within")
def two_steps_are_done_by_hand(answer: Answer, rng: Draws) -> bool:
    """From 0, with half of the way to 1 in a step, 1.2 nats lead to 0.5 and then to 0.75."""
    found = answer(pull, halves, 1.2, 0.5, np.zeros(1), 9)
    return bool(np.allclose(shaped(found, (3, 1))[:, 0], [0, 0.5, 0.75], atol=ROUNDING))
