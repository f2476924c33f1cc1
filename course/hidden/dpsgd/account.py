"""What many noisy steps cost: Rényi divergences of whole orders, and one epsilon in the end."""

from functools import cache
from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import special

from pdpbook.pages.exercises.dpsgd import hidden
from pdpbook.pages.exercises.properties import ROUNDING, Answer, Demands

ORDERS = range(2, 257)


@cache
def renyi(rate: float, sigma: float, order: int) -> float:
    """Divergence of one step, from the excess over 1 of its moment, so that nothing cancels."""
    if rate == 1:
        return order / (2 * sigma**2)
    j = np.arange(2, order + 1)
    growth = j * (j - 1) / (2 * sigma**2)
    ways = special.gammaln(order + 1) - special.gammaln(j + 1) - special.gammaln(order - j + 1)
    logs = ways + j * np.log(rate) + (order - j) * np.log1p(-rate)
    excess = special.logsumexp(logs + growth + np.log(-np.expm1(-growth)))
    return float(np.logaddexp(0, excess)) / (order - 1)


def proved(rate: float, sigma: float, steps: int, delta: float) -> float:
    """The smallest epsilon that an order proves, at least 0."""
    every = [
        steps * renyi(rate, sigma, order)
        + np.log1p(-1 / order)
        - np.log(delta * order) / (order - 1)
        for order in ORDERS
    ]
    return max(0.0, float(min(every)))


def runs(rng: Generator) -> list[tuple[float, float, int, float]]:
    """Rate, noise multiplier, steps and delta of usual runs."""
    some = [(0.01, 0.8, 1000), (0.1, 1.0, 100), (0.05, 1.5, 400), (0.3, 4.0, 30), (0.02, 1.1, 1)]
    drawn = float(rng.uniform(0.05, 0.5)), float(rng.uniform(1, 4)), int(rng.integers(20, 200))
    return [(*one, delta) for one in [*some, drawn] for delta in (1e-3, 1e-6)]


#: what is given, and the smallest epsilon, which a test computes with fifty digits
CASES: list[tuple[tuple[float, float, int, float], float]] = [
    ((0.1, 0.3, 1, 1e-6), 18.936635617),
    ((1e-4, 0.2, 100, 1e-8), 675.105095077),
    ((0.001, 5.0, 100_000, 1e-5), 0.231615555282),
    ((0.1, 2.0, 50, 1e-15), 4.00184914523),
    ((0.9, 0.1, 20, 1e-5), 2005.91221048),
    ((0.01, 100.0, 1000, 1e-5), 0.0207694201074),
    ((0.5, 10.0, 3, 0.01), 0.112236041556),
    ((0.999, 1.0, 7, 1e-6), 16.4439014508),
    ((1e-6, 2.0, 1, 1e-5), 0.0528055286712),
    ((9e-6, 0.3, 100_000, 1e-5), 10.6685965455),
    ((0.5, 0.03, 1, 1e-5), 1119.85144785),
    ((0.5, 0.005, 1, 1e-5), 40008.7403367),
    ((1.0, 0.5, 100_000, 1e-5), 400010.126631),
    ((1.0, 0.005, 100_000, 1e-5), 4000000010.13),
    ((0.1, 1.0, 10, 0.2), 0.167070706809),
    ((0.1, 1.0, 100_000, 1e-5), 1713.81295472),
    ((0.01, 1.0, 100_000, 1e-5), 27.3079733113),
    ((0.1, 1.004, 100, 1e-5), 7.92339646917),
    ((0.1, 0.996, 100, 1e-5), 8.02376182112),
]


@hidden("epsilon_of_steps", weight=3, promise=True)
def no_order_proves_less(answer: Answer, rng: Generator) -> Demands:
    """No whole order from 2 to 256 proves a smaller epsilon than the one that is said."""
    for run in runs(rng):
        yield bool(answer(*run) >= proved(*run) * (1 - ROUNDING))


@hidden("epsilon_of_steps", promise=True)
def without_sampling_nobody_is_hidden_by_a_coin(answer: Answer, rng: Generator) -> Demands:
    """With everybody in every batch it is that of normal noise alone."""
    for sigma, steps, delta in ((1.0, 1, 1e-5), (10.0, 10, 1e-6), (0.5, 3, 1e-4), (30.0, 5, 1e-5)):
        run: Any = 1.0, sigma, steps, delta
        yield bool(answer(*run) >= proved(*run) * (1 - ROUNDING))


@hidden("epsilon_of_steps", promise=True)
def the_extremes(answer: Answer, rng: Generator) -> Demands:
    """Little noise, a tiny delta, a single step and a hundred thousand of them count, too."""
    for run, least in CASES:
        yield bool(answer(*run) >= least * (1 - ROUNDING))


@hidden("epsilon_of_steps", weight=2)
def the_best_order_is_found(answer: Answer, rng: Generator) -> Demands:
    """It is no more than what the best of these orders proves."""
    for run in runs(rng):
        yield bool(answer(*run) <= proved(*run) * (1 + ROUNDING))
    for run, least in CASES:
        yield bool(answer(*run) <= least * (1 + ROUNDING))


@hidden("epsilon_of_steps")
def it_is_never_below_zero(answer: Answer, rng: Generator) -> Demands:
    """Where an order would prove less than 0 it is 0."""
    for sigma, delta in ((50.0, 0.4), (1000.0, 0.3)):
        yield bool(answer(0.01, sigma, 1, delta) == 0)
