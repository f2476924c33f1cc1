"""The membership game: attackers reach what theory says and refute what is broken, only that."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from pdpbook import audit, pac
from pdpbook.audit.membership import AttackScore, GaussianRelease, membership_attack

SEED = 20261122


def generator(offset=0):
    return np.random.default_rng(SEED + offset)


def alone(distance, d=3):
    """A release that only the target moves: what the best adversary reaches is known."""
    move = np.full(d, distance / np.sqrt(d))
    return GaussianRelease(lambda members: members[0] * move, 1.0)


def distance_of(release, target, members):
    """What the target does to a release, in units of its noise."""
    with_, without = members.copy(), members.copy()
    with_[target], without[target] = True, False
    return np.sqrt(-2 * release.log_density(release.statistic(with_), without))


def totals(n=30, noise=1.0):
    values = np.random.default_rng(1).normal(size=(n, 2))
    values[0] = 3.0
    return GaussianRelease(lambda members: values[members].sum(axis=0), noise)


# ---------------------------------------------------------------- known answers


@pytest.mark.parametrize("distance", [0.0, 0.5, 2.0])
@pytest.mark.parametrize("q", [0.5, 0.2])
def test_both_attackers_reach_the_best_rate_where_the_target_is_alone(distance, q):
    attack = membership_attack(alone(distance), 5, 0, rng=generator(), sample_rate=q)
    best = pac.gaussian_success_rate(distance, max(q, 1 - q))
    low, high = attack.informed.interval
    assert low <= best <= high
    assert best - 0.04 <= attack.shadow.success_rate <= high
    assert attack.prior == max(q, 1 - q)


def test_interval_is_that_of_clopper_and_pearson():
    score = AttackScore("shadow", 70, 100, 0.95)
    assert_allclose(score.interval, stats.beta.ppf([0.025, 0.975], [70, 71], [31, 30]))
    assert score.success_rate == 0.7
    assert score.interval[0] > 0.6
    assert score.interval[0] <= 0.61
    assert AttackScore("shadow", 0, 9, 0.9).interval[0] == 0
    assert AttackScore("shadow", 9, 9, 0.9).interval[1] == 1


def test_the_informed_attacker_is_no_worse_and_meets_its_formula():
    release, rng = totals(), generator(1)
    attack = membership_attack(release, 30, 0, rng=rng, trials=4000)
    distance = distance_of(release, 0, rng.random(30) < 0.5)
    assert distance == pytest.approx(np.sqrt(18))
    low, high = attack.informed.interval
    assert low <= pac.gaussian_success_rate(distance) <= high
    assert attack.shadow.success_rate < attack.informed.success_rate
    assert attack.shadow.interval[0] > 0.5
    assert not attack.refutes(pac.snr_to_success_rate(distance**2, "tv"))


def test_noise_for_the_ceiling_keeps_it_and_less_noise_breaks_it():
    ceiling = 0.75
    variance = 18 / pac.success_rate_to_snr(ceiling, "tv")
    for factor, broken in [(1.0, False), (0.5, True)]:
        attack = membership_attack(totals(noise=factor * variance), 30, 0, rng=generator(2))
        assert attack.refutes(ceiling) is broken


def test_a_direction_without_noise_is_found_by_both():
    matrix = np.array([[1.0, 0.0], [0.0, 0.0]])
    values = np.random.default_rng(3).normal(size=(8, 2))
    release = GaussianRelease(lambda members: values[members].sum(axis=0), matrix)
    attack = membership_attack(release, 8, 0, rng=generator(3), trials=500)
    assert attack.informed.success_rate == 1
    alone_there = GaussianRelease(lambda members: [0.0, 1e-3 * members[0]], matrix)
    attack = membership_attack(alone_there, 8, 0, rng=generator(4), trials=500)
    assert attack.shadow.success_rate == attack.informed.success_rate == 1


def test_any_function_can_be_attacked():
    def publish(members, rng):
        members[1:] = False  # whoever writes into the data harms nobody but themselves
        return [float(members[0]) + rng.laplace(scale=1.0)]

    attack = membership_attack(publish, 4, 0, rng=generator(5), trials=4000)
    assert attack.informed is None
    best = 1 - np.exp(-0.5) / 2  # Laplace: the midpoint decides
    assert attack.shadow.interval[0] <= best
    assert attack.shadow.success_rate > best - 0.03
    assert len(attack.table) == 1


def test_a_twin_breaks_the_conversion_of_independent_records():
    """One nat for a record, and two records that come together."""

    def publish(members, rng):
        return [2.0 * members[0] + rng.laplace(scale=1.0)]

    ceiling = pac.epsilon_to_success_rate(1.0, 0.0)
    attack = membership_attack(publish, 4, 0, rng=generator(6), trials=4000)
    assert attack.shadow.interval[0] > ceiling


# ---------------------------------------------------------------- parts


def test_covariances_of_every_shape_are_the_same():
    members, output = np.array([True, False]), np.array([1.0, -2.0])
    releases = [
        GaussianRelease(lambda m: [m[0], m[1]], c) for c in (2.0, [2.0, 2.0], [[2, 0], [0, 2]])
    ]
    expected = -np.sum((output - [1, 0]) ** 2) / 4
    assert_allclose([r.log_density(output, members) for r in releases], expected)
    assert_allclose([distance_of(r, 1, members) for r in releases], np.sqrt(0.5))
    draws = np.array([releases[2](members, generator(k)) for k in range(2000)])
    assert_allclose(np.cov(draws.T), 2 * np.eye(2), atol=0.25)  # 4 standard errors


def test_the_same_generator_repeats_the_attack():
    first, second = (membership_attack(totals(), 30, 0, rng=generator(7)) for _ in range(2))
    assert first == second
    assert first.table["attacker"].tolist() == ["shadow", "informed"]
    assert audit.membership_attack is membership_attack


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"target": 30}, ValueError, "target must be in the pool, 0 to 29"),
        ({"target": 1.0}, TypeError, "target must be a whole number"),
        ({"n": 0}, ValueError, "n must be at least 1"),
        ({"rng": 0}, TypeError, "rng must be a numpy"),
        ({"sample_rate": 1.0}, ValueError, "sample_rate must be above 0"),
        ({"shadows": 5}, ValueError, "shadows must be at least 10"),
        ({"trials": 0}, ValueError, "trials must be at least 1"),
        ({"confidence": np.nan}, ValueError, "confidence must be above 0"),
        ({"release": lambda m, rng: [np.nan]}, ValueError, "release must return a finite vector"),
        ({"release": lambda m, rng: 1.0}, ValueError, "release must return a finite vector"),
        ({"release": lambda m, rng: m[m] + 0.0}, ValueError, "release must return a finite"),
    ],
)
def test_bad_input(change, error, message):
    call = {"release": totals(), "n": 30, "target": 0, "rng": generator(), **change}
    with pytest.raises(error, match=f"^{message}"):
        membership_attack(call.pop("release"), call.pop("n"), call.pop("target"), **call)


@pytest.mark.parametrize(
    ("covariance", "message"),
    [
        (-1.0, "covariance must not be negative"),
        ([[1.0, 2.0], [2.0, 1.0]], "covariance must not be negative"),
        ([[1.0, 2.0], [0.0, 1.0]], "covariance must be symmetric"),
        ([1.0, np.nan], "covariance must be finite"),
    ],
)
def test_bad_covariances(covariance, message):
    with pytest.raises(ValueError, match=f"^{message}"):
        GaussianRelease(lambda members: [0.0, 0.0], covariance)
