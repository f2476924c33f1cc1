"""Printed numbers of the papers, as facts: what the tables say, not what is true.

One table a paper, read from the CSV files in `data`. Nothing is corrected here: where a
printed number looks wrong, `likely_value` and `note` say so beside it.
"""

import difflib
from pathlib import Path
from typing import Any

import pandas as pd

from pdpbook import check

PAPERS = ("pdpop", "pac", "user_level")  #: Acharya et al. 2024, Yang 2024, Epasto et al. 2020
FOLDER = Path(__file__).parent / "data"
COLUMNS = tuple(
    "table data row_param row_value method metric value printed flag likely_value note".split()
)


def table(paper: str) -> pd.DataFrame:
    """All printed numbers of one paper, one a row.

    Parameters
    ----------
    paper : str
        ``"pdpop"`` (Acharya et al. 2024), ``"pac"`` (Yang 2024) or ``"user_level"``
        (Epasto et al. 2020).

    Returns
    -------
    pandas.DataFrame
        The same columns for every paper. Strings, empty where the paper has nothing: `table`,
        `data`, `row_param`, `row_value`, `method`, `metric`, `printed` (as in the paper),
        `note`. Numbers: `value` and `likely_value` (NaN where there is none). Booleans: `flag`,
        True where the printed number is probably wrong.
    """
    return _read(paper)


def value(
    paper: str,
    table: str | int,
    row_value: str | float,
    method: str,
    metric: str,
    *,
    data: str | None = None,
) -> float:
    """One printed number.

    Parameters
    ----------
    paper : str
        As for `table`.
    table : str or int
        Number of the table as the paper prints it, such as ``2`` or ``"IV"``.
    row_value : str or float
        Value of the row's parameter; compared as a number where both are numbers.
    method, metric : str
        As in the columns of `table`.
    data : str, optional
        Name of the data set, needed where one table treats several.

    Returns
    -------
    float
        The number as printed, misprints included.

    Raises
    ------
    KeyError
        If there is no such number, with the nearest that there are; or if there are several.
    ValueError
        If `paper` is not one of the three.
    """
    rows = _read(paper)
    rows = rows[rows["value"].notna()]
    wanted = {
        "table": str(table),
        "data": data,
        "row_value": row_value,
        "method": method,
        "metric": metric,
    }
    for column, key in wanted.items():
        if key is None:
            continue
        hit = rows[column].map(lambda printed, key=key: _same(printed, key)).astype(bool)
        if not hit.any():
            raise KeyError(_missing(paper, column, key, list(dict.fromkeys(rows[column]))))
        rows = rows[hit]
    if len(rows) > 1:
        choices = ", ".join(repr(name) for name in dict.fromkeys(rows["data"]))
        raise KeyError(f"{paper}, table {table}: {len(rows)} numbers; say data, of {choices}")
    return float(rows["value"].iloc[0])


def _read(paper: str) -> pd.DataFrame:
    check.choice(paper, "paper", PAPERS)
    raw = pd.read_csv(FOLDER / f"{paper}.csv", dtype=str, keep_default_na=False)
    frame = raw.rename(columns={"value": "printed"}).reindex(columns=COLUMNS, fill_value="")
    frame["value"] = pd.to_numeric(frame["printed"], errors="coerce")
    frame["likely_value"] = pd.to_numeric(frame["likely_value"], errors="coerce")
    frame["flag"] = frame["flag"] == "1"
    return frame


def _same(printed: str, key: Any) -> bool:
    try:
        return float(printed) == float(key)
    except ValueError:
        return printed == str(key)


def _missing(paper: str, column: str, key: Any, choices: list[str]) -> str:
    """Name what was asked for and the nearest that exist."""
    try:
        nearest = sorted(choices, key=lambda c: abs(float(c) - float(key)))[:5]
    except ValueError:
        nearest = difflib.get_close_matches(str(key), choices, n=5, cutoff=0.0)
    listed = ", ".join(repr(choice) for choice in nearest)
    return f"{paper} prints no {column} {key!r} there; nearest are {listed}"
