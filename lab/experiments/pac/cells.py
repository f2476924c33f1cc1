"""Cells of the sweeps on PAC privacy: their generators, their scores, the rows that are kept."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from lab.experiments.pac.runs import pool_of, scores
from pdpbook import Floats, check

Row = dict[str, Any]

RATES = (0.52, 0.55, 0.65, 0.75, 0.85, 0.95, 0.98)  #: ceilings of Table I
TARGET = 0.75  #: ceiling of Tables IV to VI
FOLDS = 5

COLUMNS = (
    "data method calibration trained_on model basis alpha learning_rate batch_size epochs "
    "clip_norm success_rate evaluation default best rmse rmse_sd r2 r2_sd"
).split()
GROUP = ["method", "calibration", "trained_on", "success_rate"]


def start(
    data: str, draws: int, rng: np.random.Generator, *, raw: bool = False
) -> tuple[Floats, Floats, int]:
    """Features, label and the seed of all cells, from checked arguments."""
    check.count(draws, "draws", minimum=2)
    X, y = pool_of(data, raw=raw)
    return X, y, int(check.rng(rng).integers(2**62))


def own_rng(seed: int, *values: float) -> np.random.Generator:
    """A generator for one cell, whatever cells are run beside it."""
    return np.random.default_rng([seed, *(round(1e9 * value) for value in values)])


def bar(cells: Sequence[Any], label: str, progress: bool) -> Iterable[Any]:
    """The cells, with a progress bar if one is wanted."""
    if progress:
        from tqdm import tqdm

        shown: Iterable[Any] = tqdm(cells, desc=label, delay=2.0)
        return shown
    return cells


def scored(
    cell: Row,
    rates: Sequence[float],
    weights: Floats,
    X: Floats,
    y: Floats,
    halves: NDArray[np.bool_] | None = None,
) -> list[Row]:
    """Rows of one cell: on the pool, and on the half where that was trained on."""
    rows: list[Row] = []
    where: dict[str, NDArray[np.bool_] | None] = {"pool": None}
    if cell["trained_on"] == "half":
        where["half"] = halves
    for name, mask in where.items():
        found = scores(weights, X, y, mask)
        for rate, rmse, r2 in zip(rates, found.rmse / y.std(), found.r2, strict=True):
            rows.append(cell | {"success_rate": rate, "evaluation": name} | moments_of(rmse, r2))
    return rows


def moments_of(rmse: Floats, r2: Floats) -> Row:
    """Mean and standard deviation over the repeats, of R2 over those where it is defined."""
    names = ("rmse", "rmse_sd", "r2", "r2_sd")
    r2 = r2[np.isfinite(r2)]
    values = (rmse.mean(), rmse.std(ddof=1), r2.mean(), r2.std(ddof=1))
    return {name: float(value) for name, value in zip(names, values, strict=True)}


def finished(rows: list[Row], data: str, method: str) -> pd.DataFrame:
    """A frame with the best cells marked, without other cells away from the target ceiling."""
    frame = pd.DataFrame(rows).assign(data=data, method=method, best=False)
    if "default" not in frame:
        frame["default"] = False
    frame = frame.reindex(columns=COLUMNS)
    rest = [c for c in COLUMNS[: COLUMNS.index("success_rate")] if c not in GROUP]
    names = frame[GROUP + rest].astype(str).to_records(index=False).tolist()
    key = pd.Series(names, index=frame.index)
    on_pool = frame[frame.evaluation == "pool"]
    frame["best"] = key.isin(key[on_pool.groupby(GROUP).rmse.idxmin()])
    kept = frame.best | frame.default | (frame.success_rate == TARGET)
    return frame[kept].reset_index(drop=True)


def folds(n: int, seed: int) -> list[NDArray[np.int64]]:
    """Rows of each fold, the same for every method."""
    return np.array_split(own_rng(seed, FOLDS).permutation(n), FOLDS)


def squares_of(theta: Floats, X: Floats, y: Floats) -> Floats:
    """Squared errors by repeat and row."""
    return np.asarray((theta[:, :-1] @ X.T + theta[:, -1:] - y) ** 2)


def pooled(squares: Floats, y: Floats) -> Row:
    """Scores over all folds together, from squared errors of all rows."""
    mse = squares.mean(axis=1)
    return moments_of(np.sqrt(mse) / y.std(), 1 - mse / y.var())
