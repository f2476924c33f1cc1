"""Releases of one crowd whose mean error has a closed form, each at its best penalty of a grid."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from lab.comparison.crowd import Crowd, Release
from lab.comparison.sweep import DELTA
from pdpbook import Floats
from pdpbook.guarantees import ApproximateDP, GaussianDP, PureDP, half_budget, success_rate
from pdpbook.gwa import GWARegression, prediction_root
from pdpbook.noise import gaussian_mu, l2_laplace_eps0, l2_laplace_profile
from pdpbook.per_instance import ops_profile
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.posterior import OnePosteriorSample, residual_bound
from pdpbook.user_level import WeightedMean

N_MAX = 500  #: public bound on the number of rows, where the number itself is private
SUM_PENALTIES = (10.0, 30.0, 100.0, 300.0, 1000.0)  #: against sums of squares
MEAN_PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)  #: against means


def _constant(crowd: Crowd, mean: float, variance: float, ceiling: Any) -> Release:
    p = crowd.rows.shape[1]
    center, covariance = np.zeros(p), np.zeros((p, p))
    center[-1], covariance[-1, -1] = mean, variance
    return Release(center, covariance, np.asarray(ceiling))


def _affine(
    crowd: Crowd, domain: str, center: Floats, covariance: Floats, ceiling: Any, lam: float
) -> Release:
    A, offset = crowd.map_from(domain)
    return Release(A @ center + offset, A @ covariance @ A.T, np.asarray(ceiling), None, float(lam))


def laplace_rate(epsilon: ArrayLike) -> Floats:
    """Of two Laplace laws whose centers are `epsilon` scales apart."""
    return np.asarray(1 - np.exp(-np.asarray(epsilon) / 2) / 2)


def mean(crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator) -> Release:
    law = PersonalizedMean().output_law(*crowd.cube, epsilon=budgets)
    low, high = crowd.y_bounds
    half = (high - low) / 2
    mean = low + half * (1 + float(law.center[0]))
    return _constant(crowd, mean, half**2 * 2 / law.eta**2, laplace_rate(budgets))


def output(
    crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator, **options: Any
) -> Release:
    return best(crowd, outputs(crowd, budgets, MEAN_PENALTIES, **options))


def outputs(
    crowd: Crowd, budgets: Floats, penalties: Sequence[float], **options: Any
) -> list[Release]:
    """A release for each penalty."""
    p, delta = crowd.rows.shape[1], options.get("delta", 0.0)
    levels, person = np.unique(budgets, return_inverse=True)
    losses = l2_laplace_eps0(levels, delta, p) if delta else levels
    ceiling = ((1 + l2_laplace_profile(0.0, p, losses)) / 2)[person]
    found = []
    for lam in penalties:
        law: Any = PDPRidge(lam, **options).output_law(*crowd.cube, epsilon=budgets)
        covariance = np.asarray((p + 1) / law.eta**2 * np.eye(p), dtype=float)
        found.append(_affine(crowd, "cube", law.center, covariance, ceiling, lam))
    return found


def posterior(crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator) -> Release:
    return best(crowd, posteriors(crowd, budgets, SUM_PENALTIES))


def posteriors(crowd: Crowd, budgets: Floats, penalties: Sequence[float]) -> list[Release]:
    """A release for each penalty that can keep the budgets.

    The ceiling: twice the total variation at the corner of leverage and residual.
    """
    least = float(budgets.min())
    half, delta = half_budget(least, DELTA)
    found = []
    for lam in penalties:
        model = OnePosteriorSample(
            lam, epsilon=half, delta=delta, n_max=N_MAX, bounds=(-1, 1), row_norm=1.0
        )
        try:
            law = model.output_law(*crowd.ball)
        except ValueError:  # no temperature keeps so small a budget with this penalty
            continue
        gamma = law.precision[0, 0] / (crowd.ball[0][:, 0] @ crowd.ball[0][:, 0] + lam)
        corner = np.sqrt(gamma) * residual_bound(lam, lam, N_MAX)
        moved = 2 * float(ops_profile(0.0, 1 / lam, corner).add)
        promised = success_rate(ApproximateDP(least, DELTA, neighbors="replace-one"))
        ceiling = min((1 + moved) / 2, promised)
        covariance = np.asarray(np.linalg.inv(law.precision), dtype=float)
        found.append(_affine(crowd, "ball", law.center, covariance, ceiling, lam))
    return found


def gwa(
    crowd: Crowd,
    budgets: Floats,
    draws: int,
    rng: np.random.Generator,
    delta: float = 0.0,
    clinics: bool = False,
) -> Release:
    X, low = crowd.cube[0], crowd.bounds[:, 0]
    width = np.diff(crowd.bounds).ravel()
    model = GWARegression(
        delta=delta, y_bounds=crowd.y_bounds, fit_intercept=True, objective="prediction"
    )
    users = crowd.users if clinics else None
    shared = clinic_budgets(crowd, budgets) if clinics else budgets
    law = model.output_law(X[:, :-1], crowd.y, users=users, epsilon=shared)
    back = np.linalg.inv(prediction_root(X))
    A = np.diag(np.append(1 / width, 1.0))  # from the cube to clinical units; labels stay
    A[-1, :-1] = -low / width
    variance = law.scale**2 * (1.0 if delta else 2.0)
    promise = (
        GaussianDP(gaussian_mu(shared, delta), neighbors="user-labels")
        if delta
        else PureDP(shared, neighbors="user-labels")
    )
    M = A @ back
    return Release(M @ law.center, (M * variance) @ M.T, np.asarray(success_rate(promise)))


def clinic_mean(crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator) -> Release:
    shared = clinic_budgets(crowd, budgets)
    model = WeightedMean(y_bounds=crowd.y_bounds)
    law = model.output_law(crowd.X, crowd.y, users=crowd.users, epsilon=shared)
    return _constant(
        crowd, float(law.center[0]), 2 * float(law.scale[0]) ** 2, laplace_rate(shared)
    )


def clinic_budgets(crowd: Crowd, budgets: Floats) -> Floats:
    """Everybody in a clinic gets what its most careful patient asks for."""
    least = np.full(crowd.users.max() + 1, np.inf)
    np.minimum.at(least, crowd.users, budgets)
    return np.asarray(least[crowd.users])


def best(crowd: Crowd, found: Sequence[Release]) -> Release:
    """An oracle: it sees the errors. That flatters the mechanism, by little where it is good."""
    if not found:
        p = crowd.rows.shape[1]
        return Release(np.full(p, np.nan), np.full((p, p), np.nan), np.asarray(np.nan))
    return min(found, key=lambda release: release.error(crowd))
