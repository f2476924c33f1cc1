"""One promise for all needs one public budget: what is refused, on which roads, and why."""

import numpy as np
import pandas as pd
import pytest
from mechanisms import PROMISING, estimators, one_promise
from numpy.testing import assert_allclose, assert_array_equal
from scipy import stats
from sklearn.base import clone, is_classifier

from pdpbook.audit import audit_mechanism
from pdpbook.audit.samples import pair_deltas
from pdpbook.gradient import DPSGDRegression
from pdpbook.guarantees import BudgetAccount
from pdpbook.participants import one_budget, smallest
from pdpbook.posterior import AdaOPS, OnePosteriorSample
from pdpbook.sufficient_statistics import AdaSSP

MODELS = [
    *filter(one_promise, PROMISING),
    AdaSSP(calibration="published"),
    DPSGDRegression(batch_size=4, n_public=8),
    DPSGDRegression(batch_size=4),
]
every_model = pytest.mark.parametrize("model", MODELS, ids=str)
REFUSED = "epsilon must be one number for all who take part"
CAREFUL, OPEN = 0.1, 1.0


def people(n=60):
    """The first asks for much more privacy than the others."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, (n, 2))
    return X, X @ [0.5, -0.3], np.where(np.arange(n) == 0, CAREFUL, OPEN)


# ---------------------------------------------------------------- the check


@pytest.mark.parametrize("budgets", [0.5, [0.5], [0.5, 0.5], [0.0, 0.5, 0.0, 0.5]])
def test_one_number_and_zeros_are_one_budget(budgets):
    assert one_budget(budgets) == 0.5


def test_budgets_that_differ_are_refused_with_a_way_out():
    with pytest.raises(ValueError, match=rf"^{REFUSED}") as refused:
        one_budget([0.0, 2.0, 0.25])
    said = str(refused.value)
    assert "got budgets from 0.25 to 2." in said
    assert "Pass the public number t that all agreed on, or np.where(epsilon >= t, t, 0)" in said
    assert "PDPRidge" in said
    with pytest.raises(ValueError, match=rf"^{REFUSED}"):
        one_budget([0.5, np.nextafter(0.5, 1)])  # the last bit tells, too
    with pytest.raises(ValueError, match=r"^gamma must be one number"):
        one_budget([1.0, 2.0], "gamma")
    with pytest.raises(ValueError, match=r"^epsilon must be above 0 for somebody"):
        one_budget([0.0, 0.0])


def test_the_way_out_is_open():
    X, y, epsilon = people()
    given = np.where(epsilon >= OPEN, OPEN, 0)
    model = AdaSSP(random_state=1).fit(X, y, epsilon=given)
    assert_allclose(model.coef_, AdaSSP(random_state=1).fit(X[1:], y[1:], epsilon=OPEN).coef_)


def test_these_are_all_that_promise_something_about_adding_and_removing():
    X, y, _ = people()
    kinds = [kind for kind in estimators() if not is_classifier(kind())]
    promises = {kind: kind().fit(np.abs(X), y).guarantee_ for kind in kinds}
    relations = ("add-remove", "zero-out")
    kinds = [kind for kind in promises if getattr(promises[kind], "neighbors", "") in relations]
    assert {*kinds} == {type(model) for model in MODELS}


# ---------------------------------------------------------------- every road


class Untouchable:
    """Data that notice when somebody looks."""

    def __getattr__(self, name):
        raise AssertionError(f"{name} of the data was read")

    def __len__(self):
        raise AssertionError("the data were counted")


FORMS = {
    "array": np.asarray,
    "list": np.ndarray.tolist,
    "column": pd.Series,
    "with a zero": lambda epsilon: np.append(epsilon[:-1], 0.0),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("road", ["fit", "output_law"])
@every_model
def test_they_are_refused_before_the_data_are_touched(model, road, form):
    epsilon = FORMS[form](people()[2])
    X = y = Untouchable()
    with pytest.raises(ValueError, match=rf"^{REFUSED}"):
        getattr(clone(model), road)(X, y, epsilon=epsilon)
    with pytest.raises(ValueError, match=rf"^{REFUSED}"):
        getattr(clone(model).set_params(epsilon=epsilon), road)(X, y)


@every_model
def test_a_refusal_draws_nothing_and_charges_nothing(model):
    X, y, epsilon = people()
    account, rng = BudgetAccount(9.0, neighbors="add-remove"), np.random.default_rng(1)
    state = rng.bit_generator.state
    tried = clone(model).set_params(random_state=rng)
    with pytest.raises(ValueError, match=rf"^{REFUSED}"):
        tried.fit(X, y, epsilon=epsilon, account=account)
    assert rng.bit_generator.state == state
    assert account.spent == 0
    assert [name for name in vars(tried) if name.endswith("_")] == []


# ---------------------------------------------------------------- why

LOOKED_UP = [
    "participants",
    "sufficient_statistics.adassp",
    "posterior.single",
    "posterior.adaptive",
    "gradient.dpsgd",
]


@pytest.fixture
def follow_the_smallest(monkeypatch):
    """Return a function that makes them all live on the smallest budget, as once they did."""

    def follow():
        for module in LOOKED_UP:
            monkeypatch.setattr(f"pdpbook.{module}.one_budget", smallest)

    return follow


LAWS = [
    OnePosteriorSample(500.0, n_max=1000),
    AdaOPS(n_max=1000),
    AdaOPS(n_max=1000, release_norm=True),
    AdaSSP(),
    DPSGDRegression(batch_size=4, n_public=8, epochs=2),
]


def delta_of(model, n=8, **budgets):
    """A lower bound on the delta of the careful one, at their budget; true but for one in 10^6."""
    X, y, _ = people(n)
    X[0], y[0] = 0.0, 0.0  # a record that says next to nothing: whatever is seen is the budget
    laws = [
        clone(model).output_law(X[part], y[part], epsilon=epsilon)
        for part, epsilon in zip((slice(None), slice(1, None)), budgets.values(), strict=True)
    ]
    places, rng = np.array([CAREFUL]), np.random.default_rng(5)
    return float(pair_deltas(*laws, places, 400, rng, 1e-6)[1][0])


def test_of_several_budgets_the_smallest_would_tell_who_is_there(follow_the_smallest):
    """The road as it was: the noise follows the most careful person, and falls when they leave."""
    epsilon = people(8)[2]
    for model in LAWS:
        with pytest.raises(ValueError, match=REFUSED):
            delta_of(model, whole=epsilon, without=epsilon[1:])
    follow_the_smallest()
    for model in LAWS:
        told = delta_of(model, whole=epsilon, without=epsilon[1:])
        assert told > 0.5 > model.delta
        assert delta_of(model, whole=CAREFUL, without=CAREFUL) <= model.delta


def test_what_the_noise_of_adassp_would_tell_in_closed_form(follow_the_smallest):
    """Two centered normal laws in six dimensions: their lengths decide, and those are chi."""
    follow_the_smallest()
    X, y, epsilon = people(8)
    X[0], y[0] = 0.0, 0.0
    there = AdaSSP().output_law(X, y, epsilon=epsilon)
    gone = AdaSSP().output_law(X[1:], y[1:], epsilon=epsilon[1:])
    assert_allclose(there.center, gone.center, atol=1e-12)
    a, b = there.scale[0], gone.scale[0]
    edge = 2 * (CAREFUL + 6 * np.log(a / b)) / (b**-2 - a**-2)
    exact = stats.chi2.sf(edge / a**2, 6) - np.exp(CAREFUL) * stats.chi2.sf(edge / b**2, 6)
    assert exact > 0.998
    assert exact - 0.1 < delta_of(AdaSSP(), whole=epsilon, without=epsilon[1:]) <= exact


@pytest.mark.parametrize("model", LAWS, ids=str)
def test_a_public_number_keeps_the_promise_to_the_most_careful(model):
    X, y, _ = people(8)
    found = audit_mechanism(
        clone(model).set_params(epsilon=CAREFUL),
        (X, y),
        (X[1:], y[1:]),
        rng=np.random.default_rng(0),
        draws=2000,
    )
    assert found.passed, str(found)


@pytest.mark.parametrize("model", LAWS, ids=str)
def test_coming_with_a_budget_of_0_changes_nothing(model):
    """That person's promise is that of no loss at all, in both directions."""
    X, y, epsilon = people(8)
    given = np.where(epsilon >= OPEN, OPEN, 0.0)
    laws = (
        clone(model).output_law(X, y, epsilon=given),
        clone(model).output_law(X[1:], y[1:], epsilon=given[1:]),
    )
    points = laws[0].sample(50, rng=np.random.default_rng(0))
    assert_array_equal(*(law.logpdf(points) for law in laws))
