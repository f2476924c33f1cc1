"""The drug reviews behind some tables, where they are at hand: they are part of no package."""

import os
from pathlib import Path

import pandas as pd

DRUGLIB_FILE = "druglib_train_numeric.csv"
DRUGLIB_COLUMNS = (
    "user rating effectiveness side_effects words_benefits words_side_effects words_comments"
).split()


def load_druglib() -> pd.DataFrame:
    """3107 reviews, one a row, several a drug (`user`).

    Their authors ask that they be used for research only, that they be cited (Graesser,
    Kallumadi, Malberg and Zaunseder 2018), and that they not be passed on. They are read from
    ``druglib_train_numeric.csv`` in the folder that the environment variable ``PDPBOOK_DATA``
    names: the drug (0, 1, ... in order of appearance), the three ratings, and the word counts of
    the three texts. The parser that made those numbers of the raw reviews is not here, because no
    test could run it without them.

    Returns
    -------
    pandas.DataFrame
        Whole numbers, rows in the order of the original.

    Raises
    ------
    FileNotFoundError
        If the file is not at hand.
    ValueError
        If it is not that table.
    """
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
