"""Private quantiles of users' rows: exact laws, exact losses, accuracy, planted bugs, bad input.

The second routes are the definition on a fine grid, a direct simulation of the noisy search, and
Kolmogorov's law. Seeds are fixed; a correct simulation fails with probability below 1e-5.
"""

import itertools
from pathlib import Path

import nbformat
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, stats

from lab.chapters import bisection_law, quantile_by_bisection, quantile_error_bound
from pdpbook.datasets import sample_zipf_users
from pdpbook.user_level import (
    GridLaw,
    QuantileLaw,
    private_quantile,
    quantile_law,
    quantile_rate,
    quantile_tradeoff,
    tradeoff_weights,
    weighted_dkw,
)

UNIT = (0.0, 1.0)
SEED = 20240611


def zipf(n=60, alpha=1.5, seed=1):
    rng = np.random.default_rng(seed)
    return sample_zipf_users(n, alpha, rng=rng), rng.random(n)


def budgets(users, seed=2):
    m = users.max() + 1
    return np.random.default_rng(seed).choice([0.2, 1.0, 3.0], m)


# ---- the law of the exponential mechanism


def test_three_values_by_hand():
    law = quantile_law([1.0, 2.0, 3.0], 0.5, epsilon=6.0, bounds=(0.0, 4.0))
    far, near = np.exp(-9 / 2), np.exp(-9 / 6)  # rate 6 / (2/3) = 9; scores 1/2 and 1/6
    assert_allclose(law.edges, [0, 1, 2, 3, 4])
    assert_allclose(law.masses, np.array([far, near, near, far]) / (2 * (far + near)))
    assert_allclose(law.cdf([0.0, 2.0, 4.0]), [0, 0.5, 1])
    assert law.logpdf(-1e-9) == -np.inf == law.logpdf(4.1)
    assert law.logpdf(4.0) == law.logpdf(3.5)


@pytest.mark.parametrize("level", [0.1, 0.5, 0.93])
def test_law_is_the_definition(level):
    users, y = zipf()
    eps, c = budgets(users), np.random.default_rng(3).random(60)
    law = quantile_law(y, level, users=users, epsilon=eps[users], bounds=UNIT, weights=c)
    c = c / c.sum()
    w = [c[users == u].sum() for u in np.unique(users)]
    r = max((min(v, level) + min(v, 1 - level)) / e for v, e in zip(w, eps, strict=True))

    def density(z):
        return np.exp(-abs(c[y <= z].sum() - level) / r)

    points = np.sort(y)
    cuts = np.r_[0, points, 1]
    total = sum(density((a + b) / 2) * (b - a) for a, b in itertools.pairwise(cuts))
    z = np.random.default_rng(4).random(200)
    assert_allclose(law.logpdf(z), [np.log(density(v) / total) for v in z], atol=1e-12)
    assert_allclose(law.masses.sum(), 1, rtol=1e-12)


def test_numbers_of_a_law_agree_with_quadrature():
    users, y = zipf(12)
    law = quantile_law(y, 0.4, users=users, epsilon=3.0, bounds=UNIT)

    def area(f, a, b):
        inner = law.edges[(law.edges > a) & (law.edges < b)]
        return integrate.quad(lambda z: f(z) * np.exp(law.logpdf(z)), a, b, points=inner)[0]

    assert_allclose(law.probability(0.2, 0.7), area(lambda z: 1, 0.2, 0.7), rtol=1e-8)
    assert_allclose(law.cdf(0.7) - law.cdf(0.2), law.probability(0.2, 0.7), rtol=1e-10)
    assert_allclose(law.expected_error(0.3), area(lambda z: abs(z - 0.3), 0, 1), rtol=1e-6)
    assert law.probability(-5.0, 5.0) == pytest.approx(1)
    assert law.probability(0.7, 0.2) == 0


def test_tiny_probabilities_keep_their_digits():
    y = np.linspace(0.4, 0.6, 2001)
    law = quantile_law(y, 0.5, epsilon=1.0, bounds=UNIT)
    tail = law.probability(0.0, 0.4)
    assert 0 < tail < 1e-200
    assert_allclose(np.log(tail), law.logpdf(0.1) + np.log(0.4))


def test_samples_follow_the_law():
    users, y = zipf()
    law = quantile_law(y, 0.5, users=users, epsilon=2.0, bounds=UNIT)
    draws = law.sample(20_000, rng=np.random.default_rng(SEED))
    assert stats.kstest(draws, law.cdf).pvalue > 1e-5
    one = private_quantile(
        y, 0.5, users=users, epsilon=2.0, bounds=UNIT, rng=np.random.default_rng(5)
    )
    assert one == law.sample(rng=np.random.default_rng(5))
    assert isinstance(one, float)


def test_units_order_and_names_of_users_do_not_matter():
    users, y = zipf()
    law = quantile_law(y, 0.3, users=users, epsilon=1.0, bounds=UNIT)
    swap = np.random.default_rng(6).permutation(60)
    other = quantile_law(
        5 * y[swap] - 2, 0.3, users=[f"u{99 - k}" for k in users[swap]], epsilon=1.0, bounds=(-2, 3)
    )
    assert_allclose(other.masses, law.masses, rtol=1e-9)
    assert_allclose(other.edges, 5 * law.edges - 2, atol=1e-12)


def test_default_weights_are_the_tradeoff_ones():
    users, y = zipf()
    eps = budgets(users)
    best = tradeoff_weights(np.bincount(users), quantile_tradeoff(), eps)
    given_ = quantile_law(
        y,
        0.5,
        users=users,
        epsilon=dict(enumerate(eps)),
        bounds=UNIT,
        weights=best.row_weights[users],
    )
    default = quantile_law(y, 0.5, users=users, epsilon=eps[users], bounds=UNIT)
    assert_allclose(default.log_density, given_.log_density)


# ---- privacy, by exact densities


def losses(law, users, y, eps, rng, level=0.5):
    """Largest loss over eps of each user, over replacements of all of their rows."""
    here, worst = law(y), np.zeros(len(eps))
    for user in range(len(eps)):
        rows = users == user
        for value in (0.0, 1.0, np.quantile(y, level), None):
            other = y.copy()
            other[rows] = rng.random(rows.sum()) if value is None else value
            worst[user] = max(worst[user], here.largest_loss(law(other)) / eps[user])
    return worst


@settings(max_examples=30)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.5, 0.8]), st.booleans())
def test_nobody_loses_more_than_their_budget(seed, level, search):
    users, y = zipf(25, seed=seed)
    eps = budgets(users, seed)
    make = bisection_law if search else quantile_law

    def law(values):
        return make(values, level, users=users, epsilon=eps[users], bounds=UNIT)

    assert losses(law, users, y, eps, np.random.default_rng(seed), level).max() <= 1 + 1e-9


def crowd(z0, m=5):
    """Everybody at z0, the first user once at 0 and once at 1."""
    users = np.repeat(np.arange(m), 2)
    low, high = np.full(2 * m, z0), np.full(2 * m, z0)
    low[:2], high[:2] = 0, 1
    return users, low, high


@pytest.mark.parametrize("level", [0.25, 0.5, 0.7])
@pytest.mark.parametrize("eps", [0.1, 1.0, 4.0])
def test_factor_two_is_needed(level, eps):
    users, low, high = crowd(1e-9)
    laws = [quantile_law(y, level, users=users, epsilon=eps, bounds=UNIT) for y in (low, high)]
    assert eps * (1 - 1e-6) <= laws[0].largest_loss(laws[1]) <= eps


@pytest.mark.parametrize(("level", "heavy"), [(0.1, 0.2), (0.1, 0.6), (0.9, 0.3), (0.4, 0.8)])
def test_rate_is_sharp_for_heavy_users_at_far_levels(level, heavy):
    """Rows that weigh min(w, p) leave one side of the crowd, rows of min(w, 1 - p) the other."""
    z0, near, far = 1e-9, *sorted([min(heavy, level), min(heavy, 1 - level)])
    c = [near, far - near, heavy - far, 1 - heavy]
    y, other, users = np.array([0, z0, z0, z0]), np.array([1, 1, z0, z0]), [0, 0, 0, 1]
    if level > 0.5:
        y, other = 1 - y, 1 - other
    eps = [1.0, 1.0, 1.0, 50.0]  # the other user does not bind
    both = [
        quantile_law(v, level, users=users, epsilon=eps, bounds=UNIT, weights=c) for v in (y, other)
    ]
    assert 0.9999 <= both[0].largest_loss(both[1]) <= 1 + 1e-9


@settings(max_examples=60)
@given(st.integers(0, 10_000), st.sampled_from([0.05, 0.3, 0.5, 0.9]), st.booleans())
def test_range_of_the_score_is_bounded(seed, level, ties):
    """The proof's bound on what one user with many rows can do, with and without ties."""
    rng = np.random.default_rng(seed)
    k, n = rng.integers(1, 6, 2)
    c = rng.dirichlet(np.full(k + n, 0.5))
    grid = np.arange(6.0)
    own, new, rest = (rng.integers(0, 6, size).astype(float) for size in (k, k, n))
    w = c[:k].sum()

    def score(values):
        y = np.r_[values, rest]
        upto = np.array([c[y <= g].sum() for g in grid])
        before = np.array([c[y < g].sum() for g in grid])
        if not ties:
            return np.abs(upto - level)
        return np.maximum(0, np.maximum(level - upto, before - level))

    assert np.ptp(score(new) - score(own)) <= min(w, level) + min(w, 1 - level) + 1e-12


def test_rate_by_hand_and_its_errors():
    assert quantile_rate([0.5, 0.5], 0.5, [1.0, 3.0]) == 1.0
    assert_allclose(quantile_rate([0.2] * 5, 0.1, 1.0), 1 / 0.3)
    assert_allclose(quantile_rate([0.2] * 5, 0.5, 1.0), 1 / 0.4)
    with pytest.raises(ValueError, match="epsilon must be a number or have shape"):
        quantile_rate([0.5, 0.5], 0.5, [1.0])


def test_search_nearly_spends_its_budget():
    y = np.r_[np.zeros(20), np.zeros(2)]
    users = np.r_[np.repeat(np.arange(10), 2), 10, 10]
    other = y.copy()
    other[-2:] = 1
    laws = [
        bisection_law(v, 0.2, users=users, epsilon=1.0, bounds=UNIT, steps=6) for v in (y, other)
    ]
    assert 0.99 <= laws[0].largest_loss(laws[1]) <= 1 + 1e-12


def planted(plant, y, users, eps=1.0):
    """quantile_law with one bug: each still calls it, with a wrong budget or wrong weights."""
    sizes = np.bincount(users)
    c = np.ones(len(y)) / len(y)
    w = np.bincount(users, c)
    if plant == "record":  # the weight of a row taken for that of a user
        eps = eps * w.max() / c.max()
    if plant == "average":
        eps = eps * w.max() / w.mean()
    if plant == "data":  # users with spread-out rows count more
        spread = np.array([np.ptp(y[users == u]) for u in range(len(sizes))])
        c = (0.01 + spread[users]) / sizes[users]
    if plant == "single exponent":
        eps = 2 * eps
    return quantile_law(y, 0.5, users=users, epsilon=eps, bounds=UNIT, weights=c)


@pytest.mark.parametrize(
    ("plant", "caught"),
    [
        ("none", False),
        ("record", True),
        ("average", True),
        ("single exponent", True),
    ],
)
def test_planted_mechanisms_are_caught(plant, caught):
    users = np.repeat(np.arange(6), [4, 4, 4, 4, 4, 9])
    y = np.full(len(users), 1e-6)
    y[users == 5] = 0
    loss = losses(
        lambda v: planted(plant, v, users), users, y, np.ones(6), np.random.default_rng(7)
    )
    assert bool(loss.max() > 1.05) is caught


@pytest.mark.parametrize(("plant", "caught"), [("none", False), ("data", True)])
def test_weights_from_the_data_are_caught(plant, caught):
    users = np.repeat(np.arange(20), 3)
    y = (users + 0.5) / 20
    rng = np.random.default_rng(7)
    loss = losses(lambda v: planted(plant, v, users), users, y, np.ones(20), rng)
    assert bool(loss.max() > 1.05) is caught


def test_grid_loss_by_exhaustion():
    """All data of four users of weight 1/4 on five points; the loss stays below epsilon."""
    eps, grid = 2.0, np.arange(5.0)
    worst = 0.0
    for others in itertools.combinations_with_replacement(grid, 3):
        laws = [
            quantile_law([*others, z], 0.5, epsilon=eps, bounds=(0, 4), grid=grid) for z in grid
        ]
        worst = max(worst, *(a.largest_loss(b) for a, b in itertools.combinations(laws, 2)))
    assert 0.6 * eps < worst < eps


def test_ties_do_not_hide_the_median():
    """F jumps over the level at 1: the score must see both ends of the jump."""
    y = np.r_[np.zeros(300), np.ones(700)]
    law = quantile_law(y, 0.5, epsilon=1.0, bounds=UNIT, grid=[0.0, 1.0])
    assert isinstance(law, GridLaw)
    assert law.probability(1, 1) > 1 - 1e-12
    assert law.expected_error(1.0) < 1e-12
    y = np.r_[np.zeros(300), np.ones(300), np.full(400, 2.0)]
    law = quantile_law(y, 0.5, epsilon=1.0, bounds=(0, 3), grid=[0, 0.5, 1, 2, 3])
    assert law.probability(1, 1) > 1 - 1e-12
    assert law.sample(rng=np.random.default_rng(0)) == 1
    assert set(law.sample(5, rng=np.random.default_rng(0))) == {1.0}


# ---- noisy binary search


def searched(y, c, level, steps, scale, rng):
    low, high = 0.0, 1.0
    for _ in range(steps):
        z = (low + high) / 2
        if c[y <= z].sum() + rng.laplace(0, scale) >= level:
            high = z
        else:
            low = z
    return low


def test_search_law_is_the_algorithm():
    users, y = zipf(30)
    c = tradeoff_weights(np.bincount(users), quantile_tradeoff()).row_weights[users]
    law = bisection_law(y, 0.4, users=users, epsilon=1.0, bounds=UNIT, weights=c, steps=3)
    rng = np.random.default_rng(SEED)
    t = np.bincount(users, c).max()
    ends = [searched(y, c, 0.4, 3, 3 * t, rng) for _ in range(8000)]
    counts = np.bincount(np.round(np.array(ends) * 8).astype(int), minlength=8)
    assert stats.chisquare(counts, law.masses * 8000).pvalue > 1e-5


def test_search_is_exact_without_noise_and_draws_from_its_law():
    y = np.random.default_rng(8).random(501)
    law = bisection_law(y, 0.5, epsilon=1e9, bounds=UNIT, steps=12)
    assert law.expected_error(np.median(y)) < 2**-11
    one = quantile_by_bisection(y, 0.5, epsilon=1.0, bounds=UNIT, rng=np.random.default_rng(9))
    same = bisection_law(y, 0.5, epsilon=1.0, bounds=UNIT)
    assert one == same.sample(rng=np.random.default_rng(9))


def test_the_search_of_the_page_is_the_same():
    path = Path(__file__).resolve().parent.parent / "book/user_level/quantiles.ipynb"
    [cell] = [c for c in nbformat.read(path, as_version=4).cells if c.id == "search-law"]
    page = {"np": np, "QuantileLaw": QuantileLaw}
    exec(cell.source.partition("\n\n\n")[0], page)
    users, y = zipf(60)
    c, eps = np.random.default_rng(3).dirichlet(np.ones(60)), 0.5 + np.arange(users.max() + 1)
    for steps in (1, 7):
        given = {"users": users, "epsilon": eps[users], "bounds": UNIT, "weights": c}
        law = bisection_law(y, 0.3, **given, steps=steps)
        assert_allclose(page["search_law"](y, 0.3, users, eps, c, steps).masses, law.masses)


def test_exponential_mechanism_beats_search():
    users, y = zipf(600, 2.0)
    for eps in (0.3, 1.0, 3.0):
        one = quantile_law(y, 0.5, users=users, epsilon=eps, bounds=UNIT)
        two = bisection_law(y, 0.5, users=users, epsilon=eps, bounds=UNIT)
        assert one.expected_error(0.5) < two.expected_error(0.5)


# ---- accuracy


def supremum(c, u):
    order = np.argsort(u, axis=1)
    c, u = c[order], np.take_along_axis(u, order, axis=1)
    upto = np.cumsum(c, axis=1)
    return np.maximum(np.abs(upto - u), np.abs(upto - c - u)).max(axis=1)


@pytest.mark.parametrize("gamma", [0.5, 0.1, 1e-3, 1e-9])
@pytest.mark.parametrize("n", [1, 2, 10, 1000])
def test_dkw_bound_holds_by_kolmogorovs_law(n, gamma):
    assert stats.kstwo(n).sf(weighted_dkw(np.ones(n), gamma)) <= gamma


@pytest.mark.parametrize("alpha", [1.2, 2.0])
def test_dkw_bound_holds_for_uneven_weights(alpha):
    users, _ = zipf(200, alpha)
    c = tradeoff_weights(np.bincount(users), quantile_tradeoff()).row_weights[users]
    draws = supremum(c, np.random.default_rng(SEED).random((2000, 200)))
    assert draws.mean() < 2 * np.linalg.norm(c)  # the bound of the mean
    assert (draws > weighted_dkw(c, 0.05)).mean() <= 0.05
    assert np.quantile(draws, 0.95) > 0.35 * weighted_dkw(c, 0.05)  # and not absurdly loose


def test_error_bound_holds_by_exact_probabilities():
    gamma, fails = 0.1, []
    for seed in range(200):
        users, y = zipf(200, 2.0, seed)
        c = tradeoff_weights(np.bincount(users), quantile_tradeoff()).row_weights[users]
        law = quantile_law(y, 0.5, users=users, epsilon=2.0, bounds=UNIT, weights=c)
        upto = np.cumsum(np.r_[0, c[np.argsort(y)]])
        good = np.abs(upto - 0.5) <= 0.05
        share = float(np.diff(law.edges)[good].sum())
        bound = quantile_error_bound(
            c, 0.5, users=users, epsilon=2.0, share=share, gamma=gamma, slack=0.05
        )
        fails.append(1 - law.probability(0.5 - bound, 0.5 + bound))
        empirical = bound - weighted_dkw(c, gamma)
        assert law.masses[np.abs(upto - 0.5) > empirical].sum() <= gamma
    assert np.mean(fails) <= 2 * gamma


def test_error_bound_by_hand():
    c, users = np.array([1.0, 1.0, 2.0]), [0, 0, 1]
    bound = quantile_error_bound(
        c, 0.5, users=users, epsilon={0: 1.0, 1: 0.5}, share=0.5, gamma=0.2, slack=0.3
    )
    norm = np.sqrt(0.25**2 * 2 + 0.5**2)
    assert_allclose(bound, 0.3 + 2 * np.log(10) + norm * (2 + np.sqrt(np.log(5) / 2)))


def test_tradeoff_bounds_the_square_of_the_error():
    for seed in range(20):
        users, _ = zipf(80, 1.5, seed)
        eps, c = budgets(users, seed), np.random.default_rng(seed).random(80)
        c /= c.sum()
        t = (np.bincount(users, c) / eps).max()
        cost = t**2 + quantile_tradeoff(0.01, 0.1) * (c**2).sum()
        bound = quantile_error_bound(c, 0.9, users=users, epsilon=eps[users], share=0.01, gamma=0.1)
        assert bound**2 <= 8 * np.log(1000) ** 2 * cost * (1 + 1e-12)


# ---- bad input

GOOD = {"y": [0.1, 0.2, 0.3], "level": 0.5, "epsilon": 1.0, "bounds": UNIT}


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"y": []}, (ValueError, TypeError), "y must"),
        ({"y": [[0.1]]}, ValueError, "y must have shape"),
        ({"y": [0.1, np.nan, 0.3]}, ValueError, r"y must be finite; got y\[1\]"),
        ({"y": [0.1, 0.2, 1.3]}, ValueError, r"y must lie in \[0, 1\]; got y\[2\] = 1.3"),
        ({"y": ["a"]}, TypeError, "y must be a number"),
        ({"level": 0.0}, ValueError, "level must be above 0"),
        ({"level": [0.1, 0.5]}, ValueError, "level must be a single number"),
        ({"level": np.nan}, ValueError, "level must be above 0"),
        ({"epsilon": 0.0}, ValueError, "epsilon must be finite and above 0"),
        ({"epsilon": True}, TypeError, "epsilon must be a number"),
        ({"epsilon": {0: 1.0, 1: 1.0}}, TypeError, "epsilon must be a number or one value for"),
        ({"epsilon": [1.0, 1.0]}, ValueError, "epsilon must be a number, a mapping"),
        ({"bounds": (1.0, 0.0)}, ValueError, "bounds must have low < high"),
        ({"bounds": (0.0, 0.0)}, ValueError, "bounds must have low < high"),
        ({"users": [1, 2]}, ValueError, "users must have shape"),
        ({"users": [1, 2, None]}, ValueError, "users must have no missing label"),
        ({"weights": [1.0, -1.0, 1.0]}, ValueError, "weights must be finite and at least 0"),
        ({"weights": [0.0, 0.0, 0.0]}, ValueError, "weights must not all be 0"),
        ({"weights": [1.0]}, ValueError, "weights must have shape"),
        ({"grid": [0.1, 0.3, 0.2]}, ValueError, r"grid must increase; got grid\[1\] = 0.3, then"),
        ({"grid": [0.3, 2.0]}, ValueError, r"grid must lie in \[0, 1\]"),
        ({"grid": 0.5}, ValueError, "grid must have shape"),
    ],
)
def test_bad_input_is_named(change, kind, message):
    with pytest.raises(kind, match=message):
        quantile_law(**{**GOOD, **change})


def test_randomness_steps_and_laws_are_checked():
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
        private_quantile(**GOOD, rng=0)
    with pytest.raises(TypeError, match=r"rng must be a numpy\.random\.Generator"):
        quantile_by_bisection(**GOOD, rng=0)
    with pytest.raises(ValueError, match="steps must be at least 1"):
        bisection_law(**GOOD, steps=0)
    with pytest.raises(ValueError, match="steps must be at most 16"):
        bisection_law(**GOOD, steps=17)
    with pytest.raises(ValueError, match="edges must increase"):
        QuantileLaw([0, 0, 1], [0, 0])
    with pytest.raises(ValueError, match="edges must have shape"):
        QuantileLaw([0, 1], [0, 0])
    with pytest.raises(ValueError, match="log_probability must have shape"):
        GridLaw([0, 1], [0])
    with pytest.raises(ValueError, match="same bounds"):
        QuantileLaw([0, 1], [0.0]).largest_loss(QuantileLaw([0, 2], [0.0]))
    with pytest.raises(ValueError, match="same points"):
        GridLaw([0, 1], [0, 0]).largest_loss(GridLaw([0, 2], [0, 0]))


@pytest.mark.parametrize("share", [0.0, 1.5, np.nan])
def test_share_is_a_share(share):
    with pytest.raises(ValueError, match="share must"):
        quantile_error_bound([1.0], 0.5, epsilon=1.0, share=share, gamma=0.1)
    with pytest.raises(ValueError, match="share must"):
        quantile_tradeoff(share)


@pytest.mark.parametrize("gamma", [0.0, 1.0, np.nan])
def test_gamma_is_a_probability(gamma):
    with pytest.raises(ValueError, match="gamma must"):
        weighted_dkw([1.0], gamma)


def test_clipping_is_on_request_and_users_without_weight_are_fine():
    law = quantile_law([-5.0, 0.2, 9.0], 0.5, epsilon=1.0, bounds=UNIT, clip=True)
    assert_allclose(law.edges, [0, 0.2, 1])
    kept = quantile_law([0.1, 0.9], 0.5, epsilon=1.0, bounds=UNIT, weights=[1.0, 0.0])
    ignored = quantile_law([0.1, 0.5], 0.5, epsilon=1.0, bounds=UNIT, weights=[1.0, 0.0])
    assert kept.largest_loss(ignored) < 1e-12


def test_laws_are_frozen():
    law = QuantileLaw([0, 1], [0.0])
    with pytest.raises(ValueError, match="read-only"):
        law.edges[0] = 3
