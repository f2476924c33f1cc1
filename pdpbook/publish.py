"""What may leave the house of a fitted model: its released numbers, and a statement about them."""

from __future__ import annotations

import platform
from collections.abc import Mapping
from dataclasses import dataclass
from decimal import ROUND_CEILING, Decimal
from numbers import Real
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
import scipy
import sklearn
from scipy.special import ndtr
from sklearn.utils.validation import check_is_fitted

from pdpbook import __version__, check
from pdpbook.guarantees import (
    ApproximateDP,
    GaussianDP,
    PACPrivacy,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from pdpbook.guarantees.promises import Promise
from pdpbook.linear import LinearRegressor, MeanRegressor
from pdpbook.release import comparable_settings
from pdpbook.user_records import has_drawn_rows

if TYPE_CHECKING:
    from pdpbook.datasets import PublicSchema

__all__ = ["Published", "export", "load", "statement"]

WHAT = "pdpbook release"  # the first field of every export
FORM = 1  # version of what exports look like
FIELDS = (
    "what form mechanism coef intercept mean classes columns bounds y_bounds settings promise "
    "pure_promise noise versions"
).split()

#: settings that are of people, or of the randomness, and never leave
NOT_EXPORTED = {"epsilon", "random_state", "bounds", "y_bounds", "classes"}

#: neighbors whose number of people is no secret
NUMBER_IS_PUBLIC = {"replace-one", "zero-out", "labels", "user", "user-labels"}
ROWS_ARE_PUBLIC = {"labels", "user-labels"}


@dataclass(frozen=True, eq=False)
class Published:
    """A release as `export` wrote it, which predicts as the fitted model did."""

    content: dict[str, Any]  #: what `export` wrote
    model: Any  #: a line or a mean, with the released numbers alone

    def predict(self, X: Any) -> Any:
        """Return predictions for rows X, shape (n,), or the likelier of two classes."""
        scores = self.model.predict(X)
        classes = self.content["classes"]
        if classes is None:
            return scores
        return np.asarray(classes)[(scores > 0).astype(int)]

    def __str__(self) -> str:
        return f"{self.content['mechanism']}: {self.content['promise']['words']}"


def export(model: Any) -> dict[str, Any]:
    """Return what may be handed on of a fitted model, as a dict that JSON can write.

    It holds the released coefficients and intercept, or the mean; the names of columns, if they
    were known; bounds and the other public settings; the promise in words, and as the smallest and
    the largest privacy parameters of those who take part; the public noise; versions. It holds no
    name of a person and no number for each person. A fitted estimator does: `guarantee_` has a
    budget for everybody, and `users_`, `weights_` and `exposure_` of mechanisms for users have all
    names. So does a pickle of it. To save a fitted model for others, write this, not a pickle::

        Path("release.json").write_text(json.dumps(export(model)))
        load(json.loads(Path("release.json").read_text())).predict(X)

    Parameters
    ----------
    model : estimator
        Fitted, of this package, without a seed. Of a pipeline export the last step, and hand on
        what is before it by other means.

    Returns
    -------
    dict
        Text, numbers, and lists and dicts of them.

    Raises
    ------
    ValueError
        If `random_state` is set: whoever knows the seed knows the noise. Or if a setting was
        changed after the fit.
    TypeError
        For an estimator that leaves no promise.

    Examples
    --------
    >>> from pdpbook.personalized import PersonalizedMean
    >>> y = np.linspace(-1, 1, 50)
    >>> found = export(PersonalizedMean(epsilon=0.5).fit(np.zeros((50, 1)), y))
    >>> found["promise"]["epsilon"], found["promise"]["people"], found["noise"]["scale"]
    ([0.5, 0.5], 50, 0.08)
    """
    guarantee = _guarantee(model)
    is_mean = isinstance(model, MeanRegressor)
    columns = getattr(model, "feature_names_in_", None)
    classes = getattr(model, "classes_", None)
    pure = getattr(model, "pure_guarantee_", None)
    return {
        "what": WHAT,
        "form": FORM,
        "mechanism": type(model).__name__,
        "coef": None if is_mean else np.asarray(model.coef_, dtype=float).tolist(),
        "intercept": None if is_mean else float(model.intercept_),
        "mean": float(model.mean_) if is_mean else None,
        "classes": None if classes is None else np.asarray(classes).tolist(),
        "columns": None if is_mean or columns is None else [str(name) for name in columns],
        "bounds": _listed(getattr(model, "bounds", None)),
        "y_bounds": _listed(getattr(model, "y_bounds", None)),
        "settings": _settings(model),
        "promise": _promise(model, guarantee),
        "pure_promise": None if pure is None or pure == guarantee else _promise(model, pure),
        "noise": _noise(model, guarantee),
        "versions": _versions(),
    }


def load(content: Mapping[str, Any]) -> Published:
    """Return what `export` wrote, with `predict`; nothing in it is run.

    Parameters
    ----------
    content : mapping
        An export, for instance from ``json.loads``.

    Returns
    -------
    Published
        Its `predict` is that of the model.

    Raises
    ------
    ValueError
        If it is no export, of a later form, or without the numbers of a line or a mean.
    """
    if not isinstance(content, Mapping):
        raise TypeError(
            f"content must be a mapping that export wrote, of text json.loads(text); got "
            f"{type(content).__name__}"
        )
    if content.get("what") != WHAT:
        raise ValueError(f"content must be what export wrote; got what = {content.get('what')!r}")
    if content.get("form") != FORM:
        raise ValueError(
            f"content must be of form {FORM}; got form {content.get('form')!r}, which another "
            "version of pdpbook wrote"
        )
    if set(content) != set(FIELDS):
        different = sorted(set(content) ^ set(FIELDS))
        raise ValueError(f"content must have the fields of an export; these differ: {different}")
    if content["mean"] is not None:
        mean = _PublishedMean()
        mean.mean_ = check.single(check.finite(content["mean"], "mean"), "mean")
        return Published(dict(content), mean)
    line = _PublishedLine()
    coef = np.asarray(check.finite(content["coef"], "coef"), dtype=float)
    line.coef_ = check.vector(coef, "coef", "d")
    line.intercept_ = check.single(check.finite(content["intercept"], "intercept"), "intercept")
    line.n_features_in_ = len(line.coef_)
    columns = content["columns"]
    if columns is not None:
        if len(columns) != len(line.coef_):
            got = f"got {len(columns)} for {len(line.coef_)}"
            raise ValueError(f"columns must have one name a coefficient; {got}")
        line.feature_names_in_ = np.array(columns, dtype=object)
    classes = content["classes"]
    if classes is not None and len(classes) != 2:
        raise ValueError(f"classes must be two; got {len(classes)}")
    return Published(dict(content), line)


class _PublishedLine(LinearRegressor):
    """A line with nothing but its released numbers."""

    coef_: Any
    intercept_: float
    n_features_in_: int
    feature_names_in_: Any

    def fit(self, X: Any, y: Any = None) -> NoReturn:
        """Refuse: what is published stays as it is."""
        raise TypeError("a published release cannot be fitted; fit the mechanism that made it")


class _PublishedMean(MeanRegressor):
    """A number that is predicted for every row."""

    fit = _PublishedLine.fit


def statement(
    model: Any,
    *,
    schema: PublicSchema | None = None,
    label: str | None = None,
    guesses: Mapping[str, Any] | None = None,
    delta: float = 1e-6,
    title: str = "Privacy statement",
) -> str:
    r"""Return what a release promises, in Markdown, for a board that decides about it.

    It says who is protected, against what, how much in words and as odds, what is public, who is
    left out, what is not covered, and with which versions it was made. All of it follows from
    public settings and the promise; nothing is computed from a table.

    Parameters
    ----------
    model : estimator
        Fitted, of this package, without a seed.
    schema : PublicSchema, optional
        The schema by which the table was read. Its rules are public, and a board cannot judge what
        it does not see: units of dates, and what stands where something is missing. It must have
        the columns of the model.
    label : str, optional
        What is predicted, with its unit: ``"days in hospital"``. By default the label of the
        schema; without either the statement cannot name it.
    guesses : mapping, optional
        Public guesses from which mechanism or penalty were chosen, with a source each if there is
        one: ``{"mean of the label": "15,000, last year's books"}``. Whoever computes a guess from
        the table has released it.
    delta : float, default 1e-6
        Failure probability in (0, 1) at which Gaussian, zero-concentrated and Renyi promises are
        said as an epsilon, too. It should be far below one over the number of people.
    title : str, default "Privacy statement"

    Returns
    -------
    str
        Markdown, from a heading of the first level on.

    Raises
    ------
    ValueError
        If `random_state` is set. Whoever knows the seed can compute the noise, and no promise
        holds. Or if another setting was changed after the fit, or the schema has other columns.
    TypeError
        For an estimator that leaves no promise.

    Examples
    --------
    >>> from pdpbook.personalized import PersonalizedMean
    >>> model = PersonalizedMean(epsilon=0.5).fit(np.zeros((50, 1)), np.linspace(-1, 1, 50))
    >>> board = statement(model)
    >>> [line for line in board.splitlines() if line.startswith("| everybody")]
    ['| everybody who takes part | 0.5 | 1.65 | 15.5 percent |']
    """
    guarantee = _guarantee(model)
    delta = check.delta(delta)
    if guesses is not None and not isinstance(guesses, Mapping):
        raise TypeError(f"guesses must be a mapping of names to values; got {guesses!r}")
    for name, guess in (guesses or {}).items():
        if not isinstance(guess, (str, Real)):
            raise TypeError(
                f"guesses must be single numbers or texts, never a table; got "
                f"{type(guess).__name__} for {name!r}"
            )
    if not isinstance(title, str):
        raise TypeError(f"title must be text; got {title!r}")
    described_columns = _described_columns(model, schema)
    if not (label is None or isinstance(label, str)):
        raise TypeError(f"label must be text; got {type(label).__name__}")
    if label is None and schema is not None:
        label = schema.label
    sections = {
        "What is published": [_what(model, label)],
        "Who is protected": _unit(model, guarantee),
        "What is promised": [
            _in_words(guarantee),
            *_amount(guarantee, delta),
            *_pure(model, guarantee),
        ],
        "Who is left out": [_excluded(guarantee)],
        "What is public": [_bullets(_public(model, guarantee, described_columns, guesses))],
        "What is not covered": [_bullets(_not_covered(model, guarantee))],
        "How it was made": [_made(model)],
    }
    parts = [f"# {_line(title)}"]
    for heading, paragraphs in sections.items():
        parts += [f"## {heading}", *paragraphs]
    return "\n\n".join(parts) + "\n"


# --- what is read from a model --------------------------------------------------------------------


def _guarantee(model: Any) -> Promise:
    """Return the promise of a fitted model, or raise if there is none that may leave."""
    if not hasattr(model, "fit"):
        raise TypeError(f"model must be a fitted mechanism; got {type(model).__name__}")
    check_is_fitted(model)
    guarantee = getattr(model, "guarantee_", None)
    if not isinstance(guarantee, Promise):
        raise TypeError(
            f"model must be a fitted mechanism of pdpbook; {type(model).__name__} leaves no "
            "guarantee_. Of a pipeline pass the last step"
        )
    if getattr(model, "random_state", None) is not None:
        raise ValueError(
            "random_state must be None for what is published: whoever knows the seed knows the "
            f"noise, and no promise holds; got {type(model.random_state).__name__}. Fit again "
            "without it; that is a release of its own"
        )
    now, then = comparable_settings(model), model._settings_of_fit
    changed = sorted(name for name in now if now[name] != then[name])
    if changed:
        raise ValueError(
            f"{', '.join(changed)} must be as in the fit, or what is said of the release is wrong; "
            "set back what was changed since, or fit again, which is a release of its own"
        )
    return guarantee


def _described_columns(model: Any, schema: PublicSchema | None) -> list[str]:
    """Return how each column of a schema was read, or raise if it is not that of the model."""
    if schema is None:
        return []
    if not hasattr(type(schema), "columns_in_words"):  # the class would need pandas
        raise TypeError(
            f"schema must be the PublicSchema by which the table was read; got "
            f"{type(schema).__name__}"
        )
    names = getattr(model, "feature_names_in_", None)
    number = getattr(model, "n_features_in_", len(schema.names))  # a mean does not read columns
    if names is not None and set(names) != set(schema.names):
        wrong = f"these differ: {sorted(set(names) ^ set(schema.names))}"
    elif names is not None and list(names) != schema.names:
        wrong = "its order is another"
    elif number != len(schema.names):
        wrong = f"got {len(schema.names)} for {number}"
    else:
        wrong = ""
    if wrong:
        raise ValueError(f"schema must have the columns of the model; {wrong}")
    described_columns = [
        f"`{_line(name)}` was read as {_line(words)}."
        for name, words in schema.columns_in_words().items()
    ]
    if schema.clip:
        described_columns.append(
            "What does not fit its column was replaced: by the nearest bound, or as if missing."
        )
    return described_columns


def _settings(model: Any) -> dict[str, Any]:
    """Return the public settings that are single values."""
    found = {}
    for name, value in model.get_params(deep=False).items():
        value = value.item() if isinstance(value, np.generic) else value
        if name not in NOT_EXPORTED and isinstance(value, (bool, int, float, str, type(None))):
            found[name] = value
    return found


def _listed(bounds: Any) -> Any:
    """Return bounds as lists of numbers, without any index."""
    return None if bounds is None else np.asarray(bounds, dtype=float).tolist()


def _of_participants(guarantee: Promise) -> dict[str, Any]:
    """Return the parameters of all who take part, by name: shape (k,), or one number for all."""
    found = {name: np.atleast_1d(value) for name, value in guarantee._parameters().items()}
    is_participant = _is_participant(guarantee)
    if is_participant is None:
        return found
    return {
        name: value[is_participant] if len(value) > 1 else value for name, value in found.items()
    }


def _is_participant(guarantee: Promise) -> Any:
    """Return who takes part, booleans of shape (n,), or None where one number is for all."""
    if guarantee.n is None or isinstance(guarantee, PACPrivacy):
        return None
    if isinstance(guarantee, RenyiDP):
        return (guarantee.epsilon > 0).all(axis=-1)
    parameters = np.broadcast_arrays(*guarantee._parameters().values())
    return np.any([value > 0 for value in parameters], axis=0)


def _promise(model: Any, guarantee: Promise) -> dict[str, Any]:
    """Return a promise in words, and its smallest and largest parameters."""
    words = _in_words(guarantee)
    if _takes_rows_for_users(model):
        words += f" {ROW_IS_USER}"
    if has_drawn_rows(model):
        words += f" {DRAWN_ROW_IN_WORDS}"
    found: dict[str, Any] = {"words": words, "kind": type(guarantee).__name__}
    if isinstance(guarantee, PACPrivacy):
        rates = np.atleast_1d(guarantee.success_rate)
        return found | {
            "success_rate": [float(rates.min()), float(rates.max())],
            "blind_guess": float(guarantee.prior),
        }
    found["neighbors"] = guarantee.neighbors
    if isinstance(guarantee, RenyiDP):
        largest = guarantee.weakest().epsilon
        found |= {"orders": guarantee.orders.tolist(), "largest_epsilon": largest.tolist()}
    else:
        for name, value in _of_participants(guarantee).items():
            found[name] = [float(np.min(value)), float(np.max(value))]
    if guarantee.n is not None and guarantee.neighbors in NUMBER_IS_PUBLIC:
        found |= {"people": guarantee.n, "left_out": _number_without_budget(guarantee)}
    return found


def _number_without_budget(guarantee: Promise) -> int:
    """Return how many have budget 0."""
    return int(np.count_nonzero(~_is_participant(guarantee)))


def _noise(model: Any, guarantee: Promise) -> dict[str, Any]:
    """Return the public noise, without what follows from the rows of people."""
    noise = model.noise_
    covariance = noise.covariance
    if isinstance(guarantee, PACPrivacy) or guarantee.neighbors in ROWS_ARE_PUBLIC:
        covariance = None  # a function of all rows, which the theorem calls public
    return {
        "rate": None if noise.rate is None else float(noise.rate),
        "scale": None if noise.scale is None else float(noise.scale),
        "variances": None if covariance is None else np.diag(covariance).tolist(),
    }


def _versions() -> dict[str, str]:
    """Return the versions of what made the release."""
    return {
        "pdpbook": __version__,
        "python": platform.python_version(),
        "numpy": np.__version__,
        "scipy": scipy.__version__,
        "scikit-learn": sklearn.__version__,
    }


# --- sections of a statement ----------------------------------------------------------------------

ROWS = (
    "Somebody who owns several rows has this promise for each of them alone, and the budgets of "
    "their rows add up."
)

DRAWN_ROW = (
    "It was drawn from all rows of this person, and no other of these was used. So whoever "
    "replaces all of them replaces one row at most: the promise is about all of them together, and "
    "about how many there are beyond the first."
)

DRAWN_ROW_IN_WORDS = (
    "The record was drawn from all of theirs, so the promise is about all of them together."
)

ROW_IS_USER = "Nobody said who owns the rows, so each row was taken to be another user."

#: neighbors -> who is protected
UNITS = {
    "replace-one": f"Each person is protected as one row of the table. {ROWS}",
    "add-remove": (
        "Each person is protected as one row of the table, and so is whether they are in it. "
        f"{ROWS}"
    ),
    "zero-out": (
        "Each person is protected as one row of the table. The number of people is NOT protected. "
        f"{ROWS}"
    ),
    "labels": (
        "The label of each person is protected, as one row of the table. The other columns are "
        f"NOT protected: the promise takes them as known to everybody. {ROWS}"
    ),
    "user": (
        "Each user is protected, with all of their rows at once. Who the users are and how many "
        "rows each owns is NOT protected: the promise takes it as known to everybody."
    ),
    "user-labels": (
        "The labels of each user are protected, all at once. The other columns, who the users are "
        "and which rows they own are NOT protected: the promise takes them as known to everybody."
    ),
}

#: neighbors -> the two tables that are compared
TABLES = {
    "replace-one": ("with your row", "with any other row in its place"),
    "add-remove": ("with your row, or without it,", "the other way round"),
    "zero-out": ("with your row, or without what it adds to every step,", "the other way round"),
    "labels": ("with your label", "with any other label in its place"),
    "user": ("with all of your rows", "with any others in their place"),
    "user-labels": ("with all of your labels", "with any others in their place"),
}
POOL = (
    "Protected is whether a person of the pool is in the secret part of it from which the model "
    "was made. Who is in the pool, and with which record, is NOT protected: the promise takes it "
    "as known to everybody."
)


def _what(model: Any, label: str | None) -> str:
    """Return what is published, as a sentence."""
    name = type(model).__name__
    if isinstance(model, MeanRegressor):
        of_label = "" if label is None else f" of `{_line(label)}`"
        return f"One mean{of_label}, by `{name}`."
    count = len(model.coef_)
    noun = "coefficient" if count == 1 else "coefficients"
    of_label = "" if label is None else f" that predict `{_line(label)}`"
    return f"{count} {noun} and an intercept{of_label}, by `{name}`."


def _unit(model: Any, guarantee: Promise) -> list[str]:
    """Return who is protected, as paragraphs."""
    if isinstance(guarantee, PACPrivacy):
        return [POOL]
    if _takes_rows_for_users(model):
        return [UNITS[guarantee.neighbors], f"**{ROW_IS_USER}** {ROWS}"]
    if has_drawn_rows(model):
        return [UNITS[guarantee.neighbors].replace(ROWS, DRAWN_ROW)]
    return [UNITS[guarantee.neighbors]]


def _takes_rows_for_users(model: Any) -> bool:
    """Return whether a mechanism for users was fitted without being told who owns the rows."""
    return not getattr(model, "_users_are_named", True)


def _in_words(guarantee: Promise) -> str:
    """Return the sentence of a promise, its parameters rounded up to the digits that it shows."""
    if isinstance(guarantee, (PACPrivacy, RenyiDP)):
        return str(guarantee)
    parameters = {name: _six_digits_up(one) for name, one in guarantee._parameters().items()}
    return str(type(guarantee)(**vars(guarantee) | parameters))


def _six_digits_up(values: Any) -> Any:
    """Return numbers of at least 0, rounded up to six digits."""
    exact = np.asarray(values, dtype=float)
    unit = 10.0 ** (np.floor(np.log10(np.where(exact > 0, exact, 1.0))) - 5)
    # what a float is off in its last digits is no digit of it
    steps = np.ceil(exact / unit * (1 - 1e-12))
    return (steps * unit)[()]


def _amount(guarantee: Promise, delta: float) -> list[str]:
    """Return how much is promised, in words and as odds: a sentence for each kind of promise."""
    if isinstance(guarantee, PACPrivacy):
        most = float(np.max(guarantee.success_rate))
        return [
            f"A guess whether a person is in it that is right with probability "
            f"{guarantee.prior:.12g} before is right with probability at most "
            f"{guarantee._text(most)} after. This is an average over the secret choice of that "
            "part, and no bound for every part that could have been chosen. It multiplies no odds "
            "by a known factor, and no theorem adds it to that of a second release."
        ]
    yours, other = TABLES[guarantee.neighbors]
    if isinstance(guarantee, PureDP):
        epsilon = _of_participants(guarantee)["epsilon"]
        return [_odds(yours, other, float(np.max(epsilon))), _table_of_odds(epsilon)]
    if isinstance(guarantee, ApproximateDP):
        parameters = _of_participants(guarantee)
        return [
            f"Take any set of results. Its probability {yours} is at most a factor times that "
            f"{other}, plus delta. What delta stands for is a failure: nothing is promised there.",
            _table_of_factors(parameters["epsilon"], parameters["delta"]),
            *_large_delta(guarantee, float(np.max(parameters["delta"]))),
        ]
    return [
        _meaning(guarantee, yours, other),
        f"This implies the following at a failure probability of {delta:g}. Take any set of "
        f"results. Its probability {yours} is at most the factor times that {other}, plus delta.",
        _table_of_factors(_epsilons(guarantee, delta), np.array([delta])),
        *_large_delta(guarantee, delta),
    ]


def _odds(yours: str, other: str, epsilon: float) -> str:
    """Return what a pure promise of at most `epsilon` means, as a sentence."""
    return (
        f"Whatever is published: {yours} it is at most e^epsilon times as likely as {other}. So it "
        "makes any conclusion about you, as far as it rests on what is protected, at most "
        f"{_factor(epsilon)} times as likely, and multiplies its odds by no more."
    )


def _meaning(guarantee: Promise, yours: str, other: str) -> str:
    """Return what a promise without an epsilon of its own means, as a sentence."""
    if isinstance(guarantee, GaussianDP):
        mu = float(np.max(guarantee.mu))
        right = _up(100 * float(ndtr(mu / 2)), most=100.0)
        return (
            f"What is published {yours} is no easier to tell from what is published {other} than "
            "one draw of a normal law with mean mu from one with mean 0, both of variance 1. A "
            f"guess between the two at even odds is right with probability at most {right} percent."
        )
    if isinstance(guarantee, ZeroConcentratedDP):
        return (
            f"Of the factor by which a result is more likely {yours} than {other}, an average is "
            "bounded, and not every case: the Renyi divergence of order a is at most rho times a, "
            "at every a above 1."
        )
    return (
        f"Of the factor by which a result is more likely {yours} than {other}, averages are "
        "bounded, and not every case: Renyi divergences at public orders."
    )


def _epsilons(guarantee: Promise, delta: float) -> Any:
    """Return the smallest and the largest epsilon at `delta`, of all who take part."""
    if isinstance(guarantee, RenyiDP):
        curves = np.atleast_2d(guarantee.epsilon)
        curves = np.unique(curves[(curves > 0).all(axis=1)], axis=0)
        different = RenyiDP(guarantee.orders, curves, neighbors=guarantee.neighbors)
        return np.asarray(different.to_approximate(delta).epsilon)
    ((name, values),) = _of_participants(guarantee).items()
    ends = np.array([values.min(), values.max()])
    two = type(guarantee)(**{name: ends, "neighbors": guarantee.neighbors})
    return np.asarray(two.to_approximate(delta).epsilon)


def _table_of_odds(epsilon: Any) -> str:
    """Return budgets, factors, and what a suspicion of a tenth can become, as a table."""
    lines = ["| | epsilon | times as likely, at most | 10 percent become at most |"]
    lines += ["| --- | ---: | ---: | ---: |"]
    for words, value in _ends(epsilon):
        lines.append(f"| {words} | {_up(value)} | {_factor(value)} | {_belief(value)} percent |")
    return "\n".join(lines)


def _table_of_factors(epsilon: Any, delta: Any) -> str:
    """Return epsilons with their factors and the delta, as a table."""
    lines = ["| | epsilon | factor, at most | delta |", "| --- | ---: | ---: | ---: |"]
    most = _up(float(np.max(delta)))
    for words, value in _ends(epsilon):
        lines.append(f"| {words} | {_up(value)} | {_factor(value)} | {most} |")
    return "\n".join(lines)


def _ends(values: Any) -> list[tuple[str, float]]:
    """Return the smallest and the largest value with words, or one for all."""
    low, high = float(np.min(values)), float(np.max(values))
    if low == high:
        return [("everybody who takes part", low)]
    return [("who is promised most", low), ("who is promised least", high)]


def _factor(epsilon: float) -> str:
    """Return e to the epsilon, rounded up."""
    if epsilon > 13:
        return f"10 to the power of {int(np.ceil(epsilon / np.log(10)))}"
    return _up(float(np.exp(epsilon)))


def _belief(epsilon: float, before: float = 0.1) -> str:
    """Return what a belief can become at most, in percent, rounded up."""
    after = 1 / (1 + (1 - before) / before * np.exp(-epsilon))
    return _up(100 * float(after), most=100.0)


def _up(value: float, most: float = np.inf) -> str:
    """Return a number above 0 with three digits, rounded up, and no more than `most`."""
    exact = Decimal(f"{value:.12g}")  # what a float is off in its last digits is no digit of it
    if exact == 0:
        return "0"
    last = Decimal((0, (1,), exact.adjusted() - 2))
    rounded = min(float(exact.quantize(last, ROUND_CEILING)), most)
    return f"{rounded:.3g}" if rounded < 1e-4 else f"{rounded:,.12g}"


def _large_delta(guarantee: Promise, delta: float) -> list[str]:
    """Return a warning where delta is no smaller than one over the number of people.

    Where the model does not hold that number, say what delta has to be.
    """
    if guarantee.n is None:
        return ["Delta should be far below one over the number of people, which is not said here."]
    if delta * guarantee.n < 1:
        return []
    return [
        f"**This failure probability is not below one over the {guarantee.n:,} people.** Whoever "
        "publishes the record of one of them, drawn at random, keeps such a promise."
    ]


def _pure(model: Any, guarantee: Promise) -> list[str]:
    """Return the pure promise that holds as well, if it is another one."""
    pure = getattr(model, "pure_guarantee_", None)
    if pure is None or pure == guarantee:
        return []
    epsilon = _of_participants(pure)["epsilon"]
    words = _odds(*TABLES[pure.neighbors], float(np.max(epsilon)))
    return ["Without any failure this holds as well.", words, _table_of_odds(epsilon)]


def _excluded(guarantee: Promise) -> str:
    """Return how many take no part, if that is public."""
    if isinstance(guarantee, PACPrivacy):
        return "Nobody of the pool, as far as the promise goes."
    if guarantee.neighbors not in NUMBER_IS_PUBLIC:
        return "The number of people is protected, and so it is not said here."
    if guarantee.n is None:
        return (
            "The promise is one number for all who take part. Whoever has budget 0 does not; how "
            "many these are is not on the model."
        )
    noun = _noun(guarantee)
    out = _number_without_budget(guarantee)
    if out == 0:
        return f"Nobody: all {guarantee.n:,} {noun} take part."
    return (
        f"{out:,} of {guarantee.n:,} {noun} have budget 0. Nothing protected of theirs is in what "
        "is published, which therefore speaks of the others."
    )


def _noun(guarantee: Promise) -> str:
    """Return what those who are promised something are called."""
    return "users" if guarantee.neighbors.startswith("user") else "people"


def _public(
    model: Any,
    guarantee: Promise,
    described_columns: list[str],
    guesses: Mapping[str, Any] | None,
) -> list[str]:
    """Return what everybody may know, and the promise takes as known."""
    settings = {name: value for name, value in _settings(model).items() if value is not None}
    found = ["Settings: " + _named(settings) + "."]
    bounds = getattr(model, "bounds", None)
    if bounds is not None:
        low, high = check.bounds(bounds, "bounds", model.n_features_in_)
        if np.ndim(bounds) == 1:
            found.append(f"Bounds of every column: {low[0]:.12g} to {high[0]:.12g}.")
        else:
            columns = getattr(model, "feature_names_in_", range(len(low)))
            ends = zip(columns, low, high, strict=True)
            lines = [f"`{_line(name)}` {a:.12g} to {b:.12g}" for name, a, b in ends]
            found.append("Bounds of the columns: " + "; ".join(lines) + ".")
    if getattr(model, "y_bounds", None) is not None:
        low, high = check.bounds(model.y_bounds, "y_bounds")
        found.append(f"Bounds of the label: {low:.12g} to {high:.12g}.")
    found += described_columns
    if not isinstance(guarantee, PACPrivacy):
        if guarantee.neighbors in NUMBER_IS_PUBLIC and guarantee.n is not None:
            found.append(f"The number of {_noun(guarantee)}: {guarantee.n:,}.")
        found.append(
            "Everybody's budget: the size of the noise follows from them. A budget that was chosen "
            "for a reason in the record tells something about it, which is not covered."
        )
    if guesses:
        found.append("Guesses: " + _named(dict(guesses)) + ".")
    found.append(
        "Settings, bounds and guesses must not have been read from the table. What was computed "
        "from it is a release of its own."
    )
    return found


#: kind of promise -> how two releases add up
SUMS = {
    PureDP: "their epsilons add up",
    ApproximateDP: "their epsilons add up, and so do their deltas",
    ZeroConcentratedDP: "their rhos add up",
    GaussianDP: "the squares of their mus add up",
    RenyiDP: "their divergences add up at every order",
}


def _not_covered(model: Any, guarantee: Promise) -> list[str]:
    """Return what no promise here covers."""
    found = []
    if isinstance(guarantee, PACPrivacy):
        found.append(
            "Other releases: this statement speaks of one alone. A second one from the same pool "
            "has a promise of its own, and no theorem says what both together reveal."
        )
    else:
        found.append(
            "Other releases: this statement speaks of one alone. Of several from the same records, "
            f"{SUMS[type(guarantee)]}."
        )
    if getattr(model, "noise", None) == "grid":
        found.append("Rounding IS covered: the noise was drawn in whole steps.")
    else:
        found.append(
            "Rounding: the noise is added to floating-point numbers, whose last digits can tell "
            "more than the proof allows."
        )
    found += [
        "The generator of random numbers: without a seed it starts from fresh entropy of the "
        "operating system; the promise takes its numbers as random.",
        "Time and memory that the computation took, error messages, and whoever sees the table "
        "itself.",
        "People whose records are connected: what one record tells about another person counts "
        "against the budgets of both.",
        "What is true of everybody: a release can teach something about you even if you take no "
        "part.",
    ]
    return found


def _made(model: Any) -> str:
    """Return versions, and what kind of software this is."""
    versions = ", ".join(f"{name} {number}" for name, number in _versions().items())
    return (
        f"With {versions}. pdpbook is research software: its theorems are tested, and it has not "
        "been certified by anybody. No seed was set."
    )


def _named(values: Mapping[str, Any]) -> str:
    """Return names with their values."""
    shown = {
        name: f"{value:.12g}" if isinstance(value, float) else value
        for name, value in values.items()
    }
    return ", ".join(f"`{_line(name)} = {_line(value)}`" for name, value in shown.items())


def _line(value: Any) -> str:
    """Return text as one line without marks of Markdown code."""
    return " ".join(str(value).replace("`", "'").split())


def _bullets(lines: list[str]) -> str:
    """Return lines as a list."""
    return "\n".join(f"- {line}" for line in lines)
