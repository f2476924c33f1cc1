"""Steps with one user each, beside full gradients: by hand, against the package and the record."""

from pathlib import Path

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.experiments import one_user
from lab.tables import read_results
from pdpbook.user_level import WeightedGradientDescent

ROOT = Path(__file__).resolve().parent.parent
RECORD = read_results(ROOT / one_user.FILE).set_index(["members", "level", "algorithm"])


def test_shares_of_a_member_add_up_to_one():
    shares, marks = one_user.club(10, np.random.default_rng(1))
    assert_allclose(shares.sum(axis=1), 1, rtol=1e-12)
    assert (marks <= shares).all()
    assert_allclose(shares[0].max(), 1)  # Ana has one record


def test_excess_is_zero_at_the_truth_and_above_it_elsewhere():
    theta = one_user.TRUTH + np.array([[0.0, 0, 0], [0.1, 0, 0], [0, -0.1, 0.2]])
    found = one_user.excess(theta)
    assert_allclose(found[0], 0, atol=1e-15)
    assert (found[1:] > 0).all()


def test_full_gradients_are_those_of_the_package():
    owner = np.repeat(np.arange(100), np.repeat(one_user.RECORDS, 20))
    labels = np.resize([-1, 1], len(owner))
    law = WeightedGradientDescent(
        "logistic", epsilon=1.0, delta=1e-6, radius=2.0, row_norm=1.0, tradeoff=0.0,
        accounting="gaussian", classes=(-1, 1),
    ).output_law(one_user.KINDS[np.arange(len(owner)) % 15], labels, users=owner)  # fmt: skip
    clubs = [one_user.club(100, np.random.default_rng(2))]
    _, steps, bound = one_user.full_gradients(
        clubs, one_user.weights(100, 1), np.random.default_rng(3)
    )
    assert steps == law.steps
    noise = 3 * float(np.max(law.sigma)) ** 2
    assert_allclose(bound, 2 * np.sqrt((1 + noise) / (steps + 1)), rtol=1e-9)
    assert_allclose(2 / np.sqrt((steps + 1) * (1 + noise)), law.step_size, rtol=1e-9)


def test_without_noise_it_comes_near_the_least_loss():
    clubs = [one_user.club(100, np.random.default_rng(4))]
    w = one_user.weights(100, 12)
    theta = one_user.one_user_steps(clubs, w, 1e-6, np.random.default_rng(5))
    assert one_user.excess(theta)[0] < 0.03 < one_user.excess(np.zeros((1, 3)))[0]


def test_the_account_of_the_record_is_the_budget():
    assert one_user.renyi_epsilon(980, 9.1) == pytest.approx(1, abs=0.01)
    assert one_user.renyi_epsilon(980, 8.5) > 1.02
    noise = one_user.multipliers(980)
    assert noise["limit"] < 9.1 < noise["printed"]


@pytest.mark.parametrize("level", [12, 1])
def test_a_row_of_the_record_is_computed_again(level):
    clubs = [one_user.club(100, np.random.default_rng([one_user.SEED, k])) for k in range(40)]
    w = one_user.weights(100, level)
    theta, steps, bound = one_user.full_gradients(
        clubs, w, np.random.default_rng([one_user.SEED, 1000])
    )
    row = RECORD.loc[100, level, "full gradients"]
    assert_allclose(one_user.excess(theta).mean(), row.excess, rtol=2e-3)
    assert_allclose(bound, row.bound, rtol=2e-3)
    assert steps == row.steps
    z = one_user.multipliers(100)["limit"]
    theta = one_user.one_user_steps(clubs, w, z, np.random.default_rng([one_user.SEED, 2000]))
    told = RECORD.loc[100, level, "one user, limit"].excess
    assert_allclose(one_user.excess(theta).mean(), told, rtol=2e-3)
