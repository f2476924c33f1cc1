"""Blocks that are tables: frames of pandas, whatever their columns are made of, and Parquet."""

import json
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lab.chapters import gwa_rows
from pdpbook.blocks import Rows
from pdpbook.per_instance import per_instance_epsilon, stream_per_instance
from pdpbook.personalized import PDPRidge

CHAPTER = Path(__file__).parents[1] / "book" / "synthesis" / "at_scale.ipynb"
N, CUT = 600, 90
EXACT = 1e-10  # what the book promises, relative; sums of 600 terms round at 1e-13
RNG = np.random.default_rng(8)
FEATURES = ["age", "dose", "visits", "smoker"]
PEOPLE = pd.DataFrame(
    {
        "age": RNG.random(N).astype(np.float32),
        "dose": RNG.random(N),
        "visits": RNG.integers(0, 2, N),
        "smoker": RNG.random(N) < 0.3,
        "y": RNG.uniform(-1, 1, N),
        "epsilon": RNG.choice([0.1, 0.5, 1.0], N),
        "user": [f"user {k}" for k in RNG.integers(0, 40, N)],
    }
)
X, Y, EPSILON = PEOPLE[FEATURES].to_numpy(float), PEOPLE.y.to_numpy(), PEOPLE.epsilon.to_numpy()
COLUMNS = (FEATURES, "y", "epsilon")
NAMES = ("X", "y", "epsilon")
NULLABLE = {
    "age": "Float32",
    "dose": "Float64",
    "visits": "Int64",
    "smoker": "boolean",
    "y": "Float64",
    "epsilon": "Float64",
}


def cut(frame, columns=COLUMNS):
    return [tuple(frame[c].iloc[k : k + CUT] for c in columns) for k in range(0, N, CUT)]


def fitted(*data, **given):
    return PDPRidge(0.2, random_state=7).fit(*data, **given).coef_


EXPECTED = fitted(X, Y, epsilon=EPSILON)


# --- frames: no file, no Arrow --------------------------------------------------------------------


@pytest.mark.parametrize("types", [{}, NULLABLE, {"visits": "Int8"}, {"smoker": "boolean"}])
def test_columns_of_any_numbers_are_the_same_people(types):
    frame = PEOPLE.astype(types)
    assert_allclose(fitted(Rows.from_blocks(cut(frame), NAMES)), EXPECTED, rtol=EXACT)
    assert_allclose(fitted(frame[FEATURES], frame.y, epsilon=frame.epsilon), EXPECTED, rtol=EXACT)


@pytest.mark.parametrize(
    ("column", "message"),
    [
        ("dose", r"in block 2, .* row 180: X must be finite; got X\[7, 1\] = nan"),
        ("y", r"in block 2, .* row 180: y must be finite; got y\[7\] = nan"),
        ("epsilon", r"in block 2, .* row 180: epsilon must be .* epsilon\[7\] = nan"),
    ],
)
@pytest.mark.parametrize("types", [{}, NULLABLE])
def test_a_missing_value_is_named(types, column, message):
    frame = PEOPLE.astype(types)
    frame.loc[2 * CUT + 7, column] = None
    model = PDPRidge()
    with pytest.raises(ValueError, match=message):
        model.fit(Rows.from_blocks(cut(frame), NAMES))
    assert not hasattr(model, "coef_")


def test_whole_numbers_of_which_one_is_missing_are_said():
    """Every block is read for itself, and only one of them turns into floats."""
    frame = PEOPLE.astype({"visits": "Int64"})
    frame.loc[2 * CUT + 7, "visits"] = pd.NA
    blocks = cut(frame, (["visits"], "y"))
    said = "one dtype; got int64 for X first, float64 in block 2. Whole numbers become floats where"
    with pytest.raises(TypeError, match=said):
        PDPRidge().fit(Rows.from_blocks(blocks))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"dose": PEOPLE.user}, "got str in column 'dose' of block 0"),
        ({"dose": PEOPLE.user.astype("category")}, "got category in column 'dose' of block 0"),
        ({"dose": pd.Timestamp("2026-01-01")}, r"got datetime64\[us\] in column 'dose' of block 0"),
        (
            {"smoker": PEOPLE.smoker.astype("boolean").where(PEOPLE.index != 100)},
            "got boolean in column 'smoker' of block 1",
        ),
    ],
)
def test_a_column_without_numbers_is_named_and_not_shown(change, message):
    with pytest.raises(TypeError, match=message) as caught:
        PDPRidge().fit(Rows.from_blocks(cut(PEOPLE.assign(**change)), NAMES))
    assert "X must have numbers in every column, or booleans of which none" in str(caught.value)
    assert "user" not in str(caught.value)


def test_names_that_floats_would_confuse_stay_apart():
    """Neighbors above 2^53 are one float."""
    users = pd.DataFrame({"user": 2**53 + np.arange(4), "again": 2**53 + np.arange(4)})
    (got,) = Rows.from_blocks([(users.astype("Int64"),)], ("users",)).each(lambda users: users)
    assert_array_equal(got, users.to_numpy())
    assert got.dtype == np.int64


def test_masks_of_several_subsets_stay_booleans():
    masks = pd.DataFrame(RNG.random((5, 3)) < 0.5)
    (got,) = Rows.from_blocks([masks.astype("boolean")], ("members",)).each(lambda members: members)
    assert_array_equal(got, masks.to_numpy())
    assert got.dtype == bool


# --- a Parquet file -------------------------------------------------------------------------------


def backed(table):
    return table.to_pandas(types_mapper=pd.ArrowDtype)


def nullable(table):
    return table.to_pandas().convert_dtypes(dtype_backend="numpy_nullable")


KINDS = {
    "pandas": lambda table: table.to_pandas(),
    "backed by Arrow": backed,
    "nullable": nullable,
    "Arrow": lambda table: table,
}


@pytest.fixture
def path(tmp_path):
    people = PEOPLE.assign(level=pd.Categorical(PEOPLE.user))
    people.to_parquet(tmp_path / "people.parquet", row_group_size=200)
    return tmp_path / "people.parquet"


def pieces(path, columns, kind):
    """What a file gives in batches: tables, and columns of them."""
    from pyarrow.parquet import ParquetFile

    for batch in ParquetFile(path).iter_batches(CUT):
        table = KINDS[kind](batch)
        choose = table.select if kind == "Arrow" else table.__getitem__
        yield tuple(choose(c) if isinstance(c, list) else table[c] for c in columns)


@pytest.mark.parametrize("kind", KINDS)
def test_a_parquet_file_holds_the_same_people(path, kind):
    rows = Rows.from_blocks(lambda: pieces(path, COLUMNS, kind), NAMES)
    assert_allclose(fitted(rows), EXPECTED, rtol=EXACT)
    stream = stream_per_instance(rows, 1.0, 4.0, 1e-5)
    report = per_instance_epsilon(X, Y, 1.0, 4.0, 1e-5)
    assert_allclose(stream.mean, report.epsilon.mean(), rtol=EXACT)
    given = {"sigma2": 0.3, "epsilon": 1.0, "width": 2.0}
    expected = gwa_rows([(X, PEOPLE.user)], **given).objective
    for users in ("user", "level"):  # text, and a dictionary
        found = gwa_rows(lambda users=users: pieces(path, (FEATURES, users), kind), **given)
        assert_allclose(found.objective, expected, rtol=2e-8)  # both are within 1e-8


def test_groups_of_rows_are_blocks(path):
    from pyarrow.parquet import ParquetFile

    file = ParquetFile(path)
    frames = [file.read_row_group(k).to_pandas() for k in range(file.num_row_groups)]
    blocks = [tuple(frame[column] for column in COLUMNS) for frame in frames]
    assert [len(y) for _, y, _ in blocks] == [200, 200, 200]
    assert_allclose(fitted(Rows.from_blocks(blocks, NAMES)), EXPECTED, rtol=EXACT)


@pytest.mark.parametrize("kind", KINDS)
def test_a_file_with_its_columns_in_another_order_is_refused(path, kind):
    def of_two_files():
        yield from pieces(path, COLUMNS, kind)
        yield from pieces(path, (FEATURES[::-1], "y", "epsilon"), kind)

    with pytest.raises(ValueError, match=r"the same columns in one order; got \['age', .* block 9"):
        fitted(Rows.from_blocks(of_two_files, NAMES))


@pytest.mark.parametrize("kind", KINDS)
def test_a_missing_user_of_a_file_is_named(path, kind):
    PEOPLE.assign(user=PEOPLE.user.where(PEOPLE.index != 100)).to_parquet(path)
    with pytest.raises(ValueError, match=r"in block 1, .* no missing label; users\[10\]"):
        gwa_rows(lambda: pieces(path, (FEATURES, "user"), kind), sigma2=1.0, epsilon=1.0, width=1.0)


def test_a_file_read_by_dask_holds_the_same_people(path):
    import dask.dataframe as dd

    table = dd.read_parquet(path)
    X, y, epsilon = (table[column].astype(float).to_dask_array() for column in COLUMNS)
    assert_allclose(fitted(X, y, epsilon=epsilon), EXPECTED, rtol=EXACT)
    with pytest.raises(TypeError, match=r"got DataFrame.* a frame of Dask has to_dask_array"):
        fitted(table[FEATURES], table["y"])


def test_the_lines_of_the_chapter_read_a_file(path):
    cells = json.loads(CHAPTER.read_text(encoding="utf-8"))["cells"]
    text = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "markdown")
    (code,) = re.findall(r"```python\n(.*?ParquetFile.*?)```", text, re.DOTALL)
    known = {"path": path, "features": FEATURES, "Rows": Rows}
    exec(code, known)
    assert_allclose(fitted(known["rows"]), EXPECTED, rtol=EXACT)
