"""Personalized ridge regression: the estimator of output perturbation."""

from __future__ import annotations

from functools import partial

import numpy as np

from pdpbook import Floats, check
from pdpbook._budgets import worth_taking
from pdpbook.frames.cube import CubeRegressor
from pdpbook.frames.people import People, shares
from pdpbook.frames.settings import mechanism, one_of, optional, setting
from pdpbook.guarantees import ApproximateDP, PureDP
from pdpbook.huber import huber_ridge
from pdpbook.noise import L2Laplace, l2_laplace_eps0
from pdpbook.noise.profiles import at_levels
from pdpbook.noise.public import round_noise
from pdpbook.personalized.weights import CappedPlan, capped_plan
from pdpbook.sensitivity import PROOFS, huber_constant, ridge_constant, solver_excess

NOISE_FOR_SOLVER = 1e-6  # the solver may cost the smallest budget this share of itself
ULP = float(np.finfo(float).eps)


@mechanism
class PDPRidge(CubeRegressor):
    r"""Ridge regression that keeps the budget of every person: PDP-OP.

    On the domain :math:`[0,1]^d\times[-1,1]` it releases :math:`\bar\theta+Z`, where

    .. math:: &\bar\theta = \arg\min_\theta \sum_i w_i\,h(y_i - x_i^\top\theta)
              + \lambda\|\theta\|^2, \quad w_i = \frac{\varepsilon_i}{\sum_j\varepsilon_j},\\
              &Z\sim\text{density}\propto e^{-\eta\|z\|}, \quad \eta=\frac{\sum_j\varepsilon_j}C,

    with the square or the Huber loss for :math:`h` and :math:`C` from `sensitivity`. Replacing the
    record of person i then changes the log-density of the release by at most
    :math:`\eta w_i C=\varepsilon_i`, whatever the other records are.

    With a `delta` above 0 the promise is :math:`(\varepsilon_i,\delta)`: every budget is traded for
    the larger :math:`\varepsilon_0(\varepsilon_i,\delta,d)` whose exact profile passes through that
    point, and which takes its place in weights and rate: the noise is smaller, and the pure promise
    of :math:`\varepsilon_0` holds as well. The Huber minimizer is iterative. It stops at a gradient
    norm g fixed by the public settings, which is charged:
    :math:`\eta=\min_i\varepsilon_i/(w_iC+g/\lambda)`, at most a millionth less unless a budget is
    tiny. A solver that does not get there raises and releases nothing. Statements ``thm-pdp-op``,
    ``thm-pdp-op-bounded`` (Acharya et al. 2024, Theorems 2.1, 2.3), ``thm-joint-sensitivity``,
    ``thm-huber-sensitivity``, ``prop-row-norm``, ``prop-solver-tolerance``, chapter
    *personalized/pdp_op*; ``prop-sensitivity-weights`` (ours), chapter *personalized/pdp_op_data*;
    ``thm-profile-calibration`` (ours) for `delta`, chapter *personalized/steps*.

    Parameters
    ----------
    lam : float, default 1.0
        Penalty against the weighted *mean* of losses, above 0; scikit-learn's ``alpha / n``. It is
        part of the promise: choosing it by looking at the data spends privacy of its own. For the
        square loss one so small that rounding may lose it is refused, whatever the data are.
    delta : float, default 0.0
        Failure probability in [0, 1), the same for everybody; 0 is the pure promise.
    loss : {"square", "huber"}, default "square"
        Loss of a row. Huber's needs no bound on the minimizer: far less noise for small `lam`.
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
    huber_threshold : float, default 1.0
        Where the Huber loss turns linear, in domain units of the label; unused by the square loss.

    Attributes
    ----------
    guarantee_ : PureDP or ApproximateDP
        What each person was promised, under replace-one neighbors: `PureDP` for ``delta=0``.
    pure_guarantee_ : PureDP
        The pure promise, which always holds too; for ``delta=0`` it is `guarantee_`.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y, epsilon = rng.random((500, 2)), rng.random(500), np.repeat([0.1, 1.0], [100, 400])
    >>> model = PDPRidge(lam=0.5).fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.noise_.rate, 1)
    ((2,), 63.3)
    """

    delta: float = setting(default=0.0, rule=partial(check.delta, zero=True))
    lam: float = setting(default=1.0, rule=check.penalty, kw_only=False)
    loss: str = setting(default="square", rule=one_of("square", "huber"))
    proof: str = setting(default="joint", rule=one_of(*PROOFS))
    weights: str = setting(default="proportional", rule=one_of("proportional", "capped"))
    bound: float | None = setting(default=None, rule=optional(check.scale))
    row_norm: float | None = setting(default=None, rule=optional(check.scale))
    huber_threshold: float = setting(default=1.0, rule=check.scale)

    def law(self, people: People) -> L2Laplace:
        if self.weights == "capped":
            plan = self.capped(people.strength, people.d)
            return L2Laplace(people.ridge(self.lam, shares(plan.weights)), plan.eta)
        theta = people.ridge(self.lam) if self.loss == "square" else self.huber(people)
        return L2Laplace(theta, self.rate(people.strength, people.d))

    def promise(self, people: People) -> PureDP | ApproximateDP:
        if self.delta > 0:
            return ApproximateDP(people.promised, self.delta, neighbors="replace-one")
        return self.pure_promise(people)

    def pure_promise(self, people: People) -> PureDP:
        return PureDP(people.spent, neighbors="replace-one")

    def strength(self, epsilon: Floats, d: int) -> Floats:
        """Return the largest loss that each person may suffer: with a delta, above their budget."""
        if self.delta == 0:
            return epsilon
        return at_levels(l2_laplace_eps0, epsilon, float(self.delta), d)

    def relative_weights(self, strength: Floats, d: int) -> Floats:
        return self.capped(strength, d).weights if self.weights == "capped" else strength

    def constant(self, d: int) -> float:
        if self.loss == "huber":
            return huber_constant(self.lam, d, self.huber_threshold, self.row_norm)
        return ridge_constant(self.lam, d, self.proof, self.bound, self.row_norm)

    def rate(self, strength: Floats, d: int) -> float:
        if self.loss == "huber":  # the noise hides what the solver is off, too
            excess = solver_excess(self.gradient_norm(strength, d), self.lam)
            w = shares(self.relative_weights(strength, d))
            return float(np.min(strength / (w * self.constant(d) + excess)))
        if self.weights == "capped":
            return self.capped(strength, d).eta
        return super().rate(strength, d)

    def capped(self, strength: Floats, d: int) -> CappedPlan:
        """Return weights and rate of the capped sensitivity, which is no sum over people."""
        return capped_plan(strength, self.lam, d, self.row_norm)

    def huber(self, people: People) -> Floats:
        """Return the minimizer of the Huber losses, to the gradient norm that is charged."""
        goal = self.gradient_norm(people.strength, people.d) / 2  # the other half: its own rounding
        X, y, w, c = people.X, people.y, people.weights, self.huber_threshold
        return huber_ridge(X, y, self.lam, w, threshold=c, gradient_norm=goal).theta

    def gradient_norm(self, strength: Floats, d: int) -> float:
        """Return the norm g of the true gradient that the Huber solver is charged for."""
        unit = self.lam * self.constant(d)  # no term of the gradient is longer
        radius = unit / (2 * self.huber_threshold)
        residual = 1 + radius / np.sqrt(self.lam)  # |y| + |x| |theta|, which is rounded
        rounding = 64 * ULP * (1 + residual / self.huber_threshold)
        least = shares(self.relative_weights(strength, d)).min()
        return float(unit * max(NOISE_FOR_SOLVER * least, rounding))

    def heard(self, epsilon: Floats, d: int) -> Floats:
        """Return the budgets; with the Huber loss, 0 for those who cost the others most."""
        if self.loss == "square":
            return epsilon
        above = epsilon[epsilon > 0]
        strength = self.strength(above, d)

        def noise(own: Floats) -> float:
            return 1 / self.rate(strength[above >= own.min()], d)

        return worth_taking(epsilon, noise, self.constant(d) / strength.sum())

    def check(self) -> None:
        if self.loss == "huber" and self.bound is not None:
            raise ValueError(f"bound must be None with loss='huber'; got {self.bound!r}")
        proved = (self.loss, self.proof, self.bound) == ("square", "joint", None)
        if self.weights == "capped" and not proved:
            needs = "loss='square', proof='joint' and bound=None; got 'capped'"
            raise ValueError(f"weights must be 'proportional' unless {needs}")

    def refuse_crowd(self, n: int, d: int) -> None:
        if self.loss == "square":
            check.refuse_lost_penalty(self.lam, n, d, self.row_norm)

    def release(self, draw: Floats, law: L2Laplace, people: People) -> None:
        super().release(draw, law, people)
        self.noise_ = round_noise(law.eta, people.d)
