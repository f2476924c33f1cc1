"""Sweeps: exact losses against loops and simulation, committed files against fresh runs."""

from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose
from scipy import integrate

from lab import experiments, published
from lab.experiments import records
from lab.experiments.losses import METHODS, METRICS, sampled_size_moments, test_losses
from lab.experiments.splits import Split, share_of, split_of
from lab.experiments.spread import SPREADS, central_moments, spread_errors
from pdpbook import datasets
from pdpbook.noise import sample_l2_laplace
from pdpbook.personalized import keep_probabilities
from pdpbook.ridge import loss_moments, weighted_ridge
from pdpbook.sensitivity import ridge_constant

test_losses.__test__ = False  # its name says what it computes, not that it tests

FOLDER = Path(__file__).resolve().parent.parent / "book" / "papers" / "results"
LAMS = np.array([0.5, 3.0, 20.0])
KEYS = ["data", "sweep", "value", "lam", "method", "metric"]


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def split():
    X, y, _ = datasets.make_ridge_data(24, 3, rng=rng())
    return Split(X[:16], y[:16], X[16:], y[16:])


@pytest.fixture(scope="module")
def epsilon():
    return datasets.sample_budgets(16, rng=rng(1))


def test_equal_budgets_make_all_methods_one(split):
    losses = test_losses(split, np.full(16, 0.3), LAMS, masks=2, rng=rng())
    assert_allclose(losses, np.broadcast_to(losses[:1], losses.shape), rtol=1e-12)


def by_loop(split, weights, rate, lam, penalty):
    theta = weighted_ridge(split.X, split.y, lam, weights)
    eta = rate / ridge_constant(lam, split.X.shape[1], "published")
    return loss_moments(split.X_test, split.y_test, theta, eta, penalty)


@pytest.mark.parametrize("grid", [LAMS, LAMS[1:2]], ids=["eigenvalues", "one solve"])
def test_shared_factors_give_the_moments_of_each_fit(split, epsilon, grid):
    losses = test_losses(split, epsilon, grid, masks=3, rng=rng())
    tau = max(epsilon, key=lambda t: t * (epsilon >= t).sum())
    few = epsilon >= tau
    assert 1 < few.sum() < 16
    crowds = [(epsilon / epsilon.sum(), epsilon.sum()), (None, 16 * epsilon.min())]
    crowds.append((few / few.sum(), few.sum() * tau))  # the best threshold
    for (k, crowd), (p, lam) in product(enumerate(crowds), enumerate(grid)):
        for j, penalty in enumerate((0.0, lam)):
            moments = by_loop(split, *crowd, lam, penalty)
            assert_allclose(losses[k, j, p], moments.mean, rtol=1e-9)
            assert_allclose(losses[k, j + 2, p] ** 2, moments.variance, rtol=1e-9)


def simulated_sampling(split, epsilon, threshold, lam, draws, factor=1.0):
    """Losses of the printed baseline, drawn literally."""
    generator, d = rng(2), split.X.shape[1]
    keep, constant = keep_probabilities(epsilon, threshold), ridge_constant(lam, d, "published")
    found = np.empty(draws)
    for k in range(draws):
        kept = generator.random(len(epsilon)) < keep
        theta = weighted_ridge(split.X[kept], split.y[kept], lam)
        eta = factor * threshold * kept.sum() / constant
        theta = theta + sample_l2_laplace(d, eta, rng=generator)
        found[k] = np.mean((split.y_test - split.X_test @ theta) ** 2)
    return found


@pytest.mark.parametrize(("factor", "ok"), [(1.0, True), (2.0, False)])
def test_sampling_baseline_agrees_with_simulation(split, epsilon, factor, ok):
    exact = test_losses(split, epsilon, np.array([3.0]), masks=2000, rng=rng(3))
    agrees = []
    for name, t in (("jorgensen-max", epsilon.max()), ("jorgensen-mean", epsilon.mean())):
        k = METHODS.index(name)
        loss = simulated_sampling(split, epsilon, t, 3.0, 1500, factor)
        error = loss.std() / np.sqrt(len(loss))
        fourth = np.mean((loss - loss.mean()) ** 4)
        spread = np.sqrt((fourth - loss.var() ** 2) / len(loss))  # of the variance
        agrees.append(abs(loss.mean() - exact[k, 0, 0]) < 4 * error)
        agrees.append(abs(loss.var() - exact[k, 2, 0] ** 2) < 4 * spread)
    assert all(agrees) is ok  # four comparisons at four standard errors: one false alarm in 4,000


@pytest.mark.parametrize("n", [1, 4, 11])
def test_law_of_the_sample_size_by_listing(n):
    keep = np.append(rng(4).random(n - 1), 1.0)
    cases = np.array(list(product([0, 1], repeat=n)))
    chance = np.where(cases, keep, 1 - keep).prod(axis=1)
    some = cases.sum(axis=1) > 0
    sizes, chance = cases.sum(axis=1)[some].astype(float), chance[some]
    assert_allclose(sampled_size_moments(keep), [chance @ sizes**-2, chance @ sizes**-4])


def test_law_of_a_large_sample_size():
    keep = np.append(rng(5).random(1069), 1.0)
    mean, spread = keep.sum(), np.sum(keep * (1 - keep))
    expected = (1 + 3 * spread / mean**2) / mean**2  # second order; the rest is below 1e-5
    assert_allclose(sampled_size_moments(keep)[0], expected, rtol=2e-5)


SWEEPS = {
    "lambda": (experiments.sweep_lambda, [50.0, 100.0]),
    "eps_c": (experiments.sweep_eps_c, [0.1, 0.5]),
    "eps_m": (experiments.sweep_eps_m, [0.05, 0.5]),
    "f_c": (experiments.sweep_f_c, [0.1, 0.6]),
    "train_fraction": (experiments.sweep_n, [0.1, 1.0]),
}


@pytest.mark.parametrize("name", SWEEPS)
def test_a_row_does_not_depend_on_the_other_values(name):
    sweep, values = SWEEPS[name]
    both = sweep("synthetic", values, draws=3, masks=4, rng=rng())
    one = sweep("synthetic", values[1], draws=3, masks=4, rng=rng())
    both = both[both["value"] == values[1]].reset_index(drop=True)
    pd.testing.assert_frame_equal(both, one, rtol=1e-9)
    assert not one.duplicated(KEYS).any()
    assert set(one["sweep"]) == {name}
    assert ((one["low"] <= one["mean"] + 1e-12) | (one["sd"] > 0)).all()


def test_another_draw_of_the_data_is_another_band():
    frames = [
        experiments.sweep_lambda("synthetic", [100], draws=2, masks=2, rng=rng(seed))
        for seed in (0, 0, 1)
    ]
    pd.testing.assert_frame_equal(frames[0], frames[1])
    assert not np.allclose(frames[0]["mean"], frames[2]["mean"])


def test_bands_hold_the_stated_share_of_draws():
    frame = experiments.sweep_lambda("synthetic", [10], draws=60, masks=1, rng=rng())
    row = frame.set_index(["method", "metric"]).loc[("PDP-OP", METRICS[0])]
    single = [
        experiments.sweep_lambda("synthetic", [10], draws=1, masks=1, rng=rng(seed))["mean"][0]
        for seed in range(100, 140)
    ]
    share = np.mean((row["low"] <= single) & (single <= row["high"]))
    assert share >= 0.65  # 90 percent, five standard errors of 40 draws below


def test_medical_cost_without_noise_is_as_printed():
    frame = experiments.sweep_lambda("medical-cost", [1.0], draws=1, masks=2, rng=rng())
    loss = frame[frame["method"] == "non-private"]["mean"].to_numpy()
    assert_allclose(loss, [0.0094338, 0.0430417], atol=5e-8)


def test_medical_cost_is_split_as_printed():
    medical = split_of("medical-cost", rng())
    assert medical.X.shape == (1070, 12)
    assert len(medical.y_test) == 268
    sizes = [len(share_of(medical, "medical-cost", f).y) for f in (0.1, 0.3, 0.7, 1.0)]
    assert sizes == [107, 321, 749, 1070]


def test_synthetic_shares_are_counted_like_the_floats_mean():
    part = split_of("synthetic", rng())
    sizes = [len(share_of(part, "synthetic", f).y) for f in experiments.GRIDS["train_fraction"]]
    assert sizes == [8, 16, 24, 32, 40, 48, 56, 64, 72, 80]


@pytest.mark.parametrize("sweep", [sweep for sweep, _ in SWEEPS.values()])
@pytest.mark.parametrize(
    ("arguments", "options", "says"),
    [
        (("housing",), {}, "data must be one of 'synthetic', 'medical-cost'"),
        (("synthetic", [np.nan]), {}, "values must be finite and above 0"),
        (("synthetic", [0.0]), {}, "values must be finite and above 0"),
        (("synthetic",), {"draws": 0}, "draws must be"),
        (("synthetic",), {"masks": 0, "draws": 1}, "masks must be"),
    ],
)
def test_bad_input(sweep, arguments, options, says):
    with pytest.raises(ValueError, match=says):
        sweep(*arguments, rng=rng(), **options)


def test_shares_above_one_are_refused():
    with pytest.raises(ValueError, match=r"train_fraction must be at most 1; got 1\.5"):
        experiments.sweep_n("synthetic", [1.5], draws=1, rng=rng())
    with pytest.raises(TypeError, match="rng must be"):
        experiments.sweep_n("synthetic", draws=1, rng=0)


# --- errors of standard deviations ----------------------------------------------------------------


def by_quadrature(s, g, eta):
    """Mean and central moments of one-dimensional losses, by integration over the noise."""

    def mean(h):
        sides = [(-np.inf, 0), (0, np.inf)]
        return sum(
            integrate.quad(lambda z: h(z) * eta / 2 * np.exp(-eta * abs(z)), *side, epsabs=0)[0]
            for side in sides
        )

    excess = mean(lambda z: s * z**2 - 2 * g * z)
    return [excess] + [mean(lambda z, k=k: (s * z**2 - 2 * g * z - excess) ** k) for k in (2, 3, 4)]


@pytest.mark.parametrize(("s", "g", "eta"), [(1.3, 0.7, 0.8), (1.0, 0.0, 2.0), (0.1, 3.0, 1.0)])
def test_moments_in_one_dimension_by_quadrature(s, g, eta):
    assert_allclose(central_moments([s], [g**2], eta**-2), by_quadrature(s, g, eta), rtol=1e-7)


def test_a_loss_without_curvature_has_the_moments_of_one_coordinate():
    d, eta = 5, 0.7  # -2 g'Z for a unit g: E Z_1^2 = (d+1)/eta^2, E Z_1^4 = 3(d+1)(d+3)/eta^4
    found = central_moments(np.zeros(d), np.full(d, 1 / d), eta**-2)
    expected = [0, 4 * (d + 1) / eta**2, 0, 48 * (d + 1) * (d + 3) / eta**4]
    assert_allclose(found, expected)


def test_second_moments_are_those_of_loss_moments(split):
    theta, S = np.ones(3), split.X_test.T @ split.X_test / len(split.y_test)
    values, vectors = np.linalg.eigh(S + 0.3 * np.eye(3))
    g = split.X_test.T @ (split.y_test - split.X_test @ theta) / len(split.y_test) - 0.3 * theta
    found = central_moments(values, (g @ vectors) ** 2, 1 / 4)
    moments = loss_moments(split.X_test, split.y_test, theta, 2.0, 0.3)
    base = np.mean((split.y_test - split.X_test @ theta) ** 2) + 0.3 * 3
    assert_allclose([base + found[0], found[1]], [moments.mean, moments.variance])


@pytest.mark.parametrize(("factor", "ok"), [(1.0, True), (0.5, False)])
def test_errors_of_spreads_agree_with_repeated_tables(split, epsilon, factor, ok):
    """Standard deviations of many tables with 2,000 runs scatter as far as the error says."""
    repeats, tables, lam = 2000, 500, 20.0
    claim = factor * spread_errors(split, epsilon, np.array([lam]), masks=4000, rng=rng(3))[:, 0, 0]
    weights, eta = epsilon / epsilon.sum(), epsilon.sum() / ridge_constant(lam, 3, "published")
    theta = weighted_ridge(split.X, split.y, lam, weights)
    ours = theta + sample_l2_laplace(3, eta, tables * repeats, rng=rng(5))
    level = epsilon.max()
    kept = rng(6).random((4000, 16)) < keep_probabilities(epsilon, level)
    rates = level * kept.sum(axis=1) / ridge_constant(lam, 3, "published")
    fits = np.array([weighted_ridge(split.X[k], split.y[k], lam) for k in kept])
    chosen = rng(7).integers(0, 4000, tables * repeats)
    noise = sample_l2_laplace(3, 1.0, tables * repeats, rng=rng(8)) / rates[chosen][:, None]
    agrees = []
    for said, release in zip(claim[:2], (ours, fits[chosen] + noise), strict=True):
        loss = np.mean((split.y_test - release @ split.X_test.T) ** 2, axis=1)
        scatter = loss.reshape(tables, repeats).std(axis=1).std() * np.sqrt(repeats)
        agrees.append(abs(scatter / said - 1) < 0.2)  # error of 500 deviations: 3 to 5 percent
    assert all(agrees) is ok


def test_errors_of_spreads_have_the_budgets_of_the_sweep():
    spread = experiments.sweep_spread("medical-cost", [1.0], draws=2, masks=8, rng=rng())
    assert set(spread["metric"]) == set(SPREADS)
    assert (spread["mean"] > 0).all()
    medical = split_of("medical-cost", rng())
    found = [
        spread_errors(
            medical, datasets.sample_budgets(1070, rng=child), np.ones(1), masks=1, rng=child
        )
        for child in rng().spawn(2)
    ]
    ours = spread[spread["method"] == "PDP-OP"]["mean"]
    assert_allclose(ours, np.mean(found, axis=0)[0, :, 0])


# --- printed against ours ------------------------------------------------------------------------


def results(low=1.0, high=2.0, noise=10.0):
    rows = [("PDP-OP", METRICS[0], 1.5, low, high), ("PDP-OP", METRICS[2], noise, 9.0, 11.0)]
    frame = pd.DataFrame(rows, columns=["method", "metric", "mean", "low", "high"])
    return frame.assign(value=1.0)


def verdict(number, metric=METRICS[0]):
    row = {"row_value": "1.00", "method": "PDP-OP", "metric": metric, "value": number}
    return experiments.judge(results(), pd.DataFrame([row]))["verdict"].item()


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        (1.5, "inside"),
        (2.004, "inside"),  # half a unit of the third digit
        (2.2, "near"),  # three standard errors are 0.3
        (0.75, "near"),
        (2.4, "outside"),
        (1.5e4, "outside"),
    ],
)
def test_verdicts_by_hand(number, expected):
    assert verdict(number) == expected


def test_a_printed_spread_without_its_error_is_never_near():
    assert verdict(11.04, METRICS[2]) == "inside"
    assert verdict(11.2, METRICS[2]) == "outside"


@pytest.mark.parametrize(
    ("number", "expected"), [(11.04, "inside"), (11.8, "near"), (8.2, "near"), (12.0, "outside")]
)
def test_a_printed_spread_with_its_error_by_hand(number, expected):
    error = {"method": "PDP-OP", "metric": SPREADS[0], "value": 1.0}  # three errors are 0.9
    with_error = pd.concat([results(), pd.DataFrame([error | {"mean": 30.0}])])
    row = {"row_value": "1.00", "method": "PDP-OP", "metric": METRICS[2], "value": number}
    assert experiments.judge(with_error, pd.DataFrame([row]))["verdict"].item() == expected


def test_numbers_without_a_band_are_refused():
    row = {"row_value": "2", "method": "PDP-OP", "metric": METRICS[0], "value": 1.0}
    with pytest.raises(ValueError, match="results must have one row for every printed number"):
        experiments.judge(results(), pd.DataFrame([row]))
    twice = pd.concat([results(), results()])
    with pytest.raises(ValueError, match="several for some"):
        experiments.judge(twice, pd.DataFrame([row | {"row_value": "1"}]))


def test_every_printed_table_has_its_settings():
    settings = experiments.settings().set_index("table")
    assert list(settings.index) == list(range(1, 15))
    printed = published.table("pdpop")
    for table, rows in printed.groupby("table"):
        group = settings.loc[int(table)]
        assert set(rows["row_param"]) == {group["sweep"]}
        assert set(rows["metric"].str.endswith("_std")) == {group["spread"]}
    figures = [f for pair in settings["figures"] for f in pair]
    assert sorted(figures) == [*range(2, 20)]


# --- committed files -----------------------------------------------------------------------------


def test_files_are_written_and_read_back(monkeypatch, tmp_path, capsys):
    tiny = ((experiments.sweep_eps_c, "synthetic", {"values": 0.1}),)
    monkeypatch.setitem(records.RESULTS, "eps_c", tiny)
    assert records.main(["eps_c", "--folder", str(tmp_path), "--draws", "2"]) == 0
    assert capsys.readouterr().out == f"{tmp_path / 'eps_c.csv'}\n"
    frame = experiments.read_results(tmp_path / "eps_c.csv")
    fresh = experiments.sweep_eps_c("synthetic", 0.1, draws=2, rng=rng(experiments.SEED))
    pd.testing.assert_frame_equal(frame, fresh, rtol=1e-3, check_dtype=False)
    header = " ".join(frame.attrs["header"])
    for piece in ("seed: 7", "'draws': 2", "numpy " + np.__version__, "run time:", "sweep_eps_c"):
        assert piece in header


def test_an_unknown_file_is_refused(tmp_path):
    with pytest.raises(ValueError, match="name must be one of"):
        experiments.write_results("gamma", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_one_table_of_a_file_is_run_again(tmp_path, monkeypatch):
    def sweep(data, *, draws=1, rng, progress):
        return pd.DataFrame({"data": [data], "value": [draws * rng.random()]})

    calls = ((sweep, "lenses", {}), (sweep, "automobile", {}), (sweep, "automobile, text", {}))
    monkeypatch.setitem(records.PAC_RESULTS, "pac-noise", calls)
    whole = experiments.read_results(experiments.write_results("pac-noise", tmp_path))
    path = experiments.write_results("pac-noise", tmp_path, draws=2, only="automobile")
    again = experiments.read_results(path)
    assert list(again.data) == list(whole.data)
    assert_allclose(again.value / whole.value, [1, 2, 2], rtol=1e-3)
    lines = [line for line in again.attrs["header"] if line.startswith("run ")]
    assert [line.partition(",")[0] for line in lines] == [lines[0], "run again: automobile"]
    with pytest.raises(ValueError, match="only must be data of pac-noise"):
        experiments.write_results("pac-noise", tmp_path, only="diabetes")


def test_a_missing_folder_is_named(tmp_path, capsys):
    with pytest.raises(SystemExit):
        records.main(["n", "--folder", str(tmp_path / "nowhere")])
    assert "there is no folder" in capsys.readouterr().err


CALLS = [
    pytest.param(
        name, call, id=f"{name} {k}", marks=() if (name, k) == ("f_c", 1) else pytest.mark.slow
    )
    for name, calls in experiments.RESULTS.items()
    for k, call in enumerate(calls)
]


@pytest.mark.parametrize(("name", "call"), CALLS)
def test_committed_rows_are_what_a_run_gives(name, call):
    sweep, data, options = call
    frame = experiments.read_results(FOLDER / f"{name}.csv")
    assert not frame.duplicated(KEYS).any()
    assert frame[["mean", "low", "high", "sd"]].notna().all(axis=None)
    fresh = sweep(data, frame["value"][frame["data"] == data].iloc[0], rng=rng(7), **options)
    both = frame.merge(fresh, on=KEYS, suffixes=("", "_fresh"))
    assert len(both) == len(fresh)
    for column in ("mean", "low", "high", "sd"):  # what is zero there is rounding here
        assert_allclose(both[column], both[column + "_fresh"], rtol=2e-3, atol=1e-12)


def test_committed_files_are_complete_and_small():
    settings = experiments.settings()
    for row in settings.itertuples():
        frame = experiments.read_results(FOLDER / f"{row.result}.csv")
        rows = frame[(frame["data"] == row.data) & (frame["sweep"] == row.sweep)]
        assert set(METHODS) <= set(rows["method"])
        assert set(METRICS) <= set(rows["metric"])
    sizes = [(FOLDER / f"{name}.csv").stat().st_size for name in experiments.RESULTS]
    assert sum(sizes) < 350_000  # five private fits a row


# --- all fourteen tables --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def everything():
    folder = FOLDER
    return pd.concat([experiments.read_results(folder / f"{n}.csv") for n in experiments.RESULTS])


def test_every_printed_number_has_one_verdict(everything):
    printed = published.table("pdpop")
    found = experiments.judge_all(everything, printed)
    assert len(found) == len(printed) == 750
    assert (found["printed"].to_numpy() == printed["value"].to_numpy()).all()
    wrong = printed.assign(value=10 * printed["value"])
    assert (experiments.judge_all(everything, wrong)["verdict"] == "inside").mean() < 0.1


def test_a_table_stands_beside_its_bands(everything):
    found = experiments.judge_all(everything, published.table("pdpop"))
    text = experiments.side_by_side(everything, found, 14, METRICS[2], ["PDP-OP", "jorgensen-max"])
    head, columns, first, *rest = text.splitlines()
    assert head == "Table 14, unregularized test loss std"
    assert columns.split() == ["PDP-OP", "sampling,", "max"]
    assert first.split() == ["0.01", "1.25e5", "1.20e5-1.27e5", "1.58e3!", "1.48e5-1.59e5"]
    assert len(rest) == 11


def test_numbers_are_written_short():
    shown = [experiments.short(x) for x in (0.81, 12.345, 1580.0, 2.5e-4, 100.0)]
    assert shown == [".810", "12.3", "1.58e3", "2.50e-4", "100"]


def test_places_count_rows_and_columns(everything):
    found = experiments.judge_all(everything, published.table("pdpop"))
    across, down = experiments.places(found[found["table"] == 14])
    assert (across.max(), down.max()) == (11, 5)
    assert len(set(zip(across, down, strict=True))) == 72


def test_marks_side_by_side_are_one_run():
    across, down = experiments.runs([0, 2, 4, 0, 6], [1, 1, 1, 3, 1], step=2, half=0.5)
    assert_allclose(across, [-0.5, 6.5, np.nan, -0.5, 0.5, np.nan])
    assert_allclose(down, [1, 1, 1, 3, 3, 3])
    assert len(experiments.runs([0, 4], [1, 1], step=2, half=0.5)[0]) == 6
