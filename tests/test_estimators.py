"""Every mechanism against scikit-learn: its own estimator checks, clones, pipelines, routing."""

import importlib
import inspect
import pickle
import re
from ast import literal_eval
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sklearn
from mechanisms import KINDS, PROMISING, ROWS, agreed, estimators, every, one_promise
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from pdpbook import check
from pdpbook.guarantees import ApproximateDP, GaussianDP, PureDP, ZeroConcentratedDP
from pdpbook.noise import gaussian_mu
from pdpbook.personalized import PDPRidge, SampledRidge
from pdpbook.posterior import AdaOPS, OnePosteriorSample

# the first of these is drawn from `output_law`
FROM_LAW = ("release_", "theta_", "coef_", "mean_")


def has_label_mean(model):
    return getattr(model, "label_mean_share", 0) > 0


def law_of_fit(model, X, y):
    """The stated law of a fit, at the released mean of the labels where it has one."""
    law = model.output_law(X, y)
    return law.fit_around(model.label_mean_) if has_label_mean(model) else law


def assert_promised(model, epsilon):
    """Assert that the promise of a fitted model is that of these budgets and of its own delta.

    A pure promise leaves no room for a delta, and an approximate one names its own. The others are
    chosen so that they imply the budgets at the delta in the settings, which has to be there.
    """
    promise = model.guarantee_
    if one_promise(model):
        (epsilon,) = np.unique(epsilon)
        assert np.ndim(next(iter(promise._parameters().values()))) == 0
    if isinstance(promise, PureDP):
        assert not getattr(model, "delta", 0), "a delta is set, and the promise has none"
        assert_array_equal(promise.epsilon, epsilon)
        return
    assert 0 < model.delta < 1, "the promise may fail, and nothing says how often"
    if isinstance(promise, ApproximateDP):
        assert_array_equal(promise.epsilon, epsilon)
        assert_array_equal(promise.delta, np.where(promise.epsilon > 0, model.delta, 0.0))
    elif isinstance(promise, GaussianDP):  # the one that goes through (epsilon, delta)
        assert_array_equal(promise.mu, gaussian_mu(epsilon, model.delta))
    else:  # the conversion back is a sharper one
        assert isinstance(promise, ZeroConcentratedDP), f"no rule for {type(promise).__name__}"
        assert np.all(promise.to_approximate(model.delta).epsilon <= epsilon)


def promising(promise, **settings):
    """A fitted mechanism with this promise, whatever its settings say."""
    model = PDPRidge(**settings)
    model.guarantee_ = promise
    return model


ONE = {"neighbors": "replace-one"}
TWO_BUDGETS = np.array([0.5, 1.0])


@pytest.mark.parametrize(
    ("promise", "settings"),
    [
        (PureDP(TWO_BUDGETS, **ONE), {"delta": 1e-6}),  # a promise without the delta
        (ApproximateDP(TWO_BUDGETS, 1e-3, **ONE), {"delta": 1e-6}),  # with another one
        (ApproximateDP(TWO_BUDGETS, 1e-6, **ONE), {}),  # with one that nobody set
        (GaussianDP(gaussian_mu(TWO_BUDGETS, 1e-6), **ONE), {}),
        (ApproximateDP(2 * TWO_BUDGETS, 1e-6, **ONE), {"delta": 1e-6}),
        (PureDP(TWO_BUDGETS, **ONE).to_renyi(), {"delta": 1e-6}),  # of a kind without a rule
    ],
)
def test_a_promise_with_another_delta_is_noticed(promise, settings):
    assert_promised(promising(PureDP(TWO_BUDGETS, **ONE)), TWO_BUDGETS)
    assert_promised(promising(ApproximateDP(TWO_BUDGETS, 1e-6, **ONE), delta=1e-6), TWO_BUDGETS)
    with pytest.raises(AssertionError):
        assert_promised(promising(promise, **settings), TWO_BUDGETS)


def test_every_mechanism_has_its_row_and_takes_every_test():
    assert estimators() == {*KINDS}
    for kind in KINDS:
        row = ROWS[kind]
        folder = importlib.import_module(".".join(kind.__module__.split(".")[:2]))
        assert getattr(folder, kind.__name__) is kind
        assert row.small or is_classifier(kind())  # its labels are of two classes
        assert row.checked


REFUSE_NAN = ("check_estimators_nan_inf", "check_supervised_y_no_nan")


@pytest.mark.filterwarnings("ignore:X has rank")
@parametrize_with_checks(
    every("checked"),
    expected_failed_checks=lambda model: ROWS[type(model)].fails,
    xfail_strict=True,
)
def test_scikit_learn_checks(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else one check of each estimator is skipped
    if check.func.__name__ in REFUSE_NAN and "clip" in estimator.get_params():
        # with clip, an error is what must not come
        estimator = clone(estimator).set_params(clip=False)
    check(estimator)


NOT_FINITE = np.array([np.nan, np.inf, -np.inf])


@pytest.mark.filterwarnings("ignore::pdpbook.advice.Advice")
@pytest.mark.parametrize(
    "estimator", [one for one in every("small") if "clip" in one.get_params()], ids=str
)
def test_with_clip_no_value_raises_and_public_ones_stand_in_its_place(estimator, people):
    X, y, _ = people
    model = clone(estimator).set_params(clip=True, random_state=0)
    low, high = (
        np.broadcast_to(ends, X.shape[1])
        for ends in np.transpose(getattr(model, "bounds", (0.0, 1.0)))
    )
    y_low, y_high = model.y_bounds
    nasty, nasty_y, mended, mended_y = X.copy(), y.copy(), X.copy(), y.copy()
    nasty_y[:3], mended_y[:3] = NOT_FINITE, [(y_low + y_high) / 2, y_high, y_low]
    if hasattr(model, "bounds"):  # else rows are public
        nasty[:3, 0], mended[:3, 0] = NOT_FINITE, [(low[0] + high[0]) / 2, high[0], low[0]]
    released, expected = (
        clone(model).fit(*data) for data in ((nasty, nasty_y), (mended, mended_y))
    )
    for name in FROM_LAW:
        if hasattr(expected, name):
            assert_array_equal(getattr(released, name), getattr(expected, name))
    assert str(released.guarantee_) == str(expected.guarantee_)
    law, law_expected = law_of_fit(released, nasty, nasty_y), law_of_fit(expected, mended, mended_y)
    assert_array_equal(law.center, law_expected.center)  # an audit reads what fit reads


@pytest.fixture
def people():
    rng = np.random.default_rng(8)
    X, epsilon = rng.random((60, 3)), rng.uniform(0.1, 2, 60)
    return X, X @ [0.5, -0.2, 0.1], epsilon


@pytest.mark.parametrize("estimator", PROMISING, ids=str)
def test_two_stage_clone_keeps_every_parameter(estimator):
    once = clone(estimator)
    again = clone(once.set_params(epsilon=0.25, random_state=4))
    assert again.get_params() == once.get_params()
    assert set(vars(again)) == set(again.get_params())  # the constructor stores, nothing else


@pytest.mark.parametrize("estimator", PROMISING, ids=str)
def test_fitting_leaves_the_parameters_alone(estimator, people):
    X, y, epsilon = people
    epsilon = agreed(estimator, epsilon)
    model = clone(estimator)
    before = model.get_params()
    model.fit(X, y, epsilon=epsilon)
    assert model.get_params() == before
    assert_promised(model, epsilon)
    assert model.guarantee_.neighbors == ROWS[type(model)].neighbors


@pytest.mark.parametrize("estimator", PROMISING, ids=str)
def test_hidden_entries_are_not_used(estimator, people):
    X, y, _ = people
    reads_rows = "mean_" not in ROWS[type(estimator)].released.split()
    for name in ("X", "y") if reads_rows else ("y",):
        given = {"X": X, "y": y}
        given[name] = np.ma.masked_less(given[name], 0.1)
        with pytest.raises(TypeError, match=f"^{name} must not be a masked array"):
            clone(estimator).fit(**given)


@pytest.mark.parametrize("estimator", PROMISING, ids=str)
def test_only_released_attributes_stay(estimator, people):
    X, y, _ = people
    model = clone(estimator).fit(X, y)
    fitted = set(vars(model)) - set(model.get_params())
    around_mean = {"label_mean_", "label_bounds_"} if has_label_mean(model) else set()
    from_settings = {"guarantee_", "noise_", "_settings_of_fit"}
    if ROWS[type(model)].neighbors.startswith("user"):
        from_settings.add("_users_are_named")  # True or False
    assert fitted == {*ROWS[type(model)].released.split(), *from_settings, *around_mean}
    center = law_of_fit(model, X, y).center
    released = next(vars(model)[name] for name in FROM_LAW if name in fitted)
    released = np.atleast_1d(released)[: len(center)]
    assert np.all(np.abs(released - center[: len(released)]) > 1e-9)  # noise is on it
    assert set(vars(model)) - set(model.get_params()) == fitted  # output_law left nothing behind


def loudness(law):
    """Rate and scale of the noise, from a law that knows what was drawn from it."""
    rate = getattr(law, "beta", getattr(law, "eta", None))
    if rate is not None:
        return rate, 1 / rate
    if hasattr(law, "noise_multiplier"):  # of a sum of gradients of length C
        return None, law.noise_multiplier * law.clip_norm
    return None, getattr(law, "sigma", getattr(law, "scale", None))


@pytest.mark.parametrize("estimator", PROMISING, ids=str)
def test_rate_and_scale_are_those_of_the_law(estimator, people):
    X, y, _ = people
    model = clone(estimator).fit(X, y)
    rate, scale = loudness(law_of_fit(model, X, y))
    if isinstance(model, SampledRidge):  # a mixture, here of one law
        (rate,) = model.output_law(X, y).etas
        scale = 1 / rate
    told = model.noise_.rate, model.noise_.scale
    if scale is None:  # the draw from a posterior follows the data
        assert isinstance(model, (OnePosteriorSample, AdaOPS))
        assert told == (None, None)
    else:
        assert_allclose(told[1], np.atleast_1d(scale)[0], rtol=1e-15)
        assert told[0] == rate


@pytest.mark.parametrize("estimator", PROMISING, ids=str)
def test_a_release_and_its_promise_outlive_the_arrays(estimator, people):
    X, y, epsilon = people
    epsilon = agreed(estimator, epsilon)
    model = clone(estimator).fit(X, y, epsilon=epsilon)
    before = pickle.dumps(model)
    for array in (X, y, epsilon):
        array[:] = 7.0
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("estimator", PROMISING, ids=str)
def test_budgets_are_routed_through_a_pipeline(estimator, people):
    X, y, epsilon = people
    epsilon = agreed(estimator, epsilon)
    with sklearn.config_context(enable_metadata_routing=True):
        model = clone(estimator).set_params(random_state=1).set_fit_request(epsilon=True)
        # the map is public: a scaler that reads its range from the data would break the promise
        pipe = make_pipeline(FunctionTransformer(lambda X: X / 2), model)
        pipe.fit(X, y, epsilon=epsilon)
        alone = clone(model).fit(X / 2, y, epsilon=epsilon)
    assert_promised(pipe[-1], epsilon)
    assert_array_equal(pipe.predict(X), alone.predict(X / 2))


@pytest.mark.parametrize("estimator", PROMISING, ids=str)
def test_budgets_are_routed_through_cross_validation(estimator, people):
    X, y, epsilon = people
    epsilon = agreed(estimator, epsilon)
    seen = []

    class Spy(type(estimator)):
        def fit(self, X, y, *, epsilon=None):
            seen.append(np.asarray(epsilon))
            return super().fit(X, y, epsilon=epsilon)

    with sklearn.config_context(enable_metadata_routing=True):
        model = Spy(**estimator.get_params()).set_fit_request(epsilon=True)
        out = cross_val_predict(model, X, y, cv=3, params={"epsilon": epsilon})
    assert out.shape == (60,)
    assert np.isfinite(out).all()
    folds = [np.setdiff1d(np.arange(60), np.arange(20 * k, 20 * k + 20)) for k in range(3)]
    for got, fold in zip(seen, folds, strict=True):
        assert_array_equal(got, epsilon[fold])


def test_a_grid_search_runs_on_the_seeded_estimator(people):
    X, y, _ = people
    search = GridSearchCV(PDPRidge(epsilon=1e6, random_state=0), {"lam": [1e-3, 1e3]}, cv=3)
    assert search.fit(X, y).best_params_ == {"lam": 1e-3}


@pytest.mark.parametrize("estimator", PROMISING, ids=str)
def test_unseeded_fits_differ_and_seeded_ones_repeat(estimator, people):
    X, y, _ = people
    one, two = (clone(estimator).fit(X, y).predict(X[:1]) for _ in range(2))
    assert not np.allclose(one, two, rtol=1e-9, atol=0)
    seeded = clone(estimator).set_params(random_state=3)
    assert_allclose(clone(seeded).fit(X, y).predict(X), seeded.fit(X, y).predict(X), rtol=0)


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_no_hook_has_the_name_of_a_routed_method(kind):
    """Scikit-learn takes a method `split`, `transform` and the like for one of its own."""
    requests = {name for name in dir(kind) if name.startswith("set_") and "_request" in name}
    assert requests == {"set_fit_request", "set_score_request"}


GROUPS = {
    "replace-one": "cube",
    "add-remove": "ball",
    "zero-out": "ball",
    "user": "users",
    "user-labels": "users",
    "": "pool",
}


def entries(doc, section):
    """Entries of a section of a docstring by name, each with its indented text."""
    found = re.search(rf"\n\n{section}\n-{{3,}}\n(.*?)(?=\n\n\w+\n-{{3,}}\n|\Z)", doc, re.S)
    parts = re.split(r"^(?=\w+ : )", found[1], flags=re.M) if found else []
    return {part.partition(" : ")[0]: part.rstrip() for part in parts if part.strip()}


def api_table(heading):
    """Rows of the table in `back/settings` that has this heading, by the first two columns."""
    page = Path(__file__).parents[1] / "book" / "back" / "settings.md"
    text = page.read_text(encoding="utf-8")
    body = text.split(f"| {heading} |\n", 1)[1].split("\n\n")[0].splitlines()[1:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body]
    keys = [tuple(cell.strip("`") for cell in row[:2]) for row in rows]
    assert len(set(keys)) == len(keys)
    return {key: row[2:] for key, row in zip(keys, rows, strict=True)}


def taken(kind):
    """Default and description of all that an estimator takes, by the name in the table."""
    for make, text, name in ((kind, kind.__doc__, "{}"), (kind.fit, kind.fit.__doc__, "fit({})")):
        said = entries(inspect.cleandoc(text), "Parameters")
        for each, parameter in inspect.signature(make).parameters.items():
            if each != "self":
                default = parameter.default
                given = "" if default is parameter.empty else default
                yield name.format(each), given, " ".join(said[each].split("\n", 1)[1].split())


def differences(kinds):
    """What the estimators take in another way than the tables of the page say."""
    rows = api_table("name | group | default | unit | meaning")
    exceptions = api_table("name | estimator | default | why")
    found, used = [], set()
    shared = Counter(name for kind in kinds for name, *_ in taken(kind))
    for kind in kinds:
        group = GROUPS[ROWS[kind].neighbors]
        for name, default, text in taken(kind):
            if shared[name] == 1:
                continue
            row, other = (name, group), (name, kind.__name__)
            row = row if row in rows else (name, "all")
            used |= {row, other}
            if row not in rows:
                found.append(f"{kind.__name__}: {name} is in no row of the table")
                continue
            wanted, _, meaning = rows[row]
            wanted = exceptions.get(other, [wanted])[0].strip("`")
            if repr(default) != repr(literal_eval(wanted) if wanted else ""):
                found.append(f"{kind.__name__}: {name} is {default!r} and not {wanted}")
            if not re.match(rf"{re.escape(meaning)}(?!\w)", text):
                found.append(f"{kind.__name__}: {name} is not described as {meaning!r}")
            if name == "lam" and not re.search(r"\*(mean|sum)\*", text[:60]):
                found.append(f"{kind.__name__}: lam must say mean or sum")
    return found + [f"{row} is nobody's" for row in {*rows, *exceptions} - used]


def test_names_defaults_and_meanings_are_those_of_the_table():
    assert differences(KINDS) == []


def test_a_planted_default_or_meaning_is_noticed(monkeypatch):
    defaults = PDPRidge.__init__.__kwdefaults__
    with monkeypatch.context() as planted:
        planted.setitem(defaults, "clip", True)
        (default,) = differences(KINDS)
    assert default == "PDPRidge: clip is True and not False"
    terse = PDPRidge.__doc__.replace("Clip data to", "Cut data to")
    monkeypatch.setattr(PDPRidge, "__doc__", terse)
    (meaning,) = differences(KINDS)
    assert meaning.startswith("PDPRidge: clip is not described as 'Clip data")


def without_rule(kind):
    """Settings that may be anything; classes are those of the logistic loss alone."""
    free = []
    for name in kind().get_params().keys() - {"classes"}:
        try:
            kind(**{name: object()}).fit([[0.1], [0.9], [0.3]], [0.5, 0.4, 0.1])
        except (TypeError, ValueError) as error:
            if name not in str(error):
                free.append(name)
        else:
            free.append(name)
    return free


@pytest.mark.parametrize("kind", KINDS, ids=lambda kind: kind.__name__)
def test_every_setting_has_a_rule(kind):
    assert without_rule(kind) == []


def test_a_planted_setting_without_a_rule_is_noticed():
    class Lax(PDPRidge):
        def check_settings(self):
            check.settings(self, lam=check.penalty, loss=check.one_of("square", "huber"))

    assert "clip" in without_rule(Lax)
