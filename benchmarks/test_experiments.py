"""Yardsticks for the sweeps: 14 penalties of Medical Cost, in closed form and repeated literally.

The printed tables average 10,000 repeats. One repeat is timed beside the whole exact sweep, and
their ratio times 10,000 goes into the extra information of the benchmark.
"""

from __future__ import annotations

import time

import numpy as np
import pytest

from pdpbook import experiments
from pdpbook.datasets import sample_budgets
from pdpbook.experiments.splits import split_of
from pdpbook.noise import sample_l2_laplace
from pdpbook.personalized import keep_probabilities
from pdpbook.sensitivity import ridge_constant

REPEATS = 10_000
LAMS = experiments.GRIDS["lambda"]["medical-cost"]


@pytest.fixture(scope="module")
def split():
    try:
        return split_of("medical-cost", np.random.default_rng(0))
    except FileNotFoundError:
        pytest.skip("needs the original data set medical-cost")


def one_repeat(split, epsilon, rng):
    """Both losses of the four methods at every penalty, each from a noise draw of its own."""
    n, d = split.X.shape
    total = 0.0
    for lam in LAMS:
        constant = ridge_constant(lam, d, "published")
        crowds = [(epsilon / epsilon.sum(), epsilon.sum()), (np.full(n, 1 / n), n * epsilon.min())]
        for t in (epsilon.max(), epsilon.mean()):
            kept = rng.random(n) < keep_probabilities(epsilon, float(t))
            crowds.append((kept / kept.sum(), t * kept.sum()))
        for weights, rate in crowds:
            gram = (split.X.T * weights) @ split.X + lam * np.eye(d)
            theta = np.linalg.solve(gram, split.X.T @ (weights * split.y))
            for penalty in (0.0, lam):
                release = theta + sample_l2_laplace(d, rate / constant, rng=rng)
                error = split.y_test - split.X_test @ release
                total += error @ error / len(error) + penalty * release @ release
    return total


def exact():
    return experiments.sweep_lambda("medical-cost", draws=1, rng=np.random.default_rng(0))


@pytest.mark.benchmark(group="the medical tables, 14 penalties, 4 methods")
def test_exact_means_and_deviations(benchmark, split):
    epsilon = sample_budgets(len(split.y), rng=np.random.default_rng(0))
    benchmark(exact)
    start = time.process_time()
    one_repeat(split, epsilon, np.random.default_rng(1))
    repeat = time.process_time() - start
    start = time.process_time()
    exact()
    benchmark.extra_info["10,000 repeats / exact"] = round(
        REPEATS * repeat / (time.process_time() - start)
    )


@pytest.mark.benchmark(group="the medical tables, 14 penalties, 4 methods")
def test_one_repeat_of_10_000(benchmark, split):
    epsilon = sample_budgets(len(split.y), rng=np.random.default_rng(0))
    benchmark(lambda: one_repeat(split, epsilon, np.random.default_rng(1)))
