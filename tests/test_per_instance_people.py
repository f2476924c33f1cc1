"""Everybody's loss at once, streamed, explained; one record for another; several releases.

The second routes are refits without each person, simulation of the release itself, and the exact
profile of cases that collapse to one release. Seeds are fixed; a correct simulation fails with
probability below 1e-4.
"""

import itertools

import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution
from numpy.testing import assert_allclose
from scipy import stats

from lab.chapters import composed_profile, posterior_losses, replace_one_profile
from pdpbook.per_instance import (
    explain,
    ops_epsilon,
    ops_profile,
    per_instance_epsilon,
    stream_per_instance,
)
from pdpbook.ridge import leave_one_out

LAM, GAMMA, DELTA = 0.7, 2.0, 1e-6


def data(n=200, d=4, seed=1):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, X @ rng.normal(size=d) + rng.normal(size=n)


def numbers(X, y, x, label, lam=LAM, gamma=GAMMA):
    """Leverage and scaled residual of a record against X, y, by a dense solve."""
    H = X.T @ X + lam * np.eye(X.shape[1])
    theta = np.linalg.solve(H, X.T @ y)
    return x @ np.linalg.solve(H, x), np.sqrt(gamma) * abs(label - x @ theta)


# ---- everybody


def test_everybody_equals_refits():
    X, y = data()
    report = per_instance_epsilon(X, y, LAM, GAMMA, DELTA)
    for i in range(len(y)):
        rest = np.arange(len(y)) != i
        leverage, residual = numbers(X[rest], y[rest], X[i], y[i])
        assert_allclose(report.leverage[i], leverage, rtol=1e-10)
        assert_allclose(report.scaled_residual[i], residual, rtol=1e-10, atol=1e-12)
        assert_allclose(abs(report.residual[i]) * np.sqrt(GAMMA), residual, rtol=1e-10, atol=1e-12)
        assert_allclose(report.epsilon[i], ops_epsilon(DELTA, leverage, residual), rtol=1e-8)


def test_the_promise_of_one_person_by_simulation():
    X, y = data(30, seed=2)
    report = per_instance_epsilon(X, y, LAM, GAMMA, 0.01)
    i, rng = int(report.epsilon.argmax()), np.random.default_rng(3)
    laws = []
    for rest in (np.arange(30) != i, np.full(30, True)):
        H = X[rest].T @ X[rest] + LAM * np.eye(4)
        theta = np.linalg.solve(H, X[rest].T @ y[rest])
        laws.append(stats.multivariate_normal(theta, np.linalg.inv(H) / GAMMA))
    draws = laws[0].rvs(200_000, random_state=rng)
    loss = laws[0].logpdf(draws) - laws[1].logpdf(draws)
    gain = np.maximum(0, -np.expm1(report.epsilon[i] - loss))
    assert abs(gain.mean() - 0.01) < 4 * gain.std() / np.sqrt(len(gain))


def test_alone_in_a_direction_is_infinite():
    X = [[1.0, 0.0], [1.0, 0.0], [0.0, 1.0]]
    report = per_instance_epsilon(X, [0.1, 0.3, 0.0], 0.0, GAMMA, DELTA)
    assert np.isfinite(report.epsilon[:2]).all()
    assert np.isinf(report.epsilon[2])
    assert str(report).splitlines()[-1].startswith("infinite for 1: each is alone in some direct")
    streamed = stream_per_instance([(X, [0.1, 0.3, 0.0])], 0.0, GAMMA, DELTA)
    assert np.isinf(streamed.mean)
    assert streamed.rows[0] == 2
    assert "no fit" in str(explain(2, X, [0.1, 0.3, 0.0], 0.0, GAMMA, DELTA))


def test_the_report_says_that_it_is_no_promise():
    assert "not a promise" in str(per_instance_epsilon(*data(20), LAM, GAMMA, DELTA))


# ---- streams


@pytest.mark.parametrize("lam", [0.0, LAM])
def test_streamed_equals_in_memory(lam):
    X, y = data(500)
    parts = [0, 7, 8, 300, 500]
    blocks = [(X[a:b], y[a:b]) for a, b in itertools.pairwise(parts)]
    seen = {}
    streamed = stream_per_instance(
        lambda: iter(blocks), lam, GAMMA, DELTA, top=5, on_block=seen.__setitem__
    )
    report = per_instance_epsilon(X, y, lam, GAMMA, DELTA)
    together = np.concatenate([seen[start] for start in parts[:-1]])
    assert_allclose(together, report.epsilon, rtol=1e-9)  # the inverse stops at 1e-9
    assert_allclose(streamed.theta, report.theta, rtol=1e-12, atol=1e-13)
    assert_allclose(streamed.mean, report.epsilon.mean(), rtol=1e-9)
    assert (streamed.n, streamed.delta) == (500, DELTA)
    assert (streamed.rows == np.argsort(-report.epsilon)[:5]).all()


def test_quantiles_of_the_histogram_are_never_too_small():
    X, y = data(500)
    epsilon = per_instance_epsilon(X, y, LAM, GAMMA, DELTA).epsilon
    stream = stream_per_instance([(X, y)], LAM, GAMMA, DELTA)
    assert stream.n == stream.counts.sum() == 500
    for share in (1e-3, 0.1, 0.5, 0.9, 0.999):
        exact = np.quantile(epsilon, share, method="inverted_cdf")
        assert exact <= stream.quantile(share) <= exact * 10 ** (1 / 200) * (1 + 1e-9)
    alone = stream_per_instance([(np.eye(3), np.zeros(3))], 0.0, GAMMA, DELTA)
    assert np.isinf(alone.quantile(0.5))
    assert stream.counts.dtype == int
    for share, message in [
        (1.0, "share must be above 0 and below 1"),
        ([0.5], "^share must be a si"),
    ]:
        with pytest.raises(ValueError, match=message):
            stream.quantile(share)


def test_different_people_the_second_time_are_noticed():
    X, y = data(50)
    sizes = iter([50, 49])

    def shrinking():
        size = next(sizes)
        yield X[:size], y[:size]

    with pytest.raises(ValueError, match="got 50 first, 49 the second time"):
        stream_per_instance(shrinking, LAM, GAMMA, DELTA)


# ---- one record for another


def simulated_replacement(epsilon, X, y, first, second, draws=200_000):
    rng, laws = np.random.default_rng(4), []
    for x, label in (first, second):
        H = X.T @ X + LAM * np.eye(X.shape[1]) + np.outer(x, x)
        theta = np.linalg.solve(H, X.T @ y + np.asarray(x) * label)
        laws.append(stats.multivariate_normal(theta, np.linalg.inv(H) / GAMMA))
    theta = laws[0].rvs(draws, random_state=rng)
    gain = np.maximum(0, -np.expm1(epsilon - laws[0].logpdf(theta) + laws[1].logpdf(theta)))
    return gain.mean(), gain.std() / np.sqrt(draws)


@pytest.mark.parametrize("epsilon", [0.0, 0.3, 1.0])
def test_replacement_by_simulation(epsilon):
    X, y = data(12, 3)
    first, second = (np.array([1.0, 0.5, -1]), 2.0), (np.array([-0.5, 1.5, 0.2]), -1.0)
    found = replace_one_profile(epsilon, X, y, first, second, LAM, GAMMA)
    mean, error = simulated_replacement(epsilon, X, y, first, second)
    assert abs(found.forward - mean) < 4 * error
    mean, error = simulated_replacement(epsilon, X, y, second, first)
    assert abs(found.backward - mean) < 4 * error


def hockey_stick_on_a_grid(epsilon, one, two, steps=600):
    """The definition for two normal laws in the plane, by midpoints over 8 deviations."""
    (mean, cov), (other, spread) = one, two
    z = (np.arange(steps) + 0.5) / steps * 16 - 8
    z = np.stack(np.meshgrid(z, z), axis=-1).reshape(-1, 2)
    points = mean + z @ np.linalg.cholesky(cov).T
    loss = stats.multivariate_normal(mean, cov).logpdf(points)
    loss -= stats.multivariate_normal(other, spread).logpdf(points)
    gain = np.maximum(0, -np.expm1(epsilon - loss))
    return (np.exp(-(z**2).sum(axis=1) / 2) * gain).sum() / (2 * np.pi) * (16 / steps) ** 2


@pytest.mark.parametrize("seed", range(2))
def test_replacement_by_the_definition_where_both_records_bend_the_loss(seed):
    rng = np.random.default_rng(seed)
    X, y = rng.normal(size=(3, 2)), rng.normal(size=3)
    records, laws = [(2 * rng.normal(size=2), 2 * rng.normal()) for _ in range(2)], []
    for x, label in records:
        H = X.T @ X + LAM * np.eye(2) + np.outer(x, x)
        laws.append((np.linalg.solve(H, X.T @ y + x * label), np.linalg.inv(H) / GAMMA))
    found = replace_one_profile(0.3, X, y, *records, LAM, GAMMA)
    # midpoints err to second order in the step, and along the kink alone: below 1e-6 here
    assert_allclose(found.forward, hockey_stick_on_a_grid(0.3, *laws), atol=5e-6)
    assert_allclose(found.backward, hockey_stick_on_a_grid(0.3, *laws[::-1]), atol=5e-6)


@pytest.mark.parametrize("epsilon", [0.0, 0.2, 0.7])
def test_replacing_by_an_empty_record_is_removing(epsilon):
    X, y = data(12, 3)
    x, label = np.array([1.0, 0.5, -1]), 2.0
    found = replace_one_profile(epsilon, X, y, (x, label), (np.zeros(3), 1.0), LAM, GAMMA)
    add, remove = ops_profile(epsilon, *numbers(X, y, x, label))
    assert_allclose(found.forward, remove, atol=1e-10)
    assert_allclose(found.backward, add, atol=1e-10)


def test_replacing_a_label_only():
    X, y = data(12, 3)
    x = np.array([1.0, 0.5, -1])
    found = replace_one_profile([0.0, 0.5], X, y, (x, 1.0), (x, 1.5), LAM, GAMMA)
    H = X.T @ X + LAM * np.eye(3) + np.outer(x, x)  # one covariance: a Gaussian pair
    m = np.sqrt(GAMMA * x @ np.linalg.solve(H, x)) * 0.5
    from pdpbook.noise import gaussian_profile

    assert_allclose(found.forward, gaussian_profile([0.0, 0.5], m), atol=1e-10)
    assert_allclose(found.backward, found.forward, atol=1e-10)


def test_replacing_records_whose_labels_were_predicted_exactly():
    """No residuals: the loss is a pure quadratic, of no slope at all."""
    X, y = data(12, 3)[0], np.zeros(12)
    rows = np.array([1.0, 0.5, -1]), np.array([-0.5, 1.5, 0.2])
    records, laws = [(x, 0.0) for x in rows], []
    for x in rows:
        H = X.T @ X + LAM * np.eye(3) + np.outer(x, x)
        laws.append((np.zeros(2), np.stack(rows) @ np.linalg.solve(H, np.stack(rows).T) / GAMMA))
    found = replace_one_profile(0.3, X, y, *records, LAM, GAMMA)
    # midpoints as above; the two laws of the fitted values at both rows have the same losses
    assert_allclose(found.forward, hockey_stick_on_a_grid(0.3, *laws), atol=5e-6)
    assert_allclose(found.backward, hockey_stick_on_a_grid(0.3, *laws[::-1]), atol=5e-6)


# ---- several releases


@pytest.mark.parametrize(("leverage", "residual"), [(0.02, 0.8), (0.5, 2.0), (2.0, 0.0)])
def test_one_release_is_the_exact_profile_rounded_up(leverage, residual):
    epsilon = np.array([0.0, 0.1, 0.5, 1.0])
    found = composed_profile(epsilon, [leverage], [residual])
    exact = ops_profile(epsilon, leverage, residual)
    shifted = ops_profile(np.maximum(epsilon - 1e-4, 0), leverage, residual)
    for ours, below, above in zip(found, exact, shifted, strict=True):
        assert (ours >= below - 1e-12).all()
        assert (ours <= above + 1e-4).all()


def test_composed_profiles_have_the_shape_of_epsilon():
    table = composed_profile([[0.0, 0.5], [0.1, 1.0]], [0.5], [1.0])
    assert table.add.shape == table.remove.shape == (2, 2)
    alone = composed_profile(0.5, [0.5], [1.0])
    assert np.shape(alone.add) == np.shape(alone.remove) == ()
    assert alone.add == table.add[0, 1]


def test_ten_releases_by_simulation():
    mu, rho, k, epsilon = 0.02, 0.8, 10, 1.0
    found = composed_profile(epsilon, [mu], [rho], copies=k)
    assert_allclose(found.add, composed_profile(epsilon, [mu] * k, [rho] * k).add, rtol=1e-3)
    v = np.random.default_rng(5).normal(rho, np.sqrt(mu), (300_000, k))
    loss = -np.log1p(mu) / 2 + (v**2 - rho**2 / (1 + mu)) / 2
    gain = np.maximum(0, -np.expm1(epsilon - loss.sum(axis=1)))
    assert abs(gain.mean() - found.add) < 4 * gain.std() / np.sqrt(len(gain))
    assert ops_profile(epsilon, mu, rho * np.sqrt(k)).add < found.add  # one draw of k gamma


def test_losses_of_a_sample_join_those_of_other_mechanisms_in_each_direction():
    """Against simulation, beside three steps of DP-SGD, whose directions differ, too."""
    mu, rho, q, sigma, epsilon = 0.05, 1.5, 0.3, 1.0, 0.8
    losses = posterior_losses(mu, rho)
    assert_allclose(
        losses.get_delta_for_epsilon(epsilon), composed_profile(epsilon, [mu], [rho]).add
    )
    step = privacy_loss_distribution.from_gaussian_mechanism(
        sigma, sampling_prob=q, value_discretization_interval=1e-4
    )
    found = losses.compose(step.self_compose(3))
    rng, size = np.random.default_rng(8), 400_000
    normals = rng.standard_normal((size, 4))
    for without in (True, False):
        center, root = (rho, mu) if without else (rho / (1 + mu), mu / (1 + mu))
        v = center + np.sqrt(root) * normals[:, 0]
        loss = -np.log1p(mu) / 2 + (v**2 - rho**2 / (1 + mu)) / 2
        moved = 0 if without else rng.random((size, 3)) < q
        z = sigma * normals[:, 1:] + moved
        ratio = np.log(1 - q + q * np.exp((2 * z - 1) / (2 * sigma**2))).sum(axis=1)
        total = loss - ratio if without else ratio - loss
        gain = np.maximum(0, -np.expm1(epsilon - total))
        pmf = found._pmf_add if without else found._pmf_remove
        exact = pmf.get_delta_for_epsilon(epsilon)
        assert abs(gain.mean() - exact) < 5 * gain.std() / np.sqrt(size)


# ---- a record explained


def test_explain_says_what_and_why():
    X, y = data(50)
    everybody = np.vstack([X, X[0] * 5]), np.append(y, 30.0)
    about = explain(50, *everybody, LAM, GAMMA, DELTA)
    leverage, residual = numbers(X, y, X[0] * 5, 30.0)
    assert_allclose(about.leverage, leverage)
    assert_allclose(about.scaled_residual, residual)
    assert about.floor < about.epsilon
    assert_allclose(about.floor, ops_epsilon(DELTA, leverage, 0.0), rtol=1e-9)
    assert about.typical == np.median(per_instance_epsilon(*everybody, LAM, GAMMA, DELTA).leverage)
    assert "times the median" in str(about)
    inside = explain(3, X, y, LAM, GAMMA, DELTA)
    assert inside.epsilon == per_instance_epsilon(X, y, LAM, GAMMA, DELTA).epsilon[3]


# ---- bad input

X3, Y3 = np.eye(3), np.zeros(3)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: per_instance_epsilon(X3, Y3, -1, 1, 0.1), "lam must be finite and at least 0"),
        (lambda: per_instance_epsilon(X3, Y3, 1, 0, 0.1), "gamma must be finite and above 0"),
        (lambda: per_instance_epsilon(X3, Y3, 1, 1, 1), "delta must be above 0 and below 1"),
        (lambda: per_instance_epsilon(X3, Y3 * np.nan, 1, 1, 0.1), "y must be finite"),
        (lambda: per_instance_epsilon(X3[:2], Y3[:2], 0, 1, 0.1), "lam must be above 0"),
        (lambda: stream_per_instance([], 1, 1, 0.1), "blocks must hold at least one person"),
        (
            lambda: stream_per_instance([(X3, Y3), (X3[:, :2], Y3)], 1, 1, 0.1),
            "blocks must have one width",
        ),
        (lambda: stream_per_instance([(X3[:2], Y3[:2])], 0, 1, 0.1), "lam must be above 0"),
        (lambda: explain(3, X3, Y3, 1, 1, 0.1), "record must be a row number below 3"),
        (
            lambda: replace_one_profile(0, X3, Y3, ([1], 0), ([1], 0), 1, 1),
            "records must have 3 entries",
        ),
        (lambda: composed_profile(1, [0.1, 0.2], [1, 2, 3]), "leverage and scaled_residual must"),
        (lambda: composed_profile(1, [0.0], [1]), "leverage must be finite and above 0"),
        (lambda: composed_profile(-1, [0.1], [1]), "^epsilon must be finite and at least 0"),
        (lambda: composed_profile(1, [0.1], [1], copies=0), "^copies must be at least 1"),
        (lambda: explain(-1, X3, Y3, 1, 1, 0.1), "^record must be at least 0"),
    ],
)
def test_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


def test_a_stream_read_once_is_refused():
    with pytest.raises(TypeError, match="stream_per_instance reads blocks twice"):
        stream_per_instance(iter([(X3, Y3)]), 1, 1, 0.1)


def test_many_people_are_solved_as_few():
    n = 8199
    X, y = data(n)
    report = per_instance_epsilon(X, y, LAM, GAMMA, DELTA)
    fit = leave_one_out(X, y, LAM, np.ones(n))
    # both routes lose a few rounding errors times the condition number, which is near 1
    assert_allclose(report.theta, fit.theta, rtol=1e-11)
    assert_allclose(report.leverage, fit.leverage, rtol=1e-11)
    assert_allclose(report.residual, fit.residual, rtol=1e-9, atol=1e-11)
