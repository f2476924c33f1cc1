"""All rows of a user by their mean, one row of each, and weighted descent, on invented users.

Sizes follow Zipf's law: the user of rank r has about c / r rows, at least 1 and at most 500, so
few own most of the rows. Rows of a user share a center and an effect on the label, and each label
has noise of its own. All fits of a split see the same users, and predict for the same new ones.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import sklearn
from numpy.typing import NDArray
from sklearn.base import clone

from lab.tables import write_run
from pdpbook import Floats
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.ridge import weighted_ridge
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import WeightedGradientDescent

FILE = Path("book/user_level/results/user_rows.csv")
SEEDS = (51, 52)  # of the two crowds, fixed before anything was run
USERS, ROWS, LARGEST = 21_572, 250_000, 500
BUDGET, LAM, DELTA = 0.5, 0.003, 1e-6
SPLITS = 20
TRAINING = 0.8  # of the users
SLOPES = np.array([0.6, -0.5, 0.4, -0.3])
SPREAD_OF_USERS, SPREAD_OF_ROWS = 0.2, 0.25  # of a label around the line: shared, and of each row


@dataclass(frozen=True, eq=False)
class Table:
    """Rows on the unit cube, labels between -1 and 1, and the owner of every row."""

    X: Floats
    y: Floats
    users: NDArray[np.intp]

    def of(self, rows: Any) -> Table:
        """Return the table of some rows."""
        return Table(self.X[rows], self.y[rows], self.users[rows])

    @property
    def shares(self) -> Floats:
        """Weights of rows, shape (n,): every user weighs 1 over the number of users."""
        _, codes, sizes = np.unique(self.users, return_inverse=True, return_counts=True)
        return np.asarray(1 / sizes[codes] / len(sizes))


def zipf_sizes(users: int, rows: int, largest: int) -> NDArray[np.intp]:
    """Numbers of rows of users of rank 1, 2, ..., by Zipf's law, which sum to `rows`."""
    ranks = np.arange(1, users + 1)

    def sizes(c: float) -> NDArray[np.intp]:
        return np.clip(np.floor(c / ranks), 1, largest).astype(np.intp)

    low, high = 1.0, float(largest * users)
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        low, high = (middle, high) if sizes(middle).sum() <= rows else (low, middle)
    found = sizes(low)
    below = np.flatnonzero(found < largest)
    found[below[: rows - found.sum()]] += 1
    return found


def crowd(
    seed: int,
    users: int = USERS,
    rows: int = ROWS,
    *,
    spread_of_users: float = SPREAD_OF_USERS,
    spread_of_rows: float = SPREAD_OF_ROWS,
) -> Table:
    """Return invented users with several rows each."""
    rng = np.random.default_rng(seed)
    owner = np.repeat(np.arange(users), zipf_sizes(users, rows, min(LARGEST, rows)))
    centers = rng.uniform(0.2, 0.8, (users, 4))
    X = centers[owner] + rng.uniform(-0.2, 0.2, (rows, 4))
    effects = spread_of_users * rng.standard_normal(users)
    y = (X - 0.5) @ SLOPES + effects[owner] + spread_of_rows * rng.standard_normal(rows)
    return Table(X, np.clip(y, -1, 1), owner)


def split(table: Table, rng: np.random.Generator) -> tuple[Table, Table]:
    """Return the rows of most users, and those of the others."""
    users = int(table.users.max()) + 1
    training = np.zeros(users, dtype=bool)
    training[rng.permutation(users)[: round(TRAINING * users)]] = True
    return table.of(training[table.users]), table.of(~training[table.users])


def one_row_each(table: Table, rng: np.random.Generator) -> Table:
    """Return one row of each user, drawn at random."""
    order = rng.permutation(len(table.y))
    _, first = np.unique(table.users[order], return_index=True)
    return table.of(order[first])


def explained(test: Table, predictions: Floats) -> float:
    """Return R2 on new users, each of whom weighs the same."""
    mean = test.shares @ test.y
    errors = test.shares @ (test.y - np.clip(predictions, -1, 1)) ** 2
    return float(1 - errors / (test.shares @ (test.y - mean) ** 2))


LINE: dict[str, Any] = {"fit_intercept": True, "epsilon": BUDGET, "clip": True}
CUBE: dict[str, Any] = {"lam": LAM, **LINE}
BALL: dict[str, Any] = {"delta": DELTA, "bounds": (0, 1), **LINE}
NOBODY = "without privacy"
MECHANISMS: dict[str, Any] = {
    NOBODY: None,
    "objective perturbation": ObjectivePerturbation(**CUBE),
    "noise on the sums": SufficientStatisticsRidge(centered=True, **CUBE),
    "AdaSSP": AdaSSP(**BALL),
}
LONGER: dict[str, Any] = {"steps": 100, "step_size": 1.0}
#: weighted descent, one change after the other, and on how many splits: a fit takes seconds
DESCENTS: dict[str, tuple[dict[str, Any], int]] = {
    "weighted descent": ({}, 1),
    "longer steps": (LONGER, 4),
    "and a clip of 0.5": (LONGER | {"clip_norm": 0.5}, 4),
    "and equal weights": (LONGER | {"clip_norm": 0.5, "tradeoff": 0.0}, 4),
}


def predictions(name: str, table: Table, users: bool, seed: int, X: Floats) -> Floats:
    """Return what a method predicts for X, fitted to a table; `seed` is that of its noise."""
    if name == NOBODY:
        rows = np.column_stack([table.X, np.ones(len(table.y))])
        theta = weighted_ridge(rows, table.y, LAM, table.shares)
        return np.asarray(X @ theta[:-1] + theta[-1])
    if name in DESCENTS:
        model = WeightedGradientDescent(**BALL | DESCENTS[name][0])
    else:
        model = clone(MECHANISMS[name])
    owners = {"users": table.users} if users else {}
    model.set_params(random_state=seed).fit(table.X, table.y, **owners)
    return np.asarray(model.predict(X))


def pair(name: str, table: Table, seed: int, number: int) -> tuple[float, float]:
    """Return R2 of all rows and of one row of each user, on split `number` of a table.

    The second is that of objective perturbation where a method is for all rows alone.
    """
    rng = np.random.default_rng([seed, number])
    training, test = split(table, rng)
    rows = one_row_each(training, rng)
    noise = int(rng.integers(2**32))
    of_one_row = name if name in MECHANISMS else "objective perturbation"
    every = predictions(name, training, True, noise, test.X)
    one = predictions(of_one_row, rows, False, noise, test.X)
    return explained(test, every), explained(test, one)


def row(name: str, table: Table, seed: int, splits: int) -> dict[str, Any]:
    """Return one row of the table: medians over splits, and of the paired differences."""
    found = np.array([pair(name, table, seed, number) for number in range(splits)])
    every, one = np.median(found, axis=0)
    gain = float(np.median(found[:, 0] - found[:, 1]))
    return dict(seed=seed, method=name, splits=splits, all_rows=every, one_row=one, gain=gain)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table: about three minutes of one core."""
    parser = argparse.ArgumentParser(prog="python -m lab user_rows", description=main.__doc__)
    parser.parse_args(arguments)
    start = time.process_time()
    splits = dict.fromkeys(MECHANISMS, SPLITS) | {name: k for name, (_, k) in DESCENTS.items()}
    found = []
    for seed in SEEDS:
        table = crowd(seed)
        found += [row(name, table, seed, k) for name, k in splits.items()]
    said = [
        "python -m lab user_rows",
        f"seeds: {SEEDS}; {ROWS} rows of {USERS} users, at most {LARGEST} of one; "
        f"budget {BUDGET}, lam {LAM}, delta {DELTA:g} where there is one",
        "medians of R2 on new users, and of paired differences; descents on fewer splits",
    ]
    write_run(FILE, said, pd.DataFrame(found), start, sklearn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
