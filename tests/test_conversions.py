"""Conversions of promises against arithmetic of many digits: never too little, and little more.

Over the whole range of floats a conversion is at least the exact number, where more is the weaker
promise, or at most, where it is the budget of a mechanism. It may be off by a few roundings, and by
as many times more in the tail of a normal as the logarithm of delta is large.
"""

from fractions import Fraction

import mpmath as mp
import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from pdpbook.guarantees import (
    ApproximateDP,
    BudgetAccount,
    GaussianDP,
    PureDP,
    ZeroConcentratedDP,
    compose,
    group,
    half_budget,
    success_rate,
)
from pdpbook.noise import gaussian_epsilon, gaussian_mu, gaussian_profile
from pdpbook.user_level import WeightedMean

ONE = {"neighbors": "replace-one"}
USER = {"neighbors": "user"}
TINY = mp.mpf(2) ** -1070  # what is not resolved among the smallest floats


def powers(low, high):
    return st.floats(low, high).map(lambda power: float(10**power))


wide = powers(-300, 3) | powers(-9, 2) | st.sampled_from([5e-324, 1e-310, 1e-8, 1.0, 1e3])
deltas = powers(-290, -0.01) | st.sampled_from([1e-12, 1e-6, 0.5, 0.999])


def exact(function):
    """With enough digits for the smallest floats, and as many again where two nearly cancel."""

    def call(*given):
        with mp.workdps(1500 if min(abs(v) for v in given if v) < 1e-30 else 200):
            return function(*map(mp.mpf, given))

    return call


def plain(function):
    """Of what does not cancel."""

    def call(*given):
        with mp.workdps(60):
            return function(*map(mp.mpf, given))

    return call


@plain
def gaussian_of_pure(epsilon):
    """Normals whose even errors are those of randomized response, from the density's own root."""
    if epsilon < 10:
        return 2 * mp.sqrt(2) * mp.erfinv(mp.tanh(epsilon / 2))
    error = -mp.log1p(mp.exp(epsilon))  # the logarithm; Newton's method for that of the tail
    x = mp.sqrt(2 * epsilon)
    for _ in range(30):
        tail = mp.erfc(x / mp.sqrt(2)) / 2
        x += (mp.log(tail) - error) * tail * mp.sqrt(2 * mp.pi) * mp.exp(x**2 / 2)
    return 2 * x


@exact
def profile_of_pure(epsilon, at):
    return max(mp.mpf(0), (mp.exp(epsilon) - mp.exp(at)) / (1 + mp.exp(epsilon)))


@exact
def profile_of_normals(mu, at):
    a = mu / 2 - at / mu
    if a < -1e4:
        return mp.mpf(0)
    return mp.ncdf(a) - mp.exp(at) * mp.ncdf(a - mu)


@plain
def profile_of_concentrated(rho, at):
    """The best order, by halving the derivative, which rises."""

    def log_delta(a):
        return a * ((a + 1) * rho - at) - mp.log(a) - (a + 1) * mp.log1p(1 / a)

    low, high = mp.mpf(10) ** -2000, mp.mpf(10) ** 2000
    for _ in range(90):
        middle = mp.sqrt(low * high)
        rises = rho * (2 * middle + 1) - mp.log1p(1 / middle) - at > 0
        low, high = (low, middle) if rises else (middle, high)
    return min(mp.mpf(1), mp.exp(log_delta(high)))


def assert_just_above(found, true, rtol):
    with mp.workdps(60):
        assert true <= mp.mpf(float(found)) <= true * (1 + mp.mpf(rtol)) + TINY


# ------------------------------------------------------------------ one number to another
@given(wide)
@example(1e-17)
@example(5e-17)
@example(1e-5)
def test_gaussian_of_pure(epsilon):
    assert_just_above(PureDP(epsilon, **ONE).to_gaussian().mu, gaussian_of_pure(epsilon), 1e-14)


@given(wide)
def test_concentrated_of_pure(epsilon):
    rho = PureDP(epsilon, **ONE).to_zcdp().rho
    assert_just_above(rho, exact(lambda e: e * mp.tanh(e / 2))(epsilon), 1e-14)


@given(wide)
def test_concentrated_of_gaussian(mu):
    assert_just_above(GaussianDP(mu, **ONE).to_zcdp().rho, exact(lambda m: m**2 / 2)(mu), 1e-14)


def test_a_promise_too_large_to_convert_is_refused():
    with pytest.raises(ValueError, match=r"^rho must be finite"):
        GaussianDP(1e200, **ONE).to_zcdp()


def test_conversions_take_everybody_at_once_and_leave_out_whoever_takes_no_part():
    epsilon = np.array([0.0, 5e-324, 1e-300, 1e-9, 0.5, 2.0, 1e3])
    for way in ("to_gaussian", "to_zcdp"):
        (found,) = getattr(PureDP(epsilon, **ONE), way)()._parameters().values()
        assert (np.diff(found) >= 0).all()
        assert_array_equal(found > 0, epsilon > 0)
        for e, one in zip(epsilon[1:], found[1:], strict=True):
            assert one == next(iter(getattr(PureDP(e, **ONE), way)()._parameters().values()))


# ------------------------------------------------------------------ profiles
shares = st.floats(0, 1.5) | st.sampled_from([0.0, 1.0, 1 - 1e-12])


@given(wide, shares)
def test_profile_of_a_pure_promise(epsilon, share):
    at = share * epsilon
    found = PureDP(epsilon, **ONE).profile(at)
    assert_just_above(found, profile_of_pure(epsilon, at), 1e-14)
    assert (found == 0) is (at >= epsilon)


@given(wide, shares, deltas)
@example(5e-324, 0.0, 0.999)
def test_profile_of_an_approximate_promise(epsilon, share, delta):
    at = share * epsilon
    found = ApproximateDP(epsilon, delta, **ONE).profile(at)
    more = profile_of_pure(epsilon, at)
    with mp.workdps(700):
        true = mp.mpf(delta) + (1 - mp.mpf(delta)) * more
    assert_just_above(found, true, 1e-14)
    assert found > delta or at >= epsilon


tails = st.floats(-40, 3)


def epsilon_at(mu, tail):
    """Where the larger normal has the tail beyond so many deviations."""
    return min(max(0.0, mu * (mu / 2 - tail)), 1e6)


@given(wide, tails)
def test_profile_of_a_gaussian_promise(mu, tail):
    at = epsilon_at(mu, tail)
    true = profile_of_normals(mu, at)
    assert_just_above(GaussianDP(mu, **ONE).profile(at), true, 6e-12)
    if true > 1e-305:
        with mp.workdps(60):
            assert abs(mp.mpf(float(gaussian_profile(at, mu))) / true - 1) < 1e-12


@given(wide, tails)
def test_profile_of_a_concentrated_promise(rho, tail):
    at = epsilon_at(float(np.sqrt(2 * rho)), tail)
    true = profile_of_concentrated(rho, at)
    assert_just_above(ZeroConcentratedDP(rho, **ONE).profile(at), true, 1e-9)


# ------------------------------------------------------------------ back to an epsilon, or a mu
def assert_smallest(epsilon, delta, profile):
    """The true delta at epsilon is within what was asked, and just below epsilon it is not."""
    assert profile(epsilon) <= delta
    if epsilon > 1e-300:
        assert profile(epsilon * (1 - 1e-7)) > delta * (1 - 1e-9)


@given(wide, deltas)
def test_epsilon_of_a_pure_promise(epsilon, delta):
    found = PureDP(epsilon, **ONE).to_approximate(delta).epsilon
    assert profile_of_pure(epsilon, found) <= delta
    assert found <= epsilon
    if found > 1e-300 and found < epsilon * (1 - 1e-6):
        assert profile_of_pure(epsilon, found - 1e-12 * epsilon) > delta * (1 - 1e-9)


@given(powers(-12, 1.5), deltas)
def test_epsilon_of_a_gaussian_promise(mu, delta):
    for found in (GaussianDP(mu, **ONE).to_approximate(delta).epsilon, gaussian_epsilon(delta, mu)):
        assert_smallest(float(found), delta, lambda at: profile_of_normals(mu, at))


@given(powers(-12, 1.5), deltas)
def test_epsilon_of_a_concentrated_promise(rho, delta):
    found = ZeroConcentratedDP(rho, **ONE).to_approximate(delta).epsilon
    assert_smallest(found, delta, lambda at: profile_of_concentrated(rho, at))


@given(powers(-300, 3) | st.just(0.0), deltas)
@example(1e-12, 1e-12)
@example(1e-6, 1e-12)
@example(1e-300, 1e-290)
def test_mu_keeps_the_delta_that_was_asked_for(epsilon, delta):
    mu = float(gaussian_mu(epsilon, delta))
    assert profile_of_normals(mu, epsilon) <= delta
    assert profile_of_normals(mu * (1 + 1e-9), epsilon) > delta


def test_the_smallest_deltas_are_kept_by_a_bound():
    for delta in (5e-324, 1e-310, 1e-300):
        mu = float(gaussian_mu(1.0, delta))
        assert profile_of_normals(mu, 1.0) <= delta
        assert profile_of_normals(1.1 * mu, 1.0) > delta


def test_mus_of_many_are_those_of_each():
    epsilon = np.array([0.0, 1e-300, 1e-12, 0.1, 1.0, 1e3])
    found = gaussian_mu(epsilon[:, None], [1e-12, 0.5])
    assert_array_equal(found[3], [gaussian_mu(0.1, 1e-12), gaussian_mu(0.1, 0.5)])
    assert (np.diff(found, axis=0) >= 0).all()


# ------------------------------------------------------------------ sums
several = st.lists(wide | st.floats(5e-324, 10), min_size=1, max_size=6)
KINDS = {"epsilon": (PureDP, 1), "rho": (ZeroConcentratedDP, 1), "mu": (GaussianDP, 2)}


def total(amounts, power):
    """The exact sum of powers of the decimals that the numbers print as."""
    return sum(Fraction(repr(one)) ** power for one in amounts)


def assert_least_above(found, total, power=1):
    """The next smaller float is not enough."""
    below = float(np.nextafter(found, 0))
    assert Fraction(repr(below)) ** power < total <= Fraction(repr(float(found))) ** power


@pytest.mark.parametrize(("unit", "kind", "power"), [(u, *KINDS[u]) for u in KINDS])
@given(several)
@example([1e-200])
@example([1e-200, 1e-200])
@example([2.7e-162, 2.7e-162])
@example([5e-324, 5e-324])
@example([1.0, 1e-17])
@example([1e200, 1e-200])
@example([1.7976931348623157e308])
def test_sums_are_rounded_up_and_no_further(unit, kind, power, amounts):
    own = [kind(one, **ONE) for one in amounts]
    found = getattr(compose(*own), unit)
    assert_least_above(found, total(amounts, power), power)
    assert found == getattr(compose(*own[::-1]), unit)
    each = compose(*(kind([one, 1.0, 0.0], **ONE) for one in amounts))
    assert getattr(each, unit)[0] == found
    assert getattr(each, unit)[2] == 0


@given(several)
def test_a_group_is_promised_no_less_than_the_sum(amounts):
    found = group(PureDP(amounts, **ONE), range(len(amounts)))
    assert_least_above(found, total(amounts, 1))
    assert Fraction(repr(group(PureDP(amounts[0], **ONE), range(3)))) >= 3 * Fraction(
        repr(amounts[0])
    )


def test_what_fits_one_after_the_other_fits_together():
    for parts, budget in [((0.1, 0.4), 0.5), ((0.1, 0.2), 0.3), ((0.1, 0.1, 0.1), 0.3)]:
        together = compose(*(PureDP(one, **ONE) for one in parts))
        assert together.epsilon == budget
        BudgetAccount(budget, **ONE).spend(together)


@given(several, st.lists(deltas, min_size=1, max_size=3))
def test_simple_composition_is_rounded_up(amounts, chances):
    if sum(chances) > 1 - 1e-9:
        return
    own = [ApproximateDP(1.0, chance, **ONE) for chance in chances]
    both = compose(*own, *(PureDP(one, **ONE) for one in amounts))
    assert_least_above(both.epsilon, total([1.0] * len(own) + amounts, 1))
    assert_least_above(both.delta, total(chances, 1))


@pytest.mark.parametrize(("kind", "unit"), [(PureDP, "epsilon"), (GaussianDP, "mu")])
def test_a_sum_beyond_all_floats_is_refused(kind, unit):
    most = kind(1.7976931348623157e308, **ONE)
    assert compose(most) == most
    with pytest.raises(ValueError, match=rf"^{unit} must be finite"):
        compose(most, most)


@given(wide)
def test_the_ceiling_on_guesses_is_rounded_up(epsilon):
    with mp.workdps(1500):
        true = 1 / (1 + mp.exp(-mp.mpf(epsilon)))
        assert (
            true
            <= mp.mpf(float(success_rate(PureDP(epsilon, **ONE))))
            <= true * (1 + mp.mpf(1e-14))
        )


@given(wide, deltas)
def test_half_a_budget_keeps_the_whole(epsilon, delta):
    half, chance = half_budget(epsilon, delta)
    with mp.workdps(1500):
        true = mp.mpf(delta) / (1 + mp.exp(mp.mpf(epsilon) / 2))
        assert 2 * mp.mpf(float(half)) <= mp.mpf(epsilon)
        assert true * (1 - mp.mpf(1e-14)) - TINY <= mp.mpf(float(chance)) <= true


# ------------------------------------------------------------------ what an account is charged
@given(st.lists(wide, min_size=1, max_size=5), st.sampled_from(sorted(KINDS)))
def test_what_was_spent_is_rounded_up(amounts, unit):
    kind, power = KINDS[unit]
    account = BudgetAccount(1e200, kind=kind, **ONE)
    for one in amounts:
        account.spend(kind(one, **ONE))
    found, true = account.spent, sum(Fraction(repr(one)) ** power for one in amounts)
    assert Fraction(repr(found)) ** power >= true
    assert Fraction(repr(float(np.nextafter(found, 0)))) ** power < true


def test_tiny_mus_that_are_composed_first_are_charged():
    """Their squares are below all floats: they were charged 0."""
    account = BudgetAccount([1e-199, 10.0], kind=GaussianDP, **ONE)
    both = compose(*[GaussianDP([1e-200, 1.0], **ONE)] * 2)
    for _ in range(49):
        account.spend(both)
    with pytest.raises(ValueError, match=r"^release refused"):
        account.spend(compose(both, both))


def test_a_tiny_pure_budget_is_charged_in_an_account_of_mus():
    """It was charged nothing, and promised 1e-17, fifty times."""
    account = BudgetAccount([1e-16, 10.0], kind=GaussianDP, **USER)
    for _ in range(50):
        WeightedMean().fit([[0.1], [0.2]], [0.1, 0.2], epsilon=[1e-17, 1.0], account=account)
    with mp.workdps(60):
        true = mp.sqrt(50) * gaussian_of_pure(1e-17)
        assert true <= mp.mpf(float(account.spent[0]))
    assert_allclose(account.spent[0], float(true), rtol=1e-14)
    for _ in range(13):
        WeightedMean().fit([[0.1], [0.2]], [0.1, 0.2], epsilon=[1e-17, 1.0], account=account)
    with pytest.raises(ValueError, match="release refused"):
        WeightedMean().fit([[0.1], [0.2]], [0.1, 0.2], epsilon=[1e-17, 1.0], account=account)
