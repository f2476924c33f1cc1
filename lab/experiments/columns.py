"""Other columns for the drug reviews: how far Table 1 of Epasto et al. (2020) hangs on a choice.

The paper has eight columns and does not name them. A family of choices was fixed before any of it
was run: any eight of nine columns, words counted or in logarithms, three scales. Not private.
"""

from itertools import product

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lab.experiments.user_problems import DESIGNS, drug_columns, drug_problem
from lab.experiments.users import user_losses
from pdpbook import check

METHODS = ("GWA", "limit, oracle", "limit, max")  # those of the printed table
WORDS = ("counts", "logarithms")


def sweep_columns(
    data: str = "druglib",
    *,
    draws: int = 10,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Expected errors at three budgets for every one of 54 choices of eight columns.

    The nine columns are a constant, both ratings beside the label, their squared distances from
    the middle of the scale, the product of these distances, and three word counts.

    Parameters
    ----------
    data : {"druglib"}, default "druglib"
        The only data set with a choice to make.
    draws : int, default 10
        Choices of the rows that limited users keep, the same for every choice of columns.
    rng : numpy.random.Generator
        Source of randomness; with one of the same seed `sweep_users` gives the same errors.
    progress : bool, default False
        Show a bar when it takes over two seconds.

    Returns
    -------
    pandas.DataFrame
        A row for each of `without` (the column left out), `words`, `design`, `epsilon` and
        `method`: over the draws `mean`, `low` and `high` of the expected error, and the mean
        `noise_sd`.

    Raises
    ------
    ValueError
        If an argument is out of range.
    FileNotFoundError
        If the reviews are not at hand; see `datasets.load`.
    """
    check.choice(data, "data", ("druglib",))
    children = check.rng(rng).spawn(check.count(draws, "draws"))
    names = list(drug_columns("raw", WORDS[0]))
    choices = list(product(names, WORDS, DESIGNS))
    if progress:
        from tqdm import tqdm

        choices = tqdm(choices, desc="columns", delay=2.0)
    frames = []
    with threadpool_limits(1):
        for without, words, design in choices:
            problem = drug_problem(drug_columns(design, words).drop(columns=without))
            for k, child in enumerate(children):
                own = np.random.default_rng(child.bit_generator.seed_seq)  # type: ignore[arg-type]
                methods = METHODS[k > 0 :]  # of the weights nothing is drawn
                found = user_losses(problem, (1.0, 2.0, 3.0), rng=own, methods=methods)
                frames.append(found.assign(without=without, words=words, design=design))
    groups = pd.concat(frames).groupby(
        ["without", "words", "design", "epsilon", "method"], sort=False
    )
    return groups.agg(
        mean=("mean", "mean"),
        low=("mean", "min"),
        high=("mean", "max"),
        noise_sd=("noise_sd", "mean"),
    ).reset_index()
