"""All rows of a user beside one row of each: invented users, splits, the committed table."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from lab.comparison import user_rows
from lab.tables import read_results

RECORD = read_results(Path(__file__).resolve().parent.parent / user_rows.FILE)


def test_sizes_follow_the_law_and_sum_to_all_rows():
    sizes = user_rows.zipf_sizes(user_rows.USERS, user_rows.ROWS, user_rows.LARGEST)
    assert (len(sizes), sizes.sum()) == (user_rows.USERS, user_rows.ROWS)
    assert (sizes.min(), sizes.max()) == (1, user_rows.LARGEST)
    ranks = np.arange(1, len(sizes) + 1)
    inside = (sizes > 20) & (sizes < user_rows.LARGEST)
    products = sizes[inside] * ranks[inside]  # constant, but for rounding down
    assert products.min() > 0.95 * products.max()
    assert_array_equal(user_rows.zipf_sizes(3, 30, 10), [10, 10, 10])


def test_a_split_shares_no_user_and_one_row_is_drawn_of_each():
    table = user_rows.crowd(1, 300, 2000)
    training, test = user_rows.split(table, np.random.default_rng(2))
    assert len(np.unique(training.users)) == 240
    assert not np.intersect1d(training.users, test.users).size
    assert len(training.y) + len(test.y) == 2000
    one = user_rows.one_row_each(training, np.random.default_rng(3))
    assert_array_equal(one.users, np.unique(training.users))
    again = user_rows.one_row_each(training, np.random.default_rng(4))
    assert (one.X != again.X).any(axis=1).mean() > 0.3


def test_users_weigh_the_same_in_what_is_explained():
    table = user_rows.crowd(1, 300, 2000)
    assert_allclose(np.bincount(table.users, table.shares), np.full(300, 1 / 300))
    assert user_rows.explained(table, table.y) == 1
    mean = np.full(2000, table.shares @ table.y)
    assert_allclose(user_rows.explained(table, mean), 0, atol=1e-12)


def test_both_sides_of_a_pair_see_the_same_users_and_noise_seed(monkeypatch):
    seen = []

    def spy(name, table, users, seed, X):
        seen.append((name, set(table.users), users, seed))
        return np.zeros(len(X))

    monkeypatch.setattr(user_rows, "predictions", spy)
    user_rows.pair("longer steps", user_rows.crowd(1, 300, 2000), 1, 0)
    (first, *one), (second, *two) = seen
    assert (first, second) == ("longer steps", "objective perturbation")
    assert one[0] == two[0]
    assert (one[1], two[1]) == (True, False)
    assert one[2] == two[2]


@pytest.mark.parametrize("name", [user_rows.NOBODY, "AdaSSP"])
def test_a_row_of_the_record_from_its_seed(name):
    kept = RECORD[(RECORD.seed == 52) & (RECORD.method == name)].iloc[0]
    again = user_rows.row(name, user_rows.crowd(52), 52, 20)
    for column in ("all_rows", "one_row"):
        assert_allclose(again[column], kept[column], rtol=6e-4)  # four digits are kept
    assert_allclose(again["gain"], kept["gain"], rtol=6e-4, atol=1e-8)


def test_the_record_says_what_the_page_says():
    mechanisms = RECORD[RECORD.splits == user_rows.SPLITS]
    assert set(mechanisms.method) == set(user_rows.MECHANISMS)
    assert mechanisms.gain.abs().max() < 1e-3
    steps = RECORD[RECORD.splits < user_rows.SPLITS].groupby("seed", sort=False).all_rows
    for values in steps.apply(list):
        assert values == sorted(values)  # each change of the descent is for the better
        assert values[-1] < RECORD.one_row.min()
    assert sorted(RECORD.seed.unique()) == list(user_rows.SEEDS)


def test_the_command_writes_the_table(tmp_path, monkeypatch):
    monkeypatch.setattr(user_rows, "FILE", tmp_path / "rows.csv")
    small = user_rows.crowd(1, 6000, 12_000)
    monkeypatch.setattr(user_rows, "crowd", lambda seed: small)
    monkeypatch.setattr(user_rows, "SPLITS", 2)
    monkeypatch.setattr(user_rows, "DESCENTS", {"weighted descent": ({"steps": 3}, 1)})
    assert user_rows.main([]) == 0
    written = read_results(tmp_path / "rows.csv")
    assert list(written.columns) == list(RECORD.columns)
    assert len(written) == 2 * (len(user_rows.MECHANISMS) + 1)
