"""Linear models of a random half of a public pool, with noise that hides who was in the half.

Everybody in the pool and every setting is public; the half is the secret, and nothing that depends
on it stays without noise.
"""

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats
from sklearn.base import BaseEstimator, RegressorMixin

from pdpbook import check
from pdpbook._accounts import charge, check_account
from pdpbook._domain import finite_data, generator_from, labels_of, predictions, table_of
from pdpbook.blocks import in_memory
from pdpbook.frames.settings import check_settings, mechanism, one_of, setting, single
from pdpbook.guarantees import BudgetAccount, PACPrivacy
from pdpbook.pac.allocation import COMBINE
from pdpbook.pac.certificate import conditional_success_rate
from pdpbook.pac.differences import BASES
from pdpbook.pac.pool import MODELS, Pool, check_alpha
from pdpbook.pac.rates import success_rate_to_snr
from pdpbook.pac.release import TASKS, CalibratedRelease, calibrate_release
from pdpbook.reports.frames import table_frame
from pdpbook.reports.noise import Crowd, Noise
from pdpbook.reports.reported import Reported, refuse_others

HALF = 0.5  # chance of being in the secret half
ELSEWHERE = ("model", "alpha", "fit_intercept", "random_state")  # settings of pool and generator


@mechanism
class PACRegression(RegressorMixin, Reported, BaseEstimator):  # type: ignore[misc]
    r"""A linear model of a random half of a public pool, PAC private of who was in it.

    Rows given to `fit` are the *pool*. Before the secret half A is drawn, halves are simulated:
    they fix the covariance of the noise and, afresh, certify it. Then

    .. math:: \hat\theta = \Pi(F(A)) + N(0, \Sigma), \qquad
              \operatorname{tr}(\Sigma^{-1} C_i) \le \tau(p_o) \text{ for every person } i,

    where F are the weights, :math:`\Pi` clips them to a public ellipsoid that the simulated halves
    hardly ever leave, and :math:`p_o` is the ceiling on everybody's guess. With an intercept F is
    measured from the means of the pool, which are public, so origins of X and y change nothing.

    Parameters
    ----------
    model : {"ridge", "ols", "lasso"}, default "ridge"
        Whose weights. Least squares needs halves of full rank; lasso is refitted for everybody, so
        lower `draws` for it.
    success_rate : float, default 0.75
        Ceiling on how often an adversary who knows the pool guesses a membership, in (0.5, 1). It
        is unconditional: the chance that the simulation fails is counted.
    calibration : {"mi", "tv"}, default "mi"
        By mutual information, as the paper; or by total variation, with less noise for the same
        ceiling.
    alpha : float, default 1.0
        Penalty in scikit-learn's convention, above 0; not used for ``"ols"``.
    basis : {"difference", "svd", "unit"}, default "difference"
        Coordinates in which the noise is independent; see `difference_moments`.
    combine : {"minimax", "max"}, default "minimax"
        The cheapest noise for everybody, or the maximum over people.
    task : {"weights", "loss"}, default "weights"
        What the noise is to disturb least: the weights, or predictions on the pool.
    fit_intercept : bool, default True
        Whether there is an intercept, which is not penalized and gets noise too.
    tol : float, default 0.1
        Relative standard error at which the estimate of the moments stops.
    confidence : float, default 0.99
        That the bounds of `certificate_` hold, over the simulation. What is missing is charged to
        the ceiling, which is refused where nothing is left (see `conditional_success_rate`): raise
        it for a ceiling near 0.5.
    draws : int, default 20000
        Fresh halves for the certificate. Fewer are faster and cost noise, not privacy.
    random_state : None, int or Generator, default None
        None for every real release: whoever knows the integer knows the half and the noise.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Released coefficients.
    intercept_ : float
        Released intercept.
    covariance_ : ndarray, shape (p, p)
        Of the noise, intercept last. It depends on the pool and on simulated halves only. Noise is
        drawn around the pool's means; where these are 1e6 times a spread or more, a matrix in the
        units of X as given cannot hold it to three digits.
    certificate_ : NoiseCertificate
        Everybody's bound, within the target.
    guarantee_ : PACPrivacy
        What everybody was promised.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Algorithms ``alg-pac-noise`` and ``alg-pac-release``, Yang (2024), Algorithms 2 and 3, as they
    must read; chapter *pac/noise*. A scaler fitted inside a pipeline sees the pool, which is
    public, so it breaks nothing.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((100, 2))
    >>> y = X @ [0.5, -0.5] + 0.1 * rng.standard_normal(100)
    >>> model = PACRegression(draws=2000, random_state=0).fit(X, y)
    >>> model.coef_.shape, model.certificate_.holds
    ((2,), True)
    """

    model: str = setting(default="ridge", rule=one_of(*MODELS), kw_only=False)
    success_rate: float = setting(default=0.75, rule=single(check.probability))
    calibration: str = setting(default="mi")
    alpha: float = setting(default=1.0)
    basis: Any = setting(default="difference")
    combine: str = setting(default="minimax", rule=one_of(*COMBINE))
    task: str = setting(default="weights", rule=one_of(*TASKS))
    fit_intercept: bool = setting(default=True)
    tol: float = setting(default=0.1, rule=single(check.positive))
    confidence: float = setting(default=0.99)
    draws: int = setting(default=20_000, rule=partial(check.count, minimum=2))
    random_state: int | np.random.Generator | None = setting(default=None)

    def fit(self, X: Any, y: Any = None, *, account: BudgetAccount | None = None) -> Self:
        """Draw the secret half of the pool and release a model of it.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Features of everybody in the public pool.
        y : array_like, shape (n,), optional
            Labels.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        PACRegression
            The fitted estimator.
        """
        in_memory(f"{type(self).__name__}.fit", X, y)
        self._check_settings()
        check_account(account)
        simulate, secret = generator_from(self.random_state).spawn(2)
        pool = self.pool(X, y, reset=True)
        release = self.calibrate(pool.centered(), simulate)
        promise = PACPrivacy(float(self.success_rate), sample_rate=HALF)
        charge(account, promise, X)
        turn, shift = pool.origin
        weights, d = turn @ release.draw(rng=secret) + shift, pool.X.shape[1]
        self.coef_ = weights[:d]
        self.intercept_ = float(weights[d]) if self.fit_intercept else 0.0
        self.covariance_ = turn @ release.covariance @ turn.T
        self.certificate_ = release.certificate
        self.guarantee_ = promise
        self._keep_noise(self._pool_crowd(pool)._replace(plan=release))
        return self

    def predict(self, X: Any) -> Any:
        """Predict from the released weights."""
        return predictions(self, X)

    def output_law(self, X: ArrayLike, y: ArrayLike, members: ArrayLike) -> Any:
        """Law of the released weights given the half, for attacks and audits. Not private.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Features of the pool.
        y : array_like, shape (n,)
            Labels.
        members : array_like of bool, shape (n,)
            Who is in the half.

        Returns
        -------
        scipy.stats frozen multivariate_normal
            With `random_state` given, exactly the law from which `fit` draws for this half; for an
            audit center a pool whose means are 1e6 times its spread, see `covariance_`.
        """
        in_memory(f"{type(self).__name__}.output_law", X, y)
        self._check_settings()
        pool, release = self._planned(X, y)
        turn, shift = pool.origin
        return stats.multivariate_normal(
            turn @ release.center(members) + shift,
            turn @ release.covariance @ turn.T,
            allow_singular=True,
        )

    def calibrate(self, pool: Pool, rng: np.random.Generator) -> CalibratedRelease:
        """Return everything that is fixed before the secret is drawn."""
        settings = {k: v for k, v in self.get_params().items() if k not in ELSEWHERE}
        return calibrate_release(pool, **settings, sample_rate=HALF, rng=rng)

    def pool(self, X: ArrayLike, y: ArrayLike, *, reset: bool = False) -> Pool:
        """Return the public pool; `reset` notes its columns, as `fit` does."""
        rows = table_of(self, X, ensure_min_samples=2) if reset else np.asarray(X, dtype=float)
        rows, labels = finite_data(rows, labels_of(rows, y))
        return Pool(rows, labels, self.model, self.alpha, self.fit_intercept)

    def _check_settings(self) -> None:
        check_settings(self)
        rate = conditional_success_rate(float(self.success_rate), self.confidence)
        success_rate_to_snr(rate, self.calibration)
        check_alpha(self.alpha, self.model)
        if isinstance(self.basis, str):
            check.choice(self.basis, "basis", BASES)

    def _planned(self, X: ArrayLike, y: ArrayLike) -> tuple[Pool, CalibratedRelease]:
        simulate, _ = generator_from(self.random_state).spawn(2)
        pool = self.pool(X, y)
        return pool, self.calibrate(pool.centered(), simulate)

    def _noise(self, crowd: Crowd) -> Noise:
        """Exact: Gaussian noise on the weights. Before a fit, as calibrated on the public pool."""
        release = crowd.plan or self._planned(crowd.X, crowd.y)[1]
        frame = table_frame(crowd.X, self.fit_intercept, centered=self.fit_intercept)
        width = float(np.ptp(crowd.y))
        return Noise.of(crowd, frame, release.covariance, exact=True, width=width)

    def _crowd(self, n: Any, d: Any, epsilon: Any, users: Any, X: Any, y: Any) -> Crowd:
        refuse_others(self, "X and y, the public pool", n=n, d=d, epsilon=epsilon, users=users)
        self._check_settings()
        return self._pool_crowd(self.pool(X, y))

    def _pool_crowd(self, pool: Pool) -> Crowd:
        promise = f"membership guessed at most {self.success_rate:.3g} of the time"
        return Crowd(pool.X.shape[1], promise, len(pool.y), None, pool.X, pool.y)
