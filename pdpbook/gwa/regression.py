"""Linear regression whose labels are private per user: optimal weights, or a limit on rows."""

from __future__ import annotations

import warnings
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook._domain import ULP
from pdpbook._users import Users
from pdpbook.frames.settings import mechanism, one_of, optional, setting, single
from pdpbook.frames.users import Plan, limit_on_rows
from pdpbook.gwa._release import LabelPrivateRegression
from pdpbook.gwa.sensitivity import exact_sensitivity
from pdpbook.gwa.solver import gwa_weights
from pdpbook.noise import gaussian_mu

MOST_THRESHOLDS = 500  # of which "best" looks at all; of more, at so many in a geometric grid


@mechanism
class GWARegression(LabelPrivateRegression):
    r"""Generalized weighted averaging: the linear unbiased release of least variance.

    X IS PUBLIC: only labels are protected, those of a user all at once. The release is :math:`Cy`
    plus :math:`\mathrm{Lap}(t)` on every entry, and :math:`C` solves

    .. math:: \min_{CX=A}\ \sigma^2\|C\|_F^2 + 2kt^2 , \qquad
              t = \max_l \frac{B}{\varepsilon_l}\sum_{i\in S_l}\|c_i\|_1 ,

    with :math:`c_i` the columns of C, :math:`S_l` the rows of user l, B the width of `y_bounds` and
    A of shape (k, d) the target. Labels are not shifted. Rounding of floats is not covered by the
    promise.
    Statements ``alg-gwa`` and ``thm-gwa`` (Epasto et al. 2020, Theorem 6), chapter
    *user_level/gwa*, and ``prop-gaussian-gwa``, ``prop-prediction-gwa``, ``prop-ridge-gwa``
    (ours), chapter *user_level/gwa_variants*.

    Parameters
    ----------
    delta : float, default 0.0
        Failure probability in [0, 1). 0 is Laplace noise; above 0 it is Gaussian noise, l2 norms of
        the columns instead, and ``guarantee_`` gives each user the mu of (epsilon, delta).
    objective : {"parameters", "prediction"}, default "parameters"
        Whose squared error is least: of the coefficients, or of predictions averaged over the
        rows of X (A is `prediction_root`, mapped back after the release).
    prior : float, optional
        Variance of the coefficients under a prior with mean 0. The release is biased and
        minimizes the Bayes risk; X may lack rank. None is unbiased.

    Attributes
    ----------
    gap_ : float
        Certified relative gap of the weights, public.
    guarantee_ : PureDP or GaussianDP
        What each user was promised, in the order of `users_`.

    Examples
    --------
    >>> X, users = [[1.0], [2.0], [1.0]], ["a", "a", "b"]
    >>> GWARegression(random_state=0).fit(X, [0.5, 1.0, 0.4], users=users).exposure_.round(3)
    array([1., 1.])
    """

    delta: float = setting(default=0.0, rule=partial(check.delta, zero=True))
    objective: str = setting(default="parameters", rule=one_of("parameters", "prediction"))
    prior: float | None = setting(default=None, rule=optional(check.scale))
    sensitivity: str = setting(default="entrywise", rule=one_of("entrywise", "exact"))
    solver: str = setting(default="auto")
    tol: float = setting(default=1e-8, rule=single(check.positive))

    def check(self) -> None:
        if self.sensitivity == "exact" and self.delta != 0:
            raise ValueError("sensitivity must be 'entrywise' with delta above 0, Gaussian noise")

    def plan(self, X: Floats, users: Users, epsilon: Floats) -> Plan:
        return self.weigh(self.with_constant(X), users, epsilon, self.width())[0]

    def weigh(self, X: Floats, users: Users, epsilon: Floats, width: float) -> tuple[Plan, float]:
        """Return the plan for labels in an interval of this width, and its variance or risk."""
        back, rank = estimable(X, biased=self.prior is not None)
        design, A = X @ back, None
        if self.objective == "prediction":
            A = prediction_root(design)
            back = back @ np.linalg.pinv(A)
        gaussian = self.delta > 0
        found = gwa_weights(
            design,
            users.codes,
            sigma2=self.label_variance(),
            epsilon=epsilon[users.codes],
            width=width,
            solver=self.solver,
            tol=self.tol,
            target=A,
            prior=self.prior,
            norm="l2" if gaussian else "l1",
            delta=self.delta if gaussian else None,
            sensitivity=self.sensitivity,
        )
        tau = np.asarray(gaussian_mu(epsilon, self.delta)) if gaussian else epsilon
        known = {"gap_": float(found.gap), "rank_": rank}
        plan = plan_release(found.C, back, found.contributions, tau, width, **known)
        return plan, float(found.objective)


def estimable(X: Floats, *, biased: bool = False) -> tuple[Floats, int]:
    """Basis of what is estimable from X, shape (d, r), and the rank; the identity at full rank."""
    d = X.shape[1]
    _, values, rows = np.linalg.svd(X, full_matrices=False)
    rank = int((values > values[0] * max(X.shape) * ULP).sum())
    if rank == 0:
        raise ValueError("X must have an entry other than 0; nothing is estimable from it")
    if rank == d or biased:  # the l1 norm depends on coordinates: keep those of X
        return np.eye(d), rank
    warnings.warn(
        f"X has rank {rank}, less than its {d} columns: only the row space is estimable, and "
        "coef_ is the minimum-norm solution",
        UserWarning,
        stacklevel=5,
    )
    return np.asarray(rows[:rank].T), rank


def plan_release(
    C: Floats, back: Floats, moves: Floats, tau: Floats, width: float, **public: Any
) -> Plan:
    """Noise from the returned matrix: scale = width * max_l moves_l / tau_l."""
    scale = float(width * np.max(moves / tau))
    return Plan(C, scale, width * moves / scale, public=public, back=back)


def prediction_root(X: ArrayLike) -> Floats:
    r"""Symmetric root of the second moments of X: the target that makes prediction error least.

    .. math:: A = (X^\top X/n)^{1/2}, \qquad \frac1n\|X v\|^2 = \|A v\|^2

    Statement ``prop-prediction-gwa`` (ours), chapter *user_level/gwa_variants*. Returns an array of
    shape (d, d).

    Parameters
    ----------
    X : array_like, shape (n, d)
    """
    rows = np.asarray(X, dtype=float)
    values, vectors = np.linalg.eigh(rows.T @ rows / len(rows))
    return np.asarray((vectors * np.sqrt(np.maximum(values, 0))) @ vectors.T)


@mechanism
class SampleLimitedRegression(LabelPrivateRegression):
    r"""Least squares on at most h rows a user, plus noise: the baseline of GWA.

    X IS PUBLIC: only labels are protected, those of a user all at once. With U the kept rows the
    release is :math:`(U^\top U)^{-1}U^\top` times the kept labels plus
    :math:`\mathrm{Lap}(t)` on every entry, t as in `GWARegression`. Statement
    ``prop-sample-limit-regression`` (Epasto et al. 2020, section 5.2), chapter *user_level/gwa*,
    and ``prop-exact-sensitivity`` (ours), chapter *user_level/gwa_dual*.

    Parameters
    ----------
    max_rows : "best", "max" or int, default "best"
        Most rows h that one user keeps. "max" keeps all; "best" has the least
        :math:`\sigma^2\operatorname{tr}(U^\top U)^{-1} + 2dt^2`, the variance, a function of public
        things alone. Of more than 500 thresholds it looks at 500. If a number keeps rows of less
        rank than X, no estimate is unbiased: ValueError. "best" passes over such thresholds.
    selection_seed : int, default 0
        Says which rows are kept, by their order within a user: public, so not sorted by labels.

    Attributes
    ----------
    max_rows_ : int
        The limit in use, public.

    Examples
    --------
    >>> model = SampleLimitedRegression(random_state=0)
    >>> model = model.fit([[1.0]] * 4, [0.1, 0.2, 0.0, 0.3], users=["a", "a", "a", "b"])
    >>> model.max_rows_, round(model.noise_.scale, 6)
    (1, 1.0)
    """

    max_rows: str | int = setting(default="best", rule=limit_on_rows)
    sensitivity: str = setting(default="entrywise", rule=one_of("entrywise", "exact"))
    selection_seed: int = setting(default=0, rule=partial(check.count, minimum=0))

    def plan(self, X: Floats, users: Users, epsilon: Floats) -> Plan:
        X = self.with_constant(X)
        basis, d = estimable(X)
        rows, place = X @ basis, users.places(self.selection_seed)
        largest = int(users.sizes.max())

        def limited(h: int) -> Plan:
            C = kept_least_squares(rows, place < h, h)
            if self.sensitivity == "exact":
                moves = exact_sensitivity(C, users.codes)
            else:
                moves = np.bincount(users.codes, np.abs(C).sum(axis=0)).astype(float)
            known = {"max_rows_": int(h), "rank_": d}
            return plan_release(C, basis, moves, epsilon, self.width(), **known)

        most = largest if self.max_rows in ("best", "max") else int(self.max_rows)
        best = limited(min(most, largest))
        for h in candidates(largest)[:-1] if self.max_rows == "best" else ():
            with suppress(RankLost):  # no unbiased estimate from so few rows
                best = min(best, limited(h), key=self.total_variance)
        return best

    def total_variance(self, plan: Plan) -> float:
        """Return the sum of variances of a release, for the guessed variance of labels."""
        C = plan.weights
        return float(self.label_variance() * (C**2).sum() + 2 * len(C) * plan.scale**2)


def kept_least_squares(X: Floats, kept: NDArray[np.bool_], h: int) -> Floats:
    left, values, right = np.linalg.svd(X[kept], full_matrices=False)
    d = X.shape[1]
    rank = int((values > values[0] * max(X.shape) * ULP).sum())
    if rank < d:
        raise RankLost(
            f"max_rows must keep rows of rank {d}, the rank of X; at most {h} of each user "
            f"have rank {rank}"
        )
    C = np.zeros((d, len(X)))
    C[:, kept] = (right.T / values) @ left.T
    return C


class RankLost(ValueError):
    """The kept rows have less rank than X."""


def candidates(largest: int) -> NDArray[np.intp]:
    if largest <= MOST_THRESHOLDS:
        return np.arange(1, largest + 1)
    return np.unique(np.geomspace(1, largest, MOST_THRESHOLDS).round().astype(np.intp))
