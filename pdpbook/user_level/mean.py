"""Private means when a person may own many rows: weighted users, or a limit on rows.

Both protect all rows of a person at once, with a budget each; who owns which row is public.
"""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np

from pdpbook import Floats, check
from pdpbook._users import Users
from pdpbook.frames.means import MeanOfLabels
from pdpbook.frames.settings import mechanism, setting
from pdpbook.frames.users import PeopleWithRows, Plan, PublicUsers, UserRegressor, limit_on_rows
from pdpbook.guarantees import PureDP
from pdpbook.noise import ProductLaw
from pdpbook.noise.public import PublicNoise
from pdpbook.user_level.weights import sample_limit, tradeoff_weights


@mechanism
class UserMean(MeanOfLabels, UserRegressor):
    """A weighted mean of all rows plus Laplace noise, whatever X is; subclasses say which weights.

    Attributes
    ----------
    mean_ : float, in your units: unbiased, so it may lie outside the bounds of y
    noise_ : PublicNoise
        ``noise_.scale`` is that of Laplace noise, in your units.
    guarantee_ : PureDP
        What each user was promised, in the order of `users_`, when all of their rows are replaced.
    """

    def law(self, people: PeopleWithRows) -> ProductLaw:
        plan = people.plan
        return ProductLaw(np.array([plan.weights @ people.y]), np.array([plan.scale]))

    def promise(self, people: PeopleWithRows) -> PureDP:
        return PureDP(people.promised, neighbors="user")

    def plan(self, users: Users, budgets: Floats) -> Plan:
        """Choose the weights: a function of public things alone."""
        raise NotImplementedError

    def weighing(self, row_weights: Floats, users: Users, budgets: Floats, **more: Any) -> Plan:
        """Return the plan with these weights of rows: the noise follows."""
        scale = self.noise_scale(row_weights, users, budgets)
        exposure = self.width() * self.contributions(row_weights, users) / scale
        return Plan(row_weights, scale, exposure, **more)

    def contributions(self, row_weights: Floats, users: Users) -> Floats:
        """Return how far each user can move the mean, over the width of a label; shape (m,)."""
        if users.summed:
            return row_weights * users.sizes
        return np.bincount(users.codes, row_weights, len(users.labels)).astype(float)

    def noise_scale(self, row_weights: Floats, users: Users, budgets: Floats) -> float:
        """Return the scale of the Laplace noise, from the weights that are used."""
        shares = self.contributions(row_weights, users)
        return float(check.positive(self.width() * np.max(shares / budgets), "noise_scale"))

    def tradeoff(self, epsilon: float) -> float:
        """Return A: the variance of a label over that of the noise at weight 1."""
        unit = self.width() / epsilon
        with np.errstate(over="ignore"):
            return float(np.float64(self.label_variance()) / unit / unit / 2)

    def planned(self, public: PublicUsers) -> Plan:
        part = public.part
        return self.plan(part.users, part.epsilon)

    def origin(self) -> float:
        return float(check.bounds(self.y_bounds, "y_bounds")[0])

    def release(self, draw: Floats, law: ProductLaw, people: PeopleWithRows) -> None:
        super().release(draw, law, people)
        self.mean_ = float(people.origin + draw[0])
        scale = people.plan.scale
        self.noise_ = PublicNoise(scale=scale, covariance=np.array([[2 * scale * scale]]))


@mechanism
class WeightedMean(UserMean):
    r"""A mean in which large users weigh more, up to a smooth limit, and each keeps a budget.

    On labels in an interval of width :math:`B` it releases

    .. math:: \sum_l w_l\bar y_l + \text{Laplace}\Bigl(B\max_l\frac{w_l}{\varepsilon_l}\Bigr),
              \qquad w_l = \frac{\min(s_l, h\tau_l)}{n_h},\quad
              \tau_l=\frac{\varepsilon_l}{\max_k\varepsilon_k} ,

    with :math:`\bar y_l` the mean of the :math:`s_l` labels of user l, and the h of least variance,
    for labels of variance `sigma2` around a common mean. Statements ``alg-wa``, ``lem-wa-optimum``
    and ``thm-personal-users``, chapter *user_level/mean*; Epasto et al. (2020), Algorithm 1.

    Attributes
    ----------
    h_ : float, root of the equation for h: rows that count in full at the largest budget
    weights_ : ndarray, shape (m,), of the users: data-independent

    Examples
    --------
    >>> users, y = np.repeat(["ann", "bo", "cy"], [1, 3, 996]), np.linspace(0, 1, 1000)
    >>> model = WeightedMean(epsilon=5.0, y_bounds=(0, 1), random_state=0).fit(y, y, users=users)
    >>> round(model.h_, 2), model.weights_.round(3), model.exposure_.round(2)
    (1.55, array([0.244, 0.378, 0.378]), array([3.24, 5.  , 5.  ]))
    """

    def plan(self, users: Users, budgets: Floats) -> Plan:
        top = float(budgets.max())
        best = tradeoff_weights(users.sizes, self.tradeoff(top), budgets / top)
        rows, each = users.spread(best.row_weights), {"weights_": best.weights}
        return self.weighing(rows, users, budgets, each=each, public={"h_": best.h})


@mechanism
class SampleLimitedMean(UserMean):
    r"""The plain mean of at most h rows of every user: the line that `WeightedMean` has to beat.

    On labels in an interval of width :math:`B` it keeps :math:`k_l=\min(s_l,h)` rows of user l,
    :math:`n_h` in all, and releases

    .. math:: \frac1{n_h}\sum_{\text{kept}}y_i
              + \text{Laplace}\Bigl(\frac B{n_h}\max_l\frac{k_l}{\varepsilon_l}\Bigr) .

    Statements ``claim-sample-limit`` and ``thm-personal-users``, chapters *user_level/mean_limits*,
    *user_level/mean*.

    Parameters
    ----------
    max_rows : "best", "max" or int, default "best"
        Most rows h that one user keeps: that of smallest variance, as if everybody had the smallest
        budget; the largest size, which keeps all; or a number of at least 1. Labels play no part.
    selection_seed : int, default 0
        Says which rows are kept, by their order within a user: public, so not sorted by labels.

    Attributes
    ----------
    max_rows_ : int, the largest number of rows that is kept of a user

    Examples
    --------
    >>> users, y = np.repeat(["ann", "bo", "cy"], [1, 3, 996]), np.linspace(0, 1, 1000)
    >>> model = SampleLimitedMean(epsilon=5.0, y_bounds=(0, 1), random_state=0)
    >>> model.fit(y, y, users=users).max_rows_
    3
    """

    max_rows: Any = setting(default="best", rule=limit_on_rows)
    selection_seed: int = setting(default=0, rule=partial(check.count, minimum=0))

    def most(self, sizes: Any, budgets: Floats) -> int:
        """Return how many rows of a user are kept."""
        if self.max_rows == "best":
            return int(sample_limit(sizes, self.tradeoff(float(budgets.min()))).threshold)
        return int(min([sizes.max(), *([] if self.max_rows == "max" else [self.max_rows])]))

    def plan(self, users: Users, budgets: Floats) -> Plan:
        most = self.most(users.sizes, budgets)
        kept = users.places(self.selection_seed) < most
        return self.weighing(kept / kept.sum(), users, budgets, public={"max_rows_": most})
