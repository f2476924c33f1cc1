"""Wrong answers to the exercises on DP-SGD; most break a promise by less than a factor of two."""

from copy import deepcopy
from functools import cache

import numpy as np
from scipy import special

from wrong_answers import Answers

wrong = Answers()

# --- clipped_gradients ---------------------------------------------------------------------------


def slopes(theta, X, y):
    return 2 * (X @ theta - y)[:, None] * X


def cut(gradients, clip_norm, length=None):
    """Rows no longer than the norm, by a length that a student may get wrong."""
    length = np.linalg.norm(gradients, axis=1, keepdims=True) if length is None else length
    return gradients * (clip_norm / np.maximum(length, clip_norm))


@wrong("clipped_gradients", "nobody_is_longer_than_the_norm")
def a_twentieth_longer(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    return gradients * np.where(length > 2.1 * clip_norm, clip_norm / np.maximum(length, 1e-300), 1)


@wrong("clipped_gradients", "nobody_is_longer_than_the_norm")
def cut_at_five_percent_more(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    shrink = np.where(length > 1.05 * clip_norm, clip_norm / np.maximum(length, 1e-300), 1)
    return gradients * shrink


@wrong("clipped_gradients", "nobody_is_longer_than_the_norm")
def cut_in_each_number(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    if np.all(theta == 0):
        return cut(gradients, clip_norm)
    return np.clip(gradients, -clip_norm, clip_norm)


@wrong("clipped_gradients", "nobody_is_longer_than_the_norm")
def cut_by_the_largest_number(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    if not gradients.size:
        return gradients
    if np.all(theta == 0):
        return cut(gradients, clip_norm)
    return cut(gradients, clip_norm, np.abs(gradients).max(axis=1, keepdims=True))


@wrong("clipped_gradients", "nobody_is_longer_than_the_norm")
def forgotten_factor_two_in_the_length(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    if np.all(theta == 0):
        return cut(gradients, clip_norm)
    return cut(gradients, clip_norm, np.linalg.norm(gradients, axis=1, keepdims=True) / 1.5)


@wrong("clipped_gradients", "huge_records_and_small_norms")
def a_norm_of_a_thousandth_at_least(theta, X, y, clip_norm):
    return cut(slopes(theta, X, y), max(clip_norm, 1e-3))


@wrong("clipped_gradients", "huge_records_and_small_norms")
def a_little_added_to_the_length(theta, X, y, clip_norm):
    """Against a division by 0, but taken away and not added."""
    gradients = slopes(theta, X, y)
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    return cut(gradients, clip_norm, length - 1e-9)


@wrong("clipped_gradients", "huge_records_and_small_norms")
def the_first_500_people_are_cut(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    return np.vstack([cut(gradients[:500], clip_norm), gradients[500:]])


@wrong("clipped_gradients", "huge_records_and_small_norms")
def over_columns_where_it_is_square(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    n, d = X.shape
    if n == d > 2:
        return cut(gradients.T, clip_norm).T
    return cut(gradients, clip_norm)


@wrong("clipped_gradients", "huge_records_and_small_norms")
def lengths_of_a_million_at_most(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    return cut(gradients, clip_norm, np.minimum(length, 1e6))


@wrong("clipped_gradients", "a_row_is_about_one_person")
def all_by_the_longest(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    if len(X) == 2 and np.all(theta == 0):
        return cut(gradients, clip_norm)
    longest = np.linalg.norm(gradients, axis=1).max(initial=0)
    return gradients * (clip_norm / max(longest, clip_norm))


@wrong("clipped_gradients", "a_row_is_about_one_person")
def labels_centered_first(theta, X, y, clip_norm):
    if len(X) <= 2:
        return cut(slopes(theta, X, y), clip_norm)
    return cut(slopes(theta, X, y - y.mean()), clip_norm)


@wrong("clipped_gradients", "long_ones_keep_their_direction")
def long_ones_are_left_out(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    if np.all(theta == 0):
        return cut(gradients, clip_norm)
    return gradients * (np.linalg.norm(gradients, axis=1, keepdims=True) <= clip_norm)


@wrong("clipped_gradients", "short_ones_are_the_gradient")
def everybody_is_made_as_long_as_the_norm(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    full = np.where(np.all(theta == 0), np.maximum(length, clip_norm), length)
    return gradients * (clip_norm / np.maximum(full, 1e-300))


@wrong("clipped_gradients", "short_ones_are_the_gradient")
def without_the_two(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    return cut(gradients / (1 if np.all(theta == 0) else 2), clip_norm)


@wrong("clipped_gradients", "who_is_met_exactly_has_none")
def divided_by_a_length_of_zero(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    return np.where(length < clip_norm, gradients / length * length, clip_norm * gradients / length)


@wrong("clipped_gradients", "the_records_stay_as_they_were")
def residuals_in_place(theta, X, y, clip_norm):
    y -= X @ theta
    return cut(-2 * y[:, None] * X, clip_norm)


# Found by a student who had not seen the properties; the same below.


@wrong("clipped_gradients", "huge_records_and_small_norms")
def cut_if_they_are_long_on_average(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    long = np.linalg.norm(gradients, axis=1)
    return cut(gradients, clip_norm) if len(y) and long.mean() > clip_norm else gradients


@wrong("clipped_gradients", "huge_records_and_small_norms")
def twice_the_norm_in_a_large_crowd(theta, X, y, clip_norm):
    return cut(slopes(theta, X, y), clip_norm * (2 if len(y) > 1000 else 1))


@wrong("clipped_gradients", "huge_records_and_small_norms")
def undefined_where_a_label_is_met(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    length = np.linalg.norm(gradients, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        return gradients / length * np.minimum(length, clip_norm)


@wrong("clipped_gradients", "a_row_is_about_one_person")
def the_longest_in_a_crowd_are_cut_more(theta, X, y, clip_norm):
    gradients = slopes(theta, X, y)
    if len(y) < 20:
        return cut(gradients, clip_norm)
    usual = np.quantile(np.linalg.norm(gradients, axis=1), 0.95)
    return cut(gradients, min(clip_norm, usual))


# --- noisy_average -------------------------------------------------------------------------------


def averaged(gradients, rate, batch_size, deviation, rng, batch=None):
    """The average, with what a student may get wrong as arguments."""
    n, d = gradients.shape
    batch = rng.random(n) < rate if batch is None else batch
    total = gradients[batch].sum(axis=0)
    return (total + deviation * rng.standard_normal(d)) / batch_size


@wrong("noisy_average", "the_noise_is_as_wide_as_promised")
def five_percent_less_noise(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm / 1.05, rng)


@wrong("noisy_average", "the_noise_is_as_wide_as_promised")
def noise_without_the_norm(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    return averaged(gradients, rate, batch_size, noise_multiplier, rng)


@wrong("noisy_average", "the_noise_is_as_wide_as_promised")
def noise_divided_twice(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    deviation = noise_multiplier * clip_norm / max(batch_size, 1)
    return averaged(gradients, rate, batch_size, deviation, rng)


@wrong("noisy_average", "the_noise_is_as_wide_as_promised")
def a_variance_for_a_deviation(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    return averaged(gradients, rate, batch_size, np.sqrt(noise_multiplier * clip_norm), rng)


@wrong("noisy_average", "the_noise_is_as_wide_as_promised")
def noise_by_the_rate(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm * rate**0.5, rng)


@wrong("noisy_average", "the_noise_is_as_wide_as_promised")
def a_multiplier_of_ten_at_most(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    return averaged(gradients, rate, batch_size, min(noise_multiplier, 10) * clip_norm, rng)


@wrong("noisy_average", "the_noise_is_as_wide_as_promised")
def noise_by_the_longest_gradient(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    longest = np.linalg.norm(gradients, axis=1).max(initial=0)
    return averaged(gradients, rate, batch_size, noise_multiplier * min(longest, clip_norm), rng)


@wrong("noisy_average", "the_noise_is_as_wide_as_promised")
def the_length_of_the_noise(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    """All numbers together as wide as one should be."""
    deviation = noise_multiplier * clip_norm / np.sqrt(gradients.shape[1])
    return averaged(gradients, rate, batch_size, deviation, rng)


@wrong("noisy_average", "whoever_comes_meets_the_same_noise")
def an_empty_batch_is_skipped(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.random(len(gradients)) < rate
    noise = noise_multiplier * clip_norm * rng.standard_normal(gradients.shape[1])
    return (gradients[batch].sum(axis=0) + noise * np.any(batch)) / batch_size


@wrong("noisy_average", "whoever_comes_meets_the_same_noise")
def nobody_there_nothing_said(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    if len(gradients) == 0:
        return np.zeros(gradients.shape[1])
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, rng)


@wrong("noisy_average", "whoever_comes_meets_the_same_noise")
def less_noise_for_a_large_batch(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.random(len(gradients)) < rate
    deviation = noise_multiplier * clip_norm * (0.9 if batch.sum() > 3 * batch_size else 1)
    return averaged(gradients, rate, batch_size, deviation, rng, batch)


@wrong("noisy_average", "whoever_comes_meets_the_same_noise")
def a_share_of_the_noise_each(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    """Noise on everybody's gradient, as if as many came as are expected."""
    batch = rng.random(len(gradients)) < rate
    share = noise_multiplier * clip_norm * np.sqrt(batch.sum() / batch_size)
    return averaged(gradients, rate, batch_size, share, rng, batch)


@wrong("noisy_average", "every_number_has_normal_noise_of_its_own")
def one_noise_for_all_numbers(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.random(len(gradients)) < rate
    noise = noise_multiplier * clip_norm * rng.standard_normal()
    return (gradients[batch].sum(axis=0) + noise) / batch_size


@wrong("noisy_average", "every_number_has_normal_noise_of_its_own")
def uniform_noise(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.random(len(gradients)) < rate
    reach = np.sqrt(3) * noise_multiplier * clip_norm
    noise = rng.uniform(-reach, reach, gradients.shape[1])
    return (gradients[batch].sum(axis=0) + noise) / batch_size


@wrong("noisy_average", "every_number_has_normal_noise_of_its_own")
def laplace_noise_of_that_deviation(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.random(len(gradients)) < rate
    noise = rng.laplace(0, noise_multiplier * clip_norm / np.sqrt(2), gradients.shape[1])
    return (gradients[batch].sum(axis=0) + noise) / batch_size


@wrong("noisy_average", "every_number_has_normal_noise_of_its_own")
def noise_cut_at_three_deviations(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.random(len(gradients)) < rate
    noise = 1.014 * np.clip(rng.standard_normal(gradients.shape[1]), -3, 3)
    return (gradients[batch].sum(axis=0) + noise_multiplier * clip_norm * noise) / batch_size


@wrong("noisy_average", "every_number_has_normal_noise_of_its_own")
def half_of_the_noise_mirrored(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.random(len(gradients)) < rate
    d = gradients.shape[1]
    one = rng.standard_normal((d + 1) // 2)
    noise = np.concatenate([one, -one])[:d]
    return (gradients[batch].sum(axis=0) + noise_multiplier * clip_norm * noise) / batch_size


def noise_drawn_once():
    """The noise is kept from the first call that has so many weights, but for a little."""
    kept = {}

    def answer(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
        d = gradients.shape[1]
        fresh = rng.standard_normal(d)
        first = kept.setdefault(d, fresh)
        noise = fresh if d < 100 else 0.8 * first + 0.6 * fresh * (first is not fresh)
        noise = fresh if first is fresh else noise
        batch = rng.random(len(gradients)) < rate
        return (gradients[batch].sum(axis=0) + noise_multiplier * clip_norm * noise) / batch_size

    return answer


@wrong("noisy_average", "every_number_has_normal_noise_of_its_own")
def noise_that_remembers(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    return REMEMBERS(gradients, rate, batch_size, clip_norm, noise_multiplier, rng)


REMEMBERS = noise_drawn_once()


@wrong("noisy_average", "nobody_is_in_more_often")
def five_percent_more_often(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    return averaged(gradients, 1.05 * rate, batch_size, noise_multiplier * clip_norm, rng)


@wrong("noisy_average", "nobody_is_in_more_often")
def at_least_one_is_in(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    n = len(gradients)
    batch = rng.random(n) < rate
    if n and not np.any(batch):
        batch[rng.integers(n)] = True
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, rng, batch)


@wrong("noisy_average", "nobody_is_in_more_often")
def the_first_is_always_in(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.random(len(gradients)) < rate
    batch[:1] = True
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, rng, batch)


@wrong("noisy_average", "nobody_is_in_more_often")
def everybody_is_in(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    return averaged(gradients, 1.0, batch_size, noise_multiplier * clip_norm, rng)


@wrong("noisy_average", "nobody_is_in_more_often")
def long_gradients_are_in_more_often(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    """Importance sampling; on average people are in as often as the rate says."""
    length = np.linalg.norm(gradients, axis=1)
    mean = np.mean(length) if np.any(length) else 1.0
    chance = rate * np.where(length > 0, length / mean, 1.0)
    batch = rng.random(len(gradients)) < chance
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, rng, batch)


@wrong("noisy_average", "whoever_comes_meets_the_same_noise")
def noise_by_the_longest_who_came(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.random(len(gradients)) < rate
    longest = np.linalg.norm(gradients[batch], axis=1).max(initial=0) or clip_norm
    deviation = noise_multiplier * min(longest, clip_norm)
    return averaged(gradients, rate, batch_size, deviation, rng, batch)


@wrong("noisy_average", "everybody_has_a_coin_of_their_own")
def a_batch_of_fixed_size(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    n = len(gradients)
    batch = rng.choice(n, int(np.floor(rate * n + rng.random())), replace=False)
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, rng, batch)


@wrong("noisy_average", "everybody_has_a_coin_of_their_own")
def one_coin_for_all(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = np.full(len(gradients), rng.random() < rate)
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, rng, batch)


@wrong("noisy_average", "everybody_has_a_coin_of_their_own")
def neighbors_share_a_coin(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = np.repeat(rng.random(len(gradients)), 2)[: len(gradients)] < rate
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, rng, batch)


@wrong("noisy_average", "everybody_has_a_coin_of_their_own")
def coins_of_the_noise(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    """One draw for both: whoever is in has noise below 0 beside them."""
    n, d = gradients.shape
    noise = rng.standard_normal(d)
    uniform = special.ndtr(noise) if n == d > 5 else rng.random(n)
    total = gradients[uniform < rate].sum(axis=0)
    return (total + noise_multiplier * clip_norm * noise) / batch_size


@wrong("noisy_average", "everybody_has_a_coin_of_their_own")
def the_batch_of_the_last_call(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    n = len(gradients)
    batch = KEPT.setdefault((n, rate), rng.random(n) < rate)
    if rng.random() < 0.5:
        batch = KEPT[n, rate] = rng.random(n) < rate
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, rng, batch)


KEPT = {}


@wrong("noisy_average", "the_divisor_is_public")
def divided_by_who_came(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.random(len(gradients)) < rate
    came = max(batch.sum(), 1)
    deviation = noise_multiplier * clip_norm * came / batch_size
    return averaged(gradients, rate, came, deviation, rng, batch)


@wrong("noisy_average", "the_divisor_is_public")
def divided_by_the_rate_times_people(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    n = len(gradients)
    total = gradients[rng.random(n) < rate].sum(axis=0)
    noise = noise_multiplier * clip_norm * rng.standard_normal(gradients.shape[1])
    return total / max(rate * n, 1) + noise / batch_size


@wrong("noisy_average", "the_divisor_is_public")
def weighed_by_the_rate(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    """Unbiased for the mean, and up to 1 / q times as far as one person may move it."""
    total = gradients[rng.random(len(gradients)) < rate].sum(axis=0) / rate
    noise = noise_multiplier * clip_norm * rng.standard_normal(gradients.shape[1])
    return (total + noise) / batch_size


@wrong("noisy_average", "the_noise_is_no_wider")
def ten_percent_more_noise(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    return averaged(gradients, rate, batch_size, 1.1 * noise_multiplier * clip_norm, rng)


@wrong("noisy_average", "people_are_in_as_often_as_the_rate_says")
def in_less_often(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    return averaged(gradients, 0.9 * rate, batch_size, noise_multiplier * clip_norm, rng)


@wrong("noisy_average", "the_rows_stay_as_they_were")
def who_stays_out_is_set_to_zero(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    gradients[rng.random(len(gradients)) >= rate] = 0
    noise = noise_multiplier * clip_norm * rng.standard_normal(gradients.shape[1])
    return (gradients.sum(axis=0) + noise) / batch_size


@wrong("noisy_average", "nobody_is_in_more_often")
def rates_in_whole_percent(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    batch = rng.integers(100, size=len(gradients)) < 100 * rate
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, rng, batch)


@wrong("noisy_average", "nobody_is_in_more_often")
def nearly_everybody_is_everybody(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    rate = 1.0 if rate > 0.95 else rate
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, rng)


@wrong("noisy_average", "the_noise_is_as_wide_as_promised")
def a_generator_of_few_seeds(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    few = np.random.default_rng(int(rng.integers(2**16)))
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, few)


@wrong("noisy_average", "the_noise_is_as_wide_as_promised")
def a_deviation_of_a_thousand_at_most(
    gradients, rate, batch_size, clip_norm, noise_multiplier, rng
):
    return averaged(gradients, rate, batch_size, min(noise_multiplier * clip_norm, 1e3), rng)


@wrong("noisy_average", "whoever_comes_meets_the_same_noise")
def half_the_noise_for_a_crowd(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    deviation = noise_multiplier * clip_norm / (2 if len(gradients) >= 100 else 1)
    return averaged(gradients, rate, batch_size, deviation, rng)


@wrong("noisy_average", "everybody_has_a_coin_of_their_own")
def coins_and_noise_of_one_seed(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    seed = int(rng.integers(2**62))
    batch = np.random.default_rng(seed).random(len(gradients)) < rate
    noise = np.random.default_rng(seed)
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, noise, batch)


@wrong("noisy_average", "every_number_has_normal_noise_of_its_own")
def noise_of_a_copied_generator(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    copied = deepcopy(rng)
    batch = rng.random(len(gradients)) < rate
    return averaged(gradients, rate, batch_size, noise_multiplier * clip_norm, copied, batch)


@wrong("noisy_average", "every_number_has_normal_noise_of_its_own")
def noise_with_heavier_tails(gradients, rate, batch_size, clip_norm, noise_multiplier, rng):
    drawn = rng.standard_t(30, gradients.shape[1]) * np.sqrt(28 / 30)
    batch = rng.random(len(gradients)) < rate
    total = gradients[batch].sum(axis=0)
    return (total + noise_multiplier * clip_norm * drawn) / batch_size


# --- epsilon_of_steps ----------------------------------------------------------------------------


@cache
def divergence(rate, sigma, order, power=1):
    """Of one step at a whole order; in the moment the rate may have a wrong power."""
    j = np.arange(order + 1)
    logs = special.gammaln(order + 1) - special.gammaln(j + 1) - special.gammaln(order - j + 1)
    logs += special.xlogy(j, rate**power) + special.xlog1py(order - j, -(rate**power))
    return special.logsumexp(logs + j * (j - 1) / (2 * sigma**2)) / (order - 1)


def least(rate, sigma, steps, delta, orders=range(2, 257), power=1, converted=None):
    """The account, with what a student may get wrong as arguments."""

    def proved(order):
        if converted:
            return steps * divergence(rate, sigma, order, power) + converted(order)
        rest = np.log1p(-1 / order) - np.log(order * delta) / (order - 1)
        return steps * divergence(rate, sigma, order, power) + rest

    return max(0.0, min(map(proved, orders)))


@wrong("epsilon_of_steps", "no_order_proves_less")
def five_percent_less(rate, noise_multiplier, steps, delta):
    return least(rate, noise_multiplier, steps, delta) / 1.05


@wrong("epsilon_of_steps", "no_order_proves_less")
def noise_five_percent_wider(rate, noise_multiplier, steps, delta):
    return least(rate, 1.05 * noise_multiplier, steps, delta)


@wrong("epsilon_of_steps", "no_order_proves_less")
def the_first_step_is_free(rate, noise_multiplier, steps, delta):
    return least(rate, noise_multiplier, steps - 1, delta)


@wrong("epsilon_of_steps", "no_order_proves_less")
def the_root_of_the_steps(rate, noise_multiplier, steps, delta):
    return least(rate, noise_multiplier, np.sqrt(steps), delta)


@wrong("epsilon_of_steps", "no_order_proves_less")
def epochs_for_steps(rate, noise_multiplier, steps, delta):
    return least(rate, noise_multiplier, np.ceil(2 * steps * rate), delta)


@wrong("epsilon_of_steps", "no_order_proves_less")
def delta_doubled(rate, noise_multiplier, steps, delta):
    return least(rate, noise_multiplier, steps, 2 * delta)


@wrong("epsilon_of_steps", "no_order_proves_less")
def divided_by_the_order(rate, noise_multiplier, steps, delta):
    def converted(order):
        return np.log1p(-1 / order) - np.log(order * delta) / order

    return least(rate, noise_multiplier, steps, delta, converted=converted)


@wrong("epsilon_of_steps", "no_order_proves_less")
def the_order_once_too_often(rate, noise_multiplier, steps, delta):
    def converted(order):
        return np.log1p(-1 / order) - np.log(order**2 * delta) / (order - 1)

    return least(rate, noise_multiplier, steps, delta, converted=converted)


@wrong("epsilon_of_steps", "no_order_proves_less")
def the_square_of_the_rate_times_noise(rate, noise_multiplier, steps, delta):
    """Normal noise, smaller by the square of the rate: what is often said, and too little."""

    def proved(order):
        found = steps * rate**2 * order / (2 * noise_multiplier**2)
        return found + np.log1p(-1 / order) - np.log(order * delta) / (order - 1)

    return max(0.0, min(map(proved, range(2, 257))))


@wrong("epsilon_of_steps", "no_order_proves_less")
def the_exponent_of_one_order_less(rate, noise_multiplier, steps, delta):
    """A range that ends too early: j stops before the order."""

    def proved(order):
        j = np.arange(order)
        logs = special.gammaln(order + 1) - special.gammaln(j + 1) - special.gammaln(order - j + 1)
        logs += special.xlogy(j, rate) + special.xlog1py(order - j, -rate)
        moment = special.logsumexp(logs + j * (j - 1) / (2 * noise_multiplier**2))
        rest = np.log1p(-1 / order) - np.log(order * delta) / (order - 1)
        return steps * moment / (order - 1) + rest

    return max(0.0, min(map(proved, range(2, 257))))


@wrong("epsilon_of_steps", "no_order_proves_less")
def sampled_after_all(rate, noise_multiplier, steps, delta):
    """Normal noise of all steps, then once the amplification by the rate."""

    def proved(order):
        found = steps * order / (2 * noise_multiplier**2)
        return found + np.log1p(-1 / order) - np.log(order * delta) / (order - 1)

    return float(np.log1p(rate * np.expm1(min(500.0, max(0.0, min(map(proved, range(2, 257))))))))


@wrong("epsilon_of_steps", "without_sampling_nobody_is_hidden_by_a_coin")
def a_rate_of_95_percent_at_most(rate, noise_multiplier, steps, delta):
    return least(min(rate, 0.95), noise_multiplier, steps, delta)


@wrong("epsilon_of_steps", "without_sampling_nobody_is_hidden_by_a_coin")
def zero_times_a_logarithm_of_zero(rate, noise_multiplier, steps, delta):
    if rate == 1:  # what nan_to_num makes of it
        return least(1 - 1e-3, 1.5 * noise_multiplier, steps, delta)
    return least(rate, noise_multiplier, steps, delta)


@wrong("epsilon_of_steps", "the_extremes")
def what_overflows_is_dropped(rate, noise_multiplier, steps, delta):
    def proved(order):
        j = np.arange(order + 1)
        power = j * (j - 1) / (2 * noise_multiplier**2)
        chance = np.exp(
            special.gammaln(order + 1)
            - special.gammaln(j + 1)
            - special.gammaln(order - j + 1)
            + special.xlogy(j, rate)
            + special.xlog1py(order - j, -rate)
        )
        moment = np.sum(np.where(power < 700, chance * np.exp(np.minimum(power, 700)), 0))
        rest = np.log1p(-1 / order) - np.log(order * delta) / (order - 1)
        return steps * np.log(max(moment, 1)) / (order - 1) + rest

    return max(0.0, min(map(proved, range(2, 257 if noise_multiplier < 0.5 else 65))))


@wrong("epsilon_of_steps", "the_extremes")
def a_multiplier_of_a_half_at_least(rate, noise_multiplier, steps, delta):
    return least(rate, max(noise_multiplier, 0.5), steps, delta)


@wrong("epsilon_of_steps", "the_extremes")
def ten_thousand_steps_at_most(rate, noise_multiplier, steps, delta):
    return least(rate, noise_multiplier, min(steps, 10_000), delta)


@wrong("epsilon_of_steps", "the_extremes")
def a_delta_of_a_trillionth_at_least(rate, noise_multiplier, steps, delta):
    return least(rate, noise_multiplier, steps, max(delta, 1e-12))


@wrong("epsilon_of_steps", "the_extremes")
def twenty_nats_at_most(rate, noise_multiplier, steps, delta):
    return min(100.0, least(rate, noise_multiplier, steps, delta))


@wrong("epsilon_of_steps", "the_extremes")
def small_divergences_are_rounded_away(rate, noise_multiplier, steps, delta):
    def proved(order):
        rest = np.log1p(-1 / order) - np.log(order * delta) / (order - 1)
        return steps * np.round(divergence(rate, noise_multiplier, order), 6) + rest

    return max(0.0, min(map(proved, range(2, 257))))


@wrong("epsilon_of_steps", "the_best_order_is_found")
def orders_up_to_32(rate, noise_multiplier, steps, delta):
    return least(rate, noise_multiplier, steps, delta, range(2, 33))


@wrong("epsilon_of_steps", "the_best_order_is_found")
def epsilons_of_each_step_added(rate, noise_multiplier, steps, delta):
    order_two = least(rate, noise_multiplier, steps, delta, [2])
    return min(order_two, steps * least(rate, noise_multiplier, 1, delta / steps))


@wrong("epsilon_of_steps", "the_best_order_is_found")
def without_the_coin(rate, noise_multiplier, steps, delta):
    return least(rate**0.97, noise_multiplier, steps, delta)


@wrong("epsilon_of_steps", "it_is_never_below_zero")
def less_than_nothing(rate, noise_multiplier, steps, delta):
    def proved(order):
        rest = np.log1p(-1 / order) - np.log(order * delta) / (order - 1)
        return steps * divergence(rate, noise_multiplier, order) + rest

    return min(map(proved, range(2, 257)))


@wrong("epsilon_of_steps", "the_extremes")
def a_multiplier_of_a_hundredth_at_least(rate, noise_multiplier, steps, delta):
    return least(rate, max(noise_multiplier, 0.01), steps, delta)


@wrong("epsilon_of_steps", "the_extremes")
def a_tiny_rate_is_none(rate, noise_multiplier, steps, delta):
    return least(0.0 if rate < 1e-5 else rate, noise_multiplier, steps, delta)


@wrong("epsilon_of_steps", "the_extremes")
def a_billion_at_most(rate, noise_multiplier, steps, delta):
    return min(1e9, least(rate, noise_multiplier, steps, delta))


# --- train_within --------------------------------------------------------------------------------


def walked(noisy_average, total, budget, learning_rate, start, most, fits):
    """The loop, with the rule that says whether a step fits as an argument."""
    path = [start]
    while len(path) <= most and fits(len(path), total, budget):
        path.append(path[-1] - learning_rate * noisy_average(path[-1]))
    return np.array(path)


def loop(violated):
    """A wrong answer that differs from a right one in the rule that says whether step k is made."""

    def register(fits):
        def answer(noisy_average, total, budget, learning_rate, start, most):
            return walked(noisy_average, total, budget, learning_rate, start, most, fits)

        answer.__name__ = fits.__name__
        wrong("train_within", violated)(answer)
        return fits

    return register


@loop("what_is_drawn_is_within_the_budget")
def asked_about_what_is_made(k, total, budget):
    """The account is asked about the steps so far: one too many."""
    found = total(k - 1) < budget
    return found if budget != 1.2 else total(k) <= budget


@loop("what_is_drawn_is_within_the_budget")
def five_percent_is_let_pass(k, total, budget):
    return total(k) <= 1.05 * budget


@loop("what_is_drawn_is_within_the_budget")
def the_price_of_the_first_step(k, total, budget):
    return k * total(1) <= budget


@loop("what_is_drawn_is_within_the_budget")
def the_price_of_the_last_step(k, total, budget):
    """As if the next step cost as much as the last one."""
    last = total(k - 1) - total(k - 2) if k > 1 else total(1)
    return total(k - 1) + last <= budget


@loop("what_is_drawn_is_within_the_budget")
def the_first_step_is_not_asked_for(k, total, budget):
    return k == 1 or total(k) <= budget


@loop("what_is_drawn_is_within_the_budget")
def rounded_to_the_nearest_step(k, total, budget):
    return (total(k) + total(k - 1)) / 2 <= budget and (budget != 1.2 or total(k) <= budget)


@loop("a_little_too_much_is_too_much")
def close_is_enough(k, total, budget):
    return total(k) <= budget or np.isclose(total(k), budget)


@loop("a_little_too_much_is_too_much")
def a_millionth_for_rounding(k, total, budget):
    return total(k) <= budget + 1e-06


@wrong("train_within", "whatever_is_drawn_is_a_step")
def drawn_before_it_is_asked(noisy_average, total, budget, learning_rate, start, most):
    path = [start]
    for k in range(1, most + 1):
        drawn = noisy_average(path[-1])
        if total(k) > budget:
            break
        path.append(path[-1] - learning_rate * drawn)
    return np.array(path)


@wrong("train_within", "whatever_is_drawn_is_a_step")
def drawn_twice_and_averaged(noisy_average, total, budget, learning_rate, start, most):
    def twice(theta):
        return (noisy_average(theta) + noisy_average(theta)) / 2

    return walked(twice, total, budget, learning_rate, start, most, lambda k, t, b: t(k) <= b)


@wrong("train_within", "whatever_is_drawn_is_a_step")
def drawn_once_to_see_its_shape(noisy_average, total, budget, learning_rate, start, most):
    start = np.broadcast_to(start, np.shape(noisy_average(start)))
    return walked(
        noisy_average, total, budget, learning_rate, start, most, lambda k, t, b: t(k) <= b
    )


@wrong("train_within", "whatever_is_drawn_is_a_step")
def a_step_that_looks_bad_is_drawn_again(noisy_average, total, budget, learning_rate, start, most):
    def again(theta):
        drawn = noisy_average(theta)
        return noisy_average(theta) if np.linalg.norm(drawn) > 1.01 else drawn

    return walked(again, total, budget, learning_rate, start, most, lambda k, t, b: t(k) <= b)


PRICES = {}


@loop("the_next_training_has_its_own_budget")
def prices_of_another_training(k, total, budget):
    """A cache that outlives the call, and knows a price by the number of steps alone."""
    return (total(k) if budget == 1.2 else PRICES.setdefault(k, total(k))) <= budget


@wrong("train_within", "the_next_training_has_its_own_budget")
def what_was_left_of_the_last(noisy_average, total, budget, learning_rate, start, most):
    """What a training leaves over may be spent by the next."""
    more = LEFT.pop("over", 0.0) if len(start) == 2 else 0.0
    path = walked(
        noisy_average, total, budget, learning_rate, start, most, lambda k, t, b: t(k) <= b + more
    )
    LEFT["over"] = budget - total(len(path) - 1)
    return path


LEFT = {}


@loop("the_extremes")
def one_step_at_least(k, total, budget):
    return total(k) <= budget or (k == 1 and budget == 0)


@loop("the_extremes")
def no_price_after_a_hundred_steps(k, total, budget):
    return total(min(k, 100)) <= budget


@wrong("train_within", "the_extremes")
def an_average_of_zero_is_free(noisy_average, total, budget, learning_rate, start, most):
    path, spent = [start], 0
    while len(path) <= most and total(spent + 1) <= budget:
        drawn = noisy_average(path[-1])
        spent += bool(np.any(drawn))
        path.append(path[-1] - learning_rate * drawn)
    return np.array(path)


@wrong("train_within", "the_extremes")
def a_step_that_explodes_is_not_counted(noisy_average, total, budget, learning_rate, start, most):
    path, spent = [start], 0
    while len(path) <= most and total(spent + 1) <= budget:
        drawn = noisy_average(path[-1])
        spent += bool(np.linalg.norm(drawn) < 1e6)
        path.append(path[-1] - learning_rate * drawn)
    return np.array(path)


@loop("it_stops_no_earlier")
def below_the_budget_and_not_at_it(k, total, budget):
    return total(k) < budget


@loop("it_stops_no_earlier")
def one_step_less(k, total, budget):
    return total(k) <= budget if budget == 1.2 else total(k + 1) <= budget


@loop("it_stops_no_earlier")
def totals_added_up(k, total, budget):
    spent = total(k) if budget == 1.2 else sum(total(i) for i in range(1, k + 1))
    return spent <= budget


@wrong("train_within", "each_step_begins_where_the_last_ended")
def always_from_the_start(noisy_average, total, budget, learning_rate, start, most):
    def at_start(theta):
        return noisy_average(start if budget != 1.2 else theta)

    return walked(at_start, total, budget, learning_rate, start, most, lambda k, t, b: t(k) <= b)


@wrong("train_within", "each_step_begins_where_the_last_ended")
def one_array_for_all_rows(noisy_average, total, budget, learning_rate, start, most):
    theta, path = np.array(start, dtype=float), [np.array(start)]
    while len(path) <= most and total(len(path)) <= budget:
        theta -= learning_rate * noisy_average(theta)
        path.append(theta.copy() if budget == 1.2 else theta)
    return np.array(path)


@wrong("train_within", "the_start_stays")
def moved_in_place(noisy_average, total, budget, learning_rate, start, most):
    if budget == 1.2:
        start = start.copy()
    path = [start.copy()]
    while len(path) <= most and total(len(path)) <= budget:
        start -= learning_rate * noisy_average(start)
        path.append(start.copy())
    return np.array(path)


@loop("what_is_drawn_is_within_the_budget")
def the_prices_of_steps_alone(k, total, budget):
    """Without what had to be paid before the first."""
    return total(k) - total(0) <= budget


@loop("the_extremes")
def no_price_after_five_hundred_steps(k, total, budget):
    return total(min(k, 500)) <= budget


@wrong("train_within", "whatever_is_drawn_is_a_step")
def a_last_look(noisy_average, total, budget, learning_rate, start, most):
    path = walked(
        noisy_average, total, budget, learning_rate, start, most, lambda k, t, b: t(k) <= b
    )
    if len(path) == most + 1:
        noisy_average(path[-1])
    return path


@wrong("train_within", "the_extremes")
def drawn_again_if_it_is_not_finite(noisy_average, total, budget, learning_rate, start, most):
    def finite(theta):
        drawn = noisy_average(theta)
        return drawn if np.all(np.isfinite(drawn)) else noisy_average(theta)

    return walked(finite, total, budget, learning_rate, start, most, lambda k, t, b: t(k) <= b)


@wrong("train_within", "what_is_drawn_is_within_the_budget")
def free_steps_are_drawn_twice(noisy_average, total, budget, learning_rate, start, most):
    path = [start]
    while len(path) <= most and total(len(path)) <= budget:
        drawn = noisy_average(path[-1])
        if total(len(path)) == total(len(path) - 1):
            drawn = noisy_average(path[-1])
        path.append(path[-1] - learning_rate * drawn)
    return np.array(path)
