"""Private means when a person may own many rows: weighted users, or a limit on rows.

Both protect all rows of a person at once and keep a budget of their own for everybody. Who owns
which row is public. The weights come from `weights`, which has never seen a label.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pdpbook._accounts import charge, check_account
from pdpbook._domain import (
    check_flag,
    generator_from,
    inside,
    labels_of,
    refuse_few,
    row_count,
)
from pdpbook._users import (
    Part,
    Users,
    check_budgets_of_users,
    check_user_epsilon,
    check_users,
    part_of,
)
from pdpbook.blocks import in_memory
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.noise import ProductLaw
from pdpbook.reports.frames import mean_frame
from pdpbook.reports.noise import Crowd, Noise
from pdpbook.reports.reported import ReportedOfUsers
from pdpbook.user_level.weights import limit_rows, sample_limit, tradeoff_weights
from pdpbook.validation import (
    check_bounds,
    check_choice,
    check_count,
    check_positive,
    check_scale,
)

__all__ = ["SampleLimitedMean", "WeightedMean"]

Floats = NDArray[np.float64]


class _Plan(NamedTuple):
    """What is fixed before a label is looked at."""

    row_weights: Floats  #: shape (n,), one a row of the data, summing to 1
    report: dict[str, Any]  #: public attributes of the fitted estimator


class _UserMean(ReportedOfUsers, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A weighted mean of all rows plus Laplace noise; subclasses say which weights."""

    epsilon: Any
    sigma2: float | None
    y_bounds: ArrayLike
    clip: bool
    random_state: Any
    _reads_rows = False

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        users: Any = None,
        epsilon: Any = None,
        account: BudgetAccount | None = None,
    ) -> Self:
        """Release a private mean of y; X counts for its number of rows alone.

        Parameters
        ----------
        X : array_like, n rows of anything
            Not looked at.
        y : array_like, shape (n,)
            Labels, inside `y_bounds`.
        users : array_like, shape (n,), optional
            Who owns each row, public; None makes every row a user of its own.
        epsilon : float, mapping or array_like, optional
            Budgets in nats: a number; shape (n,), one value a row by position, the same on all
            rows of a user; or by user: a mapping, or a Series of another length whose index is
            exactly the users. Whoever has 0 takes no part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        object
            The fitted estimator.
        """
        in_memory(f"{type(self).__name__}.fit", X, y, users, epsilon)
        settings = self._check_settings(epsilon)
        check_account(account)
        rng = generator_from(self.random_state)
        labels, owners, budgets, part = self._data(X, y, users, settings)
        refuse_few(len(owners.codes))
        plan = self._plan(part.users, part.epsilon)
        scale = self._noise_scale(plan.row_weights, part.users, part.epsilon)
        low, _ = check_bounds(self.y_bounds, "y_bounds")  # far from 0 nothing is lost to rounding
        law = self._law(plan, labels - low, scale)
        promise = PureDP(epsilon=budgets, neighbors="user")
        charge(account, promise, X, owners)
        self.noise_scale_ = scale
        self.mean_ = float(low + law.sample(rng=rng)[0])
        shares = self._contributions(plan.row_weights, part.users)
        self.exposure_ = part.everybody(self._width() * shares / self.noise_scale_)
        self.guarantee_ = promise
        self.users_ = owners.labels
        for name, value in plan.report.items():
            setattr(self, name, part.everybody(value) if np.ndim(value) else value)
        self._keep_noise(Crowd(0, budgets, len(labels), owners))
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the released mean once for each row of X."""
        check_is_fitted(self)
        return np.full(row_count(X), self.mean_)

    def output_law(
        self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None
    ) -> ProductLaw:
        """Exact law of the released mean. NOT private: for audits and teaching.

        Parameters are as in `fit`, which draws once from exactly this law.
        """
        in_memory(f"{type(self).__name__}.output_law", X, y, users, epsilon)
        settings = self._check_settings(epsilon)
        labels, _, _, part = self._data(X, y, users, settings)
        plan = self._plan(part.users, part.epsilon)
        scale = self._noise_scale(plan.row_weights, part.users, part.epsilon)
        return self._law(plan, labels, scale)

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        """Exact: the variance of Laplace noise."""
        if crowd.fitted:
            scale = self.noise_scale_
        else:
            part = crowd.part
            weights = self._plan(part.users, part.epsilon).row_weights
            scale = self._noise_scale(weights, part.users, part.epsilon)
        return Noise.of(crowd, mean_frame(1.0), 2 * scale**2, exact=True, width=self._width())

    @abstractmethod
    def _plan(self, users: Users, budgets: Floats) -> _Plan:
        """Choose the weights: a function of public things alone."""

    def _contributions(self, row_weights: Floats, users: Users) -> Floats:
        """How far each user can move the mean, over the width of a label; shape (m,)."""
        sums = np.bincount(users.codes, weights=row_weights, minlength=len(users.labels))
        return np.asarray(sums, dtype=float)

    def _noise_scale(self, row_weights: Floats, users: Users, budgets: Floats) -> float:
        """Scale of the Laplace noise, from the weights that are used."""
        shares = self._contributions(row_weights, users)
        return float(check_positive(self._width() * np.max(shares / budgets), "noise_scale"))

    def _law(self, plan: _Plan, labels: Floats, scale: float) -> ProductLaw:
        return ProductLaw(np.array([plan.row_weights @ labels]), np.array([scale]))

    def _tradeoff(self, epsilon: float) -> float:
        """A of the objective: the variance of a label over that of the noise at weight 1."""
        unit = self._width() / epsilon
        sigma2 = self._width() ** 2 / 12 if self.sigma2 is None else float(self.sigma2)
        with np.errstate(over="ignore"):
            return float(np.float64(sigma2) / unit / unit / 2)

    def _width(self) -> float:
        low, high = check_bounds(self.y_bounds, "y_bounds")
        return float(high - low)

    def _data(
        self, X: ArrayLike, y: ArrayLike, users: ArrayLike | None, settings: Any
    ) -> tuple[Floats, Users, Floats, Part]:
        """Labels of those who take part; users, their budgets, and who takes part."""
        labels = labels_of(X, y)
        owners = check_users(users, len(labels), X=X, y=y)
        budgets = check_user_epsilon(settings, owners)
        part = part_of(owners, budgets)
        low, high = check_bounds(self.y_bounds, "y_bounds")
        heard = inside(labels[part.rows], low, high, "y", "y_bounds", self.clip)
        return heard, owners, budgets, part

    def _check_settings(self, epsilon: Any) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = self.epsilon if epsilon is None else epsilon
        check_budgets_of_users(budgets)
        check_flag(self.clip, "clip")
        self._width()
        if self.sigma2 is not None:
            check_scale(self.sigma2, "sigma2", zero=True)
        return budgets

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = tags.input_tags.sparse = True  # X is not looked at
        tags.regressor_tags.poor_score = True  # a mean explains no variance
        return tags


class WeightedMean(_UserMean):
    r"""A mean in which large users weigh more, up to a smooth limit, and each keeps a budget.

    On labels in an interval of width :math:`B` it releases

    .. math:: \sum_l w_l\bar y_l + \text{Laplace}\Bigl(B\max_l\frac{w_l}{\varepsilon_l}\Bigr),
              \qquad w_l = \frac{\min(s_l, h\tau_l)}{n_h},\quad
              \tau_l=\frac{\varepsilon_l}{\max_k\varepsilon_k} ,

    with :math:`\bar y_l` the mean of the :math:`s_l` labels of user l, and the h that makes the
    variance smallest, for labels of variance `sigma2` around a common mean.

    Parameters
    ----------
    epsilon : float, mapping or array_like, default 1.0
        Budget in nats, for everybody or one a user as in `fit`, which can be given others. Public.
    sigma2 : float, optional
        Variance of a label, in your units squared: public, at least 0. It steers the weights and
        carries no privacy. None is that of a uniform label, a twelfth of the squared width.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units.
    clip : bool, default False
        Clip labels to the bounds instead of raising.
    random_state : None, int or Generator, default None
        None for every real release: an integer repeats the noise, and the difference of two such
        releases is the exact shift.

    Attributes
    ----------
    mean_ : float
        The released mean, in your units: unbiased, so it may lie outside `y_bounds`.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    noise_scale_ : float
        Scale of the Laplace noise in your units, data-independent.
    h_ : float
        The root of the equation for h: rows that count in full for a user of the largest budget.
    weights_ : ndarray, shape (m,)
        Weight of each user, data-independent.
    exposure_ : ndarray, shape (m,)
        Largest privacy loss that each user can suffer, in nats: the budget of whoever is at the
        limit, less for all others.
    guarantee_ : PureDP
        What each user was promised, in the order of `users_`, when all of their rows are replaced.
    users_ : ndarray, shape (m,)
        Labels of the users, sorted.

    Notes
    -----
    Statements ``alg-wa``, ``lem-wa-optimum`` and ``thm-personal-users``, chapter
    *user_level/mean*; Epasto et al. (2020), Algorithm 1.

    Examples
    --------
    >>> import numpy as np
    >>> users = np.repeat(["ann", "bo", "cy"], [1, 3, 996])
    >>> y = np.linspace(0, 1, 1000)
    >>> model = WeightedMean(epsilon=5.0, y_bounds=(0, 1), random_state=0).fit(y, y, users=users)
    >>> round(model.h_, 2), model.weights_.round(3), model.exposure_.round(2)
    (1.55, array([0.244, 0.378, 0.378]), array([3.24, 5.  , 5.  ]))
    """

    def __init__(
        self,
        *,
        epsilon: Any = 1.0,
        sigma2: float | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.epsilon = epsilon
        self.sigma2 = sigma2
        self.y_bounds = y_bounds
        self.clip = clip
        self.random_state = random_state

    def _plan(self, users: Users, budgets: Floats) -> _Plan:
        top = float(budgets.max())
        best = tradeoff_weights(users.sizes, self._tradeoff(top), budgets / top)
        report = {"h_": best.h, "weights_": best.weights}
        return _Plan(best.row_weights[users.codes], report)


class SampleLimitedMean(_UserMean):
    r"""The plain mean of at most h rows of every user: the line that `WeightedMean` has to beat.

    On labels in an interval of width :math:`B` it keeps :math:`k_l=\min(s_l,h)` rows of user l,
    :math:`n_h` in all, and releases

    .. math:: \frac1{n_h}\sum_{\text{kept}}y_i
              + \text{Laplace}\Bigl(\frac B{n_h}\max_l\frac{k_l}{\varepsilon_l}\Bigr) .

    Parameters
    ----------
    threshold : "best", "max" or int, default "best"
        h: the whole number of smallest variance, as if everybody had the smallest budget; the
        largest size, which keeps all rows; or a whole number of at least 1. Labels play no part.
    epsilon : float, mapping or array_like, default 1.0
        Budget in nats, for everybody or one a user as in `fit`, which can be given others. Public.
    sigma2 : float, optional
        Variance of a label, in your units squared: public, at least 0; steers "best" alone. None
        is that of a uniform label.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units.
    clip : bool, default False
        Clip labels to the bounds instead of raising.
    selection_seed : int, default 0
        Says which rows are kept: a random choice that is public, the same for `fit` and
        `output_law`, and blind to X and y.
    random_state : None, int or Generator, default None
        Of the noise; None for every real release, see `WeightedMean`.

    Attributes
    ----------
    mean_ : float
        The released mean, in your units: unbiased, so it may lie outside `y_bounds`.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    noise_scale_ : float
        Scale of the Laplace noise in your units, data-independent.
    threshold_ : int
        The largest number of rows that is kept of a user.
    exposure_ : ndarray, shape (m,)
        Largest privacy loss that each user can suffer, in nats.
    guarantee_ : PureDP
        What each user was promised, in the order of `users_`, when all of their rows are replaced.
    users_ : ndarray, shape (m,)
        Labels of the users, sorted.

    Notes
    -----
    Statements ``claim-sample-limit``, chapter *user_level/mean_limits*, and
    ``thm-personal-users``, chapter *user_level/mean*.

    Examples
    --------
    >>> import numpy as np
    >>> users = np.repeat(["ann", "bo", "cy"], [1, 3, 996])
    >>> y = np.linspace(0, 1, 1000)
    >>> model = SampleLimitedMean(epsilon=5.0, y_bounds=(0, 1), random_state=0)
    >>> model.fit(y, y, users=users).threshold_
    3
    """

    def __init__(
        self,
        *,
        threshold: Any = "best",
        epsilon: Any = 1.0,
        sigma2: float | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        selection_seed: int = 0,
        random_state: int | np.random.Generator | None = None,
    ):
        self.threshold = threshold
        self.epsilon = epsilon
        self.sigma2 = sigma2
        self.y_bounds = y_bounds
        self.clip = clip
        self.selection_seed = selection_seed
        self.random_state = random_state

    def _plan(self, users: Users, budgets: Floats) -> _Plan:
        most = int(users.sizes.max())
        if self.threshold == "best":
            most = int(sample_limit(users.sizes, self._tradeoff(float(budgets.min()))).threshold)
        elif self.threshold != "max":
            most = min(most, int(self.threshold))
        kept = self._keep(users, most)
        return _Plan(kept / kept.sum(), {"threshold_": most})

    def _keep(self, users: Users, threshold: int) -> NDArray[np.bool_]:
        rng = np.random.default_rng(self.selection_seed)
        return limit_rows(users.codes, threshold, rng=rng)

    def _check_settings(self, epsilon: Any) -> Any:
        if isinstance(self.threshold, str):
            check_choice(self.threshold, "threshold", ("best", "max"))
        else:
            check_count(self.threshold, "threshold")
        check_count(self.selection_seed, "selection_seed", minimum=0)
        return super()._check_settings(epsilon)
