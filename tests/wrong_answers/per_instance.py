"""Wrong answers to the exercises on per-instance privacy."""

import numpy as np
from scipy import stats

from pdpbook.per_instance import ops_epsilon
from wrong_answers import Answers

wrong = Answers()


def hessian(X, lam):
    return X.T @ X + lam * np.eye(X.shape[1])


def leverages_in(X, lam):
    return np.einsum("ij,ij->i", X, np.linalg.solve(hessian(X, lam), X.T).T)


def ridge(X, y, lam):
    return np.linalg.solve(hessian(X, lam), X.T @ y)


# --- leverages -----------------------------------------------------------------------------------


@wrong("leverages", "together_they_count_directions")
def penalty_missing(X, lam):
    return np.einsum("ij,ij->i", X, np.linalg.solve(X.T @ X, X.T).T)


@wrong("leverages", "who_leaves_takes_volume_along")
def against_the_others(X, lam):
    h = leverages_in(X, lam)
    return h / (1 - h)


@wrong("leverages", "two_copies_share")
def penalty_times_n(X, lam):
    return leverages_in(X, lam * len(X))


@wrong("leverages", "two_copies_share")
def length_and_not_square(X, lam):
    return np.sqrt(leverages_in(X, lam))


@wrong("leverages", "axes_may_be_turned")
def column_by_column(X, lam):
    return np.sum(X**2 / (np.sum(X**2, axis=0) + lam), axis=1) / X.shape[1]


@wrong("leverages", "together_they_count_directions")
def share_of_all_squares(X, lam):
    return np.sum(X**2, axis=1) / (np.sum(X**2) + lam)


@wrong("leverages", "rows_are_left_alone")
def rows_scaled_in_place(X, lam):
    X /= np.sqrt(lam)
    return leverages_in(X, 1.0)


# --- fits_without_each ---------------------------------------------------------------------------


def corrected(X, y, lam, factor):
    theta, h = ridge(X, y, lam), leverages_in(X, lam)
    moves = np.linalg.solve(hessian(X, lam), X.T).T * (y - X @ theta)[:, None]
    return theta + factor(h)[:, None] * moves


@wrong("fits_without_each", "who_is_out_has_no_say")
def one_step_without_leverage(X, y, lam):
    return corrected(X, y, lam, lambda h: -np.ones(len(h)))


@wrong("fits_without_each", "each_row_is_the_minimum_for_the_others")
def wrong_sign(X, y, lam):
    return corrected(X, y, lam, lambda h: 1 / (1 - h))


@wrong("fits_without_each", "who_is_out_has_no_say")
def one_plus_leverage(X, y, lam):
    return corrected(X, y, lam, lambda h: -1 / (1 + h))


@wrong("fits_without_each", "each_row_is_the_minimum_for_the_others")
def leverage_against_the_others(X, y, lam):
    return corrected(X, y, lam, lambda h: -1 / (1 - h / (1 - h)))


@wrong("fits_without_each", "who_agrees_is_not_missed")
def only_the_label_is_taken_out(X, y, lam):
    return np.linalg.solve(hessian(X, lam), (X.T @ y)[:, None] - X.T * y).T


@wrong("fits_without_each", "each_row_is_the_minimum_for_the_others")
def penalty_shrinks_with_the_others(X, y, lam):
    n = len(y)
    rest = (np.arange(n) != i for i in range(n))
    return np.array([ridge(X[keep], y[keep], lam * (n - 1) / n) for keep in rest])


@wrong("fits_without_each", "everybody_else_is_always_there")
def nobody_comes_back(X, y, lam):
    H, b, fits = hessian(X, lam), X.T @ y, []
    for x, label in zip(X, y, strict=True):
        H, b = H - np.outer(x, x), b - label * x
        fits.append(np.linalg.solve(H, b))
    return np.array(fits)


# --- loss_at_release -----------------------------------------------------------------------------


def half_squares(theta, X, y, lam, gamma):
    H = hessian(X, lam)
    off = theta - ridge(X, y, lam)
    return gamma * np.einsum("mi,ij,mj->m", off, H, off) / 2


def half_log_det(X, lam):
    return np.linalg.slogdet(hessian(X, lam))[1] / 2


def without(X, y, i):
    return np.delete(X, i, axis=0), np.delete(y, i)


@wrong("loss_at_release", "losses_turn_one_law_into_the_other")
def determinants_lost(theta, X, y, i, lam, gamma):
    A, b = without(X, y, i)
    return half_squares(theta, X, y, lam, gamma) - half_squares(theta, A, b, lam, gamma)


@wrong("loss_at_release", "only_their_own_prediction_tells")
def precision_for_covariance(theta, X, y, i, lam, gamma):
    A, b = without(X, y, i)
    P = stats.multivariate_normal(ridge(A, b, lam), gamma * hessian(A, lam))
    Q = stats.multivariate_normal(ridge(X, y, lam), gamma * hessian(X, lam))
    return P.logpdf(theta) - Q.logpdf(theta)


@wrong("loss_at_release", "losses_turn_one_law_into_the_other")
def half_forgotten(theta, X, y, i, lam, gamma):
    A, b = without(X, y, i)
    squares = half_squares(theta, X, y, lam, gamma) - half_squares(theta, A, b, lam, gamma)
    return 2 * squares + half_log_det(A, lam) - half_log_det(X, lam)


@wrong("loss_at_release", "it_compares_the_two_densities")
def gamma_in_one_of_two_places(theta, X, y, i, lam, gamma):
    A, b = without(X, y, i)
    mu = X[i] @ np.linalg.solve(hessian(A, lam), X[i])
    r = y[i] - X[i] @ ridge(A, b, lam)
    return (gamma * (y[i] - theta @ X[i]) ** 2 - np.log1p(mu) - r**2 / (1 + mu)) / 2


@wrong("loss_at_release", "it_compares_the_two_densities")
def gamma_forgotten(theta, X, y, i, lam, gamma):
    A, b = without(X, y, i)
    squares = half_squares(theta, X, y, lam, 1) - half_squares(theta, A, b, lam, 1)
    return squares + half_log_det(A, lam) - half_log_det(X, lam)


@wrong("loss_at_release", "it_compares_the_two_densities")
def gamma_as_a_variance(theta, X, y, i, lam, gamma):
    return gamma_forgotten(theta / np.sqrt(gamma), X, y / np.sqrt(gamma), i, lam, 1)


@wrong("loss_at_release", "a_perfect_fit_points_at_the_person")
def with_over_without(theta, X, y, i, lam, gamma):
    return -determinants_lost(theta, X, y, i, lam, gamma) - (
        half_log_det(without(X, y, i)[0], lam) - half_log_det(X, lam)
    )


@wrong("loss_at_release", "a_perfect_fit_points_at_the_person")
def one_covariance_for_both(theta, X, y, i, lam, gamma):
    A, b = without(X, y, i)
    covariance = np.linalg.inv(gamma * hessian(X, lam))
    P = stats.multivariate_normal(ridge(A, b, lam), covariance)
    Q = stats.multivariate_normal(ridge(X, y, lam), covariance)
    return P.logpdf(theta) - Q.logpdf(theta)


@wrong("loss_at_release", "it_compares_the_two_densities")
def leverage_as_a_participant(theta, X, y, i, lam, gamma):
    h = leverages_in(X, lam)[i]
    e = y[i] - X[i] @ ridge(X, y, lam)
    return (gamma * (y[i] - theta @ X[i]) ** 2 - np.log1p(h) - gamma * e**2 / (1 + h)) / 2


def losses_by(theta, X, y, i, lam, gamma, ratio):
    """The loss, with the logarithm of the ratio of determinants from elsewhere."""
    A, b = np.delete(X, i, axis=0), np.delete(y, i)
    off, on = theta - ridge(A, b, lam), theta - ridge(X, y, lam)
    H, G = hessian(A, lam), hessian(X, lam)
    return (ratio(H, G) + gamma * (np.sum(on @ G * on, axis=1) - np.sum(off @ H * off, axis=1))) / 2


@wrong("loss_at_release", "many_features_are_no_overflow")
def determinants_that_overflow(theta, X, y, i, lam, gamma):
    def ratio(H, G):
        return np.log(np.linalg.det(gamma * H) / np.linalg.det(gamma * G))

    return losses_by(theta, X, y, i, lam, gamma, ratio)


@wrong("loss_at_release", "many_features_are_no_overflow")
def seven_hundred_nats_at_most(theta, X, y, i, lam, gamma):
    def ratio(H, G):
        return np.linalg.slogdet(H)[1] - np.linalg.slogdet(G)[1]

    return np.clip(losses_by(theta, X, y, i, lam, gamma, ratio), -700, 700)


# --- delta_both_ways -----------------------------------------------------------------------------


def two_laws(leverage, residual):
    return (
        stats.norm(residual, np.sqrt(leverage)),
        stats.norm(residual / (1 + leverage), np.sqrt(leverage / (1 + leverage))),
    )


def ends(epsilon, leverage, residual):
    K = np.log1p(leverage) + residual**2 / (1 + leverage)
    return np.sqrt(K + 2 * epsilon), np.sqrt(max(0.0, K - 2 * epsilon))


def inside(law, w):
    return law.cdf(w) - law.cdf(-w)


def right(epsilon, leverage, residual):
    P, Q = two_laws(leverage, residual)
    far, near = ends(epsilon, leverage, residual)
    e = np.exp(epsilon)
    add = 1 - inside(P, far) - e * (1 - inside(Q, far))
    return add, inside(Q, near) - e * inside(P, near)


@wrong("delta_both_ways", "the_directions_end_differently")
def one_direction_twice(epsilon, leverage, scaled_residual):
    add, _ = right(epsilon, leverage, scaled_residual)
    return add, add


@wrong("delta_both_ways", "no_event_exceeds_by_more")
def directions_swapped(epsilon, leverage, scaled_residual):
    return right(epsilon, leverage, scaled_residual)[::-1]


@wrong("delta_both_ways", "no_event_exceeds_by_more")
def upper_tail_alone(epsilon, leverage, scaled_residual):
    P, Q = two_laws(leverage, scaled_residual)
    far, near = ends(epsilon, leverage, scaled_residual)
    e = np.exp(epsilon)
    return P.sf(far) - e * Q.sf(far), max(0.0, Q.cdf(near) - e * P.cdf(near))


@wrong("delta_both_ways", "at_zero_it_is_the_distance")
def tail_of_the_loss(epsilon, leverage, scaled_residual):
    P, Q = two_laws(leverage, scaled_residual)
    far, near = ends(epsilon, leverage, scaled_residual)
    return 1 - inside(P, far), inside(Q, near)


@wrong("delta_both_ways", "no_event_exceeds_by_more")
def mean_loss_and_no_tail(epsilon, leverage, scaled_residual):
    mu, rho = leverage, scaled_residual
    forth = (mu + rho**2 * mu / (1 + mu) - np.log1p(mu)) / 2
    inner = mu / (1 + mu)
    back = (np.log1p(mu) - inner + (rho / (1 + mu)) ** 2 * mu) / 2
    return tuple(np.sqrt(np.clip(kl - epsilon, 0, 2) / 2) for kl in (forth, back))


@wrong("delta_both_ways", "no_event_exceeds_by_more")
def a_shift_and_no_change_of_shape(epsilon, leverage, scaled_residual):
    shift = scaled_residual * np.sqrt(leverage) / (1 + leverage)
    cut = epsilon / shift
    delta = stats.norm.cdf(shift / 2 - cut) - np.exp(epsilon) * stats.norm.cdf(-shift / 2 - cut)
    return delta, delta


@wrong("delta_both_ways", "with_little_leverage_it_is_a_shift")
def leverage_as_a_deviation(epsilon, leverage, scaled_residual):
    e = np.exp(epsilon)
    P = stats.norm(scaled_residual, leverage)
    Q = stats.norm(scaled_residual / (1 + leverage), leverage / (1 + leverage))
    grid = np.linspace(Q.mean() - 9 * P.std(), P.mean() + 9 * P.std(), 20001)
    p, q = P.pdf(grid), Q.pdf(grid)
    step = grid[1] - grid[0]
    return np.maximum(p - e * q, 0).sum() * step, np.maximum(q - e * p, 0).sum() * step


@wrong("delta_both_ways", "no_event_exceeds_by_more")
def distance_whatever_epsilon(epsilon, leverage, scaled_residual):
    return right(0.0, leverage, scaled_residual)


def exact(epsilon, leverage, residual):
    """Both deltas, by the two laws of v."""
    p = stats.norm(residual, np.sqrt(leverage))
    q = stats.norm(residual / (1 + leverage), np.sqrt(leverage / (1 + leverage)))
    K = residual**2 / (1 + leverage) + np.log1p(leverage)
    r, s = np.sqrt(K + 2 * epsilon), np.sqrt(max(0, K - 2 * epsilon))
    add, less = (law.sf(r) + law.cdf(-r) for law in (p, q))
    more, remove = (law.cdf(s) - law.cdf(-s) for law in (p, q))
    return add - np.exp(epsilon) * less, remove - np.exp(epsilon) * more


@wrong("delta_both_ways", "no_event_exceeds_by_more")
def no_residual_no_loss(epsilon, leverage, residual):
    return exact(epsilon, leverage, residual) if residual > 0 else (0.0, 0.0)


@wrong("delta_both_ways", "no_event_exceeds_by_more")
def squared_above_a_nat(epsilon, leverage, residual):
    return exact(epsilon**2 if epsilon > 1 else epsilon, leverage, residual)


# --- most_exposed_people -------------------------------------------------------------------------


def numbers(X, y, lam):
    h = leverages_in(X, lam)
    return h / (1 - h), np.abs(y - X @ ridge(X, y, lam)) / (1 - h)


@wrong("most_exposed_people", "an_odd_answer_may_tell_more_than_a_far_row")
def leverage_alone(X, y, lam, gamma, delta, k):
    return np.argsort(-leverages_in(X, lam))[:k]


@wrong("most_exposed_people", "a_row_near_zero_hides_any_answer")
def residual_alone(X, y, lam, gamma, delta, k):
    return np.argsort(-numbers(X, y, lam)[1])[:k]


@wrong("most_exposed_people", "an_odd_answer_may_tell_more_than_a_far_row")
def worst_label_for_everybody(X, y, lam, gamma, delta, k):
    leverage, _ = numbers(X, y, lam)
    worst = 1 + np.sqrt(len(y) / lam) / 2
    return np.argsort(-ops_epsilon(delta, leverage, np.sqrt(gamma) * worst))[:k]


@wrong("most_exposed_people", "nobody_else_loses_more")
def numbers_of_participants(X, y, lam, gamma, delta, k):
    h, e = leverages_in(X, lam), np.abs(y - X @ ridge(X, y, lam))
    return np.argsort(-ops_epsilon(delta, h, np.sqrt(gamma) * e))[:k]


@wrong("most_exposed_people", "rows_alone_tell_where_labels_drown")
def length_of_the_move(X, y, lam, gamma, delta, k):
    leverage, residual = numbers(X, y, lam)
    return np.argsort(-np.sqrt(leverage) * residual / (1 + leverage))[:k]


@wrong("most_exposed_people", "nobody_else_loses_more")
def gamma_without_its_root(X, y, lam, gamma, delta, k):
    leverage, residual = numbers(X, y, lam)
    return np.argsort(-ops_epsilon(delta, leverage, gamma * residual))[:k]


@wrong("most_exposed_people", "nobody_else_loses_more")
def in_the_order_of_the_file(X, y, lam, gamma, delta, k):
    leverage, residual = numbers(X, y, lam)
    loss = ops_epsilon(delta, leverage, np.sqrt(gamma) * residual)
    return np.sort(np.argsort(-loss)[:k])


@wrong("most_exposed_people", "nobody_else_loses_more")
def least_exposed(X, y, lam, gamma, delta, k):
    leverage, residual = numbers(X, y, lam)
    return np.argsort(ops_epsilon(delta, leverage, np.sqrt(gamma) * residual))[:k]


@wrong("most_exposed_people", "what_they_would_do_to_the_fit_is_no_guess")
def residuals_corrected_twice(X, y, lam, gamma, delta, k):
    h = leverages_in(X, lam)
    r = np.abs(y - X @ ridge(X, y, lam)) / (1 - h) ** 2
    return np.argsort(-ops_epsilon(delta, h / (1 - h), np.sqrt(gamma) * r))[:k]


@wrong("most_exposed_people", "the_data_are_left_alone")
def residuals_in_place_of_labels(X, y, lam, gamma, delta, k):
    h = leverages_in(X, lam)
    y -= X @ ridge(X, y, lam)
    r = np.abs(y) / (1 - h)
    return np.argsort(-ops_epsilon(delta, h / (1 - h), np.sqrt(gamma) * r))[:k]


# --- private_eigenvalue_bound --------------------------------------------------------------------


def smallest(X):
    return np.linalg.eigvalsh(X.T @ X)[0]


@wrong("private_eigenvalue_bound", "it_is_wrong_as_often_as_allowed")
def no_downward_shift(X, epsilon, beta, rng):
    return max(0.0, smallest(X) + rng.laplace(0, 1 / epsilon))


@wrong("private_eigenvalue_bound", "it_is_wrong_as_often_as_allowed")
def two_sided_caution(X, epsilon, beta, rng):
    return max(0.0, smallest(X) + (rng.laplace() - np.log(1 / beta)) / epsilon)


@wrong("private_eigenvalue_bound", "it_is_wrong_as_often_as_allowed")
def shift_without_the_budget(X, epsilon, beta, rng):
    return max(0.0, smallest(X) + rng.laplace(0, 1 / epsilon) - np.log(1 / (2 * beta)))


@wrong("private_eigenvalue_bound", "it_is_wrong_as_often_as_allowed")
def shifted_upward(X, epsilon, beta, rng):
    return max(0.0, smallest(X) + (rng.laplace() + np.log(1 / (2 * beta))) / epsilon)


@wrong("private_eigenvalue_bound", "noise_spends_the_budget")
def scale_epsilon(X, epsilon, beta, rng):
    return max(0.0, smallest(X) + epsilon * (rng.laplace() - np.log(1 / (2 * beta))))


@wrong("private_eigenvalue_bound", "noise_spends_the_budget")
def noise_for_replacing(X, epsilon, beta, rng):
    return max(0.0, smallest(X) + 2 * (rng.laplace() - np.log(1 / (2 * beta))) / epsilon)


@wrong("private_eigenvalue_bound", "noise_spends_the_budget")
def normal_noise(X, epsilon, beta, rng):
    return max(0.0, smallest(X) + (rng.normal() + stats.norm.ppf(beta)) / epsilon)


@wrong("private_eigenvalue_bound", "a_huge_budget_leaves_the_eigenvalue")
def singular_value_of_the_rows(X, epsilon, beta, rng):
    value = np.linalg.svd(X, compute_uv=False)[-1]
    return max(0.0, value + (rng.laplace() - np.log(1 / (2 * beta))) / epsilon)


@wrong("private_eigenvalue_bound", "a_huge_budget_leaves_the_eigenvalue")
def eigenvalue_of_the_mean(X, epsilon, beta, rng):
    value = smallest(X) / len(X)
    return max(0.0, value + (rng.laplace() - np.log(1 / (2 * beta))) / epsilon)


@wrong("private_eigenvalue_bound", "one_person_moves_it_by_one_at_most")
def noise_for_the_rows_that_are_here(X, epsilon, beta, rng):
    scale = np.max(np.sum(X**2, axis=1)) / epsilon
    return max(0.0, smallest(X) + scale * (rng.laplace() - np.log(1 / (2 * beta))))


@wrong("private_eigenvalue_bound", "noise_is_not_a_thirtieth_too_short")
def noise_five_percent_too_short(X, epsilon, beta, rng):
    shift = np.log(1 / (2 * beta)) / epsilon
    return max(0.0, smallest(X) + 0.95 * rng.laplace(0, 1 / epsilon) - shift)


@wrong("private_eigenvalue_bound", "noise_is_not_a_thirtieth_too_short")
def budget_five_percent_overspent(X, epsilon, beta, rng):
    spent = 1.05 * epsilon
    return max(0.0, smallest(X) + rng.laplace(0, 1 / spent) - np.log(1 / (2 * beta)) / spent)


@wrong("private_eigenvalue_bound", "noise_has_the_law_of_laplace")
def normal_noise_of_the_same_variance(X, epsilon, beta, rng):
    law = stats.norm(scale=np.sqrt(2) / epsilon)
    return max(0.0, smallest(X) + rng.normal(0, law.std()) - law.isf(beta))


@wrong("private_eigenvalue_bound", "noise_is_not_a_thirtieth_too_short")
def noise_three_percent_too_short(X, epsilon, beta, rng):
    shift = np.log(1 / (2 * beta)) / epsilon
    return max(0.0, smallest(X) + 0.97 * rng.laplace(0, 1 / epsilon) - shift)


@wrong("private_eigenvalue_bound", "a_huge_budget_leaves_the_eigenvalue")
def singular_values_of_few_people(X, epsilon, beta, rng):
    value = np.linalg.svd(X, compute_uv=False)[-1] ** 2
    return max(0.0, value + (rng.laplace() - np.log(1 / (2 * beta))) / epsilon)


@wrong("private_eigenvalue_bound", "a_huge_budget_leaves_the_eigenvalue")
def the_last_eigenvalue(X, epsilon, beta, rng):
    value = np.linalg.eigvals(X.T @ X)[-1].real
    return max(0.0, value + (rng.laplace() - np.log(1 / (2 * beta))) / epsilon)


@wrong("private_eigenvalue_bound", "it_is_wrong_as_often_as_allowed")
def cut_off_before_the_noise(X, epsilon, beta, rng):
    value = max(0.0, smallest(X) - np.log(1 / (2 * beta)) / epsilon)
    return max(0.0, value + rng.laplace(0, 1 / epsilon))


@wrong("private_eigenvalue_bound", "it_is_wrong_as_often_as_allowed")
def zero_without_noise(X, epsilon, beta, rng):
    value = smallest(X)
    bound = value + (rng.laplace() - np.log(1 / (2 * beta))) / epsilon
    return max(0.0, bound) if value > 1e-9 else 0.0


@wrong("private_eigenvalue_bound", "it_is_wrong_as_often_as_allowed")
def the_sign_dropped(X, epsilon, beta, rng):
    return abs(smallest(X) + (rng.laplace() - np.log(1 / (2 * beta))) / epsilon)


@wrong("private_eigenvalue_bound", "noise_has_the_law_of_laplace")
def noise_on_each_eigenvalue(X, epsilon, beta, rng):
    values = np.linalg.eigvalsh(X.T @ X) + rng.laplace(0, 1 / epsilon, X.shape[1])
    return max(0.0, values.min() - np.log(1 / (2 * beta)) / epsilon)


@wrong("private_eigenvalue_bound", "noise_has_the_law_of_laplace")
def no_more_than_the_people_allow(X, epsilon, beta, rng):
    bound = smallest(X) + (rng.laplace() - np.log(1 / (2 * beta))) / epsilon
    return min(len(X) / X.shape[1], max(0.0, bound))


@wrong("private_eigenvalue_bound", "noise_has_the_law_of_laplace")
def noise_cut_off(X, epsilon, beta, rng):
    noise = np.clip(rng.laplace(), -4, 4)
    return max(0.0, smallest(X) + (noise - np.log(1 / (2 * beta))) / epsilon)


# --- accuse --------------------------------------------------------------------------------------


def outsider(X, y, x, label, lam):
    leverage = x @ np.linalg.solve(hessian(X, lam), x)
    return leverage, label - x @ ridge(X, y, lam)


@wrong("accuse", "false_alarms_are_as_frequent_as_stated")
def the_likelier_of_two(theta, X, y, x, label, lam, gamma, alarm):
    leverage, r = outsider(X, y, x, label, lam)
    K = np.log1p(leverage) + gamma * r**2 / (1 + leverage)
    return gamma * (label - theta @ x) ** 2 < K


@wrong("accuse", "who_is_spared_looks_more_innocent")
def one_side_of_the_prediction(theta, X, y, x, label, lam, gamma, alarm):
    leverage, r = outsider(X, y, x, label, lam)
    v = np.sign(r) * np.sqrt(gamma) * (label - theta @ x)
    return v < stats.norm.ppf(alarm, np.sqrt(gamma) * abs(r), np.sqrt(leverage))


@wrong("accuse", "who_is_spared_looks_more_innocent")
def whoever_fits_badly(theta, X, y, x, label, lam, gamma, alarm):
    leverage, r = outsider(X, y, x, label, lam)
    limit = leverage * stats.ncx2.isf(alarm, 1, gamma * r**2 / leverage)
    return gamma * (label - theta @ x) ** 2 > limit


@wrong("accuse", "false_alarms_are_as_frequent_as_stated")
def residual_forgotten_in_the_threshold(theta, X, y, x, label, lam, gamma, alarm):
    leverage, _ = outsider(X, y, x, label, lam)
    return gamma * (label - theta @ x) ** 2 < leverage * stats.chi2.ppf(alarm, 1)


@wrong("accuse", "false_alarms_are_as_frequent_as_stated")
def threshold_from_those_who_took_part(theta, X, y, x, label, lam, gamma, alarm):
    leverage, r = outsider(X, y, x, label, lam)
    inner, rest = leverage / (1 + leverage), r / (1 + leverage)
    limit = inner * stats.ncx2.ppf(alarm, 1, gamma * rest**2 / inner)
    return gamma * (label - theta @ x) ** 2 < limit


@wrong("accuse", "false_alarms_are_as_frequent_as_stated")
def gamma_forgotten_in_the_threshold(theta, X, y, x, label, lam, gamma, alarm):
    leverage, r = outsider(X, y, x, label, lam)
    return (label - theta @ x) ** 2 < leverage * stats.ncx2.ppf(alarm, 1, r**2 / leverage)


@wrong("accuse", "who_is_spared_looks_more_innocent")
def close_to_the_fit_with_them(theta, X, y, x, label, lam, gamma, alarm):
    A, b = np.vstack([X, x]), np.append(y, label)
    off = theta - ridge(A, b, lam)
    squares = gamma * np.einsum("mi,ij,mj->m", off, hessian(A, lam), off)
    return squares < stats.chi2.ppf(alarm, len(x))


@wrong("accuse", "nobody_convicts_more_often")
def the_first_coefficient_alone(theta, X, y, x, label, lam, gamma, alarm):
    spread = np.sqrt(np.linalg.inv(hessian(X, lam))[0, 0] / gamma)
    return theta[:, 0] < stats.norm.ppf(alarm, ridge(X, y, lam)[0], spread)


@wrong("accuse", "false_alarms_are_as_frequent_as_stated")
def every_second_innocent_at_most(theta, X, y, x, label, lam, gamma, alarm):
    leverage, r = outsider(X, y, x, label, lam)
    v = gamma * (label - theta @ x) ** 2 / leverage
    return v <= stats.ncx2.ppf(min(alarm, 0.5), 1, gamma * r**2 / leverage)
