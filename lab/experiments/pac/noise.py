"""Sweeps of PAC regression over penalties, bases and units, as tidy frames.

Every cell has a generator of its own, so a sweep of one cell repeats its row of a longer sweep.
Cells are tuned by looking at errors on the pool, which is public.
"""

from collections.abc import Sequence
from itertools import product

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lab.chapters import PrintedMoments, printed_moments
from lab.experiments.pac.cells import (
    COLUMNS,
    FOLDS,
    RATES,
    TARGET,
    Row,
    bar,
    finished,
    folds,
    moments_of,
    own_rng,
    pooled,
    scored,
    squares_of,
    start,
)
from lab.experiments.pac.lasso import pool_with
from lab.experiments.pac.runs import pac_weights, printed_weights, rescaled, scores
from pdpbook import Floats
from pdpbook.pac import CalibratedRelease, Pool, calibrate_release

ALPHAS = tuple(2.0**k for k in range(-10, 11, 2))  #: every second penalty of Table III
HALVES = 20_000  # simulated for a calibration
CONFIDENCE = 0.999  # its failures cost a ceiling of 0.52 little; with 0.99 a quarter of its room
FEWER = 8000  # where only ratios are looked at, or folds multiply the work
FEWEST = 2000  # for lasso, whose neighbors are a small solve each
LASSO = 0.01  # penalty of lasso, which is not tuned


def sweep_pac(
    data: str,
    *,
    rates: Sequence[float] = RATES,
    alphas: Sequence[float] = ALPHAS,
    printed: bool = True,
    held_out: bool = True,
    halves: int = HALVES,
    draws: int = 50,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Errors of PAC ridge over its penalties: repaired and printed noise, and no noise.

    Parameters
    ----------
    data : {"lenses", "concrete-slump", "automobile"}
        The pool.
    rates : sequence of float
        Ceilings, in (0.5, 1).
    alphas : sequence of float
        Penalties in scikit-learn's convention, above 0.
    printed : bool, default True
        Whether the printed procedure runs too, its N(0, e) read as a variance
        (``"printed-variance"``) and as a deviation (``"printed-deviation"``, the public code).
    held_out : bool, default True
        As in `sweep_dpsgd`; the pool is then four fifths of the table.
    halves : int, default 20000
        Simulated halves behind a calibration.
    draws, rng, progress
        As in `sweep_dpsgd`.

    Returns
    -------
    pandas.DataFrame
        As from `sweep_dpsgd`; the default is the smallest of `alphas`. Least squares without noise
        has the method ``"none"``.

    Raises
    ------
    ValueError
        As in `sweep_dpsgd`.
    """
    X, y, seed = start(data, draws, rng)
    rows: list[Row] = []
    with threadpool_limits(1):
        for alpha in bar(alphas, f"PAC, {data}", progress):
            cell = {"model": "ridge", "alpha": alpha, "trained_on": "half"}
            cell["default"] = alpha == min(alphas)
            own = own_rng(seed, alpha)
            release = _calibrated(X, y, alpha, halves, own)
            for name in ("mi", "tv"):
                wide = rescaled(release, rates, name)
                theta, secret = pac_weights(release, wide, repeats=draws, rng=own)
                new = cell | {"calibration": name, "basis": "difference, loss"}
                rows += scored(new, rates, theta, X, y, secret)
            if printed:
                moments = _printed_loop(release.pool, "svd", own)
                for name in ("variance", "deviation"):
                    theta, secret = printed_weights(
                        release.pool, moments, rates, read_as=name, repeats=draws, rng=own
                    )
                    new = cell | {"calibration": f"printed-{name}", "basis": "svd"}
                    rows += scored(new, rates, theta, X, y, secret)
        frame = finished(rows, data, "PAC")
        tested = _without_noise(X, y, data, draws, seed)
        if held_out:
            kept = frame[(frame.success_rate == TARGET) & (frame.evaluation == "pool")]
            kept = kept[(kept.best | kept.default) & kept.calibration.isin(["mi", "tv"])]
            tested += _held_out(kept.to_dict(orient="records"), X, y, halves, draws, seed)
    return pd.concat([frame, pd.DataFrame(tested)], ignore_index=True)[COLUMNS]


def sweep_bases(
    data: str,
    *,
    alpha: float = 1.0,
    raw: bool = False,
    lasso: bool = True,
    halves: int = FEWER,
    draws: int = 50,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Errors at ceiling 0.75 in four bases: least squares and ridge, repaired and printed.

    Parameters
    ----------
    data : {"lenses", "concrete-slump", "automobile"}
        The pool.
    alpha : float, default 1.0
        Penalty of ridge.
    raw : bool, default False
        Whether features and label stay in their own units; errors are then divided by the
        deviation of the label, only the repaired procedure runs, and not for lasso.
    lasso : bool, default True
        Whether lasso runs as well.
    halves, draws, rng, progress
        As in `sweep_pac`, with 8000 halves by default, and at most 2000 for lasso.

    Returns
    -------
    pandas.DataFrame
        As from `sweep_pac`. Repaired least squares is left out on lenses, whose halves may lack
        full rank; the printed procedure takes the shortest solution there.

    Raises
    ------
    ValueError
        As in `sweep_dpsgd`.
    """
    X, y, seed = start(data, draws, rng, raw=raw)
    rows: list[Row] = []
    models = (("ols", 0.0), ("ridge", alpha), ("lasso", LASSO))[: 3 if lasso and not raw else 2]
    bases = ("unit", "svd", "difference", "difference, loss")
    with threadpool_limits(1):
        cells = list(product(models, bases))
        for (model, penalty), basis in bar(cells, f"bases, {data}", progress):
            cell = {"model": model, "alpha": penalty, "basis": basis, "trained_on": "half"}
            own = own_rng(seed, penalty, len(basis))
            if model != "ols" or data != "lenses":
                most = min(halves, FEWEST) if model == "lasso" else halves
                release = _calibrated(X, y, penalty, most, own, model=model, basis=basis)
                for name in ("mi", "tv"):
                    wide = rescaled(release, TARGET, name)
                    theta, secret = pac_weights(release, wide, repeats=draws, rng=own)
                    new = cell | {"calibration": name}
                    rows += scored(new, (TARGET,), theta, X, y, secret)
            if basis in ("unit", "svd") and not raw:
                pool = pool_with(X, y, model, penalty)
                moments = _printed_loop(pool, basis, own)
                for name in ("variance", "deviation"):
                    theta, secret = printed_weights(
                        pool, moments, TARGET, read_as=name, repeats=draws, rng=own
                    )
                    new = cell | {"calibration": f"printed-{name}"}
                    rows += scored(new, (TARGET,), theta, X, y, secret)
    return finished(rows, data, "PAC, raw" if raw else "PAC, bases")[COLUMNS]


def _calibrated(
    X: Floats,
    y: Floats,
    alpha: float,
    halves: int,
    rng: np.random.Generator,
    *,
    model: str = "ridge",
    basis: str = "difference, loss",
) -> CalibratedRelease:
    name, _, task = basis.partition(", ")
    return calibrate_release(
        pool_with(X, y, model, alpha),
        TARGET,
        basis=name,
        task=task or "weights",
        confidence=CONFIDENCE,
        draws=halves,
        rng=rng,
    )


def _printed_loop(pool: Pool, basis: str, rng: np.random.Generator) -> PrintedMoments:
    """The loop with the stopping rule of the public code; as printed only one person is seen."""
    return printed_moments(
        pool,
        basis=basis,
        reset=True,
        absolute=True,
        every=10,
        rng=rng,
    )


def _held_out(
    kept: list[Row], X: Floats, y: Floats, halves: int, draws: int, seed: int
) -> list[Row]:
    """The cells of `kept`, each fold left out of the pool once."""
    squares = [np.empty((draws, len(y))) for _ in kept]
    for alpha in sorted({row["alpha"] for row in kept}):
        own = own_rng(seed, FOLDS, alpha)
        for fold in folds(len(y), seed):
            rest = np.setdiff1d(np.arange(len(y)), fold)
            release = _calibrated(X[rest], y[rest], alpha, min(halves, FEWER), own)
            for row, errors in zip(kept, squares, strict=True):
                if row["alpha"] == alpha:
                    wide = rescaled(release, TARGET, row["calibration"])
                    theta, _ = pac_weights(release, wide, repeats=draws, rng=own)
                    errors[:, fold] = squares_of(theta[0], X[fold], y[fold])
    return [
        row | {"evaluation": "held-out"} | pooled(errors, y)
        for row, errors in zip(kept, squares, strict=True)
    ]


def _without_noise(X: Floats, y: Floats, data: str, draws: int, seed: int) -> list[Row]:
    """Least squares of the pool, of halves, and of four fifths."""
    pool, own = Pool(X, y, "ols", 0.0), own_rng(seed, 0)
    base: Row = {"data": data, "method": "none", "calibration": "none", "model": "ols"}
    base |= {"alpha": 0.0, "default": True, "best": True}
    everybody = np.ones((1, len(y)), dtype=bool)
    found = scores(pool.refit(everybody[0])[None], X, y)
    first = moments_of(np.repeat(found.rmse, 2), np.repeat(found.r2, 2))
    rows = [base | {"trained_on": "pool", "evaluation": "pool"} | first]
    halves = pool.sample(draws, 0.5, own)
    theta = np.array([pool.refit(half) for half in halves])
    for name, mask in (("pool", None), ("half", halves)):
        found = scores(theta, X, y, mask)
        new = base | {"trained_on": "half", "evaluation": name}
        rows.append(new | moments_of(found.rmse, found.r2))
    squares = np.empty((2, len(y)))
    for fold in folds(len(y), seed):
        mask = np.ones(len(y), dtype=bool)
        mask[fold] = False
        squares[:, fold] = squares_of(pool.refit(mask)[None], X[fold], y[fold])
    new = base | {"trained_on": "pool", "evaluation": "held-out"}
    return [*rows, new | pooled(squares, y)]
