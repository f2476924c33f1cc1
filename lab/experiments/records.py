"""Committed results: what each table was made of, CSV files with a header, verdicts on print."""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from lab.experiments.columns import sweep_columns
from lab.experiments.pac import (
    DATA as POOLS,
)
from lab.experiments.pac import OTHERS as OTHER_POOLS
from lab.experiments.pac import (
    sweep_bases,
    sweep_dpsgd,
    sweep_pac,
    sweep_readings,
)
from lab.experiments.scale import sweep_scale
from lab.experiments.spread import sweep_spread
from lab.experiments.sweeps import (
    CAUTIOUS,
    DATA,
    DEFAULT,
    PENALTY,
    sweep_eps_c,
    sweep_eps_m,
    sweep_f_c,
    sweep_lambda,
    sweep_n,
)
from lab.experiments.users import sweep_users
from lab.tables import read_results, versions, write_table
from pdpbook import check

SEED = 7  #: of every committed file; each sweep in it starts from a generator of its own
REPEATS = 10_000  # noise draws behind every printed number
ERRORS = 3  # standard errors of a printed average that a verdict forgives

FRESH: dict[str, Any] = {"draws": 1000}  # data are drawn too, so bands are wide and tails long

Calls = tuple[tuple[Any, str, dict[str, Any]], ...]

#: the calls behind every committed file on PDP-OP
RESULTS: dict[str, Calls] = {
    "lambda": (
        (sweep_lambda, "synthetic", FRESH),
        (sweep_lambda, "medical-cost", {}),
        (sweep_spread, "medical-cost", {}),  # Table 14; of Table 13 every number is inside
    ),
    "eps_c": ((sweep_eps_c, "synthetic", FRESH), (sweep_eps_c, "medical-cost", {})),
    "eps_m": ((sweep_eps_m, "synthetic", FRESH), (sweep_eps_m, "medical-cost", {})),
    "f_c": (
        (sweep_f_c, "synthetic", FRESH),
        (sweep_f_c, "medical-cost", {}),
        (sweep_f_c, "medical-cost", {"lam": 0.7}),
    ),
    "n": (
        (sweep_n, "synthetic", FRESH | {"fractions": CAUTIOUS}),
        (sweep_n, "medical-cost", {"fractions": DEFAULT}),
    ),
}
#: the calls behind every committed file on user-level privacy
USER_RESULTS: dict[str, Calls] = {
    "users_synthetic": (
        (sweep_users, "synthetic", {}),
        (sweep_users, "synthetic", {"alpha": 1.5, "width": "public"}),
    ),
    "users_real": (
        (sweep_users, "druglib", {"design": "standardized"}),
        (sweep_users, "druglib", {"design": "standardized", "width": "public"}),
        (sweep_users, "druglib", {"design": "unit"}),
        (sweep_users, "druglib", {"design": "raw"}),
        (sweep_users, "automobile", {"width": "public", "epsilon": (1, 2, 3, 10, 30)}),
    ),
}
#: the calls behind the committed file on other columns of the drug reviews
COLUMN_RESULTS: dict[str, Calls] = {"users_columns": ((sweep_columns, "druglib", {}),)}
#: the calls behind every committed file on PAC privacy against DP-SGD
PAC_RESULTS: dict[str, Calls] = {
    "pac-dpsgd": (
        *((sweep_dpsgd, pool, {}) for pool in POOLS),
        *((sweep_dpsgd, pool, {"raw": True}) for pool in POOLS),
    ),
    "pac-noise": tuple((sweep_pac, pool, {}) for pool in POOLS),
    "pac-bases": (
        *((sweep_bases, pool, {}) for pool in POOLS),
        *((sweep_bases, pool, {"raw": True}) for pool in POOLS),
    ),
    "pac-readings": (
        *((sweep_readings, pool, {}) for pool in POOLS + OTHER_POOLS),
        *((sweep_readings, pool, {"raw": True, "models": ("ridge",)}) for pool in POOLS[:2]),
        # no number is printed, and the loop ends nowhere before its longest: two runs will do
        (sweep_readings, POOLS[2], {"raw": True, "models": ("ridge",), "runs": 2}),
    ),
}
#: the calls behind the committed files on many rows
SCALE_RESULTS: dict[str, Calls] = {
    "scale": ((sweep_scale, "synthetic", {}),),
}

#: where every committed file lies, from the top of the repository
OF_PAPERS = (*RESULTS, *USER_RESULTS, *COLUMN_RESULTS, *PAC_RESULTS)
FOLDERS = {name: Path("book/papers/results") for name in OF_PAPERS}
FOLDERS |= {name: Path("book/synthesis/results") for name in SCALE_RESULTS}


def settings() -> pd.DataFrame:
    """What stands behind the fourteen tables and nineteen figures of PDP-OP.

    Returns
    -------
    pandas.DataFrame
        A row a table: `table`, `data`, `result` (the committed file), `sweep`, `lam` (NaN where it
        is swept), `fractions`, `levels` (None where one is swept), `against` (the methods beside
        PDP-OP), `spread` (whether it prints standard deviations) and `figures` (loss, standard
        deviation) of the same sweep. Figure 1 is the sweep of Table 8 at a penalty of 0.7.
    """
    rows: list[dict[str, Any]] = []
    budget = (
        ("eps_c", "eps_c", CAUTIOUS, (None, 0.5, 1.0)),
        ("eps_m", "eps_m", CAUTIOUS, (0.01, None, 1.0)),
        ("f_c", "f_c", (None, 0.37, None), (0.01, 0.2, 1.0)),
        ("n", "train_fraction", DEFAULT, (0.01, 0.2, 1.0)),
    )
    swept = ("lambda", "lambda", DEFAULT, (0.01, 0.2, 1.0))
    for first, group, against, spread in (
        (1, swept, "non-personalized", False),
        *((3 + 2 * k, group, "non-personalized", False) for k, group in enumerate(budget)),
        (11, swept, "sampling, non-private", False),
        (13, swept, "sampling", True),
    ):
        for table, data in enumerate(DATA, start=first):
            result, sweep, fractions, levels = group
            row = {"table": table, "data": data, "result": result, "sweep": sweep}
            row["lam"] = np.nan if sweep == "lambda" else PENALTY[data]
            row |= {"fractions": CAUTIOUS if table == 9 else fractions, "levels": levels}
            row |= {"against": against, "spread": spread}
            row["figures"] = (table - 1, table + 9) if 3 <= table <= 10 else ()
            if spread:
                row["figures"] = (table - 3,)
            rows.append(row)
    return pd.DataFrame(rows)


def write_results(
    name: str,
    folder: str | Path,
    *,
    draws: int | None = None,
    only: str | None = None,
    progress: bool = False,
) -> Path:
    """Run the sweeps of one committed file and write it.

    Parameters
    ----------
    name : str
        A key of `FOLDERS`.
    folder : path
        Where to; must exist.
    draws : int, optional
        Fresh draws; by default as in those or the sweep.
    only : str, optional
        Data whose sweeps are run again, under any of their readings; all other rows of the file
        stay as they are. Every sweep has a generator of its own, so the rows are those of a full
        run.
    progress : bool, default False
        Show a bar when a sweep takes over two seconds.

    Returns
    -------
    pathlib.Path
        The file: lines that begin with ``#`` say how it was made, then a table in CSV with four
        significant digits.

    Raises
    ------
    ValueError
        If there are no results of that name.
    FileNotFoundError
        If they need druglib, and it is not at hand; see `reviews.load_druglib`.
    """
    check.choice(name, "name", tuple(FOLDERS))
    changed = {} if draws is None else {"draws": draws}
    every = RESULTS | USER_RESULTS | COLUMN_RESULTS | PAC_RESULTS | SCALE_RESULTS
    calls = [(sweep, data, options | changed) for sweep, data, options in every[name]]
    wanted = [call for call in calls if only in (None, _table(call[1]))]
    if not wanted:
        raise ValueError(f"only must be data of {name}; got {only!r}")
    path = Path(folder) / f"{name}.csv"
    kept = None if only is None else read_results(path)
    start = time.perf_counter()
    frames = [
        sweep(data, **options, rng=np.random.default_rng(SEED), progress=progress)
        for sweep, data, options in wanted
    ]
    took = f"{time.perf_counter() - start:.0f} s"
    times = [f"run time: {took}"]
    if kept is not None:
        frames.insert(0, kept[kept.data.map(_table) != only])
        again = f"run again: {only}, "
        times = [line for line in kept.attrs["header"] if line.startswith("run ")]
        times = [*(line for line in times if not line.startswith(again)), again + took]
    header = [
        f"python -m lab {name}",
        f"seed: {SEED}",
        versions(pd),
        *times,
        *(f"sweep: {s.__name__} {d} {o or 'defaults'}" for s, d, o in calls),
    ]
    write_table(path, header, frames)
    return path


def _table(data: str) -> str:
    """The table behind a data set that is read in several ways."""
    return data.partition(",")[0]


def main(arguments: Sequence[str]) -> int:
    """Run the sweeps of the files that are named, with a progress bar on the error stream."""
    parser = argparse.ArgumentParser(prog="python -m lab")
    parser.add_argument("name", nargs="+", choices=tuple(FOLDERS), help="which results")
    parser.add_argument(
        "--folder", type=Path, help="where to, by default the results folder of the chapter"
    )
    parser.add_argument("--draws", type=int, help="fresh draws of data and budgets")
    parser.add_argument("--only", metavar="DATA", help="run again on these data, keep other rows")
    chosen = parser.parse_args(arguments)
    folders = {name: chosen.folder or FOLDERS[name] for name in chosen.name}
    for folder in folders.values():
        if not folder.is_dir():
            parser.error(f"there is no folder {folder}; run from the top of the repository")
    for name, folder in folders.items():
        path = write_results(name, folder, draws=chosen.draws, only=chosen.only, progress=True)
        sys.stdout.write(f"{path}\n")
    return 0


def judge(results: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """Hold printed numbers against the bands of a sweep.

    A printed number is *inside* if it lies in the 5 to 95 percent band, give or take half a unit of
    its third digit and of the fourth digit of a committed band. It is *near* if it misses the
    band by no more than three standard errors of what it is, a statistic of 10,000 repeats.
    Otherwise it is *outside*. The error of an average is the standard deviation over the noise
    divided by 100: the results hold it under the metric with ``_std`` at the end. The error of a
    standard deviation they hold in the same way, where `sweep_spread` was run. Without such a row
    nothing is near.

    Parameters
    ----------
    results : pandas.DataFrame
        One sweep on one data set, as from `sweep_lambda` and kin.
    printed : pandas.DataFrame
        Columns `row_value`, `method`, `metric` and `value`: rows of ``published.table("pdpop")``.

    Returns
    -------
    pandas.DataFrame
        A row a printed number: `value` (of the swept quantity), `method`, `metric`, `printed`,
        `mean`, `low`, `high`, `verdict`.

    Raises
    ------
    ValueError
        If a printed number has no row in the results, or more than one.
    """
    keys = ["value", "method", "metric"]
    bands = results.set_index(keys)[["mean", "low", "high"]]
    rows = printed[["row_value", "method", "metric", "value"]].rename(
        columns={"value": "printed", "row_value": "value"}
    )
    rows = rows.assign(value=rows["value"].astype(float))
    wanted = pd.MultiIndex.from_frame(rows[keys])
    if not bands.index.is_unique or not wanted.isin(bands.index).all():
        missing = wanted[~wanted.isin(bands.index)]
        raise ValueError(
            "results must have one row for every printed number; got "
            + (f"none for {missing[0]}" if len(missing) else "several for some")
        )
    found = rows.set_index(keys).join(bands).reset_index()
    spread = wanted.set_levels(wanted.levels[2] + "_std", level=2)
    error = bands["mean"].reindex(spread).to_numpy() / np.sqrt(REPEATS)
    digit = 0.55 * 10.0 ** (np.floor(np.log10(found["printed"])) - 2)
    miss = np.maximum(found["low"] - found["printed"], found["printed"] - found["high"]) - digit
    near = miss <= ERRORS * np.nan_to_num(error)
    found["verdict"] = np.where(miss <= 0, "inside", np.where(near, "near", "outside"))
    return found
