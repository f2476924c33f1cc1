"""Data of the user-level experiments, and what their mechanisms are told: synthetic and real."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import make_regression

from lab.experiments.reviews import load_druglib
from pdpbook import Floats, check
from pdpbook.datasets import load, sample_zipf_users
from pdpbook.users import Users, check_users

USER_DATA = ("synthetic", "druglib", "automobile")
#: readings of the drug reviews: how seven columns are scaled beside the constant
DESIGNS = ("standardized", "unit", "raw")
WIDTHS = ("data", "public")
FEATURES, SIGMA, LARGEST = 10, 20.0, 100.0  # of make_regression, whose coefficients lie in [0, 100]
RATING, PRICE = (1.0, 10.0), (5_000.0, 50_000.0)  # public bounds of the labels


@dataclass(frozen=True)
class Problem:
    """Labels to protect, and what the mechanisms are told about them."""

    X: Floats  #: rows, shape (n, d), public
    y: Floats  #: labels, shape (n,), in `bounds`
    users: Users  #: who owns which rows
    bounds: tuple[float, float]  #: interval of the labels that calibrates the noise
    sigma2: float  #: variance of the labels around the line that steers the weights

    @property
    def width(self) -> float:
        """Width of the interval of the labels."""
        return self.bounds[1] - self.bounds[0]


def user_problem(
    data: str,
    *,
    n: int = 600,
    alpha: float = 1.5,
    design: str = "standardized",
    width: str = "data",
    rng: np.random.Generator,
) -> Problem:
    r"""Data of one repeat.

    Parameters
    ----------
    data : {"synthetic", "druglib", "automobile"}
        Ten features, a linear label with noise of standard deviation 20, Zipf users; 3107 ratings
        of 502 drugs (eight columns); the logarithms of 201 prices of 22 makes (four columns).
    n : int, default 600
        Rows of synthetic data.
    alpha : float, default 1.5
        Zipf exponent of synthetic users; lower is more uneven. Sizes are capped at n // 5.
    design : {"standardized", "unit", "raw"}, default "standardized"
        Columns of the drug reviews: both ratings beside the label, their squared distances from
        the middle, logarithms of three word counts; standardized, in [0, 1], or as they come.
    width : {"data", "public"}, default "data"
        Bounds and variance of the labels from the labels themselves, which is NOT private; or from
        what is public. There the synthetic labels have 8 standard deviations at the largest
        coefficients and :math:`\sigma^2=400`; the real ones a natural scale of width B and
        :math:`\sigma^2=B^2/12`.
    rng : numpy.random.Generator
        Draws synthetic data and users; not used for the real ones.

    Returns
    -------
    Problem
        Labels are clipped to the bounds.
    """
    check.choice(data, "data", USER_DATA)
    check.choice(width, "width", WIDTHS)
    rng = check.rng(rng)
    if data == "synthetic":
        n = check.count(n, "n", minimum=FEATURES + 1)
        X, y = make_regression(
            n, FEATURES, n_informative=FEATURES, noise=SIGMA, random_state=int(rng.integers(2**31))
        )
        owners: Any = sample_zipf_users(n, alpha, rng=rng)
        half = 4 * float(np.sqrt(FEATURES * LARGEST**2 + SIGMA**2))
        return _told(X, y, owners, (-half, half), SIGMA**2, width)
    if data == "druglib":
        check.choice(design, "design", DESIGNS)
        return drug_problem(drug_columns(design).drop(columns="product"), width)
    return _told(*_cars(), width)


def drug_problem(columns: pd.DataFrame, width: str = "data") -> Problem:
    """The drug reviews with some of `drug_columns` as their rows."""
    frame = load_druglib()
    ratings, bounds = frame["rating"].to_numpy(float), RATING
    sigma2 = (bounds[1] - bounds[0]) ** 2 / 12
    return _told(columns.to_numpy(), ratings, frame["user"].to_numpy(), bounds, sigma2, width)


def _told(
    X: Floats, y: Floats, owners: Any, bounds: tuple[float, float], sigma2: float, width: str
) -> Problem:
    """What is public, or in its place what the labels themselves say, which is NOT private."""
    if width == "data":
        rest = y - X @ np.linalg.lstsq(X, y, rcond=None)[0]
        bounds, sigma2 = (float(y.min()), float(y.max())), rest @ rest / (len(y) - X.shape[1])
    return Problem(X, np.clip(y, *bounds), check_users(owners, len(y)), bounds, float(sigma2))


def drug_columns(design: str, words: str = "logarithms") -> pd.DataFrame:
    """Nine columns that a regression on the drug reviews may have; the paper has eight."""
    frame = load_druglib()
    Z = frame[["effectiveness", "side_effects"]].astype(float)
    off = Z - 3  # from the middle of the scale
    Z = Z.assign(
        effectiveness_squared=off["effectiveness"] ** 2,
        side_effects_squared=off["side_effects"] ** 2,
        product=off["effectiveness"] * off["side_effects"],
    )
    counts = frame.filter(like="words_").astype(float)
    Z = Z.join(np.log1p(counts) if words == "logarithms" else counts)
    if design == "standardized":
        Z = (Z - Z.mean()) / Z.std(ddof=0)
    elif design == "unit":
        Z = (Z - Z.min()) / (Z.max() - Z.min())
    Z.insert(0, "constant", 1.0)
    return Z


def _cars() -> tuple[Floats, Floats, Any, tuple[float, float], float]:
    frame = load("automobile")
    frame = frame[frame["price"].notna()]
    Z = frame[["curb_weight", "horsepower", "highway_mpg"]].to_numpy(float)
    Z = np.where(np.isnan(Z), np.nanmean(Z, axis=0), Z)
    X = np.column_stack([np.ones(len(Z)), (Z - Z.mean(axis=0)) / Z.std(axis=0)])
    bounds = (float(np.log(PRICE[0])), float(np.log(PRICE[1])))
    sigma2 = (bounds[1] - bounds[0]) ** 2 / 12
    return X, np.log(frame["price"].to_numpy(float)), frame["make"].to_numpy(), bounds, sigma2
