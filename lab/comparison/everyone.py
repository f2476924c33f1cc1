"""One crowd under the mechanisms of every part, all made to keep comparable promises.

Each entry is asked for the same budgets against *replacing* what it protects; whoever promises
something about adding or removing (or zeroing out) is run at half of them. What each person really
risks lives in `risks`. Not private: exact errors, and penalties chosen by looking at them.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from lab.comparison.crowd import Crowd, Release
from lab.comparison.drawn import (
    adaptive_posterior,
    adaptive_sums,
    clinic_fit,
    descent,
    dpsgd,
    objective,
    pac,
    sampled,
    statistics,
)
from lab.comparison.exact import clinic_mean, gwa, mean, output, posterior
from lab.comparison.sweep import DELTA
from pdpbook import Floats, check

DRAWS = 100  #: releases of a mechanism without a closed form
SEED = 7

Run = Callable[[Crowd, Floats, int, np.random.Generator], Release]


@dataclass(frozen=True)
class Entry:
    """A mechanism of the book: what it promises, whom it protects, and how it runs on a crowd."""

    promise: str  #: "pure", "delta" or "PAC"
    protects: str  #: "record", "label", "clinic", "labels of a clinic" or "membership"
    native: str  #: the relation of its theorem; add-remove and zero-out are run at half
    run: Run  #: from crowd, budgets, number of draws and generator to a release


#: every mechanism on the page, by name
ENTRIES: dict[str, Entry] = {
    "private mean": Entry("pure", "record", "replace-one", mean),
    "PDPRidge, published": Entry(
        "pure", "record", "replace-one", partial(output, proof="published")
    ),
    "PDPRidge, joint": Entry("pure", "record", "replace-one", partial(output, proof="joint")),
    "PDPRidge, Huber": Entry("pure", "record", "replace-one", partial(output, loss="huber")),
    "SampledRidge, Huber": Entry("pure", "record", "replace-one", sampled),
    "objective": Entry("pure", "record", "replace-one", objective),
    "statistics, Laplace": Entry(
        "pure", "record", "replace-one", partial(statistics, noise="laplace", centered=True)
    ),
    "PDPRidge, Huber, delta": Entry(
        "delta", "record", "replace-one", partial(output, loss="huber", delta=DELTA)
    ),
    "objective, delta": Entry("delta", "record", "replace-one", partial(objective, delta=DELTA)),
    "statistics, Gaussian": Entry(
        "delta",
        "record",
        "replace-one",
        partial(statistics, noise="gaussian", delta=DELTA),
    ),
    "gradient descent": Entry("delta", "record", "replace-one", descent),
    "OPS": Entry("delta", "record", "add-remove", posterior),
    "AdaOPS": Entry("delta", "record", "add-remove", adaptive_posterior),
    "AdaSSP": Entry("delta", "record", "add-remove", adaptive_sums),
    "DP-SGD": Entry("delta", "record", "zero-out", dpsgd),
    "GWA, Laplace": Entry("pure", "label", "user-labels", gwa),
    "GWA, Gaussian": Entry("delta", "label", "user-labels", partial(gwa, delta=DELTA)),
    "clinics, mean": Entry("pure", "clinic", "user", clinic_mean),
    "clinics, fit": Entry("delta", "clinic", "user", clinic_fit),
    "clinics, GWA": Entry(
        "delta", "labels of a clinic", "user-labels", partial(gwa, delta=DELTA, clinics=True)
    ),
    "PAC, information": Entry("PAC", "membership", "average", partial(pac, calibration="mi")),
    "PAC, variation": Entry("PAC", "membership", "average", partial(pac, calibration="tv")),
}


def compare_patients(
    crowd: Crowd,
    epsilons: ArrayLike,
    names: Sequence[str] | None = None,
    *,
    relative: ArrayLike | None = None,
    draws: int = DRAWS,
    seed: int = SEED,
) -> tuple[pd.DataFrame, dict[tuple[str, float], Release]]:
    """Error and ceiling of every mechanism on one crowd, at the same budgets.

    Parameters
    ----------
    crowd : Crowd
        People, as from `patients`.
    epsilons : array_like, shape (k,)
        Budgets in nats against replacing what the mechanism protects.
    names : sequence of str, optional
        Some of `ENTRIES`; by default all.
    relative : array_like, shape (n,), optional
        What each person's budget is multiplied by; public, as all budgets are here. Mechanisms
        with one promise for everybody are given the smallest as a number that all agreed on;
        clinics, that of their most careful patient. By default 1 for everybody.
    draws : int, default 100
        Releases of every mechanism without a closed form; three times as many for PAC privacy, a
        third for the slow ones, the fit for clinics and the sampled fit.
    seed : int, default 7
        A row depends on it, on its mechanism and on its budgets alone; who keeps the smallest
        budget for all makes the same draws whatever the others are.

    Returns
    -------
    table : pandas.DataFrame
        A row for each mechanism and budget: `mechanism`, `epsilon`, its `promise` and what it
        `protects`, the `ceiling` on guesses (the largest over people), the mean squared `error` in
        squared units of the label, the `noise_error` of it (0 where it is exact), and the penalty
        `lam` with the smallest error, found by looking: an oracle's. NaN where no penalty of the
        grid keeps the promise.
    releases : dict
        The `Release` of each pair of mechanism and budget.

    Raises
    ------
    TypeError, ValueError
        If a name is unknown or a number out of range.

    Notes
    -----
    Chapter *synthesis/one_dataset*. Not private: a study, not a release.
    """
    names = tuple(ENTRIES) if names is None else tuple(names)
    for name in names:
        check.choice(name, "names", tuple(ENTRIES))
    levels = np.atleast_1d(check.positive(epsilons, "epsilons"))
    share = check.epsilon(1.0 if relative is None else relative, len(crowd.y))
    draws, seed = check.count(draws, "draws", minimum=2), check.count(seed, "seed", minimum=0)
    rows, releases = [], {}
    for name in names:
        entry, place = ENTRIES[name], list(ENTRIES).index(name)
        for epsilon in map(float, levels):
            budgets = epsilon * share
            rng = np.random.default_rng([seed, place, round(1000 * float(budgets.min()))])
            release = entry.run(crowd, budgets, draws, rng)
            release = replace(release, ceiling=np.minimum(release.ceiling, 1.0))
            releases[name, epsilon] = release
            rows.append(
                {
                    "mechanism": name,
                    "epsilon": epsilon,
                    "promise": entry.promise,
                    "protects": entry.protects,
                    "ceiling": float(np.max(release.ceiling)),
                    "error": release.error(crowd),
                    "noise_error": release.standard_error(crowd),
                    "lam": release.lam,
                }
            )
    return pd.DataFrame(rows), releases
