"""One epoch of DP-SGD beside the plain loop over people, and the accounting beside Opacus.

The last two groups need Opacus, with torch: they are skipped by name where it is not installed.
"""

from __future__ import annotations

import numpy as np
import pytest

from pdpbook.gradient import DPSGDLaw, calibrate_noise_multiplier

N, D, BATCH = 100_000, 10, 1000


@pytest.fixture(scope="module")
def law():
    rng = np.random.default_rng(0)
    X, y = rng.uniform(-1, 1, (N, D)), rng.uniform(-1, 1, N)
    return DPSGDLaw(X, y, BATCH / N, BATCH, 1.0, 0.1, N // BATCH, 1.0)


def per_example_loop(law, rng):
    theta = np.zeros(D)
    for _ in range(law.steps):
        total = law.noise_multiplier * law.clip_norm * rng.standard_normal(D)
        for i in np.flatnonzero(rng.random(N) < law.sample_rate):
            g = 2 * (law.X[i] @ theta - law.y[i]) * law.X[i]
            total += g * min(1.0, law.clip_norm / np.linalg.norm(g))
        theta = theta - law.learning_rate * total / law.batch_size
    return theta


@pytest.mark.benchmark(group="one epoch of DP-SGD, n = 100,000, d = 10, b = 1,000")
def test_one_epoch(benchmark, law):
    rng = np.random.default_rng(1)
    benchmark(lambda: law.sample(rng=rng))


@pytest.mark.benchmark(group="one epoch of DP-SGD, n = 100,000, d = 10, b = 1,000")
def test_one_epoch_in_a_plain_loop(benchmark, law):
    rng = np.random.default_rng(1)
    benchmark.pedantic(lambda: per_example_loop(law, rng), rounds=3)


@pytest.mark.benchmark(group="one epoch of DP-SGD, n = 100,000, d = 10, b = 1,000")
def test_one_epoch_in_opacus(benchmark, law):
    torch = pytest.importorskip("torch", reason="torch is not installed")
    opacus = pytest.importorskip("opacus", reason="opacus is not installed")
    X, y = (torch.tensor(part, dtype=torch.float32) for part in (law.X, law.y))
    loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, y), batch_size=BATCH)
    net = torch.nn.Linear(D, 1, bias=False)
    net, optimizer, loader = opacus.PrivacyEngine().make_private(
        module=net,
        optimizer=torch.optim.SGD(net.parameters(), lr=law.learning_rate),
        data_loader=loader,
        noise_multiplier=law.noise_multiplier,
        max_grad_norm=law.clip_norm,
    )

    def epoch():
        for rows, labels in loader:
            optimizer.zero_grad()
            ((net(rows)[:, 0] - labels) ** 2).mean().backward()
            optimizer.step()

    benchmark.pedantic(epoch, rounds=3)


@pytest.mark.benchmark(group="noise multiplier for (1, 1e-5), q = 0.1, 100 steps, Renyi")
def test_calibration(benchmark):
    from pdpbook.gradient import accounting

    def calibrate():
        accounting._calibrated.cache_clear()
        return calibrate_noise_multiplier(1.0, 1e-5, 0.1, 100, accountant="rdp")

    benchmark.pedantic(calibrate, rounds=3)


@pytest.mark.benchmark(group="noise multiplier for (1, 1e-5), q = 0.1, 100 steps, Renyi")
def test_calibration_in_opacus_gives_the_same(benchmark):
    utils = pytest.importorskip("opacus.accountants.utils", reason="opacus is not installed")
    found = benchmark.pedantic(
        lambda: utils.get_noise_multiplier(
            target_epsilon=1.0,
            target_delta=1e-5,
            sample_rate=0.1,
            steps=100,
            accountant="rdp",
            epsilon_tolerance=1e-3,
        ),
        rounds=3,
    )
    ours = calibrate_noise_multiplier(1.0, 1e-5, 0.1, 100, accountant="rdp")
    assert abs(ours - found) <= 0.01 * found
