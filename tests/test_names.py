"""Names of people: what is found, what is refused, and accounts against a ledger in plain dicts."""

import dataclasses
import datetime as dt
import enum
import re
import sys
import uuid
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from pdpbook.guarantees import BudgetAccount, PureDP
from pdpbook.names import NameTable, read_names, same_names
from pdpbook.personalized import PDPRidge
from pdpbook.user_level import WeightedMean
from pdpbook.users import check_user_epsilon, check_users

ONE = {"neighbors": "replace-one"}
BIG = 1_500_000_000_000_000_000  # a float that has neighbors among whole numbers
BERLIN = "Europe/Berlin"


def words(value):
    """What a value prints, without the address of an object, which each process has its own of."""
    return re.sub(" at 0x[0-9a-f]+", "", repr(value))


# ------------------------------------------------------------------ what the third review found
FOUND = {
    "ids that became floats": (pd.Index([1.5e18, 7.0]), [BIG, BIG + 1, 7]),
    "text on dates": (pd.to_datetime(["1990-05-01"]), ["1990-05-01", "1990-05-01 00:00:00"]),
    "ages in groups": (pd.IntervalIndex.from_tuples([(20, 30)]), [23.0, 27.5]),
}


@pytest.mark.parametrize(("index", "people"), FOUND.values(), ids=FOUND)
def test_nobody_is_charged_for_somebody_else(index, people):
    account = BudgetAccount(pd.Series(1.0, index=index), **ONE)
    with pytest.raises(ValueError, match=r"^account must be of the people in the data; it has no"):
        account.spend(PureDP(0.01, **ONE), people=people)
    assert_array_equal(account.spent, 0)


def test_a_fit_refuses_people_whose_ids_only_round_to_those_of_the_account():
    X = pd.DataFrame(np.random.default_rng(1).random((3, 2)), index=[BIG, BIG + 1, 7])
    account = BudgetAccount(pd.Series([1.0, 1.0], index=[float(BIG), 7.0]), **ONE)
    with pytest.raises(ValueError, match=rf"it has no budget for {BIG + 1}$"):
        PDPRidge().fit(X, np.zeros(3), epsilon=[1.0, 0.01, 0.01], account=account)
    assert_array_equal(account.spent, 0)
    PDPRidge().fit(X.iloc[[0, 2]], np.zeros(2), epsilon=[1.0, 0.01], account=account)
    assert_array_equal(account.spent, [1.0, 0.01])  # 1500000000000000000 is that float


def test_a_user_never_takes_the_budget_of_another():
    labels = np.array([BIG, BIG + 1, BIG + 1, 7])
    budgets = pd.Series([1.0, 0.1, 3.0], index=[float(BIG), 7.0, 8.0])
    with pytest.raises(ValueError, match=rf"epsilon .* no budget for {BIG + 1}"):
        check_user_epsilon(budgets, check_users(labels, 4))
    with pytest.raises(ValueError, match=rf"epsilon .* no budget for {BIG + 1}"):
        WeightedMean().fit(np.zeros((4, 1)), np.zeros(4), users=labels, epsilon=budgets)


def test_a_mapping_keeps_its_names():
    """As the index of a Series these would be floats, and one of them somebody else."""
    account = BudgetAccount({BIG + 1: 1.0, 0.5: 1.0}, **ONE)
    assert account.people == (BIG + 1, 0.5)
    with pytest.raises(ValueError, match=f"it has no budget for {BIG}$"):
        account.spend(PureDP(0.1, **ONE), people=[BIG])
    account.spend(PureDP(0.1, **ONE), people=[BIG + 1])
    assert_array_equal(account.spent, [0.1, 0.0])


@pytest.mark.parametrize("labels", [[2**53 + 1, 0.5, 2.0], [True, 1, 0], [1, 2.0, True]])
def test_labels_of_users_stay_who_they_are(labels):
    with pytest.raises((ValueError, TypeError), match=r"^users must be labels"):
        check_users(labels, 3)


# ------------------------------------------------------------------ one rule for what is equal
UTC = pd.Timestamp("2020-01-01 12:00", tz="UTC")
TWICE = [pd.Timestamp(f"2020-10-25 0{k}:30", tz="UTC") for k in (0, 1)]  # 2:30 in Berlin, twice
SAME = [
    (1, 1.0),
    (1, np.int8(1)),
    (0.0, -0.0),
    ("a", np.str_("a")),
    (1, Decimal(1)),
    (Decimal("0.5"), Fraction(1, 2)),
    (pd.Timestamp("2020-01-01"), dt.datetime(2020, 1, 1)),
    (pd.Timestamp("2020-01-01"), np.datetime64("2020-01")),
    (UTC, UTC.tz_convert(BERLIN)),
    (pd.Timedelta("1D"), dt.timedelta(1)),
    (("a", 1), ("a", 1.0)),
    (("a", True), ("a", np.True_)),
    (TWICE[1], TWICE[1].tz_convert(BERLIN)),
    (("a", TWICE[1]), ("a", TWICE[1].tz_convert(BERLIN))),
    (TWICE[1], TWICE[1].tz_convert(BERLIN).to_pydatetime()),
    (pd.Interval(0, 1), pd.Interval(0.0, 1.0)),
]
OTHERS = [
    (1, "1"),
    (1, True),
    (0.0, False),
    (("a", True), ("a", 1)),
    (frozenset([True]), frozenset([1])),
    (1.5e18, BIG + 1),
    (2.0**53, 2**53 + 1),
    (0.1, np.float32(0.1)),
    (0.1, Decimal("0.1")),
    ("a", b"a"),
    ("a", "a\0"),
    ("é", "e\u0301"),
    ("1990-05-01", pd.Timestamp("1990-05-01")),
    (dt.date(1990, 5, 1), pd.Timestamp("1990-05-01")),
    (pd.Timestamp("2020-01-01 12:00"), UTC),
    (pd.Period("2020-01", "M"), pd.Timestamp("2020-01-01")),
    (pd.Period("2020", "Y"), pd.Period("2020-01", "M")),
    (23.0, pd.Interval(20, 30)),
    (pd.Interval(0, 1), pd.Interval(0, 1, closed="left")),
    (uuid.UUID(int=1), 1),
    (("a",), "a"),
    (TWICE[0].tz_convert(BERLIN), TWICE[1].tz_convert(BERLIN)),
    # equal to Python, as they differ in `fold` alone
    tuple(one.tz_convert(BERLIN).to_pydatetime() for one in TWICE),
]


def places(names, asked):
    return NameTable(names, "epsilon").find(read_names(asked, "people"))


@pytest.mark.parametrize(("one", "other"), SAME, ids=words)
def test_names_that_are_equal_are_one_person(one, other):
    for has, asks in ((one, other), (other, one)):
        assert_array_equal(places([has, "x"], [asks]), [0])
    with pytest.raises(ValueError, match=r"^epsilon must have one budget for each person; two for"):
        NameTable([one, other], "epsilon")


@pytest.mark.parametrize(("one", "other"), OTHERS, ids=words)
def test_names_that_differ_are_two_people(one, other):
    for has, asks in ((one, other), (other, one)):
        assert_array_equal(places([has, "x"], [asks]), [-1])


def test_what_python_takes_for_one_cannot_both_be_in_a_table():
    with pytest.raises(ValueError, match=r"two for 1: True is equal to it for Python$"):
        NameTable([True, 1], "epsilon")
    with pytest.raises(ValueError, match=r"two for \(1, 'a'\): \(True, 'a'\) is equal to it"):
        NameTable([(True, "a"), (1, "a")], "epsilon")
    first, second = (one.tz_convert(BERLIN).to_pydatetime() for one in TWICE)
    assert len(check_users([first, second], 2).labels) == 2  # two instants


def test_the_hour_that_comes_twice_is_two_people():
    berlin = pd.DatetimeIndex(TWICE).tz_convert(BERLIN)
    account = BudgetAccount(pd.Series(1.0, index=berlin), **ONE)
    account.spend(PureDP([0.1, 0.2], **ONE), people=pd.DatetimeIndex(TWICE[::-1]))
    assert_array_equal(account.spent, [0.2, 0.1])
    users = check_users(pd.Series(berlin), 2)
    assert_array_equal(
        check_user_epsilon(dict(zip(TWICE, [0.5, 0.25], strict=True)), users), [0.5, 0.25]
    )


# ------------------------------------------------------------------ what is no name
MISSING = [
    None,
    np.nan,
    pd.NaT,
    pd.NA,
    np.datetime64("NaT"),
    np.timedelta64("NaT"),
    np.float32("nan"),
]
MISSING += [Decimal("NaN"), Decimal("sNaN"), ("a", np.nan), ("a", ("b", None)), frozenset([np.nan])]


@pytest.mark.parametrize("name", MISSING, ids=words)
def test_missing_names_are_refused(name):
    for names in ([name], ["a", name], pd.Series(["a", name], dtype=object)):
        with pytest.raises(ValueError, match=r"^people must name everybody; people\[\d\] = "):
            read_names(names, "people")


@pytest.mark.parametrize(
    "index",
    [
        pd.Index([1.0, np.nan]),
        pd.to_datetime(["2020-01-01", None]),
        pd.Index(["a", None]),
        pd.CategoricalIndex(["a", None]),
        pd.Index([1, None], dtype="Int64"),
        pd.Index([1, None], dtype="int64[pyarrow]"),
        pd.PeriodIndex(["2020-01", None], freq="M"),
        pd.IntervalIndex([pd.Interval(0, 1), np.nan]),
        pd.MultiIndex.from_tuples([("a", 1), ("a", None)]),
    ],
    ids=lambda index: str(index.dtype),
)
def test_budgets_of_nobody_in_particular_are_refused(index):
    with pytest.raises(ValueError, match=r"^epsilon must name everybody; epsilon\[1\] = "):
        BudgetAccount(pd.Series([1.0, 1.0], index=index), **ONE)


class Uncertain:
    """A name that cannot be compared."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return np.array([True, False])


@dataclasses.dataclass(frozen=True)
class Member:
    number: object


class Letters(str):
    """Text that is equal to text in other letters."""

    __hash__ = object.__hash__

    def __eq__(self, other):
        return self.lower() == other.lower()


class Color(enum.Enum):
    RED = 1


class Level(enum.IntEnum):
    LOW = 1


class Pair(NamedTuple):
    first: int
    second: str


class Nowhere(dt.tzinfo):
    """A zone that is none."""

    def utcoffset(self, when):
        return None


RECORD = np.array([(1, "2020")], dtype=[("id", int), ("day", "M8[ns]")])
NO_NAMES = [["a"], {"a"}, {"a": 1}, np.array([1, 2]), ("a", ["b"]), slice(1), bytearray(b"a")]
NO_NAMES += [object(), Uncertain(), Member(1), Letters("a"), Color.RED, Level.LOW, Pair(1, "a"), 1j]
NO_NAMES += [Path("a"), pd.offsets.Day(1), dt.time(1), pa.scalar(1), pa.scalar(None), np.str_]
NO_NAMES += [
    dt.datetime(2020, 1, 1, tzinfo=Nowhere()),
    ("a", Member(True)),
    RECORD[0],
    np.void(b"a"),
]
NO_NAMES += [
    np.longdouble(1),
    np.clongdouble(1),
    np.complex64(1),
    (np.longdouble(1),),
    pd.Interval(np.longdouble(0), 1),
]
NO_NAMES += [pd.Interval(np.int64(2**61 + 1), np.float64(2**61))]  # ends that only NumPy orders
NO_NAMES += [np.datetime64(1, unit) for unit in ("ps", "fs", "as", "25s")]
NO_NAMES += [np.timedelta64(1, unit) for unit in ("generic", "ps", "fs", "as", "25s", "M", "Y")]


@pytest.mark.parametrize("name", NO_NAMES, ids=words)
def test_what_does_not_compare_exactly_is_no_name(name):
    rule = r"must be names that compare exactly: text, .*; got .*, of type \w+.*\. Pass text or"
    with pytest.raises(TypeError, match=rule):
        read_names(["a", name], "people")
    with pytest.raises(TypeError, match=rule):
        BudgetAccount(
            pd.Series(1.0, index=pd.Index([name], dtype=object, tupleize_cols=False)), **ONE
        )


@pytest.mark.parametrize("values", [RECORD, np.ones(1, "longdouble"), np.array([1], "M8[ps]")])
def test_arrays_of_such_are_no_names(values):
    with pytest.raises(TypeError, match=r"^people must be names that compare exactly"):
        read_names(values, "people")


FAR = [
    dt.datetime(1, 1, 1, tzinfo=dt.timezone(dt.timedelta(hours=5))),
    dt.datetime(9999, 12, 31, 23, tzinfo=dt.timezone(-dt.timedelta(hours=5))),
    pd.Timestamp(dt.datetime(1, 1, 1, tzinfo=ZoneInfo("Asia/Tokyo"))),  # pandas 3.0 reads no text
    np.datetime64("20000-01-01"),
    np.datetime64(2**62, "D"),
    np.timedelta64(2**60, "s"),
    np.timedelta64(2**62, "h"),
]


@pytest.mark.parametrize("name", FAR, ids=words)
def test_times_that_python_cannot_hold_are_refused(name):
    with pytest.raises(ValueError, match=r"^people must be times of the years 1 to 9999, .*; got "):
        read_names(["a", ("a", name)], "people")


def test_the_first_year_is_a_name_where_it_is_one_in_utc():
    first = dt.datetime(1, 1, 1, tzinfo=dt.timezone(-dt.timedelta(hours=5)))
    assert_array_equal(places([first], [dt.datetime(1, 1, 1, 5, tzinfo=dt.UTC)]), [0])


def test_times_of_numpy_are_no_names_where_pandas_is_absent(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(TypeError, match=r"^people must be names that compare exactly"):
        read_names([np.datetime64("2020-01-01")], "people")
    assert read_names([1, "a", np.float64(2), dt.datetime(2020, 1, 1)], "people")[2] == 2


def test_nothing_rounds_within_a_name():
    """NumPy's whole numbers and floats compare as floats, within a group and at ends, too."""
    k = -(2**61)
    pairs = [
        ((float(k), "a"), (np.int64(k - 1), "a")),
        ((k - 1, "a"), (np.float64(k), "a")),
        ((2**130 + 2**61 - 1,), (np.float64(2.0**130),)),
        (frozenset([float(k)]), frozenset([np.int64(k - 1)])),
        (("a", (float(k),)), ("a", (np.int64(k - 1),))),
        (pd.Interval(float(k), 0.0), pd.IntervalIndex.from_arrays([k - 1], [0])[0]),
        ((pd.Interval(float(k), 0.0),), (pd.IntervalIndex.from_arrays([k - 1], [0])[0],)),
    ]
    for one, other in pairs:
        assert_array_equal(places([one], [other]), [-1], str(one))
        assert_array_equal(places([other], [one]), [-1], str(one))
    same = pd.IntervalIndex.from_arrays(np.array([k], np.int64), [0])
    assert_array_equal(places(pd.IntervalIndex.from_arrays([float(k)], [0.0]), same), [0])


def test_two_intervals_never_share_a_budget():
    k = -(2**61)
    ends = np.array([k - 1, k])
    account = BudgetAccount(
        pd.Series([0.5, 1.0], index=pd.IntervalIndex.from_arrays(ends, [0, 0])), **ONE
    )
    asks = pd.IntervalIndex.from_arrays([float(k)], [0.0])
    account.spend(PureDP(0.5, **ONE), people=asks)
    account.spend(PureDP(0.5, **ONE), people=asks)
    assert_array_equal(account.spent, [0.0, 1.0])


ARROW = {
    "int64[pyarrow]": [2**53 + 1, 7],
    "double[pyarrow]": [0.5, 7.0],
    "bool[pyarrow]": [True, False],
    "string[pyarrow]": ["a", "b"],
    "date32[pyarrow]": [dt.date(2020, 1, 1), dt.date(2020, 1, 2)],
    "timestamp[ns][pyarrow]": [pd.Timestamp(1), pd.Timestamp(2)],
    "timestamp[us, tz=Europe/Berlin][pyarrow]": [one.tz_convert(BERLIN) for one in TWICE],
    "duration[ns][pyarrow]": [pd.Timedelta(1), pd.Timedelta(2)],
}


@pytest.mark.parametrize("dtype", ARROW)
def test_names_in_arrow_are_those_of_python(dtype):
    names = ARROW[dtype]
    column = pd.array(names, dtype=dtype)
    for values in (column, pd.Index(column), pd.Series(column)):
        assert_array_equal(places(names, values), [0, 1])
        assert_array_equal(places(values, names), [0, 1])
    with pytest.raises(ValueError, match=r"^people must name everybody; people\[1\] = None"):
        read_names(pd.array([names[0], None], dtype=dtype), "people")


@pytest.mark.parametrize(
    "people",
    [
        "ab",
        b"ab",
        bytearray(b"ab"),
        {"a"},
        {"a": 1},
        5,
        np.array("a"),
        pd.DataFrame({"a": ["b"]}),
        None,
    ],
    ids=words,
)
def test_what_is_no_list_of_names_is_refused(people):
    with pytest.raises(TypeError, match=r"^people must be a list, array or index of names"):
        read_names(people, "people")


def test_masked_and_two_dimensional_names_are_refused():
    with pytest.raises(TypeError, match=r"^people must not be a masked array"):
        read_names(np.ma.array([1, 2], mask=[0, 1]), "people")
    with pytest.raises(TypeError, match=r"^people must be a list, array or index of names"):
        read_names(np.ones((2, 2)), "people")


# ------------------------------------------------------------------ a table against a plain dict
def float_of(k):
    return [1.0, 7.0, float(BIG), float(2**53), 0.0, 23.0][k]


def spans_of(starts, dtype):
    return pd.IntervalIndex.from_arrays(np.array(starts, dtype), np.full(len(starts), 2**62, dtype))


WHOLE = [1, 7, BIG, 2**53, 0, 23]
NEAR = [1, 7, BIG + 1, 2**53 + 1, 0, 27]
DATES = ["1990-05-01", "1990-05-01 12:00", "2020-03-29 00:30", "2020-02-29", "2020-10-25 00:30"]
DATES += ["2020-10-25 01:30"]
KINDS = {
    "int64": lambda who: pd.Index([WHOLE[k] for k in who], dtype="int64"),
    "near": lambda who: pd.Index([NEAR[k] for k in who], dtype="int64"),
    "uint64": lambda who: pd.Index([NEAR[k] for k in who], dtype="uint64"),
    "float64": lambda who: pd.Index([float_of(k) for k in who], dtype="float64"),
    "float32": lambda who: pd.Index([float_of(k) for k in who], dtype="float32"),
    "Int64": lambda who: pd.Index([WHOLE[k] for k in who], dtype="Int64"),
    "arrow": lambda who: pd.Index([NEAR[k] for k in who], dtype="int64[pyarrow]"),
    "bool": lambda who: pd.Index([k % 2 == 0 for k in who], dtype="bool"),
    "text": lambda who: pd.Index([str(WHOLE[k]) for k in who]),
    "text of dates": lambda who: pd.Index([DATES[k] for k in who], dtype="str"),
    "text as objects": lambda who: pd.Index([str(WHOLE[k]) for k in who], dtype=object),
    "categories": lambda who: pd.CategoricalIndex([WHOLE[k] for k in who]),
    "dates": lambda who: pd.DatetimeIndex([pd.Timestamp(DATES[k]) for k in who]),
    "dates in seconds": lambda who: KINDS["dates"](who).as_unit("s"),
    "UTC": lambda who: KINDS["dates"](who).tz_localize("UTC"),
    "Berlin": lambda who: KINDS["UTC"](who).tz_convert(BERLIN),
    "Berlin by the wall": lambda who: KINDS["dates"](who).tz_localize(BERLIN),
    "Berlin as objects": lambda who: KINDS["Berlin"](who).astype(object),
    "days": lambda who: pd.PeriodIndex([DATES[k] for k in who], freq="D"),
    "spans": lambda who: pd.to_timedelta([WHOLE[k] % 1000 for k in who], unit="D"),
    "intervals": lambda who: pd.IntervalIndex.from_tuples([(k, k + 1) for k in who]),
    "float intervals": lambda who: pd.IntervalIndex.from_tuples([(k / 1, k + 1.0) for k in who]),
    "near intervals": lambda who: spans_of([NEAR[k] for k in who], "int64"),
    "rounded intervals": lambda who: spans_of([float_of(k) for k in who], "float64"),
    "arrow text": lambda who: pd.Index([str(WHOLE[k]) for k in who], dtype="string[pyarrow]"),
    "arrow times": lambda who: KINDS["UTC"](who).astype("timestamp[ns, tz=UTC][pyarrow]"),
    "mixed": lambda who: pd.Index(
        [[True, "7", BIG, 2.0**53, 0, dt.date(1990, 5, 1)][k] for k in who], dtype=object
    ),
    "numpy's": lambda who: pd.Index([np.int64(NEAR[k]) for k in who], dtype=object),
    "levels": lambda who: pd.MultiIndex.from_arrays([[WHOLE[k] for k in who], ["a"] * len(who)]),
    "float levels": lambda who: pd.MultiIndex.from_tuples([(float_of(k), "a") for k in who]),
    "pairs": lambda who: pd.Index([(NEAR[k], "a") for k in who], dtype=object, tupleize_cols=False),
    "numpy's pairs": lambda who: pd.Index(
        [(np.int64(NEAR[k]), np.str_("a")) for k in who], dtype=object, tupleize_cols=False
    ),
    "numpy's rounded pairs": lambda who: pd.Index(
        [(np.float64(float_of(k)), "a") for k in who], dtype=object, tupleize_cols=False
    ),
}


def key(name):
    """A name for a dict in which True is not 1, and an instant is one in all zones."""
    if isinstance(name, tuple):
        return tuple(map(key, name))
    if isinstance(name, pd.Interval):
        return key(name.left), key(name.right), name.closed, "interval"
    if isinstance(name, pd.Timestamp) and name.tz is not None:
        return name.tz_convert("UTC"), "instant"
    return (
        name.item() if isinstance(name, np.generic) else name,
        isinstance(name, (bool, np.bool)),
    )


class Ledger:
    """What an account must say: a dict of budgets and one of what was spent, both exact."""

    def __init__(self, names, budgets):
        self.budget = {
            key(name): Fraction(repr(own)) for name, own in zip(names, budgets, strict=True)
        }
        if len(self.budget) < len(names):
            raise ValueError
        self.spent = dict.fromkeys(self.budget, Fraction(0))

    def spend(self, names, amounts):
        paying = [
            (key(name), Fraction(repr(a))) for name, a in zip(names, amounts, strict=True) if a > 0
        ]
        charged = dict(paying)
        if len(charged) < len(paying) or not charged.keys() <= self.budget.keys():
            raise ValueError
        after = {name: self.spent[name] + charged.get(name, 0) for name in self.spent}
        if any(after[name] > self.budget[name] for name in after):
            raise ValueError
        self.spent = after


def outcome(call):
    try:
        call()
    except ValueError:
        return "refused"
    return "done"


kinds = st.sampled_from(sorted(KINDS))
crowds = st.lists(st.integers(0, 5), min_size=1, max_size=6)
amounts = st.sampled_from([0.0, 0.1, 0.2, 0.3, 0.7, 1.0, 1e-17, 1 / 3])


@settings(max_examples=1000)
@given(st.data(), kinds, st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True))
def test_a_thousand_programs_of_charges_agree_with_a_ledger(data, kind, people):
    index = KINDS[kind](people)
    budgets = data.draw(st.lists(amounts.filter(bool), min_size=len(people), max_size=len(people)))
    opened = []

    def account():
        opened.append(BudgetAccount(pd.Series(budgets, index=index), **ONE))

    def ledger():
        opened.append(Ledger(list(index), budgets))

    said = outcome(account), outcome(ledger)
    assert said[0] == said[1]
    if said[0] == "refused":
        return
    account, ledger = opened
    for _ in range(data.draw(st.integers(1, 5))):
        whose = KINDS[data.draw(st.just(kind) | kinds)](data.draw(crowds))
        own = data.draw(st.lists(amounts, min_size=len(whose), max_size=len(whose)))
        if not any(own):
            continue
        done = outcome(lambda: account.spend(PureDP(own, **ONE), people=whose))  # noqa: B023
        assert done == outcome(lambda: ledger.spend(list(whose), own))  # noqa: B023
        assert account._spent == [(spent,) for spent in ledger.spent.values()]


@settings(max_examples=1000)
@example("float64", "near", [2], [2])
@given(kinds, kinds, crowds, st.lists(st.integers(0, 5), min_size=1, max_size=6, unique=True))
def test_what_is_found_is_what_a_dict_finds(asks, has, wanted, people):
    names, index = KINDS[asks](wanted), KINDS[has](people)
    plain = {key(name): place for place, name in enumerate(index)}
    if len(plain) < len(index):
        with pytest.raises(ValueError, match="two for"):
            NameTable(index, "epsilon")
        return
    found = NameTable(index, "epsilon").find(read_names(names, "people"))
    assert_array_equal(found, [plain.get(key(name), -1) for name in names])


@settings(max_examples=500)
@given(kinds, kinds, crowds, crowds)
def test_indexes_are_the_same_if_all_names_are(one, other, some, others):
    first, second = KINDS[one](some), KINDS[other](others)
    same = list(map(key, first)) == list(map(key, second))
    assert same_names(first, second) is same
    assert same_names(first, first.copy())


def test_an_index_with_a_gap_is_the_same_as_itself():
    for first, second in (([1.0, np.nan], [1.0, np.nan]), (["a", None], ["a", None])):
        assert same_names(pd.Index(first), pd.Index(second))
        assert same_names(pd.Index(first, dtype=object), pd.Index(second))


def test_an_index_is_the_same_as_itself_whatever_it_holds():
    table = pd.DataFrame({"a": [0.5, 0.2], "y": [0.0, 1.0]}, index=[dt.time(1), dt.time(2)])
    PDPRidge().fit(table[["a"]], table["y"], epsilon=1.0)
    with pytest.raises(TypeError, match=r"^index must be names that compare exactly"):
        PDPRidge().fit(table[["a"]], table["y"].iloc[::-1], epsilon=1.0)


def test_budgets_that_only_round_to_the_index_of_the_table_are_refused():
    X = pd.DataFrame(np.random.default_rng(1).random((2, 2)), index=[BIG + 1, 7])
    own = pd.Series([0.5, 0.5], index=[float(BIG), 7.0])
    with pytest.raises(ValueError, match=r"^epsilon must have the index of X"):
        PDPRidge().fit(X, np.zeros(2), epsilon=own)


# ------------------------------------------------------------------ users of every kind
LABELS = {
    "a zone": pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01"]).tz_localize("UTC")),
    "two zones": pd.Series([UTC.tz_convert(BERLIN), UTC - pd.Timedelta("1s")], dtype=object),
    "no zone": pd.Series(pd.to_datetime(["2020-01-02", "2020-01-01"])),
    "a list of times": [dt.datetime(2020, 1, 2), dt.datetime(2020, 1, 1)],
    "days": [dt.date(2020, 1, 2), dt.date(2020, 1, 1)],
    "months": pd.PeriodIndex(["2020-02", "2020-01"], freq="M"),
    "age groups": pd.IntervalIndex.from_tuples([(20, 30), (10, 20)]),
    "ids": [uuid.UUID(int=2), uuid.UUID(int=1)],
    "decimals": [Decimal("0.2"), Decimal("0.1")],
}


@pytest.mark.parametrize("labels", LABELS.values(), ids=LABELS)
def test_users_of_one_kind_are_told_apart_and_charged(labels):
    first, second = list(labels)
    users = check_users(labels, 2)
    assert_array_equal(users.codes, [1, 0])
    account = BudgetAccount({first: 1.0, second: 2.0}, neighbors="user")
    X, y = np.zeros((2, 1)), np.array([0.1, 0.2])
    for budgets in ({first: 0.5, second: 0.25}, pd.Series([0.5, 0.25], index=pd.Index([*labels]))):
        model = WeightedMean().fit(X, y, users=labels, epsilon=budgets, account=account)
        assert_array_equal(model.guarantee_.epsilon, [0.25, 0.5])
    assert_array_equal(account.spent, [1.0, 0.5])


@pytest.mark.parametrize(
    "labels",
    [
        [UTC, pd.Timestamp("2020")],
        [pd.Period("2020", "Y"), pd.Period("2020-01", "M")],
        [dt.date(2020, 1, 1), pd.Timestamp("2020-01-01")],
        [1, UTC],
        pd.Series([("a", 1), ("a", 2)]),
        [True, "True"],
    ],
    ids=words,
)
def test_users_that_have_no_order_are_refused(labels):
    with pytest.raises(TypeError, match=r"^users must be labels of one kind"):
        check_users(labels, 2)


@pytest.mark.parametrize(
    "label", [{1}, object(), Member(1), Letters("a"), np.longdouble(1)], ids=words
)
def test_users_that_are_no_names_are_refused(label):
    with pytest.raises(TypeError, match=r"^users must be names that compare exactly"):
        check_users([label, label], 2)
