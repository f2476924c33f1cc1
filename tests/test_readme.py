"""The first screen of the README; its plan, run as printed, and the numbers beside it."""

import re
from pathlib import Path

import numpy as np
import pytest

from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PersonalizedMean
from pdpbook.plan import plan

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


MIXED = {1.0: 0.5, 3.0: 0.5}
PEOPLE = (100, 442, 2000, 20_000)


@pytest.fixture(scope="module")
def plans(recipe):
    """The plans of the table."""
    public = recipe["public"] | recipe["guess"]
    return {people: plan(people, 3, epsilon=MIXED, **public) for people in PEOPLE}


def rows_of(plans):
    """The rows of the table."""
    rows = []
    for people, found in plans.items():
        rehearsal = found.rehearsal
        errors = rehearsal.noise, rehearsal.pull, rehearsal.error, found.constant
        rounded = [_round(error.value) for error in errors]
        if not found.is_yes:
            rounded[:2] = "", ""
        rows.append("| " + " | ".join([f"{people:,}", f"`{rehearsal.model}`", *rounded]) + " |")
    return [row.replace("|  |", "| |").replace("|  |", "| |") for row in rows]


def _round(value):
    return f"{float(f'{value:.2g}'):,g}"


def test_the_printed_recipe_runs_and_beats_a_constant(recipe):
    model, X, y = recipe["model"], recipe["X"], recipe["y"]
    assert isinstance(model, ObjectivePerturbation)
    assert recipe["decision"].is_yes
    assert model.lam == recipe["decision"].estimator.lam
    assert model.predict(X).shape == y.shape
    assert set(np.unique(model.guarantee_.epsilon)) == {1.0, 3.0}


def test_the_recipe_is_short_and_needs_no_extra(recipe):
    (code,) = re.findall(r"```python\n(.*?)```", README, re.S)
    assert len([line for line in code.splitlines() if line and "import" not in line]) <= 10
    imported = set(re.findall(r"^(?:import|from) (\w+)", code, re.M))
    assert imported == {"numpy", "sklearn", "pdpbook"}


def test_the_table_is_what_plans_say(plans):
    head = README.index("| people | publish |")
    printed = README[head:].split("\n\n")[0].splitlines()[2:]
    assert printed == rows_of(plans)


def test_more_people_get_a_smaller_penalty(plans):
    penalties = [found.estimator.lam for found in plans.values() if found.is_yes]
    assert penalties == sorted(penalties, reverse=True)
    assert not plans[100].is_yes


def test_it_beats_a_private_constant_in_48_of_60_fits(recipe):
    X, y, y_bounds = recipe["X"], recipe["y"], recipe["public"]["y_bounds"]
    model, wins, scores = recipe["model"], 0, []
    for seed in range(FITS):
        rng = np.random.default_rng(seed)
        order, epsilon = rng.permutation(len(y)), rng.choice([1.0, 3.0], len(y))
        new, old = order[: len(y) // 5], order[len(y) // 5 :]
        model.set_params(random_state=rng)
        constant = PersonalizedMean(y_bounds=y_bounds, clip=True, random_state=rng)
        fitted = [m.fit(X[old], y[old], epsilon=epsilon[old]) for m in (model, constant)]
        scores.append([m.score(X[new], y[new]) for m in fitted])
        wins += scores[-1][0] > scores[-1][1]
    median = np.median(scores, axis=0)[0]
    assert f"better than a private constant {wins} times; the median R2 was {median:.2g}" in (
        README.replace("\n", " ")
    )
