"""Audit every sound mechanism and every planted bug once, for the tables of the chapter on audits.

    python tools/planted.py

writes `sound.csv` and `planted.csv` in `book/foundations/results`, as the page prints them; it
takes two minutes. The page audits a few of each anew, `tests/test_harness.py` all of them.
"""

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
sys.path.append(str(ROOT / "tests"))  # where the bugs are
from mechanisms import SOUND  # noqa: E402
from plants import PLANTS, Trial  # noqa: E402

RESULTS = ROOT / "book" / "foundations" / "results"
SEED = 2026  # that of the page
SLOW = ("AdaOPS", "DPSGDRegression", "PACRegression")  # not counted


def sound(name: str) -> dict[str, Any]:
    """What the audit of a sound mechanism shows."""
    found = SOUND[name].audit(rng=np.random.default_rng(SEED))
    return {
        "mechanism": name,
        "promise": found.promise,
        "neighbors": found.neighbors,
        "by": found.how,
        "at": "" if np.isnan(found.epsilon) else f"{found.epsilon:g}",
        "shown": f"{found.attack:.2g}",
        "most": f"{found.promised:.2g}",
        "ratio": f"{found.ratio:.2f}",
    }


def planted(name: str) -> dict[str, Any]:
    """What a bug is, what its own audit shows, and how many releases show it by counting."""
    plant = PLANTS[name]
    found = plant.trial().audit(rng=np.random.default_rng(SEED))
    return {
        "bug": name,
        "family": plant.family,
        "public": "*" if plant.public else "",
        "about": plant.about,
        "by": found.how,
        "draws": str(found.draws),
        "most": f"{found.promised:.1g}",
        "ratio": f"{found.ratio:.2g}" if found.ratio < 100 else ">100",
        "counted": counted(name),
    }


def counted(name: str) -> str:
    """How many releases from each data set refute a bug by counting."""
    plant = PLANTS[name]
    if type(plant.sound).__name__ in SLOW:
        return "-"
    for n in (100, 1000, 10_000):
        trial = Trial(plant.planted, plant.pair, "samples", n)
        if plant.method == "fits":
            trial = Trial(plant.planted, plant.pair, "fits", 100)
        try:
            if not trial.audit(rng=np.random.default_rng(SEED)).passed:
                return f"{n}"
        except ValueError:  # too few to say anything
            continue
    return "more"


def main() -> None:
    RESULTS.mkdir(exist_ok=True)
    for file, rows in (
        ("sound.csv", [sound(name) for name in SOUND]),
        ("planted.csv", [planted(name) for name in PLANTS]),
    ):
        pd.DataFrame(rows).to_csv(RESULTS / file, index=False, lineterminator="\n")


if __name__ == "__main__":
    main()
