"""One peer, in an environment of its own: `python peers.py NAME`, asked line by line.

It first prints its version. Every line on its input runs it once more, and it prints the processor
seconds.
It imports nothing of ours: data are drawn with the seeds of `races.py`.
"""

import sys
import time

import numpy as np


def diffprivlib():
    """Linear regression by the functional mechanism, with its intercept, bounds given."""
    import diffprivlib as peer
    from diffprivlib.models import LinearRegression

    rng = np.random.default_rng(0)
    X, y = rng.random((100_000, 10)), rng.uniform(-1, 1, 100_000)

    def fit(fit_intercept):
        LinearRegression(
            epsilon=1.0, bounds_X=(0, 1), bounds_y=(-1, 1), fit_intercept=fit_intercept
        ).fit(X, y)

    return peer.__version__, lambda: fit(False)


def opacus(loader_too=True):
    """One epoch of DP-SGD of a linear model, with its loader or on the batches of `races.py`."""
    import opacus as peer
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(0)
    n, d, batch = 100_000, 10, 1000
    X = torch.tensor(rng.uniform(-1, 1, (n, d)), dtype=torch.float32)
    y = torch.tensor(rng.uniform(-1, 1, n), dtype=torch.float32)
    members = [torch.tensor(rng.random(n) < batch / n) for _ in range(n // batch)]
    data = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(X, y), batch_size=batch)
    net = torch.nn.Linear(d, 1, bias=False)
    net, optimizer, loader = peer.PrivacyEngine().make_private(
        module=net,
        optimizer=torch.optim.SGD(net.parameters(), lr=0.1),
        data_loader=data,
        noise_multiplier=1.0,
        max_grad_norm=1.0,
    )
    batches = loader if loader_too else [(X[member], y[member]) for member in members]

    def epoch():
        for rows, labels in batches:
            optimizer.zero_grad()
            ((net(rows)[:, 0] - labels) ** 2).mean().backward()
            optimizer.step()

    return f"{peer.__version__}, torch {torch.__version__}", epoch


PEERS = {
    "diffprivlib": diffprivlib,
    "opacus": opacus,
    "opacus-batches": lambda: opacus(loader_too=False),
}


def main(name):
    version, run = PEERS[name]()
    run()  # imports and caches
    print(version, flush=True)
    for _ in sys.stdin:
        start = time.process_time()
        run()
        print(time.process_time() - start, flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
