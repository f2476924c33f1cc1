"""Real tables under a checksum, generated ones under a generator."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose

from pdpbook import datasets
from pdpbook.datasets import originals

SEED = 20240101
ORIGINALS = Path(__file__).resolve().parents[2] / "shared" / "data"
SHAPES = {
    "medical-cost": (1338, 7),
    "lenses": (24, 6),
    "concrete-slump": (103, 11),
    "automobile": (205, 26),
    "druglib": (3107, 7),
}


def original(name):
    path = ORIGINALS / originals.SOURCES[name].file
    if not path.is_file():
        pytest.skip(f"original data not at hand: {name}")
    return path.read_bytes()


@pytest.fixture
def nothing_at_hand(monkeypatch, tmp_path):
    """No folder, an empty cache, no network."""
    monkeypatch.delenv("PDPBOOK_DATA", raising=False)
    monkeypatch.delenv("PDPBOOK_STAND_IN", raising=False)
    monkeypatch.setattr(originals, "_cache", lambda: tmp_path / "cache")
    monkeypatch.setattr(originals, "_download", lambda url, source: None)
    return monkeypatch


# ------------------------------------------------------------------ originals


@pytest.mark.parametrize("name", list(SHAPES))
def test_originals_have_the_canonical_checksum(name, nothing_at_hand):
    original(name)
    nothing_at_hand.setenv("PDPBOOK_DATA", str(ORIGINALS))
    frame = datasets.load(name)
    assert frame.shape == SHAPES[name]
    assert datasets.canonical_checksum(frame) == originals.SOURCES[name].checksum
    assert {str(t) for t in frame.dtypes} <= {"int64", "float64", "str"}
    assert frame.attrs == {"name": name, "stand_in": False}


@pytest.mark.parametrize("name", list(SHAPES))
def test_one_altered_digit_is_refused(name, nothing_at_hand, tmp_path):
    content = original(name)
    file = originals.SOURCES[name].file
    at = max(k for k, byte in enumerate(content) if chr(byte).isdigit())
    changed = b"1" if content[at : at + 1] != b"1" else b"2"
    (tmp_path / file).write_bytes(content[:at] + changed + content[at + 1 :])
    nothing_at_hand.setenv("PDPBOOK_DATA", str(tmp_path))
    pattern = (
        rf"{file} must have the canonical sha256 {originals.SOURCES[name].checksum}; got [0-9a-f]"
    )
    with pytest.raises(ValueError, match=pattern):
        datasets.load(name)


def test_white_space_and_line_ends_do_not_matter(nothing_at_hand, tmp_path):
    content = original("medical-cost").replace(b"\n", b"\r\n") + b"\r\n"
    (tmp_path / "insurance.csv").write_bytes(content)
    nothing_at_hand.setenv("PDPBOOK_DATA", str(tmp_path))
    assert datasets.load("medical-cost").shape == (1338, 7)


@pytest.mark.parametrize(
    ("content", "found"),
    [
        (b"", "got [0-9a-f]{64}"),  # an empty table, and so is a lone header
        (b"<html>sign in first</html>", "got [0-9a-f]{64}"),
        (b"a,b\n1,x\n", "cannot be read"),
    ],
)
def test_something_else_under_that_name_is_refused(content, found, nothing_at_hand, tmp_path):
    (tmp_path / "insurance.csv").write_bytes(content)
    nothing_at_hand.setenv("PDPBOOK_DATA", str(tmp_path))
    with pytest.raises(ValueError, match=rf"insurance.csv must have .*{found}"):
        datasets.load("medical-cost")


def test_known_facts_of_the_originals(nothing_at_hand):
    for name in SHAPES:
        original(name)
    nothing_at_hand.setenv("PDPBOOK_DATA", str(ORIGINALS))
    medical = datasets.load("medical-cost")
    assert f"{medical['charges'].mean():.6f}" == "13270.422265"
    assert medical.iloc[195].equals(medical.iloc[581])
    cars = datasets.load("automobile")
    assert cars["normalized_losses"].isna().sum() == 41
    assert cars["num_of_doors"].isna().sum() == 2
    assert f"{cars['price'].mean():.6f}" == "13207.129353"
    assert cars["make"].nunique() == 22
    assert f"{datasets.load('concrete-slump')['strength'].mean():.6f}" == "36.039417"
    assert datasets.load("druglib")["user"].value_counts().max() == 63
    assert datasets.load("lenses")["class"].value_counts().to_dict() == {3: 15, 2: 5, 1: 4}


# ------------------------------------------------------------------ places


@pytest.mark.parametrize("name", list(SHAPES))
def test_nothing_at_hand_is_one_error_that_says_where(name, nothing_at_hand, capfd):
    source = originals.SOURCES[name]
    with pytest.raises(FileNotFoundError) as failure:
        datasets.load(name)
    text = str(failure.value)
    for part in (name, source.file, source.checksum, "PDPBOOK_DATA", source.url or "not redist"):
        assert part in text
    assert failure.value.__cause__ is None
    assert capfd.readouterr() == ("", "")


def test_unknown_name_lists_the_known():
    with pytest.raises(
        ValueError, match=r"name must be one of 'medical-cost'.*'diabetes'; got 'x'"
    ):
        datasets.load("x")
    with pytest.raises(ValueError, match="name must be one of"):
        datasets.load(None)


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/none", "http://nowhere.invalid/none"])
def test_unreachable_address_is_quick_and_silent(url, capfd):
    assert originals._download(url, originals.SOURCES["lenses"]) is None
    assert capfd.readouterr() == ("", "")


def serve(monkeypatch, content):
    """A downloader that writes `content`, in the place of pooch's."""
    import pooch

    class Downloader:
        def __init__(self, **options):
            assert options["timeout"] <= 10

        def __call__(self, url, output, pooch):
            Path(output).write_bytes(content)

    monkeypatch.setattr(pooch, "HTTPDownloader", Downloader)


def test_download_fills_the_cache_and_the_cache_is_read(monkeypatch, tmp_path):
    content = original("lenses")
    archive = BytesIO()
    with zipfile.ZipFile(archive, "w") as parts:
        parts.writestr("Index", "")
        parts.writestr("lenses.data", content)
    monkeypatch.delenv("PDPBOOK_DATA", raising=False)
    monkeypatch.setattr(originals, "_cache", lambda: tmp_path / "cache")
    serve(monkeypatch, archive.getvalue())
    assert datasets.load("lenses").shape == (24, 6)
    assert (tmp_path / "cache" / "lenses.data").read_bytes() == content
    monkeypatch.setattr(originals, "_download", None)  # not needed any more
    assert datasets.load("lenses").shape == (24, 6)


@pytest.mark.parametrize("name", ["medical-cost", "lenses"])
def test_wrong_download_is_refused_and_not_kept(name, monkeypatch, tmp_path):
    monkeypatch.delenv("PDPBOOK_DATA", raising=False)
    monkeypatch.setattr(originals, "_cache", lambda: tmp_path / "cache")
    serve(monkeypatch, b"<html>sign in first</html>")
    with pytest.raises(ValueError, match="must have the canonical sha256"):
        datasets.load(name)
    assert not (tmp_path / "cache").exists()


def test_folder_without_the_file_is_passed_over(nothing_at_hand, tmp_path):
    nothing_at_hand.setenv("PDPBOOK_DATA", str(tmp_path / "missing"))
    with pytest.raises(FileNotFoundError, match="lenses needs lenses"):
        datasets.load("lenses")


def test_import_stays_light():
    code = (
        "import sys, pdpbook.datasets; print([m for m in ('pooch', 'sklearn') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


# ------------------------------------------------------------------ stand-in


@pytest.mark.parametrize("name", originals.SOURCES)
def test_stand_in_is_loud_and_marked(name, nothing_at_hand, capsys):
    nothing_at_hand.setenv("PDPBOOK_STAND_IN", "1")
    frame = datasets.load(name)
    printed = capsys.readouterr().out
    assert printed.startswith(f"STAND-IN DATA: {name}")
    assert printed.count("\n") == 1
    assert frame.attrs["stand_in"] is True
    assert frame.shape == SHAPES[name]
    assert frame.dtypes.astype(str).to_dict() == originals.SOURCES[name].types
    assert frame.equals(datasets.load(name))
    assert originals.canonical_checksum(frame) != originals.SOURCES[name].checksum


def test_designs_work_on_stand_ins(nothing_at_hand):
    nothing_at_hand.setenv("PDPBOOK_STAND_IN", "1")
    X, y = datasets.medical_cost_design(datasets.load("medical-cost"))
    assert X.shape == (1338, 12)
    assert y.between(0, 1).all()
    for name in ("lenses", "concrete-slump", "automobile"):
        X, y = datasets.pac_design(name)
        assert X.attrs["stand_in"] is True
        assert np.isfinite(X.to_numpy()).all()
        assert np.isfinite(y.to_numpy()).all()


def test_original_wins_over_stand_in(nothing_at_hand, capsys):
    original("medical-cost")
    nothing_at_hand.setenv("PDPBOOK_STAND_IN", "1")
    nothing_at_hand.setenv("PDPBOOK_DATA", str(ORIGINALS))
    assert datasets.load("medical-cost").attrs["stand_in"] is False
    assert capsys.readouterr().out == ""


# ------------------------------------------------------------------ designs


def test_medical_cost_design_follows_the_protocol(nothing_at_hand):
    original("medical-cost")
    nothing_at_hand.setenv("PDPBOOK_DATA", str(ORIGINALS))
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
    assert frame.attrs["stand_in"] is False


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
            "fractions must have three entries",
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
        ("automobile", (201, 15), 0.3803),
    ],
)
def test_pac_designs_are_standardized(name, shape, rmse, nothing_at_hand):
    """In-sample errors of least squares as the data notes have them, to four digits."""
    original(name)
    nothing_at_hand.setenv("PDPBOOK_DATA", str(ORIGINALS))
    X, y = datasets.pac_design(name)
    assert X.shape == shape
    assert X.attrs == {"name": name, "stand_in": False}
    assert_allclose(X.mean(), 0, atol=1e-12)
    assert_allclose(X.std(ddof=0), 1)
    assert_allclose((y.mean(), y.std(ddof=0)), (0, 1), atol=1e-12)
    Z = np.column_stack([X, np.ones(len(X))])
    residual = y - Z @ np.linalg.lstsq(Z, y, rcond=None)[0]
    assert round(np.sqrt(np.mean(residual**2)), 4) == rmse


def test_words_of_the_automobiles_are_numbers(nothing_at_hand):
    original("automobile")
    nothing_at_hand.setenv("PDPBOOK_DATA", str(ORIGINALS))
    X, _ = datasets.pac_design("automobile")
    assert X.num_of_cylinders.nunique() == 7
    assert X.num_of_doors.nunique() == 3  # two, four, and the mean of the known ones
    assert X.notna().all().all()


def test_no_design_for_other_tables():
    with pytest.raises(ValueError, match="name must be one of 'lenses', 'concrete-slump'"):
        datasets.pac_design("druglib")
