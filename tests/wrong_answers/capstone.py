"""Wrong answers to the exercises of the curator."""

import numpy as np
from scipy import optimize, stats

from wrong_answers import Answers

wrong = Answers()

# --- rows_on_domain ------------------------------------------------------------------------------


def inside(X, bounds):
    if np.isnan(X).any() or np.any(X < bounds[:, 0]) or np.any(X > bounds[:, 1]):
        raise ValueError("X must lie inside its bounds")


@wrong("rows_on_domain", "a_row_does_not_know_the_others")
def extremes_of_the_file(X, bounds):
    inside(X, bounds)
    low, high = X.min(axis=0), X.max(axis=0)
    return (X - low) / np.where(high > low, high - low, 1)


@wrong("rows_on_domain", "a_row_does_not_know_the_others")
def centered_on_the_mean(X, bounds):
    inside(X, bounds)
    return np.clip(0.5 + (X - X.mean(axis=0)) / (bounds[:, 1] - bounds[:, 0]), 0, 1)


@wrong("rows_on_domain", "what_is_outside_is_refused")
def silently_clipped(X, bounds):
    if np.isnan(X).any():
        raise ValueError("X must not be NaN")
    return (np.clip(X, *bounds.T) - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])


@wrong("rows_on_domain", "what_is_outside_is_refused")
def one_pair_of_bounds_for_all(X, bounds):
    if not np.all((bounds.min() <= X) & (bounds.max() >= X)):
        raise ValueError("X must lie inside its bounds")
    return (X - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])


@wrong("rows_on_domain", "what_is_no_number_is_refused")
def a_condition_that_nan_passes(X, bounds):
    if np.any(X < bounds[:, 0]) or np.any(X > bounds[:, 1]):
        raise ValueError("X must lie inside its bounds")
    return (X - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])


@wrong("rows_on_domain", "steps_stay_even")
def divided_by_the_highest(X, bounds):
    inside(X, bounds)
    return X / bounds[:, 1]


@wrong("rows_on_domain", "the_table_is_left_alone")
def written_into_the_table(X, bounds):
    inside(X, bounds)
    X -= bounds[:, 0]
    X /= bounds[:, 1] - bounds[:, 0]
    return X


@wrong("rows_on_domain", "what_is_outside_is_refused")
def a_little_outside_is_let_pass(X, bounds):
    u = (X - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])
    if not np.all((u >= -1e-6) & (u <= 1 + 1e-6)):
        raise ValueError("X must lie inside its bounds")
    return np.clip(u, 0, 1)


@wrong("rows_on_domain", "what_is_outside_is_refused")
def compared_as_whole_numbers(X, bounds):
    if np.isnan(X).any():
        raise ValueError("X must not be NaN")
    inside(np.trunc(X), bounds)
    return (X - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0])


@wrong("rows_on_domain", "steps_stay_even")
def three_digits(X, bounds):
    inside(X, bounds)
    return np.round((X - bounds[:, 0]) / (bounds[:, 1] - bounds[:, 0]), 3)


# --- coefficients_in_units -----------------------------------------------------------------------


def parts(bounds, y_bounds):
    low, high = np.asarray(bounds).T
    return low, high - low, (y_bounds[1] - y_bounds[0]) / 2, sum(y_bounds) / 2


@wrong("coefficients_in_units", "both_worlds_predict_alike")
def the_whole_range_of_labels(theta, bounds, y_bounds):
    low, width, half, middle = parts(bounds, y_bounds)
    coef = theta * 2 * half / width
    return coef, middle - coef @ low


@wrong("coefficients_in_units", "nobody_at_the_low_ends_owes_a_slope")
def low_ends_forgotten(theta, bounds, y_bounds):
    _, width, half, middle = parts(bounds, y_bounds)
    return theta * half / width, middle


@wrong("coefficients_in_units", "nothing_known_predicts_the_middle")
def from_the_lowest_label(theta, bounds, y_bounds):
    low, width, half, _ = parts(bounds, y_bounds)
    coef = theta * half / width
    return coef, y_bounds[0] - coef @ low


@wrong("coefficients_in_units", "nothing_known_predicts_the_middle")
def slopes_alone(theta, bounds, y_bounds):
    low, width, half, _ = parts(bounds, y_bounds)
    coef = theta * half / width
    return coef, -coef @ low


@wrong("coefficients_in_units", "a_change_of_units_changes_no_prediction")
def multiplied_by_the_width(theta, bounds, y_bounds):
    low, width, half, middle = parts(bounds, y_bounds)
    coef = theta * half * width
    return coef, middle - coef @ low


@wrong("coefficients_in_units", "a_change_of_units_changes_no_prediction")
def coefficients_as_they_are(theta, bounds, y_bounds):
    return theta, sum(y_bounds) / 2


@wrong("coefficients_in_units", "both_worlds_predict_alike")
def through_the_middle_of_the_bounds(theta, bounds, y_bounds):
    low, width, half, middle = parts(bounds, y_bounds)
    coef = theta * half / width
    return coef, middle - coef @ (low + width / 2)


@wrong("coefficients_in_units", "what_was_handed_in_stays")
def scaled_in_place(theta, bounds, y_bounds):
    low, width, half, middle = parts(bounds, y_bounds)
    theta *= half / width
    return theta, middle - theta @ low


# --- granted_releases ----------------------------------------------------------------------------


def in_turn(budgets, costs, fits):
    spent, granted = np.zeros(len(budgets)), []
    for cost in costs:
        granted.append(bool(fits(spent + cost, budgets)))
        if granted[-1]:
            spent = spent + cost
    return np.array(granted)


def costs_of(budgets, owner, requests):
    return [np.bincount(owner, row, len(budgets)) for row in requests]


def everybody_fits(total, budgets):
    return np.all(total <= budgets + 1e-9)


@wrong("granted_releases", "decimals_fill_a_budget_exactly")
def floats_compared(budgets, owner, requests):
    costs = costs_of(budgets, owner, requests)
    return in_turn(budgets, costs, lambda total, budgets: np.all(total <= budgets))


@wrong("granted_releases", "a_millionth_too_much_is_refused")
def a_wide_tolerance(budgets, owner, requests):
    costs = costs_of(budgets, owner, requests)
    return in_turn(budgets, costs, lambda total, budgets: np.all(total <= budgets + 1e-3))


@wrong("granted_releases", "a_millionth_too_much_is_refused")
def close_is_enough(budgets, owner, requests):
    def fits(total, budgets):
        return np.all((total <= budgets) | np.isclose(total, budgets))

    return in_turn(budgets, costs_of(budgets, owner, requests), fits)


@wrong("granted_releases", "all_records_of_a_person_count")
def the_largest_record(budgets, owner, requests):
    costs = np.zeros((len(requests), len(budgets)))
    for cost, row in zip(costs, requests, strict=True):
        np.maximum.at(cost, owner, row)
    return in_turn(budgets, costs, everybody_fits)


@wrong("granted_releases", "all_records_of_a_person_count")
def an_account_a_record(budgets, owner, requests):
    return in_turn(budgets[owner], requests, everybody_fits)


@wrong("granted_releases", "all_records_of_a_person_count")
def the_last_record(budgets, owner, requests):
    costs = np.zeros((len(requests), len(budgets)))
    costs[:, owner] += requests
    return in_turn(budgets, costs, everybody_fits)


@wrong("granted_releases", "one_person_is_enough_to_refuse")
def the_sum_over_everybody(budgets, owner, requests):
    costs = costs_of(budgets, owner, requests)
    return in_turn(budgets, costs, lambda total, budgets: total.sum() <= budgets.sum() + 1e-9)


@wrong("granted_releases", "one_person_is_enough_to_refuse")
def the_largest_budget(budgets, owner, requests):
    costs = costs_of(budgets, owner, requests)
    return in_turn(budgets, costs, lambda total, budgets: total.max() <= budgets.max() + 1e-9)


@wrong("granted_releases", "what_was_refused_costs_nothing")
def refused_and_charged(budgets, owner, requests):
    total = np.cumsum(costs_of(budgets, owner, requests), axis=0)
    return np.all(total <= budgets + 1e-9, axis=1)


@wrong("granted_releases", "what_was_refused_costs_nothing")
def closed_after_the_first_refusal(budgets, owner, requests):
    granted = in_turn(budgets, costs_of(budgets, owner, requests), everybody_fits)
    return np.logical_and.accumulate(granted)


@wrong("granted_releases", "every_verdict_is_right")
def each_request_by_itself(budgets, owner, requests):
    return np.array([everybody_fits(cost, budgets) for cost in costs_of(budgets, owner, requests)])


@wrong("granted_releases", "decimals_fill_a_budget_exactly")
def cut_to_millionths(budgets, owner, requests):
    budgets, requests = (np.array(1e6 * a).astype(int) for a in (budgets, requests))
    return in_turn(budgets, costs_of(budgets, owner, requests), everybody_fits)


@wrong("granted_releases", "a_millionth_too_much_is_refused")
def in_single_precision(budgets, owner, requests):
    costs = costs_of(budgets, owner, np.rint(1e6 * requests))
    budgets = np.rint(1e6 * budgets).astype(np.float32)
    return in_turn(budgets, costs, lambda total, b: np.all(total.astype(np.float32) <= b))


@wrong("granted_releases", "people_may_own_nothing")
def as_many_as_own_something(budgets, owner, requests):
    people = np.unique(owner)
    costs = [np.bincount(np.searchsorted(people, owner), row) for row in requests]
    return in_turn(budgets[: len(people)], costs, everybody_fits)


@wrong("granted_releases", "the_account_book_is_a_copy")
def taken_from_the_budgets(budgets, owner, requests):
    granted = []
    for cost in costs_of(budgets, owner, requests):
        granted.append(bool(everybody_fits(cost, budgets)))
        budgets -= cost * granted[-1]
    return np.array(granted)


# --- errors_of_plans -----------------------------------------------------------------------------


def planned(budgets, d, constant, spread, *, moment=None, shares=None, strictly=False, all_pay=0):
    """The three errors, with what a student may get wrong as an argument."""
    moment = d * (d + 1) if moment is None else moment

    def error(total, squares):
        return moment * (constant / total) ** 2 + spread**2 * squares

    errors = []
    for level in np.unique(budgets):
        people = np.sum(budgets > level) if strictly else np.sum(budgets >= level)
        if people:
            errors.append(error((len(budgets) if all_pay else people) * level, 1 / people))
    own = budgets / budgets.sum()
    squares = np.sum(own**2) if shares is None else shares
    first = error(len(budgets) * budgets.min(), 1 / len(budgets))
    return np.array([first, min([first, *errors]), error(budgets.sum(), squares)])


@wrong("errors_of_plans", "every_plan_keeps_its_promise_exactly")
def noise_of_d(budgets, d, constant, spread):
    return planned(budgets, d, constant, spread, moment=d)


@wrong("errors_of_plans", "every_plan_keeps_its_promise_exactly")
def noise_of_d_squared(budgets, d, constant, spread):
    return planned(budgets, d, constant, spread, moment=d**2)


@wrong("errors_of_plans", "every_plan_keeps_its_promise_exactly")
def labels_averaged_over_everybody(budgets, d, constant, spread):
    return planned(budgets, d, constant, spread, shares=1 / len(budgets))


@wrong("errors_of_plans", "without_noise_everybody_is_wanted")
def scatter_forgotten(budgets, d, constant, spread):
    return planned(budgets, d, constant, 0.0)


@wrong("errors_of_plans", "no_choice_of_people_does_better")
def only_above_the_threshold(budgets, d, constant, spread):
    return planned(budgets, d, constant, spread, strictly=True)


@wrong("errors_of_plans", "no_choice_of_people_does_better")
def noise_as_if_all_had_stayed(budgets, d, constant, spread):
    return planned(budgets, d, constant, spread, all_pay=1)


@wrong("errors_of_plans", "no_choice_of_people_does_better")
def threshold_at_the_mean(budgets, d, constant, spread):
    first, _, third = planned(budgets, d, constant, spread)
    group = budgets[budgets >= budgets.mean()]
    return np.array([first, min(first, planned(group, d, constant, spread)[0]), third])


@wrong("errors_of_plans", "equal_budgets_leave_no_choice")
def the_smallest_budget_of_one(budgets, d, constant, spread):
    _, second, third = planned(budgets, d, constant, spread)
    first = d * (d + 1) * (constant / budgets.min()) ** 2 + spread**2 / len(budgets)
    return np.array([first, min(first, second), third])


@wrong("errors_of_plans", "without_scatter_own_budgets_are_best")
def the_smallest_budget_sets_the_noise(budgets, d, constant, spread):
    first, second, _ = planned(budgets, d, constant, spread)
    noise = d * (d + 1) * (constant / (len(budgets) * budgets.min())) ** 2
    return np.array([first, second, noise + spread**2 * np.sum((budgets / budgets.sum()) ** 2)])


@wrong("errors_of_plans", "no_choice_of_people_does_better")
def at_most_half_left_out(budgets, d, constant, spread):
    found = planned(budgets, d, constant, spread)
    level = np.sort(budgets)[: len(budgets) // 2 + 1]
    people = np.array([np.sum(budgets >= t) for t in level])
    price = d * (d + 1) * constant**2
    found[1] = np.min(price / (people * level) ** 2 + spread**2 / people)
    return found


@wrong("errors_of_plans", "no_choice_of_people_does_better")
def thresholds_on_a_grid(budgets, d, constant, spread):
    found = planned(budgets, d, constant, spread)
    level = np.linspace(budgets.min(), budgets.max(), 40)
    people = np.array([np.sum(budgets >= t) for t in level])
    price = d * (d + 1) * constant**2
    found[1] = np.min(price / (people * level) ** 2 + spread**2 / people)
    return found


@wrong("errors_of_plans", "budgets_keep_their_order")
def sorted_in_place(budgets, d, constant, spread):
    budgets.sort()
    return planned(budgets, d, constant, spread)


# --- noise_half_width ----------------------------------------------------------------------------


@wrong("noise_half_width", "the_interval_covers_as_often_as_it_says")
def a_normal_of_this_variance(x, eta, level):
    return stats.norm.ppf((1 + level) / 2) * np.linalg.norm(x) * np.sqrt(len(x) + 1) / eta


@wrong("noise_half_width", "the_interval_covers_as_often_as_it_says")
def one_sided(x, eta, level):
    return right_width(x, eta, 2 * level - 1) if level > 0.5 else 1e-9


@wrong("noise_half_width", "the_interval_covers_as_often_as_it_says")
def twice_the_level_left_out(x, eta, level):
    return right_width(x, eta, (1 + level) / 2)


@wrong("noise_half_width", "one_number_is_nearer_than_all")
def the_length_of_all_noise(x, eta, level):
    return np.linalg.norm(x) * stats.gamma.ppf(level, len(x)) / eta


@wrong("noise_half_width", "a_feature_that_is_0_still_counts")
def laplace_along_the_row(x, eta, level):
    return -np.linalg.norm(x) * np.log(1 - level) / eta


@wrong("noise_half_width", "only_the_length_of_a_row_counts")
def sum_of_the_features(x, eta, level):
    return right_width(x, eta, level) * np.sum(x) / np.linalg.norm(x)


@wrong("noise_half_width", "a_feature_that_is_0_still_counts")
def laplace_in_every_coordinate(x, eta, level):
    draws = np.random.default_rng(0).laplace(0, 1 / eta, (100_000, len(x)))
    return np.quantile(np.abs(draws @ x), level)


@wrong("noise_half_width", "twice_the_rate_is_half_the_width")
def rate_for_scale(x, eta, level):
    return right_width(x, 1.0, level) * eta


def right_width(x, eta, level):
    def covered(t):  # a normal of random variance, see the grader
        mixed = np.sqrt(2 * stats.gamma.ppf((np.arange(2000) + 0.5) / 2000, (len(x) + 1) / 2))
        return np.mean(2 * stats.norm.cdf(t / mixed) - 1)

    return np.linalg.norm(x) * optimize.brentq(lambda t: covered(t) - level, 0, 99) / eta


@wrong("noise_half_width", "a_thousandth_is_kept_everywhere")
def counted_in_a_simulation(x, eta, level):
    rng, d, draws = np.random.default_rng(0), len(x), 400_000
    z = rng.normal(size=(draws, d))
    cosine = z[:, 0] / np.linalg.norm(z, axis=1)
    parts = rng.gamma(d, 1 / eta, draws) * np.abs(cosine)
    return float(np.quantile(parts, level) * np.linalg.norm(x))


# --- evidence_of_release -------------------------------------------------------------------------


def solved(X, y, weights, lam):
    gram = X.T @ (weights[:, None] * X) + lam * np.eye(X.shape[1])
    return np.linalg.solve(gram, X.T @ (weights * y))


def null(weights, rows):
    return np.where(np.isin(np.arange(len(weights)), rows), 0, weights)


def distances(theta, X, y, weights, lam, rows):
    fits = solved(X, y, weights, lam), solved(X, y, null(weights, rows), lam)
    return [np.linalg.norm(theta - fit) for fit in fits]


@wrong("evidence_of_release", "a_null_record_leaves_no_evidence")
def people_who_left(theta, X, y, weights, lam, eta, rows):
    others = np.delete(weights, rows)
    fit = solved(np.delete(X, rows, 0), np.delete(y, rows), others / others.sum(), lam)
    here = solved(X, y, weights, lam)
    return eta * (np.linalg.norm(theta - fit) - np.linalg.norm(theta - here))


@wrong("evidence_of_release", "it_speaks_for_the_truth_near_the_truth")
def turned_around(theta, X, y, weights, lam, eta, rows):
    here, there = distances(theta, X, y, weights, lam, rows)
    return eta * (here - there)


@wrong("evidence_of_release", "nobody_loses_more_than_promised")
def squared_lengths(theta, X, y, weights, lam, eta, rows):
    here, there = distances(theta, X, y, weights, lam, rows)
    return eta * (there**2 - here**2)


@wrong("evidence_of_release", "it_compares_the_laws_of_the_release")
def the_worst_at_any_release(theta, X, y, weights, lam, eta, rows):
    gap = solved(X, y, weights, lam) - solved(X, y, null(weights, rows), lam)
    return eta * np.linalg.norm(gap)


@wrong("evidence_of_release", "it_compares_the_laws_of_the_release")
def each_record_alone(theta, X, y, weights, lam, eta, rows):
    pairs = [distances(theta, X, y, weights, lam, [row]) for row in rows]
    return eta * sum(there - here for here, there in pairs)


@wrong("evidence_of_release", "it_compares_the_laws_of_the_release")
def bits(theta, X, y, weights, lam, eta, rows):
    here, there = distances(theta, X, y, weights, lam, rows)
    return eta * (there - here) / np.log(2)


@wrong("evidence_of_release", "it_compares_the_laws_of_the_release")
def labels_replaced_only(theta, X, y, weights, lam, eta, rows):
    labels = y.copy()
    labels[rows] = 0
    fits = solved(X, y, weights, lam), solved(X, labels, weights, lam)
    here, there = (np.linalg.norm(theta - fit) for fit in fits)
    return eta * (there - here)


@wrong("evidence_of_release", "it_compares_the_laws_of_the_release")
def another_rate_without_them(theta, X, y, weights, lam, eta, rows):
    here, there = distances(theta, X, y, weights, lam, rows)
    left = 1 - weights[rows].sum()
    return eta * (left * there - here) - len(theta) * np.log(left)


@wrong("evidence_of_release", "the_records_are_left_alone")
def records_overwritten(theta, X, y, weights, lam, eta, rows):
    here = np.linalg.norm(theta - solved(X, y, weights, lam))
    X[rows], y[rows] = 0, 0
    return eta * (np.linalg.norm(theta - solved(X, y, weights, lam)) - here)


@wrong("evidence_of_release", "it_compares_the_laws_of_the_release")
def weights_made_to_sum_to_one(theta, X, y, weights, lam, eta, rows):
    here, there = distances(theta, X, y, weights / weights.sum(), lam, rows)
    return eta * (there - here)


# --- is_refuted ----------------------------------------------------------------------------------


def draws_of(mechanism, tables, n, rng):
    return [np.array([mechanism(X, y, rng) for _ in range(n)]) for X, y in tables]


def events(p, q):
    """Cuts, coordinates and signs of half-lines, and how often both samples are above."""
    p, q = np.hstack([p, -p]), np.hstack([q, -q])
    cuts = np.quantile(np.vstack([p, q]), np.linspace(0, 0.98, 50), axis=0)
    return cuts, [(z > cuts[:, None]).mean(axis=1) for z in (p, q)]


def certain(share_p, share_q, n, epsilon, alarm):
    p, q = share_p * n, share_q * n
    low = stats.beta.ppf(alarm / 2, p, n - p + 1)
    return bool(low > np.exp(epsilon) * stats.beta.ppf(1 - alarm / 2, q + 1, n - q))


def halves(mechanism, first, second, epsilon, releases, alarm, rng, *, orders=2, numbers=None):
    n = releases // 4
    p, q = (z[:, :numbers] for z in draws_of(mechanism, (first, second), 2 * n, rng))
    _, above = events(p[:n], q[:n])
    pairs = [above, above[::-1]][:orders]
    excess = [one - np.exp(epsilon) * two for one, two in pairs]
    order, k, j = np.unravel_index(np.argmax(excess), np.shape(excess))
    cut = events(p[:n], q[:n])[0][k, j]
    shares = [(np.hstack([z, -z])[n:, j] > cut).mean() for z in (p, q)]
    return certain(*(shares if order == 0 else shares[::-1]), n, epsilon, alarm)


@wrong("is_refuted", "a_kept_promise_is_rarely_refuted")
def counts_without_caution(mechanism, first, second, epsilon, releases, alarm, rng):
    p, q = draws_of(mechanism, (first, second), releases // 2, rng)
    one, two = events(p, q)[1]
    bound = np.exp(epsilon)
    return bool(np.any(one > bound * two) or np.any(two > bound * one))


@wrong("is_refuted", "a_kept_promise_is_rarely_refuted")
def histograms_with_empty_bins(mechanism, first, second, epsilon, releases, alarm, rng):
    p, q = (z[:, 0] for z in draws_of(mechanism, (first, second), releases // 2, rng))
    edges = np.histogram_bin_edges(np.r_[p, q], 20)
    one, two = (np.histogram(z, edges)[0] for z in (p, q))
    both = one + two > 0
    return bool(np.max(np.abs(np.log(one[both] + 1e-9) - np.log(two[both] + 1e-9))) > epsilon)


@wrong("is_refuted", "choosing_is_not_counting")
def chosen_and_counted_on_the_same(mechanism, first, second, epsilon, releases, alarm, rng):
    n = releases // 2
    p, q = draws_of(mechanism, (first, second), n, rng)
    one, two = events(p, q)[1]
    pairs = zip(np.r_[one.ravel(), two.ravel()], np.r_[two.ravel(), one.ravel()], strict=True)
    best = max(pairs, key=lambda pair: pair[0] - np.exp(epsilon) * pair[1])
    return certain(*best, n, epsilon, alarm)


@wrong("is_refuted", "half_the_noise_is_noticed")
def never_refuted(mechanism, first, second, epsilon, releases, alarm, rng):
    draws_of(mechanism, (first, second), releases // 2, rng)
    return False


@wrong("is_refuted", "both_tables_are_suspects")
def means_compared(mechanism, first, second, epsilon, releases, alarm, rng):
    p, q = draws_of(mechanism, (first, second), releases // 2, rng)
    return bool(np.any(np.abs(p.mean(axis=0) - q.mean(axis=0)) > epsilon * p.std(axis=0) + 1e-9))


@wrong("is_refuted", "both_tables_are_suspects")
def the_first_table_only(mechanism, first, second, epsilon, releases, alarm, rng):
    return halves(mechanism, first, second, epsilon, releases, alarm, rng, orders=1)


@wrong("is_refuted", "every_number_is_a_suspect")
def the_first_number_only(mechanism, first, second, epsilon, releases, alarm, rng):
    return halves(mechanism, first, second, epsilon, releases, alarm, rng, numbers=1)


@wrong("is_refuted", "a_kept_promise_is_rarely_refuted")
def a_seed_for_every_release(mechanism, first, second, epsilon, releases, alarm, rng):
    def seeded(X, y, rng):
        return mechanism(X, y, np.random.default_rng(0))

    return halves(seeded, first, second, epsilon, releases, alarm, rng)


@wrong("is_refuted", "noise_that_repeats_is_no_noise")
def repeated_outputs_dropped(mechanism, first, second, epsilon, releases, alarm, rng):
    p, q = (np.unique(z, axis=0) for z in draws_of(mechanism, (first, second), releases // 2, rng))
    if min(len(p), len(q)) < 20:
        return False
    n = min(len(p), len(q)) // 2
    kept = [iter(rng.permutation(z)) for z in (p, q)]

    def again(X, y, rng):
        return next(kept[0] if y is first[1] else kept[1])

    return halves(again, first, second, epsilon, 4 * n, alarm, rng)


@wrong("is_refuted", "low_values_are_suspects")
def high_values_only(mechanism, first, second, epsilon, releases, alarm, rng):
    n = releases // 4
    p, q = draws_of(mechanism, (first, second), 2 * n, rng)
    cuts = np.sort(np.vstack([p[:n], q[:n]]), axis=0)
    above = [np.array([(z[:n] >= cut).mean(axis=0) for cut in cuts]) for z in (p, q)]
    excess = [one - np.exp(epsilon) * two for one, two in (above, above[::-1])]
    order, k, j = np.unravel_index(np.argmax(excess), np.shape(excess))
    shares = [(z[n:, j] >= cuts[k, j]).mean() for z in (p, q)]
    return certain(*(shares if order == 0 else shares[::-1]), n, epsilon, alarm)


@wrong("is_refuted", "what_a_kept_promise_may_give_refutes_nothing")
def one_alarm_for_every_audit(mechanism, first, second, epsilon, releases, alarm, rng):
    return halves(mechanism, first, second, epsilon, releases, 0.05, rng)


@wrong("is_refuted", "what_a_kept_promise_may_give_refutes_nothing")
def one_plus_epsilon(mechanism, first, second, epsilon, releases, alarm, rng):
    return halves(mechanism, first, second, np.log1p(epsilon), releases, alarm, rng)


@wrong("is_refuted", "forty_numbers_share_one_alarm")
def an_alarm_for_each_number(mechanism, first, second, epsilon, releases, alarm, rng):
    p, q = draws_of(mechanism, (first, second), releases // 2, rng)

    def judged(j):
        kept = [iter(z[:, [j]]) for z in (p, q)]

        def again(X, y, rng):
            return next(kept[0] if y is first[1] else kept[1])

        return halves(again, first, second, epsilon, releases, alarm, rng)

    return any(judged(j) for j in range(p.shape[1]))


@wrong("is_refuted", "releases_come_from_the_generator")
def releases_of_another_generator(mechanism, first, second, epsilon, releases, alarm, rng):
    own = np.random.default_rng(7)
    return halves(mechanism, first, second, epsilon, releases, alarm, own)
