"""Ridge regression on a random sample: people with smaller budgets are included less often."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logsumexp

from pdpbook import Floats, check
from pdpbook.domains import Cube
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.linear import LinearRegressor
from pdpbook.noise import L2Laplace, sample_l2_laplace
from pdpbook.noise.laws import check_points, round_noise
from pdpbook.participants import (
    Participants,
    Records,
    drop_budgets_negligible_in_sum,
    read_budgets,
    read_records,
    records_for_audit,
)
from pdpbook.personalized.ridge import PDPRidge
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
)
from pdpbook.sensitivity import solver_excess
from pdpbook.sums import SumsOfRecords, refuse_mechanism

CHUNK = 1 << 20  # numbers in the largest temporary array


def keep_probabilities(
    epsilon: ArrayLike, threshold: float | str, rule: str = "jorgensen"
) -> Floats:
    r"""Inclusion probability of each person: the sampling rule, not the release.

    It is 1 for :math:`\varepsilon_i\ge t`, and below, with :math:`u=e^{t/2}`,

    .. math:: \pi_i = \frac{e^{\varepsilon_i}-1}{e^t-1}\ \text{(jorgensen)}, \qquad
              \pi_i = \frac{u\,(e^{\varepsilon_i}-1)}{(u-1)(u+e^{\varepsilon_i})}\ \text{(exact)}.

    The rule "exact" keeps people more often. It is for mechanisms whose loss is at most t when a
    record is replaced and at most :math:`t/2` when one comes or goes. Any t above 0 is taken here;
    `SampledRidge` wants one within the range of the budgets. Statements ``alg-jorgensen`` (Acharya
    et al. 2024, section 3.2, after Jorgensen, Yu and Cormode 2015) and ``prop-sampling-replace``
    (ours), chapter *personalized/sampling*. Returns an array of shape (n,).

    Parameters
    ----------
    epsilon : array_like, shape (n,), in nats, at least 0, above 0 for somebody
    threshold : float, "max" or "mean"
        The level t at which the sample is analyzed, or which number of the budgets it is.
    rule : {"jorgensen", "exact"}, default "jorgensen"

    Examples
    --------
    >>> keep_probabilities([0.1, 0.5, 1.0], "max").round(4)
    array([0.0612, 0.3775, 1.    ])
    """
    budgets = np.atleast_1d(check.privacy_parameters(epsilon, None, "epsilon"))
    check.choice(rule, "rule", ("jorgensen", "exact"))
    t = level(budgets, threshold)
    small = np.minimum(budgets, t)
    if rule == "exact":
        probability = expit(small - t / 2) * np.expm1(-small) / np.expm1(-t / 2)
    else:
        probability = np.exp(small - t) * (np.expm1(-small) / np.expm1(-t))
    return np.where(budgets < t, np.minimum(probability, 1.0), 1.0)


def level(budgets: Any, threshold: Any) -> float:
    """Return the level t of a sample: the threshold, or the number of the budgets that it names."""
    if isinstance(threshold, str):
        if threshold not in ("max", "mean"):
            raise ValueError(
                f"threshold must be 'max', 'mean' or a number above 0; got {threshold!r}"
            )
        largest = float(np.max(budgets))
        if threshold == "max":
            return largest
        return largest * float(np.mean(budgets / largest))  # the sum of huge budgets overflows
    return check.number(threshold, "threshold")


@dataclass(frozen=True, eq=False)
class SampledLaw:
    r"""Exact law of a release from a random sample: a mixture over all possible samples S.

    .. math:: p(z) = \sum_S \Pr[S]\; p_{\eta_S}(z-\theta_S)

    It holds the fit to each sample: not private. ``alg-jorgensen``, *personalized/sampling*.
    """

    log_weights: Floats  #: logarithms of the probabilities of the samples, shape (s,)
    centers: Floats  #: minimizer for each sample, shape (s, d); the sample of everybody comes last
    etas: Floats  #: rate of the l2-Laplace noise for each sample, shape (s,)

    @property
    def center(self) -> Floats:
        """Center for the sample of everybody, where an audit should look first."""
        return np.asarray(self.centers[-1])

    def logpdf(self, points: ArrayLike) -> Floats:
        """Log-density at `points` of shape (..., d); returns shape (...)."""
        d = self.centers.shape[1]
        points = check_points(points, d)
        flat = points.reshape(-1, d)
        log_densities = [np.zeros(0)]
        peak = float(L2Laplace(np.zeros(d), 1.0).logpdf(np.zeros(d)))
        heights = self.log_weights + peak + d * np.log(self.etas)
        step = max(1, CHUNK // self.centers.size)
        for k in range(0, len(flat), step):
            distances = np.linalg.norm(flat[k : k + step, None] - self.centers, axis=2)
            log_densities.append(logsumexp(heights - self.etas * distances, axis=1))
        return np.asarray(np.concatenate(log_densities).reshape(points.shape[:-1]))[()]

    def sample(
        self, size: int | tuple[int, ...] | None = None, *, rng: np.random.Generator
    ) -> Floats:
        """Draw from the law; shapes as in `noise.sample_l2_laplace`."""
        noise = sample_l2_laplace(self.centers.shape[1], 1.0, size, rng=rng)
        samples = rng.choice(len(self.etas), noise.shape[:-1], p=np.exp(self.log_weights))
        etas = np.asarray(self.etas[samples])
        return np.asarray(self.centers[samples] + noise / etas[..., None])


Sampled = NDArray[np.bool_]  # who is in the sample, one entry a participant

LARGEST = 14  # number of people whose inclusion is random in an exact law: it has 2**LARGEST terms


class SampledRidge(LinearRegressor):
    r"""Ridge regression on a sample in which each person appears as often as their budget allows.

    Everyone whose budget :math:`\varepsilon_i` is at least the threshold t is kept; everyone else
    with the probability of `keep_probabilities`. A mechanism at level t is run on those kept, Q:

    .. math:: \hat\theta = \arg\min_\theta \frac1N\sum_{i\in Q} h(y_i-x_i^\top\theta)
              + \lambda\|\theta\|^2 + Z, \qquad Z\sim\text{density}\propto e^{-\eta\|z\|}.

    With ``normalizer="public"`` (the repair) :math:`N=\bar n=\sum_i\pi_i` and
    :math:`\eta=t\bar n/C'` are public and fixed, and every budget is kept. With
    ``normalizer="sampled"`` (as printed) :math:`N=|Q|` and :math:`\eta=t|Q|/C` depend on the
    sample, and the budgets are **not** kept: that variant is here to be studied, and promises each
    person the threshold only. Who was sampled is not stored: telling it voids the promise.

    The weights :math:`1/\bar n` can add up to :math:`W=n/\bar n`, so :math:`C'` is the constant of
    `sensitivity.ridge_constant` for the penalty :math:`\lambda/W`, divided by W. A person of the
    public list of budgets who gives no record counts as a row :math:`x=0`, so the same promise
    covers a record that comes or goes. Statements ``alg-jorgensen`` (Acharya et al. 2024, section
    3.2), ``prop-sampling-replace``, ``prop-sampling-flaw``, ``prop-less-noise`` (ours), chapter
    *personalized/sampling*.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of losses, their sum over N; above 0.
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
        Append a constant feature 1, as the last one: it counts in d, is penalized and noised.
    threshold : float, "max" or "mean", default "max"
        The level t of the analysis, within the range of the budgets, or which number of the budgets
        it is. Someone is then always kept, so the sample is never empty.
    normalizer : {"public", "sampled"}, default "public"
        The repaired mechanism, or the printed one.
    rule : {"jorgensen", "exact"}, default "jorgensen"
        Which `keep_probabilities`; "exact" only with the public normalizer.
    loss : {"square", "huber"}, default "square"
        Loss of a row. With the Huber loss :math:`C'=C`, plus what its solver may be off: once, and
        with the rule "exact" twice, because who comes or goes moves the minimizer by half of C.
    proof : {"published", "exact-norm", "tight", "joint"}, default "joint"
        Which theorem sets the constant for the square loss. With the rule "exact" the constant of
        "joint" is that of "tight": somebody who comes or goes may cost half of it.
    bound : float, optional
        A norm bound as in `PDPRidge`, of the solution for *every subset* of the people.
    row_norm : float, optional
        Public bound on the norm of a row on the domain, constant feature included; enforced.
    huber_threshold : float, default 1.0
        Where the Huber loss turns linear, in domain units of the label.

    Attributes
    ----------
    noise_ : PublicNoise
        With the sampled normalizer ``noise_.rate`` tells how many people were kept, which the
        promise of t can bear.
    coef_ : ndarray, shape (d,)
        Released coefficients in your units.
    intercept_ : float
        Released intercept in your units. Without `fit_intercept` it only undoes the bounds.
    n_features_in_ : int
    guarantee_ : PureDP
        Under replace-one neighbors: ``min(epsilon, t)`` for each person with the public normalizer;
        t for everybody, which is above what the careful asked for, with the other.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y, epsilon = rng.random((500, 2)), rng.random(500), np.repeat([0.1, 1.0], [100, 400])
    >>> model = SampledRidge(lam=0.5, threshold="max").fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.noise_.rate, 1)
    ((2,), 61.2)
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
        threshold: float | str = "max",
        normalizer: str = "public",
        rule: str = "jorgensen",
        loss: str = "square",
        proof: str = "joint",
        bound: float | None = None,
        row_norm: float | None = None,
        huber_threshold: float = 1.0,
    ) -> None:
        self.lam = lam
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.bounds = bounds
        self.fit_intercept = fit_intercept
        self.threshold = threshold
        self.normalizer = normalizer
        self.rule = rule
        self.loss = loss
        self.proof = proof
        self.bound = bound
        self.row_norm = row_norm
        self.huber_threshold = huber_threshold

    def check_settings(self) -> None:
        check.settings(
            self,
            y_bounds=check.bounds,
            clip=check.flag,
            bounds=check.pairs,
            fit_intercept=check.flag,
            normalizer=check.one_of("public", "sampled"),
            rule=check.one_of("jorgensen", "exact"),
            huber_threshold=check.scale,
        )
        if self.rule == "exact" and self.normalizer == "sampled":
            raise ValueError("rule must be 'jorgensen' with normalizer='sampled'; got 'exact'")
        self.inner_mechanism(self.lam).check_settings()

    def check_threshold(self, budgets: Any) -> None:
        """Refuse a threshold outside the range of budgets, a number for all or shape (n,)."""
        above = np.atleast_1d(budgets)[np.atleast_1d(budgets) > 0]
        t, low, high = level(above, self.threshold), above.min(), above.max()
        if not low <= t <= high and not isinstance(self.threshold, str):
            raise ValueError(
                f"threshold must lie within the range of the budgets, [{check.shown(low)}, "
                f"{check.shown(high)}]; got {check.shown(t)}. Below it budgets are wasted, "
                "above it nobody is kept for sure"
            )

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release private coefficients, and return the estimator.

        Parameters
        ----------
        X : array_like, shape (n, d)
            One row a person, inside the bounds.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Budgets in nats; whoever has 0 takes no part, nor do those with tiny budgets, who would
            only make the sample smaller. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend, or leaves out, as if their budget were 0, whoever would.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = drop_budgets_negligible_in_sum(read_budgets(epsilon_as_passed, X, y))
        self.check_settings()
        self.check_threshold(epsilon)
        check_account(account)
        rng = generator_from(self.random_state)
        with all_or_nothing(self):
            records = read_records(self, X, y, epsilon_as_passed)
            budgets = affordable_budgets(
                account, records.budgets(epsilon), self.guarantee, people=records
            )
            guarantee = self.guarantee(budgets)

            domain = self.domain(records.columns)
            law = self.law(records.participants(domain, budgets))
            theta, rate = release(law, guarantee, account, rng, people=records)

            self.coef_, self.intercept_ = domain.to_user_units(theta)
            self.guarantee_ = guarantee
            self.noise_ = round_noise(rate, domain.d)
        return self

    def law(self, people: Participants) -> Sampling:
        """Return the exact distribution of the release on the domain: a sample, then its fit."""
        t = self.sampling_level(people.budgets)
        probabilities = keep_probabilities(people.budgets, t, self.rule)
        return Sampling(self, people, probabilities, t)

    def law_of_sample(
        self, people: Participants, sampled: Sampled, probabilities: Floats, t: float
    ) -> L2Laplace:
        """Return the distribution of the release at level t, given who is in the sample."""
        X, y = people.X, people.y
        if self.normalizer == "public":
            # null rows stand for those who are not sampled: all n weights stay the same
            inner = self.inner_mechanism(self.lam * float(probabilities.mean()))
            rows, labels = X * sampled[:, None], y * sampled
            law = cast(L2Laplace, inner.output_law(rows, labels, epsilon=t))
            if self.rule == "jorgensen" or self.loss == "square":
                return law
            # a departure may cost t / 2, half of a replacement; what the solver adds is not halved
            norm = inner.gradient_norm(np.full(len(y), t), people.d)
            return L2Laplace(law.center, 1 / (1 / law.eta + solver_excess(norm, inner.lam) / t))
        if not sampled.any():
            raise ValueError(
                "sampled must hold someone with normalizer='sampled': the noise of an empty sample "
                "is not defined. With normalizer='public' it is harmless"
            )
        inner = self.inner_mechanism(self.lam)
        return cast(L2Laplace, inner.output_law(X[sampled], y[sampled], epsilon=t))

    def inner_mechanism(self, lam: float) -> PDPRidge:
        """Return the mechanism that is run on the sample, with this penalty."""
        # with the exact rule half of the constant has to bound a departure
        halved = self.rule == "exact" and self.proof == "joint"
        return PDPRidge(
            lam,
            loss=self.loss,
            proof="tight" if halved else self.proof,
            bound=self.bound,
            row_norm=self.row_norm,
            huber_threshold=self.huber_threshold,
        )

    def guarantee(self, budgets: Floats) -> PureDP:
        """Return the promise to everybody, of their budgets, shape (n,)."""
        t = self.sampling_level(budgets[budgets > 0])
        promised = np.minimum(budgets, t) if self.normalizer == "public" else t * (budgets > 0)
        return PureDP(promised, neighbors="replace-one")

    def sampling_level(self, budgets: Floats) -> float:
        """Return the level t of the analysis, at most the largest of the budgets above 0."""
        return min(level(budgets, self.threshold), float(budgets.max()))  # the mean is rounded

    def domain(self, columns: int) -> Cube:
        """Return the domain that the public bounds of so many columns define."""
        return Cube(
            bounds=self.bounds,
            y_bounds=self.y_bounds,
            columns=columns,
            fit_intercept=self.fit_intercept,
            clip=self.clip,
            row_norm=self.row_norm,
        )

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> SampledLaw:
        """Exact law of the released parameters on the domain. NOT private: for audits and teaching.

        Called like `fit`. It has a term for every possible sample, so at most 14 people may have a
        budget below the threshold; for more, average `conditional_law` over samples drawn with
        `keep_probabilities`.
        """
        records, budgets = self.read_for_audit(X, y, epsilon)
        domain = self.domain(records.columns)
        return self.law(records.participants(domain, budgets)).mixture()

    def conditional_law(
        self, X: ArrayLike, y: ArrayLike, sampled: ArrayLike, *, epsilon: ArrayLike | None = None
    ) -> L2Laplace:
        """Law of the released parameters on the domain, given who is in the sample. NOT private.

        Called like `fit`, with `sampled`, an array of bool of shape (n,): any set, also one that
        the sampling cannot draw. Its center and rate give moments without drawing:
        `ridge.loss_moments`.
        """
        records, budgets = self.read_for_audit(X, y, epsilon)
        people = records.participants(self.domain(records.columns), budgets)
        mask = np.asarray(sampled)
        if mask.dtype != bool or mask.shape != (records.n,):
            raise ValueError(
                f"sampled must be True or False for each row of X, shape ({records.n},); "
                f"got {mask.dtype} of shape {mask.shape}"
            )
        return self.law(people).conditional_law(mask[budgets > 0])

    def read_for_audit(
        self, X: Any, y: Any, epsilon: Any
    ) -> tuple[Records | SumsOfRecords, Floats]:
        """Return records and budgets, passed like those of `fit`."""
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = drop_budgets_negligible_in_sum(read_budgets(epsilon_as_passed, X, y))
        self.check_settings()
        self.check_threshold(epsilon)
        records = records_for_audit(self, X, y, epsilon_as_passed)
        return records, records.budgets(epsilon)

    def sums(self, X: Any, y: Any, *, epsilon: Any = None) -> None:
        """Refuse: sums do not suffice for this mechanism."""
        refuse_mechanism(self)


@dataclass(frozen=True, eq=False)
class Sampling:
    """Law of a release from a random sample: who is in it, then the release. Not private."""

    model: SampledRidge
    people: Participants
    probabilities: Floats  #: of each participant to be in the sample, shape (m,)
    level: float  #: t, at which the sample is analyzed

    def sample(self, *, rng: np.random.Generator) -> tuple[Floats, float]:
        """Draw a sample and a release from it; return the parameters and the rate of their noise.

        The rate may depend on how many were sampled. Who was is forgotten: telling it voids the
        promise.
        """
        sampled = rng.random(len(self.probabilities)) < self.probabilities
        law = self.conditional_law(sampled)
        return law.sample(rng=rng), float(law.eta)

    def conditional_law(self, sampled: Sampled) -> L2Laplace:
        """Return the law of the release, given who is in the sample."""
        return self.model.law_of_sample(self.people, sampled, self.probabilities, self.level)

    def mixture(self) -> SampledLaw:
        """Return the law of the release when the sample is not known: a mixture over all."""
        uncertain = np.flatnonzero(self.probabilities < 1)
        if len(uncertain) > LARGEST:
            raise ValueError(
                f"output_law needs at most {LARGEST} people whose budget is below the threshold; "
                f"got {len(uncertain)}, a mixture of 2**{len(uncertain)} laws. Take conditional_law"
            )
        samples = np.ones((2 ** len(uncertain), len(self.probabilities)), dtype=bool)
        samples[:, uncertain] = np.arange(len(samples))[:, None] >> np.arange(len(uncertain)) & 1
        chances = self.probabilities[uncertain]
        with np.errstate(divide="ignore"):  # a chance of 0 is a sample of probability 0
            logarithms = np.where(samples[:, uncertain], np.log(chances), np.log1p(-chances))
        laws = [self.conditional_law(sampled) for sampled in samples]
        return SampledLaw(
            logarithms.sum(axis=1),
            np.array([law.center for law in laws]),
            np.array([law.eta for law in laws]),
        )
