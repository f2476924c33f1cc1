"""What error to expect of a release: the estimator is fitted to people who are invented.

Nothing here reads a table. The people come from public guesses, so a rehearsal costs no budget.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
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
LOG2_POINTS = 14  # of evenly placed people, for whom the law of the labels is solved
MOST_ROWS = 200_000  # all of them are in memory
MOST_COLUMNS = 1000
CORRELATION = 0.3  # of any two normal numbers that become columns
LARGEST_SEED = 2**31  # of scikit-learn, exclusive
DISTANCE_OVER_TAU = 100  # tau in `rehearse`: the distance from mean to nearer bound, over this
SLOPE_GROWTH = 1.3  # factor of the slope b in the search for an upper bound on it
EXPLAINED_TOLERANCE = 1e-9  # relative, of the variance that a line explains


class Estimate(NamedTuple):
    """A number with its Monte Carlo standard error."""

    value: float  #: in the units of the label
    se: float  #: standard error of `value`, since the number of rehearsals is limited


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    r"""The error of a prediction for new invented people, and the components of it.

    All errors are root mean squares in the units of the label. The squares of `unexplained`,
    `finite_sample`, `exclusion`, `clipping`, `pull` and `noise`, each with its sign, sum to that of
    `error`. A component below 0 makes predictions better. With :math:`f, f'` two releases from the
    same invented records, :math:`g` least squares without privacy, :math:`\ell` the best line,
    and means over new people, the squares are

    .. math:: \text{noise}^2 = \tfrac12\overline{(f-f')^2}, \qquad
              \text{finite sample}^2 = \overline{(g-\ell)^2}, \qquad
              \text{unexplained}^2 = \overline{(y-\ell)^2}.

    `exclusion` is how much worse least squares is if it is fitted to the participants alone,
    `clipping` how much worse it becomes on their records clipped to the model's public bounds.
    `pull` is the rest of :math:`\overline{(f-p)(f'-p)}`, with p the true mean of the label: it
    comes from the penalty, weights that differ, a loss that is not the square, labels that are cut
    to bounds around a private mean, rows that are shortened, and too few steps.

    Attributes
    ----------
    model : str
    people, columns : int
    error : Estimate
        Of a prediction for somebody new; infinite where the model cannot be fitted.
    unexplained : Estimate
        Error of the best line in the columns; known from the guesses.
    finite_sample : Estimate or None
        Error since the number of people is limited, without any privacy.
    exclusion, clipping, pull : Estimate or None
        None where the estimator is not of this package: then they cannot be told apart.
    noise : Estimate or None
        Error by the noise: how far two releases from the same records differ.
    constant : Estimate
        Error of a private mean with the same budgets, as the prediction for all people.
    gap : Estimate
        `error` less `constant`, from the same invented people.
    refused : str
        Why the model cannot be fitted, or "".
    """

    model: str
    people: int
    columns: int
    error: Estimate
    unexplained: Estimate
    finite_sample: Estimate | None
    exclusion: Estimate | None
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
        """The comparison with a private constant, as one sentence."""
        if self.refused:
            return f"It cannot be fitted to such people: {self.refused}"
        size = abs(self.gap.value)
        se = self.gap.se
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
            ("  few people", self.finite_sample),
            ("  people left out", self.exclusion),
            ("  clipping", self.clipping),
            ("  pull of the penalty and the like", self.pull),
            ("  noise", self.noise),
            ("of a private constant", self.constant),
        ):
            if estimate is not None and np.isfinite(estimate.value):
                lines.append(f"{words:34}{_digits(estimate.value):>9}{_digits(estimate.se):>9}")
        return "\n".join([*lines, self.verdict])


def _digits(value: float) -> str:
    """Return three digits of a number, without a power of ten below ten digits."""
    rounded = float(f"{value:.3g}")
    return f"{rounded:,.10g}"


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
    r"""Return the error to expect of a release, with its components, from public guesses alone.

    People are invented from the guesses. The estimator is fitted to them twice, as it would be to
    the data, and predicts for new people of the same kind; all that is done `repeats` times. So
    every error of the release is counted, as the code of the release itself makes it. The guesses
    must come from elsewhere: a study, a textbook, last year's release. Chapter
    *synthesis/your_data*.

    A column is :math:`x_j = l_j + (h_j-l_j)\,K^{-1}(\Phi(z_j))`, for z normal with correlations
    of 0.3 and :math:`K(v)=1-(1-v^2)^5` on [0, 1]. It has one hump at a third of the interval, and a
    standard deviation of 0.17 of it. A list of k words in a schema has shares in proportion to
    1, 1/2, ..., 1/k; of a column that may miss values, a third is missing. With
    :math:`v=(x-l)/(h-l)`, words as 0 or 1, and t the sum of these columns with alternating signs,
    each over its standard deviation, the label on [0, 1] has the mean

    .. math:: p(x) = \min\{\max\{a + b\,t(x), \tau\}, 1-\tau\}, \qquad
              y \mid x \sim \text{Beta}\bigl(\kappa p,\ \kappa(1-p)\bigr),

    where a, b and :math:`\kappa` are solved for: the mean and the standard deviation are the
    guesses, and the best line in the columns explains `r2`; :math:`\tau` is a hundredth of the
    distance from the mean to the nearer bound. So labels are skewed where the mean is off center.
    The rows of one user share the normal number that correlates its columns. Their labels are
    independent given the rows. Where users differ in more than their columns, the error is larger,
    by at most about (columns + 1) / (2 people) of it.

    Parameters
    ----------
    model : estimator of scikit-learn
        A regressor, also a pipeline or a search. Bounds and budgets are read from it. It is not
        changed, and seeds in it are not used.
    people : int
        Number of people, at least 2, with at most 200,000 rows.
    columns : int or PublicSchema
        Number of columns, at most 1,000; or the schema, with bounds and lists of words.
    y_mean, y_sd, r2 : float
        Guesses: mean and standard deviation of the label, and the share of its variance that
        least squares would explain among very many people, in [0, 1).
    epsilon : float, array_like of shape (people,), or mapping, optional
        Budgets; a mapping has the share of the people at each level, ``{0.1: 0.5, 1.0: 0.5}``.
        By default those in the settings of the model. They are passed to `fit`, or set on the
        estimators of this package in a pipeline; a model without budgets does not use them, but the
        private constant does.
    rows_per_user : int or array_like of shape (people,), optional
        Number of rows of a user, for estimators whose `fit` takes `users`.
    bounds, y_bounds : array_like, optional
        Where the people lie. By default the bounds of the schema, or else of the model. Pass
        narrower ones where the columns fill little of them, or the rehearsal is too hopeful.
    repeats : int, default 40
        At least 2; standard errors fall with its root.
    random_state : int, default 0
        Seed of people and noise. Nobody in a rehearsal is real, so a seed is no danger.

    Raises
    ------
    TypeError
        For a table: with private data a rehearsal would be a release without noise. For a model
        that is no regressor.
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
    rows_of_people = _rows_of_people(model, rows_per_user, people)
    budgets = _Budgets(
        _budgets(model, epsilon, people),
        are_passed=epsilon is not None,
        are_shuffled=isinstance(epsilon, Mapping),
    )
    population = _Population(people, columns_, budgets, rows_of_people)
    y_bounds = _first("y_bounds", model, y_bounds, columns_.y_bounds)
    labels = _labels(columns_, y_mean, y_sd, r2, check.bounds(y_bounds, "y_bounds"))

    seeds = np.random.SeedSequence(random_state).spawn(repeats)
    squares = []
    refused = ""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", Advice)
        for seed in seeds:
            rng = np.random.default_rng(seed)
            try:
                squares.append(_squares_of_errors(model, population, labels, rng))
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
        return _refused_rehearsal(known, refused)
    return _summary(known, labels.unexplained**2, np.array(squares), _is_ours(model))


class _Refused(Exception):
    """The model refuses the invented people."""


@dataclass(frozen=True)
class _Columns:
    """What is public about the columns.

    A question of the schema is one column if its answer is a number, and one column for each word
    but the first if it has a list of words; that a number is missing is a question of its own.
    """

    low: Floats  #: shape (d,)
    high: Floats  #: shape (d,)
    words: tuple[int, ...]  #: number of words on the list of each question, 0 for a number
    y_bounds: Any = None  #: bounds of the label, if a schema has them

    @property
    def d(self) -> int:
        """Number of columns."""
        return len(self.low)

    def from_normals(self, individual: Floats, shared: Floats) -> Floats:
        """Return rows on [0, 1] from normal numbers.

        `individual`, shape (n, questions), differs between the questions of a row; `shared`, shape
        (n,), does not.
        """
        z = np.sqrt(1 - CORRELATION) * individual + np.sqrt(CORRELATION) * shared[:, None]
        blocks = []
        for u, words in zip(ndtr(z).T, self.words, strict=True):
            if words:
                shares = 1 / np.arange(1, words + 1)
                thresholds = np.cumsum(shares / shares.sum())[:-1]
                word = np.searchsorted(thresholds, u)
                blocks.append((word[:, None] == np.arange(1, words)).astype(float))
            else:
                # K^{-1}(u) = sqrt(1 - (1 - u)^(1/5))
                blocks.append(np.sqrt(-np.expm1(np.log1p(-u[:, None]) / 5)))
        return np.hstack(blocks)

    def in_units(self, v: Floats) -> Floats:
        """Return rows in the units of the columns, from rows on [0, 1]."""
        return self.low + (self.high - self.low) * v


@dataclass(frozen=True)
class _Budgets:
    """What is public about the budgets."""

    values: Any  #: a number, one a person, or None where other settings fix the noise
    are_passed: bool  #: to `rehearse`; else they are in the settings of the model
    are_shuffled: bool  #: where only the share of people at each level is known

    def of_these_people(self, rng: np.random.Generator) -> Any:
        """Return the budgets of people who are invented next."""
        return rng.permutation(self.values) if self.are_shuffled else self.values


@dataclass(frozen=True)
class _Population:
    """The people who are invented, again in every repeat."""

    people: int
    columns: _Columns
    budgets: _Budgets
    sizes: Any  #: number of rows of each person, or None where all have one

    @property
    def users(self) -> Any:
        """Owner of each row, or None."""
        if self.sizes is None:
            return None
        return np.repeat(np.arange(self.people), self.sizes)

    def rows(self, rng: np.random.Generator) -> Floats:
        """Return rows of all people on [0, 1]."""
        users = np.arange(self.people) if self.sizes is None else self.users
        individual = rng.standard_normal((len(users), len(self.columns.words)))
        shared = rng.standard_normal(self.people)[users]
        return self.columns.from_normals(individual, shared)

    def new_people(self, rng: np.random.Generator) -> Floats:
        """Return rows of people who are not in the data, on [0, 1]."""
        individual = rng.standard_normal((NEW_PEOPLE, len(self.columns.words)))
        shared = rng.standard_normal(NEW_PEOPLE)
        return self.columns.from_normals(individual, shared)


@dataclass(frozen=True)
class _Labels:
    """The law of a label, given a row on [0, 1]; the letters are those of `rehearse`."""

    low: float
    high: float
    slopes: Floats  #: b over the standard deviations of columns, with alternating signs
    a: float
    tau: float
    kappa: float
    line: Floats  #: the best line: slopes and constant, in units of the label
    unexplained: float  #: standard deviation around the best line

    def p(self, v: Floats) -> Floats:
        """Return the mean of the label at each row, with labels on [0, 1]."""
        return np.clip(self.a + v @ self.slopes, self.tau, 1 - self.tau)

    def mean(self, v: Floats) -> Floats:
        """Return the mean of the label at each row, in its units."""
        return self.low + (self.high - self.low) * self.p(v)

    def draw(self, v: Floats, rng: np.random.Generator) -> Floats:
        """Return a random label for each row, in its units."""
        p = self.p(v)
        label = rng.beta(self.kappa * p, self.kappa * (1 - p))
        return np.clip(self.low + (self.high - self.low) * label, self.low, self.high)


def _squares_of_errors(
    model: Any, population: _Population, labels: _Labels, rng: np.random.Generator
) -> list[float]:
    """Return mean squares over new people, from one set of invented records.

    They are of finite sample, exclusion, clipping, pull, noise, and the error of the private
    constant.
    """
    v = population.rows(rng)
    users = population.users
    X = population.columns.in_units(v)
    y = labels.draw(v, rng)
    budgets = population.budgets.of_these_people(rng)
    v_new = population.new_people(rng)
    X_new = population.columns.in_units(v_new)
    truth = labels.mean(v_new)
    best_line = _at(labels.line, v_new)

    def excess(prediction: Floats, again: Floats) -> float:
        """Return by how much two predictions, multiplied, are worse than the best line."""
        return float(np.mean((prediction - truth) * (again - truth) - (best_line - truth) ** 2))

    def least_squares(v: Floats, y: Floats) -> float:
        prediction = _at(_line(v, y), v_new)
        return excess(prediction, prediction)

    passed_budgets = budgets if population.budgets.are_passed else None
    fitted = [_fit(clone(model), X, y, passed_budgets, users, rng) for _ in range(2)]
    one, two = (_predictions(release, X_new) for release in fitted)
    systematic = excess(one, two)
    noise = float(np.mean((one - two) ** 2) / 2)

    finite_sample = least_squares(v, y)
    is_in = _rows_of_participants(fitted[0], users, len(y))
    participants = finite_sample if is_in.all() else least_squares(v[is_in], y[is_in])
    clipped_records = _clipped(model, population.columns, labels, v[is_in], y[is_in])
    clipped = participants if clipped_records is None else least_squares(*clipped_records)

    if budgets is None:
        budgets = _pure_budget(fitted[0].guarantee_)
    y_bounds = getattr(model, "y_bounds", (labels.low, labels.high))
    mean_model: Any = PersonalizedMean if users is None else WeightedMean
    mean_model = mean_model(y_bounds=y_bounds, clip=True)
    mean = np.full(NEW_PEOPLE, _fit(mean_model, X, y, budgets, users, rng).mean_)
    constant = labels.unexplained**2 + excess(mean, mean)

    exclusion = participants - finite_sample
    clipping = clipped - participants
    pull = systematic - clipped
    return [finite_sample, exclusion, clipping, pull, noise, constant]


def _fit(model: Any, X: Any, y: Any, budgets: Any, users: Any, rng: np.random.Generator) -> Any:
    """Return the model, fitted with these budgets, if any, and fresh noise, or raise `_Refused`."""
    fit_arguments: dict[str, Any] = {}
    if users is not None:
        fit_arguments["users"] = users
        if np.ndim(budgets):
            budgets = budgets[users]
    settings: dict[str, Any] = {}
    if budgets is not None:
        if _takes_budgets(model):
            fit_arguments["epsilon"] = budgets
        else:
            settings = {f"{name}__epsilon": budgets for name in _estimators_inside(model)}
    for name in model.get_params():
        if name.split("__")[-1] == "random_state":  # the same seed would draw the same noise again
            settings[name] = int(rng.integers(LARGEST_SEED))
    try:
        model.set_params(**settings).fit(X, y, **fit_arguments)
    except ValueError as error:
        raise _Refused(str(error)) from error
    return model


def _takes_budgets(model: Any) -> bool:
    """Return whether `fit` has budgets as an argument."""
    return "epsilon" in signature(model.fit).parameters


def _estimators_inside(model: Any) -> dict[str, Any]:
    """Return the estimators with budgets in a pipeline or a search, by name."""
    return {name: value for name, value in model.get_params().items() if _has_budgets(value)}


def _has_budgets(value: Any) -> bool:
    """Return whether this is an estimator of the package with budgets as a setting."""
    return hasattr(value, "get_params") and _is_ours(value) and hasattr(value, "epsilon")


def _is_ours(model: Any) -> bool:
    """Return whether an estimator is of this package, or extends one that is."""
    return any(kind.__module__.startswith("pdpbook.") for kind in type(model).__mro__)


def _predictions(model: Any, X: Any) -> Floats:
    """Return one number for each row, or raise `_Refused` if one is not finite."""
    predictions = np.asarray(model.predict(X))
    if predictions.shape != (len(X),) or predictions.dtype.kind not in "iuf":
        raise ValueError(
            f"model must predict one number for each row; {type(model).__name__} predicts "
            f"{predictions.dtype} of shape {predictions.shape} for {len(X)} rows"
        )
    if not np.isfinite(predictions).all():
        raise _Refused("its predictions are not finite")
    return predictions.astype(float)


def _pure_budget(promise: Any) -> float:
    """Return the epsilon of a promise to all, or if it is 0, of one that bounds guesses as well.

    A delta at epsilon 0 bounds guesses as the pure epsilon with tanh(epsilon / 2) = delta does.
    """
    return float(promise.epsilon or 2 * np.arctanh(promise.delta))


def _rows_of_participants(model: Any, users: Any, rows: int) -> Any:
    """Return which rows belong to people whom the model promised a budget above 0."""
    guarantee = getattr(model, "guarantee_", None)
    for name in ("epsilon", "mu", "rho"):
        parameter = getattr(guarantee, name, 1.0)
        if np.ndim(parameter):
            promised = np.asarray(parameter)
            return (promised if users is None else promised[users]) > 0
    return np.ones(rows, dtype=bool)  # one promise for all, or no promise to anybody


def _clipped(model: Any, columns: _Columns, labels: _Labels, v: Floats, y: Floats) -> Any:
    """Return records as the model clips them to its bounds, or None where it clips none."""
    if not getattr(model, "clip", False):
        return None
    low, high = check.bounds(getattr(model, "bounds", (0.0, 1.0)), "bounds", columns.d)
    if not hasattr(model, "bounds"):
        low, high = columns.low, columns.high
    y_low, y_high = check.bounds(model.y_bounds, "y_bounds")
    columns_are_inside = (low <= columns.low).all() and (columns.high <= high).all()
    labels_are_inside = y_low <= labels.low and labels.high <= y_high
    if columns_are_inside and labels_are_inside:
        return None
    width = columns.high - columns.low
    v_low = (low - columns.low) / width
    v_high = (high - columns.low) / width
    return np.clip(v, v_low, v_high), np.clip(y, y_low, y_high)


def _line(v: Floats, y: Floats) -> Floats:
    """Return slopes and constant of least squares, shape (d + 1,)."""
    rows = np.column_stack([v, np.ones(len(v))])
    return np.asarray(np.linalg.lstsq(rows, y, rcond=None)[0])


def _at(line: Floats, v: Floats) -> Floats:
    """Return the values of a line at rows."""
    return np.asarray(v @ line[:-1] + line[-1])


def _summary(known: dict[str, Any], unexplained: float, squares: Floats, ours: bool) -> Rehearsal:
    """Return the rehearsal of a model that could be fitted.

    `unexplained` is a square, and a row of `squares` is a result of `_squares_of_errors`.
    """
    finite_sample, exclusion, clipping, pull, noise, constant = squares.T
    total = unexplained + finite_sample + exclusion + clipping + pull + noise
    error = _root(total)
    mean = _root(constant)
    # To first order, a root moves by what its square moves, over twice the root.
    gaps = total / (2 * error.value) - constant / (2 * mean.value)
    gap_se = float(gaps.std(ddof=1) / np.sqrt(len(gaps)))
    return Rehearsal(
        **known,
        error=error,
        finite_sample=_root(finite_sample),
        exclusion=_root(exclusion) if ours else None,
        clipping=_root(clipping) if ours else None,
        pull=_root(pull) if ours else None,
        noise=_root(noise),
        constant=mean,
        gap=Estimate(error.value - mean.value, gap_se),
    )


def _refused_rehearsal(known: dict[str, Any], refused: str) -> Rehearsal:
    """Return the rehearsal of a model that cannot be fitted."""
    return Rehearsal(
        **known,
        error=Estimate(np.inf, np.nan),
        finite_sample=None,
        exclusion=None,
        clipping=None,
        pull=None,
        noise=None,
        constant=Estimate(np.nan, np.nan),
        gap=Estimate(np.inf, np.nan),
        refused=refused,
    )


def _root(squares: Floats) -> Estimate:
    """Return the root of a mean, with the sign of the mean, and the standard error of the root.

    The standard error is half of the distance between the roots of mean - se and mean + se; a root
    of a number below 0 is that of its size, with a minus.
    """
    mean = squares.mean()
    se = squares.std(ddof=1) / np.sqrt(len(squares))
    size = abs(mean)
    above = np.sqrt(size + se)
    below = np.sqrt(abs(size - se))
    if size > se:
        root_se = se / (above + below)  # (above - below) / 2, where nothing cancels
    else:
        root_se = (above + below) / 2
    return Estimate(float(np.sign(mean) * np.sqrt(size)), float(root_se))


def _name(model: Any) -> str:
    """Return the name of the class, with its penalty and its share for a mean if it has them."""
    name = type(model).__name__
    lam = getattr(model, "lam", None)
    if not isinstance(lam, (int, float)):
        return name
    share = getattr(model, "label_mean_share", 0.0)
    if isinstance(share, (int, float)) and share > 0:
        return f"{name}(lam={lam:g}, label_mean_share={share:g})"
    return f"{name}(lam={lam:g})"


# --- reading the guesses -------------------------------------------------------------------------


def _refuse_model(model: Any) -> None:
    """Raise if this is no estimator, or one that predicts no numbers."""
    name = type(model).__name__
    if isinstance(model, type):
        raise TypeError(
            f"model must be an estimator, not a class: write {model.__name__}(...), with its "
            "settings"
        )
    needed = ("fit", "predict", "get_params", "set_params")
    if not all(callable(getattr(model, method, None)) for method in needed):
        shown = model if isinstance(model, (str, type(None))) else name
        raise TypeError(f"model must have fit, predict, get_params and set_params; got {shown}")
    if hasattr(model, "__sklearn_tags__"):  # without tags it may be a regressor of another package
        if is_classifier(model):
            raise TypeError(f"model must predict numbers; {name} predicts classes")
        if is_clusterer(model):
            raise TypeError(f"model must predict numbers; {name} finds clusters")


def _refuse_table(value: Any, name: str) -> None:
    """Raise if a guess is an array or a table."""
    if np.ndim(value):
        raise TypeError(
            f"{name} must be a public guess, never a table: a rehearsal on private data would be a "
            f"release without noise; got {type(value).__name__}"
        )


def _guess(value: Any, name: str) -> float:
    """Return a guess, one finite number."""
    _refuse_table(value, name)
    return float(check.finite(value, name))


def _number_of_people(people: Any) -> int:
    """Return a number of people, or raise if there are too few or too many."""
    _refuse_table(people, "people")
    number = check.count(people, "people", minimum=2)
    _refuse_many(number)
    return number


def _refuse_many(rows: int) -> None:
    """Raise if there are more rows than are invented."""
    if rows > MOST_ROWS:
        raise ValueError(
            f"people must have at most {MOST_ROWS:,} rows together, since all of them are invented "
            f"in memory; got {rows:,}. With more of them, noise only becomes smaller"
        )


def _columns(columns: Any, bounds: Any, model: Any) -> _Columns:
    """Return the columns of a schema, or this number of columns that are numbers."""
    _refuse_table(columns, "columns")
    if not hasattr(columns, "label"):
        d = check.count(columns, "columns")
        _refuse_too_many_columns(d)
        low, high = check.bounds(_first("bounds", model, bounds), "bounds", d)
        return _Columns(low, high, (0,) * d)
    words = []
    for rule in columns.features.values():
        if hasattr(rule, "levels"):
            words.append(len(rule.levels))
        else:
            words += [0] if rule.fill is None else [0, 2]  # two words: there, or missing
    d = len(columns.names)
    _refuse_too_many_columns(d)
    low, high = check.bounds(columns.bounds if bounds is None else bounds, "bounds", d)
    return _Columns(low, high, tuple(words), columns.y_bounds)


def _refuse_too_many_columns(d: int) -> None:
    if d > MOST_COLUMNS:
        raise ValueError(f"columns must be at most {MOST_COLUMNS:,}; got {d:,}")


def _first(name: str, model: Any, *values: Any) -> Any:
    """Return the first value that is not None, or else the setting of the model."""
    for value in (*values, getattr(model, name, None)):
        if value is not None:
            return value
    raise ValueError(f"{name} must be given: {type(model).__name__} has none of its own")


def _rows_of_people(model: Any, rows_per_user: Any, people: int) -> Any:
    """Return the number of rows of each person, or None where `rows_per_user` is."""
    if rows_per_user is None:
        return None
    if "users" not in signature(model.fit).parameters:
        name = type(model).__name__
        raise ValueError(f"rows_per_user must be None: {name} takes one row a person")
    shape = np.shape(rows_per_user)
    if shape not in ((), (people,)):
        raise ValueError(
            f"rows_per_user must be one number, or one for each of {people} people; got shape "
            f"{shape}"
        )
    numbers_of_rows = np.broadcast_to(rows_per_user, people)
    sizes = [check.count(size, "rows_per_user") for size in numbers_of_rows]
    _refuse_many(sum(sizes))
    return np.array(sizes)


def _budgets(model: Any, epsilon: Any, people: int) -> Any:
    """Return budgets, a number or one a person; None where other settings fix the noise."""
    if epsilon is None:
        return _budgets_in_settings(model, people)
    return budgets_of_people(epsilon, people)


def budgets_of_people(epsilon: Any, people: int) -> Any:
    """Return budgets, a number or one a person, from what `rehearse` takes as `epsilon`."""
    if isinstance(epsilon, Mapping):
        return check.epsilon(budgets_at_levels(epsilon, people), people)
    budgets = check.epsilon(epsilon)
    if np.ndim(budgets) == 0:
        return budgets
    return np.array(check.budgets(budgets, people, "epsilon", unit=f"of {people:,} people"))


def budgets_at_levels(epsilon: Mapping[float, float], people: int) -> Floats:
    """Return one budget a person, shape (people,), from the share of the people at each level."""
    by_name = "Of budgets by name pass the budgets alone, list(epsilon.values())"
    try:
        levels = np.asarray(check.nonnegative(list(epsilon), "levels of epsilon"))
    except TypeError:
        kinds = ", ".join(sorted({type(level).__name__ for level in epsilon}))
        raise TypeError(
            "levels of epsilon must be numbers, each with the share of the people who have it, as "
            f"in {{0.1: 0.5, 1.0: 0.5}}; got {kinds}. {by_name}"
        ) from None
    shares = check.nonnegative(list(epsilon.values()), "shares of epsilon")
    if not np.isclose(np.sum(shares), 1):
        raise ValueError(f"shares of epsilon must sum to 1; got {np.sum(shares):g}. {by_name}")
    ends = np.rint(np.cumsum(shares) * people).astype(int)
    people_at_levels = np.diff(ends, prepend=0)
    return np.repeat(levels, people_at_levels)


def _budgets_in_settings(model: Any, people: int) -> Any:
    """Return the budgets in the settings of a model, or of the one estimator in a pipeline."""
    if _takes_budgets(model):
        fixed = ("noise_multiplier", "success_rate")
        if any(getattr(model, name, None) is not None for name in fixed):
            return None
        holders = [model]
    else:
        holders = list(_estimators_inside(model).values())
    epsilons = [getattr(holder, "epsilon", None) for holder in holders]
    epsilons = [epsilon for epsilon in epsilons if epsilon is not None]
    if len(epsilons) != 1:
        raise ValueError(
            f"epsilon must be given: {type(model).__name__} has none of its own, and the private "
            "constant needs budgets"
        )
    return _budgets(model, epsilons[0], people)


# --- the law of the labels -----------------------------------------------------------------------


def _labels(
    columns: _Columns, y_mean: Any, y_sd: Any, r2: Any, y_bounds: tuple[float, float]
) -> _Labels:
    """Return the law of `rehearse` with these moments, or raise if there is none.

    It depends on columns only by what kinds of answers they have.
    """
    low, high = y_bounds
    y_mean = _guess(y_mean, "y_mean")
    y_sd = _guess(y_sd, "y_sd")
    r2 = _guess(r2, "r2")
    _refuse_impossible(low, high, y_mean, y_sd, r2)
    return _law_of_labels(columns.words, columns.d, y_mean, y_sd, r2, float(low), float(high))


@lru_cache(maxsize=64)  # a plan asks for the same few laws a hundred times
def _law_of_labels(
    words: tuple[int, ...], d: int, y_mean: float, y_sd: float, r2: float, low: float, high: float
) -> _Labels:
    """Return the law of `_labels`; all but the last lines are about labels on [0, 1]."""
    columns = _Columns(np.zeros(d), np.ones(d), words)
    m = (y_mean - low) / (high - low)
    variance = (y_sd / (high - low)) ** 2
    wanted = r2 * variance  # variance that the best line is to explain
    tau = min(m, 1 - m) / DISTANCE_OVER_TAU

    sobol = qmc.Sobol(len(columns.words) + 1, rng=np.random.default_rng(0))
    points = ndtri(sobol.random_base2(LOG2_POINTS))
    v = columns.from_normals(points[:, 1:], points[:, 0])
    directions = (-1.0) ** np.arange(columns.d) / v.std(axis=0)
    directions /= (v @ directions).std()
    t = v @ directions
    basis = np.linalg.qr(np.column_stack([np.ones(len(v)), v]))[0]

    def p(a: float, b: float) -> Floats:
        return np.asarray(np.clip(a + b * t, tau, 1 - tau))

    def a_of(b: float) -> float:
        """Return the a for which the mean of all labels is the guess."""
        reach = 1 + b * np.abs(t).max()
        return float(brentq(lambda a: p(a, b).mean() - m, -reach, reach, xtol=1e-12))

    def explained(b: float) -> float:
        """Return the variance that the best line explains."""
        means = p(a_of(b), b)
        return float(np.sum((basis.T @ (means - m)) ** 2) / len(means))

    b = np.sqrt(wanted)  # the solution if no mean is near a bound; else it is larger
    while explained(b) < wanted and p(a_of(b), b).var() < variance:
        b *= SLOPE_GROWTH
    if wanted and explained(b) > wanted:
        b = brentq(lambda slope: explained(slope) - wanted, 0.0, b, xtol=1e-12)
    a = a_of(b)
    means = p(a, b)
    falls_short = explained(b) < wanted * (1 - EXPLAINED_TOLERANCE)
    if falls_short or means.var() >= variance:
        most = np.floor(1000 * explained(b) / max(means.var(), variance)) / 1000
        raise ValueError(
            f"r2 must be at most about {most:g} for labels with this mean, spread and bounds, "
            f"which a line cannot follow further; got {r2:g}"
        )
    kappa = (m * (1 - m) - means.var()) / (variance - means.var()) - 1
    line = _line(v, low + (high - low) * means)
    unexplained = float(y_sd * np.sqrt(1 - r2))
    return _Labels(low, high, b * directions, a, tau, float(kappa), line, unexplained)


def _refuse_impossible(low: float, high: float, y_mean: float, y_sd: float, r2: float) -> None:
    """Raise if no labels in [low, high] have this mean, standard deviation and share explained."""
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
