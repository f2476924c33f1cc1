"""Personalized ridge regression: the estimator of sufficient-statistics perturbation."""

from __future__ import annotations

from functools import lru_cache, partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import taking_part, where_above_zero
from pdpbook._domain import (
    budgets_of,
    check_mapping,
    check_sizes,
    features_to_domain,
    finite_part,
    generator_from,
    in_hand,
    kept_budgets,
    labels_of,
    labels_to_domain,
    note_width,
    people_in_blocks,
    predictions,
    refuse_few,
    table_of,
    to_user_units,
)
from pdpbook.blocks import Rows
from pdpbook.guarantees import BudgetAccount, GaussianDP, PureDP
from pdpbook.noise import ProductLaw, gaussian_mu
from pdpbook.reports.frames import cube_frame
from pdpbook.reports.noise import Crowd, Noise, through
from pdpbook.reports.reported import Reported
from pdpbook.sufficient_statistics.constants import (
    factors,
    label_scale,
    matrix_and_moment,
    public_sums,
    statistics_constant,
    sums,
)
from pdpbook.validation import (
    check_delta,
    check_design,
    check_epsilon,
    check_positive,
    check_scale,
)

__all__ = ["RidgePath", "SufficientStatisticsRidge"]

Floats = NDArray[np.float64]

REHEARSALS = 400  # draws of the noise behind an estimate of what it does


class RidgePath(NamedTuple):
    """Coefficients for several penalties; see `SufficientStatisticsRidge.coef_path`."""

    coef: Floats  #: shape (k, d), in your units
    intercept: Floats  #: shape (k,)


def _noise_of_sums(variances: Floats, k: int) -> tuple[float, Floats]:
    """Mean square Frobenius norm of the noise on the matrix, and covariance on the moment."""
    rows, columns = np.triu_indices(k)
    blocks = variances[len(rows) :]
    matrix = float(np.where(rows == columns, 1, 2) @ variances[: len(rows)])
    if len(blocks) == k:
        return matrix, np.diag(blocks)
    # the matrix gets (m_i + m_j) / 2 from the noise m on the mean, the moment half of the label's
    matrix += (k + 1) / 2 * float(blocks[:k].sum())
    return matrix, np.diag(blocks[k : 2 * k]) + blocks[2 * k] / 4


@lru_cache(maxsize=16)
def _gaussian_budgets(budgets: bytes, delta: float) -> Floats:
    levels, person = np.unique(np.frombuffer(budgets), return_inverse=True)
    mu = np.atleast_1d(gaussian_mu(levels, delta))[person]
    mu.flags.writeable = False
    return np.asarray(mu)


class SufficientStatisticsRidge(Reported, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Ridge regression from noisy weighted sums that keeps the budget of every person: P-SSP.

    On the domain :math:`x_i\in[0,1]^d`, :math:`y_i\in[-1,1]` the estimator releases

    .. math:: \hat S = \sum_i w_i x_i x_i^\top + N, \qquad \hat b = \sum_i w_i x_i y_i + n,

    with independent noise, and solves :math:`\hat\theta=(\hat S_++\lambda I)^{-1}\hat b`, where
    :math:`\hat S_+` has the negative eigenvalues of :math:`\hat S` set to 0. With
    ``noise="laplace"`` the weights are :math:`w_i=\varepsilon_i/\sum_j\varepsilon_j`, the noise
    has scale :math:`\beta=D_1/\sum_j\varepsilon_j` on the upper triangle and :math:`\beta/s` on
    the moment. With ``noise="gaussian"`` every budget :math:`(\varepsilon_i,\delta)` is turned
    into the :math:`\mu_i` of Gaussian privacy whose exact profile passes through it,
    :math:`w_i=\mu_i/\sum_j\mu_j`, and the standard deviations are
    :math:`\sigma=D_2/\sum_j\mu_j` on the diagonal, :math:`\sigma/\sqrt2` off it and
    :math:`\sigma/s` on the moment. The constants are those of `statistics_constant`.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of squares, above 0; scikit-learn's ``alpha / n``. It
        is applied after the release and no part of the promise: see `coef_path`.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody or one each; `fit` can be given others. Public.
    delta : float, default 0.0
        Failure probability of the budgets: needed, in (0, 1), with ``noise="gaussian"``; 0 with
        ``noise="laplace"``, which never fails.
    noise : {"laplace", "gaussian"}, default "laplace"
        A pure promise, or a Gaussian one.
    centered : bool, default False
        Release sums of :math:`\tilde x=x-\frac12\mathbf 1` instead, together with
        :math:`\sum w\tilde x` and :math:`\sum wy`, and put :math:`\hat S` and :math:`\hat b`
        together from them: shorter rows, hence less noise.
    scale : float, optional
        :math:`s`, above 0: a large one is for the moment, a small one for the matrix. None is the
        default of `statistics_constant`. Public.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, is penalized and noised.
    bounds : array_like, shape (2,) or (d, 2), default (0.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column. They are
        mapped to [0, 1] and never read from the data.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units; they are mapped to [-1, 1].
    clip : bool, default False
        Clip data to the bounds instead of raising.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Coefficients for `lam`, in your units.
    intercept_ : float
        Intercept in your units. Without `fit_intercept` it only undoes the bounds.
    release_ : ndarray, shape (m,)
        The released numbers, all of them: everything else is computed from these. On the domain:
        the upper triangle row by row, then the moment; centered, the sums of :math:`\tilde x`,
        :math:`\tilde xy` and :math:`y` in its place. With `fit_intercept` the sums over the
        constant alone are public and left out.
    gram_ : ndarray
        :math:`\hat S` on the domain, as released; it may have negative eigenvalues. Of order d,
        one more with `fit_intercept`.
    moment_ : ndarray
        :math:`\hat b` on the domain.
    noise_scale_ : float
        :math:`\beta` or :math:`\sigma`. It depends on the budgets and the public settings, never
        on the data.
    guarantee_ : PureDP or GaussianDP
        What each person was promised, under replace-one neighbors. The Gaussian promise is the
        stronger form of :math:`(\varepsilon_i,\delta)`: ``guarantee_.to_approximate(delta)``
        returns that one, for this delta or another.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Statements ``thm-pssp-gaussian`` and ``thm-pssp-laplace`` (ours), chapter
    *personalized/beyond*. Nothing without noise stays on the fitted object. The number of people
    and the budgets are public. Rounding of floats is not covered by the promise.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.random((500, 2)), rng.random(500)
    >>> epsilon = np.where(np.arange(500) < 100, 0.1, 1.0)
    >>> model = SufficientStatisticsRidge(lam=0.5).fit(X, y, epsilon=epsilon)
    >>> model.gram_.shape, round(model.noise_scale_, 4)
    ((2, 2), 0.013)
    >>> model.coef_path([0.01, 0.1, 1.0]).coef.shape
    (3, 2)
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        epsilon: ArrayLike = 1.0,
        delta: float = 0.0,
        noise: str = "laplace",
        centered: bool = False,
        scale: float | None = None,
        fit_intercept: bool = False,
        bounds: ArrayLike = (0.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.lam = lam
        self.epsilon = epsilon
        self.delta = delta
        self.noise = noise
        self.centered = centered
        self.scale = scale
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.y_bounds = y_bounds
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
            Budgets in nats; whoever has 0 takes no part. None is the constructor's;
            ``epsilon.min()`` gives the non-personalized baseline.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        SufficientStatisticsRidge
            The fitted estimator.
        """
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        check_account(account)
        rng = generator_from(self.random_state)
        if (people := people_in_blocks(X, y, epsilon, budgets)) is not None:
            law, order, budgets, n = self._law_in_blocks(people, budgets)
            refuse_few(n)
            note_width(self, order - bool(self.fit_intercept))
        else:
            rows = table_of(self, X)
            law = self._law(*finite_part(rows, labels_of(rows, y), budgets))
            order, n = rows.shape[1] + bool(self.fit_intercept), len(rows)
            budgets = check_epsilon(budgets, n)
        spent = where_above_zero(self._strengths, np.atleast_1d(budgets))
        kind = PureDP if self.noise == "laplace" else GaussianDP
        promise = kind(spent.reshape(np.shape(budgets))[()], neighbors="replace-one")
        charge(account, promise, X)
        self.release_ = law.sample(rng=rng)
        self.gram_, self.moment_ = matrix_and_moment(self._all_sums(order), order, self.centered)
        self.noise_scale_ = float(law.scale[0])  # the first entry is on the diagonal
        self.guarantee_ = promise
        path = self.coef_path([self.lam])
        self.coef_, self.intercept_ = path.coef[0], float(path.intercept[0])
        self._keep_noise(Crowd(self.n_features_in_, budgets, n))
        return self

    def predict(self, X: Any) -> Any:
        """Predict from the coefficients, in your units; X may lie outside `bounds`."""
        return predictions(self, X)

    def coef_path(self, lams: ArrayLike) -> RidgePath:
        """Coefficients for other penalties, from the one release: it costs no further privacy.

        Parameters
        ----------
        lams : array_like, shape (k,)
            Penalties, each above 0.

        Returns
        -------
        RidgePath
            `coef`, shape (k, d), and `intercept`, shape (k,), in your units.
        """
        check_is_fitted(self)
        penalties = np.atleast_1d(check_positive(lams, "lams"))
        if penalties.ndim != 1:
            raise ValueError(f"lams must have shape (k,); got shape {penalties.shape}")
        values, vectors = np.linalg.eigh(self.gram_)
        shrunk = (vectors.T @ self.moment_) / (np.maximum(values, 0.0) + penalties[:, None])
        units = [
            to_user_units(theta, self.n_features_in_, self.bounds, self.y_bounds)
            for theta in shrunk @ vectors.T
        ]
        return RidgePath(np.array([u[0] for u in units]), np.array([u[1] for u in units]))

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> ProductLaw:
        """Exact joint law of the released numbers `release_`. NOT private: for audits and teaching.

        Parameters are as in `fit`, which draws once from exactly this law. Its center holds the
        sums without noise.
        """
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        if (people := people_in_blocks(X, y, epsilon, budgets)) is not None:
            return self._law_in_blocks(people, budgets)[0]
        return self._law(*check_design(X, y), budgets)

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = check_epsilon(self.epsilon if epsilon is None else epsilon)
        check_scale(self.lam, "lam")
        check_sizes(self, "scale")
        label_scale(1, self.noise, self.centered, self.scale)  # refuses bad values
        delta = check_delta(self.delta, zero=True)
        if self.noise == "gaussian" and delta == 0:
            raise ValueError(
                "delta must be above 0 and below 1 with noise='gaussian'; got 0. "
                "Gaussian noise keeps no pure promise: noise='laplace' does"
            )
        if self.noise == "laplace" and delta > 0:
            raise ValueError(
                f"delta must be 0 with noise='laplace', which never fails; got {delta:g}"
            )
        check_mapping(self.bounds, self.y_bounds, self.clip, self.fit_intercept)
        return budgets

    def _law(self, X: Floats, y: Floats, budgets: Any) -> ProductLaw:
        X, y, budgets = taking_part(X, y, budgets)
        X, y = self._map(X, y)
        strengths = self._strengths(budgets)
        center = sums(X, y, self._weights(strengths), self.centered)
        return self._law_of(center, float(strengths.sum()), X.shape[1])

    def _law_in_blocks(self, people: Rows, budgets: Any) -> tuple[ProductLaw, int, Any, int]:
        """The law, the order of the matrix, the budgets to promise, and how many people."""
        total, strength, orders, kept = people.sum(partial(self._block, budgets))
        law = self._law_of(total / strength, strength, orders[0])
        promised = kept_budgets(budgets, kept)
        n = np.size(promised)
        if n == 1:  # one budget for everybody
            n = round(strength / float(self._strengths(np.atleast_1d(promised))[0]))
        return law, orders[0], promised, n

    def _block(
        self, budgets: Any, X: Any, y: Any, epsilon: Any = None
    ) -> tuple[Floats, float, list[int], list[Floats]]:
        own, kept = budgets_of(budgets, epsilon, len(y))
        X, y, own = finite_part(X, y, own)
        X, y = self._map(X, y)
        strengths = self._strengths(own)
        total = sums(X, y, strengths, self.centered)
        return total, float(strengths.sum()), [X.shape[1]], kept

    def _map(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        rows = features_to_domain(X, self.bounds, self.clip, self.fit_intercept)
        return rows, labels_to_domain(y, self.y_bounds, self.clip)

    def _law_of(self, center: Floats, strength: float, d: int) -> ProductLaw:
        unit = self._constant(d) / strength
        with np.errstate(over="ignore"):
            scale = unit / self._factors(d)
        check_positive(scale, "scale of the noise")
        if self.fit_intercept:  # no noise on what is public
            known, _ = public_sums(d, self.centered)
            center, scale = np.delete(center, known), np.delete(scale, known)
        return ProductLaw(center, scale, self.noise)

    def _all_sums(self, d: int) -> Floats:
        """The released sums, and between them those that are public."""
        if not self.fit_intercept:
            return self.release_
        known, values = public_sums(d, self.centered)
        return np.insert(self.release_, known - np.arange(len(known)), values)

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        r"""An estimate, and a bound on the mean square length.

        With :math:`N, n` the noise on matrix and moment, the answer moves by
        :math:`(\hat S_++\lambda I)^{-1}(n-(\hat S_+-S)\theta)`. The positive part moves S by at
        most the Frobenius norm of N, and :math:`\|\theta\|\le1/(2\sqrt\lambda)`. The estimate is
        for labels around the middle, :math:`\theta=0`, and takes the released matrix after a fit.
        """
        frame = cube_frame(self, crowd.d)
        k, lam = frame.order, float(self.lam)
        unit = self.noise_scale_ if crowd.fitted else self._unit(crowd.above, k)
        scale = unit / self._factors(k)
        if self.fit_intercept:
            scale[public_sums(k, self.centered)[0]] = 0.0
        matrix, moment = _noise_of_sums(scale**2 * (2 if self.noise == "laplace" else 1), k)
        length = np.sqrt(np.trace(moment)) + np.sqrt(matrix / lam) / 2
        most = float(length / lam) ** 2
        if crowd.fitted:
            gain = through(self.gram_, lambda values: 1 / (values + lam))
            spread = gain @ moment @ gain
        else:
            spread = self._rehearsed(frame.even, scale)
        return Noise.of(crowd, frame, spread, most, width=2 * frame.half)

    def _rehearsed(self, even: Floats, scale: Floats) -> Floats:
        """Second moments over draws of the noise around sums of evenly spread rows."""
        k, law = len(even), ProductLaw(np.zeros(len(scale)), np.ones(len(scale)), self.noise)
        nothing, _ = matrix_and_moment(law.center, k, self.centered)
        moves = []
        for drawn in law.sample(REHEARSALS, rng=np.random.default_rng(0)):
            gram, moment = matrix_and_moment(scale * drawn, k, self.centered)
            noisy = even + gram - nothing
            moves.append(through(noisy, lambda values: 1 / (values + self.lam)) @ moment)
        return np.asarray(np.transpose(moves) @ moves / REHEARSALS)

    def _unit(self, budgets: Floats, d: int) -> float:
        return float(self._constant(d) / self._strengths(budgets).sum())

    def _strengths(self, budgets: Floats) -> Floats:
        """What every person's sensitivity may be, in units of the noise."""
        if self.noise == "laplace":
            return budgets
        return _gaussian_budgets(budgets.tobytes(), float(self.delta))

    def _weights(self, strengths: Floats) -> Floats:
        share = strengths / strengths.max()  # the sum of huge ones would overflow
        return np.asarray(share / share.sum())

    def _constant(self, d: int) -> float:
        return statistics_constant(d, noise=self.noise, centered=self.centered, scale=self.scale)

    def _factors(self, d: int) -> Floats:
        return factors(d, self.noise, self.centered, self.scale)
