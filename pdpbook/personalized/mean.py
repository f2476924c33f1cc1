"""The personalized mean: the line that a private regression has to beat."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from pdpbook import Floats, check
from pdpbook.domains import Labels
from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.linear import MeanRegressor
from pdpbook.noise import L2Laplace, WholeNumbers, whole_weights
from pdpbook.noise.laws import PublicNoise
from pdpbook.noise.whole_numbers import (
    check_grid_of,
    drop_budgets_below_a_step,
    exact_budget,
    rounded_to_steps,
)
from pdpbook.participants import Participants, read_budgets, read_label_records
from pdpbook.release import (
    affordable_budgets,
    all_or_nothing,
    check_account,
    generator_from,
    release,
    whole_number_source,
)
from pdpbook.sums import Sums, sums_over_records
from pdpbook.tables import refuse_small_table

GRID = 1024


class PersonalizedMean(MeanRegressor):
    r"""A mean that keeps the budget of every person, as a regressor that ignores X.

    It is the line that a private regression has to beat. On labels in [-1, 1] it releases

    .. math:: \sum_i w_i y_i + \text{Laplace}\Bigl(\frac2{\sum_j\varepsilon_j}\Bigr), \qquad
              w_i = \frac{\varepsilon_i}{\sum_j\varepsilon_j} :

    person i moves the weighted mean by at most :math:`2w_i`. Statement ``thm-pdp-op`` with the mean
    for the minimizer; chapter *personalized/pdp_op*.

    With ``noise="grid"`` labels and weights become whole numbers, G steps to a unit of the domain
    and G for the largest budget, before they are added up, and the noise is a whole number of
    steps, drawn without floats:

    .. math:: \frac{1}{G\sum_j a_j}\Bigl(\sum_i a_i v_i + Z\Bigr), \qquad
              a_i = \Bigl\lfloor G\,\frac{\varepsilon_i}{\max_j\varepsilon_j}\Bigr\rfloor,\quad
              v_i = \Bigl\lfloor G y_i + \tfrac12\Bigr\rfloor,\quad
              P(Z=k)\propto e^{-r|k|},\quad r = \frac{\max_j\varepsilon_j}{2G^2} .

    Person i loses at most :math:`2Gra_i\le\varepsilon_i`. Statement ``thm-grid-sums``, chapter
    *synthesis/whole_numbers*.

    Parameters
    ----------
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
    noise : {"laplace", "grid"}, default "laplace"
        Law of the noise: Laplace in floats, or in whole numbers, where no rounding touches the
        promise. With a `random_state` of None every bit of the latter is the operating system's.
    grid : int, default 1024
        Public number of whole steps in a unit of the domain, and weight of the largest budget,
        with ``noise="grid"``: G, up to 65,536.

    Attributes
    ----------
    noise_ : PublicNoise
        ``noise_.rate``, ``noise_.scale`` and ``noise_.covariance``, in units of the theorem.
        With ``noise="grid"`` the scale is one over the rate of whole steps, a unit of the domain,
        and ``noise_.rate`` is None.
    mean_ : float, in your units
    guarantee_ : PureDP
        What each person was promised, under replace-one neighbors.

    Examples
    --------
    >>> y = np.linspace(0, 1, 1001)
    >>> model = PersonalizedMean(y_bounds=(0, 1), random_state=0).fit(y[:, None], y)
    >>> round(model.mean_, 2), model.noise_.rate
    (0.5, 500.5)
    """

    def __init__(
        self,
        *,
        epsilon: ArrayLike = 1.0,
        random_state: int | np.random.Generator | None = None,
        y_bounds: ArrayLike = (-1.0, 1.0),
        clip: bool = False,
        noise: str = "laplace",
        grid: int = GRID,
    ) -> None:
        self.epsilon = epsilon
        self.random_state = random_state
        self.y_bounds = y_bounds
        self.clip = clip
        self.noise = noise
        self.grid = grid

    def check_settings(self) -> None:
        check.settings(
            self, y_bounds=check.bounds, clip=check.flag, noise=check.one_of("laplace", "grid")
        )
        check_grid_of(self.noise, self.grid, GRID)

    def fit(
        self, X: Any, y: Any = None, *, epsilon: Any = None, account: BudgetAccount | None = None
    ) -> Self:
        """Release a private mean, and return the estimator.

        Parameters
        ----------
        X : array_like, n rows, or Sums
            One row a person, of whatever kind: only their number counts. Or what `sums` of this
            model has made of X and y, in place of both, with one budget a person.
        y : array_like, shape (n,), optional
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Budgets in nats; whoever has 0 takes no part. None is the constructor's.
        account : BudgetAccount, optional
            Charged with the promise before anything is drawn; it refuses a fit that would
            overspend, or leaves out, as if their budget were 0, whoever would.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        check_account(account)
        source = whole_number_source if self.noise == "grid" else generator_from
        rng = source(self.random_state)
        with all_or_nothing(self):
            records = read_label_records(self, X, y, epsilon_as_passed)
            refuse_small_table(records.n)
            budgets = affordable_budgets(
                account, records.budgets(epsilon), self.guarantee, people=records
            )
            budgets = self.drop_small_budgets(budgets)
            guarantee = self.guarantee(budgets)

            domain = self.domain(records.columns)
            law = self.law(records.participants(domain, budgets))
            mean = release(law, guarantee, account, rng, people=records)

            if isinstance(law, WholeNumbers):
                mean = law.to_domain(mean)
            self.mean_ = domain.to_user_units(mean[0])
            self.guarantee_ = guarantee
            self.noise_ = public_noise(law)
        return self

    def law(self, people: Participants) -> Any:
        """Return the exact distribution of the release on [-1, 1]: the theorem."""
        if self.noise == "grid":
            return grid_law(people, self.grid)
        (mean,) = people.average(self.statistic, people.budgets)
        return L2Laplace(mean, self.noise_rate(people.budgets))

    def guarantee(self, budgets: Floats) -> PureDP:
        """Return the promise to everybody, of their budgets, shape (n,)."""
        return PureDP(budgets, neighbors="replace-one")

    def noise_rate(self, budgets: Floats) -> float:
        """Return the rate of the noise: a function of public numbers alone."""
        return float(budgets.sum() / 2)

    def drop_small_budgets(self, budgets: Floats) -> Floats:
        """Return the budgets, on a grid with 0 for those that do not buy one whole step."""
        if self.noise == "grid":
            return drop_budgets_below_a_step(budgets, self.grid)
        return budgets

    def domain(self, columns: int) -> Labels:
        """Return the domain of the labels, whatever the columns are."""
        return Labels(y_bounds=self.y_bounds, clip=self.clip)

    def output_law(self, X: Any, y: Any = None, *, epsilon: Any = None) -> Any:
        """Exact law of the release on the domain, from which `fit` draws. NOT private: for audits.

        Its center is what would be released without noise. With ``noise="grid"`` it is a law of
        whole numbers, and its ``to_domain`` says what they stand for.
        """
        epsilon_as_passed = self.epsilon if epsilon is None else epsilon
        epsilon = read_budgets(epsilon_as_passed, X, y)
        self.check_settings()
        records = read_label_records(self, X, y, epsilon_as_passed)
        domain = self.domain(records.columns)
        budgets = self.drop_small_budgets(records.budgets(epsilon))
        return self.law(records.participants(domain, budgets))

    def sums(self, X: Any, y: Any, *, epsilon: Any = None) -> Sums:
        """Return `Sums` of some of the people, which `fit` takes when all are added. NOT private.

        Parameters
        ----------
        X : array_like, n rows
            One row a person, of whatever kind; one row will do.
        y : array_like, shape (n,)
            Labels, inside `y_bounds`.
        epsilon : float or array_like, shape (n,), optional
            Their budgets, as in `fit`; here all may be 0. None is the constructor's.
        """
        return sums_over_records(self, X, y, self.epsilon if epsilon is None else epsilon)

    def statistic(self, X: Floats, y: Floats, weights: Floats) -> tuple[Floats]:
        """Return what `sums` adds up: the weighted sum of the labels."""
        return (np.array([weights @ y]),)

    def weights_in_sums(self, budgets: Floats, d: int) -> Floats:
        """Return the weight with which each person is added up by `sums`: their budget."""
        return budgets


def grid_law(people: Participants, grid: int) -> WholeNumbers:
    """Return the exact distribution of the whole sum of `thm-grid-sums`."""
    weights = whole_weights(people.budgets, grid)
    labels = rounded_to_steps(people.y, grid, -1)
    center = int(weights @ labels)
    farthest = 2 * grid  # steps between the labels -1 and 1
    rate = exact_budget(people.budgets.max()) / (grid * farthest)
    return WholeNumbers((center,), (rate,), (Fraction(1, grid * int(weights.sum())),))


def public_noise(law: L2Laplace | WholeNumbers) -> PublicNoise:
    """Return the noise on the mean, as far as it is public: all of it."""
    if isinstance(law, WholeNumbers):
        scale, variance = float(law.scale[0]), law.variance[:, None]
        return PublicNoise(scale=scale, covariance=variance)
    eta = float(law.eta)
    return PublicNoise(rate=eta, scale=1 / eta, covariance=np.array([[2 / eta**2]]))
