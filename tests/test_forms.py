"""Budgets and users in every form that people pass them, through every estimator.

What is accepted gives the release of plain arrays, draw for draw, and keeps everybody's own
budget by exact laws. What is refused is refused by the name of its argument.
"""

import inspect
import pickle

import numpy as np
import pandas as pd
import polars as pl
import pytest
from mechanisms import PROMISING, SMALL, WITH_USERS, agreed, one_promise
from numpy.testing import assert_array_equal
from sklearn.base import clone
from test_estimators import assert_promised

from pdpbook.audit import audit_mechanism
from pdpbook.gwa import gwa_program, gwa_weights
from pdpbook.noise import grid_rate
from pdpbook.per_instance import (
    explain,
    ops_epsilon,
    ops_for_all,
    ops_profile,
    per_instance_epsilon,
)
from pdpbook.personalized import PDPRidge, error_bound, huber_ridge, mean_square_error
from pdpbook.posterior import posterior_certificate
from pdpbook.ridge import leave_one_out, loss_moments, weighted_ridge
from pdpbook.user_level import (
    WeightedMean,
    ball_minimizer,
    private_quantile,
    quantile_law,
    quantile_rate,
    tradeoff_value,
    tradeoff_weights,
)

N = 60
FEW = 10  # the law of a sampled fit lists all samples


def table():
    """Sixty rows in no order, of seventeen users whose labels look like numbers of rows."""
    rng = np.random.default_rng(12)
    user = np.repeat(np.arange(17), [1, 1, 2, 2, 2, 3, 3, 3, 4, 4, 4, 4, 5, 5, 5, 6, 6])
    frame = pd.DataFrame(rng.random((N, 2)), columns=["age", "size"])
    frame["y"] = frame["age"] - 0.5 * frame["size"]
    frame["user"] = user
    frame["eps"] = rng.uniform(0.2, 2, 17)[user]
    return frame.sample(frac=1, random_state=3)


FRAME = table()
X, Y = FRAME[["age", "size"]], FRAME["y"]
PLAIN = {"X": X.to_numpy(), "y": Y.to_numpy()}
BY_ROW = {  # name: rows, and what makes epsilon of a column
    "list": (PLAIN["X"], pd.Series.tolist),
    "tuple": (PLAIN["X"], tuple),
    "column": (X, pd.Series.copy),
    "column beside an array": (PLAIN["X"], pd.Series.copy),
    "array beside a frame": (X, pd.Series.to_numpy),
    "nullable column": (X, lambda column: column.astype("Float64")),
    "Polars": (PLAIN["X"], lambda column: pl.Series("eps", column.to_numpy())),
    "Polars beside a frame": (X, lambda column: pl.Series("eps", column.to_numpy())),
}
OF_EACH = FRAME.groupby("user")["eps"].first()
BY_USER = {
    "dict": OF_EACH.to_dict(),
    "dict with strangers": OF_EACH.to_dict() | {99: 0.1},
    "Series by user": OF_EACH,
    "Series by user, in another order": OF_EACH.sample(frac=1, random_state=1),
    "column": FRAME["eps"],
    "array": FRAME["eps"].to_numpy(),
    "Polars": pl.Series(FRAME["eps"].to_numpy()),
}
USERS = {
    "column": (X, FRAME["user"]),
    "column beside an array": (PLAIN["X"], FRAME["user"]),
    "list": (X, FRAME["user"].tolist()),
    "Polars": (X, pl.Series(FRAME["user"].to_numpy())),
    "categories": (X, FRAME["user"].astype("category")),
}


def budgets_of(model):
    """The column of budgets that goes with the table; one budget in it where it must be one."""
    return pd.Series(agreed(model, FRAME["eps"].to_numpy()), FRAME.index, name="eps")


def fitted(model, rows, epsilon, users=None, in_constructor=False):
    given = {} if users is None else {"users": users}
    model = clone(model).set_params(random_state=5)
    if in_constructor:
        return model.set_params(epsilon=epsilon).fit(rows, Y.to_numpy(), **given)
    return model.fit(rows, Y.to_numpy(), epsilon=epsilon, **given)


def assert_same_release(model, other):
    """All that two fits published and promised is equal, to the last bit."""
    for name, value in vars(other).items():
        if name.endswith("_") and name != "feature_names_in_":
            if isinstance(value, np.ndarray):
                assert_array_equal(getattr(model, name), value)
            elif name == "noise_":
                assert pickle.dumps(model.noise_) == pickle.dumps(value)
            else:
                assert getattr(model, name) == value


@pytest.mark.filterwarnings("ignore:X has feature names")
@pytest.mark.parametrize("in_constructor", [False, True], ids=["fit", "constructor"])
@pytest.mark.parametrize("form", BY_ROW)
@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_one_value_a_row_is_read_by_position(model, form, in_constructor):
    (rows, made), own = BY_ROW[form], budgets_of(model)
    model_of = fitted(model, rows, made(own), in_constructor=in_constructor)
    assert_same_release(model_of, fitted(model, PLAIN["X"], own.to_numpy()))
    assert_promised(model_of, own.to_numpy())


@pytest.mark.parametrize("form", ["float", "int", "numpy"])
@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_a_number_is_for_everybody(model, form):
    epsilon = {"float": 1.0, "int": 1, "numpy": np.float32(1.0)}[form]
    assert_promised(fitted(model, PLAIN["X"], epsilon), 1.0)


@pytest.mark.parametrize("form", BY_USER)
@pytest.mark.parametrize("model", WITH_USERS, ids=str)
def test_one_value_a_user_is_read_by_label(model, form):
    users = FRAME["user"].to_numpy()
    expected = fitted(model, PLAIN["X"], FRAME["eps"].to_numpy(), users)
    assert_same_release(fitted(model, PLAIN["X"], BY_USER[form], users), expected)
    assert_same_release(fitted(model, PLAIN["X"], BY_USER[form], users, True), expected)
    assert_promised(expected, OF_EACH.sort_index().to_numpy())


@pytest.mark.parametrize("form", USERS)
@pytest.mark.parametrize("model", WITH_USERS, ids=str)
def test_users_are_read_by_position(model, form):
    rows, users = USERS[form]
    expected = fitted(model, PLAIN["X"], OF_EACH, FRAME["user"].to_numpy())
    assert_same_release(fitted(model, rows, OF_EACH, users), expected)


# ---------------------------------------------------------------- everything accepted, by its law


def neighbor(model, data, who):
    """The other extreme of everything that the relation of the promise lets change."""
    rows, y = data["X"].copy(), data["y"].copy()
    y[who] = np.where(y[who] > 0, -1.0, 1.0)
    if "bounds" in model.get_params():  # else X is public, or not read
        rows[who] = 1.0 - np.round(rows[who])
    return rows, y


@pytest.mark.parametrize("model", [m for m in PROMISING if not one_promise(m)], ids=str)
def test_a_budget_a_row_is_kept_by_the_exact_law(model):
    """As a column; in other forms it has the same law, draw for draw."""
    few, own = {name: part[:FEW] for name, part in PLAIN.items()}, FRAME["eps"].to_numpy()[:FEW]

    def drawn(epsilon):
        law = clone(model).output_law(few["X"], few["y"], epsilon=epsilon)
        return law.sample(20, rng=np.random.default_rng(1))

    plain = drawn(own)
    for form in ("column", "Polars", "list", "nullable column"):
        epsilon = BY_ROW[form][1](FRAME["eps"].iloc[:FEW])
        one = clone(model).fit(few["X"], few["y"], epsilon=epsilon)
        assert_promised(one, own)
        assert_array_equal(drawn(epsilon), plain)
    epsilon = FRAME["eps"].iloc[:FEW]
    for at in (int(np.argmin(own)), int(np.argmax(own)), 7):
        who = np.arange(FEW) == at
        data, other = (few["X"], few["y"]), neighbor(one, few, who)
        found = audit_mechanism(
            model, data, other, epsilon=epsilon, rng=np.random.default_rng(0), draws=2000
        )
        assert found.passed, str(found)


@pytest.mark.parametrize("form", BY_USER)
@pytest.mark.parametrize("model", WITH_USERS, ids=str)
def test_a_budget_a_user_is_kept_by_the_exact_law(model, form):
    users, epsilon = FRAME["user"].to_numpy(), BY_USER[form]
    one = fitted(model, PLAIN["X"], epsilon, users)
    for user in (int(OF_EACH.idxmin()), int(OF_EACH.idxmax()), 16):
        data, other = (PLAIN["X"], PLAIN["y"]), neighbor(one, PLAIN, users == user)
        found = audit_mechanism(
            model,
            data,
            other,
            epsilon=epsilon,
            users=users,
            rng=np.random.default_rng(0),
            draws=2000,
        )
        assert found.passed, str(found)


# ---------------------------------------------------------------- refused by name


def hidden(values):
    return np.ma.masked_array(values, np.arange(len(values)) == 4)


def replaced(series, at, value):
    out = series.astype(object).copy()
    out.iloc[at] = value
    return out


INDEX, SHAPE = "^epsilon must have the index of X", "^epsilon must .*(shape|of length)"
REFUSED = {  # what makes epsilon of a column, given X as a frame
    "shuffled index": (pd.Series.sort_index, ValueError, INDEX),
    "fresh index": (lambda eps: eps.reset_index(drop=True), ValueError, INDEX),
    "too short": (lambda eps: eps.iloc[1:], ValueError, SHAPE),
    "masked": (
        lambda eps: hidden(eps.to_numpy()),
        TypeError,
        "^epsilon must not be a masked array",
    ),
    "strings": (lambda eps: eps.astype(str), TypeError, "^epsilon must be a number or an array"),
    "object": (lambda eps: replaced(eps, 3, "1.0"), TypeError, "^epsilon must be a number or"),
    "booleans": (lambda eps: [True] * N, TypeError, "^epsilon must be a number or an array"),
    "missing": (
        lambda eps: eps.mask(FRAME["user"] == 3),
        ValueError,
        r"^epsilon must be finite",
    ),
    "empty": (lambda eps: [], ValueError, SHAPE),
    "empty Series": (lambda eps: pd.Series([], dtype=float), ValueError, SHAPE),
    "a table": (pd.Series.to_frame, ValueError, SHAPE),
    "negative": (lambda eps: -eps, ValueError, "^epsilon must be finite"),
}


@pytest.mark.parametrize("case", REFUSED)
@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_other_budgets_are_refused_by_name(model, case):
    made, error, message = REFUSED[case]
    epsilon = made(budgets_of(model))
    for in_constructor in (False, True):
        with pytest.raises(error, match=message):
            fitted(model, X, epsilon, in_constructor=in_constructor)


@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_a_mapping_needs_users(model):
    with pytest.raises(TypeError, match=r"^epsilon must be a number or one value for each row"):
        fitted(model, X, dict.fromkeys(range(N), 1.0))


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        (OF_EACH.drop(3).to_dict(), "^epsilon must have a budget for every user.* for 3$"),
        (OF_EACH.rename(str).to_dict(), "^epsilon must have a budget for every user.* for 0$"),
        (OF_EACH.drop(3), "^epsilon must be a Series of length 60"),
        (OF_EACH.rename({3: 99}), "^epsilon must be a Series of length 60"),
        # a dict would keep the last of two budgets, so it is no advice here
        (pd.concat([OF_EACH, OF_EACH[:1]]), r"^epsilon must be a Series of length 60(?!.*to_dict)"),
        (OF_EACH.rename({3: 4}), "^epsilon must be a Series of length 60"),
        (OF_EACH.to_dict() | {3: np.nan}, "^epsilon must be finite"),
        ({}, "^epsilon must have a budget for every user"),
    ],
    ids=["one missing", "strings", "short", "stranger", "repeated", "twice", "nan", "nobody"],
)
@pytest.mark.parametrize("model", WITH_USERS, ids=str)
def test_budgets_of_other_users_are_refused(model, epsilon, message):
    with pytest.raises(ValueError, match=message):
        fitted(model, X, epsilon, FRAME["user"])


@pytest.mark.parametrize("model", WITH_USERS, ids=str)
def test_two_readings_are_refused_unless_they_agree(model):
    users = np.roll(np.arange(N), 7)  # every user has one row, and the labels are row numbers
    epsilon = pd.Series(np.linspace(0.1, 2, N))
    with pytest.raises(ValueError, match=r"^epsilon can be read in two ways.*to_dict\(\)"):
        fitted(model, PLAIN["X"], epsilon, users)
    fitted(model, PLAIN["X"], epsilon.to_numpy(), users)
    fitted(model, PLAIN["X"], epsilon.to_dict(), users)
    same = pd.Series(np.ones(N))
    assert_same_release(
        fitted(model, PLAIN["X"], same, users), fitted(model, PLAIN["X"], np.ones(N), users)
    )


def test_budgets_of_more_users_that_are_as_many_as_rows_are_refused():
    users = np.array(list("eeeaaa"))
    epsilon = pd.Series({"a": 0.1, "b": 0.1, "c": 0.1, "d": 9.0, "e": 9.0, "f": 9.0})
    y = np.linspace(0, 1, 6)
    with pytest.raises(ValueError, match=r"^epsilon can be read in two ways"):
        WeightedMean().fit(y[:, None], y, users=users, epsilon=epsilon)


WRONG_USERS = {
    "shuffled index": (FRAME["user"].sort_index(), ValueError, "^users must have the index of X"),
    "masked": (hidden(FRAME["user"].to_numpy()), TypeError, "^users must not be a masked array"),
    "NaN": (
        FRAME["user"].astype(float).mask(FRAME["user"] == 3),
        ValueError,
        "^users must have no",
    ),
    "None": (replaced(FRAME["user"], 3, None), ValueError, r"^users must have no missing label"),
    "NA": (FRAME["user"].astype("Int64").mask(FRAME["user"] == 3), ValueError, "^users must have"),
    "two kinds": (["1", *FRAME["user"].tolist()[1:]], TypeError, "^users must be labels of one"),
    "too short": (FRAME["user"].iloc[1:], ValueError, r"^users must have shape \(60,\)"),
    "empty": ([], ValueError, r"^users must have shape \(60,\)"),
    "a number": (3, ValueError, r"^users must have shape \(60,\)"),
}


@pytest.mark.parametrize("case", WRONG_USERS)
@pytest.mark.parametrize("model", WITH_USERS, ids=str)
def test_other_users_are_refused_by_name(model, case):
    users, error, message = WRONG_USERS[case]
    with pytest.raises(error, match=message):
        fitted(model, X, 1.0, users)


@pytest.mark.parametrize("model", PROMISING, ids=str)
def test_labels_in_another_order_than_the_rows_are_refused(model):
    with pytest.raises(ValueError, match=r"^y must have the index of X"):
        clone(model).fit(X, Y.sort_index(), epsilon=1.0)


def test_functions_read_budgets_and_users_by_the_same_rule():
    y, given = FRAME["y"].clip(0, 1), {"bounds": (0, 1)}
    laws = [
        quantile_law(y, 0.5, users=FRAME["user"], epsilon=epsilon, **given)
        for epsilon in (FRAME["eps"], FRAME["eps"].to_numpy(), OF_EACH, OF_EACH.to_dict())
    ]
    for law in laws[1:]:
        assert_array_equal(law.masses, laws[0].masses)
    with pytest.raises(ValueError, match=r"^epsilon must have the index of y"):
        quantile_law(y, 0.5, epsilon=FRAME["eps"].sort_index(), **given)
    with pytest.raises(ValueError, match=r"^users must have the index of y"):
        private_quantile(
            y,
            0.5,
            users=FRAME["user"].sort_index(),
            epsilon=1.0,
            rng=np.random.default_rng(0),
            **given,
        )
    with pytest.raises(ValueError, match=r"^epsilon must have the index of X"):
        gwa_weights(X, FRAME["user"], sigma2=1.0, epsilon=FRAME["eps"].sort_index(), width=1.0)


OTHER = FRAME.index[::-1]
OF_ROWS = pd.Series(np.linspace(0.1, 0.9, N), index=OTHER)  # names the rows in another way


@pytest.mark.parametrize(
    ("call", "name"),
    [
        (lambda: weighted_ridge(X, Y, 1.0, OF_ROWS), "weights"),
        (lambda: weighted_ridge(PLAIN["X"], Y, 1.0, OF_ROWS), "weights"),
        (lambda: leave_one_out(X, Y, 1.0, OF_ROWS), "weights"),
        (lambda: loss_moments(X, OF_ROWS, [0.0, 0.0], 1.0), "y"),
        (lambda: huber_ridge(X, Y, 1.0, OF_ROWS), "weights"),
        (lambda: ball_minimizer(X, Y, 1.0, OF_ROWS), "weights"),
        (lambda: error_bound(X, 1.0, OF_ROWS, eta=1.0, theta=1.0, sigma=0.0, delta=0.1), "weights"),
        (
            lambda: mean_square_error(X, 1.0, OF_ROWS, eta=1.0, theta=[0.0, 0.0], sigma=0.0),
            "weights",
        ),
        (lambda: tradeoff_weights(FRAME["size"].rank(), 1.0, OF_ROWS), "budgets"),
        (lambda: tradeoff_value(OF_ROWS, FRAME["size"].rank(), 1.0), "weights"),
        (lambda: quantile_rate(OF_ROWS, 0.5, FRAME["eps"]), "epsilon"),
        (
            lambda: quantile_law(FRAME["age"], 0.5, epsilon=1.0, bounds=(0, 1), weights=OF_ROWS),
            "weights",
        ),
        (lambda: gwa_weights(X, OF_ROWS, sigma2=1.0, epsilon=1.0, width=1.0), "users"),
        (lambda: gwa_program(X, OF_ROWS, sigma2=1.0, epsilon=1.0, width=1.0), "users"),
        (lambda: per_instance_epsilon(X, OF_ROWS, 1.0, 1.0, 1e-6), "y"),
        (lambda: explain(0, X, OF_ROWS, 1.0, 1.0, 1e-6), "y"),
        (lambda: ops_for_all(X, OF_ROWS, 1.0, 1.0, 1e-6), "y"),
        (lambda: posterior_certificate(X, OF_ROWS, [0.0, 0.0], gamma=1.0, h=1.0), "y"),
        (lambda: ops_profile(1.0, FRAME["age"], OF_ROWS), "scaled_residual"),
        (lambda: ops_epsilon(1e-6, FRAME["age"], OF_ROWS), "scaled_residual"),
        (lambda: grid_rate(FRAME["eps"], OF_ROWS, 0.5), "epsilon"),
    ],
)
def test_no_function_pairs_rows_that_are_named_in_two_ways(call, name):
    with pytest.raises(ValueError, match=f"^{name} must have the index of "):
        call()


def test_what_is_of_dask_is_refused_by_name_with_the_way_beyond_memory():
    import dask.array as da

    users = FRAME["user"].to_numpy()
    everything = PLAIN | {"epsilon": np.ones(N), "users": users}
    for model in SMALL:
        taken = inspect.signature(model.fit).parameters
        given = {name: column for name, column in everything.items() if name in taken}
        settings = model.get_params()
        if settings.get("label_mean_share") or settings.get("noise") == "grid":
            given.pop("users", None)  # these are for one row a person
        for name, column in given.items():
            with pytest.raises(TypeError, match=rf"^{name} must be in memory; .* `Sums`"):
                clone(model).fit(**given | {name: da.from_array(column)})


def test_a_memory_map_is_read_as_an_array(tmp_path):
    for name, column in PLAIN.items():
        np.save(tmp_path / f"{name}.npy", column)
    maps = {name: np.load(tmp_path / f"{name}.npy", mmap_mode="r") for name in PLAIN}
    model = PDPRidge(random_state=1, bounds=(0, 100), y_bounds=(-100, 100))
    expected = clone(model).fit(**PLAIN)
    assert_array_equal(clone(model).fit(**maps).coef_, expected.coef_)
    assert_array_equal(expected.predict(maps["X"]), expected.predict(PLAIN["X"]))
