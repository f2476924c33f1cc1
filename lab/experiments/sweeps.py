"""The five sweeps behind the tables and figures of PDP-OP, as tidy frames.

Each follows the printed protocol but for one thing: where the paper draws data and budgets once,
without a seed, a sweep draws them many times and states where the expected loss then lies.
"""

from collections.abc import Callable, Iterable
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lab.experiments.losses import METHODS, METRICS, test_losses
from lab.experiments.splits import DATA, Split, share_of, split_of
from pdpbook import Floats, check
from pdpbook.datasets import sample_budgets
from pdpbook.personalized import PersonalizedMean
from pdpbook.ridge import loss_moments, weighted_ridge

DEFAULT, CAUTIOUS = (0.34, 0.43, 0.23), (0.54, 0.37, 0.09)
LEVELS = (0.01, 0.2, 1.0)
PENALTY = {"synthetic": 100.0, "medical-cost": 1.0}

#: values of every sweep: all that the tables print; the penalties differ by data
GRIDS: dict[str, Any] = {
    "lambda": {
        "synthetic": (1, 3, 5, 7, 10, 15, 20, 25, 50, 75, 100, 125, 150, 175, 200, 300, 400, 500),
        "medical-cost": (0.01, 0.05, 0.1, 0.5, 0.6, 0.7, 0.8, 0.9, 1, 2, 3, 5, 7, 10),
    },
    "eps_c": (0.01, 0.05, 0.1, 0.2, 0.3, 0.4, 0.5),
    "eps_m": (0.05, 0.1, 0.15, 0.2, 0.25, 0.3, 0.35, 0.4, 0.45, 0.5),
    "f_c": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6),
    "train_fraction": (0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0),
}
RATIOS = (
    ("non-personalized", "PDP-OP"),
    ("threshold", "PDP-OP"),
    ("jorgensen-max", "PDP-OP"),
    ("jorgensen-mean", "jorgensen-max"),
)
CONSTANTS = ("predict-zero", "private-mean")
COLUMNS = ("data", "sweep", "value", "lam", "method", "metric", "mean", "low", "high", "sd")

Setting = tuple[float, Split, Floats]  # penalty, data, budgets


def sweep_lambda(
    data: str,
    values: ArrayLike | None = None,
    *,
    fractions: ArrayLike = DEFAULT,
    levels: ArrayLike = LEVELS,
    draws: int = 200,
    masks: int = 64,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Expected test loss against the penalty; Tables 1, 2 and 11 to 14.

    Parameters
    ----------
    data : {"synthetic", "medical-cost"}
        One hundred people with thirty features, drawn anew for every draw; or the insurance
        records, fixed. A fifth of the people is for testing.
    values : array_like, optional
        Penalties, above 0; by default those of the tables. All share one draw of the budgets.
    fractions : array_like, shape (3,), default (0.34, 0.43, 0.23)
        Shares of conservative, medium and liberal people.
    levels : array_like, shape (3,), default (0.01, 0.2, 1.0)
        Budgets between which, and at which, they choose; see `datasets.sample_budgets`.
    draws : int, default 200
        Fresh draws of budgets, and of synthetic data.
    masks : int, default 64
        Subsets drawn for each threshold of the sampling baseline, in each draw.
    rng : numpy.random.Generator
        Source of randomness. A row does not depend on which other values are asked for.
    progress : bool, default False
        Show a bar when it takes over two seconds.

    Returns
    -------
    pandas.DataFrame
        A row for each of `data`, `sweep`, `value` (of what is swept), `method` and `metric` (both
        named as in `published`), and `lam`, the penalty. Over the draws of the expected loss, or
        of its standard deviation over the noise: `mean`, `sd`, and the 5 and 95 percent quantiles
        `low` and `high`. A method ``"a / b"`` is the ratio within each draw. Beside them stand the
        best ``"threshold"``, the constants ``"predict-zero"`` and ``"private-mean"``, and
        ``"non-private"``: least squares, or ridge with its penalty.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> frame = sweep_lambda("synthetic", [100], draws=2, rng=np.random.default_rng(0))
    >>> sorted(frame.method.unique())[:3]
    ['PDP-OP', 'jorgensen-max', 'jorgensen-max / PDP-OP']
    """
    check.choice(data, "data", DATA)
    grid = _grid(GRIDS["lambda"][data] if values is None else values)

    def losses(split: Split, draw: np.random.Generator) -> dict[tuple[str, str], Floats]:
        epsilon = sample_budgets(len(split.y), fractions=fractions, levels=levels, rng=draw)
        return _losses(split, epsilon, grid, masks, draw) | _not_private(split, grid)

    return sweep_draws("lambda", data, grid, grid, losses, draws, rng, progress)


def sweep_eps_c(
    data: str,
    values: ArrayLike | None = None,
    *,
    lam: float | None = None,
    fractions: ArrayLike = CAUTIOUS,
    eps_m: float = 0.5,
    draws: int = 200,
    masks: int = 64,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Expected test loss against the smallest budget anyone chooses; Tables 3 and 4.

    Parameters
    ----------
    data : {"synthetic", "medical-cost"}
        As in `sweep_lambda`.
    values : array_like, optional
        Lowest budgets of the conservative, at most `eps_m`; by default those of the tables.
        Budgets are drawn anew for each.
    lam : float, optional
        Penalty; by default 100 for synthetic data and 1 for medical cost.
    fractions : array_like, shape (3,), default (0.54, 0.37, 0.09)
        Shares of conservative, medium and liberal people.
    eps_m : float, default 0.5
        Highest budget of the conservative, and lowest of the medium.
    draws, masks, rng, progress
        As in `sweep_lambda`.

    Returns
    -------
    pandas.DataFrame
        As from `sweep_lambda`, without what is not private.
    """
    return _budget_sweep(
        "eps_c",
        data,
        values,
        lam,
        lambda v: (fractions, (v, eps_m, 1.0)),
        draws,
        masks,
        rng,
        progress,
    )


def sweep_eps_m(
    data: str,
    values: ArrayLike | None = None,
    *,
    lam: float | None = None,
    fractions: ArrayLike = CAUTIOUS,
    eps_c: float = 0.01,
    draws: int = 200,
    masks: int = 64,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Expected test loss against the budget between conservative and medium; Tables 5 and 6.

    Parameters
    ----------
    data : {"synthetic", "medical-cost"}
        As in `sweep_lambda`.
    values : array_like, optional
        Highest budgets of the conservative, in [`eps_c`, 1]; by default those of the tables.
    lam, fractions
        As in `sweep_eps_c`.
    eps_c : float, default 0.01
        Lowest budget of the conservative.
    draws, masks, rng, progress
        As in `sweep_lambda`.

    Returns
    -------
    pandas.DataFrame
        As from `sweep_lambda`, without what is not private.
    """
    return _budget_sweep(
        "eps_m",
        data,
        values,
        lam,
        lambda v: (fractions, (eps_c, v, 1.0)),
        draws,
        masks,
        rng,
        progress,
    )


def sweep_f_c(
    data: str,
    values: ArrayLike | None = None,
    *,
    lam: float | None = None,
    f_m: float = 0.37,
    levels: ArrayLike = LEVELS,
    draws: int = 200,
    masks: int = 64,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Expected test loss against the share of conservative people; Tables 7 and 8.

    Parameters
    ----------
    data : {"synthetic", "medical-cost"}
        As in `sweep_lambda`.
    values : array_like, optional
        Shares of conservative people, below 1 - `f_m`; by default those of the tables.
    lam : float, optional
        As in `sweep_eps_c`.
    f_m : float, default 0.37
        Share of medium people; the rest is liberal.
    levels : array_like, shape (3,), default (0.01, 0.2, 1.0)
        As in `sweep_lambda`.
    draws, masks, rng, progress
        As in `sweep_lambda`.

    Returns
    -------
    pandas.DataFrame
        As from `sweep_lambda`, without what is not private.
    """
    return _budget_sweep(
        "f_c",
        data,
        values,
        lam,
        lambda v: ((v, f_m, 1 - f_m - v), levels),
        draws,
        masks,
        rng,
        progress,
    )


def sweep_n(
    data: str,
    values: ArrayLike | None = None,
    *,
    lam: float | None = None,
    fractions: ArrayLike = DEFAULT,
    levels: ArrayLike = LEVELS,
    draws: int = 200,
    masks: int = 64,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Expected test loss against the share of the training people used; Tables 9 and 10.

    Parameters
    ----------
    data : {"synthetic", "medical-cost"}
        As in `sweep_lambda`. The test people stay the same.
    values : array_like, optional
        Shares of the training people, in (0, 1]; by default those of the tables.
    lam : float, optional
        As in `sweep_eps_c`.
    levels : array_like, shape (3,), default (0.01, 0.2, 1.0)
        As in `sweep_lambda`.
    fractions : array_like, shape (3,), default (0.34, 0.43, 0.23)
        As in `sweep_lambda`. Table 9 was made with shares of .54, .37 and .09, whatever its
        caption says.
    draws, masks, rng, progress
        As in `sweep_lambda`.

    Returns
    -------
    pandas.DataFrame
        As from `sweep_lambda`, without what is not private.
    """
    return _budget_sweep(
        "train_fraction",
        data,
        values,
        lam,
        lambda v: (fractions, levels),
        draws,
        masks,
        rng,
        progress,
    )


def _budget_sweep(
    sweep: str,
    data: str,
    values: ArrayLike | None,
    lam: float | None,
    profile: Callable[[float], tuple[ArrayLike, ArrayLike]],
    draws: int,
    masks: int,
    rng: np.random.Generator,
    progress: bool,
) -> pd.DataFrame:
    """Sweep a property of the crowd at one penalty: fresh budgets for every value."""
    check.choice(data, "data", DATA)
    grid = _grid(GRIDS[sweep] if values is None else values)
    penalty = _grid(PENALTY[data] if lam is None else lam)

    def losses(split: Split, draw: np.random.Generator) -> dict[tuple[str, str], Floats]:
        seed, rows = int(draw.integers(2**62)), []
        for value in grid:
            own = np.random.default_rng([seed, round(1e9 * value)])
            fractions, levels = profile(float(value))
            part = share_of(split, data, value) if sweep == "train_fraction" else split
            epsilon = sample_budgets(len(part.y), fractions=fractions, levels=levels, rng=own)
            rows.append(_losses(part, epsilon, penalty, masks, own))
        return {key: np.concatenate([row[key] for row in rows]) for key in rows[0]}

    return sweep_draws(sweep, data, grid, penalty[0], losses, draws, rng, progress)


def sweep_draws(
    sweep: str,
    data: str,
    grid: Floats,
    lam: Floats,
    losses: Callable[[Split, np.random.Generator], dict[tuple[str, str], Floats]],
    draws: int,
    rng: np.random.Generator,
    progress: bool,
) -> pd.DataFrame:
    """Series over fresh draws of data and budgets: a row each, with its band."""
    draws, rng = check.count(draws, "draws"), check.rng(rng)
    children: Iterable[np.random.Generator] = rng.spawn(draws)
    if progress:
        from tqdm import tqdm

        children = tqdm(children, desc=f"{sweep}, {data}", delay=2.0)
    with threadpool_limits(1):  # the matrices are small: threads would only wait for each other
        rows = [losses(split_of(data, child), child) for child in children]
    methods, metrics = zip(*rows[0], strict=True)
    cells = np.array([list(row.values()) for row in rows]).reshape(draws, -1)
    low, high = np.quantile(cells, [0.05, 0.95], axis=0)
    found = {
        "data": data,
        "sweep": sweep,
        "value": np.tile(grid, len(methods)),
        "lam": np.tile(np.broadcast_to(lam, grid.shape), len(methods)),
        "method": np.repeat(methods, len(grid)),
        "metric": np.repeat(metrics, len(grid)),
        "mean": cells.mean(axis=0),
        "low": low,
        "high": high,
        "sd": cells.std(axis=0),
    }
    return pd.DataFrame(found)[list(COLUMNS)]


def _losses(
    split: Split, epsilon: Floats, lams: Floats, masks: int, rng: np.random.Generator
) -> dict[tuple[str, str], Floats]:
    """Every series of one draw: methods, ratios of methods, constants."""
    table = test_losses(split, epsilon, lams, masks=check.count(masks, "masks"), rng=rng)
    found = {
        (method, metric): table[i, j]
        for i, method in enumerate(METHODS)
        for j, metric in enumerate(METRICS[:2] if method == "threshold" else METRICS)
    }
    for above, below in RATIOS:
        for metric in METRICS if above.startswith("jorgensen") else METRICS[:2]:
            found[f"{above} / {below}", metric] = found[above, metric] / found[below, metric]
    law = PersonalizedMean().output_law(split.X, split.y, epsilon=epsilon)
    plain, ones = METRICS[0], np.ones((len(split.y_test), 1))
    constant = loss_moments(ones, split.y_test, law.center, law.eta).mean
    for method, loss in zip(CONSTANTS, (split.test_gram[2], constant), strict=True):
        found[method, plain] = np.full(len(lams), loss)
    return found


def _not_private(split: Split, lams: Floats) -> dict[tuple[str, str], Floats]:
    """Shortest least squares for the plain loss, ridge for the penalized one."""

    def loss(theta: NDArray[Any], lam: float) -> float:
        return float(np.mean((split.y_test - split.X_test @ theta) ** 2) + lam * theta @ theta)

    least = loss(np.linalg.lstsq(split.X, split.y, rcond=None)[0], 0.0)
    ridge = [loss(weighted_ridge(split.X, split.y, lam), lam) for lam in lams]
    return {
        ("non-private", METRICS[0]): np.full(len(lams), least),
        ("non-private", METRICS[1]): np.array(ridge),
    }


def _grid(values: ArrayLike) -> Floats:
    return np.atleast_1d(np.asarray(check.positive(values, "values"), dtype=float))
