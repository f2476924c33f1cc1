"""Blocks: what comes from disk, from Dask or from an iterator is what comes from memory."""

import os
import signal
import threading
import time
import tracemalloc
from functools import partial

import numpy as np
import pandas as pd
import pytest
from mechanisms import IN_MEMORY, every, one_promise
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone

from lab.chapters import gwa_rows
from lab.chapters.gwa_blocks import design_of, first_rows, price, problem_of
from pdpbook.blocks import Rows, several_passes, sources
from pdpbook.gwa import (
    ConvergenceError,
    certify,
    gwa_weights,
)
from pdpbook.pac import Pool
from pdpbook.per_instance import (
    explain,
    per_instance_epsilon,
    per_instance_losses,
    stream_per_instance,
)
from pdpbook.personalized import PDPRidge
from pdpbook.posterior import AdaOPS, OnePosteriorSample
from pdpbook.ridge import (
    factor,
    leave_one_out,
    loss_moments,
    ridge_of_factors,
    weighted_factor,
    weighted_ridge,
)
from pdpbook.user_level import WeightedMean

N, D, CUT = 1100, 4, 170
KINDS = ["views", "map", "dask", "function", "list", "csv"]
EXACT = 1e-10  # what the book promises, relative; sums of 1100 terms round at 1e-13


def people(n=N, d=D, seed=5):
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, d)), rng.uniform(-1, 1, n)
    return X, y, rng.choice([0.1, 0.5, 1.0], n)


X, Y, EPSILON = people()
COLUMNS = {"X": X, "y": Y, "epsilon": EPSILON}
AGREED = {**COLUMNS, "epsilon": np.full(N, EPSILON.min())}  # one public budget


def cut(columns, size=CUT):
    """Blocks of `size` rows, with an empty one in between."""
    columns = list(columns.values())
    for start in range(0, len(columns[0]), size):
        yield tuple(column[start : start + size] for column in columns)
        if start == 2 * size:
            yield tuple(column[:0] for column in columns)


def rows_of(kind, columns, folder, monkeypatch):
    """The same columns in one of the kinds that functions take."""
    names = tuple(columns)
    if kind == "dask":
        import dask.array as da

        cuts = {name: da.from_array(c, chunks=(CUT, *c.shape[1:])) for name, c in columns.items()}
        cuts["X"] = da.from_array(columns["X"], chunks=(CUT, 3))  # across, too
        if "y" in columns:
            cuts["y"] = columns["y"]  # in memory: it is cut as X is
        return Rows(**cuts)
    if kind in {"views", "map"}:
        monkeypatch.setattr(sources, "ROWS", CUT)
        if kind == "views":
            return Rows(**columns)
        for name, column in columns.items():
            np.save(folder / f"{name}.npy", column)
        return Rows(**{name: np.load(folder / f"{name}.npy", mmap_mode="r") for name in names})
    if kind == "csv":
        table = pd.DataFrame(columns["X"]).assign(**{n: columns[n] for n in names[1:]})
        table.to_csv(folder / "people.csv", index=False, float_format="%.17g")

        def pieces():
            path = folder / "people.csv"
            for frame in pd.read_csv(path, chunksize=CUT):
                yield frame.iloc[:, :D].to_numpy(), *(frame[n].to_numpy() for n in names[1:])

        return Rows.from_blocks(pieces, names)
    return Rows.from_blocks(list(cut(columns)) if kind == "list" else lambda: cut(columns), names)


@pytest.fixture
def make(tmp_path, monkeypatch):
    return lambda kind, columns: rows_of(kind, columns, tmp_path, monkeypatch)


@pytest.fixture(params=KINDS)
def rows(request, make):
    return make(request.param, COLUMNS)


def whole(got):
    """An array of what `map` returned, in whichever kind."""
    return np.asarray(got) if hasattr(got, "shape") else np.concatenate(list(got))


# --- the two operations ---------------------------------------------------------------------------


def moments(X, y, epsilon):
    return X.T @ (X * epsilon[:, None]), X.T @ y, len(y)


def test_sums_and_maps_are_those_of_the_whole(rows):
    gram, moment, n = rows.sum(moments)
    assert n == N
    assert_allclose(gram, X.T @ (X * EPSILON[:, None]), rtol=EXACT)
    assert_allclose(moment, X.T @ Y, rtol=EXACT)
    got = rows.select("X", "y").map(lambda X, y: y - X[:, 0])
    assert_array_equal(whole(got), Y - X[:, 0])


@pytest.mark.parametrize("fault", ["forgotten", "twice"])
def test_planted_faults_in_the_blocks_are_caught(fault):
    good = list(cut(COLUMNS))
    wrong = good[:1] + good[2:] if fault == "forgotten" else good[:2] + good[1:]
    test_sums_and_maps_are_those_of_the_whole(Rows.from_blocks(good, tuple(COLUMNS)))
    with pytest.raises(AssertionError):
        test_sums_and_maps_are_those_of_the_whole(Rows.from_blocks(wrong, tuple(COLUMNS)))


def test_a_block_of_one_column_is_an_array_or_a_tuple():
    for blocks in ([X[:300], X[300:]], [(X[:300],), [X[300:]]]):
        assert Rows.from_blocks(blocks, ("X",)).sum(lambda X: (len(X),)) == (N,)


def test_kinds_come_back(make):
    import dask.array as da

    def first(X):
        return X[:, 0]

    assert type(make("views", COLUMNS).select("X").map(first)) is np.ndarray
    lazy = make("dask", COLUMNS).select("X").map(first)
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == ((CUT,) * 6 + (N - 6 * CUT,),)
    assert next(iter(make("list", COLUMNS).select("X").map(first))).shape == (CUT,)
    for kind, named in [("views", "arrays"), ("dask", "Dask arrays"), ("list", "blocks")]:
        assert repr(make(kind, COLUMNS)) == f"Rows(X, y, epsilon: {named})"


@pytest.mark.parametrize("kind", KINDS)
def test_a_map_gives_floats(make, kind):
    counted = whole(make(kind, COLUMNS).select("X").map(lambda X: np.arange(len(X))))
    assert counted.dtype == float
    assert counted[CUT - 1] == CUT - 1


def test_blocks_are_added_in_their_order_whoever_is_first():
    """Floats do not add up alike in another order; late blocks must wait."""
    import dask
    import dask.array as da

    values = np.array([1e16, 1.0, -1e16, 1.0])
    column = da.from_array(values[:, None], chunks=1)

    def slow(X):
        time.sleep(0.05 if abs(X[0, 0]) > 1 else 0.0)
        return (float(X[0, 0]),)

    with dask.config.set(scheduler="threads", num_workers=4):
        (total,) = Rows(column).sum(slow)
    assert total == ((values[0] + values[1]) + values[2]) + values[3]
    assert total != values[[0, 2, 1, 3]].sum()


def test_a_map_is_read_in_views_and_not_copied(make):
    seen = []
    make("map", COLUMNS).sum(lambda X, y, epsilon: seen.append(X) or (len(y),))
    assert len(seen) == -(-N // CUT)
    assert all(isinstance(view, np.memmap) and not view.flags.owndata for view in seen)


def test_wide_rows_make_short_blocks():
    width = 1000
    wide = np.broadcast_to(np.ones(width), (20_000, width))
    sizes = [len(part) for part in Rows(wide).each(lambda X: X[:, 0])]
    assert max(sizes) == sources.NUMBERS // width
    assert sum(sizes) == 20_000


def test_a_chunk_of_unknown_size_may_be_empty():
    import dask.array as da

    lazy = da.from_array(X, chunks=(CUT, D))
    kept = lazy[lazy[:, 0] > np.sort(X[:, 0])[-3]]  # two people, most chunks empty
    total, n = Rows(kept).sum(lambda X: (X.sum(axis=0), len(X)))
    assert n == 2
    assert_allclose(total, X[np.argsort(X[:, 0])[-2:]].sum(axis=0), rtol=EXACT)
    first = np.asarray(Rows(kept).map(lambda X: X[:1, 0].repeat(len(X))))
    assert_array_equal(np.sort(first), np.sort(X[:, 0])[-2:])


def test_an_array_beside_chunks_of_unknown_sizes_is_refused():
    """Nobody knows where to cut it, so nobody knows whose label or budget is whose."""
    import dask.array as da

    lazy = da.from_array(X, chunks=(CUT, D))
    unknown = lazy[lazy[:, 0] >= 0]  # everybody, which Dask does not know
    labels = da.from_array(Y, chunks=CUT)[lazy[:, 0] >= 0]
    whole_column = "must be a Dask array, too, where chunks have unknown sizes"
    for make in (
        lambda: Rows(unknown, Y),
        lambda: PDPRidge().fit(unknown, Y),
        lambda: Rows(X, labels),
    ):
        with pytest.raises(TypeError, match=f"^[Xy] {whole_column}"):
            make()
    for make in (
        lambda: Rows(unknown, labels, epsilon=EPSILON),
        lambda: PDPRidge().fit(unknown, labels, epsilon=EPSILON),
        lambda: PDPRidge().fit(Rows(unknown, labels), epsilon=EPSILON),
    ):
        with pytest.raises(TypeError, match=f"^epsilon {whole_column}"):
            make()
    assert Rows(unknown, labels).sum(lambda X, y: (len(y),)) == (N,)


def test_chunks_may_have_one_row_or_none():
    import dask.array as da

    lazy = da.from_array(X[:10], chunks=((1, 0, 8, 1), D))
    assert Rows(lazy).sum(lambda X: (1, len(X))) == (3, 10)
    assert_array_equal(np.asarray(Rows(lazy).map(lambda X: X[:, 0])), X[:10, 0])
    assert np.asarray(Rows(lazy[:0]).map(lambda X: X[:, 0])).shape == (0,)


# --- weighted statistics --------------------------------------------------------------------------


def weighted_block(X, y, weights):
    return weighted_factor(X, y, weights)


@pytest.mark.parametrize("lam", [0.0, 0.3, 1e-17])
def test_ridge_from_the_triangles_of_blocks(make, lam):
    expected = weighted_ridge(X, Y, lam, EPSILON)
    for kind in KINDS:
        rows = make(kind, {"X": X, "y": Y, "weights": EPSILON})
        assert_allclose(ridge_of_factors(rows.each(weighted_block), lam), expected, rtol=EXACT)


def test_ill_conditioned_blocks_are_solved_by_their_triangles(make):
    """The Gram matrix has condition 1e16: Cholesky would lose every digit, QR loses eight."""
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.standard_normal((N, D)))[0]
    bad = Q * np.geomspace(1, 1e-8, D) @ np.linalg.qr(rng.standard_normal((D, D)))[0]
    theta = np.array([1.0, -2.0, 3.0, 0.5])
    for kind in KINDS:
        rows = make(kind, {"X": bad, "y": bad @ theta})
        assert_allclose(ridge_of_factors(rows.each(factor), 0.0), theta, atol=1e-6)
    gram, moment, _ = rows.sum(lambda X, y: (X.T @ X, X.T @ y, len(y)))
    assert np.abs(np.linalg.solve(gram, moment) - theta).max() > 1e-6  # the planted Gram route


RELEASED = ["coef_", "intercept_", "mean_", "release_", "theta_", "gamma_"]


def assert_same_release(got, expected):
    """Everything that was released, in units of its largest entry."""
    found = [(name, got, expected) for name in RELEASED if hasattr(expected, name)]
    assert found
    noise = expected.noise_
    loud = [name for name in ("rate", "scale") if getattr(noise, name) is not None]
    for name, mine, theirs in found + [(name, got.noise_, noise) for name in loud]:
        a, b = np.asarray(getattr(mine, name)), np.asarray(getattr(theirs, name))
        assert_allclose(a, b, rtol=EXACT, atol=EXACT * np.abs(b).max(), err_msg=name)
    assert getattr(got, "n_features_in_", None) == getattr(expected, "n_features_in_", None)
    assert got.guarantee_ == expected.guarantee_


MODELS = every("blocks")
every_model = pytest.mark.parametrize("model", MODELS, ids=lambda m: type(m).__name__)


def columns_of(model):
    """The people, with one budget for all where there is one promise for all."""
    return AGREED if one_promise(model) else COLUMNS


@every_model
@pytest.mark.parametrize("kind", KINDS)
def test_one_seed_releases_the_same_from_every_kind(make, model, kind):
    model, columns = clone(model).set_params(random_state=7), columns_of(model)
    expected = clone(model).fit(X, Y, epsilon=columns["epsilon"])
    rows = make(kind, columns)
    assert_same_release(clone(model).fit(rows), expected)
    law, exact = model.output_law(rows), model.output_law(X, Y, epsilon=columns["epsilon"])
    assert_allclose(law.center, exact.center, rtol=EXACT, atol=1e-12)


@every_model
@pytest.mark.parametrize("fault", ["forgotten", "twice"])
def test_planted_faults_are_caught_in_every_release(model, fault):
    columns = columns_of(model)
    good = list(cut(columns))
    wrong = good[:1] + good[2:] if fault == "forgotten" else good[:2] + good[1:]
    model = clone(model).set_params(random_state=7)
    expected = clone(model).fit(X, Y, epsilon=columns["epsilon"])
    assert_same_release(clone(model).fit(Rows.from_blocks(good, tuple(COLUMNS))), expected)
    with pytest.raises(AssertionError):
        assert_same_release(clone(model).fit(Rows.from_blocks(wrong, tuple(COLUMNS))), expected)


def test_more_rows_than_were_announced_are_refused_in_blocks(make):
    with pytest.raises(ValueError, match="at most n_max = 1099 rows; got 1100"):
        OnePosteriorSample(n_max=N - 1, bounds=(0, 1)).fit(make("list", AGREED))


@every_model
@pytest.mark.parametrize("width", [1, 2])
def test_labels_of_another_width_are_refused(model, width):
    """Two labels a person would be released at the noise of one."""
    labels = np.tile(Y[:, None], width)
    for rows in (Rows(X, labels), Rows.from_blocks([(X, labels)])):
        with pytest.raises(ValueError, match="y must have shape"):
            clone(model).fit(rows)


def test_one_number_for_everybody_is_one_promise(make):
    rows = make("list", {"X": X, "y": Y})
    model = PDPRidge(epsilon=0.4, random_state=7).fit(rows)
    whole = PDPRidge(epsilon=0.4, random_state=7).fit(X, Y)
    assert_allclose(model.coef_, whole.coef_, rtol=EXACT)
    assert model.guarantee_.epsilon == 0.4
    assert (whole.guarantee_.epsilon == 0.4).all()


def test_an_iterator_suffices_for_one_pass(make):
    once = Rows.from_blocks(cut(COLUMNS), tuple(COLUMNS))
    whole = PDPRidge(random_state=7).fit(X, Y, epsilon=EPSILON)
    assert_same_release(PDPRidge(random_state=7).fit(once), whole)
    with pytest.raises(TypeError, match=r"once: pass a list, or a function that returns a new"):
        PDPRidge().fit(once)
    with pytest.raises(TypeError, match=r"stream_per_\w+ reads blocks twice.* or a function that"):
        streamed(Rows.from_blocks(cut({"X": X, "y": Y})))


def test_arrays_of_dask_and_maps_go_straight_in(make, tmp_path):
    import dask.array as da

    whole = PDPRidge(random_state=7).fit(X, Y, epsilon=EPSILON)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    lazy = da.from_array(X, chunks=(CUT, 2))
    fits = {
        "map": PDPRidge(random_state=7).fit(mapped, Y, epsilon=EPSILON),
        "map, budgets of the constructor": PDPRidge(random_state=7, epsilon=EPSILON).fit(mapped, Y),
        "array, dask": PDPRidge(random_state=7).fit(
            X, da.from_array(Y, chunks=55), epsilon=EPSILON
        ),
        "other cuts": PDPRidge(random_state=7).fit(
            lazy, da.from_array(Y, chunks=((80, *[CUT] * 6),)), epsilon=EPSILON
        ),
        "dask, array": PDPRidge(random_state=7).fit(lazy, Y, epsilon=EPSILON),
        "dask, list": PDPRidge(random_state=7).fit(lazy, Y.tolist(), epsilon=EPSILON.tolist()),
        "dask, dask": PDPRidge(random_state=7).fit(
            lazy, da.from_array(Y, chunks=55), epsilon=da.from_array(EPSILON, chunks=90)
        ),
    }
    for model in fits.values():
        assert_same_release(model, whole)
    assert_allclose(fits["map"].predict(mapped), whole.predict(X), rtol=EXACT)
    assert_allclose(np.asarray(fits["map"].predict(lazy)), whole.predict(X), rtol=EXACT)


def test_names_of_columns_do_not_outlive_their_fit():
    model = PDPRidge().fit(pd.DataFrame(X, columns=list("abcd")), Y)
    assert hasattr(model, "feature_names_in_")
    model.fit(Rows(X, Y))
    assert not hasattr(model, "feature_names_in_")


# --- losses of everybody --------------------------------------------------------------------------

GAMMA, DELTA = 4.0, 1e-5


@pytest.mark.parametrize("lam", [0.0, 3.0])
@pytest.mark.parametrize("kind", KINDS)
def test_losses_in_blocks_are_those_of_everybody(make, kind, lam):
    rows = make(kind, {"X": X, "y": Y})
    report = per_instance_epsilon(X, Y, lam, GAMMA, DELTA)
    seen = {}
    stream = stream_per_instance(rows, lam, GAMMA, DELTA, top=7, each=seen.__setitem__)
    assert_allclose(stream.theta, report.theta, rtol=EXACT)
    assert_allclose(stream.mean, report.epsilon.mean(), rtol=EXACT)
    order = np.argsort(-report.epsilon)
    assert_array_equal(stream.rows, order[:7])
    assert_allclose(stream.largest, report.epsilon[order[:7]], rtol=EXACT)
    assert_allclose(np.concatenate([seen[k] for k in sorted(seen)]), report.epsilon, rtol=EXACT)
    losses = per_instance_losses(rows, lam, GAMMA, DELTA)
    assert_allclose(whole(losses), report.epsilon, rtol=EXACT)
    assert stream.n == stream.counts.sum() == N


def test_quantiles_of_the_histogram_are_never_too_small():
    epsilon = per_instance_epsilon(X, Y, 3.0, GAMMA, DELTA).epsilon
    stream = stream_per_instance(Rows(X, Y), 3.0, GAMMA, DELTA)
    for share in (1e-3, 0.1, 0.5, 0.9, 0.999):
        exact = np.quantile(epsilon, share, method="inverted_cdf")
        assert exact <= stream.quantile(share) <= exact * 10 ** (1 / 200) * (1 + EXACT)
    alone = stream_per_instance(Rows(np.eye(3), np.zeros(3)), 0.0, GAMMA, DELTA)
    assert np.isinf(alone.quantile(0.5))
    assert stream.counts.dtype == int
    for share, message in [
        (1.0, "share must be above 0 and below 1"),
        ([0.5], "^share must be a si"),
    ]:
        with pytest.raises(ValueError, match=message):
            stream.quantile(share)


def test_different_people_the_second_time_are_noticed():
    """Dask cannot know what a chunk of unknown size will hold when it is loaded again."""
    import dask
    import dask.array as da

    def shrinking(column):
        sizes = iter([N, N - 1])
        load = dask.delayed(lambda: column[: next(sizes)], pure=False)
        return da.from_delayed(load(), shape=(np.nan, *column.shape[1:]), dtype=float)

    rows = Rows(shrinking(X), shrinking(Y))
    with pytest.raises(ValueError, match="got 1100 first, 1099 the second time"):
        stream_per_instance(rows, 1.0, GAMMA, DELTA)


@pytest.mark.parametrize("function", [stream_per_instance, per_instance_losses])
def test_two_passes_need_blocks_that_come_twice(function):
    once = Rows.from_blocks(cut({"X": X, "y": Y}))
    with pytest.raises(TypeError, match=f"{function.__name__} reads blocks twice"):
        function(once, 1.0, GAMMA, DELTA)
    assert once.sum(lambda X, y: (len(y),)) == (N,)  # the refusal came before the first block
    with pytest.raises(ValueError, match="gamma"):
        function(Rows.from_blocks(unreadable), 1.0, -1.0, DELTA)


# --- bad input ------------------------------------------------------------------------------------


def broken(name, change, at=4):
    """The blocks with one of them changed."""
    for k, block in enumerate(cut(COLUMNS)):
        parts = dict(zip(COLUMNS, block, strict=True))
        if k == at:
            parts[name] = change(parts[name].copy())
        yield tuple(parts.values())


def put(value, *at):
    def change(column):
        column[at] = value
        return column

    return change


@pytest.mark.parametrize(
    ("name", "change", "error", "message"),
    [
        ("X", lambda c: c[:, :2], ValueError, "one width; got 4 columns of X first, 2 columns in"),
        ("X", lambda c: c[:0], ValueError, r"one row a person .* in block 4"),
        ("X", lambda c: c.astype(np.float32), TypeError, "one dtype; got float64 for X first, fl"),
        ("y", lambda c: (c * 9).astype(int), TypeError, "one dtype; got float64 for y first, int"),
        ("X", put(np.nan, 5, 1), ValueError, r"in block 4, .* row 510: .* X\[5, 1\] = nan"),
        ("y", put(np.inf, 2), ValueError, r"in block 4, .* row 510: .* y\[2\] = inf"),
        ("X", put(1.5, 5, 1), ValueError, r"in block 4, .* row 510: X must lie in \[0, 1\]"),
        ("X", lambda c: c.astype(object), TypeError, "one dtype; got float64 for X first, object"),
        ("epsilon", lambda c: c[:, None], ValueError, "one width; got a single column of eps"),
        ("epsilon", put(np.inf, 8), ValueError, r"in block 4, .* epsilon\[8\] = inf"),
        ("epsilon", put(-0.5, 8), ValueError, r"in block 4, .* row 510: epsilon .* epsilon\[8\]"),
        ("epsilon", put(np.nan, 8), ValueError, r"in block 4, .* epsilon\[8\] = nan"),
    ],
)
def test_a_bad_block_is_named_and_nothing_is_released(name, change, error, message):
    model = PDPRidge()
    with pytest.raises(error, match=message):
        model.fit(Rows.from_blocks(lambda: broken(name, change), tuple(COLUMNS)))
    assert not hasattr(model, "coef_")


def unreadable():
    raise AssertionError("the data were touched")
    yield


@pytest.mark.parametrize(
    ("settings", "epsilon", "message"),
    [
        ({"lam": -1.0}, None, "lam"),
        ({"epsilon": 0.0}, None, "epsilon"),
        ({"delta": 1.0}, None, "delta"),
        ({}, np.append(EPSILON[1:], np.nan), r"epsilon\[1099\] = nan"),
    ],
)
def test_privacy_parameters_are_checked_before_any_block(settings, epsilon, message):
    with pytest.raises(ValueError, match=message):
        PDPRidge(**settings).fit(Rows.from_blocks(unreadable), epsilon=epsilon)


def test_budgets_of_dask_are_checked_before_any_row():
    import dask.array as da

    X_never = da.map_blocks(lambda: next(unreadable()), chunks=((N,), (D,)), dtype=float)
    bad = np.where(np.arange(N) == 700, -1.0, EPSILON)
    lazy = da.from_array(bad, chunks=CUT)
    for fit in (
        lambda: PDPRidge().fit(X_never, Y, epsilon=lazy),
        lambda: PDPRidge().fit(Rows(X_never, Y, epsilon=lazy)),
        lambda: PDPRidge().fit(Rows(X_never, Y, epsilon=bad)),
    ):
        with pytest.raises(ValueError, match=r"epsilon must be .*epsilon\[\d+\] = -1"):
            fit()


def test_what_is_not_in_blocks_is_refused():
    import dask.array as da
    import dask.bag

    for make, error, message in [
        (lambda: Rows(X, Y[:-1]), ValueError, "columns must have one length"),
        (lambda: Rows(X.tolist(), Y), TypeError, "X must be a NumPy array, a memory map or a Dask"),
        (lambda: Rows(dask.bag.from_sequence([1])), TypeError, "a Dask array, a row .* got Bag"),
        (lambda: Rows(dask.delayed(X), Y), TypeError, "a Dask array, a row .* got Delayed"),
        (lambda: Rows(np.ma.array(X), Y), TypeError, "X must not be a masked array"),
        (
            lambda: list(Rows.from_blocks([(X, np.ma.array(Y))]).each(len)),
            TypeError,
            "y must not be a masked array",
        ),
        (lambda: Rows.from_blocks(3), TypeError, "blocks must be an iterable of tuples"),
        (lambda: Rows.from_blocks([], "Xy"), ValueError, "names must be a tuple of different"),
        (lambda: Rows.from_blocks([], ("X", "X")), ValueError, "names must be a tuple of differ"),
        (
            lambda: PDPRidge().fit(Rows.from_blocks(lambda: None)),
            TypeError,
            "a function that returns an iterable of tuples of arrays; it returned NoneType",
        ),
        (lambda: PDPRidge().fit(Rows(X[:, 0], Y)), ValueError, r"d at least 1; got \(1100,\)$"),
        (lambda: Rows(X, Y).select("users"), ValueError, "must have a column 'users'"),
        (lambda: PDPRidge().fit(Rows(X, Y), Y), TypeError, "^y must be None with Rows"),
        (
            lambda: PDPRidge().fit(Rows(**COLUMNS), epsilon=EPSILON),
            TypeError,
            "^epsilon must be None with Rows that have it",
        ),
        (lambda: PDPRidge().fit(Rows(X, users=Y)), ValueError, "of the columns; got X, users$"),
        (
            lambda: Rows.from_blocks([(X, Y), (X[:1], Y[:1])]).sum(lambda X, y: (1,) * len(y)),
            ValueError,
            r"zip\(\) argument 2 is shorter",
        ),
        (lambda: PDPRidge().fit(Rows.from_blocks([])), ValueError, "at least one person; got none"),
        (
            lambda: PDPRidge().fit(Rows.from_blocks([(X, Y)]), epsilon=EPSILON),
            TypeError,
            "epsilon must be among the arrays of each block",
        ),
        (
            lambda: PDPRidge().fit(Rows.from_blocks([(X, Y, Y)])),
            ValueError,
            "blocks must have 2 arrays, X, y; got 3 in block 0",
        ),
        (
            lambda: PDPRidge(loss="huber").fit(da.from_array(X), Y),
            TypeError,
            "loss='huber' takes arrays in memory, not Array",
        ),
    ]:
        with pytest.raises(error, match=message):
            make()


# --- weights of public rows -----------------------------------------------------------------------

USERS = np.array([f"user {k}" for k in np.random.default_rng(3).zipf(1.5, N) % 60])
PUBLIC = {"X": np.random.default_rng(4).standard_normal((N, D)), "users": USERS}


@pytest.mark.parametrize("kind", KINDS)
def test_row_generation_over_blocks_reaches_the_optimum(make, kind):
    given = {"sigma2": 0.3, "epsilon": 1.0, "width": 2.0}
    expected = gwa_weights(PUBLIC["X"], USERS, **given)
    rows = make(kind, PUBLIC)
    found = gwa_rows(rows, **given)
    assert found.gap <= 1e-8
    assert_allclose(found.objective, expected.objective, rtol=3e-8)  # both are within 1e-8
    C = np.zeros((D, N))
    C[:, found.rows] = found.C
    objective, bound, _ = certify(C, PUBLIC["X"], USERS, multipliers=found.multipliers, **given)
    assert_allclose([objective, bound], [found.objective, found.lower_bound], rtol=EXACT)
    assert_allclose(found.scale, expected.scale, rtol=1e-3)
    assert len(found.rows) < N


def test_a_gap_that_cannot_be_reached_is_an_error():
    with pytest.raises(ConvergenceError, match=r"ended with a certified .* above tol = 1e-3"):
        gwa_rows(Rows(**PUBLIC), **GIVEN, tol=1e-30)


@pytest.mark.parametrize("sigma2", [0.0, 1e-3, 0.3, 30.0])
@pytest.mark.parametrize("kind", KINDS)
def test_the_dual_over_blocks_is_that_of_all_rows(make, kind, sigma2):
    budgets = {user: 0.2 + k / 40 for k, user in enumerate(np.unique(USERS))}
    given = {"sigma2": sigma2, "epsilon": budgets, "width": 2.0}
    rows = make(kind, PUBLIC)
    C = np.linalg.pinv(PUBLIC["X"])
    for seed in range(3):
        M = np.eye(D) + 0.3 * np.random.default_rng(seed).standard_normal((D, D))
        bound = certify(C, PUBLIC["X"], USERS, multipliers=M, **given)[1]
        assert_allclose(bound_of_blocks(rows, M, given), bound, rtol=EXACT)
    short = Rows.from_blocks(list(cut(PUBLIC))[1:], tuple(PUBLIC))  # planted: a block forgotten
    assert abs(bound_of_blocks(short, M, given) / bound - 1) > 1e-4


def bound_of_blocks(rows, M, given):
    """What `gwa_rows` takes for the dual, at multipliers for the caller's columns."""
    seen = several_passes(rows, "gwa_rows", "X", "users")
    design = design_of(seen, given)
    problem = problem_of(first_rows(seen, design), design, given)
    dual, _ = price(seen, design, problem, np.linalg.solve(design.basis, M.T).T)
    return dual.bound


def test_weights_of_public_rows_refuse_what_they_cannot_read():
    given = {"sigma2": 1.0, "epsilon": 1.0, "width": 1.0}
    for make, error, message in [
        (lambda: gwa_rows(Rows(X), **given), ValueError, "must have a column 'users'"),
        (lambda: gwa_rows(iter([(X, USERS)]), **given), TypeError, "gwa_rows reads blocks twice"),
        (lambda: gwa_rows([], **given), ValueError, "at least one person"),
        (lambda: gwa_rows([(X[:, :0], USERS)], **given), ValueError, "n and d at least 1"),
        (lambda: gwa_rows([(X, USERS[:, None])], **given), ValueError, "users must have shape"),
        (
            lambda: gwa_rows([(X, np.where(USERS == "user 1", None, USERS))], **given),
            ValueError,
            "in block 0, .* users must have no missing label",
        ),
        (lambda: gwa_rows(unreadable, **{**given, "sigma2": -1.0}), ValueError, "sigma2"),
        (
            lambda: gwa_rows([(X[:, [0, 0]], USERS)], **given),
            ValueError,
            "X must have full column rank 2",
        ),
        (
            lambda: gwa_rows([(X, USERS)], **{**given, "epsilon": {"user 1": 1.0}}),
            ValueError,
            "a budget for every user",
        ),
    ]:
        with pytest.raises(error, match=message):
            make()


# --- every function that takes blocks -------------------------------------------------------------

GIVEN = {"sigma2": 0.3, "epsilon": 1.0, "width": 2.0}


def released(model, rows):
    fitted = clone(model).set_params(random_state=7).fit(rows)
    return [getattr(fitted, name) for name in RELEASED if hasattr(fitted, name)]


def streamed(rows):
    report = stream_per_instance(rows, 3.0, GAMMA, DELTA)
    return [report.theta, report.mean, report.largest, report.rows, report.counts]


def weighed(rows):
    found = gwa_rows(rows, **GIVEN)
    return [found.rows, found.C, found.scale, found.objective, found.lower_bound]


BUDGETED, PAIRS = ("X", "y", "epsilon"), ("X", "y")
EVERY = {  # a name of its own, the columns, how often they are read at least, and what comes out
    **{
        f"{type(model).__name__} {k}": (BUDGETED, 1, partial(released, model))
        for k, model in enumerate(MODELS)
    },
    "stream": (PAIRS, 2, streamed),
    "losses": (PAIRS, 2, lambda rows: [whole(per_instance_losses(rows, 3.0, GAMMA, DELTA))]),
    "gwa_rows": (("X", "users"), 2, weighed),
    "gwa bound": (("X", "users"), 2, lambda rows: [bound_of_blocks(rows, np.eye(D), GIVEN)]),
}
EVERYBODY = {**COLUMNS, "users": np.random.default_rng(3).integers(0, 60, N)}
ONE_PROMISE = [
    f"{type(model).__name__} {k}" for k, model in enumerate(MODELS) if columns_of(model) is AGREED
]
of_every = pytest.mark.parametrize("name", EVERY)
of_several = pytest.mark.parametrize("name", [name for name in EVERY if EVERY[name][1] > 1])


def everybody(name):
    """The columns that a function reads."""
    of_all = EVERYBODY | (AGREED if name in ONE_PROMISE else {})
    return {column: of_all[column] for column in EVERY[name][0]}


def assert_same(got, expected):
    """All that came out, each in units of its largest entry."""
    for a, b in zip(got, expected, strict=True):
        assert_allclose(a, b, rtol=EXACT, atol=EXACT * np.abs(b).max())


@of_every
def test_blocks_of_a_buffer_that_is_overwritten_are_not_kept(name):
    """Readers of files reuse their memory for the next block."""
    columns, read = everybody(name), EVERY[name][2]
    size = 110
    buffers = [np.empty_like(column[:size]) for column in columns.values()]

    def pieces():
        for block in cut(columns, size):
            for buffer, part in zip(buffers, block, strict=True):
                buffer[: len(part)] = part
            yield tuple(buffer[: len(block[0])] for buffer in buffers)
            for buffer in buffers:
                buffer[:] = buffer[0]

    assert_same(read(Rows.from_blocks(pieces, tuple(columns))), read(Rows(**columns)))


@of_every
@pytest.mark.parametrize("kind", ["float32", "whole numbers", "an empty list first"])
def test_other_types_are_the_same_people(name, kind):
    columns, read = everybody(name), EVERY[name][2]
    blocks = cut(columns)
    if kind == "float32":
        columns = {k: c.astype("f4") if c.dtype.kind == "f" else c for k, c in columns.items()}
        doubles = {k: c.astype(float) if c.dtype.kind == "f" else c for k, c in columns.items()}
        blocks, columns = cut(columns), doubles
    elif kind == "whole numbers":
        levels = 1 if "y" in columns else 1000  # rows that are the same would share weights at will
        blocks = cut({**columns, "X": np.rint(X * levels).astype(np.uint16)})
        columns = {**columns, "X": np.rint(X * levels)}
    else:
        blocks = [tuple([] for _ in columns), *blocks]
    assert_same(read(Rows.from_blocks(list(blocks), tuple(columns))), read(Rows(**columns)))


@of_every
def test_a_map_that_may_be_written_is_only_read(name, tmp_path):
    columns, read = everybody(name), EVERY[name][2]
    for k, column in columns.items():
        np.save(tmp_path / f"{k}.npy", column)
    open_maps = {k: np.load(tmp_path / f"{k}.npy", mmap_mode="r+") for k in columns}
    assert_same(read(Rows(**open_maps)), read(Rows(**columns)))
    for k, column in columns.items():
        assert_array_equal(open_maps[k], column)


@of_every
def test_chunks_of_unknown_sizes_are_the_same_people(name):
    import dask.array as da

    columns, read = everybody(name), EVERY[name][2]
    kept = X[:, 1] < 0.9

    def lazy(column):
        return da.from_array(column, chunks=(CUT, *column.shape[1:]))[
            da.from_array(kept, chunks=CUT)
        ]

    unknown = Rows(**{k: lazy(column) for k, column in columns.items()})
    assert_same(read(unknown), read(Rows(**{k: column[kept] for k, column in columns.items()})))


@of_every
def test_nan_in_the_last_block_and_an_error_midway_release_nothing(name):
    columns, read = everybody(name), EVERY[name][2]
    spoiled = "y" if "y" in columns else "X"
    wrong = columns[spoiled].copy()
    wrong[-1] = np.nan
    with pytest.raises(ValueError, match=rf"in block 7, .* row 1020: {spoiled} must be finite"):
        read(Rows.from_blocks(list(cut({**columns, spoiled: wrong})), tuple(columns)))

    def stops():
        yield from list(cut(columns))[:3]
        raise OSError("the disk is gone")

    with pytest.raises(OSError, match="the disk is gone"):
        read(Rows.from_blocks(stops, tuple(columns)))


@of_every
def test_blocks_of_frames_with_columns_in_another_order_are_refused(name):
    columns, read = everybody(name), EVERY[name][2]

    def frames(order):
        for k, (rows, *others) in enumerate(cut(columns)):
            frame = pd.DataFrame(rows, columns=list("abcd"))
            yield (frame[list(order)] if k == 4 else frame), *others

    got = read(Rows.from_blocks(list(frames("abcd")), tuple(columns)))
    assert_same(got, read(Rows(**columns)))
    with pytest.raises(ValueError, match=r"the same columns in one order; got \['a', .* block 4"):
        read(Rows.from_blocks(list(frames("bacd")), tuple(columns)))


def shuffled(blocks, k):
    return [blocks[i] for i in np.random.default_rng(k).permutation(len(blocks))]


def drawn_anew(blocks, k):
    rng = np.random.default_rng(k)
    return [(rng.permutation(rows), *others) for rows, *others in blocks]


def another(place, which):
    """One entry of one block is another's at every later pass."""

    def change(blocks, k):
        columns = [column.copy() for column in blocks[2]]
        if k:
            one = columns[which]
            one[place] = one[(one != one[place]).reshape(len(one), -1).any(axis=1)][0]
        return [*blocks[:2], tuple(columns), *blocks[3:]]

    return change


def cut_elsewhere(blocks, k):
    """The same people in the same order: the last of the first block begins the second."""
    one, two, *others = blocks
    both = [np.concatenate(pair) for pair in zip(one, two, strict=True)]
    at = len(one[0]) - bool(k)
    return [tuple(c[:at] for c in both), tuple(c[at:] for c in both), *others]


def one_left_out(blocks, k):
    """Somebody in the midst of a block is missing at every later pass."""
    kept = np.arange(len(blocks[1][0])) != 7 if k else slice(None)
    return [blocks[0], tuple(column[kept] for column in blocks[1]), *blocks[2:]]


@of_several
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (one_left_out, "block 1 has others than before"),
        *[
            (another(place, which), "block 2 has others than before")
            for place in (0, -1)
            for which in (0, -1)
        ],
        (cut_elsewhere, "block 0 has others than before"),
        (shuffled, "block 0 has others than before"),
        (drawn_anew, "block 0 has others than before"),
        (lambda blocks, k: blocks[: len(blocks) - k], r"7 blocks came, 8 before"),
        (lambda blocks, k: blocks + blocks[:k], "block 8 has others than before"),
        (lambda blocks, k: [] if k else blocks, "0 blocks came, 8 before"),
    ],
)
def test_passes_over_different_people_are_refused(name, change, message):
    """A loader that shuffles, or a function that returns one spent iterator again and again."""
    columns, read = everybody(name), EVERY[name][2]
    passes = iter(range(100))
    rows = Rows.from_blocks(lambda: change(list(cut(columns)), next(passes)), tuple(columns))
    with pytest.raises(ValueError, match=f"the same people in the same order .*{message}"):
        read(rows)


@of_several
def test_an_iterator_does_not_suffice_for_several_passes(name):
    with pytest.raises(TypeError, match="reads blocks twice, and an iterator can be read once"):
        EVERY[name][2](Rows.from_blocks(cut(everybody(name)), EVERY[name][0]))


@of_every
@pytest.mark.parametrize("announced", [True, False])
def test_chunks_that_are_not_as_long_as_announced_are_refused(name, announced):
    """The labels of one chunk lack a row, or all of its columns do."""
    import dask
    import dask.array as da

    columns, read = everybody(name), EVERY[name][2]

    def chunk(column, start, short):
        rows = column[start : start + CUT]
        size = len(rows) if announced else np.nan
        got = dask.delayed(rows[: len(rows) - short])
        return da.from_delayed(got, shape=(size, *rows.shape[1:]), dtype=rows.dtype)

    def lazy(column, short):
        starts = range(0, N, CUT)
        return da.concatenate([chunk(column, s, short * (s == 2 * CUT)) for s in starts])

    rows = Rows(**{k: lazy(c, announced or k != "X") for k, c in columns.items()})
    if name.startswith("PersonalizedMean") and not announced:
        return  # it does not read X
    told = "170 rows as announced" if announced else "one row a person in every array"
    with pytest.raises(ValueError, match=f"in block 2.*: chunks must have {told}"):
        read(rows)


def test_a_file_that_is_missing_is_no_cluster_that_is_gone(tmp_path):
    import dask
    import dask.array as da

    chunk = dask.delayed(np.load)(tmp_path / "none.npy")
    lazy = da.from_delayed(chunk, shape=(N, D), dtype=float)
    with pytest.raises(FileNotFoundError):
        PDPRidge().fit(lazy, Y)


def test_what_a_lost_cluster_raises_is_said():
    """Without one: a graph whose chunks are missing, and what a client raises when it is closed."""
    import dask.array as da
    from distributed.client import ClosedClientError, FutureCancelledError

    gone = da.Array({}, "persisted", chunks=((N,), (D,)), dtype=float)
    said = r"is gone, or lost .*, nothing was released \(ValueError: Missing dependency"
    with pytest.raises(ConnectionError, match=said):
        PDPRidge().fit(gone, Y)
    for error in (ClosedClientError("closed"), FutureCancelledError("chunk", "lost")):

        def fails(block, error=error):
            raise error

        lazy = da.from_array(X, chunks=(CUT, D)).map_blocks(fails, dtype=float, meta=X[:0])
        with pytest.raises(ConnectionError, match=rf"is gone, or .*\({type(error).__name__}: "):
            PDPRidge().fit(lazy, Y)


# --- memory ---------------------------------------------------------------------------------------

SUMS = [model for model in MODELS if not isinstance(model, OnePosteriorSample | AdaOPS)]
READERS = [
    *(partial(lambda model, X, y: clone(model).fit(X, y), model) for model in SUMS),
    lambda X, y: stream_per_instance(Rows(X, y), 1.0, GAMMA, DELTA),
]


@pytest.mark.parametrize("read", READERS)
def test_a_map_takes_the_memory_of_a_block(tmp_path, monkeypatch, read):
    """The posterior estimators are left out: they calibrate in more memory than these data take."""
    monkeypatch.setattr(sources, "ROWS", 1000)
    n, d = 40_000, 8
    np.save(tmp_path / "X.npy", people(n, d)[0])
    mapped, y = np.load(tmp_path / "X.npy", mmap_mode="r"), people(n, d)[1]
    read(mapped[:2000], y[:2000])  # imports, caches
    tracemalloc.start()
    read(mapped, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < mapped.nbytes / 2


def test_planted_loading_of_a_whole_map_is_noticed(tmp_path, monkeypatch):
    def careless(X, y):
        return weighted_ridge(np.array(X), y, 0.0)

    with pytest.raises(AssertionError):
        test_a_map_takes_the_memory_of_a_block(tmp_path, monkeypatch, careless)


# --- what needs everything at once ----------------------------------------------------------------


@pytest.mark.parametrize("model", IN_MEMORY, ids=lambda m: type(m).__name__)
def test_estimators_that_need_everything_refuse_blocks(model):
    import dask.array as da

    lazy = da.from_array(X, chunks=CUT)
    for args in ((lazy, Y), (X, lazy[:, 0]), (Rows(X, Y), Y)):
        with pytest.raises(TypeError, match=f"{type(model).__name__}.fit takes arrays in memory"):
            clone(model).fit(*args)


@pytest.mark.parametrize(
    ("function", "name"),
    [
        (lambda X, y: weighted_ridge(X, y, 1.0), "weighted_ridge takes arrays in memory"),
        (lambda X, y: leave_one_out(X, y, 1.0), "leave_one_out takes arrays in memory"),
        (lambda X, y: per_instance_epsilon(X, y, 1.0, 1.0, 0.1), "per_instance_epsilon takes"),
        (lambda X, y: loss_moments(X, y, np.ones(D), 1.0), "loss_moments takes"),
        (lambda X, y: explain(0, X, y, 1.0, 1.0, 0.1), "per_instance_epsilon takes"),
        (lambda X, y: Pool(X, y), "X must be .*in memory"),
        (lambda X, y: gwa_weights(X, sigma2=1.0, epsilon=1.0, width=1.0), "X must be .*in memory"),
    ],
)
def test_functions_that_need_everything_refuse_blocks(function, name):
    import dask.array as da

    with pytest.raises(TypeError, match=name):
        function(da.from_array(X, chunks=CUT), Y)


# --- a cluster ------------------------------------------------------------------------------------


def held(folder, block):
    """A block, once a worker that was at one is dead; a file says which process is at it."""
    while not (folder / "dead").exists():
        (folder / str(os.getpid())).touch()
        time.sleep(0.01)
    return block


def when_at_work(folder, action):
    """Do something to the first process that is at work on a block, and let the others go on."""

    def wait():
        deadline = time.monotonic() + 60
        while not os.listdir(folder) and time.monotonic() < deadline:
            time.sleep(0.01)
        action(int(os.listdir(folder)[0]))
        (folder / "dead").touch()

    thread = threading.Thread(target=wait)
    thread.start()
    return thread


@pytest.fixture
def workers():
    """Two of them, for one test: one is killed, and when Dask starts another is its own affair."""
    from distributed import Client, LocalCluster

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        yield


FIRST = {type(model).__name__: k for k, model in reversed(list(enumerate(MODELS)))}


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [name for name in EVERY if name.split()[0] not in FIRST]
    + [f"{kind} {k}" for kind, k in FIRST.items()],
)
def test_a_worker_killed_midway_changes_nothing(name, workers, tmp_path):
    import dask.array as da

    columns, read = everybody(name), EVERY[name][2]

    def lazy(column):
        whole = da.from_array(column, chunks=(CUT, *column.shape[1:]))
        return whole.map_blocks(partial(held, tmp_path), dtype=column.dtype, meta=column[:0])

    killed = []
    killer = when_at_work(tmp_path, lambda pid: killed.append(os.kill(pid, signal.SIGKILL)))
    got = read(Rows(**{k: lazy(column) for k, column in columns.items()}))
    killer.join()
    assert killed  # in the middle of a block
    assert_same(got, read(Rows(**columns)))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:the cluster has no workers")  # it closes them first
def test_a_cluster_that_is_gone_is_said(tmp_path):
    """It goes in the middle of the work; blocks that were kept there are gone with it."""
    import dask.array as da
    from distributed import Client, LocalCluster, wait

    with (
        LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as cluster,
        Client(cluster),
    ):
        kept = {k: da.from_array(c, chunks=CUT).persist() for k, c in EVERYBODY.items() if k != "X"}
        kept["X"] = da.from_array(X, chunks=(CUT, D)).persist()
        wait(list(kept.values()))
        lazy = da.from_array(X, chunks=(CUT, D)).map_blocks(partial(held, tmp_path), meta=X[:0])
        stopper = when_at_work(tmp_path, lambda pid: cluster.close())
        with pytest.raises(ConnectionError, match="the cluster that held the blocks is gone"):
            Rows(lazy).sum(lambda X: (X.sum(),))
        stopper.join()
        for columns, _, read in EVERY.values():
            with pytest.raises(ConnectionError, match="the cluster that held the blocks is gone"):
                read(Rows(**{k: kept[k] for k in columns}))


def test_blocks_whose_parts_name_other_rows_are_refused():
    X = pd.DataFrame({"a": [0.1, 0.9]}, index=["ann", "bo"])
    y = pd.Series([0.2, 0.4], index=["bo", "ann"])
    with pytest.raises(ValueError, match="must have the index of"):
        PDPRidge().fit(Rows.from_blocks([(X, y)]))
    PDPRidge().fit(Rows.from_blocks([(X, y[::-1])]))


def test_no_column_and_no_budget_is_ignored():
    X, y = np.full((20, 1), 0.5), np.zeros(20)
    epsilon, users = np.full(20, 3.0), np.arange(20)
    for model, rows in [
        (PDPRidge(), Rows(X, y, users=users)),
        (PDPRidge(), Rows(X, y, epsilom=epsilon)),
        (WeightedMean(), Rows(X, y, users=users, weights=epsilon)),
    ]:
        with pytest.raises(
            ValueError, match=r"rows must have columns among X, y.*; got .* as well"
        ):
            model.fit(rows)
    for model in (PDPRidge(epsilon=0.1), WeightedMean(epsilon=0.1)):
        columns = {"users": users} if isinstance(model, WeightedMean) else {}
        with pytest.raises(TypeError, match="the constructor's or a column of the rows; got both"):
            model.fit(Rows(X, y, epsilon=epsilon, **columns))


def test_booleans_alone_are_features_too():
    table = pd.DataFrame({"smoker": [True, False] * 10, "y": np.linspace(0, 1, 20)})
    model = PDPRidge(random_state=0).fit(Rows.from_table(table, X=["smoker"], y="y"))
    again = clone(model).fit(table[["smoker"]], table.y)
    assert_allclose(model.coef_, again.coef_)
