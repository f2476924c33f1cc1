"""Everybody's exact loss in a stream, beside the two passes of linear algebra that it needs."""

from __future__ import annotations

import numpy as np
import pytest

from pdpbook.per_instance import stream_per_instance

ROWS, BLOCK = 1_000_000, 100_000


@pytest.fixture(scope="module")
def blocks():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(ROWS, 10)) / 10
    y = X.sum(axis=1) + 0.1 * rng.normal(size=ROWS)
    return [(X[k : k + BLOCK], y[k : k + BLOCK]) for k in range(0, ROWS, BLOCK)]


@pytest.mark.benchmark(group="a million people, d = 10")
def test_gram_and_leverages(benchmark, blocks):
    def passes():
        gram = sum(X.T @ X for X, _ in blocks) + np.eye(10)
        inverse = np.linalg.inv(np.linalg.cholesky(gram)).T
        return [((X @ inverse) ** 2).sum(axis=1) for X, _ in blocks]

    benchmark.pedantic(passes, rounds=3)


@pytest.mark.benchmark(group="a million people, d = 10")
@pytest.mark.parametrize("gamma", [1.0, 100.0])
def test_exact_losses(benchmark, blocks, gamma):
    benchmark.pedantic(lambda: stream_per_instance(blocks, 1.0, gamma, 1e-6), rounds=3)
