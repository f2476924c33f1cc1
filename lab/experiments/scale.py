"""What a release on many rows takes: peak memory and seconds, each case in a process of its own.

Made-up people are written to files block by block, so no process ever holds more of them than its
case asks for. Seconds include the reading, from a disk whose cache was told to forget the files.
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
from tqdm import tqdm

from pdpbook import Floats, check
from pdpbook.per_instance import per_instance_epsilon, stream_per_instance
from pdpbook.personalized import PDPRidge

SIZES = (10**5, 10**6, 10**7)
COLUMNS = ("X", "y", "epsilon")
ROWS, NUMBERS = 1 << 16, 1 << 22  # at most, in X of a block that is written or read
LEVELS = (0.01, 0.2, 1.0)  # budgets in nats
SHARES = (0.34, 0.43, 0.23)
LAM = 1.0  # against the mean of squares for a release, against the sum for losses
PROOF = "tight"  #: the constant of the committed runs
GAMMA, DELTA = 1.0, 1e-6


SOURCES = {
    "release": ("memory", "map", "file", "cluster"),
    "losses": ("memory", "file"),
    "read": ("file",),
}


class Case(NamedTuple):
    """One run: a release by PDP-OP or the exact losses of everybody, and where the people are."""

    task: str  #: "release", "losses", or "read" for a pass over the files that does nothing
    source: str  #: one of `SOURCES`; a cluster is two workers on this machine
    n: int  #: people
    d: int  #: features


#: the runs of the committed file
CASES = (
    *(Case("release", source, n, 10) for n in SIZES for source in ("memory", "map", "file")),
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
    """Write X, y and epsilon of made-up people into three files, one block in memory at a time.

    Parameters
    ----------
    folder : path
        Where to; gets ``X.npy`` (n, d) in [0, 1], ``y.npy`` in [-1, 1] and ``epsilon.npy``.
    n, d : int
        Number of people and of features.
    seed : int
        Together with the number of a block it gives its generator.
    """
    n, d = check.count(n, "n"), check.count(d, "d")
    maps = {
        name: np.lib.format.open_memmap(
            Path(folder) / f"{name}.npy",
            mode="w+",
            dtype=float,
            shape=(n, d) if name == "X" else (n,),
        )
        for name in COLUMNS
    }
    slope = np.linspace(1, 2, d) / d
    for k, (start, stop) in enumerate(_cuts(n, d)):
        rng = np.random.default_rng([seed, k])
        X = rng.random((stop - start, d))
        maps["X"][start:stop] = X
        label = (X - 0.5) @ slope * np.sqrt(d) + rng.normal(0, 0.2, stop - start)
        maps["y"][start:stop] = np.round(np.clip(label, -1, 1), 6)  # the same on every machine
        maps["epsilon"][start:stop] = rng.choice(LEVELS, stop - start, p=SHARES)
    for column in maps.values():
        column.flush()


def pieces(folder: str | Path, names: tuple[str, ...] = COLUMNS) -> Callable[[], Iterator[Any]]:
    """Return a function that reads the files anew, one block at a time.

    Parameters
    ----------
    folder : path
        Where `write_people` wrote.
    names : tuple of str
        Which columns.

    Returns
    -------
    callable
        Of no argument; gives an iterator of tuples of arrays, for `Rows.from_blocks`.
    """
    return partial(_read, Path(folder), names)


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
    folder = Path(folder)
    size = sum((folder / f"{name}.npy").stat().st_size for name in COLUMNS) / 1e6
    values, row = measured(partial(_run, folder, case, seed))
    answer = float(np.linalg.norm(values) if case.task == "release" else values[0])
    return values, row | {"megabytes": size, "answer": answer}


def measured(run: Callable[[], Floats]) -> tuple[Floats, dict[str, float]]:
    """What a function returns, and its seconds and memory in this process and those it started."""
    start, begin, used = _peak(), time.perf_counter(), _processor()
    values = run()
    row = {"seconds": time.perf_counter() - begin, "processor": _processor() - used}
    return values, row | {"start": start, "peak": _peak()}


def _run(folder: Path, case: Case, seed: int) -> Floats:
    if case.source == "cluster":
        return _on_cluster(folder, seed)
    if case.task == "release":
        return _release(folder, case.source, seed)
    if case.task == "losses":
        return _losses(folder, case.source)
    return np.array([sum(len(block[0]) for block in pieces(folder)())], dtype=float)


def _release(folder: Path, source: str, seed: int) -> Floats:
    from pdpbook.blocks import Rows

    model = PDPRidge(LAM, proof=PROOF, random_state=seed)
    if source == "file":
        model.fit(Rows.from_blocks(pieces(folder), COLUMNS))
    else:
        X, y, epsilon = (
            np.load(folder / f"{name}.npy", mmap_mode="r" if source == "map" else None)
            for name in COLUMNS
        )
        model.fit(X, y, epsilon=epsilon)
    return np.asarray(model.coef_)


def _losses(folder: Path, source: str) -> Floats:
    if source == "file":
        report = stream_per_instance(pieces(folder, ("X", "y")), LAM, GAMMA, DELTA, top=1)
        return np.array([report.mean, report.largest[0]])
    X, y = (np.load(folder / f"{name}.npy") for name in ("X", "y"))
    epsilon = per_instance_epsilon(X, y, LAM, GAMMA, DELTA).epsilon
    return np.array([epsilon.mean(), epsilon.max()])


def _on_cluster(folder: Path, seed: int) -> Floats:
    """A release by two workers, each of which reads its blocks from the files itself."""
    import dask.array as da
    from dask import delayed
    from distributed import Client, LocalCluster
    from pdpbook.blocks import Rows

    def column(name: str) -> Any:
        shape = np.load(folder / f"{name}.npy", mmap_mode="r").shape
        parts = [
            da.from_delayed(delayed(_piece)(folder, name, a, b), (b - a, *shape[1:]), float)
            for a, b in _cuts(shape[0], width)
        ]
        return da.concatenate(parts)

    width = np.load(folder / "X.npy", mmap_mode="r").shape[1]
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0")
    with cluster, Client(cluster):
        X, y, epsilon = (column(name) for name in COLUMNS)
        model = PDPRidge(LAM, proof=PROOF, random_state=seed).fit(Rows(X, y, epsilon=epsilon))
        return np.asarray(model.coef_)


def _cuts(n: int, d: int) -> list[tuple[int, int]]:
    step = max(1, min(ROWS, NUMBERS // d))
    return [(start, min(start + step, n)) for start in range(0, n, step)]


def _read(folder: Path, names: tuple[str, ...]) -> Iterator[tuple[Floats, ...]]:
    n, d = np.load(folder / "X.npy", mmap_mode="r").shape
    for start, stop in _cuts(n, d):
        yield tuple(_piece(folder, name, start, stop) for name in names)


def _piece(folder: Path, name: str, start: int, stop: int) -> Floats:
    """A copy of some rows: a map that is closed again no longer counts as memory in use."""
    return np.array(np.load(folder / f"{name}.npy", mmap_mode="r")[start:stop])


def _forget(folder: str) -> None:
    """Have the system drop its copy of the files, so that the next reader needs the disk."""
    for name in COLUMNS:
        with (Path(folder) / f"{name}.npy").open("rb") as file:
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
