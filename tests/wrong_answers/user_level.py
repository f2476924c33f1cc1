"""Wrong answers to the exercises on user-level privacy."""

import cvxpy as cp
import numpy as np
from scipy import optimize, special, stats

from wrong_answers import Answers

wrong = Answers()

# --- noise_scale_for_users -----------------------------------------------------------------------


@wrong("noise_scale_for_users", "somebody_uses_up_their_budget")
def budgets_multiplied(c, users, width, epsilon):
    return width * np.max(np.bincount(users, c) * epsilon)


@wrong("noise_scale_for_users", "a_row_may_be_cut_in_two")
def noise_for_a_record(c, users, width, epsilon):
    return width * np.max(c / epsilon[users])


@wrong("noise_scale_for_users", "no_user_loses_more_than_their_budget")
def mean_budget(c, users, width, epsilon):
    return width * np.bincount(users, c).max() / np.mean(epsilon)


@wrong("noise_scale_for_users", "no_user_loses_more_than_their_budget")
def budget_of_the_heaviest(c, users, width, epsilon):
    w = np.bincount(users, c)
    return width * w.max() / epsilon[np.argmax(w)]


@wrong("noise_scale_for_users", "somebody_uses_up_their_budget")
def lowest_budget_for_all(c, users, width, epsilon):
    return width * np.bincount(users, c).max() / np.min(epsilon)


@wrong("noise_scale_for_users", "somebody_uses_up_their_budget")
def sum_for_max(c, users, width, epsilon):
    return width * np.sum(np.bincount(users, c) / epsilon)


@wrong("noise_scale_for_users", "somebody_uses_up_their_budget")
def twice_the_width(c, users, width, epsilon):
    return 2 * width * np.max(np.bincount(users, c) / epsilon)


@wrong("noise_scale_for_users", "somebody_uses_up_their_budget")
def rows_counted_instead_of_weighed(c, users, width, epsilon):
    return width * np.max(np.bincount(users) / len(users) / epsilon)


@wrong("noise_scale_for_users", "rows_may_be_shuffled")
def users_in_blocks(c, users, width, epsilon):
    starts = np.flatnonzero(np.append(True, np.diff(users) != 0))
    return width * np.max(np.add.reduceat(c, starts) / epsilon[users[starts]])


@wrong("noise_scale_for_users", "anybody_may_be_the_one_who_decides")
def weights_made_to_sum_to_one(c, users, width, epsilon):
    return width * np.max(np.bincount(users, c / c.sum()) / epsilon)


@wrong("noise_scale_for_users", "anybody_may_be_the_one_who_decides")
def the_most_careful_user(c, users, width, epsilon):
    careful = np.argmin(epsilon)
    return width * c[users == careful].sum() / epsilon[careful]


@wrong("noise_scale_for_users", "anybody_may_be_the_one_who_decides")
def the_last_user_forgotten(c, users, width, epsilon):
    return width * max(c[users == user].sum() / epsilon[user] for user in range(users.max()))


# --- best_user_weights ---------------------------------------------------------------------------


def shares(kept):
    kept = np.asarray(kept, dtype=float)
    return kept / kept.sum()


def root(sizes, A):
    return optimize.brentq(
        lambda h: h - A * np.maximum(0, 1 - h / sizes).sum(), 0, np.max(sizes), rtol=1e-14
    )


@wrong("best_user_weights", "much_noise_makes_users_equal")
def always_proportional(sizes, A):
    return shares(sizes)


@wrong("best_user_weights", "little_noise_makes_rows_equal")
def always_equal(sizes, A):
    return shares(np.ones(len(sizes)))


@wrong("best_user_weights", "no_limit_on_rows_costs_less")
def roots_of_sizes(sizes, A):
    return shares(np.sqrt(sizes))


@wrong("best_user_weights", "no_weights_cost_less")
def sum_of_squares_for_the_largest(sizes, A):
    return shares(1 / (1 + A / sizes))


@wrong("best_user_weights", "no_weights_cost_less")
def capped_at_the_median(sizes, A):
    return shares(np.minimum(sizes, np.median(sizes)))


@wrong("best_user_weights", "no_weights_cost_less")
def capped_at_the_price(sizes, A):
    return shares(np.minimum(sizes, A))


@wrong("best_user_weights", "no_weights_cost_less")
def best_limit_on_rows(sizes, A):
    kept = [np.minimum(sizes, h) for h in range(1, int(sizes.max()) + 1)]
    cost = [(k.max() / k.sum()) ** 2 + A / k.sum() for k in kept]
    return shares(kept[int(np.argmin(cost))])


@wrong("best_user_weights", "no_weights_cost_less")
def variance_without_sizes(sizes, A):
    w = cp.Variable(len(sizes), nonneg=True)
    cost = cp.square(cp.max(w)) + A * cp.sum_squares(w)
    cp.Problem(cp.Minimize(cost), [cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
    return w.value


@wrong("best_user_weights", "no_weights_cost_less")
def divided_by_sizes_twice(sizes, A):
    w = cp.Variable(len(sizes), nonneg=True)
    cost = cp.square(cp.max(w)) + A * cp.sum_squares(cp.multiply(w, 1 / sizes))
    cp.Problem(cp.Minimize(cost), [cp.sum(w) == 1]).solve(solver=cp.CLARABEL)
    return w.value


@wrong("best_user_weights", "users_may_be_shuffled")
def in_order_of_size(sizes, A):
    s = np.sort(sizes)
    return shares(np.minimum(s, root(s, A)))


@wrong("best_user_weights", "large_users_alike_are_several")
def each_size_once(sizes, A):
    return shares(np.minimum(sizes, root(np.unique(sizes), A)))


@wrong("best_user_weights", "large_users_alike_are_several")
def a_rounded_limit(sizes, A):
    return shares(np.minimum(sizes, max(1, round(root(sizes, A)))))


# --- rows_that_count -----------------------------------------------------------------------------


@wrong("rows_that_count", "h_may_be_below_every_size")
def searched_between_the_sizes(sizes, A):
    return max(root(sizes, A), np.min(sizes))


@wrong("rows_that_count", "the_rows_that_count_give_the_least_cost")
def price_forgotten(sizes, A):
    return root(sizes, 1.0)


@wrong("rows_that_count", "the_rows_that_count_give_the_least_cost")
def price_halved(sizes, A):
    return root(sizes, A / 2)


@wrong("rows_that_count", "the_rows_that_count_give_the_least_cost")
def everybody_above_the_limit(sizes, A):
    return min(A * len(sizes) / (1 + A * np.sum(1 / sizes)), np.max(sizes) - 1e-9)


@wrong("rows_that_count", "rows_and_price_share_a_unit")
def a_whole_number(sizes, A):
    return max(1, int(np.ceil(root(sizes, A))))


@wrong("rows_that_count", "company_never_lowers_h")
def median_of_the_sizes(sizes, A):
    return np.median(sizes) * A / (1 + A)


@wrong("rows_that_count", "company_never_lowers_h")
def typical_user(sizes, A):
    return root(np.full(len(sizes), np.mean(sizes)), A)


@wrong("rows_that_count", "the_rows_that_count_give_the_least_cost")
def best_limit_for_discarding(sizes, A):
    def cost(h):
        kept = np.minimum(sizes, h).sum()
        return (h / kept) ** 2 + A / kept

    return optimize.minimize_scalar(cost, bounds=(0, np.max(sizes)), method="bounded").x


@wrong("rows_that_count", "six_digits_are_right_at_every_price")
def five_digits_after_the_point(sizes, A):
    def excess(h):
        return h - A * np.maximum(0, 1 - h / sizes).sum()

    return optimize.bisect(excess, 0, np.max(sizes), xtol=1e-5)


@wrong("rows_that_count", "six_digits_are_right_at_every_price")
def a_fixed_point_that_may_not_be_reached(sizes, A):
    h = 1.0
    for _ in range(50):
        h = (h + A * np.maximum(0, 1 - h / sizes).sum()) / 2
    return min(max(h, 1e-3), 0.999 * np.max(sizes))


@wrong("rows_that_count", "six_digits_are_right_at_every_price")
def searched_up_to_a_hundred(sizes, A):
    return min(root(sizes, A), 100.0)


# --- gwa_problem ---------------------------------------------------------------------------------


def entries_of_users(C, users, tau):
    return [cp.sum(cp.abs(C[:, users == k])) / tau[k] for k in range(len(tau))]


def program(X, sigma2, scale, *, price=None, tie=True):
    C, b = cp.Variable(X.T.shape, name="C"), cp.Variable()
    noise = 2 * X.shape[1] * cp.square(b) if price is None else price(b, X.shape[1])
    limits = [moved <= b for moved in scale(C)] + [C @ X == np.eye(X.shape[1])] * tie
    return cp.Problem(cp.Minimize(sigma2 * cp.sum_squares(C) + noise), limits)


@wrong("gwa_problem", "two_users_are_dearer_as_one")
def hides_a_record(X, users, sigma2, tau):
    def scale(C):
        return [cp.norm1(C[:, i]) / tau[user] for i, user in enumerate(users)]

    return program(X, sigma2, scale)


@wrong("gwa_problem", "its_value_is_the_variance")
def half_the_variance_of_laplace(X, users, sigma2, tau):
    return program(
        X, sigma2, lambda C: entries_of_users(C, users, tau), price=lambda b, d: d * cp.square(b)
    )


@wrong("gwa_problem", "its_value_is_the_variance")
def noise_of_one_coordinate(X, users, sigma2, tau):
    return program(
        X, sigma2, lambda C: entries_of_users(C, users, tau), price=lambda b, d: 2 * cp.square(b)
    )


@wrong("gwa_problem", "its_value_is_the_variance")
def lengths_of_columns(X, users, sigma2, tau):
    def scale(C):
        return [
            sum(cp.norm2(C[:, i]) for i in np.flatnonzero(users == k)) / tau[k]
            for k in range(len(tau))
        ]

    return program(X, sigma2, scale)


@wrong("gwa_problem", "its_value_is_the_variance")
def each_coordinate_alone(X, users, sigma2, tau):
    def scale(C):
        return [
            cp.norm1(C[j, users == k]) / tau[k] for k in range(len(tau)) for j in range(len(X.T))
        ]

    return program(X, sigma2, scale)


@wrong("gwa_problem", "no_unbiased_matrix_is_better")
def all_users_at_once(X, users, sigma2, tau):
    return program(X, sigma2, lambda C: [sum(entries_of_users(C, users, tau))])


@wrong("gwa_problem", "twice_the_budgets_are_a_quarter_of_the_noise")
def budgets_upside_down(X, users, sigma2, tau):
    return program(X, sigma2, lambda C: entries_of_users(C, users, 1 / tau))


@wrong("gwa_problem", "twice_the_budgets_are_a_quarter_of_the_noise")
def scale_for_variance(X, users, sigma2, tau):
    return program(
        X, sigma2, lambda C: entries_of_users(C, users, tau), price=lambda b, d: 2 * d * b
    )


@wrong("gwa_problem", "budgets_without_end_give_least_squares")
def unbiased_by_penalty(X, users, sigma2, tau):
    plain = program(X, sigma2, lambda C: entries_of_users(C, users, tau), tie=False)
    bias = cp.sum_squares(plain.var_dict["C"] @ X - np.eye(X.shape[1]))
    return cp.Problem(cp.Minimize(plain.objective.expr + bias), plain.constraints)


@wrong("gwa_problem", "no_unbiased_matrix_is_better")
def product_of_variables(X, users, sigma2, tau):
    rate = cp.Variable(pos=True)
    C = cp.Variable(X.T.shape, name="C")
    limits = [moved * rate <= 1 for moved in entries_of_users(C, users, tau)]
    cost = sigma2 * cp.sum_squares(C) + 2 * X.shape[1] * cp.inv_pos(cp.square(rate))
    return cp.Problem(cp.Minimize(cost), [*limits, C @ X == np.eye(X.shape[1])])


@wrong("gwa_problem", "so_it_is_in_other_dimensions")
def two_coefficients_for_any_number(X, users, sigma2, tau):
    return program(
        X, sigma2, lambda C: entries_of_users(C, users, tau), price=lambda b, d: 4 * cp.square(b)
    )


@wrong("gwa_problem", "so_it_is_in_other_dimensions")
def the_first_user_forgotten(X, users, sigma2, tau):
    return program(X, sigma2, lambda C: entries_of_users(C, users, tau)[1:])


@wrong("gwa_problem", "its_value_is_the_variance")
def the_norm_of_a_matrix(X, users, sigma2, tau):
    """The 1-norm of a matrix is that of its heaviest column."""

    def scale(C):
        return [cp.norm(C[:, users == k], 1) / tau[k] for k in range(len(tau))]

    return program(X, sigma2, scale)


# --- cap_contributions ---------------------------------------------------------------------------


def ranked(users, place):
    """The place of each row among the rows of its user, by increasing `place`."""
    rank = np.empty(len(users), dtype=int)
    for user in np.unique(users):
        own = np.flatnonzero(users == user)
        rank[own[np.argsort(place[own], kind="stable")]] = np.arange(len(own))
    return rank


@wrong("cap_contributions", "the_generator_alone_decides")
def the_first_rows(users, m, rng):
    return ranked(users, np.arange(len(users))) < m


@wrong("cap_contributions", "every_choice_is_equally_likely")
def the_last_rows(users, m, rng):
    return ranked(users, -np.arange(len(users))) < m


@wrong("cap_contributions", "the_generator_alone_decides")
def a_seed_of_its_own(users, m, rng):
    return ranked(users, np.random.default_rng(0).random(len(users))) < m


@wrong("cap_contributions", "everybody_keeps_what_they_may")
def rows_overall(users, m, rng):
    kept = np.zeros(len(users), dtype=bool)
    kept[rng.choice(len(users), min(m, len(users)), replace=False)] = True
    return kept


@wrong("cap_contributions", "everybody_keeps_what_they_may")
def each_row_by_a_coin(users, m, rng):
    return rng.random(len(users)) < m / np.bincount(users)[users]


@wrong("cap_contributions", "everybody_keeps_what_they_may")
def with_replacement(users, m, rng):
    kept = np.zeros(len(users), dtype=bool)
    for user in np.unique(users):
        own = np.flatnonzero(users == user)
        kept[rng.choice(own, min(m, len(own)))] = True
    return kept


@wrong("cap_contributions", "everybody_keeps_what_they_may")
def small_users_left_out(users, m, rng):
    enough = np.bincount(users)[users] >= m
    return enough & (ranked(users, rng.random(len(users))) < m)


@wrong("cap_contributions", "every_choice_is_equally_likely")
def rows_in_a_run(users, m, rng):
    kept = np.zeros(len(users), dtype=bool)
    for user in np.unique(users):
        own = np.flatnonzero(users == user)
        start = rng.integers(max(1, len(own) - m + 1))
        kept[own[start : start + m]] = True
    return kept


@wrong("cap_contributions", "users_choose_apart")
def the_same_places_for_all(users, m, rng):
    place = rng.random(len(users))
    return ranked(users, place[ranked(users, np.arange(len(users)))]) < m


@wrong("cap_contributions", "no_place_in_the_table_is_better")
def digits_drawn_with_ties(users, m, rng):
    return ranked(users, rng.integers(0, 10, len(users))) < m


@wrong("cap_contributions", "every_choice_is_equally_likely")
def a_reservoir_with_a_fair_coin(users, m, rng):
    kept = np.zeros(len(users), dtype=bool)
    for user in np.unique(users):
        own = np.flatnonzero(users == user)
        chosen = own[:m].copy()
        for row in own[m:]:
            if rng.random() < 0.5:
                chosen[rng.integers(m)] = row
        kept[chosen] = True
    return kept


@wrong("cap_contributions", "owners_may_have_any_number")
def owners_counted_from_zero(users, m, rng):
    kept = np.zeros(len(users), dtype=bool)
    for user in range(len(np.unique(users))):
        kept[rng.permutation(np.flatnonzero(users == user))[:m]] = True
    return kept


# --- median_law ----------------------------------------------------------------------------------


def shares_at(y, users, grid):
    """Share of users below each point, and at most at it."""
    weight = 1 / np.bincount(users)[users] / (users.max() + 1)
    return (y < grid[:, None]) @ weight, (y <= grid[:, None]) @ weight


def gap(below, upto):
    return np.maximum(0, np.maximum(0.5 - upto, below - 0.5))


def law_of(score, rate):
    return special.softmax(-rate * np.asarray(score))


@wrong("median_law", "no_user_loses_more_than_epsilon")
def one_direction_of_the_score(y, users, grid, epsilon):
    return law_of(gap(*shares_at(y, users, grid)), epsilon * (users.max() + 1))


@wrong("median_law", "the_promise_is_used_up")
def two_factors_of_two(y, users, grid, epsilon):
    return law_of(gap(*shares_at(y, users, grid)), epsilon * (users.max() + 1) / 4)


@wrong("median_law", "a_tie_at_the_median_is_no_flaw")
def plain_score(y, users, grid, epsilon):
    score = np.abs(shares_at(y, users, grid)[1] - 0.5)
    return law_of(score, epsilon * (users.max() + 1) / 2)


@wrong("median_law", "left_and_right_are_alike")
def shares_below_alone(y, users, grid, epsilon):
    score = np.abs(shares_at(y, users, grid)[0] - 0.5)
    return law_of(score, epsilon * (users.max() + 1) / 2)


@wrong("median_law", "more_rows_are_no_more_say")
def median_of_records(y, users, grid, epsilon):
    score = gap((y < grid[:, None]).mean(axis=1), (y <= grid[:, None]).mean(axis=1))
    return law_of(score, epsilon * len(y) / 2)


@wrong("median_law", "half_of_the_rows_are_half_of_the_say")
def median_of_medians(y, users, grid, epsilon):
    own = np.array([np.median(y[users == user]) for user in range(users.max() + 1)])
    score = gap((own < grid[:, None]).mean(axis=1), (own <= grid[:, None]).mean(axis=1))
    return law_of(score, epsilon * len(own) / 2)


@wrong("median_law", "no_user_loses_more_than_epsilon")
def distance_from_the_median(y, users, grid, epsilon):
    return law_of(np.abs(grid - np.median(y)), epsilon / 2)


@wrong("median_law", "other_candidates_do_not_matter")
def length_of_the_cells(y, users, grid, epsilon):
    p = law_of(gap(*shares_at(y, users, grid)), epsilon * (users.max() + 1) / 2)
    p = p * np.gradient(grid, edge_order=1)
    return p / p.sum()


@wrong("median_law", "a_large_budget_is_no_underflow")
def plain_exponentials(y, users, grid, epsilon):
    p = np.exp(-epsilon * (users.max() + 1) / 2 * gap(*shares_at(y, users, grid)))
    return p / p.sum()


@wrong("median_law", "odds_are_as_the_scores_are")
def better_than_inside(y, users, grid, epsilon):
    below, upto = shares_at(y, users, grid)
    return law_of(np.maximum(0.5 - upto, below - 0.5), epsilon * (users.max() + 1) / 2)


@wrong("median_law", "odds_are_as_the_scores_are")
def values_drawn_to_the_ends_of_the_grid(y, users, grid, epsilon):
    score = gap(*shares_at(np.clip(y, grid[0], grid[-1]), users, grid))
    return law_of(score, epsilon * (users.max() + 1) / 2)


@wrong("median_law", "odds_are_as_the_scores_are")
def below_is_at_most_at_the_point_before(y, users, grid, epsilon):
    upto = shares_at(y, users, grid)[1]
    return law_of(gap(np.append(0, upto[:-1]), upto), epsilon * (users.max() + 1) / 2)


@wrong("median_law", "odds_are_as_the_scores_are")
def nobody_is_impossible(y, users, grid, epsilon):
    p = law_of(gap(*shares_at(y, users, grid)), epsilon * (users.max() + 1) / 2) + 1e-12
    return p / p.sum()


# --- user_epsilon --------------------------------------------------------------------------------


def gaussian_delta(epsilon, mu):
    first = stats.norm.logcdf(mu / 2 - epsilon / mu)
    second = epsilon + stats.norm.logcdf(-mu / 2 - epsilon / mu)
    return np.exp(first) * -np.expm1(second - first)


def shift_of(epsilon, delta):
    return optimize.brentq(lambda mu: gaussian_delta(epsilon, mu) - delta, 1e-3, 40, xtol=1e-13)


@wrong("user_epsilon", "the_excess_is_delta")
def as_promised_to_records(rows, epsilon, delta):
    return epsilon


@wrong("user_epsilon", "the_excess_is_delta")
def a_budget_for_each_row(rows, epsilon, delta):
    return rows * epsilon


@wrong("user_epsilon", "the_loss_grows_faster_than_the_rows")
def root_of_the_rows(rows, epsilon, delta):
    return np.sqrt(rows) * epsilon


@wrong("user_epsilon", "the_excess_is_delta")
def square_of_the_rows(rows, epsilon, delta):
    return rows**2 * epsilon


@wrong("user_epsilon", "the_excess_is_delta")
def concentrated_accounting(rows, epsilon, delta):
    rho = (np.sqrt(epsilon + np.log(1 / delta)) - np.sqrt(np.log(1 / delta))) ** 2
    rho *= rows**2
    return rho + 2 * np.sqrt(rho * np.log(1 / delta))


@wrong("user_epsilon", "six_rows_are_twice_three")
def tail_of_the_loss_alone(rows, epsilon, delta):
    mu = rows * shift_of(epsilon, delta)
    return mu**2 / 2 + mu * stats.norm.isf(delta)


@wrong("user_epsilon", "the_excess_is_delta")
def noise_of_the_classical_formula(rows, epsilon, delta):
    mu = rows * epsilon / np.sqrt(2 * np.log(1.25 / delta))
    top = mu**2 / 2 + 40 * mu
    return optimize.brentq(lambda e: gaussian_delta(e, mu) - delta, 0, top)


@wrong("user_epsilon", "a_thousand_rows_are_no_overflow")
def exponentials_of_large_losses(rows, epsilon, delta):
    mu, low = rows * shift_of(epsilon, delta), 0.0
    high = mu**2 / 2 + 40 * mu
    for _ in range(100):
        e = (low + high) / 2
        tail = np.exp(e) * stats.norm.cdf(-mu / 2 - e / mu)
        enough = stats.norm.cdf(mu / 2 - e / mu) - tail <= delta
        low, high = (low, e) if enough else (e, high)
    return high


@wrong("user_epsilon", "the_excess_is_delta")
def square_root_of_the_rows(rows, epsilon, delta):
    mu = np.sqrt(rows) * shift_of(epsilon, delta)
    return optimize.brentq(lambda e: gaussian_delta(e, mu) - delta, 0, mu**2 / 2 + 20 * mu)


@wrong("user_epsilon", "the_excess_is_delta")
def by_concentrated_privacy(rows, epsilon, delta):
    nats = np.log(1 / delta)
    rho = rows**2 * (np.sqrt(nats + epsilon) - np.sqrt(nats)) ** 2
    return rho + 2 * np.sqrt(rho * nats)
