"""The reach of noise: a radius that is rarely exceeded."""

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ALARM, ROUNDING
from pdpbook.pages.exercises.personalized import hidden
from pdpbook.pages.exercises.properties import Answer, Demands


@hidden("noise_reach", weight=3, promise=True)
def the_tail_counts_events(answer: Answer, rng: Generator) -> Demands:
    """Beyond the radius lies the given chance, in any dimension."""
    for d in (1, 2, 7, 30, 400):
        eta, chance = rng.uniform(0.05, 4), rng.uniform(0.001, 0.6)
        # the radius exceeds r when fewer than d events of a Poisson process happen before r
        radius = eta * answer(eta, d, chance) * (1 + ROUNDING * np.array([1, -1]))
        low, high = stats.poisson.cdf(d - 1, radius)
        yield bool(low <= chance <= high)


@hidden("noise_reach")
def one_dimension_is_two_tails(answer: Answer, rng: Generator) -> bool:
    """In one dimension it leaves the given chance in both tails of the Laplace law together."""
    eta, chance = rng.uniform(0.1, 3), rng.uniform(0.01, 0.5)
    tails = 2 * stats.laplace.sf(answer(eta, 1, chance), scale=1 / eta)
    return bool(np.isclose(tails, chance, rtol=10 * ROUNDING))


@hidden("noise_reach")
def half_the_rate_reaches_twice_as_far(answer: Answer, rng: Generator) -> bool:
    """Noise of half the rate reaches twice as far."""
    eta = rng.uniform(0.1, 3)
    return bool(np.isclose(answer(eta / 2, 5, 0.1), 2 * answer(eta, 5, 0.1), rtol=ROUNDING))


@hidden("noise_reach")
def a_tiny_chance_is_still_a_chance(answer: Answer, rng: Generator) -> bool:
    """A chance of 1e-20 gives a finite radius, farther out than one of 1e-15."""
    near, far = answer(1.0, 1, 1e-15), answer(1.0, 1, 1e-20)
    return bool(np.isclose(far - near, 5 * np.log(10), rtol=10 * ROUNDING))


@hidden("noise_reach", draws=True, promise=True)
def releases_exceed_it_as_often_as_asked(answer: Answer, rng: Generator) -> bool:
    """Noise exceeds the radius as often as asked, neither more nor less."""
    fine, draws = [], 20_000
    for d, chance in ((1, 0.3), (4, 0.1), (12, 0.02)):
        radius = rng.exponential(1 / 0.6, (draws, d)).sum(axis=1)
        beyond = int(np.sum(radius > answer(0.6, d, chance)))
        law = stats.binom(draws, chance)
        fine.append(2 * min(law.cdf(beyond), law.sf(beyond - 1)) > ALARM / 3)
    return all(fine)
