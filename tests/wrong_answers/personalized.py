"""Wrong answers to the exercises on personalized budgets."""

from itertools import product

import numpy as np
from scipy import stats

from wrong_answers import Answers

wrong = Answers()

# --- budget_shares -------------------------------------------------------------------------------


@wrong("budget_shares", "twice_the_budget_twice_the_weight")
def the_careful_weigh_most(epsilon):
    return 1 / epsilon / np.sum(1 / epsilon)


@wrong("budget_shares", "two_accounts_weigh_what_one_did")
def squares_of_budgets(epsilon):
    return epsilon**2 / np.sum(epsilon**2)


@wrong("budget_shares", "twice_the_budget_twice_the_weight")
def everybody_alike(epsilon):
    return np.full(len(epsilon), 1 / len(epsilon))


@wrong("budget_shares", "shares_have_no_unit")
def softmax(epsilon):
    return np.exp(epsilon) / np.exp(epsilon).sum()


@wrong("budget_shares", "shares_have_no_unit")
def capped_at_half_a_nat(epsilon):
    capped = np.minimum(epsilon, 0.5)
    return capped / capped.sum()


@wrong("budget_shares", "shares_follow_their_people")
def in_order_of_budgets(epsilon):
    return np.sort(epsilon) / np.sum(epsilon)


@wrong("budget_shares", "two_accounts_weigh_what_one_did")
def between_equal_and_proportional(epsilon):
    return (epsilon / epsilon.sum() + 1 / len(epsilon)) / 2


@wrong("budget_shares", "two_accounts_weigh_what_one_did")
def sum_to_the_number_of_people(epsilon):
    return epsilon / np.mean(epsilon)


@wrong("budget_shares", "shares_have_no_unit")
def a_hundredth_of_a_nat_at_least(epsilon):
    epsilon = np.maximum(epsilon, 0.01)
    return epsilon / epsilon.sum()


@wrong("budget_shares", "shares_have_no_unit")
def shares_of_the_type_of_budgets(epsilon):
    shares = np.zeros_like(epsilon)
    shares[:] = epsilon / epsilon.sum()
    return shares


@wrong("budget_shares", "budgets_are_left_alone")
def divided_in_place(epsilon):
    if epsilon.dtype == float:
        epsilon /= epsilon.sum()
        return epsilon
    return epsilon / epsilon.sum()


# --- rate_that_spends_all ------------------------------------------------------------------------


@wrong("rate_that_spends_all", "one_more_person_helps")
def the_smallest_budget_for_all(epsilon, constant):
    return len(epsilon) * np.min(epsilon) / constant


@wrong("rate_that_spends_all", "two_accounts_make_no_difference")
def the_largest_budget_for_all(epsilon, constant):
    return len(epsilon) * np.max(epsilon) / constant


@wrong("rate_that_spends_all", "densities_spend_every_budget")
def mean_for_sum(epsilon, constant):
    return np.mean(epsilon) / constant


@wrong("rate_that_spends_all", "densities_spend_every_budget")
def factor_of_two(epsilon, constant):
    return np.sum(epsilon) / (2 * constant)


@wrong("rate_that_spends_all", "budgets_and_constant_cancel")
def weights_not_normalized(epsilon, constant):
    return 1 / constant


@wrong("rate_that_spends_all", "two_accounts_make_no_difference")
def root_of_squares(epsilon, constant):
    return np.sqrt(np.sum(np.square(epsilon))) / constant


@wrong("rate_that_spends_all", "budgets_and_constant_cancel")
def constant_as_a_factor(epsilon, constant):
    return np.sum(epsilon) / np.sqrt(constant)


@wrong("rate_that_spends_all", "densities_spend_every_budget")
def equal_budgets_counted_once(epsilon, constant):
    return sum(set(epsilon.tolist())) / constant


# --- promise_to_each -----------------------------------------------------------------------------


@wrong("promise_to_each", "no_weight_no_loss")
def the_heaviest_for_all(weights, eta, constant):
    return np.full(len(weights), eta * constant * np.max(weights))


@wrong("promise_to_each", "the_weights_of_others_do_not_count")
def normalized_again(weights, eta, constant):
    return eta * constant * weights / np.sum(weights)


@wrong("promise_to_each", "promises_are_what_densities_say")
def removal_for_replacement(weights, eta, constant):
    return eta * constant * weights / 2


@wrong("promise_to_each", "proportional_weights_return_the_budgets")
def scale_for_rate_of_noise(weights, eta, constant):
    return weights * constant / eta


@wrong("promise_to_each", "no_weight_no_loss")
def a_share_of_the_total(weights, eta, constant):
    return np.full(len(weights), eta * constant / len(weights))


@wrong("promise_to_each", "promises_are_what_densities_say")
def root_of_the_weight(weights, eta, constant):
    return eta * constant * np.sqrt(weights)


@wrong("promise_to_each", "no_weight_no_loss")
def at_least_an_equal_share(weights, eta, constant):
    return eta * constant * np.maximum(weights, 1 / len(weights))


@wrong("promise_to_each", "promises_are_what_densities_say")
def a_nat_at_most(weights, eta, constant):
    return np.minimum(1.0, weights * eta * constant)


@wrong("promise_to_each", "promises_are_what_densities_say")
def twice_for_the_majority(weights, eta, constant):
    return weights * eta * constant * np.where(weights > 0.5, 2, 1)


# --- furthest_move -------------------------------------------------------------------------------


def published(lam, d):
    return 2 * np.sqrt(d) / lam * (1 + np.sqrt(d) * min(1 / np.sqrt(lam), np.sqrt(d) / lam))


@wrong("furthest_move", "nobody_alone_moves_further")
def removed_not_replaced(weights, lam, d):
    return weights * published(lam, d) / 2


@wrong("furthest_move", "nobody_in_a_crowd_moves_further")
def residuals_are_labels(weights, lam, d):
    return weights * 2 * np.sqrt(d) / lam


@wrong("furthest_move", "nobody_in_a_crowd_moves_further")
def root_over_the_norm(weights, lam, d):
    norm = min(1 / np.sqrt(lam), np.sqrt(d) / lam)
    return weights * 2 * np.sqrt(d) / lam * (1 + np.sqrt(d * norm))


@wrong("furthest_move", "no_looser_than_the_theorem")
def the_heaviest_person(weights, lam, d):
    return np.full(len(weights), np.max(weights) * published(lam, d))


@wrong("furthest_move", "no_looser_than_the_theorem")
def everybody_together(weights, lam, d):
    return np.full(len(weights), np.sum(weights) * published(lam, d))


@wrong("furthest_move", "no_looser_than_the_theorem")
def one_over_n(weights, lam, d):
    return np.full(len(weights), published(lam, d) / len(weights))


@wrong("furthest_move", "no_looser_than_the_theorem")
def roots_of_weights(weights, lam, d):
    return np.sqrt(weights) * published(lam, d)


@wrong("furthest_move", "no_looser_than_the_theorem")
def one_norm_bound_only(weights, lam, d):
    return weights * 2 * np.sqrt(d) / lam * (1 + np.sqrt(d / lam))


@wrong("furthest_move", "nobody_alone_moves_further")
def rows_of_length_one(weights, lam, d):
    return weights * published(lam, 1)


@wrong("furthest_move", "nobody_alone_moves_further")
def weights_squared(weights, lam, d):
    return weights**2 * published(lam, d)


def ridge_bound(weights, lam, d, length):
    return weights * 2 * np.sqrt(d) / lam * (1 + np.sqrt(d) * length)


@wrong("furthest_move", "nobody_in_a_crowd_moves_further")
def penalty_for_the_fit_times_n(weights, lam, d):
    lam_n = lam * len(weights)
    return ridge_bound(weights, lam, d, min(1 / np.sqrt(lam_n), np.sqrt(d) / lam_n))


@wrong("furthest_move", "many_features_move_no_further")
def predictions_no_larger_than_the_fit(weights, lam, d):
    return ridge_bound(weights, lam, d, min(1 / np.sqrt(lam), np.sqrt(d) / lam) / np.sqrt(d))


@wrong("furthest_move", "many_features_move_no_further")
def pulled_by_rows_of_length_one(weights, lam, d):
    return ridge_bound(weights, lam, d, min(1 / np.sqrt(lam), 1 / lam))


@wrong("furthest_move", "no_looser_than_the_theorem")
def a_least_weight(weights, lam, d):
    length = min(1 / np.sqrt(lam), np.sqrt(d) / lam)
    return ridge_bound(np.maximum(weights, 1e-9), lam, d, length)


@wrong("furthest_move", "weights_are_left_alone")
def bounds_in_place_of_weights(weights, lam, d):
    weights *= ridge_bound(1.0, lam, d, min(1 / np.sqrt(lam), np.sqrt(d) / lam))
    return weights


# --- worst_neighbor ------------------------------------------------------------------------------


def fit(X, y, weights, lam):
    gram = X.T @ (weights[:, None] * X) + lam * np.eye(X.shape[1])
    return np.linalg.solve(gram, X.T @ (weights * y))


def corners(d):
    rows = product([0.0, 1.0], repeat=d)
    return [(np.array(row), label) for row, label in product(rows, (-1.0, 1.0))]


def searched(X, y, weights, i, lam, records):
    before = fit(X, y, weights, lam)

    def distance(record):
        new, labels = X.copy(), y.copy()
        new[i], labels[i] = record
        return np.linalg.norm(fit(new, labels, weights, lam) - before)

    return max(records, key=distance)


@wrong("worst_neighbor", "a_crowd_that_agrees_is_used")
def the_other_label(X, y, weights, i, lam):
    return X[i].copy(), -1.0 if y[i] > 0 else 1.0


@wrong("worst_neighbor", "no_corner_reaches_further")
def ones_and_the_other_label(X, y, weights, i, lam):
    return np.ones(X.shape[1]), -1.0 if y[i] > 0 else 1.0


@wrong("worst_neighbor", "no_corner_reaches_further")
def largest_residual(X, y, weights, i, lam):
    theta = fit(X, y, weights, lam)
    return max(corners(X.shape[1]), key=lambda record: abs(record[1] - record[0] @ theta))


@wrong("worst_neighbor", "no_corner_reaches_further")
def longest_fit(X, y, weights, i, lam):
    def length(record):
        new, labels = X.copy(), y.copy()
        new[i], labels[i] = record
        return np.linalg.norm(fit(new, labels, weights, lam))

    return max(corners(X.shape[1]), key=length)


@wrong("worst_neighbor", "the_attack_stays_in_the_domain")
def a_cube_around_zero(X, y, weights, i, lam):
    rows = product([-1.0, 1.0], repeat=X.shape[1])
    records = [(np.array(row), label) for row, label in product(rows, (-1.0, 1.0))]
    return searched(X, y, weights, i, lam, records)


@wrong("worst_neighbor", "the_weights_of_the_crowd_are_heeded")
def weights_forgotten(X, y, weights, i, lam):
    equal = np.full(len(y), 1 / len(y))
    return searched(X, y, equal, i, lam, corners(X.shape[1]))


@wrong("worst_neighbor", "no_corner_reaches_further")
def the_first_person(X, y, weights, i, lam):
    return searched(X, y, weights, 0, lam, corners(X.shape[1]))


@wrong("worst_neighbor", "no_corner_reaches_further")
def a_dozen_random_records(X, y, weights, i, lam):
    rng = np.random.default_rng(0)
    records = [(rng.random(X.shape[1]), rng.uniform(-1, 1)) for _ in range(12)]
    return searched(X, y, weights, i, lam, records)


@wrong("worst_neighbor", "the_data_stay_as_they_were")
def search_in_place(X, y, weights, i, lam):
    before, best = fit(X, y, weights, lam), (-1.0, None)
    for record in corners(X.shape[1]):
        X[i], y[i] = record
        distance = np.linalg.norm(fit(X, y, weights, lam) - before)
        if distance > best[0]:
            best = distance, record
    return best[1]


def climbed(X, y, weights, i, lam, row, label):
    """From a corner to the best next to it, until no neighbor is better."""
    before, found, furthest = fit(X, y, weights, lam), (row, label), -1.0
    while True:
        flips = [
            np.where(np.arange(len(row)) == j, 1 - found[0], found[0]) for j in range(len(row))
        ]
        records = [found, (found[0], -found[1]), *((flip, found[1]) for flip in flips)]
        distances = []
        for record in records:
            new, labels = X.copy(), y.copy()
            new[i], labels[i] = record
            distances.append(np.linalg.norm(fit(new, labels, weights, lam) - before))
        if max(distances) <= furthest:
            return found, furthest
        found, furthest = records[int(np.argmax(distances))], max(distances)


@wrong("worst_neighbor", "the_best_corner_may_stand_alone")
def greedy_flips(X, y, weights, i, lam):
    return climbed(X, y, weights, i, lam, np.round(X[i]), 1.0 if y[i] < 0 else -1.0)[0]


@wrong("worst_neighbor", "the_best_corner_may_stand_alone")
def greedy_flips_from_both_ends(X, y, weights, i, lam):
    starts = [(np.full(X.shape[1], end), label) for end in (0.0, 1.0) for label in (-1.0, 1.0)]
    return max((climbed(X, y, weights, i, lam, *start) for start in starts), key=lambda f: f[1])[0]


# --- chance_to_be_kept ---------------------------------------------------------------------------


@wrong("chance_to_be_kept", "a_coin_reveals_the_budget")
def budget_over_threshold(epsilon, t):
    return np.minimum(epsilon / t, 1)


@wrong("chance_to_be_kept", "a_coin_reveals_the_budget")
def exponential_of_the_gap(epsilon, t):
    return np.minimum(np.exp(epsilon - t), 1)


@wrong("chance_to_be_kept", "whoever_allows_enough_is_certain")
def not_clipped(epsilon, t):
    return np.exp(epsilon - t) * np.expm1(-epsilon) / np.expm1(-t)


@wrong("chance_to_be_kept", "a_huge_threshold_is_no_overflow")
def exponentials_overflow(epsilon, t):
    return np.minimum(np.expm1(epsilon) / np.expm1(t), 1)


@wrong("chance_to_be_kept", "a_tiny_threshold_loses_no_digits")
def digits_cancel(epsilon, t):
    capped = np.minimum(epsilon, t)
    return (np.exp(capped - t) - np.exp(-t)) / (1 - np.exp(-t))


@wrong("chance_to_be_kept", "a_coin_reveals_the_budget")
def rule_for_replacement(epsilon, t):
    u, capped = np.exp(t / 2), np.minimum(epsilon, t)
    return u * np.expm1(capped) / ((u - 1) * (u + np.exp(capped)))


@wrong("chance_to_be_kept", "sampling_twice_is_sampling_once")
def between_line_and_exponential(epsilon, t):
    return np.minimum((epsilon / t + np.exp(epsilon - t)) / 2, 1)


def chance_of(epsilon, t):
    return np.exp(epsilon - t) * np.expm1(-epsilon) / np.expm1(-t)


@wrong("chance_to_be_kept", "a_huge_threshold_is_no_overflow")
def a_least_chance(epsilon, t):
    return np.maximum(chance_of(np.minimum(epsilon, t), t), 1e-10)


@wrong("chance_to_be_kept", "budgets_are_left_alone")
def budgets_cut_in_place(epsilon, t):
    np.minimum(epsilon, t, out=epsilon)
    return chance_of(epsilon, t)


# --- noise_reach ---------------------------------------------------------------------------------


@wrong("noise_reach", "the_tail_counts_events")
def the_lower_quantile(eta, d, chance):
    return stats.gamma.ppf(chance, d, scale=1 / eta)


@wrong("noise_reach", "releases_exceed_it_as_often_as_asked")
def chebyshev(eta, d, chance):
    return (d + np.sqrt(d / chance)) / eta


@wrong("noise_reach", "releases_exceed_it_as_often_as_asked")
def mean_over_chance(eta, d, chance):
    return d / (eta * chance)


@wrong("noise_reach", "the_tail_counts_events")
def gaussian_of_equal_energy(eta, d, chance):
    return np.sqrt((d + 1) * stats.chi2.isf(chance, d)) / eta


@wrong("noise_reach", "half_the_rate_reaches_twice_as_far")
def rate_as_scale(eta, d, chance):
    return stats.gamma.isf(chance, d, scale=eta)


@wrong("noise_reach", "one_dimension_is_two_tails")
def one_tail_only(eta, d, chance):
    return stats.gamma.isf(2 * chance, d, scale=1 / eta) if chance < 0.5 else 0.0


@wrong("noise_reach", "a_tiny_chance_is_still_a_chance")
def one_minus_the_chance(eta, d, chance):
    return stats.gamma.ppf(1 - chance, d, scale=1 / eta)


@wrong("noise_reach", "the_tail_counts_events")
def exponential_radius(eta, d, chance):
    return -np.log(chance) * d / eta


@wrong("noise_reach", "the_tail_counts_events")
def mean_for_tail(eta, d, chance):
    return d / eta


@wrong("noise_reach", "releases_exceed_it_as_often_as_asked")
def root_of_the_dimension(eta, d, chance):
    return stats.gamma.isf(chance, np.sqrt(d), scale=1 / eta)


@wrong("noise_reach", "the_tail_counts_events")
def no_farther_than_a_hundred(eta, d, chance):
    return min(100.0, stats.gamma.isf(chance, d)) / eta


# --- worst_pair ----------------------------------------------------------------------------------


def against_ones(d, level):
    return (np.ones(d), 1.0), (np.full(d, float(level)), -1.0)


@wrong("worst_pair", "no_search_finds_a_further_pair")
def a_flipped_label(d, scale):
    return against_ones(d, 1.0)


@wrong("worst_pair", "loud_moments_are_used")
def nothing_against_everything(d, scale):
    return against_ones(d, 0.0)


@wrong("worst_pair", "no_pair_of_a_grid_is_further")
def halfway(d, scale):
    return against_ones(d, 0.5)


@wrong("worst_pair", "no_search_finds_a_further_pair")
def products_counted_twice(d, scale):
    return against_ones(d, min(scale / (2 * d), 1.0))


@wrong("worst_pair", "loud_moments_leave_the_domain_alone")
def not_held_in_the_cube(d, scale):
    return against_ones(d, scale / (d + 1))


@wrong("worst_pair", "no_pair_of_a_grid_is_further")
def labels_agree(d, scale):
    return (np.ones(d), 1.0), (np.zeros(d), 1.0)


@wrong("worst_pair", "no_search_finds_a_further_pair")
def furthest_in_euclid(d, scale):
    kept = min(1.5 * scale**2 / d, 1.0)
    return against_ones(d, kept)


@wrong("worst_pair", "loud_moments_are_used")
def best_of_a_hundred_random_pairs(d, scale):
    rng = np.random.default_rng(0)

    def apart(pair):
        (x, y), (z, v) = pair
        triangle = np.triu(np.abs(np.outer(x, x) - np.outer(z, z))).sum()
        return triangle + scale * np.abs(x * y - z * v).sum()

    records = [(rng.random(d), rng.uniform(-1, 1)) for _ in range(200)]
    return max(zip(records[::2], records[1::2], strict=True), key=apart)
