"""Releases in whole numbers: draws, laws and losses as exact fractions, every output listed."""

import itertools
import math
import random
from fractions import Fraction

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal

import pdpbook.personalized.mean as mean_module
import pdpbook.sufficient_statistics.grid_sums as grid_module
from pdpbook import noise
from pdpbook.guarantees import BudgetAccount
from pdpbook.noise.whole_numbers import draw_discrete_laplace, exact_budget, rounded_to_steps
from pdpbook.personalized import PersonalizedMean
from pdpbook.sufficient_statistics import (
    SufficientStatisticsRidge,
    farthest_records,
    statistics_constant,
)

#: budgets that differ, in no order, none but the largest a whole number of quarters of it
BUDGETS = np.array([0.7, 0.3, 1.1, 0.29])
GRID = 4


def mean(**settings):
    return PersonalizedMean(noise="grid", grid=GRID, **settings)


def ridge(**settings):
    return SufficientStatisticsRidge(noise="grid", **({"grid": 2} | settings))


# ---------------------------------------------------------------- what is drawn, by all its bits


class Scripted(np.random.Generator):
    """A generator whose whole numbers are listed beforehand; floats are refused."""

    def __init__(self, script):
        super().__init__(np.random.PCG64(0))
        self.script, self.bounds = script, []

    def integers(self, m):
        place = len(self.bounds)
        self.bounds.append(m)
        if place >= len(self.script):
            raise OutOfScript
        return self.script[place]

    def refuse(self, *args, **kwargs):
        raise AssertionError("a draw of floats")

    laplace = normal = standard_normal = gamma = random = uniform = exponential = refuse


class OutOfScript(Exception):
    pass


def outcomes(draw, smallest):
    """Exact probabilities of what `draw` makes of a generator, and of all that is not followed.

    Every sequence of whole numbers is tried, until its probability is below `smallest`.
    """
    found, rest, scripts = {}, Fraction(0), [((), Fraction(1))]
    while scripts:
        script, chance = scripts.pop()
        rng = Scripted(script)
        try:
            value = draw(rng)
        except OutOfScript:
            m = rng.bounds[-1]
            if chance / m < smallest:
                rest += chance
            else:
                scripts += [((*script, k), chance / m) for k in range(m)]
        else:
            assert len(rng.bounds) == len(script)
            found[value] = found.get(value, 0) + chance
    assert sum(found.values()) + rest == 1
    return found, rest


def exponential(r):
    """Fractions below and above exp(-r), by its series, an alternating one."""
    terms = [(-r) ** k / math.factorial(k) for k in range(40)]
    return sorted((sum(terms), sum(terms[:-1])))


def follows_the_law(draw, rate, smallest=Fraction(1, 10**5)):
    """Whether exact probabilities enclose tanh(r / 2) exp(-r |k|) for every whole number."""
    found, rest = outcomes(draw, smallest)
    assert rest < Fraction(3, 10)  # restarts take long scripts
    for k, chance in found.items():
        low, high = exponential(rate)
        at_least = (1 - high) / (1 + high) * low ** abs(k)
        at_most = (1 - low) / (1 + low) * high ** abs(k)
        if not (chance <= at_most and at_least <= chance + rest):
            return False
    return True


RATES = [Fraction(1), Fraction(2), Fraction(3, 2), Fraction(2, 3)]


@pytest.mark.parametrize("rate", RATES, ids=str)
def test_all_draws_have_their_exact_probabilities(rate):
    assert follows_the_law(lambda rng: draw_discrete_laplace(rate, rng), rate)


def two_zeros(rng):
    """Zero counts with both signs."""
    size = abs(draw_discrete_laplace(Fraction(1), rng))
    while size == 0 and rng.integers(2):
        size = abs(draw_discrete_laplace(Fraction(1), rng))
    return size


def inverted(rng):
    return draw_discrete_laplace(Fraction(1, 2), rng)


@pytest.mark.parametrize(("bug", "rate"), [(two_zeros, Fraction(1)), (inverted, Fraction(2))])
def test_a_draw_of_another_law_is_noticed(bug, rate):
    assert not follows_the_law(bug, rate)


LOUD = np.array([24.0, 7.0, 16.0])  # so that the rate of a step is 24 / (2 * 2 * 2) = 3


def test_fit_releases_its_law_and_takes_nothing_but_whole_numbers():
    """Every sequence of bits, through `fit` itself; probabilities are exact fractions."""
    y = np.array([-1.0, 0.2, 1.0])
    model = PersonalizedMean(noise="grid", grid=2)
    law = model.output_law(y[:, None], y, epsilon=LOUD)
    assert law.rates == (Fraction(3),)
    (step,) = law.steps

    def draw(rng):
        fitted = model.set_params(random_state=rng).fit(y[:, None], y, epsilon=LOUD)
        k = round(fitted.mean_ / float(step))
        assert fitted.mean_ == float(k * step)
        return k - law.center[0]

    assert follows_the_law(draw, Fraction(3), Fraction(1, 3000))


class FloatNoiseRounded(noise.WholeNumbers):
    """Laplace noise of floats, rounded to whole steps."""

    def sample(self, size=None, *, rng):
        floats = [rng.laplace(scale=1 / float(rate)) for rate in self.rates]
        return np.array(self.center, dtype=object) + [round(one) for one in floats]


def rounded_after_noise(people, grid):
    """The mean of floats gets noise of floats, and is rounded to the grid when all is done."""
    law = ORIGINAL_MEAN(people, grid)
    exact = people.budgets @ people.y / people.budgets.sum()

    class Rounded(noise.WholeNumbers):
        def sample(self, size=None, *, rng):
            noisy = exact + rng.laplace(scale=self.scale[0])
            return np.array([math.floor(noisy / float(self.steps[0]) + 0.5)], dtype=object)

    return Rounded(law.center, law.rates, law.steps)


ORIGINAL_MEAN = mean_module.grid_law


def float_noise(people, grid):
    law = ORIGINAL_MEAN(people, grid)
    return FloatNoiseRounded(law.center, law.rates, law.steps)


@pytest.mark.parametrize("bug", [float_noise, rounded_after_noise])
def test_noise_that_is_rounded_is_noticed(bug, monkeypatch):
    """By the test above: a float is asked for, which `Scripted` refuses."""
    monkeypatch.setattr(mean_module, "grid_law", bug)
    with pytest.raises(AssertionError, match="a draw of floats"):
        test_fit_releases_its_law_and_takes_nothing_but_whole_numbers()


@pytest.mark.parametrize("kind", [{}, {"centered": True}, {"fit_intercept": True}], ids=str)
def test_fit_of_sums_draws_its_law_from_whole_numbers(kind):
    class Whole(np.random.Generator):
        laplace = normal = standard_normal = gamma = random = uniform = Scripted.refuse

    X, y, epsilon = table(30, 3)
    model = ridge(random_state=Whole(np.random.PCG64(3)), grid=64, **kind)
    model.fit(X, y, epsilon=epsilon)
    law = model.output_law(X, y, epsilon=epsilon)
    drawn = law.sample(rng=np.random.default_rng(3))
    assert_array_equal(model.release_, law.to_domain(drawn))


def test_without_a_seed_every_bit_is_of_the_operating_system(monkeypatch):
    asked = []

    class Recorded(random.SystemRandom):
        def randrange(self, m):
            asked.append(m)
            return super().randrange(m)

    monkeypatch.setattr("pdpbook.release.random.SystemRandom", Recorded)
    y = np.array([0.5, -0.5])
    mean().fit(y[:, None], y)
    assert asked
    asked.clear()
    ridge().fit(y[:, None] ** 2, y)
    assert asked
    asked.clear()
    mean(random_state=1).fit(y[:, None], y)
    assert not asked


# ---------------------------------------------------------------- the mean, by hand and by lists


def test_a_mean_by_hand():
    """Budgets 0.7, 0.3, 1.1, 0.29 over 1.1, times 4: weights 2, 1, 4, 1.

    Labels -1, 0.3, 0.6, 0.125 are -4, 1, 2 and, as ties go upward, 1 steps: -8 + 1 + 8 + 1 = 2.
    """
    y = np.array([-1.0, 0.3, 0.6, 0.125])
    law = mean().output_law(y[:, None], y, epsilon=BUDGETS)
    assert_array_equal(noise.whole_weights(BUDGETS, 4), [2, 1, 4, 1])
    assert (law.center, law.rates, law.steps) == (
        (2,),
        (Fraction(11, 320),),
        (Fraction(1, 32),),
    )
    assert law.to_domain(law.center) == [1 / 16]


LABELS = (-1.0, -0.3, 0.2, 1.0)


def losses_of_the_mean(labels=LABELS, budgets=BUDGETS):
    """The largest loss of each person: all data, all neighbors, all outputs that can differ."""
    n = len(budgets)
    laws = {
        y: mean().output_law(np.zeros((n, 1)), np.array(y), epsilon=budgets)
        for y in itertools.product(labels, repeat=n)
    }
    centers = [law.center[0] for law in laws.values()]
    outputs = range(min(centers) - 1, max(centers) + 2)  # beyond, the ratio stays what it is
    worst = [Fraction(0)] * n
    for y, law in laws.items():
        for i, other in itertools.product(range(n), labels):
            neighbor = laws[(*y[:i], other, *y[i + 1 :])]
            worst[i] = max(worst[i], *(abs(law.loss(neighbor, (k,))) for k in outputs))
    return worst


def exact_losses(budgets, grid):
    """Of the theorem, from scratch: the largest budget by whole `grid`-ths, rounded down."""
    exact = [Fraction(repr(float(one))) for one in budgets]
    return [max(exact) * (grid * one // max(exact)) / grid for one in exact]


def test_losses_of_the_mean_are_those_of_the_theorem_and_within_budgets():
    found = losses_of_the_mean(labels=(-1.0, 0.2, 1.0))
    assert found == exact_losses(BUDGETS, GRID)
    assert found == [Fraction(11, 20), Fraction(11, 40), Fraction(11, 10), Fraction(11, 40)]
    assert all(loss <= exact_budget(one) for loss, one in zip(found, BUDGETS, strict=True))


def one_step_short(people, grid):
    law = ORIGINAL_MEAN(people, grid)
    (rate,) = law.rates
    return noise.WholeNumbers(law.center, (rate * 2 * grid / (2 * grid - 1),), law.steps)


def rate_inverted(people, grid):
    law = ORIGINAL_MEAN(people, grid)
    return noise.WholeNumbers(law.center, (1 / law.rates[0],), law.steps)


def weights_rounded_up(epsilon, grid):
    exact = [exact_budget(one) for one in epsilon]
    return np.array([math.ceil(grid * one / max(exact)) for one in exact])


ORIGINAL_WEIGHTS = noise.whole_weights


def weights_of_another(epsilon, grid):
    return np.roll(ORIGINAL_WEIGHTS(epsilon, grid), 1)


def weights_by_rank(epsilon, grid):
    """Sorted budgets meet people in their own order."""
    return ORIGINAL_WEIGHTS(np.sort(epsilon), grid)


LAWS = [("grid_law", one_step_short), ("grid_law", rate_inverted)]
WEIGHTS = [("whole_weights", bug) for bug in (weights_rounded_up, weights_of_another)]
WEIGHTS.append(("whole_weights", weights_by_rank))


@pytest.mark.parametrize(("name", "bug"), LAWS + WEIGHTS)
def test_planted_means_break_a_budget(name, bug, monkeypatch):
    monkeypatch.setattr(mean_module, name, bug)
    found = losses_of_the_mean(labels=(-1.0, 1.0))
    assert any(loss > exact_budget(one) for loss, one in zip(found, BUDGETS, strict=True))


def test_labels_are_rounded_one_by_one():
    """A label of a crowd goes where it goes alone, for all floats around the ties."""
    near = np.array([k / 16 + e for k in range(-16, 17) for e in (-1e-17, 0.0, 1e-16)])
    labels = np.clip(near, -1, 1)
    together = rounded_to_steps(labels, 8, -1)
    alone = [rounded_to_steps(one, 8, -1) for one in labels]
    assert_array_equal(together, alone)
    exact = [math.floor(Fraction(one) * 8 + Fraction(1, 2)) for one in labels]
    assert np.abs(together - exact).max() <= 1  # a sum of floats may meet a tie from below
    assert np.abs(together / 8 - labels).max() <= 1 / 16


# ---------------------------------------------------------------- the sums


def table(n, d, seed=7):
    rng = np.random.default_rng(seed)
    return rng.random((n, d)), rng.uniform(-1, 1, n), rng.uniform(0.2, 3.0, n)


def contribution(x, v, grid, centered):
    """What a record adds, in exact fractions of the domain, from scratch."""
    x = [Fraction(int(one), grid) - Fraction(int(centered), 2) for one in x]
    y = Fraction(int(v), grid)
    squares = [x[j] * x[k] for j in range(len(x)) for k in range(j, len(x))]
    moments = [one * y for one in x]
    return squares + x + moments + [y] if centered else squares + moments


def scaled(d, centered, s):
    squares = [Fraction(1)] * (d * (d + 1) // 2)
    return squares + [s] * (2 * d) + [s * d / 2] if centered else squares + [s] * d


KINDS = [(centered, s) for centered in (False, True) for s in map(Fraction, ("1/4", "1", "7/2"))]


@pytest.mark.parametrize(("centered", "s"), KINDS, ids=str)
@pytest.mark.parametrize(("d", "grid"), [(1, 1), (1, 4), (1, 5), (2, 1), (2, 2), (2, 3), (3, 1)])
def test_the_farthest_records_are_those_of_a_list(d, grid, centered, s):
    rows = itertools.product(range(grid + 1), repeat=d)
    records = list(itertools.product(rows, range(-grid, grid + 1)))
    factors = scaled(d, centered, s)
    common = 4 * grid * grid * 4  # makes all of them whole numbers
    whole = np.array(
        [
            [
                int(f * t * common)
                for f, t in zip(factors, contribution(*one, grid, centered), strict=True)
            ]
            for one in records
        ]
    )
    farthest = max(int(np.abs(whole - one).sum(axis=1).max()) for one in whole)
    found = farthest_records(d, grid, centered=centered, scale=s)
    assert Fraction(farthest, common) == found
    assert float(found) <= statistics_constant(d, centered=centered, scale=float(s)) * (1 + 1e-12)


@pytest.mark.parametrize(("centered", "s"), KINDS, ids=str)
@pytest.mark.parametrize("d", [1, 2, 5, 12])
def test_a_fine_grid_comes_near_the_constant_of_floats(d, centered, s):
    near = farthest_records(d, 2**16, centered=centered, scale=s)
    constant = statistics_constant(d, centered=centered, scale=float(s))
    assert_allclose(float(near), constant, rtol=1e-8)


@pytest.mark.parametrize("centered", [False, True])
def test_sums_by_hand(centered):
    """Everything from scratch in fractions: center, rates and steps, with personal weights."""
    X, y, epsilon = table(9, 3)
    grid, s = 8, Fraction(3, 2)
    law = ridge(grid=grid, centered=centered, scale=1.5).output_law(X, y, epsilon=epsilon)
    whole = rounded_to_steps(X, grid, 0), rounded_to_steps(y, grid, -1)
    losses = exact_losses(epsilon, grid)
    shares = [one / sum(losses) for one in losses]
    expected = [
        sum(share * one[k] for share, one in zip(shares, added, strict=True))
        for added in [[contribution(x, v, grid, centered) for x, v in zip(*whole, strict=True)]]
        for k in range(len(added[0]))
    ]
    assert [k * step for k, step in zip(law.center, law.steps, strict=True)] == expected
    farthest = farthest_records(3, grid, centered=centered, scale=s)
    rates = [rate / step for rate, step in zip(law.rates, law.steps, strict=True)]
    assert rates == [f * sum(losses) / farthest for f in scaled(3, centered, s)]


BOLD = np.array([0.7, 0.3, 1.1])


def losses_of_sums(model, d, who=range(3), budgets=BOLD):
    """The largest loss of each person, over all records of that person and all outputs.

    Losses add up over the released numbers, so a list of outputs for each of them is enough.
    """
    grid = model.grid
    rows = [np.array(one) / grid for one in itertools.product(range(grid + 1), repeat=d)]
    labels = np.arange(-grid, grid + 1) / grid
    X, y = np.full((len(budgets), d), 0.5), np.zeros(len(budgets))
    worst = []
    for i in who:
        laws = []
        for row, label in itertools.product(rows, labels):
            X_i, y_i = X.copy(), y.copy()
            X_i[i], y_i[i] = row, label
            laws.append(model.output_law(X_i, y_i, epsilon=budgets))
        rates = laws[0].rates
        assert all(law.rates == rates for law in laws)
        common = math.lcm(*(rate.denominator for rate in rates))
        units = np.array([int(rate * common) for rate in rates], dtype=object)
        centers = np.array([law.center for law in laws], dtype=object)
        low, high = centers.min() - 1, centers.max() + 2
        largest = 0
        for one in centers:
            k = np.array(range(low, high), dtype=object)[:, None, None]
            if len(k) < 60:  # every output of every number
                ratio = (np.abs(k - centers) - np.abs(k - one)).max(axis=0)
                assert (ratio == np.abs(centers - one)).all()
            largest = max(largest, (np.abs(centers - one) * units).sum(axis=1).max())
        worst.append(Fraction(largest, common))
    return worst


CASES = [(1, {"grid": 3}), (1, {"grid": 2, "centered": True}), (2, {"scale": 0.75}), (2, {})]
CASES.append((2, {"grid": 3, "centered": True, "scale": 0.3}))


@pytest.mark.parametrize(("d", "settings"), CASES, ids=str)
def test_losses_of_sums_are_those_of_the_theorem_and_within_budgets(d, settings):
    model = ridge(**settings)
    found = losses_of_sums(model, d)
    assert found == exact_losses(BOLD, model.grid)
    assert all(loss <= exact_budget(one) for loss, one in zip(found, BOLD, strict=True))


def test_with_an_intercept_the_budgets_hold():
    """The constant feature cannot move: nobody spends more, and nobody everything."""
    found = losses_of_sums(ridge(fit_intercept=True, grid=4), 1)
    for loss, most in zip(found, exact_losses(BOLD, 4), strict=True):
        assert most / 2 < loss < most


ORIGINAL_FARTHEST = grid_module.farthest_records
ORIGINAL_FACTORS = grid_module.factors_of_sums


def a_step_less_far(d, grid, **kind):
    return ORIGINAL_FARTHEST(d, grid, **kind) - Fraction(1, grid * grid)


def constant_of_labels_alone(d, grid, *, centered, scale):
    return 2 * scale * d


def scale_forgotten(d, centered, scale):
    return ORIGINAL_FACTORS(d, centered, 2 * scale)


def scale_inverted(d, grid, **kind):
    return 1 / ORIGINAL_FARTHEST(d, grid, **kind)


SUMS = [
    ("farthest_records", a_step_less_far),
    ("farthest_records", constant_of_labels_alone),
    ("farthest_records", scale_inverted),
    ("factors_of_sums", scale_forgotten),
]


@pytest.mark.parametrize(("name", "bug"), SUMS + WEIGHTS)
def test_planted_sums_break_a_budget(name, bug, monkeypatch):
    monkeypatch.setattr(grid_module, name, bug)
    found = losses_of_sums(ridge(grid=4), 1)
    assert any(loss > exact_budget(one) for loss, one in zip(found, BOLD, strict=True))


def test_sums_of_many_people_are_added_in_blocks():
    """At the finest grid a block has 2**14 people; whole numbers beyond 2**63 are exact."""
    n, grid = 2**15 + 3, 2**16
    rows, labels = np.full((n, 1), grid), np.full(n, -grid)
    weights = np.full(n, grid)
    found = grid_module.whole_sums(rows, labels, weights, grid, False)
    assert found == [n * grid**3, -n * grid**3]
    assert found[0] > 2**63


# ---------------------------------------------------------------- a promise, an account, units


def test_who_has_less_than_a_step_takes_no_part_and_is_promised_nothing():
    y, epsilon = np.array([1.0, -1.0, 0.5]), np.array([4.0, 0.9, 1.0])
    account = BudgetAccount(epsilon, neighbors="replace-one")
    for model in (mean(random_state=0), ridge(grid=4, random_state=0)):
        model.fit(np.full((3, 1), 0.5), y, epsilon=epsilon)
        assert_array_equal(model.guarantee_.epsilon, [4.0, 0.0, 1.0])
    mean().fit(y[:, None], y, epsilon=epsilon, account=account)
    assert_array_equal(account.remaining, [0.0, 0.9, 0.0])
    outside = np.array([1.0, 99.0, 0.5])  # nobody looks at who takes no part
    assert mean(random_state=0).fit(y[:, None], outside, epsilon=epsilon).mean_ is not None
    flipped = [mean().output_law(y[:, None], np.array([1.0, v, 0.5]), epsilon=epsilon) for v in y]
    assert flipped[0].center == flipped[1].center


def test_whoever_an_account_leaves_out_counts_for_nothing_in_the_weights():
    y, epsilon = np.array([1.0, -1.0, 0.5]), np.array([4.0, 0.9, 1.0])
    account = BudgetAccount([1.0, 1.0, 1.0], neighbors="replace-one", leave_out=True)
    model = mean(random_state=0).fit(y[:, None], y, epsilon=epsilon, account=account)
    assert_array_equal(model.guarantee_.epsilon, [0.0, 0.9, 1.0])


def test_units_and_bounds_are_undone_after_the_release():
    y = np.linspace(10, 30, 401)
    settings = {"y_bounds": (0, 40), "random_state": 3, "epsilon": 50.0}
    model = PersonalizedMean(noise="grid", **settings).fit(y[:, None], y)
    assert abs(model.mean_ - 20) < 0.1
    X = np.column_stack([y, 3 * y])
    line = SufficientStatisticsRidge(
        1e-4, noise="grid", bounds=[(0, 40), (0, 120)], fit_intercept=True, **settings
    )
    assert abs(line.fit(X, y).predict(X).mean() - 20) < 1


def test_public_noise_is_that_of_the_law():
    y = np.linspace(-1, 1, 40)
    epsilon = np.linspace(0.5, 1, 40)
    model = mean(random_state=0).fit(y[:, None], y, epsilon=epsilon)
    law = model.output_law(y[:, None], y, epsilon=epsilon)
    drawn = law.sample(20_000, rng=np.random.default_rng(1)).astype(float)[:, 0]
    z = (drawn - law.center[0]) * float(law.steps[0])
    (variance,) = model.noise_.covariance[0]
    error = (z**2).std() / np.sqrt(len(z))
    assert abs((z**2).mean() - variance) < 5 * error  # one alarm in a million
    (rate,) = law.rates
    assert_allclose(1 / model.noise_.scale, float(rate / law.steps[0]))


def test_variance_is_below_that_of_laplace_noise_and_a_small_rate_comes_near():
    for rate in (Fraction(1, 10**6), Fraction(1, 3), Fraction(5), Fraction(1000)):
        share = noise.discrete_variance(rate) * float(rate) ** 2 / 2
        assert max(0, 1 - float(rate) ** 2 / 12) <= share + 1e-9  # the page proves it
        assert share <= 1 + 1e-9
    k = np.arange(-400, 401)
    p = np.tanh(0.25) * np.exp(-0.5 * np.abs(k))
    assert_allclose(noise.discrete_variance(Fraction(1, 2)), (p * k**2).sum(), rtol=1e-12)


def test_probabilities_of_a_law_add_up_and_give_its_losses():
    one = noise.WholeNumbers((0, 3), (Fraction(1), Fraction(1, 2)), (Fraction(1),) * 2)
    two = noise.WholeNumbers((2, 2), one.rates, one.steps)
    at = np.array(list(itertools.product(range(-60, 61), repeat=2)))
    assert_allclose(np.exp(one.logpmf(at)).sum(), 1, rtol=1e-9)
    exact = [float(one.loss(two, tuple(int(j) for j in k))) for k in at]
    assert_allclose(one.logpmf(at) - two.logpmf(at), exact, atol=1e-12)
    assert max(exact) == float(one.largest_loss(two)) == 2.5
    assert one.logpmf([0.5, 3]) == -np.inf


# ---------------------------------------------------------------- bad input


@pytest.mark.parametrize("grid", [1, 7, 1024, 2**16])
def test_weights_are_those_of_fractions_also_beside_whole_numbers(grid):
    rng = np.random.default_rng(5)
    whole = np.arange(1, 400) / 400 * 1.1
    tiny = [0.0, 5e-324, 1e-300, 1.1 / grid, 1.1]
    epsilon = np.concatenate(
        [whole, np.nextafter(whole, 0), np.nextafter(whole, 2), rng.random(400), tiny]
    )
    exact = [exact_budget(one) for one in epsilon]
    expected = [grid * one // max(exact) for one in exact]
    assert_array_equal(noise.whole_weights(epsilon, grid), expected)


class Untouchable:
    def __getattr__(self, name):
        raise AssertionError("data were touched")


BAD = [
    ({"grid": 0}, ValueError, "grid must be at least 1; got 0.*coarser than the bounds"),
    ({"grid": -3}, ValueError, "grid must be at least 1"),
    ({"grid": 0.5}, TypeError, "grid must be a whole number; got 0.5"),
    ({"grid": True}, TypeError, "grid must be a whole number"),
    ({"grid": np.nan}, TypeError, "grid must be a whole number"),
    ({"grid": 2**16 + 1}, ValueError, "grid must be at most 65536"),
    ({"grid": 64, "noise": "laplace"}, ValueError, "grid must be 1024.* noise='laplace'"),
    ({"noise": "lattice"}, ValueError, "noise must be one of"),
]


@pytest.mark.parametrize("kind", [PersonalizedMean, SufficientStatisticsRidge])
@pytest.mark.parametrize(("settings", "error", "match"), BAD, ids=str)
def test_bad_grids_are_refused_before_data_are_touched(kind, settings, error, match):
    with pytest.raises(error, match=match):
        kind(**({"noise": "grid"} | settings)).fit(Untouchable(), Untouchable())


def test_a_delta_and_sums_of_parts_are_refused_by_name():
    with pytest.raises(ValueError, match="delta must be 0 with noise='grid'"):
        ridge(delta=1e-6).fit(Untouchable(), Untouchable())
    y = np.array([0.5, -0.5])
    for model in (mean(), ridge()):
        with pytest.raises(TypeError, match=r"noise='grid' cannot .* suffice for noise='laplace'"):
            model.sums(y[:, None] ** 2, y)


@pytest.mark.parametrize(
    ("call", "error", "match"),
    [
        (lambda: noise.whole_weights([0.0, 0.0], 4), ValueError, "epsilon must be above 0"),
        (lambda: noise.whole_weights([-1.0], 4), ValueError, "epsilon must be"),
        (lambda: noise.whole_weights(1.0, 4), ValueError, "epsilon must have shape"),
        (lambda: noise.whole_weights([1.0], 0), ValueError, "grid must be at least 1"),
        (lambda: farthest_records(0, 4), ValueError, "d must be at least 1"),
        (lambda: farthest_records(1, 4, scale=1.0), ValueError, "scale must be a fraction"),
        (lambda: farthest_records(1, 4, scale=Fraction(0)), ValueError, "scale must be a fraction"),
        (lambda: noise.WholeNumbers((0.5,), (Fraction(1),), (Fraction(1),)), TypeError, "center"),
        (lambda: noise.WholeNumbers((1,), (0.5,), (Fraction(1),)), TypeError, "rates must be made"),
        (lambda: noise.WholeNumbers((1,), (Fraction(0),), (Fraction(1),)), ValueError, "rates"),
        (lambda: noise.WholeNumbers((), (), ()), ValueError, "must have one length"),
        (
            lambda: noise.WholeNumbers((1,), (Fraction(1),), (Fraction(1),)).sample(rng=None),
            TypeError,
            "rng must be",
        ),
    ],
)
def test_bad_input_is_refused(call, error, match):
    with pytest.raises(error, match=match):
        call()


def test_what_would_lie_beyond_the_domain_stays_on_the_grid():
    found = rounded_to_steps(np.array([-3.0, -1.0, 0.1, 1.0, 1.2]), 4, -1)
    assert_array_equal(found, [-4, -4, 0, 4, 4])
    assert_array_equal(rounded_to_steps(np.array([-0.2, 0.125, 2.0]), 4, 0), [0, 1, 4])
