"""Audit every sound mechanism over many seeds, and write `alarms.csv`.

    python -m lab alarms [NAME ...]

A sound mechanism must raise no alarm. Each line of the harness is audited by its laws on 300 random
pairs of neighbors, and by counting 20,000 releases (2,000 where drawing is slow) on its own hard
pair with 20 seeds; PAC privacy is attacked with 20. Seeds are 0, 1, 2, ...; none is left out. What
draws or counts certify is wrong with a chance of at most 1e-6. All lines take half an hour of one
core; with names, those alone are renewed.
"""

import argparse
import platform
import sys
from collections.abc import Sequence
from dataclasses import replace
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd
import scipy

import pdpbook
from pdpbook.audit import MechanismAudit

sys.path.append(str(Path(__file__).parents[2] / "tests"))  # where the harness is
from mechanisms import SOUND
from plants.plant import Pair, Trial

RECORD = Path(__file__).with_name("alarms.csv")
SEEDS = {"density": 300, "counts": 20, "attack": 20}
#: releases; each draw calibrates anew, or is made of whole numbers
SLOW = {"AdaOPS": 2000, "AdaOPS, norm": 2000, "SufficientStatisticsRidge, grid": 2000}
BEYOND = {"TwoStageGWARegression"}  # no count of releases refutes a promise of 40 nats
UNIT = {"personalized", "objective_perturbation", "sufficient_statistics", "gradient"}


def lines() -> list[tuple[str, str]]:
    """Every mechanism of the harness with each audit that can speak about it."""
    found = []
    for name, trial in SOUND.items():
        if trial.method == "attack":
            found.append((name, "attack"))
            continue
        found.append((name, "density"))
        if name not in BEYOND:
            found.append((name, "counts"))
    return found


def audit(name: str, kind: str, seed: int) -> MechanismAudit:
    """One audit of one mechanism; what it draws is independent of the neighbors."""
    trial = SOUND[name]
    if kind == "density":
        trial = replace(trial, pair=redrawn(trial, np.random.default_rng([seed, 0])))
    if kind == "counts":
        trial = replace(trial, method="samples", draws=SLOW.get(name))
    return trial.audit(rng=np.random.default_rng([seed, 1]))


def redrawn(trial: Trial, rng: np.random.Generator) -> Pair:
    """Random neighbors of the relation, the shapes and the domain of a trial."""
    X, y = (np.asarray(part, dtype=float) for part in trial.pair.data)
    low, high = (0.0, 1.0) if trial.family in UNIT else (-1.0, 1.0)
    if trial.family not in UNIT and X.shape[1] > 1:  # rows within the unit ball, up to d = 4
        low, high = -0.5, 0.5
    Z = rng.uniform(low, high, X.shape)
    z = rng.choice([-1.0, 1.0], len(y)) if rng.random() < 0.5 else rng.uniform(-1, 1, len(y))
    if len(trial.pair.neighbor[1]) > len(y):  # add-remove: one more person
        joined = np.vstack([Z, rng.uniform(low, high, (1, X.shape[1]))])
        return Pair((Z, z), (joined, np.append(z, rng.uniform(-1, 1))))
    users = trial.pair.users
    owner = np.arange(len(y)) if users is None else np.asarray(users)
    mine = owner == rng.choice(owner)
    if "logistic" in (trial.family, getattr(trial.mechanism, "loss", "")):
        z = np.where(z < 0, -1.0, 1.0)
    other_Z, other = Z.copy(), np.where(mine, -z, z)
    if trial.family != "gwa":  # which protects labels alone
        other_Z[mine] = rng.uniform(low, high, (mine.sum(), X.shape[1]))
    if "Median" in type(trial.mechanism).__name__:
        z, other = (z + 1) / 2, (other + 1) / 2
    return Pair((Z, z), (other_Z, other), trial.pair.epsilon, users)


def row(name: str, kind: str) -> dict[str, object]:
    """One row of the record: how many alarms, and the seed that came nearest to one."""
    found = [audit(name, kind, seed) for seed in range(SEEDS[kind])]
    ratios = [one.ratio for one in found]
    return {
        "mechanism": name,
        "audit": kind,
        "how": "/".join(sorted({one.how for one in found})),
        "draws": max(one.draws for one in found),
        "seeds": len(found),
        "alarms": sum(not one.passed for one in found),
        "largest_ratio": f"{max(ratios):.4g}",
        "at_seed": int(np.argmax(ratios)),
        "false_alarm": max(one.false_alarm for one in found),
        "pdpbook": pdpbook.__version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "date": date.today().isoformat(),
    }


def main(arguments: Sequence[str]) -> int:
    about = __doc__.partition("\n")[0]
    parser = argparse.ArgumentParser(prog="python -m lab alarms", description=about)
    parser.add_argument("names", nargs="*", metavar="NAME", help="mechanisms; all if none is named")
    wanted = parser.parse_args(arguments).names
    if unknown := set(wanted) - set(SOUND):
        parser.error(f"no such line of the harness: {', '.join(sorted(unknown))}")
    kept = pd.read_csv(RECORD, dtype=str).to_dict("records") if wanted and RECORD.exists() else []
    rows = {(one["mechanism"], one["audit"]): one for one in kept}
    for name, kind in lines():
        if not wanted or name in wanted:
            rows[name, kind] = found = row(name, kind)
            print(f"{name}, {kind}: {found['alarms']} alarms of {found['seeds']}", flush=True)
            order = [rows[line] for line in lines() if line in rows]
            pd.DataFrame(order).to_csv(RECORD, index=False, lineterminator="\n")
    return 0
