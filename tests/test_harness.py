"""Every mechanism against its own promise, every planted bug against the audit that catches it."""

import functools

import numpy as np
import pandas as pd
import planted
import pytest
from mechanisms import SOUND, estimators
from numpy.testing import assert_allclose
from plants import PLANTS, Trial
from scipy import stats
from sklearn.base import BaseEstimator
from sklearn.linear_model import Ridge

from lab.benchmarks import alarms
from pdpbook.audit import (
    SLACK,
    audit_mechanism,
    audit_members,
    audit_samples,
    delta_lower_bound,
)
from pdpbook.audit.samples import pair_deltas
from pdpbook.gradient import DPSGDRegression
from pdpbook.guarantees import GaussianDP, PACPrivacy, PureDP
from pdpbook.noise import (
    L2Laplace,
    ProductLaw,
    gaussian_profile,
    l2_laplace_profile,
)
from pdpbook.pac import PACRegression
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.posterior import PosteriorLaw
from pdpbook.sufficient_statistics import AdaSSP
from pdpbook.user_level import WeightedMean

SEED = 20261121


def generator(offset=0):
    return np.random.default_rng(SEED + offset)


# ---------------------------------------------------------------- every mechanism


def test_no_estimator_is_missing():
    audited = {type(trial.mechanism) for trial in SOUND.values()}
    assert estimators() - audited == set()
    families = {plant.family for plant in PLANTS.values()}
    assert families == {trial.family for trial in SOUND.values()}


@functools.cache
def audited(name):
    return SOUND[name].audit(rng=generator())


@pytest.mark.parametrize("name", SOUND)
def test_every_mechanism_keeps_its_own_promise(name):
    found = audited(name)
    assert found.passed
    assert found.ratio > 0.15  # the pair is not an idle one


@pytest.mark.parametrize("name", [name for name in SOUND if SOUND[name].tight])
def test_these_spend_nearly_all_of_it(name):
    assert 0.9 < audited(name).ratio <= 1 + SLACK


# ---------------------------------------------------------------- no alarm, over many seeds

RECORD = pd.read_csv(alarms.RECORD)
SLOW = {"AdaOPS", "AdaOPS, norm", "DPSGDRegression"}


def test_the_record_has_every_line_and_no_alarm():
    assert [*RECORD[["mechanism", "audit"]].itertuples(index=False, name=None)] == alarms.lines()
    assert [*RECORD[RECORD["audit"] != "counts"]["mechanism"]] == [*SOUND]
    uncounted = {*SOUND} - {*RECORD[RECORD["audit"] == "counts"]["mechanism"]}
    assert uncounted == {"PACRegression", "TwoStageGWARegression"}
    demanded = RECORD["audit"].map({"density": 300, "counts": 20, "attack": 20})
    assert (RECORD["seeds"] == demanded).all()
    assert (RECORD["alarms"] == 0).all()
    assert (RECORD["largest_ratio"] <= 1 + SLACK).all()
    assert (RECORD["false_alarm"] <= 1e-6).all()


def rows():
    """Every row of the record, the slow ones marked."""
    for row in RECORD.to_dict("records"):
        marks = [pytest.mark.slow] if row["mechanism"] in SLOW else []
        yield pytest.param(row, marks=marks, id=f"{row['mechanism']}-{row['audit']}")


@pytest.mark.parametrize("row", [*rows()])
def test_the_record_is_computed_again_where_it_came_nearest_to_an_alarm(row):
    found = alarms.audit(row["mechanism"], row["audit"], row["at_seed"])
    assert found.passed
    assert found.how in row["how"].split("/")
    assert_allclose(found.ratio, row["largest_ratio"], rtol=2e-3)  # four digits, kept as printed


@pytest.mark.parametrize(
    ("name", "kind"), [("record for user", "density"), ("half the noise", "counts")]
)
def test_the_command_records_alarms_of_a_planted_bug(monkeypatch, name, kind):
    monkeypatch.setitem(alarms.SOUND, name, PLANTS[name].trial())
    monkeypatch.setitem(alarms.SEEDS, kind, 10)
    assert alarms.row(name, kind)["alarms"] > 0


def test_a_promise_of_40_nats_is_out_of_reach_of_counting():
    with pytest.raises(ValueError, match="20000 releases are too few"):
        alarms.audit("TwoStageGWARegression", "counts", 0)


# ---------------------------------------------------------------- every planted bug


def test_there_are_many_bugs_and_each_says_what_it_is():
    assert len(PLANTS) >= 30
    assert sum(plant.public for plant in PLANTS.values()) >= 10
    assert len({plant.about for plant in PLANTS.values()}) == len(PLANTS)
    assert all(20 < len(plant.about) < 100 for plant in PLANTS.values())


@pytest.mark.parametrize("name", PLANTS)
def test_every_planted_bug_is_caught_and_its_twin_is_not(name):
    found = PLANTS[name].trial().audit(rng=generator())
    assert not found.passed
    assert found.ratio > 1.05
    assert PLANTS[name].trial(sound=True).audit(rng=generator(1)).passed


@pytest.mark.slow
@pytest.mark.parametrize("name", PLANTS)
def test_the_catch_does_not_hang_on_a_seed(name):
    assert not any(PLANTS[name].trial().audit(rng=generator(seed)).passed for seed in range(4))


@pytest.mark.weekly
@pytest.mark.parametrize("name", PLANTS)
def test_the_catch_does_not_hang_on_one_of_more_seeds(name):
    assert not any(PLANTS[name].trial().audit(rng=generator(seed)).passed for seed in range(4, 20))


@pytest.mark.parametrize("name", ["half the noise", "budget spent twice", "bare diagonal"])
def test_counting_catches_large_ones_as_well(name):
    plant = PLANTS[name]
    counted = Trial(plant.planted, plant.pair, "samples", 20_000).audit(rng=generator())
    assert not counted.passed
    assert counted.false_alarm == 1e-6


# ---------------------------------------------------------------- the tables of the chapter


def table(file):
    return pd.read_csv(planted.RESULTS / file, dtype=str, keep_default_na=False).to_dict("records")


def test_the_tables_have_every_line():
    assert [row["mechanism"] for row in table("sound.csv")] == [*SOUND]
    assert [row["bug"] for row in table("planted.csv")] == [*PLANTS]


@pytest.mark.parametrize("row", table("sound.csv"), ids=lambda row: row["mechanism"])
def test_a_line_about_a_mechanism_is_computed_again(row):
    assert planted.sound(row["mechanism"]) == row


@pytest.mark.parametrize("row", table("planted.csv"), ids=lambda row: row["bug"])
def test_a_line_about_a_bug_is_computed_again(row):
    assert planted.planted(row["bug"]) == row


# ---------------------------------------------------------------- the numbers behind it


@pytest.mark.parametrize("mean", [0.003, 0.1, 0.7])
def test_the_lower_bound_is_below_the_mean_and_near_it(mean):
    bounds = np.array(
        [delta_lower_bound(generator(k).random(10_000) < mean, 1e-3) for k in range(100)]
    )
    # of 100 bounds each above with probability 1e-3: three or more once in 7,000 times
    assert (bounds > mean).sum() <= 2
    assert bounds.mean() > mean - 6 * np.sqrt(mean / 10_000) - 1e-4


def test_the_lower_bound_uses_a_small_variance():
    gains = 0.5 + 0.001 * generator().random((2, 10_000))
    bound = delta_lower_bound(gains, 1e-6)
    assert bound.shape == (2,)
    assert np.all((bound > 0.495) & (bound < 0.5005))


def test_the_lower_bound_by_hand():
    # all ones: n log(1 / m) = log(2 / alpha)
    assert_allclose(delta_lower_bound(np.ones(100), 0.05), 0.025 ** (1 / 100), rtol=1e-9)
    assert delta_lower_bound(np.zeros(100), 0.05) == 0
    with pytest.raises(ValueError, match="at least 2 draws between 0 and 1"):
        delta_lower_bound([0.5, 1.5], 0.1)
    with pytest.raises(ValueError, match="at least 2 draws"):
        delta_lower_bound([0.5], 0.1)


PLACES = np.array([0.0, 0.3, 1.0])


def found(p, q, draws=20_000):
    return pair_deltas(p, q, PLACES, draws, generator(), 1e-6)


def test_closed_forms():
    how, deltas = found(L2Laplace([0.0, 0.0], 2.0), L2Laplace([0.3, 0.4], 2.0))
    assert how == "closed form"
    assert_allclose(deltas, l2_laplace_profile(PLACES, 2, 1.0), rtol=1e-12)
    one, two = (ProductLaw([c, 0.0], [2.0, 3.0], "gaussian") for c in (0.0, 2.0))
    how, deltas = found(one, two)
    assert how == "closed form"
    assert_allclose(deltas, gaussian_profile(PLACES, 1.0), rtol=1e-12)
    assert np.all(found(one, one)[1] == 0)


def test_quadrature_in_one_dimension():
    one, two = (PosteriorLaw([c], [[4.0]]) for c in (0.0, 0.5))
    how, deltas = found(one, two)
    assert how == "quadrature"
    exact = gaussian_profile(PLACES, 1.0)
    assert np.all(deltas <= exact)
    assert_allclose(deltas, exact, atol=2e-5)


def test_draws_are_certified_below_the_truth():
    one, two = (PosteriorLaw([c, 0.0], 4 * np.eye(2)) for c in (0.0, 0.5))
    how, deltas = found(one, two)
    exact = gaussian_profile(PLACES, 1.0)
    assert how == "draws"
    assert np.all(deltas <= exact)
    assert np.all(deltas > exact - 0.03)


def test_both_directions_are_looked_at():
    narrow, wide = PosteriorLaw([0.0], [[1.0]]), PosteriorLaw([0.0], [[0.25]])
    # less what the integral may be off
    assert_allclose(found(narrow, wide)[1], found(wide, narrow)[1], atol=1e-5)
    # at epsilon 1 the wide law gives itself away, the narrow one never: its density is 2 at most
    loss = stats.norm(0, 2).sf(4) * 2
    assert found(narrow, wide)[1][2] > loss / 2


# ---------------------------------------------------------------- the report


def test_a_report_is_a_sentence():
    kept, broken = (
        PLANTS["half the noise"].trial(sound=sound).audit(rng=generator())
        for sound in (True, False)
    )
    assert "PDPRidge: promise not refuted, which proves nothing." in str(kept)
    assert "HalfTheNoise: promise REFUTED." in str(broken)
    assert "a loss of 1.9; at most 1 was promised" in str(broken)
    assert (kept.how, kept.person, kept.false_alarm) == ("largest loss", 0, 0.0)
    delta = PLANTS["epsilon for mu"].trial().audit(rng=generator())
    assert "a delta of" in str(delta)
    attack = PLANTS["bare constant"].trial().audit(rng=generator())
    assert "a success rate of" in str(attack)


def test_the_promise_is_that_of_the_person_who_differs():
    X, y = np.zeros((3, 1)), np.zeros(3)
    for person, epsilon in enumerate([0.1, 0.5, 2.0]):
        ends = [np.where(np.arange(3) == person, label, y) for label in (-1.0, 1.0)]
        found = audit_mechanism(
            PersonalizedMean(), (X, ends[0]), (X, ends[1]), epsilon=[0.1, 0.5, 2.0], rng=generator()
        )
        assert (found.person, found.promised) == (person, epsilon)
        assert_allclose(found.ratio, 1, rtol=1e-9)


def test_equal_data_sets_show_nothing():
    data = np.ones((4, 2)), np.ones(4)
    for mechanism in (PDPRidge(60.0), PDPRidge(60.0, delta=0.01)):
        found = audit_mechanism(mechanism, data, data, rng=generator())
        assert (found.attack, found.ratio) == (0.0, 0.0)


def test_fits_are_those_of_the_estimator():
    pair = PLANTS["half the range"].pair
    ask = {"method": "fits", "draws": 400, "rng": generator()}
    kept = audit_mechanism(PersonalizedMean(), pair.data, pair.neighbor, **ask)
    assert kept.passed
    seeded = audit_mechanism(PersonalizedMean(random_state=0), pair.data, pair.neighbor, **ask)
    assert not seeded.passed  # every fit repeats its noise


# ---------------------------------------------------------------- bad input


class NoPromise(PDPRidge):
    def fit(self, X, y, *, epsilon=None):
        super().fit(X, y, epsilon=epsilon)
        del self.guarantee_
        return self


class PromiseFromData(PDPRidge):
    def fit(self, X, y, *, epsilon=None):
        super().fit(X, y, epsilon=epsilon)
        self.guarantee_ = PureDP(2.0 + float(np.mean(y)), neighbors="replace-one")
        return self


class Silent(BaseEstimator):
    def fit(self, X, y):
        self.guarantee_ = GaussianDP(1.0, neighbors="replace-one")
        self.coef_ = np.zeros(2)
        return self


ONES = np.ones((4, 2)), np.ones(4)
OTHER = np.ones((4, 2)), np.array([1.0, 1, 1, -1])
POOL = PLANTS["bare constant"].pair.data


@pytest.mark.parametrize(
    ("mechanism", "pair", "settings", "error", "message"),
    [
        (3.0, (ONES, OTHER), {}, TypeError, "mechanism must be an estimator with fit"),
        (NoPromise(), (ONES, OTHER), {}, TypeError, "NoPromise left None, so there is nothing"),
        (Ridge(), (ONES, OTHER), {}, TypeError, "Ridge left None, so there is nothing"),
        (Silent(), (ONES, OTHER), {}, TypeError, "must have output_law; Silent has none"),
        (
            PACRegression(draws=100, tol=0.5, random_state=0),
            (POOL, POOL),
            {},
            TypeError,
            "promises PAC privacy, an average over data sets. Use audit_members",
        ),
        (PromiseFromData(), (ONES, OTHER), {}, ValueError, "promise the same on both data sets"),
        (PDPRidge(), (ONES, (ONES[0], -ONES[1])), {}, ValueError, "neighbors differ in one person"),
        (PDPRidge(), (ONES, (ONES[0][:3], ONES[1][:3])), {}, ValueError, "equally many rows"),
        (AdaSSP(), (ONES, OTHER), {}, ValueError, "add-remove neighbors differ by one row"),
        (
            AdaSSP(),
            (ONES, (ONES[0][:3], ONES[1][:3])),
            {"epsilon": np.ones(4)},
            ValueError,
            "epsilon must be a number under add-remove",
        ),
        (
            DPSGDRegression(batch_size=2),
            (ONES, (ONES[0][:3], ONES[1][:3])),
            {},
            ValueError,
            "that of DPSGDRegression is about a person who adds nothing .* as n_public",
        ),
        (PDPRidge(), (ONES, OTHER), {"users": [0, 0, 1, 1]}, TypeError, "users must be None for"),
        (
            PDPRidge(),
            (ONES, OTHER),
            {"method": "samples", "draws": 20},
            ValueError,
            "20 releases are too few to say anything",
        ),
        (
            PLANTS["one step charged"].sound,
            (PLANTS["one step charged"].pair.data, PLANTS["one step charged"].pair.neighbor),
            {"draws": 5, "false_alarm": 1e-12, "epsilon": 40.0},
            ValueError,
            "5 draws are too few to say anything",
        ),
        (PDPRidge(), (ONES, OTHER), {"method": "proof"}, ValueError, "method must be"),
        (PDPRidge(), (ONES, OTHER), {"draws": 0}, ValueError, "draws must be at least 1"),
        (PDPRidge(), (ONES, OTHER), {"false_alarm": 0.0}, ValueError, "false_alarm must be"),
        (PDPRidge(), (ONES, OTHER), {"rng": 1}, TypeError, "rng must be"),
    ],
)
def test_bad_input_is_refused(mechanism, pair, settings, error, message):
    with pytest.raises(error, match=message):
        audit_mechanism(mechanism, *pair, **({"rng": generator()} | settings))


def test_users_are_the_owners_under_the_promise():
    y = np.ones(4)
    both = np.array([-1.0, -1, 1, 1])
    X = np.zeros((4, 1))
    ask = {"rng": generator()}
    found = audit_mechanism(WeightedMean(), (X, y), (X, both), users=["b", "b", "a", "a"], **ask)
    assert (found.neighbors, found.person, found.passed) == ("user", 1, True)
    with pytest.raises(ValueError, match="user neighbors differ in one person"):
        audit_mechanism(WeightedMean(), (X, y), (X, both), **ask)


def test_attacks_ask_for_a_promise_of_membership_and_enough_draws():
    with pytest.raises(TypeError, match=r"promises PureDP\. Use audit_mechanism"):
        audit_members(PDPRidge(), *ONES, target=0, rng=generator())
    model = PACRegression(draws=100, tol=0.5, random_state=0, success_rate=0.9)
    with pytest.raises(ValueError, match="20 draws are too few to say anything"):
        audit_members(model, *POOL, target=0, draws=20, rng=generator())
    with pytest.raises(TypeError, match="use membership_attack"):
        audit_samples(np.zeros(100), np.zeros(100), PACPrivacy(0.7))
