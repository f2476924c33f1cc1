"""How far rehearsals are from real fits, on five tables whose guesses are true.

Run ``python -m lab rehearsed`` to write `lab/data/rehearsed/tables.csv`. Not private: the guesses
are read from the tables, to see what is wrong with the invented people and not with the guesses.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import sklearn

from lab.tables import write_run
from pdpbook import Floats
from pdpbook.advice import Advice
from pdpbook.datasets import PublicSchema, load
from pdpbook.datasets.tables import DIABETES_BOUNDS, DIABETES_LABEL_BOUNDS
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.rehearsal import rehearse
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge

FOLDER = Path(__file__).resolve().parent.parent / "data" / "rehearsed"
SPLITS = 100  #: of people into four fifths that are fitted and a fifth that is predicted
MIXED = {0.1: 0.5, 1.0: 0.5}
BUDGETS: dict[str, Any] = {"0.1 or 1": MIXED, "1": 1.0, "3": 3.0}


class Table(NamedTuple):
    """A table with its public schema; words are 0 or 1 in `X`."""

    X: Floats
    y: Floats
    schema: PublicSchema

    @property
    def guesses(self) -> dict[str, Any]:
        """The true ones; `r2` is what least squares explains, adjusted for its columns."""
        n, d = self.X.shape
        rows = np.column_stack([self.X, np.ones(n)])
        rest = self.y - rows @ np.linalg.lstsq(rows, self.y, rcond=None)[0]
        adjusted = 1 - rest @ rest / (n - d - 1) / self.y.var(ddof=1)
        return {"y_mean": self.y.mean(), "y_sd": self.y.std(), "r2": float(adjusted)}


def _table(frame: pd.DataFrame, label: str, **rules: Any) -> Table:
    schema = PublicSchema(rules, label=label)
    columns = [name for name in rules if name != label]
    return Table(frame[columns].to_numpy(float), frame[label].to_numpy(float), schema)


def tables() -> dict[str, Table]:
    """Real tables with clinical or round bounds, and two invented ones with heavy tails."""
    two = ["no", "yes"]
    diabetes: dict[str, Any] = DIABETES_BOUNDS | {"sex": two, "target": DIABETES_LABEL_BOUNDS}
    cost = load("medical-cost").assign(smoker=lambda table: (table.smoker == "yes") * 1.0)
    return {
        "diabetes": _table(load("diabetes"), "target", **diabetes),
        "medical-cost": _table(
            cost,
            "charges",
            age=(18, 90),
            bmi=(15, 60),
            children=(0, 10),
            smoker=two,
            charges=(0, 70_000),
        ),
        "concrete-slump": _table(
            load("concrete-slump"),
            "strength",
            cement=(100, 500),
            slag=(0, 300),
            fly_ash=(0, 300),
            water=(100, 300),
            superplasticizer=(0, 30),
            coarse_aggregate=(500, 1200),
            fine_aggregate=(500, 1200),
            strength=(0, 100),
        ),
        "heavy_a": _table(
            pd.read_csv(FOLDER / "heavy_a.csv"),
            "days",
            age=(0, 120),
            earlier_stays=(0, 50),
            crp=(0, 500),
            creatinine=(0, 2000),
            urea=(0, 100),
            albumin=(0, 70),
            haemoglobin=(0, 250),
            emergency=two,
            days=(0, 60),
        ),
        "heavy_b": _table(
            pd.read_csv(FOLDER / "heavy_b.csv"),
            "income",
            school_years=(0, 30),
            hours_week=(0, 100),
            age=(18, 100),
            urban=two,
            children=(0, 15),
            income=(0, 250),
        ),
    }


def models(schema: PublicSchema) -> dict[str, Any]:
    """The estimators that are rehearsed, with the bounds of a schema."""
    y_bounds = schema.columns[str(schema.label)]
    low_high = np.array(schema.bounds)
    if "sex" in schema.columns:
        low_high[schema.names.index("sex=yes")] = (1.0, 2.0)  # as the table codes it
    public: dict[str, Any] = {"bounds": low_high, "y_bounds": y_bounds, "fit_intercept": True}
    found: dict[str, Any] = {"AdaSSP": AdaSSP(delta=1e-6, **public)}
    for lam in (0.03, 0.1, 0.3):
        found[f"ObjectivePerturbation {lam:g}"] = ObjectivePerturbation(lam, **public)
    for lam in (0.1, 1.0):
        found[f"SufficientStatisticsRidge {lam:g}"] = SufficientStatisticsRidge(
            lam, centered=True, **public
        )
        found[f"PDPRidge {lam:g}"] = PDPRidge(lam, loss="huber", **public)
    return found


def real_error(table: Table, model: Any, epsilon: Any, splits: int = SPLITS) -> tuple[float, float]:
    """Root mean square error for people who were not fitted, and its standard error."""
    n = len(table.y)
    held = n // 5
    squares = []
    for seed in range(splits):
        rng = np.random.default_rng(seed)
        order = rng.permutation(n)
        new, old = order[:held], order[held:]
        levels = epsilon
        if isinstance(epsilon, dict):
            ends = np.rint(np.cumsum(list(epsilon.values())) * len(old)).astype(int)
            levels = rng.permutation(np.repeat(list(epsilon), np.diff(ends, prepend=0)))
        fitted = model.set_params(random_state=seed).fit(table.X[old], table.y[old], epsilon=levels)
        squares.append(np.mean((fitted.predict(table.X[new]) - table.y[new]) ** 2))
    error = float(np.sqrt(np.mean(squares)))
    return error, float(np.std(squares, ddof=1) / np.sqrt(splits) / (2 * error))


def rows(names: Sequence[str], splits: int = SPLITS, repeats: int = 40) -> pd.DataFrame:
    """One row a table, budget and estimator that can be fitted."""
    found: list[dict[str, Any]] = []
    known = tables()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Advice)
        for name in names:
            table = known[name]
            people = len(table.y) - len(table.y) // 5
            for budget, epsilon in BUDGETS.items():
                for words, model in models(table.schema).items():
                    if words == "AdaSSP" and budget == "0.1 or 1":
                        continue  # one budget serves all
                    plan = rehearse(
                        model,
                        people=people,
                        columns=table.schema,
                        bounds=model.bounds,
                        epsilon=epsilon,
                        repeats=repeats,
                        **table.guesses,
                    )
                    row: dict[str, Any] = {"table": name, "budget": budget, "estimator": words}
                    if plan.refused:
                        found.append(row)
                        continue
                    error, se = real_error(table, model, epsilon, splits)
                    mean = PersonalizedMean(y_bounds=model.y_bounds)
                    constant = real_error(table, mean, epsilon, splits)[0]
                    row |= {
                        "rehearsed": plan.error.value,
                        "rehearsed_se": plan.error.se,
                        "real": error,
                        "real_se": se,
                        "ratio": plan.error.value / error,
                        "rehearsed_constant": plan.constant.value,
                        "real_constant": constant,
                        "unexplained": plan.unexplained.value,
                    }
                    found.append(row)
    return pd.DataFrame(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m lab rehearsed", description=__doc__)
    parser.parse_args(arguments)
    start = time.process_time()
    frame = rows(list(tables()))
    said = [
        "rehearsals with true guesses beside real fits (python -m lab rehearsed)",
        f"{SPLITS} splits into four fifths and a fifth, seeds 0 to {SPLITS - 1}; rehearse: seed 0",
    ]
    write_run(FOLDER / "tables.csv", said, frame, start, sklearn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
