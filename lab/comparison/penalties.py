"""Floor, bias and noise of one crowd's error as the penalty goes up and the noise goes down.

The parts of `prop-noise-limit`, for the regressions of the page that hide a record and have a
penalty. Not private: a study, not a release.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lab.comparison.crowd import Crowd, Release
from lab.comparison.drawn import _drawn
from lab.comparison.exact import outputs, posteriors
from lab.comparison.sweep import DELTA
from pdpbook import Floats, check
from pdpbook.guarantees import PureDP, success_rate
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.sufficient_statistics import SufficientStatisticsRidge
from pdpbook.sufficient_statistics.ridge import matrix_and_moment

SEED = 7
DRAWS = 2000  #: more than on the page's table, and the same ones for all penalties

Path = Callable[[Crowd, Floats, Sequence[float]], list[Release]]


def parts(crowd: Crowd, release: Release) -> tuple[float, float]:
    """Bias and noise of a release: with the error of least squares they add up to its error."""
    S = crowd.rows.T @ crowd.rows / len(crowd.y)
    gap = release.mean - np.linalg.lstsq(crowd.rows, crowd.y, rcond=None)[0]
    return float(gap @ S @ gap), float(np.trace(S @ release.covariance))


def by_penalty(
    crowd: Crowd, name: str, epsilon: float, penalties: ArrayLike
) -> tuple[Floats, list[Release]]:
    """Bias and noise at each penalty, and the releases; NaN where a penalty keeps no such promise.

    Penalties are against means of squares. For the posterior sample, which has one against sums,
    they are multiplied by the number of people.
    """
    path = PATHS[check.choice(name, "name", tuple(PATHS))]
    grid = [float(lam) for lam in np.atleast_1d(check.positive(penalties, "penalties"))]
    budgets = np.full(len(crowd.y), float(check.positive(epsilon, "epsilon")))
    found = path(crowd, budgets, grid)
    split = {release.lam: parts(crowd, release) for release in found}
    scale = len(crowd.y) if name == "OPS" else 1
    return np.array([split.get(scale * lam, (np.nan, np.nan)) for lam in grid]), found


def _posteriors(crowd: Crowd, budgets: Floats, penalties: Sequence[float]) -> list[Release]:
    return posteriors(crowd, budgets, [len(crowd.y) * lam for lam in penalties])


def _sums(
    crowd: Crowd, budgets: Floats, penalties: Sequence[float], **options: Any
) -> list[Release]:
    """One release of the sums serves every penalty."""
    model = SufficientStatisticsRidge(**options, **crowd.units)
    p = crowd.rows.shape[1]
    law = model.output_law(crowd.X, crowd.y, epsilon=budgets)
    pairs = [
        matrix_and_moment(model.insert_public_sums(row, p), p, model.centered)
        for row in law.sample(DRAWS, rng=np.random.default_rng(SEED))
    ]
    values, vectors = np.linalg.eigh(np.array([gram for gram, _ in pairs]))
    turned = np.einsum("kij,ki->kj", vectors, np.array([moment for _, moment in pairs]))
    ceiling, found = success_rate(model.guarantee(budgets)), []
    for lam in penalties:
        theta = np.einsum("kij,kj->ki", vectors, turned / (np.maximum(values, 0) + lam))
        found.append(_drawn(crowd, "cube", theta, ceiling, lam))
    return found


def _objectives(crowd: Crowd, budgets: Floats, penalties: Sequence[float]) -> list[Release]:
    """The same draws at every penalty, so that a curve over them is smooth."""
    found, ceiling = [], success_rate(PureDP(budgets, neighbors="replace-one"))
    for lam in penalties:
        try:
            law = ObjectivePerturbation(lam).output_law(*crowd.cube, epsilon=budgets)
        except ValueError:  # a penalty that is too small for these budgets
            continue
        table = law.sample(DRAWS, rng=np.random.default_rng(SEED))
        found.append(_drawn(crowd, "cube", table, ceiling, lam))
    return found


#: regressions that hide a record and have a penalty
PATHS: dict[str, Path] = {
    "PDPRidge, published": partial(outputs, proof="published"),
    "PDPRidge, joint": partial(outputs, proof="joint"),
    "PDPRidge, Huber": partial(outputs, loss="huber"),
    "objective": _objectives,
    "statistics, Laplace": partial(_sums, noise="laplace", centered=True),
    "statistics, Gaussian": partial(_sums, noise="gaussian", delta=DELTA),
    "OPS": _posteriors,
}
