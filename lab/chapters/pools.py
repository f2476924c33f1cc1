"""Design and label of the PAC experiments of Yang (2024)."""

import numpy as np
import pandas as pd

from pdpbook import check
from pdpbook.datasets import load

PAC_TABLES = {
    "lenses": ("age prescription astigmatic tear_rate", "class"),
    "concrete-slump": (
        "cement slag fly_ash water superplasticizer coarse_aggregate fine_aggregate",
        "strength",
    ),
    "automobile": (
        "wheel_base length width height curb_weight engine_size bore stroke compression_ratio "
        "horsepower peak_rpm city_mpg highway_mpg num_of_doors num_of_cylinders",
        "price",
    ),
}


WORDS = {"two": 2, "three": 3, "four": 4, "five": 5, "six": 6, "eight": 8, "twelve": 12}


def pac_design(name: str) -> tuple[pd.DataFrame, pd.Series]:
    """Design and label of the PAC experiments of Yang (2024), all columns standardized.

    Every feature and the label have mean 0 and standard deviation 1 (divisor n) over the table, so
    that predicting the mean has a root mean squared error of 1. The table is the public pool: its
    means and deviations tell nothing about who is in a random half of it.

    Parameters
    ----------
    name : {"lenses", "concrete-slump", "automobile"}
        Of the 205 automobiles the 201 with a price are used; numbers of doors and cylinders are
        words in the file, and gaps are filled with column means. The paper does not name its 15
        features: the first of two readings, without ``symboling`` and ``normalized_losses``.

    Returns
    -------
    X : pandas.DataFrame, shape (24, 4), (103, 7) or (201, 15)
    y : pandas.Series, shape (n,)
        The class number, the compressive strength, or the price.

    Raises
    ------
    ValueError
        If `name` is unknown.
    """
    check.choice(name, "name", tuple(PAC_TABLES))
    features, label = PAC_TABLES[name]
    frame = load(name)
    used = frame[frame[label].notna()]
    numbers = used[[*features.split(), label]].apply(_as_numbers).reset_index(drop=True)
    numbers = numbers.fillna(numbers.mean())
    standard = (numbers - numbers.mean()) / numbers.std(ddof=0)
    return standard[features.split()], standard[label]


def _as_numbers(column: pd.Series) -> pd.Series:
    numeric = pd.api.types.is_numeric_dtype(column)
    return (column if numeric else column.map(WORDS)).astype(np.float64)
