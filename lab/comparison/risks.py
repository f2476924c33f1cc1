"""What each person of a crowd really risks, on the scale of a guess with even odds.

The adversary knows all other records and must say whether a person's record is there or *null*:
in the sums of the release their row and label count as 0. For replace-one mechanisms that is one
record in place of another, for add-remove and zero-out mechanisms it is the person's absence;
where labels alone are protected, the label is the middle of its bounds. A report on one data set,
never a promise.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtr

from lab.comparison.crowd import Crowd
from lab.comparison.drawn import HALVES, pac_release
from lab.comparison.exact import N_MAX, clinic_budgets, laplace_rate
from lab.comparison.sweep import DELTA
from pdpbook import Floats, check
from pdpbook.guarantees import half_budget
from pdpbook.gwa import GWARegression
from pdpbook.noise import gaussian_epsilon, gaussian_mu, l2_laplace_profile
from pdpbook.pac import snr_to_success_rate
from pdpbook.per_instance import ops_profile
from pdpbook.personalized import PDPRidge, PersonalizedMean, pdp_weights
from pdpbook.posterior import OnePosteriorSample
from pdpbook.ridge import huber_ridge, leave_one_out
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import WeightedMean


def _mean(crowd: Crowd, budgets: Floats, lam: float) -> Floats:
    X, y = crowd.cube
    law = PersonalizedMean().output_law(X, y, epsilon=budgets)
    return laplace_rate(law.eta * pdp_weights(budgets) * np.abs(y))


def _square(crowd: Crowd, budgets: Floats, lam: float) -> Floats:
    X, y = crowd.cube
    law: Any = PDPRidge(lam).output_law(X, y, epsilon=budgets)
    moves = leave_one_out(X, y, lam, pdp_weights(budgets)).move
    return _round_noise(law.eta * np.linalg.norm(moves, axis=1), X.shape[1])


def _huber(crowd: Crowd, budgets: Floats, lam: float) -> Floats:
    """One fit without each person: the loss is not quadratic, so no formula serves all."""
    X, y = crowd.cube
    law: Any = PDPRidge(lam, loss="huber").output_law(X, y, epsilon=budgets)
    weights, moves = pdp_weights(budgets), np.empty(len(y))
    for i in range(len(y)):
        rows, labels = X.copy(), y.copy()
        rows[i], labels[i] = 0.0, 0.0
        other = huber_ridge(rows, labels, lam, weights, threshold=1.0, gradient_norm=1e-12).theta
        moves[i] = np.linalg.norm(other - law.center)
    return _round_noise(law.eta * moves, X.shape[1])


def _round_noise(loss: Floats, p: int) -> Floats:
    return np.asarray((1 + l2_laplace_profile(0.0, p, np.maximum(loss, 1e-12))) / 2)


def _statistics(crowd: Crowd, budgets: Floats, lam: float) -> Floats:
    X, y = crowd.cube
    model = SufficientStatisticsRidge(noise="gaussian", delta=DELTA)
    law = model.output_law(X, y, epsilon=budgets)
    levels, person = np.unique(budgets, return_inverse=True)
    strengths = np.atleast_1d(gaussian_mu(levels, DELTA))[person]
    weights = strengths / strengths.sum()
    return _gaussian(np.linalg.norm(weights[:, None] * _statistic(X, y) / law.scale, axis=1))


def _statistic(X: Floats, y: Floats) -> Floats:
    """Upper triangle of x x', then x y, a row a person."""
    rows, columns = np.triu_indices(X.shape[1])
    return np.column_stack([X[:, rows] * X[:, columns], X * y[:, None]])


def _gaussian(mu: Floats) -> Floats:
    return np.asarray(ndtr(mu / 2))


def _posterior(crowd: Crowd, budgets: Floats, lam: float) -> Floats:
    X, y = crowd.ball
    half, delta = half_budget(float(budgets.min()), DELTA)
    model = OnePosteriorSample(
        lam, epsilon=half, delta=delta, n_max=N_MAX, bounds=(-1, 1), row_norm=1.0
    )
    law = model.output_law(X, y)
    gamma = law.precision[0, 0] / (X[:, 0] @ X[:, 0] + lam)
    inside = gamma * np.einsum("ij,ij->i", X, np.linalg.solve(law.precision, X.T).T)
    residual = np.abs(y - X @ law.center) / (1 - inside)  # against the fit without the person
    moved = ops_profile(0.0, inside / (1 - inside), np.sqrt(gamma) * residual)
    return np.asarray((1 + moved.add) / 2)


def _adaptive_sums(crowd: Crowd, budgets: Floats, lam: float) -> Floats:
    X, y = crowd.ball
    mu = float(gaussian_mu(float(budgets.min()), DELTA))
    half = float(gaussian_epsilon(DELTA, mu / 2))
    law = AdaSSP(epsilon=half, delta=DELTA, bounds=(-1, 1), row_norm=1.0).output_law(X, y)
    without = X.T @ X - X[:, :, None] * X[:, None, :]
    lowest = law.center[0] - np.linalg.eigvalsh(without)[:, 0]
    change = np.column_stack([lowest, _statistic(X, y)])
    return _gaussian(np.linalg.norm(change / law.scale, axis=1))


def _labels(crowd: Crowd, budgets: Floats, lam: float) -> Floats:
    X, (low, high) = crowd.cube[0][:, :-1], crowd.y_bounds
    model = GWARegression(
        delta=DELTA, y_bounds=crowd.y_bounds, fit_intercept=True, objective="prediction"
    )
    exposure = model.fit(X, crowd.y, epsilon=budgets).exposure_  # public: no label is in it
    return _gaussian(exposure * np.abs(crowd.y - (low + high) / 2) / (high - low))


def _clinics(crowd: Crowd, budgets: Floats, lam: float) -> Floats:
    shared, (low, high) = clinic_budgets(crowd, budgets), crowd.y_bounds
    model = WeightedMean(y_bounds=crowd.y_bounds)
    exposure = model.fit(crowd.X, crowd.y, users=crowd.users, epsilon=shared).exposure_
    sums = np.bincount(crowd.users, crowd.y - (low + high) / 2) / np.bincount(crowd.users)
    return laplace_rate(exposure * np.abs(sums) / (high - low))[crowd.users]


def _membership(crowd: Crowd, budgets: Floats, lam: float) -> Floats:
    release, _ = pac_release(crowd, budgets, HALVES, np.random.default_rng(1), "tv")
    return np.asarray(snr_to_success_rate(release.certificate.mean, "tv"))


#: mechanisms of `ENTRIES` with a formula for every person's risk
RISKS: dict[str, Callable[[Crowd, Floats, float], Floats]] = {
    "private mean": _mean,
    "PDPRidge, joint": _square,
    "PDPRidge, Huber": _huber,
    "statistics, Gaussian": _statistics,
    "OPS": _posterior,
    "AdaSSP": _adaptive_sums,
    "GWA, Gaussian": _labels,
    "clinics, mean": _clinics,
    "PAC, variation": _membership,
}


def actual_success(crowd: Crowd, name: str, budgets: ArrayLike, lam: float = 1.0) -> Any:
    r"""How often the best guess about each person is right, on this data set.

    .. math:: \tfrac12\bigl(1 + \mathrm{TV}(P, Q_i)\bigr)

    with P the law of the release and :math:`Q_i` the law without the record of person i (their
    label, their clinic). For PAC privacy it bounds the average over who else is in.

    Parameters
    ----------
    crowd : Crowd
        People, as from `patients`.
    name : str
        One of `RISKS`.
    budgets : array_like, shape (n,), or float
        Budgets in nats against replacing what the mechanism protects.
    lam : float, default 1.0
        Penalty, where the mechanism has one: as in the table of `compare_patients`.

    Returns
    -------
    ndarray, shape (n,)
        Between 1/2 and the ceiling of the promise; of a clinic, the same for all its patients.

    Raises
    ------
    TypeError, ValueError
        If the name is unknown or a number out of range.

    Notes
    -----
    Page *synthesis/one_dataset_people*. Depends on the data without noise: not for release.
    """
    check.choice(name, "name", tuple(RISKS))
    each = check.epsilon(budgets, len(crowd.y))
    return RISKS[name](crowd, each, check.single(check.positive(lam, "lam"), "lam"))
