"""Expected errors of label-private regression per user: optimal weights against limits on rows.

Nothing is simulated but data and the choice of rows: Laplace noise is averaged exactly. Not
private.
"""

from collections.abc import Iterable, Sequence
from itertools import product
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray
from threadpoolctl import threadpool_limits  # type: ignore[import-untyped]

from lab.experiments.user_problems import USER_DATA, Problem, user_problem
from pdpbook import Floats, check
from pdpbook.gwa import exact_sensitivity, gwa_weights, prediction_root
from pdpbook.users import Users
from pdpbook.users import places as places_by_keys

USER_METHODS = (
    "GWA",
    "GWA, predictions",
    "limit, max",
    "limit, oracle",
    "limit, rule",
    "limit, exact oracle",
    "limit, exact rule",
    "private mean",
    "middle",
    "not private",
)
#: values of the synthetic study
USER_GRIDS: dict[str, tuple[float, ...]] = {
    "n": (600, 1000, 2000, 3000),
    "alpha": (1.1, 1.3, 1.5, 1.7, 2.0),
    "epsilon": (1.0, 2.0, 3.0),
}
RATIOS = (
    ("limit, oracle", "GWA"),
    ("limit, rule", "GWA"),
    ("limit, exact oracle", "GWA"),
    ("limit, max", "GWA"),
    ("limit, rule", "limit, oracle"),
)
KEYS = ("data", "design", "width", "n", "alpha", "epsilon", "method")
ALL_UP_TO, THRESHOLDS = 32, 64  # limits tried: all small ones, then a geometric grid


def noisy_loss(X: ArrayLike, y: ArrayLike, theta: ArrayLike, scale: float) -> tuple[float, float]:
    r"""Mean squared prediction error of a coefficient vector under Laplace noise, averaged exactly.

    With independent :math:`W_j\sim\mathrm{Lap}(b)`, :math:`G=X^\top X/n`, and
    :math:`g=X^\top(y-X\theta)/n`,

    .. math:: &\mathbb E\,\tfrac1n\|y-X(\theta+W)\|^2
              = \tfrac1n\|y-X\theta\|^2 + 2b^2\operatorname{tr}G ,\\
              &\mathrm{Var} = 8b^2\|g\|^2
              + b^4\Bigl(8\|G\|_F^2 + 12\sum_jG_{jj}^2\Bigr) .

    Parameters
    ----------
    X : array_like, shape (n, d)
        Rows to predict; where the noise meets a transform of the coefficients, that transform
        multiplied in.
    y : array_like, shape (n,)
        Their labels.
    theta : array_like, shape (d,)
        What is released without its noise.
    scale : float
        Laplace scale b, at least 0.

    Returns
    -------
    (float, float)
        Mean and standard deviation over the noise.

    Notes
    -----
    Chapter *papers/users*.

    Examples
    --------
    >>> noisy_loss([[1.0]], [0.0], [0.0], 1.0)[0]
    2.0
    """
    rows, labels = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    b2 = float(np.asarray(check.nonnegative(scale, "scale"))) ** 2
    rest = labels - rows @ np.asarray(theta, dtype=float)
    G, g = rows.T @ rows / len(rows), rows.T @ rest / len(rows)
    mean = rest @ rest / len(rows) + 2 * b2 * np.trace(G)
    variance = 8 * b2 * g @ g + b2**2 * (8 * np.sum(G**2) + 12 * np.sum(np.diag(G) ** 2))
    return float(mean), float(np.sqrt(variance))


def user_losses(
    problem: Problem,
    epsilon: ArrayLike,
    *,
    rng: np.random.Generator,
    methods: Sequence[str] = USER_METHODS,
) -> pd.DataFrame:
    r"""Expected prediction error of every method on one problem, in sample.

    "GWA" has the weights of least variance of the coefficients, "GWA, predictions" of the
    predictions. A limit keeps h rows a user and fits least squares: h is the largest there is
    ("max"), the one of least expected error (an "oracle", NOT private) or the one of least
    variance (the "rule", public). "exact" noise follows the exact sensitivity. Beside them stand
    the weighted mean with Laplace noise, the middle of the bounds, and least squares.

    Parameters
    ----------
    problem : Problem
        Data and bounds.
    epsilon : array_like
        Budgets in nats, each the same for all users; a number or shape (E,).
    rng : numpy.random.Generator
        Chooses the rows that limited users keep, once for all limits.
    methods : sequence of str, default USER_METHODS
        Some of `USER_METHODS`.

    Returns
    -------
    pandas.DataFrame
        A row for each of `epsilon` and `method`: over the noise, `mean` and `noise_sd` of the mean
        squared error; and `threshold`, the rows that a user keeps at most (NaN without limit).
    """
    budgets = np.atleast_1d(np.asarray(check.positive(epsilon, "epsilon"), dtype=float))
    for method in methods:
        check.choice(method, "method", USER_METHODS)
    rng = check.rng(rng)
    rows = _unlimited(problem, budgets, methods)
    if any(name.startswith("limit") for name in methods):
        exact = any("exact" in name for name in methods)
        rows += _limited(problem, budgets, places(problem.users, rng), exact=exact)
    frame = pd.DataFrame(rows, columns=["epsilon", "method", "mean", "noise_sd", "threshold"])
    return frame[frame["method"].isin(methods)].reset_index(drop=True)


def _unlimited(problem: Problem, budgets: Floats, methods: Sequence[str]) -> list[tuple[Any, ...]]:
    """GWA for coefficients and for predictions, a mean, and what needs no noise."""
    X, y = problem.X, problem.y
    least = np.linalg.lstsq(X, y, rcond=None)[0]
    middle = float(np.mean((y - sum(problem.bounds) / 2) ** 2))
    rows: list[tuple[Any, ...]] = []
    for eps in budgets:
        rows.append((eps, "middle", middle, 0.0, np.nan))
        rows.append((eps, "not private", *noisy_loss(X, y, least, 0.0), np.nan))
    root = prediction_root(X)
    for name, Z, target, sigma2 in (
        ("GWA", X, np.eye(X.shape[1]), problem.sigma2),
        ("GWA, predictions", X, root, problem.sigma2),
        ("private mean", np.ones((len(y), 1)), np.eye(1), problem.width**2 / 12),
    ):
        if name not in methods:
            continue
        seen = Z @ np.linalg.inv(target)
        for eps in budgets:
            found = gwa_weights(
                Z,
                problem.users.codes,
                sigma2=sigma2,
                epsilon=eps,
                width=problem.width,
                target=target,
            )
            rows.append((eps, name, *noisy_loss(seen, y, found.C @ y, found.scale), np.nan))
    return rows


def places(users: Users, rng: np.random.Generator) -> NDArray[np.intp]:
    """Place 0, 1, ... of every row among those of its user, in random order.

    Parameters
    ----------
    users : Users
        Owners of the rows.
    rng : numpy.random.Generator
        Source of the order.

    Returns
    -------
    ndarray of int, shape (n,)
        The places.
    """
    return places_by_keys(users.codes, np.argsort(rng.permutation(len(users.codes))))


def _limited(
    problem: Problem, budgets: Floats, place: NDArray[np.intp], *, exact: bool
) -> list[tuple[Any, ...]]:
    """Least squares on limited users: every threshold once, then the best for every budget."""
    X, y, codes = problem.X, problem.y, problem.users.codes
    d, trace = X.shape[1], 2 * float(np.mean(np.sum(X**2, axis=1)))
    tried: list[tuple[Any, ...]] = []
    for h in limits(int(problem.users.sizes.max())):
        kept = place < h
        left, values, right = np.linalg.svd(X[kept], full_matrices=False)
        if len(values) < d or not values[-1] > 1e-10 * values[0]:
            continue  # no unbiased estimate from these rows
        C = (right.T / values) @ left.T
        theta = C @ y[kept]
        entrywise = float(np.bincount(codes[kept], np.abs(C).sum(axis=0)).max())
        sharpest = float(exact_sensitivity(C, codes[kept]).max()) if exact else np.nan
        misfit = float(np.mean((y - X @ theta) ** 2))
        variance = problem.sigma2 * float(np.sum(C**2))
        tried.append((h, theta, misfit, variance, entrywise, sharpest))
    kept_rows, fits, misfits, spread, summed, least = (
        np.array(part) for part in zip(*tried, strict=True)
    )
    rows: list[tuple[Any, ...]] = []
    for eps in budgets:
        scale, less = problem.width * summed / eps, problem.width * least / eps
        chosen: dict[str, tuple[Floats, Any]] = {
            "limit, max": (scale, -1),
            "limit, oracle": (scale, np.argmin(misfits + trace * scale**2)),
            "limit, rule": (scale, np.argmin(spread + 2 * d * scale**2)),
        }
        if exact:
            chosen["limit, exact oracle"] = (less, np.argmin(misfits + trace * less**2))
            chosen["limit, exact rule"] = (less, np.argmin(spread + 2 * d * less**2))
        for name, (b, k) in chosen.items():
            rows.append((eps, name, *noisy_loss(X, y, fits[k], b[k]), float(kept_rows[k])))
    return rows


def limits(largest: int) -> NDArray[np.intp]:
    """Thresholds that are tried: 1 to 32, then a geometric grid up to the largest."""
    if largest <= ALL_UP_TO:
        return np.arange(1, largest + 1)
    far = np.geomspace(ALL_UP_TO, largest, THRESHOLDS - ALL_UP_TO + 1).round().astype(np.intp)
    return np.union1d(np.arange(1, ALL_UP_TO + 1), far)


def sweep_users(
    data: str,
    *,
    n: ArrayLike = USER_GRIDS["n"],
    alpha: ArrayLike = USER_GRIDS["alpha"],
    epsilon: ArrayLike = USER_GRIDS["epsilon"],
    design: str = "standardized",
    width: str = "data",
    methods: Sequence[str] = USER_METHODS,
    draws: int = 10,
    rng: np.random.Generator,
    progress: bool = False,
) -> pd.DataFrame:
    """Expected prediction errors over repeats; Figures 1 and 2 and Table 1 of Epasto et al. (2020).

    Parameters
    ----------
    data : {"synthetic", "druglib", "automobile"}
        As in `user_problem`; a repeat draws synthetic data and users anew, and the rows that
        limited users keep.
    n : array_like, default (600, 1000, 2000, 3000)
        Rows of synthetic data; of no use for the real.
    alpha : array_like, default (1.1, 1.3, 1.5, 1.7, 2.0)
        Their Zipf exponents, each with every `n`.
    epsilon : array_like, default (1.0, 2.0, 3.0)
        Budgets in nats.
    design : str, default "standardized"
        As in `user_problem`.
    width : str, default "data"
        As in `user_problem`.
    methods : sequence of str, default USER_METHODS
        Some of `USER_METHODS`.
    draws : int, default 10
        Repeats.
    rng : numpy.random.Generator
        Source of randomness. A row does not depend on which other values are asked for.
    progress : bool, default False
        Show a bar when it takes over two seconds.

    Returns
    -------
    pandas.DataFrame
        A row for each setting and `method`: `users` (mean number), then over repeats the `mean`,
        smallest (`low`), largest (`high`) and standard deviation (`sd`) of the expected error,
        the mean `noise_sd`, and the median `threshold`. A method ``"a / b"`` is the ratio within
        each repeat.

    Notes
    -----
    Chapter *papers/users*. `design` reads "plain" for data that have no readings.

    Examples
    --------
    >>> frame = sweep_users("synthetic", n=60, alpha=2.0, epsilon=1.0, draws=2,
    ...                     methods=["GWA", "limit, max"], rng=np.random.default_rng(0))
    >>> frame["method"].tolist()
    ['GWA', 'limit, max', 'limit, max / GWA']
    """
    check.choice(data, "data", USER_DATA)
    draws, rng = check.count(draws, "draws"), check.rng(rng)
    cells: list[tuple[Any, float]] = [(None, np.nan)]
    if data == "synthetic":
        sizes = [check.count(size, "n") for size in np.atleast_1d(np.asarray(n)).tolist()]
        exponents = np.atleast_1d(np.asarray(check.positive(alpha, "alpha"), dtype=float))
        cells = list(product(sizes, exponents.tolist()))
    repeats: Iterable[tuple[np.random.Generator, tuple[Any, float]]]
    repeats = list(product(rng.spawn(draws), cells))
    if progress:
        from tqdm import tqdm

        repeats = tqdm(repeats, desc=f"users, {data}", delay=2.0)
    limited = [name for name in methods if name.startswith("limit")]
    frames: list[pd.DataFrame] = []
    with threadpool_limits(1):  # the matrices are small: threads would only wait for each other
        for child, (size, exponent) in repeats:
            # every setting begins at the same place of the repeat's own stream
            own = np.random.default_rng(child.bit_generator.seed_seq)  # type: ignore[arg-type]
            if size is not None:
                problem = user_problem(data, n=size, alpha=exponent, width=width, rng=own)
                found = user_losses(problem, epsilon, rng=own, methods=methods)
            elif not frames:
                problem = user_problem(data, design=design, width=width, rng=own)
                found = user_losses(problem, epsilon, rng=own, methods=methods)
                fixed = found[~found["method"].str.startswith("limit")]
            else:  # of real data, only the rows that are kept differ
                found = user_losses(problem, epsilon, rng=own, methods=limited)
                found = pd.concat([fixed, found], ignore_index=True)
            found = pd.concat([found, *_ratios(found)], ignore_index=True)
            frames.append(
                found.assign(n=len(problem.y), alpha=exponent, users=len(problem.users.labels))
            )
    every = pd.concat(frames).assign(
        data=data, width=width, design=design if data == "druglib" else "plain"
    )
    groups = every.groupby(list(KEYS), sort=False, dropna=False)
    table = groups.agg(
        users=("users", "mean"),
        mean=("mean", "mean"),
        low=("mean", "min"),
        high=("mean", "max"),
        sd=("mean", lambda v: np.std(v)),
        noise_sd=("noise_sd", "mean"),
        threshold=("threshold", "median"),
    )
    return table.reset_index()


def _ratios(found: pd.DataFrame) -> list[pd.DataFrame]:
    """Ratios of two methods at every budget."""
    wide = found.pivot(index="epsilon", columns="method", values="mean")
    return [
        (wide[above] / wide[below])
        .rename("mean")
        .reset_index()
        .assign(method=f"{above} / {below}", noise_sd=np.nan, threshold=np.nan)
        for above, below in RATIOS
        if above in wide and below in wide
    ]
