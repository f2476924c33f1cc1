"""What a release for people with many records takes, of records in Parquet files.

The records of every user are spread over the files and blocks. Each case runs in a process of its
own, from files that the system was told to forget; on the cluster, two processes that the case
starts itself, one worker is killed in the midst of a pass.
"""

import os
import signal
import tempfile
import threading
import time
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from tqdm import tqdm

from lab.experiments.scale import alone, measured
from pdpbook import Floats, check
from pdpbook.blocks import Rows
from pdpbook.user_level import WeightedERM, WeightedMean, private_quantile

FILES, D, STEPS = 20, 10, 5
FEATURES = [f"x{j}" for j in range(D)]
COLUMNS: dict[str, Any] = {"X": FEATURES, "y": "y", "users": "user"}
GRID = np.linspace(-1, 1, 401)
SOURCES = ("memory", "file", "cluster")
TASKS = ("read", "mean", "quantile", "steps")


class Case(NamedTuple):
    """One run: a release, or "read", a pass over the files that does nothing."""

    task: str  #: one of `TASKS`; "steps" are noisy gradient steps
    source: str  #: one of `SOURCES`
    n: int  #: records
    m: int  #: users


#: the runs of the committed file
CASES = (
    *(
        Case(task, source, n, n // 100)
        for n in (10**5, 10**6, 10**7)
        for task in TASKS
        for source in ("memory", "file")
        if (task, source) != ("read", "memory")
    ),
    *(Case(task, "cluster", 10**7, 10**5) for task in ("mean", "steps")),
)


def sweep_owners(
    data: str = "synthetic",
    cases: Sequence[Case] = CASES,
    *,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Measure every case.

    Parameters
    ----------
    data : {"synthetic"}, default "synthetic"
        The people are made up.
    cases : sequence of Case, default CASES
        What to run. Cases of one size share their files.
    rng : numpy.random.Generator
        Source of one seed, for the people and for the noise.
    progress : bool, default False
        Show a bar.

    Returns
    -------
    pandas.DataFrame
        A row a case: its fields, `answer` (length of what was released, or records read),
        `difference` (to the first case of that task and size, the largest entry relative to the
        largest), `passes` over the records, `killed` workers, `seconds` by the clock, `processor`
        seconds of the process and of those it started, `megabytes` of the files, and largest
        resident memory in MB, interpreter and libraries included: `start` before the process
        touched the people, `peak` in the end; on a cluster, of the largest process.

    Raises
    ------
    ValueError
        If a case names no task or source.
    """
    check.choice(data, "data", ("synthetic",))
    for case in cases:
        check.choice(case.task, "task", TASKS)
        check.choice(case.source, "source", SOURCES)
    seed = int(check.rng(rng).integers(2**32))
    rows, held = [], (0, 0)
    first: dict[tuple[str, int, int], Floats] = {}
    with tempfile.TemporaryDirectory(prefix="owners-") as there:
        for case in tqdm(sorted(cases, key=lambda case: case.n), disable=not progress):
            if held != case[2:]:
                alone(write_records, there, case.n, case.m, seed)
                held = case[2:]
            _forget(there)
            values, row = alone(measure, there, case, seed)
            exact = first.setdefault((case.task, *held), values)
            row["difference"] = float(np.max(np.abs(values - exact)) / np.max(np.abs(exact)))
            rows.append({**case._asdict(), **row})
    kept = ["answer", "difference", "passes", "killed", "seconds", "processor", "megabytes"]
    return pd.DataFrame(rows)[[*Case._fields, *kept, "start", "peak"]]


def write_records(folder: str | Path, n: int, m: int, seed: int) -> None:
    """Write records of made-up users into Parquet files, one in memory at a time.

    Parameters
    ----------
    folder : path
        Where to; gets files with features in [-1, 1], ``y`` in [-1, 1] and ``user``.
    n, m : int
        Number of records, and of users. Some users have many times as many as others, and
        each has them in most files.
    seed : int
        Together with the number of a file it gives its generator.
    """
    for k, part in enumerate(np.array_split(np.arange(n), FILES)):
        rng = np.random.default_rng([seed, k])
        X = rng.uniform(-0.99, 0.99, (len(part), D)).round(4)  # the same on every machine
        frame = pd.DataFrame(X, columns=FEATURES)
        labels = X @ np.linspace(0.1, 0.3, D) + rng.normal(0, 0.2, len(part))
        frame["y"] = np.clip(labels, -1, 1).round(6)
        frame["user"] = (m * rng.random(len(part)) ** 1.5).astype(np.int64)
        frame.to_parquet(Path(folder) / f"part-{k:02}.parquet", index=False)


def measure(folder: str | Path, case: Case, seed: int) -> tuple[Floats, dict[str, float]]:
    """Run one case in this process.

    Parameters
    ----------
    folder : path
        Where `write_records` wrote the records of the case.
    case : Case
        What to do.
    seed : int
        Of the noise; the same one everywhere gives the same release everywhere.

    Returns
    -------
    (ndarray, dict)
        What was released, or records read; and a row of `sweep_owners`.
    """
    size = sum(path.stat().st_size for path in Path(folder).iterdir()) / 1e6
    counts = {"passes": 0, "killed": 0}

    def run() -> Floats:
        if case.source == "cluster":
            values, counts["passes"], counts["killed"] = on_cluster(folder, case.task, seed)
            return values
        if case.source == "memory":
            table = pd.read_parquet(folder)
            return released(case.task, table[FEATURES].to_numpy(), table.y, table.user, seed)
        rows = Rows.from_parquet(str(folder), **COLUMNS)
        values = released(case.task, rows, None, None, seed)
        counts["passes"] = rows.passes
        return values

    values, row = measured(run)
    return values, row | counts | {"megabytes": size, "answer": float(np.linalg.norm(values))}


def released(task: str, X: Any, y: Any, users: Any, seed: int) -> Floats:
    """Release once.

    Parameters
    ----------
    task : str
        One of `TASKS`.
    X, y, users : object
        As in `fit`.
    seed : int
        Of the noise.

    Returns
    -------
    ndarray
        What was released; or how many records were read.
    """
    if task == "read":
        return np.array([X.sum(lambda X, y, users: (len(y),))[0]], dtype=float)
    if task == "mean":
        return np.array([WeightedMean(random_state=seed).fit(X, y, users=users).mean_])
    if task == "quantile":
        given = {"epsilon": 1.0, "bounds": (-1, 1), "grid": GRID, "users": users}
        rng = np.random.default_rng(seed)
        return np.array([private_quantile(X if y is None else y, 0.25, **given, rng=rng)])
    model = WeightedERM(steps=STEPS, clip_norm=0.3, random_state=seed)
    return np.asarray(model.fit(X, y, users=users).coef_)


def on_cluster(folder: str | Path, task: str, seed: int) -> tuple[Floats, int, int]:
    """A release by two processes, one of which is killed once it has worked on some records.

    Parameters
    ----------
    folder : path
        Where the files are; each worker reads its own.
    task : str
        "mean" or "steps".
    seed : int
        Of the noise.

    Returns
    -------
    (ndarray, int, int)
        What was released, passes over the records, and workers killed.
    """
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    killed: list[int] = []
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        rows = Rows.from_table(dd.read_parquet(str(folder)), **COLUMNS)
        killer = threading.Thread(target=partial(_kill, client, killed), daemon=True)
        killer.start()
        values = released(task, rows, None, None, seed)
        killer.join()
    return values, rows.passes, len(killed)


def _kill(client: Any, killed: list[int]) -> None:
    """End the process of a worker that is at work and holds results already."""
    workers = client.run(os.getpid)
    while client.status == "running":
        time.sleep(0.02)
        held, busy = client.has_what(), client.processing()
        for address, pid in workers.items():
            if len(held.get(address, ())) > 1 and busy.get(address):
                os.kill(pid, signal.SIGKILL)
                killed.append(pid)
                return


def _forget(folder: str) -> None:
    """Have the system drop its copy of the files, so that the next reader needs the disk."""
    for path in Path(folder).iterdir():
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
