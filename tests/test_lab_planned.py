"""Plans on hard tables: what the committed table claims, and a row of it again."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.comparison import planned
from lab.comparison.hard_tables import diabetes, rides
from lab.tables import read_results

TABLE = read_results(planned.FILE)
WRITTEN = TABLE[TABLE.guess == planned.AS_WRITTEN]
WRONG = TABLE[~TABLE.guess.isin([planned.AS_WRITTEN, planned.SURE])]


def test_the_table_is_complete_and_says_how_it_was_made():
    assert TABLE.attrs["header"][0].startswith("plans on hard tables (python -m lab planned")
    assert len(WRITTEN) == 8 * len(planned.BUDGETS)
    assert set(TABLE.guess) <= set(planned.GUESSES)
    for _, rows in TABLE.groupby("guess"):
        assert len(rows) == len(WRITTEN)


def test_as_written_no_plan_is_below_the_constant():
    assert (WRITTEN.gain > -0.02).all()


def test_where_hindsight_is_the_constant_the_plan_says_no():
    at_best = WRITTEN[WRITTEN.hindsight_gain <= 0]
    assert len(at_best) == 13
    assert (at_best.plan == "PersonalizedMean").all()


def test_six_of_eleven_gains_are_taken_and_the_others_are_named():
    worth = WRITTEN[WRITTEN.hindsight_gain >= 0.05]
    missed = worth[worth.gain < 0.8 * worth.hindsight_gain]
    assert len(worth) == 11
    assert sorted(zip(missed.table, missed.epsilon, strict=True)) == [
        ("households", 3.0),
        ("lungs", 0.3),
        ("medical cost", 1.0),
        ("medical cost", 3.0),
        ("rides", 3.0),
    ]


def test_wrong_guesses_that_cost_more_than_a_twentieth_are_named():
    costly = WRONG[WRONG.gain < -0.05]
    assert sorted(zip(costly.table, costly.epsilon, costly.guess, strict=True)) == COSTLY


COSTLY = [
    ("checkups", 0.3, "r2 higher"),
    ("checkups", 0.3, "spread twice"),
    ("commuters", 1.0, "spread twice"),
]


def test_doubts_cost_three_gains_and_save_two_losses():
    sure = TABLE[TABLE.guess == planned.SURE].set_index(["table", "epsilon"]).gain
    doubting = WRITTEN.set_index(["table", "epsilon"]).gain
    assert list(sure[(sure < 0) & (doubting == 0)].index) == [("commuters", 1.0), ("checkups", 0.3)]
    more = sure[(sure > 0.1) & (doubting == 0)].index
    assert list(more) == [("lungs", 0.3), ("rides", 3.0), ("medical cost", 3.0)]


def test_a_row_of_the_table_comes_out_again():
    design = planned.design_of(diabetes())
    found = planned.planned(design, 3.0, planned.AS_WRITTEN)
    (row,) = WRITTEN[(WRITTEN.table == "diabetes") & (WRITTEN.epsilon == 3)].itertuples()
    assert found.rehearsal.model == row.plan
    scores = planned.scores(design, found.estimator, 3.0, planned.SPLITS, -np.inf)
    assert_allclose(scores.mean(), row.r2, rtol=6e-4)  # four digits are committed


def test_without_doubts_a_plan_takes_the_first_that_is_better():
    design = planned.design_of(diabetes())
    found = planned.planned(design, 3.0, planned.SURE)
    assert found.rehearsal == found.candidates[0].rehearsal
    assert planned.planned(design, 3.0, "spread twice") is None  # no labels are like that


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
