"""Invented records in the shapes of the original tables, for a build that cannot have them.

Made up here, estimated from nothing: a page that runs on them carries a banner, and nothing that
it prints is a result.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import numpy as np
import pandas as pd

__all__: list[str] = []  # `originals.load` hands them out, under a banner

SEED = 20240101


def _medical_cost(rng: np.random.Generator, n: int = 1338) -> pd.DataFrame:
    age = rng.integers(18, 65, n)
    bmi = np.clip(rng.normal(30, 6, n), 16, 53).round(2)
    smoker = rng.random(n) < 0.2
    cost = 250 * age + np.where(smoker, 20_000 + 800 * (bmi - 30), 0) + rng.gamma(2, 1500, n)
    return pd.DataFrame(
        {
            "age": age,
            "sex": rng.choice(["female", "male"], n),
            "bmi": bmi,
            "children": np.minimum(rng.poisson(1, n), 5),
            "smoker": np.where(smoker, "yes", "no"),
            "region": rng.choice(["northeast", "northwest", "southeast", "southwest"], n),
            "charges": np.clip(cost, 1000, 65_000).round(2),
        }
    )


def _lenses(rng: np.random.Generator) -> pd.DataFrame:
    levels = np.array(list(product((1, 2, 3), (1, 2), (1, 2), (1, 2))))
    frame = pd.DataFrame(levels, columns=["age", "prescription", "astigmatic", "tear_rate"])
    frame.insert(0, "row", np.arange(1, 25))
    none = (frame["tear_rate"] == 1) | (rng.random(24) < 0.2)
    return frame.assign(**{"class": np.where(none, 3, 3 - frame["astigmatic"])})


def _concrete_slump(rng: np.random.Generator, n: int = 103) -> pd.DataFrame:
    amounts = {
        "cement": (140, 370),
        "slag": (0, 190),
        "fly_ash": (0, 260),
        "water": (160, 240),
        "superplasticizer": (4, 19),
        "coarse_aggregate": (710, 1050),
        "fine_aggregate": (640, 900),
    }
    frame = pd.DataFrame({name: rng.uniform(*span, n).round(1) for name, span in amounts.items()})
    frame.insert(0, "row", np.arange(1, n + 1))
    frame["slump"] = rng.uniform(0, 29, n).round(1)
    frame["flow"] = (20 + 1.7 * frame["slump"] + rng.normal(0, 4, n)).clip(20, 78).round(1)
    strength = 0.1 * frame["cement"] + 0.06 * frame["fly_ash"] - 0.1 * frame["water"] + 30
    frame["strength"] = (strength + rng.normal(0, 2.5, n)).clip(17, 59).round(2)
    return frame


def _automobile(rng: np.random.Generator, n: int = 205) -> pd.DataFrame:
    makes = [f"make-{k:02d}" for k in range(22)]
    share = 1 / (1 + np.arange(22))
    owners = np.sort(np.append(rng.choice(22, n - 22, p=share / share.sum()), np.arange(22)))
    size, missing = rng.normal(size=n), rng.random((5, n)) < 0.02
    power = np.exp(4.6 + 0.3 * size + 0.2 * rng.normal(size=n)).round()
    price = np.exp(9.3 + 0.4 * size + 0.2 * rng.normal(size=n)).round()
    columns = {
        "symboling": rng.integers(-2, 4, n),
        "normalized_losses": np.where(rng.random(n) < 0.2, np.nan, rng.integers(65, 257, n)),
        "make": np.array(makes)[owners],
        "fuel_type": rng.choice(["gas", "diesel"], n, p=[0.9, 0.1]),
        "aspiration": rng.choice(["std", "turbo"], n, p=[0.8, 0.2]),
        "num_of_doors": pd.Series(rng.choice(["two", "four"], n)).mask(missing[0]),
        "body_style": rng.choice(["sedan", "hatchback", "wagon"], n),
        "drive_wheels": rng.choice(["fwd", "rwd", "4wd"], n),
        "engine_location": np.repeat("front", n),
        "wheel_base": (99 + 5 * size + rng.normal(size=n)).round(1),
        "length": (174 + 10 * size + rng.normal(size=n)).round(1),
        "width": (66 + 1.8 * size + rng.normal(size=n)).round(1),
        "height": (54 + 2.4 * rng.normal(size=n)).round(1),
        "curb_weight": (2550 + 480 * size + 50 * rng.normal(size=n)).round(),
        "engine_type": rng.choice(["ohc", "ohcf", "dohc"], n),
        "num_of_cylinders": rng.choice(["four", "six", "eight"], n, p=[0.8, 0.15, 0.05]),
        "engine_size": (127 + 35 * size + 10 * rng.normal(size=n)).clip(61).round(),
        "fuel_system": rng.choice(["mpfi", "2bbl", "idi"], n),
        "bore": np.where(missing[1], np.nan, (3.3 + 0.27 * rng.normal(size=n)).round(2)),
        "stroke": np.where(missing[1], np.nan, (3.25 + 0.3 * rng.normal(size=n)).round(2)),
        "compression_ratio": rng.uniform(7, 23, n).round(1),
        "horsepower": np.where(missing[2], np.nan, power),
        "peak_rpm": np.where(missing[2], np.nan, rng.integers(415, 660, n) * 10.0),
        "city_mpg": (25 - 5 * size + rng.normal(size=n)).round(),
        "highway_mpg": (31 - 5 * size + rng.normal(size=n)).round(),
        "price": np.where(missing[3], np.nan, price),
    }
    return pd.DataFrame(columns)


def _druglib(rng: np.random.Generator, n: int = 3107, users: int = 502) -> pd.DataFrame:
    share = 1 / (5 + np.arange(users))
    drug = np.append(np.arange(users), rng.choice(users, n - users, p=share / share.sum()))
    effect, harm = rng.integers(1, 6, n), rng.integers(1, 6, n)
    rating = 6 + (effect - 3) - (harm - 3) + rng.normal(0, 1, n)
    return pd.DataFrame(
        {
            "user": drug,
            "rating": np.clip(rating.round(), 1, 10),
            "effectiveness": effect,
            "side_effects": harm,
            "words_benefits": rng.poisson(40, n),
            "words_side_effects": rng.poisson(35, n),
            "words_comments": rng.poisson(50, n),
        }
    )


MAKERS: dict[str, Callable[[np.random.Generator], pd.DataFrame]] = {
    "medical-cost": _medical_cost,
    "lenses": _lenses,
    "concrete-slump": _concrete_slump,
    "automobile": _automobile,
    "druglib": _druglib,
}


def stand_in(name: str) -> pd.DataFrame:
    """Invented records with the columns of an original table; the same ones every time."""
    return MAKERS[name](np.random.default_rng(SEED))
