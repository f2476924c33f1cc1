"""Every mechanism of the package, a row each: what the tests of them all have to know of it.

Scikit-learn's checks, forms of input, edges, blocks, reports, the harness of audits and the page of
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
from sklearn.base import BaseEstimator

import pdpbook
from pdpbook.gradient import DPSGDRegression, GradientDescentRidge
from pdpbook.gwa import GWARegression, SampleLimitedRegression, TwoStageGWARegression
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.pac import PACRegression
from pdpbook.personalized import PDPRidge, PersonalizedMean, SampledRidge
from pdpbook.posterior import AdaOPS, OnePosteriorSample
from pdpbook.sufficient_statistics import AdaSSP, SufficientStatisticsRidge
from pdpbook.user_level import SampleLimitedMean, WeightedERM, WeightedMean


@dataclass(frozen=True, eq=False)
class Mechanism:
    """A mechanism, with settings of it for each of the tests that all mechanisms take."""

    kind: type
    #: of its promise: "replace-one"; "add-remove" or "zero-out", where one budget serves all;
    #: "user" or "user-labels", where people own several rows; "" for PAC privacy
    neighbors: str
    released: str  #: all and only what may stay on a fitted object
    _: KW_ONLY
    small: Sequence[Any] = ()  #: for sixty people in the unit cube
    #: for data of scikit-learn's, which does not know of bounds: the noise is below its tolerances
    checked: Sequence[Any] = ()
    blocks: Sequence[Any] = ()  #: for 1,100 people in blocks; without any it refuses them
    thrifty: Sequence[Any] = ()  #: where a tiny budget costs the others at most a percent
    #: in `UNITS`: the noise of `report` is that of all data; an estimate with a bound; without one
    exact: Sequence[Any] = ()
    bounded: Sequence[Any] = ()
    estimated: Sequence[Any] = ()
    sound: Mapping[str, Trial] = field(default_factory=dict)  #: neighbors that press it hard
    #: where a function of `pdpbook.minimal` draws the same, if it asks for X, y, epsilon, rng and
    #: settings by name; all other counterparts are in `test_minimal`
    page: Mapping[str, Any] = field(default_factory=dict)


# bounds wide enough for made-up data, and so much budget that no noise is seen
LABELS: dict[str, Any] = {"epsilon": 1e9, "y_bounds": (-4, 4), "clip": True, "random_state": 0}
ROOMY = LABELS | {"bounds": (-4, 4)}
RICH = ROOMY | {"epsilon": 1e15, "delta": 0.1}
LINE = ROOMY | {"fit_intercept": True}

HALVES: dict[str, Any] = {"bounds": (0.1, 0.8), "clip": True, "fit_intercept": True}
HALVES["y_bounds"] = (-1, 2)
BALL: dict[str, Any] = {"bounds": (0.0, 1.0), "row_norm": 1.5, "clip": True}

BOUNDS = [(18.0, 90.0), (0.0, 40.0), (-1.0, 3.0)]
PERCENT: dict[str, Any] = {"y_bounds": (0.0, 100.0)}
UNITS = PERCENT | {"bounds": BOUNDS}

FLIP = flipped(6, 3, epsilon=personal.MIXED, person=5)
AGAINST = joined(np.ones((40, 1)), np.ones(40), [1.0], -1.0)
FEW: dict[str, Any] = {"delta": 0.01, "n_max": 41}
TURNED = owned([6, 1, 2, 3], 2, 0)
STEPS = users.DESCENT | {"delta": 0.01}
POOL: dict[str, Any] = {"success_rate": 0.65, "draws": 2000, "random_state": 1}

MECHANISMS = [
    Mechanism(
        PDPRidge,
        "replace-one",
        "coef_ intercept_ n_features_in_ eta_ guarantee_ pure_guarantee_ noise_",
        small=[
            PDPRidge(0.5),
            PDPRidge(0.5, loss="huber", fit_intercept=True),
            PDPRidge(0.5, delta=1e-6),
        ],
        checked=[
            PDPRidge(1e-4, **LINE),
            PDPRidge(1e-4, **LINE, proof="published", row_norm=4.0),
            PDPRidge(1e-4, **LINE, loss="huber"),
            PDPRidge(1e-4, **LINE, delta=1e-6),
        ],
        blocks=[
            PDPRidge(0.2),
            PDPRidge(0.2, delta=1e-6, **HALVES),
            PDPRidge(0.2, row_norm=1.0, clip=True),
        ],
        thrifty=[
            PDPRidge(0.5),
            PDPRidge(0.5, loss="huber"),
            PDPRidge(0.5, loss="huber", delta=1e-6),
        ],
        exact=[
            PDPRidge(0.1, **UNITS, fit_intercept=True),
            PDPRidge(0.1, **UNITS, loss="huber", delta=1e-6),
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
        "mean_ eta_ guarantee_ noise_",
        small=[PersonalizedMean()],
        checked=[PersonalizedMean(**LABELS)],
        blocks=[PersonalizedMean(), PersonalizedMean(y_bounds=(-0.5, 0.5), clip=True)],
        thrifty=[PersonalizedMean()],
        exact=[PersonalizedMean(**PERCENT)],
        sound={"PersonalizedMean": Trial(PersonalizedMean(), FLIP, tight=True)},
        page={"personalized_mean": PersonalizedMean()},
    ),
    Mechanism(
        SampledRidge,
        "replace-one",
        "coef_ intercept_ n_features_in_ eta_ guarantee_ noise_",
        small=[SampledRidge(0.5)],
        checked=[SampledRidge(1e-4, **LINE)],
        thrifty=[
            SampledRidge(0.5),
            SampledRidge(0.5, threshold="mean"),
            SampledRidge(0.5, loss="huber"),
        ],
        exact=[
            SampledRidge(0.1, **UNITS),
            SampledRidge(0.1, **UNITS, loss="huber", rule="exact"),
        ],
        sound={
            "SampledRidge": Trial(SampledRidge(400.0), flipped(3, 4, epsilon=personal.THREE)),
        },
    ),
    Mechanism(
        ObjectivePerturbation,
        "replace-one",
        "coef_ intercept_ n_features_in_ beta_ eta_ guarantee_ pure_guarantee_ noise_",
        small=[ObjectivePerturbation(0.5)],
        checked=[
            ObjectivePerturbation(1e-4, **LINE),
            ObjectivePerturbation(1e-2, **ROOMY, delta=1e-6, row_norm=4.0),
        ],
        thrifty=[ObjectivePerturbation(0.5), ObjectivePerturbation(0.5, delta=1e-6)],
        bounded=[ObjectivePerturbation(0.2, **UNITS)],
        sound={
            "ObjectivePerturbation": Trial(ObjectivePerturbation(2.0), personal.duel(), tight=True),
            "ObjectivePerturbation, delta": Trial(
                ObjectivePerturbation(400.0, delta=0.01), personal.duel(), draws=5000
            ),
        },
    ),
    Mechanism(
        SufficientStatisticsRidge,
        "replace-one",
        "release_ gram_ moment_ noise_scale_ coef_ intercept_ n_features_in_ guarantee_ noise_",
        small=[SufficientStatisticsRidge(0.5)],
        checked=[
            SufficientStatisticsRidge(1e-4, **LINE, centered=True),
            SufficientStatisticsRidge(1e-4, **RICH, noise="gaussian"),
        ],
        blocks=[
            SufficientStatisticsRidge(0.2),
            SufficientStatisticsRidge(0.2, noise="gaussian", delta=1e-6, centered=True, **HALVES),
        ],
        bounded=[
            SufficientStatisticsRidge(0.1, **UNITS, fit_intercept=True),
            SufficientStatisticsRidge(0.1, **UNITS, centered=True, noise="gaussian", delta=1e-6),
        ],
        sound={
            "SufficientStatisticsRidge": Trial(SufficientStatisticsRidge(), sums.NULL, tight=True),
            "SufficientStatisticsRidge, Gaussian": Trial(
                SufficientStatisticsRidge(**sums.GAUSSIAN), sums.NULL
            ),
        },
    ),
    Mechanism(
        AdaSSP,
        "add-remove",
        "coef_ intercept_ release_ noise_scale_ n_features_in_ guarantee_ noise_",
        small=[AdaSSP()],
        checked=[AdaSSP(**RICH, fit_intercept=True)],
        blocks=[
            AdaSSP(bounds=(0, 1)),
            AdaSSP(calibration="published", fit_intercept=True, **BALL),
        ],
        estimated=[AdaSSP(**UNITS)],
        sound={"AdaSSP": Trial(AdaSSP(delta=0.01), sums.ALONE, tight=True)},
    ),
    Mechanism(
        OnePosteriorSample,
        "add-remove",
        "coef_ intercept_ theta_ gamma_ h_ n_features_in_ guarantee_ noise_",
        small=[OnePosteriorSample(500.0, n_max=1000)],
        checked=[OnePosteriorSample(1.0, **LINE, n_max=1000)],
        blocks=[OnePosteriorSample(300.0, n_max=2000, **BALL)],
        bounded=[OnePosteriorSample(100.0, **UNITS, n_max=4000)],
        sound={"OnePosteriorSample": Trial(OnePosteriorSample(100.0, **FEW), AGAINST)},
    ),
    Mechanism(
        AdaOPS,
        "add-remove",
        "coef_ intercept_ theta_ gamma_ h_ lam_ release_ n_features_in_ guarantee_ noise_",
        small=[AdaOPS(n_max=1000), AdaOPS(n_max=1000, release_norm=True)],
        checked=[
            AdaOPS(100.0, **LINE, n_max=1000),
            AdaOPS(100.0, **ROOMY, n_max=1000, row_norm=4.0, release_norm=True),
        ],
        blocks=[AdaOPS(n_max=2000, release_norm=True, fit_intercept=True, **BALL)],
        estimated=[
            AdaOPS(**UNITS, n_max=4000),
            AdaOPS(**UNITS, n_max=4000, release_norm=True, fit_intercept=True),
        ],
        sound={
            "AdaOPS": Trial(AdaOPS(**FEW), AGAINST),
            "AdaOPS, norm": Trial(AdaOPS(release_norm=True, **FEW), AGAINST),
        },
    ),
    Mechanism(
        GradientDescentRidge,
        "replace-one",
        "coef_ intercept_ n_features_in_ sigma_ guarantee_ noise_",
        small=[GradientDescentRidge(0.5, delta=1e-6)],
        checked=[GradientDescentRidge(1e-4, **LINE, delta=0.1, steps=300)],
        bounded=[GradientDescentRidge(0.1, **UNITS, delta=1e-6, fit_intercept=True)],
        sound={
            "GradientDescentRidge": Trial(
                GradientDescentRidge(1.0, delta=0.01, steps=4, huber_threshold=0.01),
                descent.LOUD,
                tight=True,
            ),
        },
    ),
    Mechanism(
        DPSGDRegression,
        "zero-out",
        "coef_ intercept_ noise_multiplier_ sample_rate_ steps_ n_features_in_ guarantee_ noise_",
        small=[DPSGDRegression()],
        checked=[DPSGDRegression(**LINE, batch_size=10, epochs=50)],
        bounded=[DPSGDRegression(**UNITS, epochs=5)],
        sound={
            "DPSGDRegression": Trial(DPSGDRegression(**descent.BATCHES), descent.QUIET, draws=1500),
        },
    ),
    Mechanism(
        WeightedMean,
        "user",
        "mean_ noise_scale_ h_ weights_ exposure_ users_ guarantee_ noise_",
        small=[WeightedMean()],
        checked=[WeightedMean(**LABELS)],
        thrifty=[WeightedMean()],
        exact=[WeightedMean(**PERCENT)],
        sound={"WeightedMean": Trial(WeightedMean(**users.ROWS), users.GROUPS, tight=True)},
    ),
    Mechanism(
        SampleLimitedMean,
        "user",
        "mean_ noise_scale_ max_rows_ exposure_ users_ guarantee_ noise_",
        small=[SampleLimitedMean()],
        checked=[SampleLimitedMean(**LABELS)],
        exact=[SampleLimitedMean(**PERCENT)],
        sound={"SampleLimitedMean": Trial(SampleLimitedMean(max_rows=2), users.GROUPS)},
    ),
    Mechanism(
        WeightedERM,
        "user",
        "coef_ intercept_ users_ weights_ noise_scale_ steps_ n_features_in_ exposure_ "
        "guarantee_ noise_",
        small=[
            WeightedERM(delta=1e-6),
            WeightedERM(delta=1e-6, accounting="gaussian", fit_intercept=True),
            WeightedERM(optimizer="output"),
        ],
        checked=[
            WeightedERM(**ROOMY, optimizer="output", radius=50.0, lam=1e-4),
            WeightedERM(**ROOMY, delta=0.1, radius=20.0, steps=2000, step_size=1.0),
            WeightedERM("logistic", **ROOMY, optimizer="output", radius=50.0, lam=1e-4),
            WeightedERM("logistic", **ROOMY, delta=0.1, radius=50.0, steps=500, step_size=4.0),
        ],
        thrifty=[
            WeightedERM(optimizer="output"),
            WeightedERM(delta=1e-6),
            WeightedERM(delta=1e-6, accounting="gaussian"),
        ],
        exact=[
            WeightedERM(**UNITS, optimizer="output", lam=0.1),
            WeightedERM("logistic", bounds=BOUNDS, optimizer="output", fit_intercept=True),
        ],
        bounded=[WeightedERM(**UNITS, delta=1e-6, steps=20)],
        sound={
            "WeightedERM": Trial(WeightedERM(**STEPS), TURNED, draws=5000),
            "WeightedERM, Gaussian": Trial(
                WeightedERM(accounting="gaussian", **STEPS), TURNED, draws=5000
            ),
            "WeightedERM, output": Trial(WeightedERM("logistic", **users.FAR), users.far()),
        },
    ),
    Mechanism(  # `private_quantile` in the dress of an estimator, to be audited like them
        users.Median,
        "user",
        "mean_ guarantee_",
        sound={"private_quantile": Trial(users.Median(), users.cluster(9), tight=True)},
    ),
    Mechanism(
        GWARegression,
        "user-labels",
        "coef_ intercept_ release_ scale_ gap_ rank_ exposure_ users_ n_features_in_ guarantee_ "
        "noise_",
        small=[GWARegression(), GWARegression(delta=1e-6, prior=1.0)],
        checked=[
            GWARegression(**LABELS, fit_intercept=True),
            GWARegression(**LABELS, delta=1e-5, objective="prediction"),
        ],
        thrifty=[GWARegression(), GWARegression(delta=1e-6)],
        exact=[
            GWARegression(**PERCENT, fit_intercept=True),
            GWARegression(**PERCENT, delta=1e-6, objective="prediction", prior=100.0),
        ],
        sound={
            "GWARegression": Trial(GWARegression(), users.regression(3), tight=True),
            "GWARegression, Gaussian": Trial(
                GWARegression(delta=0.01, prior=1.0), users.regression(3), tight=True
            ),
        },
    ),
    Mechanism(
        SampleLimitedRegression,
        "user-labels",
        "coef_ intercept_ release_ scale_ max_rows_ rank_ exposure_ users_ n_features_in_ "
        "guarantee_ noise_",
        small=[SampleLimitedRegression()],
        checked=[SampleLimitedRegression(**LABELS, fit_intercept=True)],
        exact=[SampleLimitedRegression(**PERCENT)],
        sound={
            "SampleLimitedRegression": Trial(
                SampleLimitedRegression(max_rows=5), users.regression(3)
            ),
        },
    ),
    Mechanism(
        TwoStageGWARegression,
        "user-labels",
        "coef_ intercept_ release_ pilot_ stages_ clip_ predicted_ scale_ gap_ rank_ exposure_ "
        "users_ n_features_in_ guarantee_ noise_",
        small=[TwoStageGWARegression()],
        checked=[TwoStageGWARegression(**LABELS)],
        bounded=[TwoStageGWARegression(**PERCENT, sigma2=1.0)],
        sound={
            "TwoStageGWARegression": Trial(
                TwoStageGWARegression(sigma2=0.02, epsilon=40.0, share=0.3),
                users.regression(3),
                tight=True,
            ),
        },
    ),
    Mechanism(
        PACRegression,
        "",
        "",
        small=[PACRegression()],
        checked=[
            PACRegression(
                alpha=1e-3,
                success_rate=1 - 1e-12,
                calibration="tv",
                draws=500,
                tol=0.3,
                random_state=0,
            )
        ],
        exact=[PACRegression(draws=2000, tol=0.3, random_state=0)],
        sound={"PACRegression": Trial(PACRegression(**POOL), pools.pool(), "attack", 400)},
    ),
]


def every(name: str) -> list[Any]:
    """The settings of all mechanisms for one kind of test."""
    return [model for row in MECHANISMS for model in getattr(row, name)]


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
            if ours and issubclass(kind, BaseEstimator) and not kind.__name__.startswith("_"):
                found.add(kind)
    base = {kind for kind in found if any(kind in other.__mro__[1:] for other in found)}
    return found - base
