"""The first screen of the README; its recipe, run as printed, and the numbers beside it."""

import re
from pathlib import Path

import numpy as np
import pytest

from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean

ROOT = Path(__file__).resolve().parent.parent
README = (ROOT / "README.md").read_text(encoding="utf-8")
FIRST = README.partition("<details>")[0]
SIZES = (400, 1338, 20_000)
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


def table(public):
    """The rows of the table, from reports."""
    rows = []
    for n in SIZES:
        epsilon = np.resize([0.1, 1.0], n)
        for model in (
            ObjectivePerturbation(0.1, **public),
            PDPRidge(0.1, loss="huber", **public),
        ):
            row = model.report(n, 4, epsilon=epsilon).row()
            noise, constant = row["noise of a prediction"], row["error of a private constant"]
            loss = ', loss="huber"' if isinstance(model, PDPRidge) else ""
            mechanism = f"`{row['mechanism']}(lam={model.lam:g}{loss})`"
            cells = f"{n:,}", row["columns"], row["budget"], mechanism, _round(noise)
            rows.append("| " + " | ".join(map(str, [*cells, _round(constant)])) + " |")
    return rows


def _round(value):
    return f"{float(f'{value:.2g}'):,.0f}"


def test_the_printed_recipe_runs_and_beats_a_constant(recipe, capsys):
    model, X, y = recipe["model"], recipe["X"], recipe["y"]
    assert isinstance(model, ObjectivePerturbation)
    assert not model.report().warns
    assert model.score(X, y) > 0
    assert set(np.unique(model.guarantee_.epsilon)) == {0.1, 1.0}


def test_the_table_is_what_reports_say(recipe):
    head = README.index("| people | columns | budget | mechanism |")
    printed = README[head:].split("\n\n")[0].splitlines()[2:]
    assert printed == table(recipe["public"])


def test_fewer_people_get_a_larger_penalty_or_hear_what_is_missing(recipe):
    lams = [recipe["recipe"](n, 4, np.full(n, 0.5)).lam for n in (400, 800, 20_000)]
    assert lams == sorted(lams, reverse=True)
    assert lams[0] > lams[-1]
    with pytest.raises(ValueError, match=r"lam = .* would do"):
        recipe["recipe"](200, 4, 0.5)


def test_it_beats_a_private_constant_in_54_of_60_fits(recipe):
    X, y, y_bounds = recipe["X"].astype(float), recipe["y"], recipe["public"]["y_bounds"]
    wins, scores = 0, []
    for seed in range(FITS):
        rng = np.random.default_rng(seed)
        order, epsilon = rng.permutation(len(y)), rng.choice([0.1, 1.0], len(y))
        new, old = order[: len(y) // 5], order[len(y) // 5 :]
        model = recipe["recipe"](len(old), X.shape[1], epsilon[old]).set_params(random_state=rng)
        constant = PersonalizedMean(y_bounds=y_bounds, clip=True, random_state=rng)
        fitted = [m.fit(X.iloc[old], y.iloc[old], epsilon=epsilon[old]) for m in (model, constant)]
        scores.append([m.score(X.iloc[new], y.iloc[new]) for m in fitted])
        wins += scores[-1][0] > scores[-1][1]
    assert wins >= 54
    median = np.median(scores, axis=0)[0]
    assert f"better than a private constant {wins} times; the median R2 was {median:.2g}" in (
        README.replace("\n", " ")
    )
