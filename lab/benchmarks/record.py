"""Measure ratios of two things in one run, and write them to ratios.csv.

`python -m lab ratios` races the package against naive code and against the floor. With
`--peers PYTHON`, an interpreter that has the packages of requirements-peers.txt, it races the peers
too; without it their rows are left out. `--again` measures a second time, an hour later, into
again.csv. `--only WORD` runs what has the word in it and prints it; with `--replace` these rows
take the place of the old ones in ratios.csv, each with its date.
"""

import argparse
import datetime
import os
import platform
import time
from collections.abc import Iterator, Sequence
from functools import partial
from importlib.metadata import version
from itertools import chain
from pathlib import Path

import numpy as np
import pandas as pd

from lab.benchmarks import races
from lab.benchmarks.races import Peer, Race

RECORD, AGAIN = (Path(__file__).with_name(name) for name in ("ratios.csv", "again.csv"))
RUNS, MOST, ENOUGH = 5, 25, 2.0  # at least five runs, and more within these seconds
SHORTEST = 0.02  # seconds: what is shorter is run several times in a row
MEMORY_ROWS = 200_000


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m lab ratios", description=__doc__)
    parser.add_argument("--peers", metavar="PYTHON", help="an interpreter that has the peers")
    parser.add_argument("--again", action="store_true", help="a second run, beside the first")
    parser.add_argument("--only", metavar="WORD", help="run and print these alone")
    parser.add_argument("--replace", action="store_true", help="with --only: write their rows")
    chosen = parser.parse_args(arguments)
    common = {
        "versions": ", ".join(f"{name} {version(name)}" for name in ("pdpbook", "numpy", "scipy"))
        + f", python {platform.python_version()}",
        "date": datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d %H:%M"),
        "machine": machine(),
    }
    rows = []
    for row in chain(run(chosen.peers, chosen.only), memory(chosen.only)):
        row["load"] = round(os.getloadavg()[0], 1)
        row["versions"] = ", ".join(filter(None, [common["versions"], row.pop("peer")]))
        rows.append(row | {"date": common["date"], "machine": common["machine"]})
        print(
            f"{row['what']} ({row['n']:,} x {row['d']}), {row['kind']}, {row['against']}: "
            f"{row['ratio']} [{row['low']}, {row['high']}] {row['claim']}",
            flush=True,
        )
        if chosen.only is None:  # at once: a run takes a while
            file = AGAIN if chosen.again else RECORD
            pd.DataFrame(rows).to_csv(file, index=False, lineterminator="\n")
    if chosen.only is not None and chosen.replace:
        replaced(pd.read_csv(RECORD, dtype=str), rows).to_csv(
            RECORD, index=False, lineterminator="\n"
        )
    return 0


def replaced(record: pd.DataFrame, rows: list[dict]) -> pd.DataFrame:
    """The record with these rows in place of those of the same race."""
    race = ["kind", "what", "against", "n", "d"]
    new = pd.DataFrame(rows).astype(str).set_index(race)
    changed = record.set_index(race)
    missing = new.index.difference(changed.index)
    if len(missing):
        raise ValueError(f"{RECORD.name} must have a row of each race; it lacks {list(missing)}")
    changed.loc[new.index] = new
    return changed.reset_index()


def run(python: str | None, only: str | None) -> Iterator[dict]:
    peer = None if python is None else partial(Peer, python)
    for race in races.everything(peer):
        if only is None or only in f"{race.kind} {race.what} {race.against}":
            yield row_of(race)


def row_of(race: Race) -> dict:
    """The two in turn, again and again; the ratio of each pair."""
    calls, their_calls = calls_for(race.ours), calls_for(race.theirs)
    ratios: list[float] = []
    start = time.monotonic()
    while len(ratios) < RUNS or (len(ratios) < MOST and time.monotonic() - start < ENOUGH):
        ours = seconds(race.ours, calls)
        theirs = seconds(race.theirs, their_calls) / race.part
        ratios.append(ours / theirs if race.kind in ("floor", "seconds") else theirs / ours)
    return as_row(race.kind, race.what, race.against, race.n, race.d, ratios, race.claim) | {
        "peer": race.theirs.versions if isinstance(race.theirs, Peer) else race.versions
    }


def memory(only: str | None) -> Iterator[dict]:
    for name in races.SINGLE_PASS:
        if only is None or only in f"memory {name}":
            ratio = races.peak(name, MEMORY_ROWS)
            row = as_row(
                "memory", name, "its input, itself counted", MEMORY_ROWS, 10, [ratio], "at most 3"
            )
            yield row | {"peer": ""}


def as_row(kind, what, against, n, d, ratios, claim) -> dict:
    low, middle, high = np.quantile(ratios, [0.25, 0.5, 0.75], method="nearest")
    word, _, bound = claim.rpartition(" ")
    holds = {"at least": middle >= float(bound or 0), "at most": middle <= float(bound or 0)}
    return {
        "kind": kind,
        "what": what,
        "against": against,
        "n": n,
        "d": d,
        "ratio": f"{middle:.3g}",
        "low": f"{low:.3g}",
        "high": f"{high:.3g}",
        "runs": len(ratios),
        "claim": claim,
        "holds": {True: "yes", False: "no"}.get(bool(holds[word])) if word else "",
    }


def calls_for(function) -> int:
    """How many calls take long enough to be timed; the first one warms up."""
    if function is None:
        return 1
    first = seconds(function, 1)
    return 1 if first > SHORTEST else max(1, int(SHORTEST / seconds(function, 1)))


def seconds(function, calls: int) -> float:
    """Processor seconds of one call: on a busy machine those of the clock tell of the others.

    A peer measures its own, and nothing at all is one second.
    """
    if function is None:
        return 1.0
    if isinstance(function, Peer):
        return float(np.mean([function.seconds() for _ in range(calls)]))
    start = time.process_time()
    for _ in range(calls):
        function()
    return (time.process_time() - start) / calls


def machine() -> str:
    """The machine in words: what matters for a ratio, and no name."""
    model = platform.machine()
    described = Path("/proc/cpuinfo")
    if described.exists():
        lines = described.read_text(encoding="utf-8").splitlines()
        names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
        model = names[0] if names else model
    return f"{os.cpu_count()} cores ({model}), {platform.system()}; one thread used"
