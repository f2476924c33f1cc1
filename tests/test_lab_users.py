"""User-level experiments: exact errors against simulation and loops, committed files, privacy."""

from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose

from lab import experiments, published
from lab.experiments import records, users
from lab.experiments.reviews import load_druglib
from lab.experiments.user_problems import (
    DESIGNS,
    WIDTHS,
    Problem,
    drug_columns,
    drug_problem,
    user_problem,
)
from lab.experiments.users import limits, noisy_loss, places, sweep_users, user_losses
from pdpbook.gwa import GWARegression, SampleLimitedRegression

ROOT = Path(__file__).resolve().parent.parent
KEYS = list(users.KEYS)
NUMBERS = ["users", "mean", "low", "high", "sd", "noise_sd", "threshold"]
NOISE_FREE = ("middle", "not private")


def rng(seed=0):
    return np.random.default_rng(seed)


def needs_druglib():
    try:
        load_druglib()
    except FileNotFoundError:
        pytest.skip("needs druglib")


@pytest.fixture(scope="module")
def small():
    return user_problem("synthetic", n=120, alpha=1.7, rng=rng(1))


# --- the closed form -----------------------------------------------------------------------------


def test_loss_of_one_coefficient_by_hand():
    # (w - 1)^2 x^2 at x = 2: mean 4 (1 + 2), variance 16 (4 * 2 + 24 - 4)
    mean, sd = noisy_loss([[2.0]], [2.0], [0.0], 1.0)
    assert_allclose([mean, sd**2], [12, 448])


def test_without_noise_it_is_the_loss(small):
    theta = np.linspace(-1, 1, 10)
    expected = np.mean((small.y - small.X @ theta) ** 2)
    assert_allclose(noisy_loss(small.X, small.y, theta, 0.0), [expected, 0])


def gaussian(scale, size, generator):
    return generator.normal(0, np.sqrt(2) * scale, size)


def laplace(scale, size, generator):
    return generator.laplace(0, scale, size)


@pytest.mark.parametrize(
    ("noise", "factor", "mean_ok", "spread_ok"),
    [(laplace, 1.0, True, True), (laplace, 1.3, False, False), (gaussian, 1.0, True, False)],
)
def test_loss_agrees_with_simulation(noise, factor, mean_ok, spread_ok):
    generator = rng(2)
    X, y, theta = generator.normal(size=(30, 3)), generator.normal(size=30), np.array([1.0, 0, -1])
    draws = theta + noise(factor * 0.7, (200_000, 3), generator)
    losses = np.mean((y - draws @ X.T) ** 2, axis=1)
    mean, sd = noisy_loss(X, y, theta, 0.7)
    error = losses.std() / np.sqrt(len(losses))
    fourth = np.mean((losses - losses.mean()) ** 4)
    spread = np.sqrt((fourth - losses.var() ** 2) / len(losses))
    assert bool(abs(losses.mean() - mean) < 5 * error) is mean_ok  # false alarms: one in a million
    assert bool(abs(losses.var() - sd**2) < 5 * spread) is spread_ok


# --- one problem ---------------------------------------------------------------------------------


def test_errors_are_those_of_the_estimators(small):
    """The same numbers by another road: the exact laws of the public estimators."""
    found = user_losses(small, 2.0, rng=rng(3)).set_index("method")
    common = {"epsilon": 2.0, "sigma2": small.sigma2, "y_bounds": small.bounds}
    row = {"users": small.users.codes}

    def error(model):
        law = model.output_law(small.X, small.y, **row)
        return noisy_loss(small.X, small.y, law.center, float(np.max(law.scale)))

    gwa = error(GWARegression(**common))
    assert_allclose(found.loc["GWA", ["mean", "noise_sd"]].astype(float), gwa, rtol=1e-6)
    largest = SampleLimitedRegression(**common, max_rows="max")
    assert_allclose(found.loc["limit, max", ["mean", "noise_sd"]].astype(float), error(largest))
    assert found.loc["limit, max", "threshold"] == small.users.sizes.max()


def brute_force(problem, eps, place):
    """Every limit, one at a time, from a pseudo-inverse."""
    rows = []
    for h in range(1, int(problem.users.sizes.max()) + 1):
        kept = place < h
        C = np.zeros(problem.X.T.shape)
        C[:, kept] = np.linalg.pinv(problem.X[kept])
        if np.abs(C @ problem.X - np.eye(len(C))).max() > 1e-6:
            continue
        sizes = np.bincount(problem.users.codes, np.abs(C).sum(axis=0))
        b = problem.width * sizes.max() / eps
        error = noisy_loss(problem.X, problem.y, C @ problem.y, b)[0]
        rows.append((h, error, problem.sigma2 * (C**2).sum() + 2 * len(C) * b**2))
    return pd.DataFrame(rows, columns=["h", "error", "variance"])


def test_best_limits_by_trying_all(small):
    found = user_losses(small, 2.0, rng=rng(3)).set_index("method")
    every = brute_force(small, 2.0, places(small.users, rng(3)))
    oracle, rule = every.loc[every["error"].idxmin()], every.loc[every["variance"].idxmin()]
    assert_allclose(found.loc["limit, oracle", ["threshold", "mean"]].astype(float), oracle[:2])
    assert_allclose(found.loc["limit, rule", ["threshold", "mean"]].astype(float), rule[:2])


def test_limits_that_lose_rank_are_passed_over():
    few = user_problem("synthetic", n=40, alpha=1.1, rng=rng(4))
    assert len(few.users.sizes) < 10  # so that one row a user cannot do
    found = user_losses(few, 1.0, rng=rng()).set_index("method")
    oracle = found.loc["limit, oracle"]
    assert oracle["threshold"] * len(few.users.sizes) >= 10
    every = brute_force(few, 1.0, places(few.users, rng()))
    assert_allclose(oracle["mean"], every["error"].min())


def test_order_of_methods(small):
    wide = user_losses(small, [1.0, 3.0], rng=rng()).pivot(index="epsilon", columns="method")[
        "mean"
    ]
    assert (wide["limit, oracle"] <= wide["limit, rule"]).all()
    assert (wide["limit, oracle"] <= wide["limit, max"]).all()
    assert (wide["limit, exact oracle"] <= wide["limit, oracle"]).all()
    assert (wide["GWA"] < wide["limit, oracle"]).all()
    assert (wide["not private"] <= wide.drop(columns="not private").min(axis=1)).all()
    assert (wide.loc[3.0] <= wide.loc[1.0] + 1e-9).all()


def test_thresholds_that_are_tried():
    assert_allclose(limits(5), [1, 2, 3, 4, 5])
    many = limits(600)
    assert many[0] == 1
    assert many[-1] == 600
    assert set(range(1, 33)) <= set(many)
    assert len(many) <= 65


def test_weights_and_limits_do_not_look_at_labels(small):
    """Under public bounds only the oracle may change its threshold with the labels."""
    other = Problem(small.X, -small.y[::-1], small.users, small.bounds, small.sigma2)
    a, b = (
        user_losses(problem, 1.0, rng=rng(5)).set_index("method")["threshold"]
        for problem in (small, other)
    )
    for method in ("limit, max", "limit, rule", "limit, exact rule"):
        assert a[method] == b[method]


# --- the data ------------------------------------------------------------------------------------


def test_synthetic_problem_follows_the_protocol():
    problem = user_problem("synthetic", n=3000, alpha=1.1, rng=rng(6))
    assert problem.X.shape == (3000, 10)
    assert problem.users.sizes.max() <= 600
    assert_allclose(problem.bounds, [problem.y.min(), problem.y.max()])
    assert_allclose(np.sqrt(problem.sigma2), 20, rtol=0.05)  # four standard errors: 0.052
    public = user_problem("synthetic", n=3000, alpha=1.1, width="public", rng=rng(6))
    assert_allclose(public.y, problem.y)  # nothing was clipped
    assert public.sigma2 == 400
    assert_allclose(public.width, 8 * np.sqrt(100_400))


def test_bounds_from_the_data_are_bounds_of_the_data():
    a, b = (user_problem("synthetic", width="data", rng=rng(seed)) for seed in (1, 2))
    assert a.bounds != b.bounds
    a, b = (user_problem("synthetic", width="public", rng=rng(seed)) for seed in (1, 2))
    assert (a.bounds, a.sigma2) == (b.bounds, b.sigma2)


def test_drug_reviews_have_the_printed_sizes():
    needs_druglib()
    for design in DESIGNS:
        problem = user_problem("druglib", design=design, width="public", rng=rng())
        assert problem.X.shape == (3107, 8)
        assert (len(problem.users.labels), problem.bounds) == (502, (1.0, 10.0))
        assert (problem.users.sizes.min(), problem.users.sizes.max()) == (1, 63)
        assert np.linalg.matrix_rank(problem.X) == 8
    same = user_problem("druglib", width="data", rng=rng())
    assert same.bounds == (1.0, 10.0)  # both ends of the scale occur


def test_cars_by_make():
    problem = user_problem("automobile", width="public", rng=rng())
    assert problem.X.shape == (201, 4)
    assert len(problem.users.labels) == 22
    low, high = problem.bounds
    assert low < problem.y.min()
    assert problem.y.max() < high


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ({"data": "news"}, "data must be one of 'synthetic', 'druglib', 'automobile'"),
        ({"data": "synthetic", "width": "wide"}, "width must be one of 'data', 'public'"),
        ({"data": "synthetic", "n": 10}, "n must be"),
        ({"data": "synthetic", "alpha": 1.0}, "alpha must be above 1"),
        ({"data": "synthetic", "epsilon": np.nan}, "epsilon must be finite and above 0"),
        ({"data": "synthetic", "draws": 0}, "draws must be"),
        ({"data": "synthetic", "methods": ["magic"]}, "method must be one of"),
    ],
)
def test_bad_input(arguments, says):
    with pytest.raises(ValueError, match=says):
        sweep_users(**({"n": 30, "draws": 1} | arguments), rng=rng())


def test_an_unknown_design_is_refused():
    with pytest.raises(ValueError, match="design must be one of 'standardized', 'unit', 'raw'"):
        user_problem("druglib", design="words", rng=rng())
    with pytest.raises(TypeError, match="rng must be"):
        user_problem("synthetic", rng=7)


# --- sweeps and committed files ------------------------------------------------------------------

FAST = ("GWA", "limit, max", "limit, oracle")


def test_a_row_does_not_depend_on_the_other_values():
    both = sweep_users("synthetic", n=[40, 60], alpha=[1.5, 2.0], draws=2, methods=FAST, rng=rng())
    one = sweep_users("synthetic", n=60, alpha=2.0, epsilon=2.0, draws=2, methods=FAST, rng=rng())
    rows = both[(both["n"] == 60) & (both["alpha"] == 2.0) & (both["epsilon"] == 2.0)]
    pd.testing.assert_frame_equal(rows.reset_index(drop=True), one, rtol=1e-7)
    assert not both.duplicated(KEYS).any()


def test_ratios_are_taken_within_a_repeat():
    frame = sweep_users("synthetic", n=60, epsilon=1.0, alpha=2.0, draws=3, methods=FAST, rng=rng())
    row = frame.set_index("method").loc["limit, oracle / GWA"]
    singles = []
    for child in rng().spawn(3):
        own = np.random.default_rng(child.bit_generator.seed_seq)
        problem = user_problem("synthetic", n=60, alpha=2.0, rng=own)
        loss = user_losses(problem, 1.0, rng=own, methods=FAST).set_index("method")["mean"]
        singles.append(loss["limit, oracle"] / loss["GWA"])
    expected = [np.mean(singles), min(singles), max(singles), np.std(singles)]
    assert_allclose(row[["mean", "low", "high", "sd"]].astype(float), expected, rtol=1e-7)


CALLS = [
    pytest.param(name, k, id=f"{name} {k}")
    for name, calls in experiments.USER_RESULTS.items()
    for k in range(len(calls))
]


def file_of(name):
    return ROOT / experiments.FOLDERS[name] / f"{name}.csv"


@pytest.mark.parametrize(("name", "k"), CALLS)
def test_committed_rows_are_what_a_run_gives(name, k):
    sweep, data, options = experiments.USER_RESULTS[name][k]
    if data == "druglib":
        needs_druglib()
    options = options | {"epsilon": 2} | ({"n": 600, "alpha": 1.5} if data == "synthetic" else {})
    fresh = sweep(data, **options, rng=rng(experiments.SEED))
    committed = experiments.read_results(file_of(name))
    both = committed.merge(fresh, on=KEYS, suffixes=("", "_fresh"))
    assert len(both) == len(fresh)
    for column in NUMBERS:
        assert_allclose(both[column], both[column + "_fresh"], rtol=2e-3, atol=1e-9)


def test_committed_files_are_complete_and_small():
    for name, calls in experiments.USER_RESULTS.items():
        frame = experiments.read_results(file_of(name))
        assert set(frame["data"]) == {data for _, data, _ in calls}
        assert not frame.duplicated(KEYS).any()
        assert frame[["mean", "low", "high", "sd"]].notna().all(axis=None)
        assert set(experiments.USER_METHODS) <= set(frame["method"])
        assert file_of(name).stat().st_size < 150_000
        header = " ".join(frame.attrs["header"])
        for piece in (f"lab {name}", "seed: 7", "numpy ", "run time: "):
            assert piece in header
    grid = experiments.USER_GRIDS
    frame = experiments.read_results(file_of("users_synthetic"))
    cells = frame[(frame["width"] == "data") & (frame["method"] == "GWA")]
    assert len(cells) == len(grid["n"]) * len(grid["alpha"]) * len(grid["epsilon"])


def test_no_row_of_the_reviews_is_in_a_file():
    """Committed are averages over all reviews: one line a method and setting, none a user."""
    needs_druglib()
    frame = experiments.read_results(file_of("users_real"))
    rows = frame[frame["data"] == "druglib"]
    assert (rows["n"] == 3107).all()
    assert (rows["users"] == 502).all()
    settings = len(DESIGNS) + 1
    assert len(rows) == settings * 3 * (len(experiments.USER_METHODS) + len(users.RATIOS))


def test_all_choices_of_columns_are_in_a_file():
    frame = experiments.read_results(
        ROOT / experiments.FOLDERS["users_columns"] / "users_columns.csv"
    )
    choices = frame.groupby(["without", "words", "design"]).size()
    assert len(choices) == 9 * 2 * len(DESIGNS)
    assert (choices == 9).all()
    assert frame.notna().all(axis=None)


@pytest.mark.parametrize("design", DESIGNS)
def test_our_columns_are_three_of_the_choices(design):
    folder = ROOT / experiments.FOLDERS["users_columns"]
    every = experiments.read_results(folder / "users_columns.csv")
    every = every[(every["without"] == "product") & (every["words"] == "logarithms")]
    ours = experiments.read_results(folder / "users_real.csv")
    ours = ours[(ours["data"] == "druglib") & (ours["width"] == "data")]
    both = every[every["design"] == design].merge(ours, on=["design", "epsilon", "method"])
    assert len(both) == 9
    for column in ("mean", "low", "high", "noise_sd"):
        assert_allclose(both[column + "_x"], both[column + "_y"], rtol=1e-3)


@pytest.mark.parametrize(
    ("without", "words", "design"),
    [("constant", "counts", "unit"), ("words_benefits", "logarithms", "raw")],
)
def test_committed_choices_are_what_a_run_gives(without, words, design):
    needs_druglib()
    frame = experiments.read_results(
        ROOT / experiments.FOLDERS["users_columns"] / "users_columns.csv"
    )
    problem = drug_problem(drug_columns(design, words).drop(columns=without))
    assert problem.X.shape == (3107, 8)
    first = np.random.default_rng(rng(experiments.SEED).spawn(1)[0].bit_generator.seed_seq)
    fresh = user_losses(problem, 2.0, rng=first, methods=["GWA", "limit, max"])
    keys = {"without": without, "words": words, "design": design, "epsilon": 2}
    both = frame.merge(fresh.assign(**keys), on=[*keys, "method"])
    assert len(both) == 2
    assert_allclose(both["mean_x"], both["mean_y"], rtol=1e-3)


def test_printed_table_has_the_settings_of_the_sweep():
    printed = published.table("user_level")
    assert set(printed["data"]) == {"drugs", "news"}
    budgets = printed["row_value"].astype(float)
    assert set(budgets) == set(experiments.USER_GRIDS["epsilon"])


def test_files_are_written_where_they_belong(monkeypatch, tmp_path, capsys):
    tiny = ((sweep_users, "synthetic", {"n": 40, "epsilon": 1.0, "methods": FAST}),)
    monkeypatch.setitem(records.USER_RESULTS, "users_synthetic", tiny)
    monkeypatch.setitem(records.FOLDERS, "users_synthetic", tmp_path)
    assert records.main(["users_synthetic", "--draws", "1"]) == 0
    path = tmp_path / "users_synthetic.csv"
    assert capsys.readouterr().out == f"{path}\n"
    frame = experiments.read_results(path)
    fresh = sweep_users("synthetic", **tiny[0][2], draws=1, rng=rng(experiments.SEED))
    assert_allclose(frame[NUMBERS], fresh[NUMBERS], rtol=1e-3)


def test_every_result_knows_its_folder():
    assert not set(experiments.RESULTS) & set(experiments.USER_RESULTS)
    for name in (*experiments.RESULTS, *experiments.USER_RESULTS):
        assert file_of(name).is_file()


def test_without_druglib_nothing_is_written(monkeypatch, tmp_path):
    monkeypatch.delenv("PDPBOOK_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match="druglib is not part of the package"):
        experiments.write_results("users_real", tmp_path, draws=1)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("width", WIDTHS)
def test_constants_need_no_noise(width):
    problem = user_problem("synthetic", n=50, width=width, rng=rng())
    found = user_losses(problem, 1.0, rng=rng(), methods=NOISE_FREE).set_index("method")
    assert_allclose(found["noise_sd"], 0)
    middle = sum(problem.bounds) / 2
    assert_allclose(found.loc["middle", "mean"], np.mean((problem.y - middle) ** 2))
