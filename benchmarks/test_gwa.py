"""Yardsticks for optimal weights: our solvers beside cvxpy, at the same certified gap, in one run.

The rival is cvxpy's best formulation (C = P - N, scaled) with PIQP, and with Clarabel; its time
includes the translation by cvxpy. Ratios of medians are asserted and go into the extra information.
"""

from __future__ import annotations

import subprocess
import sys
import time

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_regression

from pdpbook.datasets import sample_zipf_users
from pdpbook.gwa import certify, gwa_weights

ROUNDS, TOL = 5, 1e-8
TIGHT = {"tol_gap_abs": 1e-9, "tol_gap_rel": 1e-9, "tol_feas": 1e-8}  # its 1e-8 can end above TOL


def instance(n, seed=0):
    """Regression with noise 20 and Zipf(1.5) users; width and variance as in the experiments."""
    X, y = make_regression(n, n_features=10, n_informative=10, noise=20.0, random_state=seed)
    users = sample_zipf_users(n, 1.5, rng=np.random.default_rng(seed))
    rest = y - X @ np.linalg.lstsq(X, y)[0]
    return X, users, {"sigma2": rest @ rest / (n - 10), "epsilon": 1.0, "width": np.ptp(y)}


def split(X, users, setting, solver, **options):
    """The program in cvxpy with C = unit (P - N): weights, multipliers and seconds."""
    import cvxpy as cp

    (n, d), m = X.shape, users.max() + 1
    sigma2, kappa = setting["sigma2"], 2 * d * (setting["width"] / setting["epsilon"]) ** 2
    start = time.perf_counter()
    unit, price = np.linalg.norm(np.linalg.pinv(X)) / np.sqrt(n * d), max(sigma2, kappa)
    member = sparse.csr_matrix((np.ones(n), (np.arange(n), users)), shape=(n, m))
    P, N, t = cp.Variable((d, n), nonneg=True), cp.Variable((d, n), nonneg=True), cp.Variable()
    quadratic = sigma2 / price * (cp.sum_squares(P) + cp.sum_squares(N))
    equal = (P - N) @ X == np.eye(d) / unit
    limits = [equal, cp.sum(P + N, axis=0) @ member <= t]
    cp.Problem(cp.Minimize(quadratic + kappa / price * cp.square(t)), limits).solve(
        solver=solver, **options
    )
    C = (P.value - N.value) * unit
    seconds = time.perf_counter() - start
    C += (np.eye(d) - C @ X) @ np.linalg.pinv(X)  # outside of its time
    return C, -equal.dual_value, seconds


def compare(benchmark, n, goal, solver, rounds=ROUNDS, **options):
    X, users, setting = instance(n)
    theirs = []
    for _ in range(rounds):
        C, M, seconds = split(X, users, setting, solver, **options)
        theirs.append(seconds)
    objective, _, gap = certify(C, X, users, multipliers=M, **setting)
    gwa_weights(X, users, **setting)  # imports
    found = benchmark.pedantic(gwa_weights, (X, users), setting, rounds=ROUNDS)
    ratio = np.median(theirs) / benchmark.stats.stats.median
    benchmark.extra_info |= {
        "users": len(found.users),
        "status": found.status,
        "gap": found.gap,
        f"gap of {solver}": gap,
        f"seconds of {solver}": np.median(theirs),
        f"times faster than {solver}": ratio,
    }
    assert abs(found.gap) <= TOL
    assert gap <= TOL
    assert abs(found.objective / objective - 1) <= 2 * TOL
    assert ratio >= goal


@pytest.mark.benchmark(group="optimal weights, times faster than PIQP through cvxpy")
@pytest.mark.parametrize(
    ("n", "goal", "rounds"), [(600, 1, 5), (1000, 1, 5), (3000, 3, 5), (10_000, 10, 5)]
)
def test_against_piqp(benchmark, n, goal, rounds):
    pytest.importorskip("piqp", reason="needs the solver piqp")
    compare(benchmark, n, goal, "PIQP", rounds)


@pytest.mark.slow
@pytest.mark.benchmark(group="optimal weights, times faster than PIQP through cvxpy")
def test_against_piqp_at_30_000(benchmark):
    pytest.importorskip("piqp", reason="needs the solver piqp")
    compare(benchmark, 30_000, 20, "PIQP")


@pytest.mark.benchmark(group="optimal weights, times faster than Clarabel through cvxpy")
def test_against_clarabel(benchmark):
    compare(benchmark, 3000, 5, "CLARABEL", **TIGHT)


@pytest.mark.benchmark(group="optimal weights by n")
@pytest.mark.parametrize("n", [100_000, 300_000])
def test_larger(benchmark, n):
    X, users, setting = instance(n)
    found = benchmark.pedantic(gwa_weights, (X, users), setting, rounds=ROUNDS)
    benchmark.extra_info |= {"status": found.status, "gap": found.gap}
    assert abs(found.gap) <= TOL


MILLION = """
import resource, statistics, time
from test_gwa import gwa_weights, instance
X, users, setting = instance(1_000_000)
times = []
for _ in range(5):
    start = time.perf_counter()
    found = gwa_weights(X, users, **setting)
    times.append(time.perf_counter() - start)
peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024**2
print(statistics.median(times), peak, found.gap)
"""


def test_a_million_rows():
    """Seconds and gigabytes of a process of its own, data included."""
    run = subprocess.run(
        [sys.executable, "-c", MILLION],
        cwd=__file__.rpartition("/")[0],
        capture_output=True,
        text=True,
        check=True,
    )
    seconds, gigabytes, gap = map(float, run.stdout.split())
    assert seconds < 10
    assert gigabytes < 2
    assert abs(gap) <= TOL
