"""Budgets: the weights and the noise that spend them."""

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ROUNDING, leaves
from pdpbook.pages.exercises.personalized import hidden, random_weights
from pdpbook.pages.exercises.properties import Answer, Demands

# --- budget_shares --------------------------------------------------------------------------------


@hidden("budget_shares", weight=3, promise=True)
def twice_the_budget_twice_the_weight(answer: Answer, rng: Generator) -> bool:
    """Somebody with twice another's budget has twice their weight."""
    found = np.asarray(answer(np.array([0.2, 0.4, 0.05, *rng.uniform(0.01, 1, 5)])))
    return bool(np.isclose(found[1], 2 * found[0]) and np.isclose(found[1], 8 * found[2]))


@hidden("budget_shares", promise=True)
def shares_have_no_unit(answer: Answer, rng: Generator) -> bool:
    """Weights are the same when all budgets are written in another unit."""
    epsilon = rng.uniform(0.01, 1, 9)
    shares = np.asarray(answer(epsilon))
    found = [answer(unit * epsilon) for unit in (1 / np.log(2), 1e-7)]
    whole = answer(np.array([1, 2, 5]))  # whole numbers are budgets, too
    fine = [np.allclose(one, shares, rtol=ROUNDING) for one in found]
    return all(fine) and bool(np.allclose(whole, [0.125, 0.25, 0.625]))


@hidden("budget_shares")
def budgets_are_left_alone(answer: Answer, rng: Generator) -> bool:
    """The budgets are left as they were handed in."""
    return leaves(answer, rng.uniform(0.01, 1, 9))


@hidden("budget_shares")
def shares_follow_their_people(answer: Answer, rng: Generator) -> bool:
    """People who are listed in another order keep their weights."""
    epsilon, order = rng.uniform(0.01, 1, 9), rng.permutation(9)
    straight = np.asarray(answer(epsilon))
    return bool(np.allclose(answer(epsilon[order]), straight[order], rtol=ROUNDING))


@hidden("budget_shares")
def two_accounts_weigh_what_one_did(answer: Answer, rng: Generator) -> bool:
    """Somebody who divides a budget between two accounts gains and loses no weight."""
    epsilon = rng.uniform(0.1, 1, 6)
    whole = np.asarray(answer(epsilon))
    parts = np.asarray(answer(np.array([0.3 * epsilon[0], *epsilon[1:], 0.7 * epsilon[0]])))
    return bool(np.isclose(parts[0] + parts[-1], whole[0], rtol=ROUNDING))


# --- rate_that_spends_all -------------------------------------------------------------------------


def _loss_of_mean(weight: float, eta: float) -> float:
    """Largest privacy loss of a weighted mean of labels in [-1, 1] plus noise of rate eta."""
    outputs = np.linspace(-9, 9, 2001)  # the two centers are -weight and +weight, inside
    near, far = (stats.laplace.logpdf(outputs, s * weight, 1 / eta) for s in (1, -1))
    return float(np.max(np.abs(near - far)))


@hidden("rate_that_spends_all", weight=3, promise=True)
def densities_spend_every_budget(answer: Answer, rng: Generator) -> bool:
    """For a mean of labels, the densities of neighbors differ by each person's budget."""
    epsilon = rng.uniform(0.05, 1, 6)
    epsilon[3] = epsilon[0]  # two people with one budget are two people
    eta = float(answer(epsilon, 2.0))  # a label goes from -1 to 1: by 2 per unit weight
    weights = epsilon / epsilon.sum()
    losses = [_loss_of_mean(weight, eta) for weight in weights]
    return bool(np.allclose(losses, epsilon, rtol=ROUNDING))


@hidden("rate_that_spends_all")
def one_more_person_helps(answer: Answer, rng: Generator) -> bool:
    """One more person makes the noise shorter, however small their budget is."""
    epsilon = rng.uniform(0.1, 1, 7)
    more = [answer(np.append(epsilon, extra), 3.0) for extra in (1e-3, 0.5, 4.0)]
    return bool(answer(epsilon, 3.0) < more[0] < more[1] < more[2])


@hidden("rate_that_spends_all")
def two_accounts_make_no_difference(answer: Answer, rng: Generator) -> bool:
    """Somebody who divides a budget between two accounts does not change the rate."""
    epsilon = rng.uniform(0.1, 1, 5)
    parts = np.array([0.2 * epsilon[0], *epsilon[1:], 0.8 * epsilon[0]])
    return bool(np.isclose(answer(parts, 1.5), answer(epsilon, 1.5), rtol=ROUNDING))


@hidden("rate_that_spends_all")
def budgets_and_constant_cancel(answer: Answer, rng: Generator) -> bool:
    """Budgets and constant that both double leave the noise as it was."""
    epsilon = rng.uniform(0.1, 1, 5)
    return bool(np.isclose(answer(2 * epsilon, 3.0), answer(epsilon, 1.5), rtol=ROUNDING))


# --- promise_to_each ------------------------------------------------------------------------------


@hidden("promise_to_each", weight=3, promise=True)
def promises_are_what_densities_say(answer: Answer, rng: Generator) -> Demands:
    """For a mean of labels, each promise is how much the densities of neighbors differ."""
    for share, eta in ((1, rng.uniform(0.5, 5)), (0.3, 4.0)):  # in the second, one has most
        weights = share * random_weights(rng)
        weights[0] += 1 - share
        losses = [_loss_of_mean(weight, eta) for weight in weights]
        yield np.allclose(answer(weights, eta, 2.0), losses, rtol=ROUNDING, atol=1e-12)


@hidden("promise_to_each")
def proportional_weights_return_the_budgets(answer: Answer, rng: Generator) -> bool:
    """Weights and noise that were made from budgets give these budgets back."""
    epsilon, constant = rng.uniform(0.01, 1, 9), rng.uniform(1, 40)
    total = epsilon.sum()
    return bool(np.allclose(answer(epsilon / total, total / constant, constant), epsilon))


@hidden("promise_to_each")
def no_weight_no_loss(answer: Answer, rng: Generator) -> bool:
    """Somebody of weight 0 loses nothing, and the others lose what they lost before."""
    weights = random_weights(rng)
    found = np.asarray(answer(np.append(weights, 0.0), 0.8, 4.0))
    return bool(found[-1] == 0 and np.allclose(found[:-1], answer(weights, 0.8, 4.0)))


@hidden("promise_to_each", promise=True)
def the_weights_of_others_do_not_count(answer: Answer, rng: Generator) -> bool:
    """A promise does not change when others get other weights, or less weight in all."""
    weights = random_weights(rng)
    other = np.append(weights[:1], (1 - weights[0]) * random_weights(rng, n=5))
    less = np.append(weights[:1], 0.1 * weights[1:])
    found = [answer(w, 0.7, 5.0)[0] for w in (weights, other, less)]
    return bool(np.allclose(found, found[0], rtol=ROUNDING))
