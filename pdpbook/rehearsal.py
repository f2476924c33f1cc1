"""What error to expect of a release: the estimator itself, fitted to people who are invented.

Nothing here reads a table. The people come from public guesses, so a rehearsal costs no budget.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from inspect import signature
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri
from scipy.stats import qmc
from sklearn.base import clone

from pdpbook import Floats, check
from pdpbook.advice import Advice
from pdpbook.personalized import PersonalizedMean
from pdpbook.user_level import WeightedMean

if TYPE_CHECKING:
    from pdpbook.datasets import PublicSchema

__all__ = ["Estimate", "Rehearsal", "rehearse"]

NEW_PEOPLE = 2000  # for whom each release predicts
REFERENCE = 14  # 2^14 evenly placed people, on whom the law of the labels is solved for
MOST_ROWS = 200_000
ALIKE = 0.3  # correlation of any two columns, before each is bent into its interval


class Estimate(NamedTuple):
    """A number with its Monte Carlo standard error."""

    value: float
    se: float


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    r"""The error of a prediction for new invented people, and its parts.

    All errors are root mean squares in the units of the label. The squares of `unexplained`,
    `few_people`, `left_out`, `clipping`, `pull` and `noise`, each with its sign, sum to that of
    `error`. A part below 0 makes predictions better. With :math:`f, f'` two releases from the
    same invented records, :math:`g` least squares without privacy, :math:`\ell` the best line,
    and means over new people, the squares are

    .. math:: \text{noise}^2 = \tfrac12\overline{(f-f')^2}, \qquad
              \text{few people}^2 = \overline{(g-\ell)^2}, \qquad
              \text{unexplained}^2 = \overline{(y-\ell)^2}.

    `left_out` is what this least squares loses on those who take part alone, `clipping` what it
    loses further on their records cut to the model's public bounds, and `pull` is the rest of
    :math:`\overline{(f-p)(f'-p)}`, with p the true mean of the label: the penalty, weights that
    differ, a loss that is not the square, rows that are shortened, too few steps.

    Attributes
    ----------
    model : str
    people, columns : int
    error : Estimate
        Of a prediction for somebody new; infinite where the model cannot be fitted.
    unexplained : Estimate
        What no line in the columns can explain; known from the guesses.
    few_people : Estimate or None
        Because the people are so few, without any privacy.
    left_out, clipping, pull : Estimate or None
        None where the estimator is not of this package: its parts cannot be told apart.
    noise : Estimate or None
        What differs between two releases from the same records.
    constant : Estimate
        The error of a private mean with the same budgets, as a prediction of everybody.
    gap : Estimate
        `error` less `constant`, from the same invented people.
    refused : str
        Why the model cannot be fitted, or nothing.
    """

    model: str
    people: int
    columns: int
    error: Estimate
    unexplained: Estimate
    few_people: Estimate | None
    left_out: Estimate | None
    clipping: Estimate | None
    pull: Estimate | None
    noise: Estimate | None
    constant: Estimate
    gap: Estimate
    refused: str = ""

    @property
    def better(self) -> bool:
        """Whether the model predicts better than a private constant, beyond two standard errors."""
        return self.gap.value < -2 * self.gap.se

    @property
    def verdict(self) -> str:
        """One sentence."""
        if self.refused:
            return f"It cannot be fitted to such people: {self.refused}"
        size, se = abs(self.gap.value), self.gap.se
        if size <= 2 * se:
            return "No clear difference from a private constant: take the constant."
        word = "Better" if self.better else "Worse"
        apart = f"{size / se:.0f} standard errors" if size < 100 * se else "over 100 standard errors"
        return f"{word} than a private constant, by {_digits(size)} ({apart})."

    def __str__(self) -> str:
        lines = [f"{self.model}: {self.people:,} people, {self.columns} columns, all invented"]
        lines.append(f"{'root mean square error':32}{'':>11}{'+/-':>9}")
        for words, estimate in (
            ("of a prediction", self.error),
            ("  what columns cannot explain", self.unexplained),
            ("  few people", self.few_people),
            ("  people left out", self.left_out),
            ("  clipping", self.clipping),
            ("  pull of the penalty and the like", self.pull),
            ("  noise", self.noise),
            ("of a private constant", self.constant),
        ):
            if estimate is not None:
                lines.append(f"{words:34}{_digits(estimate.value):>9}{_digits(estimate.se):>9}")
        return "\n".join([*lines, self.verdict])


def _digits(value: float) -> str:
    """Three digits, without a power of ten where a person would not write one."""
    return f"{float(f'{value:.3g}'):,.10g}"


def rehearse(
    model: Any,
    *,
    people: int,
    columns: int | PublicSchema,
    y_mean: float,
    y_sd: float,
    r2: float,
    epsilon: Any = None,
    rows_per_user: Any = None,
    bounds: Any = None,
    y_bounds: Any = None,
    repeats: int = 40,
    random_state: int = 0,
) -> Rehearsal:
    r"""Return the error to expect of a release, with its parts, from public guesses alone.

    People are invented from the guesses, the estimator is fitted to them as it would be to the
    data, twice, and predicts for new people of the same kind; all that `repeats` times. So
    everything that the release does wrong is counted by the code that does it. The guesses must
    come from elsewhere: a study, a textbook, last year's release. Chapter *synthesis/your_data*.

    A column is :math:`x_j = l_j + (h_j-l_j)\,K^{-1}(\Phi(z_j))`, for z normal with correlations
    of 0.3 and :math:`K(v)=1-(1-v^2)^5` on [0, 1]: one hump at a third of the interval, a standard
    deviation of 0.17 of it. A list of k words in a schema has shares in proportion to
    1, 1/2, ..., 1/k. With :math:`v=(x-l)/(h-l)`, words as 0 or 1, and t the sum of these columns
    with alternating signs, each over its standard deviation, the label on [0, 1] has the mean

    .. math:: p(x) = \min\{\max\{a + b\,t(x), \tau\}, 1-\tau\}, \qquad
              y \mid x \sim \text{Beta}\bigl(\kappa p,\ \kappa(1-p)\bigr),

    where a, b and :math:`\kappa` are solved for: the mean and the standard deviation are the
    guesses, and the best line in the columns explains `r2`; :math:`\tau` is a hundredth of the
    distance from the mean to the nearer bound. So labels are skewed where the mean is off center.
    The rows of one user share the part of z that its columns have in common.

    Parameters
    ----------
    model : estimator of scikit-learn
        Its bounds and budgets are read from it. It is not changed.
    people : int
        How many, at least 2. Up to 200,000 rows are invented.
    columns : int or PublicSchema
        How many; or the schema, with bounds and lists of words.
    y_mean, y_sd, r2 : float
        Guesses: mean and standard deviation of the label, and the share of its variance that
        least squares would explain among very many people, in [0, 1).
    epsilon : float, array_like of shape (people,), or mapping, optional
        Budgets; a mapping has the share of the people at each level, ``{0.1: 0.5, 1.0: 0.5}``.
        None is the model's own.
    rows_per_user : int or array_like of shape (people,), optional
        Rows of each, for estimators whose `fit` takes `users`.
    bounds, y_bounds : array_like, optional
        Where the people lie. None is the schema's, or the model's, which are then no guess.
    repeats : int, default 40
        At least 2; standard errors fall with its root.
    random_state : int, default 0
        Of people and noise. Nobody in a rehearsal is real, so a seed is no danger.

    Raises
    ------
    TypeError
        For a table. On private data this would be a release without noise.
    ValueError
        For guesses that no data have, before anything is drawn.

    Examples
    --------
    >>> from pdpbook.objective_perturbation import ObjectivePerturbation
    >>> model = ObjectivePerturbation(0.1, y_bounds=(0, 60), fit_intercept=True)
    >>> days = dict(people=2000, columns=3, y_mean=8, y_sd=8, r2=0.2)
    >>> print(rehearse(model, epsilon=1.0, **days).verdict)
    Worse than a private constant, by 0.627 (45 standard errors).
    """
    repeats = check.count(repeats, "repeats", minimum=2)
    crowd = _crowd(model, people, columns, epsilon, rows_per_user, bounds)
    y_low, y_high = check.bounds(_first(y_bounds, crowd.schema_y, model, "y_bounds"), "y_bounds")
    labels = _labels(crowd, y_mean, y_sd, r2, y_low, y_high)
    lines = _Least.of(model, crowd, y_low, y_high)
    squares: list[Floats] = []
    refused = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Advice)
        for seed in np.random.SeedSequence(random_state).spawn(repeats):
            try:
                squares.append(_one(model, crowd, labels, lines, np.random.default_rng(seed)))
            except _Refused as error:
                refused = str(error)
                break
    return _summary(model, crowd, labels, np.array(squares), refused)


class _Refused(Exception):
    """The model refuses the invented people."""


@dataclass(frozen=True)
class _Crowd:
    """Who is invented: all of it public."""

    people: int
    d: int
    low: Floats
    high: Floats
    words: tuple[int, ...]  #: columns from each question: 1 for a number, k - 1 for k words
    lists: tuple[bool, ...]  #: whether the question has words
    schema_y: Any  #: bounds of the label in the schema, if it has one
    budgets: Floats | float  #: a number, or one each
    sizes: Floats | None  #: rows of each user

    def draw(self, rng: np.random.Generator, users: Any = None, n: int = 0) -> Floats:
        """Rows on [0, 1]: of these users, or of n people who own one each."""
        count = n if users is None else len(users)
        own = rng.standard_normal((count, len(self.words)))
        shared = rng.standard_normal(n if users is None else self.people)
        return self.bent(own, shared if users is None else shared[users])

    def bent(self, own: Floats, shared: Floats) -> Floats:
        """Columns on [0, 1] from normal numbers, some of which a person's columns share."""
        u = ndtr(np.sqrt(1 - ALIKE) * own + np.sqrt(ALIKE) * shared[:, None])
        parts = []
        for j, (k, listed) in enumerate(zip(self.words, self.lists, strict=True)):
            if listed:
                shares = 1 / np.arange(1, k + 2)
                level = np.searchsorted(np.cumsum(shares / shares.sum())[:-1], u[:, j])
                parts.append((level[:, None] == np.arange(1, k + 1)).astype(float))
            else:
                parts.append(np.sqrt(-np.expm1(np.log1p(-u[:, [j]]) / 5)))
        return np.hstack(parts)

    def units(self, v: Floats) -> Floats:
        return self.low + (self.high - self.low) * v


@dataclass(frozen=True)
class _Labels:
    """The law of a label, for a row on [0, 1]."""

    low: float
    width: float
    slopes: Floats
    start: float
    floor: float
    kappa: float
    line: Floats  #: the best line in row and constant, in units of the label
    unexplained: float  #: standard deviation around it

    def center(self, v: Floats) -> Floats:
        """Mean of the label at each row, in its units."""
        return self.low + self.width * np.clip(
            self.start + v @ self.slopes, self.floor, 1 - self.floor
        )

    def draw(self, v: Floats, rng: np.random.Generator) -> Floats:
        p = (self.center(v) - self.low) / self.width
        y = rng.beta(self.kappa * p, self.kappa * (1 - p))
        return self.low + self.width * np.clip(y, 0.0, 1.0)


@dataclass(frozen=True)
class _Least:
    """Least squares on invented records, which are cut to the bounds of the model."""

    crowd: _Crowd
    cut: Any  #: (low, high, y_low, y_high) in units, or None where the model does not clip

    @classmethod
    def of(cls, model: Any, crowd: _Crowd, y_low: float, y_high: float) -> _Least:
        if not (getattr(model, "clip", False) and hasattr(model, "y_bounds")):
            return cls(crowd, None)
        low, high = check.bounds(getattr(model, "bounds", (-np.inf, np.inf)), "bounds", crowd.d)
        least, most = check.bounds(model.y_bounds, "y_bounds")
        wider = crowd.low < low, crowd.high > high, y_low < least, y_high > most
        return cls(crowd, (low, high, least, most) if any(map(np.any, wider)) else None)

    def clipped(self, v: Floats, y: Floats) -> tuple[Floats, Floats]:
        low, high, least, most = self.cut
        start, width = self.crowd.low, self.crowd.high - self.crowd.low
        return np.clip(v, (low - start) / width, (high - start) / width), np.clip(y, least, most)


def _fitted_line(v: Floats, y: Floats) -> Floats:
    rows = np.column_stack([v, np.ones(len(v))])
    return np.asarray(np.linalg.lstsq(rows, y, rcond=None)[0])


def _at(line: Floats, v: Floats) -> Floats:
    return np.asarray(v @ line[:-1] + line[-1])


def _one(
    model: Any, crowd: _Crowd, labels: _Labels, least: _Least, rng: np.random.Generator
) -> Floats:
    """Mean squares of one crowd: few people, left out, clipping, systematic, noise, constant."""
    users = None if crowd.sizes is None else np.repeat(np.arange(crowd.people), crowd.sizes)
    v = crowd.draw(rng, users, crowd.people)
    X, y = crowd.units(v), labels.draw(v, rng)
    budgets = crowd.budgets
    if np.ndim(budgets) and np.ptp(budgets) > 0:
        budgets = rng.permutation(budgets)
    v_new = crowd.draw(rng, n=NEW_PEOPLE)
    truth, line = labels.center(v_new), _at(labels.line, v_new)

    def excess(found: Floats) -> float:
        """How much worse than the best line, as a prediction of new people."""
        return float(np.mean((found - truth) ** 2 - (line - truth) ** 2))

    fitted = [_fit(clone(model), X, y, budgets, users, rng) for _ in range(2)]
    one, two = (np.asarray(f.predict(crowd.units(v_new)), dtype=float) for f in fitted)
    systematic = float(np.mean((one - truth) * (two - truth) - (line - truth) ** 2))
    noise = float(np.mean((one - two) ** 2) / 2)

    few = excess(_at(_fitted_line(v, y), v_new))
    left, cut = few, few
    part = _taking_part(fitted[0], users, len(y))
    if not part.all():
        left = cut = excess(_at(_fitted_line(v[part], y[part]), v_new))
    if least.cut is not None:
        cut = excess(_at(_fitted_line(*least.clipped(v[part], y[part])), v_new))

    kind: Any = PersonalizedMean if users is None else WeightedMean
    own = getattr(model, "y_bounds", (labels.low, labels.low + labels.width))
    mean = _fit(kind(y_bounds=own, clip=True), X, y, budgets, users, rng)
    constant = labels.unexplained**2 + excess(np.full(len(v_new), mean.mean_))
    return np.array([few, left - few, cut - left, systematic - cut, noise, constant])


def _fit(model: Any, X: Any, y: Any, budgets: Any, users: Any, rng: np.random.Generator) -> Any:
    """The model, fitted with noise of its own, or `_Refused`."""
    known = signature(model.fit).parameters
    more: dict[str, Any] = {}
    if users is not None:
        more["users"] = users
    if "epsilon" in known:
        more["epsilon"] = budgets if users is None or not np.ndim(budgets) else budgets[users]
    if "random_state" in model.get_params():
        model.set_params(random_state=int(rng.integers(2**31)))
    try:
        return model.fit(X, y, **more)
    except ValueError as error:
        raise _Refused(str(error)) from error


def _taking_part(model: Any, users: Any, rows: int) -> Any:
    """Which rows have a budget above 0, as the model promised."""
    promised = np.asarray(getattr(getattr(model, "guarantee_", None), "epsilon", 1.0), dtype=float)
    if promised.ndim == 0:
        return np.ones(rows, dtype=bool)
    return (promised if users is None else promised[users]) > 0


def _summary(
    model: Any, crowd: _Crowd, labels: _Labels, squares: Floats, refused: str
) -> Rehearsal:
    unexplained = labels.unexplained**2
    sure = Estimate(labels.unexplained, 0.0)
    common = dict(
        model=_name(model), people=crowd.people, columns=crowd.d, unexplained=sure, refused=refused
    )
    if refused:
        never, no = Estimate(np.inf, np.nan), dict.fromkeys(
            ("few_people", "left_out", "clipping", "pull", "noise")
        )
        return Rehearsal(**common, **no, error=never, gap=never, constant=Estimate(np.nan, np.nan))
    few, left, cut, pull, noise, constant = squares.T
    total = unexplained + few + left + cut + pull + noise
    error, mean = _root(total), _root(constant)
    gaps = total / (2 * error.value) - constant / (2 * mean.value)  # to first order
    gap = Estimate(error.value - mean.value, float(gaps.std(ddof=1) / np.sqrt(len(gaps))))
    ours = type(model).__module__.partition(".")[0] == "pdpbook"
    return Rehearsal(
        **common,
        error=error,
        few_people=_root(few),
        left_out=_root(left) if ours else None,
        clipping=_root(cut) if ours else None,
        pull=_root(pull) if ours else None,
        noise=_root(noise),
        constant=mean,
        gap=gap,
    )


def _root(squares: Floats) -> Estimate:
    """Root of a mean, with its sign, and the standard error of the root."""
    mean, se = squares.mean(), squares.std(ddof=1) / np.sqrt(len(squares))
    root = float(np.sqrt(abs(mean)))
    return Estimate(
        float(np.copysign(root, mean)) if mean else 0.0,
        float(se / (root + np.sqrt(root**2 + se))) if se else 0.0,
    )


def _name(model: Any) -> str:
    """The class, and its penalty where it has one."""
    lam = getattr(model, "lam", None)
    return type(model).__name__ + (f"(lam={lam:g})" if isinstance(lam, (int, float)) else "")


def _crowd(
    model: Any, people: Any, columns: Any, epsilon: Any, rows_per_user: Any, bounds: Any
) -> _Crowd:
    for value, name in ((people, "people"), (columns, "columns")):
        if np.ndim(value):
            raise TypeError(
                f"{name} must be a public guess, never a table: a rehearsal on private data would "
                f"be a release without noise; got {type(value).__name__}"
            )
    people = check.count(people, "people", minimum=2)
    schema_y, lists, words = None, (False,), (1,)
    if hasattr(columns, "label"):
        rules = {name: rule for name, rule in columns.columns.items() if name != columns.label}
        lists = tuple(not isinstance(rule, tuple) for rule in rules.values())
        words = tuple(1 if isinstance(r, tuple) else len(r) - 1 for r in rules.values())
        schema_y = columns.columns.get(columns.label)
        bounds = columns.bounds if bounds is None else bounds
    else:
        count = check.count(columns, "columns")
        lists, words = lists * count, words * count
    d = sum(words)
    low, high = check.bounds(_first(bounds, None, model, "bounds"), "bounds", d)
    sizes, rows = None, people
    if rows_per_user is not None:
        if "users" not in signature(model.fit).parameters:
            raise ValueError(
                f"rows_per_user must be None: {type(model).__name__} takes one row a person"
            )
        given = np.broadcast_to(rows_per_user, people) if np.ndim(rows_per_user) == 0 else None
        given = np.asarray(rows_per_user) if given is None else given
        if given.shape != (people,):
            raise ValueError(
                f"rows_per_user must be one number, or one for each of {people} people; got shape "
                f"{given.shape}"
            )
        sizes = np.array([check.count(size, "rows_per_user") for size in given])
        rows = int(sizes.sum())
    if rows > MOST_ROWS:
        raise ValueError(
            f"people must have at most {MOST_ROWS:,} rows together, since all of them are invented "
            f"in memory; got {rows:,}. With more of them noise and pull only become smaller"
        )
    return _Crowd(people, d, low, high, words, lists, schema_y, _budgets(model, epsilon, people), sizes)


def _first(given: Any, beside: Any, model: Any, name: str) -> Any:
    """What was given, else the schema's, else the model's."""
    for value in (given, beside, getattr(model, name, None)):
        if value is not None:
            return value
    raise ValueError(f"{name} must be given: {type(model).__name__} has none of its own")


def _budgets(model: Any, epsilon: Any, people: int) -> Any:
    """Budgets: a number, or one each."""
    epsilon = getattr(model, "epsilon", None) if epsilon is None else epsilon
    if epsilon is None:
        raise ValueError(
            f"epsilon must be given: {type(model).__name__} has none of its own, and the private "
            "constant needs budgets"
        )
    if isinstance(epsilon, Mapping):
        levels = check.epsilon(list(epsilon), name="epsilon")
        shares = check.nonnegative(list(epsilon.values()), "shares in epsilon")
        if not np.isclose(np.sum(shares), 1):
            raise ValueError(f"shares in epsilon must sum to 1; got {np.sum(shares):g}")
        ends = np.rint(np.cumsum(shares) * people).astype(int)
        return check.epsilon(np.repeat(levels, np.diff(ends, prepend=0)), people)
    return check.epsilon(epsilon, people) if np.ndim(epsilon) else check.epsilon(epsilon)


def _labels(
    crowd: _Crowd, y_mean: Any, y_sd: Any, r2: Any, y_low: float, y_high: float
) -> _Labels:
    """Solve for the law of the labels that has these moments, or say which guess is impossible."""
    y_mean = _guess(y_mean, "y_mean")
    if not y_low < y_mean < y_high:
        raise ValueError(
            f"y_mean must lie inside y_bounds ({y_low:g}, {y_high:g}); got {y_mean:g}"
        )
    y_sd, most = _guess(y_sd, "y_sd"), np.sqrt((y_mean - y_low) * (y_high - y_mean))
    if not 0 < y_sd < most:
        raise ValueError(
            f"y_sd must be above 0 and below {most:.4g}, the most that labels in y_bounds can have "
            f"around this mean; got {y_sd:g}"
        )
    r2 = _guess(r2, "r2")
    if not 0 <= r2 < 1:
        raise ValueError(f"r2 must be at least 0 and below 1; got {r2:g}")
    width = y_high - y_low
    m, variance = (y_mean - y_low) / width, (y_sd / width) ** 2
    floor = min(m, 1 - m) / 100

    points = ndtri(qmc.Sobol(len(crowd.words) + 1, rng=np.random.default_rng(0)).random_base2(REFERENCE))
    v = crowd.bent(points[:, 1:], points[:, 0])
    signs = (-1.0) ** np.arange(crowd.d)
    slopes = signs / v.std(axis=0)
    slopes /= (v @ slopes).std()
    t = v @ slopes
    basis = np.linalg.qr(np.column_stack([np.ones(len(v)), v]))[0]

    def centers(b: float) -> tuple[float, Floats]:
        """Start and means for a slope b: the mean of means is that of the labels."""

        def means(a: float) -> Floats:
            return np.clip(a + b * t, floor, 1 - floor)

        reach = 1 + b * np.abs(t).max()
        a = brentq(lambda a: means(a).mean() - m, -reach, reach, xtol=1e-12)
        return a, means(a)

    def explained(b: float) -> float:
        p = centers(b)[1]
        return float(np.sum((basis.T @ (p - m)) ** 2) / len(p))

    b, wanted = 0.0, r2 * variance
    if wanted > 0:
        top = np.sqrt(wanted)
        while explained(top) < wanted and centers(top)[1].var() < variance:
            top *= 1.3
        if not explained(top) >= wanted:
            raise ValueError(_too_skewed(explained(top / 1.3) / variance, r2))
        b = brentq(lambda b: explained(b) - wanted, 0.0, top, xtol=1e-12)
    a, p = centers(b)
    if not p.var() < variance:
        raise ValueError(_too_skewed(wanted / p.var(), r2))
    kappa = (m * (1 - m) - p.var()) / (variance - p.var()) - 1
    line = _fitted_line(v, y_low + width * p)
    unexplained = y_sd * np.sqrt(1 - r2)
    return _Labels(y_low, width, b * slopes, a, floor, kappa, line, float(unexplained))


def _too_skewed(most: float, r2: float) -> str:
    return (
        f"r2 must be at most about {most:.2g} for labels with this mean, spread and bounds: a line "
        f"cannot explain more of labels that are so skewed; got {r2:g}"
    )


def _guess(value: Any, name: str) -> float:
    """One finite number, no table."""
    if np.ndim(value):
        raise TypeError(
            f"{name} must be one public guess, never a table: a rehearsal on private data would be "
            f"a release without noise; got {type(value).__name__}"
        )
    return check.single(check.finite(value, name), name)
