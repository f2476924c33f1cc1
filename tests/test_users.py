"""User labels and budgets of users: every form accepted, every wrong one refused by name."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_array_equal

from pdpbook.guarantees import BudgetAccount
from pdpbook.user_level import WeightedMean
from pdpbook.users import check_user_epsilon, check_users

ROWS = np.array(["b", "a", "b", "c"])


def test_labels_become_codes_in_sorted_order():
    users = check_users(ROWS, 4)
    assert_array_equal(users.codes, [1, 0, 1, 2])
    assert_array_equal(users.labels, ["a", "b", "c"])
    assert_array_equal(users.sizes, [1, 2, 1])


def test_without_labels_every_row_is_a_user():
    users = check_users(None, 3)
    assert_array_equal(users.codes, [0, 1, 2])
    assert_array_equal(users.sizes, [1, 1, 1])


def test_every_form_of_budgets_gives_one_a_user():
    users = check_users(ROWS, 4)
    table = {"a": 1.0, "b": 2.0, "c": 3.0}
    for epsilon in (table, pd.Series(table), [2.0, 1.0, 2.0, 3.0]):
        assert_array_equal(check_user_epsilon(epsilon, users), [1.0, 2.0, 3.0])
    assert_array_equal(check_user_epsilon(0.5, users), [0.5, 0.5, 0.5])


@pytest.mark.parametrize(
    ("labels", "message"),
    [
        (["a", "b"], r"users must have shape \(4,\)"),
        (["a", None, "b", "c"], r"users\[1\]"),
        ([1.0, 2.0, np.nan, 2.0], r"users\[2\]"),
        ([["a"], ["b"], ["a"], ["a"]], r"got \(4, 1\)"),
    ],
)
def test_bad_labels_are_refused(labels, message):
    with pytest.raises(ValueError, match=message):
        check_users(np.array(labels, dtype=object), 4)


def test_labels_of_two_kinds_are_refused():
    with pytest.raises(TypeError, match="one kind"):
        check_users(np.array(["a", 1, "b", 2], dtype=object), 4)


@pytest.mark.parametrize(
    "labels",
    [
        [2**53, 2**53 + 1, 0.5],
        [2**63, 2**63 + 1, -1],
        ["a", "a\0", "c"],
    ],
)
def test_labels_that_numpy_would_merge_are_refused(labels):
    with pytest.raises(ValueError, match="users must be labels that NumPy can tell apart"):
        check_users(labels, 3)


def test_labels_of_several_values_are_refused():
    pairs = pd.MultiIndex.from_tuples([(2.0, 1.0), (np.nan, 1.0), (2.0, 1.0), (1.0, 1.0)])
    for labels in (pairs, pd.Series(list(pairs)), pd.Series([(1, 2)] * 4)):
        with pytest.raises(TypeError, match="users must be labels of one kind"):
            check_users(labels, 4)


def test_a_missing_label_among_strings_is_named():
    with pytest.raises(ValueError, match=r"users must have no missing label; users\[1\] = nan"):
        check_users(["a", np.nan, "b"], 3)


@pytest.mark.parametrize(
    ("epsilon", "message"),
    [
        ({"a": 1.0, "c": 2.0}, r"no budget for .b"),
        ({"a": 1.0, "b": np.nan, "c": 2.0}, r"epsilon\[1\]"),
        ([1.0, 2.0, 3.0], r"shape \(4,\)"),
        ([1.0, 2.0, 3.0, 4.0], r"epsilon\[2\] = 3, but user .*b.* has 1"),
        (0.0, "epsilon must be"),
        (-1.0, "epsilon must be"),
        (np.inf, "epsilon must be"),
    ],
)
def test_bad_budgets_are_refused(epsilon, message):
    with pytest.raises(ValueError, match=message):
        check_user_epsilon(epsilon, check_users(ROWS, 4))


def test_budgets_that_name_users_in_another_order_are_refused():
    budgets = pd.Series({"ann": 2.0, "bo": 0.1})
    users = check_users(["bo", "bo", "ann", "ann"], 4)
    with pytest.raises(ValueError, match="epsilon must be in the order of users"):
        check_user_epsilon(budgets.loc[["ann", "ann", "bo", "bo"]], users)
    assert_array_equal(
        check_user_epsilon(budgets.loc[["bo", "bo", "ann", "ann"]], users), [2.0, 0.1]
    )


# ------------------------------------------------------------------ instants
INSTANT = pd.Timestamp("2026-10-25 01:30", tz="UTC")  # in the hour that comes twice in Berlin
EARLIER, IN_JULY = INSTANT - pd.Timedelta("1h"), INSTANT.replace(month=7)
ZONES = ("UTC", "Europe/Berlin", "Europe/Lisbon")


@pytest.mark.parametrize("instant", [INSTANT, EARLIER, IN_JULY])
@pytest.mark.parametrize("kind", [lambda time: time, lambda time: time.to_pydatetime()])
def test_one_instant_is_one_user_in_all_zones(instant, kind):
    who = [kind(instant.tz_convert(zone)) for zone in ZONES]
    assert len(check_users(who * 4, 12).labels) == 1


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
        account = BudgetAccount({without: 1.0, with_zone: 1.0}, neighbors="user")
        WeightedMean(epsilon=0.9, random_state=0).fit(X, y, users=users, account=account)
        assert_array_equal(account.spent, [0, 0.9])


@pytest.mark.parametrize(
    "users",
    [[2**53 + 1, 0.5], [1, "1"], [True, 1], ["a\0", "a"], [2**53 + 1, 2.0**53]],
    ids=["whole and half", "number and text", "true and one", "text with an end", "two on a float"],
)
def test_labels_that_numpy_would_confuse_are_refused(users):
    with pytest.raises((TypeError, ValueError), match="users must be labels"):
        check_users(users * 2, 4)


def test_a_series_with_the_numbers_of_rows_is_by_row_though_users_are_numbers_too():
    users = check_users([2, 0, 1, 0], 4)
    budgets = pd.Series([0.3, 0.1, 0.2, 0.1])
    assert_array_equal(check_user_epsilon(budgets, users), [0.1, 0.2, 0.3])
    others = pd.Series([0.3, 0.1, 0.2, 0.1], index=[0, 1, 2, "x"])  # names users, and one more
    with pytest.raises(ValueError, match="read in two ways that differ"):
        check_user_epsilon(others, users)
