"""An interval for a prediction: how far noise moves it."""

import numpy as np
from numpy.random import Generator
from scipy import stats

from pdpbook.pages.exercises.capstone import hidden
from pdpbook.pages.exercises.properties import Answer, Demands


def _coverage(d: int, width: float) -> float:
    """Chance that one coordinate of noise of rate 1 is within a width, by another road.

    The characteristic function of the noise is (1 + |s|^2)^(-(d + 1)/2), that of a normal vector
    whose variance is twice a Gamma variable of shape (d + 1)/2.
    """
    share = (np.arange(5000) + 0.5) / 5000
    mixed = np.sqrt(2 * stats.gamma.ppf(share, (d + 1) / 2))
    return float(np.mean(2 * stats.norm.cdf(width / mixed) - 1))


@hidden("noise_half_width", weight=3, promise=True)
def the_interval_covers_as_often_as_it_says(answer: Answer, rng: Generator) -> Demands:
    """In every dimension the noise is within the width with the probability asked for."""
    for d, level in ((1, 0.9), (2, 0.5), (2, 0.95), (3, 0.99), (7, 0.9)):
        x, eta = rng.uniform(0.1, 2, d), rng.uniform(0.5, 20)
        width = answer(x, eta, level) * eta / np.linalg.norm(x)
        yield abs(_coverage(d, float(width)) - level) < 1e-3


@hidden("noise_half_width", promise=True)
def a_thousandth_is_kept_everywhere(answer: Answer, rng: Generator) -> bool:
    """In twenty dimensions, one after another, half of the noise is within, to a thousandth."""
    for d in range(1, 21):
        width = float(answer(np.eye(d)[0], 1.0, 0.5))
        if not abs(_coverage(d, width) - 0.5) < 1e-3:
            return False
    return True


@hidden("noise_half_width")
def only_the_length_of_a_row_counts(answer: Answer, rng: Generator) -> bool:
    """Two rows of the same length and number of features have the same width."""
    x = rng.uniform(0.1, 1, 4)
    along = np.array([np.linalg.norm(x), 0, 0, 0])
    return bool(np.isclose(answer(x, 2.0, 0.9), answer(along, 2.0, 0.9), rtol=1e-2))


@hidden("noise_half_width")
def twice_the_rate_is_half_the_width(answer: Answer, rng: Generator) -> bool:
    """Twice the rate halves the width, and a row a thousand times as long needs as much more."""
    x, eta = rng.uniform(0.1, 1, 3), rng.uniform(1, 9)
    width = answer(x, eta, 0.9)
    others = 2 * answer(x, 2 * eta, 0.9), answer(1000 * x, eta, 0.9) / 1000
    return bool(np.allclose(others, width, rtol=1e-2, atol=0))


@hidden("noise_half_width")
def a_feature_that_is_0_still_counts(answer: Answer, rng: Generator) -> bool:
    """More released coefficients mean a wider interval for the same one of them."""
    widths = [answer(np.eye(d)[0], 1.0, 0.9) for d in (1, 2, 4, 8)]
    return bool(np.all(np.diff(widths) > 0.1))


@hidden("noise_half_width")
def one_number_is_nearer_than_all(answer: Answer, rng: Generator) -> Demands:
    """One number needs a narrower interval than the length of all the noise."""
    for d in (2, 5, 20):
        length = stats.gamma(d).ppf(0.9)
        yield bool(answer(np.eye(d)[0], 1.0, 0.9) < 0.9 * length)
