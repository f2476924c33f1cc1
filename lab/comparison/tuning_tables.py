"""Small tables drawn at random, on which the constants of plans were chosen.

They share no code, seed or subject with `hard_tables`, on which plans are judged. Sizes, shapes of
columns, their correlations, the share that is explained and how skewed labels are differ from table
to table; guesses are the truth with random errors, as those of an owner who half knows.
"""

from typing import Any, NamedTuple

import numpy as np
from scipy.stats import norm

from pdpbook import Floats

SEED = 52  #: fixed before anything was run
TABLES = 7
PEOPLE = (600, 1200, 2500)  #: in turn
NEW = 2000  #: people for whom fits predict
#: of an owner's guesses: relative errors of mean and spread, and the error of r2
ERRORS = {"y_mean": 0.15, "y_sd": 0.25, "r2": 0.12}


class Drawn(NamedTuple):
    """A table on the unit cube, labels in [0, 1], with guesses of an owner; the last are new."""

    name: str
    X: Floats
    y: Floats
    people: int  #: of the first rows
    guesses: dict[str, float]


def table(number: int) -> Drawn:
    """Draw the table of this number."""
    rng = np.random.default_rng([SEED, number])
    people = PEOPLE[number % len(PEOPLE)]
    d = int(rng.integers(2, 8))
    X = _columns(rng, people + NEW, d)
    spread = X.std(axis=0)
    score = ((X - X.mean(axis=0)) / np.where(spread > 0, spread, 1.0)) @ rng.normal(size=d)
    score = score / score.std()
    score = score + rng.choice([0.0, 0.3]) * (score**2 - 1)  # a bend that no line follows
    share = rng.uniform(0.15, 0.8)
    noise = rng.standard_normal(len(score))
    signal = np.sqrt(share) * score / score.std() + np.sqrt(1 - share) * noise
    middle = rng.uniform(0.08, 0.6)
    if rng.random() < 0.5:
        log_spread = rng.uniform(0.3, 0.8)
        y = middle * np.exp(log_spread * signal - log_spread**2 / 2)
    else:
        y = middle + rng.uniform(0.05, 0.18) * signal
    y = np.clip(y, 0, 1)
    return Drawn(f"drawn {number}", X, y, people, _guesses(rng, X, y))


def _columns(rng: np.random.Generator, n: int, d: int) -> Floats:
    """Columns with one factor in common: humps that fill part of their bounds, tails, yes or no."""
    load = np.sqrt(rng.choice([0.0, 0.3, 0.6])) * rng.choice([-1.0, 1.0], d)
    factor = rng.standard_normal(n)
    columns = []
    for j in range(d):
        z = load[j] * factor + np.sqrt(1 - load[j] ** 2) * rng.standard_normal(n)
        kind = rng.choice(3)
        if kind == 0:
            column = rng.uniform(0.15, 0.7) + rng.uniform(0.05, 0.2) * z
        elif kind == 1:
            column = rng.uniform(0.05, 0.3) * np.exp(rng.uniform(0.3, 0.7) * z)
        else:
            column = (z < norm.ppf(rng.uniform(0.05, 0.5))).astype(float)
        columns.append(np.clip(column, 0, 1))
    return np.column_stack(columns)


def _guesses(rng: np.random.Generator, X: Floats, y: Floats) -> dict[str, float]:
    """Guesses: what is true of all rows, off by random errors."""
    rows = np.column_stack([X, np.ones(len(X))])
    rest = y - rows @ np.linalg.lstsq(rows, y, rcond=None)[0]
    errors: dict[str, Any] = {name: size * rng.normal() for name, size in ERRORS.items()}
    mean = float(np.clip(y.mean() * (1 + errors["y_mean"]), 0.02, 0.98))
    most = np.sqrt(mean * (1 - mean))
    spread = float(min(y.std() * np.exp(errors["y_sd"]), 0.8 * most))
    r2 = float(np.clip(1 - rest.var() / y.var() + errors["r2"], 0.02, 0.9))
    return {"y_mean": mean, "y_sd": spread, "r2": r2}
