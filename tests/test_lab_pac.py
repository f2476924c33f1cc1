"""Sweeps on PAC privacy: repeats at once against one at a time, committed files against fresh."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab import chapters, experiments
from lab.experiments import pac as runs
from lab.experiments.pac import readings, sgd
from lab.experiments.pac.lasso import LassoPool, lassos, pool_with
from lab.experiments.pac.multipliers import multipliers
from pdpbook import pac
from pdpbook.gradient import (
    DPSGDLaw,
    calibrate_noise_multiplier,
    calibrate_to_success_rate,
)

FOLDER = Path(__file__).resolve().parent.parent / "book" / "papers" / "results"


def rng(seed=0):
    return np.random.default_rng(seed)


@pytest.fixture(scope="module")
def pool():
    X = rng(1).standard_normal((30, 2))
    return X, X @ [0.6, -0.4] + 0.5 * rng(2).standard_normal(30)


def test_one_step_by_hand():
    theta = runs.dpsgd_weights(
        [[1.0], [0.5]],
        [1.0, -1.0],
        0.0,
        sample_rate=1.0,
        divisor=2,
        learning_rate=0.1,
        clip_norm=100.0,
        steps=1,
        repeats=3,
        rng=rng(),
    )
    # gradients -2 (1, 1) and 2 (0.5, 1)
    assert_allclose(theta, np.full((1, 3, 2), [0.05, 0.0]), atol=1e-15)


@pytest.fixture(scope="module")
def law(pool):
    X, y = pool
    one = DPSGDLaw(np.column_stack([X, np.ones(30)]), y, 8 / 30, 8, 1.0, 0.1, 12, 0.8)
    return one.sample(2000, rng=rng(4))[:, -3:]


def largest_gap(pool, law, sigma=0.8, divisor=8, **change):
    """Difference of means, and of log-deviations, in standard errors."""
    settings = dict(sample_rate=8 / 30, learning_rate=0.1, clip_norm=1.0, steps=12) | change
    draws = runs.dpsgd_weights(*pool, sigma, divisor=divisor, repeats=2000, rng=rng(3), **settings)
    draws = draws[0]
    means = np.abs(draws.mean(axis=0) - law.mean(axis=0)) / np.sqrt(law.var(axis=0) / 1000)
    spread = np.abs(np.log(draws.std(axis=0) / law.std(axis=0))) * np.sqrt(2000)
    return max(means.max(), spread.max())


def test_repeats_at_once_have_the_law_of_one_at_a_time(pool, law):
    assert largest_gap(pool, law) < 5  # false alarm below 1e-5


@pytest.mark.parametrize(
    "bug",
    [{"sigma": 0.8 * 8}, {"divisor": 4}, {"clip_norm": 2.0}, {"sample_rate": 0.4}, {"steps": 10}],
    ids=str,
)
def test_planted_slips_are_noticed(pool, law, bug):
    assert largest_gap(pool, law, **bug) > 5


def gap_of_the_grid(pool, batch=8, clip=1.0, sigma=0.8, epochs=3):
    """The same for streams that share batches and noise: the second of three is looked at."""
    X, y = pool
    three = sgd.Streams(
        *(np.array(part) for part in (
            [epochs + 2, epochs, 1], [0.3, 0.1, 0.2], [9.0, clip, 1.0], [2.0, sigma, 1.0],
            [False] * 3,
        ))
    )  # fmt: skip
    generators = [rng(100 + r) for r in range(1000)]
    draws = np.array([sgd.train(X, y, three, batch, one)[1] for one in generators])
    q, steps, divisor = sgd.opacus(30, 8)
    one = DPSGDLaw(np.column_stack([X, np.ones(30)]), y, q, divisor, 1.0, 0.1, 3 * steps, 0.8)
    law = one.sample(1000, rng=rng(4))[:, -3:]
    means = np.abs(draws.mean(axis=0) - law.mean(axis=0)) / np.sqrt(law.var(axis=0) / 500)
    spread = np.abs(np.log(draws.std(axis=0) / law.std(axis=0))) * np.sqrt(1000)
    return max(means.max(), spread.max())


def test_cells_side_by_side_have_the_law_of_one_alone(pool):
    assert gap_of_the_grid(pool) < 5  # false alarm below 1e-5


@pytest.mark.parametrize("slip", [{"batch": 5}, {"clip": 2.0}, {"sigma": 8.0}, {"epochs": 2}])
def test_slips_of_the_grid_are_noticed(pool, slip):
    assert gap_of_the_grid(pool, **slip) > 5


def test_random_starts_are_those_of_pytorch():
    drawn = runs.start_weights((4000, 5), rng())
    assert np.abs(drawn).max() <= 0.5  # one over the root of four features; the intercept too
    assert_allclose(drawn.std(axis=0), 0.5 / np.sqrt(3), rtol=5 / np.sqrt(4000))
    X, y = np.eye(4), np.zeros(4)
    still = dict(sample_rate=1.0, divisor=4, learning_rate=1e-12, clip_norm=1.0, steps=1, repeats=3)
    kept = runs.dpsgd_weights(X, y, 0.0, first=drawn[:3], rng=rng(), **still)
    assert_allclose(kept[0], drawn[:3], atol=1e-11)


def test_multipliers_read_off_a_curve_are_those_by_bisection():
    q, steps = 1 / 7, 70
    found = multipliers(q, steps, sgd._promises()).reshape(3, -1)
    for k, rate in enumerate(runs.RATES[::3]):
        assert_allclose(found[0, 3 * k], calibrate_to_success_rate(rate, q, steps), rtol=3e-3)
        epsilon = float(pac.success_rate_to_epsilon(rate, 1e-5))
        for row, delta in [(1, 1e-5), (2, 1e-3)]:
            exact = calibrate_noise_multiplier(epsilon, delta, q, steps)
            assert_allclose(found[row, 3 * k], exact, rtol=3e-3)
    everybody = multipliers(1.0, 4, ((0.0, 0.5),))
    assert_allclose(everybody, calibrate_to_success_rate(0.75, 1.0, 4), rtol=1e-5)
    assert (multipliers(0.5, 1, ((0.0, 0.96),)) == 0.2).all()  # half are never sampled


def test_who_is_not_in_the_half_has_no_say(pool):
    X, y = pool
    members = rng(5).random((6, 30)) < 0.5
    other = np.where(np.arange(30) == 3, 50.0, y)
    settings = dict(
        sample_rate=0.5, divisor=8, learning_rate=0.1, clip_norm=1.0, steps=9, members=members
    )
    a, b = (runs.dpsgd_weights(X, labels, 1.0, rng=rng(6), **settings) for labels in (y, other))
    moved = np.abs(a - b).max(axis=(0, 2)) > 0
    assert not moved[~members[:, 3]].any()
    assert moved[members[:, 3]].all()


def test_noise_levels_share_their_noise(pool):
    X, y = pool
    settings = dict(sample_rate=1.0, divisor=30, learning_rate=0.1, clip_norm=1e9, steps=5)
    a, b, c = runs.dpsgd_weights(X, y, [0.0, 1e-9, 2e-9], rng=rng(7), **settings)
    assert_allclose(c - a, 2 * (b - a), rtol=1e-5, atol=1e-12)  # no clipping: linear in the noise


@pytest.mark.parametrize("bad", [-1.0, np.nan, np.inf])
def test_bad_noise_is_refused(pool, bad):
    with pytest.raises(ValueError, match="noise_multipliers must be finite"):
        runs.dpsgd_weights(
            *pool,
            bad,
            sample_rate=0.5,
            divisor=8,
            learning_rate=0.1,
            clip_norm=1.0,
            steps=1,
            rng=rng(),
        )


def test_scores_by_hand():
    weights = np.array([[[1.0, 0.0], [0.0, 1.0]]])
    found = runs.scores(weights, [[1.0], [3.0]], [0.0, 2.0])
    assert_allclose(found.rmse, [[1.0, 1.0]])
    assert_allclose(found.r2, [[0.0, 0.0]])
    half = runs.scores(weights[0], [[1.0], [3.0], [9.0]], [0.0, 2.0, 5.0], [[1, 1, 0], [0, 1, 1]])
    assert_allclose(half.rmse, [1.0, np.sqrt((1 + 16) / 2)])
    assert_allclose(half.r2, [0.0, 1 - 8.5 / 2.25])


def test_equal_labels_have_no_r2():
    X, y, rows = [[1.0], [3.0], [9.0]], [0.1, 0.1, 5.0], [[1, 1, 0], [1, 1, 1]]
    found = runs.scores(np.zeros((2, 2)), X, y, rows)
    assert np.isnan(found.r2[0])
    assert found.r2[1] < 0
    assert_allclose(found.rmse[0], 0.1)


@pytest.mark.parametrize("calibration", pac.CALIBRATIONS)
def test_other_ceilings_are_rescaled_exactly(pool, calibration):
    X, y = pool
    first = pac.calibrate_release(pac.Pool(X, y), 0.75, draws=500, rng=rng(8))
    fresh = pac.calibrate_release(
        pac.Pool(X, y), 0.95, calibration=calibration, draws=500, rng=rng(8)
    )
    ours = runs.rescaled(first, [0.75, 0.95], calibration)[1]
    assert_allclose(ours, fresh.covariance, rtol=1e-7)


def test_released_weights_have_the_law_of_the_release(pool):
    X, y = pool
    release = pac.calibrate_release(pac.Pool(X, y), 0.75, draws=500, rng=rng(8))
    both, halves = runs.pac_weights(
        release,
        np.array([1e-12, 1.0])[:, None, None] * release.covariance,
        repeats=3000,
        rng=rng(9),
    )
    assert_allclose(both[0], [release.center(h) for h in halves], atol=1e-4)
    noise = both[1] - both[0]
    white = noise @ pac.whitener(release.covariance)[0].T
    assert_allclose(np.cov(white.T), np.eye(3), atol=5 * np.sqrt(2 / 3000))


def test_printed_noise_leaves_weights_bare(pool):
    X, y = pool
    ours = pac.Pool(X, y, "ols", 0.0)
    moments = chapters.printed_moments(ours, reset=True, absolute=True, every=10, rng=rng(10))
    weights, halves = runs.printed_weights(ours, moments, [0.75], repeats=4, rng=rng(11))
    bare = chapters.printed_noise(moments.second, moments.basis, 0.75, read_as="deviation").bare
    refits = np.array([ours.refit(h) for h in halves])
    assert_allclose(weights[0][:, bare], refits[:, bare], atol=1e-12)
    assert np.all(weights[0][:, ~bare] != refits[:, ~bare])


def test_who_trains_on_everybody_hides_nobody(pool):
    X, y = pool
    ours = pac.Pool(X, y, "ridge", 1.0)
    moments = chapters.printed_moments(ours, reset=True, rng=rng(10))
    weights, who = runs.printed_weights(
        ours, moments, [0.75], trained_on="pool", repeats=4, rng=rng(11)
    )
    bare = chapters.printed_noise(moments.second, moments.basis, 0.75, read_as="deviation").bare
    everybody = ours.refit(np.ones(30, dtype=bool))
    assert who.all()
    assert bare.any()
    assert not bare.all()
    assert_allclose(weights[0][:, bare], np.tile(everybody[bare], (4, 1)), atol=1e-12)
    assert np.all(weights[0][:, ~bare] != everybody[~bare])
    with pytest.raises(ValueError, match="trained_on must be one of"):
        runs.printed_weights(ours, moments, 0.75, trained_on="test", rng=rng(11))


@pytest.mark.parametrize("data", runs.DATA)
@pytest.mark.parametrize("alpha", [2.0**-8, 0.05, 2.0])
def test_lassos_side_by_side_are_those_of_scikit_learn(data, alpha):
    pool = LassoPool(*runs.pool_of(data), alpha=alpha)
    masks = pool.sample(8, 0.5, rng(12))
    masks[0] = False
    one_by_one = np.array([pool.refit(mask) for mask in masks])
    ours = pool.fits(masks)
    assert_allclose(ours[0], 0, atol=0)
    for mask, mine, theirs in zip(masks[1:], ours[1:], one_by_one[1:], strict=True):
        X, y = pool.X[mask], pool.y[mask]
        values = [
            np.mean((X @ b[:-1] + b[-1] - y) ** 2) / 2 + alpha * np.abs(b[:-1]).sum()
            for b in (mine, theirs)
        ]
        assert values[0] <= values[1] + 1e-9
    assert_allclose(ours, one_by_one, atol=2e-5)


@pytest.mark.parametrize("data", ["concrete-slump", "automobile"])
@pytest.mark.parametrize("alpha", [2.0**-10, 0.01, 0.5])
def test_neighbors_of_a_lasso_are_refits(data, alpha):
    pool = LassoPool(*runs.pool_of(data), alpha=alpha)
    masks = pool.sample(3, 0.5, rng(12))
    masks[0] = False
    fits, moved = pool.differences(masks)
    assert_allclose(fits, pool.fits(masks), atol=0)
    for k, mask in enumerate(masks):
        for i in range(0, len(mask), 17):
            with_i, without = mask.copy(), mask.copy()
            with_i[i], without[i] = True, False
            assert_allclose(moved[k, i], pool.refit(with_i) - pool.refit(without), atol=5e-5)


def test_with_the_signs_of_before_a_coefficient_that_changes_sign_is_found_again():
    G, c = np.eye(2)[None] * np.ones((3, 1, 1)), np.array([[1.0, 0.05], [1.0, -3.0], [0.0, 0.3]])
    near = np.array([[1.0, 0.5], [1.0, 0.5], [1.0, 0.5]])
    assert_allclose(lassos(G, c, 0.1, near), [[0.9, 0], [0.9, -2.9], [0, 0.2]], atol=1e-9)


@pytest.mark.parametrize(("model", "alpha"), [("ridge", 1.0), ("lasso", 0.05)])
def test_everybodys_loop_estimates_what_the_printed_loop_does(pool, model, alpha, monkeypatch):
    monkeypatch.setattr(readings, "ETA", 0.0)  # nobody is done before the most pairs
    monkeypatch.setattr(readings, "MOST", 30)
    X, y = (part[:20] for part in pool)
    ours, theirs = [], []
    for seed in range(8):
        found = readings._loop(pool_with(X, y, model, alpha), rng(seed))
        assert all((part.draws == 30).all() for part in found.values())
        same = [part.second.sum(axis=1) for part in found.values()]
        assert_allclose(*same, rtol=1e-9)  # the same pairs, rotated
        ours.append(found["unit"].second.mean(axis=0))
        one = chapters.printed_moments(
            pac.Pool(X, y, model, alpha), basis="unit", eta=1e-12, every=10, reset=True,
            absolute=True, max_draws=30, rng=rng(100 + seed),
        )  # fmt: skip
        theirs.append(one.second.mean(axis=0))
    gap = np.mean(ours, axis=0) - np.mean(theirs, axis=0)
    error = np.sqrt((np.var(ours, axis=0, ddof=1) + np.var(theirs, axis=0, ddof=1)) / 8)
    assert (np.abs(gap) / error).max() < 5  # three t of 14 degrees: false alarm below 1e-3


def test_the_loop_ends_where_the_mean_stands_still(pool):
    X, y = pool
    ours = readings._loop(pac.Pool(X, y, "ridge", 1.0), rng(15))
    theirs = chapters.printed_moments(
        pac.Pool(X, y), basis=ours["svd"].basis, every=10, reset=True, absolute=True, rng=rng(16)
    )
    assert (ours["svd"].draws >= 20).all()
    assert abs(np.log(ours["svd"].draws.mean() / theirs.draws.mean())) < 0.4


@pytest.mark.parametrize(
    ("printed", "low", "high", "agrees"),
    [
        ("0.634", 0.6336, 0.70, True),
        ("0.634", 0.6346, 0.70, False),
        ("0.634", 0.60, 0.6334, False),
        ("0.634", 0.60, 0.6336, True),
        ("3.4", 3.449, 4.0, True),
    ],
)
def test_agreement_by_hand(printed, low, high, agrees):
    assert runs.agreement(printed, low, high) is agrees


@pytest.mark.parametrize(("data", "rmse"), [("lenses", 0.6336), ("concrete-slump", 0.3212)])
def test_least_squares_in_the_sample(data, rmse):
    X, y = runs.pool_of(data)
    theta = pac.Pool(X, y, "ols", 0.0).refit(np.ones(len(y), dtype=bool))
    assert_allclose(runs.scores(theta[None], X, y).rmse, rmse, atol=5e-5)


def test_raw_units_are_the_standardized_ones_rescaled():
    (X, y), (U, v) = runs.pool_of("concrete-slump"), runs.pool_of("concrete-slump", raw=True)
    assert_allclose((U - U.mean(axis=0)) / U.std(axis=0), X, atol=1e-9)
    assert_allclose((v - v.mean()) / v.std(), y, atol=1e-9)
    with pytest.raises(ValueError, match="name must be one of"):
        runs.pool_of("automobile, code")


GAME = tuple(("half", how, sizing, (0.75,)) for how in ("zero", "fresh") for sizing in ("tv",))
ONE = dict(plan=GAME, batches=(16,), epochs=(1,), learning_rates=(0.1,), clip_norms=(1.0,))
QUICK = dict(held_out=False, runs=0)


def test_a_cell_alone_repeats_its_row_of_a_longer_sweep():
    one = runs.sweep_dpsgd("lenses", **ONE, **QUICK, draws=5, rng=rng(12))
    more = ONE | {"learning_rates": (1e-8, 0.1), "clip_norms": (1.0, 1e7)}
    two = runs.sweep_dpsgd("lenses", **more, **QUICK, draws=5, rng=rng(12))
    two = two[(two.learning_rate == 0.1) & (two.clip_norm == 1)]
    assert len(two)
    key = ["start", "evaluation"]
    two = two.set_index(key)
    assert_allclose(two.rmse, one.set_index(key).loc[two.index].rmse, rtol=1e-12)


def test_the_best_cell_of_a_grid_has_the_least_error():
    grid = ONE | {"learning_rates": (1e-8, 0.01, 0.1), "clip_norms": (1.0, 1e7)}
    whole = runs.sweep_dpsgd("lenses", **grid, **QUICK, draws=5, rng=rng(12))
    alone = [
        runs.sweep_dpsgd(
            "lenses",
            **(ONE | {"learning_rates": (speed,), "clip_norms": (clip,)}),
            **QUICK, draws=5, rng=rng(12),
        ).rmse.to_numpy()
        for speed in grid["learning_rates"] for clip in grid["clip_norms"]
    ]  # fmt: skip
    assert_allclose(whole.rmse[whole.evaluation == "pool"], np.min(alone, axis=0)[::2], rtol=1e-9)


def committed(name):
    return experiments.read_results(FOLDER / f"{name}.csv")


def test_committed_rows_of_dpsgd_are_repeated():
    frame = committed("pac-dpsgd")
    game = frame[(frame.data == "lenses") & (frame.trained_on == "half") & frame.best]
    old = game[(game.success_rate == 0.75) & (game.calibration == "tv")]
    for _, row in old[old.evaluation == "pool"].iterrows():
        cell = dict(
            batches=(int(row.batch_size),), epochs=(int(row.epochs),),
            learning_rates=(row.learning_rate,), clip_norms=(row.clip_norm,),
        )  # fmt: skip
        fresh = runs.sweep_dpsgd("lenses", plan=GAME, **cell, **QUICK, rng=rng(experiments.SEED))
        fresh = fresh[(fresh.start == row.start) & (fresh.evaluation == "pool")]
        for column in ("rmse", "rmse_sd", "r2"):
            assert_allclose(fresh[column], row[column], rtol=2e-3)
    assert set(old.start) == {"zero", "fresh"}


def test_committed_rows_of_pac_are_repeated():
    frame = committed("pac-noise")
    fresh = runs.sweep_pac(
        "lenses",
        rates=(0.75,),
        alphas=(16.0,),
        printed=False,
        held_out=False,
        rng=rng(experiments.SEED),
    )
    key = ["method", "calibration", "trained_on", "evaluation"]
    rows = frame[(frame.data == "lenses") & (frame.evaluation != "held-out")]
    rows = rows[(rows.alpha == 16) & (rows.success_rate == 0.75) | (rows.method == "none")]
    rows = rows[~rows.calibration.str.startswith("printed")].set_index(key)
    mine = fresh[fresh.evaluation != "held-out"].set_index(key)
    assert set(rows.index) == set(mine.index)
    assert_allclose(rows.rmse, mine.loc[rows.index, "rmse"], rtol=2e-3)


KEY = ["model", "basis", "read_as", "trained_on", "evaluation"]


def apart(rows, fresh):
    """Where two means of 20 runs differ by over two of the standard errors that fresh runs have.

    On processors that round otherwise a few runs part: a loop stops a look earlier, and all draws
    after it are others. The rest are the same: the differences were 0.14 and 0.37 standard errors
    at most on two such processors. The range of 20 normal runs is 3.73 deviations on average.
    """
    error = np.sqrt(2 / 20) * (rows.high - rows.low) / 3.73
    return (rows["mean"] - fresh["mean"]).abs() > 2 * error


def test_committed_readings_are_repeated():
    frame = committed("pac-readings")
    fresh = runs.sweep_readings("lenses", models=("ols",), rng=rng(experiments.SEED)).set_index(KEY)
    rows = frame[(frame.data == "lenses") & (frame.model == "ols") & ~frame.raw].set_index(KEY)
    assert len(rows) == len(fresh) == 12
    fresh = fresh.loc[rows.index]
    assert not apart(rows, fresh).any()
    other = fresh.rename({"deviation": "variance", "variance": "deviation"}).loc[rows.index]
    assert apart(rows, other).all()
    assert apart(rows, fresh.assign(mean=1.05 * fresh["mean"])).any()


def test_committed_readings_are_whole():
    frame = committed("pac-readings")
    assert frame.attrs["header"][0] == "python -m lab pac-readings"
    assert not frame.duplicated(["data", "raw", *KEY]).any()
    assert len(frame) == 5 * 3 * 12 + 3 * 12
    unprinted = frame.raw & (frame.data == "automobile")
    assert (frame.runs == np.where(unprinted, 2, 20)).all()
    assert ((0 < frame.low) & (frame.low <= frame["mean"]) & (frame["mean"] <= frame.high)).all()


def test_committed_files_are_whole():
    for name in set(experiments.PAC_RESULTS) - {"pac-readings"}:
        frame = committed(name)
        assert frame.attrs["header"][0] == f"python -m lab {name}"
        assert np.isfinite(frame[["rmse", "rmse_sd", "r2", "r2_sd"]]).all(axis=None)
        best = frame[frame.best & (frame.evaluation == "pool")]
        groups = ["data", "method", "calibration", "trained_on", "success_rate"]
        groups += ["start"] * ("start" in frame)
        assert not best.duplicated(groups).any()


def test_on_the_pool_r2_is_one_minus_the_square():
    frame = committed("pac-noise")
    rows = frame[frame.evaluation == "pool"]
    assert_allclose(rows.r2, 1 - rows.rmse**2 - rows.rmse_sd**2 * 49 / 50, rtol=5e-3, atol=5e-3)


def test_by_total_variation_dpsgd_has_less_noise():
    q, steps = 16 / 24, 20
    assert calibrate_to_success_rate(0.75, q, steps) < 3
