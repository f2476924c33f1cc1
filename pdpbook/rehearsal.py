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
from sklearn.base import clone, is_classifier, is_clusterer

from pdpbook import Floats, check
from pdpbook.advice import Advice
from pdpbook.personalized import PersonalizedMean
from pdpbook.user_level import WeightedMean

if TYPE_CHECKING:
    from pdpbook.datasets import PublicSchema

__all__ = ["Estimate", "Rehearsal", "rehearse"]

NEW_PEOPLE = 2000  # for whom each release predicts
LOG2_POINTS = 14  # of evenly placed people, on whom the law of the labels is solved for
MOST_ROWS = 200_000
MOST_COLUMNS = 1000
CORRELATION = 0.3  # of any two columns, before each is bent into its interval


class Estimate(NamedTuple):
    """A number with its Monte Carlo standard error."""

    value: float  #: in the units of the label
    se: float  #: how far off it may be, since so few people were invented


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
        times = f"{size / se:.0f}" if size < 100 * se else "over 100"
        return f"{word} than a private constant, by {_digits(size)} ({times} standard errors)."

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
            if estimate is not None and np.isfinite(estimate.value):
                lines.append(f"{words:34}{_digits(estimate.value):>9}{_digits(estimate.se):>9}")
        return "\n".join([*lines, self.verdict])


def _digits(value: float) -> str:
    """Three digits, without a power of ten where a person would not write one."""
    return f"{float(f'{value:.3g}'):,.10g}"


def rehearse(
    model: Any,
    people: int,
    columns: int | PublicSchema,
    *,
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
    The rows of one user share the part of z that its columns have in common. Their labels are
    independent given the rows: where users differ in more than their columns, there is more error,
    at most about (columns + 1) / (2 people) of it.

    Parameters
    ----------
    model : estimator of scikit-learn
        A regressor, also a pipeline or a search. Bounds and budgets are read from it. It is not
        changed, and seeds in it are not used.
    people : int
        How many, at least 2. Up to 200,000 rows are invented.
    columns : int or PublicSchema
        How many, at most 1,000; or the schema, with bounds and lists of words.
    y_mean, y_sd, r2 : float
        Guesses: mean and standard deviation of the label, and the share of its variance that
        least squares would explain among very many people, in [0, 1).
    epsilon : float, array_like of shape (people,), or mapping, optional
        Budgets; a mapping has the share of the people at each level, ``{0.1: 0.5, 1.0: 0.5}``.
        None is the model's own. They are given to `fit`, or to the estimators of this package that
        a pipeline holds; for a model that takes none they are those of the constant alone.
    rows_per_user : int or array_like of shape (people,), optional
        Rows of each, for estimators whose `fit` takes `users`.
    bounds, y_bounds : array_like, optional
        Where the people lie. None is the schema's, or the model's, which are then no guess. Give
        narrower ones where the columns fill a small part of them, or the rehearsal is too hopeful.
    repeats : int, default 40
        At least 2; standard errors fall with its root.
    random_state : int, default 0
        Of people and noise. Nobody in a rehearsal is real, so a seed is no danger.

    Raises
    ------
    TypeError
        For a table. On private data this would be a release without noise. For a model that is no
        regressor.
    ValueError
        For guesses that no data have, before anything is drawn.

    Notes
    -----
    With 10,000 people and 12 columns most mechanisms take 1 to 2 seconds, `WeightedGradientDescent`
    5, `DPSGDRegression` and `GWARegression` 11, `TwoStageGWARegression` 25. `PACRegression` takes
    4 minutes with 500 people and 15 with 2,000. ``repeats=10`` takes a quarter of the time, and
    standard errors are twice as large.

    Examples
    --------
    >>> from pdpbook.objective_perturbation import ObjectivePerturbation
    >>> model = ObjectivePerturbation(0.1, y_bounds=(0, 60), fit_intercept=True)
    >>> days = dict(people=2000, columns=3, y_mean=8, y_sd=8, r2=0.2)
    >>> print(rehearse(model, epsilon=1.0, **days).verdict)
    Worse than a private constant, by 0.282 (26 standard errors).
    """
    _refuse_model(model)
    repeats = check.count(repeats, "repeats", minimum=2)
    random_state = check.count(random_state, "random_state", minimum=0)
    people = _number_of_people(people)
    columns_ = _columns(columns, bounds, model)
    sizes = _rows_of_users(model, rows_per_user, people)
    budgets = _Budgets(
        _budgets(model, epsilon, people),
        given=epsilon is not None,
        by_lot=isinstance(epsilon, Mapping),
    )
    crowd = _Crowd(people, columns_, budgets, sizes)
    y_bounds = _first("y_bounds", model, y_bounds, columns_.y_bounds)
    labels = _labels(columns_, y_mean, y_sd, r2, check.bounds(y_bounds, "y_bounds"))

    seeds = np.random.SeedSequence(random_state).spawn(repeats)
    squares, refused = [], ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Advice)
        for seed in seeds:
            try:
                squares.append(_one(model, crowd, labels, np.random.default_rng(seed)))
            except _Refused as error:
                refused = str(error)
                break

    known = {
        "model": _name(model),
        "people": people,
        "columns": columns_.d,
        "unexplained": Estimate(labels.unexplained, 0.0),
    }
    if refused:
        return _never(known, refused)
    ours = _is_ours(model)
    return _summary(known, labels.unexplained**2, np.array(squares), ours)


class _Refused(Exception):
    """The model refuses the invented people."""


@dataclass(frozen=True)
class _Columns:
    """What is public of the columns."""

    low: Floats
    high: Floats
    words: tuple[int, ...]  #: for each question the words on its list, 0 for a number
    y_bounds: Any = None  #: of the label of a schema

    @property
    def d(self) -> int:
        return len(self.low)

    def bent(self, own: Floats, shared: Floats) -> Floats:
        """Rows on [0, 1] from normal numbers: one each for a question, and one for all of them."""
        u = ndtr(np.sqrt(1 - CORRELATION) * own + np.sqrt(CORRELATION) * shared[:, None])
        parts = []
        for question, words in zip(u.T, self.words, strict=True):
            if words:
                shares = 1 / np.arange(1, words + 1)
                word = np.searchsorted(np.cumsum(shares / shares.sum())[:-1], question)
                parts.append((word[:, None] == np.arange(1, words)).astype(float))
            else:
                parts.append(np.sqrt(-np.expm1(np.log1p(-question[:, None]) / 5)))
        return np.hstack(parts)

    def in_units(self, v: Floats) -> Floats:
        return self.low + (self.high - self.low) * v


@dataclass(frozen=True)
class _Budgets:
    """What is public of the budgets."""

    each: Any  #: a number, one a person, or None where other settings fix the noise
    given: bool  #: or the model's own
    by_lot: bool  #: shares at each level, and not whose budget is which

    def of_these_people(self, rng: np.random.Generator) -> Any:
        return rng.permutation(self.each) if self.by_lot else self.each


@dataclass(frozen=True)
class _Crowd:
    """Who is invented."""

    people: int
    columns: _Columns
    budgets: _Budgets
    sizes: Any  #: rows of each, or None where all own one

    @property
    def users(self) -> Any:
        """Who owns each row, or None."""
        return None if self.sizes is None else np.repeat(np.arange(self.people), self.sizes)

    def rows(self, rng: np.random.Generator) -> Floats:
        """Rows of everybody on [0, 1]."""
        users = np.arange(self.people) if self.sizes is None else self.users
        own = rng.standard_normal((len(users), len(self.columns.words)))
        return self.columns.bent(own, rng.standard_normal(self.people)[users])

    def new_people(self, rng: np.random.Generator) -> Floats:
        """Rows of people who are not in the data."""
        own = rng.standard_normal((NEW_PEOPLE, len(self.columns.words)))
        return self.columns.bent(own, rng.standard_normal(NEW_PEOPLE))


@dataclass(frozen=True)
class _Labels:
    """The law of a label, given a row on [0, 1]."""

    low: float
    high: float
    slopes: Floats
    start: float
    edge: float
    kappa: float
    line: Floats  #: the best line: slopes and constant, in units of the label
    unexplained: float  #: standard deviation around it

    def share(self, v: Floats) -> Floats:
        """The mean of the label at each row, on [0, 1]."""
        return np.clip(self.start + v @ self.slopes, self.edge, 1 - self.edge)

    def mean(self, v: Floats) -> Floats:
        return self.low + (self.high - self.low) * self.share(v)

    def draw(self, v: Floats, rng: np.random.Generator) -> Floats:
        p = self.share(v)
        share = rng.beta(self.kappa * p, self.kappa * (1 - p))
        return np.clip(self.low + (self.high - self.low) * share, self.low, self.high)


def _one(model: Any, crowd: _Crowd, labels: _Labels, rng: np.random.Generator) -> list[float]:
    """Mean squares from one crowd: few people, left out, clipping, pull, noise, constant."""
    v, users = crowd.rows(rng), crowd.users
    X, y = crowd.columns.in_units(v), labels.draw(v, rng)
    budgets = crowd.budgets.of_these_people(rng)
    v_new = crowd.new_people(rng)
    X_new, truth = crowd.columns.in_units(v_new), labels.mean(v_new)
    line = _at(labels.line, v_new)

    def excess(found: Floats, again: Floats) -> float:
        """How much worse than the best line these are, as predictions of new people."""
        return float(np.mean((found - truth) * (again - truth) - (line - truth) ** 2))

    given = budgets if crowd.budgets.given else None
    fitted = [_fit(clone(model), X, y, given, users, rng) for _ in range(2)]
    one, two = (_predictions(each, X_new) for each in fitted)
    systematic, noise = excess(one, two), float(np.mean((one - two) ** 2) / 2)

    def least_squares(v: Floats, y: Floats) -> float:
        found = _at(_line(v, y), v_new)
        return excess(found, found)

    few = least_squares(v, y)
    part = _taking_part(fitted[0], users, len(y))
    left = few if part.all() else least_squares(v[part], y[part])
    cut = _cut(model, crowd.columns, labels, v[part], y[part])
    clipped = left if cut is None else least_squares(*cut)

    kind: Any = PersonalizedMean if users is None else WeightedMean
    if budgets is None:
        budgets = _kept_budget(fitted[0].guarantee_)
    y_bounds = getattr(model, "y_bounds", (labels.low, labels.high))
    mean = _fit(kind(y_bounds=y_bounds, clip=True), X, y, budgets, users, rng).mean_
    constant = labels.unexplained**2 + excess(np.full(NEW_PEOPLE, mean), np.full(NEW_PEOPLE, mean))
    return [few, left - few, clipped - left, systematic - clipped, noise, constant]


def _fit(model: Any, X: Any, y: Any, budgets: Any, users: Any, rng: np.random.Generator) -> Any:
    """The model, fitted with budgets, if there are any, and noise of its own, or `_Refused`."""
    beside: dict[str, Any] = {}
    if users is not None:
        beside["users"] = users
        if np.ndim(budgets):
            budgets = budgets[users]
    settings: dict[str, Any] = {}
    if budgets is not None:
        if _takes_budgets(model):
            beside["epsilon"] = budgets
        else:
            settings = dict.fromkeys((f"{name}__epsilon" for name in _inside(model)), budgets)
    for name in model.get_params():
        if name.split("__")[-1] == "random_state":  # a seed would hide the noise
            settings[name] = int(rng.integers(2**31))
    try:
        model.set_params(**settings).fit(X, y, **beside)
    except ValueError as error:
        raise _Refused(str(error)) from error
    return model


def _takes_budgets(model: Any) -> bool:
    return "epsilon" in signature(model.fit).parameters


def _inside(model: Any) -> dict[str, Any]:
    """The estimators with budgets that a pipeline or a search holds, by name."""
    parts = model.get_params().items()
    return {name: part for name, part in parts if _has_budgets(part)}


def _has_budgets(model: Any) -> bool:
    """Whether this is an estimator of the package with budgets of its own."""
    return hasattr(model, "get_params") and _is_ours(model) and hasattr(model, "epsilon")


def _is_ours(model: Any) -> bool:
    """Whether an estimator is of this package, or extends one."""
    return any(kind.__module__.startswith("pdpbook.") for kind in type(model).__mro__)


def _predictions(model: Any, X: Any) -> Floats:
    """One number for each row, or `_Refused`."""
    found = np.asarray(model.predict(X))
    if found.shape != (len(X),) or found.dtype.kind not in "iuf":
        raise ValueError(
            f"model must predict one number for each row; {type(model).__name__} predicts "
            f"{found.dtype} of shape {found.shape} for {len(X)} rows"
        )
    if not np.isfinite(found).all():
        raise _Refused("its predictions are not finite")
    return found.astype(float)


def _kept_budget(promise: Any) -> float:
    """The pure budget of one promise for all; at epsilon 0, that which bounds a guess as well."""
    return float(promise.epsilon or 2 * np.arctanh(promise.delta))


def _taking_part(model: Any, users: Any, rows: int) -> Any:
    """Which rows belong to people whom the model promised a budget above 0."""
    guarantee = getattr(model, "guarantee_", None)
    amounts = [getattr(guarantee, name, 1.0) for name in ("epsilon", "mu", "rho")]
    promised = next((np.asarray(each) for each in amounts if np.ndim(each)), None)
    if promised is None:  # one promise for all, or no promise to anybody
        return np.ones(rows, dtype=bool)
    return (promised if users is None else promised[users]) > 0


def _cut(model: Any, columns: _Columns, labels: _Labels, v: Floats, y: Floats) -> Any:
    """Records as the model cuts them to its public bounds, or None where it need not."""
    if not getattr(model, "clip", False):
        return None
    low, high = check.bounds(getattr(model, "bounds", (0.0, 1.0)), "bounds", columns.d)
    if not hasattr(model, "bounds"):
        low, high = columns.low, columns.high
    y_low, y_high = check.bounds(model.y_bounds, "y_bounds")
    inside = (low <= columns.low).all() and (columns.high <= high).all()
    if inside and y_low <= labels.low and labels.high <= y_high:
        return None
    width = columns.high - columns.low
    least, most = (low - columns.low) / width, (high - columns.low) / width
    return np.clip(v, least, most), np.clip(y, y_low, y_high)


def _line(v: Floats, y: Floats) -> Floats:
    """Slopes and constant of least squares."""
    rows = np.column_stack([v, np.ones(len(v))])
    return np.asarray(np.linalg.lstsq(rows, y, rcond=None)[0])


def _at(line: Floats, v: Floats) -> Floats:
    return np.asarray(v @ line[:-1] + line[-1])


def _summary(known: dict[str, Any], unexplained: float, squares: Floats, ours: bool) -> Rehearsal:
    few, left, cut, pull, noise, constant = squares.T
    total = unexplained + few + left + cut + pull + noise
    error, mean = _root(total), _root(constant)
    gaps = total / (2 * error.value) - constant / (2 * mean.value)  # of roots, to first order
    gap_se = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
    return Rehearsal(
        **known,
        error=error,
        few_people=_root(few),
        left_out=_root(left) if ours else None,
        clipping=_root(cut) if ours else None,
        pull=_root(pull) if ours else None,
        noise=_root(noise),
        constant=mean,
        gap=Estimate(error.value - mean.value, gap_se),
    )


def _never(known: dict[str, Any], refused: str) -> Rehearsal:
    return Rehearsal(
        **known,
        error=Estimate(np.inf, np.nan),
        few_people=None,
        left_out=None,
        clipping=None,
        pull=None,
        noise=None,
        constant=Estimate(np.nan, np.nan),
        gap=Estimate(np.inf, np.nan),
        refused=refused,
    )


def _root(squares: Floats) -> Estimate:
    """Root of a mean, with its sign, and the standard error of the root."""
    mean, se = squares.mean(), squares.std(ddof=1) / np.sqrt(len(squares))
    size = abs(mean)
    above, below = np.sqrt(size + se), np.sqrt(abs(size - se))
    if size > se:  # half of what the roots of mean - se and mean + se span
        half = se / (above + below)
    else:
        half = (above + below) / 2
    return Estimate(float(np.sign(mean) * np.sqrt(size)), float(half))


def _name(model: Any) -> str:
    """The class, and its penalty where it has one."""
    lam = getattr(model, "lam", None)
    return type(model).__name__ + (f"(lam={lam:g})" if isinstance(lam, (int, float)) else "")


# --- reading the guesses -------------------------------------------------------------------------


def _refuse_model(model: Any) -> None:
    """Refuse what is no estimator, or predicts no numbers."""
    name = type(model).__name__
    if isinstance(model, type):
        raise TypeError(
            f"model must be an estimator, not a class: write {model.__name__}(...), with its "
            "settings"
        )
    needed = ("fit", "predict", "get_params", "set_params")
    if not all(callable(getattr(model, each, None)) for each in needed):
        shown = model if isinstance(model, (str, type(None))) else name
        raise TypeError(f"model must have fit, predict, get_params and set_params; got {shown}")
    if hasattr(model, "__sklearn_tags__"):  # what has none may be anybody's regressor
        if is_classifier(model):
            raise TypeError(f"model must predict numbers; {name} predicts classes")
        if is_clusterer(model):
            raise TypeError(f"model must predict numbers; {name} finds clusters")


def _refuse_table(value: Any, name: str) -> None:
    if np.ndim(value):
        raise TypeError(
            f"{name} must be a public guess, never a table: a rehearsal on private data would be a "
            f"release without noise; got {type(value).__name__}"
        )


def _guess(value: Any, name: str) -> float:
    """One finite number."""
    _refuse_table(value, name)
    return float(check.finite(value, name))


def _number_of_people(people: Any) -> int:
    _refuse_table(people, "people")
    number = check.count(people, "people", minimum=2)
    _refuse_many(number)
    return number


def _refuse_many(rows: int) -> None:
    if rows > MOST_ROWS:
        raise ValueError(
            f"people must have at most {MOST_ROWS:,} rows together, since all of them are invented "
            f"in memory; got {rows:,}. With more of them, noise only becomes smaller"
        )


def _columns(columns: Any, bounds: Any, model: Any) -> _Columns:
    """Columns of a schema, or so many columns of numbers."""
    _refuse_table(columns, "columns")
    if not hasattr(columns, "label"):
        d = check.count(columns, "columns")
        _refuse_too_many_columns(d)
        low, high = check.bounds(_first("bounds", model, bounds), "bounds", d)
        return _Columns(low, high, (0,) * d)
    rules = {name: rule for name, rule in columns.columns.items() if name != columns.label}
    words = tuple(0 if isinstance(rule, tuple) else len(rule) for rule in rules.values())
    d = len(columns.names)
    _refuse_too_many_columns(d)
    low, high = check.bounds(columns.bounds if bounds is None else bounds, "bounds", d)
    return _Columns(low, high, words, columns.columns.get(columns.label))


def _refuse_too_many_columns(d: int) -> None:
    if d > MOST_COLUMNS:
        raise ValueError(f"columns must be at most {MOST_COLUMNS:,}; got {d:,}")


def _first(name: str, model: Any, *given: Any) -> Any:
    """The first that is given, or else what the model has."""
    for value in (*given, getattr(model, name, None)):
        if value is not None:
            return value
    raise ValueError(f"{name} must be given: {type(model).__name__} has none of its own")


def _rows_of_users(model: Any, rows_per_user: Any, people: int) -> Any:
    """Rows of each of these people, or None where nobody said so."""
    if rows_per_user is None:
        return None
    if "users" not in signature(model.fit).parameters:
        name = type(model).__name__
        raise ValueError(f"rows_per_user must be None: {name} takes one row a person")
    given = np.asarray(rows_per_user)
    if given.shape not in ((), (people,)):
        raise ValueError(
            f"rows_per_user must be one number, or one for each of {people} people; got shape "
            f"{given.shape}"
        )
    sizes = [check.count(size, "rows_per_user") for size in np.broadcast_to(given, people)]
    _refuse_many(sum(sizes))
    return np.array(sizes)


def _budgets(model: Any, epsilon: Any, people: int) -> Any:
    """Budgets: a number, one each, or None where other settings of the model fix its noise."""
    if epsilon is None:
        return _own_budgets(model, people)
    if not isinstance(epsilon, Mapping):
        return check.epsilon(epsilon, people) if np.ndim(epsilon) else check.epsilon(epsilon)
    levels = np.asarray(check.nonnegative(list(epsilon), "levels of epsilon"))
    shares = check.nonnegative(list(epsilon.values()), "shares of epsilon")
    if not np.isclose(np.sum(shares), 1):
        raise ValueError(f"shares of epsilon must sum to 1; got {np.sum(shares):g}")
    ends = np.rint(np.cumsum(shares) * people).astype(int)
    return check.epsilon(np.repeat(levels, np.diff(ends, prepend=0)), people)


def _own_budgets(model: Any, people: int) -> Any:
    """The budgets in the settings of a model, or of the one of ours that a pipeline holds."""
    if _takes_budgets(model):
        fixed = ("noise_multiplier", "success_rate")
        if any(getattr(model, name, None) is not None for name in fixed):
            return None
        holders = [model]
    else:
        holders = list(_inside(model).values())
    own = [holder.epsilon for holder in holders if getattr(holder, "epsilon", None) is not None]
    if len(own) != 1:
        raise ValueError(
            f"epsilon must be given: {type(model).__name__} has none of its own, and the private "
            "constant needs budgets"
        )
    return _budgets(model, own[0], people)


# --- the law of the labels -----------------------------------------------------------------------


def _labels(
    columns: _Columns, y_mean: Any, y_sd: Any, r2: Any, y_bounds: tuple[float, float]
) -> _Labels:
    """The law with these moments, or the guess that is impossible."""
    low, high = y_bounds
    y_mean, y_sd, r2 = _guess(y_mean, "y_mean"), _guess(y_sd, "y_sd"), _guess(r2, "r2")
    if not low < y_mean < high:
        raise ValueError(f"y_mean must lie inside y_bounds ({low:g}, {high:g}); got {y_mean:g}")
    most = np.sqrt((y_mean - low) * (high - y_mean))
    if not 0 < y_sd < most:
        raise ValueError(
            f"y_sd must be above 0 and below {most:.4g}, the most that labels in y_bounds can have "
            f"around this mean; got {y_sd:g}"
        )
    if not 0 <= r2 < 1:
        raise ValueError(f"r2 must be at least 0 and below 1; got {r2:g}")
    m, variance = (y_mean - low) / (high - low), (y_sd / (high - low)) ** 2
    wanted, edge = r2 * variance, min(m, 1 - m) / 100

    sobol = qmc.Sobol(len(columns.words) + 1, rng=np.random.default_rng(0))
    points = ndtri(sobol.random_base2(LOG2_POINTS))
    v = columns.bent(points[:, 1:], points[:, 0])
    slopes = (-1.0) ** np.arange(columns.d) / v.std(axis=0)
    slopes /= (v @ slopes).std()
    t = v @ slopes
    basis = np.linalg.qr(np.column_stack([np.ones(len(v)), v]))[0]

    def shares(start: float, slope: float) -> Floats:
        return np.asarray(np.clip(start + slope * t, edge, 1 - edge))

    def start_of(slope: float) -> float:
        """Where the mean of all labels is the guess."""
        reach = 1 + slope * np.abs(t).max()
        found = brentq(lambda a: shares(a, slope).mean() - m, -reach, reach, xtol=1e-12)
        return float(found)

    def explained(slope: float) -> float:
        """Variance of the best line."""
        p = shares(start_of(slope), slope)
        return float(np.sum((basis.T @ (p - m)) ** 2) / len(p))

    slope = np.sqrt(wanted)  # where no mean is near a bound
    while explained(slope) < wanted and shares(start_of(slope), slope).var() < variance:
        slope *= 1.3
    if wanted and explained(slope) > wanted:
        slope = brentq(lambda b: explained(b) - wanted, 0.0, slope, xtol=1e-12)
    start = start_of(slope)
    p = shares(start, slope)
    if explained(slope) < wanted * (1 - 1e-9) or p.var() >= variance:
        most = np.floor(1000 * explained(slope) / max(p.var(), variance)) / 1000
        raise ValueError(
            f"r2 must be at most about {most:g} for labels with this mean, spread and bounds, "
            f"which a line cannot follow further; got {r2:g}"
        )
    kappa = (m * (1 - m) - p.var()) / (variance - p.var()) - 1
    line = _line(v, low + (high - low) * p)
    unexplained = float(y_sd * np.sqrt(1 - r2))
    return _Labels(low, high, slope * slopes, start, edge, float(kappa), line, unexplained)
