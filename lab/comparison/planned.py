"""What plans are worth on eight hard tables: the choice beside the best one in hindsight.

Run ``python -m lab planned --parts FOLDER --peers PYTHON`` to write `tables.csv`, `fits.csv` and
`goals.csv` of `lab/data/planned`. A plan sees what the owner of a table knows without a look at it;
then it is tried on the table. What the other columns say is not private: they look at all errors
and take the smallest. Each part, fits or a plan, is a file of FOLDER, so a run that stops goes on
from there. PYTHON is of the environment of diffprivlib, see `planned_peer`.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
import sklearn
from sklearn.metrics import r2_score

from lab.comparison.hard_tables import Number, OwnersTable, tables
from lab.tables import versions, write_table
from pdpbook import Floats
from pdpbook.advice import Advice
from pdpbook.datasets import PublicSchema
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.plan import (
    LABEL_MEAN_SHARES,
    LEAST_GAIN,
    PENALTIES,
    Candidate,
    ReleasePlan,
    plan,
)
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge

FOLDER = Path(__file__).resolve().parent.parent / "data" / "planned"
FILE = FOLDER / "tables.csv"
FITS_FILE = FOLDER / "fits.csv"
GOALS_FILE = FOLDER / "goals.csv"
PEER = Path(__file__).resolve().parent / "planned_peer.py"
SPLITS = 20  #: of people into four fifths that are fitted and a fifth that is predicted
BUDGETS = (0.3, 1.0, 3.0)
DELTA = 1e-6  #: of AdaSSP
AS_WRITTEN = "as written"
SURE = "as written, no doubts"  #: what that plan would take if it did not doubt its guesses
#: what is wrong with the guesses of an owner: factor of the spread, and what is added to r2
GUESSES = {
    AS_WRITTEN: (1.0, 0.0),
    "spread twice": (2.0, 0.0),
    "spread half": (0.5, 0.0),
    "r2 higher": (1.0, 0.2),
    "r2 lower": (1.0, -0.2),
}
LEAST_R2, MOST_R2 = 0.0, 0.95
#: a candidate is tried on a few splits, and on the others if it is not hopeless there
FEW_SPLITS = 4
HOPELESS_R2 = -1.0  #: in the first split
HOPELESS_GAIN = -0.15  #: over the constant, in the mean of the few
#: of R2: losses that are too large, gains that count, and the part of them that is wanted
BELOW, WRONG_BELOW, PEER_BELOW, WORTH, PART = 0.02, 0.05, 0.01, 0.05, 0.8
CONSTANT, ADASSP, PEERS = "PersonalizedMean", "AdaSSP at half", "diffprivlib"
NO_MODEL = (CONSTANT, ADASSP, PEERS)  #: of the fits, what is no candidate of a plan


class Design(NamedTuple):
    """A table as numbers, with its schema; one row a person, or several a user."""

    name: str
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

    @property
    def y_bounds(self) -> tuple[float, float]:
        """Public bounds of the label."""
        bounds = self.schema.y_bounds
        assert bounds is not None  # every schema here has a label
        return bounds


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
    return Design(
        table.name, encoded.X.to_numpy(float), encoded.y.to_numpy(float), users, schema, guesses
    )


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
    try:
        return plan(design.people, design.schema, epsilon=epsilon, **guesses)
    except ValueError as error:
        if str(error).startswith(("y_sd must", "r2 must")):
            return None
        raise


# --- fits to the tables, which do not depend on plans --------------------------------------------


def models(design: Design) -> dict[str, Any]:
    """All candidates of plans, by name, and what stands beside them."""
    mean: dict[str, Any] = {"y_bounds": design.y_bounds, "clip": True}
    line: dict[str, Any] = mean | {"bounds": design.schema.bounds, "fit_intercept": True}
    found: dict[str, Any] = {
        CONSTANT: PersonalizedMean(**mean),
        ADASSP: AdaSSP(delta=DELTA, **line),
    }
    for lam in PENALTIES:
        for share in LABEL_MEAN_SHARES:
            words = f"lam={lam:g}" + (f", label_mean_share={share:g}" if share else "")
            around: dict[str, Any] = {"lam": lam, "label_mean_share": share}
            found[f"ObjectivePerturbation({words})"] = ObjectivePerturbation(**around, **line)
            found[f"PDPRidge({words})"] = PDPRidge(loss="huber", **around, **line)
        sums = SufficientStatisticsRidge(lam, centered=True, **line)
        found[f"SufficientStatisticsRidge(lam={lam:g})"] = sums
    return found


def scores(
    design: Design, model: Any, epsilon: float, splits: int, least: float = -np.inf
) -> Floats:
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


def scores_of(design: Design, epsilon: float, splits: int, name: str) -> Floats:
    """Return the test R2 of each split of the candidate of this name."""
    return scores(design, models(design)[name], epsilon, splits)


def fits(design: Design, epsilon: float, splits: int, peers: str | None) -> dict[str, list[float]]:
    """Return test R2 of each split, of everything in `models` and of diffprivlib.

    Of what is hopeless there are those of the first splits alone.
    """
    found: dict[str, Any] = {}
    for name, model in models(design).items():
        if name in NO_MODEL:
            # AdaSSP promises less, against adding or removing a person, so it has half the budget
            spent = epsilon / 2 if name == ADASSP else epsilon
            found[name] = scores(design, model, spent, splits)
            continue
        few = scores(design, model, epsilon, FEW_SPLITS, HOPELESS_R2)
        gain = few.mean() - found[CONSTANT][:FEW_SPLITS].mean()
        is_hopeless = gain < HOPELESS_GAIN
        found[name] = few if is_hopeless else scores(design, model, epsilon, splits)
    if peers is not None:
        found[PEERS] = scores_of_peer(design, epsilon, splits, peers)
    return {name: [float(one) for one in values] for name, values in found.items()}


def scores_of_peer(design: Design, epsilon: float, splits: int, python: str) -> Any:
    """Return the test R2 of each split of diffprivlib, in the environment of this Python."""
    low, high = np.asarray(design.schema.bounds).T
    y_low, y_high = design.y_bounds
    orders = [split(design, seed) for seed in range(splits)]
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "table.npz"
        np.savez(
            file,
            X=2 * (design.X - low) / (high - low) - 1,
            y=2 * (design.y - y_low) / (y_high - y_low) - 1,
            fitted=np.array([fitted for fitted, _ in orders]),
            new=np.array([new for _, new in orders]),
            epsilon=epsilon,
        )
        said = subprocess.run(
            [python, str(PEER), str(file)], check=True, capture_output=True, text=True, env={}
        ).stdout
    return json.loads(said)["scores"]


# --- one table of both ---------------------------------------------------------------------------


def choices(design: Design, epsilon: float, guess: str) -> list[dict[str, Any]]:
    """Return what a plan takes, and with guesses as written what it would take without doubts."""
    found = planned(design, epsilon, guess)
    if found is None:
        return [{"guess": guess, "plan": "refused"}]
    first = found.candidates[0]
    chosen = next((one for one in found.candidates if not one.why_not), None)
    of_first = {"first": first.rehearsal.model, "why": first.why_not}
    rows = [{"guess": guess} | choice(chosen) | of_first]
    if guess == AS_WRITTEN:
        is_better = first.rehearsal.better and gain_of(first) >= LEAST_GAIN
        rows.append({"guess": SURE} | choice(first if is_better else None))
    return rows


def choice(one: Candidate | None) -> dict[str, Any]:
    """Return a candidate and the gain that is rehearsed; of none, the private mean."""
    if one is None:
        return {"plan": CONSTANT, "rehearsed": 0.0}
    return {"plan": one.rehearsal.model, "rehearsed": gain_of(one)}


def gain_of(one: Candidate) -> float:
    """Return by how much less than a constant a rehearsed error is, as a share of the squares."""
    return 1 - (one.rehearsal.error.value / one.rehearsal.constant.value) ** 2


def row(taken: dict[str, Any], real: dict[str, list[float]], again: Any) -> dict[str, Any]:
    """Return what a choice is worth, in mean test R2; `again` fits it to all splits if need be."""
    constant = np.array(real[CONSTANT])
    splits = len(constant)
    full = {
        name: np.array(values)
        for name, values in real.items()
        if name not in NO_MODEL and len(values) == splits
    }
    best = max(full, key=lambda name: full[name].mean(), default="none")
    result = dict(taken)
    if taken["plan"] != "refused":
        r2 = constant if taken["plan"] == CONSTANT else full.get(taken["plan"])
        r2 = again(taken["plan"]) if r2 is None else r2
        result |= _mean_and_se("gain", r2 - constant)
        result |= _mean_and_se("over_peer", r2 - np.array(real[PEERS]))
    if best != "none":
        result |= {"hindsight": best, "hindsight_gain": (full[best] - constant).mean()}
    others = {"constant": CONSTANT, "adassp_half": ADASSP, "diffprivlib": PEERS}
    return result | {name: np.mean(real[key]) for name, key in others.items()}


def _mean_and_se(name: str, values: Floats) -> dict[str, float]:
    """Return the mean of values and its standard error."""
    return {name: values.mean(), f"{name}_se": values.std(ddof=1) / np.sqrt(len(values))}


def goals(rows: pd.DataFrame) -> pd.DataFrame:
    """Return in how many pairs of a table and a budget plans do what they are to do.

    A plan that is refused, since no labels are as is guessed, counts for nothing.
    """
    rows = rows[rows.plan != "refused"]
    written = rows[rows.guess == AS_WRITTEN]
    wrong = rows[~rows.guess.isin([AS_WRITTEN, SURE])]
    best = written.hindsight_gain.fillna(-np.inf)
    worth, hopeless = written[best >= WORTH], written[best <= 0]
    met = {
        f"never below the constant by more than {BELOW:g}": written.gain >= -BELOW,
        f"where hindsight gains {WORTH:g}, {PART:.0%} of it": (
            worth.gain >= PART * worth.hindsight_gain
        ),
        f"not below diffprivlib by more than {PEER_BELOW:g}": written.over_peer >= -PEER_BELOW,
        "where hindsight is the constant, no": hopeless.plan == CONSTANT,
        f"guesses wrong: never below the constant by more than {WRONG_BELOW:g}": (
            wrong.gain >= -WRONG_BELOW
        ),
    }
    found = [{"goal": goal, "met": is_met.sum(), "of": len(is_met)} for goal, is_met in met.items()]
    return pd.DataFrame(found)


# --- parts of a long run -------------------------------------------------------------------------


def part(folder: Path, name: str, compute: Callable[[], Any]) -> Any:
    """Return what a file of the folder holds, or compute it, and write it with its time."""
    file = folder / f"{name}.json"
    if not file.exists():
        start = time.process_time()
        value = compute()
        text = json.dumps({"seconds": time.process_time() - start, "value": value})
        file.write_text(text, encoding="utf-8")
    return json.loads(file.read_text(encoding="utf-8"))


def run(
    folder: Path, splits: int, peers: str | None, names: Sequence[str] = ()
) -> tuple[pd.DataFrame, pd.DataFrame, float]:
    """Return the rows of plans, those of fits, and processor seconds; all tables without names."""
    rows: list[dict[str, Any]] = []
    of_fits: list[dict[str, Any]] = []
    seconds = 0.0
    for table in tables():
        if names and table.name not in names:
            continue
        design = design_of(table)
        for epsilon in BUDGETS:
            where = {"table": table.name, "people": design.people, "epsilon": epsilon}
            name = f"{table.name} {epsilon:g}"
            fitted = part(folder, f"{name} fits", partial(fits, design, epsilon, splits, peers))
            seconds += fitted["seconds"]
            real = fitted["value"]
            for model, r2 in real.items():
                mean = float(np.mean(r2))
                of_fits.append(where | {"model": model, "splits": len(r2), "r2": mean})
            fit_again = partial(scores_of, design, epsilon, splits)
            for guess in GUESSES:
                taken = part(folder, f"{name} {guess}", partial(choices, design, epsilon, guess))
                seconds += taken["seconds"]
                plan_seconds = {"seconds": taken["seconds"]}
                rows += [where | row(one, real, fit_again) | plan_seconds for one in taken["value"]]
    return pd.DataFrame(rows), pd.DataFrame(of_fits), seconds


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the tables."""
    parser = argparse.ArgumentParser(prog="python -m lab planned", description=__doc__)
    parser.add_argument("--splits", type=int, default=SPLITS)
    parser.add_argument("--parts", type=Path, required=True)
    parser.add_argument("--peers", help="Python of the environment of diffprivlib")
    parser.add_argument("--tables", nargs="+", default=[])
    options = parser.parse_args(arguments)
    options.parts.mkdir(parents=True, exist_ok=True)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Advice)
        rows, of_fits, seconds = run(options.parts, options.splits, options.peers, options.tables)
    said = [
        f"plans on hard tables (python -m lab planned --splits {options.splits})",
        f"{options.splits} splits into four fifths and a fifth, seeds 0 to {options.splits - 1}; "
        "mean test R2; gains are over the constant",
        f"{seconds:.0f} processor seconds, without those of diffprivlib",
        versions(sklearn) + ", diffprivlib 0.6.6 with sklearn 1.8.0",
    ]
    FOLDER.mkdir(exist_ok=True)
    write_table(FILE, said, [rows])
    write_table(FITS_FILE, ["fits" + said[0][5:], *said[1:]], [of_fits])
    write_table(GOALS_FILE, ["goals of " + said[0], *said[1:]], [goals(rows)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
