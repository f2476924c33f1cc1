"""Every mechanism of the package, a row each: what the tests of them all have to know of it.

Scikit-learn's checks, forms of input, edges, the harness of audits and the page of
mechanisms read their lists here. A mechanism without a row is noticed in `test_estimators`.
"""

import importlib
import inspect
import pkgutil
from collections.abc import Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any

import numpy as np
from plants import descent, personal, pools, sums, users
from plants.plant import Trial, flipped, joined, owned
from sklearn.base import BaseEstimator, TransformerMixin

import pdpbook
from pdpbook.gradient import DPSGDRegression, GradientDescentRidge
from pdpbook.gwa import GWARegression, SampleLimitedRegression, TwoStageGWARegression
from pdpbook.logistic import LogisticObjectivePerturbation
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.pac import PACRegression
from pdpbook.personalized import PDPRidge, PersonalizedMean, SampledRidge
from pdpbook.posterior import AdaOPS, OnePosteriorSample
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import (
    SampleLimitedMean,
    WeightedGradientDescent,
    WeightedMean,
    WeightedOutputPerturbation,
)

Settings = Sequence[Mapping[str, Any]]


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A mechanism, its promise, and its settings for each of the tests that all of them take."""

    kind: type
    #: of its promise: "replace-one"; "add-remove" or "zero-out", where one budget serves all;
    #: "user" or "user-labels", where people own several rows; "" for PAC privacy
    neighbors: str
    released: str  #: all and only what may stay on a fitted object, with guarantee_ and noise_;
    #: with a `label_mean_share` also label_mean_ and label_bounds_
    _: KW_ONLY
    small: Settings = ({},)  #: for sixty people in the unit cube
    checked: Settings = ({},)  #: for scikit-learn's data, beside `ROOMY`: no noise is seen there
    #: checks of scikit-learn that it fails, and why
    fails: Mapping[str, str] = field(default_factory=dict)
    thrifty: Settings = ()  #: where a tiny budget costs the others at most a percent
    sound: Mapping[str, Trial] = field(default_factory=dict)  #: neighbors that press it hard
    #: functions of `pdpbook.minimal` that draw the same; what is no such call is in `test_minimal`
    page: Mapping[str, Any] = field(default_factory=dict)

    def models(self, name: str) -> list[Any]:
        """The mechanism with its settings for one of these tests."""
        known = self.kind().get_params()
        beside = {one: ROOMY[one] for one in ROOMY if one in known and name == "checked"}
        return [self.kind(**beside | own) for own in getattr(self, name)]


# bounds wide enough for data that do not know of them, and so much budget that no noise is seen
ROOMY = {"epsilon": 1e9, "bounds": (-4, 4), "y_bounds": (-4, 4), "clip": True, "random_state": 0}

LINE = {"fit_intercept": True}
SHORT = {"proof": "published", "row_norm": 4.0}
HUBER = {"loss": "huber"}
DELTA = {"delta": 1e-6}
AROUND_MEAN = {"label_mean_share": 0.1}
RICH = {"epsilon": 1e15, "delta": 0.1}
GAUSSIAN = {"noise": "gaussian"}
GRID = {"noise": "grid"}

#: scikit-learn hands labels to classifiers that a setting would have to name
OTHER_LABELS = dict.fromkeys(
    [
        "check_classifier_data_not_an_array",
        "check_classifier_not_supporting_multiclass",
        "check_classifiers_classes",
        "check_classifiers_regression_target",
        "check_estimators_dtypes",
        "check_fit2d_1feature",
    ],
    "the labels are none of the two public classes, and the error says so",
)

FLIP = flipped(6, 3, epsilon=personal.MIXED, person=5)
AGAINST = joined(np.ones((40, 1)), np.ones(40), [1.0], -1.0)
FEW = {"delta": 0.01, "n_max": 41}
TURNED = owned([6, 1, 2, 3], 2, 0)
MIXED_USERS = owned([6, 1, 2, 3], 2, 0, epsilon=np.repeat([0.5, 1.0, 1.0, 2.0], [6, 1, 2, 3]))
STEPS = users.DESCENT | {"delta": 0.01}
ROWS_OF_USERS = users.regression(3)
TWO_STAGES = {"sigma2": 0.02, "epsilon": 40.0, "share": 0.3}
POOL = {"success_rate": 0.65, "draws": 2000, "random_state": 1}

MECHANISMS = [
    Mechanism(
        PDPRidge,
        "replace-one",
        "coef_ intercept_ n_features_in_ pure_guarantee_",
        small=[
            dict(lam=0.5),
            dict(lam=0.5, **HUBER, **LINE),
            dict(lam=0.5, **DELTA),
            dict(lam=0.5, **AROUND_MEAN, **LINE),
        ],
        checked=[dict(lam=1e-4, **LINE, **own) for own in ({}, SHORT, HUBER, DELTA, AROUND_MEAN)],
        thrifty=[
            dict(lam=0.5),
            dict(lam=0.5, **HUBER),
            dict(lam=0.5, **HUBER, **DELTA),
            dict(lam=0.5, **HUBER, **AROUND_MEAN),
        ],
        sound={
            "PDPRidge": Trial(PDPRidge(60.0), FLIP, tight=True),
            "PDPRidge, Huber": Trial(PDPRidge(60.0, loss="huber"), FLIP),
            "PDPRidge, delta": Trial(PDPRidge(60.0, delta=0.01), FLIP),
        },
        page={"pdp_op": PDPRidge(proof="published")},
    ),
    Mechanism(
        PersonalizedMean,
        "replace-one",
        "mean_",
        small=[{}, GRID],
        checked=[{}, GRID],
        thrifty=[{}, GRID],
        sound={
            "PersonalizedMean": Trial(PersonalizedMean(), FLIP, tight=True),
            "PersonalizedMean, grid": Trial(PersonalizedMean(**GRID), FLIP, tight=True),
        },
        page={"personalized_mean": PersonalizedMean()},
    ),
    Mechanism(
        SampledRidge,
        "replace-one",
        "coef_ intercept_ n_features_in_",
        small=[dict(lam=0.5)],
        checked=[dict(lam=1e-4, **LINE)],
        thrifty=[dict(lam=0.5), dict(lam=0.5, threshold="mean"), dict(lam=0.5, **HUBER)],
        sound={"SampledRidge": Trial(SampledRidge(400.0), flipped(3, 4, epsilon=personal.THREE))},
    ),
    Mechanism(
        ObjectivePerturbation,
        "replace-one",
        "coef_ intercept_ n_features_in_ eta_ pure_guarantee_",
        small=[dict(lam=0.5), dict(lam=0.5, **AROUND_MEAN)],
        checked=[
            dict(lam=1e-4, **LINE),
            dict(lam=1e-2, row_norm=4.0, **DELTA),
            dict(lam=1e-4, **LINE, **AROUND_MEAN),
        ],
        thrifty=[dict(lam=0.5), dict(lam=0.5, **DELTA), dict(lam=0.5, **AROUND_MEAN)],
        sound={
            "ObjectivePerturbation": Trial(ObjectivePerturbation(2.0), personal.duel(), tight=True),
            "ObjectivePerturbation, delta": Trial(
                ObjectivePerturbation(400.0, delta=0.01), personal.duel(), draws=5000
            ),
            "ObjectivePerturbation, users": Trial(
                ObjectivePerturbation(400.0, row_norm=1.0, clip=True), MIXED_USERS, tight=True
            ),
        },
    ),
    Mechanism(  # two classes: what `small` asks of lines is in `test_logistic`
        LogisticObjectivePerturbation,
        "replace-one",
        "coef_ intercept_ classes_ n_features_in_ eta_",
        small=(),
        checked=[dict(lam=1e-4, classes=(0, 1), **LINE)],
        fails=OTHER_LABELS,
        sound={
            "LogisticObjectivePerturbation": Trial(
                LogisticObjectivePerturbation(personal.TURN_PENALTY, **personal.TWO),
                personal.turned_away(),
            )
        },
    ),
    Mechanism(
        SufficientStatisticsRidge,
        "replace-one",
        "release_ gram_ moment_ coef_ intercept_ n_features_in_",
        small=[dict(lam=0.5), dict(lam=0.5, centered=True, **GRID)],
        checked=[
            dict(lam=1e-4, centered=True, **LINE),
            dict(lam=1e-4, **RICH, **GAUSSIAN),
            dict(lam=1e-4, **LINE, **GRID),
        ],
        sound={
            "SufficientStatisticsRidge": Trial(SufficientStatisticsRidge(), sums.NULL, tight=True),
            "SufficientStatisticsRidge, Gaussian": Trial(
                SufficientStatisticsRidge(**sums.GAUSSIAN), sums.NULL
            ),
            "SufficientStatisticsRidge, grid": Trial(
                SufficientStatisticsRidge(**GRID), sums.NULL, tight=True
            ),
            "SufficientStatisticsRidge, users": Trial(SufficientStatisticsRidge(), MIXED_USERS),
        },
    ),
    Mechanism(
        AdaSSP,
        "add-remove",
        "coef_ intercept_ release_ n_features_in_",
        checked=[RICH | LINE],
        sound={
            "AdaSSP": Trial(AdaSSP(delta=0.01), sums.ALONE, tight=True),
            "AdaSSP, users": Trial(AdaSSP(delta=0.01, row_norm=1.0, clip=True), TURNED),
        },
    ),
    Mechanism(
        OnePosteriorSample,
        "add-remove",
        "coef_ intercept_ theta_ gamma_ h_ n_features_in_",
        small=[dict(lam=500.0, n_max=1000)],
        checked=[dict(lam=1.0, n_max=1000, **LINE)],
        sound={"OnePosteriorSample": Trial(OnePosteriorSample(100.0, **FEW), AGAINST)},
    ),
    Mechanism(
        AdaOPS,
        "add-remove",
        "coef_ intercept_ theta_ gamma_ h_ lam_ release_ n_features_in_",
        small=[dict(n_max=1000), dict(n_max=1000, release_norm=True)],
        checked=[
            dict(norm_guess=100.0, n_max=1000, **LINE),
            dict(norm_guess=100.0, n_max=1000, row_norm=4.0, release_norm=True),
        ],
        sound={
            "AdaOPS": Trial(AdaOPS(**FEW), AGAINST),
            "AdaOPS, norm": Trial(AdaOPS(release_norm=True, **FEW), AGAINST),
        },
    ),
    Mechanism(
        GradientDescentRidge,
        "replace-one",
        "coef_ intercept_ n_features_in_",
        small=[dict(lam=0.5, **DELTA)],
        checked=[dict(lam=1e-4, delta=0.1, steps=300, **LINE)],
        sound={
            "GradientDescentRidge": Trial(
                GradientDescentRidge(1.0, **descent.STEPS), descent.LOUD, tight=True
            )
        },
    ),
    Mechanism(
        DPSGDRegression,
        "zero-out",
        "coef_ intercept_ noise_multiplier_ sample_rate_ steps_ n_features_in_",
        checked=[dict(batch_size=10, epochs=50, **LINE)],
        sound={
            "DPSGDRegression": Trial(DPSGDRegression(**descent.BATCHES), descent.QUIET, draws=1500)
        },
    ),
    Mechanism(
        WeightedMean,
        "user",
        "mean_ h_ weights_ exposure_ users_",
        thrifty=[{}],
        sound={"WeightedMean": Trial(WeightedMean(**users.ROWS), users.GROUPS, tight=True)},
    ),
    Mechanism(
        SampleLimitedMean,
        "user",
        "mean_ max_rows_ exposure_ users_",
        sound={"SampleLimitedMean": Trial(SampleLimitedMean(max_rows=2), users.GROUPS)},
    ),
    Mechanism(
        WeightedGradientDescent,
        "user",
        "coef_ intercept_ users_ weights_ steps_ n_features_in_ exposure_",
        small=[DELTA, dict(accounting="gaussian", **DELTA, **LINE)],
        checked=[
            dict(delta=0.1, radius=20.0, steps=2000, step_size=1.0),
            dict(loss="logistic", delta=0.1, radius=50.0, steps=500, step_size=4.0),
        ],
        thrifty=[DELTA, dict(accounting="gaussian", **DELTA)],
        sound={
            "WeightedGradientDescent": Trial(WeightedGradientDescent(**STEPS), TURNED, draws=5000),
            "WeightedGradientDescent, Gaussian": Trial(
                WeightedGradientDescent(accounting="gaussian", **STEPS), TURNED, draws=5000
            ),
        },
    ),
    Mechanism(
        WeightedOutputPerturbation,
        "user",
        "coef_ intercept_ users_ weights_ n_features_in_ exposure_",
        checked=[
            dict(radius=50.0, lam=1e-4),
            dict(loss="logistic", radius=50.0, lam=1e-4),
        ],
        thrifty=[{}],
        sound={
            "WeightedOutputPerturbation": Trial(
                WeightedOutputPerturbation("logistic", **users.FAR), users.far()
            ),
        },
    ),
    Mechanism(  # `private_quantile` in the dress of an estimator, to be audited as they are
        users.Median,
        "user",
        "mean_",
        small=(),
        checked=(),
        sound={"private_quantile": Trial(users.Median(), users.cluster(9), tight=True)},
    ),
    Mechanism(
        GWARegression,
        "user-labels",
        "coef_ intercept_ release_ gap_ rank_ exposure_ users_ n_features_in_",
        small=[{}, dict(prior=1.0, **DELTA)],
        checked=[LINE, dict(delta=1e-5, objective="prediction")],
        thrifty=[{}, DELTA],
        sound={
            "GWARegression": Trial(GWARegression(), ROWS_OF_USERS, tight=True),
            "GWARegression, Gaussian": Trial(
                GWARegression(delta=0.01, prior=1.0), ROWS_OF_USERS, tight=True
            ),
        },
    ),
    Mechanism(
        SampleLimitedRegression,
        "user-labels",
        "coef_ intercept_ release_ max_rows_ rank_ exposure_ users_ n_features_in_",
        checked=[LINE],
        sound={
            "SampleLimitedRegression": Trial(SampleLimitedRegression(max_rows=5), ROWS_OF_USERS)
        },
    ),
    Mechanism(
        TwoStageGWARegression,
        "user-labels",
        "coef_ intercept_ release_ pilot_ stages_ clip_ predicted_ gap_ rank_ exposure_ "
        "users_ n_features_in_",
        sound={
            "TwoStageGWARegression": Trial(
                TwoStageGWARegression(**TWO_STAGES), ROWS_OF_USERS, tight=True
            )
        },
    ),
    Mechanism(
        PACRegression,
        "",
        "",
        checked=[dict(alpha=1e-3, success_rate=1 - 1e-12, calibration="tv", draws=500, tol=0.3)],
        sound={"PACRegression": Trial(PACRegression(**POOL), pools.pool(), "attack", 400)},
    ),
]


def every(name: str) -> list[Any]:
    """All mechanisms with their settings for one kind of test."""
    return [model for row in MECHANISMS for model in row.models(name)]


ROWS = {row.kind: row for row in MECHANISMS}
KINDS = [kind for kind in ROWS if kind is not users.Median]
SMALL = every("small")
PROMISING = [model for model in SMALL if ROWS[type(model)].neighbors]  #: something to each person
WITH_USERS = [model for model in SMALL if ROWS[type(model)].neighbors.startswith("user")]
SOUND = {name: trial for row in MECHANISMS for name, trial in row.sound.items()}


def one_promise(model: Any) -> bool:
    """Whether all who take part have one public budget."""
    return ROWS[type(model)].neighbors in ("add-remove", "zero-out")


def agreed(model: Any, epsilon: Any) -> Any:
    """Budgets that a mechanism takes of these people: their own, or one number for all.

    The number stands for one that all agreed on in public; 0 stays 0.
    """
    if not one_promise(model):
        return epsilon
    return np.where(epsilon > 0, np.min(epsilon[epsilon > 0]), 0.0)


def estimators() -> set[type]:
    """All public estimators of the package that leave a promise."""
    found = set()
    for module in pkgutil.walk_packages(pdpbook.__path__, "pdpbook."):
        if "audit" in module.name or module.name.endswith("__main__"):
            continue
        for kind in vars(importlib.import_module(module.name)).values():
            ours = inspect.isclass(kind) and kind.__module__.startswith("pdpbook.")
            if not (ours and issubclass(kind, BaseEstimator)) or kind.__name__.startswith("_"):
                continue
            if not issubclass(kind, TransformerMixin):  # a schema promises nothing
                found.add(kind)
    base = {kind for kind in found if any(kind in other.__mro__[1:] for other in found)}
    return found - base
