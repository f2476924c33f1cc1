"""Every validator returns the clean value or one sentence: argument, rule, value, index."""

import math
import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from numpy.testing import assert_array_equal
from pdp_docstrings import exported

from pdpbook import check as v
from pdpbook.guarantees import PureDP
from pdpbook.personalized import PDPRidge

POSITIVE = st.floats(1e-300, 1e300)
FINITE = st.floats(-1e300, 1e300)
NOT_POSITIVE = st.one_of(st.floats(max_value=0.0), st.just(math.nan), st.just(math.inf))
NEGATIVE = NOT_POSITIVE.filter(lambda value: value != 0)
BUDGETS = hnp.arrays(float, st.integers(1, 20), elements=POSITIVE)

NOT_NUMBERS = {
    "true": True,
    "numpy true": np.bool_(True),
    "string": "1.0",
    "bytes": b"1",
    "none": None,
    "complex": 1j,
    "numpy complex": np.complex128(1),
    "a list with a boolean": [1.0, True],
    "a list with none": [1.0, None],
    "a list with a string": [1.0, "2"],
    "a ragged list": [[1.0], [1.0, 2.0]],
    "an array of booleans": np.array([True, False]),
    "an array of objects": np.array([1.0, 2.0], dtype=object),
    "an array of complex numbers": np.array([1j, 2.0]),
    "a date": np.datetime64("2020-01-01"),
    "a series of booleans": pd.Series([True, False]),
    "a frame with a column of words": pd.DataFrame({"a": [1.0], "b": ["x"]}),
    "a dict": {"epsilon": 1.0},
    "a function": abs,
}
not_numbers = pytest.mark.parametrize("value", NOT_NUMBERS.values(), ids=NOT_NUMBERS)

# every validator that takes numbers, as a function of one argument
TAKES_NUMBERS = {
    "positive": lambda x: v.positive(x, "lam"),
    "nonnegative": lambda x: v.nonnegative(x, "lam"),
    "extended": lambda x: v.extended(x, "lam"),
    "finite": lambda x: v.finite(x, "lam"),
    "delta": lambda x: v.delta(x, "lam"),
    "delta or zero": lambda x: v.delta(x, "lam", zero=True),
    "epsilon": lambda x: v.epsilon(x, name="lam"),
    "bounds": lambda x: v.bounds(x, "lam"),
}
takes_numbers = pytest.mark.parametrize("check", TAKES_NUMBERS.values(), ids=TAKES_NUMBERS)


# --- wrong kinds ---------------------------------------------------------------------------------


@not_numbers
@takes_numbers
def test_what_is_not_a_number_is_refused(check, value):
    with pytest.raises(TypeError, match=r"^lam must be a number or an array of numbers; got "):
        check(value)


@pytest.mark.parametrize(
    ("value", "said"),
    [
        ("a word", "got 'a word'"),
        (None, "got None"),
        (np.array("word"), "got array('word', dtype='<U4')"),
        (["Ada", 1.0], "got list of length 2"),
        ({"Ada", "Eve"}, "got set of length 2"),
        ({"Ada": 1.0}, "got dict of length 1"),
        (np.array([["Ada", 1.0]], object), "got ndarray of length 1 of dtype object"),
        (pd.Series(["Ada", "Eve"], name="who").astype(object), "got Series of length 2 of dtype"),
        (pd.DataFrame({"who": ["Ada"]}), "got DataFrame of length 1"),
    ],
)
def test_one_wrong_value_is_shown_and_those_of_many_people_are_not(value, said):
    with pytest.raises(TypeError) as caught:
        v.finite(value, "X")
    assert said in str(caught.value)
    assert "Ada" not in str(caught.value)


@not_numbers
def test_data_and_weights_that_are_not_numbers_are_refused(value):
    with pytest.raises(TypeError, match=r"^X must be a number or an array of numbers; got "):
        v.design(value, [1.0])
    with pytest.raises(TypeError, match=r"^y must be a number or an array of numbers; got "):
        v.design([[1.0]], value)
    if value is not None:  # None is equal weights
        with pytest.raises(TypeError, match=r"^weights must be a number or an array of numbers"):
            v.weights(value, 2)


@pytest.mark.parametrize(
    "value", [True, np.bool_(False), 1.0, np.float64(2), "1", None, 1j, math.nan]
)
def test_a_count_is_a_whole_number(value):
    with pytest.raises(TypeError, match=r"^d must be a whole number; got "):
        v.count(value, "d")


@pytest.mark.parametrize(
    "value", [None, 0, np.random.RandomState, "rng", np.random.RandomState(0), np.random.PCG64(0)]
)
def test_rng_is_a_generator(value):
    with pytest.raises(
        TypeError, match=r"^rng must be a numpy\.random\.Generator; got .*default_rng"
    ):
        v.rng(value)


@pytest.mark.parametrize("value", ["hubr", "", "SQUARE", None, True, 1, ["square"], math.nan])
def test_a_choice_is_one_of_the_listed_words(value):
    with pytest.raises(ValueError, match=r"^loss must be one of 'square', 'huber'; got "):
        v.choice(value, "loss", ("square", "huber"))


# --- wrong values: the rule, the value, the index ------------------------------------------------


@given(NOT_POSITIVE)
def test_a_scalar_that_is_not_positive_is_named(value):
    with pytest.raises(ValueError, match=r"^lam must be finite and above 0; got ") as caught:
        v.positive(value, "lam")
    assert str(caught.value).endswith(f"got {v.shown(value)}")


@given(BUDGETS, st.data(), NEGATIVE)
def test_the_wrong_entry_of_an_array_is_named(values, data, wrong):
    n = len(values)
    at = data.draw(st.integers(0, n - 1))
    values[at] = wrong
    got = f"got epsilon[{at}] = {v.shown(wrong)} (1 of {n} are wrong)"
    sentence = f"epsilon must be finite and at least 0; {got}"
    for people in (None, n):
        with pytest.raises(ValueError, match="epsilon must") as caught:
            v.epsilon(values, people)
        assert str(caught.value) == sentence


@pytest.mark.parametrize(
    ("call", "sentence"),
    [
        (lambda: v.positive(math.nan, "lam"), "lam must be finite and above 0; got nan"),
        (lambda: v.positive(-0.0, "lam"), "lam must be finite and above 0; got -0"),
        (
            lambda: v.positive([[1, 2], [3, -4]], "scale"),
            "scale must be finite and above 0; got scale[1, 1] = -4 (1 of 4 are wrong)",
        ),
        (
            lambda: v.nonnegative([0, -1, math.inf], "weights"),
            "weights must be finite and at least 0; got weights[1] = -1 (2 of 3 are wrong)",
        ),
        (
            lambda: v.finite([1, -math.inf], "mean"),
            "mean must be finite; got mean[1] = -inf (1 of 2 are wrong)",
        ),
        (lambda: v.single(np.ones(2), "lam"), "lam must be a single number; got shape (2,)"),
        (lambda: v.count(0, "d"), "d must be at least 1; got 0"),
        (lambda: v.count(1, "draws", minimum=2), "draws must be at least 2; got 1"),
        (lambda: v.delta(0), "delta must be above 0 and below 1; got 0"),
        (lambda: v.delta(1.0), "delta must be above 0 and below 1; got 1"),
        (lambda: v.delta(math.nan), "delta must be above 0 and below 1; got nan"),
        (
            lambda: v.delta(-1e-9, zero=True),
            "delta must be at least 0 and below 1; got -1e-09",
        ),
        (lambda: v.delta(1, zero=True), "delta must be at least 0 and below 1; got 1"),
        (lambda: v.delta([0.1, 0.2]), "delta must be a single number; got shape (2,)"),
        (
            lambda: v.epsilon([1.0, 2.0], 3),
            "epsilon must be a number or have shape (3,), one value for each row of X; "
            "got shape (2,)",
        ),
        (
            lambda: v.epsilon([[1.0], [2.0]], 2),
            "epsilon must be a number or have shape (2,), one value for each row of X; "
            "got shape (2, 1)",
        ),
        (
            lambda: v.epsilon([[1.0, 2.0]]),
            "epsilon must be a number or a one-dimensional array; got shape (1, 2)",
        ),
        (
            lambda: v.epsilon([]),
            "epsilon must be a number or a one-dimensional array; got shape (0,)",
        ),
        (
            lambda: v.budgets(np.ones(2), 3, "rho"),
            "rho must be a number or have shape (3,), one value for each row of X; got shape (2,)",
        ),
        (
            lambda: v.choice("hubr", "loss", ("square", "huber")),
            "loss must be one of 'square', 'huber'; got 'hubr'",
        ),
        (
            lambda: v.design([[1, math.nan], [3, math.inf]], [0, 0]),
            "X must be finite; got X[0, 1] = nan (2 of 4 are wrong)",
        ),
        (
            lambda: v.design([[1], [2]], [0, -math.inf]),
            "y must be finite; got y[1] = -inf (1 of 2 are wrong)",
        ),
        (
            lambda: v.design([1.0, 2.0], [0, 0]),
            "X must have shape (n, d), n and d at least 1; got (2,)",
        ),
        (
            lambda: v.design(np.ones((3, 0)), np.ones(3)),
            "X must have shape (n, d), n and d at least 1; got (3, 0)",
        ),
        (
            lambda: v.design(np.ones((0, 3)), np.ones(0)),
            "X must have shape (n, d), n and d at least 1; got (0, 3)",
        ),
        (
            lambda: v.design(np.ones((2, 1)), np.ones((2, 1))),
            "y must have shape (2,), one label for each row of X; got (2, 1)",
        ),
        (
            lambda: v.design(np.ones((2, 1)), 1.0),
            "y must have shape (2,), one label for each row of X; got ()",
        ),
        (
            lambda: v.weights([1.0, 2.0], 3),
            "weights must have shape (3,), one for each row of X; got (2,)",
        ),
        (
            lambda: v.weights(1.0, 3),
            "weights must have shape (3,), one for each row of X; got ()",
        ),
        (lambda: v.weights([0, 0], 2), "weights must not all be 0"),
        (
            lambda: v.weights([1, math.nan], 2),
            "weights must be finite and at least 0; got weights[1] = nan (1 of 2 are wrong)",
        ),
        (
            lambda: v.bounds([0, 1, 2], "bounds"),
            "bounds must be a pair (low, high); got shape (3,)",
        ),
        (
            lambda: v.bounds([[0, 1], [0, 1]], "y_bounds"),
            "y_bounds must be a pair (low, high); got shape (2, 2)",
        ),
        (
            lambda: v.bounds([[0, 1]], "bounds", d=2),
            "bounds must be a pair (low, high), or shape (2, 2), one pair for each column; "
            "got shape (1, 2)",
        ),
        (lambda: v.bounds((1, 0), "bounds"), "bounds must have low < high; got (1, 0)"),
        (lambda: v.bounds((1, 1), "bounds", d=3), "bounds must have low < high; got (1, 1)"),
        (
            lambda: v.bounds([(0, 1), (5, 2)], "bounds", d=2),
            "bounds must have low < high; got (5, 2) in column 1",
        ),
        (
            lambda: v.bounds([(0, 1), (2, 2)], "bounds", d=2),
            "bounds must have low < high; got (2, 2) in column 1",
        ),
        (
            lambda: v.bounds((0, math.inf), "bounds"),
            "bounds must be finite; got bounds[1] = inf (1 of 2 are wrong)",
        ),
    ],
)
def test_whole_sentences(call, sentence):
    with pytest.raises(ValueError, match=r"must") as caught:
        call()
    assert str(caught.value) == sentence


@given(st.integers(0, 2), st.integers(0, 1), st.sampled_from([-0.5, 1.5, math.nan, math.inf]))
def test_a_value_outside_is_named_with_the_way_out(row, column, wrong):
    X = np.full((3, 2), 0.5)
    X[row, column] = wrong
    with pytest.raises(ValueError, match="X must") as caught:
        v.inside(X, 0.0, 1.0, "X", "bounds", clip=False)
    assert str(caught.value) == (
        f"X must lie in [0, 1]; got X[{row}, {column}] = {v.shown(wrong)} (1 of 6 are outside). "
        "Widen the public bounds, or pass clip=True"
    )


def test_the_bounds_of_the_wrong_column_are_named():
    low, high = v.bounds([(0, 1), (10, 20)], "bounds", d=2)
    with pytest.raises(ValueError, match=r"^X must lie in \[10, 20\]; got X\[1, 1\] = 9 \(1 of 4"):
        v.inside(np.array([[0.0, 15.0], [1.0, 9.0]]), low, high, "X", "bounds", clip=False)


@pytest.mark.parametrize(
    ("column", "wrong", "edge"), [(0, 2.0, 1.0), (0, -1.0, 0.0), (1, 0.75, 0.5)]
)
def test_a_value_between_the_bounds_of_another_column_is_outside(column, wrong, edge):
    bounds = [(0, 1), (-3, 0.5)]
    low, high = v.bounds(bounds, "bounds", d=2)
    X = np.full((2, 2), 0.25)
    X[1, column] = wrong
    said = rf"got X\[1, {column}\] = {v.shown(wrong)} \(1 of 4 are outside\)"
    with pytest.raises(ValueError, match=said):
        v.inside(X, low, high, "X", "bounds", clip=False)
    with pytest.raises(ValueError, match=said):
        PDPRidge(bounds=bounds).fit(X, np.zeros(2))
    assert v.inside(X, low, high, "X", "bounds", clip=True)[1, column] == edge


def test_nan_is_refused_or_with_clip_the_middle_of_its_interval_never_a_bound():
    y = np.array([0.0, math.nan, 5.0, -math.inf])
    with pytest.raises(ValueError, match=r"^y must lie in \[-1, 1\]; got y\[1\] = nan \(3 of 4 "):
        v.inside(y, -1.0, 1.0, "y", "y_bounds", clip=False)
    assert v.inside(y, -1.0, 2.0, "y", "y_bounds", clip=True).tolist() == [0, 0.5, 2, -1]
    X = np.full((2, 2), math.nan)
    clipped = v.inside(X, np.array([0.0, -3.0]), np.array([1.0, 9.0]), "X", "bounds", clip=True)
    assert clipped.tolist() == [[0.5, 3.0]] * 2
    assert np.isnan(X).all()  # as it came


def test_numbers_may_be_nan_or_infinite_where_they_are_only_read():
    y = np.array([1.0, math.nan, math.inf])
    assert v.real(y, "y") is y
    for wrong in ("1", True, [1 + 1j], [None]):
        with pytest.raises(TypeError, match=r"^y must be a number or an array of numbers"):
            v.real(wrong, "y")


# --- what passes comes back clean ----------------------------------------------------------------


@given(POSITIVE)
def test_a_positive_number_comes_back_as_a_float(value):
    for given_as in (value, np.float64(value), np.array(value)):
        clean = v.positive(given_as, "lam")
        assert type(clean) is float
        assert clean == value
        assert v.finite(-value, "mean") == -value
        assert v.single(given_as, "lam") == value
    assert v.nonnegative(0, "lam") == 0.0
    assert v.extended([0, math.inf], "cost").tolist() == [0.0, math.inf]
    for wrong in (-1, -math.inf, math.nan):
        with pytest.raises(ValueError, match=r"^cost must be at least 0; got"):
            v.extended(wrong, "cost")


@pytest.mark.parametrize(
    "values",
    [[1, 2], (1, 2), np.array([1, 2], np.uint8), np.array([1, 2], np.float32), pd.Series([1, 2])],
)
def test_arrays_come_back_as_new_float64(values):
    clean = v.positive(values, "epsilon")
    assert clean.dtype == np.float64
    assert_array_equal(clean, [1.0, 2.0])
    clean[0] = 7
    assert values[0] == 1


@given(st.integers(-5, 5), st.integers(1, 5))
def test_counts(value, minimum):
    for given_as in (value, np.int64(value)):
        if value >= minimum:
            clean = v.count(given_as, "d", minimum=minimum)
            assert type(clean) is int
            assert clean == value
        else:
            with pytest.raises(ValueError, match=f"^d must be at least {minimum}; got {value}$"):
                v.count(given_as, "d", minimum=minimum)


@given(st.floats(0, 1))
def test_delta_is_a_probability_and_zero_only_on_request(delta):
    if 0 < delta < 1:
        assert v.delta(delta) == delta
    if delta < 1:
        assert v.delta(delta, zero=True) == delta


@given(BUDGETS)
def test_budgets_pass_one_for_each_or_one_for_everybody(values):
    n = len(values)
    if values.max() < v.LEAST:
        with pytest.raises(ValueError, match=r"^epsilon must be at least 1e-100 for some"):
            v.epsilon(values, n)
        return
    if values.max() > v.MOST:
        with pytest.raises(ValueError, match=r"^epsilon must be at most 1e\+100; got"):
            v.epsilon(values, n)
        return
    assert_array_equal(v.epsilon(values), values)
    clean = v.epsilon(values, n)
    assert_array_equal(clean, values)
    assert clean is not values
    everybody = v.epsilon(values.max(), n)
    assert_array_equal(everybody, np.full(n, values.max()))
    everybody[0] = 1.0  # an array of its own, not a view of one number
    assert n == 1 or everybody[1] == values.max()


@pytest.mark.parametrize(
    ("value", "found"),
    [((1, 0), (0, 1)), (["yes", "no"], ("no", "yes")), ((True, False), (False, True)),
     (np.array([2.5, -1]), (-1.0, 2.5))],
)  # fmt: skip
def test_two_classes_come_back_in_order(value, found):
    assert v.classes(value, "classes") == found


@pytest.mark.parametrize("value", [None, 1, "no", (0,), (0, 1, 2), [[0, 1]]])
def test_what_is_no_pair_of_classes_is_refused(value):
    with pytest.raises(ValueError, match=r"^classes must name both classes in public"):
        v.classes(value, "classes")


def test_classes_of_two_kinds_or_one_label_twice_are_refused():
    for value in ((0, "no"), (True, 1), (None, 1)):
        with pytest.raises(TypeError, match=r"^classes must be two numbers, two words or two bool"):
            v.classes(value, "classes")
    for value in ((1, 1.0), ("a", "a"), (0, np.inf), (np.nan, 1)):
        with pytest.raises(ValueError, match=r"^classes must be two different, finite labels"):
            v.classes(value, "classes")


def test_rng_and_choice_come_back_as_they_are():
    rng = np.random.default_rng(0)
    assert v.rng(rng) is rng
    assert v.choice("huber", "loss", ("square", "huber")) == "huber"


@given(hnp.arrays(float, hnp.array_shapes(min_dims=2, max_dims=2, max_side=5), elements=FINITE))
def test_data_come_back_as_float_arrays(X):
    clean, labels = v.design(X.tolist(), range(len(X)))
    assert_array_equal(clean, X)
    assert_array_equal(labels, np.arange(len(X)))
    assert clean.dtype == labels.dtype == np.float64
    clean, _ = v.design(pd.DataFrame(X), pd.Series(labels))
    assert_array_equal(clean, X)


@given(st.integers(1, 50))
def test_no_weights_are_equal_weights(n):
    weights = v.weights(None, n)
    assert_array_equal(weights, np.full(n, 1 / n))
    assert_array_equal(v.weights(np.arange(1, n + 1), n), np.arange(1.0, n + 1))


@given(FINITE, FINITE, st.integers(1, 4))
def test_bounds_come_back_as_two_edges(a, b, d):
    low, high = sorted([a, b])
    if low == high:
        return
    if not v.LEAST <= high - low <= v.MOST:
        with pytest.raises(ValueError, match=r"^bounds must have a finite width, from 1e-100 to"):
            v.bounds((low, high), "bounds")
        return
    assert v.bounds((low, high), "bounds") == (low, high)
    for bounds in [(low, high), [(low, high)] * d]:
        lows, highs = v.bounds(bounds, "bounds", d=d)
        assert_array_equal(lows, np.full(d, low))
        assert_array_equal(highs, np.full(d, high))
        lows[0] = 0.0  # writable, not a view of one number


@given(hnp.arrays(float, (3, 2), elements=st.floats(-10, 10)))
def test_clipping_only_on_request(X):
    clipped = v.inside(X, -1.0, 1.0, "X", "bounds", clip=True)
    assert_array_equal(clipped, np.clip(X, -1, 1))
    if np.abs(X).max() <= 1:
        assert_array_equal(v.inside(X, -1.0, 1.0, "X", "bounds", clip=False), X)
    else:
        with pytest.raises(ValueError, match=r"^X must lie in \[-1, 1\]; got X\["):
            v.inside(X, -1.0, 1.0, "X", "bounds", clip=False)


def test_large_data_are_not_copied_and_promises_keep_their_own():
    X, y = np.zeros((3, 2)), np.zeros(3)
    assert all(clean is raw for clean, raw in zip(v.design(X, y), (X, y), strict=True))
    epsilon = np.ones(3)
    promise = PureDP(epsilon=epsilon, neighbors="replace-one")
    model = PDPRidge(random_state=0).fit(X, y, epsilon=epsilon)
    epsilon[:] = 7.0
    assert_array_equal(promise.epsilon, 1.0)
    assert_array_equal(model.guarantee_.epsilon, 1.0)


def test_masked_numbers_are_refused():
    with pytest.raises(TypeError, match=r"^weights must not be a masked array: its hidden"):
        v.positive(np.ma.masked_equal([1.0, 2.0], 2.0), "weights")


def test_scales_end_where_noise_would():
    assert v.scale(1e-100, "width") == 1e-100
    assert v.scale(0.0, "width", zero=True) == 0.0
    for value in (0.9e-100, 1.1e100):
        with pytest.raises(ValueError, match=r"^width must lie in \[1e-100, 1e\+100\], .*got"):
            v.scale(value, "width", zero=True)
    with pytest.raises(ValueError, match="width must be finite and above 0"):
        v.scale(0.0, "width")


def test_what_noise_needs_of_numbers():
    assert (v.penalty(0.5), v.rate(2)) == (0.5, 2.0)
    assert [v.radius(4, norm) for norm in (None, 1.5, 3.0)] == [2.0, 1.5, 2.0]
    for value in (0.0, -1.0):
        with pytest.raises(ValueError, match=r"lam must .*one person could move the fit"):
            v.penalty(value)
    with pytest.raises(ValueError, match=r"^lam must be finite and above 0; got nan$"):
        v.penalty(np.nan)
    for value in (1e-151, 1e151):
        with pytest.raises(ValueError, match=r"eta must lie in \[1e-150, 1e\+150\], .*; got 1e"):
            v.rate(value)
    v.refuse_lost_penalty(1e-20, 10, 2, None)
    v.refuse_lost_penalty(4e-28, 10, 2, 1e-9)  # short rows lose less of it
    with pytest.raises(ValueError, match=r"rows of norm up to 1\.41, or rounding may lose it"):
        v.refuse_lost_penalty(4e-28, 10, 2, None)
    for lam, n in ((1e-33, 10), (1e-20, 10**6), (np.nan, 10)):
        with pytest.raises(ValueError, match=r"lam must be above .* or rounding may lose it; got"):
            v.refuse_lost_penalty(lam, n, 2, None)


def test_shapes_are_refused_with_what_they_hold():
    kept = np.ones((2, 3))
    assert v.shape(kept, "X", (2, 3), "one row a person") is kept
    with pytest.raises(ValueError, match=r"^X must have shape \(2,\), one each; got \(2, 3\)$"):
        v.shape(kept, "X", (2,), "one each")
    for wrong in (1.0, [], kept):
        with pytest.raises(ValueError, match=r"^z must have shape \(k,\), k at least 1; got shape"):
            v.vector(wrong, "z", "k")
    assert v.vector([1.0], "z", "k").shape == (1,)

    assert v.matrix([[1.0, 2.0]], "X", 1, 2).shape == (1, 2)
    with pytest.raises(
        ValueError, match=r"^X must have shape \(n, 3\), n at least 1; got \(2, 2\)"
    ):
        v.matrix(np.ones((2, 2)), "X", "n", 3)
    assert [part.shape for part in v.together("a and b", 1.0, [1.0, 2.0])] == [(2,), (2,)]
    with pytest.raises(
        ValueError, match=r"^a and b must broadcast to one shape; got \(2,\), \(3,\)$"
    ):
        v.together("a and b", [1.0, 2.0], [1.0, 2.0, 3.0])
    with pytest.raises(
        ValueError, match=r"^bounds must be a pair \(low, high\), or shape \(3, 2\)"
    ):
        v.pairs(np.ones((3, 1)).repeat(3, 1)[:, :3], "bounds")


def test_one_number_a_flag_and_budgets_of_some():
    assert (v.number(2, "lam"), v.probability(0.5, "q")) == (2.0, 0.5)
    with pytest.raises(ValueError, match=r"^lam must be a single number; got shape \(1,\)$"):
        v.number([1.0], "lam")
    with pytest.raises(ValueError, match=r"^q must be above 0 and below 1; got 1$"):
        v.probability(1.0, "q")
    v.flag(np.True_, "clip")
    with pytest.raises(TypeError, match=r"^clip must be True or False; got 1$"):
        v.flag(1, "clip")
    assert v.some_epsilon([0.0, 0.0]).tolist() == [0.0, 0.0]  # a block of people who stay out
    with pytest.raises(
        ValueError, match=r"^epsilon must be above 0 for somebody; got 0 for all 2$"
    ):
        v.privacy_parameters([0.0, 0.0], 2, "epsilon")
    assert v.is_plain(np.ones(2))
    assert not v.is_plain(np.ones(2, dtype=int))
    with pytest.raises(TypeError, match=r"^y must not be a masked array"):
        v.refuse_hidden(np.ma.masked_equal([1.0, 2.0], 2.0), "y")


class Settings:
    lam, loss, steps, most = 1.0, "square", None, "best"


def test_settings_are_refused_by_their_rule_and_by_name():
    rules = {
        "lam": v.one_number(v.positive),
        "loss": v.one_of("square", "huber"),
        "steps": v.optional(v.count),
        "most": v.limit_on_rows,
    }
    v.settings(Settings, **rules)
    for name, wrong, error in (
        ("lam", -1.0, ValueError),
        ("lam", [1.0, 2.0], ValueError),
        ("loss", "cube", ValueError),
        ("loss", None, ValueError),
        ("steps", 0, ValueError),
        ("steps", 1.5, TypeError),
        ("most", "least", ValueError),
        ("most", 0, ValueError),
        ("most", 2.0, TypeError),
    ):
        wronged = type("Wronged", (Settings,), {name: wrong})
        with pytest.raises(error, match=f"^{name} must"):
            v.settings(wronged, **rules)
    for fine in ({"steps": 3}, {"most": "max"}, {"most": 7}, {"loss": "huber"}):
        v.settings(type("Fine", (Settings,), fine), **rules)


def test_a_limit_on_rows_is_a_word_or_a_number():
    v.limit_on_rows("best", "max_rows")
    with pytest.raises(ValueError, match=r"^max_rows must"):
        v.limit_on_rows(-1, "max_rows")


def test_every_public_check_is_tested_here():
    source = Path(__file__).read_text(encoding="utf-8")
    assert [name for name in exported(v) if f"v.{name}(" not in source] == []


def test_values_of_rows_go_by_the_index_of_the_rows():
    X = pd.DataFrame({"a": [1.0, 2.0]}, index=["ann", "bo"])
    y = pd.Series([0.0, 1.0], index=["bo", "ann"])
    for other in (y, y.to_frame()):
        with pytest.raises(ValueError, match="y must have the index of X, row by row"):
            v.refuse_other_index(other, "y", X=X)
        with pytest.raises(ValueError, match="y must have the index of X"):
            v.design(X, other)
    for fine in (y[::-1], y.to_numpy(), y.tolist(), y[:1], None):  # lengths are others' to check
        v.refuse_other_index(fine, "y", X=X)
    v.refuse_other_index(y, "y", X=X.to_numpy())
    for named in (y, X, y.reset_index(drop=True)):
        with pytest.raises(
            TypeError, match=r"^y must be an array: no names here; got a (Ser|Data)"
        ):
            v.refuse_index(named, "y", "no names here")
    v.refuse_index(y.to_numpy(), "y", "no names here")
    assert v.index_of(y) is y.index
    assert v.index_of([1, 2]) is v.index_of((1, 2)) is v.index_of(np.ones(2)) is None


# ------------------------------------------------------------------ what errors show
@pytest.mark.parametrize(
    ("values", "bounds", "message"),
    [
        (
            np.full(5, 0.1, np.float32),
            (-0.1, 0.1),
            "y must lie in [-0.1, 0.1]; got y[0] = 0.10000000149011612 (5 of 5 are outside). That "
            "is the bound but for rounding, as of float32: pass clip=True, or the bound as the "
            "data have it, np.float32(0.1)",
        ),
        (
            np.full(5, -0.1, np.float32),
            (-0.1, 0.1),
            "y must lie in [-0.1, 0.1]; got y[0] = -0.10000000149011612 (5 of 5 are outside). That "
            "is the bound but for rounding, as of float32: pass clip=True, or the bound as the "
            "data have it, np.float32(-0.1)",
        ),
        (  # float32 is below 0.7, which would not help
            np.full(5, 0.1 + 0.2 * 3),
            (0.0, 0.7),
            "y must lie in [0, 0.7]; got y[0] = 0.7000000000000001 (5 of 5 are outside). That is "
            "the bound but for rounding, as of float32: pass clip=True",
        ),
        (
            np.array([0.5, 1.0000001, 0.5]),
            (0.0, 1.0),
            "y must lie in [0, 1]; got y[1] = 1.0000001 (1 of 3 are outside). That is the bound "
            "but for rounding, as of float32: pass clip=True",
        ),
        (
            np.array([0.5, 1.000001]),
            (0.0, 1.0),
            "y must lie in [0, 1]; got y[1] = 1.000001 (1 of 2 are outside). Widen the public "
            "y_bounds, or pass clip=True",
        ),
        (
            np.array([0.5, 7.0]),
            (0.6, 1e99),
            "y must lie in [0.6, 1e+99]; got y[0] = 0.5 (1 of 2 are outside). Widen the public "
            "y_bounds, or pass clip=True",
        ),
    ],
)
def test_an_error_of_bounds_is_true_as_it_reads(values, bounds, message):
    given_values = np.asarray(values, dtype=float)
    with pytest.raises(ValueError, match=re.escape(message) + "$"):
        v.inside(given_values, *bounds, "y", "y_bounds", clip=False)


def test_float32_labels_fit_between_bounds_of_float32():
    y, edge = np.full(5, 0.1, np.float32), np.float32(0.1)
    X = np.linspace(0, 1, 5)[:, None]
    PDPRidge(y_bounds=(-edge, edge)).fit(X, y)
    PDPRidge(y_bounds=(-0.1, 0.1), clip=True).fit(X, y)
    with pytest.raises(ValueError, match=r"np\.float32\(0\.1\)$"):
        PDPRidge(y_bounds=(-0.1, 0.1)).fit(X, y)


@given(st.floats(allow_nan=False))
def test_what_is_shown_is_the_number(value):
    assert float(v.shown(value)) == value
    assert len(v.shown(value)) <= len(repr(value)) + 1  # 1e+16 for 1e16


def test_beyond_float32_a_bound_is_no_rounding():
    for value, low, high in ((1e300, -1e299, 1e299), (-np.inf, -1.0, 1.0), (np.nan, 0.0, 1.0)):
        assert v.way_into(value, low, high, "bounds").startswith("Widen the public bounds")
    assert v.way_into(np.nextafter(1e30, np.inf), 0.0, 1e30, "bounds").startswith("That is the bo")


@pytest.mark.parametrize("value", [np.float16(1.0), np.float32(1.0), np.int8(1), np.int32(1)])
def test_a_setting_of_few_bits_is_refused(value):
    with pytest.raises(TypeError, match=r"^lam must be a number of 64 bits, such as 1(\.0)?; got"):
        v.settings(PDPRidge(lam=value), lam=v.penalty)
    v.settings(PDPRidge(lam=np.float64(1.0)), lam=v.penalty)
    v.settings(PDPRidge(lam=np.int64(1)), lam=v.penalty)
