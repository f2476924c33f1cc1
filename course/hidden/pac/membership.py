"""Guesses of membership: the best rate, and the guess that has it."""

import numpy as np
from numpy.random import Generator
from scipy import integrate, special, stats

from course.hidden import ALARM, ROUNDING
from pdpbook.pages.exercises.pac import covariance, game, hidden, with_one_moved
from pdpbook.pages.exercises.properties import Answer, Demands

# --- best_guess_rate ------------------------------------------------------------------------------


@hidden("best_guess_rate", weight=3, promise=True)
def the_likelier_answer_is_right_that_often(answer: Answer, rng: Generator) -> Demands:
    """It is how often the likelier of two answers is right, by adding up densities."""
    for move, variance in ((0.5, 1.0), (-3.0, 4.0), (1.0, 0.09), (2.0, 25.0)):
        sigma = np.sqrt(variance)
        grid = np.linspace(-9 * sigma, abs(move) + 9 * sigma, 20_001)
        density = [stats.norm.pdf(grid, mean, sigma) for mean in (0.0, abs(move))]
        rate = integrate.trapezoid(np.maximum(*density), grid) / 2
        found = answer(np.array([move]), np.array([[variance]]))
        yield bool(np.isclose(found, rate, atol=1e-6))


@hidden("best_guess_rate", promise=True)
def coordinates_hide_nothing(answer: Answer, rng: Generator) -> Demands:
    """Other coordinates, for move and noise alike, make nobody easier to find."""
    for _ in range(6):
        noise = covariance(rng, 3)
        move, A = with_one_moved(rng, noise), rng.normal(size=(3, 3)) + 3 * np.eye(3)
        far = np.linalg.norm(np.linalg.solve(np.linalg.cholesky(noise), move))
        found = answer(move, noise), answer(A @ move, A @ noise @ A.T)
        yield bool(np.allclose(found, answer(np.array([far]), np.eye(1)), atol=ROUNDING))


@hidden("best_guess_rate")
def noise_beside_the_move_hides_nothing(answer: Answer, rng: Generator) -> bool:
    """Independent noise on coordinates that nobody moves hides nobody."""
    noise = covariance(rng, 2)
    move = with_one_moved(rng, noise)
    wide = np.zeros((4, 4))
    wide[:2, :2], wide[2:, 2:] = noise, 50 * covariance(rng, 2)
    more = np.append(move, [0.0, 0.0])
    return bool(np.isclose(answer(more, wide), answer(move, noise), atol=ROUNDING))


# --- guess_members --------------------------------------------------------------------------------


def _is_as_good_as_the_best(answer: Answer, rng: Generator, prior: float) -> bool:
    games, distance = 20_000, 1.5
    outside, inside, noise = game(rng, distance=distance)
    truth = rng.random(games) < prior
    z = rng.normal(size=(games, 3)) @ np.linalg.cholesky(noise).T
    guess = np.asarray(
        answer(np.where(truth[:, None], inside, outside) + z, outside, inside, noise, prior)
    )
    if guess.shape != (games,):
        return False
    odds = np.log(prior / (1 - prior)) / distance
    best = prior * stats.norm.cdf(distance / 2 + odds)
    best += (1 - prior) * stats.norm.cdf(distance / 2 - odds)
    return bool(stats.binom.cdf(np.sum(guess == truth), games, best) > ALARM)


@hidden("guess_members", draws=True, promise=True)
def at_even_odds_nobody_is_right_more_often(answer: Answer, rng: Generator) -> bool:
    """At even odds it is right as often as the best attacker."""
    return _is_as_good_as_the_best(answer, rng, 0.5)


@hidden("guess_members", draws=True, weight=3, promise=True)
def at_uneven_odds_nobody_is_right_more_often(answer: Answer, rng: Generator) -> bool:
    """Where few or most people are in, it is right as often as the best attacker."""
    return _is_as_good_as_the_best(answer, rng, float(rng.choice([0.15, 0.85])))


@hidden("guess_members")
def it_changes_its_mind_where_the_odds_are_even(answer: Answer, rng: Generator) -> Demands:
    """It says yes just where, after the release, being in is likelier than not."""
    outside, inside, noise = game(rng)
    releases = outside + rng.normal(size=(40, 3))
    gain = stats.multivariate_normal(inside, noise).logpdf(releases)
    gain = gain - stats.multivariate_normal(outside, noise).logpdf(releases)
    for release, nats in zip(releases, gain, strict=True):
        low, high = special.expit(-nats - 0.05), special.expit(-nats + 0.05)
        if 1e-6 < low and high < 1 - 1e-6:
            said = [answer(release[None], outside, inside, noise, q)[0] for q in (low, high)]
            yield bool(said[1] and not said[0])


@hidden("guess_members")
def names_may_be_exchanged(answer: Answer, rng: Generator) -> bool:
    """With inside and outside exchanged every guess is the opposite."""
    outside, inside, noise = game(rng)
    releases = outside + 2 * rng.normal(size=(50, 3))
    forth = np.asarray(answer(releases, outside, inside, noise, 0.3))
    back = np.asarray(answer(releases, inside, outside, noise, 0.7))
    return bool(np.array_equal(forth, ~back) and 0 < forth.sum() < 50)


@hidden("guess_members")
def a_release_far_away_is_judged_too(answer: Answer, rng: Generator) -> bool:
    """A release that is far from both means still gets the likelier answer."""
    releases, one = np.array([[400.0], [-400.0]]), np.array([[1.0]])
    found = answer(releases, np.array([0.0]), np.array([1.0]), one, 0.5)
    return bool(found[0] and not found[1])


@hidden("guess_members")
def each_release_is_judged_alone(answer: Answer, rng: Generator) -> bool:
    """A guess about one release does not depend on the others."""
    outside, inside, noise = game(rng)
    releases = outside + 2 * rng.normal(size=(80, 3))
    for prior in (0.2, 0.9):
        alone = [bool(answer(one[None], outside, inside, noise, prior)[0]) for one in releases]
        together = np.asarray(answer(releases, outside, inside, noise, prior))
        if not np.array_equal(alone, together):
            return False
    return True
