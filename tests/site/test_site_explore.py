"""The figures that react: their numbers are the package's, and they are driven as readers do.

The numbers need no built pages: the scripts are loaded into an empty one and asked on a grid.
"""

import itertools
import json
import re
from fractions import Fraction

import nbformat
import numpy as np
import pytest
from drive import pull
from scipy.integrate import quad
from scipy.optimize import brentq
from scipy.special import expit, logit
from scipy.stats import beta, binom, dlaplace, laplace, norm
from support import ROOT

from lab import comparison
from lab.comparison.penalties import by_penalty
from pdpbook import minimal, noise
from pdpbook.gradient import dpsgd_epsilon, dpsgd_total_variation, subsampled_gaussian_profile
from pdpbook.guarantees import BudgetAccount, GaussianDP, PureDP
from pdpbook.gwa import gwa_weights
from pdpbook.pac import (
    epsilon_to_success_rate,
    gaussian_success_rate,
    joint_covariance,
    joint_variances,
    snr_to_success_rate,
)
from pdpbook.per_instance import ops_epsilon, ops_profile, per_instance_epsilon
from pdpbook.personalized import (
    PDPRidge,
    PersonalizedMean,
    mean_square_error,
    pdp_weights,
    threshold_budgets,
)
from pdpbook.posterior import AdaptivePlan, worst_case_gamma
from pdpbook.ridge import leave_one_out, weighted_ridge
from pdpbook.sensitivity import capped_sensitivity, ridge_constant
from pdpbook.sufficient_statistics import SufficientStatisticsRidge
from pdpbook.user_level import (
    GradientTranscript,
    WeightedGradientDescent,
    calibrate_rho,
    convergence_constant,
    erm_tradeoff,
    sample_limit,
    sample_limit_value,
    tradeoff_value,
    tradeoff_weights,
)

SCRIPTS = ROOT / "book" / "_static" / "explore"
PAGES = {
    "bills": "book/intro",
    "coin": "book/foundations/coins",
    "budget": "book/personalized/pdp_op",
    "errors": "book/personalized/accuracy",
    "profile": "book/per_instance/ops_curve",
    "posterior": "book/per_instance/ops",
    "limit": "book/user_level/mean_limits",
    "mean": "book/user_level/mean",
    "erm": "book/user_level/erm",
    "gwa": "book/user_level/gwa",
    "ridge": "book/foundations/ridge",
    "replace": "book/personalized/sensitivity",
    "odds": "book/foundations/promises",
    "audit": "book/foundations/audits",
    "member": "book/pac/membership",
    "concave": "book/pac/membership",
    "tilt": "book/pac/noise",
    "levels": "book/per_instance/definitions",
    "shapes": "book/foundations/noise",
    "sums": "book/personalized/sums",
    "descent": "book/pac/dpsgd",
    "adaops": "book/per_instance/adaops",
    "belief": "book/synthesis/in_practice",
    "contest": "book/synthesis/one_dataset",
    "penalty": "book/synthesis/one_dataset",
    "plan": "book/synthesis/your_data",
    "filter": "book/per_instance/filters",
}
EXACT = 1e-6  # what a page is handed has seven digits: 5e-8 each, some twenty of them in a formula
every_figure = pytest.mark.parametrize("name", PAGES)


def written(name):
    """The committed cell of a page that hands the data to the script."""
    notebook = nbformat.read(ROOT / f"{PAGES[name]}.ipynb", as_version=4)
    [found] = [
        output.data["text/html"]
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if f'data-explore="{name}"' in output.get("data", {}).get("text/html", "")
    ]
    return found


def data_of(name):
    return json.loads(
        re.search(r'<script type="application/json">(.*?)</script>', written(name))[1]
    )


@pytest.fixture(scope="module")
def ask(browser):
    """Call a function of a script on a list of arguments, in Chromium."""
    with browser.new_context() as context:
        tab = context.new_page()
        for name in ["panel", *PAGES]:
            tab.add_script_tag(path=SCRIPTS / f"{name}.js")

        def call(function, calls):
            code = f"(calls) => calls.map((one) => explore.{function}(...one))"
            return tab.evaluate(code, calls)

        yield call


# --- the numbers ---------------------------------------------------------------------------------


def profile_grid():
    leverage, residual = np.geomspace(1e-3, 3.2, 12), [0, 0.1, 0.5, 1, 2, 3.5, 6]
    epsilon = [0, 0.01, 0.1, 0.5, 1, 2, 5, 10, 30, 100]
    return np.array(list(itertools.product(epsilon, leverage, residual)))


def test_profiles_are_those_of_the_package(ask):
    points = profile_grid()
    found = ask("profile.delta", points.tolist())
    exact = ops_profile(*points.T)
    for direction in ("add", "remove"):
        mine = np.array([one[direction] for one in found])
        np.testing.assert_allclose(mine, getattr(exact, direction), rtol=EXACT, atol=1e-100)


def test_smallest_epsilons_are_those_of_the_package(ask):
    points = np.array([[10.0**-k, *p[1:]] for k in (2, 6, 9) for p in profile_grid() if p[0] == 0])
    found = ask("profile.epsilon", points.tolist())
    exact = ops_epsilon(*points.T)
    # the package rounds up, by at most 1e-10 in the logarithm of delta
    np.testing.assert_allclose(found, exact, rtol=EXACT)
    assert (exact == 0).any()
    assert (exact > 10).any()


def test_the_participant_s_leverage_would_be_noticed(ask):
    [found] = ask("profile.delta", [[1.0, 0.5 / 1.5, 2.0]])
    assert abs(found["add"] / ops_profile(1.0, 0.5, 2.0).add - 1) > 0.1


def test_coins_keep_promises_and_have_worths_as_in_the_package(ask):
    data, budgets = data_of("coin"), np.r_[0.05:6.05:0.05]
    found = ask("coin.solve", [[e] for e in budgets])
    truth = PureDP(budgets, neighbors="replace-one").profile(0.0)
    np.testing.assert_allclose([one["truth"] for one in found], truth, rtol=EXACT)
    report = np.array([one["report"] for one in found])
    np.testing.assert_allclose(np.log(report / (1 - report)), budgets, rtol=EXACT)
    errors = [minimal.survey_share(np.ones(1), np.array([e]))[1] for e in budgets]
    worth = 1 / (4 * np.square(errors))
    np.testing.assert_allclose([one["worth"] for one in found], worth, rtol=EXACT)
    [none] = ask("coin.solve", [[0]])
    assert none == {"truth": 0, "report": 0.5, "worth": 0}
    right = data["size"] * np.interp(data["start"], budgets, worth)
    assert data["guesses"][data["right"]] == f"{right:.0f}"


def crowd_of(data, own):
    """The 1,800 budgets of the chapter, with that of one group changed."""
    budgets = [own if k == data["who"] else e for k, e in enumerate(data["budgets"])]
    return np.repeat(budgets, data["copies"])


@pytest.mark.parametrize("own", [0.01, 0.1, 0.2, 0.25, 0.6, 1.0])
def test_noise_weights_and_slopes_are_those_of_the_package(ask, own):
    data = data_of("budget")
    x = np.tile(np.arange(0.5, 360) / 360, 5)
    y = 0.8 * x + np.random.default_rng(1).uniform(-0.2, 0.2, 1800)
    [found] = ask("budget.solve", [[data, own]])
    budgets = crowd_of(data, own)
    for name, used in {
        "own": budgets,
        "threshold": threshold_budgets(budgets),
        "minimum": np.full(1800, budgets.min()),
    }.items():
        law = PDPRidge(data["lam"], proof="published").output_law(x[:, None], y, epsilon=used)
        rule = found[name]
        assert rule["noise"] == pytest.approx(1 / law.eta, rel=EXACT)
        assert rule["slope"] == pytest.approx(law.center[0], rel=EXACT)
        np.testing.assert_allclose(rule["used"], used[::360], rtol=EXACT)
        shares = pdp_weights(used).reshape(5, 360).sum(axis=1)
        np.testing.assert_allclose(rule["shares"], shares, rtol=EXACT)


@pytest.mark.parametrize("lam", [0.01, 1 / 9, 2.0])
@pytest.mark.parametrize(("members", "factor"), [(1800, 1), (400, 0.1), (12_000, 5)])
def test_parts_of_the_error_are_those_of_the_package(ask, members, factor, lam):
    data = data_of("errors")
    own = [e * factor if k in data["careful"] else e for k, e in enumerate(data["budgets"])]
    [found] = ask("errors.solve", [[data, {"members": members, "lam": lam, "factor": factor}]])
    x = np.sqrt(np.full((members, 1), data["second"]))  # only the mean of the squares counts
    budgets = np.repeat(own, members // 5)
    eta = PDPRidge(lam, proof="published").output_law(x, x[:, 0], epsilon=budgets).eta
    known = {"theta": [data["theta"]], "sigma": data["sigma"]}
    exact = mean_square_error(x, lam, pdp_weights(budgets), eta, **known)
    equal = mean_square_error(x, lam, None, eta, **known).label_noise
    assert found["penalty"] == pytest.approx(exact.bias, rel=EXACT)
    assert found["noise"] == pytest.approx(exact.privacy_noise, rel=EXACT)
    assert found["equal"] == pytest.approx(equal, rel=EXACT)
    assert found["less"] == pytest.approx(exact.label_noise - equal, abs=EXACT * equal)
    assert found["all"] == pytest.approx(exact.total, rel=EXACT)


CROWDS = [
    [1, 2, 10],
    [5],
    [7, 7, 7],
    [60, *[1] * 10],
    np.minimum(np.random.default_rng(1).zipf(1.5, 40), 200).tolist(),
]


@pytest.mark.parametrize("sizes", CROWDS, ids=len)
@pytest.mark.parametrize("tradeoff", [1e-3, 0.1, 9 / 8, 20.0, 1e3])
def test_limits_and_variances_are_those_of_the_package(ask, sizes, tradeoff):
    exact, whole = tradeoff_weights(sizes, tradeoff), sample_limit(sizes, tradeoff)
    [found] = ask("limit.best", [[sizes, tradeoff]])
    assert found["h"] == pytest.approx(exact.h, rel=EXACT)
    assert found["value"] == pytest.approx(exact.value, rel=EXACT)
    [threshold] = ask("limit.threshold", [[sizes, tradeoff]])
    value = sample_limit_value(threshold, sizes, tradeoff)
    assert value == pytest.approx(whole.value, rel=EXACT)
    limits = np.unique([1, 2, 3.5, *sizes, exact.h])
    calls = [[float(h), sizes, tradeoff] for h in limits]
    np.testing.assert_allclose(
        ask("limit.limited", calls), sample_limit_value(limits, sizes, tradeoff), rtol=EXACT
    )
    kept = np.minimum(sizes, limits[:, None])
    np.testing.assert_allclose(
        ask("limit.weighted", calls),
        [tradeoff_value(row / row.sum(), sizes, tradeoff) for row in kept],
        rtol=EXACT,
    )


@pytest.mark.parametrize("epsilon", [0.15, 0.2, 0.5, 1.0, 5.0])
def test_levels_and_errors_are_those_of_the_package(ask, epsilon):
    data = data_of("mean")
    sizes, kappa = np.repeat(data["sizes"], data["copies"]), 2 * (data["width"] / epsilon) ** 2
    exact = tradeoff_weights(sizes, data["sigma2"] / kappa)
    [found] = ask("mean.best", [[data["sizes"], data["copies"], data["sigma2"] / kappa]])
    assert found == pytest.approx(exact.h, rel=EXACT)
    for h in (0.3, 2.0, exact.h, 7.5, 40.0):
        [errors] = ask("mean.errors", [[h, data, epsilon]])
        weights = np.minimum(sizes, h) / np.minimum(sizes, h).sum()
        records = data["sigma2"] * (weights**2 / sizes).sum()
        assert errors["records"] ** 2 == pytest.approx(records, rel=EXACT)
        assert errors["noise"] ** 2 == pytest.approx(kappa * weights.max() ** 2, rel=EXACT)
        both = kappa * tradeoff_value(weights, sizes, data["sigma2"] / kappa)
        assert errors["both"] ** 2 == pytest.approx(both, rel=EXACT)
        [slices] = ask("mean.rest", [[h, data, data["sigma2"] / kappa]])
        left = data["sigma2"] / kappa * np.maximum(1 - h / sizes, 0).sum()
        assert sum(slices) == pytest.approx(left, rel=EXACT, abs=1e-12)
        assert (sum(slices) == pytest.approx(h, rel=EXACT)) == (h == exact.h)  # level nowhere else


@pytest.mark.parametrize("epsilon", [0.2, 1.0, 5.0])
def test_bounds_of_weighted_fits_are_those_of_the_package(ask, epsilon):
    data = data_of("erm")
    sizes, d, reach = np.repeat(data["sizes"], data["copies"]), data["d"], data["reach"]
    n, rho = int(sizes.sum()), calibrate_rho(epsilon, data["delta"])
    for level in (1, 6, 12.5, 40):
        weights = np.minimum(sizes, level) / np.minimum(sizes, level).sum()
        state = {"level": level, "epsilon": epsilon, "record": False}
        [found] = ask("erm.solve", [[data, state]])
        best = tradeoff_weights(sizes, erm_tradeoff(n, d, rho)).h
        assert found["best"] == pytest.approx(best, rel=EXACT)
        noise = 2 * reach * weights.max() * np.sqrt(d / rho)
        luck = reach * convergence_constant(n, d) * np.sqrt(weights**2 @ (1 / sizes))
        assert found["noise"] == pytest.approx(noise, rel=EXACT)
        assert found["luck"] == pytest.approx(luck, rel=EXACT)
        assert found["bound"] == pytest.approx(noise + luck, rel=EXACT)
        back = calibrate_rho(found["promised"], data["delta"])  # of what is promised
        shares = weights[:: data["copies"]] / weights.max()
        np.testing.assert_allclose(back, shares**2 * rho, rtol=EXACT)
        [rows] = ask("erm.solve", [[data, {**state, "record": True}]])
        back = calibrate_rho(rows["promised"], data["delta"])
        np.testing.assert_allclose(back, np.square(data["sizes"]) * rho, rtol=EXACT)
    assert data["guesses"][data["right"]] == "more than 60"
    [asked] = ask("erm.solve", [[data, {"level": 1, "epsilon": 1, "record": True}]])
    least = GaussianDP(40 * np.sqrt(2 * calibrate_rho(1, data["delta"])), neighbors="user")
    assert asked["promised"][-1] > 60
    assert least.profile(60.0) > data["delta"]


def normals(dice, count):
    """What the figure draws by its dice, written anew."""

    def uniform():
        nonlocal dice
        dice = (dice * 1664525 + 1013904223) % 2**32
        return (dice + 0.5) / 2**32

    pairs = [(uniform(), uniform()) for _ in range(count)]
    return np.array([np.sqrt(-2 * np.log(u)) * np.cos(2 * np.pi * v) for u, v in pairs])


@pytest.mark.parametrize("label", [1, -1])
@pytest.mark.parametrize("rule", [{"record": True, "level": 12}, {"level": 12}, {"level": 1}])
def test_walks_are_those_of_the_algorithm(ask, rule, label):
    data, epsilon, dice = data_of("erm"), 1.0, 3
    sizes, rho = np.array(data["sizes"]), calibrate_rho(epsilon, data["delta"])
    counts = sizes if rule.get("record") else np.minimum(sizes, rule["level"])
    weights = counts / (data["copies"] * counts.sum())
    hidden = weights[-1] / 40 if rule.get("record") else weights.max()
    [found] = ask("erm.plan", [[data, {**rule, "epsilon": epsilon}]])
    mu = 2 * weights[-1] / found["sigma"] * np.sqrt(data["steps"])
    assert found["weight"] == pytest.approx(weights[-1], rel=EXACT)
    assert found["apart"] == pytest.approx(mu, rel=EXACT)  # of a move of 2w in every step
    assert mu == pytest.approx(weights[-1] / hidden * np.sqrt(2 * rho), rel=EXACT)
    truth, rows, own = (np.array(data[key]) for key in ("truth", "rows", "own"))
    often, m = expit(rows @ truth), len(rows)
    mixed = (1 - weights[-1]) / m * np.r_[1 - often, often]
    law = GradientTranscript(
        X=np.vstack([rows, rows, own]),
        y=np.r_[-np.ones(m), np.ones(m), label],
        row_weights=np.r_[mixed, weights[-1]],
        starts=np.arange(2 * m + 1),
        clips=np.r_[mixed, weights[-1]],
        loss="logistic",
        radius=data["reach"],
        step_size=found["eta"],
        steps=data["steps"],
        sigma=found["sigma"],
    )
    crowd = np.repeat([[0.0, 0.0, 0.0]], 10, axis=0), np.tile([-1.0, 1.0], 5), np.arange(10)
    if not rule.get("record"):  # the step of the package, at this noise
        model = WeightedGradientDescent(
            "logistic", epsilon=epsilon, delta=data["delta"], steps=data["steps"],
            radius=data["reach"], row_norm=1.0, tradeoff=0.0,
        )  # fmt: skip
        own_law = model.output_law(*crowd[:2], users=crowd[2])
        share = 0.1 / hidden
        assert found["sigma"] == pytest.approx(own_law.sigma / share, rel=EXACT)
    size = data["reach"] / np.sqrt((data["steps"] + 1) * (1 + 3 * found["sigma"] ** 2))
    assert found["eta"] == pytest.approx(size, rel=EXACT)
    noise = normals(dice, data["d"] * data["steps"]).reshape(-1, data["d"])
    theta, points = np.zeros(3), [np.zeros(3)]
    for one in noise:
        step = law.step_size * (law.gradient(theta) + law.sigma * one)
        theta = law.project(theta - step)
        points.append(theta)
    [walk] = ask("erm.walk", [[data, {**rule, "epsilon": epsilon, "dice": dice}, label]])
    np.testing.assert_allclose(walk, points, rtol=1e-6, atol=1e-6)
    [released] = ask("erm.middle", [[walk]])
    np.testing.assert_allclose(released, np.mean(points, axis=0), rtol=1e-6, atol=1e-6)

    def risk(at):
        z = rows @ at
        return np.mean(often * np.logaddexp(0, -z) + (1 - often) * np.logaddexp(0, z))

    [above] = ask("erm.excess", [[data, released]])
    assert above == pytest.approx(risk(np.mean(points, axis=0)) - risk(truth), abs=1e-7)


@pytest.mark.parametrize("total", [0.01, 0.8, 10.0])
def test_beliefs_are_those_of_bayes_rule_at_the_largest_ratio(ask, total):
    data, before = data_of("belief"), [0.01, 0.1, 0.5, 0.7]
    found = np.array(ask("belief.after", [[p, total] for p in before]))
    np.testing.assert_allclose(found, expit(logit(before) + total), rtol=EXACT)
    back = ask("belief.budget", [[p, one] for p, one in zip(before, found.tolist(), strict=True)])
    np.testing.assert_allclose(back, total, rtol=EXACT)  # a difference of logarithms
    [end] = ask("belief.after", [[data["before"], data["epsilon"] * data["count"]]])
    assert data["guesses"][data["right"]] == "more than 99 %"
    assert end > 0.995


def swimmers(kinds, copies):
    """Hours and owner of every evening, and the column of its kind."""
    kind = np.repeat(np.arange(len(kinds)), [one["s"] for one in kinds])
    hours = np.array([one["x"] for one in kinds])[kind]
    owner = np.array([one["who"] for one in kinds])[kind]
    people = np.repeat(np.arange(copies), len(kind)) * (owner.max() + 1)
    return np.tile(hours, copies), np.tile(owner, copies) + people, np.tile(kind, copies)


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 4.0, 10.0])
def test_best_weights_of_a_regression_are_those_of_the_package(ask, epsilon):
    data = data_of("gwa")
    hours, owner, kind = swimmers(data["kinds"], data["copies"])
    [found] = ask("gwa.best", [[data, epsilon]])
    width = data["width"]
    best = gwa_weights(hours[:, None], owner, sigma2=1, epsilon=epsilon, width=width, tol=1e-11)
    assert found["variance"] == pytest.approx(best.objective, rel=EXACT)
    of_kinds = np.bincount(kind, best.C[0]) / data["copies"]
    np.testing.assert_allclose(found["u"], of_kinds, atol=1e-6 * of_kinds.max())
    thresholds = hours - best.C[0] / best.multipliers.item()  # of whoever counts; thm-gwa-dual
    for who, water in enumerate(found["water"]):
        longest = (owner == who) & (hours == hours[owner == who].max())
        np.testing.assert_allclose(thresholds[longest], water, atol=2e-5)
    for weights in ([1, 2, 3, 6, 20, 40], [1, 1, 1, 1, 0.5, 0.5], [1, 2, 3, 4, 0, 5]):
        [now] = ask("gwa.solve", [[data, weights, epsilon]])
        c = (np.array(weights) / [one["s"] for one in data["kinds"]])[kind]
        c = c / (c @ hours)
        moves = width * np.bincount(owner, c)
        assert now["records"] == pytest.approx(c @ c, rel=EXACT)
        assert now["noise"] == pytest.approx(2 * (moves.max() / epsilon) ** 2, rel=EXACT)
        np.testing.assert_allclose(now["moves"], moves[: data["members"]], rtol=EXACT)


@pytest.mark.parametrize("level", [1.2, 4.186, 20.0, 33.0])
def test_every_level_has_the_best_weights_for_its_noise(ask, level):
    """The budget at which noise and water balance there: no weights at all do better."""
    data = data_of("gwa")
    hours, owner, kind = swimmers(data["kinds"], data["copies"])
    [water] = ask("gwa.flood", [[data, level]])
    scale = level / (data["copies"] * sum(water))  # sigma^2 / (2 (B / epsilon)^2)
    epsilon = data["width"] * np.sqrt(2 * scale)
    width = data["width"]
    best = gwa_weights(hours[:, None], owner, sigma2=1, epsilon=epsilon, width=width, tol=1e-11)
    [now] = ask("gwa.pressed", [[data, level, epsilon]])
    assert now["variance"] == pytest.approx(best.objective, rel=EXACT)
    assert max(now["counts"]) == pytest.approx(level)
    of_kinds = np.bincount(kind, best.C[0]) / data["copies"]
    np.testing.assert_allclose(now["u"], of_kinds, atol=1e-6 * of_kinds.max())
    [other] = ask("gwa.pressed", [[data, 1.2 * level, epsilon]])
    assert other["variance"] > now["variance"] * (1 + 1e-4)


def test_the_mean_and_the_winners_are_those_of_the_crowd(ask):
    data, crowd = data_of("contest"), comparison.patients()
    hundred = crowd.lines()["mean"] / 100
    names = {"only the mean": "private mean", "objective": "objective", "clipped steps": "DP-SGD"}
    table = comparison.compare_patients(crowd, data["budgets"], list(names.values()))[0]
    rows = {row["name"]: row for row in data["rows"][::-1]}  # the first of each name
    for name, key in names.items():
        part = table[table.mechanism == key]
        np.testing.assert_allclose(rows[name]["errors"], part.error / hundred, atol=0.06)
        np.testing.assert_allclose(rows[name]["doubt"], part.noise_error / hundred, atol=0.006)
    assert data["floor"] == pytest.approx(crowd.lines()["least squares"] / hundred, abs=0.1)
    record = [row for row in data["rows"] if row["group"] < 2 and not row["rival"]]
    for k in range(len(data["budgets"])):
        [found] = ask("contest.solve", [[data, k]])
        bar = min(100, data["rows"][0]["errors"][k])
        wins = sum(row["errors"][k] + 2 * row["doubt"][k] < bar for row in record)
        assert (found["wins"], found["of"]) == (wins, 14)
    [asked] = ask("contest.solve", [[data, data["budget"]]])
    assert (asked["wins"], data["guesses"][data["right"]]) == (1, "one")


@pytest.mark.parametrize("name", ["PDPRidge, published", "PDPRidge, Huber", "OPS", "objective"])
def test_floor_bias_and_noise_are_those_of_the_mechanisms(ask, name):
    data, crowd = data_of("penalty"), comparison.patients()
    row = next(k for k, one in enumerate(data["rows"]) if one["key"] == name)
    lines = {key: 100 * v / crowd.lines()["mean"] for key, v in crowd.lines().items()}
    assert data["floor"] == pytest.approx(lines["least squares"], rel=EXACT)
    for k, epsilon in enumerate(data["budgets"][:3]):
        split, releases = by_penalty(crowd, name, epsilon, data["penalties"])
        errors = data["floor"] + 100 * split.sum(axis=1) / crowd.lines()["mean"]
        settings = [[data, row, k, j] for j in range(len(data["penalties"]))]
        found = ask("penalty.solve", settings)
        assert [one is None for one in found] == np.isnan(errors).tolist()
        drawn = [one["error"] for one in found if one]
        assert drawn == pytest.approx(errors[~np.isnan(errors)].tolist(), rel=1e-5)
        exact = [100 * one.error(crowd) / crowd.lines()["mean"] for one in releases]
        assert drawn == pytest.approx(exact, rel=1e-5)  # the parts add up to the error
        [least] = ask("penalty.lowest", [[data, row, k]])
        assert least["place"] == np.nanargmin(errors)
        assert least["error"] == pytest.approx(np.nanmin(errors), rel=1e-5)


def test_rows_below_the_mean_are_counted_without_those_that_have_no_penalty(ask):
    data = data_of("penalty")
    ways = [one["parts"] for one in data["rows"] if one["moves"]]
    settings = [(k, j) for k in range(len(data["budgets"])) for j in range(len(data["penalties"]))]
    counts = [
        sum(part[k][j] is not None and data["floor"] + sum(part[k][j]) < 100 for part in ways)
        for k, j in settings
    ]
    assert ask("penalty.below", [[data, k, j] for k, j in settings]) == counts
    assert {0, 1, 6} <= set(counts)


@pytest.mark.parametrize("column", [1, 5, 12, 30])
def test_plans_lie_between_those_that_were_rehearsed(ask, column):
    data = data_of("plan")
    rows = np.array(data["explained"][data["columns"].index(column)])
    for people, budget in [(100, 0.1), (980, 0.4), (20_000, 0.2), (1_000_000, 3)]:
        state = {"people": people, "budget": budget, "column": column}
        [found] = ask("plan.solve", [[data, state]])
        total, logs = people * budget, np.log(data["totals"])
        assert found["total"] == pytest.approx(total, rel=EXACT)
        exact = [np.interp(np.log(total), logs, row) for row in rows]
        np.testing.assert_allclose(found["values"], exact, rtol=EXACT, atol=1e-12)
        assert found["best"] == int(np.argmax(exact))
        nearest = np.abs(logs - np.log(np.clip(total, *data["totals"][:: len(logs) - 1]))).argmin()
        mine = data["penalties"][data["columns"].index(column)]
        assert found["penalty"] == mine[found["best"]][nearest]
    assert (np.diff(rows.max(axis=0)) > -0.01).all()  # more people explain more
    [asked] = ask("plan.solve", [[data, data]])
    assert data["guesses"][data["right"]] == "less than a fifth"
    assert max(asked["values"]) < 0.2


@pytest.mark.parametrize("who", range(5))
@pytest.mark.parametrize("point", [(0.0, 0.7), (0.45, -0.5), (1.0, 1.0)])
def test_fits_without_each_are_those_of_the_package(ask, who, point):
    data = data_of("ridge")
    x, y = np.array(data["x"]), np.array(data["y"])
    x[who], y[who] = point
    exact = leave_one_out(x[:, None], y, data["lam"])
    [found] = ask("ridge.solve", [[x.tolist(), y.tolist(), data["lam"]]])
    assert found["slope"] == pytest.approx(exact.theta[0], rel=EXACT)
    for name, theirs in {
        "leverage": exact.leverage_in,
        "residual": exact.residual_in,
        "surprise": exact.residual,
        "move": exact.move[:, 0],
    }.items():
        mine = [one[name] for one in found["people"]]
        np.testing.assert_allclose(mine, theirs, rtol=EXACT, atol=1e-12)


def ball(crowd, w, lam, row, label):
    """Both coefficients, with one record of weight w among others."""
    X, y = np.vstack([crowd["rows"], row]), np.append(crowd["labels"], label)
    return weighted_ridge(X, y, lam, np.append((1 - w) * np.array(crowd["shares"]), w))


@pytest.mark.parametrize("crowd", range(4))
@pytest.mark.parametrize("place", [(0, 450), (1, 45), (4, 5), (11, 2)], ids=str)
def test_the_ball_and_its_circles_are_those_of_the_package(ask, crowd, place):
    data = data_of("replace")
    lam, members = data["lams"][place[0]], place[1]
    w, records = 1 / members, [(0.0, 1.0, -1.0), (1.0, 1.0, -1.0), (0.55, 0.2, 0.3)]
    published = ridge_constant(lam, 2, "published") * w
    smallest = capped_sensitivity(w, lam, 2)
    old = ball(data["crowds"][crowd], w, lam, data["old"][:2], data["old"][2])
    found = ask("replace.solve", [[data, crowd, one, members, lam] for one in records])
    for (*row, label), one in zip(records, found, strict=True):
        new = ball(data["crowds"][crowd], w, lam, row, label)
        assert one["before"] == pytest.approx(old, rel=1e-5, abs=1e-9)
        assert one["after"] == pytest.approx(new, rel=1e-5, abs=1e-9)
        assert one["move"] == pytest.approx(np.linalg.norm(new - old), rel=1e-4)
        assert one["radius"] == pytest.approx(published, rel=EXACT)
        assert one["smallest"] == pytest.approx(smallest, rel=EXACT)
        assert one["move"] <= smallest <= published * (1 + EXACT)
        # What the table says of the proof: the pull is what the old bowl resists there.
        rows, weights = np.array(data["crowds"][crowd]["rows"]), data["crowds"][crowd]["shares"]
        H = (1 - w) * rows.T @ np.diag(weights) @ rows + lam * np.eye(2)
        H += w * np.outer(data["old"][:2], data["old"][:2])
        assert one["pull"] == pytest.approx(np.linalg.norm(2 * H @ (new - old)), rel=1e-4)
        assert one["gained"]["residual"] == pytest.approx(label - row @ new, rel=1e-5)
        assert one["pull"] / (2 * lam) >= one["move"] * (1 - EXACT)


def test_no_record_of_the_square_takes_the_ball_out_of_a_circle(ask):
    data, rng = data_of("replace"), np.random.default_rng(4)
    settings = [
        [
            data,
            int(rng.integers(4)),
            [*rng.integers(0, 2, 2).tolist(), int(rng.choice([-1, 1]))],
            int(rng.choice(data["members"])),
            float(rng.choice(data["lams"])),
        ]
        for _ in range(300)
    ]
    found = ask("replace.solve", settings)
    assert all(one["move"] <= one["smallest"] * (1 + EXACT) for one in found)
    assert all(one["smallest"] <= one["radius"] * (1 + EXACT) for one in found)
    assert max(one["move"] / one["radius"] for one in found) > 0.9  # the circle is not idle


@pytest.mark.parametrize("gamma", [1, 25, 100])
@pytest.mark.parametrize(("who", "point"), [(4, (1.0, 0.2)), (4, (0.0, 0.7)), (1, (0.9, -0.2))])
def test_posterior_losses_are_those_of_the_package(ask, gamma, who, point):
    data = data_of("posterior")
    x, y = np.array(data["x"]), np.array(data["y"])
    x[who], y[who] = point
    exact = per_instance_epsilon(x[:, None], y, data["lam"], gamma, data["delta"])
    [found] = ask("posterior.solve", [[x.tolist(), y.tolist(), data["lam"], gamma]])
    assert found["slope"] == pytest.approx(exact.theta[0], rel=EXACT)
    assert found["precision"] == pytest.approx(gamma * (x @ x + data["lam"]), rel=EXACT)
    mine = [[one["leverage"], one["residual"]] for one in found["people"]]
    theirs = np.transpose([exact.leverage, exact.scaled_residual])
    np.testing.assert_allclose(mine, theirs, rtol=EXACT, atol=1e-12)
    losses = ask("posterior.loss", [[data["delta"], *one] for one in mine])
    np.testing.assert_allclose(losses, exact.epsilon, rtol=1e-6)


@pytest.mark.parametrize("leverage", [0.01, 1.0, 3.0])
@pytest.mark.parametrize("residual", [0.0, 2.0, -5.0])
def test_the_bowl_is_the_log_ratio_of_two_normal_densities(ask, leverage, residual):
    v = np.linspace(-8, 8, 33)
    without = norm(residual, leverage**0.5).logpdf(v)
    inside = norm(residual / (1 + leverage), (leverage / (1 + leverage)) ** 0.5).logpdf(v)
    found = ask("posterior.evidence", [[leverage, abs(residual), one] for one in v.tolist()])
    np.testing.assert_allclose(found, without - inside, rtol=EXACT, atol=EXACT)


def test_curves_of_the_drawn_line_are_those_of_the_package(ask):
    points = profile_grid()
    found = np.array(ask("posterior.add", points.tolist()))
    exact = ops_profile(*points.T).add
    seen = exact > 1e-30
    np.testing.assert_allclose(found[seen], exact[seen], rtol=1e-5)


@pytest.mark.parametrize("epsilon", [0.1, 0.5, 2.0, 10.0])
def test_clouds_and_beliefs_are_those_of_the_noise(ask, epsilon):
    data = data_of("odds")
    noise = dlaplace(epsilon / (data["high"] - data["low"]))
    results = np.arange(data["results"][0], data["results"][1] + 1)
    cloud = {end: noise.logpmf(results - data[end]) for end in ("low", "high")}
    for end, exact in cloud.items():
        found = ask("odds.likely", [[data, epsilon, data[end], int(r)] for r in results])
        np.testing.assert_allclose(found, np.exp(exact - noise.logpmf(0)), rtol=EXACT)
    times = ask("odds.ratio", [[data, epsilon, int(r)] for r in results])
    np.testing.assert_allclose(np.log(times), cloud["high"] - cloud["low"], atol=EXACT)
    assert np.log(times).max() == pytest.approx(epsilon, rel=EXACT)
    for prior in (0.001, 0.5, 0.99):
        found = ask("odds.belief", [[prior, t] for t in times])
        np.testing.assert_allclose(found, expit(logit(prior) + np.log(times)), rtol=EXACT)
    [most] = ask("odds.belief", [[0.5, max(times)]])
    assert most == pytest.approx(epsilon_to_success_rate(epsilon, 0.0), rel=EXACT)


@pytest.mark.parametrize("n", [10, 100, 1000, 100_000])
def test_bounds_are_those_of_clopper_and_pearson(ask, n):
    hits = np.unique([0, 1, n // 100, n // 5, n // 2, n - 1, n])
    with np.errstate(invalid="ignore"):
        low, high = beta.ppf(0.025, hits, n - hits + 1), beta.ppf(0.975, hits + 1, n - hits)
    each = [[n, int(k), 0.025, data_of("audit")["z"]] for k in hits]
    np.testing.assert_allclose(ask("audit.lower", each), np.where(hits > 0, low, 0), rtol=EXACT)
    np.testing.assert_allclose(ask("audit.upper", each), np.where(hits < n, high, 1), rtol=EXACT)


BUDGETS = [(0.5, 1), (0.5, 0.6), (0.1, 0.4), (2, 2), (1, 0.5)]  # claimed and actual


@pytest.mark.parametrize(("claimed", "spent"), BUDGETS)
def test_chances_that_an_audit_notices_are_sums_over_all_counts(ask, claimed, spent):
    data, noise = data_of("audit"), dlaplace(spent / 5)
    p, q = ask("audit.chances", [[spent]])[0]
    np.testing.assert_allclose([p, q], noise.sf([-1, 4]), rtol=EXACT)  # 11 or more, at 11 and at 6
    for n in (10, 100, 300, 1000):
        k = np.arange(n + 1)
        low = np.r_[0, beta.ppf(data["alarm"] / 2, k[1:], n - k[1:] + 1)]
        high = np.r_[beta.ppf(1 - data["alarm"] / 2, k[:-1] + 1, n - k[:-1]), 1]
        refuted = low[:, None] > np.exp(claimed) * high
        exact = binom(n, p).pmf(k) @ refuted @ binom(n, q).pmf(k)
        [found] = ask("audit.noticed", [[data, n, claimed, spent]])
        assert found == pytest.approx(exact, rel=EXACT, abs=1e-12)
        assert exact <= data["alarm"] or spent > claimed
    [least] = ask("audit.certified", [[data, 200, 110, 40]])
    low, high = beta.ppf(0.025, 110, 91), beta.ppf(0.975, 41, 160)
    assert least == pytest.approx(np.log(low / high), rel=EXACT)


def best_rates(notes, who, size):
    """The best guess from the total, by crossings of two densities; without noise by counting."""
    groups = np.array(list(itertools.product([0, 1], repeat=len(notes))))
    at = [groups[groups[:, who] == k] @ np.array(notes) for k in (0, 1)]
    if not size:
        both = [np.bincount(one, minlength=sum(notes) + 1) for one in at]
        return np.maximum(*both).sum() / len(groups), 1

    def gap(x):
        return np.subtract(*[norm.pdf(x, one[:, None], size).mean(axis=0) for one in at])

    grid = np.linspace(-9 * size, sum(notes) + 9 * size, 20_001)
    turns = np.flatnonzero(np.diff(np.sign(gap(grid))))
    cuts = [brentq(lambda x: gap(np.array([x]))[0], *grid[k : k + 2], xtol=1e-13) for k in turns]
    edges = np.r_[-np.inf, cuts, np.inf]
    mass = [np.diff(norm.cdf(edges, one[:, None], size).mean(axis=0)) for one in at]
    return np.maximum(*mass).sum() / 2, gaussian_success_rate(notes[who] / size)


@pytest.mark.parametrize("who", range(5))
def test_best_rates_of_members_are_those_of_the_listed_groups(ask, who):
    data = data_of("member")
    for size in data["levels"]:
        [found] = ask("member.rates", [[data, who, size]])
        board, informed = best_rates(data["notes"], who, size)
        np.testing.assert_allclose([found["board"], found["all"]], [board, informed], atol=2e-6)
    [right] = ask("member.rates", [[data, 0, 0]])
    assert data["guesses"][data["right"]] == "80 %"
    assert f"{100 * right['board']:.0f} percent" in data["answer"]


@pytest.mark.parametrize(("who", "size"), [(0, 0), (3, 4), (4, 24)])
def test_the_best_guesser_of_a_thousand_rounds_has_the_best_rate(ask, who, size):
    data, rounds = data_of("member"), 20_000
    [[rate], [right]] = (
        ask(f"member.{name}", [[data, who, size, *more]])
        for name, more in (("rates", []), ("machine", [rounds]))
    )
    assert abs(right / rounds - rate["board"]) < 5 * np.sqrt(0.25 / rounds)  # once in two million


@pytest.mark.parametrize("who", range(5))
@pytest.mark.parametrize("size", [0.5, 1.78, 16])
def test_dots_and_their_center_are_those_of_the_sixteen_groups(ask, who, size):
    data, notes = data_of("concave"), np.array(data_of("member")["notes"])
    groups = np.array(list(itertools.product([0, 1], repeat=5)))
    others = groups[groups[:, who] == 0]
    joined = others + (np.arange(5) == who)
    steps = np.abs(np.subtract(*[(g @ notes) / (1 + g.sum(axis=1)) for g in (joined, others)]))
    np.testing.assert_allclose(data["steps"][who], steps, rtol=EXACT, atol=EXACT)
    [found] = ask("concave.solve", [[data["steps"][who], size]])
    rates = gaussian_success_rate(steps / size)
    np.testing.assert_allclose(found["rates"], rates, atol=1e-7)
    assert found["rate"] == pytest.approx(rates.mean(), abs=1e-7)
    ceiling = snr_to_success_rate(np.mean((steps / size) ** 2), "tv")
    assert found["ceiling"] == pytest.approx(ceiling, abs=1e-7)
    assert found["rate"] <= found["ceiling"]


@pytest.mark.parametrize("degrees", [0, 5, 30, 45, 70, 90])
def test_steps_in_units_of_the_noise_and_the_cheapest_are_those_of_the_package(ask, degrees):
    moves, t = np.array(data_of("tilt")["moves"]), np.deg2rad(degrees)
    V = np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])
    for along, across in [(52, 52), (60, 12), (1, 120)]:
        Sigma = V * [along, across] @ V.T
        squares = np.einsum("ij,ij->i", moves, np.linalg.solve(Sigma, moves.T).T)
        found = ask("tilt.exposure", [[m.tolist(), along, across, degrees] for m in moves])
        np.testing.assert_allclose(found, squares, rtol=EXACT, atol=EXACT)
        rates = ask("tilt.rate", [[square] for square in squares])
        np.testing.assert_allclose(rates, gaussian_success_rate(np.sqrt(squares)), atol=1e-8)
    [found] = ask("tilt.cheapest", [[moves.tolist(), degrees]])
    best = joint_variances((moves @ V) ** 2, 1.0)
    assert best.lower_bound - 1e-6 <= sum(found) <= best.value + 1e-6
    if degrees == 45:
        np.testing.assert_allclose(found, [60, 12], atol=1e-5)


@pytest.mark.parametrize("joined", [False, True])
@pytest.mark.parametrize("degrees", [0, 20, 45, 63, 110, 171])
def test_who_holds_the_band_is_the_mixture_of_the_package(ask, joined, degrees):
    data, t = data_of("tilt"), np.deg2rad(degrees)
    moves = np.array([*data["moves"], data["eva"]][: 6 if joined else 5])
    squares = (moves @ np.array([[np.cos(t), -np.sin(t)], [np.sin(t), np.cos(t)]])) ** 2
    best = joint_variances(squares, 1.0)
    [rest] = ask("tilt.cheapest", [[moves.tolist(), degrees]])
    most = squares[:, 0].max()
    for along in (most + 0.3, most + 20, most + 90, rest[0]):
        [band] = ask("tilt.hold", [[moves.tolist(), along, degrees]])
        exposures = squares @ [1 / along, 1 / band["across"]]
        assert exposures.max() == pytest.approx(1, rel=1e-9)  # all inside, and somebody touches
        weights = np.array(band["weights"])
        assert weights.sum() == pytest.approx(1)
        assert weights.min() >= 0
        assert exposures[weights > 0] == pytest.approx(1, rel=1e-6)
        price = np.sqrt(weights @ squares).sum() ** 2  # of the mixture; by duality no more
        assert band["least"] == pytest.approx(price, rel=EXACT)
        assert price <= best.value * (1 + 1e-6) <= (along + band["across"]) * (1 + 2e-6)
    assert band["hand"] == pytest.approx(0, abs=1e-5)  # where the band rests the two prices meet
    assert price == pytest.approx(best.value, rel=1e-5)


def test_eva_pushes_chi_off_the_band(ask):
    data = data_of("tilt")
    moves = [*data["moves"], data["eva"]]
    found = ask("tilt.cheapest", [[moves, degrees] for degrees in range(180)])
    degrees = int(np.argmin(np.sum(found, axis=1)))
    free = joint_covariance([np.outer(u, u) for u in moves], 1.0)
    assert free.lower_bound - 1e-6 <= sum(found[degrees]) < 1.001 * free.value
    [band] = ask("tilt.hold", [[moves, found[degrees][0], degrees]])
    weights = dict(zip([*data["names"], "Eva"], band["weights"], strict=True))
    assert {name for name, weight in weights.items() if weight} == {"Dora", "Eva"}
    assert weights["Dora"] == pytest.approx(0.4, abs=0.02)


def moves_without_each(answers):
    """How far a mean moves without each answer, computed anew."""
    return np.abs([np.mean(answers) - np.delete(answers, k).mean() for k in range(len(answers))])


@pytest.mark.parametrize("who", range(5))
@pytest.mark.parametrize("own", [0.0, 1.7, 5.0])
def test_reports_bounds_and_the_promise_are_those_of_the_package(ask, who, own):
    data = data_of("levels")
    answers = np.array(data["answers"])
    answers[who] = own
    [found] = ask("levels.solve", [[answers.tolist(), data]])

    def losses(given):
        fit = leave_one_out(np.ones((len(given), 1)), given, lam=0)
        return np.abs(fit.move[:, 0]) / data["noise"]

    mine = {
        key: [one[key] for one in found["people"]] for key in ("others", "loss", "bound", "answer")
    }
    np.testing.assert_allclose(mine["loss"], losses(answers), rtol=EXACT, atol=1e-15)
    slow = moves_without_each(answers) / data["noise"]
    np.testing.assert_allclose(mine["loss"], slow, rtol=EXACT, atol=1e-15)
    for k in range(5):
        rest = np.delete(answers, k)
        assert mine["others"][k] == pytest.approx(rest.mean(), rel=EXACT)
        any_answer = [
            losses(np.r_[rest, v])[-1] for v in np.linspace(data["low"], data["high"], 51)
        ]
        assert mine["bound"][k] == pytest.approx(max(any_answer), rel=EXACT)
        any_others = [
            losses(np.array([*four, answers[k]], dtype=float))[-1]
            for four in itertools.product([data["low"], 2, data["high"]], repeat=4)
        ]
        assert mine["answer"][k] == pytest.approx(max(any_others), rel=EXACT)
    corners = itertools.product([data["low"], data["high"]], repeat=5)
    worst = max(losses(np.array(corner, dtype=float)).max() for corner in corners)
    assert found["promise"] == pytest.approx(worst, rel=EXACT)
    for mean in (0, 0.275, 1.5, 5):  # the others change, and nothing else
        [moved] = ask("levels.shift", [[answers.tolist(), who, mean]])
        assert moved[who] == own
        assert np.delete(moved, who).mean() == pytest.approx(mean)
        assert min(moved) >= data["low"]
        assert max(moved) <= data["high"]


def weeks_of(account, data, *, who, high, low, dots):
    """How far each week moves the total, and what an account says: admitted, and spent so far."""
    parts = [high if k == 0 or dots[k - 1] > 0 else low for k in range(len(dots))]
    moves = [float(Fraction(str(part)) * Fraction(str(data["hours"][who])) / 20) for part in parts]
    return [(move, bool(account.admit(move)[0]), account.spent[0]) for move in moves]


@pytest.mark.parametrize("who", range(5))
@pytest.mark.parametrize(("high", "low"), [(1, 1), (0.5, 0.5), (1, 0.5), (0.1, 0.9), (0, 0.3)])
def test_no_path_takes_the_ruler_out_of_its_circle(ask, who, high, low):
    data, rng = data_of("filter"), np.random.default_rng(5)
    paths = [data["dots"], *np.round(rng.normal(size=(6, 16)), 2).tolist()]
    settings = [{"who": who, "high": high, "low": low, "dots": dots} for dots in paths]
    found = ask("filter.solve", [[data, one] for one in settings])
    for weeks, setting in zip(found, settings, strict=True):
        kind = {"neighbors": "zero-out", "kind": GaussianDP}
        account = BudgetAccount([data["budgets"][who]], **kind)
        moves, admitted, spent = zip(*weeks_of(account, data, **setting), strict=True)
        assert [one["fits"] for one in weeks] == list(admitted)
        np.testing.assert_allclose([one["move"] for one in weeks], moves, rtol=EXACT, atol=0)
        ends = [one["end"] for one in weeks]
        np.testing.assert_allclose(ends, spent, rtol=EXACT, atol=1e-12)
        assert max(ends) <= data["budgets"][who] * (1 + 1e-12)
        kept = [move for move, is_in in zip(moves, admitted, strict=True) if is_in and move]
        [at] = ask("filter.joints", [[kept]])
        at = np.vstack([[0, 0], *at])
        legs = np.diff(at, axis=0)
        np.testing.assert_allclose(np.hypot(*legs.T), kept, rtol=EXACT)
        np.testing.assert_allclose(np.sum(legs * at[:-1], axis=1), 0, atol=1e-12)  # right angles
        assert np.hypot(*at[-1]) == pytest.approx(spent[-1], rel=EXACT)


@pytest.mark.parametrize("d", [1, 2, 10, 40])
def test_lengths_are_those_of_the_noises(ask, d):
    data = data_of("shapes")
    assert data["sigma"] == pytest.approx(1 / noise.gaussian_mu(1.0, 1e-6), rel=EXACT)
    radius = noise.l2_laplace_radius(d, data["epsilon"])
    [found] = ask("shapes.lengths", [[data, d]])
    assert found["round"] == pytest.approx(np.sqrt(radius.moment(2)), rel=EXACT)
    scale = np.sqrt(d) / data["epsilon"]  # a move of length 1 has an l1 length of at most root d
    assert found["laplace"] == pytest.approx(np.sqrt(2 * d) * scale, rel=EXACT)
    assert found["gauss"] == pytest.approx(data["sigma"] * np.sqrt(d), rel=EXACT)
    if d == 10:
        assert data["guesses"][data["right"]] == f"about {found['round']:.0f}"


@pytest.mark.parametrize("degrees", [0, 20, 45])
def test_sticks_drop_as_the_log_densities_of_the_noises(ask, degrees):
    data, t = data_of("shapes"), np.deg2rad(degrees)
    sides, at = np.array([0.0, 3.0, 16.0, 19.0]), np.array([[np.cos(t), np.sin(t)]])
    laws = {
        "laplace": noise.ProductLaw([0, 0], [2**0.5 / data["epsilon"]] * 2).logpdf,
        "round": noise.L2Laplace([0, 0], data["epsilon"]).logpdf,
        "gauss": lambda z: norm.logpdf(z, scale=data["sigma"]).sum(axis=1),
    }
    for kind, logpdf in laws.items():
        fall = [logpdf(s * at)[0] - logpdf((s + 1) * at)[0] for s in sides]
        found = ask("shapes.drop", [[data, kind, degrees, s] for s in sides.tolist()])
        np.testing.assert_allclose(found, fall, rtol=EXACT, atol=1e-12)
        steep = max(found) > data["epsilon"] * (1 + EXACT)
        assert steep == (kind == "gauss")  # the budget holds but for a delta


def club(data, lam, members):
    """Releases of 90 members, all budgets times a factor: noise on the fit, on the sums, a mean."""
    x = np.tile(np.arange(0.5, 18) / 18, 5)
    y = data["truth"] * x + np.random.default_rng(1).uniform(-0.2, 0.2, 90)
    budgets = np.repeat([0.5, 0.2, 0.1, 0.2, 1.0], 18) * members / 90
    models = PDPRidge(lam), SufficientStatisticsRidge(lam), PersonalizedMean()
    return [model.output_law(x[:, None], y, epsilon=budgets) for model in models]


def over_noise(of, S, lam, beta):
    """The mean of a function of max(S + N, 0) + lam, N of the Laplace distribution."""
    noise = laplace(scale=beta)
    grid = np.geomspace(1e-3, 45, 40) * beta
    pieces = sorted({-S, 0.0, *grid, *(-grid[grid < S])})
    total = noise.cdf(-S) * of(lam)
    for low, high in itertools.pairwise(pieces):
        total += quad(lambda N: noise.pdf(N) * of(S + N + lam), low, high, epsabs=1e-13)[0]
    return total


@pytest.mark.parametrize("members", [45, 90, 900, 9000])
@pytest.mark.parametrize("place", [0, 12, 20, 33, 40])
def test_noise_on_fit_and_sums_is_that_of_the_package(ask, members, place):
    data = data_of("sums")
    lam, truth = data["lams"][place], data["truth"]
    fit, sums, mean = club(data, lam, members)
    [found] = ask("sums.solve", [[data, lam, members]])
    assert found["slope"] == pytest.approx(
        fit.center[0], rel=EXACT, abs=EXACT
    )  # differences of slopes
    assert found["fit"]["noise"] == pytest.approx(
        1 / fit.eta, rel=EXACT, abs=EXACT
    )  # differences of slopes
    square = (fit.center[0] - truth) ** 2 + 2 / fit.eta**2
    assert found["fit"]["miss"] == pytest.approx(
        np.sqrt(square / 3), rel=EXACT, abs=EXACT
    )  # differences of slopes
    (S, b), [beta, other] = sums.center, sums.scale
    assert found["sums"]["scale"] == pytest.approx(
        beta, rel=EXACT, abs=EXACT
    )  # differences of slopes
    assert other == beta
    exact = over_noise(
        lambda D: ((b**2 + 2 * beta**2) / D**2 - 2 * truth * b / D + truth**2) / 3, S, lam, beta
    )
    assert found["sums"]["miss"] == pytest.approx(
        np.sqrt(exact), rel=EXACT, abs=EXACT
    )  # differences of slopes

    def length(D):
        off = abs(b - fit.center[0] * D)
        return (off + beta * np.exp(-off / beta)) / D

    assert found["sums"]["noise"] == pytest.approx(
        over_noise(length, S, lam, beta), rel=EXACT, abs=EXACT
    )  # differences of slopes
    draws = sums.sample(400_000, rng=np.random.default_rng(3))
    slopes = draws[:, 1] / (np.maximum(draws[:, 0], 0) + lam)
    off = np.abs(slopes - fit.center[0])
    assert abs(off.mean() - found["sums"]["noise"]) < 5 * off.std() / np.sqrt(len(off))
    [low, high] = ask("sums.quantile", [[data, lam, members, p] for p in (0.1, 0.9)])
    for value, p in ((low, 0.1), (high, 0.9)):
        assert np.mean(slopes < value) == pytest.approx(p, abs=0.0025)  # five standard errors
    assert found["constant"]["noise"] == pytest.approx(1 / mean.eta, rel=EXACT)
    level = truth**2 / 12 + (mean.center[0] - truth / 2) ** 2 + 2 / mean.eta**2
    assert found["constant"]["miss"] == pytest.approx(np.sqrt(level), rel=EXACT)


def test_the_guess_about_the_sums_has_the_right_answer(ask):
    data = data_of("sums")
    [found] = ask("sums.solve", [[data, data["lam"], data["members"]]])
    assert data["guesses"][data["right"]] == "less than a third as long"
    assert 0.25 < found["sums"]["noise"] / found["fit"]["noise"] < 1 / 3


def test_guesses_after_many_steps_are_those_of_the_accountant(ask):
    data = data_of("descent")
    for sigma, steps in itertools.product(data["sigmas"], [1, 10, 100, 1000]):
        [found] = ask("descent.solve", [[data, sigma, steps]])
        spread = dpsgd_total_variation(sigma, 0.1, steps)
        assert found["lot"] == pytest.approx(50 + 50 * spread, rel=1e-6)
        every = noise.gaussian_profile(0.0, steps**0.5 / sigma)
        assert found["all"] == pytest.approx(50 + 50 * float(every), rel=EXACT)
        spent = dpsgd_epsilon(sigma, 0.1, steps, 1e-5)
        assert found["epsilon"] == pytest.approx(spent, rel=1e-6)
        if steps == 1:  # by the formula of the proposition
            exact = float(subsampled_gaussian_profile(0.0, sigma, 0.1))
            assert found["lot"] == pytest.approx(50 + 50 * exact, abs=0.01)
    [asked] = ask("descent.solve", [[data, data["sigma"], data["count"]]])
    assert data["guesses"][data["right"]] == f"{asked['lot']:.0f} cases"


@pytest.mark.parametrize("which", range(3))
@pytest.mark.parametrize("weight", [20, 100, 300, 600])
def test_errors_after_measuring_are_those_of_the_package(ask, which, weight):
    data = data_of("adaops")
    [found] = ask("adaops.at", [[data, which, weight]])
    epsilon = data["budgets"][which]["epsilon"]
    plan = AdaptivePlan(epsilon, 1e-3, d=1, n_max=1100, calibration="simple")
    middle = max(weight - plan.margin, 0)
    assert (found["bound"], found["noise"]) == pytest.approx((middle, plan.scale), rel=EXACT)
    lam = plan.penalty(middle)
    digits = {"rel": 1e-3}  # four are handed over
    assert found["penalty"] == pytest.approx(lam, **digits)
    assert found["gamma"] == pytest.approx(float(plan.gamma(middle + lam, lam)), **digits)

    def squared(lam, gamma):
        return (data["slope"] * lam / (weight + lam)) ** 2 + 1 / (gamma * (weight + lam))

    noises = norm.ppf((np.arange(400) + 0.5) / 400)
    z = np.maximum(weight - plan.margin + plan.scale * noises, 0)
    lams = np.array([plan.penalty(one) for one in z])
    exact = np.sqrt(squared(lams, plan.gamma(z + lams, lams)).mean())
    assert found["measured"] == pytest.approx(exact, rel=0.01)  # a mean over 100 quantiles
    lams = np.geomspace(20, 200, 12)
    best = min(squared(one, worst_case_gamma(one, epsilon, 1e-3, 1100)) for one in lams)
    assert found["fixed"] == pytest.approx(np.sqrt(best), **digits)


def test_the_guess_when_measuring_pays_has_the_right_answer(ask):
    data = data_of("adaops")
    crossings = [ask("adaops.crossing", [[data, one]])[0] for one in data["budgets"]]
    assert crossings[1] == pytest.approx(130, rel=0.02)
    assert data["guesses"][data["right"]] == "about 130"
    assert crossings == sorted(crossings, reverse=True)


def test_small_scripts_that_ask_nobody():
    for name in ["panel", *PAGES]:
        text = (SCRIPTS / f"{name}.js").read_text(encoding="utf-8")
        assert len(text.encode()) < 30_000
        asking = r"fetch|XMLHttpRequest|import\(|https?://(?!www\.w3\.org/2000/svg)"
        assert not re.search(asking, text), name
    css = (SCRIPTS / "explore.css").read_text(encoding="utf-8")
    assert not re.search(r"transition\s*:|animation\s*:|@import|url\(", css)


# --- on the built pages --------------------------------------------------------------------------


# A figure that is a diagram has its description in an element, the others in an attribute.
DESCRIBED = """one => one.getAttribute("aria-label") ?? one.querySelector("desc").textContent"""
# A page may have another figure that reacts.
ALONE = """name => document.querySelectorAll("[data-explore]").forEach(root => {
  if (root.dataset.explore === name) return;
  document.getElementById(root.dataset.figure).remove();
  root.remove();
})"""


@pytest.fixture
def visit(browser, address):
    """Open the page of a figure; what goes wrong on it fails the test."""
    contexts, wrong = [], []

    def go(name, **settings):
        context = browser.new_context(**settings)
        contexts.append(context)
        tab = context.new_page()
        tab.on("pageerror", lambda error: wrong.append(str(error)))
        tab.goto(f"{address}{PAGES[name]}.html")
        tab.evaluate(ALONE, name)
        return tab

    yield go
    for context in contexts:
        context.close()
    assert not wrong


def said(tab):
    return tab.locator(".explore output").inner_text().replace("\n", " ")


def number(pattern, text):
    return float(re.search(pattern, text)[1])


@every_figure
def test_the_still_picture_gives_way_and_stays_without_scripts(visit, name):
    tab = visit(name)
    panel = tab.locator(".explore")
    assert panel.count() == 1
    assert panel.is_visible()
    assert panel.locator("xpath=ancestor::figure//figcaption").is_visible()
    assert not tab.locator(".explore-still").is_visible()
    assert not tab.get_by_text("the figure above has sliders").is_visible()
    tab.emulate_media(media="print")
    assert tab.locator(".explore-still").is_visible()
    assert not panel.is_visible()

    figure = re.search('data-figure="(.*?)"', written(name))[1]
    plain = visit(name, java_script_enabled=False)
    picture = plain.locator(f"#{figure} svg.inline-figure")
    assert picture.is_visible()
    assert len(picture.evaluate(DESCRIBED)) >= 60
    assert plain.get_by_text("the figure above has sliders").is_visible()
    assert not plain.locator(".explore").count()


@every_figure
def test_a_page_loads_its_own_script_only(visit, name):
    tab = visit(name)
    loaded = tab.evaluate("performance.getEntriesByType('resource').map((one) => one.name)")
    scripts = {one.rsplit("/", 1)[1] for one in loaded if "/explore/" in one}
    there = {f"{one}.js" for one, page in PAGES.items() if page == PAGES[name]}
    assert scripts == {"explore.css", "panel.js", *there}


@every_figure
def test_every_control_answers_to_the_keyboard_and_has_a_name(visit, name):
    tab = visit(name)
    for guess in tab.locator(".explore-guess button").all()[2:3]:  # some say nothing before a guess
        guess.click()
        tab.get_by_role("button", name="Reset").click()  # the verdict would go with the first key
    for slider in tab.locator(".explore input[type=range]").all():
        assert slider.evaluate("one => one.labels.length") == 1
        slider.focus()
        before, text = said(tab), slider.get_attribute("aria-valuetext")
        there, back = "ArrowRight", "ArrowLeft"
        at_end = slider.evaluate("one => one.value === one.max")
        if at_end:
            there, back = back, there
        tab.keyboard.press(there)
        assert said(tab) != before
        assert slider.get_attribute("aria-valuetext") != text
        tab.keyboard.press(back)
        assert said(tab) == before
        assert slider.get_attribute("aria-valuetext") == text
        tab.keyboard.press("Home")
        first = said(tab)
        tab.keyboard.press("End")
        assert said(tab) not in ({first} if at_end else {first, before})
    assert tab.locator(".explore output").get_attribute("aria-live") == "polite"


@every_figure
def test_the_table_opens_with_the_keyboard_and_fits_a_phone(visit, name):
    tab = visit(name, viewport={"width": 390, "height": 844})
    table = tab.locator(".explore table")
    assert not table.is_visible()
    for guess in tab.locator(".explore-guess button").all()[2:3]:  # some have it after a guess
        guess.click()
    tab.locator(".explore summary").focus()
    tab.keyboard.press("Enter")
    assert table.is_visible()
    assert table.locator("caption").is_visible()
    width = tab.evaluate("document.documentElement.scrollWidth")
    assert width <= 390
    for part in tab.locator(".explore svg[role=img], .explore table").all():
        box = part.bounding_box()
        assert box["x"] >= 0
        assert box["x"] + box["width"] <= 390
        assert part.get_attribute("role") != "img" or part.get_attribute("aria-label")


def test_a_guess_shows_what_answers_are_worth(visit):
    tab = visit("coin")
    green = tab.locator(".explore svg[role=img]").first.locator("circle[fill*=green]")
    slider = tab.get_by_role("slider", name="Budget of each")
    assert green.count() == 0
    assert not slider.is_visible()
    assert "43" not in said(tab)
    guess = tab.get_by_role("button", name="92")
    guess.focus()
    tab.keyboard.press("Enter")
    assert guess.get_attribute("aria-pressed") == "true"
    assert said(tab).startswith("Not quite: with Zoe's budget it is about 43 open answers;")
    assert green.count() == 43
    worth = r"are worth ([\d.]+) open answers\.$"
    assert number(worth, said(tab)) == 42.7
    slider.focus()
    tab.keyboard.press("Home")
    assert number(worth, said(tab)) == green.count() == 0
    tab.keyboard.press("End")
    assert number(worth, said(tab)) == 164
    assert green.count() == 164
    before = said(tab)
    tab.get_by_role("button", name="Show what the club sees").click()
    dots = tab.locator(".explore svg[role=img] circle")
    assert dots.count() == 600
    assert {one.get_attribute("stroke") for one in dots.all()[:200]} == {"currentColor"}
    assert said(tab) == before


NOISE = r"noise is ([\d.]+) with own weights"


def test_a_guess_shows_the_wedges_and_how_long_the_noise_is(visit):
    tab = visit("budget")
    assert "What happens to the noise if it is only 0.01?" in said(tab)
    guess = tab.get_by_role("button", name="twice as long")
    guess.focus()
    tab.keyboard.press("Enter")
    assert guess.get_attribute("aria-pressed") == "true"
    assert tab.locator(".explore svg[role=img]").nth(1).locator("path[fill-opacity]").count() == 3
    assert number(NOISE, said(tab)) == float(f"{72 / crowd_of(data_of('budget'), 0.01).sum():.3g}")
    assert "5 percent longer" in said(tab)
    assert "10 times as long" in said(tab)
    assert "leaves out Ben, Chi and Dora" in said(tab)


def test_a_guess_shows_the_parts_of_the_error(visit):
    tab = visit("errors")
    bar = tab.locator(".explore svg[role=img]").first
    slider = tab.get_by_role("slider", name="Members")
    assert bar.locator("rect").count() == 2  # the whole, in one color
    assert not slider.is_visible()
    tab.get_by_role("button", name="listening less").click()
    assert said(tab).startswith(
        "Not quite: the noise adds 0.02 to the mean square error, "
        "listening less to the careful 0.00016."
    )
    assert bar.locator("rect").count() == 5
    assert number(r"typical error is ([\d.]+) minutes", said(tab)) == 0.19
    slider.focus()
    tab.keyboard.press("End")
    assert number(r"typical error is ([\d.]+) minutes", said(tab)) == 0.125
    assert "the penalty makes 100 %" in said(tab)


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
def test_every_step_of_the_staircase_is_dragged(visit, touch):
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 900}
    tab = visit("budget", viewport=size, has_touch=touch, is_mobile=touch)
    tab.get_by_role("button", name="5 percent longer").click()
    assert said(tab).startswith("Right: with Chi at 0.01 it becomes 5 percent longer;")
    slider, budgets = tab.get_by_role("slider", name="Budget"), [0.5, 0.2, 0.01, 0.2, 1]
    for place in (4, 5 + 0, 10 + 2):  # Zoe, Ana and Chi, in each of the three fillings
        grip = tab.locator(".explore-grip rect").nth(place)
        middle = pull(tab, grip, 0, -40 if place == 4 else 35, touch)
        own = float(slider.get_attribute("aria-valuetext"))
        assert own != budgets[place % 5]
        budgets[place % 5] = own
        total = 360 * sum(budgets)
        assert number(NOISE, said(tab)) == float(f"{72 / total:.3g}")
    text = said(tab)
    if not touch:
        tab.mouse.move(*middle)  # let go: the step stays
        assert said(tab) == text


def test_the_profile_says_the_epsilon_of_the_package(visit):
    tab = visit("profile")
    pattern = r"your exact epsilon at delta 1e-6 is ([\d.]+)\."
    assert number(pattern, said(tab)) == float(f"{ops_epsilon(1e-6, 0.5, 2.0):.3g}")
    tab.get_by_role("slider", name="Your scaled residual").focus()
    tab.keyboard.press("Home")
    assert number(pattern, said(tab)) == float(f"{ops_epsilon(1e-6, 0.5, 0.0):.3g}")
    tab.get_by_role("slider", name="Your leverage").focus()
    tab.keyboard.press("Home")
    assert number(pattern, said(tab)) == float(f"{ops_epsilon(1e-6, 1e-3, 0.0):.3g}")


def test_a_guess_comes_before_the_answer(visit):
    tab = visit("mean")
    answer = tab.get_by_role("button", name="Go to the best level")
    assert "Which level has the smallest error?" in said(tab)
    assert not answer.is_visible()
    guess = tab.get_by_role("button", name="about 10")
    guess.focus()
    tab.keyboard.press("Enter")
    assert guess.get_attribute("aria-pressed") == "true"
    data = data_of("mean")
    sizes = np.repeat(data["sizes"], data["copies"])
    for epsilon in (0.5, 0.15):
        kappa = 2 * (data["width"] / epsilon) ** 2
        exact = tradeoff_weights(sizes, data["sigma2"] / kappa)
        assert number(r"The best level, ([\d.]+),", said(tab)) == float(f"{exact.h:.3g}")
        least = np.sqrt(kappa * exact.value)
        assert number(r"has an error of ([\d.]+);", said(tab)) == float(f"{least:.2g}")
        answer.click()
        assert "yours is the same, or almost" in said(tab)
        tab.get_by_role("slider", name="Privacy budget").focus()
        tab.keyboard.press("Home")


def test_a_person_is_hidden_after_the_guess(visit):
    tab = visit("erm")
    assert "Which ε has Zoe?" in said(tab)
    assert not tab.get_by_role("slider", name="Level h").is_visible()
    tab.get_by_role("button", name="40", exact=True).click()
    assert said(tab).startswith("Not quite: ")
    assert number(r"Zoe is promised ε = ([\d.]+)\.", said(tab)) == 67.3
    tab.locator(".explore select").select_option("each person")
    assert number(r"and the bound is ([\d.]+) ", said(tab)) == 0.316
    tab.get_by_role("slider", name="Level h").focus()
    tab.keyboard.press("Home")
    assert number(r"and the bound is ([\d.]+) ", said(tab)) == 0.369


def test_a_suspicion_becomes_a_budget(visit):
    tab = visit("belief")
    assert "How sure can they be now, at most?" in said(tab)
    assert not tab.get_by_role("slider", name="Belief before").is_visible()
    tab.get_by_role("button", name="about 73 %", exact=True).click()
    assert said(tab).startswith("Not quite: ")
    assert number(r"take ε = ([\d.]+) for all", said(tab)) == float(f"{np.log(2.25):.3g}")
    assert number(r"or ([\d.]+) for each", said(tab)) == float(f"{np.log(2.25) / 10:.3g}")
    tab.get_by_role("slider", name="Publications").focus()
    tab.keyboard.press("Home")
    assert "for each" not in said(tab)
    assert number(r"10 % can become ([\d.]+) %", said(tab)) == 23.2
    tab.get_by_role("slider", name="Belief before").focus()
    tab.keyboard.press("End")
    tab.get_by_role("slider", name="Accepted after").focus()
    tab.keyboard.press("Home")
    assert "no budget above 0 keeps it there" in said(tab)


def test_short_evenings_are_under_water(visit):
    tab = visit("gwa")
    assert "Zoe's evenings count for 60, Ana's for 1." in said(tab)
    assert not tab.get_by_role("slider", name="Privacy budget").is_visible()
    tab.get_by_role("button", name="in full").click()
    assert said(tab).startswith("Not quite: ")
    assert number(r"Typical error ([\d.]+) meters", said(tab)) == 27.9
    assert number(r"the least possible is ([\d.]+)\.", said(tab)) == 16.6
    tab.get_by_role("button", name="Go to the best level").click()
    assert "this is it, or almost" in said(tab)
    assert "short evenings count for nothing" in said(tab)
    assert number(r"Typical error ([\d.]+) meters", said(tab)) == 16.6
    data = data_of("gwa")
    hours, owner, _ = swimmers(data["kinds"], data["copies"])
    for key, epsilon in (("Home", 0.4), ("End", 10)):
        tab.get_by_role("slider", name="Privacy budget").focus()
        tab.keyboard.press(key)
        best = gwa_weights(hours[:, None], owner, sigma2=1, epsilon=epsilon, width=data["width"])
        least = float(f"{1000 * best.objective**0.5:.3g}")
        assert number(r"the least possible is ([\d.]+)\.", said(tab)) == least
        assert "this is it" not in said(tab)


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
def test_water_is_dragged(visit, touch):
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 900}
    tab = visit("gwa", viewport=size, has_touch=touch, is_mobile=touch)
    tab.get_by_role("button", name="not at all").click()
    assert said(tab).startswith("Right: ")
    before = number(r"Water: Zoe ([\d.]+),", said(tab))
    pull(tab, tab.locator(".explore-grip circle"), 0, -60, touch)
    assert number(r"Water: Zoe ([\d.]+)\.", said(tab)) < before - 0.5
    assert "Each of Zoe's short evenings counts for" not in said(tab)
    pull(tab, tab.locator(".explore-grip circle"), 0, -60, touch)
    assert "Each of Zoe's short evenings counts for" in said(tab)


def test_dots_pass_the_mean_as_the_budget_grows(visit):
    tab = visit("contest")
    assert "How many are clearly left of 100 at ε = 1?" in said(tab)
    assert tab.locator(".explore circle").count() == 2  # the means
    tab.get_by_role("button", name="five", exact=True).click()
    assert said(tab).startswith("Not quite: at ε = 1 it is 1 of 14.")
    assert tab.locator(".explore circle").count() == 21  # one is beyond the edge
    tab.get_by_role("slider", name="Budget").focus()
    tab.keyboard.press("End")
    assert "(blue), 13 are clearly better than the mean at ε = 10." in said(tab)


def test_a_plan_says_when_to_publish_the_mean(visit):
    tab = visit("plan")
    assert not tab.get_by_role("slider", name="People").is_visible()
    tab.get_by_role("button", name="less than a fifth").click()
    assert said(tab).startswith("Right: the best of the four explains 0.11 of 0.50.")
    assert "980 people with a mean budget of 0.4 have a sum of 392." in said(tab)
    assert "with a penalty near" in said(tab)
    tab.get_by_role("slider", name="Columns").focus()
    tab.keyboard.press("End")
    assert "With 30 columns the best of the four explains less than 0.05" in said(tab)
    assert said(tab).startswith("980 people")  # the verdict was for five columns


def test_a_penalty_is_dragged_and_noise_turns_into_bias(visit):
    tab = visit("penalty")
    assert 'the row "sums, Laplace" has too much noise with the penalty 0.03' in said(tab)
    tab.get_by_role("button", name="about 105").click()
    assert said(tab).startswith("Right: the lowest is 105, at λ = 0.3.")
    noise = []
    for key in ("Home", "End"):
        tab.get_by_role("slider", name="Penalty λ, for all").press(key)
        bias, rest, error = map(
            float, re.search(r"60 \+ ([\d.]+) \+ ([\d.]+) = ([\d.]+)", said(tab)).groups()
        )
        assert error == pytest.approx(60 + bias + rest, rel=0.01)
        noise.append(rest)
    assert noise[0] > 100 > 1 > noise[1]
    assert "none of the 7 regressions with a penalty are below the mean" in said(tab)


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
def test_the_level_is_dragged(visit, touch):
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 900}
    tab = visit("mean", viewport=size, has_touch=touch, is_mobile=touch)
    tab.get_by_role("button", name="about 3").click()
    grip = tab.locator(".explore-grip circle")
    before = number(r"Level ([\d.]+),", said(tab))
    x, y = pull(tab, grip, 5, 36, touch)
    after = number(r"Level ([\d.]+),", said(tab))
    assert after > before + 1
    if not touch:
        tab.mouse.move(x - 5, y + 40)
        assert number(r"Level ([\d.]+),", said(tab)) == after


AFTER = r"a belief of ([\d.]+) percent becomes ([\d.]+) percent"


def test_a_result_is_clicked_and_moves_the_belief(visit):
    tab = visit("odds")
    assert not tab.get_by_role("slider", name="Published result").is_visible()
    tab.get_by_role("button", name="82 percent").click()
    assert "Not quite" in said(tab)
    assert "rise to 62.2 percent" in said(tab)
    assert re.search(AFTER, said(tab)).groups() == ("50", "62.2")
    clouds = tab.locator(".explore svg[role=img]").first
    box = clouds.bounding_box()
    low, high = data_of("odds")["results"]
    column = (box["width"] - 38) / (high - low + 1)  # between the margins of the drawing
    clouds.click(position={"x": 30 + column * (6 - low + 0.5), "y": 150})
    assert "the result 6 is 1.65 times as likely if Ana answered 0 as if 5" in said(tab)
    assert re.search(AFTER, said(tab)).groups() == ("50", "37.8")
    tab.get_by_role("slider", name="Belief before").focus()
    tab.keyboard.press("Home")
    assert re.search(AFTER, said(tab))[1] == "0.1"


LENGTHS = (
    r"is ([\d.]+) for Laplace noise on each number, ([\d.]+) for round noise, and ([\d.]+) for"
)


def test_more_numbers_need_longer_noise(visit):
    tab = visit("shapes")
    curves = tab.locator(".explore svg[role=img]").nth(1).locator("svg path[stroke-width='2.5']")
    slider = tab.get_by_role("slider", name="Published numbers")
    assert "typical length of 2.45." in said(tab)
    assert curves.count() == 0
    assert not slider.is_visible()
    tab.get_by_role("button", name="about 100").click()
    assert said(tab).startswith("Not quite: with 10 numbers it is 10.5. With d = 10 ")
    assert curves.count() == 3
    assert re.search(LENGTHS, said(tab)).groups() == ("14.1", "10.5", "13.4")
    slider.focus()
    tab.keyboard.press("Home")
    assert re.search(LENGTHS, said(tab)).groups() == ("1.41", "1.41", "4.22")
    tab.keyboard.press("End")
    assert re.search(LENGTHS, said(tab)).groups() == ("56.6", "40.5", "26.7")


STRUCK = """() => {
  const found = [], range = document.querySelectorAll(".explore input[type=range]")[1];
  for (range.value = 0; ; range.value = +range.value + 1) {
    range.dispatchEvent(new Event("input"));
    const chart = document.querySelectorAll(".explore > div > svg")[2];
    for (const name of chart.querySelectorAll(".explore-name"))
      for (const line of chart.querySelectorAll("svg path")) {
        if (line.getAttribute("d").match(/V/)) continue;
        const box = name.getBoundingClientRect(), whole = line.getTotalLength();
        const matrix = line.getScreenCTM();
        for (let s = 0; s < whole; s += 2) {
          const at = line.getPointAtLength(s).matrixTransform(matrix);
          if (at.x > box.left && at.x < box.right && at.y > box.top + 3 && at.y < box.bottom - 3) {
            found.push([range.getAttribute("aria-valuetext"), name.textContent]);
            break;
          }
        }
      }
    if (range.value === range.max) return found;
  }
}"""


@pytest.mark.parametrize("width", [390, 1280])
def test_no_curve_strikes_a_name_through(visit, width):
    tab = visit("mean", viewport={"width": width, "height": 900})
    tab.get_by_role("button", name="about 3").click()
    assert tab.evaluate(STRUCK) == []


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
def test_a_point_is_dragged_and_the_fit_without_it_stays(visit, touch):
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 900}
    tab = visit("ridge", viewport=size, has_touch=touch, is_mobile=touch)
    assert "Whose band moves it most when it is cut?" in said(tab)
    assert not tab.get_by_label("Member", exact=True).is_visible()
    tab.get_by_role("button", name="Zoe").click()
    before = said(tab)
    assert before.startswith("Right: Zoe moved the slope most, by -0.2.")
    assert "without Zoe 0.6." in before
    assert "Surprise -0.4 times pull 0.5 is the move, -0.2." in before
    grip = tab.locator(".explore-grip circle").nth(1)
    x, y = pull(tab, grip, 120, 60, touch)
    after = said(tab)
    at, label = (
        float(tab.get_by_role("slider", name=name).get_attribute("aria-valuetext"))
        for name in ("Attended, x", "Faster, y")
    )
    assert at < 0.95
    assert label > 0.25
    data = data_of("ridge")
    u, v = np.array([*data["x"][:4], at]), np.array([*data["y"][:4], label])
    exact = leave_one_out(u[:, None], v, data["lam"])
    assert "without Zoe 0.6." in after
    assert number(r"The slope is ([\d.]+),", after) == float(f"{exact.theta[0]:.3g}")
    assert number(r"leverage is ([\d.]+),", after) == float(f"{exact.leverage_in[4]:.3g}")
    if not touch:
        tab.mouse.move(x, y)  # let go: the point stays
        assert said(tab) == after


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
def test_an_answer_is_dragged_and_the_promise_stays(visit, touch):
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 900}
    tab = visit("levels", viewport=size, has_touch=touch, is_mobile=touch)
    assert not tab.get_by_label("Member", exact=True).is_visible()
    tab.get_by_role("button", name="only Chi's").click()
    assert said(tab).startswith(
        "Not quite: everyone's, Chi's own from 0.5 to 0.1 and Ben's from 0 to 0.1."
    )
    grip = tab.locator(".explore-grip circle").nth(1)
    x, y = pull(tab, grip, 0, 60, touch)
    text = said(tab)
    own = float(tab.get_by_role("slider", name="Answer (hours)").get_attribute("aria-valuetext"))
    assert own > 2.3
    answers = np.array(data_of("levels")["answers"])
    answers[2] = own
    loss = moves_without_each(answers)[2]
    assert number(r"= ([\d.]+)\. Bound", text) == float(f"{loss:.3g}")
    assert number(r"at most ([\d.]+), whatever Chi answers", text) == 0.5
    assert text.endswith("Promise: at most 1, in all cases.")
    if not touch:
        tab.mouse.move(x, y)  # let go: the answer stays
        assert said(tab) == text
    pull(tab, grip, 60, 0, touch)  # to the side: the others answer less
    text = said(tab)
    assert f"Chi answers {own:g}, the others' mean is" in text
    mean = number(r"the others' mean is ([\d.]+),", text)
    assert mean < 2
    assert number(r"= ([\d.]+)\. Bound", text) == pytest.approx((own - mean) / 5, abs=5e-4)
    assert number(r"at most ([\d.]+), whatever Chi answers", text) == float(f"{(5 - mean) / 5:.3g}")
    tab.get_by_label("Bound over", exact=True).select_option("any others")
    worst = max(own, 5 - own) / 5
    assert number(r"at most ([\d.]+), whatever the others answer", said(tab)) == float(
        f"{worst:.3g}"
    )


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
def test_a_record_is_dragged_and_the_ball_stays_in_its_circle(visit, touch):
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 900}
    tab = visit("replace", viewport=size, has_touch=touch, is_mobile=touch)
    assert "How far can it move, whatever she and all others write?" in said(tab)
    assert not tab.get_by_label("The others train", exact=True).is_visible()
    tab.get_by_role("button", name="about 0.5").click()
    assert said(tab).startswith("Right: others who train a little, and against her, let her move")
    assert number(r"The ball moved by ([\d.]+):", said(tab)) == 0.404
    tab.get_by_label("The others train", exact=True).select_option(index=3)
    grip = tab.locator(".explore-grip circle").nth(1)
    pull(tab, grip, 330, 30, touch)  # beyond the corner: it stays in the square
    shown = [
        tab.get_by_role("slider", name=name).get_attribute("aria-valuetext")
        for name in ("New record, x₁", "New record, x₂", "New record, y")
    ]
    assert shown == ["0", "1", "-1"]
    assert number(r"The ball moved by ([\d.]+):", said(tab)) == 0.583
    assert tab.locator(".explore-goal").inner_text().startswith("✓ Done")
    tab.get_by_role("button", name="Show the extreme").click()
    assert number(r"([\d.]+) percent of wC", said(tab)) == 99


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
def test_a_record_is_dragged_and_every_loss_moves(visit, touch):
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 900}
    tab = visit("posterior", viewport=size, has_touch=touch, is_mobile=touch)
    assert said(tab) == "Zoe's loss is 10.8. What if Zoe were on the line of the others?"
    assert not tab.get_by_label("Member", exact=True).is_visible()
    tab.get_by_role("button", name="about 4").click()
    before = said(tab)
    assert before.startswith("Right: with y = 0.6 Zoe's loss is 4.39. The others predict 0.6 ")
    assert "Zoe's loss is 4.39, and the row alone costs 4.39." in before
    pull(tab, tab.locator(".explore-grip circle").nth(1), 100, -40, touch)
    at, label, sharp = (
        float(tab.get_by_role("slider", name=name).get_attribute("aria-valuetext"))
        for name in ("Attended, x", "Faster, y", "Sharpness γ")
    )
    assert at < 0.95
    assert label != 0.6
    data = data_of("posterior")
    u, v = np.array([*data["x"][:4], at]), np.array([*data["y"][:4], label])
    exact = per_instance_epsilon(u[:, None], v, data["lam"], sharp, data["delta"])
    assert number(r"Zoe's loss is ([\d.]+), and", said(tab)) == float(f"{exact.epsilon[4]:.3g}")
    if not touch:
        rows = tab.locator(".explore tbody tr td:nth-child(4)").all_text_contents()
        assert rows == [f"{loss:.2f}" for loss in exact.epsilon]
        tab.get_by_label("Member", exact=True).select_option("Ana")
        assert "Ana's loss is 0: at x = 0 all lines agree." in said(tab)


def test_another_crowd_has_other_limits(visit):
    tab = visit("limit")
    assert number(r"pressing down is ([\d.]+);", said(tab)) == 7.05
    assert number(r"for discarding it is (\d+)", said(tab)) == 11
    crowd = data_of("limit")["crowds"][1]["sizes"]
    tab.get_by_label("People", exact=True).select_option(index=1)
    for epsilon in (3.0, 0.1):
        exact = tradeoff_weights(crowd, epsilon**2 / 8).h
        assert number(r"pressing down is ([\d.]+);", said(tab)) == float(f"{exact:.3g}")
        tab.get_by_role("slider", name="Budget of each person").focus()
        tab.keyboard.press("Home")
    assert tab.get_by_role("slider", name="Level h").get_attribute("max") == str(max(crowd) - 1)
    assert tab.locator(".explore tbody tr").count() == len(crowd)


def test_a_guess_says_how_many_runs_an_audit_takes(visit):
    tab = visit("audit")
    assert not tab.get_by_role("slider", name="Runs in each case").is_visible()
    assert "notice" not in said(tab)
    tab.get_by_role("button", name="3,000", exact=True).click()
    assert "Not quite: with 300 runs in each case 93.5 percent of all audits notice" in said(tab)
    runs = tab.get_by_role("slider", name="Runs in each case")
    runs.focus()
    while runs.get_attribute("aria-valuetext") != "200":
        tab.keyboard.press("ArrowRight")
    assert "typically occurs 110 and 40 times" in said(tab)
    assert "at least 0.601. Claimed was 0.5." in said(tab)
    assert "notices with a probability of 75.4 percent" in said(tab)
    tab.get_by_role("slider", name="Claimed budget").focus()
    tab.keyboard.press("End")
    assert "The claim is true" in said(tab)


def test_a_round_is_played_and_the_score_stands_beside_the_best_rate(visit):
    tab = visit("member")
    assert not tab.get_by_role("button", name="In it", exact=True).is_visible()
    tab.get_by_role("button", name="100 %", exact=True).click()
    assert "Not quite: the best guesser is right about Ana in 81 percent of rounds" in said(tab)
    tab.get_by_label("Guess about").select_option("Dora")
    published = int(number(r"exactly, is (\d+)\.", said(tab)))
    tab.get_by_role("button", name="In it", exact=True).click()
    inside = "Dora" in re.search(r"the group was ([^.]*)\.|nobody was in it", said(tab))[0]
    assert ("Round 1: right" in said(tab)) == inside
    assert published % 40 == 6 or inside == (published % 40 > 6)
    assert "more than 93.8 percent" in said(tab)
    noise = tab.get_by_role("slider", name="Noise")
    noise.focus()
    while noise.get_attribute("aria-valuetext") != "4 notes":
        tab.keyboard.press("ArrowRight")
    assert "Round 1: the total, published with noise of standard deviation 4" in said(tab)
    for _ in range(20):
        tab.get_by_role("button", name="Not in it", exact=True).click()
    assert re.search(r"You were right in \d+ of 20\. Nobody who knows the board only", said(tab))
    assert "more than 75.1 percent" in said(tab)
    assert "more than 77.3" in said(tab)
    assert tab.get_by_role("button", name="Not in it", exact=True).is_disabled()
    tab.get_by_role("button", name="Best guesser plays").click()
    assert re.search(r"The best guesser was right in \d+ of 1,000 rounds", said(tab))
    tab.get_by_role("button", name="Play again").click()
    assert "Round 1: the total" in said(tab)


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
def test_a_band_is_held_by_its_rim_and_rests_where_it_is_cheapest(visit, touch):
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 900}
    tab = visit("tilt", viewport=size, has_touch=touch, is_mobile=touch)
    assert not tab.get_by_role("slider", name="Tilt").is_visible()
    assert "72" not in said(tab)
    tab.get_by_role("button", name="90", exact=True).click()
    assert said(tab).startswith("Not quite: less is enough. Tilt 0")
    assert "Tilt 0 degrees, total variance 52 + 52 = 104, and everybody is hidden" in said(tab)
    assert "held open by Chi 0.50 and Dora 0.50, and rests" in said(tab)
    tilt = tab.get_by_role("slider", name="Tilt")
    pull(tab, tab.locator(".explore-grip circle").nth(1), 20, 70, touch)
    turned = int(tilt.get_attribute("aria-valuetext").rstrip("°"))
    assert 15 < turned < 75
    tilt.focus()
    for _ in range(abs(turned - 45)):
        tab.keyboard.press("ArrowLeft" if turned > 45 else "ArrowRight")
    tab.get_by_role("button", name="Let go of the rim").click()
    assert "Tilt 45 degrees, total variance 60 + 12 = 72, and everybody is hidden" in said(tab)
    tab.get_by_role("button", name="Eva, (2, 8), joins the club").click()
    tab.get_by_role("button", name="Let go of the rim").click()
    assert "72, and" not in said(tab)
    tab.get_by_role("button", name="Show the extreme").click()
    assert "held open by Chi 0.50 and Dora 0.50, and a hand pushes its rim in" in said(tab)


@pytest.mark.parametrize("touch", [False, True], ids=["mouse", "finger"])
def test_a_total_is_dragged_and_the_coach_asks_for_less(visit, touch):
    size = {"width": 390, "height": 844} if touch else {"width": 1280, "height": 900}
    tab = visit("filter", viewport=size, has_touch=touch, is_mobile=touch)
    assert "In week 5 he is left out. How far apart are the bells then?" in said(tab)
    tab.get_by_role("button", name="0", exact=True).click()
    assert said(tab).startswith("Right: 0. Who takes part in a house no longer depends")
    assert "a leg of 0.1 would end outside, at 0.224." in said(tab)
    low = tab.get_by_role("slider", name="After one below, ask for")
    low.focus()
    for _ in range(5):
        tab.keyboard.press("ArrowLeft")
    assert low.get_attribute("aria-valuetext") == "0.5 of it"
    last = tab.locator(".explore-grip rect").nth(3)
    pull(tab, last, 0, 120, touch)  # far above the line: the whole week is asked for again
    assert "a leg of 0.1 would end outside" in said(tab)
    pull(tab, last, 0, -240, touch)
    assert "In week 5 the bells are 0.05 apart, and a leg of this length fits." in said(tab)
    assert number(r"The ruler ends ([\d.]+) from", said(tab)) <= 0.2
