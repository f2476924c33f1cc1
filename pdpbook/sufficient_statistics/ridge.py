"""Ridge regression from noisy sums of products, and how far one record moves these sums."""

from __future__ import annotations

from fractions import Fraction
from functools import partial
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils.validation import check_is_fitted

from pdpbook import Floats, check
from pdpbook.domains import Cube
from pdpbook.guarantees import BudgetAccount, GaussianDP, PureDP
from pdpbook.linear import LinearRegressor
from pdpbook.noise import ProductLaw, WholeNumbers, gaussian_mu
from pdpbook.noise.laws import PublicNoise
from pdpbook.noise.profiles import at_levels
from pdpbook.noise.whole_numbers import check_grid_of, drop_budgets_below_a_step
from pdpbook.participants import (
    Participants,
    fill_in_zeros,
    read_budgets,
    read_user_records,
    refuse_users_of_sums,
    user_records_for_audit,
)
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
    whole_number_source,
)
from pdpbook.sufficient_statistics.grid_sums import grid_law
from pdpbook.sums import Sums, sums_over_records
from pdpbook.user_records import UserParticipants

NOISES = ("laplace", "gaussian")
GRID = 1024


def statistics_constant(
    d: int, *, noise: str = "laplace", centered: bool = False, scale: float | None = None
) -> float:
    r"""Sensitivity of the scaled sums per unit weight: person i moves them by `w[i]` times it.

    For records in :math:`[0,1]^d\times[-1,1]`, a constant feature included, the statistic of one
    person is :math:`t=(xx^\top, s\,xy)`, the matrix by its upper triangle; `centered` it is
    :math:`(\tilde x\tilde x^\top, s\tilde x, s\tilde xy, gy)` with
    :math:`\tilde x=x-\frac12\mathbf 1`. In the l1 norm, for Laplace noise, :math:`g=\frac12sd` and
    the constant is :math:`D_1`; in the l2 norm, for Gaussian noise, :math:`g=\frac12 s\sqrt d`,
    entries off the diagonal count :math:`\sqrt2` times, and the constant is :math:`D_2`:

    .. math:: &D_1 = \frac{d(d+1+s)^2}{2(d+1)}\ (s\le d+1), \qquad D_1 = 2sd\ (s\ge d+1),\\
              &D_2^2 = d^2+s^2d+\tfrac94 s^4\ (s^2\le\tfrac23 d), \qquad
              D_2^2 = 4s^2d\ (s^2\ge\tfrac23 d),\\
              &D_1 = \tfrac18 d(d+1)+2sd, \quad D_2^2 = \tfrac18 d^2 + 2s^2d \quad\text{(centered)}.

    Both :math:`D_1` are attained. :math:`D_2^2` is attained where :math:`\frac32s^2` is a whole
    number or at least d (centered: for even d), and is at most 1/4 (1/8) too large elsewhere.
    Statements ``thm-pssp-laplace`` and ``thm-pssp-gaussian`` (ours), chapter *personalized/sums*.

    Parameters
    ----------
    d : int
    noise : {"laplace", "gaussian"}, default "laplace"
    centered : bool, default False
    scale : float, optional
        :math:`s`, above 0. None is ``max(1, d / 4)`` and ``sqrt(d / 3)``, centered
        ``max(1/2, d / 8)`` and ``sqrt(d / 8)``.
    """
    d, s = check.count(d, "d"), label_scale(d, noise, centered, scale)
    if noise == "laplace":
        if centered:
            return d * (d + 1) / 8 + 2 * s * d
        return d * (d + 1 + s) ** 2 / (2 * (d + 1)) if s <= d + 1 else 2 * s * d
    if centered:
        return float(np.hypot(d / np.sqrt(8), s * np.sqrt(2 * d)))
    if s > np.sqrt(2 * d / 3):
        return float(2 * s * np.sqrt(d))
    return float(np.sqrt(d**2 + s**2 * d + 2.25 * s**4))


def label_scale(d: int, noise: str, centered: bool, scale: float | None) -> float:
    """The s of the formulas: the user's, or the default."""
    check.choice(noise, "noise", NOISES)
    check.flag(centered, "centered")
    if scale is not None:
        return check.number(scale, "scale")
    if noise == "laplace":
        return max(0.5, d / 8) if centered else max(1.0, d / 4)
    return float(np.sqrt(d / 8 if centered else d / 3))


class RidgePath(NamedTuple):
    """Coefficients for several penalties; see `SufficientStatisticsRidge.coef_path`."""

    coef: Floats  #: shape (k, d), in your units
    intercept: Floats  #: shape (k,)


class SufficientStatisticsRidge(LinearRegressor):
    r"""Ridge regression from noisy weighted sums that keeps the budget of every person: P-SSP.

    On the domain :math:`x_i\in[0,1]^d`, :math:`y_i\in[-1,1]` the estimator releases

    .. math:: \hat S = \sum_i w_i x_i x_i^\top + N, \qquad \hat b = \sum_i w_i x_i y_i + n,

    with independent noise, and solves :math:`\hat\theta=(\hat S_++\lambda I)^{-1}\hat b`, where
    :math:`\hat S_+` has the negative eigenvalues of :math:`\hat S` set to 0. With
    ``noise="laplace"`` the weights are :math:`w_i=\varepsilon_i/\sum_j\varepsilon_j`, the noise has
    scale :math:`\beta=D_1/\sum_j\varepsilon_j` on the upper triangle and :math:`\beta/s` on the
    moment. With ``noise="gaussian"`` every budget :math:`(\varepsilon_i,\delta)` is turned into the
    :math:`\mu_i` of Gaussian privacy whose exact profile passes through it,
    :math:`w_i=\mu_i/\sum_j\mu_j`, and the standard deviations are :math:`\sigma=D_2/\sum_j\mu_j` on
    the diagonal, :math:`\sigma/\sqrt2` off it and :math:`\sigma/s` on the moment. ``noise_.scale``
    is :math:`\beta` or :math:`\sigma`; the constants are those of `statistics_constant`. Statements
    ``thm-pssp-gaussian`` and ``thm-pssp-laplace`` (ours), chapter *personalized/sums*.

    With ``noise="grid"`` features, labels and weights become whole numbers before they are added
    up, and the noise is Laplace noise of whole numbers, drawn without floats. With
    :math:`a_i=\lfloor G\varepsilon_i/\max_j\varepsilon_j\rfloor` and :math:`D_G` from
    `farthest_records` person i loses at most
    :math:`a_i\max_j\varepsilon_j/G\le\varepsilon_i`, and
    :math:`\beta = GD_G/(\max_j\varepsilon_j\sum_ja_j)`. Statement ``thm-grid-sums`` (ours), chapter
    *synthesis/whole_numbers*.

    With `users` in `fit` a person is a user, who counts with the mean of :math:`xx^\top` and of
    :math:`xy` over their rows, however many these are. Weights and noise stay as they are, and the
    promise is about all rows of a user: statement ``prop-user-means`` (ours), chapter
    *user_level/means_of_rows*.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of squares, above 0; scikit-learn's ``alpha / n``. It is
        applied after the release and no part of the promise: see `coef_path`.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody or one each; `fit` can be given others. Public.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units; they are mapped to [-1, 1].
    clip : bool, default False
        Clip data to the bounds instead of raising. The middle of its bounds stands for NaN. An
        error is seen by whoever runs the fit; where that is not the holder of the data, clip. For
        columns with missing values there is `PublicSchema`.
    bounds : array_like, shape (2,) or (d, 2), default (0.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column. They are
        mapped to [0, 1] and never read from the data.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, and is penalized.
    delta : float, default 0.0
        Failure probability: in (0, 1) for Gaussian noise, else 0: the others never fail.
    noise : {"laplace", "gaussian", "grid"}, default "laplace"
        Law of the noise: Laplace for a pure promise, Gaussian, or Laplace in whole numbers, where
        no rounding touches the promise. With a `random_state` of None every bit of the last is the
        operating system's.
    centered : bool, default False
        Release sums of :math:`\tilde x=x-\frac12\mathbf 1` instead, with :math:`\sum w\tilde x` and
        :math:`\sum wy`, and compute :math:`\hat S` and :math:`\hat b` from them: less noise.
    scale : float, optional
        Public :math:`s` of `statistics_constant`, with its default: a large one is for the moment,
        a small one for the matrix.
    grid : int, default 1024
        Public number of whole steps in a unit of the domain, and weight of the largest budget,
        with ``noise="grid"``: G, up to 65,536.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.scale`` is :math:`\beta` or :math:`\sigma`, in units of the theorem.
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    n_features_in_ : int
    guarantee_ : PureDP or GaussianDP
        What each person was promised, under replace-one neighbors; with users, what each was
        promised when all of their rows are replaced, by sorted labels. The Gaussian one is stronger
        than :math:`(\varepsilon_i,\delta)`: ``guarantee_.to_approximate(delta)`` returns that.
    release_ : ndarray, shape (m,)
        All released numbers, from which everything else is computed. On the domain: the upper
        triangle row by row, then the moment; centered, the sums of :math:`\tilde x`,
        :math:`\tilde xy` and :math:`y` in its place. With `fit_intercept` the sums over the
        constant alone are public and left out.
    gram_ : ndarray, shape (d, d), one more each with `fit_intercept`
        :math:`\hat S` on the domain, as released; it may have negative eigenvalues.
    moment_ : ndarray, shape (d,), one more with `fit_intercept`
        :math:`\hat b` on the domain.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y, epsilon = rng.random((500, 2)), rng.random(500), np.repeat([0.1, 1.0], [100, 400])
    >>> model = SufficientStatisticsRidge(lam=0.5).fit(X, y, epsilon=epsilon)
    >>> model.gram_.shape, round(model.noise_.scale, 4), model.coef_path([0.01, 0.1]).coef.shape
    ((2, 2), 0.013, (2, 2))
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        epsilon: ArrayLike = 1.0,
        random_state: int | np.random.Generator | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        bounds: ArrayLike = (0.0, 1.0),
        fit_intercept: bool = False,
        delta: float = 0.0,
        noise: str = "laplace",
        centered: bool = False,
        scale: float | None = None,
        grid: int = GRID,
    ) -> None:
        self.lam = lam
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.delta = delta
        self.noise = noise
        self.centered = centered
        self.scale = scale
        self.grid = grid

    def check_settings(self) -> None:
        check.settings(
            self,
            lam=check.scale,
            y_bounds=check.bounds,
            clip=check.flag,
            bounds=check.pairs,
            fit_intercept=check.flag,
            delta=partial(check.delta, zero=True),
            noise=check.one_of(*NOISES, "grid"),
            centered=check.flag,
            scale=check.optional(check.scale),
        )
        check_grid_of(self.noise, self.grid, GRID)
        if self.noise == "gaussian" and self.delta == 0:
            raise ValueError(
                "delta must be above 0 and below 1 with noise='gaussian'; got 0. "
                "Gaussian noise keeps no pure promise: noise='laplace' does"
            )
        if self.noise != "gaussian" and self.delta > 0:
            raise ValueError(
                f"delta must be 0 with noise={self.noise!r}, which never fails; got {self.delta:g}"
            )

    def fit(
        self,
        X: Any,
        y: Any = None,
        *,
        users: Any = None,
        epsilon: Any = None,
        account: BudgetAccount | None = None,
    ) -> Self:
        """Release noisy sums and the coefficients that follow from them; return the estimator.

        Parameters
        ----------
        X : array_like, shape (n, d), or Sums
            One row a person, inside the bounds, with `users` any number of rows of each; or what
            `sums` of this model has made of them, in place of X and y, with one budget a person.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        users : array_like, shape (n,), optional
            Who owns each row; None makes every row a person of its own.
        epsilon : float, array_like, shape (n,), or mapping, optional
            Budgets in nats; whoever has 0 takes no part. None is the constructor's.
            ``epsilon.min()`` is the baseline in which all live on the smallest budget, and
            ``threshold_budgets(epsilon)`` the best one with a single privacy level. With `users`
            the same on all rows of a user, or by user: a mapping, or a Series with that index.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend, or leaves out, as if their budget were 0, whoever would.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y, users)
        self.check_settings()
        self.refuse_grid_of(users)
        check_account(account)
        source = whole_number_source if self.noise == "grid" else generator_from
        rng = source(self.random_state)
        with all_or_nothing(self):
            records = read_user_records(self, X, y, epsilon_as_passed, users)
            promise = partial(self.guarantee, neighbors=records.neighbors)
            budgets = affordable_budgets(account, records.budgets(epsilon), promise, people=records)
            budgets = self.drop_small_budgets(budgets)
            guarantee = promise(budgets)

            domain = self.domain(records.columns)
            law = self.law(records.participants(domain, budgets))
            released = release(law, guarantee, account, rng, people=records)
            if isinstance(law, WholeNumbers):
                released = law.to_domain(released)

            all_sums = self.insert_public_sums(released, domain.d)
            self.gram_, self.moment_ = matrix_and_moment(all_sums, domain.d, self.centered)
            path = self.coef_path([self.lam])
            self.coef_, self.intercept_ = path.coef[0], float(path.intercept[0])
            self.release_, self.guarantee_ = released, guarantee
            self.noise_ = PublicNoise(scale=float(law.scale[0]))  # the first is on the diagonal
        return self

    def law(self, people: Participants | UserParticipants) -> ProductLaw | WholeNumbers:
        """Return the exact distribution of the released sums: the theorem."""
        if isinstance(people, Participants) and self.noise == "grid":
            return self.whole_law(people)
        parameters, d = self.privacy_parameters(people.budgets), people.d
        (center,) = people.average(self.statistic, parameters)
        with np.errstate(over="ignore"):
            scale = 1 / (self.noise_rate(parameters, d) * self.factors(d))
        check.positive(scale, "scale of the noise")
        if self.fit_intercept:  # no noise on what is public
            known, _ = public_sums(d, self.centered)
            center, scale = np.delete(center, known), np.delete(scale, known)
        return ProductLaw(center, scale, self.noise)

    def whole_law(self, people: Participants) -> WholeNumbers:
        """Return the exact distribution of the released sums in whole numbers."""
        s = label_scale(people.d, "laplace", self.centered, self.scale)
        exact_scale = Fraction(repr(float(s)))
        law = grid_law(people, self.grid, centered=self.centered, scale=exact_scale)
        if not self.fit_intercept:
            return law
        known, _ = public_sums(people.d, self.centered)
        unknown = np.setdiff1d(np.arange(len(law.center)), known)  # no noise on what is public
        center, rates, steps = (
            tuple(entries[k] for k in unknown) for entries in (law.center, law.rates, law.steps)
        )
        return WholeNumbers(center, rates, steps)

    def refuse_grid_of(self, users: Any) -> None:
        """Refuse a grid with users: a mean over rows is no whole number of steps."""
        if users is not None and self.noise == "grid":
            raise ValueError(
                "noise must be 'laplace' or 'gaussian' with users, whose means are no whole "
                "numbers of steps; got 'grid'"
            )

    def guarantee(self, budgets: Floats, neighbors: str = "replace-one") -> PureDP | GaussianDP:
        """Return the promise to everybody, of their budgets, shape (n,)."""
        parameters = self.privacy_parameters(budgets[budgets > 0])
        kind = GaussianDP if self.noise == "gaussian" else PureDP
        return kind(fill_in_zeros(parameters, budgets), neighbors=neighbors)

    def privacy_parameters(self, budgets: Floats) -> Floats:
        """Return what every budget buys: itself, or with Gaussian noise the mu of its promise."""
        if self.noise != "gaussian":
            return budgets
        return at_levels(gaussian_mu, budgets, float(self.delta))

    def noise_rate(self, parameters: Floats, d: int) -> float:
        """Return one over the noise scale of the scaled sums: of public numbers alone."""
        return float(parameters.sum() / self.constant(d))

    def constant(self, d: int) -> float:
        """Return D, the largest move of the scaled sums by one person, per unit of weight."""
        return statistics_constant(d, noise=self.noise, centered=self.centered, scale=self.scale)

    def factors(self, d: int) -> Floats:
        """Return the factor of every sum in the scaled sums, shape (m,)."""
        s = label_scale(d, self.noise, self.centered, self.scale)
        gaussian = self.noise == "gaussian"
        rows, columns = np.triu_indices(d)
        off_diagonal = np.sqrt(2) if gaussian else 1.0  # entries that stand for two
        triangle = np.where(rows == columns, 1.0, off_diagonal)
        if not self.centered:
            return np.append(triangle, np.full(d, s))
        label = s * (np.sqrt(d) if gaussian else d) / 2
        return np.concatenate([triangle, np.full(2 * d, s), [label]])

    def insert_public_sums(self, released: Floats, d: int) -> Floats:
        """Return all sums: the released ones, and those over the constant feature alone."""
        if not self.fit_intercept:
            return released
        known, values = public_sums(d, self.centered)
        return np.insert(released, known - np.arange(len(known)), values)

    def coef_path(self, lams: ArrayLike) -> RidgePath:
        """Coefficients for other penalties, shape (k,), above 0: no further privacy is spent."""
        check_is_fitted(self, "gram_")
        penalties = np.atleast_1d(check.positive(lams, "lams"))
        if penalties.ndim != 1:
            raise ValueError(f"lams must have shape (k,); got shape {penalties.shape}")
        values, vectors = np.linalg.eigh(self.gram_)
        shrunk = (vectors.T @ self.moment_) / (np.maximum(values, 0.0) + penalties[:, None])
        domain = self.domain(self.n_features_in_)
        lines = [domain.to_user_units(theta) for theta in shrunk @ vectors.T]
        return RidgePath(
            np.array([coef for coef, _ in lines]), np.array([intercept for _, intercept in lines])
        )

    def drop_small_budgets(self, budgets: Floats) -> Floats:
        """Return the budgets, on a grid with 0 for those that do not buy one whole step."""
        if self.noise == "grid":
            return drop_budgets_below_a_step(budgets, self.grid)
        return budgets

    def domain(self, columns: int) -> Cube:
        """Return the domain that the public bounds of so many columns define."""
        return Cube(
            bounds=self.bounds,
            y_bounds=self.y_bounds,
            columns=columns,
            fit_intercept=self.fit_intercept,
            clip=self.clip,
        )

    def output_law(
        self, X: Any, y: Any = None, *, users: Any = None, epsilon: Any = None
    ) -> ProductLaw | WholeNumbers:
        """Exact law of `release_` on the domain, from which `fit` draws. NOT private: for audits.

        Its center is what would be released without noise. With ``noise="grid"`` it is a law of
        whole numbers, and its ``to_domain`` says what they stand for.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y, users)
        self.check_settings()
        self.refuse_grid_of(users)
        records = user_records_for_audit(self, X, y, epsilon_as_passed, users)
        domain = self.domain(records.columns)
        budgets = self.drop_small_budgets(records.budgets(epsilon))
        return self.law(records.participants(domain, budgets))

    def sums(self, X: Any, y: Any, *, users: Any = None, epsilon: Any = None) -> Sums:
        """Return `Sums` of some of the people, which `fit` takes when all are added. NOT private.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person, inside the bounds; one row will do.
        y : array_like, shape (n,)
            Labels, inside `y_bounds`.
        users : array_like, optional
            Refused: the mean over the rows of a user needs all of them at once.
        epsilon : float or array_like, shape (n,), optional
            Their budgets, as in `fit`; here all may be 0. None is the constructor's.
        """
        refuse_users_of_sums(users)
        return sums_over_records(self, X, y, self.epsilon if epsilon is None else epsilon)

    def statistic(self, X: Floats, y: Floats, weights: Floats) -> tuple[Floats]:
        """Return the weighted sums of `release_`, with those of a constant feature alone."""
        X = X - 0.5 if self.centered else X
        gram = ((X.T * weights) @ X)[np.triu_indices(X.shape[1])]
        moment = X.T @ (weights * y)
        if not self.centered:
            return (np.append(gram, moment),)
        return (np.concatenate([gram, X.T @ weights, moment, [weights @ y]]),)

    def weights_in_sums(self, budgets: Floats, d: int) -> Floats:
        """Return the weight with which each person is added up by `sums`."""
        return self.privacy_parameters(budgets)


def public_sums(d: int, centered: bool) -> tuple[NDArray[np.intp], Floats]:
    """Where sums over a last feature of ones are public, and what they are: weights sum to 1."""
    corner = d * (d + 1) // 2 - 1
    if centered:  # the ones are halves
        return np.array([corner, corner + d]), np.array([0.25, 0.5])
    return np.array([corner]), np.array([1.0])


def matrix_and_moment(release: Floats, d: int, centered: bool) -> tuple[Floats, Floats]:
    """The Gram matrix and the moment of the domain that released sums stand for."""
    gram = np.zeros((d, d))
    rows, columns = np.triu_indices(d)
    gram[rows, columns] = gram[columns, rows] = release[: len(rows)]
    blocks = release[len(rows) :]
    if not centered:
        return gram, blocks
    mean, moment, label = blocks[:d], blocks[d : 2 * d], blocks[2 * d]
    gram += np.add.outer(mean, mean) / 2 + 0.25  # the weights sum to 1, publicly
    return gram, moment + label / 2
