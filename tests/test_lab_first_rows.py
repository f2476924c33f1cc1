"""Long runs that no page repeats are started for rows of theirs: the recorded numbers come again.

Where noise is drawn along eigenvectors, whose signs depend on the machine, means agree to within
four standard errors of their difference; everything else agrees to the digits of the record.
"""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from mechanisms import SOUND
from numpy.testing import assert_allclose

from lab.benchmarks import alarms, gwa_solvers
from lab.comparison import invented, rehearsed
from lab.experiments.pac import sweep_bases
from lab.experiments.records import SEED
from lab.tables import read_results
from pdpbook.rehearsal import rehearse

ROOT = Path(__file__).resolve().parent.parent
ALARMS = pd.read_csv(alarms.RECORD)


def by_laws():
    """Recorded audits of exact laws, each of one pair of neighbors at its recorded seed."""
    return ALARMS[(ALARMS.audit == "density") & (ALARMS.how == "largest loss")]


@pytest.mark.slow
@pytest.mark.parametrize("name", by_laws().mechanism)
def test_an_audit_at_its_recorded_seed_finds_what_it_found(name):
    row = ALARMS[(ALARMS.mechanism == name) & (ALARMS.audit == "density")].iloc[0]
    found = alarms.audit(name, "density", int(row.at_seed))
    assert found.passed
    assert_allclose(found.ratio, row.largest_ratio, rtol=1e-3)


def test_every_sound_mechanism_is_recorded_and_none_raised_an_alarm():
    assert set(ALARMS.mechanism) == set(SOUND)
    assert [(row.mechanism, row.audit) for row in ALARMS.itertuples()] == alarms.lines()
    assert not ALARMS.alarms.any()


@pytest.mark.slow
def test_the_first_case_of_the_solvers_ends_as_recorded():
    with gwa_solvers.TABLE.open(encoding="utf-8") as file:
        rows = [row for row in csv.DictReader(file) if row["solver"] == "auto"]
    row = rows[0]
    found = gwa_solvers.run(row["regime"], int(row["n"]), row["solver"])
    assert found["status"] == row["status"]
    assert float(found["gap"]) < 1e-9


@pytest.mark.slow
def test_the_first_rows_of_noise_in_other_bases_are_repeated():
    draws = 50
    fresh = sweep_bases("lenses", lasso=False, draws=draws, rng=np.random.default_rng(SEED))
    committed = read_results(ROOT / "book/papers/results/pac-bases.csv")
    key = ["data", "method", "calibration", "trained_on", "model", "basis", "evaluation"]
    both = fresh.merge(committed, on=key, suffixes=("", "_recorded"))
    assert len(both) == len(fresh) == 32
    error = np.hypot(both.rmse_sd, both.rmse_sd_recorded) / np.sqrt(draws)
    assert (abs(both.rmse - both.rmse_recorded) < 4 * error).all()


@pytest.mark.slow
def test_the_first_rehearsals_of_the_five_tables_are_repeated():
    committed = read_results(rehearsed.FOLDER / "tables.csv")
    row = committed[committed.rehearsed.notna()].iloc[0]
    table = rehearsed.tables()[row.table]
    model = rehearsed.models(table.schema)[row.estimator]
    again = rehearse(
        model,
        people=len(table.y) - len(table.y) // 5,
        columns=table.schema,
        bounds=model.bounds,
        epsilon=rehearsed.BUDGETS[row.budget],
        repeats=40,
        **table.guesses,
    )
    error = np.hypot(again.error.se, row.rehearsed_se)
    assert abs(again.error.value - row.rehearsed) < 4 * error
    assert_allclose(again.unexplained.value, row.unexplained, rtol=1e-3)


@pytest.mark.slow
def test_the_first_settings_drawn_by_other_code_are_repeated():
    committed = read_results(invented.FOLDER / "own_model.csv").head(2)
    fresh = invented.rows(2)
    assert list(fresh.estimator) == list(committed.estimator)
    for source in ("rehearsed", "drawn"):
        error = np.hypot(fresh[f"{source}_se"], committed[f"{source}_se"])
        assert (abs(fresh[source] - committed[source]) < 4 * error).all()
