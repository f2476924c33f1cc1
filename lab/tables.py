"""Tables of long runs: CSV under lines that say how it was made, which begin with ``#``."""

import platform
import time
from collections.abc import Iterable
from pathlib import Path
from types import ModuleType

import numpy as np
import pandas as pd

import pdpbook


def versions(library: ModuleType) -> str:
    """The line of a header that names Python, numpy, one library more, and the package."""
    found = {"python": platform.python_version()}
    found |= {one.__name__: one.__version__ for one in (np, library, pdpbook)}
    return "versions: " + ", ".join(f"{name} {version}" for name, version in found.items())


def write_table(path: Path, header: Iterable[str], frames: Iterable[pd.DataFrame]) -> None:
    """Write frames as one table with four significant digits, under its header."""
    with path.open("w", encoding="utf-8", newline="\n") as file:
        file.writelines(f"# {line}\n" for line in header)
        pd.concat(frames).to_csv(file, index=False, float_format="%.4g")


def write_run(
    path: Path, said: Iterable[str], frame: pd.DataFrame, start: float, library: ModuleType
) -> None:
    """Write one frame under what is said of it, its processor seconds since `start`, versions."""
    seconds = f"{time.process_time() - start:.0f} processor seconds"
    write_table(path, [*said, seconds, versions(library)], [frame])


def read_results(path: str | Path) -> pd.DataFrame:
    """Read a committed file.

    Parameters
    ----------
    path : path
        A file that `write_results` wrote, or the comparison.

    Returns
    -------
    pandas.DataFrame
        As from the sweeps; ``attrs["header"]`` holds the lines above the table.
    """
    lines = Path(path).read_text(encoding="utf-8").splitlines()
    header = [line[2:] for line in lines if line.startswith("# ")]
    frame = pd.read_csv(path, skiprows=len(header))
    frame.attrs["header"] = header
    return frame
