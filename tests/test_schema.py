"""Tests of public schemas: what is encoded, what is refused, and that no bound is ever read."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pdpbook.datasets import EncodedTable, PublicSchema
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
    with pytest.raises(ValueError, match="no others; 'phone' extra$"):
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
        ({"a": (0, True)}, None, TypeError, r"columns\['a'\] must be a number"),
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
