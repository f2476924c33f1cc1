"""Ridge from noisy sums, with a penalty that follows a noisy smallest eigenvalue: AdaSSP."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.domains import Ball
from pdpbook.guarantees import BudgetAccount, GaussianDP
from pdpbook.linear import LinearRegressor
from pdpbook.noise import ProductLaw, gaussian_mu
from pdpbook.noise.laws import PublicNoise
from pdpbook.participants import (
    Participants,
    one_budget,
    read_budgets,
    read_user_records,
    refuse_different_budgets,
    refuse_users_of_sums,
    user_records_for_audit,
)
from pdpbook.release import all_or_nothing, check_account, generator_from, release
from pdpbook.sufficient_statistics.ridge import matrix_and_moment
from pdpbook.sums import Sums, sums_over_records
from pdpbook.user_records import UserParticipants

CALIBRATIONS = ("exact", "published")

MOVE_OF_AN_ADDED_PERSON = float(np.sqrt(3))  # of the whole release, statement prop-adassp
MOVE_OF_A_REPLACED_USER = float(4 / np.sqrt(3))  # statement prop-user-means


def adassp_scale(epsilon: float, delta: float, calibration: str = "exact") -> float:
    r"""Standard deviation of the noise on each of the three releases of AdaSSP.

    .. math:: \sigma_0 = \sqrt3/\mu(\varepsilon,\delta) \quad\text{(exact)}, \qquad
              \sigma_0 = 3\sqrt{\log(6/\delta)}/\varepsilon \quad\text{(published)}

    Statement ``prop-adassp``, chapter *per_instance/adaops*. The published constants: Wang (2018).

    Parameters
    ----------
    epsilon : float, in nats, above 0
    delta : float, in (0, 1)
    calibration : {"exact", "published"}, default "exact"
        Gaussian composition of three sensitivities 1, or the constants of the paper.

    Examples
    --------
    >>> round(adassp_scale(1.0, 1e-6), 2), round(adassp_scale(1.0, 1e-6, "published"), 2)
    (7.32, 11.85)
    """
    epsilon, delta = check.number(epsilon, "epsilon"), check.delta(delta)
    check.choice(calibration, "calibration", CALIBRATIONS)
    if calibration == "published":
        return float(3 * np.sqrt(np.log(6 / delta)) / epsilon)
    return float(np.sqrt(3) / gaussian_mu(epsilon, delta))


def adassp_coefficients(
    release: ArrayLike, d: int, sigma: float, *, shift: float = 3.0, failure: float = 0.05
) -> Floats:
    r"""Coefficients from the numbers AdaSSP releases, on the domain: no privacy is spent here.

    For noise of standard deviation :math:`\sigma_0` on a matrix of order d and the other numbers,

    .. math:: &\tilde\theta = (\hat S+\lambda I)^{-1}\hat b,\\
              &\lambda = \max\{0, \sigma_0\sqrt{d\log(2d^2/\varrho)}-\tilde\lambda\},\qquad
              \tilde\lambda = \max\{\hat\lambda-c\sigma_0, 0\}

    with c for `shift` and :math:`\varrho` for `failure`, how often the penalty may be too small.
    Statement ``prop-adassp``, chapter *per_instance/adaops*. Returns an array of shape (d,).

    Parameters
    ----------
    release : array_like, noisy smallest eigenvalue, upper triangle row by row, noisy moment
    d : int
    sigma : float, above 0
    shift : float, above 0, default 3.0
    failure : float, in (0, 1), default 0.05
    """
    d, sigma = check.count(d, "d"), check.number(sigma, "sigma")
    shift, failure = check.number(shift, "shift"), check.delta(failure, "failure")
    size = 1 + d * (d + 1) // 2 + d
    release = check.shape(check.finite(release, "release"), "release", (size,), f"as d = {d} has")
    gram, moment = matrix_and_moment(release[1:], d, centered=False)
    eigenvalue = max(release[0] - shift * sigma, 0.0)
    lam = max(0.0, sigma * np.sqrt(d * np.log(2 * d**2 / failure)) - eigenvalue)
    return np.asarray(np.linalg.solve(gram + lam * np.eye(d), moment))


class AdaSSP(LinearRegressor):
    r"""Ridge regression from noisy sums with an adaptive penalty.

    On the domain :math:`\|x\|\le1`, :math:`|y|\le1` the release is
    :math:`\lambda_{\min}(X^\top X)`, the upper triangle of :math:`X^\top X` and :math:`X^\top y`,
    each with Gaussian noise of standard deviation `adassp_scale` (``noise_.scale``); from it come
    the `adassp_coefficients`. Statement ``prop-adassp``, chapter *per_instance/adaops*.

    With `users` in `fit` a user counts as one person, with the mean of :math:`xx^\top` and of
    :math:`xy` over their rows. The promise is then about replacing all of them, the number of
    users being public; this moves the release by :math:`4/\sqrt3` at most, where adding a person
    moves it by :math:`\sqrt3`, so the noise is a third larger: statement ``prop-user-means``
    (ours), chapter *user_level/means_of_rows*.

    Parameters
    ----------
    failure : float, default 0.05
        How often the penalty may be too small for the noise, in (0, 1); no part of the promise.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody: a public number, chosen without looking at who is in the
        data. One each must be the same, or 0 for whoever takes no part.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units; they are mapped to [-1, 1].
    clip : bool, default False
        Clip data to the bounds instead of raising. The middle of its bounds stands for NaN. An
        error is seen by whoever runs the fit; where that is not the holder of the data, clip. For
        columns with missing values there is `PublicSchema`.
    delta : float, default 1e-6
        Failure probability of the budget, in (0, 1).
    bounds : array_like, shape (2,) or (d, 2), default (-1.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column. They are
        mapped to [-1, 1] and never read from the data.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one, after the map to [-1, 1]: it counts in d and
        in the norm of a row, is penalized and noised.
    row_norm : float, optional
        Public bound on the norm of a row between -1 and 1, the constant included; rows are divided
        by it. None is the square root of d, which always holds; ``bounds=(-1, 1), row_norm=1`` is
        the unit ball itself. Longer rows raise, or are scaled down with `clip`.
    calibration : {"exact", "published"}, default "exact"
        How the budget becomes noise: exactly, or as published, with that shift of the eigenvalue.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.scale`` is the standard deviation of the noise on every number of `release_`.
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    n_features_in_ : int
    guarantee_ : GaussianDP
        What everybody was promised, under add-remove neighbors: the stronger form of
        :math:`(\varepsilon,\delta)`; ``guarantee_.to_approximate(delta)`` returns that one. With
        users, what each of them was promised when all of their rows are replaced.
    release_ : ndarray, shape (m,)
        All released numbers on the domain: smallest eigenvalue, upper triangle row by row, moment.

    Examples
    --------
    >>> X = np.random.default_rng(1).uniform(-1, 1, (5000, 2))
    >>> model = AdaSSP(random_state=3).fit(X, X @ [0.4, -0.2])
    >>> model.release_.shape, round(model.noise_.scale, 2), round(float(model.guarantee_.mu), 3)
    ((6,), 7.32, 0.237)
    """

    def __init__(
        self,
        failure: float = 0.05,
        *,
        epsilon: ArrayLike = 1.0,
        random_state: int | np.random.Generator | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        delta: float = 1e-6,
        bounds: ArrayLike = (-1.0, 1.0),
        fit_intercept: bool = False,
        row_norm: float | None = None,
        calibration: str = "exact",
    ) -> None:
        self.failure = failure
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.delta = delta
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.row_norm = row_norm
        self.calibration = calibration

    def check_settings(self) -> None:
        check.settings(
            self,
            failure=check.delta,
            y_bounds=check.bounds,
            clip=check.flag,
            delta=check.delta,
            bounds=check.pairs,
            fit_intercept=check.flag,
            row_norm=check.optional(check.scale),
            calibration=check.one_of(*CALIBRATIONS),
        )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        users: Any = None,
        epsilon: Any = None,
        account: BudgetAccount | None = None,
    ) -> Self:
        """Release private coefficients, and return the estimator.

        Parameters
        ----------
        X : array_like, shape (n, d), or Sums
            One row a person, inside the bounds, with `users` any number of rows of each; or what
            `sums` of this model has made of them, in place of X and y, with one budget a person.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        users : array_like, shape (n,), optional
            Who owns each row; None makes every row a person of its own. Refused with
            ``calibration='published'``.
        epsilon : float, array_like, shape (n,), or mapping, optional
            Budgets in nats: one public number for all, or that number and 0 for whoever takes no
            part; with `users` also by user. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend, and leaves nobody out, as the promise is one for all.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y, users)
        self.check_settings()
        self.refuse_settings_of(users, epsilon)
        check_account(account)
        rng = generator_from(self.random_state)
        with all_or_nothing(self):
            records = read_user_records(self, X, y, epsilon_as_passed, users)
            budgets = records.budgets(epsilon)
            neighbors = "add-remove" if users is None else "user"
            guarantee = self.guarantee(budgets, neighbors)

            domain = self.domain(records.columns)
            law = self.law(records.participants(domain, budgets), neighbors)
            released = release(law, guarantee, account, rng, people=records)

            sigma = float(law.scale[0])
            theta = self.coefficients(released, domain.d, sigma)
            self.coef_, self.intercept_ = domain.to_user_units(theta)
            self.release_, self.guarantee_ = released, guarantee
            self.noise_ = PublicNoise(scale=sigma)
        return self

    def law(
        self, people: Participants | UserParticipants, neighbors: str = "add-remove"
    ) -> ProductLaw:
        """Return the exact distribution of the release on the domain: the theorem."""
        gram, moment = people.total(self.statistic)
        center = np.concatenate([[np.linalg.eigvalsh(gram)[0]], _upper_triangle(gram), moment])
        sigma = self.noise_scale(one_budget(people.budgets), neighbors)
        return ProductLaw(center, np.full(len(center), sigma), "gaussian")

    def guarantee(self, budgets: Floats, neighbors: str = "add-remove") -> GaussianDP:
        """Return the promise to everybody, of their one budget; `budgets` has shape (n,)."""
        epsilon = one_budget(budgets)
        if self.calibration == "exact":  # the number itself: no rounding on the way
            return GaussianDP(float(gaussian_mu(epsilon, self.delta)), neighbors=neighbors)
        return GaussianDP(float(np.sqrt(3) / self.noise_scale(epsilon)), neighbors=neighbors)

    def noise_scale(self, epsilon: float, neighbors: str = "add-remove") -> float:
        """Return the standard deviation of the noise on every released number."""
        scale = adassp_scale(epsilon, self.delta, self.calibration)
        if neighbors == "user":  # replacing a user moves the release farther than adding one
            return scale * MOVE_OF_A_REPLACED_USER / MOVE_OF_AN_ADDED_PERSON
        return scale

    def refuse_settings_of(self, users: Any, epsilon: Any) -> None:
        """Refuse budgets that differ, and constants that are published for one row a person.

        Budgets of users are found by name, so `guarantee` compares them, still before any draw.
        """
        if users is None:
            refuse_different_budgets(epsilon)
        elif self.calibration != "exact":
            raise ValueError(
                f"calibration must be 'exact' with users; got {self.calibration!r}, whose "
                "constants are for adding or removing one row"
            )

    def coefficients(self, released: Floats, d: int, sigma: float) -> Floats:
        """Return coefficients on the domain, shape (d,), from the released numbers alone."""
        if self.calibration == "exact":
            shift = 3.0
        else:
            shift = float(np.sqrt(np.log(6 / self.delta)))
        return adassp_coefficients(released, d, sigma, shift=shift, failure=self.failure)

    def domain(self, columns: int) -> Ball:
        """Return the domain that the public bounds of so many columns define."""
        return Ball(
            bounds=self.bounds,
            y_bounds=self.y_bounds,
            columns=columns,
            fit_intercept=self.fit_intercept,
            clip=self.clip,
            row_norm=self.row_norm,
        )

    def output_law(
        self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None
    ) -> ProductLaw:
        """Exact law of `release_`, from which `fit` draws. NOT private: for audits.

        Its center is what would be released without noise; with `fit_intercept` the constant
        feature comes last.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y, users)
        self.check_settings()
        self.refuse_settings_of(users, epsilon)
        records = user_records_for_audit(self, X, y, epsilon_as_passed, users)
        domain = self.domain(records.columns)
        neighbors = "add-remove" if users is None else "user"
        return self.law(records.participants(domain, records.budgets(epsilon)), neighbors)

    def sums(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> Sums:
        """Return `Sums` of some of the people, which `fit` takes when all are added. NOT private.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person, inside the bounds; one row will do.
        y : array_like, shape (n,)
            Labels, inside `y_bounds`.
        users : array_like, optional
            Refused: the mean over the rows of a user needs all of them at once.
        epsilon : float or array_like, shape (n,), optional
            Their budgets, as in `fit`; here all may be 0. None is the constructor's.
        """
        refuse_users_of_sums(users)
        epsilon = self.epsilon if epsilon is None else epsilon
        refuse_different_budgets(epsilon)
        return sums_over_records(self, X, y, epsilon)

    def statistic(self, X: Floats, y: Floats, weights: Floats) -> tuple[Floats, Floats]:
        """Return what `sums` adds up: second moments of the rows, and with labels."""
        scaled = X * np.sqrt(weights)[:, None]
        return scaled.T @ scaled, X.T @ (weights * y)

    def weights_in_sums(self, budgets: Floats, d: int) -> Floats:
        """Return the weight with which each person is added up by `sums`: 1."""
        return np.ones(len(budgets))


def _upper_triangle(matrix: Floats) -> Floats:
    """Return the upper triangle of a square matrix row by row."""
    return np.asarray(matrix[np.triu_indices(len(matrix))])
