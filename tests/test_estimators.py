"""Every mechanism against scikit-learn: its own estimator checks, clones, pipelines, routing."""

import inspect
import pickle
import re
from ast import literal_eval
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
import sklearn
from numpy.testing import assert_allclose, assert_array_equal
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.utils.estimator_checks import parametrize_with_checks

from pdpbook.frames import CubeRegressor, OnePromise, UserEstimator, mechanism, setting
from pdpbook.frames.settings import _entries
from pdpbook.gradient import DPSGDRegression, GradientDescentRidge
from pdpbook.gwa import GWARegression, SampleLimitedRegression, TwoStageGWARegression
from pdpbook.noise import gaussian_mu
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.pac import PACRegression
from pdpbook.personalized import PDPRidge, PersonalizedMean, SampledRidge
from pdpbook.posterior import AdaOPS, OnePosteriorSample
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import SampleLimitedMean, WeightedERM, WeightedMean

# So much budget that the noise is far below every tolerance; bounds wide enough for the made-up
# data of the checks, which do not know that bounds exist: clip=True takes care of the rest.
ROOMY = {"epsilon": 1e9, "bounds": (-4, 4), "y_bounds": (-4, 4), "clip": True}
LABELS = {name: value for name, value in ROOMY.items() if name != "bounds"}  # X is public
CHECKED = [
    PDPRidge(1e-4, **ROOMY, fit_intercept=True, random_state=0),
    PDPRidge(1e-4, **ROOMY, fit_intercept=True, random_state=0, proof="published", row_norm=4.0),
    PDPRidge(1e-4, **ROOMY, fit_intercept=True, random_state=0, loss="huber"),
    PDPRidge(1e-4, **ROOMY, fit_intercept=True, random_state=0, delta=1e-6),
    PersonalizedMean(epsilon=1e9, y_bounds=(-4, 4), clip=True, random_state=0),
    SufficientStatisticsRidge(1e-4, **ROOMY, fit_intercept=True, random_state=0, centered=True),
    SufficientStatisticsRidge(
        1e-4, **ROOMY | {"epsilon": 1e15}, noise="gaussian", delta=0.1, random_state=0
    ),
    ObjectivePerturbation(1e-4, **ROOMY, fit_intercept=True, random_state=0),
    ObjectivePerturbation(1e-2, **ROOMY, delta=1e-6, row_norm=4.0, random_state=0),
    GradientDescentRidge(1e-4, **ROOMY, fit_intercept=True, random_state=0, delta=0.1, steps=300),
    SampledRidge(1e-4, **ROOMY, fit_intercept=True, random_state=0),
    OnePosteriorSample(1.0, **ROOMY, fit_intercept=True, n_max=1000, random_state=0),
    AdaOPS(100.0, **ROOMY, fit_intercept=True, n_max=1000, random_state=0),
    AdaOPS(100.0, **ROOMY, n_max=1000, row_norm=4.0, release_norm=True, random_state=0),
    AdaSSP(**ROOMY | {"epsilon": 1e15}, delta=0.1, fit_intercept=True, random_state=0),
    PACRegression(
        alpha=1e-3, success_rate=1 - 1e-12, calibration="tv", draws=500, tol=0.3, random_state=0
    ),
    GWARegression(**LABELS, fit_intercept=True, random_state=0),
    GWARegression(**LABELS, delta=1e-5, objective="prediction", random_state=0),
    SampleLimitedRegression(**LABELS, fit_intercept=True, random_state=0),
    TwoStageGWARegression(**LABELS, random_state=0),
    WeightedMean(**LABELS, random_state=0),
    SampleLimitedMean(**LABELS, random_state=0),
    WeightedERM(**ROOMY, optimizer="output", radius=50.0, lam=1e-4, random_state=0),
    WeightedERM(**ROOMY, delta=0.1, radius=20.0, steps=2000, step_size=1.0, random_state=0),
    WeightedERM("logistic", **ROOMY, optimizer="output", radius=50.0, lam=1e-4, random_state=0),
    WeightedERM(
        "logistic", **ROOMY, delta=0.1, radius=50.0, steps=500, step_size=4.0, random_state=0
    ),
    DPSGDRegression(**ROOMY, fit_intercept=True, batch_size=10, epochs=50, random_state=0),
]
MECHANISMS = [
    PDPRidge(0.5),
    PDPRidge(0.5, loss="huber", fit_intercept=True),
    PDPRidge(0.5, delta=1e-6),
    PersonalizedMean(),
    SufficientStatisticsRidge(0.5),
    ObjectivePerturbation(0.5),
    GradientDescentRidge(0.5, delta=1e-6),
    SampledRidge(0.5),
    OnePosteriorSample(500.0, n_max=1000),
    AdaOPS(n_max=1000),
    AdaOPS(n_max=1000, release_norm=True),
    AdaSSP(),
    GWARegression(),
    GWARegression(delta=1e-6, prior=1.0),
    SampleLimitedRegression(),
    TwoStageGWARegression(),
    WeightedMean(),
    SampleLimitedMean(),
    WeightedERM(delta=1e-6),
    WeightedERM(delta=1e-6, accounting="gaussian", fit_intercept=True),
    WeightedERM(optimizer="output"),
    DPSGDRegression(),
]
# one promise for everybody, under add-remove neighbors or zero-out: one public budget
UNIFORM = (OnePosteriorSample, AdaOPS, AdaSSP, DPSGDRegression)
OF_LABELS = (GWARegression, SampleLimitedRegression, TwoStageGWARegression)
OF_USERS = (WeightedMean, SampleLimitedMean, WeightedERM)


# all and only what may stay on a fitted object; the first of FROM_LAW is drawn from `output_law`
RELEASED = {
    PDPRidge: "coef_ intercept_ n_features_in_ guarantee_ pure_guarantee_ noise_",
    PersonalizedMean: "mean_ guarantee_ noise_",
    SufficientStatisticsRidge: "release_ gram_ moment_ coef_ intercept_ "
    "n_features_in_ guarantee_ noise_",
    ObjectivePerturbation: "coef_ intercept_ n_features_in_ eta_ guarantee_ pure_guarantee_ noise_",
    GradientDescentRidge: "coef_ intercept_ n_features_in_ guarantee_ noise_",
    SampledRidge: "coef_ intercept_ n_features_in_ guarantee_ noise_",
    OnePosteriorSample: "coef_ intercept_ theta_ gamma_ h_ n_features_in_ guarantee_ noise_",
    AdaOPS: "coef_ intercept_ theta_ gamma_ h_ lam_ release_ n_features_in_ guarantee_ noise_",
    AdaSSP: "coef_ intercept_ release_ n_features_in_ guarantee_ noise_",
    GWARegression: "coef_ intercept_ release_ gap_ rank_ exposure_ users_ "
    "n_features_in_ guarantee_ noise_",
    SampleLimitedRegression: "coef_ intercept_ release_ max_rows_ rank_ exposure_ users_ "
    "n_features_in_ guarantee_ noise_",
    TwoStageGWARegression: "coef_ intercept_ release_ pilot_ stages_ clip_ predicted_ gap_ "
    "rank_ exposure_ users_ n_features_in_ guarantee_ noise_",
    WeightedMean: "mean_ h_ weights_ exposure_ users_ guarantee_ noise_",
    SampleLimitedMean: "mean_ max_rows_ exposure_ users_ guarantee_ noise_",
    WeightedERM: "coef_ intercept_ users_ weights_ steps_ n_features_in_ exposure_ "
    "guarantee_ noise_",
    DPSGDRegression: "coef_ intercept_ noise_multiplier_ sample_rate_ steps_ n_features_in_ "
    "guarantee_ noise_",
}
FROM_LAW = ("release_", "theta_", "coef_", "mean_")


def agreed(model, epsilon):
    """Budgets that a mechanism takes of these people: their own, or one number for all.

    The number stands for one that all agreed on in public; 0 stays 0.
    """
    if not isinstance(model, UNIFORM):
        return epsilon
    return np.where(epsilon > 0, np.min(epsilon[epsilon > 0]), 0.0)


def assert_promised(model, epsilon):
    promise = model.guarantee_
    if isinstance(model, UNIFORM):
        (epsilon,) = np.unique(epsilon)
        assert np.ndim(next(iter(promise._parameters().values()))) == 0
    if hasattr(promise, "mu"):  # the Gaussian promise that goes through (epsilon, delta)
        assert_array_equal(promise.mu, gaussian_mu(epsilon, model.delta))
    elif hasattr(promise, "rho"):  # the conversion back is a sharper one
        assert np.all(promise.to_approximate(model.delta).epsilon <= epsilon)
    else:
        assert_array_equal(promise.epsilon, epsilon)


@pytest.mark.filterwarnings("ignore:X has rank")
@parametrize_with_checks(CHECKED, xfail_strict=True)
def test_scikit_learn_checks(estimator, check, monkeypatch):
    monkeypatch.setenv("SCIPY_ARRAY_API", "1")  # else one check of each estimator is skipped
    check(estimator)


@pytest.fixture
def people():
    rng = np.random.default_rng(8)
    X, epsilon = rng.random((60, 3)), rng.uniform(0.1, 2, 60)
    return X, X @ [0.5, -0.2, 0.1], epsilon


@pytest.mark.parametrize("estimator", MECHANISMS, ids=str)
def test_two_stage_clone_keeps_every_parameter(estimator):
    once = clone(estimator)
    again = clone(once.set_params(epsilon=0.25, random_state=4))
    assert again.get_params() == once.get_params()
    assert set(vars(again)) == set(again.get_params())  # the constructor stores, nothing else


@pytest.mark.parametrize("estimator", MECHANISMS, ids=str)
def test_fitting_leaves_the_parameters_alone(estimator, people):
    X, y, epsilon = people
    epsilon = agreed(estimator, epsilon)
    model = clone(estimator)
    before = model.get_params()
    model.fit(X, y, epsilon=epsilon)
    assert model.get_params() == before
    assert_promised(model, epsilon)
    neighbors = "add-remove" if isinstance(model, UNIFORM) else "replace-one"
    if isinstance(model, DPSGDRegression):
        neighbors = "zero-out"
    if isinstance(model, OF_LABELS):
        neighbors = "user-labels"
    if isinstance(model, OF_USERS):
        neighbors = "user"
    assert model.guarantee_.neighbors == neighbors


@pytest.mark.parametrize("estimator", MECHANISMS, ids=str)
def test_hidden_entries_are_not_used(estimator, people):
    X, y, _ = people
    reads_rows = "mean_" not in RELEASED[type(estimator)].split()
    for name in ("X", "y") if reads_rows else ("y",):
        given = {"X": X, "y": y}
        given[name] = np.ma.masked_less(given[name], 0.1)
        with pytest.raises(TypeError, match=f"^{name} must not be a masked array"):
            clone(estimator).fit(**given)


@pytest.mark.parametrize("estimator", MECHANISMS, ids=str)
def test_only_released_attributes_stay(estimator, people):
    X, y, _ = people
    model = clone(estimator).fit(X, y)
    fitted = set(vars(model)) - set(model.get_params())
    assert fitted == set(RELEASED[type(model)].split())
    center = model.output_law(X, y).center
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


@pytest.mark.parametrize("estimator", MECHANISMS, ids=str)
def test_rate_and_scale_are_those_of_the_law(estimator, people):
    X, y, _ = people
    model = clone(estimator).fit(X, y)
    rate, scale = loudness(model.output_law(X, y))
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


@pytest.mark.parametrize("estimator", MECHANISMS, ids=str)
def test_a_release_and_its_promise_outlive_the_arrays(estimator, people):
    X, y, epsilon = people
    epsilon = agreed(estimator, epsilon)
    model = clone(estimator).fit(X, y, epsilon=epsilon)
    before = pickle.dumps(model)
    for array in (X, y, epsilon):
        array[:] = 7.0
    assert pickle.dumps(model) == before


@pytest.mark.parametrize("estimator", MECHANISMS, ids=str)
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


@pytest.mark.parametrize("estimator", MECHANISMS, ids=str)
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


@pytest.mark.parametrize("estimator", MECHANISMS, ids=str)
def test_unseeded_fits_differ_and_seeded_ones_repeat(estimator, people):
    X, y, _ = people
    one, two = (clone(estimator).fit(X, y).predict(X[:1]) for _ in range(2))
    assert not np.allclose(one, two, rtol=1e-9, atol=0)
    seeded = clone(estimator).set_params(random_state=3)
    assert_allclose(clone(seeded).fit(X, y).predict(X), seeded.fit(X, y).predict(X), rtol=0)


@pytest.mark.parametrize(
    "kind", sorted({type(m) for m in CHECKED}, key=str), ids=lambda k: k.__name__
)
def test_no_hook_has_the_name_of_a_routed_method(kind):
    """Scikit-learn takes a method `split`, `transform` and the like for one of its own."""
    requests = {name for name in dir(kind) if name.startswith("set_") and "_request" in name}
    assert requests == {"set_fit_request", "set_score_request"}


KINDS = list(dict.fromkeys(type(model) for model in CHECKED))
FRAMES = {"cube": CubeRegressor, "ball": OnePromise, "users": UserEstimator, "pool": PACRegression}


def api_table(heading):
    """Rows of the table in CONTRIBUTING.md that has this heading, by the first two columns."""
    text = (Path(__file__).parents[1] / "CONTRIBUTING.md").read_text(encoding="utf-8")
    body = text.split(f"| {heading} |\n", 1)[1].split("\n\n")[0].splitlines()[1:]
    rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body]
    keys = [tuple(cell.strip("`") for cell in row[:2]) for row in rows]
    assert len(set(keys)) == len(keys)
    return {key: row[2:] for key, row in zip(keys, rows, strict=True)}


def taken(kind):
    """Default and description of all that an estimator takes, by the name in the table."""
    for make, text, name in ((kind, kind.__doc__, "{}"), (kind.fit, kind.fit.__doc__, "fit({})")):
        said = _entries(inspect.cleandoc(text), "Parameters")
        for each, parameter in inspect.signature(make).parameters.items():
            if each != "self":
                default = parameter.default
                given = "" if default is parameter.empty else default
                yield name.format(each), given, " ".join(said[each].split("\n", 1)[1].split())


def differences(kinds):
    """What the estimators take in another way than the tables of CONTRIBUTING.md say."""
    rows = api_table("name | frame | default | unit | meaning")
    exceptions = api_table("name | estimator | default | why")
    found, used = [], set()
    shared = Counter(name for kind in kinds for name, *_ in taken(kind))
    for kind in kinds:
        frame = next((f for f, base in FRAMES.items() if issubclass(kind, base)), "all")
        for name, default, text in taken(kind):
            if shared[name] == 1:
                continue
            row, other = (name, frame), (name, kind.__name__)
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


def test_a_planted_default_or_meaning_is_noticed():
    @mechanism
    class Bold(PDPRidge):
        """A default of its own.

        Notes
        -----
        None.
        """

        clip: bool = setting(default=True)

    @mechanism
    class Terse(PDPRidge):
        """A meaning of its own.

        Parameters
        ----------
        clip : bool, default False
            Whether to cut.

        Notes
        -----
        None.
        """

    (default,) = differences([Bold, *KINDS[1:]])
    assert default == "Bold: clip is True and not False"
    (meaning,) = differences([Terse, *KINDS[1:]])
    assert meaning.startswith("Terse: clip is not described as 'Clip data")


def forgotten(kind):
    """Settings that a class writes down and its constructor does not take."""
    written = {n for base in kind.__mro__ for n in vars(base).get("__annotations__", {})}
    return {name for name in written if name[-1] != "_"} - set(kind().get_params())


@pytest.mark.parametrize(
    "kind", sorted({type(m) for m in CHECKED}, key=str), ids=lambda k: k.__name__
)
def test_every_setting_is_taken(kind):
    assert forgotten(kind) == set()


def test_a_planted_setting_without_the_decorator_is_noticed():
    class Undecorated(PDPRidge):
        strictness: float = setting(default=1.0)

    assert forgotten(Undecorated) == {"strictness"}
