"""Personalized ridge regression: the estimator of output perturbation."""

from __future__ import annotations

from functools import partial
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import taking_part, where_above_zero, worth_taking
from pdpbook._domain import (
    bound_rows,
    budgets_of,
    check_mapping,
    data_of,
    features_to_domain,
    finite_part,
    generator_from,
    in_hand,
    kept_budgets,
    labels_to_domain,
    note_width,
    people_in_blocks,
    predictions,
    refuse_few,
    to_user_units,
)
from pdpbook.blocks import Rows, in_memory
from pdpbook.guarantees import ApproximateDP, BudgetAccount, PureDP
from pdpbook.huber import huber_ridge
from pdpbook.noise import L2Laplace
from pdpbook.personalized.capped import FEW, CappedPlan, Rival, capped_plan
from pdpbook.personalized.weights import largest_losses, pdp_weights
from pdpbook.reports.frames import cube_frame
from pdpbook.reports.noise import Crowd, Noise
from pdpbook.reports.reported import Reported
from pdpbook.ridge import checked_ridge, refuse_lost_penalty, ridge_in_blocks
from pdpbook.sensitivity import PROOFS, huber_constant, ridge_constant, solver_excess
from pdpbook.validation import (
    check_budgets,
    check_choice,
    check_delta,
    check_design,
    check_epsilon,
    check_positive,
)

__all__ = ["PDPRidge"]

Floats = NDArray[np.float64]

NOISE_FOR_SOLVER = 1e-6  # the solver may cost the smallest budget this share of itself
ULP = float(np.finfo(float).eps)


class PDPRidge(Reported, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Ridge regression that keeps the budget of every person: PDP-OP.

    On the domain :math:`x_i\in[0,1]^d`, :math:`y_i\in[-1,1]` the estimator releases
    :math:`\bar\theta+Z`, where

    .. math:: &\bar\theta = \arg\min_\theta \sum_i w_i\,h(y_i - x_i^\top\theta)
              + \lambda\|\theta\|^2, \quad w_i = \frac{\varepsilon_i}{\sum_j\varepsilon_j},\\
              &Z \sim \text{density} \propto e^{-\eta\|z\|}, \quad
              \eta = \frac{\sum_j\varepsilon_j}{C},

    with the square or the Huber loss for :math:`h` and :math:`C` from `sensitivity`. Replacing
    the record of person i then changes the log-density of the release by at most
    :math:`\eta w_i C=\varepsilon_i`, whatever the other records are.

    With a `delta` above 0 the promise is :math:`(\varepsilon_i,\delta)`: every budget is traded
    for the larger :math:`\varepsilon_0(\varepsilon_i,\delta,d)` whose exact profile passes through
    that point, and these take the place of the budgets in weights and rate. The noise is smaller,
    and the pure promise of :math:`\varepsilon_0(\varepsilon_i,\delta,d)` holds as well.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of losses, above 0; scikit-learn's ``alpha / n``. It is
        part of the promise: choosing it by looking at the data spends privacy of its own. For the
        square loss one so small that rounding may lose it is refused, whatever the data are.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody or one each; `fit` can be given others. Public.
    delta : float, default 0.0
        Failure probability in [0, 1), the same for everybody; 0 is the pure promise.
    loss : {"square", "huber"}, default "square"
        The Huber loss needs no bound on the minimizer, hence far less noise for small `lam`.
    proof : {"published", "exact-norm", "tight", "joint"}, default "joint"
        Which theorem sets :math:`C` for the square loss; all are valid, the last is the smallest.
    weights : {"proportional", "capped"}, default "proportional"
        "capped" takes `sensitivity_weights` and their larger rate: less noise, more weight on the
        generous. Square loss, joint constant, no `bound`.
    bound : float, optional
        A norm bound of the weighted least-squares solution on the domain, known without the data
        (Assumption 2.2); square loss only. Wrong, or read from the data, it voids the promise.
    row_norm : float, optional
        Public bound on the norm of a row on the domain, constant feature included; by default
        :math:`\sqrt d`. It is enforced: longer rows raise, or are scaled down with ``clip=True``.
    threshold : float, default 1.0
        Where the Huber loss turns linear, in domain units of the label; unused by the square loss.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, is penalized and noised.
    bounds : array_like, shape (2,) or (d, 2), default (0.0, 1.0)
        Public bounds of the features in your units, one pair or a pair for each column. They are
        mapped to [0, 1] and never read from the data.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units; they are mapped to [-1, 1].
    clip : bool, default False
        Clip data to the bounds instead of raising. An error is seen by whoever runs the fit; where
        that is not the holder of the data, clip.
    random_state : None, int or Generator, default None
        None for every real release. The same integer repeats the noise on the next data set, and
        the difference of two such releases is the exact shift; `clone` copies a Generator likewise.

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
    eta_ : float
        Rate of the noise radius on the domain. It depends on the budgets and the public settings,
        never on the data.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Statements ``thm-pdp-op``, ``thm-pdp-op-bounded`` (Acharya et al. 2024, Theorems 2.1, 2.3),
    ``thm-joint-sensitivity``, ``thm-huber-sensitivity``, ``prop-row-norm``,
    ``prop-solver-tolerance``, chapter *personalized/pdp_op*; ``prop-sensitivity-weights`` (ours),
    chapter *personalized/pdp_op_data*; ``thm-profile-calibration`` (ours) for `delta`, chapter
    *personalized/beyond*. Nothing without noise stays on the fitted object. The number of people
    and the budgets are public. Rounding of floats is not covered by the promise.

    The Huber minimizer is iterative. It stops at a gradient norm g fixed by the public settings,
    which is charged: :math:`\eta=\min_i\varepsilon_i/(w_iC+g/\lambda)`, at most a millionth less
    unless a budget is tiny. A solver that does not get there raises and releases nothing.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.random((500, 2)), rng.random(500)
    >>> epsilon = np.where(np.arange(500) < 100, 0.1, 1.0)
    >>> model = PDPRidge(lam=0.5).fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.eta_, 1)
    ((2,), 63.3)
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        epsilon: ArrayLike = 1.0,
        delta: float = 0.0,
        loss: str = "square",
        proof: str = "joint",
        weights: str = "proportional",
        bound: float | None = None,
        row_norm: float | None = None,
        threshold: float = 1.0,
        fit_intercept: bool = False,
        bounds: ArrayLike = (0.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.lam = lam
        self.epsilon = epsilon
        self.delta = delta
        self.loss = loss
        self.proof = proof
        self.weights = weights
        self.bound = bound
        self.row_norm = row_norm
        self.threshold = threshold
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
        X : array_like, shape (n, d), or Rows
            One row a person, inside `bounds`. With the square loss memory maps, Dask arrays and
            `Rows` with columns X, y and perhaps epsilon are read block by block, in one pass.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`; None with `Rows`.
        epsilon : float or array_like, shape (n,), optional
            Budgets in nats; whoever has 0 takes no part. None is the constructor's;
            ``epsilon.min()`` is the baseline in which all live on the smallest budget, and
            ``threshold_budgets(epsilon)`` the best one with a single privacy level.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        PDPRidge
            The fitted estimator.
        """
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        check_account(account)
        rng = generator_from(self.random_state)
        if (people := self._people(X, y, epsilon, budgets)) is not None:
            law, budgets, n = self._law_in_blocks(people, budgets)
            refuse_few(n)
            note_width(self, len(law.center) - bool(self.fit_intercept))
        else:
            rows, labels = data_of(self, X, y)
            budgets = self._promised(budgets, *rows.shape)
            law = self._law(rows, labels, budgets)
            n = len(rows)
        promise, pure = self._promise(budgets, len(law.center))
        charge(account, promise, X, pure=pure)
        theta = law.sample(rng=rng)
        self.coef_, self.intercept_ = to_user_units(
            theta, self.n_features_in_, self.bounds, self.y_bounds
        )
        self.eta_ = float(law.eta)
        self.guarantee_, self.pure_guarantee_ = promise, pure
        self._keep_noise(Crowd(self.n_features_in_, budgets, n))
        return self

    def predict(self, X: Any) -> Any:
        """Predict from the released coefficients, in your units; X may lie outside `bounds`."""
        return predictions(self, X)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> L2Laplace:
        """Exact law of the released parameters on the domain. NOT private: for audits and teaching.

        Parameters are as in `fit`, which draws once from exactly this law. Its center is the
        minimizer without noise; with `fit_intercept` the constant feature comes last.
        """
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        if (people := self._people(X, y, epsilon, budgets)) is not None:
            return self._law_in_blocks(people, budgets)[0]
        rows, labels = check_design(X, y)
        return self._law(rows, labels, self._promised(budgets, *rows.shape))

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = check_epsilon(self.epsilon if epsilon is None else epsilon)
        check_delta(self.delta, zero=True)
        check_choice(self.loss, "loss", ("square", "huber"))
        if self.loss == "huber" and self.bound is not None:
            raise ValueError(
                f"bound must be None with loss='huber', which needs none; got {self.bound!r}"
            )
        check_choice(self.proof, "proof", PROOFS)
        check_choice(self.weights, "weights", ("proportional", "capped"))
        if self.weights == "capped" and not self._capable:
            needs = "loss='square', proof='joint' and bound=None; got 'capped'"
            raise ValueError(f"weights must be 'proportional' unless {needs}")
        ridge_constant(self.lam, 1, "published", self.bound, self.row_norm)  # refuses bad values
        huber_constant(self.lam, 1, self.threshold, self.row_norm)
        check_mapping(self.bounds, self.y_bounds, self.clip, self.fit_intercept)
        return budgets

    def _promised(self, budgets: Any, n: int, d: int) -> Floats:
        """Budgets of all n people; with the Huber loss, 0 for those who cost the others most."""
        budgets = np.asarray(check_budgets(budgets, n, "epsilon"))
        d += bool(self.fit_intercept)
        if self.loss == "square":
            self._check_penalty(int(np.count_nonzero(budgets)), d)
            return np.asarray(budgets)
        free = self._constant(d) / self._losses(budgets[budgets > 0], d).sum()

        def noise(part: Floats) -> float:
            return 1 / self._rate(self._losses(part, d), d)

        return worth_taking(budgets, noise, free)

    def _check_penalty(self, n: int, d: int) -> None:
        refuse_lost_penalty(self.lam, n, d, self.row_norm)

    def _law(self, X: Floats, y: Floats, budgets: Any) -> L2Laplace:
        X, y, budgets = taking_part(X, y, budgets)
        X, y = self._to_domain(X, y)
        losses = self._losses(budgets, X.shape[1])
        eta = check_positive(self._rate(losses, X.shape[1]), "eta")
        return L2Laplace(self._center(X, y, losses), eta)

    def _people(self, X: Any, y: Any, epsilon: Any, budgets: Any) -> Rows | None:
        """The data in blocks, or None where they are in memory."""
        for name, value in (("loss", "huber"), ("weights", "capped")):  # more than one pass
            if getattr(self, name) == value:
                in_memory(f"PDPRidge with {name}={value!r}", X, y, epsilon)
                return None
        return people_in_blocks(X, y, epsilon, budgets)

    def _law_in_blocks(self, people: Rows, budgets: Any) -> tuple[L2Laplace, Any, int]:
        """The law, the budgets to promise, and how many people: sums over blocks."""
        prepare = partial(self._prepare, budgets)
        center, total, kept = ridge_in_blocks(
            people, self.lam, prepare, reader="PDPRidge.fit", check=self._check_penalty
        )
        eta = check_positive(self._rate(np.array([total]), len(center)), "eta")
        promised = kept_budgets(budgets, kept)
        n = np.size(promised)
        if n == 1:  # one budget for everybody
            n = round(total / float(self._losses(np.atleast_1d(promised), len(center))[0]))
        return L2Laplace(center, eta), promised, n

    def _prepare(
        self, budgets: Any, X: Any, y: Any, epsilon: Any = None
    ) -> tuple[Floats, Floats, Floats, list[Floats]]:
        own, kept = budgets_of(budgets, epsilon, len(y))
        X, y, own = finite_part(X, y, own)
        X, y = self._to_domain(X, y)
        return X, y, self._losses(own, X.shape[1]), kept

    def _losses(self, budgets: Floats, d: int) -> Floats:
        """Largest loss that each person may suffer: with a delta, more than their budget."""
        delta = check_delta(self.delta, zero=True)
        return largest_losses(budgets.tobytes(), delta, d) if delta > 0 else budgets

    def _promise(self, budgets: Any, d: int) -> tuple[PureDP | ApproximateDP, PureDP]:
        """What is promised, and the pure promise that holds as well."""
        each = np.atleast_1d(budgets)
        losses = where_above_zero(lambda own: self._losses(own, d), each)
        losses = losses.reshape(np.shape(budgets))[()]
        pure = PureDP(epsilon=losses, neighbors="replace-one")
        if self.delta > 0:
            return ApproximateDP(budgets, self.delta, neighbors="replace-one"), pure
        return pure, pure

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        """Exact: a radius of mean square k(k + 1) / eta^2, in every direction alike."""
        frame = cube_frame(self, crowd.d)
        k = frame.order
        if crowd.fitted:
            eta = self.eta_
        else:
            own = self._promised(crowd.epsilon, crowd.n or 0, crowd.d)
            eta = self._rate(self._losses(own[own > 0], k), k)
        rival = None
        few = 1 < np.size(crowd.epsilon) <= FEW
        if few and self._capable and self.weights == "proportional":
            losses = self._losses(crowd.above, k)
            rival = Rival(losses, eta, self.lam, self.row_norm, crowd.d, frame.constant)
        each = (k + 1) / eta**2
        return Noise.of(crowd, frame, each, exact=True, width=2 * frame.half, rival=rival)

    @property
    def _capable(self) -> bool:
        """Whether the capped sensitivity is proved for these settings."""
        return (self.loss, self.proof, self.bound) == ("square", "joint", None)

    def _weights(self, budgets: Floats) -> Floats:
        return pdp_weights(budgets)

    def _capped(self, budgets: Floats, d: int) -> CappedPlan:
        return capped_plan(budgets.tobytes(), self.lam, d, self.row_norm)

    def _constant(self, d: int) -> float:
        if self.loss == "huber":
            return huber_constant(self.lam, d, self.threshold, self.row_norm)
        return ridge_constant(self.lam, d, self.proof, self.bound, self.row_norm)

    def _rate(self, budgets: Floats, d: int) -> float:
        """Rate of the noise: a function of public things alone."""
        if self.weights == "capped":
            return self._capped(budgets, d).eta
        if self.loss == "square":
            return float(budgets.sum() / self._constant(d))
        extra = solver_excess(self._gradient_norm(budgets, d), self.lam)
        return float(np.min(budgets / (self._weights(budgets) * self._constant(d) + extra)))

    def _gradient_norm(self, budgets: Floats, d: int) -> float:
        """Norm g of the true gradient that the Huber solver is charged for."""
        unit = self.lam * self._constant(d)  # no term of the gradient is longer
        radius = unit / (2 * self.threshold)
        residual = 1 + radius / np.sqrt(self.lam)  # |y| + |x| |theta|, which is rounded
        rounding = 64 * ULP * (1 + residual / self.threshold)
        return float(unit * max(NOISE_FOR_SOLVER * self._weights(budgets).min(), rounding))

    def _center(self, X: Floats, y: Floats, budgets: Floats) -> Floats:
        if self.weights == "capped":
            return checked_ridge(X, y, self.lam, self._capped(budgets, X.shape[1]).weights)
        weights = self._weights(budgets)
        if self.loss == "square":
            return checked_ridge(X, y, self.lam, weights)
        goal = self._gradient_norm(budgets, X.shape[1]) / 2  # the other half: its own rounding
        solution = huber_ridge(
            X, y, self.lam, weights, threshold=self.threshold, gradient_norm=goal
        )
        return solution.theta

    def _to_domain(self, X: Floats, y: Floats) -> tuple[Floats, Floats]:
        X = features_to_domain(X, self.bounds, self.clip, self.fit_intercept)
        return self._bound_rows(X), labels_to_domain(y, self.y_bounds, self.clip)

    def _bound_rows(self, X: Floats) -> Floats:
        return bound_rows(X, self.row_norm, self.clip)
