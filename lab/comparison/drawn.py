"""Releases of one crowd without a closed form: moments over seeded draws, at the best penalty."""

from functools import lru_cache
from itertools import product
from typing import Any

import numpy as np

from lab.comparison.crowd import Crowd, Release
from lab.comparison.exact import MEAN_PENALTIES, N_MAX, best, clinic_budgets, output
from lab.comparison.sweep import DELTA
from pdpbook import Floats
from pdpbook.gradient import (
    DPSGDRegression,
    GradientDescentRidge,
    calibrate_noise_multiplier,
    dpsgd_total_variation,
)
from pdpbook.guarantees import ApproximateDP, GaussianDP, PureDP, half_budget, success_rate
from pdpbook.noise import gaussian_epsilon, gaussian_mu
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.pac import CalibratedRelease, Pool, calibrate_release
from pdpbook.personalized import SampledRidge
from pdpbook.posterior import AdaOPS
from pdpbook.sufficient_statistics import (
    AdaSSP,
    SufficientStatisticsRidge,
    adassp_coefficients,
)
from pdpbook.user_level import WeightedGradientDescent

FEW_PENALTIES = (0.03, 0.1, 0.3, 1.0, 3.0)  #: against means, for what is drawn
STEPS = (5, 40)  #: tried for gradient descent
HALVES = 2000  #: fresh halves behind the certificate of PAC privacy
BATCH = 64  #: expected size of a batch of DP-SGD; with the next two fixed by hand, once
RATE = 0.1
CLIP_NORM = 0.5


def _fits(
    crowd: Crowd, model: Any, draws: int, ceiling: Any, lam: float = np.nan, **given: Any
) -> Release:
    """Moments over fits, all through the same public interface."""
    table = np.empty((draws, crowd.rows.shape[1]))
    for row in table:
        model.fit(crowd.X, crowd.y, **given)
        row[:] = np.append(model.coef_, model.intercept_)
    promise = success_rate(model.guarantee_) if ceiling is None else ceiling
    return _moments(table, promise, lam)


def _drawn(crowd: Crowd, domain: str, table: Floats, ceiling: Any, lam: float = np.nan) -> Release:
    A, offset = crowd.map_from(domain)
    return _moments(table @ A.T + offset, ceiling, lam)


def _moments(table: Floats, ceiling: Any, lam: float = np.nan) -> Release:
    covariance = np.cov(table.T, ddof=0)
    return Release(table.mean(axis=0), covariance, np.asarray(ceiling), table, float(lam))


def sampled(crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator) -> Release:
    """With one budget for all, everybody is kept, and the law is that of `PDPRidge`."""
    if np.ptp(budgets) == 0:
        return output(crowd, budgets, draws, rng, loss="huber")
    found = []
    for lam in FEW_PENALTIES:
        model = SampledRidge(lam, loss="huber", random_state=rng, **crowd.units)
        found.append(_fits(crowd, model, -(-draws // 3), None, lam, epsilon=budgets))
    return best(crowd, found)


def objective(
    crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator, delta: float = 0.0
) -> Release:
    """Without the noise that hides the solver, a millionth of the budget's."""
    p, found = crowd.rows.shape[1], []
    pure = (
        ApproximateDP(budgets, delta, neighbors="replace-one")
        if delta
        else PureDP(budgets, neighbors="replace-one")
    )
    rule = (0.1 if budgets.min() >= 1 else 1.0,)  # with a delta: a second each to calibrate
    for lam in rule if delta else FEW_PENALTIES:
        lam = max(lam, 2 * p / float(budgets.sum()))  # below half of that it refuses
        law = ObjectivePerturbation(lam, delta=delta).output_law(*crowd.cube, epsilon=budgets)
        found.append(_drawn(crowd, "cube", law.sample(draws, rng=rng), success_rate(pure), lam))
    return best(crowd, found)


def statistics(
    crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator, **options: Any
) -> Release:
    """One release serves every penalty."""
    model = SufficientStatisticsRidge(random_state=rng, **options, **crowd.units)
    tables = np.empty((len(MEAN_PENALTIES), draws, crowd.rows.shape[1]))
    for k in range(draws):
        path = model.fit(crowd.X, crowd.y, epsilon=budgets).coef_path(MEAN_PENALTIES)
        tables[:, k] = np.column_stack([path.coef, path.intercept])
    ceiling = success_rate(model.guarantee_)
    pairs = zip(tables, MEAN_PENALTIES, strict=True)
    return best(crowd, [_moments(table, ceiling, lam) for table, lam in pairs])


def descent(crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator) -> Release:
    p, found = crowd.rows.shape[1], []
    levels, person = np.unique(budgets, return_inverse=True)
    promise = GaussianDP(gaussian_mu(levels, DELTA), neighbors="replace-one")
    ceiling = success_rate(promise)[person]
    for lam, steps in product(FEW_PENALTIES, STEPS):
        model = GradientDescentRidge(lam, delta=DELTA, steps=steps)
        path = model.output_law(*crowd.cube, epsilon=budgets).sample(draws, rng=rng)
        found.append(_drawn(crowd, "cube", path[:, -p:], ceiling, lam))
    return best(crowd, found)


def adaptive_posterior(
    crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator
) -> Release:
    least = float(budgets.min())
    half, delta = half_budget(least, DELTA)
    model = AdaOPS(epsilon=half, delta=delta, n_max=N_MAX, bounds=(-1, 1), row_norm=1.0)
    table = model.output_law(*crowd.ball).sample(draws, rng=rng)[:, 1:]
    promised = success_rate(ApproximateDP(least, DELTA, neighbors="replace-one"))
    return _drawn(crowd, "ball", table, promised)


def adaptive_sums(crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator) -> Release:
    """Half of the Gaussian budget, which is more than the promise at half of the nats."""
    mu = float(gaussian_mu(float(budgets.min()), DELTA))
    half = float(gaussian_epsilon(DELTA, mu / 2))
    law = AdaSSP(epsilon=half, delta=DELTA, bounds=(-1, 1), row_norm=1.0).output_law(*crowd.ball)
    sigma, p = float(law.scale[0]), crowd.rows.shape[1]
    found = [adassp_coefficients(row, p, sigma) for row in law.sample(draws, rng=rng)]
    ceiling = success_rate(GaussianDP(mu, neighbors="replace-one"))
    return _drawn(crowd, "ball", np.array(found), ceiling)


def dpsgd(crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator) -> Release:
    """Its rows are not divided by the root of their length, as those of the ball are."""
    sigma, moved = _dpsgd_noise(float(budgets.min()), len(crowd.y))
    model = DPSGDRegression(
        noise_multiplier=sigma,
        batch_size=BATCH,
        learning_rate=RATE,
        clip_norm=CLIP_NORM,
        **crowd.units,
    )
    p = crowd.rows.shape[1]
    path = model.output_law(crowd.X, crowd.y).sample(draws, rng=rng)
    return _drawn(crowd, "ball", np.sqrt(p) * path[:, -p:], (1 + 2 * moved) / 2)


@lru_cache(maxsize=32)
def _dpsgd_noise(epsilon: float, n: int) -> tuple[float, float]:
    half, delta = half_budget(epsilon, DELTA)
    rate, steps = BATCH / n, 10 * -(-n // BATCH)
    sigma = calibrate_noise_multiplier(float(half), float(delta), rate, steps)
    return sigma, dpsgd_total_variation(sigma, rate, steps)


def clinic_fit(crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator) -> Release:
    """Its settings, too, were fixed by hand: those of its theorem are for the worst data."""
    model = WeightedGradientDescent(
        delta=DELTA,
        accounting="gaussian",
        steps=20,
        step_size=1.0,
        clip_norm=CLIP_NORM,
        random_state=rng,
        **crowd.units,
    )
    shared = clinic_budgets(crowd, budgets)
    return _fits(crowd, model, -(-draws // 3), None, users=crowd.users, epsilon=shared)


def pac(
    crowd: Crowd, budgets: Floats, draws: int, rng: np.random.Generator, calibration: str
) -> Release:
    release, A = pac_release(crowd, budgets, HALVES, rng, calibration)
    ceiling = success_rate(PureDP(float(budgets.min()), neighbors="add-remove"))
    return _moments(release.sample(3 * draws, rng=rng) @ A.T, ceiling)


def pac_release(
    crowd: Crowd, budgets: Floats, halves: int, rng: np.random.Generator, calibration: str
) -> tuple[CalibratedRelease, Floats]:
    """On average over halves, the ceiling that a pure promise of the smallest budget would put."""
    ceiling = success_rate(PureDP(float(budgets.min()), neighbors="add-remove"))
    center, spread = crowd.X.mean(axis=0), crowd.X.std(axis=0)
    release = calibrate_release(
        Pool((crowd.X - center) / spread, crowd.y),
        ceiling,
        calibration=calibration,
        task="loss",
        draws=halves,
        rng=rng,
    )
    A = np.diag(np.append(1 / spread, 1.0))
    A[-1, :-1] = -center / spread
    return release, A
