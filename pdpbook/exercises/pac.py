"""PAC privacy: information and the noise that buys it, guesses of membership, a clipped step."""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator

from pdpbook.exercises.properties import Answer, Assignment, repeats

PROPERTIES = Assignment(  # each exercise with how many of its properties are hidden
    "pac",
    by_hand={"what_each_promises": 4, "whose_error": 4},
    half_covariance=4,
    gaussian_information=5,
    cheapest_noise=5,
    success_bound=4,
    best_guess_rate=3,
    guess_members=6,
    clipped_step=7,
)
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden

# --- half_covariance ------------------------------------------------------------------------------


def shrunken_mean(X: Any) -> Callable[[Any], Any]:
    return lambda members: X[members].sum(axis=0) / (1 + np.sum(members))


@visible("half_covariance")
def a_covariance_is_square_and_no_variance_negative(answer: Answer, rng: Generator) -> bool:
    """The result is a covariance, k by k and symmetric, also where the output is one number."""
    fine = []
    for k in (1, 3):
        found = answer(shrunken_mean(rng.normal(size=(9, k))), 9, 40, rng)
        if np.shape(found) != (k, k):
            return False
        least = np.linalg.eigvalsh(found).min()
        fine.append(bool(np.allclose(found, np.transpose(found)) and least > -1e-12))
    return all(fine)


@visible("half_covariance")
def halves_repeat_with_their_generator(answer: Answer, rng: Generator) -> bool:
    """The same state of the generator gives the same result, and the next call gives another."""
    output = shrunken_mean(rng.normal(size=(12, 2)))
    return repeats(lambda rng: answer(output, 12, 30, rng), rng)


# --- gaussian_information -------------------------------------------------------------------------


def covariance(rng: Generator, d: int) -> Any:
    """Correlated, and with axes of different lengths."""
    root = rng.normal(size=(d, d)) * np.geomspace(0.3, 2, d)
    return root @ root.T + 0.05 * np.eye(d)


@visible("gaussian_information")
def information_is_a_number_of_nats(answer: Answer, rng: Generator) -> bool:
    """It is one number above 0, and 0 for an output that never varies."""
    S, B = covariance(rng, 3), covariance(rng, 3)
    found = answer(S, B)
    return bool(np.ndim(found) == 0 and found > 0 and abs(answer(0 * S, B)) < 1e-12)


# --- cheapest_noise -------------------------------------------------------------------------------


@visible("cheapest_noise")
def noise_is_a_covariance(answer: Answer, rng: Generator) -> bool:
    """The result is a covariance of the shape of S: symmetric, with no negative variance."""
    S = covariance(rng, 3)
    B = np.asarray(answer(S, 0.5))
    return B.shape == (3, 3) and bool(np.allclose(B, B.T) and np.linalg.eigvalsh(B).min() > -1e-9)


@visible("cheapest_noise")
def less_may_be_told_more_is_needed(answer: Answer, rng: Generator) -> bool:
    """The less information is allowed, the more noise there is."""
    S = covariance(rng, 3)
    return bool(np.trace(answer(S, 0.1)) > np.trace(answer(S, 0.3)) > 0)


# --- success_bound --------------------------------------------------------------------------------


@visible("success_bound")
def a_bound_from_the_prior_to_one(answer: Answer, rng: Generator) -> bool:
    """The bound is between the prior and 1, and is the prior where nothing is told."""
    fine = [0.6 <= answer(v, 0.6) <= 1 for v in (1e-3, 0.1, 0.4, 5.0)]
    return all(fine) and bool(np.isclose(answer(0.0, 0.6), 0.6))


# --- best_guess_rate ------------------------------------------------------------------------------


def with_one_moved(rng: Generator, noise: Any) -> Any:
    """What a person does to an output, neither lost in the noise nor far above it."""
    unit = rng.normal(size=len(noise))
    return np.linalg.cholesky(noise) @ unit / np.linalg.norm(unit) * rng.uniform(0.5, 2)


@visible("best_guess_rate")
def a_guess_is_no_worse_than_a_coin(answer: Answer, rng: Generator) -> bool:
    """The rate is from one half to one, and one half for somebody who moves nothing."""
    noise = covariance(rng, 3)
    still, moved = answer(np.zeros(3), noise), answer(with_one_moved(rng, noise), noise)
    return bool(np.isclose(still, 0.5) and 0.5 < moved <= 1)


# --- guess_members --------------------------------------------------------------------------------


def rotation(rng: Generator, d: int) -> Any:
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


def game(rng: Generator, d: int = 3, distance: float = 1.5) -> tuple[Any, Any, Any]:
    """Two means some units of the noise apart, where the noise is large beside the move."""
    Q = rotation(rng, d)
    variances = np.geomspace(0.05, 9, d)
    move = Q @ (np.sqrt(variances) * rng.choice([-1.0, 1.0], d)) * distance / np.sqrt(d)
    outside = rng.normal(size=d)
    return outside, outside + move, Q @ np.diag(variances) @ Q.T


@visible("guess_members")
def a_guess_is_yes_or_no(answer: Answer, rng: Generator) -> bool:
    """There is one truth value for each release."""
    outside, inside, noise = game(rng)
    found = np.asarray(answer(rng.normal(size=(7, 3)), outside, inside, noise, 0.4))
    return found.shape == (7,) and found.dtype == bool


@visible("guess_members")
def without_noise_there_is_no_doubt(answer: Answer, rng: Generator) -> bool:
    """With hardly any noise every guess is right."""
    outside, inside, noise = game(rng)
    found = answer(np.array([inside, outside]), outside, inside, noise / 1e4, 0.5)
    return bool(found[0] and not found[1])


# --- clipped_step ---------------------------------------------------------------------------------


@visible("clipped_step")
def a_step_has_a_number_a_weight(answer: Answer, rng: Generator) -> bool:
    """There is one number for each weight, also when nobody came."""
    step, empty = answer(rng.normal(size=(5, 3)), 1.0, 4), answer(np.zeros((0, 3)), 1.0, 4)
    return np.shape(step) == np.shape(empty) == (3,) and bool(np.all(np.asarray(empty) == 0))


@visible("clipped_step")
def short_gradients_are_kept(answer: Answer, rng: Generator) -> bool:
    """A gradient shorter than the clipping norm arrives in its own direction."""
    gradient = rng.normal(size=(1, 3))
    step = np.asarray(answer(gradient, 100.0, 1))
    return bool(np.allclose(step / np.linalg.norm(step), gradient[0] / np.linalg.norm(gradient)))
