"""Real tables by name. What is made from them is in `designs`; where they are from, in `data`."""

from __future__ import annotations

import os
from importlib import resources
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import load_diabetes

from pdpbook.validation import check_choice

PACKAGED = ("medical-cost", "lenses", "concrete-slump", "automobile")  # data/<name>.csv
NAMES = (*PACKAGED, "diabetes", "druglib")
DRUGLIB_FILE = "druglib_train_numeric.csv"
DRUGLIB_COLUMNS = (
    "user rating effectiveness side_effects words_benefits words_side_effects words_comments"
).split()


def load(name: str) -> pd.DataFrame:
    """Real table by name.

    Parameters
    ----------
    name : str
        ``medical-cost`` (1338 simulated insurance records), ``lenses`` (24), ``concrete-slump``
        (103), ``automobile`` (205, several a `make`), ``diabetes`` (442 patients) or ``druglib``
        (3107, several a `user`).

    Returns
    -------
    pandas.DataFrame
        Rows in the order of the original; whole numbers, floats and strings, NaN where a value is
        missing.

    Raises
    ------
    ValueError
        If `name` is unknown, or the file of druglib is not that table.
    FileNotFoundError
        If `name` is ``druglib`` and its file is not at hand.

    Notes
    -----
    The first four are part of the package; ``README.md`` beside them in ``pdpbook/datasets/data``
    says who made each, under which license it is passed on, and what was changed. ``diabetes``
    comes with scikit-learn.

    ``druglib`` is not part of the package: its authors ask that it be used for research only, that
    they be cited (Graesser, Kallumadi, Malberg and Zaunseder 2018), and that it not be passed on.
    It is read from ``druglib_train_numeric.csv`` in the folder that the environment variable
    ``PDPBOOK_DATA`` names: the drug (0, 1, ... in order of appearance), the three ratings, and the
    word counts of the three texts. The parser that made those numbers of the raw reviews is not
    part of the package, because no test could run it without them.

    Examples
    --------
    >>> load("medical-cost").shape
    (1338, 7)
    """
    check_choice(name, "name", NAMES)
    if name == "druglib":
        return _druglib()
    if name == "diabetes":
        return load_diabetes(as_frame=True, scaled=False).frame.astype(np.float64)
    file = resources.files("pdpbook.datasets").joinpath("data", f"{name}.csv")
    with file.open(encoding="utf-8") as lines:
        # no word is a missing value, only an empty cell is
        return pd.read_csv(lines, keep_default_na=False, na_values=[""])


def _druglib() -> pd.DataFrame:
    folder = os.environ.get("PDPBOOK_DATA")
    path = Path(folder or "") / DRUGLIB_FILE
    if not folder or not path.is_file():
        raise FileNotFoundError(
            f"druglib is not part of the package, because its authors ask that it not be passed "
            f"on. Put {DRUGLIB_FILE} in a folder and name that folder in the environment variable "
            f"PDPBOOK_DATA; got {folder!r}"
        )
    try:
        frame: pd.DataFrame = pd.read_csv(path, dtype="int64")
    except ValueError as error:
        raise ValueError(f"{DRUGLIB_FILE} must hold whole numbers only; got {error}") from None
    if list(frame) != DRUGLIB_COLUMNS:
        raise ValueError(
            f"{DRUGLIB_FILE} must have the columns {', '.join(DRUGLIB_COLUMNS)}; "
            f"got {', '.join(map(str, frame))}"
        )
    return frame
