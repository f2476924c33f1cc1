"""One posterior sample whose sharpness follows released bounds on the data."""

from __future__ import annotations

from pdpbook import Floats, check
from pdpbook.frames.people import People
from pdpbook.frames.settings import mechanism, one_of, setting
from pdpbook.posterior.calibration import CALIBRATIONS, AdaptivePlan, check_kappa, check_norm
from pdpbook.posterior.laws import AdaptiveLaw
from pdpbook.posterior.single import PosteriorRegressor


@mechanism
class AdaOPS(PosteriorRegressor):
    r"""One posterior sample with parameters chosen from privately released numbers.

    First a noisy lower bound :math:`\tilde\lambda` on :math:`\lambda_{\min}(X^\top X)`, then a
    penalty :math:`\lambda` and an inverse temperature :math:`\gamma` that follow from it, then

    .. math:: \tilde\theta \sim \mathcal N\bigl(\hat\theta_\lambda, (\gamma H)^{-1}\bigr),
              \qquad H = X^\top X+\lambda I .

    On benign data the penalty is 0 and the release efficient. With `release_norm` a noisy bound
    on :math:`\|\hat\theta_\lambda\|` is released in between: AdaOPS-L. Statements ``alg-adaops``,
    ``thm-adaops-joint`` and, for the simple calibration, ``prop-adaops-privacy``, chapter
    *per_instance/adaops*.

    Parameters
    ----------
    norm_guess : float, default 1.0
        Public guess of the norm of the coefficients on the domain, above 0. It steers the
        penalty; a wrong guess costs accuracy, never privacy.
    release_norm : bool, default False
        AdaOPS-L.
    calibration : {"joint", "simple"}, default "joint"
        How the budget becomes noise: releases and draw composed as Gaussians, or by adding what
        each spends, which leaves the draw less.
    kappa : float, optional
        Largest acceptable condition number of :math:`X^\top X`, at least 1: the penalty is then
        :math:`\max\{0, N/(\kappa d)-\tilde\lambda\}`, as in the paper, with the public `n_max`
        for the number of rows, and `norm_guess` is idle. None minimizes a cost instead.

    Attributes
    ----------
    lam_ : float
        Penalty against the *sum* of squares that was chosen.
    release_ : ndarray
        All released numbers on the domain: the bound on the eigenvalue, with `release_norm` the
        bound on :math:`\log(1+\|\hat\theta\|)`, and the draw.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.random.default_rng(1).uniform(-1, 1, (5000, 2))
    >>> AdaOPS(n_max=10_000, random_state=3).fit(X, X @ [0.4, -0.2]).lam_
    0.0
    """

    norm_guess: float = setting(default=1.0, rule=check_norm, kw_only=False)
    release_norm: bool = setting(default=False, rule=check.flag)
    calibration: str = setting(default="joint", rule=one_of(*CALIBRATIONS))
    kappa: float | None = setting(default=None, rule=check_kappa)

    def law(self, people: People) -> AdaptiveLaw:
        """Return the joint law of `release_`; its center is the mean of the first number."""
        gram, moment = people.statistics
        return AdaptiveLaw(gram, moment, self.plan(self.level(people), people.d))

    def plan(self, epsilon: float, d: int) -> AdaptivePlan:
        """Return how the released numbers become parameters of the draw."""
        steering = self.norm_guess, self.release_norm, self.calibration, self.kappa
        return AdaptivePlan(epsilon, float(self.delta), d, self.n_max, *steering)

    def release(self, draw: Floats, law: AdaptiveLaw, people: People) -> None:
        self.release_ = draw
        self.lam_, self.h_ = law.given(draw[0])  # a function of the release
        head = 1 + bool(self.release_norm)
        self.gamma_ = float(law.plan.gamma(self.h_, self.lam_, *draw[1:head]))
        super().release(draw[head:], law, people)
