"""Tables that are hard for a private regression: sums, public facts, and that each is hard."""

import ast
import dataclasses
import hashlib
import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.ensemble import HistGradientBoostingRegressor

from lab.comparison import hard_tables
from lab.comparison.hard_tables import Number, PublicFacts, tables
from pdpbook.datasets import PublicSchema

ALL = {table.name: table for table in tables()}
DRAWN = ("households", "lungs", "commuters", "checkups", "rides")
WELL_KNOWN = ("diabetes", "medical cost", "concrete")
SUMS = {  # of `canonical`
    "households": "a9e2a28a20638dc375374b2bd983a21fa273d89bc8c9de24223d8c2ecdb46797",
    "lungs": "bd9ff56cdbf0e8ed061a694826b88dae60ecefb1458e58da57b87b684c1a5be3",
    "commuters": "b859d00b1957962a80b676acca9fb7644ecfc95c86aa5fb2c5c0a4519030f87a",
    "checkups": "9e8b37c844c4d0afeed56fb7c2812e5a8f3a20c96d3dc681364f4a525bd88d4d",
    "rides": "0f53783f41d93974b024a4b2ced55dea073eb10f86e1077e4fef62b43b182308",
    "diabetes": "3b271426c1bd56aebb217e16eb31a4b0f5a5669fe59258d6c6c65411a115cd22",
    "medical cost": "6e3894cf7d9210613f62c866684055decea694345cd4f244ecd7167041578c68",
    "concrete": "bce01123b039ba952c3f1f8cb92069a66b319d89d4b386d47822dc9c20c65493",
}


def canonical(frame):
    """SHA-256 of a table at twelve digits, which the last bits of a float do not reach."""
    text = frame.to_csv(index=False, float_format="%.12g", lineterminator="\n")
    return hashlib.sha256(text.encode()).hexdigest()


def features(table):
    """The columns to predict from."""
    return table.frame.drop(columns=[table.label, *([table.user] if table.user else [])])


def design(table):
    """Numbers with their mean where they are missing, a column for that, levels, a constant."""
    X = features(table)
    numbers = X[[name for name in X if name in table.public.limits]]
    missing = numbers.isna().to_numpy(dtype=float)
    found = [np.ones((len(X), 1)), numbers.fillna(numbers.mean()).to_numpy(dtype=float), missing]
    for name in table.public.levels:
        found.append((X[[name]].to_numpy() == np.array(table.public.levels[name])).astype(float))
    return np.hstack(found)


def least_squares(table):
    """Share of the variance that least squares explain, and the residuals."""
    A, y = design(table), table.frame[table.label].to_numpy(dtype=float)
    residuals = y - A @ np.linalg.lstsq(A, y, rcond=None)[0]
    return 1 - residuals.var() / y.var(), residuals


def broken(table):
    """What in a table is not as the public facts say."""
    wrong = []
    if [*table.public.columns] != [name for name in table.frame if name != table.user]:
        wrong.append("columns")
    for name, fact in table.public.columns.items():
        column = table.frame[name]
        if column.isna().any() and name not in table.public.may_miss:
            wrong.append(f"{name} is missing")
        there = column.dropna()
        fine = there.between(fact.low, fact.high) if isinstance(fact, Number) else there.isin(fact)
        if not fine.all():
            wrong.append(f"{name} is outside")
    return wrong


def with_cell(table, name, value):
    """The table with another value in its first row."""
    frame = table.frame.copy()
    frame[name] = frame[name].astype(object if isinstance(value, str) else float)
    frame.loc[0, name] = value
    return dataclasses.replace(table, frame=frame)


def test_there_are_eight():
    assert tuple(ALL) == DRAWN + WELL_KNOWN
    for table in ALL.values():
        assert table.label in table.public.limits
        assert table.label not in table.public.may_miss
        assert not table.frame.duplicated().all()
        assert (table.frame.index == np.arange(len(table.frame))).all()
    assert [name for name, table in ALL.items() if table.user] == ["rides"]


@pytest.mark.parametrize("name", DRAWN)
def test_sizes(name):
    assert 2_000 <= len(ALL[name].frame) <= 40_000
    assert 4 <= features(ALL[name]).shape[1] <= 15


# --- the same tables everywhere -------------------------------------------------------------------


def test_the_same_seed_gives_the_same_table():
    again = {table.name: table for table in tables()}
    assert all(again[name].frame.equals(ALL[name].frame) for name in ALL)
    assert {name: canonical(table.frame) for name, table in ALL.items()} == SUMS


@pytest.mark.parametrize("name", ALL)
def test_the_sum_sees_values_and_not_last_bits(name):
    frame = ALL[name].frame
    moved = frame.copy()
    for column in frame.select_dtypes("float"):
        moved[column] = frame[column] * (1 + 4e-16)
    assert frame.select_dtypes("float").empty or not moved.equals(frame)
    assert canonical(moved) == SUMS[name]
    label = ALL[name].label
    assert canonical(with_cell(ALL[name], label, frame[label][0] + 0.1).frame) != SUMS[name]


@pytest.mark.parametrize("name", DRAWN)
def test_another_seed_gives_another_table_and_the_same_facts(name):
    other = getattr(hard_tables, name)(seed=2024)
    assert canonical(other.frame) != SUMS[name]
    assert other.public is ALL[name].public
    assert broken(other) == []


def test_a_table_goes_to_another_process():
    table = pickle.loads(pickle.dumps(ALL["concrete"]))
    assert table.frame.equals(ALL["concrete"].frame)
    assert table.public == ALL["concrete"].public


# --- what is public -------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ALL)
def test_every_value_is_within_the_public_facts(name):
    assert broken(ALL[name]) == []


@pytest.mark.parametrize("name", sorted(ALL.keys() - {"checkups"}))
def test_a_public_schema_takes_every_table_without_missing_values(name):
    """By another road than `broken`: what the package refuses."""
    table = ALL[name]
    schema = PublicSchema({**table.public.limits, **table.public.levels}, table.label)
    frame = table.frame[[*table.public.columns]]
    X, bounds, y, _ = schema.encode(frame)
    assert X.shape == (len(frame), len(bounds))
    assert (y == frame[table.label]).all()


@pytest.mark.parametrize("name", ALL)
def test_planted_values_are_noticed(name):
    table = ALL[name]
    low, high = table.public.limits[table.label]
    assert broken(with_cell(table, table.label, high + 1)) == [f"{table.label} is outside"]
    assert broken(with_cell(table, table.label, low - 1)) == [f"{table.label} is outside"]
    assert broken(with_cell(table, table.label, np.nan)) == [f"{table.label} is missing"]
    for category in table.public.levels:
        assert broken(with_cell(table, category, "other")) == [f"{category} is outside"]
    extra = dataclasses.replace(table, frame=table.frame.assign(extra=1))
    assert broken(extra) == ["columns"]


@pytest.mark.parametrize("name", ALL)
def test_categories_are_words_and_numbers_have_units(name):
    table = ALL[name]
    for column, fact in table.public.columns.items():
        if isinstance(fact, Number):
            assert pd.api.types.is_numeric_dtype(table.frame[column])
            assert fact.low < fact.high
            assert fact.unit
        else:
            assert pd.api.types.is_string_dtype(table.frame[column].dropna())
            assert len(set(fact)) == len(fact) >= 2


def computed(source):
    """Guesses in a source that are not numbers written down at the top level of the module."""
    wrong = []
    tree = ast.parse(source)
    top = {id(node.value) for node in tree.body if isinstance(node, ast.Assign)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "PublicFacts":
            if id(node) not in top:
                wrong.append(f"line {node.lineno}: made in a function")
            for keyword in node.keywords:
                if keyword.arg != "may_miss" and not isinstance(keyword.value, ast.Constant):
                    wrong.append(f"line {keyword.lineno}: {keyword.arg}")
        stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
        if stored or getattr(node, "attr", "") in {"replace", "__setattr__"}:
            wrong.append(f"line {node.lineno}: changes what was made")
    return wrong


def test_guesses_are_constants():
    source = inspect.getsource(hard_tables)
    assert source.count("= PublicFacts(") == len(ALL)
    assert computed(source) == []
    facts = {id(value) for value in vars(hard_tables).values() if isinstance(value, PublicFacts)}
    assert {id(table.public) for table in ALL.values()} == facts


@pytest.mark.parametrize(
    "source",
    [
        "A = PublicFacts({}, label_mean=frame.x.mean())",
        "A = PublicFacts({}, r2=1 - a / b)",
        "def f():\n    return PublicFacts({}, r2=0.4)",
        "def f(t):\n    t.public = 1",
        "A = dataclasses.replace(B, r2=0.4)",
    ],
)
def test_planted_computed_guesses_are_noticed(source):
    assert computed(source)
    assert not computed("A = PublicFacts({}, label_mean=1.0, may_miss=(*B, 'c'))")


@pytest.mark.parametrize("name", ALL)
def test_guesses_are_rough(name):
    """One digit or two, inside the limits, and not what the table says to two digits."""
    table, y = ALL[name], ALL[name].frame[ALL[name].label]
    public = table.public
    for guess in (public.label_mean, public.label_spread, public.r2):
        assert float(f"{guess:.2g}") == guess
    low, high = public.limits[table.label]
    assert low < public.label_mean < high
    assert 0 < public.label_spread <= (high - low) / 2
    assert 0 < public.r2 < 1
    facts = (y.mean(), y.std(), least_squares(table)[0])
    guesses = (public.label_mean, public.label_spread, public.r2)
    assert [f"{fact:.2g}" for fact in facts] != [f"{guess:.2g}" for guess in guesses]


def test_what_is_returned_cannot_be_changed():
    with pytest.raises(dataclasses.FrozenInstanceError):
        ALL["rides"].label = "hour"
    with pytest.raises(dataclasses.FrozenInstanceError):
        ALL["rides"].public.r2 = 0.6


# --- what is hard ---------------------------------------------------------------------------------


@pytest.mark.parametrize("name", DRAWN)
@pytest.mark.parametrize("seed", [None, 2024])
def test_least_squares_explain_neither_nothing_nor_all(name, seed):
    table = ALL[name] if seed is None else getattr(hard_tables, name)(seed=seed)
    assert 0.1 <= least_squares(table)[0] <= 0.7


def bent(A, y):
    """What trees, fitted to the residuals of one half, see in the other, in standard errors."""
    half = np.arange(len(y)) % 2 == 0
    residuals = y - A @ np.linalg.lstsq(A[half], y[half], rcond=1e-8)[0]
    most = np.quantile(np.abs(residuals), 0.98)
    residuals = np.clip(residuals, -most, most)  # a tail decides nothing
    trees = HistGradientBoostingRegressor(max_iter=40, max_leaf_nodes=8, random_state=0)
    seen = trees.fit(A[half], residuals[half]).predict(A[~half]) * residuals[~half]
    return seen.mean() / (seen.std() / np.sqrt(len(seen)))


@pytest.mark.parametrize("name", DRAWN)
def test_the_truth_is_not_linear(name):
    A, y = design(ALL[name]), ALL[name].frame[ALL[name].label].to_numpy(dtype=float)
    assert bent(A, y) > 6
    rng = np.random.default_rng(0)
    straight = A @ rng.normal(size=A.shape[1])
    assert bent(A, straight + straight.std() * rng.normal(size=len(A))) < 4


def tail(values):
    """The largest value over the mean, and over the 99th percentile."""
    return values.max() / values.mean(), values.max() / np.quantile(values, 0.99)


@pytest.mark.parametrize("column", ["water_m3", "lot_m2"])
def test_households_have_heavy_tails(column):
    to_mean, to_percentile = tail(ALL["households"].frame[column])
    assert to_mean > 20
    assert to_percentile > 5


def test_an_ordinary_column_has_no_heavy_tail():
    to_mean, to_percentile = tail(ALL["lungs"].frame["vital_capacity_l"])
    assert to_mean < 4
    assert to_percentile < 2


def test_columns_of_lungs_are_correlated():
    def numbers(name):
        X = features(ALL[name])
        return X[[column for column in X if column in ALL[name].public.limits]]

    R = numbers("lungs").corr().to_numpy()
    pairs = np.abs(R[np.triu_indices(len(R), 1)])
    assert (pairs > 0.8).sum() >= 10
    assert np.linalg.cond(R) > 500
    assert np.linalg.cond(numbers("commuters").corr()) < 10


def test_the_body_mass_index_is_a_function_of_two_columns():
    frame = ALL["lungs"].frame
    again = frame["weight_kg"] / (frame["height_cm"] / 100) ** 2
    assert (again - frame["bmi_kg_m2"]).abs().max() < 0.0501  # rounded to a digit


def test_few_take_the_ferry_and_it_has_an_effect_of_its_own():
    """Standard errors: 3 minutes for the level, 1 minute a km for the slope; 5 of them."""
    frame = ALL["commuters"].frame
    on_it = frame["mode"] == "ferry"
    assert 0.003 < on_it.mean() < 0.01
    shares = frame["mode"].value_counts(normalize=True)
    assert shares.index[-1] == "ferry"
    A = np.column_stack([frame["distance_km"], on_it, np.ones(len(frame))]).astype(float)
    y = frame["commute_min"].to_numpy(dtype=float)
    assert np.linalg.lstsq(A, y, rcond=None)[0][1] > 25
    assert np.abs(np.polyfit(frame["distance_km"][on_it], y[on_it], 1)[0] - 0.5) < 5
    means = frame.groupby("mode")["commute_min"].mean()
    assert means.idxmax() == "ferry"
    assert means["ferry"] - means.drop("ferry").max() > 15
    without = frame.loc[~on_it, "commute_min"]
    assert abs(without.mean() - frame["commute_min"].mean()) < 0.5  # it hardly shows in the mean


def test_three_in_ten_values_are_missing():
    missing = features(ALL["checkups"]).isna()
    assert 0.28 <= missing.to_numpy().mean() <= 0.32
    shares = missing.mean()
    assert set(shares.index[shares > 0]) == set(ALL["checkups"].public.may_miss)
    assert shares[shares > 0].between(0.05, 0.7).all()
    assert missing.any(axis=1).mean() > 0.95  # almost no row is complete
    for name in ALL.keys() - {"checkups"}:
        assert not ALL[name].frame.isna().to_numpy().any()


def test_not_all_are_missing_completely_at_random():
    """Correlation of what is missing with age and label: 4 standard errors of 20,000 rows."""
    frame = ALL["checkups"].frame
    error = 1 / np.sqrt(len(frame))
    for other in ("age_years", "systolic_mmhg"):
        r = frame.isna().astype(float).corrwith(frame[other])
        for name in ("creatinine_mg_dl", "sodium_mmol_day", "heart_rate_bpm"):
            assert abs(r[name]) < 4 * error
        for name in ("hba1c_percent", "ldl_mg_dl", "bmi_kg_m2"):
            assert abs(r[name]) > 4 * error


def test_smokers_keep_silent():
    """By the value itself, which the table does not show: against the shares in the generator."""
    frame = ALL["checkups"].frame
    smokers = (frame["smoking"].dropna() == "current").mean()
    assert smokers < 0.19  # 0.226 by the shares that are drawn; standard error below 0.004


def test_rows_of_members_are_uneven():
    table = ALL["rides"]
    sizes = table.frame[table.user].value_counts()
    assert len(sizes) > 2_000
    assert sizes.median() <= 3
    assert sizes.max() > 500
    assert sizes.head(len(sizes) // 100).sum() > 0.2 * len(table.frame)
    once = table.frame.groupby(table.user)[["age_years", "ticket"]].nunique()
    assert (once == 1).all(axis=None)
    assert table.frame[table.user].str.fullmatch(r"M\d{5}").all()
    blocks = (table.frame[table.user] != table.frame[table.user].shift()).sum()
    assert blocks > 0.9 * len(table.frame)  # rows of one member do not stand together


def between(values, users):
    """Share of the variance that lies between users, without bias."""
    groups = pd.Series(values).groupby(np.asarray(users))
    sizes, k, n = groups.size(), groups.ngroups, len(values)
    within = ((sizes - 1) * groups.var().fillna(0)).sum() / (n - k)
    among = (sizes * (groups.mean() - values.mean()) ** 2).sum() / (k - 1)
    size = (n - (sizes**2).sum() / n) / (k - 1)
    variance = (among - within) / size
    return variance / (variance + within)


def test_rows_of_a_member_repeat_each_other():
    table = ALL["rides"]
    residuals = np.log(table.frame[table.label] / table.frame["distance_km"]).to_numpy()
    users = table.frame[table.user].to_numpy()
    assert between(residuals, users) > 0.05
    shuffled = np.random.default_rng(0).permutation(users)
    assert abs(between(residuals, shuffled)) < 0.01


def test_who_rides_often_rides_otherwise():
    table = ALL["rides"]
    sizes = table.frame[table.user].map(table.frame[table.user].value_counts())
    minutes = table.frame[table.label]
    assert minutes[sizes <= 3].mean() > 1.3 * minutes[sizes >= 100].mean()


def test_the_well_known_tables_are_those_of_the_package():
    assert {name: ALL[name].frame.shape for name in WELL_KNOWN} == {
        "diabetes": (442, 11),
        "medical cost": (1338, 7),
        "concrete": (103, 8),
    }
    assert round(float(ALL["medical cost"].frame["charges"].mean()), 6) == 13270.422265


def test_the_ingredients_of_concrete_fill_a_cubic_meter():
    X = features(ALL["concrete"])
    volumes = X @ [1 / 3150, 1 / 2900, 1 / 2300, 1 / 1000, 1 / 1100, 1 / 2600, 1 / 2600]
    assert volumes.std() / volumes.mean() < 0.03
