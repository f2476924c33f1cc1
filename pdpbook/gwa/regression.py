"""Linear regression whose labels are private per user: optimal weights, or a limit on rows.

Both release a public matrix times the labels, plus noise. Their promises protect labels, all
labels of a user at once; rows and ownership are public.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook._domain import ULP
from pdpbook._users import Users
from pdpbook.gwa._release import (
    LabelPrivateRegression,
    Plan,
    contributions,
    estimable,
    plan_release,
)
from pdpbook.gwa.solver import gwa_weights
from pdpbook.validation import check_choice, check_count, check_positive, check_scale, check_single

__all__ = ["GWARegression", "SampleLimitedRegression", "prediction_root"]

Floats = NDArray[np.float64]

OBJECTIVES = ("parameters", "prediction")
MOST_THRESHOLDS = 500  # of which "best" looks at all; of more, at so many in a geometric grid


class GWARegression(LabelPrivateRegression):
    r"""Generalized weighted averaging: the linear unbiased release of least variance.

    X IS PUBLIC: only labels are protected, those of a user all at once. The release is
    :math:`Cy` plus noise, and :math:`C` solves

    .. math:: \min_{CX=A}\ \sigma^2\|C\|_F^2 + 2kt^2 , \qquad
              t = \max_l \frac{B}{\varepsilon_l}\sum_{i\in S_l}\|c_i\|_1 ,

    with :math:`c_i` the columns of C, :math:`S_l` the rows of user l, B the width of `y_bounds`,
    A of shape (k, d) the target and :math:`\mathrm{Lap}(t)` on every entry. Labels are not shifted.

    Parameters
    ----------
    epsilon : float, mapping or array_like, default 1.0
        Budget in nats, for everybody, by user, or one a row; `fit` can be given others. Public.
    delta : float, default 0.0
        0 is Laplace noise. Above 0 it is Gaussian noise, l2 norms of the columns instead, and
        ``guarantee_`` gives each user the mu of (epsilon, delta).
    sigma2 : float, optional
        Guess at the variance of the labels around the line, in squared units of y. It steers the
        weights, never the privacy, and must not be read from private labels. None is the square
        of the width over 12; 0 is allowed.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units.
    fit_intercept : bool, default False
        Add a column of ones; its coefficient counts in k and gets noise.
    objective : {"parameters", "prediction"}, default "parameters"
        Whose squared error is least: of the coefficients, or of predictions averaged over the
        rows of X (A is the root of the second moments of X, mapped back after the release).
    prior : float, optional
        Variance of the coefficients under a prior with mean 0. The release is biased and
        minimizes the Bayes risk; X may lack rank. None is unbiased.
    sensitivity : {"entrywise", "exact"}, default "entrywise"
        "exact" measures contributions by the largest l1 move of the release, at a cost of
        :math:`2^{k-1}`, in the weights and in the noise; for Laplace noise.
    clip : bool, default False
        Clip labels to the bounds instead of raising.
    solver : str, default "auto"
        As in `gwa_weights`.
    tol : float, default 1e-8
        Certified relative gap of the weights, as in `gwa_weights`.
    random_state : None, int or Generator, default None
        None for every real release: with the same integer the difference of two releases is the
        exact shift.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Released coefficients, in your units.
    intercept_ : float
        Released intercept; 0.0 without `fit_intercept`.
    release_ : ndarray, shape (k,)
        What was released; `coef_` is computed from it.
    scale_ : float
        Scale of the noise on every entry of `release_`, computed from the matrix that is used.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    gap_ : float
        Certified relative gap of the weights, public.
    rank_ : int
        Rank of X, with the constant.
    guarantee_ : PureDP or GaussianDP
        What each user was promised, in the order of `users_`.
    exposure_ : ndarray, shape (m,)
        Largest loss that each user really can suffer, public: their share of the largest
        contribution times their budget. At most what `guarantee_` says, in its unit.
    users_ : ndarray, shape (m,)
        Sorted labels of the users.
    n_features_in_ : int
        Number of columns of X.

    Raises
    ------
    ConvergenceError
        If the weights are not certified to `tol`; nothing is released.

    Warns
    -----
    UserWarning
        If X lacks rank and there is no prior: only the row space is estimable, and `coef_` is the
        minimum-norm solution.

    Notes
    -----
    Statements ``thm-gwa`` (Epasto et al. 2020, Theorem 6), ``prop-gaussian-gwa``,
    ``prop-prediction-gwa``, ``prop-ridge-gwa`` (ours), chapter *user_level/gwa*. Rounding of
    floats is not covered by the promise.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[1.0], [2.0], [1.0]])
    >>> model = GWARegression(random_state=0).fit(X, [0.5, 1.0, 0.4], users=["a", "a", "b"])
    >>> model.exposure_.round(3), model.coef_.shape
    (array([1., 1.]), (1,))
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        delta: float = 0.0,
        sigma2: float | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        fit_intercept: bool = False,
        objective: str = "parameters",
        prior: float | None = None,
        sensitivity: str = "entrywise",
        clip: bool = False,
        solver: str = "auto",
        tol: float = 1e-8,
        random_state: int | np.random.Generator | None = None,
    ):
        self.epsilon = epsilon
        self.delta = delta
        self.sigma2 = sigma2
        self.y_bounds = y_bounds
        self.fit_intercept = fit_intercept
        self.objective = objective
        self.prior = prior
        self.sensitivity = sensitivity
        self.clip = clip
        self.solver = solver
        self.tol = tol
        self.random_state = random_state

    def _check_settings(self, epsilon: Any) -> Any:
        check_choice(self.objective, "objective", OBJECTIVES)
        check_single(check_positive(self.tol, "tol"), "tol")
        if self.prior is not None:
            check_scale(self.prior, "prior")
        exact = check_choice(self.sensitivity, "sensitivity", ("entrywise", "exact")) == "exact"
        if exact and self.delta != 0:
            raise ValueError("sensitivity must be 'entrywise' with delta above 0, Gaussian noise")
        return super()._check_settings(epsilon)

    def _plan(self, X: Floats, users: Users, epsilon: Floats) -> Plan:
        return self._weights(self._rows(X), users, epsilon, self._width())[0]

    def _weights(
        self, X: Floats, users: Users, epsilon: Floats, width: float
    ) -> tuple[Plan, float]:
        """The plan for labels in an interval of this width, and its variance or risk."""
        tau, noise = self._tau(epsilon)
        basis, rank = estimable(X, biased=self.prior is not None)
        design = X @ basis
        target = None
        back = basis
        if self.objective == "prediction":
            target = prediction_root(design)
            back = basis @ np.linalg.pinv(target)
        found = gwa_weights(
            design,
            users.codes,
            sigma2=self._sigma2(),
            epsilon=epsilon[users.codes],
            width=width,
            solver=self.solver,
            tol=self.tol,
            target=target,
            prior=self.prior,
            norm="l1" if noise == "laplace" else "l2",
            delta=self.delta if noise == "gaussian" else None,
            sensitivity=self.sensitivity,
        )
        moves = contributions(found.C, users, noise, self.sensitivity)
        plan = plan_release(
            found.C, back, moves, tau, width, noise=noise, gap_=float(found.gap), rank_=rank
        )
        return plan, float(found.objective)


def prediction_root(X: ArrayLike) -> Floats:
    r"""Symmetric root of the second moments of X: the target that makes prediction error least.

    .. math:: A = (X^\top X/n)^{1/2}, \qquad \frac1n\|X v\|^2 = \|A v\|^2

    Parameters
    ----------
    X : array_like, shape (n, d)
        Rows of the data.

    Returns
    -------
    ndarray, shape (d, d)
        The root A.

    Notes
    -----
    Statement ``prop-prediction-gwa`` (ours), chapter *user_level/gwa*.

    Examples
    --------
    >>> prediction_root([[3.0, 0.0], [0.0, 1.0]]).round(3)
    array([[2.121, 0.   ],
           [0.   , 0.707]])
    """
    rows = np.asarray(X, dtype=float)
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


class SampleLimitedRegression(LabelPrivateRegression):
    r"""Least squares on at most h rows a user, plus noise: the baseline of GWA.

    X IS PUBLIC: only labels are protected, those of a user all at once. With U the kept rows the
    release is :math:`(U^\top U)^{-1}U^\top` times the kept labels plus
    :math:`\mathrm{Lap}(t)` on every entry, t as in `GWARegression`.

    Parameters
    ----------
    threshold : "best", "max" or int, default "best"
        Most rows h that one user keeps. "max" keeps all; "best" has the least variance

        .. math:: \sigma^2\operatorname{tr}(U^\top U)^{-1} + 2dt^2 ,

        a function of public things alone. Of more than 500 thresholds it looks at 500.
    sensitivity : {"entrywise", "exact"}, default "entrywise"
        "exact" takes the largest l1 move of the release instead of the sum of column norms: less
        noise, at a cost of :math:`2^{d-1}`.
    choice : int, default 0
        Public seed of the rows that are kept. It is no secret, and independent of the labels.
    epsilon, sigma2, y_bounds, fit_intercept, clip, random_state
        As in `GWARegression`.

    Attributes
    ----------
    threshold_ : int
        The threshold in use, public.
    coef_, intercept_, release_, scale_, rank_, guarantee_, exposure_, users_, n_features_in_
        As in `GWARegression`.

    Raises
    ------
    ValueError
        If the kept rows have less rank than X, so that no unbiased estimate exists; it names the
        threshold. "best" passes over such thresholds.

    Warns
    -----
    UserWarning
        If X lacks rank: `coef_` is the minimum-norm solution, as in `GWARegression`.

    Notes
    -----
    Statements ``prop-sample-limit-regression`` (Epasto et al. 2020, section 5.2),
    ``prop-exact-sensitivity`` (ours), chapter *user_level/gwa*.

    Examples
    --------
    >>> import numpy as np
    >>> X, users = np.ones((4, 1)), ["a", "a", "a", "b"]
    >>> model = SampleLimitedRegression(random_state=0).fit(X, [0.1, 0.2, 0.0, 0.3], users=users)
    >>> model.threshold_, round(model.scale_, 6)
    (1, 1.0)
    """

    def __init__(
        self,
        *,
        threshold: str | int = "best",
        sensitivity: str = "entrywise",
        choice: int = 0,
        epsilon: Any = 1.0,
        sigma2: float | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        fit_intercept: bool = False,
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.threshold = threshold
        self.sensitivity = sensitivity
        self.choice = choice
        self.epsilon = epsilon
        self.sigma2 = sigma2
        self.y_bounds = y_bounds
        self.fit_intercept = fit_intercept
        self.clip = clip
        self.random_state = random_state

    def _check_settings(self, epsilon: Any) -> Any:
        if isinstance(self.threshold, str):
            check_choice(self.threshold, "threshold", ("best", "max"))
        else:
            check_count(self.threshold, "threshold")
        check_choice(self.sensitivity, "sensitivity", ("entrywise", "exact"))
        check_count(self.choice, "choice", minimum=0)
        return super()._check_settings(epsilon)

    def _plan(self, X: Floats, users: Users, epsilon: Floats) -> Plan:
        basis, _ = estimable(self._rows(X))
        rows = self._rows(X) @ basis
        place = places(users, np.random.default_rng(self.choice))
        largest = int(users.sizes.max())
        if self.threshold != "best":
            h = largest if self.threshold == "max" else min(int(self.threshold), largest)
            return self._limited(rows, basis, place, h, users, epsilon)
        best = self._limited(rows, basis, place, largest, users, epsilon)
        least = self._variance(best)
        for h in candidates(largest)[:-1]:
            try:
                plan = self._limited(rows, basis, place, h, users, epsilon)
            except RankLost:
                continue
            if self._variance(plan) < least:
                best, least = plan, self._variance(plan)
        return best

    def _variance(self, plan: Plan) -> float:
        return float(self._sigma2() * (plan.C**2).sum() + 2 * len(plan.C) * plan.scale**2)

    def _limited(
        self,
        X: Floats,
        basis: Floats,
        place: NDArray[np.intp],
        h: int,
        users: Users,
        epsilon: Floats,
    ) -> Plan:
        kept = place < h
        left, values, right = np.linalg.svd(X[kept], full_matrices=False)
        d = X.shape[1]
        rank = int((values > values[0] * max(X.shape) * ULP).sum())
        if rank < d:
            raise RankLost(
                f"threshold must keep rows of rank {d}, the rank of X; at most {h} of each user "
                f"have rank {rank}"
            )
        C = np.zeros((d, len(X)))
        C[:, kept] = (right.T / values) @ left.T
        moves = contributions(C, users, "laplace", self.sensitivity)
        return plan_release(C, basis, moves, epsilon, self._width(), threshold_=int(h), rank_=d)


class RankLost(ValueError):
    """The kept rows have less rank than X."""


def places(users: Users, rng: np.random.Generator) -> NDArray[np.intp]:
    """Place 0, 1, ... of every row among those of its user, in random order."""
    order = rng.permutation(len(users.codes))
    order = order[np.argsort(users.codes[order], kind="stable")]
    start = np.cumsum(users.sizes) - users.sizes
    place = np.empty(len(order), dtype=np.intp)
    place[order] = np.arange(len(order)) - np.repeat(start, users.sizes)
    return place


def candidates(largest: int) -> NDArray[np.intp]:
    """Thresholds that "best" looks at."""
    if largest <= MOST_THRESHOLDS:
        return np.arange(1, largest + 1)
    return np.unique(np.geomspace(1, largest, MOST_THRESHOLDS).round().astype(np.intp))
