"""A record of what every estimator releases, promises and refuses, to hold a change against.

    python tools/record.py compare OLD_TREE NEW_TREE   # two work trees, to the bit
    python tools/record.py write FILE [TREE]           # the record of a tree, by default this one
    python tools/record.py compare FILE TREE           # a file in place of a tree

A tree is a work tree of any commit: of it, this script needs `pdpbook` alone. What a commit does
not have is recorded as absent. `compare` lists what differs, case by case, and exits with 1 if
anything does; `--every 20` takes every twentieth case, for a quick look.

To the bit is meant on one machine: the last digits of a release differ between processors. So
`tests/test_record.py` holds today's releases to the committed file within `RELATIVE`, and what a
solver decides within ten times its tolerance, see `SOLVERS`.

A change that means to release something else writes the file anew, and its commit says why:
`python tools/record.py write tests/record.json`.
"""

from __future__ import annotations

import argparse
import importlib
import inspect
import json
import os
import re
import subprocess
import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import KW_ONLY, dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

ROOT = Path(__file__).resolve().parent.parent
RECORD = ROOT / "tests" / "record.json"
SEEDS = (1, 2, 3)

# --- data ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Recipe:
    """A data set: rows of a shape, who owns them, their budgets, and in what form they come."""

    seed: int
    rows: int
    columns: int
    _: KW_ONLY
    shape: str = "uniform"  #: see `draw_rows`
    owners: str = "each"  #: see `draw_owners`
    budgets: str = "unequal"  #: see `draw_budgets`
    form: str = "arrays"  #: see `in_form`
    units: str = "domain"  #: see `UNITS`
    clip: bool = False
    fit_intercept: bool = False


#: public bounds of the features and of the labels
UNITS = {
    "domain": ((0.0, 1.0), (-1.0, 1.0)),
    "centered": ((-1.0, 1.0), (-1.0, 1.0)),
    "yours": ([(18.0, 90.0), (0.0, 40.0), (-1.0, 3.0)], (0.0, 100.0)),
    "far": ((1e6, 1e6 + 1), (-1e4, -1e4 + 5)),
}

#: the data set of settings, refusals and accounts, and two more for settings that need them
PLAIN, OUTSIDE, CLASSES = "plain", "outside, clipped", "two classes"

RECIPES = {
    PLAIN: Recipe(1, 40, 2, owners="shared"),
    OUTSIDE: Recipe(2, 40, 2, owners="shared", shape="outside", clip=True),
    CLASSES: Recipe(3, 40, 2, owners="shared", shape="corners"),
    "one row": Recipe(4, 1, 1),
    "two rows": Recipe(5, 2, 1),
    "three rows, intercept": Recipe(6, 3, 1, fit_intercept=True),
    "one column": Recipe(7, 20, 1),
    "one column, intercept": Recipe(8, 20, 1, fit_intercept=True),
    "two columns, intercept": Recipe(9, 25, 2, fit_intercept=True),
    "three columns": Recipe(10, 30, 3),
    "three columns, intercept": Recipe(11, 30, 3, fit_intercept=True),
    "five columns": Recipe(12, 60, 5, budgets="levels"),
    "five columns, intercept": Recipe(13, 60, 5, budgets="levels", fit_intercept=True),
    "more columns than rows": Recipe(14, 4, 5, budgets="levels"),
    "many rows": Recipe(15, 200, 2, budgets="levels"),
    "many rows, intercept": Recipe(16, 200, 3, owners="shared", fit_intercept=True),
    "a number": Recipe(17, 30, 2, budgets="number"),
    "equal budgets": Recipe(18, 30, 2, budgets="equal"),
    "levels of budgets": Recipe(19, 30, 2, budgets="levels"),
    "zero budgets": Recipe(20, 30, 2, budgets="zeros"),
    "zero budgets of users": Recipe(21, 45, 2, budgets="zeros", owners="shared"),
    "a tiny budget": Recipe(22, 30, 2, budgets="tiny"),
    "large budgets": Recipe(23, 30, 2, budgets="large", fit_intercept=True),
    "spread budgets": Recipe(24, 30, 2, budgets="spread"),
    "one takes part": Recipe(25, 12, 1, budgets="one"),
    "nobody takes part": Recipe(26, 12, 1, budgets="none"),
    "users": Recipe(27, 50, 2, owners="shared", budgets="levels", fit_intercept=True),
    "named users": Recipe(28, 40, 2, owners="named", form="mapping"),
    "a user with most rows": Recipe(29, 60, 2, owners="heavy"),
    "one user": Recipe(30, 12, 2, owners="one", budgets="equal"),
    "names": Recipe(31, 24, 2, form="frame"),
    "names and users": Recipe(32, 40, 3, owners="named", form="frame", fit_intercept=True),
    "lists": Recipe(33, 12, 2, form="lists", owners="shared"),
    "single precision": Recipe(34, 24, 2, form="float32", clip=True),
    "whole numbers": Recipe(35, 24, 2, shape="corners", form="whole"),
    "centered": Recipe(36, 30, 2, units="centered", shape="outside", clip=True),
    "your units": Recipe(37, 40, 3, units="yours", fit_intercept=True),
    "your units, users, clipped": Recipe(
        38, 40, 3, units="yours", shape="outside", owners="shared", clip=True, fit_intercept=True
    ),
    "far away": Recipe(39, 30, 2, units="far"),
    "far away, intercept": Recipe(40, 30, 2, units="far", owners="shared", fit_intercept=True),
    "outside, refused": Recipe(41, 20, 2, shape="outside"),
    "corners": Recipe(42, 30, 3, shape="corners"),
    "a constant column": Recipe(43, 30, 2, shape="constant column"),
    "twin columns": Recipe(44, 30, 2, shape="twin columns", owners="shared"),
    "empty rows": Recipe(45, 20, 2, shape="empty rows"),
    "constant labels": Recipe(46, 20, 2, shape="constant labels"),
}


@dataclass(frozen=True)
class Data:
    """A data set as it is handed to `fit`; `per_row` has the budgets of the owners of all rows."""

    X: Any
    y: Any
    users: Any
    epsilon: Any
    per_row: Any
    settings: dict[str, Any]  #: bounds, clip and fit_intercept


@cache
def data_set(name: str) -> Data:
    recipe = RECIPES[name]
    rng = np.random.default_rng(recipe.seed)
    X, y = draw_rows(recipe, rng)
    owners = draw_owners(recipe, rng)
    number = recipe.rows if owners is None else int(owners.max()) + 1
    budgets = draw_budgets(recipe.budgets, number, rng)
    bounds, y_bounds = UNITS[recipe.units]
    low, high = np.broadcast_to(bounds, (recipe.columns, 2)).T
    X, y = low + X * (high - low), np.mean(y_bounds) + y * np.ptp(y_bounds) / 2
    settings = {
        "bounds": bounds,
        "y_bounds": y_bounds,
        "clip": recipe.clip,
        "fit_intercept": recipe.fit_intercept,
    }
    return Data(*in_form(recipe, X, y, owners, budgets), settings)


def draw_rows(recipe: Recipe, rng: np.random.Generator) -> tuple[Any, Any]:
    """Rows in the unit cube, and labels between -1 and 1; those of "outside" a little beyond."""
    X = rng.random((recipe.rows, recipe.columns))
    slopes = np.linspace(0.8, -0.6, recipe.columns)
    y = np.clip(X @ slopes + 0.3 * rng.standard_normal(recipe.rows), -1, 1)
    if recipe.shape == "outside":
        return 1.6 * X - 0.3, 1.4 * y
    if recipe.shape == "corners":
        return np.round(X), np.where(y > np.median(y), 1.0, -1.0)
    if recipe.shape == "constant column":
        X[:, 0] = 0.5
    if recipe.shape == "twin columns":
        X[:, 1] = X[:, 0]
    if recipe.shape == "empty rows":
        X[:] = 0.0
    if recipe.shape == "constant labels":
        y[:] = 0.25
    return X, y


def draw_owners(recipe: Recipe, rng: np.random.Generator) -> Any:
    """The number of the owner of each row; None if every row is a person of its own."""
    rows = recipe.rows
    if recipe.owners == "each":
        return None
    if recipe.owners == "one":
        return np.zeros(rows, dtype=int)
    number = max(2, rows // 5)
    owners = np.append(np.arange(number), rng.integers(0, number, rows - number))
    if recipe.owners == "heavy":
        owners[number : 3 * rows // 4] = 0
    return rng.permutation(owners)


def draw_budgets(kind: str, number: int, rng: np.random.Generator) -> Any:
    """A budget for each of so many people, or one for all of them."""
    if kind == "number":
        return 0.7
    if kind in ("equal", "large", "none"):
        return np.full(number, {"equal": 0.5, "large": 30.0, "none": 0.0}[kind])
    if kind == "levels":
        return np.sort(rng.choice([0.1, 0.5, 1.0], number))
    if kind == "spread":
        return np.geomspace(1e-3, 10.0, number)
    budgets = rng.choice(rng.uniform(0.1, 2.0, 8).round(3), number)
    if kind == "tiny":
        budgets[-1] = 1e-9
    if kind == "zeros":
        budgets[::3] = 0.0
    if kind == "one":
        budgets[1:] = 0.0
    return budgets


def in_form(recipe: Recipe, X: Any, y: Any, owners: Any, budgets: Any) -> tuple[Any, ...]:
    """X, y, users, epsilon and the budgets of all rows, as arrays, lists or by name."""
    per_row = budgets if owners is None or np.ndim(budgets) == 0 else budgets[owners]
    users, epsilon = owners, per_row
    if recipe.owners == "named":
        users = np.array([f"user {owner:02d}" for owner in owners])
    if recipe.form == "mapping":
        epsilon = {f"user {owner:02d}": float(budget) for owner, budget in enumerate(budgets)}
    if recipe.form == "float32":
        X, y = X.astype(np.float32), y.astype(np.float32)
    if recipe.form == "whole":
        X, y = X.astype(int), y.astype(int)
    if recipe.form == "lists":
        X, y, users, epsilon = X.tolist(), y.tolist(), users.tolist(), epsilon.tolist()
    if recipe.form == "frame":
        names = [f"row {row:02d}" for row in range(recipe.rows)]
        X = pd.DataFrame(X, index=names, columns=[f"x{j}" for j in range(recipe.columns)])
        y, epsilon = pd.Series(y, index=names), pd.Series(per_row, index=names)
        users = None if users is None else pd.Series(users, index=names)
        per_row = epsilon
    return X, y, users, epsilon, per_row


# --- settings ------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Also:
    """A value of a setting that needs other settings or data beside it, or no budgets in `fit`."""

    value: Any
    on: str = PLAIN
    budgets: bool = True
    beside: Mapping[str, Any] = field(default_factory=dict)


def also(value: Any, on: str = PLAIN, budgets: bool = True, **beside: Any) -> Also:
    return Also(value, on, budgets, beside)


GENERATOR = "a generator"  # in place of a seed: one generator a seed

COMMON: dict[str, list[Any]] = {
    "epsilon": [also(1.0, budgets=False), also(0.3, budgets=False)],
    "random_state": [None, 1, GENERATOR],
    "y_bounds": [(-1.0, 1.0), (-2.0, 5.0)],
    "clip": [False, also(True, on=OUTSIDE)],
}
LINE = COMMON | {"fit_intercept": [False, True]}
BOUNDED = [(0.0, 1.0), (-1.0, 1.0), [(-1.0, 2.0), (0.0, 3.0)]]
NORMS = [None, 4.0, also(0.7, clip=True)]
CUBE = LINE | {"bounds": BOUNDED, "lam": [1.0, 0.05, 20.0]}
BALL = LINE | {"bounds": BOUNDED, "delta": [1e-6, 1e-3]}
HUBER = {"loss": "huber"}
GAUSSIAN = {"noise": "gaussian", "delta": 1e-5}
LOGISTIC = {"loss": "logistic"}
SOLVED = {"solver": ["auto", "cvxpy", "interior"], "tol": [1e-8, also(1e-6, solver="interior")]}
LIMITED = {
    "max_rows": ["best", "max", 2],
    "selection_seed": [also(0, max_rows=2), also(7, max_rows=2)],
}
ERM = LINE | {
    "bounds": BOUNDED,
    "loss": ["square", also("logistic", on=CLASSES)],
    "radius": [1.0, 3.0],
    "tradeoff": [None, 0.0, 500.0, np.inf],
    "classes": [
        also(None, on=CLASSES, **LOGISTIC),
        also((1.0, -1.0), on=CLASSES, **LOGISTIC),
    ],
    "row_norm": NORMS,
}
PROVED = {
    "proof": ["published", "exact-norm", "tight", "joint"],
    "bound": [None, 0.2],
    "row_norm": NORMS,
    "huber_threshold": [also(1.0, **HUBER), also(0.2, **HUBER)],
}

#: every setting of every estimator with its values: all words, flags and None, and two numbers
SETTINGS: dict[str, dict[str, list[Any]]] = {
    "PDPRidge": CUBE
    | PROVED
    | {
        "delta": [0.0, 1e-5],
        "loss": ["square", "huber"],
        "weights": ["proportional", "capped"],
        "label_mean_share": [0.0, 0.3],
    },
    "PersonalizedMean": COMMON
    | {"noise": ["laplace", "grid"], "grid": [1024, also(16, noise="grid")]},
    "SampledRidge": CUBE
    | PROVED
    | {
        "threshold": ["max", "mean", 0.8],
        "normalizer": ["public", "sampled"],
        "rule": ["jorgensen", "exact"],
        "loss": ["square", "huber"],
    },
    "ObjectivePerturbation": CUBE
    | {
        "delta": [0.0, 1e-5],
        "huber_threshold": [1.0, 0.2],
        "row_norm": NORMS,
        "label_mean_share": [0.0, 0.3],
    },
    "SufficientStatisticsRidge": CUBE
    | {
        "delta": [0.0, also(1e-5, **GAUSSIAN), also(1e-3, **GAUSSIAN | {"delta": 1e-3})],
        "noise": ["laplace", also("gaussian", **GAUSSIAN), "grid"],
        "grid": [1024, also(16, noise="grid")],
        "centered": [False, True],
        "scale": [None, 3.0],
    },
    "GradientDescentRidge": CUBE
    | {
        "delta": [1e-6, 1e-3],
        "steps": [10, 3],
        "step_size": [None, 0.1],
        "loss": ["huber", "square"],
        "huber_threshold": [1.0, 0.2],
        "clip_norm": [also(None, loss="square"), also(0.3, loss="square")],
        "row_norm": NORMS,
    },
    "AdaSSP": BALL
    | {"failure": [0.05, 0.2], "calibration": ["exact", "published"], "row_norm": NORMS},
    "OnePosteriorSample": BALL
    | {"lam": [100.0, 1000.0], "n_max": [100_000, 500], "row_norm": NORMS},
    "AdaOPS": BALL
    | {
        "norm_guess": [1.0, 20.0],
        "release_norm": [False, True],
        "calibration": ["joint", "simple"],
        "kappa": [None, 10.0],
        "n_max": [100_000, 500],
        "row_norm": NORMS,
    },
    "DPSGDRegression": LINE
    | {
        "bounds": BOUNDED,
        "delta": [1e-5, 1e-3],
        "success_rate": [None, also(0.7, budgets=False)],
        "learning_rate": [0.1, 0.5],
        "batch_size": [16, 8],
        "epochs": [10, 2],
        "clip_norm": [1.0, 0.2],
        "noise_multiplier": [None, also(3.0, budgets=False)],
        "accountant": ["pld", "rdp"],
        "n_public": [None, 80],
    },
    "WeightedMean": COMMON | {"sigma2": [None, 0.0, 0.01]},
    "SampleLimitedMean": COMMON | LIMITED | {"sigma2": [None, 30.0]},
    "WeightedGradientDescent": ERM
    | {
        "delta": [1e-6, 1e-4],
        "accounting": ["zcdp", "gaussian"],
        "steps": [None, 3],
        "step_size": [None, 0.2],
        "clip_norm": [None, 0.3],
    },
    "WeightedOutputPerturbation": ERM | {"lam": [0.1, 2.0]},
    "GWARegression": LINE
    | SOLVED
    | {
        "delta": [0.0, 1e-5],
        "objective": ["parameters", "prediction"],
        "prior": [None, 0.5],
        "sensitivity": ["entrywise", "exact"],
        "sigma2": [None, 0.01],
    },
    "SampleLimitedRegression": LINE
    | LIMITED
    | {"sensitivity": ["entrywise", "exact"], "sigma2": [None, 30.0]},
    "TwoStageGWARegression": LINE
    | SOLVED
    | {"share": [0.25, 0.5], "reach": [3.5, 2.0], "sigma2": [None, 0.01]},
    "PACRegression": {
        "random_state": [None, 1, GENERATOR],
        "model": ["ridge", "ols", also("lasso", on="lists", alpha=0.05, draws=100)],
        "success_rate": [0.75, 0.9, np.linspace(0.7, 0.9, 40)],
        "sample_rate": [0.5, 0.6],
        "calibration": ["mi", "tv"],
        "alpha": [1.0, 0.1],
        "basis": ["difference", "svd", "unit"],
        "combine": ["minimax", "max"],
        "task": ["weights", "loss"],
        "fit_intercept": [True, False],
        "tol": [also(0.1, draws=2000), also(0.5, draws=2000)],
        "confidence": [0.99, 0.999],
        "draws": [20_000, 500],
    },
    "private_quantile": {
        "epsilon": [also(1.0, budgets=False), also(30.0, budgets=False)],
        "level": [0.5, 0.1],
        "bounds": [(-1.0, 1.0), (-3.0, 2.0)],
        "weights": [None, np.arange(1.0, 41.0)],
        "grid": [None, np.linspace(-1, 1, 9)],
        "clip": [False, also(True, on=OUTSIDE)],
    },
}

#: settings that change one another's meaning
TOGETHER: dict[str, list[Mapping[str, Any]]] = {
    "PDPRidge": [
        HUBER | {"delta": 1e-5, "fit_intercept": True},
        {"weights": "capped", "delta": 1e-5, "row_norm": 1.2, "clip": True},
        {"bound": 0.7, "proof": "tight", "fit_intercept": True},
    ],
    "SampledRidge": [
        HUBER | {"rule": "exact"},
        {"normalizer": "sampled", "threshold": "mean", "fit_intercept": True},
        {"rule": "exact", "proof": "published", "threshold": "mean"},
    ],
    "ObjectivePerturbation": [{"delta": 1e-5, "fit_intercept": True, "lam": 3.0}],
    "SufficientStatisticsRidge": [
        GAUSSIAN | {"centered": True, "fit_intercept": True},
        GAUSSIAN | {"centered": True, "scale": 0.4},
        {"centered": True, "fit_intercept": True, "scale": 0.4},
    ],
    "AdaSSP": [{"calibration": "published", "fit_intercept": True, "row_norm": 2.0}],
    "AdaOPS": [
        {"release_norm": True, "calibration": "simple", "fit_intercept": True},
        {"release_norm": True, "kappa": 5.0, "n_max": 500},
    ],
    "DPSGDRegression": [{"n_public": 80, "accountant": "rdp", "fit_intercept": True}],
    "WeightedGradientDescent": [
        {"accounting": "gaussian", "fit_intercept": True, "steps": 5, "clip_norm": 0.3},
    ],
    "WeightedOutputPerturbation": [{"fit_intercept": True, "tradeoff": 0.0}],
    "GWARegression": [
        {"delta": 1e-5, "prior": 0.5, "objective": "prediction", "fit_intercept": True},
        {"sensitivity": "exact", "fit_intercept": True},
    ],
    "SampleLimitedRegression": [{"max_rows": 3, "sensitivity": "exact", "fit_intercept": True}],
    "TwoStageGWARegression": [{"sigma2": 0.001, "epsilon": 40.0, "fit_intercept": True}],
    "PACRegression": [{"model": "ols", "calibration": "tv", "task": "loss", "combine": "max"}],
}

#: what an estimator is given unless a case says otherwise: small data, few steps
USUAL: dict[str, dict[str, Any]] = {
    "PDPRidge": {"lam": 0.3},
    "SampledRidge": {"lam": 0.3},
    "ObjectivePerturbation": {"lam": 0.5},
    "SufficientStatisticsRidge": {"lam": 0.3},
    "GradientDescentRidge": {"lam": 0.3},
    "DPSGDRegression": {"batch_size": 8, "epochs": 2},
    "PACRegression": {"draws": 200, "tol": 0.3},
    "private_quantile": {"level": 0.4},
}

NO_WORD = "no such word"

#: a value that is refused, for every setting that has one
REFUSED: dict[str, Any] = {
    "bounds": (1.0, 0.0),
    "y_bounds": (1.0, 1.0),
    "delta": 2.0,
    "success_rate": also(1.5, budgets=False),
    "noise_multiplier": also(-1.0, budgets=False),
    "sample_rate": 0.0,
    "threshold": 1e9,
    "tradeoff": -1.0,
    "classes": also((1.0, 1.0), on=CLASSES, **LOGISTIC),
    "level": 1.0,
    "weights": NO_WORD,
    "grid": [1.0, 0.0],
    "epsilon": also(-1.0, budgets=False),
    "max_rows": 0,
    "kappa": 0.5,
}
NUMBERS = """lam bound row_norm huber_threshold scale steps step_size clip_norm failure n_max
    norm_guess learning_rate batch_size epochs n_public sigma2 selection_seed radius prior tol
    share reach alpha confidence draws label_mean_share""".split()
WORDS = """loss proof normalizer rule noise calibration accountant optimizer accounting objective
    sensitivity solver model combine task basis random_state""".split()
FLAGS = "clip fit_intercept release_norm centered".split()
REFUSED |= dict.fromkeys(NUMBERS, -1) | dict.fromkeys(WORDS, NO_WORD) | dict.fromkeys(FLAGS, "yes")

# --- estimators ----------------------------------------------------------------------------------

MODULES = {
    "PDPRidge": "personalized",
    "PersonalizedMean": "personalized",
    "SampledRidge": "personalized",
    "ObjectivePerturbation": "objective_perturbation",
    "SufficientStatisticsRidge": "sufficient_statistics",
    "AdaSSP": "sufficient_statistics",
    "OnePosteriorSample": "posterior",
    "AdaOPS": "posterior",
    "GradientDescentRidge": "gradient",
    "DPSGDRegression": "gradient",
    "WeightedMean": "user_level",
    "SampleLimitedMean": "user_level",
    "WeightedGradientDescent": "user_level",
    "WeightedOutputPerturbation": "user_level",
    "private_quantile": "user_level",
    "GWARegression": "gwa",
    "SampleLimitedRegression": "gwa",
    "TwoStageGWARegression": "gwa",
    "PACRegression": "pac",
}

#: what `fit` takes
PEOPLE = ("X", "y", "epsilon", "account")
USERS = ("X", "y", "users", "epsilon", "account")
ARGUMENTS = {
    name: USERS if module in ("user_level", "gwa") else PEOPLE for name, module in MODULES.items()
}
#: they take one row a person without `users`, and are given these in some cases alone
USERS_OR_NONE = ("ObjectivePerturbation", "SufficientStatisticsRidge", "AdaSSP")
ARGUMENTS |= dict.fromkeys(USERS_OR_NONE, USERS)
ARGUMENTS |= {"PACRegression": ("X", "y", "account"), "private_quantile": ("y", "users", "epsilon")}

#: data sets of users with several rows, for those that are given them in some cases
OWNED = ("users", "named users", "a user with most rows", "zero budgets of users")

#: their promise is one for all: budgets are one public number, or 0
ONE_PROMISE = {"AdaSSP", "OnePosteriorSample", "AdaOPS", "DPSGDRegression"}

#: these see every second, third or fifth of the data sets alone
SLOW = {"DPSGDRegression": 2, "PACRegression": 3, "WeightedOutputPerturbation": 5}

#: what is released, and what public things alone fix, in the order of the record
ATTRIBUTES = """coef_ intercept_ mean_ classes_ release_ pilot_ gamma_ h_ lam_ eta_
    noise_multiplier_ sample_rate_ steps_ weights_ exposure_ users_ max_rows_ rank_ stages_ clip_
    predicted_""".split()


@dataclass(frozen=True)
class Former:
    """The class that is a mechanism in trees before it got one of its own, and their case names."""

    name: str
    settings: Mapping[str, Any] = field(default_factory=dict)  #: which make it this mechanism
    no_more: tuple[str, ...] = ()  #: attributes that its own class does not have


FORMERLY = {
    "WeightedGradientDescent": Former("WeightedERM"),
    "WeightedOutputPerturbation": Former("WeightedERM", {"optimizer": "output"}, ("steps_",)),
}


class Quantile:
    """`private_quantile` in the dress of an estimator."""

    function: Callable[..., float]

    def __init__(self, **settings: Any) -> None:
        self.settings = settings

    def fit(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> Quantile:
        settings = dict(self.settings)
        rng = np.random.default_rng(settings.pop("random_state"))
        if epsilon is not None:
            settings["epsilon"] = epsilon
        self.mean_ = self.function(y, users=users, rng=rng, **settings)
        return self


@cache
def estimator(name: str) -> Any:
    """Return the class, or its former one; None where the package of the tree has neither."""
    try:
        module = importlib.import_module(f"pdpbook.{MODULES[name]}")
    except ModuleNotFoundError:
        return None
    found = getattr(module, name, None)
    if found is None and name in FORMERLY:
        return getattr(module, FORMERLY[name].name, None)
    if found is None or inspect.isclass(found):
        return found
    return type(name, (Quantile,), {"function": staticmethod(found)})


def settings_of(kind: Any) -> dict[str, Any]:
    """Settings with their defaults; one without a default has `inspect.Parameter.empty`."""
    if not issubclass(kind, Quantile):
        return dict(kind().get_params())
    parameters = inspect.signature(kind.function).parameters
    return {
        name: parameter.default
        for name, parameter in parameters.items()
        if name not in ("y", "users", "rng")
    }


# --- cases ---------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Case:
    """An estimator with settings on a data set, and what is done to its arguments."""

    estimator: str
    on: str = PLAIN
    settings: Mapping[str, Any] = field(default_factory=dict)
    budgets: bool = True  #: whether `fit` gets those of the data
    broken: str = ""  #: which argument of `fit` is made wrong, see `BROKEN`
    account: str = ""  #: which account is charged, see `ACCOUNTS`
    by_users: bool = False  #: whether `fit` gets the owners of rows where it needs none


def cases() -> dict[str, Case]:
    """All cases by name."""
    found: dict[str, Case] = {}
    for name in MODULES:
        title = title_of(name)
        for data in list(RECIPES)[:: SLOW.get(name, 1)]:
            found[f"{title} on {data}"] = Case(name, data)
        for setting, values in SETTINGS[name].items():
            for value in [*values, REFUSED[setting]]:
                one = value if isinstance(value, Also) else Also(value)
                settings = {**one.beside, setting: one.value}
                found[f"{title}, {words(settings)}"] = Case(name, one.on, settings, one.budgets)
        for settings in TOGETHER.get(name, []):
            budgets = "epsilon" not in settings
            found[f"{title}, {words(settings)}"] = Case(name, PLAIN, settings, budgets)
        for broken, (argument, _) in BROKEN.items():
            if argument in ARGUMENTS[name]:
                found[f"{title}, {broken}"] = Case(name, broken=broken)
        for account in ACCOUNTS if "account" in ARGUMENTS[name] else ():
            found[f"{title} charged {account}"] = Case(name, account=account)
        for data in OWNED if name in USERS_OR_NONE else ():
            found[f"{title} by users on {data}"] = Case(name, data, by_users=True)
    return found


def title_of(name: str) -> str:
    """What the names of all cases of an estimator begin with: that with which it was recorded."""
    if name not in FORMERLY:
        return name
    former = FORMERLY[name]
    return f"{former.name}, {words(former.settings)}" if former.settings else former.name


def words(settings: Mapping[str, Any]) -> str:
    """Settings as a name: `loss='huber', delta=1e-05`."""
    return ", ".join(
        f"{name}={value.tolist() if isinstance(value, np.ndarray) else value!r}"[:60]
        for name, value in settings.items()
    )


def first_missing(values: Any) -> Any:
    spoiled = np.array(values, dtype=float)
    spoiled.flat[0] = np.nan
    return spoiled


def budgets_with(budget: float) -> Callable[[dict[str, Any]], Any]:
    """Budgets of all rows of which the first is this one."""
    return lambda given: np.append(budget, np.full(len(given["y"]) - 1, 0.5))


#: how an argument of `fit` is made wrong
BROKEN: dict[str, tuple[str, Callable[[dict[str, Any]], Any]]] = {
    "rows outside": ("X", lambda given: given["X"] + 10.0),
    "a missing entry": ("X", lambda given: first_missing(given["X"])),
    "names of other rows": ("X", lambda given: pd.DataFrame(given["X"]).rename(lambda k: k + 1)),
    "labels outside": ("y", lambda given: given["y"] + 10.0),
    "a missing label": ("y", lambda given: first_missing(given["y"])),
    "too few labels": ("y", lambda given: given["y"][:-1]),
    "no labels": ("y", lambda given: None),
    "too few budgets": ("epsilon", lambda given: np.full(len(given["y"]) - 1, 0.5)),
    "a negative budget": ("epsilon", budgets_with(-1.0)),
    "a missing budget": ("epsilon", budgets_with(np.nan)),
    "budgets that differ": ("epsilon", budgets_with(0.25)),
    "too few users": ("users", lambda given: np.zeros(len(given["y"]) - 1)),
    "a user without a name": ("users", lambda given: first_missing(np.zeros(len(given["y"])))),
    "an account that is none": ("account", lambda given: 1.0),
}

#: budgets as multiples of what a fit spends, and whether who cannot pay is left out; of budgets one
#: a person those of the second half are twice that, so that some can pay a second fit
ACCOUNTS = {
    "two fits": (3.0, False),
    "a fit too many": (1.3, False),
    "two fits, leaving out": (1.3, True),
}

# --- the record ----------------------------------------------------------------------------------


def outcome(case: Case) -> dict[str, Any]:
    """What a case comes to: releases and promise, or a refusal, or what the tree does not have."""
    kind = estimator(case.estimator)
    if kind is None:
        return {"absent": case.estimator}
    known = {*settings_of(kind), "random_state"}
    if unknown := sorted({*case.settings} - known):
        return {"absent": ", ".join(unknown)}
    data = data_set(case.on)
    settings = data.settings | USUAL.get(case.estimator, {})
    if case.estimator == "private_quantile":
        settings["bounds"] = settings["y_bounds"]
    settings = {name: value for name, value in settings.items() if name in known}
    settings |= case.settings
    given, no_more = arguments(case, data), ()
    if kind.__name__ != case.estimator:
        former = FORMERLY[case.estimator]
        settings, no_more = settings | dict(former.settings), former.no_more
    if case.account:
        return charged(kind, settings, given, *ACCOUNTS[case.account])
    attempts = [attempt(kind, settings, given, seed) for seed in SEEDS]
    return in_common([{name: one[name] for name in one if name not in no_more} for one in attempts])


def arguments(case: Case, data: Data) -> dict[str, Any]:
    """Arguments of `fit`, of which one is wrong where the case says so."""
    taken = ARGUMENTS[case.estimator]
    given = {"X": data.X, "y": data.y}
    owned = case.by_users or case.estimator not in USERS_OR_NONE
    if "users" in taken and owned and data.users is not None:
        given["users"] = data.users
    if "epsilon" in taken and case.budgets:
        given["epsilon"] = data.epsilon if "users" in given else data.per_row
        if case.estimator in ONE_PROMISE:
            given["epsilon"] = one_number(data.per_row)
    if case.broken:
        argument, spoil = BROKEN[case.broken]
        given[argument] = spoil(given)
        if case.broken == "names of other rows":
            given["y"] = pd.Series(given["y"])
    return given


def one_number(budgets: Any) -> Any:
    """The smallest budget above 0 for everybody who has one, and 0 for the others."""
    budgets = np.asarray(budgets)
    takes_part = budgets > 0
    return np.where(takes_part, np.min(budgets, where=takes_part, initial=np.inf), 0.0)


def model_of(kind: Any, settings: Mapping[str, Any], seed: int) -> Any:
    """An estimator with this seed, unless the case is about `random_state` itself."""
    state = settings.get("random_state", seed)
    if state == 1:
        state = seed
    elif state == GENERATOR:
        state = np.random.default_rng(seed)
    return kind(**{**settings, "random_state": state})


def attempt(kind: Any, settings: Any, given: Any, seed: int) -> dict[str, Any]:
    """One fit: what it leaves, or its refusal."""
    model = model_of(kind, settings, seed)
    try:
        model.fit(**given)
    except Exception as error:  # whatever is raised is the outcome
        return refusal(error, kind)
    if settings.get("random_state", seed) is None:  # a real release cannot be repeated
        return promised(model)
    released = {name: getattr(model, name) for name in ATTRIBUTES if hasattr(model, name)}
    if "rank_" in released:
        del released["release_"]  # coefficients are all that there is
    released = {name: plain(value) for name, value in released.items()}
    return released | promised(model) | noise_law(model)


def refusal(error: Exception, kind: Any) -> dict[str, Any]:
    """The kind of an error, and the first setting or argument that its message names."""
    names = {*settings_of(kind), *inspect.signature(kind.fit).parameters, "leave_out"}
    named = [word for word in re.findall(r"\w+", str(error)) if word in names]
    return {"refused": type(error).__name__, "names": named[0] if named else None}


def promised(model: Any) -> dict[str, Any]:
    """Promises as plain numbers, of how many people, and how many of them take part."""
    found: dict[str, Any] = {}
    for attribute in ("guarantee_", "pure_guarantee_"):
        promise = getattr(model, attribute, None)
        if promise is None:
            continue
        numbers = parameters(promise)
        found[attribute] = {
            "kind": type(promise).__name__,
            "neighbors": getattr(promise, "neighbors", None),
            **{name: plain(value) for name, value in numbers.items()},
        }
        spent = np.asarray(next(iter(numbers.values())))
        if spent.ndim:
            found["people"], found["participants"] = len(spent), int((spent > 0).sum())
    return found


def parameters(promise: Any) -> dict[str, Any]:
    """Numbers of a promise by name; the first is what an account adds up."""
    names = ("epsilon", "mu", "rho", "success_rate", "delta", "sample_rate")
    return {name: getattr(promise, name) for name in names if hasattr(promise, name)}


def noise_law(model: Any) -> dict[str, Any]:
    """Rate and scale of the public noise, and its covariance, unless that was an estimate."""
    noise = getattr(model, "noise_", None)
    law = {name: plain(getattr(noise, name, None)) for name in ("rate", "scale")}
    if getattr(noise, "exact", True):
        law["covariance"] = plain(getattr(noise, "covariance", None))
    law = {name: value for name, value in law.items() if value is not None}
    return {"noise_": law} if law else {}


def charged(kind: Any, settings: Any, given: Any, times: float, leave_out: bool) -> dict[str, Any]:
    """What two fits spend of an account of the kind of their promise, or how one is refused."""
    guarantees = importlib.import_module("pdpbook.guarantees")
    promise = model_of(kind, settings, SEEDS[0]).fit(**given).guarantee_
    account_kind, spent = type(promise), next(iter(parameters(promise).values()))
    if account_kind.__name__ in ("ApproximateDP", "PACPrivacy"):  # no pure account takes these
        account_kind, spent = guarantees.PureDP, 1.0
    budget: Any = times * np.asarray(spent)
    if budget.ndim:
        budget = budget * np.repeat([1, 2], [len(budget) // 2, (len(budget) + 1) // 2])
    if budget.ndim and "users" in given:
        budget = dict(zip(np.unique(given["users"]).tolist(), budget.tolist(), strict=True))
    neighbors = getattr(promise, "neighbors", "replace-one")
    found: dict[str, Any] = {}
    try:
        account = guarantees.BudgetAccount(
            budget, neighbors=neighbors, kind=account_kind, leave_out=leave_out
        )
        for seed in SEEDS[:2]:
            model = model_of(kind, settings, seed).fit(**given, account=account)
            found[f"fit {seed}"] = promised(model) | {"remaining": plain(account.remaining)}
    except Exception as error:  # whatever is raised is the outcome
        return found | refusal(error, kind)
    return found | {"spent": plain(account.spent)}


def in_common(attempts: list[dict[str, Any]]) -> dict[str, Any]:
    """What all seeds share, once, and what differs between them, by seed."""
    first = attempts[0]
    shared = [
        name
        for name in first
        if all(json.dumps(one.get(name)) == json.dumps(first[name]) for one in attempts)
    ]
    found = {name: first[name] for name in shared}
    for seed, one in zip(SEEDS, attempts, strict=True):
        different = {name: value for name, value in one.items() if name not in shared}
        if different:
            found[f"seed {seed}"] = different
    return found


def record(names: Iterable[str] | None = None) -> dict[str, Any]:
    """Outcomes by the name of a case: of all, or of these."""
    every = cases()
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        return {name: outcome(every[name]) for name in (every if names is None else names)}


DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


def plain(value: Any) -> Any:
    """Numbers, words and nested lists, for JSON; an array of few different values is shorter as
    these `levels` and a digit for each entry, row by row."""
    if value is None or isinstance(value, (bool, int, str)):
        return value
    if np.ndim(value) == 0:
        return np.asarray(value).item()
    array = np.asarray(value)
    levels: list[Any] = []
    for item in array.ravel().tolist():
        if item not in levels:
            levels.append(item)
    if 2 * len(levels) > array.size or len(levels) > len(DIGITS):
        return array.tolist()
    digits = "".join(DIGITS[levels.index(item)] for item in array.ravel().tolist())
    return {"levels": levels, "each": digits, "shape": list(array.shape)}


def array_of(value: Any) -> Any:
    """The array that `plain` wrote."""
    if not isinstance(value, dict):
        return np.asarray(value)
    levels = np.asarray(value["levels"])
    return levels[[DIGITS.index(digit) for digit in value["each"]]].reshape(value["shape"])


# --- comparison ----------------------------------------------------------------------------------

RELATIVE = 1e-9  # between two machines: the last digits are those of a processor

#: what a minimizer decides
RELEASED = ("coef_", "intercept_")

#: everybody has a number of their own, however small it is beside those of others
PERSONAL = ("guarantee_", "pure_guarantee_", "remaining", "spent")


@dataclass(frozen=True)
class Solver:
    """A solver that stops at a tolerance, where it is used, and what depends on where it stops."""

    estimator: str
    tolerance: float  #: relative, of the values that depend on it
    why: str
    when: Mapping[str, Any] = field(default_factory=dict)  #: settings with which it is used
    values: tuple[str, ...] = ()  #: attributes; all without any


GAP = "certified relative gap, tol"
SOLVERS = [
    Solver("PDPRidge", 1e-6, "its charge is a millionth of the noise", HUBER, RELEASED),
    Solver("SampledRidge", 1e-6, "its charge is a millionth of the noise", HUBER, RELEASED),
    Solver(
        "WeightedOutputPerturbation",
        1e-10,
        "gradient norm of 1e-11 over lam = 0.1",
        values=RELEASED,
    ),
    Solver("DPSGDRegression", 1e-5, "the smallest multiplier", {"noise_multiplier": None}),
    Solver("GWARegression", 1e-8, GAP),
    Solver("GWARegression", 1e-6, GAP, {"tol": 1e-6}),
    Solver("TwoStageGWARegression", 1e-8, GAP),
    Solver("TwoStageGWARegression", 1e-6, GAP, {"tol": 1e-6}),
    Solver("PACRegression", 1e-8, "gap of Clarabel, and of scikit-learn's lasso"),
]


def allowed(case: Case, attribute: str) -> float:
    """Relative difference between machines: `RELATIVE`, or ten times the tolerance of a solver."""
    settings = USUAL.get(case.estimator, {}) | dict(case.settings)
    tolerances = [
        10 * solver.tolerance
        for solver in SOLVERS
        if solver.estimator == case.estimator
        and all(settings.get(name) == value for name, value in solver.when.items())
        and (not solver.values or attribute in solver.values)
    ]
    return max([RELATIVE, *tolerances])


def differences(old: Mapping[str, Any], new: Mapping[str, Any], *, exact: bool) -> list[str]:
    """What differs between two records, a line each: to the bit, or by more than is `allowed`."""
    every, found = cases(), []
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new or name not in old:
            found.append(f"{name}: only in the {'old' if name in old else 'new'} record")
            continue
        case = every.get(name)

        def most(attribute: str, case: Case | None = case) -> float:
            return 0.0 if exact or case is None else allowed(case, attribute)

        one, other = old[name], new[name]
        if one.keys() != other.keys():  # the seeds may share less in one of them
            one, other = by_seed(one), by_seed(other)
        found += [f"{name}: {line}" for line in differing(one, other, most)]
    return found


def by_seed(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """An outcome with what its seeds share in each of them."""
    seeds = [name for name in found if name.startswith("seed ")]
    shared = {name: value for name, value in found.items() if name not in seeds}
    return {seed: shared | found[seed] for seed in seeds} or found


def differing(
    old: Mapping[str, Any], new: Mapping[str, Any], most: Callable[[str], float], inside: str = ""
) -> Iterator[str]:
    """What differs between two outcomes; `inside` names the attribute whose parts these are."""
    for name in [*old, *(name for name in new if name not in old)]:
        if name not in new or name not in old:
            yield f"{name} only in the {'old' if name in old else 'new'} record"
            continue
        one, other = old[name], new[name]
        attribute = inside or ("" if name.startswith(("seed ", "fit ")) else name)
        if is_nested(one) and is_nested(other):
            yield from (f"{name} {line}" for line in differing(one, other, most, attribute))
        elif is_nested(one) or is_nested(other):
            yield f"{name} {one} -> {other}"
        else:
            size = np.abs if attribute in PERSONAL else largest
            error = relative_error(array_of(one), array_of(other), size)
            if error > most(attribute):
                yield f"{name} {one} -> {other} (relative {error:.1g})"


def is_nested(value: Any) -> bool:
    return isinstance(value, dict) and "levels" not in value


def relative_error(old: Any, new: Any, size: Callable[[Any], Any]) -> float:
    """The largest difference relative to a size; infinite for other words or shapes."""
    numbers = all(array.dtype.kind in "fiu" for array in (old, new))
    if np.array_equal(old, new, equal_nan=numbers):
        return 0.0
    if not numbers or old.shape != new.shape:
        return np.inf
    with np.errstate(invalid="ignore", divide="ignore"):
        errors = np.abs(new - old) / size(old)
    errors = np.where(np.isnan(errors), np.inf, errors)
    same = (old == new) | (np.isnan(old) & np.isnan(new))
    return float(np.where(same, 0.0, errors).max())


def largest(values: Any) -> Any:
    """The largest finite size: entries of a vector or matrix are rounded together."""
    return np.max(np.abs(values), where=np.isfinite(values), initial=0.0)


# --- command line --------------------------------------------------------------------------------


def text_of(outcomes: Mapping[str, Any]) -> str:
    """A record as JSON, a line for each case."""
    lines = (
        f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}"
        for name, value in outcomes.items()
    )
    return "{\n" + ",\n".join(lines) + "\n}\n"


def made_in(tree: Path, every: int) -> str:
    """The record of a work tree as text, by a process that imports `pdpbook` from there."""
    run = subprocess.run(
        [sys.executable, "-P", __file__, "print", str(tree.resolve()), f"--every={every}"],
        env=os.environ
        | {"PYTHONPATH": str(tree.resolve()), "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return run.stdout


def printed(tree: Path, every: int) -> None:
    """Print the record of this process, if its `pdpbook` is that of the tree."""
    package = importlib.import_module("pdpbook")
    if not Path(str(package.__file__)).is_relative_to(tree):
        raise SystemExit(f"{tree} has no pdpbook; Python found {package.__file__}")
    sys.stdout.write(text_of(record(list(cases())[::every])))


def read(where: Path, every: int) -> Any:
    """The record of a work tree, or of a file."""
    if where.is_dir():
        return json.loads(made_in(where, every))
    outcomes = json.loads(where.read_text(encoding="utf-8"))
    chosen = list(cases())[::every]
    return {name: outcomes[name] for name in outcomes if every == 1 or name in chosen}


def compared(old: Path, new: Path, every: int) -> int:
    """Print what differs to the bit, and return 1 if anything does."""
    before, after = read(old, every), read(new, every)
    lines = differences(before, after, exact=True)
    far = differences(before, after, exact=False)
    print(*lines, sep="\n")
    print(
        f"{len(before)} cases, {len({line.partition(': ')[0] for line in lines})} differ in "
        f"{len(lines)} places, {len(far)} of them by more than between two processors"
    )
    return bool(lines)


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("command", choices=["write", "compare", "print"])
    parser.add_argument("first", type=Path, help="a file to write, or a file or tree to compare")
    parser.add_argument("second", type=Path, nargs="?", default=ROOT, help="a file or tree")
    parser.add_argument(
        "--every", type=int, default=1, help="every k-th case alone, for a quick look"
    )
    given = parser.parse_args(arguments)
    if given.command == "compare":
        return compared(given.first, given.second, given.every)
    if given.command == "print":
        printed(given.first, given.every)
    else:
        given.first.write_text(made_in(given.second, given.every), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
