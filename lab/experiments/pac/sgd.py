"""Sweeps of DP-SGD over a part of the printed grid, as tidy frames.

Every cell has a generator of its own, so a sweep of one cell repeats its row of a longer sweep.
Cells are tuned by looking at errors on the pool, which is not private.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lab.experiments.pac.cells import (
    COLUMNS,
    FOLDS,
    RATES,
    TARGET,
    Row,
    bar,
    finished,
    folds,
    own_rng,
    pooled,
    scored,
    squares_of,
    start,
)
from lab.experiments.pac.runs import dpsgd_weights
from pdpbook import Floats, check
from pdpbook.gradient import calibrate_noise_multiplier, calibrate_to_success_rate
from pdpbook.pac import success_rate_to_epsilon

DELTA = 1e-5
#: batch size and epochs: four of the 25 pairs of Table III, the default first
SCHEDULES = ((16, 10), (16, 1), (16, 30), (32, 10))
LEARNING_RATES = (0.01, 0.001, 0.1)  # three of eight, the default first
CLIP_NORMS = (1.0, 100.0)  # two of seven, the default first


def sweep_dpsgd(
    data: str,
    *,
    rates: Sequence[float] = RATES,
    schedules: Sequence[tuple[int, int]] = SCHEDULES,
    learning_rates: Sequence[float] = LEARNING_RATES,
    clip_norms: Sequence[float] = CLIP_NORMS,
    trained_on: Sequence[str] = ("pool", "half"),
    held_out: bool = True,
    draws: int = 50,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Errors of DP-SGD on a grid, at several ceilings and with three ways to size its noise.

    ``"eps-delta"`` sizes it through epsilon at 1e-5, ``"tv"`` through total variation, and
    ``"printed"`` is the first with the noise added after dividing by the batch size.

    Parameters
    ----------
    data : {"lenses", "concrete-slump", "automobile"}
        The pool.
    rates : sequence of float
        Ceilings, in (0.5, 1).
    schedules : sequence of (int, int)
        Batch size and epochs; batches above the pool are left out.
    learning_rates, clip_norms : sequence of float
        Above 0.
    trained_on : sequence of {"pool", "half"}
        The pool, as the paper; or a fresh random half of it, with the same coins and half the
        divisor, so that the game is the one of PAC privacy.
    held_out : bool, default True
        Whether the best and the default cells at 0.75 are also trained on four fifths of the pool
        and scored on the rest, in each of five folds.
    draws : int, default 50
        Repeats.
    rng : numpy.random.Generator
        Source of randomness.
    progress : bool, default False
        Show a bar when it takes over two seconds.

    Returns
    -------
    pandas.DataFrame
        A row a cell, ceiling and evaluation (``"pool"``, ``"half"``, ``"held-out"``) with mean and
        standard deviation of `rmse` and `r2` over the repeats. At ceilings other than 0.75 only
        the `best` cell, by error on the pool, and the `default` one.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    X, y, seed = start(data, draws, rng)
    for where in trained_on:
        check.choice(where, "trained_on", ("pool", "half"))
    pairs = [s for s in schedules if s[0] <= len(y)]
    cells = list(product(trained_on, pairs, learning_rates, clip_norms))
    rows: list[Row] = []
    with threadpool_limits(1):
        for where, (batch, epochs), speed, clip in bar(cells, f"DP-SGD, {data}", progress):
            sizes = _noise_levels(tuple(rates), batch, epochs, len(y))
            own = own_rng(seed, len(where), batch, epochs, speed, clip)
            halves = own.random((draws, len(y))) < (0.5 if where == "half" else 1.0)
            theta = dpsgd_weights(
                X,
                y,
                sizes.ravel(),
                sample_rate=batch / len(y),
                divisor=batch / 2 if where == "half" else batch,
                learning_rate=speed,
                clip_norm=clip,
                steps=epochs * -(-len(y) // batch),
                members=halves,
                rng=own,
            ).reshape(3, len(rates), draws, -1)
            cell = {"trained_on": where, "batch_size": batch, "epochs": epochs}
            cell |= {"learning_rate": speed, "clip_norm": clip}
            cell["default"] = (batch, epochs, speed, clip) == (16, 10, 0.01, 1.0)
            for name, weights in zip(("eps-delta", "tv", "printed"), theta, strict=True):
                rows += scored(cell | {"calibration": name}, rates, weights, X, y, halves)
        frame = finished(rows, data, "DP-SGD")
        if held_out:
            kept = frame[(frame.success_rate == TARGET) & (frame.evaluation == "pool")]
            kept = kept[(kept.best | kept.default) & (kept.trained_on == "pool")]
            tested = [_held_out(row, X, y, draws, seed) for row in kept.to_dict(orient="records")]
            frame = pd.concat([frame, pd.DataFrame(tested)], ignore_index=True)
    return frame[COLUMNS]


def sweep_raw_dpsgd(
    data: str,
    *,
    draws: int = 50,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Errors of DP-SGD on unscaled data at ceiling 0.75, over the learning rates of Table III.

    Parameters
    ----------
    data : {"lenses", "concrete-slump", "automobile"}
        The pool.
    draws, rng, progress
        As in `sweep_dpsgd`. The default schedule, and clipping norms 1, 100 and 10,000.

    Returns
    -------
    pandas.DataFrame
        As from `sweep_dpsgd`, with errors divided by the deviation of the label.

    Raises
    ------
    ValueError
        As in `sweep_dpsgd`.
    """
    X, y, seed = start(data, draws, rng, raw=True)
    rows: list[Row] = []
    sizes = _noise_levels((TARGET,), 16, 10, len(y))
    cells = list(product([10.0**-k for k in range(8, 0, -1)], (1.0, 1e2, 1e4)))
    with threadpool_limits(1):
        for speed, clip in bar(cells, f"DP-SGD, raw, {data}", progress):
            theta = dpsgd_weights(
                X,
                y,
                sizes.ravel(),
                sample_rate=16 / len(y),
                divisor=16,
                learning_rate=speed,
                clip_norm=clip,
                steps=10 * -(-len(y) // 16),
                repeats=draws,
                rng=own_rng(seed, speed, clip),
            )
            cell = {"trained_on": "pool", "batch_size": 16, "epochs": 10}
            cell |= {"learning_rate": speed, "clip_norm": clip}
            cell["default"] = (speed, clip) == (0.01, 1.0)
            for name, weights in zip(("eps-delta", "tv", "printed"), theta, strict=True):
                new = cell | {"calibration": name}
                rows += scored(new, (TARGET,), weights[None], X, y)
    return finished(rows, data, "DP-SGD, raw")[COLUMNS]


def _noise_levels(rates: Sequence[float], batch: int, epochs: int, n: int) -> Floats:
    """Noise multipliers by way of sizing and ceiling, shape (3, S)."""
    run = batch / n, epochs * -(-n // batch)
    budgets = np.atleast_1d(success_rate_to_epsilon(np.array(rates), DELTA))
    far = np.array([calibrate_noise_multiplier(float(e), DELTA, *run) for e in budgets])
    near = np.array([calibrate_to_success_rate(float(p), *run) for p in rates])
    return np.array([far, near, batch * far])


def _held_out(row: Row, X: Floats, y: Floats, draws: int, seed: int) -> Row:
    """The cell of `row`, trained on four fifths and scored on the rest, all folds together."""
    n, batch, epochs = round(len(y) * (1 - 1 / FOLDS)), row["batch_size"], row["epochs"]
    which = ("eps-delta", "tv", "printed").index(row["calibration"])
    batch, epochs = int(batch), int(epochs)
    sigma = _noise_levels((TARGET,), batch, epochs, n)[which]
    own, squares = own_rng(seed, FOLDS, which, row["learning_rate"]), np.empty((draws, len(y)))
    for fold in folds(len(y), seed):
        rest = np.setdiff1d(np.arange(len(y)), fold)
        theta = dpsgd_weights(
            X[rest],
            y[rest],
            sigma,
            sample_rate=batch / n,
            divisor=batch,
            learning_rate=row["learning_rate"],
            clip_norm=row["clip_norm"],
            steps=epochs * -(-n // batch),
            repeats=draws,
            rng=own,
        )[0]
        squares[:, fold] = squares_of(theta, X[fold], y[fold])
    return row | {"evaluation": "held-out"} | pooled(squares, y)
