"""Yardsticks for the core: compare medians of one run with each other, never with a number.

`make bench` prints them side by side. The floor of a private fit is one Gram matrix and one solve.
"""

from __future__ import annotations

import numpy as np
import pytest

from pdpbook.noise import l2_laplace_profile, sample_l2_laplace
from pdpbook.personalized import PDPRidge
from pdpbook.ridge import leave_one_out


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(0)
    X, y = rng.random((100_000, 10)), rng.uniform(-1, 1, 100_000)
    return X, y, rng.uniform(0.1, 1, 100_000)


@pytest.mark.benchmark(group="one private fit, n = 100,000, d = 10")
def test_gram_and_solve(benchmark, data):
    X, y, epsilon = data
    w = epsilon / epsilon.sum()
    benchmark(lambda: np.linalg.solve((X.T * w) @ X + np.eye(10), (X.T * w) @ y))


@pytest.mark.benchmark(group="one private fit, n = 100,000, d = 10")
def test_pdp_ridge(benchmark, data):
    X, y, epsilon = data
    benchmark(lambda: PDPRidge(random_state=0).fit(X, y, epsilon=epsilon))


@pytest.mark.benchmark(group="everybody's leave-one-out, n = 100,000, d = 10")
def test_leave_one_out(benchmark, data):
    X, y, _ = data
    benchmark(lambda: leave_one_out(X, y, 1.0))


@pytest.mark.benchmark(group="100,000 draws, d = 10")
def test_normal_draws(benchmark):
    rng = np.random.default_rng(0)
    benchmark(lambda: rng.normal(size=(100_000, 10)))


@pytest.mark.benchmark(group="100,000 draws, d = 10")
def test_l2_laplace_draws(benchmark):
    rng = np.random.default_rng(0)
    benchmark(lambda: sample_l2_laplace(10, 1.0, 100_000, rng=rng))


@pytest.mark.benchmark(group="exact profile, 100 values of epsilon")
@pytest.mark.parametrize("d", [2, 30])
def test_l2_laplace_profile(benchmark, d):
    benchmark(lambda: l2_laplace_profile(np.linspace(0, 2, 100), d, 2.0))
