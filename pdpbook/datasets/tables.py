"""Real tables (``data/README.md`` says where from), and generators of others."""

from __future__ import annotations

from importlib import resources
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook._pandas import pd

PACKAGED = ("medical-cost", "lenses", "concrete-slump", "automobile")  # data/<name>.csv
NAMES = (*PACKAGED, "diabetes")
DIABETES_BOUNDS = {
    "age": (18.0, 100.0),
    "sex": (1.0, 2.0),
    "bmi": (12.0, 60.0),
    "bp": (40.0, 160.0),
    "s1": (50.0, 500.0),  # total cholesterol
    "s2": (10.0, 400.0),  # low density
    "s3": (10.0, 150.0),  # high density
    "s4": (1.0, 15.0),  # total over high density
    "s5": (2.5, 7.5),  # log of triglycerides, 12 to 1800 mg/dl
    "s6": (40.0, 400.0),  # glucose
}
DIABETES_LABEL_BOUNDS = (0.0, 400.0)
LEVELS = [  # of the medical cost data, in the order of the design
    ("sex", "female"),
    ("sex", "male"),
    ("smoker", "no"),
    ("smoker", "yes"),
    ("region", "northeast"),
    ("region", "northwest"),
    ("region", "southeast"),
    ("region", "southwest"),
]


def load(name: str) -> pd.DataFrame:
    """Real table by name, in the order of the original.

    All but ``diabetes``, which comes with scikit-learn, are part of the package: ``README.md`` in
    ``pdpbook/datasets/data`` says who made each, under which license it is passed on, and what was
    changed. Whole numbers, floats and strings; NaN where a value is missing.

    Parameters
    ----------
    name : str
        ``medical-cost`` (1338 simulated insurance records), ``lenses`` (24), ``concrete-slump``
        (103), ``automobile`` (205, several a `make`) or ``diabetes`` (442 patients).

    Returns
    -------
    pandas.DataFrame
    """
    check.choice(name, "name", NAMES)
    if name == "diabetes":
        from sklearn.datasets import load_diabetes  # heavy

        return load_diabetes(as_frame=True, scaled=False).frame.astype(np.float64)
    file = resources.files("pdpbook.datasets").joinpath("data", f"{name}.csv")
    with file.open(encoding="utf-8") as lines:
        # no word is a missing value, only an empty cell is
        return pd.read_csv(lines, keep_default_na=False, na_values=[""])


def medical_cost_design(frame: pd.DataFrame) -> tuple[pd.DataFrame, pd.Series]:
    """Design and label, the charges, of the medical cost experiments of Acharya et al. (2024).

    Age, bmi, children and charges are mapped to [0, 1] by their smallest and largest value in the
    whole table, which is what the paper does and is *not private*: bounds belong to the public.
    Sex, smoker and region are fully one-hot, no level dropped; a constant 1 is last.

    Parameters
    ----------
    frame : pandas.DataFrame, from ``load("medical-cost")``

    Returns
    -------
    X : pandas.DataFrame, shape (n, 12)
    y : pandas.Series, shape (n,)
    """
    columns: dict[str, Any] = {}
    for name in ("age", "bmi", "children"):
        columns[name] = _min_max(frame[name])
    for name, level in LEVELS:
        columns[f"{name}_{level}"] = (frame[name] == level).astype(float)
    columns["constant"] = 1.0
    X = pd.DataFrame(columns, index=frame.index)
    return X, _min_max(frame["charges"])


def diabetes_design(
    frame: pd.DataFrame,
) -> tuple[pd.DataFrame, pd.Series, Floats, tuple[float, float]]:
    """Design, label and public bounds of the diabetes data.

    The bounds are a choice of ours, wide clinical limits for adults; they are constants of this
    module and never computed from the table. The label is a score of disease progression whose
    scale the study does not give: that bound is a round number, the least public of them.

    Parameters
    ----------
    frame : pandas.DataFrame, from ``load("diabetes")``

    Returns
    -------
    X : pandas.DataFrame, shape (n, 10)
        Age (years), sex (coded 1 and 2), body mass index (kg/m2), mean arterial pressure (mm Hg),
        total, low and high density cholesterol (mg/dl), ratio of total to high density, natural
        logarithm of triglycerides, and glucose (mg/dl), in their own units.
    y : pandas.Series, shape (n,)
        Progression after one year.
    bounds : ndarray, shape (10, 2)
        Lowest and highest value of each column of `X`.
    y_bounds : (float, float)
    """
    bounds = np.array(list(DIABETES_BOUNDS.values()))
    return frame[list(DIABETES_BOUNDS)], frame["target"], bounds, DIABETES_LABEL_BOUNDS


def _min_max(column: pd.Series) -> pd.Series:
    low, high = column.min(), column.max()
    return (column - low) / (high - low)


def make_ridge_data(n: int, d: int, *, rng: np.random.Generator) -> tuple[Floats, Floats, Floats]:
    r"""Synthetic regression of n people without label noise, inside the domain of the theorems.

    Rows are uniform on :math:`[0,1]^d` and :math:`y = X\theta` exactly, where :math:`\theta` is
    uniform on the sphere of radius :math:`1/\sqrt d`, so that :math:`|y_i| \le 1`. Synthetic data
    of Acharya et al. (2024): their unit vector is sqrt(d) times our theta.

    Parameters
    ----------
    n, d : int
    rng : numpy.random.Generator
        Draws X first, then theta.

    Returns
    -------
    X : ndarray, shape (n, d)
    y : ndarray, shape (n,)
    theta : ndarray, shape (d,)
    """
    n, d, rng = check.count(n, "n"), check.count(d, "d"), check.rng(rng)
    X = rng.uniform(size=(n, d))
    direction = rng.normal(size=d)
    theta = direction / (np.linalg.norm(direction) * np.sqrt(d))
    return X, X @ theta, theta


def sample_budgets(
    n: int,
    *,
    fractions: ArrayLike = (0.34, 0.43, 0.23),
    levels: ArrayLike = (0.01, 0.2, 1.0),
    rng: np.random.Generator,
) -> Floats:
    """Budgets, in nats, of three groups: conservative, medium and liberal people, in this order.

    The first floor(f_c n) people draw uniformly between the first two levels, the next floor(f_m n)
    between the last two, and all others have the last level exactly. Protocol of Acharya et al.
    (2024). A product within 1e-9 of the next whole number counts as that: 0.29 of 100 people is 29.
    Shuffle the people, not the budgets, if their order means anything. Returns shape (n,).

    Parameters
    ----------
    n : int
    fractions : array_like, shape (3,), default (0.34, 0.43, 0.23)
        Shares of the three groups, at least 0, summing to 1.
    levels : array_like, shape (3,), default (0.01, 0.2, 1.0)
        In nats, above 0, not decreasing.
    rng : numpy.random.Generator
    """
    n, rng = check.count(n, "n"), check.rng(rng)
    shares = check.nonnegative(fractions, "fractions")
    edges = check.positive(levels, "levels")
    shares = check.shape(shares, "fractions", (3,), "one a group")
    low, middle, high = check.shape(edges, "levels", (3,), "the ends of the groups")
    if not abs(shares.sum() - 1) <= 1e-9:
        raise ValueError(f"fractions must sum to 1; got {shares.sum():g}")
    if not low <= middle <= high:
        raise ValueError(f"levels must not decrease; got {', '.join(f'{e:g}' for e in edges)}")
    conservative, medium = (int(np.floor(f * n + 1e-9)) for f in shares[:2])
    return np.concatenate(
        [
            rng.uniform(low, middle, conservative),
            rng.uniform(middle, high, medium),
            np.full(n - conservative - medium, high),
        ]
    )


def sample_zipf_users(
    n: int, alpha: float, *, largest: int | None = None, rng: np.random.Generator
) -> NDArray[np.int64]:
    """User of each of n rows, with numbers of rows a user drawn from Zipf's law.

    Sizes are drawn one after the other until they sum to n; the last is truncated. A lower exponent
    is more uneven. Synthetic users of Epasto et al. (2020), read as i.i.d. sizes.

    Parameters
    ----------
    n : int
    alpha : float
        Exponent, above 1.
    largest : int, optional
        Cap on the size of a user; by default n // 5, at least 1, as one draw can exceed n.
    rng : numpy.random.Generator

    Returns
    -------
    ndarray of int, shape (n,)
        Users 0, 1, ..., in contiguous blocks.
    """
    n, rng = check.count(n, "n"), check.rng(rng)
    alpha = check.number(alpha, "alpha")
    if not alpha > 1:
        raise ValueError(f"alpha must be above 1; got {check.shown(alpha)}")
    cap = max(1, n // 5) if largest is None else check.count(largest, "largest")
    sizes: list[int] = []
    rows_without_user = n
    while rows_without_user > 0:
        size = min(int(rng.zipf(alpha)), cap, rows_without_user)
        sizes.append(size)
        rows_without_user -= size
    return np.repeat(np.arange(len(sizes)), sizes)
