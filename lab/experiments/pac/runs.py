"""Many repeats at once of the releases that the experiments of PAC privacy compare.

DP-SGD for several noise levels side by side, the repaired release at every ceiling from
one calibration, and the printed noise. What is swept is in `sweeps`. Not private: pools are known.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lab.chapters import PrintedMoments, pac_design, printed_noise
from pdpbook import Floats, check
from pdpbook.pac import (
    CalibratedRelease,
    Pool,
    conditional_success_rate,
    success_rate_to_snr,
    whitener,
)

Masks = NDArray[np.bool_]

DATA = ("lenses", "concrete-slump", "automobile")  #: the pools of Yang (2024)
OTHERS = ("automobile, text", "automobile, fifteen")  #: other columns of the automobiles
CONSTANT = 1e-9  # labels whose variance is below this share of the pool's are all the same


@dataclass(frozen=True, eq=False)
class Scores:
    """Errors of released weights, one a repeat."""

    rmse: Floats  #: root mean squared error
    r2: Floats  #: one minus mean squared error over variance of the labels; NaN if they are equal


def pool_of(name: str, *, raw: bool = False) -> tuple[Floats, Floats]:
    """Features and label of one pool of Yang (2024), from the original table.

    Parameters
    ----------
    name : str
        As for `chapters.pac_design`: one of `DATA`, or of `OTHERS` for other columns of the cars.
    raw : bool, default False
        Whether to leave the columns in their own units; by default each has mean 0 and deviation
        1.

    Returns
    -------
    X : ndarray, shape (n, d)
        Without a constant.
    y : ndarray, shape (n,)
        The label.

    Raises
    ------
    ValueError
        If `name` is unknown.
    """
    X, y = pac_design(check.choice(name, "name", DATA + OTHERS), raw=raw)
    return X.to_numpy(), y.to_numpy()


def scores(weights: ArrayLike, X: ArrayLike, y: ArrayLike, rows: ArrayLike | None = None) -> Scores:
    """Score released weights on a pool, or each on its own rows.

    Parameters
    ----------
    weights : array_like, shape (..., R, d + 1)
        Coefficients, intercept last; R repeats.
    X : array_like, shape (n, d)
        Features.
    y : array_like, shape (n,)
        Labels.
    rows : array_like of bool, shape (R, n), optional
        Which rows count in each repeat; by default all.

    Returns
    -------
    Scores
        Arrays of shape (..., R).
    """
    theta, X, y = np.asarray(weights, dtype=float), np.asarray(X), np.asarray(y)
    on = np.ones((theta.shape[-2], len(y))) if rows is None else np.asarray(rows, dtype=float)
    size = on.sum(axis=-1)
    squares = (theta[..., :-1] @ X.T + theta[..., -1:] - y) ** 2
    mse = np.einsum("...rn,rn->...r", squares, on) / size
    variance = on @ y**2 / size - (on @ y / size) ** 2
    variance = np.where(variance > CONSTANT * np.var(y), variance, np.nan)
    return Scores(np.sqrt(mse), 1 - mse / variance)


def dpsgd_weights(
    X: ArrayLike,
    y: ArrayLike,
    noise_multipliers: ArrayLike,
    *,
    sample_rate: float,
    divisor: float,
    learning_rate: float,
    clip_norm: float,
    steps: int,
    members: ArrayLike | None = None,
    first: ArrayLike | None = None,
    repeats: int = 50,
    rng: np.random.Generator,
) -> Floats:
    r"""Last iterates of DP-SGD from zero, for several noise levels and many repeats.

    The algorithm of `gradient.DPSGDLaw` with an intercept, on rows as they are: only the clipping
    bounds what a person does, so no domain is needed. All noise levels share batches and noise.

    Parameters
    ----------
    X : array_like, shape (n, d)
        Features.
    y : array_like, shape (n,)
        Labels.
    noise_multipliers : array_like, shape (S,)
        :math:`\sigma`, at least 0; 0 is not private.
    sample_rate : float
        Probability q with which a member is in a batch, above 0 and at most 1.
    divisor : float
        Public number b by which the noisy sum is divided.
    learning_rate, clip_norm : float
        :math:`\gamma` and C, above 0.
    steps : int
        Number of steps T.
    members : array_like of bool, shape (R, n), optional
        Who is in the data of each repeat; by default everybody.
    first : array_like, shape (R, d + 1), optional
        Weights that each repeat starts from; by default zero.
    repeats : int, default 50
        R, where `members` is not given.
    rng : numpy.random.Generator
        Source of batches and noise.

    Returns
    -------
    ndarray, shape (S, R, d + 1)
        Released weights, intercept last.

    Notes
    -----
    Algorithm ``alg-dpsgd``, chapter *pac/dpsgd*.
    """
    check.rng(rng)
    X, y = np.asarray(X, dtype=float), np.asarray(y, dtype=float)
    sigmas = np.atleast_1d(np.asarray(noise_multipliers, dtype=float))[:, None, None]
    if not np.all((sigmas >= 0) & (sigmas < np.inf)):
        raise ValueError("noise_multipliers must be finite and at least 0")
    for name, number in (("divisor", divisor), ("learning_rate", learning_rate)):
        check.positive(number, name)
    Z = np.column_stack([X, np.ones(len(X))])
    twice = 2 * np.linalg.norm(Z, axis=1)
    full = np.ones((check.count(repeats, "repeats"), len(y)), dtype=bool)
    present = full if members is None else np.asarray(members)
    theta = np.zeros((len(sigmas), len(present), Z.shape[1]))
    if first is not None:
        theta += np.asarray(first, dtype=float)
    for _ in range(check.count(steps, "steps")):
        batch = present & (rng.random(present.shape) < sample_rate)
        residual = theta @ Z.T - y
        length = twice * np.abs(residual)
        pull = (batch * residual * (2 * clip_norm / np.maximum(length, clip_norm))) @ Z
        noise = clip_norm * rng.standard_normal((len(present), Z.shape[1]))
        theta -= (learning_rate / divisor) * (pull + sigmas * noise)
    return theta


def rescaled(release: CalibratedRelease, rates: ArrayLike, to: str) -> Floats:
    """Covariances for other ceilings, from a release that was calibrated for one.

    Everything about the noise but its level is the same at every ceiling: the level is one over the
    mean squared distance that the ceiling allows, failures of the simulation counted.

    Parameters
    ----------
    release : CalibratedRelease
        For a prior of one half.
    rates : array_like, shape (S,)
        Ceilings wanted, in (0.5, 1) and above what its confidence leaves.
    to : {"mi", "tv"}
        How they are spent.

    Returns
    -------
    ndarray, shape (S, p, p)
        One for each of `rates`.
    """
    known = release.certificate
    inner = conditional_success_rate(np.atleast_1d(rates), known.confidence)
    factor = known.target / success_rate_to_snr(inner, to)
    return np.asarray(factor[:, None, None] * release.covariance)


def pac_weights(
    release: CalibratedRelease, covariances: Floats, *, repeats: int = 50, rng: np.random.Generator
) -> tuple[Floats, Masks]:
    """Releases of fresh secret halves, each with the noise of several levels.

    Parameters
    ----------
    release : CalibratedRelease
        Pool and clipping.
    covariances : ndarray, shape (S, p, p)
        Of the noise, as from `rescaled`; all of them multiples of one.
    repeats : int, default 50
        R, number of halves.
    rng : numpy.random.Generator
        Source of halves and noise.

    Returns
    -------
    weights : ndarray, shape (S, R, p)
        All levels share halves and noise.
    halves : ndarray of bool, shape (R, n)
        The secrets, for scoring on the half.
    """
    halves = release.pool.sample(check.count(repeats, "repeats"), release.sample_rate, rng)
    centers = np.array([release.center(half) for half in halves])
    return _noisy(centers, covariances, rng), halves


def printed_weights(
    pool: Pool,
    moments: PrintedMoments,
    rates: ArrayLike,
    *,
    read_as: str = "deviation",
    trained_on: str = "half",
    repeats: int = 50,
    rng: np.random.Generator,
) -> tuple[Floats, Masks]:
    """What the printed procedure releases, at several ceilings: nothing is clipped, much is bare.

    Parameters
    ----------
    pool : Pool
        Pool and model.
    moments : PrintedMoments
        As the printed loop leaves them.
    rates : array_like, shape (S,)
        Ceilings that were aimed at.
    read_as : {"variance", "deviation"}, default "deviation"
        As in `printed_noise`: the paper's formula, or the public code.
    trained_on : {"half", "pool"}, default "half"
        Whether each release trains on a fresh half, or all of them on everybody, where no half is
        hidden.
    repeats : int, default 50
        R, number of releases.
    rng : numpy.random.Generator
        Source of halves and noise.

    Returns
    -------
    weights : ndarray, shape (S, R, p)
        All ceilings share halves and noise.
    halves : ndarray of bool, shape (R, n)
        Who was trained on.
    """
    check.rng(rng)
    everybody = check.choice(trained_on, "trained_on", ("half", "pool")) == "pool"
    rate = 1.0 if everybody else 0.5
    halves = pool.sample(check.count(repeats, "repeats"), rate, rng)
    centers = np.array([pool.refit(half) for half in (halves[:1] if everybody else halves)])
    centers = np.broadcast_to(centers, (repeats, pool.p))
    second, basis = moments.second, moments.basis
    covariances = np.array(
        [
            printed_noise(second, basis, rate, read_as=read_as).covariance
            for rate in np.atleast_1d(rates)
        ]
    )
    return _noisy(centers, covariances, rng), halves


def _noisy(centers: Floats, covariances: Floats, rng: np.random.Generator) -> Floats:
    normal = rng.standard_normal(centers.shape)
    backs = [_padded(covariance) for covariance in covariances]
    return np.array([centers + normal @ back.T for back in backs])


def _padded(covariance: Floats) -> Floats:
    """A square root whose columns are as many as the weights, some of them zero."""
    root = whitener(covariance)[1]
    return np.pad(root, ((0, 0), (0, len(root) - root.shape[1])))
