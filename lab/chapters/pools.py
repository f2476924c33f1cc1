"""Design and label of the PAC experiments of Yang (2024), automobiles by three readings."""

import numpy as np
import pandas as pd

from pdpbook import check
from pdpbook.datasets import load

SIZES = (
    "wheel_base length width height curb_weight engine_size bore stroke compression_ratio "
    "horsepower peak_rpm city_mpg highway_mpg"
)
NUMBERS = f"symboling normalized_losses {SIZES}"  #: all columns of the automobiles without words
PAC_TABLES = {
    "lenses": ("age prescription astigmatic tear_rate", "class"),
    "concrete-slump": (
        "cement slag fly_ash water superplasticizer coarse_aggregate fine_aggregate",
        "strength",
    ),
    "automobile": (NUMBERS, "price"),
    "automobile, text": (f"{NUMBERS} num_of_doors", "price"),
    "automobile, fifteen": (f"{SIZES} num_of_doors num_of_cylinders", "price"),
}


WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "twelve": 12}


def pac_design(name: str, *, raw: bool = False) -> tuple[pd.DataFrame, pd.Series]:
    """Design and label of the PAC experiments of Yang (2024), all columns standardized.

    Every feature and the label have mean 0 and standard deviation 1 (divisor n) over the table, so
    that predicting the mean has a root mean squared error of 1. The table is the public pool: its
    means and deviations tell nothing about who is in a random half of it.

    Parameters
    ----------
    name : str
        ``"lenses"``, ``"concrete-slump"``, or one of three readings of the automobiles, whose 15
        features the paper counts and does not name. Of the 205 cars the 201 with a price are used.
        ``"automobile"`` follows the public code (``hillaryyang/priv_lr``, commit 37f8b32): the 15
        columns without words; gaps are filled with means over all 205, those of two columns cut
        off to whole numbers. ``"automobile, text"`` adds the number of doors, which the text
        names, and ``"automobile, fifteen"`` has doors and cylinders in place of the insurers' two
        columns; both fill gaps with means over the 201.
    raw : bool, default False
        Whether columns stay in their own units.

    Returns
    -------
    X : pandas.DataFrame, shape (24, 4), (103, 7), (201, 15) or, by the text, (201, 16)
    y : pandas.Series, shape (n,)
        The class number, the compressive strength, or the price.

    Raises
    ------
    ValueError
        If `name` is unknown.
    """
    check.choice(name, "name", tuple(PAC_TABLES))
    features, label = PAC_TABLES[name]
    frame = load(name.partition(",")[0])
    columns = [*features.split(), label]
    numbers = frame[columns].apply(_as_numbers)
    used = frame[label].notna()
    if name == "automobile":
        filled = numbers.fillna(numbers.mean())
        for column in ("normalized_losses", "horsepower"):
            filled[column] = np.floor(filled[column])
        numbers = filled[used]
    else:
        numbers = numbers[used].fillna(numbers[used].mean())
    numbers = numbers.reset_index(drop=True)
    if not raw:
        numbers = (numbers - numbers.mean()) / numbers.std(ddof=0)
    return numbers[features.split()], numbers[label]


def _as_numbers(column: pd.Series) -> pd.Series:
    numeric = pd.api.types.is_numeric_dtype(column)
    return (column if numeric else column.map(WORDS)).astype(np.float64)
