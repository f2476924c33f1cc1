"""The loss of one person: at a release, and over all of them."""

from __future__ import annotations

import numpy as np
from numpy.random import Generator
from scipy import stats

from pdpbook.exercises.per_instance.assignment import hidden, visible
from pdpbook.exercises.per_instance.laws import densities, excess, people, posterior_law
from pdpbook.exercises.properties import Answer

# --- loss_at_release ------------------------------------------------------------------------------


@visible("loss_at_release")
def every_release_has_a_loss(answer: Answer, rng: Generator) -> bool:
    """There is one finite loss for each release."""
    X, y = people(rng)
    loss = np.asarray(answer(rng.normal(size=(6, 3)), X, y, 2, 0.7, 1.3))
    return bool(loss.shape == (6,) and np.all(np.isfinite(loss)))


@visible("loss_at_release")
def who_has_no_row_loses_nothing(answer: Answer, rng: Generator) -> bool:
    """Somebody whose features are all 0 loses nothing, whatever is released."""
    X, y = people(rng)
    X[4] = 0
    loss = answer(rng.normal(size=(6, 3)), X, y, 4, 0.7, 1.3)
    return bool(np.allclose(loss, 0, atol=1e-8))


@visible("loss_at_release")
def a_good_fit_and_a_bad_one_differ(answer: Answer, rng: Generator) -> bool:
    """A release that fits a person perfectly speaks for them, one that is far off against them."""
    X, y = people(rng)
    fits = np.outer((y[2] + np.array([0.0, 1e3])) / (X[2] @ X[2]), X[2])
    good, bad = answer(fits, X, y, 2, 0.7, 1.3)
    return bool(good < 0 < bad)


@hidden("loss_at_release")
def it_compares_the_two_densities(answer: Answer, rng: Generator) -> bool:
    """It is the logarithm of how much likelier the release is without the person."""
    X, y = people(rng)
    i, lam, gamma = int(rng.integers(25)), 0.7, float(rng.choice([0.2, 3.5]))
    law = posterior_law(np.delete(X, i, axis=0), np.delete(y, i), lam, gamma)
    theta = law.rvs(20, random_state=rng)
    exact = law.logpdf(theta) - posterior_law(X, y, lam, gamma).logpdf(theta)
    return bool(np.allclose(answer(theta, X, y, i, lam, gamma), exact, rtol=1e-7, atol=1e-7))


@hidden("loss_at_release")
def losses_turn_one_law_into_the_other(answer: Answer, rng: Generator) -> bool:
    """Weighed down by its losses, the law without the person still adds up to one."""
    X, y = people(rng, n=5, d=1)
    law = posterior_law(X[1:], y[1:], 0.7, 1.3)
    spread = np.sqrt(law.cov.item())
    theta = law.mean + spread * np.linspace(-12, 12, 4001)[:, None]
    weight = law.pdf(theta) * spread * 24 / 4000
    loss = np.asarray(answer(theta, X, y, 0, 0.7, 1.3))
    return bool(np.isclose(weight @ np.exp(-loss), 1, rtol=1e-6))


@hidden("loss_at_release")
def only_their_own_prediction_tells(answer: Answer, rng: Generator) -> bool:
    """Two releases that predict the same for the person have the same loss."""
    X, y = people(rng)
    theta, aside = rng.normal(size=(2, 8, 3))
    aside -= np.outer(aside @ X[2], X[2]) / (X[2] @ X[2])
    one, two = (np.asarray(answer(t, X, y, 2, 0.7, 1.3)) for t in (theta, theta + aside))
    return bool(np.allclose(one, two, rtol=1e-7, atol=1e-7))


@hidden("loss_at_release")
def a_perfect_fit_points_at_the_person(answer: Answer, rng: Generator) -> bool:
    """No release points more to the person's presence than one that fits them perfectly."""
    X, y = people(rng)
    theta = rng.normal(size=(40, 3))
    perfect = theta + np.outer((y[2] - theta @ X[2]) / (X[2] @ X[2]), X[2])
    both_sides = np.vstack([perfect, theta, 2 * perfect - theta])
    loss = np.asarray(answer(both_sides, X, y, 2, 0.7, 1.3))
    return bool(np.all(loss[:40] <= loss.min() + 1e-9))


# --- delta_both_ways ------------------------------------------------------------------------------

PERSONS = ((0.5, 2.0), (0.02, 4.0), (1.5, 0.3))  # leverage and scaled residual


@visible("delta_both_ways")
def both_deltas_are_probabilities(answer: Answer, rng: Generator) -> bool:
    """There are two numbers, both from 0 to 1."""
    found = np.asarray(answer(0.5, 0.5, 2.0), dtype=float)
    return bool(found.shape == (2,) and np.all((found >= 0) & (found <= 1)))


@visible("delta_both_ways")
def a_larger_epsilon_leaves_less(answer: Answer, rng: Generator) -> bool:
    """Neither delta grows with epsilon."""
    found = np.array([answer(epsilon, 0.5, 2.0) for epsilon in (0.0, 0.3, 1.0, 3.0)])
    return bool(np.all(np.diff(found, axis=0) <= 1e-9))


@visible("delta_both_ways")
def more_leverage_and_residual_show_more(answer: Answer, rng: Generator) -> bool:
    """Both deltas are larger for somebody with more leverage and a larger residual."""
    little, much = (np.asarray(answer(0.1, *person)) for person in ((0.1, 0.2), (0.5, 2.0)))
    return bool(np.all(little < much))


@hidden("delta_both_ways")
def no_event_exceeds_by_more(answer: Answer, rng: Generator) -> bool:
    """In each direction some event exceeds the promise by delta, and none by more."""
    fine = []
    for leverage, residual in PERSONS:
        epsilon = float(rng.uniform(0.1, 0.8))
        _, p, q = densities(leverage, residual)
        exact = excess(p, q, epsilon), excess(q, p, epsilon)
        fine.append(bool(np.allclose(answer(epsilon, leverage, residual), exact, atol=1e-6)))
    return all(fine)


@hidden("delta_both_ways")
def at_zero_it_is_the_distance(answer: Answer, rng: Generator) -> bool:
    """At epsilon 0 both are the total variation distance of the two laws."""
    leverage, residual = float(rng.uniform(0.1, 1)), float(rng.uniform(0.5, 3))
    _, p, q = densities(leverage, residual)
    distance = np.abs(p - q).sum() / 2
    return bool(np.allclose(answer(0.0, leverage, residual), distance, atol=1e-6))


@hidden("delta_both_ways")
def with_little_leverage_it_is_a_shift(answer: Answer, rng: Generator) -> bool:
    """For somebody of tiny leverage it is the profile of a shifted normal law."""
    shift, epsilon = float(rng.uniform(0.5, 2)), 0.4
    cut = epsilon / shift
    gauss = stats.norm.cdf(shift / 2 - cut) - np.exp(epsilon) * stats.norm.cdf(-shift / 2 - cut)
    found = answer(epsilon, 1e-6, shift * 1e3)
    return bool(np.allclose(found, gauss, atol=1e-5))  # the two laws differ by about the leverage


@hidden("delta_both_ways")
def the_directions_end_differently(answer: Answer, rng: Generator) -> bool:
    """Only one of the two directions is exactly private from some epsilon on."""
    _, p, q = densities(0.5, 1.0)
    end = np.max(np.log(q / p))
    add, remove = answer(end + 0.05, 0.5, 1.0)
    return bool(abs(remove) < 1e-9 and np.isclose(add, excess(p, q, end + 0.05), atol=1e-6))
