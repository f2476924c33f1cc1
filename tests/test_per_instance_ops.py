"""One posterior sample, one person: exact profile, its inverse, its bounds, its Renyi curve.

The second routes are 60-digit arithmetic of the closed form, quadrature over one dimension and
simulation in four. Each simulation errs beyond its limit with probability below 1e-4; seeds fixed.
"""

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats

from pdpbook import noise
from pdpbook.per_instance import ops_bound, ops_epsilon, ops_profile, ops_renyi
from pdpbook.per_instance.ops import log_add

REFERENCE = [  # leverage, scaled residual, epsilon, add, remove
    (0.01, 0.3, 0.1, 1.2511786354e-4, 0),
    (0.01, 3, 0.5, 8.3440896170e-3, 6.2784498295e-3),
    (1e-4, 1, 0.02, 9.1231160150e-5, 8.0328805639e-5),
    (0.5, 2, 1, 2.0913842974e-1, 6.8439017658e-2),
    (3, 0.1, 2, 1.2638986773e-1, 0),
    (1e-6, 0.5, 1e-3, 4.3015932702e-6, 4.1935581194e-6),
    (0.2, 8, 5, 4.2207666561e-1, 3.0567826627e-1),
    (0.05, 0, 0.1, 1.0924932975e-3, 0),
    (20, 5, 10, 5.0133713077e-1, 0),
]


def sixty_digits(epsilon, leverage, residual):
    """The closed form in both directions; ndtr by erfc, 60 digits."""
    with mp.workdps(60):
        e, m, r = (mp.mpf(float(value)) for value in (epsilon, leverage, residual))

        def above(w, center, variance):
            return mp.erfc((w - center) / mp.sqrt(2 * variance)) / 2

        K = mp.log1p(m) + r**2 / (1 + m)
        laws = ((r, m), (r / (1 + m), m / (1 + m)))
        w = mp.sqrt(K + 2 * e)
        p, q = (above(w, *law) + above(w, -law[0], law[1]) for law in laws)
        add = p - mp.exp(e) * q
        w = mp.sqrt(K - 2 * e) if K > 2 * e else mp.mpf(0)
        p, q = (above(-w, -c, s) - above(w, -c, s) for c, s in laws)  # the sides swapped
        return float(add), float(q - mp.exp(e) * p)


def grid(seed, count):
    rng = np.random.default_rng(seed)
    leverage = 10 ** rng.uniform(-12, 2, count)
    residual = np.where(rng.random(count) < 0.2, 0, 10 ** rng.uniform(-6, 3, count))
    return leverage, residual, 10 ** rng.uniform(-12, -1, count)


# ---- the profile


@pytest.mark.parametrize(("leverage", "residual", "epsilon", "add", "remove"), REFERENCE)
def test_reference_values(leverage, residual, epsilon, add, remove):
    found = ops_profile(epsilon, leverage, residual)
    assert_allclose(found.add, add, rtol=1e-9)
    assert_allclose(found.remove, remove, rtol=1e-9)


def test_sixty_digits_wherever_delta_matters():
    leverage, residual, delta = grid(1, 300)
    epsilon = ops_epsilon(delta, leverage, residual)
    found = ops_profile(epsilon, leverage, residual)
    exact = np.array([sixty_digits(*z) for z in zip(epsilon, leverage, residual, strict=True)]).T
    for ours, true in zip(found, exact, strict=True):
        assert np.isfinite(ours).all()
        large = true > 1e-12
        assert large.sum() > 30
        assert_allclose(ours[large], true[large], rtol=1e-7)


@pytest.mark.parametrize("deviations", [12, 20, 30])
@pytest.mark.parametrize(("leverage", "residual"), [(1e-6, 0.5), (1e-8, 2.0), (1e-4, 1.0)])
def test_far_tails_keep_their_digits(leverage, residual, deviations):
    epsilon = deviations * residual * np.sqrt(leverage)
    found, exact = (
        ops_profile(epsilon, leverage, residual),
        sixty_digits(epsilon, leverage, residual),
    )
    assert 0 < exact[0] < 1e-30
    assert_allclose(found, exact, rtol=1e-7)


@given(st.floats(-8, 2), st.floats(0, 30))
def test_the_directions_agree_at_zero(log_leverage, residual):
    add, remove = ops_profile(0.0, 10**log_leverage, residual)
    assert_allclose(add, remove, rtol=1e-8, atol=1e-15)


@pytest.mark.parametrize(("leverage", "residual"), [(0.5, 2.0), (0.01, 3.0), (3.0, 0.1)])
def test_duality_through_negative_epsilon(leverage, residual):
    P = stats.norm(residual, np.sqrt(leverage))
    Q = stats.norm(residual / (1 + leverage), np.sqrt(leverage / (1 + leverage)))
    for epsilon in (0.05, 0.2, 0.5):
        square = np.log1p(leverage) + residual**2 / (1 + leverage) - 2 * epsilon
        w = np.sqrt(max(square, 0.0))
        outside = [law.sf(w) + law.cdf(-w) for law in (P, Q)]
        negative = outside[0] - np.exp(-epsilon) * outside[1]
        dual = 1 - np.exp(epsilon) + np.exp(epsilon) * negative
        assert_allclose(ops_profile(epsilon, leverage, residual).remove, dual, atol=1e-13)


def test_the_definition_in_four_dimensions():
    rng = np.random.default_rng(2)
    X, y, gamma, lam = rng.normal(size=(30, 4)), rng.normal(size=30), 2.0, 1.5
    x, label = 1.5 * rng.normal(size=4), 1.0
    H = X.T @ X + lam * np.eye(4)
    more = H + np.outer(x, x)
    theta, moved = np.linalg.solve(H, X.T @ y), np.linalg.solve(more, X.T @ y + x * label)
    P = stats.multivariate_normal(theta, np.linalg.inv(H) / gamma)
    Q = stats.multivariate_normal(moved, np.linalg.inv(more) / gamma)
    leverage = x @ np.linalg.solve(H, x)
    found = ops_profile(0.2, leverage, np.sqrt(gamma) * abs(label - x @ theta))
    for exact, first, second in ((found.add, P, Q), (found.remove, Q, P)):
        draws = first.rvs(100_000, random_state=rng)
        gain = np.maximum(0, -np.expm1(0.2 - first.logpdf(draws) + second.logpdf(draws)))
        assert abs(gain.mean() - exact) < 4 * gain.std() / np.sqrt(len(gain))


@given(st.floats(-6, 2), st.floats(0, 40), st.floats(0, 30))
def test_add_is_the_larger_direction(log_leverage, residual, epsilon):
    add, remove = ops_profile(epsilon, 10**log_leverage, residual)
    assert add >= remove * (1 - 1e-7) - 1e-15


@given(st.floats(-8, 0), st.floats(0, 1), st.floats(0, 20), st.floats(0, 3), st.floats(0, 5))
def test_monotone(log_leverage, fall, residual, more, epsilon):
    leverage = 10**log_leverage
    base = ops_profile(epsilon, leverage, residual)
    up = ops_profile(epsilon, leverage, residual + more)
    assert up.add >= base.add * (1 - 1e-8) - 1e-15
    assert up.remove >= base.remove * (1 - 1e-8) - 1e-15
    down = ops_profile(epsilon, leverage * fall, residual)
    assert down.add <= base.add * (1 + 1e-8) + 1e-15


def test_not_monotone_in_the_leverage_above_one():
    at_one, far = ops_profile(1.0, [1.0, 16.0], 8.0).add
    assert far < at_one


def test_small_leverage_is_gaussian_and_gamma_has_a_floor():
    exact = noise.gaussian_epsilon(1e-6, 0.3)
    ratio = [float(ops_epsilon(1e-6, mu, 0.3 / np.sqrt(mu)) / exact) for mu in (1e-2, 1e-5)]
    assert 1.05 < ratio[0] < 1.09
    assert abs(ratio[1] - 1) < 1e-4
    assert_allclose(ops_epsilon(1e-6, [1e-1, 1e-2, 1e-3], 0.0), [0.915, 0.0701, 0.00485], rtol=2e-3)


# ---- its inverse


def test_the_returned_epsilon_keeps_delta_and_is_tight():
    leverage, residual, delta = grid(3, 20_000)
    epsilon = ops_epsilon(delta, leverage, residual)
    assert (ops_profile(epsilon, leverage, residual).add <= delta).all()
    positive = epsilon > 0
    assert positive.sum() > 5_000
    smaller = ops_profile(epsilon * (1 - 1e-5), leverage, residual).add
    assert (smaller > delta)[positive].all()


def test_an_epsilon_takes_three_evaluations_of_the_profile(monkeypatch):
    evaluated = []

    def counted(epsilon, *numbers):
        evaluated.append(len(epsilon))
        return log_add(epsilon, *numbers)

    monkeypatch.setattr("pdpbook.per_instance.ops.log_add", counted)
    rng = np.random.default_rng(5)
    for size in (1e-6, 1e-3, 0.1):  # of leverages: about 1 over the number of records
        for scale in (0.3, 3.0):
            evaluated.clear()
            ops_epsilon(1e-6, size * rng.chisquare(5, 3000), scale * abs(rng.standard_normal(3000)))
            assert sum(evaluated) <= 3.5 * 3000


@pytest.mark.parametrize("leverage", [1e-300, 1e-12, 1.0, 1e8, 1e15])
@pytest.mark.parametrize("residual", [0.0, 1e-200, 1.0, 1e8, 1e60])
def test_extremes_are_finite_and_safe(leverage, residual):
    for delta in (1e-300, 1e-12, 0.999):
        epsilon = ops_epsilon(delta, leverage, residual)
        assert np.isfinite(epsilon)
        assert ops_profile(epsilon, leverage, residual).add <= delta


@pytest.mark.parametrize("residual", [1e9, 1e60])
def test_a_huge_loss_is_its_bound_and_little_more(residual):
    epsilon = ops_epsilon(1e-6, 1.0, residual)
    assert_allclose(epsilon, ops_bound(1e-6, 1.0, residual, "add"), rtol=1e-5)
    assert_allclose(epsilon, residual**2 / 4, rtol=1e-4)  # rho^2 mu / (1 + mu) / 2


def test_nobody_has_no_loss():
    assert ops_epsilon(1e-6, 0.0, 5.0) == 0
    assert ops_profile(0.0, 0.0, 5.0) == (0, 0)


# ---- bounds


def bound_misses(form, direction, constant=2.0):
    """How many points of a grid of 135,000 the bound does not cover."""
    leverage, residual = np.meshgrid(np.logspace(-6, 2, 150), np.linspace(0, 30, 150))
    misses = 0
    for delta in (0.3, 1e-2, 1e-3, 1e-6, 1e-9, 1e-12):
        bound = ops_bound(delta, leverage, residual, form, constant=constant)
        found = getattr(ops_profile(bound, leverage, residual), direction)
        misses += int((found > delta * (1 + 1e-9)).sum())
    return misses


@pytest.mark.parametrize(
    ("form", "direction", "constant", "ok"),
    [
        ("both", "add", 2.0, True),
        ("both", "remove", 2.0, True),
        ("add", "add", 2.0, True),
        ("add", "remove", 2.0, True),
        ("remove", "remove", 2.0, True),
        ("both", "add", 1.0, False),
        ("remove", "add", 2.0, False),
    ],
)
def test_bounds(form, direction, constant, ok):
    assert (bound_misses(form, direction, constant) == 0) is ok


def test_bounds_by_hand():
    # delta = 2 / e and c = 2: the tail is 2. leverage 1, residual 2: ln(1 + mu) is ln 2
    delta, log = 2 / np.e, np.log(2)
    add = (4 / 2 - log + 2) / 2 + 2 * np.sqrt(2)  # rho^2 mu / (1 + mu) = 2
    remove = (log + 1 + 1) / 2 + 1  # rest = rho / (1 + mu) = 1, inside = 1/2
    assert_allclose(ops_bound(delta, 1.0, 2.0, "add"), add, rtol=1e-14)
    assert_allclose(ops_bound(delta, 1.0, 2.0, "remove"), remove, rtol=1e-14)
    assert_allclose(ops_bound(delta, 1.0, 2.0), add, rtol=1e-14)  # "both", center above 0
    # no residual: the center is -ln 2, and "both" takes its absolute value
    assert_allclose(ops_bound(delta, 1.0, 0.0), (log + 2) / 2, rtol=1e-14)
    assert_allclose(ops_bound(delta, 1.0, 0.0, "add"), (2 - log) / 2, rtol=1e-14)


# ---- Renyi


@pytest.mark.parametrize(("leverage", "residual"), [(0.1, 1.0), (0.01, 3.0), (2.0, 0.5)])
def test_renyi_against_quadrature(leverage, residual):
    P = stats.norm(residual, np.sqrt(leverage))
    Q = stats.norm(residual / (1 + leverage), np.sqrt(leverage / (1 + leverage)))
    for alpha in (1.2, 1.4):
        found = ops_renyi(alpha, leverage, residual)
        for ours, first, second in ((found.add, P, Q), (found.remove, Q, P)):
            total, _ = integrate.quad(
                lambda v, f=first, g=second, a=alpha: np.exp(
                    a * f.logpdf(v) + (1 - a) * g.logpdf(v)
                ),
                -40,
                40,
                points=[0, residual],
                limit=400,
            )
            assert_allclose(ours, np.log(total) / (alpha - 1), rtol=1e-7)


def test_renyi_ends_where_the_order_is_too_high():
    add, remove = ops_renyi([10.9, 11.0, 12.0], 0.1, 1.0)
    assert np.isfinite(add[0])
    assert np.isinf(add[1:]).all()
    assert np.isfinite(remove).all()


# ---- bad input


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: ops_profile(-1, 0.1, 1), "epsilon must be finite and at least 0"),
        (lambda: ops_profile(1, np.nan, 1), "leverage must be finite"),
        (lambda: ops_profile(1, 0.1, [1, np.inf]), "scaled_residual must be finite"),
        (lambda: ops_profile([1, 2], [1, 2, 3], 1), "epsilon, leverage and scaled_residual must"),
        (lambda: ops_epsilon(0, 0.1, 1), "delta must be above 0 and below 1"),
        (lambda: ops_epsilon(1, 0.1, 1), "delta must be above 0 and below 1"),
        (lambda: ops_bound(0.1, 0.1, 1, "neither"), "form must be one of"),
        (lambda: ops_renyi(1, 0.1, 1), "alpha must be above 1"),
    ],
)
def test_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("wrong", ["1", None, True])
def test_no_numbers(wrong):
    with pytest.raises(TypeError, match="delta"):
        ops_epsilon(wrong, 0.1, 1.0)


def test_the_profile_keeps_ten_digits_where_its_two_terms_nearly_cancel():
    rng = np.random.default_rng(11)
    leverage, residual = 10 ** rng.uniform(-8, 0, 60), 10 ** rng.uniform(-3, 1, 60)
    epsilon = ops_epsilon(1e-6, leverage, residual)
    exact = np.array(
        [sixty_digits(*one)[0] for one in zip(epsilon, leverage, residual, strict=True)]
    )
    # 2e-16 over CANCELLED is 2e-12, times a few operations
    assert_allclose(ops_profile(epsilon, leverage, residual).add, exact, rtol=2e-11, atol=0)
