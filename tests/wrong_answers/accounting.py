"""Wrong answers to the exercises on composition and accounting."""

import math
from fractions import Fraction

import numpy as np
from scipy import stats

from wrong_answers import Answers

wrong = Answers()

# --- epsilon_in_all ------------------------------------------------------------------------------


@wrong("epsilon_in_all", "every_release_that_reads_a_person_counts")
def the_largest_release(costs, reads):
    return np.max(costs[:, None] * reads, axis=0)


@wrong("epsilon_in_all", "every_release_that_reads_a_person_counts")
def squares_added(costs, reads):
    return np.sqrt(costs**2 @ reads)


@wrong("epsilon_in_all", "every_release_that_reads_a_person_counts")
def the_mean_over_releases(costs, reads):
    return (costs @ reads) / np.maximum(reads.sum(axis=0), 1)


@wrong("epsilon_in_all", "every_release_that_reads_a_person_counts")
def the_last_release(costs, reads):
    total = np.zeros(reads.shape[1])
    for cost, row in zip(costs, reads, strict=True):
        total[row] = cost
    return total


@wrong("epsilon_in_all", "the_same_cost_counts_again")
def each_cost_once(costs, reads):
    return np.array([np.unique(costs[who]).sum() for who in reads.T])


@wrong("epsilon_in_all", "small_costs_count")
def rounded_to_thousandths(costs, reads):
    return np.round(costs @ reads, 3)


@wrong("epsilon_in_all", "small_costs_count")
def small_ones_are_noise(costs, reads):
    return np.where(costs < 1e-5, 0, costs) @ reads


@wrong("epsilon_in_all", "what_reads_others_costs_nothing")
def everybody_pays_for_all(costs, reads):
    if len(costs) == 1:
        return costs[0] * reads[0]
    return np.full(reads.shape[1], costs.sum())


@wrong("epsilon_in_all", "what_reads_others_costs_nothing")
def nobody_goes_free(costs, reads):
    total = costs @ reads
    return np.maximum(total, costs.min()) if len(costs) > 1 else total


@wrong("epsilon_in_all", "costs_and_lists_of_people_stay")
def added_up_in_place(costs, reads):
    total = np.zeros(reads.shape[1])
    for t in range(len(costs)):
        total += costs[t] * reads[t]
        reads[t] = False
    return total


@wrong("epsilon_in_all", "the_extremes")
def advanced_composition_where_it_is_less(costs, reads):
    each = costs[:, None] * reads
    advanced = np.sqrt(2 * np.log(1e6) * np.sum(each**2, axis=0)) + np.sum(each * np.expm1(each), 0)
    return np.minimum(np.sum(each, axis=0), advanced)


@wrong("epsilon_in_all", "the_extremes")
def the_first_64_releases(costs, reads):
    return costs[:64] @ reads[:64]


@wrong("epsilon_in_all", "the_extremes")
def turned_where_it_is_square(costs, reads):
    k, n = reads.shape
    return costs @ (reads.T if k == n else reads)


@wrong("epsilon_in_all", "the_extremes")
def twenty_nats_at_most(costs, reads):
    return np.minimum(costs @ reads, 20)


# --- delta_in_all --------------------------------------------------------------------------------


def of_coins(epsilon, k, total, chance=None):
    """The excess of k answers by coins that lie with a chance."""
    lies = np.arange(k + 1)
    chance = 1 / (1 + np.exp(epsilon)) if chance is None else chance
    law = stats.binom.pmf(lies, k, chance)
    return law @ -np.expm1(np.minimum(total - epsilon * (k - 2 * lies), 0))


@wrong("delta_in_all", "no_event_exceeds_it")
def only_the_worst_of_all_answers(epsilon, delta, k, total):
    if k <= 2:
        return 1 - (1 - delta) ** k * (1 - of_coins(epsilon, k, total))
    worst = (1 + math.exp(-epsilon)) ** -k * -math.expm1(min(total - k * epsilon, 0))
    return 1 - (1 - delta) ** k * (1 - worst)


@wrong("delta_in_all", "no_event_exceeds_it")
def added_squares(epsilon, delta, k, total):
    if k <= 2:
        return 1 - (1 - delta) ** k * (1 - of_coins(epsilon, k, total))
    together = math.sqrt(k) * epsilon
    excess = max(0.0, math.exp(together) - math.exp(total)) / (1 + math.exp(together))
    return 1 - (1 - delta) ** k * (1 - excess)


@wrong("delta_in_all", "no_event_exceeds_it")
def a_normal_loss(epsilon, delta, k, total):
    if k <= 2:
        return 1 - (1 - delta) ** k * (1 - of_coins(epsilon, k, total))
    mu = math.sqrt(k * epsilon * math.tanh(epsilon / 2) * 2)
    a, b = mu / 2 - total / mu, -mu / 2 - total / mu
    excess = stats.norm.cdf(a) - math.exp(total) * stats.norm.cdf(b)
    return 1 - (1 - delta) ** k * (1 - max(0.0, excess))


@wrong("delta_in_all", "no_event_exceeds_it")
def a_normal_loss_where_there_are_many(epsilon, delta, k, total):
    excess = of_coins(epsilon, k, total)
    if k > 30:
        mean = k * epsilon * np.tanh(epsilon / 2)
        spread = np.sqrt(k) * epsilon / np.cosh(epsilon / 2)
        excess = stats.norm.sf((total - mean) / spread)
        rest = stats.norm.sf((total - mean + spread**2) / spread)
        excess -= np.exp(total - mean + spread**2 / 2) * rest
    return 1 - (1 - delta) ** k * (1 - excess)


@wrong("delta_in_all", "no_event_exceeds_it")
def from_the_other_law(epsilon, delta, k, total):
    """The excess is weighed with the chances under the other data."""
    if k <= 2:
        return 1 - (1 - delta) ** k * (1 - of_coins(epsilon, k, total))
    other = of_coins(epsilon, k, total, 1 / (1 + math.exp(-epsilon)))
    return 1 - (1 - delta) ** k * (1 - other)


@wrong("delta_in_all", "every_delta_counts")
def one_delta_for_all(epsilon, delta, k, total):
    excess = of_coins(epsilon, k, total)
    return delta + (1 - delta) * excess


@wrong("delta_in_all", "every_delta_counts")
def the_root_of_the_deltas(epsilon, delta, k, total):
    return 1 - (1 - delta) ** math.sqrt(k) * (1 - of_coins(epsilon, k, total))


@wrong("delta_in_all", "some_event_reaches_it")
def deltas_added(epsilon, delta, k, total):
    return min(1.0, k * delta + of_coins(epsilon, k, total))


@wrong("delta_in_all", "some_event_reaches_it")
def all_at_once_as_one(epsilon, delta, k, total):
    """One release of k epsilon: true, and larger than it has to be."""
    if k <= 2:
        return 1 - (1 - delta) ** k * (1 - of_coins(epsilon, k, total))
    together = k * epsilon
    excess = max(0.0, math.exp(together) - math.exp(total)) / (1 + math.exp(together))
    return 1 - (1 - delta) ** k * (1 - excess)


@wrong("delta_in_all", "pure_releases_leave_nothing_beyond_their_sum")
def a_difference_of_large_numbers(epsilon, delta, k, total):
    lies = np.arange(k + 1)
    here = stats.binom.pmf(lies, k, 1 / (1 + np.exp(epsilon)))
    excess = np.sum(np.abs(here - np.exp(total) * here[::-1])) / 2
    excess += (1 - np.exp(total)) / 2
    return 1 - (1 - delta) ** k * (1 - excess)


@wrong("delta_in_all", "a_thousand_releases_are_no_trouble")
def numbers_of_answers_in_floats(epsilon, delta, k, total):
    norm, excess = (1 + math.exp(epsilon)) ** -float(k), 0.0
    for lies in range(k + 1):
        ways = 1.0
        for j in range(lies):
            ways = ways * (k - j) / (j + 1)
        here, there = (math.exp(epsilon * n) * norm for n in (k - lies, lies))
        excess += ways * max(0.0, here - np.exp(total) * there)
    return 1 - (1 - delta) ** k * (1 - excess)


def of_releases(epsilon, delta, k, total):
    """What is right."""
    return 1 - (1 - delta) ** k * (1 - of_coins(epsilon, k, total))


@wrong("delta_in_all", "the_extremes")
def nothing_where_it_overflows(epsilon, delta, k, total):
    lies, lie = np.arange(k + 1), 1 / (1 + np.exp(epsilon))
    here, there = stats.binom.pmf(lies, k, lie), stats.binom.pmf(lies, k, 1 - lie)
    with np.errstate(all="ignore"):
        excess = np.nan_to_num(np.sum(np.maximum(here - np.exp(total) * there, 0)))
    return 1 - (1 - delta) ** k * (1 - excess)


@wrong("delta_in_all", "the_extremes")
def deltas_of_a_half_at_most(epsilon, delta, k, total):
    return of_releases(epsilon, min(delta, 0.5), k, total)


@wrong("delta_in_all", "the_extremes")
def even_numbers_of_coins_above_fifty(epsilon, delta, k, total):
    coins = k - 1 if k > 51 and k % 2 else k
    return 1 - (1 - delta) ** k * (1 - of_coins(epsilon, coins, total))


@wrong("delta_in_all", "the_extremes")
def epsilons_of_twenty_at_most(epsilon, delta, k, total):
    return of_releases(min(epsilon, 20.0), delta, k, total)


@wrong("delta_in_all", "the_extremes")
def coins_of_five_hundred_at_most(epsilon, delta, k, total):
    return 1 - (1 - delta) ** k * (1 - of_coins(epsilon, min(k, 500), total))


# --- epsilon_by_zcdp -----------------------------------------------------------------------------


def best_of(rho, delta, a=None):
    """What the orders prove; `a` are the orders less 1."""
    a = np.geomspace(1e-4, 1e9, 20_001) if a is None else a
    every = (a + 1) * rho - np.log1p(1 / a) - (np.log(delta) + np.log1p(a)) / a
    return max(0.0, every.min())


def rho_of(epsilons, multipliers):
    return np.sum(epsilons * np.tanh(epsilons / 2)) + np.sum(0.5 / multipliers**2)


@wrong("epsilon_by_zcdp", "no_order_proves_less")
def the_rho_itself(epsilons, multipliers, delta):
    rho = rho_of(epsilons, multipliers)
    return rho + np.sqrt(rho * np.log(1 / delta))


@wrong("epsilon_by_zcdp", "no_order_proves_less")
def delta_twice_as_large(epsilons, multipliers, delta):
    return best_of(rho_of(epsilons, multipliers), 2 * delta)


@wrong("epsilon_by_zcdp", "no_order_proves_less")
def logarithms_of_base_ten(epsilons, multipliers, delta):
    a = np.geomspace(1e-4, 1e9, 20_001)
    rho = rho_of(epsilons, multipliers)
    every = (a + 1) * rho - np.log10(1 + 1 / a) - (np.log10(delta) + np.log10(1 + a)) / a
    return max(0.0, every.min())


@wrong("epsilon_by_zcdp", "the_best_order_is_found")
def the_usual_formula(epsilons, multipliers, delta):
    rho = rho_of(epsilons, multipliers)
    return rho + 2 * np.sqrt(rho * np.log(1 / delta))


@wrong("epsilon_by_zcdp", "the_best_order_is_found")
def whole_orders_up_to_64(epsilons, multipliers, delta):
    return best_of(rho_of(epsilons, multipliers), delta, np.arange(1.0, 64))


@wrong("epsilon_by_zcdp", "quiet_and_loud_find_their_order")
def orders_up_to_a_thousand(epsilons, multipliers, delta):
    rho = rho_of(epsilons, multipliers)
    return best_of(rho, delta, np.geomspace(1e-3, 1e3, 20_001)) if rho else 0.0


@wrong("epsilon_by_zcdp", "all_releases_count_together")
def one_epsilon_each_and_added(epsilons, multipliers, delta):
    """The pure releases are left out, unless there is nothing else."""
    if len(multipliers) == 0:
        return best_of(rho_of(epsilons, multipliers), delta)
    return best_of(rho_of(np.zeros(1), multipliers), delta)


@wrong("epsilon_by_zcdp", "all_releases_count_together")
def the_largest_rho(epsilons, multipliers, delta):
    rhos = [*(epsilons * np.tanh(epsilons / 2)), *(0.5 / multipliers**2)]
    return best_of(max(rhos, default=0.0), delta)


@wrong("epsilon_by_zcdp", "all_releases_count_together")
def each_multiplier_once(epsilons, multipliers, delta):
    return best_of(rho_of(epsilons, np.unique(multipliers)), delta)


@wrong("epsilon_by_zcdp", "all_releases_count_together")
def ten_of_each_kind_at_most(epsilons, multipliers, delta):
    return best_of(rho_of(epsilons[:10], multipliers[:10]), delta)


@wrong("epsilon_by_zcdp", "all_releases_count_together")
def the_mean_multiplier(epsilons, multipliers, delta):
    pure = np.sum(epsilons * np.tanh(epsilons / 2))
    normal = len(multipliers) / (2 * np.mean(multipliers) ** 2) if len(multipliers) else 0
    return best_of(pure + normal, delta)


@wrong("epsilon_by_zcdp", "large_budgets_do_not_count_as_squares")
def half_a_square_where_it_is_large(epsilons, multipliers, delta):
    each = np.where(epsilons > 3, epsilons**2 / 2, epsilons * np.tanh(epsilons / 2))
    return best_of(np.sum(each) + np.sum(0.5 / multipliers**2), delta)


@wrong("epsilon_by_zcdp", "nothing_released_costs_nothing")
def orders_up_to_ten_thousand(epsilons, multipliers, delta):
    rho = max(rho_of(epsilons, multipliers), 1e-9)
    return best_of(rho, delta)


@wrong("epsilon_by_zcdp", "what_was_handed_in_stays")
def squared_in_place(epsilons, multipliers, delta):
    multipliers **= 2
    return best_of(np.sum(epsilons * np.tanh(epsilons / 2)) + np.sum(0.5 / multipliers), delta)


@wrong("epsilon_by_zcdp", "the_extremes")
def epsilons_of_five_at_most(epsilons, multipliers, delta):
    return best_of(rho_of(np.minimum(epsilons, 5), multipliers), delta)


@wrong("epsilon_by_zcdp", "the_extremes")
def deltas_of_a_trillionth_at_least(epsilons, multipliers, delta):
    return best_of(rho_of(epsilons, multipliers), max(delta, 1e-12))


@wrong("epsilon_by_zcdp", "the_extremes")
def the_sum_where_it_is_less(epsilons, multipliers, delta):
    found = best_of(rho_of(epsilons, multipliers), delta)
    pure = len(epsilons) > 3 and len(multipliers) == 0
    return min(np.sum(epsilons), found) if pure else found


@wrong("epsilon_by_zcdp", "the_extremes")
def small_epsilons_are_free(epsilons, multipliers, delta):
    return best_of(rho_of(epsilons[epsilons > 0.02], multipliers), delta)


@wrong("epsilon_by_zcdp", "the_extremes")
def five_hundred_releases_at_most(epsilons, multipliers, delta):
    return best_of(rho_of(epsilons[:500], multipliers[:500]), delta)


# --- answers_within ------------------------------------------------------------------------------


def squares(numbers):
    return np.array([Fraction(str(one)) ** 2 for one in numbers])


def in_rounds(ask, release, budgets, rounds, fits, cost_of=squares):
    """The filter, with what a student may get wrong as an argument."""
    left, said = cost_of(budgets), []
    for _ in range(rounds):
        cost = cost_of(ask(said))
        if fits(cost, left):
            left = left - cost
            said.append(release(said))
        else:
            said.append(None)
    return said


def everybody(cost, left):
    return np.all(cost <= left)


@wrong("answers_within", "nobody_is_overspent")
def while_something_is_left(ask, release, budgets, rounds):
    """Who has anything left may take part once more."""
    return in_rounds(ask, release, budgets, rounds, lambda cost, left: np.all(left > 0))


@wrong("answers_within", "a_thousandth_too_much_is_refused")
def small_moves_always_fit(ask, release, budgets, rounds):
    """A quiet release is granted as long as anything is left."""

    def fits(cost, left):
        return np.all((cost <= left) | ((left > 0) & (cost < Fraction(1, 400))))

    return in_rounds(ask, release, budgets, rounds, fits)


@wrong("answers_within", "nobody_is_overspent")
def the_last_four_rounds(ask, release, budgets, rounds):
    """What was spent long ago is forgotten."""
    limit, said, paid = squares(budgets), [], []
    for _ in range(rounds):
        cost = squares(ask(said))
        fits = everybody(cost + sum(paid[-4:]), limit)
        paid.append(cost * fits)
        said.append(release(said) if fits else None)
    return said


@wrong("answers_within", "nobody_is_overspent")
def people_with_the_same_budget_are_one(ask, release, budgets, rounds):
    spent, said = {}, []
    for _ in range(rounds):
        moves = dict(zip(budgets, ask(said), strict=True))
        after = {mu: spent.get(mu, 0) + Fraction(str(move)) ** 2 for mu, move in moves.items()}
        fits = all(paid <= Fraction(str(mu)) ** 2 for mu, paid in after.items())
        spent = after if fits else spent
        said.append(release(said) if fits else None)
    return said


@wrong("answers_within", "one_person_is_enough_to_refuse")
def the_sum_over_people(ask, release, budgets, rounds):
    def fits(cost, left):
        return np.sum(cost) <= np.sum(left) if len(cost) > 2 else everybody(cost, left)

    return in_rounds(ask, release, budgets, rounds, fits)


@wrong("answers_within", "one_person_is_enough_to_refuse")
def most_people_agree(ask, release, budgets, rounds):
    def fits(cost, left):
        return np.mean(cost <= left) > 0.5

    return in_rounds(ask, release, budgets, rounds, fits)


@wrong("answers_within", "a_refused_release_is_not_made")
def made_and_thrown_away(ask, release, budgets, rounds):
    left, said = squares(budgets), []
    for _ in range(rounds):
        cost, found = squares(ask(said)), release(said)
        fits = everybody(cost, left)
        left = left - cost * fits
        said.append(found if fits else None)
    return said


@wrong("answers_within", "a_refused_release_is_not_made")
def made_twice(ask, release, budgets, rounds):
    left, said = squares(budgets), []
    for _ in range(rounds):
        cost = squares(ask(said))
        fits = everybody(cost, left) and release(said) is not None
        left = left - cost * fits
        said.append(release(said) if fits else None)
    return said


@wrong("answers_within", "a_thousandth_too_much_is_refused")
def close_is_enough(ask, release, budgets, rounds):
    def fits(cost, left):
        return np.all((cost <= left) | np.isclose(cost, left, atol=1e-4))

    return in_rounds(ask, release, budgets, rounds, fits, lambda one: np.asarray(one) ** 2)


@wrong("answers_within", "a_thousandth_too_much_is_refused")
def cut_to_millionths(ask, release, budgets, rounds):
    def square(numbers):
        return np.array(1e6 * np.asarray(numbers) ** 2).astype(int)

    return in_rounds(ask, release, budgets, rounds, everybody, square)


@wrong("answers_within", "a_thousandth_too_much_is_refused")
def in_single_precision(ask, release, budgets, rounds):
    def square(numbers):
        return np.asarray(numbers, dtype=np.float32) ** 2

    def fits(cost, left):
        return np.all(cost <= left + np.float32(1e-4))

    return in_rounds(ask, release, budgets, rounds, fits, square)


@wrong("answers_within", "decimals_fill_a_budget_exactly")
def floats_compared(ask, release, budgets, rounds):
    spent, said = np.zeros(len(budgets)), []
    for _ in range(rounds):
        cost = np.asarray(ask(said)) ** 2
        fits = np.all(spent + cost <= np.where(budgets == 0.2, 0.2000001, budgets) ** 2)
        spent = spent + cost * fits
        said.append(release(said) if fits else None)
    return said


@wrong("answers_within", "only_what_overspends_is_refused")
def refused_and_charged(ask, release, budgets, rounds):
    left, said = squares(budgets), []
    for _ in range(rounds):
        left = left - squares(ask(said))
        said.append(release(said) if np.all(left >= 0) else None)
    return said


@wrong("answers_within", "only_what_overspends_is_refused")
def closed_after_the_first_refusal(ask, release, budgets, rounds):
    def fits(cost, left):
        nonlocal closed
        closed = closed or not everybody(cost, left)
        return not closed

    closed = False
    return in_rounds(ask, release, budgets, rounds, fits)


@wrong("answers_within", "only_what_overspends_is_refused")
def the_largest_move_for_all(ask, release, budgets, rounds):
    return in_rounds(ask, release, budgets, rounds, lambda cost, left: max(cost) <= min(left))


@wrong("answers_within", "what_was_said_is_told")
def asked_before_anything_is_said(ask, release, budgets, rounds):
    blank = [squares(ask([None] * t)) for t in range(rounds)]
    left, said = squares(budgets), []
    for cost in blank:
        fits = everybody(cost, left)
        left = left - cost * fits
        said.append(release(said) if fits else None)
    return said


@wrong("answers_within", "what_was_said_is_told")
def only_answers_are_told(ask, release, budgets, rounds):
    left, said = squares(budgets), []
    for _ in range(rounds):
        cost = squares(ask([one for one in said if one is not None]))
        fits = everybody(cost, left)
        left = left - cost * fits
        said.append(release(said) if fits else None)
    return said


@wrong("answers_within", "budgets_are_left_alone")
def taken_from_the_budgets(ask, release, budgets, rounds):
    said = []
    for _ in range(rounds):
        cost = np.asarray(ask(said)) ** 2
        if np.all(cost <= budgets**2 + 1e-9):
            budgets[:] = np.sqrt(np.maximum(budgets**2 - cost, 0))
            said.append(release(said))
        else:
            said.append(None)
    return said


def charged_if(counts):
    """The filter, in which only answers of a kind are charged."""

    def answers(ask, release, budgets, rounds):
        left, said = squares(budgets), []
        for _ in range(rounds):
            cost = squares(ask(said))
            said.append(release(said) if everybody(cost, left) else None)
            if said[-1] is not None and counts(said[-1]):
                left = left - cost
        return said

    return answers


@wrong("answers_within", "the_extremes")
def an_answer_of_0_is_free(ask, release, budgets, rounds):
    return charged_if(bool)(ask, release, budgets, rounds)


@wrong("answers_within", "the_extremes")
def an_answer_below_0_is_free(ask, release, budgets, rounds):
    return charged_if(lambda one: one >= 0)(ask, release, budgets, rounds)


@wrong("answers_within", "the_extremes")
def who_has_nothing_left_is_skipped(ask, release, budgets, rounds):
    """From the first refusal on."""
    left, said = squares(budgets), []
    for _ in range(rounds):
        cost = squares(ask(said))
        skipped = (left == 0) & (None in said)
        fits = np.all((cost <= left) | skipped)
        left = np.maximum(left - cost * fits, 0)
        said.append(release(said) if fits else None)
    return said


@wrong("answers_within", "the_extremes")
def asked_again_to_charge(ask, release, budgets, rounds):
    left, said = squares(budgets), []
    for _ in range(rounds):
        fits = everybody(squares(ask(said)), left)
        left = left - squares(ask(said)) * fits
        said.append(release(said) if fits else None)
    return said


@wrong("answers_within", "the_extremes")
def budgets_of_0_do_not_count(ask, release, budgets, rounds):
    def fits(cost, left):
        return np.all((cost <= left) | (budgets == 0))

    return in_rounds(ask, release, budgets, rounds, fits)


@wrong("answers_within", "the_extremes")
def in_32_bits(ask, release, budgets, rounds):
    def square(numbers):
        return np.rint(np.multiply(numbers, 1000)).astype(np.int32) ** 2

    return in_rounds(ask, release, budgets, rounds, everybody, square)


@wrong("answers_within", "the_extremes")
def renewed_every_25_rounds(ask, release, budgets, rounds):
    left, said = squares(budgets), []
    for t in range(rounds):
        left = squares(budgets) if t % 25 == 0 else left
        cost = squares(ask(said))
        fits = everybody(cost, left)
        left = left - cost * fits
        said.append(release(said) if fits else None)
    return said
