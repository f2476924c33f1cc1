"""The sampled ridge: its rule, its exact law, its promises, and the printed variant caught."""

import numpy as np
import pytest
from densities import audit_density
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import integrate, stats
from sklearn.base import clone

from pdpbook import audit
from pdpbook.noise import L2Laplace
from pdpbook.personalized import PDPRidge, SampledRidge, keep_probabilities
from pdpbook.ridge import HuberSolution, huber_ridge, weighted_ridge
from pdpbook.sensitivity import huber_constant, norm_bound, ridge_constant

SEED = 20261121
ALARM = 1e-6  # level of a Kolmogorov-Smirnov test: one false alarm in a million
MIXED = np.array([0.05, 0.4, 0.7, 1.0, 1.0])


def people(n=5, d=3, seed=SEED):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.uniform(-1, 1, n)


def loss_under_sampling(share, level):
    """Loss, add-remove, of a person kept with this probability by a mechanism at this level."""
    return np.log1p(share * np.expm1(level))


def loss_under_replacement(share, level):
    """Loss of a replacement when a record that comes or goes costs `level`."""
    return np.log1p(share * np.expm1(level)) - np.log1p(share * np.expm1(-level))


# ---------------------------------------------------------------- the rule


def test_shares_by_hand():
    shares = keep_probabilities([np.log(2), np.log(3), np.log(5), 9.0], np.log(5))
    assert_allclose(shares, [1 / 4, 2 / 4, 1, 1], rtol=1e-14)
    exact = keep_probabilities([np.log(2), np.log(4)], np.log(4), "exact")  # u = 2
    assert_allclose(exact, [1 / 2, 1], rtol=1e-14)
    assert_array_equal(keep_probabilities(0.3, 0.3), [1.0])
    mean = keep_probabilities(MIXED, "mean")
    assert_array_equal(mean, keep_probabilities(MIXED, MIXED.mean()))
    assert_array_equal(keep_probabilities(MIXED, "max"), keep_probabilities(MIXED, 1.0))


@given(st.floats(1e-9, 30), st.floats(1e-9, 30))
def test_each_rule_spends_the_budget_exactly(one, two):
    epsilon, t = sorted([one, two])
    share, more = (keep_probabilities(epsilon, t, rule)[0] for rule in ("jorgensen", "exact"))
    assert 0 <= share <= more * (1 + 1e-12)
    assert more <= 1
    # relative, plus the rounding of the share near 1 seen through the logarithm
    slack = 1e-12 * epsilon + 1e-15 * np.exp(t)
    assert_allclose(loss_under_sampling(share, t), epsilon, rtol=0, atol=slack)
    assert_allclose(loss_under_replacement(more, t / 2), epsilon, rtol=0, atol=slack)


@given(st.lists(st.floats(1e-6, 20), min_size=1, max_size=30), st.floats(1e-6, 20))
def test_sampling_never_needs_less_noise(budgets, t):
    shares = keep_probabilities(budgets, t)
    assert t * shares.sum() <= np.sum(budgets) * (1 + 1e-12)


def test_the_exact_rule_can_need_less():
    assert 4 * keep_probabilities(3.0, 4.0, "exact")[0] > 3.2  # 3 is what PDP-OP has


def test_huge_and_tiny_budgets():
    shares = keep_probabilities([1e-300, 700.0, 1e9], "max")
    assert_array_equal(shares, [0.0, 0.0, 1.0])
    assert_allclose(keep_probabilities([1e-12, 2e-12], "max"), [0.5, 1.0], rtol=1e-11)
    assert_array_equal(keep_probabilities([1e9, 1e9], "max", "exact"), [1.0, 1.0])
    assert_allclose(keep_probabilities([1e308, 1e308], "mean"), [1.0, 1.0], rtol=0)


# ---------------------------------------------------------------- the law, given who was kept


@pytest.mark.parametrize("proof", ["published", "exact-norm", "tight", "joint"])
@pytest.mark.parametrize("lam", [0.1, 5.0, 200.0])
def test_the_repaired_law_by_hand(lam, proof):
    (X, y), d = people(), 3
    kept = np.array([True, False, True, True, False])
    law = SampledRidge(lam, proof=proof).conditional_law(X, y, kept, epsilon=MIXED)
    n_bar = keep_probabilities(MIXED, 1.0).sum()
    assert_allclose(law.center, weighted_ridge(X, y, lam, kept / n_bar), rtol=1e-10)
    W = 5 / n_bar
    norm = min(np.sqrt(W / lam), W * np.sqrt(d) / lam)
    if proof == "exact-norm":
        norm = np.sqrt(W / lam) / 2 if lam <= W * d else W * np.sqrt(d) / (lam + W * d)
        assert_allclose(norm, norm_bound(lam / W, d), rtol=1e-12)
    constant = 2 * np.sqrt(d) / lam * (1 + np.sqrt(d) * norm)
    if proof == "tight":
        assert law.eta > n_bar / constant  # t = 1
        tau = np.linspace(0, 1, 200_001)
        factor = np.max(tau * (1 + np.sqrt(W * d / lam * tau * (1 - tau))))
        constant = 2 * np.sqrt(d) / lam * factor  # the grid misses the peak by 1e-9 at most
    if proof == "joint":
        b = np.linspace(0, 0.25, 200_001)
        pair = np.sqrt(b * (1 - 3 * b)) + (0.75 * np.sqrt(3) - 1) * b
        factor = np.max(np.sqrt(1 - 3 * b) + np.sqrt(W * d / lam) / 2 * pair)
        constant = 2 * np.sqrt(d) / lam * factor
    assert_allclose(law.eta, n_bar / constant, rtol=1e-8)


class HalfOfTheJoint(SampledRidge):
    """The exact rule with the joint constant, half of which does not bound a departure."""

    def inner_mechanism(self, lam):
        return super().inner_mechanism(lam).set_params(proof="joint")


def loudest_of_a_crowd(model, t=3.0, d=12):
    """Loss over budget of one careful person among forty who agree, where densities are far."""
    epsilon, worst = np.r_[0.3 * t, np.full(40, t)], 0.0
    for c in (0.1, 0.15, 0.2, 0.25):
        X, y = np.full((2, 41, d), c), np.ones((2, 41))
        X[0, 0], y[0, 0], X[1, 0] = 1.0, -1.0, 0.6
        p, q = (model.output_law(X[k], y[k], epsilon=epsilon) for k in (0, 1))
        way = p.centers[-1] - q.centers[-1]
        points = p.centers[-1] + np.array([-1e4, -1e2, 0, 1e2, 1e4])[:, None] * way
        worst = max(worst, np.abs(p.logpdf(points) - q.logpdf(points)).max() / epsilon[0])
    return worst


def test_the_exact_rule_needs_a_constant_whose_half_bounds_a_departure():
    assert loudest_of_a_crowd(SampledRidge(3.0, rule="exact")) <= 1
    assert loudest_of_a_crowd(HalfOfTheJoint(3.0, rule="exact")) > 1
    X, y = people()
    laws = [
        SampledRidge(3.0, rule="exact", proof=proof).output_law(X, y, epsilon=MIXED)
        for proof in ("tight", "joint")
    ]
    assert_allclose(laws[0].etas, laws[1].etas, rtol=0)


def test_the_huber_rate_does_not_depend_on_the_total_weight():
    X, y = people()
    model = SampledRidge(0.1, loss="huber", huber_threshold=0.5, threshold="mean")
    t, whole = MIXED.mean(), np.ones(5, dtype=bool)
    law = model.conditional_law(X, y, whole, epsilon=MIXED)
    n_bar = keep_probabilities(MIXED, t).sum()
    assert_allclose(law.eta, t * n_bar / huber_constant(0.1, 3, 0.5), rtol=2e-6)  # the solver's
    assert law.eta < t * n_bar / huber_constant(0.1, 3, 0.5)


def test_the_printed_law_is_pdp_op_on_those_kept():
    X, y = people()
    kept = np.array([True, False, True, True, False])
    law = SampledRidge(2.0, normalizer="sampled").conditional_law(X, y, kept, epsilon=MIXED)
    same = PDPRidge(2.0, epsilon=1.0).output_law(X[kept], y[kept])
    assert_array_equal(law.center, same.center)
    assert law.eta == same.eta
    assert_allclose(law.eta, 3 / ridge_constant(2.0, 3), rtol=1e-14)


def test_an_empty_sample():
    X, y = people()
    nobody = np.zeros(5, dtype=bool)
    law = SampledRidge().conditional_law(X, y, nobody, epsilon=MIXED)
    assert_array_equal(law.center, np.zeros(3))
    everyone = SampledRidge().conditional_law(X, y, ~nobody, epsilon=MIXED)
    assert law.eta == everyone.eta
    words = (
        "^sampled must hold someone with normalizer='sampled': the noise of an empty sample "
        "is not defined[.] With normalizer='public' it is harmless$"
    )
    with pytest.raises(ValueError, match=words):
        SampledRidge(normalizer="sampled").conditional_law(X, y, nobody, epsilon=MIXED)


def test_equal_budgets_are_the_baseline():
    X, y = people()
    for normalizer in ("public", "sampled"):
        law = SampledRidge(2.0, normalizer=normalizer, epsilon=0.3).output_law(X, y)
        baseline = PDPRidge(2.0, epsilon=0.3).output_law(X, y)
        assert law.log_weights == [0.0]
        assert_allclose(law.center, baseline.center, rtol=1e-12)
        assert_allclose(law.etas, [baseline.eta], rtol=1e-12)


# ---------------------------------------------------------------- the mixture


@pytest.mark.parametrize("normalizer", ["public", "sampled"])
@pytest.mark.parametrize("loss", ["square", "huber"])
def test_the_mixture_has_a_part_for_every_kept_set(normalizer, loss):
    X, y = people()
    model = SampledRidge(0.5, normalizer=normalizer, loss=loss, epsilon=MIXED)
    law, shares = model.output_law(X, y), keep_probabilities(MIXED, "max")
    density = np.zeros(4)
    points = np.random.default_rng(1).normal(size=(4, 3))
    for first in (0, 1):
        for second in (0, 1):
            for third in (0, 1):
                kept = np.array([first, second, third, 1, 1], dtype=bool)
                weight = np.prod(np.where(kept, shares, 1 - shares))
                density += weight * np.exp(model.conditional_law(X, y, kept).logpdf(points))
    assert_allclose(law.logpdf(points), np.log(density), rtol=1e-9)
    assert_allclose(law.logpdf(points[0]), np.log(density[0]), rtol=1e-9)
    assert law.logpdf(np.zeros((2, 0, 3))).shape == (2, 0)
    whole = model.conditional_law(X, y, np.ones(5, dtype=bool))
    assert_allclose(law.center, whole.center, rtol=1e-9)


def test_the_density_has_mass_one():
    X, y = people(d=1)
    law = SampledRidge(0.5, normalizer="sampled", epsilon=MIXED).output_law(X, y)
    mass, _ = integrate.quad(
        lambda o: np.exp(law.logpdf([o])), -200, 200, points=np.unique(law.centers), limit=400
    )
    assert_allclose(mass, 1, rtol=1e-6)


def cdf(law):
    """Distribution function of a mixture of Laplace laws, by hand."""
    parts = [stats.laplace(c[0], 1 / eta) for c, eta in zip(law.centers, law.etas, strict=True)]
    weights = np.exp(law.log_weights)
    return lambda o: sum(w * part.cdf(o) for w, part in zip(weights, parts, strict=True))


@pytest.mark.parametrize("normalizer", ["public", "sampled"])
def test_fit_draws_from_the_output_law(normalizer):
    X, y = people(d=1)
    rng = np.random.default_rng(SEED)
    model = SampledRidge(0.2, normalizer=normalizer, random_state=rng, epsilon=10 * MIXED)
    coefs = np.concatenate([model.fit(X, y).coef_ for _ in range(400)])
    law = model.output_law(X, y)
    assert stats.kstest(coefs, cdf(law)).pvalue > ALARM
    everyone = model.output_law(X, y, epsilon=10.0)  # planted: nobody is left out
    assert stats.kstest(coefs, cdf(everyone)).pvalue < ALARM
    draws = law.sample(1000, rng=rng)
    assert draws.shape == (1000, 1)
    assert stats.kstest(draws[:, 0], cdf(law)).pvalue > ALARM
    assert law.sample(rng=rng).shape == (1,)
    assert law.sample((2, 3), rng=rng).shape == (2, 3, 1)


@pytest.mark.parametrize("normalizer", ["public", "sampled"])
def test_people_are_kept_independently_of_each_other(normalizer):
    """One-hot rows at huge budgets: the coefficients of a fit tell who was kept."""
    shares, fits = np.array([0.5, 0.3, 0.7, 0.5, 1.0]), 2000
    epsilon = 1e6 + np.log(shares)  # the share of a budget so huge is e^(epsilon - t)
    model = SampledRidge(
        0.5, normalizer=normalizer, epsilon=epsilon, random_state=np.random.default_rng(SEED)
    )
    coefs = np.array([model.fit(np.eye(5), np.ones(5)).coef_ for _ in range(fits)])
    kept = coefs > 0.05
    n_bar = shares.sum() if normalizer == "public" else kept.sum(axis=1, keepdims=True)
    # the noise is of length 5 / eta, below 1e-3
    assert_allclose(coefs, kept / (1 + 0.5 * n_bar), atol=1e-3)
    counts = np.bincount(kept[:, :4] @ [8, 4, 2, 1], minlength=16)
    chances = np.ones(1)
    for share in shares[:4]:
        chances = np.outer(chances, [1 - share, share]).ravel()
    assert kept[:, 4].all()
    assert stats.chisquare(counts, fits * chances).pvalue > ALARM
    # nor does a fit know who was kept in the one before
    both = kept[1:, :4, None] & kept[:-1, None, :4]
    assert np.all(
        np.abs(both.mean(axis=0) - np.outer(shares[:4], shares[:4])) < 6 * 0.5 / fits**0.5
    )


def test_too_many_for_an_exact_law():
    X, y = people(n=16)
    epsilon = np.append(np.full(15, 0.5), 1.0)
    with pytest.raises(ValueError, match=r"output_law needs at most 14 people .*; got 15, a mix"):
        SampledRidge().output_law(X, y, epsilon=epsilon)
    assert len(SampledRidge().output_law(X[6:], y[6:], epsilon=epsilon[6:]).etas) == 2**9


def test_the_largest_exact_law_is_served(monkeypatch):
    monkeypatch.setattr("pdpbook.personalized.sampling.LARGEST", 3)
    X, y = people()
    law = SampledRidge().output_law(X, y, epsilon=[0.5, 1.0, 0.5, 1.0, 0.5])
    assert len(law.etas) == 2**3
    with pytest.raises(ValueError, match="output_law needs at most 3 people"):
        SampledRidge().output_law(X, y, epsilon=[0.5, 0.5, 0.5, 1.0, 0.5])


def test_predictions_are_floats_whatever_holds_the_numbers():
    X, y = people()
    model = SampledRidge(epsilon=MIXED).fit(X, y)
    again = model.predict(X.astype(object))
    assert again.dtype == np.float64
    assert_allclose(again, X @ model.coef_ + model.intercept_, rtol=1e-14)


# ---------------------------------------------------------------- promises


REPAIRED = {
    "square": SampledRidge(400.0),
    "published": SampledRidge(400.0, proof="published"),
    "huber": SampledRidge(400.0, loss="huber"),
    "mean": SampledRidge(400.0, threshold="mean"),
    "exact": SampledRidge(400.0, rule="exact"),
}


@pytest.mark.parametrize("name", REPAIRED)
def test_the_repair_is_not_refuted(name):
    search = audit.search_neighbors(
        REPAIRED[name], 3, 4, epsilon=1.0, trials=60, climbs=0, rng=np.random.default_rng(SEED)
    )
    assert search.worst.passed
    assert search.worst.ratio > 0.9 or name == "mean"  # at the mean nobody spends all


@pytest.mark.parametrize("lam", [0.01, 1.0, 30.0])
def test_the_repair_at_small_penalties(lam):
    model = SampledRidge(lam, epsilon=1.0, rule="exact")
    search = audit.search_neighbors(
        model, 3, 3, epsilon=1.0, trials=60, climbs=0, rng=np.random.default_rng(SEED)
    )
    assert search.worst.passed


def test_the_exact_rule_spends_the_smallest_budget_too():
    """Person 0 is silent, or loud: with the exact rule the careful lose what they allowed."""
    X, y, epsilon = np.zeros((3, 4)), np.zeros(3), np.array([0.02, 1.0, 1.0])
    X[0], y[0] = 1.0, -1.0
    ratios = {
        rule: audit_density(
            SampledRidge(1e4, rule=rule), (X, y), (X, -y), epsilon=epsilon, person=0,
            rng=np.random.default_rng(SEED),
        ).ratio
        for rule in ("jorgensen", "exact")
    }  # fmt: skip
    assert_allclose(ratios["jorgensen"], np.exp(-0.5), rtol=0.01)
    assert 0.98 < ratios["exact"] <= 1


def as_lazy_as_allowed(X, y, lam, weights, *, gradient_norm, **settings):
    """A minimizer off by all that is charged, as far as a column of loud or null rows lets it."""
    exact = huber_ridge(X, y, lam, weights, gradient_norm=gradient_norm, **settings)
    off = 2 * gradient_norm / (2 * lam)  # the gradient as computed, and as much for its rounding
    return HuberSolution(exact.theta + (off if X[:, 0] @ y > 0 else -off), gradient_norm)


@pytest.mark.parametrize(
    "settings",
    [
        {"threshold": "max"},
        {"threshold": "mean"},
        {"threshold": 0.7, "huber_threshold": 0.05},
        {"row_norm": 0.3, "clip": True, "huber_threshold": 0.2},
    ],
    ids=str,
)
@pytest.mark.parametrize("rule", ["jorgensen", "exact"])
def test_the_repair_pays_for_a_lazy_solver(rule, settings, monkeypatch):
    """All but one are silent, and so far from their label nobody has curvature: moves are exact."""
    monkeypatch.setattr("pdpbook.personalized.ridge.huber_ridge", as_lazy_as_allowed)
    settings = {"huber_threshold": 0.4} | settings
    model = SampledRidge(50.0, rule=rule, loss="huber", epsilon=MIXED, **settings)
    promised = clone(model).fit(np.zeros((5, 1)), np.zeros(5)).guarantee_.epsilon
    for person, most in enumerate(promised):
        X, y = np.zeros((5, 1)), np.zeros(5)
        X[person], y[person] = 1e3 if model.clip else 1.0, 1.0
        p, q = model.output_law(X, y), model.output_law(X, -y)
        far = np.array([[-1.0], [1.0]]) * (1 + np.abs(p.centers).max() + 50 / p.etas[0])
        points = np.concatenate([far, p.centers, q.centers])
        lost = np.abs(p.logpdf(points) - q.logpdf(points)).max()
        assert lost <= most * (1 + 1e-9)
        if rule == "exact" or most == model_level(model):  # the published rule keeps fewer
            assert lost >= most * (1 - 1e-5)


def model_level(model):
    return {"max": MIXED.max(), "mean": MIXED.mean()}.get(model.threshold, model.threshold)


class NoiseForHalf(SampledRidge):
    """Forgets that the weights can add up to more than one, and half of the noise."""

    def law_of_sample(self, people, sampled, probabilities, t):
        return super().law_of_sample(people, sampled, probabilities, 2 * t)


class ExactWithoutFixedNoise(SampledRidge):
    """The rule for a fixed normalizer, with the rate of the realized sample."""

    def law_of_sample(self, people, sampled, probabilities, t):
        law = super().law_of_sample(people, sampled, probabilities, t)
        return L2Laplace(law.center, law.eta * sampled.sum() / probabilities.sum())


@pytest.mark.parametrize(
    "model",
    [
        SampledRidge(400.0, normalizer="sampled"),
        NoiseForHalf(400.0),
        ExactWithoutFixedNoise(400.0, rule="exact"),
    ],
    ids=["as printed", "half the noise", "rate of the sample"],
)
def test_broken_promises_are_caught(model):
    search = audit.search_neighbors(
        model, 3, 4, epsilon=1.0, trials=40, climbs=0, rng=np.random.default_rng(SEED)
    )
    assert search.worst.ratio > 1.5


@pytest.mark.parametrize(
    ("m", "d", "lam", "promised", "realized"),
    [(1, 30, 3e3, 0.01, 0.985), (20, 100, 1e4, 0.01, 0.427), (47, 30, 3e3, 0.1, 0.110)],
)
def test_the_violations_of_the_printed_variant(m, d, lam, promised, realized):
    X, y = np.zeros((m + 1, d)), np.zeros(m + 1)
    X[0], y[0] = 1.0, 1.0
    epsilon = np.append(promised, np.ones(m))
    model = SampledRidge(lam, normalizer="sampled", proof="published")
    law, other = (model.output_law(X, label, epsilon=epsilon) for label in (y, -y))
    loss = law.logpdf(law.center) - other.logpdf(law.center)
    assert_allclose(loss, realized, atol=5e-4)
    assert loss <= 1  # the promise of the threshold does hold


def test_what_is_promised():
    X, y = people()
    repaired = SampledRidge(threshold="mean").fit(X, y, epsilon=MIXED)
    assert_allclose(repaired.guarantee_.epsilon, np.minimum(MIXED, MIXED.mean()), rtol=1e-15)
    printed = SampledRidge(normalizer="sampled").fit(X, y, epsilon=MIXED)
    assert_array_equal(printed.guarantee_.epsilon, np.ones(5))
    for model in (repaired, printed):
        assert model.guarantee_.neighbors == "replace-one"
        assert set(vars(model)) - set(model.get_params()) == {
            "coef_", "intercept_", "guarantee_", "noise_", "n_features_in_", "_settings_of_fit"
        }  # fmt: skip


def test_bounds_and_intercept_are_those_of_pdp_op():
    rng = np.random.default_rng(SEED)
    X, y = rng.uniform(10, 20, (5, 2)), rng.uniform(0, 50, 5)
    kept = np.array([True, True, False, True, True])
    shared = {"fit_intercept": True, "bounds": (10, 20), "y_bounds": (0, 50)}
    law = SampledRidge(2.0, normalizer="sampled", **shared).conditional_law(
        X, y, kept, epsilon=MIXED
    )
    same = PDPRidge(2.0, **shared).output_law(X[kept], y[kept], epsilon=1.0)
    assert_allclose(law.center, same.center, rtol=1e-13)
    rich = SampledRidge(1e-6, epsilon=1e15, **shared).fit(X, y)
    near = PDPRidge(1e-6, epsilon=1e15, **shared).fit(X, y)
    assert_allclose(rich.predict(X), near.predict(X), atol=1e-3)


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ({"threshold": 2.0}, r"threshold must lie within the range of the budgets, \[0.05, 1\]"),
        ({"threshold": 0.01}, r"threshold must lie within the range of the budgets"),
        ({"threshold": np.nan}, "threshold must be finite and above 0; got nan"),
        ({"threshold": [0.5, 0.5]}, "threshold must be a single number"),
        ({"threshold": "median"}, "threshold must be 'max', 'mean' or a number above 0"),
        ({"normalizer": "private"}, "normalizer must be one of 'public', 'sampled'"),
        ({"rule": "printed"}, "rule must be one of 'jorgensen', 'exact'"),
        ({"rule": "exact", "normalizer": "sampled"}, "rule must be 'jorgensen' with normalizer"),
        ({"lam": 0.0}, "lam must be finite and above 0; got 0"),
        ({"huber_threshold": -1.0}, "huber_threshold must be finite and above 0; got -1"),
        ({"loss": "huber", "bound": 1.0}, "bound must be None with loss='huber'"),
        ({"bounds": (1, 0)}, "bounds must have low < high"),
    ],
)
def test_bad_settings_are_refused_before_the_data(bad, words):
    model = SampledRidge(**{"epsilon": MIXED, **bad})
    with pytest.raises(ValueError, match=words):
        model.fit("not data at all", None)


def test_bad_data_and_wrong_kinds():
    X, y = people()
    with pytest.raises(TypeError, match="threshold must be a number"):
        SampledRidge(threshold=True).fit(X, y)
    with pytest.raises(ValueError, match=r"epsilon must be a number or have shape \(5,\)"):
        SampledRidge().fit(X, y, epsilon=MIXED[:4])
    with pytest.raises(ValueError, match=r"X must lie in \[0, 1\]; got X\[0, 0\] = 2"):
        SampledRidge().fit(np.where(X == X[0, 0], 2, X), y)
    for kept in ([True] * 4, [1, 0, 1, 0, 1]):
        with pytest.raises(ValueError, match="sampled must be True or False for each row of X"):
            SampledRidge().conditional_law(X, y, kept)
    with pytest.raises(ValueError, match=r"points must have shape \(..., 3\)"):
        SampledRidge().output_law(X, y).logpdf([0.0])
    with pytest.raises(ValueError, match="rule must be one of"):
        keep_probabilities(MIXED, 1.0, "other")
    with pytest.raises(ValueError, match=r"epsilon must be finite and at least 0; got eps"):
        keep_probabilities([1.0, np.nan], "max")
