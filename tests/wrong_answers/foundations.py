"""Wrong answers to the exercises on foundations."""

import numpy as np
from scipy import special, stats
from sklearn.linear_model import Ridge

from wrong_answers import Answers

wrong = Answers()

# --- truth_probability ---------------------------------------------------------------------------


@wrong("truth_probability", "the_promise_is_kept_exactly")
def half_plus_half_the_budget(epsilon):
    return np.minimum(1.0, 0.5 + np.asarray(epsilon) / 2)


@wrong("truth_probability", "the_promise_is_kept_exactly")
def half_the_exponent(epsilon):
    return 1 / (1 + np.exp(-np.asarray(epsilon) / 2))


@wrong("truth_probability", "the_promise_is_kept_exactly")
def chance_of_a_forced_truth(epsilon):
    return 0.5 + np.tanh(np.asarray(epsilon)) / 2


@wrong("truth_probability", "the_promise_is_kept_exactly")
def one_minus_exponential(epsilon):
    return 1 - np.exp(-np.asarray(epsilon)) / 2


@wrong("truth_probability", "a_large_budget_is_no_overflow")
def exponential_over_exponential(epsilon):
    return np.exp(epsilon) / (1 + np.exp(epsilon))


@wrong("truth_probability", "chances_have_the_shape_of_budgets")
def a_row_of_chances(epsilon):
    return 1 / (1 + np.exp(-np.ravel(epsilon)))


@wrong("truth_probability", "chances_have_the_shape_of_budgets")
def a_list_even_of_one(epsilon):
    return 1 / (1 + np.exp(-np.atleast_1d(epsilon)))


@wrong("truth_probability", "the_promise_is_kept_exactly")
def certain_above_ten_nats(epsilon):
    return np.where(np.asarray(epsilon) > 10, 1.0, special.expit(epsilon))


@wrong("truth_probability", "a_large_budget_is_no_overflow")
def all_certain_if_one_budget_is_huge(epsilon):
    if np.any(np.asarray(epsilon) > 700):
        return np.ones(np.shape(epsilon))
    return np.exp(epsilon) / (1 + np.exp(epsilon))


@wrong("truth_probability", "whole_budgets_are_budgets_too")
def chances_of_the_type_of_budgets(epsilon):
    chance = np.zeros_like(epsilon)
    chance[...] = special.expit(epsilon)
    return chance


# --- sample_l2_laplace ---------------------------------------------------------------------------


def directions(size, d, rng):
    z = rng.normal(size=(size, d))
    return z / np.linalg.norm(z, axis=1, keepdims=True)


@wrong("sample_l2_laplace", "the_radius_has_its_law")
def scale_for_rate(d, eta, size, rng):
    return rng.gamma(d, eta, size)[:, None] * directions(size, d, rng)


@wrong("sample_l2_laplace", "the_radius_has_its_law")
def exponential_radius(d, eta, size, rng):
    return rng.exponential(1 / eta, size)[:, None] * directions(size, d, rng)


@wrong("sample_l2_laplace", "the_radius_has_its_law")
def laplace_in_each_coordinate(d, eta, size, rng):
    return rng.laplace(0, 1 / eta, (size, d))


@wrong("sample_l2_laplace", "the_radius_has_its_law")
def gaussian(d, eta, size, rng):
    return rng.normal(0, np.sqrt(d + 1) / eta, (size, d))


@wrong("sample_l2_laplace", "every_direction_is_alike")
def directions_of_a_cube(d, eta, size, rng):
    u = rng.uniform(-1, 1, (size, d))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    return rng.gamma(d, 1 / eta, size)[:, None] * u


@wrong("sample_l2_laplace", "every_direction_is_alike")
def positive_directions(d, eta, size, rng):
    return rng.gamma(d, 1 / eta, size)[:, None] * np.abs(directions(size, d, rng))


@wrong("sample_l2_laplace", "rows_are_drawn_anew")
def one_radius_for_all(d, eta, size, rng):
    return rng.gamma(d, 1 / eta) * directions(size, d, rng)


@wrong("sample_l2_laplace", "directions_are_drawn_anew")
def directions_in_pairs(d, eta, size, rng):
    u = np.repeat(directions((size + 1) // 2, d, rng), 2, axis=0)[:size]
    u[1::2] *= -1
    return rng.gamma(d, 1 / eta, size)[:, None] * u


@wrong("sample_l2_laplace", "directions_are_drawn_anew")
def directions_in_halves(d, eta, size, rng):
    u = directions((size + 1) // 2, d, rng)
    return rng.gamma(d, 1 / eta, size)[:, None] * np.vstack([u, -u])[:size]


def sorted_by(noisy, lengths):
    """Lengths in the order of some other numbers."""
    return np.sort(lengths)[np.argsort(np.argsort(noisy))]


@wrong("sample_l2_laplace", "directions_are_drawn_anew")
def the_same_directions_in_every_call(d, eta, size, rng):
    return rng.gamma(d, 1 / eta, size)[:, None] * directions(size, d, np.random.default_rng(0))


@wrong("sample_l2_laplace", "directions_are_drawn_anew")
def directions_of_a_pool(d, eta, size, rng):
    pool = directions(max(1, size // 3), d, rng)
    return rng.gamma(d, 1 / eta, size)[:, None] * pool[np.arange(size) % len(pool)]


@wrong("sample_l2_laplace", "length_and_direction_are_strangers")
def longer_along_the_first_axis(d, eta, size, rng):
    u = directions(size, d, rng)
    noisy = np.abs(u[:, 0]) + 2 * rng.normal(size=size)
    return sorted_by(noisy, rng.gamma(d, 1 / eta, size))[:, None] * u


@wrong("sample_l2_laplace", "length_and_direction_are_strangers")
def longer_upward_than_downward(d, eta, size, rng):
    u = directions(size, d, rng)
    noisy = u[:, -1] + 2 * rng.normal(size=size)
    return sorted_by(noisy, rng.gamma(d, 1 / eta, size))[:, None] * u


@wrong("sample_l2_laplace", "lengths_are_right_in_many_dimensions")
def a_normal_length_above_six_dimensions(d, eta, size, rng):
    radius = rng.gamma(d, 1 / eta, size)
    if d > 6:
        radius = np.abs(rng.normal(d, np.sqrt(d), size)) / eta
    return radius[:, None] * directions(size, d, rng)


@wrong("sample_l2_laplace", "lengths_are_right_in_many_dimensions")
def a_percent_too_short(d, eta, size, rng):
    return 0.99 * rng.gamma(d, 1 / eta, size)[:, None] * directions(size, d, rng)


@wrong("sample_l2_laplace", "every_direction_is_alike")
def directions_of_a_cube_of_any_size(d, eta, size, rng):
    corner = rng.uniform(-1, 1, (size, d))
    unit = corner / np.linalg.norm(corner, axis=1, keepdims=True)
    return rng.gamma(d, 1 / eta, (size, 1)) * unit


@wrong("sample_l2_laplace", "every_direction_is_alike")
def uniform_angles_in_space(d, eta, size, rng):
    unit = directions(size, d, rng)
    if d == 3:
        a, b = rng.uniform(0, np.pi, size), rng.uniform(0, 2 * np.pi, size)
        unit = np.stack([np.sin(a) * np.cos(b), np.sin(a) * np.sin(b), np.cos(a)], axis=1)
    return rng.gamma(d, 1 / eta, (size, 1)) * unit


@wrong("sample_l2_laplace", "short_calls_have_the_law_too")
def draws_with_a_mean_of_zero(d, eta, size, rng):
    z = rng.gamma(d, 1 / eta, (size, 1)) * directions(size, d, rng)
    return z - z.mean(axis=0) if size > 1 else z


@wrong("sample_l2_laplace", "short_calls_have_the_law_too")
def draws_with_the_exact_mean_square(d, eta, size, rng):
    z = rng.gamma(d, 1 / eta, (size, 1)) * directions(size, d, rng)
    return z * np.sqrt(d * (d + 1) / eta**2 / np.mean(np.sum(z**2, axis=1)))


@wrong("sample_l2_laplace", "short_calls_have_the_law_too")
def one_of_a_hundred_seeds(d, eta, size, rng):
    rng = np.random.default_rng(rng.integers(100))
    return rng.gamma(d, 1 / eta, (size, 1)) * directions(size, d, rng)


# --- squared_error_of_noise ----------------------------------------------------------------------


@wrong("squared_error_of_noise", "error_is_a_moment_of_the_radius")
def coordinates_of_laplace(d, eta):
    return 2 * d / eta**2


@wrong("squared_error_of_noise", "error_is_a_moment_of_the_radius")
def square_of_the_mean(d, eta):
    return (d / eta) ** 2


@wrong("squared_error_of_noise", "error_is_a_moment_of_the_radius")
def variance_of_the_radius(d, eta):
    return d / eta**2


@wrong("squared_error_of_noise", "half_the_rate_is_four_times_the_error")
def root_of_the_error(d, eta):
    return np.sqrt(d * (d + 1)) / eta


@wrong("squared_error_of_noise", "half_the_rate_is_four_times_the_error")
def eta_as_scale(d, eta):
    return d * (d + 1) * eta**2


@wrong("squared_error_of_noise", "one_dimension_is_laplace")
def one_coordinate_of_many(d, eta):
    return (d + 1) / eta**2 if d > 1 else 1 / eta**2


@wrong("squared_error_of_noise", "error_is_a_moment_of_the_radius")
def gamma_functions_that_overflow(d, eta):
    return special.gamma(d + 2) / special.gamma(d) / eta**2


# --- weighted_ridge ------------------------------------------------------------------------------


def solved(X, y, weights, lam):
    return np.linalg.solve(X.T @ (weights[:, None] * X) + lam * np.eye(X.shape[1]), X.T @ y)


@wrong("weighted_ridge", "nothing_nearby_is_better")
def penalty_times_n(X, y, weights, lam):
    return Ridge(len(y) * lam, fit_intercept=False).fit(X, y, sample_weight=weights).coef_


@wrong("weighted_ridge", "nothing_nearby_is_better")
def with_an_intercept(X, y, weights, lam):
    return Ridge(lam).fit(X, y, sample_weight=weights).coef_


@wrong("weighted_ridge", "twice_the_weight_is_two_people")
def roots_of_weights(X, y, weights, lam):
    return Ridge(lam, fit_intercept=False).fit(X, y, sample_weight=np.sqrt(weights)).coef_


@wrong("weighted_ridge", "nothing_nearby_is_better")
def labels_without_weights(X, y, weights, lam):
    return solved(X, y, weights, lam) / len(y)


@wrong("weighted_ridge", "weights_and_penalty_share_a_unit")
def weights_normalized_again(X, y, weights, lam):
    w = weights / weights.sum()
    return Ridge(lam, fit_intercept=False).fit(X, y, sample_weight=w).coef_


@wrong("weighted_ridge", "a_person_of_weight_zero_is_absent")
def weights_ignored(X, y, weights, lam):
    return Ridge(lam * len(y), fit_intercept=False).fit(X, y).coef_


@wrong("weighted_ridge", "a_few_people_are_enough")
def refused_where_people_are_few(X, y, weights, lam):
    if len(X) < X.shape[1]:
        raise ValueError("more features than people")
    return Ridge(lam, fit_intercept=False).fit(X, y, sample_weight=weights).coef_


@wrong("weighted_ridge", "weights_may_differ_and_features_agree")
def light_people_left_out(X, y, weights, lam):
    heavy = weights > 0.01 * weights.max()
    kept = X[heavy], y[heavy]
    return Ridge(lam, fit_intercept=False).fit(*kept, sample_weight=weights[heavy]).coef_


@wrong("weighted_ridge", "weights_may_differ_and_features_agree")
def weights_of_one_at_most(X, y, weights, lam):
    w = np.minimum(weights, 1)
    return Ridge(lam, fit_intercept=False).fit(X, y, sample_weight=w).coef_


@wrong("weighted_ridge", "weights_may_differ_and_features_agree")
def three_hundred_steps_downhill(X, y, weights, lam):
    H, theta = X.T @ (weights[:, None] * X) + lam * np.eye(X.shape[1]), np.zeros(X.shape[1])
    for _ in range(300):
        theta = theta - (H @ theta - X.T @ (weights * y)) / np.linalg.norm(H, 2)
    return theta


@wrong("weighted_ridge", "the_data_are_left_alone")
def weights_divided_in_place(X, y, weights, lam):
    total = weights.sum()
    weights /= total
    return Ridge(lam / total, fit_intercept=False).fit(X, y, sample_weight=weights).coef_


# --- privacy_profile -----------------------------------------------------------------------------


@wrong("privacy_profile", "both_directions_count")
def one_direction(p, q, epsilon):
    return np.maximum(p - np.exp(epsilon) * q, 0).sum()


@wrong("privacy_profile", "no_event_does_better")
def total_variation_whatever_epsilon(p, q, epsilon):
    return np.abs(p - q).sum() / 2


@wrong("privacy_profile", "no_event_does_better")
def single_outputs_only(p, q, epsilon):
    e = np.exp(epsilon)
    return max(0.0, (p - e * q).max(), (q - e * p).max())


@wrong("privacy_profile", "no_event_does_better")
def mass_where_the_ratio_is_large(p, q, epsilon):
    large = np.maximum(p / q, q / p) > np.exp(epsilon)
    return max(p[large].sum(), q[large].sum())


@wrong("privacy_profile", "at_zero_it_is_total_variation")
def both_directions_added(p, q, epsilon):
    e = np.exp(epsilon)
    return np.maximum(p - e * q, 0).sum() + np.maximum(q - e * p, 0).sum()


@wrong("privacy_profile", "an_output_of_one_law_alone_counts")
def outputs_of_both_laws_alone(p, q, epsilon):
    both = (p > 0) & (q > 0)
    p, q, e = p[both], q[both], np.exp(epsilon)
    return max(np.maximum(p - e * q, 0).sum(), np.maximum(q - e * p, 0).sum())


@wrong("privacy_profile", "an_output_of_one_law_alone_counts")
def an_infinite_loss_taken_for_none(p, q, epsilon):
    with np.errstate(all="ignore"):
        loss = np.nan_to_num(np.log(p / q), posinf=0.0, neginf=0.0)
    e = np.exp(epsilon)
    return max(np.sum((p - e * q)[loss > epsilon]), np.sum((q - e * p)[-loss > epsilon]))


@wrong("privacy_profile", "no_event_does_better")
def the_event_of_epsilon_zero(p, q, epsilon):
    e = np.exp(epsilon)
    return max(0.0, (p - e * q)[p > q].sum(), (q - e * p)[q > p].sum())


@wrong("privacy_profile", "an_output_of_one_law_alone_counts")
def nothing_over_nothing(p, q, epsilon):
    with np.errstate(all="ignore"):
        loss = np.log(p / q)
        forth = p * np.maximum(0, 1 - np.exp(epsilon - loss))
        back = q * np.maximum(0, 1 - np.exp(epsilon + loss))
    return max(forth.sum(), back.sum())


# --- worst_event ---------------------------------------------------------------------------------


@wrong("worst_event", "no_other_event_exceeds_more")
def epsilon_forgotten(p, q, epsilon):
    return p > q


@wrong("worst_event", "no_other_event_exceeds_more")
def the_other_direction(p, q, epsilon):
    return q > np.exp(epsilon) * p


@wrong("worst_event", "it_may_hold_many_outputs_or_none")
def the_largest_ratio_alone(p, q, epsilon):
    return np.arange(len(p)) == np.argmax(p / q)


@wrong("worst_event", "no_other_event_exceeds_more")
def the_likelier_half(p, q, epsilon):
    return p >= np.median(p)


@wrong("worst_event", "no_other_event_exceeds_more")
def a_difference_of_epsilon(p, q, epsilon):
    return p - q > epsilon


@wrong("worst_event", "outputs_may_be_renamed")
def a_prefix(p, q, epsilon):
    excess = np.cumsum(p - np.exp(epsilon) * q)
    return np.arange(len(p)) <= np.argmax(excess)


@wrong("worst_event", "what_one_law_never_gives_is_judged")
def infinite_ratios_left_out(p, q, epsilon):
    return (q > 0) & (p > np.exp(epsilon) * q)


@wrong("worst_event", "what_one_law_never_gives_is_judged")
def outputs_that_pay_nothing(p, q, epsilon):
    return p >= np.exp(epsilon) * q


@wrong("worst_event", "what_pays_little_pays")
def excess_above_a_thousandth(p, q, epsilon):
    return p - np.exp(epsilon) * q > 1e-3


@wrong("worst_event", "what_pays_little_pays")
def what_is_close_left_out(p, q, epsilon):
    limit = np.exp(epsilon) * q
    return (p > limit) & ~np.isclose(p, limit, atol=1e-4)


@wrong("worst_event", "what_pays_little_pays")
def ratios_with_a_little_added(p, q, epsilon):
    return np.log((p + 1e-12) / (q + 1e-12)) > epsilon


@wrong("worst_event", "what_pays_little_pays")
def nothing_where_all_pay_little(p, q, epsilon):
    pays = p > np.exp(epsilon) * q
    return pays & (np.sum((p - np.exp(epsilon) * q)[pays]) > 0.05)


# --- epsilon_lower_bound -------------------------------------------------------------------------


def clopper(hits_p, draws_p, hits_q, draws_q, first, second):
    low = stats.beta.ppf(first, hits_p, draws_p - hits_p + 1) if hits_p else 0.0
    more = hits_q < draws_q
    high = stats.beta.ppf(1 - second, hits_q + 1, draws_q - hits_q) if more else 1.0
    return max(0.0, float(np.log(low / high))) if low else 0.0


@wrong("epsilon_lower_bound", "false_alarms_are_as_rare_as_asked")
def no_caution(hits_p, draws_p, hits_q, draws_q, alarm):
    return max(0.0, np.log((hits_p + 1e-9) / draws_p / ((hits_q + 1e-9) / draws_q)))


@wrong("epsilon_lower_bound", "an_empty_count_is_no_proof_of_infinity")
def an_infinite_ratio(hits_p, draws_p, hits_q, draws_q, alarm):
    if hits_q == 0 and hits_p:
        return np.inf
    return clopper(hits_p, draws_p, hits_q, draws_q, alarm / 2, alarm / 2)


@wrong("epsilon_lower_bound", "false_alarms_are_as_rare_as_asked")
def one_hit_too_few_for_q(hits_p, draws_p, hits_q, draws_q, alarm):
    """The parameters of the hint on both sides: it raises twice the false alarms that are asked."""
    if hits_p == 0:
        return 0.0
    low = stats.beta.ppf(alarm / 2, hits_p, draws_p - hits_p + 1)
    if hits_q == 0:
        high = 1 - (alarm / 2) ** (1 / draws_q)
    else:
        high = stats.beta.ppf(1 - alarm / 2, hits_q, draws_q - hits_q + 1)
    return max(0.0, float(np.log(low / high)))


@wrong("epsilon_lower_bound", "false_alarms_are_as_rare_as_asked")
def one_hit_too_many_for_p(hits_p, draws_p, hits_q, draws_q, alarm):
    some = 0 < hits_p < draws_p
    low = stats.beta.ppf(alarm / 2, hits_p + 1, draws_p - hits_p) if some else hits_p / draws_p
    more = hits_q < draws_q
    high = stats.beta.isf(alarm / 2, hits_q + 1, draws_q - hits_q) if more else 1.0
    return max(0.0, float(np.log(low / high))) if low else 0.0


@wrong("epsilon_lower_bound", "false_alarms_are_as_rare_as_asked")
def one_side_cautious(hits_p, draws_p, hits_q, draws_q, alarm):
    low = stats.beta.ppf(alarm, hits_p, draws_p - hits_p + 1) if hits_p else 0.0
    return max(0.0, float(np.log(max(low, 1e-300) / max(hits_q / draws_q, 1e-9))))


@wrong("epsilon_lower_bound", "the_bound_wastes_little")
def intervals_of_hoeffding_tripled(hits_p, draws_p, hits_q, draws_q, alarm):
    reach = [6 * np.sqrt(np.log(2 / alarm) / n) for n in (draws_p, draws_q)]
    low, high = hits_p / draws_p - reach[0], hits_q / draws_q + reach[1]
    return max(0.0, float(np.log(max(low, 1e-12) / high)))


@wrong("epsilon_lower_bound", "more_caution_proves_less")
def caution_turned_around(hits_p, draws_p, hits_q, draws_q, alarm):
    return clopper(hits_p, draws_p, hits_q, draws_q, 1 - alarm / 2, 1 - alarm / 2)


@wrong("epsilon_lower_bound", "more_caution_proves_less")
def a_fixed_interval(hits_p, draws_p, hits_q, draws_q, alarm):
    return clopper(hits_p, draws_p, hits_q, draws_q, 0.025, 0.025)


def scores(hits, draws, z, sign):
    """End of the interval of Wilson, which holds on average and not for every chance."""
    share = hits / draws
    spread = np.sqrt(share * (1 - share) / draws + z**2 / (4 * draws**2))
    return (share + z**2 / (2 * draws) + sign * z * spread) / (1 + z**2 / draws)


@wrong("epsilon_lower_bound", "rare_events_raise_no_more_alarms")
def intervals_of_wilson(hits_p, draws_p, hits_q, draws_q, alarm):
    z = stats.norm.isf(alarm / 2)
    low, high = scores(hits_p, draws_p, z, -1), scores(hits_q, draws_q, z, 1)
    return max(0.0, float(np.log(low / high))) if low > 0 else 0.0


@wrong("epsilon_lower_bound", "rare_events_raise_no_more_alarms")
def a_normal_logarithm(hits_p, draws_p, hits_q, draws_q, alarm):
    a, b = hits_p + 0.5, hits_q + 0.5
    ratio = np.log(a / (draws_p + 1)) - np.log(b / (draws_q + 1))
    spread = np.sqrt(1 / a - 1 / (draws_p + 1) + 1 / b - 1 / (draws_q + 1))
    return max(0.0, float(ratio - stats.norm.isf(alarm) * spread))


@wrong("epsilon_lower_bound", "rare_events_raise_no_more_alarms")
def intervals_of_jeffreys(hits_p, draws_p, hits_q, draws_q, alarm):
    low = stats.beta.ppf(alarm / 2, hits_p + 0.5, draws_p - hits_p + 0.5)
    high = stats.beta.isf(alarm / 2, hits_q + 0.5, draws_q - hits_q + 0.5)
    return max(0.0, float(np.log(low / high)))


@wrong("epsilon_lower_bound", "rare_events_raise_no_more_alarms")
def intervals_of_wald(hits_p, draws_p, hits_q, draws_q, alarm):
    p, q, z = hits_p / draws_p, hits_q / draws_q, stats.norm.isf(alarm / 2)
    low = p - z * np.sqrt(p * (1 - p) / draws_p)
    high = q + z * np.sqrt(q * (1 - q) / draws_q) + 1e-12
    return max(0.0, float(np.log(low / high))) if low > 0 else 0.0


@wrong("epsilon_lower_bound", "the_alarm_is_divided")
def the_whole_alarm_on_each_side(hits_p, draws_p, hits_q, draws_q, alarm):
    return clopper(hits_p, draws_p, hits_q, draws_q, alarm, alarm)


@wrong("epsilon_lower_bound", "false_alarms_are_as_rare_as_asked")
def roots_of_the_alarm(hits_p, draws_p, hits_q, draws_q, alarm):
    return clopper(hits_p, draws_p, hits_q, draws_q, alarm**0.5, alarm**0.5)


@wrong("epsilon_lower_bound", "only_the_event_itself_is_judged")
def the_other_event_too(hits_p, draws_p, hits_q, draws_q, alarm):
    straight = clopper(hits_p, draws_p, hits_q, draws_q, alarm / 2, alarm / 2)
    miss_p, miss_q = draws_p - hits_p, draws_q - hits_q
    return max(straight, clopper(miss_q, draws_q, miss_p, draws_p, alarm / 2, alarm / 2))


@wrong("epsilon_lower_bound", "only_the_event_itself_is_judged")
def either_way(hits_p, draws_p, hits_q, draws_q, alarm):
    straight = clopper(hits_p, draws_p, hits_q, draws_q, alarm / 4, alarm / 4)
    return max(straight, clopper(hits_q, draws_q, hits_p, draws_p, alarm / 4, alarm / 4))


@wrong("epsilon_lower_bound", "only_the_event_itself_is_judged")
def below_zero(hits_p, draws_p, hits_q, draws_q, alarm):
    low = stats.beta.ppf(alarm / 2, hits_p, draws_p - hits_p + 1) if hits_p else 0.0
    more = hits_q < draws_q
    high = stats.beta.isf(alarm / 2, hits_q + 1, draws_q - hits_q) if more else 1.0
    return float(np.log(low / high)) if low and hits_p != hits_q else 0.0


@wrong("epsilon_lower_bound", "the_bound_wastes_little")
def draws_of_the_first_law_twice(hits_p, draws_p, hits_q, draws_q, alarm):
    return clopper(hits_p, draws_p, min(hits_q, draws_p), draws_p, alarm / 2, alarm / 2)


@wrong("epsilon_lower_bound", "the_bound_wastes_little")
def nothing_from_hits_in_all_releases(hits_p, draws_p, hits_q, draws_q, alarm):
    if hits_p == draws_p:
        return 0.0
    return clopper(hits_p, draws_p, hits_q, draws_q, alarm / 2, alarm / 2)


@wrong("epsilon_lower_bound", "false_alarms_are_as_rare_as_asked")
def counts_with_their_roots(hits_p, draws_p, hits_q, draws_q, alarm):
    z = stats.norm.isf(alarm / 2)
    low = max(hits_p - z * np.sqrt(hits_p), 0) / draws_p
    high = (hits_q + z * np.sqrt(hits_q) + 1e-9) / draws_q
    return max(0.0, float(np.log(low / high))) if low else 0.0


@wrong("epsilon_lower_bound", "rare_events_raise_no_more_alarms")
def counts_of_poisson_in_the_middle(hits_p, draws_p, hits_q, draws_q, alarm):
    low = stats.gamma.ppf(alarm / 2, hits_p) / draws_p if hits_p else 0.0
    high = stats.gamma.isf(alarm / 2, hits_q + 0.5) / draws_q
    return max(0.0, float(np.log(low / high))) if low else 0.0
