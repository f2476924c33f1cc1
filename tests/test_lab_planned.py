"""Plans on hard tables: what the committed tables claim, and rows of them again."""

import json

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.comparison import planned
from lab.comparison.hard_tables import diabetes, rides
from lab.tables import read_results

TABLE = read_results(planned.FILE)
FITS = read_results(planned.FITS_FILE)
GOALS = read_results(planned.GOALS_FILE)
WRITTEN = TABLE[TABLE.guess == planned.AS_WRITTEN]
WRONG = TABLE[~TABLE.guess.isin([planned.AS_WRITTEN, planned.SURE])]


def pairs(rows):
    return sorted(zip(rows.table, rows.epsilon, strict=True))


def test_the_table_is_complete_and_says_how_it_was_made():
    assert TABLE.attrs["header"][0].startswith("plans on hard tables (python -m lab planned")
    assert len(WRITTEN) == 8 * len(planned.BUDGETS)
    assert set(TABLE.guess) == {*planned.GUESSES, planned.SURE}
    for _, rows in TABLE.groupby("guess"):
        assert pairs(rows) == pairs(WRITTEN)


def test_goals_are_counted_on_the_committed_rows():
    again = planned.goals(TABLE)
    assert again.to_dict("list") == GOALS.to_dict("list")
    assert [f"{met} of {of}" for met, of in zip(GOALS.met, GOALS.of, strict=True)] == COUNTED


def test_the_missed_gains_are_named():
    worth = WRITTEN[WRITTEN.hindsight_gain >= planned.WORTH]
    missed = worth[worth.gain < planned.PART * worth.hindsight_gain]
    assert pairs(missed) == MISSED


def test_here_doubts_cost_three_gains_and_save_no_loss():
    sure = TABLE[TABLE.guess == planned.SURE]
    worth = sure[sure.hindsight_gain >= planned.WORTH]
    reached = worth.gain >= planned.PART * worth.hindsight_gain
    assert (reached.sum(), len(worth)) == (17, 18)
    assert sure.gain.min() >= -planned.BELOW


def test_hindsight_is_the_best_of_the_committed_fits():
    for (table, epsilon), fits in FITS.groupby(["table", "epsilon"]):
        (row,) = WRITTEN[(WRITTEN.table == table) & (WRITTEN.epsilon == epsilon)].itertuples()
        r2 = fits.set_index("model").r2
        candidates = fits[(fits.splits == planned.SPLITS) & ~fits.model.isin(planned.NO_MODEL)]
        if len(candidates) == 0:
            assert np.isnan(row.hindsight_gain)
            continue
        best = candidates.r2.max()
        assert_allclose(row.hindsight_gain, best - r2[planned.CONSTANT], rtol=0, atol=2e-3)
        assert_allclose(row.constant, r2[planned.CONSTANT], rtol=1e-3)


def test_a_goal_that_is_missed_is_counted_as_missed():
    worse = TABLE.copy()
    worse.loc[TABLE.index[TABLE.guess == planned.AS_WRITTEN][0], "gain"] = -1.0
    before, after = GOALS.met, planned.goals(worse).met
    assert after[0] == before[0] - 1
    assert after[4] == before[4]


def test_a_row_of_the_table_comes_out_again():
    design = planned.design_of(diabetes())
    first, sure = planned.choices(design, 3.0, planned.AS_WRITTEN)
    for found in first, sure:
        (row,) = TABLE.query(
            "table == 'diabetes' and epsilon == 3 and guess == @found['guess']"
        ).itertuples()
        assert found["plan"] == row.plan
        assert_allclose(found["rehearsed"], row.rehearsed, rtol=6e-4)  # four digits are committed
        again = planned.scores_of(design, 3.0, planned.SPLITS, found["plan"])
        constant = planned.scores_of(design, 3.0, planned.SPLITS, planned.CONSTANT)
        assert_allclose((again - constant).mean(), row.gain, rtol=6e-4)
    assert planned.planned(design, 3.0, "spread twice") is None  # no labels are like that


def test_a_part_is_computed_once(tmp_path):
    calls = []
    for _ in range(2):
        found = planned.part(tmp_path, "a part", lambda: calls.append(1) or [1.5])
        assert found["value"] == [1.5]
    assert len(calls) == 1
    assert json.loads((tmp_path / "a part.json").read_text())["seconds"] >= 0


@pytest.mark.parametrize("seed", [0, 1])
def test_one_row_a_user_is_drawn_and_users_are_split(seed):
    design = planned.design_of(rides())
    fitted, new = planned.split(design, seed)
    owners = design.users[np.concatenate([fitted, new])]
    assert len(owners) == len(set(owners)) == design.users.max() + 1
    assert len(fitted) == design.people


def test_no_row_is_filled_by_the_data():
    """What is missing becomes the middle of its limits, whatever the others are."""
    table = planned.tables()[3]
    design = planned.design_of(table)
    missing = table.frame["sodium_mmol_day"].isna().to_numpy()
    column = design.schema.names.index("sodium_mmol_day")
    assert missing.mean() > 0.5
    assert set(design.X[missing, column]) == {305.0}


COUNTED = ["24 of 24", "14 of 18", "24 of 24", "5 of 5", "93 of 93"]
MISSED = [
    ("diabetes", 3.0),
    ("lungs", 0.3),
    ("medical cost", 0.3),
    ("rides", 3.0),
]
