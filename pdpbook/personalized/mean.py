"""The personalized mean: the line that a private regression has to beat."""

from __future__ import annotations

import numpy as np

from pdpbook import Floats, check
from pdpbook._domain import labels_to_domain
from pdpbook.frames.means import MeanOfLabels
from pdpbook.frames.people import People
from pdpbook.frames.regressor import PrivateRegressor
from pdpbook.frames.settings import mechanism
from pdpbook.guarantees import PureDP
from pdpbook.noise import L2Laplace
from pdpbook.noise.public import PublicNoise


@mechanism
class PersonalizedMean(MeanOfLabels, PrivateRegressor):
    r"""A mean that keeps the budget of every person, as a regressor that ignores X.

    It is the line that a private regression has to beat. On labels in [-1, 1] it releases

    .. math:: \sum_i w_i y_i + \text{Laplace}\Bigl(\frac2{\sum_j\varepsilon_j}\Bigr), \qquad
              w_i = \frac{\varepsilon_i}{\sum_j\varepsilon_j} :

    person i moves the weighted mean by at most :math:`2w_i`. Statement ``thm-pdp-op`` with the mean
    for the minimizer; chapter *personalized/pdp_op*.

    Attributes
    ----------
    mean_ : float, in your units
    guarantee_ : PureDP
        What each person was promised, under replace-one neighbors.

    Examples
    --------
    >>> y = np.linspace(0, 1, 1001)
    >>> model = PersonalizedMean(y_bounds=(0, 1), random_state=0).fit(y[:, None], y)
    >>> round(model.mean_, 2), model.noise_.rate
    (0.5, 500.5)
    """

    def law(self, people: People) -> L2Laplace:
        (mean,) = people.statistics
        return L2Laplace(mean, self.rate(people.strength, 1))

    def promise(self, people: People) -> PureDP:
        return PureDP(people.spent, neighbors="replace-one")

    def rate(self, strength: Floats, d: int) -> float:
        """Return the rate of the noise: of public things alone."""
        return float(strength.sum() / 2)

    def statistics(self, X: Floats, y: Floats, weights: Floats) -> tuple[Floats]:
        return (np.array([weights @ y]),)

    def release(self, draw: Floats, law: L2Laplace, people: People) -> None:
        low, high = check.bounds(self.y_bounds, "y_bounds")
        self.mean_ = float((low + high) / 2 + (high - low) / 2 * draw[0])
        eta = float(law.eta)
        self.noise_ = PublicNoise(rate=eta, scale=1 / eta, covariance=np.array([[2 / eta**2]]))

    def to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        return X, labels_to_domain(y, self.y_bounds, self.clip)
