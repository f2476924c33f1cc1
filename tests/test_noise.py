"""Noise: the samplers have the law they claim, and the profiles are exact.

Samplers are tested as a release is: radius and direction from the drawn vectors alone, accepted at
the claimed rate, rejected 30 percent off, and planted bugs go through the same helper. Each
statistical test rejects a correct sampler with probability at most 1e-6; seeds are fixed.
"""

from functools import cache

import mpmath as mp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import integrate, optimize, special, stats

from pdpbook import noise

SEED, DRAWS = 20, 10_000
ALARM = 1e-6 / 3  # three statistical properties a sampler: together at most 1e-6
DIMENSIONS = [1, 2, 5, 30]


# ---- the sampler: one helper for the real thing and for the plants


@cache
def faults(sampler, d, eta=0.5, claim=1.0):
    """Which properties of the l2-Laplace law with rate `claim * eta` the drawn vectors lack."""
    z = sampler(d, eta, DRAWS, rng=np.random.default_rng(SEED))
    radius = np.linalg.norm(z, axis=1)
    direction = z / radius[:, None]
    law = stats.gamma(d, scale=1 / (claim * eta))
    found = {"radius"} if stats.kstest(radius, law.cdf).pvalue < ALARM else set()
    if not is_uniform(direction):
        found.add("direction")
    elif not is_independent(radius, direction):
        found.add("dependence")
    if len(np.unique(np.abs(z[:, 0]))) < DRAWS:
        found.add("repeats")
    return found


def is_uniform(direction):
    """Projections of a uniform direction: (1 + u)/2 is Beta((d-1)/2, (d-1)/2) along any axis."""
    d = direction.shape[1]
    axes = [np.eye(d)[0], np.eye(d)[-1], np.ones(d) / np.sqrt(d)]
    level = ALARM / (len(axes) + 1)
    if d == 1:
        return bool(stats.binomtest(int((direction > 0).sum()), len(direction)).pvalue > ALARM)
    law = stats.beta((d - 1) / 2, (d - 1) / 2)
    along = [stats.kstest((1 + direction @ axis) / 2, law.cdf).pvalue for axis in axes]
    # Fourth moments see corners that no single axis need see: E sum u_k^4 = 3 / (d + 2).
    fourth = (direction**4).sum(axis=1)
    error = abs(fourth.mean() - 3 / (d + 2)) / max(fourth.std() / np.sqrt(len(fourth)), 1e-300)
    return min(*along, 2 * stats.norm.sf(error)) > level


def is_independent(radius, direction):
    """Rank correlation of the radius with coordinates, their squares, and with the next draw."""
    pairs = [(radius[:-1], radius[1:])]
    for u in (direction[:, 0], direction[:, -1]):
        pairs += [(radius, u), (u[:-1], u[1:])]
        if direction.shape[1] > 1:
            pairs.append((radius, u**2))
    if direction.shape[1] > 1:
        pairs.append((radius, (direction**4).sum(axis=1)))
    return min(stats.spearmanr(a, b).pvalue for a, b in pairs) > ALARM / len(pairs)


def scale_for_rate(d, eta, size, *, rng):
    return noise.sample_l2_laplace(d, 1 / eta, size, rng=rng)


def coordinatewise_laplace(d, eta, size, *, rng):
    return rng.laplace(scale=1 / eta, size=(size, d))


def cube_direction(d, eta, size, *, rng):
    corner = rng.uniform(-1, 1, (size, d))
    corner /= np.linalg.norm(corner, axis=1, keepdims=True)
    return rng.gamma(d, 1 / eta, (size, 1)) * corner


def shape_off_by_one(d, eta, size, *, rng):
    z = noise.sample_l2_laplace(d, eta, size, rng=rng)
    radius = np.linalg.norm(z, axis=1, keepdims=True)
    return z / radius * rng.gamma(d - 1 if d > 1 else 2, 1 / eta, (size, 1))


def gaussian_of_the_same_energy(d, eta, size, *, rng):
    return rng.normal(size=(size, d)) * np.sqrt(d + 1) / eta


def radius_from_direction(d, eta, size, *, rng):
    """Right marginals: the radii are sorted along with the first coordinate."""
    z = noise.sample_l2_laplace(d, eta, size, rng=rng)
    radius = np.linalg.norm(z, axis=1)
    unit = z / radius[:, None]
    rank = np.argsort(np.argsort(unit[:, 0]))
    return unit * np.sort(radius)[rank][:, None]


def every_draw_twice(d, eta, size, *, rng):
    half = noise.sample_l2_laplace(d, eta, size // 2, rng=rng)
    return rng.permutation(np.concatenate([half, half]))


def every_draw_mirrored(d, eta, size, *, rng):
    half = noise.sample_l2_laplace(d, eta, size // 2, rng=rng)
    return rng.permutation(np.concatenate([half, -half]))


def one_sided(d, eta, size, *, rng):
    return np.abs(noise.sample_l2_laplace(d, eta, size, rng=rng))


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("eta", [0.03, 0.5, 40.0])
def test_sampler_has_no_faults(d, eta):
    assert faults(noise.sample_l2_laplace, d, eta) == set()


@pytest.mark.parametrize("d", DIMENSIONS)
@pytest.mark.parametrize("claim", [0.7, 1.3])
def test_sampler_is_refused_at_another_rate(d, claim):
    assert faults(noise.sample_l2_laplace, d, claim=claim) == {"radius"}


@pytest.mark.parametrize("d", [2, 5, 30])
@pytest.mark.parametrize(
    ("bug", "fault"),
    [
        (scale_for_rate, "radius"),
        (shape_off_by_one, "radius"),
        (coordinatewise_laplace, "radius"),
        (coordinatewise_laplace, "direction"),
        (gaussian_of_the_same_energy, "radius"),
        (cube_direction, "direction"),
        (one_sided, "direction"),
        (radius_from_direction, "dependence"),
        (every_draw_twice, "repeats"),
        (every_draw_mirrored, "repeats"),
    ],
)
def test_planted_samplers_are_caught(bug, fault, d):
    assert fault in faults(bug, d)


@pytest.mark.parametrize("bug", [scale_for_rate, shape_off_by_one, every_draw_twice, one_sided])
def test_planted_samplers_are_caught_on_the_line(bug):
    assert faults(bug, 1)


def test_a_mixture_of_gaussians_is_the_same_law():
    """Second route: sqrt(W) G with W ~ Gamma((d+1)/2, rate eta^2/2) has no radius to draw."""

    def mixture(d, eta, size, *, rng):
        spread = rng.gamma((d + 1) / 2, 2 / eta**2, (size, 1))
        return np.sqrt(spread) * rng.normal(size=(size, d))

    for d in DIMENSIONS:
        assert faults(mixture, d) == set()


def test_sampler_shapes_and_reproducibility():
    for size, shape in [(None, (3,)), (7, (7, 3)), ((2, 4), (2, 4, 3)), (0, (0, 3)), ((), (3,))]:
        z = noise.sample_l2_laplace(3, 1.0, size, rng=np.random.default_rng(1))
        assert z.shape == shape
        assert z.dtype == np.float64
    rng = np.random.default_rng(1)
    first, second = (noise.sample_l2_laplace(3, 1.0, rng=rng) for _ in range(2))
    again = noise.sample_l2_laplace(3, 1.0, rng=np.random.default_rng(1))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, second)


def test_noise_of_length_zero_is_drawn_again():
    class ZeroFirst(np.random.Generator):
        calls = 0

        def standard_normal(self, size):
            self.calls += 1
            z = super().standard_normal(size)
            return 0 * z if self.calls == 1 else z

    z = noise.sample_l2_laplace(2, 1.0, 5, rng=ZeroFirst(np.random.PCG64(1)))
    plain = np.random.default_rng(1)
    plain.standard_normal((5, 2))  # the draw that was thrown away
    direction, radius = plain.standard_normal((5, 2)), plain.gamma(2, 1.0, (5, 1))
    unit = direction / np.linalg.norm(direction, axis=1, keepdims=True)
    assert_allclose(z, radius * unit, rtol=1e-14)


def test_radius_law():
    radius = noise.l2_laplace_radius(30, 2.0)
    assert_allclose([radius.mean(), radius.var()], [15, 7.5], rtol=1e-12)
    assert_allclose(radius.cdf(radius.ppf(0.99)), special.gammainc(30, 2 * radius.ppf(0.99)))
    assert_allclose(2 * radius.ppf(0.99), 44.19, atol=0.005)  # theory, section 2


# ---- the density


def test_density_on_the_line_is_laplace():
    points = np.linspace(-4, 4, 9)
    law = noise.L2Laplace([0.5], eta=2.0)
    assert_allclose(law.logpdf(points[:, None]), stats.laplace(0.5, 0.5).logpdf(points), rtol=1e-13)


def test_density_integrates_to_one_in_the_plane():
    law = noise.L2Laplace([0.3, -1.0], eta=1.5)
    steps, width = np.linspace(-18, 18, 901, retstep=True)  # corner of the cone: O(width^2)
    grid = np.stack(np.meshgrid(steps + 0.3, steps - 1.0), axis=-1)
    assert_allclose(np.exp(law.logpdf(grid)).sum() * width**2, 1, atol=width**2)


@pytest.mark.parametrize("d", [1, 2, 5, 30, 300])
def test_density_constant_against_high_precision(d):
    eta = 0.7
    constant = mp.mpf(eta) ** d * mp.gamma(mp.mpf(d) / 2)
    constant /= 2 * mp.pi ** (mp.mpf(d) / 2) * mp.gamma(d)
    law = noise.L2Laplace(np.ones(d), eta)
    assert_allclose(law.logpdf(np.ones(d)), float(mp.log(constant)), rtol=1e-12, atol=1e-12)


def test_law_samples_around_its_center_and_is_frozen():
    center = np.array([10.0, -3.0, 0.0])
    law = noise.L2Laplace(center, eta=0.5)
    center[0] = 99
    assert_allclose(law.center, [10, -3, 0], rtol=0)
    plain = noise.sample_l2_laplace(3, 0.5, 4, rng=np.random.default_rng(2))
    assert np.array_equal(law.sample(4, rng=np.random.default_rng(2)), law.center + plain)
    assert law.sample(rng=np.random.default_rng(2)).shape == (3,)
    assert law.logpdf(np.zeros((2, 5, 3))).shape == (2, 5)
    with pytest.raises(ValueError, match="read-only"):
        law.center[0] = 1
    with pytest.raises(AttributeError):
        law.eta = 1.0


@given(st.integers(1, 20), st.floats(1e-3, 1e3), st.integers(0, 10_000))
def test_log_ratio_never_exceeds_rate_times_shift(d, eta, seed):
    rng = np.random.default_rng(seed)
    here, there, points = rng.normal(size=(3, d)), rng.normal(size=(3, d)), rng.normal(size=(9, d))
    for a, b in zip(here, there, strict=True):
        loss = noise.L2Laplace(a, eta).logpdf(points) - noise.L2Laplace(b, eta).logpdf(points)
        assert np.abs(loss).max() <= eta * np.linalg.norm(a - b) * (1 + 1e-9) + 1e-9


# ---- the law with independent entries


def test_product_law_by_hand():
    # the point is 2 and 1 scales away, and the scales multiply to 1
    point, settings = [2.0, 0.0], ([1.0, -2.0], [0.5, 2.0])
    assert_allclose(noise.ProductLaw(*settings).logpdf(point), -3 - 2 * np.log(2), rtol=1e-15)
    gaussian = noise.ProductLaw(*settings, noise="gaussian").logpdf(point)
    assert_allclose(gaussian, -(4 + 1) / 2 - np.log(2 * np.pi), rtol=1e-15)
    wide = noise.ProductLaw([0.0], [8.0])  # one entry, density 1 / 16 at its center
    assert_allclose(wide.logpdf([0.0]), -np.log(16), rtol=1e-15)


@pytest.mark.parametrize(("name", "law"), [("laplace", stats.laplace), ("gaussian", stats.norm)])
def test_product_law_is_a_product_in_every_shape(name, law):
    center, scale = np.array([1.0, -2.0, 0.5]), np.array([0.5, 2.0, 7.0])
    points = np.random.default_rng(SEED).normal(0, 5, (2, 4, 3))
    product = noise.ProductLaw(center, scale, noise=name)
    expected = law.logpdf(points, loc=center, scale=scale).sum(axis=-1)
    assert_allclose(product.logpdf(points), expected, rtol=1e-13)


@pytest.mark.parametrize(("name", "law"), [("laplace", stats.laplace), ("gaussian", stats.norm)])
@pytest.mark.parametrize(("claim", "ok"), [(0.7, False), (1.0, True), (1.3, False)])
def test_product_law_is_drawn_as_stated(name, law, claim, ok):
    center, scale = np.array([10.0, -3.0]), np.array([0.5, 20.0])
    drawn = noise.ProductLaw(center, scale, noise=name).sample(
        DRAWS, rng=np.random.default_rng(SEED)
    )
    unit = (drawn - center) / (claim * scale)
    fits = [stats.kstest(column, law.cdf).pvalue > ALARM for column in unit.T]
    assert fits == [ok, ok]
    assert not ok or stats.spearmanr(*unit.T).pvalue > ALARM


def test_product_law_adds_its_draws_to_the_center_and_is_frozen():
    center = np.array([10.0, -3.0])
    law = noise.ProductLaw(center, [0.5, 2.0])
    plain = np.random.default_rng(2).laplace(0.0, [0.5, 2.0], (4, 2))
    assert np.array_equal(law.sample(4, rng=np.random.default_rng(2)), center + plain)
    assert law.sample(rng=np.random.default_rng(2)).shape == (2,)
    assert law.sample(0, rng=RNG).shape == (0, 2)
    center[0] = 99
    assert law.center.tolist() == [10, -3]
    with pytest.raises(ValueError, match="read-only"):
        law.scale[0] = 1


# ---- the profile of l2-Laplace noise


def closed_form_density(nu, d, eps0):
    """Theorem 9.1 of the notes, by Bessel functions: shares no line with the package."""
    s = eps0 / 2

    def log_j(p):
        log_k = np.log(special.kve(p + 0.5, s)) - s
        return special.gammaln(p + 1) - np.log(np.pi) / 2 + (p + 0.5) * np.log(2 / s) + log_k

    log_c = d * np.log(s) + special.gammaln(d / 2) - special.gammaln(d)
    log_c -= special.gammaln((d - 1) / 2) + np.log(np.pi) / 2
    flat = 1 - nu**2
    return np.exp(log_c + s * nu + log_j((d - 1) / 2)) * flat ** ((d - 3) / 2) + np.exp(
        log_c + s * nu + log_j((d - 3) / 2)
    ) * flat ** ((d - 1) / 2)


def integrate_density(weight, d, eps0, low=-1.0):
    def integrand(phi):
        return weight(np.sin(phi)) * closed_form_density(np.sin(phi), d, eps0) * np.cos(phi)

    end = np.pi / 2 - 1e-12  # the density of d = 2 is infinite at the end, its integral is not
    return integrate.quad(integrand, max(np.arcsin(low), -end), end, epsabs=1e-13, limit=200)[0]


@pytest.mark.parametrize("d", range(2, 31))
def test_total_mass_is_one(d):
    for eps0 in (0.05, 2.0, 30.0):
        assert_allclose(integrate_density(lambda nu: 1.0, d, eps0), 1, atol=1e-8)


@pytest.mark.parametrize("d", [2, 3, 5, 12, 30])
def test_profile_against_the_closed_form_density(d):
    for eps0, epsilon in [(0.3, 0.0), (2.0, 0.5), (2.0, 1.9), (25.0, 3.0)]:
        route = integrate_density(
            lambda nu, e=epsilon, e0=eps0: -np.expm1(e - e0 * nu), d, eps0, low=epsilon / eps0
        )
        assert_allclose(noise.l2_laplace_profile(epsilon, d, eps0), route, atol=1e-11)


def exact_to_30_digits(epsilon, d, eps0):
    with mp.workdps(30):
        e, s = mp.mpf(epsilon), mp.mpf(eps0) / 2

        def j(p):
            return (
                mp.gamma(p + 1)
                / mp.sqrt(mp.pi)
                * (2 / s) ** (p + mp.mpf(0.5))
                * mp.besselk(p + mp.mpf(0.5), s)
            )

        c = s**d * mp.gamma(mp.mpf(d) / 2) / mp.gamma(d) / mp.gamma(mp.mpf(d - 1) / 2)
        c /= mp.sqrt(mp.pi)
        first, second = c * j(mp.mpf(d - 1) / 2), c * j(mp.mpf(d - 3) / 2)

        def integrand(phi):
            nu, flat = mp.sin(phi), mp.cos(phi)
            gain = 1 - mp.exp(e - 2 * s * nu)
            return gain * mp.exp(s * nu) * (first * flat ** (d - 2) + second * flat**d)

        low = mp.asin(e / (2 * s))
        cuts = [low + (mp.pi / 2 - low) * k / 8 for k in range(9)]
        return mp.quad(integrand, cuts, maxdegree=5)


@pytest.mark.parametrize("d", [2, 3, 12, 30, 300])
@pytest.mark.parametrize("eps0", [1e-6, 0.5, 20.0, 300.0])
def test_profile_against_high_precision(d, eps0):
    for share in (0.0, 0.9):
        exact = exact_to_30_digits(share * eps0, d, eps0)
        error = abs(exact - mp.mpf(float(noise.l2_laplace_profile(share * eps0, d, eps0))))
        assert error < 1e-13


def test_profile_on_the_line_is_the_laplace_formula():
    epsilon = np.array([0.0, 0.5, 1.0, 1.999, 2.0, 3.0])
    formula = np.where(epsilon < 2, 1 - np.exp((epsilon - 2) / 2), 0)
    assert_allclose(noise.l2_laplace_profile(epsilon, 1, 2.0), formula, atol=1e-15)


def standard_errors(sampler, epsilon, d, eps0, draws=100_000):
    """Simulated minus exact delta, in standard errors, for unit rate and shift `eps0`."""
    z = sampler(d, 1.0, draws, rng=np.random.default_rng(SEED))
    moved = z - eps0 * np.eye(d)[0]
    loss = np.linalg.norm(moved, axis=1) - np.linalg.norm(z, axis=1)
    gain = np.maximum(0, -np.expm1(epsilon - loss))
    exact = noise.l2_laplace_profile(epsilon, d, eps0)
    return abs(gain.mean() - exact) / (gain.std() / np.sqrt(draws))


POINTS = [(0.0, 1, 1.0), (0.5, 2, 2.0), (1.0, 5, 4.0), (0.3, 30, 2.0)]


@pytest.mark.parametrize(("epsilon", "d", "eps0"), POINTS)
def test_profile_agrees_with_simulation(epsilon, d, eps0):
    assert standard_errors(noise.sample_l2_laplace, epsilon, d, eps0) < 5  # false alarm 6e-7


@pytest.mark.parametrize("rate", [0.7, 1.3])
@pytest.mark.parametrize(("epsilon", "d", "eps0"), POINTS)
def test_simulation_at_another_rate_disagrees(epsilon, d, eps0, rate):
    def wrong_rate(d, eta, size, *, rng):
        return noise.sample_l2_laplace(d, rate * eta, size, rng=rng)

    assert standard_errors(wrong_rate, epsilon, d, eps0) > 5


@pytest.mark.parametrize("bug", [shape_off_by_one, cube_direction, coordinatewise_laplace])
def test_simulation_with_a_planted_sampler_disagrees(bug):
    assert standard_errors(bug, 0.5, 3, 2.0) > 5


@given(st.integers(1, 40), st.floats(1e-6, 300), st.floats(0, 1), st.floats(0, 1))
def test_profile_falls_and_ends_at_eps0(d, eps0, a, b):
    low, high = sorted([a * eps0, b * eps0])
    delta = noise.l2_laplace_profile([low, high, eps0, 2 * eps0], d, eps0)
    assert 1 >= delta[0] >= delta[1] - 1e-13
    assert delta[1] >= 0
    assert np.all(delta[2:] == 0)


@given(st.integers(1, 40), st.floats(0, 20), st.floats(1e-6, 300), st.floats(1e-6, 300))
def test_a_larger_shift_is_worse(d, epsilon, a, b):
    low, high = noise.l2_laplace_profile(epsilon, d, sorted([a, b]))
    assert low <= high + 1e-13


@given(st.integers(1, 60), st.floats(1e-3, 200), st.floats(0, 0.99))
def test_more_dimensions_are_better(d, eps0, share):
    """Observed, not proved: the round noise of one more dimension hides the same shift better."""
    few, more = (noise.l2_laplace_profile(share * eps0, k, eps0) for k in (d, d + 1))
    assert more <= few + 1e-13


def test_many_dimensions_look_gaussian():
    gaussian = noise.gaussian_profile(1.0, 10 / np.sqrt(300))
    assert_allclose(noise.l2_laplace_profile(1.0, 300, 10.0), gaussian, rtol=0.02)


def test_the_window_of_the_integral_follows_its_peak():
    # eps0 = d: the losses lie at eps0 (sqrt(2) - 1) to within 1/sqrt(d), half of them above
    typical = 1e4 * (np.sqrt(2) - 1)
    delta = noise.l2_laplace_profile([0.7 * typical, typical, 1.3 * typical], 10_000, 1e4)
    assert_allclose(delta, [1, 0.5, 0], atol=0.01)


def test_profile_shapes():
    assert np.shape(noise.l2_laplace_profile(0.5, 3, 1.0)) == ()
    assert noise.l2_laplace_profile([], 3, 1.0).shape == (0,)
    table = noise.l2_laplace_profile(np.linspace(0, 2, 2500).reshape(2, 1250), 3, 2.0)
    assert table.shape == (2, 1250)
    assert_allclose(table[1, 7], noise.l2_laplace_profile(np.linspace(0, 2, 2500)[1257], 3, 2.0))
    wide = noise.l2_laplace_profile([[0.1], [0.2]], 3, [1.0, 2.0, 3.0])
    assert wide.shape == (2, 3)
    assert_allclose(wide[1, 2], noise.l2_laplace_profile(0.2, 3, 3.0), rtol=1e-14)


def test_calibrated_loss_keeps_the_promise_and_is_the_last_to_do_so():
    for d in (1, 2, 30):
        epsilon, delta = np.meshgrid([0.0, 0.1, 1.0, 8.0], [1e-12, 1e-6, 0.1])
        eps0 = noise.l2_laplace_eps0(epsilon, delta, d)
        assert np.all(eps0 >= epsilon)
        assert np.all(noise.l2_laplace_profile(epsilon, d, eps0) <= delta)
        assert np.all(noise.l2_laplace_profile(epsilon, d, eps0 * (1 + 1e-9)) > delta)


def test_energy_table():
    """Mean squared length at epsilon 1, delta 1e-6, in units of the squared sensitivity."""
    rows = {2: (6, 6.0, 35.7), 12: (156, 122, 214), 30: (930, 421, 535), 100: (10100, 1658, 1785)}
    for d, (pure, calibrated, gaussian) in rows.items():
        assert d * (d + 1) == pure
        eps0 = noise.l2_laplace_eps0(1.0, 1e-6, d)
        assert_allclose(d * (d + 1) / eps0**2, calibrated, rtol=0.005)
        assert_allclose(d / noise.gaussian_mu(1.0, 1e-6) ** 2, gaussian, rtol=0.005)


# ---- the Gaussian profile


def test_gaussian_reference_values():
    assert_allclose(noise.gaussian_epsilon(1e-6, [0.3, 1.0]), [1.29171, 4.88655], atol=1e-5)
    assert_allclose(noise.gaussian_mu([1.0, 0.1], 1e-6), [0.2367, 0.0275], atol=5e-5)
    assert_allclose(noise.gaussian_profile(0.0, 1.0), 2 * stats.norm.cdf(0.5) - 1, rtol=1e-14)
    assert_allclose(noise.gaussian_mu(0.0, 0.1), np.sqrt(8) * special.erfinv(0.1), rtol=1e-14)


@pytest.mark.parametrize("mu", [1e-3, 0.05, 1.0, 6.0, 30.0])
def test_gaussian_profile_against_high_precision(mu):
    for epsilon in mu**2 / 2 + mu * np.array([-mu / 2, -3, 0, 1, 5, 12, 30]):
        if epsilon < 0:
            continue
        with mp.workdps(400):  # the two terms cancel to hundreds of digits
            e, m = mp.mpf(epsilon), mp.mpf(mu)
            exact = mp.ncdf(m / 2 - e / m) - mp.exp(e) * mp.ncdf(-m / 2 - e / m)
            error = abs(mp.mpf(float(noise.gaussian_profile(epsilon, mu))) - exact)
        assert error < 1e-15
        assert error < exact * 1e-12 / min(mu, 1)


@pytest.mark.parametrize(("epsilon", "mu"), [(0.0, 0.4), (1.0, 1.0), (3.0, 2.0)])
def test_gaussian_profile_is_the_integral_of_the_definition(epsilon, mu):
    def gain(z):
        return stats.norm.pdf(z) - np.exp(epsilon) * stats.norm.pdf(z + mu)

    start = optimize.brentq(gain, -20, 30)
    assert_allclose(noise.gaussian_profile(epsilon, mu), integrate.quad(gain, start, 40)[0], 1e-9)


def test_missing_sqrt_2_is_far_from_private():
    """Without the 2 under the root, the classical bound at mu 1 gives 120 times the delta."""
    wrong = np.sqrt(np.log(1.25e6))
    right = np.sqrt(2 * np.log(1.25e6))
    assert noise.gaussian_profile(right, 1.0) <= 1e-6
    assert_allclose(noise.gaussian_profile(wrong, 1.0), 1.2e-4, rtol=0.05)


@given(st.floats(0, 50), st.floats(0, 50), st.floats(1e-3, 20), st.floats(1e-3, 20))
def test_gaussian_profile_falls_in_epsilon_and_rises_in_mu(e1, e2, m1, m2):
    (low, high), (small, large) = sorted([e1, e2]), sorted([m1, m2])
    assert 1 >= noise.gaussian_profile(low, small) >= noise.gaussian_profile(high, small) - 1e-15
    assert 0 <= noise.gaussian_profile(low, small) <= noise.gaussian_profile(low, large) + 1e-15


@given(st.floats(1e-10, 0.9), st.floats(1e-3, 30))
@settings(max_examples=40)
def test_gaussian_epsilon_keeps_the_promise(delta, mu):
    epsilon = noise.gaussian_epsilon(delta, mu)
    assert noise.gaussian_profile(epsilon, mu) <= delta
    if epsilon > 0:
        assert noise.gaussian_profile(epsilon * (1 - 1e-9), mu) > delta * (1 - 1e-6)
        assert noise.gaussian_profile(max(epsilon - 1e-6 * max(mu, epsilon), 0), mu) > delta
        assert_allclose(noise.gaussian_mu(epsilon, delta), mu, rtol=1e-6)


@given(st.floats(1e-6, 60), st.floats(1e-10, 0.9))
@settings(max_examples=40)
def test_gaussian_mu_keeps_the_promise(epsilon, delta):
    mu = noise.gaussian_mu(epsilon, delta)
    assert noise.gaussian_profile(epsilon, mu) <= delta
    assert noise.gaussian_profile(epsilon, mu * (1 + 1e-6)) > delta
    assert_allclose(noise.gaussian_epsilon(delta, mu), epsilon, rtol=1e-6)


def bracket_ends(search):
    """The value a search returns, whether it keeps the promise, and whether the next float does."""
    epsilon, delta, mu = 1.0, 1e-6, 1.0
    if search == "mu":
        found = noise.gaussian_mu(epsilon, delta)
        return [noise.gaussian_profile(epsilon, m) for m in (found, found * (1 + 1e-10))]
    if search == "epsilon":
        found = noise.gaussian_epsilon(delta, mu)
        return [noise.gaussian_profile(e, mu) for e in (found, found * (1 - 1e-10))]
    found = noise.l2_laplace_eps0(epsilon, delta, 12)
    return [noise.l2_laplace_profile(epsilon, 12, e) for e in (found, found * (1 + 1e-10))]


@pytest.mark.parametrize("search", ["mu", "epsilon", "eps0"])
def test_searches_return_the_end_that_keeps_the_promise(search):
    kept, broken = bracket_ends(search)
    assert kept <= 1e-6 < broken


def test_gaussian_functions_broadcast():
    assert noise.gaussian_profile(np.zeros((3, 1)), [1.0, 2.0]).shape == (3, 2)
    assert noise.gaussian_epsilon([1e-3, 1e-6], 1.0).shape == (2,)
    assert noise.gaussian_mu([0.5, 1.0, 2.0], 1e-6).shape == (3,)
    assert noise.gaussian_profile([], 1.0).shape == (0,)
    assert np.shape(noise.gaussian_mu(1.0, 1e-6)) == ()


def test_extreme_arguments_neither_warn_nor_leave_the_unit_interval():
    assert noise.gaussian_profile([0, 1e308, 1e308], [1e200, 1e200, 1e-300]).tolist() == [1, 1, 0]
    assert noise.gaussian_epsilon(0.5, 1e-6) == 0
    assert_allclose(noise.l2_laplace_profile([0.0, 1e3], 2, 1e4), 1, rtol=1e-12)
    assert 0 < noise.l2_laplace_profile(0.0, 5, 1e-300) < 1e-299


# ---- rounding


def test_rounding_returns_multiples_of_the_step():
    values = np.random.default_rng(1).normal(size=1000)
    rounded = noise.round_to_grid(values, 2.0**-20)
    assert np.all(rounded * 2**20 == np.round(rounded * 2**20))
    assert np.abs(rounded - values).max() <= 2.0**-21
    assert np.array_equal(noise.round_to_grid(rounded, 2.0**-20), rounded)
    for step in (0.1, 3.0, 2.0**-20 * 1.5):
        with pytest.raises(ValueError, match="step must be a power of two"):
            noise.round_to_grid(values, step)


# ---- bad input

RNG = np.random.default_rng(0)
LAW = noise.L2Laplace([0.0, 1.0], 1.0)
PAIR = noise.ProductLaw([0.0, 0.0], [1.0, 1.0])
POSITIVE = {  # name of the argument: a call that hands it over
    "eta": [
        lambda v: noise.sample_l2_laplace(2, v, rng=RNG),
        lambda v: noise.l2_laplace_radius(2, v),
        lambda v: noise.L2Laplace([0.0], v),
    ],
    "eps0": [lambda v: noise.l2_laplace_profile(0.1, 2, v)],
    "mu": [lambda v: noise.gaussian_profile(0.1, v), lambda v: noise.gaussian_epsilon(1e-6, v)],
    "step": [lambda v: noise.round_to_grid(1.0, v)],
    "delta": [
        lambda v: noise.gaussian_epsilon(v, 1.0),
        lambda v: noise.gaussian_mu(1.0, v),
        lambda v: noise.l2_laplace_eps0(1.0, v, 2),
    ],
}
NONNEGATIVE = {
    "epsilon": [
        lambda v: noise.l2_laplace_profile(v, 2, 1.0),
        lambda v: noise.l2_laplace_eps0(v, 1e-6, 2),
        lambda v: noise.gaussian_profile(v, 1.0),
        lambda v: noise.gaussian_mu(v, 1e-6),
    ],
}
COUNT = {
    "d": [
        lambda v: noise.sample_l2_laplace(v, 1.0, rng=RNG),
        lambda v: noise.l2_laplace_radius(v, 1.0),
        lambda v: noise.l2_laplace_profile(0.1, v, 1.0),
        lambda v: noise.l2_laplace_eps0(0.1, 1e-6, v),
    ],
}
FINITE = {
    "points": [lambda v: LAW.logpdf(v)],
    "center": [lambda v: noise.L2Laplace(v, 1.0)],
    "values": [lambda v: noise.round_to_grid(v, 0.5)],
}


def calls(*tables):
    return [
        pytest.param(name, call, id=f"{name}-{k}")
        for table in tables
        for name, listed in table.items()
        for k, call in enumerate(listed)
    ]


@pytest.mark.parametrize(("name", "call"), calls(POSITIVE, NONNEGATIVE, COUNT, FINITE))
@given(wrong=st.sampled_from([True, "1", None, [True, 2.0], ["a"], {}, 1j, np.array([False])]))
@settings(max_examples=30)
def test_wrong_kinds_are_refused(name, call, wrong):
    with pytest.raises(TypeError, match=f"{name} must be"):
        call(wrong)


@pytest.mark.parametrize(("name", "call"), calls(POSITIVE, NONNEGATIVE, FINITE))
@given(wrong=st.sampled_from([np.nan, np.inf, -np.inf, [0.5, np.nan]]))
@settings(max_examples=30)
def test_numbers_that_are_not_finite_are_refused(name, call, wrong):
    with pytest.raises(ValueError, match=f"{name} must be"):
        call(wrong)


@pytest.mark.parametrize(("name", "call"), calls(POSITIVE))
@given(wrong=st.floats(max_value=0, allow_infinity=False) | st.just([0.25, -0.0]))
@settings(max_examples=30)
def test_values_that_are_not_positive_are_refused(name, call, wrong):
    with pytest.raises(ValueError, match=f"{name} must be .*above 0"):
        call(wrong)


@pytest.mark.parametrize(("name", "call"), calls(NONNEGATIVE))
@given(wrong=st.floats(max_value=-1e-300, allow_infinity=False))
@settings(max_examples=30)
def test_negative_values_are_refused(name, call, wrong):
    with pytest.raises(ValueError, match=f"{name} must be finite and at least 0"):
        call(wrong)


@pytest.mark.parametrize(("name", "call"), calls(COUNT))
@given(wrong=st.integers(max_value=0))
@settings(max_examples=30)
def test_dimensions_below_one_are_refused(name, call, wrong):
    with pytest.raises(ValueError, match=f"{name} must be at least 1"):
        call(wrong)


@given(delta=st.floats(1, 1e300))
def test_delta_of_one_or_more_is_refused(delta):
    for call in POSITIVE["delta"]:
        with pytest.raises(ValueError, match="delta must be above 0 and below 1"):
            call(delta)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: noise.sample_l2_laplace(2, [1.0, 2.0], rng=RNG), "eta must be a single number"),
        (lambda: noise.L2Laplace([0.0], [1.0]), "eta must be a single number"),
        (lambda: noise.L2Laplace([0.0], 5e-322), r"eta must lie in \[1e-150, 1e\+150\]"),
        (lambda: noise.L2Laplace([], 1.0), r"center must have shape \(d,\)"),
        (lambda: noise.L2Laplace(0.0, 1.0), r"center must have shape \(d,\)"),
        (lambda: noise.L2Laplace([[0.0, 1.0]], 1.0), r"center must have shape \(d,\)"),
        (lambda: LAW.logpdf(0.0), r"points must have shape \(..., 2\)"),
        (lambda: LAW.logpdf([[0.0, 1.0, 2.0]]), r"points must have shape \(..., 2\)"),
        (lambda: noise.round_to_grid(1.0, [0.5]), "step must be a single number"),
        (lambda: noise.gaussian_profile([1, 2, 3], [1, 2]), "epsilon and mu must broadcast"),
        (lambda: noise.gaussian_mu([1, 2, 3], [0.1, 0.2]), "epsilon and delta must broadcast"),
        (lambda: noise.l2_laplace_profile([1, 2], 2, [1, 2, 3]), "epsilon and eps0 must broadcast"),
        (lambda: noise.ProductLaw([], []), r"center and scale must have one shape \(m,\)"),
        (lambda: noise.ProductLaw(0.0, 1.0), r"center and scale must have one shape \(m,\)"),
        (lambda: noise.ProductLaw([0.0, 1.0], [1.0]), r"got \(2,\) and \(1,\)"),
        (lambda: noise.ProductLaw([np.nan], [1.0]), r"^center must be finite; got center\[0\]"),
        (lambda: noise.ProductLaw([1.0], [0.0]), r"^scale must be finite and above 0; got scale"),
        (lambda: noise.ProductLaw([1.0], [1.0], "cauchy"), "^noise must be one of 'laplace', 'gau"),
        (lambda: PAIR.logpdf(0.0), r"points must have shape \(..., 2\)"),
        (lambda: PAIR.logpdf([[0.0, 1.0, 2.0]]), r"points must have shape \(..., 2\)"),
        (lambda: PAIR.logpdf([0.0, np.inf]), r"^points must be finite; got points\[1\]"),
        (lambda: PAIR.sample(-1, rng=RNG), "^size must be at least 0"),
        (lambda: noise.sample_l2_laplace(2, 1.0, -1, rng=RNG), "size must be at least 0"),
        (lambda: noise.sample_l2_laplace(2, 1.0, (3, -1), rng=RNG), "size must be at least 0"),
    ],
)
def test_wrong_shapes_are_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize("rng", [None, 1, np.random, np.random.RandomState(0), "rng"])
def test_randomness_is_never_implicit(rng):
    with pytest.raises(TypeError, match="rng must be a numpy"):
        noise.sample_l2_laplace(2, 1.0, rng=rng)
    with pytest.raises(TypeError, match="rng must be a numpy"):
        LAW.sample(3, rng=rng)
    for name in ("laplace", "gaussian"):
        with pytest.raises(TypeError, match="rng must be a numpy"):
            noise.ProductLaw([0.0], [1.0], name).sample(3, rng=rng)


@pytest.mark.parametrize("size", [2.0, "3", True, (2, 1.5), [3], (None,)])
def test_sizes_are_whole_numbers(size):
    with pytest.raises(TypeError, match="size must be a whole number"):
        noise.sample_l2_laplace(2, 1.0, size, rng=RNG)
