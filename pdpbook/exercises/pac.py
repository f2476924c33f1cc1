"""PAC privacy: information and the noise that buys it, guesses of membership, a clipped step."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import integrate, special, stats

from pdpbook.exercises.properties import Answer, Assignment

PROPERTIES = Assignment("pac")
visible, hidden = PROPERTIES.visible, PROPERTIES.hidden

ALARM = 1e-6  # a right answer may fail a property that draws this often


def _covariance(rng: Generator, d: int) -> Any:
    """Correlated, and with axes of different lengths."""
    root = rng.normal(size=(d, d)) * np.geomspace(0.3, 2, d)
    return root @ root.T + 0.05 * np.eye(d)


def _rotation(rng: Generator, d: int) -> Any:
    return np.linalg.qr(rng.normal(size=(d, d)))[0]


# --- half_covariance ------------------------------------------------------------------------------


def _shrunken_mean(X: Any) -> Callable[[Any], Any]:
    return lambda members: X[members].sum(axis=0) / (1 + np.sum(members))


def _all_halves(n: int) -> Any:
    return ((np.arange(2**n)[:, None] >> np.arange(n)) & 1).astype(bool)


@visible("half_covariance")
def a_covariance_is_square_and_no_variance_negative(answer: Answer, rng: Generator) -> bool:
    """The result is a covariance, k by k and symmetric, also where the output is one number."""
    fine = []
    for k in (1, 3):
        found = answer(_shrunken_mean(rng.normal(size=(9, k))), 9, 40, rng)
        if np.shape(found) != (k, k):
            return False
        least = np.linalg.eigvalsh(found).min()
        fine.append(bool(np.allclose(found, np.transpose(found)) and least > -1e-12))
    return all(fine)


@visible("half_covariance")
def halves_repeat_with_their_generator(answer: Answer, rng: Generator) -> bool:
    """The same state of the generator gives the same result, and the next call gives another."""
    output, state = _shrunken_mean(rng.normal(size=(12, 2))), int(rng.integers(2**31))
    one, two = np.random.default_rng(state), np.random.default_rng(state)
    first = answer(output, 12, 30, one)
    again, other = answer(output, 12, 30, two), answer(output, 12, 30, one)
    return bool(np.array_equal(first, again)) and not np.allclose(first, other)


@hidden("half_covariance", draws=True)
def everybody_comes_by_a_coin_of_their_own(answer: Answer, rng: Generator) -> bool:
    """Everybody is in half of the subsets, independently of all others and of the subset before."""
    seen: list[Any] = []

    def output(members: Any) -> Any:
        seen.append(np.array(members, dtype=bool))
        return np.array([float(len(seen))])

    n, draws = 6, 1000
    answer(output, n, draws, rng)
    masks = np.array(seen)
    if masks.shape[1:] != (n,) or len(masks) < draws:
        return False
    first, second = np.triu_indices(n, 1)
    coins = [
        *masks.T,
        *(masks[:, first] ^ masks[:, second]).T,
        *(masks[1:] ^ masks[:-1]).T,
    ]  # each is a row of fair and independent coins
    level = ALARM / len(coins)
    return all(stats.binomtest(int(c.sum()), len(c)).pvalue > level for c in coins)


@hidden("half_covariance", draws=True)
def it_agrees_with_all_halves_of_a_small_pool(answer: Answer, rng: Generator) -> bool:
    """It comes near the covariance that a list of all halves of a small pool gives."""
    X = rng.choice([-1.0, 1.0], (3, 2)) + np.array([0.2, -0.2])
    output, draws = _shrunken_mean(X), 3000
    found = np.asarray(answer(output, 3, draws, rng))
    ways = np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    listed = np.array([output(half) for half in _all_halves(3)]) @ ways.T
    mine = np.einsum("kp,pq,kq->k", ways, found, ways)
    # Hoeffding for the mean of (a - b)^2 / 2 over pairs of draws, two sides of three ways
    reach = np.ptp(listed, axis=0) ** 2 / 2 * np.sqrt(np.log(6 / ALARM) / (2 * (draws // 2)))
    return bool(np.all(np.abs(mine - listed.var(axis=0)) <= reach))


@hidden("half_covariance", draws=True)
def it_is_right_on_average_for_two_draws(answer: Answer, rng: Generator) -> bool:
    """On average it is neither too small nor too large, even from two draws."""
    games = 250
    found = [
        np.sum(answer(lambda members: np.array([float(members[0])]), 1, 2, rng))
        for _ in range(games)
    ]  # the variance of a fair coin is 1/4: one half if the two draws differ, else nothing
    differ = 2 * float(np.sum(found))
    whole = abs(differ - round(differ)) < 1e-6 and 0 <= round(differ) <= games
    return bool(whole and stats.binomtest(round(differ), games).pvalue > ALARM)


@hidden("half_covariance")
def outputs_may_be_moved_and_mixed(answer: Answer, rng: Generator) -> bool:
    """An output in other coordinates and from another origin has the covariance that fits them."""
    output, state = _shrunken_mean(rng.normal(size=(8, 3))), int(rng.integers(2**31))
    mix, origin = rng.normal(size=(2, 3)), rng.normal(size=2)
    one, two = np.random.default_rng(state), np.random.default_rng(state)
    straight = np.asarray(answer(output, 8, 50, one))
    moved = np.asarray(answer(lambda members: mix @ output(members) + origin, 8, 50, two))
    wanted = mix @ straight @ mix.T
    return bool(moved.shape == (2, 2) and np.allclose(moved, wanted, rtol=1e-8, atol=1e-12))


# --- gaussian_information -------------------------------------------------------------------------


@visible("gaussian_information")
def information_is_a_number_of_nats(answer: Answer, rng: Generator) -> bool:
    """It is one number above 0, and 0 for an output that never varies."""
    S, B = _covariance(rng, 3), _covariance(rng, 3)
    found = answer(S, B)
    return bool(np.ndim(found) == 0 and found > 0 and abs(answer(0 * S, B)) < 1e-12)


@hidden("gaussian_information")
def a_gaussian_output_tells_just_that(answer: Answer, rng: Generator) -> bool:
    """For a Gaussian output it is the mutual information, neither more nor less."""
    fine = []
    for d in (1, 2, 5):
        S, B = _covariance(rng, d), _covariance(rng, d)
        released, noise = stats.multivariate_normal(cov=S + B), stats.multivariate_normal(cov=B)
        fine.append(bool(np.isclose(answer(S, B), released.entropy() - noise.entropy())))
    return all(fine)


@hidden("gaussian_information")
def coordinates_do_not_matter(answer: Answer, rng: Generator) -> bool:
    """Other coordinates or other units, for output and noise alike, change nothing."""
    S, B, A = _covariance(rng, 4), _covariance(rng, 4), rng.normal(size=(4, 4)) + 3 * np.eye(4)
    return bool(np.isclose(answer(A @ S @ A.T, A @ B @ A.T), answer(S, B), rtol=1e-7))


@hidden("gaussian_information")
def an_output_may_vary_in_one_direction_only(answer: Answer, rng: Generator) -> bool:
    """An output that varies along one line tells what one number tells."""
    B, way = _covariance(rng, 4), rng.normal(size=4)
    along = float(way @ np.linalg.solve(B, way))
    one = answer(np.array([[along]]), np.array([[1.0]]))
    return bool(one > 0 and np.isclose(answer(np.outer(way, way), B), one, rtol=1e-7))


@hidden("gaussian_information")
def many_coordinates_are_no_overflow(answer: Answer, rng: Generator) -> bool:
    """Three hundred independent coordinates tell three hundred times what one of them tells."""
    one = answer(np.array([[100.0]]), np.array([[1.0]]))
    return bool(np.isclose(answer(100 * np.eye(300), np.eye(300)), 300 * one))


# --- cheapest_noise -------------------------------------------------------------------------------


def _exposure(S: Any, B: Any) -> float:
    return float(np.trace(np.linalg.solve(B, S))) / 2


@visible("cheapest_noise")
def noise_is_a_covariance(answer: Answer, rng: Generator) -> bool:
    """The result is a covariance of the shape of S: symmetric, with no negative variance."""
    S = _covariance(rng, 3)
    B = np.asarray(answer(S, 0.5))
    return B.shape == (3, 3) and bool(np.allclose(B, B.T) and np.linalg.eigvalsh(B).min() > -1e-9)


@visible("cheapest_noise")
def less_may_be_told_more_is_needed(answer: Answer, rng: Generator) -> bool:
    """The less information is allowed, the more noise there is."""
    S = _covariance(rng, 3)
    return bool(np.trace(answer(S, 0.1)) > np.trace(answer(S, 0.3)) > 0)


@hidden("cheapest_noise")
def the_target_is_kept(answer: Answer, rng: Generator) -> bool:
    """The bound on the information is at most v."""
    fine = []
    for v in (0.02, 0.4, 3.0):
        S = _covariance(rng, 4)
        B = np.asarray(answer(S, v))
        fine.append(bool(np.linalg.eigvalsh(B).min() > 0 and _exposure(S, B) <= v * (1 + 1e-5)))
    return all(fine)


@hidden("cheapest_noise")
def no_other_noise_is_cheaper(answer: Answer, rng: Generator) -> bool:
    """No other noise that keeps the target has a smaller trace."""
    S, v = _covariance(rng, 4), float(rng.uniform(0.05, 1))
    B = np.asarray(answer(S, v))
    root, cost = np.linalg.cholesky(B), np.trace(B)
    for _ in range(20):  # the problem is convex: what is best nearby is best
        W = rng.normal(size=(4, 4))
        W = (W + W.T) / np.linalg.norm(W + W.T)
        for step in (0.3, -0.3, 0.03, -0.03):
            other = root @ (np.eye(4) + step * W) @ root.T
            other *= _exposure(S, other) / v
            if np.trace(other) < cost * (1 - 1e-5):
                return False
    return True


@hidden("cheapest_noise")
def noise_turns_with_the_output(answer: Answer, rng: Generator) -> bool:
    """An output that is rotated gets its noise rotated, and nothing else changes."""
    S, Q = _covariance(rng, 4), _rotation(rng, 4)
    straight, turned = np.asarray(answer(S, 0.3)), np.asarray(answer(Q @ S @ Q.T, 0.3))
    return bool(np.allclose(turned, Q @ straight @ Q.T, atol=1e-4 * np.trace(straight)))


@hidden("cheapest_noise")
def noise_has_the_units_of_a_variance(answer: Answer, rng: Generator) -> bool:
    """An output in units ten times as small gets the same noise in those units."""
    S = _covariance(rng, 3)
    one, two = np.asarray(answer(S, 0.2)), np.asarray(answer(100 * S, 0.2))
    return bool(np.allclose(two, 100 * one, atol=1e-3 * np.trace(one)))


@hidden("cheapest_noise")
def what_never_varies_needs_no_noise(answer: Answer, rng: Generator) -> bool:
    """A direction in which the output never varies gets no noise, and the others what they need."""
    S, v, Q = _covariance(rng, 2), 0.4, _rotation(rng, 4)
    wide = Q[:, :2] @ S @ Q[:, :2].T  # the last two columns of Q are never moved
    B = np.asarray(answer(wide, v))
    bare, kept = Q[:, 2:].T @ B @ Q[:, 2:], Q[:, :2].T @ B @ Q[:, :2]
    quiet = np.allclose(bare, 0, atol=1e-5 * np.trace(kept))
    return bool(quiet and abs(_exposure(S, kept) - v) <= 1e-4 * v)


# --- success_bound --------------------------------------------------------------------------------


def _divergence(p: float, prior: float) -> float:
    return float(special.rel_entr(p, prior) + special.rel_entr(1 - p, 1 - prior))


def _told(joint: Any) -> float:
    """Mutual information of a table of probabilities, in nats."""
    apart = joint.sum(axis=0, keepdims=True) * joint.sum(axis=1, keepdims=True)
    return float(special.rel_entr(joint, apart).sum())


@visible("success_bound")
def a_bound_from_the_prior_to_one(answer: Answer, rng: Generator) -> bool:
    """The bound is between the prior and 1, and is the prior where nothing is told."""
    fine = [0.6 <= answer(v, 0.6) <= 1 for v in (1e-3, 0.1, 0.4, 5.0)]
    return all(fine) and bool(np.isclose(answer(0.0, 0.6), 0.6))


@hidden("success_bound")
def all_of_the_information_is_used(answer: Answer, rng: Generator) -> bool:
    """The divergence of the bound from the prior is the information, to eight digits."""
    fine = []
    for prior in (0.5, 0.7, 0.9):
        for share in rng.uniform(0.01, 0.95, 5):
            v = share * -np.log(prior)
            p = float(answer(v, prior))
            fine.append(prior <= p <= 1 and abs(_divergence(p, prior) - v) < 1e-8)
    return all(fine)


@hidden("success_bound")
def enough_information_is_certainty(answer: Answer, rng: Generator) -> bool:
    """Enough information makes the bound 1, and no more than that."""
    return all(abs(answer(v, prior) - 1) < 1e-9 for v, prior in ((0.7, 0.5), (9.0, 0.8)))


@hidden("success_bound")
def no_made_up_release_is_guessed_more_often(answer: Answer, rng: Generator) -> bool:
    """No release, made up as a table, is guessed right more often than its information allows."""
    fine = []
    for outputs in (2, 2, 3, 5) * 15:
        inside = float(rng.uniform(0.05, 0.95))
        laws = rng.dirichlet(np.full(outputs, 0.4), size=2)
        joint = np.array([[1 - inside], [inside]]) * laws
        best = joint.max(axis=0).sum()
        fine.append(best <= answer(_told(joint), max(inside, 1 - inside)) + 1e-9)
    return all(fine)


@hidden("success_bound")
def a_coin_that_tends_to_the_truth_attains_it(answer: Answer, rng: Generator) -> bool:
    """For a coin that tells the truth more often than not the bound is that often."""
    fine = []
    for truth in rng.uniform(0.52, 0.98, 5):
        joint = np.array([[truth, 1 - truth], [1 - truth, truth]]) / 2
        fine.append(abs(answer(_told(joint), 0.5) - truth) < 1e-6)
    return all(fine)


# --- best_guess_rate ------------------------------------------------------------------------------


def _move(rng: Generator, noise: Any) -> Any:
    """What a person does to an output, neither lost in the noise nor far above it."""
    unit = rng.normal(size=len(noise))
    return np.linalg.cholesky(noise) @ unit / np.linalg.norm(unit) * rng.uniform(0.5, 2)


@visible("best_guess_rate")
def a_guess_is_no_worse_than_a_coin(answer: Answer, rng: Generator) -> bool:
    """The rate is from one half to one, and one half for somebody who moves nothing."""
    noise = _covariance(rng, 3)
    still, moved = answer(np.zeros(3), noise), answer(_move(rng, noise), noise)
    return bool(np.isclose(still, 0.5) and 0.5 < moved <= 1)


@hidden("best_guess_rate")
def the_likelier_answer_is_right_that_often(answer: Answer, rng: Generator) -> bool:
    """It is how often the likelier of two answers is right, by adding up densities."""
    fine = []
    for move, variance in ((0.5, 1.0), (-3.0, 4.0), (1.0, 0.09), (2.0, 25.0)):
        sigma = np.sqrt(variance)
        grid = np.linspace(-9 * sigma, abs(move) + 9 * sigma, 20_001)
        density = [stats.norm.pdf(grid, mean, sigma) for mean in (0.0, abs(move))]
        rate = integrate.trapezoid(np.maximum(*density), grid) / 2
        found = answer(np.array([move]), np.array([[variance]]))
        fine.append(bool(np.isclose(found, rate, atol=1e-6)))
    return all(fine)


@hidden("best_guess_rate")
def coordinates_hide_nothing(answer: Answer, rng: Generator) -> bool:
    """Other coordinates, for move and noise alike, make nobody easier to find."""
    noise = _covariance(rng, 3)
    move = _move(rng, noise)
    A = rng.normal(size=(3, 3)) + 3 * np.eye(3)
    return bool(np.isclose(answer(A @ move, A @ noise @ A.T), answer(move, noise), atol=1e-8))


@hidden("best_guess_rate")
def noise_beside_the_move_hides_nothing(answer: Answer, rng: Generator) -> bool:
    """Independent noise on coordinates that nobody moves hides nobody."""
    noise = _covariance(rng, 2)
    move = _move(rng, noise)
    wide = np.zeros((4, 4))
    wide[:2, :2], wide[2:, 2:] = noise, 50 * _covariance(rng, 2)
    more = np.append(move, [0.0, 0.0])
    return bool(np.isclose(answer(more, wide), answer(move, noise), atol=1e-8))


# --- guess_members --------------------------------------------------------------------------------


def _game(rng: Generator, d: int = 3, distance: float = 1.5) -> tuple[Any, Any, Any]:
    """Two means some units of the noise apart, where the noise is large beside the move."""
    Q = _rotation(rng, d)
    variances = np.geomspace(0.05, 9, d)
    move = Q @ (np.sqrt(variances) * rng.choice([-1.0, 1.0], d)) * distance / np.sqrt(d)
    outside = rng.normal(size=d)
    return outside, outside + move, Q @ np.diag(variances) @ Q.T


def _is_as_good_as_the_best(answer: Answer, rng: Generator, prior: float) -> bool:
    games, distance = 20_000, 1.5
    outside, inside, noise = _game(rng, distance=distance)
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


@visible("guess_members")
def a_guess_is_yes_or_no(answer: Answer, rng: Generator) -> bool:
    """There is one truth value for each release."""
    outside, inside, noise = _game(rng)
    found = np.asarray(answer(rng.normal(size=(7, 3)), outside, inside, noise, 0.4))
    return found.shape == (7,) and found.dtype == bool


@visible("guess_members")
def without_noise_there_is_no_doubt(answer: Answer, rng: Generator) -> bool:
    """With hardly any noise every guess is right."""
    outside, inside, noise = _game(rng)
    found = answer(np.array([inside, outside]), outside, inside, noise / 1e4, 0.5)
    return bool(found[0] and not found[1])


@hidden("guess_members", draws=True)
def at_even_odds_nobody_is_right_more_often(answer: Answer, rng: Generator) -> bool:
    """At even odds it is right as often as the best attacker."""
    return _is_as_good_as_the_best(answer, rng, 0.5)


@hidden("guess_members", draws=True)
def at_uneven_odds_nobody_is_right_more_often(answer: Answer, rng: Generator) -> bool:
    """Where few or most people are in, it is right as often as the best attacker."""
    return _is_as_good_as_the_best(answer, rng, float(rng.choice([0.15, 0.85])))


@hidden("guess_members")
def it_changes_its_mind_where_the_odds_are_even(answer: Answer, rng: Generator) -> bool:
    """It says yes just where, after the release, being in is likelier than not."""
    outside, inside, noise = _game(rng)
    releases = outside + rng.normal(size=(40, 3))
    gain = stats.multivariate_normal(inside, noise).logpdf(releases)
    gain = gain - stats.multivariate_normal(outside, noise).logpdf(releases)
    fine = []
    for release, nats in zip(releases, gain, strict=True):
        low, high = special.expit(-nats - 0.05), special.expit(-nats + 0.05)
        if 1e-6 < low and high < 1 - 1e-6:
            said = [answer(release[None], outside, inside, noise, q)[0] for q in (low, high)]
            fine.append(bool(said[1] and not said[0]))
    return all(fine)


@hidden("guess_members")
def names_may_be_exchanged(answer: Answer, rng: Generator) -> bool:
    """With inside and outside exchanged every guess is the opposite."""
    outside, inside, noise = _game(rng)
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


@hidden("clipped_step")
def nobody_moves_it_further_than_allowed(answer: Answer, rng: Generator) -> bool:
    """Whoever joins or leaves moves the step by at most the clipping norm over the batch size."""
    fine = []
    rest, other = rng.normal(size=(6, 4)), rng.normal(size=4)
    for person in (other / 100, other, 1e4 * other, -1e4 * rest.sum(axis=0)):
        move = answer(np.vstack([rest, person[None]]), 0.7, 5) - answer(rest, 0.7, 5)
        fine.append(bool(np.linalg.norm(move) <= 0.7 / 5 * (1 + 1e-9)))
    return all(fine)


@hidden("clipped_step")
def a_loud_person_is_heard_as_far_as_allowed(answer: Answer, rng: Generator) -> bool:
    """Somebody with a huge gradient moves the step just as far as allowed, in their direction."""
    rest, person = rng.normal(size=(6, 4)), 1e3 * rng.normal(size=4)
    move = answer(np.vstack([rest, person[None]]), 0.7, 5) - answer(rest, 0.7, 5)
    return bool(np.allclose(move, 0.7 / 5 * person / np.linalg.norm(person), atol=1e-9))


@hidden("clipped_step")
def below_the_norm_nothing_is_changed(answer: Answer, rng: Generator) -> bool:
    """Where no gradient is too long, it is their sum over the batch size."""
    gradients = rng.normal(size=(6, 4))
    longest = float(np.linalg.norm(gradients, axis=1).max())
    fine = []
    for batch in (3, 6, 50):
        wanted = gradients.sum(axis=0) / batch
        fine.append(bool(np.allclose(answer(gradients, 1.01 * longest, batch), wanted)))
    return all(fine)


@hidden("clipped_step")
def a_gradient_of_zero_is_absent(answer: Answer, rng: Generator) -> bool:
    """Somebody whose gradient is 0 might as well have stayed away."""
    gradients = 2 * rng.normal(size=(5, 3))
    more = np.vstack([gradients, np.zeros((2, 3))])
    return bool(np.allclose(answer(more, 1.0, 4), answer(gradients, 1.0, 4)))
