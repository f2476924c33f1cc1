"""Promises: hand cases, identities, mechanisms that attain the hub, refusals."""

import contextlib
import copy
import math
import pickle
import threading
from fractions import Fraction
from itertools import chain, combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy.optimize import minimize_scalar
from scipy.stats import norm

from pdpbook.guarantees import (
    NEIGHBORS,
    ApproximateDP,
    BudgetAccount,
    GaussianDP,
    PACPrivacy,
    PureDP,
    ZeroConcentratedDP,
    compose,
    group,
    half_budget,
    success_rate,
)

ONE = {"neighbors": "replace-one"}
budgets = st.floats(0.01, 8)
small = st.floats(1e-9, 0.9)
KINDS = {
    "pure": lambda a, b: PureDP(a, **ONE),
    "approximate": lambda a, b: ApproximateDP(a, b, **ONE),
    "concentrated": lambda a, b: ZeroConcentratedDP(a, **ONE),
    "gaussian": lambda a, b: GaussianDP(a, **ONE),
}
kinds = pytest.mark.parametrize("kind", KINDS.values(), ids=list(KINDS))


# ------------------------------------------------------------------ by hand
def test_profiles_by_hand():
    assert_allclose(PureDP(np.log(3), **ONE).profile(0.0), 0.5)  # (3 - 1) / (1 + 3)
    assert_allclose(PureDP(np.log(3), **ONE).profile(np.log(2)), 0.25)  # (3 - 2) / 4
    assert PureDP(1.0, **ONE).profile(1.0) == 0 == PureDP(1.0, **ONE).profile(700.0)
    loose = ApproximateDP(np.log(3), 0.2, **ONE)
    assert_allclose(loose.profile([0.0, np.log(2), 5.0]), [0.6, 0.4, 0.2])
    assert_allclose(ApproximateDP(0.0, 0.2, **ONE).profile([0.0, 3.0]), 0.2)
    assert_allclose(GaussianDP(1.0, **ONE).profile(0.0), 2 * norm.cdf(0.5) - 1)


def test_conversions_by_hand():
    assert_allclose(PureDP(2.0, **ONE).to_zcdp().rho, 2 * np.tanh(1))
    assert_allclose(GaussianDP(0.2, **ONE).to_zcdp().rho, 0.02)
    assert_allclose(PureDP(np.log(3), **ONE).to_gaussian().mu, 2 * norm.ppf(0.75))
    assert_allclose(PureDP(np.log(3), **ONE).to_approximate(0.25).epsilon, np.log(2))
    assert GaussianDP(1.0, **ONE).to_approximate(0.9).epsilon == 0
    found = GaussianDP([0.3, 1.0], **ONE).to_approximate(1e-6).epsilon
    assert_allclose(found, [1.29171, 4.88655], atol=5e-6)


def test_people_are_on_the_last_axis():
    promise = PureDP([0.1, 1.0, 2.0], **ONE)
    assert promise.n == 3
    assert promise.profile(0.5).shape == (3,)
    assert promise.profile([0.1, 1.0, 2.0]).tolist() == [0, 0, 0]  # each at their own epsilon
    curve = promise.profile(np.linspace(0, 2, 7)[:, None])
    assert curve.shape == (7, 3)
    assert_allclose(curve[:, 1], PureDP(1.0, **ONE).profile(np.linspace(0, 2, 7)))
    assert PureDP(1.0, **ONE).profile(np.ones((2, 2))).shape == (2, 2)
    assert isinstance(PureDP(1.0, **ONE).profile(0.5), float)
    with pytest.raises(ValueError, match="end in an axis of 1 or 3"):
        promise.profile([0.1, 0.2])


# ---------------------------------------------------------------- identities
@kinds
@given(a=budgets, b=small)
def test_profile_falls_and_stays_in_the_unit_interval(kind, a, b):
    delta = kind(a, b).profile(np.linspace(0, 12, 60))
    assert np.all((delta >= 0) & (delta <= 1))
    assert np.all(np.diff(delta) <= 1e-12)


@pytest.mark.parametrize("kind", ["pure", "approximate", "gaussian"])
@given(a=budgets, b=small)
def test_profile_is_convex_in_e_to_the_epsilon(kind, a, b):
    ratio = np.linspace(1, 50, 200)
    delta = KINDS[kind](a, b).profile(np.log(ratio))
    assert np.all(np.diff(delta, 2) >= -1e-12)
    assert np.all(np.diff(delta) >= -np.diff(ratio))  # the slope is minus a probability


@pytest.mark.parametrize("size", [1e3, 1e6, 1e9, 1e14])
def test_a_promise_of_any_size_has_its_epsilon(size):
    """However little it protects: only a failure probability of its own cannot be got rid of."""
    delta = 1e-3
    # delta is 1 - e^(epsilon - size) but for e^-size, and Phi(mu / 2 - epsilon / mu) but for 1 / mu
    pure = PureDP(size, **ONE).to_approximate(delta)
    assert_allclose(pure.epsilon, size + np.log1p(-delta), rtol=1e-14)
    gauss = GaussianDP(size, **ONE).to_approximate(delta)
    assert_allclose(gauss.epsilon, size**2 / 2 + size * norm.isf(delta), rtol=1e-4)
    several = ZeroConcentratedDP(size, **ONE).to_approximate(delta)
    assert several.epsilon > size
    if size < 1e9:  # above, the search over orders is coarse, which is safe
        assert several.epsilon <= size + 2 * np.sqrt(size * np.log(1 / delta))


@kinds
@settings(max_examples=20)
@given(a=st.floats(0.01, 4), b=st.floats(1e-9, 1e-3), delta=st.floats(2e-3, 0.5))
def test_to_approximate_is_the_smallest_epsilon_that_keeps_the_promise(kind, a, b, delta):
    promise = kind(a, b)
    found = promise.to_approximate(delta)
    assert promise.profile(found.epsilon) <= delta
    if found.epsilon > 0:
        assert promise.profile(found.epsilon * (1 - 1e-9)) > delta * (1 - 1e-6)
    assert found.neighbors == promise.neighbors
    # one point implies no less than the promise it came from, where the hub is exact; that of a
    # concentrated promise is a bound order by order, and one of its points can be a better one
    grid = np.linspace(0, 8, 40)
    if not isinstance(promise, ZeroConcentratedDP):
        assert np.all(found.profile(grid) >= promise.profile(grid) - 1e-12)


@pytest.mark.parametrize("kind", ["pure", "approximate", "concentrated", "gaussian"])
@given(a=budgets, b=budgets, c=budgets)
def test_compose_is_commutative_and_associative(kind, a, b, c):
    p, q, r = (KINDS[kind](x, 0.05) for x in (a, b, c))
    assert compose(p, q, r) == compose(r, p, q)
    left, right = compose(compose(p, q), r), compose(p, compose(q, r))
    for name in left._parameters():
        assert_allclose(getattr(left, name), getattr(right, name), rtol=1e-14)
    assert compose(p) == p


@given(a=budgets, b=budgets, c=budgets)
def test_composing_at_once_promises_no_less_than_in_steps(a, b, c):
    p, q, r = PureDP(a, **ONE), PureDP(b, **ONE), ZeroConcentratedDP(c, **ONE)
    at_once, in_steps = compose(p, q, r).rho, compose(compose(p, q), r).rho
    assert at_once <= in_steps * (1 + 1e-14)


def test_compose_adds_what_a_theorem_adds():
    pure = PureDP([0.1, 0.2], **ONE)
    assert_allclose(compose(pure, PureDP(0.3, **ONE)).epsilon, [0.4, 0.5])
    both = compose(pure, ApproximateDP(0.3, 1e-6, **ONE), ApproximateDP(0.3, 2e-6, **ONE))
    assert_allclose(both.epsilon, [0.7, 0.8])
    assert_allclose(both.delta, 3e-6)
    assert_allclose(compose(GaussianDP(3.0, **ONE), GaussianDP(4.0, **ONE)).mu, 5)
    mixed = compose(pure, GaussianDP(1.0, **ONE), ZeroConcentratedDP(0.25, **ONE))
    assert_allclose(mixed.rho, [0.1 * np.tanh(0.05) + 0.75, 0.2 * np.tanh(0.1) + 0.75])
    gauss = compose(PureDP(np.log(3), **ONE), GaussianDP(1.0, **ONE))
    assert_allclose(gauss.mu, np.hypot(1, 2 * norm.ppf(0.75)))


def test_group_adds():
    assert group(PureDP([0.5, 0.2, 0.25], **ONE), [2, 0]) == 0.75
    assert group(PureDP([0.1, 0.2, 0.4], **ONE), [2, 0]) == 0.5
    assert_allclose(group(PureDP(0.3, **ONE), range(4)), 1.2)
    assert group(PureDP(0.3, **ONE), []) == 0


# -------------------------------------------------------------- second route
def hockey_stick(p, q, epsilon):
    """Largest P(S) - e^epsilon Q(S), by listing every event S."""
    points = range(len(p))
    events = chain.from_iterable(combinations(points, k) for k in range(len(p) + 1))
    return max(sum(p[list(s)]) - math.exp(epsilon) * sum(q[list(s)]) for s in map(list, events))


def randomized_response(epsilon, delta=0.0):
    """Laws on (shows 0, says 0, says 1, shows 1) when the secret is 0, and when it is 1."""
    truth = math.exp(epsilon) / (1 + math.exp(epsilon))
    zero = np.array([delta, (1 - delta) * truth, (1 - delta) * (1 - truth), 0])
    return zero, zero[::-1]


@pytest.mark.parametrize("delta", [0.0, 1e-3, 0.3])
@pytest.mark.parametrize("eps0", [0.1, 1.0, 3.0])
def test_randomized_response_attains_the_hub(eps0, delta):
    promise = PureDP(eps0, **ONE) if delta == 0 else ApproximateDP(eps0, delta, **ONE)
    p, q = randomized_response(eps0, delta)
    for epsilon in [0.0, 0.05, 0.5, 1.0, 2.0, 4.0]:
        listed = hockey_stick(p, q, epsilon)
        assert_allclose(promise.profile(epsilon), listed, rtol=1e-12, atol=1e-15)
        assert_allclose(hockey_stick(q, p, epsilon), listed, rtol=1e-12, atol=1e-15)


@given(st.integers(0, 10**6), st.floats(0.05, 3), st.sampled_from([0.0, 0.01, 0.2]))
def test_no_random_pair_that_keeps_the_promise_exceeds_the_hub(seed, eps0, delta):
    rng = np.random.default_rng(seed)
    p, q = randomized_response(eps0, delta)
    kernel = rng.dirichlet(np.full(5, 0.3), 4)  # any post-processing keeps it
    p, q = p @ kernel, q @ kernel
    promise = PureDP(eps0, **ONE) if delta == 0 else ApproximateDP(eps0, delta, **ONE)
    for epsilon in [0.0, eps0 / 2, eps0, 1.5 * eps0]:
        here, there = hockey_stick(p, q, epsilon), hockey_stick(q, p, epsilon)
        assert max(here, there) <= promise.profile(epsilon) + 1e-12
        # duality: the reverse direction is the forward one at minus epsilon
        dual = 1 - math.exp(epsilon) + math.exp(epsilon) * hockey_stick(p, q, -epsilon)
        assert_allclose(there, dual, atol=1e-12 * math.exp(epsilon))


@given(st.floats(0.01, 20))
def test_pure_privacy_is_concentrated_at_every_order_and_no_better(epsilon):
    rho = PureDP(epsilon, **ONE).to_zcdp().rho
    # Renyi divergence of randomized response, from its cumulants
    a = np.logspace(-5, 1.5, 60)  # alpha - 1
    step, tanh = a * epsilon, np.tanh(epsilon / 2)
    # log cosh((alpha - 1/2) epsilon) - log cosh(epsilon / 2), without cancellation
    renyi = np.log1p(2 * np.sinh(step / 2) ** 2 + tanh * np.sinh(step)) / a
    alpha = 1 + a
    assert np.all(renyi <= rho * alpha * (1 + 1e-12))
    assert_allclose(renyi[0] / alpha[0], rho, rtol=1e-3)  # attained as alpha falls to 1
    assert rho <= epsilon**2 / 2


@given(st.floats(0.01, 20))
def test_pure_privacy_is_gaussian_and_no_better(epsilon):
    pure, gauss = PureDP(epsilon, **ONE), PureDP(epsilon, **ONE).to_gaussian()
    grid = np.linspace(0, 1.2 * epsilon, 50)
    assert np.all(gauss.profile(grid) >= pure.profile(grid) - 1e-12)
    assert_allclose(gauss.profile(0.0), pure.profile(0.0), rtol=1e-9)  # they touch


@pytest.mark.parametrize("rho", [1e-4, 0.02, 0.5, 5.0, 80.0])
@pytest.mark.parametrize("epsilon", [0.0, 0.1, 1.0, 10.0])
def test_concentrated_profile_is_the_best_order_and_above_the_gaussian(rho, epsilon):
    def log_delta(t):
        a = np.exp(t)
        return a * ((a + 1) * rho - epsilon) - t + (a + 1) * (t - np.log1p(a))

    delta = ZeroConcentratedDP(rho, **ONE).profile(epsilon)
    best = minimize_scalar(log_delta, bounds=(-40, 15), method="bounded", options={"xatol": 1e-10})
    exact = min(1, np.exp(best.fun)) + 2e-323  # as rounded up: 0 would be another promise
    assert_allclose(delta, exact, rtol=1e-7)  # 1e-10 in t, and flat there
    assert delta >= GaussianDP(np.sqrt(2 * rho), **ONE).profile(epsilon)


def test_to_approximate_of_concentrated_beats_the_classical_conversion():
    rho, delta = np.array([0.001, 0.1, 2.0]), 1e-6
    found = ZeroConcentratedDP(rho, **ONE).to_approximate(delta).epsilon
    assert np.all(found < rho + 2 * np.sqrt(rho * np.log(1 / delta)))


# ------------------------------------------------------------------ the account
def test_the_account_fills_to_the_last_decimal():
    account = BudgetAccount([0.3, 0.7], **ONE)
    for _ in range(3):
        account.spend(PureDP(0.1, **ONE))
    assert account.spent.tolist() == [0.3, 0.3]  # 0.1 + 0.1 + 0.1 is more in floating point
    assert account.remaining.tolist() == [0.0, 0.4]
    with pytest.raises(ValueError, match=r"nothing recorded: person 0 asks 1e-17 and has 0.0 left"):
        account.spend(PureDP([1e-17, 0.1], **ONE))
    assert account.spent.tolist() == [0.3, 0.3]


@given(st.lists(st.integers(1, 10**6), min_size=1, max_size=30), st.integers(0, 12))
def test_decimals_that_add_up_are_never_refused(amounts, places):
    scale = 10**places
    account = BudgetAccount(sum(amounts) / scale, **ONE)
    for amount in amounts:
        account.spend(PureDP(amount / scale, **ONE))
    assert account.remaining == 0
    with pytest.raises(ValueError, match="release refused"):
        account.spend(PureDP(1e-300, **ONE))


@given(st.floats(1e-3, 10), st.lists(st.floats(1e-6, 1), min_size=1, max_size=40))
def test_the_account_never_overspends_and_remaining_always_passes(budget, asked):
    account, passed = BudgetAccount(budget, **ONE), []
    for amount in asked:
        try:
            account.spend(PureDP(amount, **ONE))
        except ValueError:
            continue
        passed.append(amount)
    assert sum(map(Fraction, map(repr, passed))) <= Fraction(repr(budget))
    if account.remaining > 0:
        account.spend(PureDP(account.remaining, **ONE))
    assert 0 <= account.remaining <= 1e-14


def test_a_fifteenth_that_prints_too_large_is_refused_and_remaining_is_not():
    account = BudgetAccount(1.0, **ONE)
    for _ in range(14):
        account.spend(PureDP(1 / 15, **ONE))
    with pytest.raises(ValueError, match=r"each person asks 0\.0666"):
        account.spend(PureDP(1 / 15, **ONE))
    account.spend(PureDP(account.remaining, **ONE))
    assert account.remaining == 0


class Meeting(BudgetAccount):
    """An account in which two threads wait for each other where it is decided who can pay."""

    def __init__(self, *given, **settings):
        super().__init__(*given, **settings)
        self.barrier = threading.Barrier(2, timeout=0.5)

    def _within(self, asked):
        enough = super()._within(asked)
        with contextlib.suppress(threading.BrokenBarrierError):
            self.barrier.wait()
        return enough


@pytest.mark.parametrize("way", ["spend", "admit"])
def test_of_two_threads_that_ask_for_all_one_is_granted(way):
    """Decided before the lock, both could pay."""
    account = Meeting([1.0], neighbors="zero-out")
    granted = []

    def ask():
        if way == "admit":
            granted.append(account.admit([1.0]).all())
            return
        with contextlib.suppress(ValueError):
            account.spend(PureDP([1.0], neighbors="zero-out"))
            granted.append(True)

    threads = [threading.Thread(target=ask) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sum(granted) == 1
    assert account.spent.tolist() == [1.0]


def test_the_account_refuses_what_it_cannot_add():
    account = BudgetAccount([1.0, 1.0], **ONE)
    for name in ("add-remove", "zero-out"):
        with pytest.raises(ValueError, match=rf"against '{name}'.*restate {name} as.* twice"):
            account.spend(PureDP(0.1, neighbors=name))
    with pytest.raises(ValueError, match=r"one relation into the other$"):
        compose(PureDP(0.1, neighbors="zero-out"), PureDP(0.1, neighbors="add-remove"))
    with pytest.raises(ValueError, match="budgets of 2 people; got one to 3"):
        account.spend(PureDP([0.1, 0.1, 0.1], **ONE))
    with pytest.raises(ValueError, match="one budget for all; got one to 2"):
        BudgetAccount(1.0, **ONE).spend(PureDP([0.1, 0.1], **ONE))
    with pytest.raises(TypeError, match="cannot turn GaussianDP into PureDP: no theorem does"):
        account.spend(GaussianDP(0.1, **ONE))
    with pytest.raises(TypeError, match=r"promise must be a PureDP; got 0\.1"):
        account.spend(0.1)
    assert account.spent.tolist() == [0, 0]
    named = BudgetAccount({"Ana": 1.0, "Ben": 1.0}, **ONE)
    with pytest.raises(ValueError, match="it has no budget for 'Zoe'"):
        named.spend(PureDP(0.1, **ONE), people=["Ana", "Zoe", "Ben"])
    with pytest.raises(ValueError, match="the data name 'Ben' twice"):
        named.spend(PureDP(0.1, **ONE), people=["Ana", "Ben", "Ben"])
    assert named.spent.tolist() == [0, 0]
    many = BudgetAccount(np.ones(9), **ONE)
    with pytest.raises(ValueError, match=r"person 4 asks 2.0 and has 1.0 left, and 4 more"):
        many.spend(PureDP(2.0, **ONE))
    assert "spent=array" in repr(many)


# -------------------------------------------------------------------- printing
@pytest.mark.parametrize(
    ("promise", "sentence"),
    [
        (
            PureDP([0.01, 0.2, 1.0], **ONE),
            "Each person i is promised epsilon_i-differential privacy, epsilon_i from 0.01 to 1, "
            "against replacing their record.",
        ),
        (
            PureDP(1, neighbors="add-remove"),
            "Each person is promised 1-differential privacy against adding or removing their "
            "record, as long as fit accepts the number of rows both ways: a refusal is not "
            "covered.",
        ),
        (
            ApproximateDP([1, 1], 1e-6, neighbors="labels"),
            "Each person i is promised (epsilon_i, 1e-06)-differential privacy, epsilon_i = 1, "
            "against replacing their label.",
        ),
        (
            ApproximateDP([1, 2], [1e-6, 1e-5], neighbors="user"),
            "Each person i is promised (epsilon_i, delta_i)-differential privacy, epsilon_i from "
            "1 to 2, delta_i from 1e-06 to 1e-05, against replacing all of their records.",
        ),
        (
            ZeroConcentratedDP(0.5, neighbors="user-labels"),
            "Each person is promised 0.5-zero-concentrated differential privacy against replacing "
            "all of their labels.",
        ),
        (
            GaussianDP([0.1, 0.4], **ONE),
            "Each person i is promised mu_i-Gaussian differential privacy, mu_i from 0.1 to 0.4, "
            "against replacing their record.",
        ),
        (
            PACPrivacy(0.6),
            "Each person is promised PAC privacy: whoever knows the pool guesses right whether "
            "they are in the data with probability at most 0.6 compared with 0.5 for a blind "
            "guess.",
        ),
    ],
)
def test_a_promise_prints_as_one_sentence(promise, sentence):
    assert str(promise) == sentence


def test_equality_copies_and_immutability():
    p = PureDP([0.1, 0.2], **ONE)
    assert p == PureDP(np.array([0.1, 0.2]), **ONE)
    assert hash(p) == hash(PureDP([0.1, 0.2], **ONE))
    assert p != PureDP([0.1, 0.3], **ONE)
    assert p != PureDP([0.1, 0.2], neighbors="labels")
    assert p != GaussianDP([0.1, 0.2], **ONE)
    assert PureDP(0.1, **ONE) != PureDP([0.1, 0.1], **ONE)
    assert repr(PureDP(1, **ONE)) == "PureDP(epsilon=1.0, neighbors='replace-one')"
    mine = np.array([0.1, 0.2])
    kept = PureDP(mine, **ONE)
    mine[0] = 9
    for copied in (kept, copy.deepcopy(kept), pickle.loads(pickle.dumps(kept))):
        assert copied == p
        with pytest.raises(ValueError, match="read-only"):
            copied.epsilon[0] = 9
    with pytest.raises(AttributeError):
        p.epsilon = 3
    assert pickle.loads(pickle.dumps(PACPrivacy([0.6, 0.7]))) == PACPrivacy([0.6, 0.7])


# -------------------------------------------------------------------- refusals
@pytest.mark.parametrize("bad", [0, -1, math.nan, math.inf, [1, math.nan], [[1.0]], []])
@pytest.mark.parametrize("kind", [PureDP, ZeroConcentratedDP, GaussianDP])
def test_bad_parameters_are_refused(kind, bad):
    with pytest.raises(ValueError, match="must be"):
        kind(bad, **ONE)


@pytest.mark.parametrize("bad", [True, "1", None, [1, True]])
@pytest.mark.parametrize("kind", [PureDP, ZeroConcentratedDP, GaussianDP])
def test_things_that_are_no_numbers_are_refused(kind, bad):
    with pytest.raises(TypeError, match="must be a number"):
        kind(bad, **ONE)


@pytest.mark.parametrize("bad", [0, 1, -0.1, math.nan, [0.1, 1.0]])
def test_bad_probabilities_are_refused(bad):
    with pytest.raises(ValueError, match="delta must be above 0 and below 1"):
        ApproximateDP(1, bad, **ONE)
    with pytest.raises(ValueError, match="delta must be above 0 and below 1"):
        PureDP(1, **ONE).to_approximate(bad)
    with pytest.raises(ValueError, match="success_rate must be"):
        PACPrivacy(bad)


def test_other_refusals():
    with pytest.raises(ValueError, match="neighbors must be one of"):
        PureDP(1, neighbors="household")
    with pytest.raises(TypeError, match="neighbors"):
        PureDP(1)
    with pytest.raises(ValueError, match="epsilon and delta must have one length"):
        ApproximateDP([1, 2], [0.1, 0.1, 0.1], **ONE)
    with pytest.raises(ValueError, match=r"success_rate must be at least 0\.7"):
        PACPrivacy(0.6, sample_rate=0.3)
    with pytest.raises(ValueError, match="delta must be at least what ApproximateDP allows"):
        ApproximateDP(1, 1e-3, **ONE).to_approximate(1e-4)
    with pytest.raises(ValueError, match="one entry for each person"):
        PureDP(1.0, **ONE).to_approximate([0.1, 0.2])
    with pytest.raises(ValueError, match="members must be different people below n = 2"):
        group(PureDP([1, 2], **ONE), [0, 2])
    with pytest.raises(TypeError, match="promise must be a PureDP"):
        group(GaussianDP(1.0, **ONE), [0])
    with pytest.raises(ValueError, match="epsilon must be finite and at least 0"):
        PureDP(1, **ONE).profile(-0.1)


@pytest.mark.parametrize(
    ("rate", "shown"),
    [
        (0.5000001, "0.5000001"),
        (0.7474747474, "0.747475"),
        (0.55, "0.55"),
        (1 - 1e-9, "0.999999999"),
    ],
)
def test_a_ceiling_is_never_rounded_down(rate, shown):
    assert f"at most {shown} compared with 0.5 for" in str(PACPrivacy(rate))
    assert f"from 0.5 to {shown}, compared" in str(PACPrivacy([0.5, rate]))


@given(st.floats(0.5, 1, exclude_max=True))
def test_every_ceiling_as_shown_is_one(rate):
    shown = float(str(PACPrivacy(rate)).split("at most ")[1].split()[0])
    assert rate <= shown <= 1
    assert shown - rate <= 1e-5 * min(rate - 0.5, 1 - rate)


def test_pac_privacy_converts_nowhere():
    pac = PACPrivacy([0.6, 0.7])
    for turn in (
        lambda: pac.to_approximate(1e-6),
        lambda: pac.profile(1.0),
        lambda: compose(pac, PureDP(1, **ONE)),
        lambda: compose(PureDP(1, **ONE), pac),
        lambda: compose(pac, pac),
    ):
        with pytest.raises(
            TypeError,
            match=r"^cannot turn PACPrivacy into ApproximateDP: no theorem does; "
            "see definition def-pac-privacy$",
        ):
            turn()
    with pytest.raises(TypeError, match="into ZeroConcentratedDP"):
        pac.to_zcdp()
    with pytest.raises(TypeError, match="into GaussianDP"):
        pac.to_gaussian()
    with pytest.raises(TypeError, match=r"PACPrivacy into PureDP.*def-pac-privacy"):
        BudgetAccount(1.0, **ONE).spend(pac)


def test_compose_refuses_and_says_what_is_missing():
    with pytest.raises(ValueError, match="theorem that turns one relation into the other"):
        compose(PureDP(1, **ONE), PureDP(1, neighbors="labels"))
    with pytest.raises(ValueError, match="at twice the epsilon"):
        compose(PureDP(1, neighbors="add-remove"), PureDP(1, **ONE))
    with pytest.raises(ValueError, match="promises to 2 and 3 people: no theorem"):
        compose(PureDP([1, 2, 3], **ONE), PureDP([1, 2], **ONE))
    with pytest.raises(
        TypeError,
        match=r"cannot turn ApproximateDP into GaussianDP: no theorem does. Turn the GaussianDP",
    ):
        compose(GaussianDP(1, **ONE), ApproximateDP(1, 0.1, **ONE))
    for refused in (
        lambda: ApproximateDP(1, 0.1, **ONE).to_zcdp(),
        lambda: ApproximateDP(1, 0.1, **ONE).to_gaussian(),
        lambda: ZeroConcentratedDP(1, **ONE).to_gaussian(),
    ):
        with pytest.raises(TypeError, match="no theorem does"):
            refused()
    with pytest.raises(ValueError, match="at least one promise"):
        compose()
    with pytest.raises(TypeError, match="compose takes promises"):
        compose(1.0)
    with pytest.raises(ValueError, match="delta must be above 0 and below 1"):
        compose(*[ApproximateDP(1, 0.5, **ONE)] * 2)


def test_every_relation_has_a_sentence():
    relations = ["replace-one", "add-remove", "zero-out", "labels", "user", "user-labels"]
    assert list(NEIGHBORS) == relations
    assert all(phrase in str(PureDP(1, neighbors=name)) for name, phrase in NEIGHBORS.items())


@pytest.mark.parametrize("name", NEIGHBORS)
def test_a_promise_about_the_number_of_rows_says_that_a_refusal_tells_it(name):
    said = str(PureDP(1, neighbors=name))
    assert ("a refusal is not covered." in said) is (name == "add-remove")


# ------------------------------------------------------------------ on one scale
def test_half_a_budget_twice_is_the_whole():
    epsilon, delta = half_budget([0.5, 4.0], 1e-3)
    assert_allclose(2 * epsilon, [0.5, 4.0])
    assert_allclose(delta * (1 + np.exp(epsilon)), 1e-3)  # the sum of fact-group
    with pytest.raises(ValueError, match="epsilon must be finite and above 0"):
        half_budget(0.0)


@pytest.mark.parametrize(
    ("promise", "rate"),
    [
        (PureDP(1.0, neighbors="user"), np.e / (1 + np.e)),
        (GaussianDP(0.8, neighbors="user"), norm.cdf(0.4)),
        (ApproximateDP(0.0, 0.3, neighbors="user"), 0.65),
        (PACPrivacy(0.7), 0.7),
    ],
)
def test_ceilings_on_guesses(promise, rate):
    assert_allclose(success_rate(promise), rate)
