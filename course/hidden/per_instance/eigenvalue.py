"""A private lower bound of the smallest eigenvalue."""

from typing import Any

import numpy as np
from numpy.random import Generator
from scipy import stats

from course.hidden import ALARM, ROUNDING
from pdpbook.pages.exercises.per_instance import hidden
from pdpbook.pages.exercises.properties import Answer


def _smallest(X: Any) -> float:
    return float(np.linalg.svd(X, compute_uv=False)[-1] ** 2)


def unit_rows(rng: Generator, n: int = 120, d: int = 2) -> Any:
    X = rng.normal(size=(n, d))
    return X / np.linalg.norm(X, axis=1, keepdims=True)


@hidden("private_eigenvalue_bound", draws=True, weight=3, promise=True)
def it_is_wrong_as_often_as_allowed(answer: Answer, rng: Generator) -> bool:
    """The bound is too large as often as it may be: not more often, and not more rarely."""
    calls, beta, fine = 800, float(rng.choice([0.25, 0.3])), []
    full = unit_rows(rng)
    empty = full * [1, 0]  # of such data, too, the bound is above 0 as often as allowed
    for X, smallest in ((full, _smallest(full)), (empty, 0.0)):
        wrong = sum(float(answer(X, 2.0, beta, rng)) > smallest for _ in range(calls))
        fine.append(stats.binomtest(wrong, calls, beta).pvalue > ALARM / 2)
    return all(fine)


@hidden("private_eigenvalue_bound", draws=True, promise=True)
def noise_spends_the_budget(answer: Answer, rng: Generator) -> bool:
    """The noise is Laplace, as loud as the budget demands and no louder."""
    X, epsilon = unit_rows(rng), float(rng.choice([0.7, 3.0]))
    bounds = np.array([float(answer(X, epsilon, 0.1, rng)) for _ in range(1000)])
    apart = epsilon * np.abs(bounds[::2] - bounds[1::2])  # what is subtracted drops out
    beyond = (1 + apart / 2) * np.exp(-apart)  # chance that two Laplace variables are farther apart
    far = stats.binomtest(int(np.sum(apart > 3)), len(apart), 2.5 * np.exp(-3))
    return bool(min(far.pvalue, stats.kstest(beyond, "uniform").pvalue) > ALARM / 2)


def _eigenvalue_with_room(rng: Generator, epsilon: float) -> tuple[Any, float]:
    """Rows, and the middle of bounds at a beta of 0.3: far above 0, where the bound would end."""
    X = np.repeat(np.linalg.qr(rng.normal(size=(2, 2)))[0], 6, axis=0)  # both eigenvalues are 6
    return X, 6 - np.log(1 / 0.6) / epsilon


@hidden("private_eigenvalue_bound", draws=True, promise=True)
def noise_has_the_law_of_laplace(answer: Answer, rng: Generator) -> bool:
    """Noise has the law of Laplace, on both sides, and not just the variance."""
    X, middle = _eigenvalue_with_room(rng, 50.0)
    noise = [50 * (float(answer(X, 50.0, 0.3, rng)) - middle) for _ in range(2500)]
    longest = np.max(np.abs(noise))  # a Laplace variable is beyond 5 in one of 150 draws
    return bool(longest > 5 and stats.kstest(noise, "laplace").pvalue > ALARM / 2)


@hidden("private_eigenvalue_bound", draws=True, promise=True)
def noise_is_not_a_thirtieth_too_short(answer: Answer, rng: Generator) -> bool:
    """Over many calls the noise is not a thirtieth shorter than the budget demands."""
    epsilon, short = 50.0, 29 / 30
    X, middle = _eigenvalue_with_room(rng, epsilon)
    odds = 0.0  # in nats, of noise that is too short; by Ville they rarely grow for one that is not
    for _ in range(100_000):
        length = epsilon * abs(float(answer(X, epsilon, 0.3, rng)) - middle)
        odds += length * (1 - 1 / short) - np.log(short)
        if not -12 < odds < -np.log(ALARM):
            break
    return bool(odds < -np.log(ALARM))


@hidden("private_eigenvalue_bound", promise=True)
def one_person_moves_it_by_one_at_most(answer: Answer, rng: Generator) -> bool:
    """With equal noise, one person more moves the bound by at most 1."""
    X = unit_rows(rng) * 0.7
    moved = []
    for x in (np.linalg.svd(X)[2][-1], *unit_rows(rng, n=15)):
        Y, state = np.vstack([X, x]), int(rng.integers(2**31))
        pair = (np.random.default_rng(state) for _ in range(2))
        one, two = (float(answer(A, 1.0, 0.1, g)) for A, g in zip((X, Y), pair, strict=True))
        moved.append(abs(one - two) - ROUNDING * abs(one))
    return max(moved) <= 1


@hidden("private_eigenvalue_bound", promise=True)
def a_huge_budget_leaves_the_eigenvalue(answer: Answer, rng: Generator) -> bool:
    """With a huge budget it is the smallest eigenvalue itself."""
    X = unit_rows(rng, d=5) * rng.uniform(0.2, 1, (120, 1))
    few = answer(X[:3], 1e9, 0.1, rng)  # of three people and five features it is 0
    return bool(np.isclose(answer(X, 1e9, 0.1, rng), _smallest(X), rtol=1e-6) and few < 1e-6)
