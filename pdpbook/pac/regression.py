"""Linear models of a random half of a public pool, with noise that hides who was in the half."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from pdpbook import Floats, check
from pdpbook.guarantees import BudgetAccount, PACPrivacy
from pdpbook.linear import LinearRegressor
from pdpbook.noise.laws import PublicNoise
from pdpbook.pac.allocation import (
    BASES,
    COMBINE,
    PILOT,
    allocate_noise,
    difference_moments,
    loss_task,
    whitener,
)
from pdpbook.pac.certificate import (
    NoiseCertificate,
    PublicEllipsoid,
    certify_noise,
    conditional_success_rate,
    public_ellipsoid,
)
from pdpbook.pac.pool import MODELS, Pool, check_alpha
from pdpbook.pac.rates import success_rate_to_snr
from pdpbook.participants import Records
from pdpbook.release import all_or_nothing, check_account, generator_from, release
from pdpbook.sums import Sums, refuse_mechanism
from pdpbook.tables import finite_data, read_labels, read_table

TASKS = ("weights", "loss")  #: what noise is to disturb least
ROUNDING = 1e-10  # of a label; noise below it would hide less than the last digits show


@dataclass(frozen=True, eq=False)
class CalibratedRelease:
    """Pool, clipping and noise of a release; its draws are PAC private, its centers are not."""

    pool: Pool  #: public pool and model
    region: PublicEllipsoid  #: into which weights are clipped before noise
    covariance: Floats  #: of the noise, shape (p, p)
    certificate: NoiseCertificate  #: everybody's bound, within the target
    sample_rate: float  #: chance of being in the secret half

    def center(self, members: ArrayLike) -> Floats:
        """Clipped weights of one subset, shape (n,) to (p,): what the noise is added to."""
        return self.region.clip(self.pool.fits(np.asarray(members)[None])[0])

    def sample(self, size: int | None = None, *, rng: np.random.Generator) -> Floats:
        """Released weights, shape (p,) or (size, p), each of a fresh secret half, then forgotten.

        A half short of rank gets the shortest solution: an error would be an output too.
        """
        check.rng(rng)
        count = 1 if size is None else check.count(size, "size", minimum=0)
        halves = self.pool.sample(count, self.sample_rate, rng)
        _, back = whitener(self.covariance)
        noise = rng.standard_normal((count, back.shape[1])) @ back.T
        weights = self.region.clip(self.pool.fits(halves).reshape(-1, self.pool.p)) + noise
        return np.asarray(weights[0] if size is None else weights)


def calibrate_release(
    pool: Pool,
    success_rate: ArrayLike = 0.75,
    *,
    calibration: str = "mi",
    basis: str | ArrayLike = "difference",
    combine: str = "minimax",
    task: str = "weights",
    sample_rate: float = 0.5,
    tol: float = 0.1,
    confidence: float = 0.99,
    draws: int = 20_000,
    rng: np.random.Generator,
) -> CalibratedRelease:
    r"""Size, clip and certify the noise of a release, before any secret.

    Moments by `difference_moments`, a covariance by `allocate_noise`, a region by
    `public_ellipsoid`, and a bound for everybody by `certify_noise`, which then sets the level: the
    covariance is multiplied by bound over target, up or down, so the certificate holds. Labels that
    leave nothing to hide are a ValueError. Noise is independent in the coordinates of the pool:
    center it beforehand, as `PACRegression` does. Algorithm ``alg-pac-noise``, Yang (2024),
    Algorithm 2, as it must read; chapter *pac/noise*.

    Parameters
    ----------
    pool : Pool
    success_rate, calibration, basis, combine, task, sample_rate, tol, confidence
        As in `PACRegression`; `basis` may also be given as orthonormal columns.
    draws : int, default 20000
        Fresh halves for the certificate, and at most for the moments.
    rng : Generator
        Source of randomness of the simulation; it may be public.
    """
    check.rng(rng)
    check.choice(task, "task", TASKS)
    simulated: dict[str, Any] = {"sample_rate": sample_rate, "confidence": confidence, "rng": rng}
    moments = difference_moments(pool, basis=basis, tol=tol, max_draws=draws, **simulated)
    price = loss_task(pool.X, fit_intercept=pool.fit_intercept)
    allocate = partial(allocate_noise, moments, success_rate, calibration=calibration, upper=False)
    first = allocate(combine=combine, task=price if task == "loss" else None).noise
    size = np.sqrt(np.trace(price @ first))
    if not size > ROUNDING * np.abs(pool.y).max():
        raise ValueError(
            "y must differ between people, and by more than a linear function of X: the models of "
            "all halves are the same, and there is nothing for noise to hide"
        )
    pilot = min(draws, PILOT)
    region = public_ellipsoid(pool, first, sample_rate=sample_rate, rng=rng, draws=pilot)
    certificate = certify_noise(
        pool, first, success_rate, calibration=calibration, region=region, draws=draws, **simulated
    )
    factor = certificate.ratio  # up or down: a valid bound sets the level either way
    covariance, certificate = factor * first, certificate.scaled(factor)
    return CalibratedRelease(pool, region, covariance, certificate, moments.sample_rate)


class PACRegression(LinearRegressor):
    r"""A linear model of a random half of a public pool, PAC private of who was in it.

    Rows given to `fit` are the *pool*, public like every setting. Before the secret half A is
    drawn, halves are simulated: they fix the covariance of the noise and, afresh, certify it. Then

    .. math:: \hat\theta = \Pi(F(A)) + N(0, \Sigma), \qquad
              \operatorname{tr}(\Sigma^{-1} C_i) \le \tau(p_i) \text{ for every person } i,

    where F are the weights, :math:`\Pi` clips them to a public ellipsoid that the simulated halves
    hardly ever leave, and :math:`p_i` is the ceiling on the guess about person i. With an intercept
    F is measured from the means of the pool, so origins of X and y change nothing; nor does a
    scaler fitted inside a pipeline break anything, which sees the public pool. Algorithms
    ``alg-pac-noise`` and ``alg-pac-release``, Yang (2024), Algorithms 2 and 3, as they must read;
    chapters *pac/noise* and *pac/printed*.

    Parameters
    ----------
    model : {"ridge", "ols", "lasso"}, default "ridge"
        Least squares needs halves of full rank; lasso is refitted for everybody: lower `draws`.
    success_rate : float or array_like, shape (n,), default 0.75
        Ceiling on how often an adversary who knows the pool guesses a membership, above that of a
        blind guess and below 1; public, one a person or one for all. It is unconditional: the
        chance that the simulation fails is counted.
    sample_rate : float, default 0.5
        Chance q of being in the secret half. A blind guess is right with max(q, 1 - q).
    calibration : {"mi", "tv"}, default "mi"
        How the ceiling becomes noise: by mutual information, or with less by total variation.
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
        the ceiling, refused if none is left (`conditional_success_rate`): raise it near 0.5.
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
        Of the noise, intercept last; from the pool and simulated halves alone. Noise is drawn
        around the pool's means; where these are 1e6 times a spread or more, a matrix in the units
        of X as given cannot hold it to three digits.
    certificate_ : NoiseCertificate
        Everybody's bound, within the target.
    guarantee_ : PACPrivacy
        What everybody was promised.
    noise_ : PublicNoise
        ``noise_.covariance`` is that of the noise in the coordinates of the pool; `covariance_` in
        those of the weights.
    n_features_in_ : int
        Number of columns of X.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X = rng.standard_normal((100, 2))
    >>> y = X @ [0.5, -0.5] + 0.1 * rng.standard_normal(100)
    >>> model = PACRegression(draws=2000, random_state=0).fit(X, y)
    >>> model.coef_.shape, model.certificate_.holds
    ((2,), True)
    """

    def __init__(
        self,
        model: str = "ridge",
        *,
        success_rate: ArrayLike = 0.75,
        sample_rate: float = 0.5,
        calibration: str = "mi",
        alpha: float = 1.0,
        basis: Any = "difference",
        combine: str = "minimax",
        task: str = "weights",
        fit_intercept: bool = True,
        tol: float = 0.1,
        confidence: float = 0.99,
        draws: int = 20_000,
        random_state: int | np.random.Generator | None = None,
    ) -> None:
        self.model = model
        self.success_rate = success_rate
        self.sample_rate = sample_rate
        self.calibration = calibration
        self.alpha = alpha
        self.basis = basis
        self.combine = combine
        self.task = task
        self.fit_intercept = fit_intercept
        self.tol = tol
        self.confidence = confidence
        self.draws = draws
        self.random_state = random_state

    def check_settings(self) -> None:
        check.settings(
            self,
            model=check.one_of(*MODELS),
            success_rate=check.probability,
            sample_rate=check.delta,
            combine=check.one_of(*COMBINE),
            task=check.one_of(*TASKS),
            tol=check.one_number(check.positive),
            draws=partial(check.count, minimum=2),
        )
        prior = max(self.sample_rate, 1 - self.sample_rate)
        rate = conditional_success_rate(self.success_rate, self.confidence, prior)
        success_rate_to_snr(rate, self.calibration, prior)
        check_alpha(self.alpha, self.model)
        if isinstance(self.basis, str):
            check.choice(self.basis, "basis", BASES)

    def fit(self, X: Any, y: Any = None, *, account: BudgetAccount | None = None) -> Self:
        """Draw the secret half of the pool and release a model of it.

        Parameters
        ----------
        X : array_like, shape (n, d)
            Features of everybody in the public pool.
        y : array_like, shape (n,), optional
            Labels.
        account : BudgetAccount, optional
            Charged with the promise before a draw; it refuses a fit that would overspend.
        """
        self.check_settings()
        if isinstance(X, Sums):
            refuse_mechanism(self)
        check_account(account)
        simulate, secret = generator_from(self.random_state).spawn(2)
        with all_or_nothing(self):
            pool = self.pool(X, y, reset=True)
            people = Records(pool.X, pool.y, check.index_of(X))
            guarantee = PACPrivacy(self.success_rate, sample_rate=self.sample_rate)

            law = self.calibrate(pool.centered(), simulate)
            drawn = release(law, guarantee, account, secret, people=people)

            linear, shift = pool.origin
            weights = linear @ drawn + shift
            d = pool.X.shape[1]
            self.coef_ = weights[:d]
            self.intercept_ = float(weights[d]) if self.fit_intercept else 0.0
            self.covariance_ = linear @ law.covariance @ linear.T
            self.certificate_ = law.certificate
            self.guarantee_ = guarantee
            self.noise_ = PublicNoise(covariance=law.covariance)
        return self

    def calibrate(self, pool: Pool, rng: np.random.Generator) -> CalibratedRelease:
        """Return everything that is fixed before the secret half is drawn."""
        return calibrate_release(
            pool,
            success_rate=self.success_rate,
            calibration=self.calibration,
            basis=self.basis,
            combine=self.combine,
            task=self.task,
            sample_rate=self.sample_rate,
            tol=self.tol,
            confidence=self.confidence,
            draws=self.draws,
            rng=rng,
        )

    def pool(self, X: ArrayLike, y: ArrayLike, *, reset: bool = False) -> Pool:
        """Return the public pool; `reset` notes its columns, as `fit` does."""
        rows = read_table(self, X, ensure_min_samples=2) if reset else np.asarray(X, dtype=float)
        rows, labels = finite_data(rows, read_labels(rows, y))  # says what scikit-learn looks for
        check.refuse_other_index(y, "y", X=X)
        check.refuse_other_index(self.success_rate, "success_rate", X=X, y=y)
        check.budgets(self.success_rate, len(rows), "success_rate")
        return Pool(rows, labels, self.model, self.alpha, self.fit_intercept)

    def output_law(self, X: ArrayLike, y: ArrayLike, members: ArrayLike) -> Any:
        """Law of the released weights given the half, a frozen normal of scipy. Not private.

        X and y are the pool, and `members`, booleans of shape (n,), say who is in the half. With
        `random_state` given, exactly the law from which `fit` draws for this half, for attacks and
        audits; for an audit center a pool whose means are 1e6 times its spread, see `covariance_`.
        """
        self.check_settings()
        simulate, _ = generator_from(self.random_state).spawn(2)
        pool = self.pool(X, y)
        law = self.calibrate(pool.centered(), simulate)
        linear, shift = pool.origin
        return stats.multivariate_normal(
            linear @ law.center(members) + shift,
            linear @ law.covariance @ linear.T,
            allow_singular=True,
        )

    def sums(self, X: Any, y: Any) -> None:
        """Refuse: fits to halves of the pool need the pool itself.

        Parameters
        ----------
        X, y : object
        """
        refuse_mechanism(self)
