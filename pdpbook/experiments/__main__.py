"""Write a file of committed results: ``python -m pdpbook.experiments NAME [--folder FOLDER]``."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from pdpbook.experiments.records import FOLDERS, write_results


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the sweeps of the files that are named, with a progress bar on the error stream."""
    parser = argparse.ArgumentParser(prog="python -m pdpbook.experiments")
    parser.add_argument("name", nargs="+", choices=tuple(FOLDERS), help="which results")
    parser.add_argument(
        "--folder", type=Path, help="where to, by default the results folder of the chapter"
    )
    parser.add_argument("--draws", type=int, help="fresh draws of data and budgets")
    chosen = parser.parse_args(arguments)
    folders = {name: chosen.folder or FOLDERS[name] for name in chosen.name}
    for folder in folders.values():
        if not folder.is_dir():
            parser.error(f"there is no folder {folder}; run from the top of the repository")
    for name, folder in folders.items():
        path = write_results(name, folder, draws=chosen.draws, progress=True)
        sys.stdout.write(f"{path}\n")
    return 0


if __name__ == "__main__":
    sys.exit(main())
