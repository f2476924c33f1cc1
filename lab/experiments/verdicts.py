"""Verdicts on the printed tables of Acharya et al. (2024), and what their page shows of them.

`records.judge` judges one table; here are all fourteen, as text and as places in a picture.
"""

from collections.abc import Sequence

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lab.experiments.records import judge, settings
from pdpbook import Floats

COLUMNS = {  # in the order of the printed columns, and as the page names them
    "PDP-OP": "PDP-OP",
    "non-personalized": "one for all",
    "jorgensen-max": "sampling, max",
    "jorgensen-mean": "sampling, mean",
    "non-private": "no privacy",
}
MARK = {"inside": "", "near": "~", "outside": "!"}


def select(results: pd.DataFrame, table: int) -> pd.DataFrame:
    """The rows of all results that belong to one printed table.

    Parameters
    ----------
    results : pandas.DataFrame
        All committed results on PDP-OP, one below the other.
    table : int
        Number of the table in the paper.

    Returns
    -------
    pandas.DataFrame
        Its sweep on its data, at its penalty.
    """
    one = settings().set_index("table").loc[table]
    rows = results[(results["data"] == one["data"]) & (results["sweep"] == one["sweep"])]
    return rows if np.isnan(one["lam"]) else rows[rows["lam"] == one["lam"]]


def judge_all(results: pd.DataFrame, printed: pd.DataFrame) -> pd.DataFrame:
    """A verdict on every printed number, in the order of print.

    Parameters
    ----------
    results : pandas.DataFrame
        As for `select`.
    printed : pandas.DataFrame
        As from ``published.table("pdpop")``.

    Returns
    -------
    pandas.DataFrame
        As from `judge`, with the column `table` more.
    """
    found = [
        judge(select(results, table), printed[printed["table"] == str(table)]).assign(table=table)
        for table in settings()["table"]
    ]
    return pd.concat(found, ignore_index=True)


def short(x: float) -> str:
    """Three digits; powers of ten where they are shorter.

    Parameters
    ----------
    x : float
        A number.

    Returns
    -------
    str
        Without the zero before a point, as in ``.0554`` or ``2.18e8``.
    """
    text = f"{x:#.3g}" if 1e-3 <= abs(x) < 1e3 else f"{x:.2e}"
    mantissa, e, power = text.rstrip(".").partition("e")
    return (mantissa + (e and f"e{int(power)}")).removeprefix("0")


def side_by_side(
    results: pd.DataFrame, found: pd.DataFrame, table: int, metric: str, methods: Sequence[str]
) -> str:
    """One printed table beside our bands, as text.

    Parameters
    ----------
    results : pandas.DataFrame
        As for `select`.
    found : pandas.DataFrame
        As from `judge_all`.
    table : int
        Number of the table in the paper.
    metric : str
        Which of the losses or deviations.
    methods : sequence of str
        Columns, in this order.

    Returns
    -------
    str
        A title and a line for each printed row: the number, marked ``~`` if near and ``!`` if
        outside, then the band from 5 to 95 percent.
    """
    rows = select(results, table)
    mine = found.loc[found["table"] == table, ["value", "method", "metric", "printed", "verdict"]]
    rows = rows[(rows["metric"] == metric) & rows["value"].isin(mine["value"])].merge(mine, "left")
    first = [
        f"{short(number)}{MARK[verdict]} " if number > 0 else ""
        for number, verdict in zip(rows["printed"], rows["verdict"], strict=True)
    ]
    bands = zip(first, rows["low"], rows["high"], strict=True)
    rows = rows.assign(cell=[f"{head}{short(low)}-{short(high)}" for head, low, high in bands])
    wide = rows.pivot(index="value", columns="method", values="cell").fillna("")[list(methods)]
    text = wide.rename(columns=COLUMNS).to_string(index_names=False)
    return f"Table {table}, {metric.replace('_', ' ')}\n{text}"


def places(cells: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Where the numbers of one table stand: row counted across, column counted down.

    Parameters
    ----------
    cells : pandas.DataFrame
        Verdicts on one table.

    Returns
    -------
    tuple of pandas.Series
        Both from 0; the plain loss of a method stands above its penalized one.
    """
    column = 2 * cells["method"].map(list(COLUMNS).index)
    column += cells["metric"].str.startswith("reg")
    return cells["value"].rank(method="dense") - 1, column.rank(method="dense") - 1


def runs(x: ArrayLike, y: ArrayLike, step: float, half: float) -> tuple[Floats, Floats]:
    """Lines through marks that stand side by side: one dashed path draws them all.

    Parameters
    ----------
    x, y : array_like, shape (n,)
        The marks.
    step : float
        How far neighbors are apart.
    half : float
        Half of the width of a mark.

    Returns
    -------
    tuple of ndarray
        Ends of the lines, with NaN between two of them.
    """
    marks = pd.DataFrame({"x": np.asarray(x), "y": np.asarray(y)}).sort_values(["y", "x"])
    new = (marks["y"].diff().abs() > 0) | (marks["x"].diff() > 1.5 * step)
    ends = marks.groupby(new.cumsum()).agg(low=("x", "min"), high=("x", "max"), y=("y", "first"))
    gap = np.full(len(ends), np.nan)
    across = np.column_stack([ends["low"] - half, ends["high"] + half, gap])
    return across.ravel(), np.repeat(ends["y"].to_numpy(), 3)
