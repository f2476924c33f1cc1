"""Write a file of committed results: ``python -m pdpbook.experiments NAME [--folder FOLDER]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pdpbook.experiments.records import RESULTS, write_results

FOLDER = Path("book/personalized/results")


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweeps of the files that are named, with a progress bar on the error stream."""
    parser = argparse.ArgumentParser(prog="python -m pdpbook.experiments")
    parser.add_argument("name", nargs="+", choices=tuple(RESULTS), help="which results")
    parser.add_argument(
        "--folder", type=Path, default=FOLDER, help=f"where to, by default {FOLDER}"
    )
    parser.add_argument("--draws", type=int, help="fresh draws of data and budgets")
    chosen = parser.parse_args(arguments)
    if not chosen.folder.is_dir():
        parser.error(f"there is no folder {chosen.folder}; run from the top of the repository")
    for name in chosen.name:
        path = write_results(name, chosen.folder, draws=chosen.draws, progress=True)
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
