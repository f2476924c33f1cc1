"""What leaves the house: exports and statements hold nothing of people, for every mechanism."""

import json
import pickle
import re

import numpy as np
import pandas as pd
import pytest
from mechanisms import ROWS, SMALL, WITH_USERS, agreed
from numpy.testing import assert_array_equal
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import make_pipeline

from pdpbook import publish
from pdpbook.datasets import Dates, Numbers, PublicSchema, Words
from pdpbook.guarantees import (
    ApproximateDP,
    BudgetAccount,
    GaussianDP,
    PACPrivacy,
    PureDP,
    RenyiDP,
    ZeroConcentratedDP,
)
from pdpbook.guarantees.promises import NEIGHBORS
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.publish import export, load, statement
from pdpbook.user_level import WeightedMean, WeightedOutputPerturbation

N = 61
NAMES = [f"Zoe{k:03d}" for k in range(N)]


def named_people():
    """People whose names are the index of everything, and the owners of rows."""
    rng = np.random.default_rng(8)
    X = pd.DataFrame(rng.random((N, 3)), columns=["age", "rooms", "smoker"], index=NAMES)
    y = pd.Series(X.to_numpy() @ [0.5, -0.2, 0.1], index=NAMES)
    epsilon = pd.Series(rng.uniform(0.1, 2, N), index=NAMES)
    epsilon.iloc[:4] = 0.0
    return X, y, epsilon


def fitted(mechanism):
    """A mechanism fitted to named people; those with users have a name for each of them."""
    X, y, epsilon = named_people()
    model = clone(mechanism)
    if not ROWS[type(model)].neighbors:
        return model.fit(X, y)
    budgets = pd.Series(agreed(model, epsilon.to_numpy()), index=NAMES)
    if ROWS[type(model)].neighbors.startswith("user"):
        return model.fit(X, y, epsilon=budgets, users=np.array(NAMES))
    return model.fit(X, y, epsilon=budgets)


def tells_of_people(content):
    """Whether anything in it has an entry for each person, or the name of one."""
    if "Zoe" in str(content) or "Zoe" in json.dumps(content):
        return True
    if isinstance(content, dict):
        return len(content) >= N or any(map(tells_of_people, content.values()))
    return isinstance(content, list) and (len(content) >= N or any(map(tells_of_people, content)))


# --- exports --------------------------------------------------------------------------------------


def blanked(text):
    """Text without its numbers, whose last digits a statement rounds up."""
    return re.sub(r"\d[\d.,e-]*\d|\d", "#", text)


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_an_export_tells_of_nobody_and_predicts_the_same(mechanism):
    model = fitted(mechanism)
    content = export(model)
    assert not tells_of_people(content)
    written = json.dumps(content, allow_nan=False)
    again = load(json.loads(written))
    X, *_ = named_people()
    assert_array_equal(again.predict(X), model.predict(X))
    assert again.content == content == json.loads(written)
    assert set(content) == set(publish.FIELDS)
    assert blanked(content["promise"]["words"]) == blanked(str(model.guarantee_))
    assert content["promise"]["words"] in str(again)


@pytest.mark.parametrize("mechanism", WITH_USERS, ids=str)
def test_a_pickle_of_a_model_for_users_has_all_names(mechanism):
    """As the docstring of `export` says."""
    content = pickle.dumps(fitted(mechanism))
    assert all(name.encode("utf-32-le") in content for name in NAMES)  # as NumPy writes text


def with_attributes(model):
    return export(model) | {"users": model.users_.tolist()}


def with_weights(model):
    return export(model) | {"noise": {"weights": model.weights_.tolist()}}


def with_promise(model):
    return export(model) | {"promise": {"epsilon": model.guarantee_.epsilon.tolist()}}


def with_all_settings(model):
    model.set_params(epsilon=dict(zip(NAMES, np.ones(N), strict=True)))
    return export(model) | {"settings": model.get_params()}


@pytest.mark.parametrize("bug", [with_attributes, with_weights, with_promise, with_all_settings])
def test_planted_exports_are_caught(bug):
    model = fitted(WeightedOutputPerturbation())
    assert not tells_of_people(export(model))
    assert tells_of_people(bug(model))


def test_budgets_in_the_settings_stay_home():
    X, y, epsilon = named_people()
    for budgets in (epsilon.to_numpy(), np.ones(N), list(epsilon)):
        model = PDPRidge(0.5, epsilon=budgets).fit(X, y)
        assert not tells_of_people(export(model))
        assert "Zoe" not in statement(model)
    model = WeightedMean(epsilon=dict(zip(NAMES, np.ones(N), strict=True)))
    model.fit(X, y, users=np.array(NAMES))
    assert not tells_of_people(export(model))
    assert "Zoe" not in statement(model)


def test_an_account_with_names_leaves_none():
    X, y, epsilon = named_people()
    account = BudgetAccount(
        pd.Series(np.full(N, 1.0), index=NAMES), neighbors="replace-one", leave_out=True
    )
    model = PDPRidge(0.5).fit(X, y, epsilon=epsilon, account=account)
    assert (model.guarantee_.epsilon == 0).sum() > 4  # who has less on the account than asked
    assert not tells_of_people(export(model))
    assert "Zoe" not in statement(model)


def test_what_an_export_says_of_the_promise():
    model = fitted(PDPRidge(0.5, delta=1e-6))
    content = export(model)
    _, _, epsilon = named_people()
    ends = [epsilon[epsilon > 0].min(), epsilon.max()]
    assert content["promise"] | {"words": ""} == {
        "words": "",
        "kind": "ApproximateDP",
        "neighbors": "replace-one",
        "epsilon": ends,
        "delta": [1e-6, 1e-6],
        "people": N,
        "left_out": 4,
    }
    assert content["pure_promise"]["epsilon"][1] > ends[1]
    assert content["columns"] == ["age", "rooms", "smoker"]
    assert content["settings"]["lam"] == 0.5
    assert "epsilon" not in content["settings"]
    assert content["noise"]["rate"] == model.noise_.rate
    assert export(fitted(PDPRidge(0.5)))["pure_promise"] is None  # it is the promise itself


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_a_number_of_people_that_is_protected_stays_home(mechanism):
    model = fitted(mechanism)
    protected = ROWS[type(model)].neighbors == "add-remove"
    assert not (protected and "people" in export(model)["promise"])
    assert (f"{N}" in statement(model)) is not (
        protected or model.guarantee_.n is None
    )  # 61 is in no setting


def test_the_covariance_of_public_rows_stays_home():
    for mechanism in SMALL:
        if ROWS[type(mechanism)].neighbors in ("", "user-labels"):
            assert export(fitted(mechanism))["noise"]["variances"] is None


def test_two_classes_are_predicted_again():
    X, y, _ = named_people()
    label = np.where(y > y.median(), "long", "short")
    model = WeightedOutputPerturbation("logistic").fit(X, label, epsilon=5.0)
    again = load(json.loads(json.dumps(export(model))))
    assert_array_equal(again.predict(X), model.predict(X))
    assert set(again.predict(X)) <= {"long", "short"}


def test_columns_are_checked_as_the_model_checks_them():
    X, *_ = named_people()
    again = load(export(fitted(PDPRidge(0.5))))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(X.rename(columns={"age": "weight"}))
    with pytest.raises(ValueError, match="feature names"):
        again.predict(X[["age", "rooms"]])
    with pytest.raises(TypeError, match=r"^a published release cannot be fitted"):
        again.model.fit(X)


def change(**fields):
    return export(fitted(PDPRidge(0.5))) | fields


@pytest.mark.parametrize(
    ("content", "match"),
    [
        ({}, "what export wrote"),
        (change(what="a pickle"), "what export wrote"),
        (change(form=2), "must be of form 1"),
        (change(users=["Zoe"]), "fields of an export"),
        (change(coef=[1.0, float("nan"), 0.0]), r"^coef must be finite"),
        (change(coef=[[1.0]]), r"^coef must have shape"),
        (change(intercept=float("inf")), r"^intercept must be finite"),
        (change(mean=float("nan")), r"^mean must be finite"),
        (change(columns=["one"]), r"^columns must have one name a coefficient"),
        (change(classes=["one"]), r"^classes must be two"),
    ],
)
def test_what_is_no_export_is_refused(content, match):
    with pytest.raises(ValueError, match=match):
        load(content)


def test_text_is_no_export():
    with pytest.raises(TypeError, match=r"^content must be a mapping"):
        load(json.dumps(change()))


# --- refusals of both -----------------------------------------------------------------------------


@pytest.mark.parametrize("leaves", [export, statement])
@pytest.mark.parametrize("seed", [0, 7, np.random.default_rng(7)])
def test_with_a_seed_nothing_leaves(leaves, seed):
    X, y, _ = named_people()
    model = PDPRidge(0.5, random_state=seed).fit(X, y)
    with pytest.raises(ValueError, match=r"^random_state must be None .* knows the noise"):
        leaves(model)


@pytest.mark.parametrize("leaves", [export, statement])
def test_what_was_changed_after_the_fit_is_refused(leaves):
    X, y, _ = named_people()
    bounds = np.tile([0.0, 1.0], (X.shape[1], 1))
    model = PDPRidge(0.5, bounds=bounds, clip=True, random_state=7).fit(X, y)
    with pytest.raises(ValueError, match=r"^random_state must be as in the fit"):
        leaves(model.set_params(random_state=None))
    model.fit(X, y)
    leaves(model)
    with pytest.raises(ValueError, match=r"^lam must be as in the fit"):
        leaves(model.set_params(lam=0.3))
    model.set_params(lam=0.5)
    bounds[0, 1] = 2.0  # the same array, changed inside
    with pytest.raises(ValueError, match=r"^bounds must be as in the fit"):
        leaves(model)


@pytest.mark.parametrize("leaves", [export, statement])
def test_what_leaves_no_promise_is_refused(leaves):
    X, y, _ = named_people()
    with pytest.raises(NotFittedError):
        leaves(PDPRidge(0.5))
    with pytest.raises(TypeError, match=r"LinearRegression leaves no guarantee_"):
        leaves(LinearRegression().fit(X, y))
    with pytest.raises(TypeError, match=r"Pipeline leaves .* pass the last step"):
        leaves(make_pipeline(PDPRidge(0.5)).fit(X, y))
    with pytest.raises(TypeError, match=r"^model must be a fitted mechanism; got dict"):
        leaves({"coef": [1.0]})


# --- statements -----------------------------------------------------------------------------------


@pytest.mark.parametrize("mechanism", SMALL, ids=str)
def test_every_mechanism_gets_a_statement_without_a_name(mechanism):
    model = fitted(mechanism)
    board = statement(model)
    assert "Zoe" not in board
    assert blanked(str(model.guarantee_)) in blanked(board)
    for heading in ("published", "protected", "promised", "left out", "public", "not covered"):
        assert heading in board
    for value in (type(model).__name__, "research software", "No seed was set", "numpy"):
        assert value in board
    assert len(board) < 4000
    released = [name for name in ("coef_", "intercept_", "mean_") if hasattr(model, name)]
    assert released
    for name in released:
        setattr(model, name, getattr(model, name) + 1.0)
    assert statement(model) == board  # the release itself is not in it


def test_a_planted_statement_with_all_settings_is_caught(monkeypatch):
    X, y, epsilon = named_people()
    model = PDPRidge(0.5, epsilon=epsilon).fit(X, y)
    assert "Zoe" not in statement(model)
    monkeypatch.setattr(publish, "_settings", lambda model: model.get_params())
    assert "Zoe" in statement(model)
    with pytest.raises(TypeError):
        json.dumps(export(model))  # nor can a Series be written


def a_model(guarantee, **settings):
    """A release with this promise in the place of its own, for the words alone."""
    model = PersonalizedMean(**settings).fit(np.zeros((3, 1)), np.zeros(3))
    model.guarantee_ = guarantee
    return model


THREE = np.array([0.0, 0.1, 1.0])
ORDERS = [2.0, 4.0, 8.0]
KINDS = [
    (PureDP(THREE, neighbors="user"), "| who is promised least | 1 | 2.72 | 23.2 percent |"),
    (
        ApproximateDP.to_participants(THREE, 1e-6, neighbors="replace-one"),
        "| who is promised most | 0.1 | 1.11 | 1e-06 |",
    ),
    (ZeroConcentratedDP(0.1, neighbors="zero-out"), "at most rho times a"),
    (GaussianDP(THREE, neighbors="labels"), "at most 69.2 percent"),  # ndtr(1 / 2) = 0.6915
    (RenyiDP(ORDERS, [0.1, 0.2, 0.4], neighbors="add-remove"), "Renyi divergences at public"),
    (
        RenyiDP(ORDERS, [[0, 0, 0], [0.1, 0.2, 0.4], [1, 2, 4]], neighbors="user-labels"),
        "1 of 3 users have budget 0",
    ),
    (PACPrivacy(0.75), "right with probability at most 0.75 after"),
]


@pytest.mark.parametrize(("guarantee", "words"), KINDS, ids=str)
def test_every_kind_of_promise_has_its_sentence(guarantee, words):
    board = statement(a_model(guarantee))
    assert words in board
    assert blanked(str(guarantee)) in blanked(board)
    json.dumps(export(a_model(guarantee)), allow_nan=False)


@pytest.mark.parametrize("neighbors", NEIGHBORS)
def test_every_relation_has_its_words(neighbors):
    board = statement(a_model(PureDP(THREE, neighbors=neighbors)))
    assert publish.UNITS[neighbors] in board
    assert all(words in board for words in publish.TABLES[neighbors])
    protected = neighbors == "add-remove"
    assert ("of 3 " in board) is not protected


@pytest.mark.parametrize(
    "guarantee", [kind for kind, _ in KINDS[2:6]], ids=lambda kind: type(kind).__name__
)
def test_other_promises_are_said_at_a_delta(guarantee):
    """The factor in the statement is no smaller than that of the promise of each person."""
    for delta in (1e-3, 1e-9):
        board = statement(a_model(guarantee), delta=delta)
        lines = [line for line in board.splitlines() if line.startswith(("| who", "| every"))]
        shown = [float(line.split("|")[2]) for line in lines]
        exact = np.atleast_1d(guarantee.to_approximate(delta).epsilon)
        exact = exact[exact > 0]
        wanted = np.unique([exact.min(), exact.max()])
        assert len(shown) == len(wanted)
        assert ((shown >= wanted * (1 - 1e-11)) & (shown <= 1.01 * wanted)).all()
        factors = [float(line.split("|")[3].replace(",", "")) for line in lines]
        assert (factors >= np.exp(wanted) * (1 - 1e-11)).all()


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.1, "0.1"),
        (0.30000000000000004, "0.3"),
        (1.10517, "1.11"),
        (2.71828, "2.72"),
        (20.001, "20.1"),
        (12345.6, "12,400"),
        (1.2341e-7, "1.24e-07"),
        (0.0, "0"),
    ],
)
def test_numbers_are_rounded_up(value, shown):
    assert publish._up(value) == shown


def test_huge_budgets_have_huge_factors():
    assert publish._factor(1000.0) == "10 to the power of 435"  # 1000 / ln 10 = 434.3
    assert publish._belief(1000.0) == "100"
    board = statement(a_model(PureDP(1e9, neighbors="replace-one")))
    assert "10 to the power of" in board


def test_a_large_delta_is_said():
    guarantee = ApproximateDP(np.ones(50), 0.02, neighbors="replace-one")
    assert "not below one over the 50 people" in statement(a_model(guarantee))
    small = ApproximateDP(np.ones(50), 0.001, neighbors="replace-one")
    assert "not below one over" not in statement(a_model(small))


def test_rounding_is_covered_on_a_grid_alone():
    model = a_model(PureDP(1.0, neighbors="replace-one"))
    assert "Rounding: the noise is added to floating-point" in statement(model)
    model = a_model(PureDP(1.0, neighbors="replace-one"), noise="grid")
    assert "Rounding IS covered" in statement(model)
    assert "floating-point" not in statement(model)


def test_guesses_are_named_on_one_line_each():
    model = a_model(PureDP(1.0, neighbors="replace-one"))
    board = statement(model, guesses={"mean": 15_000.0, "r2": "0.5,\n\n# from `books`"})
    assert "- Guesses: `mean = 15000`, `r2 = 0.5, # from 'books'`.\n" in board
    assert "Guesses" not in statement(model).replace("Settings, bounds and guesses", "")
    with pytest.raises(TypeError, match=r"^guesses must be a mapping"):
        statement(model, guesses="15,000")
    with pytest.raises(TypeError, match=r"^title must be text"):
        statement(model, title=3)
    with pytest.raises(ValueError, match=r"^delta must"):
        statement(model, delta=0.0)


STAYS = """# Length of stay

## What is published

2 coefficients and an intercept, by `PDPRidge`.

## Who is protected

Each person is protected as one row of the table. Somebody who owns several rows has this promise \
for each of them alone, and the budgets of their rows add up.

## What is promised

Each person i is promised epsilon_i-differential privacy, epsilon_i from 0 to 1, against replacing \
their record.

Whatever is published: with your row it is at most e^epsilon times as likely as with any other row \
in its place. So it makes any conclusion about you, as far as it rests on what is protected, at \
most 2.72 times as likely, and multiplies its odds by no more.

| | epsilon | times as likely, at most | 10 percent become at most |
| --- | ---: | ---: | ---: |
| who is promised most | 0.1 | 1.11 | 11 percent |
| who is promised least | 1 | 2.72 | 23.2 percent |

## Who is left out

200 of 1,000 people have budget 0. Nothing protected of theirs is in what is published, which \
therefore speaks of the others.

## What is public

- Settings: `clip = False`, `delta = 0`, `fit_intercept = True`, `huber_threshold = 1`, \
`label_mean_share = 0`, `lam = 0.1`, `loss = square`, `proof = joint`, `weights = proportional`.
- Bounds of the columns: `age` 18 to 90; `visits` 0 to 10.
- Bounds of the label: 0 to 60.
- The number of people: 1,000.
- Everybody's budget: the size of the noise follows from them. A budget that was chosen for a \
reason in the record tells something about it, which is not covered.
- Guesses: `mean stay = 8 days, last year's report`.
- Settings, bounds and guesses must not have been read from the table. What was computed from it \
is a release of its own.

## What is not covered

- Other releases: this statement speaks of one alone. Of several from the same records, their \
epsilons add up.
- Rounding: the noise is added to floating-point numbers, whose last digits can tell more than the \
proof allows.
- The generator of random numbers: without a seed it starts from fresh entropy of the operating \
system; the promise takes its numbers as random.
- Time and memory that the computation took, error messages, and whoever sees the table itself.
- People whose records are connected: what one record tells about another person counts against \
the budgets of both.
- What is true of everybody: a release can teach something about you even if you take no part.

## How it was made

With VERSIONS. pdpbook is research software: its theorems are tested, and it has not been \
certified by anybody. No seed was set.
"""

VISITS = """## Who is protected

Each user is protected, with all of their rows at once. Who the users are and how many rows each \
owns is NOT protected: the promise takes it as known to everybody.

## What is promised

Each person i is promised epsilon_i-differential privacy, epsilon_i = 0.5, against replacing all \
of their records.

Whatever is published: with all of your rows it is at most e^epsilon times as likely as with any \
others in their place. So it makes any conclusion about you, as far as it rests on what is \
protected, at most 1.65 times as likely, and multiplies its odds by no more.

| | epsilon | times as likely, at most | 10 percent become at most |
| --- | ---: | ---: | ---: |
| everybody who takes part | 0.5 | 1.65 | 15.5 percent |

## Who is left out

Nobody: all 250 users take part.

"""


def test_the_statement_of_a_hospital():
    rng = np.random.default_rng(0)
    X = pd.DataFrame({"age": rng.uniform(18, 90, 1000), "visits": rng.integers(0, 11, 1000)})
    model = PDPRidge(0.1, bounds=[(18, 90), (0, 10)], y_bounds=(0, 60), fit_intercept=True)
    model.fit(X, rng.uniform(0, 60, 1000), epsilon=np.repeat([0, 0.1, 1.0], [200, 300, 500]))
    guesses = {"mean stay": "8 days, last year's report"}
    board = statement(model, guesses=guesses, title="Length of stay")
    versions = ", ".join(f"{name} {number}" for name, number in publish._versions().items())
    assert board == STAYS.replace("VERSIONS", versions)


def test_the_statement_of_visits():
    rng = np.random.default_rng(0)
    model = WeightedMean(epsilon=0.5, y_bounds=(0, 60))
    model.fit(np.zeros((1000, 1)), rng.uniform(0, 60, 1000), users=np.arange(1000) // 4)
    board = statement(model)
    assert board.startswith("# Privacy statement\n\n## What is published\n\nOne mean, by")
    assert VISITS in board


# ---------------------------------------------------------------- what a stranger handed in

FORM = PublicSchema(
    {
        "age": Numbers(18, 90, fill=50),
        "visits": (0, 10),
        "ward": Words(["a", "b", "other"], fill="b", other="other"),
        "came": Dates("2020-01-01", "2025-01-01", unit="weeks", fill="2021-01-01"),
        "days": (0, 60),
    },
    label="days",
)
RULES = [
    "- `age` was read as numbers from 18 to 90; 50 stands where it is missing.",
    "- `visits` was read as numbers from 0 to 10.",
    "- `ward` was read as one of 'a', 'b', 'other'; 'other' stands for other words; 'b' stands "
    "where it is missing.",
    "- `came` was read as dates from 2020-01-01 to 2025-01-01, in weeks since 2020-01-01; "
    "2021-01-01 stands where it is missing.",
    "- `days` was read as the label; numbers from 0 to 60.",
]


def fitted_to_a_form(schema=FORM):
    rng = np.random.default_rng(0)
    table = pd.DataFrame({
        "age": rng.uniform(18, 90, 50), "visits": rng.integers(0, 11, 50), "ward": ["a", "b"] * 25,
        "came": ["2022-03-04"] * 50, "days": rng.uniform(0, 60, 50),
    })  # fmt: skip
    X, bounds, y, y_bounds = schema.encode(table)
    return PDPRidge(0.1, epsilon=1.0, bounds=bounds, y_bounds=y_bounds).fit(X, y), X, y


def test_a_statement_names_the_label_and_the_rules_of_the_schema():
    model, X, y = fitted_to_a_form()
    board = statement(model, schema=FORM)
    assert "7 coefficients and an intercept that predict `days`, by `PDPRidge`." in board
    public = board.split("## What is public")[1].split("##")[0]
    assert [line for line in public.splitlines() if "was read as" in line] == RULES
    assert "was replaced" not in board
    assert "that predict `days of stay`," in statement(model, schema=FORM, label="days of\nstay")
    assert "was read as" not in statement(model)
    mean = PersonalizedMean(y_bounds=(0, 60)).fit(X, y)
    assert "One mean of `days`, by" in statement(mean, schema=FORM)
    assert "One mean of `stay`, by" in statement(mean, label="stay")
    by_position = PDPRidge(y_bounds=(0, 60), clip=True).fit(X.to_numpy(), y.to_numpy())
    assert RULES[0] in statement(by_position, schema=FORM)


def test_a_statement_says_what_a_schema_that_clips_replaces():
    model, *_ = fitted_to_a_form(clone(FORM).set_params(clip=True))
    board = statement(model, schema=clone(FORM).set_params(clip=True))
    assert "`visits` was read as numbers from 0 to 10; the middle stands where it is miss" in board
    assert "What does not fit its column was replaced: by the nearest bound, or as if mi" in board


def test_a_schema_of_other_columns_is_refused_by_a_statement():
    model, X, y = fitted_to_a_form()
    others = PublicSchema({"age": (0, 1), "b": ["x", "y"]})
    turned = PublicSchema(dict(reversed(FORM.columns.items())), label="days")
    for schema, words in [(others, "these differ: .*'b=y'"), (turned, "its order is another")]:
        with pytest.raises(ValueError, match=r"^schema must have the columns of .*" + words):
            statement(model, schema=schema)
    by_position = PDPRidge(y_bounds=(0, 60), clip=True).fit(X.to_numpy(), y.to_numpy())
    with pytest.raises(ValueError, match=r"^schema must have the columns of .*; got 1 for 7$"):
        statement(by_position, schema=PublicSchema({"age": (0, 1)}))
    for table in (X, {"age": (0, 1)}):
        with pytest.raises(TypeError, match=r"^schema must be the PublicSchema"):
            statement(model, schema=table)
    with pytest.raises(TypeError, match=r"^label must be text; got Series"):
        statement(model, label=y)


def test_guesses_are_numbers_or_texts_and_never_a_table():
    model = PersonalizedMean().fit(np.zeros((50, 1)), np.linspace(-1, 1, 50))
    assert "Guesses: `mean = 8.5`." in statement(model, guesses={"mean": 8.5})
    for table in (pd.Series([1.0, 2.0]), np.ones(3), pd.DataFrame({"a": [1]}), [1.0]):
        with pytest.raises(
            TypeError, match=r"^guesses must be single numbers or texts, never a table"
        ):
            statement(model, guesses={"mean": table})


@pytest.mark.parametrize(
    ("epsilon", "words"),
    [(1.2345614, "1.23457"), (0.30000049, "0.300001"), (2.0000004, "2.00001"), (0.3, "0.3"),
     (0.1 + 0.2, "0.3"), (1.0, "1"), (2.0, "2"), (1e-6, "1e-06")],
)  # fmt: skip
def test_the_sentence_of_a_promise_is_rounded_up(epsilon, words):
    model = PersonalizedMean(epsilon=epsilon).fit(np.zeros((50, 1)), np.linspace(-1, 1, 50))
    for text in (statement(model), export(model)["promise"]["words"]):
        assert f"epsilon_i = {words}," in text
