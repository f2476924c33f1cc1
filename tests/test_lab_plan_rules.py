"""Rules of choice on drawn tables: the committed summary, a row again, and the rule of plans."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lab.comparison import plan_rules
from lab.comparison.tuning_tables import NEW, TABLES, table
from lab.tables import read_results
from pdpbook import plan

TUNING = read_results(plan_rules.TUNING)
RULES = read_results(plan_rules.RULES).set_index("rule")


def test_the_summary_is_what_the_rules_take_of_the_committed_gains():
    again = plan_rules.judged(TUNING).set_index("rule")
    assert list(again.index) == list(RULES.index)
    assert_allclose(again.astype(float), RULES.astype(float), rtol=6e-4)  # four digits


def test_plan_has_the_rule_that_is_chosen():
    rule = plan_rules.ALL_RULES[plan_rules.CHOSEN]
    assert rule.most_loss == plan.MOST_LOSS
    assert rule.rank == "mean"
    assert rule.shares == plan.LABEL_MEAN_SHARES


def test_it_reaches_most_gains_of_all_rules_that_keep_the_limits():
    keeps = RULES[(RULES.below == 0) & (RULES.wrong_below == 0)]
    assert keeps.reached.idxmax() == plan_rules.CHOSEN
    assert len(keeps) < len(RULES)
    assert RULES.reached.max() > keeps.reached.max()  # bolder rules reach more, and break a limit


def test_a_row_comes_out_again():
    wanted = "table == 'drawn 3' and epsilon == 3 and share == 0.1 and lam == 0.03"
    (row,) = TUNING.query(wanted).to_dict("records")
    again = plan_rules.row(table(3), 3.0, 0.1, 0.03)
    assert list(again) == list(row)
    for name, value in again.items():
        if isinstance(value, str):
            assert value == row[name]
        else:
            assert_allclose(value, row[name], rtol=6e-4)


@pytest.mark.parametrize("number", range(TABLES))
def test_tables_lie_in_their_bounds_and_differ(number):
    drawn = table(number)
    assert len(drawn.X) == len(drawn.y) == drawn.people + NEW
    for values in drawn.X, drawn.y:
        assert values.min() >= 0
        assert values.max() <= 1
    assert np.all(drawn.X.std(axis=0) > 0)
    assert 0 < drawn.guesses["r2"] < 1
    assert len({table(k).guesses["y_sd"] for k in range(TABLES)}) == TABLES


def test_a_rule_takes_the_constant_where_nothing_counts():
    pair = TUNING[(TUNING.table == "drawn 0") & (TUNING.epsilon == 0.3)]
    rule = plan_rules.ALL_RULES[plan_rules.CHOSEN]
    assert rule.taken(pair, "right") == 0.0
