"""What a release on many rows takes: peak memory and seconds, each case in a process of its own.

Made-up people are written to Parquet files piece by piece, so no process ever holds more of them
than its case asks for. Seconds include the reading, from a disk whose cache was told to forget the
files.
"""

import multiprocessing
import os
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import pyarrow as pa
from pyarrow.parquet import ParquetFile, ParquetWriter
from tqdm import tqdm

from pdpbook import Floats, check
from pdpbook.per_instance import per_instance_epsilon, stream_per_instance
from pdpbook.personalized import PDPRidge
from pdpbook.sums import Sums

SIZES = (10**5, 10**6, 10**7)
ROWS, NUMBERS = 1 << 16, 1 << 22  # at most, in X of a piece that is written or read
PIECES = 16  # in one file
LEVELS = (0.01, 0.2, 1.0)  # budgets in nats
SHARES = (0.34, 0.43, 0.23)
LAM = 1.0  # against the mean of squares for a release, against the sum for losses
PROOF = "tight"  #: the constant of the committed runs
GAMMA, DELTA = 1.0, 1e-6


SOURCES = {
    "release": ("memory", "file", "cluster"),
    "losses": ("memory", "file"),
    "read": ("file",),
}


class Case(NamedTuple):
    """One run: a release by PDP-OP or the exact losses of everybody, and where the people are."""

    task: str  #: "release", "losses", or "read" for a pass over the files that does nothing
    source: str  #: of `SOURCES`: all in memory, sums of pieces, or those of two workers of Dask
    n: int  #: people
    d: int  #: features


#: the runs of the committed file
CASES = (
    *(Case("release", source, n, 10) for n in SIZES for source in ("memory", "file")),
    Case("release", "cluster", SIZES[-1], 10),
    Case("read", "file", SIZES[-1], 10),
    Case("losses", "memory", 10**6, 10),
    *(Case("losses", "file", n, 10) for n in SIZES),
    *(Case(task, "file", 2 * 10**5, 100) for task in ("release", "losses")),
    *(Case(task, "file", 5 * 10**4, 1000) for task in ("release", "losses")),
)


def sweep_scale(
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
        What to run. Cases of one size share the files of their people.
    rng : numpy.random.Generator
        Source of one seed, for the people and for the noise.
    progress : bool, default False
        Show a bar.

    Returns
    -------
    pandas.DataFrame
        A row a case: its fields, `answer` (norm of the released coefficients, mean loss in nats,
        or people read), `difference` (to the first case of that task and size: the largest in a
        coefficient, or in mean and largest loss, relative to the largest of them), `seconds` by
        the clock, `processor` seconds of the process and of those it started, `megabytes` of the
        files, and largest resident memory in MB, interpreter and libraries included: `start`
        before the process touched the people, `peak` in the end. On a cluster, `peak` is that of
        the largest process.

    Raises
    ------
    ValueError
        If a case names no task or source.
    """
    check.choice(data, "data", ("synthetic",))
    for case in cases:
        check.choice(case.task, "task", tuple(SOURCES))
        check.choice(case.source, "source", SOURCES[case.task])
    seed = int(check.rng(rng).integers(2**32))
    ordered = sorted(cases, key=lambda case: (case.d, case.n))
    rows: list[dict[str, Any]] = []
    first: dict[tuple[str, int, int], Floats] = {}
    with tempfile.TemporaryDirectory(prefix="scale-") as there:
        held = (0, 0)
        for case in tqdm(ordered, disable=not progress):
            if held != (case.n, case.d):
                alone(write_people, there, case.n, case.d, seed)
                held = (case.n, case.d)
            _forget(there)
            values, row = alone(measure, there, case, seed)
            exact = first.setdefault((case.task, case.n, case.d), values)
            row["difference"] = float(np.max(np.abs(values - exact)) / np.max(np.abs(exact)))
            rows.append({**case._asdict(), **row})
    columns = ["answer", "difference", "seconds", "processor", "megabytes", "start", "peak"]
    return pd.DataFrame(rows)[[*Case._fields, *columns]]


def write_people(folder: str | Path, n: int, d: int, seed: int) -> None:
    """Write made-up people into Parquet files, one piece in memory at a time.

    Parameters
    ----------
    folder : path
        Where to; gets ``part-000.parquet`` and so on, with columns ``x0``, ... in [0, 1], ``y`` in
        [-1, 1] and ``epsilon``.
    n, d : int
        Number of people and of features.
    seed : int
        Together with the number of a piece it gives its generator.
    """
    n, d = check.count(n, "n"), check.count(d, "d")
    for path in _files(folder):  # of a larger case before
        path.unlink()
    slope = np.linspace(1, 2, d) / d
    cuts = _cuts(n, d)
    names = [f"x{j}" for j in range(d)]
    for file in range(0, len(cuts), PIECES):
        path = Path(folder) / f"part-{file // PIECES:03}.parquet"
        schema = pa.schema([(name, pa.float64()) for name in (*names, "y", "epsilon")])
        with ParquetWriter(path, schema, compression="none", use_dictionary=False) as writer:
            for k, (start, stop) in enumerate(cuts[file : file + PIECES], file):
                rng = np.random.default_rng([seed, k])
                X = rng.random((stop - start, d))
                label = (X - 0.5) @ slope * np.sqrt(d) + rng.normal(0, 0.2, stop - start)
                y = np.round(np.clip(label, -1, 1), 6)  # the same on every machine
                epsilon = rng.choice(LEVELS, stop - start, p=SHARES)
                writer.write_table(pa.table([*X.T, y, epsilon], schema))


def pieces(folder: str | Path) -> Iterator[tuple[Floats, Floats, Floats]]:
    """Yield rows, labels and budgets of the people in the files, one piece at a time.

    Parameters
    ----------
    folder : path
        Where `write_people` wrote.
    """
    for path in _files(folder):
        with ParquetFile(path) as file:
            width = len(file.schema_arrow)
            for batch in file.iter_batches(max(1, min(ROWS, NUMBERS // (width - 2)))):
                *X, y, epsilon = (column.to_numpy() for column in batch.columns)
                yield np.column_stack(X), y, epsilon


def records(folder: str | Path) -> Iterator[tuple[Floats, Floats]]:
    """Yield rows and labels alone.

    Parameters
    ----------
    folder : path
        Where `write_people` wrote.
    """
    return ((X, y) for X, y, _ in pieces(folder))


def add_up(model: PDPRidge, folder: str | Path) -> tuple[Sums, Floats]:
    """Return the sums of all people in the files, and their budgets.

    Parameters
    ----------
    model : PDPRidge
    folder : path
        Where `write_people` wrote.
    """
    budgets, parts = [], []
    for X, y, epsilon in pieces(folder):
        parts.append(model.sums(X, y, epsilon=epsilon))
        budgets.append(epsilon)
    return sum(parts[1:], parts[0]), np.concatenate(budgets)


def measure(folder: str | Path, case: Case, seed: int) -> tuple[Floats, dict[str, float]]:
    """Run one case in this process.

    Parameters
    ----------
    folder : path
        Where `write_people` wrote the people of the case.
    case : Case
        What to do.
    seed : int
        Of the noise; the same one everywhere gives the same release everywhere.

    Returns
    -------
    (ndarray, dict)
        Coefficients, or mean and largest loss, or people read; and a row of `sweep_scale`.
    """
    size = sum(path.stat().st_size for path in _files(folder)) / 1e6
    values, row = measured(partial(_run, Path(folder), case, seed))
    answer = float(np.linalg.norm(values) if case.task == "release" else values[0])
    return values, row | {"megabytes": size, "answer": answer}


def measured(run: Callable[[], Floats]) -> tuple[Floats, dict[str, float]]:
    """What a function returns, and its seconds and memory in this process and those it started."""
    start, begin, used = _peak(), time.perf_counter(), _processor()
    values = run()
    row = {"seconds": time.perf_counter() - begin, "processor": _processor() - used}
    return values, row | {"start": start, "peak": _peak()}


def _run(folder: Path, case: Case, seed: int) -> Floats:
    if case.task == "release":
        return _release(folder, case.source, seed)
    if case.task == "losses":
        return _losses(folder, case.source)
    return np.array([sum(len(y) for _, y, _ in pieces(folder))], dtype=float)


def _release(folder: Path, source: str, seed: int) -> Floats:
    model = PDPRidge(LAM, proof=PROOF, random_state=seed)
    if source == "memory":
        X, y, epsilon = _whole(folder)
        return np.asarray(model.fit(X, y, epsilon=epsilon).coef_)
    sums, epsilon = add_up(model, folder) if source == "file" else _on_cluster(model, folder)
    return np.asarray(model.fit(sums, epsilon=epsilon).coef_)


def _losses(folder: Path, source: str) -> Floats:
    if source == "file":
        report = stream_per_instance(partial(records, folder), LAM, GAMMA, DELTA, top=1)
        return np.array([report.mean, report.largest[0]])
    X, y, _ = _whole(folder)
    epsilon = per_instance_epsilon(X, y, LAM, GAMMA, DELTA).epsilon
    return np.array([epsilon.mean(), epsilon.max()])


def _on_cluster(model: PDPRidge, folder: Path) -> tuple[Sums, Floats]:
    """Sums by two workers, each of which reads its files itself."""
    import dask.dataframe as dd
    from distributed import Client, LocalCluster

    def added(part: pd.DataFrame) -> pd.Series:
        *X, y, epsilon = (part[name].to_numpy() for name in part.columns)
        return pd.Series([model.sums(np.column_stack(X), y, epsilon=epsilon)])

    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster):
        people = dd.read_parquet(folder, split_row_groups=True)
        sums = people.map_partitions(added, meta=(None, object)).compute()
        return sum(sums[1:], sums.iloc[0]), people.epsilon.compute().to_numpy()


def _whole(folder: Path) -> tuple[Floats, Floats, Floats]:
    """All people at once."""
    table = pd.read_parquet(folder)
    y, epsilon = table.pop("y").to_numpy(), table.pop("epsilon").to_numpy()
    return table.to_numpy(), y, epsilon


def _files(folder: str | Path) -> list[Path]:
    return sorted(Path(folder).glob("part-*.parquet"))


def _cuts(n: int, d: int) -> list[tuple[int, int]]:
    step = max(1, min(ROWS, NUMBERS // d))
    return [(start, min(start + step, n)) for start in range(0, n, step)]


def _forget(folder: str) -> None:
    """Have the system drop its copy of the files, so that the next reader needs the disk."""
    for path in _files(folder):
        with path.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)


def _usage() -> list[Any]:
    import resource  # not on every system, and the sweeps beside this one are

    return [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]


def _peak() -> float:
    """Largest resident memory so far, of this process or one that it waited for, in MB."""
    return float(max(usage.ru_maxrss for usage in _usage()) * 1024 / 1e6)


def _processor() -> float:
    return float(sum(usage.ru_utime + usage.ru_stime for usage in _usage()))


def alone(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call in a new process, whose memory is its own and given back at the end."""
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(function, *arguments).result()
