"""Ridge regression whose objective is tilted at random, as an estimator."""

from __future__ import annotations

from functools import partial

import numpy as np

from pdpbook import Floats, check
from pdpbook._budgets import smallest, worth_taking
from pdpbook.frames.cube import CubeRegressor
from pdpbook.frames.people import People
from pdpbook.frames.settings import mechanism, setting
from pdpbook.guarantees import ApproximateDP, PureDP
from pdpbook.noise import sample_l2_laplace
from pdpbook.noise.public import PublicNoise
from pdpbook.objective_perturbation.budget import BudgetSplit, split_budget
from pdpbook.objective_perturbation.law import ObjectiveLaw
from pdpbook.sensitivity import huber_constant, solver_excess

SOLVER_SHARE = 1e-3  # of the smallest budget, for a minimizer that is not exact
ULP = float(np.finfo(float).eps)


@mechanism
class ObjectivePerturbation(CubeRegressor):
    r"""Ridge regression that keeps the budget of every person by noise inside the objective.

    On the domain :math:`x_i\in[0,1]^d`, :math:`\|x_i\|\le R`, :math:`y_i\in[-1,1]` it releases

    .. math:: \hat\theta = \arg\min_\theta\ \sum_i w_i h_c(y_i-x_i^\top\theta) + \lambda\|\theta\|^2
              + b^\top\theta, \qquad b\sim\text{density}\propto e^{-\beta\|b\|},

    with the Huber loss :math:`h_c(r)=r^2` for :math:`|r|\le c` and :math:`2c|r|-c^2` beyond, and
    :math:`\beta` in ``noise_.rate``. Replacing record i changes the tilt b that leads to an output
    by at most :math:`4w_icR`, and the volume around it by a factor of at most
    :math:`1+w_iR^2/\lambda`. So

    .. math:: 4\beta cR\,w_i + \ln(1+w_iR^2/\lambda) = \varepsilon_i, \qquad \sum_i w_i = 1

    keeps and spends every budget. Against noise on the minimizer, the data pull the noise together
    where they have something to say; the price is that the budgets must sum to more than
    :math:`R^2/\lambda`. Statement ``thm-objective-perturbation`` (ours), chapter
    *personalized/objective*. Kifer, Smith and Thakurta (2012) perturb objectives for one budget;
    the square loss needs a bound on the norm there, because its gradient has none. How far from the
    truth this ends, under a linear model: page *personalized/accuracy_bounds*.

    How far an inexact minimizer is off depends on the data, so a thousandth of the smallest budget
    is set aside: the solver stops at a gradient norm g that the public settings fix, and noise of
    rate :math:`\eta=\lambda\,10^{-3}\min_i\varepsilon_i/g` is added to the output
    (``prop-solver-tolerance``). A solver that does not get there raises and releases nothing.

    Parameters
    ----------
    delta : float, default 0.0
        Failure probability in [0, 1), the same for everybody; 0 is the pure promise.
    huber_threshold : float, default 1.0
        Where the Huber loss turns linear, :math:`c`, in domain units of the label.
    row_norm : float, optional
        Public bound on the norm of a row on the domain, R, constant feature included; by default
        :math:`\sqrt d`. It is enforced: longer rows raise, or are scaled down with ``clip=True``.

    Attributes
    ----------
    guarantee_ : PureDP or ApproximateDP
        What each person was promised, under replace-one neighbors: `PureDP` for ``delta=0``.
    pure_guarantee_ : PureDP
        The pure promise, which always holds too; for ``delta=0`` it is `guarantee_`.
    eta_ : float, rate of the small second noise, on the output; data-independent

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> X, y, epsilon = rng.random((500, 2)), rng.random(500), np.repeat([0.1, 1.0], [100, 400])
    >>> model = ObjectivePerturbation(lam=0.5).fit(X, y, epsilon=epsilon)
    >>> model.coef_.shape, round(model.noise_.rate, 1)
    ((2,), 71.8)
    """

    delta: float = setting(default=0.0, rule=partial(check.delta, zero=True))
    huber_threshold: float = setting(default=1.0, rule=check.scale)
    row_norm: float | None = setting(default=None)

    def law(self, people: People) -> ObjectiveLaw:
        split = people.split
        beta = self.beta(split, people.d)
        norm = self.gradient_norm(beta, people.d)
        X, y, w = people.X, people.y, split.weights
        return ObjectiveLaw(X, y, w, self.lam, self.huber_threshold, beta, norm)

    def promise(self, people: People) -> PureDP | ApproximateDP:
        if self.delta == 0:
            return self.pure_promise(people)
        return ApproximateDP(people.promised, self.delta, neighbors="replace-one")

    def pure_promise(self, people: People) -> PureDP:
        if self.delta == 0:
            return PureDP(people.promised, neighbors="replace-one")
        split = people.split
        spent = split.tilt + split.volume + SOLVER_SHARE * smallest(people.promised)
        return PureDP(people.everybody(spent), neighbors="replace-one")

    def draw(self, law: ObjectiveLaw, people: People, rng: np.random.Generator) -> Floats:
        """Draw from the law, and add the small noise that makes up for an inexact minimizer."""
        eta = self.output_rate(float(people.epsilon.min()), law.gradient_norm)
        return np.asarray(law.sample(rng=rng) + sample_l2_laplace(people.d, eta, rng=rng))

    def release(self, draw: Floats, law: ObjectiveLaw, people: People) -> None:
        super().release(draw, law, people)
        self.eta_ = self.output_rate(float(people.epsilon.min()), law.gradient_norm)
        self.noise_ = PublicNoise(rate=float(law.beta), scale=1 / float(law.beta))

    def heard(self, epsilon: Floats, d: int) -> Floats:
        """Return the budgets, 0 for those whose share for the solver would cost the most."""
        radius = self.radius(d)
        # second moments of rows that fill the cube evenly, or the ball in it
        even = np.append(np.full(d - 1, 1 / 12), 1 / 12 + d / 4) * min(1, 3 * radius**2 / d)

        def noise(part: Floats, share: float = 1.0) -> float:
            """Return the error of a prediction for such rows, but for a factor."""
            rate = float(self.left(part).sum()) - radius**2 / self.lam
            if not rate > 0:
                return np.inf
            beta = rate / (4 * self.huber_threshold * radius)
            eta = self.output_rate(smallest(part), self.gradient_norm(beta, d))
            if not eta > 0:
                return np.inf
            tilt = np.sqrt(np.sum(even / (even + self.lam) ** 2)) / (2 * beta)
            return float(np.hypot(tilt, share * np.sqrt(np.sum(even)) / eta))

        return worth_taking(epsilon, noise, noise(epsilon[epsilon > 0], 0.0))

    def check(self) -> None:
        huber_constant(self.lam, 1, self.huber_threshold, self.row_norm)  # refuses bad values

    def share_out(self, budgets: Floats, d: int) -> BudgetSplit:
        """Return weights and rate: functions of public things alone."""
        left = self.left(budgets)
        curvature, total = self.radius(d) ** 2 / self.lam, float(left.sum())
        if not total > curvature:
            enough = 1.01 * self.lam * curvature / total
            bound = "d / lam" if self.row_norm is None else "row_norm**2 / lam"
            raise ValueError(
                f"epsilon must sum to more than {bound} = {curvature:.4g}; got a sum of "
                f"{budgets.sum():.4g} for {len(budgets)} people. lam = {enough:.3g} would do"
            )
        return split_budget(left, curvature, delta=self.spare_delta(budgets), d=d)

    def beta(self, split: BudgetSplit, d: int) -> float:
        return check.number(split.rate / (4 * self.huber_threshold * self.radius(d)), "eta")

    def left(self, budgets: Floats) -> Floats:
        """Return what the minimizer may spend: all but the share of an inexact solver."""
        return np.asarray(budgets - SOLVER_SHARE * budgets.min())

    def spare_delta(self, budgets: Floats) -> float:
        """Return delta less what an inexact solver costs: half of its factor."""
        return float(self.delta * np.exp(-SOLVER_SHARE * budgets.min() / 2))

    def gradient_norm(self, beta: float, d: int) -> float:
        """Return the norm of the computed gradient that a solver can reach despite rounding."""
        radius = self.radius(d)
        longest = (d + 8 * np.sqrt(d) + 40) / beta  # of the tilt, but for one in 10^17
        scale = longest + 2 * radius * (1 + self.huber_threshold)
        return float(32 * ULP * (1 + radius**2 / self.lam) * scale)

    def output_rate(self, least: float, gradient_norm: float) -> float:
        """Return the rate of the small noise that hides how far the solver is off."""
        true_norm = 2 * gradient_norm  # as much again for the rounding of the gradient itself
        return SOLVER_SHARE * least / solver_excess(true_norm, self.lam)
