"""Which solver solves which case of GWA: seconds of one core, memory and gap, into gwa_solvers.csv.

`python -m lab gwa_solvers SOLVER ...` runs the solvers named, each case in a process of its
own, and replaces their lines. `auto`, `cvxpy` and `interior` are those of `gwa_weights`;
`rows`, `newton`, `interior-1` and `highs` are those of the first edition, before most of them went
(run at version 0.1.0); `PIQP` and `CLARABEL` are the program of `programs.py`, by cvxpy.
"""

import argparse
import csv
import json
import resource
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from lab.benchmarks import programs

TABLE = Path(__file__).with_suffix(".csv")
REGIMES = {  # what is large beside what, by the budget; sigma2 as in the experiments, or 0
    "noise dominates": {"epsilon": 1.0},
    "between": {"epsilon": 100.0},
    "data dominate": {"epsilon": 1000.0},
    "noise is all": {"epsilon": 1.0, "sigma2": 0.0},
}
SIZES = (300, 1000, 3000, 10_000, 100_000, 1_000_000)
PEERS = {"PIQP": {}, "CLARABEL": programs.TIGHT}
SECONDS, MEMORY = 60, 4 << 30  # a case that needs more has failed


def run(regime: str, n: int, solver: str) -> dict[str, object]:
    """One case in this process."""
    X, users, setting = programs.instance(n)
    setting.update(REGIMES[regime])
    begin = time.process_time()
    if solver in PEERS:
        found = programs.solve(X, users, setting, solver, **PEERS[solver])
        seconds = time.process_time() - begin
        gap, status = programs.gap(*found, X, users, setting), "as it ended"
    else:
        from pdpbook.gwa import gwa_weights

        name = "interior" if solver == "interior-1" else solver
        weights = gwa_weights(X, users, solver=name, **setting)
        seconds, gap, status = time.process_time() - begin, weights.gap, weights.status
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return {
        "seconds": f"{seconds:.3g}",
        "megabytes": round(memory),
        "gap": f"{max(gap, 0):.1e}",
        "status": status,
    }


def outcome(regime: str, n: int, solver: str) -> dict[str, object]:
    """One case in a process of its own, or how it failed."""
    command = [sys.executable, __file__, "--case", regime, str(n), solver]

    def limit() -> None:
        resource.setrlimit(resource.RLIMIT_DATA, (MEMORY, MEMORY))
        resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS))

    done = subprocess.run(command, capture_output=True, text=True, preexec_fn=limit)
    if done.returncode == 0:
        return json.loads(done.stdout)
    if done.returncode in (-signal.SIGXCPU, -signal.SIGKILL):
        return {"status": f"over {SECONDS} seconds"}
    if done.returncode < 0 or "MemoryError" in done.stderr or "OutOfMemory" in done.stderr:
        return {"status": "over 4 GB"}
    return {"status": done.stderr.strip().splitlines()[-1].split(": ", 1)[-1]}


def main(arguments: Sequence[str] | None = None) -> int:
    """Replace the lines of some solvers."""
    about = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m lab gwa_solvers", description=about)
    parser.add_argument("solvers", nargs="+", metavar="SOLVER", help="auto, cvxpy, interior, PIQP")
    solvers = parser.parse_args(arguments).solvers
    rows = []
    if TABLE.exists():
        with TABLE.open() as file:
            rows = [row for row in csv.DictReader(file) if row["solver"] not in solvers]
    for solver in solvers:
        for regime in REGIMES:
            if (solver == "highs") > (regime == "noise is all"):
                continue
            for n in SIZES:
                found = outcome(regime, n, solver)
                rows.append({"regime": regime, "n": n, "solver": solver, **found})
                print(rows[-1], flush=True)
                if str(found["status"]).startswith("over"):  # more rows need more
                    break
    place = list(REGIMES)
    rows.sort(key=lambda row: (place.index(row["regime"]), int(row["n"]), row["solver"]))
    names = ["regime", "n", "solver", "seconds", "megabytes", "gap", "status"]
    with TABLE.open("w", newline="") as file:
        writer = csv.DictWriter(file, names, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    return 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--case"]:
        print(json.dumps(run(sys.argv[2], int(sys.argv[3]), sys.argv[4])))
