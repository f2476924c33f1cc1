"""The numbers that Acharya et al. (2024) print beside those in the result files of their code.

    python -m lab pdpop_files FOLDER [--write]

FOLDER is a checkout of https://github.com/krishnacharya/pp-ridge at commit b7eff81; files below it
are found by their names. Table 9 is of an earlier commit, whose file stands beside the other as

    git show 51fb29c:pp/synthetic_expt/csv_outputs/forplots_specific_30_100_impact_n.csv \
      > forplots_specific_30_100_impact_n.at_51fb29c.csv

Prints how many numbers of each table agree, which files are not those of these commits, and which
cells differ from the committed table; the exit code says whether any does. With ``--write`` the
table, `data/pdpop_files.csv`, is written instead, of files of these commits only.
"""

import argparse
import hashlib
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import NamedTuple

import pandas as pd

from lab import published

RECORD = published.FOLDER / "pdpop_files.csv"
COLUMNS = tuple("table row_value method metric printed in_file file commit verdict".split())
KEYS = list(COLUMNS[:4])  # what names a cell
HEADER = (
    "python -m lab pdpop_files FOLDER --write",
    "in_file: numbers of https://github.com/krishnacharya/pp-ridge, (c) 2023 KVA, MIT license",
)
NEWEST, OLDER = "b7eff81", "51fb29c"


class ResultFile(NamedTuple):
    """One file of the authors, and how git names what is in it at a commit."""

    name: str
    commit: str
    blob: str


class Place(NamedTuple):
    """Where the numbers of one table stand."""

    file: ResultFile
    swept: str  #: the column that is printed as the row
    fixed: dict[str, float]  #: columns that the table holds fixed
    people: int = 1  #: what a printed share is multiplied by where the file counts people


def _file(name: str, blob: str, commit: str = NEWEST) -> ResultFile:
    return ResultFile(f"forplots_{name}.csv", commit, blob)


LAMBDA = (
    _file("specific_30_100_plevel_34_43_23_result", "d5f9860c530eb5637d299e130039a4b1a8d9f89a"),
    _file(
        "insurance_data_impact_lambda_plevel_34_43_23_affine",
        "e116f1703197caf53326b0c30cd8bb7d0dc3b6db",
    ),
)
BUDGETS = (
    _file("specific_30_100_eps_c_eps_m", "bf21afcf26011ddb65d9d170d12d145da1c210d6"),
    _file("insurance_data_impact_epsc_epsm_affine", "9629aae0da0fb7fe16b3e5c7acb041df1b1dd5b4"),
)
SHARES = (
    _file("specific_30_100_impact_fc", "d8769db217a9aeaacba32701389ae2b17cf0d5f7"),
    _file("insurance_data_impact_fc_affine", "b5033faa082ad426f4643fa9ab43d301f700d834"),
)
PEOPLE = (
    _file("specific_30_100_impact_n", "faeb944a5adf458f1f205d81bd48452724ff4dab", OLDER),
    _file(
        "insurance_data_impact_n_plevel_34_43_23_affine",
        "b19714956dfaad036c77184d528d17626aaede60",
    ),
)
PLACES = {
    **{str(table): Place(LAMBDA[0], "lamb", {}) for table in (1, 11, 13)},
    **{str(table): Place(LAMBDA[1], "lamb", {}) for table in (2, 12, 14)},
    "3": Place(BUDGETS[0], "eps_c", {"eps_m": 0.5, "lamb": 100}),
    "4": Place(BUDGETS[1], "eps_c", {"eps_m": 0.5, "lamb": 1}),
    "5": Place(BUDGETS[0], "eps_m", {"eps_c": 0.01, "lamb": 100}),
    "6": Place(BUDGETS[1], "eps_m", {"eps_c": 0.01, "lamb": 1}),
    "7": Place(SHARES[0], "fc", {"lamb": 100}),
    "8": Place(SHARES[1], "f_c", {"lamb": 1}),
    "9": Place(PEOPLE[0], "n_frac", {"lamb": 100}, people=80),
    "10": Place(PEOPLE[1], "n_frac", {"lamb": 1}, people=1070),
}
COUNTED = "N_train_frac"  #: in place of `n_frac`, in some of the files
METHODS = {
    "PDP-OP": "pp",
    "non-personalized": "nonpp",
    "jorgensen-max": "jorg_max",
    "jorgensen-mean": "jorg_avg",
}
VERDICTS = ("equal", "last digit", "other number", "not in the file")


def read() -> pd.DataFrame:
    """The committed table: every printed number with the value in the authors' file.

    Returns
    -------
    pandas.DataFrame
        A row for each printed number, in the order of ``published.table("pdpop")``, all strings:
        `table`, `row_value`, `method`, `metric`, `printed`; `in_file`, the value as it stands in
        the file; `file` and `commit`; and `verdict`, one of `VERDICTS`.
    """
    return pd.read_csv(RECORD, comment="#", dtype=str, keep_default_na=False)


def compare(folder: str | Path) -> pd.DataFrame:
    """Every printed number with the value in the files of a folder.

    Parameters
    ----------
    folder : path
        Where the result files are, at any depth.

    Returns
    -------
    pandas.DataFrame
        As from `read`; `in_file` is empty where the file has no such row or column, and `commit`
        where the file is not that of the commit in `PLACES`.

    Raises
    ------
    ValueError
        If a file is missing, stands there twice, or has two rows for one printed row.
    """
    printed = published.table("pdpop")[[*KEYS, "printed"]]
    found = []
    for table, cells in printed.groupby("table", sort=False):
        place = PLACES[str(table)]
        path = _path(Path(folder), place.file)
        commit = place.file.commit if blob(path) == place.file.blob else ""
        rows = _rows(path, place, cells["row_value"].unique())
        for cell in cells.to_dict("records"):
            value = rows[cell["row_value"]].get(_column(cell["method"], cell["metric"]), "")
            cell |= {"in_file": value, "file": place.file.name, "commit": commit}
            found.append(cell | {"verdict": verdict(cell["printed"], value)})
    return pd.DataFrame(found, columns=list(COLUMNS))


def verdict(printed: str, in_file: str) -> str:
    """Whether a printed number is the value in the file, rounded to as many digits.

    Parameters
    ----------
    printed : str
        As in the paper, such as ``8.54e2``.
    in_file : str
        A number, or empty.

    Returns
    -------
    str
        ``"equal"``; ``"last digit"`` if the rounded value is the next number above or below with
        as many digits; ``"other number"``; or ``"not in the file"`` if there is none.
    """
    if not in_file:
        return "not in the file"
    number, value = Decimal(printed), Decimal(in_file)
    if not value.is_finite():
        return "other number"
    unit = Decimal((0, (1,), int(number.as_tuple().exponent)))
    steps = abs((value / unit).to_integral_value(ROUND_HALF_UP) - number / unit)
    return "equal" if steps == 0 else "last digit" if steps == 1 else "other number"


def changed(old: pd.DataFrame, new: pd.DataFrame) -> pd.DataFrame:
    """The cells in which two comparisons differ.

    Parameters
    ----------
    old, new : pandas.DataFrame
        As from `read` and `compare`.

    Returns
    -------
    pandas.DataFrame
        A row for each cell of `new` whose value in the file is another number in `old`, or is
        missing in one of them: what names the cell, `printed`, both values (`in_file_old`,
        `in_file_new`) and both verdicts.
    """
    keep = [*KEYS, "printed", "in_file", "verdict"]
    both = new[keep].merge(old[keep], "left", on=[*KEYS, "printed"], suffixes=("_new", "_old"))
    values = both[["in_file_old", "in_file_new"]].apply(pd.to_numeric, errors="coerce")
    same = values["in_file_old"].eq(values["in_file_new"]) | values.isna().all(axis=1)
    order = ["in_file_old", "in_file_new", "verdict_old", "verdict_new"]
    return both.loc[~same, [*KEYS, "printed", *order]].fillna("").reset_index(drop=True)


def blob(path: Path) -> str:
    """The name that git gives to the content of a file."""
    content = path.read_bytes()
    return hashlib.sha1(b"blob %d\0" % len(content) + content, usedforsecurity=False).hexdigest()


def _path(folder: Path, file: ResultFile) -> Path:
    """The file with the commit in its name if there is one, else the one of the plain name."""
    stem = file.name.removesuffix(".csv")
    for name in (f"{stem}.at_{file.commit}.csv", file.name):
        paths = sorted(folder.rglob(name))
        if len(paths) > 1:
            raise ValueError(f"{name} must be in {folder} once; got {', '.join(map(str, paths))}")
        if paths:
            return paths[0]
    raise ValueError(f"{file.name} must be in {folder} or below it")


def _rows(path: Path, place: Place, printed: Iterable[str]) -> dict[str, dict[str, str]]:
    """The row of a file behind each printed row, by column; empty where there is none."""
    frame = pd.read_csv(path, dtype=str, keep_default_na=False)
    swept, times = place.swept, 1
    if swept not in frame and COUNTED in frame:
        swept, times = COUNTED, place.people
    if missing := {swept, *place.fixed} - set(frame):
        frame = frame.iloc[:0].assign(**dict.fromkeys(missing, ""))
    found = {}
    for row in printed:
        here = frame
        for column, value in {**place.fixed, swept: float(row) * times}.items():
            here = here[(pd.to_numeric(here[column]) - value).abs() < 1e-9]
        if len(here) > 1:
            raise ValueError(f"{path.name} must have one row {swept} = {row}; got {len(here)}")
        found[row] = here.iloc[0].to_dict() if len(here) else {}
    return found


def _column(method: str, metric: str) -> str:
    """The column of the files that a method and a metric are printed from."""
    penalized = metric.startswith("regularized")
    if method == "non-private":
        return f"type{1 + penalized}_nonpriv_loss"
    kind = "std" if metric.endswith("_std") else "mean"
    return f"{'reg' if penalized else 'unreg'}_{METHODS[method]}_test_{kind}"


def main(arguments: Sequence[str]) -> int:
    about, _, more = __doc__.partition("\n\n")
    parser = argparse.ArgumentParser(
        prog="python -m lab pdpop_files",
        description=about,
        epilog=more,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("folder", type=Path, metavar="FOLDER")
    parser.add_argument("--write", action="store_true", help="write the committed table")
    given = parser.parse_args(arguments)
    try:
        new = compare(given.folder)
    except ValueError as error:
        parser.error(str(error))
    counts = new.groupby(["table", "verdict"], sort=False).size().unstack(fill_value=0)
    print(counts.reindex(columns=VERDICTS, fill_value=0).to_string())
    others = new.loc[new["commit"] == "", "file"].unique()
    for name in others:
        print(f"{name} is not the file of the commit that the table names")
    if given.write:
        if len(others) or "not in the file" in set(new["verdict"]):
            parser.error("the table is written of complete files of the named commits only")
        with RECORD.open("w", encoding="utf-8", newline="\n") as file:
            file.writelines(f"# {line}\n" for line in HEADER)
            new.to_csv(file, index=False, lineterminator="\n")
        return 0
    different = changed(read(), new)
    print(f"{len(different)} of {len(new)} cells differ from {RECORD.name}")
    if len(different):
        print(different.to_string(index=False))
    return int(len(others) > 0 or len(different) > 0)
