"""Sampling audits: they catch what is broken, are silent on what is kept, and say what they saw."""

import numpy as np
import pytest
from scipy import stats

from pdpbook.audit import audit_samples, differing_person
from pdpbook.guarantees import (
    ApproximateDP,
    GaussianDP,
    PACPrivacy,
    PureDP,
    ZeroConcentratedDP,
)

SEED = 20261121
ONE = {"neighbors": "replace-one"}


def laplace(shift, draws=20_000, seed=SEED, scale=1.0):
    rng = np.random.default_rng(seed)
    return rng.laplace(0, scale, draws), rng.laplace(shift, scale, draws)


# ---------------------------------------------------------------- two-sided calibration


@pytest.mark.parametrize("factor", [1.0, 0.7])
def test_a_kept_promise_is_not_refuted(factor):
    assert audit_samples(*laplace(factor), PureDP(1.0, **ONE)).passed


def test_seven_tenths_of_the_noise_is_refuted():
    found = audit_samples(*laplace(1.0, scale=0.7), PureDP(1.0, **ONE))
    assert not found.passed
    assert 1.0 < found.epsilon_lower <= 1 / 0.7


@pytest.mark.parametrize(
    ("kept", "broken"),
    [
        (GaussianDP(0.5, **ONE), GaussianDP(0.5 * 0.7, **ONE)),
        (ZeroConcentratedDP(0.125, **ONE), ZeroConcentratedDP(0.02, **ONE)),
        (GaussianDP(0.5, **ONE).to_approximate(0.01), ApproximateDP(0.2, 0.01, **ONE)),
    ],
)
def test_every_kind_of_promise_about_gaussian_noise(kept, broken):
    rng = np.random.default_rng(SEED)
    one, two = rng.normal(0, 1, (20_000, 3)), rng.normal([0.3, 0, 0.4], 1, (20_000, 3))
    assert audit_samples(one, two, kept).passed
    assert not audit_samples(one, two, broken).passed


def test_a_change_of_shape_without_a_shift_is_refuted():
    rng = np.random.default_rng(SEED)
    one, two = rng.normal(0, 1, (20_000, 2)), rng.normal(0, 1.3, (20_000, 2))
    assert not audit_samples(one, two, GaussianDP(0.1, **ONE)).passed


def test_a_bare_coordinate_is_refuted_by_a_hundred_releases():
    rng = np.random.default_rng(SEED)
    one, two = rng.normal(0, 9, (100, 4)), rng.normal(0, 9, (100, 4))
    one[:, 2], two[:, 2] = 0.5, 0.6
    found = audit_samples(one, two, PureDP(0.2, **ONE))
    assert not found.passed
    assert found.delta > 0.4


def test_noise_shared_by_the_coordinates_is_refuted():
    """Each coordinate alone is well hidden; their difference is bare."""
    rng = np.random.default_rng(SEED)
    one, two = (rng.laplace(0, 9, (1000, 1)) + np.zeros((1, 3)) for _ in range(2))
    two = two + np.array([0.1, 0.0, 0.0])
    assert not audit_samples(one, two, PureDP(0.2, **ONE)).passed


def test_the_certificate_is_below_the_true_delta():
    true = stats.norm.cdf(0.5) - stats.norm.cdf(-0.5)  # total variation at a distance of one
    for seed in range(20):
        rng = np.random.default_rng(seed)
        one, two = rng.normal(0, 1, 4000), rng.normal(1, 1, 4000)
        found = audit_samples(one, two, ApproximateDP(0.01, 1e-9, **ONE))
        assert found.delta <= true
        assert not found.passed


@pytest.mark.slow
def test_no_false_alarm_over_300_seeds():
    alarms = [
        audit_samples(*laplace(1.0, 2000, seed), PureDP(1.0, **ONE)).passed for seed in range(300)
    ]
    assert all(alarms)


# ---------------------------------------------------------------- people, sentences, errors


def test_the_promise_of_the_person_who_differs_counts():
    promise = PureDP([0.2, 1.0], **ONE)
    releases = laplace(0.9)
    assert audit_samples(*releases, promise, person=1).passed
    found = audit_samples(*releases, promise, person=0)
    assert (found.passed, found.person) == (False, 0)
    assert "REFUTED" in str(found)
    assert "proves nothing" in str(audit_samples(*releases, promise, person=1))


def test_no_release_that_chose_the_event_is_counted():
    """Every other release has the opposite sign: an event chosen from those says nothing here."""
    sign = np.where(np.arange(2_000) % 2, 1.0, -1.0)
    noise = np.random.default_rng(SEED).normal(size=(2, 2_000))
    found = audit_samples(noise[0] + 9 * sign, noise[1] - 9 * sign, PureDP(1.0, **ONE))
    assert found.epsilon_lower == 0
    assert found.delta < 0


def test_the_same_releases_give_the_same_audit():
    assert audit_samples(*laplace(1.0), PureDP(1.0, **ONE)) == audit_samples(
        *laplace(1.0), PureDP(1.0, **ONE)
    )


@pytest.mark.parametrize(
    ("change", "error", "message"),
    [
        ({"promise": PACPrivacy(0.75)}, TypeError, "membership_attack"),
        ({"promise": 1.0}, TypeError, "promise must be"),
        ({"promise": None}, TypeError, "promise must be"),
        ({"person": 3}, ValueError, "person must be below 2"),
        ({"false_alarm": 0.0}, ValueError, "false_alarm"),
        ({"first": np.zeros((4, 2))}, ValueError, "one shape"),
        ({"first": np.full(100, np.nan)}, ValueError, "first must be finite"),
        ({"first": np.zeros(20), "second": np.ones(20)}, ValueError, "too few to say anything"),
    ],
)
def test_bad_input_is_refused(change, error, message):
    one, two = laplace(1.0, 100)
    arguments = {"first": one, "second": two, "promise": PureDP([1.0, 1.0], **ONE)} | change
    with pytest.raises(error, match=message):
        audit_samples(**arguments)


# ---------------------------------------------------------------- who differs


X = np.arange(12.0).reshape(6, 2)
Y = np.arange(6.0)
OWNERS = ["b", "a", "b", "c", "a", "c"]


def changed(rows, *, features=False):
    other_X, other_y = X.copy(), Y.copy()
    other_y[rows] += 1
    if features:
        other_X[rows] += 1
    return other_X, other_y


@pytest.mark.parametrize("relation", ["replace-one", "labels"])
def test_one_row_is_found(relation):
    assert differing_person((X, Y), changed([4]), relation) == 4


def test_a_missing_row_is_found_whichever_comes_first():
    fewer = np.delete(X, 2, axis=0), np.delete(Y, 2)
    assert differing_person((X, Y), fewer, "add-remove") == 2
    assert differing_person(fewer, (X, Y), "add-remove") == 2


def test_a_user_is_found_by_all_of_their_rows():
    assert differing_person((X, Y), changed([0, 2], features=True), "user", users=OWNERS) == 1
    assert differing_person((X, Y), changed([3, 5]), "user-labels", users=OWNERS) == 2


def test_equal_data_are_neighbors_of_themselves():
    assert differing_person((X, Y), (X, Y), "replace-one") == 0


@pytest.mark.parametrize(
    ("neighbor", "relation", "message"),
    [
        (changed([1, 2]), "replace-one", "differ in one person"),
        (changed([1], features=True), "labels", "differ in labels alone"),
        (changed([0, 1]), "user", "differ in one person"),
        (changed([0, 2], features=True), "user-labels", "differ in labels alone"),
        ((X[:4], Y[:4]), "add-remove", "differ by one row"),
        ((X[:5], Y[:5] + 1), "add-remove", "equal but for one row"),
        ((X[:5], Y[:5]), "replace-one", "equally many rows"),
        ((X[:, 0], Y), "replace-one", r"shape \(n, d\)"),
        ((X, Y), "neighbors", "relation must be"),
    ],
)
def test_no_neighbors_are_refused(neighbor, relation, message):
    owners = OWNERS if relation.startswith("user") else None
    with pytest.raises(ValueError, match=message):
        differing_person((X, Y), neighbor, relation, users=owners)
