"""The page of mechanisms (`pdpbook.minimal`): it is what the chapters show, and it is what runs.

Every public estimator has a counterpart there. At matching settings both draw from the same seed:
equal draws, from data of several sizes and from budgets of their own, mean equal centers and
scales. What a solver finds is held to its certificate. Changed constants are noticed.
"""

import ast
import inspect
import re
from functools import cache, partial
from types import SimpleNamespace

import minimal as tool
import nbformat
import numpy as np
import pytest
from mechanisms import KINDS, ROWS
from nbformat import v4
from reading import statements
from scipy import stats
from sklearn.base import clone

from pdpbook import guarantees, gwa, noise, pac, per_instance, user_level
from pdpbook.datasets import make_ridge_data, sample_budgets
from pdpbook.gradient import DPSGDRegression, GradientDescentRidge
from pdpbook.guarantees import PureDP
from pdpbook.logistic import LogisticObjectivePerturbation
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, SampledRidge, keep_probabilities, mean_square_error
from pdpbook.posterior import AdaOPS, OnePosteriorSample, largest_scaled_residual
from pdpbook.ridge import leave_one_out
from pdpbook.sensitivity import ridge_constant
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge, adassp_coefficients
from pdpbook.user_level import (
    SampleLimitedMean,
    WeightedGradientDescent,
    WeightedMean,
    WeightedOutputPerturbation,
)

SOURCE = tool.tangled(measures=True)
TREE = ast.parse(SOURCE)
FUNCTIONS = [node for node in TREE.body if isinstance(node, ast.FunctionDef)]


def module(tree=TREE):
    """The page as it would be imported, perhaps with something changed."""
    names = {}
    exec(compile(tree, "minimal.py", "exec"), names)
    return SimpleNamespace(**names)


# --- it is what the chapters show ----------------------------------------------------------------


def test_the_page_is_what_the_notebooks_say():
    found = tool.MODULE.read_text(encoding="utf-8")
    assert tool.tangled() == found, "stale: run `make notebooks` or `python tools/minimal.py`"


@pytest.mark.parametrize("node", FUNCTIONS, ids=lambda node: node.name)
def test_a_mechanism_is_a_dozen_lines(node):
    first = min([node.lineno, *(one.lineno for one in node.decorator_list)])
    assert node.end_lineno - first < 12


def test_each_names_a_statement():
    known = {row["label"] for row in statements()}
    assert {one.label for one in tool.mechanisms()} <= known


def test_nothing_of_the_package_imports_it():
    for path in tool.MODULE.parent.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"pdpbook\.minimal|import minimal", text), path


FUNCTION = "@twice\ndef one(x):  # why\n    return x"


def book(monkeypatch, tmp_path, *labels, key="minimal"):
    """A chapter with the same function once for each of `labels`."""
    source = f"{FUNCTION}\n\n\nassert one(1) == 1\n"
    metadata = [{"tags": ["minimal"], key: label} for label in labels]
    cells = [v4.new_code_cell(source, metadata=each) for each in metadata]
    nbformat.write(v4.new_notebook(cells=cells), tmp_path / "b.ipynb")
    monkeypatch.setattr(tool, "published", lambda: {"a/b": tmp_path / "b.ipynb"})


def test_a_function_comes_without_its_calls_and_with_its_statement(monkeypatch, tmp_path):
    book(monkeypatch, tmp_path, {"one": "thm-x"})
    assert tool.mechanisms() == [tool.Mechanism("one", "thm-x", "a/b", FUNCTION)]
    assert tool.tangled().endswith("\n\n@twice\ndef one(x):  # thm-x: why\n    return x\n")


def test_what_only_measures_is_tested_and_stays_on_its_page(monkeypatch, tmp_path):
    book(monkeypatch, tmp_path, {"one": "thm-x"}, key="measures")
    assert tool.mechanisms() == [tool.Mechanism("one", "thm-x", "a/b", FUNCTION, releases=False)]
    assert tool.tangled() == tool.HEADER
    assert tool.tangled(measures=True).endswith("def one(x):  # thm-x: why\n    return x\n")


@pytest.mark.parametrize(
    ("labels", "why"),
    [
        ([{}], "one names no statement"),
        ([{"one": "thm-x"}, {"one": "thm-x"}], "one stands twice"),
        ([{"one": "thm-x", "two": "thm-y"}], "there is no two"),
    ],
)
def test_what_cannot_be_tangled_is_refused(monkeypatch, tmp_path, labels, why):
    book(monkeypatch, tmp_path, *labels)
    with pytest.raises(tool.Refused, match=why):
        tool.mechanisms()


# --- it is what runs -----------------------------------------------------------------------------
# A case draws with the page and with the package, and says how far apart they may be.


def cube(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(20, 60)), int(rng.integers(1, 9))
    X, y, _ = make_ridge_data(n, d, rng=rng)
    return X, y, float(10 ** rng.uniform(-0.5, 1.5)), sample_budgets(n, rng=rng)


def ball(seed):
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(200, 400)), int(rng.integers(2, 5))
    X = rng.normal(size=(n, d))
    X /= np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    return X, np.clip(X[:, 0] + rng.normal(0, 0.3, n), -1, 1)


def crowd(seed):
    """Rows, labels, owners and a budget for each owner."""
    rng = np.random.default_rng(seed)
    m, d = int(rng.integers(4, 9)), int(rng.integers(1, 4))
    users = np.repeat(np.arange(m), d + rng.integers(0, 9, m))
    X, y = rng.uniform(-1, 1, (len(users), d)), rng.uniform(-1, 1, len(users))
    return X, y, users, rng.uniform(0.2, 2, m)


def twins(seed):
    return np.random.default_rng(seed), np.random.default_rng(seed)


def close(mine, packaged, rtol=1e-9, atol=0.0):
    """Distance over tolerance, relative to the largest entry."""
    mine, packaged = np.asarray(mine), np.asarray(packaged)
    if mine.shape != packaged.shape:
        return np.inf
    far = np.abs(mine - packaged).max()
    return float(np.nan_to_num(far / (rtol * np.abs(packaged).max() + atol), nan=np.inf))


def plain(name, model):
    """The case of a function that asks for people of the cube and for settings by name."""
    wanted, settings = inspect.signature(getattr(PAGE, name)).parameters, model.get_params()

    def case(m, seed):
        X, y, lam, epsilon = cube(seed)
        found = []
        for own in ({"lam": lam}, {"lam": 30 * lam}) if "lam" in settings else ({},):
            one, two = twins(seed)
            law = clone(model).set_params(**own).output_law(X, y, epsilon=epsilon)
            given = settings | own | {"X": X, "y": y, "epsilon": epsilon, "rng": one}
            mine = getattr(m, name)(**{each: given[each] for each in wanted})
            found.append(close(np.atleast_1d(mine), law.sample(rng=two)))
        return max(found)

    case.__name__ = name
    return case


def pdp_op_with_a_delta(m, seed):
    X, y, lam, epsilon = cube(seed)
    epsilon, (one, two) = epsilon[:8].round(1) + 0.1, twins(seed)
    law = PDPRidge(lam, proof="published", delta=1e-4).output_law(X[:8], y[:8], epsilon=epsilon)
    losses = m.l2_laplace_eps0(epsilon, 1e-4, X.shape[1])
    return close(m.pdp_op(X[:8], y[:8], lam, losses, one), law.sample(rng=two), rtol=1e-7)


def pdp_op_huber(m, seed):
    """A millionth of the rate pays for the solver; both solvers are certified."""
    X, y, lam, epsilon = cube(seed)
    X, y, epsilon = X[:8], y[:8], epsilon[:8].round(1) + 0.1
    found, delta = [], 1e-4 * (seed % 2)
    for c in ({}, {"c": 0.3}):
        one, two = twins(seed)
        model = PDPRidge(lam, loss="huber", delta=delta, huber_threshold=c.get("c", 1.0))
        law = model.output_law(X, y, epsilon=epsilon)
        mine = m.pdp_op_huber(X, y, lam, epsilon, delta, one, **c)
        found.append(close(mine, law.sample(rng=two), rtol=5e-6))
    return max(found)


def sampled_ridge(m, seed):
    X, y, lam, epsilon = cube(seed)
    X, y, epsilon = X[:14], y[:14], epsilon[:14]
    t, (one, two) = float(np.median(epsilon)), twins(seed)
    model = SampledRidge(lam, proof="published", threshold=t, epsilon=epsilon)
    kept = two.random(14) < keep_probabilities(epsilon, t)
    law, mixture = model.conditional_law(X, y, kept), model.output_law(X, y)
    nearest = np.abs(mixture.centers - law.center).max(axis=1).min()
    assert nearest < 1e-12  # one of the parts of the output law
    assert np.allclose(mixture.etas, law.eta)
    return close(m.sampled_ridge(X, y, lam, epsilon, t, one), law.sample(rng=two))


def objective_perturbation(m, seed):
    """The gradient at the answer is the certificate: it bounds the distance to the minimizer."""
    X, y, lam, epsilon = cube(seed)
    lam = max(lam, 1.5 * X.shape[1] / epsilon.sum())
    heard = epsilon - 0.001 * epsilon.min()  # what is left for the tilt
    found = []
    for c in ({}, {"c": 0.4}):
        model = ObjectivePerturbation(lam, huber_threshold=c.get("c", 1.0))
        law = model.output_law(X, y, epsilon=epsilon)
        one, two = twins(seed)
        mine = m.objective_perturbation(X, y, lam, heard, one, **c)
        packaged = law.sample(rng=two)
        tilt = law.tilt_at(packaged)
        off = np.linalg.norm(law.tilt_at(mine) - tilt) / (2 * lam)
        allowed = 1e-8 * np.linalg.norm(packaged)
        found += [off / allowed, np.linalg.norm(mine - packaged) / allowed]
    return max(found)


def logistic_objective(m, seed):
    """As above: the gradient at the answer bounds the distance to the minimizer."""
    X, y, _, epsilon = cube(seed)
    X, y = 2 * X - 1, np.where(y > np.median(y), 1.0, -1.0)
    lam = 1.5 * X.shape[1] / epsilon.sum()
    heard = epsilon - 0.001 * epsilon.min()  # what is left for the tilt
    model = LogisticObjectivePerturbation(lam, classes=(-1, 1), bounds=(-1, 1))
    law = model.output_law(X, y, epsilon=epsilon)
    one, two = twins(seed)
    mine = m.logistic_objective(X, y, lam, heard, one)
    packaged = law.sample(rng=two)
    off = np.linalg.norm(law.tilt_at(mine) - law.tilt_at(packaged)) / (2 * lam)
    return max(off, np.linalg.norm(mine - packaged)) / (1e-8 * np.linalg.norm(packaged))


def pssp(m, seed, noise, delta):
    X, y, lam, epsilon = cube(seed)
    d, (one, two) = X.shape[1], twins(seed)
    model = SufficientStatisticsRidge(lam, noise=noise, delta=delta)
    drawn = model.output_law(X, y, epsilon=epsilon).sample(rng=two)
    own = (X, y, epsilon, delta) if delta else (X, y, epsilon)
    S, b = getattr(m, f"pssp_{noise}")(*own, one)
    fitted = model.set_params(random_state=seed).fit(X, y, epsilon=epsilon).coef_
    return max(
        close(np.r_[S[np.triu_indices(d)], b], drawn),
        close(S, S.T, rtol=1e-15),
        close(m.ridge_of_sums(S, b, lam), fitted, rtol=1e-8),
    )


def pssp_laplace(m, seed):
    return pssp(m, seed, "laplace", 0.0)


def pssp_gaussian(m, seed):
    return pssp(m, seed, "gaussian", 1e-5)


def noisy_descent(m, seed):
    X, y, lam, epsilon = cube(seed)
    model, found = GradientDescentRidge(lam, delta=1e-5, steps=4 + seed), []
    for own in (epsilon.round(1) + 0.1, 0.02 * epsilon.round(1) + 0.01):  # much is clipped there
        one, two = twins(seed)
        path = model.output_law(X, y, epsilon=own).sample(rng=two)
        mine = m.noisy_descent(X, y, lam, own, 1e-5, 4 + seed, one)
        found.append(close(mine, path[-X.shape[1] :]))
    return max(found)


def dpsgd(m, seed):
    X, y = ball(seed)
    one, two = twins(seed)
    model = DPSGDRegression(batch_size=20, epochs=1, clip_norm=0.3, noise_multiplier=1.5)
    law = model.output_law(X, y)
    mine = m.dpsgd(X, y, 20 / len(X), 20, 0.3, 0.1, law.steps, 1.5, one)
    return close(mine, law.sample(rng=two)[-X.shape[1] :])


def adassp(m, seed):
    X, y = ball(seed)
    X, y = X[: 40 * (1 + seed)], y[: 40 * (1 + seed)]
    one, two = twins(seed)
    law = AdaSSP(row_norm=1.0, epsilon=2.0).output_law(X, y)
    release = law.sample(rng=two)
    packaged = adassp_coefficients(release, X.shape[1], law.scale[0], failure=0.05)
    return close(m.adassp(X, y, 2.0, 1e-6, 0.05, one), packaged, rtol=1e-8)


def one_posterior_sample(m, seed):
    (X, y), found = ball(seed), []
    lam = 5.0 * 20**seed
    for epsilon, N in [(0.3, 500), (3.0, 500), (3.0, 3)]:
        one, two = twins(seed)
        model = OnePosteriorSample(lam, n_max=N, row_norm=1.0, delta=1e-2, epsilon=epsilon)
        law = model.output_law(X[:N], y[:N])
        gamma = m.ops_gamma(lam, epsilon, 1e-2, N)
        mine = m.posterior_sample(X[:N].T @ X[:N], X[:N].T @ y[:N], lam, gamma, one)
        found.append(close(mine, law.sample(rng=two), rtol=1e-8))
    return max(found)


def adaops(m, seed):
    return first_above_1(
        close(
            m.adaops(X.T @ X, X.T @ y, epsilon, delta, 500, kappa, twins(seed)[0]),
            packaged,
            rtol=1e-8,
        )
        for X, y, epsilon, delta, kappa, packaged in releases_of_adaops(seed)
    )


@cache
def releases_of_adaops(seed):
    """With a penalty, without one, doubled from 1 and from 0, and with no more than h = 1 needs."""
    X, y = ball(seed)
    lack, enough = (eigenvalue_near(h, X[:200], 2.0, 1e-5, seed) for h in (5.5, 6.1))
    found = []
    for n, by, epsilon, delta, kappa in [
        (9, 1, 4.0, 1e-3, 2.0),
        (9, 1, 4.0, 1e-3, 1e4),
        (200, lack, 2.0, 1e-5, 1e4),
        (200, enough, 2.0, 1e-5, 1e4),
        (200, 1, 4.0, 1e-3, 2.0),
        (9, 1, 12.0, 0.1, 1e4),
        (200, 1, 4.0, 1e-3, 1e4),
    ]:
        model = AdaOPS(epsilon=epsilon, delta=delta, n_max=500, kappa=kappa)
        model.set_params(row_norm=1.0, calibration="simple")
        law = model.output_law(X[:n] * by, y[:n])
        found.append((X[:n] * by, y[:n], epsilon, delta, kappa, law.sample(rng=twins(seed)[1])[1:]))
    return found


def first_above_1(distances):
    """The largest, unless one is above 1 before: some cases are slow."""
    found = [0.0]
    while found[-1] <= 1 and (one := next(distances, None)) is not None:
        found.append(one)
    return found[-1] if not found[-1] <= 1 else max(found)


def eigenvalue_near(goal, X, epsilon, delta, seed):
    """What to multiply the rows by, so that the first release of a fit is `goal`."""
    drawn = twins(seed)[0].normal() + stats.norm.ppf(delta / 4)
    least = goal + 1 - drawn / noise.gaussian_mu(epsilon / 3, delta / 4)
    return np.sqrt(least / np.linalg.eigvalsh(X.T @ X)[0])


def weighted_mean(m, seed):
    X, y, users, budgets = crowd(seed)
    found = []
    for sigma2 in (0.02, 1.0, 30.0):
        for own in (budgets, np.full(len(budgets), 0.7)):
            one, two = twins(seed)
            law = WeightedMean(sigma2=sigma2).output_law(
                X, y, users=users, epsilon=dict(enumerate(own))
            )
            mine = m.private_mean(y, users, 2.0, own, sigma2, one)
            found.append(close([mine], law.sample(rng=two)))
    one, two = twins(seed)
    law = WeightedMean(sigma2=1.0, epsilon=0.7).output_law(X, y, users=users)
    alike = m.private_mean(y, users, 2.0, 0.7, 1.0, one)
    sizes = np.bincount(users)
    level = user_level.tradeoff_weights(sizes, 1.0).h
    return max(*found, close([alike], law.sample(rng=two)), close(m.best_level(sizes, 1.0), level))


def limited_mean(m, seed):
    X, y, users, budgets = crowd(seed)
    found = []
    for h in (1, 3, 40):
        one, two = twins(seed)
        kept = m.limit_records(users, h, np.random.default_rng(5))
        law = SampleLimitedMean(max_rows=h, selection_seed=5).output_law(
            X, y, users=users, epsilon=dict(enumerate(budgets))
        )
        mine = m.limited_mean(y, users, kept, 2.0, budgets, one)
        found.append(close([mine], law.sample(rng=two)))
    return max(found)


def weighted_erm(m, seed):
    rng = np.random.default_rng(seed)
    X, _, users, budgets = crowd(seed)
    X = X / np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    y = rng.choice([-1.0, 1.0], len(X))
    steps, found = 5 + seed, []
    model = WeightedGradientDescent("logistic", delta=1e-5, radius=0.3, steps=steps, row_norm=1.0)
    model.set_params(classes=(-1, 1))
    for own in (budgets, 8 * budgets):  # few hit their caps, or most of them
        one, two = twins(seed)
        law = model.output_law(X, y, users=users, epsilon=dict(enumerate(own)))
        packaged = law.release(law.sample(rng=two))
        mine = m.weighted_erm(X, y, users, own, 1e-5, 0.3, steps, one)
        found.append(close(mine, packaged, rtol=1e-8))
    return max(found)


def noisy_minimizer(m, seed):
    rng = np.random.default_rng(seed)
    X, _, users, budgets = crowd(seed)
    X = X / np.maximum(1, np.linalg.norm(X, axis=1))[:, None]
    y = rng.choice([-1.0, 1.0], len(X))
    model = WeightedOutputPerturbation("logistic", radius=50.0, row_norm=1.0, classes=(-1, 1))
    found = []
    for A in (0.1, 5.0):  # few hit their caps, or most of them
        one, two = twins(seed)
        law = model.set_params(lam=0.02 * A, tradeoff=A).output_law(
            X, y, users=users, epsilon=dict(enumerate(budgets))
        )
        mine = m.noisy_minimizer(X, y, users, budgets, A, 0.02 * A, one)
        found.append(close(mine, law.sample(rng=two), rtol=1e-8))
    return max(found)


def gwa_regression(m, seed):
    """The matrix of the program is certified; so near the optimum, matrices are near, too."""
    X, y, users, budgets = crowd(seed)
    epsilon, (one, two) = dict(enumerate(budgets)), twins(seed)
    model = gwa.GWARegression(sigma2=0.1, tol=1e-9, y_bounds=(-1, 1))
    law = model.output_law(X, y, users=users, epsilon=epsilon)
    C = m.gwa(X, users, 0.1, budgets / 2)
    best = gwa.gwa_weights(X, users, sigma2=0.1, epsilon=budgets[users], width=2.0, tol=1e-9)
    _, _, gap = gwa.certify(
        C, X, users, multipliers=best.multipliers, sigma2=0.1, epsilon=budgets[users], width=2.0
    )
    off = np.sqrt((gap + best.gap) * best.objective / 0.1)  # of C: the squares are curved
    mine, packaged = m.gwa_release(C, y, users, budgets / 2, one), law.sample(rng=two)
    drawn = np.abs(packaged - law.center).max() / law.scale[0]
    b = 2 / budgets.min() * np.sqrt(len(X))
    near = off * (np.linalg.norm(y) + b * drawn) + 1e-8 * np.abs(packaged).max()
    return max(gap / 1e-6, float(np.abs(mine - packaged).max() / near))


def limited_regression(m, seed):
    X, y, users, budgets = crowd(seed)
    epsilon, (one, two) = dict(enumerate(budgets)), twins(seed)
    model = gwa.SampleLimitedRegression(max_rows=X.shape[1] + 1)
    law = model.output_law(X, y, users=users, epsilon=epsilon)
    units = [model.output_law(X, e, users=users, epsilon=epsilon).center for e in np.eye(len(y))]
    kept = np.abs(units).max(axis=1) > 1e-14
    mine = m.limited_regression(X, y, users, kept, budgets / 2, one)
    return close(mine, law.sample(rng=two), rtol=1e-8)


def two_stages(m, seed):
    X, y, users, budgets = crowd(seed)
    X, y, users = np.tile(X, (4, 1)), np.tile(y, 4), np.tile(users, 4)
    epsilon, (one, two) = dict(enumerate(20 * budgets)), twins(seed)
    order = np.argsort(users, kind="stable")
    X, y, users = X[order], 0.01 * y[order], users[order]
    model = gwa.TwoStageGWARegression(sigma2=1e-4, tol=1e-10)
    law = model.output_law(X, y, users=users, epsilon=epsilon)
    packaged = law.sample(rng=two)
    assert len(packaged) == 2 * X.shape[1]  # two stages paid
    mine = m.two_stage_gwa(X, y, users, 1e-4, 2.0, 20 * budgets, 0.25, 3.5, one)
    return close(mine, packaged[X.shape[1] :], rtol=1e-4)  # of two certified programs


class Fixed:
    """Normal noise as given, to read a covariance off a release."""

    def __init__(self, value):
        self.value = value

    def standard_normal(self, size):
        return self.value * np.ones(size)


def pac_regression(m, seed):
    """The moments and the last factor come from simulations; all else is held to rounding."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(30, 2)) * [1.0, 0.5]
    y = X @ [1.0, -1.0] + rng.normal(0, 0.3, 30)
    X, y, half = X - X.mean(axis=0), y - y.mean(), rng.random(30) < 0.5
    model = pac.PACRegression(
        alpha=2.0, combine="max", basis="svd", draws=4000, tol=0.1, random_state=seed
    )
    law, simulate = model.output_law(X, y, half), np.random.default_rng(seed).spawn(2)[0]
    moments = pac.difference_moments(
        pac.Pool(X, y, alpha=2.0), basis="svd", tol=0.1, max_draws=4000, rng=simulate
    )
    aim = pac.conditional_success_rate(0.75, 0.99)
    tau = pac.success_rate_to_snr(aim)
    Sigma = m.anisotropic_noise(moments.second, moments.basis, tau)
    factor = np.trace(law.cov) / np.trace(Sigma)  # of the certificate
    release = [
        m.pac_release(X, y, half, 2.0, factor * Sigma, np.zeros(3), np.inf, Fixed(e))
        for e in np.vstack([np.zeros(3), np.eye(3)])
    ]
    root = np.transpose(release[1:]) - release[0][:, None]
    differences = m.all_differences(X, y, half, 2.0)
    return max(
        close(release[0], law.mean, rtol=1e-8),
        close(root @ root.T, law.cov, rtol=1e-7),
        close(differences, pac.Pool(X, y, alpha=2.0).differences(half[None])[1][0], rtol=1e-8),
        close(Sigma, pac_rule(moments, tau), rtol=1e-9),
    )


def pac_rule(moments, tau):
    e = pac.lagrange_variances(moments.second, tau).max(axis=0)
    return moments.basis * e @ moments.basis.T


OF_THEIR_OWN = {
    PDPRidge: [pdp_op_with_a_delta, pdp_op_huber],
    SampledRidge: [sampled_ridge],
    LogisticObjectivePerturbation: [logistic_objective],
    ObjectivePerturbation: [objective_perturbation],
    SufficientStatisticsRidge: [pssp_laplace, pssp_gaussian],
    GradientDescentRidge: [noisy_descent],
    DPSGDRegression: [dpsgd],
    AdaSSP: [adassp],
    OnePosteriorSample: [one_posterior_sample],
    AdaOPS: [adaops],
    WeightedMean: [weighted_mean],
    SampleLimitedMean: [limited_mean],
    WeightedGradientDescent: [weighted_erm],
    WeightedOutputPerturbation: [noisy_minimizer],
    gwa.GWARegression: [gwa_regression],
    gwa.SampleLimitedRegression: [limited_regression],
    gwa.TwoStageGWARegression: [two_stages],
    pac.PACRegression: [pac_regression],
}
PAGE = module()
COUNTERPARTS = {
    kind: [plain(*one) for one in ROWS[kind].page.items()] + OF_THEIR_OWN.get(kind, [])
    for kind in KINDS
}


# What is no estimator, against the functions of the package.


def noises(m, seed):
    one, two = twins(seed)
    law, k = noise.ProductLaw(np.zeros(4), np.full(4, 2 / 0.7)), 2 + seed
    found = [close(m.laplace_noise(2, 0.7, 4, one), law.sample(rng=two))]
    mine = m.sample_l2_laplace(k, 0.4, (5,), rng=one)
    found.append(close(mine, noise.sample_l2_laplace(k, 0.4, 5, rng=two)))
    for d in (1, 2, 7):
        exact = noise.l2_laplace_profile(0.5, d, 1.5 + seed)
        found.append(close(m.l2_laplace_profile(0.5, d, 1.5 + seed), exact))
        exact = noise.l2_laplace_eps0(0.5, 1e-3, d)
        found.append(close(m.l2_laplace_eps0(0.5, 1e-3, d), exact, rtol=1e-8))
    found.append(
        close(m.gaussian_profile(0.5, 1.0 + seed), noise.gaussian_profile(0.5, 1.0 + seed))
    )
    found.append(close(m.gaussian_mu([0.3, 2.0], 1e-5), noise.gaussian_mu([0.3, 2.0], 1e-5)))
    return max(found)


def ridge_without_each(m, seed):
    X, y, lam, weights = cube(seed)
    fit = leave_one_out(X, y, lam, weights)
    theta, leverage, residual, move = m.absences(X, y, lam, weights)
    return max(
        close(theta, fit.theta),
        close(leverage, fit.leverage_in),
        close(residual, fit.residual),
        close(move, fit.move),
    )


def parts_of_an_error(m, seed):
    X, _, lam, weights = cube(seed)
    theta = np.random.default_rng(seed).normal(size=X.shape[1])
    exact = mean_square_error(X, lam, weights, 0.7, theta=theta, sigma=0.3)
    return close(m.error_parts(X, lam, weights, 0.7, theta, 0.3), list(vars(exact).values()))


def moves_without_each(m, seed):
    X, y, lam, _ = cube(seed)
    ones = np.ones((len(y), 1))
    means = np.abs(leave_one_out(ones, y, 0.0).move[:, 0])

    def fit(data):
        A, b = data[:, :-1], data[:, -1]
        return np.linalg.solve(A.T @ A + lam * np.eye(A.shape[1]), A.T @ b)

    moves = leave_one_out(X, y, lam, np.ones(len(y))).move
    return max(
        close(m.instance_sensitivity(np.mean, y), means),
        close(m.instance_sensitivity(fit, np.column_stack([X, y])), np.linalg.norm(moves, axis=1)),
    )


def bound_on_a_move(m, seed):
    w, d = cube(seed)[3], seed + 2
    return max(
        close(m.farthest_move(w, lam, d), w * ridge_constant(lam, d, "published"))
        for lam in (0.01, 0.5, 30.0)  # below and above d
    )


def randomized_response(m, seed):
    """The promise as the package knows it: an event may change by as much as a coin says truth."""
    epsilon, (one, two) = cube(seed)[3] + 0.5, twins(seed)
    bits = np.random.default_rng(seed + 9).integers(0, 2, len(epsilon))
    t = PureDP(epsilon, neighbors="replace-one").profile(0.0)
    fair = two.integers(0, 2, len(bits))
    told = np.where(two.random(len(bits)) < t, bits, fair)
    reports = m.personal_coin(bits, epsilon, one)
    cleaned, variance = 0.5 + (told - 0.5) / t, 1 / (4 * t**2)
    share = np.average(cleaned, weights=1 / variance)
    mine = m.survey_share(reports, epsilon)
    return max(close(reports, told), close(mine, [share, np.sqrt(1 / (1 / variance).sum())]))


def whole_numbers(m, seed):
    one, two = twins(seed)
    mine = m.noisy_total([2, 1], [1, 3], 0.7, 4000, one) - 5
    theirs = noise.sample_discrete_laplace(0.7, 4000, rng=two)
    return stats.ks_2samp(mine, theirs).statistic / 0.06  # passed by chance once in a million


def losses_of_ops(m, seed):
    X, y = ball(seed)
    people = per_instance.per_instance_epsilon(X, y, 2.0, 3.0, 1e-4)
    leverage, residual = m.ops_numbers(X, y, 2.0, 3.0)
    exact = per_instance.ops_profile(0.3, leverage, residual)
    rho = largest_scaled_residual(0.8, 1e-3, leverage[:5])
    return max(
        close(leverage, people.leverage),
        close(residual, people.scaled_residual),
        close(m.ops_exact(0.3, leverage, residual), exact, rtol=0, atol=1e-13),
        close(m.largest_residual(0.8, 1e-3, leverage[:5]), rho),
    )


def quantiles(m, seed):
    _, y, users, budgets = crowd(seed)
    y, weights, found = (y + 1) / 2, np.random.default_rng(seed).random(len(y)), []
    for level in (0.5, 0.1, 0.9):
        one, two = twins(seed)
        given = {"users": users, "epsilon": dict(enumerate(budgets)), "bounds": (0, 1)}
        law = user_level.quantile_law(y, level, weights=weights, **given)
        edges, mass = m.quantile_masses(y, level, users, budgets, weights)
        drawn = m.private_quantile(y, level, users, budgets, weights, one)
        found += [close(edges, law.edges), close(mass, law.masses, rtol=1e-8)]
        found.append(close(drawn, law.sample(rng=two)))
    return max(found)


def certificate_of_counts(m, seed):
    """The event from one half of the releases; its counts on the other half, by hand."""
    one, two = np.random.default_rng(seed).normal([[0.5], [0]], 1, (2, 300)).round(1)
    even = np.arange(300) % 2 == 0
    gaps = [np.mean(one[even] >= t) - np.mean(two[even] >= t) for t in one[even]]
    t = one[even][int(np.argmax(gaps))]
    a, b = ((part[~even] >= t).sum() for part in (one, two))
    low, high = stats.beta.ppf(0.05, a, 151 - a), stats.beta.ppf(0.95, b + 1, 150 - b)
    return close(m.certified_epsilon(one, two, 0.1), np.log(low / high), rtol=1e-7)


def noise_of_a_ceiling(m, seed):
    """An average of two numbers a person, in units of the noise that the page computes."""
    table = np.random.default_rng(seed).normal(size=(5, 2))

    def average(group):
        return group @ table / (1 + group.sum())

    def square(group):
        return np.sum((average(group + (np.arange(5) == seed)) - average(group)) ** 2)

    others = [np.array(g) for g in np.ndindex(*[2] * 5) if not g[seed]]
    noise = m.noise_for_ceiling(average, seed, 5, 0.65 + seed / 10)
    reached = np.mean([square(group) for group in others]) / noise**2
    return close(pac.snr_to_success_rate(reached, "tv"), 0.65 + seed / 10)


def steps_of_a_grid(m, seed):
    """Values near ties, three coordinates, sensitivities that fill their steps or do not."""
    _, _, lam, epsilon = cube(seed)
    moves, found = np.r_[0.5, 0.26, 0.1 + 0.3 * lam, np.ones(len(epsilon) - 3) * 0.74], []
    for value in ([0.374, -0.126, 3.0], [0.3749]):
        law = noise.grid_laplace(value, step=0.25, epsilon=epsilon, sensitivity=moves)
        near, rate = m.on_a_grid(np.array(value), moves, epsilon, 0.25)
        found += [close(near, law.center), close(rate, float(law.rate))]
    return max(found)


def sums_of_centered_rows(m, seed):
    X, y, lam, epsilon = cube(seed)
    model = SufficientStatisticsRidge(lam, centered=True, random_state=seed)
    model.fit(X, y, epsilon=epsilon)
    S, b = m.centered_sums(X, y, epsilon, np.random.default_rng(seed))
    return max(close(S, model.gram_), close(b, model.moment_))


def guesses_and_halves(m, seed):
    """Two lists of probabilities, every test of them; and half of a budget."""
    p, q = np.random.default_rng(seed).dirichlet(np.ones(4), 2)
    tests = np.array(list(np.ndindex(*[2] * 4)))
    best = ((tests @ p + (1 - tests) @ q) / 2).max()
    epsilon, delta = m.for_replacing(0.5 + seed, 1e-3)
    half = guarantees.half_budget(0.5 + seed, 1e-3)
    return max(close(m.best_guess(p, q), best), close(np.array([epsilon, delta]), np.array(half)))


def sums_through_a_filter(m, seed):
    """Questions that follow the last answer, and an account that says who takes part."""
    rng, (one, two) = np.random.default_rng(seed), twins(seed)
    records, mu = rng.integers(1, 60, 5) / 10, rng.integers(5, 30, 5) / 10

    def ask(records, said):
        return records if not said or said[-1] > 5 else records / 3

    account = guarantees.BudgetAccount(mu, neighbors="zero-out", kind=guarantees.GaussianDP)
    said = []
    for _ in range(8):
        x = ask(records, said)
        said.append(account.admit(x / 2.1) @ x + 2.1 * two.standard_normal())
    return close(m.filtered_sums(ask, records, mu, 2.1, 8, one), np.array(said))


FUNCTIONS_OF_THE_PACKAGE = [
    sums_through_a_filter,
    steps_of_a_grid,
    sums_of_centered_rows,
    guesses_and_halves,
    ridge_without_each,
    parts_of_an_error,
    moves_without_each,
    bound_on_a_move,
    randomized_response,
    noises,
    whole_numbers,
    certificate_of_counts,
    noise_of_a_ceiling,
    losses_of_ops,
    quantiles,
]
CASES = FUNCTIONS_OF_THE_PACKAGE + [case for cases in COUNTERPARTS.values() for case in cases]


def test_every_estimator_has_a_counterpart():
    assert [kind.__name__ for kind in KINDS if not COUNTERPARTS[kind]] == []


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("case", CASES, ids=lambda case: case.__name__)
def test_the_page_draws_what_the_package_draws(case, seed):
    assert case(PAGE, seed) <= 1


# --- a changed constant is noticed ---------------------------------------------------------------

# Constants of a search, not of a theorem: where it begins, how long it goes on, how exact it is.
OF_A_SEARCH = {
    "gaussian_mu": {1e-3, 10, 1e-15},
    "l2_laplace_profile": {1e-12, 1e-14},
    "l2_laplace_eps0": {2, 20, 1e-14},
    "weights_and_rate": {50},
    "huber_fit": {1e-13},
    "logistic_objective": {1e-13},
    "largest_residual": {0, 1e4, 80},
    "noisy_minimizer": {1e-13},
    "adaops": {1e-300},
    "ops_gamma": {0, 1e-4, 2000},
    "gwa": {1e-12},
}


def numbers(tree, name):
    """The numbers of the function `name`."""
    node = next(one for one in tree.body if getattr(one, "name", "") == name)
    found = [one for one in ast.walk(node) if isinstance(one, ast.Constant)]
    return [one for one in found if type(one.value) in (int, float)]


def changed(name, k):
    """The page with one number changed: a whole one by one, others by a percent."""
    tree = ast.parse(SOURCE)
    one = numbers(tree, name)[k]
    one.value = one.value + 1 if isinstance(one.value, int) else 1.01 * one.value
    return module(tree)


@cache
def callers():
    """The cases that come through each function."""
    found = {node.name: [] for node in FUNCTIONS}
    for case in CASES:
        space = module().pdp_op.__globals__  # where the functions look names up
        hits = set()
        for name in found:
            space[name] = partial(counted, hits, name, space[name])
        case(SimpleNamespace(**space), 0)
        for name in hits:
            found[name].append(case)
    return found


def counted(hits, name, function, *args, **kwargs):
    hits.add(name)
    return function(*args, **kwargs)


def noticed(page, case, seed):
    try:
        return not case(page, seed) <= 1
    except Exception:  # a shape, or an index: the same answer
        return True


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", [node.name for node in FUNCTIONS])
def test_a_changed_constant_is_noticed(name):
    cases, asleep = callers()[name], []
    for k, one in enumerate(numbers(TREE, name)):
        page = changed(name, k)
        tries = ((case, seed) for seed in range(3) for case in cases)
        if one.value not in OF_A_SEARCH.get(name, ()):
            if not any(noticed(page, *each) for each in tries):
                asleep.append(f"line {one.lineno}: {one.value}")
    assert cases
    assert asleep == []
