"""Checks hold or raise, and a falsifier takes nothing but a failed check for evidence."""

import contextlib
import io
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pdpbook.pages.statements import WIDTH, CheckFailed, check, falsify

FINITE = st.floats(-1e9, 1e9)


def printed(label, what, value, **bound):
    """The line a check prints."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out):
        check(label, what, value, **bound)
    return out.getvalue()


def holds(value, **bound):
    try:
        printed("thm-x", "a value", value, **bound)
    except CheckFailed:
        return False
    return True


# --- each relation holds and fails ---------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "bound", "expected"),
    [
        (1, {"at_most": 1}, True),
        (1.01, {"at_most": 1}, False),
        (-math.inf, {"at_most": 1}, True),
        (math.inf, {"at_most": 1}, False),
        (1, {"at_least": 1}, True),
        (0.99, {"at_least": 1}, False),
        (math.inf, {"at_least": 1}, True),
        (1, {"equals": 1}, True),
        (1.01, {"equals": 1}, False),
        (0.99, {"equals": 1}, False),
        (math.inf, {"equals": 1}, False),
        (1e-300, {"equals": 0}, False),
        (0.0, {"equals": 0}, True),
    ],
)
def test_relations(value, bound, expected):
    assert holds(value, **bound) is expected


@given(FINITE, FINITE)
def test_exactly_the_right_side_of_a_bound_holds(value, bound):
    assert holds(value, at_most=bound, rtol=0) is (value <= bound)
    assert holds(value, at_least=bound, rtol=0) is (value >= bound)
    assert holds(value, equals=bound, rtol=0) is (value == bound)


@given(st.floats(1e-6, 1e6), st.floats(1e-6, 0.5))
def test_slack_is_relative_to_the_bound_and_no_wider(bound, rtol):
    inside, outside = 0.99 * rtol, 1.01 * rtol
    assert holds(bound * (1 + inside), at_most=bound, rtol=rtol)
    assert not holds(bound * (1 + outside), at_most=bound, rtol=rtol)
    assert holds(bound * (1 - inside), at_least=bound, rtol=rtol)
    assert not holds(bound * (1 - outside), at_least=bound, rtol=rtol)
    assert not holds(bound * (1 + outside), equals=bound, rtol=rtol)
    assert not holds(bound * (1 - outside), equals=bound, rtol=rtol)


@pytest.mark.parametrize("relation", ["at_most", "at_least", "equals"])
def test_nan_never_holds(relation):
    assert not holds(math.nan, **{relation: 1})
    assert not holds(1, **{relation: math.nan})
    assert not holds(math.nan, **{relation: math.nan})


@pytest.mark.parametrize("bound", [math.inf, -math.inf])
@pytest.mark.parametrize("relation", ["at_most", "at_least", "equals"])
def test_an_infinite_bound_is_refused(relation, bound):
    with pytest.raises(ValueError, match="thm-x: an infinite bound checks nothing"):
        check("thm-x", "a value", 1, **{relation: bound})


@pytest.mark.parametrize("bounds", [{}, {"at_most": 1, "at_least": 1}, {"equals": 0, "at_most": 0}])
def test_exactly_one_bound(bounds):
    with pytest.raises(TypeError, match="exactly one of at_most, at_least, equals"):
        check("thm-x", "a value", 1, **bounds)


# --- what is printed -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("value", "bound", "tail"),
    [
        (0.123456, {"at_most": 1}, " 0.123  <= 1\n"),
        (123456, {"at_least": 1}, " 1.23e+05  >= 1\n"),
        (2 / 3, {"equals": 2 / 3}, " 0.667  = 0.666667\n"),
        (0.98, {"equals": 1, "rtol": 0.05}, " 0.98  = 1 (rtol 0.05)\n"),
        (3e-16, {"at_most": 1e-12}, " <1e-15  <= 1e-12\n"),
        (-3e-16, {"at_most": 1e-12}, " <1e-15  <= 1e-12\n"),
        (0.00099, {"at_most": 1}, " <0.001  <= 1\n"),
        (0.00101, {"at_most": 1}, " 0.00101  <= 1\n"),
        (0.0, {"at_most": 0}, " 0  <= 0\n"),
        (-0.0, {"at_least": -0.0}, " 0  >= 0\n"),
        (np.float64(2), {"at_most": np.float64(2)}, " 2  <= 2\n"),
    ],
)
def test_three_significant_digits_and_no_residue(value, bound, tail):
    line = printed("thm-x", "a value", value, **bound)
    assert line.startswith("thm-x  a value ")
    assert line.endswith(tail)


@given(st.floats(1e-9, 1e9), st.floats(0, 1))
def test_a_small_change_below_the_third_digit_prints_the_same(bound, share):
    """Rounding residue of another machine (relative 1e-13) does not reach the committed line."""
    value = share * bound
    text = f"{value:.12e}"
    if text[5:13] in {"00000000", "99999999", "50000000", "49999999"}:  # at a rounding boundary
        return
    line = printed("thm-x", "a value", value, at_most=bound)
    assert printed("thm-x", "a value", value * (1 + 1e-13), at_most=bound) == line


def test_a_line_of_77_characters_is_printed_and_of_78_refused():
    def what(width):
        return "w" * (width - len("thm-x  " + "       1  <= 1"))

    assert len(printed("thm-x", what(WIDTH), 1, at_most=1)) == WIDTH + len("\n") == 78
    with pytest.raises(ValueError, match="this line has 78 characters, more than 77: thm-x  www"):
        check("thm-x", what(WIDTH + 1), 1, at_most=1)


def test_a_failure_says_which_statement_what_and_by_how_much(capsys):
    with pytest.raises(CheckFailed, match=r"thm-x  a value +2\.35  not <= 1$") as caught:
        check("thm-x", "a value", 2.34567, at_most=1)
    assert (caught.value.label, caught.value.value) == ("thm-x", 2.34567)
    assert caught.value.relation == "<= 1"
    assert capsys.readouterr().out == ""


def test_the_columns_give_way_before_a_line_is_refused():
    line = printed("thm-x", "w" * 40, 0.98, equals=1, rtol=0.05)
    assert len(line) == WIDTH + len("\n")
    assert line.endswith("w         0.98  = 1 (rtol 0.05)\n")


def test_a_failed_check_with_a_long_line_is_still_a_failed_check():
    with pytest.raises(CheckFailed, match=r"not <= 1$"):
        check("thm-x", "w" * 70, 2, at_most=1)


# --- falsifiers ----------------------------------------------------------------------------------


def test_falsify_prints_by_how_much_the_check_failed(capsys):
    def attempt():
        check("thm-x", "passes on the way", 0, at_most=1)
        check("thm-x", "what it measures", 2.34567, at_most=1)

    falsify("thm-x", "half the noise", attempt)
    out = capsys.readouterr().out
    assert out.startswith("thm-x  half the noise ")
    assert out.endswith(" 2.35  not <= 1\n")
    assert "passes on the way" not in out


def test_nothing_broke():
    with pytest.raises(AssertionError, match=r"^thm-x: half the noise: nothing broke$") as caught:
        falsify("thm-x", "half the noise", lambda: check("thm-x", "a value", 1, at_most=1))
    assert not isinstance(caught.value, CheckFailed)
    with pytest.raises(AssertionError, match="nothing broke"):
        falsify("thm-x", "an attempt without any check", lambda: None)


@pytest.mark.parametrize(
    "error", [ZeroDivisionError, ValueError, AssertionError, KeyboardInterrupt]
)
def test_a_crash_is_not_evidence(error):
    def attempt():
        raise error("crash")

    with pytest.raises(error, match="crash"):
        falsify("thm-x", "half the noise", attempt)


def test_a_failed_check_of_another_label_is_not_evidence():
    with pytest.raises(CheckFailed, match="thm-y  a value") as caught:
        falsify("thm-x", "half the noise", lambda: check("thm-y", "a value", 2, at_most=1))
    assert caught.value.label == "thm-y"


def test_not_a_number_is_not_evidence():
    with pytest.raises(CheckFailed, match="nan  not <= 1"):
        falsify("thm-x", "zero over zero", lambda: check("thm-x", "a value", math.nan, at_most=1))


def test_a_refused_line_is_not_evidence():
    with pytest.raises(ValueError, match="more than 77"):
        falsify("thm-x", "w" * 70, lambda: check("thm-x", "a value", 2, at_most=1))
    with pytest.raises(ValueError, match="more than 77"):
        falsify("thm-x", "half", lambda: check("thm-x", "w" * 70, 1, at_most=1))


@pytest.mark.parametrize(
    ("value", "shown"), [(3e-16, "<1e-12"), (-3e-16, "<1e-12"), (0.0, "0"), (2e-12, "2e-12")]
)
def test_rounding_residue_is_bounded_not_printed(value, shown, capsys):
    falsify("thm-x", "half the noise", lambda: check("thm-x", "a value", value, at_least=0.1))
    assert capsys.readouterr().out.split("half the noise")[1].split()[0] == shown
