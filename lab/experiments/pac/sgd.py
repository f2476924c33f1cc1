"""The whole grid of Table III for DP-SGD: 1,400 cells side by side, 50 repeats of each.

All cells of one batch size share the batches and the noise of a repeat, so they are trained as rows
of one matrix. A repeat has a generator of its own, so a part of the grid repeats its rows of the
whole. Cells are tuned by looking at errors on the pool, which is not private.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lab.experiments.pac.cells import (
    COLUMNS,
    FOLDS,
    RATES,
    TARGET,
    Row,
    bar,
    folds,
    moments_of,
    own_rng,
    pooled,
    squares_of,
    start,
)
from lab.experiments.pac.multipliers import Promise, multipliers
from lab.experiments.pac.runs import dpsgd_weights, scores
from pdpbook import Floats
from pdpbook.pac import success_rate_to_epsilon

Mask = NDArray[np.bool_]

EPOCHS = (30, 20, 10, 5, 1)  #: Table III, longest first
BATCHES = (2, 4, 8, 16, 32)
LEARNING_RATES = tuple(10.0**-k for k in range(8, 0, -1))
CLIP_NORMS = (1.0, *(10.0**k for k in range(2, 8)))
DEFAULT = (10, 16, 0.01, 1.0)  #: epochs, batch size, learning rate, clipping norm
SIZINGS = ("eps-delta", "delta 1e-3", "tv", "printed")
STARTS = ("zero", "fresh")
RUNS = 20  # repeats of a printed number as a whole, as for the readings of PAC
SGD_COLUMNS = [*COLUMNS, "start", "low", "high"]

#: place, start, sizing and ceilings of what is trained on each cell
GAME = tuple(("half", how, sizing, RATES) for how in STARTS for sizing in ("tv", "eps-delta"))
PRINTED = (
    ("pool", "fresh", "eps-delta", RATES),  # the paper's own experiment, at its seven ceilings
    *(("pool", "zero", sizing, (TARGET,)) for sizing in SIZINGS),
    *(("pool", "fresh", sizing, (TARGET,)) for sizing in SIZINGS[1:]),
)
RAW = tuple(("pool", how, sizing, (TARGET,)) for how in STARTS for sizing in SIZINGS)
Plan = tuple[tuple[str, str, str, tuple[float, ...]], ...]


@dataclass(frozen=True, eq=False)
class Streams:
    """Settings of runs side by side, longest first; all arrays have shape (S,)."""

    epochs: NDArray[np.int64]
    rate: Floats  #: learning rate
    clip: Floats  #: clipping norm
    sigma: Floats  #: noise multiplier
    random: Mask  #: whether the run starts at random weights


def sweep_dpsgd(
    data: str,
    *,
    raw: bool = False,
    plan: Plan | None = None,
    batches: Sequence[int] = BATCHES,
    epochs: Sequence[int] = EPOCHS,
    learning_rates: Sequence[float] = LEARNING_RATES,
    clip_norms: Sequence[float] = CLIP_NORMS,
    held_out: bool = True,
    runs: int = RUNS,
    draws: int = 50,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Errors of DP-SGD on the grid of Table III: the best and the default cell of each row.

    A person's chance to be in a batch and the divisor are those of Opacus, which the paper uses:
    one over the number of batches, and the whole part of what is expected. On the pool at 0.75 the
    best and the default cell are run again, `runs` times as a whole, from zero, from fresh weights
    for each of the repeats, and from ``"one"`` start for all repeats of a run.

    Parameters
    ----------
    data : str
        The pool, as for `pool_of`.
    raw : bool, default False
        Whether features and label stay in their own units; errors are then divided by the
        deviation of the label.
    plan : tuple, optional
        What is trained: the place (``"pool"``, as the paper, or a fresh ``"half"`` of it with half
        the divisor, which is the game of PAC privacy), the start (``"zero"``, or ``"fresh"``
        weights as PyTorch draws them, for each repeat), how the noise is sized, and the ceilings.
        Sizes: ``"tv"``, by total variation; ``"eps-delta"``, by the epsilon of Table I at a
        failure probability of 1e-5; ``"delta 1e-3"``, the same epsilon at that of the public
        code; and ``"printed"``, the second with noise that is added after dividing.
    batches, epochs, learning_rates, clip_norms : sequences
        The grid, by default all of it; the longest epochs first.
    held_out : bool, default True
        Whether the best and the default cells at 0.75 by ``"tv"`` and ``"eps-delta"`` are also
        trained on four fifths of the pool and scored on the rest, in each of five folds.
    runs : int, default 20
        Runs of `draws` repeats behind `low` and `high`; with 0 there are none.
    draws : int, default 50
        Repeats.
    rng : numpy.random.Generator
        Source of randomness.
    progress : bool, default False
        Show a bar when it takes over two seconds.

    Returns
    -------
    pandas.DataFrame
        A row a best or default cell, ceiling and evaluation (``"pool"``, ``"half"``,
        ``"held-out"``) with mean and standard deviation of `rmse` and `r2` over the repeats. Where
        the evaluation is ``"runs"``, `rmse` and `rmse_sd` are means over the runs of those on the
        pool, and `low` and `high` the least and largest mean. What diverges has an infinite error.

    Raises
    ------
    ValueError
        If an argument is out of range.
    """
    X, y, seed = start(data, draws, rng, raw=raw)
    plan = (RAW if raw else GAME + PRINTED) if plan is None else plan
    grid = list(product(learning_rates, clip_norms))
    cells: list[Row] = []
    found: list[Floats] = []
    places = sorted({place for place, *_ in plan})
    with threadpool_limits(1), np.errstate(over="ignore", invalid="ignore"):
        for place, batch in bar(list(product(places, batches)), f"DP-SGD, {data}", progress):
            ways = [(how, sizing, rates) for where, how, sizing, rates in plan if where == place]
            streams, rows = _streams(ways, epochs, grid, batch, len(y))
            errors = np.array(
                [
                    _repeat(X, y, streams, place, batch, own_rng(seed, len(place), batch, r))
                    for r in range(draws)
                ]
            )
            cells += [row | {"trained_on": place, "batch_size": batch} for row in rows]
            found += list(errors.transpose(2, 1, 0))
        frame = _kept(cells, found, float(y.std()))
        frame = frame.assign(data=data, method="DP-SGD, raw" if raw else "DP-SGD")
        kept = frame[(frame.success_rate == TARGET) & (frame.trained_on == "pool")]
        more: list[Row] = []
        for row in kept.to_dict(orient="records"):
            if runs:
                more += [
                    _again(row | {"start": how}, X, y, runs, draws, seed)
                    for how in ([row["start"], "one"] if row["start"] == "fresh" else ["zero"])
                ]
            if held_out and not raw and row["calibration"] in ("tv", "eps-delta"):
                more.append(_held_out(row, X, y, draws, seed))
        frame = pd.concat([frame, pd.DataFrame(more)], ignore_index=True)
    return frame.reindex(columns=SGD_COLUMNS)


def _streams(
    ways: Sequence[tuple[str, str, Sequence[float]]],
    epochs: Sequence[int],
    grid: Sequence[tuple[float, float]],
    batch: int,
    n: int,
) -> tuple[Streams, list[Row]]:
    """Runs of all cells of one batch size, and what each of them is."""
    rows: list[Row] = []
    columns = []
    for longest in epochs:
        for how, sizing, rates in ways:
            sigmas = noise_levels(rates, sizing, batch, longest, n)
            for rate, sigma in zip(rates, sigmas, strict=True):
                for speed, clip in grid:
                    cell = {"epochs": longest, "learning_rate": speed, "clip_norm": clip}
                    cell["default"] = (longest, batch, speed, clip) == DEFAULT
                    rows.append(cell | {"start": how, "calibration": sizing, "success_rate": rate})
                    columns.append((longest, speed, clip, sigma, how == "fresh"))
    return Streams(*(np.array(column) for column in zip(*columns, strict=True))), rows


def opacus(n: int, batch: int) -> tuple[float, int, int]:
    """Chance to be in a batch, steps an epoch, and the divisor, as Opacus takes them."""
    steps = -(-n // batch)
    return 1 / steps, steps, n // steps


def noise_levels(rates: Sequence[float], sizing: str, batch: int, epochs: int, n: int) -> Floats:
    """Noise multipliers for the ceilings, from one curve for all ways of sizing."""
    q, steps, divisor = opacus(n, batch)
    at = [RATES.index(rate) for rate in rates]
    block = ("tv", "eps-delta", "delta 1e-3").index("eps-delta" if sizing == "printed" else sizing)
    found = multipliers(q, epochs * steps, _promises()).reshape(3, -1)[block, at]
    return found * divisor if sizing == "printed" else found


def _promises() -> tuple[Promise, ...]:
    """What keeps each ceiling of Table I: by total variation, by epsilon at 1e-5, and at 1e-3."""
    budgets = [float(e) for e in success_rate_to_epsilon(np.array(RATES), 1e-5)]
    by_tv = [(0.0, 2 * rate - 1) for rate in RATES]
    return (*by_tv, *((e, delta) for delta in (1e-5, 1e-3) for e in budgets))


def _repeat(
    X: Floats, y: Floats, streams: Streams, place: str, batch: int, rng: np.random.Generator
) -> Floats:
    """RMSE and R2 of one repeat of all streams, on the pool and on who was trained on; (4, S)."""
    members = rng.random(len(y)) < (0.5 if place == "half" else 1.0)
    share = 0.5 if place == "half" else 1.0
    theta = train(X, y, streams, batch, rng, members=members, share=share)
    on_pool = scores(theta[:, None], X, y)
    on_half = scores(theta[:, None], X, y, members[None])
    return np.array([on_pool.rmse, on_pool.r2, on_half.rmse, on_half.r2])[:, :, 0]


def train(
    X: Floats,
    y: Floats,
    streams: Streams,
    batch: int,
    rng: np.random.Generator,
    *,
    members: Mask | None = None,
    share: float = 1.0,
) -> Floats:
    """Weights of all streams after their epochs, from the same batches and noise; (S, d + 1).

    `share` is the part of the pool that takes part, and of the divisor.
    """
    Z = np.column_stack([X, np.ones(len(X))])
    twice = 2 * np.linalg.norm(Z, axis=1)
    present = np.ones(len(y), dtype=bool) if members is None else members
    q, steps, divisor = opacus(len(y), batch)
    theta = np.where(streams.random[:, None], start_weights(Z.shape[1:], rng), 0.0)
    step = (streams.rate / (share * divisor))[:, None]
    clip = streams.clip[:, None]
    shake = step * clip * streams.sigma[:, None]
    for epoch in range(max(streams.epochs)):
        on = slice(np.count_nonzero(streams.epochs > epoch))
        for _ in range(steps):
            who = np.flatnonzero(present & (rng.random(len(y)) < q))
            slope = theta[on] @ Z[who].T - y[who]
            length = np.abs(slope) * twice[who]
            slope *= 2 * clip[on] / np.maximum(length, clip[on])
            theta[on] -= step[on] * (slope @ Z[who]) + shake[on] * rng.standard_normal(Z.shape[1])
    return theta


def start_weights(shape: tuple[int, ...], rng: np.random.Generator) -> Floats:
    """Random weights and intercept, as PyTorch starts a linear layer of shape[-1] - 1 features."""
    return np.asarray(rng.uniform(-1, 1, shape) / np.sqrt(shape[-1] - 1))


def _kept(cells: list[Row], found: list[Floats], unit: float) -> pd.DataFrame:
    """Rows of the best and of the default cells; `found` holds (4, draws) for each cell."""
    frame = pd.DataFrame(cells)
    errors = np.array(found)
    errors[:, ::2] = np.where(np.isfinite(errors[:, ::2]), errors[:, ::2] / unit, np.inf)
    frame["mean"] = errors[:, 0].mean(axis=1)
    groups = ["trained_on", "start", "calibration", "success_rate"]
    frame["best"] = False
    frame.loc[frame.groupby(groups)["mean"].idxmin(), "best"] = True
    rows: list[Row] = []
    for k, row in frame[frame.best | frame.default].drop(columns="mean").iterrows():
        for name, at in (("pool", 0), ("half", 2)):
            if name == "pool" or row.trained_on == "half":
                new = moments_of(errors[k, at], errors[k, at + 1])
                rows.append({**row, "evaluation": name} | new)
    return pd.DataFrame(rows)


def _trained(
    row: Row, X: Floats, y: Floats, rng: np.random.Generator, *, first: Floats, **paths: Any
) -> Floats:
    """Final weights of DP-SGD with the settings of a cell, one row a path, as `paths` says."""
    batch, epochs = int(row["batch_size"]), int(row["epochs"])
    q, steps, divisor = opacus(len(y), batch)
    weights: Floats = dpsgd_weights(
        X,
        y,
        noise_levels((TARGET,), row["calibration"], batch, epochs, len(y)),
        sample_rate=q,
        divisor=divisor,
        learning_rate=row["learning_rate"],
        clip_norm=row["clip_norm"],
        steps=epochs * steps,
        first=first,
        rng=rng,
        **paths,
    )[0]
    return weights


def _again(row: Row, X: Floats, y: Floats, runs: int, draws: int, seed: int) -> Row:
    """Mean, least and largest of the mean errors of whole runs of one cell."""
    batch, epochs, how = int(row["batch_size"]), int(row["epochs"]), row["start"]
    own = own_rng(seed, runs, epochs, batch, row["learning_rate"], row["clip_norm"], len(how))
    first = np.zeros((runs * draws, X.shape[1] + 1))
    if how != "zero":
        first = start_weights((runs * draws, X.shape[1] + 1), own)
    if how == "one":
        first = np.repeat(first[:runs], draws, axis=0)
    everybody = np.ones((runs * draws, len(y)), dtype=bool)
    theta = _trained(row, X, y, own, first=first, members=everybody)
    rmse = scores(theta, X, y).rmse.reshape(runs, draws) / y.std()
    means = rmse.mean(axis=1)
    found = {"rmse": means.mean(), "rmse_sd": rmse.std(axis=1, ddof=1).mean()}
    r2 = 1 - rmse**2
    found |= {"r2": r2.mean(), "r2_sd": r2.std(axis=1, ddof=1).mean()}
    return row | found | {"evaluation": "runs", "low": means.min(), "high": means.max()}


def _held_out(row: Row, X: Floats, y: Floats, draws: int, seed: int) -> Row:
    """The cell of `row`, trained on four fifths and scored on the rest, all folds together."""
    squares = np.empty((draws, len(y)))
    for k, fold in enumerate(folds(len(y), seed)):
        rest = np.setdiff1d(np.arange(len(y)), fold)
        own = own_rng(seed, FOLDS, k, row["learning_rate"])
        shape = draws, X.shape[1] + 1
        first = start_weights(shape, own) if row["start"] == "fresh" else np.zeros(shape)
        theta = _trained(row, X[rest], y[rest], own, first=first, repeats=draws)
        squares[:, fold] = squares_of(theta, X[fold], y[fold])
    return row | {"evaluation": "held-out"} | pooled(squares, y)
