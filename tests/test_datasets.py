"""Tables of the package against their sums, what is made of them, generators."""

import hashlib
import os
import re
import subprocess
import sys
import zipfile
from importlib import resources

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from course.autograder import _wheel
from lab import chapters
from lab.experiments import reviews
from lab.experiments.reviews import load_druglib
from pdpbook import datasets

SEED = 20240101
FOLDER = resources.files("pdpbook.datasets") / "data"
README = (FOLDER / "README.md").read_text(encoding="utf-8")
SUMS = {  # of the canonical form: what was parsed from the originals, before there were these files
    "medical-cost": "bf24b412bee5075f277201c613a5e45f2704a9c28bf9fe7e6638b2c05cb4a014",
    "lenses": "35b2b5f445d2187d30cd0bb978774b388237cb3e82fd8647a13c39a8dfd7cf6d",
    "concrete-slump": "9f94167632960bc29500fd8fc01b5856db2c3f4b5607ad12efa115444dd9e359",
    "automobile": "8eebf16fc70753072a706900f6f9d2e418e912a26cc7521efddb82498c57ea8f",
    "druglib": "763a9e340156826fec79c0cf81af5ec599af178776a6d36844f07bdb225b98d7",
}
PACKAGED = [name for name in SUMS if name != "druglib"]
COLUMNS = {  # rows; i is a whole number, f a float, s a string
    "medical-cost": (1338, "age:i sex:s bmi:f children:i smoker:s region:s charges:f"),
    "lenses": (24, "row:i age:i prescription:i astigmatic:i tear_rate:i class:i"),
    "concrete-slump": (
        103,
        "row:i cement:f slag:f fly_ash:f water:f superplasticizer:f coarse_aggregate:f "
        "fine_aggregate:f slump:f flow:f strength:f",
    ),
    "automobile": (
        205,
        "symboling:i normalized_losses:f make:s fuel_type:s aspiration:s num_of_doors:s "
        "body_style:s drive_wheels:s engine_location:s wheel_base:f length:f width:f height:f "
        "curb_weight:f engine_type:s num_of_cylinders:s engine_size:f fuel_system:s bore:f "
        "stroke:f compression_ratio:f horsepower:f peak_rpm:f city_mpg:f highway_mpg:f price:f",
    ),
    "druglib": (
        3107,
        "user:i rating:i effectiveness:i side_effects:i words_benefits:i words_side_effects:i "
        "words_comments:i",
    ),
}
LETTERS = {"int64": "i", "float64": "f", "str": "s"}


def needs(name):
    """Load a table, the one that only some machines have too."""
    try:
        return load_druglib() if name == "druglib" else datasets.load(name)
    except FileNotFoundError:
        assert name == "druglib"
        pytest.skip("needs druglib")


def canonical(frame):
    """A header, commas, shortest floats, line feeds."""
    return frame.to_csv(index=False, lineterminator="\n").encode()


# ------------------------------------------------------------------ tables


@pytest.mark.parametrize("name", SUMS)
def test_tables_have_the_canonical_sum(name):
    frame = needs(name)
    assert hashlib.sha256(canonical(frame)).hexdigest() == SUMS[name]
    rows, columns = COLUMNS[name]
    assert len(frame) == rows
    assert " ".join(f"{c}:{LETTERS[str(t)]}" for c, t in frame.dtypes.items()) == columns
    assert list(frame.index) == list(range(rows))


@pytest.mark.parametrize("name", PACKAGED)
def test_files_are_in_canonical_form_and_the_readme_has_their_sum(name):
    assert hashlib.sha256((FOLDER / f"{name}.csv").read_bytes()).hexdigest() == SUMS[name]
    (section,) = re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", README, re.M | re.S)
    assert f"`{SUMS[name]}`" in section
    for fact in ("Author, year", "DOI", "License", "Changed", "Obtained"):
        assert re.search(rf"^- \*\*{fact}:\*\* \S", section, re.M), fact
    rows, columns = COLUMNS[name]
    assert f"{rows} rows, {len(columns.split())} columns" in section


def test_the_folder_has_these_files_and_the_readme_no_other_table():
    files = {file.name for file in FOLDER.iterdir()}
    assert files == {"README.md", *(f"{name}.csv" for name in PACKAGED)}
    assert set(re.findall(r"^## (.+)", README, re.M)) == set(PACKAGED)


@pytest.mark.parametrize("name", PACKAGED)
def test_one_altered_digit_changes_the_sum(name):
    content = canonical(datasets.load(name))
    at = max(k for k, byte in enumerate(content) if chr(byte).isdigit())
    changed = b"1" if content[at : at + 1] != b"1" else b"2"
    altered = content[:at] + changed + content[at + 1 :]
    assert hashlib.sha256(altered).hexdigest() != SUMS[name]


def test_known_facts_of_the_tables():
    medical = datasets.load("medical-cost")
    assert f"{medical['charges'].mean():.6f}" == "13270.422265"
    assert medical.iloc[195].equals(medical.iloc[581])
    assert medical.notna().all(axis=None)
    cars = datasets.load("automobile")
    missing = cars.isna().sum()
    assert missing[missing > 0].to_dict() == {
        "normalized_losses": 41,
        "num_of_doors": 2,
        "bore": 4,
        "stroke": 4,
        "horsepower": 2,
        "peak_rpm": 2,
        "price": 4,
    }
    assert f"{cars['price'].mean():.6f}" == "13207.129353"
    assert cars["make"].nunique() == 22
    assert f"{datasets.load('concrete-slump')['strength'].mean():.6f}" == "36.039417"
    assert datasets.load("lenses")["class"].value_counts().to_dict() == {3: 15, 2: 5, 1: 4}


def test_known_facts_of_druglib():
    sizes = needs("druglib")["user"].value_counts()
    assert (len(sizes), sizes.max(), (sizes == 1).sum()) == (502, 63, 172)


def test_unknown_name_lists_the_known():
    with pytest.raises(
        ValueError, match=r"name must be one of 'medical-cost'.*'diabetes'; got 'x'"
    ):
        datasets.load("x")
    with pytest.raises(ValueError, match="name must be one of"):
        datasets.load(None)


# ------------------------------------------------------------------ druglib


@pytest.mark.parametrize("folder", [None, "", "missing", "."])
def test_without_druglib_the_error_says_what_to_do(folder, monkeypatch, tmp_path, capfd):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("PDPBOOK_DATA", raising=False)
    if folder is not None:
        monkeypatch.setenv("PDPBOOK_DATA", folder)
    with pytest.raises(FileNotFoundError) as failure:
        load_druglib()
    for part in ("druglib is not part", reviews.DRUGLIB_FILE, "PDPBOOK_DATA", repr(folder)):
        assert part in str(failure.value)
    assert capfd.readouterr() == ("", "")


def test_an_empty_variable_is_not_the_working_directory(monkeypatch, tmp_path):
    (tmp_path / reviews.DRUGLIB_FILE).write_text("user\n1\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PDPBOOK_DATA", "")
    with pytest.raises(FileNotFoundError, match="druglib is not part of the package"):
        load_druglib()


HEADER = ",".join(reviews.DRUGLIB_COLUMNS)


@pytest.mark.parametrize(
    ("content", "says"),
    [
        ("", "must hold whole numbers only"),
        ("<html>sign in first</html>", "must have the columns user, rating"),
        (f"{HEADER}\n0,9,5,1,10,20,\n", "must hold whole numbers only"),
        (f"{HEADER}\n0,9.5,5,1,10,20,30\n", "must hold whole numbers only"),
        (f"{HEADER}\n0,good,5,1,10,20,30\n", "must hold whole numbers only"),
        (f"rating,user{HEADER[11:]}\n9,0,5,1,10,20,30\n", "must have the columns user, rating"),
        (f"{HEADER},name\n0,9,5,1,10,20,30,1\n", "must have the columns user, rating"),
    ],
)
def test_something_else_under_that_name_is_refused(content, says, monkeypatch, tmp_path):
    (tmp_path / reviews.DRUGLIB_FILE).write_text(content)
    monkeypatch.setenv("PDPBOOK_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=rf"^{reviews.DRUGLIB_FILE} {says}"):
        load_druglib()


def test_druglib_is_read_from_the_folder(monkeypatch, tmp_path):
    (tmp_path / reviews.DRUGLIB_FILE).write_text(f"{HEADER}\n0,9,5,1,10,20,30\n")
    monkeypatch.setenv("PDPBOOK_DATA", str(tmp_path))
    assert load_druglib().to_numpy().tolist() == [[0, 9, 5, 1, 10, 20, 30]]


def test_the_variable_changes_no_other_table(monkeypatch, tmp_path):
    (tmp_path / "lenses.csv").write_text("age\n1\n")
    monkeypatch.setenv("PDPBOOK_DATA", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert datasets.load("lenses").shape == (24, 6)


# ------------------------------------------------------------------ elsewhere

ALL = f"""
import hashlib, os, socket, sys
def refuse(*args): raise OSError("no network")
socket.socket.connect = socket.getaddrinfo = refuse
import pdpbook.datasets as d
print(d.__file__)
for name in {PACKAGED}:
    text = d.load(name).to_csv(index=False, lineterminator="\\n")
    print(name, hashlib.sha256(text.encode()).hexdigest())
d.medical_cost_design(d.load("medical-cost"))
print([m for m in ("sklearn.datasets", "requests") if m in sys.modules])
"""


def elsewhere(folder, package):
    """Load everything in another folder, with no variable of ours, offline; returns the lines."""
    bare = {k: v for k, v in os.environ.items() if not k.startswith(("PDPBOOK_", "PYTHON"))}
    bare["PYTHONPATH"] = str(package)
    command = [sys.executable, "-c", ALL]
    done = subprocess.run(command, cwd=folder, env=bare, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def is_whole(lines, package):
    assert lines[0].startswith(str(package))
    assert lines[1:-1] == [f"{name} {SUMS[name]}" for name in PACKAGED]
    assert lines[-1] == "[]"  # no table is loaded by others


def test_everything_loads_from_anywhere_without_a_variable(tmp_path):
    package = resources.files("pdpbook").parent
    is_whole(elsewhere(tmp_path, package), package)


@pytest.mark.slow
def test_the_wheel_holds_the_tables_and_their_readme(tmp_path):
    with zipfile.ZipFile(_wheel(tmp_path)) as wheel:
        folders = {name.partition("/")[0] for name in wheel.namelist()}
        wheel.extractall(tmp_path / "site")
    assert {folder.partition("-")[0] for folder in folders} == {"pdpbook"}  # no course, no tests
    inside = tmp_path / "site" / "pdpbook" / "datasets" / "data"
    assert {p.name: p.read_bytes() for p in inside.iterdir()} == {
        p.name: p.read_bytes() for p in FOLDER.iterdir()
    }
    (tmp_path / "elsewhere").mkdir()
    is_whole(elsewhere(tmp_path / "elsewhere", tmp_path / "site"), tmp_path / "site")


# ------------------------------------------------------------------ designs


def test_medical_cost_design_follows_the_protocol():
    X, y = datasets.medical_cost_design(datasets.load("medical-cost"))
    assert X.shape == (1338, 12)
    assert list(X)[-1] == "constant"
    assert (X["constant"] == 1).all()
    assert X.min().min() == 0 == y.min()
    assert X.max().max() == 1 == y.max()
    groups = X.filter(regex="^(sex|smoker|region)_")
    assert (groups.sum(axis=1) == 3).all()
    assert [int(groups[c].sum()) for c in ("sex_female", "smoker_yes", "region_northeast")] == [
        662,
        274,
        324,
    ]
    assert_allclose((X**2).sum(axis=1).max(), 6.23, atol=0.005)  # peers.md: observed maximum


def test_diabetes_lies_inside_its_public_bounds():
    frame = datasets.load("diabetes")
    X, y, bounds, y_bounds = datasets.diabetes_design(frame)
    assert X.shape == (442, 10)
    assert bounds.shape == (10, 2)
    assert (X.to_numpy() >= bounds[:, 0]).all()
    assert (X.to_numpy() <= bounds[:, 1]).all()
    assert y.between(*y_bounds).all()


def test_diabetes_bounds_do_not_follow_the_data():
    frame = datasets.load("diabetes")
    _, _, bounds, y_bounds = datasets.diabetes_design(frame)
    _, _, fewer, y_fewer = datasets.diabetes_design(frame.iloc[:1] * 100)
    assert (bounds == fewer).all()
    assert y_bounds == y_fewer


# ------------------------------------------------------------------ generators


def test_ridge_data_lies_in_the_domain():
    X, y, theta = datasets.make_ridge_data(500, 7, rng=np.random.default_rng(SEED))
    assert X.shape == (500, 7)
    assert X.min() >= 0
    assert X.max() <= 1
    assert np.abs(y).max() <= 1
    assert_allclose(y, X @ theta)
    assert_allclose(np.linalg.norm(theta), 7**-0.5)


@pytest.mark.parametrize(
    ("n", "fractions", "counts"),
    [
        (80, (0.34, 0.43, 0.23), (27, 34, 19)),  # both training sets of the paper
        (1070, (0.34, 0.43, 0.23), (363, 460, 247)),
        (100, (0.29, 0.29, 0.42), (29, 29, 42)),  # 0.29 * 100 is below 29 in floats
        (1, (0.34, 0.43, 0.23), (0, 0, 1)),
    ],
)
def test_budgets_come_in_groups(n, fractions, counts):
    rng = np.random.default_rng(SEED)
    epsilon = datasets.sample_budgets(n, fractions=fractions, rng=rng)
    first, second, _ = counts
    assert epsilon.shape == (n,)
    assert np.all((epsilon[:first] >= 0.01) & (epsilon[:first] <= 0.2))
    assert np.all((epsilon[first : first + second] >= 0.2) & (epsilon[first : first + second] < 1))
    assert np.all(epsilon[first + second :] == 1)
    assert (epsilon == 1).sum() == counts[2]


def test_mean_budget_is_that_of_the_paper():
    epsilon = datasets.sample_budgets(200_000, rng=np.random.default_rng(SEED))
    # standard error sqrt(.34 * .19^2 / 12 + .43 * .8^2 / 12) / sqrt(200000) < 4e-4
    assert_allclose(epsilon.mean(), 0.5237, atol=5 * 4e-4)


@given(st.integers(1, 400), st.floats(1.01, 5), st.integers(0, 99))
def test_zipf_users_fill_the_rows(n, alpha, seed):
    users = datasets.sample_zipf_users(n, alpha, rng=np.random.default_rng(seed))
    sizes = np.bincount(users)
    assert users.shape == (n,)
    assert np.issubdtype(users.dtype, np.integer)
    assert np.all(np.diff(users) >= 0)
    assert sizes.min() >= 1
    assert sizes.max() <= max(1, n // 5)


def test_zipf_exponent_governs_the_sizes():
    rng = np.random.default_rng(SEED)
    sizes = np.bincount(datasets.sample_zipf_users(20_000, 2.0, largest=20_000, rng=rng))
    # P(size = 1) is 1 / zeta(2) = 6 / pi^2; standard error below 0.006 for 6000 users or more
    assert_allclose(np.mean(sizes == 1), 6 / np.pi**2, atol=5 * 0.006)


RNG = np.random.default_rng(SEED)


@pytest.mark.parametrize(
    ("call", "error", "says"),
    [
        (lambda: datasets.make_ridge_data(0, 1, rng=RNG), ValueError, "n must be at least 1"),
        (lambda: datasets.make_ridge_data(5, 1.5, rng=RNG), TypeError, "d must be a whole number"),
        (lambda: datasets.make_ridge_data(5, 2, rng=7), TypeError, "rng must be a numpy"),
        (
            lambda: datasets.sample_budgets(5, fractions=(0.5, 0.4, 0.2), rng=RNG),
            ValueError,
            "fractions must sum to 1; got 1.1",
        ),
        (
            lambda: datasets.sample_budgets(5, fractions=(0.5, 0.5), rng=RNG),
            ValueError,
            r"fractions must have shape \(3,\)",
        ),
        (
            lambda: datasets.sample_budgets(5, fractions=(1.5, -0.5, 0), rng=RNG),
            ValueError,
            "fractions must be finite and at least 0",
        ),
        (
            lambda: datasets.sample_budgets(5, levels=(0.2, 0.1, 1), rng=RNG),
            ValueError,
            "levels must not decrease",
        ),
        (
            lambda: datasets.sample_budgets(5, levels=(0, 0.1, 1), rng=RNG),
            ValueError,
            "levels must be finite and above 0",
        ),
        (lambda: datasets.sample_zipf_users(5, 1, rng=RNG), ValueError, "alpha must be above 1"),
        (lambda: datasets.sample_zipf_users(5, np.nan, rng=RNG), ValueError, "alpha must be fin"),
        (lambda: datasets.sample_zipf_users(5, 2, largest=0, rng=RNG), ValueError, "largest must"),
        (lambda: datasets.sample_zipf_users(5, 2, rng=None), TypeError, "rng must be a numpy"),
    ],
)
def test_bad_input(call, error, says):
    with pytest.raises(error, match=says):
        call()


def test_same_generator_same_draws():
    one, two = (
        datasets.sample_zipf_users(100, 1.5, rng=np.random.default_rng(SEED)) for _ in range(2)
    )
    assert (one == two).all()


# ------------------------------------------------------------------ the PAC experiments


@pytest.mark.parametrize(
    ("name", "shape", "rmse"),
    [
        ("lenses", (24, 4), 0.6336),
        ("concrete-slump", (103, 7), 0.3212),
        ("automobile", (201, 15), 0.3869),
        ("automobile, text", (201, 16), 0.3869),
        ("automobile, fifteen", (201, 15), 0.3803),
    ],
)
def test_pac_designs_are_standardized(name, shape, rmse):
    """In-sample errors of least squares as the data notes have them, to four digits."""
    X, y = chapters.pac_design(name)
    assert X.shape == shape
    assert_allclose(X.mean(), 0, atol=1e-12)
    assert_allclose(X.std(ddof=0), 1)
    assert_allclose((y.mean(), y.std(ddof=0)), (0, 1), atol=1e-12)
    Z = np.column_stack([X, np.ones(len(X))])
    residual = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    assert round(np.sqrt(np.mean(residual**2)), 4) == rmse


def test_words_of_the_automobiles_are_numbers():
    X, _ = chapters.pac_design("automobile, fifteen")
    assert X.num_of_cylinders.nunique() == 7
    assert X.num_of_doors.nunique() == 3  # two, four, and the mean of the known ones
    assert X.notna().all().all()


def test_gaps_of_the_automobiles_are_filled_before_cars_without_a_price_are_dropped():
    frame = datasets.load("automobile")
    known = frame.price.notna().to_numpy()
    X, y = chapters.pac_design("automobile", raw=True)
    assert list(X) == list(frame.drop(columns="price").select_dtypes("number"))
    assert_allclose(y, frame.price[known])
    for column, whole in [("bore", False), ("horsepower", True), ("normalized_losses", True)]:
        gaps = frame[column].isna().to_numpy()[known]
        mean = frame[column].mean()
        assert gaps.any()
        assert_allclose(X[column][gaps], np.floor(mean) if whole else mean)
    later, _ = chapters.pac_design("automobile, text", raw=True)
    gaps = frame["bore"].isna().to_numpy()[known]
    assert_allclose(later.bore[gaps], frame.bore[known].mean())


def test_no_design_for_other_tables():
    with pytest.raises(ValueError, match="name must be one of 'lenses', 'concrete-slump'"):
        chapters.pac_design("druglib")
