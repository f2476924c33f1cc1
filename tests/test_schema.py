"""Tests of public schemas: what is encoded, what is refused, and that no bound is ever read."""

import datetime as dt
import io
import pickle
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.model_selection import cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks
from sklearn.utils.validation import check_is_fitted

from lab.comparison.hard_tables import checkups
from pdpbook.advice import CuratorWarning
from pdpbook.datasets import Dates, EncodedTable, Numbers, PublicSchema, Words
from pdpbook.datasets import schema as schema_module
from pdpbook.guarantees import BudgetAccount
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge

RULES = {
    "area": (20, 250),
    "heating": ["gas", "district", "heat pump"],
    "owner": ["no", "yes"],
    "energy": (0.0, 400.0),
}
SCHEMA = PublicSchema(RULES, label="energy")
CLIPPING = PublicSchema(RULES, label="energy", clip=True)


def table(**changes):
    frame = pd.DataFrame(
        {
            "area": [75, 120, 20, 250],
            "heating": ["gas", "heat pump", "district", "gas"],
            "owner": ["no", "yes", "yes", "no"],
            "energy": [200.0, 90.5, 0.0, 400.0],
        },
        index=["Adams", "Brown", "Clark", "Davis"],
    )
    return frame.assign(**changes)


# ---- what is encoded


def test_a_table_by_hand():
    encoded = SCHEMA.encode(table())
    assert isinstance(encoded, EncodedTable)
    assert list(encoded.X) == ["area", "heating=district", "heating=heat pump", "owner=yes"]
    assert encoded.X.to_numpy().tolist() == [
        [75, 0, 0, 0],
        [120, 0, 1, 1],
        [20, 1, 0, 1],
        [250, 0, 0, 0],
    ]
    assert encoded.bounds.tolist() == [[20, 250], [0, 1], [0, 1], [0, 1]]
    assert encoded.y.tolist() == [200, 90.5, 0, 400]
    assert encoded.y_bounds == (0, 400)
    assert list(encoded.X.index) == list(encoded.y.index) == list(table().index)
    assert set(encoded.X.dtypes) == {np.dtype(float)}
    assert SCHEMA.names == list(encoded.X)
    assert_allclose(SCHEMA.bounds, encoded.bounds)


def test_without_a_label_every_column_is_a_feature():
    encoded = PublicSchema(RULES).encode(table())
    assert list(encoded.X)[-1] == "energy"
    assert encoded.y is None
    assert encoded.y_bounds is None


def test_the_order_of_columns_is_that_of_the_schema():
    shuffled = table()[["energy", "owner", "area", "heating"]]
    pd.testing.assert_frame_equal(SCHEMA.encode(shuffled).X, SCHEMA.encode(table()).X)


def test_the_table_is_left_alone():
    frame = table()
    X = CLIPPING.encode(frame).X
    X.iloc[:] = 0
    pd.testing.assert_frame_equal(frame, table())


def test_rows_do_not_depend_on_one_another():
    """What makes the encoding harmless: person i alone decides their row, and nobody the bounds."""
    whole = SCHEMA.encode(table())
    for name in table().index:
        alone = SCHEMA.encode(table().loc[[name]])
        pd.testing.assert_frame_equal(alone.X, whole.X.loc[[name]])
        assert_allclose(alone.bounds, whole.bounds)


@given(st.lists(st.floats(20, 250), min_size=4, max_size=4))
def test_bounds_are_never_read_from_the_data(areas):
    assert_allclose(SCHEMA.encode(table(area=areas)).bounds, SCHEMA.bounds)


def test_a_schema_that_reads_its_bounds_would_be_caught():
    class Reading(PublicSchema):
        def encode(self, frame):
            encoded = super().encode(frame)
            return encoded._replace(bounds=np.array([encoded.X.min(), encoded.X.max()]).T)

    one = Reading(RULES, label="energy").encode(table())
    two = Reading(RULES, label="energy").encode(table(area=[75, 120, 20, 100]))
    assert not np.array_equal(one.bounds, two.bounds)


@pytest.mark.parametrize("dtype", ["category", "string", object])
def test_words_may_come_in_any_dtype(dtype):
    frame = table(heating=table().heating.astype(dtype))
    pd.testing.assert_frame_equal(SCHEMA.encode(frame).X, SCHEMA.encode(table()).X)


@pytest.mark.parametrize("dtype", ["Int64", "float32", "int16", "Float64"])
def test_numbers_may_come_in_any_dtype(dtype):
    frame = table(area=table().area.astype(dtype))
    pd.testing.assert_frame_equal(SCHEMA.encode(frame).X, SCHEMA.encode(table()).X)


def test_an_estimator_takes_the_result_as_it_is():
    X, bounds, y, y_bounds = SCHEMA.encode(table())
    model = PDPRidge(bounds=bounds, y_bounds=y_bounds, fit_intercept=True, random_state=1)
    model.fit(X, y, epsilon=[0.5, 1.0, 1.0, 2.0])
    assert model.feature_names_in_.tolist() == SCHEMA.names


# ---- what is refused


def test_clipping_is_asked_for():
    wide = table(area=[10.0, 120, 20, 999])
    with pytest.raises(
        ValueError,
        match=(
            r"column 'area' must lie in its public bounds \[20, 250\]; got 10 in row 'Adams' "
            r"\(2 of 4 are wrong\). Widen the public bounds, or pass clip=True"
        ),
    ):
        SCHEMA.encode(wide)
    assert CLIPPING.encode(wide).X.area.tolist() == [20, 120, 20, 250]


@pytest.mark.parametrize(
    ("changes", "kind", "words"),
    [
        (
            {"area": [75, np.nan, 20, np.nan]},
            ValueError,
            r"column 'area' must have no missing value; got nan in row 'Brown' \(2 of 4 .*public",
        ),
        (
            {"area": pd.array([75, pd.NA, 20, 30], dtype="Int64")},
            ValueError,
            "column 'area' must have no missing value; got <NA> in row 'Brown'",
        ),
        ({"energy": [1.0, np.nan, 2, 3]}, ValueError, "column 'energy' must have no missing"),
        ({"heating": ["gas", None, "gas", "gas"]}, ValueError, "column 'heating' must have no"),
        ({"area": [75, np.inf, 20, 30]}, ValueError, "column 'area' must hold finite numbers"),
        (
            {"heating": ["gas", "coal", "gas", "Gas"]},
            ValueError,
            r"'heating' must hold one of 'gas', 'district', 'heat pump'; got 'coal' in row "
            r"'Brown' \(2 of 4 are wrong\). Add it to the public list",
        ),
        ({"heating": [1, 2, 1, 1]}, ValueError, "got 1 in row 'Adams'"),
        ({"area": ["75", "unknown", "30", "40"]}, TypeError, "column 'area' must hold numbers"),
        ({"area": [True, False, True, True]}, TypeError, "column 'area' must hold numbers; got"),
        ({"area": [1 + 1j] * 4}, TypeError, "column 'area' must hold numbers; got"),
    ],
)
def test_what_does_not_fit_is_refused(changes, kind, words):
    with pytest.raises(kind, match=words):
        SCHEMA.encode(table(**changes))
    assert len(CLIPPING.encode(table(**changes)).X) == 4


def test_missing_and_repeated_columns_are_named():
    with pytest.raises(ValueError, match=r"no others; 'owner', 'energy' missing$"):
        SCHEMA.encode(table()[["area", "heating"]])
    with pytest.raises(ValueError, match=r"no others; 'phone' extra$"):
        CLIPPING.encode(table(phone=[1, 2, 3, 4]))
    with pytest.raises(ValueError, match="'area' missing; 'surface' extra"):
        SCHEMA.encode(table().rename(columns={"area": "surface"}))
    twice = pd.concat([table(), table()[["area"]]], axis=1)
    with pytest.raises(ValueError, match="'area' there twice"):
        SCHEMA.encode(twice)


def test_a_table_must_be_one_and_have_rows():
    with pytest.raises(ValueError, match="at least one row; got none"):
        SCHEMA.encode(table().iloc[:0])
    with pytest.raises(TypeError, match=r"frame must be a pandas.DataFrame; got ndarray"):
        SCHEMA.encode(table().to_numpy())
    with pytest.raises(TypeError, match="clip must be True or False; got 1"):
        PublicSchema(RULES, clip=1)


@pytest.mark.parametrize(
    ("rules", "label", "kind", "words"),
    [
        ([("area", (0, 1))], None, TypeError, "columns must map names to public rules"),
        ({1: (0, 1)}, None, TypeError, "columns must map names to public rules"),
        ({"a": (1, 0)}, None, ValueError, r"columns\['a'\] must have low < high"),
        ({"a": (0, np.nan)}, None, ValueError, r"columns\['a'\] must be finite"),
        ({"a": (0, True)}, None, TypeError, r"list the words \['false', 'true'\]"),
        ({"a": [False, True]}, None, TypeError, r"list the words \['false', 'true'\]"),
        ({"a": ["x", 1]}, None, TypeError, r"columns\['a'\] must be a pair"),
        ({"a": [[1, 2], [3]]}, None, TypeError, r"columns\['a'\] must be a pair"),
        ({"a": (0, 1, 2)}, None, TypeError, r"columns\['a'\] must be a pair"),
        ({"a": "yes"}, None, TypeError, r"columns\['a'\] must be a pair"),
        ({"a": None}, None, TypeError, r"columns\['a'\] must be a pair"),
        ({"a": ["yes"]}, None, ValueError, r"columns\['a'\] must list two or more categories"),
        ({"a": []}, None, ValueError, r"columns\['a'\] must list two or more categories"),
        ({"a": ["x", "x"]}, None, ValueError, "categories once each"),
        ({"a": (0, 1)}, "b", ValueError, "label must be one of the columns; got 'b'"),
        ({"a": ["x", "y"]}, "a", ValueError, "label must be a column of numbers; got 'a'"),
        ({"a": (0, 1)}, "a", ValueError, "at least one column besides the label"),
        ({}, None, ValueError, "at least one column besides the label"),
    ],
)
def test_rules_that_are_none_are_refused(rules, label, kind, words):
    with pytest.raises(kind, match=words):
        PublicSchema(rules, label=label)


def test_a_schema_does_not_change_with_the_mapping_it_came_from():
    rules = {"a": (0, 1), "b": ["x", "y"]}
    schema = PublicSchema(rules)
    rules["a"], rules["c"] = (0, 9), (0, 1)
    rules["b"].append("z")
    assert schema.names == ["a", "b=y"]
    assert schema.bounds.tolist() == [[0, 1], [0, 1]]


# ---- missing values, other words, dates


RICH = {
    "age": (18, 100),
    "creatinine": Numbers(0.2, 15, fill=1.0),
    "smoking": Words(["never", "former", "current", "missing"], fill="missing"),
    "ward": Words(["a", "b", "elsewhere"], other="elsewhere"),
    "admitted": Dates("2020-01-01", "2025-01-01", unit="weeks", fill="2020-01-15"),
    "sex": ["female", "male"],
    "pressure": Numbers(70, 250, fill=120),
}
PATIENTS = PublicSchema(RICH, label="pressure")
CLIPPED = PublicSchema(RICH, label="pressure", clip=True)


def patients(**changes):
    frame = pd.DataFrame(
        {
            "age": [30, 40, 50],
            "creatinine": [0.9, np.nan, 1.0],
            "smoking": ["current", None, "never"],
            "ward": ["b", "z", "a"],
            "admitted": pd.to_datetime(["2020-01-08 00:00", None, "2020-01-02 12:00"]),
            "sex": ["male", "female", "male"],
            "pressure": [130.0, np.nan, 110.0],
        },
        index=["Evans", "Frank", "Ghosh"],
    )
    return frame.assign(**changes)


@pytest.mark.parametrize("schema", [PATIENTS, CLIPPED], ids=["refuse", "clip"])
@pytest.mark.parametrize("ward", [["A", "B", "a"], [1, 2, 3], [1.5, 2.5, 3.5]])
def test_a_list_that_fits_hardly_anybody_is_pointed_out_beside_a_level_for_other_words(
    schema, ward
):
    count = sum(word not in ("a", "b") for word in ward)
    with pytest.warns(CuratorWarning, match=rf"^{count} of 3 values of column 'ward' are on no"):
        X = schema.encode(patients(ward=ward)).X
    assert X["ward=elsewhere"].sum() == count


@pytest.mark.filterwarnings("error::pdpbook.advice.Advice")
@pytest.mark.parametrize("ward", [["b", "z", "a"], ["elsewhere"] * 3])
def test_a_few_other_words_and_the_level_itself_need_no_advice(ward):
    PATIENTS.encode(patients(ward=ward))
    CLIPPED.encode(patients(ward=ward))


def test_missing_values_other_words_and_dates_by_hand():
    X, bounds, y, y_bounds = PATIENTS.encode(patients())
    by_hand = {
        "age": [30, 40, 50],
        "creatinine": [0.9, 1.0, 1.0],
        "creatinine=missing": [0, 1, 0],
        "smoking=former": [0, 0, 0],
        "smoking=current": [1, 0, 0],
        "smoking=missing": [0, 1, 0],
        "ward=b": [1, 0, 0],
        "ward=elsewhere": [0, 1, 0],
        "admitted": [1, 2, 1.5 / 7],
        "admitted=missing": [0, 1, 0],
        "sex=male": [1, 0, 1],
    }
    assert X.to_dict("list") == by_hand
    assert list(X.index) == ["Evans", "Frank", "Ghosh"]
    assert y.tolist() == [130, 120, 110]
    assert y_bounds == PATIENTS.y_bounds == (70, 250)
    assert bounds[PATIENTS.names.index("admitted")].tolist() == [0, 1827 / 7]
    assert bounds[PATIENTS.names.index("creatinine=missing")].tolist() == [0, 1]
    assert ((bounds[:, 0] <= X) & (bounds[:, 1] >= X)).all(axis=None)


@pytest.mark.parametrize(
    ("unit", "number"),
    [("hours", 36.0), ("days", 1.5), ("weeks", 1.5 / 7), ("years", 1.5 / 365.25)],
)
def test_a_date_is_a_number_of_units_since_its_origin(unit, number):
    rule = Dates("2024-01-01", "2025-01-01", origin="2024-02-28", unit=unit)
    assert rule.number("2024-02-29 12:00") == pytest.approx(number, rel=1e-15)
    schema = PublicSchema({"seen": rule})
    assert schema.transform(pd.DataFrame({"seen": ["2024-02-29T12:00"]})).seen[0] == rule.number(
        "2024-02-29 12:00"
    )
    assert schema.bounds.tolist() == [[rule.number("2024-01-01"), rule.number("2025-01-01")]]


MOMENT = dt.datetime(2024, 2, 29, 23, 59, 59, 999_999)


@pytest.mark.parametrize(
    "cell",
    [
        MOMENT,
        str(MOMENT),
        MOMENT.isoformat(),
        pd.Timestamp(MOMENT),
        np.datetime64(MOMENT),
        np.datetime64(MOMENT, "s"),
    ],
    ids=repr,
)
def test_dates_of_all_libraries_are_one_date(cell):
    schema = PublicSchema({"seen": Dates("1960-01-01", "2025-01-01", origin="2024-02-29")})
    whole = 86_399 / 86_400
    as_object = pd.DataFrame({"seen": pd.Series([cell], dtype=object)})
    assert schema.transform(as_object).seen[0] == whole
    as_inferred = pd.DataFrame({"seen": [cell]})
    assert schema.transform(as_inferred).seen[0] == whole


@given(st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2100, 1, 1)))
def test_a_column_of_dates_is_read_as_its_cells_are(moment):
    schema = PublicSchema({"seen": Dates("1900-01-01", "2100-01-01", origin="1970-01-01")})
    for unit in ("s", "ms", "us", "ns"):
        fast = pd.DataFrame({"seen": np.array([moment], dtype=f"datetime64[{unit}]")})
        slow = pd.DataFrame({"seen": pd.Series([moment], dtype=object)})
        pd.testing.assert_frame_equal(schema.transform(fast), schema.transform(slow))


# ---- with clip no cell raises, and each counts for itself


class Odd:
    """A cell that is nothing, and says so in an error of its own."""

    def __repr__(self):
        raise RuntimeError("no text")

    def __float__(self):
        raise RuntimeError("no number")

    def __eq__(self, other):
        raise RuntimeError("no comparison")

    __hash__ = None


NASTY = [
    *(None, np.nan, pd.NA, pd.NaT, np.inf, -np.inf, np.float32("nan"), np.longdouble("inf")),
    *(0, -1, 10**400, -(10**400), 1e308, -0.0, 5e-324, True, np.True_, 1 + 2j, np.int8(3)),
    *(Decimal("NaN"), Decimal("sNaN"), Decimal("1e999"), Decimal(40), Fraction(81, 2)),
    *(Fraction(10**400), "", " ", "nan", "inf", "-Infinity", "1e999", "40", " 40 ", "4_0"),
    *("unknown", "Male", "male ", "true", "\0", "\ud800", "x" * 9999, "a", "former", "missing"),
    *(b"a", [], {}, (1, 2), {1}, np.array([1.0, 2.0]), np.array(5.0), Odd(), object, float),
    *("2024-02-30", "2024-02-28", "2024-02-28 25:00", "2024-02-28T10:00Z", "99999-01-01"),
    *(dt.date(1, 1, 1), dt.date(9999, 12, 31), dt.datetime.max, dt.time(1), dt.timedelta(1)),
    *(dt.datetime(2024, 1, 1, tzinfo=dt.UTC), pd.Timestamp.max, pd.Timestamp.min),
    *(pd.Timestamp("2024-01-01", tz="Asia/Tokyo"), pd.Timedelta(1), pd.Period("2024-01")),
    *(np.datetime64("NaT"), np.timedelta64("NaT"), np.datetime64(10**15, "Y"), np.ma.masked),
    *(pd.Interval(0, 1), pd.Series([1, 2]), pd.DataFrame(), slice(3), Ellipsis, NotImplemented),
]
ANYTHING = st.one_of(
    st.sampled_from(NASTY),
    st.integers(),
    st.floats(),
    st.text(max_size=9),
    st.datetimes(),
    st.dates(),
    st.decimals(),
    st.complex_numbers(),
    st.binary(max_size=3),
)
ROWS = st.lists(st.fixed_dictionaries({name: ANYTHING for name in RICH}), min_size=1, max_size=4)


def as_objects(rows):
    """A table of cells as they are, which pandas has not looked at."""
    columns = {name: np.empty(len(rows), dtype=object) for name in RICH}
    for k, row in enumerate(rows):
        for name in RICH:
            columns[name][k] = row[name]
    return pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})


@pytest.mark.filterwarnings("ignore::pdpbook.advice.Advice")
@settings(max_examples=100)
@given(ROWS)
def test_with_clip_no_cell_raises_and_every_row_is_that_of_its_cells(rows):
    frame = as_objects(rows)
    X, bounds, y, (low, high) = CLIPPED.encode(frame)
    assert ((bounds[:, 0] <= X) & (bounds[:, 1] >= X)).all(axis=None)  # NaN is not
    assert ((low <= y) & (y <= high)).all()
    assert list(X) == CLIPPED.names
    for k in range(len(rows)):
        alone = CLIPPED.encode(as_objects(rows[k : k + 1]))
        assert_array_equal(alone.X.to_numpy()[0], X.to_numpy()[k])
        assert alone.y[0] == y[k]


def refusal(schema, frame):
    """What is said about a table, None if nothing."""
    try:
        schema.encode(frame)
    except (TypeError, ValueError) as error:
        return str(error)
    return None


@pytest.mark.filterwarnings("ignore::pdpbook.advice.Advice")
@pytest.mark.parametrize("cell", NASTY, ids=lambda cell: type(cell).__name__)
def test_every_nasty_cell_is_replaced_or_refused_by_a_sentence(cell):
    good = patients().iloc[0].to_dict()
    for name in RICH:
        bad = as_objects([good | {name: cell}])
        assert CLIPPED.encode(bad).X.shape == (1, len(CLIPPED.names))
        said = refusal(PATIENTS, bad)
        assert said is None or said.startswith(f"column {name!r} must ")
        assert said is None or len(said) < 300


def test_what_stands_in_the_place_of_what_does_not_fit():
    undeclared = PublicSchema(
        {"age": (18, 100), "sex": ["female", "male"], "seen": Dates("2024-01-01", "2024-01-03")},
        clip=True,
    )
    nothing = {"age": [None, "old", 7], "sex": ["male ", None, "male"], "seen": [None, "2023", 5]}
    with pytest.warns(CuratorWarning, match="clip=True replaced 3 of 3 values of column 'age'"):
        X = undeclared.transform(pd.DataFrame(nothing))
    assert X.to_numpy().tolist() == [[59, 0, 1], [59, 0, 1], [18, 1, 1]]
    with pytest.warns(CuratorWarning, match="of column 'age'"):
        X = CLIPPED.encode(
            patients(creatinine=["?", "inf", -5], ward=[1, None, "a"], age=[1] * 3)
        ).X
    assert X["creatinine"].tolist() == [1, 15, 0.2]
    assert X["creatinine=missing"].tolist() == [1, 0, 0]
    assert X["ward=elsewhere"].tolist() == [1, 0, 0]  # 1 is another word; nothing is none


TEXTS = [
    "30",
    "30.0",
    " 30",
    "3e1",
    "31.5",
    "unknown",
    "",
    "NA",
    "true",
    "True",
    "FALSE",
    "1",
    "01",
]
TEXTS += ["0", "a", "b", "2024-01-02", "inf", "-7", "1_0", "99999999999999999999", "2024-13-01"]
OF_FILES = {
    "number": Numbers(0, 50, fill=10),
    "word": Words(["a", "1", "true", "31.5", "2024-01-02", "?"], fill="a", other="?"),
    "date": Dates("2024-01-01", "2025-01-01", fill="2024-06-01"),
}


def from_file(rows):
    """What pandas makes of a file with these rows of texts; it looks at whole columns."""
    lines = [",".join(OF_FILES), *(",".join(row) for row in rows)]
    return pd.read_csv(io.StringIO("\n".join(lines)), skip_blank_lines=False)


def rows_differ(schema, tables):
    """Whether a row of the first table differs from that of its cells alone, the others."""
    whole, *alone = tables
    X = schema.transform(whole).to_numpy()
    return any(
        not np.array_equal(schema.transform(one)[:].to_numpy()[0], row)
        for one, row in zip(alone, X, strict=True)
    )


OF_FILE = PublicSchema(OF_FILES, clip=True)
LINES = st.lists(st.tuples(*[st.sampled_from(TEXTS)] * 3), min_size=1, max_size=4)


@pytest.mark.filterwarnings("ignore::pdpbook.advice.Advice")
@settings(max_examples=100)
@given(LINES)
def test_no_row_of_a_file_changes_how_others_are_read(lines):
    """Pandas types a column by all its rows: one "unknown" makes every number of it a text."""
    tables = [from_file(lines), *(from_file([line]) for line in lines)]
    assert not rows_differ(OF_FILE, tables)
    as_text = (
        from_file(lines)
        .iloc[:, :0]
        .assign(**{name: [line[k] for line in lines] for k, name in enumerate(OF_FILES)})
    )
    as_text = as_text.replace({"": None, "NA": None})
    assert_array_equal(OF_FILE.transform(as_text), OF_FILE.transform(tables[0]))


ONE_UNKNOWN = [("30", "1", "2024-01-02"), ("unknown", "a", "")]


@pytest.mark.filterwarnings("ignore::pdpbook.advice.Advice")
def test_a_schema_that_goes_by_the_type_of_a_column_would_be_caught(monkeypatch):
    tables = [from_file(ONE_UNKNOWN), *(from_file([line]) for line in ONE_UNKNOWN)]
    assert not rows_differ(OF_FILE, tables)
    read = schema_module._read_number

    def numbers_alone(cell):
        return (np.nan, schema_module.OTHER_KIND) if isinstance(cell, str) else read(cell)

    monkeypatch.setattr(schema_module, "_read_number", numbers_alone)
    assert rows_differ(OF_FILE, tables)


class FilledByMean(PublicSchema):
    """Planted: what is missing becomes the mean of the others."""

    def transform(self, X):
        design = super().transform(X)
        missing = design["creatinine=missing"] == 1
        return design.assign(creatinine=design.creatinine.mask(missing, design.creatinine.mean()))


class OutsideOfTheTable(PublicSchema):
    """Planted: clipped to the least and the largest value of the table."""

    def transform(self, X):
        ages = pd.to_numeric(X.age)
        return super().transform(X).assign(age=ages.clip(ages.min(), ages.quantile(0.9)))


class MarksWhatIsMissing(PublicSchema):
    """Planted: a column says what is missing only if something is."""

    def transform(self, X):
        design = super().transform(X)
        idle = [name for name in design if name.endswith("=missing") and not design[name].any()]
        return design.drop(columns=idle)


@pytest.mark.parametrize("kind", [FilledByMean, OutsideOfTheTable, MarksWhatIsMissing])
def test_a_schema_that_reads_other_rows_would_be_caught(kind):
    frame = patients().drop(columns="pressure")
    rules = {name: rule for name, rule in RICH.items() if name != "pressure"}
    tables = [frame, *(frame.iloc[[k]] for k in range(len(frame)))]
    assert not rows_differ(PublicSchema(rules), tables)
    assert rows_differ(kind(rules), tables)


# ---- all faults at once


def test_all_faults_of_a_table_are_in_one_message():
    bad = patients(
        age=[300, -1, 50],
        smoking=["x", None, "y"],
        admitted=["2019-01-01", "soon", None],
        sex=pd.Series(["m", None, "male"], patients().index, dtype=object),
        creatinine=["high", np.inf, 99],
        pressure=[60.0, None, 110.0],
    ).drop(columns="ward")
    columns = "'age', 'creatinine', 'smoking', 'ward', 'admitted', 'sex', 'pressure'"
    wider = "Widen the public bounds, or pass clip=True"
    to_the_list = "Add it to the public list, or map it to one by a public rule"
    assert refusal(PATIENTS, bad.assign(phone=1)).split("\n- ") == [
        "frame has 11 faults:",
        f"frame must have the columns {columns} and no others; 'ward' missing; 'phone' extra",
        "column 'age' must lie in its public bounds [18, 100]; got 300 in row 'Evans' "
        f"(2 of 3 are wrong). {wider}",
        "column 'creatinine' must hold numbers; got 'high' in row 'Evans' (1 of 3 are wrong)",
        "column 'creatinine' must hold finite numbers; got inf in row 'Frank' (1 of 3 are wrong)",
        "column 'creatinine' must lie in its public bounds [0.2, 15]; got 99 in row 'Ghosh' "
        f"(1 of 3 are wrong). {wider}",
        "column 'smoking' must hold one of 'never', 'former', 'current', 'missing'; got 'x' in "
        f"row 'Evans' (2 of 3 are wrong). {to_the_list}",
        "column 'admitted' must hold dates such as '2024-12-31', without a time zone; got "
        "'soon' in row 'Frank' (1 of 3 are wrong)",
        "column 'admitted' must lie in its public bounds [2020-01-01, 2025-01-01]; got "
        f"'2019-01-01' in row 'Evans' (1 of 3 are wrong). {wider}",
        "column 'sex' must have no missing value; got None in row 'Frank' (1 of 3 are wrong). "
        "Give the column a public fill; dropping the row would be a rule that reads the data",
        "column 'sex' must hold one of 'female', 'male'; got 'm' in row 'Evans' (1 of 3 are "
        f"wrong). {to_the_list}",
        "column 'pressure' must lie in its public bounds [70, 250]; got 60 in row 'Evans' "
        f"(1 of 3 are wrong). {wider}",
    ]


def test_faults_of_kind_alone_are_a_type_error():
    with pytest.raises(TypeError, match="frame has 2 faults"):
        PATIENTS.encode(patients(age=["x"] * 3, admitted=[5] * 3))


def test_with_clip_only_columns_are_refused():
    bad = patients(age=["x"] * 3, phone=1).drop(columns="sex")
    with pytest.raises(ValueError, match=r"no others; 'sex' missing; 'phone' extra$"):
        CLIPPED.encode(bad)
    with pytest.raises(
        ValueError, match=r"'pressure' extra. 'pressure' is the label: pass it as y"
    ):
        CLIPPED.transform(patients())


def test_an_empty_table_says_so_beside_its_columns():
    with pytest.raises(
        ValueError, match=r"has 2 faults:\n- .* 'sex' missing\n- .*at least one row"
    ):
        PATIENTS.encode(patients().drop(columns="sex").iloc[:0])


@pytest.mark.parametrize(
    ("make", "kind", "words"),
    [
        (lambda: Numbers(5, 5), ValueError, r"\(low, high\) must have low < high"),
        (lambda: Numbers(0, 1, fill=2), ValueError, r"fill must lie in the bounds \[0, 1\]; got 2"),
        (lambda: Numbers(0, 1, fill=np.nan), ValueError, "fill must be finite"),
        (lambda: Numbers(0, 1, fill=True), TypeError, "fill must be a number"),
        (lambda: Numbers(0, 1, fill=[0.5]), ValueError, "fill must be a single number"),
        (lambda: Words("ab"), TypeError, "levels must be a list of words"),
        (lambda: Words([]), ValueError, "levels must list two or more"),
        (lambda: Words(["x", 1]), TypeError, "levels must be a list of words"),
        (lambda: Words(["1", "01"]), ValueError, "each number and truth value once"),
        (lambda: Words(["True", "true"]), ValueError, "each number and truth value once"),
        (lambda: Words(["x", "y"], fill="z"), ValueError, "fill must be one of 'x', 'y'; got 'z'"),
        (lambda: Words(["x", "y"], other="z"), ValueError, "other must be one of 'x', 'y'"),
        (lambda: Dates("2024-01-02", "2024-01-01"), ValueError, "first must be before last"),
        (lambda: Dates("2024-01-01", None), ValueError, "last must be a date such as"),
        (lambda: Dates("2024-01-01", "2024-13-01"), ValueError, "last must be a date such as"),
        (lambda: Dates("2024-01-01", "2025-01-01", unit="d"), ValueError, "unit must be one of"),
        (
            lambda: Dates("2024-01-01", "2025-01-01", origin="x"),
            ValueError,
            "origin must be a date",
        ),
        (lambda: Dates("2024-01-01", "2025-01-01", fill="2026-01-01"), ValueError, "fill must lie"),
        (lambda: Dates(pd.NaT, "2025-01-01"), ValueError, "first must be a date"),
        (
            lambda: PublicSchema({"a": ["x", "y"], "a=y": (0, 1)}),
            ValueError,
            "columns must have different names in the design; got 'a=y' twice",
        ),
        (
            lambda: PublicSchema({"a": Numbers(0, 1, fill=0), "a=missing": (0, 1)}),
            ValueError,
            "got 'a=missing' twice",
        ),
        (
            lambda: PublicSchema({"a": (0, 1), "b": Dates("2024-01-01", "2025-01-01")}, "b"),
            ValueError,
            "label must be a column of numbers; got 'b'",
        ),
        (lambda: PublicSchema({"a": (0, 1)}, clip="yes"), TypeError, "clip must be True or False"),
        (lambda: PublicSchema({"a": (0, 1)}, label=3), ValueError, "label must be one of the col"),
    ],
)
def test_wrong_rules_are_refused_by_the_name_of_the_setting(make, kind, words):
    with pytest.raises(kind, match=words):
        make()


# ---- as a transformer of scikit-learn


APPLY = [
    "check_estimator_cloneable",
    "check_estimator_repr",
    "check_estimator_tags_renamed",
    "check_valid_tag_types",
    "check_mixin_order",
    "check_no_attributes_set_in_init",
    "check_get_params_invariance",
    "check_parameters_default_constructible",
    "check_dont_overwrite_parameters",
    "check_estimators_overwrite_params",
    "check_estimators_fit_returns_self",
    "check_fit_check_is_fitted",
    "check_readonly_memmap_input",
]


@pytest.mark.parametrize("name", APPLY)
def test_scikit_learn_checks_that_need_no_array(name):
    """The others pass arrays, whose columns have no names."""
    getattr(estimator_checks, name)("PublicSchema", PATIENTS)


def test_a_fit_learns_nothing_and_looks_at_nothing():
    schema = clone(PATIENTS)
    before = pickle.dumps(schema)
    assert schema.fit("no table", object()) is schema
    assert pickle.dumps(schema) == before
    check_is_fitted(clone(schema))
    X = patients().drop(columns="pressure")
    pd.testing.assert_frame_equal(schema.fit_transform(X, None), clone(schema).transform(X))
    pd.testing.assert_frame_equal(pickle.loads(before).transform(X), schema.transform(X))


def test_encode_and_transform_make_one_design():
    whole, X = patients(), patients().drop(columns="pressure")
    pd.testing.assert_frame_equal(PATIENTS.encode(whole).X, PATIENTS.transform(X))
    assert (
        PATIENTS.get_feature_names_out().tolist() == PATIENTS.names == list(PATIENTS.transform(X))
    )
    assert PATIENTS.get_feature_names_out(list(X)[::-1]).tolist() == PATIENTS.names
    with pytest.raises(ValueError, match="input_features must have the columns"):
        PATIENTS.get_feature_names_out(["age"])
    assert PATIENTS.feature_names_in_.tolist() == list(X)
    assert PATIENTS.n_features_in_ == X.shape[1]


def test_settings_are_checked_before_they_change():
    schema = clone(PATIENTS)
    assert schema.set_params(clip=True) is schema
    assert schema.clip
    with pytest.raises(ValueError, match="label must be one of the columns"):
        schema.set_params(clip=False, label="nothing")
    assert schema.clip
    assert schema.label == "pressure"
    with pytest.raises(TypeError, match="unexpected keyword argument"):
        schema.set_params(fill=3)
    other = clone(schema).set_params(columns={"a": (0, 1)}, label=None)
    assert other.names == ["a"]
    assert schema.names == PATIENTS.names


def test_a_clone_shares_nothing():
    schema = clone(PATIENTS).set_output(transform="pandas")
    copy = clone(schema).set_output(transform="default")
    copy.columns["age"] = (0, 1)
    assert schema.columns["age"] == (18, 100)
    assert schema._sklearn_output_config == {"transform": "pandas"}


def test_containers_may_be_chosen():
    X = patients().drop(columns="pressure")
    for container in ("default", "pandas"):
        schema = clone(PATIENTS).set_output(transform=container)
        pd.testing.assert_frame_equal(schema.fit_transform(X), PATIENTS.transform(X))


def people(n=400):
    rng = np.random.default_rng(5)
    frame = pd.DataFrame(
        {
            "age": rng.integers(18, 100, n),
            "creatinine": np.where(rng.random(n) < 0.3, np.nan, rng.uniform(0.5, 2, n)),
            "smoking": rng.choice(["never", "former", "current", None], n),
            "ward": rng.choice(["a", "b", "c"], n),
            "admitted": pd.Timestamp("2021-01-01") + pd.to_timedelta(rng.integers(0, 900, n), "D"),
            "sex": rng.choice(["female", "male"], n),
        },
        index=[f"p{k}" for k in range(n)],
    )
    return frame, pd.Series(90 + 0.5 * frame.age, index=frame.index, name="pressure")


def test_in_a_pipeline_names_of_people_reach_the_account():
    X, y = people()
    model = ObjectivePerturbation(
        0.1, epsilon=5.0, bounds=PATIENTS.bounds, y_bounds=PATIENTS.y_bounds, random_state=0
    )
    account = BudgetAccount(pd.Series(5.0, index=X.index[::-1]), neighbors="replace-one")
    pipeline = make_pipeline(PATIENTS, model).fit(X, y, objectiveperturbation__account=account)
    assert account.spent.sum() == pytest.approx(5.0 * len(X))
    encoded = PATIENTS.encode(X.assign(pressure=y))
    alone = clone(model).fit(encoded.X, encoded.y)
    assert_array_equal(pipeline[-1].coef_, alone.coef_)
    assert pipeline[-1].feature_names_in_.tolist() == PATIENTS.names
    assert_array_equal(pipeline.predict(X), alone.predict(encoded.X))
    assert pipeline[:-1].get_feature_names_out().tolist() == PATIENTS.names


@pytest.mark.filterwarnings("ignore::pdpbook.advice.Advice")
def test_cross_validation_predicts_for_everybody():
    X, y = people()
    X.loc["p3", "age"], y["p5"] = 1000, np.nan
    model = ObjectivePerturbation(
        *(0.01,),
        epsilon=1e3,
        bounds=CLIPPED.bounds,
        y_bounds=CLIPPED.y_bounds,
        fit_intercept=True,
        clip=True,
        random_state=0,
    )
    predicted = cross_val_predict(make_pipeline(CLIPPED, model), X, y, cv=4)
    assert predicted.shape == y.shape
    assert np.isfinite(predicted).all()
    assert np.corrcoef(predicted, y.fillna(160))[0, 1] > 0.9


def test_in_a_column_transformer():
    X, _ = people(20)
    rules = {name: RICH[name] for name in ("ward", "age")}
    both = ColumnTransformer(
        [
            ("public", PublicSchema(rules), ["age", "ward"]),
            ("sex", PublicSchema({"sex": RICH["sex"]}), ["sex"]),
        ],
        verbose_feature_names_out=False,
    )
    both.set_output(transform="pandas")
    whole = PublicSchema({**rules, "sex": RICH["sex"]}).transform(X[["age", "ward", "sex"]])
    pd.testing.assert_frame_equal(clone(both).fit(X).transform(X), whole)


# ---- a table of which three cells in ten are missing


def test_checkups_encode():
    table = checkups()
    facts = table.public
    rules = {}
    for name, fact in facts.columns.items():
        may_miss = name in facts.may_miss
        if name in facts.limits:
            middle = (fact.low + fact.high) / 2
            rules[name] = Numbers(fact.low, fact.high, fill=middle if may_miss else None)
        else:
            rules[name] = Words([*fact, "missing"], fill="missing") if may_miss else list(fact)
    X, bounds, y, _ = PublicSchema(rules, table.label).encode(table.frame)
    missing = table.frame[[*facts.may_miss]].isna()
    assert_array_equal(X[[f"{name}=missing" for name in facts.may_miss]] == 1, missing)
    assert missing.to_numpy().mean() > 0.2
    assert ((bounds[:, 0] <= X) & (bounds[:, 1] >= X)).all(axis=None)
    assert (y == table.frame[table.label]).all()
    refused = PublicSchema({**facts.limits, **facts.levels}, table.label)
    with pytest.raises(ValueError, match=f"frame has {len(facts.may_miss)} faults"):
        refused.encode(table.frame)


# ---------------------------------------------------------------- what a stranger handed in

YEAR = ("2025-01-01", "2025-12-31")


@pytest.mark.parametrize(
    "rule",
    [
        Numbers(0, 9, fill=1),
        Words(["a", "5"], fill="a"),
        Dates("2025-01-01", "2025-12-31", fill="2025-06-01"),
    ],
)
@pytest.mark.parametrize(
    "cell",
    [np.timedelta64(5, "ns"), np.timedelta64(5, "D"), np.datetime64(5, "as"),
     np.datetime64(7, "ps"), np.datetime64(10**12, "Y"), np.datetime64(-(10**12), "Y"),
     np.datetime64(2**60, "D")],
    ids=str,
)  # fmt: skip
def test_times_of_numpy_are_total_and_alone_as_among_others(rule, cell):
    schema = PublicSchema({"x": rule}, clip=True)

    def first(*others):
        frame = pd.DataFrame({"x": pd.Series([cell, *others], dtype=object)})
        return schema.transform(frame).iloc[0].to_numpy()

    for other in (3, "a", "2025-02-01", np.timedelta64(7, "ns"), None):
        assert_array_equal(first(other), first())


def test_a_date_beyond_the_calendar_is_clipped_and_does_not_wrap_around():
    schema = PublicSchema({"x": Dates("2025-01-01", "2025-12-31")}, clip=True)
    cells = [np.datetime64(10**12, "Y"), np.datetime64(2**60, "D"), np.datetime64(-(10**12), "Y")]
    found = schema.transform(pd.DataFrame({"x": pd.Series(cells, dtype=object)}))
    assert_array_equal(found["x"], [364, 364, 0])
