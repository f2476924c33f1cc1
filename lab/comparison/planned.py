"""What plans are worth on eight hard tables: the choice beside the best one in hindsight.

Run ``python -m lab planned`` to write `lab/data/planned/tables.csv`. A plan sees what the owner of
a table knows without a look at it; then it is tried on the table. What the other columns say is not
private: they look at all errors and take the smallest.
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
from sklearn.metrics import r2_score

from lab.comparison.hard_tables import Number, OwnersTable, tables
from lab.tables import write_run
from pdpbook import Floats
from pdpbook.advice import Advice
from pdpbook.datasets import PublicSchema
from pdpbook.personalized import PersonalizedMean
from pdpbook.plan import ReleasePlan, plan
from pdpbook.rehearsal import Rehearsal
from pdpbook.sufficient_statistics import AdaSSP

FILE = Path(__file__).resolve().parent.parent / "data" / "planned" / "tables.csv"
SPLITS = 8  #: of people into four fifths that are fitted and a fifth that is predicted
BUDGETS = (0.3, 1.0, 3.0)
DELTA = 1e-6  #: of AdaSSP
AS_WRITTEN = "as written"
SURE = "as written, no doubts"  #: a plan that is told not to doubt them
NO_DOUBTS = {"sd_factor": 1.0, "r2_margin": 0.0, "mean_margin": 0.0}
#: what is wrong with the guesses of an owner: factor of the spread, and what is added to r2
GUESSES = {
    AS_WRITTEN: (1.0, 0.0),
    SURE: (1.0, 0.0),
    "spread twice": (2.0, 0.0),
    "spread half": (0.5, 0.0),
    "r2 higher": (1.0, 0.2),
    "r2 lower": (1.0, -0.2),
}
LEAST_R2, MOST_R2 = 0.0, 0.95
HOPELESS = -1.0  #: test R2 of the first split, below which a candidate is not fitted again


class Design(NamedTuple):
    """A table as numbers, with its schema; one row a person, or several a user."""

    X: Floats
    y: Floats
    users: Any  #: whose a row is, numbers from 0, shape (n,)
    schema: PublicSchema
    guesses: dict[str, float]

    @property
    def people(self) -> int:
        """How many of them are fitted in each split."""
        total = int(self.users.max()) + 1
        return total - total // 5


def design_of(table: OwnersTable) -> Design:
    """Encode a table by its public facts alone.

    What is missing becomes the middle of the limits, or the first level.
    """
    facts = table.public
    columns: dict[str, Any] = {}
    fill: dict[str, Any] = {}
    for name, fact in facts.columns.items():
        if isinstance(fact, Number):
            columns[name] = (float(fact.low), float(fact.high))
            fill[name] = (fact.low + fact.high) / 2
        else:
            columns[name] = list(fact)
            fill[name] = fact[0]
    schema = PublicSchema(columns, label=table.label)
    fill = {name: fill[name] for name in facts.may_miss}
    encoded = schema.encode(table.frame[list(columns)].fillna(fill))
    assert encoded.y is not None
    users = np.arange(len(table.frame))
    if table.user is not None:
        users = pd.factorize(table.frame[table.user])[0]
    guesses = {"y_mean": facts.label_mean, "y_sd": facts.label_spread, "r2": facts.r2}
    return Design(encoded.X.to_numpy(float), encoded.y.to_numpy(float), users, schema, guesses)


def split(design: Design, seed: int) -> tuple[Any, Any]:
    """Return the rows that are fitted and those that are predicted: one row a user, drawn."""
    rng = np.random.default_rng(seed)
    order = rng.permutation(len(design.users))
    _, first = np.unique(design.users[order], return_index=True)
    rows = rng.permutation(order[first])
    return rows[len(rows) // 5 :], rows[: len(rows) // 5]


def planned(design: Design, epsilon: float, guess: str) -> ReleasePlan | None:
    """Return the plan of an owner, or None where the wrong guesses are of no possible labels."""
    factor, more = GUESSES[guess]
    guesses: dict[str, Any] = dict(design.guesses)
    guesses["y_sd"] *= factor
    guesses["r2"] = float(np.clip(guesses["r2"] + more, LEAST_R2, MOST_R2))
    guesses |= NO_DOUBTS if guess == SURE else {}
    try:
        return plan(design.people, design.schema, epsilon=epsilon, **guesses)
    except ValueError as error:
        if str(error).startswith(("y_sd must", "r2 must")):
            return None
        raise


def scores(design: Design, model: Any, epsilon: float, splits: int, least: float) -> Floats:
    """Return the test R2 of each split; minus infinity where a model cannot be fitted, or where the
    first split is below `least`."""
    found: list[float] = []
    for seed in range(splits):
        fitted, new = split(design, seed)
        model.set_params(random_state=seed)
        try:
            model.fit(design.X[fitted], design.y[fitted], epsilon=epsilon)
        except ValueError:
            return np.full(splits, -np.inf)
        found.append(float(r2_score(design.y[new], model.predict(design.X[new]))))
        if found[0] < least:
            return np.full(splits, -np.inf)
    return np.array(found)


class Tried(NamedTuple):
    """What fits to a table come to, each an array of test R2 of the splits."""

    right: ReleasePlan
    models: dict[str, Floats]  #: every candidate of the plan; a hopeless one minus infinity
    adassp: Floats  #: AdaSSP at half of the budget, since it promises less
    constant: Floats


def tried(design: Design, epsilon: float, splits: int) -> Tried:
    """Fit every candidate, and what stands beside them."""
    right = planned(design, epsilon, AS_WRITTEN)
    assert right is not None
    public = {"y_bounds": design.schema.columns[str(design.schema.label)], "clip": True}
    mean = PersonalizedMean(**public)
    public |= {"bounds": design.schema.bounds, "fit_intercept": True}
    adassp = AdaSSP(delta=DELTA, **public)
    models = {}
    for one in right.candidates:
        least = HOPELESS if one.why_not else -np.inf
        models[one.rehearsal.model] = scores(design, one.estimator, epsilon, splits, least)
    return Tried(
        right,
        models,
        scores(design, adassp, epsilon / 2, splits, -np.inf),
        scores(design, mean, epsilon, splits, -np.inf),
    )


def row(design: Design, epsilon: float, guess: str, real: Tried) -> dict[str, Any]:
    """Return what a plan with these guesses is worth, in mean test R2."""
    found = real.right if guess == AS_WRITTEN else planned(design, epsilon, guess)
    best = max(real.models, key=lambda name: real.models[name].mean())
    best_r2 = real.models[best]
    if np.isinf(best_r2).any():
        best, best_r2 = "none", np.full(len(best_r2), -np.inf)
    result: dict[str, Any] = {"people": design.people, "columns": design.X.shape[1]}
    result |= {"epsilon": epsilon, "guess": guess, "plan": "refused"}
    if found is not None and found.rehearsal is not None:
        r2 = real.constant
        if found.is_yes:
            r2 = real.models[found.rehearsal.model]
            if np.isinf(r2).any():
                r2 = scores(design, found.estimator, epsilon, len(r2), -np.inf)
        gain = r2 - real.constant
        result |= {
            "plan": found.rehearsal.model,
            "first": found.candidates[0].rehearsal.model,
            "first_rehearsed": _gain(found.candidates[0].rehearsal),
            "rehearsed": _gain(found.rehearsal),
            "r2": r2.mean(),
            "gain": gain.mean(),
            "gain_se": gain.std(ddof=1) / np.sqrt(len(gain)),
        }
    return result | {
        "hindsight": best,
        "hindsight_r2": best_r2.mean(),
        "hindsight_gain": (best_r2 - real.constant).mean(),
        "adassp_half": real.adassp.mean(),
        "constant": real.constant.mean(),
    }


def _gain(rehearsal: Rehearsal) -> float:
    """Return by how much less than a constant a rehearsed error is, as a share of the squares."""
    return 1 - (rehearsal.error.value / rehearsal.constant.value) ** 2


def compare(
    names: Sequence[str] = (), splits: int = SPLITS, guesses: Sequence[str] = tuple(GUESSES)
) -> pd.DataFrame:
    """One row a table, budget and guess; all tables without names."""
    found = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Advice)
        for table in tables():
            if names and table.name not in names:
                continue
            design = design_of(table)
            for epsilon in BUDGETS:
                real = tried(design, epsilon, splits)
                for guess in guesses:
                    found.append({"table": table.name} | row(design, epsilon, guess, real))
    return pd.DataFrame(found)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the table."""
    parser = argparse.ArgumentParser(prog="python -m lab planned", description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--guesses", nargs="+", choices=GUESSES, default=list(GUESSES))
    options = parser.parse_args(arguments)
    start = time.process_time()
    frame = compare(splits=options.splits, guesses=options.guesses)
    said = [
        f"plans on hard tables (python -m lab planned --splits {options.splits})",
        f"{options.splits} splits into four fifths and a fifth, seeds 0 to {options.splits - 1}; "
        "mean test R2",
    ]
    FILE.parent.mkdir(exist_ok=True)
    write_run(FILE, said, frame, start, sklearn)
    return 0


if __name__ == "__main__":
    sys.exit(main())
