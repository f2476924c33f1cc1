"""The comparison: closed forms against simulation, honest pairing, the committed table."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.comparison import sweep as comparison
from lab.comparison import two_classes
from lab.tables import read_results
from pdpbook.objective_perturbation import ObjectivePerturbation
from pdpbook.personalized import PDPRidge, PersonalizedMean

SMALL = "synthetic 100 x 30"
FOLDER = comparison.FOLDER


def people(setting=SMALL, seed=1):
    return comparison._people(setting, np.random.default_rng(seed))


def rows(name, lams, **options):
    return comparison.compare(SMALL, [name], lams, splits=2, **{"draws": 50, **options})


# ---------------------------------------------------------------- the people and the loss


def test_the_population_of_synthetic_people_is_the_one_they_are_drawn_from():
    crowd = people()
    rng = np.random.default_rng(2)
    X = rng.uniform(size=(200_000, 30))
    theta = np.linalg.solve(crowd.S, crowd.b)  # the true coefficients
    y = X @ theta
    # standard error of a mean of 200,000 numbers of spread below 1 is 0.0023
    assert_allclose(X.T @ X / len(X), crowd.S, atol=0.012)
    assert_allclose([np.mean(y), np.mean(y**2)], [crowd.mean, crowd.c], atol=0.012)
    assert crowd.loss(theta) < 1e-15
    other = rng.normal(size=(3, 30)) / 30
    empirical = np.mean((y[:, None] - X @ other.T) ** 2, axis=0)
    assert_allclose(crowd.loss(other), empirical, rtol=0.03)


def test_a_setting_is_a_seed_and_splits_differ():
    one, two, three = people(seed=1), people(seed=1), people(seed=2)
    assert np.array_equal(one.X, two.X)
    assert np.array_equal(one.epsilon, two.epsilon)
    assert not np.array_equal(one.X, three.X)


# ---------------------------------------------------------------- closed forms against draws


@pytest.mark.parametrize("options", [{}, {"loss": "huber"}, {"loss": "huber", "delta": 1e-6}])
def test_output_perturbation_in_closed_form(options):
    crowd = people()
    mean, error = comparison._output(
        crowd, np.array([30.0]), 0, np.random.default_rng(0), **options
    )
    law = PDPRidge(30.0, **options).output_law(crowd.X, crowd.y, epsilon=crowd.epsilon)
    simulated = crowd.loss(law.sample(20_000, rng=np.random.default_rng(3)))
    assert error == 0
    assert abs(simulated.mean() - mean[0]) < 5 * simulated.std() / np.sqrt(20_000)


def test_objective_perturbation_with_its_linear_part_taken_out():
    crowd = people()
    lams = np.array([0.1, 1.0, 10.0])  # the first is refused, the second clips residuals
    mean, error = comparison._objective(crowd, lams, 2000, np.random.default_rng(0))
    assert np.isinf(mean[0])
    assert error[1] > error[2]
    for k in (1, 2):
        law = ObjectivePerturbation(lams[k]).output_law(crowd.X, crowd.y, epsilon=crowd.epsilon)
        simulated = crowd.loss(law.sample(2000, rng=np.random.default_rng(4)))
        spread = np.hypot(simulated.std() / np.sqrt(2000), error[k])
        assert abs(simulated.mean() - mean[k]) < 5 * spread


def test_the_best_threshold_is_a_release_of_those_who_take_part():
    crowd = people()
    found, error = comparison._threshold(crowd, np.array([30.0]), 0, np.random.default_rng(0))
    tau = max(crowd.epsilon, key=lambda t: t * (crowd.epsilon >= t).sum())
    part = crowd.epsilon >= tau
    assert 1 < part.sum() < len(part)
    law = PDPRidge(30.0, epsilon=tau).output_law(crowd.X[part], crowd.y[part])
    simulated = crowd.loss(law.sample(20_000, rng=np.random.default_rng(3)))
    assert error == 0
    assert abs(simulated.mean() - found[0]) < 5 * simulated.std() / np.sqrt(20_000)


def test_the_private_mean_in_closed_form():
    crowd = people()
    mean, _ = comparison._mean(crowd, np.ones(1), 0, np.random.default_rng(0))
    law = PersonalizedMean().output_law(crowd.X, crowd.y, epsilon=crowd.epsilon)
    guess = law.sample(50_000, rng=np.random.default_rng(5))[:, 0]
    simulated = crowd.c - 2 * guess * crowd.mean + guess**2
    assert abs(simulated.mean() - mean[0]) < 5 * simulated.std() / np.sqrt(50_000)


# ---------------------------------------------------------------- the table


def test_a_row_does_not_depend_on_what_else_is_asked_for():
    alone = rows("objective", [30.0])
    among = comparison.compare(
        SMALL, ["statistics, Laplace", "objective"], [10.0, 30.0], splits=2, draws=50
    )
    row = among[(among.mechanism == "objective") & (among.lam == 30)].iloc[0]
    for column in ("mean", "error", "margin", "margin_error"):
        assert_allclose(row[column], alone[column].iloc[0], rtol=1e-12)


@pytest.mark.parametrize("name", list(comparison.MECHANISMS))
def test_every_mechanism_has_rows_that_make_sense(name):
    found = rows(name, [100.0, 1000.0], draws=10)
    assert list(found.mechanism) == [name] * 2
    assert np.isfinite(found["mean"]).all()
    assert (found["error"] >= 0).all()
    assert found["wins"].between(0, 2).all()
    mean = rows("private mean", [100.0])["mean"].iloc[0]
    assert_allclose(found["margin"], found["mean"] - mean, rtol=1e-9, atol=1e-12)
    predicted = rows("not private", [100.0, 1000.0])["mean"]
    if comparison.MECHANISMS[name][0] == "pure" and "output" in name:
        assert (found["mean"] > predicted * 0.5).all()


@pytest.mark.parametrize(
    ("change", "error", "match"),
    [
        ({"setting": "lunar"}, ValueError, "setting must be one of 'synthetic 100 x 30'"),
        ({"mechanisms": ["magic"]}, ValueError, "mechanisms must be one of 'not private'"),
        ({"lams": [0.0]}, ValueError, "lams must be finite and above 0"),
        ({"splits": 1}, ValueError, "splits must be at least 2; got 1"),
        ({"draws": 1.5}, TypeError, "draws must be a whole number"),
        ({"seed": -1}, ValueError, "seed must be at least 0"),
    ],
)
def test_bad_input_is_refused(change, error, match):
    with pytest.raises(error, match=match):
        comparison.compare(**{"setting": SMALL, "mechanisms": ["predict zero"]} | change)


def test_the_committed_table_is_complete_and_says_how_it_was_made():
    table = comparison.read()
    assert table.attrs["header"][0] == "python -m lab mechanisms"
    assert any(line.startswith("versions: python 3") for line in table.attrs["header"])
    assert any(line.startswith("run time: ") for line in table.attrs["header"])
    assert f"seed: {comparison.SEED}, splits: 20" in table.attrs["header"][1]
    assert set(table.mechanism) == set(comparison.MECHANISMS)
    for setting, grid in comparison.GRIDS.items():
        part = table[table.setting == setting]
        assert len(part) == len(grid) * len(comparison.MECHANISMS)
        assert set(part.lam) == set(grid)


def test_a_synthetic_row_of_the_committed_table_comes_out_again():
    again = comparison.compare(SMALL, ["output, Huber"], [100.0]).iloc[0]
    table = comparison.read()
    row = table[
        (table.setting == SMALL) & (table.mechanism == "output, Huber") & (table.lam == 100)
    ].iloc[0]
    for column in ("mean", "error", "margin"):
        assert_allclose(row[column], again[column], rtol=6e-4)  # four digits are committed


def test_writing_and_reading_again(tmp_path, monkeypatch):
    monkeypatch.setattr(comparison, "SETTINGS", (SMALL,))
    monkeypatch.setattr(comparison, "MECHANISMS", {"predict zero": ("all", comparison._zero)})
    assert comparison.main(["--folder", str(tmp_path)]) == 0
    table = comparison.read(tmp_path / comparison.FILE)
    assert len(table) == len(comparison.GRIDS[SMALL])
    with pytest.raises(SystemExit):
        comparison.main(["--folder", str(tmp_path / "nowhere")])


# ---------------------------------------------------------------- two classes


def test_the_table_of_two_classes_is_what_the_lab_computes():
    table = read_results(two_classes.FOLDER / "two_classes.csv").set_index(["fit", "lam"])
    found = two_classes.row(two_classes.PRIVATE, 0.01)
    committed = table.loc[(two_classes.PRIVATE, 0.01)]
    for name, value in committed.items():
        assert_allclose(found[name], value, rtol=1e-3)  # four digits are written


def test_two_classes_go_nine_tenths_of_the_way_at_every_penalty():
    table = read_results(two_classes.FOLDER / "two_classes.csv")
    private = table[table["fit"] == two_classes.PRIVATE]
    assert list(private["lam"]) == list(two_classes.PENALTIES)
    assert (private["way"] >= 0.9).all()
    assert table.loc[table["fit"] == two_classes.MAJORITY, "way"].item() == 0
    assert table.loc[table["fit"] == two_classes.FREE, "way"].item() == 1


def test_a_split_uses_everybody_once():
    X, y, X_new, y_new = next(two_classes.splits(1))
    assert len(X) == len(y) == 3 * len(X_new) == 3 * len(y_new) == 9000
    everybody, _ = two_classes.people()
    assert np.array_equal(np.sort(np.r_[X, X_new][:, 0]), np.sort(everybody[:, 0]))
