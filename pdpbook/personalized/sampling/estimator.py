"""Ridge regression on a sample of the people: the estimator, repaired and as printed."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin

from pdpbook._accounts import charge, check_account
from pdpbook._budgets import taking_part, without_negligible
from pdpbook._domain import (
    check_number,
    data_of,
    generator_from,
    in_hand,
    predictions,
    to_user_units,
)
from pdpbook.blocks import in_memory
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.noise import L2Laplace
from pdpbook.personalized.ridge import PDPRidge
from pdpbook.personalized.sampling.law import SampledLaw
from pdpbook.personalized.sampling.rule import keep_probabilities, level
from pdpbook.reports.frames import cube_frame
from pdpbook.reports.noise import Crowd, Noise
from pdpbook.reports.reported import Reported
from pdpbook.ridge import weighted_ridge
from pdpbook.sensitivity import solver_excess
from pdpbook.validation import check_choice, check_design, check_epsilon

__all__ = ["SampledRidge"]

Floats = NDArray[np.float64]
Kept = NDArray[np.bool_]

LARGEST = 14  # people left to chance in an exact law: it has 2**LARGEST parts


class SampledRidge(Reported, RegressorMixin, BaseEstimator):  # type: ignore[misc]
    r"""Ridge regression on a sample in which each person appears as often as their budget allows.

    Everyone whose budget :math:`\varepsilon_i` is at least the threshold t is kept; everyone else
    with the probability of `keep_probabilities`. A mechanism at level t is run on those kept, Q:

    .. math:: \hat\theta = \arg\min_\theta \frac1N\sum_{i\in Q} h(y_i-x_i^\top\theta)
              + \lambda\|\theta\|^2 + Z, \qquad Z\sim\text{density}\propto e^{-\eta\|z\|}.

    With ``normalizer="public"`` (the repair) :math:`N=\bar n=\sum_i\pi_i` and
    :math:`\eta=t\bar n/C'` are public and fixed, and every budget is kept. With
    ``normalizer="sampled"`` (as printed) :math:`N=|Q|` and :math:`\eta=t|Q|/C` depend on the
    sample, and the budgets are **not** kept: that variant is here to be studied, and promises
    each person the threshold only.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty, above 0, against the sum of losses over N.
    epsilon : float or array_like, default 1.0
        Budget in nats, for everybody or one each; `fit` can be given others. Public.
    threshold : float, "max" or "mean", default "max"
        The level t of the analysis, within the range of the budgets, or which number of the
        budgets it is. Someone is then always kept, so the sample is never empty.
    normalizer : {"public", "sampled"}, default "public"
        The repaired mechanism, or the printed one.
    rule : {"jorgensen", "exact"}, default "jorgensen"
        Which `keep_probabilities`; "exact" only with the public normalizer.
    loss : {"square", "huber"}, default "square"
        With the Huber loss :math:`C'=C`, plus what its solver may be off: once, and with the rule
        "exact" twice, because a record that comes or goes moves the minimizer by half of C.
    proof : {"published", "exact-norm", "tight", "joint"}, default "joint"
        Which theorem sets the constant for the square loss. With the rule "exact" the constant of
        "joint" is that of "tight": somebody who comes or goes may cost half of it.
    bound : float, optional
        A norm bound, known without the data, of the least-squares solution for *every subset* of
        the people; square loss only.
    row_norm : float, optional
        Public bound on the norm of a row on the domain, constant feature included; enforced.
    huber_threshold : float, default 1.0
        Where the Huber loss turns linear, in domain units of the label.
    fit_intercept : bool, default False
        Append a constant feature 1, as the last one: it counts in d, is penalized and noised.
    bounds : array_like, shape (2,) or (d, 2), default (0.0, 1.0)
        Public bounds of the features in your units, never read from the data.
    y_bounds : pair of float, default (-1.0, 1.0)
        Public bounds of the labels in your units.
    clip : bool, default False
        Clip data to the bounds instead of raising.
    random_state : None, int or Generator, default None
        None for every real release: the same integer repeats the sample and the noise.

    Attributes
    ----------
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units.
    guarantee_ : PureDP
        Under replace-one neighbors: ``min(epsilon, t)`` for each person with the public
        normalizer; t for everybody, which is above what the careful asked for, with the other.
    eta_ : float
        Rate of the noise radius on the domain. With the sampled normalizer it tells how many
        people were kept, which the promise of t can bear.
    noise_ : Noise
        What is public about the noise; `report` reads it.
    n_features_in_ : int
        Number of columns of X.

    Notes
    -----
    Statements ``alg-jorgensen`` (Acharya et al. 2024, section 3.2), ``prop-sampling-replace``,
    ``prop-sampling-flaw``, ``prop-less-noise`` (ours), chapter *personalized/sampling*. Who was
    kept is not stored: told together with the release, it would void the promise.

    The weights :math:`1/\bar n` can add up to :math:`W=n/\bar n`, so :math:`C'` is the constant of
    `sensitivity.ridge_constant` for the penalty :math:`\lambda/W`, divided by W. A person of the
    public list of budgets who gives no record counts as a row :math:`x=0`, so the same promise
    covers a record that comes or goes.

    Examples
    --------
    >>> import numpy as np
    >>> rng = np.random.default_rng(1)
    >>> X, y = rng.random((500, 2)), rng.random(500)
    >>> epsilon = np.where(np.arange(500) < 100, 0.1, 1.0)
    >>> model = SampledRidge(lam=0.5, threshold="max").fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.eta_, 1)
    ((2,), 61.2)
    """

    def __init__(
        self,
        lam: float = 1.0,
        *,
        epsilon: ArrayLike = 1.0,
        threshold: float | str = "max",
        normalizer: str = "public",
        rule: str = "jorgensen",
        loss: str = "square",
        proof: str = "joint",
        bound: float | None = None,
        row_norm: float | None = None,
        huber_threshold: float = 1.0,
        fit_intercept: bool = False,
        bounds: ArrayLike = (0.0, 1.0),
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        random_state: int | np.random.Generator | None = None,
    ):
        self.lam = lam
        self.epsilon = epsilon
        self.threshold = threshold
        self.normalizer = normalizer
        self.rule = rule
        self.loss = loss
        self.proof = proof
        self.bound = bound
        self.row_norm = row_norm
        self.huber_threshold = huber_threshold
        self.fit_intercept = fit_intercept
        self.bounds = bounds
        self.y_bounds = y_bounds
        self.clip = clip
        self.random_state = random_state

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Draw a sample and release private coefficients.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person, inside `bounds`.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Budgets in nats; whoever has 0 takes no part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend.

        Returns
        -------
        SampledRidge
            The fitted estimator.
        """
        in_memory(f"{type(self).__name__}.fit", X, y, epsilon)
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        check_account(account)
        rng = generator_from(self.random_state)
        rows, labels = data_of(self, X, y)
        Z, z, shares, t = self._prepare(rows, labels, budgets)
        budgets = check_epsilon(budgets, len(rows))
        kept_promise = np.minimum(budgets, t) if self.normalizer == "public" else t * (budgets > 0)
        promise = PureDP(epsilon=kept_promise, neighbors="replace-one")
        charge(account, promise, X)
        law = self._given(Z, z, rng.random(len(z)) < shares, shares, t)
        theta = law.sample(rng=rng)
        self.coef_, self.intercept_ = to_user_units(
            theta, rows.shape[1], self.bounds, self.y_bounds
        )
        self.eta_ = float(law.eta)
        self.guarantee_ = promise
        self._keep_noise(Crowd(rows.shape[1], budgets, len(rows)))
        return self

    def predict(self, X: Any) -> Any:
        """Predict from the released coefficients, in your units; X may lie outside `bounds`."""
        return predictions(self, X)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> SampledLaw:
        """Exact law of the released parameters on the domain. NOT private: for audits and teaching.

        Parameters are as in `fit`, which draws once from exactly this law. It has a part for every
        set that can be kept, so at most 14 people may be left to chance; for more, take averages
        of `conditional_law` over sets drawn with `keep_probabilities`.
        """
        in_memory(f"{type(self).__name__}.output_law", X, y, epsilon)
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        Z, z, shares, t = self._prepare(*check_design(X, y), budgets)
        chance = np.flatnonzero(shares < 1)
        if len(chance) > LARGEST:
            raise ValueError(
                f"output_law needs at most {LARGEST} people whose budget is below the threshold; "
                f"got {len(chance)}, a mixture of 2**{len(chance)} laws. Take conditional_law"
            )
        kept = np.ones((2 ** len(chance), len(z)), dtype=bool)
        kept[:, chance] = np.arange(len(kept))[:, None] >> np.arange(len(chance)) & 1
        with np.errstate(divide="ignore"):  # a share of 0 is a set of probability 0
            log_weights = np.where(
                kept[:, chance], np.log(shares[chance]), np.log1p(-shares[chance])
            ).sum(axis=1)
        centers, etas = self._parts(Z, z, kept, shares, t)
        return SampledLaw(log_weights, centers, etas)

    def conditional_law(
        self, X: ArrayLike, y: ArrayLike, kept: ArrayLike, *, epsilon: ArrayLike | None = None
    ) -> L2Laplace:
        """Law of the released parameters on the domain, given who was kept. NOT private.

        Parameters
        ----------
        X, y, epsilon
            As in `fit`.
        kept : array_like of bool, shape (n,)
            Who is in the sample; any set, also one that the sampling cannot draw.

        Returns
        -------
        L2Laplace
            Its center and its rate; with `ridge.loss_moments` they give moments without drawing.
        """
        budgets = self._check_settings(in_hand(self, epsilon, X, y))
        rows, labels = check_design(X, y)
        Z, z, shares, t = self._prepare(rows, labels, budgets)
        mask, n = np.asarray(kept), len(rows)
        if mask.dtype != bool or mask.shape != (n,):
            raise ValueError(
                f"kept must be True or False for each row of X, shape ({n},); "
                f"got {mask.dtype} of shape {mask.shape}"
            )
        return self._given(Z, z, mask[check_epsilon(budgets, n) > 0], shares, t)

    def _check_settings(self, epsilon: ArrayLike | None) -> Any:
        """Everything that can be refused before the data are touched."""
        budgets = check_epsilon(self.epsilon if epsilon is None else epsilon)
        check_choice(self.normalizer, "normalizer", ("public", "sampled"))
        check_choice(self.rule, "rule", ("jorgensen", "exact"))
        if self.rule == "exact" and self.normalizer == "sampled":
            raise ValueError("rule must be 'jorgensen' with normalizer='sampled'; got 'exact'")
        budgets = without_negligible(budgets)  # who would only make the sample smaller
        above = np.atleast_1d(budgets)[np.atleast_1d(budgets) > 0]
        t, low, high = level(above, self.threshold), above.min(), above.max()
        if not low <= t <= high and not isinstance(self.threshold, str):
            raise ValueError(
                f"threshold must lie within the range of the budgets, [{low:g}, {high:g}]; "
                f"got {t:g}. Below it budgets are wasted, above it nobody is kept for sure"
            )
        check_number(self.huber_threshold, "huber_threshold")
        self._units()._check_settings(None)
        return budgets

    def _units(self) -> PDPRidge:
        """The estimator next door, for what both do alike: settings, domain and units."""
        twin = self._analysis(self.lam)
        for name in ("fit_intercept", "bounds", "y_bounds", "clip"):
            setattr(twin, name, getattr(self, name))
        return twin

    def _analysis(self, lam: float) -> PDPRidge:
        """The mechanism at level t, on the domain.

        The rule "exact" needs that a departure costs at most half of t, and half of the joint
        constant does not bound a departure.
        """
        halved = self.rule == "exact" and self.proof == "joint"
        return PDPRidge(
            lam,
            loss=self.loss,
            proof="tight" if halved else self.proof,
            bound=self.bound,
            row_norm=self.row_norm,
            threshold=self.huber_threshold,
        )

    def _prepare(self, X: Floats, y: Floats, budgets: Any) -> tuple[Floats, Floats, Floats, float]:
        X, y, budgets = taking_part(X, y, budgets)
        X, y = self._units()._to_domain(X, y)
        t = min(level(budgets, self.threshold), float(budgets.max()))  # the mean is rounded
        return X, y, keep_probabilities(budgets, t, self.rule), t

    def _given(self, X: Floats, y: Floats, kept: Kept, shares: Floats, t: float) -> L2Laplace:
        """The analysis of those kept. Null rows stand for the others, so the weights stay 1/n."""
        if self.normalizer == "public":
            analysis = self._analysis(self.lam * float(shares.mean()))
            law = analysis.output_law(X * kept[:, None], y * kept, epsilon=t)
            if self.rule == "jorgensen" or self.loss == "square":
                return law
            # a departure may cost t / 2: half of a replacement, of which the solver's part is whole
            norm = analysis._gradient_norm(np.full(len(y), t), X.shape[1])
            return L2Laplace(law.center, 1 / (1 / law.eta + solver_excess(norm, analysis.lam) / t))
        if not kept.any():
            raise ValueError(
                "kept must hold someone with normalizer='sampled': the noise of an empty sample "
                "is not defined. With normalizer='public' it is harmless"
            )
        return self._analysis(self.lam).output_law(X[kept], y[kept], epsilon=t)

    def _noise(self, crowd: Crowd, *plan: Any) -> Noise:
        """Exact, given the sample: as in `PDPRidge`.

        With ``normalizer="sampled"`` the rate is in proportion to how many are kept. Before a fit
        that is not known: the estimate takes their mean number, the bound those kept for sure.
        """
        frame = cube_frame(self, crowd.d)
        k, width = frame.order, 2 * frame.half
        if crowd.fitted:
            return Noise.of(crowd, frame, (k + 1) / self.eta_**2, exact=True, width=width)
        own = crowd.above
        t = min(level(own, self.threshold), float(own.max()))
        shares = keep_probabilities(own, t, self.rule)
        nobody = np.zeros((len(own), k))  # the rate is the same for all data
        eta = self._given(nobody, nobody[:, 0], np.ones(len(own), dtype=bool), shares, t).eta
        if self.normalizer == "public":
            return Noise.of(crowd, frame, (k + 1) / eta**2, exact=True, width=width)
        mean, least = eta * shares.mean(), eta * (shares == 1).mean()
        most = (k + 1) / least**2 * np.eye(k)
        return Noise.of(crowd, frame, (k + 1) / mean**2, most, width=width)

    def _parts(
        self, X: Floats, y: Floats, kept: NDArray[np.bool_], shares: Floats, t: float
    ) -> tuple[Floats, Floats]:
        """Center and rate for each of many kept sets."""
        if self.loss == "huber":
            laws = [self._given(X, y, row, shares, t) for row in kept]
            return np.array([law.center for law in laws]), np.array([law.eta for law in laws])
        whole = self._given(X, y, np.ones(len(y), dtype=bool), shares, t).eta
        size = kept.sum(axis=1)
        public = self.normalizer == "public"
        total = np.full(len(kept), shares.sum()) if public else size.astype(float)
        etas = np.full(len(kept), whole) if public else whole * (size / len(y))
        return np.array(
            [
                weighted_ridge(X, y, self.lam, row / n_bar) if row.any() else 0 * X[0]
                for row, n_bar in zip(kept, total, strict=True)
            ]
        ), etas
