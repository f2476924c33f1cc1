"""Labels far off the middle of their bounds: a fit between public bounds, and one around a mean.

Run ``python -m lab skewed`` to write `book/personalized/results/skewed.csv`. The two tables are
invented, with the sizes, bounds and moments of a hospital's days and of a survey's incomes.
"""

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import scipy

from lab.tables import write_run
from pdpbook import Floats
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PersonalizedMean

FOLDER = Path("book/personalized/results")
FILE = "skewed.csv"
SEED = 51  #: of the committed table, for people, splits and noise
SPLITS = 20  #: of the people into four fifths that are fitted and a fifth that is predicted
BUDGETS = (0.3, 1.0, 3.0)
PENALTIES = (0.001, 0.003, 0.01, 0.03, 0.1)
SHARES = (0.05, 0.1)  #: of every budget, for the mean of the labels


class Table(NamedTuple):
    """Rows in the unit cube, labels in their units, and their public bounds."""

    X: Floats
    y: Floats
    y_bounds: tuple[float, float]


def hospital(rng: np.random.Generator, n: int = 12_000) -> Table:
    """Days in a hospital, 0 to 60: mean 8.3; twelve columns explain a fifth of their variance.

    Six columns are numbers with a hump, six are yes or no. Days are Poisson around a Gamma rate
    whose logarithm is linear in the columns, longest stays cut at 60.
    """
    X = np.column_stack([rng.beta(2, 3, (n, 6)), rng.random((n, 6)) < 0.3])
    slopes = np.array([1.0, -0.5, 0.5, -0.25, 0.25, 0.0, 0.45, 0.35, -0.3, 0.2, -0.1, 0.0])
    score = (X - X.mean(axis=0)) @ slopes
    rate = np.exp(score) / np.exp(score).mean() * rng.gamma(2.1, 1 / 2.1, n)
    days = rng.poisson(8.4 * rate)
    return Table(X, np.minimum(days, 60).astype(float), (0.0, 60.0))


def survey(rng: np.random.Generator, n: int = 5549) -> Table:
    """Monthly incomes, 0 to 15,000: lognormal; six columns explain three tenths of the variance."""
    X = np.column_stack([rng.beta(3, 4, (n, 4)), rng.random((n, 2)) < 0.4])
    slopes = np.array([1.5, 0.9, 0.45, 0.0, 0.3, -0.25])
    score = (X - X.mean(axis=0)) @ slopes + rng.normal(0, 0.5, n)
    income = 2600 * np.exp(score) / np.exp(score).mean()
    return Table(X, np.minimum(income, 15_000), (0.0, 15_000.0))


TABLES = {"hospital days": hospital, "survey income": survey}


def r2(model: Any, table: Table, epsilon: float, rng: np.random.Generator) -> float:
    """Share of the variance of new labels that one private fit explains, or NaN if refused.

    Predictions are cut to the public bounds.
    """
    order = rng.permutation(len(table.y))
    held = len(table.y) // 5
    new, old = order[:held], order[held:]
    model.set_params(random_state=rng)
    try:
        fitted = model.fit(table.X[old], table.y[old], epsilon=epsilon)
    except ValueError:  # the budgets do not suffice for so small a penalty
        return np.nan
    predictions = np.clip(fitted.predict(table.X[new]), *table.y_bounds)
    truth = table.y[new]
    return float(1 - np.mean((predictions - truth) ** 2) / truth.var())


def models(table: Table, lam: float) -> dict[str, Any]:
    """The fits of one row of the table, by the name of their column."""
    public: dict[str, Any] = {"y_bounds": table.y_bounds, "fit_intercept": True}
    found: dict[str, Any] = {"plain": ObjectivePerturbation(lam, **public)}
    for share in SHARES:
        found[f"centered {share:g}"] = ObjectivePerturbation(lam, label_mean_share=share, **public)
    found["constant"] = PersonalizedMean(y_bounds=table.y_bounds)
    return found


def row(name: str, epsilon: float, lam: float, splits: int = SPLITS) -> dict[str, Any]:
    """Medians over splits; people, splits and noise follow from `SEED`."""
    place = list(TABLES).index(name)
    table = TABLES[name](np.random.default_rng([SEED, place]))
    found: dict[str, Any] = {"table": name, "epsilon": epsilon, "lam": lam}
    for column, model in models(table, lam).items():
        values = [
            r2(model, table, epsilon, np.random.default_rng([SEED, place, split]))
            for split in range(splits)
        ]
        found[column] = float(np.median(values))
    return found


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m lab skewed", description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--folder", type=Path, default=FOLDER)
    options = parser.parse_args(arguments)
    start = time.process_time()
    rows = [
        row(name, epsilon, lam, options.splits)
        for name in TABLES
        for epsilon in BUDGETS
        for lam in PENALTIES
    ]
    said = [
        "Median R2 for people who were not fitted, of ObjectivePerturbation with an intercept:",
        "between public bounds, and around a mean of the labels that has a share of the budget.",
        f"Command: python -m lab skewed --splits {options.splits}",
        f"Seed {SEED}; empty where the budgets do not suffice for the penalty",
    ]
    write_run(options.folder / FILE, said, pd.DataFrame(rows), start, scipy)
    sys.stdout.write(f"{len(rows)} rows, {time.process_time() - start:.0f} s\n")
    return 0
