"""Rehearsals held against their own model, drawn here by other code: settings at random.

Run ``python -m lab invented`` to write `lab/data/rehearsed/own_model.csv`. Nothing of
`pdpbook.rehearsal` is used to draw people: only the formulas of its docstring.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
from scipy import optimize, special
from sklearn.linear_model import LinearRegression

from lab.tables import write_run
from pdpbook import Floats
from pdpbook.advice import Advice
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.rehearsal import rehearse
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import WeightedMean

FOLDER = Path(__file__).resolve().parent.parent / "data" / "rehearsed"
SETTINGS = 200
SEED = 49
REPEATS = 40
NEW = 20_000
#: people from whom the law of the labels is solved for, anew in every repeat: so what such a
#: solution is off by is part of the standard error
MANY = 25_000


@dataclass(frozen=True)
class World:
    """The invented people of one setting."""

    bounds: Floats  #: shape (d, 2)
    y_bounds: tuple[float, float]
    y_mean: float
    y_sd: float
    r2: float

    def rows(self, n: int, rng: np.random.Generator, users: Any = None) -> Floats:
        """Columns in their units: normal ones of correlation 0.3, bent into their intervals."""
        d = len(self.bounds)
        if users is None:
            z = rng.multivariate_normal(np.zeros(d), 0.7 * np.eye(d) + 0.3, size=n)
        else:
            common = rng.normal(scale=np.sqrt(0.3), size=users.max() + 1)
            z = rng.normal(scale=np.sqrt(0.7), size=(len(users), d)) + common[users][:, None]
        low, high = self.bounds.T
        return np.asarray(low + (high - low) * np.sqrt(1 - special.ndtr(-z) ** 0.2))

    def law(self, rng: np.random.Generator) -> tuple[Callable[[Floats], Floats], float]:
        """Mean of the label on [0, 1], as a function of the rows, and the concentration."""
        y_low, y_high = self.y_bounds
        X = self.rows(MANY, rng)
        signs = np.where(np.arange(X.shape[1]) % 2 == 0, 1.0, -1.0)
        slope = signs / X.std(axis=0)
        m, v = (self.y_mean - y_low) / (y_high - y_low), (self.y_sd / (y_high - y_low)) ** 2
        edge = min(m, 1 - m) / 100
        t = X @ slope
        slope, t = slope / t.std(), t / t.std()

        def mean(a: float, b: float, at: Floats = t) -> Floats:
            return np.asarray(np.minimum(np.maximum(a + b * at, edge), 1 - edge))

        X = X - X.mean(axis=0)
        inverse = np.linalg.inv(np.atleast_2d(np.cov(X.T, ddof=0)))

        def faults(found: Any) -> list[float]:
            p = mean(found[0], np.exp(found[1]))
            along = X.T @ (p - p.mean()) / len(p)  # covariances with the columns
            return [(p.mean() - m) / np.sqrt(v), (along @ inverse @ along - self.r2 * v) / v]

        b = np.sqrt(self.r2 * v)
        found = optimize.root(faults, [m - b * t.mean(), np.log(b)], method="lm", tol=1e-12)
        if max(np.abs(faults(found.x))) > 1e-6:
            raise ArithmeticError(f"not solved: {found.message}")
        a, b = found.x[0], np.exp(found.x[1])
        p = mean(a, b)
        spread = (v - p.var()) / np.mean(p * (1 - p))  # 1 / (1 + kappa)
        if not 0 < spread < 1:
            raise ArithmeticError("the means alone spread as far as the labels")
        return lambda rows: mean(a, b, rows @ slope), 1 / spread - 1

    def labels(self, p: Floats, kappa: float, rng: np.random.Generator) -> Floats:
        low, high = self.y_bounds
        return np.asarray(low + (high - low) * rng.beta(kappa * p, kappa * (1 - p)))


def setting(rng: np.random.Generator) -> tuple[World, dict[str, Any], Any, dict[str, Any]]:
    """A world, its guesses, an estimator, and what `rehearse` is told besides."""
    d, people = int(rng.integers(1, 13)), int(10 ** rng.uniform(2.3, 3.5))
    low = rng.uniform(-50, 50, d)
    bounds = np.column_stack([low, low + 10 ** rng.uniform(-1, 3, d)])
    y_low = rng.uniform(-10, 10)
    y_bounds = (float(y_low), float(y_low + 10 ** rng.uniform(0, 2)))
    width = y_bounds[1] - y_bounds[0]
    m = rng.uniform(0.1, 0.9)
    y_sd = float(rng.uniform(0.2, 0.8) * np.sqrt(m * (1 - m)) * width)
    r2 = float(rng.uniform(0, 0.7))
    world = World(bounds, y_bounds, float(y_bounds[0] + m * width), y_sd, r2)
    budget = float(10 ** rng.uniform(-0.3, 1))
    mixed = {budget / 4: 0.3, budget: 0.7}
    lam = float(10 ** rng.uniform(-1.5, 0))
    public: dict[str, Any] = {"bounds": bounds, "y_bounds": y_bounds, "fit_intercept": True}
    more: dict[str, Any] = {"epsilon": mixed}
    match int(rng.integers(7)):
        case 0:
            model: Any = ObjectivePerturbation(lam, **public)
        case 1:
            model = PDPRidge(lam, loss="huber", **public)
        case 2:
            model = SufficientStatisticsRidge(lam, centered=True, **public)
        case 3:
            model, more = AdaSSP(delta=1e-6, **public), {"epsilon": budget}
        case 4:
            model = PersonalizedMean(y_bounds=y_bounds)
        case 5:
            model = WeightedMean(y_bounds=y_bounds)
            more |= {"rows_per_user": rng.integers(1, 6, people)}
        case _:
            model, more = LinearRegression(), more | {"y_bounds": y_bounds}
    if not hasattr(model, "bounds"):
        more["bounds"] = bounds
    guesses = {"people": people, "columns": d, "y_mean": world.y_mean, "y_sd": y_sd, "r2": r2}
    return world, guesses, model, more


def drawn(
    world: World, model: Any, people: int, more: dict[str, Any], rng: np.random.Generator
) -> tuple[float, float]:
    """Root mean square error for new people, labels and all, and its standard error."""
    squares = []
    sizes = more.get("rows_per_user")
    users = None if sizes is None else np.repeat(np.arange(people), sizes)
    for _ in range(REPEATS):
        center, kappa = world.law(rng)
        X = world.rows(people, rng, users)
        y = world.labels(center(X), kappa, rng)
        given: dict[str, Any] = {} if users is None else {"users": users}
        if hasattr(model, "epsilon"):
            given["epsilon"] = more["epsilon"]
            if isinstance(more["epsilon"], dict):
                few, many = more["epsilon"]
                first = round(0.3 * people)
                own = rng.permutation(np.array([few] * first + [many] * (people - first)))
                given["epsilon"] = own if users is None else own[users]
            model.set_params(random_state=int(rng.integers(10**9)))
        fitted = model.fit(X, y, **given)
        new = world.rows(NEW, rng)
        squares.append(np.mean((world.labels(center(new), kappa, rng) - fitted.predict(new)) ** 2))
    error = float(np.sqrt(np.mean(squares)))
    return error, float(np.std(squares, ddof=1) / np.sqrt(REPEATS) / (2 * error))


def rows(count: int, seed: int = SEED) -> pd.DataFrame:
    """One row a setting that can be fitted; others are drawn in place of those that cannot."""
    found: list[dict[str, Any]] = []
    rng = np.random.default_rng(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Advice)
        while len(found) < count:
            world, guesses, model, more = setting(rng)
            try:
                plan = rehearse(model, **guesses, **more, random_state=len(found))
            except ValueError:  # labels so skewed that no line explains as much
                continue
            if plan.refused:
                continue
            try:
                error, se = drawn(world, model, guesses["people"], more, rng)
            except ArithmeticError:  # nearly so
                continue
            apart = (plan.error.value - error) / np.hypot(plan.error.se, se)
            found.append(
                {
                    "estimator": type(model).__name__,
                    "people": guesses["people"],
                    "columns": guesses["columns"],
                    "r2": world.r2,
                    "rehearsed": plan.error.value,
                    "rehearsed_se": plan.error.se,
                    "drawn": error,
                    "drawn_se": se,
                    "standard_errors": apart,
                }
            )
    return pd.DataFrame(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m lab invented", description=__doc__)
    parser.parse_args(arguments)
    start = time.process_time()
    frame = rows(SETTINGS)
    outside = int((frame.standard_errors.abs() > 2).sum())
    said = [
        "rehearsals beside draws from the same model by other code (python -m lab invented)",
        f"{SETTINGS} settings, seed {SEED}: {outside} differ by more than two standard errors",
    ]
    write_run(FOLDER / "own_model.csv", said, frame, start, scipy)
    return 0


if __name__ == "__main__":
    sys.exit(main())
