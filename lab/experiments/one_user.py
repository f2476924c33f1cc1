"""The algorithm that Theorem 4 of Epasto et al. (2020) names, beside full gradients.

Algorithm 1 of Bassily, Smith and Thakurta (2014) on losses of users: m squared noisy steps, each
with the gradient of one user. Both run on the clubs of chapter *user_level/erm*, with the logistic
loss, the same weights and the same budget. Not private: exact losses are compared.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import dp_accounting
import numpy as np
import pandas as pd
from dp_accounting import rdp
from scipy.optimize import brentq

from lab.tables import versions, write_table
from pdpbook import Floats
from pdpbook.noise import gaussian_mu

SEED = 7
BUDGET, DELTA, RADIUS = 1.0, 1e-6, 2.0
RECORDS = (1, 2, 3, 6, 40)  # of the five groups
TRUTH = np.array([-0.3, 1.5, -1.0])
KINDS = np.array([(1, a, b) for a in (-1, -0.5, 0, 0.5, 1) for b in (-1, 0, 1)]) / np.sqrt(3)
OFTEN = 1 / (1 + np.exp(-KINDS @ TRUTH))
FILE = Path("book/user_level/results/one_user.csv")


def excess(theta: Floats) -> Floats:
    """Expected logistic loss above the least possible, for each row of coefficients."""

    def risk(z: Floats) -> Floats:
        out = np.logaddexp(0, -z) * OFTEN + np.logaddexp(0, z) * (1 - OFTEN)
        return np.asarray(out.mean(axis=-1))

    return risk(theta @ KINDS.T) - risk(KINDS @ TRUTH)


def club(members: int, rng: np.random.Generator) -> tuple[Floats, Floats]:
    """For each member the shares of records of each kind, and of those with the label 1."""
    sizes = np.repeat(RECORDS, members // 5)
    owner = np.repeat(np.arange(members), sizes)
    kind = rng.integers(0, len(KINDS), len(owner))
    good = rng.random(len(owner)) < OFTEN[kind]
    shares, marks = np.zeros((2, members, len(KINDS)))
    np.add.at(shares, (owner, kind), 1)
    np.add.at(marks, (owner, kind), good)
    return shares / sizes[:, None], marks / sizes[:, None]


def weights(members: int, level: int) -> Floats:
    """Weights in proportion to the records, up to a level."""
    capped = np.minimum(np.repeat(RECORDS, members // 5), level)
    return np.asarray(capped / capped.sum())


def renyi_epsilon(members: int, z: float) -> float:
    """What a Renyi account of samples of one user proves for replaced users.

    The noise z is in units of the largest move of one step.
    """
    relation = dp_accounting.NeighboringRelation.REPLACE_ONE
    account = rdp.RdpAccountant(neighboring_relation=relation)
    step = dp_accounting.GaussianDpEvent(z)
    event = dp_accounting.SampledWithoutReplacementDpEvent(members, 1, step)
    return float(account.compose(event, members**2).get_epsilon(DELTA))


def multipliers(members: int) -> dict[str, float]:
    """Standard deviation of the noise over the largest move of one step.

    As printed, and the limit for many steps, below which no account can get.
    """
    logs = np.log(members / DELTA) * np.log(1 / DELTA)
    return {
        "printed": float(np.sqrt(32 * logs) / BUDGET / 2),
        "limit": 1 / float(gaussian_mu(BUDGET, DELTA)),
    }


def renyi_multiplier(members: int) -> float:
    """Return the least noise for which `renyi_epsilon` is the budget, up to a thousandth."""
    return float(brentq(lambda z: renyi_epsilon(members, z) - BUDGET, 3, 60, xtol=1e-3))


def one_user_steps(
    clubs: Sequence[tuple[Floats, Floats]], w: Floats, z: float, rng: np.random.Generator
) -> Floats:
    """Last of m squared noisy steps with the gradient of one user each, a run for each club.

    The gradient of the user is multiplied by the number m of users, so that it is right on
    average; one user moves it by at most twice m times the largest weight.
    """
    shares, marks = (np.array(part) for part in zip(*clubs, strict=True))
    m, runs, marks = len(w), np.arange(len(clubs)), marks @ KINDS
    reach = m * w.max()
    sigma, minus = 2 * z * reach, np.ascontiguousarray(-KINDS.T)
    length = np.sqrt(reach**2 + len(TRUTH) * sigma**2)
    theta = np.zeros((len(runs), len(TRUTH)))
    for start in range(0, m * m, m):
        rate = 2 * RADIUS / length / np.sqrt(np.arange(start + 1, start + m + 1))[:, None, None]
        user = rng.integers(0, m, (m, len(runs)))
        scale = rate * m * w[user][..., None]
        noise = sigma * rng.standard_normal((m, len(runs), len(TRUTH)))
        pull, push = scale * shares[runs, user], scale * marks[runs, user] - rate * noise
        for a, b in zip(pull, push, strict=True):
            theta += b - a / (1 + np.exp(theta @ minus)) @ KINDS
            far = np.sqrt((theta * theta).sum(axis=1, keepdims=True))
            theta *= RADIUS / np.maximum(far, RADIUS)
    return theta


def full_gradients(
    clubs: Sequence[tuple[Floats, Floats]], w: Floats, rng: np.random.Generator
) -> tuple[Floats, int, float]:
    """Averages of noisy steps with the gradients of all users, a run for each club.

    As `WeightedGradientDescent` with ``accounting="gaussian"`` takes them, at most 1,000; with the
    number of steps and the bound on the weighted loss. No gradient is long enough to be cut.
    """
    mu, d = float(gaussian_mu(BUDGET, DELTA)), len(TRUTH)
    steps = min(1000, int(np.ceil(mu**2 / (4 * d * w.max() ** 2))))
    sigma = 2 * w.max() * np.sqrt(steps) / mu
    length = np.sqrt((1 + d * sigma**2) / (steps + 1))
    shares, marks = (np.array([w @ part for part in parts]) for parts in zip(*clubs, strict=True))
    theta, total = np.zeros((2, len(clubs), d))
    for _ in range(steps):
        gradient = (shares / (1 + np.exp(-theta @ KINDS.T)) - marks) @ KINDS
        noisy = gradient + sigma * rng.standard_normal(theta.shape)
        theta = theta - RADIUS / length / (steps + 1) * noisy
        far = np.sqrt((theta * theta).sum(axis=1, keepdims=True))
        theta *= RADIUS / np.maximum(far, RADIUS)
        total += theta
    return total / (steps + 1), steps, RADIUS * float(length)


def compare(members: int, runs: int, levels: Sequence[int] = (12, 1)) -> pd.DataFrame:
    """Both algorithms on the same made-up clubs; a row for each level of the weights and noise."""
    clubs = [club(members, np.random.default_rng([SEED, k])) for k in range(runs)]
    rows = []
    for level in levels:
        w = weights(members, level)

        def row(name: str, theta: Floats, seconds: float, *told: float, h: int = level) -> None:
            found = excess(theta)
            spread = found.std(ddof=1) / np.sqrt(runs)
            rows.append((members, h, name, runs, found.mean(), spread, *told, seconds))

        start = time.process_time()
        theta, steps, bound = full_gradients(clubs, w, np.random.default_rng([SEED, 1000]))
        row("full gradients", theta, time.process_time() - start, bound, steps, steps * members)
        noises = multipliers(members) | {"Renyi": renyi_multiplier(members)}
        for name, z in noises.items():
            start = time.process_time()
            theta = one_user_steps(clubs, w, z, np.random.default_rng([SEED, 2000]))
            seconds = time.process_time() - start
            length = members * w.max() * np.sqrt(1 + 4 * len(TRUTH) * z**2)
            bound = 8 * RADIUS * (1 + np.log(members)) * length / members
            row(f"one user, {name}", theta, seconds, bound, members**2, members**2)
    names = ["members", "level", "algorithm", "runs", "excess", "error"]
    return pd.DataFrame(rows, columns=[*names, "bound", "steps", "user_gradients", "seconds"])


def main(arguments: Sequence[str]) -> int:
    """Write the table of both algorithms, for a small club and for the 980 members."""
    parser = argparse.ArgumentParser(prog="python -m lab one_user")
    parser.add_argument("--runs", type=int, default=40, help="clubs, one release each")
    parser.add_argument("--file", type=Path, default=FILE, help="where to")
    chosen = parser.parse_args(arguments)
    start = time.perf_counter()
    frames = [compare(members, chosen.runs) for members in (100, 980)]
    header = [
        "python -m lab one_user",
        f"seed: {SEED}",
        versions(pd),
        f"run time: {time.perf_counter() - start:.0f} s",
        "seconds: of one processor, for all runs side by side",
    ]
    write_table(chosen.file, header, frames)
    sys.stdout.write(f"{chosen.file}\n")
    return 0
