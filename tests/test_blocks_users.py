"""Users in blocks: their records are spread over blocks and files, and every promise stays."""

import os
import signal
from functools import partial
from itertools import pairwise

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from mechanisms import every
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from test_blocks import held, when_at_work, workers  # noqa: F401

from pdpbook._users import check_users, row_keys
from pdpbook.blocks import Rows, sources
from pdpbook.frames import owners
from pdpbook.guarantees import BudgetAccount
from pdpbook.gwa import GWARegression, SampleLimitedRegression
from pdpbook.user_level import SampleLimitedMean, WeightedERM, WeightedMean, quantile_law

N, D, M = 900, 3, 40
EXACT = 1e-9  # what the book promises, relative; sums of 900 terms round at 1e-13
RNG = np.random.default_rng(11)
X = RNG.uniform(0.2, 0.7, (N, D)).round(3)
Y = np.where(RNG.random(N) < 0.5, -1.0, 1.0) * np.where(X[:, 0] > 0.4, 0.9, 0.3).round(1)
USERS = (M * RNG.random(N) ** 1.5).astype(int)
BUDGETS = {k: (0.0, 0.5, 1.0, 2.0)[k % 4] for k in range(M)}
COLUMNS = {"X": X, "y": Y, "users": USERS}
FEATURES = ["a", "b", "c"]
NAMED = {"X": FEATURES, "y": "label", "users": "who"}
FRAME = pd.DataFrame(X, columns=FEATURES).assign(
    label=Y, who=USERS, budget=[BUDGETS[k] for k in USERS]
)
RELEASED = ["coef_", "intercept_", "mean_", "release_", "exposure_", "weights_"]
of_all = pytest.mark.parametrize("model", every("users"), ids=lambda model: type(model).__name__)


def labels_of(model):
    """Labels as a mechanism takes them."""
    return np.sign(Y).astype(int) if getattr(model, "loss", "") == "logistic" else Y


def cut(columns, at):
    ends = [0, *sorted(at), N]
    return [tuple(c[a:b] for c in columns.values()) for a, b in pairwise(ends)]


def blocks(model, at=(1, 200, 200, 470, 899), **more):
    columns = {**COLUMNS, "y": labels_of(model), **more}
    return Rows.from_blocks(cut(columns, at), tuple(columns))


def fitted(model, *data, **given):
    return clone(model).set_params(random_state=7).fit(*data, **given)


def assert_same(got, expected, rtol=EXACT):
    assert_array_equal(got.users_, expected.users_)
    for name in RELEASED:
        if hasattr(expected, name):
            a, b = np.asarray(getattr(got, name)), np.asarray(getattr(expected, name))
            assert_allclose(a, b, rtol=rtol, atol=rtol * np.abs(b).max(), err_msg=name)
    assert_allclose(got.noise_.scale, expected.noise_.scale, rtol=rtol)
    assert_allclose(got.noise_.frame.even, expected.noise_.frame.even, rtol=rtol)
    for name in ("covariance", "most"):
        a, b = (getattr(model.noise_, name) for model in (got, expected))
        if b is not None:
            assert_allclose(a, b, rtol=rtol, err_msg=name)
    assert got.guarantee_ == expected.guarantee_
    assert getattr(got, "n_features_in_", None) == getattr(expected, "n_features_in_", None)


# --- any division ---------------------------------------------------------------------------------


@of_all
@settings(max_examples=8, deadline=None, derandomize=True)
@given(at=st.lists(st.integers(0, N), max_size=9), own=st.booleans())
def test_any_division_releases_what_memory_does(model, at, own):
    budgets = BUDGETS if own else 0.8
    expected = fitted(model, X, labels_of(model), users=USERS, epsilon=budgets)
    assert_same(fitted(model, blocks(model, at), epsilon=budgets), expected)


@of_all
@pytest.mark.parametrize("kind", ["views", "dask", "files", "Arrow", "Polars", "pandas", "frame"])
def test_every_kind_of_rows_is_the_same_people(model, kind, tmp_path, monkeypatch):
    frame = FRAME.assign(label=labels_of(model))
    expected = fitted(model, X, labels_of(model), users=USERS, epsilon=BUDGETS)
    monkeypatch.setattr(sources, "ROWS", 110)
    if kind == "views":
        rows = Rows(**{**COLUMNS, "y": labels_of(model)})
    elif kind == "dask":
        import dask.array as da

        rows = Rows(da.from_array(X, chunks=(170, 2)), labels_of(model), users=USERS)
    elif kind == "files":
        for k in range(3):  # the names of files sort as their rows do
            part = frame.iloc[[slice(0, 10), slice(10, 700), slice(700, N)][k]]
            part.to_parquet(tmp_path / f"part-{k}.parquet", row_group_size=130)
        rows = Rows.from_parquet(str(tmp_path), **NAMED)
    elif kind == "frame":
        import dask.dataframe as dd

        rows = Rows.from_table(dd.from_pandas(frame, npartitions=4), **NAMED)
    else:
        import polars as pl
        import pyarrow as pa

        make = {"Arrow": pa.table, "Polars": lambda f: pl.from_arrow(pa.table(f)), "pandas": dict}
        table = frame if kind == "pandas" else make[kind](frame)
        rows = Rows.from_table(table, **NAMED)
    assert_same(fitted(model, rows, epsilon=BUDGETS), expected)


def test_budgets_may_be_a_column():
    rows = Rows.from_table(FRAME, y="label", users="who", epsilon="budget")
    assert_same(
        fitted(WeightedMean(), rows),
        fitted(WeightedMean(), X, Y, users=USERS, epsilon=BUDGETS),
    )
    with pytest.raises(TypeError, match="epsilon must be None with Rows that have it"):
        WeightedMean().fit(rows, epsilon=0.5)
    late = FRAME.assign(budget=np.where(np.arange(N) == N - 1, 9.0, 1.0))
    parts = [(f["label"], f["who"], f["budget"]) for f in (late[:500], late[500:])]
    with pytest.raises(ValueError, match=r"epsilon must be the same on all rows of a user;"):
        WeightedMean().fit(Rows.from_blocks(parts, ("y", "users", "epsilon")))


def test_users_may_be_words():
    names = np.array([f"user {k}" for k in USERS])
    expected = fitted(WeightedMean(), X, Y, users=names)
    got = fitted(WeightedMean(), Rows.from_table(FRAME.assign(who=names), **NAMED))
    assert_same(got, expected)


def test_a_quantile_on_a_grid_is_that_of_memory():
    known = {"epsilon": BUDGETS, "bounds": (-1, 1), "grid": np.linspace(-1, 1, 21)}
    expected = quantile_law(Y, 0.3, users=USERS, **known)
    for at in ((), (1, 450), (100, 200, 300)):
        law = quantile_law(blocks(WeightedMean(), at), 0.3, **known)
        assert_allclose(law.log_probability, expected.log_probability, rtol=0, atol=1e-10)
    rows = blocks(WeightedMean())
    for wrong, message in [
        ({"grid": None}, "grid must be given with Rows"),
        ({"weights": Y}, "weights must be None"),
        ({"users": USERS}, "users must be None with Rows"),
        ({"epsilon": None}, "epsilon must be a number"),
    ]:
        with pytest.raises(TypeError, match=message):
            quantile_law(rows, 0.3, **{**known, **wrong})


def test_the_law_is_that_of_memory():
    model = WeightedERM(steps=3, clip_norm=0.2)
    law, exact = model.output_law(blocks(model)), model.output_law(X, Y, users=USERS)
    points = exact.sample(4, rng=np.random.default_rng(0))
    assert_allclose(law.logpdf(points), exact.logpdf(points), rtol=EXACT)
    assert_allclose(law.center, exact.center, rtol=EXACT)


# --- planted bugs ---------------------------------------------------------------------------------


def loss_of_largest(rows_of):
    """Exact loss, over the budget, of the user with most records, when all their labels turn."""
    whose = np.bincount(USERS).argmax()
    model = WeightedMean(epsilon=1.0)
    one, two = (
        model.output_law(rows_of({**COLUMNS, "y": np.where(USERS == whose, label, 0.0)}))
        for label in (-1.0, 1.0)
    )
    return float(np.abs(one.center - two.center)[0] / one.scale[0])


def whole_users(columns):
    return Rows.from_blocks(cut(columns, (150, 300, 450, 600, 750)), tuple(columns))


def test_a_user_in_many_blocks_is_one_user(monkeypatch):
    """Planted: a user's records are counted in each block as if they were somebody else's."""
    assert loss_of_largest(whole_users) <= 1 + 1e-12

    def by_block(columns):
        block = np.arange(N) // 150
        return whole_users({**columns, "users": 10 * columns["users"] + block})

    assert loss_of_largest(by_block) > 3


def test_a_gradient_that_is_clipped_block_by_block_is_noticed(monkeypatch):
    """Planted: the gradient of a user is clipped before its parts are added."""
    model = WeightedERM(steps=2, clip_norm=0.05, epsilon=5.0)
    expected = fitted(model, X, Y, users=USERS)
    assert_same(fitted(model, blocks(model)), expected)
    right = owners._sums

    def clipped(function, records):
        who, sums, counts = right(function, records)
        norms = np.linalg.norm(sums, axis=-1, keepdims=True) / counts[:, None, None]
        return who, sums * np.minimum(1, 0.05 / norms), counts

    monkeypatch.setattr(
        owners, "_sums", lambda f, r: (clipped if r.X.shape[1] > 1 else right)(f, r)
    )
    with pytest.raises(AssertionError):
        assert_same(fitted(model, blocks(model)), expected)


def test_a_limit_block_by_block_is_noticed(monkeypatch):
    model = SampleLimitedMean(max_rows=2)
    expected = fitted(model, X, Y, users=USERS)
    assert fitted(model, blocks(model)).max_rows_ == 2
    right = owners._read

    def read(seen, only, function, **block):
        if only is None:
            return right(seen, only, function, **block)
        every = right(seen, None, lambda records: records, **block)
        first = owners.places(every.codes, np.arange(len(every.codes))) < 2
        return tuple(column[first] for column in every)

    monkeypatch.setattr(owners, "_read", read)
    with pytest.raises(AssertionError):
        assert_same(fitted(model, blocks(model)), expected)


# --- which rows are kept --------------------------------------------------------------------------


def test_the_key_of_a_row_is_its_number_alone():
    whole = np.random.default_rng(5).random(1000)
    assert_array_equal(row_keys(5, 0, 1000), whole)
    assert_array_equal(row_keys(5, 123, 456), whole[123 : 123 + 456])
    place = check_users(USERS, N).places(5)
    before = 0
    for user in range(M):  # users in order, each with the next numbers of the seed
        own = np.flatnonzero(USERS == user)
        keys = row_keys(5, before, len(own))
        assert_array_equal(own[np.argsort(keys)], own[np.argsort(place[own])])
        before += len(own)


def test_which_rows_of_a_user_are_kept_is_their_own_affair():
    """However the others' rows are sorted among them, in memory and in blocks."""
    model, rng = SampleLimitedMean(max_rows=2), np.random.default_rng(0)
    expected = fitted(model, X, Y, users=USERS)
    order = np.lexsort([np.arange(N), rng.permutation(M)[USERS]])
    assert_same(fitted(model, X[order], Y[order], users=USERS[order]), expected)
    assert_same(fitted(model, Rows(X[order], Y[order], users=USERS[order])), expected)


@pytest.mark.parametrize("changed", [1, 2, 3])
@pytest.mark.parametrize("new", [0, M])
def test_users_that_change_between_passes_are_noticed(changed, new):
    """By the pass that counts, and by the one that keeps: a record of somebody or nobody."""
    seen = []

    def pieces():
        seen.append(0)
        users = USERS.copy()
        if len(seen) > changed:
            users[105] = new
        return iter([(Y[k : k + 100], users[k : k + 100]) for k in range(0, N, 100)])

    assert USERS[105] != new
    fit = SampleLimitedMean(max_rows=2).fit
    rows = Rows.from_blocks(pieces, ("y", "users"))
    if changed == 3:
        fit(rows)
        assert len(seen) == 3
    else:
        with pytest.raises(ValueError, match="must hold the same rows of the same users"):
            fit(rows)


@pytest.mark.parametrize("most", [1, 3, 100])
@pytest.mark.parametrize("many", [1, 7, 1 << 20])
def test_rows_are_kept_piece_by_piece_as_at_once(monkeypatch, most, many):
    monkeypatch.setattr(owners, "MANY", many)
    users = check_users(np.sort(USERS), N)
    kept = owners.kept_numbers(users.sizes, 5, most)
    assert_array_equal(kept, np.flatnonzero(users.places(5) < most))


@pytest.mark.parametrize("many", [1, 3, 50, 1 << 20])
def test_users_of_many_blocks_are_joined_early_without_a_change(monkeypatch, many):
    monkeypatch.setattr(owners, "MANY", many)
    own = np.array([BUDGETS[k] for k in USERS])
    rows = Rows.from_blocks(
        cut({"users": USERS, "epsilon": own}, range(9, N, 9)), ("users", "epsilon")
    )
    users, budgets = owners.users_of(rows)
    expected = check_users(USERS, N)
    assert_array_equal(users.labels, expected.labels)
    assert_array_equal(users.sizes, expected.sizes)
    assert_array_equal(budgets, [BUDGETS[k] for k in expected.labels])


def test_the_limit_keeps_the_same_rows_whoever_else_takes_part():
    """Budgets of 0 leave rows out, and the others are numbered, in memory and in blocks."""
    model = SampleLimitedRegression(max_rows=3)
    got = fitted(model, blocks(model), epsilon=BUDGETS)
    assert_same(got, fitted(model, X, Y, users=USERS, epsilon=BUDGETS))


# --- passes ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "passes"),
    [
        (WeightedMean(), 2),
        (SampleLimitedMean(max_rows=2), 3),
        (SampleLimitedRegression(max_rows=2), 4),
        (WeightedERM(steps=5), 6),
    ],
)
def test_passes_are_counted(model, passes):
    rows = blocks(model)
    assert rows.passes == 0
    fitted(model, rows)
    assert rows.passes == passes
    assert rows.select("y").passes == passes


def test_a_pass_over_files_reads_the_columns_it_asks_for(tmp_path):
    FRAME.to_parquet(tmp_path / "all.parquet")
    rows = Rows.from_parquet(str(tmp_path / "all.parquet"), **NAMED)
    assert [set(block) for block in rows.select("users")._source.blocks()] == [{"users"}]
    assert rows.width("X") == D
    assert repr(rows) == "Rows(X, y, users: Parquet)"


def test_an_account_is_charged_by_label():
    account = BudgetAccount(dict.fromkeys(range(M), 2.0), neighbors="user")
    fitted(WeightedMean(), blocks(WeightedMean()), account=account, epsilon=BUDGETS)
    assert_array_equal(account.remaining, [2.0 - BUDGETS[user] for user in range(M)])


def test_whoever_cannot_pay_is_left_out_as_in_memory():
    left = {user: 2.0 if user % 3 else 0.3 for user in range(M)}
    fits = []
    for data in ((X, Y, USERS), (blocks(WeightedMean()), None, None)):
        account = BudgetAccount(left, neighbors="user", leave_out=True)
        given = {} if data[2] is None else {"users": USERS}
        fits.append(fitted(WeightedMean(), *data[:2], **given, account=account, epsilon=BUDGETS))
        spent = np.array(list(left.values())) - account.remaining
        assert_allclose(spent, [BUDGETS[k] if BUDGETS[k] <= left[k] else 0.0 for k in left])
    assert_same(*fits[::-1])
    column = Rows.from_table(FRAME, y="label", users="who", epsilon="budget")
    account = BudgetAccount(left, neighbors="user", leave_out=True)
    assert_same(fitted(WeightedMean(), column, account=account), fits[0])


# --- bad input ------------------------------------------------------------------------------------


def test_settings_are_checked_before_any_block():
    def unreadable():
        raise AssertionError("the data were touched")
        yield

    for model, message in [
        (WeightedMean(epsilon=-1.0), "epsilon must be"),
        (WeightedMean(epsilon={1: np.nan}), "epsilon must be"),
        (WeightedERM(delta=1.0), "delta must be"),
        (SampleLimitedRegression(max_rows=0), "max_rows must be"),
        (GWARegression(tol=-1.0), "tol must be"),
    ]:
        with pytest.raises(ValueError, match=message):
            model.fit(Rows.from_blocks(unreadable, ("X", "y", "users")))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (WeightedERM(optimizer="output"), "optimizer='output' takes arrays in memory"),
        (WeightedERM("logistic"), "loss='logistic' without classes takes arrays in memory"),
    ],
)
def test_what_needs_all_rows_at_once_is_named(model, message):
    with pytest.raises(TypeError, match=message):
        model.fit(blocks(model))


def test_what_cannot_be_read_is_said_with_its_place(tmp_path):
    def file_with(name, value):
        frame = FRAME.copy()
        frame.loc[405, name] = value
        for j, part in enumerate((slice(0, 400), slice(400, N))):
            frame[part].to_parquet(tmp_path / f"{j}.parquet")
        return Rows.from_parquet(str(tmp_path), **NAMED)

    where = r"in block 1, from row 0 of .*1\.parquet, which begins at row 400: "
    for model, name, value, message in [
        (WeightedMean(), "label", 7.0, r"y must lie in \[-1, 1\]; got y\[5\] = 7"),
        (WeightedMean(), "label", np.nan, "y must be finite"),
        (WeightedERM(), "b", np.inf, r"X must be finite; got X\[5, 1\] = inf"),
        (WeightedERM(), "b", 3.0, r"X must lie in \[-1, 1\]"),
    ]:
        with pytest.raises(ValueError, match=where + message):
            model.fit(file_with(name, value))
        assert not hasattr(model, "users_")
    words = [None if k == 405 else str(user) for k, user in enumerate(USERS)]
    for j, part in enumerate((slice(0, 400), slice(400, N))):
        FRAME.assign(who=words)[part].to_parquet(tmp_path / f"{j}.parquet")
    with pytest.raises(ValueError, match=where + r"users must have no missing label; users\[5\]"):
        WeightedMean().fit(Rows.from_parquet(str(tmp_path), **NAMED))


def test_budgets_a_row_are_a_column():
    each = np.array(list(BUDGETS.values()))[USERS]
    for budgets, message in [
        (each.tolist(), "a mapping from user to budget, or a column of the Rows, one value a row"),
        (
            pd.Series(each),
            "epsilon must be a column of the Rows, one value a row, or have an index",
        ),
    ]:
        with pytest.raises(ValueError, match=message):
            WeightedMean().fit(blocks(WeightedMean()), epsilon=budgets)


@pytest.mark.parametrize(
    ("named", "error", "message"),
    [
        ({"X": "a"}, TypeError, "X must be a list of names of columns; got 'a'"),
        ({"y": ["label"]}, TypeError, "y must be one name of columns"),
        ({"X": ["a", "a"]}, ValueError, "'a' is named 2 times"),
        ({"X": ["a"], "y": "a"}, ValueError, "'a' is named 2 times"),
        ({"X": ["z"]}, ValueError, "'z' is named 1 times, and 0 times among"),
    ],
)
def test_names_that_can_be_read_in_two_ways_are_refused(named, error, message, tmp_path):
    import dask.dataframe as dd

    FRAME.to_parquet(tmp_path / "people.parquet")
    for make in (
        lambda: Rows.from_table(FRAME, **named),
        lambda: Rows.from_table(dd.from_pandas(FRAME, npartitions=2), **named),
        lambda: Rows.from_parquet(str(tmp_path / "people.parquet"), **named),
    ):
        with pytest.raises(error, match=message):
            make()


def test_columns_and_files_that_are_there_twice_are_refused(tmp_path):
    import pyarrow as pa

    twice = pa.table([FRAME.a, FRAME.b], names=["a", "a"])
    with pytest.raises(ValueError, match="2 times among"):
        Rows.from_table(twice, X=["a"])
    FRAME.to_parquet(tmp_path / "people.parquet")
    path = str(tmp_path / "people.parquet")
    with pytest.raises(ValueError, match="paths must be different files"):
        Rows.from_parquet([path, path], **NAMED)
    with pytest.raises(FileNotFoundError):
        Rows.from_parquet(str(tmp_path / "nobody.parquet"), **NAMED)


def test_words_among_the_features_are_refused(tmp_path):
    import dask.dataframe as dd

    words = FRAME.assign(b="yes")
    for rows in (
        Rows.from_table(words, **NAMED),
        Rows.from_table(dd.from_pandas(words, npartitions=2), **NAMED),
    ):
        with pytest.raises(TypeError, match=r"X must have numbers in every column.* column 'b'"):
            WeightedERM().fit(rows)


def test_blocks_that_change_between_passes_are_refused():
    def changing():
        calls = iter(range(9))

        def read():
            columns = dict(COLUMNS)
            if next(calls):
                columns["users"] = np.where(np.arange(N) == 450, 99, USERS)
            return cut(columns, (400, 500))

        return read

    with pytest.raises(ValueError, match="the same rows of the same users at every pass"):
        WeightedMean().fit(Rows.from_blocks(changing(), tuple(COLUMNS)))
    with pytest.raises(TypeError, match=r"WeightedMean.fit reads blocks twice, and an iterator"):
        WeightedMean().fit(Rows.from_blocks(iter(cut(COLUMNS, ())), tuple(COLUMNS)))
    with pytest.raises(ValueError, match="rows must have a column 'users'; got X, y"):
        WeightedMean().fit(Rows(X, Y))
    with pytest.raises(ValueError, match="at least one person; got none"):
        WeightedMean().fit(Rows.from_blocks([], tuple(COLUMNS)))


def test_kept_rows_that_lose_rank_are_refused():
    flat = np.column_stack([X[:, 0], X[:, 0]])
    rows = Rows(flat, Y, users=USERS)
    with pytest.raises(ValueError, match="max_rows must keep rows of rank 2"):
        SampleLimitedRegression(max_rows=2).fit(rows)
    with pytest.warns(UserWarning, match="only the row space is estimable"):
        got = fitted(GWARegression(), rows)
    with pytest.warns(UserWarning, match="only the row space is estimable"):
        assert_same(got, fitted(GWARegression(), flat, Y, users=USERS))


def test_chunks_of_unknown_size_are_refused_where_rows_have_numbers():
    import dask.array as da

    keep = da.from_array(np.ones(N, dtype=bool), chunks=200)
    lazy = {k: da.from_array(c, chunks=(200, *c.shape[1:]))[keep] for k, c in COLUMNS.items()}
    with pytest.raises(ValueError, match="call compute_chunk_sizes"):
        SampleLimitedMean(max_rows=2).fit(Rows(**lazy))
    assert_same(fitted(WeightedMean(), Rows(**lazy)), fitted(WeightedMean(), X, Y, users=USERS))


# --- a cluster ------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("model", [WeightedMean(), WeightedERM(steps=3, clip_norm=0.2)])
def test_a_worker_killed_midway_changes_nothing(model, workers, tmp_path):  # noqa: F811
    import dask.array as da

    def lazy(column):
        whole = da.from_array(column, chunks=(170, *column.shape[1:]))
        return whole.map_blocks(partial(held, tmp_path), dtype=column.dtype, meta=column[:0])

    killed = []
    killer = when_at_work(tmp_path, lambda pid: killed.append(os.kill(pid, signal.SIGKILL)))
    got = fitted(model, Rows(**{name: lazy(column) for name, column in COLUMNS.items()}))
    killer.join()
    assert killed
    assert_same(got, fitted(model, X, Y, users=USERS))


# ------------------------------------------------------------------ names of users, in any form
INSTANT = pd.Timestamp("2026-10-25 01:30", tz="UTC")  # in the hour that comes twice in Berlin
ZONES = ("UTC", "Europe/Berlin", "Europe/Lisbon")


EARLIER, IN_JULY = INSTANT - pd.Timedelta("1h"), INSTANT.replace(month=7)


@pytest.mark.parametrize("instant", [INSTANT, EARLIER, IN_JULY])
@pytest.mark.parametrize("kind", [lambda time: time, lambda time: time.to_pydatetime()])
def test_one_instant_is_one_user_in_all_zones(instant, kind):
    who = [kind(instant.tz_convert(zone)) for zone in ZONES]
    assert len(check_users(who * 4, 12).labels) == 1
    rows = Rows.from_blocks([(np.zeros((6, 1)), np.ones(6), who * 2)] * 2, ("X", "y", "users"))
    model = WeightedMean(epsilon=0.5, random_state=0).fit(rows)
    assert len(model.users_) == 1


def forms(times):
    """A column of times with a zone, as tables have it."""
    pa, pl = pytest.importorskip("pyarrow"), pytest.importorskip("polars")
    zone = str(times[0].tz)
    yield pa.array([time.to_pydatetime() for time in times], pa.timestamp("us", zone))
    yield pl.Series([time.to_pydatetime() for time in times])
    yield pd.Series(times)
    yield list(times)


def test_a_time_keeps_its_zone_in_every_form():
    with_zone = pd.Timestamp("2026-07-01 12:00", tz="Europe/Berlin")
    without = pd.Timestamp("2026-07-01 10:00")
    X, y = np.zeros((8, 1)), np.ones(8)
    for users in forms([with_zone] * 8):
        for blocks in (False, True):
            account = BudgetAccount({without: 1.0, with_zone: 1.0}, neighbors="user")
            model = WeightedMean(epsilon=0.9, random_state=0)
            if blocks:
                rows = Rows.from_blocks([(X, y, users)], ("X", "y", "users"))
                model.fit(rows, account=account)
            else:
                model.fit(X, y, users=users, account=account)
            assert_array_equal(account.spent, [0, 0.9])


@pytest.mark.parametrize(
    "users",
    [[2**53 + 1, 0.5], [1, "1"], [True, 1], ["a\0", "a"], [2**53 + 1, 2.0**53]],
    ids=["whole and half", "number and text", "true and one", "text with an end", "two on a float"],
)
def test_lists_in_blocks_are_read_as_in_memory(users):
    X, y = np.zeros((4, 1)), np.ones(4)
    kinds = (TypeError, ValueError)
    with pytest.raises(kinds, match="users must be labels"):
        check_users(users * 2, 4)
    together = [(X, y, users * 2)]
    apart = [(X, y, users[:1] * 4), (X, y, users[1:] * 4)]
    for blocks in (together, apart):
        with pytest.raises(kinds, match="users must be labels"):
            WeightedMean(epsilon=0.9).fit(Rows.from_blocks(blocks, ("X", "y", "users")))
