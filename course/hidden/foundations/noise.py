"""Noise with a radius, and what it costs."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ALARM
from pdpbook.pages.exercises.foundations import hidden
from pdpbook.pages.exercises.properties import Answer, Demands

# --- sample_l2_laplace ----------------------------------------------------------------------------


@hidden("sample_l2_laplace", draws=True, weight=3, promise=True)
def the_radius_has_its_law(answer: Answer, rng: Generator) -> Demands:
    """The lengths of the noise follow the radial law of its density."""
    for d, eta in ((1, 0.5), (2, 3.0), (6, 0.4)):
        radius = np.linalg.norm(answer(d, eta, 4000, rng), axis=1)
        law = stats.gamma(d, scale=1 / eta)
        yield stats.kstest(radius, law.cdf).pvalue > ALARM / 3


@hidden("sample_l2_laplace", draws=True, promise=True)
def lengths_are_right_in_many_dimensions(answer: Answer, rng: Generator) -> bool:
    """In twenty dimensions, too, lengths follow their law, and are not a percent off on average."""
    d, eta, size = 20, 1.5, 40_000
    radius = np.linalg.norm(answer(d, eta, size, rng), axis=1)
    law, total = stats.gamma(d, scale=1 / eta), stats.gamma(d * size, scale=1 / eta)
    mean = 2 * min(total.cdf(radius.sum()), total.sf(radius.sum()))
    return bool(min(mean, stats.kstest(radius, law.cdf).pvalue) > ALARM / 2)


def _directions(z: Any) -> Any:
    return z / np.linalg.norm(z, axis=1, keepdims=True)


def _law_of_cosines(d: int) -> Any:
    """Of (1 + u.v)/2 for a uniform direction u and any other v that does not depend on it."""
    return stats.beta((d - 1) / 2, (d - 1) / 2)


@hidden("sample_l2_laplace", draws=True, promise=True)
def every_direction_is_alike(answer: Answer, rng: Generator) -> bool:
    """No direction is more likely than another: not an axis, not a diagonal, not a half-space."""
    chances = []
    for d in (3, 5):
        u, law = _directions(answer(d, 1.0, 10_000, rng)), _law_of_cosines(d)
        places = [np.eye(d)[0], np.eye(d)[-1], np.ones(d), rng.normal(size=d)]
        ways = [v / np.linalg.norm(v) for v in places]
        chances += [stats.kstest((1 + u @ v) / 2, law.cdf).pvalue for v in ways]
    return bool(min(chances) > ALARM / len(chances))


@hidden("sample_l2_laplace", draws=True, promise=True)
def rows_are_drawn_anew(answer: Answer, rng: Generator) -> bool:
    """Each row has a length of its own, which does not depend on the row before."""
    radius = np.linalg.norm(answer(3, 1.0, 2000, rng), axis=1)
    if len(np.unique(radius)) < 2000:
        return False
    return bool(stats.spearmanr(radius[:-1], radius[1:]).pvalue > ALARM)


@hidden("sample_l2_laplace", draws=True, promise=True)
def directions_are_drawn_anew(answer: Answer, rng: Generator) -> bool:
    """Each row of each call has a direction of its own, of which the row before says nothing."""
    d, size = 3, 4000
    u = _directions(np.vstack([answer(d, 1.0, size // 2, rng) for _ in range(2)]))
    if len(np.unique(np.abs(u[:, 0]).round(12))) < size - 1:  # two ties: a chance of 3e-11
        return False
    cosines = np.sum(u[:-1] * u[1:], axis=1)
    return bool(stats.kstest((1 + cosines) / 2, _law_of_cosines(d).cdf).pvalue > ALARM)


@hidden("sample_l2_laplace", draws=True, promise=True)
def length_and_direction_are_strangers(answer: Answer, rng: Generator) -> bool:
    """Noise is no longer in one direction than in another."""
    z = answer(3, 1.0, 4000, rng)
    radius, u = np.linalg.norm(z, axis=1), _directions(z)
    sides = [*u.T, *np.abs(u).T]
    return all(stats.spearmanr(radius, side).pvalue > ALARM / len(sides) for side in sides)


@hidden("sample_l2_laplace", draws=True, promise=True)
def short_calls_have_the_law_too(answer: Answer, rng: Generator) -> bool:
    """Over many calls for two rows, lengths follow their law: no row is fitted to the other."""
    radius = np.array([np.linalg.norm(answer(2, 1.0, 2, rng), axis=1) for _ in range(800)])
    law = stats.gamma(2)
    if len(np.unique(radius)) < 1500:
        return False
    total = stats.kstest(radius.sum(axis=1), stats.gamma(4).cdf).pvalue
    return bool(min(total, stats.kstest(radius.ravel(), law.cdf).pvalue) > ALARM / 2)


# --- squared_error_of_noise -----------------------------------------------------------------------


@hidden("squared_error_of_noise")
def half_the_rate_is_four_times_the_error(answer: Answer, rng: Generator) -> bool:
    """Noise that is twice as long has four times the squared error."""
    eta = rng.uniform(0.1, 3)
    return bool(np.isclose(answer(4, eta / 2), 4 * answer(4, eta)))


@hidden("squared_error_of_noise")
def one_dimension_is_laplace(answer: Answer, rng: Generator) -> bool:
    """In one dimension it is the variance of the Laplace law."""
    return bool(np.isclose(answer(1, 2.0), stats.laplace(scale=0.5).var()))


@hidden("squared_error_of_noise", weight=3, promise=True)
def error_is_a_moment_of_the_radius(answer: Answer, rng: Generator) -> Demands:
    """It is the mean squared length of the noise in every dimension."""
    for d in (2, 5, 17, 180):
        moment = stats.gamma(d, scale=1 / 0.7).moment(2)
        yield bool(np.isclose(answer(d, 0.7), moment, rtol=1e-6))
