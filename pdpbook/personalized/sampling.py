"""Ridge regression on a random sample in which the careful appear less often; also as printed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pdpbook import Floats, check
from pdpbook._budgets import without_negligible
from pdpbook.frames.cube import CubeRegressor
from pdpbook.frames.people import People
from pdpbook.frames.settings import mechanism, one_of, setting
from pdpbook.guarantees import PureDP
from pdpbook.noise import L2Laplace
from pdpbook.noise.public import round_noise
from pdpbook.personalized.kept import SampledLaw, keep_probabilities, level
from pdpbook.personalized.ridge import PDPRidge
from pdpbook.sensitivity import solver_excess

Kept = NDArray[np.bool_]

LARGEST = 14  # people left to chance in an exact law: it has 2**LARGEST parts


@mechanism
class SampledRidge(CubeRegressor):
    r"""Ridge regression on a sample in which each person appears as often as their budget allows.

    Everyone whose budget :math:`\varepsilon_i` is at least the threshold t is kept; everyone else
    with the probability of `keep_probabilities`. A mechanism at level t is run on those kept, Q:

    .. math:: \hat\theta = \arg\min_\theta \frac1N\sum_{i\in Q} h(y_i-x_i^\top\theta)
              + \lambda\|\theta\|^2 + Z, \qquad Z\sim\text{density}\propto e^{-\eta\|z\|}.

    With ``normalizer="public"`` (the repair) :math:`N=\bar n=\sum_i\pi_i` and
    :math:`\eta=t\bar n/C'` are public and fixed, and every budget is kept. With
    ``normalizer="sampled"`` (as printed) :math:`N=|Q|` and :math:`\eta=t|Q|/C` depend on the
    sample, and the budgets are **not** kept: that variant is here to be studied, and promises each
    person the threshold only. Who was kept is not stored: telling it voids the promise.

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
    guarantee_ : PureDP
        Under replace-one neighbors: ``min(epsilon, t)`` for each person with the public normalizer;
        t for everybody, which is above what the careful asked for, with the other.
    noise_ : PublicNoise
        With the sampled normalizer ``noise_.rate`` tells how many people were kept, which the
        promise of t can bear.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y, epsilon = rng.random((500, 2)), rng.random(500), np.repeat([0.1, 1.0], [100, 400])
    >>> model = SampledRidge(lam=0.5, threshold="max").fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.noise_.rate, 1)
    ((2,), 61.2)
    """

    threshold: float | str = setting(default="max")
    normalizer: str = setting(default="public", rule=one_of("public", "sampled"))
    rule: str = setting(default="jorgensen", rule=one_of("jorgensen", "exact"))
    loss: str = setting(default="square")
    proof: str = setting(default="joint")
    bound: float | None = setting(default=None)
    row_norm: float | None = setting(default=None)
    huber_threshold: float = setting(default=1.0, rule=check.scale)

    def law(self, people: People) -> Sampling:
        t = self.level(people.epsilon)
        shares = keep_probabilities(people.epsilon, t, self.rule)
        return Sampling(self, people.X, people.y, shares, t)

    def promise(self, people: People) -> PureDP:
        t, own = self.level(people.epsilon), people.promised
        kept = np.minimum(own, t) if self.normalizer == "public" else t * (own > 0)
        return PureDP(kept, neighbors="replace-one")

    def level(self, epsilon: Floats) -> float:
        return min(level(epsilon, self.threshold), float(epsilon.max()))  # the mean is rounded

    def check(self) -> None:
        if self.rule == "exact" and self.normalizer == "sampled":
            raise ValueError("rule must be 'jorgensen' with normalizer='sampled'; got 'exact'")
        self.analysis(self.lam).check_settings()

    def refuse_budgets(self, budgets: Any) -> Any:
        """Return the budgets, 0 for those who would only make the sample smaller."""
        budgets = without_negligible(budgets)
        above = np.atleast_1d(budgets)[np.atleast_1d(budgets) > 0]
        t, low, high = level(above, self.threshold), above.min(), above.max()
        if not low <= t <= high and not isinstance(self.threshold, str):
            raise ValueError(
                f"threshold must lie within the range of the budgets, [{check.shown(low)}, "
                f"{check.shown(high)}]; got {check.shown(t)}. Below it budgets are wasted, "
                "above it nobody is kept for sure"
            )
        return budgets

    def analysis(self, lam: float) -> PDPRidge:
        """Return the mechanism at level t; with "exact", half its constant bounds departures."""
        halved = self.rule == "exact" and self.proof == "joint"
        return PDPRidge(
            lam,
            loss=self.loss,
            proof="tight" if halved else self.proof,
            bound=self.bound,
            row_norm=self.row_norm,
            huber_threshold=self.huber_threshold,
        )

    def given(self, X: Floats, y: Floats, kept: Kept, shares: Floats, t: float) -> L2Laplace:
        """Return the law of those kept; null rows stand for the others: the weights stay 1/n."""
        if self.normalizer == "public":
            analysis = self.analysis(self.lam * float(shares.mean()))
            law: L2Laplace = analysis.output_law(X * kept[:, None], y * kept, epsilon=t)
            if self.rule == "jorgensen" or self.loss == "square":
                return law
            # a departure may cost t / 2: half of a replacement, of which the solver's part is whole
            norm = analysis.gradient_norm(np.full(len(y), t), X.shape[1])
            return L2Laplace(law.center, 1 / (1 / law.eta + solver_excess(norm, analysis.lam) / t))
        if not kept.any():
            raise ValueError(
                "kept must hold someone with normalizer='sampled': the noise of an empty sample "
                "is not defined. With normalizer='public' it is harmless"
            )
        law = self.analysis(self.lam).output_law(X[kept], y[kept], epsilon=t)
        return law

    def draw(self, law: Sampling, people: People, rng: np.random.Generator) -> Any:
        """Draw who is kept, and from the law of their release; return it with its rate."""
        given = law.given(rng.random(len(law.y)) < law.shares)
        return given.sample(rng=rng), float(given.eta)

    def release(self, draw: Any, law: Sampling, people: People) -> None:
        super().release(draw[0], law, people)
        self.noise_ = round_noise(draw[1], people.d)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> SampledLaw:
        """Exact law of the released parameters on the domain. NOT private: for audits and teaching.

        Called like `fit`. It has a part for every set that can be kept, so at most 14 people may be
        left to chance; for more, average `conditional_law` over sets of `keep_probabilities`.
        """
        law: Sampling = super().output_law(X, y, epsilon=epsilon)
        return law.mixture()

    def conditional_law(
        self, X: ArrayLike, y: ArrayLike, kept: ArrayLike, *, epsilon: ArrayLike | None = None
    ) -> L2Laplace:
        """Law of the released parameters on the domain, given who was kept. NOT private.

        Called like `fit`, with `kept`, an array of bool of shape (n,): any set, also one that the
        sampling cannot draw. Its center and rate give moments without drawing:
        `ridge.loss_moments`.
        """
        budgets = self._refuse(X, y, epsilon)
        people = People(self, *self.design(X, y), budgets)
        mask = np.asarray(kept)
        if mask.dtype != bool or mask.shape != (people.n,):
            raise ValueError(
                f"kept must be True or False for each row of X, shape ({people.n},); "
                f"got {mask.dtype} of shape {mask.shape}"
            )
        return self.law(people).given(mask[people.promised > 0])

    def parts(
        self, X: Floats, y: Floats, kept: Kept, shares: Floats, t: float
    ) -> tuple[Floats, Floats]:
        laws = [self.given(X, y, row, shares, t) for row in kept]
        return np.array([law.center for law in laws]), np.array([law.eta for law in laws])


@dataclass(frozen=True, eq=False)
class Sampling:
    """Who is kept, and then the law of their release."""

    model: SampledRidge
    X: Floats
    y: Floats
    shares: Floats  #: with which probability each is kept
    t: float

    def given(self, kept: Kept) -> L2Laplace:
        return self.model.given(self.X, self.y, kept, self.shares, self.t)

    def mixture(self) -> SampledLaw:
        shares, chance = self.shares, np.flatnonzero(self.shares < 1)
        if len(chance) > LARGEST:
            raise ValueError(
                f"output_law needs at most {LARGEST} people whose budget is below the threshold; "
                f"got {len(chance)}, a mixture of 2**{len(chance)} laws. Take conditional_law"
            )
        kept = np.ones((2 ** len(chance), len(shares)), dtype=bool)
        kept[:, chance] = np.arange(len(kept))[:, None] >> np.arange(len(chance)) & 1
        own = shares[chance]
        with np.errstate(divide="ignore"):  # a share of 0 is a set of probability 0
            log_weights = np.where(kept[:, chance], np.log(own), np.log1p(-own)).sum(axis=1)
        return SampledLaw(log_weights, *self.model.parts(self.X, self.y, kept, shares, self.t))
