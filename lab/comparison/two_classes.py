"""Two classes at one nat: how much of the way from the majority to a fit without privacy is left.

Run ``python -m lab two_classes`` to write `book/personalized/results/two_classes.csv`. People are
invented: 12 columns, labels by log-odds that are linear in them. Not private.
"""

import argparse
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from sklearn.linear_model import LogisticRegression

from lab.tables import write_run
from pdpbook import Floats
from pdpbook.logistic import LogisticObjectivePerturbation

FOLDER = Path(__file__).resolve().parents[2] / "book" / "personalized" / "results"
SEED = 51
PEOPLE, COLUMNS = 12_000, 12
SPLITS = 20
EPSILON = 1.0
PENALTIES = (0.001, 0.003, 0.01, 0.03)
MAJORITY, FREE, PENALTY, PRIVATE = "majority", "without privacy", "penalty alone", "private"

Split = tuple[Floats, Floats, Floats, Floats]


def people(seed: int = SEED) -> tuple[Floats, Floats]:
    """Rows in the unit cube, shape (PEOPLE, COLUMNS), and labels 0 or 1."""
    rng = np.random.default_rng(seed)
    X = np.clip(rng.normal(0.5, 0.2, (PEOPLE, COLUMNS)), 0, 1)
    slopes = rng.normal(size=COLUMNS)
    log_odds = 0.3 + (X - 0.5) / 0.2 @ (slopes / np.linalg.norm(slopes))
    return X, np.asarray(rng.random(PEOPLE) < 1 / (1 + np.exp(-log_odds)), dtype=float)


def splits(count: int = SPLITS, seed: int = SEED) -> Iterator[Split]:
    """Yield rows and labels of three quarters of the people, and of the others."""
    X, y = people(seed)
    rng = np.random.default_rng(seed + 1)
    for _ in range(count):
        order = rng.permutation(PEOPLE)
        first, rest = order[: 3 * PEOPLE // 4], order[3 * PEOPLE // 4 :]
        yield X[first], y[first], X[rest], y[rest]


def model(lam: float, k: int) -> LogisticObjectivePerturbation:
    """The private estimator, with the seed of split k."""
    return LogisticObjectivePerturbation(
        lam, epsilon=EPSILON, classes=(0, 1), fit_intercept=True, random_state=k
    )


def accuracy(name: str, lam: float, split: Split, k: int) -> float:
    """Share of the other people whose class is predicted, in split k."""
    X, y, X_new, y_new = split
    if name == MAJORITY:
        return float(np.mean(y_new == np.round(y.mean())))
    if name == FREE:
        fitted: Any = LogisticRegression(C=1e6, max_iter=1000).fit(X, y)
        return float(fitted.score(X_new, y_new))
    private = model(lam, k)
    if name == PRIVATE:
        return float(private.fit(X, y).score(X_new, y_new))
    coef, intercept = private.domain(COLUMNS).to_user_units(private.output_law(X, y).center)
    return float(np.mean((X_new @ coef + intercept > 0) == y_new))


def row(name: str, lam: float = np.nan, count: int = SPLITS) -> dict[str, Any]:
    """One row of the table: medians over splits, and quartiles of the way."""
    accurate, way = [], []
    for k, split in enumerate(splits(count)):
        low, high = (accuracy(bare, np.nan, split, k) for bare in (MAJORITY, FREE))
        accurate.append(accuracy(name, lam, split, k))
        way.append((accurate[-1] - low) / (high - low))
    first, median, third = np.quantile(way, [0.25, 0.5, 0.75])
    return {
        "fit": name,
        "lam": lam,
        "accuracy": np.median(accurate),
        "way": median,
        "way_first_quartile": first,
        "way_third_quartile": third,
    }


def rows(count: int = SPLITS) -> pd.DataFrame:
    """The whole table."""
    found = [row(MAJORITY, count=count), row(FREE, count=count)]
    found += [row(name, lam, count) for name in (PENALTY, PRIVATE) for lam in PENALTIES]
    return pd.DataFrame(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m lab two_classes", description=__doc__)
    parser.parse_args(arguments)
    start = time.process_time()
    said = [
        "python -m lab two_classes",
        f"seed: {SEED}, splits: {SPLITS}, {PEOPLE} people, {COLUMNS} columns, epsilon {EPSILON:g}",
        "fit: majority, logistic regression without privacy, the same penalty without noise, "
        "LogisticObjectivePerturbation",
        "accuracy: median over splits, of the quarter that was not fitted",
        "way: median of (accuracy - majority) / (without privacy - majority), with quartiles",
    ]
    write_run(FOLDER / "two_classes.csv", said, rows(), start, sklearn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
