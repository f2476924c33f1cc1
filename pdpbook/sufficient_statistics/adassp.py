"""Ridge from noisy sums, with a penalty that follows a noisy smallest eigenvalue: AdaSSP."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import one_budget, taking_part
from pdpbook._domain import (
    ball_sums,
    ball_to_user_units,
    check_mapping,
    check_number,
    check_sizes,
    finite_part,
    generator_from,
    in_hand,
    labels_of,
    labels_to_domain,
    note_width,
    people_in_blocks,
    predictions,
    refuse_few,
    rows_to_ball,
    table_of,
)
from pdpbook.guarantees import BudgetAccount, GaussianDP
from pdpbook.noise import ProductLaw, gaussian_mu
from pdpbook.reports.frames import ball_frame
from pdpbook.reports.noise import Crowd, Noise
from pdpbook.reports.reported import Reported
from pdpbook.validation import (
    check_choice,
    check_count,
    check_delta,
    check_design,
    check_epsilon,
    check_finite,
)

__all__ = ["AdaSSP", "adassp_coefficients", "adassp_scale"]

Floats = NDArray[np.float64]


def adassp_scale(epsilon: float, delta: float, calibration: str = "exact") -> float:
    r"""Standard deviation of the noise on each of the three releases of AdaSSP.

    .. math:: \sigma_0 = \sqrt3/\mu(\varepsilon,\delta) \quad\text{(exact)}, \qquad
              \sigma_0 = 3\sqrt{\log(6/\delta)}/\varepsilon \quad\text{(published)}

    Parameters
    ----------
    epsilon : float
        Budget in nats, above 0.
    delta : float
        In (0, 1).
    calibration : {"exact", "published"}, default "exact"
        Gaussian composition of three sensitivities 1, or the constants of the paper.

    Returns
    -------
    float
        The standard deviation.

    Raises
    ------
    TypeError, ValueError
        If an argument is of a wrong kind or out of range.

    Notes
    -----
    Statement ``prop-adassp``, chapter *per_instance/adaops*. The published constants: Wang (2018).

    Examples
    --------
    >>> round(adassp_scale(1.0, 1e-6), 2), round(adassp_scale(1.0, 1e-6, "published"), 2)
    (7.32, 11.85)
    """
    epsilon, delta = check_number(epsilon, "epsilon"), check_delta(delta)
    check_choice(calibration, "calibration", ("exact", "published"))
    if calibration == "published":
        return float(3 * np.sqrt(np.log(6 / delta)) / epsilon)
    return float(np.sqrt(3) / gaussian_mu(epsilon, delta))


def adassp_coefficients(
    release: ArrayLike, d: int, sigma: float, *, shift: float = 3.0, failure: float = 0.05
) -> Floats:
    r"""Coefficients from the numbers AdaSSP releases, on the domain.

    .. math:: &\tilde\theta = (\hat S+\lambda I)^{-1}\hat b,\\
              &\lambda = \max\{0, \sigma_0\sqrt{d\log(2d^2/\varrho)}-\tilde\lambda\},\qquad
              \tilde\lambda = \max\{\hat\lambda-c\sigma_0, 0\}

    Parameters
    ----------
    release : array_like, shape (m,)
        Noisy smallest eigenvalue, upper triangle row by row, noisy moment.
    d : int
        Order of the matrix.
    sigma : float
        Standard deviation of the noise, above 0.
    shift : float, default 3.0
        :math:`c`, above 0.
    failure : float, default 0.05
        :math:`\varrho`, in (0, 1): how often the penalty may be too small.

    Returns
    -------
    ndarray, shape (d,)
        The coefficients: no privacy is spent here.

    Raises
    ------
    TypeError, ValueError
        If an argument is of a wrong kind or out of range.

    Notes
    -----
    Statement ``prop-adassp``, chapter *per_instance/adaops*.

    Examples
    --------
    >>> adassp_coefficients([100.0, 100.0, 50.0], 1, 2.0)
    array([0.5])
    """
    d, sigma = check_count(d, "d"), check_number(sigma, "sigma")
    shift, failure = check_number(shift, "shift"), check_delta(failure, "failure")
    gram, lam, moment = _system(release, d, sigma, shift, failure)
    return np.asarray(np.linalg.solve(gram + lam * np.eye(d), moment))


def _system(
    release: ArrayLike, d: int, sigma: float, shift: float, failure: float
) -> tuple[Floats, float, Floats]:
    """Matrix, penalty and moment that released numbers stand for."""
    release = np.asarray(check_finite(release, "release"))
    if release.shape != (1 + d * (d + 1) // 2 + d,):
        raise ValueError(
            f"release must have shape ({1 + d * (d + 1) // 2 + d},) for d = {d}; "
            f"got shape {release.shape}"
        )
    gram = np.zeros((d, d))
    gram[np.triu_indices(d)] = release[1:-d]
    gram = gram + np.triu(gram, 1).T
    eigenvalue = max(release[0] - shift * sigma, 0.0)
    lam = max(0.0, sigma * np.sqrt(d * np.log(2 * d**2 / failure)) - eigenvalue)
    return gram, float(lam), release[-d:]


class AdaSSP(Reported, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Ridge regression from noisy sums with an adaptive penalty.

    On the domain :math:`\|x\|\le1`, :math:`|y|\le1` the release is
    :math:`\lambda_{\min}(X^\top X)`, the upper triangle of :math:`X^\top X` and
    :math:`X^\top y`, each with Gaussian noise of the scale of `adassp_scale`; the coefficients
    are those of `adassp_coefficients`.

    Parameters
    ----------
    failure : float, default 0.05
        How often the penalty may be too small for the noise, in (0, 1); no part of the promise.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody: a public number, chosen without looking at who is in the
        data. One each must be the same, or 0 for whoever takes no part.
    delta : float, default 1e-6
        Failure probability of the budget, in (0, 1).
    calibration : {"exact", "published"}, default "exact"
        Which noise scale; with "published" also the published shift of the eigenvalue.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one, after the map to [-1, 1]: it counts in d
        and in the norm of a row, is penalized and noised.
    bounds : array_like, shape (2,) or (d, 2), default (-1.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column; never
        read from the data. They are mapped to [-1, 1], and rows are divided by `row_norm`.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units; they are mapped to [-1, 1].
    row_norm : float, optional
        Public bound on the norm of a row between -1 and 1, the constant included. None is the
        square root of d, which always holds. Longer rows raise, or are scaled down with `clip`.
    clip : bool, default False
        Clip data to the bounds instead of raising.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Coefficients in your units.
    intercept_ : float
        Intercept in your units. Without `fit_intercept` it only undoes the bounds.
    release_ : ndarray
        The released numbers: smallest eigenvalue, upper triangle row by row, moment.
    noise_scale_ : float
        Standard deviation of each.
    guarantee_ : GaussianDP
        What everybody was promised, under add-remove neighbors: the stronger form of
        :math:`(\varepsilon,\delta)`; ``guarantee_.to_approximate(delta)`` returns that one.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Statement ``prop-adassp``, chapter *per_instance/adaops*. Nothing without noise stays on the
    fitted object. Rounding of floats is not covered by the promise.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(-1, 1, (5000, 2))
    >>> model = AdaSSP(random_state=3).fit(X, X @ [0.4, -0.2])
    >>> model.release_.shape, round(model.noise_scale_, 2), round(float(model.guarantee_.mu), 3)
    ((6,), 7.32, 0.237)
    """

    def __init__(
        self,
        failure: float = 0.05,
        *,
        epsilon: ArrayLike = 1.0,
        delta: float = 1e-6,
        calibration: str = "exact",
        fit_intercept: bool = False,
        bounds: ArrayLike = (-1.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        row_norm: float | None = None,
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.failure = failure
        self.epsilon = epsilon
        self.delta = delta
        self.calibration = calibration
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.row_norm = row_norm
        self.clip = clip
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release private sums, and solve for the coefficients.

        Parameters
        ----------
        X : array_like, shape (n, d), or Rows
            One row a person, inside `bounds`. Memory maps, Dask arrays and `Rows` with columns X,
            y and perhaps epsilon are read block by block, in one pass.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`; None with `Rows`.
        epsilon : float or array_like, shape (n,), optional
            The public budget in nats, or one each: the same for all, or 0 for whoever takes no
            part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        AdaSSP
            The fitted estimator.
        """
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        check_account(account)
        rng = generator_from(self.random_state)
        if (people := people_in_blocks(X, y, epsilon, budgets)) is not None:
            sums = ball_sums(people, budgets, self._map)
            refuse_few(sums.n)
            law, level = self._law_of(sums.gram, sums.moment, sums.epsilon), sums.epsilon
            note_width(self, len(sums.moment) - bool(self.fit_intercept))
        else:
            rows = table_of(self, X)
            law = self._law(*finite_part(rows, labels_of(rows, y), budgets))
            level = one_budget(budgets)
        sigma = float(law.scale[0])
        if self.calibration == "exact":  # the number itself: no rounding on the way
            mu = float(gaussian_mu(level, self.delta))
        else:
            mu = float(np.sqrt(3) / sigma)
        promise = GaussianDP(mu, neighbors="add-remove")
        charge(account, promise, X)
        self.release_ = law.sample(rng=rng)
        self.noise_scale_ = sigma
        self.guarantee_ = promise
        d = self.n_features_in_ + bool(self.fit_intercept)
        theta = adassp_coefficients(
            self.release_, d, sigma, shift=self._shift(), failure=self.failure
        )
        self.coef_, self.intercept_ = ball_to_user_units(
            theta, self.n_features_in_, self.bounds, self.y_bounds, self.row_norm
        )
        self._keep_noise(Crowd(self.n_features_in_, level))  # the number of people is not public
        return self

    def predict(self, X: Any) -> Any:
        """Predict from the coefficients, in your units; X may lie outside `bounds`."""
        return predictions(self, X)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> ProductLaw:
        """Exact joint law of the released numbers `release_`. NOT private: for audits and teaching.

        Parameters are as in `fit`, which draws once from exactly this law.
        """
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        if (people := people_in_blocks(X, y, epsilon, budgets)) is not None:
            sums = ball_sums(people, budgets, self._map)
            return self._law_of(sums.gram, sums.moment, sums.epsilon)
        return self._law(*check_design(X, y), budgets)

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = check_epsilon(self.epsilon if epsilon is None else epsilon)
        one_budget(budgets)
        check_delta(self.delta)
        check_delta(self.failure, "failure")
        check_choice(self.calibration, "calibration", ("exact", "published"))
        check_sizes(self, "row_norm")
        check_mapping(self.bounds, self.y_bounds, self.clip, self.fit_intercept)
        return budgets

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        r"""An estimate alone: :math:`\sigma_0^2(X^\top X+\lambda I)^{-2}`, the noise on the moment.

        The penalty keeps the noisy matrix regular but for a chance of `failure`, which the
        estimate leaves out: with it no mean square is finite. After a fit the released matrix
        takes the place of the rows'.
        """
        frame = ball_frame(self, crowd.d, self.row_norm)
        k, epsilon = frame.order, one_budget(crowd.epsilon)
        sigma = adassp_scale(epsilon, self.delta, self.calibration)
        if crowd.fitted or crowd.n is None:
            release = self.release_
        else:
            release = self._law_of(crowd.n * frame.kept, np.zeros(k), epsilon).center
        gram, lam, _ = _system(release, k, sigma, self._shift(), float(self.failure))
        inverse = np.linalg.inv(gram + lam * np.eye(k))
        note = (
            f"No bound is known. The estimate leaves out the chance of {self.failure:g} that the "
            "noisy matrix is nearly singular."
        )
        spread = sigma**2 * inverse @ inverse
        return Noise.of(crowd, frame, spread, width=2 * frame.half, note=note)

    def _shift(self) -> float:
        return 3.0 if self.calibration == "exact" else float(np.sqrt(np.log(6 / self.delta)))

    def _law(self, X: Floats, y: Floats, budgets: Any) -> ProductLaw:
        X, y, budgets = taking_part(X, y, budgets)
        X, y = self._map(X, y)
        return self._law_of(X.T @ X, X.T @ y, one_budget(budgets))

    def _map(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        rows = rows_to_ball(X, self.bounds, self.row_norm, self.clip, self.fit_intercept)
        return rows, labels_to_domain(y, self.y_bounds, self.clip)

    def _law_of(self, gram: Floats, moment: Floats, epsilon: float) -> ProductLaw:
        upper = gram[np.triu_indices(len(gram))]
        center = np.concatenate([[np.linalg.eigvalsh(gram)[0]], upper, moment])
        sigma = adassp_scale(epsilon, self.delta, self.calibration)
        return ProductLaw(center, np.full(len(center), sigma), "gaussian")
