"""What everybody does to a model of a random half: rank-one formulas beside refits."""

from __future__ import annotations

import time

import naive
import numpy as np
import pytest

from pdpbook import datasets
from pdpbook.pac import Pool, allocate_noise, difference_moments

HALVES = 5  # of refits; the moments below take hundreds


@pytest.fixture(scope="module")
def concrete():
    try:
        X, y = datasets.pac_design("concrete-slump")
    except FileNotFoundError:
        pytest.skip("original data not at hand: concrete-slump")
    return X.to_numpy(), y.to_numpy()


@pytest.mark.benchmark(group="what 103 people do to one half, d = 7")
def test_differences_by_rank_one(benchmark, concrete):
    pool = Pool(*concrete)
    masks = pool.sample(500, 0.5, np.random.default_rng(0))
    start = time.perf_counter()
    slow = naive.pac_refits(*concrete, masks[:HALVES])
    refits = (time.perf_counter() - start) / HALVES
    fast = benchmark(lambda: pool.differences(masks)[1])
    assert np.abs(fast[:HALVES] - slow).max() < 1e-10
    start = time.perf_counter()
    pool.differences(masks)
    ratio = refits / ((time.perf_counter() - start) / len(masks))
    benchmark.extra_info["refits over rank-one, one half"] = round(ratio)


@pytest.mark.benchmark(group="noise for all people of Concrete")
def test_noise_for_everybody(benchmark, concrete):
    """The whole estimate against refits of as many halves, in one run; printed as a ratio."""

    def noise():
        rng = np.random.default_rng(1)
        moments = difference_moments(*concrete, basis="svd", rng=rng)
        return moments.draws, allocate_noise(moments, 0.75).covariance

    noise()  # imports cvxpy
    draws, _ = benchmark.pedantic(noise, rounds=3)
    start = time.perf_counter()
    noise()
    ours = time.perf_counter() - start
    masks = Pool(*concrete).sample(HALVES, 0.5, np.random.default_rng(0))
    start = time.perf_counter()
    naive.pac_refits(*concrete, masks)
    theirs = (time.perf_counter() - start) / HALVES * draws
    benchmark.extra_info["refits over ours"] = round(theirs / ours)
    print(f"refits of the same {draws} halves would take {theirs / ours:.0f} times as long")
