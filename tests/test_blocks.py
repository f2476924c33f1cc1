"""Blocks: what comes from disk, from Dask or from an iterator is what comes from memory."""

import time

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from pdpbook import blocks as blocks_module
from pdpbook.blocks import Rows
from pdpbook.per_instance import per_instance_epsilon, per_instance_losses, stream_per_instance
from pdpbook.personalized import PDPRidge
from pdpbook.ridge import weighted_ridge

N, D, CUT = 1100, 4, 170
KINDS = ["views", "map", "dask", "function", "list", "csv"]
EXACT = 1e-10  # what the book promises, relative; sums of 1100 terms round at 1e-13


def people(n=N, d=D, seed=5):
    rng = np.random.default_rng(seed)
    X, y = rng.random((n, d)), rng.uniform(-1, 1, n)
    return X, y, rng.choice([0.1, 0.5, 1.0], n)


X, Y, EPSILON = people()
COLUMNS = {"X": X, "y": Y, "epsilon": EPSILON}


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
        cuts["y"] = columns["y"]  # in memory: it is cut as X is
        return Rows(**cuts)
    if kind in {"views", "map"}:
        monkeypatch.setattr(blocks_module, "ROWS", CUT)
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
    assert Rows.from_blocks(good, tuple(COLUMNS)).sum(moments)[2] == N
    with pytest.raises(AssertionError):
        test_sums_and_maps_are_those_of_the_whole(Rows.from_blocks(wrong, tuple(COLUMNS)))
    fit = PDPRidge(random_state=0).fit(Rows.from_blocks(wrong, tuple(COLUMNS)))
    with pytest.raises(AssertionError):
        assert_same_release(fit, PDPRidge(random_state=0).fit(X, Y, epsilon=EPSILON))


def test_kinds_come_back(make):
    import dask.array as da

    def first(X):
        return X[:, 0]

    assert type(make("views", COLUMNS).select("X").map(first)) is np.ndarray
    lazy = make("dask", COLUMNS).select("X").map(first)
    assert isinstance(lazy, da.Array)
    assert lazy.chunks == ((CUT,) * 6 + (N - 6 * CUT,),)
    assert next(iter(make("list", COLUMNS).select("X").map(first))).shape == (CUT,)
    assert repr(make("list", COLUMNS)) == "Rows(X, y, epsilon: blocks)"


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
    assert max(sizes) == blocks_module.NUMBERS // width
    assert sum(sizes) == 20_000


def test_a_chunk_of_unknown_size_may_be_empty():
    import dask.array as da

    lazy = da.from_array(X, chunks=(CUT, D))
    kept = lazy[lazy[:, 0] > np.sort(X[:, 0])[-3]]  # two people, most chunks empty
    total, n = Rows(kept).sum(lambda X: (X.sum(axis=0), len(X)))
    assert n == 2
    assert_allclose(total, X[np.argsort(X[:, 0])[-2:]].sum(axis=0), rtol=EXACT)


# --- weighted statistics --------------------------------------------------------------------------


@pytest.mark.parametrize("lam", [0.0, 0.3, 1e-17])
@pytest.mark.parametrize("weighted", [False, True])
def test_ridge_in_blocks(make, lam, weighted):
    columns = {"X": X, "y": Y, **({"weights": EPSILON} if weighted else {})}
    expected = weighted_ridge(X, Y, lam, EPSILON if weighted else None)
    for kind in KINDS:
        assert_allclose(weighted_ridge(make(kind, columns), None, lam), expected, rtol=EXACT)


def test_ill_conditioned_blocks_are_solved_by_their_triangles(make):
    """The Gram matrix has condition 1e16: Cholesky would lose every digit, QR loses eight."""
    rng = np.random.default_rng(2)
    Q = np.linalg.qr(rng.standard_normal((N, D)))[0]
    bad = Q * np.geomspace(1, 1e-8, D) @ np.linalg.qr(rng.standard_normal((D, D)))[0]
    theta = np.array([1.0, -2.0, 3.0, 0.5])
    for kind in KINDS:
        rows = make(kind, {"X": bad, "y": bad @ theta})
        assert_allclose(weighted_ridge(rows, None, 0.0), theta, atol=1e-6)
    gram, moment, _ = rows.sum(lambda X, y: (X.T @ X, X.T @ y, len(y)))
    assert np.abs(np.linalg.solve(gram, moment) - theta).max() > 1e-6  # the planted Gram route


def assert_same_release(got, expected):
    assert_allclose(got.coef_, expected.coef_, rtol=EXACT)
    assert_allclose(got.intercept_, expected.intercept_, rtol=EXACT, atol=1e-13)
    assert got.n_features_in_ == expected.n_features_in_
    assert got.guarantee_ == expected.guarantee_


SETTINGS = [
    {"lam": 0.2},
    {"lam": 0.2, "delta": 1e-6, "fit_intercept": True, "bounds": (0.1, 0.8), "clip": True},
    {"lam": 0.2, "row_norm": 1.0, "clip": True, "y_bounds": (-1, 2)},
]


@pytest.mark.parametrize("settings", SETTINGS, ids=str)
def test_one_seed_releases_the_same_from_every_kind(rows, settings):
    whole = PDPRidge(**settings, random_state=7).fit(X, Y, epsilon=EPSILON)
    model = PDPRidge(**settings, random_state=7).fit(rows)
    assert_same_release(model, whole)
    assert_allclose(model.eta_, whole.eta_, rtol=EXACT)
    law = PDPRidge(**settings).output_law(rows)
    assert_allclose(
        law.center, PDPRidge(**settings).output_law(X, Y, epsilon=EPSILON).center, rtol=EXACT
    )


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
    with pytest.raises(TypeError, match=r"can be read once: pass a list, or a function"):
        PDPRidge().fit(once)
    with pytest.raises(TypeError, match=r"weighted_ridge reads blocks twice"):
        weighted_ridge(Rows.from_blocks(cut({"X": X, "y": Y})), None, lam=0.0)


def test_arrays_of_dask_and_maps_go_straight_in(make, tmp_path):
    import dask.array as da

    whole = PDPRidge(random_state=7).fit(X, Y, epsilon=EPSILON)
    np.save(tmp_path / "X.npy", X)
    mapped = np.load(tmp_path / "X.npy", mmap_mode="r")
    lazy = da.from_array(X, chunks=(CUT, 2))
    fits = {
        "map": PDPRidge(random_state=7).fit(mapped, Y, epsilon=EPSILON),
        "map, budgets of the constructor": PDPRidge(random_state=7, epsilon=EPSILON).fit(mapped, Y),
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
INVERSE = 1e-9  # where the search for a loss stops, relative: leverages and residuals agree better


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
    assert_allclose(stream.largest, report.epsilon[order[:7]], rtol=INVERSE)
    assert_allclose(np.concatenate([seen[k] for k in sorted(seen)]), report.epsilon, rtol=INVERSE)
    losses = per_instance_losses(rows, lam, GAMMA, DELTA)
    assert_allclose(whole(losses), report.epsilon, rtol=INVERSE)
    assert stream.n == stream.counts.sum() == N


def test_quantiles_of_the_histogram_are_never_too_small():
    epsilon = per_instance_epsilon(X, Y, 3.0, GAMMA, DELTA).epsilon
    stream = stream_per_instance(Rows(X, Y), 3.0, GAMMA, DELTA)
    for share in (1e-3, 0.1, 0.5, 0.9, 0.999):
        exact = np.quantile(epsilon, share, method="inverted_cdf")
        assert exact <= stream.quantile(share) <= exact * 10 ** (1 / 200) * (1 + INVERSE)
    alone = stream_per_instance(Rows(np.eye(3), np.zeros(3)), 0.0, GAMMA, DELTA)
    assert np.isinf(alone.quantile(0.5))
    with pytest.raises(ValueError, match="share must be above 0 and below 1"):
        stream.quantile(1.0)


def test_different_people_the_second_time_are_noticed():
    passes = iter([cut({"X": X, "y": Y}), cut({"X": X[:-1], "y": Y[:-1]})])
    with pytest.raises(ValueError, match="got 1100 first, 1099 the second time"):
        stream_per_instance(lambda: next(passes), 1.0, GAMMA, DELTA)


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
        ("epsilon", put(0.0, 8), ValueError, r"in block 4, .* row 510: epsilon .* epsilon\[8\]"),
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

    for make, error, message in [
        (lambda: Rows(X, Y[:-1]), ValueError, "columns must have one length"),
        (lambda: Rows(X.tolist(), Y), TypeError, "X must be a NumPy array, a memory map or a Dask"),
        (lambda: Rows.from_blocks(3), TypeError, "blocks must be an iterable of tuples"),
        (lambda: Rows(X, Y).select("users"), ValueError, "must have a column 'users'"),
        (lambda: PDPRidge().fit(Rows(X, Y), Y), TypeError, "y must be None with Rows"),
        (lambda: PDPRidge().fit(Rows(X)), ValueError, "y must be one of the columns"),
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
