"""Ridge regression whose objective is tilted at random, as an estimator."""

from __future__ import annotations

from functools import lru_cache
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import smallest, taking_part, where_above_zero, worth_taking
from pdpbook._domain import (
    bound_rows,
    check_flag,
    check_mapping,
    features_to_domain,
    finite_part,
    generator_from,
    in_hand,
    labels_of,
    labels_to_domain,
    predictions,
    table_of,
    to_user_units,
)
from pdpbook.blocks import in_memory
from pdpbook.guarantees import ApproximateDP, BudgetAccount, PureDP
from pdpbook.noise import L2Laplace, sample_l2_laplace
from pdpbook.objective_perturbation.budget import BudgetSplit, split_budget
from pdpbook.objective_perturbation.law import ObjectiveLaw
from pdpbook.reports.frames import cube_frame
from pdpbook.reports.noise import Crowd, Noise, through
from pdpbook.reports.reported import Reported
from pdpbook.sensitivity import huber_constant, solver_excess
from pdpbook.validation import check_delta, check_design, check_epsilon

__all__ = ["ObjectivePerturbation"]

Floats = NDArray[np.float64]

SOLVER_SHARE = 1e-3  # of the smallest budget, for a minimizer that is not exact
ULP = float(np.finfo(float).eps)


class ObjectivePerturbation(Reported, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Ridge regression that keeps the budget of every person by noise inside the objective.

    On the domain :math:`x_i\in[0,1]^d`, :math:`\|x_i\|\le R`, :math:`y_i\in[-1,1]` it releases

    .. math:: \hat\theta = \arg\min_\theta\ \sum_i w_i h_c(y_i-x_i^\top\theta)
              + \lambda\|\theta\|^2 + b^\top\theta, \qquad
              b\sim\text{density}\propto e^{-\beta\|b\|},

    with the Huber loss :math:`h_c(r)=r^2` for :math:`|r|\le c` and :math:`2c|r|-c^2` beyond.
    Replacing the record of person i changes the tilt that leads to a given output by at most
    :math:`4w_icR`, and the volume around it by a factor of at most :math:`1+w_iR^2/\lambda`. So

    .. math:: 4\beta cR\,w_i + \ln\Bigl(1+\frac{w_iR^2}{\lambda}\Bigr) = \varepsilon_i, \qquad
              \sum_i w_i = 1

    keeps and spends every budget. Against noise on the minimizer, the data pull the noise together
    where they have something to say; the price is that the budgets must sum to more than
    :math:`R^2/\lambda`.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of losses, above 0; scikit-learn's ``alpha / n``.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody or one each; `fit` can be given others. Public.
    delta : float, default 0.0
        Failure probability in [0, 1), the same for everybody; 0 is the pure promise.
    threshold : float, default 1.0
        Where the Huber loss turns linear, :math:`c`, in domain units of the label.
    exact : bool, default True
        False charges :math:`w_iR^2/\lambda` instead of its logarithm, which is simpler and needs
        more noise: :math:`w_i=\varepsilon_i/\sum_j\varepsilon_j` and
        :math:`\beta=(\sum_j\varepsilon_j-R^2/\lambda)/(4cR)`. Pure promise only.
    row_norm : float, optional
        Public bound R on the norm of a row on the domain, constant feature included; by default
        :math:`\sqrt d`. It is enforced: longer rows raise, or are scaled down with ``clip=True``.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, is penalized and tilted.
    bounds : array_like, shape (2,) or (d, 2), default (0.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units.
    clip : bool, default False
        Clip data to the bounds instead of raising.
    random_state : None, int or Generator, default None
        None for every real release: an integer repeats the tilt on the next data set, and the
        tilts of two such releases differ by the exact shift.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    guarantee_ : PureDP or ApproximateDP
        What each person was promised, under replace-one neighbors: `PureDP` for ``delta=0``.
    pure_guarantee_ : PureDP
        The pure promise, which always holds too; for ``delta=0`` it is `guarantee_`.
    beta_ : float
        Rate of the tilt on the domain, data-independent.
    eta_ : float
        Rate of the small noise on the output that makes up for an inexact minimizer,
        data-independent.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Statement ``thm-objective-perturbation`` (ours), chapter *personalized/beyond*. Kifer, Smith
    and Thakurta (2012) perturb objectives for one budget; the square loss needs a bound on the
    norm there, because its gradient has none. Nothing without noise stays on the fitted object.
    How far from the truth this ends, under a linear model, is `objective_error`.

    The theorem speaks of the exact minimizer, and an inexact one is not post-processing: how far
    it is off depends on the data. So a thousandth of the smallest budget is set aside. The solver
    stops at a gradient norm g that the public settings fix, and noise of rate
    :math:`\eta=\lambda\,10^{-3}\min_i\varepsilon_i/g` is added to the output
    (``prop-solver-tolerance``). A solver that does not get there raises and releases nothing.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.random((500, 2)), rng.random(500)
    >>> epsilon = np.where(np.arange(500) < 100, 0.1, 1.0)
    >>> model = ObjectivePerturbation(lam=0.5).fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.beta_, 1)
    ((2,), 71.8)
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        epsilon: ArrayLike = 1.0,
        delta: float = 0.0,
        threshold: float = 1.0,
        exact: bool = True,
        row_norm: float | None = None,
        fit_intercept: bool = False,
        bounds: ArrayLike = (0.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.lam = lam
        self.epsilon = epsilon
        self.delta = delta
        self.threshold = threshold
        self.exact = exact
        self.row_norm = row_norm
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.clip = clip
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release private coefficients.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person, inside `bounds`.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Budgets in nats; whoever has 0 takes no part. None is the constructor's. They must sum
            to more than :math:`R^2/\\lambda`.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        ObjectivePerturbation
            The fitted estimator.
        """
        in_memory(f"{type(self).__name__}.fit", X, y, epsilon)
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        check_account(account)
        rng = generator_from(self.random_state)
        rows = table_of(self, X)
        budgets = self._promised(budgets, *rows.shape)
        law = self._law(*finite_part(rows, labels_of(rows, y), budgets))
        d = law.X.shape[1]
        eta = self._output_rate(smallest(budgets), law.gradient_norm)
        promise, pure = self._promise(budgets, d)
        L2Laplace(np.zeros(d), law.beta)  # refuses a bad rate
        charge(account, promise, X, pure=pure)
        theta = law.sample(rng=rng) + sample_l2_laplace(d, eta, rng=rng)
        self.coef_, self.intercept_ = to_user_units(
            theta, rows.shape[1], self.bounds, self.y_bounds
        )
        self.beta_, self.eta_ = law.beta, eta
        self.guarantee_, self.pure_guarantee_ = promise, pure
        self._keep_noise(Crowd(rows.shape[1], budgets, len(rows)))
        return self

    def predict(self, X: Any) -> Any:
        """Predict from the released coefficients, in your units; X may lie outside `bounds`."""
        return predictions(self, X)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> ObjectiveLaw:
        """Exact law of the minimizer on the domain. NOT private: for audits and teaching.

        Parameters are as in `fit`, which draws once from this law and adds noise of rate `eta_`.
        That noise hides how far the solver was off and is charged apart: this law alone spends
        what is left of the budgets.
        """
        in_memory(f"{type(self).__name__}.output_law", X, y, epsilon)
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        rows, labels = check_design(X, y)
        return self._law(rows, labels, self._promised(budgets, *rows.shape))

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = check_epsilon(self.epsilon if epsilon is None else epsilon)
        delta = check_delta(self.delta, zero=True)
        check_flag(self.exact, "exact")
        if delta > 0 and not self.exact:
            raise ValueError(f"delta must be 0 with exact=False; got {delta:g}")
        huber_constant(self.lam, 1, self.threshold, self.row_norm)  # refuses bad values
        check_mapping(self.bounds, self.y_bounds, self.clip, self.fit_intercept)
        return budgets

    def _promised(self, budgets: Any, n: int, d: int) -> Floats:
        """Budgets of all n people, 0 for those whose share for the solver would cost the most."""
        own, d = check_epsilon(budgets, n), d + bool(self.fit_intercept)
        radius = self._radius(d)

        def noise(part: Floats, share: float = 1.0) -> float:
            rate = float(self._left(part).sum()) - radius**2 / self.lam
            if not rate > 0:
                return np.inf
            beta = rate / (4 * self.threshold * radius)
            tilt = 1 / (beta * 2 * (radius**2 + self.lam))  # moves the minimizer that far
            eta = self._output_rate(smallest(part), self._gradient_norm(beta, d))
            return tilt + (share / eta if eta > 0 else np.inf)

        return worth_taking(own, noise, noise(own[own > 0], 0.0))

    def _law(self, X: Floats, y: Floats, budgets: Any) -> ObjectiveLaw:
        X, y, budgets = taking_part(X, y, budgets)
        X = features_to_domain(X, self.bounds, self.clip, self.fit_intercept)
        X, y = self._bound_rows(X), labels_to_domain(y, self.y_bounds, self.clip)
        d = X.shape[1]
        split = self._split(budgets, d)
        beta = self._beta(split, d)
        return ObjectiveLaw(
            X, y, split.weights, self.lam, self.threshold, beta, self._gradient_norm(beta, d)
        )

    def _bound_rows(self, X: Floats) -> Floats:
        return bound_rows(X, self.row_norm, self.clip)

    def _radius(self, d: int) -> float:
        return float(np.sqrt(d)) if self.row_norm is None else min(self.row_norm, float(np.sqrt(d)))

    def _split(self, budgets: Floats, d: int) -> BudgetSplit:
        """Weights and rate: functions of public things alone."""
        left = self._left(budgets)
        curvature, total = self._radius(d) ** 2 / self.lam, float(left.sum())
        if not total > curvature:
            enough = 1.01 * self.lam * curvature / total
            bound = "d / lam" if self.row_norm is None else "row_norm**2 / lam"
            raise ValueError(
                f"epsilon must sum to more than {bound} = {curvature:.4g}; got a sum of "
                f"{budgets.sum():.4g} for {len(budgets)} people. lam = {enough:.3g} would do"
            )
        return _split(left.tobytes(), curvature, self._spare_delta(budgets), d, self.exact)

    def _beta(self, split: BudgetSplit, d: int) -> float:
        return split.rate / (4 * self.threshold * self._radius(d))

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        r"""An estimate, and a bound on the mean square length.

        The objective is :math:`2\lambda`-strongly convex, so a tilt b moves its minimizer by at
        most :math:`\|b\|/(2\lambda)`; where all losses are curved, with S the second moments of
        the rows, by :math:`(S+\lambda I)^{-1}b/2`. The small noise on the output comes on top.
        """
        frame = cube_frame(self, crowd.d, self.row_norm)
        k, lam = frame.order, float(self.lam)
        if crowd.fitted:
            beta, eta = self.beta_, self.eta_
        else:
            own = self._promised(crowd.epsilon, crowd.n or 0, crowd.d)
            own = own[own > 0]
            beta = self._beta(self._split(own, k), k)
            eta = self._output_rate(float(own.min()), self._gradient_norm(beta, k))
        tilt, small = (k + 1) / beta**2, (k + 1) / eta**2
        spread = through(frame.kept, lambda values: tilt / (2 * (values + lam)) ** 2 + small)
        most = k * (tilt / (2 * lam) ** 2 + small)
        return Noise.of(crowd, frame, spread, most, width=2 * frame.half)

    def _left(self, budgets: Floats) -> Floats:
        """What the minimizer may spend: all but the share of an inexact solver."""
        return np.asarray(budgets - SOLVER_SHARE * budgets.min())

    def _spare_delta(self, budgets: Floats) -> float:
        """The inexact solver multiplies delta by half of its factor."""
        return float(self.delta * np.exp(-SOLVER_SHARE * budgets.min() / 2))

    def _gradient_norm(self, beta: float, d: int) -> float:
        """Norm of the gradient, as computed, that a solver can reach despite rounding."""
        radius = self._radius(d)
        longest = (d + 8 * np.sqrt(d) + 40) / beta  # of the tilt, but for one in 10^17
        scale = longest + 2 * radius * (1 + self.threshold)
        return float(32 * ULP * (1 + radius**2 / self.lam) * scale)

    def _output_rate(self, least: float, gradient_norm: float) -> float:
        true_norm = 2 * gradient_norm  # as much again for the rounding of the gradient itself
        return SOLVER_SHARE * least / solver_excess(true_norm, self.lam)

    def _promise(self, budgets: Floats, d: int) -> tuple[PureDP | ApproximateDP, PureDP]:
        """What is promised, and the pure promise that holds as well."""
        if self.delta == 0:
            pure = PureDP(budgets, neighbors="replace-one")
            return pure, pure
        share = SOLVER_SHARE * smallest(budgets)

        def spent(own: Floats) -> Floats:
            split = self._split(own, d)
            return split.tilt + split.volume + share

        pure = PureDP(where_above_zero(spent, budgets), neighbors="replace-one")
        return ApproximateDP(budgets, self.delta, neighbors="replace-one"), pure


@lru_cache(maxsize=64)
def _split(budgets: bytes, curvature: float, delta: float, d: int, exact: bool) -> BudgetSplit:
    """An audit asks for the same split thousands of times."""
    epsilon = np.frombuffer(budgets)
    return split_budget(epsilon, curvature, delta=delta, d=d, exact=exact)
