"""All private ridge regressions of the personalized part on the same people: a table of losses.

Run ``python -m lab mechanisms`` to write it to a CSV file, with what it was made of above the
table. The tables and figures of PDP-OP are reproduced in `experiments`. Not private.
"""

import argparse
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike
from sklearn.model_selection import train_test_split
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]
from tqdm import tqdm

from lab.tables import read_results, versions, write_table
from pdpbook import Floats, check
from pdpbook.datasets import load, make_ridge_data, medical_cost_design, sample_budgets
from pdpbook.gradient import GradientDescentRidge
from pdpbook.noise import sample_l2_laplace
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean, threshold_budgets
from pdpbook.ridge import weighted_ridge
from pdpbook.sufficient_statistics import SufficientStatisticsRidge

SEED = 11  #: of the committed table
SPLITS = 20  #: fresh people, budgets and noise behind every row
DRAWS = 100  #: noise draws a split, where no closed form is known
DELTA = 1e-6  #: failure probability of every mechanism that has one
FOLDER = Path("book/personalized/results")
FILE = "mechanisms.csv"
FINE = (0.03, 0.1, 0.2, 0.3, 0.5, 0.7, 1.0, 1.5, 2.0, 3.0, 5.0, 10.0)
COARSE = (3.0, 10.0, 30.0, 100.0, 300.0, 1000.0, 3000.0)
#: settings, with the penalties tried in each
GRIDS: dict[str, tuple[float, ...]] = {
    "synthetic 100 x 30": COARSE,
    "synthetic 1070 x 12": FINE,
    "medical cost": FINE,
}
SETTINGS = tuple(GRIDS)
#: penalties of objective perturbation with a delta, which takes a second each to calibrate
CALIBRATED = (0.2, 0.3, 0.5, 1.0, 2.0, 30.0, 100.0, 300.0, 1000.0)


@dataclass(frozen=True)
class _People:
    """People to train on, and second moments of those to test on."""

    X: Floats
    y: Floats
    epsilon: Floats
    S: Floats  #: test mean of x x'
    b: Floats  #: test mean of x y
    c: float  #: test mean of y squared
    mean: float  #: test mean of y

    def loss(self, theta: Floats) -> Floats:
        """Test loss of each of many coefficient vectors, shape (..., d)."""
        return np.asarray(self.c - 2 * theta @ self.b + np.sum((theta @ self.S) * theta, axis=-1))


Losses = tuple[Floats, Floats]  # by penalty: expectation over the noise, its standard error
Mechanism = Callable[[_People, Floats, int, np.random.Generator], Losses]


def _exact(values: list[float]) -> Losses:
    return np.array(values), np.zeros(len(values))


def _output(
    people: _People, lams: Floats, draws: int, rng: np.random.Generator, **options: object
) -> Losses:
    """Closed form: round noise adds (d + 1) trace(S) / eta^2 to the loss at the center."""
    values = []
    for lam in lams:
        model = PDPRidge(lam, **options)  # type: ignore[arg-type]
        law: Any = model.output_law(people.X, people.y, epsilon=people.epsilon)
        noise = (len(law.center) + 1) / law.eta**2 * np.trace(people.S)
        values.append(float(people.loss(law.center) + noise))
    return _exact(values)


def _threshold(
    people: _People, lams: Floats, draws: int, rng: np.random.Generator, **options: object
) -> Losses:
    """One privacy level for all who take part: the rival without personal budgets."""
    given = replace(people, epsilon=threshold_budgets(people.epsilon))
    return _output(given, lams, draws, rng, **options)


def _objective(
    people: _People, lams: Floats, draws: int, rng: np.random.Generator, delta: float = 0.0
) -> Losses:
    """Closed form as long as no residual is clipped, plus the simulated rest; inf if refused."""
    d = people.X.shape[1]
    unit = sample_l2_laplace(d, 1.0, draws, rng=rng)  # the same tilts for every penalty
    mean, error = np.full(len(lams), np.inf), np.zeros(len(lams))
    for k, lam in enumerate(lams):
        if not people.epsilon.sum() * 0.999 > d / lam or (delta > 0 and lam not in CALIBRATED):
            continue
        law: Any = ObjectivePerturbation(lam, delta=delta).output_law(
            people.X, people.y, epsilon=people.epsilon
        )
        inverse = np.linalg.inv((people.X.T * law.weights) @ people.X + lam * np.eye(d)) / 2
        center = 2 * inverse @ (people.X.T @ (law.weights * people.y))
        linear = people.loss(center - unit / law.beta @ inverse)
        spread = (d + 1) / law.beta**2 * np.trace(inverse @ people.S @ inverse)
        rest = people.loss(law.solve(unit / law.beta)) - linear
        mean[k] = people.loss(center) + spread + rest.mean()
        error[k] = rest.std(ddof=1) / np.sqrt(draws)
    return mean, error


def _statistics(
    people: _People, lams: Floats, draws: int, rng: np.random.Generator, **options: object
) -> Losses:
    """One release serves every penalty, so the draws are shared."""
    model = SufficientStatisticsRidge(random_state=rng, **options)  # type: ignore[arg-type]
    losses = np.empty((draws, len(lams)))
    for k in range(draws):
        model.fit(people.X, people.y, epsilon=people.epsilon)
        losses[k] = people.loss(model.coef_path(lams).coef)
    return losses.mean(axis=0), losses.std(axis=0, ddof=1) / np.sqrt(draws)


def _descent(
    people: _People, lams: Floats, draws: int, rng: np.random.Generator, steps: int
) -> Losses:
    """The last iterate of each of many paths."""
    d, state = people.X.shape[1], int(rng.integers(2**31))
    losses = []
    for lam in lams:
        law = GradientDescentRidge(lam, delta=DELTA, steps=steps).output_law(
            people.X, people.y, epsilon=people.epsilon
        )
        paths = law.sample(draws, rng=np.random.default_rng(state))  # the same noise
        losses.append(people.loss(paths[:, -d:]))
    return np.mean(losses, axis=1), np.std(losses, axis=1, ddof=1) / np.sqrt(draws)


def _not_private(people: _People, lams: Floats, draws: int, rng: np.random.Generator) -> Losses:
    return _exact([float(people.loss(weighted_ridge(people.X, people.y, lam))) for lam in lams])


def _zero(people: _People, lams: Floats, draws: int, rng: np.random.Generator) -> Losses:
    return _exact([people.c] * len(lams))


def _mean(people: _People, lams: Floats, draws: int, rng: np.random.Generator) -> Losses:
    law = PersonalizedMean().output_law(people.X, people.y, epsilon=people.epsilon)
    guess = float(law.center[0])
    loss = people.c - 2 * guess * people.mean + guess**2 + 2 / law.eta**2
    return _exact([loss] * len(lams))


#: promise and losses of every row: "pure" epsilon_i, or (epsilon_i, delta) with `DELTA`
MECHANISMS: dict[str, tuple[str, Mechanism]] = {
    "not private": ("none", _not_private),
    "predict zero": ("all", _zero),
    "private mean": ("pure", _mean),
    "output, published": ("pure", partial(_output, proof="published")),
    "output, joint": ("pure", partial(_output, proof="joint")),
    "output, Huber": ("pure", partial(_output, loss="huber")),
    "statistics, Laplace": ("pure", partial(_statistics, noise="laplace")),
    "statistics, Laplace centered": (
        "pure",
        partial(_statistics, noise="laplace", centered=True),
    ),
    "objective": ("pure", _objective),
    "output, Huber, delta": ("delta", partial(_output, loss="huber", delta=DELTA)),
    "statistics, Gaussian": ("delta", partial(_statistics, noise="gaussian", delta=DELTA)),
    "statistics, Gaussian centered": (
        "delta",
        partial(_statistics, noise="gaussian", centered=True, delta=DELTA),
    ),
    "objective, delta": ("delta", partial(_objective, delta=DELTA)),
    "gradient, 2 steps": ("delta", partial(_descent, steps=2)),
    "gradient, 10 steps": ("delta", partial(_descent, steps=10)),
    "threshold, joint": ("pure", partial(_threshold, proof="joint")),
}


def compare(
    setting: str,
    mechanisms: Sequence[str] | None = None,
    lams: ArrayLike | None = None,
    *,
    splits: int = SPLITS,
    draws: int = DRAWS,
    seed: int = SEED,
    progress: bool = False,
) -> pd.DataFrame:
    """Expected test loss of every mechanism at every penalty, over fresh people and budgets.

    All mechanisms see the same people with the same budgets in each split. The loss is averaged
    over the noise: by its closed form for output perturbation and the constants, else over draws.

    Parameters
    ----------
    setting : str
        One of `SETTINGS`. Synthetic people are drawn anew for every split, and tested on the
        population; the insurance records are split anew, a fifth to test.
    mechanisms : sequence of str, optional
        Some of `MECHANISMS`; by default all.
    lams : array_like, optional
        Penalties; by default those of `GRIDS`.
    splits : int, default 20
        Splits, at least 2.
    draws : int, default 100
        Noise draws a split where there is no closed form.
    seed : int, default 11
        A row depends on it and on its own mechanism and penalty, not on what else is asked for,
        except that mechanisms which share draws over penalties are simulated jointly.
    progress : bool, default False
        Show a bar when it takes over two seconds.

    Returns
    -------
    pandas.DataFrame
        A row for each mechanism and penalty: `setting`, `mechanism`, `promise`, `lam`, the `mean`
        loss over splits and its standard error `error`, the part `noise_error` of it that comes
        from the draws, and against the private mean of the same split: the mean difference
        `margin`, its standard error `margin_error`, and `wins`, in how many splits the loss is
        below. Infinite where a mechanism refuses the penalty, or is not tried at it (`CALIBRATED`).

    Raises
    ------
    ValueError
        If a name is unknown or a number out of range.
    """
    check.choice(setting, "setting", SETTINGS)
    names = tuple(MECHANISMS) if mechanisms is None else tuple(mechanisms)
    for name in names:
        check.choice(name, "mechanisms", tuple(MECHANISMS))
    grid = np.atleast_1d(check.positive(GRIDS[setting] if lams is None else lams, "lams"))
    splits, draws = check.count(splits, "splits", minimum=2), check.count(draws, "draws", minimum=2)
    seed = check.count(seed, "seed", minimum=0)
    found = np.empty((len(names), 2, splits, len(grid)))
    reference = np.empty(splits)
    bar = tqdm(range(splits), desc=setting, delay=2, disable=not progress)
    for k in bar:
        people = _people(setting, np.random.default_rng([seed, SETTINGS.index(setting), k]))
        reference[k] = _mean(people, grid[:1], draws, np.random.default_rng(0))[0][0]
        for m, name in enumerate(names):
            own = np.random.default_rng([seed, k, list(MECHANISMS).index(name)])
            found[m, :, k] = MECHANISMS[name][1](people, grid, draws, own)
    rows = []
    for name, (loss, noise) in zip(names, found, strict=True):
        with np.errstate(invalid="ignore"):
            margin = loss - reference[:, None]
            spread = [np.std(v, axis=0, ddof=1) / np.sqrt(splits) for v in (loss, margin)]
        for j, lam in enumerate(grid):
            rows.append(
                {
                    "setting": setting,
                    "mechanism": name,
                    "promise": MECHANISMS[name][0],
                    "lam": lam,
                    "mean": loss[:, j].mean(),
                    "error": spread[0][j],
                    "noise_error": np.sqrt(np.sum(noise[:, j] ** 2)) / splits,
                    "margin": margin[:, j].mean(),
                    "margin_error": spread[1][j],
                    "wins": int((margin[:, j] < 0).sum()),
                }
            )
    return pd.DataFrame(rows)


def _people(setting: str, rng: np.random.Generator) -> _People:
    if setting == "medical cost":
        design, charges = medical_cost_design(load("medical-cost"))
        state = int(rng.integers(2**31))
        X, X_test, y, y_test = train_test_split(
            design.to_numpy(), charges.to_numpy(), test_size=0.2, random_state=state
        )
        S, b = X_test.T @ X_test / len(y_test), X_test.T @ y_test / len(y_test)
        moments = S, b, float(y_test @ y_test / len(y_test)), float(y_test.mean())
    else:
        n, d = (int(part) for part in setting.removeprefix("synthetic ").split(" x "))
        X, y, theta = make_ridge_data(n, d, rng=rng)
        S = np.eye(d) / 12 + 0.25  # second moments of the uniform cube
        moments = S, S @ theta, float(theta @ S @ theta), float(theta.sum() / 2)
    return _People(X, y, sample_budgets(len(y), rng=rng), *moments)


def write(folder: str | Path = FOLDER, *, jobs: int = 1, progress: bool = False) -> Path:
    """Run the comparison in every setting and write the table.

    Parameters
    ----------
    folder : path, default book/personalized/results
        Where to; must exist.
    jobs : int, default 1
        How many settings to run side by side.
    progress : bool, default False
        Show a bar for each setting.

    Returns
    -------
    pathlib.Path
        The file: lines that begin with ``#`` say how it was made, then a table in CSV with four
        significant digits.
    """
    start = time.perf_counter()
    run, jobs = partial(compare, progress=progress), check.count(jobs, "jobs")
    with threadpool_limits(1), ProcessPoolExecutor(jobs) as pool:
        each = pool.map if jobs > 1 else map
        frames = list(each(run, reversed(SETTINGS)))[::-1]  # the longest first
    seconds = time.perf_counter() - start
    header = [
        "python -m lab mechanisms",
        f"seed: {SEED}, splits: {SPLITS}, draws: {DRAWS}, delta: {DELTA:g}",
        versions(scipy),
        f"run time: {seconds:.0f} s, {jobs} settings at a time",
    ]
    path = Path(folder) / FILE
    write_table(path, header, frames)
    return path


def read(path: str | Path = FOLDER / FILE) -> pd.DataFrame:
    """Read the table that `write` wrote.

    Parameters
    ----------
    path : path, default book/personalized/results/mechanisms.csv
        The file.

    Returns
    -------
    pandas.DataFrame
        As from `compare`; ``attrs["header"]`` holds the lines above the table.
    """
    return read_results(path)


def main(arguments: Sequence[str] | None = None) -> int:
    """Write the committed table, with progress bars on the error stream.

    Parameters
    ----------
    arguments : sequence of str, optional
        Command line; by default that of the process.

    Returns
    -------
    int
        The exit code 0.
    """
    parser = argparse.ArgumentParser(prog="python -m lab mechanisms")
    parser.add_argument("--folder", type=Path, default=FOLDER, help=f"where to, default {FOLDER}")
    parser.add_argument("--jobs", type=int, default=1, help="how many settings side by side")
    chosen = parser.parse_args(arguments)
    if not chosen.folder.is_dir():
        parser.error(f"there is no folder {chosen.folder}; run from the top of the repository")
    sys.stdout.write(f"{write(chosen.folder, jobs=chosen.jobs, progress=True)}\n")
    return 0
