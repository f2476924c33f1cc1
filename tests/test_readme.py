"""The first screen of the README; its recipe, run as printed, and the numbers beside it."""

import re
from pathlib import Path

import numpy as np
import pytest

from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean
from pdpbook.rehearsal import rehearse

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST = README.partition("<details>")[0]
FITS = 60


def test_the_first_screen_is_one():
    assert len(FIRST.split()) <= 400
    assert FIRST.count("```") == 2
    commands = set(re.findall(r"^make ([a-z-]+)  ", FIRST, re.M))
    assert commands == {"book", "test"}
    named = commands | set(re.findall(r"`make ([a-z-]+)", README))
    targets = re.findall(r"^([a-z-]+):", (ROOT / "Makefile").read_text("utf-8"), re.M)
    assert named <= set(targets)


def test_every_file_that_the_readme_links_is_there():
    linked = re.findall(r"\]\(([^)]+)\)", README)
    assert len(linked) >= 8
    assert [one for one in linked if "://" not in one and not (ROOT / one).is_file()] == []


def test_the_picture_follows_a_dark_page():
    picture = (ROOT / "book/_static/readme.svg").read_text("utf-8")
    light, dark = re.findall(r"^svg\{([^}]*)\}", picture, re.M)
    assert "@media (prefers-color-scheme: dark){\nsvg{--paper" in picture
    named = [set(re.findall(r"--[a-z]+", rule)) for rule in (light, dark)]
    assert named[0] == named[1] == set(re.findall(r"var\((--[a-z]+)\)", picture))
    assert not re.search(r"#[0-9a-f]{6}", picture.partition("</style>")[2])


@pytest.fixture(scope="module")
def recipe():
    """The names that the printed code leaves behind."""
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    names: dict[str, object] = {}
    exec(code, names)
    return names


MIXED = {0.1: 0.5, 1.0: 0.5}
PENALTIES = {400: (0.3, 0.3), 1338: (0.03, 0.3), 20_000: (0.001, 0.01)}  # two mechanisms


def table(public, guess):
    """The rows of the table, from rehearsals."""
    rows = []
    for n, (tilted, output) in PENALTIES.items():
        for model in (
            ObjectivePerturbation(tilted, **public),
            PDPRidge(output, loss="huber", **public),
        ):
            plan = rehearse(model, people=n, columns=4, epsilon=MIXED, **guess)
            loss = ', loss="huber"' if isinstance(model, PDPRidge) else ""
            mechanism = f"`{type(model).__name__}(lam={model.lam:g}{loss})`"
            errors = plan.noise, plan.pull, plan.error, plan.constant
            cells = f"{n:,}", mechanism, *(_round(error.value) for error in errors)
            rows.append("| " + " | ".join(cells) + " |")
    return rows


def _round(value):
    return f"{float(f'{value:.2g}'):,.0f}"


def test_the_printed_recipe_runs_and_beats_a_constant(recipe):
    model, X, y = recipe["model"], recipe["X"], recipe["y"]
    assert isinstance(model, ObjectivePerturbation)
    assert model.score(X, y) > 0
    assert set(np.unique(model.guarantee_.epsilon)) == {0.1, 1.0}


def test_the_table_is_what_rehearsals_say(recipe):
    head = README.index("| people | mechanism |")
    printed = README[head:].split("\n\n")[0].splitlines()[2:]
    assert printed == table(recipe["public"], recipe["guess"])


def test_fewer_people_get_a_larger_penalty(recipe):
    assert recipe["recipe"](400, 4, MIXED).lam == PENALTIES[400][0]
    assert recipe["model"].lam == PENALTIES[1338][0]


def test_the_recipe_does_not_pull_skewed_labels_to_the_middle(recipe):
    """Days in hospital, of which most are few: a large penalty is worse than a constant."""
    days = {"y_bounds": (0, 60), "fit_intercept": True}
    guess = {"people": 12_000, "columns": 12, "y_mean": 8.3, "y_sd": 7.64, "r2": 0.21}
    errors = {
        lam: rehearse(ObjectivePerturbation(lam, epsilon=1.0, **days), repeats=5, **guess)
        for lam in (0.001, 0.01, 0.03, 0.1)
    }
    best = min(errors, key=lambda lam: errors[lam].error)
    assert best == 0.01
    assert errors[best].better
    assert errors[0.001].refused
    assert not errors[0.1].better


def test_it_beats_a_private_constant_in_54_of_60_fits(recipe):
    X, y, y_bounds = recipe["X"].astype(float), recipe["y"], recipe["public"]["y_bounds"]
    model, wins, scores = recipe["model"], 0, []
    for seed in range(FITS):
        rng = np.random.default_rng(seed)
        order, epsilon = rng.permutation(len(y)), rng.choice([0.1, 1.0], len(y))
        new, old = order[: len(y) // 5], order[len(y) // 5 :]
        model.set_params(random_state=rng)
        constant = PersonalizedMean(y_bounds=y_bounds, clip=True, random_state=rng)
        fitted = [m.fit(X.iloc[old], y.iloc[old], epsilon=epsilon[old]) for m in (model, constant)]
        scores.append([m.score(X.iloc[new], y.iloc[new]) for m in fitted])
        wins += scores[-1][0] > scores[-1][1]
    assert wins >= 54
    median = np.median(scores, axis=0)[0]
    assert f"better than a private constant {wins} times; the median R2 was {median:.2g}" in (
        README.replace("\n", " ")
    )
