"""One draw from a posterior as a release, and the sharpness that is safe on every data set."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils.validation import check_is_fitted

from pdpbook import Floats, check
from pdpbook._budgets import one_budget
from pdpbook.frames.ball import BallRegressor
from pdpbook.frames.people import People
from pdpbook.frames.settings import mechanism, setting
from pdpbook.posterior.calibration import check_penalty, worst_case_gamma
from pdpbook.posterior.certificates import Certificate, posterior_certificate
from pdpbook.posterior.laws import PosteriorLaw
from pdpbook.reports.frames import ball_frame
from pdpbook.reports.noise import Crowd, Noise, through

_gamma = lru_cache(maxsize=64)(worst_case_gamma)


@mechanism
class PosteriorRegressor(BallRegressor):
    r"""One draw from a Gaussian posterior of ridge regression.

    Parameters
    ----------
    n_max : int, default 100000
        Public bound on the number of rows: under add-remove neighbors the number itself is not
        public. More rows raise.

    Attributes
    ----------
    theta_ : ndarray
        The draw on the domain.
    gamma_ : float
        Inverse temperature of the draw. The noise follows the data, with covariance
        :math:`(\gamma H)^{-1}`, so `noise_` has no scale.
    h_ : float
        Bound from below on what the data and the penalty weigh in every direction.

    Notes
    -----
    Chapter *per_instance/adaops*.
    """

    n_max: int = setting(default=100_000, rule=check.count)

    def refuse_crowd(self, n: int, d: int) -> None:
        if n > self.n_max:
            raise ValueError(
                f"X must have at most n_max = {self.n_max} rows; got {n}. Raise the public "
                "n_max, for a reason that does not come from these data"
            )

    def certificate(self, X: ArrayLike, y: ArrayLike, *, failure: float = 1e-3) -> Certificate:
        """Upper bounds participants can compute on their own loss, from the release alone.

        Parameters
        ----------
        X : array_like, shape (m, d)
            Rows of participants, in your units, inside `bounds`.
        y : array_like, shape (m,)
            Their labels.
        failure : float, default 1e-3
            Probability that the certificate of one person is wrong, in (0, 1).

        Returns
        -------
        Certificate
            See `posterior_certificate`; its delta is the one of the estimator.
        """
        check_is_fitted(self)
        rows, labels = self.to_domain(*check.design(X, y))
        return posterior_certificate(
            rows,
            labels,
            self.theta_,
            gamma=self.gamma_,
            h=self.h_,
            delta=self.delta,
            failure=failure,
        )

    def release(self, draw: Floats, law: Any, people: People) -> None:
        super().release(draw, law, people)
        self.theta_ = draw


@mechanism
class OnePosteriorSample(PosteriorRegressor):
    r"""One draw from the posterior of ridge regression, calibrated for the worst data set: OPS.

    On the domain :math:`\|x\|\le1`, :math:`|y|\le1` the release is one draw

    .. math:: \tilde\theta \sim \mathcal N\bigl(\hat\theta, (\gamma H)^{-1}\bigr), \qquad
              H = X^\top X+\lambda I,\quad \hat\theta = H^{-1}X^\top y,

    with :math:`\gamma` of `worst_case_gamma`.

    Parameters
    ----------
    lam : float, default 100.0
        Penalty against the *sum* of squares on the domain, at least 1; scikit-learn's ``alpha``.

    Notes
    -----
    Statements ``thm-ops-dp-level`` and ``alg-adaops``, chapters *per_instance/guarantees* and
    *per_instance/adaops*.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.uniform(-1, 1, (500, 2))
    >>> y = X @ [0.4, -0.2]
    >>> model = OnePosteriorSample(50.0, n_max=1000, random_state=3).fit(X, y)
    >>> round(model.gamma_, 3), model.guarantee_.neighbors
    (0.332, 'add-remove')
    """

    lam: float = setting(default=100.0, rule=check_penalty, kw_only=False)

    def law(self, people: People) -> PosteriorLaw:
        gram, moment = people.statistics
        H = gram + self.lam * np.eye(people.d)
        center = np.linalg.solve(H, moment)
        return PosteriorLaw(np.asarray(center, dtype=float), self.gamma(self.level(people)) * H)

    def gamma(self, epsilon: float) -> float:
        """Return the inverse temperature that keeps a budget on every data set."""
        return _gamma(float(self.lam), epsilon, float(self.delta), int(self.n_max))

    def release(self, draw: Floats, law: PosteriorLaw, people: People) -> None:
        super().release(draw, law, people)
        self.gamma_, self.h_ = self.gamma(self.level(people)), float(self.lam)

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        r"""An estimate, :math:`(\gamma(X^\top X+\lambda I))^{-1}`, and a bound.

        No such covariance exceeds :math:`I/(\gamma\lambda)`, which is all that is public after a
        fit: the number of people is not.
        """
        frame, lam = ball_frame(self, crowd.d, self.row_norm), float(self.lam)
        gamma = self.gamma(one_budget(crowd.epsilon))
        n = 0 if crowd.n is None else crowd.n
        spread = through(frame.kept, lambda values: 1 / (gamma * (n * values + lam)))
        most = np.eye(frame.order) / (gamma * lam)
        return Noise.of(crowd, frame, spread, most, width=2 * frame.half)
