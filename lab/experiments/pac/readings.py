r"""What the printed procedure of PAC regression gives, in every way that Yang (2024) can be read.

A *reading* says who is trained on, who is scored, and whether the printed noise N(0, e) is a
variance or, as in the author's public code, a deviation. Not private: pools are known.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lab.chapters import PrintedMoments
from lab.experiments.pac.cells import TARGET, Row, bar, own_rng, start
from lab.experiments.pac.lasso import pool_with
from lab.experiments.pac.runs import printed_weights, scores
from pdpbook import check
from pdpbook.pac import Pool

#: penalties of each model: every second of Table III, for lasso up to where all weights are 0
PENALTIES = {
    "ols": (0.0,),
    "ridge": tuple(2.0**k for k in range(-10, 11, 2)),
    "lasso": tuple(2.0**k for k in range(-10, 1, 2)),
}
READ_AS = ("deviation", "variance")
PLACES = (("pool", "pool"), ("half", "pool"), ("half", "half"))  # trained on, scored on
ETA, LOOK, MOST = 1e-3, 10, 1000  # change that ends the loop, pairs between two looks, pairs
HALVES = 1000  # behind the singular vectors


def sweep_readings(
    data: str,
    *,
    models: Sequence[str] = ("ols", "ridge", "lasso"),
    raw: bool = False,
    runs: int = 20,
    draws: int = 50,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Errors of the printed procedure at ceiling 0.75, repeated as a whole.

    Each run draws the singular vectors, the loop over people and the noise anew, for every
    penalty, and keeps the penalty of lowest error, as the paper does. Singular vectors are those
    of the public code: of centered weights, with the signs that come out.

    Parameters
    ----------
    data : str
        The pool, as for `pool_of`.
    models : sequence of {"ols", "ridge", "lasso"}
        What is trained, over `PENALTIES`.
    raw : bool, default False
        Whether features and label stay in their own units; errors then have the label's unit,
        as in Table V.
    runs : int, default 20
        Repeats of the whole, at least 2.
    draws : int, default 50
        Releases behind one printed mean.
    rng : numpy.random.Generator
        Source of the seed of all cells.
    progress : bool, default False
        Show a bar when it takes over two seconds.

    Returns
    -------
    pandas.DataFrame
        A row a model, basis and reading: `data`, `raw`, `model`, `basis`, `read_as`,
        `trained_on`, `evaluation`, `runs`, and over the runs `low`, `mean`, `high` of the mean
        RMSE and the mean `rmse_sd` of its releases, with the median penalty `alpha`.

    Raises
    ------
    ValueError
        If an argument is out of range or unknown.
    """
    check.count(runs, "runs", minimum=2)
    X, y, seed = start(data, draws, rng, raw=raw)
    unit = 1.0 if raw else float(y.std())
    rows: list[Row] = []
    cells = [
        (name, alpha, run) for name in models for alpha in PENALTIES[name] for run in range(runs)
    ]
    with threadpool_limits(1):
        for model, alpha, run in bar(cells, f"readings, {data}", progress):
            own = own_rng(seed, len(model), alpha, run)
            pool = pool_with(X, y, model, alpha)
            for basis, moments in _loop(pool, own).items():
                cell = {"model": model, "basis": basis, "alpha": alpha, "run": run}
                rows += [cell | row for row in _read(pool, moments, draws, unit, own)]
    names = ["model", "basis", "read_as", "trained_on", "evaluation"]
    frame = pd.DataFrame(rows)
    best = frame.loc[frame.groupby([*names, "run"], sort=False).rmse.idxmin()]
    found = (
        best.groupby(names, sort=False)
        .agg(
            runs=("run", "size"),
            low=("rmse", "min"),
            mean=("rmse", "mean"),
            high=("rmse", "max"),
            rmse_sd=("rmse_sd", "mean"),
            alpha=("alpha", "median"),
        )
        .reset_index()
    )
    found.insert(0, "data", data)
    found.insert(1, "raw", raw)
    return found


def agreement(printed: str, low: float, high: float) -> bool:
    """Whether a printed mean lies within the runs of a reading, give or take half its last digit.

    If the reading is right and the runs are N fresh ones, this happens in N - 1 of N + 1 cases.
    """
    last = 0.5 * 10.0 ** -len(printed.partition(".")[2])
    return bool(low - last <= float(printed) <= high + last)


def _read(
    pool: Pool, moments: PrintedMoments, draws: int, unit: float, rng: np.random.Generator
) -> list[Row]:
    """Mean errors of one run under every reading."""
    rows: list[Row] = []
    for read_as in READ_AS:
        for trained_on in ("pool", "half"):
            theta, halves = printed_weights(
                pool,
                moments,
                TARGET,
                read_as=read_as,
                trained_on=trained_on,
                repeats=draws,
                rng=rng,
            )
            for where, evaluation in PLACES:
                if where == trained_on:
                    mask = halves if evaluation == "half" else None
                    rmse = scores(theta[0], pool.X, pool.y, mask).rmse / unit
                    rows.append(
                        {
                            "read_as": read_as,
                            "trained_on": trained_on,
                            "evaluation": evaluation,
                            "rmse": float(rmse.mean()),
                            "rmse_sd": float(rmse.std(ddof=1)),
                        }
                    )
    return rows


def _loop(pool: Pool, rng: np.random.Generator) -> dict[str, PrintedMoments]:
    """`chapters.printed_moments` in two bases from the same pairs, everybody's at once."""
    weights = pool.fits(pool.sample(HALVES, 0.5, rng))
    turned = np.linalg.svd(weights - weights.mean(axis=0), full_matrices=False)[2].T
    bases = {"unit": np.eye(pool.p), "svd": turned}
    n = len(pool.y)
    sums = {name: np.zeros((n, pool.p)) for name in bases}
    drawn = {name: np.zeros(n, dtype=np.int64) for name in bases}
    on = {name: np.ones(n, dtype=bool) for name in bases}
    while any(who.any() for who in on.values()):
        people = np.flatnonzero(np.logical_or(*on.values()))
        halves = pool.sample(LOOK * len(people), 0.5, rng)
        at = np.arange(len(halves)), np.repeat(people, LOOK)
        halves[at] = False
        without = pool.fits(halves)
        halves[at] = True
        moved = (pool.fits(halves) - without).reshape(len(people), LOOK, pool.p)
        for name, V in bases.items():
            going = on[name][people]
            here, count = people[going], drawn[name][people[going], None]
            before = sums[name][here]
            after = before + ((moved[going] @ V) ** 2).sum(axis=1)
            step = np.abs(after / (count + LOOK) - before / np.maximum(count, 1)).max(axis=1)
            sums[name][here] = after
            drawn[name][here] += LOOK
            on[name][here] = ((step >= ETA) | (count[:, 0] == 0)) & (drawn[name][here] < MOST)
    return {
        name: PrintedMoments(sums[name] / drawn[name][:, None], V, drawn[name])
        for name, V in bases.items()
    }
