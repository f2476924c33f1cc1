"""The personalized mean: the line that a private regression has to beat."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import taking_part
from pdpbook._domain import (
    budgets_of,
    check_flag,
    generator_from,
    in_hand,
    kept_budgets,
    labels_of,
    labels_to_domain,
    people_in_blocks,
    refuse_few,
    row_count,
)
from pdpbook.blocks import Rows
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.noise import L2Laplace
from pdpbook.personalized.weights import pdp_weights
from pdpbook.reports.frames import mean_frame, width_of_labels
from pdpbook.reports.noise import Crowd, Noise
from pdpbook.reports.reported import Reported
from pdpbook.validation import check_bounds, check_epsilon, check_positive

__all__ = ["PersonalizedMean"]

Floats = NDArray[np.float64]


class PersonalizedMean(Reported, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""A mean that keeps the budget of every person, as a regressor that ignores X.

    On labels in [-1, 1] it releases

    .. math:: \sum_i w_i y_i + \text{Laplace}\Bigl(\frac2{\sum_j\varepsilon_j}\Bigr), \qquad
              w_i = \frac{\varepsilon_i}{\sum_j\varepsilon_j} :

    person i moves the weighted mean by at most :math:`2w_i`. It is the line that a private
    regression has to beat.

    Parameters
    ----------
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody or one each; `fit` can be given others. Public.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units.
    clip : bool, default False
        Clip labels to the bounds instead of raising.
    random_state : None, int or Generator, default None
        None for every real release, see `PDPRidge`.

    Attributes
    ----------
    mean_ : float
        The released mean, in your units.
    guarantee_ : PureDP
        What each person was promised, under replace-one neighbors.
    eta_ : float
        Rate of the Laplace noise on the domain, data-independent.
    noise_ : Noise
        What is public about the noise; `report` reads it.

    Notes
    -----
    Statement ``thm-pdp-op`` with the mean for the minimizer; chapter *personalized/pdp_op*.

    Examples
    --------
    >>> import numpy as np
    >>> y = np.linspace(0, 1, 1001)
    >>> model = PersonalizedMean(y_bounds=(0, 1), random_state=0).fit(y[:, None], y)
    >>> round(model.mean_, 2), model.eta_
    (0.5, 500.5)
    """

    _reads_rows = False

    def __init__(
        self,
        *,
        epsilon: ArrayLike = 1.0,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.epsilon = epsilon
        self.y_bounds = y_bounds
        self.clip = clip
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release a private mean of y; X counts for its number of rows alone.

        Parameters
        ----------
        X : array_like, n rows of anything, or Rows
            Not looked at. Memory maps, Dask arrays and `Rows` with columns X, y and perhaps
            epsilon are read block by block, in one pass.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`; None with `Rows`.
        epsilon : float or array_like, shape (n,), optional
            Budgets in nats; whoever has 0 takes no part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        PersonalizedMean
            The fitted estimator.
        """
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        check_account(account)
        rng = generator_from(self.random_state)
        if (people := people_in_blocks(X, y, epsilon, budgets)) is not None:
            law, budgets, n = self._law_in_blocks(people, budgets)
            refuse_few(n)
        else:
            labels = labels_of(X, y)
            refuse_few(len(labels))
            law, n = self._law(labels, budgets), len(labels)
            budgets = check_epsilon(budgets, n)
        promise = PureDP(epsilon=budgets, neighbors="replace-one")
        charge(account, promise, X)
        low, high = check_bounds(self.y_bounds, "y_bounds")
        self.mean_ = float((low + high) / 2 + (high - low) / 2 * law.sample(rng=rng)[0])
        self.eta_ = float(law.eta)
        self.guarantee_ = promise
        self._keep_noise(Crowd(0, budgets, n))
        return self

    def predict(self, X: ArrayLike) -> Floats:
        """Return the released mean once for each row of X."""
        check_is_fitted(self)
        return np.full(row_count(X), self.mean_)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> L2Laplace:
        """Exact law of the released mean on [-1, 1]. NOT private: for audits and teaching."""
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        if (people := people_in_blocks(X, y, epsilon, budgets)) is not None:
            return self._law_in_blocks(people, budgets)[0]
        return self._law(labels_of(X, y), budgets)

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        budgets = check_epsilon(self.epsilon if epsilon is None else epsilon)
        check_flag(self.clip, "clip")
        check_bounds(self.y_bounds, "y_bounds")
        return budgets

    def _law(self, labels: Floats, budgets: Any) -> L2Laplace:
        _, labels, budgets = taking_part(labels, labels, budgets)
        y = labels_to_domain(labels, self.y_bounds, self.clip)
        center = np.array([self._weights(budgets) @ y])
        return L2Laplace(center, check_positive(self._rate(budgets, 1), "eta"))

    def _law_in_blocks(self, people: Rows, budgets: Any) -> tuple[L2Laplace, Any, int]:
        """The law, the budgets to promise, and how many people."""
        labels = people.select(*(name for name in people.names if name != "X"))
        moment, total, kept = labels.sum(partial(self._block, budgets))
        eta = check_positive(self._rate(np.array([total]), 1), "eta")
        promised = kept_budgets(budgets, kept)
        n = np.size(promised)
        if n == 1:  # one budget for everybody
            n = round(total / float(np.max(promised)))
        return L2Laplace(moment / total, eta), promised, n

    def _block(
        self, budgets: Any, y: Any, epsilon: Any = None
    ) -> tuple[Floats, float, list[Floats]]:
        if np.ndim(y) != 1:
            raise ValueError(f"y must have shape (n,), one label a person; got {np.shape(y)}")
        own, kept = budgets_of(budgets, epsilon, len(y))
        _, y, own = taking_part(y, y, own)
        labels = labels_to_domain(y, self.y_bounds, self.clip)
        return np.array([own @ labels]), float(own.sum()), kept

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        """Exact: the variance of Laplace noise."""
        width = width_of_labels(self)
        eta = self.eta_ if crowd.fitted else self._rate(crowd.above, 1)
        return Noise.of(crowd, mean_frame(width / 2), 2 / eta**2, exact=True, width=width)

    def _weights(self, budgets: Floats) -> Floats:
        return pdp_weights(budgets)

    def _rate(self, budgets: Floats, d: int) -> float:
        return float(budgets.sum() / 2)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.no_validation = tags.input_tags.sparse = True  # X is not looked at
        tags.regressor_tags.poor_score = True  # a mean explains no variance
        return tags
