"""One person's exposure: what a release says about them."""

from typing import Any

import numpy as np
from numpy.random import Generator
from sklearn.linear_model import Ridge

from course.hidden import ROUNDING, leaves
from pdpbook.noise import L2Laplace
from pdpbook.pages.exercises.capstone import hidden, town
from pdpbook.pages.exercises.properties import Answer, Demands
from pdpbook.sensitivity import ridge_constant


def _fit(X: Any, y: Any, weights: Any, lam: float) -> Any:
    return Ridge(lam, fit_intercept=False).fit(X, y, sample_weight=weights).coef_


def _two_fits(X: Any, y: Any, weights: Any, lam: float, rows: list[int]) -> tuple[Any, Any]:
    without = np.array(weights)
    without[rows] = 0
    return _fit(X, y, weights, lam), _fit(X, y, without, lam)


@hidden("evidence_of_release")
def a_null_record_leaves_no_evidence(answer: Answer, rng: Generator) -> bool:
    """Somebody whose records are null from the start leaves no evidence."""
    X, y, budgets = town(rng)
    X[[2, 5]], y[[2, 5]] = 0, 0
    found = answer(rng.normal(size=2), X, y, budgets / budgets.sum(), 0.3, 40.0, [2, 5])
    return bool(abs(found) < 1e-9)


@hidden("evidence_of_release", weight=3, promise=True)
def it_compares_the_laws_of_the_release(answer: Answer, rng: Generator) -> Demands:
    """It is the logarithm of the ratio of the two densities, at every release."""
    for rows in ([0], [3, 4, 7]):
        X, y, budgets = town(rng)
        weights, lam, eta = budgets / rng.uniform(1, 9), 0.3, rng.uniform(2, 60)
        here, there = _two_fits(X, y, weights, lam, rows)
        for theta in here + rng.normal(size=(4, 2)) * rng.choice([0.03, 3.0]):
            laws = [L2Laplace(center, eta).logpdf(theta) for center in (here, there)]
            wanted = float(laws[0] - laws[1])
            found = answer(theta, X, y, weights, lam, eta, rows)
            yield bool(np.isclose(found, wanted, rtol=1e-5, atol=1e-8))


@hidden("evidence_of_release")
def it_speaks_for_the_truth_near_the_truth(answer: Answer, rng: Generator) -> bool:
    """It is positive at the fit with the records, and as far below 0 at the fit without."""
    X, y, budgets = town(rng)
    weights = budgets / budgets.sum()
    here, there = _two_fits(X, y, weights, 0.3, [1])
    found, other = (answer(c, X, y, weights, 0.3, 30.0, [1]) for c in (here, there))
    return bool(found > 0 and np.isclose(found, -other, rtol=ROUNDING))


@hidden("evidence_of_release", promise=True)
def nobody_loses_more_than_promised(answer: Answer, rng: Generator) -> Demands:
    """At no release does it exceed what the person's records were promised together."""
    for lam in (0.05, 1.0, 20.0):
        X, y, budgets = town(rng)
        eta = budgets.sum() / ridge_constant(lam, 2)
        for theta in 10.0 ** rng.uniform(-3, 6, (5, 1)) * rng.normal(size=(5, 2)):
            rows = [int(rng.integers(6)), 6 + int(rng.integers(6))]
            found = answer(theta, X, y, budgets / budgets.sum(), lam, eta, rows)
            yield bool(abs(found) <= budgets[rows].sum() * (1 + ROUNDING) + 1e-6)


@hidden("evidence_of_release")
def the_records_are_left_alone(answer: Answer, rng: Generator) -> bool:
    """The tables that were handed in are as they were."""
    X, y, budgets = town(rng)
    weights = budgets / budgets.sum()
    return leaves(lambda *data: answer(np.ones(2), *data, 0.3, 2.0, [0, 3]), X, y, weights)
