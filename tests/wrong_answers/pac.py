"""Wrong answers to the exercises on PAC privacy."""

import numpy as np
from scipy import linalg, optimize, special, stats

from wrong_answers import Answers

wrong = Answers()

# --- half_covariance -----------------------------------------------------------------------------


def coins(n, draws, rng):
    return rng.random((draws, n)) < 0.5


def covariance_of(values, divisor):
    centered = np.array(values) - np.mean(values, axis=0)
    return centered.T @ centered / divisor


@wrong("half_covariance", "it_is_right_on_average_for_two_draws")
def divided_by_the_number_of_draws(output, n, draws, rng):
    return covariance_of([output(half) for half in coins(n, draws, rng)], draws)


@wrong("half_covariance", "everybody_comes_by_a_coin_of_their_own")
def the_same_half_every_time(output, n, draws, rng):
    half = rng.random(n) < 0.5
    return covariance_of([output(half) for _ in range(draws)], draws - 1)


@wrong("half_covariance", "everybody_comes_by_a_coin_of_their_own")
def exactly_half_of_the_people(output, n, draws, rng):
    halves = np.tile(np.arange(n) < (n + 1) // 2, (draws, 1))
    return covariance_of([output(h) for h in rng.permuted(halves, axis=1)], draws - 1)


@wrong("half_covariance", "everybody_comes_by_a_coin_of_their_own")
def one_coin_for_everybody(output, n, draws, rng):
    halves = np.repeat(rng.random((draws, 1)) < 0.5, n, axis=1)
    return covariance_of([output(half) for half in halves], draws - 1)


@wrong("half_covariance", "it_agrees_with_all_halves_of_a_small_pool")
def integers_for_truth_values(output, n, draws, rng):
    halves = rng.integers(0, 2, (draws, n))
    return covariance_of([output(half) for half in halves], draws - 1)


@wrong("half_covariance", "it_agrees_with_all_halves_of_a_small_pool")
def covariance_of_the_mean(output, n, draws, rng):
    return covariance_of([output(h) for h in coins(n, draws, rng)], draws - 1) / draws


@wrong("half_covariance", "outputs_may_be_moved_and_mixed")
def covariance_over_coordinates(output, n, draws, rng):
    return np.cov(np.array([output(half) for half in coins(n, draws, rng)]))


@wrong("half_covariance", "outputs_may_be_moved_and_mixed")
def mean_not_taken_away(output, n, draws, rng):
    values = np.array([output(half) for half in coins(n, draws, rng)])
    return values.T @ values / (draws - 1)


@wrong("half_covariance", "outputs_may_be_moved_and_mixed")
def correlations(output, n, draws, rng):
    values = [output(half) for half in coins(n, draws, rng)]
    return np.atleast_2d(np.corrcoef(values, rowvar=False))


@wrong("half_covariance", "it_is_right_on_average_for_two_draws")
def a_seed_of_its_own(output, n, draws, rng):
    return covariance_of([output(h) for h in coins(n, draws, np.random.default_rng(0))], draws - 1)


@wrong("half_covariance", "everybody_comes_by_a_coin_of_their_own")
def a_half_and_its_complement(output, n, draws, rng):
    halves = coins(n, draws, rng)
    halves[1::2] = ~halves[: 2 * (draws // 2) : 2]
    return covariance_of([output(half) for half in halves], draws - 1)


@wrong("half_covariance", "it_is_right_on_average_for_two_draws")
def never_an_empty_half(output, n, draws, rng):
    halves = []
    while len(halves) < draws:
        half = rng.random(n) < 0.5
        halves += [half] * bool(half.any())
    return covariance_of([output(half) for half in halves], draws - 1)


# --- gaussian_information ------------------------------------------------------------------------


@wrong("gaussian_information", "a_gaussian_output_tells_just_that")
def without_the_half(S, B):
    return np.linalg.slogdet(np.eye(len(S)) + np.linalg.solve(B, S))[1]


@wrong("gaussian_information", "a_gaussian_output_tells_just_that")
def in_bits(S, B):
    return np.linalg.slogdet(np.eye(len(S)) + np.linalg.solve(B, S))[1] / 2 / np.log(2)


@wrong("gaussian_information", "a_gaussian_output_tells_just_that")
def trace_for_determinant(S, B):
    return np.trace(np.linalg.solve(B, S)) / 2


@wrong("gaussian_information", "coordinates_do_not_matter")
def diagonals_only(S, B):
    return np.log1p(np.diag(S) / np.diag(B)).sum() / 2


@wrong("gaussian_information", "coordinates_do_not_matter")
def noise_as_a_deviation(S, B):
    return np.linalg.slogdet(np.eye(len(S)) + np.linalg.solve(B @ B, S))[1] / 2


@wrong("gaussian_information", "an_output_may_vary_in_one_direction_only")
def ratio_of_determinants_without_the_noise(S, B):
    sign, log = np.linalg.slogdet(S)
    if sign <= 0:
        return 0.0
    return max(0.0, log - np.linalg.slogdet(B)[1]) / 2


@wrong("gaussian_information", "many_coordinates_are_no_overflow")
def logarithm_of_a_huge_number(S, B):
    return np.log(np.linalg.det(np.eye(len(S)) + np.linalg.solve(B, S))) / 2


@wrong("gaussian_information", "a_little_variance_tells_a_little")
def small_ratios_dropped(S, B):
    ratios = linalg.eigh(S, B, eigvals_only=True)
    return np.log1p(ratios[ratios > 1e-2]).sum() / 2


@wrong("gaussian_information", "coordinates_do_not_matter")
def ratios_of_eigenvalues(S, B):
    return np.log1p(np.linalg.eigvalsh(S) / np.linalg.eigvalsh(B)).sum() / 2


# --- cheapest_noise ------------------------------------------------------------------------------


def axes(S):
    variances, vectors = np.linalg.eigh(S)
    return np.maximum(variances, 0), vectors


def turned(noise, vectors):
    return vectors @ np.diag(noise) @ vectors.T


@wrong("cheapest_noise", "no_other_noise_is_cheaper")
def in_proportion_to_the_variance(S, v):
    variances, vectors = axes(S)
    return turned(variances * len(S) / (2 * v), vectors)


@wrong("cheapest_noise", "no_other_noise_is_cheaper")
def the_same_in_all_directions(S, v):
    return np.trace(S) / (2 * v) * np.eye(len(S))


@wrong("cheapest_noise", "noise_has_the_units_of_a_variance")
def deviations_for_variances(S, v):
    root, vectors = np.sqrt(axes(S)[0]), axes(S)[1]
    return turned(np.sqrt(root * root.sum() / (2 * v)), vectors)


@wrong("cheapest_noise", "noise_turns_with_the_output")
def axes_forgotten(S, v):
    root = np.sqrt(axes(S)[0])
    return np.diag(root * root.sum() / (2 * v))


@wrong("cheapest_noise", "the_target_is_kept")
def the_diagonal_of_the_right_one(S, v):
    root, vectors = np.sqrt(axes(S)[0]), axes(S)[1]
    return np.diag(np.diag(turned(root * root.sum() / (2 * v), vectors)))


@wrong("cheapest_noise", "no_other_noise_is_cheaper")
def coordinate_by_coordinate(S, v):
    root = np.sqrt(np.diag(S))
    return np.diag(root * root.sum() / (2 * v))


@wrong("cheapest_noise", "the_target_is_kept")
def twice_the_target(S, v):
    root, vectors = np.sqrt(axes(S)[0]), axes(S)[1]
    return turned(root * root.sum() / (4 * v), vectors)


@wrong("cheapest_noise", "no_other_noise_is_cheaper")
def the_half_forgotten(S, v):
    root, vectors = np.sqrt(axes(S)[0]), axes(S)[1]
    return turned(root * root.sum() / v, vectors)


@wrong("cheapest_noise", "noise_turns_with_the_output")
def transposed_axes(S, v):
    root, vectors = np.sqrt(axes(S)[0]), axes(S)[1]
    return turned(root * root.sum() / (2 * v), vectors.T)


@wrong("cheapest_noise", "what_never_varies_needs_no_noise")
def a_little_noise_everywhere(S, v):
    root, vectors = np.sqrt(axes(S)[0] + 1e-3 * np.trace(S)), axes(S)[1]
    return turned(root * root.sum() / (2 * v), vectors)


@wrong("cheapest_noise", "what_never_varies_needs_no_noise")
def roots_of_rounding_errors(S, v):
    variances, vectors = np.linalg.eigh(S)
    return turned(np.sqrt(variances) * np.sqrt(variances).sum() / (2 * v), vectors)


@wrong("cheapest_noise", "noise_has_the_units_of_a_variance")
def small_variances_taken_for_zero(S, v):
    variances, vectors = axes(S)
    root = np.sqrt(np.where(variances > 1e-8, variances, 0))
    return turned(root * root.sum() / (2 * v), vectors)


@wrong("cheapest_noise", "the_target_is_kept")
def until_the_information_itself_is_v(S, v):
    root, vectors = np.sqrt(axes(S)[0]), axes(S)[1]

    def told(k):
        return np.log1p(root / (k * root.sum())).sum() / 2 - v

    return turned(root * root.sum() * optimize.brentq(told, 1e-9, 1e9), vectors)


# --- success_bound -------------------------------------------------------------------------------


def root_of(v, prior, low, high, divergence):
    def excess(p):
        return divergence(p, prior) - v

    if excess(high) <= 0:
        return high
    return optimize.brentq(excess, low, high, xtol=1e-14)


def divergence(p, prior):
    return special.rel_entr(p, prior) + special.rel_entr(1 - p, 1 - prior)


@wrong("success_bound", "a_coin_that_tends_to_the_truth_attains_it")
def pinsker(v, prior):
    return min(1.0, prior + np.sqrt(v / 2))


@wrong("success_bound", "all_of_the_information_is_used")
def bits_for_nats(v, prior):
    return root_of(v / np.log(2), prior, prior, 1.0, divergence)


@wrong("success_bound", "all_of_the_information_is_used")
def nats_for_bits(v, prior):
    return root_of(v * np.log(2), prior, prior, 1.0, divergence)


@wrong("success_bound", "all_of_the_information_is_used")
def the_lower_root(v, prior):
    if v >= -np.log(1 - prior):
        return 0.0
    return optimize.brentq(lambda p: divergence(p, prior) - v, 0.0, prior)


@wrong("success_bound", "no_made_up_release_is_guessed_more_often")
def always_a_fair_coin(v, prior):
    return max(prior, root_of(v, 0.5, 0.5, 1.0, divergence))


@wrong("success_bound", "all_of_the_information_is_used")
def divergence_the_other_way(v, prior):
    return root_of(v, prior, prior, 1 - 1e-15, lambda p, q: divergence(q, p))


@wrong("success_bound", "enough_information_is_certainty")
def only_so_far(v, prior):
    return min(0.99, root_of(v, prior, prior, 1.0, divergence))


@wrong("success_bound", "a_coin_that_tends_to_the_truth_attains_it")
def twice_the_information(v, prior):
    return root_of(2 * v, prior, prior, 1.0, divergence)


@wrong("success_bound", "enough_information_is_certainty")
def certain_where_the_complement_is(v, prior):
    enough = -np.log(prior)
    if v >= -np.log(1 - prior):
        return 1.0
    return root_of(min(v, 0.999 * enough), prior, prior, 1.0, divergence)


@wrong("success_bound", "enough_information_is_certainty")
def never_quite_certain(v, prior):
    return min(1 - 1e-5, root_of(v, prior, prior, 1.0, divergence))


# --- best_guess_rate -----------------------------------------------------------------------------


def distance(shift, covariance):
    return np.sqrt(shift @ np.linalg.solve(covariance, shift))


@wrong("best_guess_rate", "the_likelier_answer_is_right_that_often")
def the_whole_distance(shift, covariance):
    return stats.norm.cdf(distance(shift, covariance))


@wrong("best_guess_rate", "the_likelier_answer_is_right_that_often")
def the_squared_distance(shift, covariance):
    return stats.norm.cdf(distance(shift, covariance) ** 2 / 2)


@wrong("best_guess_rate", "coordinates_hide_nothing")
def variance_for_deviation(shift, covariance):
    return stats.norm.cdf(np.linalg.norm(np.linalg.solve(covariance, shift)) / 2)


@wrong("best_guess_rate", "the_likelier_answer_is_right_that_often")
def threshold_at_the_outside_mean(shift, covariance):
    s = distance(shift, covariance)
    return (stats.norm.cdf(s) + 0.5) / 2 if s else 0.5


@wrong("best_guess_rate", "the_likelier_answer_is_right_that_often")
def total_variation_itself(shift, covariance):
    return max(0.5, 2 * stats.norm.cdf(distance(shift, covariance) / 2) - 1)


@wrong("best_guess_rate", "coordinates_hide_nothing")
def noise_without_its_correlations(shift, covariance):
    return stats.norm.cdf(np.sqrt((shift**2 / np.diag(covariance)).sum()) / 2)


@wrong("best_guess_rate", "noise_beside_the_move_hides_nothing")
def all_of_the_noise(shift, covariance):
    s = np.linalg.norm(shift) / np.sqrt(np.trace(covariance) / len(shift))
    return stats.norm.cdf(s / 2)


@wrong("best_guess_rate", "coordinates_hide_nothing")
def roots_of_entries(shift, covariance):
    return stats.norm.cdf(np.linalg.norm(np.linalg.solve(np.sqrt(np.abs(covariance)), shift)) / 2)


@wrong("best_guess_rate", "coordinates_hide_nothing")
def noise_along_the_move(shift, covariance):
    along = shift @ covariance @ shift
    return stats.norm.cdf(shift @ shift / np.sqrt(along) / 2) if along > 0 else 0.5


# --- guess_members -------------------------------------------------------------------------------


def nats(releases, outside, inside, covariance):
    middle = (outside + inside) / 2
    return (releases - middle) @ np.linalg.solve(covariance, inside - outside)


@wrong("guess_members", "at_even_odds_nobody_is_right_more_often")
def the_nearer_mean(releases, outside, inside, covariance, prior):
    near = np.linalg.norm(releases - inside, axis=1) < np.linalg.norm(releases - outside, axis=1)
    return near if 0.3 < prior < 0.7 else np.full(len(releases), prior > 0.5)


@wrong("guess_members", "at_uneven_odds_nobody_is_right_more_often")
def prior_ignored(releases, outside, inside, covariance, prior):
    return nats(releases, outside, inside, covariance) > 0


@wrong("guess_members", "at_uneven_odds_nobody_is_right_more_often")
def prior_turned_around(releases, outside, inside, covariance, prior):
    return nats(releases, outside, inside, covariance) > np.log(prior / (1 - prior))


@wrong("guess_members", "it_changes_its_mind_where_the_odds_are_even")
def half_of_the_prior(releases, outside, inside, covariance, prior):
    odds = np.log(prior / (1 - prior))
    return nats(releases, outside, inside, covariance) + odds / 2 > 0


@wrong("guess_members", "at_even_odds_nobody_is_right_more_often")
def correlations_forgotten(releases, outside, inside, covariance, prior):
    alone = np.diag(np.diag(covariance))
    odds = np.log(prior / (1 - prior))
    return nats(releases, outside, inside, alone) + odds > 0


@wrong("guess_members", "names_may_be_exchanged")
def distance_from_the_outside_alone(releases, outside, inside, covariance, prior):
    z = releases - outside
    far = np.einsum("mi,mi->m", z, np.linalg.solve(covariance, z.T).T)
    return far > stats.chi2.ppf(1 - prior, len(outside))


@wrong("guess_members", "a_release_far_away_is_judged_too")
def densities_that_underflow(releases, outside, inside, covariance, prior):
    within = stats.multivariate_normal(inside, covariance).pdf(releases)
    without = stats.multivariate_normal(outside, covariance).pdf(releases)
    return np.atleast_1d(prior * within > (1 - prior) * without)


@wrong("guess_members", "each_release_is_judged_alone")
def covariance_of_the_releases(releases, outside, inside, covariance, prior):
    if len(releases) > len(outside):
        covariance = np.cov(releases, rowvar=False).reshape(covariance.shape)
    return nats(releases, outside, inside, covariance) + np.log(prior / (1 - prior)) > 0


@wrong("guess_members", "each_release_is_judged_alone")
def as_many_as_are_expected(releases, outside, inside, covariance, prior):
    evidence = nats(releases, outside, inside, covariance)
    found = np.zeros(len(releases), dtype=bool)
    found[np.argsort(-evidence)[: round(prior * len(releases))]] = True
    return found


# --- clipped_step --------------------------------------------------------------------------------


def shortened(gradients, clip_norm):
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    return gradients * np.minimum(1, clip_norm / np.maximum(length, 1e-300))


@wrong("clipped_step", "nobody_moves_it_further_than_allowed")
def the_sum_is_clipped(gradients, clip_norm, batch_size):
    return shortened(gradients.sum(axis=0)[None], clip_norm)[0] / batch_size


@wrong("clipped_step", "nobody_moves_it_further_than_allowed")
def coordinates_are_clipped(gradients, clip_norm, batch_size):
    return np.clip(gradients, -clip_norm, clip_norm).sum(axis=0) / batch_size


@wrong("clipped_step", "below_the_norm_nothing_is_changed")
def short_gradients_are_made_longer(gradients, clip_norm, batch_size):
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    return (clip_norm * gradients / np.maximum(length, 1e-300)).sum(axis=0) / batch_size


@wrong("clipped_step", "a_gradient_of_zero_is_absent")
def divided_by_those_who_came(gradients, clip_norm, batch_size):
    return shortened(gradients, clip_norm).sum(axis=0) / max(1, len(gradients))


@wrong("clipped_step", "below_the_norm_nothing_is_changed")
def not_divided_at_all(gradients, clip_norm, batch_size):
    return shortened(gradients, clip_norm).sum(axis=0)


@wrong("clipped_step", "a_loud_person_is_heard_as_far_as_allowed")
def loud_people_are_left_out(gradients, clip_norm, batch_size):
    quiet = np.linalg.norm(gradients, axis=1) <= clip_norm
    return gradients[quiet].sum(axis=0) / batch_size


@wrong("clipped_step", "a_loud_person_is_heard_as_far_as_allowed")
def lengths_add_up_coordinates(gradients, clip_norm, batch_size):
    length = np.abs(gradients).sum(axis=1, keepdims=True)
    return (gradients * np.minimum(1, clip_norm / np.maximum(length, 1e-300))).sum(0) / batch_size


@wrong("clipped_step", "a_gradient_of_zero_is_absent")
def zero_over_zero(gradients, clip_norm, batch_size):
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    factor = np.where(length > clip_norm, clip_norm, length) / length
    return (gradients * factor).sum(axis=0) / batch_size


@wrong("clipped_step", "at_the_norm_there_is_an_edge")
def a_smooth_length(gradients, clip_norm, batch_size):
    length = np.sqrt(np.sum(gradients**2, axis=1, keepdims=True) + 1e-3)
    return (gradients * np.minimum(1, clip_norm / length)).sum(axis=0) / batch_size


@wrong("clipped_step", "at_the_norm_there_is_an_edge")
def a_soft_clip(gradients, clip_norm, batch_size):
    length = np.linalg.norm(gradients, axis=1, keepdims=True) / clip_norm
    shrink = (1 + length**40) ** (-1 / 40)
    return (gradients * shrink).sum(axis=0) / batch_size


@wrong("clipped_step", "at_the_norm_there_is_an_edge")
def a_percent_is_let_pass(gradients, clip_norm, batch_size):
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    shrink = np.where(length > 1.01 * clip_norm, clip_norm / np.maximum(length, clip_norm), 1)
    return (gradients * shrink).sum(axis=0) / batch_size


@wrong("clipped_step", "the_gradients_stay_as_they_were")
def clipped_in_place(gradients, clip_norm, batch_size):
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    gradients *= clip_norm / np.maximum(length, clip_norm)
    return gradients.sum(axis=0) / batch_size


@wrong("clipped_step", "two_alike_are_two")
def the_same_gradient_once(gradients, clip_norm, batch_size):
    return shortened(np.unique(gradients, axis=0), clip_norm).sum(axis=0) / batch_size


@wrong("clipped_step", "below_the_norm_nothing_is_changed")
def a_whole_batch(gradients, clip_norm, batch_size):
    return shortened(gradients, clip_norm).sum(axis=0) / max(1, int(batch_size))
