"""PAC privacy: information and the noise that buys it, guesses of membership, a clipped step."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.pages.exercises.notebook import written
from pdpbook.pages.exercises.properties import (
    LEAST,
    ROUNDING,
    Answer,
    Assignment,
    Demands,
    Draws,
    numbers_between,
    repeats,
    rises,
    truths,
)

PROPERTIES = Assignment("pac", by_hand={"what_each_promises": 4, "whose_error": 4})
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden


def shrunken_mean(X: Any) -> Callable[[Any], Any]:
    """A function of who takes part, whose name is what it does."""

    def output(members: Any) -> Any:
        return X[members].sum(axis=0) / (1 + np.sum(members))

    output.__name__ = f"lambda members: {written(X)}[members].sum(axis=0) / (1 + np.sum(members))"
    return output


@visible("half_covariance", unseen=4)
def a_covariance_is_square_and_no_variance_negative(answer: Answer, rng: Draws) -> Demands:
    """The result is a covariance, k by k and symmetric, also where the output is one number."""
    for k in (1, 3):
        output = shrunken_mean(rng.normal(size=(n := 1 + rng.size(8), k)))
        found = np.asarray(answer(output, n, 40, rng.fresh()))
        yield found.shape == (k, k) and np.allclose(found, found.T)
        yield bool(np.linalg.eigvalsh(found).min() >= -ROUNDING * np.trace(found))


@visible("half_covariance")
def halves_repeat_with_their_generator(answer: Answer, rng: Draws) -> Demands:
    """The same state of the generator gives the same result, and the next call gives another."""
    output = shrunken_mean(rng.normal(size=(n := 3 + rng.size(9), 2)))
    return repeats(lambda generator: answer(output, n, 30, generator), rng)


def covariance(rng: Generator, d: int) -> Any:
    """Correlated, and with axes of different lengths."""
    root = rng.normal(size=(d, d)) * np.geomspace(0.3, 2, d)
    return root @ root.T + 0.05 * np.eye(d)


@visible("gaussian_information", unseen=5)
def information_is_a_number_of_nats(answer: Answer, rng: Draws) -> Demands:
    """It is one number above 0, and 0 for an output that never varies."""
    S, B = covariance(rng, d := rng.size(3)), covariance(rng, d)
    yield numbers_between(answer(S, B), (), LEAST)
    yield bool(abs(answer(0 * S, B)) < 1e-12)


@visible("gaussian_information")
def noise_of_equal_variance_leaves_half_a_bit(answer: Answer, rng: Draws) -> bool:
    """One number behind noise of its own variance tells half of log 2 nats."""
    return bool(np.isclose(answer(np.ones((1, 1)), np.ones((1, 1))), np.log(2) / 2))


@visible("cheapest_noise", unseen=5)
def noise_is_a_covariance(answer: Answer, rng: Draws) -> bool:
    """The result is a covariance of the shape of S: symmetric, with no negative variance."""
    S = covariance(rng, rng.size(3))
    B = np.asarray(answer(S, 0.5))
    least = -ROUNDING * np.trace(S)
    return B.shape == S.shape and bool(np.allclose(B, B.T) and np.linalg.eigvalsh(B).min() > least)


@visible("cheapest_noise")
def less_may_be_told_more_is_needed(answer: Answer, rng: Draws) -> bool:
    """The less information is allowed, the more noise there is."""
    S = covariance(rng, rng.size(3))
    return bool(np.trace(answer(S, 0.1)) > np.trace(answer(S, 0.3)) > 0)


@visible("success_bound", unseen=4)
def a_bound_from_the_prior_to_one(answer: Answer, rng: Draws) -> Demands:
    """The bound is the prior where nothing is told, at most 1, and larger where more is told."""
    for v in (1e-3, 0.1, 0.4, 5.0):
        yield numbers_between(answer(v, 0.6), (), 0.6, 1)
    yield bool(np.isclose(answer(0.0, 0.6), 0.6))
    yield from rises(lambda v: answer(v, 0.6), (1e-3, 0.1, 0.4))


@visible("success_bound")
def a_whole_bit_tells_a_coin(answer: Answer, rng: Draws) -> Demands:
    """About a fair coin log 2 nats allow certainty, and a tenth less does not."""
    yield bool(np.isclose(answer(np.log(2), 0.5), 1))
    yield bool(answer(0.9 * np.log(2), 0.5) < 1)


def with_one_moved(rng: Generator, noise: Any) -> Any:
    """What a person does to an output, neither lost in the noise nor far above it."""
    unit = rng.choice([-1.0, 1.0], len(noise)) * rng.uniform(0.1, 1, len(noise))
    return np.linalg.cholesky(noise) @ unit / np.linalg.norm(unit) * rng.uniform(0.5, 2)


@visible("best_guess_rate", unseen=3)
def a_guess_is_no_worse_than_a_coin(answer: Answer, rng: Draws) -> Demands:
    """The rate is from one half to one, and one half for somebody who moves nothing."""
    noise = covariance(rng, d := rng.size(3))
    yield bool(np.isclose(answer(np.zeros(d), noise), 0.5))
    yield bool(0.5 < answer(with_one_moved(rng, noise), noise) <= 1)


def rotation(rng: Generator, d: int) -> Any:
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def game(rng: Generator, d: int = 3, distance: float = 1.5) -> tuple[Any, Any, Any]:
    """Two means some units of the noise apart, where the noise is large beside the move."""
    Q = rotation(rng, d)
    variances = np.geomspace(0.05, 9, d)
    move = Q @ (np.sqrt(variances) * rng.choice([-1.0, 1.0], d)) * distance / np.sqrt(d)
    outside = rng.normal(size=d)
    return outside, outside + move, Q @ np.diag(variances) @ Q.T


@visible("guess_members", unseen=6)
def a_guess_is_yes_or_no(answer: Answer, rng: Draws) -> bool:
    """There is one truth value for each release."""
    outside, inside, noise = game(rng, d := rng.size(3))
    theta = rng.normal(size=(m := rng.size(7), d))
    return truths(answer(theta, outside, inside, noise, 0.4), m)


@visible("guess_members")
def without_noise_there_is_no_doubt(answer: Answer, rng: Draws) -> bool:
    """With hardly any noise every guess is right."""
    outside, inside, noise = game(rng, rng.size(3))
    found = answer(np.array([inside, outside]), outside, inside, noise / 1e4, 0.5)
    return bool(found[0] and not found[1])


@visible("guess_members")
def in_the_middle_the_prior_decides(answer: Answer, rng: Draws) -> Demands:
    """Halfway between the two means the guess is who is likelier from the start."""
    outside, inside, noise = game(rng, rng.size(3))
    for prior in (0.4, 0.6):
        found = answer(np.array([(outside + inside) / 2]), outside, inside, noise, prior)
        yield bool(found[0]) == (prior > 0.5)


@visible("clipped_step", unseen=7)
def a_step_has_a_number_a_weight(answer: Answer, rng: Draws) -> Demands:
    """There is one number for each weight, also when nobody came."""
    gradients = rng.normal(size=(rng.size(5), d := rng.size(3)))
    yield numbers_between(answer(gradients, 1.0, 4), (d,))
    yield np.array_equal(answer(gradients[:0], 1.0, 4), np.zeros(d))


@visible("clipped_step")
def two_long_gradients_cancel(answer: Answer, rng: Draws) -> Demands:
    """Two long and opposite gradients cancel, and twice the batch size gives half the step."""
    long = np.array([[3.0, 4.0], [-60.0, -80.0]])
    yield bool(np.allclose(answer(long, 1.0, 4), 0, atol=1e-6))
    yield bool(np.allclose(np.multiply(2, answer(long[:1], 1.0, 8)), answer(long[:1], 1.0, 4)))


@visible("clipped_step")
def short_gradients_stay_as_they_are(answer: Answer, rng: Draws) -> bool:
    """A gradient shorter than the clipping norm arrives in its own direction."""
    gradient = rng.normal(size=(1, rng.size(3)))
    gradient[0, 0] = -1
    step = np.asarray(answer(gradient, 100.0, 1))
    return bool(np.allclose(step / np.linalg.norm(step), gradient[0] / np.linalg.norm(gradient)))
