"""The loss of one person: at a release, and over all of them."""

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ROUNDING
from course.hidden.per_instance.laws import densities, excess, outsider
from pdpbook.pages.exercises.per_instance import hidden, people, posterior_law
from pdpbook.pages.exercises.properties import Answer, Demands

# --- loss_at_release ------------------------------------------------------------------------------


@hidden("loss_at_release", weight=3, promise=True)
def it_compares_the_two_densities(answer: Answer, rng: Generator) -> bool:
    """It is the logarithm of how much likelier the release is without the person."""
    X, y = people(rng)
    i, lam, gamma = int(rng.integers(25)), 0.7, float(rng.choice([0.2, 3.5]))
    law = posterior_law(np.delete(X, i, axis=0), np.delete(y, i), lam, gamma)
    theta = law.rvs(20, random_state=rng)
    exact = law.logpdf(theta) - posterior_law(X, y, lam, gamma).logpdf(theta)
    found = answer(theta, X, y, i, lam, gamma)
    return bool(np.allclose(found, exact, rtol=ROUNDING, atol=ROUNDING))


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
    return bool(np.allclose(one, two, rtol=ROUNDING, atol=ROUNDING))


@hidden("loss_at_release")
def a_perfect_fit_points_at_the_person(answer: Answer, rng: Generator) -> bool:
    """No release points more to the person's presence than one that fits them perfectly."""
    X, y = people(rng)
    theta = rng.normal(size=(40, 3))
    perfect = theta + np.outer((y[2] - theta @ X[2]) / (X[2] @ X[2]), X[2])
    both_sides = np.vstack([perfect, theta, 2 * perfect - theta])
    loss = np.asarray(answer(both_sides, X, y, 2, 0.7, 1.3))
    return bool(np.all(loss[:40] <= loss.min() + ROUNDING * np.abs(loss).max()))


@hidden("loss_at_release")
def many_features_are_no_overflow(answer: Answer, rng: Generator) -> bool:
    """It is right, too, for two hundred features, and for releases that are far from every fit."""
    X, y = people(rng, n=50, d=200)
    leverage, residual = outsider(X[1:], y[1:], X[0], y[0], 0.7, 50.0)
    theta = rng.normal(size=(4, 200)) * [[0.01], [0.1], [1], [10]]
    v = np.sqrt(50) * (y[0] - theta @ X[0])
    exact = (v**2 - residual**2 / (1 + leverage) - np.log1p(leverage)) / 2
    return bool(np.allclose(answer(theta, X, y, 0, 0.7, 50.0), exact, rtol=ROUNDING, atol=ROUNDING))


# --- delta_both_ways ------------------------------------------------------------------------------

PERSONS = (
    (0.5, 2.0),
    (0.02, 4.0),
    (1.5, 0.3),
    (0.6, 0.0),
    (3.0, 6.0),
)  # leverage and scaled residual


@hidden("delta_both_ways", weight=3, promise=True)
def no_event_exceeds_by_more(answer: Answer, rng: Generator) -> Demands:
    """In each direction some event exceeds the promise by delta, and none by more."""
    for leverage, residual in PERSONS:
        _, p, q = densities(leverage, residual)
        for epsilon in rng.uniform([0.1, 1.1], [0.8, 3.0]):
            exact = excess(p, q, epsilon), excess(q, p, epsilon)
            yield np.allclose(answer(epsilon, leverage, residual), exact, rtol=0, atol=2e-6)


@hidden("delta_both_ways")
def at_zero_it_is_the_distance(answer: Answer, rng: Generator) -> bool:
    """At epsilon 0 both are the total variation distance of the two laws."""
    leverage, residual = float(rng.uniform(0.1, 1)), float(rng.uniform(0.5, 3))
    _, p, q = densities(leverage, residual)
    distance = np.abs(p - q).sum() / 2
    return bool(np.allclose(answer(0.0, leverage, residual), distance, atol=1e-6))


@hidden("delta_both_ways", promise=True)
def with_little_leverage_it_is_a_shift(answer: Answer, rng: Generator) -> bool:
    """For somebody of tiny leverage it is the profile of a shifted normal law."""
    shift, epsilon = float(rng.uniform(0.5, 2)), 0.4
    cut = epsilon / shift
    gauss = stats.norm.cdf(shift / 2 - cut) - np.exp(epsilon) * stats.norm.cdf(-shift / 2 - cut)
    found = answer(epsilon, 1e-6, shift * 1e3)
    return bool(np.allclose(found, gauss, atol=1e-5))  # the two laws differ by about the leverage


@hidden("delta_both_ways", promise=True)
def the_directions_end_differently(answer: Answer, rng: Generator) -> bool:
    """Only one of the two directions is exactly private from some epsilon on."""
    _, p, q = densities(0.5, 1.0)
    end = np.max(np.log(q / p))
    add, remove = answer(end + 0.05, 0.5, 1.0)
    exact = excess(p, q, end + 0.05), 0.0
    return bool(np.allclose((add, remove), exact, rtol=0, atol=2e-6))
